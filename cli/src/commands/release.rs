//! `fencehold release`: takes a hold from an owner that is known to be dead.

use crate::args::{ReleaseArgs, StoreArgs};
use crate::exit::{Failure, say};
use crate::store;
use fencehold::ReleaseId;

/// The exit code when that owner or token does not hold it.
const NOTHING_CHANGED: i32 = 1;

pub(crate) fn run(store: &StoreArgs, args: &ReleaseArgs) -> Result<i32, Failure> {
    let id = match (&args.owner, args.token) {
        (Some(owner), None) => ReleaseId::Owner(owner.clone()),
        (None, Some(token)) => ReleaseId::Token(token),
        _ => return Err(Failure::usage("name the hold by --owner or by --token, as fencehold show prints them")),
    };
    let client = store::open(store)?;
    if client.force_release(&args.name, args.slot, &id)? {
        return Ok(0);
    }
    say(&format!(
        "lock \"{}\" on {}: not held by that owner or token (any more); nothing was changed. Look: fencehold show {}",
        args.name,
        client.store(),
        args.name
    ));
    Ok(NOTHING_CHANGED)
}
