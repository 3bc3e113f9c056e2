//! Rows of users and steps, on a store of rows.

use serde_json::{Value, json};

use super::backend::KvBackend;
use super::operations::{self, Applied, LOCKS, Operation, QUEUES, Refused, Scope};
use super::row::{Intent, RowStore, Rows};
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
        let parsed = operations::parse(call, scope).map_err(|refused| invalid(&refused))?;
        let intent = match parsed.iter().any(Operation::is_write) {
            true => Intent::Grow,
            false => Intent::Read,
        };
        let is_about_locks = |operation: &Operation| matches!(operation.namespace.as_str(), LOCKS | QUEUES);
        let changes = |operation: &&Operation| operation.is_write() && operation.name() != "check";
        let only_locks = parsed.iter().all(is_about_locks);
        if !self.store.mixes_values() && !only_locks && parsed.iter().filter(changes).any(is_about_locks) {
            let detail = "this store cannot change locks and rows of users in one call, and nothing was done. Change \
                          them one after the other";
            return Err(Error::new(Kind::Unsupported, "unsupported", detail));
        }
        let body = |rows: &mut dyn Rows, wakes: &mut Vec<u32>| operations::apply(rows, &parsed, wakes);
        let applied =
            if only_locks { self.write(intent, until, body) } else { self.write_values(intent, until, body) }?;
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
