//! The words that the waiters of this process sleep on.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::futex;
use crate::kv::row::WaitWord;
use crate::process::PerProcess;

/// How many waiters have a word of their own. More of them share words, which only wakes some of
/// them for nothing.
const WORDS: usize = 4096;

struct Words {
    next: AtomicU32,
    words: [AtomicU32; WORDS],
}

// One for all stores of a process: a word outlives the store that it was drawn for.
static OURS: PerProcess<Box<Words>> = PerProcess::new();

fn ours() -> &'static Words {
    OURS.get_or(|| Box::new(Words { next: AtomicU32::new(0), words: [const { AtomicU32::new(0) }; WORDS] }))
}

/// A word for one waiter.
pub(super) fn draw() -> WaitWord {
    let words = ours();
    let id = words.next.fetch_add(1, Ordering::Relaxed) % WORDS as u32;
    WaitWord { id, word: &words.words[id as usize], shared: false }
}

/// Wakes whoever sleeps on a word.
pub(super) fn wake(id: u32) {
    let word = &ours().words[id as usize % WORDS];
    word.fetch_add(1, Ordering::Release);
    futex::wake_all(word, false);
}
