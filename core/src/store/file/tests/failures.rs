//! Folders and files that are not as they should be.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn opening_touches_nothing_before_the_first_use() {
    let folder = folder();
    let path = folder.path().join("a/b");
    let store = open(&path);
    assert!(!path.exists());
    put(&store, "k", "1").expect("written");
    assert_eq!(std::fs::metadata(&path).expect("made").permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::metadata(path.join("leases")).expect("made").permissions().mode() & 0o777, 0o600);
    assert_eq!(store.store(), format!("file:{}", path.display()));
}

#[test]
fn files_belong_to_whoever_may_write_in_the_folder() {
    for (folder_mode, file_mode) in [(0o2770, 0o660), (0o755, 0o600), (0o1777, 0o666)] {
        let folder = folder();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(folder_mode)).expect("set");
        let store = open(folder.path());
        put(&store, "k", "1").expect("written");
        for name in ["lock", "leases", "clients", "tokens", "boot", "format"] {
            let mode = std::fs::metadata(folder.path().join(name)).expect(name).permissions().mode();
            assert_eq!(mode & 0o777, file_mode, "{name}");
        }
        assert!(store.check().iter().all(|check| check.ok), "{:?}", store.check());
    }
}

#[test]
fn a_newer_format_is_refused_with_both_numbers() {
    let folder = folder();
    put(&open(folder.path()), "k", "1").expect("written");
    std::fs::write(folder.path().join("format"), "fencehold host store, format 9\n").expect("written");
    let child = Child::fork(|| {
        let error = put(&open(folder.path()), "k", "2").expect_err("refused");
        error.reason() == "store_newer_format" && error.to_string().contains("format 9")
    });
    assert!(child.went_well());
    std::fs::write(folder.path().join("format"), "fencehold server store, format 1\n").expect("written");
    let child = Child::fork(|| reason(put(&open(folder.path()), "k", "2")) == "store/store_of_a_server");
    assert!(child.went_well());
}

#[test]
fn a_format_that_rises_under_a_running_program_stops_it() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "k", "1").expect("written");
    let home = store.home(soon()).expect("open");
    home.page.format.store(9, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(reason(put(&store, "k", "2")), "store/store_newer_format");
}

/// Runs `body` as a user without rights; skipped, and said so, where we are not root.
fn as_nobody(body: impl FnOnce() -> bool) {
    if !is_root() {
        eprintln!("skipped: 1 (another user needs root)");
        return;
    }
    let child = Child::fork(|| {
        // SAFETY: gives up rights in a child of this test.
        let changed = unsafe { libc::setgid(65534) == 0 && libc::setuid(65534) == 0 };
        changed && body()
    });
    assert!(child.went_well());
}

#[test]
fn a_folder_of_somebody_else_is_forbidden() {
    let folder = folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("set");
    as_nobody(|| reason(put(&open(folder.path()), "k", "1")) == "forbidden/store_forbidden");
    put(&open(folder.path()), "k", "1").expect("written");
    as_nobody(|| reason(put(&open(folder.path()), "k", "1")) == "forbidden/store_forbidden");
}

#[test]
fn what_root_makes_in_a_users_folder_belongs_to_the_user() {
    if !is_root() {
        eprintln!("skipped: 1 (another user needs root)");
        return;
    }
    let folder = folder();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).expect("given away");
    put(&open(folder.path()), "k", "1").expect("written");
    as_nobody(|| put(&open(folder.path()), "k", "2").is_ok());
}

/// Mounts a file system of `bytes` on `folder` in a mount namespace of the calling child.
fn mount_small(folder: &Path, options: &str) -> bool {
    let c = |text: &str| std::ffi::CString::new(text).expect("no NUL");
    let target = c(folder.to_str().expect("text"));
    // SAFETY: NUL-terminated texts; only this child's view of the mounts changes.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(c"tmpfs".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, c(options).as_ptr().cast()) == 0
    }
}

#[test]
fn a_read_only_file_system_is_told_as_such() {
    if !is_root() {
        eprintln!("skipped: 1 (a mount needs root)");
        return;
    }
    let folder = folder();
    let child = Child::fork(|| {
        if !mount_small(folder.path(), "size=8m") {
            eprintln!("skipped: 1 (no mount namespaces here)");
            return true;
        }
        let target = std::ffi::CString::new(folder.path().to_str().expect("text")).expect("no NUL");
        // SAFETY: a NUL-terminated path.
        let done = unsafe {
            libc::mount(
                std::ptr::null(),
                target.as_ptr(),
                std::ptr::null(),
                libc::MS_REMOUNT | libc::MS_RDONLY,
                std::ptr::null(),
            )
        };
        done == 0 && reason(put(&open(folder.path()), "k", "1")) == "store/store_read_only"
    });
    assert!(child.went_well());
}

#[test]
fn a_full_disk_refuses_new_locks_and_never_a_renewal_or_a_release() {
    if !is_root() {
        eprintln!("skipped: 1 (a mount needs root)");
        return;
    }
    let folder = folder();
    let child = Child::fork(|| {
        if !mount_small(folder.path(), "size=4m") {
            eprintln!("skipped: 1 (no mount namespaces here)");
            return true;
        }
        let store = open(folder.path());
        put(&store, "held", "0").expect("written");
        // Fill what is left, then what the store had reserved.
        let mut filler = std::fs::File::create(folder.path().join("filler")).expect("made");
        while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
        let mut refused = None;
        for at in 0..100_000 {
            if let Err(error) = put(&store, &format!("key{at:06}"), &"v".repeat(300)) {
                refused = Some((at, error));
                break;
            }
        }
        let (count, error) = refused.expect("full at last");
        assert_eq!((error.kind().id(), error.reason()), ("store", "store_full"), "{error}");
        for round in 0..2_000 {
            store
                .transact(Intent::Keep, soon(), &mut |rows| {
                    let client = rows.client();
                    rows.put(Table::Locks, b"held", NewRow { value: b"1", expires: None, client })?;
                    Ok(())
                })
                .unwrap_or_else(|error| panic!("renewal {round}: {error}"));
        }
        for at in 0..count {
            store
                .transact(Intent::Keep, soon(), &mut |rows| {
                    assert!(rows.delete(Table::Locks, format!("key{at:06}").as_bytes())?);
                    Ok(())
                })
                .unwrap_or_else(|error| panic!("release {at}: {error}"));
        }
        drop(filler);
        std::fs::remove_file(folder.path().join("filler")).expect("removed");
        put(&store, "new", "1").is_ok()
    });
    assert!(child.went_well());
}

#[test]
fn a_damaged_or_foreign_file_is_named() {
    for (name, bytes) in [
        ("leases", b"not a database, but long enough to be one, were it not for its text".repeat(200)),
        ("leases", Vec::new()),
        ("lock", vec![7; 70_000]),
        ("tokens", b"words ".repeat(400)),
        ("format", b"something else\n".to_vec()),
    ] {
        let folder = folder();
        let child = Child::fork(|| put(&open(folder.path()), "k", "1").is_ok());
        assert!(child.went_well());
        std::fs::write(folder.path().join(name), &bytes).expect("overwritten");
        let child = Child::fork(|| {
            let result = put(&open(folder.path()), "k", "2");
            if bytes.is_empty() {
                // An empty file is what LMDB starts with.
                return result.is_ok();
            }
            let error = result.expect_err(name);
            error.reason() == "store_damaged"
                && error.detail().contains(folder.path().join(name).to_str().expect("text"))
        });
        assert!(child.went_well(), "{name}");
    }
}

#[test]
fn a_file_that_is_cut_short_under_a_running_program_is_told_and_kills_nobody() {
    for name in ["leases", "lock"] {
        let folder = folder();
        let child = Child::fork(|| {
            let store = open(folder.path());
            put(&store, "k", "1").expect("written");
            let file = std::fs::File::options().write(true).open(folder.path().join(name)).expect("open");
            file.set_len(0).expect("cut");
            reason(put(&store, "k", "2")) == "store/store_damaged"
        });
        assert!(child.went_well(), "{name}");
    }
}

#[test]
fn the_lease_file_can_be_deleted_at_any_time_without_lowering_a_version() {
    let folder = folder();
    let store = open(folder.path());
    let before = put(&store, "k", "1").expect("written");
    std::fs::remove_file(folder.path().join("leases")).expect("removed");
    assert!(get(&store, "k").expect("read").is_none());
    assert!(put(&store, "k", "2").expect("written") > before);
}

#[test]
fn a_deleted_folder_is_made_again_and_versions_go_on() {
    let folder = folder();
    let path = folder.path().join("store");
    let store = open(&path);
    let mut highest = 0;
    for _ in 0..20 {
        for _ in 0..50 {
            let version = put(&store, "k", "1").expect("written");
            assert!(version > highest);
            highest = version;
        }
        std::fs::remove_dir_all(&path).expect("removed");
    }
    // Another process finds nothing of it and is not lower either.
    let child = Child::fork(|| put(&open(&path), "k", "1").is_ok_and(|version| version > highest));
    assert!(child.went_well());
}

#[test]
fn a_folder_that_is_moved_away_is_noticed() {
    let folder = folder();
    let (path, away) = (folder.path().join("store"), folder.path().join("away"));
    let store = open(&path);
    let before = put(&store, "k", "1").expect("written");
    std::fs::rename(&path, &away).expect("moved");
    wait_for("a new folder", || put(&store, "k", "2").expect("written") > before && path.join("leases").exists());
}

#[test]
fn a_loss_of_the_counter_jumps_ahead() {
    let folder = folder();
    let store = open(folder.path());
    let before = put(&store, "k", "1").expect("written");
    let page = store.home(soon()).expect("open").page;
    for stray in [0, u64::MAX, 12_345] {
        page.next_version.store(stray, std::sync::atomic::Ordering::SeqCst);
        assert!(put(&store, "k", "1").expect("written") > before);
    }
}

#[test]
fn a_used_up_block_is_followed_by_another() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "k", "1").expect("written");
    let page = store.home(soon()).expect("open").page;
    let order = std::sync::atomic::Ordering::SeqCst;
    let limit = super::super::wake::unseal(page.version_limit.load(order)).expect("a limit");
    page.next_version.store(super::super::wake::seal(limit - 1), order);
    assert_eq!(put(&store, "k", "2").expect("written"), limit - 1);
    assert_eq!(put(&store, "k", "3").expect("written"), limit);
    let after = super::super::wake::unseal(page.version_limit.load(order)).expect("a limit");
    assert!(after > limit);
    // What is reserved is on the disk.
    let home = store.home(soon()).expect("open");
    assert_eq!(home.tokens.durable_limit(&home.paths.tokens).expect("read"), after);
}

#[test]
fn another_boot_ends_leases_only_when_nobody_lives() {
    let folder = folder();
    let boot = folder.path().join("boot");
    let child = Child::fork(|| put(&open(folder.path()), "k", "1").is_ok());
    assert!(child.went_well());
    let here = std::fs::read_to_string(&boot).expect("a stamp");
    let clock = here.lines().nth(1).expect("a clock").to_string();
    let other = here.replace(here.lines().next().expect("a boot"), "boot 00000000-0000");
    let read = || get(&open(folder.path()), "k").expect("read").is_some();
    // Same boot: the row is still there, though its client is dead.
    assert!(Child::fork(read).went_well());
    let living = Child::fork(|| {
        let store = open(folder.path());
        put(&store, "living", "1").expect("written");
        std::thread::sleep(Duration::from_secs(20));
        true
    });
    let store_seen = || Child::fork(|| get(&open(folder.path()), "living").expect("read").is_some()).went_well();
    wait_for("a client", store_seen);
    std::fs::write(&boot, &other).expect("written");
    assert!(Child::fork(read).went_well(), "somebody lives: the same boot");
    let shifted = here.replace(&clock, "clock 99999.0");
    std::fs::write(&boot, shifted).expect("written");
    let refused = Child::fork(|| reason(put(&open(folder.path()), "k", "1")) == "unsupported/store_other_clock");
    assert!(refused.went_well());
    living.kill();
    std::fs::write(&boot, &other).expect("written");
    assert!(!Child::fork(read).went_well(), "begun anew");
    assert_eq!(std::fs::read_to_string(&boot).expect("a stamp"), here);
}

#[test]
fn a_restored_copy_of_the_folder_begins_anew_above_the_original() {
    let folder = folder();
    let (path, copy) = (folder.path().join("store"), folder.path().join("copy"));
    let written = Child::fork(|| put(&open(&path), "k", "1").is_ok());
    assert!(written.went_well());
    std::fs::create_dir(&copy).expect("made");
    for entry in std::fs::read_dir(&path).expect("listed").flatten() {
        std::fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let store = open(&path);
    let later = (0..100).map(|_| put(&store, "k", "2").expect("written")).max().expect("some");
    std::fs::rename(&path, folder.path().join("lost")).expect("moved");
    std::fs::rename(&copy, &path).expect("restored");
    let child = Child::fork(|| {
        let store = open(&path);
        get(&store, "k").expect("read").is_none() && put(&store, "k", "3").is_ok_and(|version| version > later)
    });
    assert!(child.went_well());
}

#[test]
fn a_new_file_of_clients_is_noticed() {
    let folder = folder();
    let store = open(folder.path());
    let before = me(&store);
    std::fs::remove_file(folder.path().join("clients")).expect("removed");
    wait_for("another identity", || me(&store) != before);
    let seen = Child::fork(|| {
        let store = open(folder.path());
        me(&store) != ClientId::NONE && store.check().iter().any(|check| check.detail.starts_with("2 living"))
    });
    assert!(seen.went_well());
}

#[test]
fn a_path_that_cannot_be_a_folder_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("file"), b"").expect("written");
    assert_eq!(reason(put(&open(&folder.path().join("file")), "k", "1")), "store/store_bad_path");
    assert_eq!(reason(put(&open(&folder.path().join("file/x")), "k", "1")), "store/store_bad_path");
}
