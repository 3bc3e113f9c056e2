//! The sentences of errors about one handle.

use std::time::{Duration, SystemTime};

use super::lock::LockInner;
use crate::clock::Moment;
use crate::duration::human;
use crate::info::{Refusal, RefusalReason, clock_time};
use crate::machine::LostReason;
use crate::wait::Wait;
use crate::{Error, Kind};

impl LockInner {
    /// The time of day at `moment`, as far as the clocks agree.
    pub(super) fn time_of_day(&self, moment: Moment) -> SystemTime {
        let now = self.clock.now();
        let today = SystemTime::now();
        if moment >= now { today + moment.since(now) } else { today - now.since(moment) }
    }

    fn clock_time_of(&self, moment: Moment) -> String {
        clock_time(self.time_of_day(moment))
    }

    /// Why a scope form did not enter.
    pub(super) fn refused_error(&self, refusal: Refusal, wait: Wait) -> Error {
        let (kind, detail) = match (refusal.reason, wait) {
            (RefusalReason::OwnerInUse, _) => (
                Kind::Held,
                format!(
                    "owner \"{}\" already holds it, but not through this handle. An owner must be unique per holder: \
                     leave owner out and use label, or pass resume to take up that hold",
                    self.owner
                ),
            ),
            (RefusalReason::HeldHere, _) => (
                Kind::Held,
                "held by this very handle. Make a handle per holder, or pass reentrant to count".to_string(),
            ),
            (RefusalReason::TimedOut, Wait::For(limit)) => {
                let mut alone = refusal.clone();
                alone.waiting = 0;
                (
                    Kind::TimedOut,
                    format!(
                        "waited {} and it is still {}; our place was given up and nothing was run",
                        human(limit),
                        alone.describe()
                    ),
                )
            }
            (RefusalReason::TimedOut, _) => (Kind::TimedOut, format!("the wait is over; {}", refusal.describe())),
            _ => (
                Kind::Held,
                format!(
                    "{}. Pass wait to queue for it, or look: fencehold show {}",
                    refusal.describe(),
                    self.name.as_str()
                ),
            ),
        };
        let reason = refusal.reason.id();
        self.describe(Error::new(kind, reason, detail).with_refusal(refusal))
    }

    pub(super) fn forked_error(&self) -> Error {
        let child = std::process::id();
        let parent = if self.owner_is_chosen { None } else { self.owner.as_str().split(':').nth(1) };
        let parent = parent.unwrap_or("another process");
        let detail = format!(
            "acquired by process {parent}, and this is its child {child}. The parent still holds it; make a handle of \
             your own here with client.lock()"
        );
        self.describe(Error::new(Kind::Forked, "forked", detail))
    }

    pub(super) fn expired_error(
        &self,
        now: Moment,
        before: Option<(Moment, Moment)>,
        failures: u32,
        cause: Option<Error>,
    ) -> Error {
        let (sent, deadline) = before.unwrap_or((now, now));
        let ended = self.clock_time_of(deadline);
        let late = now.since(deadline);
        let why = if failures > 0 {
            let because = cause.as_ref().map_or(String::new(), |error| format!(", {}", error.detail()));
            format!("no renewal got through since {}{because}", self.clock_time_of(sent))
        } else {
            format!(
                "nothing asked for a renewal for {}: this process stood still or its loop was too slow",
                human(now.since(sent))
            )
        };
        let detail = format!(
            "the lease ended at {ended} (expired: {why}). Somebody else may work now; what was guarded or fenced is \
             safe, check the rest"
        );
        let error = self.describe(Error::new(Kind::Lost, "expired", detail).with_late_by(late));
        match cause {
            Some(cause) if failures > 0 => error.because(cause),
            _ => error,
        }
    }

    pub(super) fn renewal_refused_error(&self, holders: &[crate::Holder]) -> Error {
        let who = match holders.first() {
            Some(holder) => format!("it is held by {}", holder.describe()),
            None => "nobody holds it: it ended or was released by hand".to_string(),
        };
        let detail = format!(
            "the store refused to renew it; {who}. Somebody else may work now; what was guarded or fenced is safe, \
             check the rest"
        );
        self.describe(Error::new(Kind::Lost, "renew", detail))
    }

    pub(super) fn answered_too_late_error(&self, what: &str) -> Error {
        let detail = format!(
            "the answer to {what} came after the lease had ended (expired). Nothing was run with it; the rest was \
             given back"
        );
        self.describe(Error::new(Kind::Lost, "expired", detail))
    }

    pub(super) fn rehearsed_error(&self, reason: LostReason) -> Error {
        let detail = format!("lost on purpose, to rehearse a loss ({})", reason.id());
        self.describe(Error::new(Kind::Lost, reason.id(), detail))
    }

    /// The lease ended `late_by` before the scope that worked under it.
    pub(super) fn left_late_error(&self, reason: LostReason, at: Moment, why: Option<&Error>) -> Error {
        let now = self.clock.now();
        let late_by = now.since(at);
        let detail = format!(
            "the lease ended at {}, {} before the work did ({}). Somebody else may have worked since; what was guarded \
             or fenced is safe, check the rest",
            self.clock_time_of(at),
            human(late_by),
            reason.id()
        );
        let error = self.describe(Error::new(Kind::Lost, reason.id(), detail).with_late_by(late_by));
        match why {
            Some(why) => error.because(why.clone()),
            None => error,
        }
    }

    pub(super) fn acquire_in_doubt(&self, error: Error, last_sent: Moment) -> Error {
        let until = self.time_of_day(last_sent.after(self.ttl));
        let detail = format!(
            "no answer to acquire; it may be held until {}. Acquire again through this handle (it recognises its own \
             grant) or wait until then",
            clock_time(until)
        );
        self.describe(Error::new(Kind::InDoubt, "in_doubt", detail).with_until(until).because(error))
    }

    pub(super) fn release_in_doubt(&self, error: Error, deadline: Option<Moment>, tried: Duration) -> Error {
        let until = self.time_of_day(deadline.unwrap_or_else(|| self.clock.now()));
        let (kind, reason) = match error.kind() {
            Kind::InDoubt => (Kind::InDoubt, "in_doubt".to_string()),
            _ => (Kind::Unreachable, error.reason().to_string()),
        };
        let detail = format!(
            "the work is done, but no answer to release within {}; the lock may stay held until {} and then ends by \
             itself. Do not run the work again for this",
            human(tried),
            clock_time(until)
        );
        self.describe(Error::new(kind, reason, detail).with_until(until).because(error))
    }
}
