//! The servers of a store: which one is asked, when it is asked again, and what an answer means.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;

use super::credentials::Credentials;
use super::failure::Failure;
use super::flight::{self, Stop};
use super::server::{Fault, Reply, Route, Server, Waits};
use super::tls;
use crate::client::Access;
use crate::clock::{Moment, boot_now};
use crate::process;
use crate::url::ServerUrl;
use crate::{Kind, Result};

/// How often one server is asked in one call, when there is no other.
const TRIES_ALONE: usize = 3;
/// How often each of several servers is asked in one call.
const TRIES_EACH: usize = 2;
/// The first pause between two tries at the same server; each is four times the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How many answers 'too many requests' one call takes.
const MAX_LIMITED: u32 = 10;
/// The shortest time that a connection from the pool is given to answer.
const MIN_STALE: Duration = Duration::from_millis(250);

/// Whether a request may be sent again after one that may have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It changes nothing, or a repeat is recognised by its owner.
    Always,
    /// Only when nothing of it was sent.
    Unsent,
}

/// One call of the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) route: Route,
    pub(super) body: Option<&'a [u8]>,
    pub(super) again: Again,
    /// When the caller wants an answer at the latest.
    pub(super) until: Moment,
    /// How long the server may wait before it answers.
    pub(super) hang: Duration,
}

/// An answer with status 200 and what had gone before it.
#[derive(Debug)]
pub(super) struct Answered<'a> {
    pub(super) reply: Reply,
    pub(super) server: &'a Server,
    /// When the request that was answered was sent.
    pub(super) sent: Moment,
    /// An earlier send of this call may have been carried out.
    pub(super) doubt: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("url", &self.url.base).finish_non_exhaustive()
    }
}

pub(super) struct Servers {
    list: Vec<Server>,
    /// The one that answered last.
    preferred: AtomicUsize,
    credentials: Credentials,
    access: Access,
    /// Guards the certificates, which are read before the first connection that needs them.
    tls: Mutex<Option<Arc<ClientConfig>>>,
}

impl Servers {
    pub(super) fn new(urls: &[ServerUrl], access: &Access) -> Result<Self> {
        let list = urls.iter().map(|url| Server::new(url, urls.len() == 1)).collect::<Result<Vec<_>>>()?;
        // Clients spread over the servers.
        let preferred = AtomicUsize::new(process::random_u64() as usize % list.len().max(1));
        Ok(Self {
            list,
            preferred,
            credentials: Credentials::new(access),
            access: access.clone(),
            tls: Mutex::new(None),
        })
    }

    /// Whether the server that answered last waits by itself.
    pub(super) fn waits(&self) -> Waits {
        self.list[self.preferred.load(Ordering::Relaxed) % self.list.len()].waits()
    }

    fn tls(&self) -> Result<Arc<ClientConfig>> {
        let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = &*known {
            return Ok(config.clone());
        }
        Ok(known.insert(tls::config(&self.access)?).clone())
    }

    /// The next server to ask: the one that answered last, then the others; those that failed a
    /// moment ago only when no other is left.
    fn pick(&self, tries: &[usize]) -> usize {
        let from = self.preferred.load(Ordering::Relaxed);
        let order = (0..self.list.len()).map(|step| (from + step) % self.list.len());
        order.min_by_key(|at| (tries[*at], self.list[*at].is_aside())).unwrap_or(0)
    }

    /// Asks until a server answers what is final, or the time is over.
    pub(super) fn call(&self, call: &Call<'_>) -> std::result::Result<Answered<'_>, Failure> {
        let mut tries = vec![0; self.list.len()];
        let most = match self.list.len() {
            // Whoever waits asks again by itself, and has to see how long one wait lasted.
            _ if !call.hang.is_zero() => 1,
            1 => TRIES_ALONE,
            _ => TRIES_EACH,
        };
        let mut doubt = false;
        let mut limited = 0;
        let mut asked_anew = false;
        let mut replaced = false;
        loop {
            let at = self.pick(&tries);
            let server = &self.list[at];
            let is_last = tries.iter().sum::<usize>() + 1 >= most * tries.len();
            tries[at] += 1;
            let sent = boot_now();
            let answer = self.exchange(server, call, is_last).map_err(|error| Failure::last(error, doubt))?;
            let (mut failure, pause) = match answer {
                Ok(reply) if reply.status == 200 => {
                    server.is_well();
                    self.preferred.store(at, Ordering::Relaxed);
                    return Ok(Answered { reply, server, sent, doubt });
                }
                Ok(reply) => {
                    let failure = Failure::refused(&reply, server, call.route);
                    if failure.error.kind() == Kind::Unauthorized && !asked_anew && self.credentials.have_changed() {
                        asked_anew = true;
                        tries[at] -= 1;
                        continue;
                    }
                    if let Some(wait) = failure.limited {
                        limited += 1;
                        tries[at] -= 1;
                        let pause = Self::jittered(wait.unwrap_or(Duration::from_millis(500) * (1 << limited.min(6))));
                        if limited >= MAX_LIMITED || !self.pause(call, pause) {
                            return Err(self.given_up(failure, doubt));
                        }
                        continue;
                    }
                    if !failure.transient {
                        return Err(failure.doubted(doubt));
                    }
                    (failure, None)
                }
                Err(fault) => {
                    let failure = Failure::unanswered(&fault, server, call.again == Again::Always);
                    if fault.trace.stop == Some(Stop::Cancelled) {
                        return Err(Failure::cancelled(failure, doubt));
                    }
                    if fault.trace.distrust.is_some() {
                        // The files may have been replaced: they are read again at the next call.
                        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = None;
                        server.reconnect();
                        return Err(failure.doubted(doubt));
                    }
                    if fault.trace.stop == Some(Stop::Deadline) {
                        // Whatever went silent, its address may not be the server's any more.
                        server.reconnect();
                    }
                    let stale = Self::was_stale(&fault);
                    if stale && !replaced && (call.again == Again::Always || !fault.trace.sent) {
                        // The server closed a connection that was idle: that says nothing about it.
                        replaced = true;
                        tries[at] -= 1;
                        server.reconnect();
                        doubt |= fault.trace.sent;
                        continue;
                    }
                    (failure, stale.then_some(Duration::ZERO))
                }
            };
            server.set_aside();
            doubt |= failure.doubt;
            failure.doubt = doubt;
            let unsent = call.again == Again::Always || !doubt;
            let all_had = tries.iter().all(|count| *count >= most);
            if all_had || !unsent {
                return Err(failure);
            }
            // Another server is asked at once, the same one after a while.
            let least = tries.iter().min().copied().unwrap_or(0);
            let pause = pause.unwrap_or(match least {
                0 => Duration::ZERO,
                least => Self::jittered(FIRST_PAUSE * 4_u32.pow(least as u32 - 1)),
            });
            if !self.pause(call, pause) {
                return Err(self.given_up(failure, doubt));
            }
        }
    }

    /// A connection from the pool that ended, or stayed silent, before a byte of the answer.
    fn was_stale(fault: &Fault) -> bool {
        !fault.trace.fresh && !fault.trace.received && !fault.too_long
    }

    fn jittered(pause: Duration) -> Duration {
        pause.mul_f64(0.8 + 0.4 * f64::from(process::random_u64() as u32) / f64::from(u32::MAX))
    }

    /// Pauses; false when that is cancelled or would take longer than the call may.
    fn pause(&self, call: &Call<'_>, pause: Duration) -> bool {
        let until = boot_now().after(pause);
        if until.after(Duration::from_millis(1)) >= call.until {
            return false;
        }
        flight::sleep(pause)
    }

    fn given_up(&self, failure: Failure, doubt: bool) -> Failure {
        if flight::is_cancelled() { Failure::cancelled(failure, doubt) } else { failure.doubted(doubt) }
    }

    fn exchange(&self, server: &Server, call: &Call<'_>, is_last: bool) -> Result<std::result::Result<Reply, Fault>> {
        let now = boot_now();
        // What is left beyond the wait that the server was asked for is what may be lost to a
        // server, or a connection, that has gone silent.
        let spare = call.until.since(now.after(call.hang));
        let until = if is_last || self.list.len() == 1 {
            call.until
        } else {
            now.after(call.hang + (spare / 2).max(MIN_STALE)).min(call.until)
        };
        let stale = now.after(call.hang + (spare / 3).max(MIN_STALE)).min(until);
        let authorization = self.credentials.header(&server.url)?;
        server.exchange(call.route, call.body, authorization.as_ref(), || self.tls(), (until, stale))
    }
}
