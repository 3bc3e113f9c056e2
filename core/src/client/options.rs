//! Options of clients and of locks.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::backend::Crash;
use crate::owner::{Label, Owner};
use crate::secret::Secret;
use crate::ttl::Ttl;
use crate::wait::Wait;
use crate::{Error, Result, duration};

/// How a client reaches its store and what its holders are called.
///
/// What is not set is read from the environment: `FENCEHOLD_AUTH_TOKEN`, `FENCEHOLD_REQUEST_TIMEOUT`
/// and so on. A store on this machine needs no credentials and ignores them.
///
/// ```
/// use fencehold::{Client, ClientOptions};
///
/// let client = Client::open_with("memory:", ClientOptions::new().label("billing"))?;
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct ClientOptions {
    request_timeout: Option<Duration>,
    label: Option<String>,
    access: Access,
}

/// How a client shows a server who it is, and knows the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub(crate) auth_token: Option<Secret>,
    pub(crate) auth_token_file: Option<PathBuf>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) cert_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Credentials are never shown.
        f.debug_struct("ClientOptions")
            .field("request_timeout", &self.request_timeout)
            .field("label", &self.label)
            .field("user", &self.access.user)
            .finish_non_exhaustive()
    }
}

impl ClientOptions {
    /// Options of which nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long one request may take: 5 s unless set, and at most a quarter of a lifetime.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = Some(timeout);
        self
    }

    /// What this client's holders call themselves, for people: the program's name unless set.
    pub fn label(mut self, label: &str) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The bearer token to send to a server.
    pub fn auth_token(mut self, token: &str) -> Self {
        self.access.auth_token = Some(Secret::new(token));
        self
    }

    /// A file with the bearer token. It is read again when it changes.
    pub fn auth_token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.access.auth_token_file = Some(path.into());
        self
    }

    /// The user to log in as.
    pub fn user(mut self, user: &str) -> Self {
        self.access.user = Some(user.into());
        self
    }

    /// The user's password.
    pub fn password(mut self, password: &str) -> Self {
        self.access.password = Some(Secret::new(password));
        self
    }

    /// A file with the user's password.
    pub fn password_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.access.password_file = Some(path.into());
        self
    }

    /// Certificates (PEM) that a server's one may also be signed with, beside the system's.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.access.ca_file = Some(path.into());
        self
    }

    /// This client's certificate (PEM), with its key unless `key_file` is set.
    pub fn cert_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.access.cert_file = Some(path.into());
        self
    }

    /// The key (PEM) of this client's certificate.
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.access.key_file = Some(path.into());
        self
    }

    pub(crate) fn resolve(self) -> Result<Resolved> {
        let from_environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let request_timeout = match self.request_timeout {
            Some(timeout) => timeout,
            None => match from_environment("FENCEHOLD_REQUEST_TIMEOUT") {
                Some(text) => parse_duration(&text)?,
                None => Duration::from_secs(5),
            },
        };
        if request_timeout.is_zero() || request_timeout > Duration::from_secs(3600) {
            let detail = "request_timeout is above 0 and at most 1h (locks_bad_wait). Write '5s'";
            return Err(Error::invalid("locks_bad_wait", detail));
        }
        let access = self.access.resolve(from_environment)?;
        let label = match self.label.or_else(|| from_environment("FENCEHOLD_LABEL")) {
            Some(text) => Label::chosen(&text)?,
            None => Label::program(),
        };
        Ok(Resolved { request_timeout, label, access })
    }
}

/// The options as a client uses them.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) request_timeout: Duration,
    pub(crate) label: Label,
    pub(crate) access: Access,
}

impl Access {
    /// Takes from the environment what is not set, and refuses what contradicts itself.
    fn resolve(mut self, from_environment: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let bad = |detail: &'static str| Err(Error::invalid("locks_bad_url", detail));
        if self.auth_token.is_some() && self.auth_token_file.is_some() {
            return bad("pass auth_token or auth_token_file, not both");
        }
        if self.password.is_some() && self.password_file.is_some() {
            return bad("pass password or password_file, not both");
        }
        let secret = |name: &str| from_environment(name).map(Secret::new);
        let file = |name: &str| from_environment(name).map(PathBuf::from);
        // One of a pair that the program passed stands against both of the environment.
        if self.auth_token.is_none() && self.auth_token_file.is_none() {
            self.auth_token = secret("FENCEHOLD_AUTH_TOKEN");
            if self.auth_token.is_none() {
                self.auth_token_file = file("FENCEHOLD_AUTH_TOKEN_FILE");
            }
        }
        if self.password.is_none() && self.password_file.is_none() {
            self.password = secret("FENCEHOLD_PASSWORD");
            if self.password.is_none() {
                self.password_file = file("FENCEHOLD_PASSWORD_FILE");
            }
        }
        self.user = self.user.or_else(|| from_environment("FENCEHOLD_USER"));
        self.ca_file = self.ca_file.or_else(|| file("FENCEHOLD_CA_FILE"));
        if self.cert_file.is_none() && self.key_file.is_none() {
            self.cert_file = file("FENCEHOLD_CERT_FILE");
            self.key_file = file("FENCEHOLD_KEY_FILE");
        }
        if self.key_file.is_some() && self.cert_file.is_none() {
            return bad("key_file is the key of cert_file: pass both");
        }
        Ok(self)
    }
}

/// Reads a duration such as `500ms` or `1h30m`.
///
/// # Errors
/// `invalid` with `locks_bad_wait`.
pub fn parse_duration(text: &str) -> Result<Duration> {
    duration::parse(text).map_err(|_| {
        Error::invalid(
            "locks_bad_wait",
            format!("the duration {text:?} is not understood (locks_bad_wait). Write '5s'"),
        )
    })
}

/// Who renews a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// The library, on one thread for the whole process.
    #[default]
    Background,
    /// Each `keep_alive` that comes when a renewal is due.
    Checkpoint,
    /// Each `keep_alive` that comes when a renewal is due starts it and does not wait for the answer.
    CheckpointStarted,
}

/// How a lock is held: its lifetime, and what else is not the default.
///
/// ```
/// use fencehold::{Client, LockOptions};
/// use std::time::Duration;
///
/// let client = Client::open("memory:")?;
/// let options = LockOptions::ttl(Duration::from_secs(30)).wait(Duration::from_secs(10)).label("nightly");
/// let lock = client.acquire("reports/nightly", options)?;
/// # lock.release()?;
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LockOptions {
    pub(crate) ttl: Duration,
    pub(crate) wait: Wait,
    pub(crate) owner: Option<String>,
    pub(crate) resume: bool,
    pub(crate) label: Option<String>,
    pub(crate) fair: bool,
    pub(crate) reentrant: bool,
    pub(crate) renewal: Renewal,
    pub(crate) crash: Crash,
}

impl LockOptions {
    /// How long the lease outlives its last renewal: 100 ms to 24 h, checked when the lock is made.
    pub fn ttl(ttl: Duration) -> Self {
        Self {
            ttl,
            wait: Wait::Default,
            owner: None,
            resume: false,
            label: None,
            fair: false,
            reentrant: false,
            renewal: Renewal::Background,
            crash: Crash::Takeover,
        }
    }

    /// The same from a lifetime that was checked already.
    pub fn from_ttl(ttl: Ttl) -> Self {
        Self::ttl(ttl.get())
    }

    /// How long an acquire waits for its turn unless it says otherwise; one try unless set.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = wait.into();
        self
    }

    /// The owner, unique per holder. Leave it out to have one minted.
    pub fn owner(mut self, owner: &str) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Takes up the hold that this owner already has, handed on by another process.
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// What this holder calls itself, for people.
    pub fn label(mut self, label: &str) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Waits in the order of arrival. On stores of this machine every wait is fair.
    pub fn fair(self) -> Self {
        self.set_fair(true)
    }

    /// Whether to wait in the order of arrival.
    pub fn set_fair(mut self, fair: bool) -> Self {
        self.fair = fair;
        self
    }

    /// Whether an acquire through a handle that already holds is counted instead of refused.
    pub fn reentrant(mut self, reentrant: bool) -> Self {
        self.reentrant = reentrant;
        self
    }

    /// Who renews: the library in the background unless set.
    pub fn renewal(mut self, renewal: Renewal) -> Self {
        self.renewal = renewal;
        self
    }

    /// What becomes of the hold when this process dies.
    pub fn crash(mut self, crash: Crash) -> Self {
        self.crash = crash;
        self
    }

    pub(crate) fn checked_owner(&self) -> Result<Owner> {
        match &self.owner {
            Some(text) => Owner::chosen(text),
            None if self.resume => {
                let detail = "resume needs the owner whose hold is taken up (locks_bad_owner). Pass owner as well";
                Err(Error::invalid("locks_bad_owner", detail))
            }
            None => Ok(Owner::mint()),
        }
    }
}

impl From<Duration> for LockOptions {
    fn from(ttl: Duration) -> Self {
        Self::ttl(ttl)
    }
}

impl From<Ttl> for LockOptions {
    fn from(ttl: Ttl) -> Self {
        Self::from_ttl(ttl)
    }
}
