//! `fencehold serve`: the server.

use crate::args::{Durability, ServeArgs, StoreArgs};
use crate::exit::{Failure, USAGE, say};
use fencehold_server::{Options, Server};

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
    let folder = options.data.display().to_string();
    let server = Server::start(options)
        .map_err(|failure| Failure::new(if failure.is_usage() { USAGE } else { STORE }, failure.to_string()))?;
    say(&format!("serving http://{} from {folder}", server.address()));
    server.run_until_signal();
    Ok(0)
}
