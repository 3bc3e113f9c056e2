use proptest::prelude::*;

use super::*;
use crate::backend::Crash;

fn ask() -> Ask<'static> {
    Ask {
        name: "n",
        permits: 3,
        owner: "o",
        label: None,
        ttl: Duration::from_millis(1500),
        crash: Crash::Takeover,
        fair: false,
    }
}

#[test]
fn requests_are_as_the_wire_has_them() {
    let parsed = |body: Vec<u8>| -> Value { serde_json::from_slice(&body).unwrap() };
    let hold = Hold { slot: 2, token: 431 };
    assert_eq!(
        parsed(acquire(&ask(), Duration::from_secs(1), true)),
        json!({"operations": [{
            "op": "acquire", "name": "n", "ttlSeconds": 2, "owner": "o", "limit": 3, "waitMs": 1000, "fair": true,
            "label": null,
        }]})
    );
    assert_eq!(
        parsed(renew(&ask(), hold)),
        json!({"operations": [{"op": "renew", "name": "n", "slot": 2, "token": 431, "ttlSeconds": 2, "owner": "o"}]})
    );
    assert_eq!(
        parsed(release("n", hold)),
        json!({"operations": [{"op": "release", "name": "n", "slot": 2, "token": 431}]})
    );
    assert_eq!(parsed(leave(&ask())), json!({"operations": [{"op": "leave", "name": "n", "owner": "o"}]}));
    assert_eq!(parsed(get("n")), json!({"operations": [{"op": "get", "name": "n"}]}));
}

#[test]
fn lifetimes_are_rounded_up() {
    for (millis, whole) in [(100, 1), (1000, 1), (1001, 2), (86_400_000, 86_400)] {
        assert_eq!(seconds(Duration::from_millis(millis)), whole);
    }
}

#[test]
fn an_answer_to_an_acquire_is_a_grant_or_a_refusal() {
    let granted = br#"{"results":[{"index":0,"op":"acquire","name":"n","acquired":true,"slot":2,"token":418,
        "owner":"o","already":true,"waited":1200,
        "guard":{"op":"check","ns":"queen-locks","key":"n#2","expect":418,"required":true}}]}"#;
    match acquired(granted, &ask()).unwrap() {
        Acquired::Granted { hold, already, waited } => {
            assert_eq!((hold.slot, hold.token, already), (2, 418, true));
            assert_eq!(waited, Some(Duration::from_millis(1200)));
        }
        other => panic!("{other:?}"),
    }
    let refused = br#"{"results":[{"index":0,"op":"acquire","name":"n","acquired":false,"reason":"contended",
        "holders":[{"slot":0,"owner":"x"},{"slot":1,"owner":null}],"waited":0,
        "ticket":"0000000012","position":2,"length":5}]}"#;
    match acquired(refused, &ask()).unwrap() {
        Acquired::Refused { reason, holders, waited, line } => {
            assert_eq!(reason, RefusalReason::Contended);
            assert_eq!((holders[0].owner.as_deref(), holders[1].owner.as_deref()), (Some("x"), None));
            assert_eq!(waited, Some(Duration::ZERO));
            assert_eq!(line, Some(Line { position: 2, length: 5 }));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_above_what_a_double_can_hold_is_exact() {
    let body = br#"{"results":[{"index":0,"op":"renew","name":"n","renewed":true,"slot":2,"token":9223372036854775807,
        "guard":{"key":"n#2","expect":9223372036854775807}}]}"#;
    match renewed(body, &ask(), Hold { slot: 2, token: 1 }).unwrap() {
        Kept::Done { token } => assert_eq!(token, i64::MAX as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_get_shows_holders_and_who_waits() {
    let body = br#"{"results":[{"index":0,"op":"get","name":"n","held":true,"holders":[
        {"slot":0,"owner":"a","token":402,"since":"2026-10-08T08:49:10.5+00:00",
         "expiresAt":null,"renewedAt":"2026-10-08T08:50:40.244569+00:00"}],
        "waiting":[{"ticket":"0000000007","position":1,"owner":"w","label":"job","since":"2026-10-08T08:50:01+00:00"}]}]}"#;
    let info = shown(body, "n").unwrap();
    assert_eq!((info.holders[0].token, info.holders[0].expires_at), (402, None));
    assert_eq!(info.holders[0].since.map(crate::rfc3339).as_deref(), Some("2026-10-08T08:49:10.500Z"));
    assert_eq!((info.waiters[0].position, &*info.waiters[0].owner), (1, "w"));
}

proptest! {
    #[test]
    fn no_answer_breaks_the_reader(body in ".{0,200}") {
        let hold = Hold { slot: 0, token: 1 };
        prop_assert!(acquired(body.as_bytes(), &ask()).is_err());
        prop_assert!(renewed(body.as_bytes(), &ask(), hold).is_err());
        prop_assert!(released(body.as_bytes(), "n").is_err());
        prop_assert!(shown(body.as_bytes(), "n").is_err());
        prop_assert!(listed(body.as_bytes()).is_err());
    }

    #[test]
    fn no_element_breaks_the_reader(
        op in "acquire|renew|release|get",
        members in proptest::collection::vec(("acquired|renewed|released|held|slot|token|reason|holders|guard|waited", 0..6u8), 0..8),
    ) {
        let mut element = json!({"index": 0, "op": op, "name": "n"});
        for (member, kind) in members {
            element[member] = match kind {
                0 => Value::Null,
                1 => true.into(),
                2 => 7.into(),
                3 => (-1.5).into(),
                4 => json!([{"slot": 1}]),
                _ => json!({"key": "n#7", "expect": 7}),
            };
        }
        let body = json!({ "results": [element] }).to_string();
        let _ = acquired(body.as_bytes(), &ask());
        let _ = renewed(body.as_bytes(), &ask(), Hold { slot: 0, token: 1 });
        let _ = released(body.as_bytes(), "n");
        let _ = shown(body.as_bytes(), "n");
    }
}
