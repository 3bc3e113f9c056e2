//! The time of day that rows are stamped with.

use std::sync::atomic::{AtomicI64, Ordering};

use fencehold::internal::{Moment, boot_now, wall_micros};

/// How far the time of day may drift before it is followed.
const SLACK_MICROS: i64 = 50_000;

/// How far the time of day is ahead of the machine's clock, in microseconds. It is followed in
/// steps, so that the end of a lease reads the same each time it is asked for.
static OFFSET: AtomicI64 = AtomicI64::new(i64::MIN);

/// Now, on the machine's clock in whole microseconds and in the time of day.
pub(crate) fn now() -> (Moment, i64) {
    let nanos = boot_now().as_nanos();
    let micros = (nanos / 1000) as i64;
    let exact = wall_micros() - micros;
    let mut offset = OFFSET.load(Ordering::Relaxed);
    if offset.saturating_sub(exact).saturating_abs() > SLACK_MICROS {
        OFFSET.store(exact, Ordering::Relaxed);
        offset = exact;
    }
    (Moment::from_nanos(nanos - nanos % 1000), micros + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_move_together() {
        let (first, first_micros) = now();
        let (second, second_micros) = now();
        assert_eq!(second.since(first).as_micros() as i64, second_micros - first_micros);
        assert!((second_micros - wall_micros()).abs() < 10 * SLACK_MICROS);
    }
}
