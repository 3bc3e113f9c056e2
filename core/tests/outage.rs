//! What happens while a store does not answer: another program stands still with its file lock.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use fencehold::{Client, Kind, Lock, LostReason};

/// Takes the store in `folder` out of reach for as long as the answer lives.
fn outage(folder: &Path) -> File {
    let file = File::open(folder.join("lock")).unwrap();
    file.lock().unwrap();
    file
}

fn take(client: &Client, count: u32, ttl: Duration) -> Vec<Lock> {
    (0..count).map(|n| client.acquire(&n.to_string(), ttl).unwrap()).collect()
}

#[test]
fn a_renewal_that_fails_after_the_loss_does_not_hide_it() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::open(&format!("file:{}", folder.path().display())).unwrap();
    let locks = take(&client, 3, Duration::from_millis(400));
    let _away = outage(folder.path());
    // Whoever asks first finds the end, most likely while a renewal is still on its way.
    while locks.iter().any(Lock::held) {
        std::thread::yield_now();
    }
    for _ in 0..20 {
        for lock in &locks {
            assert_eq!(lock.lost_reason(), Some(LostReason::Expired));
            let error = lock.last_error().unwrap();
            assert_eq!(error.kind(), Kind::Lost, "{error}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_store_that_stands_still_takes_no_lease_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::open(&format!("file:{}", folder.path().display())).unwrap();
    let stuck = take(&client, 20, Duration::from_secs(6));
    let away = outage(folder.path());
    let other = Client::open("memory:").unwrap();
    let lock = other.acquire("n", Duration::from_millis(500)).unwrap();
    assert_eq!(lock.wait_lost(Duration::from_millis(3000)), None);
    // Their renewals were due a second ago, and the store comes back in time.
    assert!(stuck.iter().all(|lock| lock.remaining() < Duration::from_millis(3500)));
    drop(away);
    for lock in &stuck {
        assert_eq!(lock.wait_lost(Duration::from_millis(100)), None);
    }
}
