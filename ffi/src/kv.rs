//! Rows of users: small values beside the locks, with versions, expiry and conditions.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use fencehold::{Error, Expiry, Kv, Result, ValueRow, Written};
use serde_json::Value;

use crate::boundary::{INTERNAL, OK, guard, null, object, place, value};
use crate::client::{Shared, fh_client};
use crate::error::{borrowed, fh_error};
use crate::fh_status;
use crate::info::fill;
use crate::text::{FOREVER, fh_str, text};
use crate::txn::REFUSED;

/// As the version that a write expects: none in particular.
const ANY_VERSION: u64 = u64::MAX;

/// The rows of one namespace. Needs no fh_client any more.
pub struct fh_kv {
    shared: Arc<Shared>,
    kv: Kv,
}

/// Rows that were read, or what became of a write.
pub struct fh_rows {
    rows: Vec<Entry>,
    /// The key after which the next page begins.
    next: Option<CString>,
    /// Why a write lost.
    reason: Option<CString>,
}

struct Entry {
    row: fh_row,
    /// What the pointers of `row` point to.
    _texts: [CString; 2],
}

/// A row.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fh_row {
    /// Set by FH_ROW_INIT; fields are only appended.
    pub struct_size: usize,
    /// Its key; borrowed from the fh_rows.
    pub key: *const c_char,
    /// What it holds, as JSON; borrowed from the fh_rows.
    pub value_json: *const c_char,
    /// Rises with every write on the whole store; 0: there is no such row.
    pub version: u64,
}

// SAFETY: the pointers inside point to texts that live and move with it.
unsafe impl Send for fh_rows {}
// SAFETY: nothing changes after it was made.
unsafe impl Sync for fh_rows {}

fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::internal("keys and JSON have no NUL"))
}

impl Entry {
    fn new(key: &str, value: &Value, version: u64) -> Result<Self> {
        // A CString's bytes stay where they are when it moves.
        let texts = [c_text(key)?, c_text(&value.to_string())?];
        let row =
            fh_row { struct_size: size_of::<fh_row>(), key: texts[0].as_ptr(), value_json: texts[1].as_ptr(), version };
        Ok(Self { row, _texts: texts })
    }
}

impl fh_rows {
    fn read<'a>(rows: impl IntoIterator<Item = &'a ValueRow>, next: Option<&str>) -> Result<Self> {
        let rows = rows.into_iter().map(|row| Entry::new(&row.key, &row.value, row.version)).collect::<Result<_>>()?;
        Ok(Self { rows, next: next.map(c_text).transpose()?, reason: None })
    }

    fn written(key: &str, written: &Written) -> Result<Self> {
        let (version, value, reason) = match written {
            Written::Applied { version, value } => (version, value, None),
            Written::Lost { reason, version, value } => (version, value, Some(c_text(reason)?)),
        };
        Ok(Self { rows: vec![Entry::new(key, value, *version)?], next: None, reason })
    }
}

/// A call on rows, whose answer goes to `rows`.
///
/// # Safety
/// `kv` is NULL or live, `rows` and `error` are NULL or writable.
unsafe fn with(
    kv: *const fh_kv,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
    body: impl FnOnce(&Kv) -> Result<fh_rows>,
) -> fh_status {
    // SAFETY: as the caller vouches.
    let poison = unsafe { kv.as_ref() }.map(|kv| &kv.shared.poison);
    let body = || {
        // SAFETY: as the caller vouches.
        let kv = unsafe { object(kv, "kv") }?;
        let place = place(rows, "rows")?;
        let answer = body(&kv.kv)?;
        let status = if answer.reason.is_some() { REFUSED } else { OK };
        // SAFETY: not NULL; as the caller vouches.
        unsafe { place.write(Box::into_raw(Box::new(answer))) };
        Ok(status)
    };
    // SAFETY: as the caller vouches.
    unsafe { guard(error, poison, body) }
}

/// # Safety
/// `key` is NULL or points to `len` bytes.
unsafe fn key_text<'a>(key: *const c_char, len: usize) -> Result<&'a str> {
    // SAFETY: as the caller vouches.
    unsafe { text(key, len, "kv_bad_key", "a key") }
}

/// # Safety
/// `json` is NULL or points to `len` bytes.
unsafe fn json_value(json: *const c_char, len: usize) -> Result<Value> {
    // SAFETY: as the caller vouches.
    let text = unsafe { text(json, len, "kv_bad_request", "a value") }?;
    serde_json::from_str(text)
        .map_err(|fault| Error::bad_argument("kv_bad_request", format!("a value is no JSON: {fault} (kv_bad_request)")))
}

fn expiry(ttl_ms: u64) -> Expiry {
    if ttl_ms == FOREVER { Expiry::Forever } else { Expiry::After(Duration::from_millis(ttl_ms)) }
}

fn expected(version: u64) -> Option<u64> {
    (version != ANY_VERSION).then_some(version)
}

/// Gives out the rows of a namespace. Nothing is sent.
///
/// @param ns  1 to 64 of a-z, 0-9, '.', '_' and '-'; checked when something is asked. Copied.
/// @param kv  Not NULL. Gets the rows; free them with fh_kv_free().
/// @return FH_OK. FH_ERR_INVALID.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_new(
    client: *const fh_client,
    ns: *const c_char,
    ns_len: usize,
    kv: *mut *mut fh_kv,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = || {
        // SAFETY: the header asks for a live client.
        let shared = unsafe { object(client, "client") }?.shared.clone();
        let place = place(kv, "kv")?;
        // SAFETY: the header asks for a pointer and its length.
        let kv = shared.client.kv(unsafe { text(ns, ns_len, "kv_bad_namespace", "a namespace") }?);
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { place.write(Box::into_raw(Box::new(fh_kv { shared, kv }))) };
        Ok(OK)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
}

/// Reads the row at a key.
///
/// @param key   1 to 512 bytes of UTF-8 without NUL.
/// @param rows  Not NULL. Gets one row, or none if there is none; free it with fh_rows_free().
/// @return FH_OK, also without a row. FH_ERR_INVALID with a reason kv_…, or client_closed. FH_ERR_UNSUPPORTED: this store keeps
///         locks only. FH_ERR_UNREACHABLE.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_get(
    kv: *const fh_kv,
    key: *const c_char,
    key_len: usize,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, |kv| fh_rows::read(&kv.get(key_text(key, key_len)?)?, None)) }
}

/// Reads the rows at several keys, at most 1024, in one call.
///
/// @param keys   count texts; NULL if count is 0.
/// @param rows   Not NULL. Gets those that are there, by key.
/// @return As fh_kv_get().
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_get_many(
    kv: *const fh_kv,
    keys: *const fh_str,
    count: usize,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        let keys = match count {
            0 => &[],
            _ if keys.is_null() => return Err(null("keys")),
            // SAFETY: not NULL; the header asks for so many texts.
            _ => unsafe { std::slice::from_raw_parts(keys, count) },
        };
        let keys = keys
            .iter()
            // SAFETY: the header asks for a pointer and its length.
            .map(|key| unsafe { key_text(key.ptr, key.len) })
            .collect::<Result<Vec<&str>>>()?;
        fh_rows::read(&kv.get_many(&keys)?, None)
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Reads a page of the rows whose keys begin with a prefix, by key.
///
/// @param prefix  Not empty.
/// @param limit   At most so many rows: 1 to 1000.
/// @param after   Only keys after this one: fh_rows_next() of the page before; NULL with length 0 begins at the first.
/// @param rows    Not NULL. Gets the page.
/// @return As fh_kv_get().
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_get_prefix(
    kv: *const fh_kv,
    prefix: *const c_char,
    prefix_len: usize,
    limit: u32,
    after: *const c_char,
    after_len: usize,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        // SAFETY: the header asks for pointers and their lengths.
        let (prefix, after) = unsafe { (key_text(prefix, prefix_len)?, key_text(after, after_len)?) };
        let (rows, next) = kv.get_prefix(prefix, limit, (!after.is_empty()).then_some(after))?;
        fh_rows::read(&rows, next.as_deref())
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Writes a row.
///
/// @param value_json  What it shall hold, as JSON; at most 64 KiB.
/// @param ttl_ms      How long it lasts, rounded up to whole seconds; FH_FOREVER.
/// @param expect      The version that the row must have, 0: it must not be there; FH_ANY_VERSION: whatever is there.
/// @param rows        Not NULL. Written on FH_OK and on FH_REFUSED; free it with fh_rows_free(). Gets one row: on FH_OK as it is
///                    now; on FH_REFUSED the one in the way, with version 0 if there is none.
/// @return FH_OK. FH_REFUSED: it was not as expected, nothing was changed, and fh_rows_reason() tells why. FH_ERR_INVALID.
///         FH_ERR_UNSUPPORTED. FH_ERR_UNREACHABLE: nothing was done. FH_ERR_IN_DOUBT: sent, no answer; it is never sent again by
///         itself.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_put(
    kv: *const fh_kv,
    key: *const c_char,
    key_len: usize,
    value_json: *const c_char,
    value_len: usize,
    ttl_ms: u64,
    expect: u64,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        // SAFETY: the header asks for pointers and their lengths.
        let (key, value) = unsafe { (key_text(key, key_len)?, json_value(value_json, value_len)?) };
        let written = match expected(expect) {
            None => kv.put(key, value, expiry(ttl_ms))?,
            Some(version) => kv.put_expecting(key, value, expiry(ttl_ms), version)?,
        };
        fh_rows::written(key, &written)
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Writes a row if there is none.
///
/// @return As fh_kv_put(); FH_REFUSED with the reason "exists".
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_put_if_absent(
    kv: *const fh_kv,
    key: *const c_char,
    key_len: usize,
    value_json: *const c_char,
    value_len: usize,
    ttl_ms: u64,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        // SAFETY: the header asks for pointers and their lengths.
        let (key, value) = unsafe { (key_text(key, key_len)?, json_value(value_json, value_len)?) };
        fh_rows::written(key, &kv.put_if_absent(key, value, expiry(ttl_ms))?)
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Removes a row.
///
/// @param expect  The version that it must have; FH_ANY_VERSION.
/// @return As fh_kv_put(), with the row as it was; FH_REFUSED with the reason "absent" also if there was none to remove.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_delete(
    kv: *const fh_kv,
    key: *const c_char,
    key_len: usize,
    expect: u64,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        // SAFETY: the header asks for a pointer and its length.
        let key = unsafe { key_text(key, key_len) }?;
        fh_rows::written(key, &kv.delete(key, expected(expect))?)
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Adds to the number in a row, which is made if there is none.
///
/// @param ttl_ms  How long a row lasts that is made here; one that is there keeps its own.
/// @return As fh_kv_put(); FH_REFUSED with the reason "type" (it holds no number) or "limit" (no number can hold the sum).
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_incr(
    kv: *const fh_kv,
    key: *const c_char,
    key_len: usize,
    delta: i64,
    ttl_ms: u64,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        // SAFETY: the header asks for a pointer and its length.
        let key = unsafe { key_text(key, key_len) }?;
        fh_rows::written(key, &kv.incr(key, delta, expiry(ttl_ms))?)
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Compares the version of a row and changes nothing.
///
/// @param expect  The version; 0: it is not there.
/// @return As fh_kv_put(); on FH_OK the value is null.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_check(
    kv: *const fh_kv,
    key: *const c_char,
    key_len: usize,
    expect: u64,
    rows: *mut *mut fh_rows,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |kv: &Kv| {
        // SAFETY: the header asks for a pointer and its length.
        let key = unsafe { key_text(key, key_len) }?;
        fh_rows::written(key, &kv.check(key, expect)?)
    };
    // SAFETY: as the header asks.
    unsafe { with(kv, rows, error, body) }
}

/// Frees the rows of a namespace; NULL does nothing. The store's rows stay.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_kv_free(kv: *mut fh_kv) {
    if !kv.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        value((), || drop(unsafe { Box::from_raw(kv) }));
    }
}

/// How many rows the answer has. 0 for NULL.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_rows_count(rows: *const fh_rows) -> usize {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { rows.as_ref() }.map_or(0, |rows| rows.rows.len())
}

/// A row of the answer, by rising key.
///
/// @param index  0 to fh_rows_count() - 1.
/// @param row    Not NULL, begun with FH_ROW_INIT. Its texts are borrowed until the answer is freed.
/// @return FH_OK. FH_ERR_INVALID: there is no such row, or row was not begun.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_rows_row(rows: *const fh_rows, index: usize, row: *mut fh_row) -> fh_status {
    value(INTERNAL, || {
        // SAFETY: the header asks for NULL or a live answer.
        let found = unsafe { rows.as_ref() }.and_then(|rows| rows.rows.get(index));
        // SAFETY: the header asks for NULL or a struct that says its size.
        unsafe { fill(found.map(|entry| &entry.row), row) }
    })
}

/// The key after which the next page of fh_kv_get_prefix() begins; NULL: this was the last.
///
/// @return Borrowed until the answer is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_rows_next(rows: *const fh_rows) -> *const c_char {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { rows.as_ref() }.map_or(ptr::null(), |rows| borrowed(rows.next.as_ref()))
}

/// Why a write changed nothing: "exists", "absent", "version", "limit" or "type"; NULL: it was done.
///
/// @return Borrowed until the answer is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_rows_reason(rows: *const fh_rows) -> *const c_char {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { rows.as_ref() }.map_or(ptr::null(), |rows| borrowed(rows.reason.as_ref()))
}

/// Frees an answer; NULL does nothing.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_rows_free(rows: *mut fh_rows) {
    if !rows.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        drop(unsafe { Box::from_raw(rows) });
    }
}
