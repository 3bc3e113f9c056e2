//! `POST /api/v1/locks`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use fencehold::internal::boot_now;
use fencehold::{Error, Result};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::answer::{Family, failure, json as json_answer, refusal};
use super::limits::Kind;
use super::{App, Shared};
use crate::lines::{self, Asked, Poll, Verdict};
use crate::locks::{self, Call, Operation};
use crate::metrics::LockResult;
use crate::store::{Store, engine, unanswered};

pub(super) async fn call(State(app): Shared, body: Bytes) -> Response {
    let began = Instant::now();
    let call = match locks::parse(&body) {
        Ok(call) => call,
        Err(refused) => {
            app.metrics.lock(LockResult::Refused);
            return refusal(Family::Locks, &refused);
        }
    };
    let kind = if call.only_reads() { Kind::Read } else { Kind::Write };
    if !call.operations.is_empty()
        && let Err(refusal) = app.limits.check(&app, kind, call.new_rows())
    {
        return refusal;
    }
    let answer = answer(&app, call, body.len() as u64).await;
    app.metrics.lock_call(began.elapsed());
    match answer {
        Ok(results) => json_answer(StatusCode::OK, &json!({"results": results})),
        Err(error) => failure(&error),
    }
}

async fn answer(app: &Arc<App>, mut call: Call, size: u64) -> Result<Vec<Value>> {
    if call.only_reads() {
        return app.store.read(|rows| {
            call.operations
                .iter()
                .enumerate()
                .map(|(index, operation)| {
                    app.metrics.lock(LockResult::Read);
                    locks::get(rows, index, operation.name())
                })
                .collect()
        });
    }
    if let (Some(wait), 1) = (call.wait, call.operations.len())
        && let Some(Operation::Acquire(asked)) = call.operations.pop()
    {
        return Ok(vec![acquire(app, asked, wait, size).await?]);
    }
    // A row is its key, its value and what the store adds.
    let size = size + 256 * call.operations.len() as u64;
    app.store.write(size, move |step| locks::run(step, &call.operations)).await
}

/// A connection that waits for a verdict. When it is gone before that, the writer is told, and a
/// grant that nobody has seen is given back.
struct Connection {
    store: Store,
    poll: u64,
    name: String,
    verdict: Option<oneshot::Receiver<Verdict>>,
}

impl Connection {
    async fn verdict(&mut self) -> Result<Verdict> {
        let Some(verdict) = &mut self.verdict else { return Err(unanswered()) };
        let answer = verdict.await;
        self.verdict = None;
        answer.map_err(|_| unanswered())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(mut verdict) = self.verdict.take() else { return };
        verdict.close();
        let poll = self.poll;
        let work = match verdict.try_recv() {
            Ok(Verdict::Granted { hold, already: false, .. }) => lines::give_back(std::mem::take(&mut self.name), hold),
            Ok(_) => return,
            Err(_) => engine::command(0, move |step| lines::hang_up(step, poll)),
        };
        // A writer with too much to do finds out when it grants, or the lease ends.
        let _ = self.store.push(work);
    }
}

/// An acquire that may wait. Dropping the future gives the place up, or keeps it for a while when
/// it is a fair one.
async fn acquire(app: &Arc<App>, asked: Asked, wait: Duration, size: u64) -> Result<Value> {
    let began = boot_now();
    let wait = wait.min(app.longest_poll());
    let stopping = *app.stopping.borrow();
    let verdict = if wait.is_zero() || stopping {
        let asked = asked.clone();
        let verdict = app.store.write(size + 256, move |step| lines::acquire(step, asked, &mut None)).await?;
        verdict.ok_or_else(|| Error::internal("an acquire without a connection waits for nothing"))?
    } else {
        let (reply, verdict) = oneshot::channel();
        let id = app.next_poll();
        let name = asked.name.clone();
        let mut connection = Connection { store: app.store.clone(), poll: id, name, verdict: Some(verdict) };
        let work = {
            let asked = asked.clone();
            engine::command(size + 512, move |step| {
                let mut poll = Some(Poll { id, wait, reply });
                let decided = step.attempt(|step| lines::acquire(step, asked, &mut poll));
                if let (Err(error), Some(poll)) = (decided, poll) {
                    step.after(move || {
                        let _ = poll.reply.send(Verdict::Failed(error));
                        None
                    });
                }
            })
        };
        app.store.push(work)?;
        connection.verdict().await?
    };
    match verdict {
        Verdict::Failed(error) => Err(error),
        verdict => {
            let waited = match &verdict {
                // Until the lease began, and no longer: it is counted from there.
                Verdict::Granted { at, .. } => at.since(began),
                _ if wait.is_zero() => wait,
                _ => boot_now().since(began),
            };
            Ok(locks::verdict_element(0, &asked, &verdict, Some(waited)))
        }
    }
}
