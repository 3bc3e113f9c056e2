//! What a store of rows has to offer so that locks can be built on it.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::Result;
use crate::clock::{Clock, Moment};

/// Which rows are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// The permits: key `<name>#<slot>`; the namespace `queen-locks` on the wire.
    Locks,
    /// The tickets of waiters: key `<name>#<ten digits>`; the namespace `fencehold-queues`.
    Queues,
    /// The rows of users: key `<namespace>`, a zero byte, `<key>`.
    Values,
}

/// The identity of a process that uses a store and whose death the store can notice.
///
/// [`ClientId::NONE`] marks a row that lives by its lifetime alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

impl ClientId {
    /// Nobody: the row does not end with any process.
    pub const NONE: Self = Self(0);
}

/// A row as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Rises with every write on the whole store and is never used twice.
    pub version: u64,
    /// When the row ends on the store's clock; `None`: never.
    pub expires: Option<Moment>,
    /// When the row was written, in microseconds since 1970 (for people).
    pub updated_micros: i64,
    /// The process that the row ends with.
    pub client: ClientId,
    /// The value: UTF-8 JSON.
    pub value: Vec<u8>,
}

/// What a write puts into a row; the store adds the version and the time.
#[derive(Clone, Copy, Debug)]
pub struct NewRow<'a> {
    /// The value: UTF-8 JSON.
    pub value: &'a [u8],
    /// When the row ends on the store's clock; `None`: never.
    pub expires: Option<Moment>,
    /// The process that the row ends with.
    pub client: ClientId,
}

/// What a transaction is going to do, so that a store can refuse early and cheaply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Only reads.
    Read,
    /// May add rows: refused when the store is full.
    Grow,
    /// Rewrites or removes rows: works on a full store too, since a renewal or a release that a
    /// full disk refuses would lose somebody's work.
    Keep,
}

/// The rows, inside one transaction.
pub trait Rows {
    /// The store's time, the same during the whole transaction.
    fn now(&self) -> Moment;

    /// The time of day in microseconds since 1970, for people.
    fn wall_micros(&self) -> i64;

    /// The row at `key`, also when it has expired.
    ///
    /// # Errors
    /// Whatever the store says.
    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>>;

    /// Shows the rows whose keys start with `prefix` and come after `after`, by rising key, until
    /// `visit` breaks or there are no more.
    ///
    /// # Errors
    /// Whatever the store says.
    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()>;

    /// The row with the highest key that starts with `prefix`.
    ///
    /// # Errors
    /// Whatever the store says.
    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>>;

    /// Writes a row, whatever was there, and answers its version.
    ///
    /// # Errors
    /// Whatever the store says; a full store refuses under [`Intent::Grow`].
    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64>;

    /// Removes a row; false when there was none.
    ///
    /// # Errors
    /// Whatever the store says.
    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool>;

    /// This process, as other clients of the store see it.
    fn client(&self) -> ClientId;

    /// Whether the process behind `client` still lives. True for [`ClientId::NONE`] and wherever
    /// the store cannot tell.
    fn is_alive(&mut self, client: ClientId) -> bool;
}

/// A store of rows with atomic transactions.
pub trait RowStore: Send + Sync {
    /// The store's URL without credentials.
    fn store(&self) -> &str;

    /// The clock that rows expire by.
    fn clock(&self) -> &Clock;

    /// Runs `body` in one transaction that excludes all others, and commits when it answers `Ok`.
    ///
    /// `body` may run more than once (a store that had to grow starts again) and then has to
    /// forget what it learnt before. `until` bounds the wait for the store.
    ///
    /// # Errors
    /// The body's error, after which nothing was changed; `unreachable` with the reason
    /// `store_busy` when the store could not be had before `until`; `store` when it is full,
    /// read-only, damaged or of a newer format; `in_doubt` if a commit failed half way.
    fn transact(&self, intent: Intent, until: Moment, body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>) -> Result<()>;

    /// As [`RowStore::transact`], for a transaction about the rows of one lock, which need not exclude
    /// those about others.
    ///
    /// # Errors
    /// As [`RowStore::transact`].
    fn transact_lock(
        &self,
        name: &str,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<()> {
        let _ = name;
        self.transact(intent, until, body)
    }

    /// Whether [`RowStore::transact_lock`] excludes only what is about the same lock.
    fn locks_by_name(&self) -> bool {
        false
    }

    /// The shortest lifetime that is worth granting, given how long an answer takes.
    fn shortest(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the rows are in reach without a network.
    fn is_local(&self) -> bool {
        true
    }

    /// A word for one waiting thread to sleep on.
    ///
    /// # Errors
    /// Whatever the store says.
    fn wait_word(&self) -> Result<WaitWord>;

    /// Wakes whoever sleeps on the word with this number, in whatever process it is. Called after
    /// the transaction that changed what the sleeper waits for.
    fn wake(&self, word: u32);

    /// Whether [`Rows::is_alive`] can notice a death that nobody announces, so that waiters have
    /// to look from time to time.
    fn notices_death(&self) -> bool;

    /// As [`RowStore::transact`], for a transaction that may be about rows of users as well and is
    /// on the disk before it is answered, where the store has one.
    ///
    /// # Errors
    /// As [`RowStore::transact`].
    fn transact_values(
        &self,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<()> {
        self.transact(intent, until, body)
    }

    /// Whether one transaction can write rows of users as well as locks.
    fn mixes_values(&self) -> bool {
        true
    }
}

/// A futex word that one waiting thread sleeps on. It is never unmapped.
#[derive(Clone, Copy, Debug)]
pub struct WaitWord {
    /// The number under which others wake it.
    pub id: u32,
    /// The word itself; whoever wakes adds one first.
    pub word: &'static AtomicU32,
    /// Whether other processes can wake it.
    pub shared: bool,
}
