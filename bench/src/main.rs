//! Measures fencehold and flock(2) in processes of this machine. One command is one measurement, which prints one
//! JSON object; `bench/collect.py` puts them together. `fencehold-bench` without arguments lists them.

mod handover;
mod leases;
mod pairs;
mod renewals;
mod takeover;
mod workers;

use std::time::Instant;

use serde_json::Value;

/// A percentile of sorted numbers.
fn percentile(sorted: &[u64], part: f64) -> u64 {
    if sorted.is_empty() {
        return 0;
    }
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// CLOCK_MONOTONIC in nanoseconds, which all processes read alike.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What a lock is: a lease of ours, or flock(2) on a file.
enum Peer {
    Lease(fencehold::Lock),
    Flock(std::fs::File),
}

impl Peer {
    /// `lease` in the folder, or `flock` of a file in it.
    fn open(kind: &str, folder: &str, name: &str) -> Self {
        if kind == "flock" {
            let path = format!("{folder}/{name}.flock");
            let file = std::fs::File::options().create(true).append(true).open(path).expect("a file");
            return Self::Flock(file);
        }
        let client = fencehold::Client::open(&format!("file:{folder}")).expect("a client");
        let options = fencehold::LockOptions::ttl(std::time::Duration::from_secs(60));
        let options = if kind == "background" { options } else { options.renewal(fencehold::Renewal::Checkpoint) };
        Self::Lease(client.lock(name, options).expect("a handle"))
    }

    /// One try, of a lock that nobody else wants.
    fn try_once(&self) {
        match self {
            Self::Lease(lock) => assert!(lock.acquire().expect("an answer").is_granted()),
            Self::Flock(file) => flock(file, libc::LOCK_EX),
        }
    }

    fn take(&self) {
        match self {
            Self::Lease(lock) => {
                assert!(lock.acquire_within(fencehold::Wait::Forever).expect("an answer").is_granted())
            }
            Self::Flock(file) => flock(file, libc::LOCK_EX),
        }
    }

    fn give_back(&self) {
        match self {
            Self::Lease(lock) => assert!(lock.release().expect("an answer")),
            Self::Flock(file) => flock(file, libc::LOCK_UN),
        }
    }
}

fn flock(file: &std::fs::File, operation: libc::c_int) {
    use std::os::fd::AsRawFd as _;
    // SAFETY: an open descriptor.
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), operation) }, 0);
}

const USAGE: &str = "fencehold-bench pairs KIND FOLDER PROCESSES SECONDS [THREADS]
fencehold-bench handover KIND FOLDER WAITERS SECONDS
fencehold-bench takeover KIND FOLDER ROUNDS
fencehold-bench leases FOLDER COUNT
fencehold-bench renewals FOLDER COUNT SECONDS
fencehold-bench keep-alive
KIND is lease, background (a lease renewed by the library) or flock";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{text} is no number"));
    let began = Instant::now();
    let mut answer: Value = match words[..] {
        ["pairs", kind, folder, processes, seconds] => pairs::run(kind, folder, number(processes), number(seconds), 1),
        ["pairs", kind, folder, processes, seconds, threads] => {
            pairs::run(kind, folder, number(processes), number(seconds), number(threads))
        }
        ["handover", kind, folder, waiters, seconds] => handover::run(kind, folder, number(waiters), number(seconds)),
        ["takeover", kind, folder, rounds] => takeover::run(kind, folder, number(rounds)),
        ["leases", folder, count] => leases::run(folder, number(count)),
        ["renewals", folder, count, seconds] => renewals::run(folder, number(count), number(seconds)),
        ["keep-alive"] => leases::keep_alive(),
        ["worker", "pairs", ref rest @ ..] => return pairs::worker(rest),
        ["worker", "handover", ref rest @ ..] => return handover::worker(rest),
        ["worker", "takeover", ref rest @ ..] => return takeover::worker(rest),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(64);
        }
    };
    answer["took_seconds"] = began.elapsed().as_secs().into();
    println!("{answer}");
}
