//! Doing a call inside one transaction of rows.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::parse::{Action, Expiry, Operation};
use super::{LOCKS, MAX_READ_BYTES, place};
use crate::Result;
use crate::clock::Moment;
use crate::kv::row::{ClientId, NewRow, Row, Rows, Table};
use crate::kv::{key, line, locks, stamp};

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Applied {
    /// One element for each operation, in the order of the call.
    Results(Vec<Value>),
    /// A required operation lost, and nothing was written.
    Precondition(Precondition),
}

/// A required operation that lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Precondition {
    /// Its place in the call.
    pub index: usize,
    /// `exists`, `absent`, `version`, `limit` or `type`.
    pub reason: &'static str,
    /// The version of the row in the way; 0: there is none.
    pub version: u64,
    /// The row's value.
    pub value: Value,
}

/// What an operation that writes will do.
enum Verdict {
    Put { value: Vec<u8>, expires: Option<Moment> },
    Deleted(Option<Row>),
    Held(u64),
    Lost { reason: &'static str, row: Option<Row> },
}

/// Does a call: judges everything first, and writes only if no required operation lost. The words
/// of those who now have to look at a lock go to `wakes`.
///
/// # Errors
/// Whatever the store says.
pub fn apply(rows: &mut dyn Rows, operations: &[Operation], wakes: &mut Vec<u32>) -> Result<Applied> {
    let mut verdicts = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let verdict = judge(rows, operation)?;
        if let Some(Verdict::Lost { reason, row }) = &verdict
            && operation.required
        {
            let version = row.as_ref().map_or(0, |row| row.version);
            let value = row.as_ref().map_or(Value::Null, value_of);
            return Ok(Applied::Precondition(Precondition { index, reason, version, value }));
        }
        verdicts.push(verdict);
    }
    let mut results = vec![Value::Null; operations.len()];
    let mut budget = MAX_READ_BYTES;
    for index in order(operations) {
        let operation = &operations[index];
        results[index] = match verdicts[index].take() {
            Some(verdict) => write(rows, operation, verdict, wakes)?,
            None => read(rows, operation, &mut budget)?,
        };
        if let Value::Object(members) = &mut results[index] {
            members.insert("index".into(), index.into());
            members.insert("op".into(), operation.name().into());
        }
    }
    Ok(Applied::Results(results))
}

/// Single keys first, then the reads of many; within each by namespace, key and place in the call.
fn order(operations: &[Operation]) -> Vec<usize> {
    let place = |operation: &Operation| -> (bool, String, String) {
        let (many, key) = match &operation.action {
            Action::GetMany { keys } => (true, keys.first().cloned().unwrap_or_default()),
            Action::GetPrefix { prefix, .. } => (true, prefix.clone()),
            Action::Get { key } => (false, key.clone()),
            _ => (false, operation.written_key().unwrap_or_default().to_string()),
        };
        (many, operation.namespace.clone(), key)
    };
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_cached_key(|index| place(&operations[*index]));
    order
}

/// The row at a key unless it is over.
fn live(rows: &mut dyn Rows, table: Table, key: &[u8]) -> Result<Option<Row>> {
    let row = rows.get(table, key)?;
    Ok(row.filter(|row| locks::is_live(rows, row)))
}

fn value_of(row: &Row) -> Value {
    serde_json::from_slice(&row.value).unwrap_or(Value::Null)
}

fn ends(rows: &dyn Rows, expiry: Expiry) -> Option<Moment> {
    match expiry {
        Expiry::Seconds(seconds) => Some(rows.now().after(Duration::from_secs(seconds))),
        Expiry::Forever => None,
    }
}

/// Why a row does not meet an expectation.
fn lost(row: Option<&Row>, expect: Option<u64>) -> Option<&'static str> {
    match (expect, row) {
        (None, _) | (Some(0), None) => None,
        (Some(0), Some(_)) => Some("exists"),
        (Some(_), None) => Some("absent"),
        (Some(version), Some(row)) if row.version == version => None,
        (Some(_), Some(_)) => Some("version"),
    }
}

fn judge(rows: &mut dyn Rows, operation: &Operation) -> Result<Option<Verdict>> {
    let Some(key) = operation.written_key() else { return Ok(None) };
    let (table, key) = place(&operation.namespace, key);
    let row = live(rows, table, &key)?;
    let verdict = match &operation.action {
        Action::Put { value, expiry, expect, .. } => match lost(row.as_ref(), *expect) {
            Some(reason) => Verdict::Lost { reason, row },
            None => Verdict::Put { value: value.to_string().into_bytes(), expires: ends(rows, *expiry) },
        },
        Action::Delete { expect, .. } => match (lost(row.as_ref(), *expect), &row) {
            (Some(reason), _) => Verdict::Lost { reason, row },
            (None, None) if expect.is_none() => Verdict::Lost { reason: "absent", row },
            (None, _) => Verdict::Deleted(row),
        },
        Action::Check { expect, .. } => match lost(row.as_ref(), Some(*expect)) {
            Some(reason) => Verdict::Lost { reason, row },
            None => Verdict::Held(*expect),
        },
        Action::Incr { delta, min, max, expiry, .. } => {
            let before = match &row {
                None => Value::from(0),
                Some(row) => value_of(row),
            };
            if !before.is_number() {
                Verdict::Lost { reason: "type", row }
            } else {
                match sum(&before, delta).filter(|sum| within(sum, min.as_ref(), max.as_ref())) {
                    None => Verdict::Lost { reason: "limit", row },
                    Some(sum) => {
                        let expires = row.as_ref().map_or_else(|| ends(rows, *expiry), |row| row.expires);
                        Verdict::Put { value: sum.to_string().into_bytes(), expires }
                    }
                }
            }
        }
        Action::Get { .. } | Action::GetMany { .. } | Action::GetPrefix { .. } => return Ok(None),
    };
    Ok(Some(verdict))
}

/// The sum of two numbers, whole as long as both are; `None` when no number can hold it.
fn sum(left: &Value, right: &Value) -> Option<Value> {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        let sum = left.checked_add(right)?;
        return i64::try_from(sum).map(Value::from).ok().or_else(|| u64::try_from(sum).map(Value::from).ok());
    }
    let sum = left.as_f64()? + right.as_f64()?;
    serde_json::Number::from_f64(sum).map(Value::Number)
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn within(value: &Value, min: Option<&Value>, max: Option<&Value>) -> bool {
    min.is_none_or(|min| compare(value, min).is_some_and(Ordering::is_ge))
        && max.is_none_or(|max| compare(value, max).is_some_and(Ordering::is_le))
}

fn write(rows: &mut dyn Rows, operation: &Operation, verdict: Verdict, wakes: &mut Vec<u32>) -> Result<Value> {
    let name = operation.written_key().unwrap_or_default();
    let (table, key) = place(&operation.namespace, name);
    Ok(match verdict {
        Verdict::Put { value, expires } => {
            let row = NewRow { value: &value, expires, client: ClientId::NONE };
            let version = rows.put(table, &key, row)?;
            let value: Value = serde_json::from_slice(&value).unwrap_or(Value::Null);
            json!({"applied": true, "key": name, "value": value, "version": version})
        }
        Verdict::Deleted(row) => {
            if row.is_some() {
                rows.delete(table, &key)?;
                if operation.namespace == LOCKS
                    && let Some((lock, _)) = key::parse_permit(&key)
                {
                    line::call_one_more(rows, lock, wakes)?;
                }
            }
            let version = row.as_ref().map_or(0, |row| row.version);
            let value = row.as_ref().map_or(Value::Null, value_of);
            json!({"applied": true, "key": name, "value": value, "version": version})
        }
        Verdict::Held(version) => json!({"applied": true, "key": name, "version": version}),
        Verdict::Lost { reason, row } => {
            let version = row.as_ref().map_or(0, |row| row.version);
            let value = row.as_ref().map_or(Value::Null, value_of);
            json!({"applied": false, "reason": reason, "key": name, "value": value, "version": version})
        }
    })
}

/// A row as the wire shows it.
pub fn element_of(rows: &dyn Rows, key: &str, row: &Row, with_value: bool) -> Value {
    let mut members = Map::new();
    members.insert("key".into(), key.into());
    if with_value {
        members.insert("value".into(), value_of(row));
    }
    members.insert("version".into(), row.version.into());
    let expires = row.expires.map(|end| stamp::format(wall(rows, end)));
    members.insert("expiresAt".into(), expires.into());
    members.insert("updatedAt".into(), stamp::format(row.updated_micros).into());
    Value::Object(members)
}

/// The time of day of a moment, in microseconds after 1970.
fn wall(rows: &dyn Rows, moment: Moment) -> i64 {
    let now = rows.now();
    let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    if moment >= now {
        rows.wall_micros().saturating_add(micros(moment.since(now)))
    } else {
        rows.wall_micros().saturating_sub(micros(now.since(moment)))
    }
}

fn read(rows: &mut dyn Rows, operation: &Operation, budget: &mut usize) -> Result<Value> {
    match &operation.action {
        Action::Get { key } => {
            let (table, place) = place(&operation.namespace, key);
            let Some(row) = live(rows, table, &place)? else {
                return Ok(json!({"found": false, "key": key}));
            };
            let mut element = element_of(rows, key, &row, true);
            if let Value::Object(members) = &mut element {
                members.insert("found".into(), true.into());
            }
            Ok(element)
        }
        Action::GetMany { keys } => {
            let mut sorted: Vec<&String> = keys.iter().collect();
            sorted.sort_unstable();
            sorted.dedup();
            let (mut found, mut missing, mut truncated) = (Vec::new(), Vec::new(), false);
            for key in sorted {
                let (table, place) = place(&operation.namespace, key);
                match live(rows, table, &place)? {
                    Some(row) if row.value.len() <= *budget => {
                        *budget -= row.value.len();
                        found.push(element_of(rows, key, &row, true));
                    }
                    Some(_) => truncated = true,
                    None => missing.push(key.clone()),
                }
            }
            Ok(json!({"rows": found, "missing": missing, "truncated": truncated}))
        }
        Action::GetPrefix { prefix, after, limit, keys_only } => {
            let page = page(rows, &operation.namespace, prefix, after.as_deref(), *limit, !*keys_only, budget)?;
            Ok(json!({"rows": page.0, "truncated": page.1.is_some(), "nextAfter": page.1}))
        }
        _ => Err(crate::Error::internal("a write has a verdict")),
    }
}

/// A page of live rows and the key after which the next one begins, if there is more.
fn page(
    rows: &mut dyn Rows,
    namespace: &str,
    prefix: &str,
    after: Option<&str>,
    limit: u64,
    with_values: bool,
    budget: &mut usize,
) -> Result<(Vec<Value>, Option<String>)> {
    let (table, start) = place(namespace, prefix);
    let skip = start.len() - prefix.len();
    let mut from = after.map(|after| place(namespace, after).1);
    let (mut found, mut last): (Vec<Value>, Option<String>) = (Vec::new(), None);
    loop {
        let mut seen = Vec::new();
        rows.scan(table, &start, from.as_deref(), &mut |key, row| {
            seen.push((key.to_vec(), row));
            if seen.len() < 256 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let more = seen.len() == 256;
        from = seen.last().map(|(key, _)| key.clone());
        for (key, row) in seen {
            if !locks::is_live(rows, &row) {
                continue;
            }
            let bytes = if with_values { row.value.len() } else { 0 };
            if found.len() as u64 == limit || bytes > *budget {
                // A row that is too large for every page must not stop the walk at itself for ever.
                return Ok((found, Some(last.unwrap_or_else(|| after.unwrap_or_default().to_string()))));
            }
            *budget -= bytes;
            let key = String::from_utf8_lossy(&key[skip..]).into_owned();
            found.push(element_of(rows, &key, &row, with_values));
            last = Some(key);
        }
        if !more {
            return Ok((found, None));
        }
    }
}
