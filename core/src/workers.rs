//! Threads for what has to wait for a server: a few for each store, started when there is work and
//! gone again after a while without any.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::log::warn_user;

/// The most threads of one store. A server that does not answer takes up its own only.
const MOST: usize = 4;
/// How long a thread stays without work.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

/// The threads of one store.
#[derive(Default)]
pub(crate) struct Workers {
    /// Guards the queue; never held while a job runs.
    queue: Mutex<Queue>,
    ready: Condvar,
}

impl Workers {
    /// Has a thread do `job`; the caller does it where none can be started.
    pub(crate) fn run(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(Box::new(job));
        if queue.idle >= queue.jobs.len() {
            self.ready.notify_one();
            return;
        }
        if queue.threads == MOST {
            return;
        }
        queue.threads += 1;
        let mine = self.clone();
        let started = std::thread::Builder::new().name("fencehold-renew".into()).spawn(move || mine.work());
        if let Err(error) = started {
            queue.threads -= 1;
            if queue.threads == 0 {
                warn_user!("no thread could be started to renew leases: {error}");
                let job = queue.jobs.pop_back();
                drop(queue);
                if let Some(job) = job {
                    job();
                }
            }
        }
    }

    fn work(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
                    warn_user!("a renewal failed (panicked)");
                }
                queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.idle += 1;
            let (woken, waited) = self.ready.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            queue.idle -= 1;
            if waited.timed_out() && queue.jobs.is_empty() {
                queue.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn jobs_run_side_by_side_up_to_the_limit_and_the_rest_wait() {
        let workers = Arc::new(Workers::default());
        let (started, starts) = channel();
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        for job in 0..MOST + 2 {
            let (started, gate) = (started.clone(), gate.clone());
            workers.run(move || {
                started.send(job).unwrap();
                let mut open = gate.0.lock().unwrap();
                while !*open {
                    open = gate.1.wait(open).unwrap();
                }
            });
        }
        for _ in 0..MOST {
            starts.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        assert!(starts.recv_timeout(Duration::from_millis(50)).is_err());
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        for _ in 0..2 {
            starts.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        workers.run(|| panic!("on purpose"));
        let (done, all_done) = channel();
        workers.run(move || done.send(()).unwrap());
        all_done.recv_timeout(Duration::from_secs(20)).unwrap();
    }
}
