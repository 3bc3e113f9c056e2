//! A server in the test's own process, and a client that sends what a test says and nothing else.

#![allow(dead_code, reason = "every test file uses its own part")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use fencehold_server::{Options, Server};
use serde_json::{Value, json};

/// A server on a folder of its own.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: Server,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(options(folder.path(), change)).unwrap();
        Self { folder, server }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn connect(&self) -> Peer {
        Peer::new(self.address())
    }

    /// Ends the server in order and starts it again on the same folder.
    pub(crate) fn restart(self) -> Self {
        let Self { folder, server } = self;
        server.stop();
        let server = Server::start(options(folder.path(), |_| {})).unwrap();
        Self { folder, server }
    }
}

pub(crate) fn options(folder: &std::path::Path, change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::new(folder.join("data"));
    options.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    change(&mut options);
    options
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.headers.get("content-type").map(String::as_str), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.text).unwrap()
    }
}

/// One connection.
pub(crate) struct Peer {
    pub(crate) stream: BufReader<TcpStream>,
    /// Sent along with every request.
    pub(crate) headers: Vec<(String, String)>,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        let headers = vec![("host".into(), address.to_string()), ("content-type".into(), "application/json".into())];
        Self { stream: BufReader::new(stream), headers }
    }

    /// The same connection with a header set, or taken away.
    pub(crate) fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self.headers.extend(value.map(|value| (name.to_string(), value.to_string())));
        self
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            if name != "content-type" || !body.is_empty() {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Answer {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        Answer { status, headers, text: String::from_utf8(body).unwrap() }
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, path, body);
        self.receive()
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &body.to_string())
    }

    /// A call that the server may not live to answer.
    pub(crate) fn try_post(&mut self, path: &str, body: &Value) -> Option<Value> {
        let body = body.to_string();
        let mut text = format!("POST {path} HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.stream.get_mut().write_all(text.as_bytes()).ok()?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().ok()?
                }
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        serde_json::from_slice(&body).ok()
    }

    /// A call of the lock route that is taken; its elements.
    pub(crate) fn locks(&mut self, operations: Value) -> Vec<Value> {
        let answer = self.post("/api/v1/locks", &json!({"operations": operations}));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["results"].as_array().unwrap().clone()
    }

    /// One operation of the lock route.
    pub(crate) fn lock(&mut self, operation: Value) -> Value {
        let mut results = self.locks(json!([operation]));
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    pub(crate) fn acquire(&mut self, name: &str, owner: &str) -> Value {
        self.lock(json!({"op": "acquire", "name": name, "owner": owner, "ttlSeconds": 30}))
    }

    pub(crate) fn release(&mut self, grant: &Value) -> Value {
        let (name, slot, token) = (&grant["name"], &grant["slot"], &grant["token"]);
        self.lock(json!({"op": "release", "name": name, "slot": slot, "token": token}))
    }

    /// A call of the key-value route that is taken; its elements.
    pub(crate) fn kv(&mut self, operations: Value) -> Vec<Value> {
        let answer = self.post("/api/v1/kv", &operations);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["results"].as_array().unwrap().clone()
    }
}
