//! Rows of users: small values beside the locks.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Client;
use crate::backend::{KvAnswer, LostPrecondition};
use crate::{Error, Kind, Result};

/// When a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// After this long, rounded up to whole seconds.
    After(Duration),
    /// Never.
    Forever,
}

impl Expiry {
    fn write(self, members: &mut Map<String, Value>) {
        match self {
            Self::Forever => members.insert("forever".into(), true.into()),
            Self::After(time) => {
                let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
                members.insert("ttlSeconds".into(), seconds.into())
            }
        };
    }
}

/// A row as it is stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValueRow {
    /// Its key.
    pub key: String,
    /// What it holds.
    pub value: Value,
    /// Rises with every write on the whole store.
    pub version: u64,
}

/// What became of a write or a check.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a write that lost changed nothing"]
pub enum Written {
    /// It was done. The version is the row's new one; of a delete the removed row's.
    Applied {
        /// The row's version.
        version: u64,
        /// The row's value; null for a check.
        value: Value,
    },
    /// The row was not as expected, and nothing was changed.
    Lost {
        /// `exists`, `absent`, `version`, `limit` or `type`.
        reason: String,
        /// The version of the row in the way; 0: there is none.
        version: u64,
        /// The row's value.
        value: Value,
    },
}

impl Written {
    /// Whether it was done.
    pub fn is_applied(&self) -> bool {
        matches!(self, Self::Applied { .. })
    }
}

/// What became of a call of operations that the caller wrote itself.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a call that lost a required operation changed nothing"]
pub enum KvCall {
    /// One element for each operation, as the wire has them.
    Results(Vec<Value>),
    /// A required operation lost, and nothing was written:
    /// `{"ok", "reason", "failedIndex", "kvReason", "version", "value"}`.
    Precondition(Value),
}

pub(crate) fn precondition_json(lost: &LostPrecondition) -> Value {
    json!({
        "ok": false, "reason": "kv_precondition", "failedIndex": lost.index, "kvReason": lost.reason,
        "version": lost.version, "value": lost.value,
    })
}

/// The rows of users in one namespace: values up to 64 KiB with versions, expiry and conditions.
///
/// ```
/// use fencehold::{Client, Expiry};
/// use serde_json::json;
///
/// let client = Client::open("memory:")?;
/// let rows = client.kv("reports");
/// assert!(rows.put_if_absent("2026-11", json!({"state": "new"}), Expiry::Forever)?.is_applied());
/// assert!(!rows.put_if_absent("2026-11", json!(0), Expiry::Forever)?.is_applied());
/// assert_eq!(rows.get("2026-11")?.unwrap().value["state"], "new");
/// # Ok::<(), fencehold::Error>(())
/// ```
///
/// Every function may answer `unsupported` (the store keeps no rows), `invalid` with a `kv_…`
/// reason, `unreachable`, and, for a write that was sent and not answered, `in_doubt`: such a write
/// is never sent again by itself.
#[derive(Clone, Debug)]
pub struct Kv {
    client: Client,
    namespace: String,
}

impl Client {
    /// The rows of `namespace`: 1 to 64 of a-z, 0-9, `.`, `_` and `-`.
    pub fn kv(&self, namespace: &str) -> Kv {
        Kv { client: self.clone(), namespace: namespace.to_string() }
    }

    /// Does operations on rows that are given as the wire's JSON objects, in one atomic call.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn kv_call(&self, operations: &[Value]) -> Result<KvCall> {
        let answer = self.ask("", |session, until| session.backend().kv(operations, until))?;
        Ok(match answer {
            KvAnswer::Results(results) => KvCall::Results(results),
            KvAnswer::Precondition(lost) => KvCall::Precondition(precondition_json(&lost)),
        })
    }
}

impl Kv {
    fn one(&self, op: &str, members: Value) -> Result<Value> {
        let Value::Object(mut members) = members else { return Err(Error::internal("an operation is an object")) };
        members.insert("op".into(), op.into());
        members.insert("ns".into(), self.namespace.as_str().into());
        match self.client.kv_call(&[Value::Object(members)])? {
            KvCall::Results(results) => results
                .into_iter()
                .next()
                .ok_or_else(|| Error::new(Kind::Store, "bad_answer", "no element came back for the operation")),
            KvCall::Precondition(lost) => Ok(lost),
        }
    }

    fn written(&self, op: &str, members: Value) -> Result<Written> {
        let element = self.one(op, members)?;
        let version = element["version"].as_u64().unwrap_or(0);
        let value = element["value"].clone();
        Ok(if element["applied"] == true {
            Written::Applied { version, value }
        } else {
            let reason = element["reason"].as_str().unwrap_or("version").to_string();
            Written::Lost { reason, version, value }
        })
    }

    /// The row at `key`.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn get(&self, key: &str) -> Result<Option<ValueRow>> {
        let element = self.one("get", json!({"key": key}))?;
        Ok((element["found"] == true).then(|| row(&element)))
    }

    /// The rows at `keys` that are there, by key.
    ///
    /// # Errors
    /// As [`Kv`]; at most 1024 keys.
    pub fn get_many(&self, keys: &[&str]) -> Result<Vec<ValueRow>> {
        let element = self.one("getMany", json!({"keys": keys}))?;
        if element["truncated"] == true {
            let detail = "the rows are more than 4 MiB together; ask for fewer at a time (kv_too_many_keys)";
            return Err(Error::invalid("kv_too_many_keys", detail).on_store(self.client.store()));
        }
        Ok(rows(&element))
    }

    /// Up to `limit` (at most 1000) rows whose keys start with `prefix` and come after `after`, and
    /// the key to go on after, if there are more.
    ///
    /// # Errors
    /// As [`Kv`]; the prefix must not be empty.
    pub fn get_prefix(&self, prefix: &str, limit: u32, after: Option<&str>) -> Result<(Vec<ValueRow>, Option<String>)> {
        let element = self.one("getPrefix", json!({"prefix": prefix, "limit": limit, "after": after}))?;
        Ok((rows(&element), element["nextAfter"].as_str().map(String::from)))
    }

    /// Writes a row, whatever was there.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn put(&self, key: &str, value: Value, expiry: Expiry) -> Result<Written> {
        self.write(key, value, expiry, None)
    }

    /// Writes a row if its version is `expect`; it never makes one then.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn put_expecting(&self, key: &str, value: Value, expiry: Expiry, expect: u64) -> Result<Written> {
        self.write(key, value, expiry, Some(expect))
    }

    fn write(&self, key: &str, value: Value, expiry: Expiry, expect: Option<u64>) -> Result<Written> {
        let mut members = Map::new();
        members.insert("key".into(), key.into());
        members.insert("value".into(), value);
        expiry.write(&mut members);
        if let Some(version) = expect {
            members.insert("expect".into(), version.into());
        }
        self.written("put", Value::Object(members))
    }

    /// Writes a row if there is none.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn put_if_absent(&self, key: &str, value: Value, expiry: Expiry) -> Result<Written> {
        let mut members = Map::new();
        members.insert("key".into(), key.into());
        members.insert("value".into(), value);
        expiry.write(&mut members);
        self.written("putIfAbsent", Value::Object(members))
    }

    /// Removes a row; with `expect`, only in that version.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn delete(&self, key: &str, expect: Option<u64>) -> Result<Written> {
        let members = match expect {
            Some(version) => json!({"key": key, "expect": version}),
            None => json!({"key": key}),
        };
        self.written("delete", members)
    }

    /// Adds `delta` to the number in a row, which is made if there is none; `expiry` is for that one.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn incr(&self, key: &str, delta: i64, expiry: Expiry) -> Result<Written> {
        let mut members = Map::new();
        members.insert("key".into(), key.into());
        members.insert("delta".into(), delta.into());
        expiry.write(&mut members);
        self.written("incr", Value::Object(members))
    }

    /// Whether a row has the version `expect`; 0: is not there.
    ///
    /// # Errors
    /// As [`Kv`].
    pub fn check(&self, key: &str, expect: u64) -> Result<Written> {
        self.written("check", json!({"key": key, "expect": expect}))
    }
}

fn row(element: &Value) -> ValueRow {
    ValueRow {
        key: element["key"].as_str().unwrap_or_default().to_string(),
        value: element["value"].clone(),
        version: element["version"].as_u64().unwrap_or(0),
    }
}

fn rows(element: &Value) -> Vec<ValueRow> {
    element["rows"].as_array().map(|rows| rows.iter().map(row).collect()).unwrap_or_default()
}
