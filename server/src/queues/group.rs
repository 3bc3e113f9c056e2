//! Where a group of consumers stands in a partition.

use fencehold::Result;
use fencehold::internal::Moment;
use serde_json::{Value, json};

use super::{damaged, in_partition};
use crate::store::encoding::Area;
use crate::store::rows::Writer;

/// A lease of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) id: String,
    pub(super) until: Moment,
    pub(super) seconds: u64,
    /// The offsets that were delivered under it.
    pub(super) first: u64,
    pub(super) last: u64,
}

/// The state of a group in a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The lowest offset that is not done.
    pub(super) next: u64,
    /// Higher ones that are.
    pub(super) done: Vec<u64>,
    /// Those of the lease that failed and come again.
    pub(super) failed: Vec<u64>,
    pub(super) lease: Option<Lease>,
    /// Up to which offset messages were delivered before, and how often.
    pub(super) tried_to: u64,
    pub(super) tries: u64,
}

impl Group {
    fn key(partition: u64, group: &str) -> Vec<u8> {
        in_partition(partition, group.as_bytes())
    }

    pub(super) fn read(rows: &Writer<'_>, partition: u64, group: &str) -> Result<Option<Self>> {
        rows.bytes(Area::Groups, &Self::key(partition, group))?.map(Self::decode).transpose()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = || damaged("the state of a group cannot be read");
        let value: Value = serde_json::from_slice(bytes).map_err(|_| bad())?;
        let number = |value: &Value| value.as_u64().ok_or_else(bad);
        let numbers = |value: &Value| -> Result<Vec<u64>> {
            value.as_array().map_or_else(|| Ok(Vec::new()), |list| list.iter().map(number).collect())
        };
        let lease = match &value["l"] {
            Value::Null => None,
            lease => Some(Lease {
                id: lease["i"].as_str().ok_or_else(bad)?.to_string(),
                until: Moment::from_nanos(number(&lease["u"])?),
                seconds: number(&lease["s"])?,
                first: number(&lease["f"])?,
                last: number(&lease["t"])?,
            }),
        };
        Ok(Self {
            next: number(&value["n"])?,
            done: numbers(&value["d"])?,
            failed: numbers(&value["e"])?,
            lease,
            tried_to: number(&value["r"])?,
            tries: number(&value["k"])?,
        })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let lease = self.lease.as_ref().map(|lease| {
            json!({"i": lease.id, "u": lease.until.as_nanos(), "s": lease.seconds, "f": lease.first, "t": lease.last})
        });
        let value = json!({"n": self.next, "d": self.done, "e": self.failed, "l": lease, "r": self.tried_to,
            "k": self.tries});
        value.to_string().into_bytes()
    }

    pub(super) fn write(&self, rows: &mut Writer<'_>, partition: u64, group: &str) -> Result<()> {
        // An acknowledgement makes room in the end, so it works on a full disk.
        rows.replace_bytes(Area::Groups, &Self::key(partition, group), &self.encode())
    }

    /// The lease, unless its time is over.
    pub(super) fn live_lease(&self, now: Moment) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| now < lease.until)
    }

    /// How often the message at an offset was delivered before.
    pub(super) fn tries_of(&self, offset: u64) -> u64 {
        if self.tries > 0 && offset <= self.tried_to { self.tries } else { 0 }
    }

    /// Notes that a message is done.
    pub(super) fn finish(&mut self, offset: u64) {
        if offset >= self.next && !self.done.contains(&offset) {
            self.done.push(offset);
        }
        while let Some(at) = self.done.iter().position(|done| *done == self.next) {
            self.done.swap_remove(at);
            self.next += 1;
        }
        if self.next > self.tried_to {
            self.tries = 0;
        }
    }

    /// Whether a message of the lease still waits for its acknowledgement.
    pub(super) fn is_open(&self, offset: u64) -> bool {
        offset >= self.next && !self.done.contains(&offset) && !self.failed.contains(&offset)
    }

    /// Gives the lease back when nothing of it is open any more. True: it was given back.
    pub(super) fn settle(&mut self) -> Option<Lease> {
        let lease = self.lease.as_ref()?;
        if (lease.first..=lease.last).any(|offset| self.is_open(offset)) {
            return None;
        }
        self.failed.clear();
        self.lease.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_out_of_order_closes_up() {
        let mut group = Group { next: 3, ..Group::default() };
        group.lease = Some(Lease { id: "l".into(), until: Moment::from_nanos(9), seconds: 1, first: 3, last: 5 });
        group.finish(5);
        group.finish(4);
        assert_eq!((group.next, group.done.len(), group.settle()), (3, 2, None));
        let again = Group::decode(&group.encode()).unwrap();
        assert_eq!(again, group);
        group.finish(3);
        assert_eq!((group.next, group.done.len()), (6, 0));
        assert!(group.settle().is_some() && group.lease.is_none());
    }

    #[test]
    fn what_failed_stays_and_the_lease_is_given_back() {
        let mut group = Group { next: 0, ..Group::default() };
        group.lease = Some(Lease { id: "l".into(), until: Moment::from_nanos(9), seconds: 1, first: 0, last: 1 });
        group.failed.push(0);
        group.finish(1);
        assert!(group.settle().is_some());
        assert_eq!((group.next, group.done.as_slice()), (0, [1].as_slice()));
        assert!(group.is_open(0) && !group.is_open(1));
    }
}
