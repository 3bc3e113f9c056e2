//! Hearing of what others did: a connection of its own for each client that waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::connection::Reach;
use super::failure::Failure;
use crate::Cancel;
use crate::clock::boot_now;
use crate::process::{self, PerProcess};
use crate::store::http::flight;
use crate::store::memory::words::{WORDS, Words};

/// Between two tries to connect, at first and at most.
const AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// How long making the connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long it hears nothing before it is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(20);
const CHANNEL: &str = "fencehold";

static WAITING: Words = Words::new();

/// What the numbers of this process's words have in front, so that they are not another's.
fn prefix() -> u32 {
    static PREFIX: PerProcess<u32> = PerProcess::new();
    *PREFIX.get_or(|| process::random_u64() as u32 / WORDS)
}

/// A word for one waiter, with a number that no other process has.
pub(super) fn draw() -> crate::kv::row::WaitWord {
    let word = WAITING.draw();
    crate::kv::row::WaitWord { id: prefix() * WORDS + word.id, ..word }
}

/// Wakes a waiter of this process; false when it is another's.
pub(super) fn wake(word: u32) -> bool {
    let is_ours = word / WORDS == prefix();
    if is_ours {
        WAITING.wake(word);
    }
    is_ours
}

/// The statement that wakes another process's waiter.
pub(super) fn notify(word: u32) -> String {
    format!("SELECT pg_notify('{CHANNEL}', '{word}')")
}

/// Listens, from the first wait on, until it is stopped.
pub(super) struct Listener {
    closing: Cancel,
    thread: Mutex<bool>,
}

impl Listener {
    pub(super) fn new() -> Self {
        Self { closing: Cancel::new(), thread: Mutex::new(false) }
    }

    pub(super) fn stop(&self) {
        self.closing.trigger();
    }

    /// Starts listening, unless it does.
    pub(super) fn start(&self, reach: &Arc<Reach>) {
        let mut is_running = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_running {
            return;
        }
        let (reach, closing) = (reach.clone(), self.closing.clone());
        let thread = std::thread::Builder::new().name("fencehold".into());
        // Without a thread waiters look from time to time, as they do when notifications get lost.
        *is_running = thread.spawn(move || flight::cancellable(&[&closing], || run(&reach))).is_ok();
    }
}

fn run(reach: &Reach) {
    let mut pause = AGAIN[0];
    while !flight::is_cancelled() {
        let heard = listen(reach, &mut pause);
        if flight::is_cancelled() || !matches!(&heard, Err(failure) if failure.is_transient()) {
            return;
        }
        if !flight::sleep(pause) {
            return;
        }
        pause = (pause * 2).min(AGAIN[1]);
    }
}

fn listen(reach: &Reach, pause: &mut Duration) -> Result<(), Failure> {
    let mut connection = reach.connect(boot_now().after(CONNECT), |connection, until| {
        let answers = connection.ask("SELECT pg_is_in_recovery()", until)?;
        if answers.first().is_some_and(|answer| answer.text(0, 0) == "t") {
            return Err(Failure::Refused { code: "25006".into(), message: "it is a standby".into() });
        }
        connection.ask(&format!("LISTEN {CHANNEL}"), until).map(drop)
    })?;
    *pause = AGAIN[0];
    // Whatever was said before is lost.
    for word in 0..WORDS {
        WAITING.wake(word);
    }
    loop {
        match connection.hear(boot_now().after(SILENCE))? {
            Some(word) => drop(wake(word)),
            None => drop(connection.ask("SELECT 1", boot_now().after(CONNECT))?),
        }
    }
}
