//! One server: its connections, and one exchange of a request and an answer.

use std::io::Read as _;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use ureq::Agent;
use ureq::http::{self, HeaderValue, Method, Uri, header};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector as _};

use super::flight::{self, Stop, Trace};
use super::proxy;
use super::socket::{Later, Tcp};
use super::tls::Tls;
use crate::clock::{Moment, boot_now};
use crate::url::ServerUrl;
use crate::{Error, Result};

/// The longest answer that is read.
pub(super) const MAX_ANSWER: u64 = 32 * 1024 * 1024;
/// How long a connection may be idle and still be used again.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// How many idle connections are kept.
const MAX_IDLE_CONNECTIONS: usize = 64;
/// How long a server that failed is asked last.
const ASIDE: Duration = Duration::from_secs(5);

/// What is asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Locks,
    Kv,
    KvList,
    Transaction,
    Health,
}

impl Route {
    const ALL: [Self; 5] = [Self::Locks, Self::Kv, Self::KvList, Self::Transaction, Self::Health];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Locks => "/api/v1/locks",
            Self::Kv => "/api/v1/kv",
            Self::KvList => "/api/v1/resources/kv/list",
            Self::Transaction => "/api/v1/transaction",
            Self::Health => "/health",
        }
    }
}

/// An answer, whatever it says.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) is_json: bool,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

/// No answer.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) trace: Trace,
    /// What happened, for people.
    pub(super) what: String,
    /// The answer was longer than is read.
    pub(super) too_long: bool,
}

/// Whether a server waits for a lock's turn by itself, as far as it has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    Unknown,
    No,
    Yes,
}

pub(super) struct Server {
    pub(super) url: ServerUrl,
    /// What messages about this one begin with: nothing when it is the only one.
    pub(super) named: String,
    uris: [Uri; 5],
    /// Guards the connections. A server that went silent gets new ones.
    agent: Mutex<Option<Agent>>,
    aside_until: AtomicU64,
    waits: AtomicU8,
}

impl Server {
    pub(super) fn new(url: &ServerUrl, is_alone: bool) -> Result<Self> {
        let uri = |route: Route| {
            format!("{}{}", url.base, route.path()).parse::<Uri>().map_err(|_| {
                Error::invalid("locks_bad_url", format!("{} is no URL of a server (locks_bad_url)", url.base))
            })
        };
        let mut uris = [const { None }; 5];
        for (at, route) in Route::ALL.into_iter().enumerate() {
            uris[at] = Some(uri(route)?);
        }
        Ok(Self {
            url: url.clone(),
            named: if is_alone { String::new() } else { format!("{}: ", url.base) },
            uris: uris.map(Option::unwrap_or_default),
            agent: Mutex::new(None),
            aside_until: AtomicU64::new(0),
            waits: AtomicU8::new(0),
        })
    }

    pub(super) fn waits(&self) -> Waits {
        match self.waits.load(Ordering::Relaxed) {
            1 => Waits::No,
            2 => Waits::Yes,
            _ => Waits::Unknown,
        }
    }

    pub(super) fn shows_waiting(&self, waits: bool) {
        self.waits.store(if waits { 2 } else { 1 }, Ordering::Relaxed);
    }

    /// Whether it failed a moment ago.
    pub(super) fn is_aside(&self) -> bool {
        boot_now() < Moment::from_nanos(self.aside_until.load(Ordering::Relaxed))
    }

    pub(super) fn set_aside(&self) {
        self.aside_until.store(boot_now().after(ASIDE).as_nanos(), Ordering::Relaxed);
    }

    pub(super) fn is_well(&self) {
        self.aside_until.store(0, Ordering::Relaxed);
    }

    fn agent(&self, tls: impl FnOnce() -> Result<Arc<ClientConfig>>) -> Result<Agent> {
        let mut known = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = &*known {
            return Ok(agent.clone());
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy::from_environment(&self.url)?)
            .user_agent(concat!("fencehold/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .max_idle_connections(MAX_IDLE_CONNECTIONS)
            .max_idle_connections_per_host(MAX_IDLE_CONNECTIONS)
            .max_idle_age(MAX_IDLE)
            .build();
        let proxied_tls = config.proxy().is_some_and(|proxy| proxy.protocol() == ureq::ProxyProtocol::Https);
        let tls = if self.url.tls || proxied_tls { Some(tls()?) } else { None };
        let connector = ().chain(ConnectProxyConnector::default()).chain(Tcp).chain(Tls(tls));
        Ok(known.insert(Agent::with_parts(config, connector, Later)).clone())
    }

    /// Leaves all connections behind; requests in flight on them go on.
    pub(super) fn reconnect(&self) {
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sends one request and reads the answer, once, by `until`; on a connection that was used
    /// before by `stale`.
    pub(super) fn exchange(
        &self,
        route: Route,
        body: Option<&[u8]>,
        authorization: Option<&HeaderValue>,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>>,
        (until, stale): (Moment, Moment),
    ) -> Result<std::result::Result<Reply, Fault>> {
        let agent = self.agent(tls)?;
        let uri = &self.uris[Route::ALL.iter().position(|known| *known == route).unwrap_or(0)];
        let began = boot_now();
        let (answer, trace) = flight::fly(until, stale, || {
            let mut request = http::Request::builder().uri(uri);
            if let Some(authorization) = authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let response = match body {
                Some(body) => {
                    let json = HeaderValue::from_static("application/json");
                    agent.run(request.method(Method::POST).header(header::CONTENT_TYPE, json).body(body)?)?
                }
                None => agent.run(request.method(Method::GET).body(())?)?,
            };
            read(response)
        });
        Ok(answer.map_err(|error| {
            let what = describe(&error, &trace, boot_now().since(began));
            Fault { trace, what, too_long: matches!(error, ureq::Error::BodyExceedsLimit(_)) }
        }))
    }
}

fn read(response: http::Response<ureq::Body>) -> std::result::Result<Reply, ureq::Error> {
    let status = response.status().as_u16();
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    let is_json = kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json");
    let retry_after = text(header::RETRY_AFTER).and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
    let mut reader = response.into_body().into_with_config().limit(MAX_ANSWER).reader();
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    Ok(Reply { status, is_json, retry_after, body })
}

/// What went wrong, without anything that was sent.
fn describe(error: &ureq::Error, trace: &Trace, after: Duration) -> String {
    if let Some(why) = &trace.distrust {
        return why.clone();
    }
    match trace.stop {
        Some(Stop::Cancelled) => return "it was cancelled".into(),
        Some(Stop::Deadline) if trace.sent => return format!("no answer within {}", crate::duration::human(after)),
        Some(Stop::Deadline) => return format!("no connection within {}", crate::duration::human(after)),
        None => {}
    }
    match error {
        ureq::Error::BodyExceedsLimit(_) => format!("the answer is longer than {} MiB", MAX_ANSWER >> 20),
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "connection refused".into(),
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::ConnectionAborted
            | std::io::ErrorKind::BrokenPipe => "the connection was closed before the answer was there".into(),
            _ => error.to_string(),
        },
        other => other.to_string(),
    }
}
