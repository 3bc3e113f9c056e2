//! The lock route: what it answers.

mod site;

use serde_json::{Value, json};
use site::Site;

fn token(element: &Value) -> u64 {
    element["token"].as_u64().unwrap_or_else(|| panic!("{element}"))
}

#[test]
fn a_grant_has_every_member_and_a_loser_sees_the_holder() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.lock(json!({"op": "acquire", "name": "nightly", "ttlSeconds": 20, "owner": "box-3"}));
    let number = token(&grant);
    assert_eq!(
        grant,
        json!({"index": 0, "op": "acquire", "name": "nightly", "acquired": true, "slot": 0, "token": number,
            "owner": "box-3", "guard": {"op": "check", "ns": "queen-locks", "key": "nightly#0", "expect": number,
            "required": true}})
    );
    let held = peer.lock(json!({"op": "acquire", "name": "nightly", "ttlSeconds": 20, "owner": "box-4"}));
    assert_eq!(
        held,
        json!({"index": 0, "op": "acquire", "name": "nightly", "acquired": false, "reason": "held",
            "holders": [{"slot": 0, "owner": "box-3"}]})
    );
}

#[test]
fn an_owner_that_asks_again_has_the_same_permit_and_no_longer_lifetime() {
    let site = Site::new();
    let mut peer = site.connect();
    let first = peer.acquire("n", "a");
    let before = peer.lock(json!({"op": "get", "name": "n"}));
    let again = peer.acquire("n", "a");
    assert_eq!(again["already"], true);
    assert!(first.get("already").is_none());
    assert_eq!(token(&again), token(&first));
    assert_eq!(peer.lock(json!({"op": "get", "name": "n"})), before);
}

#[test]
fn without_an_owner_nobody_is_the_same() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.lock(json!({"op": "acquire", "name": "n", "ttlSeconds": 9}));
    assert_eq!((&grant["acquired"], &grant["owner"]), (&json!(true), &Value::Null));
    let other = peer.lock(json!({"op": "acquire", "name": "n", "ttlSeconds": 9}));
    assert_eq!((&other["acquired"], &other["holders"]), (&json!(false), &json!([{"slot": 0, "owner": null}])));
    let number = token(&grant);
    let renewed = peer.lock(json!({"op": "renew", "name": "n", "ttlSeconds": 9, "token": number}));
    assert!(token(&renewed) > number);
    let stale = peer.lock(json!({"op": "renew", "name": "n", "ttlSeconds": 9, "token": number}));
    assert_eq!((&stale["renewed"], &stale["reason"]), (&json!(false), &json!("lost")));
}

#[test]
fn every_renewal_changes_the_token_and_the_earlier_one_stops_working() {
    let site = Site::new();
    let mut peer = site.connect();
    let first = token(&peer.acquire("n", "a"));
    let renewed = peer.lock(json!({"op": "renew", "name": "n", "token": first, "ttlSeconds": 30, "owner": "a"}));
    let second = token(&renewed);
    assert!(second > first);
    assert_eq!(
        renewed,
        json!({"index": 0, "op": "renew", "name": "n", "renewed": true, "slot": 0, "token": second,
            "guard": {"op": "check", "ns": "queen-locks", "key": "n#0", "expect": second, "required": true}})
    );
    let carried = peer.lock(json!({"op": "renew", "name": "n", "token": first, "ttlSeconds": 30, "owner": "a"}));
    let third = token(&carried);
    assert!(third > second, "the owner's own stale token is carried through");
    let stranger = peer.lock(json!({"op": "renew", "name": "n", "token": first, "ttlSeconds": 30, "owner": "b"}));
    assert_eq!(
        stranger,
        json!({"index": 0, "op": "renew", "name": "n", "renewed": false, "reason": "lost", "slot": 0,
            "holders": [{"slot": 0, "owner": "a"}]})
    );
    let stale = peer.lock(json!({"op": "release", "name": "n", "token": second}));
    assert_eq!(
        stale,
        json!({"index": 0, "op": "release", "name": "n", "released": false, "reason": "lost", "slot": 0,
            "holders": [{"slot": 0, "owner": "a"}]})
    );
    let done = peer.lock(json!({"op": "release", "name": "n", "token": third}));
    assert_eq!(done, json!({"index": 0, "op": "release", "name": "n", "released": true, "slot": 0}));
    let twice = peer.lock(json!({"op": "release", "name": "n", "token": third}));
    assert_eq!((&twice["released"], &twice["holders"]), (&json!(false), &json!([])));
    assert!(token(&peer.acquire("n", "b")) > third);
}

#[test]
fn get_shows_every_permit_and_keeps_since() {
    let site = Site::new();
    let mut peer = site.connect();
    assert_eq!(
        peer.lock(json!({"op": "get", "name": "gpu"})),
        json!({"index": 0, "op": "get", "name": "gpu", "held": false, "holders": [], "waiting": []})
    );
    let one = peer.lock(json!({"op": "acquire", "name": "gpu", "ttlSeconds": 60, "limit": 2, "owner": "a"}));
    let since = peer.lock(json!({"op": "get", "name": "gpu"}))["holders"][0]["since"].clone();
    peer.lock(json!({"op": "renew", "name": "gpu", "ttlSeconds": 90, "slot": one["slot"], "token": one["token"]}));
    peer.lock(json!({"op": "acquire", "name": "gpu", "ttlSeconds": 60, "limit": 2, "owner": "b"}));
    let shown = peer.lock(json!({"op": "get", "name": "gpu"}));
    let holders = shown["holders"].as_array().unwrap();
    assert_eq!((&shown["held"], holders.len()), (&json!(true), 2));
    let slots: Vec<u64> = holders.iter().map(|holder| holder["slot"].as_u64().unwrap()).collect();
    assert_eq!(slots, [0, 1]);
    let own = holders.iter().find(|holder| holder["owner"] == "a").unwrap();
    assert_eq!(own["since"], since);
    assert!(own["renewedAt"].as_str().unwrap() > since.as_str().unwrap());
    assert!(own["expiresAt"].as_str().unwrap().ends_with("+00:00"));
}

#[test]
fn a_semaphore_fills_up_and_its_slots_are_distinct() {
    let site = Site::new();
    let mut peer = site.connect();
    let mut slots: Vec<u64> = (0..5)
        .map(|number| {
            let owner = format!("o{number}");
            let ask = json!({"op": "acquire", "name": "s", "ttlSeconds": 30, "limit": 5, "owner": owner});
            peer.lock(ask)["slot"].as_u64().unwrap()
        })
        .collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2, 3, 4]);
    let full = peer.lock(json!({"op": "acquire", "name": "s", "ttlSeconds": 30, "limit": 5, "owner": "x"}));
    assert_eq!((&full["reason"], full["holders"].as_array().unwrap().len()), (&json!("held"), 5));
    let again = peer.lock(json!({"op": "acquire", "name": "s", "ttlSeconds": 30, "limit": 5, "owner": "o2"}));
    assert_eq!(again["already"], true);
}

#[test]
fn operations_of_a_call_do_not_depend_on_each_other() {
    let site = Site::new();
    let mut peer = site.connect();
    peer.acquire("taken", "other");
    let mut operations = vec![json!({"op": "acquire", "name": "taken", "ttlSeconds": 5, "owner": "me"})];
    operations.extend((1..64).map(|n| json!({"op": "acquire", "name": format!("n{n}"), "ttlSeconds": 5})));
    let results = peer.locks(Value::Array(operations));
    assert_eq!(results.len(), 64);
    for (index, result) in results.iter().enumerate() {
        assert_eq!((&result["index"], &result["acquired"]), (&json!(index), &json!(index != 0)), "{result}");
    }
}

#[test]
fn an_expired_lease_is_absent_and_never_revived() {
    let site = Site::new();
    let mut peer = site.connect();
    let old = peer.lock(json!({"op": "acquire", "name": "n", "ttlSeconds": 1, "owner": "a"}));
    let end = std::time::Instant::now() + std::time::Duration::from_millis(1100);
    while std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(peer.lock(json!({"op": "get", "name": "n"}))["held"], false);
    let renewed = peer.lock(json!({"op": "renew", "name": "n", "ttlSeconds": 9, "token": old["token"], "owner": "a"}));
    assert_eq!((&renewed["reason"], &renewed["holders"]), (&json!("lost"), &json!([])));
    let check = json!({"op": "check", "ns": "queen-locks", "key": "n#0", "expect": 0});
    assert_eq!(peer.kv(json!([check]))[0]["applied"], true);
    assert!(token(&peer.acquire("n", "b")) > token(&old));
}

#[test]
fn rows_by_hand_hold_their_slot_and_foreign_keys_do_not() {
    let site = Site::new();
    let mut peer = site.connect();
    let put = |key: &str| json!({"op": "put", "ns": "queen-locks", "key": key, "value": 17, "forever": true});
    for foreign in ["gpu#07", "gpu#x", "gpu#1024", "gpu#1#2", "gpu#+7"] {
        peer.kv(json!([put(foreign)]));
    }
    let free = peer.lock(json!({"op": "get", "name": "gpu"}));
    assert_eq!(free["held"], false);
    let row = peer.kv(json!([put("gpu#0")])).remove(0);
    let shown = peer.lock(json!({"op": "get", "name": "gpu"}));
    assert_eq!((&shown["holders"][0]["owner"], &shown["holders"][0]["expiresAt"]), (&Value::Null, &Value::Null));
    assert_eq!(peer.acquire("gpu", "a")["reason"], "held");
    let renewed = peer.lock(json!({"op": "renew", "name": "gpu", "ttlSeconds": 5, "token": row["version"]}));
    assert_eq!(peer.lock(json!({"op": "release", "name": "gpu", "token": renewed["token"]}))["released"], true);
    let grant = peer.acquire("gpu", "a");
    let deleted = peer.ask("DELETE", "/api/v1/kv/queen-locks/gpu%230", "");
    assert_eq!((deleted.status, &deleted.json()["applied"]), (200, &json!(true)));
    let lost = peer.lock(json!({"op": "renew", "name": "gpu", "ttlSeconds": 5, "token": grant["token"], "owner": "a"}));
    assert_eq!(lost["renewed"], false);
    assert!(token(&peer.acquire("gpu", "b")) > token(&grant));
}

#[test]
fn leases_and_tokens_outlive_the_server() {
    let site = Site::new();
    let mut peer = site.connect();
    let held = peer.acquire("kept", "a");
    let gone = peer.acquire("gone", "a");
    peer.release(&gone);
    let before = peer.lock(json!({"op": "get", "name": "kept"}));
    let site = site.restart();
    let mut peer = site.connect();
    assert_eq!(peer.lock(json!({"op": "get", "name": "kept"}))["holders"][0]["token"], held["token"]);
    let since = |shown: &Value| shown["holders"][0]["renewedAt"].clone();
    assert_eq!(since(&peer.lock(json!({"op": "get", "name": "kept"}))), since(&before));
    assert!(token(&peer.acquire("gone", "b")) > token(&gone));
}
