//! Steps: put together call by call, done by `commit`.

use fencehold::{Error, StepParts};

use crate::arguments::Call;
use crate::js::Answer;
use crate::mailbox::Outcome;

/// step(): the number of a new step.
pub(crate) fn step(call: &Call<'_>) -> Answer {
    call.env.number(call.state.add_step(StepParts::default()) as f64)
}

/// forgetStep(step): nobody can reach it any more.
pub(crate) fn forget_step(call: &Call<'_>) -> Answer {
    drop(call.state.take_step(call.id(0)?));
    call.env.undefined()
}

/// stepGuard(step, client, lock)
pub(crate) fn guard(call: &Call<'_>) -> Answer {
    let client = call.state.client(call.id(1)?)?;
    let lock = call.state.handle(call.id(2)?)?.lock;
    let added = call.state.with_step(call.id(0)?, |parts| parts.guard(&client, &lock));
    added.unwrap_or_else(|| Err(committed())).map_err(|error| error.on_store(client.store()))?;
    call.env.undefined()
}

/// stepAdd(step, client, what, json, queue): `what` is `push`, `ack`, `kv` or `timers`.
pub(crate) fn add(call: &Call<'_>) -> Answer {
    let client = call.state.client(call.id(1)?)?;
    let what = call.needed(2, "bad_request", "the kind of part")?;
    let json = call.needed(3, "bad_request", &what)?;
    let queue = call.text(4, "bad_request", "the queue")?.unwrap_or_default();
    let step = call.id(0)?;
    let added = || {
        let items = serde_json::from_str(&json)
            .map_err(|error| Error::bad_argument("bad_request", format!("{what}: {error} (bad_request)")))?;
        let added = call.state.with_step(step, |parts| match what.as_str() {
            "push" => parts.push(&queue, &items),
            "ack" => parts.ack(&items),
            "kv" => parts.kv(&items),
            "timers" => parts.timers(&items),
            _ => Err(Error::internal(format!("no part of a step is called {what:?}"))),
        });
        added.unwrap_or_else(|| Err(committed()))
    };
    added().map_err(|error| error.on_store(client.store()))?;
    call.env.undefined()
}

/// stepCommit(step, client): the number of a call. The step is used up.
pub(crate) fn commit(call: &Call<'_>) -> Answer {
    let client = call.state.client(call.id(1)?)?;
    let Some(parts) = call.state.take_step(call.id(0)?) else {
        return Err(committed().on_store(client.store()).into());
    };
    call.state.start(call.env, None, move || {
        let commit = client.commit_parts(&parts)?;
        let refused = commit.clone().or_err().err().map(|why| why.on_store(client.store()));
        Ok(Outcome::Step(commit, refused))
    })
}

fn committed() -> Error {
    let detail = "the step was committed already, and a step is sent once. Begin a new one (bad_request)";
    Error::bad_argument("bad_request", detail)
}
