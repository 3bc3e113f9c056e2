//! What a store of leases has to be able to do. The client drives a lease with it.
//!
//! A backend only asks its store and answers what the store said. It keeps no lease alive, counts no
//! deadline and knows no handle: that is the [lease machine](crate::machine)'s and the client's.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use serde_json::Value;

use crate::cancel::Cancel;
use crate::clock::{Clock, Moment};
use crate::info::{Holder, LockInfo, Refusal, ReleaseId};
use crate::ttl::Ttl;
use crate::{Error, Kind, Result};

/// What becomes of a hold whose process died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Crash {
    /// The next in line takes over at once, where the store can notice the death.
    #[default]
    Takeover,
    /// The lease runs to its end first.
    Expire,
}

/// Who asks for which lock.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The lock's name.
    pub name: &'a str,
    /// How many permits the lock has; 1 for a plain lock.
    pub permits: u32,
    /// Who it is held for; empty: whoever asks does not say.
    pub owner: &'a str,
    /// What people call the owner.
    pub label: Option<&'a str>,
    /// How long a grant or a renewal lasts.
    pub ttl: Duration,
    /// What becomes of the hold when its process dies.
    pub crash: Crash,
    /// Whether those who wait are served in the order of their arrival, where that is a choice.
    pub fair: bool,
}

/// The hold that a renewal or a release is about.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// Which permit.
    pub slot: u32,
    /// The last answer's token.
    pub token: u64,
}

/// How long an acquire may take and what may end it.
pub(crate) struct Turn<'a> {
    /// When the wait is over; `None`: one try, in which [`Turn::patience`] bounds the store itself.
    pub(crate) until: Option<Moment>,
    /// When a store that does not answer a single try is given up.
    pub(crate) patience: Moment,
    /// What may end the wait.
    pub(crate) cancel: Option<&'a Cancel>,
    /// Ends the wait when the client closes.
    pub(crate) closing: &'a Cancel,
    /// Where the place in line is shown; 0: not in line.
    pub(crate) position: &'a AtomicU32,
    /// Gives others that wait the first go.
    pub(crate) step_aside: bool,
}

/// What a store said to an acquire.
#[derive(Debug)]
pub(crate) enum Outcome {
    Granted {
        hold: Hold,
        /// When the request that was granted was sent.
        sent: Moment,
        /// The store says that this owner held it already.
        already: bool,
    },
    Refused(Refusal),
    /// The wait was ended by its cancel object; nothing is held and no place is kept.
    Cancelled,
}

/// What a store said to a renewal.
#[derive(Debug)]
pub(crate) enum Renewed {
    /// The lease goes on with this token, counted from when the request was sent.
    Renewed { token: u64 },
    /// Somebody else has it, or nobody.
    Lost(Vec<Holder>),
}

/// What a store said to a release.
#[derive(Debug)]
pub(crate) enum Released {
    /// It was given back.
    Released,
    /// It was not this hold's any more.
    NotOurs(Vec<Holder>),
}

/// What a store said to operations on rows.
#[derive(Debug)]
pub(crate) enum KvAnswer {
    /// One element for each operation, in their order.
    Results(Vec<Value>),
    /// A required operation lost, and nothing was written.
    Precondition(LostPrecondition),
}

/// A required operation that lost.
#[derive(Clone, Debug)]
pub(crate) struct LostPrecondition {
    /// Its place among the guards and, after them, the operations on rows.
    pub(crate) index: usize,
    /// `exists`, `absent`, `version`, `limit` or `type`.
    pub(crate) reason: String,
    /// The version of the row in the way; 0: there is none.
    pub(crate) version: u64,
    /// The row's value.
    pub(crate) value: Value,
}

/// What is to be done as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// The holds without which nothing is done: the lock's name and its permit.
    pub(crate) guards: Vec<(String, Hold)>,
    /// Acknowledgements and pushes, as the wire has them.
    pub(crate) operations: Vec<Value>,
    /// Operations on rows.
    pub(crate) kv: Vec<Value>,
    pub(crate) timers: Vec<Value>,
}

/// What a store said to a step.
#[derive(Debug)]
pub(crate) struct StepAnswer {
    /// The wire's elements; empty when nothing was done.
    pub(crate) results: Vec<Value>,
    /// Why nothing was done; `None`: it was committed.
    pub(crate) reason: Option<String>,
    /// Which operation on rows lost, when the reason is `kv_precondition`.
    pub(crate) precondition: Option<LostPrecondition>,
}

/// A store of leases.
pub(crate) trait Backend: Send + Sync {
    /// The clock that deadlines are counted with.
    fn clock(&self) -> &Clock;

    /// The lifetime that the store grants for `asked`: never shorter.
    fn lifetime(&self, asked: Ttl) -> Duration {
        asked.get()
    }

    /// Whether a single try is answered within a millisecond or so, without a network.
    fn is_local(&self) -> bool {
        false
    }

    /// Takes a permit, waiting for its turn up to `turn.until`.
    fn acquire(&self, ask: &Ask<'_>, turn: &Turn<'_>) -> Result<Outcome>;

    /// Renews a hold; answers by `until`.
    fn renew(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Renewed>;

    /// Gives a hold back; answers by `until`.
    fn release(&self, ask: &Ask<'_>, hold: Hold, until: Moment) -> Result<Released>;

    /// Who holds the lock and who waits.
    fn show(&self, name: &str, until: Moment) -> Result<LockInfo>;

    /// Up to `limit` locks whose names start with `prefix` and come after `after`.
    fn list(&self, prefix: &str, limit: u32, after: &str, until: Moment) -> Result<Vec<LockInfo>>;

    /// Ends somebody's hold by hand; false when it was not theirs any more.
    fn force_release(&self, name: &str, slot: u32, id: &ReleaseId, until: Moment) -> Result<bool>;

    /// Does operations on rows of users; `operations` are the wire's JSON objects.
    fn kv(&self, operations: &[Value], until: Moment) -> Result<KvAnswer> {
        let _ = (operations, until);
        Err(Error::new(Kind::Unsupported, "unsupported", "this store keeps no rows of users, and nothing was done"))
    }

    /// Commits a step as a whole, or nothing of it. Sent at most once.
    fn commit(&self, step: &Step, until: Moment) -> Result<StepAnswer> {
        let _ = (step, until);
        let detail = "this store cannot commit steps, so nothing was sent. Send lock.fence along with each write and \
                      let what you write to refuse a lower one";
        Err(Error::new(Kind::Unsupported, "unsupported", detail))
    }

    /// Asks the store whether it is there.
    fn ping(&self, until: Moment) -> Result<()>;
}
