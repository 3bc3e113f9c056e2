//! `fencehold migrate`: the schema of a database.

use super::print;
use crate::args::{MigrateArgs, StoreArgs};
use crate::exit::Failure;
use crate::store;
use fencehold::internal::{POSTGRES_SCHEMA, migrate_postgres};

pub(crate) fn run(store: &StoreArgs, args: &MigrateArgs) -> Result<i32, Failure> {
    if args.print {
        return Ok(print(&format!("BEGIN;\n\n{POSTGRES_SCHEMA}\nCOMMIT;")));
    }
    let url = args.url.as_deref().or(store.store.as_deref()).unwrap_or("");
    let (before, now) = migrate_postgres(url, store::options(store))?;
    Ok(print(&match before {
        None => format!("the schema fencehold was made, format {now}"),
        Some(before) if before == now => format!("the schema fencehold has format {now} already"),
        Some(before) => format!("the schema fencehold went from format {before} to {now}"),
    }))
}
