//! TLS: whom a client trusts, and how it shows who it is.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fencehold::{Client, ClientOptions, Kind};

use crate::authority::Authority;
use crate::broker::Broker;
use crate::options;
use crate::scripted::Scripted;

/// A broker with TLS; `clients`: the authority of those that it lets in.
fn server(authority: &Authority, name: &str, clients: Option<&Authority>) -> Scripted {
    let broker = Broker::queen();
    Scripted::listen_with("127.0.0.1:0", Some(authority.server(name, clients)), move |seen| broker.answer(seen))
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn https(server: &Scripted, options: ClientOptions) -> Client {
    Client::open_with(&format!("https://localhost:{}", server.address.port()), options).unwrap()
}

#[test]
fn a_broker_is_trusted_by_an_authority_of_ones_own() {
    let authority = Authority::new("ours");
    let server = server(&authority, "localhost", None);
    let files = Files::new();
    let client = https(&server, ClientOptions::new().ca_file(files.put("ca.pem", &authority.pem)));
    let lock = client.lock("n", options(30)).unwrap();
    for _ in 0..5 {
        assert!(lock.acquire().unwrap().is_granted());
        assert!(lock.release().unwrap());
    }
    assert_eq!(server.connections(), 1, "connections with TLS are kept as well");
}

#[test]
fn a_stranger_is_not_trusted_and_that_is_told_at_once() {
    let server = server(&Authority::new("theirs"), "localhost", None);
    let files = Files::new();
    let other = files.put("ca.pem", &Authority::new("ours").pem);
    for options in [ClientOptions::new(), ClientOptions::new().ca_file(other)] {
        let client = https(&server, options);
        let began = Instant::now();
        // Also not after a wait: no time makes it right.
        let lock = client.lock("n", crate::options(30).wait(Duration::from_secs(60))).unwrap();
        let error = lock.acquire().unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "tls_untrusted"), "{error}");
        assert!(error.to_string().contains("unknown issuer") && error.to_string().contains("localhost"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_certificate_for_another_name_is_not_enough() {
    let authority = Authority::new("ours");
    let server = server(&authority, "elsewhere.example", None);
    let files = Files::new();
    let client = https(&server, ClientOptions::new().ca_file(files.put("ca.pem", &authority.pem)));
    let error = client.ping().unwrap_err();
    assert_eq!(error.reason(), "tls_untrusted");
    assert!(error.to_string().contains("another name"), "{error}");
}

#[test]
fn a_broker_that_wants_a_certificate_of_ours_gets_it() {
    let (authority, clients) = (Authority::new("ours"), Authority::new("clients"));
    let server = server(&authority, "localhost", Some(&clients));
    let files = Files::new();
    let ca = files.put("ca.pem", &authority.pem);
    let (certificate, key) = clients.certify("job.example");
    let base = || ClientOptions::new().ca_file(&ca);
    let apart = base().cert_file(files.put("cert.pem", &certificate)).key_file(files.put("key.pem", &key));
    https(&server, apart).ping().unwrap();
    let together = base().cert_file(files.put("both.pem", &format!("{certificate}{key}")));
    https(&server, together).ping().unwrap();
    let error = https(&server, base()).ping().unwrap_err();
    assert_eq!(error.reason(), "tls_untrusted", "{error}");
    assert!(error.to_string().contains("cert_file"), "{error}");
}

#[test]
fn a_file_that_is_not_there_or_has_nothing_is_named() {
    let authority = Authority::new("ours");
    let server = server(&authority, "localhost", None);
    let files = Files::new();
    let empty = files.put("empty.pem", "");
    let ca = files.put("ca.pem", &authority.pem);
    let (certificate, key) = authority.certify("job.example");
    let cert = files.put("cert.pem", &certificate);
    let other = files.put("other.pem", &authority.certify("x").1);
    let missing = files.0.path().join("missing.pem");
    let cases = [
        (ClientOptions::new().ca_file(&missing), "missing.pem"),
        (ClientOptions::new().ca_file(&empty), "empty.pem"),
        (ClientOptions::new().ca_file(&ca).cert_file(&missing), "missing.pem"),
        (ClientOptions::new().ca_file(&ca).cert_file(&cert), "cert.pem"),
        (ClientOptions::new().ca_file(&ca).cert_file(&cert).key_file(&other), "other.pem"),
    ];
    for (options, named) in cases {
        let error = https(&server, options).ping().unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Kind::Invalid, "tls_bad_file"), "{error}");
        assert!(error.to_string().contains(named), "{error}");
        assert!(!error.to_string().contains(&key), "{error}");
    }
    let only_key = ClientOptions::new().key_file(&other);
    assert_eq!(Client::open_with("https://localhost", only_key).unwrap_err().kind(), Kind::Invalid);
}

#[test]
fn a_file_that_is_put_right_is_read_again() {
    let authority = Authority::new("ours");
    let server = server(&authority, "localhost", None);
    let files = Files::new();
    let ca = files.put("ca.pem", &Authority::new("old").pem);
    let client = https(&server, ClientOptions::new().ca_file(&ca));
    assert_eq!(client.ping().unwrap_err().reason(), "tls_untrusted");
    files.put("ca.pem", &authority.pem);
    client.ping().unwrap();
}
