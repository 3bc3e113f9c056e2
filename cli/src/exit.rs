//! Exit codes and the messages that go with them.

use fencehold::{Error, Kind};

/// Why the command ends without success: the exit code, and what standard error says.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

/// Bad usage: the same code as a bad name or URL.
pub(crate) const USAGE: i32 = 64;
/// Somebody else holds the lock.
pub(crate) const HELD: i32 = 75;
/// The wait for the lock is over.
pub(crate) const TIMED_OUT: i32 = 76;
/// A bug, or something that the system refused.
pub(crate) const INTERNAL: i32 = 70;
/// The lease was lost, so the command was stopped.
pub(crate) const LOST: i32 = 79;

/// Not possible on this system or this store.
pub(crate) const UNSUPPORTED: i32 = 78;

impl Failure {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// An answer of the operating system that leaves nothing to do but give up.
    pub(crate) fn system(what: &str, error: &std::io::Error) -> Self {
        Self::new(INTERNAL, format!("{what}: {error}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code_of(error.kind()), error.to_string())
    }
}

/// The exit code of each kind of error, as `tests/scenarios/errors.json` lists them.
pub(crate) fn code_of(kind: Kind) -> i32 {
    match kind {
        Kind::Held => HELD,
        Kind::TimedOut => TIMED_OUT,
        Kind::Lost => LOST,
        Kind::Unreachable | Kind::RateLimited => 69,
        Kind::InDoubt => 74,
        Kind::Invalid => USAGE,
        Kind::Unauthorized | Kind::Forbidden => 77,
        Kind::Unsupported => UNSUPPORTED,
        Kind::Store => 73,
        _ => INTERNAL,
    }
}

/// Writes one message to standard error, in the form of all of ours.
pub(crate) fn say(message: &str) {
    use std::io::Write;
    // A closed standard error is no reason to fail: the exit code still tells.
    let _ = writeln!(std::io::stderr(), "fencehold: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_exit_code_of_the_shared_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenarios/errors.json");
        let table: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("errors.json")).expect("JSON");
        let rows = table["errors"].as_array().expect("rows");
        assert_eq!(rows.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            let row = rows.iter().find(|row| row["kind"] == kind.id()).expect("a row for each kind");
            assert_eq!(row["exit"], code_of(kind), "{}", kind.id());
        }
    }
}
