//! What the server counts, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper ends of the buckets, in microseconds.
const BUCKETS: [u64; 14] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

/// A distribution of durations.
#[derive(Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

impl Histogram {
    fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(at) = BUCKETS.iter().position(|end| micros <= *end) {
            self.buckets[at].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, labels: &str, unit: f64) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mut sum = 0;
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            sum += bucket.load(Ordering::Relaxed);
            let end = end as f64 / unit;
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{end}\"}} {sum}");
        }
        let count = self.count.load(Ordering::Relaxed);
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(out, "{name}_sum{braces} {}", self.micros.load(Ordering::Relaxed) as f64 / unit);
        let _ = writeln!(out, "{name}_count{braces} {count}");
    }
}

/// The operations of the lock route, with what each can come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum LockResult {
    Granted,
    Already,
    Held,
    Renewed,
    RenewLost,
    Released,
    ReleaseLost,
    Read,
    Left,
    Refused,
}

const LOCK_RESULTS: [(&str, &str); 10] = [
    ("acquire", "granted"),
    ("acquire", "already"),
    ("acquire", "held"),
    ("renew", "renewed"),
    ("renew", "lost"),
    ("release", "released"),
    ("release", "lost"),
    ("get", "ok"),
    ("leave", "ok"),
    ("call", "refused"),
];

/// How a lease ended that was not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Loss {
    /// A renewal came too late.
    Renew,
    /// A guard did not hold.
    Guard,
    /// Its time was over.
    Expired,
}

const LOSSES: [&str; 3] = ["renew", "guard", "expired"];

/// All counters of a server.
#[derive(Default)]
pub(crate) struct Metrics {
    locks: [AtomicU64; LOCK_RESULTS.len()],
    losses: [AtomicU64; LOSSES.len()],
    requests: Histogram,
    lock_calls: Histogram,
    commits: Histogram,
    committed: AtomicU64,
    answers: [AtomicU64; 5],
}

/// What the server looks up at the moment of asking.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) held: u64,
    pub(crate) waiting: u64,
    pub(crate) polling: u64,
    pub(crate) connections: u64,
}

impl Metrics {
    pub(crate) fn lock(&self, result: LockResult) {
        self.locks[result as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self, loss: Loss, count: u64) {
        self.losses[loss as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// A group of `count` commands was made durable.
    pub(crate) fn committed(&self, took: Duration, count: usize) {
        self.commits.record(took);
        self.committed.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// A call was answered with this status.
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        self.requests.record(took);
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lock_call(&self, took: Duration) {
        self.lock_calls.record(took);
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let mut out = String::with_capacity(8192);
        let head = |name: &str, kind: &str, help: &str, out: &mut String| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        for (name, help, value) in [
            ("fencehold_held", "Permits that are held.", gauges.held),
            ("fencehold_waiting", "Tickets in line.", gauges.waiting),
            ("fencehold_polling", "Connections that wait for a permit.", gauges.polling),
            ("fencehold_connections", "Open connections.", gauges.connections),
        ] {
            head(name, "gauge", help, &mut out);
            let _ = writeln!(out, "{name} {value}");
        }
        head("queen_locks_ops_total", "counter", "Operations on locks by what they came to.", &mut out);
        for ((op, result), count) in LOCK_RESULTS.iter().zip(&self.locks) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "queen_locks_ops_total{{op=\"{op}\",result=\"{result}\"}} {count}");
        }
        let grants = self.locks[LockResult::Granted as usize].load(Ordering::Relaxed);
        head("fencehold_grants_total", "counter", "Permits granted.", &mut out);
        let _ = writeln!(out, "fencehold_grants_total {grants}");
        head(
            "fencehold_losses_total",
            "counter",
            "Leases that ended without a release, by how it was found.",
            &mut out,
        );
        for (reason, count) in LOSSES.iter().zip(&self.losses) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "fencehold_losses_total{{reason=\"{reason}\"}} {count}");
        }
        head("queen_locks_op_duration_milliseconds", "histogram", "Calls of the lock route, waits included.", &mut out);
        self.lock_calls.write(&mut out, "queen_locks_op_duration_milliseconds", "", 1_000.0);
        head("fencehold_http_request_seconds", "histogram", "Calls, waits included.", &mut out);
        self.requests.write(&mut out, "fencehold_http_request_seconds", "", 1_000_000.0);
        head("fencehold_http_answers_total", "counter", "Answers by class of status.", &mut out);
        for (class, count) in self.answers.iter().enumerate() {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "fencehold_http_answers_total{{class=\"{}xx\"}} {count}", class + 1);
        }
        head("fencehold_commit_seconds", "histogram", "Writing a group of commands to the disk.", &mut out);
        self.commits.write(&mut out, "fencehold_commit_seconds", "", 1_000_000.0);
        head("fencehold_committed_total", "counter", "Commands that were made durable.", &mut out);
        let _ = writeln!(out, "fencehold_committed_total {}", self.committed.load(Ordering::Relaxed));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up_and_refusals_are_no_errors() {
        let metrics = Metrics::default();
        metrics.committed(Duration::from_micros(60), 3);
        metrics.committed(Duration::from_secs(9), 1);
        metrics.lock(LockResult::Held);
        metrics.answered(200, Duration::from_micros(10));
        let text = metrics.text(Gauges { held: 2, ..Gauges::default() });
        for line in [
            "fencehold_held 2",
            "fencehold_commit_seconds_bucket{le=\"0.00005\"} 0",
            "fencehold_commit_seconds_bucket{le=\"0.0001\"} 1",
            "fencehold_commit_seconds_bucket{le=\"5\"} 1",
            "fencehold_commit_seconds_bucket{le=\"+Inf\"} 2",
            "fencehold_committed_total 4",
            "queen_locks_ops_total{op=\"acquire\",result=\"held\"} 1",
            "fencehold_http_answers_total{class=\"4xx\"} 0",
            "fencehold_http_answers_total{class=\"5xx\"} 0",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
    }
}
