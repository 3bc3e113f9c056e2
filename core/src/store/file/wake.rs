//! The page that all processes of a store share: the words that waiters sleep on, who has the
//! store's lock, and the counter of versions.
//!
//! It is a map of the very file that the store's lock is taken on, so that whoever excludes each
//! other also counts together. The file is never unlinked or truncated by us.

use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::descriptor::{Access, Descriptor, allocate};
use super::fault::{Fault, damaged, from_os, last_os_code};

/// How many bytes of the file are mapped.
pub(super) const PAGE_BYTES: usize = 64 * 1024;
const HEADER_BYTES: usize = 256;
/// How many waiters have a word of their own. More of them share words, which only wakes some of
/// them for nothing.
const WORDS: usize = (PAGE_BYTES - HEADER_BYTES) / 4;
/// 'fenceho1': what the page starts with.
const MAGIC: u64 = u64::from_le_bytes(*b"fenceho1");

/// The shared page. All of it may be written by any process at any time.
#[repr(C)]
pub(super) struct Page {
    magic: AtomicU64,
    /// The format of the store, for processes that had it open when it was raised.
    pub(super) format: AtomicU32,
    /// The process that has the store's lock, as it calls itself: for people.
    pub(super) holder: AtomicU32,
    /// Moves with each wake-up of those who wait for the store's lock.
    pub(super) turn: AtomicU32,
    /// Not 0: somebody sleeps on `turn`.
    pub(super) waiting: AtomicU32,
    next_word: AtomicU32,
    _space: AtomicU32,
    /// The next version, sealed.
    pub(super) next_version: AtomicU64,
    /// The end of the block of versions that was reserved durably, sealed.
    pub(super) version_limit: AtomicU64,
    _reserved: [AtomicU64; 26],
    words: [AtomicU32; WORDS],
}

const _: () = assert!(size_of::<Page>() == PAGE_BYTES);

impl Page {
    /// Maps the page of the open lock file, made ready when it is new. The map stays for ever.
    pub(super) fn map(lock: &Descriptor, path: &Path, access: &Access) -> Result<&'static Self, Fault> {
        // Through another open file: a map keeps its file open in forked children too, and with it
        // the lock of a parent that was killed.
        let (file, _) = Descriptor::open_or_create(path, access)?;
        let page = if file.key == lock.key { Self::map_file(&file, path) } else { Err(Fault::Reopen) };
        file.close();
        page
    }

    fn map_file(file: &Descriptor, path: &Path) -> Result<&'static Self, Fault> {
        let proof = file.prove().ok_or_else(|| from_os(libc::EBADF, "look at", path))?;
        if proof.bytes < PAGE_BYTES as u64 {
            // Allocated, not only made longer: a write to a hole on a full disk kills the process.
            allocate(file.fd, PAGE_BYTES as u64).map_err(|code| from_os(code, "make room in", path))?;
        }
        // SAFETY: a shared map at an address of the kernel's choice.
        let map = unsafe {
            libc::mmap(ptr::null_mut(), PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.fd, 0)
        };
        if map == libc::MAP_FAILED {
            return Err(from_os(last_os_code(), "map", path).into());
        }
        // SAFETY: mapped for ever, page-aligned, and atomics allow any bytes.
        let page: &'static Self = unsafe { &*map.cast() };
        match page.magic.load(Ordering::Acquire) {
            MAGIC => Ok(page),
            0 => {
                page.magic.store(MAGIC, Ordering::Release);
                Ok(page)
            }
            _ => Err(damaged(path, "it does not start as a lock file of a store does").into()),
        }
    }

    /// A word for one waiter.
    pub(super) fn draw_word(&self) -> u32 {
        self.next_word.fetch_add(1, Ordering::Relaxed) % WORDS as u32
    }

    /// The word with this number.
    pub(super) fn word(&'static self, id: u32) -> &'static AtomicU32 {
        &self.words[id as usize % WORDS]
    }
}

const VALUE_BITS: u32 = 53;
const VALUE_MASK: u64 = (1 << VALUE_BITS) - 1;

/// `value` (below 2^53) with a check of eleven bits, so that a stray write of some host program is
/// noticed and a half-written pair cannot exist.
pub(super) fn seal(value: u64) -> u64 {
    let value = value & VALUE_MASK;
    let check = (value ^ 0x005a_17c3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> VALUE_BITS;
    check << VALUE_BITS | value
}

/// The value of a sealed word, unless it was never set or something else wrote there.
pub(super) fn unseal(word: u64) -> Option<u64> {
    let value = word & VALUE_MASK;
    (value != 0 && seal(value) == word).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_comes_back_and_a_stray_write_is_noticed() {
        for value in [1, 2, 1_790_000_000_000_000, VALUE_MASK] {
            assert_eq!(unseal(seal(value)), Some(value));
        }
        assert_eq!(unseal(0), None);
        let noticed = (0..64).filter(|bit| unseal(seal(1_790_000_000_000_000) ^ 1 << bit).is_none());
        assert_eq!(noticed.count(), 64);
    }
}
