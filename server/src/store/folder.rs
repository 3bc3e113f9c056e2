//! The folder of a server: its format, and the lock that keeps a second server out for life.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::failure::Failure;

/// The format that this version writes.
pub(crate) const FORMAT: u32 = 1;
const SERVER: &str = "fencehold server store, format ";
const HOST: &str = "fencehold host store, format ";

/// A folder that is ours until the process ends.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Holds the folder's lock as long as it is open.
    _lock: File,
}

impl Folder {
    /// Makes the folder if it is not there, locks it and looks at its format.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |what: &str, error: &io::Error| Failure::store(format!("{}: {what}: {error}", path.display()));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| failed("cannot make the folder", &error))?;
        // Before the lock file is made: a host's folder is left as it is.
        check_format(path, FORMAT)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join("server.lock"))
            .map_err(|error| failed("cannot open server.lock", &error))?;
        if let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(failed("cannot lock server.lock", &error.into()));
            }
            let mut pid = String::new();
            let _ = lock.read_to_string(&mut pid);
            let by = pid.trim().parse::<u32>().map_or_else(|_| String::new(), |pid| format!(" (process {pid})"));
            let detail = format!(
                "{}: another server{by} runs on this folder. End it, or give this one another --data",
                path.display()
            );
            return Err(Failure::store(detail));
        }
        let note = lock.set_len(0).and_then(|()| lock.write_all(format!("{}\n", std::process::id()).as_bytes()));
        note.map_err(|error| failed("cannot write server.lock", &error))?;
        if !check_format(path, FORMAT)? {
            write_format(path).map_err(|error| failed("cannot write the file format", &error))?;
        }
        Ok(Self { path: path.to_path_buf(), _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn write_format(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path.join("format"))?;
    writeln!(file, "{SERVER}{FORMAT}")?;
    file.sync_all()?;
    File::open(path)?.sync_all()
}

/// Whether the folder has a format that we can use. False: it has none yet.
fn check_format(path: &Path, ours: u32) -> Result<bool, Failure> {
    let bytes = match fs::read(path.join("format")) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Failure::store(format!("{}: cannot read the format: {error}", path.display()))),
    };
    // Nothing of it reached the disk before a power failure.
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(false);
    }
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default();
    if line.starts_with(HOST) {
        let detail = format!(
            "{0}: this folder is the store of this machine's programs (file:{0}). Give the server a folder of its own",
            path.display()
        );
        return Err(Failure::store(detail));
    }
    match line.strip_prefix(SERVER).and_then(|number| number.parse::<u32>().ok()) {
        Some(theirs) if theirs > ours => Err(Failure::store(format!(
            "{}: the store has format {theirs}, and fencehold {} knows up to format {ours}. Update this program",
            path.display(),
            fencehold::VERSION
        ))),
        Some(_) => Ok(true),
        None => Err(Failure::store(format!("{}: its file format names no format of a server", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_server_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Folder::open(folder.path()).unwrap();
        let second = Folder::open(folder.path()).unwrap_err().to_string();
        assert!(second.contains(&format!("process {}", std::process::id())), "{second}");
        drop(first);
        Folder::open(folder.path()).unwrap();
    }

    #[test]
    fn a_folder_of_a_host_and_a_newer_one_are_refused_untouched() {
        for (text, words) in [
            ("fencehold host store, format 1\n", vec!["file:"]),
            ("fencehold server store, format 9\n", vec!["format 9", "format 1"]),
            ("something else\n", vec!["names no format"]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("format"), text).unwrap();
            let error = Folder::open(folder.path()).unwrap_err().to_string();
            for word in words {
                assert!(error.contains(word), "{error}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_format_that_a_crash_left_empty_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("format"), [0; 12]).unwrap();
        Folder::open(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join("format")).unwrap();
        assert_eq!(text, format!("{SERVER}{FORMAT}\n"));
    }
}
