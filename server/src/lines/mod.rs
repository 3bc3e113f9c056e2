//! Those who wait for a lock on this server.
//!
//! Every waiter has a ticket in the store, which orders it, and an entry here, which knows the
//! connection that waits. Both are changed by the writer's thread only. A waiter needs no thread:
//! whoever releases runs the next waiter's try in the same group, so that a hand-over is durable
//! and answered together with the release.

mod turn;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use fencehold::internal::locks::Place;
use fencehold::internal::{Ask, Crash, Hold, Moment};
use fencehold::{Error, Holder};
use tokio::sync::oneshot;

pub(crate) use self::turn::{acquire, expire, give_back, hang_up, leave, restore, settle, stop};
use crate::store::Presence;

/// How long a place is kept without a connection, at least.
const KEEP: Duration = Duration::from_secs(10);
/// How often the head of a line looks again although nobody said so.
const LOOK: Duration = Duration::from_secs(5);

/// Who asks for what.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) permits: u32,
    /// Empty: whoever asks did not say who it is.
    pub(crate) owner: String,
    pub(crate) label: Option<String>,
    pub(crate) ttl: Duration,
    /// Keeps its place when nobody waits on a connection.
    pub(crate) fair: bool,
}

impl Asked {
    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask {
            name: &self.name,
            permits: self.permits,
            owner: &self.owner,
            label: self.label.as_deref(),
            ttl: self.ttl,
            // The server sees connections come and go, which says nothing about the holder.
            crash: Crash::Expire,
            fair: self.fair,
        }
    }

    /// How long the place is kept without a connection.
    fn keep(&self) -> Duration {
        if self.fair { self.ttl.max(KEEP) } else { Duration::ZERO }
    }

    /// The same as it is written beside the ticket, for a server that starts again; 0: not at all.
    fn keep_seconds(&self) -> u32 {
        if self.fair { u32::try_from(self.ttl.as_secs()).unwrap_or(u32::MAX).max(1) } else { 0 }
    }
}

/// A place in line as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InLine {
    /// The ticket's number; `None`: it never needed one.
    pub(crate) ticket: Option<u64>,
    /// 0: it holds; 1: it is next.
    pub(crate) position: usize,
    /// How many are in line.
    pub(crate) length: usize,
}

/// What an acquire came to.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// `at` is when the lease begins.
    Granted {
        hold: Hold,
        already: bool,
        line: InLine,
        at: Moment,
    },
    Refused {
        holders: Vec<Holder>,
        line: InLine,
    },
    Failed(Error),
}

/// A connection that waits for a verdict.
pub(crate) struct Poll {
    /// By which the connection names itself when it hangs up.
    pub(crate) id: u64,
    pub(crate) wait: Duration,
    pub(crate) reply: oneshot::Sender<Verdict>,
}

struct Waiter {
    asked: Asked,
    place: Place,
    poll: Option<Poll>,
    /// When a place without a connection is given up.
    kept_until: Moment,
}

impl Waiter {
    /// Whether somebody is there to take a grant.
    fn is_here(&self) -> bool {
        self.poll.as_ref().is_some_and(|poll| !poll.reply.is_closed())
    }
}

/// Something that becomes due by time alone.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The wait of a poll is over.
    Poll(u64),
    /// A place without a connection is given up.
    Keep(u32),
    /// Those in line for a lock look again.
    Look(String),
}

#[derive(Default)]
struct Line {
    /// The waiters' words by the numbers of their tickets.
    order: BTreeMap<u64, u32>,
    /// When the head looks again.
    look: Option<Moment>,
}

/// All who wait.
pub(crate) struct Lines {
    next_word: u32,
    waiters: HashMap<u32, Waiter>,
    lines: HashMap<String, Line>,
    /// The waiter of an owner at a lock.
    owners: HashMap<(String, String), u32>,
    /// The waiter of a poll.
    polls: HashMap<u64, u32>,
    times: BinaryHeap<Reverse<(Moment, Due)>>,
    presence: Presence,
}

impl Lines {
    pub(crate) fn new(presence: Presence) -> Self {
        Self {
            next_word: 1,
            waiters: HashMap::new(),
            lines: HashMap::new(),
            owners: HashMap::new(),
            polls: HashMap::new(),
            times: BinaryHeap::new(),
            presence,
        }
    }

    /// When something is due.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.times.peek().map(|Reverse((moment, _))| *moment)
    }

    /// How many connections wait.
    pub(crate) fn polling(&self) -> usize {
        self.polls.len()
    }

    /// A number that no waiter has.
    fn draw_word(&mut self) -> u32 {
        loop {
            let word = self.next_word;
            self.next_word = self.next_word.wrapping_add(1).max(1);
            if !self.waiters.contains_key(&word) {
                return word;
            }
        }
    }

    fn waiter_of(&self, name: &str, owner: &str) -> Option<u32> {
        if owner.is_empty() {
            return None;
        }
        self.owners.get(&(name.to_string(), owner.to_string())).copied()
    }

    fn at(&mut self, moment: Moment, due: Due) {
        self.times.push(Reverse((moment, due)));
    }

    /// Enters a waiter under its word.
    fn enter(&mut self, word: u32, waiter: Waiter) {
        let asked = &waiter.asked;
        if !asked.owner.is_empty() {
            self.owners.insert((asked.name.clone(), asked.owner.clone()), word);
        }
        if let Some(number) = waiter.place.number {
            self.lines.entry(asked.name.clone()).or_default().order.insert(number, word);
        }
        self.presence.add(word);
        self.waiters.insert(word, waiter);
    }

    /// Notes that the ticket of a waiter has another number now.
    fn renumber(&mut self, word: u32, before: Option<u64>) {
        let Some(waiter) = self.waiters.get(&word) else { return };
        if waiter.place.number == before {
            return;
        }
        let line = self.lines.entry(waiter.asked.name.clone()).or_default();
        if let Some(before) = before {
            line.order.remove(&before);
        }
        if let Some(number) = waiter.place.number {
            line.order.insert(number, word);
        }
    }

    /// Forgets a waiter, whose ticket is gone.
    fn forget(&mut self, word: u32) -> Option<Waiter> {
        let waiter = self.waiters.remove(&word)?;
        let asked = &waiter.asked;
        self.owners.remove(&(asked.name.clone(), asked.owner.clone()));
        if let Some(line) = self.lines.get_mut(&asked.name) {
            line.order.retain(|_, other| *other != word);
            if line.order.is_empty() {
                self.lines.remove(&asked.name);
            }
        }
        if let Some(poll) = &waiter.poll {
            self.polls.remove(&poll.id);
        }
        self.presence.remove(word);
        Some(waiter)
    }

    /// The place of a ticket in its line.
    fn in_line(&self, name: &str, number: Option<u64>) -> InLine {
        let order = self.lines.get(name).map(|line| &line.order);
        let length = order.map_or(0, BTreeMap::len);
        let ahead = number.and_then(|number| Some(order?.range(..number).count()));
        InLine { ticket: number, position: ahead.map_or(0, |ahead| ahead + 1), length }
    }
}
