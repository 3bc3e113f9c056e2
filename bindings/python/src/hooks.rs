//! Calls from the core's threads into Python, and the end of the interpreter.
//!
//! A thread that asks for the interpreter while it shuts down never comes back. So such calls pass a
//! gate: at exit all holds are given back, the gate closes, and whoever is inside is waited for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use fencehold::{Level, LostReason};
use pyo3::prelude::*;
use pyo3::types::PyDict;

static INSIDE: AtomicUsize = AtomicUsize::new(0);
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs `body` attached, or answers `None` when the interpreter is going away.
pub(crate) fn with_python<R>(body: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let answer = if CLOSED.load(Ordering::SeqCst) { None } else { Python::try_attach(body) };
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    answer
}

/// Closes the gate and waits, for a moment, until nobody is inside.
fn close_gate(py: Python<'_>) {
    CLOSED.store(true, Ordering::SeqCst);
    py.detach(|| {
        let limit = Instant::now() + Duration::from_secs(2);
        while INSIDE.load(Ordering::SeqCst) > 0 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// A hold that is given back at exit if it is still there.
pub(crate) struct Live {
    pub(crate) lock: Weak<fencehold::Lock>,
    pub(crate) client: fencehold::Client,
}

/// All handles. Locked only by attached threads, so that no forked child finds it locked.
static LIVE: Mutex<(Vec<Live>, usize)> = Mutex::new((Vec::new(), 64));

/// Remembers a handle for the exit.
pub(crate) fn remember(_py: Python<'_>, live: Live) {
    let mut place = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    if place.0.len() >= place.1 {
        place.0.retain(|one| one.lock.strong_count() > 0);
        place.1 = 64.max(place.0.len() * 2);
    }
    place.0.push(live);
}

/// At exit: gives back what is held and lets no other thread into the interpreter any more.
#[pyfunction]
pub(crate) fn _at_exit(py: Python<'_>) {
    let live = std::mem::take(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner).0);
    py.detach(|| {
        for one in live {
            if one.lock.upgrade().is_some_and(|lock| lock.held())
                && let Err(error) = one.client.close()
            {
                log(Level::Warn, &format!("at exit: {error}"));
            }
        }
    });
    close_gate(py);
}

/// In a forked child: nobody else is inside, and this thread is the main one.
#[pyfunction]
pub(crate) fn _after_fork_in_child() {
    INSIDE.store(0, Ordering::SeqCst);
    crate::calls::this_is_the_main_thread();
    send_log_to_python();
}

/// Sends the core's log to the logger `fencehold`.
pub(crate) fn send_log_to_python() {
    fencehold::set_log(Some(Arc::new(log)));
}

fn log(level: Level, message: &str) {
    let number = match level.number() {
        1 => 40,
        2 => 30,
        3 => 20,
        _ => 10,
    };
    with_python(|py| {
        let logged = logger(py).and_then(|logger| logger.call_method1("log", (number, "%s", message)));
        if let Err(error) = logged {
            error.write_unraisable(py, None);
        }
    });
}

fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", ("fencehold",))
}

/// The loss handlers of one handle. The core keeps closures that look them up here, so that the
/// garbage collector sees the handlers and a handler may refer to its own handle.
#[derive(Default)]
pub(crate) struct Handlers {
    known: Mutex<(BTreeMap<u64, Py<PyAny>>, u64)>,
}

impl Handlers {
    /// Adds a handler to `lock` and answers the numbers under which it is known here and there.
    pub(crate) fn add(self: &Arc<Self>, py: Python<'_>, lock: &fencehold::Lock, handler: Py<PyAny>) -> (u64, u64) {
        let here = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.1 += 1;
            let id = known.1;
            known.0.insert(id, handler);
            id
        };
        let handlers = self.clone();
        // Detached: a late handler is called at once.
        let there = py.detach(|| lock.add_lost_handler(move |reason| handlers.call(here, reason)));
        (here, there)
    }

    /// Forgets the handler. Answers it, to be dropped when nothing is locked.
    pub(crate) fn remove(&self, here: u64) -> Option<Py<PyAny>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).0.remove(&here)
    }

    fn call(&self, here: u64, reason: LostReason) {
        with_python(|py| {
            let handler = {
                let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.0.get(&here).map(|handler| handler.clone_ref(py))
            };
            let Some(handler) = handler else { return };
            if let Err(error) = handler.call1(py, (reason.id(),)) {
                report(py, error, handler.bind(py));
            }
        });
    }

    /// Shows the handlers to the garbage collector, unless somebody changes them right now.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let Ok(known) = self.known.try_lock() else { return Ok(()) };
        known.0.values().try_for_each(|handler| visit.call(handler))
    }

    /// Breaks cycles for the garbage collector.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner).0);
        drop(gone);
    }
}

/// Logs the error of a loss handler; if that fails too, the interpreter reports it.
fn report(py: Python<'_>, error: PyErr, handler: &Bound<'_, PyAny>) {
    let logged = (|| {
        let options = PyDict::new(py);
        options.set_item("exc_info", error.value(py))?;
        logger(py)?.call_method("error", ("a loss handler failed: %r", handler), Some(&options))
    })();
    if logged.is_err() {
        error.write_unraisable(py, Some(handler));
    }
}
