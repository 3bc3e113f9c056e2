//! Storing messages.

use fencehold::Result;
use fencehold::internal::Rows;
use fencehold::internal::operations::Refused;
use serde_json::{Map, Value, json};

use super::{
    Bells, DEDUP_MICROS, DEFAULT_PARTITION, Partition, check_names, damaged, in_partition, is_uuid, message_key,
    mint_id, partition, partition_key, queue_key, refused,
};
use crate::store::Step;
use crate::store::encoding::{Area, number};

/// The longest identifier of a message, in bytes.
const MAX_ID_BYTES: usize = 65_535;
/// The longest identifier that is a key as it stands.
const PLAIN_ID_BYTES: usize = 256;

/// A message that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) queue: String,
    pub(crate) partition: String,
    pub(crate) payload: Value,
    /// The sender's identifier.
    pub(crate) transaction: Option<String>,
    pub(crate) trace: Option<String>,
    /// The identifier that was promised for it, when a timer sends it.
    pub(crate) message: Option<String>,
}

/// What became of a message.
#[derive(Clone, Debug)]
pub(crate) struct Pushed {
    pub(crate) message: String,
    pub(crate) transaction: String,
    pub(crate) offset: u64,
    /// It was there before.
    pub(crate) duplicate: bool,
}

/// Reads one message.
pub(crate) fn parse_item(members: &Map<String, Value>) -> std::result::Result<Item, Refused> {
    let text = |member: &str| match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(refused("bad_request", format!("{member} is a text"))),
    };
    let queue = text("queue")?.ok_or_else(|| refused("bad_request", "a push needs the name of a queue"))?;
    let payload = members.get("payload").ok_or_else(|| refused("bad_request", "a push needs a payload"))?;
    let partition = text("partition")?.unwrap_or_else(|| DEFAULT_PARTITION.into());
    check_names(&[&queue, &partition])?;
    let transaction = text("transactionId")?;
    if transaction.as_ref().is_some_and(|id| id.len() > MAX_ID_BYTES) {
        return Err(refused("bad_request", format!("a transactionId has at most {MAX_ID_BYTES} bytes")));
    }
    let trace = members.get("traceId").and_then(Value::as_str).filter(|id| is_uuid(id)).map(str::to_string);
    Ok(Item { queue, partition, payload: payload.clone(), transaction, trace, message: None })
}

/// The key under which an identifier is known in a partition.
pub(super) fn dedup_key(id: u64, transaction: &str) -> Vec<u8> {
    if transaction.len() <= PLAIN_ID_BYTES {
        return in_partition(id, &[b"=", transaction.as_bytes()].concat());
    }
    use sha2::{Digest, Sha256};
    in_partition(id, &[b"#", Sha256::digest(transaction.as_bytes()).as_slice()].concat())
}

/// The offset of the message with this identifier, and when it was stored.
pub(super) fn offset_of(step: &Step<'_, '_>, id: u64, transaction: &str) -> Result<Option<(u64, i64)>> {
    let Some(bytes) = step.rows.bytes(Area::Pushed, &dedup_key(id, transaction))? else { return Ok(None) };
    match (number(bytes, 0), number(bytes, 8)) {
        (Some(offset), Some(micros)) => Ok(Some((offset, micros as i64))),
        _ => Err(damaged("an identifier of a message is too short")),
    }
}

/// The message that is already stored under the identifier of this one.
pub(crate) fn known(step: &Step<'_, '_>, item: &Item) -> Result<Option<Pushed>> {
    let Some(transaction) = &item.transaction else { return Ok(None) };
    let Some(partition) = partition(&step.rows, &item.queue, &item.partition)? else { return Ok(None) };
    let Some((offset, at)) = offset_of(step, partition.id, transaction)? else { return Ok(None) };
    if step.rows.wall_micros().saturating_sub(at) > DEDUP_MICROS {
        return Ok(None);
    }
    // The message itself may be gone; its identifier is not.
    let message = match step.rows.bytes(Area::Messages, &message_key(partition.id, offset))? {
        Some(bytes) => serde_json::from_slice::<Value>(bytes)
            .ok()
            .and_then(|message| message["i"].as_str().map(str::to_string))
            .unwrap_or_default(),
        None => String::new(),
    };
    Ok(Some(Pushed { message, transaction: transaction.clone(), offset, duplicate: true }))
}

/// Makes the partition if it is not there, and its queue.
fn need_partition(step: &mut Step<'_, '_>, queue: &str, name: &str) -> Result<Partition> {
    if let Some(partition) = partition(&step.rows, queue, name)? {
        return Ok(partition);
    }
    if step.rows.bytes(Area::Names, &queue_key(queue))?.is_none() {
        step.rows.put_bytes(Area::Names, &queue_key(queue), b"{}")?;
    }
    let id = step.rows.take_version();
    let partition = Partition { id, next: 0, first: 0 };
    step.rows.put_bytes(Area::Partitions, &id.to_be_bytes(), format!("{queue}\0{name}").as_bytes())?;
    step.rows.put_bytes(Area::Names, &partition_key(queue, name), &partition.encode())?;
    Ok(partition)
}

/// Stores a message, unless its identifier is known.
pub(crate) fn push(step: &mut Step<'_, '_>, item: &Item, bells: &Bells) -> Result<Pushed> {
    if let Some(known) = known(step, item)? {
        return Ok(known);
    }
    let mut partition = need_partition(step, &item.queue, &item.partition)?;
    let now = step.rows.wall_micros();
    let message = item.message.clone().unwrap_or_else(|| mint_id(now));
    let transaction = item.transaction.clone().unwrap_or_else(|| message.clone());
    let offset = partition.next;
    partition.next += 1;
    let row = json!({"i": message, "x": transaction, "t": item.trace, "d": item.payload, "c": now}).to_string();
    step.rows.put_bytes(Area::Messages, &message_key(partition.id, offset), row.as_bytes())?;
    let known = [offset.to_le_bytes(), now.to_le_bytes()].concat();
    step.rows.put_bytes(Area::Pushed, &dedup_key(partition.id, &transaction), &known)?;
    step.rows.put_bytes(Area::Names, &partition_key(&item.queue, &item.partition), &partition.encode())?;
    let (bells, queue) = (bells.clone(), item.queue.clone());
    step.after(move || {
        bells.ring(&queue);
        None
    });
    Ok(Pushed { message, transaction, offset, duplicate: false })
}
