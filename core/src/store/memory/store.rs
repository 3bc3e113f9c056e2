//! Stores in this process, private ones and those with a name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::table::{Tables, Transaction};
use super::words::Words;
use crate::Result;
use crate::clock::{Clock, Moment, wall_micros};
use crate::kv::row::{ClientId, Intent, RowStore, Rows, WaitWord};
use crate::process::{self, Generation, PerProcess};

static WORDS: Words = Words::new();

/// Rows in this process. A forked child finds each store empty.
pub(crate) struct MemoryStore {
    url: String,
    clock: Clock,
    /// When the store was made, on its clock and in the time of day.
    began: (Moment, i64),
    born: Generation,
    /// The rows in the process that made the store. Held during a transaction.
    here: Mutex<Tables>,
    /// The rows in a forked child, for whom somebody may hold `here` for ever.
    forked: PerProcess<Mutex<Tables>>,
}

impl MemoryStore {
    /// A store of its own: `memory:`.
    pub(crate) fn private(clock: Clock) -> Arc<Self> {
        Arc::new(Self::new("memory:".into(), clock))
    }

    /// The store of this name, `memory:NAME`: one in a process for each kind of clock. A manual
    /// clock is the first caller's; ask the store for it.
    pub(crate) fn named(name: &str, clock: Clock) -> Arc<Self> {
        type Named = Mutex<HashMap<(String, bool), Arc<MemoryStore>>>;
        // Guards the list only.
        static NAMED: PerProcess<Named> = PerProcess::new();
        let mut named = NAMED.get_or(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_string(), clock.is_manual());
        let make = || Arc::new(Self::new(format!("memory:{name}"), clock));
        named.entry(key).or_insert_with(make).clone()
    }

    fn new(url: String, clock: Clock) -> Self {
        let began = (clock.now(), wall_micros());
        Self {
            url,
            clock,
            began,
            born: Generation::current(),
            here: Mutex::new(Tables::new(began.1)),
            forked: PerProcess::new(),
        }
    }

    /// The time of day; with a manual clock it moves as that one does.
    fn wall_micros(&self, now: Moment) -> i64 {
        if !self.clock.is_manual() {
            return wall_micros();
        }
        let (from, micros) = self.began;
        micros.saturating_add(i64::try_from(now.since(from).as_micros()).unwrap_or(i64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        let tables = if self.born.is_current() {
            &self.here
        } else {
            self.forked.get_or(|| Mutex::new(Tables::new(wall_micros())))
        };
        // A body that panicked took its changes back.
        tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RowStore for MemoryStore {
    fn store(&self) -> &str {
        &self.url
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn transact(
        &self,
        _intent: Intent,
        _until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<()> {
        let mut tables = self.lock();
        let now = self.clock.now();
        let client = ClientId(u64::from(process::pid()));
        let mut transaction = Transaction::new(&mut tables, now, self.wall_micros(now), client);
        body(&mut transaction)?;
        transaction.commit();
        Ok(())
    }

    fn wait_word(&self) -> Result<WaitWord> {
        Ok(WORDS.draw())
    }

    fn wake(&self, word: u32) {
        WORDS.wake(word);
    }

    fn notices_death(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::clock::ManualClock;
    use crate::kv::row::{NewRow, Table};

    fn put(store: &MemoryStore, key: &[u8]) -> u64 {
        let mut version = 0;
        store
            .transact(Intent::Grow, Moment::NEVER, &mut |rows| {
                version =
                    rows.put(Table::Locks, key, NewRow { value: b"{}", expires: None, client: ClientId::NONE })?;
                Ok(())
            })
            .unwrap();
        version
    }

    fn count(store: &MemoryStore) -> usize {
        let mut count = 0;
        store
            .transact(Intent::Read, Moment::NEVER, &mut |rows| {
                rows.scan(Table::Locks, b"", None, &mut |_, _| {
                    count += 1;
                    std::ops::ControlFlow::Continue(())
                })
            })
            .unwrap();
        count
    }

    #[test]
    fn a_name_is_one_store_and_no_name_is_another_each_time() {
        let (one, two) = (MemoryStore::named("t-one", Clock::Boot), MemoryStore::named("t-one", Clock::Boot));
        put(&one, b"k#0");
        assert_eq!(count(&two), 1);
        assert_eq!(two.store(), "memory:t-one");
        assert_eq!(count(&MemoryStore::named("t-two", Clock::Boot)), 0);
        put(&MemoryStore::private(Clock::Boot), b"k#0");
        assert_eq!(count(&MemoryStore::private(Clock::Boot)), 0);
    }

    #[test]
    fn a_manual_clock_moves_the_time_of_day_too() {
        let clock = ManualClock::default();
        let store = MemoryStore::private(Clock::Manual(clock.clone()));
        let read = || {
            let mut seen = (Moment::NEVER, 0);
            store
                .transact(Intent::Read, Moment::NEVER, &mut |rows| {
                    seen = (rows.now(), rows.wall_micros());
                    Ok(())
                })
                .unwrap();
            seen
        };
        let before = read();
        assert_eq!(before, read());
        clock.advance(std::time::Duration::from_secs(3));
        let after = read();
        assert_eq!(after.0.since(before.0).as_secs(), 3);
        assert_eq!(after.1 - before.1, 3_000_000);
    }

    #[test]
    fn a_panic_in_a_transaction_takes_everything_back() {
        let store = MemoryStore::private(Clock::Boot);
        put(&store, b"k#0");
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            store.transact(Intent::Keep, Moment::NEVER, &mut |rows| {
                rows.delete(Table::Locks, b"k#0")?;
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(count(&store), 1);
        assert!(store.transact(Intent::Keep, Moment::NEVER, &mut |_| Err(Error::internal("no"))).is_err());
    }

    #[test]
    fn a_forked_child_finds_the_store_empty_and_never_hangs() {
        let store = MemoryStore::private(Clock::Boot);
        put(&store, b"k#0");
        let held = store.lock();
        // SAFETY: the child only uses the store and exits.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::_exit(count(&store) as i32);
            }
            let mut status = 0;
            libc::waitpid(pid, &mut status, 0);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        }
        drop(held);
    }
}
