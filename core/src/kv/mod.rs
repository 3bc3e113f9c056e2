//! The operations on locks turned into rows, once for every store that keeps rows.

pub(crate) mod backend;
pub mod key;
pub mod limits;
pub mod line;
#[cfg(test)]
mod line_properties;
pub mod locks;
pub mod look;
pub mod operations;
pub(crate) mod row;
pub mod stamp;
pub(crate) mod step;
pub mod tidy;
pub mod value;
mod waiting;

/// A number that is random enough to spread a crowd; no secret.
pub fn roll() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static STEP: AtomicU64 = AtomicU64::new(0);
    let step = STEP.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    // The mixer of splitmix64.
    let mut mixed = step.wrapping_add(crate::clock::boot_now().as_nanos());
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
