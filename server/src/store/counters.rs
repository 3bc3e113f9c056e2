//! How many rows there are in each area, known without counting them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::encoding::{Area, number};

/// One more than the highest area.
pub(crate) const AREAS: usize = 16;

/// The number of rows of each area.
pub(crate) type Rows = [u64; AREAS];

/// What everybody may look up.
#[derive(Default)]
pub(crate) struct Counters {
    rows: [AtomicU64; AREAS],
    polling: AtomicU64,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Permits, also those that are over and not cleared away yet.
    pub(crate) locks: u64,
    /// Those in line.
    pub(crate) tickets: u64,
    /// Rows of users.
    pub(crate) values: u64,
    /// Connections that wait.
    pub(crate) polling: u64,
}

impl Counters {
    pub(crate) fn set(&self, rows: &Rows, polling: usize) {
        for (count, rows) in self.rows.iter().zip(rows) {
            count.store(*rows, Ordering::Relaxed);
        }
        self.polling.store(polling as u64, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Counts {
        let of = |area: Area| self.rows[area as usize].load(Ordering::Relaxed);
        Counts {
            locks: of(Area::Locks),
            tickets: of(Area::Tickets),
            values: of(Area::Values),
            polling: self.polling.load(Ordering::Relaxed),
        }
    }
}

/// The counts as they are stored.
pub(crate) fn encode(rows: &Rows) -> Vec<u8> {
    rows.iter().flat_map(|count| count.to_le_bytes()).collect()
}

pub(crate) fn decode(bytes: &[u8]) -> Rows {
    std::array::from_fn(|area| number(bytes, area * 8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back() {
        let rows: Rows = std::array::from_fn(|area| area as u64 * 7);
        assert_eq!(decode(&encode(&rows)), rows);
        let counters = Counters::default();
        counters.set(&rows, 3);
        let counts = counters.get();
        assert_eq!((counts.locks, counts.tickets, counts.values, counts.polling), (14, 21, 28, 3));
    }
}
