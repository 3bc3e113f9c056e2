//! Rows of users beside the leases.

use std::ops::ControlFlow;

use super::*;
use crate::clock::wall_micros;

fn put_value(store: &FileStore, key: &str, value: &str, lifetime: Option<Duration>) -> Result<u64> {
    let mut version = 0;
    store.transact_values(Intent::Grow, soon(), &mut |rows| {
        let expires = lifetime.map(|lifetime| rows.now().after(lifetime));
        let row = NewRow { value: value.as_bytes(), expires, client: ClientId::NONE };
        version = rows.put(Table::Values, key.as_bytes(), row)?;
        Ok(())
    })?;
    Ok(version)
}

fn value(store: &FileStore, key: &str) -> Option<Row> {
    let mut found = None;
    store
        .transact_values(Intent::Read, soon(), &mut |rows| {
            found = rows.get(Table::Values, key.as_bytes())?;
            Ok(())
        })
        .expect("read");
    found
}

#[test]
fn rows_survive_what_ends_the_leases() {
    let folder = folder();
    let written = Child::fork(|| {
        let store = open(folder.path());
        put(&store, "lock", "1").is_ok() && put_value(&store, "row", "1", Some(Duration::from_secs(3600))).is_ok()
    });
    assert!(written.went_well());
    // As after a reboot.
    std::fs::write(folder.path().join("boot"), "boot other\nclock 0.0\nlock 1\nend\n").expect("written");
    std::fs::write(folder.path().join("values/boot"), "boot other\nclock 0.0\nlock 1\nend\n").expect("written");
    let store = open(folder.path());
    assert!(get(&store, "lock").expect("read").is_none());
    let row = value(&store, "row").expect("still there");
    assert_eq!(row.value, b"1");
    let left = row.expires.expect("it ends").since(boot_now());
    assert!(left > Duration::from_secs(3500) && left <= Duration::from_secs(3600), "{left:?}");
    assert!(put_value(&store, "row", "2", None).expect("written") > row.version);
    assert_eq!(value(&store, "row").expect("there").expires, None);
}

#[test]
fn a_row_ends_with_its_lifetime() {
    let folder = folder();
    let store = open(folder.path());
    put_value(&store, "row", "1", Some(Duration::from_millis(30))).expect("written");
    std::thread::sleep(Duration::from_millis(40));
    let row = value(&store, "row").expect("not removed by reading");
    assert!(row.expires.expect("it ends") <= boot_now());
    assert!(row.updated_micros <= wall_micros());
}

#[test]
fn a_step_sees_the_leases_and_cannot_change_them() {
    let folder = folder();
    let store = open(folder.path());
    let version = put(&store, "lock", "1").expect("written");
    let mut seen = (0, false, 0);
    store
        .transact_values(Intent::Grow, soon(), &mut |rows| {
            let row = rows.get(Table::Locks, b"lock")?.expect("the lease");
            let alive = rows.is_alive(row.client);
            let mut count = 0;
            rows.scan(Table::Locks, b"", None, &mut |_, _| {
                count += 1;
                ControlFlow::Continue(())
            })?;
            seen = (row.version, alive, count);
            Ok(())
        })
        .expect("looked");
    assert_eq!(seen, (version, true, 1));
    let error = store.transact_values(Intent::Grow, soon(), &mut |rows| rows.delete(Table::Locks, b"lock").map(drop));
    assert_eq!(error.expect_err("refused").kind(), Kind::Unsupported);
}

#[test]
fn a_process_that_is_killed_while_writing_leaves_every_answered_row() {
    let folder = folder();
    for round in 0..5 {
        let marks = folder.path().join("answered");
        let _ = std::fs::remove_file(&marks);
        let writer = Child::fork(|| {
            let store = open(folder.path());
            for number in 0..1_000_000 {
                if put_value(&store, &format!("row-{round}-{number}"), "x", None).is_err() {
                    return false;
                }
                std::fs::write(&marks, number.to_string()).expect("written");
            }
            true
        });
        wait_for("a few rows", || std::fs::read_to_string(&marks).is_ok_and(|text| text.len() > 1));
        writer.kill();
        let answered: u32 = std::fs::read_to_string(&marks).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let store = open(folder.path());
        for number in 0..=answered {
            assert!(value(&store, &format!("row-{round}-{number}")).is_some(), "row {number} of {answered}");
        }
    }
}

#[test]
fn the_folder_of_the_rows_has_the_rights_of_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o2770)).expect("set");
    let store = open(folder.path());
    put_value(&store, "row", "1", None).expect("written");
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).expect("there").permissions().mode() & 0o7777;
    assert_eq!(mode("values"), 0o2770);
    assert_eq!(mode("values/rows"), 0o660);
    let error = put(&open(&folder.path().join("values")), "k", "1").expect_err("refused");
    assert_eq!(error.reason(), "store_bad_path");
}
