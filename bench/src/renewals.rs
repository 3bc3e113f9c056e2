//! What the background thread costs that renews many leases.

use std::time::Duration;

use fencehold::{Client, Lock, LockOptions};
use serde_json::{Value, json};

fn cpu() -> Duration {
    // SAFETY: plain numbers, filled in by the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: room for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn threads() -> u64 {
    std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count() as u64)
}

pub(crate) fn run(folder: &str, count: u64, seconds: u64) -> Value {
    let client = Client::open(&format!("file:{folder}")).expect("a client");
    let ttl = Duration::from_secs(30);
    let held: Vec<Lock> =
        (0..count).map(|at| client.acquire(&format!("renewed-{at}"), LockOptions::ttl(ttl)).expect("a lock")).collect();
    // Past the first renewals, so that they are spread as they will be.
    std::thread::sleep(ttl / 3 + Duration::from_secs(1));
    let before = cpu();
    let tokens: Vec<u64> = held.iter().map(|lock| lock.token().expect("a token").get()).collect();
    std::thread::sleep(Duration::from_secs(seconds));
    let used = cpu() - before;
    let renewed = held.iter().zip(&tokens).filter(|(lock, token)| lock.token().expect("a token").get() > **token);
    let renewed = renewed.count();
    let lost = held.iter().filter(|lock| !lock.held()).count();
    let answer = json!({
        "leases": count, "threads_of_the_library": threads() - 1, "renewed": renewed, "lost": lost,
        "percent_of_a_core": used.as_secs_f64() / seconds as f64 * 100.0,
    });
    std::mem::forget(held);
    answer
}
