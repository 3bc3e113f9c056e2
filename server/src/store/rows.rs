//! The rows inside one transaction, for writing and for reading.

use std::ops::{Bound, ControlFlow};

use fencehold::internal::{ClientId, Moment, NewRow, Row, Rows, Table, boot_now};
use fencehold::{Error, Result};
use heed::{RoTxn, RwTxn, WithoutTls};

use super::counters;
use super::encoding::{Area, Head, decode, end_of, key};
use super::environment::Tree;
use super::{Presence, wall};

/// What LMDB met. The writer ends the process then, so nobody builds on it.
fn broken(error: &heed::Error) -> Error {
    Error::internal(format!("the rows cannot be used: {error}"))
}

fn whole_key(area: Area, name: &[u8]) -> Result<Vec<u8>> {
    key(area, name).ok_or_else(|| Error::internal(format!("a key of {} bytes is too long for the store", name.len())))
}

/// Shows the rows of an area, by rising key.
fn walk(
    tree: &Tree,
    txn: &RoTxn<'_, WithoutTls>,
    area: Area,
    prefix: &[u8],
    after: Option<&[u8]>,
    visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let prefix = whole_key(area, prefix)?;
    let end = end_of(&prefix);
    let after = after.map(|after| whole_key(area, after)).transpose()?;
    let start = match &after {
        Some(after) if *after >= end => return Ok(()),
        Some(after) if *after >= prefix => Bound::Excluded(after.as_slice()),
        _ => Bound::Included(prefix.as_slice()),
    };
    let range = (start, Bound::Excluded(end.as_slice()));
    for row in tree.range(txn, &range).map_err(|error| broken(&error))? {
        let (key, bytes) = row.map_err(|error| broken(&error))?;
        if visit(&key[1..], bytes)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn last(tree: &Tree, txn: &RoTxn<'_, WithoutTls>, area: Area, prefix: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let prefix = whole_key(area, prefix)?;
    let found = tree.get_lower_than(txn, &end_of(&prefix)).map_err(|error| broken(&error))?;
    Ok(found.filter(|(key, _)| key.starts_with(&prefix)).map(|(key, bytes)| (key[1..].to_vec(), bytes.to_vec())))
}

/// One group of commands, committed together. Every command can be taken back alone.
pub(crate) struct Writer<'e> {
    txn: RwTxn<'e>,
    tree: Tree,
    now: Moment,
    wall_micros: i64,
    next_version: u64,
    client: ClientId,
    presence: Presence,
    /// What was there before each write of the command that runs, first write first.
    undo: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    counts: counters::Rows,
    writes: u64,
    /// What LMDB met, after which nothing may be committed.
    fault: Option<String>,
    is_full: bool,
}

impl<'e> Writer<'e> {
    pub(crate) fn new(
        txn: RwTxn<'e>,
        tree: Tree,
        next_version: u64,
        counts: counters::Rows,
        presence: Presence,
    ) -> Self {
        let (now, wall_micros) = wall::now();
        Self {
            txn,
            tree,
            now,
            wall_micros,
            next_version,
            client: ClientId::NONE,
            presence,
            undo: Vec::new(),
            counts,
            writes: 0,
            fault: None,
            is_full: false,
        }
    }

    /// Begins a command: what went before stays, whatever becomes of this one.
    pub(crate) fn begin(&mut self, is_full: bool) {
        self.undo.clear();
        (self.now, self.wall_micros) = wall::now();
        self.client = ClientId::NONE;
        self.is_full = is_full;
    }

    /// A place to which [`Writer::rewind`] takes everything back.
    pub(crate) fn mark(&self) -> usize {
        self.undo.len()
    }

    pub(crate) fn rewind(&mut self, mark: usize) {
        while self.undo.len() > mark {
            let Some((key, before)) = self.undo.pop() else { return };
            let is_there = matches!(self.tree.get(&self.txn, &key), Ok(Some(_)));
            self.count(&key, is_there, before.is_some());
            let done = match before {
                Some(bytes) => self.tree.put(&mut self.txn, &key, &bytes),
                None => self.tree.delete(&mut self.txn, &key).map(|_| ()),
            };
            if let Err(error) = done {
                self.break_down(&error);
            }
        }
    }

    /// Whom tickets are written for.
    pub(crate) fn set_client(&mut self, client: ClientId) {
        self.client = client;
    }

    /// How many rows were written and removed.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    pub(crate) fn next_version(&self) -> u64 {
        self.next_version
    }

    /// Makes the group durable.
    pub(crate) fn commit(mut self) -> std::result::Result<(), String> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let numbers =
            [(super::environment::VERSION, self.next_version), (super::environment::CLOCK, boot_now().as_nanos())];
        for (name, number) in numbers {
            let key = super::environment::store_key(name);
            self.tree.put(&mut self.txn, &key, &number.to_le_bytes()).map_err(|error| error.to_string())?;
        }
        let key = super::environment::store_key(super::environment::ROWS);
        self.tree.put(&mut self.txn, &key, &counters::encode(&self.counts)).map_err(|error| error.to_string())?;
        self.txn.commit().map_err(|error| error.to_string())
    }

    fn count(&mut self, key: &[u8], was_there: bool, is_there: bool) {
        let Some(count) = key.first().and_then(|area| self.counts.get_mut(usize::from(*area))) else { return };
        match (was_there, is_there) {
            (false, true) => *count += 1,
            (true, false) => *count = count.saturating_sub(1),
            _ => {}
        }
    }

    /// How many rows there are in each area.
    pub(crate) fn counts(&self) -> &counters::Rows {
        &self.counts
    }

    fn break_down(&mut self, error: &heed::Error) -> Error {
        self.fault.get_or_insert_with(|| error.to_string());
        broken(error)
    }

    /// The bytes under a key.
    pub(crate) fn bytes(&self, area: Area, name: &[u8]) -> Result<Option<&[u8]>> {
        let key = whole_key(area, name)?;
        self.tree.get(&self.txn, &key).map_err(|error| broken(&error))
    }

    /// Writes bytes under a key, unless the disk is full.
    pub(crate) fn put_bytes(&mut self, area: Area, name: &[u8], bytes: &[u8]) -> Result<()> {
        if self.is_full {
            return Err(full());
        }
        self.replace_bytes(area, name, bytes)
    }

    /// Writes bytes under a key, on a full disk too: for what takes no more room than before.
    pub(crate) fn replace_bytes(&mut self, area: Area, name: &[u8], bytes: &[u8]) -> Result<()> {
        self.replace(whole_key(area, name)?, Some(bytes)).map(|_| ())
    }

    /// Removes what is under a key; false when there was nothing.
    pub(crate) fn delete_bytes(&mut self, area: Area, name: &[u8]) -> Result<bool> {
        self.replace(whole_key(area, name)?, None)
    }

    /// Shows the bytes of an area whose keys start with `prefix` and come after `after`.
    pub(crate) fn walk_bytes(
        &self,
        area: Area,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        walk(&self.tree, &self.txn, area, prefix, after, visit)
    }

    /// The bytes under the highest key that starts with `prefix`.
    pub(crate) fn last_bytes(&self, area: Area, prefix: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        last(&self.tree, &self.txn, area, prefix)
    }

    /// A version, from the counter that everything durable is numbered with.
    pub(crate) fn take_version(&mut self) -> u64 {
        let version = self.next_version;
        self.next_version += 1;
        version
    }

    fn replace(&mut self, key: Vec<u8>, bytes: Option<&[u8]>) -> Result<bool> {
        let before = match self.tree.get(&self.txn, &key) {
            Ok(before) => before.map(<[u8]>::to_vec),
            Err(error) => return Err(self.break_down(&error)),
        };
        let was_there = before.is_some();
        let done = match bytes {
            Some(bytes) => self.tree.put(&mut self.txn, &key, bytes),
            None if !was_there => return Ok(false),
            None => self.tree.delete(&mut self.txn, &key).map(|_| ()),
        };
        if let Err(error) = done {
            return Err(self.break_down(&error));
        }
        self.writes += 1;
        self.count(&key, was_there, bytes.is_some());
        self.undo.push((key, before));
        Ok(was_there)
    }
}

/// The refusal of whatever needs more room than there is.
pub(crate) fn full() -> Error {
    Error::for_binding(
        fencehold::Kind::Store,
        "storage_full",
        "the server's disk is full. What is held can be renewed and released",
        None,
        None,
    )
}

impl Rows for Writer<'_> {
    fn now(&self) -> Moment {
        self.now
    }

    fn wall_micros(&self) -> i64 {
        self.wall_micros
    }

    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        self.bytes(table.into(), key)?.map(decode).transpose()
    }

    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        self.walk_bytes(table.into(), prefix, after, &mut |key, bytes| Ok(visit(key, decode(bytes)?)))
    }

    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        let found = self.last_bytes(table.into(), prefix)?;
        found.map(|(key, bytes)| Ok((key, decode(&bytes)?))).transpose()
    }

    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64> {
        let key = whole_key(table.into(), key)?;
        // A renewal replaces a row of about its size, and has to work on a full disk too.
        if self.is_full && self.tree.get(&self.txn, &key).map_err(|error| broken(&error))?.is_none() {
            return Err(full());
        }
        let version = self.take_version();
        let lifetime = row.expires.map_or(0, |end| end.since(self.now).as_nanos() as u64);
        let head =
            Head { version, expires: row.expires, lifetime, updated_micros: self.wall_micros, client: row.client };
        self.replace(key, Some(&head.encode(row.value)))?;
        Ok(version)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        self.delete_bytes(table.into(), key)
    }

    fn client(&self) -> ClientId {
        self.client
    }

    fn is_alive(&mut self, client: ClientId) -> bool {
        self.presence.is_alive(client)
    }
}

/// The rows as they were committed last, for reading.
pub(crate) struct Reader<'e> {
    txn: RoTxn<'e, WithoutTls>,
    tree: Tree,
    now: Moment,
    wall_micros: i64,
    presence: Presence,
}

impl<'e> Reader<'e> {
    pub(crate) fn new(txn: RoTxn<'e, WithoutTls>, tree: Tree, presence: Presence) -> Self {
        let (now, wall_micros) = wall::now();
        Self { txn, tree, now, wall_micros, presence }
    }

    /// The bytes under a key.
    pub(crate) fn bytes(&self, area: Area, name: &[u8]) -> Result<Option<&[u8]>> {
        let key = whole_key(area, name)?;
        self.tree.get(&self.txn, &key).map_err(|error| broken(&error))
    }

    /// Shows the bytes of an area whose keys start with `prefix` and come after `after`.
    pub(crate) fn walk_bytes(
        &self,
        area: Area,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        walk(&self.tree, &self.txn, area, prefix, after, visit)
    }
}

fn read_only<T>() -> Result<T> {
    Err(Error::internal("a transaction for reading was asked to write"))
}

impl Rows for Reader<'_> {
    fn now(&self) -> Moment {
        self.now
    }

    fn wall_micros(&self) -> i64 {
        self.wall_micros
    }

    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        self.bytes(table.into(), key)?.map(decode).transpose()
    }

    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        self.walk_bytes(table.into(), prefix, after, &mut |key, bytes| Ok(visit(key, decode(bytes)?)))
    }

    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        let found = last(&self.tree, &self.txn, table.into(), prefix)?;
        found.map(|(key, bytes)| Ok((key, decode(&bytes)?))).transpose()
    }

    fn put(&mut self, _table: Table, _key: &[u8], _row: NewRow<'_>) -> Result<u64> {
        read_only()
    }

    fn delete(&mut self, _table: Table, _key: &[u8]) -> Result<bool> {
        read_only()
    }

    fn client(&self) -> ClientId {
        ClientId::NONE
    }

    fn is_alive(&mut self, client: ClientId) -> bool {
        self.presence.is_alive(client)
    }
}
