//! Removing what nobody holds any more: rows whose time is over or whose process died, under names
//! that nobody may ever ask for again.

use std::ops::ControlFlow;

use super::locks::is_live;
use super::row::{Rows, Table};
use crate::Result;

/// Looks at up to `most` rows of a table after the key `after` and removes those that are over.
/// Answers the key to go on from, `None` at the end of the table.
///
/// # Errors
/// Whatever the store says.
pub fn sweep(rows: &mut dyn Rows, table: Table, after: Option<&[u8]>, most: usize) -> Result<Option<Vec<u8>>> {
    let mut seen = Vec::new();
    rows.scan(table, b"", after, &mut |key, row| {
        seen.push((key.to_vec(), row));
        if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let next = seen.last().filter(|_| seen.len() >= most).map(|(key, _)| key.clone());
    for (key, row) in seen {
        if !is_live(rows, &row) {
            rows.delete(table, &key)?;
        }
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;
    use crate::Cancel;
    use crate::backend::{Ask, Backend, Crash, Outcome, Turn};
    use crate::clock::{Clock, ManualClock, Moment};
    use crate::kv::backend::KvBackend;
    use crate::kv::row::{Intent, RowStore};
    use crate::store::memory::MemoryStore;

    #[test]
    fn rows_that_are_over_do_not_pile_up() {
        let clock = ManualClock::default();
        let store = MemoryStore::private(Clock::Manual(clock.clone()));
        let backend = KvBackend::new(store.clone());
        let position = AtomicU32::new(0);
        let turn = Turn {
            until: None,
            patience: Moment::NEVER,
            cancel: None,
            closing: &Cancel::new(),
            position: &position,
            step_aside: false,
        };
        for number in 0..5_000 {
            let name = format!("order-{number}");
            let ask = Ask {
                name: &name,
                permits: 1,
                owner: "o",
                label: None,
                ttl: Duration::from_secs(1),
                crash: Crash::Takeover,
                fair: false,
            };
            assert!(matches!(backend.acquire(&ask, &turn), Ok(Outcome::Granted { .. })));
            clock.advance(Duration::from_secs(1));
        }
        let mut left = 0;
        store
            .transact(Intent::Read, Moment::NEVER, &mut |rows| {
                rows.scan(Table::Locks, b"", None, &mut |_, _| {
                    left += 1;
                    ControlFlow::Continue(())
                })
            })
            .expect("a store in memory");
        assert!(left < 2_500, "{left} of 5000 rows are still there");
    }
}
