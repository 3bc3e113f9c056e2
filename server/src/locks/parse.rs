//! Reading a call, with every check in the order in which the first failure answers.

use std::collections::HashSet;
use std::time::Duration;

use fencehold::LockName;
use fencehold::internal::Hold;
use fencehold::internal::limits::MAX_PERMITS;
use fencehold::internal::operations::Refused;
use serde_json::{Map, Value};

use super::{KEYS_OF_GET, MAX_KEYS, MAX_OPERATIONS, MAX_TEXT_BYTES, MAX_WAIT_MS};
use crate::lines::Asked;

/// Longer lifetimes are as long as this: about 290 years.
const LONGEST_SECONDS: u64 = 1 << 33;

/// One operation of a call.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Acquire(Asked),
    Renew { asked: Asked, hold: Hold },
    Release { asked: Asked, hold: Hold },
    Get { name: String },
    Leave { name: String, owner: String },
}

impl Operation {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Acquire(asked) | Self::Renew { asked, .. } | Self::Release { asked, .. } => &asked.name,
            Self::Get { name } | Self::Leave { name, .. } => name,
        }
    }

    fn keys(&self) -> u64 {
        match self {
            Self::Acquire(asked) => asked.permits.into(),
            Self::Get { .. } => KEYS_OF_GET,
            _ => 1,
        }
    }
}

/// A whole call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) operations: Vec<Operation>,
    /// How long its one acquire may wait.
    pub(crate) wait: Option<Duration>,
}

impl Call {
    /// How many rows it may add.
    pub(crate) fn new_rows(&self) -> u64 {
        self.operations.iter().filter(|operation| matches!(operation, Operation::Acquire(_))).count() as u64
    }

    /// Whether nothing of it writes.
    pub(crate) fn only_reads(&self) -> bool {
        self.operations.iter().all(|operation| matches!(operation, Operation::Get { .. }))
    }
}

fn refused(reason: &'static str, detail: impl Into<String>) -> Refused {
    Refused { status: 400, reason, detail: detail.into() }
}

/// Reads the body of a call.
///
/// # Errors
/// The first check that fails.
pub(crate) fn parse(body: &[u8]) -> Result<Call, Refused> {
    let shape =
        || refused("locks_bad_body", "the body is a list of operations, or an object with the list `operations`");
    let operations = match serde_json::from_slice(body) {
        Ok(Value::Array(operations)) => operations,
        Ok(Value::Object(mut members)) => match members.remove("operations") {
            Some(Value::Array(operations)) => operations,
            _ => return Err(shape()),
        },
        _ => return Err(shape()),
    };
    if operations.len() > MAX_OPERATIONS {
        let detail = format!("{} operations in one call; at most {MAX_OPERATIONS} are taken", operations.len());
        return Err(refused("locks_too_many_ops", detail));
    }
    let mut wait = None;
    let mut parsed = Vec::with_capacity(operations.len());
    for (index, value) in operations.iter().enumerate() {
        let numbered = |failure: Refused| Refused { detail: format!("op {index}: {}", failure.detail), ..failure };
        let (operation, own_wait) = operation(value).map_err(numbered)?;
        if own_wait.is_some() && operations.len() != 1 {
            let failure = refused("locks_wait_not_alone", "an acquire that waits is a call of its own");
            return Err(numbered(failure));
        }
        wait = wait.or(own_wait);
        parsed.push(operation);
    }
    let mut seen = HashSet::new();
    if let Some(twice) = parsed.iter().find(|operation| !seen.insert(operation.name())) {
        let detail = format!("two operations of one call name the lock {:?}; send them one by one", twice.name());
        return Err(refused("locks_duplicate_in_call", detail));
    }
    let keys: u64 = parsed.iter().map(Operation::keys).sum();
    if keys > MAX_KEYS {
        let detail =
            format!("the call is about {keys} permits; at most {MAX_KEYS} are taken, and a get counts as 1000");
        return Err(refused("locks_too_many_keys", detail));
    }
    Ok(Call { operations: parsed, wait })
}

fn operation(value: &Value) -> Result<(Operation, Option<Duration>), Refused> {
    let Value::Object(members) = value else {
        return Err(refused("locks_bad_request", "an operation is a JSON object"));
    };
    let op = members.get("op").and_then(Value::as_str).unwrap_or_default();
    if !["acquire", "renew", "release", "get", "leave"].contains(&op) {
        let detail = format!("the operation {op:?} is none of acquire, renew, release, get");
        return Err(refused("locks_unknown_op", detail));
    }
    if let Some(member) = ["tenant", "tenantId", "_tenant"].iter().find(|member| members.contains_key(**member)) {
        return Err(refused("locks_tenant_not_an_input", format!("{member} is no member of an operation")));
    }
    let name = name(members)?;
    let asked =
        |ttl: Duration| Asked { name: name.clone(), permits: 1, owner: String::new(), label: None, ttl, fair: false };
    let operation = match op {
        "acquire" => {
            let permits = limit(members)?;
            let ttl = ttl(members)?;
            let owner = text(members, "owner", "locks_bad_owner")?.unwrap_or_default();
            let label = text(members, "label", "locks_bad_label")?;
            let wait = wait(members)?;
            let fair = match members.get("fair") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(fair)) => *fair,
                Some(_) => return Err(refused("locks_bad_request", "fair is true or false")),
            };
            if fair && owner.is_empty() {
                return Err(refused("locks_owner_required", "a place in line belongs to an owner"));
            }
            return Ok((Operation::Acquire(Asked { permits, owner, label, fair, ..asked(ttl) }), wait));
        }
        "renew" => {
            let slot = slot(members)?;
            let token = token(members)?;
            let ttl = ttl(members)?;
            let owner = text(members, "owner", "locks_bad_owner")?.unwrap_or_default();
            Operation::Renew { asked: Asked { owner, ..asked(ttl) }, hold: Hold { slot, token } }
        }
        "release" => {
            let slot = slot(members)?;
            let token = token(members)?;
            Operation::Release { asked: asked(Duration::ZERO), hold: Hold { slot, token } }
        }
        "leave" => match text(members, "owner", "locks_bad_owner")? {
            Some(owner) => Operation::Leave { name, owner },
            None => return Err(refused("locks_owner_required", "a place in line belongs to an owner")),
        },
        _ => Operation::Get { name },
    };
    Ok((operation, None))
}

fn name(members: &Map<String, Value>) -> Result<String, Refused> {
    match members.get("name").and_then(Value::as_str).map(str::parse::<LockName>) {
        Some(Ok(name)) => Ok(name.as_str().to_string()),
        _ => {
            let detail = "the name is 1 to 256 bytes of text without control characters and without '#'";
            Err(refused("locks_bad_name", detail))
        }
    }
}

/// A whole number, written as one.
fn whole(value: &Value, least: u64, most: u64) -> Option<u64> {
    value.as_u64().filter(|number| (least..=most).contains(number))
}

fn limit(members: &Map<String, Value>) -> Result<u32, Refused> {
    match members.get("limit") {
        None | Some(Value::Null) => Ok(1),
        Some(value) => match whole(value, 1, MAX_PERMITS.into()) {
            Some(limit) => Ok(limit as u32),
            None => Err(refused("locks_bad_limit", format!("limit is a whole number from 1 to {MAX_PERMITS}"))),
        },
    }
}

fn slot(members: &Map<String, Value>) -> Result<u32, Refused> {
    match members.get("slot") {
        None | Some(Value::Null) => Ok(0),
        Some(value) => match whole(value, 0, u64::from(MAX_PERMITS) - 1) {
            Some(slot) => Ok(slot as u32),
            None => Err(refused("locks_bad_slot", format!("slot is a whole number from 0 to {}", MAX_PERMITS - 1))),
        },
    }
}

fn ttl(members: &Map<String, Value>) -> Result<Duration, Refused> {
    if members.contains_key("forever") {
        let detail = "a lock is never taken forever: nobody could take it back from a holder that died";
        return Err(refused("locks_ttl_required", detail));
    }
    match members.get("ttlSeconds") {
        None => Err(refused("locks_ttl_required", "ttlSeconds is missing: how long the lock is held unless renewed")),
        Some(value) => match whole(value, 1, u64::MAX) {
            Some(seconds) => Ok(Duration::from_secs(seconds.min(LONGEST_SECONDS))),
            None => Err(refused("locks_bad_ttl", "ttlSeconds is a whole number above zero")),
        },
    }
}

fn token(members: &Map<String, Value>) -> Result<u64, Refused> {
    match members.get("token") {
        None => Err(refused("locks_token_required", "token is missing: the one of the last grant or renewal")),
        Some(value) => match whole(value, 1, u64::MAX) {
            Some(token) => Ok(token),
            None => Err(refused("locks_bad_token", "token is a whole number above zero")),
        },
    }
}

fn text(members: &Map<String, Value>, member: &str, reason: &'static str) -> Result<Option<String>, Refused> {
    match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text))
            if (1..=MAX_TEXT_BYTES).contains(&text.len()) && !text.chars().any(char::is_control) =>
        {
            Ok(Some(text.clone()))
        }
        Some(_) => {
            let detail = format!("{member} is 1 to {MAX_TEXT_BYTES} bytes of text without control characters");
            Err(refused(reason, detail))
        }
    }
}

fn wait(members: &Map<String, Value>) -> Result<Option<Duration>, Refused> {
    match members.get("waitMs") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match whole(value, 0, MAX_WAIT_MS) {
            Some(millis) => Ok(Some(Duration::from_millis(millis))),
            None => Err(refused("locks_bad_wait", format!("waitMs is a whole number from 0 to {MAX_WAIT_MS}"))),
        },
    }
}
