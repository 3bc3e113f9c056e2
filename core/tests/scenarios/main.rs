//! Plays every scenario of `tests/scenarios` through the public names of this crate.
//!
//! Each file is played once per store. There is no rule of leases here: what a step does and expects is in the README
//! beside the scenarios. A file that cannot be read, an unknown key or an unknown step is a failure.

mod expect;
mod player;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use player::Player;
use serde_json::{Value, json};
use support::Case;

fn main() {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FENCEHOLD_")) {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::remove_var(name) };
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let mut cases = vec![Case {
        title: "a runner that lets everything pass is worth nothing".into(),
        body: Box::new(|| succeed(what_must_fail())),
    }];
    for path in files(&folder) {
        match read(&path) {
            Ok(found) => cases.extend(found),
            Err(error) => {
                cases.push(Case { title: path.display().to_string(), body: Box::new(move || panic!("{error}")) })
            }
        }
    }
    support::run(cases, 4)
}

fn succeed(result: Result<(), String>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// The scenario files; at least one, or the folder is not what it should be.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| {
        path.extension().is_some_and(|extension| extension == "json")
            && path.file_name().is_some_and(|name| name != "errors.json")
    });
    assert!(!files.is_empty(), "no scenario in {}", folder.display());
    files.sort();
    files
}

/// One scenario on each of its stores.
fn read(path: &Path) -> Result<Vec<Case<'static>>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let scenario: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let urls = match &scenario["store"] {
        Value::String(url) => vec![url.clone()],
        Value::Array(urls) => urls.iter().filter_map(Value::as_str).map(String::from).collect(),
        other => return Err(format!("no store: {other}")),
    };
    if urls.is_empty() {
        return Err("an empty list of stores".into());
    }
    let case = |url: String| {
        let (title, scenario) = (format!("{stem} on {url}"), scenario.clone());
        Case { title, body: Box::new(move || succeed(play(&scenario, &url))) }
    };
    Ok(urls.into_iter().map(case).collect())
}

fn play(scenario: &Value, url: &str) -> Result<(), String> {
    expect::known_keys(scenario, &["schema", "scenario", "store", "steps"])?;
    if scenario["schema"] != 1 {
        return Err(format!("schema {} is not known", scenario["schema"]));
    }
    if !scenario["scenario"].is_string() {
        return Err("it has no text that says what it is about".into());
    }
    let mut player = Player::new(url)?;
    let steps = scenario["steps"].as_array().filter(|steps| !steps.is_empty()).ok_or("no steps")?;
    player.play(steps)?;
    player.finish()
}

/// A runner that lets everything pass is worth nothing.
fn what_must_fail() -> Result<(), String> {
    let take = json!({ "do": "acquire", "lock": "l", "name": "n", "ttl": "30s", "expect": true });
    let cases = [
        ("an unknown do", json!([{ "do": "aquire", "lock": "l", "name": "n", "ttl": "30s", "expect": true }])),
        ("an unknown key", json!([{ "do": "acquire", "lock": "l", "name": "n", "ttl": "30s", "expects": true }])),
        ("a key that the step does not read", json!([{ "do": "ping", "reason": "renew" }])),
        ("a handle that nobody made", json!([{ "do": "keep_alive", "lock": "x", "expect": true }])),
        ("an answer without an expectation", json!([{ "do": "acquire", "lock": "l", "name": "n", "ttl": "30s" }])),
        ("another answer", json!([take, { "do": "keep_alive", "lock": "l", "expect": false }])),
        (
            "an error that does not come",
            json!([take, { "do": "release", "lock": "l", "expect_error": { "kind": "lost" } }]),
        ),
        ("an error that was not expected", json!([{ "do": "new", "lock": "l", "name": "", "ttl": "30s" }])),
        (
            "another error",
            json!([{ "do": "new", "lock": "l", "name": "", "ttl": "30s", "expect_error": { "kind": "invalid", "reason": "locks_bad_ttl" } }]),
        ),
        ("another state", json!([take, { "do": "check", "lock": "l", "held": false }])),
        (
            "a fence that did not rise",
            json!([take, { "do": "keep_alive", "lock": "l", "expect": true, "fence_above": "l" }]),
        ),
        ("a loss that did not come", json!([take, { "do": "check", "lock": "l", "lost": "renew" }])),
        ("a handler that was not called", json!([take, { "do": "check", "lock": "l", "lost_calls": ["renew"] }])),
        (
            "a failing step in a body",
            json!([{ "do": "run", "lock": "l", "name": "n", "ttl": "30s", "expect": true, "body": [{ "do": "check", "lock": "l", "held": false }] }]),
        ),
    ];
    for (what, steps) in cases {
        let scenario = json!({ "schema": 1, "scenario": what, "store": "memory:", "steps": steps });
        if play(&scenario, "memory:").is_ok() {
            return Err(format!("the runner lets this pass: {what}"));
        }
    }
    if play(&json!({ "schema": 2, "scenario": "x", "store": "memory:", "steps": [take] }), "memory:").is_ok() {
        return Err("the runner lets another schema pass".into());
    }
    play(&json!({ "schema": 1, "scenario": "x", "store": "memory:", "steps": [take] }), "memory:")
}
