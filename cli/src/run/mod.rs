//! `fencehold run`: a command under a lease, and no process of it left when the lease can end.
//!
//! The process that the user started forks a guardian, which takes the lock, starts the command and renews. Each of the
//! two watches the other, both are child subreapers, and whoever survives ends every descendant. The lease is held with
//! `crash = expire`: the death of its holder does not hand it on while the other process is still tidying up.

mod guardian;
mod plan;
mod tree;

use crate::args::{RunArgs, StoreArgs};
use crate::exit::{Failure, LOST, UNSUPPORTED, say};
use crate::sys::{self, Fork, Reaped, SignalMask};
use plan::Plan;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tree::Process;

/// How long a process may take to die of SIGKILL. One that hangs in the kernel longer is reported, not waited for.
const DEATH_LIMIT: Duration = Duration::from_secs(5);

/// The end of the lease in nanoseconds since boot, 0 while nothing runs. Written by the guardian, read by its parent.
type Deadline = &'static AtomicU64;

/// Runs the command and answers the exit code.
pub(crate) fn run(store: StoreArgs, args: RunArgs) -> Result<i32, Failure> {
    let plan = Plan::new(store, args)?;
    let (mask, signals) = SignalMask::block().map_err(|e| Failure::system("cannot block signals", &e))?;
    sys::become_subreaper().map_err(|e| Failure::system("cannot adopt orphaned processes", &e))?;
    let own = std::process::id().cast_signed();
    if !tree::can_be_seen(own) {
        return Err(Failure::new(
            UNSUPPORTED,
            "run needs /proc to find what the command starts; it is not mounted here",
        ));
    }
    let inherited = tree::inherited(own);
    let deadline = sys::shared_word().map_err(|e| Failure::system("cannot map memory", &e))?;
    match sys::fork().map_err(|e| Failure::system("cannot fork", &e))? {
        Fork::Child => std::process::exit(guardian::main(&plan, own, deadline, mask, signals)),
        Fork::Parent(guardian) => Ok(Watch { own, guardian, inherited, plan: &plan, deadline }.until_the_end(&signals)),
    }
}

/// The process that the user started, while the guardian lives.
struct Watch<'a> {
    own: i32,
    guardian: i32,
    inherited: Vec<Process>,
    plan: &'a Plan,
    deadline: Deadline,
}

impl Watch<'_> {
    /// Passes signals on and waits for the guardian. When it dies, or stands still until the lease is nearly over,
    /// everything below us is ended here. Answers the exit code.
    fn until_the_end(&self, signals: &OwnedFd) -> i32 {
        loop {
            while let Some(signal) = sys::next_signal(signals) {
                // A terminal that goes away tells the leader of the session only.
                let hangup = signal.number == libc::SIGHUP && sys::leads_its_session();
                if signal.number != libc::SIGCHLD && (signal.from_process || hangup) {
                    sys::signal_child(self.guardian, signal.number);
                }
            }
            while let Reaped::Child(ended) = sys::reap() {
                if ended.pid != self.guardian {
                    continue;
                }
                let Some(signal) = ended.signal else { return ended.code };
                return self.end_everything(&format!(
                    "the process that renewed the lease was killed by signal {signal}; its command was ended, and the \
                     lease ends by itself"
                ));
            }
            let end = Duration::from_nanos(self.deadline.load(Ordering::Acquire));
            // Later than the guardian's own last moment, so that it is the one who tells why; still before the end.
            let left = end.saturating_sub(sys::boot_time()).saturating_sub(self.plan.killing_time() / 2);
            if !end.is_zero() && left.is_zero() {
                sys::signal_child(self.guardian, libc::SIGKILL);
                return self.end_everything(
                    "the process that renews the lease stood still until the lease was over; its command was ended",
                );
            }
            let look_again = self.plan.heartbeat();
            sys::wait_readable(&[signals], if end.is_zero() { look_again } else { left.min(look_again) });
        }
    }

    fn end_everything(&self, why: &str) -> i32 {
        end_everything(self.own, &self.inherited);
        say(&format!("lock \"{}\": {why}", self.plan.name));
        LOST
    }
}

/// Ends every descendant of this process but `spared`. Answers whether none is left.
fn end_everything(own: i32, spared: &[Process]) -> bool {
    let all = tree::end_all(own, spared, DEATH_LIMIT);
    if !all {
        say("a process of the command hangs in the kernel and could not be ended; only the fence holds it off now");
    }
    all
}
