//! The schema of a database: making it, and whether it is one that we know.

use super::connection::{Connection, Reach};
use super::failure::Failure;
use super::place::PostgresUrl;
use super::rows::{STORE, limits};
use crate::client::Resolved;
use crate::clock::{Moment, boot_now};
use crate::url::{StoreUrl, bad_url, resolve};
use crate::{ClientOptions, Error, Kind, Result};

/// The statements that make the schema. They may be run again.
pub const SCHEMA: &str = include_str!("schema.sql");
/// The format that they make.
pub(super) const FORMAT: u64 = 1;

/// Accepts a connection to a server that writes and has our schema, and raises the tokens above its clock.
pub(super) fn accept(connection: &mut Connection, until: Moment) -> Result<(), Failure> {
    let found = found(connection, until)?;
    match found {
        Some(format) if format <= FORMAT => {}
        Some(format) => return Err(newer(format)),
        None => {
            let detail = "the database has no schema fencehold yet. Make it with: fencehold migrate, as a user who may \
                          create it; fencehold migrate --print shows what it does";
            return Err(Failure::Error(Error::new(Kind::Store, "store_not_migrated", detail)));
        }
    }
    // A standby that took over, or a backup that was restored, may have lost the last tokens. It need not be on the disk:
    // whatever is granted later waits for that, and with it for this.
    let sql = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {}; SET LOCAL synchronous_commit = off; SELECT \
         pg_advisory_xact_lock({STORE}); SELECT setval('fencehold.versions', \
         greatest(last_value, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)) FROM fencehold.versions; COMMIT",
        limits(until)
    );
    connection.ask(&sql, until).map(drop)
}

/// The format of the schema, if there is one; refuses a server that only reads.
fn found(connection: &mut Connection, until: Moment) -> Result<Option<u64>, Failure> {
    let answers = connection.ask("SELECT pg_is_in_recovery(), to_regclass('fencehold.meta')", until)?;
    let Some(answer) = answers.first() else { return Ok(None) };
    if answer.text(0, 0) == "t" {
        let message = "it is a standby".to_string();
        return Err(Failure::Refused { code: "25006".into(), message });
    }
    if answer.text(0, 1).is_empty() {
        return Ok(None);
    }
    let answers = connection.ask("SELECT format FROM fencehold.meta", until)?;
    Ok(answers.first().and_then(|answer| answer.number(0, 0)))
}

fn newer(theirs: u64) -> Failure {
    let detail = format!(
        "the store has format {theirs}, and fencehold {} in this program knows up to format {FORMAT}. Update this \
         program",
        crate::VERSION
    );
    Failure::Error(Error::new(Kind::Store, "store_newer_format", detail))
}

/// Makes or updates the schema of the database that `url` names, and answers its format before and after.
///
/// # Errors
/// Whatever the database says; `store_newer_format` when a newer fencehold has made it.
pub fn migrate(url: &str, options: ClientOptions) -> Result<(Option<u64>, u64)> {
    let given = resolve(url)?;
    let StoreUrl::Postgres(place) = StoreUrl::parse(&given)? else {
        return Err(bad_url("only postgres:// stores have a schema to make; the others need nothing"));
    };
    let resolved = options.resolve()?;
    run(&place, &resolved).map_err(|failure| failure.into_error().on_store(&place.shown()))
}

fn run(place: &PostgresUrl, options: &Resolved) -> Result<(Option<u64>, u64), Failure> {
    let until = boot_now().after(options.request_timeout.max(std::time::Duration::from_secs(30)));
    let reach = Reach::new(place, &options.access);
    let mut connection = reach.connect(until, |connection, until| match found(connection, until)? {
        Some(format) if format > FORMAT => Err(newer(format)),
        _ => Ok(()),
    })?;
    let before = found(&mut connection, until)?;
    if before != Some(FORMAT) {
        let begin = format!("BEGIN; {}; SELECT pg_advisory_xact_lock({STORE})", limits(until));
        connection.ask(&format!("{begin}; {SCHEMA}; COMMIT"), until)?;
    }
    connection.close();
    Ok((before, FORMAT))
}
