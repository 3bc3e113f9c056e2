//! Rows of users and steps, on a store of rows.

use serde_json::{Value, json};

use super::backend::KvBackend;
use super::operations::{self, Applied, Refused, Scope};
use super::row::{Intent, RowStore};
use crate::backend::{KvAnswer, LostPrecondition, Step, StepAnswer};
use crate::clock::Moment;
use crate::{Error, Kind, Result};

/// A refusal at the edge, as an error.
fn invalid(refused: &Refused) -> Error {
    Error::invalid(refused.reason, format!("{} ({})", refused.detail, refused.reason))
}

/// The operation that a step depends on: the permit is still the one that the token names.
pub(crate) fn check_of(name: &str, slot: u32, token: u64) -> Value {
    let key = format!("{name}#{slot}");
    json!({"op": "check", "ns": operations::LOCKS, "key": key, "expect": token, "required": true})
}

impl<S: RowStore> KvBackend<S> {
    /// Does a call of operations on rows.
    pub(super) fn operate(&self, call: &[Value], scope: Scope, until: Moment) -> Result<KvAnswer> {
        if !self.store.keeps_values() {
            let detail = "this store keeps locks only, and nothing was done. Keep rows in memory: or on a server";
            return Err(Error::new(Kind::Unsupported, "unsupported", detail));
        }
        let parsed = operations::parse(call, scope).map_err(|refused| invalid(&refused))?;
        let intent = match parsed.iter().any(operations::Operation::is_write) {
            true => Intent::Grow,
            false => Intent::Read,
        };
        let applied = self.write(intent, until, |rows, wakes| operations::apply(rows, &parsed, wakes))?;
        Ok(match applied {
            Applied::Results(results) => KvAnswer::Results(results),
            Applied::Precondition(lost) => KvAnswer::Precondition(LostPrecondition {
                index: lost.index,
                reason: lost.reason.to_string(),
                version: lost.version,
                value: lost.value,
            }),
        })
    }

    pub(super) fn commit_rows(&self, step: &Step, until: Moment) -> Result<StepAnswer> {
        if !(step.operations.is_empty() && step.timers.is_empty()) {
            let detail = "this store has no queues and no timers, so nothing of the step was done";
            return Err(Error::new(Kind::Unsupported, "unsupported", detail));
        }
        let guards = step.guards.iter().map(|(name, hold)| check_of(name, hold.slot, hold.token));
        let call: Vec<Value> = guards.chain(step.kv.iter().cloned()).collect();
        Ok(match self.operate(&call, Scope::Transaction, until)? {
            KvAnswer::Results(results) => {
                let own = results.into_iter().skip(step.guards.len()).enumerate();
                let results = own.map(|(place, element)| numbered(element, place)).collect();
                StepAnswer { results, reason: None, precondition: None }
            }
            KvAnswer::Precondition(lost) => {
                StepAnswer { results: Vec::new(), reason: Some("kv_precondition".into()), precondition: Some(lost) }
            }
        })
    }
}

/// An element as a committed step has it: counted over the whole step, and in its own list.
fn numbered(mut element: Value, place: usize) -> Value {
    if let Value::Object(members) = &mut element {
        members.insert("index".into(), place.into());
        members.insert("opIndex".into(), place.into());
        members.insert("type".into(), "kv".into());
    }
    element
}
