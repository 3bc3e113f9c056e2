//! The values of permits and tickets: small JSON objects, written by hand since every acquire
//! writes one.

use serde_json::Value;

use super::key::push_decimal;
use super::stamp;

/// The value of a fresh permit.
pub fn permit(owner: &str, label: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(owner.len() + label.map_or(0, str::len) + 32);
    open(&mut out, owner, label);
    out.push(b'}');
    out
}

/// The value of a ticket that was not called yet. A call appends one member.
pub fn ticket(owner: &str, label: Option<&str>, since_micros: i64, word: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(owner.len() + label.map_or(0, str::len) + 96);
    open(&mut out, owner, label);
    out.extend_from_slice(b",\"since\":\"");
    out.extend_from_slice(stamp::format(since_micros).as_bytes());
    out.extend_from_slice(b"\",\"word\":");
    push_decimal(&mut out, u64::from(word), 1);
    out.push(b'}');
    out
}

fn open(out: &mut Vec<u8>, owner: &str, label: Option<&str>) {
    out.extend_from_slice(b"{\"owner\":");
    // Owners are never empty: this one did not say who it is.
    if owner.is_empty() {
        out.extend_from_slice(b"null");
    } else {
        push_string(out, owner);
    }
    if let Some(label) = label {
        out.extend_from_slice(b",\"label\":");
        push_string(out, label);
    }
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => {
                out.extend_from_slice(b"\\u00");
                out.push(b'0' + (byte >> 4));
                out.push(b"0123456789abcdef"[usize::from(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// The value with the time of the acquire kept in it, as it is from the first renewal on. Whatever
/// else it holds stays.
pub fn with_since(value: &[u8], acquired_micros: i64) -> Vec<u8> {
    // A quote inside of a string is escaped, so these bytes are the member and nothing else.
    let ours = value.starts_with(b"{\"owner\":\"") && value.ends_with(b"\"}");
    if ours {
        return match find(value, b",\"since\":\"") {
            Some(_) => value.to_vec(),
            None => append(value, b",\"since\":", |out| push_string(out, &stamp::format(acquired_micros))),
        };
    }
    match serde_json::from_slice::<Value>(value) {
        Ok(Value::Object(mut members)) if !members.get("since").is_some_and(Value::is_string) => {
            members.insert("since".into(), stamp::format(acquired_micros).into());
            Value::Object(members).to_string().into_bytes()
        }
        _ => value.to_vec(),
    }
}

fn append(value: &[u8], member: &[u8], write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + member.len() + 40);
    out.extend_from_slice(&value[..value.len() - 1]);
    out.extend_from_slice(member);
    write(&mut out);
    out.push(b'}');
    out
}

const CALLED: &[u8] = b",\"called_at\":";

/// A ticket's value with the moment at which its waiter was called.
pub fn called(value: &[u8], nanos: u64) -> Vec<u8> {
    append(value, CALLED, |out| push_decimal(out, nanos, 1))
}

/// When a ticket's waiter was called, if it was.
pub fn called_at(value: &[u8]) -> Option<u64> {
    number_after(value, CALLED)
}

/// A ticket's value as it was before its waiter was called.
pub fn uncalled(value: &[u8]) -> Vec<u8> {
    match find(value, CALLED) {
        Some(at) => [&value[..at], b"}"].concat(),
        None => value.to_vec(),
    }
}

/// The word that a ticket's waiter sleeps on.
pub fn word(value: &[u8]) -> Option<u32> {
    number_after(value, b",\"word\":").and_then(|number| u32::try_from(number).ok())
}

/// Whether `stored` is the ticket with the value `uncalled`, called or not.
pub fn is_ticket(stored: &[u8], uncalled: &[u8]) -> bool {
    match uncalled.split_last() {
        Some((_, body)) => stored.starts_with(body) && matches!(stored.get(body.len()), Some(b'}' | b',')),
        None => false,
    }
}

fn find(value: &[u8], member: &[u8]) -> Option<usize> {
    value.windows(member.len()).rposition(|window| window == member)
}

fn number_after(value: &[u8], member: &[u8]) -> Option<u64> {
    let rest = &value[find(value, member)? + member.len()..];
    let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// Whether the value names `owner`. An empty owner is nobody, so that no two of them are the same.
pub fn is_owner(value: &[u8], owner: &str) -> bool {
    if owner.is_empty() {
        return false;
    }
    let mut start = Vec::with_capacity(owner.len() + 16);
    open(&mut start, owner, None);
    if value.starts_with(&start) && matches!(value.get(start.len()), Some(b',' | b'}')) {
        return true;
    }
    Facts::of(value).owner.is_some_and(|own| own == owner)
}

/// What a value tells people.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Who it is held for.
    pub owner: Option<String>,
    /// What people call the owner.
    pub label: Option<String>,
    /// When the hold or the wait began, in microseconds since 1970.
    pub since_micros: Option<i64>,
}

impl Facts {
    /// Reads a value, also one written by hand.
    pub fn of(value: &[u8]) -> Self {
        let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(value) else {
            return Self::default();
        };
        let text = |member: &str| members.get(member).and_then(Value::as_str);
        Self {
            owner: text("owner").map(str::to_string),
            label: text("label").map(str::to_string),
            since_micros: text("since").and_then(stamp::parse),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_renewal_keeps_everything_and_adds_since_once() {
        let fresh = permit("a\"b", Some("l\\"));
        let renewed = with_since(&fresh, 10_500_000);
        let facts = Facts::of(&renewed);
        assert_eq!(facts.owner.as_deref(), Some("a\"b"));
        assert_eq!(facts.label.as_deref(), Some("l\\"));
        assert_eq!(facts.since_micros, Some(10_500_000));
        assert_eq!(with_since(&renewed, 99), renewed);
    }

    #[test]
    fn a_value_written_by_hand_is_kept_as_well() {
        let facts = Facts::of(&with_since(br#"{ "x": 1, "owner": "a" }"#, 7));
        assert_eq!((facts.owner.as_deref(), facts.since_micros), (Some("a"), Some(7)));
        assert_eq!(with_since(b"[1]", 7), b"[1]");
        assert!(is_owner(br#"{"owner":"\u0061"}"#, "a"));
        assert!(!is_owner(br#"{"owner":null}"#, "null"));
        assert!(!is_owner(b"17", "a"));
    }

    #[test]
    fn whoever_does_not_say_who_it_is_is_nobody() {
        let fresh = permit("", Some("l"));
        assert_eq!(fresh, br#"{"owner":null,"label":"l"}"#);
        assert!(!is_owner(&fresh, ""));
        assert!(!is_owner(br#"{"owner":""}"#, ""));
        let facts = Facts::of(&with_since(&fresh, 7));
        assert_eq!((facts.owner, facts.label.as_deref(), facts.since_micros), (None, Some("l"), Some(7)));
    }

    #[test]
    fn a_ticket_is_known_again_after_it_was_called() {
        let one = ticket("o,\"word\":9", Some("l"), 5, 77);
        assert_eq!((word(&one), called_at(&one)), (Some(77), None));
        let then = called(&one, 123);
        assert_eq!((word(&then), called_at(&then)), (Some(77), Some(123)));
        assert!(uncalled(&then) == one && uncalled(&one) == one);
        assert!(is_ticket(&one, &one) && is_ticket(&then, &one));
        assert!(!is_ticket(&ticket("o", None, 5, 771), &ticket("o", None, 5, 77)));
        assert!(!is_ticket(b"{}", &one));
        assert_eq!(Facts::of(&then).since_micros, Some(5));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_json(owner in "\\PC{1,20}", label in proptest::option::of(".{0,20}")) {
            let value = permit(&owner, label.as_deref());
            let facts = Facts::of(&value);
            prop_assert_eq!(facts.owner.as_deref(), Some(&*owner));
            prop_assert_eq!(facts.label.as_deref(), label.as_deref());
            prop_assert!(is_owner(&value, &owner));
            let longer = format!("{}x", owner);
            prop_assert!(!is_owner(&value, &longer));
        }
    }
}
