//! Steps: what the plain and the asyncio `Transaction` share.

use std::sync::{Arc, Mutex, PoisonError};

use fencehold::{Commit, Error, Result, StepParts};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;

use crate::aio;
use crate::calls;
use crate::client::ClientBase;
use crate::convert;
use crate::errors::{self, OrRaise};
use crate::lock::LockBase;

/// A step that is being put together. Nothing is sent before it is committed.
#[pyclass(frozen, subclass, module = "fencehold._native")]
pub(crate) struct StepBase {
    client: fencehold::Client,
    /// Guards the parts. Locked by detached threads only, because a commit keeps it locked.
    parts: Arc<Mutex<StepParts>>,
}

impl StepBase {
    fn add(&self, py: Python<'_>, add: impl FnOnce(&mut StepParts) -> Result<()> + Send) -> PyResult<()> {
        py.detach(|| {
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            add(&mut parts).map_err(|error| error.on_store(self.client.store()))
        })
        .or_raise(py)
    }

    fn work(&self) -> impl FnOnce() -> Result<Commit> + Send + 'static {
        let (client, parts) = (self.client.clone(), self.parts.clone());
        move || client.commit_parts(&parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn json(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Value> {
    let text = convert::text(text, "a step", "bad_request").or_raise(py)?;
    serde_json::from_str(&text).map_err(|fault| {
        errors::raised(
            py,
            &Error::bad_argument("bad_request", format!("a part of a step is no JSON: {fault} (bad_request)")),
        )
    })
}

#[pymethods]
impl StepBase {
    #[new]
    fn new(client: &Bound<'_, ClientBase>) -> Self {
        Self { client: client.get().inner.clone(), parts: Arc::default() }
    }

    fn _guard(&self, py: Python<'_>, lock: &Bound<'_, LockBase>) -> PyResult<()> {
        let lock = lock.get().shared();
        self.add(py, |parts| parts.guard(&self.client, &lock))
    }

    fn _push(&self, py: Python<'_>, queue: &Bound<'_, PyString>, items: &Bound<'_, PyString>) -> PyResult<()> {
        let queue = convert::text(queue, "a queue's name", "bad_request").or_raise(py)?;
        let items = json(py, items)?;
        self.add(py, |parts| parts.push(&queue, &items))
    }

    fn _ack(&self, py: Python<'_>, acks: &Bound<'_, PyString>) -> PyResult<()> {
        let acks = json(py, acks)?;
        self.add(py, |parts| parts.ack(&acks))
    }

    fn _kv(&self, py: Python<'_>, operations: &Bound<'_, PyString>) -> PyResult<()> {
        let operations = json(py, operations)?;
        self.add(py, |parts| parts.kv(&operations))
    }

    fn _timers(&self, py: Python<'_>, operations: &Bound<'_, PyString>) -> PyResult<()> {
        let operations = json(py, operations)?;
        self.add(py, |parts| parts.timers(&operations))
    }

    fn _commit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let commit = calls::bounded(py, self.work())?;
        outcome(py, &commit)
    }
}

/// Commits on a thread. Delivers the result.
#[pyfunction]
pub(crate) fn start_commit(
    py: Python<'_>,
    step: &Bound<'_, StepBase>,
    event_loop: Py<PyAny>,
    deliver: Py<PyAny>,
) -> PyResult<()> {
    let show = |py: Python<'_>, commit: &Commit| Ok(outcome(py, commit)?.unbind());
    aio::start(py, aio::reply(event_loop, deliver), step.get().work(), show, |_| {})
}

/// The outcome as a `CommitResult`.
fn outcome<'py>(py: Python<'py>, commit: &Commit) -> PyResult<Bound<'py, PyAny>> {
    let error = match commit.clone().or_err() {
        Ok(_) => None,
        Err(error) => Some(errors::exception(py, &error)?),
    };
    errors::commit_result(py, &commit.result().to_json(), error)
}
