//! Rows of users and steps over HTTP: what changes something is sent once.

use std::sync::Arc;
use std::time::Duration;

use fencehold::{Commit, Expiry, Item, Kind, LostReason, Written};
use serde_json::json;

use crate::broker::Broker;
use crate::scripted::{Reply, Scripted, Then};
use crate::{client, in_front, options, patient};

fn unavailable(reason: &str) -> Then {
    let body = json!({"error": "kv_unavailable", "reason": reason, "detail": "not now"});
    Then::Answer(Reply::json(503, &body).header("Retry-After", "1"))
}

#[test]
fn rows_are_written_and_read() {
    let server = Scripted::start(|seen| {
        assert_eq!(seen.path, "/api/v1/kv");
        let element = match &*seen.op() {
            "put" => json!({"index": 0, "op": "put", "applied": true, "key": "k", "value": 1, "version": 7}),
            "get" => json!({"index": 0, "op": "get", "found": true, "key": "k", "value": 1, "version": 7}),
            _ => json!({"index": 0, "op": "delete", "applied": false, "reason": "absent", "value": null, "version": 0}),
        };
        Then::Answer(Reply::json(200, &json!({ "results": [element] })))
    });
    let client = client(&server);
    let rows = client.kv("a");
    let written = rows.put("k", json!(1), Expiry::Forever).unwrap();
    assert_eq!(written, Written::Applied { version: 7, value: json!(1) });
    assert_eq!(rows.get("k").unwrap().unwrap().version, 7);
    assert!(!rows.delete("k", None).unwrap().is_applied());
}

#[test]
fn a_write_that_was_sent_and_not_answered_is_in_doubt_and_not_sent_again() {
    for then in [Then::Close, Then::Silence, unavailable("kv_timeout")] {
        let server = Scripted::start(move |_| then.clone());
        let client = patient(&server.url(), Duration::from_millis(500));
        let error = client.kv("a").put("k", json!(1), Expiry::Forever).unwrap_err();
        assert_eq!(error.kind(), Kind::InDoubt, "{error}");
        let error = client.transaction().queue("q").push(&[Item::new(json!(1))]).commit().unwrap_err();
        assert_eq!(error.kind(), Kind::InDoubt, "{error}");
        assert_eq!(server.seen().len(), 2);
    }
}

#[test]
fn a_write_that_was_not_sent_or_not_done_may_be_sent_again() {
    let server = Scripted::start(|seen| {
        if seen.number == 0 {
            return unavailable("kv_check_needs_cluster_version_5");
        }
        let element = json!({"index": 0, "op": "put", "applied": true, "key": "k", "value": 1, "version": 7});
        Then::AnswerAndClose(Reply::json(200, &json!({ "results": [element] })))
    });
    let client = client(&server);
    for _ in 0..3 {
        assert!(client.kv("a").put("k", json!(1), Expiry::Forever).unwrap().is_applied());
        // Let the end of the connection arrive.
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn a_read_without_an_answer_is_asked_for_again() {
    let server = Scripted::start(|seen| match seen.number {
        0 => Then::Close,
        1 => unavailable("kv_timeout"),
        _ => {
            Then::Answer(Reply::json(200, &json!({"results": [{"index": 0, "op": "get", "found": false, "key": "k"}]})))
        }
    });
    assert!(client(&server).kv("a").get("k").unwrap().is_none());
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_step_carries_the_guard_and_its_loss_is_the_locks() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        if seen.path != "/api/v1/transaction" {
            return broker.answer(seen);
        }
        assert_eq!(seen.body["kv"][0]["key"], "n#0");
        let token = seen.body["kv"][0]["expect"].as_u64().unwrap();
        let body = if broker.holder("n").is_some_and(|owner| owner != "next") {
            json!({"transactionId": "t", "success": true, "results": [
                {"index": 0, "type": "push", "success": true, "transactionId": "x", "messageId": "m", "queueName": "q"},
                {"index": 1, "opIndex": 0, "type": "kv", "op": "check", "applied": true, "key": "n#0", "version": token},
            ]})
        } else {
            json!({"transactionId": "t", "success": false, "reason": "kv_precondition", "error": "QKV", "results": [],
                "ok": false, "failedIndex": 1, "kvReason": "version", "version": 99, "value": {"owner": "next"}})
        };
        Then::Answer(Reply::json(200, &body))
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let step = || client.transaction().guard(&lock).queue("q").push(&[Item::new(json!({"n": 1}))]).commit().unwrap();
    match step() {
        Commit::Committed(result) => assert_eq!(result.results.len(), 1, "the guard is no result of the caller's"),
        other => panic!("{other:?}"),
    }
    broker.put("n", Some("next"), Duration::from_secs(60));
    assert!(!step().is_committed());
    assert_eq!(lock.lost_reason(), Some(LostReason::Guard));
    assert!(!lock.held());
    let sent = server.seen().len();
    let error = client.transaction().guard(&lock).kv(&json!([])).commit().unwrap_err();
    assert_eq!(error.kind(), Kind::NotHeld);
    assert_eq!(server.seen().len(), sent, "nothing was sent");
}

#[test]
fn a_step_that_is_refused_for_another_reason_is_no_loss() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        if seen.path != "/api/v1/transaction" {
            return broker.answer(seen);
        }
        let body = json!({"transactionId": "t", "success": false, "reason": "kv_precondition", "error": "QKV",
            "results": [], "ok": false, "failedIndex": 1, "kvReason": "exists", "version": 3, "value": 1});
        Then::Answer(Reply::json(200, &body))
    });
    let client = client(&server);
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    let marker = json!({"op": "putIfAbsent", "ns": "a", "key": "done", "value": 1, "forever": true, "required": true});
    let commit = client.transaction().guard(&lock).kv(&marker).commit().unwrap();
    assert!(!commit.is_committed());
    assert_eq!(commit.result().precondition.as_ref().unwrap()["failedIndex"], 0);
    assert!(lock.held());
    assert!(lock.release().unwrap());
}
