//! Connections that end, servers that fail, and who we are to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fencehold::{Client, ClientOptions, Kind};
use serde_json::json;

use crate::broker::Broker;
use crate::scripted::{Reply, Scripted, Then};
use crate::{LONG, client, in_front, options, patient};

#[test]
fn connections_are_kept_and_shared() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    for _ in 0..20 {
        let lock = client.lock("n", options(30)).unwrap();
        assert!(lock.acquire().unwrap().is_granted());
        assert!(lock.release().unwrap());
    }
    assert_eq!(server.connections(), 1);
    let seen = server.seen();
    assert!(seen.iter().all(|seen| seen.connection == 0 && seen.method == "POST"));
    assert_eq!(seen[0].headers["content-type"], "application/json");
    assert!(seen[0].headers["user-agent"].starts_with("fencehold/"));
    assert!(!seen[0].headers.contains_key("authorization"));
}

#[test]
fn a_connection_that_closed_while_idle_is_no_error() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| Then::AnswerAndClose(broker.reply(seen)));
    let client = client(&server);
    let lock = client.lock("n", options(1)).unwrap();
    for _ in 0..10 {
        assert!(lock.acquire().unwrap().is_granted());
        client.show("n").unwrap();
        std::thread::sleep(Duration::from_millis(350));
        assert!(lock.keep_alive());
        assert!(lock.release().unwrap());
    }
    assert_eq!(server.ops().iter().filter(|op| *op == "renew").count(), 10, "each was sent once");
}

#[test]
fn a_connection_that_closes_as_it_is_used_again_is_no_error() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| {
        // A keep-alive timer that runs out as the request arrives: nothing was done.
        if seen.connection < 10 && seen.number > 0 && seen.number % 2 == 1 { Then::Close } else { broker.answer(seen) }
    });
    let client = client(&server);
    for _ in 0..5 {
        client.show("n").unwrap();
        let lock = client.lock("n", options(30)).unwrap();
        assert!(lock.acquire().unwrap().is_granted());
        assert!(lock.release().unwrap(), "{:?}", lock.last_error());
    }
}

#[test]
fn a_broker_that_restarts_while_we_are_idle_costs_no_error() {
    let broker = Arc::new(Broker::queen());
    // An address of its own, so that no other test takes the port in between.
    let kept = broker.clone();
    let mut server = Scripted::listen("127.0.0.11:0", move |seen| kept.answer(seen));
    let client = client(&server);
    let lock = client.lock("n", options(60)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    for round in 0..50 {
        let address = server.stop();
        let kept = broker.clone();
        server = Scripted::listen(&address.to_string(), move |seen| kept.answer(seen));
        match round % 4 {
            0 => assert!(lock.release().unwrap()),
            1 => assert!(lock.acquire().unwrap().is_granted()),
            2 => assert!(client.show("n").unwrap().held),
            _ => client.ping().unwrap(),
        }
        if round % 4 == 3 {
            assert!(lock.held());
        }
    }
}

#[test]
fn a_broker_that_is_back_in_a_moment_costs_no_error() {
    let broker = Arc::new(Broker::queen());
    let kept = broker.clone();
    let server = Scripted::listen("127.0.0.12:0", move |seen| kept.answer(seen));
    let client = client(&server);
    client.ping().unwrap();
    let address = server.stop();
    let kept = broker.clone();
    let restart = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        Scripted::listen(&address.to_string(), move |seen| kept.answer(seen))
    });
    let lock = client.lock("n", options(60)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    assert!(lock.release().unwrap());
    drop(restart.join().unwrap());
}

#[test]
fn a_connection_that_went_silent_is_left_for_a_new_one() {
    let broker = Arc::new(Broker::queen());
    let moved = Arc::new(AtomicBool::new(false));
    let away = moved.clone();
    let server = in_front(&broker, move |seen, broker| {
        // As when the address has moved: what was connected before is never answered again.
        if away.load(Ordering::SeqCst) && seen.connection == 0 { Then::Silence } else { broker.answer(seen) }
    });
    let client = client(&server);
    let lock = client.lock("n", options(6)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    moved.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(2100));
    let began = Instant::now();
    assert!(lock.keep_alive());
    assert!(lock.last_error().is_none(), "the renewal got through: {:?}", lock.last_error());
    assert!(began.elapsed() < Duration::from_secs(2), "within one attempt");
    assert!(lock.release().unwrap());
}

#[test]
fn another_server_is_asked_when_one_fails() {
    let broker = Arc::new(Broker::queen());
    let good = in_front(&broker, |seen, broker| broker.answer(seen));
    let silent = Scripted::start(|_| Then::Silence);
    let failing = Scripted::start(|_| Then::Answer(Reply::json(502, &json!({"error": "Bad Gateway"}))));
    let gone = Scripted::listen("127.0.0.13:0", |_| Then::Close).stop();
    // Whichever a client asks first.
    for _ in 0..6 {
        let url = format!("http://{gone},{},{},{}", silent.url(), failing.url(), good.url());
        let client = patient(&url, Duration::from_secs(4));
        let lock = client.lock("n", options(30)).unwrap();
        assert!(lock.acquire().unwrap().is_granted(), "{:?}", lock.last_error());
        assert!(lock.release().unwrap());
    }
}

#[test]
fn a_refusal_is_final_and_asked_of_no_other_server() {
    let refusing: Vec<Scripted> = (0..2)
        .map(|_| Scripted::start(|_| Then::Answer(Reply::json(403, &json!({"error": "Insufficient permissions"})))))
        .collect();
    let client = Client::open(&format!("{},{}", refusing[0].url(), refusing[1].url())).unwrap();
    let error = client.lock("n", options(30)).unwrap().acquire().unwrap_err();
    assert_eq!(error.kind(), Kind::Forbidden);
    assert!(error.to_string().contains(&refusing[0].url()), "which one is told: {error}");
    assert_eq!(refusing[0].seen().len() + refusing[1].seen().len(), 1);
}

#[test]
fn a_server_that_failed_is_asked_last_for_a_while() {
    let broker = Arc::new(Broker::queen());
    let good = in_front(&broker, |seen, broker| broker.answer(seen));
    let failing = Scripted::start(|_| Then::Answer(Reply::json(500, &json!({"error": "kv_error"}))));
    let client = Client::open(&format!("{},{}", failing.url(), good.url())).unwrap();
    for _ in 0..10 {
        client.show("n").unwrap();
    }
    assert!(failing.seen().len() <= 1, "{}", failing.seen().len());
}

#[test]
fn a_server_that_never_answers_ends_every_call_in_time() {
    let server = Scripted::start(|_| Then::Silence);
    let client = patient(&server.url(), Duration::from_millis(500));
    let began = Instant::now();
    assert_eq!(client.ping().unwrap_err().kind(), Kind::Unreachable);
    assert_eq!(client.show("n").unwrap_err().kind(), Kind::Unreachable);
    assert_eq!(client.list("", 10, "").unwrap_err().kind(), Kind::Unreachable);
    let lock = client.lock("n", options(30)).unwrap();
    assert_eq!(lock.acquire().unwrap_err().kind(), Kind::InDoubt);
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_token_that_is_replaced_in_its_file_is_sent_at_once() {
    let broker = Arc::new(Broker::queen());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "one\n").unwrap();
    let second = Arc::new(AtomicBool::new(false));
    let rotated = second.clone();
    let server = in_front(&broker, move |seen, broker| {
        let wanted = if rotated.load(Ordering::SeqCst) { "Bearer two" } else { "Bearer one" };
        if seen.headers.get("authorization").is_some_and(|given| given == wanted) {
            broker.answer(seen)
        } else {
            Then::Answer(Reply::json(401, &json!({"error": "Invalid token signature"})))
        }
    });
    let client = Client::open_with(&server.url(), ClientOptions::new().auth_token_file(&path)).unwrap();
    let lock = client.lock("n", options(30)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    second.store(true, Ordering::SeqCst);
    std::fs::write(&path, "two\n").unwrap();
    assert!(lock.release().unwrap(), "{:?}", lock.last_error());
    std::fs::write(&path, "three\n").unwrap();
    // A file is looked at again after a second at the latest.
    std::thread::sleep(Duration::from_millis(1100));
    let error = lock.acquire().unwrap_err();
    assert_eq!(error.kind(), Kind::Unauthorized);
    assert!(error.to_string().contains("Invalid token signature"), "{error}");
}

#[test]
fn secrets_are_sent_and_never_shown() {
    let server = Scripted::start(|_| Then::Answer(Reply::json(401, &json!({"error": "no"}))));
    let url = format!("http://us%20er:hunter2@{}", server.address);
    let options = ClientOptions::new().auth_token("hunter2");
    assert!(!format!("{options:?}").contains("hunter2"));
    let client = Client::open_with(&url, options).unwrap();
    let error = client.lock("n", crate::options(30)).unwrap().acquire().unwrap_err();
    for shown in [format!("{error}"), format!("{error:?}"), format!("{client:?}"), client.store().to_string()] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(server.seen()[0].headers["authorization"], "Basic dXMgZXI6aHVudGVyMg==");
    let client = Client::open_with(&server.url(), ClientOptions::new().auth_token("hunter2")).unwrap();
    client.show("n").unwrap_err();
    assert_eq!(server.seen().last().unwrap().headers["authorization"], "Bearer hunter2");
    let client = Client::open_with(&server.url(), ClientOptions::new().user("u").password("p")).unwrap();
    client.show("n").unwrap_err();
    assert_eq!(server.seen().last().unwrap().headers["authorization"], "Basic dTpw");
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Scripted::start(|_| Then::Answer(Reply::json(200, &json!({}))));
    let target = elsewhere.url();
    let server = Scripted::start(move |_| {
        Then::Answer(Reply::json(301, &json!({})).header("Location", &format!("{target}/api/v1/locks")))
    });
    let client = Client::open_with(&server.url(), ClientOptions::new().auth_token("hunter2")).unwrap();
    for error in [client.show("n").unwrap_err(), client.ping().unwrap_err()] {
        assert_eq!(error.reason(), "redirected", "{error}");
    }
    assert_eq!(elsewhere.seen().len(), 0);
}

#[test]
fn a_forked_child_has_connections_of_its_own() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let lock = client.lock("parents", options(60)).unwrap();
    assert!(lock.acquire().unwrap().is_granted());
    // SAFETY: the child uses the library and ends without unwinding or running handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let work = || {
            let lock = client.lock("childs", options(60)).map_err(drop)?;
            lock.acquire().map_err(drop)?.is_granted().then_some(()).ok_or(())?;
            lock.release().map_err(drop)?.then_some(()).ok_or(())
        };
        let code = i32::from(work().is_err() || lock.held());
        // SAFETY: as above.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    assert!(lock.held());
    assert!(lock.release().unwrap());
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 1, 1, 0]);
}

#[test]
fn many_threads_share_a_client() {
    let broker = Arc::new(Broker::queen());
    let server = in_front(&broker, |seen, broker| broker.answer(seen));
    let client = client(&server);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let client = &client;
            scope.spawn(move || {
                for _ in 0..20 {
                    let lock = client.lock(&format!("n{thread}"), options(30)).unwrap();
                    assert!(lock.acquire().unwrap().is_granted());
                    assert!(lock.release().unwrap());
                }
            });
        }
    });
    assert!(server.connections() <= 8, "{}", server.connections());
    assert!(began.elapsed() < LONG);
}
