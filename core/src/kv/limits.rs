//! The numbers that locks over rows are bounded by.

use std::time::Duration;

use crate::{Error, Result};

/// The most permits a semaphore has.
pub const MAX_PERMITS: u32 = 1024;
/// The most rows that one transaction reads, so that nobody waits long for the store.
pub const PAGE: usize = 1000;
/// The most locks that one list shows.
pub const MAX_LIST: u32 = 1000;
/// How long whoever was called may take to claim a permit before it loses its place.
pub const CLAIM_WINDOW: Duration = Duration::from_secs(2);
/// The highest number of a ticket: ten digits.
pub const MAX_TICKET: u64 = 9_999_999_999;

/// Refuses a number of permits that no semaphore can have.
///
/// # Errors
/// `invalid` with `locks_bad_limit`.
pub fn check_permits(permits: u32) -> Result<()> {
    if (1..=MAX_PERMITS).contains(&permits) {
        return Ok(());
    }
    let detail = format!("a semaphore has 1 to {MAX_PERMITS} permits, not {permits} (locks_bad_limit)");
    Err(Error::invalid("locks_bad_limit", detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_has_1_to_1024_permits() {
        assert!(check_permits(1).is_ok() && check_permits(1024).is_ok());
        for bad in [0, 1025, u32::MAX] {
            assert_eq!(check_permits(bad).unwrap_err().reason(), "locks_bad_limit");
        }
    }
}
