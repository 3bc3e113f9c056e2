//! How a server is started.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::auth::Auth;
use crate::failure::Failure;
use crate::store::Durability;
use crate::tls::Tls;

/// How a server is started. [`Options::new`] listens on this machine only.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder that it keeps its rows in.
    pub data: PathBuf,
    /// When a change is answered.
    pub durability: Durability,
    /// Names under which the server is reached, beside addresses and `localhost`.
    pub allow_hosts: Vec<String>,
    /// Listens on an address of the network although nobody has to show a token.
    pub insecure_no_auth: bool,
    /// Who may do what.
    pub auth: Auth,
    /// Speaks TLS with these files.
    pub tls: Option<Tls>,
    /// The most connections at once; more are told to come back.
    pub max_connections: Option<usize>,
    /// The most rows of locks and users; beyond it none can be added.
    pub max_rows: Option<u64>,
    /// Calls a second that only read, and twice as many at once.
    pub read_rate: Option<u32>,
    /// Calls a second that write, and twice as many at once.
    pub write_rate: Option<u32>,
    /// How long a connection may wait for a permit before it has to ask again.
    pub longest_poll: Duration,
}

impl Options {
    /// The usual options for a folder: this machine only, port 6632, durable.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 6632)),
            data: data.into(),
            durability: Durability::Sync,
            allow_hosts: Vec::new(),
            insecure_no_auth: false,
            auth: Auth::default(),
            tls: None,
            max_connections: None,
            max_rows: None,
            read_rate: None,
            write_rate: None,
            longest_poll: Duration::from_secs(25),
        }
    }

    /// Whether a request has to show a token.
    pub(crate) fn needs_token(&self) -> bool {
        self.auth.is_on()
    }

    /// Refuses what makes no sense together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let is_open = !self.needs_token() && !self.insecure_no_auth;
        if is_open && !is_loopback(self.listen.ip()) {
            return Err(Failure::usage(format!(
                "{} is reached by others, who could take and release every lock. Name a file of tokens with \
                 --auth-tokens, or say --insecure-no-auth",
                self.listen
            )));
        }
        Ok(())
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
