//! Holders that are killed, also as process 1 of a container.

use super::*;

#[test]
fn fifty_killed_holders_are_replaced_at_once() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let mut last = 0;
    let mut times = Vec::new();
    for round in 0..50_u64 {
        let mut holder = Child::fork(|output| {
            let client = open(folder.path());
            let options = LockOptions::ttl(Duration::from_secs(10)).wait(LIMIT);
            let lock = client.lock("n", options).expect("a handle");
            output.say(take(&lock));
            stay()
        });
        let fence = holder.heard();
        assert!(fence > last, "round {round}");
        let lock = handle(&client, "n");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| take(&lock));
            until("the waiter", || lock.position() == 1);
            std::thread::sleep(Duration::from_micros(round * 997 % 60_000));
            let killed = Instant::now();
            holder.kill();
            last = waiter.join().expect("no panic");
            times.push(killed.elapsed());
            assert!(last > fence);
        });
        assert!(lock.release().expect("an answer"));
    }
    times.sort_unstable();
    // Not a measurement: that it is not the lifetime which ends the wait.
    assert!(times[25] < Duration::from_secs(1), "{times:?}");
    assert!(times[49] < Duration::from_secs(8), "{times:?}");
}

/// Runs `body` as process 1 of a pid namespace of its own; `None` where that is not allowed.
fn as_process_one(body: impl FnOnce(&mut Output) -> bool) -> Option<Child> {
    let mut child = Child::fork(|output| {
        // SAFETY: the next child of this process is the first of a new pid namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            output.say(0);
            return true;
        }
        output.say(1);
        // SAFETY: gets rid of its children with it, which a killed parent otherwise leaves behind.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: as above.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            return std::process::id() == 1 && body(output);
        }
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    });
    (child.heard() == 1).then_some(child)
}

#[test]
fn two_containers_with_the_same_name_and_process_id_exclude_each_other() {
    let folder = folder(0o700);
    let path = folder.path();
    let counter = path.join("counter");
    std::fs::write(&counter, "0").expect("written");
    // The host's name is the same in both, and so is the process id.
    let count = || {
        as_process_one(|_| {
            let client = open(path);
            let lock = handle(&client, "n");
            (0..200).all(|_| {
                take(&lock);
                let seen: u32 = std::fs::read_to_string(&counter).expect("read").parse().expect("a number");
                std::fs::write(&counter, (seen + 1).to_string()).expect("written");
                lock.release().expect("an answer")
            })
        })
    };
    let (Some(one), Some(two)) = (count(), count()) else {
        println!("skipped: 1 (no pid namespaces here)");
        return;
    };
    assert!(one.went_well() && two.went_well());
    assert_eq!(std::fs::read_to_string(&counter).expect("read"), "400");
}

#[test]
fn a_container_that_restarts_with_the_same_identity_is_a_new_owner() {
    let folder = folder(0o700);
    let path = folder.path();
    let client = open(path);
    let start = |crash: fencehold::Crash, ttl: Duration| {
        as_process_one(move |output| {
            let client = open(path);
            let lock = client.lock("n", LockOptions::ttl(ttl).crash(crash).wait(LIMIT)).expect("a handle");
            output.say(take(&lock));
            stay()
        })
    };
    for (crash, ttl) in [(fencehold::Crash::Takeover, LONG), (fencehold::Crash::Expire, Duration::from_secs(3))] {
        let Some(mut first) = start(crash, ttl) else {
            println!("skipped: 1 (no pid namespaces here)");
            return;
        };
        let fence = first.heard();
        let began = Instant::now();
        let owner = client.holders("n").expect("shown")[0].owner.clone();
        assert!(owner.as_deref().is_some_and(|owner| owner.contains(":1:")), "{owner:?}");
        let mut second = start(crash, ttl).expect("it went well before");
        until("the second in line", || client.show("n").expect("shown").waiters.len() == 1);
        first.kill();
        let next = second.heard();
        assert!(next > fence);
        let holders = client.holders("n").expect("shown");
        assert!(holders.len() == 1 && holders[0].owner != owner, "{holders:?}");
        match crash {
            fencehold::Crash::Takeover => assert!(began.elapsed() < LONG / 3),
            fencehold::Crash::Expire => assert!(began.elapsed() >= ttl / 2, "its lifetime was not waited for"),
        }
        second.kill();
        until("nobody holds", || is_free(&client, "n"));
    }
}
