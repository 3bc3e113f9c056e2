//! Which proxy the environment names for a server, if any.

use std::net::IpAddr;

use ureq::Proxy;
use ureq::config::Config;

use crate::url::ServerUrl;
use crate::{Error, Kind, Result};

/// The proxy to reach `server` through. A server on this machine is reached directly.
pub(in crate::store) fn from_environment(server: &ServerUrl) -> Result<Option<Proxy>> {
    choose(server, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn choose(server: &ServerUrl, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Proxy>> {
    let either = |upper: &str| variable(upper).or_else(|| variable(&upper.to_ascii_lowercase()));
    // Upper-case HTTP_PROXY can be set by whoever sends a request to a CGI program.
    let own = if server.tls { either("HTTPS_PROXY") } else { variable("http_proxy") };
    let Some(url) = own.or_else(|| either("ALL_PROXY")) else { return Ok(None) };
    if is_exempt(&server.host, &either("NO_PROXY").unwrap_or_default()) {
        return Ok(None);
    }
    let bad = |fault: &str| {
        let detail = format!("the proxy that the environment names for {} {fault} (proxy_bad)", server.base);
        Error::new(Kind::Unsupported, "proxy_bad", detail)
    };
    let proxy = Proxy::new(&url).map_err(|_| bad("has no usable URL"))?;
    if Config::builder().proxy(Some(proxy.clone())).build().proxy().is_none_or(|proxy| !is_connect(proxy)) {
        return Err(bad("is a SOCKS proxy, which this library cannot use"));
    }
    Ok(Some(proxy))
}

fn is_connect(proxy: &Proxy) -> bool {
    matches!(proxy.protocol(), ureq::ProxyProtocol::Http | ureq::ProxyProtocol::Https)
}

/// Whether `host` is this machine or in a list such as `.example.com,10.0.0.0/8`.
fn is_exempt(host: &str, list: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok();
    if host == "localhost" || host.ends_with(".localhost") || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    list.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let entry = entry.to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let Some(address) = address {
            return is_in(address, &entry);
        }
        let name = entry.trim_start_matches('*').trim_start_matches('.');
        host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.') && !name.is_empty())
    })
}

/// Whether `address` is `entry`, or in it when that is a network such as `10.0.0.0/8`.
fn is_in(address: IpAddr, entry: &str) -> bool {
    let (network, length) = entry.split_once('/').map_or((entry, None), |(network, length)| (network, Some(length)));
    let Ok(network) = network.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let ((one, width), (other, other_width)) = (bits(address), bits(network));
    let length = length.map_or(Some(other_width), |length| length.parse::<u32>().ok());
    let Some(length) = length.filter(|length| *length <= width && width == other_width) else { return false };
    length == 0 || (one ^ other) >> (128 - length) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::StoreUrl;

    fn proxy(url: &str, environment: &[(&str, &str)]) -> Result<Option<String>> {
        let StoreUrl::Http { servers } = StoreUrl::parse(url)? else { panic!() };
        let variable =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        Ok(choose(&servers[0], variable)?.map(|proxy| proxy.host().to_string()))
    }

    #[test]
    fn the_scheme_chooses_the_variable() {
        let all = [("HTTPS_PROXY", "http://s:1"), ("http_proxy", "http://p:1"), ("ALL_PROXY", "http://a:1")];
        assert_eq!(proxy("https://q", &all).unwrap().as_deref(), Some("s"));
        assert_eq!(proxy("http://q", &all).unwrap().as_deref(), Some("p"));
        assert_eq!(proxy("http://q", &all[2..]).unwrap().as_deref(), Some("a"));
        assert_eq!(proxy("http://q", &[("HTTP_PROXY", "http://p:1")]).unwrap(), None, "a CGI request sets this one");
        assert_eq!(proxy("http://q", &[]).unwrap(), None);
    }

    #[test]
    fn this_machine_and_the_listed_hosts_are_reached_directly() {
        for url in ["http://localhost:1", "http://127.0.0.9", "http://[::1]:6632"] {
            assert_eq!(proxy(url, &[("ALL_PROXY", "http://a:1")]).unwrap(), None, "{url}");
        }
        let list = "example.com, .corp,*.lan,10.0.0.0/8,192.168.1.7,fd00::/8";
        for (host, exempt) in [
            ("example.com", true),
            ("q.example.com", true),
            ("notexample.com", false),
            ("q.corp", true),
            ("q.lan", true),
            ("10.9.8.7", true),
            ("11.0.0.1", false),
            ("192.168.1.7", true),
            ("192.168.1.8", false),
            ("fd12::1", true),
            ("fe80::1", false),
        ] {
            assert_eq!(is_exempt(host, list), exempt, "{host}");
        }
        assert!(is_exempt("anything", "*"));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_refused_and_not_passed_by() {
        assert_eq!(proxy("http://q", &[("ALL_PROXY", "socks5://a:1")]).unwrap_err().reason(), "proxy_bad");
        let error = proxy("http://q", &[("ALL_PROXY", "http://u:hunter2@")]).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
