//! A client's connection in one process. A forked child gets a connection of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::lock::LockInner;
use super::options::Resolved;
use crate::backend::Backend;
use crate::process::Generation;
use crate::url::StoreUrl;
use crate::workers::Workers;
use crate::{Cancel, Result, store};

pub(crate) struct Session {
    generation: Generation,
    backend: Arc<dyn Backend>,
    closed: AtomicBool,
    /// Ends the waits of this session when the client is closed.
    closing: Cancel,
    /// Renew where a server has to be waited for.
    workers: Arc<Workers>,
    /// Guards the handles that hold, by their address. Taken after a handle's own lock.
    held: Mutex<HashMap<usize, Weak<LockInner>>>,
}

impl Session {
    fn new(url: &StoreUrl, options: &Resolved) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            generation: Generation::current(),
            backend: store::open(url, options)?,
            closed: AtomicBool::new(false),
            closing: Cancel::new(),
            workers: Arc::default(),
            held: Mutex::new(HashMap::new()),
        }))
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub(crate) fn closing(&self) -> &Cancel {
        &self.closing
    }

    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.closing.trigger();
    }

    pub(crate) fn remember(&self, lock: &Arc<LockInner>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(Arc::as_ptr(lock) as usize, Arc::downgrade(lock));
    }

    pub(crate) fn forget(&self, lock: &LockInner) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&(std::ptr::from_ref(lock) as usize));
    }

    /// The handles that hold, or held when last looked at.
    pub(crate) fn held(&self) -> Vec<Arc<LockInner>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.values().filter_map(Weak::upgrade).collect()
    }
}

/// The session of this process. Read without a lock: a fork may come at any moment.
pub(crate) struct Sessions(AtomicPtr<Arc<Session>>);

impl Sessions {
    pub(crate) fn new(url: &StoreUrl, options: &Resolved) -> Result<Self> {
        let first = Box::new(Session::new(url, options)?);
        Ok(Self(AtomicPtr::new(Box::into_raw(first))))
    }

    pub(crate) fn current(&self, url: &StoreUrl, options: &Resolved) -> Result<Arc<Session>> {
        let known = self.0.load(Ordering::Acquire);
        // SAFETY: never null, and freed only by our own drop.
        let session = unsafe { &*known };
        if session.generation.is_current() {
            return Ok(session.clone());
        }
        // A child: the parent's session stays behind untouched, whatever state its locks are in.
        let fresh = Box::into_raw(Box::new(Session::new(url, options)?));
        match self.0.compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just made.
            Ok(_) => Ok(unsafe { &*fresh }.clone()),
            Err(winner) => {
                // SAFETY: nobody else has seen `fresh`; `winner` is as good as `known` was.
                unsafe {
                    drop(Box::from_raw(fresh));
                    Ok((*winner).clone())
                }
            }
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let known = *self.0.get_mut();
        // SAFETY: never null; nobody else can use it any more.
        unsafe {
            if (&*known).generation.is_current() {
                drop(Box::from_raw(known));
            }
        }
    }
}
