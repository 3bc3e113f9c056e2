//! Processes that fork while they use the store, at any moment and from any thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fencehold::{Kind, LostReason};

use super::*;

fn is_well(folder: &Path) -> bool {
    let checks = fencehold::check_folder(Some(folder)).expect("checked");
    checks.iter().for_each(|check| assert!(check.ok, "{check:?}"));
    !checks.is_empty()
}

#[test]
fn a_parent_and_eight_children_use_the_store_at_once() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let first = handle(&client, "the parent's");
    let fence = take(&first);
    let cycles = |client: &Client, own: &str| {
        let (own, shared) = (handle(client, own), handle(client, "shared"));
        (0..250).all(|_| {
            take(&own);
            take(&shared);
            shared.release().expect("an answer") && own.release().expect("an answer")
        })
    };
    let children: Vec<Child> = (0..8)
        .map(|at| {
            // What the child inherits works as well, on a connection of its own.
            let client = client.clone();
            Child::fork(move |_| !is_free(&client, "the parent's") && cycles(&client, &format!("child-{at}")))
        })
        .collect();
    assert!(cycles(&client, "parent"));
    assert!(children.into_iter().all(Child::went_well));
    assert!(first.held() && first.keep_alive());
    assert_eq!(first.fence().expect("a fence").get(), fence);
    assert!(first.release().expect("an answer"));
    assert!(is_well(folder.path()));
}

/// What a child finds of the handles that it inherited.
fn inherits_nothing(held: &Lock, idle: &Lock) -> bool {
    let forked = |error: fencehold::Error| error.kind() == Kind::Forked;
    let lost = !held.held() && !held.keep_alive() && held.lost_reason() == Some(LostReason::Forked);
    let kept = held.release().is_ok_and(|released| !released) && idle.release().is_ok_and(|released| !released);
    lost && kept && held.acquire_within(Wait::No).is_err_and(forked) && idle.acquire_within(LIMIT).is_err_and(forked)
}

#[test]
fn a_fork_at_any_moment_leaves_a_child_that_works() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let (held, idle) = (handle(&client, "held"), handle(&client, "idle"));
    take(&held);
    let (done, cycles) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        // Threads that are in the middle of something at the moment of the fork: in a transaction, in line, renewing.
        for at in 0..3 {
            let (client, done, cycles) = (&client, &done, &cycles);
            scope.spawn(move || {
                let (own, shared) = (handle(client, &format!("thread-{at}")), handle(client, "shared"));
                let brief = LockOptions::ttl(Duration::from_millis(600)).wait(LIMIT);
                let brief = client.lock(&format!("brief-{at}"), brief).expect("a handle");
                while !done.load(Ordering::Relaxed) {
                    take(&own);
                    take(&shared);
                    let _ = brief.acquire();
                    let _ = client.list("", 10, "");
                    assert!(shared.release().expect("an answer") && own.release().expect("an answer"));
                    let _ = brief.release();
                    cycles.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..40_u64 {
            std::thread::sleep(Duration::from_micros(round * 131 % 1_000));
            let child = Child::fork(|_| {
                let began = Instant::now();
                let inherited = inherits_nothing(&held, &idle);
                // The inherited client opens anew, and so does a new one.
                let works = [client.clone(), open(folder.path())].iter().all(|client| {
                    let own = handle(client, &format!("child-{round}"));
                    let granted = take(&own) > 0 && take(&handle(client, "shared")) > 0;
                    granted && !is_free(client, "held") && own.release().expect("an answer")
                });
                inherited && works && began.elapsed() < LIMIT
            });
            assert!(child.went_well(), "round {round}");
            assert!(held.held() && held.keep_alive(), "round {round}: {:?}", held.last_error());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(cycles.into_inner() > 0);
    assert!(held.release().expect("an answer"));
    assert!(is_well(folder.path()));
}

#[test]
fn children_that_end_in_any_way_give_nothing_back_that_is_the_parents() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let lock = handle(&client, "n");
    take(&lock);
    let drop_all = |lock: Lock, client: Client| {
        drop(lock);
        client.close().is_ok()
    };
    for way in 0..4 {
        // SAFETY: as in `Child::fork`; ends in another way here.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            match way {
                // SAFETY: ends the child at once, or as main does when it returns.
                0 => unsafe { libc::_exit(0) },
                // SAFETY: as above.
                1 => unsafe { libc::exit(0) },
                // SAFETY: as above.
                2 => unsafe { libc::abort() },
                _ => {
                    let closed = drop_all(lock, client);
                    // SAFETY: as above.
                    unsafe { libc::_exit(i32::from(!closed)) }
                }
            }
        }
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        let as_planned = if way == 2 {
            libc::WIFSIGNALED(status)
        } else {
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        };
        assert!(as_planned, "way {way}: status {status}");
        assert!(lock.held() && lock.keep_alive());
        assert!(Child::fork(|_| !is_free(&open(folder.path()), "n")).went_well(), "way {way}");
    }
    assert!(lock.release().expect("an answer"));
}

#[test]
fn the_death_of_a_parent_frees_its_locks_although_a_child_lives() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let mut parent = Child::fork(|output| {
        let client = open(folder.path());
        let lock = handle(&client, "n");
        let fence = take(&lock);
        // SAFETY: the child only sleeps; it ends by itself.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            std::thread::sleep(Duration::from_secs(20));
            return true;
        }
        output.say(fence);
        output.say(pid as u64);
        stay()
    });
    let (fence, orphan) = (parent.heard(), parent.heard() as libc::pid_t);
    assert!(!is_free(&client, "n"));
    let began = Instant::now();
    parent.kill();
    let lock = handle(&client, "n");
    assert!(take(&lock) > fence);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    // SAFETY: a process of this test, which lives.
    assert_eq!(unsafe { libc::kill(orphan, libc::SIGKILL) }, 0, "the child lived all the time");
}
