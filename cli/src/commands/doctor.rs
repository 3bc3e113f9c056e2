//! `fencehold doctor`: whether the store works from here, step by step.

use super::print;
use crate::args::{DoctorArgs, StoreArgs};
use crate::exit::{Failure, code_of};
use crate::store;
use fencehold::{Client, Kind, LockOptions, Ttl};
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One thing that was looked at.
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

pub(crate) fn run(store: &StoreArgs, args: &DoctorArgs) -> Result<i32, Failure> {
    let client = store::open(store)?;
    let mut checks = vec![
        Check { name: "version", ok: true, detail: format!("fencehold {}", fencehold::VERSION) },
        Check { name: "store", ok: true, detail: source(store) },
    ];
    let code = match folder(&client, &mut checks) {
        0 => examine(&client, &mut checks),
        code => code,
    };
    let text = if args.json {
        let rows: Vec<_> = checks.iter().map(|c| json!({ "name": c.name, "ok": c.ok, "detail": c.detail })).collect();
        json!({ "store": client.store(), "ok": code == 0, "checks": rows }).to_string()
    } else {
        let mut text = format!("{}\n", client.store());
        for check in &checks {
            let _ = writeln!(text, "  {:<4} {:<8} {}", if check.ok { "ok" } else { "FAIL" }, check.name, check.detail);
        }
        text
    };
    let written = print(&text);
    Ok(if code != 0 { code } else { written })
}

/// Where the URL came from: the usual reason for two programs that do not exclude each other.
fn source(store: &StoreArgs) -> String {
    if store.store.is_some() {
        "named by --store".into()
    } else if std::env::var_os("FENCEHOLD_URL").is_some_and(|url| !url.is_empty()) {
        "named by FENCEHOLD_URL".into()
    } else {
        "named by /etc/fencehold/url".into()
    }
}

/// Looks at the folder of a `file:` store. Answers the exit code of the first check that fails.
///
/// This comes before everything that could start a thread: a damaged page is looked for in a forked child.
fn folder(client: &Client, checks: &mut Vec<Check>) -> i32 {
    let Some(path) = client.store().strip_prefix("file:") else { return 0 };
    let path = (!path.is_empty()).then(|| folder_named(path));
    let found = match fencehold::check_folder(path.as_deref()) {
        Ok(found) => found,
        Err(error) => {
            checks.push(Check { name: "folder", ok: false, detail: error.to_string() });
            return code_of(error.kind());
        }
    };
    let well = found.iter().all(|check| check.ok);
    checks.extend(found.into_iter().map(|check| Check { name: check.name, ok: check.ok, detail: check.detail }));
    if well { 0 } else { code_of(Kind::Store) }
}

/// The folder in a `file:` URL that the library took, without the scheme.
fn folder_named(path: &str) -> PathBuf {
    let path = path.strip_prefix("//").map_or(path, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match escaped.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Runs the checks in order and ends at the first that fails, with its exit code.
fn examine(client: &Client, checks: &mut Vec<Check>) -> i32 {
    type Step = fn(&Client) -> Result<String, fencehold::Error>;
    let steps: [(&'static str, Step); 3] = [("answers", ping), ("locks", count), ("acquire", acquire)];
    for (name, step) in steps {
        match step(client) {
            Ok(detail) => checks.push(Check { name, ok: true, detail }),
            Err(error) => {
                checks.push(Check { name, ok: false, detail: error.to_string() });
                return code_of(error.kind());
            }
        }
    }
    0
}

fn ping(client: &Client) -> Result<String, fencehold::Error> {
    let began = Instant::now();
    client.ping()?;
    Ok(format!("in {:.2} ms", began.elapsed().as_secs_f64() * 1000.0))
}

fn count(client: &Client) -> Result<String, fencehold::Error> {
    let locks = client.list("", 1000, "")?;
    let held = locks.iter().filter(|lock| lock.held).count();
    Ok(format!("{held} held{}", if locks.len() == 1000 { " among the first 1000" } else { "" }))
}

/// Takes a lock that nobody else uses, renews nothing, gives it back.
fn acquire(client: &Client) -> Result<String, fencehold::Error> {
    let began = Instant::now();
    let name = format!("fencehold-doctor/{}", std::process::id());
    let lock = client.acquire(&name, LockOptions::from_ttl(Ttl::new(Duration::from_secs(10))?))?;
    let token = lock.fence()?.get();
    lock.release()?;
    Ok(format!("taken and given back in {:.2} ms, token {token}", began.elapsed().as_secs_f64() * 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_that_the_url_names() {
        for (url, folder) in [
            ("/var/lib/x", "/var/lib/x"),
            ("///var/lib/x", "/var/lib/x"),
            ("//localhost/var/lib/x", "/var/lib/x"),
            ("/a%20b%c3%A9", "/a b\u{e9}"),
        ] {
            assert_eq!(folder_named(url), PathBuf::from(folder), "{url}");
        }
    }
}
