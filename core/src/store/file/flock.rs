//! The store's lock: one exclusive flock, waited for until a limit and no longer.
//!
//! flock belongs to the open file, so two copies of this library in one process, two pid
//! namespaces and any number of processes exclude each other, and the kernel gives it back when
//! its holder dies. It knows no limit and no queue: whoever finds it taken spins for a moment and
//! then sleeps on a word of the shared page, in slices, because a holder that is killed wakes
//! nobody.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::descriptor::Descriptor;
use super::fault::{Fault, damaged, last_os_code};
use super::wake::{PAGE_BYTES, Page};
use crate::clock::{Moment, boot_now};
use crate::futex;
use crate::{Error, Kind};

/// How long one sleep is at most.
const SLICE: Duration = Duration::from_millis(20);
/// How often the lock is tried before sleeping.
const SPINS: u32 = 40;

/// One try. `Ok(false)`: somebody else has it.
pub(super) fn try_lock(fd: libc::c_int) -> Result<bool, i32> {
    loop {
        // SAFETY: no memory is involved.
        if unsafe { libc::flock(fd, libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        match last_os_code() {
            libc::EWOULDBLOCK => return Ok(false),
            libc::EINTR => {}
            code => return Err(code),
        }
    }
}

/// The store's lock is held until this goes out of scope.
pub(super) struct Locked {
    fd: libc::c_int,
    page: &'static Page,
    /// Whether the descriptor and the page were proven to be ours.
    proven: bool,
    /// Whether we slept: then others may sleep too, and our waking them costs less than asking.
    slept: bool,
}

impl Locked {
    /// Takes the lock of `file` before `until`, and proves that it is what `page` maps.
    #[inline]
    pub(super) fn take(
        file: &Descriptor,
        page: &'static Page,
        path: &Path,
        pid: u32,
        until: Moment,
    ) -> Result<Self, Fault> {
        let slept = match try_lock(file.fd) {
            Ok(true) => false,
            Ok(false) => Self::wait(file.fd, page, until)?,
            Err(_) => return Err(Fault::Reopen),
        };
        let mut locked = Self { fd: file.fd, page, proven: false, slept };
        match file.prove() {
            // The descriptor is somebody else's now, and so is its lock: leave it alone.
            None => {
                std::mem::forget(locked);
                Err(Fault::Reopen)
            }
            Some(proof) if proof.links == 0 => Err(Fault::Reopen),
            // Touching what was cut off would kill the process.
            Some(proof) if proof.bytes < PAGE_BYTES as u64 => Err(damaged(path, "it was cut short").into()),
            Some(_) => {
                locked.proven = true;
                page.holder.store(pid, Ordering::Relaxed);
                Ok(locked)
            }
        }
    }

    #[cold]
    fn wait(fd: libc::c_int, page: &'static Page, until: Moment) -> Result<bool, Fault> {
        let began = boot_now();
        let mut spins = 0;
        loop {
            let turn = page.turn.load(Ordering::Acquire);
            if spins >= SPINS {
                page.waiting.store(1, Ordering::SeqCst);
            }
            match try_lock(fd) {
                Ok(true) => return Ok(spins > SPINS),
                Ok(false) => {}
                Err(_) => return Err(Fault::Reopen),
            }
            if spins < SPINS {
                spins += 1;
                for _ in 0..5 {
                    std::hint::spin_loop();
                }
                continue;
            }
            let left = until.since(boot_now());
            if left.is_zero() {
                return Err(busy(page, boot_now().since(began)).into());
            }
            spins = SPINS + 1;
            futex::wait(&page.turn, turn, left.min(SLICE), true);
        }
    }
}

impl Drop for Locked {
    #[inline]
    fn drop(&mut self) {
        if self.proven {
            self.page.holder.store(0, Ordering::Relaxed);
        }
        // SAFETY: no memory is involved.
        unsafe { libc::flock(self.fd, libc::LOCK_UN) };
        if !self.proven {
            return;
        }
        // Loaded first: a swap costs more than a load while nobody waits.
        if self.slept || self.page.waiting.load(Ordering::SeqCst) != 0 {
            self.page.waiting.store(0, Ordering::SeqCst);
            self.page.turn.fetch_add(1, Ordering::Release);
            futex::wake_all(&self.page.turn, true);
        }
    }
}

/// Nobody got the lock in time; who stands still?
pub(super) fn busy(page: &Page, waited: Duration) -> Error {
    let pid = page.holder.load(Ordering::Relaxed);
    let who = match pid {
        0 => "another process".to_string(),
        pid => {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .ok()
                .and_then(|text| text.rsplit(") ").next().and_then(|rest| rest.chars().next()));
            let stopped = match state {
                Some('T' | 't') => ", which is stopped,",
                Some('D') => ", which hangs in the kernel,",
                _ => "",
            };
            format!("process {pid} ({}){stopped}", name.trim_end())
        }
    };
    Error::new(
        Kind::Unreachable,
        "store_busy",
        format!(
            "waited {} ms for the store, which {who} keeps locked; nothing was done. A transaction takes \
             microseconds: let that process go on, or end it",
            waited.as_millis()
        ),
    )
}
