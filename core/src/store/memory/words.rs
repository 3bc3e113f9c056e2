//! The words that the waiters of this process sleep on.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::futex;
use crate::kv::row::WaitWord;
use crate::process::PerProcess;

/// How many waiters have a word of their own. More of them share words, which only wakes some of
/// them for nothing.
pub(in crate::store) const WORDS: u32 = 4096;

struct Row {
    next: AtomicU32,
    words: [AtomicU32; WORDS as usize],
}

/// Words of this process, one set for all stores of a kind: a word outlives the store that it was
/// drawn for.
pub(in crate::store) struct Words(PerProcess<Box<Row>>);

impl Words {
    pub(in crate::store) const fn new() -> Self {
        Self(PerProcess::new())
    }

    fn row(&self) -> &'static Row {
        self.0
            .get_or(|| Box::new(Row { next: AtomicU32::new(0), words: [const { AtomicU32::new(0) }; WORDS as usize] }))
    }

    /// A word for one waiter.
    pub(in crate::store) fn draw(&self) -> WaitWord {
        let row = self.row();
        let id = row.next.fetch_add(1, Ordering::Relaxed) % WORDS;
        WaitWord { id, word: &row.words[id as usize], shared: false }
    }

    /// Wakes whoever sleeps on a word.
    pub(in crate::store) fn wake(&self, id: u32) {
        let word = &self.row().words[(id % WORDS) as usize];
        word.fetch_add(1, Ordering::Release);
        futex::wake_all(word, false);
    }
}
