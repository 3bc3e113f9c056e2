//! Versions, and so tokens, that only rise: also across crashes, reboots and deleted folders.
//!
//! The counter is in the shared page. It never reaches a limit that is not on the disk, so after a
//! loss of the page it goes on at that limit, or at the time of day in microseconds where that is
//! higher: a store grants fewer than one version in a microsecond, so that even a folder that was
//! deleted does not start below what it gave out before.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::descriptor::{Access, Descriptor};
use super::fault::{damaged, from_os};
use super::flock::try_lock;
use super::wake::{Page, seal, unseal};
use crate::Result;
use crate::clock::{boot_now, wall_micros};

/// How many versions are reserved at a time.
pub(super) const BLOCK: u64 = 1 << 20;
const MAGIC: u64 = u64::from_le_bytes(*b"fhtokens");
const SLOT_BYTES: i64 = 512;
/// Versions have to stay below this.
const HIGHEST: u64 = 1 << 53;

/// The highest version that this process has seen, for the day when both the folder and the time
/// of day go back under a running program.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// The file that keeps the limit: two slots, of which the one not in use is written.
pub(super) struct Tokens {
    pub(super) file: Descriptor,
}

struct Slots {
    limit: u64,
    sequence: u64,
}

impl Tokens {
    /// Opens the file; the second answer tells whether it is new.
    pub(super) fn open(path: &Path, access: &Access) -> Result<(Self, bool)> {
        let (file, new) = Descriptor::open_or_create(path, access)?;
        Ok((Self { file }, new))
    }

    fn read(&self, path: &Path) -> Result<Slots> {
        let mut newest = Slots { limit: 0, sequence: 0 };
        let mut any = false;
        for slot in 0..2 {
            let mut bytes = [0; 32];
            let count = self.file.read_at(&mut bytes, slot * SLOT_BYTES).map_err(|code| from_os(code, "read", path))?;
            any |= bytes[..count].iter().any(|byte| *byte != 0);
            let [magic, sequence, limit, check] = split(&bytes);
            if count == 32 && magic == MAGIC && check == mix(sequence, limit) {
                newest.limit = newest.limit.max(limit);
                newest.sequence = newest.sequence.max(sequence);
            }
        }
        if any && newest.sequence == 0 {
            // A torn first write cannot be told from damage. Nobody was given a version before the
            // first write was done, so what the time of day says is high enough only if the file is
            // as long as a torn write of ours; anything else is somebody's file.
            let bytes = self.file.prove().map_or(0, |file| file.bytes);
            if bytes > 2 * SLOT_BYTES as u64 {
                return Err(damaged(path, "it is not a file of token limits"));
            }
        }
        Ok(newest)
    }

    fn write(&self, slots: &Slots, limit: u64, path: &Path) -> Result<()> {
        let sequence = slots.sequence + 1;
        let mut bytes = [0; 32];
        for (part, number) in [MAGIC, sequence, limit, mix(sequence, limit)].into_iter().enumerate() {
            bytes[part * 8..part * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        self.file
            .write_at(&bytes, (sequence as i64 & 1) * SLOT_BYTES)
            .and_then(|()| self.file.sync())
            .map_err(|code| from_os(code, "write", path))
    }

    /// Starts counting at a number that was never given out. Called with the store's lock.
    pub(super) fn start(&self, page: &Page, path: &Path) -> Result<()> {
        let patience = boot_now().after(Duration::from_secs(5));
        while !try_lock(self.file.fd).map_err(|code| from_os(code, "lock", path))? {
            if boot_now() > patience {
                return Err(from_os(libc::EAGAIN, "lock", path));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let done = self.start_locked(page, path);
        // SAFETY: no memory is involved.
        unsafe { libc::flock(self.file.fd, libc::LOCK_UN) };
        done
    }

    fn start_locked(&self, page: &Page, path: &Path) -> Result<()> {
        let slots = self.read(path)?;
        let first = slots
            .limit
            .max(unseal(page.version_limit.load(Ordering::Acquire)).unwrap_or(0))
            .max(unseal(page.next_version.load(Ordering::Acquire)).unwrap_or(0))
            .max(u64::try_from(wall_micros()).unwrap_or(1))
            .max(SEEN.load(Ordering::Relaxed) + 1);
        self.write(&slots, bounded(first + BLOCK, path)?, path)?;
        page.version_limit.store(seal(first + BLOCK), Ordering::Release);
        page.next_version.store(seal(first), Ordering::Release);
        Ok(())
    }

    /// Reserves the next block. Called without the store's lock, since the disk may be slow.
    /// False: another process is doing it.
    pub(super) fn reserve(&self, page: &Page, path: &Path) -> Result<bool> {
        if !try_lock(self.file.fd).map_err(|code| from_os(code, "lock", path))? {
            return Ok(false);
        }
        let done = self.reserve_locked(page, path);
        // SAFETY: no memory is involved.
        unsafe { libc::flock(self.file.fd, libc::LOCK_UN) };
        done.map(|()| true)
    }

    fn reserve_locked(&self, page: &Page, path: &Path) -> Result<()> {
        let Some(next) = unseal(page.next_version.load(Ordering::Acquire)) else { return Ok(()) };
        let known = unseal(page.version_limit.load(Ordering::Acquire));
        if known.is_some_and(|limit| limit.saturating_sub(next) > BLOCK / 2) {
            return Ok(());
        }
        let slots = self.read(path)?;
        let limit = bounded(slots.limit.max(next) + BLOCK, path)?;
        self.write(&slots, limit, path)?;
        // Whoever started anew meanwhile has written a higher limit, and his stands.
        let _ = page.version_limit.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            (unseal(word).unwrap_or(0) < limit).then_some(seal(limit))
        });
        Ok(())
    }

    /// The limit on the disk, for people.
    pub(super) fn durable_limit(&self, path: &Path) -> Result<u64> {
        Ok(self.read(path)?.limit)
    }
}

/// This process was given `version`.
pub(super) fn saw(version: u64) {
    SEEN.fetch_max(version, Ordering::Relaxed);
}

fn bounded(limit: u64, path: &Path) -> Result<u64> {
    if limit < HIGHEST {
        return Ok(limit);
    }
    Err(damaged(path, "its limit leaves no tokens below 2^53"))
}

fn split(bytes: &[u8; 32]) -> [u64; 4] {
    let mut parts = [0; 4];
    for (part, bytes) in parts.iter_mut().zip(bytes.chunks_exact(8)) {
        *part = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    parts
}

fn mix(sequence: u64, limit: u64) -> u64 {
    let mut value = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ limit.rotate_left(17) ^ MAGIC;
    value = (value ^ value >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ value >> 29
}
