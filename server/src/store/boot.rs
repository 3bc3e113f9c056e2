//! Which run of the machine the deadlines in the store were measured in.

/// The run of the machine that this process lives in. Two processes may compare moments only when
/// theirs are the same; `None`: the system does not tell, so that nothing can be compared.
pub(crate) fn current() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    // A time namespace has a clock of its own: its number, and how far off that is.
    let space = std::fs::read_link("/proc/self/ns/time").map(|link| link.to_string_lossy().into_owned());
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let offset = match offsets.lines().find(|line| line.starts_with("boottime")) {
        Some(line) => line.split_whitespace().skip(1).collect::<Vec<_>>().join("."),
        None => space.unwrap_or_default(),
    };
    let stamp = format!("{} {offset}", boot.trim());
    (!boot.trim().is_empty()).then_some(stamp)
}
