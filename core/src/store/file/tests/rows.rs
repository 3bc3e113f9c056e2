//! What a store of rows promises, on this store.

use std::ops::ControlFlow;

use super::*;

#[test]
fn rows_come_back_as_they_were_written() {
    let folder = folder();
    let store = open(folder.path());
    let mut version = 0;
    store
        .transact(Intent::Grow, soon(), &mut |rows| {
            let row = NewRow { value: b"{\"a\":1}", expires: Some(Moment::from_nanos(77)), client: ClientId::NONE };
            version = rows.put(Table::Queues, b"k", row)?;
            assert!(rows.get(Table::Locks, b"k")?.is_none());
            assert_eq!(rows.get(Table::Queues, b"k")?.map(|row| row.version), Some(version));
            Ok(())
        })
        .expect("written");
    let again = open(folder.path());
    again
        .transact(Intent::Keep, soon(), &mut |rows| {
            let row = rows.get(Table::Queues, b"k")?.expect("the row");
            assert_eq!((row.version, row.expires), (version, Some(Moment::from_nanos(77))));
            assert_eq!((row.client, row.value.as_slice()), (ClientId::NONE, b"{\"a\":1}".as_slice()));
            assert!(row.updated_micros > 1_600_000_000_000_000);
            assert!(rows.delete(Table::Queues, b"k")?);
            assert!(!rows.delete(Table::Queues, b"k")?);
            Ok(())
        })
        .expect("read");
    assert!(get(&store, "k").expect("read").is_none());
}

#[test]
fn a_refused_transaction_changes_nothing_and_versions_go_on() {
    let folder = folder();
    let store = open(folder.path());
    let before = put(&store, "kept", "1").expect("written");
    let refused = store.transact(Intent::Grow, soon(), &mut |rows| {
        let row = NewRow { value: b"2", expires: None, client: ClientId::NONE };
        rows.put(Table::Locks, b"kept", row)?;
        rows.put(Table::Locks, b"new", row)?;
        Err(Error::invalid("locks_bad_name", "no"))
    });
    assert_eq!(reason(refused), "invalid/locks_bad_name");
    assert_eq!(get(&store, "kept").expect("read").map(|(row, _)| row.version), Some(before));
    assert!(get(&store, "new").expect("read").is_none());
    assert!(put(&store, "kept", "3").expect("written") > before);
}

#[test]
fn scans_go_by_prefix_and_after_and_the_last_is_found() {
    let folder = folder();
    let store = open(folder.path());
    for key in ["a#0", "b#0", "b#1", "b#2", "c#0"] {
        put(&store, key, key).expect("written");
    }
    store
        .transact(Intent::Read, soon(), &mut |rows| {
            let mut seen = |prefix: &str, after: Option<&str>, most: usize| {
                let mut keys = Vec::new();
                rows.scan(Table::Locks, prefix.as_bytes(), after.map(str::as_bytes), &mut |key, row| {
                    assert_eq!(key, row.value);
                    keys.push(String::from_utf8_lossy(key).into_owned());
                    if keys.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })
                .map(|()| keys.join(" "))
            };
            assert_eq!(seen("b#", None, 9)?, "b#0 b#1 b#2");
            assert_eq!(seen("b#", Some("b#0"), 9)?, "b#1 b#2");
            assert_eq!(seen("b#", Some("b#00"), 9)?, "b#1 b#2");
            assert_eq!(seen("b#", Some("a"), 9)?, "b#0 b#1 b#2");
            assert_eq!(seen("b#", Some("c"), 9)?, "");
            assert_eq!(seen("", None, 2)?, "a#0 b#0");
            assert_eq!(seen("x", None, 9)?, "");
            let mut last = |table, prefix: &str| {
                rows.last(table, prefix.as_bytes())
                    .map(|found| found.map(|(key, _)| String::from_utf8_lossy(&key).into_owned()))
            };
            assert_eq!(last(Table::Locks, "b#")?.as_deref(), Some("b#2"));
            assert_eq!(last(Table::Locks, "c#")?.as_deref(), Some("c#0"));
            assert_eq!(last(Table::Locks, "bb")?, None);
            assert_eq!(last(Table::Queues, "")?, None);
            Ok(())
        })
        .expect("read");
}

#[test]
fn the_map_grows_under_every_process_that_has_it_open() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "first", "1").expect("written");
    let value = "x".repeat(1 << 20);
    let child = Child::fork(|| {
        let store = open(folder.path());
        (0..100).all(|at| put(&store, &format!("large{at:03}"), &value).is_ok())
    });
    assert!(child.went_well());
    // This process still has the small map.
    let (row, _) = get(&store, "large099").expect("read").expect("the row");
    assert_eq!(row.value.len(), value.len());
    put(&store, "last", "1").expect("written");
}

#[test]
fn two_clients_of_one_process_share_what_is_open() {
    let folder = folder();
    let (one, two) = (open(folder.path()), open(&folder.path().join(".")));
    put(&one, "k", "1").expect("written");
    assert!(get(&two, "k").expect("read").is_some());
    assert_eq!(me(&one), me(&two));
    let (a, b) = (one.home(soon()).expect("open"), two.home(soon()).expect("open"));
    assert!(std::ptr::eq(a, b));
}

#[test]
fn a_panic_in_a_body_rolls_back_and_leaves_the_store_free() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "k", "1").expect("written");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.transact(Intent::Keep, soon(), &mut |rows| {
            rows.delete(Table::Locks, b"k")?;
            panic!("planned by a test");
        })
    }));
    assert!(panicked.is_err());
    assert!(get(&store, "k").expect("read").is_some());
}

#[test]
fn a_waiting_word_is_woken_from_another_process() {
    let folder = folder();
    let store = open(folder.path());
    let word = store.wait_word().expect("a word");
    assert!(word.shared);
    assert_ne!(word.id, store.wait_word().expect("another").id);
    let before = word.word.load(std::sync::atomic::Ordering::Acquire);
    let child = Child::fork(|| {
        let store = open(folder.path());
        put(&store, "k", "1").is_ok() && {
            store.wake(word.id);
            true
        }
    });
    let began = boot_now();
    while word.word.load(std::sync::atomic::Ordering::Acquire) == before {
        crate::futex::wait(word.word, before, Duration::from_secs(20), true);
    }
    assert!(boot_now().since(began) < Duration::from_secs(10));
    assert!(child.went_well());
}

#[test]
fn a_store_on_a_tests_clock_shows_that_clock() {
    let folder = folder();
    let clock = crate::clock::ManualClock::default();
    let store = FileStore::open(folder.path(), Clock::Manual(clock.clone())).expect("a store");
    clock.advance(Duration::from_secs(5));
    let mut seen = Moment::from_nanos(0);
    store
        .transact(Intent::Read, Moment::from_nanos(0), &mut |rows| {
            seen = rows.now();
            Ok(())
        })
        .expect("read");
    assert_eq!(seen, clock.now());
}
