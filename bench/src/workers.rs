//! Processes that start their work at the same moment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Starts one process per entry of `arguments`, lets all of them go at once when each is ready, and answers what
/// each of them printed.
pub(crate) fn together(arguments: &[Vec<String>]) -> Vec<Value> {
    let program = std::env::current_exe().expect("this program");
    let mut children: Vec<(Child, BufReader<std::process::ChildStdout>)> = Vec::new();
    for one in arguments {
        let mut child = Command::new(&program)
            .arg("worker")
            .args(one)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        children.push((child, output));
    }
    for (_, output) in &mut children {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
    }
    for (child, _) in &mut children {
        child.stdin.take().expect("its input").write_all(b"go\n").expect("it listens");
    }
    let answer = |(mut child, mut output): (Child, BufReader<std::process::ChildStdout>)| {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert!(child.wait().expect("an end").success());
        serde_json::from_str(&line).expect("JSON")
    };
    children.into_iter().map(answer).collect()
}

/// In a worker: says that it is ready and waits until all are.
pub(crate) fn ready() {
    say("ready");
    std::io::stdin().read_line(&mut String::new()).expect("a line");
}

/// In a worker: prints a line at once.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}
