//! Timers: messages that are pushed later.
//!
//! When a timer is due is a time of day, since it has to outlive restarts of the machine.

use std::ops::ControlFlow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fencehold::Result;
use fencehold::internal::operations::Refused;
use fencehold::internal::{Moment, Rows};
use serde_json::{Map, Value, json};

use super::{Bells, DEFAULT_PARTITION, Item, check_names, damaged, mint_id, push, refused};
use crate::store::Step;
use crate::store::encoding::Area;
use crate::store::rows::Reader;
use crate::values::zulu;

/// The most timers that one round pushes.
const ROUND: usize = 256;
/// How often the time of day is looked at, which may be set.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// What a timer operation does.
#[derive(Clone, Debug)]
pub(crate) enum TimerOp {
    Schedule { queue: String, key: String, partition: String, delay_millis: i64, transaction: String, payload: String },
    Cancel { queue: String, key: String, transaction: Option<String> },
}

/// Members that the server decides.
const OWNED: [&str; 9] = [
    "producerSub",
    "producer_sub",
    "messageId",
    "message_id",
    "tenant",
    "tenantId",
    "tenant_id",
    "deliverAt",
    "deliver_at",
];

/// Reads one operation.
pub(crate) fn parse_timer(value: &Value) -> std::result::Result<TimerOp, Refused> {
    let bad = |detail: &str| refused("bad_request", detail);
    let Value::Object(members) = value else { return Err(bad("a timer operation is a JSON object")) };
    if let Some(member) = OWNED.iter().find(|member| members.contains_key(**member)) {
        return Err(refused("timers_server_owned_field", format!("{member} is decided by the server")));
    }
    let text = |member: &str| members.get(member).and_then(Value::as_str).map(str::to_string);
    let op = text("op").unwrap_or_default();
    let queue = text("queue").ok_or_else(|| bad("a timer needs the name of a queue"))?;
    let key = text("timerKey").ok_or_else(|| bad("a timer needs a timerKey"))?;
    check_names(&[&queue, &key])?;
    match op.as_str() {
        "cancel" => Ok(TimerOp::Cancel { queue, key, transaction: text("txn") }),
        "schedule" | "reschedule" => schedule(members, queue, key),
        _ => Err(bad("a timer operation is schedule, reschedule or cancel")),
    }
}

fn schedule(members: &Map<String, Value>, queue: String, key: String) -> std::result::Result<TimerOp, Refused> {
    let bad = |detail: &str| refused("bad_request", detail);
    let text = |member: &str| members.get(member).and_then(Value::as_str).map(str::to_string);
    let partition = match text("partition") {
        Some(partition) if partition.is_empty() => return Err(bad("a partition has a name")),
        partition => partition.unwrap_or_else(|| DEFAULT_PARTITION.into()),
    };
    check_names(&[&queue, &partition])?;
    let delay_millis =
        members.get("delayMs").and_then(Value::as_i64).ok_or_else(|| bad("delayMs is a whole number"))?;
    let transaction = text("txn").filter(|txn| !txn.is_empty()).ok_or_else(|| bad("a timer needs a txn"))?;
    let payload = text("payload").ok_or_else(|| bad("a timer needs a payload, in base64"))?;
    let is_set = |member: &str| members.get(member).is_some_and(|flag| *flag == Value::Bool(true));
    if is_set("payloadZstd") || is_set("encrypted") {
        return Err(bad("payloads that are compressed or encrypted are not served here"));
    }
    if STANDARD.decode(&payload).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()).is_none() {
        return Err(bad("the payload is no JSON in base64"));
    }
    Ok(TimerOp::Schedule { queue, key, partition, delay_millis, transaction, payload })
}

fn row_key(queue: &str, key: &str) -> Vec<u8> {
    [queue.as_bytes(), b"\0", key.as_bytes()].concat()
}

/// The key by which a timer is found when it is due.
fn due_key(due_micros: i64, row: &[u8]) -> Vec<u8> {
    [u64::try_from(due_micros).unwrap_or_default().to_be_bytes().as_slice(), row].concat()
}

fn read(step: &Step<'_, '_>, row: &[u8]) -> Result<Option<Value>> {
    let Some(bytes) = step.rows.bytes(Area::Timers, row)? else { return Ok(None) };
    serde_json::from_slice(bytes).map(Some).map_err(|_| damaged("a timer cannot be read"))
}

/// Removes a timer; answers it, if there was one.
fn remove(step: &mut Step<'_, '_>, row: &[u8]) -> Result<Option<Value>> {
    let Some(timer) = read(step, row)? else { return Ok(None) };
    step.rows.delete_bytes(Area::Timers, row)?;
    step.rows.delete_bytes(Area::Due, &due_key(timer["due"].as_i64().unwrap_or_default(), row))?;
    Ok(Some(timer))
}

/// Does one operation; answers its element.
pub(crate) fn run(step: &mut Step<'_, '_>, op: &TimerOp) -> Result<Value> {
    match op {
        TimerOp::Cancel { queue, key, transaction } => cancel(step, queue, key, transaction.as_deref()),
        TimerOp::Schedule { queue, key, partition, delay_millis, transaction, payload } => {
            let row = row_key(queue, key);
            let now = step.rows.wall_micros();
            let before = remove(step, &row)?;
            let due = now.saturating_add(delay_millis.saturating_mul(1000)).max(0);
            let message = mint_id(now);
            let created = before.as_ref().and_then(|timer| timer["created"].as_i64()).unwrap_or(now);
            let timer = json!({"queue": queue, "key": key, "partition": partition, "due": due, "txn": transaction,
                "message": message, "payload": payload, "created": created, "updated": now});
            step.rows.put_bytes(Area::Timers, &row, timer.to_string().as_bytes())?;
            step.rows.put_bytes(Area::Due, &due_key(due, &row), &row)?;
            let status = if before.is_some() { "rescheduled" } else { "scheduled" };
            Ok(json!({"ok": true, "status": status, "queue": queue, "timerKey": key, "txn": transaction,
                "messageId": message, "deliverAt": zulu(due)}))
        }
    }
}

/// Cancels a timer. One that is not there may have been delivered.
pub(crate) fn cancel(step: &mut Step<'_, '_>, queue: &str, key: &str, expected: Option<&str>) -> Result<Value> {
    Ok(match remove(step, &row_key(queue, key))? {
        Some(timer) => json!({"ok": true, "status": "cancelled", "queue": queue, "timerKey": key,
            "txn": timer["txn"], "messageId": timer["message"],
            "deliverAt": zulu(timer["due"].as_i64().unwrap_or_default())}),
        None => json!({"ok": false, "status": "absent", "queue": queue, "timerKey": key, "txn": expected}),
    })
}

fn shown(timer: &Value) -> Value {
    let time = |member: &str| zulu(timer[member].as_i64().unwrap_or_default());
    json!({"queue": timer["queue"], "timerKey": timer["key"], "partition": timer["partition"],
        "deliverAt": time("due"), "txn": timer["txn"], "messageId": timer["message"], "payloadZstd": false,
        "encrypted": false, "attempts": 0, "claimed": false, "createdAt": time("created"),
        "updatedAt": time("updated")})
}

/// One timer with its payload.
pub(crate) fn peek(rows: &Reader<'_>, queue: &str, key: &str) -> Result<Value> {
    let Some(bytes) = rows.bytes(Area::Timers, &row_key(queue, key))? else {
        return Ok(json!({"found": false, "queue": queue, "timerKey": key}));
    };
    let timer: Value = serde_json::from_slice(bytes).map_err(|_| damaged("a timer cannot be read"))?;
    let mut element = shown(&timer);
    element["found"] = true.into();
    element["payload"] = timer["payload"].clone();
    Ok(element)
}

/// A page of a queue's timers, by their keys.
pub(crate) fn list(rows: &Reader<'_>, queue: &str, after: Option<&str>, limit: usize) -> Result<Value> {
    let after = after.map(|after| row_key(queue, after));
    let (mut found, mut more) = (Vec::new(), false);
    rows.walk_bytes(Area::Timers, &row_key(queue, ""), after.as_deref(), &mut |_, bytes| {
        if found.len() == limit {
            more = true;
            return Ok(ControlFlow::Break(()));
        }
        let timer: Value = serde_json::from_slice(bytes).map_err(|_| damaged("a timer cannot be read"))?;
        found.push(shown(&timer));
        Ok(ControlFlow::Continue(()))
    })?;
    let next = found.last().filter(|_| more).map(|timer| timer["timerKey"].clone());
    Ok(json!({"rows": found, "truncated": more, "nextAfter": next}))
}

/// Pushes the messages of timers that are due. Answers when the next one is.
pub(crate) fn fire(step: &mut Step<'_, '_>, bells: &Bells) -> Result<Option<Moment>> {
    let now = step.rows.wall_micros();
    let (mut due, mut next) = (Vec::new(), None);
    step.rows.walk_bytes(Area::Due, b"", None, &mut |key, row| {
        let at = key.get(..8).and_then(|at| at.try_into().ok()).map_or(0, u64::from_be_bytes);
        if due.len() == ROUND || at as i64 > now {
            next = Some(Duration::from_micros((at as i64 - now).max(0) as u64).min(LONGEST_SLEEP));
            return Ok(ControlFlow::Break(()));
        }
        due.push(row.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    for row in &due {
        let Some(timer) = remove(step, row)? else { continue };
        let text = |member: &str| timer[member].as_str().unwrap_or_default().to_string();
        let payload = STANDARD.decode(text("payload")).unwrap_or_default();
        let item = Item {
            queue: text("queue"),
            partition: text("partition"),
            payload: serde_json::from_slice(&payload).unwrap_or(Value::Null),
            transaction: Some(text("txn")),
            trace: None,
            message: Some(text("message")),
        };
        push(step, &item, bells)?;
    }
    Ok(next.map(|wait| step.rows.now().after(wait)))
}

/// Removes every timer of a queue.
pub(super) fn delete_all(step: &mut Step<'_, '_>, queue: &str) -> Result<()> {
    let mut rows = Vec::new();
    step.rows.walk_bytes(Area::Timers, &row_key(queue, ""), None, &mut |key, _| {
        rows.push(key.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    for row in rows {
        remove(step, &row)?;
    }
    Ok(())
}
