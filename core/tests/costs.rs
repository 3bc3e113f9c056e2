//! What calls may not cost: allocations, threads, syncs of the disk.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use fencehold::{Client, LockOptions, Renewal};

/// Counts the allocations of the calling thread, and the bytes that it allocated and did not free.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
    static KEPT: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|count| count.set(count.get() + 1));
        let _ = KEPT.try_with(|bytes| bytes.set(bytes.get() + layout.size() as i64));
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = KEPT.try_with(|bytes| bytes.set(bytes.get() - layout.size() as i64));
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TTL: Duration = Duration::from_secs(600);

#[test]
fn a_keep_alive_that_is_not_due_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::open(&format!("file:{}", folder.path().display())).unwrap();
    for renewal in [Renewal::Background, Renewal::Checkpoint, Renewal::CheckpointStarted] {
        let lock = client.acquire("n", LockOptions::ttl(TTL).renewal(renewal)).unwrap();
        let before = ALLOCATED.get();
        for _ in 0..10_000 {
            assert!(lock.keep_alive());
        }
        assert_eq!(ALLOCATED.get(), before, "{renewal:?}");
        lock.release().unwrap();
    }
}

#[test]
fn a_background_handle_that_is_taken_again_and_again_keeps_nothing_behind() {
    let client = Client::open("memory:").unwrap();
    let lock = client.lock("n", TTL).unwrap();
    let pairs = |count| {
        for _ in 0..count {
            assert!(lock.acquire().unwrap().is_granted());
            assert!(lock.release().unwrap());
        }
    };
    pairs(100);
    let before = KEPT.get();
    pairs(20_000);
    let kept = KEPT.get() - before;
    assert!(kept < 100_000, "{kept} bytes");
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn ten_thousand_background_leases_cost_one_thread() {
    let client = Client::open("memory:").unwrap();
    let first = client.acquire("first", TTL).unwrap();
    let before = threads();
    let locks: Vec<_> = (0..10_000).map(|number| client.acquire(&format!("n{number}"), TTL).unwrap()).collect();
    // Other tests of this program may start or end theirs.
    assert!(threads() <= before + 8, "{} threads, {before} before", threads());
    assert!(locks.iter().all(fencehold::Lock::held) && first.held());
}

/// Counts what the C library is asked to sync, and tells it to the file that the environment names.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
static void tell(void) {
    const char *path = getenv("SYNCS");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd >= 0) { (void)!write(fd, "s", 1); close(fd); }
}
int fsync(int fd) { tell(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { tell(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
int msync(void *p, size_t n, int f) { tell(); return ((int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "msync"))(p, n, f); }
"#;

/// What the test below runs in a program of its own; without the variable it is nobody's child.
#[test]
fn many_pairs_in_a_child() {
    let Ok(folder) = std::env::var("FENCEHOLD_COSTS_FOLDER") else { return };
    let client = Client::open(&format!("file:{folder}")).unwrap();
    let lock = client.lock("n", LockOptions::ttl(TTL).renewal(Renewal::Checkpoint)).unwrap();
    let pair = || {
        assert!(lock.acquire().unwrap().is_granted());
        assert!(lock.release().unwrap());
    };
    pair();
    let syncs = std::env::var("SYNCS").unwrap();
    let count = || std::fs::read(&syncs).map_or(0, |told| told.len());
    let opened = count();
    assert!(opened > 0, "the shim counts what opening a new store syncs");
    for _ in 0..1_000 {
        pair();
    }
    std::io::stdout().write_all(format!("\nsyncs {}\n", count() - opened).as_bytes()).unwrap();
}

#[test]
#[cfg(target_env = "gnu")]
fn a_pair_on_files_syncs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (source, shim) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).arg("-ldl").status();
    assert!(built.unwrap().success());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "many_pairs_in_a_child", "--nocapture"])
        .env("LD_PRELOAD", &shim)
        .env("SYNCS", folder.path().join("syncs"))
        .env("FENCEHOLD_COSTS_FOLDER", folder.path().join("store"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let syncs = said.lines().find_map(|line| line.strip_prefix("syncs ")).unwrap_or_else(|| panic!("{said}"));
    // A block of tokens is far larger than this run.
    assert_eq!(syncs, "0", "{said}");
}
