//! How threads reach the event loop: one thread-safe function per JavaScript thread.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use fencehold::{Commit, Error, Holder, LockInfo, LostReason, Refusal, Result, ValueRow, Written};
use napi_sys as sys;

use crate::js::{Answer, Env, Fail, Value};

/// What a thread has to tell the event loop.
pub(crate) enum Message {
    /// The call with this number is done.
    Settled(u64, Result<Outcome>),
    /// The lock with this number lost its hold.
    Lost(u64, LostReason),
}

/// What a call that took a thread answers.
pub(crate) enum Outcome {
    Done,
    Bool(bool),
    /// Held; the number of the hold.
    Granted(u64),
    Refused(Refusal),
    Holders(Vec<Holder>),
    Lock(LockInfo),
    Locks(Vec<LockInfo>),
    /// What a step did, and how `orThrow` puts a refusal.
    Step(Commit, Option<Error>),
    Row(Option<ValueRow>),
    Rows(Vec<ValueRow>),
    /// Rows, and the key to go on after.
    Page(Vec<ValueRow>, Option<String>),
    Written(Written),
}

struct Door(sys::napi_threadsafe_function);

// SAFETY: a thread-safe function may be called from every thread; `Mailbox` sees to it that it is not after its end.
unsafe impl Send for Door {}

/// Where threads put messages. Closed when the JavaScript thread ends, before Node frees what is behind it.
pub(crate) struct Mailbox {
    /// Guards the call into the thread-safe function, so that it cannot end meanwhile. Innermost lock.
    door: Mutex<Option<Door>>,
}

impl Mailbox {
    /// A mailbox whose messages `deliver` gets on the thread of `env`. It does not keep the process alive.
    pub(crate) fn new(env: Env, dispatch: Value, deliver: sys::napi_threadsafe_function_call_js) -> Answer<Self> {
        let name = env.text("fencehold")?;
        let mut raw = ptr::null_mut();
        // SAFETY: the values belong to the running callback; no finalizer and no context are asked for.
        let status = unsafe {
            sys::napi_create_threadsafe_function(
                env.raw(),
                dispatch.0,
                ptr::null_mut(),
                name.0,
                0,
                1,
                ptr::null_mut(),
                None,
                ptr::null_mut(),
                deliver,
                &mut raw,
            )
        };
        if status != sys::Status::napi_ok {
            return Err(Fail::Node);
        }
        // SAFETY: made above, on this thread.
        unsafe { sys::napi_unref_threadsafe_function(env.raw(), raw) };
        Ok(Self { door: Mutex::new(Some(Door(raw))) })
    }

    fn door(&self) -> std::sync::MutexGuard<'_, Option<Door>> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands `message` to the event loop; drops it when that has ended.
    pub(crate) fn post(&self, message: Message) {
        let place = self.door();
        let Some(door) = &*place else { return };
        let data = Box::into_raw(Box::new(message)).cast::<c_void>();
        // SAFETY: the function lives while the mailbox is open, and we hold the lock that closing takes.
        let status =
            unsafe { sys::napi_call_threadsafe_function(door.0, data, sys::ThreadsafeFunctionCallMode::nonblocking) };
        if status != sys::Status::napi_ok {
            // SAFETY: it was not taken, so the box is still ours alone.
            drop(unsafe { Box::from_raw(data.cast::<Message>()) });
        }
    }

    /// Makes pending calls keep the process alive, or no longer.
    pub(crate) fn keep_process(&self, env: Env, keep: bool) {
        if let Some(door) = &*self.door() {
            // SAFETY: as in `post`; this is the thread of `env`.
            unsafe {
                if keep {
                    sys::napi_ref_threadsafe_function(env.raw(), door.0)
                } else {
                    sys::napi_unref_threadsafe_function(env.raw(), door.0)
                }
            };
        }
    }

    /// No message passes from here on.
    pub(crate) fn close(&self) {
        self.door().take();
    }
}
