//! The one way in which a call that may block is made.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fencehold::Result;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// How often a waiting main thread runs the interpreter's signal handlers.
const SIGNALS: Duration = Duration::from_millis(100);

static MAIN_THREAD: AtomicUsize = AtomicUsize::new(0);

fn this_thread() -> usize {
    // SAFETY: it only reads the thread's own number.
    unsafe { pyo3::ffi::PyThread_get_thread_ident() as usize }
}

/// Notes which thread runs signal handlers: `ident` of `threading.main_thread()`.
pub(crate) fn note_main_thread(ident: usize) {
    MAIN_THREAD.store(ident, Ordering::Relaxed);
}

/// After a fork the only thread left is the main one.
pub(crate) fn this_is_the_main_thread() {
    note_main_thread(this_thread());
}

/// Ends waits from another thread or from a signal handler.
///
/// Each call waits on a cancel of its own, which this one triggers: a Ctrl-C in one call must not
/// end the others that were given the same object.
#[pyclass(frozen, weakref, module = "fencehold")]
pub(crate) struct Cancel(Arc<Shared>);

#[derive(Default)]
struct Shared {
    triggered: AtomicBool,
    next: AtomicU64,
    /// The waits in progress. Locked only by attached threads and never while Python code runs, so
    /// that neither a signal handler nor a forked child finds it locked.
    waits: Mutex<Vec<(u64, fencehold::Cancel)>>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Ends every wait that was given this object, now and later.
    fn trigger(&self) {
        self.0.triggered.store(true, Ordering::SeqCst);
        for (_, wait) in self.0.waits.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            wait.trigger();
        }
    }

    /// Whether it was triggered.
    #[getter]
    fn triggered(&self) -> bool {
        self.0.triggered.load(Ordering::SeqCst)
    }
}

impl Cancel {
    /// Lets this object end the waits on `wait` until [`Joined::leave`].
    pub(crate) fn join(&self, wait: &fencehold::Cancel) -> Joined {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner).push((id, wait.clone()));
        if self.0.triggered.load(Ordering::SeqCst) {
            wait.trigger();
        }
        Joined { shared: self.0.clone(), id }
    }
}

/// A wait that a [`Cancel`] can end.
pub(crate) struct Joined {
    shared: Arc<Shared>,
    id: u64,
}

impl Joined {
    /// Ends that. For an attached thread.
    pub(crate) fn leave(self, _py: Python<'_>) {
        self.shared.waits.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != self.id);
    }
}

/// How a wait ended.
pub(crate) struct Waited<T> {
    pub(crate) answer: Result<T>,
    /// What a signal handler raised meanwhile, `KeyboardInterrupt` above all. It comes first, and
    /// what `answer` took must be given back.
    pub(crate) raised: Option<PyErr>,
}

/// Runs `work` without the interpreter's lock. On the main thread signal handlers run every 0.1 s
/// meanwhile, and what they raise ends the wait.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    cancel: Option<&Cancel>,
    work: impl FnOnce(&fencehold::Cancel) -> Result<T> + Send,
) -> Waited<T> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let wait = if this_thread() == MAIN_THREAD.load(Ordering::Relaxed) {
        let slot = raised.clone();
        fencehold::Cancel::polling(SIGNALS, move || {
            let checked = Python::try_attach(|py| py.check_signals());
            let Some(Err(error)) = checked else { return false };
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            true
        })
    } else {
        fencehold::Cancel::new()
    };
    let joined = cancel.map(|cancel| cancel.join(&wait));
    let answer = py.detach(|| work(&wait));
    if let Some(joined) = joined {
        joined.leave(py);
    }
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    Waited { answer, raised: raised.or_else(|| py.check_signals().err()) }
}

/// Runs `work`, which is bounded and takes nothing, without the interpreter's lock.
pub(crate) fn bounded<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).or_raise(py)
}
