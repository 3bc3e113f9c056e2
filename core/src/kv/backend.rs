//! A store of leases made of a store of rows.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::limits::check_permits;
use super::locks::{self, Kept, Tried};
use super::look;
use super::row::{Intent, RowStore, Rows, Table};
use super::tidy;
use serde_json::Value;

use super::operations::Scope;
use crate::Result;
use crate::backend::{Ask, Backend, Hold, KvAnswer, Outcome, Released, Renewed, Step, StepAnswer, Turn};
use crate::clock::{Clock, Moment};
use crate::info::{LockInfo, Refusal, RefusalReason, ReleaseId};
use crate::ttl::Ttl;

/// One in so many acquires tidies.
const TIDY_EVERY: u64 = 64;
/// How many rows of each table it looks at: more than as many acquires can leave behind.
const TIDY_ROWS: usize = 128;

/// The locks of a store of rows.
pub(crate) struct KvBackend<S> {
    pub(super) store: Arc<S>,
    /// How far the rows have been tidied, for each table with locks and tickets.
    tidied: Mutex<[Option<Vec<u8>>; 2]>,
}

impl<S: RowStore> KvBackend<S> {
    pub(crate) fn new(store: Arc<S>) -> Self {
        Self { store, tidied: Mutex::default() }
    }

    /// Runs one transaction and, after it, wakes those whose words it left.
    pub(super) fn write<T>(
        &self,
        intent: Intent,
        until: Moment,
        body: impl FnMut(&mut dyn Rows, &mut Vec<u32>) -> Result<T>,
    ) -> Result<T> {
        self.run(body, |body| self.store.transact(intent, until, body))
    }

    /// The same for a transaction about one lock alone.
    pub(super) fn write_lock<T>(
        &self,
        name: &str,
        intent: Intent,
        until: Moment,
        body: impl FnMut(&mut dyn Rows, &mut Vec<u32>) -> Result<T>,
    ) -> Result<T> {
        self.run(body, |body| self.store.transact_lock(name, intent, until, body))
    }

    /// The same for a transaction that may be about rows of users as well.
    pub(super) fn write_values<T>(
        &self,
        intent: Intent,
        until: Moment,
        body: impl FnMut(&mut dyn Rows, &mut Vec<u32>) -> Result<T>,
    ) -> Result<T> {
        self.run(body, |body| self.store.transact_values(intent, until, body))
    }

    fn run<T>(
        &self,
        mut body: impl FnMut(&mut dyn Rows, &mut Vec<u32>) -> Result<T>,
        transact: impl FnOnce(&mut dyn FnMut(&mut dyn Rows) -> Result<()>) -> Result<()>,
    ) -> Result<T> {
        let mut answer = None;
        let mut wakes = Vec::new();
        transact(&mut |rows| {
            // A store may run the body again, which then starts anew.
            wakes.clear();
            answer = Some(body(rows, &mut wakes)?);
            Ok(())
        })?;
        for word in wakes {
            self.store.wake(word);
        }
        answer.ok_or_else(|| crate::Error::internal("the store answered without running the transaction"))
    }

    /// Now and then removes some rows that are over, as part of a transaction that adds one.
    pub(super) fn tidy(&self, rows: &mut dyn Rows) -> Result<()> {
        if self.store.locks_by_name() || !super::roll().is_multiple_of(TIDY_EVERY) {
            return Ok(());
        }
        self.sweep(rows)
    }

    /// The same in a transaction of its own, where those about a lock are about it alone.
    pub(super) fn tidy_apart(&self, until: Moment) {
        if !self.store.locks_by_name() || !super::roll().is_multiple_of(TIDY_EVERY) {
            return;
        }
        // Rows that stay for now are found again.
        let _ = self.store.transact(Intent::Keep, until, &mut |rows| self.sweep(rows));
    }

    fn sweep(&self, rows: &mut dyn Rows) -> Result<()> {
        // Another thread that is at it does enough.
        let Ok(mut tidied) = self.tidied.try_lock() else { return Ok(()) };
        for (table, after) in [Table::Locks, Table::Queues].into_iter().zip(tidied.iter_mut()) {
            *after = tidy::sweep(rows, table, after.as_deref(), TIDY_ROWS)?;
        }
        Ok(())
    }

    fn try_once(&self, ask: &Ask<'_>, until: Moment) -> Result<Outcome> {
        enum Answer {
            Granted(Hold, bool),
            Refused(Refusal),
        }
        let sent = self.clock().now();
        let answer = self.write_lock(ask.name, Intent::Grow, until, |rows, wakes| {
            self.tidy(rows)?;
            Ok(match locks::attempt(rows, ask, None, wakes)? {
                Tried::Granted { hold, already } => Answer::Granted(hold, already),
                Tried::Busy(_) => Answer::Refused(locks::refusal(rows, ask, RefusalReason::Held)?),
            })
        })?;
        Ok(match answer {
            Answer::Granted(hold, already) => Outcome::Granted { hold, sent, already },
            Answer::Refused(refusal) => Outcome::Refused(refusal),
        })
    }

    fn named<T>(&self, name: &str, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.on_lock(name).on_store(self.store.store()))
    }
}

impl<S: RowStore> Backend for KvBackend<S> {
    fn clock(&self) -> &Clock {
        self.store.clock()
    }

    fn lifetime(&self, asked: Ttl) -> Duration {
        asked.get().max(self.store.shortest())
    }

    fn is_local(&self) -> bool {
        self.store.is_local()
    }

    fn acquire(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome> {
        // Waiting is fair for all, so `ask.fair` asks for nothing more; and whoever steps aside
        // finds those in front of it that its release has called.
        let answer = check_permits(ask.permits).and_then(|()| {
            if super::waiting::is_over(turn) {
                return Ok(Outcome::Cancelled);
            }
            match turn.until {
                None => self.try_once(ask, turn.patience),
                Some(until) => self.wait(ask, turn, until),
            }
        });
        self.named(ask.name, answer)
    }

    fn renew(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Renewed> {
        let answer = self.write_lock(ask.name, Intent::Keep, until, |rows, _| locks::renew(rows, ask, hold));
        Ok(match self.named(ask.name, answer)? {
            Kept::Done(token) => Renewed::Renewed { token },
            Kept::Lost(holders) => Renewed::Lost(holders),
        })
    }

    fn release(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Released> {
        let answer =
            self.write_lock(ask.name, Intent::Keep, until, |rows, wakes| locks::release(rows, ask, hold, wakes));
        self.tidy_apart(until);
        Ok(match self.named(ask.name, answer)? {
            Kept::Done(_) => Released::Released,
            Kept::Lost(holders) => Released::NotOurs(holders),
        })
    }

    fn show(&self, name: &str, until: Moment) -> Result<LockInfo> {
        self.named(name, look::show(&*self.store, name, until))
    }

    fn list(&self, prefix: &str, limit: u32, after: &str, until: Moment) -> Result<Vec<LockInfo>> {
        look::list(&*self.store, prefix, limit, after, until).map_err(|error| error.on_store(self.store.store()))
    }

    fn force_release(&self, name: &str, slot: u32, id: &ReleaseId, until: Moment) -> Result<bool> {
        let answer =
            self.write_lock(name, Intent::Keep, until, |rows, wakes| locks::force_release(rows, name, slot, id, wakes));
        self.named(name, answer)
    }

    fn kv(&self, operations: &[Value], until: Moment) -> Result<KvAnswer> {
        self.operate(operations, Scope::Call, until).map_err(|error| error.on_store(self.store.store()))
    }

    fn commit(&self, step: &Step, until: Moment) -> Result<StepAnswer> {
        self.commit_rows(step, until).map_err(|error| error.on_store(self.store.store()))
    }

    fn ping(&self, until: Moment) -> Result<()> {
        self.store.transact(Intent::Read, until, &mut |_| Ok(())).map_err(|error| error.on_store(self.store.store()))
    }
}
