//! Every measurement runs and prints what `bench/collect.py` reads; how fast it is, is no test.

use std::process::Command;

use serde_json::Value;

fn measure(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let words = arguments.iter().map(|word| if *word == "FOLDER" { path } else { word });
    let output = Command::new(env!("CARGO_BIN_EXE_fencehold-bench")).args(words).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn pairs_are_counted_in_every_process() {
    for kind in ["lease", "background", "flock"] {
        let found = measure(&["pairs", kind, "FOLDER", "2", "1"]);
        assert!(found["pairs_per_second"].as_u64() > Some(0), "{found}");
        assert_eq!(found["p50_ns"].as_array().map(Vec::len), Some(2), "{found}");
    }
}

#[test]
fn hand_overs_go_from_process_to_process() {
    for kind in ["lease", "flock"] {
        let found = measure(&["handover", kind, "FOLDER", "2", "1"]);
        assert!(found["handovers"].as_u64() > Some(10), "{found}");
        assert!(found["p50_ns"].as_u64() <= found["p99_ns"].as_u64(), "{found}");
    }
}

#[test]
fn a_killed_holder_is_taken_over_from() {
    for kind in ["lease", "flock"] {
        let found = measure(&["takeover", kind, "FOLDER", "3"]);
        assert!(found["p50_ns"].as_u64() > Some(0), "{found}");
    }
}

#[test]
fn leases_are_held_and_kept_alive() {
    let found = measure(&["leases", "FOLDER", "2000"]);
    assert!(found["ratio"].as_f64() > Some(0.0) && found["bytes_per_lease"].as_f64() >= Some(0.0), "{found}");
    let found = measure(&["keep-alive"]);
    assert!(found["ratio"].as_f64() > Some(0.0), "{found}");
}

#[test]
fn what_is_no_measurement_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_fencehold-bench")).arg("everything").output().expect("it runs");
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("pairs KIND FOLDER"));
}
