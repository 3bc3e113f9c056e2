//! Acquiring: one try, or waiting for the turn.

use std::sync::Arc;
use std::time::Duration;

use super::lock::{Acquire, Core, Lock, LockInner};
use crate::backend::{Hold, Outcome, Renewed, Turn};
use crate::clock::{Clock, Moment, boot_now};
use crate::info::{Refusal, RefusalReason};
use crate::machine::lease::GrantStep;
use crate::wait::Wait;
use crate::{Cancel, Error, Kind, Result, process};

impl Lock {
    /// Takes the permit, waiting as the handle's options say.
    ///
    /// Somebody else holding it is an answer. A store out of reach is ridden out for the length of
    /// the wait and then an error, never a refusal.
    ///
    /// # Errors
    /// `unreachable`: nothing was done. `in_doubt`: it may be held until [`Error::until`]; acquire
    /// again through this handle. `store`, `forbidden`, `unsupported`; `client_closed`; `forked`.
    pub fn acquire(&self) -> Result<Acquire> {
        self.acquire_within(Wait::Default)
    }

    /// Takes the permit, waiting up to `wait`.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    pub fn acquire_within(&self, wait: impl Into<Wait>) -> Result<Acquire> {
        self.inner.acquire(wait.into(), None, false)
    }

    /// The same; `cancel` ends the wait with nothing held and no place kept.
    ///
    /// # Errors
    /// As [`Lock::acquire`]; `cancelled`.
    pub fn acquire_cancellable(&self, wait: impl Into<Wait>, cancel: &Cancel) -> Result<Acquire> {
        self.inner.acquire(wait.into(), Some(cancel), false)
    }

    /// Gives back what is held, lets whoever waits go first, and takes the permit again after them.
    ///
    /// # Errors
    /// As [`Lock::acquire`] and [`Lock::release`].
    pub fn step_aside(&self, wait: impl Into<Wait>) -> Result<Acquire> {
        self.step_aside_cancellable(wait, None)
    }

    /// The same, with a wait that `cancel` can end.
    ///
    /// # Errors
    /// As [`Lock::step_aside`]; `cancelled`.
    pub fn step_aside_cancellable(&self, wait: impl Into<Wait>, cancel: Option<&Cancel>) -> Result<Acquire> {
        if self.inner.is_here() {
            self.inner.core().extra = 0;
        }
        self.inner.release(None, Duration::from_secs(2))?;
        self.inner.acquire(wait.into(), cancel, true)
    }

    /// One try that is answered within about a millisecond; `None`: it could not be decided that
    /// fast, call [`Lock::acquire_cancellable`] on a thread that may block.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    pub fn acquire_at_once(&self) -> Result<Option<Acquire>> {
        if !self.inner.is_here() {
            return Err(self.inner.forked_error());
        }
        if !self.inner.backend().is_local() {
            return Ok(None);
        }
        match self.inner.acquire_bounded(Wait::No, None, false, Duration::from_millis(1)) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.kind() == Kind::Unreachable => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The end of a wait, by the store's clock and by the machine's.
#[derive(Clone, Copy)]
struct Limit {
    until: Moment,
    real: Moment,
}

impl LockInner {
    pub(super) fn acquire(self: &Arc<Self>, wait: Wait, cancel: Option<&Cancel>, aside: bool) -> Result<Acquire> {
        // A quarter of the lifetime, so that a grant that comes late can still be used.
        let patience = self.client.request_timeout().min(self.ttl / 4).max(Duration::from_millis(50));
        self.acquire_bounded(wait, cancel, aside, patience)
    }

    fn acquire_bounded(
        self: &Arc<Self>,
        wait: Wait,
        cancel: Option<&Cancel>,
        aside: bool,
        patience: Duration,
    ) -> Result<Acquire> {
        if !self.is_here() {
            return Err(self.forked_error());
        }
        if self.session.is_closed() {
            return Err(self.closed_error());
        }
        if cancel.is_some_and(Cancel::is_triggered) {
            return Err(self.cancelled_error());
        }
        let limit = match wait.or(self.wait) {
            Wait::Default | Wait::No => None,
            Wait::For(wait) => Some(Limit { until: self.clock.now().after(wait), real: boot_now().after(wait) }),
            Wait::Forever => Some(Limit { until: Moment::NEVER, real: Moment::NEVER }),
        };
        if let Some(answer) = self.begin_acquire(limit, cancel)? {
            return Ok(answer);
        }
        let answer = self.ask_for_grant(limit, cancel, aside, patience);
        self.position.store(0, std::sync::atomic::Ordering::Relaxed);
        let mut core = self.core();
        core.acquiring = false;
        match &answer {
            Ok(Acquire::Granted) => core.refusal = None,
            Ok(Acquire::Refused(refusal)) => core.refusal = Some(refusal.clone()),
            Err(error) => core.last_error = Some(error.clone()),
        }
        self.publish(&core);
        answer
    }

    /// Waits until no other thread acquires, holds or gives back through this handle. An answer ends the call.
    fn begin_acquire(&self, limit: Option<Limit>, cancel: Option<&Cancel>) -> Result<Option<Acquire>> {
        let mut core = self.look(self.core());
        loop {
            let held = core.lease.is_held(self.clock.now());
            if held && self.reentrant {
                core.extra += 1;
                core.refusal = None;
                return Ok(Some(Acquire::Granted));
            }
            if !held && !core.acquiring && core.releasing == 0 {
                core.acquiring = true;
                return Ok(None);
            }
            let reason = match limit {
                None => Some(RefusalReason::HeldHere),
                Some(limit) if self.clock.now() >= limit.until || boot_now() >= limit.real => {
                    Some(RefusalReason::TimedOut)
                }
                Some(_) => None,
            };
            if let Some(reason) = reason {
                let refusal = Refusal::new(reason, vec![self.own_holder(&core)], 0);
                core.refusal = Some(refusal.clone());
                return Ok(Some(Acquire::Refused(refusal)));
            }
            let slice = match (&self.clock, core.lease.deadline()) {
                (Clock::Manual(_), _) => Duration::from_millis(2),
                (Clock::Boot, Some(deadline)) => deadline.since(boot_now()).max(Duration::from_millis(1)),
                (Clock::Boot, None) => Duration::from_secs(1),
            };
            let left = limit.map_or(Duration::MAX, |limit| limit.real.since(boot_now()));
            let slice = slice.min(left).min(Duration::from_millis(if cancel.is_some() { 20 } else { 200 }));
            drop(self.wait_for_change(core, slice));
            // The cancel's hook may run foreign code, so no lock is held around it.
            if cancel.is_some_and(Cancel::should_end) {
                return Err(self.cancelled_error());
            }
            if self.session.is_closed() {
                return Err(self.closed_error());
            }
            core = self.look(self.core());
        }
    }

    fn own_holder(&self, core: &Core) -> crate::Holder {
        let hold = core.lease.last_hold().unwrap_or(Hold { slot: 0, token: 0 });
        crate::Holder {
            slot: hold.slot,
            token: hold.token,
            owner: Some(self.owner.to_string()),
            label: self.ask().label.map(String::from),
            since: None,
            renewed_at: None,
            expires_at: core.lease.deadline().map(|deadline| self.time_of_day(deadline)),
        }
    }

    fn closed_error(&self) -> Error {
        let detail = "the client was closed (client_closed). Make a new one";
        self.describe(Error::invalid("client_closed", detail))
    }

    fn cancelled_error(&self) -> Error {
        let detail = "the wait was cancelled; nothing is held and no place in line is kept";
        self.describe(Error::new(Kind::Cancelled, "cancelled", detail))
    }

    /// Asks the store until it answers, the wait is over or somebody ends it.
    fn ask_for_grant(
        self: &Arc<Self>,
        limit: Option<Limit>,
        cancel: Option<&Cancel>,
        aside: bool,
        patience: Duration,
    ) -> Result<Acquire> {
        let mut pause = Duration::from_millis(50);
        let mut last_sent = self.clock.now();
        loop {
            let now = self.clock.now();
            let turn = Turn {
                until: limit.map(|limit| limit.until.min(now.after(limit.real.since(boot_now())))),
                patience: now.after(patience),
                cancel,
                closing: self.session.closing(),
                position: &self.position,
                step_aside: aside,
            };
            let has_asked = std::mem::replace(&mut self.core().has_asked, true);
            let error = match self.backend().acquire(&self.ask(), &turn) {
                Ok(Outcome::Granted { hold, sent, already }) => {
                    if already && self.owner_is_chosen && !has_asked && !self.resume {
                        self.core().has_asked = false;
                        return self.owner_in_use(now);
                    }
                    return self.take_up(hold, sent, already);
                }
                Ok(Outcome::Refused(refusal)) => {
                    self.core().first_sent = None;
                    return Ok(Acquire::Refused(refusal));
                }
                Ok(Outcome::Cancelled) if self.session.is_closed() => return Err(self.closed_error()),
                Ok(Outcome::Cancelled) => return Err(self.cancelled_error()),
                Err(error) => error,
            };
            if !matches!(error.kind(), Kind::Unreachable | Kind::InDoubt | Kind::RateLimited) {
                return Err(self.describe(error));
            }
            if error.kind() == Kind::InDoubt {
                last_sent = self.clock.now();
                self.core().first_sent.get_or_insert(now);
            }
            let left = limit.map_or(Duration::ZERO, |limit| limit.real.since(boot_now()));
            if left.is_zero() || self.clock.now() >= limit.map_or(Moment::NEVER, |limit| limit.until) {
                return Err(if error.kind() == Kind::InDoubt {
                    self.acquire_in_doubt(error, last_sent)
                } else {
                    self.describe(error)
                });
            }
            self.sleep(pause.min(left), cancel)?;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// Sleeps between two tries, unless somebody ends the wait.
    fn sleep(&self, pause: Duration, cancel: Option<&Cancel>) -> Result<()> {
        let shortened = pause.mul_f64(1.0 - f64::from(process::random_u64() as u16) / f64::from(u16::MAX) / 4.0);
        let until = boot_now().after(shortened);
        loop {
            if cancel.is_some_and(Cancel::should_end) {
                return Err(self.cancelled_error());
            }
            if self.session.is_closed() {
                return Err(self.closed_error());
            }
            let left = until.since(boot_now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::park_timeout(left.min(Duration::from_millis(20)));
        }
    }

    /// The store knows this chosen owner, but not from this handle.
    fn owner_in_use(&self, now: Moment) -> Result<Acquire> {
        let until = now.after(self.client.request_timeout());
        let info = self.backend().show(self.name.as_str(), until).map_err(|error| self.describe(error))?;
        let holders = info.holders.into_iter().filter(|holder| holder.owner.as_deref() == Some(self.owner.as_str()));
        Ok(Acquire::Refused(Refusal::new(RefusalReason::OwnerInUse, holders.collect(), info.waiters.len() as u32)))
    }

    /// Makes a grant this handle's hold.
    fn take_up(self: &Arc<Self>, mut hold: Hold, mut sent: Moment, already: bool) -> Result<Acquire> {
        let first_sent = self.core().first_sent.take();
        if already {
            match first_sent {
                // Our own send whose answer was lost: counted from that one.
                Some(first) => sent = first,
                // When it began is unknown: it is not held before a renewal was answered.
                None => {
                    sent = self.clock.now();
                    let until = sent.after(self.client.request_timeout().min(self.ttl / 4));
                    match self.backend().renew(&self.ask(), hold, until).map_err(|error| self.describe(error))? {
                        Renewed::Renewed { token } => hold.token = token,
                        Renewed::Lost(holders) => {
                            return Ok(Acquire::Refused(Refusal::new(RefusalReason::Held, holders, 0)));
                        }
                    }
                }
            }
        }
        let now = self.clock.now();
        let mut core = self.core();
        match core.lease.granted(now, sent, hold) {
            GrantStep::TooLate => {
                drop(core);
                let _ = self.backend().release(&self.ask(), hold, now.after(Duration::from_secs(1)));
                Err(self.answered_too_late_error("acquire"))
            }
            GrantStep::Held => {
                core.extra = 0;
                core.last_error = None;
                core.refusal = None;
                self.publish(&core);
                self.session.remember(self);
                let epoch = core.lease.epoch();
                let next = sent.after(self.ttl / 3);
                drop(core);
                self.keep_in_background(next);
                if self.session.is_closed() {
                    // Closed while the grant was on its way: nobody else would give it back.
                    let _ = self.release(Some(epoch), Duration::from_secs(2));
                    return Err(self.closed_error());
                }
                Ok(Acquire::Granted)
            }
        }
    }
}
