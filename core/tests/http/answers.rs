//! What an answer means, or its absence.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fencehold::{Acquire, Client, Kind, RefusalReason, ReleaseId};
use serde_json::json;

use crate::broker::Broker;
use crate::scripted::{Reply, Scripted, Then};
use crate::{client, in_front, options, patient};

#[test]
fn a_lock_is_taken_renewed_shown_and_given_back() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    client.ping().unwrap();
    let lock = client.lock("a/b", options(30).label("tester")).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let token = lock.token().unwrap().get();
    let info = client.show("a/b").unwrap();
    assert_eq!(info.holders[0].token, token);
    assert_eq!(info.holders[0].label.as_deref(), Some("tester"));
    assert_eq!(info.holders[0].owner.as_deref(), Some(lock.owner()));
    assert!(info.holders[0].since.is_some() && info.holders[0].expires_at.is_some());
    assert!(lock.release().unwrap());
    assert!(!client.show("a/b").unwrap().held);
    assert_eq!(server.ops(), ["", "acquire", "get", "release", "get"]);
    assert_eq!(server.connections(), 1);
    let acquire = server.seen()[1].operation();
    assert_eq!(
        acquire,
        json!({
            "op": "acquire", "name": "a/b", "ttlSeconds": 30, "owner": lock.owner(), "waitMs": 0, "fair": false,
            "label": "tester",
        })
    );
}

#[test]
fn a_lifetime_is_rounded_up_to_whole_seconds_and_shown() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", Duration::from_millis(1001)).unwrap();
    assert_eq!(lock.ttl(), Duration::from_secs(2));
    assert!(lock.acquire().unwrap().is_granted());
    assert_eq!(server.seen()[0].operation()["ttlSeconds"], 2);
}

#[test]
fn somebody_elses_lock_is_an_answer_that_tells_who_and_until_when() {
    let broker = Arc::new(Broker::queen());
    broker.put("n", Some("web-2"), Duration::from_secs(60));
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    let Acquire::Refused(refusal) = lock.acquire().unwrap() else { panic!() };
    assert_eq!(refusal.reason, RefusalReason::Held);
    assert_eq!(refusal.holders[0].owner.as_deref(), Some("web-2"));
    assert!(refusal.holders[0].expires_at.is_some());
}

#[test]
fn a_semaphore_gives_its_permits_and_no_more() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let locks: Vec<_> = (0..3).map(|_| client.semaphore("s", 2, options(30)).unwrap()).collect();
    let granted: Vec<bool> = locks.iter().map(|lock| lock.acquire().unwrap().is_granted()).collect();
    assert_eq!(granted, [true, true, false]);
    assert_ne!(locks[0].slot().unwrap(), locks[1].slot().unwrap());
    assert_eq!(server.seen()[0].operation()["limit"], 2);
    assert!(locks[0].release().unwrap());
    assert!(locks[2].acquire().unwrap().is_granted());
}

#[test]
fn a_lost_answer_to_an_acquire_is_asked_for_again_and_its_grant_is_recognised() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.number == 0 { Then::Close } else { Then::Answer(reply) }
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    // When the lease began is known only since the renewal.
    assert_eq!(server.ops(), ["acquire", "acquire", "renew"]);
    assert!(lock.release().unwrap());
    assert_eq!(broker.holder("n"), None);
}

#[test]
fn a_chosen_owner_whose_own_grant_had_no_answer_is_not_taken_for_a_stranger() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.number == 0 { Then::Close } else { Then::Answer(reply) }
    });
    let client = client(&server);
    let lock = client.lock("n", options(30).owner("deploy-42")).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let other = client.lock("n", options(30).owner("deploy-42")).unwrap();
    let Acquire::Refused(refusal) = other.acquire().unwrap() else { panic!() };
    assert_eq!(refusal.reason, RefusalReason::OwnerInUse);
}

#[test]
fn an_acquire_without_any_answer_is_in_doubt_and_the_next_finds_its_grant() {
    let broker = Arc::new(Broker::queen());
    let silent = Arc::new(AtomicUsize::new(1));
    let hush = silent.clone();
    let server = in_front(&broker, move |seen, broker| {
        let reply = broker.reply(seen);
        if hush.load(Ordering::SeqCst) > 0 { Then::Silence } else { Then::Answer(reply) }
    });
    let client = patient(&server.url(), Duration::from_millis(300));
    let lock = client.lock("n", options(30)).unwrap();
    let error = lock.acquire().unwrap_err();
    assert_eq!(error.kind(), Kind::InDoubt, "{error}");
    assert!(error.until().is_some());
    assert!(error.cause().unwrap().detail().contains("no answer within"), "{error:?}");
    silent.store(0, Ordering::SeqCst);
    assert!(lock.acquire().unwrap().is_granted());
    assert!(lock.remaining() < Duration::from_secs(30));
    assert!(lock.release().unwrap());
}

#[test]
fn nothing_sent_means_nothing_done() {
    let address = Scripted::listen("127.0.0.14:0", |_| Then::Close).stop();
    let client = patient(&format!("http://{address}"), Duration::from_secs(1));
    let lock = client.lock("n", options(30)).unwrap();
    let error = lock.acquire().unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert_eq!(client.ping().unwrap_err().kind(), Kind::Unreachable);
}

#[test]
fn a_503_after_the_grant_converges() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.number == 0 {
            let body = json!({"error": "kv_unavailable", "reason": "kv_timeout", "detail": "no quorum"});
            return Then::Answer(Reply::json(503, &body).header("Retry-After", "1"));
        }
        Then::Answer(reply)
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    assert!(lock.release().unwrap());
    assert_eq!(broker.holder("n"), None);
}

#[test]
fn a_503_that_stays_is_in_doubt_unless_it_says_that_nothing_ran() {
    for (reason, kind) in [("kv_timeout", Kind::InDoubt), ("kv_disabled", Kind::Unreachable)] {
        let server = Scripted::start(move |_| {
            Then::Answer(Reply::json(503, &json!({"error": "x", "reason": reason, "detail": "not now"})))
        });
        let client = client(&server);
        let lock = client.lock("n", options(30)).unwrap();
        let error = lock.acquire().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(server.seen().len(), 3, "one try and two more");
    }
}

#[test]
fn refusals_have_kinds_of_their_own() {
    let cases = [
        (400, json!({"error": "x", "reason": "locks_bad_name", "detail": "no"}), Kind::Invalid, "locks_bad_name"),
        (413, json!({"error": "x", "reason": "kv_key_too_large"}), Kind::Invalid, "kv_key_too_large"),
        (401, json!({"error": "Token has expired"}), Kind::Unauthorized, "unauthorized"),
        (403, json!({"error": "Insufficient permissions"}), Kind::Forbidden, "forbidden"),
        (403, json!({"error": "kv_quota_exceeded", "reason": "kv_quota_exceeded"}), Kind::Store, "kv_quota_exceeded"),
        (404, json!({"error": "Not Found", "code": "no_such_route"}), Kind::Unsupported, "no_such_route"),
        (307, json!({}), Kind::Unsupported, "redirected"),
        (501, json!({}), Kind::Unsupported, "unsupported"),
        (507, json!({"error": "disk", "code": "storage_full"}), Kind::Store, "storage_full"),
        (204, json!({}), Kind::Unsupported, "bad_answer"),
    ];
    for (status, body, kind, reason) in cases {
        let server = Scripted::start(move |_| {
            Then::Answer(Reply::json(status, &body).header("Location", "http://127.0.0.1:1/elsewhere"))
        });
        let client = client(&server);
        let lock = client.lock("n", options(30)).unwrap();
        let error = lock.acquire().unwrap_err();
        assert_eq!((error.kind(), error.reason()), (kind, reason), "{status}: {error}");
        assert_eq!(server.seen().len(), 1, "{status} is final");
    }
}

#[test]
fn fewer_calls_are_made_when_the_broker_asks_for_it() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        if seen.number == 0 {
            let body = json!({"error": "rate_limited", "reason": "rate_limited"});
            return Then::Answer(Reply::json(429, &body).header("Retry-After", "1"));
        }
        broker.answer(seen)
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].at - seen[0].at >= Duration::from_millis(750), "{:?}", seen[1].at - seen[0].at);
}

#[test]
fn a_broker_that_wants_too_long_a_pause_is_not_waited_for() {
    let server = Scripted::start(|_| {
        Then::Answer(Reply::json(429, &json!({"error": "slow down", "code": "overloaded"})).header("Retry-After", "30"))
    });
    let client = patient(&server.url(), Duration::from_secs(2));
    let lock = client.lock("n", options(30)).unwrap();
    let began = Instant::now();
    let error = lock.acquire().unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::RateLimited, "overloaded"), "{error}");
    assert!(error.to_string().contains("30 s"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(15));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn answers_that_make_no_sense_are_refused() {
    let grant = |change: fn(&mut serde_json::Value)| {
        let mut element = json!({
            "index": 0, "op": "acquire", "name": "n", "acquired": true, "slot": 0, "token": 7, "owner": "o",
            "guard": {"op": "check", "ns": "queen-locks", "key": "n#0", "expect": 7, "required": true},
        });
        change(&mut element);
        Reply::json(200, &json!({ "results": [element] }))
    };
    let cases = [
        Reply::text(200, "text/html", "<h1>Please log in</h1>"),
        Reply::text(200, "application/json", "{\"results\":[{\"index\":0,"),
        Reply::json(200, &json!([])),
        Reply::json(200, &json!({"results": []})),
        Reply::json(200, &json!({"results": [1, 2]})),
        grant(|grant| grant["name"] = "other".into()),
        grant(|grant| grant["op"] = "renew".into()),
        grant(|grant| grant["index"] = 1.into()),
        grant(|grant| grant["token"] = 0.into()),
        grant(|grant| grant["token"] = "7".into()),
        grant(|grant| grant["token"] = 7.5.into()),
        grant(|grant| grant["slot"] = 1.into()),
        grant(|grant| grant["guard"]["expect"] = 8.into()),
        grant(|grant| grant["acquired"] = "yes".into()),
        grant(|grant| {
            grant["acquired"] = false.into();
            grant["reason"] = "because".into();
        }),
    ];
    for reply in cases {
        let shown = format!("{:?}", String::from_utf8_lossy(&reply.body));
        let server = Scripted::start(move |_| Then::Answer(reply.clone()));
        let client = client(&server);
        let lock = client.lock("n", options(30)).unwrap();
        let error = lock.acquire().unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Unsupported, "bad_answer"), "{shown}: {error}");
        assert!(!lock.held());
    }
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let server = Scripted::start(|_| Then::Endless);
    let client = patient(&server.url(), Duration::from_secs(60));
    let error = client.show("n").unwrap_err();
    assert_eq!(error.reason(), "bad_answer", "{error}");
    assert!(error.to_string().contains("longer than"), "{error}");
}

#[test]
fn half_an_answer_is_none() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.number == 0 { Then::Half(reply) } else { Then::Answer(reply) }
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    assert_eq!(server.ops(), ["acquire", "acquire", "renew"]);
}

#[test]
fn an_answer_that_comes_twice_is_read_once() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| Then::Twice(broker.reply(seen)));
    let client = client(&server);
    let one = client.lock("one", options(30)).unwrap();
    assert!(one.acquire().unwrap().is_granted());
    let two = client.lock("two", options(30)).unwrap();
    assert!(two.acquire().unwrap().is_granted(), "the second answer is not taken for this one's");
    assert!(one.release().unwrap() && two.release().unwrap());
}

#[test]
fn a_lost_answer_to_a_renewal_is_no_loss() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.op() == "renew" && seen.number % 2 == 1 { Then::Close } else { Then::Answer(reply) }
    });
    let client = client(&server);
    let lock = client.lock("n", options(1)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        assert!(lock.keep_alive(), "{:?}", lock.last_error());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(lock.release().unwrap());
    assert_eq!(broker.holder("n"), None);
}

#[test]
fn a_lost_answer_to_a_release_is_asked_for_again_and_counts_once() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.op() == "release" && seen.number == 1 {
            broker.put("n", Some("next"), Duration::from_secs(60));
            return Then::Close;
        }
        Then::Answer(reply)
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    assert!(lock.release().unwrap(), "the first one was carried out");
    assert_eq!(server.ops(), ["acquire", "release", "release"]);
    assert_eq!(broker.holder("n").as_deref(), Some("next"), "the repeat took nothing from whoever came next");
}

#[test]
fn a_release_without_an_answer_says_until_when_it_may_be_held() {
    let broker = Arc::new(Broker::queen());
    let server =
        in_front(&broker, |seen, broker| if seen.op() == "release" { Then::Silence } else { broker.answer(seen) });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let began = Instant::now();
    let error = lock.release().unwrap_err();
    assert_eq!(error.kind(), Kind::InDoubt, "{error}");
    assert!(error.until().is_some());
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(!lock.held());
}

#[test]
fn an_operator_ends_a_hold_by_its_owner_or_its_token() {
    let broker = Arc::new(Broker::queen());
    broker.put("n", Some("stuck"), Duration::from_secs(60));
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let owner = |name: &str| ReleaseId::Owner(name.into());
    assert!(!client.force_release("n", 0, &owner("other")).unwrap());
    assert!(!client.force_release("n", 0, &ReleaseId::Token(99)).unwrap());
    assert!(!client.force_release("n", 1, &owner("stuck")).unwrap());
    assert_eq!(broker.holder("n").as_deref(), Some("stuck"));
    assert!(client.force_release("n", 0, &owner("stuck")).unwrap());
    assert_eq!(broker.holder("n"), None);
    broker.put("n", Some("stuck"), Duration::from_secs(60));
    let token = client.holders("n").unwrap()[0].token;
    assert!(client.force_release("n", 0, &ReleaseId::Token(token)).unwrap());
}

#[test]
fn locks_are_listed_page_by_page_in_the_order_of_their_names() {
    let broker = Arc::new(Broker::queen());
    // The key of "a!" comes before that of "a", and the name after it.
    for name in ["b", "a", "a!", "a/1", "c"] {
        broker.put(name, Some(name), Duration::from_secs(60));
    }
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let names = |prefix: &str, limit: u32, after: &str| -> Vec<String> {
        client.list(prefix, limit, after).unwrap().into_iter().map(|lock| lock.name).collect()
    };
    assert_eq!(names("", 10, ""), ["a", "a!", "a/1", "b", "c"]);
    assert_eq!(names("", 2, ""), ["a", "a!"]);
    assert_eq!(names("", 2, "a!"), ["a/1", "b"]);
    assert_eq!(names("a", 10, "a"), ["a!", "a/1"]);
    assert_eq!(names("z", 10, ""), Vec::<String>::new());
}

#[test]
fn whoever_may_only_read_sees_locks_as_rows() {
    let broker = Arc::new(Broker::queen());
    broker.put("n", Some("web-2"), Duration::from_secs(60));
    let server = in_front(&broker, |seen, broker| match &*seen.path {
        "/api/v1/locks" => Then::Answer(Reply::json(403, &json!({"error": "Insufficient permissions"}))),
        _ => broker.answer(seen),
    });
    let client = client(&server);
    let info = client.show("n").unwrap();
    assert_eq!(info.holders[0].owner.as_deref(), Some("web-2"));
    assert!(!client.show("other").unwrap().held);
    let lock = client.lock("other", options(30)).unwrap();
    assert_eq!(lock.acquire().unwrap_err().kind(), Kind::Forbidden);
}

#[test]
fn a_server_that_settles_is_not_there_yet() {
    let server = Scripted::start(|_| Then::Answer(Reply::json(503, &json!({"status": "settling"}))));
    let error = client(&server).ping().unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
}

#[test]
fn urls_are_checked_when_the_client_is_opened() {
    for bad in ["http://", "http://a:x", "http://a,ftp://b", "http://a?x=1", "https://a#b"] {
        assert_eq!(Client::open(bad).unwrap_err().reason(), "locks_bad_url", "{bad}");
    }
    let client = Client::open("http://user:hunter2@a:6632,https://b/queen/").unwrap();
    assert_eq!(client.store(), "http://a:6632,https://b/queen");
    assert!(!format!("{client:?}").contains("hunter2"));
}
