//! What is refused, and by which reason.

use std::time::Duration;

use fencehold::{Kind, LockOptions, Retry};

use crate::site::{LONG, Site, Traits, checkpoint, handle, refused, take};
use crate::{Test, any};

fn slots(traits: &Traits) -> bool {
    traits.has_slots
}

pub(crate) const TESTS: &[Test] = &[
    ("names are told apart byte for byte", any, names_are_told_apart_byte_for_byte),
    ("names that cannot be are refused", any, names_that_cannot_be_are_refused),
    ("lifetimes have limits", any, lifetimes_have_limits),
    ("numbers of permits have limits", any, numbers_of_permits_have_limits),
    ("owners and labels have limits", any, owners_and_labels_have_limits),
    ("owners and labels come back as they were", slots, owners_and_labels_come_back_as_they_were),
];

fn names_are_told_apart_byte_for_byte(site: &Site) {
    let client = site.client();
    let base = site.name("");
    let longest = "x".repeat(256 - base.len());
    let tails = [
        "a",
        "A",
        "a/",
        "a/b",
        "ab",
        " a",
        "a ",
        "a.",
        "a..",
        "%61",
        "é",
        "e\u{301}",
        &longest,
        "\u{1f512}",
        "{a}",
        "a\\",
        "\"",
        "*",
        "?",
        "a:0",
        "a&b=c",
        "..",
        "a/../b",
        "\u{feff}",
        "\u{202e}",
        "\u{ffff}",
    ];
    let held: Vec<_> = tails.iter().map(|tail| handle(&client, &format!("{base}{tail}"), LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    for lock in &held {
        let holders = client.holders(lock.name()).unwrap();
        assert_eq!(holders.len(), 1, "{:?}", lock.name());
        assert_eq!(holders[0].owner.as_deref(), Some(lock.owner()));
        refused(&handle(&client, lock.name(), LONG));
    }
    assert_eq!(client.list(&base, 1_000, "").unwrap().len(), tails.len());
    assert!(held.iter().all(|lock| lock.release().unwrap()));
}

fn names_that_cannot_be_are_refused(site: &Site) {
    let client = site.client();
    let too_long = "x".repeat(257);
    for name in ["", "#", "a#0", "a\0b", "a\nb", "\u{7f}", "a\u{85}", &too_long] {
        for error in [
            client.lock(name, LONG).unwrap_err(),
            client.acquire(name, LONG).unwrap_err(),
            client.semaphore(name, 2, LONG).unwrap_err(),
            client.show(name).unwrap_err(),
            client.force_release(name, 0, &fencehold::ReleaseId::Token(1)).unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "locks_bad_name"), "{name:?}");
            assert_eq!(error.retry(), Retry::Never);
        }
    }
}

fn lifetimes_have_limits(site: &Site) {
    let client = site.client();
    let ms = Duration::from_millis;
    let day = Duration::from_secs(24 * 3600);
    for ttl in [Duration::ZERO, ms(99), day + ms(1), Duration::MAX] {
        let error = client.lock(&site.name("n"), ttl).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "locks_bad_ttl"), "{ttl:?}");
    }
    for ttl in [ms(100), ms(1_500), site.traits.longest] {
        let lock = handle(&client, &site.name("n"), ttl);
        assert!(lock.ttl() >= ttl, "it is never shorter than asked");
        assert!(lock.ttl() < ttl.max(site.traits.shortest) + Duration::from_secs(1) + site.traits.step);
        take(&lock);
        assert!(lock.remaining() <= lock.ttl());
    }
}

fn numbers_of_permits_have_limits(site: &Site) {
    let client = site.client();
    for permits in [0, 1_025, u32::MAX] {
        let error = client.semaphore(&site.name("s"), permits, LONG).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "locks_bad_limit"), "{permits}");
    }
}

fn owners_and_labels_have_limits(site: &Site) {
    let client = site.client();
    let too_long = "o".repeat(257);
    for text in ["", "a\nb", "a\0", &too_long] {
        let error = client.lock(&site.name("n"), LockOptions::ttl(LONG).owner(text)).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "locks_bad_owner"), "{text:?}");
        let error = client.lock(&site.name("n"), LockOptions::ttl(LONG).label(text)).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "locks_bad_label"), "{text:?}");
    }
}

fn owners_and_labels_come_back_as_they_were(site: &Site) {
    let client = site.client();
    let longest = "é".repeat(128);
    for text in ["x", "a#b", "\"quoted\" \\ back", "\u{1f512}", "a'b", "{\"owner\":1}", &longest] {
        let lock = client.lock(&site.name("n"), checkpoint(LONG).owner(text).label(text)).unwrap();
        assert_eq!(lock.owner(), text);
        take(&lock);
        let holders = client.holders(lock.name()).unwrap();
        assert_eq!((holders[0].owner.as_deref(), holders[0].label.as_deref()), (Some(text), Some(text)));
        let refusal = refused(&handle(&client, lock.name(), LONG));
        assert_eq!(refusal.holders[0].label.as_deref(), Some(text));
        assert!(lock.release().unwrap());
    }
}
