//! `fencehold ls`: the locks that are held or waited for.

use super::{describe_holder, print};
use crate::args::{LsArgs, StoreArgs};
use crate::exit::Failure;
use crate::store;
use fencehold::LockInfo;
use std::fmt::Write;
use std::time::SystemTime;

/// How many locks are asked for at a time.
const PAGE: u32 = 1000;

pub(crate) fn run(store: &StoreArgs, args: &LsArgs) -> Result<i32, Failure> {
    let client = store::open(store)?;
    let mut locks = Vec::new();
    let mut after = String::new();
    loop {
        let page = client.list(&args.prefix, PAGE, &after)?;
        let full = page.len() == PAGE as usize;
        locks.extend(page);
        match locks.last() {
            Some(last) if full => after.clone_from(&last.name),
            _ => break,
        }
    }
    let text = if args.json { LockInfo::list_to_json(client.store(), &locks) } else { table(client.store(), &locks) };
    Ok(print(&text))
}

fn table(store: &str, locks: &[LockInfo]) -> String {
    if locks.is_empty() {
        return format!("no locks on {store}\n");
    }
    let now = SystemTime::now();
    let width = locks.iter().map(|lock| lock.name.chars().count()).max().unwrap_or(0).min(40);
    let mut text =
        format!("{} on {store}\n", if locks.len() == 1 { "1 lock".into() } else { format!("{} locks", locks.len()) });
    for lock in locks {
        let mut name = lock.name.as_str();
        for holder in &lock.holders {
            let _ = writeln!(text, "{name:width$}  {}", describe_holder(holder, now));
            name = "";
        }
        if lock.holders.is_empty() {
            let _ = writeln!(text, "{name:width$}  free");
            name = "";
        }
        if !lock.waiters.is_empty() {
            let _ = writeln!(text, "{name:width$}  {} waiting", lock.waiters.len());
        }
    }
    text
}
