//! Delivering messages.

use std::ops::ControlFlow;
use std::time::{Duration, UNIX_EPOCH};

use fencehold::Result;
use fencehold::internal::{Moment, Rows};
use serde_json::{Value, json};

use super::group::{Group, Lease};
use super::{Partition, QUEUE_MODE, damaged, lease_key, message_key, mint_id, name_key, queue_key, subscription_key};
use crate::store::Step;
use crate::store::encoding::{Area, number};
use crate::store::rows::{Reader, Writer};

/// How long a lease of a queue lasts that says nothing.
const LEASE_SECONDS: u64 = 60;
/// How many bytes of messages one answer carries at most, beyond the first message.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Pop {
    pub(crate) queue: String,
    pub(crate) partition: Option<String>,
    pub(crate) group: String,
    pub(crate) batch: usize,
    pub(crate) partitions: usize,
    /// Whether a group that is new here reads what is there already.
    pub(crate) from_start: bool,
    pub(crate) lease_seconds: Option<u64>,
    /// Delivered is done.
    pub(crate) auto_ack: bool,
}

/// The partitions that a pop may take from.
fn partitions_of(rows: &Writer<'_>, pop: &Pop) -> Result<Vec<(String, Partition)>> {
    if let Some(name) = &pop.partition {
        let found = super::partition(rows, &pop.queue, name)?;
        return Ok(found.map(|partition| (name.clone(), partition)).into_iter().collect());
    }
    let prefix = name_key(b'p', &[&pop.queue, ""]);
    let mut found = Vec::new();
    rows.walk_bytes(Area::Names, &prefix, None, &mut |key, bytes| {
        let name = String::from_utf8_lossy(&key[prefix.len()..]).into_owned();
        let partition = Partition::decode(bytes).ok_or_else(|| damaged("a partition is too short"))?;
        found.push((name, partition));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Where the group stands; a group that is new at the queue is entered.
fn group_of(step: &mut Step<'_, '_>, pop: &Pop, partition: &Partition) -> Result<Group> {
    if let Some(group) = Group::read(&step.rows, partition.id, &pop.group)? {
        return Ok(group);
    }
    // Partitions that came after the group are read from their start.
    let since = match step.rows.bytes(Area::Names, &subscription_key(&pop.queue, &pop.group))? {
        Some(bytes) => number(bytes, 0).ok_or_else(|| damaged("a subscription is too short"))?,
        None => 0,
    };
    let next = if partition.id > since { partition.first } else { partition.next };
    Ok(Group { next, ..Group::default() })
}

/// Enters a group at a queue. Without the backlog it begins behind what is there now.
fn subscribe(step: &mut Step<'_, '_>, pop: &Pop) -> Result<()> {
    let key = subscription_key(&pop.queue, &pop.group);
    if pop.group == QUEUE_MODE || step.rows.bytes(Area::Names, &key)?.is_some() {
        return Ok(());
    }
    let mut since = 0;
    if !pop.from_start {
        let all = Pop { partition: None, ..pop.clone() };
        for (_, partition) in partitions_of(&step.rows, &all)? {
            Group { next: partition.next, ..Group::default() }.write(&mut step.rows, partition.id, &pop.group)?;
        }
        since = step.rows.take_version();
    }
    step.rows.put_bytes(Area::Names, &key, &since.to_le_bytes())
}

fn lease_seconds(rows: &Writer<'_>, pop: &Pop) -> Result<u64> {
    if let Some(seconds) = pop.lease_seconds {
        return Ok(seconds.clamp(1, 86_400));
    }
    let options = rows.bytes(Area::Names, &queue_key(&pop.queue))?;
    let options: Value = options.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or(Value::Null);
    Ok(options["leaseTime"].as_u64().filter(|seconds| *seconds > 0).unwrap_or(LEASE_SECONDS))
}

/// Delivers what there is; `None`: nothing.
pub(crate) fn pop(step: &mut Step<'_, '_>, pop: &Pop) -> Result<Option<Value>> {
    if step.rows.bytes(Area::Names, &queue_key(&pop.queue))?.is_none() {
        return Ok(None);
    }
    subscribe(step, pop)?;
    let seconds = lease_seconds(&step.rows, pop)?;
    let now = step.rows.now();
    let id = mint_id(step.rows.wall_micros());
    let (mut messages, mut claimed, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (name, partition) in partitions_of(&step.rows, pop)? {
        if claimed.len() >= pop.partitions || messages.len() >= pop.batch || bytes > MAX_ANSWER_BYTES {
            break;
        }
        let mut group = group_of(step, pop, &partition)?;
        if group.live_lease(now).is_some() {
            continue;
        }
        if let Some(over) = group.lease.take() {
            step.rows.delete_bytes(Area::Names, &lease_key(&over.id))?;
            group.failed.clear();
        }
        group.next = group.next.max(partition.first);
        let (first, mut last) = (group.next, None);
        let mut offset = first;
        while offset < partition.next && messages.len() < pop.batch && (last.is_none() || bytes <= MAX_ANSWER_BYTES) {
            if !group.done.contains(&offset)
                && let Some(row) = step.rows.bytes(Area::Messages, &message_key(partition.id, offset))?
            {
                bytes += row.len();
                let lease = if pop.auto_ack { "" } else { &id };
                messages.push(message(row, &name, partition.id, lease, pop, offset, group.tries_of(offset) + 1)?);
                last = Some(offset);
            }
            offset += 1;
        }
        let Some(last) = last else { continue };
        if pop.auto_ack {
            (first..=last).for_each(|offset| group.finish(offset));
        } else {
            group.tries += 1;
            group.tried_to = group.tried_to.max(last);
            let until = now.after(Duration::from_secs(seconds));
            group.lease = Some(Lease { id: id.clone(), until, seconds, first, last });
            // One pop has one lease identifier, over all the partitions that it claimed.
            let mut holders = match step.rows.bytes(Area::Names, &lease_key(&id))? {
                Some(holders) => holders.to_vec(),
                None => pop.group.as_bytes().to_vec(),
            };
            holders.extend_from_slice(format!("\0{}", partition.id).as_bytes());
            step.rows.put_bytes(Area::Names, &lease_key(&id), &holders)?;
        }
        group.write(&mut step.rows, partition.id, &pop.group)?;
        claimed.push((name, partition.id));
    }
    let Some((name, partition)) = claimed.first() else { return Ok(None) };
    Ok(Some(json!({
        "success": true,
        "queue": pop.queue,
        "partition": name,
        "partitionId": partition.to_string(),
        "leaseId": if pop.auto_ack { "" } else { &id },
        "consumerGroup": pop.group,
        "messages": messages,
        "partitionsClaimed": claimed.len(),
    })))
}

fn message(row: &[u8], partition: &str, id: u64, lease: &str, pop: &Pop, offset: u64, attempt: u64) -> Result<Value> {
    let mut row: Value = serde_json::from_slice(row).map_err(|_| damaged("a message cannot be read"))?;
    let created = UNIX_EPOCH + Duration::from_micros(row["c"].as_u64().unwrap_or_default());
    Ok(json!({
        "id": row["i"],
        "transactionId": row["x"],
        "traceId": row["t"],
        "data": row["d"].take(),
        "producerSub": null,
        "createdAt": fencehold::rfc3339(created),
        "partitionId": id.to_string(),
        "partition": partition,
        "leaseId": lease,
        "consumerGroup": pop.group,
        "deliveryAttempt": attempt,
        "offset": offset,
    }))
}

/// Whether a pop might deliver something, so that those who wait need not ask the writer. Second:
/// when a lease that is in the way ends.
pub(crate) fn has_some(rows: &Reader<'_>, pop: &Pop) -> Result<(bool, Option<Moment>)> {
    let key = subscription_key(&pop.queue, &pop.group);
    if pop.group != QUEUE_MODE && rows.bytes(Area::Names, &key)?.is_none() {
        // The pop enters the group, if there is such a queue.
        return Ok((rows.bytes(Area::Names, &queue_key(&pop.queue))?.is_some(), None));
    }
    let prefix = name_key(b'p', &[&pop.queue, pop.partition.as_deref().unwrap_or_default()]);
    let now = rows.now();
    let (mut found, mut due): (bool, Option<Moment>) = (false, None);
    rows.walk_bytes(Area::Names, &prefix, None, &mut |_, bytes| {
        let partition = Partition::decode(bytes).ok_or_else(|| damaged("a partition is too short"))?;
        let key = super::in_partition(partition.id, pop.group.as_bytes());
        let group = rows.bytes(Area::Groups, &key)?.map(Group::decode).transpose()?.unwrap_or_default();
        match group.live_lease(now) {
            Some(lease) => due = due.into_iter().chain([lease.until]).min(),
            None if group.next + (group.done.len() as u64) < partition.next => {
                found = true;
                return Ok(ControlFlow::Break(()));
            }
            None => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((found, due))
}
