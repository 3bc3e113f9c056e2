//! `postgres://`: rows in tables of a database.
//!
//! A transaction about one lock holds that lock's advisory lock and shares the store's; any other
//! one has the store's to itself. Time is the database's. Lock order: the store's advisory lock, a
//! name's advisory lock, rows; users' transactions take rows only, and never wait for the former.

mod connection;
mod failure;
mod listener;
mod place;
mod rows;
mod schema;
mod scram;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use self::connection::{Connection, Reach};
use self::failure::Failure;
use self::listener::Listener;
use self::rows::Transaction;
use crate::client::Access;
use crate::clock::{Clock, Moment, boot_now};
use crate::kv::row::{Intent, RowStore, Rows, WaitWord};
use crate::process::PerProcess;
use crate::Result;

pub(crate) use self::place::PostgresUrl;
pub use self::schema::{SCHEMA, migrate};

/// How many connections are kept for the next use.
const KEPT: usize = 4;
/// How long telling another process may take.
const NOTIFY: Duration = Duration::from_millis(500);
/// How long until a row that somebody guards is looked at again.
const GUARDED: Duration = Duration::from_millis(20);

/// What a process has of a store. A forked child opens its own.
struct Ours {
    /// Guards the connections that nobody uses.
    idle: Mutex<Vec<Connection>>,
    listener: Listener,
}

/// Rows in a database.
pub(crate) struct PostgresStore {
    shown: String,
    clock: Clock,
    reach: Arc<Reach>,
    ours: PerProcess<Ours>,
}

/// What came of one run of a transaction.
enum Ran {
    Done(Result<()>),
    /// Nothing was changed, and it may be run again.
    Again(Failure),
}

impl PostgresStore {
    /// The store at `url`. Nothing is sent before the first use.
    pub(crate) fn open(url: &PostgresUrl, access: &Access) -> Arc<Self> {
        let reach = Arc::new(Reach::new(url, access));
        Arc::new(Self { shown: url.shown(), clock: Clock::Boot, reach, ours: PerProcess::new() })
    }

    fn ours(&self) -> &'static Ours {
        self.ours.get_or(|| Ours { idle: Mutex::default(), listener: Listener::new() })
    }

    /// A connection, and whether it was used before.
    fn connection(&self, until: Moment) -> Result<(Connection, bool), Failure> {
        loop {
            let known = self.ours().idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match known {
                Some(connection) if connection.is_open() => return Ok((connection, true)),
                Some(_) => {}
                None => return Ok((self.reach.connect(until, schema::accept)?, false)),
            }
        }
    }

    fn put_back(&self, connection: Connection) {
        if connection.is_broken() {
            return;
        }
        let mut idle = self.ours().idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(connection);
        } else {
            drop(idle);
            connection.close();
        }
    }

    fn run_once(
        &self,
        about: Option<&str>,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Ran {
        let (mut connection, was_used) = match self.connection(until) {
            Ok(made) => made,
            Err(failure) => return Ran::Done(Err(failure.into_error())),
        };
        let ran = match Transaction::begin(&mut connection, about, intent, until) {
            // The server may have closed it while nobody used it.
            Err(failure) if was_used && matches!(failure, Failure::Broken(_)) || failure.ends_connection() && was_used => {
                Ran::Again(failure)
            }
            Err(failure) => Ran::Done(Err(failure.into_error())),
            Ok(mut transaction) => match body(&mut transaction) {
                Ok(()) => match transaction.commit() {
                    Ok(()) => {
                        self.put_back(connection);
                        return Ran::Done(Ok(()));
                    }
                    Err((failure, _)) if failure.is_in_the_way() => Ran::Again(failure),
                    Err((failure, true)) => Ran::Done(Err(failure.into_doubt())),
                    Err((failure, false)) => Ran::Done(Err(failure.into_error())),
                },
                Err(error) => match transaction.fault.take() {
                    None => Ran::Done(Err(error)),
                    Some(failure) if failure.is_in_the_way() => Ran::Again(failure),
                    Some(failure) => Ran::Done(Err(failure.into_error())),
                },
            },
        };
        // The transaction did not end by itself.
        if !connection.is_broken() && connection.ask("ROLLBACK", until).is_ok() {
            self.put_back(connection);
        }
        ran
    }

    fn run(
        &self,
        about: Option<&str>,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<()> {
        loop {
            match self.run_once(about, intent, until, body) {
                Ran::Done(answer) => return answer.map_err(|error| error.on_store(&self.shown)),
                Ran::Again(failure) => {
                    let left = until.since(boot_now());
                    if left.is_zero() {
                        return Err(failure.into_error().on_store(&self.shown));
                    }
                    if failure.is_in_the_way() {
                        std::thread::sleep(GUARDED.min(left));
                    }
                }
            }
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        let Some(ours) = self.ours.get() else { return };
        ours.listener.stop();
        let idle = std::mem::take(&mut *ours.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in idle {
            connection.close();
        }
    }
}

impl RowStore for PostgresStore {
    fn store(&self) -> &str {
        &self.shown
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn transact(&self, intent: Intent, until: Moment, body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>) -> Result<()> {
        self.run(None, intent, until, body)
    }

    fn transact_lock(
        &self,
        name: &str,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<()> {
        self.run(Some(name), intent, until, body)
    }

    fn locks_by_name(&self) -> bool {
        true
    }

    fn is_local(&self) -> bool {
        false
    }

    fn wait_word(&self) -> Result<WaitWord> {
        self.ours().listener.start(&self.reach);
        Ok(listener::draw())
    }

    fn wake(&self, word: u32) {
        if listener::wake(word) {
            return;
        }
        // Whoever is not told looks within a second.
        let until = boot_now().after(NOTIFY);
        if let Ok((mut connection, _)) = self.connection(until)
            && connection.ask(&listener::notify(word), until).is_ok()
        {
            self.put_back(connection);
        }
    }

    fn notices_death(&self) -> bool {
        false
    }
}
