//! The guardian: takes the lock, starts the command, renews, and ends the command's processes before the lease can end.

use super::plan::Plan;
use super::{Deadline, end_everything, tree};
use crate::exit::{Failure, HELD, INTERNAL, LOST, TIMED_OUT, say};
use crate::sys::{self, Reaped, SignalMask};
use fencehold::{Cancel, Client, Lock};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The guardian's whole life; answers its exit code.
pub(super) fn main(plan: &Plan, parent: i32, deadline: Deadline, mask: SignalMask, signals: OwnedFd) -> i32 {
    match Guardian::new(plan, parent, deadline, signals).and_then(|guardian| guardian.run(mask)) {
        Ok(code) => code,
        Err(failure) => {
            say(&failure.message);
            match plan.held_code {
                Some(code) if matches!(failure.code, HELD | TIMED_OUT) => code,
                _ => failure.code,
            }
        }
    }
}

struct Guardian<'a> {
    plan: &'a Plan,
    own: i32,
    parent: OwnedFd,
    signals: OwnedFd,
    /// Rung when the wait for the lock is over, and when the lease is lost.
    bell: Arc<OwnedFd>,
    deadline: Deadline,
    client: Client,
    lock: Arc<Lock>,
}

impl<'a> Guardian<'a> {
    fn new(plan: &'a Plan, parent: i32, deadline: Deadline, signals: OwnedFd) -> Result<Self, Failure> {
        let failed = |e| Failure::system("cannot watch the process that was started", &e);
        sys::become_subreaper().map_err(failed)?;
        SignalMask::block_terminal_stops().map_err(failed)?;
        let watched = sys::process_descriptor(parent).map_err(failed)?;
        if sys::parent_id() != parent {
            return Err(Failure::new(INTERNAL, "the process that was started ended at once; nothing was run"));
        }
        let (client, lock) = plan.lock()?;
        Ok(Self {
            plan,
            own: std::process::id().cast_signed(),
            parent: watched,
            signals,
            bell: Arc::new(sys::bell().map_err(failed)?),
            deadline,
            client,
            lock: Arc::new(lock),
        })
    }

    fn run(&self, mask: SignalMask) -> Result<i32, Failure> {
        // A free lock on this machine needs no thread that could be interrupted.
        if !self.lock.acquire_at_once()?.is_some_and(|answer| answer.is_granted())
            && let Some(signal) = self.acquire(mask)?
        {
            return Ok(128 + signal);
        }
        let bell = Arc::new(sys::bell().map_err(|e| Failure::system("cannot watch the lease", &e))?);
        let rung = Arc::clone(&bell);
        self.lock.on_lost(move |_| sys::ring(&rung));
        self.publish(self.lock.remaining());
        let code = match self.start(mask) {
            Ok(command) => self.stand_by(command, &bell)?,
            Err(failure) => {
                self.give_back();
                return Err(failure);
            }
        };
        Ok(if self.give_back() { code } else { LOST })
    }

    /// Takes the lock on a thread of its own, so that signals and the parent's death end the wait at once. Answers the
    /// signal that ended it.
    fn acquire(&self, mask: SignalMask) -> Result<Option<i32>, Failure> {
        let cancel = Cancel::new();
        let waiter = {
            let (lock, bell, cancel) = (Arc::clone(&self.lock), Arc::clone(&self.bell), cancel.clone());
            let wait = self.plan.wait;
            std::thread::Builder::new().name("fencehold-wait".into()).spawn(move || {
                let answer = lock.acquire_or_raise(wait, Some(&cancel));
                sys::ring(&bell);
                answer
            })
        }
        .map_err(|e| Failure::system("cannot start a thread", &e))?;
        let mut stopped_by = None;
        while !waiter.is_finished() && !sys::is_readable(&self.bell) {
            sys::wait_readable(&[&self.signals, &self.parent, &self.bell], self.plan.heartbeat());
            while let Some(signal) = sys::next_signal(&self.signals) {
                if signal.number != libc::SIGCHLD && !mask.ignores(signal.number) {
                    stopped_by.get_or_insert(signal.number);
                }
            }
            if self.parent_is_gone() {
                stopped_by.get_or_insert(libc::SIGKILL);
            }
            if stopped_by.is_some() {
                cancel.trigger();
            }
        }
        let answer = waiter.join().map_err(|_| Failure::new(INTERNAL, "the wait for the lock panicked"))?;
        if let Some(signal) = stopped_by {
            self.give_back();
            say(&format!("lock \"{}\": the wait was ended by signal {signal}; nothing was run", self.plan.name));
            return Ok(Some(signal));
        }
        answer?;
        Ok(None)
    }

    /// Starts the command from this thread, whose end would end it.
    fn start(&self, mask: SignalMask) -> Result<i32, Failure> {
        let program = &self.plan.command[0];
        let mut command = Command::new(program);
        let fence = self.lock.fence()?.get().to_string();
        command.args(&self.plan.command[1..]);
        command.env("FENCEHOLD_NAME", &self.plan.name).env("FENCEHOLD_OWNER", self.lock.owner());
        command.env("FENCEHOLD_FENCE", &fence).env("FENCEHOLD_TOKEN", &fence);
        command.env("FENCEHOLD_SLOT", self.lock.slot()?.to_string()).env("FENCEHOLD_URL", self.client.store());
        sys::prepare(&mut command, mask);
        match command.spawn() {
            Ok(child) => Ok(child.id().cast_signed()),
            Err(error) => {
                let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
                Err(Failure::new(code, format!("cannot run {}: {error}", program.to_string_lossy())))
            }
        }
    }

    /// Waits until the command and all that it left behind have ended, or ends them. Answers the exit code.
    fn stand_by(&self, command: i32, lost: &OwnedFd) -> Result<i32, Failure> {
        let mut status = None;
        let mut asked_to_stop = false;
        let mut tidying_since = None;
        loop {
            while let Some(signal) = sys::next_signal(&self.signals) {
                self.pass_on(signal, command, status.is_some());
            }
            let none_left = loop {
                match sys::reap() {
                    Reaped::Child(ended) if ended.pid == command => status = Some(ended.code),
                    Reaped::Child(_) => {}
                    Reaped::AllAlive => break false,
                    Reaped::NoChildren => break true,
                }
            };
            let left = if self.lock.held() { self.lock.remaining() } else { Duration::ZERO };
            if left <= self.plan.killing_time() {
                return Err(self.too_late());
            }
            self.publish(left);
            if self.parent_is_gone() {
                self.end_everything();
                self.give_back();
                return Err(Failure::new(LOST, "the process that was started was killed; its command was ended"));
            }
            let mut wake = (left - self.plan.killing_time()).min(self.plan.heartbeat());
            if let Some(code) = status {
                if none_left {
                    return Ok(if asked_to_stop { LOST } else { code });
                }
                let since = *tidying_since.get_or_insert_with(|| {
                    tree::signal_all(self.own, libc::SIGTERM);
                    sys::boot_time()
                });
                if sys::boot_time().saturating_sub(since) >= self.plan.grace {
                    self.end_everything();
                }
                wake = wake.min(Duration::from_millis(10));
            } else if !asked_to_stop {
                if left <= self.plan.grace {
                    asked_to_stop = true;
                    tree::signal_all(self.own, libc::SIGTERM);
                    say(&format!(
                        "lock \"{}\": the lease could not be renewed{}; the command was asked to stop and is killed in {} ms",
                        self.plan.name,
                        self.cause(),
                        (left - self.plan.killing_time()).as_millis()
                    ));
                } else {
                    wake = wake.min(left - self.plan.grace);
                }
            }
            sys::wait_readable(&[&self.signals, &self.parent, lost], wake);
        }
    }

    /// What a process sent goes to the command; what the terminal sent has reached it already.
    fn pass_on(&self, signal: sys::Signal, command: i32, command_has_ended: bool) {
        if signal.number == libc::SIGCHLD || !signal.from_process {
            return;
        }
        if command_has_ended {
            tree::signal_all(self.own, signal.number);
        } else {
            sys::signal_child(command, signal.number);
        }
    }

    /// The lease is over, or so nearly that only the kill is left.
    fn too_late(&self) -> Failure {
        self.end_everything();
        let message = match self.lock.last_error() {
            Some(error) => format!("{error}. The command was ended"),
            None => format!("lock \"{}\": the lease is over; the command was ended", self.plan.name),
        };
        self.give_back();
        Failure::new(LOST, message)
    }

    fn cause(&self) -> String {
        self.lock.last_error().map_or_else(String::new, |error| format!(" ({})", error.detail()))
    }

    fn parent_is_gone(&self) -> bool {
        sys::is_readable(&self.parent)
    }

    fn publish(&self, left: Duration) {
        let end = (sys::boot_time() + left).as_nanos();
        self.deadline.store(u64::try_from(end).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Ends what the command left. Should something hang in the kernel, we end without giving the lease back.
    fn end_everything(&self) {
        if !end_everything(self.own, &[]) {
            sys::exit_now(LOST);
        }
    }

    /// Gives the lease back; nothing of the command may run any more. False: it had been lost before.
    fn give_back(&self) -> bool {
        self.deadline.store(0, Ordering::Release);
        match self.lock.release() {
            Ok(true) => true,
            Ok(false) => self.lock.lost_reason().is_none(),
            Err(error) => {
                say(&error.to_string());
                true
            }
        }
    }
}
