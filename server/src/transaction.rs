//! Steps: acknowledgements, pushes, rows and timers, all or nothing.

use std::collections::HashSet;

use fencehold::Result;
use fencehold::internal::operations::{self, Applied, LOCKS, Operation, Refused, Scope};
use serde_json::{Map, Value, json};

use crate::metrics::Loss;
use crate::queues::{self, Ack, Bells, Item, Pushed, TimerOp, refused};
use crate::store::Step;
use crate::values;

/// An acknowledgement or a push, in the order of the call.
#[derive(Clone, Debug)]
enum Part {
    Ack(Ack),
    Push(Item),
}

/// A step that makes sense.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    parts: Vec<Part>,
    kv: Vec<Operation>,
    timers: Vec<TimerOp>,
}

/// What keeps a step from being looked at.
pub(crate) struct Unreadable {
    pub(crate) refused: Refused,
    /// It is answered like a step that was rolled back, and not as a bad request.
    pub(crate) is_rollback: bool,
}

impl From<Refused> for Unreadable {
    fn from(refused: Refused) -> Self {
        Self { refused, is_rollback: false }
    }
}

fn rollback(refused: Refused) -> Unreadable {
    Unreadable { refused, is_rollback: true }
}

/// Why nothing of a step was done.
pub(crate) enum Rollback {
    Precondition { lost: operations::Precondition, index: usize },
    Reason { reason: &'static str, error: String },
}

/// What came of a step.
pub(crate) enum Outcome {
    Committed(Vec<Value>),
    Rolled(Rollback),
}

impl Transaction {
    /// Reads the body of a call.
    pub(crate) fn parse(body: &[u8]) -> std::result::Result<Self, Unreadable> {
        let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
            return Err(refused("bad_request", "the body is a JSON object").into());
        };
        let list = |member: &'static str| match members.get(member) {
            None => Ok(&[] as &[Value]),
            Some(Value::Array(list)) => Ok(list.as_slice()),
            Some(_) => Err(refused("bad_request", format!("{member} is an array"))),
        };
        let (parts, leases) = (list("operations")?, list("requiredLeases")?);
        let (kv, timers, positions) = (list("kv")?, list("timers")?, list("positions")?);
        let timers = timers.iter().map(queues::parse_timer).collect::<std::result::Result<Vec<_>, _>>()?;
        let kv = operations::parse(kv, Scope::Transaction)?;
        if !positions.is_empty() {
            return Err(refused("bad_request", "positions are not served here").into());
        }
        if parts.is_empty() && kv.is_empty() && timers.is_empty() {
            return Err(rollback(refused("bad_request", "a step has something to do")));
        }
        let mut parsed = Vec::with_capacity(parts.len());
        for part in parts {
            parse_part(part, &mut parsed)?;
        }
        share_lease(&mut parsed, leases);
        Ok(Self { parts: parsed, kv, timers })
    }

    /// Whether it is about rows, a guard included.
    pub(crate) fn has_rows(&self) -> bool {
        !self.kv.is_empty()
    }

    /// Does the step. An error takes everything back, as a rollback does.
    pub(crate) fn run(&self, step: &mut Step<'_, '_>, bells: &Bells) -> Result<Outcome> {
        let mark = step.rows.mark();
        let outcome = self.try_run(step, bells)?;
        if let Outcome::Rolled(_) = &outcome {
            step.rows.rewind(mark);
            step.wakes.clear();
            step.touched.clear();
        }
        Ok(outcome)
    }

    fn try_run(&self, step: &mut Step<'_, '_>, bells: &Bells) -> Result<Outcome> {
        let mut results = Vec::new();
        let reason = |reason, error: String| Ok(Outcome::Rolled(Rollback::Reason { reason, error }));
        // Acknowledgements are judged first, and answered at their place.
        let mut acked = Vec::new();
        for part in &self.parts {
            if let Part::Ack(ack) = part {
                match queues::acknowledge(step, ack, bells)? {
                    Ok(done) => acked.push(done),
                    Err(why) => return reason("rejected_ack", format!("QTXN {why}; nothing was written")),
                }
            }
        }
        // What is stored already takes the step back; what the step repeats itself is stored once.
        let mut own = HashSet::new();
        for item in self.parts.iter().filter_map(Part::item) {
            let name = (&item.queue, &item.partition, item.transaction.as_ref());
            if item.transaction.is_some() && own.insert(name) && queues::known(step, item)?.is_some() {
                let error = "QDUP one pushed message was already stored; nothing was written".to_string();
                return reason("duplicate", error);
            }
        }
        let mut acked = acked.into_iter();
        for part in &self.parts {
            let index = results.len();
            results.push(match part {
                Part::Ack(ack) => {
                    let done = acked.next().unwrap_or_default();
                    json!({"index": index, "type": "ack", "success": true, "transactionId": ack.transaction,
                        "error": null, "dlq": done.dead})
                }
                Part::Push(item) => pushed_element(index, item, &queues::push(step, item, bells)?),
            });
        }
        let flat = results.len();
        match values::apply(step, &self.kv)? {
            Applied::Results(elements) => results.extend(
                elements.into_iter().enumerate().map(|(place, element)| numbered(element, flat + place, place, "kv")),
            ),
            Applied::Precondition(lost) => {
                let guard = self.kv.get(lost.index).filter(|op| op.namespace == LOCKS && op.name() == "check");
                if guard.is_some() {
                    step.metrics.lost(Loss::Guard, 1);
                }
                let index = flat + lost.index;
                return Ok(Outcome::Rolled(Rollback::Precondition { lost, index }));
            }
        }
        let flat = results.len();
        for (place, timer) in self.timers.iter().enumerate() {
            results.push(numbered(queues::run_timers(step, timer)?, flat + place, place, "timer"));
        }
        Ok(Outcome::Committed(results))
    }
}

impl Part {
    fn item(&self) -> Option<&Item> {
        match self {
            Self::Push(item) => Some(item),
            Self::Ack(_) => None,
        }
    }
}

fn parse_part(part: &Value, parsed: &mut Vec<Part>) -> std::result::Result<(), Unreadable> {
    let Value::Object(members) = part else {
        return Err(refused("bad_request", "an operation is a JSON object").into());
    };
    match members.get("type").and_then(Value::as_str) {
        Some("ack") => parsed.push(Part::Ack(queues::parse_ack(members, None).map_err(rollback)?)),
        Some("push") => match members.get("items") {
            Some(Value::Array(items)) => {
                for item in items {
                    let Value::Object(item) = item else {
                        return Err(refused("bad_request", "a message is a JSON object").into());
                    };
                    parsed.push(Part::Push(queues::parse_item(item).map_err(rollback)?));
                }
            }
            Some(_) => return Err(refused("bad_request", "items is an array").into()),
            None => parsed.push(Part::Push(queues::parse_item(members).map_err(rollback)?)),
        },
        _ => return Err(refused("bad_request", "the type of an operation is ack or push").into()),
    }
    Ok(())
}

/// An ack without a lease of its own has the one that all the others name, if it is one.
fn share_lease(parts: &mut [Part], leases: &[Value]) {
    let own = parts.iter().filter_map(|part| match part {
        Part::Ack(ack) => ack.lease.clone(),
        Part::Push(_) => None,
    });
    let named: HashSet<String> = leases.iter().filter_map(Value::as_str).map(str::to_string).chain(own).collect();
    let shared = if named.len() == 1 { named.into_iter().next() } else { None };
    for part in parts {
        if let Part::Ack(ack) = part
            && ack.lease.is_none()
        {
            ack.lease.clone_from(&shared);
        }
    }
}

fn pushed_element(index: usize, item: &Item, pushed: &Pushed) -> Value {
    let mut element = json!({"index": index, "type": "push", "success": true, "transactionId": pushed.transaction,
        "messageId": pushed.message, "queueName": item.queue});
    if pushed.duplicate {
        element["duplicate"] = true.into();
    }
    element
}

/// An element as a step answers it: counted over the whole step, and in its own list.
fn numbered(element: Value, index: usize, place: usize, kind: &str) -> Value {
    let mut members = match element {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    members.insert("index".into(), index.into());
    members.insert("opIndex".into(), place.into());
    members.insert("type".into(), kind.into());
    Value::Object(members)
}
