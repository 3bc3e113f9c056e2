//! The version of the library and its log.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use fencehold::{Error, Kind, Level, VERSION, set_log};

use crate::boundary::{OK, UserData, guard, value};
use crate::error::fh_error;
use crate::fh_status;
use crate::text::out;

const fn part(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let (mut number, mut at) = (0, 0);
    while at < bytes.len() {
        number = number * 10 + (bytes[at] - b'0') as u32;
        at += 1;
    }
    number
}

/// `major * 1000000 + minor * 1000 + patch`.
const NUMBER: u32 = part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
    + part(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
    + part(env!("CARGO_PKG_VERSION_PATCH"));

/// The version of the library: major * 1000000 + minor * 1000 + patch. Compare with FH_VERSION_NUMBER.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub extern "C" fn fh_version_number() -> u32 {
    NUMBER
}

/// Checks at start that the library is not older than the header that the program was built with.
///
/// @param header_version  FH_VERSION_NUMBER.
/// @return FH_OK. FH_ERR_UNSUPPORTED: the library is older, or of another major version; the message has both numbers.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_require_version(header_version: u32, error: *mut *mut fh_error) -> fh_status {
    let body = || {
        if header_version <= NUMBER && header_version / 1_000_000 == NUMBER / 1_000_000 {
            return Ok(OK);
        }
        let (major, minor, patch) =
            (header_version / 1_000_000, header_version / 1_000 % 1_000, header_version % 1_000);
        let detail = format!(
            "this program was built for fencehold {major}.{minor}.{patch}, and the library is {VERSION}. Install \
             libfencehold {major}.{minor}.{patch} or newer of the same major version"
        );
        Err(Error::for_binding(Kind::Unsupported, "unsupported", detail, None, None))
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
}

/// Sends the library's log messages to a function; without this call they go nowhere.
///
/// What is reported is what nobody asked for: a release that failed at the end of a scope, a loss handler that failed. The
/// function may be called from any thread, while nothing is locked. It must not register another log function. A forked
/// child starts without one.
///
/// @param fn              NULL: nowhere. Its level is an FH_LOG_ value; message is good during the call only.
/// @param user_data_free  NULL, or called once when the function is replaced and its last call is over.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_set_log(
    r#fn: Option<unsafe extern "C" fn(level: i32, message: *const c_char, user_data: *mut c_void)>,
    user_data: *mut c_void,
    user_data_free: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
) {
    let data = UserData::new(user_data, user_data_free);
    value((), || {
        let sink = r#fn.map(|call| -> Arc<dyn Fn(Level, &str) + Send + Sync> {
            Arc::new(move |level: Level, message: &str| {
                let data = &data;
                let message = out(message);
                // SAFETY: the function and the data were registered together.
                unsafe { call(level.number(), message.as_ptr(), data.pointer) };
            })
        });
        set_log(sink);
    });
}
