//! Where the folder is, and whether locks can work there.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{mem, ptr};

use super::descriptor::{FileKey, c_path, key_of, stat_path};
use super::fault::{from_os, last_os_code};
use super::format::Contents;
use crate::{Error, Kind, Result};

/// The folder of the calling user's own store: by user id, whatever the environment says.
///
/// # Errors
/// `store_no_home` when the system knows no home folder of this user.
pub(super) fn default_path() -> Result<PathBuf> {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let mut buffer = vec![0 as libc::c_char; 16 * 1024];
    // SAFETY: a plain structure of numbers and pointers.
    let mut entry: libc::passwd = unsafe { mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: all places are writable and the buffer's length is given.
    let code = unsafe { libc::getpwuid_r(user, &mut entry, buffer.as_mut_ptr(), buffer.len(), &mut found) };
    if code == 0 && !found.is_null() && !entry.pw_dir.is_null() {
        // SAFETY: a NUL-terminated text in the buffer.
        let home = unsafe { CStr::from_ptr(entry.pw_dir) };
        let home = Path::new(std::ffi::OsStr::from_bytes(home.to_bytes()));
        if home.is_absolute() {
            return Ok(home.join(".local/state/fencehold"));
        }
    }
    Err(Error::new(
        Kind::Invalid,
        "store_no_home",
        format!("user {user} has no home folder on this system. Name a folder, such as file:/var/lib/fencehold"),
    ))
}

/// The name of the file with rows of users.
pub(super) const ROWS: &str = "rows";

/// The names of the files in the folder.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) lock: PathBuf,
    pub(super) clients: PathBuf,
    pub(super) tokens: PathBuf,
    pub(super) leases: PathBuf,
    pub(super) format: PathBuf,
    pub(super) boot: PathBuf,
}

impl Paths {
    pub(super) fn of(folder: &Path, contents: Contents) -> Self {
        Self {
            lock: folder.join("lock"),
            clients: folder.join("clients"),
            tokens: folder.join("tokens"),
            leases: folder.join(match contents {
                Contents::Leases => "leases",
                Contents::Rows => ROWS,
            }),
            format: folder.join("format"),
            boot: folder.join("boot"),
        }
    }
}

/// Makes the folder, for its user alone, where it is not there yet, and answers what it is.
pub(super) fn prepare(folder: &Path) -> Result<libc::stat> {
    let stat = match stat_path(folder) {
        Ok(stat) => stat,
        Err(libc::ENOENT) => {
            make(folder)?;
            stat_path(folder).map_err(|code| from_os(code, "look at", folder))?
        }
        Err(code) => return Err(from_os(code, "look at", folder)),
    };
    if stat.st_mode & libc::S_IFMT != libc::S_IFDIR {
        return Err(from_os(libc::ENOTDIR, "use", folder));
    }
    if let Some(name) = network_name(magic(folder)?)
        && !(name == "fuse" && is_local_fuse(&mount_type(stat.st_dev)))
    {
        return Err(Error::new(
            Kind::Unsupported,
            "store_network_filesystem",
            format!(
                "{} is on a network file system ({name}), where the locks of two machines do not exclude \
                 each other. Use a folder on a local disk, or a server that all machines reach",
                folder.display()
            ),
        ));
    }
    Ok(stat)
}

/// Makes a folder inside of a store's folder, for the same users, where it is not there yet.
pub(super) fn prepare_inside(store: &libc::stat, folder: &Path) -> Result<()> {
    if stat_path(folder).is_ok() {
        return Ok(());
    }
    // Made ready under another name, so that nobody finds it half made.
    let fresh = folder.with_extension(format!("new-{:x}", crate::process::random_u64()));
    let failed = |error: std::io::Error| from_os(error.raw_os_error().unwrap_or(0), "make the folder", folder);
    std::fs::create_dir(&fresh).map_err(failed)?;
    let name = c_path(&fresh)?;
    // SAFETY: a NUL-terminated path. Who is not root has no other owner to give it to.
    unsafe {
        libc::chown(name.as_ptr(), store.st_uid, store.st_gid);
        libc::chmod(name.as_ptr(), store.st_mode & 0o7777);
    }
    match std::fs::rename(&fresh, folder) {
        Ok(()) => Ok(()),
        Err(_) if stat_path(folder).is_ok() => {
            let _ = std::fs::remove_dir(&fresh);
            Ok(())
        }
        Err(error) => Err(failed(error)),
    }
}

fn make(folder: &Path) -> Result<()> {
    if let Some(parent) = folder.parent()
        && stat_path(parent).is_err_and(|code| code == libc::ENOENT)
    {
        make(parent)?;
    }
    let name = c_path(folder)?;
    // SAFETY: a NUL-terminated path.
    if unsafe { libc::mkdir(name.as_ptr(), 0o700) } != 0 {
        let code = last_os_code();
        if code != libc::EEXIST {
            return Err(from_os(code, "make the folder", folder));
        }
    }
    Ok(())
}

/// The number of the file system that `path` is on.
fn magic(path: &Path) -> Result<u32> {
    let name = c_path(path)?;
    // SAFETY: a plain structure of numbers.
    let mut stat: libc::statfs = unsafe { mem::zeroed() };
    // SAFETY: a NUL-terminated path and room for the answer.
    if unsafe { libc::statfs(name.as_ptr(), &mut stat) } != 0 {
        return Err(from_os(last_os_code(), "look at the file system of", path));
    }
    Ok(stat.f_type as u32)
}

/// The type of the file system with this device number, such as `fuse.sshfs`.
fn mount_type(device: libc::dev_t) -> String {
    let number = format!("{}:{}", libc::major(device), libc::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(number.as_str()));
    let kind = line.and_then(|line| line.split(" - ").nth(1)).and_then(|rest| rest.split(' ').next());
    kind.unwrap_or_default().to_string()
}

/// FUSE serves sshfs and s3fs as well as local disks; only known local ones are let in.
fn is_local_fuse(kind: &str) -> bool {
    let local = ["fuseblk", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.gocryptfs", "fuse.encfs", "fuse.bindfs"];
    local.contains(&kind)
}

/// What kind of network file system this number stands for, if it does.
///
/// Numbers from `linux/magic.h` and the file systems' own headers.
pub(super) fn network_name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "nfs",
        0x517b => "smb",
        0xff53_4d42 => "cifs",
        0xfe53_4d42 => "smb2",
        0x00c3_6400 => "ceph",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x7375_7245 => "coda",
        0x564c => "ncp",
        0x0bd0_0bd0 => "lustre",
        0x4750_4653 => "gpfs",
        0x0116_1970 => "gfs2",
        0x7461_636f => "ocfs2",
        0x786f_4256 => "vboxsf",
        _ => return None,
    })
}

/// Which file `path` names now.
pub(super) fn key_at(path: &Path) -> Option<FileKey> {
    stat_path(path).ok().map(|stat| key_of(&stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_and_local_ones_are_not() {
        for magic in [0x6969, 0xff53_4d42, 0x00c3_6400, 0x0102_1997, 0x6573_5546] {
            assert!(network_name(magic).is_some(), "{magic:x}");
        }
        // ext4, xfs, btrfs, tmpfs, overlay, zfs.
        for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(network_name(magic), None, "{magic:x}");
        }
    }

    #[test]
    fn fuse_is_let_in_only_where_it_is_known_to_be_local() {
        assert!(is_local_fuse("fuseblk") && is_local_fuse("fuse.fuse-overlayfs"));
        assert!(!is_local_fuse("fuse.sshfs") && !is_local_fuse("fuse.s3fs") && !is_local_fuse(""));
        let here = stat_path(Path::new("/proc")).expect("mounted");
        assert_eq!(mount_type(here.st_dev), "proc");
    }

    #[test]
    fn the_default_folder_does_not_follow_the_environment() {
        let path = default_path().expect("a home folder");
        assert!(path.is_absolute() && path.ends_with(".local/state/fencehold"));
    }
}
