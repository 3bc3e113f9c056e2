//! What a person asks when locks do not work: is the folder well?

use std::ops::ControlFlow;
use std::path::Path;

use super::descriptor::{Access, stat_path};
use super::format::Contents;
use super::location::Paths;
use super::{FileStore, location};
use crate::clock::{Clock, boot_now};
use crate::kv::row::{Intent, RowStore, Table};
use crate::{Error, Kind, Result};

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct Check {
    /// What was looked at, in one or two words.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found, and what to do about it.
    pub detail: String,
}

/// Rows read in one transaction.
const ROWS_AT_ONCE: usize = 1_000;

/// Looks at the store in the folder at `path`, or at the calling user's own: the folder and its
/// file system, whether it opens (format, damage, free space), the rights on its files, its living
/// clients, its tokens, and whether every row can be read. The folder is made if it is missing.
///
/// The rows are read in a forked child, which a damaged page may kill: call it from a program with
/// one thread.
///
/// # Errors
/// `locks_bad_url` when the path cannot be one, `store_no_home` when this user has no home folder.
pub fn check_folder(path: Option<&Path>) -> Result<Vec<Check>> {
    let store = match path {
        Some(path) => FileStore::open(path, Clock::Boot)?,
        None => FileStore::open_own(Clock::Boot)?,
    };
    Ok(store.check())
}

impl FileStore {
    /// What [`check_folder`] does, on this store.
    pub(super) fn check(&self) -> Vec<Check> {
        let mut found = Vec::new();
        let mut add = |name, result: Result<String>| {
            let (ok, detail) = match result {
                Ok(detail) => (true, detail),
                Err(error) => (false, error.detail().to_string()),
            };
            found.push(Check { name, ok, detail });
            ok
        };
        let prepared = location::prepare(&self.folder);
        if !add("folder", prepared.as_ref().map(|_| self.folder.display().to_string()).map_err(Error::clone)) {
            return found;
        }
        let home = self.home(self.until(boot_now().after(super::PATIENCE)));
        if !add("open", home.as_ref().map(|_| "opens".to_string()).map_err(Error::clone)) {
            return found;
        }
        let (Ok(folder), Ok(home)) = (prepared, home) else { return found };
        add("rights", self.check_rights(&folder));
        let clients = home.presence.everybody();
        add("clients", Ok(format!("{} living, processes {clients:?} (0: in another pid namespace)", clients.len())));
        add("tokens", home.tokens.durable_limit(&home.paths.tokens).map(|limit| format!("reserved up to {limit}")));
        add("rows", self.check_rows());
        if self.contents == Contents::Leases && Self::has_values(&self.folder) {
            let values = self.values_store(boot_now().after(super::PATIENCE));
            add("values", values.and_then(|values| values.check_rows()));
        }
        found
    }

    fn check_rights(&self, folder: &libc::stat) -> Result<String> {
        let access = Access::of_folder(folder);
        for name in ["lock", "leases", "clients", "tokens", "boot", "format"] {
            let path = self.folder.join(name);
            let stat = stat_path(&path).map_err(|code| super::fault::from_os(code, "look at", &path))?;
            let mode = stat.st_mode & 0o777;
            if mode != access.mode {
                return Err(Error::new(
                    Kind::Forbidden,
                    "store_forbidden",
                    format!(
                        "{} has mode {mode:o}, and whoever may write in the folder needs {:o}: chmod {:o} {}",
                        path.display(),
                        access.mode,
                        access.mode,
                        path.display()
                    ),
                ));
            }
        }
        Ok(format!("folder {:o}, files {:o}", folder.st_mode & 0o7777, access.mode))
    }

    /// Reads every row in a child process, which a damaged page may kill.
    fn check_rows(&self) -> Result<String> {
        // SAFETY: the child opens the store anew, reads, and exits without running handlers.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = if self.count_rows().is_ok() { 0 } else { 1 };
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: waits for our own child.
        if pid < 0 || unsafe { libc::waitpid(pid, &mut status, 0) } != pid {
            return Err(super::fault::from_os(super::fault::last_os_code(), "check", &self.folder));
        }
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
            return self.count_rows().map(|rows| format!("{rows} rows, all readable"));
        }
        Err(super::fault::damaged(&Paths::of(&self.folder, self.contents).leases, "not every row can be read"))
    }

    fn count_rows(&self) -> Result<usize> {
        let mut rows = 0;
        for table in [Table::Locks, Table::Queues, Table::Values] {
            let mut after: Option<Vec<u8>> = None;
            loop {
                let (mut count, mut last) = (0, None);
                self.transact(Intent::Read, boot_now().after(super::PATIENCE), &mut |view| {
                    (count, last) = (0, None);
                    view.scan(table, b"", after.as_deref(), &mut |key, _| {
                        count += 1;
                        last = Some(key.to_vec());
                        if count < ROWS_AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    })
                })?;
                rows += count;
                after = last;
                if count < ROWS_AT_ONCE {
                    break;
                }
            }
        }
        Ok(rows)
    }
}
