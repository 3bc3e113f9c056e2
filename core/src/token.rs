//! Tokens that fence.

use std::fmt;

/// The number that fences: 1 to 2^63-1, rising with every grant and every renewal of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    /// The highest token.
    pub const MAX: u64 = i64::MAX as u64;

    /// A token; `None` for 0 and above 2^63-1.
    pub const fn new(value: u64) -> Option<Self> {
        if value == 0 || value > Self::MAX { None } else { Some(Self(value)) }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as databases store it.
    pub const fn as_i64(self) -> i64 {
        self.0 as i64
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
