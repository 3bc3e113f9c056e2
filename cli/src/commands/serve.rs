//! `fencehold serve`: the server.

use crate::args::{Durability, ServeArgs, StoreArgs};
use crate::exit::{Failure, USAGE, say};
use fencehold_server::{Auth, Options, Server, Tls};

/// The exit code when the folder or the address cannot be used.
const STORE: i32 = 73;

pub(crate) fn run(store: &StoreArgs, args: ServeArgs) -> Result<i32, Failure> {
    if store.store.is_some() {
        return Err(Failure::usage("serve keeps its rows in the folder of --data; it takes no --store"));
    }
    let mut options = Options::new(args.data);
    options.listen = args.listen;
    options.durability = match args.durability {
        Durability::Sync => fencehold_server::Durability::Sync,
        Durability::None => fencehold_server::Durability::None,
    };
    options.allow_hosts = args.allow_host;
    options.insecure_no_auth = args.insecure_no_auth;
    options.auth = Auth {
        tokens: args.auth_tokens,
        jwt_key: args.jwt_key,
        jwt_issuer: args.jwt_issuer,
        jwt_audience: args.jwt_audience,
    };
    options.tls = args.tls_cert.zip(args.tls_key).map(|(cert, key)| Tls { cert, key });
    options.max_connections = args.max_connections;
    options.max_rows = args.max_rows;
    options.read_rate = args.read_rate;
    options.write_rate = args.write_rate;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let folder = options.data.display().to_string();
    let server = Server::start(options)
        .map_err(|failure| Failure::new(if failure.is_usage() { USAGE } else { STORE }, failure.to_string()))?;
    say(&format!("serving {scheme}://{} from {folder}", server.address()));
    server.run_until_signal();
    Ok(0)
}
