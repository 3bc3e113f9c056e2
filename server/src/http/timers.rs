//! The routes of timers.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::Shared;
use super::answer::{failure, json as json_answer};
use super::kv::operations_of;
use super::queues::refusal;
use crate::queues::{self, refused};

/// The most operations of one call.
const MAX_OPERATIONS: usize = 256;

pub(super) async fn call(State(app): Shared, body: Bytes) -> Response {
    let Some(list) = operations_of(&body) else {
        return refusal(&refused("bad_request", "the body is an object with the list `operations`"));
    };
    if list.len() > MAX_OPERATIONS {
        return refusal(&refused("bad_request", format!("at most {MAX_OPERATIONS} operations are taken")));
    }
    let mut parsed = Vec::with_capacity(list.len());
    for value in &list {
        match queues::parse_timer(value) {
            Ok(op) => parsed.push(op),
            Err(refused) => return refusal(&refused),
        }
    }
    let size = body.len() as u64 * 2 + 1024 * parsed.len() as u64;
    let done = app.store.write(size, move |step| {
        parsed.iter().map(|op| queues::run_timers(step, op)).collect::<fencehold::Result<Vec<_>>>()
    });
    match done.await {
        Ok(results) => json_answer(StatusCode::OK, &json!({"results": results})),
        Err(error) => failure(&error),
    }
}

type Asked = Query<HashMap<String, String>>;

pub(super) async fn list(State(app): Shared, Path(queue): Path<String>, Query(asked): Asked) -> Response {
    let limit = asked.get("limit").and_then(|limit| limit.parse::<i64>().ok()).unwrap_or(100).clamp(1, 1000);
    let after = asked.get("after").map(String::as_str);
    match app.store.read(|rows| queues::list(rows, &queue, after, limit as usize)) {
        Ok(page) => json_answer(StatusCode::OK, &page),
        Err(error) => failure(&error),
    }
}

pub(super) async fn peek(State(app): Shared, Path((queue, key)): Path<(String, String)>) -> Response {
    match app.store.read(|rows| queues::peek(rows, &queue, &key)) {
        Ok(element) => json_answer(StatusCode::OK, &element),
        Err(error) => failure(&error),
    }
}

pub(super) async fn cancel(
    State(app): Shared,
    Path((queue, key)): Path<(String, String)>,
    Query(asked): Asked,
) -> Response {
    let expected = asked.get("txn").cloned();
    if let Err(refused) = queues::check_names(&[&queue, &key]) {
        return refusal(&refused);
    }
    let done = app.store.write(0, move |step| queues::cancel(step, &queue, &key, expected.as_deref()));
    match done.await {
        Ok(element) => json_answer(StatusCode::OK, &element),
        Err(error) => failure(&error),
    }
}
