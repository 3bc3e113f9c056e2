//! How rows lie in the file.

use fencehold::internal::{ClientId, Moment, Row, Table};

use crate::failure::Failure;

/// version, expires, lifetime, updated, client: eight bytes each, little-endian.
pub(crate) const HEAD_BYTES: usize = 40;
/// The longest key that LMDB takes.
const LONGEST_KEY: usize = 511;

/// Which part of the file a key is in: its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// What the store knows about itself.
    Store = 1,
    Locks = 2,
    Tickets = 3,
    Values = 4,
    /// Queues, partitions, subscriptions and leases by name.
    Names = 5,
    /// The names of partitions by their number.
    Partitions = 6,
    /// Messages by partition and offset.
    Messages = 7,
    /// Where each group stands in a partition.
    Groups = 8,
    /// The offsets of messages by partition and identifier.
    Pushed = 9,
    /// Messages that nobody could work on.
    Dead = 10,
    /// Timers by queue and key.
    Timers = 11,
    /// Timers by when they are due.
    Due = 12,
}

impl Area {
    /// The areas whose rows have a lifetime on the machine's clock.
    pub(crate) const LEASED: [Self; 3] = [Self::Locks, Self::Tickets, Self::Values];
}

impl From<Table> for Area {
    fn from(table: Table) -> Self {
        match table {
            Table::Locks => Self::Locks,
            Table::Queues => Self::Tickets,
            Table::Values => Self::Values,
        }
    }
}

/// A key as it lies in the file; `None` when it is too long for it.
pub(crate) fn key(area: Area, key: &[u8]) -> Option<Vec<u8>> {
    if key.len() >= LONGEST_KEY {
        return None;
    }
    let mut whole = Vec::with_capacity(key.len() + 1);
    whole.push(area as u8);
    whole.extend_from_slice(key);
    Some(whole)
}

/// The first key after all that start with `prefix`, which begins with an area's byte.
pub(crate) fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    // An area's byte is far below 255, so this ends before the key is empty.
    while end.last() == Some(&0xff) {
        end.pop();
    }
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// The eight bytes at `at` as a number.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(part.try_into().ok()?))
}

/// What is written in front of a row's value.
pub(crate) struct Head {
    pub(crate) version: u64,
    pub(crate) expires: Option<Moment>,
    /// How long the lease lasted when it was written, in nanoseconds: what a lease gets anew when
    /// the machine was restarted, since nobody knows how much of it was over.
    pub(crate) lifetime: u64,
    pub(crate) updated_micros: i64,
    pub(crate) client: ClientId,
}

impl Head {
    pub(crate) fn encode(&self, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + value.len());
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&self.expires.unwrap_or(Moment::NEVER).as_nanos().to_le_bytes());
        bytes.extend_from_slice(&self.lifetime.to_le_bytes());
        bytes.extend_from_slice(&self.updated_micros.to_le_bytes());
        bytes.extend_from_slice(&self.client.0.to_le_bytes());
        bytes.extend_from_slice(value);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let expires = Moment::from_nanos(number(bytes, 8)?);
        Some(Self {
            version: number(bytes, 0)?,
            expires: (expires != Moment::NEVER).then_some(expires),
            lifetime: number(bytes, 16)?,
            updated_micros: number(bytes, 24)? as i64,
            client: ClientId(number(bytes, 32)?),
        })
    }
}

/// A row, as the core knows it.
pub(crate) fn decode(bytes: &[u8]) -> fencehold::Result<Row> {
    let damaged = || fencehold::Error::internal("a row of the store is shorter than rows are");
    let head = Head::decode(bytes).ok_or_else(damaged)?;
    Ok(Row {
        version: head.version,
        expires: head.expires,
        updated_micros: head.updated_micros,
        client: head.client,
        value: bytes[HEAD_BYTES..].to_vec(),
    })
}

/// A number kept under a key of [`Area::Store`].
pub(crate) fn stored_number(bytes: Option<&[u8]>) -> Result<u64, Failure> {
    match bytes {
        None => Ok(0),
        Some(bytes) if bytes.len() == 8 => Ok(number(bytes, 0).unwrap_or_default()),
        Some(_) => Err(Failure::store("the store is damaged: one of its numbers has not eight bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_written() {
        let head = Head {
            version: 7,
            expires: Some(Moment::from_nanos(9)),
            lifetime: 5,
            updated_micros: -3,
            client: ClientId(11),
        };
        let row = decode(&head.encode(b"{}")).unwrap();
        assert_eq!((row.version, row.expires, row.updated_micros), (7, Some(Moment::from_nanos(9)), -3));
        assert_eq!((row.client, row.value.as_slice()), (ClientId(11), b"{}".as_slice()));
        assert!(decode(&[0; HEAD_BYTES - 1]).is_err());
    }

    #[test]
    fn the_end_of_a_prefix_is_after_every_key_that_starts_with_it() {
        assert_eq!(end_of(&[2, b'a']), [2, b'b']);
        assert_eq!(end_of(&[2, 0xff, 0xff]), [3]);
        assert!(key(Area::Locks, &[0; 511]).is_none());
        assert_eq!(key(Area::Locks, b"a").unwrap(), [2, b'a']);
    }
}
