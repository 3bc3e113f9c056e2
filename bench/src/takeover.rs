//! From SIGKILL of the holder to the moment when the waiter holds.

use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::workers::say;
use crate::{Peer, now, percentile};

pub(crate) fn run(kind: &str, folder: &str, rounds: u64) -> Value {
    let mut times: Vec<u64> = Vec::new();
    let peer = Peer::open(kind, folder, "takeover");
    for _ in 0..rounds {
        let mut holder = start(kind, folder);
        let killed = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                // Long enough that the waiter sleeps, and at any point of its slices.
                std::thread::sleep(Duration::from_micros(60_000 + now() % 50_000));
                let killed = now();
                holder.kill().expect("a holder");
                killed
            });
            peer.take();
            let granted = now();
            let killed = killer.join().expect("no panic");
            assert!(granted >= killed, "granted while the holder lived");
            times.push(granted - killed);
            killed
        });
        assert!(killed > 0);
        peer.give_back();
        holder.wait().expect("an end");
    }
    times.sort_unstable();
    json!({
        "rounds": rounds, "p50_ns": percentile(&times, 0.5), "p99_ns": percentile(&times, 0.99), "worst_ns": times.last(),
    })
}

fn start(kind: &str, folder: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["worker", "takeover", kind, folder])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    assert_eq!(line, "held\n");
    child
}

pub(crate) fn worker(arguments: &[&str]) {
    let [kind, folder] = arguments else { panic!("{arguments:?}") };
    let peer = Peer::open(kind, folder, "takeover");
    peer.take();
    say("held");
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}
