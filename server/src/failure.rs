//! What keeps a server from starting.

use std::fmt;

/// Why a server did not start, or ended: for people.
#[derive(Debug)]
pub struct Failure {
    text: String,
    is_usage: bool,
}

impl Failure {
    /// The folder, the disk or an address cannot be used.
    pub(crate) fn store(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_usage: false }
    }

    /// What the server was told makes no sense.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_usage: true }
    }

    /// Whether the options are at fault, and not the machine.
    pub fn is_usage(&self) -> bool {
        self.is_usage
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}
