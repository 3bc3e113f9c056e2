//! Plays every scenario of `tests/scenarios` through the public names of this crate.
//!
//! Each file is played once per store. There is no rule of leases here: what a step does and expects is in the README
//! beside the scenarios. A file that cannot be read, an unknown key or an unknown step is a failure.

mod expect;
mod player;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use player::Player;
use serde_json::{Value, json};

/// One scenario on one store.
struct Game {
    title: String,
    url: String,
    scenario: Value,
}

fn main() {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FENCEHOLD_")) {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::remove_var(name) };
    }
    let filters: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let mut games = Vec::new();
    let mut failures = Vec::new();
    for path in files(&folder) {
        match read(&path) {
            Ok(found) => games.extend(found),
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    games.retain(|game| filters.is_empty() || filters.iter().any(|filter| game.title.contains(filter)));
    failures.extend(what_must_fail().err());

    let began = Instant::now();
    let count = games.len();
    let queue = Mutex::new(games.into_iter());
    let failed = Mutex::new(failures);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let game = queue.lock().expect("no player panics with it").next();
                    let Some(game) = game else { return };
                    let result = std::panic::catch_unwind(|| play(&game.scenario, &game.url));
                    let result = result.unwrap_or_else(|_| Err("the runner panicked".into()));
                    println!("scenario {} ... {}", game.title, if result.is_ok() { "ok" } else { "FAILED" });
                    if let Err(error) = result {
                        let mut failed = failed.lock().expect("no player panics with it");
                        failed.push(format!("{}: {error}", game.title));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no player panics with it");
    for failure in &failed {
        println!("\n{failure}");
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = (count + 1).saturating_sub(failed.len());
    // In the words of cargo's own tests, so that whoever adds those up adds these.
    println!(
        "\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in {:.2}s",
        failed.len(),
        began.elapsed().as_secs_f64()
    );
    std::process::exit(i32::from(!failed.is_empty()));
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

fn read(path: &Path) -> Result<Vec<Game>, String> {
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
    let game = |url: String| Game { title: format!("{stem} on {url}"), url, scenario: scenario.clone() };
    Ok(urls.into_iter().map(game).collect())
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
