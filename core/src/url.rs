//! URLs of stores.

use std::path::PathBuf;

use crate::{Error, Kind, Result};

/// A store, as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// `memory:` and `memory:NAME`.
    Memory { name: Option<String>, manual_clock: bool },
    /// `file:` (no path: this user's own) and `file:/path`.
    File { path: Option<PathBuf> },
}

fn bad_url(detail: impl std::fmt::Display) -> Error {
    Error::invalid(
        "locks_bad_url",
        format!("{detail} (locks_bad_url). Write file:/var/lib/fencehold, file: or memory:"),
    )
}

/// Decodes `%41`; the answer may be any bytes.
fn percent_decoded(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) else {
            return Err(bad_url(format!("the URL {text:?} has a '%' without two hexadecimal digits")));
        };
        bytes.push(byte);
        rest = &tail[2..];
    }
    Ok(bytes)
}

impl StoreUrl {
    /// Reads a URL.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(bad_url(format!("the URL {url:?} has no scheme")));
        };
        if rest.contains('#') {
            return Err(bad_url("a store's URL has no '#'; write %23 in a path"));
        }
        let (path, query) = rest.split_once('?').map_or((rest, ""), |(path, query)| (path, query));
        let mut parameters = query.split('&').filter(|parameter| !parameter.is_empty());
        match scheme {
            "memory" => {
                let mut manual_clock = false;
                for parameter in parameters {
                    match parameter {
                        "clock=manual" => manual_clock = true,
                        "clock=system" => manual_clock = false,
                        _ => return Err(unknown_parameter(parameter)),
                    }
                }
                if path.starts_with('/') || path.chars().any(char::is_control) {
                    return Err(bad_url(format!("memory:{path} is no name for a store in memory")));
                }
                let name = String::from_utf8(percent_decoded(path)?).map_err(|_| bad_url("the name is not UTF-8"))?;
                Ok(Self::Memory { name: (!name.is_empty()).then_some(name), manual_clock })
            }
            "file" => {
                if let Some(parameter) = parameters.next() {
                    return Err(unknown_parameter(parameter));
                }
                if path.is_empty() {
                    return Ok(Self::File { path: None });
                }
                let local = match path.strip_prefix("//") {
                    None => path.to_string(),
                    Some(rest) => match rest.strip_prefix("localhost") {
                        Some(local) if local.starts_with('/') => local.to_string(),
                        _ if rest.starts_with('/') => rest.to_string(),
                        _ => return Err(bad_url(format!("file:{path} names another host"))),
                    },
                };
                if !local.starts_with('/') {
                    return Err(bad_url(format!(
                        "the path in file:{local} is relative: programs in other folders would not be excluded"
                    )));
                }
                let bytes = percent_decoded(&local)?;
                if bytes.contains(&0) {
                    return Err(bad_url("a path has no NUL"));
                }
                use std::os::unix::ffi::OsStringExt as _;
                Ok(Self::File { path: Some(PathBuf::from(std::ffi::OsString::from_vec(bytes))) })
            }
            "http" | "https" | "etcd" | "etcds" | "zookeeper" | "postgres" | "postgresql" => Err(Error::new(
                Kind::Unsupported,
                "unsupported",
                format!("this version of fencehold has no {scheme} store; it has file: and memory:"),
            )),
            _ => Err(bad_url(format!("there is no store {scheme:?}"))),
        }
    }
}

fn unknown_parameter(parameter: &str) -> Error {
    let name = parameter.split('=').next().unwrap_or(parameter);
    bad_url(format!("the URL has the unknown parameter {name:?}"))
}

/// The URL to use when `given` is what the caller passed: that, the environment's, the machine's.
pub(crate) fn resolve(given: &str) -> Result<String> {
    if !given.is_empty() {
        return Ok(given.to_string());
    }
    if let Some(url) = std::env::var_os("FENCEHOLD_URL").filter(|url| !url.is_empty()) {
        return url.into_string().map_err(|_| bad_url("FENCEHOLD_URL is not UTF-8"));
    }
    const MACHINE_FILE: &str = "/etc/fencehold/url";
    match std::fs::read_to_string(MACHINE_FILE) {
        Ok(text) => {
            let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            match (lines.next(), lines.next()) {
                (Some(url), None) => Ok(url.to_string()),
                _ => Err(bad_url(format!("{MACHINE_FILE} has to have exactly one line"))),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::invalid(
            "locks_no_store",
            format!(
                "no store was named (locks_no_store). Pass a URL such as file:/var/lib/fencehold, set FENCEHOLD_URL, or \
                 put one line into {MACHINE_FILE}. Plain file: is a store of user {} alone: programs of other users \
                 would not be excluded",
                crate::process::user()
            ),
        )),
        Err(error) => Err(bad_url(format!("{MACHINE_FILE} cannot be read: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_store_and_nothing_unknown() {
        let memory = |name: Option<&str>, manual_clock| StoreUrl::Memory { name: name.map(String::from), manual_clock };
        assert_eq!(StoreUrl::parse("memory:").unwrap(), memory(None, false));
        assert_eq!(StoreUrl::parse("memory:a?clock=manual").unwrap(), memory(Some("a"), true));
        for url in ["file:/a%20b", "file:///a%20b", "file://localhost/a%20b"] {
            assert_eq!(StoreUrl::parse(url).unwrap(), StoreUrl::File { path: Some("/a b".into()) }, "{url}");
        }
        assert_eq!(StoreUrl::parse("file:").unwrap(), StoreUrl::File { path: None });
        for bad in [
            "",
            "file",
            "file:a",
            "file:./a",
            "file://host/a",
            "file:/a?x=1",
            "memory:?x",
            "file:/%zz",
            "ftp://a",
            "file:/a#b",
        ] {
            assert_eq!(StoreUrl::parse(bad).unwrap_err().reason(), "locks_bad_url", "{bad}");
        }
        assert_eq!(StoreUrl::parse("etcd://a").unwrap_err().kind(), Kind::Unsupported);
    }
}
