//! Leases with fencing tokens over HTTP: what `fencehold serve` runs.
//!
//! The server speaks the lock, key-value, transaction and queue routes of a Queen broker, so that
//! published Queen clients work against it unchanged, and adds waiting without polling.

mod auth;
mod failure;
mod http;
mod lines;
mod locks;
mod metrics;
mod net;
mod options;
mod queues;
mod serve;
mod store;
mod tls;
mod transaction;
mod values;

pub use auth::Auth;
pub use failure::Failure;
pub use options::Options;
pub use serve::Server;
pub use store::Durability;
pub use tls::Tls;
