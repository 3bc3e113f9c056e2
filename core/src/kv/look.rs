//! Showing locks, a page of rows in each transaction so that nobody waits for the reader.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::key;
use super::limits::{MAX_LIST, PAGE};
use super::line;
use super::locks::{holder, is_live, waiter};
use super::row::{Intent, Row, RowStore, Rows, Table};
use crate::Result;
use crate::clock::Moment;
use crate::info::LockInfo;

/// Reads in one transaction what `body` answers.
fn read<T>(store: &dyn RowStore, until: Moment, mut body: impl FnMut(&mut dyn Rows) -> Result<T>) -> Result<T> {
    let mut answer = None;
    store.transact(Intent::Read, until, &mut |rows| {
        answer = Some(body(rows)?);
        Ok(())
    })?;
    answer.ok_or_else(|| crate::Error::internal("the store answered without running the transaction"))
}

/// Who holds the lock and who waits for it.
pub fn show(store: &dyn RowStore, name: &str, until: Moment) -> Result<LockInfo> {
    let prefix = key::prefix(name);
    let mut info = LockInfo { name: name.into(), held: false, holders: Vec::new(), waiters: Vec::new() };
    // Permits are below 1024 and fit two pages; foreign keys beside them may need more.
    let mut after: Option<Vec<u8>> = None;
    loop {
        let from = after.take();
        let (holders, last) = read(store, until, |rows| {
            let page = page(rows, Table::Locks, &prefix, from.as_deref())?;
            let last = if page.len() < PAGE { None } else { page.last().map(|(key, _)| key.clone()) };
            let mut holders = Vec::new();
            for (key, row) in page {
                if let Some(slot) = key::parse_slot(&key[prefix.len()..])
                    && is_live(rows, &row)
                {
                    holders.push(holder(rows, slot, &row));
                }
            }
            Ok((holders, last))
        })?;
        info.holders.extend(holders);
        match last {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    // Keys sort `10` before `2`; a renewal between two pages must not show a permit twice.
    info.holders.sort_by_key(|holder| (holder.slot, std::cmp::Reverse(holder.token)));
    info.holders.dedup_by_key(|holder| holder.slot);
    info.held = !info.holders.is_empty();
    let mut number = 0;
    loop {
        let from = (number > 0).then(|| key::ticket(name, number));
        let seen = info.waiters.len() as u32;
        let (waiters, last) = read(store, until, |rows| {
            let page = line::read(rows, &prefix, from.as_deref(), u64::MAX, PAGE)?;
            let last = if page.len() < PAGE { None } else { page.last().map(|ticket| ticket.number) };
            let mut waiters = Vec::new();
            for ticket in &page {
                if rows.is_alive(ticket.row.client) {
                    waiters.push(waiter(seen + waiters.len() as u32 + 1, ticket));
                }
            }
            Ok((waiters, last))
        })?;
        info.waiters.extend(waiters);
        match last {
            Some(last) => number = last,
            None => return Ok(info),
        }
    }
}

fn page(rows: &mut dyn Rows, table: Table, prefix: &[u8], after: Option<&[u8]>) -> Result<Vec<(Vec<u8>, Row)>> {
    let mut page = Vec::new();
    rows.scan(table, prefix, after, &mut |key, row| {
        page.push((key.to_vec(), row));
        if page.len() < PAGE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(page)
}

/// Up to `limit` held locks by rising name, whose names start with `prefix` and come after `after`.
pub fn list(store: &dyn RowStore, prefix: &str, limit: u32, after: &str, until: Moment) -> Result<Vec<LockInfo>> {
    let limit = limit.clamp(1, MAX_LIST) as usize;
    let mut locks = Vec::new();
    let mut from = after.to_string();
    loop {
        let names = names(store, prefix, limit - locks.len(), &from, until)?;
        let more = names.len() == limit - locks.len();
        let Some(last) = names.last() else { return Ok(locks) };
        from = last.clone();
        for name in names {
            let info = show(store, &name, until)?;
            // It may have been given back since its name was read.
            if info.held {
                locks.push(info);
            }
        }
        if locks.len() == limit || !more {
            return Ok(locks);
        }
    }
}

/// The first `limit` names of held locks.
fn names(store: &dyn RowStore, prefix: &str, limit: usize, after: &str, until: Moment) -> Result<Vec<String>> {
    let mut names: BTreeMap<String, ()> = BTreeMap::new();
    // A name after `after` has keys after it as well.
    let mut from = Some(after.as_bytes().to_vec());
    while let Some(start) = from.take() {
        let start = (!start.is_empty()).then_some(start);
        let (found, last) = read(store, until, |rows| {
            let page = page(rows, Table::Locks, prefix.as_bytes(), start.as_deref())?;
            let last = if page.len() < PAGE { None } else { page.last().map(|(key, _)| key.clone()) };
            let mut found: Vec<String> = Vec::new();
            for (key, row) in page {
                if let Some((name, _)) = key::parse_permit(&key)
                    && name > after
                    && name.starts_with(prefix)
                    && found.last().is_none_or(|last| last != name)
                    && is_live(rows, &row)
                {
                    found.push(name.into());
                }
            }
            Ok((found, last))
        })?;
        names.extend(found.into_iter().map(|name| (name, ())));
        while names.len() > limit {
            names.pop_last();
        }
        let highest = (names.len() == limit).then(|| names.last_key_value()).flatten();
        from = last.filter(|last| highest.is_none_or(|(highest, ())| may_follow(last, highest)));
    }
    Ok(names.into_keys().collect())
}

/// Whether a key after `key` may belong to a name below `highest`.
///
/// Keys sort almost as names do: only a name that another continues with a byte below `#` has keys
/// after the other's. So what is still to come and lower begins the key that we are at.
pub(crate) fn may_follow(key: &[u8], highest: &str) -> bool {
    let name = key.split(|byte| *byte == b'#').next().unwrap_or_default();
    let low = (1..name.len()).filter(|at| name[*at] < b'#');
    name < highest.as_bytes() || low.into_iter().any(|at| name[..at] < *highest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_another_continues_comes_late() {
        assert!(may_follow(b"a!#0", "a!"), "a may be still to come");
        assert!(!may_follow(b"a!#0", "a"));
        assert!(!may_follow(b"b#0", "a"));
        assert!(may_follow(b"b#0", "c"));
    }
}
