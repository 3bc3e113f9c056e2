//! What the server of this project builds on. Not part of the public interface: it changes with any
//! version.

pub use crate::backend::{Ask, Crash, Hold};
pub use crate::clock::{Clock, ManualClock, Moment, boot_now, wall_micros};
pub use crate::kv::row::{ClientId, Intent, NewRow, Row, RowStore, Rows, Table, WaitWord};
pub use crate::kv::{key, limits, line, locks, look, operations, roll, stamp, tidy, value};
pub use crate::store::postgres::{SCHEMA as POSTGRES_SCHEMA, migrate as migrate_postgres};
