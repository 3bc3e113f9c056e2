//! Text across the boundary, and durations as text.

use std::ffi::{CString, c_char};
use std::time::Duration;

use fencehold::{Error, Result, Ttl, Wait};

use crate::boundary::{OK, guard, place};
use crate::error::fh_error;
use crate::fh_status;

/// As wait_ms: without limit.
pub(crate) const FOREVER: u64 = u64::MAX;
/// As wait_ms: the handle's own.
pub(crate) const DEFAULT_WAIT: u64 = u64::MAX - 1;

/// A text in options: pointer and length; { NULL, 0 } is "not given".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fh_str {
    /// The first byte; need not be NUL-terminated.
    pub ptr: *const c_char,
    /// How many bytes.
    pub len: usize,
}

impl fh_str {
    pub(crate) const NONE: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// The text; `None` when it is not given, which an empty one is, too.
    ///
    /// # Safety
    /// As [`bytes`].
    pub(crate) unsafe fn given<'a>(self, reason: &'static str, what: &str) -> Result<Option<&'a str>> {
        if self.len == 0 {
            return Ok(None);
        }
        // SAFETY: as the caller vouches.
        unsafe { text(self.ptr, self.len, reason, what) }.map(Some)
    }
}

/// The bytes of a text.
///
/// # Safety
/// `ptr` is NULL or points to `len` bytes that live for `'a`.
pub(crate) unsafe fn bytes<'a>(ptr: *const c_char, len: usize, reason: &'static str, what: &str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() || len > isize::MAX as usize {
        return Err(Error::bad_argument(reason, format!("{what} is NULL, but its length is {len} ({reason})")));
    }
    // SAFETY: checked above, and as the caller vouches.
    Ok(unsafe { std::slice::from_raw_parts(ptr.cast(), len) })
}

/// A text that must be UTF-8.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text<'a>(ptr: *const c_char, len: usize, reason: &'static str, what: &str) -> Result<&'a str> {
    // SAFETY: as the caller vouches.
    let bytes = unsafe { bytes(ptr, len, reason, what) }?;
    std::str::from_utf8(bytes)
        .map_err(|_| Error::bad_argument(reason, format!("{what} is valid UTF-8, and this one is not ({reason})")))
}

/// A text to give out. Texts of ours have no NUL; one that came from elsewhere must not end at it.
pub(crate) fn out(text: &str) -> CString {
    CString::new(text).or_else(|_| CString::new(text.replace('\0', "\u{fffd}"))).unwrap_or_default()
}

/// A wait from its number.
pub(crate) fn wait_from(wait_ms: u64) -> Wait {
    match wait_ms {
        FOREVER => Wait::Forever,
        DEFAULT_WAIT => Wait::Default,
        ms => Duration::from_millis(ms).into(),
    }
}

/// A duration as a number.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(DEFAULT_WAIT - 1).min(DEFAULT_WAIT - 1)
}

/// Reads a lifetime as people write it, such as "30s" or "1h30m", and checks its range.
///
/// @param text   The text, of text_len bytes.
/// @param ms     Not NULL. Gets the lifetime in milliseconds.
/// @return FH_OK. FH_ERR_INVALID with the reason locks_bad_ttl: no duration, no unit, or outside 100 ms to 24 h.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_ttl_parse(
    text: *const c_char,
    text_len: usize,
    ms: *mut u64,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = || {
        let ms = place(ms, "ms")?;
        // SAFETY: the header asks for a pointer and its length.
        let ttl: Ttl = unsafe { self::text(text, text_len, "locks_bad_ttl", "a lifetime") }?.parse()?;
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { ms.write(millis(ttl.get())) };
        Ok(OK)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
}

/// Reads a wait as people write it: a duration such as "500ms", or "forever".
///
/// @param text   The text, of text_len bytes.
/// @param ms     Not NULL. Gets the wait in milliseconds; 0 is one try; FH_FOREVER.
/// @return FH_OK. FH_ERR_INVALID with the reason locks_bad_wait.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_wait_parse(
    text: *const c_char,
    text_len: usize,
    ms: *mut u64,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = || {
        let ms = place(ms, "ms")?;
        // SAFETY: the header asks for a pointer and its length.
        let wait: Wait = unsafe { self::text(text, text_len, "locks_bad_wait", "a wait") }?.parse()?;
        let number = match wait {
            Wait::Forever => FOREVER,
            Wait::For(duration) => millis(duration),
            Wait::No | Wait::Default => 0,
        };
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { ms.write(number) };
        Ok(OK)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
}
