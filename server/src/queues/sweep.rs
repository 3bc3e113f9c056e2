//! Clearing away messages that every group is done with, and identifiers that are old.

use std::ops::ControlFlow;

use fencehold::Result;
use fencehold::internal::Rows;

use super::group::Group;
use super::{DEDUP_MICROS, Partition, damaged, message_key, name_key};
use crate::store::Step;
use crate::store::encoding::{Area, number};

/// How many messages or identifiers one round removes or looks at.
const ROUND: usize = 2000;

/// Where the next round begins.
#[derive(Default)]
pub(crate) struct Tidy {
    partition: Option<Vec<u8>>,
    pushed: Option<Vec<u8>>,
}

impl Tidy {
    /// One round: one partition, and some identifiers.
    pub(crate) fn run(&mut self, step: &mut Step<'_, '_>) -> Result<()> {
        if step.rows.counts()[Area::Messages as usize] > 0 {
            self.messages(step)?;
        }
        if step.rows.counts()[Area::Pushed as usize] > 0 {
            self.identifiers(step)?;
        }
        Ok(())
    }

    fn messages(&mut self, step: &mut Step<'_, '_>) -> Result<()> {
        let mut found = None;
        step.rows.walk_bytes(Area::Names, &name_key(b'p', &[""]), self.partition.as_deref(), &mut |key, bytes| {
            found = Some((key.to_vec(), bytes.to_vec()));
            Ok(ControlFlow::Break(()))
        })?;
        let Some((key, bytes)) = found else {
            self.partition = None;
            return Ok(());
        };
        let mut partition = Partition::decode(&bytes).ok_or_else(|| damaged("a partition is too short"))?;
        self.partition = Some(key.clone());
        let mut done: Option<u64> = None;
        step.rows.walk_bytes(Area::Groups, &partition.id.to_be_bytes(), None, &mut |_, bytes| {
            let next = Group::decode(bytes)?.next;
            done = Some(done.map_or(next, |done| done.min(next)));
            Ok(ControlFlow::Continue(()))
        })?;
        // Without a group nobody has read anything.
        let Some(done) = done else { return Ok(()) };
        let now = step.rows.wall_micros();
        let first = partition.first;
        while partition.first < done && partition.first - first < ROUND as u64 {
            let key = message_key(partition.id, partition.first);
            let created = match step.rows.bytes(Area::Messages, &key)? {
                Some(bytes) => {
                    let message: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
                    message["c"].as_i64().unwrap_or_default()
                }
                None => 0,
            };
            // A message is kept as long as its identifier is known.
            if now.saturating_sub(created) < DEDUP_MICROS {
                break;
            }
            step.rows.delete_bytes(Area::Messages, &key)?;
            partition.first += 1;
        }
        if partition.first > first {
            step.rows.replace_bytes(Area::Names, &key, &partition.encode())?;
        }
        Ok(())
    }

    fn identifiers(&mut self, step: &mut Step<'_, '_>) -> Result<()> {
        let now = step.rows.wall_micros();
        let (mut seen, mut old, mut last) = (0, Vec::new(), None);
        step.rows.walk_bytes(Area::Pushed, b"", self.pushed.as_deref(), &mut |key, bytes| {
            seen += 1;
            let at = number(bytes, 8).unwrap_or_default() as i64;
            if now.saturating_sub(at) > DEDUP_MICROS {
                old.push((key.to_vec(), number(bytes, 0).unwrap_or_default()));
            }
            last = Some(key.to_vec());
            Ok(if seen < ROUND { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        for (key, offset) in old {
            // An acknowledgement finds its message by the identifier, so it stays as long as that.
            let id = key.get(..8).and_then(|id| id.try_into().ok()).map_or(0, u64::from_be_bytes);
            if step.rows.bytes(Area::Messages, &message_key(id, offset))?.is_none() {
                step.rows.delete_bytes(Area::Pushed, &key)?;
            }
        }
        self.pushed = last.filter(|_| seen >= ROUND);
        Ok(())
    }
}
