//! Several processes at once.

use super::*;

#[test]
fn four_processes_count_without_losing_one() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "count", "0").expect("written");
    let children: Vec<_> = (0..4)
        .map(|_| {
            Child::fork(|| {
                let store = open(folder.path());
                let mut highest = 0;
                (0..2_000).all(|_| {
                    let mut version = 0;
                    let done = store.transact(Intent::Keep, soon(), &mut |rows| {
                        let row = rows.get(Table::Locks, b"count")?.expect("the row");
                        let count: u64 = String::from_utf8_lossy(&row.value).parse().expect("a number");
                        let value = (count + 1).to_string();
                        let row = NewRow { value: value.as_bytes(), expires: None, client: ClientId::NONE };
                        version = rows.put(Table::Locks, b"count", row)?;
                        Ok(())
                    });
                    let rose = version > highest;
                    highest = version;
                    done.is_ok() && rose
                })
            })
        })
        .collect();
    assert!(children.into_iter().all(Child::went_well));
    assert_eq!(get(&store, "count").expect("read").expect("a row").0.value, b"8000");
}

#[test]
fn a_stopped_process_makes_the_others_give_up_and_is_named() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "k", "1").expect("written");
    let inside = folder.path().join("inside");
    let stopped = Child::fork(|| {
        let store = open(folder.path());
        let _ = store.transact(Intent::Keep, soon(), &mut |_| {
            std::fs::write(&inside, b"").expect("written");
            std::thread::sleep(Duration::from_secs(20));
            Ok(())
        });
        true
    });
    wait_for("the transaction", || inside.exists());
    stopped.signal(libc::SIGSTOP);
    let began = boot_now();
    let limit = began.after(Duration::from_millis(150));
    let error = store.transact(Intent::Read, limit, &mut |_| Ok(())).expect_err("busy");
    let took = boot_now().since(began);
    assert_eq!((error.kind().id(), error.reason()), ("unreachable", "store_busy"));
    assert!(error.detail().contains(&stopped.0.to_string()), "{error}");
    assert!(took >= Duration::from_millis(150) && took < Duration::from_secs(5), "{took:?}");
    // Threads that queue behind the one that waits give up at their own limits.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let limit = boot_now().after(Duration::from_millis(100));
                assert!(store.transact(Intent::Read, limit, &mut |_| Ok(())).is_err());
            });
        }
    });
    stopped.kill();
    put(&store, "k", "2").expect("free again");
}

#[test]
fn a_wait_that_ends_while_the_store_is_busy_ends_as_any_other() {
    let folder = folder();
    let store = open(folder.path());
    let url = format!("file:{}", folder.path().display());
    let client = crate::Client::open(&url).expect("a client");
    let ttl = Duration::from_secs(60);
    let _holder = client.acquire("n", ttl).expect("free");
    let waiter = client.lock("n", ttl).expect("a handle");
    let wait = Duration::from_millis(300);
    let answer = std::thread::scope(|scope| {
        let thread = scope.spawn(|| waiter.acquire_within(wait));
        wait_for("the waiter", || waiter.position() == 1);
        store
            .transact(Intent::Keep, soon(), &mut |_| {
                std::thread::sleep(wait + Duration::from_millis(200));
                Ok(())
            })
            .expect("done");
        thread.join().expect("no panic")
    });
    let crate::Acquire::Refused(refusal) = answer.expect("an answer") else { panic!("two hold it") };
    assert_eq!(refusal.reason, crate::RefusalReason::TimedOut);
    assert!(client.show("n").expect("shown").waiters.is_empty());
}
