//! What the lock is made of: leases, keys that end with them, and watches.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use super::gateway::{Failure, Gateway, encoded, number_of};
use super::keys::{self, Contender};
use crate::clock::{Moment, boot_now};

/// The code of a request about a lease that has ended.
const NOT_FOUND: i64 = 5;

/// A lease: the keys that were written with it end when it does.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) id: i64,
    pub(super) ttl: Duration,
    /// When the last request was sent by which the cluster knows of us.
    pub(super) refreshed: Moment,
}

impl Lease {
    /// Whether it should be kept alive before it is built upon.
    pub(super) fn is_due(&self) -> bool {
        boot_now().since(self.refreshed) >= self.ttl / 3
    }
}

/// A request's place in the history of the cluster, and what it found.
pub(super) struct Seen {
    pub(super) revision: i64,
    pub(super) contenders: Vec<Contender>,
    /// Some keys that were shown contend for something else, or for nothing.
    has_others: bool,
}

fn revision(answer: &Value) -> i64 {
    answer.get("header").map_or(0, |header| number_of(header, "revision"))
}

/// The contenders in an answer; of one lock, where its folder is given: keys of names below it begin
/// alike.
fn seen(answer: &Value, folder: Option<&[u8]>) -> Seen {
    let pairs = answer.get("kvs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_of = |found: &Contender| folder.is_none_or(|folder| keys::is_in(&found.key, folder));
    let contenders: Vec<Contender> = pairs.iter().filter_map(Contender::of).filter(is_of).collect();
    Seen { revision: revision(answer), has_others: contenders.len() < pairs.len(), contenders }
}

/// What a key was asked to become.
pub(super) enum Contended {
    /// It is there, made at this revision; those who came first, up to the asked number.
    Made { created: i64, first: Vec<Contender> },
    /// It was not made, since somebody else is there.
    Others(Vec<Contender>),
    /// The lease has ended.
    LeaseEnded,
}

impl Gateway {
    /// Makes a lease.
    pub(super) fn grant(&self, ttl: Duration, until: Moment) -> Result<Lease, Failure> {
        let sent = boot_now();
        let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
        let answer = self.post("/v3/lease/grant", &json!({"TTL": seconds}), until)?;
        Ok(Lease { id: number_of(&answer, "ID"), ttl, refreshed: sent })
    }

    /// Keeps a lease alive; false when it has ended.
    pub(super) fn keep_alive(&self, lease: &mut Lease, until: Moment) -> Result<bool, Failure> {
        let sent = boot_now();
        let answer = self.post("/v3/lease/keepalive", &json!({"ID": lease.id.to_string()}), until)?;
        let answer = answer.get("result").unwrap_or(&answer);
        if number_of(answer, "TTL") <= 0 {
            return Ok(false);
        }
        lease.refreshed = sent;
        Ok(true)
    }

    /// Makes our key, unless it is there already; with `alone`, only if no other is there.
    pub(super) fn contend(
        &self,
        folder: &[u8],
        lease: &Lease,
        value: &[u8],
        most: u32,
        alone: bool,
        until: Moment,
    ) -> Result<Contended, Failure> {
        let (key, end) = (encoded(&keys::key(folder, lease.id)), encoded(&keys::end_of(folder)));
        let start = encoded(folder);
        let first = json!({"request_range": {
            "key": start, "range_end": end, "sort_target": "CREATE", "sort_order": "ASCEND", "limit": most.max(4),
        }});
        let compared = match alone {
            true => json!({"key": start, "range_end": end, "target": "CREATE", "create_revision": "0"}),
            false => json!({"key": key, "target": "CREATE", "create_revision": "0"}),
        };
        let put = json!({"request_put": {"key": key, "value": encoded(value), "lease": lease.id.to_string()}});
        let read = json!({"request_range": {"key": key}});
        let body = json!({"compare": [compared], "success": [put, first], "failure": [read, first]});
        let answer = match self.post("/v3/kv/txn", &body, until) {
            Err(Failure::Refused { code: NOT_FOUND, .. }) => return Ok(Contended::LeaseEnded),
            answer => answer?,
        };
        let part = |at: usize| answer["responses"][at].get("response_range").cloned().unwrap_or_default();
        let first = seen(&part(1), Some(folder)).contenders;
        if answer.get("succeeded") == Some(&Value::Bool(true)) {
            return Ok(Contended::Made { created: revision(&answer), first });
        }
        Ok(match seen(&part(0), Some(folder)).contenders.first() {
            Some(own) => Contended::Made { created: own.created, first },
            None => Contended::Others(first),
        })
    }

    /// Those who came before the revision `created`, latest first, up to `most`.
    pub(super) fn before(&self, folder: &[u8], created: i64, most: u32, until: Moment) -> Result<Seen, Failure> {
        let body = json!({
            "key": encoded(folder), "range_end": encoded(&keys::end_of(folder)), "sort_target": "CREATE",
            "sort_order": "DESCEND", "max_create_revision": (created - 1).to_string(), "limit": most,
        });
        let answer = self.post("/v3/kv/range", &body, until)?;
        let found = seen(&answer, Some(folder));
        if found.has_others && most != 0 {
            // Keys of other names are in the way of those that count.
            return self.before(folder, created, 0, until);
        }
        Ok(found)
    }

    /// Everybody below `prefix`, first come first, up to `most`, after the key `after`.
    pub(super) fn all(&self, prefix: &[u8], most: u32, until: Moment) -> Result<Seen, Failure> {
        let body = json!({
            "key": encoded(if prefix.is_empty() { &[0] } else { prefix }),
            "range_end": encoded(&keys::end_of(prefix)), "sort_target": "CREATE", "sort_order": "ASCEND", "limit": most,
        });
        Ok(seen(&self.post("/v3/kv/range", &body, until)?, None))
    }

    /// Whether our key is still the one that was made at `created`.
    pub(super) fn is_there(&self, key: &[u8], created: i64, until: Moment) -> Result<bool, Failure> {
        let answer = self.post("/v3/kv/range", &json!({"key": encoded(key)}), until)?;
        Ok(seen(&answer, None).contenders.iter().any(|found| found.created == created))
    }

    /// Does something with our key if it is still the one that was made at `created`.
    fn change(&self, key: &[u8], created: i64, request: &Value, until: Moment) -> Result<bool, Failure> {
        let compared = json!({"key": encoded(key), "target": "CREATE", "create_revision": created.to_string()});
        let body = json!({"compare": [compared], "success": [request]});
        let answer = self.post("/v3/kv/txn", &body, until)?;
        Ok(answer.get("succeeded") == Some(&Value::Bool(true)))
    }

    /// Removes a key if it is still the one that was made at `created`.
    pub(super) fn remove(&self, key: &[u8], created: i64, until: Moment) -> Result<bool, Failure> {
        self.change(key, created, &json!({"request_delete_range": {"key": encoded(key)}}), until)
    }

    /// Removes a key of our own lease, whenever it was made.
    pub(super) fn remove_any(&self, key: &[u8], until: Moment) -> Result<(), Failure> {
        self.post("/v3/kv/deleterange", &json!({"key": encoded(key)}), until).map(drop)
    }

    /// Writes into our key that it holds a permit.
    pub(super) fn claim(
        &self,
        key: &[u8],
        created: i64,
        lease: &Lease,
        value: &[u8],
        until: Moment,
    ) -> Result<bool, Failure> {
        let value = encoded(&keys::holding(value));
        let put = json!({"request_put": {"key": encoded(key), "value": value, "lease": lease.id.to_string()}});
        match self.change(key, created, &put, until) {
            Err(Failure::Refused { code: NOT_FOUND, .. }) => Ok(false),
            answer => answer,
        }
    }

    /// Waits until a key changes after `revision`, at most until `until`. `end`: until any key up to
    /// there is removed.
    pub(super) fn wait_for_change(
        &self,
        key: &[u8],
        end: Option<&[u8]>,
        only_removals: bool,
        revision: i64,
        until: Moment,
    ) -> Result<(), Failure> {
        let mut request = json!({"key": encoded(key), "start_revision": (revision + 1).to_string()});
        if let Some(end) = end {
            request["range_end"] = encoded(end).into();
        }
        if only_removals {
            request["filters"] = json!(["NOPUT"]);
        }
        self.watch(&request, until, |message| {
            // Cancelled by the cluster, since the revision was compacted: whoever waits lists again.
            let is_over = message.get("canceled") == Some(&Value::Bool(true));
            let has_events = message.get("events").and_then(Value::as_array).is_some_and(|events| !events.is_empty());
            if is_over || has_events { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }
}
