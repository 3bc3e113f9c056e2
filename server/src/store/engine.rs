//! The one thread that writes. Commands queue up, run one after the other in one transaction, are
//! made durable together, and are answered after that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use fencehold::internal::{Moment, boot_now};
use fencehold::{Error, Result};
use tokio::sync::oneshot;

use super::Presence;
use super::counters::{Counters, Rows};
use super::encoding::Area;
use super::environment::{Environment, Opened};
use super::rows::Writer;
use super::sweep::Sweep;
use crate::lines::Lines;
use crate::metrics::Metrics;
use crate::queues::Bells;

/// The most commands of one group.
const GROUP: usize = 1024;
/// How long a group may take before it is made durable.
const GROUP_TIME: Duration = Duration::from_millis(5);
/// How long the writer sleeps when nothing is due.
const IDLE: Duration = Duration::from_secs(1);
/// How often rows that are over are cleared away.
const SWEEP: Duration = Duration::from_millis(500);
/// How many commands may wait for the writer; more are refused.
const MOST_WAITING: usize = 100_000;

/// What runs when the group is durable; a command that it leaves runs next.
pub(crate) type After = Box<dyn FnOnce() -> Option<Work> + Send>;
/// A command.
type Body = Box<dyn FnOnce(&mut Step<'_, '_>) + Send>;

pub(crate) struct Work {
    /// About how many bytes it may add.
    size: u64,
    body: Body,
}

/// What a command works with.
pub(crate) struct Step<'a, 'e> {
    pub(crate) rows: Writer<'e>,
    /// Those who wait in line.
    pub(crate) lines: &'a mut Lines,
    /// The locks at which those in line have to look again after this command.
    pub(crate) touched: Vec<String>,
    /// The words that the command left.
    pub(crate) wakes: Vec<u32>,
    afters: Vec<After>,
    pub(crate) metrics: &'a Metrics,
}

impl Step<'_, '_> {
    /// Leaves something to do when the group is durable.
    pub(crate) fn after(&mut self, after: impl FnOnce() -> Option<Work> + Send + 'static) {
        self.afters.push(Box::new(after));
    }

    /// Runs `body`; when it fails or panics, the rows are as they were before.
    pub(crate) fn attempt<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mark = self.rows.mark();
        let result = catch_unwind(AssertUnwindSafe(|| body(self)))
            .unwrap_or_else(|_| Err(Error::internal("a command panicked; nothing of it was done")));
        if result.is_err() {
            self.rows.rewind(mark);
            self.wakes.clear();
        }
        result
    }
}

/// A command that answers after it is durable.
pub(crate) fn work<T: Send + 'static>(
    size: u64,
    body: impl FnOnce(&mut Step<'_, '_>) -> Result<T> + Send + 'static,
) -> (Work, oneshot::Receiver<Result<T>>) {
    let (send, receive) = oneshot::channel();
    let command = command(size, move |step| {
        let result = step.attempt(body);
        step.after(move || {
            // Whoever asked may be gone.
            let _ = send.send(result);
            None
        });
    });
    (command, receive)
}

/// A command that sees to its answer itself.
pub(crate) fn command(size: u64, body: impl FnOnce(&mut Step<'_, '_>) + Send + 'static) -> Work {
    Work { size, body: Box::new(body) }
}

/// The way to the writer.
#[derive(Clone)]
pub(crate) struct Queue {
    commands: Sender<Work>,
    waiting: Arc<AtomicUsize>,
}

/// Too many commands wait already.
#[derive(Debug)]
pub(crate) struct Overloaded;

impl Queue {
    /// Hands a command to the writer.
    pub(crate) fn push(&self, work: Work) -> std::result::Result<(), Overloaded> {
        if self.waiting.load(Ordering::Relaxed) >= MOST_WAITING {
            return Err(Overloaded);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // A writer that has ended drops the command, and whoever waits for its answer is told.
        let _ = self.commands.send(work);
        Ok(())
    }
}

/// Ends the process: what LMDB or the disk met leaves nothing to build on.
fn fatal(what: &str) -> ! {
    eprintln!("fencehold serve: {what}. The server ends, so that nothing is granted that is not on the disk");
    std::process::exit(74)
}

/// What the writer shares with everybody else.
pub(crate) struct Parts {
    pub(crate) environment: Arc<Environment>,
    pub(crate) presence: Presence,
    pub(crate) counters: Arc<Counters>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bells: Bells,
}

pub(crate) struct Engine {
    parts: Parts,
    next_version: u64,
    rows: Rows,
    lines: Lines,
    commands: Receiver<Work>,
    waiting: Arc<AtomicUsize>,
    next: Vec<Work>,
    sweep: Sweep,
    next_sweep: Moment,
    /// When the next timer is due.
    next_timer: Moment,
}

impl Engine {
    pub(crate) fn new(parts: Parts, opened: &Opened) -> (Self, Queue) {
        let (send, commands) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Queue { commands: send, waiting: waiting.clone() };
        let engine = Self {
            next_version: opened.next_version,
            rows: opened.rows,
            lines: Lines::new(parts.presence.clone()),
            commands,
            waiting,
            next: Vec::new(),
            sweep: Sweep::default(),
            next_sweep: boot_now(),
            next_timer: boot_now(),
            parts,
        };
        (engine, queue)
    }

    /// When something is due although nobody asks.
    fn next_due(&self) -> Moment {
        self.lines.next_due().unwrap_or(Moment::NEVER).min(self.next_sweep).min(self.next_timer)
    }

    /// Works until every way to it is gone. `ready` hears when those in line are known.
    pub(crate) fn run(mut self, ready: &Sender<()>) {
        self.group(vec![command(0, |step| {
            if let Err(error) = step.attempt(crate::lines::restore) {
                fatal(&format!("those in line cannot be read: {error}"));
            }
        })]);
        let _ = ready.send(());
        loop {
            let mut group = std::mem::take(&mut self.next);
            if group.is_empty() {
                match self.commands.recv_timeout(self.next_due().since(boot_now()).min(IDLE)) {
                    Ok(work) => group.push(self.taken(work)),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            if !group.is_empty() || self.next_due() <= boot_now() {
                self.group(group);
            }
        }
    }

    fn taken(&self, work: Work) -> Work {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        work
    }

    /// Runs a group: the commands given and whatever else has come until then.
    fn group(&mut self, first: Vec<Work>) {
        let began = Instant::now();
        let txn = match self.parts.environment.env.write_txn() {
            Ok(txn) => txn,
            Err(error) => fatal(&format!("the rows cannot be written: {error}")),
        };
        let rows =
            Writer::new(txn, self.parts.environment.tree, self.next_version, self.rows, self.parts.presence.clone());
        let mut step = Step {
            rows,
            lines: &mut self.lines,
            touched: Vec::new(),
            wakes: Vec::new(),
            afters: Vec::new(),
            metrics: &self.parts.metrics,
        };
        let (mut count, mut bytes) = (0, 0);
        let mut first = first.into_iter();
        loop {
            let Some(work) = first.next().or_else(|| {
                let work = self.commands.try_recv().ok()?;
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Some(work)
            }) else {
                break;
            };
            // A row costs its page and some above it, most of which a group shares.
            bytes += work.size * 2 + 16 * 1024;
            step.rows.begin(!self.parts.environment.make_room(bytes));
            (work.body)(&mut step);
            crate::lines::settle(&mut step);
            count += 1;
            if count >= GROUP || began.elapsed() > GROUP_TIME {
                break;
            }
        }
        step.rows.begin(!self.parts.environment.make_room(bytes));
        crate::lines::expire(&mut step);
        if boot_now() >= self.next_sweep {
            self.next_sweep = boot_now().after(SWEEP);
            // What cannot be cleared away now is next time.
            let _ = step.attempt(|step| self.sweep.run(step));
        }
        let is_there = step.rows.counts()[Area::Due as usize] > 0;
        let due = if is_there { step.attempt(|step| crate::queues::fire(step, &self.parts.bells)) } else { Ok(None) };
        // A full disk: the timer stays, and is tried again.
        self.next_timer = due.map_or_else(|_| boot_now().after(IDLE), |due| due.unwrap_or(Moment::NEVER));
        let Step { rows, afters, .. } = step;
        self.next_version = rows.next_version();
        self.rows = *rows.counts();
        if rows.writes() > 0 {
            let began = Instant::now();
            if let Err(error) = rows.commit() {
                fatal(&format!("the rows could not be made durable: {error}"));
            }
            self.parts.metrics.committed(began.elapsed(), count);
        }
        self.parts.counters.set(&self.rows, self.lines.polling());
        self.next = first.chain(afters.into_iter().filter_map(|after| after())).collect();
    }
}
