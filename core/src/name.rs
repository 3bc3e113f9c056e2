//! Names of locks.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The name of a lock: 1 to 256 bytes of UTF-8 without control characters or `#`.
///
/// Names are compared byte for byte on every store. A store that cannot hold a name as it stands
/// encodes it without collisions; it never shortens it.
///
/// ```
/// use fencehold::LockName;
///
/// assert_eq!("reports/nightly".parse::<LockName>()?.as_str(), "reports/nightly");
/// assert_eq!("a\0b".parse::<LockName>().unwrap_err().reason(), "locks_bad_name");
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockName(Box<str>);

impl LockName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 256;

    /// Takes a name from bytes that may not be text.
    ///
    /// # Errors
    /// `invalid` with `locks_bad_name`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.parse(),
            Err(_) => Err(bad_name("a name is valid UTF-8, and this one is not".into())),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn bad_name(detail: String) -> Error {
    Error::invalid("locks_bad_name", format!("{detail} (locks_bad_name)"))
}

/// Why `text` cannot be the name of a lock, if it cannot.
pub(crate) fn name_fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("a name has at least one byte, and this one is empty".into());
    }
    if text.len() > LockName::MAX_BYTES {
        return Some(format!("a name has at most 256 bytes, and this one has {}", text.len()));
    }
    match text.chars().find(|c| c.is_control() || *c == '#') {
        Some('#') => Some("a name has no '#': it separates the name from the slot".into()),
        Some(c) => Some(format!("a name has no control character, and this one has U+{:04X}", c as u32)),
        None => None,
    }
}

impl FromStr for LockName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match name_fault(text) {
            None => Ok(Self(text.into())),
            Some(fault) => Err(bad_name(fault)),
        }
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_1_to_256_bytes_of_clean_utf8() {
        for good in ["a", "sync:crm", "daily-report", "reports/nightly", "naïve", &"x".repeat(256)] {
            assert_eq!(good.parse::<LockName>().unwrap().as_str(), good);
        }
        let long = "é".repeat(129);
        for bad in ["", &"x".repeat(257), &long, "#a", "a#b", "a#", "a\0", "\u{7f}", "a\u{85}b", "\n"] {
            assert_eq!(bad.parse::<LockName>().unwrap_err().reason(), "locks_bad_name", "{bad:?}");
        }
        assert!(LockName::from_bytes(b"\xed\xa0\x80").is_err());
    }
}
