//! Queues: messages in partitions, first in first out, and where each group of consumers stands.
//!
//! A partition is leased to one consumer of a group at a time. What was delivered and not
//! acknowledged when the lease ends is delivered again.

mod ack;
mod group;
mod manage;
mod pop;
mod push;
mod sweep;
mod timers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fencehold::internal::operations::Refused;
use fencehold::{Error, Result};
use tokio::sync::Notify;

pub(crate) use self::ack::{Ack, acknowledge, extend, parse_ack};
pub(crate) use self::manage::{configure, dead_letters, delete_queue, fetch};
pub(crate) use self::pop::{Pop, has_some, pop};
pub(crate) use self::push::{Item, Pushed, known, parse_item, push};
pub(crate) use self::sweep::Tidy;
pub(crate) use self::timers::{TimerOp, cancel, fire, list, parse_timer, peek, run as run_timers};
use crate::store::encoding::{Area, number};
use crate::store::rows::Writer;

/// The group of consumers that do not name one.
pub(crate) const QUEUE_MODE: &str = "__QUEUE_MODE__";
/// The partition of messages that do not name one.
pub(crate) const DEFAULT_PARTITION: &str = "Default";
/// The longest name of a queue and of a partition together, and of a group, in bytes.
const MAX_NAME_BYTES: usize = 400;
/// How long an identifier is known, so that the same message is not stored twice.
const DEDUP_MICROS: i64 = 3_600_000_000;

/// A refusal of what was asked.
pub(crate) fn refused(reason: &'static str, detail: impl Into<String>) -> Refused {
    Refused { status: 400, reason, detail: detail.into() }
}

/// What to wake when messages come.
#[derive(Clone, Default)]
pub(crate) struct Bells(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Bells {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bell of a queue.
    pub(crate) fn of(&self, queue: &str) -> Bell {
        let notify = self.lock().entry(queue.to_string()).or_default().clone();
        Bell { bells: self.clone(), queue: queue.to_string(), notify }
    }

    /// Rings for everybody who waits for messages of a queue.
    pub(crate) fn ring(&self, queue: &str) {
        if let Some(notify) = self.lock().get(queue) {
            notify.notify_waiters();
        }
    }
}

/// The bell of a queue, in the hands of one who waits.
pub(crate) struct Bell {
    bells: Bells,
    queue: String,
    pub(crate) notify: Arc<Notify>,
}

impl Drop for Bell {
    fn drop(&mut self) {
        let mut bells = self.bells.lock();
        // Ours and the list's own: nobody else waits.
        if Arc::strong_count(&self.notify) <= 2 {
            bells.remove(&self.queue);
        }
    }
}

/// A partition as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) id: u64,
    /// The offset of the next message.
    pub(crate) next: u64,
    /// The lowest offset that is still there.
    pub(crate) first: u64,
}

impl Partition {
    fn encode(self) -> Vec<u8> {
        [self.id, self.next, self.first].iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self { id: number(bytes, 0)?, next: number(bytes, 8)?, first: number(bytes, 16)? })
    }
}

fn damaged(what: &str) -> Error {
    Error::internal(format!("the store is damaged: {what}"))
}

/// A key of [`Area::Names`]: what it is about, and one or two names.
fn name_key(kind: u8, names: &[&str]) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(names.join("\0").as_bytes());
    key
}

fn queue_key(queue: &str) -> Vec<u8> {
    name_key(b'q', &[queue])
}

fn partition_key(queue: &str, partition: &str) -> Vec<u8> {
    name_key(b'p', &[queue, partition])
}

fn subscription_key(queue: &str, group: &str) -> Vec<u8> {
    name_key(b's', &[queue, group])
}

fn lease_key(lease: &str) -> Vec<u8> {
    name_key(b'l', &[lease])
}

/// A key of a partition's rows: its number and what follows.
fn in_partition(id: u64, rest: &[u8]) -> Vec<u8> {
    let mut key = id.to_be_bytes().to_vec();
    key.extend_from_slice(rest);
    key
}

fn message_key(id: u64, offset: u64) -> Vec<u8> {
    in_partition(id, &offset.to_be_bytes())
}

/// A key of a queue's dead letters.
fn dead_key(queue: &str, rest: &[u8]) -> Vec<u8> {
    [queue.as_bytes(), b"\0", rest].concat()
}

/// Whether names can be keys.
pub(crate) fn check_names(names: &[&str]) -> std::result::Result<(), Refused> {
    if names.iter().any(|name| name.is_empty() || name.contains('\0')) {
        return Err(refused("bad_request", "a name is a text that is not empty and has no NUL"));
    }
    if names.iter().map(|name| name.len()).sum::<usize>() > MAX_NAME_BYTES {
        return Err(refused("name_too_long", format!("the names have more than {MAX_NAME_BYTES} bytes together")));
    }
    Ok(())
}

/// The partition of this name.
fn partition(rows: &Writer<'_>, queue: &str, partition: &str) -> Result<Option<Partition>> {
    let found = rows.bytes(Area::Names, &partition_key(queue, partition))?;
    found.map(|bytes| Partition::decode(bytes).ok_or_else(|| damaged("a partition is too short"))).transpose()
}

/// The names of a partition's queue and of itself.
fn names_of(rows: &Writer<'_>, id: u64) -> Result<Option<(String, String)>> {
    let Some(bytes) = rows.bytes(Area::Partitions, &id.to_be_bytes())? else { return Ok(None) };
    let text = String::from_utf8_lossy(bytes);
    Ok(text.split_once('\0').map(|(queue, partition)| (queue.to_string(), partition.to_string())))
}

/// A fresh identifier: a UUID of version 7, so that they sort by their time.
pub(crate) fn mint_id(wall_micros: i64) -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness the rest is zero, and the version counter still tells messages apart.
    let _ = getrandom::fill(&mut bytes);
    let millis = u64::try_from(wall_micros / 1000).unwrap_or_default();
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    bytes[6] = 0x70 | bytes[6] & 0x0f;
    bytes[8] = 0x80 | bytes[8] & 0x3f;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Whether a text is a UUID.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_uuids_that_rise_with_time() {
        let (early, late) = (mint_id(1_000_000_000_000), mint_id(1_000_000_001_000));
        assert!(is_uuid(&early) && early < late);
        assert_eq!(early.as_bytes()[14], b'7');
        assert!(!is_uuid("t-1"));
    }

    #[test]
    fn a_bell_is_forgotten_with_the_last_who_waits() {
        let bells = Bells::default();
        let (one, two) = (bells.of("q"), bells.of("q"));
        drop(one);
        assert_eq!(bells.lock().len(), 1);
        bells.ring("q");
        drop(two);
        assert_eq!(bells.lock().len(), 0);
    }

    #[test]
    fn names_that_cannot_be_keys_are_refused() {
        assert!(check_names(&["q", "p"]).is_ok());
        assert_eq!(check_names(&["", "p"]).unwrap_err().reason, "bad_request");
        assert_eq!(check_names(&["q\0", "p"]).unwrap_err().reason, "bad_request");
        assert_eq!(check_names(&["q", &"p".repeat(400)]).unwrap_err().reason, "name_too_long");
    }
}
