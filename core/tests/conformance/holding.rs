//! Acquiring, renewing, releasing, losing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fencehold::{Client, Kind, LockOptions, LostReason, RefusalReason, ReleaseId, Wait};

use crate::site::{LONG, Site, Traits, checkpoint, handle, refused, take, until, wait_for_lock};
use crate::{Test, any};

fn slots(traits: &Traits) -> bool {
    traits.has_slots
}

pub(crate) const TESTS: &[Test] = &[
    ("one holds and the other is told who", any, one_holds_and_the_other_is_told_who),
    ("a release frees once", any, a_release_frees_once),
    ("a client that closes gives back", any, a_client_that_closes_gives_back),
    ("a dropped handle gives back", any, a_dropped_handle_gives_back),
    ("a handle can be used again and again", any, a_handle_can_be_used_again_and_again),
    ("a handle is no way around itself", any, a_handle_is_no_way_around_itself),
    ("fences rise over every kind of end", any, fences_rise_over_every_kind_of_end),
    ("a renewal keeps the fence", any, a_renewal_keeps_the_fence),
    ("a renewal moves the token", slots, a_renewal_moves_the_token),
    ("renewed leases go on for many lifetimes", any, renewed_leases_go_on_for_many_lifetimes),
    ("the background renews", any, the_background_renews),
    ("nobody gets it before the lifetime has passed", any, nobody_gets_it_before_the_lifetime_has_passed),
    ("a late holder disturbs nobody", any, a_late_holder_disturbs_nobody),
    ("a hold ended by hand is lost at its renewal", any, a_hold_ended_by_hand_is_lost_at_its_renewal),
    ("only the hold that is named is ended", any, only_the_hold_that_is_named_is_ended),
    ("an owner in use is refused", slots, an_owner_in_use_is_refused),
    ("two clients that count lose nothing", any, two_clients_that_count_lose_nothing),
    ("many locks are held at once", any, many_locks_are_held_at_once),
];

fn one_holds_and_the_other_is_told_who(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let (a, b) = (handle(&one, &name, LONG), handle(&two, &name, LONG));
    take(&a);
    assert!(a.held() && a.keep_alive());
    let refusal = refused(&b);
    assert_eq!(refusal.reason, RefusalReason::Held);
    assert_eq!(refusal.holders.len(), 1);
    assert_eq!(refusal.holders[0].owner.as_deref(), Some(a.owner()));
    assert_eq!(refusal.holders[0].token, a.token().unwrap().get());
    assert!(!b.held() && b.fence().unwrap_err().kind() == Kind::NotHeld);
    let raised = two.acquire(&name, LONG).unwrap_err();
    assert_eq!((raised.kind(), raised.lock()), (Kind::Held, Some(&*name)));
    // Another name has nothing to do with it.
    take(&handle(&two, &site.name("m"), LONG));
}

fn a_release_frees_once(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let (a, b) = (handle(&client, &name, LONG), handle(&client, &name, LONG));
    assert!(!a.release().unwrap(), "nothing is held yet");
    take(&a);
    assert!(a.release().unwrap() && !a.held() && !a.keep_alive());
    assert!(!a.release().unwrap());
    assert_eq!(a.lost_reason(), None, "a release is no loss");
    take(&b);
    assert!(!a.release().unwrap());
    assert!(b.held() && b.keep_alive());
    assert!(b.release().unwrap());
    assert!(!client.show(&name).unwrap().held);
}

fn a_client_that_closes_gives_back(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let names: Vec<String> = (0..5).map(|at| site.name(&at.to_string())).collect();
    let held: Vec<_> = names.iter().map(|name| handle(&one, name, LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    one.close().unwrap();
    for (name, lock) in names.iter().zip(&held) {
        assert!(!lock.held() && !lock.keep_alive());
        take(&handle(&two, name, LONG));
    }
    assert_eq!(held[0].acquire().unwrap_err().reason(), "client_closed");
    assert_eq!(one.show(&names[0]).unwrap_err().reason(), "client_closed");
}

fn a_dropped_handle_gives_back(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let lock = handle(&client, &name, LONG);
    take(&lock);
    drop(lock);
    take(&handle(&client, &name, LONG));
}

fn a_handle_can_be_used_again_and_again(site: &Site) {
    let client = site.client();
    let lock = handle(&client, &site.name("n"), LONG);
    let mut last = 0;
    for _ in 0..100 {
        let fence = take(&lock);
        assert!(fence > last);
        assert!(lock.remaining() > LONG - Duration::from_secs(5));
        last = fence;
        assert!(lock.release().unwrap());
    }
}

fn a_handle_is_no_way_around_itself(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let lock = handle(&client, &name, LONG);
    take(&lock);
    assert_eq!(refused(&lock).reason, RefusalReason::HeldHere);
    assert_eq!(refused(&handle(&client, &name, LONG)).reason, RefusalReason::Held);
    assert!(lock.held() && lock.release().unwrap());
    let counting = client.lock(&name, checkpoint(LONG).reentrant(true)).unwrap();
    take(&counting);
    take(&counting);
    assert!(counting.release().unwrap() && counting.held());
    refused(&lock);
    assert!(counting.release().unwrap() && !counting.held());
    take(&lock);
}

fn fences_rise_over_every_kind_of_end(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let mut last = 0;
    for round in 0..40 {
        let client: &Client = if round % 3 == 0 { &one } else { &two };
        let lock = handle(client, &name, if round % 10 == 9 { site.short(500) } else { LONG });
        let fence = wait_for_lock(&lock);
        assert!(fence > last, "round {round}: {fence} after {last}");
        assert!(fence < 1 << 53);
        last = lock.token().unwrap().get();
        match round % 10 {
            0..=4 => assert!(lock.release().unwrap()),
            5..=6 => drop(lock),
            7..=8 => assert!(one.force_release(&name, lock.slot().unwrap_or(0), &ReleaseId::Token(last)).unwrap()),
            // It ends by itself, while the next round waits.
            _ => std::mem::forget(lock),
        }
    }
}

/// Calls `keep_alive` until a renewal was due.
fn renew(lock: &fencehold::Lock) {
    std::thread::sleep(lock.ttl() / 3 + Duration::from_millis(20));
    assert!(lock.keep_alive(), "lost: {:?}", lock.last_error());
}

fn a_renewal_keeps_the_fence(site: &Site) {
    let client = site.client();
    let lock = handle(&client, &site.name("n"), site.short(3_000));
    let fence = take(&lock);
    assert_eq!(lock.token().unwrap().get(), fence, "the fence is the first token");
    for _ in 0..2 {
        renew(&lock);
        assert_eq!(lock.fence().unwrap().get(), fence);
        assert!(lock.remaining() > lock.ttl() * 2 / 3, "{:?} of {:?}", lock.remaining(), lock.ttl());
        assert!(lock.token().unwrap().get() >= fence);
    }
    assert!(lock.release().unwrap());
}

fn a_renewal_moves_the_token(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let lock = handle(&client, &name, site.short(3_000));
    let mut last = take(&lock);
    for _ in 0..2 {
        assert!(lock.keep_alive());
        assert_eq!(lock.token().unwrap().get(), last, "nothing was due");
        renew(&lock);
        let token = lock.token().unwrap().get();
        assert!(token > last);
        assert_eq!(client.holders(&name).unwrap()[0].token, token);
        last = token;
    }
}

fn renewed_leases_go_on_for_many_lifetimes(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let lock = handle(&one, &name, site.short(3_000));
    let stranger = handle(&two, &name, LONG);
    take(&lock);
    let end = Instant::now() + lock.ttl() * 2;
    while Instant::now() < end {
        std::thread::sleep(lock.ttl() / 10);
        assert!(lock.keep_alive(), "lost: {:?}", lock.last_error());
        refused(&stranger);
    }
    assert!(lock.release().unwrap());
    take(&stranger);
}

fn the_background_renews(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let lock = one.acquire(&name, LockOptions::ttl(site.short(2_000)).fair()).unwrap();
    let stranger = handle(&two, &name, LONG);
    let end = Instant::now() + lock.ttl() * 3;
    while Instant::now() < end {
        std::thread::sleep(lock.ttl() / 10);
        assert!(lock.held() && lock.keep_alive(), "lost: {:?}", lock.last_error());
        refused(&stranger);
    }
    assert_eq!(lock.lost_reason(), None);
    assert!(lock.release().unwrap());
    take(&stranger);
}

fn nobody_gets_it_before_the_lifetime_has_passed(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    for _ in 0..3 {
        let (a, b) = (handle(&one, &name, site.short(1_500)), handle(&two, &name, LONG));
        let asked = Instant::now();
        wait_for_lock(&a);
        let granted = Instant::now();
        let end = granted + a.ttl() + site.traits.step + Duration::from_secs(5);
        while !b.acquire_within(Wait::No).unwrap().is_granted() {
            assert!(Instant::now() < end, "it did not come free by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!a.held(), "both hold it");
        assert!(asked.elapsed() >= a.ttl(), "after {:?}, and its lifetime is {:?}", asked.elapsed(), a.ttl());
        assert!(!a.keep_alive());
        assert_eq!(a.lost_reason(), Some(LostReason::Expired));
        assert!(b.release().unwrap());
    }
}

fn a_late_holder_disturbs_nobody(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let (late, next) = (handle(&one, &name, site.short(1_500)), handle(&two, &name, LONG));
    let first = take(&late);
    assert!(wait_for_lock(&next) > first, "a later hold has a higher fence");
    assert!(!late.release().unwrap() && !late.keep_alive());
    assert_eq!(late.fence().unwrap().get(), first, "it has to be refused by it");
    assert_eq!(late.last_error().unwrap().kind(), Kind::Lost);
    assert!(next.held());
    assert_eq!(two.holders(&name).unwrap()[0].token, next.token().unwrap().get());
    refused(&late);
    assert!(next.release().unwrap());
}

fn a_hold_ended_by_hand_is_lost_at_its_renewal(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let lock = handle(&one, &name, site.short(3_000));
    let calls = std::sync::Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    lock.on_lost(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    take(&lock);
    let token = ReleaseId::Token(lock.token().unwrap().get());
    assert!(two.force_release(&name, lock.slot().unwrap_or(0), &token).unwrap());
    until("the loss", || !lock.keep_alive());
    assert_eq!(lock.lost_reason(), Some(LostReason::Renew), "{:?}", lock.last_error());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert!(!one.show(&name).unwrap().held, "a renewal never makes a hold");
    take(&handle(&two, &name, LONG));
    assert!(!lock.release().unwrap());
}

fn only_the_hold_that_is_named_is_ended(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let lock = handle(&client, &name, LONG);
    take(&lock);
    let (slot, token) = (lock.slot().unwrap_or(0), lock.token().unwrap().get());
    for wrong in [ReleaseId::Token(token + 1), ReleaseId::Token(1), ReleaseId::Owner("somebody".into())] {
        assert!(!client.force_release(&name, slot, &wrong).unwrap());
    }
    assert!(!client.force_release(&site.name("other"), slot, &ReleaseId::Token(token)).unwrap());
    if site.traits.has_slots {
        assert!(!client.force_release(&name, 1, &ReleaseId::Token(token)).unwrap());
        assert!(!client.force_release(&name, 4_000, &ReleaseId::Token(token)).unwrap());
    }
    refused(&handle(&client, &name, LONG));
    assert!(client.force_release(&name, slot, &ReleaseId::Owner(lock.owner().into())).unwrap());
    assert!(!client.force_release(&name, slot, &ReleaseId::Owner(lock.owner().into())).unwrap());
    take(&handle(&client, &name, LONG));
}

fn an_owner_in_use_is_refused(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let owned = |client: &Client, resume: bool| {
        client.lock(&name, checkpoint(LONG).owner("the nightly job").resume(resume)).unwrap()
    };
    let first = owned(&one, false);
    let fence = take(&first);
    assert_eq!(refused(&owned(&two, false)).reason, RefusalReason::OwnerInUse);
    let heir = owned(&two, true);
    assert!(take(&heir) > fence, "whoever takes a hold up has a fence of its own");
    assert_eq!(one.holders(&name).unwrap().len(), 1);
    assert!(heir.release().unwrap());
}

fn two_clients_that_count_lose_nothing(site: &Site) {
    let name = site.name("n");
    let counter = AtomicU32::new(0);
    let rounds = if site.traits.has_slots { 250 } else { 40 };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let client = site.client();
                let lock = handle(&client, &name, LONG);
                for _ in 0..rounds {
                    wait_for_lock(&lock);
                    let seen = counter.load(Ordering::Relaxed);
                    std::thread::yield_now();
                    counter.store(seen + 1, Ordering::Relaxed);
                    assert!(lock.release().unwrap());
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), 4 * rounds);
}

fn many_locks_are_held_at_once(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let base = site.name("n");
    // An ensemble or a proxy limits the connections of one address.
    let count = if site.traits.connects { 50 } else { 1_000 };
    let held: Vec<_> = (0..count).map(|at| handle(&one, &format!("{base}/{at}"), LONG)).collect();
    let mut fences: Vec<u64> = held.iter().map(take).collect();
    fences.dedup();
    if site.traits.has_slots {
        assert_eq!(fences.len(), count, "no token is given twice");
    }
    assert!(held.iter().all(|lock| lock.held() && lock.keep_alive()));
    for at in [0, count / 2, count - 1] {
        refused(&handle(&two, held[at].name(), LONG));
    }
    one.close().unwrap();
    for at in [0, count / 2, count - 1] {
        take(&handle(&two, held[at].name(), LONG));
    }
}
