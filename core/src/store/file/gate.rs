//! A lock between the threads of one process that gives up at a limit.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::clock::{Moment, boot_now};
use crate::futex;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// Guards a value; unlike a `Mutex` it can be asked for until a moment.
pub(super) struct Gate<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the one thread that has the gate.
unsafe impl<T: Send> Sync for Gate<T> {}

impl<T> Gate<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Takes the gate, or nothing if it is not free before `until`.
    #[inline]
    pub(super) fn enter(&self, until: Moment) -> Option<Inside<'_, T>> {
        if self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Some(Inside(self));
        }
        self.wait(until)
    }

    #[cold]
    fn wait(&self, until: Moment) -> Option<Inside<'_, T>> {
        for _ in 0..100 {
            if self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Some(Inside(self));
            }
            std::hint::spin_loop();
        }
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            let left = until.since(boot_now());
            if left.is_zero() {
                return None;
            }
            futex::wait(&self.state, AWAITED, left, false);
        }
        Some(Inside(self))
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
    use std::time::Duration;

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
