//! The format of the folder: an older one opens, a newer one is refused.

use std::path::Path;

use super::fault::{damaged, from_os};
use crate::{Error, Kind, Result};

/// The format that this version writes.
pub(super) const FORMAT: u32 = 1;

/// What a folder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Leases, which end with the boot: nothing is synced.
    Leases,
    /// Rows of users: on the disk before a write is answered.
    Rows,
}

impl Contents {
    const fn title(self) -> &'static str {
        match self {
            Self::Leases => "fencehold host store, format ",
            Self::Rows => "fencehold rows of a host store, format ",
        }
    }

    /// The text of the file `format`.
    pub(super) fn text(self) -> String {
        format!("{}{FORMAT}\n", self.title())
    }
}

/// Whether the folder has a format that this version can use. False: it has none yet.
pub(super) fn check(path: &Path, contents: Contents) -> Result<bool> {
    match std::fs::read(path) {
        Ok(bytes) => read(&bytes, contents, FORMAT, path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(from_os(error.raw_os_error().unwrap_or(0), "read", path)),
    }
}

fn read(bytes: &[u8], contents: Contents, ours: u32, path: &Path) -> Result<bool> {
    if bytes.iter().all(|byte| *byte == 0) {
        // Nothing of it reached the disk before a power failure.
        return Ok(false);
    }
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().next().unwrap_or_default();
    if line.starts_with("fencehold server store") {
        return Err(Error::new(
            Kind::Store,
            "store_of_a_server",
            "this folder belongs to a fencehold server. Use its http:// address, or another folder",
        ));
    }
    if contents == Contents::Leases && line.starts_with(Contents::Rows.title()) {
        let detail = "this folder is the part of a store that keeps rows. Name the folder that it is in";
        return Err(Error::new(Kind::Store, "store_bad_path", detail));
    }
    match line.strip_prefix(contents.title()).and_then(|number| number.parse::<u32>().ok()) {
        Some(theirs) => newer(theirs, ours).map_or(Ok(true), Err),
        None => Err(damaged(path, "it does not name the format of a store")),
    }
}

/// The refusal of a format above `ours`.
pub(super) fn newer(theirs: u32, ours: u32) -> Option<Error> {
    (theirs > ours).then(|| {
        Error::new(
            Kind::Store,
            "store_newer_format",
            format!(
                "the store has format {theirs}, and fencehold {} in this program knows up to format {ours}. \
                 Update this program",
                crate::VERSION
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_format_opens_and_a_newer_one_is_refused_with_both_numbers() {
        let path = Path::new("/x/format");
        let leases = Contents::Leases;
        assert!(read(leases.text().as_bytes(), leases, FORMAT, path).unwrap());
        assert!(read(b"fencehold host store, format 2\n", leases, 3, path).unwrap());
        let error = read(b"fencehold host store, format 7\nmore\n", leases, 3, path).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Store, "store_newer_format"));
        assert!(error.detail().contains("format 7") && error.detail().contains("format 3"));
    }

    #[test]
    fn other_files_are_not_taken_for_a_format() {
        let path = Path::new("/x/format");
        let refused = |bytes: &[u8]| read(bytes, Contents::Leases, 1, path).unwrap_err().reason().to_string();
        assert!(!read(b"", Contents::Leases, 1, path).unwrap());
        assert_eq!(refused(b"hello\n"), "store_damaged");
        assert_eq!(refused(b"fencehold server store, format 1\n"), "store_of_a_server");
        assert_eq!(refused(Contents::Rows.text().as_bytes()), "store_bad_path");
        assert!(read(Contents::Rows.text().as_bytes(), Contents::Rows, 1, path).unwrap());
    }
}
