//! Stores over HTTP, against a server that misbehaves as it is told.

#[path = "http/answers.rs"]
mod answers;
#[path = "support/authority.rs"]
mod authority;
#[path = "support/broker.rs"]
mod broker;
#[path = "http/connections.rs"]
mod connections;
#[path = "support/scripted.rs"]
mod scripted;
#[path = "http/steps.rs"]
mod steps;
#[path = "http/trust.rs"]
mod trust;
#[path = "http/waiting.rs"]
mod waiting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::Broker;
use fencehold::{Client, ClientOptions, LockOptions, Renewal};
use scripted::{Scripted, Seen, Then};

/// Longer than anything here takes, even on a machine that is busy with something else.
const LONG: Duration = Duration::from_secs(60);

/// A server in front of `broker`, and what becomes of each request before the broker sees it.
fn in_front(broker: &Arc<Broker>, script: impl Fn(&Seen, &Broker) -> Then + Send + Sync + 'static) -> Scripted {
    let broker = broker.clone();
    Scripted::start(move |seen| script(seen, &broker))
}

fn client(server: &Scripted) -> Client {
    Client::open(&server.url()).unwrap()
}

fn patient(url: &str, timeout: Duration) -> Client {
    Client::open_with(url, ClientOptions::new().request_timeout(timeout)).unwrap()
}

/// A handle that renews at checkpoints only, so that every request is the test's own.
fn options(seconds: u64) -> LockOptions {
    LockOptions::ttl(Duration::from_secs(seconds)).renewal(Renewal::Checkpoint)
}

/// Waits until `done`, for a while.
fn eventually(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
