//! Clients and locks: they drive the lease machine with a store and a clock.

mod acquire;
mod lock;
mod messages;
mod options;
mod release;
mod renew;
mod session;
mod step;
mod values;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use lock::{Acquire, Lock, Run};
pub use options::{ClientOptions, LockOptions, Renewal, parse_duration};
pub use step::{Commit, Item, Queue, StepParts, StepResult, Transaction};
pub use values::{Expiry, Kv, KvCall, ValueRow, Written};

use crate::clock::Moment;
use crate::info::{Holder, LockInfo, ReleaseId};
use crate::name::LockName;
use crate::ttl::Ttl;
use crate::url::{self, StoreUrl};
use crate::{Cancel, Error, Kind, Result};
pub(crate) use options::{Access, Resolved};
use session::{Session, Sessions};

/// How many locks one message names.
const NAMED: usize = 10;

/// The most permits of one semaphore.
pub(crate) const MAX_PERMITS: u32 = 1024;

/// How many threads give back what a client holds when it is closed.
const CLOSING_THREADS: usize = 32;

/// A connection to a store of leases. Cheap to clone; any thread may use it at any time.
///
/// ```
/// use fencehold::Client;
///
/// let client = Client::open("memory:")?;
/// assert_eq!(client.store(), "memory:");
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone)]
pub struct Client(pub(crate) Arc<ClientInner>);

pub(crate) struct ClientInner {
    /// The URL without credentials.
    store: String,
    url: StoreUrl,
    options: Resolved,
    sessions: Sessions,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("store", &self.0.store).finish_non_exhaustive()
    }
}

impl ClientInner {
    /// This process's connection.
    fn session(&self) -> Result<Arc<Session>> {
        self.sessions.current(&self.url, &self.options)
    }

    /// The same, refused once the client is closed.
    fn open_session(&self) -> Result<Arc<Session>> {
        let session = self.session()?;
        if session.is_closed() {
            let detail = "the client was closed (client_closed). Make a new one";
            return Err(Error::invalid("client_closed", detail).on_store(&self.store));
        }
        Ok(session)
    }

    fn request_timeout(&self) -> Duration {
        self.options.request_timeout
    }
}

impl Client {
    /// Opens a client on `url`. Nothing is sent and no file is touched before the first call.
    ///
    /// # Errors
    /// `invalid` with `locks_bad_url`, or `locks_no_store` for an empty URL when neither
    /// `FENCEHOLD_URL` nor `/etc/fencehold/url` names a store; `unsupported` for a store that this
    /// version does not have.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, ClientOptions::new())
    }

    /// Opens a client on `url` with options.
    ///
    /// # Errors
    /// As [`Client::open`]; `invalid` for options that make no sense.
    pub fn open_with(url: &str, options: ClientOptions) -> Result<Self> {
        let options = options.resolve()?;
        let url = url::resolve(url)?;
        let parsed = StoreUrl::parse(&url)?;
        let store = parsed.shown(&url);
        let sessions = Sessions::new(&parsed, &options)?;
        Ok(Self(Arc::new(ClientInner { store, url: parsed, options, sessions })))
    }

    /// Opens a client on the store that the environment or the machine names.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn from_env() -> Result<Self> {
        Self::open("")
    }

    /// Makes a handle for the lock `name`. Nothing is sent.
    ///
    /// # Errors
    /// `invalid` for a bad name, lifetime, owner or label; `client_closed`.
    pub fn lock(&self, name: &str, options: impl Into<LockOptions>) -> Result<Lock> {
        self.semaphore(name, 1, options)
    }

    /// Makes a handle for one permit of the semaphore `name`, which has `permits` (1 to 1024).
    ///
    /// Everybody who uses one name should pass the same number: it is stored nowhere.
    ///
    /// # Errors
    /// As [`Client::lock`]; `invalid` with `locks_bad_limit`.
    pub fn semaphore(&self, name: &str, permits: u32, options: impl Into<LockOptions>) -> Result<Lock> {
        let options = options.into();
        let checked = || {
            let name: LockName = name.parse()?;
            if permits == 0 || permits > MAX_PERMITS {
                let detail = format!("a semaphore has 1 to {MAX_PERMITS} permits, not {permits} (locks_bad_limit)");
                return Err(Error::invalid("locks_bad_limit", detail));
            }
            let ttl = Ttl::new(options.ttl)?;
            Ok((name, ttl))
        };
        let (name, ttl) =
            checked().map_err(|error: Error| if shows_name(name) { error.on_lock(name) } else { error })?;
        let session = self.0.open_session()?;
        Lock::new(self, &session, name, permits, ttl, &options)
    }

    /// Takes the lock `name`, waiting as the options say.
    ///
    /// # Errors
    /// `held` or `timed_out` when somebody else has it, with [`Error::refusal`]; else as
    /// [`Client::lock`] and [`Lock::acquire`].
    pub fn acquire(&self, name: &str, options: impl Into<LockOptions>) -> Result<Lock> {
        self.acquire_cancellable(name, options, None)
    }

    /// The same, with a wait that `cancel` can end.
    ///
    /// # Errors
    /// As [`Client::acquire`]; `cancelled`.
    pub fn acquire_cancellable(
        &self,
        name: &str,
        options: impl Into<LockOptions>,
        cancel: Option<&Cancel>,
    ) -> Result<Lock> {
        let lock = self.lock(name, options)?;
        lock.acquire_or_raise(crate::Wait::Default, cancel)?;
        Ok(lock)
    }

    fn until(&self, session: &Session) -> Moment {
        session.backend().clock().now().after(self.0.request_timeout())
    }

    fn ask<T>(&self, name: &str, call: impl FnOnce(&Session, Moment) -> Result<T>) -> Result<T> {
        let answer = self.0.open_session().and_then(|session| call(&session, self.until(&session)));
        answer.map_err(|error| {
            let error = if name.is_empty() { error } else { error.on_lock(name) };
            error.on_store(&self.0.store)
        })
    }

    /// Who holds the lock `name`, by rising slot; empty when nobody does.
    ///
    /// # Errors
    /// `invalid` for a bad name; `unreachable`; `store`; `client_closed`.
    pub fn holders(&self, name: &str) -> Result<Vec<Holder>> {
        Ok(self.show(name)?.holders)
    }

    /// Who holds the lock `name` and who waits for it.
    ///
    /// # Errors
    /// As [`Client::holders`].
    pub fn show(&self, name: &str) -> Result<LockInfo> {
        let name: LockName = name.parse()?;
        self.ask(name.as_str(), |session, until| session.backend().show(name.as_str(), until))
    }

    /// Up to `limit` locks that are held or waited for, whose names start with `prefix` and come
    /// after `after`, by name. For the next page pass the last name as `after`.
    ///
    /// # Errors
    /// As [`Client::holders`].
    pub fn list(&self, prefix: &str, limit: u32, after: &str) -> Result<Vec<LockInfo>> {
        self.ask("", |session, until| session.backend().list(prefix, limit, after, until))
    }

    /// Ends somebody's hold by hand; its holder finds out at its next renewal. False: the hold that
    /// `id` names is not there any more, and nothing was changed.
    ///
    /// # Errors
    /// As [`Client::holders`].
    pub fn force_release(&self, name: &str, slot: u32, id: &ReleaseId) -> Result<bool> {
        let name: LockName = name.parse()?;
        self.ask(name.as_str(), |session, until| session.backend().force_release(name.as_str(), slot, id, until))
    }

    /// The store's URL, without credentials.
    pub fn store(&self) -> &str {
        &self.0.store
    }

    /// Asks the store whether it is there.
    ///
    /// # Errors
    /// `unreachable`, `store`, `unsupported`, `forbidden`; `client_closed`.
    pub fn ping(&self) -> Result<()> {
        self.ask("", |session, until| session.backend().ping(until))
    }

    /// Whether [`Client::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.0.session().is_ok_and(|session| session.is_closed())
    }

    /// Ends all waits, gives back all holds (within 3 s in all) and refuses later calls.
    ///
    /// # Errors
    /// One `in_doubt` that names the locks that could not be given back.
    pub fn close(&self) -> Result<()> {
        let session = self.0.session()?;
        session.close();
        let until = crate::clock::boot_now().after(Duration::from_secs(3));
        let held = session.held();
        // A server is asked by several at once; the store of one machine is no faster for that.
        let threads = if session.backend().is_local() { 1 } else { held.len().min(CLOSING_THREADS) };
        let next = AtomicUsize::new(0);
        let give_back = || {
            let mut failed = Vec::new();
            while let Some(lock) = held.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = lock.give_back_by(until) {
                    failed.push((lock.name().to_string(), error));
                }
            }
            failed
        };
        let failed = std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, give_back).ok()).collect();
            let mut failed = give_back();
            for other in others {
                failed.extend(other.join().unwrap_or_default());
            }
            failed
        });
        let Some((_, first)) = failed.first() else { return Ok(()) };
        let names: Vec<&str> = failed.iter().take(NAMED).map(|(name, _)| name.as_str()).collect();
        let more = match failed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let latest = failed.iter().filter_map(|(_, error)| error.until()).max();
        let detail = format!(
            "the client is closed, but these locks could not be given back and end by themselves: {}{more}",
            names.join(", ")
        );
        let error = Error::new(Kind::InDoubt, "in_doubt", detail).on_store(&self.0.store).because(first.clone());
        Err(match latest {
            Some(until) => error.with_until(until),
            None => error,
        })
    }

    /// Lets `by` pass on the manual clock of a `memory:?clock=manual` store, with all renewals and
    /// losses that fall into it.
    ///
    /// # Errors
    /// `unsupported` on every other store.
    pub fn advance(&self, by: Duration) -> Result<()> {
        let session = self.0.open_session()?;
        let crate::clock::Clock::Manual(clock) = session.backend().clock() else {
            let detail = "only the clock of memory:?clock=manual can be advanced";
            return Err(Error::new(Kind::Unsupported, "unsupported", detail).on_store(&self.0.store));
        };
        let end = clock.now().after(by);
        loop {
            // Whatever becomes due on the way happens at its own time.
            let due = session.held().iter().filter_map(|lock| lock.next_background_step()).min();
            let now = clock.now();
            match due {
                Some(at) if at <= end => {
                    clock.advance(at.since(now));
                    for lock in session.held() {
                        lock.step_in_background();
                    }
                }
                _ => {
                    clock.advance(end.since(now));
                    break;
                }
            }
        }
        crate::events::flush();
        Ok(())
    }
}

/// Whether a refused name is fit to be shown in a message.
fn shows_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LockName::MAX_BYTES && !name.chars().any(char::is_control)
}
