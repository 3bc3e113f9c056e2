use super::*;
use crate::backend::Hold;

fn step() -> Step {
    Step {
        guards: vec![("n".into(), Hold { slot: 0, token: 418 })],
        operations: vec![
            json!({"type": "ack", "transactionId": "in-17", "partitionId": "12"}),
            json!({"type": "push", "items": [{"queue": "q", "payload": 1}, {"queue": "q", "payload": 2}]}),
        ],
        kv: vec![json!({"op": "put", "ns": "a", "key": "k", "value": 1, "forever": true})],
        timers: Vec::new(),
    }
}

#[test]
fn a_committed_step_counts_the_callers_own_operations() {
    let body = json!({"transactionId": "t", "success": true, "results": [
        {"index": 0, "type": "ack", "success": true},
        {"index": 1, "type": "push", "success": true},
        {"index": 2, "type": "push", "success": true},
        {"index": 3, "opIndex": 0, "type": "kv", "op": "check", "applied": true, "key": "n#0", "version": 418},
        {"index": 4, "opIndex": 1, "type": "kv", "op": "put", "applied": true, "key": "k", "version": 431},
    ]});
    let answer = step_answer(body.to_string().as_bytes(), &step()).unwrap();
    assert!(answer.reason.is_none());
    let places: Vec<(u64, Value)> =
        answer.results.iter().map(|element| (element["index"].as_u64().unwrap(), element["opIndex"].clone())).collect();
    assert_eq!(places, [(0, Value::Null), (1, Value::Null), (2, Value::Null), (3, 0.into())]);
}

#[test]
fn a_lost_guard_is_the_first_of_the_rows() {
    let body = json!({"transactionId": "t", "success": false, "reason": "kv_precondition", "error": "QKV", "results": [],
        "ok": false, "failedIndex": 3, "kvReason": "version", "version": 431, "value": {"owner": "x"}});
    let lost = step_answer(body.to_string().as_bytes(), &step()).unwrap().precondition.unwrap();
    assert_eq!((lost.index, &*lost.reason, lost.version), (0, "version", 431));
    assert_eq!(lost.value["owner"], "x");
}

#[test]
fn a_precondition_too_long_to_be_told_is_nobodys() {
    let body = br#"{"success":false,"ok":false,"reason":"kv_precondition"}"#;
    let lost = step_answer(body, &step()).unwrap().precondition.unwrap();
    assert_eq!(lost.index, SOMEWHERE);
}

#[test]
fn other_refusals_are_handed_on() {
    let body = br#"{"transactionId":"t","success":false,"reason":"duplicate","error":"QDUP","results":[]}"#;
    let answer = step_answer(body, &step()).unwrap();
    assert_eq!(answer.reason.as_deref(), Some("duplicate"));
    assert!(answer.precondition.is_none() && answer.results.is_empty());
}

#[test]
fn answers_about_another_call_are_refused() {
    for body in [
        r#"{"success":true}"#,
        r#"{"results":[]}"#,
        r#"{"success":true,"results":[7]}"#,
        r#"{"success":true,"results":[{"type":"kv"}]}"#,
        r#"{"success":false,"reason":"kv_precondition","failedIndex":9,"kvReason":"version"}"#,
        r#"{"success":false,"reason":"kv_precondition","failedIndex":3,"kvReason":"because"}"#,
    ] {
        assert!(step_answer(body.as_bytes(), &step()).is_err(), "{body}");
    }
    assert!(kv_answer(br#"{"results":[{}]}"#, 2).is_err());
    assert!(kv_answer(br#"{"results":[{},{}]}"#, 2).is_ok());
    assert!(kv_answer(br#"{"ok":false,"reason":"kv_precondition","failedIndex":2,"kvReason":"absent"}"#, 2).is_err());
}
