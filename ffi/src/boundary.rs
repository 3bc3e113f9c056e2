//! What every function of the interface goes through.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use fencehold::{Error, Kind, Result};

use crate::error::fh_error;
use crate::fh_status;

pub(crate) const OK: fh_status = 0;
pub(crate) const HELD: fh_status = 1;
pub(crate) const TIMED_OUT: fh_status = 2;
pub(crate) const LOST: fh_status = 3;
pub(crate) const NOT_HELD: fh_status = 4;
pub(crate) const INVALID: fh_status = -1;
pub(crate) const INTERNAL: fh_status = -11;

/// The number of a kind, as `fh_error_kind` and every failed call answer it.
pub(crate) fn status_of(kind: Kind) -> fh_status {
    match kind {
        Kind::Held => HELD,
        Kind::TimedOut => TIMED_OUT,
        Kind::Lost => LOST,
        Kind::Invalid => INVALID,
        Kind::Unreachable => -2,
        Kind::Unauthorized => -3,
        Kind::InDoubt => -4,
        Kind::Forbidden => -5,
        Kind::RateLimited => -6,
        Kind::Unsupported => -7,
        Kind::Store => -8,
        Kind::Cancelled => -9,
        Kind::Forked => -10,
        Kind::NotHeld => -12,
        // A kind that this interface does not know yet.
        _ => INTERNAL,
    }
}

/// Set when a call through a handle panicked: what it guards may be half done.
#[derive(Default)]
pub(crate) struct Poison(AtomicBool);

impl Poison {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The one door: a panic or an `Err` in `body` becomes a status and, if wanted, an [`fh_error`].
///
/// # Safety
/// `error_out` is NULL or writable.
pub(crate) unsafe fn guard(
    error_out: *mut *mut fh_error,
    poison: Option<&Poison>,
    body: impl FnOnce() -> Result<fh_status>,
) -> fh_status {
    let result = if poison.is_some_and(Poison::is_set) {
        Err(Error::internal("an earlier call through this handle failed inside; it can only be freed"))
    } else {
        catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
            if let Some(poison) = poison {
                poison.0.store(true, Ordering::Relaxed);
            }
            Err(from_panic(panic))
        })
    };
    let (status, error) = match result {
        Ok(status) => (status, None),
        Err(error) => (status_of(error.kind()), Some(error)),
    };
    if !error_out.is_null() {
        let error = error.map_or(std::ptr::null_mut(), |error| Box::into_raw(Box::new(fh_error::from(error))));
        // SAFETY: the caller of the interface gave NULL or a writable place.
        unsafe { error_out.write(error) };
    }
    status
}

/// For functions that answer a plain value: `fallback` after a panic.
pub(crate) fn value<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

fn from_panic(panic: Box<dyn Any + Send>) -> Error {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "a panic without a message",
    };
    Error::internal(format!("a fault of fencehold: {text}"))
}

/// The object behind a pointer that must not be NULL.
///
/// # Safety
/// The pointer is NULL or points to a live `T` for `'a`.
pub(crate) unsafe fn object<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: as the caller vouches.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Checks that a place to write an answer to is one.
pub(crate) fn place<T>(pointer: *mut T, what: &str) -> Result<*mut T> {
    if pointer.is_null() { Err(null(what)) } else { Ok(pointer) }
}

pub(crate) fn null(what: &str) -> Error {
    Error::bad_argument("null", format!("{what} must not be NULL"))
}

/// What a callback is called with, and how it is freed: exactly once, when the last user lets go.
pub(crate) struct UserData {
    pub(crate) pointer: *mut std::ffi::c_void,
    free: Option<unsafe extern "C" fn(*mut std::ffi::c_void)>,
}

// SAFETY: the header says on which threads a callback and its free function run.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    pub(crate) fn new(
        pointer: *mut std::ffi::c_void,
        free: Option<unsafe extern "C" fn(*mut std::ffi::c_void)>,
    ) -> Self {
        Self { pointer, free }
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the function that was registered for this very pointer.
            unsafe { free(self.pointer) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn a_panic_is_internal_and_the_handle_stays_so() {
        let poison = Poison::default();
        let mut error = ptr::null_mut();
        // SAFETY: a place of our own.
        let status = unsafe { guard(&mut error, Some(&poison), || panic!("made up")) };
        assert_eq!(status, INTERNAL);
        // SAFETY: written by the guard.
        let told = unsafe { Box::from_raw(error) };
        assert!(told.message.to_str().unwrap().contains("made up"));
        // SAFETY: no place is given.
        let status = unsafe { guard(ptr::null_mut(), Some(&poison), || Ok(OK)) };
        assert_eq!(status, INTERNAL);
        assert_eq!(value(7, || panic!("again")), 7);
    }

    #[test]
    fn no_two_kinds_share_a_number() {
        let numbers: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| status_of(*kind)).collect();
        assert_eq!(numbers.len(), Kind::ALL.len());
    }
}
