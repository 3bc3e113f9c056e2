//! The operations on locks, each inside one transaction of rows.
//!
//! A permit is one row and nothing else: its version is the token, its expiry the lease's end. A
//! row whose time is over, or whose process died, counts as absent.

use std::ops::ControlFlow;

use super::key;
use super::limits::{CLAIM_WINDOW, MAX_PERMITS};
use super::line::{self, Ticket};
use super::row::{ClientId, NewRow, Row, Rows, Table};
use super::value::{self, Facts};
use crate::Result;
use crate::backend::{Ask, Crash, Hold};
use crate::clock::Moment;
use crate::info::{Holder, Refusal, RefusalReason, ReleaseId, Waiter, system_time};

/// Whether a permit's row is somebody's: neither over nor a dead process's.
pub fn is_live(rows: &mut dyn Rows, row: &Row) -> bool {
    row.expires.is_none_or(|end| rows.now() < end) && rows.is_alive(row.client)
}

/// The live permit in `slot`.
fn live_permit(rows: &mut dyn Rows, name: &str, slot: u32) -> Result<Option<Row>> {
    let row = rows.get(Table::Locks, &key::permit(name, slot))?;
    Ok(row.filter(|row| is_live(rows, row)))
}

/// The live permits below `permits`, by rising slot.
pub fn live_permits(rows: &mut dyn Rows, name: &str, permits: u32) -> Result<Vec<(u32, Row)>> {
    if permits == 1 {
        return Ok(live_permit(rows, name, 0)?.map(|row| (0, row)).into_iter().collect());
    }
    let prefix = key::prefix(name);
    let mut found = Vec::new();
    rows.scan(Table::Locks, &prefix, None, &mut |key, row| {
        if let Some(slot) = key::parse_slot(&key[prefix.len()..])
            && slot < permits
        {
            found.push((slot, row));
        }
        ControlFlow::Continue(())
    })?;
    found.retain(|(_, row)| is_live(rows, row));
    found.sort_unstable_by_key(|(slot, _)| *slot);
    Ok(found)
}

/// Who holds what.
pub fn holder(rows: &dyn Rows, slot: u32, row: &Row) -> Holder {
    let facts = Facts::of(&row.value);
    let wall = |end: Moment| {
        let left = i64::try_from(end.since(rows.now()).as_micros()).unwrap_or(i64::MAX);
        system_time(rows.wall_micros().saturating_add(left))
    };
    Holder {
        slot,
        token: row.version,
        owner: facts.owner,
        label: facts.label,
        since: Some(system_time(facts.since_micros.unwrap_or(row.updated_micros))),
        renewed_at: Some(system_time(row.updated_micros)),
        expires_at: row.expires.map(wall),
    }
}

/// Who waits at which position.
pub fn waiter(position: u32, ticket: &Ticket) -> Waiter {
    let facts = Facts::of(&ticket.row.value);
    Waiter {
        position,
        owner: facts.owner.unwrap_or_default(),
        label: facts.label,
        since: Some(system_time(facts.since_micros.unwrap_or(ticket.row.updated_micros))),
    }
}

/// The answer to an acquire that got nothing.
pub fn refusal(rows: &mut dyn Rows, ask: &Ask<'_>, reason: RefusalReason) -> Result<Refusal> {
    let held = live_permits(rows, ask.name, ask.permits)?;
    let holders = held.iter().map(|(slot, row)| holder(rows, *slot, row)).collect();
    Ok(Refusal::new(reason, holders, line::length(rows, ask.name)?))
}

/// The place in line of whoever tries.
pub struct Place {
    /// The number of the ticket; `None`: in no line.
    pub number: Option<u64>,
    /// The ticket's value as it was written.
    pub value: Vec<u8>,
}

/// What came of one try.
pub enum Tried {
    /// It is held now.
    Granted {
        /// The permit.
        hold: Hold,
        /// Whether this owner had it already, in which case nothing was written.
        already: bool,
    },
    /// Somebody else has it, or is in front.
    Busy(Busy),
}

/// Why a try came to nothing, and when the next one is due.
#[derive(Clone, Copy)]
pub struct Busy {
    /// How many are in front.
    pub ahead: u32,
    /// When a permit, or a place in front, may become free without anybody saying so.
    pub due: Option<Moment>,
}

/// One try to take a permit, as one atomic step: the one who asks gets one when fewer are in front
/// than permits are free.
///
/// With a place, whoever gets nothing is in line afterwards, at the back when its place was lost.
/// The words of those who now have to look go to `wakes`.
pub fn attempt(
    rows: &mut dyn Rows,
    ask: &Ask<'_>,
    mut place: Option<&mut Place>,
    wakes: &mut Vec<u32>,
) -> Result<Tried> {
    let held = live_permits(rows, ask.name, ask.permits)?;
    let mine = match &place {
        Some(Place { number: Some(number), value }) => line::own(rows, ask.name, *number, value)?,
        _ => None,
    };
    let free = ask.permits as usize - held.len();
    if let Some((slot, row)) = held.iter().find(|(_, row)| value::is_owner(&row.value, ask.owner)) {
        if let Some(ticket) = &mine {
            line::remove(rows, ask.name, ticket.number)?;
            line::call(rows, ask.name, free, wakes)?;
        }
        return Ok(Tried::Granted { hold: Hold { slot: *slot, token: row.version }, already: true });
    }
    let before = mine.as_ref().map_or(u64::MAX, |ticket| ticket.number);
    let mut due = None;
    if free > 0 {
        let front = line::front(rows, ask.name, before, free)?;
        if front.len() < free {
            let hold = grant(rows, ask, &held)?;
            if let Some(ticket) = &mine {
                line::remove(rows, ask.name, ticket.number)?;
            }
            line::call(rows, ask.name, free - 1, wakes)?;
            return Ok(Tried::Granted { hold, already: false });
        }
        line::mark(rows, ask.name, &front, wakes)?;
        let stalls = |ticket: &Ticket| ticket.stalls_at().unwrap_or(rows.now().after(CLAIM_WINDOW));
        due = front.iter().map(stalls).min();
    }
    let Some(place) = place.as_mut() else {
        return Ok(Tried::Busy(Busy { ahead: 0, due }));
    };
    let number = match mine {
        Some(ticket) => {
            line::uncall(rows, ask.name, &ticket, &place.value)?;
            ticket.number
        }
        None => line::enqueue(rows, ask.name, &place.value)?,
    };
    place.number = Some(number);
    let ahead = line::ahead(rows, ask.name, number)?;
    Ok(Tried::Busy(Busy { ahead, due: due.or_else(|| nth_end(&held, ahead)) }))
}

/// When the permit of whoever has `ahead` others in front comes free by its expiry alone.
fn nth_end(held: &[(u32, Row)], ahead: u32) -> Option<Moment> {
    let mut ends: Vec<Moment> = held.iter().filter_map(|(_, row)| row.expires).collect();
    ends.sort_unstable();
    ends.get(ahead as usize).copied()
}

/// Puts the permit into a free slot, at random so that a crowd spreads over them.
fn grant(rows: &mut dyn Rows, ask: &Ask<'_>, held: &[(u32, Row)]) -> Result<Hold> {
    let free = ask.permits - held.len() as u32;
    let mut slot = if free == 1 { 0 } else { (super::roll() % u64::from(free)) as u32 };
    // `held` rises, so that each slot in the way moves the choice on by one.
    for (taken, _) in held {
        slot += u32::from(*taken <= slot);
    }
    let value = value::permit(ask.owner, ask.label);
    let token = put(rows, ask, slot, &value)?;
    Ok(Hold { slot, token })
}

fn put(rows: &mut dyn Rows, ask: &Ask<'_>, slot: u32, value: &[u8]) -> Result<u64> {
    let client = match ask.crash {
        Crash::Takeover => rows.client(),
        Crash::Expire => ClientId::NONE,
    };
    let expires = Some(rows.now().after(ask.ttl));
    rows.put(Table::Locks, &key::permit(ask.name, slot), NewRow { value, expires, client })
}

/// What came of a renewal or a release.
pub enum Kept {
    /// Done; the token of the row.
    Done(u64),
    /// It is not this hold's any more; who has it.
    Lost(Vec<Holder>),
}

/// Renews a permit. It never makes a row: a late renewal would revive a lease that was lost.
///
/// A token that is stale only because the owner's own earlier renewal landed is carried through.
pub fn renew(rows: &mut dyn Rows, ask: &Ask<'_>, hold: Hold) -> Result<Kept> {
    let Some(row) = live_permit(rows, ask.name, hold.slot)? else { return Ok(Kept::Lost(Vec::new())) };
    if row.version != hold.token && !value::is_owner(&row.value, ask.owner) {
        return Ok(Kept::Lost(vec![holder(rows, hold.slot, &row)]));
    }
    let value = value::with_since(&row.value, row.updated_micros);
    put(rows, ask, hold.slot, &value).map(Kept::Done)
}

/// Gives a permit back if the token is its current one, and calls the next in line.
pub fn release(rows: &mut dyn Rows, ask: &Ask<'_>, hold: Hold, wakes: &mut Vec<u32>) -> Result<Kept> {
    let Some(row) = live_permit(rows, ask.name, hold.slot)? else { return Ok(Kept::Lost(Vec::new())) };
    if row.version != hold.token {
        return Ok(Kept::Lost(vec![holder(rows, hold.slot, &row)]));
    }
    rows.delete(Table::Locks, &key::permit(ask.name, hold.slot))?;
    if ask.permits == 1 {
        line::call(rows, ask.name, 1, wakes)?;
    } else {
        call_free(rows, ask, wakes)?;
    }
    Ok(Kept::Done(row.version))
}

/// Calls as many in line as permits are free.
fn call_free(rows: &mut dyn Rows, ask: &Ask<'_>, wakes: &mut Vec<u32>) -> Result<()> {
    let free = match ask.permits {
        1 => usize::from(live_permit(rows, ask.name, 0)?.is_none()),
        // Counting permits is only worth it when somebody waits.
        _ if line::front(rows, ask.name, u64::MAX, 1)?.is_empty() => 0,
        permits => permits as usize - live_permits(rows, ask.name, permits)?.len(),
    };
    line::call(rows, ask.name, free, wakes)
}

/// Gives a place in line up and calls the next.
pub fn leave(rows: &mut dyn Rows, ask: &Ask<'_>, place: &Place, wakes: &mut Vec<u32>) -> Result<()> {
    if let Some(number) = place.number
        && line::own(rows, ask.name, number, &place.value)?.is_some()
    {
        line::remove(rows, ask.name, number)?;
    }
    call_free(rows, ask, wakes)
}

/// Ends the hold in `slot` if it is still the one that `id` names.
pub fn force_release(rows: &mut dyn Rows, name: &str, slot: u32, id: &ReleaseId, wakes: &mut Vec<u32>) -> Result<bool> {
    if slot >= MAX_PERMITS {
        return Ok(false);
    }
    let Some(row) = live_permit(rows, name, slot)? else { return Ok(false) };
    let named = match id {
        ReleaseId::Token(token) => row.version == *token,
        ReleaseId::Owner(owner) => value::is_owner(&row.value, owner),
    };
    if named {
        rows.delete(Table::Locks, &key::permit(name, slot))?;
        // How many permits there are is the callers' and stored nowhere.
        line::call_one_more(rows, name, wakes)?;
    }
    Ok(named)
}
