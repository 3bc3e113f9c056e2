//! Which process this is, told cheaply and without a system call.
//!
//! A word in a page that the kernel hands to a child as zeros (`MADV_WIPEONFORK`) holds the number
//! of this process's generation. After a fork, also after a raw clone that runs no handlers, the
//! word is zero in the child and the next question draws a new number.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The number of a generation: a process and each of its forked children have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Generation(u64);

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Maps `bytes` of zeros that a forked child sees as zeros again. Never unmapped.
pub(crate) fn map_wiped_on_fork(bytes: usize) -> *mut u8 {
    // SAFETY: an anonymous mapping at an address of the kernel's choice.
    let page = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert!(page != libc::MAP_FAILED, "out of memory");
    #[cfg(target_os = "linux")]
    // SAFETY: the range was mapped above.
    let wiped = unsafe { libc::madvise(page, bytes, libc::MADV_WIPEONFORK) } == 0;
    #[cfg(not(target_os = "linux"))]
    // SAFETY: as above; VM_INHERIT_NONE is not portable, so children are told by pthread_atfork.
    let wiped = false;
    if !wiped {
        watch_forks(page.cast(), bytes);
    }
    page.cast()
}

/// The second best where a page cannot be wiped: a fork handler clears it in the child.
fn watch_forks(page: *mut u8, bytes: usize) {
    static PAGES: [(AtomicPtr<u8>, AtomicU64); 64] =
        [const { (AtomicPtr::new(ptr::null_mut()), AtomicU64::new(0)) }; 64];
    extern "C" fn clear() {
        for (page, bytes) in &PAGES {
            let page = page.load(Ordering::Acquire);
            if !page.is_null() {
                // SAFETY: the pages are mapped for ever.
                unsafe { ptr::write_bytes(page, 0, bytes.load(Ordering::Acquire) as usize) };
            }
        }
    }
    static REGISTERED: OnceLock<()> = OnceLock::new();
    for (slot, size) in &PAGES {
        size.store(bytes as u64, Ordering::Release);
        if slot.compare_exchange(ptr::null_mut(), page, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            break;
        }
    }
    REGISTERED.get_or_init(|| {
        // SAFETY: `clear` touches static memory only.
        unsafe { libc::pthread_atfork(None, None, Some(clear)) };
    });
}

#[inline]
fn word() -> &'static AtomicU64 {
    static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
    let known = WORD.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: the page is mapped for ever and holds an atomic.
        return unsafe { &*known };
    }
    let fresh: *mut AtomicU64 = map_wiped_on_fork(4096).cast();
    match WORD.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above. A page that lost the race stays mapped: 4 KiB, once.
        Ok(_) => unsafe { &*fresh },
        // SAFETY: as above.
        Err(winner) => unsafe { &*winner },
    }
}

impl Generation {
    /// The generation of the calling process.
    #[inline]
    pub(crate) fn current() -> Self {
        let word = word();
        let known = word.load(Ordering::Acquire);
        if known != 0 {
            return Self(known);
        }
        let fresh = COUNTER.fetch_add(1, Ordering::AcqRel) + 1;
        match word.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Self(fresh),
            Err(winner) => Self(winner),
        }
    }

    /// The number itself, for static memory.
    pub(crate) const fn number(self) -> u64 {
        self.0
    }

    /// Whether the calling process is of this generation.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }
}

/// A value of which each process has its own: a forked child starts anew and leaks its parent's,
/// whose locks some thread may have held at the moment of the fork.
pub(crate) struct PerProcess<T: 'static>(AtomicPtr<(Generation, T)>);

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// This process's value, made by `make` when there is none yet. It lives for ever.
    pub(crate) fn get_or(&self, make: impl FnOnce() -> T) -> &'static T {
        let generation = Generation::current();
        let known = self.0.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: entries are leaked, so the reference stays good.
            let entry: &'static (Generation, T) = unsafe { &*known };
            if entry.0 == generation {
                return &entry.1;
            }
        }
        let fresh = Box::into_raw(Box::new((generation, make())));
        match self.0.compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just leaked.
            Ok(_) => unsafe { &(*fresh).1 },
            Err(winner) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: whoever won did so in this process: only its threads race here.
                unsafe { &(*winner).1 }
            }
        }
    }

    /// This process's value, if it has been made.
    pub(crate) fn get(&self) -> Option<&'static T> {
        let known = self.0.load(Ordering::Acquire);
        if known.is_null() {
            return None;
        }
        // SAFETY: entries are leaked.
        let entry: &'static (Generation, T) = unsafe { &*known };
        entry.0.is_current().then_some(&entry.1)
    }
}

/// The number of this process.
pub(crate) fn pid() -> u32 {
    std::process::id()
}

/// The name of the user that this process runs as.
pub(crate) fn user() -> String {
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0 as libc::c_char; 4096];
    let mut found = ptr::null_mut();
    // SAFETY: every pointer is valid for the sizes given; `found` is null unless `entry` was filled.
    unsafe {
        let id = libc::geteuid();
        let answer = libc::getpwuid_r(id, entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &mut found);
        if answer == 0 && !found.is_null() && !(*found).pw_name.is_null() {
            return std::ffi::CStr::from_ptr((*found).pw_name).to_string_lossy().into_owned();
        }
        id.to_string()
    }
}

/// The name of this host.
pub(crate) fn host() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is writable and its length is given, less one for a final NUL.
    let answer = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let end = buffer.iter().position(|b| *b == 0).unwrap_or(0);
    let text: String = String::from_utf8_lossy(&buffer[..end])
        .chars()
        .map(|c| if c.is_control() || c == ':' || c == '#' { '-' } else { c })
        .take(60)
        .collect();
    if answer != 0 || text.is_empty() { "localhost".into() } else { text }
}

/// The name of the running program, without its path.
pub(crate) fn program() -> Option<String> {
    let path = std::env::args_os().next()?;
    let name = std::path::Path::new(&path).file_name()?.to_str()?;
    (!name.is_empty()).then(|| name.to_string())
}

/// Fills `buffer` with random bytes.
pub(crate) fn random(buffer: &mut [u8]) {
    if getrandom::fill(buffer).is_err() {
        // Without a source of random numbers nothing that we promise about owners holds.
        panic!("the operating system gave no random bytes");
    }
}

/// A random number.
pub(crate) fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    random(&mut bytes);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_another_generation() {
        let here = Generation::current();
        assert!(here.is_current());
        // SAFETY: the child only compares and exits.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::_exit(if here.is_current() { 1 } else { 0 });
            }
            let mut status = 0;
            libc::waitpid(pid, &mut status, 0);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        }
        assert!(here.is_current());
    }
}
