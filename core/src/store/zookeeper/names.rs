//! Where a lock lies in the tree, and which of its children contend for it.

use crate::process;

/// How the nodes of contenders are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As kazoo names them: `<32 hex digits>__lock__<10 digits>`.
    #[default]
    Kazoo,
    /// As Curator and go-zookeeper name them: `_c_<32 hex digits>-lock-<10 digits>`.
    Curator,
}

/// What stands between a contender's id and its number, whoever made it.
const MARKS: [&str; 3] = ["__lock__", "__rlock__", "-lock-"];

impl Layout {
    /// The start of a contender's name: the ensemble appends the number. It holds an id, by which its
    /// maker finds it again when the answer to its creation was lost.
    pub(super) fn prefix(self) -> String {
        let id = format!("{:016x}{:016x}", process::random_u64(), process::random_u64());
        match self {
            Self::Kazoo => format!("{id}__lock__"),
            Self::Curator => format!("_c_{id}-lock-"),
        }
    }
}

/// The number of a contender; `None` for any other node.
pub(super) fn number(child: &str) -> Option<i64> {
    let digits = child.len().checked_sub(10).and_then(|at| child.get(at..))?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let before = &child[..child.len() - 10];
    // The ensemble's counter has 32 bits and goes on below zero.
    let (before, sign) = match before.strip_suffix('-') {
        Some(shorter) if MARKS.iter().any(|mark| shorter.ends_with(mark)) => (shorter, -1),
        _ => (before, 1),
    };
    let is_contender = MARKS.iter().any(|mark| before.ends_with(mark));
    is_contender.then(|| digits.parse::<i64>().ok()).flatten().map(|number| number * sign)
}

/// The contenders among a lock's children, first come first.
pub(super) fn contenders(children: Vec<String>) -> Vec<String> {
    let mut contenders: Vec<(i64, String)> =
        children.into_iter().filter_map(|child| Some((number(&child)?, child))).collect();
    contenders.sort();
    contenders.into_iter().map(|(_, child)| child).collect()
}

/// The path of a lock under `root`, the name byte for byte where the tree takes it.
///
/// What it does not take is written `%` and two hexadecimal digits: `%` itself, control characters
/// and the ranges that ZooKeeper refuses, and slashes where a part would be empty, a dot or two, or
/// could be taken for a contender.
pub(super) fn path(root: &str, name: &str) -> String {
    let is_plain_part = |part: &str| !part.is_empty() && part != "." && part != ".." && number(part).is_none();
    let keeps_slashes = name.split('/').all(is_plain_part) && !name.starts_with("zookeeper/") && name != "zookeeper";
    let mut path = format!("{root}/");
    for character in name.chars() {
        let is_refused = matches!(
            character,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'.. | '%'
        );
        if is_refused || (character == '/' && !keeps_slashes) {
            escape(&mut path, character);
        } else {
            path.push(character);
        }
    }
    // `.` and `..` alone, and what would be a contender of the root.
    if !keeps_slashes && !name.contains('/') {
        let at = root.len() + 1;
        let first = path[at..].chars().next().unwrap_or_default();
        let mut escaped = path[..at].to_string();
        escape(&mut escaped, first);
        escaped.push_str(&path[at + first.len_utf8()..]);
        return if path[at..].starts_with('%') { path } else { escaped };
    }
    path
}

fn escape(path: &mut String, character: char) {
    let mut buffer = [0; 4];
    for byte in character.encode_utf8(&mut buffer).bytes() {
        path.push_str(&format!("%{byte:02X}"));
    }
}

/// The name of the lock at a path below the root; `None` when no lock lies there.
pub(super) fn name(relative: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(relative.len());
    let mut rest = relative.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    (path("", &name) == format!("/{relative}")).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn contenders_of_every_kind_are_known_and_sorted_by_number() {
        assert_eq!(number("0af1__lock__0000000012"), Some(12));
        assert_eq!(number("x__rlock__0000000003"), Some(3));
        assert_eq!(number("_c_0af1-lock-0000000007"), Some(7));
        assert_eq!(number("x__lock__-2147483648"), Some(-2_147_483_648));
        for other in ["b", "lease-0000000001", "x__lock__1", "x__lock__00000000a1", "0000000001", "ä__lock__"] {
            assert_eq!(number(other), None, "{other}");
        }
        let children = ["_c_a-lock-0000000010", "b__lock__0000000009", "child", "c__lock__0000000100"];
        let sorted = contenders(children.iter().map(|child| child.to_string()).collect());
        assert_eq!(sorted, ["b__lock__0000000009", "_c_a-lock-0000000010", "c__lock__0000000100"]);
        for layout in [Layout::Kazoo, Layout::Curator] {
            assert_eq!(number(&format!("{}0000000005", layout.prefix())), Some(5));
        }
    }

    #[test]
    fn plain_names_stay_and_others_are_escaped() {
        assert_eq!(path("", "nightly"), "/nightly");
        assert_eq!(path("/root", "a/b"), "/root/a/b");
        assert_eq!(path("/r", "a/"), "/r/a%2F");
        assert_eq!(path("/r", "a//b"), "/r/a%2F%2Fb");
        assert_eq!(path("/r", "."), "/r/%2E");
        assert_eq!(path("/r", ".."), "/r/%2E.");
        assert_eq!(path("/r", "50%"), "/r/50%25");
        assert_eq!(path("/r", "zookeeper"), "/r/%7Aookeeper");
        assert_eq!(path("/r", "a/x__lock__0000000001"), "/r/a%2Fx__lock__0000000001");
        assert_eq!(name("%zz"), None);
        assert_eq!(name("%61"), None, "only what is needed is escaped");
    }

    proptest! {
        #[test]
        fn every_name_has_one_path_and_comes_back(text in "[^#\\x00-\\x1f]{1,40}") {
            let path = path("", &text);
            prop_assert!(path.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != ".."));
            prop_assert_eq!(name(&path[1..]), Some(text));
        }
    }
}
