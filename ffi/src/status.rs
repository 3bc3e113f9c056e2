//! What functions answer.

/// Negative: failed. Zero: done. Positive: an ordinary answer.
pub type fh_status = i32;
