//! Queues, timers and steps.

mod site;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use site::{Answer, Peer, Site};

fn push(peer: &mut Peer, queue: &str, transaction: &str, payload: Value) -> Value {
    let item = json!({"queue": queue, "payload": payload, "transactionId": transaction});
    let answer = peer.post("/api/v1/push", &json!({"items": [item]}));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()[0].clone()
}

fn pop(peer: &mut Peer, queue: &str, query: &str) -> Option<Value> {
    let answer = peer.ask("GET", &format!("/api/v1/pop/queue/{queue}?{query}"), "");
    match answer.status {
        204 => {
            assert!(answer.text.is_empty() && !answer.headers.contains_key("content-type"), "{answer:?}");
            None
        }
        _ => {
            assert_eq!(answer.status, 200, "{answer:?}");
            Some(answer.json())
        }
    }
}

fn ack(message: &Value, status: &str) -> Value {
    json!({"type": "ack", "transactionId": message["transactionId"], "partitionId": message["partitionId"],
        "leaseId": message["leaseId"], "status": status, "consumerGroup": message["consumerGroup"]})
}

fn step(peer: &mut Peer, body: &Value) -> Value {
    let answer = peer.post("/api/v1/transaction", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    assert!(body["transactionId"].is_string(), "{body}");
    body
}

fn guard_of(peer: &mut Peer, name: &str, owner: &str) -> Value {
    peer.acquire(name, owner)["guard"].clone()
}

#[test]
fn messages_are_delivered_in_order_and_once_when_acknowledged() {
    let site = Site::new();
    let mut peer = site.connect();
    assert_eq!(pop(&mut peer, "unknown", ""), None);
    for n in 0..5 {
        let pushed = push(&mut peer, "q", &format!("t{n}"), json!({"n": n}));
        assert_eq!(
            (&pushed["status"], &pushed["offset"], &pushed["queueName"]),
            (&json!("queued"), &json!(n), &json!("q"))
        );
    }
    assert_eq!(push(&mut peer, "q", "t3", json!(0))["status"], "duplicate");
    let batch = pop(&mut peer, "q", "batch=3").unwrap();
    let messages = batch["messages"].as_array().unwrap().clone();
    assert_eq!(messages.iter().map(|message| &message["data"]["n"]).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(batch["partitionId"].is_string() && batch["partition"] == "Default");
    assert_eq!(pop(&mut peer, "q", ""), None, "the partition is leased");
    let wrong = json!({"transactionId": "t0", "partitionId": batch["partitionId"], "leaseId": "another"});
    assert_eq!(peer.post("/api/v1/ack", &wrong).json()[0]["success"], false);
    let one = peer.post("/api/v1/ack", &ack(&messages[0], "completed")).json()[0].clone();
    assert_eq!(
        one,
        json!({"index": 0, "transactionId": "t0", "success": true, "error": null, "leaseReleased": false,
            "dlq": false, "noop": false})
    );
    let rest: Vec<Value> = messages[1..].iter().map(|message| ack(message, "ok")).collect();
    let rest = peer.post("/api/v1/ack/batch", &json!({"acknowledgments": rest, "consumerGroup": null})).json();
    assert_eq!((&rest[0]["leaseReleased"], &rest[1]["leaseReleased"]), (&json!(false), &json!(true)));
    let left = pop(&mut peer, "q", "").unwrap();
    assert_eq!(left["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_lease_that_ends_delivers_the_rest_again() {
    let site = Site::new();
    let mut peer = site.connect();
    for n in 0..3 {
        push(&mut peer, "q", &format!("t{n}"), json!(n));
    }
    let first = pop(&mut peer, "q", "leaseSeconds=1").unwrap()["messages"].clone();
    peer.post("/api/v1/ack", &ack(&first[1], "completed"));
    let again = pop(&mut peer, "q", "wait=true&timeout=10000").unwrap()["messages"].clone();
    let numbers: Vec<i64> = again.as_array().unwrap().iter().map(|message| message["data"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [0, 2]);
    assert_eq!(again[0]["deliveryAttempt"], 2);
    let late = peer.post("/api/v1/ack", &ack(&first[0], "completed")).json();
    assert_eq!(late[0]["success"], false, "its lease is over: {late}");
    let lease = again[0]["leaseId"].as_str().unwrap();
    let extended = peer.post(&format!("/api/v1/lease/{lease}/extend"), &json!({"seconds": 60})).json();
    assert_eq!(extended["extended"], true);
    assert_eq!(peer.post("/api/v1/lease/none/extend", &json!({"seconds": 60})).json()["extended"], false);
}

#[test]
fn what_fails_comes_again_until_it_is_a_dead_letter() {
    let site = Site::new();
    let mut peer = site.connect();
    push(&mut peer, "q", "bad", json!(1));
    push(&mut peer, "q", "good", json!(2));
    for round in 1..=3 {
        let batch = pop(&mut peer, "q", "batch=1").unwrap()["messages"].clone();
        assert_eq!((&batch[0]["transactionId"], &batch[0]["deliveryAttempt"]), (&json!("bad"), &json!(round)));
        let done = peer.post("/api/v1/ack", &ack(&batch[0], "failed")).json()[0].clone();
        assert_eq!((&done["success"], &done["dlq"]), (&json!(true), &json!(round == 3)), "{done}");
    }
    let good = pop(&mut peer, "q", "").unwrap()["messages"][0].clone();
    assert_eq!(good["transactionId"], "good");
    let mut dead = ack(&good, "dlq");
    dead["error"] = json!("no such customer");
    assert_eq!(peer.post("/api/v1/ack", &dead).json()[0]["dlq"], true);
    let letters = peer.ask("GET", "/api/v1/dlq?queue=q&offset=1&limit=5", "").json();
    assert_eq!((&letters["total"], letters["messages"].as_array().unwrap().len()), (&json!(2), 1));
    let letter = &letters["messages"][0];
    assert_eq!((&letter["data"], &letter["errorMessage"]), (&json!(2), &json!("no such customer")));
    assert_eq!((&letter["partition"], &letter["partitionId"]), (&json!("Default"), &good["partitionId"]));
    assert_eq!(peer.ask("GET", "/api/v1/dlq?queue=q&consumerGroup=other", "").json()["total"], 0);
}

#[test]
fn groups_read_on_their_own() {
    let site = Site::new();
    let mut peer = site.connect();
    push(&mut peer, "q", "old", json!(1));
    assert_eq!(pop(&mut peer, "q", "consumerGroup=new"), None, "a group begins behind what is there");
    let all = pop(&mut peer, "q", "consumerGroup=all&subscriptionMode=all").unwrap();
    assert_eq!((&all["consumerGroup"], &all["messages"][0]["transactionId"]), (&json!("all"), &json!("old")));
    push(&mut peer, "q", "fresh", json!(2));
    assert_eq!(pop(&mut peer, "q", "consumerGroup=new").unwrap()["messages"][0]["transactionId"], "fresh");
    let own = pop(&mut peer, "q", "autoAck=true").unwrap();
    assert_eq!((own["messages"].as_array().unwrap().len(), &own["leaseId"]), (2, &json!("")));
    assert_eq!(pop(&mut peer, "q", ""), None);
}

#[test]
fn a_pop_waits_for_a_push() {
    let site = Site::new();
    let mut peer = site.connect();
    let mut waiting = site.connect();
    let began = Instant::now();
    waiting.send("GET", "/api/v1/pop/queue/q?wait=true&timeout=20000", "");
    std::thread::sleep(Duration::from_millis(100));
    push(&mut peer, "q", "t", json!(7));
    let answer = waiting.receive();
    assert_eq!(answer.json()["messages"][0]["data"], 7);
    assert!(began.elapsed() < Duration::from_secs(10));
    let nothing = peer.ask("GET", "/api/v1/pop/queue/other?wait=true&timeout=50", "");
    assert_eq!(nothing.status, 204);
}

#[test]
fn a_guarded_step_is_all_or_nothing() {
    let site = Site::new();
    let mut peer = site.connect();
    push(&mut peer, "in", "in-1", json!(1));
    let message = pop(&mut peer, "in", "").unwrap()["messages"][0].clone();
    let guard = guard_of(&mut peer, "n", "box-9");
    let body = |guard: &Value| {
        let items = json!([{"queue": "out", "partition": "c", "payload": {"n": 1}, "transactionId": "out-1"},
            {"queue": "out", "partition": "c", "payload": {"n": 2}, "transactionId": "out-1"}]);
        json!({
            "operations": [ack(&message, "completed"), {"type": "push", "items": items}],
            "requiredLeases": [message["leaseId"]],
            "kv": [guard, {"op": "put", "ns": "state", "key": "k", "value": 1, "forever": true}],
            "timers": [{"op": "schedule", "queue": "later", "timerKey": "t", "delayMs": 3_600_000, "txn": "x",
                "payload": "MQ=="}],
        })
    };
    let mut stale = guard.clone();
    stale["expect"] = json!(guard["expect"].as_u64().unwrap() - 1);
    let lost = step(&mut peer, &body(&stale));
    assert_eq!(
        (&lost["success"], &lost["reason"], &lost["ok"], &lost["failedIndex"], &lost["kvReason"]),
        (&json!(false), &json!("kv_precondition"), &json!(false), &json!(3), &json!("version"))
    );
    assert_eq!(
        (&lost["value"]["owner"], &lost["version"], &lost["results"]),
        (&json!("box-9"), &guard["expect"], &json!([]))
    );
    assert_eq!(pop(&mut peer, "out", ""), None);
    assert_eq!(peer.ask("GET", "/api/v1/kv/state/k", "").json()["found"], false);
    assert_eq!(peer.ask("GET", "/api/v1/timers/later/t", "").json()["found"], false);
    let done = step(&mut peer, &body(&guard));
    assert_eq!((&done["success"], done.get("error")), (&json!(true), None));
    let results = done["results"].as_array().unwrap();
    let indexes: Vec<u64> = results.iter().map(|result| result["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    assert_eq!((&results[0]["type"], &results[0]["success"]), (&json!("ack"), &json!(true)));
    assert_eq!((results[1].get("duplicate"), &results[2]["duplicate"]), (None, &json!(true)));
    assert_eq!(
        results[3],
        json!({"index": 3, "opIndex": 0, "type": "kv", "op": "check", "applied": true, "key": "n#0",
            "version": guard["expect"]})
    );
    assert_eq!((&results[5]["type"], &results[5]["opIndex"]), (&json!("timer"), &json!(0)));
    let out = pop(&mut peer, "out", "").unwrap();
    assert_eq!((out["messages"].as_array().unwrap().len(), &out["messages"][0]["data"]["n"]), (1, &json!(1)));
    assert_eq!(peer.ask("GET", "/api/v1/kv/state/k", "").json()["value"], 1);
    let twice = step(&mut peer, &body(&guard));
    assert_eq!((&twice["reason"], &twice["success"]), (&json!("rejected_ack"), &json!(false)));
    assert!(twice["error"].as_str().unwrap().starts_with("QTXN"));
    let again = json!({"operations": [{"type": "push", "queue": "out", "partition": "c", "payload": 1,
        "transactionId": "out-1"}]});
    let known = step(&mut peer, &again);
    assert_eq!(known["reason"], "duplicate");
    assert!(known["error"].as_str().unwrap().starts_with("QDUP"));
}

#[test]
fn a_guard_of_a_lock_that_is_gone_says_absent() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    peer.release(&grant);
    let lost = step(&mut peer, &json!({"kv": [grant["guard"]]}));
    assert_eq!(
        (&lost["kvReason"], &lost["version"], &lost["value"], &lost["failedIndex"]),
        (&json!("absent"), &json!(0), &Value::Null, &json!(0))
    );
}

#[test]
fn a_step_that_makes_no_sense_is_refused_with_its_reason() {
    let site = Site::new();
    let mut peer = site.connect();
    let timer = json!({"op": "schedule", "queue": "q", "timerKey": "k", "delayMs": 1, "txn": "x", "payload": "MQ=="});
    let mut owned = timer.clone();
    owned["messageId"] = json!("m");
    let prefix = json!({"op": "getPrefix", "ns": "n", "prefix": "p"});
    let put = json!({"op": "put", "ns": "n", "key": "k", "value": 1});
    let many: Vec<Value> = vec![json!({"op": "get", "ns": "n", "key": "k"}); 65];
    let large = json!({"op": "put", "ns": "n", "key": "k", "value": "x".repeat(70_000), "forever": true});
    for (status, reason, body) in [
        (400, "bad_request", "nonsense".to_string()),
        (400, "bad_request", json!([]).to_string()),
        (400, "bad_request", json!({"operations": {}}).to_string()),
        (400, "bad_request", json!({"operations": [{"type": "kv"}]}).to_string()),
        (400, "bad_request", json!({"operations": [7]}).to_string()),
        (400, "bad_request", json!({"positions": [1]}).to_string()),
        (400, "bad_request", json!({"timers": [{"op": "fire", "queue": "q", "timerKey": "k"}]}).to_string()),
        (400, "timers_server_owned_field", json!({"timers": [owned]}).to_string()),
        (200, "bad_request", json!({}).to_string()),
        (200, "bad_request", json!({"operations": [], "kv": []}).to_string()),
        (200, "bad_request", json!({"operations": [{"type": "push", "queue": "q"}]}).to_string()),
        (
            200,
            "bad_request",
            json!({"operations": [{"type": "ack", "transactionId": "t", "partitionId": "x"}]}).to_string(),
        ),
        (400, "kv_get_prefix_not_allowed_in_transaction", json!({"kv": [prefix]}).to_string()),
        (400, "kv_expiry_not_specified", json!({"kv": [put]}).to_string()),
        (400, "kv_too_many_ops", json!({"kv": many}).to_string()),
        (413, "kv_value_too_large", json!({"kv": [large]}).to_string()),
    ] {
        let answer = peer.ask("POST", "/api/v1/transaction", &body);
        let said = answer.json();
        assert_eq!((answer.status, &said["reason"]), (status, &json!(reason)), "{body:.200}: {said}");
        assert_eq!((&said["success"], &said["results"]), (&json!(false), &json!([])));
        assert!(said["transactionId"].is_string() && said["error"].is_string());
    }
    let said = peer.post("/api/v1/transaction", &json!({"kv": [{"op": "getPrefix", "ns": "n", "prefix": "p"}]})).json();
    assert!(said["error"].as_str().unwrap().contains("prefix"));
}

#[test]
fn a_timer_fires_and_a_cancelled_one_does_not() {
    let site = Site::new();
    let mut peer = site.connect();
    let op = |key: &str, delay: u64| {
        json!({"op": "schedule", "queue": "q", "timerKey": key, "partition": "p", "delayMs": delay,
            "txn": format!("txn-{key}"), "payload": "eyJuIjoxfQ=="})
    };
    let answer = peer.post("/api/v1/timers", &json!({"operations": [op("a", 200), op("b", 200), op("c", 3_600_000)]}));
    let results = answer.json()["results"].clone();
    assert_eq!((&results[0]["status"], &results[0]["ok"]), (&json!("scheduled"), &json!(true)));
    let again = peer.post("/api/v1/timers", &json!({"operations": [op("c", 7_200_000)]})).json();
    assert_eq!(again["results"][0]["status"], "rescheduled");
    let cancelled = peer.ask("DELETE", "/api/v1/timers/q/b?txn=mine", "").json();
    assert_eq!(cancelled["status"], "cancelled");
    let absent = peer.ask("DELETE", "/api/v1/timers/q/b?txn=mine", "").json();
    assert_eq!((&absent["ok"], &absent["status"], &absent["txn"]), (&json!(false), &json!("absent"), &json!("mine")));
    let fired = pop(&mut peer, "q", "wait=true&timeout=10000").unwrap();
    assert_eq!(fired["messages"].as_array().unwrap().len(), 1);
    let message = &fired["messages"][0];
    assert_eq!((&message["id"], &message["transactionId"]), (&results[0]["messageId"], &json!("txn-a")));
    assert_eq!((&message["data"], &message["partition"]), (&json!({"n": 1}), &json!("p")));
    let page = peer.ask("GET", "/api/v1/timers/q?limit=10", "").json();
    assert_eq!((page["rows"].as_array().unwrap().len(), &page["rows"][0]["timerKey"]), (1, &json!("c")));
    assert_eq!(peer.ask("GET", "/api/v1/timers/q/c", "").json()["payload"], "eyJuIjoxfQ==");
}

#[test]
fn queues_are_configured_read_by_offset_and_deleted() {
    let site = Site::new();
    let mut peer = site.connect();
    let configured = peer.post("/api/v1/configure", &json!({"queue": "q", "options": {"leaseTime": 30}})).json();
    assert_eq!((&configured["configured"], configured.get("error")), (&json!(true), None));
    for n in 0..3 {
        push(&mut peer, "q", &format!("t{n}"), json!(n));
    }
    let entry = json!({"queue": "q", "partition": "Default", "offset": 1});
    let fetched: Answer = peer.post("/api/v1/fetch", &json!({"entries": [entry]}));
    let read = fetched.json()["entries"][0].clone();
    assert_eq!((&read["highWatermark"], &read["logStartOffset"]), (&json!(3), &json!(0)));
    let records = read["records"].as_array().unwrap();
    assert_eq!((records.len(), &records[0]["offset"], &records[0]["payload"]), (2, &json!(1), &json!(1)));
    let deleted = peer.ask("DELETE", "/api/v1/resources/queues/q", "").json();
    assert_eq!(deleted["deleted"], true);
    assert_eq!(peer.ask("DELETE", "/api/v1/resources/queues/q", "").json()["deleted"], false);
    assert_eq!(pop(&mut peer, "q", ""), None);
    assert_eq!(push(&mut peer, "q", "t0", json!(0))["offset"], 0);
}

#[test]
fn queues_outlive_the_server() {
    let site = Site::new();
    let mut peer = site.connect();
    push(&mut peer, "q", "a", json!(1));
    push(&mut peer, "q", "b", json!(2));
    let held = pop(&mut peer, "q", "batch=1").unwrap()["messages"][0].clone();
    let site = site.restart();
    let mut peer = site.connect();
    assert_eq!(pop(&mut peer, "q", ""), None, "the lease goes on");
    assert_eq!(peer.post("/api/v1/ack", &ack(&held, "completed")).json()[0]["success"], true);
    assert_eq!(pop(&mut peer, "q", "").unwrap()["messages"][0]["transactionId"], "b");
}
