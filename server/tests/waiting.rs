//! Waiting on a connection, in line.

mod site;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use site::{Peer, Site};

fn ask(name: &str, owner: &str, wait: u64, fair: bool) -> Value {
    json!([{"op": "acquire", "name": name, "owner": owner, "ttlSeconds": 30, "waitMs": wait, "fair": fair}])
}

/// Sends an acquire that waits, and comes back when it is in line.
fn queue_up(site: &Site, looking: &mut Peer, name: &str, owner: &str, fair: bool) -> Peer {
    let mut peer = site.connect();
    let length = waiting(looking, name).len();
    peer.send("POST", "/api/v1/locks", &ask(name, owner, 20_000, fair).to_string());
    until(|| waiting(looking, name).len() == length + 1);
    peer
}

fn waiting(peer: &mut Peer, name: &str) -> Vec<Value> {
    peer.lock(json!({"op": "get", "name": name}))["waiting"].as_array().unwrap().clone()
}

fn until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "it did not come to that");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn result(mut peer: Peer) -> Value {
    let answer = peer.receive();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["results"][0].clone()
}

#[test]
fn a_waiter_gets_the_permit_with_the_release() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    let waiter = queue_up(&site, &mut peer, "n", "b", false);
    assert_eq!(peer.release(&grant)["released"], true);
    let got = result(waiter);
    assert_eq!((&got["acquired"], &got["owner"]), (&json!(true), &json!("b")));
    assert!(got["token"].as_u64() > grant["token"].as_u64());
    assert!(got["waited"].is_u64() && got.get("ticket").is_none(), "{got}");
    assert_eq!(waiting(&mut peer, "n"), Vec::<Value>::new());
}

#[test]
fn a_waiter_gets_the_permit_when_the_lease_ends() {
    let site = Site::new();
    let mut peer = site.connect();
    let began = Instant::now();
    peer.lock(json!({"op": "acquire", "name": "n", "owner": "a", "ttlSeconds": 1}));
    let got = result(queue_up(&site, &mut peer, "n", "b", false));
    assert_eq!(got["acquired"], true);
    assert!(began.elapsed() >= Duration::from_millis(999), "never early: {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn a_wait_that_is_over_says_how_long_it_was() {
    let site = Site::new();
    let mut peer = site.connect();
    peer.acquire("n", "a");
    let at_once = peer.locks(ask("n", "b", 0, false)).remove(0);
    assert_eq!((&at_once["acquired"], &at_once["waited"]), (&json!(false), &json!(0)));
    let later = peer.locks(ask("n", "b", 150, false)).remove(0);
    assert_eq!((&later["acquired"], &later["reason"]), (&json!(false), &json!("held")));
    assert_eq!(later["holders"], json!([{"slot": 0, "owner": "a"}]));
    assert!(later["waited"].as_u64().unwrap() >= 150, "{later}");
    assert!(peer.acquire("n", "b").get("waited").is_none(), "only when asked");
    assert_eq!(waiting(&mut peer, "n"), Vec::<Value>::new());
}

#[test]
fn the_servers_own_limit_comes_first() {
    let site = Site::with(|options| options.longest_poll = Duration::from_millis(100));
    let mut peer = site.connect();
    peer.acquire("n", "a");
    let answer = peer.locks(ask("n", "b", 600_000, false)).remove(0);
    assert!((100..20_000).contains(&answer["waited"].as_u64().unwrap()), "{answer}");
}

#[test]
fn waiters_are_served_in_the_order_of_their_arrival() {
    let site = Site::new();
    let mut peer = site.connect();
    let mut grant = peer.acquire("n", "first");
    let owners: Vec<String> = (0..12).map(|n| format!("w{n}")).collect();
    let waiters: Vec<Peer> =
        owners.iter().map(|owner| queue_up(&site, &mut peer, "n", owner, owner.ends_with('3'))).collect();
    let shown = waiting(&mut peer, "n");
    assert_eq!(shown.iter().map(|waiter| waiter["owner"].as_str().unwrap()).collect::<Vec<_>>(), owners);
    assert_eq!(shown[11]["position"], 12);
    assert_eq!(peer.acquire("n", "late")["reason"], "held");
    for (owner, waiter) in owners.iter().zip(waiters) {
        peer.release(&grant);
        grant = result(waiter);
        assert_eq!(grant["owner"], json!(owner));
    }
}

#[test]
fn free_permits_go_to_as_many_waiters() {
    let site = Site::new();
    let mut peer = site.connect();
    let limit = |owner: &str, wait: u64| json!([{"op": "acquire", "name": "s", "owner": owner, "ttlSeconds": 30, "limit": 3, "waitMs": wait}]);
    let held: Vec<Value> = ["a", "b", "c"].iter().map(|owner| peer.locks(limit(owner, 0)).remove(0)).collect();
    let waiters: Vec<Peer> = (0..4)
        .map(|n| {
            let mut waiter = site.connect();
            waiter.send("POST", "/api/v1/locks", &limit(&format!("w{n}"), 20_000).to_string());
            until(|| waiting(&mut peer, "s").len() == n + 1);
            waiter
        })
        .collect();
    let mut releases: Vec<Value> = Vec::new();
    for grant in &held[..2] {
        releases.push(json!({"op": "release", "name": "s", "slot": grant["slot"], "token": grant["token"]}));
        peer.locks(json!([releases.last()]));
    }
    let mut waiters = waiters.into_iter();
    for _ in 0..2 {
        assert_eq!(result(waiters.next().unwrap())["acquired"], true);
    }
    assert_eq!(waiting(&mut peer, "s").len(), 2);
}

#[test]
fn a_waiter_that_hangs_up_gets_nothing_and_leaves_nothing() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    drop(queue_up(&site, &mut peer, "n", "gone", false));
    until(|| waiting(&mut peer, "n").is_empty());
    peer.release(&grant);
    assert_eq!(peer.lock(json!({"op": "get", "name": "n"}))["held"], false);
    // The same while the grant is being made: whoever hung up holds nothing for long.
    for round in 0..30 {
        let grant = peer.acquire("n", "a");
        let gone = format!("gone{round}");
        let waiter = queue_up(&site, &mut peer, "n", &gone, false);
        let releaser = std::thread::scope(|scope| {
            scope.spawn(|| drop(waiter));
            peer.release(&grant)
        });
        assert_eq!(releaser["released"], true);
        until(|| {
            // An answer that was under way when the connection broke is found by the same owner.
            let shown = peer.lock(json!({"op": "get", "name": "n"}));
            if shown["held"] == true {
                let found = peer.acquire("n", &gone);
                assert_eq!(found["acquired"], true, "{shown}");
                peer.release(&found);
            }
            shown["held"] == false
        });
    }
}

#[test]
fn a_fair_place_is_kept_across_a_cut_and_resumed_by_its_owner() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    let first = queue_up(&site, &mut peer, "n", "one", true);
    let second = queue_up(&site, &mut peer, "n", "two", true);
    drop(first);
    let resumed = peer.locks(ask("n", "one", 50, true)).remove(0);
    assert_eq!((&resumed["acquired"], &resumed["position"], &resumed["length"]), (&json!(false), &json!(1), &json!(2)));
    let ticket = resumed["ticket"].as_str().unwrap().to_string();
    assert_eq!((ticket.len(), &waiting(&mut peer, "n")[0]["ticket"]), (10, &json!(ticket)));
    let mut again = site.connect();
    again.send("POST", "/api/v1/locks", &ask("n", "one", 20_000, true).to_string());
    peer.release(&grant);
    let got = result(again);
    assert_eq!((&got["acquired"], &got["ticket"], &got["position"]), (&json!(true), &json!(ticket), &json!(0)));
    peer.release(&got);
    assert_eq!(result(second)["owner"], "two");
}

#[test]
fn a_place_is_given_up_by_leaving() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    let first = peer.locks(ask("n", "one", 0, true)).remove(0);
    assert_eq!((&first["position"], &first["waited"]), (&json!(1), &json!(0)));
    let second = queue_up(&site, &mut peer, "n", "two", true);
    let leave = json!({"op": "leave", "name": "n", "owner": "one"});
    assert_eq!(peer.lock(leave.clone()), json!({"index": 0, "op": "leave", "name": "n", "left": true}));
    assert_eq!(peer.lock(leave)["left"], false);
    assert_eq!(waiting(&mut peer, "n").len(), 1);
    peer.release(&grant);
    assert_eq!(result(second)["acquired"], true);
}

#[test]
fn a_head_that_does_not_come_does_not_hold_up_the_rest() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    drop(queue_up(&site, &mut peer, "n", "gone", true));
    let second = queue_up(&site, &mut peer, "n", "two", true);
    peer.release(&grant);
    assert_eq!(result(second)["acquired"], true);
}

#[test]
fn a_label_is_kept_beside_the_owner() {
    let site = Site::new();
    let mut peer = site.connect();
    let ask = json!({"op": "acquire", "name": "n", "owner": "a", "label": "the report", "ttlSeconds": 30});
    let grant = peer.lock(ask);
    peer.lock(json!({"op": "renew", "name": "n", "token": grant["token"], "ttlSeconds": 30}));
    let row = peer.ask("GET", "/api/v1/kv/queen-locks/n%230", "").json();
    assert_eq!((&row["value"]["owner"], &row["value"]["label"]), (&json!("a"), &json!("the report")));
    assert!(row["value"]["since"].is_string());
}

#[test]
fn a_fair_place_outlives_the_server() {
    let site = Site::new();
    let mut peer = site.connect();
    let grant = peer.acquire("n", "a");
    let ticket = peer.locks(ask("n", "one", 0, true)).remove(0)["ticket"].clone();
    let plain = queue_up(&site, &mut peer, "n", "plain", false);
    let site = site.restart();
    assert_eq!(result(plain)["acquired"], false, "a server that ends answers those who wait");
    let mut peer = site.connect();
    let places = waiting(&mut peer, "n");
    assert_eq!((places.len(), &places[0]["ticket"]), (1, &ticket));
    assert_eq!(peer.acquire("n", "other")["acquired"], false);
    peer.release(&grant);
    let resumed = peer.locks(ask("n", "one", 1000, true)).remove(0);
    assert_eq!((&resumed["acquired"], &resumed["ticket"]), (&json!(true), &ticket));
}
