//! Several processes on one `file:` store, with real kills, forks, users and namespaces.

mod forks;
mod kills;
mod users;
mod wakes;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fencehold::{Client, Lock, LockOptions, Wait};

/// Long enough that nothing ends by itself during a test.
const LONG: Duration = Duration::from_secs(60);
/// When a test gives up waiting for what has to come.
const LIMIT: Duration = Duration::from_secs(30);

/// A folder for a store that this and other users may share.
fn folder(mode: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).expect("set");
    folder
}

fn open(folder: &Path) -> Client {
    Client::open(&format!("file:{}", folder.display())).expect("a client")
}

/// A handle that waits as long as a test does.
fn handle(client: &Client, name: &str) -> Lock {
    client.lock(name, LockOptions::ttl(LONG).wait(LIMIT)).expect("a handle")
}

/// Waits for the lock and answers its fence.
fn take(lock: &Lock) -> u64 {
    assert!(lock.acquire().expect("an answer").is_granted(), "not granted within {LIMIT:?}");
    lock.fence().expect("a fence").get()
}

fn is_free(client: &Client, name: &str) -> bool {
    let lock = client.lock(name, LONG).expect("a handle");
    lock.acquire_within(Wait::No).expect("an answer").is_granted()
}

fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !ready() {
        assert!(Instant::now() < end, "waited {LIMIT:?} for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// A forked child of this process, killed at the end of the scope.
struct Child {
    pid: libc::pid_t,
    output: std::fs::File,
}

/// Where a child says what it has come to.
struct Output(std::fs::File);

impl Output {
    /// Says a number to the parent.
    fn say(&mut self, number: u64) {
        self.0.write_all(&number.to_le_bytes()).expect("the parent listens");
    }
}

impl Child {
    /// Runs `body` in a forked child, which answers whether it went well.
    fn fork(body: impl FnOnce(&mut Output) -> bool) -> Self {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        // SAFETY: the child takes no lock that a thread of the parent may hold, and leaves by _exit.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
        if pid == 0 {
            drop(reader);
            let mut output = Output(std::fs::File::from(OwnedFd::from(writer)));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&mut output)));
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!done.unwrap_or(false))) };
        }
        Self { pid, output: std::fs::File::from(OwnedFd::from(reader)) }
    }

    /// The next number that the child says.
    fn heard(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.output.read_exact(&mut bytes).expect("the child says a number");
        u64::from_le_bytes(bytes)
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: our own child, not waited for yet.
        assert_eq!(unsafe { libc::kill(self.pid, signal) }, 0);
    }

    /// Waits for the end; true when the body said so.
    fn went_well(mut self) -> bool {
        let status = self.reap();
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    fn kill(mut self) {
        self.signal(libc::SIGKILL);
        self.reap();
    }

    fn reap(&mut self) -> libc::c_int {
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(self.pid, &mut status, 0) };
        self.pid = 0;
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.pid > 0 {
            self.signal(libc::SIGKILL);
            self.reap();
        }
    }
}

/// Stands still until it is killed.
fn stay() -> ! {
    loop {
        std::thread::sleep(LONG);
    }
}
