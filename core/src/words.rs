//! Checkpoint words: one number per handle that says until when `keep_alive` may answer true without
//! looking any further.
//!
//! The words live in pages that a forked child sees as zeros, and zero sends every caller to the
//! slow path. Pages are never unmapped: a word that a handle gave back is used by the next one.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::clock::Moment;
use crate::process::{Generation, PerProcess, map_wiped_on_fork};

const PAGE: usize = 65_536;

/// Guards the words that no handle uses.
static FREE: PerProcess<Mutex<Vec<NonNullWord>>> = PerProcess::new();

#[derive(Clone, Copy)]
struct NonNullWord(NonNull<AtomicU64>);

// SAFETY: the word is an atomic in memory that is never unmapped.
unsafe impl Send for NonNullWord {}
// SAFETY: as above.
unsafe impl Sync for NonNullWord {}

/// The checkpoint word of one handle.
pub(crate) struct Word {
    word: NonNullWord,
    generation: Generation,
}

impl Word {
    /// A word that says zero.
    pub(crate) fn new() -> Self {
        let free = FREE.get_or(|| Mutex::new(Vec::new()));
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            let page: *mut AtomicU64 = map_wiped_on_fork(PAGE).cast();
            // Handed out from the start of the page, so that few pages are touched.
            for index in (0..PAGE / 8).rev() {
                // SAFETY: within the mapped page.
                let word = unsafe { NonNull::new_unchecked(page.add(index)) };
                free.push(NonNullWord(word));
            }
        }
        let word = free.pop().unwrap_or_else(|| unreachable!("a page of words was just added"));
        Self { word, generation: Generation::current() }
    }

    /// The word itself: until when all is quiet; zero: look. Another handle's once this one is dropped.
    pub(crate) fn shared(&self) -> &'static AtomicU64 {
        // SAFETY: pages of words are mapped for ever.
        unsafe { self.word.0.as_ref() }
    }

    pub(crate) fn store(&self, until: Moment) {
        self.shared().store(until.as_nanos(), Ordering::Release);
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        if !self.generation.is_current() {
            return;
        }
        self.store(Moment::default());
        if let Some(free) = FREE.get() {
            free.lock().unwrap_or_else(PoisonError::into_inner).push(self.word);
        }
    }
}
