//! `postgres://`: rows in tables of a database.
//!
//! A transaction about one lock holds that lock's advisory lock and shares the store's; any other
//! one has the store's to itself. Time is the database's. Lock order: the store's advisory lock, a
//! name's advisory lock, rows; users' transactions take rows only, and never wait for the former.

mod connection;
mod failure;
mod listener;
mod place;
mod pool;
mod rows;
mod schema;
mod scram;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use self::connection::Reach;
use self::failure::Failure;
use self::listener::Listener;
use self::pool::{Lent, Pool};
use self::rows::Transaction;
use crate::client::Access;
use crate::clock::{Clock, Moment, boot_now};
use crate::kv::row::{Intent, RowStore, Rows, WaitWord};
use crate::process::PerProcess;
use crate::{Kind, Result};

pub(crate) use self::place::PostgresUrl;
pub use self::schema::{SCHEMA, migrate};

/// How long telling another process may take.
const NOTIFY: Duration = Duration::from_millis(500);
/// The shortest lifetime: a connection that has to be made first takes a good part of less.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long until a row that somebody guards is looked at again, at first and at most.
const GUARDED: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(300)];

/// What a process has of a store. A forked child opens its own.
struct Ours {
    pool: Pool,
    listener: Listener,
}

/// Rows in a database.
pub(crate) struct PostgresStore {
    shown: String,
    clock: Clock,
    reach: Arc<Reach>,
    ours: PerProcess<Ours>,
}

/// Nothing was changed, and the transaction may be run again.
struct Again(Failure);

impl PostgresStore {
    /// The store at `url`. Nothing is sent before the first use.
    pub(crate) fn open(url: &PostgresUrl, access: &Access) -> Arc<Self> {
        let reach = Arc::new(Reach::new(url, access));
        Arc::new(Self { shown: url.shown(), clock: Clock::Boot, reach, ours: PerProcess::new() })
    }

    fn ours(&self) -> &'static Ours {
        self.ours.get_or(|| Ours { pool: Pool::default(), listener: Listener::new() })
    }

    /// A connection.
    fn connection(&self, until: Moment) -> Result<Lent<'static>, Failure> {
        self.ours().pool.lend(until, || self.reach.connect(until, schema::accept))
    }

    fn run_once(
        &self,
        about: Option<&str>,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<Result<()>, Again> {
        let failed = |failure: Failure| Ok(Err(failure.into_error()));
        let mut lent = match self.connection(until) {
            Ok(lent) => lent,
            Err(failure) => return failed(failure),
        };
        let was_used = lent.was_used;
        let ran = lent.connection().and_then(|connection| Transaction::begin(connection, about, intent, until));
        let ran = match ran {
            // The server may have ended it while nobody used it.
            Err(failure) if was_used && failure.is_transient() && failure.ends_connection() => Err(Again(failure)),
            Err(failure) => failed(failure),
            Ok(mut transaction) => match body(&mut transaction) {
                Ok(()) => match transaction.commit() {
                    Ok(()) => return Ok(Ok(())),
                    Err(failure) if failure.is_in_the_way() => Err(Again(failure)),
                    Err(failure) if intent == Intent::Read => failed(failure),
                    Err(failure) => Ok(Err(failure.into_doubt())),
                },
                Err(error) => match transaction.fault.take() {
                    None => Ok(Err(error)),
                    Some(failure) if failure.is_in_the_way() => Err(Again(failure)),
                    Some(failure) => failed(failure),
                },
            },
        };
        // The transaction did not end by itself. One whose end is not answered is never used again.
        if lent
            .connection()
            .is_ok_and(|connection| connection.is_broken() || connection.ask("ROLLBACK", until).is_err())
        {
            lent.discard();
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
        let (mut in_the_way, mut pause) = (None, GUARDED[0]);
        loop {
            match self.run_once(about, intent, until, body) {
                // The time was over because of what was met before.
                Ok(Err(error)) if error.kind() == Kind::Unreachable && in_the_way.is_some() => {
                    let cause = in_the_way.take().map_or(error, Failure::into_error);
                    return Err(cause.on_store(&self.shown));
                }
                Ok(answer) => return answer.map_err(|error| error.on_store(&self.shown)),
                Err(Again(failure)) => {
                    let left = until.since(boot_now());
                    if left.is_zero() {
                        return Err(in_the_way.unwrap_or(failure).into_error().on_store(&self.shown));
                    }
                    if failure.is_in_the_way() {
                        std::thread::sleep(pause.min(left));
                        pause = (pause * 2).min(GUARDED[1]);
                        in_the_way = Some(failure);
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
        ours.pool.close();
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

    fn shortest(&self) -> Duration {
        SHORTEST
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
        if let Ok(mut lent) = self.connection(until) {
            // A connection that failed is not used again, whatever the reason.
            let _ = lent.connection().and_then(|connection| connection.ask(&listener::notify(word), until));
        }
    }

    fn notices_death(&self) -> bool {
        false
    }
}
