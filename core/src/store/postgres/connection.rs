//! One connection to a database: encryption, login, statements and their answers.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::failure::Failure;
use super::place::{Host, PostgresUrl};
use super::scram::Scram;
use super::wire::{self, Field, Message};
use crate::client::Access;
use crate::clock::{Moment, boot_now};
use crate::secret::Secret;
use crate::store::http::{flight, socket, tls};
use crate::{Error, Kind, Result, process};

/// How long one server may take while there are others.
const SHARE: Duration = Duration::from_secs(2);

/// What came of one statement.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<Vec<Field>>,
}

impl Answer {
    /// A value as text; empty when there is none.
    pub(super) fn text(&self, row: usize, column: usize) -> &str {
        let field = self.rows.get(row).and_then(|row| row.get(column)).and_then(Option::as_deref);
        field.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    pub(super) fn number(&self, row: usize, column: usize) -> Option<u64> {
        self.text(row, column).parse().ok()
    }
}

/// How databases are reached.
pub(super) struct Reach {
    pub(super) url: PostgresUrl,
    access: Access,
    /// Guards the certificates, which are read before the first connection that needs them.
    tls: Mutex<Option<Arc<ClientConfig>>>,
}

impl Reach {
    pub(super) fn new(url: &PostgresUrl, access: &Access) -> Self {
        Self { url: url.clone(), access: access.clone(), tls: Mutex::default() }
    }

    fn tls(&self) -> Result<Arc<ClientConfig>> {
        let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(config) => Ok(config.clone()),
            None => Ok(known.insert(tls::config(&self.access)?).clone()),
        }
    }

    fn user(&self) -> String {
        let given = self.url.user.clone().or_else(|| self.access.user.clone());
        given.unwrap_or_else(process::user)
    }

    fn password(&self) -> Result<Option<Secret>> {
        if self.url.password.is_some() {
            return Ok(self.url.password.clone());
        }
        if let Some(password) = &self.access.password {
            return Ok(Some(password.clone()));
        }
        let Some(path) = &self.access.password_file else { return Ok(None) };
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n'])))),
            Err(error) => {
                let detail = format!("password_file {}: {error} (auth_bad_file)", path.display());
                Err(Error::invalid("auth_bad_file", detail))
            }
        }
    }

    /// Connects to the first server that takes us and `accepts`.
    pub(super) fn connect(
        &self,
        until: Moment,
        accepts: impl Fn(&mut Connection, Moment) -> Result<(), Failure>,
    ) -> Result<Connection, Failure> {
        let mut failure = Failure::Unreachable("no server was named".into());
        let mut left = self.url.hosts.len() as u32;
        for host in &self.url.hosts {
            let now = boot_now();
            let limit = if left > 1 { until.min(now.after(SHARE.min(until.since(now) / 2))) } else { until };
            left -= 1;
            let made = self.connect_to(host, limit).and_then(|mut connection| {
                accepts(&mut connection, limit)?;
                Ok(connection)
            });
            match made {
                Ok(connection) => return Ok(connection),
                Err(other) if other.is_transient() => failure = other,
                Err(other) => return Err(other),
            }
        }
        // Whatever was sent so far changed nothing.
        Err(match failure {
            Failure::Broken(why) => Failure::Unreachable(why),
            other => other,
        })
    }

    fn connect_to(&self, host: &Host, until: Moment) -> Result<Connection, Failure> {
        let config = if self.url.encrypts(host) { Some(self.tls().map_err(Failure::Error)?) } else { None };
        let name = host.to_string();
        let (stream, trace) = flight::fly(until, Moment::NEVER, || {
            flight::connecting();
            open(host, config)
        });
        let stream = match stream {
            Ok(Some(stream)) => stream,
            Ok(None) => {
                let detail = format!(
                    "{name} does not speak TLS, and nothing was sent in the clear. Switch it on there (ssl = on), or \
                     write sslmode=disable where the network is trusted"
                );
                return Err(Failure::Error(Error::new(Kind::Unsupported, "tls_not_offered", detail)));
            }
            Err(error) => {
                return Err(match Failure::of(&name, &error, &trace) {
                    Failure::Broken(why) => Failure::Unreachable(why),
                    other => other,
                });
            }
        };
        let mut connection = Connection { host: name, stream, received: Vec::new(), is_broken: false };
        connection.log_in(self, host.is_here(), until)?;
        Ok(connection)
    }
}

fn open(host: &Host, config: Option<Arc<ClientConfig>>) -> io::Result<Option<Stream>> {
    let (name, port) = match host {
        Host::Unix { folder, port } => {
            let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")))?;
            stream.set_nonblocking(true)?;
            return Ok(Some(Stream::Unix(Patient(stream))));
        }
        Host::Tcp { host, port } => (host, *port),
    };
    let mut stream = Patient(socket::connect(&socket::addresses(name, port)?)?);
    let Some(config) = config else { return Ok(Some(Stream::Tcp(stream))) };
    stream.write_all(&wire::ask_for_tls())?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer[0] {
        b'S' => {}
        b'N' => return Ok(None),
        _ => return Err(wire::bad("no answer to the question for TLS")),
    }
    let server = ServerName::try_from(name.clone())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is no name for TLS")))?;
    let mut session = ClientConnection::new(config, server).map_err(io::Error::other)?;
    while session.is_handshaking() {
        if let Err(error) = session.complete_io(&mut stream) {
            tls::note_distrust(name, &error);
            return Err(error);
        }
    }
    Ok(Some(Stream::Tls(Box::new(StreamOwned::new(session, stream)))))
}

/// A socket that waits in [`flight::ready`] only.
struct Patient<S>(S);

impl<S: AsRawFd> Patient<S> {
    fn patiently<T>(&mut self, events: libc::c_short, mut step: impl FnMut(&mut S) -> io::Result<T>) -> io::Result<T> {
        loop {
            flight::check()?;
            match step(&mut self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    flight::ready(&[(self.0.as_raw_fd(), events)], Duration::MAX)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

impl<S: Read + AsRawFd> Read for Patient<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patiently(libc::POLLIN, |stream| stream.read(buffer))
    }
}

impl<S: Write + AsRawFd> Write for Patient<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.patiently(libc::POLLOUT, |stream| stream.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Stream {
    Tcp(Patient<TcpStream>),
    Unix(Patient<UnixStream>),
    Tls(Box<StreamOwned<ClientConnection, Patient<TcpStream>>>),
}

impl Stream {
    fn socket(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.0.as_raw_fd(),
            Self::Unix(stream) => stream.0.as_raw_fd(),
            Self::Tls(stream) => stream.sock.0.as_raw_fd(),
        }
    }

    /// Waits until there is something to read; false when there is nothing before `until`.
    fn has_more(&mut self, until: Moment) -> io::Result<bool> {
        if let Self::Tls(stream) = self
            && stream.conn.process_new_packets().map_err(io::Error::other)?.plaintext_bytes_to_read() > 0
        {
            return Ok(true);
        }
        let ready = flight::ready(&[(self.socket(), libc::POLLIN)], until.since(boot_now()))?;
        Ok(ready.iter().any(|ready| *ready))
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

/// A connection that is logged in.
pub(super) struct Connection {
    pub(super) host: String,
    stream: Stream,
    received: Vec<u8>,
    is_broken: bool,
}

impl Connection {
    fn fly<T>(
        &mut self,
        until: Moment,
        body: impl FnOnce(&mut Self) -> io::Result<std::result::Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let (answer, trace) = flight::fly(until, Moment::NEVER, || {
            // Connections of ours are never given up for being silent a while.
            flight::connecting();
            body(self)
        });
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => Err(Failure::of(&self.host, &error, &trace)),
        };
        if let Err(failure) = &answer {
            self.is_broken |= failure.ends_connection();
        }
        answer
    }

    /// The next message but notes about the session.
    fn next(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = wire::take(&mut self.received)? {
                if matches!(message.kind, b'S' | b'N') {
                    continue;
                }
                return Ok(message);
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer)? {
            0 => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed")),
            count => self.received.extend_from_slice(&buffer[..count]),
        }
        Ok(())
    }

    fn log_in(&mut self, reach: &Reach, is_here: bool, until: Moment) -> Result<(), Failure> {
        let user = reach.user();
        let database = reach.url.database.clone().unwrap_or_else(|| user.clone());
        let password = reach.password().map_err(Failure::Error)?;
        let is_overheard = matches!(&self.stream, Stream::Tcp(_)) && !is_here;
        let no_password = || {
            let detail = "the database asks for a password, and none was given: see password, password_file and \
                          FENCEHOLD_PASSWORD";
            Failure::Error(Error::new(Kind::Unauthorized, "unauthorized", detail))
        };
        let refused = |kind: Kind, detail: &'static str| Failure::Error(Error::new(kind, "unauthorized", detail));
        self.fly(until, |connection| {
            connection.stream.write_all(&wire::startup(&user, &database))?;
            let mut random = [0; 18];
            process::random(&mut random);
            let mut scram = Scram::new(&random);
            let mut is_genuine = true;
            loop {
                let message = connection.next()?;
                if message.kind != b'R' {
                    match message.kind {
                        b'E' => {
                            let (code, message) = wire::error(&message.body);
                            return Ok(Err(Failure::Refused { code, message }));
                        }
                        b'Z' if is_genuine => return Ok(Ok(())),
                        b'K' => {}
                        _ => return Err(wire::bad("an answer to the login")),
                    }
                    continue;
                }
                let Some((code, rest)) = message.body.split_first_chunk::<4>() else {
                    return Err(wire::bad("an answer to the login"));
                };
                let text = String::from_utf8_lossy(rest);
                match u32::from_be_bytes(*code) {
                    0 if is_genuine => {}
                    3 => {
                        if is_overheard {
                            let detail = "the database asks for the password in the clear over a network, so it was \
                                          not sent. Use scram-sha-256 there, or TLS";
                            return Ok(Err(refused(Kind::Unauthorized, detail)));
                        }
                        let Some(password) = &password else { return Ok(Err(no_password())) };
                        let body = [password.reveal().as_bytes(), &[0]].concat();
                        connection.stream.write_all(&wire::message(b'p', &body))?;
                    }
                    10 => {
                        if !text.split('\0').any(|name| name == "SCRAM-SHA-256") {
                            let detail = "the database asks for a login that is not known here; scram-sha-256 is";
                            return Ok(Err(refused(Kind::Unsupported, detail)));
                        }
                        if password.is_none() {
                            return Ok(Err(no_password()));
                        }
                        is_genuine = false;
                        let first = scram.first();
                        let size = u32::try_from(first.len()).unwrap_or_default().to_be_bytes();
                        let body = [b"SCRAM-SHA-256\0", &size[..], first.as_bytes()].concat();
                        connection.stream.write_all(&wire::message(b'p', &body))?;
                    }
                    11 => {
                        let secret = password.as_ref().map_or("", Secret::reveal);
                        let answer = scram.answer(secret, &text).map_err(wire::bad)?;
                        connection.stream.write_all(&wire::message(b'p', answer.as_bytes()))?;
                    }
                    12 => {
                        is_genuine = scram.is_genuine(&text);
                        if !is_genuine {
                            let detail = "the server does not know the password that it asked for";
                            return Ok(Err(refused(Kind::Unauthorized, detail)));
                        }
                    }
                    5 => {
                        let detail = "the database asks for an MD5 password, which is not secure. Set \
                                      password_encryption = 'scram-sha-256' there and the password anew";
                        return Ok(Err(refused(Kind::Unsupported, detail)));
                    }
                    _ => {
                        let detail = "the database asks for a login that is not known here; scram-sha-256 is";
                        return Ok(Err(refused(Kind::Unsupported, detail)));
                    }
                }
            }
        })
    }

    /// Does statements, one after the other until one fails; answers what each of them said.
    pub(super) fn ask(&mut self, sql: &str, until: Moment) -> Result<Vec<Answer>, Failure> {
        self.fly(until, |connection| {
            connection.stream.write_all(&wire::query(sql))?;
            let (mut answers, mut answer, mut failure) = (Vec::new(), Answer::default(), None);
            loop {
                let message = connection.next()?;
                match message.kind {
                    b'D' => answer.rows.push(wire::row(&message.body)?),
                    b'C' | b'I' => answers.push(std::mem::take(&mut answer)),
                    b'E' => {
                        let (code, message) = wire::error(&message.body);
                        failure = Some(Failure::Refused { code, message });
                        // After a fatal one nothing more comes.
                        if failure.as_ref().is_some_and(Failure::ends_connection) {
                            return Ok(Err(failure.unwrap_or_else(|| Failure::Broken(String::new()))));
                        }
                    }
                    b'T' | b'A' => {}
                    b'Z' => return Ok(failure.map_or(Ok(answers), Err)),
                    _ => return Err(wire::bad("an answer to a statement")),
                }
            }
        })
    }

    /// Waits for a notification; `None`: there was none.
    pub(super) fn hear(&mut self, until: Moment) -> Result<Option<u32>, Failure> {
        self.fly(boot_now().after(until.since(boot_now()) * 2), |connection| {
            loop {
                while let Some(message) = wire::take(&mut connection.received)? {
                    match message.kind {
                        b'A' => {
                            let word = wire::payload(&message.body).and_then(|text| std::str::from_utf8(text).ok());
                            if let Some(word) = word.and_then(|word| word.parse().ok()) {
                                return Ok(Ok(Some(word)));
                            }
                        }
                        b'E' => {
                            let (code, message) = wire::error(&message.body);
                            return Ok(Err(Failure::Refused { code, message }));
                        }
                        _ => {}
                    }
                }
                if !connection.stream.has_more(until)? {
                    return Ok(Ok(None));
                }
                connection.receive()?;
            }
        })
    }

    /// Idle and open: nothing to read, not even the end.
    pub(super) fn is_open(&self) -> bool {
        let mut byte = 0_u8;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // SAFETY: one byte is there to be written.
        let count = unsafe { libc::recv(self.stream.socket(), (&raw mut byte).cast(), 1, flags) };
        let is_silent = count < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
        !self.is_broken && self.received.is_empty() && is_silent
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Says goodbye, so that the server does not log a client that vanished.
    pub(super) fn close(mut self) {
        if !self.is_broken {
            let until = boot_now().after(Duration::from_millis(100));
            let _ = self.fly(until, |connection| connection.stream.write_all(&wire::message(b'X', b"")).map(Ok));
        }
    }
}
