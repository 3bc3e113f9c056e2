//! This program again, as another process that holds or waits.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use fencehold::{Client, Crash, LockOptions, Wait};

/// The other process: it waits for the lock, says `held FENCE`, and gives it back when its input ends.
pub(crate) fn child(arguments: &[String]) {
    let [url, name, ttl, crash] = arguments else { panic!("url, name, ttl and crash: {arguments:?}") };
    let ttl = Duration::from_millis(ttl.parse().expect("milliseconds"));
    let crash = if crash == "expire" { Crash::Expire } else { Crash::Takeover };
    let client = Client::open(url).expect("a client");
    let lock = client.lock(name, LockOptions::ttl(ttl).fair().crash(crash)).expect("a handle");
    assert!(lock.acquire_within(Wait::Forever).expect("an answer").is_granted());
    say(&format!("held {}", lock.fence().expect("a fence").get()));
    let _ = std::io::stdin().read_line(&mut String::new());
    say(&format!("released {}", lock.release().expect("an answer")));
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

/// Another process, killed at the end of the scope.
pub(crate) struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    /// Starts a process that waits for the lock.
    pub(crate) fn start(url: &str, name: &str, ttl: Duration, crash: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["--child", url, name, &ttl.as_millis().to_string(), crash])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, input, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim_end().to_string()
    }

    /// Waits until it holds, and answers its fence.
    pub(crate) fn held(&mut self) -> u64 {
        let line = self.line();
        let fence = line.strip_prefix("held ").and_then(|fence| fence.parse().ok());
        fence.unwrap_or_else(|| panic!("it said {line:?}"))
    }

    /// Has it give back, and answers whether there was something to give back.
    pub(crate) fn release(&mut self) -> bool {
        drop(self.input.take());
        match &*self.line() {
            "released true" => true,
            "released false" => false,
            line => panic!("it said {line:?}"),
        }
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: our own child, not waited for yet.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it ends");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
