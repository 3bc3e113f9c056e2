//! Waiting for a turn: at a broker that has to be asked again, and at one that can wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fencehold::{Acquire, Cancel, Kind, RefusalReason, Wait};
use serde_json::json;

use crate::broker::Broker;
use crate::scripted::{Reply, Scripted, Then};
use crate::{LONG, client, eventually, in_front, options, patient};

fn held(broker: Broker) -> Arc<Broker> {
    broker.put("n", Some("holder"), Duration::from_secs(600));
    Arc::new(broker)
}

fn timed_out(answer: Acquire) -> fencehold::Refusal {
    match answer {
        Acquire::Refused(refusal) => {
            assert_eq!(refusal.reason, RefusalReason::TimedOut);
            refusal
        }
        Acquire::Granted => panic!("granted"),
    }
}

#[test]
fn a_broker_that_cannot_wait_is_polled_ever_more_rarely() {
    let broker = held(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    let began = Instant::now();
    let refusal = timed_out(lock.acquire_within(Duration::from_secs(4)).unwrap());
    assert!(began.elapsed() >= Duration::from_secs(4));
    assert_eq!(refusal.holders[0].owner.as_deref(), Some("holder"));
    let acquires: Vec<_> = server.seen().into_iter().filter(|seen| seen.op() == "acquire").collect();
    let gaps: Vec<Duration> = acquires.windows(2).map(|two| two[1].at - two[0].at).collect();
    assert!((5..=14).contains(&acquires.len()), "{gaps:?}");
    assert!(gaps[..gaps.len() - 1].iter().all(|gap| *gap >= Duration::from_millis(74)), "{gaps:?}");
    assert!(gaps[gaps.len() - 2] > gaps[0] * 2, "{gaps:?}");
    let fields = acquires[0].operation();
    assert!(fields["waitMs"].as_u64().unwrap() > 3000 && fields["fair"] == false, "{fields}");
}

#[test]
fn a_polled_lock_is_taken_once_it_is_free() {
    let broker = held(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            broker.put("n", None, Duration::ZERO);
        });
        assert!(lock.acquire_within(LONG).unwrap().is_granted());
    });
    assert!(lock.release().unwrap());
}

#[test]
fn a_server_that_can_wait_is_asked_once_and_the_wait_is_not_taken_from_the_lease() {
    let broker = held(Broker::waiting());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", options(3)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(2500));
            broker.put("n", None, Duration::ZERO);
        });
        assert!(lock.acquire_within(LONG).unwrap().is_granted());
    });
    assert!(lock.remaining() > Duration::from_secs(1), "{:?}", lock.remaining());
    assert_eq!(server.ops(), ["acquire"]);
    assert!(lock.release().unwrap());
}

#[test]
fn a_server_that_does_not_tell_how_long_it_waited_is_asked_to_renew() {
    let broker = held(Broker::waiting());
    let server = in_front(&broker, |seen, broker| {
        let mut reply = broker.reply(seen);
        let mut body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        if body["results"][0]["acquired"] == true {
            body["results"][0].as_object_mut().unwrap().remove("waited");
        }
        reply.body = body.to_string().into_bytes();
        Then::Answer(reply)
    });
    let client = client(&server);
    let lock = client.lock("n", options(3)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(2500));
            broker.put("n", None, Duration::ZERO);
        });
        assert!(lock.acquire_within(LONG).unwrap().is_granted());
    });
    assert!(lock.remaining() > Duration::from_secs(1), "{:?}", lock.remaining());
    assert_eq!(server.ops(), ["acquire", "renew"]);
    assert!(lock.release().unwrap());
}

#[test]
fn those_in_line_know_their_place_and_give_it_up_when_the_wait_is_over() {
    let broker = held(Broker::waiting());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let first = client.lock("n", options(30).fair()).unwrap();
    let second = client.lock("n", options(30).fair()).unwrap();
    std::thread::scope(|scope| {
        let one = scope.spawn(|| first.acquire_within(LONG).unwrap().is_granted());
        eventually("the first is in line", || broker.in_line() == 1);
        eventually("the first knows its place", || first.position() == 1);
        let refusal = timed_out(second.acquire_within(Duration::from_secs(1)).unwrap());
        assert_eq!(refusal.waiting, 1, "{refusal:?}");
        assert_eq!(broker.in_line(), 1, "the second has left");
        broker.put("n", None, Duration::ZERO);
        assert!(one.join().unwrap());
    });
    assert_eq!(server.ops().iter().filter(|op| *op == "leave").count(), 1);
    assert!(first.release().unwrap());
}

#[test]
fn a_line_that_a_broker_does_not_have_is_not_pretended() {
    let broker = held(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", options(30).fair()).unwrap();
    let error = lock.acquire_within(LONG).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
}

#[test]
fn a_cancel_ends_a_wait_at_the_server_at_once_and_leaves_nothing() {
    let broker = held(Broker::waiting());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    for fair in [false, true] {
        let lock = client.lock("n", options(30).set_fair(fair)).unwrap();
        let cancel = Cancel::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| lock.acquire_cancellable(Wait::Forever, &cancel));
            let before = server.seen().len();
            eventually("it waits", || {
                server.seen().len() > before || server.ops().last().is_some_and(|op| op == "acquire")
            });
            std::thread::sleep(Duration::from_millis(100));
            let began = Instant::now();
            cancel.trigger();
            let error = waiting.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), Kind::Cancelled);
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        });
        assert_eq!(broker.in_line(), 0);
        assert_eq!(broker.holder("n").as_deref(), Some("holder"));
    }
}

#[test]
fn a_grant_that_was_made_as_the_wait_was_cancelled_is_given_back() {
    let broker = Arc::new(Broker::waiting());
    let server = in_front(&broker, |seen, broker| {
        let reply = broker.reply(seen);
        if seen.number == 0 { Then::Late(Duration::from_secs(2), reply) } else { Then::Answer(reply) }
    });
    let client = client(&server);
    let lock = client.lock("n", options(600)).unwrap();
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock.acquire_cancellable(Wait::Forever, &cancel));
        eventually("it was granted", || broker.holder("n").is_some());
        cancel.trigger();
        assert_eq!(waiting.join().unwrap().unwrap_err().kind(), Kind::Cancelled);
    });
    assert_eq!(broker.holder("n"), None);
}

#[test]
fn closing_the_client_ends_its_waits() {
    let broker = held(Broker::waiting());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let locks: Vec<_> = (0..12).map(|_| client.lock("n", options(30).fair()).unwrap()).collect();
    std::thread::scope(|scope| {
        let waiting: Vec<_> = locks.iter().map(|lock| scope.spawn(|| lock.acquire_within(Wait::Forever))).collect();
        eventually("all are in line", || broker.in_line() == 12);
        eventually("all wait", || server.ops().iter().filter(|op| *op == "acquire").count() >= 24);
        std::thread::sleep(Duration::from_millis(100));
        let began = Instant::now();
        client.close().unwrap();
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap().unwrap_err().reason(), "client_closed");
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    });
    assert_eq!(broker.in_line(), 0);
    drop((locks, client));
    eventually("no connection is left", || server.open() == 0);
}

#[test]
fn something_on_the_way_that_ends_silent_requests_costs_no_place_in_line() {
    let broker = held(Broker::waiting());
    let cuts = Arc::new(AtomicUsize::new(0));
    let counted = cuts.clone();
    let server = in_front(&broker, move |seen, broker| {
        let wait = seen.operation()["waitMs"].as_u64().unwrap_or(0);
        if seen.op() == "acquire" && wait > 1100 {
            counted.fetch_add(1, Ordering::SeqCst);
            // The place in line is taken before the gateway gives up.
            let mut short = seen.clone();
            short.body["operations"][0]["waitMs"] = 1100.into();
            drop(broker.reply(&short));
            return Then::Answer(Reply::text(504, "text/html", "<h1>Gateway Time-out</h1>"));
        }
        broker.answer(seen)
    });
    let client = client(&server);
    let first = client.lock("n", options(30).fair()).unwrap();
    let second = client.lock("n", options(30).fair()).unwrap();
    std::thread::scope(|scope| {
        let one = scope.spawn(|| first.acquire_within(LONG).unwrap().is_granted());
        eventually("the first is in line", || broker.in_line() == 1);
        let two = scope.spawn(|| second.acquire_within(LONG).unwrap().is_granted());
        eventually("the second is in line", || broker.in_line() == 2);
        std::thread::sleep(Duration::from_secs(4));
        broker.put("n", None, Duration::ZERO);
        assert!(one.join().unwrap());
        assert_eq!(broker.holder("n").as_deref(), Some(first.owner()), "served in the order of arrival");
        assert!(first.release().unwrap());
        assert!(two.join().unwrap());
        assert!(second.release().unwrap());
    });
    assert!(cuts.load(Ordering::SeqCst) >= 2);
}

#[test]
fn a_server_out_of_reach_is_ridden_out_for_the_length_of_the_wait() {
    let broker = Arc::new(Broker::queen());
    let address = Scripted::listen("127.0.0.15:0", |_| Then::Close).stop();
    let client = patient(&format!("http://{address}"), Duration::from_secs(2));
    let lock = client.lock("n", options(30)).unwrap();
    let began = Instant::now();
    let error = lock.acquire_within(Duration::from_secs(2)).unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(began.elapsed() >= Duration::from_millis(1900), "{:?}", began.elapsed());
    let starting = std::thread::spawn({
        let broker = broker.clone();
        move || {
            std::thread::sleep(Duration::from_millis(1500));
            Scripted::listen(&address.to_string(), move |seen| broker.answer(seen))
        }
    });
    assert!(lock.acquire_within(LONG).unwrap().is_granted());
    assert!(lock.release().unwrap());
    drop(starting.join().unwrap());
}

#[test]
fn a_silent_server_does_not_stretch_a_wait() {
    let server = Scripted::start(|_| Then::Silence);
    let client = patient(&server.url(), Duration::from_secs(5));
    let lock = client.lock("n", options(30)).unwrap();
    let began = Instant::now();
    let error = lock.acquire_within(Duration::from_secs(2)).unwrap_err();
    assert_eq!(error.kind(), Kind::InDoubt, "{error}");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(4), "{took:?}");
}

#[test]
fn a_wait_goes_on_through_answers_to_call_less_often() {
    let broker = Arc::new(Broker::queen());
    let calm = Arc::new(AtomicBool::new(false));
    let calmed = calm.clone();
    let server = in_front(&broker, move |seen, broker| {
        if calmed.load(Ordering::SeqCst) {
            return broker.answer(seen);
        }
        Then::Answer(
            Reply::json(429, &json!({"error": "rate_limited", "reason": "rate_limited"})).header("Retry-After", "2"),
        )
    });
    let client = patient(&server.url(), Duration::from_secs(1));
    let lock = client.lock("n", options(30)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1500));
            calm.store(true, Ordering::SeqCst);
        });
        assert!(lock.acquire_within(LONG).unwrap().is_granted());
    });
    let seen = server.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_millis(1400), "its word is kept");
    assert!(lock.release().unwrap());
}
