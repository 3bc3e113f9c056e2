//! Whether the leases in the file still mean something: a moment on the clock that leases are
//! measured with is worth nothing after a reboot, in another time namespace, or in a copy of the
//! folder.

use std::path::Path;

use super::fault::from_os;
use crate::{Error, Kind, Result};

/// Which clock it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The kernel's number of this boot.
    pub(super) boot: String,
    /// How far the clock of this time namespace is off the machine's.
    pub(super) offset: String,
    /// The number of the lock file: a folder that was copied or restored has another one.
    pub(super) lock: u64,
}

impl Stamp {
    /// The clock of the calling process, for the folder with this lock file.
    pub(super) fn current(lock: u64) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let link = |name: &str| {
            std::fs::read_link(format!("/proc/self/ns/{name}"))
                .map(|link| link.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let here = link("time");
        // The offsets are those of children; where these are in our namespace they are ours.
        let offset = if here == link("time_for_children") {
            std::fs::read_to_string("/proc/self/timens_offsets").ok().and_then(|text| boottime(&text))
        } else {
            None
        };
        Self { boot: word(&boot), offset: offset.unwrap_or_else(|| word(&here)), lock }
    }

    /// The stamp in the file at `path`; nothing if there is none or it was cut short by a crash.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(from_os(error.raw_os_error().unwrap_or(0), "read", path)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let boot = lines.next()?.strip_prefix("boot ")?.to_string();
        let offset = lines.next()?.strip_prefix("clock ")?.to_string();
        let lock = lines.next()?.strip_prefix("lock ")?.parse().ok()?;
        lines.next()?.eq("end").then_some(Self { boot, offset, lock })
    }

    /// The text of the file.
    pub(super) fn text(&self) -> String {
        format!("boot {}\nclock {}\nlock {}\nend\n", self.boot, self.offset, self.lock)
    }
}

fn word(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    if text.is_empty() { "unknown".into() } else { text }
}

/// `boottime  100000  0` as `100000.0`.
fn boottime(offsets: &str) -> Option<String> {
    let line = offsets.lines().find(|line| line.starts_with("boottime"))?;
    let mut parts = line.split_whitespace().skip(1);
    Some(format!("{}.{}", parts.next()?, parts.next()?))
}

/// What to do with the leases that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leases {
    /// They are good.
    Keep,
    /// They ended with the boot they were taken in.
    BeginAnew,
}

/// Decides from the stamp in the folder, this process's clock, and whether any client lives.
///
/// Somebody who lives proves that it is the same boot, whatever the boot numbers say: containers
/// can have boot numbers of their own.
pub(super) fn judge(stored: Option<&Stamp>, current: &Stamp, anybody: bool) -> Result<Leases> {
    match stored {
        Some(stored) if anybody => {
            if stored.offset == current.offset {
                return Ok(Leases::Keep);
            }
            Err(Error::new(
                Kind::Unsupported,
                "store_other_clock",
                format!(
                    "the programs that use this store run in another time namespace (their clock is off by \
                     {} s, ours by {} s), so lifetimes cannot be compared. Use a store of a server between \
                     them, or run in one time namespace",
                    stored.offset, current.offset
                ),
            ))
        }
        Some(stored) if stored == current => Ok(Leases::Keep),
        // Nobody lives, or nobody ever did.
        _ => Ok(Leases::BeginAnew),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(boot: &str, offset: &str) -> Stamp {
        Stamp { boot: boot.into(), offset: offset.into(), lock: 7 }
    }

    #[test]
    fn presence_beats_the_boot_number() {
        let old = stamp("a", "0.0");
        assert_eq!(judge(Some(&old), &stamp("b", "0.0"), true).unwrap(), Leases::Keep);
        assert_eq!(judge(Some(&old), &stamp("b", "0.0"), false).unwrap(), Leases::BeginAnew);
        assert_eq!(judge(Some(&old), &stamp("a", "0.0"), false).unwrap(), Leases::Keep);
        assert_eq!(judge(None, &old, false).unwrap(), Leases::BeginAnew);
        let restored = Stamp { lock: 8, ..old.clone() };
        assert_eq!(judge(Some(&old), &restored, false).unwrap(), Leases::BeginAnew);
    }

    #[test]
    fn another_time_namespace_is_refused_while_somebody_lives() {
        let error = judge(Some(&stamp("a", "0.0")), &stamp("a", "100000.0"), true).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Unsupported, "store_other_clock"));
        let alone = judge(Some(&stamp("a", "0.0")), &stamp("a", "100000.0"), false);
        assert_eq!(alone.unwrap(), Leases::BeginAnew);
    }

    #[test]
    fn a_stamp_comes_back_and_half_of_one_does_not() {
        let here = Stamp::current(12);
        let text = here.text();
        assert_eq!(Stamp::parse(&text), Some(here));
        for cut in 0..text.len() - 1 {
            assert_eq!(Stamp::parse(&text[..cut]), None);
        }
        assert_eq!(boottime("monotonic  5  0\nboottime  100000  7\n"), Some("100000.7".into()));
    }
}
