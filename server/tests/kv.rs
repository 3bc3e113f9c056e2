//! The key-value routes, as far as HTTP is concerned. What the operations do is the core's.

mod site;

use serde_json::{Value, json};
use site::Site;

#[test]
fn paths_name_one_row_and_are_decoded_once() {
    let site = Site::new();
    let mut peer = site.connect();
    let put = peer.ask("PUT", "/api/v1/kv/n/a/b", &json!({"value": {"x": 1}, "ttlSeconds": 60}).to_string());
    let version = put.json()["version"].clone();
    assert_eq!((put.status, &put.json()["op"], &put.json()["key"]), (200, &json!("put"), &json!("a/b")));
    for path in ["/api/v1/kv/n/a/b", "/api/v1/kv/n/a%2Fb"] {
        let got = peer.ask("GET", path, "");
        assert_eq!(got.headers["etag"], format!("\"{version}\""));
        let row = got.json();
        assert_eq!((&row["found"], &row["value"], &row["version"]), (&json!(true), &json!({"x": 1}), &version));
    }
    let miss = peer.ask("GET", "/api/v1/kv/n/a%252Fb", "");
    assert_eq!((miss.status, miss.json()), (200, json!({"index": 0, "op": "get", "found": false, "key": "a%2Fb"})));
    assert!(!miss.headers.contains_key("etag"));
    let stale = json!({"value": 2, "forever": true, "expect": 1}).to_string();
    assert_eq!(peer.ask("PUT", "/api/v1/kv/n/a/b", &stale).json()["reason"], "version");
    let required = json!({"expect": 1, "required": true}).to_string();
    let lost = peer.ask("DELETE", "/api/v1/kv/n/a/b", &required).json();
    assert_eq!(
        lost,
        json!({"ok": false, "reason": "kv_precondition", "failedIndex": 0, "kvReason": "version",
            "version": version, "value": {"x": 1}})
    );
    assert_eq!(peer.ask("DELETE", "/api/v1/kv/n/a/b", "null").json()["applied"], true);
    assert_eq!(peer.ask("DELETE", "/api/v1/kv/n/a/b", "").json()["reason"], "absent");
}

#[test]
fn what_is_refused_says_why() {
    let site = Site::new();
    let mut peer = site.connect();
    let put = |members: Value| {
        let mut operation = json!({"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true});
        operation.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!([operation]).to_string()
    };
    let body = json!({"value": 1, "forever": true, "key": "k"}).to_string();
    for (status, reason, method, path, body) in [
        (400, "kv_no_query_string", "GET", "/api/v1/kv/n/k?x=1", String::new()),
        (400, "kv_no_query_string", "POST", "/api/v1/kv?", "[]".into()),
        (400, "kv_field_in_path", "PUT", "/api/v1/kv/n/k", body),
        (400, "kv_bad_body", "PUT", "/api/v1/kv/n/k", "[]".into()),
        (400, "kv_bad_body", "POST", "/api/v1/kv", "7".into()),
        (400, "kv_bad_body", "POST", "/api/v1/kv", "{}".into()),
        (400, "kv_bad_namespace", "GET", "/api/v1/kv/N/k", String::new()),
        (400, "kv_bad_key", "GET", "/api/v1/kv/n/%FF", String::new()),
        (413, "kv_key_too_large", "POST", "/api/v1/kv", put(json!({"key": "k".repeat(600)}))),
        (413, "kv_value_too_large", "POST", "/api/v1/kv", put(json!({"value": "v".repeat(65_536)}))),
        (400, "kv_expiry_not_specified", "POST", "/api/v1/kv", put(json!({"ttlSeconds": 5}))),
        (400, "kv_bad_namespace", "POST", "/api/v1/resources/kv/list", "{}".into()),
    ] {
        let answer = peer.ask(method, path, &body);
        let said = answer.json();
        assert_eq!((answer.status, &said["reason"]), (status, &json!(reason)), "{method} {path}: {said}");
        let error = if status == 413 { "payload_too_large" } else { "kv_bad_request" };
        assert_eq!(said["error"], error);
    }
    assert_eq!(peer.ask("POST", "/api/v1/kv", "[]").json(), json!({"results": []}));
}

#[test]
fn a_required_operation_takes_the_whole_call_back() {
    let site = Site::new();
    let mut peer = site.connect();
    let call = json!([
        {"op": "put", "ns": "n", "key": "a", "value": 1, "forever": true},
        {"op": "check", "ns": "n", "key": "b", "expect": 9, "required": true},
    ]);
    let answer = peer.post("/api/v1/kv", &call);
    assert_eq!((answer.status, &answer.json()["failedIndex"]), (200, &json!(1)));
    assert!(answer.json().get("results").is_none());
    assert_eq!(peer.ask("GET", "/api/v1/kv/n/a", "").json()["found"], false);
    let long = json!([{"op": "put", "ns": "n", "key": "b", "value": "x".repeat(5000), "forever": true}]);
    peer.kv(long);
    let detail = peer.post("/api/v1/kv", &call).json();
    assert_eq!(detail, json!({"ok": false, "reason": "kv_precondition"}), "what is too long is left out");
}

#[test]
fn a_console_pages_through_the_rows() {
    let site = Site::new();
    let mut peer = site.connect();
    for name in ["a", "b", "c"] {
        peer.acquire(name, "o");
    }
    let ask = |after: Value| json!({"namespace": "queen-locks", "limit": 2, "after": after, "includeExpired": true});
    let first = peer.post("/api/v1/resources/kv/list", &ask(Value::Null)).json();
    assert_eq!((&first["truncated"], &first["nextAfter"]), (&json!(true), &json!("b#0")));
    let row = &first["rows"][0];
    assert_eq!((&row["key"], &row["value"]["owner"], &row["expired"]), (&json!("a#0"), &json!("o"), &json!(false)));
    for time in ["expiresAt", "updatedAt"] {
        let time = row[time].as_str().unwrap();
        assert!(time.ends_with('Z') && time.len() == "2026-10-08T08:50:20.000000Z".len(), "{time}");
    }
    assert_eq!(first["bytes"], 2 * r#"{"owner":"o"}"#.len());
    let second = peer.post("/api/v1/resources/kv/list", &ask(json!("b#0"))).json();
    assert_eq!((second["rows"].as_array().unwrap().len(), &second["nextAfter"]), (1, &Value::Null));
    let keys = json!({"namespace": "queen-locks", "prefix": "c", "keysOnly": true});
    let only = peer.post("/api/v1/resources/kv/list", &keys).json();
    assert_eq!((only["rows"][0].get("value"), only["rows"][0].get("expired")), (None, None));
    peer.kv(json!([{"op": "put", "ns": "state", "key": "k", "value": null, "forever": true}]));
    let spaces = peer.ask("GET", "/api/v1/resources/kv/namespaces", "").json();
    assert_eq!(
        spaces["namespaces"],
        json!([{"namespace": "queen-locks", "keys": 3}, {"namespace": "state", "keys": 1}])
    );
}

#[test]
fn a_release_by_hand_lets_the_next_in_line_have_it() {
    let site = Site::new();
    let mut peer = site.connect();
    peer.acquire("n", "stuck");
    let mut waiting = site.connect();
    let ask = json!([{"op": "acquire", "name": "n", "owner": "next", "ttlSeconds": 30, "waitMs": 20_000}]);
    waiting.send("POST", "/api/v1/locks", &ask.to_string());
    while peer.lock(json!({"op": "get", "name": "n"}))["waiting"] == json!([]) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    peer.ask("DELETE", "/api/v1/kv/queen-locks/n%230", "");
    assert_eq!(waiting.receive().json()["results"][0]["acquired"], true);
}

#[test]
fn a_page_of_large_rows_is_cut_and_goes_on() {
    let site = Site::new();
    let mut peer = site.connect();
    let value = "x".repeat(60_000);
    for number in 0..100 {
        let key = format!("k{number:03}");
        peer.kv(json!([{"op": "put", "ns": "big", "key": key, "value": value, "forever": true}]));
    }
    let (mut keys, mut after, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let body = json!({"namespace": "big", "limit": 1000, "after": after});
        let answer = peer.post("/api/v1/resources/kv/list", &body);
        assert!(answer.text.len() < 5 << 20, "{} bytes", answer.text.len());
        let page = answer.json();
        keys.extend(page["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_string()));
        pages += 1;
        after = page["nextAfter"].clone();
        assert_eq!(page["truncated"], json!(!after.is_null()));
        if after.is_null() {
            break;
        }
    }
    assert_eq!((pages, keys), (2, (0..100).map(|number| format!("k{number:03}")).collect()));
}
