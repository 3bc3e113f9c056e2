//! Processes that die, fork, and live in other namespaces.

use std::io::{Read, Write};

use super::*;

#[test]
fn kill_frees_a_clients_rows_at_once_although_its_children_live() {
    let folder = folder();
    let store = open(folder.path());
    let holder = Child::fork(|| {
        let store = open(folder.path());
        if put(&store, "held", "1").is_err() {
            return false;
        }
        // A child of the holder, which must not keep the lease alive.
        let _grandchild = Child::fork(|| {
            std::thread::sleep(Duration::from_secs(5));
            true
        });
        std::thread::sleep(Duration::from_secs(20));
        true
    });
    wait_for("the holder's row", || matches!(get(&store, "held"), Ok(Some((_, true)))));
    holder.signal(libc::SIGKILL);
    let killed = boot_now();
    wait_for("its end", || matches!(get(&store, "held"), Ok(Some((_, false)))));
    let took = boot_now().since(killed);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_forked_child_opens_anew_and_is_another_client() {
    let folder = folder();
    let store = open(folder.path());
    let parent = me(&store);
    put(&store, "parents", "1").expect("written");
    let child = Child::fork(|| {
        // The parent's store object, used in the child.
        let child = me(&store);
        let (row, alive) = get(&store, "parents").expect("read").expect("a row");
        child != parent && row.client == parent && alive && put(&store, "childs", "1").is_ok()
    });
    assert!(child.went_well());
    // The child's end did not end the parent.
    assert_eq!(me(&store), parent);
    let (row, alive) = get(&store, "childs").expect("read").expect("a row");
    assert!(row.client != parent && !alive);
}

#[test]
fn a_child_forked_inside_a_transaction_does_not_keep_the_store_locked() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "k", "1").expect("written");
    let path = folder.path().join("grandchild");
    let holder = Child::fork(|| {
        let store = open(folder.path());
        let _ = store.transact(Intent::Keep, soon(), &mut |_| {
            let _grandchild = std::mem::ManuallyDrop::new(Child::fork(|| {
                std::fs::write(&path, b"x").expect("written");
                std::thread::sleep(Duration::from_secs(5));
                true
            }));
            std::thread::sleep(Duration::from_secs(20));
            Ok(())
        });
        true
    });
    wait_for("the grandchild", || path.exists());
    holder.kill();
    let began = boot_now();
    put(&store, "k", "2").expect("the store is free");
    let took = boot_now().since(began);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn kills_at_random_leave_the_store_usable_and_versions_rising() {
    let folder = folder();
    let store = open(folder.path());
    put(&store, "n", "0").expect("written");
    let mut highest = 0;
    for round in 0..60u64 {
        let (mut from_child, to_parent) = std::io::pipe().expect("a pipe");
        let child = Child::fork(|| {
            let mut pipe = to_parent.try_clone().expect("a pipe");
            let store = open(folder.path());
            loop {
                let key = format!("k{}", crate::process::random_u64() % 50);
                let version = put(&store, &key, &"v".repeat(200)).expect("written");
                let _ = store
                    .transact(Intent::Keep, soon(), &mut |rows| rows.delete(Table::Locks, key.as_bytes()).map(|_| ()));
                pipe.write_all(&version.to_le_bytes()).expect("told");
            }
        });
        drop(to_parent);
        let mut first = [0; 8];
        from_child.read_exact(&mut first).expect("the child's first version");
        std::thread::sleep(Duration::from_micros(crate::process::random_u64() % 3_000));
        child.kill();
        let mut rest = Vec::new();
        from_child.read_to_end(&mut rest).expect("the rest");
        for version in std::iter::once(&first[..]).chain(rest.chunks_exact(8)) {
            let version = u64::from_le_bytes(version.try_into().expect("eight bytes"));
            assert!(version > highest, "round {round}: {version} after {highest}");
            highest = version;
        }
        let mine = put(&store, "n", "1").expect("usable");
        assert!(mine > highest);
        highest = mine;
    }
    assert!(store.check().iter().all(|check| check.ok), "{:?}", store.check());
}

#[test]
fn closing_every_descriptor_opens_the_store_anew_and_harms_no_file() {
    let folder = folder();
    let child = Child::fork(|| {
        let store = open(folder.path());
        let before = me(&store);
        put(&store, "k", "1").expect("written");
        for fd in 0..1024 {
            // SAFETY: that is what some daemons do.
            unsafe { libc::close(fd) };
        }
        // The program's own files get the numbers that were ours.
        let own = folder.path().join("own");
        let files: Vec<_> = (0..150).map(|_| std::fs::File::create(&own).expect("a file")).collect();
        let (row, alive) = get(&store, "k").expect("read").expect("a row");
        let after = me(&store);
        assert!(row.client == before && !alive, "the old identity counts as dead");
        assert!(after != before);
        put(&store, "k", "2").expect("written");
        assert_eq!(std::fs::metadata(&own).expect("it").len(), 0, "nothing was written into it");
        drop(files);
        put(&store, "k", "3").is_ok() && me(&store) == after
    });
    assert!(child.went_well());
    let store = open(folder.path());
    assert_eq!(get(&store, "k").expect("read").expect("a row").0.value, b"3");
}

#[test]
fn closing_the_file_of_the_clients_ends_the_old_identity_only() {
    let folder = folder();
    let store = open(folder.path());
    let child = Child::fork(|| {
        let store = open(folder.path());
        let before = me(&store);
        // A backup program in this process reads the file: the kernel drops our record lock.
        drop(std::fs::File::open(folder.path().join("clients")).expect("readable"));
        let after = me(&store);
        after != before && me(&store) == after
    });
    assert!(child.went_well());
    put(&store, "k", "1").expect("usable");
}

#[test]
fn no_descriptor_is_a_standard_stream_or_survives_exec() {
    let folder = folder();
    let child = Child::fork(|| {
        for fd in 0..3 {
            // SAFETY: that is what some daemons do.
            unsafe { libc::close(fd) };
        }
        let store = open(folder.path());
        put(&store, "k", "1").expect("written");
        let mut ours = 0;
        for entry in std::fs::read_dir("/proc/self/fd").expect("listed").flatten() {
            let Ok(target) = std::fs::read_link(entry.path()) else { continue };
            if target.starts_with(folder.path()) {
                ours += 1;
                let fd: i32 = entry.file_name().to_string_lossy().parse().expect("a number");
                // SAFETY: asks for flags.
                let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
                assert!(fd > 2 && flags & libc::FD_CLOEXEC != 0, "{fd} {target:?}");
            }
        }
        ours >= 4
    });
    assert!(child.went_well());
}

#[test]
fn a_client_in_another_pid_namespace_is_seen_alive_and_dead() {
    if !is_root() {
        eprintln!("skipped: 1 (a pid namespace needs root)");
        return;
    }
    let folder = folder();
    let store = open(folder.path());
    let path = folder.path();
    let outer = Child::fork(|| {
        // SAFETY: the next child of this process is the first of a new namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            eprintln!("skipped: 1 (no pid namespaces here)");
            return put(&open(path), "skipped", "1").is_ok();
        }
        Child::fork(|| {
            let store = open(path);
            std::process::id() == 1 && put(&store, "inner", "1").is_ok() && {
                std::thread::sleep(Duration::from_secs(20));
                true
            }
        })
        .went_well()
    });
    wait_for("the inner client", || {
        matches!(get(&store, "inner"), Ok(Some((_, true)))) || matches!(get(&store, "skipped"), Ok(Some(_)))
    });
    if matches!(get(&store, "skipped"), Ok(Some(_))) {
        return;
    }
    // The init of the namespace is the only child of `outer`.
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", outer.0)).expect("listed");
    let inner: i32 = children.trim().parse().expect("one child");
    // SAFETY: a process of this test.
    unsafe { libc::kill(inner, libc::SIGKILL) };
    wait_for("its death", || matches!(get(&store, "inner"), Ok(Some((_, false)))));
}

#[test]
fn two_copies_of_the_library_in_one_process_exclude_and_see_each_other() {
    let folder = folder();
    // In a child, so that no other test loses what it has open.
    let child = Child::fork(|| {
        let one = open(folder.path());
        put(&one, "count", "0").expect("written");
        super::super::home::forget_what_is_open();
        let two = open(folder.path());
        assert!(!std::ptr::eq(one.home(soon()).expect("open"), two.home(soon()).expect("open")));
        let (first, second) = (me(&one), me(&two));
        assert_ne!(first, second);
        std::thread::scope(|scope| {
            for (store, other) in [(&one, second), (&two, first)] {
                scope.spawn(move || {
                    for _ in 0..1_000 {
                        store
                            .transact(Intent::Keep, soon(), &mut |rows| {
                                assert!(rows.is_alive(other));
                                let row = rows.get(Table::Locks, b"count")?.expect("the row");
                                let count: u64 = String::from_utf8_lossy(&row.value).parse().expect("a number");
                                let value = (count + 1).to_string();
                                let row = NewRow { value: value.as_bytes(), expires: None, client: ClientId::NONE };
                                rows.put(Table::Locks, b"count", row).map(|_| ())
                            })
                            .expect("counted");
                    }
                });
            }
        });
        get(&one, "count").expect("read").expect("a row").0.value == b"2000"
    });
    assert!(child.went_well());
}

#[test]
fn kills_during_the_first_opening_leave_a_folder_that_opens() {
    for round in 0..40u64 {
        let folder = folder();
        let child = Child::fork(|| {
            let store = open(folder.path());
            loop {
                let _ = put(&store, "k", "1");
            }
        });
        std::thread::sleep(Duration::from_micros(crate::process::random_u64() % (200 + 100 * round)));
        child.kill();
        let store = open(folder.path());
        put(&store, "k", "2").unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert!(store.check().iter().all(|check| check.ok), "{:?}", store.check());
    }
}

#[test]
fn a_client_in_another_time_namespace_is_refused() {
    if !is_root() {
        eprintln!("skipped: 1 (a time namespace needs root)");
        return;
    }
    let folder = folder();
    let store = open(folder.path());
    put(&store, "k", "1").expect("written");
    let outer = Child::fork(|| {
        // SAFETY: the next child of this process lives in a new time namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWTIME) } != 0
            || std::fs::write("/proc/self/timens_offsets", "boottime 100000 0\n").is_err()
        {
            eprintln!("skipped: 1 (no time namespaces here)");
            return true;
        }
        Child::fork(|| reason(put(&open(folder.path()), "k", "2")) == "unsupported/store_other_clock").went_well()
    });
    assert!(outer.went_well());
    put(&store, "k", "3").expect("undisturbed");
}
