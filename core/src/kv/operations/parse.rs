//! Reading a call, with every check in the order in which the first failure answers.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{MAX_KEY_BYTES, MAX_PAGE, MAX_STORE_KEY_BYTES, MAX_VALUE_BYTES, QUEUES, Refused};

/// Where operations come from, which decides how many there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A call of its own.
    Call,
    /// Part of a transaction.
    Transaction,
}

impl Scope {
    const fn most_operations(self) -> usize {
        match self {
            Self::Call => 256,
            Self::Transaction => 64,
        }
    }

    const fn most_keys(self) -> u64 {
        match self {
            Self::Call => 1024,
            Self::Transaction => 256,
        }
    }
}

/// When a written row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// After this many seconds.
    Seconds(u64),
    /// Never.
    Forever,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Reads one row.
    Get {
        /// Which.
        key: String,
    },
    /// Reads the rows with these keys.
    GetMany {
        /// Which.
        keys: Vec<String>,
    },
    /// Reads a page of rows.
    GetPrefix {
        /// What their keys start with.
        prefix: String,
        /// The key after which the page begins.
        after: Option<String>,
        /// The most rows.
        limit: u64,
        /// Whether the values are left out.
        keys_only: bool,
    },
    /// Writes a row: `put` and `putIfAbsent`.
    Put {
        /// Which.
        key: String,
        /// What it holds from now on.
        value: Value,
        /// When it ends.
        expiry: Expiry,
        /// The version that it must have; 0: it must not be there.
        expect: Option<u64>,
        /// Whether it was called `putIfAbsent`.
        if_absent: bool,
    },
    /// Removes a row.
    Delete {
        /// Which.
        key: String,
        /// The version that it must have.
        expect: Option<u64>,
    },
    /// Adds to a number.
    Incr {
        /// Which.
        key: String,
        /// What is added.
        delta: Value,
        /// The lowest result.
        min: Option<Value>,
        /// The highest result.
        max: Option<Value>,
        /// When a row that is created here ends.
        expiry: Expiry,
    },
    /// Compares the version of a row and writes nothing.
    Check {
        /// Which.
        key: String,
        /// The version that it must have; 0: it must not be there.
        expect: u64,
    },
}

/// One operation of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The namespace.
    pub namespace: String,
    /// What it does.
    pub action: Action,
    /// Whether its loss takes the whole call back.
    pub required: bool,
}

impl Operation {
    /// The operation's name on the wire.
    pub const fn name(&self) -> &'static str {
        match &self.action {
            Action::Get { .. } => "get",
            Action::GetMany { .. } => "getMany",
            Action::GetPrefix { .. } => "getPrefix",
            Action::Put { if_absent: false, .. } => "put",
            Action::Put { if_absent: true, .. } => "putIfAbsent",
            Action::Delete { .. } => "delete",
            Action::Incr { .. } => "incr",
            Action::Check { .. } => "check",
        }
    }

    /// Whether it writes, or is judged as a write is.
    pub const fn is_write(&self) -> bool {
        !matches!(&self.action, Action::Get { .. } | Action::GetMany { .. } | Action::GetPrefix { .. })
    }

    /// The key that it writes or checks.
    pub fn written_key(&self) -> Option<&str> {
        match &self.action {
            Action::Put { key, .. } | Action::Delete { key, .. } | Action::Incr { key, .. } => Some(key),
            Action::Check { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// Reads a call.
///
/// # Errors
/// The first check that fails, in the order of the wire.
pub fn parse(operations: &[Value], scope: Scope) -> Result<Vec<Operation>, Refused> {
    let most = scope.most_operations();
    if operations.len() > most {
        let detail = format!("{} operations in one call; at most {most} are taken", operations.len());
        return Err(Refused::new("kv_too_many_ops", detail));
    }
    let parsed = operations
        .iter()
        .enumerate()
        .map(|(index, value)| {
            operation(value, scope)
                .map_err(|refused| Refused { detail: format!("op {index}: {}", refused.detail), ..refused })
        })
        .collect::<Result<Vec<Operation>, Refused>>()?;
    let mut seen = HashSet::new();
    for operation in &parsed {
        if let Some(key) = operation.written_key()
            && !seen.insert((operation.namespace.as_str(), key))
        {
            let detail = format!("two operations of one call write or check the key {key:?}; send them one by one");
            return Err(Refused::new("kv_duplicate_key_in_call", detail));
        }
    }
    let keys: u64 = parsed
        .iter()
        .map(|operation| match &operation.action {
            Action::GetMany { keys } => keys.len() as u64,
            Action::GetPrefix { limit, .. } => *limit,
            _ => 1,
        })
        .sum();
    if keys > scope.most_keys() {
        let detail = format!("the call is about {keys} keys; at most {} are taken", scope.most_keys());
        return Err(Refused::new("kv_too_many_keys", detail));
    }
    Ok(parsed)
}

fn bad(detail: impl Into<String>) -> Refused {
    Refused::new("kv_bad_request", detail)
}

fn operation(value: &Value, scope: Scope) -> Result<Operation, Refused> {
    let Value::Object(members) = value else { return Err(bad("an operation is a JSON object")) };
    let op = members.get("op").and_then(Value::as_str).unwrap_or_default();
    let known = ["get", "getMany", "getPrefix", "put", "putIfAbsent", "delete", "incr", "check"];
    if !known.contains(&op) {
        return Err(Refused::new("kv_unknown_op", format!("the operation {op:?} is none of {}", known.join(", "))));
    }
    if let Some(member) = ["tenant", "tenantId", "_tenant"].iter().find(|member| members.contains_key(**member)) {
        return Err(Refused::new("kv_tenant_not_an_input", format!("{member} is no member of an operation")));
    }
    let namespace = namespace(members)?;
    if namespace == QUEUES && !op.starts_with("get") {
        return Err(Refused::new("kv_bad_namespace", format!("the rows of {QUEUES} belong to the store")));
    }
    let action = match op {
        "get" => Action::Get { key: key(members, namespace)? },
        "getMany" => Action::GetMany { keys: keys(members, namespace)? },
        "getPrefix" => page(members, scope)?,
        "put" | "putIfAbsent" => {
            let key = key(members, namespace)?;
            let expiry = expiry(members)?;
            let value = written_value(members)?;
            let expect = expect(members)?;
            let if_absent = op == "putIfAbsent";
            if if_absent && expect.is_some_and(|version| version != 0) {
                return Err(Refused::new("kv_bad_expect", "putIfAbsent expects version 0 and no other"));
            }
            let expect = if if_absent { Some(0) } else { expect };
            Action::Put { key, value, expiry, expect, if_absent }
        }
        "delete" => Action::Delete { key: key(members, namespace)?, expect: expect(members)? },
        "check" => {
            let key = key(members, namespace)?;
            let missing = || Refused::new("kv_bad_expect", "a check needs expect");
            Action::Check { key, expect: expect(members)?.ok_or_else(missing)? }
        }
        _ => increment(members, namespace)?,
    };
    let required = match members.get("required") {
        None => false,
        Some(Value::Bool(required)) => *required,
        Some(_) => return Err(bad("required is true or false")),
    };
    Ok(Operation { namespace: namespace.to_string(), action, required })
}

fn namespace(members: &Map<String, Value>) -> Result<&str, Refused> {
    let text = members.get("ns").and_then(Value::as_str).unwrap_or_default();
    let is_start = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |byte: &u8| is_start(byte) || matches!(byte, b'.' | b'_' | b'-');
    let bytes = text.as_bytes();
    if bytes.len() <= 64 && bytes.first().is_some_and(is_start) && bytes.iter().all(is_part) {
        return Ok(text);
    }
    let detail = "ns is 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit";
    Err(Refused::new("kv_bad_namespace", detail))
}

fn checked_key(value: Option<&Value>, namespace: &str) -> Result<String, Refused> {
    let Some(key) = value.and_then(Value::as_str).filter(|key| !key.is_empty() && !key.contains('\0')) else {
        return Err(Refused::new("kv_bad_key", "a key is a text that is not empty and has no NUL"));
    };
    if key.len() > MAX_KEY_BYTES || namespace.len() + 1 + key.len() > MAX_STORE_KEY_BYTES {
        let detail = format!("a key of {} bytes in {namespace} is too long", key.len());
        return Err(Refused::new("kv_key_too_large", detail));
    }
    Ok(key.to_string())
}

fn key(members: &Map<String, Value>, namespace: &str) -> Result<String, Refused> {
    checked_key(members.get("key"), namespace)
}

fn keys(members: &Map<String, Value>, namespace: &str) -> Result<Vec<String>, Refused> {
    let Some(Value::Array(keys)) = members.get("keys") else { return Err(bad("keys is an array")) };
    keys.iter().map(|key| checked_key(Some(key), namespace)).collect()
}

fn page(members: &Map<String, Value>, scope: Scope) -> Result<Action, Refused> {
    let prefix = members.get("prefix").and_then(Value::as_str).unwrap_or_default();
    if prefix.is_empty() {
        return Err(Refused::new("kv_prefix_required", "a page needs a prefix that is not empty"));
    }
    if scope == Scope::Transaction {
        let detail = "a transaction cannot read by prefix: a getPrefix is a call of its own";
        return Err(Refused::new("kv_get_prefix_not_allowed_in_transaction", detail));
    }
    let after = match members.get("after") {
        None | Some(Value::Null) => None,
        Some(Value::String(after)) => Some(after.clone()),
        Some(_) => return Err(bad("after is a key")),
    };
    let limit = match members.get("limit") {
        None | Some(Value::Null) => 100,
        Some(limit) => match whole(limit) {
            Some(limit) => limit.clamp(1, MAX_PAGE),
            None if limit.as_f64().is_some_and(|limit| limit < 0.0) => 1,
            None => return Err(bad("limit is a whole number")),
        },
    };
    let keys_only = match members.get("keysOnly") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(keys_only)) => *keys_only,
        Some(_) => return Err(bad("keysOnly is true or false")),
    };
    Ok(Action::GetPrefix { prefix: prefix.to_string(), after, limit, keys_only })
}

/// A whole number that is not negative, which may be written `7.0`.
fn whole(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    // Exact up to 2^53, which is all that such a number can mean.
    let number = value.as_f64()?;
    (number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number)).then_some(number as u64)
}

fn expiry(members: &Map<String, Value>) -> Result<Expiry, Refused> {
    let seconds = match members.get("ttlSeconds") {
        None => None,
        Some(value) => match whole(value) {
            Some(seconds) if seconds > 0 => Some(seconds),
            _ => return Err(Refused::new("kv_bad_ttl", "ttlSeconds is a whole number above zero")),
        },
    };
    match (seconds, members.get("forever") == Some(&Value::Bool(true))) {
        (Some(seconds), false) => Ok(Expiry::Seconds(seconds)),
        (None, true) => Ok(Expiry::Forever),
        _ => {
            let detail = "a write says when its row ends: either ttlSeconds or \"forever\": true";
            Err(Refused::new("kv_expiry_not_specified", detail))
        }
    }
}

fn written_value(members: &Map<String, Value>) -> Result<Value, Refused> {
    let Some(value) = members.get("value") else { return Err(bad("a put needs a value")) };
    let bytes = value.to_string().len();
    if bytes > MAX_VALUE_BYTES {
        let detail = format!("a value of {bytes} bytes; at most {MAX_VALUE_BYTES} are taken");
        return Err(Refused::new("kv_value_too_large", detail));
    }
    Ok(value.clone())
}

fn expect(members: &Map<String, Value>) -> Result<Option<u64>, Refused> {
    match members.get("expect") {
        None => Ok(None),
        Some(value) => match whole(value) {
            Some(version) => Ok(Some(version)),
            None => Err(Refused::new("kv_bad_expect", "expect is a version: a whole number from 0 on")),
        },
    }
}

fn increment(members: &Map<String, Value>, namespace: &str) -> Result<Action, Refused> {
    let key = key(members, namespace)?;
    let expiry = expiry(members)?;
    if members.contains_key("expect") {
        return Err(bad("an incr expects no version"));
    }
    let number = |member: &str| match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(value) if value.is_number() => Ok(Some(value.clone())),
        Some(_) => Err(bad(format!("{member} is a number"))),
    };
    let Some(delta) = number("delta")? else { return Err(bad("an incr needs a delta")) };
    Ok(Action::Incr { key, delta, min: number("min")?, max: number("max")?, expiry })
}
