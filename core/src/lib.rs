//! Leases with fencing tokens: locks and semaphores that cross processes, machines and languages.
//!
//! A lock that crosses processes is a lease: one holder at a time, for a lifetime that the holder
//! declares and keeps renewing. Nobody can stop two processes from both believing that they hold
//! it. What a [token](Lock::fence) that only rises stops is two of them doing the work: whatever
//! the lock protects remembers the highest token it has seen and refuses a lower one.
//!
//! ```
//! use fencehold::{Client, LockOptions};
//! use std::time::Duration;
//!
//! let client = Client::open("memory:")?;
//! let lock = client.lock("reports/nightly", LockOptions::ttl(Duration::from_secs(30)))?;
//! if lock.acquire()?.is_granted() {
//!     while lock.keep_alive() {
//!         // One step of the work; `lock.fence()` goes along with every write.
//!         let _fence = lock.fence()?;
//!         break;
//!     }
//!     lock.release()?;
//! }
//! # Ok::<(), fencehold::Error>(())
//! ```

mod backend;
mod cancel;
mod client;
mod clock;
mod duration;
mod error;
mod events;
mod futex;
mod info;
#[doc(hidden)]
pub mod internal;
mod keeper;
mod kv;
mod log;
mod machine;
mod name;
mod owner;
mod process;
mod secret;
mod store;
mod token;
mod ttl;
mod url;
mod wait;
mod words;
mod workers;

pub use backend::Crash;
pub use cancel::Cancel;
pub use client::{
    Acquire, Client, ClientOptions, Commit, Expiry, Item, Kv, KvCall, Lock, LockOptions, Queue, Renewal, Run,
    StepParts, StepResult, Transaction, ValueRow, Written, parse_duration,
};
pub use error::{Error, Kind, Result, Retry};
pub use info::{Holder, LockInfo, Refusal, RefusalReason, ReleaseId, Waiter, rfc3339, unix_millis};
pub use log::{Level, set_log};
pub use machine::LostReason;
pub use name::LockName;
pub use owner::Owner;
#[cfg(target_os = "linux")]
pub use store::file::{Check, check_folder};
pub use token::Token;
pub use ttl::Ttl;
pub use wait::Wait;

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
