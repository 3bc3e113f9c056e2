//! Ending a wait from elsewhere.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

use crate::futex;
use crate::kv::row::WaitWord;

/// Words of waits in one block; a cancel object gets more blocks as it needs them.
const PLACES: usize = 8;

/// Ends a waiting acquire from another thread or from a signal handler.
///
/// A cancelled acquire answers the error `cancelled` with nothing held and no place kept. Triggering
/// is final: make a new object for the next wait.
///
/// ```
/// use fencehold::{Cancel, Client, Kind, Wait};
/// use std::time::Duration;
///
/// let client = Client::open("memory:")?;
/// let holder = client.acquire("nightly", Duration::from_secs(30))?;
/// let waiter = client.lock("nightly", Duration::from_secs(30))?;
/// let cancel = Cancel::new();
/// cancel.trigger();
/// let error = waiter.acquire_cancellable(Wait::Forever, &cancel).unwrap_err();
/// assert_eq!(error.kind(), Kind::Cancelled);
/// # holder.release()?;
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone)]
pub struct Cancel(Arc<Inner>);

struct Inner {
    triggered: AtomicBool,
    words: Block<WaitWord>,
    pipes: Block<Pipe>,
    poll: Option<Poll>,
}

/// What wakes a sleeper that waits for a socket: a descriptor that never blocks and is never closed.
#[derive(Debug)]
pub(crate) struct Pipe(pub(crate) i32);

/// What the waits in progress sleep on. That lives for ever and blocks are freed with the cancel
/// object only, so a signal handler may walk them.
struct Block<T: 'static> {
    places: [AtomicPtr<T>; PLACES],
    next: AtomicPtr<Block<T>>,
}

impl<T> Block<T> {
    const fn new() -> Self {
        Self { places: [const { AtomicPtr::new(ptr::null_mut()) }; PLACES], next: AtomicPtr::new(ptr::null_mut()) }
    }

    fn next(&self) -> Option<&Self> {
        // SAFETY: null, or a block that lives as long as this one.
        unsafe { self.next.load(Ordering::SeqCst).as_ref() }
    }

    /// The block after this one, which is made if there is none.
    fn next_or_new(&self) -> &Self {
        if let Some(next) = self.next() {
            return next;
        }
        let fresh = Box::into_raw(Box::new(Self::new()));
        match self.next.compare_exchange(ptr::null_mut(), fresh, Ordering::SeqCst, Ordering::SeqCst) {
            // SAFETY: ours, and from now on as long-lived as this block.
            Ok(_) => unsafe { &*fresh },
            // SAFETY: nobody else has seen `fresh`; the winner lives as long as this block.
            Err(winner) => unsafe {
                drop(Box::from_raw(fresh));
                &*winner
            },
        }
    }
}

impl<T> Block<T> {
    /// Does `wake` with what every wait in progress sleeps on.
    fn each(&self, wake: impl Fn(&'static T)) {
        let mut block = Some(self);
        while let Some(here) = block {
            for place in &here.places {
                // SAFETY: null, or leaked by whoever registered it.
                if let Some(known) = unsafe { place.load(Ordering::SeqCst).as_ref() } {
                    wake(known);
                }
            }
            block = here.next();
        }
    }

    fn register(&self, known: &'static T) -> Registered<'_, T> {
        let pointer = ptr::from_ref(known).cast_mut();
        let mut block = self;
        loop {
            let place = block.places.iter().find(|place| {
                place.compare_exchange(ptr::null_mut(), pointer, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            });
            match place {
                Some(place) => return Registered { place },
                None => block = block.next_or_new(),
            }
        }
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        // One after the other: a long chain must not be dropped recursively.
        let mut next = std::mem::replace(self.next.get_mut(), ptr::null_mut());
        while !next.is_null() {
            // SAFETY: made by `Box::into_raw`, and nobody uses the chain any more.
            let mut block = unsafe { Box::from_raw(next) };
            next = std::mem::replace(block.next.get_mut(), ptr::null_mut());
        }
    }
}

struct Poll {
    interval: Duration,
    ask: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("triggered", &self.is_triggered()).finish()
    }
}

impl Cancel {
    /// A cancel object that nobody has triggered.
    pub fn new() -> Self {
        Self::with_poll(None)
    }

    /// A cancel object that also asks `ask` on the waiting thread, about every `interval`, whether
    /// the wait should end. Bindings ask their interpreter for pending signals there.
    pub fn polling(interval: Duration, ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self::with_poll(Some(Poll { interval, ask: Box::new(ask) }))
    }

    fn with_poll(poll: Option<Poll>) -> Self {
        Self(Arc::new(Inner { triggered: AtomicBool::new(false), words: Block::new(), pipes: Block::new(), poll }))
    }

    /// Ends every wait that was given this object, now and later. Async-signal-safe.
    pub fn trigger(&self) {
        self.0.triggered.store(true, Ordering::SeqCst);
        self.0.words.each(|word| {
            word.word.fetch_add(1, Ordering::SeqCst);
            futex::wake_all(word.word, word.shared);
        });
        self.0.pipes.each(|pipe| {
            // SAFETY: the descriptor is never closed; one byte is readable.
            unsafe { libc::write(pipe.0, [1u8].as_ptr().cast(), 1) };
        });
    }

    /// Whether it was triggered.
    pub fn is_triggered(&self) -> bool {
        self.0.triggered.load(Ordering::SeqCst)
    }

    /// Asks the poll hook; true when the wait should end.
    pub(crate) fn should_end(&self) -> bool {
        if self.is_triggered() {
            return true;
        }
        if let Some(poll) = &self.0.poll
            && (poll.ask)()
        {
            self.trigger();
            return true;
        }
        false
    }

    /// How long a wait may sleep before it has to ask the poll hook again.
    pub(crate) fn slice(&self) -> Duration {
        self.0.poll.as_ref().map_or(Duration::MAX, |poll| poll.interval)
    }

    /// Lets [`Cancel::trigger`] wake a sleeper on `word` until the answer is dropped.
    pub(crate) fn register(&self, word: &'static WaitWord) -> Registered<'_, WaitWord> {
        self.0.words.register(word)
    }

    /// Lets [`Cancel::trigger`] write a byte to `pipe` until the answer is dropped.
    pub(crate) fn register_pipe(&self, pipe: &'static Pipe) -> Registered<'_, Pipe> {
        self.0.pipes.register(pipe)
    }
}

/// A wait that a cancel object can wake. Whoever holds one has looked at the object after it was
/// made.
pub(crate) struct Registered<'a, T> {
    place: &'a AtomicPtr<T>,
}

impl<T> Drop for Registered<'_, T> {
    fn drop(&mut self) {
        self.place.store(ptr::null_mut(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn any_number_of_waits_is_woken() {
        let cancel = Cancel::new();
        let words: Vec<&'static WaitWord> = (0..100)
            .map(|id| -> &'static WaitWord {
                let word = Box::leak(Box::new(AtomicU32::new(0)));
                Box::leak(Box::new(WaitWord { id, word, shared: false }))
            })
            .collect();
        let registered: Vec<_> = words.iter().map(|word| cancel.register(word)).collect();
        drop(registered.into_iter().nth(50));
        let again: Vec<_> = words.iter().map(|word| cancel.register(word)).collect();
        cancel.trigger();
        assert!(words.iter().all(|word| word.word.load(Ordering::SeqCst) > 0));
        drop(again);
    }
}
