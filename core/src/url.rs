//! URLs of stores.

use std::path::PathBuf;

use crate::secret::Secret;
use crate::store::etcd::EtcdUrl;
use crate::store::postgres::PostgresUrl;
use crate::store::zookeeper::EnsembleUrl;
use crate::{Error, Result};

/// A store, as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// `memory:` and `memory:NAME`.
    Memory { name: Option<String>, manual_clock: bool },
    /// `file:` (no path: this user's own) and `file:/path`.
    File { path: Option<PathBuf> },
    /// `http://host:6632,http://other:6632`: the servers of one store.
    Http { servers: Vec<ServerUrl> },
    /// `etcd://a,b:2379/prefix`.
    Etcd(EtcdUrl),
    /// `postgres://user@a,b:5432/database`.
    Postgres(PostgresUrl),
    /// `zookeeper://a,b:2181/root?layout=curator`.
    ZooKeeper(EnsembleUrl),
}

/// One server of a store that is reached over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    /// Scheme, host, port and path, without credentials and without a final slash.
    pub(crate) base: String,
    /// The host alone, an IPv6 address without its brackets.
    pub(crate) host: String,
    pub(crate) tls: bool,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

pub(crate) fn bad_url(detail: impl std::fmt::Display) -> Error {
    Error::invalid(
        "locks_bad_url",
        format!("{detail} (locks_bad_url). Write file:/var/lib/fencehold, http://broker:6632, file: or memory:"),
    )
}

/// Decodes `%41`; the answer may be any bytes.
pub(crate) fn percent_decoded(text: &str) -> Result<Vec<u8>> {
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
                if name.chars().any(char::is_control) {
                    return Err(bad_url("the name of a store in memory has no control character"));
                }
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
            "http" | "https" => Ok(Self::Http { servers: url.split(',').map(server).collect::<Result<_>>()? }),
            "zookeeper" => EnsembleUrl::parse(path, parameters).map(Self::ZooKeeper),
            "etcd" | "etcds" => EtcdUrl::parse(scheme == "etcds", path, parameters).map(Self::Etcd),
            "postgres" | "postgresql" => PostgresUrl::parse(path, parameters).map(Self::Postgres),
            _ => Err(bad_url(format!("there is no store {scheme:?}"))),
        }
    }

    /// The URL that messages name the store with: `given` without credentials and parameters.
    pub(crate) fn shown(&self, given: &str) -> String {
        match self {
            Self::Http { servers } => servers.iter().map(|server| &*server.base).collect::<Vec<_>>().join(","),
            Self::Etcd(url) => url.shown(),
            Self::Postgres(url) => url.shown(),
            Self::ZooKeeper(url) => url.shown(),
            _ => given.split('?').next().unwrap_or(given).to_string(),
        }
    }
}

/// Reads the URL of one server. What it complains about never repeats credentials.
pub(crate) fn server(url: &str) -> Result<ServerUrl> {
    let (scheme, rest) = match url.trim().split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
        _ => return Err(bad_url("each server, separated by commas, is written http://host:port or https://host:port")),
    };
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, query)| (rest, query));
    if let Some(parameter) = query.split('&').find(|parameter| !parameter.is_empty()) {
        return Err(unknown_parameter(parameter));
    }
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
    let path = path.trim_end_matches('/');
    let (credentials, place) =
        authority.rsplit_once('@').map_or((None, authority), |(credentials, place)| (Some(credentials), place));
    let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, port),
        Some(_) => return Err(bad_url("what stands between [ and ] is no IPv6 address")),
        None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
    };
    let is_host = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b));
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|n| n > 0));
    if !is_host || !is_port {
        return Err(bad_url("a server has a host name or address and, after a colon, a port number"));
    }
    let is_path = path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b));
    if !is_path || path.split('/').any(|part| part == "..") {
        return Err(bad_url("the path of a server's URL has letters, digits and -._~/ only"));
    }
    let text = |part: &str| {
        let decoded = String::from_utf8(percent_decoded_secret(part)?);
        decoded.map_err(|_| bad_url("the user or the password in the URL is not UTF-8"))
    };
    let (user, password) = match credentials.map(|both| both.split_once(':').unwrap_or((both, ""))) {
        None => (None, None),
        Some((user, "")) => (Some(text(user)?), None),
        Some((user, password)) => (Some(text(user)?), Some(Secret::new(text(password)?))),
    };
    let slash = if path.is_empty() { "" } else { "/" };
    Ok(ServerUrl {
        base: format!("{scheme}://{place}{slash}{path}"),
        host: host.to_string(),
        tls: scheme == "https",
        user,
        password,
    })
}

pub(crate) fn percent_decoded_secret(part: &str) -> Result<Vec<u8>> {
    percent_decoded(part).map_err(|_| {
        bad_url("the user or the password in the URL has a '%' without two hexadecimal digits; write %25 for '%'")
    })
}

pub(crate) fn unknown_parameter(parameter: &str) -> Error {
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
            "memory:a%00b",
            "file:/%zz",
            "ftp://a",
            "file:/a#b",
        ] {
            assert_eq!(StoreUrl::parse(bad).unwrap_err().reason(), "locks_bad_url", "{bad}");
        }
        assert!(matches!(StoreUrl::parse("postgresql://a/b").unwrap(), StoreUrl::Postgres(_)));
    }

    fn servers(url: &str) -> Vec<ServerUrl> {
        match StoreUrl::parse(url).unwrap() {
            StoreUrl::Http { servers } => servers,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn several_servers_are_separated_by_commas() {
        let list = servers("http://a:6632,https://u%40x:p%2Cw%3A1@b.example/queen/,http://[::1]:6632");
        let bases: Vec<&str> = list.iter().map(|server| &*server.base).collect();
        assert_eq!(bases, ["http://a:6632", "https://b.example/queen", "http://[::1]:6632"]);
        let hosts: Vec<&str> = list.iter().map(|server| &*server.host).collect();
        assert_eq!(hosts, ["a", "b.example", "::1"]);
        assert_eq!(list[1].user.as_deref(), Some("u@x"));
        assert_eq!(list[1].password.as_ref().map(Secret::reveal), Some("p,w:1"));
        assert_eq!((list[0].tls, list[1].tls), (false, true));
    }

    #[test]
    fn credentials_are_never_shown() {
        let url = "http://user:hunter2@a:6632";
        let parsed = StoreUrl::parse(url).unwrap();
        assert_eq!(parsed.shown(url), "http://a:6632");
        assert!(!format!("{parsed:?}").contains("hunter2"));
        for bad in [
            "http://user:hunter2@",
            "http://user:hunter2@a:b",
            "http://user:hunter2@a:0",
            "http://user:hunter2@a/?hunter=1",
            "http://user:hunter2@a/b c",
            "http://user:hunter2@a/../b",
            "http://user:hunter2%@a",
            "http://user:hunter2@a,b",
            "http://user:hunter2@[a]",
            "http://user:hunter2@a,",
            "http:user:hunter2@a",
        ] {
            let error = StoreUrl::parse(bad).unwrap_err();
            assert_eq!(error.reason(), "locks_bad_url", "{bad}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error}");
        }
    }
}
