//! Options of queues, deleting them, and reading by offset.

use std::ops::ControlFlow;

use fencehold::Result;
use serde_json::{Map, Value, json};

use super::{Partition, damaged, dead_key, message_key, name_key, partition_key, queue_key};
use crate::store::Step;
use crate::store::encoding::Area;
use crate::store::rows::Reader;

/// Sets the options of a queue, which comes into being with it. Answers all of them.
pub(crate) fn configure(step: &mut Step<'_, '_>, queue: &str, options: &Map<String, Value>) -> Result<Value> {
    let before = step.rows.bytes(Area::Names, &queue_key(queue))?;
    let mut all: Map<String, Value> = before.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    all.extend(options.clone());
    let all = Value::Object(all);
    step.rows.put_bytes(Area::Names, &queue_key(queue), all.to_string().as_bytes())?;
    Ok(all)
}

/// The keys of an area that start with a prefix.
fn keys(step: &Step<'_, '_>, area: Area, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    step.rows.walk_bytes(area, prefix, None, &mut |key, _| {
        keys.push(key.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(keys)
}

/// Deletes a queue with everything in it. False: there was none.
pub(crate) fn delete_queue(step: &mut Step<'_, '_>, queue: &str) -> Result<bool> {
    let was_there = step.rows.delete_bytes(Area::Names, &queue_key(queue))?;
    for key in keys(step, Area::Names, &name_key(b'p', &[queue, ""]))? {
        let bytes = step.rows.bytes(Area::Names, &key)?.unwrap_or_default();
        let partition = Partition::decode(bytes).ok_or_else(|| damaged("a partition is too short"))?;
        for area in [Area::Messages, Area::Groups, Area::Pushed] {
            for key in keys(step, area, &partition.id.to_be_bytes())? {
                step.rows.delete_bytes(area, &key)?;
            }
        }
        step.rows.delete_bytes(Area::Partitions, &partition.id.to_be_bytes())?;
        step.rows.delete_bytes(Area::Names, &key)?;
    }
    for key in keys(step, Area::Names, &name_key(b's', &[queue, ""]))? {
        step.rows.delete_bytes(Area::Names, &key)?;
    }
    for key in keys(step, Area::Dead, &dead_key(queue, b""))? {
        step.rows.delete_bytes(Area::Dead, &key)?;
    }
    super::timers::delete_all(step, queue)?;
    Ok(was_there)
}

/// Reads a partition from an offset on, without a lease.
pub(crate) fn fetch(rows: &Reader<'_>, queue: &str, name: &str, offset: u64, most_bytes: usize) -> Result<Value> {
    let partition = match rows.bytes(Area::Names, &partition_key(queue, name))? {
        Some(bytes) => Partition::decode(bytes).ok_or_else(|| damaged("a partition is too short"))?,
        None => Partition { id: 0, next: 0, first: 0 },
    };
    let (mut records, mut bytes) = (Vec::new(), 0);
    for offset in offset.max(partition.first)..partition.next {
        let Some(row) = rows.bytes(Area::Messages, &message_key(partition.id, offset))? else { continue };
        if bytes + row.len() > most_bytes && !records.is_empty() {
            break;
        }
        bytes += row.len();
        let mut row: Value = serde_json::from_slice(row).map_err(|_| damaged("a message cannot be read"))?;
        let millis = row["c"].as_i64().unwrap_or_default() / 1000;
        records.push(json!({
            "offset": offset, "transactionId": row["x"].take(), "payload": row["d"].take(), "ts": millis,
        }));
    }
    Ok(json!({
        "queue": queue,
        "partition": name,
        "records": records,
        "highWatermark": partition.next,
        "logStartOffset": partition.first,
    }))
}

/// The dead letters of a queue, and of a group if one is named: a page of them and how many there are.
pub(crate) fn dead_letters(
    rows: &Reader<'_>,
    queue: &str,
    group: Option<&str>,
    skip: usize,
    limit: usize,
) -> Result<Value> {
    let (mut found, mut total) = (Vec::new(), 0);
    rows.walk_bytes(Area::Dead, &dead_key(queue, b""), None, &mut |_, bytes| {
        let mut letter: Value = serde_json::from_slice(bytes).map_err(|_| damaged("a dead letter cannot be read"))?;
        if group.is_some_and(|group| letter["g"] != group) {
            return Ok(ControlFlow::Continue(()));
        }
        total += 1;
        if total > skip && found.len() < limit {
            found.push(json!({
                "id": letter["i"].take(),
                "transactionId": letter["x"].take(),
                "queue": queue,
                "partition": letter["p"].take(),
                "partitionId": letter["n"].to_string(),
                "consumerGroup": letter["g"].take(),
                "data": letter["d"].take(),
                "errorMessage": letter["e"].take(),
            }));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(json!({"messages": found, "total": total}))
}
