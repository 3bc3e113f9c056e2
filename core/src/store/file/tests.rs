//! The host store with real processes: forked children, SIGKILL, and hosts that close descriptors.

mod contention;
mod failures;
mod processes;
mod rows;
mod values;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::FileStore;
use crate::clock::{Clock, Moment, boot_now};
use crate::kv::row::{ClientId, Intent, NewRow, Row, RowStore, Table};
use crate::{Error, Kind, Result};

/// A store in `folder`.
fn open(folder: &Path) -> Arc<FileStore> {
    FileStore::open(folder, Clock::Boot).expect("an absolute path")
}

fn soon() -> Moment {
    boot_now().after(Duration::from_secs(20))
}

/// Writes one row that ends with this process.
fn put(store: &FileStore, key: &str, value: &str) -> Result<u64> {
    let mut version = 0;
    store.transact(Intent::Grow, soon(), &mut |rows| {
        let client = rows.client();
        let row = NewRow { value: value.as_bytes(), expires: None, client };
        version = rows.put(Table::Locks, key.as_bytes(), row)?;
        Ok(())
    })?;
    Ok(version)
}

/// The row at `key` and whether its client lives.
fn get(store: &FileStore, key: &str) -> Result<Option<(Row, bool)>> {
    let mut found = None;
    store.transact(Intent::Read, soon(), &mut |rows| {
        found = match rows.get(Table::Locks, key.as_bytes())? {
            Some(row) => {
                let alive = rows.is_alive(row.client);
                Some((row, alive))
            }
            None => None,
        };
        Ok(())
    })?;
    Ok(found)
}

fn me(store: &FileStore) -> ClientId {
    let mut id = ClientId::NONE;
    store
        .transact(Intent::Read, soon(), &mut |rows| {
            id = rows.client();
            Ok(())
        })
        .expect("a client id");
    id
}

/// A child of this process, killed at the end of the scope.
struct Child(libc::pid_t);

impl Child {
    /// Runs `body` in a forked child, which answers whether it went well.
    fn fork(body: impl FnOnce() -> bool) -> Self {
        // SAFETY: the child runs code that takes only locks of its own, and leaves by _exit.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
        if pid == 0 {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            let code = match done {
                Ok(true) => 0,
                Ok(false) => 1,
                Err(_) => 2,
            };
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) };
        }
        Self(pid)
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: our own child, not waited for yet.
        assert_eq!(unsafe { libc::kill(self.0, signal) }, 0);
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
        unsafe { libc::waitpid(self.0, &mut status, 0) };
        self.0 = 0;
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.0 > 0 {
            self.signal(libc::SIGKILL);
            self.reap();
        }
    }
}

/// Waits until `ready`, at most 20 s.
fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let limit = soon();
    while !ready() {
        assert!(boot_now() < limit, "waited 20 s for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn reason<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error: Error = result.expect_err("a refusal");
    format!("{}/{}", error.kind().id(), error.reason())
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}
