//! The lease machine against a plain model, with random steps.

use std::time::Duration;

use proptest::prelude::*;

use super::lease::{Due, Ended, GrantStep, Lease, LostReason, RenewStep, margin};
use crate::backend::Hold;
use crate::clock::Moment;

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Grant {
        delay: u64,
    },
    Tick,
    BeginRenewal,
    /// The answer to the renewal that was begun `back` renewals ago.
    Renewed {
        back: usize,
    },
    Refused {
        back: usize,
    },
    CouldNotAsk {
        back: usize,
        jitter: u32,
    },
    Release,
    ReleaseAnswered,
    Lose,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u64..12_000).prop_map(Step::Pass),
        2 => (0u64..12_000).prop_map(|delay| Step::Grant { delay }),
        3 => Just(Step::Tick),
        4 => Just(Step::BeginRenewal),
        4 => (0usize..3).prop_map(|back| Step::Renewed { back }),
        1 => (0usize..3).prop_map(|back| Step::Refused { back }),
        2 => (0usize..3, any::<u32>()).prop_map(|(back, jitter)| Step::CouldNotAsk { back, jitter }),
        1 => Just(Step::Release),
        1 => Just(Step::ReleaseAnswered),
        1 => Just(Step::Lose),
    ];
    prop::collection::vec(step, 1..120)
}

/// What the rules say about one hold, written down as plainly as can be.
#[derive(Clone, Copy, Debug)]
struct Model {
    held: bool,
    deadline: Moment,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_lease_is_never_held_past_its_deadline_and_nothing_revives_it(steps in steps(), ttl in 100u64..60_000) {
        let ttl = Duration::from_millis(ttl);
        let mut lease = Lease::new(ttl);
        let mut now = Moment::from_nanos(1_000_000_000_000);
        let mut model = Model { held: false, deadline: Moment::default() };
        let mut sent: Vec<(u64, Moment)> = Vec::new();
        let mut token = 10u64;
        let mut shown = 0u64;
        for step in steps {
            let was_held = lease.is_held(now);
            let epoch = lease.epoch();
            match step {
                Step::Pass(millis) => now = now.after(Duration::from_millis(millis)),
                Step::Grant { delay } => {
                    if lease.is_held(now) {
                        continue;
                    }
                    lease.tick(now);
                    let first = now;
                    now = now.after(Duration::from_millis(delay));
                    token += 1;
                    let step = lease.granted(now, first, Hold { slot: 0, token });
                    let deadline = first.after(ttl - margin(ttl));
                    prop_assert_eq!(step == GrantStep::Held, now < deadline);
                    if step == GrantStep::Held {
                        model = Model { held: true, deadline };
                        prop_assert_eq!(lease.fence(), Some(token));
                    }
                }
                Step::Tick => {
                    let due = lease.tick(now);
                    if let Due::Lost(reason) = due {
                        prop_assert_eq!(reason, LostReason::Expired);
                        prop_assert!(now >= model.deadline);
                    }
                }
                Step::BeginRenewal => {
                    let was_renewing = lease.is_renewing();
                    if let Some(attempt) = lease.begin_renewal(now) {
                        prop_assert!(!was_renewing && was_held);
                        prop_assert!(attempt.until <= model.deadline.max(now));
                        sent.push((attempt.epoch, now));
                    }
                }
                Step::Renewed { back } => {
                    let Some(&(of, at)) = sent.iter().rev().nth(back) else { continue };
                    token += 1;
                    let answer = lease.renewed(now, of, at, token);
                    if of != epoch {
                        prop_assert_eq!(answer, RenewStep::Stale);
                    } else if was_held && answer == RenewStep::Continues {
                        model.deadline = model.deadline.max(at.after(ttl - margin(ttl)));
                    }
                    prop_assert!(was_held || !lease.is_held(now), "a late answer revived the lease");
                }
                Step::Refused { back } => {
                    let Some(&(of, _)) = sent.iter().rev().nth(back) else { continue };
                    let news = lease.refused(now, of);
                    prop_assert!(!news || of == epoch);
                    if news {
                        model.held = false;
                        prop_assert_eq!(lease.lost_reason(), Some(LostReason::Renew));
                    }
                }
                Step::CouldNotAsk { back, jitter } => {
                    let Some(&(of, _)) = sent.iter().rev().nth(back) else { continue };
                    lease.could_not_ask(now, of, jitter);
                    prop_assert_eq!(lease.is_held(now), was_held, "no answer is no loss");
                }
                Step::Release => {
                    let begun = lease.begin_release(now);
                    if begun.is_some() {
                        model.held = false;
                    }
                    prop_assert!(!lease.is_held(now));
                }
                Step::ReleaseAnswered => {
                    let releasing = lease.is_releasing();
                    lease.released(epoch);
                    if releasing {
                        prop_assert_eq!(lease.ending(epoch), Some(Ended::Released));
                    }
                }
                Step::Lose => {
                    lease.tick(now);
                    if lease.lose(LostReason::Guard, now) {
                        model.held = false;
                    }
                }
            }
            if now >= model.deadline {
                model.held = false;
            }
            prop_assert_eq!(lease.is_held(now), model.held, "held differs from the model");
            prop_assert!(lease.quiet_until(true) <= lease.quiet_until(false).max(model.deadline));
            if lease.is_held(now) {
                prop_assert!(lease.quiet_until(true) <= model.deadline);
            } else if !matches!(lease.tick(now), Due::Nothing { .. } | Due::Renewal) {
                prop_assert_eq!(lease.quiet_until(true), Moment::default());
            }
            if let (Some(hold), Some(fence)) = (lease.last_hold(), lease.fence()) {
                prop_assert!(hold.token >= shown, "the token fell");
                prop_assert!(fence <= hold.token);
                shown = hold.token;
            }
        }
    }

    #[test]
    fn a_loop_of_checkpoints_renews_once_a_third(ttl in 300u64..60_000, step in 1u64..50) {
        let ttl = Duration::from_millis(ttl);
        let mut lease = Lease::new(ttl);
        let start = Moment::from_nanos(5_000_000_000);
        let mut now = start;
        lease.granted(now, now, Hold { slot: 0, token: 1 });
        let mut renewals = 0u128;
        let mut token = 1;
        while now < start.after(ttl * 10) {
            if lease.tick(now) == Due::Renewal {
                let attempt = lease.begin_renewal(now).unwrap();
                prop_assert!(lease.begin_renewal(now).is_none());
                token += 1;
                prop_assert_eq!(lease.renewed(now, attempt.epoch, now, token), RenewStep::Continues);
                renewals += 1;
            }
            prop_assert!(lease.is_held(now));
            now = now.after(Duration::from_millis(step));
        }
        let steps_in_third = (ttl / 3).as_nanos().div_ceil(u128::from(step) * 1_000_000);
        let total = (ttl * 10).as_nanos().div_ceil(u128::from(step) * 1_000_000);
        prop_assert!(renewals <= total / steps_in_third && renewals + 1 >= total / steps_in_third);
    }

    #[test]
    fn three_attempts_fit_into_a_lifetime_without_answers(ttl in 300u64..86_400_000, jitter in any::<u32>()) {
        let ttl = Duration::from_millis(ttl);
        let mut lease = Lease::new(ttl);
        let mut now = Moment::from_nanos(5_000_000_000);
        lease.granted(now, now, Hold { slot: 0, token: 1 });
        let mut attempts = 0;
        loop {
            match lease.tick(now) {
                Due::Nothing { until } => now = until,
                Due::Renewal => {
                    let attempt = lease.begin_renewal(now).unwrap();
                    attempts += 1;
                    now = attempt.until;
                    if !matches!(lease.tick(now), Due::Lost(_)) {
                        lease.could_not_ask(now, attempt.epoch, jitter);
                        prop_assert!(lease.is_at_risk(now));
                    }
                }
                _ => break,
            }
        }
        prop_assert!(attempts >= 3, "{} attempts", attempts);
        prop_assert_eq!(lease.lost_reason(), Some(LostReason::Expired));
    }
}

#[test]
fn the_margin_is_a_fiftieth_up_to_half_a_second() {
    assert_eq!(margin(Duration::from_secs(10)), Duration::from_millis(200));
    assert_eq!(margin(Duration::from_secs(60)), Duration::from_millis(500));
    assert_eq!(margin(Duration::from_secs(3600)), Duration::from_millis(3601));
    assert_eq!(margin(Duration::from_millis(100)), Duration::from_millis(2));
}
