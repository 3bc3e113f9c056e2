//! What the operating system and LMDB say, in the library's words.

use std::ffi::CStr;
use std::path::Path;

use lmdb_master_sys as lmdb;

use crate::{Error, Kind};

/// Why a transaction did not come to its end.
pub(super) enum Fault {
    /// Something to tell the caller.
    Error(Error),
    /// The folder or our descriptors are not what they were: open the store anew and try again.
    Reopen,
    /// The block of versions is used up: reserve another one and try again.
    Versions,
    /// The map is too small: it has to grow before the next try.
    Map,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The number of the last failed call's error.
pub(super) fn last_os_code() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The error of the operating system with this number, met while doing `what` to `path`.
pub(super) fn from_os(code: i32, what: &str, path: &Path) -> Error {
    let said = std::io::Error::from_raw_os_error(code);
    let path = path.display();
    match code {
        libc::EACCES | libc::EPERM => Error::new(
            Kind::Forbidden,
            "store_forbidden",
            format!(
                "could not {what} {path}: {said}. The folder's owner decides who shares its locks: \
                     give this user write access to the folder and its files, or use another store"
            ),
        ),
        libc::EROFS => Error::new(
            Kind::Store,
            "store_read_only",
            format!("could not {what} {path}: {said}. Locks have to be written: use a writable folder"),
        ),
        libc::ENOSPC | libc::EDQUOT => full(&format!("could not {what} {path}: {said}")),
        libc::EMFILE | libc::ENFILE | libc::ENOMEM => Error::new(
            Kind::Unreachable,
            "store_no_resources",
            format!("could not {what} {path}: {said}. Nothing was done; raise the limit or try again"),
        ),
        libc::ENOENT | libc::ENOTDIR | libc::ELOOP => Error::new(
            Kind::Store,
            "store_bad_path",
            format!("could not {what} {path}: {said}. Name a folder that exists or can be made"),
        ),
        _ => Error::new(Kind::Store, "store_io", format!("could not {what} {path}: {said}")),
    }
}

/// The disk is full.
pub(super) fn full(detail: &str) -> Error {
    Error::new(
        Kind::Store,
        "store_full",
        format!("{detail}. Locks that are held are renewed and given back, new ones wait for free space"),
    )
}

/// A file is not what this library wrote.
pub(super) fn damaged(path: &Path, detail: &str) -> Error {
    let advice = if path.file_name().is_some_and(|name| name == super::location::ROWS) {
        "Stop the programs that use this store and put a copy of its folder back, or delete the folder of this file: the \
         rows are gone then"
    } else {
        "Stop the programs that use this store and delete this file: every lease ends, tokens go on rising"
    };
    let text = format!("{} is damaged or not ours: {detail}. {advice}", path.display());
    Error::new(Kind::Store, "store_damaged", text)
}

/// LMDB's answer `code`, given while doing `what` to the file at `path`.
pub(super) fn from_lmdb(code: i32, what: &str, path: &Path) -> Fault {
    match code {
        lmdb::MDB_MAP_FULL => Fault::Map,
        lmdb::MDB_PANIC => Fault::Reopen,
        code if code > 0 => from_os(code, what, path).into(),
        code => {
            // SAFETY: LMDB answers with a static text for each of its own numbers.
            let text = unsafe { CStr::from_ptr(lmdb::mdb_strerror(code)) };
            damaged(path, &format!("could not {what}: {}", text.to_string_lossy())).into()
        }
    }
}
