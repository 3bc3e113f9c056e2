//! The processes that descend from one of ours, and how they are ended.
//!
//! Both our processes are child subreapers: whatever a descendant does (setsid, a double fork), it stays below us in
//! the process tree, because an orphan is given to the nearest subreaper above it.

use crate::sys;
use std::collections::HashMap;
use std::time::Duration;

/// One process, told apart from a later one with the same number by when it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    started: u64,
}

/// What /proc/PID/stat says that concerns us.
struct Stat {
    state: u8,
    parent: i32,
    started: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name is in brackets and may contain anything, brackets too: the fields begin after the last one.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The living descendants of `root`, without `root` and without those that only wait to be reaped.
pub(crate) fn descendants(root: i32) -> Vec<Process> {
    descendants_except(root, &[])
}

/// The same, leaving out `spared` and what descends from them.
fn descendants_except(root: i32, spared: &[Process]) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<(Process, u8)>> = HashMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(stat) = stat(pid) {
            children.entry(stat.parent).or_default().push((Process { pid, started: stat.started }, stat.state));
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for (process, state) in children.remove(&pid).unwrap_or_default() {
            if spared.contains(&process) {
                continue;
            }
            open.push(process.pid);
            if !matches!(state, b'Z' | b'X' | b'x') {
                found.push(process);
            }
        }
    }
    found
}

/// Sends `signal` to that process, never to a later one with its number.
pub(crate) fn signal(process: Process, number: i32) {
    let Ok(descriptor) = sys::process_descriptor(process.pid) else { return };
    if stat(process.pid).is_some_and(|now| now.started == process.started) {
        sys::signal_descriptor(&descriptor, number);
    }
}

/// Sends `number` to every descendant of `root`; answers how many there were.
pub(crate) fn signal_all(root: i32, number: i32) -> usize {
    signal_each(&descendants(root), number)
}

fn signal_each(processes: &[Process], number: i32) -> usize {
    for &process in processes {
        signal(process, number);
    }
    processes.len()
}

/// The processes that this one had before it started any: a shell that did `worker & exec fencehold run …` leaves them.
pub(crate) fn inherited(own: i32) -> Vec<Process> {
    match sys::reap() {
        sys::Reaped::NoChildren => Vec::new(),
        _ => descendants(own),
    }
}

/// Whether descendants can be found at all: /proc is there and shows this process.
pub(crate) fn can_be_seen(own: i32) -> bool {
    stat(own).is_some()
}

/// Ends every descendant of this process but `spared` until none is left. False: some hang in the kernel after `limit`.
///
/// With nothing to spare, that none is left is the kernel's word (no child, and orphans are given to us), not that of a
/// list read from /proc, in which a process that forks and ends while it is read can be missing.
pub(crate) fn end_all(own: i32, spared: &[Process], limit: Duration) -> bool {
    let until = sys::boot_time() + limit;
    let mut seen_none = 0;
    loop {
        seen_none = if signal_each(&descendants_except(own, spared), libc::SIGKILL) == 0 { seen_none + 1 } else { 0 };
        loop {
            match sys::reap() {
                sys::Reaped::Child(_) => {}
                sys::Reaped::AllAlive => break,
                sys::Reaped::NoChildren => return true,
            }
        }
        if !spared.is_empty() && seen_none > 2 {
            return true;
        }
        if sys::boot_time() >= until {
            return false;
        }
        sys::wait_readable(&[], Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_past_a_name_with_brackets() {
        let line = b"12 (a) b) (c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 998877 1 1";
        let stat = parse_stat(line).expect("fields");
        assert_eq!((stat.state, stat.parent, stat.started), (b'S', 7, 998_877));
    }

    #[test]
    fn stat_that_is_cut_short_is_no_process() {
        assert!(parse_stat(b"12 (a) S 7").is_none());
        assert!(parse_stat(b"").is_none());
    }

    #[test]
    fn a_grandchild_is_a_descendant_until_it_ends() {
        let mut shell = std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().expect("a shell");
        let root = shell.id().cast_signed();
        let until = sys::boot_time() + Duration::from_secs(10);
        while descendants(root).is_empty() && sys::boot_time() < until {
            std::thread::yield_now();
        }
        assert_eq!(signal_all(root, libc::SIGKILL), 1);
        shell.wait().expect("the shell ends with its child");
    }
}
