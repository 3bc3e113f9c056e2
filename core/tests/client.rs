//! What a handle does, on a store in memory with a clock that only the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fencehold::{
    Acquire, Cancel, Client, Crash, Kind, Lock, LockOptions, LostReason, RefusalReason, ReleaseId, Renewal, Run, Wait,
};

const TTL: Duration = Duration::from_secs(30);

fn manual() -> Client {
    Client::open("memory:?clock=manual").unwrap()
}

fn checkpoint(ttl: Duration) -> LockOptions {
    LockOptions::ttl(ttl).renewal(Renewal::Checkpoint)
}

fn take(lock: &Lock) {
    assert_eq!(lock.acquire().unwrap(), Acquire::Granted);
}

#[test]
fn one_holds_and_the_other_is_told_who() {
    let client = manual();
    let (a, b) = (client.lock("n", TTL).unwrap(), client.lock("n", TTL).unwrap());
    take(&a);
    assert!(a.held() && a.keep_alive());
    let Acquire::Refused(refusal) = b.acquire().unwrap() else { panic!("two hold it") };
    assert_eq!(refusal.reason, RefusalReason::Held);
    assert_eq!(refusal.holders[0].owner.as_deref(), Some(a.owner()));
    assert_eq!(b.refusal(), Some(refusal));
    assert_eq!(b.fence().unwrap_err().kind(), Kind::NotHeld);
    assert!(a.release().unwrap());
    assert!(!a.held() && !a.keep_alive() && !a.release().unwrap());
    take(&b);
    assert!(b.fence().unwrap().get() > 0);
    assert_eq!(b.refusal(), None);
}

#[test]
fn a_checkpoint_renews_once_a_third_and_the_fence_stays() {
    let client = manual();
    let lock = client.lock("n", checkpoint(TTL)).unwrap();
    take(&lock);
    let fence = lock.fence().unwrap();
    let mut last = lock.token().unwrap();
    assert_eq!(last, fence);
    for _ in 0..5 {
        client.advance(Duration::from_millis(9_900)).unwrap();
        assert!(lock.keep_alive());
        assert_eq!(lock.token().unwrap(), last);
        client.advance(Duration::from_millis(100)).unwrap();
        assert!(lock.keep_alive() && lock.keep_alive());
        assert!(lock.token().unwrap() > last);
        last = lock.token().unwrap();
        assert_eq!(lock.fence().unwrap(), fence);
    }
    lock.release().unwrap();
}

#[test]
fn a_background_handle_is_renewed_and_a_checkpoint_handle_expires() {
    let client = manual();
    let kept = client.lock("kept", TTL).unwrap();
    let slow = client.lock("slow", checkpoint(TTL)).unwrap();
    take(&kept);
    take(&slow);
    let fence = slow.fence().unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    slow.on_lost(move |reason| {
        assert_eq!(reason, LostReason::Expired);
        counted.fetch_add(1, Ordering::SeqCst);
    });
    client.advance(Duration::from_secs(300)).unwrap();
    assert!(kept.held());
    assert!(!slow.keep_alive() && !slow.keep_alive() && !slow.held());
    assert_eq!(slow.lost_reason(), Some(LostReason::Expired));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(slow.fence().unwrap(), fence, "the fence has to refuse late writes");
    assert_eq!(slow.last_error().unwrap().kind(), Kind::Lost);
    assert!(!slow.release().unwrap());
    // It stays for the next hold.
    take(&slow);
    assert!(slow.fence().unwrap() > fence);
    slow.lose(LostReason::Guard).unwrap();
    client.advance(TTL * 2).unwrap();
    assert_eq!(slow.lost_reason(), Some(LostReason::Guard));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "a panicking handler is called once");
}

#[test]
fn a_holder_released_by_hand_finds_out_at_its_renewal() {
    let client = manual();
    let lock = client.lock("n", checkpoint(TTL)).unwrap();
    take(&lock);
    let token = lock.token().unwrap().get();
    assert!(!client.force_release("n", 0, &ReleaseId::Token(token + 1)).unwrap());
    assert!(client.force_release("n", 0, &ReleaseId::Token(token)).unwrap());
    assert!(lock.keep_alive());
    client.advance(TTL / 3).unwrap();
    assert!(!lock.keep_alive());
    assert_eq!(lock.lost_reason(), Some(LostReason::Renew));
}

#[test]
fn leaving_a_scope_late_says_by_how_much() {
    let client = manual();
    let lock = client.lock("n", checkpoint(TTL)).unwrap();
    let error = lock.run(Wait::No, |_| client.advance(TTL + Duration::from_secs(1)).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::Lost, "expired"));
    assert!(error.late_by().unwrap() >= Duration::from_secs(1));
    let other = client.acquire("n", TTL).unwrap();
    assert!(matches!(lock.run(Wait::No, |_| panic!("called")).unwrap(), Run::Refused::<()>(_)));
    other.release().unwrap();
    assert_eq!(lock.run(Wait::No, |lock| lock.held()).unwrap(), Run::Ran(true));
    assert!(!lock.held());
}

#[test]
fn scope_forms_raise_held_and_timed_out() {
    let client = Client::open("memory:").unwrap();
    let holder = client.acquire("n", TTL).unwrap();
    let held = client.acquire("n", TTL).unwrap_err();
    assert_eq!(held.kind(), Kind::Held);
    assert!(held.to_string().contains(holder.owner()), "{held}");
    let late = client.acquire("n", LockOptions::ttl(TTL).wait(Duration::from_millis(30))).unwrap_err();
    assert_eq!(late.kind(), Kind::TimedOut);
    assert!(late.to_string().contains("our place was given up"), "{late}");
    assert_eq!(client.show("n").unwrap().waiters.len(), 0);
}

#[test]
fn a_handle_that_holds_refuses_itself_unless_reentrant() {
    let client = manual();
    let lock = client.lock("n", TTL).unwrap();
    take(&lock);
    let Acquire::Refused(refusal) = lock.acquire().unwrap() else { panic!("counted") };
    assert_eq!(refusal.reason, RefusalReason::HeldHere);
    let counting = client.lock("m", LockOptions::ttl(TTL).reentrant(true)).unwrap();
    take(&counting);
    take(&counting);
    assert!(counting.release().unwrap() && counting.held());
    assert!(counting.release().unwrap() && !counting.held());
    assert!(!counting.release().unwrap());
}

#[test]
fn an_owner_in_use_is_refused_unless_its_hold_is_taken_up() {
    let client = manual();
    let first = client.acquire("n", checkpoint(TTL).owner("job-1")).unwrap();
    let stranger = client.lock("n", checkpoint(TTL).owner("job-1")).unwrap();
    let Acquire::Refused(refusal) = stranger.acquire().unwrap() else { panic!("one owner, two holders") };
    assert_eq!(refusal.reason, RefusalReason::OwnerInUse);
    let heir = client.lock("n", checkpoint(TTL).owner("job-1").resume(true)).unwrap();
    take(&heir);
    assert!(heir.fence().unwrap() > first.fence().unwrap());
    assert!(heir.release().unwrap());
    client.advance(TTL / 3).unwrap();
    assert!(!first.keep_alive());
}

#[test]
fn waiters_are_served_in_the_order_of_arrival() {
    let client = Client::open("memory:").unwrap();
    let holder = client.acquire("n", TTL).unwrap();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let waiter = client.lock("n", TTL).unwrap();
            let order = order.clone();
            let thread = std::thread::spawn(move || {
                assert!(waiter.acquire_within(Wait::Forever).unwrap().is_granted());
                order.lock().unwrap().push(number);
                waiter.release().unwrap();
            });
            while client.show("n").unwrap().waiters.len() <= number {
                std::thread::yield_now();
            }
            thread
        })
        .collect();
    assert!(!client.lock("n", TTL).unwrap().acquire().unwrap().is_granted());
    holder.release().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn a_cancelled_wait_leaves_nothing_behind() {
    let client = Client::open("memory:").unwrap();
    let holder = client.acquire("n", TTL).unwrap();
    let cancel = Cancel::new();
    let waiter = client.lock("n", TTL).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.acquire_cancellable(Wait::Forever, &cancel).unwrap_err());
        while client.show("n").unwrap().waiters.is_empty() {
            std::thread::yield_now();
        }
        cancel.trigger();
        assert_eq!(waiting.join().unwrap().kind(), Kind::Cancelled);
    });
    assert_eq!(client.show("n").unwrap().waiters.len(), 0);
    assert!(holder.held() && !waiter.held());
}

#[test]
fn closing_ends_waits_gives_back_and_refuses_later_calls() {
    let client = Client::open("memory:shared-by-close").unwrap();
    let other = Client::open("memory:shared-by-close").unwrap();
    let lock = client.acquire("n", TTL).unwrap();
    let waiter = client.lock("n", TTL).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.acquire_within(Wait::Forever).unwrap_err());
        while other.show("n").unwrap().waiters.is_empty() {
            std::thread::yield_now();
        }
        client.close().unwrap();
        assert_eq!(waiting.join().unwrap().reason(), "client_closed");
    });
    assert!(!lock.held() && !other.show("n").unwrap().held);
    assert_eq!(client.lock("n", TTL).unwrap_err().reason(), "client_closed");
    assert_eq!(lock.acquire().unwrap_err().reason(), "client_closed");
    assert_eq!(client.ping().unwrap_err().reason(), "client_closed");
    client.close().unwrap();
}

#[test]
fn a_dropped_handle_gives_back() {
    let client = manual();
    drop(client.acquire("n", TTL).unwrap());
    assert!(!client.show("n").unwrap().held);
}

#[test]
fn a_semaphore_has_as_many_holders_as_permits() {
    let client = manual();
    let locks: Vec<Lock> = (0..4).map(|_| client.semaphore("s", 3, TTL).unwrap()).collect();
    let held = locks.iter().filter(|lock| lock.acquire().unwrap().is_granted()).count();
    assert_eq!(held, 3);
    let mut slots: Vec<u32> = client.holders("s").unwrap().iter().map(|holder| holder.slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2]);
    assert_eq!(client.list("", 10, "").unwrap().len(), 1);
    assert_eq!(client.semaphore("s", 0, TTL).unwrap_err().reason(), "locks_bad_limit");
    assert_eq!(client.semaphore("s", 1025, TTL).unwrap_err().reason(), "locks_bad_limit");
}

#[test]
fn threads_that_share_a_handle_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::open(&format!("file:{}", folder.path().display())).unwrap();
    let lock = Arc::new(client.lock("n", checkpoint(TTL).wait(TTL)).unwrap());
    let inside = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    let epoch = lock.acquire_or_raise(Wait::Default, None).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    lock.leave(epoch).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_handle_that_is_taken_again_and_again_is_renewed_each_time() {
    let client = Client::open("memory:").unwrap();
    let lock = client.lock("n", Duration::from_millis(600)).unwrap();
    for hold in [0, 0, 250, 0, 100, 1_000, 0, 1_000] {
        take(&lock);
        std::thread::sleep(Duration::from_millis(hold));
        assert!(lock.held() && lock.lost_reason().is_none(), "after {hold} ms");
        assert!(lock.release().unwrap());
    }
}

#[test]
fn background_renewal_keeps_a_real_lease() {
    let client = Client::open("memory:").unwrap();
    let lock = client.acquire("n", Duration::from_millis(150)).unwrap();
    let first = lock.token().unwrap();
    assert_eq!(lock.wait_lost(Duration::from_millis(500)), None);
    assert!(lock.keep_alive() && lock.token().unwrap() > first);
    lock.lose(LostReason::Renew).unwrap();
    assert_eq!(lock.wait_lost(Duration::ZERO), Some(LostReason::Renew));
    let error = client.lock("n", LockOptions::ttl(TTL).crash(Crash::Expire).owner("")).unwrap_err();
    assert_eq!(error.reason(), "locks_bad_owner");
}

#[test]
fn a_forked_child_holds_nothing_and_can_start_anew() {
    let client = Client::open("memory:").unwrap();
    let lock = client.acquire("n", TTL).unwrap();
    let (fence, idle) = (lock.fence().unwrap().get(), client.lock("idle", TTL).unwrap());
    // SAFETY: the child runs only code that is safe after a fork of a threaded program: it takes no
    // lock that the parent's threads may have held.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            let lost = !lock.keep_alive()
                && !lock.held()
                && lock.lost_reason() == Some(LostReason::Forked)
                && lock.release().is_ok_and(|released| !released)
                && lock.acquire().is_err_and(|error| error.kind() == Kind::Forked);
            // What the child writes has to be refused or let in by the parent's fence.
            let lost = lost
                && lock.fence().is_ok_and(|mine| mine.get() == fence)
                && lock.token().is_ok()
                && idle.fence().is_err_and(|error| error.kind() == Kind::NotHeld);
            let anew = client.lock("n", TTL).is_ok_and(|lock| lock.acquire().is_ok_and(|answer| answer.is_granted()));
            libc::_exit(i32::from(!(lost && anew)));
        }
        let mut status = 0;
        libc::waitpid(pid, &mut status, 0);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
    }
    assert!(lock.held());
}

#[test]
fn a_guarded_step_commits_and_a_lost_guard_loses_the_lock() {
    let client = manual();
    let lock = client.lock("n", checkpoint(TTL)).unwrap();
    let put = serde_json::json!([{"op": "incr", "ns": "work", "key": "done", "delta": 1, "forever": true}]);
    let error = client.transaction().guard(&lock).kv(&put).commit().unwrap_err();
    assert_eq!(error.kind(), Kind::NotHeld);
    take(&lock);
    let done = client.transaction().guard(&lock).kv(&put).commit().unwrap();
    assert!(done.is_committed());
    assert_eq!(done.result().results[0]["value"], 1);
    // The handle's own renewal moved the token in between.
    client.advance(TTL / 2).unwrap();
    assert!(lock.keep_alive());
    assert!(client.transaction().guard(&lock).kv(&put).commit().unwrap().is_committed());
    // Somebody else's precondition leaves the lock alone.
    let marker = serde_json::json!({"op": "check", "ns": "work", "key": "done", "expect": 0, "required": true});
    let refused = client.transaction().guard(&lock).kv(&marker).commit().unwrap();
    assert_eq!(refused.result().reason.as_deref(), Some("kv_precondition"));
    assert_eq!(refused.result().precondition.as_ref().unwrap()["failedIndex"], 0);
    assert!(lock.held() && refused.or_err().is_err());
    // Released by hand, and taken by somebody else.
    client.force_release("n", 0, &ReleaseId::Owner(lock.owner().into())).unwrap();
    let other = client.acquire("n", TTL).unwrap();
    let refused = client.transaction().guard(&lock).kv(&put).commit().unwrap();
    let error = refused.or_err().unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::Lost, "guard"));
    assert!(error.to_string().contains(other.owner()), "{error}");
    assert_eq!(lock.lost_reason(), Some(LostReason::Guard));
    assert_eq!(client.kv("work").get("done").unwrap().unwrap().value, 2);
    let queue = client.transaction().guard(&other).queue("out").push(&[fencehold::Item::new(1.into())]);
    assert_eq!(queue.commit().unwrap_err().kind(), Kind::Unsupported);
    let stranger = manual().acquire("n", TTL).unwrap();
    assert_eq!(client.transaction().guard(&stranger).kv(&put).commit().unwrap_err().reason(), "bad_guard");
}

#[test]
fn a_program_with_steps_moves_from_memory_to_files_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["memory:".to_string(), format!("file:{}", folder.path().display())] {
        let client = Client::open(&url).unwrap();
        let lock = client.acquire("n", TTL).unwrap();
        let put = serde_json::json!([{"op": "incr", "ns": "work", "key": "done", "delta": 1, "forever": true}]);
        for count in 1..4 {
            let done = client.transaction().guard(&lock).kv(&put).commit().unwrap();
            assert_eq!(done.or_err().unwrap().results[0]["value"], count, "{url}");
        }
        client.force_release("n", 0, &ReleaseId::Owner(lock.owner().into())).unwrap();
        let refused = client.transaction().guard(&lock).kv(&put).commit().unwrap();
        assert_eq!(refused.or_err().unwrap_err().reason(), "guard");
        assert_eq!(client.kv("work").get("done").unwrap().unwrap().value, 3);
        let row =
            client.kv("queen-locks").put_if_absent("by-hand#0", serde_json::json!({}), fencehold::Expiry::Forever);
        assert!(row.unwrap().is_applied());
        assert!(client.show("by-hand").unwrap().held);
    }
}
