//! Handles: what the plain and the asyncio `Lock` share, and the plain one.

use std::collections::HashMap;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use fencehold::{Error, Kind, LostReason, Wait};
use pyo3::exceptions::{PyResourceWarning, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::calls::{self, Cancel, Waited};
use crate::convert::{self, Given};
use crate::errors::{self, OrRaise};
use crate::hooks::{self, Handlers};

/// A made handle on its way into an object of one of the two classes.
#[pyclass(frozen, module = "fencehold._native", name = "_Handle")]
pub(crate) struct Handle(Mutex<Option<LockBase>>);

/// What the two classes `Lock` share.
#[pyclass(frozen, subclass, weakref, module = "fencehold._native")]
pub(crate) struct LockBase {
    pub(crate) inner: ManuallyDrop<Arc<fencehold::Lock>>,
    pub(crate) client: fencehold::Client,
    /// As of the client.
    pub(crate) answered: Arc<AtomicBool>,
    pub(crate) own_wait: Wait,
    handlers: Arc<Handlers>,
    /// The hold that `client.acquire` took and that a `with` around it enters; 0: none.
    taken: AtomicU64,
    /// Holds entered by `with`, innermost last, by thread. Locked for moments, attached.
    scopes: Mutex<HashMap<ThreadId, Vec<u64>>>,
}

impl LockBase {
    pub(crate) fn new(
        py: Python<'_>,
        lock: fencehold::Lock,
        client: fencehold::Client,
        answered: Arc<AtomicBool>,
        own_wait: Wait,
    ) -> Self {
        let inner = Arc::new(lock);
        hooks::remember(py, hooks::Live { lock: Arc::downgrade(&inner), client: client.clone() });
        Self {
            inner: ManuallyDrop::new(inner),
            client,
            answered,
            own_wait,
            handlers: Arc::default(),
            taken: AtomicU64::new(0),
            scopes: Mutex::default(),
        }
    }

    /// The handle itself, for a thread that works on it.
    pub(crate) fn shared(&self) -> Arc<fencehold::Lock> {
        Arc::clone(&self.inner)
    }

    /// The handle, packed for the constructor of a class derived in Python.
    pub(crate) fn packed(self) -> Handle {
        Handle(Mutex::new(Some(self)))
    }

    /// Remembers that a `with` around this handle enters the hold `epoch`.
    pub(crate) fn mark_taken(&self, epoch: u64) {
        self.taken.store(epoch, Ordering::SeqCst);
    }

    /// The hold that `client.acquire` took, once, if it is still there.
    pub(crate) fn take_over(&self) -> Option<u64> {
        let epoch = self.taken.swap(0, Ordering::SeqCst);
        (epoch != 0 && self.inner.epoch() == epoch && self.inner.held()).then_some(epoch)
    }

    /// One acquire, or an error that says who holds it. Nothing is held when a signal handler raised.
    pub(crate) fn acquire_or_raise(&self, py: Python<'_>, wait: Wait, cancel: Option<&Cancel>) -> PyResult<u64> {
        let waited = calls::wait(py, cancel, |cancel| self.inner.acquire_or_raise(wait, Some(cancel)));
        self.settle(py, waited, |_| true)?.or_raise(py)
    }

    /// Lets what a signal handler raised come first, giving back what was taken at the same moment.
    fn settle<T>(
        &self,
        py: Python<'_>,
        waited: Waited<T>,
        took: impl Fn(&T) -> bool,
    ) -> PyResult<fencehold::Result<T>> {
        let Some(raised) = waited.raised else { return Ok(waited.answer) };
        if waited.answer.as_ref().is_ok_and(took) {
            py.detach(|| {
                // A failure is in `last_error`, and the lease ends by itself.
                let _ = self.inner.release();
            });
        }
        Err(raised)
    }

    /// An acquire that answers true or false.
    fn answer(
        &self,
        py: Python<'_>,
        cancel: Option<&Cancel>,
        work: impl FnOnce(&fencehold::Cancel) -> fencehold::Result<fencehold::Acquire> + Send,
    ) -> PyResult<bool> {
        let waited = calls::wait(py, cancel, work);
        Ok(self.settle(py, waited, fencehold::Acquire::is_granted)?.or_raise(py)?.is_granted())
    }

    fn scope_entered(&self, epoch: u64) {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        scopes.entry(std::thread::current().id()).or_default().push(epoch);
    }

    /// The hold of the innermost `with` of this thread, else of any thread.
    fn scope_left(&self) -> Option<u64> {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let here = std::thread::current().id();
        let thread = if scopes.contains_key(&here) { here } else { *scopes.keys().next()? };
        let holds = scopes.get_mut(&thread)?;
        let epoch = holds.pop();
        if holds.is_empty() {
            scopes.remove(&thread);
        }
        epoch
    }

    /// Ends a scope: gives back only the hold that it took. The error of the body comes first.
    fn leave(&self, py: Python<'_>, epoch: u64, body: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        match (py.detach(|| self.inner.leave(epoch)), body) {
            (Ok(()), _) => Ok(()),
            (Err(error), None) => Err(errors::raised(py, &error)),
            (Err(error), Some(body)) => errors::attach(py, body, &errors::raised(py, &error)),
        }
    }

    fn describe(&self) -> String {
        let lock = &self.inner;
        let state = match (lock.held(), lock.lost_reason()) {
            (true, _) => match lock.fence() {
                Ok(fence) => format!("held, fence {}", fence.get()),
                Err(_) => "held".into(),
            },
            (false, Some(reason)) => format!("lost: {}", reason.id()),
            (false, None) => "not held".into(),
        };
        format!("{:?} on {}: {state}", lock.name(), self.client.store())
    }

    /// Waits until the hold is lost, in slices of at most `slice`, while `go_on` says so.
    pub(crate) fn wait_lost_in_slices(
        lock: &fencehold::Lock,
        limit: Option<Duration>,
        slice: Duration,
        mut go_on: impl FnMut() -> bool,
    ) -> Option<LostReason> {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = end.map_or(slice, |end| end.saturating_duration_since(Instant::now()).min(slice));
            if let Some(reason) = lock.wait_lost(left) {
                return Some(reason);
            }
            if end.is_some_and(|end| Instant::now() >= end) || !go_on() {
                return None;
            }
        }
    }
}

impl Drop for LockBase {
    fn drop(&mut self) {
        // SAFETY: nobody uses the field after this.
        let lock = unsafe { ManuallyDrop::take(&mut self.inner) };
        if lock.epoch() == 0 {
            return;
        }
        // A thread of ours may still work on it; then it is that thread's to give back.
        let leaves = Arc::strong_count(&lock) == 1 && lock.held();
        let mut lock = Some(lock);
        Python::try_attach(|py| {
            // An error on its way, if there is one, is not ours to disturb.
            let pending = PyErr::take(py);
            if let (true, Some(lock)) = (leaves, &lock) {
                warn_of_drop(py, lock.name(), self.client.store());
            }
            // The handle gives its hold back when it is dropped, which may take a moment.
            py.detach(|| drop(lock.take()));
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
    }
}

fn warn_of_drop(py: Python<'_>, name: &str, store: &str) {
    let text = format!("lock {name:?} on {store} was dropped while it was held; it is given back now");
    let text = std::ffi::CString::new(text).unwrap_or_default();
    if let Err(error) = PyErr::warn(py, &py.get_type::<PyResourceWarning>(), &text, 1) {
        error.write_unraisable(py, None);
    }
}

#[pymethods]
impl LockBase {
    #[new]
    fn from_handle(handle: &Bound<'_, Handle>) -> PyResult<Self> {
        let made = handle.get().0.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.ok_or_else(|| PyTypeError::new_err("a Lock is made by Client.lock()"))
    }

    /// Calls handler(reason) once a hold when it is lost; returns a function that removes it.
    fn on_lost<'py>(&self, py: Python<'py>, handler: Py<PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        if !handler.bind(py).is_callable() {
            return Err(PyTypeError::new_err("on_lost() needs a callable"));
        }
        let (here, there) = self.handlers.add(py, &self.inner, handler);
        let (handlers, lock) = (Arc::downgrade(&self.handlers), Arc::downgrade(&self.inner));
        PyCFunction::new_closure(py, None, None, move |args, _| {
            let py = args.py();
            if let Some(lock) = lock.upgrade() {
                py.detach(|| lock.remove_lost_handler(there));
            }
            drop(handlers.upgrade().and_then(|handlers| handlers.remove(here)));
        })
    }

    /// threading's word for held.
    fn locked(&self) -> bool {
        self.inner.held()
    }

    /// On memory: only: loses the hold for the reason given, as a rehearsal.
    fn lose(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        let Some(reason) = LostReason::from_id(reason) else {
            let detail = format!("{reason:?} is no reason of a loss: renew, guard, expired, forked (locks_bad_reason)");
            return Err(errors::raised(py, &Error::bad_argument("locks_bad_reason", detail)));
        };
        calls::bounded(py, || self.inner.lose(reason))
    }

    #[getter]
    fn held(&self) -> bool {
        self.inner.held()
    }

    #[getter]
    fn at_risk(&self) -> bool {
        self.inner.at_risk()
    }

    #[getter]
    fn lost(&self) -> bool {
        self.inner.lost_reason().is_some()
    }

    #[getter]
    fn lost_reason(&self) -> Option<&'static str> {
        self.inner.lost_reason().map(LostReason::id)
    }

    #[getter]
    fn refusal<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.refusal().map(|refusal| errors::refusal(py, &refusal)).transpose()
    }

    #[getter]
    fn last_error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.last_error().map(|error| errors::exception(py, &error)).transpose()
    }

    #[getter]
    fn token(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner.token().or_raise(py)?.get())
    }

    #[getter]
    fn fence(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner.fence().or_raise(py)?.get())
    }

    #[getter]
    fn slot(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.slot().or_raise(py)
    }

    #[getter]
    fn position(&self) -> u32 {
        self.inner.position()
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn owner(&self) -> &str {
        self.inner.owner()
    }

    #[getter]
    fn ttl(&self) -> Duration {
        self.inner.ttl()
    }

    #[getter]
    fn remaining(&self) -> Duration {
        self.inner.remaining()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type();
        Ok(format!("<{}.{} {}>", class.module()?, class.name()?, slf.get().describe()))
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.handlers.traverse(&visit)
    }

    fn __clear__(&self) {
        self.handlers.clear();
    }
}

/// A lock or a permit of a semaphore, as one owner's handle on it.
#[pyclass(frozen, extends = LockBase, module = "fencehold")]
pub(crate) struct Lock;

impl Lock {
    pub(crate) fn object(py: Python<'_>, base: LockBase) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, PyClassInitializer::from(base).add_subclass(Self))
    }
}

#[pymethods]
impl Lock {
    /// Takes the lock. True: held. False: somebody else has it; refusal tells who.
    #[pyo3(signature = (blocking = None, timeout = Given::Unset, *, wait = Given::Unset, cancel = None))]
    fn acquire<'py>(
        slf: &Bound<'py, Self>,
        blocking: Option<bool>,
        timeout: Given<'py>,
        wait: Given<'py>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<bool> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let wait = convert::blocking_wait(blocking, &timeout, &wait).or_raise(py)?;
        let lock = &base.inner;
        base.answer(py, cancel.map(Bound::get), |cancel| lock.acquire_cancellable(wait, cancel))
    }

    /// Gives the lock to whoever waits in line and takes it again after them.
    #[pyo3(signature = (*, wait = Given::Unset, cancel = None))]
    fn step_aside<'py>(
        slf: &Bound<'py, Self>,
        wait: Given<'py>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<bool> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let wait = convert::wait(&wait).or_raise(py)?;
        let lock = &base.inner;
        base.answer(py, cancel.map(Bound::get), |cancel| lock.step_aside_cancellable(wait, Some(cancel)))
    }

    /// Calls fn() with the lock held and gives it back; without the lock fn is not called.
    #[pyo3(signature = (r#fn, *, wait = Given::Unset, cancel = None))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        r#fn: &Bound<'py, PyAny>,
        wait: Given<'py>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let wait = convert::wait(&wait).or_raise(py)?;
        let lock = &base.inner;
        let waited = calls::wait(py, cancel.map(Bound::get), |cancel| lock.acquire_or_raise(wait, Some(cancel)));
        let epoch = match base.settle(py, waited, |_| true)? {
            Ok(epoch) => epoch,
            Err(error) if matches!(error.kind(), Kind::Held | Kind::TimedOut) => {
                let refusal = error.refusal().map(|refusal| errors::refusal(py, refusal)).transpose()?;
                return errors::run_result(py, false, py.None().into_bound(py), refusal);
            }
            Err(error) => return Err(errors::raised(py, &error)),
        };
        match r#fn.call0() {
            Ok(value) => {
                if let Err(error) = base.leave(py, epoch, None) {
                    error.value(py).setattr("value", value)?;
                    return Err(error);
                }
                errors::run_result(py, true, value, None)
            }
            Err(error) => {
                base.leave(py, epoch, Some(error.value(py).as_any()))?;
                Err(error)
            }
        }
    }

    /// Gives the lock back. False: there was nothing to give back.
    fn release(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let lock = &slf.as_super().get().inner;
        calls::bounded(slf.py(), || lock.release())
    }

    /// Waits until the hold is lost, for at most timeout, and returns why; None: it was not.
    #[pyo3(signature = (timeout = None))]
    fn wait_lost(slf: &Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Option<&'static str>> {
        let py = slf.py();
        let limit = timeout.map(|timeout| convert::duration(timeout, "timeout")).transpose().or_raise(py)?;
        let lock = &slf.as_super().get().inner;
        let slice = Duration::from_millis(100);
        let mut raised = None;
        let lost = py.detach(|| {
            LockBase::wait_lost_in_slices(lock, limit, slice, || {
                raised = Python::try_attach(|py| py.check_signals().err()).flatten();
                raised.is_none()
            })
        });
        raised.map_or(Ok(lost.map(LostReason::id)), Err)
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let base = slf.as_super().get();
        let epoch = match base.take_over() {
            Some(epoch) => epoch,
            None => base.acquire_or_raise(slf.py(), Wait::Default, None)?,
        };
        base.scope_entered(epoch);
        Ok(slf.clone())
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let base = slf.as_super().get();
        if let Some(epoch) = base.scope_left() {
            base.leave(slf.py(), epoch, Some(error).filter(|error| !error.is_none()))?;
        }
        Ok(())
    }
}

/// `keep_alive()`: the interpreter calls it directly, without the argument parsing and the guard
/// around the other functions, which would cost more than the call itself.
unsafe extern "C" fn keep_alive(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls it attached, with an object of this class: its method
    // descriptor checks that.
    let (py, object) = unsafe {
        let py = Python::assume_attached();
        (py, Borrowed::from_ptr(py, object).cast_unchecked::<LockBase>())
    };
    let base = object.get();
    let held = catch_unwind(AssertUnwindSafe(|| {
        let lock = &*base.inner;
        lock.is_quiet() || py.detach(|| lock.keep_alive())
    }));
    // SAFETY: both objects live for ever; the caller gets a reference of its own.
    unsafe { ffi::PyBool_FromLong(c_int::from(held.unwrap_or(false)).into()) }
}

/// Adds `keep_alive` to the class.
pub(crate) fn add_keep_alive(py: Python<'_>) -> PyResult<()> {
    const DOC: &std::ffi::CStr =
        c"keep_alive($self, /)\n--\n\nTrue while held; renews when it is time. False: lost, stop now.";
    let method = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: c"keep_alive".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: keep_alive },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: DOC.as_ptr(),
    }));
    let class = py.get_type::<LockBase>();
    // SAFETY: the class lives as long as the module, the definition for ever.
    let descriptor = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), ptr::from_mut(method)))?
    };
    class.setattr("keep_alive", descriptor)
}
