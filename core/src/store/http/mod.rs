//! Stores on a server: a Queen broker, or `fencehold serve`.
//!
//! A [`HttpStore`] belongs to one process: a forked child opens its own, with connections of its
//! own. Lock order: a server's connections, then the certificates. Neither is held while a server
//! is asked.

mod credentials;
mod failure;
pub(super) mod flight;
pub(super) mod proxy;
mod rows;
mod server;
mod servers;
pub(super) mod socket;
mod step;
pub(super) mod tls;
mod waiting;
mod wire;

use std::time::Duration;

use serde_json::Value;

use crate::backend::{Ask, Backend, Hold, KvAnswer, Outcome, Released, Renewed, Step, StepAnswer, Turn};
use crate::client::Resolved;
use crate::clock::{Clock, Moment, boot_now};
use crate::info::{Holder, LockInfo, ReleaseId};
use crate::ttl::Ttl;
use crate::url::ServerUrl;
use crate::{Error, Kind, Result};
use failure::Failure;
use server::Route;
use servers::{Again, Answered, Call, Servers};

/// How often a hold that is ended by its owner's name is looked up again, when it was renewed in
/// between.
const LOOKS: u32 = 3;

/// The locks of a broker.
pub(crate) struct HttpStore {
    servers: Servers,
    clock: Clock,
}

impl HttpStore {
    /// A store on `servers`. Nothing is sent.
    pub(crate) fn open(servers: &[ServerUrl], options: &Resolved) -> Result<Self> {
        Ok(Self { servers: Servers::new(servers, &options.access)?, clock: Clock::Boot })
    }

    /// Asks the lock route; `decode` reads the answer.
    fn locks<T>(
        &self,
        body: &[u8],
        again: Again,
        (until, hang): (Moment, Duration),
        decode: impl FnOnce(&[u8]) -> std::result::Result<T, wire::Malformed>,
    ) -> std::result::Result<(T, Answered<'_>), Failure> {
        self.ask(&Call { route: Route::Locks, body: Some(body), again, until, hang }, decode)
    }

    fn ask<T>(
        &self,
        call: &Call<'_>,
        decode: impl FnOnce(&[u8]) -> std::result::Result<T, wire::Malformed>,
    ) -> std::result::Result<(T, Answered<'_>), Failure> {
        let answered = self.servers.call(call)?;
        match decode(&answered.reply.body) {
            Ok(answer) => Ok((answer, answered)),
            Err(wire::Malformed(what)) => Err(Failure::bad_answer(answered.server, what)),
        }
    }

    fn renew_once(
        &self,
        ask: &Ask<'_>,
        hold: Hold,
        until: Moment,
    ) -> std::result::Result<(wire::Kept, Moment), Failure> {
        let body = wire::renew(ask, hold);
        let (kept, answered) =
            self.locks(&body, Again::Always, (until, Duration::ZERO), |body| wire::renewed(body, ask, hold))?;
        Ok((kept, answered.sent))
    }

    fn release_once(&self, name: &str, hold: Hold, until: Moment) -> std::result::Result<wire::Kept, Failure> {
        // Without an owner a repeat cannot be told from a stranger's, so whoever asked has to know
        // that one was sent.
        let body = wire::release(name, hold);
        let (kept, _) = self.locks(&body, Again::Unsent, (until, Duration::ZERO), |body| wire::released(body, name))?;
        Ok(kept)
    }

    fn look(&self, name: &str, until: Moment) -> std::result::Result<LockInfo, Failure> {
        let body = wire::get(name);
        let (info, _) = self.locks(&body, Again::Always, (until, Duration::ZERO), |body| wire::shown(body, name))?;
        Ok(info)
    }
}

impl Backend for HttpStore {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn lifetime(&self, asked: Ttl) -> Duration {
        Duration::from_secs(wire::seconds(asked.get()))
    }

    fn acquire(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome> {
        self.take(ask, turn)
    }

    fn renew(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Renewed> {
        match self.renew_once(ask, hold, until).map_err(Failure::of_change)? {
            (wire::Kept::Done { token }, _) => Ok(Renewed::Renewed { token }),
            (wire::Kept::Lost(holders), _) => Ok(Renewed::Lost(holders)),
        }
    }

    fn release(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Released> {
        match self.release_once(ask.name, hold, until).map_err(Failure::of_change)? {
            wire::Kept::Done { .. } => Ok(Released::Released),
            wire::Kept::Lost(holders) => Ok(Released::NotOurs(holders)),
        }
    }

    fn show(&self, name: &str, until: Moment) -> Result<LockInfo> {
        match self.look(name, until) {
            Ok(info) => Ok(info),
            // Whoever may only read sees locks as rows.
            Err(failure) if failure.error.kind() == Kind::Forbidden => {
                self.show_rows(name, until).map_err(Failure::of_read)
            }
            Err(failure) => Err(failure.of_read()),
        }
    }

    fn list(&self, prefix: &str, limit: u32, after: &str, until: Moment) -> Result<Vec<LockInfo>> {
        self.list_rows(prefix, limit, after, until).map_err(Failure::of_read)
    }

    fn force_release(&self, name: &str, slot: u32, id: &ReleaseId, until: Moment) -> Result<bool> {
        if slot >= crate::kv::limits::MAX_PERMITS {
            return Ok(false);
        }
        let mut sent_before = false;
        for _ in 0..LOOKS {
            let token = match id {
                ReleaseId::Token(token) if (1..=i64::MAX as u64).contains(token) => *token,
                ReleaseId::Token(_) => return Ok(false),
                ReleaseId::Owner(owner) => {
                    let info = self.look(name, until).map_err(Failure::of_read)?;
                    let is_it = |holder: &&Holder| holder.slot == slot && holder.owner.as_deref() == Some(owner);
                    match info.holders.iter().find(is_it) {
                        Some(holder) => holder.token,
                        None => return Ok(sent_before),
                    }
                }
            };
            match self.release_once(name, Hold { slot, token }, until) {
                Ok(wire::Kept::Done { .. }) => return Ok(true),
                // A repeat of a release that was carried out finds nothing to release.
                Ok(wire::Kept::Lost(_)) if matches!(id, ReleaseId::Token(_)) => return Ok(sent_before),
                Ok(wire::Kept::Lost(_)) => {}
                Err(failure) if failure.doubt && failure.transient && !sent_before && boot_now() < until => {
                    sent_before = true;
                }
                Err(failure) => return Err(failure.of_change()),
            }
        }
        let detail = "it is renewed faster than it can be looked up. Try again, or end it by its token";
        Err(Error::new(Kind::Unreachable, "store_busy", detail))
    }

    fn kv(&self, operations: &[Value], until: Moment) -> Result<KvAnswer> {
        self.operate(operations, until)
    }

    fn commit(&self, step: &Step, until: Moment) -> Result<StepAnswer> {
        self.commit_step(step, until)
    }

    fn ping(&self, until: Moment) -> Result<()> {
        let call = Call { route: Route::Health, body: None, again: Again::Always, until, hang: Duration::ZERO };
        self.servers.call(&call).map(drop).map_err(Failure::of_read)
    }
}
