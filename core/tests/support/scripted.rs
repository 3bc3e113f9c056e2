//! An HTTP server that misbehaves as it is told: it answers late, twice, never, half or wrongly.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
    /// The how-manyth connection it came on.
    pub(crate) connection: usize,
    /// The how-manyth request it is.
    pub(crate) number: usize,
    pub(crate) at: Instant,
}

impl Seen {
    /// The one operation of a call, or null.
    pub(crate) fn operation(&self) -> Value {
        self.body["operations"][0].clone()
    }

    pub(crate) fn op(&self) -> String {
        self.operation()["op"].as_str().unwrap_or_default().to_string()
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    pub(crate) fn text(status: u16, kind: &str, body: &str) -> Self {
        Self { status, headers: vec![("Content-Type".into(), kind.into())], body: body.as_bytes().to_vec() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes = format!("{head}\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(crate) enum Then {
    Answer(Reply),
    /// The same answer twice, one after the other.
    Twice(Reply),
    /// The answer after a while, unless the client has hung up by then.
    Late(Duration, Reply),
    /// The answer, and the connection closes though it did not say so.
    AnswerAndClose(Reply),
    /// The first bytes of the answer, then the end.
    Half(Reply),
    /// The connection ends without an answer.
    Close,
    /// Nothing, for as long as the client waits.
    Silence,
    /// A body that goes on and on.
    Endless,
}

type Script = dyn Fn(&Seen) -> Then + Send + Sync;

struct Shared {
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
    numbers: AtomicUsize,
    connections: AtomicUsize,
    open: Mutex<HashMap<usize, TcpStream>>,
    stopped: AtomicBool,
}

/// A connection, with TLS or without.
enum Line {
    Plain(TcpStream),
    Tls(Box<RefCell<rustls::StreamOwned<rustls::ServerConnection, TcpStream>>>),
}

impl Read for &Line {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Line::Plain(stream) => (&*stream).read(buffer),
            Line::Tls(stream) => stream.borrow_mut().read(buffer),
        }
    }
}

impl Write for &Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Line::Plain(stream) => (&*stream).write(bytes),
            Line::Tls(stream) => stream.borrow_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Line::Plain(_) => Ok(()),
            Line::Tls(stream) => stream.borrow_mut().flush(),
        }
    }
}

/// The server. It ends with this value.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<std::thread::JoinHandle<()>>,
}

impl Scripted {
    /// Starts one on a free port of this machine.
    pub(crate) fn start(script: impl Fn(&Seen) -> Then + Send + Sync + 'static) -> Self {
        Self::listen("127.0.0.1:0", script)
    }

    pub(crate) fn listen(at: &str, script: impl Fn(&Seen) -> Then + Send + Sync + 'static) -> Self {
        Self::listen_with(at, None, script)
    }

    pub(crate) fn listen_with(
        at: &str,
        tls: Option<Arc<rustls::ServerConfig>>,
        script: impl Fn(&Seen) -> Then + Send + Sync + 'static,
    ) -> Self {
        let listener = listener(at);
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            seen: Mutex::default(),
            numbers: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            open: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let mine = shared.clone();
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if mine.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let number = mine.connections.fetch_add(1, Ordering::SeqCst);
                mine.open.lock().unwrap().insert(number, stream.try_clone().unwrap());
                let (shared, tls) = (mine.clone(), tls.clone());
                std::thread::spawn(move || {
                    stream.set_nodelay(true).unwrap();
                    let other = stream.try_clone().unwrap();
                    let line = match tls {
                        None => Line::Plain(stream),
                        Some(config) => {
                            let session = rustls::ServerConnection::new(config).unwrap();
                            Line::Tls(Box::new(RefCell::new(rustls::StreamOwned::new(session, stream))))
                        }
                    };
                    serve(&shared, &line, number);
                    let _ = other.shutdown(std::net::Shutdown::Both);
                    shared.open.lock().unwrap().remove(&number);
                });
            }
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The operations so far: `acquire`, `renew`, …
    pub(crate) fn ops(&self) -> Vec<String> {
        self.seen().iter().map(Seen::op).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.lock().unwrap().len()
    }

    /// Ends every connection, whatever it is doing.
    pub(crate) fn cut(&self) {
        for stream in self.shared.open.lock().unwrap().values() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Stops listening and ends every connection; answers the address, to start anew there.
    pub(crate) fn stop(self) -> SocketAddr {
        self.address
    }
}

/// A restarted server finds its port still in use for a moment.
fn listener(at: &str) -> TcpListener {
    let began = Instant::now();
    loop {
        match TcpListener::bind(at) {
            Ok(listener) => return listener,
            Err(error) if began.elapsed() > Duration::from_secs(20) => panic!("{at}: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // The accepting thread wakes and closes the port.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        self.cut();
    }
}

fn serve(shared: &Shared, line: &Line, connection: usize) {
    let mut reader = BufReader::new(line);
    let mut writer = line;
    while let Some((method, path, headers, body)) = request(&mut reader) {
        let number = shared.numbers.fetch_add(1, Ordering::SeqCst);
        let seen = Seen { method, path, headers, body, connection, number, at: Instant::now() };
        shared.seen.lock().unwrap().push(seen.clone());
        let written = match (shared.script)(&seen) {
            Then::Answer(reply) => writer.write_all(&reply.bytes()),
            Then::Twice(reply) => writer.write_all(&[reply.bytes(), reply.bytes()].concat()),
            Then::Late(after, reply) => {
                std::thread::sleep(after);
                writer.write_all(&reply.bytes())
            }
            Then::AnswerAndClose(reply) => {
                let _ = writer.write_all(&reply.bytes());
                return;
            }
            Then::Half(reply) => {
                let bytes = reply.bytes();
                let _ = writer.write_all(&bytes[..bytes.len() - reply.body.len() / 2 - 1]);
                return;
            }
            Then::Close => return,
            Then::Silence => {
                let _ = reader.read(&mut [0]);
                return;
            }
            Then::Endless => endless(writer),
        };
        if written.and_then(|()| writer.flush()).is_err() {
            return;
        }
    }
}

fn endless(mut writer: &Line) -> std::io::Result<()> {
    writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 0x10_0000], b"\r\n".to_vec()].concat();
    loop {
        writer.write_all(&chunk)?;
    }
}

type Request = (String, String, HashMap<String, String>, Value);

fn request(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((method, path, headers, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}
