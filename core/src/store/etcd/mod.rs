//! `etcd://`: etcd's own lock, so that `etcdctl lock`, etcd's clients and we exclude each other, in the
//! order of arrival.
//!
//! A hold is a key that ends with its lease, and each hold has a lease of its own: one that is not
//! kept alive loses its own lock and no other's. The token is the revision at which the key was made.

mod cluster;
mod gateway;
mod keys;
mod look;
mod place;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub(crate) use self::place::EtcdUrl;

use self::cluster::{Contended, Lease};
use self::gateway::{Failure, Gateway};
use crate::backend::{Ask, Backend, Hold, Outcome, Released, Renewed, Turn};
use crate::client::Access;
use crate::clock::{Clock, Moment, boot_now};
use crate::info::{LockInfo, Refusal, RefusalReason, ReleaseId};
use crate::kv::value;
use crate::store::http::flight;
use crate::ttl::Ttl;
use crate::{Error, Result};

/// The most leases that are kept for the next acquire.
const MOST_IDLE: usize = 64;
/// How long giving a place up may take.
const LEAVE: Duration = Duration::from_secs(1);
/// How far a place in line is counted; beyond that it is shown as this.
const SHOWN: u32 = 100;
/// How long one request may take while waiting, before the time that is left is looked at again.
const STEP: Duration = Duration::from_secs(5);
/// How long until a cluster that is out of reach is asked again by a waiter.
const AGAIN: Duration = Duration::from_millis(100);

/// A hold.
struct Held {
    lease: Lease,
    key: Vec<u8>,
    created: i64,
}

impl Held {
    fn hold(&self) -> Hold {
        Hold { slot: 0, token: u64::try_from(self.created).unwrap_or(0) }
    }
}

type Key = (String, String);

/// The locks of a cluster.
pub(crate) struct EtcdStore {
    gateway: Gateway,
    prefix: String,
    clock: Clock,
    url: String,
    /// What is held, by name and owner. Guards the table only.
    holds: Mutex<HashMap<Key, Arc<Mutex<Held>>>>,
    /// The leases of tries that were not answered. Guards the table only.
    limbo: Mutex<HashMap<Key, Lease>>,
    /// Leases without keys. Guards the list only.
    idle: Mutex<Vec<Lease>>,
}

/// Why an acquire came to nothing.
enum Stopped {
    Refused(Refusal),
    Failed(Failure),
    /// The lease ended, and our place with it.
    PlaceGone,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl EtcdStore {
    /// The locks of a cluster. Nothing is sent yet.
    pub(crate) fn open(url: &EtcdUrl, access: &Access) -> Self {
        Self {
            gateway: Gateway::new(url, access),
            prefix: url.prefix.clone(),
            clock: Clock::Boot,
            url: url.shown(),
            holds: Mutex::default(),
            limbo: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    fn named<T>(&self, name: &str, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.on_lock(name).on_store(&self.url))
    }

    fn key_of(ask: &Ask<'_>) -> Key {
        (ask.name.to_string(), ask.owner.to_string())
    }

    fn held(&self, ask: &Ask<'_>) -> Option<Arc<Mutex<Held>>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).get(&Self::key_of(ask)).cloned()
    }

    fn forget(&self, ask: &Ask<'_>) {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).remove(&Self::key_of(ask));
    }

    /// A lease without keys, for holds of this lifetime.
    fn lease(&self, ttl: Duration, until: Moment) -> Result<Lease, Failure> {
        {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|lease| !lease.is_due());
            if let Some(at) = idle.iter().position(|lease| lease.ttl == ttl) {
                return Ok(idle.swap_remove(at));
            }
        }
        self.drop_lost();
        self.gateway.grant(ttl, until)
    }

    fn put_back(&self, lease: Lease) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is not kept ends by itself.
        if idle.len() < MOST_IDLE && !lease.is_due() {
            idle.push(lease);
        }
    }

    /// Forgets holds that were lost and never asked for again.
    fn drop_lost(&self) {
        let now = boot_now();
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.retain(|_, held| held.try_lock().is_ok_and(|held| now.since(held.lease.refreshed) < held.lease.ttl * 4));
    }

    fn granted(&self, ask: &Ask<'_>, lease: Lease, key: Vec<u8>, created: i64, already: bool) -> Outcome {
        let held = Held { lease, key, created };
        let (hold, sent) = (held.hold(), held.lease.refreshed);
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.insert(Self::key_of(ask), Arc::new(Mutex::new(held)));
        Outcome::Granted { hold, sent, already }
    }

    /// What this owner holds already, if it does.
    fn already(&self, ask: &Ask<'_>, until: Moment) -> Result<Option<Outcome>, Failure> {
        let Some(held) = self.held(ask) else { return Ok(None) };
        let held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if self.gateway.is_there(&held.key, held.created, until)? {
            return Ok(Some(Outcome::Granted { hold: held.hold(), sent: held.lease.refreshed, already: true }));
        }
        drop(held);
        self.forget(ask);
        Ok(None)
    }

    /// One acquire from the start to its end; a lease that ends while waiting lines up anew.
    fn try_all(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome, Stopped> {
        let end = turn.until.unwrap_or(turn.patience);
        if let Some(outcome) = self.already(ask, end)? {
            return Ok(outcome);
        }
        let mut begun = self.limbo.lock().unwrap_or_else(PoisonError::into_inner).remove(&Self::key_of(ask));
        loop {
            let is_new = begun.is_none();
            let mut lease = match begun.take() {
                Some(lease) => lease,
                None => match self.lease(ask.ttl, end) {
                    Ok(lease) => lease,
                    Err(failure) if failure.is_transient() && ride_out(turn, end)? => continue,
                    Err(failure) => return Err(failure.into()),
                },
            };
            let tried = self.try_once(ask, turn, &mut lease, is_new);
            turn.position.store(0, Ordering::Relaxed);
            match tried {
                Ok((key, created)) => return Ok(self.granted(ask, lease, key, created, false)),
                Err(Stopped::PlaceGone) if turn.until.is_none() || boot_now() < end => {}
                Err(Stopped::Failed(failure)) if failure.is_transient() => {
                    if ride_out(turn, end)? {
                        begun = Some(lease);
                        continue;
                    }
                    if matches!(failure, Failure::Unanswered(_)) {
                        let mut limbo = self.limbo.lock().unwrap_or_else(PoisonError::into_inner);
                        limbo.insert(Self::key_of(ask), lease);
                    }
                    return Err(failure.into());
                }
                Err(stopped) => {
                    self.leave(ask, lease);
                    return Err(stopped);
                }
            }
        }
    }

    /// Gives our place up, so that nobody waits for it, and keeps the lease.
    fn leave(&self, ask: &Ask<'_>, lease: Lease) {
        let folder = keys::folder(&self.prefix, ask.name);
        let key = keys::key(&folder, lease.id);
        flight::uncancellable(|| {
            let until = boot_now().after(LEAVE);
            let removed = self.gateway.remove_any(&key, until);
            match removed {
                Ok(()) => self.put_back(lease),
                Err(failure) => {
                    let error = failure.into_error(false);
                    crate::log::warn_user!("lock \"{}\": the place in line could not be given up: {error}", ask.name);
                }
            }
        });
    }

    fn refused(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Stopped {
        let until = boot_now().after(LEAVE);
        let reason = if turn.until.is_some() { RefusalReason::TimedOut } else { RefusalReason::Held };
        match look::show(&self.gateway, &self.prefix, ask.name, until) {
            Ok(info) => Stopped::Refused(look::refusal(info, reason)),
            Err(failure) => Stopped::Failed(failure),
        }
    }

    /// One try with one lease.
    fn try_once(
        &self,
        ask: &Ask<'_>,
        turn: &Turn<'_>,
        lease: &mut Lease,
        is_new: bool,
    ) -> Result<(Vec<u8>, i64), Stopped> {
        let end = turn.until.unwrap_or(turn.patience);
        let folder = keys::folder(&self.prefix, ask.name);
        let key = keys::key(&folder, lease.id);
        let value = value::permit(ask.owner, ask.label);
        // Where nobody waits, a key that is not first would be made only to be removed again.
        let alone = turn.until.is_none() && ask.permits == 1 && is_new;
        let mut contended = self.gateway.contend(&folder, lease, &value, ask.permits, alone, end)?;
        if let Contended::Others(others) = &contended {
            if !others.is_empty() {
                return Err(self.refused(ask, turn));
            }
            // Keys of other names lie there.
            contended = self.gateway.contend(&folder, lease, &value, ask.permits, false, end)?;
        }
        let (created, first) = match contended {
            Contended::Made { created, first } => (created, first),
            Contended::LeaseEnded => return Err(Stopped::PlaceGone),
            Contended::Others(_) => return Err(self.refused(ask, turn)),
        };
        let is_first = first.iter().take(ask.permits as usize).any(|found| found.key == key);
        if is_first && !lease.is_due() {
            return self.claimed(ask, lease, key, created, &value, end);
        }
        loop {
            let step = end.min(boot_now().after(STEP)).max(boot_now().after(Duration::from_millis(50)));
            if lease.is_due() && !self.gateway.keep_alive(lease, step)? {
                return Err(Stopped::PlaceGone);
            }
            let ahead = self.gateway.before(&folder, created, ask.permits + SHOWN, step)?;
            if ahead.contenders.len() < ask.permits as usize {
                if !self.gateway.is_there(&key, created, step)? {
                    return Err(Stopped::PlaceGone);
                }
                return self.claimed(ask, lease, key, created, &value, step);
            }
            let Some(until) = turn.until else { return Err(self.refused(ask, turn)) };
            if boot_now() >= until {
                return Err(self.refused(ask, turn));
            }
            self.watch(ask, turn, lease, &folder, &ahead, until)?;
        }
    }

    /// Waits for a change that may bring our turn, no longer than the lease lasts by itself.
    fn watch(
        &self,
        ask: &Ask<'_>,
        turn: &Turn<'_>,
        lease: &Lease,
        folder: &[u8],
        ahead: &cluster::Seen,
        until: Moment,
    ) -> Result<(), Stopped> {
        let slice = until.min(lease.refreshed.after(lease.ttl / 3));
        // Those in front who hold are not in line.
        let count = u32::try_from(ahead.contenders.len()).unwrap_or(u32::MAX);
        turn.position.store(count - ask.permits + 1, Ordering::Relaxed);
        let in_front = &ahead.contenders[0].key;
        if ask.permits == 1 {
            self.gateway.wait_for_change(in_front, None, true, ahead.revision, slice)?;
        } else if count == ask.permits {
            // The first in line looks for whoever of the holders goes first.
            self.gateway.wait_for_change(folder, Some(&keys::end_of(folder)), true, ahead.revision, slice)?;
        } else {
            // The others look at the one in front: it goes, or it writes that it holds.
            self.gateway.wait_for_change(in_front, None, false, ahead.revision, slice)?;
        }
        Ok(())
    }

    /// It is our turn; a semaphore's holder tells those behind it.
    fn claimed(
        &self,
        ask: &Ask<'_>,
        lease: &Lease,
        key: Vec<u8>,
        created: i64,
        value: &[u8],
        until: Moment,
    ) -> Result<(Vec<u8>, i64), Stopped> {
        if ask.permits > 1 && !self.gateway.claim(&key, created, lease, value, until)? {
            return Err(Stopped::PlaceGone);
        }
        Ok((key, created))
    }
}

/// Whether a waiter asks a cluster again that is out of reach; it pauses first.
fn ride_out(turn: &Turn<'_>, end: Moment) -> Result<bool, Failure> {
    if turn.until.is_none() || boot_now() >= end {
        return Ok(false);
    }
    if flight::sleep(AGAIN.min(end.since(boot_now()))) { Ok(true) } else { Err(Failure::Cancelled) }
}

impl Backend for EtcdStore {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn lifetime(&self, asked: Ttl) -> Duration {
        let asked = asked.get();
        Duration::from_secs(asked.as_secs() + u64::from(asked.subsec_nanos() > 0))
    }

    fn acquire(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome> {
        let cancels: Vec<_> = turn.cancel.into_iter().chain([turn.closing]).collect();
        let answer = flight::cancellable(&cancels, || {
            if flight::is_cancelled() { Err(Stopped::Failed(Failure::Cancelled)) } else { self.try_all(ask, turn) }
        });
        let answer = match answer {
            Ok(outcome) => Ok(outcome),
            Err(Stopped::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Stopped::Failed(Failure::Cancelled)) => Ok(Outcome::Cancelled),
            Err(Stopped::Failed(failure)) => Err(failure.into_error(true)),
            Err(Stopped::PlaceGone) => {
                let detail = "the lease of our place in line ended before our turn came; nothing is held. Try again";
                Err(Error::new(crate::Kind::Unreachable, "place_lost", detail))
            }
        };
        self.named(ask.name, answer)
    }

    fn renew(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Renewed> {
        let Some(held) = self.held(ask) else { return Ok(Renewed::Lost(Vec::new())) };
        let kept = {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.hold().token != hold.token {
                return Ok(Renewed::Lost(Vec::new()));
            }
            let Held { lease, key, created } = &mut *held;
            match self.gateway.keep_alive(lease, until) {
                // A lease may live on although its key was removed by hand.
                Ok(true) => self.gateway.is_there(key, *created, until),
                answer => answer,
            }
        };
        match kept {
            Ok(true) => Ok(Renewed::Renewed { token: hold.token }),
            Ok(false) => {
                self.forget(ask);
                let holders =
                    self.show(ask.name, boot_now().after(LEAVE)).map_or_else(|_| Vec::new(), |info| info.holders);
                Ok(Renewed::Lost(holders))
            }
            Err(failure) => self.named(ask.name, Err(failure.into_error(false))),
        }
    }

    fn release(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Released> {
        let Some(held) = self.held(ask) else { return Ok(Released::NotOurs(Vec::new())) };
        let removed = {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.hold().token != hold.token {
                return Ok(Released::NotOurs(Vec::new()));
            }
            self.gateway.remove(&held.key, held.created, until)
        };
        let answer = match removed {
            Ok(true) => Released::Released,
            Ok(false) => Released::NotOurs(Vec::new()),
            Err(failure) => return self.named(ask.name, Err(failure.into_error(true))),
        };
        self.forget(ask);
        if let Some(held) = Arc::into_inner(held) {
            self.put_back(held.into_inner().unwrap_or_else(PoisonError::into_inner).lease);
        }
        Ok(answer)
    }

    fn show(&self, name: &str, until: Moment) -> Result<LockInfo> {
        let shown = look::show(&self.gateway, &self.prefix, name, until);
        self.named(name, shown.map_err(|failure| failure.into_error(false)))
    }

    fn list(&self, prefix: &str, limit: u32, after: &str, until: Moment) -> Result<Vec<LockInfo>> {
        let listed = look::list(&self.gateway, &self.prefix, prefix, limit, after, until);
        listed.map_err(|failure| failure.into_error(false).on_store(&self.url))
    }

    fn force_release(&self, name: &str, slot: u32, id: &ReleaseId, until: Moment) -> Result<bool> {
        if slot != 0 {
            return Ok(false);
        }
        let removed = look::remove(&self.gateway, &self.prefix, name, id, until);
        self.named(name, removed.map_err(|failure| failure.into_error(true)))
    }

    fn ping(&self, until: Moment) -> Result<()> {
        match self.gateway.all(&keys::folder(&self.prefix, "fencehold/ping"), 1, until) {
            Ok(_) => Ok(()),
            Err(failure) => match failure.into_error(false) {
                error if error.kind() == crate::Kind::Forbidden => Ok(()),
                error => Err(error.on_store(&self.url)),
            },
        }
    }
}
