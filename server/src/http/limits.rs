//! What keeps one client from taking everything: rates, rows, and the switch of the operator.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use fencehold::internal::{Moment, boot_now};
use serde_json::{Value, json};

use super::answer::{json as json_answer, retry_after};
use super::{App, Shared};

/// What a call takes from its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
}

/// Calls that may be made: so many a second, and twice as many at once.
struct Bucket {
    rate: f64,
    /// What is left, and when that was.
    left: Mutex<(f64, Moment)>,
}

impl Bucket {
    fn new(rate: u32) -> Self {
        let rate = f64::from(rate);
        Self { rate, left: Mutex::new((rate * 2.0, boot_now())) }
    }

    /// Takes one. False: there is none.
    fn take(&self, now: Moment) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = left.0 + now.since(left.1).as_secs_f64() * self.rate;
        *left = (filled.min(self.rate * 2.0), now.max(left.1));
        if left.0 < 1.0 {
            return false;
        }
        left.0 -= 1.0;
        true
    }
}

/// The limits of a server.
pub(crate) struct Limits {
    reads: Option<Bucket>,
    writes: Option<Bucket>,
    most_rows: Option<u64>,
    is_paused: AtomicBool,
}

impl Limits {
    pub(crate) fn new(reads: Option<u32>, writes: Option<u32>, most_rows: Option<u64>) -> Self {
        Self {
            reads: reads.map(Bucket::new),
            writes: writes.map(Bucket::new),
            most_rows,
            is_paused: AtomicBool::new(false),
        }
    }

    /// Refuses a call while the operator has paused rows and locks.
    pub(super) fn check_pause(&self) -> Result<(), Response> {
        if !self.is_paused.load(Ordering::Relaxed) {
            return Ok(());
        }
        let body = json!({"error": "kv_disabled", "reason": "kv_disabled", "detail": "the operator has paused it"});
        Err(retry_after(json_answer(StatusCode::SERVICE_UNAVAILABLE, &body), 1))
    }

    /// Refuses a call beyond the rate, or one that adds `rows` beyond the limit.
    pub(super) fn check(&self, app: &App, kind: Kind, rows: u64) -> Result<(), Response> {
        self.check_pause()?;
        if let Some(most) = self.most_rows.filter(|_| rows > 0) {
            let counts = app.store.counts();
            if counts.locks + counts.values + rows > most {
                let body = json!({"error": "kv_quota_exceeded", "reason": "kv_quota_exceeded",
                    "detail": format!("the server keeps at most {most} rows")});
                return Err(json_answer(StatusCode::FORBIDDEN, &body));
            }
        }
        let bucket = match kind {
            Kind::Read => &self.reads,
            Kind::Write => &self.writes,
        };
        if bucket.as_ref().is_none_or(|bucket| bucket.take(boot_now())) {
            return Ok(());
        }
        let body = json!({"error": "rate_limited", "reason": "rate_limited", "detail": "too many calls; come back"});
        Err(retry_after(json_answer(StatusCode::TOO_MANY_REQUESTS, &body), 1))
    }
}

pub(super) async fn paused(State(app): Shared) -> Response {
    json_answer(StatusCode::OK, &json!({"paused": app.limits.is_paused.load(Ordering::Relaxed)}))
}

/// `{"paused": true}` pauses rows and locks, until it is taken back or the server starts again.
pub(super) async fn pause(State(app): Shared, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let Some(paused) = asked["paused"].as_bool() else {
        let body =
            json!({"error": "the body is {\"paused\": true} or false", "code": "bad_body", "reason": "bad_body"});
        return json_answer(StatusCode::BAD_REQUEST, &body);
    };
    app.limits.is_paused.store(paused, Ordering::Relaxed);
    json_answer(StatusCode::OK, &json!({"paused": paused}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_holds_two_seconds_and_fills_again() {
        let bucket = Bucket::new(2);
        let now = boot_now();
        assert!((0..4).all(|_| bucket.take(now)));
        assert!(!bucket.take(now));
        let later = now.after(Duration::from_millis(600));
        assert!(bucket.take(later) && !bucket.take(later));
    }
}
