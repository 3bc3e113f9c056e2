//! A store of its own per test, the command on it, and waiting for what must happen.
#![allow(dead_code)] // Each test file uses its part.

use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before a test fails; nothing waits that long when all is well.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> String {
        format!("file:{}", self.path("store").display())
    }

    /// The command on this world's store, with nothing of the environment that could name another.
    pub(crate) fn fencehold(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencehold"));
        for name in ["FENCEHOLD_URL", "FENCEHOLD_LABEL", "FENCEHOLD_REQUEST_TIMEOUT"] {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path()).env("FENCEHOLD_URL", self.store()).args(args);
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.fencehold(args).output().expect("the command runs")
    }

    pub(crate) fn code(&self, args: &[&str]) -> i32 {
        self.output(args).status.code().expect("an exit code")
    }

    /// `fencehold run NAME OPTIONS -- sh -c SCRIPT`, in this world's folder and in a process group of its own.
    pub(crate) fn start(&self, options: &[&str], script: &str) -> Running {
        let mut args = vec!["run", "n"];
        args.extend(options);
        args.extend(["--", "sh", "-c", script]);
        Running::new(&mut self.fencehold(&args))
    }

    /// The same, started by somebody who ignores these signals.
    pub(crate) fn start_ignoring(&self, signals: &'static [i32], options: &[&str], script: &str) -> Running {
        let mut args = vec!["run", "n"];
        args.extend(options);
        args.extend(["--", "sh", "-c", script]);
        let mut command = self.fencehold(&args);
        // SAFETY: signal() may be called after a fork.
        unsafe {
            command.pre_exec(move || {
                for &signal in signals {
                    libc::signal(signal, libc::SIG_IGN);
                }
                Ok(())
            });
        }
        Running::new(&mut command)
    }

    /// A shell that does `before` and then becomes `fencehold run NAME -- sh -c SCRIPT`.
    pub(crate) fn start_after(&self, before: &str, script: &str) -> Running {
        let mut shell = Command::new("bash");
        shell.args([
            "-c",
            &format!("{before}; exec \"$0\" run n -- sh -c \"$1\""),
            env!("CARGO_BIN_EXE_fencehold"),
            script,
        ]);
        Running::new(shell.current_dir(self.folder.path()).env("FENCEHOLD_URL", self.store()))
    }

    /// Waits until a script wrote a whole line into `file`; answers it.
    pub(crate) fn line(&self, file: &str) -> String {
        let path = self.path(file);
        wait_for(&format!("a line in {file}"), || {
            std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')).map(|text| text.trim().to_owned())
        })
    }

    /// The last whole line of `file`, to which a script that was killed had been adding.
    pub(crate) fn last_line(&self, file: &str) -> String {
        let text = std::fs::read_to_string(self.path(file)).expect("a file");
        let whole = text.rsplit_once('\n').expect("a whole line").0;
        whole.rsplit('\n').next().expect("a line").to_owned()
    }

    pub(crate) fn pid(&self, file: &str) -> i32 {
        self.line(file).parse().expect("a process id")
    }

    pub(crate) fn exists(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    pub(crate) fn is_held(&self) -> bool {
        match self.code(&["show", "n", "--quiet"]) {
            0 => true,
            1 => false,
            other => panic!("show ended with {other}"),
        }
    }

    pub(crate) fn wait_until_free(&self) {
        wait_for("the lock to be free", || (!self.is_held()).then_some(()));
    }
}

/// A running `fencehold run`, ended when the test ends.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    fn new(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        Self { child: Some(command.spawn().expect("the command runs")) }
    }

    /// Sends a signal to the process group, as a terminal does.
    pub(crate) fn signal_group(&self, number: i32) {
        kill(-self.pid(), number);
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.as_ref().expect("running").id().cast_signed()
    }

    pub(crate) fn signal(&self, number: i32) {
        kill(self.pid(), number);
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().expect("running").try_wait().expect("a status").is_some()
    }

    /// Waits for the end; answers the exit code (128 + n for a signal) and standard error.
    pub(crate) fn finish(mut self) -> (i32, String) {
        wait_for("the command to end", || self.has_ended().then_some(()));
        let output = self.child.take().expect("running").wait_with_output().expect("output");
        let code = output.status.code().unwrap_or_else(|| {
            use std::os::unix::process::ExitStatusExt;
            128 + output.status.signal().expect("a signal")
        });
        (code, String::from_utf8(output.stderr).expect("UTF-8"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A new terminal and its other end, at which programs run.
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    // SAFETY: plain integers in, new descriptors out; the name is copied before the next call.
    unsafe {
        let terminal = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(terminal >= 0 && libc::grantpt(terminal) == 0 && libc::unlockpt(terminal) == 0, "a terminal");
        let mut name = [0; 128];
        assert_eq!(libc::ptsname_r(terminal, name.as_mut_ptr(), name.len()), 0);
        let end = libc::open(name.as_ptr(), libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(end >= 0, "the terminal's other end");
        (OwnedFd::from_raw_fd(terminal), OwnedFd::from_raw_fd(end))
    }
}

/// Starts a program as the leader of a session with the terminal `end`.
pub(crate) fn on_terminal(command: &mut Command, end: OwnedFd) -> Child {
    command.stdin(end).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: both may be called after a fork.
    unsafe {
        command.pre_exec(|| {
            assert!(libc::setsid() > 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0);
            Ok(())
        });
    }
    command.spawn().expect("the command runs")
}

pub(crate) fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(began.elapsed() < LIMIT, "waited {LIMIT:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn kill(pid: i32, number: i32) {
    // SAFETY: plain integers in.
    assert_eq!(unsafe { libc::kill(pid, number) }, 0, "kill {pid}");
}

/// The letter that ps shows for a process.
pub(crate) fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Whether the process runs; one that only waits to be reaped does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}
