//! Rows as they lie in the file, inside one transaction.

use std::cell::{OnceCell, RefCell};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::environment::Transaction;
use super::fault::Fault;
use super::presence::Presence;
use super::tokens;
use super::wake::{Page, seal, unseal};
use crate::clock::{Moment, wall_micros};
use crate::kv::row::{ClientId, NewRow, Row, Rows, Table};
use crate::{Error, Kind, Result};

/// version, expires, updated, client: eight bytes each, little-endian.
const HEAD_BYTES: usize = 32;
/// The longest key that LMDB takes.
const LONGEST_KEY: usize = 511;

/// The rows during one transaction.
pub(super) struct FileRows<'a> {
    pub(super) txn: Transaction<'a>,
    pub(super) page: &'static Page,
    pub(super) presence: &'static Presence,
    /// The file of the clients.
    pub(super) clients: &'a Path,
    /// This process, once it is asked for.
    pub(super) client: OnceCell<ClientId>,
    pub(super) now: Moment,
    /// Why the transaction has to start again, or what it met; the body was told `stopped()`.
    pub(super) fault: RefCell<Option<Fault>>,
}

/// A key with its table in front.
struct Key {
    bytes: [u8; LONGEST_KEY],
    length: usize,
}

impl Key {
    #[inline]
    fn new(table: Table, key: &[u8]) -> Result<Self> {
        let length = key.len() + 1;
        if length > LONGEST_KEY {
            return Err(Error::internal(format!("a key of {} bytes is too long for the store", key.len())));
        }
        let mut bytes = [0; LONGEST_KEY];
        bytes[0] = match table {
            Table::Locks => 1,
            Table::Queues => 2,
            Table::Values => 3,
        };
        bytes[1..length].copy_from_slice(key);
        Ok(Self { bytes, length })
    }

    #[inline]
    fn get(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The first key after all that start with this one.
    fn end(mut self) -> Self {
        // The first byte is a table's number, so this ends before the key is empty.
        while self.bytes[self.length - 1] == 0xff {
            self.length -= 1;
        }
        self.bytes[self.length - 1] += 1;
        self
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut part = [0; 8];
    part.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(part)
}

fn decode(bytes: &[u8]) -> Option<Row> {
    if bytes.len() < HEAD_BYTES {
        return None;
    }
    let expires = Moment::from_nanos(number(bytes, 8));
    Some(Row {
        version: number(bytes, 0),
        expires: (expires != Moment::NEVER).then_some(expires),
        updated_micros: number(bytes, 16) as i64,
        client: ClientId(number(bytes, 24)),
        value: bytes[HEAD_BYTES..].to_vec(),
    })
}

fn short_row() -> Error {
    Error::new(Kind::Store, "store_damaged", "a row of the store is shorter than rows are. Run fencehold doctor")
}

impl FileRows<'_> {
    /// Keeps `fault` for whoever runs the transaction and gives the body something to return.
    fn stop(&self, fault: Fault) -> Error {
        let error = match &fault {
            Fault::Error(error) => error.clone(),
            _ => Error::internal("the transaction starts again"),
        };
        *self.fault.borrow_mut() = Some(fault);
        error
    }

    fn next_version(&mut self) -> Result<u64> {
        let next = unseal(self.page.next_version.load(Ordering::Relaxed));
        let limit = unseal(self.page.version_limit.load(Ordering::Acquire));
        match (next, limit) {
            (Some(next), Some(limit)) if next < limit => {
                // Before the row is written: a kill in between leaves a gap and no repetition.
                self.page.next_version.store(seal(next + 1), Ordering::Release);
                tokens::saw(next);
                Ok(next)
            }
            _ => Err(self.stop(Fault::Versions)),
        }
    }
}

impl Rows for FileRows<'_> {
    fn now(&self) -> Moment {
        self.now
    }

    fn wall_micros(&self) -> i64 {
        wall_micros()
    }

    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        let key = Key::new(table, key)?;
        let found = match self.txn.get(key.get()) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => decode(bytes).ok_or_else(|| Fault::Error(short_row())),
            Err(fault) => Err(fault),
        };
        found.map(Some).map_err(|fault| self.stop(fault))
    }

    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        let prefix = Key::new(table, prefix)?;
        let after = after.map(|after| Key::new(table, after)).transpose()?;
        let start = match &after {
            Some(after) if after.get() > prefix.get() => after.get(),
            _ => prefix.get(),
        };
        let mut damaged = false;
        let walked = self.txn.walk(start, &mut |key, bytes| {
            if !key.starts_with(prefix.get()) {
                // Keys that come before the prefix are skipped only when `after` lies there.
                return if key > prefix.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            if after.as_ref().is_some_and(|after| key <= after.get()) {
                return ControlFlow::Continue(());
            }
            match decode(bytes) {
                Some(row) => visit(&key[1..], row),
                None => {
                    damaged = true;
                    ControlFlow::Break(())
                }
            }
        });
        match walked {
            Ok(()) if damaged => Err(self.stop(Fault::Error(short_row()))),
            Ok(()) => Ok(()),
            Err(fault) => Err(self.stop(fault)),
        }
    }

    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        let prefix = Key::new(table, prefix)?;
        let end = Key::new(table, &prefix.get()[1..])?.end();
        let found = match self.txn.last_before(end.get()) {
            Ok(Some((key, bytes))) if key.starts_with(prefix.get()) => {
                decode(bytes).map(|row| Some((key[1..].to_vec(), row))).ok_or_else(|| Fault::Error(short_row()))
            }
            Ok(_) => Ok(None),
            Err(fault) => Err(fault),
        };
        found.map_err(|fault| self.stop(fault))
    }

    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64> {
        let key = Key::new(table, key)?;
        let version = self.next_version()?;
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&version.to_le_bytes());
        head[8..16].copy_from_slice(&row.expires.unwrap_or(Moment::NEVER).as_nanos().to_le_bytes());
        head[16..24].copy_from_slice(&wall_micros().to_le_bytes());
        head[24..].copy_from_slice(&row.client.0.to_le_bytes());
        self.txn.put(key.get(), &head, row.value).map_err(|fault| self.stop(fault))?;
        Ok(version)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        let key = Key::new(table, key)?;
        self.txn.delete(key.get()).map_err(|fault| self.stop(fault))
    }

    fn client(&self) -> ClientId {
        *self.client.get_or_init(|| {
            self.presence.identity(self.clients).unwrap_or_else(|fault| {
                self.stop(fault);
                ClientId::NONE
            })
        })
    }

    fn is_alive(&mut self, client: ClientId) -> bool {
        self.client.get() == Some(&client) || self.presence.is_alive(client)
    }
}
