//! `zookeeper://user:password@a,b:2182/root?layout=curator`: where an ensemble is and how to log in.

use std::path::PathBuf;

use super::failure::Failure;
use super::names::Layout;
use crate::Result;
use crate::client::Access;
use crate::secret::Secret;
use crate::url::{bad_url, percent_decoded_secret, unknown_parameter};

/// The port of a server whose URL has none.
const PORT: u16 = 2181;

/// An ensemble, as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnsembleUrl {
    /// `host:port` each.
    pub(crate) servers: Vec<String>,
    /// The node that the locks lie below: empty, or `/path`.
    pub(crate) root: String,
    pub(crate) layout: Layout,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl EnsembleUrl {
    /// Reads what follows `zookeeper:`.
    pub(crate) fn parse<'a>(path: &str, parameters: impl Iterator<Item = &'a str>) -> Result<Self> {
        let mut layout = Layout::default();
        for parameter in parameters {
            layout = match parameter {
                "layout=kazoo" => Layout::Kazoo,
                "layout=curator" => Layout::Curator,
                _ => return Err(unknown_parameter(parameter)),
            };
        }
        let Some(rest) = path.strip_prefix("//") else {
            return Err(bad_url("an ensemble is written zookeeper://host:2181,other:2181/root"));
        };
        let (authority, root) = rest.split_once('/').map_or((rest, ""), |(authority, root)| (authority, root));
        let (credentials, places) =
            authority.rsplit_once('@').map_or((None, authority), |(credentials, places)| (Some(credentials), places));
        let text = |part: &str| {
            let decoded = String::from_utf8(percent_decoded_secret(part)?);
            decoded.map_err(|_| bad_url("the user or the password in the URL is not UTF-8"))
        };
        let (user, password) = match credentials.map(|both| both.split_once(':').unwrap_or((both, ""))) {
            None => (None, None),
            Some((user, "")) => (Some(text(user)?), None),
            Some((user, password)) => (Some(text(user)?), Some(Secret::new(text(password)?))),
        };
        let servers = places.split(',').map(server).collect::<Result<Vec<_>>>()?;
        let root = root.trim_end_matches('/');
        let is_root = root.is_empty() || root.split('/').all(|part| !matches!(part, "" | "." | ".." | "zookeeper"));
        if !is_root || root.chars().any(|character| character.is_control() || character == '%') {
            return Err(bad_url("the root of the locks is a path of ZooKeeper, such as /locks"));
        }
        let root = if root.is_empty() { String::new() } else { format!("/{root}") };
        Ok(Self { servers, root, layout, user, password })
    }

    /// The URL without credentials and parameters.
    pub(crate) fn shown(&self) -> String {
        format!("zookeeper://{}{}", self.servers.join(","), self.root)
    }
}

/// `host`, `host:port` or `[address]:port`, with the port filled in.
fn server(place: &str) -> Result<String> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (format!("[{host}]"), port),
        Some(_) => return Err(bad_url("what stands between [ and ] is no IPv6 address")),
        None => {
            let (host, port) = place.find(':').map_or((place, ""), |at| place.split_at(at));
            (host.to_string(), port)
        }
    };
    let is_host =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => Some(PORT),
        Some(digits) => digits.parse::<u16>().ok().filter(|port| *port > 0),
        None => None,
    };
    match port {
        Some(port) if is_host => Ok(format!("{host}:{port}")),
        _ => Err(bad_url("a server of an ensemble has a host name or address and, after a colon, a port number")),
    }
}

/// The servers of an ensemble, and how to log in.
pub(super) struct Ensemble {
    /// `host:port` each.
    pub(super) servers: Vec<String>,
    user: Option<String>,
    password: Option<Secret>,
    password_file: Option<PathBuf>,
}

impl Ensemble {
    pub(super) fn new(url: &EnsembleUrl, access: &Access) -> Self {
        // What stands in the URL is meant for this store.
        let from_url = url.user.is_some();
        Self {
            servers: url.servers.clone(),
            user: url.user.clone().or_else(|| access.user.clone()),
            password: if from_url { url.password.clone() } else { access.password.clone() },
            password_file: access.password_file.clone().filter(|_| !from_url || url.password.is_none()),
        }
    }

    /// Whether the nodes we make are ours alone.
    pub(super) fn has_login(&self) -> bool {
        self.user.is_some()
    }

    /// `user:password` for the scheme `digest`, if there is a user.
    pub(super) fn login(&self) -> std::result::Result<Option<Secret>, Failure> {
        let Some(user) = &self.user else { return Ok(None) };
        let password = match (&self.password, &self.password_file) {
            (Some(password), _) => password.clone(),
            (None, Some(path)) => match std::fs::read_to_string(path) {
                Ok(text) => Secret::new(text.trim_end_matches(['\n', '\r'])),
                Err(error) => {
                    return Err(Failure::BadFile(format!("password_file {}: {error}", path.display())));
                }
            },
            (None, None) => Secret::new(""),
        };
        Ok(Some(Secret::new(format!("{user}:{}", password.reveal()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<EnsembleUrl> {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        EnsembleUrl::parse(path, query.split('&').filter(|parameter| !parameter.is_empty()))
    }

    #[test]
    fn an_ensemble_has_servers_a_root_and_a_layout() {
        let parsed = parse("//a,b:2182,[::1]:7/x/y/?layout=curator").unwrap();
        assert_eq!(parsed.servers, ["a:2181", "b:2182", "[::1]:7"]);
        assert_eq!((parsed.root.as_str(), parsed.layout), ("/x/y", Layout::Curator));
        assert_eq!(parse("//a").unwrap().root, "");
        for bad in ["a", "//", "//a:0", "//a//b", "//a/?layout=x", "//a,", "//a/zookeeper"] {
            assert_eq!(parse(bad).unwrap_err().reason(), "locks_bad_url", "{bad}");
        }
    }

    #[test]
    fn credentials_are_taken_and_never_shown() {
        let parsed = parse("//me:p%40ss@a/x").unwrap();
        assert_eq!(parsed.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!(parsed.shown(), "zookeeper://a:2181/x");
        assert!(!format!("{parsed:?}").contains("p@ss"));
        let login = Ensemble::new(&parsed, &Access::default()).login().unwrap().unwrap();
        assert_eq!(login.reveal(), "me:p@ss");
        assert!(!parse("//me:%zz@a").unwrap_err().to_string().contains("%zz@"));
    }
}
