//! `zookeeper://`: the locks of ZooKeeper's own recipe, so that kazoo's and Curator's locks and ours
//! exclude each other, in the order of their arrival.
//!
//! A hold is a node that ends with its session, and each hold has a session of its own: one that is
//! not kept alive loses its own lock and no other's. The token is the number of the change that made
//! the node, which rises with every change in the ensemble.

mod failure;
mod look;
mod names;
mod place;
mod recipe;
mod session;
mod wire;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub(crate) use self::place::EnsembleUrl;

use self::failure::{BAD_VERSION, Failure, NO_NODE};
use self::names::Layout;
use self::place::Ensemble;
use self::recipe::{Node, Semaphore, Turned, Waited};
use self::session::Session;
use crate::backend::{Ask, Backend, Hold, Outcome, Released, Renewed, Turn};
use crate::client::Access;
use crate::clock::{Clock, Moment, boot_now};
use crate::info::{LockInfo, Refusal, RefusalReason, ReleaseId};
use crate::{Error, Kind, Result};

/// The most sessions that are kept for the next acquire.
const MOST_IDLE: usize = 8;
/// How long until an ensemble that is out of reach is asked again by a waiter.
const AGAIN: Duration = Duration::from_millis(100);
/// How long giving a place up may take.
const LEAVE: Duration = Duration::from_secs(1);
/// The children of a permits' node changed.
const CHILDREN_CHANGED: i32 = 4;

/// A hold, or a ticket whose fate is unknown.
struct Held {
    session: Session,
    node: Node,
}

/// A try whose ticket may have been made without our knowing.
struct Limbo {
    session: Session,
    prefix: String,
}

type Key = (String, String);

/// The locks of an ensemble.
pub(crate) struct ZooKeeperStore {
    ensemble: Arc<Ensemble>,
    root: String,
    layout: Layout,
    clock: Clock,
    url: String,
    /// What is held, by name and owner. Guards the table only.
    holds: Mutex<HashMap<Key, Arc<Mutex<Held>>>>,
    /// Tries that were not answered. Guards the table only.
    limbo: Mutex<HashMap<Key, Limbo>>,
    /// Sessions without nodes. Guards the list only.
    idle: Mutex<Vec<Session>>,
}

/// Why an acquire came to nothing.
enum Stopped {
    Refused(Refusal),
    Cancelled,
    Failed(Failure),
    Error(Error),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl ZooKeeperStore {
    /// The locks of an ensemble. Nothing is sent yet.
    pub(crate) fn open(url: &EnsembleUrl, access: &Access) -> Self {
        Self {
            ensemble: Arc::new(Ensemble::new(url, access)),
            root: url.root.clone(),
            layout: url.layout,
            clock: Clock::Boot,
            url: url.shown(),
            holds: Mutex::default(),
            limbo: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    fn named<T>(&self, name: &str, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.on_lock(name).on_store(&self.url))
    }

    /// Closes the sessions of holds that were lost and never asked for again.
    fn drop_lost(&self) {
        let now = boot_now();
        let mut lost = Vec::new();
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.retain(|_, held| {
            let is_lost =
                held.try_lock().is_ok_and(|held| now.since(held.session.heard()) > held.session.timeout() * 2);
            if is_lost {
                lost.push(held.clone());
            }
            !is_lost
        });
        drop(holds);
        for held in lost.into_iter().filter_map(Arc::into_inner) {
            held.into_inner().unwrap_or_else(PoisonError::into_inner).session.close();
        }
    }

    /// A session without nodes, for holds of this lifetime.
    fn session(&self, ttl: Duration) -> Session {
        if crate::kv::roll().is_multiple_of(64) {
            self.drop_lost();
        }
        let mut stale = Vec::new();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let now = boot_now();
        let mut found = None;
        let mut at = 0;
        while at < idle.len() {
            let session = &idle[at];
            if session.is_expired() || now.since(session.heard()) > session.timeout() / 2 {
                stale.push(idle.swap_remove(at));
            } else if session.timeout() == ttl && found.is_none() {
                found = Some(idle.swap_remove(at));
            } else {
                at += 1;
            }
        }
        drop(idle);
        stale.into_iter().for_each(Session::close);
        found.unwrap_or_else(|| Session::new(&self.ensemble, ttl))
    }

    /// Keeps a session that has no node any more for the next acquire.
    fn put_back(&self, session: Session) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !session.is_expired() && idle.len() < MOST_IDLE {
            idle.push(session);
            return;
        }
        drop(idle);
        session.close();
    }

    /// Does something with a session that is needed for a moment.
    fn with_session<T>(&self, body: impl FnOnce(&mut Session) -> Result<T, Failure>) -> Result<T> {
        // Its lifetime does not matter: it has no nodes.
        let mut session = self.session(Duration::from_secs(10));
        let answer = body(&mut session);
        match &answer {
            Ok(_) | Err(Failure::Refused(_)) => self.put_back(session),
            Err(_) => session.close(),
        }
        answer.map_err(|failure| failure.into_error(false))
    }

    fn held(&self, ask: &Ask<'_>) -> Option<Arc<Mutex<Held>>> {
        let holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.get(&(ask.name.to_string(), ask.owner.to_string())).cloned()
    }

    fn forget(&self, ask: &Ask<'_>) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.remove(&(ask.name.to_string(), ask.owner.to_string()));
    }

    fn granted(&self, ask: &Ask<'_>, session: Session, node: Node, already: bool) -> Outcome {
        let (hold, sent) = (Hold { slot: 0, token: node.token }, session.heard());
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (ask.name.to_string(), ask.owner.to_string());
        holds.insert(key, Arc::new(Mutex::new(Held { session, node })));
        Outcome::Granted { hold, sent, already }
    }

    /// What this owner holds already, if it does.
    fn already(&self, ask: &Ask<'_>, until: Moment) -> Result<Option<Outcome>, Failure> {
        let Some(held) = self.held(ask) else { return Ok(None) };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let path = held.node.path.clone();
        match held.session.exists(&path, false, until) {
            Ok(Some(_)) => {
                let hold = Hold { slot: 0, token: held.node.token };
                Ok(Some(Outcome::Granted { hold, sent: held.session.heard(), already: true }))
            }
            Ok(None) | Err(Failure::Expired) => {
                drop(held);
                self.forget(ask);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// One acquire from the start to its end; a session that ends while waiting lines up anew.
    fn try_all(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome, Stopped> {
        let end = turn.until.unwrap_or(turn.patience);
        let folder = names::path(&self.root, ask.name);
        if let Some(outcome) = self.already(ask, end)? {
            return Ok(outcome);
        }
        let key = (ask.name.to_string(), ask.owner.to_string());
        let limbo = self.limbo.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let mut begun = limbo.map(|limbo| (limbo.session, limbo.prefix));
        loop {
            let is_first = begun.is_none();
            let (mut session, prefix) = begun.take().unwrap_or_else(|| (self.session(ask.ttl), self.layout.prefix()));
            if is_first && turn.until.is_none() {
                // A look costs nothing; a ticket costs two changes of the whole ensemble.
                match self.look_first(&mut session, ask, end) {
                    Ok(None) => {}
                    Ok(Some(refusal)) => {
                        self.put_back(session);
                        return Err(Stopped::Refused(refusal));
                    }
                    Err(failure) => {
                        session.close();
                        return Err(failure.into());
                    }
                }
            }
            let tried = if ask.permits == 1 {
                self.line_up(&mut session, &folder, &prefix, ask, turn, !is_first)
            } else {
                self.try_semaphore(&mut session, &prefix, ask, turn, !is_first)
            };
            turn.position.store(0, Ordering::Relaxed);
            match tried {
                Ok(node) => return Ok(self.granted(ask, session, node, false)),
                Err(Stopped::Failed(Failure::Expired)) if turn.until.is_some() && boot_now() < end => {}
                Err(Stopped::Failed(failure @ (Failure::Unanswered(_) | Failure::Unreachable(_)))) => {
                    if turn.until.is_some() && boot_now() < end {
                        // Ridden out for the length of the wait; the session may still be good.
                        if let Some(stopped) = pause(turn, end) {
                            session.close();
                            return Err(stopped);
                        }
                        begun = Some((session, prefix));
                        continue;
                    }
                    if matches!(failure, Failure::Unanswered(_)) {
                        let mut limbo = self.limbo.lock().unwrap_or_else(PoisonError::into_inner);
                        limbo.insert(key, Limbo { session, prefix });
                    }
                    return Err(failure.into());
                }
                Err(stopped) => {
                    self.put_back(session);
                    return Err(stopped);
                }
            }
        }
    }

    /// A refusal if somebody is in front now.
    fn look_first(&self, session: &mut Session, ask: &Ask<'_>, until: Moment) -> Result<Option<Refusal>, Failure> {
        let info = look::show(session, &self.root, ask.name, until)?;
        let is_free = info.holders.len() < ask.permits as usize && info.waiters.is_empty();
        Ok((!is_free).then(|| look::refusal(info, RefusalReason::Held)))
    }

    fn refused(&self, session: &mut Session, ask: &Ask<'_>, turn: &Turn<'_>) -> Stopped {
        let until = boot_now().after(LEAVE);
        let reason = if turn.until.is_some() { RefusalReason::TimedOut } else { RefusalReason::Held };
        match look::show(session, &self.root, ask.name, until) {
            Ok(info) => Stopped::Refused(look::refusal(info, reason)),
            Err(failure) => Stopped::Failed(failure),
        }
    }

    /// Takes a ticket and waits for its turn; gives the ticket back when nothing comes of it.
    fn line_up(
        &self,
        session: &mut Session,
        folder: &str,
        prefix: &str,
        ask: &Ask<'_>,
        turn: &Turn<'_>,
        is_resumed: bool,
    ) -> Result<Node, Stopped> {
        let end = turn.until.unwrap_or(turn.patience);
        let mut ticket = recipe::find_or_take(session, folder, prefix, ask.owner.as_bytes(), is_resumed, end)?;
        loop {
            let stopped = match recipe::wait_for_turn(session, folder, &ticket, ask.permits == 1, turn) {
                Ok(Turned::First) => return Ok(ticket),
                Ok(Turned::TicketGone) => {
                    if turn.until.is_none() || boot_now() >= end {
                        return Err(self.refused(session, ask, turn));
                    }
                    ticket = recipe::take_ticket(session, folder, prefix, ask.owner.as_bytes(), end)?;
                    continue;
                }
                Ok(Turned::Over) => None,
                Ok(Turned::Cancelled) => Some(Stopped::Cancelled),
                // The ticket stays: whoever goes on with this session finds it.
                Err(failure) => return Err(failure.into()),
            };
            let left = session.delete(&ticket.path, -1, boot_now().after(LEAVE));
            return Err(match (stopped, left) {
                (Some(stopped), _) => stopped,
                (None, Ok(()) | Err(Failure::Refused(NO_NODE))) => self.refused(session, ask, turn),
                (None, Err(failure)) => failure.into(),
            });
        }
    }

    fn try_semaphore(
        &self,
        session: &mut Session,
        prefix: &str,
        ask: &Ask<'_>,
        turn: &Turn<'_>,
        is_resumed: bool,
    ) -> Result<Node, Stopped> {
        let semaphore = Semaphore::of(&names::path(&self.root, ask.name));
        let end = turn.until.unwrap_or(turn.patience);
        if let Some(theirs) = semaphore.ensure(session, ask.permits, end)? {
            let detail = format!(
                "the semaphore was made with {theirs} permits, not {} (locks_bad_limit). Pass the same number \
                 everywhere, or remove its node to begin anew",
                ask.permits
            );
            return Err(Stopped::Error(Error::invalid("locks_bad_limit", detail)));
        }
        let ticket = self.line_up(session, &semaphore.tickets, prefix, ask, turn, is_resumed)?;
        let node = self.take_permit(session, &semaphore, recipe::permit_id(prefix), ask, turn);
        // Whatever came of it, the next one in line looks now.
        let left = session.delete(&ticket.path, -1, boot_now().after(LEAVE));
        match (node, left) {
            (Ok(node), Ok(()) | Err(Failure::Refused(NO_NODE))) => Ok(node),
            // The session will take the ticket with it; what we hold must not be in its way.
            (Ok(_), Err(failure)) => Err(failure.into()),
            (Err(stopped), _) => Err(stopped),
        }
    }

    /// Takes a permit as the first in line, waiting until one is free.
    fn take_permit(
        &self,
        session: &mut Session,
        semaphore: &Semaphore,
        id: &str,
        ask: &Ask<'_>,
        turn: &Turn<'_>,
    ) -> Result<Node, Stopped> {
        let end = turn.until.unwrap_or(turn.patience);
        loop {
            turn.position.store(1, Ordering::Relaxed);
            let taken = semaphore.taken(session, turn.until.is_some(), end)?;
            if taken.len() < ask.permits as usize || taken.iter().any(|child| child == id) {
                return Ok(semaphore.take(session, id, ask.owner.as_bytes(), end)?);
            }
            let Some(until) = turn.until else { return Err(self.refused(session, ask, turn)) };
            let changed = |kind: i32, path: &str| kind == CHILDREN_CHANGED && path == semaphore.permits;
            match recipe::wait_for(session, turn, until, changed)? {
                Waited::Noticed => {}
                Waited::Over => return Err(self.refused(session, ask, turn)),
                Waited::Cancelled => return Err(Stopped::Cancelled),
            }
        }
    }
}

/// Sleeps before an ensemble that is out of reach is asked again; an answer ends the wait.
fn pause(turn: &Turn<'_>, end: Moment) -> Option<Stopped> {
    let until = end.min(boot_now().after(AGAIN));
    loop {
        if recipe::is_over(turn) {
            return Some(Stopped::Cancelled);
        }
        let left = until.since(boot_now());
        if left.is_zero() {
            return None;
        }
        std::thread::sleep(left.min(Duration::from_millis(20)));
    }
}

impl Backend for ZooKeeperStore {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn acquire(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome> {
        let answer = match self.try_all(ask, turn) {
            Ok(outcome) => Ok(outcome),
            Err(Stopped::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Stopped::Cancelled) => Ok(Outcome::Cancelled),
            Err(Stopped::Error(error)) => Err(error),
            Err(Stopped::Failed(failure)) => Err(failure.into_error(true)),
        };
        self.named(ask.name, answer)
    }

    fn renew(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Renewed> {
        let Some(held) = self.held(ask) else { return Ok(Renewed::Lost(Vec::new())) };
        let found = {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.node.token != hold.token {
                return Ok(Renewed::Lost(Vec::new()));
            }
            let path = held.node.path.clone();
            held.session.exists(&path, false, until)
        };
        match found {
            Ok(Some(_)) => Ok(Renewed::Renewed { token: hold.token }),
            Ok(None) | Err(Failure::Expired) => {
                self.forget(ask);
                let holders =
                    self.show(ask.name, boot_now().after(LEAVE)).map_or_else(|_| Vec::new(), |info| info.holders);
                Ok(Renewed::Lost(holders))
            }
            Err(failure) => self.named(ask.name, Err(failure.into_error(false))),
        }
    }

    fn release(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Released> {
        let Some(held) = self.held(ask) else { return Ok(Released::NotOurs(Vec::new())) };
        let removed = {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.node.token != hold.token {
                return Ok(Released::NotOurs(Vec::new()));
            }
            let path = held.node.path.clone();
            // The node was never changed, so its version is the first.
            held.session.delete(&path, 0, until)
        };
        let answer = match removed {
            Ok(()) => Released::Released,
            Err(Failure::Refused(NO_NODE | BAD_VERSION) | Failure::Expired) => Released::NotOurs(Vec::new()),
            Err(failure) => return self.named(ask.name, Err(failure.into_error(true))),
        };
        self.forget(ask);
        if let Some(held) = Arc::into_inner(held) {
            self.put_back(held.into_inner().unwrap_or_else(PoisonError::into_inner).session);
        }
        Ok(answer)
    }

    fn show(&self, name: &str, until: Moment) -> Result<LockInfo> {
        let shown = self.with_session(|session| look::show(session, &self.root, name, until));
        self.named(name, shown)
    }

    fn list(&self, prefix: &str, limit: u32, after: &str, until: Moment) -> Result<Vec<LockInfo>> {
        let listed = self.with_session(|session| look::list(session, &self.root, prefix, limit, after, until));
        listed.map_err(|error| error.on_store(&self.url))
    }

    fn force_release(&self, name: &str, slot: u32, id: &ReleaseId, until: Moment) -> Result<bool> {
        if slot != 0 {
            return Ok(false);
        }
        let removed = self.with_session(|session| look::remove(session, &self.root, name, id, until));
        self.named(name, removed)
    }

    fn ping(&self, until: Moment) -> Result<()> {
        let answer = self.with_session(|session| session.exists("/", false, until));
        match answer {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == Kind::Forbidden => Ok(()),
            Err(error) => Err(error.on_store(&self.url)),
        }
    }
}
