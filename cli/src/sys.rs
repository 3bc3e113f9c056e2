//! The system calls of `run` that the standard library does not have, each behind a safe function.

use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The signals that are passed on to the command.
pub(crate) const PASSED_ON: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// Turns the convention of system calls into a `Result`.
fn answer(value: i32) -> Result<i32> {
    if value < 0 { Err(Error::last_os_error()) } else { Ok(value) }
}

/// What `fork` answers.
pub(crate) enum Fork {
    Child,
    Parent(i32),
}

/// Forks this process, which must have one thread only.
pub(crate) fn fork() -> Result<Fork> {
    // SAFETY: called before any thread is made, so the child may do everything.
    match answer(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Ends this process at once, without any cleaning up that belongs to the other side of a fork.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: no preconditions.
    unsafe { libc::_exit(code) }
}

/// The process that adopts orphaned descendants from now on is this one.
pub(crate) fn become_subreaper() -> Result<()> {
    // SAFETY: plain integers in.
    answer(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Asks for `signal` when the thread that started this process ends. Async-signal-safe.
pub(crate) fn signal_me_on_parent_death(signal: i32) -> Result<()> {
    // SAFETY: plain integers in.
    answer(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) }).map(drop)
}

/// Whether this process leads its session: then a terminal that goes away tells this process and nobody else.
pub(crate) fn leads_its_session() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// The parent's process id. Async-signal-safe.
pub(crate) fn parent_id() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::getppid() }
}

/// How signals were treated when we were started: what was blocked, to be put back in the command, and what was ignored.
#[derive(Clone, Copy)]
pub(crate) struct SignalMask {
    blocked: libc::sigset_t,
    ignored: libc::sigset_t,
}

impl SignalMask {
    /// Blocks what is passed on and SIGCHLD, in this thread and those that it starts. Answers the mask before.
    pub(crate) fn block() -> Result<(Self, OwnedFd)> {
        let mut set = MaybeUninit::uninit();
        let mut old = MaybeUninit::uninit();
        let mut ignored = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the sets, sigaction and sigprocmask the old ones; signalfd answers a new
        // descriptor.
        unsafe {
            libc::sigemptyset(ignored.as_mut_ptr());
            for signal in PASSED_ON {
                let mut action = MaybeUninit::<libc::sigaction>::uninit();
                answer(libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()))?;
                if action.assume_init_ref().sa_sigaction == libc::SIG_IGN {
                    libc::sigaddset(ignored.as_mut_ptr(), signal);
                }
            }
            // Whoever started us may ignore it, and then the kernel would throw the command's status away.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::sigemptyset(set.as_mut_ptr());
            for signal in PASSED_ON.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            answer(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), old.as_mut_ptr()))?;
            let fd = answer(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
            let mask = Self { blocked: old.assume_init(), ignored: ignored.assume_init() };
            Ok((mask, OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Whether whoever started us ignores this signal, as nohup does and a shell for what it puts in the background.
    pub(crate) fn ignores(&self, signal: i32) -> bool {
        // SAFETY: the set was filled when it was made.
        unsafe { libc::sigismember(&raw const self.ignored, signal) == 1 }
    }

    /// Blocks the stops that a terminal sends (Ctrl-Z) as well: the guardian goes on renewing while the command stands.
    pub(crate) fn block_terminal_stops() -> Result<()> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            answer(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut())).map(drop)
        }
    }

    /// Makes this the mask of the calling thread. Async-signal-safe.
    pub(crate) fn restore(&self) -> Result<()> {
        // SAFETY: the set was filled by sigprocmask.
        answer(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.blocked, std::ptr::null_mut()) }).map(drop)
    }
}

/// One signal that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// Sent by a process. What the kernel sends (Ctrl-C at a terminal) reaches the command by itself.
    pub(crate) from_process: bool,
}

/// Takes the next signal that is waiting, if any.
pub(crate) fn next_signal(fd: &OwnedFd) -> Option<Signal> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer is as long as the kernel is told; it is read only when it was filled.
    unsafe {
        let got = libc::read(fd.as_raw_fd(), info.as_mut_ptr().cast(), size);
        if usize::try_from(got) != Ok(size) {
            return None;
        }
        let info = info.assume_init();
        Some(Signal { number: info.ssi_signo.cast_signed(), from_process: info.ssi_code <= 0 })
    }
}

/// Waits until one of the descriptors can be read, `timeout` at the longest.
pub(crate) fn wait_readable(descriptors: &[&OwnedFd], timeout: Duration) {
    let mut polls: Vec<libc::pollfd> =
        descriptors.iter().map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
    // Rounded up, so that a wait for the last fraction of a millisecond does not spin.
    let millis = i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    // SAFETY: pointer and length belong to one vector. Whatever the answer, the caller looks at everything again.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, millis) };
}

/// A descriptor that becomes readable when the process ends.
pub(crate) fn process_descriptor(pid: i32) -> Result<OwnedFd> {
    // SAFETY: plain integers in, a new close-on-exec descriptor out.
    unsafe {
        let fd = answer(i32::try_from(libc::syscall(libc::SYS_pidfd_open, pid, 0)).unwrap_or(-1))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Sends a signal to exactly the process that the descriptor was opened for.
pub(crate) fn signal_descriptor(process: &OwnedFd, signal: i32) {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null siginfo asks for the one that kill() would send. A process that is gone is no error here.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, no_info, 0) };
}

/// Sends a signal to a child that was not reaped yet.
pub(crate) fn signal_child(pid: i32, signal: i32) {
    // SAFETY: plain integers in. A process that is gone is no error here.
    unsafe { libc::kill(pid, signal) };
}

/// A descriptor of one counter that becomes readable when [`ring`] is called.
pub(crate) fn bell() -> Result<OwnedFd> {
    // SAFETY: plain integers in, a new descriptor out.
    unsafe { Ok(OwnedFd::from_raw_fd(answer(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?)) }
}

/// Makes a bell readable, for good: nobody reads it.
pub(crate) fn ring(bell: &OwnedFd) {
    let one = 1u64;
    // SAFETY: eight bytes, as an eventfd wants them. It can only fail when it is readable already.
    unsafe { libc::write(bell.as_raw_fd(), (&raw const one).cast(), 8) };
}

/// How a child ended, as a shell tells it: its exit code, or 128 and the signal's number.
pub(crate) struct Ended {
    pub(crate) pid: i32,
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
}

/// What there is to reap.
pub(crate) enum Reaped {
    Child(Ended),
    /// There are children, and none of them has ended.
    AllAlive,
    /// There is no child at all. For a subreaper: nothing descends from it.
    NoChildren,
}

/// Reaps one child that has ended.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: a valid place for the status.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match pid {
        0 => return Reaped::AllAlive,
        1.. => {}
        _ => return Reaped::NoChildren,
    }
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    Reaped::Child(Ended { pid, code: signal.map_or_else(|| libc::WEXITSTATUS(status), |n| 128 + n), signal })
}

/// Time since boot, suspend included: the clock that leases are counted with.
pub(crate) fn boot_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: a valid place for the time; this clock exists on every Linux that we run on.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_BOOTTIME, time.as_mut_ptr());
        time.assume_init()
    };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A word that this process and its later children share.
pub(crate) fn shared_word() -> Result<&'static AtomicU64> {
    // SAFETY: a fresh anonymous page, aligned and zeroed, that is never unmapped.
    unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            size_of::<AtomicU64>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(&*page.cast::<AtomicU64>()) }
    }
}

/// Makes the command start with the signal mask that we were started with, and end when our process does.
pub(crate) fn prepare(command: &mut std::process::Command, mask: SignalMask) {
    use std::os::unix::process::CommandExt;
    let own = std::process::id().cast_signed();
    // SAFETY: the closure makes async-signal-safe calls only, and allocates nothing unless it fails.
    unsafe {
        command.pre_exec(move || {
            signal_me_on_parent_death(libc::SIGKILL)?;
            // The parent may have ended before the line above.
            if parent_id() != own {
                exit_now(1);
            }
            mask.restore()
        });
    }
}

/// Whether a descriptor can be read now; of a process's descriptor: whether the process has ended.
pub(crate) fn is_readable(fd: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
}
