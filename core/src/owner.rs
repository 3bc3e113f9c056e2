//! Owners: the strings that tell one holder from another.

use std::fmt;

use crate::process::{self, PerProcess};
use crate::{Error, Result};

/// Who a handle is to the store: unique per handle, minted as `host:pid:random` unless chosen.
///
/// ```
/// use fencehold::Owner;
///
/// assert_eq!(Owner::chosen("deploy-42")?.as_str(), "deploy-42");
/// assert_eq!(Owner::chosen("").unwrap_err().reason(), "locks_bad_owner");
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner(Box<str>);

impl Owner {
    /// The longest owner, in bytes.
    pub const MAX_BYTES: usize = 256;

    /// An owner that no other handle has.
    pub fn mint() -> Self {
        static HOST: PerProcess<(String, u32)> = PerProcess::new();
        let (host, pid) = HOST.get_or(|| (process::host(), process::pid()));
        let random = process::random_u64() & 0xffff_ffff_ffff;
        Self(format!("{host}:{pid}:{random:012x}").into())
    }

    /// An owner of the caller's choice. Two handles with one owner are one holder to the store.
    ///
    /// # Errors
    /// `invalid` with `locks_bad_owner` when it is empty, longer than 256 bytes or has control
    /// characters.
    pub fn chosen(text: &str) -> Result<Self> {
        match text_fault(text) {
            None => Ok(Self(text.into())),
            Some(fault) => {
                let detail = format!("an owner {fault} (locks_bad_owner). Leave it out to have one minted");
                Err(Error::invalid("locks_bad_owner", detail))
            }
        }
    }

    /// The owner as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with an owner or a label, if anything.
fn text_fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("is not empty".into());
    }
    if text.len() > Owner::MAX_BYTES {
        return Some(format!("has at most 256 bytes, not {}", text.len()));
    }
    let control = text.chars().find(|c| c.is_control())?;
    Some(format!("has no control character such as U+{:04X}", control as u32))
}

/// What a holder calls itself for people: the program's name unless chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label(Option<Box<str>>);

impl Label {
    pub(crate) fn chosen(text: &str) -> Result<Self> {
        match text_fault(text) {
            None => Ok(Self(Some(text.into()))),
            Some(fault) => Err(Error::invalid("locks_bad_label", format!("a label {fault} (locks_bad_label)"))),
        }
    }

    /// The name of this program.
    pub(crate) fn program() -> Self {
        static NAME: PerProcess<Option<String>> = PerProcess::new();
        let name = NAME.get_or(process::program);
        name.as_deref().and_then(|name| Self::chosen(name).ok()).unwrap_or_default()
    }

    pub(crate) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn minted_owners_are_host_pid_random_and_never_repeat() {
        let owners: HashSet<String> = (0..10_000).map(|_| Owner::mint().to_string()).collect();
        assert_eq!(owners.len(), 10_000);
        let one = owners.iter().next().unwrap();
        let parts: Vec<&str> = one.split(':').collect();
        assert_eq!(parts.len(), 3, "{one}");
        assert_eq!(parts[1], std::process::id().to_string());
        assert!(parts[2].len() == 12 && parts[2].bytes().all(|b| b.is_ascii_hexdigit()));
    }

    #[test]
    fn owners_and_labels_have_256_bytes_and_no_control_characters() {
        assert!(Owner::chosen(&"x".repeat(256)).is_ok());
        assert!(Owner::chosen("a#b").is_ok());
        for bad in ["", &"x".repeat(257), "a\nb"] {
            assert_eq!(Owner::chosen(bad).unwrap_err().reason(), "locks_bad_owner");
            assert_eq!(Label::chosen(bad).unwrap_err().reason(), "locks_bad_label");
        }
    }
}
