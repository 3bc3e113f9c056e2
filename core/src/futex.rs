//! Sleeping on a word until somebody wakes it.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` is `expected`, at most `limit`. May return early for no reason.
///
/// `shared` words can be woken by other processes that map the same page.
pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Duration, shared: bool) {
    #[cfg(target_os = "linux")]
    {
        let time = libc::timespec {
            tv_sec: limit.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: limit.subsec_nanos() as libc::c_long,
        };
        let op = libc::FUTEX_WAIT | if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG };
        // SAFETY: the word outlives the call and the timeout is a valid timespec.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, expected, &time) };
    }
    #[cfg(not(target_os = "linux"))]
    {
        // No futex that crosses processes is documented here: look often.
        let _ = shared;
        if word.load(std::sync::atomic::Ordering::Acquire) == expected {
            std::thread::sleep(limit.min(Duration::from_millis(2)));
        }
    }
}

/// Wakes everybody who sleeps on `word`. Async-signal-safe.
pub(crate) fn wake_all(word: &AtomicU32, shared: bool) {
    #[cfg(target_os = "linux")]
    {
        let op = libc::FUTEX_WAKE | if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG };
        // SAFETY: the word is mapped.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, i32::MAX) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (word, shared);
}
