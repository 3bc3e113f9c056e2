//! From what was typed to values of the library. A bare number is seconds here.

use crate::args::StoreArgs;
use crate::exit::Failure;
use fencehold::{Client, ClientOptions, Ttl, Wait};
use std::time::Duration;

/// Who we are at the store, and how we know it.
pub(crate) fn options(args: &StoreArgs) -> ClientOptions {
    let mut options = ClientOptions::new();
    if let Some(path) = &args.auth_token_file {
        options = options.auth_token_file(path);
    }
    if let Some(path) = &args.ca_file {
        options = options.ca_file(path);
    }
    options
}

/// Opens the store; nothing is sent yet.
pub(crate) fn open(args: &StoreArgs) -> Result<Client, Failure> {
    // An empty URL means that none was given: the library looks at FENCEHOLD_URL and /etc/fencehold/url.
    Ok(Client::open_with(args.store.as_deref().unwrap_or(""), options(args))?)
}

pub(crate) fn ttl(text: &str) -> Result<Ttl, Failure> {
    Ok(match text.parse::<f64>() {
        Ok(seconds) => Ttl::from_seconds(seconds)?,
        Err(_) => text.parse::<Ttl>()?,
    })
}

pub(crate) fn wait(text: &str) -> Result<Wait, Failure> {
    Ok(match text.parse::<f64>() {
        Ok(seconds) => Wait::from_seconds(seconds)?,
        Err(_) => text.parse::<Wait>()?,
    })
}

pub(crate) fn duration(text: &str) -> Result<Duration, Failure> {
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds)
            .map_err(|e| Failure::usage(format!("{text:?} is no duration: {e}. Write '10s' or '500ms'"))),
        Err(_) => Ok(fencehold::parse_duration(text)?),
    }
}
