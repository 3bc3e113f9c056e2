//! Steps: changes that are committed together, or not at all, while a guard holds.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use fencehold::{Error, KvCall, Result, StepParts};
use serde_json::Value;

use crate::boundary::{OK, Poison, guard, null, object, place, value};
use crate::client::{Shared, fh_client};
use crate::error::fh_error;
use crate::fh_status;
use crate::info::fh_info;
use crate::lock::{claim, fh_lock};
use crate::text::text;

/// The status of a step that was refused for another reason than a lost guard.
pub(crate) const REFUSED: fh_status = 5;

/// A step that is being put together. Not for several threads at once.
pub struct fh_txn {
    client: Arc<Shared>,
    /// Guards the parts from a caller who uses one step on two threads all the same.
    state: Mutex<State>,
    poison: Poison,
}

#[derive(Default)]
struct State {
    parts: StepParts,
    /// The last commit's outcome as JSON, which the caller reads.
    result: CString,
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
        if shared.client.is_closed() {
            let detail = "the client was closed (client_closed). Make a new one";
            return Err(Error::bad_argument("client_closed", detail).on_store(shared.client.store()));
        }
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe {
            place.write(Box::into_raw(Box::new(fh_txn {
                client: shared,
                state: Mutex::default(),
                poison: Poison::default(),
            })))
        };
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
    body: impl FnOnce(&fh_txn, &mut State) -> Result<fh_status>,
) -> fh_status {
    // SAFETY: as the caller vouches.
    let poison = unsafe { txn.as_ref() }.map(|txn| &txn.poison);
    let body = || {
        // SAFETY: as the caller vouches.
        let txn = unsafe { object(txn.cast_const(), "txn") }?;
        let mut state = txn.state.lock().unwrap_or_else(PoisonError::into_inner);
        body(txn, &mut state).map_err(|error| error.on_store(txn.client.client.store()))
    };
    // SAFETY: as the caller vouches.
    unsafe { guard(error, poison, body) }
}

/// A part of a step that is given as JSON.
///
/// # Safety
/// `json` is NULL or points to `len` bytes.
unsafe fn list(json: *const c_char, len: usize, what: &str) -> Result<Value> {
    // SAFETY: as the caller vouches.
    let text = unsafe { text(json, len, "bad_request", what) }?;
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Array(_)) => Ok(value),
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
    let body = |txn: &fh_txn, state: &mut State| {
        // SAFETY: the header asks for a live handle.
        let lock = unsafe { claim(lock) }.ok_or_else(|| null("lock"))?;
        state.parts.guard(&txn.client.client, &lock.lock).map(|()| OK)
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
    let body = |_: &fh_txn, state: &mut State| {
        // SAFETY: the header asks for a pointer and its length.
        let queue = unsafe { text(queue, queue_len, "bad_request", "a queue's name") }?;
        // SAFETY: as above.
        let items = unsafe { list(items_json, items_len, "items") }?;
        state.parts.push(queue, &items).map(|()| OK)
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
    unsafe { with(txn, error, |_, state| state.parts.ack(&list(json, len, "acknowledgements")?).map(|()| OK)) }
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
    unsafe { with(txn, error, |_, state| state.parts.kv(&list(json, len, "changes")?).map(|()| OK)) }
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
    unsafe { with(txn, error, |_, state| state.parts.timers(&list(json, len, "timers")?).map(|()| OK)) }
}

/// Commits the step: all of it, if every guard holds, or nothing.
///
/// A renewal in flight is waited for, and when a handle's own renewal had moved the token the step is sent again, at most
/// three times. A guard that somebody else has loses its handle, for the reason "guard".
///
/// @param result_json  NULL, or gets {"success", "reason", "results"}, borrowed until the next call on the step; NULL on a failure.
/// @return FH_OK. FH_LOST: a guard did not hold, and *error tells who has the lock. FH_REFUSED: the store did nothing of it;
///         "reason" tells why. FH_ERR_NOT_HELD: a guard is not held, and nothing was sent. FH_ERR_UNSUPPORTED. FH_ERR_IN_DOUBT:
///         sent, no answer; it is never sent again by itself.
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
    let body = |txn: &fh_txn, state: &mut State| {
        let commit = txn.client.client.commit_parts(&state.parts)?;
        let result = commit.result();
        state.result = CString::new(result.to_json()).map_err(|_| Error::internal("JSON has no NUL"))?;
        if !result_json.is_null() {
            // SAFETY: not NULL; the header asks for a writable place.
            unsafe { result_json.write(state.result.as_ptr()) };
        }
        match &result.lost {
            Some(lost) => Err(lost.clone()),
            None if result.success => Ok(OK),
            None => Ok(REFUSED),
        }
    };
    // SAFETY: as the header asks.
    unsafe { with(txn, error, body) }
}

/// Does operations on rows of users, in one atomic call.
///
/// @param operations_json  A JSON array of the wire's objects: get, getMany, getPrefix, put, putIfAbsent, delete, incr, check.
/// @param info             Not NULL. Gets the answer: fh_info_json() is {"results": […]}, one element for each operation, or, when
///                         an operation with "required" lost, {"ok": false, "reason": "kv_precondition", …}. Free it with
///                         fh_info_free().
/// @return FH_OK. FH_REFUSED: a required operation lost, and nothing was written. FH_ERR_INVALID. FH_ERR_UNSUPPORTED: this store
///         keeps locks only. FH_ERR_UNREACHABLE. FH_ERR_IN_DOUBT: a write was sent, no answer; it is never sent again by itself.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_kv(
    client: *const fh_client,
    operations_json: *const c_char,
    operations_len: usize,
    info: *mut *mut fh_info,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = || {
        let place = place(info, "info")?;
        // SAFETY: the header asks for a live client.
        let shared = unsafe { object(client, "client") }?.shared.clone();
        // SAFETY: the header asks for a pointer and its length.
        let Value::Array(operations) = (unsafe { list(operations_json, operations_len, "operations") })? else {
            return Err(Error::internal("an array was asked for"));
        };
        let (json, status) = match shared.client.kv_call(&operations)? {
            KvCall::Results(results) => (serde_json::json!({ "results": results }), OK),
            KvCall::Precondition(lost) => (lost, REFUSED),
        };
        let answer = fh_info::of_json(json.to_string())?;
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { place.write(Box::into_raw(Box::new(answer))) };
        Ok(status)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
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
