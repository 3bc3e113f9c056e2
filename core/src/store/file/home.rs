//! A store's folder as one process has it open: shared by all clients of that process.
//!
//! The order of locks: the gate of opening, the gate of the home, the store's flock, the flock of
//! the tokens.

use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::boot::{Leases, Stamp, judge};
use super::descriptor::{Access, Descriptor, FileKey, close_after_fork, close_inherited, forget_after_fork};
use super::environment::Environment;
use super::fault::{Fault, from_os};
use super::flock::{Locked, busy};
use super::format::{self, Contents, FORMAT};
use super::gate::Gate;
use super::location::{Paths, key_at, prepare};
use super::presence::Presence;
use super::rows::FileRows;
use super::tokens::{BLOCK, Tokens};
use super::wake::{PAGE_BYTES, Page, unseal};
use crate::clock::{Clock, Moment, boot_now};
use crate::kv::row::{ClientId, Intent, Rows};
use crate::process::{self, Generation, PerProcess};
use crate::{Error, Kind, Result};

/// How often it is checked that the path still names the folder that is open.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An open folder. Never freed: words of its page may be slept on.
pub(super) struct Home {
    pub(super) paths: Paths,
    pub(super) page: &'static Page,
    pub(super) presence: &'static Presence,
    pub(super) tokens: Tokens,
    contents: Contents,
    lock: Descriptor,
    generation: Generation,
    pid: u32,
    /// Set when something here is not ours any more: open another one.
    retired: AtomicBool,
    looked: AtomicU64,
    /// Guards LMDB's handle and the store's flock, of which this process has one.
    rows: Gate<Option<Environment>>,
}

/// Every open home of this process. Guards the list only.
static OPEN: PerProcess<Mutex<Vec<&'static Home>>> = PerProcess::new();
/// One thread opens at a time, so that LMDB is not opened twice.
static OPENING: PerProcess<Gate<()>> = PerProcess::new();

fn find(key: FileKey, contents: Contents) -> Option<&'static Home> {
    let list = OPEN.get_or(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    list.iter().find(|home| home.lock.key == key && home.contents == contents && home.is_good()).copied()
}

/// Makes the next opening behave as a second copy of this library in the process would.
#[cfg(test)]
pub(super) fn forget_what_is_open() {
    let list = OPEN.get_or(Mutex::default);
    list.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    super::presence::forget_what_is_known();
}

impl Home {
    /// Whether this process can go on using it.
    #[inline]
    pub(super) fn is_good(&self) -> bool {
        !self.retired.load(Ordering::Acquire) && self.generation.is_current()
    }

    /// Opens the folder, or finds it open.
    pub(super) fn open(folder: &Path, contents: Contents, until: Moment) -> Result<&'static Self> {
        let began = boot_now();
        let Some(_opening) = OPENING.get_or(|| Gate::new(())).enter(until) else {
            return Err(Error::new(
                Kind::Unreachable,
                "store_busy",
                format!("waited {} ms for another thread to open the store", boot_now().since(began).as_millis()),
            ));
        };
        close_inherited();
        let stat = prepare(folder)?;
        let paths = Paths::of(folder, contents);
        for _ in 0..8 {
            if let Some(home) = key_at(&paths.lock).and_then(|key| find(key, contents)) {
                return Ok(home);
            }
            format::check(&paths.format, contents)?;
            let access = Access::of_folder(&stat);
            let (lock, _) = Descriptor::open_or_create(&paths.lock, &access)?;
            close_after_fork(&lock);
            match Self::open_locked(folder, contents, &access, lock, until) {
                Ok(home) => {
                    let list = OPEN.get_or(Mutex::default);
                    let mut list = list.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    list.retain(|home| home.is_good());
                    list.push(home);
                    return Ok(home);
                }
                Err(fault) => {
                    forget_after_fork(&lock);
                    lock.close();
                    match fault {
                        Fault::Error(error) => return Err(error),
                        // The folder went away under us.
                        _ => prepare(folder)?,
                    };
                }
            }
        }
        Err(from_os(libc::ENOENT, "keep open", folder))
    }

    fn open_locked(
        folder: &Path,
        contents: Contents,
        access: &Access,
        lock: Descriptor,
        until: Moment,
    ) -> Result<&'static Self, Fault> {
        let paths = Paths::of(folder, contents);
        let pid = process::pid();
        let page = Self::first_page(&paths, access, &lock, until)?;
        let locked = Locked::take(&lock, page, &paths.lock, pid, until)?;
        if key_at(&paths.lock) != Some(lock.key) {
            return Err(Fault::Reopen);
        }
        if !format::check(&paths.format, contents)? {
            replace(&paths.format, &contents.text(), access)?;
        }
        if let Some(error) = format::newer(page.format.load(Ordering::Acquire), FORMAT) {
            return Err(error.into());
        }
        page.format.fetch_max(FORMAT, Ordering::AcqRel);
        let presence = Presence::open(&paths.clients, access)?;
        let here = Stamp::current(lock.key.1);
        let leases = judge(Stamp::read(&paths.boot)?.as_ref(), &here, presence.anybody())?;
        let (tokens, new) = Tokens::open(&paths.tokens, access)?;
        tokens.durable_limit(&paths.tokens)?;
        let counting = unseal(page.next_version.load(Ordering::Acquire)).is_some()
            && unseal(page.version_limit.load(Ordering::Acquire)).is_some();
        if new || !counting || leases == Leases::BeginAnew {
            tokens.start(page, &paths.tokens)?;
        }
        let is_over = leases == Leases::BeginAnew && contents == Contents::Leases;
        if is_over || key_at(&paths.leases).is_none() {
            Environment::create(&paths.leases, access, contents)?;
        }
        let environment = Environment::open(&paths.leases, contents)?;
        presence.identity(&paths.clients)?;
        if leases == Leases::BeginAnew {
            // Last: a kill before this line begins anew once more.
            replace(&paths.boot, &here.text(), access)?;
        }
        drop(locked);
        close_after_fork(&tokens.file);
        Ok(Box::leak(Box::new(Self {
            page,
            presence,
            tokens,
            contents,
            lock,
            generation: Generation::current(),
            pid,
            retired: AtomicBool::new(false),
            looked: AtomicU64::new(boot_now().as_nanos()),
            rows: Gate::new(Some(environment)),
            paths,
        })))
    }

    /// Maps the shared page, which the first opener makes under the flock of the still empty file.
    fn first_page(paths: &Paths, access: &Access, lock: &Descriptor, until: Moment) -> Result<&'static Page, Fault> {
        loop {
            let file = lock.prove().ok_or(Fault::Reopen)?;
            if file.bytes >= PAGE_BYTES as u64 {
                return Page::map(lock, &paths.lock, access);
            }
            match super::flock::try_lock(lock.fd) {
                Ok(true) => {
                    let page = Page::map(lock, &paths.lock, access);
                    // SAFETY: no memory is involved.
                    unsafe { libc::flock(lock.fd, libc::LOCK_UN) };
                    return page;
                }
                Ok(false) if boot_now() >= until => {
                    return Err(Error::new(
                        Kind::Unreachable,
                        "store_busy",
                        "another process is creating the store and has not come to an end",
                    )
                    .into());
                }
                Ok(false) => std::thread::sleep(Duration::from_millis(1)),
                Err(code) => return Err(from_os(code, "lock", &paths.lock).into()),
            }
        }
    }

    /// One transaction.
    pub(super) fn run(
        &self,
        clock: &Clock,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<(), Fault> {
        let began = boot_now();
        let Some(mut rows) = self.rows.enter(until) else {
            return Err(busy(self.page, boot_now().since(began)).into());
        };
        let Some(environment) = rows.as_mut() else { return Err(Fault::Reopen) };
        let done = self.run_locked(environment, clock, intent, until, body);
        if matches!(done, Err(Fault::Reopen)) {
            self.retire(rows.take());
        }
        drop(rows);
        done
    }

    fn run_locked(
        &self,
        environment: &mut Environment,
        clock: &Clock,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<(), Fault> {
        let locked = Locked::take(&self.lock, self.page, &self.paths.lock, self.pid, until)?;
        environment.prove(&self.paths.leases)?;
        let real_now = boot_now();
        self.look_at_path(real_now)?;
        if self.page.format.load(Ordering::Relaxed) > FORMAT {
            return Err(format::newer(self.page.format.load(Ordering::Relaxed), FORMAT)
                .unwrap_or_else(|| Error::internal("the store's format changed"))
                .into());
        }
        let client = OnceCell::new();
        if intent != Intent::Keep {
            // Whoever gives back needs no identity: the row's version says whether it is the hold.
            let _ = client.set(self.presence.identity(&self.paths.clients)?);
        }
        if intent == Intent::Grow {
            environment.make_room(&self.paths.leases)?;
        }
        let now = if clock.is_manual() { clock.now() } else { real_now };
        let mut outcome = self.attempt(environment, intent, client, now, body);
        if outcome.is_ok() && intent != Intent::Read && self.contents == Contents::Rows {
            outcome = environment.sync(&self.paths.leases).map_err(in_doubt);
        }
        if matches!(outcome, Err(Fault::Map)) {
            environment.grow_map(&self.paths.leases)?;
        }
        drop(locked);
        outcome
    }

    fn attempt(
        &self,
        environment: &mut Environment,
        intent: Intent,
        client: OnceCell<ClientId>,
        now: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<(), Fault> {
        let txn = environment.begin(intent != Intent::Read, &self.paths.leases)?;
        let mut rows = FileRows {
            txn,
            page: self.page,
            presence: self.presence,
            clients: &self.paths.clients,
            client,
            now,
            fault: RefCell::new(None),
        };
        let said = body(&mut rows);
        if let Some(fault) = rows.fault.take() {
            return Err(fault);
        }
        said?;
        if intent == Intent::Read {
            return Ok(());
        }
        rows.txn.commit().map_err(|(fault, visible)| if visible { in_doubt(fault) } else { fault })
    }

    /// Notices a folder that was moved away or replaced, which the open files alone do not tell.
    #[inline]
    fn look_at_path(&self, now: Moment) -> Result<(), Fault> {
        let looked = Moment::from_nanos(self.looked.load(Ordering::Relaxed));
        if now.since(looked) < LOOK_EVERY {
            return Ok(());
        }
        self.looked.store(now.as_nanos(), Ordering::Relaxed);
        let here = key_at(&self.paths.lock) == Some(self.lock.key)
            // Who lives is told by this file alone: everybody has to look into the same one.
            && key_at(&self.paths.clients) == Some(self.presence.key());
        if here { Ok(()) } else { Err(Fault::Reopen) }
    }

    /// Ends the use of this home in this process.
    fn retire(&self, environment: Option<Environment>) {
        self.retired.store(true, Ordering::Release);
        forget_after_fork(&self.lock);
        forget_after_fork(&self.tokens.file);
        if let Some(environment) = environment {
            environment.close();
        }
        self.lock.close();
        self.tokens.file.close();
    }

    /// Reserves versions ahead when half of the block is used. Called without the store's lock.
    #[inline]
    pub(super) fn look_ahead(&self) {
        let next = unseal(self.page.next_version.load(Ordering::Relaxed)).unwrap_or(0);
        let limit = unseal(self.page.version_limit.load(Ordering::Relaxed)).unwrap_or(0);
        if limit.saturating_sub(next) < BLOCK / 2 && self.tokens.file.prove().is_some() {
            // A failure shows when the block is used up.
            let _ = self.tokens.reserve(self.page, &self.paths.tokens);
        }
    }

    /// Gets new versions where the last transaction found none.
    pub(super) fn need_versions(&self, until: Moment) -> Result<(), Fault> {
        if self.tokens.file.prove().is_none() {
            // Inside only: closing under a transaction that runs would give its lock away.
            let Some(mut rows) = self.rows.enter(until) else {
                return Err(busy(self.page, Duration::ZERO).into());
            };
            self.retire(rows.take());
            return Err(Fault::Reopen);
        }
        if unseal(self.page.next_version.load(Ordering::Acquire)).is_none()
            || unseal(self.page.version_limit.load(Ordering::Acquire)).is_none()
        {
            // Something wrote over the counter: go on above everything that was given out.
            let Some(_rows) = self.rows.enter(until) else {
                return Err(busy(self.page, Duration::ZERO).into());
            };
            let _locked = Locked::take(&self.lock, self.page, &self.paths.lock, self.pid, until)?;
            return Ok(self.tokens.start(self.page, &self.paths.tokens)?);
        }
        if !self.tokens.reserve(self.page, &self.paths.tokens)? {
            if boot_now() >= until {
                return Err(Error::new(
                    Kind::Unreachable,
                    "store_busy",
                    "another process is writing the limit of the tokens and has not come to an end",
                )
                .into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// A fault after a write became visible.
fn in_doubt(fault: Fault) -> Fault {
    match fault {
        Fault::Error(error) => {
            let detail = "the store failed in the last step of a write, which may have been done";
            Error::new(Kind::InDoubt, "store_in_doubt", detail).because(error).into()
        }
        fault => fault,
    }
}

/// Puts a file with `text` in the place of the one at `path`, at once and durably.
fn replace(path: &Path, text: &str, access: &Access) -> Result<()> {
    let fresh = path.with_extension("new");
    let _ = std::fs::remove_file(&fresh);
    let (file, _) = Descriptor::open_or_create(&fresh, access)?;
    let written = file.write_at(text.as_bytes(), 0).and_then(|()| file.sync());
    file.close();
    written.map_err(|code| from_os(code, "write", &fresh))?;
    std::fs::rename(&fresh, path).map_err(|error| from_os(error.raw_os_error().unwrap_or(0), "write", path))
}
