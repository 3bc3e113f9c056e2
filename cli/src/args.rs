//! What may be typed.

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  run      the command's own; 128+n when signal n ended it; 127 not found; 126 not runnable
  show     0 held, 1 free          release  0 given back, 1 nothing changed          ls  0
  64       usage, a bad name or a bad URL      74  in doubt: it may be held
  69       the store is unreachable            75  held by somebody else
  70       internal                            76  the wait is over
  73       the store cannot (full, corrupt)    77  not permitted
  79       the lease was lost                  78  unsupported here
The command is not started for 64 to 78.";

/// Leases with fencing tokens, from the shell: run a command under a lock, look at locks, give them back.
#[derive(Parser, Debug)]
#[command(name = "fencehold", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which store, and who we are there.
#[derive(Args, Debug)]
pub(crate) struct StoreArgs {
    /// The store, such as file:/var/lib/fencehold [default: FENCEHOLD_URL, then /etc/fencehold/url]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// A file whose one line is the token that the store asks for
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) auth_token_file: Option<PathBuf>,
    /// A file with the certificates that the store's is checked against
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

impl StoreArgs {
    /// The same arguments again, for another process of ours.
    pub(crate) fn as_typed(&self) -> Vec<OsString> {
        let store = self.store.as_ref().map(|url| ("--store", url.into()));
        let token = self.auth_token_file.as_ref().map(|path| ("--auth-token-file", path.into()));
        let ca = self.ca_file.as_ref().map(|path| ("--ca-file", path.into()));
        [store, token, ca].into_iter().flatten().flat_map(|(name, value)| [name.into(), value]).collect()
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Runs a command while holding a lock; stops it before the lease can end
    Run(RunArgs),
    /// Lists the locks of the store that are held or waited for
    Ls(LsArgs),
    /// Shows one lock: who holds it since when, who waits. Exit code 0: held, 1: free
    Show(ShowArgs),
    /// Gives back a hold of somebody else that is known to be dead
    Release(ReleaseArgs),
    /// Checks the store and how this process reaches it
    Doctor(DoctorArgs),
    /// Measures the store from here
    Bench(BenchArgs),
    /// Makes or updates the schema of a postgres:// store
    Migrate(MigrateArgs),
    /// Serves locks over HTTP until it is told to end (SIGTERM)
    Serve(ServeArgs),
    /// Writes a completion script for a shell to standard output
    Completions(CompletionsArgs),
    /// Writes the manual page to standard output
    Man,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The lock's name: 1 to 256 bytes of UTF-8, no control character, no '#'
    pub(crate) name: String,
    /// How long the lease outlives its last renewal; it is renewed while the command runs
    #[arg(long, value_name = "D", default_value = "30s")]
    pub(crate) ttl: String,
    /// How long to queue for the lock: a duration, or forever [default: one try]
    #[arg(long, value_name = "D|forever")]
    pub(crate) wait: Option<String>,
    /// Makes it a semaphore of N permits
    #[arg(long, value_name = "N")]
    pub(crate) permits: Option<u32>,
    /// First come, first served
    #[arg(long)]
    pub(crate) fair: bool,
    /// SIGTERM that long before the lease can end, SIGKILL at its end; at most half of the ttl [default: a third]
    #[arg(long, value_name = "D")]
    pub(crate) grace: Option<String>,
    /// The exit code instead of 75 and 76 when somebody else holds the lock (cron: 0)
    #[arg(long, value_name = "N")]
    pub(crate) held_code: Option<u8>,
    /// The owner instead of a minted one; must be unique per holder
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<String>,
    /// Takes up the hold of --owner that another process handed on
    #[arg(long, requires = "owner")]
    pub(crate) resume: bool,
    /// What people see beside the owner [default: the command's name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct LsArgs {
    /// Only names that begin with this
    #[arg(default_value = "")]
    pub(crate) prefix: String,
    /// One JSON object: store, at, locks
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The lock's name
    pub(crate) name: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Nothing but the exit code
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("id").required(true).args(["owner", "token"]))]
pub(crate) struct ReleaseArgs {
    /// The lock's name
    pub(crate) name: String,
    /// The owner to take it from, as show prints it
    #[arg(long)]
    pub(crate) owner: Option<String>,
    /// The token to take it from, as show prints it
    #[arg(long)]
    pub(crate) token: Option<u64>,
    /// The permit of a semaphore
    #[arg(long, default_value_t = 0)]
    pub(crate) slot: u32,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// One JSON object: store, ok, checks
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// How long each measurement takes
    #[arg(long, value_name = "D", default_value = "1s")]
    pub(crate) time: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MigrateArgs {
    /// The database [default: --store, then FENCEHOLD_URL]
    pub(crate) url: Option<String>,
    /// Writes the statements to standard output instead, and asks no database
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The folder of the server's rows, which no other server may use at the same time
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6632")]
    pub(crate) listen: SocketAddr,
    /// When a change is answered: when it is on the disk, or at once (a power failure then loses the last ones)
    #[arg(long, value_enum, default_value = "sync")]
    pub(crate) durability: Durability,
    /// A name under which the server is reached, beside localhost and addresses; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Listens on the network although nobody has to show a token
    #[arg(long)]
    pub(crate) insecure_no_auth: bool,
    /// A file with a role (read-only, read-write, write-only, admin) and a token on each line
    #[arg(long, value_name = "FILE")]
    pub(crate) auth_tokens: Option<PathBuf>,
    /// A file with the key that signed tokens (JWT) are checked with: a public key in PEM, or a secret
    #[arg(long, value_name = "FILE")]
    pub(crate) jwt_key: Option<PathBuf>,
    /// The iss that signed tokens must have
    #[arg(long, value_name = "TEXT", requires = "jwt_key")]
    pub(crate) jwt_issuer: Option<String>,
    /// The aud that signed tokens must have
    #[arg(long, value_name = "TEXT", requires = "jwt_key")]
    pub(crate) jwt_audience: Option<String>,
    /// Speaks TLS with this certificate, in PEM, with those above it (SIGHUP reads it and the tokens again)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The most connections at once; more are told to come back
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<usize>,
    /// The most rows of locks and users
    #[arg(long, value_name = "N")]
    pub(crate) max_rows: Option<u64>,
    /// Calls a second that only read; twice as many at once
    #[arg(long, value_name = "N")]
    pub(crate) read_rate: Option<u32>,
    /// Calls a second that write; twice as many at once
    #[arg(long, value_name = "N")]
    pub(crate) write_rate: Option<u32>,
}

/// When a change is answered.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Durability {
    /// When it is on the disk.
    Sync,
    /// When it is in memory.
    None,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// The shells that completions can be written for.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}
