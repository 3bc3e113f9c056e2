//! Steps: changes that are done together, or not at all, while the guarded locks are held.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Client;
use super::lock::{Lock, LockInner};
use super::values::precondition_json;
use crate::backend::{Hold, LostPrecondition, Renewed, Step, StepAnswer};
use crate::clock::Moment;
use crate::machine::lease::RenewStep;
use crate::{Error, Kind, LostReason, Result};

/// How often a step is sent again because the handle's own renewal had moved its token.
const REPEATS: u32 = 3;

/// An item for a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    data: Value,
    partition: Option<String>,
    transaction_id: Option<String>,
    trace_id: Option<String>,
}

impl Item {
    /// An item that carries `data`.
    pub fn new(data: Value) -> Self {
        Self { data, partition: None, transaction_id: None, trace_id: None }
    }

    /// The partition, within which items keep their order.
    pub fn partition(mut self, partition: &str) -> Self {
        self.partition = Some(partition.into());
        self
    }

    /// The id by which the store knows an item that is pushed again.
    pub fn transaction_id(mut self, id: &str) -> Self {
        self.transaction_id = Some(id.into());
        self
    }

    /// A UUID that is handed on.
    pub fn trace_id(mut self, id: &str) -> Self {
        self.trace_id = Some(id.into());
        self
    }
}

/// What became of a step.
#[derive(Clone, Debug)]
#[must_use = "a step that was refused did nothing"]
pub enum Commit {
    /// All of it was done.
    Committed(StepResult),
    /// Nothing of it was done.
    Refused(StepResult),
}

/// A step's outcome in detail.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepResult {
    /// Whether it was done.
    pub success: bool,
    /// Why nothing was done: `kv_precondition`, `duplicate`, `rejected_ack`, …
    pub reason: Option<String>,
    /// One element for each acknowledgement, pushed item, operation on rows and timer, as the wire
    /// has them, without the guards.
    pub results: Vec<Value>,
    /// Which operation on rows lost: `{"failedIndex", "kvReason", "version", "value", …}`.
    pub precondition: Option<Value>,
    /// The loss of the guarded lock that stopped the step.
    pub lost: Option<Error>,
}

impl StepResult {
    /// The outcome as a JSON object: `{"success", "reason", "results"}` and more.
    pub fn to_json(&self) -> String {
        let mut members = Map::new();
        members.insert("success".into(), self.success.into());
        members.insert("reason".into(), self.reason.clone().into());
        members.insert("results".into(), self.results.clone().into());
        if let Some(precondition) = &self.precondition {
            members.insert("precondition".into(), precondition.clone());
        }
        if let Some(lost) = &self.lost {
            members.insert("lost".into(), lost.lock().unwrap_or_default().into());
        }
        Value::Object(members).to_string()
    }
}

impl Commit {
    /// Whether it was done.
    pub fn is_committed(&self) -> bool {
        matches!(self, Self::Committed(_))
    }

    /// The outcome in detail.
    pub fn result(&self) -> &StepResult {
        match self {
            Self::Committed(result) | Self::Refused(result) => result,
        }
    }

    /// The outcome of a step that was done; a refused one as an error.
    ///
    /// # Errors
    /// `lost` when a guarded lock was; `unreachable` when the store asks to try again; else
    /// `invalid` with the store's reason.
    pub fn or_err(self) -> Result<StepResult> {
        let result = match self {
            Self::Committed(result) => return Ok(result),
            Self::Refused(result) => result,
        };
        if let Some(lost) = result.lost {
            return Err(lost);
        }
        let reason = result.reason.unwrap_or_else(|| "refused".into());
        let detail = format!("the step was refused and nothing of it was done ({reason})");
        let kind = match reason.as_str() {
            "reserved" | "unavailable" => Kind::Unreachable,
            _ => Kind::Invalid,
        };
        Err(Error::new(kind, reason, detail))
    }
}

/// A step that is being put together. Nothing is sent before [`Transaction::commit`].
///
/// What cannot be part of a step is kept and refused by `commit`, so that calls can be chained.
///
/// ```
/// use std::time::Duration;
/// use fencehold::Client;
/// use serde_json::json;
///
/// let client = Client::open("memory:")?;
/// let lock = client.acquire("nightly", Duration::from_secs(30))?;
/// let done = client
///     .transaction()
///     .guard(&lock)
///     .kv(&json!([{"op": "put", "ns": "reports", "key": "last", "value": 7, "forever": true}]))
///     .commit()?;
/// assert!(done.is_committed());
/// # Ok::<(), fencehold::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a step does nothing before it is committed"]
pub struct Transaction<'a> {
    client: &'a Client,
    parts: StepParts,
    refused: Option<Error>,
}

/// The parts of a step, for bindings that put it together call by call.
#[derive(Default)]
pub struct StepParts {
    guards: Vec<Arc<LockInner>>,
    operations: Vec<Value>,
    kv: Vec<Value>,
    timers: Vec<Value>,
    /// How many elements the acknowledgements and pushed items have in the answer.
    numbered: usize,
}

impl fmt::Debug for StepParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guards: Vec<&str> = self.guards.iter().map(|lock| lock.name()).collect();
        f.debug_struct("StepParts").field("guards", &guards).finish_non_exhaustive()
    }
}

/// A queue that a step pushes to.
#[derive(Debug)]
#[must_use = "naming a queue pushes nothing"]
pub struct Queue<'a> {
    step: Transaction<'a>,
    name: String,
}

impl<'a> Queue<'a> {
    /// Adds items, which are pushed in this order.
    pub fn push(self, items: &[Item]) -> Transaction<'a> {
        let Self { mut step, name } = self;
        let items: Vec<Value> = items
            .iter()
            .map(|item| {
                json!({
                    "data": item.data, "partition": item.partition, "transactionId": item.transaction_id,
                    "traceId": item.trace_id,
                })
            })
            .collect();
        step.with(|parts, _| parts.push(&name, &Value::Array(items)));
        step
    }
}

impl Client {
    /// Begins a step.
    pub fn transaction(&self) -> Transaction<'_> {
        Transaction { client: self, parts: StepParts::default(), refused: None }
    }

    /// Commits a step that was put together call by call.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_parts(&self, parts: &StepParts) -> Result<Commit> {
        parts.commit(self).map_err(|error| error.on_store(self.store()))
    }
}

impl<'a> Transaction<'a> {
    fn with(&mut self, add: impl FnOnce(&mut StepParts, &Client) -> Result<()>) {
        if self.refused.is_none() {
            self.refused = add(&mut self.parts, self.client).err();
        }
    }

    /// Lets the step happen only if `lock` is still held then. Its token is read when the step is
    /// sent.
    pub fn guard(mut self, lock: &Lock) -> Self {
        self.with(|parts, client| parts.guard(client, lock));
        self
    }

    /// Names the queue for [`Queue::push`].
    pub fn queue(self, name: &str) -> Queue<'a> {
        Queue { step: self, name: name.to_string() }
    }

    /// Adds acknowledgements: the wire's JSON objects, or an array of them.
    pub fn ack(mut self, acks: &Value) -> Self {
        self.with(|parts, _| parts.ack(acks));
        self
    }

    /// Adds operations on rows: the wire's JSON objects, or an array of them.
    pub fn kv(mut self, operations: &Value) -> Self {
        self.with(|parts, _| parts.kv(operations));
        self
    }

    /// Adds timers: the wire's JSON objects, or an array of them.
    pub fn timers(mut self, operations: &Value) -> Self {
        self.with(|parts, _| parts.timers(operations));
        self
    }

    /// Does all of it, or nothing. A lost precondition is an answer, not an error.
    ///
    /// A renewal in flight is waited for. When the handle's own renewal had moved the token, the
    /// step is sent again, at most three times. When somebody else has the lock, the handle is lost
    /// for the reason [`LostReason::Guard`].
    ///
    /// # Errors
    /// `not_held` for a guard that is not held, with nothing sent; `invalid` for a part that no step
    /// can have; `unsupported`; `unreachable` with nothing done; `in_doubt` when it was sent and not
    /// answered: it is never sent again by itself.
    pub fn commit(self) -> Result<Commit> {
        match self.refused {
            Some(error) => Err(error.on_store(self.client.store())),
            None => self.client.commit_parts(&self.parts),
        }
    }
}

fn list(value: &Value, what: &str) -> Result<Vec<Value>> {
    let elements = match value {
        Value::Array(elements) => elements.clone(),
        other => vec![other.clone()],
    };
    if elements.iter().all(Value::is_object) {
        return Ok(elements);
    }
    Err(Error::invalid("bad_request", format!("{what} are JSON objects, or an array of them (bad_request)")))
}

impl StepParts {
    /// Adds a guard.
    ///
    /// # Errors
    /// `invalid` with `bad_guard` when another client made the handle; `not_held`.
    pub fn guard(&mut self, client: &Client, lock: &Lock) -> Result<()> {
        let inner = &lock.inner;
        if !Arc::ptr_eq(&inner.client, &client.0) {
            let detail = "the guard is a lock of another client (bad_guard). Make the handle with the client that \
                          makes the step";
            return Err(Error::invalid("bad_guard", detail).on_lock(inner.name()));
        }
        if !inner.is_here() {
            return Err(inner.forked_error());
        }
        if !lock.held() {
            return Err(inner.not_held_for_step());
        }
        self.guards.push(inner.clone());
        Ok(())
    }

    /// Adds items `{data, partition?, transactionId?, traceId?}` for a queue.
    ///
    /// # Errors
    /// `invalid` with `bad_request`.
    pub fn push(&mut self, queue: &str, items: &Value) -> Result<()> {
        if queue.is_empty() {
            return Err(Error::invalid("bad_request", "a queue has a name (bad_request)"));
        }
        let mut pushed = Vec::new();
        for item in list(items, "items")? {
            let mut members = Map::new();
            members.insert("queue".into(), queue.into());
            for (name, value) in item.as_object().into_iter().flatten() {
                match name.as_str() {
                    "data" => members.insert("payload".into(), value.clone()),
                    "partition" | "transactionId" | "traceId" if value.is_null() => None,
                    "partition" | "transactionId" | "traceId" => members.insert(name.clone(), value.clone()),
                    other => {
                        let detail = format!(
                            "an item is {{data, partition?, transactionId?, traceId?}} and has no {other:?} (bad_request)"
                        );
                        return Err(Error::invalid("bad_request", detail));
                    }
                };
            }
            if !members.contains_key("payload") {
                return Err(Error::invalid("bad_request", "an item needs data (bad_request)"));
            }
            pushed.push(Value::Object(members));
        }
        self.numbered += pushed.len();
        self.operations.push(json!({"type": "push", "items": pushed}));
        Ok(())
    }

    /// Adds acknowledgements.
    ///
    /// # Errors
    /// `invalid` with `bad_request`.
    pub fn ack(&mut self, acks: &Value) -> Result<()> {
        for mut ack in list(acks, "acknowledgements")? {
            ack["type"] = "ack".into();
            self.operations.push(ack);
            self.numbered += 1;
        }
        Ok(())
    }

    /// Adds operations on rows.
    ///
    /// # Errors
    /// `invalid` with `bad_request`.
    pub fn kv(&mut self, operations: &Value) -> Result<()> {
        self.kv.extend(list(operations, "operations on rows")?);
        Ok(())
    }

    /// Adds timers.
    ///
    /// # Errors
    /// `invalid` with `bad_request`.
    pub fn timers(&mut self, operations: &Value) -> Result<()> {
        self.timers.extend(list(operations, "timers")?);
        Ok(())
    }

    fn commit(&self, client: &Client) -> Result<Commit> {
        let session = client.0.open_session()?;
        let is_empty = self.guards.is_empty() && self.operations.is_empty();
        if is_empty && self.kv.is_empty() && self.timers.is_empty() {
            return Err(Error::invalid("bad_request", "a step with nothing to do (bad_request)"));
        }
        let mut repeats = 0;
        loop {
            let until = client.until(&session);
            let guards = self
                .guards
                .iter()
                .map(|lock| Ok((lock.name().to_string(), lock.hold_for_step(until)?)))
                .collect::<Result<Vec<(String, Hold)>>>()?;
            let step = Step {
                guards: guards.clone(),
                operations: self.operations.clone(),
                kv: self.kv.clone(),
                timers: self.timers.clone(),
            };
            let answer = session.backend().commit(&step, until)?;
            if answer.reason.is_none() {
                return Ok(Commit::Committed(StepResult {
                    success: true,
                    reason: None,
                    results: answer.results,
                    precondition: None,
                    lost: None,
                }));
            }
            if let Some(lost) = &answer.precondition
                && let (Some(lock), Some((_, hold))) = (self.guards.get(lost.index), guards.get(lost.index))
            {
                if repeats < REPEATS && lock.token_moved_by_us(*hold, lost, until) {
                    repeats += 1;
                    continue;
                }
                let error = lock.lost_by_guard(lost);
                return Ok(self.refused(&answer, Some(error)));
            }
            return Ok(self.refused(&answer, None));
        }
    }

    fn refused(&self, answer: &StepAnswer, lost: Option<Error>) -> Commit {
        let own = answer.precondition.clone().map(|mut of| {
            // What the caller counts are its own parts.
            of.index = of.index.saturating_sub(self.guards.len()) + self.numbered;
            precondition_json(&of)
        });
        Commit::Refused(StepResult {
            success: false,
            reason: answer.reason.clone(),
            results: answer.results.clone(),
            precondition: own.filter(|_| lost.is_none()),
            lost,
        })
    }
}

impl LockInner {
    fn not_held_for_step(&self) -> Error {
        let why = match self.core().lease.lost_reason() {
            Some(reason) => format!(" (lost: {})", reason.id()),
            None => String::new(),
        };
        let detail = format!("it is not held{why}, so nothing was sent. Acquire it and do the step again");
        self.describe(Error::new(Kind::NotHeld, "not_held", detail))
    }

    /// The hold with its current token, after a renewal in flight.
    fn hold_for_step(&self, until: Moment) -> Result<Hold> {
        if !self.is_here() {
            return Err(self.forked_error());
        }
        let mut core = self.look(self.core());
        while core.lease.is_renewing() {
            let left = until.since(self.clock.now());
            if left.is_zero() {
                break;
            }
            core = self.wait_for_change(core, left);
            core = self.look(core);
        }
        let hold = core.lease.last_hold().filter(|_| core.lease.is_held(self.clock.now()));
        drop(core);
        hold.ok_or_else(|| self.not_held_for_step())
    }

    /// Whether the guard was refused only because a renewal of this very handle had moved the token.
    fn token_moved_by_us(&self, sent: Hold, lost: &LostPrecondition, until: Moment) -> bool {
        if lost.value.get("owner").and_then(Value::as_str) != Some(self.owner.as_str()) {
            return false;
        }
        match self.hold_for_step(until) {
            Err(_) => false,
            Ok(now) if now.token != sent.token => true,
            // A renewal whose answer was lost: another one tells the token.
            Ok(now) => self.learn_token(now, until),
        }
    }

    fn learn_token(&self, hold: Hold, until: Moment) -> bool {
        let epoch = self.core().lease.epoch();
        let sent = self.clock.now();
        let Ok(Renewed::Renewed { token }) = self.backend().renew(&self.ask(), hold, until) else { return false };
        let now = self.clock.now();
        let mut core = self.core();
        let continues = matches!(core.lease.renewed(now, epoch, sent, token), RenewStep::Continues);
        self.publish(&core);
        drop(self.look(core));
        continues
    }

    /// The guard was refused because the lock is not ours any more.
    fn lost_by_guard(&self, lost: &LostPrecondition) -> Error {
        let who = match lost.value.get("owner").and_then(Value::as_str) {
            Some(owner) => format!("it is held by {owner}"),
            None if lost.version == 0 => "nobody holds it: it ended or was released by hand".to_string(),
            None => "somebody else holds it".to_string(),
        };
        let detail = format!(
            "the store refused a guarded step and did nothing of it; {who}. What was guarded or fenced is safe, check \
             the rest"
        );
        let error = self.describe(Error::new(Kind::Lost, "guard", detail));
        let now = self.clock.now();
        let mut core = self.look(self.core());
        if core.lease.is_held(now) && core.lease.lose(LostReason::Guard, now) {
            core.last_error = Some(error.clone());
            drop(self.was_lost(core, LostReason::Guard));
        }
        error
    }
}
