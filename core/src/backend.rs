//! What a store of leases has to be able to do. The client drives a lease with it.
//!
//! A backend only asks its store and answers what the store said. It keeps no lease alive, counts no
//! deadline and knows no handle: that is the [lease machine](crate::machine)'s and the client's.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::Result;
use crate::cancel::Cancel;
use crate::clock::{Clock, Moment};
use crate::info::{Holder, LockInfo, Refusal, ReleaseId};
use crate::ttl::Ttl;

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
pub(crate) struct Ask<'a> {
    pub(crate) name: &'a str,
    /// How many permits the lock has; 1 for a plain lock.
    pub(crate) permits: u32,
    pub(crate) owner: &'a str,
    pub(crate) label: Option<&'a str>,
    pub(crate) ttl: Duration,
    pub(crate) crash: Crash,
    #[expect(dead_code, reason = "the stores of one machine always wait fairly")]
    pub(crate) fair: bool,
}

/// The hold that a renewal or a release is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) slot: u32,
    pub(crate) token: u64,
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
    #[expect(dead_code, reason = "the stores of one machine have called the others by then")]
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

    /// Asks the store whether it is there.
    fn ping(&self, until: Moment) -> Result<()>;
}
