//! The store of a server: rows in a folder, written by one thread, read by all.

mod boot;
mod counters;
pub(crate) mod encoding;
pub(crate) mod engine;
mod environment;
mod folder;
mod presence;
pub(crate) mod rows;
mod sweep;
mod wall;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use fencehold::{Error, Kind, Result};

use self::counters::{Counters, Counts};
use self::engine::{Engine, Overloaded, Queue};
pub(crate) use self::engine::{Step, Work};
use self::environment::Environment;
use self::folder::Folder;
pub(crate) use self::presence::{Presence, client_of, word_of};
use self::rows::Reader;
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::queues::Bells;

/// When a change is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk.
    #[default]
    Sync,
    /// When it is in memory: a crash of the machine loses what was granted last.
    None,
}

/// The open store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Store {
    environment: Arc<Environment>,
    queue: Queue,
    presence: Presence,
    counters: Arc<Counters>,
    bells: Bells,
}

/// The writer's thread, which ends when the last [`Store`] is gone.
pub(crate) type WriterThread = JoinHandle<()>;

/// What whoever gets no answer is told.
pub(crate) fn unanswered() -> Error {
    let detail = "the server is ending; nothing is known of this call";
    Error::for_binding(Kind::Unreachable, "kv_retry", detail, None, None)
}

fn overloaded() -> Error {
    let detail = "too many commands wait for the server's writer; come back";
    Error::for_binding(Kind::RateLimited, "overloaded", detail, None, None)
}

impl Store {
    /// Opens the folder and starts the writer.
    pub(crate) fn open(
        path: &Path,
        durability: Durability,
        metrics: Arc<Metrics>,
    ) -> std::result::Result<(Self, WriterThread), Failure> {
        let folder = Folder::open(path)?;
        let (environment, opened) = Environment::open(folder, durability)?;
        if opened.began_anew {
            eprintln!("fencehold serve: the machine was restarted; every lease got its full lifetime again");
        }
        let environment = Arc::new(environment);
        let presence = Presence::default();
        let counters = Arc::new(Counters::default());
        counters.set(&opened.rows, 0);
        let bells = Bells::default();
        let parts = engine::Parts {
            environment: environment.clone(),
            presence: presence.clone(),
            counters: counters.clone(),
            metrics,
            bells: bells.clone(),
        };
        let (engine, queue) = Engine::new(parts, &opened);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("fencehold-writer".into())
            .spawn(move || engine.run(&ready))
            .map_err(|error| Failure::store(format!("cannot start the writer: {error}")))?;
        // Nobody is served before those in line are known.
        is_ready.recv().map_err(|_| Failure::store("the writer did not start"))?;
        Ok((Self { environment, queue, presence, counters, bells }, thread))
    }

    /// Hands a command to the writer.
    pub(crate) fn push(&self, work: Work) -> Result<()> {
        self.queue.push(work).map_err(|Overloaded| overloaded())
    }

    /// Runs a command in the writer and waits until it is durable. `size`: about how many bytes it
    /// may add.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        size: u64,
        body: impl FnOnce(&mut Step<'_, '_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (work, answer) = engine::work(size, body);
        self.push(work)?;
        answer.await.unwrap_or_else(|_| Err(unanswered()))
    }

    /// What rings when messages come.
    pub(crate) fn bells(&self) -> &Bells {
        &self.bells
    }

    /// How much there is.
    pub(crate) fn counts(&self) -> Counts {
        self.counters.get()
    }

    /// Reads what may take long, while others of the thread's tasks go on elsewhere.
    pub(crate) fn read_much<T>(&self, body: impl FnOnce(&mut Reader<'_>) -> Result<T>) -> Result<T> {
        tokio::task::block_in_place(|| self.read(body))
    }

    /// Reads what was committed last.
    pub(crate) fn read<T>(&self, body: impl FnOnce(&mut Reader<'_>) -> Result<T>) -> Result<T> {
        let txn =
            self.environment.read().map_err(|error| Error::internal(format!("the rows cannot be read: {error}")))?;
        body(&mut Reader::new(txn, self.environment.tree, self.presence.clone()))
    }
}
