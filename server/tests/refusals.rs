//! What the lock route and the gate in front of every route refuse.

mod site;

use serde_json::{Value, json};
use site::Site;

/// One operation that is refused, with the reason.
fn refused_operations() -> Vec<(&'static str, Value)> {
    let long = "x".repeat(257);
    let acquire = |members: Value| {
        let mut operation = json!({"op": "acquire", "name": "n", "ttlSeconds": 5});
        operation.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        operation
    };
    let renew = |members: Value| {
        let mut operation = json!({"op": "renew", "name": "n", "ttlSeconds": 5, "token": 7});
        operation.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        operation
    };
    vec![
        ("locks_bad_request", json!(7)),
        ("locks_bad_request", json!("acquire")),
        ("locks_unknown_op", json!({})),
        ("locks_unknown_op", json!({"op": "steal", "tenant": "t"})),
        ("locks_tenant_not_an_input", json!({"op": "get", "tenant": "t", "name": ""})),
        ("locks_tenant_not_an_input", json!({"op": "get", "tenantId": null, "name": "n"})),
        ("locks_tenant_not_an_input", json!({"op": "get", "_tenant": 1, "name": "n"})),
        ("locks_bad_name", json!({"op": "get"})),
        ("locks_bad_name", json!({"op": "get", "name": ""})),
        ("locks_bad_name", json!({"op": "get", "name": "a#b"})),
        ("locks_bad_name", json!({"op": "get", "name": "a\u{0}b"})),
        ("locks_bad_name", json!({"op": "get", "name": "a\u{85}b"})),
        ("locks_bad_name", json!({"op": "get", "name": 7})),
        ("locks_bad_name", json!({"op": "acquire", "name": long, "limit": 0})),
        ("locks_bad_limit", acquire(json!({"limit": 0, "ttlSeconds": 0}))),
        ("locks_bad_limit", acquire(json!({"limit": 1025}))),
        ("locks_bad_limit", acquire(json!({"limit": 1.0}))),
        ("locks_bad_limit", acquire(json!({"limit": "1"}))),
        ("locks_ttl_required", json!({"op": "acquire", "name": "n", "owner": ""})),
        ("locks_ttl_required", acquire(json!({"forever": false}))),
        ("locks_ttl_required", renew(json!({"forever": true}))),
        ("locks_bad_ttl", acquire(json!({"ttlSeconds": 0, "owner": ""}))),
        ("locks_bad_ttl", acquire(json!({"ttlSeconds": -5}))),
        ("locks_bad_ttl", acquire(json!({"ttlSeconds": 1.5}))),
        ("locks_bad_ttl", acquire(json!({"ttlSeconds": 1.0}))),
        ("locks_bad_ttl", acquire(json!({"ttlSeconds": "30"}))),
        ("locks_bad_ttl", acquire(json!({"ttlSeconds": null}))),
        ("locks_bad_owner", acquire(json!({"owner": ""}))),
        ("locks_bad_owner", acquire(json!({"owner": 7}))),
        ("locks_bad_owner", acquire(json!({"owner": "a\nb"}))),
        ("locks_bad_owner", acquire(json!({"owner": long}))),
        ("locks_bad_owner", renew(json!({"owner": ""}))),
        ("locks_bad_slot", renew(json!({"slot": 1024, "token": 0}))),
        ("locks_bad_slot", renew(json!({"slot": -1}))),
        ("locks_bad_slot", json!({"op": "release", "name": "n", "slot": "0"})),
        ("locks_token_required", json!({"op": "release", "name": "n"})),
        ("locks_token_required", json!({"op": "renew", "name": "n"})),
        ("locks_bad_token", renew(json!({"token": 0, "ttlSeconds": 0}))),
        ("locks_bad_token", renew(json!({"token": null}))),
        ("locks_bad_token", json!({"op": "release", "name": "n", "token": "7"})),
        ("locks_bad_label", acquire(json!({"label": "a\tb"}))),
        ("locks_bad_wait", acquire(json!({"waitMs": 600_001}))),
        ("locks_bad_wait", acquire(json!({"waitMs": -1}))),
        ("locks_bad_wait", acquire(json!({"waitMs": 1.5}))),
        ("locks_owner_required", acquire(json!({"fair": true}))),
        ("locks_owner_required", json!({"op": "leave", "name": "n"})),
    ]
}

#[test]
fn every_refusal_has_its_reason_and_applies_nothing() {
    let site = Site::new();
    let mut peer = site.connect();
    for (reason, operation) in refused_operations() {
        let operations = json!({"operations": [{"op": "acquire", "name": "first", "ttlSeconds": 5}, operation]});
        let answer = peer.post("/api/v1/locks", &operations);
        let body = answer.json();
        assert_eq!((answer.status, &body["reason"]), (400, &json!(reason)), "{operation}: {body}");
        assert_eq!(body["error"], "locks_bad_request");
        assert!(body["detail"].as_str().unwrap().starts_with("op 1: "), "{body}");
    }
    assert_eq!(peer.lock(json!({"op": "get", "name": "first"}))["held"], false);
}

#[test]
fn a_call_as_a_whole_is_refused_in_order() {
    let site = Site::new();
    let mut peer = site.connect();
    let get = |name: String| json!({"op": "get", "name": name});
    let acquire = |name: &str| json!({"op": "acquire", "name": name, "ttlSeconds": 5});
    let semaphore = |n: u32| json!({"op": "acquire", "name": format!("s{n}"), "ttlSeconds": 5, "limit": 1024});
    let waiting = json!({"op": "acquire", "name": "w", "ttlSeconds": 5, "waitMs": 0});
    for (reason, body) in [
        ("locks_bad_body", "nonsense".to_string()),
        ("locks_bad_body", "{}".to_string()),
        ("locks_bad_body", "7".to_string()),
        ("locks_bad_body", json!({"operations": {"op": "get"}}).to_string()),
        ("locks_too_many_ops", json!(vec![json!(7); 65]).to_string()),
        ("locks_duplicate_in_call", json!([acquire("n"), get("n".into())]).to_string()),
        ("locks_too_many_keys", json!((0..5).map(|n| get(format!("g{n}"))).collect::<Vec<_>>()).to_string()),
        ("locks_too_many_keys", json!((0..5).map(semaphore).collect::<Vec<_>>()).to_string()),
        ("locks_wait_not_alone", json!([acquire("n"), waiting]).to_string()),
    ] {
        let answer = peer.ask("POST", "/api/v1/locks", &body);
        assert_eq!((answer.status, &answer.json()["reason"]), (400, &json!(reason)), "{body}");
    }
    assert_eq!(peer.locks(json!([])), Vec::<Value>::new());
    assert_eq!(peer.locks(json!((0..4).map(semaphore).collect::<Vec<_>>())).len(), 4);
    assert_eq!(peer.ask("POST", "/api/v1/locks", "[]").json(), json!({"results": []}));
    let largest = json!({"op": "acquire", "name": "big", "ttlSeconds": u64::MAX, "owner": null, "limit": null});
    assert_eq!(peer.lock(largest)["acquired"], true);
    assert!(peer.lock(json!({"op": "get", "name": "big"}))["holders"][0]["expiresAt"].is_string());
}

#[test]
fn names_of_every_kind_pass() {
    let site = Site::new();
    let mut peer = site.connect();
    for name in ["sync:crm", "daily-report", "a/b c", "ü", &"é".repeat(128), "\"\\", "%23"] {
        let grant = peer.acquire(name, "a");
        assert_eq!((&grant["acquired"], &grant["name"]), (&json!(true), &json!(name)));
        assert_eq!(peer.lock(json!({"op": "get", "name": name}))["held"], true);
    }
}

#[test]
fn unknown_paths_and_methods_say_so_in_json() {
    let site = Site::new();
    let mut peer = site.connect();
    for (method, path) in [("GET", "/api/v1/nothing"), ("POST", "/api/v9"), ("GET", "/api/v1/locks")] {
        let answer = peer.ask(method, path, "");
        assert_eq!((answer.status, answer.json()), (404, json!({"error": "Not Found", "code": "no_such_route"})));
    }
    assert_eq!(peer.ask("GET", "/nothing", "").status, 404);
    let page = peer.ask("GET", "/", "");
    assert!(page.status == 200 && page.text.starts_with("fencehold "), "{page:?}");
    let mut browser = site.connect().with("accept", Some("text/html,*/*"));
    for (path, kind) in [("/", "text/html; charset=utf-8"), ("/assets/page.js", "text/javascript; charset=utf-8")] {
        let page = browser.ask("GET", path, "");
        assert_eq!((page.status, page.headers["content-type"].as_str()), (200, kind));
        assert!(
            page.headers["content-security-policy"].starts_with("default-src 'none'; script-src 'self'"),
            "{page:?}"
        );
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
    }
    assert_eq!(browser.ask("GET", "/assets/..%2fpage.js", "").status, 404);
    let health = peer.ask("GET", "/health", "");
    assert_eq!((health.status, &health.json()["status"]), (200, &json!("healthy")));
}

#[test]
fn a_page_of_another_site_cannot_drive_the_server() {
    let site = Site::with(|options| options.allow_hosts = vec!["locks.example".into()]);
    let body = json!([{"op": "get", "name": "n"}]);
    let own = format!("http://{}", site.address());
    let cases: [(&str, Option<&str>, u16); 12] = [
        ("content-type", None, 415),
        ("content-type", Some("text/plain"), 415),
        ("content-type", Some("application/jsonp"), 415),
        ("content-type", Some("application/JSON; charset=utf-8"), 200),
        ("host", Some("evil.example"), 403),
        ("host", Some("127.0.0.1.evil.example:6632"), 403),
        ("host", Some("localhost:6632"), 200),
        ("host", Some("[::1]:6632"), 200),
        ("host", Some("Locks.Example"), 200),
        ("origin", Some("https://evil.example"), 403),
        ("origin", Some("null"), 403),
        ("origin", Some(&own), 200),
    ];
    for (name, value, status) in cases {
        let answer = site.connect().with(name, value).post("/api/v1/locks", &body);
        assert_eq!(answer.status, status, "{name}: {value:?}: {answer:?}");
        if status == 403 {
            assert_eq!(answer.json()["reason"], "foreign_origin");
        }
    }
}

#[test]
fn a_body_that_is_too_long_is_413_in_plain_text() {
    let site = Site::new();
    let mut peer = site.connect();
    peer.stream.get_mut().set_write_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    use std::io::Write;
    let head = format!(
        "POST /api/v1/locks HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        site.address(),
        (64 << 20) + 1
    );
    peer.stream.get_mut().write_all(head.as_bytes()).unwrap();
    let answer = peer.receive();
    assert_eq!(answer.status, 413);
    assert!(answer.headers["content-type"].starts_with("text/plain"));
}
