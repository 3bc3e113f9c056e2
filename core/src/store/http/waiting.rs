//! Acquiring from a server, once or until it is our turn.
//!
//! A server that can wait is asked to, for a while at a time, and answers at once when the permit is
//! free. A broker that cannot is asked again and again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::HttpStore;
use super::failure::Failure;
use super::flight;
use super::server::Waits;
use super::servers::Again;
use super::wire::{self, Acquired, Line};
use crate::backend::{Ask, Hold, Outcome, Turn};
use crate::cancel::Cancel;
use crate::clock::{Moment, boot_now};
use crate::info::{Holder, Refusal, RefusalReason};
use crate::{Error, Kind, Result, process};

/// How long a server is asked to wait at a time: below the half minute after which a usual proxy
/// ends a silent request, and below our own server's limit.
const LONGEST_HANG: Duration = Duration::from_secs(15);
/// The shortest time that is worth asking for when something on the way ends longer waits.
const SHORTEST_HANG: Duration = Duration::from_secs(1);
/// Between two polls of a broker that cannot wait; each pause is half as long again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long after the end of a wait the last answer may come.
const OVERTIME: Duration = Duration::from_millis(300);
/// How long cleaning up may take after a wait was ended.
const TIDY: Duration = Duration::from_millis(500);
/// How long asking for who holds a lock may take, after the answer that somebody does.
const ENQUIRY: Duration = Duration::from_millis(500);

/// What a server said to one acquire.
enum Asked {
    Granted { hold: Hold, sent: Moment, already: bool },
    Refused { reason: RefusalReason, holders: Vec<Holder>, waited: Option<Duration>, line: Option<Line> },
}

/// One wait in progress.
struct Wait<'a> {
    store: &'a HttpStore,
    ask: &'a Ask<'a>,
    turn: &'a Turn<'a>,
    /// How long an answer may take beyond the wait itself.
    grace: Duration,
    /// What was sent may have been granted without our knowing.
    doubt: bool,
    /// A server may keep a place in its line for us.
    in_line: bool,
    hang: Duration,
    pause: Duration,
    trouble: Option<Failure>,
    last: Option<(RefusalReason, Vec<Holder>, Option<Line>)>,
}

impl HttpStore {
    pub(super) fn take(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome> {
        let cancels: Vec<&Cancel> = turn.cancel.into_iter().chain([turn.closing]).collect();
        flight::cancellable(&cancels, || {
            if flight::is_cancelled() {
                return Ok(Outcome::Cancelled);
            }
            match turn.until {
                None => self.take_once(ask, turn),
                Some(until) => {
                    let wait = Wait {
                        store: self,
                        ask,
                        turn,
                        grace: turn.patience.since(boot_now()).max(Duration::from_millis(50)),
                        doubt: false,
                        in_line: false,
                        hang: LONGEST_HANG,
                        pause: FIRST_PAUSE,
                        trouble: None,
                        last: None,
                    };
                    wait.run(until)
                }
            }
        })
    }

    fn take_once(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome> {
        match self.ask_for(ask, Duration::ZERO, false, false, turn.patience) {
            Ok(Asked::Granted { hold, sent, already }) => Ok(Outcome::Granted { hold, sent, already }),
            Ok(Asked::Refused { reason, holders, line, .. }) => {
                let until = turn.patience.min(boot_now().after(ENQUIRY));
                Ok(Outcome::Refused(self.refusal(ask, reason, holders, line, until)))
            }
            Err(failure) if failure.is_cancelled => {
                self.tidy(ask, false, failure.doubt);
                Ok(Outcome::Cancelled)
            }
            Err(failure) => Err(failure.of_change()),
        }
    }

    /// One acquire. `doubt`: an earlier one may have been granted without our knowing.
    fn ask_for(
        &self,
        ask: &Ask<'_>,
        hang: Duration,
        fair: bool,
        doubt: bool,
        until: Moment,
    ) -> std::result::Result<Asked, Failure> {
        let body = wire::acquire(ask, hang, fair);
        let (answer, answered) = self.locks(&body, Again::Always, (until, hang), |body| wire::acquired(body, ask))?;
        let (hold, already, waited) = match answer {
            Acquired::Refused { reason, holders, waited, line } => {
                answered.server.shows_waiting(waited.is_some());
                return Ok(Asked::Refused { reason, holders, waited, line });
            }
            Acquired::Granted { hold, already, waited } => (hold, already, waited),
        };
        let doubt = doubt || answered.doubt;
        let now = boot_now();
        let took = now.since(answered.sent);
        if already && !doubt {
            return Ok(Asked::Granted { hold, sent: answered.sent, already });
        }
        if !already {
            match waited {
                // It waited for that long after it had our request, and then granted.
                Some(waited) => {
                    let sent = answered.sent.after(waited.min(took));
                    return Ok(Asked::Granted { hold, sent, already });
                }
                None if hang.is_zero() || took < (ask.ttl / 20).min(Duration::from_millis(500)) => {
                    return Ok(Asked::Granted { hold, sent: answered.sent, already });
                }
                None => {}
            }
        }
        // When the lease began is not known. A renewal makes it known.
        let limit = now.after(self.reply_time(ask)).min(until.after(OVERTIME));
        match self.renew_once(ask, hold, limit) {
            Ok((wire::Kept::Done { token }, sent)) => {
                Ok(Asked::Granted { hold: Hold { token, ..hold }, sent, already: false })
            }
            Ok((wire::Kept::Lost(holders), _)) => {
                Ok(Asked::Refused { reason: RefusalReason::Held, holders, waited: None, line: None })
            }
            Err(failure) => Err(failure.doubted(true)),
        }
    }

    fn reply_time(&self, ask: &Ask<'_>) -> Duration {
        (ask.ttl / 4).clamp(Duration::from_millis(250), Duration::from_secs(5))
    }

    /// A refusal with all that can be learnt about who is in the way.
    fn refusal(
        &self,
        ask: &Ask<'_>,
        reason: RefusalReason,
        holders: Vec<Holder>,
        line: Option<Line>,
        until: Moment,
    ) -> Refusal {
        let waiting = line.map_or(0, |line| line.length.saturating_sub(u32::from(line.position > 0)));
        // A refusal tells the owner at least; since when and until when is worth one more question.
        let tells_all = holders.iter().all(|holder| holder.expires_at.is_some());
        if !tells_all
            && let Ok(info) = self.look(ask.name, until)
            && info.held
        {
            let below = info.holders.into_iter().filter(|holder| holder.slot < ask.permits).collect();
            return Refusal::new(reason, below, (info.waiters.len() as u32).max(waiting));
        }
        Refusal::new(reason, holders, waiting)
    }

    /// Leaves nothing behind: gives a place in line up, and what may have been granted back.
    fn tidy(&self, ask: &Ask<'_>, in_line: bool, doubt: bool) {
        flight::uncancellable(|| {
            let until = boot_now().after(TIDY);
            if in_line {
                self.leave(ask, until);
            }
            if !doubt {
                return;
            }
            // Whatever was granted is answered again to the same owner.
            if let Ok(Asked::Granted { hold, .. }) = self.ask_for(ask, Duration::ZERO, false, false, until) {
                let _ = self.release_once(ask.name, hold, until);
            }
            if in_line {
                // The request that was cancelled may have arrived after the first word.
                self.leave(ask, until);
            }
        });
    }

    fn leave(&self, ask: &Ask<'_>, until: Moment) {
        let body = wire::leave(ask);
        if let Err(failure) = self.locks(&body, Again::Always, (until, Duration::ZERO), |_| Ok(())) {
            let why = failure.error.detail();
            crate::log::warn_user!("lock \"{}\": the place in line lapses by itself: {why}", ask.name);
        }
    }
}

impl Wait<'_> {
    fn run(mut self, until: Moment) -> Result<Outcome> {
        if self.turn.step_aside && !self.ask.fair && !self.step_aside(until) {
            return Ok(Outcome::Cancelled);
        }
        loop {
            let left = until.since(boot_now());
            // Where we are in line is known at once, and then we wait.
            let hang = if self.ask.fair && self.last.is_none() { Duration::ZERO } else { left.min(self.hang) };
            let limit = boot_now().after(hang).after(self.grace).min(until.after(OVERTIME));
            let began = boot_now();
            self.in_line |= self.ask.fair;
            let pause = match self.store.ask_for(self.ask, hang, self.ask.fair, self.doubt, limit) {
                Ok(Asked::Granted { hold, sent, already }) => {
                    self.turn.position.store(0, Ordering::Relaxed);
                    return Ok(Outcome::Granted { hold, sent, already });
                }
                Ok(Asked::Refused { reason, holders, waited, line }) => {
                    self.doubt = false;
                    self.trouble = None;
                    self.in_line = line.is_some();
                    if self.ask.fair && line.is_none() {
                        return Err(not_fair());
                    }
                    let position = line.map_or(0, |line| line.position);
                    self.turn.position.store(position, Ordering::Relaxed);
                    self.last = Some((reason, holders, line));
                    self.after_refusal(waited, hang)
                }
                Err(failure) if failure.is_cancelled => return Ok(self.cancelled(failure.doubt)),
                Err(failure) if failure.transient => self.after_failure(failure, hang, began),
                Err(failure) => {
                    self.store.tidy(self.ask, self.in_line, false);
                    return Err(failure.of_change());
                }
            };
            if boot_now() >= until {
                return self.over();
            }
            if !flight::sleep(pause.min(until.since(boot_now()))) {
                return Ok(self.cancelled(false));
            }
        }
    }

    /// How long to pause after 'somebody holds it'.
    fn after_refusal(&mut self, waited: Option<Duration>, hang: Duration) -> Duration {
        match waited {
            // It has waited, so it may be asked again at once, unless it did so for no time at all.
            Some(waited) if waited >= hang / 2 || waited >= LONGEST_PAUSE => Duration::ZERO,
            _ => self.next_pause(),
        }
    }

    fn next_pause(&mut self) -> Duration {
        let share = f64::from(process::random_u64() as u32) / f64::from(u32::MAX);
        let pause = self.pause.mul_f64(0.75 + 0.25 * share);
        self.pause = (self.pause * 3 / 2).min(LONGEST_PAUSE);
        pause
    }

    /// A store out of reach is ridden out for the length of the wait.
    fn after_failure(&mut self, failure: Failure, hang: Duration, began: Moment) -> Duration {
        self.doubt |= failure.doubt;
        let took = boot_now().since(began);
        if failure.doubt && took >= SHORTEST_HANG && took < hang {
            // Something on the way ends requests that are silent for this long.
            self.hang = (took / 5 * 4).max(SHORTEST_HANG);
        }
        let limited = failure.limited.flatten();
        self.trouble = Some(failure);
        self.next_pause().max(limited.unwrap_or_default())
    }

    /// Lets others that poll go first.
    fn step_aside(&mut self, until: Moment) -> bool {
        let others = match self.store.servers.waits() {
            Waits::Yes => Duration::from_millis(50),
            Waits::No | Waits::Unknown => LONGEST_PAUSE,
        };
        flight::sleep(others.min(until.since(boot_now())))
    }

    fn cancelled(&self, doubt: bool) -> Outcome {
        self.turn.position.store(0, Ordering::Relaxed);
        self.store.tidy(self.ask, self.in_line, self.doubt || doubt);
        Outcome::Cancelled
    }

    /// The wait is over and nothing was granted.
    fn over(mut self) -> Result<Outcome> {
        self.turn.position.store(0, Ordering::Relaxed);
        if let Some(failure) = self.trouble.take() {
            let failure = failure.doubted(self.doubt);
            return Err(failure.of_change());
        }
        if self.in_line {
            self.store.tidy(self.ask, true, false);
        }
        let (_, holders, line) = self.last.take().unwrap_or((RefusalReason::Held, Vec::new(), None));
        let until = boot_now().after(ENQUIRY.min(OVERTIME));
        Ok(Outcome::Refused(self.store.refusal(self.ask, RefusalReason::TimedOut, holders, line, until)))
    }
}

fn not_fair() -> Error {
    let detail = "this broker has no line of waiters, so fair cannot be had here and nothing is held. Leave fair out, \
                  or use fencehold serve";
    Error::new(Kind::Unsupported, "unsupported", detail)
}
