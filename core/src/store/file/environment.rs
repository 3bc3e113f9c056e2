//! LMDB behind a small safe wrapper: one B-tree with every row, in one file.
//!
//! Opened with NOLOCK, for leases with NOSYNC, and without WRITEMAP: whoever calls has the store's
//! lock, so there is one transaction at a time in the whole machine, nothing that a stray pointer of the
//! host program could overwrite, and no table of readers that a dead or foreign process could
//! confuse. A process that is killed leaves either the old or the new meta page.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::Path;
use std::{ptr, slice};

use lmdb_master_sys as lmdb;

use super::descriptor::{Access, Descriptor, StandardStreams, allocate, c_path, key_of, stat_fd};
use super::fault::{Fault, damaged, from_lmdb, from_os, last_os_code};
use super::format::Contents;
use crate::Result;

/// The address space taken at first; it doubles when it is used up.
const FIRST_MAP: usize = 64 << 20;
/// How much of the disk is reserved at a time.
pub(super) const STEP: u64 = 1 << 20;
/// Pages that stay in reserve for renewals and releases on a full disk.
const RESERVE: u64 = 64;
/// LMDB's number of the database that needs no name.
const MAIN: lmdb::MDB_dbi = 1;

/// An open file of rows. Used by one thread at a time.
pub(super) struct Environment {
    env: *mut lmdb::MDB_env,
    data: Descriptor,
    page_bytes: u64,
    /// The size that the file had at least; it never shrinks.
    size: u64,
    /// Mapping it again failed, and there is no map now.
    unmapped: bool,
}

// SAFETY: LMDB's handle is not bound to a thread, and `&mut self` lets one use it at a time.
unsafe impl Send for Environment {}

/// A failure of opening, with LMDB's number.
fn open_raw(path: &Path, contents: Contents) -> Result<(*mut lmdb::MDB_env, libc::c_int), Fault> {
    let name = c_path(path)?;
    let mut env = ptr::null_mut();
    // What is synced is synced before the page that makes it visible is written, and once more after
    // that: LMDB's own descriptor for the latter is one that we could not prove to be ours.
    let sync = match contents {
        Contents::Leases => lmdb::MDB_NOSYNC,
        Contents::Rows => lmdb::MDB_NOMETASYNC,
    };
    let flags = lmdb::MDB_NOSUBDIR | lmdb::MDB_NOLOCK | lmdb::MDB_NORDAHEAD | sync;
    let streams = StandardStreams::occupy();
    // SAFETY: the handle is closed again when opening fails; the path is NUL-terminated.
    let code = unsafe {
        let mut code = lmdb::mdb_env_create(&mut env);
        if code == 0 {
            code = lmdb::mdb_env_set_mapsize(env, FIRST_MAP as _);
            if code == 0 {
                code = lmdb::mdb_env_open(env, name.as_ptr(), flags, 0o600);
            }
            if code != 0 {
                lmdb::mdb_env_close(env);
            }
        }
        code
    };
    drop(streams);
    if code != 0 {
        return Err(from_lmdb(code, "open", path));
    }
    let mut fd = -1;
    // SAFETY: an open environment. Its data file is the one descriptor that LMDB leaves open
    // across exec.
    unsafe {
        lmdb::mdb_env_get_fd(env, &mut fd);
        libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
    }
    Ok((env, fd))
}

impl Environment {
    /// Puts an empty file in the place of whatever is there. A kill at any point leaves the old
    /// file or the new one.
    pub(super) fn create(path: &Path, access: &Access, contents: Contents) -> Result<(), Fault> {
        let fresh = path.with_extension("new");
        let name = c_path(&fresh)?;
        // SAFETY: a NUL-terminated path; what was left by a crash is nobody's.
        unsafe { libc::unlink(name.as_ptr()) };
        let (file, _) = Descriptor::open_or_create(&fresh, access)?;
        let made = open_raw(&fresh, contents).and_then(|(env, fd)| {
            let allocated = allocate(fd, STEP);
            // SAFETY: opened above and not used any more.
            unsafe { lmdb::mdb_env_close(env) };
            allocated.map_err(|code| from_os(code, "make room in", &fresh).into())
        });
        file.close();
        let target = c_path(path)?;
        made?;
        // SAFETY: two NUL-terminated paths.
        if unsafe { libc::rename(name.as_ptr(), target.as_ptr()) } != 0 {
            return Err(from_os(last_os_code(), "create", path).into());
        }
        Ok(())
    }

    /// Opens the file at `path`.
    pub(super) fn open(path: &Path, contents: Contents) -> Result<Self, Fault> {
        let (env, fd) = open_raw(path, contents)?;
        let stat = stat_fd(fd).map_err(|code| from_os(code, "look at", path))?;
        let data = Descriptor { fd, key: key_of(&stat) };
        let mut this = Self { env, data, page_bytes: 4096, size: stat.st_size as u64, unmapped: false };
        // SAFETY: all numbers, filled in below.
        let mut about: lmdb::MDB_stat = unsafe { std::mem::zeroed() };
        // SAFETY: an open environment and room for the answer.
        unsafe { lmdb::mdb_env_stat(env, &mut about) };
        this.page_bytes = u64::from(about.ms_psize).max(512);
        if (this.last_page() + 1) * this.page_bytes > this.size {
            let error = damaged(path, "it is shorter than it says");
            this.close();
            return Err(error.into());
        }
        if let Err(fault) = this.open_main(path) {
            this.close();
            return Err(fault);
        }
        Ok(this)
    }

    /// Tells LMDB how the keys of the nameless database are compared.
    fn open_main(&mut self, path: &Path) -> Result<(), Fault> {
        let txn = self.begin(false, path)?;
        let mut dbi = 0;
        // SAFETY: an open transaction; no name means the main database.
        match unsafe { lmdb::mdb_dbi_open(txn.txn, ptr::null(), 0, &mut dbi) } {
            0 if dbi == MAIN => Ok(()),
            0 => Err(damaged(path, "its first database has an unknown number").into()),
            code => Err(from_lmdb(code, "open the rows of", path)),
        }
    }

    fn info(&self) -> lmdb::MDB_envinfo {
        // SAFETY: all numbers and a pointer, filled in below.
        let mut info: lmdb::MDB_envinfo = unsafe { std::mem::zeroed() };
        // SAFETY: an open environment and room for the answer.
        unsafe { lmdb::mdb_env_info(self.env, &mut info) };
        info
    }

    fn last_page(&self) -> u64 {
        self.info().me_last_pgno as u64
    }

    /// Proves that the descriptor is ours and that the file is where and what it was.
    #[inline]
    pub(super) fn prove(&mut self, path: &Path) -> Result<(), Fault> {
        let Some(file) = self.data.prove() else { return Err(Fault::Reopen) };
        if file.links == 0 || self.unmapped {
            return Err(Fault::Reopen);
        }
        let size = file.bytes;
        if size < self.size {
            // Reading what was cut off would kill the process.
            return Err(damaged(path, "it was cut short").into());
        }
        self.size = size;
        Ok(())
    }

    /// Makes sure that a transaction that may add rows leaves room for those that must not fail.
    #[inline]
    pub(super) fn make_room(&mut self, path: &Path) -> Result<(), Fault> {
        let needed = (self.last_page() + 1 + RESERVE) * self.page_bytes;
        if needed <= self.size {
            return Ok(());
        }
        let target = needed.div_ceil(STEP) * STEP;
        allocate(self.data.fd, target).map_err(|code| from_os(code, "make room in", path))?;
        self.size = target;
        Ok(())
    }

    /// Doubles the address space.
    pub(super) fn grow_map(&mut self, path: &Path) -> Result<(), Fault> {
        let size = self.info().me_mapsize;
        self.set_map(size * 2, path)
    }

    fn set_map(&mut self, size: usize, path: &Path) -> Result<(), Fault> {
        // SAFETY: `&mut self` and the transactions' borrow prove that none is open.
        match unsafe { lmdb::mdb_env_set_mapsize(self.env, size as _) } {
            0 => Ok(()),
            code => {
                self.unmapped = true;
                Err(from_lmdb(code, "map", path))
            }
        }
    }

    /// Begins a transaction.
    #[inline]
    pub(super) fn begin<'a>(&'a mut self, write: bool, path: &'a Path) -> Result<Transaction<'a>, Fault> {
        let flags = if write { 0 } else { lmdb::MDB_RDONLY };
        for _ in 0..3 {
            let mut txn = ptr::null_mut();
            // SAFETY: an open environment without another transaction.
            match unsafe { lmdb::mdb_txn_begin(self.env, ptr::null_mut(), flags, &mut txn) } {
                0 => return Ok(Transaction { txn, path, env: self.env, _borrow: PhantomData }),
                // Another process has grown it: take the size that it wrote down.
                lmdb::MDB_MAP_RESIZED => self.set_map(0, path)?,
                code => return Err(from_lmdb(code, "begin a transaction in", path)),
            }
        }
        Err(Fault::Reopen)
    }

    /// Waits until everything that was committed is on the disk.
    pub(super) fn sync(&mut self, path: &Path) -> Result<(), Fault> {
        // SAFETY: an open environment.
        match unsafe { lmdb::mdb_env_sync(self.env, 1) } {
            0 => Ok(()),
            code => Err(from_lmdb(code, "sync", path)),
        }
    }

    /// Closes the file, when its descriptor is still ours; otherwise the memory is left alone.
    pub(super) fn close(self) {
        if self.data.prove().is_some() {
            // SAFETY: nothing borrows the environment any more.
            unsafe { lmdb::mdb_env_close(self.env) };
        }
    }
}

/// One transaction; rolled back unless committed.
pub(super) struct Transaction<'a> {
    txn: *mut lmdb::MDB_txn,
    env: *mut lmdb::MDB_env,
    path: &'a Path,
    _borrow: PhantomData<&'a mut Environment>,
}

fn value_of(bytes: &[u8]) -> lmdb::MDB_val {
    lmdb::MDB_val { mv_size: bytes.len() as _, mv_data: bytes.as_ptr().cast_mut().cast::<c_void>() }
}

const NO_VALUE: lmdb::MDB_val = lmdb::MDB_val { mv_size: 0, mv_data: ptr::null_mut() };

/// # Safety
/// `value` was filled in by LMDB in a transaction that outlives `'a`.
unsafe fn bytes_of<'a>(value: &lmdb::MDB_val) -> &'a [u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(value.mv_data.cast(), value.mv_size) }
}

impl Transaction<'_> {
    /// The row at `key`.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, Fault> {
        let mut value = NO_VALUE;
        // SAFETY: an open transaction; LMDB only reads the key.
        match unsafe { lmdb::mdb_get(self.txn, MAIN, &mut value_of(key), &mut value) } {
            // SAFETY: good until the transaction writes or ends, and `self` is borrowed.
            0 => Ok(Some(unsafe { bytes_of(&value) })),
            lmdb::MDB_NOTFOUND => Ok(None),
            code => Err(from_lmdb(code, "read", self.path)),
        }
    }

    /// Writes the row at `key`, made of two parts.
    #[inline]
    pub(super) fn put(&mut self, key: &[u8], head: &[u8], tail: &[u8]) -> Result<(), Fault> {
        let mut value = lmdb::MDB_val { mv_size: (head.len() + tail.len()) as _, mv_data: ptr::null_mut() };
        // SAFETY: an open transaction for writing; with RESERVE LMDB answers where the value goes.
        let code = unsafe { lmdb::mdb_put(self.txn, MAIN, &mut value_of(key), &mut value, lmdb::MDB_RESERVE) };
        if code != 0 {
            return Err(from_lmdb(code, "write", self.path));
        }
        // SAFETY: LMDB reserved that many bytes in a page of its own memory.
        unsafe {
            let place: *mut u8 = value.mv_data.cast();
            ptr::copy_nonoverlapping(head.as_ptr(), place, head.len());
            ptr::copy_nonoverlapping(tail.as_ptr(), place.add(head.len()), tail.len());
        }
        Ok(())
    }

    /// Removes the row at `key`.
    #[inline]
    pub(super) fn delete(&mut self, key: &[u8]) -> Result<bool, Fault> {
        // SAFETY: an open transaction for writing.
        match unsafe { lmdb::mdb_del(self.txn, MAIN, &mut value_of(key), ptr::null_mut()) } {
            0 => Ok(true),
            lmdb::MDB_NOTFOUND => Ok(false),
            code => Err(from_lmdb(code, "write", self.path)),
        }
    }

    /// Shows the rows from `start` on.
    pub(super) fn walk(
        &self,
        start: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Fault> {
        let cursor = Cursor::open(self)?;
        let mut next = cursor.step(lmdb::MDB_SET_RANGE, start)?;
        while let Some((key, value)) = next {
            if visit(key, value).is_break() {
                break;
            }
            next = cursor.step(lmdb::MDB_NEXT, &[])?;
        }
        Ok(())
    }

    /// The last row before `end`.
    pub(super) fn last_before(&self, end: &[u8]) -> Result<Option<(&[u8], &[u8])>, Fault> {
        let cursor = Cursor::open(self)?;
        match cursor.step(lmdb::MDB_SET_RANGE, end)? {
            Some(_) => cursor.step(lmdb::MDB_PREV, &[]),
            None => cursor.step(lmdb::MDB_LAST, &[]),
        }
    }

    /// Makes the changes visible. `Err` with true: they may have become visible all the same.
    #[inline]
    pub(super) fn commit(self) -> Result<(), (Fault, bool)> {
        let (txn, env, path) = (self.txn, self.env, self.path);
        std::mem::forget(self);
        // SAFETY: an open transaction that is not used afterwards.
        unsafe {
            let number = lmdb::mdb_txn_id(txn);
            match lmdb::mdb_txn_commit(txn) {
                0 => Ok(()),
                code => {
                    let mut info: lmdb::MDB_envinfo = std::mem::zeroed();
                    lmdb::mdb_env_info(env, &mut info);
                    Err((from_lmdb(code, "write", path), info.me_last_txnid >= number))
                }
            }
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: an open transaction that is not used afterwards.
        unsafe { lmdb::mdb_txn_abort(self.txn) };
    }
}

/// A cursor, closed at the end of its scope.
struct Cursor<'a> {
    cursor: *mut lmdb::MDB_cursor,
    txn: &'a Transaction<'a>,
}

impl<'a> Cursor<'a> {
    fn open(txn: &'a Transaction<'_>) -> Result<Self, Fault> {
        let mut cursor = ptr::null_mut();
        // SAFETY: an open transaction.
        match unsafe { lmdb::mdb_cursor_open(txn.txn, MAIN, &mut cursor) } {
            0 => Ok(Self { cursor, txn }),
            code => Err(from_lmdb(code, "read", txn.path)),
        }
    }

    fn step(&self, op: lmdb::MDB_cursor_op, key: &[u8]) -> Result<Option<(&'a [u8], &'a [u8])>, Fault> {
        let (mut key, mut value) = (value_of(key), NO_VALUE);
        // SAFETY: an open cursor; what it shows is good until the transaction writes or ends.
        match unsafe { lmdb::mdb_cursor_get(self.cursor, &mut key, &mut value, op) } {
            // SAFETY: as above.
            0 => Ok(Some(unsafe { (bytes_of(&key), bytes_of(&value)) })),
            lmdb::MDB_NOTFOUND => Ok(None),
            code => Err(from_lmdb(code, "read", self.txn.path)),
        }
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: opened by us; closed before its transaction ends.
        unsafe { lmdb::mdb_cursor_close(self.cursor) };
    }
}
