//! Rows of users: each function starts a call on a thread and answers its number.

use fencehold::{Error, Expiry, Kv, Result, Wait};
use serde_json::Value as Json;

use crate::arguments::Call;
use crate::calls::on_client;
use crate::js::{Answer, Type};
use crate::mailbox::Outcome;

/// `work` with the rows that the first two arguments name: a client and a namespace.
fn on_rows(call: &Call<'_>, work: impl FnOnce(Kv) -> Result<Outcome> + Send + 'static) -> Answer {
    let namespace = call.needed(1, "kv_bad_namespace", "the namespace")?;
    on_client(call, move |client| work(client.kv(&namespace)))
}

fn key(call: &Call<'_>) -> Answer<String> {
    call.needed(2, "kv_bad_key", "the key")
}

/// An argument that the JavaScript layer wrote as JSON.
fn json(call: &Call<'_>, index: usize, what: &str) -> Answer<Json> {
    let text = call.needed(index, "kv_bad_request", what)?;
    Ok(serde_json::from_str(&text)
        .map_err(|fault| Error::bad_argument("kv_bad_request", format!("{what}: {fault} (kv_bad_request)")))?)
}

/// A version, or nothing where the caller left it out.
fn expect(call: &Call<'_>, index: usize) -> Answer<Option<u64>> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let value = call.arguments[index];
    match call.env.type_of(value)? {
        Type::Undefined => return Ok(None),
        Type::BigInt => {
            if let Some(version) = call.env.get_bigint(value)? {
                return Ok(Some(version));
            }
        }
        Type::Number => {
            let number = call.env.get_number(value)?;
            if number.fract() == 0.0 && (0.0..=SAFE).contains(&number) {
                return Ok(Some(number as u64));
            }
        }
        _ => {}
    }
    let detail = "expect must be a version: a bigint or a whole number from 0 up (kv_bad_expect)";
    Err(Error::bad_argument("kv_bad_expect", detail).into())
}

/// How long a row lives.
fn expiry(call: &Call<'_>, index: usize) -> Answer<Expiry> {
    Ok(match call.row_ttl(index)? {
        Wait::Forever => Expiry::Forever,
        Wait::For(time) => Expiry::After(time),
        Wait::No | Wait::Default => Expiry::After(std::time::Duration::ZERO),
    })
}

/// kvGet(client, namespace, key)
pub(crate) fn get(call: &Call<'_>) -> Answer {
    let key = key(call)?;
    on_rows(call, move |rows| rows.get(&key).map(Outcome::Row))
}

/// kvGetMany(client, namespace, keys): the keys as JSON.
pub(crate) fn get_many(call: &Call<'_>) -> Answer {
    let listed = json(call, 2, "keys")?;
    let bad = || Error::bad_argument("kv_bad_key", "keys must be an array of strings (kv_bad_key)");
    let keys: Option<Vec<String>> =
        listed.as_array().and_then(|all| all.iter().map(|key| key.as_str().map(String::from)).collect());
    let keys = keys.ok_or_else(bad)?;
    on_rows(call, move |rows| rows.get_many(&keys.iter().map(String::as_str).collect::<Vec<_>>()).map(Outcome::Rows))
}

/// kvGetPrefix(client, namespace, prefix, limit, after)
pub(crate) fn get_prefix(call: &Call<'_>) -> Answer {
    let prefix = call.needed(2, "kv_prefix_required", "the prefix")?;
    let limit = call.count(3, "kv_bad_request", "limit")?.unwrap_or(1000);
    let after = call.text(4, "kv_bad_key", "after")?;
    on_rows(call, move |rows| {
        rows.get_prefix(&prefix, limit, after.as_deref()).map(|(found, next)| Outcome::Page(found, next))
    })
}

/// kvPut(client, namespace, key, value, ttl, expect)
pub(crate) fn put(call: &Call<'_>) -> Answer {
    let (key, value) = (key(call)?, json(call, 3, "the value")?);
    let (ttl, expect) = (expiry(call, 4)?, expect(call, 5)?);
    on_rows(call, move |rows| {
        let written = match expect {
            Some(version) => rows.put_expecting(&key, value, ttl, version),
            None => rows.put(&key, value, ttl),
        };
        written.map(Outcome::Written)
    })
}

/// kvPutIfAbsent(client, namespace, key, value, ttl)
pub(crate) fn put_if_absent(call: &Call<'_>) -> Answer {
    let (key, value) = (key(call)?, json(call, 3, "the value")?);
    let ttl = expiry(call, 4)?;
    on_rows(call, move |rows| rows.put_if_absent(&key, value, ttl).map(Outcome::Written))
}

/// kvDelete(client, namespace, key, expect)
pub(crate) fn delete(call: &Call<'_>) -> Answer {
    let (key, expect) = (key(call)?, expect(call, 3)?);
    on_rows(call, move |rows| rows.delete(&key, expect).map(Outcome::Written))
}

/// kvIncr(client, namespace, key, delta, ttl)
pub(crate) fn incr(call: &Call<'_>) -> Answer {
    let (key, delta) = (key(call)?, json(call, 3, "delta")?);
    let Some(delta) = delta.as_i64() else {
        let detail = format!("delta {delta} is no whole number of 64 bits (kv_bad_request)");
        return Err(Error::bad_argument("kv_bad_request", detail).into());
    };
    let ttl = expiry(call, 4)?;
    on_rows(call, move |rows| rows.incr(&key, delta, ttl).map(Outcome::Written))
}

/// kvCheck(client, namespace, key, expect)
pub(crate) fn check(call: &Call<'_>) -> Answer {
    let (key, expect) = (key(call)?, expect(call, 3)?);
    let Some(expect) = expect else {
        return Err(Error::bad_argument("kv_bad_expect", "a check needs expect (kv_bad_expect)").into());
    };
    on_rows(call, move |rows| rows.check(&key, expect).map(Outcome::Written))
}
