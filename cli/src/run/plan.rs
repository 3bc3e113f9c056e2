//! What `run` was asked to do, checked before anything is started.

use crate::args::{RunArgs, StoreArgs};
use crate::exit::Failure;
use crate::store;
use fencehold::{Client, Crash, Lock, LockOptions, Ttl, Wait};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

pub(crate) struct Plan {
    store: StoreArgs,
    pub(crate) name: String,
    pub(crate) ttl: Ttl,
    pub(crate) wait: Wait,
    pub(crate) grace: Duration,
    pub(crate) held_code: Option<i32>,
    pub(crate) command: Vec<OsString>,
    permits: Option<u32>,
    fair: bool,
    owner: Option<String>,
    resume: bool,
    label: Option<String>,
}

impl Plan {
    pub(crate) fn new(store: StoreArgs, args: RunArgs) -> Result<Self, Failure> {
        let ttl = store::ttl(&args.ttl)?;
        let grace = match &args.grace {
            None => ttl.get() / 3,
            Some(text) => store::duration(text)?,
        };
        if grace > ttl.get() / 2 {
            return Err(Failure::usage(format!(
                "grace {grace:?} is more than half of the ttl {:?}: between two renewals the command would be stopped. \
                 Take a longer --ttl or a shorter --grace",
                ttl.get()
            )));
        }
        // FENCEHOLD_LABEL, which the library reads, comes before the command's name.
        let named = std::env::var_os("FENCEHOLD_LABEL").is_some_and(|label| !label.is_empty());
        let label = args.label.or_else(|| {
            let program = args.command.first().filter(|_| !named)?;
            Some(Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned())
        });
        Ok(Self {
            store,
            name: args.name,
            ttl,
            wait: args.wait.as_deref().map_or(Ok(Wait::No), store::wait)?,
            grace,
            held_code: args.held_code.map(i32::from),
            command: args.command,
            permits: args.permits,
            fair: args.fair,
            owner: args.owner,
            resume: args.resume,
            label,
        })
    }

    /// The handle, made in the process that will hold the lease. Nothing is sent.
    pub(crate) fn lock(&self) -> Result<(Client, Lock), Failure> {
        let client = store::open(&self.store)?;
        let mut options = LockOptions::from_ttl(self.ttl).set_fair(self.fair).resume(self.resume).crash(Crash::Expire);
        if let Some(label) = &self.label {
            options = options.label(label);
        }
        if let Some(owner) = &self.owner {
            options = options.owner(owner);
        }
        let lock = match self.permits {
            None => client.lock(&self.name, options)?,
            Some(permits) => client.semaphore(&self.name, permits, options)?,
        };
        Ok((client, lock))
    }

    /// How often both processes look at each other when nothing happens.
    pub(crate) fn heartbeat(&self) -> Duration {
        (self.ttl.get() / 10).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    /// How long before the end of the lease SIGKILL is sent: dying takes a moment, and the lease must not end first.
    pub(crate) fn killing_time(&self) -> Duration {
        (self.ttl.get() / 20).min(Duration::from_millis(300))
    }
}
