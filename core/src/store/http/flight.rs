//! What bounds the request that this thread has in flight, and what became of it.
//!
//! The HTTP library calls our sockets without a word about the request they serve, but on the
//! thread that made it. So the deadline, whatever may end the request early, and how far it got
//! are kept for each thread.

use std::cell::RefCell;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, IntoRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::cancel::{self, Cancel, Registered};
use crate::clock::{Moment, boot_now};
use crate::process::PerProcess;

/// How late a wait may notice a cancel that cannot wake it.
pub(in crate::store) const SLICE: Duration = Duration::from_millis(20);

/// What ends a request before its answer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Stop {
    /// Its time is over.
    Deadline,
    /// Somebody cancelled it.
    Cancelled,
}

/// How far a request got.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Trace {
    /// A byte of the request may have left.
    pub(in crate::store) sent: bool,
    /// A byte of the answer has come.
    pub(in crate::store) received: bool,
    /// A connection was made for it.
    pub(in crate::store) fresh: bool,
    pub(in crate::store) stop: Option<Stop>,
    /// Why the server's certificate, or ours, was not accepted.
    pub(in crate::store) distrust: Option<String>,
}

struct Flight {
    until: Moment,
    /// When a connection from the pool that stays silent is given up.
    stale: Moment,
    ends: Ends,
    connecting: bool,
    trace: Trace,
}

#[derive(Clone, Default)]
struct Ends {
    cancels: Vec<Cancel>,
    alarm: Option<RawFd>,
    /// How long a wait may sleep before the cancels have to be asked again.
    slice: Option<Duration>,
}

thread_local! {
    static FLIGHT: RefCell<Option<Flight>> = const { RefCell::new(None) };
    static ENDS: RefCell<Ends> = RefCell::new(Ends::default());
}

fn with<T>(body: impl FnOnce(&mut Flight) -> T) -> Option<T> {
    FLIGHT.with_borrow_mut(|flight| flight.as_mut().map(body))
}

/// Runs `body`, whose requests and pauses on this thread end when one of `cancels` is triggered.
pub(in crate::store) fn cancellable<T>(cancels: &[&Cancel], body: impl FnOnce() -> T) -> T {
    let alarm = Alarm::take();
    let _registered: Vec<Registered<'_, cancel::Pipe>> = match alarm.0 {
        Some(alarm) => cancels.iter().map(|cancel| cancel.register_pipe(&alarm.write)).collect(),
        None => Vec::new(),
    };
    // Without a pipe the cancels are looked at from time to time.
    let own = if alarm.0.is_some() { Duration::MAX } else { SLICE };
    let slice = cancels.iter().map(|cancel| cancel.slice().min(own)).min();
    let ends = Ends {
        cancels: cancels.iter().map(|cancel| (*cancel).clone()).collect(),
        alarm: alarm.0.map(|alarm| alarm.read.as_raw_fd()),
        slice: slice.filter(|slice| *slice < Duration::from_secs(3600)),
    };
    struct Restore(Ends);
    impl Drop for Restore {
        fn drop(&mut self) {
            ENDS.set(std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(ENDS.replace(ends));
    body()
}

/// Whether something has cancelled what this thread does.
pub(in crate::store) fn is_cancelled() -> bool {
    // The hook of a cancel may run foreign code, so nothing is borrowed around it.
    let cancels = ENDS.with_borrow(|ends| ends.cancels.clone());
    cancels.iter().any(Cancel::should_end)
}

/// Runs `body` with no cancel in force: cleaning up is not itself cancelled.
pub(in crate::store) fn uncancellable<T>(body: impl FnOnce() -> T) -> T {
    cancellable(&[], body)
}

/// Makes one request, which has to be answered by `until`; a connection from the pool by `stale`.
pub(in crate::store) fn fly<T>(until: Moment, stale: Moment, body: impl FnOnce() -> T) -> (T, Trace) {
    let ends = ENDS.with_borrow(Ends::clone);
    let flight = Flight { until, stale, ends, connecting: false, trace: Trace::default() };
    FLIGHT.set(Some(flight));
    struct Landing;
    impl Drop for Landing {
        fn drop(&mut self) {
            FLIGHT.set(None);
        }
    }
    let landing = Landing;
    let answer = body();
    let trace = with(|flight| flight.trace.clone()).unwrap_or_default();
    drop(landing);
    (answer, trace)
}

/// A connection is being made: what is sent on it is not the request yet.
pub(in crate::store) fn connecting() {
    with(|flight| {
        flight.connecting = true;
        flight.trace.fresh = true;
    });
}

/// The connection is there.
pub(in crate::store) fn connected() {
    with(|flight| flight.connecting = false);
}

pub(in crate::store) fn sending() {
    with(|flight| flight.trace.sent |= !flight.connecting);
}

pub(in crate::store) fn received() {
    with(|flight| flight.trace.received |= !flight.connecting);
}

pub(in crate::store) fn distrusted(why: String) {
    with(|flight| flight.trace.distrust = Some(why));
}

fn stop(stop: Stop) -> io::Error {
    with(|flight| flight.trace.stop = Some(stop));
    match stop {
        Stop::Deadline => io::Error::new(io::ErrorKind::TimedOut, "no answer in time"),
        Stop::Cancelled => io::Error::new(io::ErrorKind::ConnectionAborted, "cancelled"),
    }
}

/// Answers an error once the request's time is over or it was cancelled; else the time left.
pub(in crate::store) fn check() -> io::Result<Duration> {
    let known = with(|flight| {
        let until = if flight.trace.fresh { flight.until } else { flight.until.min(flight.stale) };
        (until, flight.ends.cancels.iter().any(Cancel::is_triggered))
    });
    let Some((until, is_cancelled)) = known else {
        return Err(io::Error::other("a connection was used outside a request"));
    };
    if is_cancelled {
        return Err(stop(Stop::Cancelled));
    }
    let left = until.since(boot_now());
    if left.is_zero() { Err(stop(Stop::Deadline)) } else { Ok(left) }
}

/// Waits until one of `sockets` is ready, and at most `limit`; answers which are.
pub(in crate::store) fn ready(sockets: &[(RawFd, libc::c_short)], limit: Duration) -> io::Result<Vec<bool>> {
    let slice = with(|flight| flight.ends.slice).flatten();
    let alarm = with(|flight| flight.ends.alarm).flatten();
    let ends = boot_now().after(limit);
    loop {
        let left = check()?.min(ends.since(boot_now()));
        let ready = poll(sockets, alarm, slice.map_or(left, |slice| slice.min(left)))?;
        if ready.iter().any(|ready| *ready) || left.is_zero() || boot_now() >= ends {
            return Ok(ready);
        }
        // The hooks of cancels are asked when time has passed, not for each step of a request: they
        // may have to wait for an interpreter.
        if is_cancelled() {
            return Err(stop(Stop::Cancelled));
        }
    }
}

/// One sleep until a socket is ready, the alarm rings or the time is over.
fn poll(sockets: &[(RawFd, libc::c_short)], alarm: Option<RawFd>, limit: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<libc::pollfd> =
        sockets.iter().map(|(fd, events)| libc::pollfd { fd: *fd, events: *events, revents: 0 }).collect();
    polled.extend(alarm.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }));
    // Rounded up: a wait that ends a moment early would only poll again.
    let millis = limit.as_nanos().div_ceil(1_000_000).min(60_000) as libc::c_int;
    // SAFETY: the pointer and the count are the vector's.
    let count = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) };
    if count < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        return Ok(vec![false; sockets.len()]);
    }
    Ok(polled[..sockets.len()].iter().map(|polled| polled.revents != 0).collect())
}

/// Sleeps for `pause` unless it is cancelled; false when it was.
pub(in crate::store) fn sleep(pause: Duration) -> bool {
    let ends = ENDS.with_borrow(Ends::clone);
    let until = boot_now().after(pause);
    loop {
        if ends.cancels.iter().any(Cancel::should_end) {
            return false;
        }
        let left = until.since(boot_now());
        if left.is_zero() {
            return true;
        }
        let limit = ends.slice.map_or(left, |slice| slice.min(left));
        if poll(&[], ends.alarm, limit).is_err() {
            std::thread::park_timeout(limit.min(SLICE));
        }
    }
}

/// A pipe that a cancel writes to, so that a sleeping request wakes. Pipes are lent and never
/// closed, since a signal handler may hold on to one.
struct Pipe {
    read: UnixStream,
    write: cancel::Pipe,
}

struct Alarm(Option<&'static Pipe>);

/// Guards the pipes that nobody uses.
static FREE: PerProcess<Mutex<Vec<&'static Pipe>>> = PerProcess::new();

impl Alarm {
    fn take() -> Self {
        let free = FREE.get_or(Mutex::default);
        let known = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let pipe = known.or_else(|| {
            let (read, write) = UnixStream::pair().ok()?;
            read.set_nonblocking(true).ok()?;
            write.set_nonblocking(true).ok()?;
            Some(Box::leak(Box::new(Pipe { read, write: cancel::Pipe(write.into_raw_fd()) })))
        });
        if let Some(pipe) = pipe {
            // What an earlier wait was told is of no interest any more.
            let mut buffer = [0; 64];
            while matches!((&pipe.read).read(&mut buffer), Ok(count) if count > 0) {}
        }
        Self(pipe)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(pipe) = self.0 {
            FREE.get_or(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner).push(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_ends_a_pause_at_once() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            other.trigger();
        });
        let began = boot_now();
        assert!(!cancellable(&[&cancel], || sleep(Duration::from_secs(30))));
        assert!(boot_now().since(began) < Duration::from_secs(10));
        thread.join().unwrap();
        assert!(cancellable(&[&cancel], is_cancelled));
        assert!(!is_cancelled(), "the cancel is out of force again");
    }

    #[test]
    fn a_polling_cancel_is_asked_while_it_waits() {
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let count = asked.clone();
        let cancel = Cancel::polling(Duration::from_millis(1), move || {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= 3
        });
        assert!(!cancellable(&[&cancel], || sleep(Duration::from_secs(30))));
        assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 4);
    }

    #[test]
    fn nothing_is_read_outside_a_request() {
        assert!(check().is_err());
        let (left, trace) = fly(boot_now().after(Duration::from_secs(9)), Moment::NEVER, || check().unwrap());
        assert!(left > Duration::from_secs(1));
        assert!(!trace.sent && trace.stop.is_none());
        let (error, trace) = fly(boot_now(), Moment::NEVER, || check().unwrap_err());
        assert_eq!((error.kind(), trace.stop), (io::ErrorKind::TimedOut, Some(Stop::Deadline)));
    }
}
