//! From the moment of a release to the moment when the next one holds.

use std::time::Duration;

use serde_json::{Value, json};

use crate::workers::{ready, say, together};
use crate::{Peer, now, percentile};

/// How long each holder holds, so that the others are asleep.
const HOLD: Duration = Duration::from_millis(2);
/// How long whoever gave back stays away, so that somebody else gets it.
const AWAY: Duration = Duration::from_micros(500);

/// `waiters` + 1 processes that want one lock all the time.
pub(crate) fn run(kind: &str, folder: &str, waiters: u64, seconds: u64) -> Value {
    let arguments: Vec<Vec<String>> =
        (0..=waiters).map(|_| ["handover", kind, folder, &seconds.to_string()].map(String::from).to_vec()).collect();
    let answers = together(&arguments);
    // (granted, given back, process)
    let mut holds: Vec<(u64, u64, usize)> = Vec::new();
    for (process, answer) in answers.iter().enumerate() {
        for hold in answer["holds"].as_array().into_iter().flatten() {
            holds.push((hold[0].as_u64().unwrap_or(0), hold[1].as_u64().unwrap_or(0), process));
        }
    }
    holds.sort_unstable();
    assert!(holds.windows(2).all(|two| two[0].1 <= two[1].0), "two held it at once");
    // The first and the last ones wait for processes that start or end.
    let inner = &holds[holds.len() / 20..holds.len() - holds.len() / 20];
    let mut times: Vec<u64> =
        inner.windows(2).filter(|two| two[0].2 != two[1].2).map(|two| two[1].0 - two[0].1).collect();
    times.sort_unstable();
    let mut counts = vec![0_u64; answers.len()];
    for (_, _, process) in &holds {
        counts[*process] += 1;
    }
    json!({
        "handovers": times.len(), "p50_ns": percentile(&times, 0.5), "p90_ns": percentile(&times, 0.9),
        "p99_ns": percentile(&times, 0.99), "worst_ns": times.last(),
        "fewest_to_most": *counts.iter().min().unwrap_or(&0) as f64 / (*counts.iter().max().unwrap_or(&1)).max(1) as f64,
    })
}

pub(crate) fn worker(arguments: &[&str]) {
    let [kind, folder, seconds] = arguments else { panic!("{arguments:?}") };
    let peer = Peer::open(kind, folder, "handover");
    ready();
    let end = now() + seconds.parse::<u64>().expect("seconds") * 1_000_000_000;
    let mut holds = Vec::new();
    while now() < end {
        peer.take();
        let granted = now();
        std::thread::sleep(HOLD);
        let given_back = now();
        peer.give_back();
        holds.push(json!([granted, given_back]));
        std::thread::sleep(AWAY);
    }
    say(&json!({ "holds": holds }).to_string());
}
