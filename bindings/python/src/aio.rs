//! What `fencehold.aio` stands on: calls that are decided at once, and calls on a thread of their own.
//!
//! A waiting call never sits on a pool that the program shares: four waiters would starve the
//! release that they wait for. Its answer goes to the event loop through `call_soon_threadsafe`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fencehold::{Acquire, Error, Kind, LostReason, Wait};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::calls::Cancel;
use crate::client::{self, ClientBase, Listing};
use crate::convert::{self, Given};
use crate::errors::{self, OrRaise};
use crate::hooks;
use crate::lock::LockBase;

/// Where an answer goes: `loop.call_soon_threadsafe(deliver, value, error)`.
pub(crate) struct Reply {
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
}

impl Reply {
    fn send(self, value: PyResult<Py<PyAny>>) -> PyResult<()> {
        let sent = hooks::with_python(|py| {
            let (value, error) = match value {
                Ok(value) => (value, py.None()),
                Err(error) => (py.None(), error.into_value(py).into_any()),
            };
            self.event_loop.call_method1(py, "call_soon_threadsafe", (self.deliver.bind(py), value, error)).map(drop)
        });
        sent.unwrap_or_else(|| Err(pyo3::exceptions::PyRuntimeError::new_err("the interpreter is shutting down")))
    }
}

/// Runs `work` on a thread of its own. When the answer finds no event loop any more, `undo` gets it.
pub(crate) fn start<T: Send + 'static>(
    py: Python<'_>,
    reply: Reply,
    work: impl FnOnce() -> fencehold::Result<T> + Send + 'static,
    show: impl FnOnce(Python<'_>, &T) -> PyResult<Py<PyAny>> + Send + 'static,
    undo: impl FnOnce(T) + Send + 'static,
) -> PyResult<()> {
    let body = move || {
        let answer = work();
        let shown = hooks::with_python(|py| match &answer {
            Ok(value) => show(py, value),
            Err(error) => Err(errors::raised(py, error)),
        });
        let sent = shown.map(|value| reply.send(value));
        if let (Ok(value), Some(Err(_)) | None) = (answer, sent) {
            undo(value);
        }
    };
    let started = std::thread::Builder::new().name("fencehold-wait".into()).stack_size(1 << 20).spawn(body);
    started.map(drop).map_err(|error| {
        errors::raised(py, &Error::internal(format!("no thread could be started to wait on: {error}")))
    })
}

pub(crate) fn reply(event_loop: Py<PyAny>, deliver: Py<PyAny>) -> Reply {
    Reply { event_loop, deliver }
}

/// Tries to take the lock at once: its hold, 0 if it was refused and no wait is left, None if undecided.
#[pyfunction]
pub(crate) fn acquire_at_once(py: Python<'_>, lock: &Bound<'_, LockBase>, wait: Given<'_>) -> PyResult<Option<u64>> {
    let base = lock.get();
    let wait = match convert::wait(&wait).or_raise(py)? {
        Wait::Default => base.own_wait,
        given => given,
    };
    if !base.answered.load(Ordering::Relaxed) {
        return Ok(None);
    }
    match base.inner.acquire_at_once().or_raise(py)? {
        Some(Acquire::Granted) => Ok(Some(base.inner.epoch())),
        Some(Acquire::Refused(_)) if matches!(wait, Wait::Default | Wait::No) => Ok(Some(0)),
        _ => Ok(None),
    }
}

/// Waits for the lock on a thread. Delivers its hold, or HeldError or TimedOutError with a refusal.
#[pyfunction]
pub(crate) fn start_acquire(
    py: Python<'_>,
    lock: &Bound<'_, LockBase>,
    cancel: &Bound<'_, Cancel>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
    wait: Given<'_>,
) -> PyResult<()> {
    let wait = convert::wait(&wait).or_raise(py)?;
    start_taking(py, lock, cancel, reply(event_loop, deliver), move |lock, cancel| {
        lock.acquire_or_raise(wait, Some(cancel))
    })
}

/// Steps aside on a thread. Delivers the new hold, 0 if there is none.
#[pyfunction]
pub(crate) fn start_step_aside(
    py: Python<'_>,
    lock: &Bound<'_, LockBase>,
    cancel: &Bound<'_, Cancel>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
    wait: Given<'_>,
) -> PyResult<()> {
    let wait = convert::wait(&wait).or_raise(py)?;
    start_taking(py, lock, cancel, reply(event_loop, deliver), move |lock, cancel| {
        Ok(if lock.step_aside_cancellable(wait, Some(cancel))?.is_granted() { lock.epoch() } else { 0 })
    })
}

fn start_taking(
    py: Python<'_>,
    lock: &Bound<'_, LockBase>,
    cancel: &Bound<'_, Cancel>,
    reply: Reply,
    work: impl FnOnce(&fencehold::Lock, &fencehold::Cancel) -> fencehold::Result<u64> + Send + 'static,
) -> PyResult<()> {
    let wait = fencehold::Cancel::new();
    let joined = cancel.get().join(&wait);
    let answered = lock.get().answered.clone();
    let (lock, late) = (lock.get().shared(), lock.get().shared());
    let body = move || {
        let answer = work(&lock, &wait);
        let refused = |error: &Error| matches!(error.kind(), Kind::Held | Kind::TimedOut);
        answered.fetch_or(answer.as_ref().err().is_none_or(refused), Ordering::Relaxed);
        hooks::with_python(|py| joined.leave(py));
        answer
    };
    let undo = move |epoch| {
        if epoch != 0 {
            // Nobody is left to tell; a failure is logged and the lease ends by itself.
            let _ = late.release_epoch(epoch);
        }
    };
    start(py, reply, body, |py, epoch| Ok(epoch.into_pyobject(py)?.into_any().unbind()), undo)
}

/// Gives the lock back if that can be done at once.
#[pyfunction]
pub(crate) fn release_at_once(py: Python<'_>, lock: &Bound<'_, LockBase>) -> PyResult<Option<bool>> {
    lock.get().inner.release_at_once().or_raise(py)
}

/// Gives the lock back on a thread. Delivers what `release()` answers.
#[pyfunction]
pub(crate) fn start_release(
    py: Python<'_>,
    lock: &Bound<'_, LockBase>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let lock = lock.get().shared();
    start(py, reply(event_loop, deliver), move || lock.release(), boolean, |_| {})
}

/// Gives a hold back that nobody wants any more, on a thread, telling nobody.
#[pyfunction]
pub(crate) fn give_back(lock: &Bound<'_, LockBase>, epoch: u64) {
    let lock = lock.get().shared();
    // Without a thread the lease ends by itself.
    let _ = std::thread::Builder::new().name("fencehold-wait".into()).spawn(move || lock.release_epoch(epoch));
}

/// Ends a scope at once if that can be done: True. False: call `start_leave`.
#[pyfunction]
pub(crate) fn leave_at_once(py: Python<'_>, lock: &Bound<'_, LockBase>, epoch: u64) -> PyResult<bool> {
    let lock = &lock.get().inner;
    // Attached all the while, so that no other call through this handle can come between.
    if !lock.held() || lock.epoch() != epoch {
        return Ok(false);
    }
    Ok(lock.release_at_once().or_raise(py)? == Some(true))
}

/// Ends a scope on a thread. Delivers None, or the error of the lease or the release.
#[pyfunction]
pub(crate) fn start_leave(
    py: Python<'_>,
    lock: &Bound<'_, LockBase>,
    epoch: u64,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let lock = lock.get().shared();
    start(py, reply(event_loop, deliver), move || lock.leave(epoch), nothing, |()| {})
}

/// Waits on a thread until the hold is lost. Delivers the reason, or None.
#[pyfunction]
pub(crate) fn start_wait_lost(
    py: Python<'_>,
    lock: &Bound<'_, LockBase>,
    timeout: Option<&Bound<'_, PyAny>>,
    cancel: &Bound<'_, Cancel>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let limit = timeout.map(|timeout| convert::duration(timeout, "timeout")).transpose().or_raise(py)?;
    let ended = fencehold::Cancel::new();
    let joined = cancel.get().join(&ended);
    // Weak: who waits for a loss must not keep a handle that was dropped.
    let lock = Arc::downgrade(&lock.get().shared());
    let body = move || {
        let slice = Duration::from_millis(20);
        let lost = lock.upgrade().and_then(|lock| {
            LockBase::wait_lost_in_slices(&lock, limit, slice, || !ended.is_triggered() && Arc::strong_count(&lock) > 1)
        });
        hooks::with_python(|py| joined.leave(py));
        Ok(lost)
    };
    let show =
        |py: Python<'_>, lost: &Option<LostReason>| Ok(lost.map(LostReason::id).into_pyobject(py)?.into_any().unbind());
    start(py, reply(event_loop, deliver), body, show, |_| {})
}

/// The hold that `client.acquire` took and that an `async with` around it enters; 0: none.
#[pyfunction]
pub(crate) fn take_over(lock: &Bound<'_, LockBase>) -> u64 {
    lock.get().take_over().unwrap_or(0)
}

/// Remembers that an `async with` around this handle enters the hold.
#[pyfunction]
pub(crate) fn mark_taken(lock: &Bound<'_, LockBase>, epoch: u64) {
    lock.get().mark_taken(epoch);
}

/// Adds ours to the error of a body, which goes on as the one that is raised.
#[pyfunction]
pub(crate) fn attach(py: Python<'_>, body: &Bound<'_, PyAny>, ours: &Bound<'_, PyAny>) -> PyResult<()> {
    errors::attach(py, body, &PyErr::from_value(ours.clone()))
}

fn boolean(py: Python<'_>, value: &bool) -> PyResult<Py<PyAny>> {
    Ok(value.into_pyobject(py)?.to_owned().into_any().unbind())
}

fn nothing(py: Python<'_>, (): &()) -> PyResult<Py<PyAny>> {
    Ok(py.None())
}

#[pyfunction]
pub(crate) fn start_holders(
    py: Python<'_>,
    client: &Bound<'_, ClientBase>,
    name: &Bound<'_, PyString>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let (client, name) = (client.get().inner.clone(), client::name(py, name)?);
    let show = |py: Python<'_>, found: &Vec<_>| Ok(errors::holders(py, found)?.into_pyobject(py)?.into_any().unbind());
    start(py, reply(event_loop, deliver), move || client.holders(&name), show, |_| {})
}

#[pyfunction]
pub(crate) fn start_show(
    py: Python<'_>,
    client: &Bound<'_, ClientBase>,
    name: &Bound<'_, PyString>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let (client, name) = (client.get().inner.clone(), client::name(py, name)?);
    let show = |py: Python<'_>, found: &_| Ok(errors::lock_info(py, found)?.unbind());
    start(py, reply(event_loop, deliver), move || client.show(&name), show, |_| {})
}

#[pyfunction]
pub(crate) fn start_list(
    py: Python<'_>,
    client: &Bound<'_, ClientBase>,
    prefix: &Bound<'_, PyString>,
    limit: &Bound<'_, PyAny>,
    after: &Bound<'_, PyString>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let client = client.get().inner.clone();
    let asked = Listing::new(py, Some(prefix), Some(limit), Some(after))?;
    let show = |py: Python<'_>, found: &Vec<_>| {
        let shown: Vec<_> = found.iter().map(|one| errors::lock_info(py, one)).collect::<PyResult<_>>()?;
        Ok(shown.into_pyobject(py)?.into_any().unbind())
    };
    let work = move || client.list(&asked.prefix, asked.limit, &asked.after);
    start(py, reply(event_loop, deliver), work, show, |_| {})
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the names of the contract")]
pub(crate) fn start_force_release(
    py: Python<'_>,
    client: &Bound<'_, ClientBase>,
    name: &Bound<'_, PyString>,
    token: Option<&Bound<'_, PyAny>>,
    owner: Option<&Bound<'_, PyString>>,
    slot: &Bound<'_, PyAny>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let (client, name) = (client.get().inner.clone(), client::name(py, name)?);
    let (slot, id) = client::release_id(py, token, owner, Some(slot))?;
    start(py, reply(event_loop, deliver), move || client.force_release(&name, slot, &id), boolean, |_| {})
}

#[pyfunction]
pub(crate) fn start_ping(
    py: Python<'_>,
    client: &Bound<'_, ClientBase>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let client = client.get().inner.clone();
    start(py, reply(event_loop, deliver), move || client.ping(), nothing, |()| {})
}

#[pyfunction]
pub(crate) fn start_close(
    py: Python<'_>,
    client: &Bound<'_, ClientBase>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let client = client.get().inner.clone();
    start(py, reply(event_loop, deliver), move || client.close(), nothing, |()| {})
}
