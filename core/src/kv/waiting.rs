//! Waiting for a permit: a ticket, a word to sleep on, and one step again whenever there is reason.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::backend::KvBackend;
use super::locks::{self, Busy, Place, Tried};
use super::row::{Intent, RowStore, WaitWord};
use super::value;
use crate::backend::{Ask, Backend, Hold, Outcome, Turn};
use crate::cancel::{Cancel, Registered};
use crate::clock::{Moment, boot_now, wall_micros};
use crate::info::RefusalReason;
use crate::log::warn_user;
use crate::process::PerProcess;
use crate::{Kind, Result, futex};

/// How long one step may wait for a busy store before cancels are looked at again.
const STEP: Duration = Duration::from_millis(200);
/// How long until a store that is out of reach is asked again.
const AGAIN: Duration = Duration::from_millis(20);
/// The same of a store behind a network.
const REMOTE_AGAIN: Duration = Duration::from_millis(200);
/// How long one step may take there.
const REMOTE_STEP: Duration = Duration::from_secs(2);
/// How long giving a place up may take.
const LEAVE: Duration = Duration::from_secs(1);
/// How often a waiter looks at a clock that only a test moves.
const MANUAL_SLICE: Duration = Duration::from_millis(1);
/// How many in front make a waiter look more rarely.
const NEAR: u32 = 32;

/// Whether something other than time has ended the wait.
pub(super) fn is_over(turn: &Turn<'_>) -> bool {
    turn.closing.should_end() || turn.cancel.is_some_and(|cancel| cancel.should_end())
}

/// The word for [`crate::Cancel`], which keeps pointers to it for ever.
fn leaked(word: WaitWord) -> &'static WaitWord {
    // Guards the table only; as many entries as there are words.
    static WORDS: PerProcess<Mutex<HashMap<usize, &'static WaitWord>>> = PerProcess::new();
    let mut words = WORDS.get_or(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    words.entry(std::ptr::from_ref(word.word) as usize).or_insert_with(|| Box::leak(Box::new(word)))
}

/// One wait in progress. Dropping it gives its place up.
struct Wait<'a, S: RowStore> {
    backend: &'a KvBackend<S>,
    ask: &'a Ask<'a>,
    turn: &'a Turn<'a>,
    place: Place,
    word: Option<(&'static WaitWord, Vec<Registered<'a, WaitWord>>)>,
}

impl<S: RowStore> KvBackend<S> {
    /// Waits for a permit until `until`.
    pub(super) fn wait(&self, ask: &Ask<'_>, turn: &Turn<'_>, until: Moment) -> Result<Outcome> {
        let place = Place { number: None, value: Vec::new() };
        Wait { backend: self, ask, turn, place, word: None }.run(until)
    }
}

impl<S: RowStore> Wait<'_, S> {
    fn run(mut self, until: Moment) -> Result<Outcome> {
        let clock = self.backend.clock();
        // A test's clock may stand still; nobody waits longer than was asked for in real time.
        let real_end = boot_now().after(until.since(clock.now()));
        loop {
            let sent = clock.now();
            let step = if self.backend.store.is_local() { STEP } else { REMOTE_STEP };
            let limit = until.min(sent.after(step));
            let (mut pause, trouble) = match self.step(limit) {
                Ok((Tried::Granted { hold, already }, _)) => return Ok(self.granted(hold, sent, already)),
                Ok((Tried::Busy(busy), seen)) => {
                    self.turn.position.store(busy.ahead.saturating_add(1), Ordering::Relaxed);
                    (self.pause(busy, seen), None)
                }
                // A store that is out of reach is ridden out for the length of the wait.
                Err(error) if self.may_ask_again(&error) => {
                    let again = if self.backend.store.is_local() { AGAIN } else { REMOTE_AGAIN };
                    (Pause { seen: None, until: boot_now().after(again) }, Some(error))
                }
                Err(error) => return Err(error),
            };
            pause.until = pause.until.min(real_end).min(boot_now().after(until.since(clock.now())));
            if !self.sleep(&pause) {
                self.leave()?;
                return Ok(Outcome::Cancelled);
            }
            if clock.now() >= until || boot_now() >= real_end {
                return self.timed_out(trouble);
            }
        }
    }

    /// One try, which leaves us in line when it comes to nothing. Answers the word's value from
    /// before it looked.
    fn step(&mut self, limit: Moment) -> Result<(Tried, u32)> {
        let word = match &self.word {
            Some((word, _)) => *word,
            None => {
                // Most waits need not wait: no word and no ticket before that is known.
                let ask = self.ask;
                let first = self.backend.write_lock(ask.name, Intent::Grow, limit, |rows, wakes| {
                    self.backend.tidy(rows)?;
                    locks::attempt(rows, ask, None, wakes)
                })?;
                if matches!(first, Tried::Granted { .. }) {
                    return Ok((first, 0));
                }
                let word = leaked(self.backend.store.wait_word()?);
                let registered: Vec<Registered<'_, WaitWord>> = self
                    .turn
                    .cancel
                    .into_iter()
                    .chain([self.turn.closing])
                    .map(|cancel| cancel.register(word))
                    .collect();
                self.word = Some((word, registered));
                word
            }
        };
        let seen = word.word.load(Ordering::Acquire);
        let (ask, before) = (self.ask, self.place.number);
        let place = &mut self.place;
        let tried = self.backend.write_lock(ask.name, Intent::Grow, limit, |rows, wakes| {
            self.backend.tidy(rows)?;
            place.number = before;
            if place.value.is_empty() {
                place.value = value::ticket(ask.owner, ask.label, wall_micros(), word.id);
            }
            let tried = locks::attempt(rows, ask, Some(place), wakes)?;
            Ok(match tried {
                // The store's clock may be another machine's.
                Tried::Busy(Busy { ahead, due: Some(due) }) => {
                    Tried::Busy(Busy { ahead, due: Some(boot_now().after(due.since(rows.now()))) })
                }
                tried => tried,
            })
        });
        if tried.is_err() {
            self.place.number = before;
        }
        Ok((tried?, seen))
    }

    /// Whether a failure is ridden out. Where a commit may have happened without our knowing, the next
    /// try finds what it did by our owner.
    fn may_ask_again(&self, error: &crate::Error) -> bool {
        let is_in_doubt = error.kind() == Kind::InDoubt && !self.backend.store.is_local() && !self.ask.owner.is_empty();
        error.kind() == Kind::Unreachable || is_in_doubt
    }

    fn granted(&mut self, hold: Hold, sent: Moment, already: bool) -> Outcome {
        // The ticket went in the same step.
        self.place.number = None;
        self.turn.position.store(0, Ordering::Relaxed);
        Outcome::Granted { hold, sent, already }
    }

    fn timed_out(&mut self, trouble: Option<crate::Error>) -> Result<Outcome> {
        // Whoever is in line had its answer before: a store that is merely busy at the last moment
        // is no error of a wait that is over. One that is out of reach fails the next call as well.
        if let Some(trouble) = trouble
            && self.place.number.is_none()
        {
            return Err(trouble);
        }
        self.leave()?;
        let ask = self.ask;
        let until = self.backend.clock().now().after(LEAVE);
        let refusal = self
            .backend
            .write_lock(ask.name, Intent::Keep, until, |rows, _| locks::refusal(rows, ask, RefusalReason::TimedOut))?;
        Ok(Outcome::Refused(refusal))
    }

    /// How long to sleep after a try that came to nothing.
    fn pause(&self, busy: Busy, seen: u32) -> Pause {
        let now = boot_now();
        if self.backend.clock().is_manual() {
            return Pause { seen: Some(seen), until: now.after(MANUAL_SLICE) };
        }
        // A process that dies wakes nobody, so the first two look for it. The others are called,
        // and look only in case that whoever called them died before it woke them.
        let slice = if busy.ahead < 2 && self.backend.store.notices_death() {
            Duration::from_micros(25_000 + super::roll() % 25_000)
        } else if busy.ahead < NEAR.max(self.ask.permits) {
            Duration::from_micros(750_000 + super::roll() % 250_000)
        } else {
            Duration::from_micros(2_000_000 + super::roll() % 2_000_000)
        };
        Pause { seen: Some(seen), until: now.after(slice).min(busy.due.unwrap_or(Moment::NEVER)) }
    }

    /// Sleeps until it is time to look again; false when the wait was ended.
    fn sleep(&self, pause: &Pause) -> bool {
        let Some((word, _)) = &self.word else {
            std::thread::sleep(pause.until.since(boot_now()));
            return !is_over(self.turn);
        };
        let seen = pause.seen.unwrap_or_else(|| word.word.load(Ordering::Acquire));
        loop {
            if is_over(self.turn) {
                return false;
            }
            let left = pause.until.since(boot_now());
            if left.is_zero() || word.word.load(Ordering::Acquire) != seen {
                return true;
            }
            let slice = self.turn.cancel.map_or(Duration::MAX, Cancel::slice);
            futex::wait(word.word, seen, left.min(slice), word.shared);
        }
    }

    /// Gives the place in line up at once and calls the next.
    fn leave(&mut self) -> Result<()> {
        self.turn.position.store(0, Ordering::Relaxed);
        if self.place.number.is_none() {
            return Ok(());
        }
        let until = self.backend.clock().now().after(LEAVE);
        let (ask, place) = (self.ask, &self.place);
        self.backend.write_lock(ask.name, Intent::Keep, until, |rows, wakes| locks::leave(rows, ask, place, wakes))?;
        self.place.number = None;
        Ok(())
    }
}

impl<S: RowStore> Drop for Wait<'_, S> {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            // Whoever is behind gets past it: it is called, does not come and loses its place.
            warn_user!("lock \"{}\": the place in line could not be given up: {error}", self.ask.name);
        }
    }
}

/// A sleep.
struct Pause {
    /// The word's value when the state was looked at; `None`: it was not.
    seen: Option<u32>,
    /// When to look again, on the machine's clock.
    until: Moment,
}
