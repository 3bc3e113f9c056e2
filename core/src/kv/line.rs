//! The line of those who wait: tickets in front of the permits.
//!
//! A ticket lives with its waiter's process and is taken away by the waiter when the wait ends. The
//! leading tickets are *called* when permits are free for them. Whoever was called and does not
//! claim within [`CLAIM_WINDOW`] loses its place, so that a process which stands still holds
//! nobody up.

use std::ops::ControlFlow;

use super::key;
use super::limits::{CLAIM_WINDOW, MAX_TICKET, PAGE};
use super::row::{ClientId, NewRow, Row, Rows, Table};
use super::value;
use crate::clock::Moment;
use crate::{Error, Kind, Result};

/// A place in line as the store has it.
pub struct Ticket {
    /// Its place: lower numbers come first.
    pub number: u64,
    /// Its row.
    pub row: Row,
}

impl Ticket {
    /// When its place is lost because it was called and did not come.
    pub fn stalls_at(&self) -> Option<Moment> {
        value::called_at(&self.row.value).map(|nanos| Moment::from_nanos(nanos).after(CLAIM_WINDOW))
    }
}

/// Up to `most` living tickets in front of the number `before`, first come first. Tickets of dead
/// clients, and of those that were called too long ago, are removed on the way.
pub fn front(rows: &mut dyn Rows, name: &str, before: u64, most: usize) -> Result<Vec<Ticket>> {
    let prefix = key::prefix(name);
    let now = rows.now();
    let mut front = Vec::new();
    let mut after: Option<Vec<u8>> = None;
    loop {
        let found = read(rows, &prefix, after.as_deref(), before, most - front.len())?;
        let Some(last) = found.last() else { return Ok(front) };
        after = Some(key::ticket(name, last.number));
        for ticket in found {
            let stalled = ticket.stalls_at().is_some_and(|at| at <= now);
            if stalled || !rows.is_alive(ticket.row.client) {
                rows.delete(Table::Queues, &key::ticket(name, ticket.number))?;
            } else {
                front.push(ticket);
            }
        }
        if front.len() >= most {
            return Ok(front);
        }
    }
}

/// Up to `most` tickets after a key and in front of the number `before`, dead ones too.
pub fn read(rows: &mut dyn Rows, prefix: &[u8], after: Option<&[u8]>, before: u64, most: usize) -> Result<Vec<Ticket>> {
    let mut found = Vec::new();
    rows.scan(Table::Queues, prefix, after, &mut |key, row| {
        if let Some(number) = key::parse_ticket(&key[prefix.len()..]) {
            if number >= before {
                return ControlFlow::Break(());
            }
            found.push(Ticket { number, row });
        }
        if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(found)
}

/// How many living tickets are in front of the number `before`. Beyond a page of them it is what
/// the numbers tell, which may be too many.
pub fn ahead(rows: &mut dyn Rows, name: &str, before: u64) -> Result<u32> {
    let prefix = key::prefix(name);
    // Most waiters share a few processes, whose lives are asked for once.
    let mut clients: Vec<(ClientId, u32)> = Vec::new();
    let (mut seen, mut beyond) = (0, 0);
    rows.scan(Table::Queues, &prefix, None, &mut |key, row| {
        let Some(number) = key::parse_ticket(&key[prefix.len()..]) else { return ControlFlow::Continue(()) };
        if number >= before {
            return ControlFlow::Break(());
        }
        seen += 1;
        match clients.iter_mut().find(|(client, _)| *client == row.client) {
            Some((_, count)) => *count += 1,
            None => clients.push((row.client, 1)),
        }
        if seen < PAGE {
            return ControlFlow::Continue(());
        }
        beyond = if before > MAX_TICKET { 0 } else { before - number - 1 };
        ControlFlow::Break(())
    })?;
    let mut living = u32::try_from(beyond).unwrap_or(u32::MAX);
    for (client, count) in clients {
        if rows.is_alive(client) {
            living = living.saturating_add(count);
        }
    }
    Ok(living)
}

/// How many living tickets there are, counted up to a page.
pub fn length(rows: &mut dyn Rows, name: &str) -> Result<u32> {
    ahead(rows, name, MAX_TICKET + 1)
}

/// Calls the first `most` in line: the words of those who were not called before go to `wakes`.
pub fn call(rows: &mut dyn Rows, name: &str, most: usize, wakes: &mut Vec<u32>) -> Result<()> {
    if most == 0 {
        return Ok(());
    }
    let front = front(rows, name, MAX_TICKET + 1, most)?;
    mark(rows, name, &front, wakes)
}

/// Marks tickets as called, unless they are.
pub fn mark(rows: &mut dyn Rows, name: &str, front: &[Ticket], wakes: &mut Vec<u32>) -> Result<()> {
    let now = rows.now().as_nanos();
    for ticket in front {
        if value::called_at(&ticket.row.value).is_none() {
            write(rows, name, ticket.number, &value::called(&ticket.row.value, now), ticket.row.client)?;
            wakes.extend(value::word(&ticket.row.value));
        }
    }
    Ok(())
}

/// Calls one more than were called already: somebody's permit was taken away by hand.
pub fn call_one_more(rows: &mut dyn Rows, name: &str, wakes: &mut Vec<u32>) -> Result<()> {
    let front = front(rows, name, MAX_TICKET + 1, PAGE)?;
    match front.iter().position(|ticket| value::called_at(&ticket.row.value).is_none()) {
        Some(next) => mark(rows, name, &front[next..=next], wakes),
        None => Ok(()),
    }
}

/// Takes a ticket at the back of the line.
pub fn enqueue(rows: &mut dyn Rows, name: &str, ticket: &[u8]) -> Result<u64> {
    let number = last(rows, name)? + 1;
    if number > MAX_TICKET {
        let detail = "the line has no number left. Let it run empty, then its numbers begin anew";
        return Err(Error::new(Kind::Store, "queue_full", detail));
    }
    let client = rows.client();
    write(rows, name, number, ticket, client)?;
    Ok(number)
}

fn last(rows: &mut dyn Rows, name: &str) -> Result<u64> {
    let prefix = key::prefix(name);
    let Some((key, _)) = rows.last(Table::Queues, &prefix)? else { return Ok(0) };
    if let Some(number) = key::parse_ticket(&key[prefix.len()..]) {
        return Ok(number);
    }
    // Somebody else's key sorts after the tickets.
    let mut highest = 0;
    rows.scan(Table::Queues, &prefix, None, &mut |key, _| {
        highest = key::parse_ticket(&key[prefix.len()..]).unwrap_or(highest);
        ControlFlow::Continue(())
    })?;
    Ok(highest)
}

/// The waiter's own ticket, unless it lost its place. `uncalled` is the value that it wrote.
pub fn own(rows: &mut dyn Rows, name: &str, number: u64, uncalled: &[u8]) -> Result<Option<Ticket>> {
    let row = rows.get(Table::Queues, &key::ticket(name, number))?;
    Ok(row.filter(|row| value::is_ticket(&row.value, uncalled)).map(|row| Ticket { number, row }))
}

/// Takes a ticket out of the line.
pub fn remove(rows: &mut dyn Rows, name: &str, number: u64) -> Result<()> {
    rows.delete(Table::Queues, &key::ticket(name, number)).map(|_| ())
}

/// Forgets that a ticket was called: it came, and there was nothing for it.
pub fn uncall(rows: &mut dyn Rows, name: &str, ticket: &Ticket, uncalled: &[u8]) -> Result<()> {
    if value::called_at(&ticket.row.value).is_none() {
        return Ok(());
    }
    write(rows, name, ticket.number, uncalled, ticket.row.client)
}

fn write(rows: &mut dyn Rows, name: &str, number: u64, value: &[u8], client: ClientId) -> Result<()> {
    let row = NewRow { value, expires: None, client };
    rows.put(Table::Queues, &key::ticket(name, number), row).map(|_| ())
}
