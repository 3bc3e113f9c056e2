//! Lifetimes of leases.

use std::str::FromStr;
use std::time::Duration;

use crate::duration::{self, Fault};
use crate::{Error, Result};

/// How long a lease outlives its last renewal: 100 ms to 24 h, in whole milliseconds.
///
/// ```
/// use fencehold::Ttl;
/// use std::time::Duration;
///
/// assert_eq!("30s".parse::<Ttl>()?.get(), Duration::from_secs(30));
/// assert_eq!("30".parse::<Ttl>().unwrap_err().reason(), "locks_bad_ttl");
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(Duration);

impl Ttl {
    /// The shortest lifetime.
    pub const MIN: Duration = Duration::from_millis(100);
    /// The longest lifetime.
    pub const MAX: Duration = Duration::from_secs(24 * 3600);

    /// A lifetime, rounded up to whole milliseconds.
    ///
    /// # Errors
    /// `invalid` with `locks_bad_ttl` below 100 ms or above 24 h.
    pub fn new(duration: Duration) -> Result<Self> {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        if !(Self::MIN.as_millis()..=Self::MAX.as_millis()).contains(&millis) {
            return Err(bad_ttl(&format!("ttl {} is out of range", duration::human(duration)), "Write '30s'"));
        }
        Ok(Self(Duration::from_millis(millis as u64)))
    }

    /// A lifetime from a number of seconds.
    ///
    /// # Errors
    /// `invalid` with `locks_bad_ttl` for what is not a number or is out of range.
    pub fn from_seconds(seconds: f64) -> Result<Self> {
        match duration::from_seconds(seconds) {
            Ok(duration) => Self::new(duration),
            Err(_) => Err(bad_ttl(&format!("ttl {seconds} is no number of seconds"), "Write '30s'")),
        }
    }

    /// The lifetime.
    pub fn get(self) -> Duration {
        self.0
    }
}

fn bad_ttl(what: &str, advice: &str) -> Error {
    Error::invalid("locks_bad_ttl", format!("{what} (locks_bad_ttl). {advice}; a lifetime is 100 ms to 24 h"))
}

impl FromStr for Ttl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match duration::parse(text) {
            Ok(duration) => Self::new(duration),
            Err(Fault::NoUnit) => Err(bad_ttl(&format!("ttl {text} has no unit"), &format!("Write '{text}s'"))),
            Err(Fault::Malformed) => Err(bad_ttl(&format!("ttl {text:?} is not understood"), "Write '30s' or '1h30m'")),
            Err(Fault::TooLong) => Err(bad_ttl(&format!("ttl {text:?} is too long"), "Write '30s'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_100_ms_to_24_h() {
        for good in ["100ms", "24h", "1d", "30s"] {
            assert!(good.parse::<Ttl>().is_ok(), "{good}");
        }
        for bad in ["99ms", "24h1ms", "0s", "forever", "30", ""] {
            assert_eq!(bad.parse::<Ttl>().unwrap_err().reason(), "locks_bad_ttl", "{bad}");
        }
        assert_eq!(
            "30".parse::<Ttl>().unwrap_err().to_string(),
            "ttl 30 has no unit (locks_bad_ttl). Write '30s'; a lifetime is 100 ms to 24 h"
        );
    }
}
