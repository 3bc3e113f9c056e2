//! Tokens, limits and the switch of the operator.

mod site;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fencehold_server::{Auth, Options, Server};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use site::{Answer, Peer, Site, options};

const TOKENS: &str = "read-only reader-0123456789\nread-write writer-0123456789\nwrite-only pusher-0123456789\n\
                      admin admin-0123456789\n";

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn with_token(site: &Site, token: &str) -> Peer {
    site.connect().with("authorization", Some(&format!("Bearer {token}")))
}

fn get(peer: &mut Peer) -> Answer {
    peer.post("/api/v1/locks", &json!([{"op": "get", "name": "n"}]))
}

#[test]
fn each_role_may_use_its_routes_and_no_others() {
    let files = tempfile::tempdir().unwrap();
    let tokens = file(files.path(), "tokens", TOKENS);
    let site = Site::with(|options| options.auth.tokens = Some(tokens));
    let push = json!({"items": [{"queue": "q", "payload": 1}]}).to_string();
    let locks = json!([{"op": "get", "name": "n"}]).to_string();
    let routes: [(&str, &str, &str, &[&str]); 8] = [
        ("GET", "/health", "", &["", "reader", "writer", "pusher", "admin"]),
        ("GET", "/metrics", "", &["", "reader", "writer", "pusher", "admin"]),
        ("GET", "/api/v1/kv/queen-locks/n%230", "", &["reader", "writer", "admin"]),
        ("POST", "/api/v1/resources/kv/list", r#"{"namespace":"queen-locks"}"#, &["reader", "writer", "admin"]),
        ("POST", "/api/v1/locks", &locks, &["writer", "admin"]),
        ("POST", "/api/v1/kv", "[]", &["writer", "admin"]),
        ("POST", "/api/v1/push", &push, &["writer", "pusher", "admin"]),
        ("DELETE", "/api/v1/resources/queues/none", "", &["admin"]),
    ];
    for (method, path, body, allowed) in routes {
        for role in ["", "reader", "writer", "pusher", "admin"] {
            let mut peer =
                if role.is_empty() { site.connect() } else { with_token(&site, &format!("{role}-0123456789")) };
            let answer = peer.ask(method, path, body);
            let expected = match (allowed.contains(&role), role) {
                (true, _) => None,
                (false, "") => Some((401, json!({"error": "Authentication required"}))),
                (false, _) => Some((403, json!({"error": "Insufficient permissions"}))),
            };
            match expected {
                None => assert!(answer.status < 300, "{role} {path}: {answer:?}"),
                Some((status, said)) => {
                    assert_eq!((answer.status, answer.json()), (status, said), "{role} {method} {path}");
                }
            }
        }
    }
}

#[test]
fn a_token_is_taken_with_any_case_of_the_scheme_or_none() {
    let files = tempfile::tempdir().unwrap();
    let path = file(files.path(), "tokens", TOKENS);
    let site = Site::with(|options| options.auth.tokens = Some(path.clone()));
    for (header, status) in [
        ("bEaReR writer-0123456789", 200),
        ("writer-0123456789", 200),
        ("Basic d3JpdGVy", 401),
        ("Bearer writer-012345678", 401),
        ("Bearer", 401),
    ] {
        let answer = get(&mut site.connect().with("authorization", Some(header)));
        assert_eq!(answer.status, status, "{header}");
    }
    // A host that is not this machine's own is fine when a token has to be shown.
    let mut far = with_token(&site, "writer-0123456789").with("host", Some("locks.example"));
    assert_eq!(get(&mut far).status, 200);
    std::fs::write(&path, "read-write another-0123456789\n").unwrap();
    site.server.reload().unwrap();
    assert_eq!(get(&mut with_token(&site, "writer-0123456789")).status, 401);
    std::fs::write(&path, "nonsense\n").unwrap();
    assert!(site.server.reload().is_err());
    assert_eq!(get(&mut with_token(&site, "another-0123456789")).status, 200, "what was read before stays");
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn signed_tokens_are_checked() {
    let files = tempfile::tempdir().unwrap();
    let secret = "0123456789abcdef0123456789abcdef";
    let key = file(files.path(), "key", &format!("{secret}\n"));
    let site = Site::with(|options| {
        options.auth = Auth {
            jwt_key: Some(key),
            jwt_issuer: Some("us".into()),
            jwt_audience: Some("locks".into()),
            ..Auth::default()
        };
    });
    let sign = |algorithm: Algorithm, secret: &str, claims: &Value| {
        encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(secret.as_bytes()).unwrap()).unwrap()
    };
    let claims = |members: Value| {
        let mut claims = json!({"iss": "us", "aud": "locks", "role": "read-write"});
        claims.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        claims
    };
    let good = |members: Value| sign(Algorithm::HS256, secret, &claims(members));
    let wrong = "f".repeat(32);
    let unsigned = "eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.";
    for (status, said, token) in [
        (200, "", good(json!({}))),
        (200, "", sign(Algorithm::HS512, secret, &claims(json!({})))),
        (200, "", good(json!({"role": "other", "roles": ["x", "admin"], "exp": now() + 60}))),
        (200, "", good(json!({"exp": now() - 10, "nbf": now() + 10, "iat": now() + 10}))),
        (401, "Token has expired", good(json!({"exp": now() - 40}))),
        (401, "Token not yet valid", good(json!({"nbf": now() + 90}))),
        (401, "Token issued in the future", good(json!({"iat": now() + 90}))),
        (401, "Invalid token issuer", good(json!({"iss": "them"}))),
        (401, "Invalid token audience", good(json!({"aud": "other"}))),
        (401, "Invalid token signature", sign(Algorithm::HS256, &wrong, &claims(json!({})))),
        (401, "Unsupported token algorithm", unsigned.into()),
        (401, "Bad token header", "no.token.at.all".into()),
        (403, "Insufficient permissions", good(json!({"role": "read-only"}))),
        (403, "Insufficient permissions", good(json!({"role": null}))),
    ] {
        let answer = get(&mut with_token(&site, &token));
        assert_eq!(answer.status, status, "{said}: {answer:?}");
        if status != 200 {
            assert_eq!(answer.json()["error"], said);
        }
    }
}

#[test]
fn public_keys_check_what_private_keys_signed_and_are_no_secrets() {
    let files = tempfile::tempdir().unwrap();
    let keys: [(&str, &[&str], Algorithm); 2] = [
        ("ed", &["genpkey", "-algorithm", "ed25519"], Algorithm::EdDSA),
        ("rsa", &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], Algorithm::RS256),
    ];
    for (name, arguments, algorithm) in keys {
        let private = files.path().join(name);
        let public = files.path().join(format!("{name}.pub"));
        let openssl = |arguments: &[&str], out: &Path| {
            let done = std::process::Command::new("openssl").args(arguments).arg("-out").arg(out).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        openssl(arguments, &private);
        openssl(&["pkey", "-pubout", "-in", private.to_str().unwrap()], &public);
        let pem = std::fs::read(&private).unwrap();
        let key = match algorithm {
            Algorithm::EdDSA => EncodingKey::from_ed_pem(&pem).unwrap(),
            _ => EncodingKey::from_rsa_pem(&pem).unwrap(),
        };
        let site = Site::with(|options| options.auth.jwt_key = Some(public.clone()));
        let token = encode(&Header::new(algorithm), &json!({"role": "read-write"}), &key).unwrap();
        assert_eq!(get(&mut with_token(&site, &token)).status, 200, "{name}");
        // The public key is known to everybody, so it must not do as a secret.
        let secret = EncodingKey::from_secret(&std::fs::read(&public).unwrap()).unwrap();
        let forged = encode(&Header::new(Algorithm::HS256), &json!({"role": "admin"}), &secret).unwrap();
        let answer = get(&mut with_token(&site, &forged));
        assert_eq!((answer.status, answer.json()), (401, json!({"error": "Unsupported token algorithm"})));
    }
}

#[test]
fn a_server_for_the_network_needs_tokens_or_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let open = |change: &dyn Fn(&mut Options)| {
        Server::start(options(folder.path(), |options| {
            options.listen.set_ip([0, 0, 0, 0].into());
            change(options);
        }))
    };
    let refused = open(&|_| {}).err().unwrap();
    assert!(refused.is_usage() && refused.to_string().contains("--insecure-no-auth"), "{refused}");
    open(&|options| options.insecure_no_auth = true).unwrap().stop();
    let tokens = file(folder.path(), "tokens", TOKENS);
    open(&move |options| options.auth.tokens = Some(tokens.clone())).unwrap().stop();
}

#[test]
fn rates_are_per_call_and_say_when_to_come_back() {
    let site = Site::with(|options| {
        options.write_rate = Some(2);
        options.read_rate = Some(1);
    });
    let mut peer = site.connect();
    let statuses: Vec<u16> = (0..8)
        .map(|n| {
            let ask = json!({"op": "acquire", "name": format!("n{n}"), "ttlSeconds": 5});
            peer.post("/api/v1/locks", &json!([ask])).status
        })
        .collect();
    assert!(statuses[..4].iter().all(|status| *status == 200) && statuses.contains(&429), "{statuses:?}");
    let check = json!([{"op": "check", "ns": "n", "key": "k", "expect": 0}]);
    let refused = (0..20).map(|_| peer.post("/api/v1/kv", &check)).find(|answer| answer.status == 429).unwrap();
    assert_eq!((&refused.json()["error"], refused.headers["retry-after"].as_str()), (&json!("rate_limited"), "1"));
    let reads: Vec<u16> = (0..6).map(|_| get(&mut peer).status).collect();
    assert!(reads[..2].iter().all(|status| *status == 200) && reads.contains(&429), "reads have their own: {reads:?}");
    let step = peer.post("/api/v1/transaction", &json!({"kv": check}));
    assert_eq!(step.status, 200, "steps have no rate");
}

#[test]
fn rows_are_limited_and_what_is_held_can_be_renewed() {
    let site = Site::with(|options| options.max_rows = Some(2));
    let mut peer = site.connect();
    let held = peer.acquire("a", "o");
    peer.acquire("b", "o");
    let ask = json!([{"op": "acquire", "name": "c", "ttlSeconds": 5}]);
    let refused = peer.post("/api/v1/locks", &ask);
    assert_eq!((refused.status, &refused.json()["error"]), (403, &json!("kv_quota_exceeded")));
    let put = json!([{"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true}]);
    assert_eq!(peer.post("/api/v1/kv", &put).status, 403);
    let renewed = peer.lock(json!({"op": "renew", "name": "a", "token": held["token"], "ttlSeconds": 9}));
    peer.release(&renewed);
    assert_eq!(peer.post("/api/v1/locks", &ask).status, 200);
}

#[test]
fn an_operator_can_pause_rows_and_locks() {
    let site = Site::new();
    let mut peer = site.connect();
    let held = peer.acquire("n", "a");
    assert_eq!(peer.post("/api/v1/system/kv", &json!({"paused": true})).json(), json!({"paused": true}));
    for answer in [
        get(&mut peer),
        peer.post("/api/v1/kv", &json!([{"op": "get", "ns": "n", "key": "k"}])),
        peer.post("/api/v1/transaction", &json!({"kv": [held["guard"]]})),
    ] {
        assert_eq!((answer.status, &answer.json()["reason"]), (503, &json!("kv_disabled")));
        assert_eq!(answer.headers["retry-after"], "1");
    }
    assert_eq!(peer.post("/api/v1/system/kv", &json!({"paused": 1})).status, 400);
    peer.post("/api/v1/system/kv", &json!({"paused": false}));
    assert_eq!(peer.release(&held)["released"], true);
}

#[test]
fn one_connection_too_many_is_told_to_come_back() {
    let site = Site::with(|options| options.max_connections = Some(1));
    let mut peer = site.connect();
    assert_eq!(get(&mut peer).status, 200);
    let mut second = site.connect();
    second.send("GET", "/health", "");
    let answer = second.receive();
    assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (429, "1"));
    drop(peer);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let mut third = site.connect();
        third.send("GET", "/health", "");
        if third.receive().status == 200 {
            break;
        }
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn refusals_are_counted_as_answers_and_not_as_errors() {
    let site = Site::new();
    let mut peer = site.connect();
    peer.acquire("n", "a");
    for _ in 0..100 {
        assert_eq!(peer.acquire("n", "b")["acquired"], false);
    }
    let answer = peer.ask("GET", "/metrics", "");
    assert!(answer.headers["content-type"].starts_with("text/plain; version=0.0.4"));
    for line in [
        "fencehold_held 1",
        "fencehold_grants_total 1",
        "queen_locks_ops_total{op=\"acquire\",result=\"held\"} 100",
        "fencehold_http_answers_total{class=\"4xx\"} 0",
        "fencehold_http_answers_total{class=\"5xx\"} 0",
        "fencehold_losses_total{reason=\"renew\"} 0",
    ] {
        assert!(answer.text.lines().any(|other| other == line), "{line} in\n{}", answer.text);
    }
    assert!(answer.text.contains("queen_locks_op_duration_milliseconds_count 101"));
    assert!(answer.text.contains("fencehold_commit_seconds_bucket{le=\"+Inf\"}"));
}
