//! Several processes on one store: kills and stops.

use std::time::{Duration, Instant};

use crate::Test;
use crate::process::Other;
use crate::site::{LONG, Site, Traits, handle, refused, take, until, wait_for_lock, waiting};

fn shared(traits: &Traits) -> bool {
    traits.is_shared
}

fn notices(traits: &Traits) -> bool {
    traits.notices_death
}

fn calls(traits: &Traits) -> bool {
    traits.calls && ordered(traits)
}

fn ordered(traits: &Traits) -> bool {
    traits.is_shared && traits.waits_in_order
}

pub(crate) const TESTS: &[Test] = &[
    ("processes exclude each other", shared, processes_exclude_each_other),
    ("a killed holder is replaced", shared, a_killed_holder_is_replaced),
    ("a killed holder is replaced at once", notices, a_killed_holder_is_replaced_at_once),
    ("a killed holder that asked for it keeps its lifetime", notices, a_killed_holder_keeps_its_lifetime),
    ("a killed waiter holds nobody up", ordered, a_killed_waiter_holds_nobody_up),
    ("a stopped waiter holds nobody up", calls, a_stopped_waiter_holds_nobody_up),
    ("a stopped holder is told when it goes on", shared, a_stopped_holder_is_told_when_it_goes_on),
];

fn processes_exclude_each_other(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let mine = handle(&client, &name, LONG);
    let mut last = take(&mine);
    let mut other = Other::start(&site.url, &name, LONG, "takeover");
    until("the other process", || waiting(&client, &name) == 1);
    assert!(mine.release().unwrap());
    let fence = other.held();
    assert!(fence > last);
    last = fence;
    assert_eq!(refused(&mine).holders.len(), 1);
    assert!(other.release());
    assert!(wait_for_lock(&mine) > last);
}

fn a_killed_holder_is_replaced(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let ttl = site.short(1_000);
    let mut other = Other::start(&site.url, &name, ttl, "expire");
    let fence = other.held();
    let killed = Instant::now();
    other.kill();
    let lock = handle(&client, &name, LONG);
    assert!(wait_for_lock(&lock) > fence);
    assert!(killed.elapsed() < ttl + site.traits.step + Duration::from_secs(3), "{:?}", killed.elapsed());
}

fn a_killed_holder_is_replaced_at_once(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let mut last = 0;
    for _ in 0..10 {
        let mut other = Other::start(&site.url, &name, LONG, "takeover");
        let fence = other.held();
        assert!(fence > last);
        let lock = handle(&client, &name, LONG);
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| wait_for_lock(&lock));
            until("the waiter", || waiting(&client, &name) == 1);
            let killed = Instant::now();
            other.kill();
            last = thread.join().unwrap();
            assert!(last > fence);
            assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
        });
        assert!(lock.release().unwrap());
    }
    // Nobody need be waiting for it.
    let mut other = Other::start(&site.url, &name, LONG, "takeover");
    other.held();
    other.kill();
    assert!(!client.show(&name).unwrap().held);
    take(&handle(&client, &name, LONG));
}

fn a_killed_holder_keeps_its_lifetime(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let ttl = Duration::from_millis(1_500);
    let mut other = Other::start(&site.url, &name, ttl, "expire");
    other.held();
    // The lease was asked for before this moment and is renewed at most once a third later.
    let seen = Instant::now();
    other.kill();
    let lock = handle(&client, &name, LONG);
    refused(&lock);
    wait_for_lock(&lock);
    assert!(seen.elapsed() >= ttl / 2, "after {:?}", seen.elapsed());
}

fn a_killed_waiter_holds_nobody_up(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, next) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    let mut dead = Vec::new();
    for count in 1..=3 {
        dead.push(Other::start(&site.url, &name, site.short(2_000), "takeover"));
        until("the waiters", || waiting(&client, &name) == count);
    }
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| wait_for_lock(&next));
        until("the last in line", || waiting(&client, &name) == 4);
        dead.drain(..).for_each(Other::kill);
        let began = Instant::now();
        assert!(holder.release().unwrap());
        thread.join().unwrap();
        let limit = Duration::from_secs(if site.traits.notices_death { 5 } else { 25 });
        assert!(began.elapsed() < limit, "{:?}", began.elapsed());
    });
    assert_eq!(waiting(&client, &name), 0);
}

fn a_stopped_waiter_holds_nobody_up(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (holder, next) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    take(&holder);
    let mut stopped = Other::start(&site.url, &name, LONG, "takeover");
    until("the first in line", || waiting(&client, &name) == 1);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| wait_for_lock(&next));
        until("the second in line", || waiting(&client, &name) == 2);
        stopped.signal(libc::SIGSTOP);
        let began = Instant::now();
        assert!(holder.release().unwrap());
        let fence = thread.join().unwrap();
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        // It finds that its place is lost, goes to the back, and is served like anybody else.
        stopped.signal(libc::SIGCONT);
        until("it is back in line", || waiting(&client, &name) == 1);
        assert!(next.release().unwrap());
        assert!(stopped.held() > fence);
    });
    assert!(stopped.release());
}

fn a_stopped_holder_is_told_when_it_goes_on(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let mut stopped = Other::start(&site.url, &name, site.short(2_000), "takeover");
    let fence = stopped.held();
    stopped.signal(libc::SIGSTOP);
    let lock = handle(&client, &name, LONG);
    assert!(wait_for_lock(&lock) > fence);
    stopped.signal(libc::SIGCONT);
    assert!(!stopped.release(), "it was not its own any more");
    assert!(lock.held() && client.holders(&name).unwrap()[0].owner.as_deref() == Some(lock.owner()));
}
