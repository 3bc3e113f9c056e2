//! Giving back.

use std::time::Duration;

use super::lock::{Lock, LockInner};
use crate::backend::{Hold, Released, Renewed};
use crate::clock::{Moment, boot_now};
use crate::log::warn_user;
use crate::machine::lease::Ended;
use crate::{Error, Kind, Result};

/// How long a release may take.
const LIMIT: Duration = Duration::from_secs(2);
/// How long a release may take that must not block.
const AT_ONCE: Duration = Duration::from_millis(1);

impl Lock {
    /// Gives the hold back. False: there was nothing to give back (idle, lost, forked).
    ///
    /// From the call on nothing is held and nothing renews, whatever the answer. Takes at most 2 s.
    ///
    /// # Errors
    /// `unreachable` or `in_doubt` when the store did not answer; [`Error::until`] tells until when
    /// the lock may stay held. Call it again to try again.
    pub fn release(&self) -> Result<bool> {
        self.inner.release(None, LIMIT)
    }

    /// The same when it can be answered within about a millisecond; `None`: call [`Lock::release`]
    /// on a thread that may block. From the call on nothing is held, also on `None`.
    ///
    /// # Errors
    /// As [`Lock::release`].
    pub fn release_at_once(&self) -> Result<Option<bool>> {
        if !self.inner.is_here() {
            return Ok(Some(false));
        }
        if !self.inner.backend().is_local() || self.inner.core().lease.is_renewing() {
            return Ok(None);
        }
        match self.inner.release(None, AT_ONCE) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if matches!(error.kind(), Kind::Unreachable | Kind::InDoubt) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives back the hold with the number `epoch` and no later one.
    ///
    /// # Errors
    /// As [`Lock::release`].
    pub fn release_epoch(&self, epoch: u64) -> Result<bool> {
        self.inner.release(Some(epoch), LIMIT)
    }

    /// Leaves a scope that worked under the hold with the number `epoch`, and gives that one back.
    ///
    /// # Errors
    /// `lost`, with [`Error::late_by`], when the lease ended before the scope did; else as
    /// [`Lock::release`].
    pub fn leave(&self, epoch: u64) -> Result<()> {
        if !self.inner.is_here() {
            return Err(self.inner.forked_error());
        }
        let released = self.inner.release(Some(epoch), LIMIT);
        if let Ok(true) = released {
            return Ok(());
        }
        {
            let core = self.inner.core();
            if let Some(Ended::Lost { reason, at }) = core.lease.ending(epoch) {
                return Err(self.inner.left_late_error(reason, at, core.last_error.as_ref()));
            }
        }
        released.map(drop)
    }

    /// Gives back at the end of a scope that has no way to report.
    pub(super) fn give_back_quietly(&self, epoch: u64) {
        if let Err(error) = self.inner.release(Some(epoch), LIMIT) {
            warn_user!("{error}");
        }
    }
}

impl LockInner {
    /// Gives back whatever is held when the client closes.
    pub(super) fn give_back_by(&self, until: Moment) -> Result<bool> {
        let left = until.since(boot_now()).max(Duration::from_millis(1));
        self.core().extra = 0;
        self.release(None, left.min(LIMIT))
    }

    pub(super) fn release(&self, epoch: Option<u64>, limit: Duration) -> Result<bool> {
        if !self.is_here() {
            return Ok(false);
        }
        let started = boot_now();
        let give_up = started.after(limit);
        let mut core = self.look(self.core());
        let epoch = epoch.unwrap_or_else(|| core.lease.epoch());
        if epoch != core.lease.epoch() {
            return Ok(false);
        }
        if core.extra > 0 && core.lease.is_held(self.clock.now()) {
            core.extra -= 1;
            return Ok(true);
        }
        // A renewal on its way moves the token: wait for it, so that the right one is given back.
        while core.lease.is_renewing() {
            let left = give_up.since(boot_now());
            if left.is_zero() {
                break;
            }
            core = self.wait_for_change(core, left);
            if core.lease.epoch() != epoch {
                return Ok(false);
            }
        }
        let now = self.clock.now();
        let before = core.lease.last_success();
        let Some((hold, sent_before)) = core.lease.begin_release(now) else {
            if before.is_some() && core.lease.lost_reason().is_some() {
                core.last_error = Some(self.expired_error(now, before, 0, None));
                drop(self.was_lost(core, crate::LostReason::Expired));
            }
            return Ok(false);
        };
        core.extra = 0;
        core.releasing += 1;
        let deadline = core.lease.deadline();
        self.publish(&core);
        drop(core);
        self.session.forget(self);
        let answer = self.give_back(epoch, hold, sent_before > 0, started, give_up);
        let mut core = self.core();
        core.releasing -= 1;
        let answer = match answer {
            Ok(true) => {
                core.lease.released(epoch);
                core.first_sent = None;
                Ok(true)
            }
            Ok(false) => {
                core.lease.release_came_late(self.clock.now(), epoch);
                core.first_sent = None;
                Ok(false)
            }
            Err(error) => {
                let error = self.release_in_doubt(error, deadline, boot_now().since(started));
                core.last_error = Some(error.clone());
                Err(error)
            }
        };
        self.publish(&core);
        answer
    }

    /// Asks the store until it answers or the time is over.
    fn give_back(&self, epoch: u64, hold: Hold, sent_before: bool, started: Moment, give_up: Moment) -> Result<bool> {
        let ask = self.ask();
        let mut hold = hold;
        let mut sent_before = sent_before;
        let mut carried = 0;
        let mut doubt: Option<Error> = None;
        let mut pause = Duration::from_millis(20);
        loop {
            let until = self.clock.now().after(give_up.since(boot_now()));
            match self.backend().release(&ask, hold, until) {
                Ok(Released::Released) => return Ok(true),
                Ok(Released::NotOurs(holders)) => {
                    let ours = holders.iter().any(|holder| holder.owner.as_deref() == Some(ask.owner));
                    if ours && carried < 3 {
                        // A renewal whose answer was lost moved the token: ask for the current one.
                        carried += 1;
                        if let Ok(Renewed::Renewed { token }) = self.backend().renew(&ask, hold, until) {
                            hold.token = token;
                            self.core().lease.release_token(epoch, token);
                        }
                        continue;
                    }
                    // An earlier send of this very release may have been the one that landed.
                    return Ok(sent_before);
                }
                Err(error) => {
                    match error.kind() {
                        Kind::InDoubt => {
                            sent_before = true;
                            doubt = Some(error);
                        }
                        Kind::Unreachable => doubt = Some(doubt.unwrap_or(error)),
                        _ => return Err(self.describe(error)),
                    }
                    let now = boot_now();
                    if now.after(pause) >= give_up || started.after(LIMIT) <= now {
                        return Err(doubt.unwrap_or_else(|| Error::internal("no error to report")));
                    }
                    std::thread::park_timeout(pause);
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
            }
        }
    }
}
