//! The keys of locks: as etcd's own lock has them, `<name>/<lease in hexadecimal>`.

use serde_json::Value;

use super::gateway::{bytes_of, number_of};
use crate::kv::value::Facts;

/// A key that contends for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contender {
    pub(super) key: Vec<u8>,
    /// Its place: who comes first has the lower one. And its token.
    pub(super) created: i64,
    pub(super) value: Vec<u8>,
}

/// What a semaphore's holder writes into its key, for those who wait.
const HOLDS: &[u8] = b",\"holds\":true}";

impl Contender {
    /// Reads a key-value pair of an answer; `None` when it contends for nothing.
    pub(super) fn of(pair: &Value) -> Option<Self> {
        let key = bytes_of(pair, "key");
        let lease = number_of(pair, "lease");
        let suffix = key.rsplit(|byte| *byte == b'/').next()?;
        // A key below another name, or one that somebody wrote by hand, has another end.
        let is_one = lease != 0 && suffix == format!("{lease:x}").as_bytes();
        is_one.then(|| Self { created: number_of(pair, "create_revision"), value: bytes_of(pair, "value"), key })
    }

    pub(super) fn token(&self) -> u64 {
        u64::try_from(self.created).unwrap_or(0)
    }

    /// Whether it has said that it holds a permit of a semaphore.
    pub(super) fn holds(&self) -> bool {
        self.value.ends_with(HOLDS)
    }

    pub(super) fn facts(&self) -> Facts {
        Facts::of(&self.value)
    }

    /// The name of the lock below `prefix`.
    pub(super) fn name(&self, prefix: &str) -> Option<String> {
        let key = self.key.strip_prefix(prefix.as_bytes())?;
        let end = key.iter().rposition(|byte| *byte == b'/')?;
        String::from_utf8(key[..end].to_vec()).ok()
    }
}

/// What the keys of a lock begin with.
pub(super) fn folder(prefix: &str, name: &str) -> Vec<u8> {
    format!("{prefix}{name}/").into_bytes()
}

/// Whether a key contends for the lock of this folder and not for one below it.
pub(super) fn is_in(key: &[u8], folder: &[u8]) -> bool {
    key.strip_prefix(folder).is_some_and(|rest| !rest.contains(&b'/'))
}

/// The key of whoever contends with this lease.
pub(super) fn key(folder: &[u8], lease: i64) -> Vec<u8> {
    let mut key = folder.to_vec();
    key.extend_from_slice(format!("{lease:x}").as_bytes());
    key
}

/// The first key after all that begin with `prefix`.
pub(super) fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xff) {
        end.pop();
    }
    match end.last_mut() {
        Some(last) => *last += 1,
        // All keys.
        None => end.push(0),
    }
    end
}

/// The value of a semaphore's key once its owner holds a permit.
pub(super) fn holding(value: &[u8]) -> Vec<u8> {
    let mut holding = value[..value.len().saturating_sub(1)].to_vec();
    holding.extend_from_slice(HOLDS);
    holding
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::gateway::encoded;
    use super::*;

    fn pair(key: &str, lease: i64) -> Value {
        json!({"key": encoded(key.as_bytes()), "lease": lease.to_string(), "create_revision": "7"})
    }

    #[test]
    fn only_keys_that_end_with_their_lease_contend() {
        let contender = Contender::of(&pair("jobs/a/b/6ff", 0x6ff)).unwrap();
        assert_eq!((contender.token(), contender.name("jobs/").as_deref()), (7, Some("a/b")));
        assert_eq!(Contender::of(&pair("a/6ff", 0x700)), None);
        assert_eq!(Contender::of(&pair("a/b", 0)), None);
        assert_eq!(key(&folder("x/", "a"), 0x6ff), b"x/a/6ff");
        assert!(is_in(b"x/a/6ff", b"x/a/") && !is_in(b"x/a/b/6ff", b"x/a/") && !is_in(b"x/ab/6ff", b"x/a/"));
        assert_eq!((end_of(b"a/"), end_of(b"a\xff"), end_of(b"")), (b"a0".to_vec(), b"b".to_vec(), vec![0]));
    }

    #[test]
    fn a_holder_of_a_permit_is_known_by_its_value() {
        let value = crate::kv::value::permit("o", Some("l"));
        let mut contender = Contender { key: b"a/1".to_vec(), created: 1, value: value.clone() };
        assert!(!contender.holds());
        contender.value = holding(&value);
        assert!(contender.holds());
        assert_eq!((contender.facts().owner.as_deref(), contender.facts().label.as_deref()), (Some("o"), Some("l")));
    }
}
