//! The clock that leases are measured with.
//!
//! A lease ends while a laptop sleeps, so the clock has to count the time spent suspended:
//! `CLOCK_BOOTTIME` on Linux, `mach_continuous_time` on macOS. It never steps and has nothing to
//! do with the time of day; that one is for people and is read with [`wall_micros`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point of time on a [`Clock`], in nanoseconds since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The moment `nanos` nanoseconds after the machine started.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the machine started.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// A moment that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `by` later; [`Moment::NEVER`] when that is out of range.
    #[must_use]
    pub const fn after(self, by: Duration) -> Self {
        let nanos = by.as_nanos();
        if nanos >= (u64::MAX - self.0) as u128 {
            return Self::NEVER;
        }
        Self(self.0 + nanos as u64)
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Where a client and its store read the time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock that counts suspended time.
    Boot,
    /// A clock that moves only when a test says so.
    Manual(ManualClock),
}

impl Clock {
    /// What time it is.
    #[inline]
    pub fn now(&self) -> Moment {
        match self {
            Self::Boot => boot_now(),
            Self::Manual(clock) => clock.now(),
        }
    }

    /// Whether only a test moves this clock.
    pub fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }
}

/// A clock for tests: it stands still until [`ManualClock::advance`] moves it.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl Default for ManualClock {
    fn default() -> Self {
        // Not zero: a zero moment means 'unset' in the checkpoint word.
        Self(Arc::new(AtomicU64::new(1_000_000_000_000)))
    }
}

impl ManualClock {
    /// What time it is.
    pub fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }

    /// Lets `by` pass at once.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX / 4), Ordering::SeqCst);
    }
}

/// Reads the machine's clock that counts suspended time.
#[inline]
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn boot_now() -> Moment {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable timespec; CLOCK_BOOTTIME exists since Linux 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    Moment(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Reads the machine's clock that counts suspended time.
#[cfg(any(target_os = "macos", target_os = "ios"))]
pub fn boot_now() -> Moment {
    // CLOCK_MONOTONIC_RAW of Darwin is mach_continuous_time in nanoseconds: it counts sleep.
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    Moment(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Microseconds since 1970 on the wall clock: for people, never for deadlines.
pub fn wall_micros() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
    }
}
