//! A store that the suite runs on, and the small steps that its tests are made of.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fencehold::{Acquire, Client, Lock, LockOptions, Refusal, Renewal, Wait};

/// Long enough that nothing ends by itself during a test.
pub(crate) const LONG: Duration = Duration::from_secs(40);
/// When a test gives up waiting for what has to come.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// What a store can and cannot do by its nature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// The longest lifetime that it grants.
    pub(crate) longest: Duration,
    /// The shortest lifetime that it grants.
    pub(crate) shortest: Duration,
    /// How much later than asked it may end a lease.
    pub(crate) step: Duration,
    /// A lock has slots, and its token moves with each renewal.
    pub(crate) has_slots: bool,
    /// Everybody waits in line, not only fair waiters.
    pub(crate) waits_in_order: bool,
    /// Other processes can use it.
    pub(crate) is_shared: bool,
    /// Whoever is called and does not come loses its place.
    pub(crate) calls: bool,
    /// Each hold has a connection of its own.
    pub(crate) connects: bool,
    /// A killed holder is replaced before its lease ends.
    pub(crate) notices_death: bool,
}

impl Traits {
    fn of(scheme: &str) -> Self {
        let ms = Duration::from_millis;
        let kv = Self {
            longest: Duration::from_secs(24 * 3600),
            shortest: ms(100),
            step: ms(300),
            has_slots: true,
            waits_in_order: true,
            is_shared: true,
            calls: true,
            connects: false,
            notices_death: false,
        };
        match scheme {
            "memory" => Self { is_shared: false, ..kv },
            "file" => Self { notices_death: true, ..kv },
            // A server hands the permit to whoever is next, and cannot tell that it stands still.
            "http" | "https" => Self { shortest: ms(1_000), step: ms(1_300), calls: false, ..kv },
            "postgres" | "postgresql" => Self { shortest: ms(1_000), step: ms(1_300), ..kv },
            "etcd" | "etcds" => Self { shortest: ms(2_000), step: ms(3_300), has_slots: false, calls: false, ..kv },
            "zookeeper" => Self {
                // The least that an ensemble is set up with.
                longest: ms(40_000),
                shortest: ms(4_000),
                step: ms(5_000),
                has_slots: false,
                calls: false,
                connects: true,
                ..kv
            },
            _ => panic!("the suite does not know what a store {scheme:?} can do"),
        }
    }
}

/// One store.
pub(crate) struct Site {
    pub(crate) kind: String,
    pub(crate) url: String,
    pub(crate) traits: Traits,
    _folder: Option<tempfile::TempDir>,
}

impl Site {
    /// `memory:` and `file:` stand for fresh stores of theirs; anything else is a store that is there.
    pub(crate) fn new(url: &str) -> Self {
        let scheme = url.split(':').next().unwrap_or_default();
        let (actual, folder) = match url {
            "memory:" => (format!("memory:conformance-{}", std::process::id()), None),
            "file:" => {
                let folder = tempfile::tempdir().expect("a folder");
                (format!("file:{}", folder.path().display()), Some(folder))
            }
            other => (other.to_string(), None),
        };
        Self { kind: scheme.to_string() + ":", url: actual, traits: Traits::of(scheme), _folder: folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client::open(&self.url).expect("a client")
    }

    /// A name that nobody else uses.
    pub(crate) fn name(&self, base: &str) -> String {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        format!("conformance-{}-{number}/{base}", std::process::id())
    }

    /// A lifetime that is over soon: `ms` milliseconds where the store grants that.
    pub(crate) fn short(&self, ms: u64) -> Duration {
        Duration::from_millis(ms).max(self.traits.shortest)
    }
}

/// Options of a handle that is renewed by `keep_alive` only.
pub(crate) fn checkpoint(ttl: Duration) -> LockOptions {
    LockOptions::ttl(ttl).renewal(Renewal::Checkpoint).set_fair(true)
}

/// A handle that is renewed by `keep_alive` only and waits in line.
pub(crate) fn handle(client: &Client, name: &str, ttl: Duration) -> Lock {
    client.lock(name, checkpoint(ttl)).expect("a handle")
}

/// Takes a lock that must be free, and answers its fence.
pub(crate) fn take(lock: &Lock) -> u64 {
    match lock.acquire_within(Wait::No).expect("an answer") {
        Acquire::Granted => lock.fence().expect("a fence").get(),
        Acquire::Refused(refusal) => panic!("{} should be free: {}", lock.name(), refusal.describe()),
    }
}

/// Waits for a lock that must come, and answers its fence.
pub(crate) fn wait_for_lock(lock: &Lock) -> u64 {
    match lock.acquire_within(LIMIT).expect("an answer") {
        Acquire::Granted => lock.fence().expect("a fence").get(),
        Acquire::Refused(refusal) => panic!("{} should have come: {}", lock.name(), refusal.describe()),
    }
}

/// Tries a lock that must not be free.
pub(crate) fn refused(lock: &Lock) -> Refusal {
    match lock.acquire_within(Wait::No).expect("an answer") {
        Acquire::Refused(refusal) => refusal,
        Acquire::Granted => panic!("{} is held by two", lock.name()),
    }
}

/// Waits until `ready`.
pub(crate) fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !ready() {
        assert!(Instant::now() < end, "waited {LIMIT:?} for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// How many wait for the lock.
pub(crate) fn waiting(client: &Client, name: &str) -> usize {
    client.show(name).expect("an answer").waiters.len()
}
