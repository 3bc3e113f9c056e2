//! The C interface: every function of `fencehold.h`, and nothing else.
//!
//! One file per noun. Each function checks its pointers, calls the core and turns the result into a
//! status and, where asked for, an [`error::fh_error`]. No panic passes the boundary: see [`boundary`].
//! The header is made from this crate by its test `header`.

#![allow(non_camel_case_types)]
// What a caller owes is said in the words of C, function by function, and goes into the header as it stands.
#![allow(clippy::missing_safety_doc)]

pub mod boundary;
pub mod cancel;
pub mod client;
pub mod error;
pub mod info;
pub mod kv;
pub mod lock;
pub mod log;
pub mod status;
pub mod text;
pub mod txn;

pub use status::fh_status;
