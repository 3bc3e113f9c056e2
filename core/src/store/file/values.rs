//! The rows of users beside the leases: in a folder of their own, since they have to outlive a
//! power failure, and no sync may ever keep somebody from renewing a lease.
//!
//! While a step is committed the rows are locked, and the guards are looked up in the leases then.
//! Whoever takes a lease over from there on finds the rows locked until the step is done, so it never
//! sees them change behind its back.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::FileStore;
use super::descriptor::stat_path;
use super::fault::from_os;
use super::format::Contents;
use super::location;
use crate::clock::Moment;
use crate::kv::row::{ClientId, Intent, NewRow, Row, RowStore, Rows, Table};
use crate::{Error, Kind, Result};

const FOLDER: &str = "values";

impl FileStore {
    /// The store of the rows of users, whose folder is made when it is used first.
    pub(super) fn values_store(&self, until: Moment) -> Result<&Arc<Self>> {
        let folder = self.folder.join(FOLDER);
        if stat_path(&folder).is_err() {
            // The folder of the leases comes first: it decides who may use this one.
            self.home(self.until(until)).map_err(|error| error.on_store(&self.name))?;
            let store = stat_path(&self.folder).map_err(|code| from_os(code, "look at", &self.folder))?;
            location::prepare_inside(&store, &folder)?;
        }
        Ok(self.values.get_or_init(|| {
            let (name, clock) = (self.name.clone(), self.clock.clone());
            Arc::new(Self::with_contents(folder, name, clock, Contents::Rows))
        }))
    }

    /// Whether there are rows of users.
    pub(super) fn has_values(folder: &Path) -> bool {
        stat_path(&folder.join(FOLDER)).is_ok()
    }
}

/// One transaction of rows of users, with the leases to look things up in.
pub(super) struct ValueRows<'a> {
    rows: &'a mut dyn Rows,
    leases: &'a FileStore,
    until: Moment,
}

impl<'a> ValueRows<'a> {
    pub(super) fn new(rows: &'a mut dyn Rows, leases: &'a FileStore, until: Moment) -> Self {
        Self { rows, leases, until }
    }

    /// Looks something up in the leases, in a transaction of its own.
    fn look<T>(&self, mut body: impl FnMut(&mut dyn Rows) -> Result<T>) -> Result<T> {
        let mut answer = None;
        self.leases.transact(Intent::Read, self.until, &mut |rows| {
            answer = Some(body(rows)?);
            Ok(())
        })?;
        answer.ok_or_else(|| Error::internal("the store answered without running the transaction"))
    }

    /// These rows outlive the boot, so that their ends are kept as time of day. As a moment:
    fn moment_of(&self, wall_end: Moment) -> Moment {
        let (wall, now) = (wall_nanos(self.rows), self.rows.now());
        let end = wall_end.as_nanos();
        match end.checked_sub(wall) {
            Some(left) => now.after(Duration::from_nanos(left)),
            None => Moment::from_nanos(now.as_nanos().saturating_sub(wall - end)),
        }
    }

    fn wall_of(&self, end: Moment) -> Moment {
        let left = end.since(self.rows.now());
        Moment::from_nanos(wall_nanos(self.rows)).after(left)
    }

    fn shown(&self, mut row: Row) -> Row {
        row.expires = row.expires.map(|end| self.moment_of(end));
        row
    }
}

fn wall_nanos(rows: &dyn Rows) -> u64 {
    u64::try_from(rows.wall_micros()).unwrap_or(0).saturating_mul(1000)
}

fn refused() -> Error {
    let detail = "this store cannot change locks and rows of users in one call, and nothing was done. Change them one \
                  after the other";
    Error::new(Kind::Unsupported, "unsupported", detail)
}

impl Rows for ValueRows<'_> {
    fn now(&self) -> Moment {
        self.rows.now()
    }

    fn wall_micros(&self) -> i64 {
        self.rows.wall_micros()
    }

    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        if table == Table::Values {
            return Ok(self.rows.get(table, key)?.map(|row| self.shown(row)));
        }
        self.look(|rows| rows.get(table, key))
    }

    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        if table != Table::Values {
            return self.look(|rows| rows.scan(table, prefix, after, visit));
        }
        let (wall, now) = (wall_nanos(self.rows), self.rows.now());
        self.rows.scan(table, prefix, after, &mut |key, mut row| {
            row.expires = row.expires.map(|end| match end.as_nanos().checked_sub(wall) {
                Some(left) => now.after(Duration::from_nanos(left)),
                None => Moment::from_nanos(now.as_nanos().saturating_sub(wall - end.as_nanos())),
            });
            visit(key, row)
        })
    }

    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        if table == Table::Values {
            return Ok(self.rows.last(table, prefix)?.map(|(key, row)| (key, self.shown(row))));
        }
        self.look(|rows| rows.last(table, prefix))
    }

    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64> {
        if table != Table::Values {
            return Err(refused());
        }
        let expires = row.expires.map(|end| self.wall_of(end));
        self.rows.put(table, key, NewRow { expires, ..row })
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        if table == Table::Values { self.rows.delete(table, key) } else { Err(refused()) }
    }

    fn client(&self) -> ClientId {
        self.rows.client()
    }

    fn is_alive(&mut self, client: ClientId) -> bool {
        // A lease whose store cannot be asked is no proof for a step.
        client == ClientId::NONE || self.look(|rows| Ok(rows.is_alive(client))).unwrap_or(false)
    }
}
