//! The host store: one folder, any number of processes of one machine, nothing to start.
//!
//! ```text
//! lock      the store's flock; mapped by everybody: futex words and the counter of versions
//! leases    the rows, in LMDB
//! clients   one locked byte for each living process
//! tokens    up to where versions may have been given out
//! boot      which boot and which clock the leases are measured with
//! format    what kind of folder this is
//! values/   the rows of users, once there are any: the same again, synced at each write
//! ```

mod boot;
mod check;
mod descriptor;
mod environment;
mod fault;
mod flock;
mod format;
mod gate;
mod home;
mod location;
mod presence;
mod rows;
mod tokens;
mod values;
mod wake;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use self::fault::Fault;
use self::format::Contents;
use self::home::Home;
use self::values::ValueRows;
use crate::clock::{Clock, Moment, boot_now};
use crate::futex;
use crate::kv::row::{Intent, RowStore, Rows, WaitWord};
use crate::{Error, Kind, Result};

pub use self::check::{Check, check_folder};

/// How long a store whose clock is a test's waits for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rows in a folder of this machine.
pub(crate) struct FileStore {
    folder: PathBuf,
    name: String,
    clock: Clock,
    contents: Contents,
    /// The open folder of this process. A forked child finds it stale and opens its own.
    home: AtomicPtr<Home>,
    /// The rows of users beside the leases.
    values: OnceLock<Arc<FileStore>>,
}

impl FileStore {
    /// A store in the folder at `path`. Nothing is touched before the first use.
    ///
    /// # Errors
    /// `locks_bad_url` when the path cannot be made absolute.
    pub(crate) fn open(path: &Path, clock: Clock) -> Result<Arc<Self>> {
        let folder = std::path::absolute(path)
            .map_err(|error| Error::new(Kind::Invalid, "locks_bad_url", format!("the path of the store: {error}")))?;
        descriptor::c_path(&folder)?;
        let name = format!("file:{}", folder.display());
        Ok(Arc::new(Self::with_contents(folder, name, clock, Contents::Leases)))
    }

    fn with_contents(folder: PathBuf, name: String, clock: Clock, contents: Contents) -> Self {
        let home = AtomicPtr::new(ptr::null_mut());
        Self { folder, name, clock, contents, home, values: OnceLock::new() }
    }

    /// The store of the calling user: by user id, whatever the environment says.
    ///
    /// # Errors
    /// `store_no_home` when the system knows no home folder of this user.
    pub(crate) fn open_own(clock: Clock) -> Result<Arc<Self>> {
        Self::open(&location::default_path()?, clock)
    }

    fn known(&self) -> Option<&'static Home> {
        // SAFETY: homes are never freed.
        let home = unsafe { self.home.load(Ordering::Acquire).as_ref() };
        home.filter(|home| home.is_good())
    }

    #[inline]
    fn home(&self, until: Moment) -> Result<&'static Home> {
        if let Some(home) = self.known() {
            return Ok(home);
        }
        let home = Home::open(&self.folder, self.contents, until)?;
        self.home.store(ptr::from_ref(home).cast_mut(), Ordering::Release);
        Ok(home)
    }

    fn until(&self, until: Moment) -> Moment {
        if self.clock.is_manual() { boot_now().after(PATIENCE) } else { until }
    }
}

impl RowStore for FileStore {
    fn store(&self) -> &str {
        &self.name
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn transact(&self, intent: Intent, until: Moment, body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>) -> Result<()> {
        let until = self.until(until);
        let named = |error: Error| error.on_store(&self.name);
        let mut reopened = 0;
        loop {
            let home = self.home(until).map_err(named)?;
            let fault = match home.run(&self.clock, intent, until, body) {
                Ok(()) => {
                    if intent != Intent::Read {
                        home.look_ahead();
                    }
                    return Ok(());
                }
                Err(Fault::Versions) => match home.need_versions(until) {
                    Ok(()) => Fault::Versions,
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            match fault {
                Fault::Error(error) => return Err(named(error)),
                Fault::Map | Fault::Versions => {}
                Fault::Reopen => {
                    reopened += 1;
                    if reopened > 8 {
                        return Err(named(Error::new(
                            Kind::Store,
                            "store_unstable",
                            "the files of the store change under this program at every try",
                        )));
                    }
                }
            }
        }
    }

    fn wait_word(&self) -> Result<WaitWord> {
        let home = self.home(boot_now().after(PATIENCE)).map_err(|error| error.on_store(&self.name))?;
        let id = home.page.draw_word();
        Ok(WaitWord { id, word: home.page.word(id), shared: true })
    }

    fn wake(&self, word: u32) {
        if let Some(home) = self.known() {
            let word = home.page.word(word);
            word.fetch_add(1, Ordering::Release);
            futex::wake_all(word, true);
        }
    }

    fn notices_death(&self) -> bool {
        true
    }

    fn transact_values(
        &self,
        intent: Intent,
        until: Moment,
        body: &mut dyn FnMut(&mut dyn Rows) -> Result<()>,
    ) -> Result<()> {
        let values = self.values_store(until)?;
        values.transact(intent, until, &mut |rows| body(&mut ValueRows::new(rows, self, until)))
    }

    fn mixes_values(&self) -> bool {
        false
    }
}
