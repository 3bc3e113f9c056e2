//! One scenario in progress.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fencehold::{
    Acquire, Client, ClientOptions, Crash, Error, Lock, LockOptions, LostReason, ReleaseId, Renewal, Run, Ttl, Wait,
    parse_duration,
};
use serde_json::Value;

use crate::expect;

/// What a handle is called, and what it was like when its last step was over.
pub(crate) struct Handle {
    pub(crate) lock: Arc<Lock>,
    pub(crate) lost_calls: Arc<Mutex<Vec<&'static str>>>,
}

/// Token and fence.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) token: u64,
    pub(crate) fence: u64,
}

pub(crate) struct Player {
    url: String,
    is_manual: bool,
    folder: Option<tempfile::TempDir>,
    clients: HashMap<String, Client>,
    pub(crate) handles: HashMap<String, Handle>,
    pub(crate) seen: HashMap<String, Seen>,
}

/// What a call came to.
pub(crate) enum Answer {
    Nothing,
    Bool(bool),
    /// Handle ids or names.
    Texts(Vec<String>),
    Raised(Error),
    /// The body's own error.
    Body,
}

/// Keys that every step may have: what it is about, what it expects, and what the handle must be like.
const COMMON: [&str; 6] = ["do", "lock", "client", "client_options", "expect", "expect_error"];
const LOOKS: [&str; 18] = [
    "held",
    "lost",
    "lost_calls",
    "refusal",
    "last_error",
    "readable",
    "fence_above",
    "fence_is",
    "token_above",
    "token_is",
    "slot",
    "ttl_ms",
    "remaining_ms",
    "owner",
    "name_is",
    "position",
    "name",
    "ttl",
];
const MAKES: [&str; 8] = ["permits", "handle_wait", "resume", "label", "fair", "reentrant", "crash", "ttl"];

/// The body of `run` failed as it was asked to.
struct BodyFailed;

fn text<'a>(step: &'a Value, key: &str) -> Result<&'a str, String> {
    step[key].as_str().ok_or_else(|| format!("{key} is no text: {}", step[key]))
}

fn flag(step: &Value, key: &str) -> Result<bool, String> {
    match &step[key] {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        other => Err(format!("{key} is neither true nor false: {other}")),
    }
}

/// A wait as scenarios write it; `None`: the step has none.
fn wait(step: &Value, key: &str) -> Result<Option<Result<Wait, Error>>, String> {
    match &step[key] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.parse())),
        Value::Number(number) if number.as_u64() == Some(0) => Ok(Some(Ok(Wait::No))),
        other => Err(format!("{key} is no wait: {other}")),
    }
}

impl Player {
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (scheme, parameters) = url.split_once(':').ok_or("a store without a scheme")?;
        let (url, folder) = match scheme {
            "memory" => {
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                (format!("memory:scenario-{number}{parameters}"), None)
            }
            "file" => {
                let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
                (format!("file:{}{parameters}", folder.path().display()), Some(folder))
            }
            _ => return Err(format!("the store {url} is not known")),
        };
        let is_manual = url.contains("clock=manual");
        Ok(Self { url, is_manual, folder, clients: HashMap::new(), handles: HashMap::new(), seen: HashMap::new() })
    }

    pub(crate) fn play(&mut self, steps: &[Value]) -> Result<(), String> {
        for step in steps {
            self.step(step)
                .map_err(|error| if error.contains("\n  in ") { error } else { format!("{error}\n  in {step}") })?;
        }
        Ok(())
    }

    /// Closes all clients and removes the folder.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        for (id, client) in self.clients.drain() {
            client.close().map_err(|error| format!("closing {id}: {error}"))?;
        }
        match self.folder.take() {
            Some(folder) => folder.close().map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let action = text(step, "do")?;
        expect::known_keys(step, &keys(action)?)?;
        let before = self.seen.clone();
        let answer = self.act(action, step)?;
        expect::answer(step, &answer)?;
        let Some(id) = step["lock"].as_str() else { return Ok(()) };
        let Some(handle) = self.handles.get(id) else { return Ok(()) };
        expect::handle(self, step, handle, &before)?;
        if let (Ok(token), Ok(fence)) = (handle.lock.token(), handle.lock.fence()) {
            self.seen.insert(id.into(), Seen { token: token.get(), fence: fence.get() });
        }
        Ok(())
    }

    fn act(&mut self, action: &str, step: &Value) -> Result<Answer, String> {
        if !step["ttl"].is_null() && action != "take" {
            match self.make(step)? {
                Ok(()) => {}
                Err(error) => return Ok(Answer::Raised(error)),
            }
        }
        let bool_answer = |result: Result<bool, Error>| result.map_or_else(Answer::Raised, Answer::Bool);
        Ok(match action {
            "new" if !step["ttl"].is_null() => Answer::Nothing,
            "new" => return Err("new without a ttl".into()),
            "check" => {
                self.lock(step)?;
                Answer::Nothing
            }
            "open" => self.open(step)?,
            "acquire" => {
                let lock = self.lock(step)?;
                match wait(step, "wait")?.unwrap_or(Ok(Wait::Default)) {
                    Ok(wait) => bool_answer(lock.acquire_within(wait).map(|answer| answer.is_granted())),
                    Err(error) => Answer::Raised(error),
                }
            }
            "step_aside" => {
                let lock = self.lock(step)?;
                match wait(step, "wait")?.unwrap_or(Ok(Wait::Default)) {
                    Ok(wait) => bool_answer(lock.step_aside(wait).map(|answer| matches!(answer, Acquire::Granted))),
                    Err(error) => Answer::Raised(error),
                }
            }
            "take" => self.take(step)?,
            "keep_alive" => Answer::Bool(self.lock(step)?.keep_alive()),
            "release" => bool_answer(self.lock(step)?.release()),
            "run" => self.run(step)?,
            "lose" => {
                let reason = text(step, "reason")?;
                let reason = LostReason::from_id(reason).ok_or_else(|| format!("no such reason: {reason}"))?;
                self.lock(step)?.lose(reason).map_or_else(Answer::Raised, |()| Answer::Nothing)
            }
            "let_expire" => {
                let ttl = self.lock(step)?.ttl();
                if self.is_manual {
                    self.client(step)?.advance(ttl).map_or_else(Answer::Raised, |()| Answer::Nothing)
                } else {
                    std::thread::sleep(ttl + Duration::from_millis(100));
                    Answer::Nothing
                }
            }
            "advance" => {
                let by = parse_duration(text(step, "by")?).map_err(|error| error.to_string())?;
                self.client(step)?.advance(by).map_or_else(Answer::Raised, |()| Answer::Nothing)
            }
            "force_release" => self.force_release(step)?,
            "holders" => {
                let name = text(step, "name")?;
                match self.client(step)?.holders(name) {
                    Ok(holders) => Answer::Texts(self.ids(&holders, &step["expect"])?),
                    Err(error) => Answer::Raised(error),
                }
            }
            "list" => {
                let after = step["after"].as_str().unwrap_or("");
                let limit = step["limit"].as_u64().ok_or("list without a limit")? as u32;
                match self.client(step)?.list(text(step, "prefix")?, limit, after) {
                    Ok(locks) => Answer::Texts(locks.into_iter().map(|lock| lock.name).collect()),
                    Err(error) => Answer::Raised(error),
                }
            }
            "ping" => self.client(step)?.ping().map_or_else(Answer::Raised, |()| Answer::Nothing),
            "close" => self.client(step)?.close().map_or_else(Answer::Raised, |()| Answer::Nothing),
            _ => return Err(format!("the step {action:?} is not known")),
        })
    }

    fn client(&mut self, step: &Value) -> Result<Client, String> {
        let id = if step["client"].is_null() { "a" } else { text(step, "client")? };
        if let Some(client) = self.clients.get(id) {
            return Ok(client.clone());
        }
        let mut options = ClientOptions::new();
        if let Some(given) = step["client_options"].as_object() {
            expect::known_keys(&step["client_options"], &["label"])?;
            if given.contains_key("label") {
                options = options.label(text(&step["client_options"], "label")?);
            }
        }
        let client = Client::open_with(&self.url, options).map_err(|error| error.to_string())?;
        self.clients.insert(id.into(), client.clone());
        Ok(client)
    }

    fn open(&mut self, step: &Value) -> Result<Answer, String> {
        let url = match &step["url"] {
            Value::Null if step.get("url").is_some() => "",
            Value::String(url) => url,
            other => return Err(format!("open without a url: {other}")),
        };
        Ok(match Client::open(url) {
            Ok(client) => {
                self.clients.insert(text(step, "client")?.into(), client);
                Answer::Nothing
            }
            Err(error) => Answer::Raised(error),
        })
    }

    fn lock(&self, step: &Value) -> Result<Arc<Lock>, String> {
        let id = text(step, "lock")?;
        Ok(self.handles.get(id).ok_or_else(|| format!("no handle is called {id}"))?.lock.clone())
    }

    fn options(&self, step: &Value) -> Result<Result<LockOptions, Error>, String> {
        let ttl: Ttl = match text(step, "ttl")?.parse() {
            Ok(ttl) => ttl,
            Err(error) => return Ok(Err(error)),
        };
        let mut options = LockOptions::from_ttl(ttl)
            .renewal(Renewal::Checkpoint)
            .resume(flag(step, "resume")?)
            .set_fair(flag(step, "fair")?)
            .reentrant(flag(step, "reentrant")?);
        match wait(step, "handle_wait")? {
            None => {}
            Some(Ok(wait)) => options = options.wait(wait),
            Some(Err(error)) => return Ok(Err(error)),
        }
        if !step["owner"].is_null() {
            options = options.owner(text(step, "owner")?);
        }
        if !step["label"].is_null() {
            options = options.label(text(step, "label")?);
        }
        match &step["crash"] {
            Value::Null => {}
            Value::String(crash) if crash == "takeover" => options = options.crash(Crash::Takeover),
            Value::String(crash) if crash == "expire" => options = options.crash(Crash::Expire),
            other => return Err(format!("crash is not known: {other}")),
        }
        Ok(Ok(options))
    }

    /// Makes the handle that the step is about.
    fn make(&mut self, step: &Value) -> Result<Result<(), Error>, String> {
        let (client, name) = (self.client(step)?, text(step, "name")?);
        let options = match self.options(step)? {
            Ok(options) => options,
            Err(error) => return Ok(Err(error)),
        };
        let made = match step["permits"].as_u64() {
            None if step["permits"].is_null() => client.lock(name, options),
            None => return Err(format!("permits is no number: {}", step["permits"])),
            Some(permits) => client.semaphore(name, permits as u32, options),
        };
        match made {
            Ok(lock) => self.keep(text(step, "lock")?, lock),
            Err(error) => return Ok(Err(error)),
        }
        Ok(Ok(()))
    }

    fn keep(&mut self, id: &str, lock: Lock) {
        let lost_calls = Arc::new(Mutex::new(Vec::new()));
        let calls = lost_calls.clone();
        lock.on_lost(move |reason| calls.lock().expect("no handler panics").push(reason.id()));
        self.handles.insert(id.into(), Handle { lock: Arc::new(lock), lost_calls });
    }

    fn take(&mut self, step: &Value) -> Result<Answer, String> {
        let (client, name) = (self.client(step)?, text(step, "name")?);
        let mut options = match self.options(step)? {
            Ok(options) => options,
            Err(error) => return Ok(Answer::Raised(error)),
        };
        match wait(step, "wait")? {
            None => {}
            Some(Ok(wait)) => options = options.wait(wait),
            Some(Err(error)) => return Ok(Answer::Raised(error)),
        }
        Ok(match client.acquire(name, options) {
            Ok(lock) => {
                self.keep(text(step, "lock")?, lock);
                Answer::Nothing
            }
            Err(error) => Answer::Raised(error),
        })
    }

    fn run(&mut self, step: &Value) -> Result<Answer, String> {
        let lock = self.lock(step)?;
        let body = step["body"].as_array().ok_or("run without a body")?;
        let fails = flag(step, "body_fails")?;
        let wait = match wait(step, "wait")?.unwrap_or(Ok(Wait::Default)) {
            Ok(wait) => wait,
            Err(error) => return Ok(Answer::Raised(error)),
        };
        let mut played = Ok(());
        // What other languages raise is a panic here: any value that a body returns has come back well.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            lock.run(wait, |_| {
                played = self.play(body);
                if fails && played.is_ok() {
                    resume_unwind(Box::new(BodyFailed));
                }
                "done"
            })
        }));
        played?;
        match answer {
            Ok(Ok(Run::Ran("done"))) => Ok(Answer::Bool(true)),
            Ok(Ok(Run::Ran(other))) => Err(format!("the body's value came back as {other}")),
            Ok(Ok(Run::Refused(_))) => Ok(Answer::Bool(false)),
            Ok(Err(error)) => Ok(Answer::Raised(error)),
            Err(panic) if panic.is::<BodyFailed>() => Ok(Answer::Body),
            Err(panic) => resume_unwind(panic),
        }
    }

    fn force_release(&mut self, step: &Value) -> Result<Answer, String> {
        let client = self.client(step)?;
        let handle = |key: &str| {
            let id = text(step, key)?;
            self.handles.get(id).ok_or_else(|| format!("no handle is called {id}"))
        };
        let id = if let Some(token) = step["token"].as_u64() {
            ReleaseId::Token(token)
        } else if !step["token_of"].is_null() {
            ReleaseId::Token(handle("token_of")?.lock.token().map_err(|error| error.to_string())?.get())
        } else {
            ReleaseId::Owner(handle("owner_of")?.lock.owner().into())
        };
        let slot = step["slot"].as_u64().unwrap_or(0) as u32;
        let released = client.force_release(text(step, "name")?, slot, &id);
        Ok(released.map_or_else(Answer::Raised, Answer::Bool))
    }

    /// The ids of the handles that hold, by slot: those of `expected` where they fit, so that two handles of one
    /// owner are told apart by what the scenario says.
    pub(crate) fn ids(&self, holders: &[fencehold::Holder], expected: &Value) -> Result<Vec<String>, String> {
        let mut ids = Vec::new();
        for (at, holder) in holders.iter().enumerate() {
            let fits = |handle: &Handle| {
                holder.owner.as_deref() == Some(handle.lock.owner())
                    && !handle.lock.token().is_ok_and(|token| handle.lock.held() && token.get() != holder.token)
            };
            let wanted = expected[at].as_str().filter(|id| self.handles.get(*id).is_some_and(fits));
            let found = wanted
                .map(String::from)
                .or_else(|| self.handles.iter().find(|(_, handle)| fits(handle)).map(|(id, _)| id.clone()));
            ids.push(found.ok_or_else(|| format!("held by none of the handles: {holder:?}"))?);
        }
        if !holders.windows(2).all(|two| two[0].slot < two[1].slot) {
            return Err(format!("the holders are not by rising slot: {holders:?}"));
        }
        Ok(ids)
    }
}

/// The keys that a step of this kind reads.
fn keys(action: &str) -> Result<Vec<&'static str>, String> {
    let handle = [&LOOKS[..], &MAKES].concat();
    let own: Vec<&str> = match action {
        "new" | "check" | "keep_alive" | "release" | "let_expire" => handle,
        "acquire" | "step_aside" | "take" => [&handle[..], &["wait"]].concat(),
        "run" => [&handle[..], &["wait", "body", "body_fails"]].concat(),
        "lose" => [&handle[..], &["reason"]].concat(),
        "advance" => vec!["by"],
        "open" => vec!["url"],
        "force_release" => vec!["name", "slot", "token", "token_of", "owner_of"],
        "holders" => vec!["name"],
        "list" => vec!["prefix", "limit", "after"],
        "ping" | "close" => Vec::new(),
        _ => return Err(format!("the step {action:?} is not known")),
    };
    Ok([&COMMON[..], &own].concat())
}
