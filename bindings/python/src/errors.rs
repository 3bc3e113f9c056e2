//! From the core's errors and values to the classes of the Python package.

use fencehold::{Error, Holder, LockInfo, Refusal};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};

fn member<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
    slot: &'static PyOnceLock<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = slot.get_or_try_init(py, || Ok::<_, PyErr>(py.import(module)?.getattr(name)?.unbind()))?;
    Ok(found.bind(py).clone())
}

macro_rules! class {
    ($py:expr, $module:literal, $name:literal) => {{
        static SLOT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        member($py, $module, $name, &SLOT)
    }};
}

/// The exception for `error`, not raised.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let by_kind = class!(py, "fencehold._errors", "BY_KIND")?;
    let class = by_kind.get_item(error.kind().id()).or_else(|_| class!(py, "fencehold._errors", "Error"))?;
    let fields = PyDict::new(py);
    fields.set_item("reason", error.reason())?;
    fields.set_item("lock", error.lock())?;
    fields.set_item("store", error.store())?;
    fields.set_item("retry", error.retry().id())?;
    fields.set_item("until", error.until())?;
    fields.set_item("late_by", error.late_by())?;
    if let Some(found) = error.refusal() {
        fields.set_item("refusal", refusal(py, found)?)?;
    }
    let made = class.call((error.to_string(),), Some(&fields))?;
    if let Some(cause) = error.cause() {
        made.setattr("__cause__", exception(py, cause)?)?;
    }
    Ok(made)
}

/// `error` as what a function of the module raises.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match exception(py, error) {
        Ok(made) => PyErr::from_value(made),
        Err(fault) => fault,
    }
}

/// A result of the core as a result of the module.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for fencehold::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}

/// Adds `ours` to the error of a body, which goes on as the one that is raised.
pub(crate) fn attach(py: Python<'_>, body: &Bound<'_, PyAny>, ours: &PyErr) -> PyResult<()> {
    let ours = ours.value(py);
    let mut last = body.clone();
    for _ in 0..1000 {
        let context = last.getattr("__context__")?;
        if context.is_none() {
            break;
        }
        last = context;
    }
    last.setattr("__context__", ours)?;
    if body.hasattr("add_note")? {
        body.call_method1("add_note", (format!("fencehold, when the scope was left: {ours}"),))?;
    }
    Ok(())
}

fn holder<'py>(py: Python<'py>, found: &Holder) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._values", "Holder")?.call1((
        found.slot,
        found.token,
        found.owner.as_deref(),
        found.label.as_deref(),
        found.since,
        found.renewed_at,
        found.expires_at,
    ))
}

pub(crate) fn holders<'py>(py: Python<'py>, found: &[Holder]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    found.iter().map(|one| holder(py, one)).collect()
}

pub(crate) fn refusal<'py>(py: Python<'py>, found: &Refusal) -> PyResult<Bound<'py, PyAny>> {
    let who = PyTuple::new(py, holders(py, &found.holders)?)?;
    class!(py, "fencehold._values", "Refusal")?.call1((found.reason.id(), who, found.waiting))
}

pub(crate) fn lock_info<'py>(py: Python<'py>, found: &LockInfo) -> PyResult<Bound<'py, PyAny>> {
    let waiter = class!(py, "fencehold._values", "Waiter")?;
    let waiters: Vec<_> = found
        .waiters
        .iter()
        .map(|one| waiter.call1((one.position, &one.owner, one.label.as_deref(), one.since)))
        .collect::<PyResult<_>>()?;
    let who = PyTuple::new(py, holders(py, &found.holders)?)?;
    class!(py, "fencehold._values", "LockInfo")?.call1((&found.name, found.held, who, PyTuple::new(py, waiters)?))
}

/// A step of `client`.
pub(crate) fn transaction<'py>(py: Python<'py>, client: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._transaction", "Transaction")?.call1((client,))
}

/// What `run` answers.
pub(crate) fn run_result<'py>(
    py: Python<'py>,
    acquired: bool,
    value: Bound<'py, PyAny>,
    refused: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._values", "RunResult")?.call1((acquired, value, refused))
}

/// What `commit` answers: its JSON, and what `or_raise()` raises.
pub(crate) fn commit_result<'py>(
    py: Python<'py>,
    json: &str,
    error: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._transaction", "commit_result")?.call1((json, error))
}

/// The rows of a namespace.
pub(crate) fn kv<'py>(
    py: Python<'py>,
    client: &Bound<'py, PyAny>,
    namespace: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._rows", "Kv")?.call1((client, namespace))
}

/// A row, its value as JSON.
pub(crate) fn value_row<'py>(py: Python<'py>, key: &str, value: &str, version: u64) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._rows", "value_row")?.call1((key, value, version))
}

/// Rows, and the key to go on after.
pub(crate) fn value_page<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyTuple>,
    next_after: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._values", "ValuePage")?.call1((rows, next_after))
}

/// What became of a write or a check, its value as JSON.
pub(crate) fn written<'py>(
    py: Python<'py>,
    reason: Option<&str>,
    version: u64,
    value: &str,
) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "fencehold._rows", "written")?.call1((reason, version, value))
}
