//! What a client takes from the environment. Its only test sets variables, so it has a process of its own.

#[path = "support/authority.rs"]
mod authority;
#[path = "support/broker.rs"]
#[expect(dead_code, reason = "shared with the other tests of stores over HTTP")]
mod broker;
#[path = "support/scripted.rs"]
#[expect(dead_code, reason = "shared with the other tests of stores over HTTP")]
mod scripted;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use authority::Authority;
use broker::Broker;
use fencehold::{Client, Kind};
use scripted::Scripted;

/// A proxy that connects to `target`, whatever it is asked to, and answers what it was asked.
fn proxy(target: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heads = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut client = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            heads.lock().unwrap().push(String::from_utf8(head).unwrap());
            client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
            let server = TcpStream::connect(target).unwrap();
            for (mut from, mut to) in [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    (address, asked)
}

fn set(name: &str, value: &str) {
    // SAFETY: no other thread of this process reads the environment meanwhile.
    unsafe { std::env::set_var(name, value) };
}

#[test]
fn proxies_trust_and_credentials_come_from_the_environment() {
    let broker = Arc::new(Broker::queen());
    let kept = broker.clone();
    let plain = Scripted::start(move |seen| kept.answer(seen));
    let authority = Authority::new("ours");
    let tls = Scripted::listen_with("127.0.0.1:0", Some(authority.server("broker.example", None)), move |seen| {
        broker.answer(seen)
    });
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };

    let (address, asked) = proxy(plain.address);
    set("http_proxy", &format!("http://us%20er:hunter2@{address}"));
    let client = Client::open("http://broker.example:6632").unwrap();
    client.ping().unwrap();
    client.show("n").unwrap();
    {
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "one tunnel serves both");
        assert!(asked[0].starts_with("CONNECT broker.example:6632 HTTP/1.1"), "{asked:?}");
        assert!(asked[0].contains("Proxy-Authorization: Basic dXMgZXI6aHVudGVyMg=="), "{asked:?}");
    }
    Client::open(&plain.url()).unwrap().ping().unwrap();
    assert_eq!(asked.lock().unwrap().len(), 1, "this machine is reached directly");
    set("NO_PROXY", "other.example,broker.invalid");
    let error = Client::open("http://broker.invalid:6632").unwrap().ping().unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().contains("broker.invalid"), "{error}");

    let (address, asked) = proxy(tls.address);
    set("https_proxy", &format!("http://{address}"));
    set("FENCEHOLD_CA_FILE", &file("ca.pem", &authority.pem));
    Client::open("https://broker.example").unwrap().ping().unwrap();
    assert!(asked.lock().unwrap()[0].starts_with("CONNECT broker.example:443 "));
    set("FENCEHOLD_CA_FILE", "");
    assert_eq!(Client::open("https://broker.example").unwrap().ping().unwrap_err().reason(), "tls_untrusted");
    set("SSL_CERT_FILE", &file("system.pem", &authority.pem));
    Client::open("https://broker.example").unwrap().ping().unwrap();

    set("FENCEHOLD_AUTH_TOKEN_FILE", &file("token", "from-a-file"));
    Client::open(&plain.url()).unwrap().ping().unwrap();
    assert_eq!(plain.seen().last().unwrap().headers["authorization"], "Bearer from-a-file");
    set("FENCEHOLD_AUTH_TOKEN", "from-the-environment");
    Client::open(&plain.url()).unwrap().ping().unwrap();
    assert_eq!(plain.seen().last().unwrap().headers["authorization"], "Bearer from-the-environment");
    let options = fencehold::ClientOptions::new().auth_token("from-the-program");
    Client::open_with(&plain.url(), options).unwrap().ping().unwrap();
    assert_eq!(plain.seen().last().unwrap().headers["authorization"], "Bearer from-the-program");

    set("FENCEHOLD_URL", &plain.url());
    assert_eq!(Client::from_env().unwrap().store(), plain.url());
}
