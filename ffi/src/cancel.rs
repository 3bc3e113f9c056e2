//! Ending a wait from elsewhere.

use std::ffi::c_void;
use std::time::Duration;

use fencehold::Cancel;

use crate::boundary::{INTERNAL, INVALID, OK, UserData, value};
use crate::fh_status;

/// Ends waits that were given it. Triggering is final: make a new one for the next wait.
pub struct fh_cancel {
    pub(crate) cancel: Cancel,
}

/// Makes a cancel object that nobody has triggered.
///
/// @param cancel  Not NULL. Gets the object.
/// @return FH_OK. FH_ERR_INVALID: cancel is NULL.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_cancel_new(cancel: *mut *mut fh_cancel) -> fh_status {
    value(INTERNAL, || {
        if cancel.is_null() {
            return INVALID;
        }
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { cancel.write(Box::into_raw(Box::new(fh_cancel { cancel: Cancel::new() }))) };
        OK
    })
}

/// Makes a cancel object that also asks a function, on the waiting thread, whether the wait should end.
///
/// For languages whose signals or timeouts are only seen by asking their interpreter. The function is called about every
/// interval_ms while a wait lasts, with nothing locked; it must not acquire through the handle that waits.
///
/// @param fn              Not NULL. Answers 0 to go on, anything else to end the wait.
/// @param user_data_free  NULL, or called once: when the object is freed and no wait uses it any more.
/// @param cancel          Not NULL. Gets the object.
/// @return FH_OK. FH_ERR_INVALID: a pointer was NULL or interval_ms was 0.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_cancel_new_polling(
    interval_ms: u64,
    r#fn: Option<unsafe extern "C" fn(user_data: *mut c_void) -> i32>,
    user_data: *mut c_void,
    user_data_free: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
    cancel: *mut *mut fh_cancel,
) -> fh_status {
    let data = UserData::new(user_data, user_data_free);
    value(INTERNAL, || {
        let Some(ask) = r#fn else { return INVALID };
        if cancel.is_null() || interval_ms == 0 {
            return INVALID;
        }
        let polling = Cancel::polling(Duration::from_millis(interval_ms), move || {
            let data = &data;
            // SAFETY: the function and the data were registered together.
            unsafe { ask(data.pointer) != 0 }
        });
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { cancel.write(Box::into_raw(Box::new(fh_cancel { cancel: polling }))) };
        OK
    })
}

/// Ends every wait that was given this object, now and later. Async-signal-safe. NULL does nothing.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_cancel_trigger(cancel: *const fh_cancel) {
    // SAFETY: the header asks for NULL or a live object. Triggering only touches atomics.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.cancel.trigger();
    }
}

/// Frees a cancel object; NULL does nothing. A wait that has begun with it goes on without it.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_cancel_free(cancel: *mut fh_cancel) {
    if !cancel.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        value((), || drop(unsafe { Box::from_raw(cancel) }));
    }
}
