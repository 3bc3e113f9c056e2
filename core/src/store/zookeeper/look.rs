//! Showing the locks of an ensemble, and ending one by hand.

use std::collections::VecDeque;
use std::time::{Duration, UNIX_EPOCH};

use super::failure::{BAD_VERSION, Failure, NO_NODE};
use super::names;
use super::recipe::Semaphore;
use super::session::Session;
use super::wire::Stat;
use crate::clock::Moment;
use crate::info::{Holder, LockInfo, Refusal, RefusalReason, ReleaseId, Waiter};

/// The most waiters whose data are read.
const MOST_WAITERS: usize = 100;
/// The most nodes that one list walks through.
const MOST_NODES: usize = 20_000;

/// A contender or a permit.
struct Seen {
    path: String,
    owner: Option<String>,
    stat: Stat,
}

fn read(session: &mut Session, path: String, until: Moment) -> Result<Option<Seen>, Failure> {
    Ok(session.data(&path, until)?.map(|(data, stat)| {
        let owner = String::from_utf8(data).ok().filter(|owner| !owner.is_empty());
        Seen { path, owner, stat }
    }))
}

fn since(stat: &Stat) -> Option<std::time::SystemTime> {
    let millis = u64::try_from(stat.created_millis).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}

fn holder(slot: u32, seen: &Seen) -> Holder {
    Holder {
        slot,
        token: u64::try_from(seen.stat.czxid).unwrap_or(0),
        owner: seen.owner.clone(),
        label: None,
        since: since(&seen.stat),
        renewed_at: None,
        expires_at: None,
    }
}

/// Those who hold: the permits of a semaphore, or the first in line of a lock. And the line.
fn holders_and_line(
    session: &mut Session,
    folder: &str,
    until: Moment,
) -> Result<(Vec<Seen>, String, Vec<String>), Failure> {
    let children = session.children(folder, false, until)?.unwrap_or_default();
    let permits: Vec<String> = children.iter().filter(|child| Semaphore::is_permit(child)).cloned().collect();
    let mut line = names::contenders(children);
    let mut found = Vec::new();
    if permits.is_empty() && !line.is_empty() {
        // One that has just gone leaves the next.
        while found.is_empty() && !line.is_empty() {
            found.extend(read(session, format!("{folder}/{}", line.remove(0)), until)?);
        }
        return Ok((found, folder.to_string(), line));
    }
    for permit in permits {
        found.extend(read(session, format!("{folder}/{permit}"), until)?);
    }
    found.sort_by_key(|seen| seen.stat.czxid);
    let tickets = Semaphore::of(folder).tickets;
    let line = names::contenders(session.children(&tickets, false, until)?.unwrap_or_default());
    Ok((found, tickets, line))
}

/// Who holds the lock and who waits for it.
pub(super) fn show(session: &mut Session, root: &str, name: &str, until: Moment) -> Result<LockInfo, Failure> {
    let folder = names::path(root, name);
    let (found, tickets, line) = holders_and_line(session, &folder, until)?;
    let holders: Vec<Holder> = (0..).zip(&found).map(|(_, seen)| holder(0, seen)).collect();
    let mut waiters = Vec::new();
    for (position, ticket) in (1..).zip(&line) {
        let seen = match position {
            1..=100 => read(session, format!("{tickets}/{ticket}"), until)?,
            _ => None,
        };
        if seen.is_none() && position as usize <= MOST_WAITERS {
            continue;
        }
        let started = seen.as_ref().and_then(|seen| since(&seen.stat));
        let owner = seen.and_then(|seen| seen.owner).unwrap_or_default();
        waiters.push(Waiter { position, owner, label: None, since: started });
    }
    Ok(LockInfo { name: name.to_string(), held: !holders.is_empty(), holders, waiters })
}

/// The answer to an acquire that got nothing.
pub(super) fn refusal(info: LockInfo, reason: RefusalReason) -> Refusal {
    let waiting = u32::try_from(info.waiters.len()).unwrap_or(u32::MAX);
    Refusal::new(reason, info.holders, waiting)
}

/// Up to `limit` locks that are held or waited for, by name.
pub(super) fn list(
    session: &mut Session,
    root: &str,
    prefix: &str,
    limit: u32,
    after: &str,
    until: Moment,
) -> Result<Vec<LockInfo>, Failure> {
    let mut found = Vec::new();
    let mut folders: VecDeque<String> = VecDeque::from([String::new()]);
    let mut walked = 0;
    while let Some(relative) = folders.pop_front() {
        walked += 1;
        if walked > MOST_NODES {
            break;
        }
        let path = match (root, relative.as_str()) {
            ("", "") => "/".to_string(),
            (root, "") => root.to_string(),
            (root, relative) => format!("{root}/{relative}"),
        };
        let children = session.children(&path, false, until)?.unwrap_or_default();
        let is_taken = |child: &String| names::number(child).is_some() || Semaphore::is_permit(child);
        if !relative.is_empty()
            && children.iter().any(is_taken)
            && let Some(name) = names::name(relative.trim_end_matches("-__lock__"))
            && name.starts_with(prefix)
            && name.as_str() > after
        {
            found.push(name);
        }
        for child in children.into_iter().filter(|child| !is_taken(child)) {
            if relative.is_empty() && child == "zookeeper" {
                continue;
            }
            folders.push_back(if relative.is_empty() { child } else { format!("{relative}/{child}") });
        }
    }
    found.sort();
    found.dedup();
    let mut infos = Vec::new();
    for name in found {
        if infos.len() == limit as usize {
            break;
        }
        let info = show(session, root, &name, until)?;
        if info.held || !info.waiters.is_empty() {
            infos.push(info);
        }
    }
    Ok(infos)
}

/// Ends the hold that `id` names, if it is still there.
pub(super) fn remove(
    session: &mut Session,
    root: &str,
    name: &str,
    id: &ReleaseId,
    until: Moment,
) -> Result<bool, Failure> {
    let (found, _, _) = holders_and_line(session, &names::path(root, name), until)?;
    let is_it = |seen: &&Seen| match id {
        ReleaseId::Token(token) => u64::try_from(seen.stat.czxid) == Ok(*token),
        ReleaseId::Owner(owner) => seen.owner.as_ref() == Some(owner),
    };
    let Some(seen) = found.iter().find(is_it) else { return Ok(false) };
    match session.delete(&seen.path, seen.stat.version, until) {
        Ok(()) => Ok(true),
        Err(Failure::Refused(NO_NODE | BAD_VERSION)) => Ok(false),
        Err(failure) => Err(failure),
    }
}
