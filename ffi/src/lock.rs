//! Locks: one handle, one owner, at most one permit.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use fencehold::{Acquire, Crash, Error, Lock, LockOptions, LostReason, Renewal, Result};

use crate::boundary::{
    HELD, INVALID, LOST, NOT_HELD, OK, Poison, TIMED_OUT, UserData, guard, null, object, place, value,
};
use crate::cancel::fh_cancel;
use crate::client::{fh_client, lock_name, options};
use crate::error::fh_error;
use crate::fh_status;
use crate::info::fh_info;
use crate::text::{DEFAULT_WAIT, fh_str, millis, out, wait_from};

/// A handle of a lock or a semaphore: one owner, at most one permit.
pub struct fh_lock {
    // First, so that the pointer that C holds leads to it without an offset.
    pub(crate) lock: Lock,
    name: CString,
    owner: CString,
    wait_ms: u64,
    poison: Poison,
}

/// How a handle behaves; all of it optional.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fh_lock_options {
    /// Set by FH_LOCK_OPTIONS_INIT; fields are only appended.
    pub struct_size: usize,
    /// How long an acquire with FH_DEFAULT_WAIT waits; 0: one try; FH_FOREVER; FH_DEFAULT_WAIT: not given, one try.
    pub wait_ms: u64,
    /// Who the handle is to the store, unique per holder; minted if not given.
    pub owner: fh_str,
    /// What the holder calls itself, for people; the client's label if not given.
    pub label: fh_str,
    /// FH_FAIR, FH_REENTRANT, FH_BACKGROUND, FH_CRASH_EXPIRE, FH_RESUME.
    pub flags: u32,
}

const FAIR: u32 = 1;
const REENTRANT: u32 = 2;
const BACKGROUND: u32 = 4;
const CRASH_EXPIRE: u32 = 8;
const RESUME: u32 = 16;

impl fh_lock_options {
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        wait_ms: DEFAULT_WAIT,
        owner: fh_str::NONE,
        label: fh_str::NONE,
        flags: 0,
    };

    /// # Safety
    /// The texts are NULL or as long as they say.
    unsafe fn to_core(self, ttl_ms: u64) -> Result<LockOptions> {
        let unknown = self.flags & !(FAIR | REENTRANT | BACKGROUND | CRASH_EXPIRE | RESUME);
        if unknown != 0 {
            return Err(Error::bad_argument(
                "bad_options",
                format!("this library does not know the flags {unknown:#x}"),
            ));
        }
        let is = |flag| self.flags & flag != 0;
        let renewal = if is(BACKGROUND) { Renewal::Background } else { Renewal::Checkpoint };
        let crash = if is(CRASH_EXPIRE) { Crash::Expire } else { Crash::Takeover };
        let mut options = LockOptions::ttl(Duration::from_millis(ttl_ms))
            .wait(wait_from(self.wait_ms))
            .set_fair(is(FAIR))
            .reentrant(is(REENTRANT))
            .resume(is(RESUME))
            .renewal(renewal)
            .crash(crash);
        // SAFETY: as the caller vouches.
        if let Some(owner) = unsafe { self.owner.given("locks_bad_owner", "an owner") }? {
            options = options.owner(owner);
        }
        // SAFETY: as the caller vouches.
        if let Some(label) = unsafe { self.label.given("locks_bad_label", "a label") }? {
            options = options.label(label);
        }
        Ok(options)
    }
}

/// # Safety
/// As the header asks of fh_lock_new and fh_semaphore_new.
#[allow(clippy::too_many_arguments)]
unsafe fn make(
    client: *const fh_client,
    name: *const c_char,
    name_len: usize,
    permits: Option<u32>,
    ttl_ms: u64,
    given: *const fh_lock_options,
    lock: *mut *mut fh_lock,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: the header asks for NULL or a live client.
    let poison = unsafe { client.as_ref() }.map(|client| &client.shared.poison);
    let body = || {
        // SAFETY: as above.
        let shared = &unsafe { object(client, "client") }?.shared;
        let place = place(lock, "lock")?;
        // SAFETY: the header asks for a pointer and its length.
        let name = unsafe { lock_name(name, name_len) }?;
        // SAFETY: the header asks for NULL or options that say their size.
        let given = unsafe { options(given, fh_lock_options::DEFAULT) }?;
        // SAFETY: the header asks for texts as long as they say.
        let options = unsafe { given.to_core(ttl_ms) }?;
        let lock = match permits {
            None => shared.client.lock(name.as_str(), options)?,
            Some(permits) => shared.client.semaphore(name.as_str(), permits, options)?,
        };
        let handle = fh_lock {
            name: out(lock.name()),
            owner: out(lock.owner()),
            lock,
            wait_ms: given.wait_ms,
            poison: Poison::default(),
        };
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { place.write(Arc::into_raw(Arc::new(handle)).cast_mut()) };
        Ok(OK)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, poison, body) }
}

/// The handle with a claim on its life: a loss handler that runs inside a call may free it.
///
/// # Safety
/// `lock` is NULL or live.
pub(crate) unsafe fn claim(lock: *const fh_lock) -> Option<Arc<fh_lock>> {
    if lock.is_null() {
        return None;
    }
    // SAFETY: every handle lives in an `Arc` of its own, whose count C's pointer stands for.
    unsafe {
        Arc::increment_strong_count(lock);
        Some(Arc::from_raw(lock))
    }
}

/// A call through a handle.
///
/// # Safety
/// `lock` is NULL or live, `error` is NULL or writable.
unsafe fn with(
    lock: *const fh_lock,
    error: *mut *mut fh_error,
    body: impl FnOnce(&fh_lock) -> Result<fh_status>,
) -> fh_status {
    // SAFETY: as the caller vouches.
    let lock = unsafe { claim(lock) };
    let poison = lock.as_deref().map(|lock| &lock.poison);
    // SAFETY: as the caller vouches.
    let status = unsafe { guard(error, poison, || body(lock.as_deref().ok_or_else(|| null("lock"))?)) };
    value((), || drop(lock));
    status
}

/// A value of a handle; `none` for NULL and after a fault.
///
/// # Safety
/// `lock` is NULL or live.
unsafe fn read<T: Copy>(lock: *const fh_lock, none: T, body: impl FnOnce(&fh_lock) -> T) -> T {
    // SAFETY: as the caller vouches.
    value(none, || unsafe { claim(lock) }.map_or(none, |lock| body(&lock)))
}

fn answer(acquire: Acquire) -> fh_status {
    match acquire {
        Acquire::Granted => OK,
        Acquire::Refused(refusal) if refusal.reason.id() == "timed_out" => TIMED_OUT,
        Acquire::Refused(_) => HELD,
    }
}

impl fh_lock {
    /// The answer for "no": whether it was lost or there was nothing.
    fn no(&self) -> fh_status {
        if self.lock.lost_reason().is_some() { LOST } else { NOT_HELD }
    }
}

/// Makes a handle of a lock. Nothing is sent.
///
/// Without FH_BACKGROUND the lease is renewed by fh_lock_keep_alive(), which the work calls often enough.
///
/// @param name     1 to 256 bytes of UTF-8 without control characters or '#'. Copied.
/// @param ttl_ms   How long the lease outlives its last renewal: 100 ms to 24 h. fh_lock_ttl_ms() tells what the store grants.
/// @param options  NULL, or begun with FH_LOCK_OPTIONS_INIT; copied.
/// @param lock     Not NULL. Gets the handle; free it with fh_lock_free().
/// @return FH_OK. FH_ERR_INVALID: locks_bad_name, locks_bad_ttl, locks_bad_owner, locks_bad_label, client_closed.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_new(
    client: *const fh_client,
    name: *const c_char,
    name_len: usize,
    ttl_ms: u64,
    options: *const fh_lock_options,
    lock: *mut *mut fh_lock,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { make(client, name, name_len, None, ttl_ms, options, lock, error) }
}

/// Makes a handle of a semaphore: of one of `permits` permits of the name. Nothing is sent.
///
/// @param permits  How many may hold at once, from 1; everybody must say the same number.
/// @return As fh_lock_new().
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_semaphore_new(
    client: *const fh_client,
    name: *const c_char,
    name_len: usize,
    permits: u32,
    ttl_ms: u64,
    options: *const fh_lock_options,
    lock: *mut *mut fh_lock,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { make(client, name, name_len, Some(permits), ttl_ms, options, lock, error) }
}

/// A share of its own, so that the object may be freed while the wait lasts.
///
/// # Safety
/// `cancel` is NULL or live.
unsafe fn cancel_of(cancel: *const fh_cancel) -> Option<fencehold::Cancel> {
    // SAFETY: as the caller vouches.
    unsafe { cancel.as_ref() }.map(|cancel| cancel.cancel.clone())
}

/// Takes the permit that the handle stands for. Blocks for at most the wait.
///
/// A handle that already holds it answers FH_HELD (fh_lock_refusal(): "held_here"), unless it is reentrant.
///
/// @param wait_ms  Milliseconds to wait for our turn; 0: one try; FH_FOREVER; FH_DEFAULT_WAIT: the handle's own.
/// @param cancel   NULL, or ends the wait when triggered: nothing is held and no place kept.
/// @return FH_OK: held. FH_HELD: somebody else holds it (see fh_lock_refusal). FH_TIMED_OUT: the wait was over.
///         FH_ERR_CANCELLED. FH_ERR_UNREACHABLE: nothing was done, safe to retry. FH_ERR_IN_DOUBT: it may be held until
///         fh_error_until_ms(); acquire again through this handle. FH_ERR_INVALID: client_closed. FH_ERR_FORKED.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_acquire(
    lock: *const fh_lock,
    wait_ms: u64,
    cancel: *const fh_cancel,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |lock: &fh_lock| {
        // SAFETY: the header asks for NULL or a live object.
        let answered = match unsafe { cancel_of(cancel) } {
            None => lock.lock.acquire_within(wait_from(wait_ms)),
            Some(cancel) => lock.lock.acquire_cancellable(wait_from(wait_ms), &cancel),
        };
        answered.map(answer)
    };
    // SAFETY: as the header asks.
    unsafe { with(lock, error, body) }
}

/// Takes the permit, for scope forms: what is an answer of fh_lock_acquire() comes with an error here.
///
/// @param wait_ms  As fh_lock_acquire().
/// @param cancel   As fh_lock_acquire().
/// @param epoch    NULL, or gets the number of the hold, for fh_lock_leave(), on FH_OK.
/// @param error    NULL, or set on anything but FH_OK; fh_error_refusal() tells who holds it.
/// @return As fh_lock_acquire().
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_take(
    lock: *const fh_lock,
    wait_ms: u64,
    cancel: *const fh_cancel,
    epoch: *mut u64,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |lock: &fh_lock| {
        // SAFETY: the header asks for NULL or a live object.
        let taken = lock.lock.acquire_or_raise(wait_from(wait_ms), unsafe { cancel_of(cancel) }.as_ref())?;
        if !epoch.is_null() {
            // SAFETY: not NULL; the header asks for a writable place.
            unsafe { epoch.write(taken) };
        }
        Ok(OK)
    };
    // SAFETY: as the header asks.
    unsafe { with(lock, error, body) }
}

/// Lets the others go first: gives the permit back, if held, and acquires it again behind those who wait.
///
/// @return As fh_lock_acquire(). On anything but FH_OK the permit is not held any more.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_step_aside(
    lock: *const fh_lock,
    wait_ms: u64,
    cancel: *const fh_cancel,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |lock: &fh_lock| {
        // SAFETY: the header asks for NULL or a live object.
        lock.lock.step_aside_cancellable(wait_from(wait_ms), unsafe { cancel_of(cancel) }.as_ref()).map(answer)
    };
    // SAFETY: as the header asks.
    unsafe { with(lock, error, body) }
}

/// Says whether the lease is still ours, and renews it when a third of its lifetime has passed.
///
/// Call it often: not due, it costs nanoseconds and does no I/O. Due, it renews once, which takes at most a fifth of the
/// lifetime. With FH_BACKGROUND it never does I/O.
///
/// @return FH_OK: go on. FH_LOST: stop now; fh_lock_lost_reason() and fh_lock_last_error() tell why. FH_NOT_HELD: it holds
///         nothing. Anything else, too, is no yes.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_keep_alive(lock: *const fh_lock) -> fh_status {
    // SAFETY: the header asks for NULL or a live handle.
    let Some(handle) = (unsafe { lock.as_ref() }) else { return INVALID };
    if handle.lock.is_quiet() && !handle.poison.is_set() {
        return OK;
    }
    // SAFETY: as above.
    unsafe { keep_alive_when_due(lock) }
}

/// The rare case, out of the way of the other.
///
/// # Safety
/// As the header asks of fh_lock_keep_alive.
#[cold]
#[inline(never)]
unsafe fn keep_alive_when_due(lock: *const fh_lock) -> fh_status {
    // SAFETY: as the caller vouches; no place is given.
    unsafe { with(lock, ptr::null_mut(), |lock| Ok(if lock.lock.keep_alive() { OK } else { lock.no() })) }
}

/// Gives the permit back, within 2 s. Renewal has stopped and the handle is not held in any case.
///
/// @return FH_OK: given back. FH_NOT_HELD: there was nothing. FH_LOST: the lease had been lost before.
///         FH_ERR_UNREACHABLE, FH_ERR_IN_DOUBT: it may stay held until fh_error_until_ms() and then ends by itself; the call
///         may be repeated.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_release(lock: *const fh_lock, error: *mut *mut fh_error) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(lock, error, |lock| Ok(if lock.lock.release()? { OK } else { lock.no() })) }
}

/// The number of the handle's current or last hold; 0: none yet. It rises with each hold.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_epoch(lock: *const fh_lock) -> u64 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.epoch()) }
}

/// Gives the permit back if the handle's current hold is still the one with this number.
///
/// @param epoch  What fh_lock_epoch() answered right after the acquire.
/// @return As fh_lock_release(); FH_NOT_HELD also when a later hold has begun.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_release_epoch(
    lock: *const fh_lock,
    epoch: u64,
    error: *mut *mut fh_error,
) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(lock, error, |lock| Ok(if lock.lock.release_epoch(epoch)? { OK } else { lock.no() })) }
}

/// The end of a scope form: gives back the hold with this number, and says whether it lasted until here.
///
/// @param epoch  What fh_lock_take() gave or fh_lock_epoch() answered right after the acquire.
/// @param error  NULL, or set on anything but FH_OK.
/// @return FH_OK: it was held all the time, or somebody released it on purpose. FH_LOST: the lease ended before the work did;
///         fh_error_late_by_ms(). FH_ERR_UNREACHABLE, FH_ERR_IN_DOUBT: of the release; the work is done.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_leave(lock: *const fh_lock, epoch: u64, error: *mut *mut fh_error) -> fh_status {
    // SAFETY: as the header asks.
    unsafe { with(lock, error, |lock| lock.lock.leave(epoch).map(|()| OK)) }
}

/// Frees a handle; NULL does nothing. A hold is given back first, within 2 s; a failure goes to the log only.
///
/// Allowed inside a loss handler of the same handle. Loss handlers that run meanwhile on another thread finish; none starts
/// afterwards.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_free(lock: *mut fh_lock) {
    if !lock.is_null() {
        // SAFETY: it was made by `Arc::into_raw` and, as the header asks, is not used any more.
        value((), || drop(unsafe { Arc::from_raw(lock) }));
    }
}

/// Adds a loss handler: called once for each hold that is lost, also if the loss was before this call.
///
/// It runs after the state changed, while nothing is locked: with FH_BACKGROUND on the library's thread `fencehold`, else
/// inside the call that found out. All functions may be called inside. It stays for the next holds.
///
/// @param fn              Not NULL. Its reason is an FH_LOST_ value.
/// @param user_data_free  NULL, or called once: when the handle is freed and the handler does not run any more, or at once if
///                        this call fails.
/// @return FH_OK. FH_ERR_INVALID: a pointer was NULL.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_on_lost(
    lock: *const fh_lock,
    r#fn: Option<unsafe extern "C" fn(lock: *const fh_lock, reason: i32, user_data: *mut c_void)>,
    user_data: *mut c_void,
    user_data_free: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
    error: *mut *mut fh_error,
) -> fh_status {
    let data = UserData::new(user_data, user_data_free);
    let body = |handle: &fh_lock| {
        let call = r#fn.ok_or_else(|| Error::bad_argument("null", "fn must not be NULL"))?;
        // SAFETY: the handle lives as long as this call.
        let weak = unsafe { claim(handle) }.map_or_else(Weak::new, |handle| Arc::downgrade(&handle));
        handle.lock.on_lost(move |reason| {
            let data = &data;
            // A handle that was freed meanwhile has no handlers any more.
            if let Some(alive) = weak.upgrade() {
                // SAFETY: the function and the data were registered together; the handle lives until it returns.
                unsafe { call(Arc::as_ptr(&alive), reason.number(), data.pointer) };
            }
        });
        Ok(OK)
    };
    // SAFETY: as the header asks.
    unsafe { with(lock, error, body) }
}

/// Ends the handle's hold as a loss, to rehearse it. On memory: stores only.
///
/// @param reason  An FH_LOST_ value.
/// @return FH_OK. FH_ERR_UNSUPPORTED: not a memory: store. FH_ERR_INVALID: no such reason. FH_ERR_NOT_HELD.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_lose(lock: *const fh_lock, reason: i32, error: *mut *mut fh_error) -> fh_status {
    let body = |lock: &fh_lock| {
        let reason = LostReason::from_number(reason).ok_or_else(|| {
            Error::bad_argument("locks_bad_reason", format!("{reason} is no reason of a loss: pass an FH_LOST_ value"))
        })?;
        lock.lock.lose(reason).map(|()| OK)
    };
    // SAFETY: as the header asks.
    unsafe { with(lock, error, body) }
}

/// 1 while the permit is held and its deadline lies ahead, else 0. No I/O.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_held(lock: *const fh_lock) -> i32 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.held().into()) }
}

/// 1 from the first renewal that could not be asked until one succeeds or the lease is lost, else 0.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_at_risk(lock: *const fh_lock) -> i32 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.at_risk().into()) }
}

/// Why the last hold was lost: an FH_LOST_ value; 0: it was not.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_lost_reason(lock: *const fh_lock) -> i32 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.lost_reason().map_or(0, LostReason::number)) }
}

/// The token of the last answer: it rises with each renewal. What guards send. 0 while there is none: never send that.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_token(lock: *const fh_lock) -> u64 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.token().map_or(0, |token| token.get())) }
}

/// The first token of this hold: the same for the whole hold, above every token of earlier holders. What rows, headers and
/// children get. Readable while held or lost; else 0: never send that.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_fence(lock: *const fh_lock) -> u64 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.fence().map_or(0, |fence| fence.get())) }
}

/// Which permit is held; 0 for a lock, and while there is none.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_slot(lock: *const fh_lock) -> u32 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.slot().unwrap_or(0)) }
}

/// The place in line of an acquire that waits, 1 is next; 0: not in line.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_position(lock: *const fh_lock) -> u32 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| lock.lock.position()) }
}

/// The lifetime that the store grants: what was asked, rounded up to the store's step.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_ttl_ms(lock: *const fh_lock) -> u64 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| millis(lock.lock.ttl())) }
}

/// How long the lease lasts unless it is renewed; 0 when not held.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_remaining_ms(lock: *const fh_lock) -> u64 {
    // SAFETY: as the header asks.
    unsafe { read(lock, 0, |lock| millis(lock.lock.remaining())) }
}

/// The handle's own wait as it was given in its options; FH_DEFAULT_WAIT: it was not.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_wait_ms(lock: *const fh_lock) -> u64 {
    // SAFETY: as the header asks.
    unsafe { read(lock, DEFAULT_WAIT, |lock| lock.wait_ms) }
}

/// The lock's name. Never NULL.
///
/// @return Borrowed until the handle is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_name(lock: *const fh_lock) -> *const c_char {
    // SAFETY: the header asks for NULL or a live handle.
    unsafe { lock.as_ref() }.map_or(c"".as_ptr(), |lock| lock.name.as_ptr())
}

/// Who the handle is to the store. Never NULL.
///
/// @return Borrowed until the handle is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_owner(lock: *const fh_lock) -> *const c_char {
    // SAFETY: the header asks for NULL or a live handle.
    unsafe { lock.as_ref() }.map_or(c"".as_ptr(), |lock| lock.owner.as_ptr())
}

/// Why the last acquire was refused, and who holds the lock.
///
/// @param holders  NULL, or gets an answer of one lock, to be freed with fh_info_free(); NULL if the answer is NULL.
/// @return "held", "contended", "timed_out", "held_here" or "owner_in_use", a text that is never freed. NULL: it was not.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_refusal(lock: *const fh_lock, holders: *mut *mut fh_info) -> *const c_char {
    if !holders.is_null() {
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { holders.write(ptr::null_mut()) };
    }
    let body = |lock: &fh_lock| {
        // SAFETY: the header asks for NULL or a writable place.
        unsafe { fh_info::put_refusal(lock.lock.refusal().as_ref(), Some(lock.lock.name()), holders) }
    };
    // SAFETY: as the header asks.
    unsafe { read(lock, ptr::null(), body) }
}

/// Why the handle is at risk, was lost, or could not be given back; NULL: nothing happened.
///
/// @return Belongs to the caller: free it with fh_error_free().
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_lock_last_error(lock: *const fh_lock) -> *mut fh_error {
    let body = |lock: &fh_lock| {
        let error = lock.lock.last_error();
        error.map_or(ptr::null_mut(), |error| Box::into_raw(Box::new(error.into())))
    };
    // SAFETY: as the header asks.
    unsafe { read(lock, ptr::null_mut(), body) }
}
