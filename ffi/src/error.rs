//! Errors.

use std::ffi::{CString, c_char};
use std::ptr;

use fencehold::{Error, Retry, unix_millis};

use crate::boundary::{INTERNAL, INVALID, OK, place, status_of, value};
use crate::fh_status;
use crate::info::fh_info;
use crate::text::{millis, out};

/// What happened, to which lock, on which store, and what to do. Belongs to the caller.
pub struct fh_error {
    error: Error,
    pub(crate) message: CString,
    reason: CString,
    lock: Option<CString>,
    store: Option<CString>,
    cause: Option<Box<fh_error>>,
}

impl From<Error> for fh_error {
    fn from(error: Error) -> Self {
        Self {
            message: out(&error.to_string()),
            reason: out(error.reason()),
            lock: error.lock().map(out),
            store: error.store().map(out),
            cause: error.cause().map(|cause| Box::new(cause.clone().into())),
            error,
        }
    }
}

/// A borrowed text; NULL for none.
pub(crate) fn borrowed(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// What kind of thing went wrong: an FH_ERR_ value, or FH_HELD, FH_TIMED_OUT, FH_LOST. FH_OK for NULL.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_kind(error: *const fh_error) -> i32 {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.map_or(OK, |error| status_of(error.error.kind()))
}

/// Whether the same call may be made again: an FH_RETRY_ value. 0 for NULL.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_retry(error: *const fh_error) -> i32 {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.map_or(0, |error| match error.error.retry() {
        Retry::Now => 1,
        Retry::Later => 2,
        Retry::CheckFirst => 3,
        _ => 4,
    })
}

/// Of FH_ERR_IN_DOUBT: until when the lock may still be held at the latest, in milliseconds after 1970 UTC. Else 0.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_until_ms(error: *const fh_error) -> i64 {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.and_then(|error| error.error.until()).map_or(0, unix_millis)
}

/// Of FH_LOST: by how many milliseconds the work outlived the lease. -1 where that is not known.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_late_by_ms(error: *const fh_error) -> i64 {
    // SAFETY: the header asks for NULL or a live error.
    let late_by = unsafe { error.as_ref() }.and_then(|error| error.error.late_by());
    late_by.map_or(-1, |late_by| i64::try_from(millis(late_by)).unwrap_or(i64::MAX))
}

/// What happened, for people: to which lock, on which store, and what to do. Never NULL.
///
/// @return Borrowed until the error is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_message(error: *const fh_error) -> *const c_char {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// The stable id of the reason, for programs, such as "locks_bad_ttl". Never NULL.
///
/// @return Borrowed until the error is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_reason(error: *const fh_error) -> *const c_char {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.reason.as_ptr())
}

/// The name of the lock it is about; NULL for none.
///
/// @return Borrowed until the error is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_lock(error: *const fh_error) -> *const c_char {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.map_or(ptr::null(), |error| borrowed(error.lock.as_ref()))
}

/// The store it is about, without credentials; NULL for none.
///
/// @return Borrowed until the error is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_store(error: *const fh_error) -> *const c_char {
    // SAFETY: the header asks for NULL or a live error.
    unsafe { error.as_ref() }.map_or(ptr::null(), |error| borrowed(error.store.as_ref()))
}

/// The error behind this one; NULL for none.
///
/// @return Borrowed until this error is freed; not to be freed itself.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_cause(error: *const fh_error) -> *const fh_error {
    // SAFETY: the header asks for NULL or a live error.
    let cause = unsafe { error.as_ref() }.and_then(|error| error.cause.as_deref());
    cause.map_or(ptr::null(), ptr::from_ref)
}

/// Of FH_HELD and FH_TIMED_OUT: who holds the lock, and why it was refused.
///
/// @param info  NULL, or gets the holders as an fh_info of one lock; NULL if the answer is NULL.
/// @return "held", "contended", "timed_out", "held_here" or "owner_in_use"; a text that is never freed. NULL: this error has
///         no refusal.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_refusal(error: *const fh_error, info: *mut *mut fh_info) -> *const c_char {
    value(ptr::null(), || {
        // SAFETY: the header asks for NULL or a live error.
        let error = unsafe { error.as_ref() };
        let refusal = error.and_then(|error| error.error.refusal());
        // SAFETY: the header asks for NULL or a writable place.
        unsafe { fh_info::put_refusal(refusal, error.and_then(|error| error.error.lock()), info) }
    })
}

/// Makes an error a second one that is freed by itself.
///
/// @param copy  Not NULL. Gets the copy.
/// @return FH_OK. FH_ERR_INVALID: a pointer was NULL.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_clone(error: *const fh_error, copy: *mut *mut fh_error) -> fh_status {
    value(INTERNAL, || {
        // SAFETY: the header asks for a live error.
        let (Some(error), Ok(copy)) = (unsafe { error.as_ref() }, place(copy, "copy")) else { return INVALID };
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { copy.write(Box::into_raw(Box::new(error.error.clone().into()))) };
        OK
    })
}

/// Frees an error; NULL does nothing.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_error_free(error: *mut fh_error) {
    if !error.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        drop(unsafe { Box::from_raw(error) });
    }
}
