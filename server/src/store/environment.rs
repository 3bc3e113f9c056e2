//! The file of rows: LMDB with its own locking, so that readers never wait for the writer.

use std::fs::File;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};

use super::counters::{self, Rows};
use super::encoding::{Area, Head, end_of, key, stored_number};
use super::folder::Folder;
use super::{Durability, boot};
use crate::failure::Failure;
use fencehold::internal::{Moment, boot_now, wall_micros};

/// The address space taken, which bounds the store. Nothing of it is used before there are rows.
const MAP_BYTES: usize = 1 << 38;
/// What is tried where so much address space is not to be had.
const SMALLEST_MAP_BYTES: usize = 1 << 28;
/// How much of the disk is reserved at a time.
const STEP_BYTES: u64 = 4 << 20;
/// How much stays in reserve for renewals and releases on a full disk.
const RESERVE_BYTES: u64 = 1 << 20;
const READERS: u32 = 1024;

/// All rows, in one tree.
pub(crate) type Tree = Database<Bytes, Bytes>;

/// The open file.
pub(crate) struct Environment {
    pub(crate) env: Env<WithoutTls>,
    pub(crate) tree: Tree,
    file: File,
    page_bytes: u64,
    map_bytes: u64,
    _folder: Folder,
}

/// What the writer goes on with after opening.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The first version that was never given out.
    pub(crate) next_version: u64,
    /// Whether the leases were begun anew, since the machine was restarted.
    pub(crate) began_anew: bool,
    /// How many rows there are.
    pub(crate) rows: Rows,
}

pub(crate) const VERSION: &[u8] = b"version";
pub(crate) const CLOCK: &[u8] = b"clock";
pub(crate) const ROWS: &[u8] = b"rows";
const BOOT: &[u8] = b"boot";

pub(crate) fn store_key(name: &[u8]) -> Vec<u8> {
    key(Area::Store, name).unwrap_or_default()
}

fn failed(path: &Path, what: &str) -> impl Fn(heed::Error) -> Failure {
    let (path, what) = (path.display().to_string(), what.to_string());
    move |error| Failure::store(format!("{path}: cannot {what}: {error}"))
}

impl Environment {
    /// Opens the rows of a folder, makes them if there are none, and settles what the leases in
    /// there mean now.
    pub(crate) fn open(folder: Folder, durability: Durability) -> Result<(Self, Opened), Failure> {
        let path = folder.path().to_path_buf();
        let mut map_bytes = MAP_BYTES;
        let env = loop {
            match open_env(&path, map_bytes, durability) {
                Ok(env) => break env,
                // An address space limit of the container or the shell.
                Err(heed::Error::Io(error))
                    if error.raw_os_error() == Some(rustix::io::Errno::NOMEM.raw_os_error())
                        && map_bytes > SMALLEST_MAP_BYTES =>
                {
                    map_bytes /= 4;
                }
                Err(error) => return Err(failed(&path, "open the rows")(error)),
            }
        };
        let mut txn = env.write_txn().map_err(failed(&path, "read the rows"))?;
        let tree: Tree = env.create_database(&mut txn, None).map_err(failed(&path, "read the rows"))?;
        let opened = settle(&tree, &mut txn, boot::current())?;
        txn.commit().map_err(failed(&path, "write the rows"))?;
        let file = env.try_clone_inner_file().map_err(failed(&path, "open the rows"))?;
        let page_bytes = u64::from(env.stat().page_size);
        Ok((Self { env, tree, file, page_bytes, map_bytes: map_bytes as u64, _folder: folder }, opened))
    }

    pub(crate) fn read(&self) -> heed::Result<RoTxn<'_, WithoutTls>> {
        self.env.read_txn()
    }

    /// Makes sure that there is room for `bytes` more on the disk; false: there is not.
    pub(crate) fn make_room(&self, bytes: u64) -> bool {
        let used = (self.env.info().last_page_number as u64 + 1) * self.page_bytes;
        let needed = used + bytes + RESERVE_BYTES;
        if needed + RESERVE_BYTES > self.map_bytes {
            return false;
        }
        let size = self.file.metadata().map_or(0, |metadata| metadata.len());
        if needed <= size {
            return true;
        }
        let target = needed.div_ceil(STEP_BYTES) * STEP_BYTES;
        let flags = rustix::fs::FallocateFlags::empty();
        match rustix::fs::fallocate(&self.file, flags, size, target - size) {
            Ok(()) => true,
            // A file system that cannot reserve: a write that fails ends the process.
            Err(rustix::io::Errno::OPNOTSUPP) => true,
            Err(_) => false,
        }
    }
}

fn open_env(path: &Path, map_bytes: usize, durability: Durability) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(map_bytes).max_readers(READERS);
    let mut flags = EnvFlags::empty();
    if durability == Durability::None {
        flags |= EnvFlags::NO_SYNC;
    }
    // SAFETY: the folder is locked by this process for life, so that no other one changes the file;
    // NO_SYNC only gives up what the operator gave up.
    unsafe { options.flags(flags).open(path) }
}

/// Decides what the rows mean now: versions go on above everything that was given out, and leases
/// of an earlier run of the machine begin anew with their full lifetime.
fn settle(tree: &Tree, txn: &mut RwTxn<'_>, boot: Option<String>) -> Result<Opened, Failure> {
    let bad = |error: heed::Error| Failure::store(format!("the rows cannot be read: {error}"));
    let read = |txn: &RwTxn<'_>, name: &[u8]| -> Result<Option<Vec<u8>>, Failure> {
        Ok(tree.get(txn, &store_key(name)).map_err(bad)?.map(<[u8]>::to_vec))
    };
    let durable = stored_number(read(txn, VERSION)?.as_deref())?;
    let wall = u64::try_from(wall_micros()).unwrap_or(1);
    let next_version = durable.max(wall) + 1;
    let last_seen = Moment::from_nanos(stored_number(read(txn, CLOCK)?.as_deref())?);
    let stored = read(txn, BOOT)?;
    let now = boot_now();
    let same = boot.as_ref().is_some_and(|boot| stored.as_deref() == Some(boot.as_bytes())) && now >= last_seen;
    let is_new = stored.is_none();
    let mut rows = read(txn, ROWS)?.map_or([0; counters::AREAS], |bytes| counters::decode(&bytes));
    if !same {
        if !is_new {
            begin_anew(tree, txn, last_seen, now, &mut rows)?;
            tree.put(txn, &store_key(ROWS), &counters::encode(&rows)).map_err(bad)?;
        }
        let boot = boot.unwrap_or_else(|| "unknown".into());
        tree.put(txn, &store_key(BOOT), boot.as_bytes()).map_err(bad)?;
    }
    tree.put(txn, &store_key(CLOCK), &now.as_nanos().to_le_bytes()).map_err(bad)?;
    tree.put(txn, &store_key(VERSION), &next_version.to_le_bytes()).map_err(bad)?;
    Ok(Opened { next_version, began_anew: !same && !is_new, rows })
}

/// Gives every lease that was live when the store was last written its full lifetime from `now`
/// on. How long the machine was off is not known, so nothing shorter is safe.
fn begin_anew(
    tree: &Tree,
    txn: &mut RwTxn<'_>,
    last_seen: Moment,
    now: Moment,
    rows: &mut Rows,
) -> Result<(), Failure> {
    let bad = |error: heed::Error| Failure::store(format!("the rows cannot be written: {error}"));
    for area in Area::LEASED {
        let prefix = [area as u8];
        let end = end_of(&prefix);
        let mut from = prefix.to_vec();
        loop {
            let range = (std::ops::Bound::Excluded(from.as_slice()), std::ops::Bound::Excluded(end.as_slice()));
            let mut page: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            for row in tree.range(txn, &range).map_err(bad)?.take(4096) {
                let (key, value) = row.map_err(bad)?;
                page.push((key.to_vec(), value.to_vec()));
            }
            let Some((last, _)) = page.last() else { break };
            from = last.clone();
            for (key, bytes) in page {
                let Some(head) = Head::decode(&bytes) else {
                    return Err(Failure::store("the store is damaged: a row is shorter than rows are"));
                };
                match head.expires {
                    None => {}
                    Some(end) if end <= last_seen => {
                        tree.delete(txn, &key).map_err(bad)?;
                        rows[area as usize] = rows[area as usize].saturating_sub(1);
                    }
                    Some(_) => {
                        let expires = Some(now.after(std::time::Duration::from_nanos(head.lifetime)));
                        let bytes = Head { expires, ..head }.encode(&bytes[super::encoding::HEAD_BYTES..]);
                        tree.put(txn, &key, &bytes).map_err(bad)?;
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fencehold::internal::ClientId;

    use super::super::encoding::decode;
    use super::*;

    struct Rig {
        _folder: tempfile::TempDir,
        env: Env<WithoutTls>,
        tree: Tree,
    }

    impl Rig {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let env = open_env(folder.path(), SMALLEST_MAP_BYTES, Durability::None).unwrap();
            let mut txn = env.write_txn().unwrap();
            let tree: Tree = env.create_database(&mut txn, None).unwrap();
            txn.commit().unwrap();
            Self { _folder: folder, env, tree }
        }

        fn settle(&self, boot: Option<&str>) -> Opened {
            let mut txn = self.env.write_txn().unwrap();
            let opened = settle(&self.tree, &mut txn, boot.map(str::to_string)).unwrap();
            txn.commit().unwrap();
            opened
        }

        fn set(&self, name: &[u8], bytes: &[u8]) {
            let mut txn = self.env.write_txn().unwrap();
            self.tree.put(&mut txn, name, bytes).unwrap();
            txn.commit().unwrap();
        }

        fn lease(&self, name: &str, expires: Option<Moment>, lifetime: Duration) {
            let head = Head {
                version: 5,
                expires,
                lifetime: lifetime.as_nanos() as u64,
                updated_micros: 1,
                client: ClientId::NONE,
            };
            self.set(&key(Area::Locks, name.as_bytes()).unwrap(), &head.encode(b"{}"));
        }

        fn expires(&self, name: &str) -> Option<Option<Moment>> {
            let txn = self.env.read_txn().unwrap();
            let bytes = self.tree.get(&txn, &key(Area::Locks, name.as_bytes()).unwrap()).unwrap();
            bytes.map(|bytes| decode(bytes).unwrap().expires)
        }
    }

    const TTL: Duration = Duration::from_secs(30);

    #[test]
    fn in_the_same_run_of_the_machine_deadlines_are_exact() {
        let rig = Rig::new();
        assert!(!rig.settle(Some("a")).began_anew);
        let end = boot_now().after(Duration::from_secs(7));
        rig.lease("n#0", Some(end), TTL);
        assert!(!rig.settle(Some("a")).began_anew);
        assert_eq!(rig.expires("n#0"), Some(Some(end)));
    }

    #[test]
    fn after_a_restart_of_the_machine_every_live_lease_begins_anew() {
        for boot in [Some("b"), None] {
            let rig = Rig::new();
            rig.settle(Some("a"));
            // Written when the clock of the former run stood at 1000 s.
            let seen = Moment::from_nanos(1_000_000_000_000);
            rig.set(&store_key(CLOCK), &seen.as_nanos().to_le_bytes());
            rig.lease("live#0", Some(seen.after(Duration::from_secs(1))), TTL);
            rig.lease("over#0", Some(Moment::from_nanos(999_000_000_000)), TTL);
            rig.lease("kept#0", None, Duration::ZERO);
            let before = boot_now();
            assert!(rig.settle(boot).began_anew);
            assert!(rig.expires("live#0").unwrap().unwrap() >= before.after(TTL), "never early");
            assert_eq!(rig.expires("over#0"), None);
            assert_eq!(rig.expires("kept#0"), Some(None));
        }
    }

    #[test]
    fn a_clock_that_went_back_is_another_run() {
        let rig = Rig::new();
        rig.settle(Some("a"));
        let ahead = boot_now().after(Duration::from_secs(1_000_000));
        rig.set(&store_key(CLOCK), &ahead.as_nanos().to_le_bytes());
        rig.lease("n#0", Some(ahead.after(Duration::from_secs(1))), TTL);
        assert!(rig.settle(Some("a")).began_anew);
        assert!(rig.expires("n#0").unwrap().unwrap() < boot_now().after(TTL + TTL));
    }

    #[test]
    fn versions_go_on_above_the_durable_one_and_the_time_of_day() {
        let rig = Rig::new();
        let first = rig.settle(Some("a")).next_version;
        assert!(first > u64::try_from(wall_micros()).unwrap() - 60_000_000);
        let far = first + 1_000_000_000_000;
        rig.set(&store_key(VERSION), &far.to_le_bytes());
        assert_eq!(rig.settle(Some("a")).next_version, far + 1);
        assert_eq!(rig.settle(Some("b")).next_version, far + 2);
    }
}
