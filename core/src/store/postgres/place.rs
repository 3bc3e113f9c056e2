//! `postgres://user:password@a:5432,b:5432/database?sslmode=verify-full`: where a database is.

use std::path::PathBuf;

use crate::Result;
use crate::secret::Secret;
use crate::url::{ServerUrl, bad_url, percent_decoded, percent_decoded_secret, server, unknown_parameter};

/// The port of a server whose URL has none.
const PORT: u16 = 5432;

/// One server that may have the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Tcp {
        host: String,
        port: u16,
    },
    /// The folder of its socket.
    Unix {
        folder: PathBuf,
        port: u16,
    },
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix { folder, port } => write!(f, "{}/.s.PGSQL.{port}", folder.display()),
        }
    }
}

impl Host {
    /// Whether what is sent to it stays on this machine.
    pub(crate) fn is_here(&self) -> bool {
        match self {
            Self::Unix { .. } => true,
            Self::Tcp { host, .. } => {
                host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

/// A database, as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostgresUrl {
    pub(crate) hosts: Vec<Host>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// Without one it is called as the user is.
    pub(crate) database: Option<String>,
    /// Whether connections to other machines are encrypted and their certificates checked. `None`: they are, and
    /// those to this machine are not.
    pub(crate) tls: Option<bool>,
}

impl PostgresUrl {
    /// Reads what follows `postgres:`.
    pub(crate) fn parse<'a>(path: &str, parameters: impl Iterator<Item = &'a str>) -> Result<Self> {
        let Some(rest) = path.strip_prefix("//") else {
            return Err(bad_url("a database is written postgres://user@host:5432/database"));
        };
        let text = |part: &str, what: &str| {
            let decoded = String::from_utf8(percent_decoded_secret(part)?);
            match decoded {
                Ok(text) if !text.contains('\0') => Ok(text),
                _ => Err(bad_url(format!("{what} in the URL is not UTF-8 or has a NUL"))),
            }
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, places) =
            authority.rsplit_once('@').map_or((None, authority), |(credentials, places)| (Some(credentials), places));
        let (user, password) = match credentials.map(|both| both.split_once(':').unwrap_or((both, ""))) {
            None | Some(("", "")) => (None, None),
            Some((user, "")) => (Some(text(user, "the user")?), None),
            Some((user, password)) => {
                (Some(text(user, "the user")?), Some(Secret::new(text(password, "the password")?)))
            }
        };
        if database.contains('/') {
            return Err(bad_url("a database's name has no '/'; write %2F"));
        }
        let database = text(database, "the database's name")?;
        let (mut tls, mut folder) = (None, None);
        for parameter in parameters {
            match parameter.split_once('=') {
                Some(("sslmode", "disable")) => tls = Some(false),
                // What is encrypted is also checked: without that anybody on the way could read it.
                Some(("sslmode", "require" | "verify-ca" | "verify-full")) => tls = Some(true),
                Some(("sslmode", mode)) => {
                    return Err(bad_url(format!(
                        "sslmode={mode:?} is not known here: verify-full (also require) encrypts and checks the \
                         certificate, disable does neither; what falls back to plain text unasked is not offered"
                    )));
                }
                Some(("host", path)) => {
                    let path = String::from_utf8(percent_decoded(path)?).unwrap_or_default();
                    if !path.starts_with('/') || path.contains('\0') {
                        return Err(bad_url("host= names the folder of a socket, such as /run/postgresql"));
                    }
                    folder = Some(PathBuf::from(path));
                }
                _ => return Err(unknown_parameter(parameter)),
            }
        }
        let hosts = match folder {
            Some(folder) => {
                let port = if places.is_empty() { Some(PORT) } else { places.strip_prefix(':').and_then(number) };
                let Some(port) = port else {
                    return Err(bad_url(
                        "with host= the URL has no other host: postgres://user@/database?host=/folder",
                    ));
                };
                vec![Host::Unix { folder, port }]
            }
            None => places.split(',').map(tcp).collect::<Result<_>>()?,
        };
        Ok(Self { hosts, user, password, database: (!database.is_empty()).then_some(database), tls })
    }

    /// Whether connections to a host are encrypted.
    pub(crate) fn encrypts(&self, host: &Host) -> bool {
        !matches!(host, Host::Unix { .. }) && self.tls.unwrap_or(!host.is_here())
    }

    /// The URL without credentials.
    pub(crate) fn shown(&self) -> String {
        let slash = if self.database.is_some() { "/" } else { "" };
        let database = self.database.as_deref().unwrap_or_default();
        if let [Host::Unix { folder, port }] = &self.hosts[..] {
            let port = if *port == PORT { String::new() } else { format!(":{port}") };
            return format!("postgres://{port}/{database}?host={}", folder.display());
        }
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        format!("postgres://{}{slash}{database}", hosts.join(","))
    }
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

fn tcp(place: &str) -> Result<Host> {
    let ServerUrl { base, host, .. } = server(&format!("http://{place}"))?;
    let port = base.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(PORT);
    Ok(Host::Tcp { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, query: &str) -> Result<PostgresUrl> {
        PostgresUrl::parse(path, query.split('&').filter(|parameter| !parameter.is_empty()))
    }

    #[test]
    fn a_database_has_hosts_and_a_name() {
        let url = parse("//me:p%40ss@a,b:7,[::1]/jobs", "").unwrap();
        let hosts: Vec<String> = url.hosts.iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["a:5432", "b:7", "[::1]:5432"]);
        assert_eq!((url.user.as_deref(), url.database.as_deref()), (Some("me"), Some("jobs")));
        assert_eq!(url.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!(url.shown(), "postgres://a:5432,b:7,[::1]:5432/jobs");
        assert!(!format!("{url:?}").contains("p@ss"));
        let url = parse("//me@/jobs", "host=/run/postgresql").unwrap();
        assert_eq!(url.hosts, [Host::Unix { folder: "/run/postgresql".into(), port: 5432 }]);
        assert_eq!(url.shown(), "postgres:///jobs?host=/run/postgresql");
        for (bad, query) in [
            ("a", ""),
            ("//", ""),
            ("//a:x", ""),
            ("//a/b/c", ""),
            ("//a", "x=1"),
            ("//a", "sslmode=prefer"),
            ("//a", "host=/x"),
            ("//u%00@a", ""),
            ("//", "host=x"),
        ] {
            let error = parse(bad, query).unwrap_err();
            assert_eq!(error.reason(), "locks_bad_url", "{bad}?{query}");
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_the_clear_unasked() {
        let encrypts = |path: &str, query: &str| {
            let url = parse(path, query).unwrap();
            url.hosts.iter().map(|host| url.encrypts(host)).collect::<Vec<_>>()
        };
        assert_eq!(encrypts("//localhost,127.0.0.1,[::1],db,10.0.0.1", ""), [false, false, false, true, true]);
        assert_eq!(encrypts("//127.0.0.1,db", "sslmode=require"), [true, true]);
        assert_eq!(encrypts("//127.0.0.1,db", "sslmode=disable"), [false, false]);
        assert_eq!(encrypts("//", "host=/run&sslmode=verify-full"), [false]);
    }
}
