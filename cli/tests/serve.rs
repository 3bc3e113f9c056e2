//! `fencehold serve`, and the other commands on it.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use support::{World, is_alive, wait_for};

/// A server on a free port, ended with the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(world: &World) -> Self {
        let data = world.path("data").display().to_string();
        let mut child = world
            .fencehold(&["serve", "--data", &data, "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server runs");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("standard error")).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect(&line).to_owned();
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_commands_work_on_a_server() {
    let world = World::new();
    let server = Server::start(&world);
    let on = |args: &[&str]| {
        let output = world.fencehold(args).env("FENCEHOLD_URL", &server.url).output().expect("the command runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let script = "test $FENCEHOLD_FENCE -gt 0 && \"$0\" show n --quiet && exit 7";
    let program = env!("CARGO_BIN_EXE_fencehold");
    assert_eq!(on(&["run", "n", "--", "sh", "-c", script, program]).0, Some(7));
    assert_eq!(on(&["show", "n", "--quiet"]).0, Some(1));
    assert_eq!(on(&["doctor"]).0, Some(0));
    assert_eq!(on(&["ls"]), (Some(0), format!("no locks on {}\n", server.url)));
    assert_eq!(on(&["run", "n", "--", "\"$0\"", "no/such/command"]).0, Some(127));
}

#[test]
fn a_server_that_is_gone_ends_the_command_before_the_lease_can_end() {
    let world = World::new();
    let server = Server::start(&world);
    let args = ["run", "n", "--ttl", "3s", "--", "sh", "-c", "echo $$ >up; while :; do sleep 0.02; done"];
    let mut run = world.fencehold(&args).env("FENCEHOLD_URL", &server.url).spawn().expect("the command runs");
    let up = world.pid("up");
    let gone = Instant::now();
    drop(server);
    let status = wait_for("the command to end", || run.try_wait().expect("a status"));
    assert_eq!(status.code(), Some(79));
    assert!(!is_alive(up) && gone.elapsed() < Duration::from_secs(6), "took {:?}", gone.elapsed());
    let late = world.fencehold(&["run", "n", "--", "true"]).env("FENCEHOLD_URL", "http://127.0.0.1:1").output();
    assert_eq!(late.expect("the command runs").status.code(), Some(69));
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let world = World::new();
    let server = Server::start(&world);
    let address = server.url.strip_prefix("http://").expect("a URL").to_owned();
    let (data, other) = (world.path("data").display().to_string(), world.path("other").display().to_string());
    for (args, code) in [
        (vec!["serve", "--data", &data, "--listen", "127.0.0.1:0"], 73), // the folder is in use
        (vec!["serve", "--data", &other, "--listen", &address], 73),
        (vec!["serve", "--data", &other, "--store", "memory:"], 64),
        (vec!["serve", "--data", &other, "--listen", "0.0.0.0:0"], 64), // open to the network without a word
    ] {
        let output = world.output(&args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert!(output.stderr.starts_with(b"fencehold: "), "{output:?}");
    }
}
