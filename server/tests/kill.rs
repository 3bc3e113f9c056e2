//! A server that is killed: what was answered is there, and tokens go on rising.

mod site;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use site::Peer;

/// Plays the server when the test runs itself again with this variable set.
const FOLDER: &str = "FENCEHOLD_TEST_SERVE";

#[test]
fn serve_when_asked_to() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let server = fencehold_server::Server::start(site::options(Path::new(&folder), |_| {})).unwrap();
    eprintln!("\nlistening {}", server.address());
    server.run_until_signal();
}

struct Victim {
    child: Child,
    address: SocketAddr,
}

impl Victim {
    fn start(folder: &Path) -> Self {
        let program: PathBuf = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args(["--exact", "serve_when_asked_to", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.unwrap().strip_prefix("listening ").map(|address| address.parse().unwrap()))
            .unwrap();
        // Whatever it says later has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a client was told before the server died.
#[derive(Default)]
struct Told {
    highest: u64,
    /// Tokens of locks that are held.
    held: HashMap<String, u64>,
    rows: HashMap<String, u64>,
}

/// Works until the server is gone. Whatever is in doubt is left out.
fn work(address: SocketAddr, who: usize, round: usize, told: &mut Told, stop: &AtomicBool) {
    let mut peer = Peer::new(address);
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("w{who}-{round}-{n}");
        let ask = json!({"operations": [{"op": "acquire", "name": name, "owner": "o", "ttlSeconds": 600}]});
        let Some(answer) = peer.try_post("/api/v1/locks", &ask) else { return };
        let token = answer["results"][0]["token"].as_u64().unwrap();
        assert!(token > told.highest, "a token that does not rise: {token} after {}", told.highest);
        told.highest = token;
        told.held.insert(name.clone(), token);
        let put = json!([{"op": "put", "ns": "n", "key": name, "value": n, "forever": true}]);
        let Some(answer) = peer.try_post("/api/v1/kv", &put) else { return };
        told.rows.insert(name.clone(), answer["results"][0]["version"].as_u64().unwrap());
        if n % 3 == 0 {
            let release = json!([{"op": "release", "name": name, "token": token}]);
            told.held.remove(&name);
            if peer.try_post("/api/v1/locks", &release).is_none() {
                return;
            }
        }
    }
}

#[test]
fn what_was_answered_survives_kills_and_tokens_rise() {
    let folder = tempfile::tempdir().unwrap();
    let mut all: Vec<Told> = (0..4).map(|_| Told::default()).collect();
    for round in 0..5 {
        let victim = Victim::start(folder.path());
        let stop = AtomicBool::new(false);
        let address = victim.address;
        std::thread::scope(|scope| {
            for (who, told) in all.iter_mut().enumerate() {
                let stop = &stop;
                scope.spawn(move || work(address, who, round, told, stop));
            }
            std::thread::sleep(Duration::from_millis(300));
            victim.kill();
            stop.store(true, Ordering::Relaxed);
        });
    }
    let highest = all.iter().map(|told| told.highest).max().unwrap();
    assert!(all.iter().all(|told| told.rows.len() > 5), "there was work in every client");
    let last = Victim::start(folder.path());
    let mut peer = Peer::new(last.address);
    for told in &all {
        for (name, token) in &told.held {
            let shown = peer.lock(json!({"op": "get", "name": name}));
            assert_eq!(shown["holders"][0]["token"], *token, "{name}");
        }
        for (key, version) in &told.rows {
            assert_eq!(peer.ask("GET", &format!("/api/v1/kv/n/{key}"), "").json()["version"], *version, "{key}");
        }
    }
    assert!(peer.acquire("last", "o")["token"].as_u64().unwrap() > highest);
    last.kill();
}

#[test]
fn a_server_that_is_told_to_end_answers_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut victim = Victim::start(folder.path());
    let mut peer = Peer::new(victim.address);
    peer.acquire("n", "a");
    let mut waiting = Peer::new(victim.address);
    let ask = json!([{"op": "acquire", "name": "n", "owner": "b", "ttlSeconds": 5, "waitMs": 25_000}]);
    waiting.send("POST", "/api/v1/locks", &ask.to_string());
    while peer.lock(json!({"op": "get", "name": "n"}))["waiting"] == json!([]) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let began = Instant::now();
    let pid = victim.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(waiting.receive().json()["results"][0]["reason"], "held");
    assert!(victim.child.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
