//! Several permits of one name.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use fencehold::{Client, Lock, RefusalReason, ReleaseId};

use crate::Test;
use crate::site::{LIMIT, LONG, Site, Traits, checkpoint, refused, take, until, wait_for_lock, waiting};

fn slots(traits: &Traits) -> bool {
    traits.has_slots
}

fn shared(traits: &Traits) -> bool {
    traits.has_slots && traits.waits_in_order
}

pub(crate) const TESTS: &[Test] = &[
    ("a semaphore has as many holders as permits", slots, a_semaphore_has_as_many_holders_as_permits),
    ("every slot of the largest semaphore is given once", slots, every_slot_of_the_largest_semaphore_is_given_once),
    ("a release gives back one permit", slots, a_release_gives_back_one_permit),
    ("callers who disagree about the number stay within theirs", slots, callers_who_disagree_stay_within_theirs),
    ("a permit expires by itself", slots, a_permit_expires_by_itself),
    ("a permit is ended by its slot", slots, a_permit_is_ended_by_its_slot),
    ("never more than the permits work at once", slots, never_more_than_the_permits_work_at_once),
    ("waiters get permits as they come free", shared, waiters_get_permits_as_they_come_free),
];

fn permits(client: &Client, name: &str, count: u32, ttl: Duration) -> Lock {
    client.semaphore(name, count, checkpoint(ttl)).unwrap()
}

fn a_semaphore_has_as_many_holders_as_permits(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("s");
    let held: Vec<Lock> = (0..3).map(|at| permits(if at == 1 { &two } else { &one }, &name, 3, LONG)).collect();
    let fences: BTreeSet<u64> = held.iter().map(take).collect();
    assert_eq!(fences.len(), 3);
    let taken: BTreeSet<u32> = held.iter().map(|lock| lock.slot().unwrap()).collect();
    assert_eq!(taken, BTreeSet::from([0, 1, 2]));
    let refusal = refused(&permits(&two, &name, 3, LONG));
    assert_eq!((refusal.reason, refusal.holders.len()), (RefusalReason::Held, 3));
    assert!(refusal.holders.windows(2).all(|two| two[0].slot < two[1].slot), "by rising slot");
    let holders = two.holders(&name).unwrap();
    for lock in &held {
        let slot = lock.slot().unwrap();
        assert_eq!(holders[slot as usize].owner.as_deref(), Some(lock.owner()));
    }
}

fn every_slot_of_the_largest_semaphore_is_given_once(site: &Site) {
    let client = site.client();
    let name = site.name("s");
    let held: Vec<Lock> = (0..1_024).map(|_| permits(&client, &name, 1_024, LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    let taken: BTreeSet<u32> = held.iter().map(|lock| lock.slot().unwrap()).collect();
    assert_eq!((taken.len(), taken.last().copied()), (1_024, Some(1_023)));
    refused(&permits(&client, &name, 1_024, LONG));
    assert_eq!(client.holders(&name).unwrap().len(), 1_024);
    let slot = held[700].slot().unwrap();
    assert!(held[700].release().unwrap());
    let next = permits(&client, &name, 1_024, LONG);
    take(&next);
    assert_eq!(next.slot().unwrap(), slot, "the only one that is free");
    client.close().unwrap();
}

fn a_release_gives_back_one_permit(site: &Site) {
    let client = site.client();
    let name = site.name("s");
    let (a, b) = (permits(&client, &name, 2, LONG), permits(&client, &name, 2, LONG));
    let (c, d) = (permits(&client, &name, 2, LONG), permits(&client, &name, 2, LONG));
    take(&a);
    take(&b);
    assert!(a.release().unwrap());
    assert!(!a.release().unwrap() && !c.release().unwrap());
    take(&c);
    refused(&d);
    assert!(b.held() && b.keep_alive());
}

fn callers_who_disagree_stay_within_theirs(site: &Site) {
    let client = site.client();
    let name = site.name("s");
    let three: Vec<Lock> = (0..3).map(|_| permits(&client, &name, 3, LONG)).collect();
    three.iter().for_each(|lock| {
        take(lock);
    });
    for fewer in [1, 2, 3] {
        refused(&permits(&client, &name, fewer, LONG));
    }
    // More than the others know of: those come on top, and no slot is given twice.
    let more = permits(&client, &name, 5, LONG);
    take(&more);
    assert!((3..5).contains(&more.slot().unwrap()));
    assert_eq!(client.holders(&name).unwrap().len(), 4);
    // Whoever counts up to one only looks at the first slot.
    let first = three.iter().find(|lock| lock.slot().unwrap() == 0).unwrap();
    assert!(first.release().unwrap());
    let one = permits(&client, &name, 1, LONG);
    take(&one);
    assert_eq!(one.slot().unwrap(), 0);
    refused(&permits(&client, &name, 3, LONG));
}

fn a_permit_expires_by_itself(site: &Site) {
    let client = site.client();
    let name = site.name("s");
    let (short, long) = (permits(&client, &name, 2, site.short(1_500)), permits(&client, &name, 2, LONG));
    take(&long);
    let fence = take(&short);
    let next = permits(&client, &name, 2, LONG);
    assert!(wait_for_lock(&next) > fence);
    assert_eq!(next.slot().unwrap(), short.slot().unwrap());
    assert!(long.keep_alive() && !short.keep_alive() && !short.release().unwrap());
    refused(&permits(&client, &name, 2, LONG));
}

fn a_permit_is_ended_by_its_slot(site: &Site) {
    let client = site.client();
    let name = site.name("s");
    let (a, b) = (permits(&client, &name, 2, LONG), permits(&client, &name, 2, LONG));
    take(&a);
    take(&b);
    let token = |lock: &Lock| ReleaseId::Token(lock.token().unwrap().get());
    assert!(!client.force_release(&name, a.slot().unwrap(), &token(&b)).unwrap());
    assert!(client.force_release(&name, a.slot().unwrap(), &token(&a)).unwrap());
    let holders = client.holders(&name).unwrap();
    assert_eq!(holders.len(), 1);
    assert_eq!(holders[0].owner.as_deref(), Some(b.owner()));
    assert!(!a.release().unwrap() && b.release().unwrap());
}

fn never_more_than_the_permits_work_at_once(site: &Site) {
    let name = site.name("s");
    let (working, most, too_many) = (AtomicI32::new(0), AtomicI32::new(0), AtomicI32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let client = site.client();
                let lock = permits(&client, &name, 3, LONG);
                for _ in 0..30 {
                    assert!(lock.acquire_within(LIMIT).unwrap().is_granted());
                    let now = working.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    too_many.fetch_add(i32::from(now > 3), Ordering::SeqCst);
                    // Longer than handing a permit on takes.
                    std::thread::sleep(Duration::from_millis(10));
                    working.fetch_sub(1, Ordering::SeqCst);
                    assert!(lock.release().unwrap());
                }
            });
        }
    });
    assert_eq!(too_many.into_inner(), 0);
    assert_eq!(most.into_inner(), 3, "the permits are all used");
    assert!(!site.client().show(&name).unwrap().held);
}

fn waiters_get_permits_as_they_come_free(site: &Site) {
    let client = site.client();
    let name = site.name("s");
    let held: Vec<Lock> = (0..2).map(|_| permits(&client, &name, 2, LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    let granted = AtomicI32::new(0);
    let waiters: Vec<Lock> = (0..4).map(|_| permits(&client, &name, 2, LONG)).collect();
    std::thread::scope(|scope| {
        for lock in &waiters {
            let granted = &granted;
            scope.spawn(move || {
                assert!(lock.acquire_within(LIMIT).unwrap().is_granted());
                granted.fetch_add(1, Ordering::SeqCst);
            });
        }
        until("four in line", || waiting(&client, &name) == 4);
        assert!(held[0].release().unwrap());
        until("one grant", || granted.load(Ordering::SeqCst) == 1);
        // Nobody else comes in: the second permit is held.
        refused(&held[0]);
        assert_eq!((granted.load(Ordering::SeqCst), waiting(&client, &name)), (1, 3));
        assert!(held[1].release().unwrap());
        until("two grants", || granted.load(Ordering::SeqCst) == 2);
        for _ in 0..2 {
            let holder = waiters.iter().find(|lock| lock.held()).expect("somebody holds");
            let before = granted.load(Ordering::SeqCst);
            assert!(holder.release().unwrap());
            until("one more grant", || granted.load(Ordering::SeqCst) == before + 1);
        }
    });
    assert_eq!(client.holders(&name).unwrap().len(), 2);
    refused(&permits(&client, &name, 2, LONG));
}
