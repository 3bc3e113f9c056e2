//! `fencehold show`: one lock.

use super::{describe_holder, print};
use crate::args::{ShowArgs, StoreArgs};
use crate::exit::Failure;
use crate::store;
use fencehold::LockInfo;
use std::fmt::Write;
use std::time::SystemTime;

/// The exit code for a lock that nobody holds.
const FREE: i32 = 1;

pub(crate) fn run(store: &StoreArgs, args: &ShowArgs) -> Result<i32, Failure> {
    let client = store::open(store)?;
    let lock = client.show(&args.name)?;
    let written = match (args.quiet, args.json) {
        (true, _) => 0,
        (false, true) => print(&lock.to_json()),
        (false, false) => print(&describe(client.store(), &lock)),
    };
    Ok(if written != 0 {
        written
    } else if lock.held {
        0
    } else {
        FREE
    })
}

fn describe(store: &str, lock: &LockInfo) -> String {
    let now = SystemTime::now();
    let mut text = format!("{} on {store}: {}\n", lock.name, if lock.held { "held" } else { "free" });
    for holder in &lock.holders {
        let _ = writeln!(text, "  {}", describe_holder(holder, now));
    }
    for waiter in &lock.waiters {
        let label = waiter.label.as_ref().map_or_else(String::new, |label| format!(" (label {label:?})"));
        let since = waiter.since.map_or_else(String::new, |since| format!("  since {}", fencehold::rfc3339(since)));
        let _ = writeln!(text, "  waiting {}: {}{label}{since}", waiter.position, waiter.owner);
    }
    text
}
