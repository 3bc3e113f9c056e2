//! A small broker in memory: the lock route, rows and steps, as a Queen broker or as one that can
//! wait.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scripted::{Reply, Seen, Then};

struct Permit {
    token: u64,
    owner: Value,
    label: Value,
    until: Instant,
}

#[derive(Default)]
struct State {
    version: u64,
    permits: BTreeMap<(String, u64), Permit>,
    line: Vec<(String, String, u64)>,
    tickets: u64,
}

/// The broker.
pub(crate) struct Broker {
    waits: bool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Broker {
    /// One that knows nothing of waiting, as a Queen broker.
    pub(crate) fn queen() -> Self {
        Self { waits: false, state: Mutex::default(), changed: Condvar::new() }
    }

    /// One that waits and keeps a line.
    pub(crate) fn waiting() -> Self {
        Self { waits: true, ..Self::queen() }
    }

    /// Who holds `name`, slot 0.
    pub(crate) fn holder(&self, name: &str) -> Option<String> {
        let state = self.state.lock().unwrap();
        let permit = state.permits.get(&(name.to_string(), 0)).filter(|permit| permit.until > Instant::now())?;
        permit.owner.as_str().map(String::from)
    }

    /// How many wait in line.
    pub(crate) fn in_line(&self) -> usize {
        self.state.lock().unwrap().line.len()
    }

    /// Has somebody hold `name`, or nobody.
    pub(crate) fn put(&self, name: &str, owner: Option<&str>, ttl: Duration) {
        let mut state = self.state.lock().unwrap();
        state.version += 1;
        let token = state.version;
        match owner {
            Some(owner) => {
                let permit = Permit { token, owner: owner.into(), label: Value::Null, until: Instant::now() + ttl };
                state.permits.insert((name.into(), 0), permit);
            }
            None => drop(state.permits.remove(&(name.to_string(), 0))),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Does what is asked.
    pub(crate) fn answer(&self, seen: &Seen) -> Then {
        Then::Answer(self.reply(seen))
    }

    pub(crate) fn reply(&self, seen: &Seen) -> Reply {
        match &*seen.path {
            "/health" => Reply::json(200, &json!({"status": "healthy"})),
            "/api/v1/locks" => {
                let element = self.operate(&seen.operation());
                Reply::json(200, &json!({ "results": [element] }))
            }
            "/api/v1/resources/kv/list" => Reply::json(200, &self.list(&seen.body)),
            _ => Reply::json(404, &json!({"error": "Not Found", "code": "no_such_route"})),
        }
    }

    fn operate(&self, asked: &Value) -> Value {
        let name = asked["name"].as_str().unwrap().to_string();
        let op = asked["op"].as_str().unwrap();
        let mut element = match op {
            "acquire" => self.acquire(asked, &name),
            "renew" => self.renew(asked, &name),
            "release" => self.release(asked, &name),
            "get" => self.get(&name),
            "leave" => self.leave(asked, &name),
            other => panic!("{other}"),
        };
        element["index"] = 0.into();
        element["op"] = op.into();
        element["name"] = name.into();
        element
    }

    fn acquire(&self, asked: &Value, name: &str) -> Value {
        let began = Instant::now();
        let wait = Duration::from_millis(if self.waits { asked["waitMs"].as_u64().unwrap_or(0) } else { 0 });
        let fair = self.waits && asked["fair"] == true;
        let owner = asked["owner"].as_str().unwrap().to_string();
        let mut had_place = false;
        let mut state = self.state.lock().unwrap();
        loop {
            let place = state.line.iter().position(|(of, who, _)| of == name && *who == owner);
            let ahead = state.line.iter().take(place.unwrap_or(usize::MAX)).filter(|(of, ..)| of == name).count();
            if let Some(mut granted) = state.grant(asked, name, ahead == 0) {
                if let Some(place) = place {
                    state.line.remove(place);
                }
                if self.waits && asked["waitMs"].as_u64().unwrap_or(0) > 0 {
                    granted["waited"] = (began.elapsed().as_millis() as u64).into();
                }
                return granted;
            }
            if had_place && place.is_none() {
                // Its place was given up while it waited.
                return state.refusal(asked, name);
            }
            had_place |= place.is_some();
            if fair && place.is_none() {
                state.tickets += 1;
                let ticket = state.tickets;
                state.line.push((name.into(), owner.clone(), ticket));
                continue;
            }
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                let mut refused = state.refusal(asked, name);
                if self.waits {
                    refused["waited"] = (began.elapsed().as_millis() as u64).into();
                }
                if fair {
                    refused["ticket"] = format!("{:010}", state.line[place.unwrap()].2).into();
                    refused["position"] = (ahead + 1).into();
                    refused["length"] = state.line.iter().filter(|(of, ..)| of == name).count().into();
                }
                return refused;
            }
            state = self.changed.wait_timeout(state, left.min(Duration::from_millis(20))).unwrap().0;
        }
    }

    fn renew(&self, asked: &Value, name: &str) -> Value {
        let mut state = self.state.lock().unwrap();
        let slot = asked["slot"].as_u64().unwrap_or(0);
        state.version += 1;
        let token = state.version;
        match state.permits.get_mut(&(name.to_string(), slot)).filter(|permit| permit.until > Instant::now()) {
            Some(permit) if permit.token == asked["token"] || permit.owner == asked["owner"] => {
                permit.token = token;
                permit.until = Instant::now() + Duration::from_secs(asked["ttlSeconds"].as_u64().unwrap());
                json!({"renewed": true, "slot": slot, "token": token, "guard": guard(name, slot, token)})
            }
            other => {
                let holders: Vec<Value> =
                    other.iter().map(|permit| json!({"slot": slot, "owner": permit.owner})).collect();
                json!({"renewed": false, "reason": "lost", "slot": slot, "holders": holders})
            }
        }
    }

    fn release(&self, asked: &Value, name: &str) -> Value {
        let mut state = self.state.lock().unwrap();
        let slot = asked["slot"].as_u64().unwrap_or(0);
        let key = (name.to_string(), slot);
        let answer = match state.permits.get(&key).filter(|permit| permit.until > Instant::now()) {
            Some(permit) if permit.token == asked["token"] => {
                state.permits.remove(&key);
                json!({"released": true, "slot": slot})
            }
            other => {
                let holders: Vec<Value> =
                    other.iter().map(|permit| json!({"slot": slot, "owner": permit.owner})).collect();
                json!({"released": false, "reason": "lost", "slot": slot, "holders": holders})
            }
        };
        drop(state);
        self.changed.notify_all();
        answer
    }

    fn get(&self, name: &str) -> Value {
        let state = self.state.lock().unwrap();
        let holders: Vec<Value> = state
            .permits
            .iter()
            .filter(|((of, _), permit)| of == name && permit.until > Instant::now())
            .map(|((_, slot), permit)| {
                json!({
                    "slot": slot, "owner": permit.owner, "token": permit.token, "label": permit.label,
                    "since": "2026-10-08T08:49:10.5+00:00", "expiresAt": "2026-10-08T08:52:40.244569+00:00",
                    "renewedAt": "2026-10-08T08:50:40.244569+00:00",
                })
            })
            .collect();
        let mut element = json!({"held": !holders.is_empty(), "holders": holders});
        if self.waits {
            let waiting = state.line.iter().filter(|(of, ..)| of == name);
            element["waiting"] = waiting.map(|(_, owner, _)| json!({ "owner": owner })).collect();
        }
        element
    }

    fn leave(&self, asked: &Value, name: &str) -> Value {
        let mut state = self.state.lock().unwrap();
        let before = state.line.len();
        state.line.retain(|(of, who, _)| !(of == name && asked["owner"] == **who));
        let left = state.line.len() < before;
        drop(state);
        self.changed.notify_all();
        json!({ "left": left })
    }

    fn list(&self, asked: &Value) -> Value {
        let state = self.state.lock().unwrap();
        let limit = asked["limit"].as_u64().unwrap_or(100) as usize;
        let after = asked["after"].as_str().unwrap_or_default();
        let prefix = asked["prefix"].as_str().unwrap_or_default();
        let mut rows: Vec<(String, Value)> = Vec::new();
        if asked["namespace"] == "queen-locks" {
            for ((name, slot), permit) in &state.permits {
                let key = format!("{name}#{slot}");
                let row = json!({
                    "key": key, "value": {"owner": permit.owner, "label": permit.label}, "version": permit.token,
                    "expiresAt": "2026-10-08T08:50:20.000000Z", "updatedAt": "2026-10-08T08:50:00.000000Z",
                });
                rows.push((key, row));
            }
        } else {
            for (name, owner, ticket) in &state.line {
                let key = format!("{name}#{ticket:010}");
                rows.push((key.clone(), json!({"key": key, "value": {"owner": owner}, "version": ticket})));
            }
        }
        rows.retain(|(key, _)| key.starts_with(prefix) && &**key > after);
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = more.then(|| rows.last().map(|(key, _)| key.clone())).flatten();
        json!({
            "rows": rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>(),
            "truncated": more, "nextAfter": next, "bytes": 0,
        })
    }
}

fn guard(name: &str, slot: u64, token: u64) -> Value {
    json!({"op": "check", "ns": "queen-locks", "key": format!("{name}#{slot}"), "expect": token, "required": true})
}

impl State {
    fn grant(&mut self, asked: &Value, name: &str, is_first: bool) -> Option<Value> {
        let owner = &asked["owner"];
        let limit = asked["limit"].as_u64().unwrap_or(1);
        let now = Instant::now();
        self.permits.retain(|_, permit| permit.until > now);
        let grant = |slot: u64, token: u64| json!({"acquired": true, "slot": slot, "token": token, "owner": owner, "guard": guard(name, slot, token)});
        for slot in 0..limit {
            if let Some(permit) = self.permits.get(&(name.to_string(), slot))
                && permit.owner == *owner
            {
                let mut granted = grant(slot, permit.token);
                granted["already"] = true.into();
                return Some(granted);
            }
        }
        let slot = (0..limit).find(|slot| !self.permits.contains_key(&(name.to_string(), *slot)))?;
        if !is_first {
            return None;
        }
        self.version += 1;
        let until = now + Duration::from_secs(asked["ttlSeconds"].as_u64().unwrap());
        let permit = Permit { token: self.version, owner: owner.clone(), label: asked["label"].clone(), until };
        self.permits.insert((name.to_string(), slot), permit);
        Some(grant(slot, self.version))
    }

    fn refusal(&self, asked: &Value, name: &str) -> Value {
        let limit = asked["limit"].as_u64().unwrap_or(1);
        let below = self.permits.iter().filter(|((of, slot), _)| of == name && *slot < limit);
        let holders: Vec<Value> =
            below.map(|((_, slot), permit)| json!({"slot": slot, "owner": permit.owner})).collect();
        json!({"acquired": false, "reason": "held", "holders": holders})
    }
}
