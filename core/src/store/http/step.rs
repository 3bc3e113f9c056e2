//! Rows of users and steps. What changes something is sent once: nobody could tell a repeat.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::HttpStore;
use super::failure::Failure;
use super::server::Route;
use super::servers::{Again, Call};
use super::wire::Malformed;
use crate::Result;
use crate::backend::{KvAnswer, LostPrecondition, Step, StepAnswer};
use crate::clock::Moment;
use crate::kv::step::check_of;

/// The place of an operation that the server did not name.
const SOMEWHERE: usize = u32::MAX as usize;
/// What the server may answer as the reason of a lost operation.
const REASONS: [&str; 5] = ["exists", "absent", "version", "limit", "type"];

fn object(body: &[u8]) -> std::result::Result<Map<String, Value>, Malformed> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(answer)) => Ok(answer),
        _ => Err(Malformed("it did not answer with a JSON object")),
    }
}

fn is_read(operation: &Value) -> bool {
    matches!(operation.get("op").and_then(Value::as_str), Some("get" | "getMany" | "getPrefix" | "check"))
}

/// What is said about an operation that lost; `place` finds it in the caller's own count.
fn precondition(
    answer: &Map<String, Value>,
    place: impl FnOnce(usize) -> Option<usize>,
) -> std::result::Result<LostPrecondition, Malformed> {
    let reason = match answer.get("kvReason").and_then(Value::as_str) {
        Some(reason) if REASONS.contains(&reason) => reason,
        // A row that is too long to be shown leaves no more than that it lost.
        None => "version",
        Some(_) => return Err(Malformed("its answer gives a reason that is none")),
    };
    let index = match answer.get("failedIndex").map(|index| index.as_u64().map(|index| index as usize)) {
        None => SOMEWHERE,
        Some(index) => index.and_then(place).ok_or(Malformed("its answer is about an operation that there is not"))?,
    };
    Ok(LostPrecondition {
        index,
        reason: reason.to_string(),
        version: answer.get("version").and_then(Value::as_u64).unwrap_or(0),
        value: answer.get("value").cloned().unwrap_or(Value::Null),
    })
}

fn kv_answer(body: &[u8], count: usize) -> std::result::Result<KvAnswer, Malformed> {
    let mut answer = object(body)?;
    if answer.get("reason").and_then(Value::as_str) == Some("kv_precondition") {
        let lost = precondition(&answer, |index| (index < count).then_some(index))?;
        return Ok(KvAnswer::Precondition(lost));
    }
    match answer.remove("results") {
        Some(Value::Array(results)) if results.len() == count && results.iter().all(Value::is_object) => {
            Ok(KvAnswer::Results(results))
        }
        _ => Err(Malformed("its answer has not one result for each operation")),
    }
}

/// How many places acknowledgements and pushed items take in the count of an answer.
fn places(operations: &[Value]) -> usize {
    let count = |operation: &Value| operation.get("items").and_then(Value::as_array).map_or(1, Vec::len);
    operations.iter().map(count).sum()
}

fn step_answer(body: &[u8], step: &Step) -> std::result::Result<StepAnswer, Malformed> {
    let mut answer = object(body)?;
    let before = places(&step.operations);
    let rows = step.guards.len() + step.kv.len();
    let success = answer.get("success").and_then(Value::as_bool);
    if success == Some(false) {
        let reason = answer.get("reason").and_then(Value::as_str).unwrap_or("refused").to_string();
        let lost = match &*reason {
            "kv_precondition" => {
                let place = |index: usize| index.checked_sub(before).filter(|index| *index < rows);
                Some(precondition(&answer, place)?)
            }
            _ => None,
        };
        return Ok(StepAnswer { results: Vec::new(), reason: Some(reason), precondition: lost });
    }
    let Some((true, Some(Value::Array(results)))) = success.map(|success| (success, answer.remove("results"))) else {
        return Err(Malformed("its answer does not say whether the step was done"));
    };
    // The guards are ours: the caller counts its own operations.
    let guards = step.guards.len();
    let mut own = Vec::with_capacity(results.len());
    for mut element in results {
        let Some(members) = element.as_object_mut() else {
            return Err(Malformed("a result in its answer is no object"));
        };
        let number = |member: &str| members.get(member).and_then(Value::as_u64).map(|number| number as usize);
        let Some(index) = number("index") else {
            return Err(Malformed("a result in its answer has no index"));
        };
        if members.get("type").and_then(Value::as_str) == Some("kv") {
            let place = number("opIndex").unwrap_or(index.saturating_sub(before));
            if place < guards {
                continue;
            }
            members.insert("opIndex".into(), (place - guards).into());
        }
        if index >= before + guards {
            members.insert("index".into(), (index - guards).into());
        }
        own.push(element);
    }
    Ok(StepAnswer { results: own, reason: None, precondition: None })
}

impl HttpStore {
    pub(super) fn operate(&self, operations: &[Value], until: Moment) -> Result<KvAnswer> {
        let body = json!({ "operations": operations }).to_string().into_bytes();
        let reads = operations.iter().all(is_read);
        let again = if reads { Again::Always } else { Again::Unsent };
        let call = Call { route: Route::Kv, body: Some(&body), again, until, hang: Duration::ZERO };
        match self.ask(&call, |body| kv_answer(body, operations.len())) {
            Ok((answer, _)) => Ok(answer),
            Err(failure) if reads => Err(failure.of_read()),
            Err(failure) => Err(failure.of_change()),
        }
    }

    pub(super) fn commit_step(&self, step: &Step, until: Moment) -> Result<StepAnswer> {
        let guards = step.guards.iter().map(|(name, hold)| check_of(name, hold.slot, hold.token));
        let rows: Vec<Value> = guards.chain(step.kv.iter().cloned()).collect();
        let mut whole = json!({ "operations": step.operations, "kv": rows });
        if !step.timers.is_empty() {
            whole["timers"] = Value::Array(step.timers.clone());
        }
        let body = whole.to_string().into_bytes();
        let call =
            Call { route: Route::Transaction, body: Some(&body), again: Again::Unsent, until, hang: Duration::ZERO };
        let (answer, _) = self.ask(&call, |body| step_answer(body, step)).map_err(Failure::of_change)?;
        Ok(answer)
    }
}

#[cfg(test)]
#[path = "tests/step.rs"]
mod tests;
