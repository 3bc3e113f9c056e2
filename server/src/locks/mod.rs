//! The lock route: what a call asks for, and what comes of it.

mod answer;
mod parse;
mod run;

pub(crate) use self::answer::verdict_element;
pub(crate) use self::parse::{Call, Operation, parse};
pub(crate) use self::run::{count_waiting, get, run};

/// The most operations of one call.
pub(crate) const MAX_OPERATIONS: usize = 64;
/// The most rows that one call may be about.
pub(crate) const MAX_KEYS: u64 = 4096;
/// What a read of a lock counts for.
pub(crate) const KEYS_OF_GET: u64 = 1000;
/// The longest owner and label, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 256;
/// The longest wait that may be asked for, in milliseconds.
pub(crate) const MAX_WAIT_MS: u64 = 600_000;
