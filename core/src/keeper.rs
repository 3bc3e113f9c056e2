//! The thread `fencehold-keep`, which renews every background lease of the process.
//!
//! One thread and one heap of timers serve any number of leases. The heap holds weak references: a
//! handle that is dropped leaves an entry that is skipped when its time comes. Whatever has to wait
//! for a server is done by that store's own [workers](crate::workers).
//!
//! Lock order: the heap's lock is taken last and never held while a lease is renewed.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::clock::{Moment, boot_now};
use crate::log::warn_user;
use crate::process::PerProcess;

/// What the keeper looks after.
pub(crate) trait Kept: Send + Sync {
    /// Does what is due for the current hold, if the timer for `at` is the one that counts, and
    /// answers when to come back, if at all.
    fn keep(self: Arc<Self>, at: Moment) -> Option<Moment>;
}

struct Timer {
    at: Moment,
    lease: Weak<dyn Kept>,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}
impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap's greatest is the earliest.
        other.at.cmp(&self.at)
    }
}

struct Keeper {
    /// Guards the timers.
    timers: Mutex<BinaryHeap<Timer>>,
    changed: Condvar,
}

static KEEPER: PerProcess<Keeper> = PerProcess::new();
static STARTED: PerProcess<bool> = PerProcess::new();

/// Has the lease looked at when `at` has come. False when no thread could be started.
pub(crate) fn schedule(lease: Weak<dyn Kept>, at: Moment) -> bool {
    let keeper = KEEPER.get_or(|| Keeper { timers: Mutex::new(BinaryHeap::new()), changed: Condvar::new() });
    {
        let mut timers = keeper.timers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = timers.peek().is_none_or(|first| at < first.at);
        timers.push(Timer { at, lease });
        if is_first {
            keeper.changed.notify_one();
        }
    }
    *STARTED.get_or(|| {
        let started = std::thread::Builder::new().name("fencehold-keep".into()).spawn(|| keep(keeper));
        if let Err(error) = &started {
            warn_user!("no thread could be started to renew leases: {error}. They last for one lifetime");
        }
        started.is_ok()
    })
}

fn keep(keeper: &'static Keeper) {
    let mut timers = keeper.timers.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let now = boot_now();
        match timers.peek() {
            Some(first) if first.at <= now => {
                let Some(timer) = timers.pop() else { continue };
                drop(timers);
                // The strong reference must not be the last one while the heap is locked.
                let again = timer.lease.upgrade().and_then(|lease| lease.keep(timer.at));
                timers = keeper.timers.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(at) = again {
                    timers.push(Timer { at, ..timer });
                }
            }
            first => {
                // A suspended machine's condition variables sleep on: look at least each second.
                let limit =
                    first.map_or(Duration::from_secs(3600), |first| first.at.since(now).min(Duration::from_secs(1)));
                timers = match keeper.changed.wait_timeout(timers, limit) {
                    Ok((timers, _)) => timers,
                    Err(poisoned) => poisoned.into_inner().0,
                };
            }
        }
    }
}
