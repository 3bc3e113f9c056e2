//! The operations on locks turned into rows, once for every store that keeps rows.

pub(crate) mod row;
