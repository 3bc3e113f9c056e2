//! The key-value routes.

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use fencehold::Result;
use fencehold::internal::operations::{self, Applied, Operation, Precondition, Refused, Scope};
use serde_json::{Map, Value, json};

use super::answer::{Family, failure, json as json_answer, refusal};
use super::limits::Kind;
use super::{App, Shared};
use crate::values;

fn refused(reason: &'static str, detail: impl Into<String>) -> Response {
    refusal(Family::Kv, &Refused { status: 400, reason, detail: detail.into() })
}

fn no_query(query: &RawQuery) -> std::result::Result<(), Response> {
    match query.0 {
        Some(_) => Err(refused("kv_no_query_string", "what is asked for goes into the body, not behind a '?'")),
        None => Ok(()),
    }
}

/// The operations of a body that is a list of them, or an object that has the list.
pub(super) fn operations_of(body: &[u8]) -> Option<Vec<Value>> {
    match serde_json::from_slice(body).ok()? {
        Value::Array(operations) => Some(operations),
        Value::Object(mut members) => match members.remove("operations") {
            Some(Value::Array(operations)) => Some(operations),
            _ => None,
        },
        _ => None,
    }
}

/// The members that describe an operation that was required and lost.
pub(super) fn precondition(lost: &Precondition, index: usize) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("failedIndex".into(), index.into());
    members.insert("kvReason".into(), lost.reason.into());
    members.insert("version".into(), lost.version.into());
    members.insert("value".into(), lost.value.clone());
    // A value is for a look at who is in the way, not for reading large rows.
    if Value::Object(members.clone()).to_string().chars().count() > 4096 {
        members.clear();
    }
    members.insert("ok".into(), false.into());
    members.insert("reason".into(), "kv_precondition".into());
    members
}

async fn run(app: &App, parsed: Vec<Operation>, size: u64) -> Result<Applied> {
    let only_reads =
        parsed.iter().all(|operation| matches!(operation.name(), "get" | "getMany" | "getPrefix" | "check"));
    if only_reads {
        return app.store.read(|rows| operations::apply(rows, &parsed, &mut Vec::new()));
    }
    let size = size + 256 * parsed.len() as u64;
    app.store.write(size, move |step| values::apply(step, &parsed)).await
}

pub(super) async fn call(State(app): Shared, query: RawQuery, body: Bytes) -> Response {
    if let Err(refusal) = no_query(&query) {
        return refusal;
    }
    let Some(list) = operations_of(&body) else {
        return refused("kv_bad_body", "the body is a list of operations, or an object with the list `operations`");
    };
    let parsed = match operations::parse(&list, Scope::Call) {
        Ok(parsed) => parsed,
        Err(refused) => return refusal(Family::Kv, &refused),
    };
    if let Err(refusal) = check_limits(&app, &parsed) {
        return refusal;
    }
    match run(&app, parsed, body.len() as u64).await {
        Ok(Applied::Results(results)) => json_answer(StatusCode::OK, &json!({"results": results})),
        Ok(Applied::Precondition(lost)) => json_answer(StatusCode::OK, &Value::Object(precondition(&lost, lost.index))),
        Err(error) => failure(&error),
    }
}

/// Takes what a call costs: one read or one write, however many operations it has.
fn check_limits(app: &App, parsed: &[Operation]) -> std::result::Result<(), Response> {
    if parsed.is_empty() {
        return Ok(());
    }
    let kind = if parsed.iter().any(Operation::is_write) { Kind::Write } else { Kind::Read };
    let adds = |operation: &&Operation| matches!(operation.name(), "put" | "putIfAbsent" | "incr");
    app.limits.check(app, kind, parsed.iter().filter(adds).count() as u64)
}

type Place = std::result::Result<Path<(String, String)>, PathRejection>;

/// One operation on the row that the path names.
async fn one(app: &App, op: &str, place: Place, query: RawQuery, body: &[u8]) -> Response {
    if let Err(refusal) = no_query(&query) {
        return refusal;
    }
    let Ok(Path((namespace, key))) = place else {
        return refused("kv_bad_key", "the key in the path is no text");
    };
    let mut members = match members_of(op, body) {
        Ok(members) => members,
        Err(refusal) => return refusal,
    };
    if let Some(member) = ["op", "ns", "namespace", "key"].iter().find(|member| members.contains_key(**member)) {
        return refused("kv_field_in_path", format!("{member} is told by the path and does not go into the body"));
    }
    members.insert("op".into(), op.into());
    members.insert("ns".into(), namespace.into());
    members.insert("key".into(), key.into());
    let parsed = match operations::parse(&[Value::Object(members)], Scope::Call) {
        Ok(parsed) => parsed,
        Err(refused) => return refusal(Family::Kv, &refused),
    };
    if let Err(refusal) = check_limits(app, &parsed) {
        return refusal;
    }
    match run(app, parsed, body.len() as u64 + 1024).await {
        Ok(Applied::Results(results)) => {
            let element = results.into_iter().next().unwrap_or(Value::Null);
            let mut response = json_answer(StatusCode::OK, &element);
            if let (Some(true), Some(version)) = (element["found"].as_bool(), element["version"].as_u64())
                && let Ok(tag) = HeaderValue::try_from(format!("\"{version}\""))
            {
                response.headers_mut().insert(header::ETAG, tag);
            }
            response
        }
        Ok(Applied::Precondition(lost)) => json_answer(StatusCode::OK, &Value::Object(precondition(&lost, lost.index))),
        Err(error) => failure(&error),
    }
}

fn members_of(op: &str, body: &[u8]) -> std::result::Result<Map<String, Value>, Response> {
    if op == "get" || op == "delete" && body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) if op == "delete" => Ok(Map::new()),
        _ => Err(refused("kv_bad_body", "the body is a JSON object")),
    }
}

pub(super) async fn get(State(app): Shared, place: Place, query: RawQuery) -> Response {
    one(&app, "get", place, query, &[]).await
}

pub(super) async fn put(State(app): Shared, place: Place, query: RawQuery, body: Bytes) -> Response {
    one(&app, "put", place, query, &body).await
}

pub(super) async fn delete(State(app): Shared, place: Place, query: RawQuery, body: Bytes) -> Response {
    one(&app, "delete", place, query, &body).await
}

pub(super) async fn namespaces(State(app): Shared) -> Response {
    if let Err(refusal) = app.limits.check_pause() {
        return refusal;
    }
    match app.store.read_much(|rows| values::namespaces(rows)) {
        Ok(found) => {
            let found: Vec<Value> =
                found.into_iter().map(|(namespace, keys)| json!({"namespace": namespace, "keys": keys})).collect();
            json_answer(StatusCode::OK, &json!({"namespaces": found}))
        }
        Err(error) => failure(&error),
    }
}

pub(super) async fn list(State(app): Shared, query: RawQuery, body: Bytes) -> Response {
    if let Err(refusal) = no_query(&query) {
        return refusal;
    }
    let Ok(Value::Object(members)) = serde_json::from_slice(&body) else {
        return refused("kv_bad_body", "the body is a JSON object");
    };
    let page = match values::Page::parse(&members) {
        Ok(page) => page,
        Err(refused) => return refusal(Family::Kv, &refused),
    };
    if let Err(refusal) = app.limits.check_pause() {
        return refusal;
    }
    match app.store.read_much(|rows| page.read(rows)) {
        Ok(mut found) => {
            if page.with_waiting() {
                found["held"] = app.store.counts().locks.into();
            }
            json_answer(StatusCode::OK, &found)
        }
        Err(error) => failure(&error),
    }
}
