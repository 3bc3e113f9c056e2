//! Steps: changes that are committed together, or not at all, while a guard holds.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use fencehold::{Error, Kind, Result};
use serde_json::Value;

use crate::boundary::{OK, Poison, guard, object, place, value};
use crate::client::{Shared, fh_client};
use crate::error::fh_error;
use crate::fh_status;
use crate::lock::fh_lock;
use crate::text::text;

/// A step that is being put together. Not for several threads at once.
pub struct fh_txn {
    client: Arc<Shared>,
    poison: Poison,
}

/// Begins a step. Nothing is sent before fh_txn_commit().
///
/// @param txn  Not NULL. Gets the step; free it with fh_txn_free().
/// @return FH_OK. FH_ERR_INVALID: a pointer was NULL, or client_closed.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_new(
    client: *const fh_client,
    txn: *mut *mut fh_txn,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = || {
        // SAFETY: the header asks for a live client.
        let shared = unsafe { object(client, "client") }?.shared.clone();
        let place = place(txn, "txn")?;
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { place.write(Box::into_raw(Box::new(fh_txn { client: shared, poison: Poison::default() }))) };
        Ok(OK)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
}

/// A call on a step.
///
/// # Safety
/// `txn` is NULL or live, `error` is NULL or writable.
unsafe fn with(
    txn: *mut fh_txn,
    error: *mut *mut fh_error,
    body: impl FnOnce(&fh_txn) -> Result<fh_status>,
) -> fh_status {
    // SAFETY: as the caller vouches.
    let poison = unsafe { txn.as_ref() }.map(|txn| &txn.poison);
    // SAFETY: as the caller vouches.
    unsafe { guard(error, poison, || body(object(txn.cast_const(), "txn")?)) }
}

/// Checks a part of a step that is given as JSON, before the step is sent anywhere.
///
/// # Safety
/// `json` is NULL or points to `len` bytes.
unsafe fn list(json: *const c_char, len: usize, what: &str) -> Result<()> {
    // SAFETY: as the caller vouches.
    let text = unsafe { text(json, len, "bad_request", what) }?;
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(_)) => Ok(()),
        Ok(_) => Err(Error::bad_argument("bad_request", format!("{what} are a JSON array (bad_request)"))),
        Err(fault) => Err(Error::bad_argument("bad_request", format!("{what} are no JSON: {fault} (bad_request)"))),
    }
}

/// Makes the step depend on a lock: it is committed only if the lock is still ours then.
///
/// @param lock  A held lock of the same client.
/// @return FH_OK. FH_ERR_NOT_HELD: it is not held, and nothing was sent. FH_ERR_INVALID: it is another client's.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_guard(txn: *mut fh_txn, lock: *const fh_lock, error: *mut *mut fh_error) -> fh_status {
    let body = |txn: &fh_txn| {
        // SAFETY: the header asks for a live handle.
        let lock = unsafe { object(lock, "lock") }?;
        let (name, store) = (Some(lock.lock.name()), Some(lock.client.client.store()));
        if !Arc::ptr_eq(&txn.client, &lock.client) {
            let detail = "the guard is a lock of another client. Make the step with the client that made the lock";
            return Err(Error::for_binding(Kind::Invalid, "bad_guard", detail, name, store));
        }
        if !lock.lock.held() {
            let detail = "it is not held, so nothing was sent. Acquire it and do the step again";
            return Err(Error::for_binding(Kind::NotHeld, "not_held", detail, name, store));
        }
        Ok(OK)
    };
    // SAFETY: as the header asks.
    unsafe { with(txn, error, body) }
}

/// Adds items to be pushed to a queue.
///
/// @param items_json  A JSON array of {"data", "partition", "transactionId", "traceId"}; only data is required.
/// @return FH_OK. FH_ERR_INVALID.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_push(
    txn: *mut fh_txn,
    queue: *const c_char,
    queue_len: usize,
    items_json: *const c_char,
    items_len: usize,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |_: &fh_txn| {
        // SAFETY: the header asks for a pointer and its length.
        if unsafe { text(queue, queue_len, "bad_request", "a queue's name") }?.is_empty() {
            return Err(Error::bad_argument("bad_request", "a queue has a name (bad_request)"));
        }
        // SAFETY: as above.
        unsafe { list(items_json, items_len, "items") }.map(|()| OK)
    };
    // SAFETY: as the header asks.
    unsafe { with(txn, error, body) }
}

/// Adds acknowledgements of queue items, as a JSON array of the wire's objects.
///
/// @return FH_OK. FH_ERR_INVALID.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_ack(
    txn: *mut fh_txn,
    json: *const c_char,
    len: usize,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(txn, error, |_| list(json, len, "acknowledgements").map(|()| OK)) }
}

/// Adds changes of key-value rows, as a JSON array of the wire's objects.
///
/// @return FH_OK. FH_ERR_INVALID.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_kv(
    txn: *mut fh_txn,
    json: *const c_char,
    len: usize,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(txn, error, |_| list(json, len, "changes").map(|()| OK)) }
}

/// Adds timers, as a JSON array of the wire's objects.
///
/// @return FH_OK. FH_ERR_INVALID.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_timers(
    txn: *mut fh_txn,
    json: *const c_char,
    len: usize,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(txn, error, |_| list(json, len, "timers").map(|()| OK)) }
}

/// Commits the step: all of it, if every guard holds, or nothing.
///
/// The stores of this version commit no steps: the answer is FH_ERR_UNSUPPORTED, and nothing was done.
///
/// @param result_json  NULL, or gets {"success", "reason", "results"}, borrowed until the step is freed; NULL on a failure.
/// @return FH_OK. FH_LOST: a guard did not hold. FH_REFUSED: another precondition did not. FH_ERR_UNSUPPORTED.
///         FH_ERR_IN_DOUBT: sent, no answer; it is never sent again by itself.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_commit(
    txn: *mut fh_txn,
    result_json: *mut *const c_char,
    error: *mut *mut fh_error,
) -> fh_status {
    if !result_json.is_null() {
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { result_json.write(ptr::null()) };
    }
    let body = |txn: &fh_txn| {
        let detail = "this store commits no steps (unsupported), and nothing was done";
        Err(Error::for_binding(Kind::Unsupported, "unsupported", detail, None, Some(txn.client.client.store())))
    };
    // SAFETY: as the header asks.
    unsafe { with(txn, error, body) }
}

/// Frees a step; NULL does nothing. One that was not committed did nothing.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_txn_free(txn: *mut fh_txn) {
    if !txn.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        value((), || drop(unsafe { Box::from_raw(txn) }));
    }
}
