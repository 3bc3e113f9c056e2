//! What a store knows about locks, as answers to look through.

use std::ffi::{CString, c_char};
use std::ptr;
use std::time::SystemTime;

use fencehold::{Error, Holder, LockInfo, Refusal, Result, Waiter, unix_millis};

use crate::boundary::{INTERNAL, INVALID, OK, value};
use crate::error::borrowed;
use crate::fh_status;
use crate::text::out;

/// Who holds a permit. What the store does not know is NULL or 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fh_holder {
    /// Set by FH_HOLDER_INIT; fields are only appended.
    pub struct_size: usize,
    /// Which permit; 0 for a lock.
    pub slot: u32,
    /// The permit's current token.
    pub token: u64,
    /// The holder's owner; borrowed from the fh_info.
    pub owner: *const c_char,
    /// What the holder calls itself, for people; borrowed from the fh_info.
    pub label: *const c_char,
    /// When it acquired, in milliseconds after 1970 UTC.
    pub since_ms: i64,
    /// When it renewed last.
    pub renewed_at_ms: i64,
    /// When the lease ends unless it is renewed.
    pub expires_at_ms: i64,
}

/// Who waits in line. What the store does not know is NULL or 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fh_waiter {
    /// Set by FH_WAITER_INIT; fields are only appended.
    pub struct_size: usize,
    /// 1 is next.
    pub position: u32,
    /// The waiter's owner; borrowed from the fh_info.
    pub owner: *const c_char,
    /// What it calls itself, for people; borrowed from the fh_info.
    pub label: *const c_char,
    /// Since when it waits, in milliseconds after 1970 UTC.
    pub since_ms: i64,
}

/// An answer about locks: one for fh_client_holders() and a refusal, any number for fh_client_list().
pub struct fh_info {
    locks: Vec<Entry>,
    json: CString,
}

impl fh_info {
    /// An answer that is only JSON.
    pub(crate) fn of_json(json: String) -> Result<Self> {
        let json = CString::new(json).map_err(|_| Error::internal("JSON has no NUL"))?;
        Ok(Self { locks: Vec::new(), json })
    }
}

// SAFETY: the pointers inside point to texts that live and move with it.
unsafe impl Send for fh_info {}
// SAFETY: nothing changes after it was made.
unsafe impl Sync for fh_info {}

struct Entry {
    name: CString,
    waiting: usize,
    holders: Vec<fh_holder>,
    waiters: Vec<fh_waiter>,
    /// What the pointers of `holders` and `waiters` point to.
    _texts: Vec<CString>,
}

fn time(time: Option<SystemTime>) -> i64 {
    time.map_or(0, unix_millis)
}

impl Entry {
    fn new(name: &str, holders: &[Holder], waiters: &[Waiter], waiting: usize) -> Self {
        let mut texts = Vec::new();
        let mut keep = |text: Option<&str>| {
            let text = text.map(out);
            // A CString's bytes stay where they are when it moves.
            let pointer = borrowed(text.as_ref());
            texts.extend(text);
            pointer
        };
        let holders = holders
            .iter()
            .map(|holder| fh_holder {
                struct_size: size_of::<fh_holder>(),
                slot: holder.slot,
                token: holder.token,
                owner: keep(holder.owner.as_deref()),
                label: keep(holder.label.as_deref()),
                since_ms: time(holder.since),
                renewed_at_ms: time(holder.renewed_at),
                expires_at_ms: time(holder.expires_at),
            })
            .collect();
        let waiters = waiters
            .iter()
            .map(|waiter| fh_waiter {
                struct_size: size_of::<fh_waiter>(),
                position: waiter.position,
                owner: keep(Some(&waiter.owner)),
                label: keep(waiter.label.as_deref()),
                since_ms: time(waiter.since),
            })
            .collect();
        Self { name: out(name), waiting, holders, waiters, _texts: texts }
    }

    fn of(lock: &LockInfo) -> Self {
        Self::new(&lock.name, &lock.holders, &lock.waiters, lock.waiters.len())
    }
}

impl fh_info {
    pub(crate) fn one(lock: &LockInfo) -> Self {
        Self { locks: vec![Entry::of(lock)], json: out(&lock.to_json()) }
    }

    pub(crate) fn list(store: &str, locks: &[LockInfo]) -> Self {
        Self { locks: locks.iter().map(Entry::of).collect(), json: out(&LockInfo::list_to_json(store, locks)) }
    }

    /// The answer to give out.
    pub(crate) fn put(self, place: *mut *mut fh_info) -> Result<fh_status> {
        // SAFETY: checked for NULL by whoever calls; the header asks for a writable place.
        unsafe { place.write(Box::into_raw(Box::new(self))) };
        Ok(OK)
    }

    /// The reason of a refusal, and its holders into `place` unless that is NULL.
    ///
    /// # Safety
    /// `place` is NULL or writable.
    pub(crate) unsafe fn put_refusal(
        refusal: Option<&Refusal>,
        lock: Option<&str>,
        place: *mut *mut fh_info,
    ) -> *const c_char {
        let info = refusal.map(|refusal| {
            let waiting = usize::try_from(refusal.waiting).unwrap_or(usize::MAX);
            let entry = Entry::new(lock.unwrap_or_default(), &refusal.holders, &[], waiting);
            Box::new(fh_info { locks: vec![entry], json: out(&refusal.to_json()) })
        });
        if !place.is_null() {
            // SAFETY: as the caller vouches.
            unsafe { place.write(info.map_or(ptr::null_mut(), Box::into_raw)) };
        }
        refusal.map_or(ptr::null(), |refusal| reason_text(refusal.reason.id()))
    }

    /// # Safety
    /// `info` is NULL or live.
    unsafe fn lock<'a>(info: *const fh_info, lock: usize) -> Option<&'a Entry> {
        // SAFETY: as the caller vouches.
        unsafe { info.as_ref() }?.locks.get(lock)
    }
}

/// The reason as a text that is never freed.
fn reason_text(id: &str) -> *const c_char {
    let known = [c"held", c"contended", c"timed_out", c"held_here", c"owner_in_use"];
    known.iter().find(|text| text.to_bytes() == id.as_bytes()).unwrap_or(&c"held").as_ptr()
}

/// How many locks the answer is about. 0 for NULL.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_count(info: *const fh_info) -> usize {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { info.as_ref() }.map_or(0, |info| info.locks.len())
}

/// The name of a lock of the answer; NULL where there is none.
///
/// @param lock  0 to fh_info_count() - 1.
/// @return Borrowed until the answer is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_name(info: *const fh_info, lock: usize) -> *const c_char {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { fh_info::lock(info, lock) }.map_or(ptr::null(), |lock| lock.name.as_ptr())
}

/// How many wait in line for a lock of the answer.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_waiting(info: *const fh_info, lock: usize) -> usize {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { fh_info::lock(info, lock) }.map_or(0, |lock| lock.waiting)
}

/// How many hold a permit of a lock of the answer.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_holder_count(info: *const fh_info, lock: usize) -> usize {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { fh_info::lock(info, lock) }.map_or(0, |lock| lock.holders.len())
}

/// A holder of a lock of the answer, by rising slot.
///
/// @param index   0 to fh_info_holder_count() - 1.
/// @param holder  Not NULL, begun with FH_HOLDER_INIT. Its texts are borrowed until the answer is freed.
/// @return FH_OK. FH_ERR_INVALID: there is no such holder, or holder was not begun.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_holder(
    info: *const fh_info,
    lock: usize,
    index: usize,
    holder: *mut fh_holder,
) -> fh_status {
    value(INTERNAL, || {
        // SAFETY: the header asks for NULL or a live answer.
        let found = unsafe { fh_info::lock(info, lock) }.and_then(|lock| lock.holders.get(index));
        // SAFETY: the header asks for NULL or a struct that says its size.
        unsafe { fill(found, holder) }
    })
}

/// One who waits for a lock of the answer, first come first. A refusal tells their number only.
///
/// @param index   0 to fh_info_waiting() - 1.
/// @param waiter  Not NULL, begun with FH_WAITER_INIT. Its texts are borrowed until the answer is freed.
/// @return FH_OK. FH_ERR_INVALID: there is no such waiter, or waiter was not begun.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_waiter(
    info: *const fh_info,
    lock: usize,
    index: usize,
    waiter: *mut fh_waiter,
) -> fh_status {
    value(INTERNAL, || {
        // SAFETY: the header asks for NULL or a live answer.
        let found = unsafe { fh_info::lock(info, lock) }.and_then(|lock| lock.waiters.get(index));
        // SAFETY: the header asks for NULL or a struct that says its size.
        unsafe { fill(found, waiter) }
    })
}

/// Copies as much of `found` as the caller's struct has room for, its size left as it was.
///
/// # Safety
/// `T` begins with its `struct_size`; `place` is NULL or has as many writable bytes as its own says.
pub(crate) unsafe fn fill<T: Copy>(found: Option<&T>, place: *mut T) -> fh_status {
    let Some(found) = found else { return INVALID };
    if place.is_null() {
        return INVALID;
    }
    let head = size_of::<usize>();
    // SAFETY: as the caller vouches; the size is the first field.
    let size = unsafe { place.cast::<usize>().read() };
    if size < head {
        return INVALID;
    }
    let bytes = size.min(size_of::<T>()) - head;
    // SAFETY: both have `head + bytes` bytes, and they are different objects.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(found).cast::<u8>().add(head), place.cast::<u8>().add(head), bytes);
    }
    OK
}

/// The answer as JSON: camelCase, times as RFC 3339 UTC, tokens as strings. Never NULL.
///
/// Of fh_client_list() an object with "store", "at" and "locks"; of fh_client_holders() one lock; of a refusal an object with
/// "reason", "waiting" and "holders". Members may be added.
///
/// @return Borrowed until the answer is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_json(info: *const fh_info) -> *const c_char {
    // SAFETY: the header asks for NULL or a live answer.
    unsafe { info.as_ref() }.map_or(c"null".as_ptr(), |info| info.json.as_ptr())
}

/// Frees an answer; NULL does nothing.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_info_free(info: *mut fh_info) {
    if !info.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        drop(unsafe { Box::from_raw(info) });
    }
}
