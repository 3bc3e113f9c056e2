//! Many held leases in one store, and what asking for one costs.

use std::time::Duration;

use fencehold::{Client, Lock, LockOptions, Renewal};
use serde_json::{Value, json};

use crate::{now, percentile};

const TTL: Duration = Duration::from_secs(3600);

fn options() -> LockOptions {
    LockOptions::ttl(TTL).renewal(Renewal::Checkpoint)
}

/// The time of one pair on the store as it is now.
fn pair(client: &Client) -> u64 {
    let lock = client.lock("probe", options()).expect("a handle");
    let mut times: Vec<u64> = (0..20_000)
        .map(|_| {
            let before = now();
            assert!(lock.acquire().expect("an answer").is_granted());
            assert!(lock.release().expect("an answer"));
            now() - before
        })
        .collect();
    times.sort_unstable();
    percentile(&times, 0.5)
}

fn disk_bytes(folder: &str) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(format!("{folder}/leases")).map_or(0, |file| file.blocks() * 512)
}

pub(crate) fn run(folder: &str, count: u64) -> Value {
    let client = Client::open(&format!("file:{folder}")).expect("a client");
    let empty = pair(&client);
    let empty_bytes = disk_bytes(folder);
    let held: Vec<Lock> = (0..count)
        .map(|at| {
            let lock = client.lock(&format!("reports/customer-{at:06}"), options()).expect("a handle");
            assert!(lock.acquire().expect("an answer").is_granted());
            lock
        })
        .collect();
    let full = pair(&client);
    let full_bytes = disk_bytes(folder);
    let before = now();
    let page = client.list("reports/", 1_000, "").expect("a list").len();
    let list = now() - before;
    assert_eq!(page, 1_000);
    // Ending the process ends the leases; giving each of them back would only take time.
    std::mem::forget(held);
    json!({
        "leases": count, "empty_ns": empty, "full_ns": full, "ratio": full as f64 / empty as f64,
        "bytes_per_lease": (full_bytes.saturating_sub(empty_bytes)) as f64 / count as f64,
        "file_bytes": full_bytes, "list_1000_ns": list,
    })
}

/// `keep_alive()` that is not due, beside one bare read of the same clock, in turns.
pub(crate) fn keep_alive() -> Value {
    const CALLS: u64 = 200_000;
    let client = Client::open("memory:").expect("a client");
    let lock = client.acquire("bench", options()).expect("a lock");
    let clock = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: room for the answer.
        unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) == 0 }
    };
    let (mut clocks, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..51 {
        let before = now();
        for _ in 0..CALLS {
            assert!(std::hint::black_box(clock()));
        }
        let between = now();
        for _ in 0..CALLS {
            assert!(std::hint::black_box(&lock).keep_alive());
        }
        clocks.push((between - before) * 1_000 / CALLS);
        calls.push((now() - between) * 1_000 / CALLS);
    }
    clocks.sort_unstable();
    calls.sort_unstable();
    let (clock, call) = (percentile(&clocks, 0.5) as f64 / 1e3, percentile(&calls, 0.5) as f64 / 1e3);
    json!({ "language": "Rust", "clock": "clock_gettime(CLOCK_BOOTTIME)", "clock_ns": clock, "keep_alive_ns": call, "ratio": call / clock })
}
