//! Locks as the rows that they are, for lists and for those who may only read.

use std::collections::BTreeMap;
use std::time::Duration;

use super::HttpStore;
use super::failure::Failure;
use super::server::Route;
use super::servers::{Again, Call};
use super::wire::{self, ListedRow};
use crate::clock::Moment;
use crate::info::LockInfo;
use crate::kv::{key, look};

const LOCKS: &str = "queen-locks";
const TICKETS: &str = "fencehold-queues";
/// The most rows of one page.
const PAGE: usize = 1000;
/// The most locks of one list.
const MOST: u32 = 1000;

fn empty(name: &str) -> LockInfo {
    LockInfo { name: name.into(), held: false, holders: Vec::new(), waiters: Vec::new() }
}

impl HttpStore {
    fn page(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        until: Moment,
    ) -> Result<(Vec<ListedRow>, Option<String>), Failure> {
        let body = wire::list(namespace, prefix, after, PAGE);
        let call = Call { route: Route::KvList, body: Some(&body), again: Again::Always, until, hang: Duration::ZERO };
        let (page, _) = self.ask(&call, wire::listed)?;
        Ok(page)
    }

    /// Shows every row of `namespace` with this prefix, until `visit` says that it is enough.
    fn scan(
        &self,
        namespace: &str,
        prefix: &str,
        after: &str,
        until: Moment,
        mut visit: impl FnMut(ListedRow) -> bool,
    ) -> Result<(), Failure> {
        let mut from = (!after.is_empty()).then(|| after.to_string());
        loop {
            let (rows, next) = self.page(namespace, prefix, from.as_deref(), until)?;
            for row in rows {
                if !visit(row) {
                    return Ok(());
                }
            }
            // A page has to lead on, or this would never end.
            match next {
                Some(next) if from.as_ref().is_none_or(|from| next > *from) => from = Some(next),
                _ => return Ok(()),
            }
        }
    }

    /// Adds who waits for the locks in `locks`, as far as the server tells.
    fn add_waiters(&self, locks: &mut BTreeMap<String, LockInfo>, prefix: &str, until: Moment) -> Result<(), Failure> {
        let waits = self.scan(TICKETS, prefix, "", until, |row| {
            let (name, number) = row.key.rsplit_once('#').unwrap_or_default();
            if key::parse_ticket(number.as_bytes()).is_some()
                && let Some(lock) = locks.get_mut(name)
            {
                lock.waiters.push(row.waiter(lock.waiters.len() as u32 + 1));
            }
            true
        });
        match waits {
            // A broker without such a namespace has no line.
            Err(failure) if failure.transient || failure.is_cancelled => Err(failure),
            _ => Ok(()),
        }
    }

    pub(super) fn show_rows(&self, name: &str, until: Moment) -> Result<LockInfo, Failure> {
        let prefix = format!("{name}#");
        let mut locks = BTreeMap::from([(name.to_string(), empty(name))]);
        let mut holders = Vec::new();
        self.scan(LOCKS, &prefix, "", until, |row| {
            if let Some((_, slot)) = key::parse_permit(row.key.as_bytes()) {
                holders.push(row.holder(slot));
            }
            true
        })?;
        self.add_waiters(&mut locks, &prefix, until)?;
        let mut info = locks.remove(name).unwrap_or_else(|| empty(name));
        // Keys sort `10` before `2`.
        holders.sort_by_key(|holder| holder.slot);
        info.held = !holders.is_empty();
        info.holders = holders;
        Ok(info)
    }

    pub(super) fn list_rows(
        &self,
        prefix: &str,
        limit: u32,
        after: &str,
        until: Moment,
    ) -> Result<Vec<LockInfo>, Failure> {
        let limit = limit.clamp(1, MOST) as usize;
        let mut locks: BTreeMap<String, LockInfo> = BTreeMap::new();
        // A name after `after` has keys after it as well.
        self.scan(LOCKS, prefix, after, until, |row| {
            if let Some((name, slot)) = key::parse_permit(row.key.as_bytes())
                && name > after
                && name.starts_with(prefix)
            {
                let lock = locks.entry(name.to_string()).or_insert_with(|| empty(name));
                lock.held = true;
                lock.holders.push(row.holder(slot));
            }
            // One more than is wanted is kept, so that the last one's permits are all seen.
            while locks.len() > limit + 1 {
                locks.pop_last();
            }
            let highest = (locks.len() > limit).then(|| locks.last_key_value()).flatten();
            highest.is_none_or(|(highest, _)| look::may_follow(row.key.as_bytes(), highest))
        })?;
        while locks.len() > limit {
            locks.pop_last();
        }
        for lock in locks.values_mut() {
            lock.holders.sort_by_key(|holder| holder.slot);
        }
        if !locks.is_empty() {
            self.add_waiters(&mut locks, prefix, until)?;
        }
        Ok(locks.into_values().collect())
    }
}
