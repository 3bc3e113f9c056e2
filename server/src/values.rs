//! Rows of users: what the core's operations do not do by themselves.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fencehold::Result;
use fencehold::internal::operations::{self, Applied, LOCKS, Operation, QUEUES, Refused};
use fencehold::internal::{Row, Rows, Table, key, locks, stamp};
use serde_json::{Map, Value, json};

use crate::store::Step;

/// How many rows are looked at for one page, at most.
const MOST_SEEN: usize = 20_000;
/// How many bytes of values a page has, about: whoever asks and does not read costs no more than that.
const MOST_BYTES: usize = 4 << 20;

/// Does operations on rows; those in line for a lock whose row was changed by hand look again.
pub(crate) fn apply(step: &mut Step<'_, '_>, call: &[Operation]) -> Result<Applied> {
    let mut wakes = std::mem::take(&mut step.wakes);
    let applied = operations::apply(&mut step.rows, call, &mut wakes);
    step.wakes = wakes;
    if let Ok(Applied::Results(_)) = &applied {
        for operation in call.iter().filter(|operation| operation.namespace == LOCKS && operation.name() != "check") {
            if let Some((name, _)) = operation.written_key().and_then(|key| key::parse_permit(key.as_bytes())) {
                step.touched.push(name.to_string());
            }
        }
    }
    applied
}

/// Every namespace and how many rows it has, also those that are over and not cleared away yet.
pub(crate) fn namespaces(rows: &mut dyn Rows) -> Result<BTreeMap<String, u64>> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for (table, namespace) in [(Table::Locks, Some(LOCKS)), (Table::Queues, Some(QUEUES)), (Table::Values, None)] {
        let mut current = (String::new(), 0_u64);
        rows.scan(table, b"", None, &mut |key, _| {
            let bytes = namespace.map_or_else(|| key.split(|byte| *byte == 0).next().unwrap_or(key), str::as_bytes);
            if current.0.as_bytes() != bytes {
                found.extend((current.1 > 0).then(|| std::mem::take(&mut current)));
                current = (String::from_utf8_lossy(bytes).into_owned(), 0);
            }
            current.1 += 1;
            ControlFlow::Continue(())
        })?;
        found.extend((current.1 > 0).then_some(current));
    }
    Ok(found)
}

/// A page of rows as a console asks for it.
pub(crate) struct Page {
    namespace: String,
    prefix: String,
    after: Option<String>,
    limit: usize,
    keys_only: bool,
    include_expired: bool,
    waiting: bool,
}

impl Page {
    /// Reads the body of the call.
    pub(crate) fn parse(members: &Map<String, Value>) -> std::result::Result<Self, Refused> {
        let bad = |reason, detail: &str| Refused { status: 400, reason, detail: detail.into() };
        let text = |member: &'static str| match members.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad("kv_bad_request", &format!("{member} is a text"))),
        };
        let flag = |member: &'static str| match members.get(member) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(bad("kv_bad_request", &format!("{member} is true or false"))),
        };
        let namespace = text("namespace")?
            .filter(|namespace| !namespace.is_empty() && !namespace.contains('\0'))
            .ok_or_else(|| bad("kv_bad_namespace", "namespace is missing"))?;
        let limit = match members.get("limit") {
            None | Some(Value::Null) => 100,
            Some(limit) => match limit.as_i64() {
                Some(limit) => limit.clamp(1, operations::MAX_PAGE as i64) as usize,
                None => return Err(bad("kv_bad_request", "limit is a whole number")),
            },
        };
        Ok(Self {
            namespace,
            prefix: text("prefix")?.unwrap_or_default(),
            after: text("after")?,
            limit,
            keys_only: flag("keysOnly")?,
            include_expired: flag("includeExpired")?,
            waiting: flag("waiting")?,
        })
    }

    /// Whether it was asked how many wait for each lock.
    pub(crate) fn with_waiting(&self) -> bool {
        self.waiting && self.namespace == LOCKS
    }

    /// Reads the page.
    pub(crate) fn read(&self, rows: &mut dyn Rows) -> Result<Value> {
        let (table, prefix) = operations::place(&self.namespace, &self.prefix);
        let skip = prefix.len() - self.prefix.len();
        let after = self.after.as_ref().map(|after| operations::place(&self.namespace, after).1);
        let now = rows.now();
        let (mut found, mut last, mut seen, mut size, mut truncated) = (Vec::new(), None, 0, 0, false);
        rows.scan(table, &prefix, after.as_deref(), &mut |key, row| {
            // The row after the page tells whether there is more.
            if found.len() == self.limit || seen == MOST_SEEN || size >= MOST_BYTES {
                truncated = true;
                return ControlFlow::Break(());
            }
            seen += 1;
            last = Some(String::from_utf8_lossy(&key[skip..]).into_owned());
            let is_over = row.expires.is_some_and(|end| end <= now);
            if !is_over || self.include_expired {
                size += if self.keys_only { 0 } else { row.value.len() };
                found.push((last.clone().unwrap_or_default(), row));
            }
            ControlFlow::Continue(())
        })?;
        if !self.include_expired {
            found.retain(|(_, row)| locks::is_live(rows, row));
        }
        let bytes: usize = if self.keys_only { 0 } else { found.iter().map(|(_, row)| row.value.len()).sum() };
        let mut elements: Vec<Value> = found.iter().map(|(key, row)| self.element(rows, key, row)).collect();
        let next = if truncated { last } else { None };
        let at = self.with_waiting().then(|| zulu(rows.wall_micros()));
        if at.is_some() {
            tell_waiting(rows, &mut elements)?;
        }
        let mut page = json!({"rows": elements, "truncated": next.is_some(), "nextAfter": next, "bytes": bytes});
        if let Some(at) = at {
            page["at"] = at.into();
        }
        Ok(page)
    }

    fn element(&self, rows: &dyn Rows, key: &str, row: &Row) -> Value {
        let now = rows.now();
        let expires = row.expires.map(|end| {
            let micros = |span: std::time::Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
            zulu(rows.wall_micros().saturating_add(micros(end.since(now))).saturating_sub(micros(now.since(end))))
        });
        let mut element = json!({
            "key": key,
            "version": row.version,
            "expiresAt": expires,
            "updatedAt": zulu(row.updated_micros),
        });
        if !self.keys_only {
            element["value"] = serde_json::from_slice(&row.value).unwrap_or(Value::Null);
        }
        if self.include_expired {
            element["expired"] = row.expires.is_some_and(|end| end <= now).into();
        }
        element
    }
}

/// Puts beside each permit how many wait for its lock.
fn tell_waiting(rows: &mut dyn Rows, elements: &mut [Value]) -> Result<()> {
    // The permits of a semaphore are neighbours.
    let mut last: Option<(String, u32)> = None;
    for element in elements {
        let name = element["key"].as_str().and_then(|key| key::parse_permit(key.as_bytes())).map(|(name, _)| name);
        let Some(name) = name.map(str::to_string) else { continue };
        let count = match &last {
            Some((other, count)) if *other == name => *count,
            _ => crate::locks::count_waiting(rows, &name)?,
        };
        element["waiting"] = count.into();
        last = Some((name, count));
    }
    Ok(())
}

/// A time with always six digits after the second and a `Z`.
pub(crate) fn zulu(micros: i64) -> String {
    let whole = stamp::format(micros.div_euclid(1_000_000) * 1_000_000);
    let second = whole.strip_suffix("+00:00").unwrap_or(&whole);
    format!("{second}.{:06}Z", micros.rem_euclid(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_has_six_digits_and_a_z() {
        assert_eq!(zulu(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(zulu(1_791_449_350_500_000), "2026-10-08T08:49:10.500000Z");
    }
}
