//! The thread `fencehold`, on which the loss handlers of background handles run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::log::warn_user;
use crate::process::PerProcess;

type Job = Box<dyn FnOnce() + Send>;

/// Guards the sending end of the thread's queue; `None` when no thread could be started.
static QUEUE: PerProcess<Option<Mutex<Sender<Job>>>> = PerProcess::new();

/// Runs a handler; one that panics is logged.
pub(crate) fn run(handler: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(handler)).is_err() {
        warn_user!("a loss handler failed (panicked); the others still run");
    }
}

/// Runs `job` on the thread `fencehold`, which is started at the first one.
pub(crate) fn post(job: impl FnOnce() + Send + 'static) {
    let queue = QUEUE.get_or(|| {
        let (sender, receiver) = channel::<Job>();
        std::thread::Builder::new()
            .name("fencehold".into())
            .spawn(move || {
                for job in receiver {
                    run(job);
                }
            })
            .ok()
            .map(|_| Mutex::new(sender))
    });
    match queue {
        Some(sender) => {
            // The receiver lives as long as the process.
            let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(Box::new(job));
        }
        None => run(job),
    }
}

/// Waits until the jobs posted so far have run, at most a second.
pub(crate) fn flush() {
    if QUEUE.get().is_none() || std::thread::current().name() == Some("fencehold") {
        return;
    }
    let (done, all_done) = channel();
    post(move || {
        let _ = done.send(());
    });
    let _ = all_done.recv_timeout(Duration::from_secs(1));
}
