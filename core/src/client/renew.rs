//! Renewing: at checkpoints and in the background.

use std::sync::Arc;
use std::time::Duration;

use super::lock::LockInner;
use super::options::Renewal;
use crate::backend::{Hold, Renewed};
use crate::clock::Moment;
use crate::keeper::{self, Kept};
use crate::log::warn_user;
use crate::machine::lease::{Attempt, Due, RenewStep};
use crate::{Kind, Result, process};

/// How long the thread that looks after all leases waits for a store of this machine.
const AT_ONCE: Duration = Duration::from_millis(2);

impl LockInner {
    /// The slow path of `keep_alive`.
    #[cold]
    pub(super) fn keep_alive_when_due(&self) -> bool {
        if !self.is_here() {
            return false;
        }
        let (mut core, due) = self.due(self.core());
        match (due, self.renewal) {
            (Due::NotHeld | Due::Lost(_), _) => return false,
            (Due::Renewal, Renewal::Checkpoint) => {
                if let Some(attempt) = core.lease.begin_renewal(self.clock.now()) {
                    self.publish(&core);
                    drop(core);
                    self.renew(attempt);
                } else {
                    drop(core);
                }
            }
            (Due::Renewal, Renewal::CheckpointStarted) => {
                drop(core);
                self.start_renewal();
            }
            (Due::Renewal, Renewal::Background) | (Due::Nothing { .. }, _) => drop(core),
        }
        self.look(self.core()).lease.is_held(self.clock.now())
    }

    /// Sends one renewal and tells the machine what came of it.
    pub(super) fn renew(&self, attempt: Attempt) {
        let sent = self.clock.now();
        let until = attempt.until.min(sent.after(self.client.request_timeout()));
        let answer = self.backend().renew(&self.ask(), attempt.hold, until);
        self.answered(attempt, sent, answer);
    }

    /// Tells the machine what came of a renewal.
    fn answered(&self, attempt: Attempt, sent: Moment, answer: Result<Renewed>) {
        let Attempt { epoch, hold, .. } = attempt;
        let now = self.clock.now();
        let mut core = self.core();
        match answer {
            Ok(Renewed::Renewed { token }) => {
                let before = core.lease.last_success();
                match core.lease.renewed(now, epoch, sent, token) {
                    RenewStep::Continues => core.last_error = None,
                    RenewStep::Stale => {}
                    RenewStep::Late { newly_lost } => {
                        if newly_lost {
                            let error = self.answered_too_late_error("a renewal");
                            let deadline = before.map_or(now, |(_, deadline)| deadline);
                            core.last_error = Some(error.with_late_by(now.since(deadline)));
                            core = self.was_lost(core, crate::LostReason::Expired);
                        }
                        drop(core);
                        // It revives nothing, so others need not wait for it to end.
                        let late = Hold { slot: hold.slot, token };
                        let _ = self.backend().release(&self.ask(), late, now.after(Duration::from_secs(1)));
                        core = self.core();
                    }
                }
            }
            Ok(Renewed::Lost(holders)) => {
                if core.lease.refused(now, epoch) {
                    core.last_error = Some(self.renewal_refused_error(&holders));
                    core = self.was_lost(core, crate::LostReason::Renew);
                }
            }
            Err(error) => {
                let error = self.describe(error);
                if error.kind() == Kind::Internal {
                    warn_user!("{error}");
                }
                // After the end of the hold, last_error says why it ended.
                if core.lease.could_not_ask(now, epoch, process::random_u64() as u32) {
                    core.last_error = Some(error);
                }
            }
        }
        self.publish(&core);
        drop(self.look(core));
    }

    /// Has the keeper send the renewal that is due.
    fn start_renewal(&self) {
        let Some(me) = self.session.held().into_iter().find(|held| std::ptr::eq(&raw const **held, self)) else {
            return;
        };
        let at = Moment::default();
        if self.core().timer.replace(at) == Some(at) {
            return;
        }
        let kept: Arc<dyn Kept> = me.clone();
        // A manual clock has no keeper, and a process may have no thread left for one.
        if self.clock.is_manual() || !keeper::schedule(Arc::downgrade(&kept), at) {
            me.keep_here();
        }
    }

    /// Has the keeper look after the hold that was just granted. A timer of an earlier hold serves
    /// this one as well, so that a handle taken in a loop has one and not as many as holds.
    pub(super) fn keep_in_background(self: &Arc<Self>, next: Moment) {
        if self.renewal != Renewal::Background || self.clock.is_manual() {
            return;
        }
        {
            let mut core = self.core();
            if core.timer.is_some_and(|at| at <= next) {
                return;
            }
            core.timer = Some(next);
        }
        let kept: Arc<dyn Kept> = self.clone();
        keeper::schedule(Arc::downgrade(&kept), next);
    }

    /// When something is due on a background handle with a manual clock.
    pub(super) fn next_background_step(&self) -> Option<Moment> {
        if self.renewal != Renewal::Background {
            return None;
        }
        match self.due(self.core()).1 {
            Due::Nothing { until } => Some(until),
            Due::Renewal => Some(self.clock.now()),
            Due::Lost(_) | Due::NotHeld => None,
        }
    }

    pub(super) fn step_in_background(&self) {
        if self.renewal == Renewal::Background {
            self.keep_here();
        }
    }

    /// Does what is due on this thread and answers when something is due again.
    fn keep_here(&self) -> Option<Moment> {
        let mut core = self.look(self.core());
        if let Some(attempt) = core.lease.begin_renewal(self.clock.now()) {
            self.publish(&core);
            drop(core);
            self.renew(attempt);
            core = self.core();
        }
        // Set before a loss is told: a handler may acquire again, and that sets a timer of its own.
        core.timer = None;
        if self.renewal != Renewal::Background {
            return None;
        }
        let (mut core, due) = self.due(core);
        core.timer = match due {
            Due::Nothing { until } => Some(until),
            Due::Renewal => Some(self.clock.now()),
            Due::Lost(_) | Due::NotHeld => return None,
        };
        core.timer
    }
}

impl Kept for LockInner {
    fn keep(self: Arc<Self>, at: Moment) -> Option<Moment> {
        let mut core = self.look(self.core());
        if core.timer != Some(at) {
            return None;
        }
        let Some(attempt) = core.lease.begin_renewal(self.clock.now()) else {
            drop(core);
            return self.keep_here();
        };
        self.publish(&core);
        // Nothing is missed if the answer comes late: the lease is looked at when it ends.
        let end = core.lease.deadline().filter(|_| self.renewal == Renewal::Background);
        core.timer = end;
        drop(core);
        if self.backend().is_local() {
            let sent = self.clock.now();
            let answer = self.backend().renew(&self.ask(), attempt.hold, sent.after(AT_ONCE).min(attempt.until));
            // Unreachable is a process that stands still with the store; the leases of other stores must not wait too.
            if !matches!(&answer, Err(error) if error.kind() == Kind::Unreachable) {
                self.answered(attempt, sent, answer);
                return self.keep_here();
            }
        }
        let me = self.clone();
        self.session.workers().run(move || {
            me.renew(attempt);
            if let Some(next) = me.keep_here() {
                let kept: Arc<dyn Kept> = me.clone();
                keeper::schedule(Arc::downgrade(&kept), next);
            }
        });
        end
    }
}
