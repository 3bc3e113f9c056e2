//! Requests to a cluster through etcd's JSON gateway, to one member after the other.
//!
//! Keys and values are base64 there, 64-bit numbers are texts, and what is zero is left out.

use std::io::BufRead as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{HeaderValue, Request, header};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector as _};

use super::place::EtcdUrl;
use crate::client::Access;
use crate::clock::{Moment, boot_now};
use crate::secret::Secret;
use crate::store::http::flight::{self, Stop, Trace};
use crate::store::http::proxy;
use crate::store::http::socket::{Later, Tcp};
use crate::store::http::tls::{self, Tls};
use crate::url::ServerUrl;
use crate::{Error, Kind, Result, process};

/// The longest answer that is read.
const MAX_ANSWER: u64 = 32 * 1024 * 1024;
/// How long one member may take while there are others.
const SHARE: Duration = Duration::from_secs(2);
/// How long until a cluster that has no leader is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// Codes of gRPC, as the gateway hands them on.
const UNAUTHENTICATED: i64 = 16;
const PERMISSION_DENIED: i64 = 7;
const UNAVAILABLE: i64 = 14;
const DEADLINE_EXCEEDED: i64 = 4;
const CANCELLED: i64 = 1;
const UNKNOWN: i64 = 2;
const RESOURCE_EXHAUSTED: i64 = 8;

/// No answer of use.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was sent to any member.
    Unreachable(String),
    /// It was sent, and no answer came.
    Unanswered(String),
    /// Somebody ended it.
    Cancelled,
    /// The cluster said no.
    Refused { code: i64, message: String },
    /// Something that no other member would answer better.
    Error(Error),
}

impl Failure {
    /// Whether it may go well a little later.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unanswered(_))
    }

    /// The error for the caller. What was sent and not answered is in doubt only if it `changes`
    /// something.
    pub(super) fn into_error(self, changes: bool) -> Error {
        match self {
            Self::Unreachable(why) => {
                let detail = format!("no member of the cluster could be asked ({why}); nothing was done");
                Error::new(Kind::Unreachable, "unreachable", detail)
            }
            Self::Unanswered(why) if changes => {
                let detail = format!("the request was sent, and no answer came ({why}); it may have been done");
                Error::new(Kind::InDoubt, "in_doubt", detail)
            }
            Self::Unanswered(why) => {
                let detail = format!("no answer came ({why}); nothing was changed");
                Error::new(Kind::Unreachable, "unreachable", detail)
            }
            Self::Cancelled => Error::new(Kind::Cancelled, "cancelled", "it was cancelled"),
            Self::Refused { code: UNAUTHENTICATED, message } => {
                let detail = format!("the cluster wants other credentials ({message}): see user and password");
                Error::new(Kind::Unauthorized, "unauthorized", detail)
            }
            Self::Refused { code: PERMISSION_DENIED, message } => {
                let detail = format!("the cluster does not allow it to this user ({message})");
                Error::new(Kind::Forbidden, "forbidden", detail)
            }
            Self::Refused { code: RESOURCE_EXHAUSTED, message } => {
                let detail = format!("the cluster is full ({message}): compact and defragment it, or raise its quota");
                Error::new(Kind::Store, "store_full", detail)
            }
            Self::Refused { code, message } => {
                Error::new(Kind::Store, "store_refused", format!("the cluster refused: {message} (code {code})"))
            }
            Self::Error(error) => error,
        }
    }
}

struct Member {
    url: ServerUrl,
    /// Guards the connections.
    agent: Mutex<Option<Agent>>,
}

/// A cluster.
pub(super) struct Gateway {
    members: Vec<Member>,
    /// The one that answered last.
    preferred: AtomicUsize,
    access: Access,
    user: Option<String>,
    password: Option<Secret>,
    password_file: Option<PathBuf>,
    /// Guards the certificates, which are read before the first connection that needs them.
    tls: Mutex<Option<Arc<ClientConfig>>>,
    /// Guards the token of the login.
    token: Mutex<Option<HeaderValue>>,
}

/// The answer to a request that is sent with this path, or the start of a stream of them.
type Answer = std::result::Result<Value, Failure>;

impl Gateway {
    pub(super) fn new(url: &EtcdUrl, access: &Access) -> Self {
        let members: Vec<Member> =
            url.members.iter().map(|url| Member { url: url.clone(), agent: Mutex::new(None) }).collect();
        let from_url = url.user.is_some();
        Self {
            preferred: AtomicUsize::new(process::random_u64() as usize % members.len().max(1)),
            members,
            access: access.clone(),
            user: url.user.clone().or_else(|| access.user.clone()),
            password: if from_url { url.password.clone() } else { access.password.clone() },
            password_file: access.password_file.clone().filter(|_| !from_url || url.password.is_none()),
            tls: Mutex::new(None),
            token: Mutex::new(None),
        }
    }

    fn tls(&self) -> Result<Arc<ClientConfig>> {
        let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = &*known {
            return Ok(config.clone());
        }
        Ok(known.insert(tls::config(&self.access)?).clone())
    }

    fn agent(&self, member: &Member) -> Result<Agent> {
        let mut known = member.agent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = &*known {
            return Ok(agent.clone());
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy::from_environment(&member.url)?)
            .user_agent(concat!("fencehold/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .max_idle_connections(64)
            .max_idle_connections_per_host(64)
            .build();
        let tls = if member.url.tls { Some(self.tls()?) } else { None };
        let connector = ().chain(ConnectProxyConnector::default()).chain(Tcp).chain(Tls(tls));
        Ok(known.insert(Agent::with_parts(config, connector, Later)).clone())
    }

    /// Sends a request that may be sent again when its answer was lost.
    pub(super) fn post(&self, path: &str, body: &Value, until: Moment) -> Answer {
        let text = body.to_string();
        let mut sent = false;
        let mut last = None;
        let mut failures = 0_usize;
        let mut logged_in = false;
        loop {
            let now = boot_now();
            let count = self.members.len();
            let from = self.preferred.load(Ordering::Relaxed);
            let member = &self.members[from % count];
            let left = until.since(now);
            if left.is_zero() {
                break;
            }
            let limit =
                if count > 1 { now.after((left / 2).min(SHARE).max(Duration::from_millis(200))) } else { until };
            let failure = match self.try_one(member, path, &text, limit.min(until)) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match failure {
                Failure::Refused { code: UNAUTHENTICATED, .. } if self.user.is_some() && !logged_in => {
                    // The token is another member's, or too old.
                    logged_in = true;
                    self.log_in(until)?;
                    continue;
                }
                failure if !failure.is_transient() => return Err(failure),
                Failure::Unanswered(why) => {
                    sent = true;
                    last = Some(why);
                }
                Failure::Unreachable(why) => last = Some(why),
                failure => return Err(failure),
            }
            failures += 1;
            self.preferred.store((from + 1) % count, Ordering::Relaxed);
            // Once around at once, then slowly.
            if failures.is_multiple_of(count) && !flight::sleep(AGAIN.min(until.since(boot_now()))) {
                return Err(Failure::Cancelled);
            }
        }
        let why = last.unwrap_or_else(|| "no time was left".into());
        Err(if sent { Failure::Unanswered(why) } else { Failure::Unreachable(why) })
    }

    /// Makes a request and hands its body to `read`.
    fn send<T>(
        &self,
        member: &Member,
        path: &str,
        text: &str,
        until: Moment,
        read: impl FnOnce(u16, ureq::Body) -> std::result::Result<T, ureq::Error>,
    ) -> std::result::Result<T, Failure> {
        let agent = self.agent(member).map_err(Failure::Error)?;
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let began = boot_now();
        let (answer, trace) = flight::fly(until, until, || {
            let mut request = Request::post(format!("{}{path}", member.url.base));
            request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if let Some(token) = token {
                request = request.header(header::AUTHORIZATION, token);
            }
            let response = agent.run(request.body(text.as_bytes())?)?;
            let status = response.status().as_u16();
            read(status, response.into_body())
        });
        answer.map_err(|error| failure_of(&member.url, &error, &trace, boot_now().since(began)))
    }

    fn try_one(&self, member: &Member, path: &str, text: &str, until: Moment) -> Answer {
        let (status, bytes) = self.send(member, path, text, until, |status, body| {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut body.into_with_config().limit(MAX_ANSWER).reader(), &mut bytes)?;
            Ok((status, bytes))
        })?;
        let Ok(answer) = serde_json::from_slice::<Value>(&bytes) else {
            return Err(Failure::Error(bad_answer(&member.url, status)));
        };
        match status {
            200 => Ok(answer),
            _ => Err(refusal(&answer, &member.url, status)),
        }
    }

    /// Logs in, and keeps the token for the requests that follow.
    fn log_in(&self, until: Moment) -> std::result::Result<(), Failure> {
        let Some(user) = &self.user else { return Ok(()) };
        let password = match (&self.password, &self.password_file) {
            (Some(password), _) => password.clone(),
            (None, Some(path)) => match std::fs::read_to_string(path) {
                Ok(text) => Secret::new(text.trim_end_matches(['\n', '\r'])),
                Err(error) => {
                    let detail = format!("password_file {}: {error} (auth_bad_file)", path.display());
                    return Err(Failure::Error(Error::invalid("auth_bad_file", detail)));
                }
            },
            (None, None) => Secret::new(""),
        };
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let body = json!({"name": user, "password": password.reveal()}).to_string();
        let member = &self.members[self.preferred.load(Ordering::Relaxed) % self.members.len()];
        let answer = match self.try_one(member, "/v3/auth/authenticate", &body, until) {
            Ok(answer) => answer,
            Err(Failure::Refused { message, .. }) => {
                return Err(Failure::Refused { code: UNAUTHENTICATED, message });
            }
            Err(failure) => return Err(failure),
        };
        let token = answer.get("token").and_then(Value::as_str).unwrap_or_default();
        let mut header = HeaderValue::from_str(token).map_err(|_| Failure::Error(bad_answer(&member.url, 200)))?;
        header.set_sensitive(true);
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(header);
        Ok(())
    }

    /// Watches keys until `visit` breaks, the time is over, or the stream ends.
    ///
    /// `visit` gets each message of the stream, the first of which says that the watch is set.
    pub(super) fn watch(
        &self,
        request: &Value,
        until: Moment,
        mut visit: impl FnMut(&Value) -> ControlFlow<()>,
    ) -> std::result::Result<(), Failure> {
        let text = json!({"create_request": request}).to_string();
        let member = &self.members[self.preferred.load(Ordering::Relaxed) % self.members.len()];
        let watched = self.send(member, "/v3/watch", &text, until, |status, body| {
            let mut reader = std::io::BufReader::new(body.into_reader());
            let mut line = String::new();
            loop {
                line.clear();
                if reader.read_line(&mut line)? == 0 {
                    return Ok(Ok(()));
                }
                let Ok(message) = serde_json::from_str::<Value>(&line) else {
                    return Ok(Err(Failure::Error(bad_answer(&member.url, status))));
                };
                if status != 200 || message.get("error").is_some() {
                    let error = message.get("error").filter(|error| error.is_object()).unwrap_or(&message);
                    return Ok(Err(refusal(error, &member.url, status)));
                }
                if visit(message.get("result").unwrap_or(&message)).is_break() {
                    return Ok(Ok(()));
                }
            }
        });
        match watched {
            Ok(ended) => ended,
            // The time of the watch is over; that is no failure.
            Err(Failure::Unanswered(_)) if boot_now() >= until => Ok(()),
            Err(failure) => {
                if failure.is_transient() {
                    let next = self.preferred.load(Ordering::Relaxed) + 1;
                    self.preferred.store(next % self.members.len(), Ordering::Relaxed);
                }
                Err(failure)
            }
        }
    }
}

fn failure_of(url: &ServerUrl, error: &ureq::Error, trace: &Trace, after: Duration) -> Failure {
    if let Some(why) = &trace.distrust {
        return Failure::Error(Error::invalid("tls_untrusted", format!("{}: {why} (tls_untrusted)", url.base)));
    }
    if trace.stop == Some(Stop::Cancelled) {
        return Failure::Cancelled;
    }
    let what = match trace.stop {
        Some(_) => format!("{}: no answer within {}", url.base, crate::duration::human(after)),
        None => format!("{}: {error}", url.base),
    };
    if trace.sent { Failure::Unanswered(what) } else { Failure::Unreachable(what) }
}

fn bad_answer(url: &ServerUrl, status: u16) -> Error {
    let detail = format!("what answers at {} is no etcd (HTTP {status}, bad_answer). Check host and port", url.base);
    Error::new(Kind::Unsupported, "bad_answer", detail)
}

/// What the cluster says when it does not do what it was asked.
fn refusal(answer: &Value, url: &ServerUrl, status: u16) -> Failure {
    let code = answer.get("code").or_else(|| answer.get("grpc_code")).and_then(Value::as_i64).unwrap_or(0);
    let said = answer.get("message").or_else(|| answer.get("error")).and_then(Value::as_str).unwrap_or_default();
    let message: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
    let is_login = message.contains("invalid auth token")
        || message.contains("user name is empty")
        || message.contains("revision of auth store is old");
    match code {
        _ if is_login || status == 401 => Failure::Refused { code: UNAUTHENTICATED, message },
        // No leader, a leader that changes, a member that stops: another try may go well.
        UNAVAILABLE | DEADLINE_EXCEEDED | CANCELLED => Failure::Unanswered(format!("{}: {message}", url.base)),
        UNKNOWN if message.contains("stopped") => Failure::Unanswered(format!("{}: {message}", url.base)),
        0 if status >= 500 => Failure::Unanswered(format!("{}: HTTP {status}", url.base)),
        0 => Failure::Error(bad_answer(url, status)),
        code => Failure::Refused { code, message },
    }
}

/// A key or a value, as the gateway takes it.
pub(super) fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a member; empty when it is not there.
pub(super) fn bytes_of(value: &Value, member: &str) -> Vec<u8> {
    value.get(member).and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
}

/// The number of a member, which is a text; 0 when it is not there.
pub(super) fn number_of(value: &Value, member: &str) -> i64 {
    match value.get(member) {
        Some(Value::String(text)) => text.parse().unwrap_or(0),
        Some(number) => number.as_i64().unwrap_or(0),
        None => 0,
    }
}
