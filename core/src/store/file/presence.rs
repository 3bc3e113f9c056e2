//! Who lives: each process keeps one byte of the file `clients` locked.
//!
//! The lock is a POSIX record lock, which the kernel drops in the moment the process dies, whatever
//! children it has. Such a lock is also dropped when the process closes *any* descriptor of that
//! file: ours are never closed, others' lives are asked with `F_OFD_GETLK` only, and every
//! transaction looks at its own byte first.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::descriptor::{Access, Descriptor, FileKey, key_of, stat_path};
use super::fault::{Fault, from_os, last_os_code};
use crate::kv::row::ClientId;
use crate::process::{self, PerProcess};
use crate::{Result, log};

/// Offsets, and so identities, have 62 bits.
const OFFSET_MASK: u64 = (1 << 62) - 1;

/// This process among the clients of one store.
pub(super) struct Presence {
    file: Descriptor,
    /// 0: not taken yet.
    id: AtomicU64,
}

/// Every presence of this process. Guards the list only, never held while a file is opened.
static KNOWN: PerProcess<Mutex<Vec<&'static Presence>>> = PerProcess::new();

fn known(key: FileKey) -> Option<&'static Presence> {
    let list = KNOWN.get_or(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    list.iter().find(|presence| presence.file.key == key && presence.file.prove().is_some()).copied()
}

#[cfg(test)]
pub(super) fn forget_what_is_known() {
    KNOWN.get_or(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
}

fn record(offset: u64, bytes: i64) -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: offset as libc::off_t,
        l_len: bytes,
        l_pid: 0,
    }
}

impl Presence {
    /// The file of the clients, opened once in a process and never closed again. No identity is
    /// taken yet.
    pub(super) fn open(path: &Path, access: &Access) -> Result<&'static Self> {
        if let Some(presence) = stat_path(path).ok().and_then(|stat| known(key_of(&stat))) {
            return Ok(presence);
        }
        let (file, _) = Descriptor::open_or_create(path, access)?;
        let presence: &'static Self = Box::leak(Box::new(Self { file, id: AtomicU64::new(0) }));
        KNOWN.get_or(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(presence);
        Ok(presence)
    }

    /// Which file it is.
    pub(super) fn key(&self) -> FileKey {
        self.file.key
    }

    /// A lock in `bytes` bytes from `offset` on (0: to the end), as offset and process.
    fn ask(&self, offset: u64, bytes: i64) -> Result<Option<(u64, i32)>, i32> {
        let mut lock = record(offset, bytes);
        // SAFETY: a readable and writable lock description.
        if unsafe { libc::fcntl(self.file.fd, libc::F_OFD_GETLK, &mut lock) } != 0 {
            return Err(last_os_code());
        }
        Ok((lock.l_type != libc::F_UNLCK as libc::c_short).then_some((lock.l_start as u64, lock.l_pid)))
    }

    /// Whether any client of the store lives.
    pub(super) fn anybody(&self) -> bool {
        // A kernel that cannot tell must not end anybody's leases.
        self.ask(0, 0).map_or(true, |found| found.is_some())
    }

    /// The processes of the living clients as this pid namespace numbers them (0: in another one).
    pub(super) fn everybody(&self) -> Vec<i32> {
        let mut found = Vec::new();
        // The kernel answers any lock in a range, not the first: what is left on both sides is asked
        // for as well.
        let mut ranges = vec![(0, OFFSET_MASK + 1)];
        while let Some((start, end)) = ranges.pop() {
            if start >= end || found.len() >= 100_000 {
                continue;
            }
            if let Ok(Some((at, pid))) = self.ask(start, (end - start) as i64) {
                found.push(pid);
                ranges.push((start, at));
                ranges.push((at + 1, end));
            }
        }
        found
    }

    /// This process's identity, taken anew when the last one is gone.
    #[inline]
    pub(super) fn identity(&self, path: &Path) -> Result<ClientId, Fault> {
        let id = self.id.load(Ordering::Relaxed);
        if id != 0 && !matches!(self.ask(id, 1), Ok(None)) {
            return Ok(ClientId(id));
        }
        self.take(id, path)
    }

    #[cold]
    fn take(&self, gone: u64, path: &Path) -> Result<ClientId, Fault> {
        if self.file.prove().is_none() {
            return Err(Fault::Reopen);
        }
        if gone != 0 {
            log::warn_user!(
                "{}: this program closed a descriptor of that file, which ends the leases of this process",
                path.display()
            );
        }
        for _ in 0..64 {
            let id = process::random_u64() & OFFSET_MASK;
            // The lock must be new: our own process is let in where another copy of this library
            // in it already is.
            if id == 0 || matches!(self.ask(id, 1), Ok(Some(_))) {
                continue;
            }
            let lock = record(id, 1);
            // SAFETY: a readable lock description.
            if unsafe { libc::fcntl(self.file.fd, libc::F_SETLK, &lock) } == 0 {
                self.id.store(id, Ordering::Relaxed);
                return Ok(ClientId(id));
            }
            match last_os_code() {
                libc::EAGAIN | libc::EACCES | libc::EINTR => {}
                code => return Err(from_os(code, "lock", path).into()),
            }
        }
        Err(from_os(libc::EAGAIN, "lock", path).into())
    }

    /// Whether the client with this identity lives. True when the kernel cannot tell.
    #[inline]
    pub(super) fn is_alive(&self, client: ClientId) -> bool {
        client == ClientId::NONE
            || client.0 > OFFSET_MASK
            || client.0 == self.id.load(Ordering::Relaxed)
            || !matches!(self.ask(client.0, 1), Ok(None))
    }
}
