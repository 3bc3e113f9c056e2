//! `etcd://user:password@a:2379,b:2379/prefix`: where a cluster is.

use crate::Result;
use crate::secret::Secret;
use crate::url::{ServerUrl, bad_url, percent_decoded, percent_decoded_secret, server, unknown_parameter};

/// The port of a member whose URL has none.
const PORT: u16 = 2379;

/// A cluster, as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EtcdUrl {
    pub(crate) members: Vec<ServerUrl>,
    /// What the keys of the locks begin with: empty, or a text that ends with a slash.
    pub(crate) prefix: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    tls: bool,
}

impl EtcdUrl {
    /// Reads what follows `etcd:` or, with `tls`, `etcds:`.
    pub(crate) fn parse<'a>(tls: bool, path: &str, mut parameters: impl Iterator<Item = &'a str>) -> Result<Self> {
        if let Some(parameter) = parameters.next() {
            return Err(unknown_parameter(parameter));
        }
        let Some(rest) = path.strip_prefix("//") else {
            return Err(bad_url("a cluster is written etcd://host:2379,other:2379"));
        };
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
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
        let scheme = if tls { "https" } else { "http" };
        let members = places.split(',').map(|place| {
            let has_port = place.rfind(':').is_some_and(|at| !place[at..].contains(']'));
            let port = if has_port { String::new() } else { format!(":{PORT}") };
            server(&format!("{scheme}://{place}{port}"))
        });
        let members = members.collect::<Result<Vec<_>>>()?;
        let prefix = String::from_utf8(percent_decoded(prefix.trim_end_matches('/'))?);
        let mut prefix = prefix.map_err(|_| bad_url("the prefix of the keys is not UTF-8"))?;
        if !prefix.is_empty() {
            prefix.push('/');
        }
        Ok(Self { members, prefix, user, password, tls })
    }

    /// The URL without credentials.
    pub(crate) fn shown(&self) -> String {
        let scheme = if self.tls { "etcds" } else { "etcd" };
        let places = self
            .members
            .iter()
            .map(|member| member.base.split_once("://").map_or(member.base.as_str(), |(_, place)| place));
        let places: Vec<&str> = places.collect();
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        format!("{scheme}://{}{slash}{}", places.join(","), self.prefix.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Result<EtcdUrl> {
        EtcdUrl::parse(false, path, std::iter::empty())
    }

    #[test]
    fn a_cluster_has_members_and_a_prefix() {
        let url = parse("//a,b:7,[::1],[::2]:8/jobs/x/").unwrap();
        let bases: Vec<&str> = url.members.iter().map(|member| member.base.as_str()).collect();
        assert_eq!(bases, ["http://a:2379", "http://b:7", "http://[::1]:2379", "http://[::2]:8"]);
        assert_eq!(url.prefix, "jobs/x/");
        assert_eq!(url.shown(), "etcd://a:2379,b:7,[::1]:2379,[::2]:8/jobs/x");
        assert_eq!(parse("//a").unwrap().prefix, "");
        for bad in ["a", "//", "//a:x", "//a,"] {
            assert_eq!(parse(bad).unwrap_err().reason(), "locks_bad_url", "{bad}");
        }
        assert!(EtcdUrl::parse(true, "//a", std::iter::once("x=1")).is_err());
    }

    #[test]
    fn credentials_are_taken_and_never_shown() {
        let url = EtcdUrl::parse(true, "//me:p%40ss@a", std::iter::empty()).unwrap();
        assert_eq!((url.user.as_deref(), url.password.as_ref().map(Secret::reveal)), (Some("me"), Some("p@ss")));
        assert_eq!(url.shown(), "etcds://a:2379");
        assert!(!format!("{url:?}").contains("p@ss"));
    }
}
