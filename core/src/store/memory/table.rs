//! The rows and their changes inside one transaction.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::clock::Moment;
use crate::kv::row::{ClientId, NewRow, Row, Rows, Table};

/// All rows of a store.
pub(super) struct Tables {
    locks: BTreeMap<Vec<u8>, Row>,
    queues: BTreeMap<Vec<u8>, Row>,
    values: BTreeMap<Vec<u8>, Row>,
    /// The next version. A transaction that is undone leaves a gap.
    next_version: u64,
}

impl Tables {
    /// No rows. Versions start at the time of day, so that tokens go on rising when the process
    /// starts again.
    pub(super) fn new(wall_micros: i64) -> Self {
        let next_version = u64::try_from(wall_micros).unwrap_or(1).max(1);
        Self { locks: BTreeMap::new(), queues: BTreeMap::new(), values: BTreeMap::new(), next_version }
    }

    fn of(&mut self, table: Table) -> &mut BTreeMap<Vec<u8>, Row> {
        match table {
            Table::Locks => &mut self.locks,
            Table::Queues => &mut self.queues,
            Table::Values => &mut self.values,
        }
    }
}

/// One transaction. Dropped without [`Transaction::commit`], it takes everything back.
pub(super) struct Transaction<'a> {
    tables: &'a mut Tables,
    now: Moment,
    wall_micros: i64,
    client: ClientId,
    /// What was there before each write, first write first.
    undo: Vec<(Table, Vec<u8>, Option<Row>)>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(tables: &'a mut Tables, now: Moment, wall_micros: i64, client: ClientId) -> Self {
        Self { tables, now, wall_micros, client, undo: Vec::new() }
    }

    pub(super) fn commit(mut self) {
        self.undo.clear();
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        for (table, key, before) in self.undo.drain(..).rev() {
            let rows = self.tables.of(table);
            match before {
                Some(row) => rows.insert(key, row),
                None => rows.remove(&key),
            };
        }
    }
}

/// Whether `key` starts with `prefix`, for walks that begin inside of it.
fn within<'a>(
    rows: &'a BTreeMap<Vec<u8>, Row>,
    prefix: &'a [u8],
    start: Bound<&'a [u8]>,
) -> impl Iterator<Item = (&'a Vec<u8>, &'a Row)> {
    rows.range::<[u8], _>((start, Bound::Unbounded)).take_while(move |(key, _)| key.starts_with(prefix))
}

impl Rows for Transaction<'_> {
    fn now(&self) -> Moment {
        self.now
    }

    fn wall_micros(&self) -> i64 {
        self.wall_micros
    }

    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        Ok(self.tables.of(table).get(key).cloned())
    }

    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        for (key, row) in within(self.tables.of(table), prefix, start) {
            if visit(key, row.clone()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        // The end of the prefix is the prefix with its last byte raised; without one, the end.
        let mut end = prefix.to_vec();
        while end.last() == Some(&0xff) {
            end.pop();
        }
        let end = match end.last_mut() {
            Some(byte) => {
                *byte += 1;
                Bound::Excluded(&*end)
            }
            None => Bound::Unbounded,
        };
        let rows = self.tables.of(table);
        let last = rows.range::<[u8], _>((Bound::Included(prefix), end)).next_back();
        Ok(last.map(|(key, row)| (key.clone(), row.clone())))
    }

    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64> {
        let version = self.tables.next_version;
        self.tables.next_version += 1;
        let row = Row {
            version,
            expires: row.expires,
            updated_micros: self.wall_micros,
            client: row.client,
            value: row.value.to_vec(),
        };
        let before = self.tables.of(table).insert(key.to_vec(), row);
        self.undo.push((table, key.to_vec(), before));
        Ok(version)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        let Some((key, row)) = self.tables.of(table).remove_entry(key) else { return Ok(false) };
        self.undo.push((table, key, Some(row)));
        Ok(true)
    }

    fn client(&self) -> ClientId {
        self.client
    }

    fn is_alive(&mut self, _client: ClientId) -> bool {
        // Only this process sees the rows.
        true
    }
}
