//! Acknowledging messages.

use std::time::Duration;

use fencehold::Result;
use fencehold::internal::Rows;
use fencehold::internal::operations::Refused;
use serde_json::{Map, Value};

use super::group::Group;
use super::push::offset_of;
use super::{Bells, QUEUE_MODE, dead_key, lease_key, message_key, names_of, queue_key, refused};
use crate::store::Step;
use crate::store::encoding::Area;

/// After how many deliveries a message that failed is a dead letter, unless its queue says otherwise.
const MOST_TRIES: u64 = 3;

/// What became of the work on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckStatus {
    Completed,
    /// It comes again, a few times.
    Failed,
    /// It comes again.
    Retry,
    /// It is a dead letter.
    Dead,
}

/// An acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct Ack {
    pub(crate) transaction: String,
    pub(crate) partition: u64,
    pub(crate) group: String,
    pub(crate) lease: Option<String>,
    pub(crate) status: AckStatus,
    pub(crate) error: Option<String>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acked {
    pub(crate) released: bool,
    pub(crate) dead: bool,
}

/// Reads one acknowledgement; `group` is that of the whole call.
pub(crate) fn parse_ack(members: &Map<String, Value>, group: Option<&Value>) -> std::result::Result<Ack, Refused> {
    let text = |member: &str| members.get(member).and_then(Value::as_str);
    let transaction = text("transactionId").ok_or_else(|| refused("bad_request", "an ack needs a transactionId"))?;
    let partition = text("partitionId").ok_or_else(|| refused("bad_request", "an ack needs a partitionId"))?;
    let partition =
        partition.parse().map_err(|_| refused("bad_request", "partitionId is the one that the pop answered"))?;
    let group = members.get("consumerGroup").filter(|group| !group.is_null()).or(group).and_then(Value::as_str);
    let status = match text("status") {
        Some("failed") => AckStatus::Failed,
        Some("retry") => AckStatus::Retry,
        Some("dlq") => AckStatus::Dead,
        _ => AckStatus::Completed,
    };
    Ok(Ack {
        transaction: transaction.to_string(),
        partition,
        group: group.filter(|group| !group.is_empty()).unwrap_or(QUEUE_MODE).to_string(),
        lease: text("leaseId").filter(|lease| !lease.is_empty()).map(str::to_string),
        status,
        error: text("error").map(str::to_string),
    })
}

/// Acknowledges a message. `Err` of the inner result: why it cannot be.
pub(crate) fn acknowledge(
    step: &mut Step<'_, '_>,
    ack: &Ack,
    bells: &Bells,
) -> Result<std::result::Result<Acked, &'static str>> {
    let Some((queue, partition)) = names_of(&step.rows, ack.partition)? else {
        return Ok(Err("there is no such partition"));
    };
    let Some(mut group) = Group::read(&step.rows, ack.partition, &ack.group)? else {
        return Ok(Err("nothing was delivered to this group"));
    };
    let now = step.rows.now();
    let Some(lease) = group.live_lease(now).cloned() else {
        return Ok(Err("the lease is over, and the message may be delivered again"));
    };
    if ack.lease.as_ref().is_some_and(|own| *own != lease.id) {
        return Ok(Err("the lease is over, and somebody else has the partition"));
    }
    let offset = match offset_of(step, ack.partition, &ack.transaction)? {
        Some((offset, _)) => offset,
        None => return Ok(Err("there is no such message")),
    };
    if !(lease.first..=lease.last).contains(&offset) || !group.is_open(offset) {
        return Ok(Err("the message is not leased, or acknowledged already"));
    }
    let is_last_try = ack.status == AckStatus::Failed && group.tries_of(offset) >= most_tries(step, &queue)?;
    let dead = ack.status == AckStatus::Dead || is_last_try;
    if dead {
        bury(step, ack, &queue, &partition, offset)?;
    }
    if dead || ack.status == AckStatus::Completed {
        group.finish(offset);
    } else {
        group.failed.push(offset);
    }
    let released = group.settle().is_some();
    if released {
        // The lease may cover other partitions; those find their way without its index.
        forget_lease(step, &lease.id, ack.partition)?;
        let (bells, queue) = (bells.clone(), queue);
        step.after(move || {
            bells.ring(&queue);
            None
        });
    }
    group.write(&mut step.rows, ack.partition, &ack.group)?;
    Ok(Ok(Acked { released, dead }))
}

/// Takes a partition out of a lease's index.
fn forget_lease(step: &mut Step<'_, '_>, lease: &str, partition: u64) -> Result<()> {
    let Some((group, partitions)) = holders_of(step, lease)? else { return Ok(()) };
    let left: Vec<String> =
        partitions.into_iter().filter(|other| *other != partition).map(|other| other.to_string()).collect();
    if left.is_empty() {
        return step.rows.delete_bytes(Area::Names, &lease_key(lease)).map(|_| ());
    }
    let index = format!("{group}\0{}", left.join("\0"));
    step.rows.replace_bytes(Area::Names, &lease_key(lease), index.as_bytes())
}

/// The group and the partitions that a lease is about.
fn holders_of(step: &Step<'_, '_>, lease: &str) -> Result<Option<(String, Vec<u64>)>> {
    let Some(bytes) = step.rows.bytes(Area::Names, &lease_key(lease))? else { return Ok(None) };
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0');
    let group = parts.next().unwrap_or_default().to_string();
    Ok(Some((group, parts.filter_map(|part| part.parse().ok()).collect())))
}

/// Keeps a copy of a message that nobody could work on.
fn bury(step: &mut Step<'_, '_>, ack: &Ack, queue: &str, partition: &str, offset: u64) -> Result<()> {
    let Some(bytes) = step.rows.bytes(Area::Messages, &message_key(ack.partition, offset))? else { return Ok(()) };
    let mut letter: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut letter {
        members.insert("p".into(), partition.into());
        members.insert("n".into(), ack.partition.into());
        members.insert("g".into(), ack.group.clone().into());
        members.insert("e".into(), ack.error.clone().into());
    }
    let number = step.rows.take_version();
    let key = dead_key(queue, &number.to_be_bytes());
    step.rows.put_bytes(Area::Dead, &key, letter.to_string().as_bytes())
}

/// How often a message of a queue is delivered before it is a dead letter.
fn most_tries(step: &Step<'_, '_>, queue: &str) -> Result<u64> {
    let options = step.rows.bytes(Area::Names, &queue_key(queue))?;
    let options: Value = options.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or(Value::Null);
    Ok(options["retryLimit"].as_u64().filter(|tries| *tries > 0).unwrap_or(MOST_TRIES))
}

/// Lets a lease end `seconds` from now. False: there is no such lease.
pub(crate) fn extend(step: &mut Step<'_, '_>, lease: &str, seconds: u64) -> Result<bool> {
    let Some((name, partitions)) = holders_of(step, lease)? else { return Ok(false) };
    let now = step.rows.now();
    let mut extended = false;
    for partition in partitions {
        let Some(mut group) = Group::read(&step.rows, partition, &name)? else { continue };
        if group.live_lease(now).is_none_or(|own| own.id != lease) {
            continue;
        }
        if let Some(own) = &mut group.lease {
            own.until = now.after(Duration::from_secs(seconds));
            own.seconds = seconds;
        }
        group.write(&mut step.rows, partition, &name)?;
        extended = true;
    }
    Ok(extended)
}
