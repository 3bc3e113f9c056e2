//! Users who share one store.

use super::*;

/// Runs `body` as a user without rights.
fn as_nobody(body: impl FnOnce(&mut Output) -> bool) -> Child {
    Child::fork(|output| {
        // SAFETY: gives up rights in a child of this test.
        let changed = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0 && libc::setgid(65534) == 0 && libc::setuid(65534) == 0
        };
        changed && body(output)
    })
}

/// A folder where everybody gets in, and in it the store's.
fn shared(mode: u32) -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    if !is_root() {
        println!("skipped: 1 (another user needs root)");
        return None;
    }
    let outer = folder(0o755);
    let path = outer.path().join("store");
    std::fs::create_dir(&path).expect("made");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
    Some((outer, path))
}

#[test]
fn two_users_exclude_each_other_and_take_over_from_each_other() {
    // Whoever opens the store first makes its files.
    for root_is_first in [true, false] {
        let Some((_outer, path)) = shared(0o1777) else { return };
        if !root_is_first {
            assert!(as_nobody(|_| is_free(&open(&path), "first")).went_well());
        }
        let client = open(&path);
        let mine = handle(&client, "n");
        let fence = take(&mine);
        let mut other = as_nobody(|output| {
            let client = open(&path);
            assert!(!is_free(&client, "n"), "held by two users");
            let lock = handle(&client, "n");
            output.say(take(&lock));
            stay()
        });
        until("the other user in line", || client.show("n").expect("shown").waiters.len() == 1);
        assert!(mine.release().expect("an answer"));
        let next = other.heard();
        assert!(next > fence);
        assert!(!is_free(&client, "n"));
        other.kill();
        assert!(take(&mine) > next);
        assert!(mine.release().expect("an answer"));
    }
}

#[test]
fn a_group_shares_a_store_and_strangers_do_not() {
    let Some((_outer, path)) = shared(0o2770) else { return };
    let client = open(&path);
    let mine = handle(&client, "n");
    take(&mine);
    // Not of the group.
    let refused = as_nobody(|_| {
        let error = open(&path).show("n").expect_err("no rights");
        error.kind() == fencehold::Kind::Forbidden && error.to_string().contains(path.to_str().expect("text"))
    });
    assert!(refused.went_well());
    assert!(mine.held() && mine.release().expect("an answer"));
    std::os::unix::fs::chown(&path, None, Some(65534)).expect("given to the group");
    for name in std::fs::read_dir(&path).expect("listed") {
        std::os::unix::fs::chown(name.expect("a file").path(), None, Some(65534)).expect("given to the group");
    }
    assert!(as_nobody(|_| is_free(&open(&path), "n")).went_well());
    take(&mine);
    assert!(as_nobody(|_| !is_free(&open(&path), "n")).went_well());
}

#[test]
fn a_folder_that_may_only_be_read_is_told_as_such() {
    let Some((_outer, path)) = shared(0o755) else { return };
    assert!(is_free(&open(&path), "n"));
    let refused = as_nobody(|_| {
        let client = open(&path);
        let error = client.acquire("n", LONG).expect_err("no rights");
        error.kind() == fencehold::Kind::Forbidden
            && client.holders("n").is_err_and(|error| error.kind() == fencehold::Kind::Forbidden)
    });
    assert!(refused.went_well());
    assert!(is_free(&open(&path), "n"), "nothing was changed");
}
