//! Rows as they lie in the tables, inside one transaction.
//!
//! What is written goes along with the next question, so that most transactions ask three times:
//! for the time and the lock, for what is there, and for the end.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use super::connection::{Answer, Connection};
use super::failure::Failure;
use super::wire::{self, Field, literal};
use crate::clock::{Moment, boot_now};
use crate::kv::row::{ClientId, Intent, NewRow, Row, Rows, Table};
use crate::kv::value::Facts;
use crate::{Error, Result};

/// The advisory lock of the whole store: shared by whoever is about one lock, exclusive otherwise.
pub(super) const STORE: i64 = 0x0066_656e_6365_686f;
/// How long a transaction may stand still before the server ends it: others wait for it.
const IDLE: Duration = Duration::from_secs(2);
/// How long a row that is guarded beyond its end is shown as held.
const GUARDED: Duration = Duration::from_millis(50);
/// How long a ticket is kept that nobody calls: whoever waits longer goes to the back.
const TICKET: Duration = Duration::from_secs(24 * 3600);
/// How many rows are asked for at first, and later.
const PAGES: [usize; 2] = [16, 512];
/// How many versions are drawn when the first one was not enough.
const VERSIONS: u32 = 8;

/// The statement that bounds what follows in the transaction.
pub(super) fn limits(until: Moment) -> String {
    // The server gives up a little before we do, so that its answer still comes.
    let left = until.since(boot_now()).min(Duration::from_secs(60));
    let millis = (left.mul_f64(0.9).as_millis()).max(1);
    format!(
        "SELECT set_config('lock_timeout', '{millis}', true), set_config('statement_timeout', '{millis}', true), \
         set_config('idle_in_transaction_session_timeout', '{}', true), set_config('synchronous_commit', CASE \
         current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, \
         true)",
        IDLE.as_millis()
    )
}

/// The advisory lock of one lock's rows. Two names that share it only wait for each other.
fn lock_of(name: &str) -> i64 {
    // FNV-1a.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    i64::from_ne_bytes(hash.to_ne_bytes())
}

const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const COLUMNS: &str = "encode(key, 'hex'), version, (extract(epoch FROM expires) * 1000000)::bigint, \
                       (extract(epoch FROM updated) * 1000000)::bigint, encode(value, 'hex')";

const fn table_of(table: Table) -> &'static str {
    match table {
        Table::Locks => "fencehold.permits",
        Table::Queues => "fencehold.tickets",
        Table::Values => "fencehold.rows",
    }
}

/// What is known of a row.
struct Seen {
    is_live: bool,
    value: Vec<u8>,
}

/// The rows during one transaction.
pub(super) struct Transaction<'a> {
    connection: &'a mut Connection,
    until: Moment,
    reads_only: bool,
    now_micros: u64,
    /// Versions that were drawn and not used, the next one last.
    versions: Vec<u64>,
    /// Statements that were not sent yet.
    pending: String,
    /// What the transaction saw or wrote.
    seen: HashMap<(Table, Vec<u8>), Option<Seen>>,
    /// What ended the transaction; the body was told something general.
    pub(super) fault: Option<Failure>,
}

impl<'a> Transaction<'a> {
    /// Begins a transaction that excludes all others, or those about the same name.
    pub(super) fn begin(
        connection: &'a mut Connection,
        about: Option<&str>,
        intent: Intent,
        until: Moment,
    ) -> Result<Self, Failure> {
        let reads_only = intent == Intent::Read;
        let mut sql = String::from("BEGIN ISOLATION LEVEL ");
        sql.push_str(if reads_only { "REPEATABLE READ READ ONLY; " } else { "READ COMMITTED READ WRITE; " });
        let _ = write!(sql, "{}; ", limits(until));
        match (reads_only, about) {
            (true, _) => {}
            (false, None) => {
                let _ = write!(sql, "SELECT pg_advisory_xact_lock({STORE}); ");
            }
            (false, Some(name)) => {
                let lock = lock_of(name);
                let _ = write!(sql, "SELECT pg_advisory_xact_lock_shared({STORE}); ");
                let _ = write!(sql, "SELECT pg_advisory_xact_lock({lock}); ");
            }
        }
        // In a statement of its own, so that the time is that of after the wait.
        let _ = write!(sql, "SELECT {CLOCK}");
        if !reads_only {
            sql.push_str(", nextval('fencehold.versions')");
        }
        let answers = connection.ask(&sql, until)?;
        let last = answers.last();
        let Some(now_micros) = last.and_then(|answer| answer.number(0, 0)) else {
            return Err(Failure::Error(Error::internal("the database told no time")));
        };
        let versions = last.and_then(|answer| answer.number(0, 1)).into_iter().collect();
        let (pending, seen) = (String::new(), HashMap::new());
        Ok(Self { connection, until, reads_only, now_micros, versions, pending, seen, fault: None })
    }

    /// Sends what is pending and then `sql`, and answers what that said.
    fn ask(&mut self, sql: &str) -> Result<Answer> {
        if self.fault.is_some() {
            return Err(stopped());
        }
        let whole = std::mem::take(&mut self.pending) + sql;
        match self.connection.ask(&whole, self.until) {
            Ok(mut answers) => Ok(answers.pop().unwrap_or_default()),
            Err(failure) => {
                self.fault = Some(failure);
                Err(stopped())
            }
        }
    }

    fn parsed<T>(&mut self, parsed: std::io::Result<T>) -> Result<T> {
        parsed.map_err(|error| {
            self.fault = Some(Failure::Broken(error.to_string()));
            stopped()
        })
    }

    /// Ends the transaction; what it did is there when this answers.
    pub(super) fn commit(mut self) -> Result<(), Failure> {
        let sql = std::mem::take(&mut self.pending) + "COMMIT";
        self.connection.ask(&sql, self.until).map(drop)
    }

    fn draw(&mut self) -> Result<u64> {
        if self.versions.is_empty() {
            let drawn =
                self.ask(&format!("SELECT nextval('fencehold.versions') FROM generate_series(1, {VERSIONS})"))?;
            self.versions = (0..drawn.rows.len()).filter_map(|row| drawn.number(row, 0)).collect();
            self.versions.sort_unstable_by(|one, other| other.cmp(one));
        }
        self.versions.pop().ok_or_else(|| Error::internal("the database drew no version"))
    }

    fn read(&mut self, table: Table, wanted: &str) -> Result<Vec<(Vec<u8>, Row)>> {
        let answer = self.ask(&format!("SELECT {COLUMNS} FROM {} WHERE {wanted}", table_of(table)))?;
        let rows: std::io::Result<Vec<_>> = answer.rows.iter().map(|row| row_of(row)).collect();
        let mut rows = self.parsed(rows)?;
        if table == Table::Locks && !self.reads_only {
            self.show_guarded(&mut rows)?;
        }
        for (key, row) in &rows {
            let is_live = row.expires.is_none_or(|end| self.now() < end);
            let seen = Seen { is_live, value: row.value.clone() };
            self.seen.insert((table, key.clone()), Some(seen));
        }
        Ok(rows)
    }

    /// Permits that are over are locked against guards that come too late; those that a guard holds
    /// beyond their end are shown as held.
    fn show_guarded(&mut self, rows: &mut [(Vec<u8>, Row)]) -> Result<()> {
        let now = self.now();
        let over = |row: &Row| row.expires.is_some_and(|end| end <= now);
        let keys: Vec<String> = rows.iter().filter(|(_, row)| over(row)).map(|(key, _)| literal(key)).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT encode(key, 'hex') FROM fencehold.permits WHERE key IN ({}) FOR UPDATE SKIP LOCKED",
            keys.join(", ")
        );
        let answer = self.ask(&sql)?;
        let free: std::io::Result<Vec<Vec<u8>>> = answer
            .rows
            .iter()
            .map(|row| wire::unhex(row.first().and_then(Option::as_deref).unwrap_or_default()))
            .collect();
        let free = self.parsed(free)?;
        for (key, row) in rows {
            if over(row) && !free.contains(key) {
                row.expires = Some(now.after(GUARDED));
            }
        }
        Ok(())
    }
}

/// What a body is told when the transaction is over for another reason.
fn stopped() -> Error {
    Error::internal("the transaction has ended")
}

fn row_of(row: &[Field]) -> std::io::Result<(Vec<u8>, Row)> {
    let field = |column: usize| row.get(column).and_then(Option::as_deref);
    let number = |column: usize| {
        field(column).and_then(|text| std::str::from_utf8(text).ok()).and_then(|text| text.parse::<i64>().ok())
    };
    let missing = || wire::bad("a row without its columns");
    let moment = |micros: i64| Moment::from_nanos(u64::try_from(micros).unwrap_or_default().saturating_mul(1000));
    let row_key = wire::unhex(field(0).ok_or_else(missing)?)?;
    let row = Row {
        version: number(1).and_then(|version| u64::try_from(version).ok()).ok_or_else(missing)?,
        expires: number(2).map(moment),
        updated_micros: number(3).ok_or_else(missing)?,
        client: ClientId::NONE,
        value: wire::unhex(field(4).ok_or_else(missing)?)?,
    };
    Ok((row_key, row))
}

/// A point of the database's time as SQL.
fn time(micros: u64) -> String {
    format!("'epoch'::timestamptz + {micros} * interval '1 microsecond'")
}

/// A statement that fails, and undoes the transaction, when `change` finds no row.
fn once(change: &str) -> String {
    format!("WITH changed AS ({change} RETURNING 1) SELECT 1 / (SELECT count(*) FROM changed); ")
}

/// The condition for keys that start with `prefix`.
fn within(prefix: &[u8]) -> String {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xff) {
        end.pop();
    }
    match end.last_mut() {
        Some(byte) => {
            *byte += 1;
            format!("key >= {} AND key < {}", literal(prefix), literal(&end))
        }
        None => format!("key >= {}", literal(prefix)),
    }
}

impl Rows for Transaction<'_> {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.now_micros.saturating_mul(1000))
    }

    fn wall_micros(&self) -> i64 {
        i64::try_from(self.now_micros).unwrap_or(i64::MAX)
    }

    fn get(&mut self, table: Table, key: &[u8]) -> Result<Option<Row>> {
        let found = self.read(table, &format!("key = {}", literal(key)))?;
        if found.is_empty() {
            self.seen.insert((table, key.to_vec()), None);
        }
        Ok(found.into_iter().next().map(|(_, row)| row))
    }

    fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> ControlFlow<()>,
    ) -> Result<()> {
        let within = within(prefix);
        let mut after = after.map(<[u8]>::to_vec);
        for round in 0.. {
            let limit = PAGES[usize::from(round > 0)];
            let from = after.as_ref().map_or_else(String::new, |after| format!(" AND key > {}", literal(after)));
            let found = self.read(table, &format!("{within}{from} ORDER BY key LIMIT {limit}"))?;
            let is_last = found.len() < limit;
            after = found.last().map(|(key, _)| key.clone());
            for (key, row) in found {
                if visit(&key, row).is_break() {
                    return Ok(());
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn last(&mut self, table: Table, prefix: &[u8]) -> Result<Option<(Vec<u8>, Row)>> {
        let found = self.read(table, &format!("{} ORDER BY key DESC LIMIT 1", within(prefix)))?;
        Ok(found.into_iter().next())
    }

    fn put(&mut self, table: Table, key: &[u8], row: NewRow<'_>) -> Result<u64> {
        let version = self.draw()?;
        let expires = match (row.expires, table) {
            (Some(end), _) => Some(end.as_nanos() / 1000),
            (None, Table::Queues) => Some(self.now().after(TICKET).as_nanos() / 1000),
            (None, _) => None,
        };
        let expires = expires.map_or_else(|| "NULL".to_string(), time);
        let (name, updated, value, place) = (table_of(table), time(self.now_micros), literal(row.value), literal(key));
        let seen = Seen { is_live: true, value: row.value.to_vec() };
        let known = self.seen.insert((table, key.to_vec()), Some(seen)).flatten().filter(|seen| seen.is_live);
        let goes_on = known.is_some_and(|before| Facts::of(&before.value).owner == Facts::of(row.value).owner);
        let changes = format!("version = {version}, expires = {expires}, updated = {updated}, value = {value}");
        let sql = match table {
            // A renewal: guards that hold the row do not mind.
            Table::Locks if goes_on => once(&format!("UPDATE {name} SET {changes} WHERE key = {place}")),
            Table::Locks => format!(
                "INSERT INTO {name} (key, version, granted, expires, updated, value) VALUES ({place}, {version}, \
                 {version}, {expires}, {updated}, {value}) ON CONFLICT (key) DO UPDATE SET {changes}, granted = {version}; "
            ),
            _ => format!(
                "INSERT INTO {name} (key, version, expires, updated, value) VALUES ({place}, {version}, {expires}, \
                 {updated}, {value}) ON CONFLICT (key) DO UPDATE SET {changes}; "
            ),
        };
        self.pending.push_str(&sql);
        Ok(version)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        if !self.seen.contains_key(&(table, key.to_vec())) {
            self.get(table, key)?;
        }
        let known = self.seen.insert((table, key.to_vec()), None);
        if known.flatten().is_none() {
            return Ok(false);
        }
        let (name, place) = (table_of(table), literal(key));
        let sql = match table {
            // A row that a guard holds is not waited for inside of the transaction.
            Table::Locks => once(&format!(
                "DELETE FROM {name} WHERE key = (SELECT key FROM {name} WHERE key = {place} FOR UPDATE SKIP LOCKED)"
            )),
            _ => format!("DELETE FROM {name} WHERE key = {place}; "),
        };
        self.pending.push_str(&sql);
        Ok(true)
    }

    fn client(&self) -> ClientId {
        // A connection that ends says nothing about the process behind it.
        ClientId::NONE
    }

    fn is_alive(&mut self, _client: ClientId) -> bool {
        true
    }
}
