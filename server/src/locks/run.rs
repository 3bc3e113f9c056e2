//! Doing the operations of a call, each on its own.

use fencehold::Result;
use fencehold::internal::limits::MAX_PERMITS;
use fencehold::internal::locks::{self, Kept};
use fencehold::internal::{Hold, Rows, key, line};
use serde_json::Value;

use super::answer;
use super::parse::Operation;
use crate::lines::{self, Verdict};
use crate::metrics::{LockResult, Loss};
use crate::store::Step;

/// The most tickets that a `get` shows.
const MOST_TICKETS: usize = 1000;

/// Does the operations of a call that does not wait, in one group. One that loses does not stop
/// the others.
pub(crate) fn run(step: &mut Step<'_, '_>, operations: &[Operation]) -> Result<Vec<Value>> {
    operations.iter().enumerate().map(|(index, operation)| run_one(step, index, operation)).collect()
}

fn run_one(step: &mut Step<'_, '_>, index: usize, operation: &Operation) -> Result<Value> {
    match operation {
        Operation::Acquire(asked) => {
            let verdict = lines::acquire(step, asked.clone(), &mut None)?;
            let Some(verdict) = verdict else {
                return Err(fencehold::Error::internal("an acquire without a connection waits for nothing"));
            };
            step.metrics.lock(match &verdict {
                Verdict::Granted { already: true, .. } => LockResult::Already,
                Verdict::Granted { .. } => LockResult::Granted,
                _ => LockResult::Held,
            });
            Ok(answer::verdict_element(index, asked, &verdict, None))
        }
        Operation::Renew { asked, hold } => Ok(match locks::renew(&mut step.rows, &asked.ask(), *hold)? {
            Kept::Done(token) => {
                step.metrics.lock(LockResult::Renewed);
                answer::renewed(index, &asked.name, Hold { token, ..*hold })
            }
            Kept::Lost(holders) => {
                step.metrics.lock(LockResult::RenewLost);
                step.metrics.lost(Loss::Renew, 1);
                answer::lost(index, "renew", "renewed", &asked.name, hold.slot, &holders)
            }
        }),
        Operation::Release { asked, hold } => {
            let mut wakes = std::mem::take(&mut step.wakes);
            let kept = locks::release(&mut step.rows, &asked.ask(), *hold, &mut wakes);
            step.wakes = wakes;
            Ok(match kept? {
                Kept::Done(_) => {
                    step.metrics.lock(LockResult::Released);
                    step.touched.push(asked.name.clone());
                    answer::released(index, &asked.name, hold.slot)
                }
                Kept::Lost(holders) => {
                    step.metrics.lock(LockResult::ReleaseLost);
                    answer::lost(index, "release", "released", &asked.name, hold.slot, &holders)
                }
            })
        }
        Operation::Get { name } => {
            step.metrics.lock(LockResult::Read);
            get(&mut step.rows, index, name)
        }
        Operation::Leave { name, owner } => {
            step.metrics.lock(LockResult::Left);
            let left = lines::leave(step, name, owner);
            Ok(answer::left(index, name, left))
        }
    }
}

/// Who holds a lock, whatever limit anyone uses, and who waits for it.
pub(crate) fn get(rows: &mut dyn Rows, index: usize, name: &str) -> Result<Value> {
    let held = locks::live_permits(rows, name, MAX_PERMITS)?;
    let holders = held.iter().map(|(slot, row)| answer::holder(rows, *slot, row)).collect();
    let mut waiting = Vec::new();
    for ticket in line::read(rows, &key::prefix(name), None, u64::MAX, MOST_TICKETS)? {
        if rows.is_alive(ticket.row.client) {
            waiting.push(answer::waiter(waiting.len() + 1, ticket.number, &ticket.row));
        }
    }
    Ok(answer::shown(index, name, holders, waiting))
}

/// How many are in line for a lock, counted up to a thousand.
pub(crate) fn count_waiting(rows: &mut dyn Rows, name: &str) -> Result<u32> {
    let tickets = line::read(rows, &key::prefix(name), None, u64::MAX, MOST_TICKETS)?;
    Ok(tickets.iter().filter(|ticket| rows.is_alive(ticket.row.client)).count() as u32)
}
