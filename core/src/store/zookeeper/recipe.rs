//! The lock recipe: a ticket that ends with the session, and a watch on the ticket in front.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::failure::{Failure, NO_NODE, NODE_EXISTS};
use super::names;
use super::session::Session;
use crate::backend::Turn;
use crate::clock::{Moment, boot_now};

/// How often a waiter looks whether its wait was ended from elsewhere.
const SLICE: Duration = Duration::from_millis(50);
/// How long one request may take while waiting, before the time that is left is looked at again.
const STEP: Duration = Duration::from_secs(5);
/// A notice that a node was removed.
const REMOVED: i32 = 2;

/// A node of ours.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) path: String,
    pub(super) token: u64,
}

/// What became of a wait.
pub(super) enum Turned {
    /// It is our turn.
    First,
    /// Nobody may wait any longer; this many are in front.
    Over,
    /// Somebody ended the wait.
    Cancelled,
    /// Our ticket is gone: it has to be taken anew, at the back.
    TicketGone,
}

/// Whether something other than time has ended the wait.
pub(super) fn is_over(turn: &Turn<'_>) -> bool {
    turn.closing.should_end() || turn.cancel.is_some_and(|cancel| cancel.should_end())
}

fn token(czxid: i64) -> u64 {
    u64::try_from(czxid).unwrap_or(0)
}

/// Takes a ticket in `folder`. `prefix` is unique to this try: when the answer was lost, the ticket
/// is found by it.
pub(super) fn take_ticket(
    session: &mut Session,
    folder: &str,
    prefix: &str,
    data: &[u8],
    until: Moment,
) -> Result<Node, Failure> {
    let mut was_sent = false;
    loop {
        let made = if was_sent { find(session, folder, prefix, until) } else { Ok(None) };
        let made = match made {
            Ok(Some(node)) => return Ok(node),
            Ok(None) => session.create_sequential(&format!("{folder}/{prefix}"), data, until),
            Err(failure) => Err(failure),
        };
        match made {
            Ok((path, stat)) => return Ok(Node { path, token: token(stat.czxid) }),
            Err(Failure::Refused(NO_NODE)) => session.ensure(folder, &[], until)?,
            Err(Failure::Unanswered(why)) => {
                was_sent = true;
                if boot_now() >= until {
                    return Err(Failure::Unanswered(why));
                }
            }
            Err(Failure::Unreachable(why)) if was_sent => return Err(Failure::Unanswered(why)),
            Err(failure) => return Err(failure),
        }
    }
}

/// The ticket that an earlier try of this session may have left, or a new one.
pub(super) fn find_or_take(
    session: &mut Session,
    folder: &str,
    prefix: &str,
    data: &[u8],
    is_resumed: bool,
    until: Moment,
) -> Result<Node, Failure> {
    if is_resumed && let Some(node) = find(session, folder, prefix, until)? {
        return Ok(node);
    }
    take_ticket(session, folder, prefix, data, until)
}

/// The ticket whose name starts with `prefix`, if there is one.
pub(super) fn find(session: &mut Session, folder: &str, prefix: &str, until: Moment) -> Result<Option<Node>, Failure> {
    let children = session.children(folder, false, until)?.unwrap_or_default();
    let Some(child) = children.into_iter().find(|child| child.starts_with(prefix)) else { return Ok(None) };
    let path = format!("{folder}/{child}");
    Ok(session.exists(&path, false, until)?.map(|stat| Node { path, token: token(stat.czxid) }))
}

/// Waits until no ticket is in front of ours, or until the turn's end (`None`: one look).
///
/// `holds_first`: the first ticket is the lock itself and nobody who waits.
pub(super) fn wait_for_turn(
    session: &mut Session,
    folder: &str,
    ticket: &Node,
    holds_first: bool,
    turn: &Turn<'_>,
) -> Result<Turned, Failure> {
    let own = ticket.path.rsplit('/').next().unwrap_or_default().to_string();
    loop {
        let step = turn.until.unwrap_or(turn.patience).min(boot_now().after(STEP)).max(boot_now().after(SLICE));
        let children = session.children(folder, false, step)?.unwrap_or_default();
        let line = names::contenders(children);
        let Some(ahead) = line.iter().position(|child| *child == own) else { return Ok(Turned::TicketGone) };
        if ahead == 0 {
            return Ok(Turned::First);
        }
        let Some(until) = turn.until else { return Ok(Turned::Over) };
        // Of a lock, the first in line is its holder.
        let place = u32::try_from(ahead).unwrap_or(u32::MAX).saturating_add(1 - u32::from(holds_first));
        turn.position.store(place, Ordering::Relaxed);
        let in_front = format!("{folder}/{}", line[ahead - 1]);
        // The watch is set by the very look that finds it there.
        if session.exists(&in_front, true, step)?.is_none() {
            continue;
        }
        match wait_for(session, turn, until, |event_kind, path| event_kind == REMOVED && path == in_front)? {
            Waited::Noticed => {}
            Waited::Over => return Ok(Turned::Over),
            Waited::Cancelled => return Ok(Turned::Cancelled),
        }
    }
}

/// What ended a wait for a notice.
pub(super) enum Waited {
    Noticed,
    Over,
    Cancelled,
}

/// Waits for a notice, keeping the session alive.
pub(super) fn wait_for(
    session: &mut Session,
    turn: &Turn<'_>,
    until: Moment,
    is_it: impl Fn(i32, &str) -> bool,
) -> Result<Waited, Failure> {
    loop {
        if is_over(turn) {
            return Ok(Waited::Cancelled);
        }
        let now = boot_now();
        if now >= until {
            return Ok(Waited::Over);
        }
        if let Some(event) = session.wait(until.min(now.after(SLICE)))?
            && is_it(event.kind, &event.path)
        {
            return Ok(Waited::Noticed);
        }
    }
}

/// Where a semaphore's permits and its tickets lie: as kazoo has them.
pub(super) struct Semaphore {
    pub(super) permits: String,
    pub(super) tickets: String,
}

impl Semaphore {
    pub(super) fn of(path: &str) -> Self {
        Self { permits: path.to_string(), tickets: format!("{path}-__lock__") }
    }

    /// Whether a child of the permits' node is a permit: 32 hexadecimal digits.
    pub(super) fn is_permit(child: &str) -> bool {
        child.len() == 32 && child.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Makes the permits' node, which tells how many there are. Answers the number of whoever made it
    /// first, if it is another.
    pub(super) fn ensure(&self, session: &mut Session, permits: u32, until: Moment) -> Result<Option<u32>, Failure> {
        if session.exists(&self.permits, false, until)?.is_none() {
            session.ensure(&self.permits, permits.to_string().as_bytes(), until)?;
        }
        let data = session.data(&self.permits, until)?.map(|(data, _)| data).unwrap_or_default();
        let theirs = std::str::from_utf8(&data).ok().and_then(|text| text.trim().parse::<u32>().ok());
        Ok(theirs.filter(|theirs| *theirs != permits))
    }

    /// The permits that are taken; with `watch`, the next change is told.
    pub(super) fn taken(&self, session: &mut Session, watch: bool, until: Moment) -> Result<Vec<String>, Failure> {
        let children = session.children(&self.permits, watch, until)?.unwrap_or_default();
        Ok(children.into_iter().filter(|child| Self::is_permit(child)).collect())
    }

    /// Takes a permit. Only the first in line may.
    pub(super) fn take(&self, session: &mut Session, id: &str, data: &[u8], until: Moment) -> Result<Node, Failure> {
        let path = format!("{}/{id}", self.permits);
        match session.create_ephemeral(&path, data, until) {
            Ok((path, stat)) => Ok(Node { path, token: token(stat.czxid) }),
            Err(Failure::Refused(NODE_EXISTS)) | Err(Failure::Unanswered(_)) => {
                let stat = session.exists(&path, false, until)?.ok_or(Failure::Expired)?;
                Ok(Node { path, token: token(stat.czxid) })
            }
            Err(failure) => Err(failure),
        }
    }
}

/// The id of the permit of whoever took a ticket with this prefix: the same at each try.
pub(super) fn permit_id(prefix: &str) -> &str {
    let start = if prefix.starts_with("_c_") { 3 } else { 0 };
    prefix.get(start..start + 32).unwrap_or(prefix)
}
