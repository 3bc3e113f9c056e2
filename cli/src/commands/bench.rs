//! `fencehold bench`: what the store does from here.

use super::print;
use crate::args::{BenchArgs, StoreArgs};
use crate::exit::{Failure, INTERNAL};
use crate::store;
use fencehold::{Client, LockOptions, Ttl, Wait};
use serde_json::json;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One measured row: how many in how long, and the longest of them.
struct Row {
    what: &'static str,
    count: u64,
    took: Duration,
    median: Duration,
    p99: Duration,
}

pub(crate) fn run(store: &StoreArgs, args: &BenchArgs) -> Result<i32, Failure> {
    let time = store::duration(&args.time)?;
    let client = store::open(store)?;
    let mut rows = vec![pairs(&client, time)?, contended(&client, time)?, keep_alive(&client, time)?];
    rows.extend(whole_commands(store, time)?);
    let text = if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "what": row.what, "count": row.count, "perSecond": row.per_second(),
                        "medianNs": nanos(row.median), "p99Ns": nanos(row.p99) })
            })
            .collect();
        json!({ "store": client.store(), "rows": rows }).to_string()
    } else {
        let mut text = format!("{}\n{:<42} {:>12} {:>12} {:>12}\n", client.store(), "", "per second", "median", "p99");
        for row in &rows {
            let (median, p99) = (show(row.median), show(row.p99));
            let _ = writeln!(text, "{:<42} {:>12.0} {median:>12} {p99:>12}", row.what, row.per_second());
        }
        text
    };
    Ok(print(&text))
}

impl Row {
    fn new(what: &'static str, mut samples: Vec<Duration>, each: u64, took: Duration) -> Self {
        samples.sort_unstable();
        let at = |part: usize| samples.get(samples.len() * part / 100).copied().unwrap_or_default();
        Self { what, count: samples.len() as u64 * each, took, median: at(50), p99: at(99) }
    }

    fn per_second(&self) -> f64 {
        self.count as f64 / self.took.as_secs_f64()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn show(time: Duration) -> String {
    match time.as_nanos() {
        n @ 0..1000 => format!("{n} ns"),
        n @ 1000..1_000_000 => format!("{:.1} us", n as f64 / 1e3),
        n => format!("{:.2} ms", n as f64 / 1e6),
    }
}

fn options() -> Result<LockOptions, Failure> {
    Ok(LockOptions::from_ttl(Ttl::new(Duration::from_secs(30))?))
}

/// Acquire and release of a lock that nobody else wants.
fn pairs(client: &Client, time: Duration) -> Result<Row, Failure> {
    let lock = client.lock(&format!("fencehold-bench/{}", std::process::id()), options()?)?;
    let mut samples = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time {
        let start = Instant::now();
        if !lock.acquire()?.is_granted() || !lock.release()? {
            return Err(Failure::new(INTERNAL, "somebody else used the lock of this measurement"));
        }
        samples.push(start.elapsed());
    }
    Ok(Row::new("acquire + release, one process", samples, 1, began.elapsed()))
}

/// Four waiters of this process hand one lock around.
fn contended(client: &Client, time: Duration) -> Result<Row, Failure> {
    let name = format!("fencehold-bench/{}/shared", std::process::id());
    let began = Instant::now();
    let work = || -> Result<Vec<Duration>, Failure> {
        let lock = client.lock(&name, options()?)?;
        let mut samples = Vec::new();
        while began.elapsed() < time {
            let start = Instant::now();
            if lock.acquire_within(Wait::For(time))?.is_granted() {
                lock.release()?;
                samples.push(start.elapsed());
            }
        }
        Ok(samples)
    };
    let samples = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        let panicked = |_| Failure::new(INTERNAL, "a thread of the measurement panicked");
        threads.into_iter().map(|thread| thread.join().map_err(panicked)?).collect::<Result<Vec<_>, Failure>>()
    })?;
    Ok(Row::new("acquire + release, four contenders", samples.concat(), 1, began.elapsed()))
}

/// `keep_alive` while no renewal is due, in batches: one call is shorter than reading a clock twice.
fn keep_alive(client: &Client, time: Duration) -> Result<Row, Failure> {
    const BATCH: u64 = 1000;
    let name = format!("fencehold-bench/{}/kept", std::process::id());
    let lock = client.acquire(&name, options()?)?;
    let mut samples = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time {
        let start = Instant::now();
        for _ in 0..BATCH {
            black_box(lock.keep_alive());
        }
        samples.push(start.elapsed() / BATCH as u32);
    }
    let row = Row::new("keep_alive, not due", samples, BATCH, began.elapsed());
    lock.release()?;
    Ok(row)
}

/// `fencehold run NAME -- true` from start to end, in turn with what it replaces: `flock FILE true`, where there is one.
fn whole_commands(store: &StoreArgs, time: Duration) -> Result<Vec<Row>, Failure> {
    let failed = |e| Failure::system("cannot start a command to be measured", &e);
    let own = std::env::current_exe().map_err(failed)?;
    let file = flock_file();
    let mut ours = Command::new(own);
    ours.args(store.as_typed()).args(["run", &format!("fencehold-bench/{}/run", std::process::id()), "--", "true"]);
    let mut flock = Command::new("flock");
    flock.arg(&file).arg("true");
    let (mut with_lease, mut without) = (Vec::new(), Vec::new());
    let began = Instant::now();
    while began.elapsed() < time {
        with_lease.push(measure(&mut ours).map_err(failed)?);
        if let Ok(took) = measure(&mut flock) {
            without.push(took);
        }
    }
    // Whether it was made or not, nothing is left of it.
    let _ = std::fs::remove_file(&file);
    // Each is counted for the time that it took itself: they ran in turn.
    let row = |what, samples: Vec<Duration>| {
        let took = samples.iter().sum();
        (!samples.is_empty()).then(|| Row::new(what, samples, 1, took))
    };
    let rows = [row("fencehold run NAME -- true", with_lease), row("flock FILE true (no lease)", without)];
    Ok(rows.into_iter().flatten().collect())
}

fn flock_file() -> PathBuf {
    std::env::temp_dir().join(format!("fencehold-bench-{}", std::process::id()))
}

fn measure(command: &mut Command) -> std::io::Result<Duration> {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).status()?;
    if status.success() { Ok(start.elapsed()) } else { Err(std::io::Error::other(format!("{command:?}: {status}"))) }
}
