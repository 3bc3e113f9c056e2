//! What happens to those in line. Everything here runs in the writer's thread.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::time::Duration;

use fencehold::Result;
use fencehold::internal::locks::{self, Busy, Kept, Place, Tried};
use fencehold::internal::{ClientId, Hold, Moment, Rows, Table, key, limits, line, value};

use super::{Asked, Due, InLine, LOOK, Poll, Verdict, Waiter};
use crate::metrics::LockResult;
use crate::store::engine::{Step, Work, command};
use crate::store::{client_of, word_of};

/// Reads the tickets that a server before this one left. Their owners come back, or lose them.
pub(crate) fn restore(step: &mut Step<'_, '_>) -> Result<()> {
    let mut found = Vec::new();
    step.rows.scan(Table::Queues, b"", None, &mut |key, row| {
        found.push((key.to_vec(), row));
        ControlFlow::Continue(())
    })?;
    for (key, row) in found {
        let Some((name, number)) = key_of(&key) else { continue };
        let facts = value::Facts::of(&row.value);
        let (word, seconds) = word_of(row.client);
        let ttl = Duration::from_secs(seconds.into());
        let (Some(owner), 1..) = (facts.owner, seconds) else {
            // It waited on a connection only, and that is gone.
            line::remove(&mut step.rows, name, number)?;
            continue;
        };
        let asked = Asked { name: name.into(), permits: 1, owner, label: facts.label, ttl, fair: true };
        let kept_until = step.rows.now().after(asked.keep());
        let place = Place { number: Some(number), value: value::uncalled(&row.value) };
        step.lines.next_word = step.lines.next_word.max(word.wrapping_add(1)).max(1);
        step.lines.at(kept_until, Due::Keep(word));
        step.lines.enter(word, Waiter { asked, place, poll: None, kept_until });
    }
    Ok(())
}

fn key_of(key: &[u8]) -> Option<(&str, u64)> {
    let hash = key.iter().position(|byte| *byte == b'#')?;
    Some((std::str::from_utf8(&key[..hash]).ok()?, key::parse_ticket(&key[hash + 1..])?))
}

/// An acquire. `None`: `poll` was taken, and is answered now or later.
pub(crate) fn acquire(step: &mut Step<'_, '_>, asked: Asked, poll: &mut Option<Poll>) -> Result<Option<Verdict>> {
    let known = step.lines.waiter_of(&asked.name, &asked.owner);
    if known.is_none() && poll.is_none() && !asked.fair {
        return Ok(Some(match attempt(step, &asked, None, ClientId::NONE)? {
            Tried::Granted { hold, already } => {
                let line = step.lines.in_line(&asked.name, None);
                Verdict::Granted { hold, already, line, at: step.rows.now() }
            }
            Tried::Busy(_) => refused(step, &asked, None)?,
        }));
    }
    let word = match known {
        Some(word) => word,
        None => step.lines.draw_word(),
    };
    let mut place = match known.and_then(|word| step.lines.waiters.get(&word)) {
        Some(waiter) => Place { number: waiter.place.number, value: waiter.place.value.clone() },
        None => {
            let since = step.rows.wall_micros();
            let value = value::ticket(&asked.owner, asked.label.as_deref(), since, word);
            Place { number: None, value }
        }
    };
    // The ticket counts from here on, also for its own try.
    step.lines.presence.add(word);
    let before = place.number;
    let tried = match attempt(step, &asked, Some(&mut place), client_of(word, asked.keep_seconds())) {
        Ok(tried) => tried,
        Err(error) => {
            if known.is_none() {
                step.lines.presence.remove(word);
            }
            return Err(error);
        }
    };
    if known.is_none() {
        let waiter = Waiter { asked: asked.clone(), place, poll: None, kept_until: step.rows.now() };
        step.lines.enter(word, waiter);
    } else if let Some(waiter) = step.lines.waiters.get_mut(&word) {
        waiter.place = place;
        // Who asks last says how.
        if poll.is_some() || asked.fair {
            waiter.asked = asked.clone();
        }
    }
    step.lines.renumber(word, before);
    match tried {
        Tried::Granted { hold, already } => {
            let line = granted(step, word, before);
            let at = step.rows.now();
            let Some(poll) = poll.take() else { return Ok(Some(Verdict::Granted { hold, already, line, at })) };
            answer_granted(step, poll, asked.name, hold, already, line);
            Ok(None)
        }
        Tried::Busy(busy) => busy_with(step, word, poll, &asked, busy),
    }
}

/// One try for whoever this is.
fn attempt(step: &mut Step<'_, '_>, asked: &Asked, place: Option<&mut Place>, client: ClientId) -> Result<Tried> {
    step.rows.set_client(client);
    let mut wakes = std::mem::take(&mut step.wakes);
    let tried = locks::attempt(&mut step.rows, &asked.ask(), place, &mut wakes);
    step.wakes = wakes;
    step.rows.set_client(ClientId::NONE);
    tried
}

/// A try that came to nothing: the connection waits, or the place is kept without one.
fn busy_with(
    step: &mut Step<'_, '_>,
    word: u32,
    poll: &mut Option<Poll>,
    asked: &Asked,
    busy: Busy,
) -> Result<Option<Verdict>> {
    let now = step.rows.now();
    look_at(step, &asked.name, busy.due.filter(|_| (busy.ahead as usize) < asked.permits as usize));
    // An earlier connection of the same owner has nothing to wait for any more.
    if poll.is_some()
        && let Some(earlier) = step.lines.waiters.get_mut(&word).and_then(|waiter| waiter.poll.take())
    {
        step.lines.polls.remove(&earlier.id);
        let verdict = refused(step, asked, Some(word))?;
        answer(step, earlier, verdict);
    }
    if let Some(poll) = poll.take() {
        let ends = now.after(poll.wait);
        step.lines.polls.insert(poll.id, word);
        step.lines.at(ends, Due::Poll(poll.id));
        if let Some(waiter) = step.lines.waiters.get_mut(&word) {
            waiter.poll = Some(poll);
        }
        return Ok(None);
    }
    if asked.fair {
        keep(step, word);
    }
    refused(step, asked, Some(word)).map(Some)
}

/// Keeps a place without a connection for a while.
fn keep(step: &mut Step<'_, '_>, word: u32) {
    let now = step.rows.now();
    let Some(waiter) = step.lines.waiters.get_mut(&word) else { return };
    waiter.kept_until = now.after(waiter.asked.keep());
    let due = waiter.kept_until;
    step.lines.at(due, Due::Keep(word));
}

/// Forgets a waiter that got its permit; its ticket went in the same step. Answers the place that
/// it had.
fn granted(step: &mut Step<'_, '_>, word: u32, ticket: Option<u64>) -> InLine {
    let Some(waiter) = step.lines.forget(word) else {
        return InLine { ticket, position: 0, length: 0 };
    };
    let length = step.lines.in_line(&waiter.asked.name, None).length;
    step.touched.push(waiter.asked.name.clone());
    if let Some(poll) = waiter.poll {
        // The owner asked again on another connection, and holds it there.
        let verdict = Verdict::Refused { holders: Vec::new(), line: InLine { ticket, position: 0, length } };
        answer(step, poll, verdict);
    }
    InLine { ticket, position: 0, length }
}

fn refused(step: &mut Step<'_, '_>, asked: &Asked, word: Option<u32>) -> Result<Verdict> {
    let held = locks::live_permits(&mut step.rows, &asked.name, asked.permits)?;
    let holders = held.iter().map(|(slot, row)| locks::holder(&step.rows, *slot, row)).collect();
    let number = word.and_then(|word| step.lines.waiters.get(&word)).and_then(|waiter| waiter.place.number);
    Ok(Verdict::Refused { holders, line: step.lines.in_line(&asked.name, number) })
}

/// Answers a poll, with anything but a grant, when the group is durable.
fn answer(step: &mut Step<'_, '_>, poll: Poll, verdict: Verdict) {
    step.metrics.lock(LockResult::Held);
    step.after(move || {
        // Whoever waited may be gone.
        let _ = poll.reply.send(verdict);
        None
    });
}

/// Answers a poll with its grant; gives it back when nobody takes it.
fn answer_granted(step: &mut Step<'_, '_>, poll: Poll, name: String, hold: Hold, already: bool, line: InLine) {
    step.metrics.lock(if already { LockResult::Already } else { LockResult::Granted });
    let at = step.rows.now();
    step.after(move || {
        let taken = poll.reply.send(Verdict::Granted { hold, already, line, at }).is_ok();
        (!taken && !already).then(|| give_back(name, hold))
    });
}

/// The command that gives back a grant which nobody took.
pub(crate) fn give_back(name: String, hold: Hold) -> Work {
    command(0, move |step| {
        let asked =
            Asked { name, permits: 1, owner: String::new(), label: None, ttl: Duration::from_secs(1), fair: false };
        // What cannot be given back expires.
        let _ = step.attempt(|step| {
            let mut wakes = std::mem::take(&mut step.wakes);
            let kept = locks::release(&mut step.rows, &asked.ask(), hold, &mut wakes);
            step.wakes = wakes;
            if let Kept::Done(_) = kept? {
                step.touched.push(asked.name.clone());
            }
            Ok(())
        });
    })
}

/// A connection is gone: the place is kept, or given up.
pub(crate) fn hang_up(step: &mut Step<'_, '_>, poll: u64) {
    let Some(word) = step.lines.polls.remove(&poll) else { return };
    let Some(waiter) = step.lines.waiters.get_mut(&word) else { return };
    waiter.poll = None;
    if waiter.asked.fair {
        keep(step, word);
    } else {
        give_up(step, word);
    }
}

/// Gives a place up. True: there was one.
fn give_up(step: &mut Step<'_, '_>, word: u32) -> bool {
    let Some(waiter) = step.lines.forget(word) else { return false };
    step.touched.push(waiter.asked.name.clone());
    // A ticket that cannot be removed is nobody's from now on, and is cleared away by the next.
    let _ = step.attempt(|step| {
        let mut wakes = std::mem::take(&mut step.wakes);
        let left = locks::leave(&mut step.rows, &waiter.asked.ask(), &waiter.place, &mut wakes);
        step.wakes = wakes;
        left
    });
    if let Some(poll) = waiter.poll {
        let verdict = match refused(step, &waiter.asked, None) {
            Ok(verdict) => verdict,
            Err(error) => Verdict::Failed(error),
        };
        answer(step, poll, verdict);
    }
    true
}

/// The operation `leave`: whether the owner had a place.
pub(crate) fn leave(step: &mut Step<'_, '_>, name: &str, owner: &str) -> bool {
    match step.lines.waiter_of(name, owner) {
        Some(word) => give_up(step, word),
        None => false,
    }
}

/// The server ends: every connection is answered, and fair places are kept for its successor.
pub(crate) fn stop(step: &mut Step<'_, '_>) {
    let polls: Vec<u64> = step.lines.polls.keys().copied().collect();
    for poll in polls {
        end_poll(step, poll);
    }
}

/// The wait of a poll is over.
fn end_poll(step: &mut Step<'_, '_>, poll: u64) {
    let Some(word) = step.lines.polls.remove(&poll) else { return };
    let Some(waiter) = step.lines.waiters.get_mut(&word) else { return };
    let asked = waiter.asked.clone();
    if !asked.fair {
        give_up(step, word);
        return;
    }
    let poll = waiter.poll.take();
    keep(step, word);
    let verdict = refused(step, &asked, Some(word)).unwrap_or_else(Verdict::Failed);
    if let Some(poll) = poll {
        answer(step, poll, verdict);
    }
}

/// Whoever is in line for a lock looks again at `due`, or after a while.
fn look_at(step: &mut Step<'_, '_>, name: &str, due: Option<Moment>) {
    let latest = step.rows.now().after(LOOK);
    let due = due.map_or(latest, |due| due.min(latest));
    let Some(line) = step.lines.lines.get_mut(name) else { return };
    if line.look.is_none_or(|look| look > due) {
        line.look = Some(due);
        step.lines.at(due, Due::Look(name.to_string()));
    }
}

/// After a command: those for whom something has changed get their try, in the same group.
pub(crate) fn settle(step: &mut Step<'_, '_>) {
    // Callers of one semaphore with different limits could call each other for ever.
    for _ in 0..4 {
        let mut names = std::mem::take(&mut step.touched);
        for word in std::mem::take(&mut step.wakes) {
            if let Some(waiter) = step.lines.waiters.get(&word) {
                names.push(waiter.asked.name.clone());
            }
        }
        names.sort_unstable();
        names.dedup();
        names.retain(|name| step.lines.lines.contains_key(name));
        if names.is_empty() {
            return;
        }
        for name in names {
            look(step, &name);
        }
    }
}

/// Lets those at the head of a line try, first come first.
fn look(step: &mut Step<'_, '_>, name: &str) {
    let Some(line) = step.lines.lines.get_mut(name) else { return };
    line.look = None;
    let head: Vec<(u64, u32)> =
        line.order.iter().take(limits::MAX_PERMITS as usize).map(|(number, word)| (*number, *word)).collect();
    let (mut ahead, mut due): (u32, Option<Moment>) = (0, None);
    for (number, word) in head {
        let Some(waiter) = step.lines.waiters.get(&word) else { continue };
        let asked = waiter.asked.clone();
        if !waiter.is_here() {
            let value = waiter.place.value.clone();
            // Whoever is called by those behind it and does not come has lost its place.
            if let Ok(None) = line::own(&mut step.rows, name, number, &value) {
                step.lines.forget(word);
            }
            continue;
        }
        if ahead >= asked.permits {
            if asked.permits == 1 {
                break;
            }
            ahead += 1;
            continue;
        }
        let mut place = Place { number: Some(number), value: waiter.place.value.clone() };
        let client = client_of(word, asked.keep_seconds());
        let tried = step.attempt(|step| attempt(step, &asked, Some(&mut place), client));
        match tried {
            Ok(Tried::Granted { hold, already }) => {
                let Some(waiter) = step.lines.forget(word) else { continue };
                let length = step.lines.in_line(name, None).length;
                let line = InLine { ticket: Some(number), position: 0, length };
                if let Some(poll) = waiter.poll {
                    answer_granted(step, poll, name.to_string(), hold, already, line);
                }
            }
            Ok(Tried::Busy(busy)) => {
                if let Some(waiter) = step.lines.waiters.get_mut(&word) {
                    waiter.place = place;
                }
                step.lines.renumber(word, Some(number));
                due = due.into_iter().chain(busy.due).min();
                ahead += 1;
            }
            Err(error) => {
                let Some(waiter) = step.lines.forget(word) else { continue };
                if let Some(poll) = waiter.poll {
                    answer(step, poll, Verdict::Failed(error));
                }
            }
        }
    }
    look_at(step, name, due);
}

/// Does what has become due by time alone.
pub(crate) fn expire(step: &mut Step<'_, '_>) {
    let now = step.rows.now();
    while let Some(Reverse((moment, _))) = step.lines.times.peek() {
        if *moment > now {
            break;
        }
        let Some(Reverse((moment, due))) = step.lines.times.pop() else { break };
        match due {
            Due::Poll(poll) => end_poll(step, poll),
            Due::Keep(word) => {
                let is_over = step
                    .lines
                    .waiters
                    .get(&word)
                    .is_some_and(|waiter| waiter.poll.is_none() && waiter.kept_until <= now);
                if is_over {
                    give_up(step, word);
                }
            }
            Due::Look(name) => {
                if step.lines.lines.get(&name).is_some_and(|line| line.look == Some(moment)) {
                    step.touched.push(name);
                }
            }
        }
    }
    settle(step);
}
