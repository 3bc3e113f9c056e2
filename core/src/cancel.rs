//! Ending a wait from elsewhere.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

use crate::futex;
use crate::kv::row::WaitWord;

/// Waits that one cancel object can have at the same time and still wake at once; further ones
/// notice within [`SLICE`].
const PLACES: usize = 8;
/// How late a wait may notice a cancel that could not wake it.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

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
    /// Words of the waits in progress. They live for ever, so a signal handler may touch them.
    words: [AtomicPtr<WaitWord>; PLACES],
    poll: Option<Poll>,
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
        Self(Arc::new(Inner {
            triggered: AtomicBool::new(false),
            words: [const { AtomicPtr::new(std::ptr::null_mut()) }; PLACES],
            poll,
        }))
    }

    /// Ends every wait that was given this object, now and later. Async-signal-safe.
    pub fn trigger(&self) {
        self.0.triggered.store(true, Ordering::SeqCst);
        for place in &self.0.words {
            let word = place.load(Ordering::SeqCst);
            if !word.is_null() {
                // SAFETY: wait words are leaked by whoever registers them.
                let word = unsafe { &*word };
                word.word.fetch_add(1, Ordering::SeqCst);
                futex::wake_all(word.word, word.shared);
            }
        }
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

    /// How long a wait may sleep before it has to ask again.
    pub(crate) fn slice(&self, registered: bool) -> Duration {
        let own = if registered { Duration::MAX } else { SLICE };
        self.0.poll.as_ref().map_or(own, |poll| poll.interval.min(own))
    }

    /// Lets [`Cancel::trigger`] wake a sleeper on `word` until the answer is dropped.
    pub(crate) fn register(&self, word: &'static WaitWord) -> Registered<'_> {
        let pointer = std::ptr::from_ref(word).cast_mut();
        let place = self.0.words.iter().position(|place| {
            place.compare_exchange(std::ptr::null_mut(), pointer, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        });
        Registered { cancel: self, place }
    }
}

pub(crate) struct Registered<'a> {
    cancel: &'a Cancel,
    place: Option<usize>,
}

impl Registered<'_> {
    pub(crate) fn is_registered(&self) -> bool {
        self.place.is_some()
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.cancel.0.words[place].store(std::ptr::null_mut(), Ordering::SeqCst);
        }
    }
}
