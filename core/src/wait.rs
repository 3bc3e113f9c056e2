//! How long an acquire waits for its turn.

use std::str::FromStr;
use std::time::Duration;

use crate::duration::{self, Fault};
use crate::{Error, Result};

/// How long an acquire waits for its turn.
///
/// ```
/// use fencehold::Wait;
/// use std::time::Duration;
///
/// assert_eq!("10s".parse::<Wait>()?, Wait::For(Duration::from_secs(10)));
/// assert_eq!("forever".parse::<Wait>()?, Wait::Forever);
/// assert_eq!("soon".parse::<Wait>().unwrap_err().reason(), "locks_bad_wait");
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The handle's own wait; one try when it has none.
    #[default]
    Default,
    /// One try.
    No,
    /// Up to this long.
    For(Duration),
    /// Without limit.
    Forever,
}

impl Wait {
    /// A wait from a number of seconds; 0 is one try.
    ///
    /// # Errors
    /// `invalid` with `locks_bad_wait` for what is not a number, negative or too long.
    pub fn from_seconds(seconds: f64) -> Result<Self> {
        match duration::from_seconds(seconds) {
            Ok(duration) => Ok(duration.into()),
            Err(_) => Err(bad_wait(&format!("wait {seconds} is no number of seconds"))),
        }
    }

    /// This wait, or `default` where it says so.
    pub(crate) fn or(self, default: Wait) -> Wait {
        match (self, default) {
            (Wait::Default, Wait::Default) => Wait::No,
            (Wait::Default, own) => own,
            (given, _) => given,
        }
    }
}

fn bad_wait(what: &str) -> Error {
    Error::invalid("locks_bad_wait", format!("{what} (locks_bad_wait). Write '10s', 0 for one try, or 'forever'"))
}

impl From<Duration> for Wait {
    fn from(duration: Duration) -> Self {
        if duration.is_zero() { Self::No } else { Self::For(duration) }
    }
}

impl FromStr for Wait {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "forever" {
            return Ok(Self::Forever);
        }
        match duration::parse(text) {
            Ok(duration) => Ok(duration.into()),
            Err(Fault::NoUnit) => Err(bad_wait(&format!("wait {text} has no unit"))),
            Err(_) => Err(bad_wait(&format!("wait {text:?} is not understood"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_rules_then_the_handle_then_one_try() {
        let own = Wait::For(Duration::from_secs(1));
        assert_eq!(Wait::Default.or(own), own);
        assert_eq!(Wait::No.or(own), Wait::No);
        assert_eq!(Wait::Default.or(Wait::Default), Wait::No);
    }
}
