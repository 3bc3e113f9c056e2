//! The lease state machine: events in, actions out; no clock, no I/O, no thread.

pub(crate) mod lease;
#[cfg(test)]
mod lease_properties;

pub use lease::LostReason;
