//! A lock between the threads of one process that gives up at a limit.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::clock::{Moment, boot_now};
use crate::futex;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// How long a thread waits before those who come after it have to stand back.
const HUNGRY_AFTER: Duration = Duration::from_millis(2);

/// Guards a value; unlike a `Mutex` it can be asked for until a moment, and a thread in a tight
/// loop keeps nobody out: once somebody has waited for a while, newcomers let it go first.
pub(super) struct Gate<T> {
    state: AtomicU32,
    /// How many threads have waited for so long that newcomers stand back.
    hungry: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the one thread that has the gate.
unsafe impl<T: Send> Sync for Gate<T> {}

impl<T> Gate<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(FREE), hungry: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Takes the gate, or nothing if it is not free before `until`.
    #[inline]
    pub(super) fn enter(&self, until: Moment) -> Option<Inside<'_, T>> {
        self.enter_politely().or_else(|| self.wait(until))
    }

    /// One try of somebody who has not waited.
    #[inline]
    fn enter_politely(&self) -> Option<Inside<'_, T>> {
        let is_ours = self.hungry.load(Ordering::Relaxed) == 0
            && self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        is_ours.then(|| Inside(self))
    }

    #[cold]
    fn wait(&self, until: Moment) -> Option<Inside<'_, T>> {
        for _ in 0..100 {
            if let Some(inside) = self.enter_politely() {
                return Some(inside);
            }
            std::hint::spin_loop();
        }
        let hungry_at = boot_now().after(HUNGRY_AFTER);
        loop {
            let now = boot_now();
            if now >= until {
                return self.enter_politely();
            }
            if now >= hungry_at {
                return self.wait_hungry(until);
            }
            let pause = hungry_at.since(now).min(until.since(now));
            if self.hungry.load(Ordering::Relaxed) > 0 {
                // Whoever is hungry gets it first; its turn is over long before ours is late.
                futex::wait(&self.hungry, self.hungry.load(Ordering::Relaxed), pause, false);
            } else if self.state.swap(AWAITED, Ordering::Acquire) == FREE {
                return Some(Inside(self));
            } else {
                futex::wait(&self.state, AWAITED, pause, false);
            }
        }
    }

    fn wait_hungry(&self, until: Moment) -> Option<Inside<'_, T>> {
        self.hungry.fetch_add(1, Ordering::Relaxed);
        let mut entered = true;
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            let left = until.since(boot_now());
            if left.is_zero() {
                entered = false;
                break;
            }
            futex::wait(&self.state, AWAITED, left, false);
        }
        if self.hungry.fetch_sub(1, Ordering::Relaxed) == 1 {
            futex::wake_all(&self.hungry, false);
        }
        entered.then(|| Inside(self))
    }
}

/// The gate is taken until this goes out of scope.
pub(super) struct Inside<'a, T>(&'a Gate<T>);

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: we have the gate.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Inside<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we have the gate.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Inside<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.0.state.swap(FREE, Ordering::Release) == AWAITED {
            // Everybody: those who lose the race say again that they wait.
            futex::wake_all(&self.0.state, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_gate_gives_up_at_the_limit_and_opens_again() {
        let gate = Gate::new(0);
        let inside = gate.enter(boot_now()).expect("free");
        assert!(gate.enter(boot_now().after(Duration::from_millis(5))).is_none());
        drop(inside);
        *gate.enter(boot_now()).expect("free again") += 1;
    }

    #[test]
    fn whoever_comes_later_stands_back_for_the_one_who_waited_long() {
        let gate = Gate::new(());
        let stay = AtomicU32::new(1);
        for _ in 0..20 {
            let inside = gate.enter(Moment::NEVER);
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    let inside = gate.enter(Moment::NEVER);
                    while stay.load(Ordering::Relaxed) == 1 {
                        std::hint::spin_loop();
                    }
                    drop(inside);
                });
                while gate.hungry.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                drop(inside);
                let patience = boot_now().after(HUNGRY_AFTER / 4);
                let pushed_in = gate.enter(patience).is_some();
                stay.store(0, Ordering::Relaxed);
                waiter.join().expect("no panic");
                stay.store(1, Ordering::Relaxed);
                assert!(!pushed_in);
            });
        }
    }

    #[test]
    fn threads_exclude_each_other() {
        let gate = Gate::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        *gate.enter(Moment::NEVER).expect("in time") += 1;
                    }
                });
            }
        });
        assert_eq!(*gate.enter(boot_now()).expect("free"), 20_000);
    }
}
