use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::clock::{Clock, ManualClock, Moment};
use crate::kv::row::{Intent, RowStore, Table};
use crate::kv::tidy::sweep;
use crate::store::memory::MemoryStore;

fn store() -> (std::sync::Arc<MemoryStore>, ManualClock) {
    let clock = ManualClock::default();
    (MemoryStore::private(Clock::Manual(clock.clone())), clock)
}

fn call(store: &MemoryStore, call: Value) -> Result<Applied, Refused> {
    let operations = parse(call.as_array().expect("an array"), Scope::Call)?;
    let mut applied = None;
    store
        .transact(Intent::Grow, Moment::NEVER, &mut |rows| {
            applied = Some(apply(rows, &operations, &mut Vec::new())?);
            Ok(())
        })
        .expect("a store in memory");
    Ok(applied.expect("it ran"))
}

fn results(store: &MemoryStore, operations: Value) -> Vec<Value> {
    match call(store, operations).expect("a good call") {
        Applied::Results(results) => results,
        Applied::Precondition(lost) => panic!("{lost:?}"),
    }
}

fn one(store: &MemoryStore, operation: Value) -> Value {
    results(store, json!([operation])).remove(0)
}

fn reason(operation: Value) -> &'static str {
    parse(&[operation], Scope::Call).expect_err("refused").reason
}

#[test]
fn every_bad_operation_has_its_reason() {
    let cases = [
        (json!(7), "kv_bad_request"),
        (json!({"op": "rename"}), "kv_unknown_op"),
        (json!({"op": "get", "ns": "n", "key": "k", "tenant": "t"}), "kv_tenant_not_an_input"),
        (json!({"op": "get", "key": "k"}), "kv_bad_namespace"),
        (json!({"op": "get", "ns": "N", "key": "k"}), "kv_bad_namespace"),
        (json!({"op": "get", "ns": "-n", "key": "k"}), "kv_bad_namespace"),
        (json!({"op": "get", "ns": "n".repeat(65), "key": "k"}), "kv_bad_namespace"),
        (json!({"op": "delete", "ns": "fencehold-queues", "key": "k"}), "kv_bad_namespace"),
        (json!({"op": "get", "ns": "n", "key": ""}), "kv_bad_key"),
        (json!({"op": "get", "ns": "n", "key": "a\0b"}), "kv_bad_key"),
        (json!({"op": "get", "ns": "n", "key": "k".repeat(513)}), "kv_key_too_large"),
        (json!({"op": "getMany", "ns": "n", "keys": "k"}), "kv_bad_request"),
        (json!({"op": "getPrefix", "ns": "n", "prefix": ""}), "kv_prefix_required"),
        (json!({"op": "put", "ns": "n", "key": "k", "value": 1}), "kv_expiry_not_specified"),
        (
            json!({"op": "put", "ns": "n", "key": "k", "value": 1, "ttlSeconds": 1, "forever": true}),
            "kv_expiry_not_specified",
        ),
        (json!({"op": "put", "ns": "n", "key": "k", "value": 1, "ttlSeconds": 0}), "kv_bad_ttl"),
        (json!({"op": "put", "ns": "n", "key": "k", "value": 1, "ttlSeconds": 1.5}), "kv_bad_ttl"),
        (json!({"op": "put", "ns": "n", "key": "k", "forever": true}), "kv_bad_request"),
        (
            json!({"op": "put", "ns": "n", "key": "k", "value": "x".repeat(65_536), "forever": true}),
            "kv_value_too_large",
        ),
        (json!({"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true, "expect": null}), "kv_bad_expect"),
        (json!({"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true, "expect": -1}), "kv_bad_expect"),
        (
            json!({"op": "putIfAbsent", "ns": "n", "key": "k", "value": 1, "forever": true, "expect": 3}),
            "kv_bad_expect",
        ),
        (json!({"op": "check", "ns": "n", "key": "k"}), "kv_bad_expect"),
        (json!({"op": "incr", "ns": "n", "key": "k", "delta": 1, "forever": true, "expect": 1}), "kv_bad_request"),
        (json!({"op": "incr", "ns": "n", "key": "k", "delta": "1", "forever": true}), "kv_bad_request"),
        (json!({"op": "delete", "ns": "n", "key": "k", "required": 1}), "kv_bad_request"),
    ];
    for (operation, expected) in cases {
        assert_eq!(reason(operation.clone()), expected, "{operation}");
    }
    let prefix = json!({"op": "getPrefix", "ns": "n", "prefix": "p"});
    let refused = parse(&[prefix], Scope::Transaction).expect_err("refused");
    assert_eq!(refused.reason, "kv_get_prefix_not_allowed_in_transaction");
    assert!(refused.detail.contains("prefix"));
}

#[test]
fn a_call_is_bounded_before_its_operations_are_looked_at() {
    let many = |count: usize| vec![json!(0); count];
    assert_eq!(parse(&many(257), Scope::Call).unwrap_err().reason, "kv_too_many_ops");
    assert_eq!(parse(&many(65), Scope::Transaction).unwrap_err().reason, "kv_too_many_ops");
    let twice = json!([
        {"op": "check", "ns": "n", "key": "k", "expect": 0},
        {"op": "delete", "ns": "n", "key": "k"}
    ]);
    assert_eq!(parse(twice.as_array().unwrap(), Scope::Call).unwrap_err().reason, "kv_duplicate_key_in_call");
    let pages = json!([
        {"op": "getPrefix", "ns": "n", "prefix": "p", "limit": 1000},
        {"op": "getMany", "ns": "n", "keys": vec!["k"; 25]}
    ]);
    assert_eq!(parse(pages.as_array().unwrap(), Scope::Call).unwrap_err().reason, "kv_too_many_keys");
}

#[test]
fn every_expectation_has_its_verdict() {
    let (store, _) = store();
    let put = |expect: Value| {
        let mut operation = json!({"op": "put", "ns": "n", "key": "k", "value": {"a": 1}, "forever": true});
        if !expect.is_null() {
            operation["expect"] = expect;
        }
        one(&store, operation)
    };
    let absent = put(json!(7));
    assert_eq!(
        (&absent["applied"], &absent["reason"], &absent["version"]),
        (&json!(false), &json!("absent"), &json!(0))
    );
    assert!(absent["value"].is_null());
    let first = put(json!(0));
    assert_eq!(first["applied"], true);
    let version = first["version"].as_u64().unwrap();
    let exists = put(json!(0));
    assert_eq!(
        (&exists["reason"], &exists["version"], &exists["value"]),
        (&json!("exists"), &json!(version), &json!({"a": 1}))
    );
    assert_eq!(put(json!(version + 1))["reason"], "version");
    let held = one(&store, json!({"op": "check", "ns": "n", "key": "k", "expect": version}));
    assert_eq!((&held["applied"], held.get("value"), &held["version"]), (&json!(true), None, &json!(version)));
    assert_eq!(one(&store, json!({"op": "check", "ns": "n", "key": "k", "expect": 0}))["reason"], "exists");
    assert_eq!(one(&store, json!({"op": "check", "ns": "n", "key": "x", "expect": 0}))["version"], 0);
    assert_eq!(put(json!(version))["applied"], true);
    assert_eq!(one(&store, json!({"op": "delete", "ns": "n", "key": "k", "expect": version}))["reason"], "version");
    let removed = one(&store, json!({"op": "delete", "ns": "n", "key": "k"}));
    assert_eq!((&removed["applied"], &removed["value"]), (&json!(true), &json!({"a": 1})));
    assert_eq!(one(&store, json!({"op": "delete", "ns": "n", "key": "k"}))["reason"], "absent");
    let nothing = one(&store, json!({"op": "delete", "ns": "n", "key": "k", "expect": 0}));
    assert_eq!((&nothing["applied"], &nothing["version"]), (&json!(true), &json!(0)));
}

#[test]
fn an_increment_stays_within_its_bounds_and_keeps_the_expiry() {
    let (store, clock) = store();
    let incr = |delta: i64, max: i64| {
        one(
            &store,
            json!({"op": "incr", "ns": "n", "key": "c", "delta": delta, "min": 0, "max": max, "ttlSeconds": 10}),
        )
    };
    assert_eq!(incr(5, 3)["reason"], "limit");
    assert_eq!(one(&store, json!({"op": "get", "ns": "n", "key": "c"}))["found"], false);
    assert_eq!(incr(2, 3)["value"], 2);
    clock.advance(Duration::from_secs(6));
    assert_eq!(incr(1, 3)["value"], 3);
    let full = incr(1, 3);
    assert_eq!((&full["reason"], &full["value"]), (&json!("limit"), &json!(3)));
    clock.advance(Duration::from_secs(4));
    assert_eq!(one(&store, json!({"op": "get", "ns": "n", "key": "c"}))["found"], false, "the first expiry counts");
    one(&store, json!({"op": "put", "ns": "n", "key": "t", "value": "x", "forever": true}));
    assert_eq!(
        one(&store, json!({"op": "incr", "ns": "n", "key": "t", "delta": 1, "forever": true}))["reason"],
        "type"
    );
    one(&store, json!({"op": "put", "ns": "n", "key": "b", "value": i64::MAX, "forever": true}));
    let big = one(&store, json!({"op": "incr", "ns": "n", "key": "b", "delta": 1, "forever": true}));
    assert_eq!(big["value"], 9_223_372_036_854_775_808_u64);
}

#[test]
fn one_lost_required_operation_leaves_nothing_behind() {
    let (store, _) = store();
    let lost = call(
        &store,
        json!([
            {"op": "put", "ns": "n", "key": "a", "value": 1, "forever": true},
            {"op": "check", "ns": "n", "key": "b", "expect": 9, "required": true},
            {"op": "put", "ns": "n", "key": "c", "value": 1, "forever": true}
        ]),
    )
    .unwrap();
    let Applied::Precondition(lost) = lost else { panic!("{lost:?}") };
    assert_eq!((lost.index, lost.reason, lost.version, lost.value), (1, "absent", 0, Value::Null));
    let rows = one(&store, json!({"op": "getMany", "ns": "n", "keys": ["a", "c"]}));
    assert_eq!(rows["missing"], json!(["a", "c"]));
}

#[test]
fn pages_go_through_all_live_rows_in_order() {
    let (store, clock) = store();
    for number in 0..30 {
        let key = format!("p:{number:02}");
        let ttl = if number % 3 == 0 { 1 } else { 100 };
        one(&store, json!({"op": "put", "ns": "n", "key": key, "value": number, "ttlSeconds": ttl}));
    }
    one(&store, json!({"op": "put", "ns": "m", "key": "p:00", "value": 0, "forever": true}));
    clock.advance(Duration::from_secs(2));
    let (mut after, mut seen) = (Value::Null, Vec::new());
    loop {
        let page = one(&store, json!({"op": "getPrefix", "ns": "n", "prefix": "p:", "limit": 7, "after": after}));
        seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_string()));
        after = page["nextAfter"].clone();
        assert_eq!(page["truncated"], !after.is_null());
        if after.is_null() {
            break;
        }
    }
    let expected: Vec<String> =
        (0..30).filter(|number| number % 3 != 0).map(|number| format!("p:{number:02}")).collect();
    assert_eq!(seen, expected);
    let keys = one(&store, json!({"op": "getPrefix", "ns": "n", "prefix": "p:", "limit": 1, "keysOnly": true}));
    assert_eq!(keys["rows"][0].get("value"), None);
}

#[test]
fn one_call_reads_at_most_four_mebibytes() {
    let (store, _) = store();
    for number in 0..80 {
        let value = "x".repeat(60_000);
        one(&store, json!({"op": "put", "ns": "n", "key": format!("k{number:02}"), "value": value, "forever": true}));
    }
    let page = one(&store, json!({"op": "getPrefix", "ns": "n", "prefix": "k", "limit": 100}));
    let shown = page["rows"].as_array().unwrap().len();
    assert!(shown < 80 && shown > 60, "{shown}");
    assert_eq!(page["truncated"], true);
    let next =
        one(&store, json!({"op": "getPrefix", "ns": "n", "prefix": "k", "limit": 100, "after": page["nextAfter"]}));
    assert_eq!(next["rows"].as_array().unwrap().len() + shown, 80);
}

#[test]
fn locks_are_rows_and_a_row_that_is_over_is_swept() {
    let (store, clock) = store();
    let row = json!({"op": "put", "ns": "queen-locks", "key": "n#0", "value": {"owner": null}, "ttlSeconds": 5});
    let version = one(&store, row)["version"].clone();
    let read = one(&store, json!({"op": "get", "ns": "queen-locks", "key": "n#0"}));
    assert_eq!((&read["found"], &read["version"]), (&json!(true), &version));
    assert!(read["expiresAt"].as_str().unwrap().ends_with("+00:00"));
    clock.advance(Duration::from_secs(5));
    assert_eq!(
        one(&store, json!({"op": "check", "ns": "queen-locks", "key": "n#0", "expect": version}))["reason"],
        "absent"
    );
    let mut left = 0;
    store
        .transact(Intent::Keep, Moment::NEVER, &mut |rows| {
            sweep(rows, Table::Locks, None, 10)?;
            rows.scan(Table::Locks, b"", None, &mut |_, _| {
                left += 1;
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    assert_eq!(left, 0);
}
