//! Acquire + release, over and over.

use serde_json::{Value, json};

use crate::workers::{ready, say, together};
use crate::{Peer, now, percentile};

/// `processes` processes with a name each (and, where there are threads, a name a thread).
pub(crate) fn run(kind: &str, folder: &str, processes: u64, seconds: u64, threads: u64) -> Value {
    let arguments: Vec<Vec<String>> = (0..processes)
        .map(|at| {
            let name = format!("pairs-{at}");
            ["pairs", kind, folder, &name, &seconds.to_string(), &threads.to_string()].map(String::from).to_vec()
        })
        .collect();
    let answers = together(&arguments);
    let all = |key: &str| answers.iter().filter_map(|answer| answer[key].as_u64()).collect::<Vec<u64>>();
    let counts = all("pairs");
    let rate = counts.iter().sum::<u64>() / seconds;
    json!({
        "pairs_per_second": rate,
        "ns_per_pair": all("ns_per_pair"),
        "slowest_to_fastest": *counts.iter().min().unwrap_or(&0) as f64 / (*counts.iter().max().unwrap_or(&1)).max(1) as f64,
        "p50_ns": all("p50_ns"), "p99_ns": all("p99_ns").iter().max(), "worst_ns": all("worst_ns").iter().max(),
    })
}

pub(crate) fn worker(arguments: &[&str]) {
    let [kind, folder, name, seconds, threads] = arguments else { panic!("{arguments:?}") };
    let seconds: u64 = seconds.parse().expect("seconds");
    let threads: u64 = threads.parse().expect("threads");
    let peers: Vec<Peer> = (0..threads).map(|at| Peer::open(kind, folder, &format!("{name}-{at}"))).collect();
    for peer in &peers {
        for _ in 0..1_000 {
            peer.try_once();
            peer.give_back();
        }
    }
    ready();
    let end = now() + seconds * 1_000_000_000;
    let mut times: Vec<(u64, Vec<u64>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = peers.iter().map(|peer| scope.spawn(|| measure(peer, end))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let pairs: u64 = times.iter().map(|(pairs, _)| *pairs).sum();
    let fewest = times.iter().map(|(pairs, _)| *pairs).min().unwrap_or(0);
    let mut sampled: Vec<u64> = times.iter_mut().flat_map(|(_, times)| std::mem::take(times)).collect();
    sampled.sort_unstable();
    let answer = json!({
        "pairs": pairs, "ns_per_pair": seconds * 1_000_000_000 / pairs.max(1), "fewest_of_a_thread": fewest,
        "p50_ns": percentile(&sampled, 0.5), "p99_ns": percentile(&sampled, 0.99), "worst_ns": sampled.last(),
    });
    say(&answer.to_string());
}

/// How many pairs were done before `end`, and how long they took: the mean of ten at a time would hide a wait, so
/// each one of ours is timed; of flock, which costs no more than reading the clock a few times, the mean of a hundred.
fn measure(peer: &Peer, end: u64) -> (u64, Vec<u64>) {
    let batch = if matches!(peer, Peer::Flock(_)) { 100 } else { 1 };
    let mut times = Vec::with_capacity(1 << 20);
    let mut pairs = 0;
    let mut before = now();
    while before < end {
        for _ in 0..batch {
            peer.try_once();
            peer.give_back();
        }
        pairs += batch;
        let after = now();
        times.push((after - before) / batch);
        before = after;
    }
    (pairs, times)
}
