//! The elements of an answer, as the wire has them.

use std::time::Duration;

use fencehold::Holder;
use fencehold::internal::operations::LOCKS;
use fencehold::internal::{Hold, Row, Rows, stamp, value};
use serde_json::{Map, Value, json};

use crate::lines::{Asked, InLine, Verdict};

/// The operation that makes a transaction depend on a permit.
fn guard(name: &str, hold: Hold) -> Value {
    let key = format!("{name}#{}", hold.slot);
    json!({"op": "check", "ns": LOCKS, "key": key, "expect": hold.token, "required": true})
}

fn element(index: usize, op: &str, name: &str) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("index".into(), index.into());
    members.insert("op".into(), op.into());
    members.insert("name".into(), name.into());
    members
}

fn holders(holders: &[Holder]) -> Value {
    holders.iter().map(|holder| json!({"slot": holder.slot, "owner": holder.owner})).collect()
}

fn tell_line(members: &mut Map<String, Value>, line: InLine) {
    members.insert("ticket".into(), line.ticket.map(|number| format!("{number:010}")).into());
    members.insert("position".into(), line.position.into());
    members.insert("length".into(), line.length.into());
}

/// The answer to an acquire that was decided; `waited`: it said how long it may wait.
pub(crate) fn verdict_element(index: usize, asked: &Asked, verdict: &Verdict, waited: Option<Duration>) -> Value {
    let mut members = element(index, "acquire", &asked.name);
    let line = match verdict {
        Verdict::Granted { hold, already, line, .. } => {
            members.insert("acquired".into(), true.into());
            members.insert("slot".into(), hold.slot.into());
            members.insert("token".into(), hold.token.into());
            let owner = (!asked.owner.is_empty()).then(|| asked.owner.clone());
            members.insert("owner".into(), owner.into());
            members.insert("guard".into(), guard(&asked.name, *hold));
            if *already {
                members.insert("already".into(), true.into());
            }
            *line
        }
        Verdict::Refused { holders: held, line } => {
            members.insert("acquired".into(), false.into());
            members.insert("reason".into(), "held".into());
            members.insert("holders".into(), holders(held));
            *line
        }
        Verdict::Failed(_) => return Value::Object(members),
    };
    if asked.fair {
        tell_line(&mut members, line);
    }
    // Of a grant as well, whose lease the client counts from then on and not from when it asked.
    if let Some(waited) = waited {
        members.insert("waited".into(), (waited.as_millis() as u64).into());
    }
    Value::Object(members)
}

pub(super) fn renewed(index: usize, name: &str, hold: Hold) -> Value {
    let mut members = element(index, "renew", name);
    members.insert("renewed".into(), true.into());
    members.insert("slot".into(), hold.slot.into());
    members.insert("token".into(), hold.token.into());
    members.insert("guard".into(), guard(name, hold));
    Value::Object(members)
}

pub(super) fn released(index: usize, name: &str, slot: u32) -> Value {
    let mut members = element(index, "release", name);
    members.insert("released".into(), true.into());
    members.insert("slot".into(), slot.into());
    Value::Object(members)
}

/// A renewal or a release that came too late.
pub(super) fn lost(index: usize, op: &str, done: &str, name: &str, slot: u32, held: &[Holder]) -> Value {
    let mut members = element(index, op, name);
    members.insert(done.into(), false.into());
    members.insert("reason".into(), "lost".into());
    members.insert("slot".into(), slot.into());
    members.insert("holders".into(), holders(held));
    Value::Object(members)
}

pub(super) fn left(index: usize, name: &str, left: bool) -> Value {
    let mut members = element(index, "leave", name);
    members.insert("left".into(), left.into());
    Value::Object(members)
}

pub(super) fn shown(index: usize, name: &str, held: Vec<Value>, waiting: Vec<Value>) -> Value {
    let mut members = element(index, "get", name);
    members.insert("held".into(), (!held.is_empty()).into());
    members.insert("holders".into(), held.into());
    members.insert("waiting".into(), waiting.into());
    Value::Object(members)
}

/// A permit as `get` shows it.
pub(super) fn holder(rows: &dyn Rows, slot: u32, row: &Row) -> Value {
    let value: Value = serde_json::from_slice(&row.value).unwrap_or(Value::Null);
    let text = |member: &str| value.get(member).and_then(Value::as_str).map(str::to_string);
    let renewed_at = stamp::format(row.updated_micros);
    let expires_at = row.expires.map(|end| {
        let left = i64::try_from(end.since(rows.now()).as_micros()).unwrap_or(i64::MAX);
        stamp::format(rows.wall_micros().saturating_add(left))
    });
    let mut element = json!({
        "slot": slot,
        "owner": text("owner"),
        "token": row.version,
        "since": text("since").unwrap_or_else(|| renewed_at.clone()),
        "expiresAt": expires_at,
        "renewedAt": renewed_at,
    });
    if let Some(label) = text("label") {
        element["label"] = label.into();
    }
    element
}

/// A ticket as `get` shows it.
pub(super) fn waiter(position: usize, number: u64, row: &Row) -> Value {
    let facts = value::Facts::of(&row.value);
    json!({
        "ticket": format!("{number:010}"),
        "position": position,
        "owner": facts.owner,
        "label": facts.label,
        "since": stamp::format(facts.since_micros.unwrap_or(row.updated_micros)),
    })
}
