//! Handles: one owner, at most one permit.
//!
//! Lock order: a handle's `core`, then the session's list of holds, then the keeper's heap. None is
//! held while the store is asked or a handler runs.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::options::{LockOptions, Renewal};
use super::session::Session;
use super::{Client, ClientInner};
use crate::backend::{Ask, Backend, Crash};
use crate::clock::{Clock, Moment, boot_now};
use crate::info::Refusal;
use crate::machine::LostReason;
use crate::machine::lease::{Due, Lease};
use crate::name::LockName;
use crate::owner::{Label, Owner};
use crate::process::Generation;
use crate::ttl::Ttl;
use crate::wait::Wait;
use crate::words::Word;
use crate::{Cancel, Error, Kind, Result, Token, events};

/// What a store answered to an acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an acquire that was refused holds nothing"]
pub enum Acquire {
    /// It is held.
    Granted,
    /// Somebody else has it.
    Refused(Refusal),
}

impl Acquire {
    /// Whether it is held.
    pub fn is_granted(&self) -> bool {
        matches!(self, Self::Granted)
    }
}

/// What became of [`Lock::run`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a refused run never called the body"]
pub enum Run<T> {
    /// The body ran with the lock held; its value.
    Ran(T),
    /// Somebody else has it; the body was not called.
    Refused(Refusal),
}

/// A handle for one permit of a lock or semaphore. Any thread may call any function at any time.
///
/// A handle that is dropped gives its hold back; what goes wrong then is only logged.
pub struct Lock {
    pub(super) inner: Arc<LockInner>,
    /// The handle's word again, one step nearer; on a clock of tests a word that always says: look.
    quick: &'static AtomicU64,
}

/// The word of every handle whose clock is not the machine's.
static LOOK: AtomicU64 = AtomicU64::new(0);

pub(crate) type Handler = Arc<dyn Fn(LostReason) + Send + Sync>;

pub(crate) struct Core {
    pub(super) lease: Lease,
    /// Acquires that are counted by a reentrant handle beyond the first.
    pub(super) extra: u32,
    /// A thread is asking the store for a grant.
    pub(super) acquiring: bool,
    /// Threads that are asking the store to take a hold back. It knows owners, not holds: a grant
    /// asked for at the same moment could be the one that it takes back.
    pub(super) releasing: u32,
    /// When the acquire that may have been granted without our knowing was first sent.
    pub(super) first_sent: Option<Moment>,
    /// Whether the store was ever asked to grant something to this handle.
    pub(super) has_asked: bool,
    pub(super) refusal: Option<Refusal>,
    pub(super) last_error: Option<Error>,
    /// When the keeper looks at the lease next; its other timers are stale.
    pub(super) timer: Option<Moment>,
    /// Threads that wait for a change.
    waiting: u32,
    handlers: Vec<(u64, Handler)>,
    next_handler: u64,
}

/// What a forked child may know of its parent's hold: its writes need the fence too. Read without a
/// lock, which a thread of the parent may have held at the fork.
#[derive(Default)]
struct Inherited {
    /// 0: nothing was held.
    fence: AtomicU64,
    token: AtomicU64,
    slot: AtomicU32,
}

impl Inherited {
    fn show(&self, core: &Core) {
        let is_readable =
            core.lease.last_success().is_some() || core.lease.is_releasing() || core.lease.lost_reason().is_some();
        let hold = core.lease.last_hold().filter(|_| is_readable);
        self.token.store(hold.map_or(0, |hold| hold.token), Ordering::Relaxed);
        self.slot.store(hold.map_or(0, |hold| hold.slot), Ordering::Relaxed);
        self.fence.store(hold.and(core.lease.fence()).unwrap_or(0), Ordering::Relaxed);
    }
}

pub(crate) struct LockInner {
    pub(super) word: Word,
    inherited: Inherited,
    pub(super) clock: Clock,
    pub(super) renewal: Renewal,
    generation: Generation,
    pub(super) client: Arc<ClientInner>,
    pub(super) session: Arc<Session>,
    pub(super) name: LockName,
    pub(super) owner: Owner,
    pub(super) owner_is_chosen: bool,
    pub(super) resume: bool,
    label: Option<Box<str>>,
    pub(super) ttl: Duration,
    permits: u32,
    pub(super) wait: Wait,
    fair: bool,
    pub(super) reentrant: bool,
    crash: Crash,
    pub(super) position: AtomicU32,
    /// Guards the state of the lease and what goes with it.
    core: Mutex<Core>,
    /// A renewal or an acquire came to its end, or the lease did.
    changed: Condvar,
}

impl LockInner {
    pub(super) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &**self.session.backend()
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Whether this process made the handle.
    pub(super) fn is_here(&self) -> bool {
        self.generation.is_current()
    }

    pub(super) fn ask(&self) -> Ask<'_> {
        Ask {
            name: self.name.as_str(),
            permits: self.permits,
            owner: self.owner.as_str(),
            label: self.label.as_deref(),
            ttl: self.ttl,
            crash: self.crash,
            fair: self.fair,
        }
    }

    pub(super) fn describe(&self, error: Error) -> Error {
        error.on_lock(self.name.as_str()).on_store(&self.client.store)
    }

    pub(super) fn renews_at_checkpoints(&self) -> bool {
        self.renewal != Renewal::Background
    }

    /// Shows the state of the lease to `keep_alive` and to whoever waits for a change.
    pub(super) fn publish(&self, core: &Core) {
        self.word.store(core.lease.quiet_until(self.renews_at_checkpoints()));
        self.inherited.show(core);
        // Nobody to wake is the usual case, and waking is a system call.
        if core.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until something was published, for at most `limit`.
    pub(super) fn wait_for_change<'a>(&self, mut core: MutexGuard<'a, Core>, limit: Duration) -> MutexGuard<'a, Core> {
        core.waiting += 1;
        let (mut core, _) = self.changed.wait_timeout(core, limit).unwrap_or_else(PoisonError::into_inner);
        core.waiting -= 1;
        core
    }

    /// Looks at the clock; a lease whose deadline passed is lost from here on.
    pub(super) fn look<'a>(&'a self, core: MutexGuard<'a, Core>) -> MutexGuard<'a, Core> {
        self.due(core).0
    }

    /// The same, and what has to be done now. The only place where a deadline is found to have passed, so that
    /// everybody is told of it.
    pub(super) fn due<'a>(&'a self, mut core: MutexGuard<'a, Core>) -> (MutexGuard<'a, Core>, Due) {
        let before = core.lease.last_success();
        let failures = core.lease.failures();
        let now = self.clock.now();
        let due = core.lease.tick(now);
        if let Due::Lost(reason) = due {
            let cause = core.last_error.take();
            core.last_error = Some(self.expired_error(now, before, failures, cause));
            core = self.was_lost(core, reason);
        }
        (core, due)
    }

    /// Tells everybody that the lease was lost; the machine knows already.
    pub(super) fn was_lost<'a>(&'a self, core: MutexGuard<'a, Core>, reason: LostReason) -> MutexGuard<'a, Core> {
        let mut core = core;
        core.extra = 0;
        self.publish(&core);
        let handlers: Vec<Handler> = core.handlers.iter().map(|(_, handler)| handler.clone()).collect();
        self.session.forget(self);
        drop(core);
        self.call(handlers, reason);
        self.core()
    }

    fn call(&self, handlers: Vec<Handler>, reason: LostReason) {
        for handler in handlers {
            match self.renewal {
                Renewal::Checkpoint => events::run(|| handler(reason)),
                Renewal::Background | Renewal::CheckpointStarted => events::post(move || handler(reason)),
            }
        }
    }
}

impl Lock {
    pub(super) fn new(
        client: &Client,
        session: &Arc<Session>,
        name: LockName,
        permits: u32,
        ttl: Ttl,
        options: &LockOptions,
    ) -> Result<Self> {
        let named = |error: Error| error.on_lock(name.as_str());
        let owner = options.checked_owner().map_err(named)?;
        let label = match &options.label {
            Some(text) => Label::chosen(text).map_err(named)?,
            None => client.0.options.label.clone(),
        };
        let backend = session.backend();
        let ttl = backend.lifetime(ttl);
        let inner = LockInner {
            word: Word::new(),
            inherited: Inherited::default(),
            clock: backend.clock().clone(),
            renewal: options.renewal,
            generation: Generation::current(),
            client: client.0.clone(),
            session: session.clone(),
            owner,
            owner_is_chosen: options.owner.is_some(),
            resume: options.resume,
            label: label.as_deref().map(Into::into),
            ttl,
            permits,
            wait: options.wait,
            fair: options.fair,
            reentrant: options.reentrant,
            crash: options.crash,
            position: AtomicU32::new(0),
            core: Mutex::new(Core {
                lease: Lease::new(ttl),
                extra: 0,
                acquiring: false,
                releasing: 0,
                first_sent: None,
                has_asked: false,
                refusal: None,
                last_error: None,
                timer: None,
                waiting: 0,
                handlers: Vec::new(),
                next_handler: 1,
            }),
            changed: Condvar::new(),
            name,
        };
        let quick = if inner.clock.is_manual() { &LOOK } else { inner.word.shared() };
        Ok(Self { inner: Arc::new(inner), quick })
    }

    /// Whether the work may go on: true while held, false once lost.
    ///
    /// Not due, it costs one look at the clock. Due on a checkpoint handle it renews first, for at
    /// most a fifth of the lifetime; a store out of reach is no loss before the deadline.
    /// [`Lock::last_error`] tells why it answered false.
    #[inline]
    #[must_use = "false means that the lease is lost and the work has to stop"]
    pub fn keep_alive(&self) -> bool {
        self.is_quiet() || self.inner.keep_alive_when_due()
    }

    /// Whether [`Lock::keep_alive`] would answer true at once, without a lock or I/O. What a binding
    /// asks before it prepares for the other case.
    #[inline]
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // The word is read before the clock: a stop between the two makes the clock later, never earlier.
        let quiet_until = self.quick.load(Ordering::Acquire);
        boot_now() < Moment::from_nanos(quiet_until)
    }

    /// Whether it is held at this moment, by a clock that counts suspended time as well.
    pub fn held(&self) -> bool {
        if !self.inner.is_here() {
            return false;
        }
        let core = self.inner.look(self.inner.core());
        core.lease.is_held(self.inner.clock.now())
    }

    /// Whether the last renewal could not be asked; the lease is still held.
    pub fn at_risk(&self) -> bool {
        if !self.inner.is_here() {
            return false;
        }
        let core = self.inner.look(self.inner.core());
        core.lease.is_at_risk(self.inner.clock.now())
    }

    /// Why the last hold was lost; `None` while held, after a release, and before the first acquire.
    pub fn lost_reason(&self) -> Option<LostReason> {
        if !self.inner.is_here() {
            return Some(LostReason::Forked);
        }
        self.inner.look(self.inner.core()).lease.lost_reason()
    }

    /// Calls `handler` once for each hold that is lost; at once when the last hold was lost already.
    ///
    /// A background handle calls it on the thread `fencehold`, a checkpoint handle inside the call
    /// that found the loss; no lock of the library is held. A release is not a loss.
    pub fn on_lost(&self, handler: impl Fn(LostReason) + Send + Sync + 'static) {
        self.add_lost_handler(handler);
    }

    /// The same; the answer is for [`Lock::remove_lost_handler`].
    pub fn add_lost_handler(&self, handler: impl Fn(LostReason) + Send + Sync + 'static) -> u64 {
        let inner = &self.inner;
        let handler: Handler = Arc::new(handler);
        if !inner.is_here() {
            events::run(|| handler(LostReason::Forked));
            return 0;
        }
        let mut core = inner.look(inner.core());
        let id = core.next_handler;
        core.next_handler += 1;
        core.handlers.push((id, handler.clone()));
        let lost = core.lease.lost_reason();
        drop(core);
        if let Some(reason) = lost {
            inner.call(vec![handler], reason);
        }
        id
    }

    /// Stops calling a handler.
    pub fn remove_lost_handler(&self, id: u64) {
        if self.inner.is_here() {
            self.inner.core().handlers.retain(|(of, _)| *of != id);
        }
    }

    /// Waits until the lease is lost, at most `timeout`; `None` when it is not.
    pub fn wait_lost(&self, timeout: Duration) -> Option<LostReason> {
        let inner = &self.inner;
        if !inner.is_here() {
            return Some(LostReason::Forked);
        }
        let until = boot_now().after(timeout);
        let mut core = inner.look(inner.core());
        loop {
            if let Some(reason) = core.lease.lost_reason() {
                return Some(reason);
            }
            let left = until.since(boot_now());
            if left.is_zero() {
                return None;
            }
            let slice = match (&inner.clock, core.lease.deadline()) {
                (Clock::Manual(_), _) => Duration::from_millis(5),
                (Clock::Boot, Some(deadline)) => deadline.since(boot_now()).max(Duration::from_millis(1)),
                (Clock::Boot, None) => Duration::from_secs(1),
            };
            core = inner.look(inner.wait_for_change(core, slice.min(left)));
        }
    }

    fn shown<T>(
        &self,
        pick: impl FnOnce(&Core) -> Option<T>,
        inherited: impl FnOnce(&Inherited) -> Option<T>,
    ) -> Result<T> {
        let inner = &self.inner;
        let not_held = |detail: &'static str| inner.describe(Error::new(Kind::NotHeld, "not_held", detail));
        if !inner.is_here() {
            let readable = inner.inherited.fence.load(Ordering::Relaxed) != 0;
            return inherited(&inner.inherited)
                .filter(|_| readable)
                .ok_or_else(|| not_held("the parent of this process held nothing through this handle"));
        }
        let core = inner.look(inner.core());
        let readable =
            core.lease.is_held(inner.clock.now()) || core.lease.is_releasing() || core.lease.lost_reason().is_some();
        pick(&core)
            .filter(|_| readable)
            .ok_or_else(|| not_held("nothing is held through this handle. Acquire it first"))
    }

    /// The last answer's token: it moves with each renewal. What guards send.
    ///
    /// # Errors
    /// `not_held` when nothing is held or was lost.
    pub fn token(&self) -> Result<Token> {
        self.shown(
            |core| core.lease.last_hold().and_then(|hold| Token::new(hold.token)),
            |inherited| Token::new(inherited.token.load(Ordering::Relaxed)),
        )
    }

    /// This grant's first token, the same for the whole hold: what goes along with every write, so
    /// that whatever the lock protects can refuse a holder that was replaced. Readable after a loss.
    ///
    /// # Errors
    /// `not_held` when nothing is held or was lost.
    pub fn fence(&self) -> Result<Token> {
        self.shown(
            |core| core.lease.fence().and_then(Token::new),
            |inherited| Token::new(inherited.fence.load(Ordering::Relaxed)),
        )
    }

    /// Which permit is held; 0 for a lock.
    ///
    /// # Errors
    /// `not_held` when nothing is held or was lost.
    pub fn slot(&self) -> Result<u32> {
        self.shown(
            |core| core.lease.last_hold().map(|hold| hold.slot),
            |inherited| Some(inherited.slot.load(Ordering::Relaxed)),
        )
    }

    /// Who this handle is to the store.
    pub fn owner(&self) -> &str {
        self.inner.owner.as_str()
    }

    /// The lock's name.
    pub fn name(&self) -> &str {
        self.inner.name.as_str()
    }

    /// The lifetime that the store grants.
    pub fn ttl(&self) -> Duration {
        self.inner.ttl
    }

    /// How long the lease lasts without a renewal; zero when not held.
    pub fn remaining(&self) -> Duration {
        if !self.inner.is_here() {
            return Duration::ZERO;
        }
        let core = self.inner.look(self.inner.core());
        let now = self.inner.clock.now();
        if !core.lease.is_held(now) {
            return Duration::ZERO;
        }
        core.lease.deadline().map_or(Duration::ZERO, |deadline| deadline.since(now))
    }

    /// The place in line of the acquire that is waiting: 1 is next, 0 is not in line.
    pub fn position(&self) -> u32 {
        self.inner.position.load(Ordering::Relaxed)
    }

    /// Why the last acquire was refused; `None` after a grant.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.inner.is_here() { self.inner.core().refusal.clone() } else { None }
    }

    /// What went wrong last: why the lease is at risk or was lost, or why a scope's end could not
    /// give it back.
    pub fn last_error(&self) -> Option<Error> {
        if !self.inner.is_here() {
            return Some(self.inner.forked_error());
        }
        let core = self.inner.look(self.inner.core());
        core.last_error.clone()
    }

    /// The number of the current or last hold, counted per handle; 0 before the first.
    pub fn epoch(&self) -> u64 {
        if self.inner.is_here() { self.inner.core().lease.epoch() } else { 0 }
    }

    /// Whether the library renews by itself.
    pub fn is_background(&self) -> bool {
        !self.inner.renews_at_checkpoints()
    }

    /// The client that this handle belongs to.
    pub fn is_of(&self, client: &Client) -> bool {
        Arc::ptr_eq(&self.inner.client, &client.0)
    }

    /// Ends the hold as if it had been lost, to rehearse a loss. On `memory:` only.
    ///
    /// The store forgets the hold as well, except for [`LostReason::Forked`].
    ///
    /// # Errors
    /// `unsupported` on every other store; `not_held` when nothing is held.
    pub fn lose(&self, reason: LostReason) -> Result<()> {
        let inner = &self.inner;
        if !matches!(inner.client.url, crate::url::StoreUrl::Memory { .. }) {
            let detail = "only a lock in memory: can be lost on purpose";
            return Err(inner.describe(Error::new(Kind::Unsupported, "unsupported", detail)));
        }
        if !inner.is_here() {
            return Err(inner.forked_error());
        }
        let mut core = inner.look(inner.core());
        let Some(hold) = core.lease.last_hold().filter(|_| core.lease.is_held(inner.clock.now())) else {
            return Err(inner.describe(Error::new(Kind::NotHeld, "not_held", "nothing is held that could be lost")));
        };
        core.lease.lose(reason, inner.clock.now());
        core.last_error = Some(inner.rehearsed_error(reason));
        drop(inner.was_lost(core, reason));
        if reason != LostReason::Forked {
            let _ = inner.backend().release(&inner.ask(), hold, inner.clock.now().after(Duration::from_secs(1)));
        }
        Ok(())
    }

    /// Takes the lock, calls `body`, gives it back and answers the body's value.
    ///
    /// # Errors
    /// As [`Lock::acquire`]; `lost` when the lease ended before the body did; as [`Lock::release`].
    /// A body that panics gives the lock back and panics on.
    pub fn run<T>(&self, wait: impl Into<Wait>, body: impl FnOnce(&Lock) -> T) -> Result<Run<T>> {
        match self.acquire_within(wait)? {
            Acquire::Refused(refusal) => return Ok(Run::Refused(refusal)),
            Acquire::Granted => {}
        }
        struct GiveBack<'a>(&'a Lock, u64);
        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                self.0.give_back_quietly(self.1);
            }
        }
        let scope = GiveBack(self, self.epoch());
        let value = body(self);
        let epoch = scope.1;
        std::mem::forget(scope);
        self.leave(epoch)?;
        Ok(Run::Ran(value))
    }

    /// Takes the lock for a scope and answers the number of the hold for [`Lock::leave`].
    ///
    /// # Errors
    /// `held` or `timed_out` when somebody else has it; as [`Lock::acquire`]; `cancelled`.
    pub fn acquire_or_raise(&self, wait: impl Into<Wait>, cancel: Option<&Cancel>) -> Result<u64> {
        let wait = wait.into();
        match self.inner.acquire(wait, cancel, false)? {
            Acquire::Granted => Ok(self.epoch()),
            Acquire::Refused(refusal) => Err(self.inner.refused_error(refusal, wait.or(self.inner.wait))),
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.name())
            .field("store", &self.inner.client.store)
            .field("owner", &self.owner())
            .field("held", &self.held())
            .finish_non_exhaustive()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.inner.is_here() {
            let epoch = self.inner.core().lease.epoch();
            self.give_back_quietly(epoch);
        }
    }
}
