//! Comparing what happened with what a step expects.

use std::collections::HashMap;

use fencehold::Error;
use serde_json::{Value, json};

use crate::player::{Answer, Handle, Player, Seen};

/// Refuses keys that nobody would look at.
pub(crate) fn known_keys(object: &Value, known: &[&str]) -> Result<(), String> {
    let object = object.as_object().ok_or_else(|| format!("not an object: {object}"))?;
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("the key {key:?} is not known here")),
        None => Ok(()),
    }
}

fn same(what: &str, wanted: &Value, found: &Value) -> Result<(), String> {
    if wanted == found { Ok(()) } else { Err(format!("{what}: expected {wanted}, found {found}")) }
}

/// The answer of the step's call.
pub(crate) fn answer(step: &Value, answer: &Answer) -> Result<(), String> {
    let wanted = step.get("expect_error");
    match answer {
        Answer::Raised(error) => match wanted {
            Some(wanted) => raised(wanted, error),
            None => Err(format!("it raised {}/{}: {error}", error.kind().id(), error.reason())),
        },
        Answer::Body => match wanted {
            Some(wanted) => same("expect_error", wanted, &json!({ "kind": "body" })),
            None => Err("the body's error came back".into()),
        },
        _ if wanted.is_some() => Err(format!("it did not raise {}", step["expect_error"])),
        Answer::Nothing => match step.get("expect") {
            Some(expect) => Err(format!("this step has no answer, but {expect} is expected")),
            None => Ok(()),
        },
        Answer::Bool(found) => same("expect", step.get("expect").unwrap_or(&Value::Null), &json!(found)),
        Answer::Texts(found) => same("expect", step.get("expect").unwrap_or(&Value::Null), &json!(found)),
    }
}

fn raised(wanted: &Value, error: &Error) -> Result<(), String> {
    known_keys(wanted, &["kind", "reason", "retry", "late", "refusal", "mentions"])?;
    let shown = |problem: String| format!("{problem}; the error is: {error}");
    for (key, wanted) in wanted.as_object().into_iter().flatten() {
        let found = match key.as_str() {
            "kind" => json!(error.kind().id()),
            "reason" => json!(error.reason()),
            "retry" => json!(error.retry().id()),
            "late" => json!(error.late_by().is_some_and(|by| !by.is_zero())),
            "refusal" => json!(error.refusal().map(|refusal| refusal.reason.id())),
            _ => {
                let words = wanted.as_array().filter(|words| !words.is_empty()).ok_or("mentions nothing")?;
                let message = error.to_string();
                let missing = words.iter().find(|word| !word.as_str().is_some_and(|word| message.contains(word)));
                if let Some(missing) = missing {
                    return Err(shown(format!("its message does not have {missing}")));
                }
                continue;
            }
        };
        same(key, wanted, &found).map_err(shown)?;
    }
    if wanted["kind"].is_string() { Ok(()) } else { Err("an expected error without a kind".into()) }
}

/// What the handle is like after the step.
pub(crate) fn handle(
    player: &Player,
    step: &Value,
    handle: &Handle,
    before: &HashMap<String, Seen>,
) -> Result<(), String> {
    let lock = &handle.lock;
    for (key, wanted) in step.as_object().into_iter().flatten() {
        let found = match key.as_str() {
            "held" => json!(lock.held()),
            "lost" => json!(lock.lost_reason().map(|reason| reason.id())),
            "lost_calls" => json!(*handle.lost_calls.lock().expect("no handler panics")),
            "last_error" => json!(lock.last_error().map(|error| error.kind().id())),
            "slot" => json!(lock.slot().ok()),
            "ttl_ms" => json!(lock.ttl().as_millis() as u64),
            "owner" => json!(lock.owner()),
            "name_is" => json!(lock.name()),
            "position" => json!(lock.position()),
            "readable" => readable(handle)?,
            "refusal" => {
                refusal(player, handle, wanted)?;
                continue;
            }
            "remaining_ms" => {
                let left = lock.remaining().as_millis() as u64;
                let limits = wanted[0].as_u64().zip(wanted[1].as_u64()).ok_or("remaining_ms has two numbers")?;
                if left < limits.0 || left > limits.1 {
                    return Err(format!("remaining_ms: expected {wanted}, found {left}"));
                }
                continue;
            }
            "fence_above" | "fence_is" | "token_above" | "token_is" => {
                numbers(key, wanted, handle, before)?;
                continue;
            }
            _ => continue,
        };
        same(key, wanted, &found)?;
    }
    Ok(())
}

fn readable(handle: &Handle) -> Result<Value, String> {
    let lock = &handle.lock;
    let errors = [lock.token().err(), lock.fence().err(), lock.slot().err()];
    let count = errors.iter().flatten().count();
    if let Some(error) = errors.iter().flatten().find(|error| error.kind().id() != "not_held") {
        return Err(format!("readable: another error than not_held: {error}"));
    }
    match count {
        0 => Ok(json!(true)),
        3 => Ok(json!(false)),
        _ => Err("readable: some of token, fence and slot can be read and some cannot".into()),
    }
}

fn refusal(player: &Player, handle: &Handle, wanted: &Value) -> Result<(), String> {
    let found = handle.lock.refusal();
    let Some(found) = found else { return same("refusal", wanted, &Value::Null) };
    known_keys(wanted, &["reason", "holders"]).map_err(|error| format!("refusal {}: {error}", found.reason.id()))?;
    same("refusal.reason", &wanted["reason"], &json!(found.reason.id()))?;
    match wanted.get("holders") {
        Some(holders) => same("refusal.holders", holders, &json!(player.ids(&found.holders, holders)?)),
        None => Ok(()),
    }
}

fn numbers(key: &str, other: &Value, handle: &Handle, before: &HashMap<String, Seen>) -> Result<(), String> {
    let other = other.as_str().ok_or_else(|| format!("{key} names no handle"))?;
    let seen = before.get(other).ok_or_else(|| format!("{key}: nothing was seen of {other} yet"))?;
    let (now, then) = if key.starts_with("fence") {
        (handle.lock.fence().map_err(|error| error.to_string())?, seen.fence)
    } else {
        (handle.lock.token().map_err(|error| error.to_string())?, seen.token)
    };
    let holds = if key.ends_with("above") { now.get() > then } else { now.get() == then };
    if holds { Ok(()) } else { Err(format!("{key} {other}: it is {now:?}, and was {then}")) }
}
