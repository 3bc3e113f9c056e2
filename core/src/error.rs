//! The one error of the library.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::info::Refusal;

/// What kind of thing went wrong; the same kinds in every language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Somebody else holds the lock and the caller asked for it to be taken.
    Held,
    /// The wait was over and somebody else still holds the lock.
    TimedOut,
    /// The lease ended before the work did.
    Lost,
    /// The handle holds nothing.
    NotHeld,
    /// The caller gave the wait up.
    Cancelled,
    /// The store could not be asked; nothing was done.
    Unreachable,
    /// The request was sent and no answer came: it may have been done.
    InDoubt,
    /// The caller passed something that can never work.
    Invalid,
    /// The store wants credentials.
    Unauthorized,
    /// The credentials, or this user's rights, do not allow it.
    Forbidden,
    /// The store asks for fewer calls.
    RateLimited,
    /// This store or this version cannot do it.
    Unsupported,
    /// The store cannot: it is full, damaged, read-only or of a newer format.
    Store,
    /// The handle belongs to the parent of this process.
    Forked,
    /// A fault of this library.
    Internal,
}

impl Kind {
    /// Every kind, in the order of the contract.
    pub const ALL: [Self; 15] = [
        Self::Held,
        Self::TimedOut,
        Self::Lost,
        Self::NotHeld,
        Self::Cancelled,
        Self::Unreachable,
        Self::InDoubt,
        Self::Invalid,
        Self::Unauthorized,
        Self::Forbidden,
        Self::RateLimited,
        Self::Unsupported,
        Self::Store,
        Self::Forked,
        Self::Internal,
    ];

    /// The kind's id, such as `timed_out`: the same text in every language.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::TimedOut => "timed_out",
            Self::Lost => "lost",
            Self::NotHeld => "not_held",
            Self::Cancelled => "cancelled",
            Self::Unreachable => "unreachable",
            Self::InDoubt => "in_doubt",
            Self::Invalid => "invalid",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::Unsupported => "unsupported",
            Self::Store => "store",
            Self::Forked => "forked",
            Self::Internal => "internal",
        }
    }

    /// What a caller who wants to try again should do.
    pub const fn retry(self) -> Retry {
        match self {
            Self::Held | Self::TimedOut | Self::Unreachable | Self::RateLimited => Retry::Later,
            Self::Cancelled | Self::NotHeld => Retry::Now,
            Self::Lost | Self::InDoubt => Retry::CheckFirst,
            _ => Retry::Never,
        }
    }
}

/// Whether the same call may be made again, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retry {
    /// At once.
    Now,
    /// After a while.
    Later,
    /// Only after looking at what was done.
    CheckFirst,
    /// Not before something else was changed.
    Never,
}

impl Retry {
    /// The word for it, such as `check_first`: the same text in every language.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Later => "later",
            Self::CheckFirst => "check_first",
            Self::Never => "never",
        }
    }
}

/// What happened, to which lock, on which store, and what to do.
///
/// Cheap to clone. The text of [`fmt::Display`] is for people; programs look at [`Error::kind`] and
/// [`Error::reason`].
///
/// ```
/// let error = "a#b".parse::<fencehold::LockName>().unwrap_err();
/// assert_eq!(error.kind(), fencehold::Kind::Invalid);
/// assert_eq!(error.reason(), "locks_bad_name");
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    reason: Cow<'static, str>,
    detail: Cow<'static, str>,
    lock: Option<Box<str>>,
    store: Option<Box<str>>,
    until: Option<SystemTime>,
    late_by: Option<Duration>,
    refusal: Option<Refusal>,
    source: Option<Error>,
}

/// A result with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a stable `reason` id; `detail` says what happened and what to do.
    pub(crate) fn new(kind: Kind, reason: impl Into<Cow<'static, str>>, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Arc::new(Inner {
            kind,
            reason: reason.into(),
            detail: detail.into(),
            lock: None,
            store: None,
            until: None,
            late_by: None,
            refusal: None,
            source: None,
        }))
    }

    /// A refusal of what the caller passed.
    pub(crate) fn invalid(reason: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Invalid, reason, detail)
    }

    /// A fault of this library, such as a caught panic.
    pub fn internal(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Internal, "internal", detail)
    }

    /// A refusal of an argument by a binding, with the contract's reason id.
    ///
    /// For language bindings, which check the shapes that only their language has.
    pub fn bad_argument(reason: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::invalid(reason, detail)
    }

    /// An error that a language binding found itself, about `lock` and `store` where they are known.
    pub fn for_binding(
        kind: Kind,
        reason: &'static str,
        detail: impl Into<Cow<'static, str>>,
        lock: Option<&str>,
        store: Option<&str>,
    ) -> Self {
        let error = Self::new(kind, reason, detail);
        let error = lock.map_or_else(|| error.clone(), |lock| error.clone().on_lock(lock));
        store.map_or_else(|| error.clone(), |store| error.clone().on_store(store))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The same error, naming the lock unless it already names one.
    pub(crate) fn on_lock(self, lock: &str) -> Self {
        if self.0.lock.is_some() {
            return self;
        }
        self.with(|inner| inner.lock = Some(lock.into()))
    }

    /// The same error, naming the store unless it already names one.
    pub fn on_store(self, store: &str) -> Self {
        if self.0.store.is_some() {
            return self;
        }
        self.with(|inner| inner.store = Some(store.into()))
    }

    pub(crate) fn with_until(self, until: SystemTime) -> Self {
        self.with(|inner| inner.until = Some(until))
    }

    pub(crate) fn with_late_by(self, late_by: Duration) -> Self {
        self.with(|inner| inner.late_by = Some(late_by))
    }

    pub(crate) fn with_refusal(self, refusal: Refusal) -> Self {
        self.with(|inner| inner.refusal = Some(refusal))
    }

    /// The same error with `source` as what caused it.
    pub(crate) fn because(self, source: Error) -> Self {
        self.with(|inner| inner.source = Some(source))
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable id of the reason, such as `locks_bad_ttl` or `store_busy`.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The lock it is about.
    pub fn lock(&self) -> Option<&str> {
        self.0.lock.as_deref()
    }

    /// The store it is about, without credentials.
    pub fn store(&self) -> Option<&str> {
        self.0.store.as_deref()
    }

    /// Whether the call may be made again.
    pub fn retry(&self) -> Retry {
        match &*self.0.reason {
            "client_closed" => Retry::Never,
            _ => self.0.kind.retry(),
        }
    }

    /// Of `in_doubt`: until when the lock may still be held, at the latest.
    pub fn until(&self) -> Option<SystemTime> {
        self.0.until
    }

    /// Of `lost`: by how much the work outlived the lease.
    pub fn late_by(&self) -> Option<Duration> {
        self.0.late_by
    }

    /// Of `held` and `timed_out`: who holds the lock.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.refusal.as_ref()
    }

    /// The error behind this one.
    pub fn cause(&self) -> Option<&Error> {
        self.0.source.as_ref()
    }

    /// What happened, without the lock and the store.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.lock, &self.0.store) {
            (Some(lock), Some(store)) => write!(f, "lock \"{lock}\" on {store}: ")?,
            (Some(lock), None) => write!(f, "lock \"{lock}\": ")?,
            (None, Some(store)) => write!(f, "{store}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.0.detail)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}: {self}", self.0.kind.id(), self.0.reason)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_which_lock_and_which_store() {
        let error = Error::new(Kind::Unreachable, "store_busy", "busy").on_lock("n").on_store("memory:");
        assert_eq!(error.to_string(), "lock \"n\" on memory:: busy");
        assert_eq!(error.on_lock("other").lock(), Some("n"));
    }

    #[test]
    fn ids_of_kinds_are_distinct() {
        let ids: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.id()).collect();
        assert_eq!(ids.len(), Kind::ALL.len());
    }
}
