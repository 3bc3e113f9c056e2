//! The routes of queues.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use fencehold::Result;
use fencehold::internal::operations::Refused;
use fencehold::internal::{Moment, boot_now};
use serde_json::{Map, Value, json};

use super::answer::{failure, json as json_answer};
use super::{App, Shared};
use crate::queues::{self, Ack, Item, Pop, QUEUE_MODE};

/// The most messages of one answer.
const MOST_MESSAGES: usize = 10_000;
/// How many messages a pop delivers that does not say it.
const USUAL_BATCH: usize = 200;
/// How long a pop waits that does not say it, and at most.
const USUAL_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// How often a pop that waits looks although nobody rang, at least and at most.
const SHORTEST_LOOK: Duration = Duration::from_millis(50);
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// How many bytes one entry of a fetch answers.
const FETCH_BYTES: usize = 1 << 20;

fn bad_body(detail: &str) -> Response {
    json_answer(StatusCode::BAD_REQUEST, &json!({"error": detail, "code": "bad_body", "reason": "bad_body"}))
}

/// A refusal as queues answer it.
pub(super) fn refusal(refused: &Refused) -> Response {
    let status = match refused.reason {
        "name_too_long" => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST),
    };
    json_answer(status, &json!({"error": refused.detail, "code": refused.reason, "reason": refused.reason}))
}

fn object(body: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

pub(super) async fn push(State(app): Shared, body: Bytes) -> Response {
    let Some(Value::Array(items)) = object(&body).and_then(|mut members| members.remove("items")) else {
        return bad_body("the body is an object with the list `items`");
    };
    let mut parsed: Vec<std::result::Result<Item, Value>> = Vec::with_capacity(items.len());
    for item in &items {
        let Value::Object(members) = item else { return bad_body("a message is a JSON object") };
        parsed.push(queues::parse_item(members).map_err(|_| item.clone()));
    }
    let bells = app.bells.clone();
    let size = body.len() as u64 * 2 + 512 * items.len() as u64;
    let stored = app.store.write(size, move |step| {
        let mut elements = Vec::with_capacity(parsed.len());
        for (index, item) in parsed.iter().enumerate() {
            elements.push(match item {
                Ok(item) => {
                    let pushed = queues::push(step, item, &bells)?;
                    let status = if pushed.duplicate { "duplicate" } else { "queued" };
                    json!({"index": index, "message_id": pushed.message, "transaction_id": pushed.transaction,
                        "queueName": item.queue, "status": status, "offset": pushed.offset})
                }
                Err(item) => json!({"index": index, "message_id": "", "status": "error",
                    "transaction_id": item["transactionId"].as_str().unwrap_or_default(),
                    "queueName": item["queue"].as_str().unwrap_or_default()}),
            });
        }
        Ok(Value::Array(elements))
    });
    match stored.await {
        Ok(elements) => json_answer(StatusCode::CREATED, &elements),
        Err(error) => failure(&error),
    }
}

type Asked = Query<HashMap<String, String>>;

fn pop_of(queue: String, partition: Option<String>, asked: &HashMap<String, String>) -> (Pop, Duration) {
    let number = |name: &str| asked.get(name).and_then(|text| text.parse::<u64>().ok());
    let is_true = |name: &str| asked.get(name).is_some_and(|text| text == "true" || text == "1");
    let group = asked.get("consumerGroup").filter(|group| !group.is_empty() && group.len() <= 256);
    let wait = match is_true("wait") {
        true => number("timeout").map_or(USUAL_WAIT, Duration::from_millis).min(LONGEST_WAIT),
        false => Duration::ZERO,
    };
    let pop = Pop {
        queue,
        partition,
        group: group.map_or(QUEUE_MODE, String::as_str).to_string(),
        batch: number("batch").map_or(USUAL_BATCH, |batch| batch.clamp(1, MOST_MESSAGES as u64) as usize),
        partitions: number("partitions").map_or(1, |partitions| partitions.clamp(1, 64) as usize),
        from_start: group.is_none() || asked.get("subscriptionMode").is_some_and(|mode| mode == "all"),
        lease_seconds: number("leaseSeconds"),
        auto_ack: is_true("autoAck") || is_true("commitOnDelivery"),
    };
    (pop, wait)
}

pub(super) async fn pop_queue(State(app): Shared, Path(queue): Path<String>, Query(asked): Asked) -> Response {
    let (pop, wait) = pop_of(queue, None, &asked);
    pop_until(&app, pop, wait).await
}

pub(super) async fn pop_partition(
    State(app): Shared,
    Path((queue, partition)): Path<(String, String)>,
    Query(asked): Asked,
) -> Response {
    let (pop, wait) = pop_of(queue, Some(partition), &asked);
    pop_until(&app, pop, wait).await
}

pub(super) async fn pop_any() -> Response {
    let refused = queues::refused("bad_request", "a pop by namespace or task is not served here; name the queue");
    refusal(&refused)
}

async fn pop_until(app: &Arc<App>, pop: Pop, wait: Duration) -> Response {
    if let Err(refused) = queues::check_names(&[&pop.queue, pop.partition.as_deref().unwrap_or("p")]) {
        return refusal(&refused);
    }
    let ends = boot_now().after(wait);
    let bell = app.bells.of(&pop.queue);
    let mut stopping = app.stopping.clone();
    loop {
        // Listening before looking: what comes in between is heard.
        let rung = bell.notify.notified();
        tokio::pin!(rung);
        rung.as_mut().enable();
        let due = match try_pop(app, &pop).await {
            Ok(Tried::Delivered(body)) => return json_answer(StatusCode::OK, &body),
            Ok(Tried::Nothing(due)) => due,
            Err(error) => return failure(&error),
        };
        let now = boot_now();
        if now >= ends || *stopping.borrow() {
            let mut response = Response::new(axum::body::Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            return response;
        }
        let look = due.map_or(LONGEST_LOOK, |due| due.since(now)).clamp(SHORTEST_LOOK, LONGEST_LOOK);
        tokio::select! {
            () = rung => {}
            () = tokio::time::sleep(look.min(ends.since(now))) => {}
            _ = stopping.changed() => {}
        }
    }
}

enum Tried {
    Delivered(Value),
    Nothing(Option<Moment>),
}

async fn try_pop(app: &Arc<App>, pop: &Pop) -> Result<Tried> {
    let (has_some, due) = app.store.read(|rows| queues::has_some(rows, pop))?;
    if !has_some {
        return Ok(Tried::Nothing(due));
    }
    let pop = pop.clone();
    // A consumer that hung up meanwhile gets its messages again when the lease ends.
    let body = app.store.write(4096, move |step| queues::pop(step, &pop)).await?;
    Ok(body.map_or(Tried::Nothing(None), Tried::Delivered))
}

async fn acknowledge(app: &Arc<App>, acks: Vec<Ack>) -> Response {
    let bells = app.bells.clone();
    let done = app.store.write(1024 * acks.len() as u64, move |step| {
        let mut elements = Vec::with_capacity(acks.len());
        for (index, ack) in acks.iter().enumerate() {
            elements.push(match queues::acknowledge(step, ack, &bells)? {
                Ok(done) => json!({"index": index, "transactionId": ack.transaction, "success": true, "error": null,
                    "leaseReleased": done.released, "dlq": done.dead, "noop": false}),
                Err(why) => json!({"index": index, "transactionId": ack.transaction, "success": false, "error": why,
                    "leaseReleased": false, "dlq": false, "noop": false}),
            });
        }
        Ok(Value::Array(elements))
    });
    match done.await {
        Ok(elements) => json_answer(StatusCode::OK, &elements),
        Err(error) => failure(&error),
    }
}

pub(super) async fn ack(State(app): Shared, body: Bytes) -> Response {
    let Some(members) = object(&body) else { return bad_body("the body is a JSON object") };
    match queues::parse_ack(&members, None) {
        Ok(ack) => acknowledge(&app, vec![ack]).await,
        Err(refused) => refusal(&refused),
    }
}

pub(super) async fn ack_batch(State(app): Shared, body: Bytes) -> Response {
    let Some(members) = object(&body) else { return bad_body("the body is a JSON object") };
    let Some(Value::Array(list)) = members.get("acknowledgments") else {
        return bad_body("the body has the list `acknowledgments`");
    };
    let group = members.get("consumerGroup");
    let mut acks = Vec::with_capacity(list.len());
    for value in list {
        let Value::Object(members) = value else { return bad_body("an acknowledgement is a JSON object") };
        match queues::parse_ack(members, group) {
            Ok(ack) => acks.push(ack),
            Err(refused) => return refusal(&refused),
        }
    }
    acknowledge(&app, acks).await
}

pub(super) async fn extend(State(app): Shared, Path(lease): Path<String>, body: Bytes) -> Response {
    let seconds = object(&body).and_then(|members| members.get("seconds").and_then(Value::as_u64)).unwrap_or(60);
    let seconds = seconds.clamp(1, 86_400);
    let own = lease.clone();
    match app.store.write(1024, move |step| queues::extend(step, &own, seconds)).await {
        Ok(extended) => {
            let body = json!({"leaseId": lease, "success": extended, "extended": extended, "seconds": seconds});
            json_answer(StatusCode::OK, &body)
        }
        Err(error) => failure(&error),
    }
}

pub(super) async fn configure(State(app): Shared, body: Bytes) -> Response {
    let Some(members) = object(&body) else { return bad_body("the body is a JSON object") };
    let Some(queue) = members.get("queue").and_then(Value::as_str).map(str::to_string) else {
        return refusal(&queues::refused("bad_request", "queue is missing"));
    };
    if let Err(refused) = queues::check_names(&[&queue]) {
        return refusal(&refused);
    }
    let options = members.get("options").and_then(Value::as_object).cloned().unwrap_or_default();
    let own = queue.clone();
    match app.store.write(body.len() as u64, move |step| queues::configure(step, &own, &options)).await {
        Ok(all) => json_answer(StatusCode::OK, &json!({"queue": queue, "configured": true, "options": all})),
        Err(error) => failure(&error),
    }
}

pub(super) async fn delete(State(app): Shared, Path(queue): Path<String>) -> Response {
    if let Err(refused) = queues::check_names(&[&queue]) {
        return refusal(&refused);
    }
    let own = queue.clone();
    match app.store.write(0, move |step| queues::delete_queue(step, &own)).await {
        Ok(deleted) => json_answer(StatusCode::OK, &json!({"queue": queue, "deleted": deleted})),
        Err(error) => failure(&error),
    }
}

pub(super) async fn dead_letters(State(app): Shared, Query(asked): Asked) -> Response {
    let Some(queue) = asked.get("queue") else {
        return refusal(&queues::refused("bad_request", "queue is missing"));
    };
    if let Err(refused) = queues::check_names(&[queue]) {
        return refusal(&refused);
    }
    let number = |name: &str| asked.get(name).and_then(|text| text.parse::<usize>().ok());
    let (skip, limit) = (number("offset").unwrap_or(0), number("limit").unwrap_or(100).clamp(1, 1000));
    let group = asked.get("consumerGroup").map(String::as_str);
    match app.store.read_much(|rows| queues::dead_letters(rows, queue, group, skip, limit)) {
        Ok(page) => json_answer(StatusCode::OK, &page),
        Err(error) => failure(&error),
    }
}

pub(super) async fn fetch(State(app): Shared, body: Bytes) -> Response {
    let Some(members) = object(&body) else { return bad_body("the body is a JSON object") };
    let Some(Value::Array(list)) = members.get("entries") else { return bad_body("the body has the list `entries`") };
    let mut entries = Vec::with_capacity(list.len());
    for entry in list {
        let text = |member: &str| entry[member].as_str().map(str::to_string);
        let Some(queue) = text("queue") else { return bad_body("an entry names its queue") };
        let partition = text("partition").unwrap_or_else(|| queues::DEFAULT_PARTITION.into());
        let most = entry["maxBytes"].as_u64().map_or(FETCH_BYTES, |most| most.min(16 << 20) as usize);
        if let Err(refused) = queues::check_names(&[&queue, &partition]) {
            return refusal(&refused);
        }
        entries.push((queue, partition, entry["offset"].as_u64().unwrap_or_default(), most));
    }
    let wait = members.get("maxWaitMs").and_then(Value::as_u64).unwrap_or_default();
    let ends = boot_now().after(Duration::from_millis(wait).min(USUAL_WAIT));
    let mut stopping = app.stopping.clone();
    loop {
        let read = app.store.read(|rows| {
            entries
                .iter()
                .map(|(queue, partition, offset, most)| queues::fetch(rows, queue, partition, *offset, *most))
                .collect::<Result<Vec<Value>>>()
        });
        let found = match read {
            Ok(found) => found,
            Err(error) => return failure(&error),
        };
        let is_empty = found.iter().all(|entry| entry["records"].as_array().is_none_or(Vec::is_empty));
        let now = boot_now();
        if !is_empty || now >= ends || *stopping.borrow() {
            return json_answer(StatusCode::OK, &json!({"entries": found}));
        }
        tokio::select! {
            () = tokio::time::sleep(SHORTEST_LOOK.min(ends.since(now))) => {}
            _ = stopping.changed() => {}
        }
    }
}
