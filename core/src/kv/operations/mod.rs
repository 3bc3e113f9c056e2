//! Operations on rows of users: the key-value part of the wire, once for every store.
//!
//! A call is judged as a whole before anything is written, so that one lost precondition leaves
//! nothing behind. The locks are rows of the namespace `queen-locks`; those in line for them are
//! rows of `fencehold-queues`, which can only be read here.

mod apply;
mod parse;

#[cfg(test)]
mod tests;

pub use apply::{Applied, Precondition, apply, element_of};
pub use parse::{Operation, Scope, parse};

use super::row::Table;

/// The namespace of the locks.
pub const LOCKS: &str = "queen-locks";
/// The namespace of those who wait for them.
pub const QUEUES: &str = "fencehold-queues";
/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// The longest namespace and key together, with the byte between them.
pub const MAX_STORE_KEY_BYTES: usize = 510;
/// The longest value, as compact JSON.
pub const MAX_VALUE_BYTES: usize = 65_536;
/// The most bytes of values that one call reads.
pub const MAX_READ_BYTES: usize = 4 * 1024 * 1024;
/// The most rows of one page.
pub const MAX_PAGE: u64 = 1000;

/// Why a call was refused before anything was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status: 400, or 413 for what is too large.
    pub status: u16,
    /// The wire's reason id, such as `kv_bad_key`.
    pub reason: &'static str,
    /// What is wrong, for people.
    pub detail: String,
}

impl Refused {
    fn new(reason: &'static str, detail: impl Into<String>) -> Self {
        let status = if matches!(reason, "kv_key_too_large" | "kv_value_too_large") { 413 } else { 400 };
        Self { status, reason, detail: detail.into() }
    }
}

/// Where the row of a namespace and key lies.
pub fn place(namespace: &str, key: &str) -> (Table, Vec<u8>) {
    match namespace {
        LOCKS => (Table::Locks, key.as_bytes().to_vec()),
        QUEUES => (Table::Queues, key.as_bytes().to_vec()),
        _ => {
            let mut bytes = Vec::with_capacity(namespace.len() + 1 + key.len());
            bytes.extend_from_slice(namespace.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(key.as_bytes());
            (Table::Values, bytes)
        }
    }
}
