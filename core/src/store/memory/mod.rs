//! `memory:`: rows in this process, for tests and for programs of one process.

mod store;
mod table;
pub(in crate::store) mod words;

pub(crate) use store::MemoryStore;
