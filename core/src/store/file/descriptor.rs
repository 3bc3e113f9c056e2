//! Descriptors that stay ours: close-on-exec, out of the way of the host program, and proven
//! before they are used, since a host program may close what it did not open.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use super::fault::{from_os, last_os_code};
use crate::process::Generation;
use crate::{Error, Kind, Result};

/// Our descriptors get numbers from here on where they can: a program that closes everything and
/// opens its own files again starts from below.
const FIRST: libc::c_int = 100;

/// What identifies a file on this machine.
pub(super) type FileKey = (u64, u64);

/// An open file of the store. It is not closed when it goes out of scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) fd: libc::c_int,
    pub(super) key: FileKey,
}

/// The key of what `stat` tells about.
pub(super) fn key_of(stat: &libc::stat) -> FileKey {
    (stat.st_dev, stat.st_ino)
}

/// `path` as the C library takes it.
pub(super) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(Kind::Invalid, "locks_bad_url", "the path of the store contains a NUL byte"))
}

/// What the file system knows about `path`.
pub(super) fn stat_path(path: &Path) -> Result<libc::stat, i32> {
    let path = c_path(path).map_err(|_| libc::EINVAL)?;
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a NUL-terminated path and room for the answer.
    if unsafe { libc::stat(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
        return Err(last_os_code());
    }
    // SAFETY: filled in by the successful call.
    Ok(unsafe { stat.assume_init() })
}

/// What the file system knows about the open file `fd`.
pub(super) fn stat_fd(fd: libc::c_int) -> Result<libc::stat, i32> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // The C library asks by an empty path, which takes the kernel twice as long.
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    // SAFETY: the kernel's structure is the C library's on this machine; there is room for it.
    let answer = unsafe { libc::syscall(libc::SYS_fstat, fd, stat.as_mut_ptr()) };
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
    // SAFETY: room for the answer; a bad descriptor is an error.
    let answer = unsafe { libc::fstat(fd, stat.as_mut_ptr()) };
    if answer != 0 {
        return Err(last_os_code());
    }
    // SAFETY: filled in by the successful call.
    Ok(unsafe { stat.assume_init() })
}

/// What is asked about an open file before each use.
pub(super) struct Proof {
    pub(super) bytes: u64,
    pub(super) links: u64,
}

/// The key of the open file `fd`, and what is asked before each use.
///
/// Asked without its times: whoever looks at those makes the next write store them with the file,
/// which costs twice as much as the write.
fn look_at(fd: libc::c_int) -> Option<(FileKey, Proof)> {
    // Some sandboxes have no statx.
    static HAS_STATX: AtomicBool = AtomicBool::new(true);
    if HAS_STATX.load(Ordering::Relaxed) {
        let mut about = MaybeUninit::<libc::statx>::uninit();
        let mask = libc::STATX_INO | libc::STATX_SIZE | libc::STATX_NLINK;
        let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
        // SAFETY: an empty path and room for the answer; a bad descriptor is an error.
        if unsafe { libc::statx(fd, c"".as_ptr(), flags, mask, about.as_mut_ptr()) } == 0 {
            // SAFETY: filled in by the successful call.
            let about = unsafe { about.assume_init() };
            if about.stx_mask & mask == mask {
                let key = (libc::makedev(about.stx_dev_major, about.stx_dev_minor), about.stx_ino);
                return Some((key, Proof { bytes: about.stx_size, links: u64::from(about.stx_nlink) }));
            }
        } else if last_os_code() == libc::EBADF {
            return None;
        }
        HAS_STATX.store(false, Ordering::Relaxed);
    }
    let stat = stat_fd(fd).ok()?;
    Some((key_of(&stat), Proof { bytes: stat.st_size as u64, links: stat.st_nlink as u64 }))
}

impl Descriptor {
    /// Opens the file at `path` for reading and writing, or makes it with the rights in `access`.
    /// The second answer tells whether it was made.
    pub(super) fn open_or_create(path: &Path, access: &Access) -> Result<(Self, bool)> {
        let name = c_path(path)?;
        let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        for _ in 0..16 {
            // Never O_CREAT on a file that is there: systems with fs.protected_regular refuse that.
            // SAFETY: a NUL-terminated path.
            let fd = unsafe { libc::open(name.as_ptr(), flags) };
            if fd >= 0 {
                return Ok((Self::adopt(fd, path)?, false));
            }
            match last_os_code() {
                libc::ENOENT => {}
                libc::EINTR => continue,
                code => return Err(from_os(code, "open", path)),
            }
            // SAFETY: a NUL-terminated path.
            let fd = unsafe { libc::open(name.as_ptr(), flags | libc::O_CREAT | libc::O_EXCL, 0o600) };
            if fd >= 0 {
                access.apply(fd);
                return Ok((Self::adopt(fd, path)?, true));
            }
            match last_os_code() {
                libc::EEXIST | libc::EINTR => {}
                code => return Err(from_os(code, "create", path)),
            }
        }
        Err(from_os(libc::EIO, "open", path))
    }

    /// Moves `fd` out of the host's way and remembers which file it is.
    fn adopt(fd: libc::c_int, path: &Path) -> Result<Self> {
        // SAFETY: asks for a copy of a descriptor that we just opened.
        let high = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST) };
        let fd = if high >= 0 {
            // SAFETY: closes what we opened above. No record lock is held through it yet.
            unsafe { libc::close(fd) };
            high
        } else if fd <= 2 {
            // SAFETY: as above.
            let safe = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
            let code = last_os_code();
            // SAFETY: as above.
            unsafe { libc::close(fd) };
            if safe < 0 {
                return Err(from_os(code, "open", path));
            }
            safe
        } else {
            fd
        };
        let stat = stat_fd(fd).map_err(|code| from_os(code, "look at", path))?;
        if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
            // SAFETY: closes what we opened.
            unsafe { libc::close(fd) };
            return Err(super::fault::damaged(path, "it is not a regular file"));
        }
        Ok(Self { fd, key: key_of(&stat) })
    }

    /// What the kernel knows about the file, or nothing when the descriptor is not ours any more.
    #[inline]
    pub(super) fn prove(&self) -> Option<Proof> {
        look_at(self.fd).filter(|(key, _)| *key == self.key).map(|(_, proof)| proof)
    }

    /// Closes the file if the descriptor is still ours.
    pub(super) fn close(&self) {
        if self.prove().is_some() {
            // SAFETY: it is ours and nobody uses it afterwards.
            unsafe { libc::close(self.fd) };
        }
    }

    /// Reads at `offset`; less than asked for at the end of the file.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: i64) -> Result<usize, i32> {
        // SAFETY: the buffer is writable for its length.
        let count = unsafe { libc::pread(self.fd, buffer.as_mut_ptr().cast(), buffer.len(), offset) };
        if count < 0 { Err(last_os_code()) } else { Ok(count as usize) }
    }

    /// Writes all of `bytes` at `offset`.
    pub(super) fn write_at(&self, bytes: &[u8], offset: i64) -> Result<(), i32> {
        // SAFETY: the buffer is readable for its length.
        let count = unsafe { libc::pwrite(self.fd, bytes.as_ptr().cast(), bytes.len(), offset) };
        match count {
            count if count < 0 => Err(last_os_code()),
            count if count as usize != bytes.len() => Err(libc::ENOSPC),
            _ => Ok(()),
        }
    }

    /// Waits until what was written is on the disk.
    pub(super) fn sync(&self) -> Result<(), i32> {
        // SAFETY: no memory is involved.
        if unsafe { libc::fdatasync(self.fd) } != 0 { Err(last_os_code()) } else { Ok(()) }
    }
}

/// Keeps blocks of the file allocated up to `bytes`, growing it where it is shorter. File systems
/// that cannot allocate ahead only grow it.
pub(super) fn allocate(fd: libc::c_int, bytes: u64) -> Result<(), i32> {
    // SAFETY: no memory is involved.
    if unsafe { libc::fallocate(fd, 0, 0, bytes as libc::off_t) } == 0 {
        return Ok(());
    }
    match last_os_code() {
        libc::EOPNOTSUPP | libc::ENOSYS => {
            let stat = stat_fd(fd)?;
            // SAFETY: only ever makes the file longer.
            if (stat.st_size as u64) < bytes && unsafe { libc::ftruncate(fd, bytes as libc::off_t) } != 0 {
                return Err(last_os_code());
            }
            Ok(())
        }
        code => Err(code),
    }
}

/// Who may use the files of a folder: whoever may write in the folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) mode: u32,
    owner: Option<(u32, u32)>,
}

impl Access {
    /// The rights for files in the folder that `stat` tells about.
    ///
    /// Reading alone is never given: a reader could take the store's lock and stall everybody.
    pub(super) fn of_folder(stat: &libc::stat) -> Self {
        let mut mode = 0o600;
        for class in [0o020, 0o002] {
            if stat.st_mode & class != 0 {
                mode |= class | class << 1;
            }
        }
        // SAFETY: asks for a number.
        let root = unsafe { libc::geteuid() } == 0;
        let owner = (root && (stat.st_uid, stat.st_gid) != (0, 0)).then_some((stat.st_uid, stat.st_gid));
        Self { mode, owner }
    }

    /// Gives a file that we just made these rights, whatever the umask is. What root makes in
    /// somebody's folder belongs to that somebody.
    pub(super) fn apply(&self, fd: libc::c_int) {
        if let Some((user, group)) = self.owner {
            // SAFETY: no memory is involved. A refusal leaves the file root's, which `check` tells.
            unsafe { libc::fchown(fd, user, group) };
        }
        // SAFETY: as above.
        unsafe { libc::fchmod(fd, self.mode) };
    }
}

/// Descriptors whose lock a child must not carry on when its parent dies inside a transaction.
static INHERITED: [Inherited; 256] = [const { Inherited::new() }; 256];

struct Inherited {
    fd: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
    generation: AtomicU64,
}

impl Inherited {
    const fn new() -> Self {
        Self {
            fd: AtomicI32::new(-1),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    /// Async-signal-safe.
    fn close(&self) {
        let fd = self.fd.swap(-1, Ordering::AcqRel);
        let key = (self.device.load(Ordering::Acquire), self.inode.load(Ordering::Acquire));
        if fd >= 0 && stat_fd(fd).is_ok_and(|stat| key_of(&stat) == key) {
            // SAFETY: it is the parent's lock file, which this child opens anew when it needs it.
            unsafe { libc::close(fd) };
        }
    }
}

extern "C" fn close_in_child() {
    for entry in &INHERITED {
        entry.close();
    }
}

/// Closes `descriptor` in every child that is forked from now on.
pub(super) fn close_after_fork(descriptor: &Descriptor) {
    static HANDLER: std::sync::Once = std::sync::Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler only looks at static memory and closes descriptors.
        unsafe { libc::pthread_atfork(None, None, Some(close_in_child)) };
    });
    for entry in &INHERITED {
        if entry.fd.compare_exchange(-1, -2, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            entry.device.store(descriptor.key.0, Ordering::Release);
            entry.inode.store(descriptor.key.1, Ordering::Release);
            entry.generation.store(Generation::current().number(), Ordering::Release);
            entry.fd.store(descriptor.fd, Ordering::Release);
            return;
        }
    }
}

/// `descriptor` is about to be closed: children need not do it.
pub(super) fn forget_after_fork(descriptor: &Descriptor) {
    for entry in &INHERITED {
        let _ = entry.fd.compare_exchange(descriptor.fd, -1, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Closes what a child inherited although no fork handler ran (a raw clone).
pub(super) fn close_inherited() {
    let here = Generation::current().number();
    for entry in &INHERITED {
        if entry.fd.load(Ordering::Acquire) >= 0 && entry.generation.load(Ordering::Acquire) != here {
            entry.close();
        }
    }
}

/// Occupies the descriptors 0, 1 and 2 where the host program has closed them, so that what is
/// opened meanwhile gets another number.
pub(super) struct StandardStreams([libc::c_int; 3]);

impl StandardStreams {
    pub(super) fn occupy() -> Self {
        let mut taken = [-1; 3];
        for fd in 0..3 {
            // SAFETY: asks whether the descriptor is open.
            if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
                // SAFETY: a static path. The lowest free number is `fd`, or a lower one just freed.
                taken[fd as usize] = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
            }
        }
        Self(taken)
    }
}

impl Drop for StandardStreams {
    fn drop(&mut self) {
        for fd in self.0 {
            if fd >= 0 {
                // SAFETY: opened above.
                unsafe { libc::close(fd) };
            }
        }
    }
}
