//! The lock route's JSON: what is asked, and what an answer has to look like.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::backend::{Ask, Hold};
use crate::info::{Holder, RefusalReason, Waiter, system_time};
use crate::kv::limits::MAX_PERMITS;
use crate::kv::stamp;

/// What is wrong with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

type Decoded<T> = Result<T, Malformed>;

fn call(operation: Value) -> Vec<u8> {
    json!({ "operations": [operation] }).to_string().into_bytes()
}

/// Lifetimes are whole seconds on the wire.
pub(super) fn seconds(ttl: Duration) -> u64 {
    ttl.as_nanos().div_ceil(1_000_000_000) as u64
}

/// An acquire that may wait at the server, if that server can. `waitMs`, `fair` and `label` are
/// always sent: who does not know them ignores them.
pub(super) fn acquire(ask: &Ask<'_>, wait: Duration, fair: bool) -> Vec<u8> {
    let mut operation = json!({
        "op": "acquire",
        "name": ask.name,
        "ttlSeconds": seconds(ask.ttl),
        "owner": ask.owner,
        "waitMs": wait.as_millis() as u64,
        "fair": fair,
        "label": ask.label,
    });
    if ask.permits > 1 {
        operation["limit"] = ask.permits.into();
    }
    call(operation)
}

pub(super) fn renew(ask: &Ask<'_>, hold: Hold) -> Vec<u8> {
    call(json!({
        "op": "renew",
        "name": ask.name,
        "slot": hold.slot,
        "token": hold.token,
        "ttlSeconds": seconds(ask.ttl),
        "owner": ask.owner,
    }))
}

pub(super) fn release(name: &str, hold: Hold) -> Vec<u8> {
    call(json!({"op": "release", "name": name, "slot": hold.slot, "token": hold.token}))
}

pub(super) fn leave(ask: &Ask<'_>) -> Vec<u8> {
    call(json!({"op": "leave", "name": ask.name, "owner": ask.owner}))
}

pub(super) fn get(name: &str) -> Vec<u8> {
    call(json!({"op": "get", "name": name}))
}

/// What a server says about the line of those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) position: u32,
    pub(super) length: u32,
}

/// The answer to an acquire.
#[derive(Debug)]
pub(super) enum Acquired {
    Granted { hold: Hold, already: bool, waited: Option<Duration> },
    Refused { reason: RefusalReason, holders: Vec<Holder>, waited: Option<Duration>, line: Option<Line> },
}

/// The answer to a renewal or a release.
#[derive(Debug)]
pub(super) enum Kept {
    Done { token: u64 },
    Lost(Vec<Holder>),
}

/// The one element of an answer to a call of one operation.
fn element(body: &[u8], op: &str, name: &str) -> Decoded<Map<String, Value>> {
    let Ok(Value::Object(mut answer)) = serde_json::from_slice(body) else {
        return Err(Malformed("it did not answer with a JSON object"));
    };
    let Some(Value::Array(mut results)) = answer.remove("results") else {
        return Err(Malformed("its answer has no list of results"));
    };
    let (Some(Value::Object(element)), true) = (results.pop(), results.is_empty()) else {
        return Err(Malformed("its answer has not one result for one operation"));
    };
    let same = |member: &str, expected: &Value| element.get(member) == Some(expected);
    if !(same("index", &json!(0)) && same("op", &json!(op)) && same("name", &json!(name))) {
        return Err(Malformed("its answer is to another operation"));
    }
    Ok(element)
}

fn flag(element: &Map<String, Value>, member: &'static str) -> Decoded<bool> {
    element.get(member).and_then(Value::as_bool).ok_or(Malformed("its answer does not say whether it was done"))
}

fn slot(element: &Map<String, Value>) -> Decoded<u32> {
    let slot = element.get("slot").and_then(Value::as_u64).filter(|slot| *slot < MAX_PERMITS.into());
    slot.map(|slot| slot as u32).ok_or(Malformed("its answer has no slot"))
}

fn token(element: &Map<String, Value>) -> Decoded<u64> {
    let token = element.get("token").and_then(Value::as_u64).filter(|token| (1..=i64::MAX as u64).contains(token));
    token.ok_or(Malformed("its answer has no token"))
}

/// The slot and the token of a grant, whose guard has to be for them.
fn hold(element: &Map<String, Value>, name: &str) -> Decoded<Hold> {
    let hold = Hold { slot: slot(element)?, token: token(element)? };
    let guard = element.get("guard").ok_or(Malformed("its answer has no guard"))?;
    let says = |member: &str, expected: Value| guard.get(member) == Some(&expected);
    if !says("expect", hold.token.into()) || !says("key", format!("{name}#{}", hold.slot).into()) {
        return Err(Malformed("the guard in its answer is for something else"));
    }
    Ok(hold)
}

fn millis(element: &Map<String, Value>, member: &str) -> Option<Duration> {
    element.get(member).and_then(Value::as_u64).map(Duration::from_millis)
}

fn text(element: &Map<String, Value>, member: &str) -> Option<String> {
    element.get(member).and_then(Value::as_str).map(String::from)
}

fn time(element: &Map<String, Value>, member: &str) -> Option<std::time::SystemTime> {
    element.get(member).and_then(Value::as_str).and_then(stamp::parse).map(system_time)
}

fn holders(element: &Map<String, Value>) -> Decoded<Vec<Holder>> {
    let Some(Value::Array(list)) = element.get("holders") else {
        return Err(Malformed("its answer has no list of holders"));
    };
    let holder = |value: &Value| {
        let element = value.as_object().ok_or(Malformed("a holder in its answer is no object"))?;
        Ok(Holder {
            slot: slot(element)?,
            token: element.get("token").and_then(Value::as_u64).unwrap_or(0),
            owner: text(element, "owner"),
            label: text(element, "label"),
            since: time(element, "since"),
            renewed_at: time(element, "renewedAt"),
            expires_at: time(element, "expiresAt"),
        })
    };
    list.iter().map(holder).collect()
}

fn lost(element: &Map<String, Value>) -> Decoded<Vec<Holder>> {
    if element.get("reason").and_then(Value::as_str) != Some("lost") {
        return Err(Malformed("its answer gives a reason that is none"));
    }
    holders(element)
}

pub(super) fn acquired(body: &[u8], ask: &Ask<'_>) -> Decoded<Acquired> {
    let element = element(body, "acquire", ask.name)?;
    let waited = millis(&element, "waited");
    if flag(&element, "acquired")? {
        let hold = hold(&element, ask.name)?;
        if hold.slot >= ask.permits {
            return Err(Malformed("it granted a permit that there is not"));
        }
        let already = element.get("already").and_then(Value::as_bool).unwrap_or(false);
        return Ok(Acquired::Granted { hold, already, waited });
    }
    let reason = match element.get("reason").and_then(Value::as_str) {
        Some("held") => RefusalReason::Held,
        Some("contended") => RefusalReason::Contended,
        _ => return Err(Malformed("its answer gives a reason that is none")),
    };
    let number = |member: &str| element.get(member).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let line = element
        .contains_key("ticket")
        .then(|| Line { position: number("position").unwrap_or(0), length: number("length").unwrap_or(0) });
    Ok(Acquired::Refused { reason, holders: holders(&element)?, waited, line })
}

pub(super) fn renewed(body: &[u8], ask: &Ask<'_>, held: Hold) -> Decoded<Kept> {
    let element = element(body, "renew", ask.name)?;
    if !flag(&element, "renewed")? {
        return Ok(Kept::Lost(lost(&element)?));
    }
    let hold = hold(&element, ask.name)?;
    if hold.slot != held.slot {
        return Err(Malformed("it renewed another permit"));
    }
    Ok(Kept::Done { token: hold.token })
}

pub(super) fn released(body: &[u8], name: &str) -> Decoded<Kept> {
    let element = element(body, "release", name)?;
    if flag(&element, "released")? { Ok(Kept::Done { token: 0 }) } else { Ok(Kept::Lost(lost(&element)?)) }
}

pub(super) fn shown(body: &[u8], name: &str) -> Decoded<crate::LockInfo> {
    let element = element(body, "get", name)?;
    let held = flag(&element, "held")?;
    let holders = holders(&element)?;
    if held == holders.is_empty() || holders.iter().any(|holder| holder.token == 0) {
        return Err(Malformed("its answer contradicts itself"));
    }
    let waiting = element.get("waiting").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let waiters = waiting.iter().filter_map(Value::as_object).enumerate().map(|(place, element)| Waiter {
        position: place as u32 + 1,
        owner: text(element, "owner").unwrap_or_default(),
        label: text(element, "label"),
        since: time(element, "since"),
    });
    Ok(crate::LockInfo { name: name.into(), held, holders, waiters: waiters.collect() })
}

/// A row of a namespace, as a list of rows shows it.
#[derive(Debug)]
pub(super) struct ListedRow {
    pub(super) key: String,
    pub(super) version: u64,
    value: Map<String, Value>,
    updated: Option<std::time::SystemTime>,
    expires: Option<std::time::SystemTime>,
}

impl ListedRow {
    /// The row as the holder of the permit `slot`.
    pub(super) fn holder(&self, slot: u32) -> Holder {
        Holder {
            slot,
            token: self.version,
            owner: text(&self.value, "owner"),
            label: text(&self.value, "label"),
            since: time(&self.value, "since").or(self.updated),
            renewed_at: self.updated,
            expires_at: self.expires,
        }
    }

    /// The row as a ticket.
    pub(super) fn waiter(&self, position: u32) -> Waiter {
        Waiter {
            position,
            owner: text(&self.value, "owner").unwrap_or_default(),
            label: text(&self.value, "label"),
            since: time(&self.value, "since").or(self.updated),
        }
    }
}

pub(super) fn list(namespace: &str, prefix: &str, after: Option<&str>, limit: usize) -> Vec<u8> {
    let body =
        json!({"namespace": namespace, "prefix": prefix, "after": after, "limit": limit, "includeExpired": false});
    body.to_string().into_bytes()
}

/// A page of rows, and where the next one begins.
pub(super) fn listed(body: &[u8]) -> Decoded<(Vec<ListedRow>, Option<String>)> {
    let Ok(Value::Object(answer)) = serde_json::from_slice(body) else {
        return Err(Malformed("it did not answer with a JSON object"));
    };
    let Some(Value::Array(rows)) = answer.get("rows") else {
        return Err(Malformed("its answer has no list of rows"));
    };
    let row = |row: &Value| {
        let element = row.as_object().ok_or(Malformed("a row in its answer is no object"))?;
        Ok(ListedRow {
            key: text(element, "key").ok_or(Malformed("a row in its answer has no key"))?,
            version: element.get("version").and_then(Value::as_u64).ok_or(Malformed("a row has no version"))?,
            value: element.get("value").and_then(Value::as_object).cloned().unwrap_or_default(),
            updated: time(element, "updatedAt"),
            expires: time(element, "expiresAt"),
        })
    };
    Ok((rows.iter().map(row).collect::<Decoded<_>>()?, text(&answer, "nextAfter")))
}

#[cfg(test)]
#[path = "tests/wire.rs"]
mod tests;
