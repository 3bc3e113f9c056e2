//! Values of the core as plain JavaScript objects; the JavaScript layer makes its classes of them.

use std::time::SystemTime;

use fencehold::{Commit, Error, Holder, LockInfo, Refusal, ValueRow, Waiter, Written, unix_millis};
use serde_json::Value as Json;

use crate::js::{Answer, Env, Fail};
use crate::mailbox::Outcome;

fn time(env: Env, time: Option<SystemTime>) -> Answer {
    time.map_or_else(|| env.null(), |time| env.number(unix_millis(time) as f64))
}

fn holder(env: Env, holder: &Holder) -> Answer {
    env.object(&[
        ("slot", env.number(f64::from(holder.slot))?),
        ("token", env.bigint(holder.token)?),
        ("owner", env.text_or_null(holder.owner.as_deref())?),
        ("label", env.text_or_null(holder.label.as_deref())?),
        ("since", time(env, holder.since)?),
        ("renewedAt", time(env, holder.renewed_at)?),
        ("expiresAt", time(env, holder.expires_at)?),
    ])
}

fn holders(env: Env, all: &[Holder]) -> Answer {
    env.array(all.iter().map(|one| holder(env, one)))
}

fn waiter(env: Env, waiter: &Waiter) -> Answer {
    env.object(&[
        ("position", env.number(f64::from(waiter.position))?),
        ("owner", env.text(&waiter.owner)?),
        ("label", env.text_or_null(waiter.label.as_deref())?),
        ("since", time(env, waiter.since)?),
    ])
}

fn lock_info(env: Env, info: &LockInfo) -> Answer {
    env.object(&[
        ("name", env.text(&info.name)?),
        ("held", env.bool(info.held)?),
        ("holders", holders(env, &info.holders)?),
        ("waiters", env.array(info.waiters.iter().map(|one| waiter(env, one)))?),
    ])
}

pub(crate) fn refusal(env: Env, refusal: &Refusal) -> Answer {
    env.object(&[
        ("reason", env.text(refusal.reason.id())?),
        ("holders", holders(env, &refusal.holders)?),
        ("waiting", env.number(f64::from(refusal.waiting))?),
    ])
}

/// Describes an error; `lock` is named where the error names none.
pub(crate) fn error(env: Env, error: &Error, lock: Option<&str>) -> Answer {
    let message = match lock {
        Some(name) if error.lock().is_none() => format!("lock \"{name}\": {error}"),
        _ => error.to_string(),
    };
    let late_by = match error.late_by() {
        Some(late_by) => env.number(late_by.as_secs_f64() * 1000.0)?,
        None => env.null()?,
    };
    env.object(&[
        ("kind", env.text(error.kind().id())?),
        ("reason", env.text(error.reason())?),
        ("message", env.text(&message)?),
        ("lock", env.text_or_null(error.lock().or(lock))?),
        ("store", env.text_or_null(error.store())?),
        ("retry", env.text(error.retry().id())?),
        ("until", time(env, error.until())?),
        ("lateByMs", late_by),
        ("refusal", error.refusal().map_or_else(|| env.null(), |one| refusal(env, one))?),
        ("cause", error.cause().map_or_else(|| env.null(), |cause| self::error(env, cause, lock))?),
    ])
}

fn step(env: Env, commit: &Commit, refused: Option<&Error>) -> Answer {
    let result = commit.result();
    env.object(&[
        ("success", env.bool(result.success)?),
        ("reason", env.text_or_null(result.reason.as_deref())?),
        ("results", env.array(result.results.iter().map(|one| json(env, one)))?),
        ("precondition", result.precondition.as_ref().map_or_else(|| env.null(), |one| json(env, one))?),
        ("error", refused.map_or_else(|| env.null(), |why| error(env, why, None))?),
    ])
}

/// JSON as JavaScript values. An integer that a number cannot say exactly is a bigint.
fn json(env: Env, value: &Json) -> Answer {
    /// 2^53 - 1
    const SAFE: u64 = 9_007_199_254_740_991;
    match value {
        Json::Null => env.null(),
        Json::Bool(value) => env.bool(*value),
        Json::String(text) => env.text(text),
        Json::Array(items) => env.array(items.iter().map(|item| json(env, item))),
        Json::Object(members) => {
            let members: Answer<Vec<_>> =
                members.iter().map(|(name, member)| Ok((name.as_str(), json(env, member)?))).collect();
            env.object(&members?)
        }
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) if number > SAFE => env.bigint(number),
            (None, Some(number)) if number.unsigned_abs() > SAFE => env.negative_bigint(number),
            _ => env.number(number.as_f64().unwrap_or(f64::NAN)),
        },
    }
}

fn row(env: Env, row: &ValueRow) -> Answer {
    env.object(&[
        ("key", env.text(&row.key)?),
        ("value", json(env, &row.value)?),
        ("version", env.bigint(row.version)?),
    ])
}

fn rows(env: Env, all: &[ValueRow]) -> Answer {
    env.array(all.iter().map(|one| row(env, one)))
}

fn written(env: Env, written: &Written) -> Answer {
    let (reason, version, value) = match written {
        Written::Applied { version, value } => (None, *version, value),
        Written::Lost { reason, version, value } => (Some(reason.as_str()), *version, value),
    };
    env.object(&[
        ("applied", env.bool(written.is_applied())?),
        ("version", env.bigint(version)?),
        ("value", json(env, value)?),
        ("reason", env.text_or_null(reason)?),
    ])
}

/// What a call answers: a number is the number of the hold, an object is a refusal.
pub(crate) fn outcome(env: Env, outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::Done => env.undefined(),
        Outcome::Bool(value) => env.bool(*value),
        Outcome::Granted(epoch) => env.number(*epoch as f64),
        Outcome::Refused(why) => refusal(env, why),
        Outcome::Holders(all) => holders(env, all),
        Outcome::Lock(info) => lock_info(env, info),
        Outcome::Step(commit, refused) => step(env, commit, refused.as_ref()),
        Outcome::Row(found) => found.as_ref().map_or_else(|| env.null(), |one| row(env, one)),
        Outcome::Rows(all) => rows(env, all),
        Outcome::Page(all, next) => {
            env.object(&[("rows", rows(env, all)?), ("nextAfter", env.text_or_null(next.as_deref())?)])
        }
        Outcome::Written(done) => written(env, done),
        Outcome::Locks(all) => env.array(all.iter().map(|one| lock_info(env, one))),
    }
}

/// What a native function answers when the thing it was asked about is not there.
pub(crate) fn gone(what: &str) -> Fail {
    Error::internal(format!("no such {what}")).into()
}
