//! Clients: what the plain and the asyncio `Client` share, and the plain one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fencehold::{ClientOptions, Crash, Error, LockOptions, ReleaseId, Renewal, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::calls::{self, Cancel};
use crate::convert::{self, Given};
use crate::errors::{self, OrRaise};
use crate::lock::{Handle, Lock, LockBase};

/// What the two classes `Client` share.
#[pyclass(frozen, subclass, weakref, module = "fencehold._native")]
pub(crate) struct ClientBase {
    pub(crate) inner: fencehold::Client,
    /// Whether the store has answered: from then on an uncontended call is decided in microseconds.
    /// The first one may have to make a folder and to wait for a disk.
    answered: Arc<AtomicBool>,
}

/// What `lock()`, `semaphore()` and `acquire()` take beside the name.
struct Wish<'a, 'py> {
    permits: Option<&'a Bound<'py, PyAny>>,
    ttl: &'a Bound<'py, PyAny>,
    wait: &'a Given<'py>,
    owner: Option<&'a Bound<'py, PyString>>,
    resume: bool,
    label: Option<&'a Bound<'py, PyString>>,
    fair: bool,
    reentrant: bool,
    background: bool,
    crash: &'a str,
}

fn bad_name(name: &Bound<'_, PyString>) -> fencehold::Result<String> {
    convert::text(name, "the name", "locks_bad_name")
}

impl ClientBase {
    fn base(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyString>,
        wish: &Wish<'_, '_>,
        renewal: Renewal,
    ) -> PyResult<LockBase> {
        let permits = wish.permits.map(|permits| convert::count(permits, "permits", "locks_bad_limit")).transpose()?;
        let made = (move || {
            let name = bad_name(name)?;
            let wait = convert::wait(wish.wait)?;
            let mut options = LockOptions::from_ttl(convert::ttl(wish.ttl)?)
                .wait(wait)
                .resume(wish.resume)
                .set_fair(wish.fair)
                .reentrant(wish.reentrant)
                .renewal(if wish.background { Renewal::Background } else { renewal })
                .crash(match wish.crash {
                    "takeover" => Crash::Takeover,
                    "expire" => Crash::Expire,
                    other => {
                        let detail = format!("crash {other:?} is neither 'takeover' nor 'expire' (locks_bad_option)");
                        return Err(Error::bad_argument("locks_bad_option", detail));
                    }
                });
            if let Some(owner) = wish.owner {
                options = options.owner(&convert::text(owner, "the owner", "locks_bad_owner")?);
            }
            if let Some(label) = wish.label {
                options = options.label(&convert::text(label, "the label", "locks_bad_label")?);
            }
            let lock = match permits {
                None => self.inner.lock(&name, options)?,
                Some(permits) => self.inner.semaphore(&name, permits?, options)?,
            };
            Ok((lock, wait))
        })();
        let (lock, wait) = made.or_raise(py)?;
        Ok(LockBase::new(py, lock, self.inner.clone(), self.answered.clone(), wait))
    }
}

#[pymethods]
impl ClientBase {
    #[new]
    #[pyo3(signature = (
        url = None, *, auth_token = None, auth_token_file = None, user = None, password = None, password_file = None,
        ca_file = None, cert_file = None, key_file = None, request_timeout = Given::Unset, label = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "the names of the contract")]
    fn new(
        py: Python<'_>,
        url: Option<&Bound<'_, PyString>>,
        auth_token: Option<&Bound<'_, PyString>>,
        auth_token_file: Option<PathBuf>,
        user: Option<&Bound<'_, PyString>>,
        password: Option<&Bound<'_, PyString>>,
        password_file: Option<PathBuf>,
        ca_file: Option<PathBuf>,
        cert_file: Option<PathBuf>,
        key_file: Option<PathBuf>,
        request_timeout: Given<'_>,
        label: Option<&Bound<'_, PyString>>,
    ) -> PyResult<Self> {
        let opened = (|| {
            let mut options = ClientOptions::new();
            if let Some(token) = auth_token {
                options = options.auth_token(&convert::text(token, "auth_token", "locks_bad_option")?);
            }
            if let Some(user) = user {
                options = options.user(&convert::text(user, "user", "locks_bad_option")?);
            }
            if let Some(password) = password {
                options = options.password(&convert::text(password, "password", "locks_bad_option")?);
            }
            if let Some(label) = label {
                options = options.label(&convert::text(label, "label", "locks_bad_label")?);
            }
            if let Some(path) = auth_token_file {
                options = options.auth_token_file(path);
            }
            if let Some(path) = password_file {
                options = options.password_file(path);
            }
            if let Some(path) = ca_file {
                options = options.ca_file(path);
            }
            if let Some(path) = cert_file {
                options = options.cert_file(path);
            }
            if let Some(path) = key_file {
                options = options.key_file(path);
            }
            if let Given::Value(timeout) = &request_timeout {
                options = options.request_timeout(convert::duration(timeout, "request_timeout")?);
            }
            let given = url.is_some();
            let url = match url {
                None => String::new(),
                Some(url) => convert::text(url, "the URL", "locks_bad_url")?,
            };
            if url.is_empty() && given {
                return Err(Error::bad_argument("locks_bad_url", "the URL is empty (locks_bad_url)"));
            }
            fencehold::Client::open_with(&url, options)
        })();
        let inner = opened.or_raise(py)?;
        let answered = Arc::new(AtomicBool::new(inner.store().starts_with("memory:")));
        Ok(Self { inner, answered })
    }

    /// The store, without credentials.
    #[getter]
    fn store(&self) -> &str {
        self.inner.store()
    }

    /// On memory:?clock=manual only: moves the clock on.
    fn advance(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<()> {
        let by = convert::duration(by, "by").or_raise(py)?;
        calls::bounded(py, || self.inner.advance(by))
    }

    /// A handle for the asyncio classes.
    #[pyo3(signature = (
        name, permits, *, ttl, wait = Given::Unset, owner = None, resume = false, label = None, fair = false,
        reentrant = false, background = true, crash = "takeover",
    ))]
    #[expect(clippy::too_many_arguments, reason = "the names of the contract")]
    fn _handle(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyString>,
        permits: Option<&Bound<'_, PyAny>>,
        ttl: &Bound<'_, PyAny>,
        wait: Given<'_>,
        owner: Option<&Bound<'_, PyString>>,
        resume: bool,
        label: Option<&Bound<'_, PyString>>,
        fair: bool,
        reentrant: bool,
        background: bool,
        crash: &str,
    ) -> PyResult<Handle> {
        let wish = Wish { permits, ttl, wait: &wait, owner, resume, label, fair, reentrant, background, crash };
        Ok(self.base(py, name, &wish, Renewal::CheckpointStarted)?.packed())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type();
        Ok(format!("<{}.{} of {}>", class.module()?, class.name()?, slf.get().inner.store()))
    }
}

/// One store, shared by all threads. Opening it does no I/O.
#[pyclass(frozen, extends = ClientBase, module = "fencehold")]
pub(crate) struct Client;

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (
        url = None, *, auth_token = None, auth_token_file = None, user = None, password = None, password_file = None,
        ca_file = None, cert_file = None, key_file = None, request_timeout = Given::Unset, label = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "the names of the contract")]
    fn new(
        py: Python<'_>,
        url: Option<&Bound<'_, PyString>>,
        auth_token: Option<&Bound<'_, PyString>>,
        auth_token_file: Option<PathBuf>,
        user: Option<&Bound<'_, PyString>>,
        password: Option<&Bound<'_, PyString>>,
        password_file: Option<PathBuf>,
        ca_file: Option<PathBuf>,
        cert_file: Option<PathBuf>,
        key_file: Option<PathBuf>,
        request_timeout: Given<'_>,
        label: Option<&Bound<'_, PyString>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let base = ClientBase::new(
            py,
            url,
            auth_token,
            auth_token_file,
            user,
            password,
            password_file,
            ca_file,
            cert_file,
            key_file,
            request_timeout,
            label,
        )?;
        Ok(PyClassInitializer::from(base).add_subclass(Self))
    }

    /// A handle on the lock. Nothing is sent.
    #[pyo3(signature = (
        name, *, ttl, wait = Given::Unset, owner = None, resume = false, label = None, fair = false,
        reentrant = false, background = true, crash = "takeover",
    ))]
    #[expect(clippy::too_many_arguments, reason = "the names of the contract")]
    fn lock<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'_, PyString>,
        ttl: &Bound<'_, PyAny>,
        wait: Given<'_>,
        owner: Option<&Bound<'_, PyString>>,
        resume: bool,
        label: Option<&Bound<'_, PyString>>,
        fair: bool,
        reentrant: bool,
        background: bool,
        crash: &str,
    ) -> PyResult<Bound<'py, Lock>> {
        let wish = Wish { permits: None, ttl, wait: &wait, owner, resume, label, fair, reentrant, background, crash };
        Lock::object(slf.py(), slf.as_super().get().base(slf.py(), name, &wish, Renewal::Checkpoint)?)
    }

    /// A handle on one of the permits of a semaphore. Nothing is sent.
    #[pyo3(signature = (
        name, permits, *, ttl, wait = Given::Unset, owner = None, resume = false, label = None, fair = false,
        reentrant = false, background = true, crash = "takeover",
    ))]
    #[expect(clippy::too_many_arguments, reason = "the names of the contract")]
    fn semaphore<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'_, PyString>,
        permits: &Bound<'_, PyAny>,
        ttl: &Bound<'_, PyAny>,
        wait: Given<'_>,
        owner: Option<&Bound<'_, PyString>>,
        resume: bool,
        label: Option<&Bound<'_, PyString>>,
        fair: bool,
        reentrant: bool,
        background: bool,
        crash: &str,
    ) -> PyResult<Bound<'py, Lock>> {
        let permits = Some(permits);
        let wish = Wish { permits, ttl, wait: &wait, owner, resume, label, fair, reentrant, background, crash };
        Lock::object(slf.py(), slf.as_super().get().base(slf.py(), name, &wish, Renewal::Checkpoint)?)
    }

    /// Takes the lock, or raises HeldError or TimedOutError.
    #[pyo3(signature = (
        name, *, ttl, wait = Given::Unset, owner = None, resume = false, label = None, fair = false,
        reentrant = false, background = true, crash = "takeover", cancel = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "the names of the contract")]
    fn acquire<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'_, PyString>,
        ttl: &Bound<'_, PyAny>,
        wait: Given<'_>,
        owner: Option<&Bound<'_, PyString>>,
        resume: bool,
        label: Option<&Bound<'_, PyString>>,
        fair: bool,
        reentrant: bool,
        background: bool,
        crash: &str,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<Bound<'py, Lock>> {
        let py = slf.py();
        let wish = Wish { permits: None, ttl, wait: &wait, owner, resume, label, fair, reentrant, background, crash };
        let lock = Lock::object(py, slf.as_super().get().base(py, name, &wish, Renewal::Checkpoint)?)?;
        let base = lock.as_super().get();
        let epoch = base.acquire_or_raise(py, Wait::Default, cancel.map(Bound::get))?;
        base.mark_taken(epoch);
        Ok(lock)
    }

    /// Who holds the lock now.
    fn holders<'py>(slf: &Bound<'py, Self>, name: &Bound<'_, PyString>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, client) = (slf.py(), &slf.as_super().get().inner);
        let name = bad_name(name).or_raise(py)?;
        errors::holders(py, &calls::bounded(py, || client.holders(&name))?)
    }

    /// What the store knows about the lock.
    fn show<'py>(slf: &Bound<'py, Self>, name: &Bound<'_, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let (py, client) = (slf.py(), &slf.as_super().get().inner);
        let name = bad_name(name).or_raise(py)?;
        errors::lock_info(py, &calls::bounded(py, || client.show(&name))?)
    }

    /// The locks that are held or waited for, by name.
    #[pyo3(
        signature = (prefix = None, *, limit = None, after = None),
        text_signature = "($self, prefix='', *, limit=1000, after='')"
    )]
    fn list<'py>(
        slf: &Bound<'py, Self>,
        prefix: Option<&Bound<'_, PyString>>,
        limit: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyString>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, client) = (slf.py(), &slf.as_super().get().inner);
        let asked = Listing::new(py, prefix, limit, after)?;
        let found = calls::bounded(py, || client.list(&asked.prefix, asked.limit, &asked.after))?;
        found.iter().map(|one| errors::lock_info(py, one)).collect()
    }

    /// Ends somebody's hold by its token or its owner. False: nothing changed.
    #[pyo3(
        signature = (name, *, token = None, owner = None, slot = None),
        text_signature = "($self, name, *, token=None, owner=None, slot=0)"
    )]
    fn force_release(
        slf: &Bound<'_, Self>,
        name: &Bound<'_, PyString>,
        token: Option<&Bound<'_, PyAny>>,
        owner: Option<&Bound<'_, PyString>>,
        slot: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (py, client) = (slf.py(), &slf.as_super().get().inner);
        let name = bad_name(name).or_raise(py)?;
        let (slot, id) = release_id(py, token, owner, slot)?;
        calls::bounded(py, || client.force_release(&name, slot, &id))
    }

    /// A step that is done only if its locks are still held.
    fn transaction<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        errors::transaction(slf.py(), slf.as_any())
    }

    /// The rows of a namespace.
    fn kv<'py>(slf: &Bound<'py, Self>, namespace: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        errors::kv(slf.py(), slf.as_any(), namespace)
    }

    /// Asks the store whether it answers.
    fn ping(slf: &Bound<'_, Self>) -> PyResult<()> {
        let client = &slf.as_super().get().inner;
        calls::bounded(slf.py(), || client.ping())
    }

    /// Ends all waits and gives all holds back.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let client = &slf.as_super().get().inner;
        calls::bounded(slf.py(), || client.close())
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let closed = Self::close(slf);
        match closed {
            Err(ours) if !error.is_none() => errors::attach(slf.py(), error, &ours)?,
            other => other?,
        }
        Ok(())
    }
}

/// The arguments of `list`.
pub(crate) struct Listing {
    pub(crate) prefix: String,
    pub(crate) limit: u32,
    pub(crate) after: String,
}

impl Listing {
    pub(crate) fn new(
        py: Python<'_>,
        prefix: Option<&Bound<'_, PyString>>,
        limit: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyString>>,
    ) -> PyResult<Self> {
        let limit = limit.map(|limit| convert::count(limit, "limit", "locks_bad_limit")).transpose()?;
        let text = |text: Option<&Bound<'_, PyString>>| text.map_or(Ok(String::new()), bad_name);
        (|| Ok(Self { prefix: text(prefix)?, limit: limit.unwrap_or(Ok(1000))?, after: text(after)? }))().or_raise(py)
    }
}

/// The slot and the hold that `force_release` names.
pub(crate) fn release_id(
    py: Python<'_>,
    token: Option<&Bound<'_, PyAny>>,
    owner: Option<&Bound<'_, PyString>>,
    slot: Option<&Bound<'_, PyAny>>,
) -> PyResult<(u32, ReleaseId)> {
    let slot = slot.map(|slot| convert::count(slot, "slot", "locks_bad_limit")).transpose()?;
    let id = match (token, owner) {
        (Some(token), None) => {
            // No hold has a token that is not a number of 64 bits.
            let token = token.extract::<i128>().map_err(|_| PyTypeError::new_err("token must be an int"))?;
            ReleaseId::Token(u64::try_from(token).unwrap_or(0))
        }
        (None, Some(owner)) => ReleaseId::Owner(convert::text(owner, "the owner", "locks_bad_owner").or_raise(py)?),
        _ => return Err(PyTypeError::new_err("force_release() needs a token or an owner, and not both")),
    };
    Ok((slot.unwrap_or(Ok(0)).or_raise(py)?, id))
}

/// The name of a lock as the core takes it.
pub(crate) fn name(py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<String> {
    bad_name(name).or_raise(py)
}
