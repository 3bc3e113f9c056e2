//! One handle's lease: when it is held, when to renew, when it is lost.
//!
//! Every function takes the time as an argument. Answers to requests carry the epoch in which they
//! were sent: an answer that belongs to an earlier hold is dropped.

use std::collections::VecDeque;
use std::time::Duration;

use crate::backend::Hold;
use crate::clock::Moment;

/// Why a lease ended before its holder gave it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LostReason {
    /// The store refused a renewal: somebody else has it, or it was released by hand.
    Renew,
    /// A guarded commit was refused, because somebody else holds it.
    Guard,
    /// The lifetime passed without a renewal that got through.
    Expired,
    /// This process is a child of the holder's.
    Forked,
}

impl LostReason {
    /// The word for it, the same in every language.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Renew => "renew",
            Self::Guard => "guard",
            Self::Expired => "expired",
            Self::Forked => "forked",
        }
    }

    /// The number for it in C: 1 renew, 2 guard, 3 expired, 4 forked.
    pub const fn number(self) -> i32 {
        match self {
            Self::Renew => 1,
            Self::Guard => 2,
            Self::Expired => 3,
            Self::Forked => 4,
        }
    }

    /// The reason with this number.
    pub const fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Renew),
            2 => Some(Self::Guard),
            3 => Some(Self::Expired),
            4 => Some(Self::Forked),
            _ => None,
        }
    }

    /// The reason with this word.
    pub fn from_id(id: &str) -> Option<Self> {
        [Self::Renew, Self::Guard, Self::Expired, Self::Forked].into_iter().find(|reason| reason.id() == id)
    }
}

/// How many ended holds a handle remembers, for scopes that are left late.
const REMEMBERED: usize = 8;

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Released,
    Lost { reason: LostReason, at: Moment },
}

/// A hold that is being kept, or given back.
#[derive(Clone, Copy, Debug)]
struct Holding {
    hold: Hold,
    /// When the request that granted or renewed it last was sent.
    sent: Moment,
    /// From when on it may be somebody else's.
    deadline: Moment,
    /// When to ask next.
    next: Moment,
    /// Attempts since the last success that could not ask the store.
    failures: u32,
    /// Whether a renewal is on its way.
    in_flight: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Held(Holding),
    /// Given back by its holder; no answer came yet. `sent`: how often the release was sent.
    Releasing {
        hold: Hold,
        deadline: Moment,
        sent: u32,
    },
    Lost(LostReason),
}

/// What has to happen now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing before this moment.
    Nothing { until: Moment },
    /// A renewal.
    Renewal,
    /// The lease was lost at this very step.
    Lost(LostReason),
    /// Nothing is held.
    NotHeld,
}

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantStep {
    Held,
    /// It ended before it could be used: give it back.
    TooLate,
}

/// What became of a 'renewed'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RenewStep {
    Continues,
    /// It came after the deadline and revives nothing: give this token back, best effort.
    Late {
        newly_lost: bool,
    },
    /// It belongs to an earlier hold.
    Stale,
}

/// A renewal to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) epoch: u64,
    pub(crate) hold: Hold,
    /// When to give the attempt up.
    pub(crate) until: Moment,
}

/// The lease of one handle.
#[derive(Debug)]
pub(crate) struct Lease {
    ttl: Duration,
    state: State,
    epoch: u64,
    /// The last hold's slot and tokens; kept after a loss, so that fences refuse late writes.
    last: Option<Hold>,
    fence: u64,
    ended: VecDeque<(u64, Ended)>,
}

/// How much earlier than the store a holder gives up, for clocks that drift apart.
pub(crate) fn margin(ttl: Duration) -> Duration {
    let drift = ttl / 1000 + Duration::from_millis(1);
    drift.max((ttl / 50).min(Duration::from_millis(500)))
}

impl Lease {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { ttl, state: State::Idle, epoch: 0, last: None, fence: 0, ended: VecDeque::new() }
    }

    fn deadline_of(&self, sent: Moment) -> Moment {
        sent.after(self.ttl - margin(self.ttl))
    }

    /// The number of the current or last hold.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn fence(&self) -> Option<u64> {
        self.last.map(|_| self.fence)
    }

    pub(crate) fn last_hold(&self) -> Option<Hold> {
        self.last
    }

    /// Whether it is held at `now`.
    pub(crate) fn is_held(&self, now: Moment) -> bool {
        matches!(&self.state, State::Held(holding) if now < holding.deadline)
    }

    /// Whether the last renewal could not be asked.
    pub(crate) fn is_at_risk(&self, now: Moment) -> bool {
        matches!(&self.state, State::Held(holding) if holding.failures > 0 && now < holding.deadline)
    }

    pub(crate) fn is_releasing(&self) -> bool {
        matches!(self.state, State::Releasing { .. })
    }

    pub(crate) fn is_renewing(&self) -> bool {
        matches!(&self.state, State::Held(holding) if holding.in_flight)
    }

    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        match self.state {
            State::Lost(reason) => Some(reason),
            _ => None,
        }
    }

    /// Since when no request got through, and when the lease ends.
    pub(crate) fn last_success(&self) -> Option<(Moment, Moment)> {
        match &self.state {
            State::Held(holding) => Some((holding.sent, holding.deadline)),
            _ => None,
        }
    }

    /// How often the store could not be asked since the last success.
    pub(crate) fn failures(&self) -> u32 {
        match &self.state {
            State::Held(holding) => holding.failures,
            _ => 0,
        }
    }

    /// When the lease ends at the latest as far as its holder may believe.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        match &self.state {
            State::Held(holding) => Some(holding.deadline),
            State::Releasing { deadline, .. } => Some(*deadline),
            _ => None,
        }
    }

    /// Until when `keep_alive` may answer true without looking further; zero: not at all.
    pub(crate) fn quiet_until(&self, renews_at_checkpoints: bool) -> Moment {
        match &self.state {
            State::Held(holding) if renews_at_checkpoints && !holding.in_flight => holding.next.min(holding.deadline),
            State::Held(holding) => holding.deadline,
            _ => Moment::default(),
        }
    }

    /// A grant was answered; the request that it belongs to was first sent at `sent`.
    pub(crate) fn granted(&mut self, now: Moment, sent: Moment, hold: Hold) -> GrantStep {
        if let State::Releasing { .. } = self.state {
            self.remember(Ended::Released);
        }
        let deadline = self.deadline_of(sent);
        if now >= deadline {
            return GrantStep::TooLate;
        }
        self.epoch += 1;
        self.last = Some(hold);
        self.fence = hold.token;
        let next = sent.after(self.ttl / 3);
        self.state = State::Held(Holding { hold, sent, deadline, next, failures: 0, in_flight: false });
        GrantStep::Held
    }

    /// It is `now`: what has to happen?
    pub(crate) fn tick(&mut self, now: Moment) -> Due {
        let State::Held(holding) = &self.state else { return Due::NotHeld };
        if now >= holding.deadline {
            let at = holding.deadline;
            self.lose(LostReason::Expired, at);
            return Due::Lost(LostReason::Expired);
        }
        if holding.in_flight {
            return Due::Nothing { until: holding.deadline };
        }
        if now >= holding.next { Due::Renewal } else { Due::Nothing { until: holding.next.min(holding.deadline) } }
    }

    /// Begins a renewal, when one is due and none is on its way.
    pub(crate) fn begin_renewal(&mut self, now: Moment) -> Option<Attempt> {
        let epoch = self.epoch;
        let ttl = self.ttl;
        let State::Held(holding) = &mut self.state else { return None };
        if holding.in_flight || now < holding.next || now >= holding.deadline {
            return None;
        }
        holding.in_flight = true;
        // A fifth of the lifetime, so that three attempts fit into one.
        let until = now.after(ttl / 5).min(holding.deadline);
        Some(Attempt { epoch, hold: holding.hold, until })
    }

    /// The store renewed the hold of `epoch`; the request was sent at `sent`.
    pub(crate) fn renewed(&mut self, now: Moment, epoch: u64, sent: Moment, token: u64) -> RenewStep {
        if epoch != self.epoch {
            return RenewStep::Stale;
        }
        let renewed_deadline = self.deadline_of(sent);
        let next = sent.after(self.ttl / 3);
        match &mut self.state {
            State::Held(holding) => {
                holding.in_flight = false;
                if token > holding.hold.token {
                    holding.hold.token = token;
                    self.last = Some(holding.hold);
                }
                if now >= holding.deadline {
                    let at = holding.deadline;
                    self.lose(LostReason::Expired, at);
                    return RenewStep::Late { newly_lost: true };
                }
                holding.sent = sent;
                holding.deadline = renewed_deadline.max(holding.deadline);
                holding.next = next;
                holding.failures = 0;
                if now >= holding.deadline {
                    let at = holding.deadline;
                    self.lose(LostReason::Expired, at);
                    return RenewStep::Late { newly_lost: true };
                }
                RenewStep::Continues
            }
            State::Releasing { hold, .. } => {
                // The release needs the current token.
                hold.token = hold.token.max(token);
                self.last = Some(*hold);
                RenewStep::Stale
            }
            State::Lost(_) => RenewStep::Late { newly_lost: false },
            State::Idle => RenewStep::Stale,
        }
    }

    /// The store refused to renew the hold of `epoch`. True when that is news.
    pub(crate) fn refused(&mut self, now: Moment, epoch: u64) -> bool {
        if epoch != self.epoch || !matches!(self.state, State::Held(_)) {
            return false;
        }
        self.lose(LostReason::Renew, now);
        true
    }

    /// A renewal could not be asked, or its answer did not come. `jitter` is any random number. False: that hold
    /// has ended meanwhile.
    pub(crate) fn could_not_ask(&mut self, now: Moment, epoch: u64, jitter: u32) -> bool {
        let ttl = self.ttl;
        if epoch != self.epoch {
            return false;
        }
        let State::Held(holding) = &mut self.state else { return false };
        holding.in_flight = false;
        let first = Duration::from_millis(200).min(ttl / 20);
        let pause = first.saturating_mul(1 << holding.failures.min(16)).min(ttl / 6);
        // Shortened by up to a quarter, so that a crowd does not come back together.
        let shortened = pause - pause.mul_f64(f64::from(jitter) / f64::from(u32::MAX) / 4.0);
        holding.failures = holding.failures.saturating_add(1);
        holding.next = now.after(shortened);
        true
    }

    /// The holder gives it back: from now on it is not held. `None`: there is nothing to give back.
    pub(crate) fn begin_release(&mut self, now: Moment) -> Option<(Hold, u32)> {
        if let Due::Lost(_) = self.tick(now) {
            return None;
        }
        match &mut self.state {
            State::Held(holding) => {
                let (hold, deadline) = (holding.hold, holding.deadline);
                self.state = State::Releasing { hold, deadline, sent: 1 };
                Some((hold, 0))
            }
            State::Releasing { hold, sent, .. } => {
                let before = *sent;
                *sent += 1;
                Some((*hold, before))
            }
            State::Idle | State::Lost(_) => None,
        }
    }

    /// The token moved while it was being given back.
    pub(crate) fn release_token(&mut self, epoch: u64, token: u64) {
        if let State::Releasing { hold, .. } = &mut self.state
            && epoch == self.epoch
        {
            hold.token = token;
        }
    }

    /// The store took it back.
    pub(crate) fn released(&mut self, epoch: u64) {
        if epoch == self.epoch && self.is_releasing() {
            self.state = State::Idle;
            self.remember(Ended::Released);
        }
    }

    /// The store says that it was not ours any more when we gave it back.
    pub(crate) fn release_came_late(&mut self, now: Moment, epoch: u64) {
        if epoch == self.epoch && self.is_releasing() {
            self.lose(LostReason::Renew, now);
        }
    }

    /// The lease is lost at `at`, whatever the store says. False when nothing was held.
    pub(crate) fn lose(&mut self, reason: LostReason, at: Moment) -> bool {
        if !matches!(self.state, State::Held(_) | State::Releasing { .. }) {
            return false;
        }
        self.state = State::Lost(reason);
        self.remember(Ended::Lost { reason, at });
        true
    }

    fn remember(&mut self, ended: Ended) {
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((self.epoch, ended));
    }

    /// How the hold of `epoch` ended; `None`: it has not, or that is forgotten.
    pub(crate) fn ending(&self, epoch: u64) -> Option<Ended> {
        self.ended.iter().rev().find(|(of, _)| *of == epoch).map(|(_, ended)| *ended)
    }
}
