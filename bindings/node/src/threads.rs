//! Threads for calls that may block: as many as there are calls, and one that is done serves the next.
//!
//! Not the pool that `fs`, `dns` and `crypto` share: four waiters would stop them all.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// How many threads stay when they have nothing to do, and for how long.
const MOST_IDLE: usize = 4;
const IDLE_TIME: Duration = Duration::from_secs(10);

struct Pool {
    /// Never more than there are idle threads, so that no call waits for another one's end.
    jobs: VecDeque<Job>,
    idle: usize,
}

/// Guards who takes which job; held for a few instructions only.
static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: VecDeque::new(), idle: 0 });
static JOB_THERE: Condvar = Condvar::new();

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` on a thread of ours.
///
/// # Errors
/// No thread could be started; `work` was dropped.
pub(crate) fn run(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let job: Job = Box::new(work);
    let mut pool = pool();
    if pool.idle > pool.jobs.len() {
        pool.jobs.push_back(job);
        drop(pool);
        JOB_THERE.notify_one();
        return Ok(());
    }
    drop(pool);
    std::thread::Builder::new().name("fencehold-call".into()).spawn(move || serve(job)).map(drop)
}

fn serve(first: Job) {
    let mut next = Some(first);
    while let Some(job) = next {
        // Whoever waits for the call hears of a panic from the job itself.
        drop(catch_unwind(AssertUnwindSafe(job)));
        next = next_job();
    }
}

/// Waits for another job; `None`: there are idle threads enough, or nothing to do.
fn next_job() -> Option<Job> {
    let mut pool = pool();
    if pool.idle >= MOST_IDLE {
        return None;
    }
    pool.idle += 1;
    let end = Instant::now() + IDLE_TIME;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // A job before the end of the time: it counts on this thread.
        if !pool.jobs.is_empty() || left.is_zero() {
            pool.idle -= 1;
            return pool.jobs.pop_front();
        }
        pool = JOB_THERE.wait_timeout(pool, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}
