//! The line of those who wait, and the ways out of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fencehold::{Acquire, Cancel, Kind, LockOptions, RefusalReason, ReleaseId, Wait};

use crate::site::{LIMIT, LONG, Site, Traits, checkpoint, handle, refused, take, until, wait_for_lock, waiting};
use crate::{Test, any};

fn in_order(traits: &Traits) -> bool {
    traits.waits_in_order
}

pub(crate) const TESTS: &[Test] = &[
    ("waiters are served in the order of arrival", in_order, waiters_are_served_in_the_order_of_arrival),
    ("a stranger does not get past the line", in_order, a_stranger_does_not_get_past_the_line),
    ("a wait that is over leaves nothing behind", any, a_wait_that_is_over_leaves_nothing_behind),
    ("whoever gives up holds nobody up", any, whoever_gives_up_holds_nobody_up),
    ("a cancelled wait leaves nothing behind", any, a_cancelled_wait_leaves_nothing_behind),
    ("a wait that was cancelled before does not begin", any, a_wait_that_was_cancelled_before_does_not_begin),
    ("closing ends waits", any, closing_ends_waits),
    ("waiting is not taken from the lease", any, waiting_is_not_taken_from_the_lease),
    ("a lease that ends is passed on", any, a_lease_that_ends_is_passed_on),
    ("a hold ended by hand is passed on", any, a_hold_ended_by_hand_is_passed_on),
    ("stepping aside lets those who wait go first", in_order, stepping_aside_lets_those_who_wait_go_first),
    ("stepping aside for nobody takes it again", any, stepping_aside_for_nobody_takes_it_again),
    ("stepping aside may end in a refusal", in_order, stepping_aside_may_end_in_a_refusal),
    ("the place in line is shown", in_order, the_place_in_line_is_shown),
    ("a handle's own wait is used and can be overruled", any, a_handles_own_wait_is_used_and_can_be_overruled),
    ("waits of many names do not meet", any, waits_of_many_names_do_not_meet),
];

fn waiters_are_served_in_the_order_of_arrival(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let holder = handle(&client, &name, LONG);
    take(&holder);
    let served = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (served, name) = (&served, &name);
            scope.spawn(move || {
                let client = site.client();
                let lock = handle(&client, name, LONG);
                let fence = wait_for_lock(&lock);
                served.lock().unwrap().push((number, fence));
                assert!(lock.release().unwrap());
            });
            until("the next in line", || waiting(&client, name) == number + 1);
        }
        refused(&handle(&client, &name, LONG));
        assert!(holder.release().unwrap());
    });
    let served = served.into_inner().unwrap();
    assert_eq!(served.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert!(served.windows(2).all(|two| two[0].1 < two[1].1), "{served:?}");
    assert_eq!(waiting(&client, &name), 0);
}

fn a_stranger_does_not_get_past_the_line(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    for _ in 0..20 {
        let (holder, waiter, stranger) =
            (handle(&client, &name, LONG), handle(&client, &name, LONG), handle(&client, &name, LONG));
        take(&holder);
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| wait_for_lock(&waiter));
            until("the waiter", || waiting(&client, &name) == 1);
            assert!(holder.release().unwrap());
            refused(&stranger);
            thread.join().unwrap();
        });
        assert!(waiter.release().unwrap());
    }
}

fn a_wait_that_is_over_leaves_nothing_behind(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, waiter) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    let wait = Duration::from_millis(200);
    let began = Instant::now();
    let Acquire::Refused(refusal) = waiter.acquire_within(wait).unwrap() else { panic!("two hold it") };
    assert!(began.elapsed() >= wait && began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());
    assert_eq!(refusal.reason, RefusalReason::TimedOut);
    assert_eq!(refusal.holders[0].owner.as_deref(), Some(holder.owner()));
    assert_eq!(waiter.refusal(), Some(refusal));
    assert!(!waiter.held());
    assert_eq!((waiting(&client, &name), waiter.position()), (0, 0));
    let raised = client.acquire(&name, checkpoint(LONG).wait(wait)).unwrap_err();
    assert_eq!((raised.kind(), raised.refusal().unwrap().reason), (Kind::TimedOut, RefusalReason::TimedOut));
    assert!(holder.release().unwrap());
    take(&waiter);
}

fn whoever_gives_up_holds_nobody_up(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, short, long) =
        (handle(&client, &name, LONG), handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let answer = short.acquire_within(Duration::from_millis(300)).unwrap();
            assert!(!answer.is_granted());
        });
        until("the first", || waiting(&client, &name) == 1);
        let thread = scope.spawn(|| wait_for_lock(&long));
        until("the second alone", || waiting(&client, &name) == 1 && long.position() == 1);
        let began = Instant::now();
        assert!(holder.release().unwrap());
        thread.join().unwrap();
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    });
}

fn a_cancelled_wait_leaves_nothing_behind(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, waiter) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    let asked = AtomicBool::new(false);
    let polled = std::sync::Arc::new(AtomicBool::new(false));
    let hook = polled.clone();
    let polling = Cancel::polling(Duration::from_millis(20), move || hook.load(Ordering::SeqCst));
    for cancel in [Cancel::new(), polling] {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| waiter.acquire_cancellable(Wait::Forever, &cancel).unwrap_err());
            until("the waiter", || waiting(&client, &name) == 1);
            if asked.swap(true, Ordering::SeqCst) {
                polled.store(true, Ordering::SeqCst);
            } else {
                cancel.trigger();
            }
            let began = Instant::now();
            assert_eq!(thread.join().unwrap().kind(), Kind::Cancelled);
            assert!(began.elapsed() < Duration::from_secs(5));
        });
        assert_eq!((waiting(&client, &name), waiter.position(), waiter.held()), (0, 0, false));
    }
    assert!(holder.release().unwrap());
    take(&waiter);
}

fn a_wait_that_was_cancelled_before_does_not_begin(site: &Site) {
    let client = site.client();
    let lock = handle(&client, &site.name("n"), LONG);
    let cancel = Cancel::new();
    cancel.trigger();
    assert_eq!(lock.acquire_cancellable(Wait::Forever, &cancel).unwrap_err().kind(), Kind::Cancelled);
    assert!(!lock.held() && !client.show(lock.name()).unwrap().held);
    take(&lock);
}

fn closing_ends_waits(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let (holder, waiter) = (handle(&two, &name, LONG), handle(&one, &name, LONG));
    take(&holder);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| waiter.acquire_within(Wait::Forever).unwrap_err());
        until("the waiter", || waiting(&two, &name) == 1);
        one.close().unwrap();
        assert_eq!(thread.join().unwrap().reason(), "client_closed");
    });
    assert_eq!(waiting(&two, &name), 0);
    assert!(holder.held());
}

fn waiting_is_not_taken_from_the_lease(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let ttl = site.short(2_000);
    let (holder, waiter) = (handle(&client, &name, LONG), handle(&client, &name, ttl));
    take(&holder);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            wait_for_lock(&waiter);
            waiter.remaining()
        });
        std::thread::sleep(ttl * 3 / 2);
        assert!(holder.release().unwrap());
        let left = thread.join().unwrap();
        assert!(left > ttl / 2 && left <= waiter.ttl(), "{left:?} of {ttl:?}");
    });
}

fn a_lease_that_ends_is_passed_on(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, next) = (handle(&client, &name, site.short(1_500)), handle(&client, &name, LONG));
    let fence = take(&holder);
    let began = Instant::now();
    assert!(wait_for_lock(&next) > fence);
    let limit = holder.ttl() + site.traits.step + Duration::from_secs(3);
    assert!(!holder.held() && began.elapsed() < limit, "{:?}", began.elapsed());
}

fn a_hold_ended_by_hand_is_passed_on(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, next) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| wait_for_lock(&next));
        until("the waiter", || waiting(&client, &name) == 1);
        let began = Instant::now();
        let id = ReleaseId::Owner(holder.owner().into());
        assert!(client.force_release(&name, holder.slot().unwrap_or(0), &id).unwrap());
        assert!(thread.join().unwrap() > holder.fence().unwrap().get());
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    });
}

fn stepping_aside_lets_those_who_wait_go_first(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let polite = handle(&client, &name, LONG);
    let first = take(&polite);
    let order = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (order, name) = (&order, &name);
            scope.spawn(move || {
                let client = site.client();
                let lock = handle(&client, name, LONG);
                wait_for_lock(&lock);
                order.lock().unwrap().push(number);
                assert!(lock.release().unwrap());
            });
            until("the next in line", || waiting(&client, name) == number + 1);
        }
        assert_eq!(polite.step_aside(LIMIT).unwrap(), Acquire::Granted);
        order.lock().unwrap().push(9);
    });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 9]);
    assert!(polite.held() && polite.fence().unwrap().get() > first);
}

fn stepping_aside_for_nobody_takes_it_again(site: &Site) {
    let client = site.client();
    let lock = handle(&client, &site.name("n"), LONG);
    let first = take(&lock);
    assert_eq!(lock.step_aside(Wait::No).unwrap(), Acquire::Granted);
    assert!(lock.fence().unwrap().get() > first && lock.release().unwrap());
    // Where nothing is held it is an acquire.
    assert_eq!(lock.step_aside(Wait::No).unwrap(), Acquire::Granted);
}

fn stepping_aside_may_end_in_a_refusal(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (polite, next) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&polite);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| wait_for_lock(&next));
        until("the waiter", || waiting(&client, &name) == 1);
        let Acquire::Refused(_) = polite.step_aside(Duration::from_millis(100)).unwrap() else { panic!("two hold it") };
        thread.join().unwrap();
    });
    assert!(!polite.held() && next.held() && waiting(&client, &name) == 0);
}

fn the_place_in_line_is_shown(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, first, second) =
        (handle(&client, &name, LONG), handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        for (place, lock) in [(1, &first), (2, &second)] {
            let cancel = &cancel;
            scope.spawn(move || assert!(lock.acquire_cancellable(Wait::Forever, cancel).is_err()));
            until("the place", || lock.position() == place);
        }
        let info = client.show(&name).unwrap();
        let seen: Vec<(u32, &str)> = info.waiters.iter().map(|one| (one.position, &*one.owner)).collect();
        assert_eq!(seen, [(1, first.owner()), (2, second.owner())]);
        assert_eq!(refused(&handle(&client, &name, LONG)).waiting, 2);
        cancel.trigger();
    });
    assert_eq!((first.position(), second.position(), waiting(&client, &name)), (0, 0, 0));
}

fn a_handles_own_wait_is_used_and_can_be_overruled(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let holder = handle(&client, &name, LONG);
    take(&holder);
    let patient = client.lock(&name, LockOptions::ttl(LONG).fair().wait(Duration::from_millis(150))).unwrap();
    let began = Instant::now();
    assert!(!patient.acquire().unwrap().is_granted());
    assert!(began.elapsed() >= Duration::from_millis(150));
    assert_eq!(patient.refusal().unwrap().reason, RefusalReason::TimedOut);
    assert!(!patient.acquire_within(Wait::No).unwrap().is_granted());
    assert_eq!(patient.refusal().unwrap().reason, RefusalReason::Held);
    // A wait of no time is one try, also where others wait.
    assert_eq!(waiting(&client, &name), 0);
}

fn waits_of_many_names_do_not_meet(site: &Site) {
    let client = site.client();
    let base = site.name("n");
    let held: Vec<_> = (0..16).map(|at| handle(&client, &format!("{base}/{at}"), LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    let granted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for lock in &held {
            let (granted, client) = (&granted, &client);
            scope.spawn(move || {
                let next = handle(client, lock.name(), LONG);
                wait_for_lock(&next);
                granted.lock().unwrap().push(lock.name());
            });
        }
        until("all in line", || held.iter().all(|lock| waiting(&client, lock.name()) == 1));
        for (count, lock) in held.iter().enumerate().rev() {
            assert!(lock.release().unwrap());
            until("its waiter", || granted.lock().unwrap().last() == Some(&lock.name()));
            assert_eq!(granted.lock().unwrap().len(), held.len() - count, "only its own waiter");
        }
    });
}
