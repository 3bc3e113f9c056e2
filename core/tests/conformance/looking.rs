//! Showing, listing and paging.

use std::time::{Duration, SystemTime};

use fencehold::{ClientOptions, LockOptions, Renewal};

use crate::site::{LONG, Site, handle, take, wait_for_lock};
use crate::{Test, any};

pub(crate) const TESTS: &[Test] = &[
    ("a lock that nobody uses is shown as free", any, a_lock_that_nobody_uses_is_shown_as_free),
    ("holders are shown with all that is known", any, holders_are_shown_with_all_that_is_known),
    ("looking changes nothing", any, looking_changes_nothing),
    ("a list has the names of a prefix in order", any, a_list_has_the_names_of_a_prefix_in_order),
    ("pages put together are the list", any, pages_put_together_are_the_list),
    ("what expired is not listed", any, what_expired_is_not_listed),
    ("a store answers a ping", any, a_store_answers_a_ping),
];

fn a_lock_that_nobody_uses_is_shown_as_free(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let info = client.show(&name).unwrap();
    assert_eq!((info.name.as_str(), info.held), (name.as_str(), false));
    assert!(info.holders.is_empty() && info.waiters.is_empty() && client.holders(&name).unwrap().is_empty());
    assert!(client.list(&name, 10, "").unwrap().is_empty());
    let lock = handle(&client, &name, LONG);
    take(&lock);
    lock.release().unwrap();
    assert!(!client.show(&name).unwrap().held && client.list(&name, 10, "").unwrap().is_empty());
}

fn holders_are_shown_with_all_that_is_known(site: &Site) {
    let client = fencehold::Client::open_with(&site.url, ClientOptions::new().label("billing")).unwrap();
    let (name, other) = (site.name("n"), site.name("m"));
    let before = SystemTime::now();
    let lock = client.lock(&name, LockOptions::ttl(LONG).renewal(Renewal::Checkpoint)).unwrap();
    let labelled = client.lock(&other, LockOptions::ttl(LONG).label("one \"night\"\\")).unwrap();
    take(&lock);
    take(&labelled);
    let info = site.client().show(&name).unwrap();
    assert!(info.held);
    let [holder] = &info.holders[..] else { panic!("{info:?}") };
    assert_eq!(holder.owner.as_deref(), Some(lock.owner()));
    assert_eq!(holder.token, lock.token().unwrap().get());
    if site.traits.has_slots {
        assert_eq!(holder.label.as_deref(), Some("billing"));
        assert_eq!(holder.slot, 0);
        let slack = Duration::from_secs(5);
        let since = holder.since.expect("since");
        assert!(since > before - slack && since < SystemTime::now() + slack);
        let left = holder.expires_at.expect("an end").duration_since(SystemTime::now()).expect("in the future");
        assert!(left > LONG - 2 * slack && left < LONG + slack, "{left:?}");
        let seen = client.holders(&other).unwrap();
        assert_eq!(seen[0].label.as_deref(), Some("one \"night\"\\"));
    }
}

fn looking_changes_nothing(site: &Site) {
    let (one, two) = (site.client(), site.client());
    let name = site.name("n");
    let lock = handle(&one, &name, LONG);
    take(&lock);
    let first = two.show(&name).unwrap();
    for _ in 0..20 {
        assert_eq!(two.list(&name, 10, "").unwrap().len(), 1);
        assert_eq!(two.holders(&name).unwrap()[0].token, first.holders[0].token);
    }
    assert!(lock.held() && lock.release().unwrap());
}

/// Names that sort differently as keys, as texts and by length.
const TAILS: [&str; 14] = ["", " ", "!", "!x", "\"", "$", "-", "/", "/a", "0", "A", "a", "é", "\u{1f512}"];

fn a_list_has_the_names_of_a_prefix_in_order(site: &Site) {
    let client = site.client();
    let base = site.name("n");
    let held: Vec<_> = TAILS.iter().rev().map(|tail| handle(&client, &format!("{base}{tail}"), LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    let names = |prefix: &str, limit: u32, after: &str| {
        let found = client.list(prefix, limit, after).unwrap();
        assert!(found.iter().all(|lock| lock.held && lock.holders.len() == 1), "{found:?}");
        found.into_iter().map(|lock| lock.name).collect::<Vec<_>>()
    };
    let mut wanted: Vec<String> = TAILS.iter().map(|tail| format!("{base}{tail}")).collect();
    wanted.sort_unstable();
    assert_eq!(names(&base, 1_000, ""), wanted);
    assert_eq!(names(&base, 3, ""), wanted[..3]);
    for (at, name) in wanted.iter().enumerate() {
        assert_eq!(names(&base, 1_000, name), wanted[at + 1..], "after {name:?}");
    }
    assert_eq!(names(&format!("{base}!"), 10, ""), [format!("{base}!"), format!("{base}!x")]);
    assert!(names(&format!("{base}z"), 10, "").is_empty());
}

fn pages_put_together_are_the_list(site: &Site) {
    let client = site.client();
    let base = site.name("p");
    // More than one page of whatever the store reads at a time.
    let count = if site.traits.has_slots { 1_203 } else { 203 };
    let held: Vec<_> = (0..count).map(|at| handle(&client, &format!("{base}/{at}"), LONG)).collect();
    held.iter().for_each(|lock| {
        take(lock);
    });
    let mut wanted: Vec<String> = held.iter().map(|lock| lock.name().to_string()).collect();
    wanted.sort_unstable();
    for limit in [1_000, 97] {
        let mut seen: Vec<String> = Vec::new();
        loop {
            let after = seen.last().cloned().unwrap_or_default();
            let page = client.list(&format!("{base}/"), limit, &after).unwrap();
            assert!(page.len() <= limit as usize);
            if page.is_empty() {
                break;
            }
            seen.extend(page.into_iter().map(|lock| lock.name));
        }
        assert_eq!(seen, wanted, "pages of {limit}");
    }
    client.close().unwrap();
}

fn what_expired_is_not_listed(site: &Site) {
    let client = site.client();
    let name = site.name("n");
    let lock = handle(&client, &name, site.short(1_000));
    take(&lock);
    let end = std::time::Instant::now() + lock.ttl() + site.traits.step + Duration::from_secs(5);
    while client.show(&name).unwrap().held {
        assert!(std::time::Instant::now() < end, "still shown as held");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(client.list(&name, 10, "").unwrap().is_empty());
    wait_for_lock(&handle(&client, &name, LONG));
}

fn a_store_answers_a_ping(site: &Site) {
    let client = site.client();
    client.ping().unwrap();
    assert!(client.store().starts_with(&site.kind));
    client.close().unwrap();
    assert_eq!(client.ping().unwrap_err().reason(), "client_closed");
}
