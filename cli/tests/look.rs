//! `ls`, `show`, `release`, `doctor`, `bench`, `completions` and `man`.

mod support;

use serde_json::Value;
use support::World;

fn json(world: &World, args: &[&str]) -> Value {
    let output = world.output(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

fn text(world: &World, args: &[&str]) -> String {
    String::from_utf8(world.output(args).stdout).expect("UTF-8")
}

#[test]
fn a_free_lock_is_shown_as_free() {
    let world = World::new();
    let output = world.output(&["show", "n", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let lock: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&lock["name"], &lock["held"]), (&"n".into(), &false.into()));
    let quiet = world.output(&["show", "n", "--quiet"]);
    assert_eq!((quiet.status.code(), quiet.stdout.len(), quiet.stderr.len()), (Some(1), 0, 0));
    assert_eq!(text(&world, &["ls"]), format!("no locks on {}\n", world.store()));
}

#[test]
fn a_held_lock_is_shown_with_its_holder() {
    let world = World::new();
    let _run = world.start(&["--label", "report"], "echo $FENCEHOLD_FENCE >fence; exec sleep 300");
    let fence = world.line("fence");
    assert_eq!(world.code(&["show", "n"]), 0);
    let lock = json(&world, &["show", "n", "--json"]);
    let holder = &lock["holders"][0];
    assert_eq!((&lock["held"], &lock["waiting"]), (&true.into(), &0.into()));
    assert_eq!((holder["token"].as_str(), holder["label"].as_str()), (Some(fence.as_str()), Some("report")));
    for member in ["owner", "since", "renewedAt", "expiresAt"] {
        assert!(holder[member].is_string(), "{member}: {holder}");
    }
    assert!(holder["since"].as_str().expect("a time").ends_with('Z'));
    assert!(holder["expiresInMs"].as_u64().expect("a number") <= 30_000);
    let all = json(&world, &["ls", "--json"]);
    assert_eq!(all["store"].as_str(), Some(world.store().as_str()));
    assert_eq!(all["locks"][0]["name"], "n");
    assert!(all["at"].as_str().expect("a time").ends_with('Z'));
    assert_eq!(json(&world, &["ls", "other/", "--json"])["locks"], Value::Array(Vec::new()));
    for shown in [text(&world, &["ls"]), text(&world, &["show", "n"])] {
        assert!(shown.contains(&format!("token {fence}")) && shown.contains("(label \"report\")"), "{shown}");
    }
}

#[test]
fn the_label_is_the_option_else_the_environments_else_the_commands_name() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_fencehold");
    for (options, environment, label) in
        [(&["--label", "mine"][..], "theirs", "mine"), (&[][..], "theirs", "theirs"), (&[][..], "", "sh")]
    {
        let mut args = vec!["run", "n"];
        args.extend(options);
        args.extend(["--", "sh", "-c", "\"$0\" show n --json", program]);
        let output = world.fencehold(&args).env("FENCEHOLD_LABEL", environment).output().expect("the command runs");
        let lock: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(lock["holders"][0]["label"], label);
    }
}

#[test]
fn release_changes_nothing_unless_owner_or_token_is_right() {
    let world = World::new();
    let run = world.start(&["--ttl", "3s"], "echo $FENCEHOLD_FENCE >fence; exec sleep 300");
    let fence = world.line("fence");
    let wrong = world.output(&["release", "n", "--owner", "nobody"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(wrong.stderr.starts_with(b"fencehold: lock \"n\" on file:"), "{wrong:?}");
    assert!(world.is_held());
    assert_eq!(world.code(&["release", "n", "--token", &fence]), 0);
    assert_eq!(run.finish().0, 79);
    assert_eq!(world.code(&["release", "n", "--token", &fence]), 1);
}

#[test]
fn doctor_finds_a_good_store_good_and_leaves_nothing_behind() {
    let world = World::new();
    let report = json(&world, &["doctor", "--json"]);
    assert_eq!(report["ok"], true, "{report}");
    assert!(report["checks"].as_array().expect("checks").iter().all(|check| check["ok"] == true), "{report}");
    assert!(text(&world, &["doctor"]).contains("named by FENCEHOLD_URL"));
    assert_eq!(text(&world, &["ls"]), format!("no locks on {}\n", world.store()));
}

#[test]
fn doctor_says_what_is_wrong() {
    let world = World::new();
    std::fs::write(world.path("store"), "a file where the folder should be").expect("a file");
    let output = world.output(&["doctor"]);
    assert_ne!(output.status.code(), Some(0));
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(&world.store()), "{said}");
}

#[test]
fn bench_measures() {
    let world = World::new();
    let report = json(&world, &["bench", "--time", "50ms", "--json"]);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5, "{report}");
    for row in rows {
        assert!(row["perSecond"].as_f64().expect("a number") > 1.0, "{row}");
    }
}

#[test]
fn no_store_named_is_64() {
    let world = World::new();
    if std::path::Path::new("/etc/fencehold/url").exists() {
        return;
    }
    let output = world.fencehold(&["ls"]).env_remove("FENCEHOLD_URL").output().expect("the command runs");
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("locks_no_store"), "{output:?}");
}

#[test]
fn completions_and_the_manual_page_know_the_commands() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&world, &["completions", shell]);
        assert!(script.contains("doctor") && script.contains("held-code"), "{shell}");
    }
    let page = text(&world, &["man"]);
    assert!(page.contains(".TH fencehold 1") && page.contains("FENCEHOLD RUN") && page.contains("grace"), "{page}");
    assert!(text(&world, &["--help"]).contains("128+n when signal n ended it"));
    assert_eq!(text(&world, &["--version"]), format!("fencehold {}\n", env!("CARGO_PKG_VERSION")));
}
