//! One session with an ensemble, used by one thread at a time.
//!
//! The ensemble ends a session, and removes its nodes, when it has heard nothing for the session's
//! timeout. It counts from what it received, so a holder counts from when it sent the last request
//! that was answered, and stops first.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use super::failure::{Failure, SESSION_EXPIRED, SESSION_MOVED};
use super::place::Ensemble;
use super::wire::{AUTH, Event, MAX_PACKET, Op, PING, Reader, Stat, WATCH, Writer};
use crate::clock::{Moment, boot_now};
use crate::process;

/// How long one server is tried before the next one.
const CONNECT: Duration = Duration::from_secs(2);

/// A reply, without its header.
pub(super) struct Reply(Vec<u8>);

impl Reply {
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.0)
    }
}

struct Connection {
    stream: TcpStream,
    server: String,
    /// What was received and not read yet.
    received: Vec<u8>,
}

/// A session.
pub(super) struct Session {
    ensemble: Arc<Ensemble>,
    connection: Option<Connection>,
    /// 0: the ensemble was not asked yet.
    id: i64,
    password: Vec<u8>,
    asked: Duration,
    next_server: usize,
    next_number: i32,
    last_zxid: i64,
    expired: bool,
    /// When the last request was sent that the ensemble answered.
    heard: Moment,
    events: VecDeque<Event>,
}

impl Session {
    /// A session that ends `timeout` after the ensemble last heard of it. Nothing is sent yet.
    pub(super) fn new(ensemble: &Arc<Ensemble>, timeout: Duration) -> Self {
        Self {
            ensemble: ensemble.clone(),
            connection: None,
            id: 0,
            password: vec![0; 16],
            asked: timeout,
            next_server: process::random_u64() as usize,
            next_number: 1,
            last_zxid: 0,
            expired: false,
            heard: Moment::default(),
            events: VecDeque::new(),
        }
    }

    /// When the last request was sent that the ensemble answered.
    pub(super) fn heard(&self) -> Moment {
        self.heard
    }

    pub(super) fn timeout(&self) -> Duration {
        self.asked
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call(&mut self, op: Op, body: Writer, until: Moment) -> Result<Reply, Failure> {
        self.connect(until)?;
        let number = self.next_number;
        self.next_number = self.next_number.checked_add(1).unwrap_or(1);
        let mut packet = Writer::default().int(number).int(op as i32).packet();
        let body = body.packet();
        // One packet of both: the header's length counts the body too.
        packet.extend_from_slice(&body[4..]);
        let length = i32::try_from(packet.len() - 4).unwrap_or(i32::MAX);
        packet[..4].copy_from_slice(&length.to_be_bytes());
        self.exchange(&packet, number, until)
    }

    /// A request that changes nothing: it is sent again over a new connection when the old one ends.
    fn ask(&mut self, op: Op, body: impl Fn() -> Writer, until: Moment) -> Result<Reply, Failure> {
        for _ in 0..2 {
            match self.call(op, body(), until) {
                Err(Failure::Unanswered(_)) if boot_now() < until => {}
                answer => return answer,
            }
        }
        self.call(op, body(), until)
    }

    /// Tells the ensemble that we are here.
    pub(super) fn ping(&mut self, until: Moment) -> Result<(), Failure> {
        self.connect(until)?;
        let packet = Writer::default().int(PING).int(Op::Ping as i32).packet();
        self.exchange(&packet, PING, until).map(drop)
    }

    fn exchange(&mut self, packet: &[u8], number: i32, until: Moment) -> Result<Reply, Failure> {
        let sent = boot_now();
        self.send(packet, until)?;
        loop {
            let Some(packet) = self.receive(until)? else {
                let server = self.drop_connection();
                return Err(Failure::Unanswered(format!("{server} did not answer in time")));
            };
            if let Some((from, reply)) = self.sort(&packet)?
                && from == number
            {
                self.heard = sent;
                return Ok(reply);
            }
        }
    }

    /// Reads a packet's header; notices of watches go to the queue.
    fn sort(&mut self, packet: &[u8]) -> Result<Option<(i32, Reply)>, Failure> {
        let mut reader = Reader::new(packet);
        let (number, zxid, code) = (reader.int()?, reader.long()?, reader.int()?);
        if zxid > 0 {
            self.last_zxid = self.last_zxid.max(zxid);
        }
        if number == WATCH {
            self.events.push_back(Event::read(&mut reader)?);
            return Ok(None);
        }
        match code {
            0 => Ok(Some((number, Reply(packet[16..].to_vec())))),
            SESSION_EXPIRED => {
                self.expire();
                Err(Failure::Expired)
            }
            SESSION_MOVED => {
                let server = self.drop_connection();
                Err(Failure::Unanswered(format!("{server}: the session is at another server now")))
            }
            code => Err(Failure::Refused(code)),
        }
    }

    /// Waits for the notice of a watch, at most until `until`, keeping the session alive. `None`: none
    /// came.
    pub(super) fn wait(&mut self, until: Moment) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let now = boot_now();
            if now >= until {
                return Ok(None);
            }
            let due = self.heard.after(self.asked / 3);
            if now >= due {
                self.ping(now.after(self.asked / 3))?;
                continue;
            }
            if self.connection.is_none() {
                // Watches ended with the connection: whoever waits has to look again.
                return Err(Failure::Unanswered("the connection ended".into()));
            }
            if let Some(packet) = self.receive(until.min(due))? {
                self.sort(&packet)?;
            }
        }
    }

    /// Ends the session, and with it all of its nodes, as far as that can be done at once.
    pub(super) fn close(mut self) {
        if self.connection.is_some() && !self.expired {
            let packet = Writer::default().int(self.next_number).int(Op::Close as i32).packet();
            let _ = self.send(&packet, boot_now().after(Duration::from_millis(200)));
        }
    }

    fn expire(&mut self) {
        self.expired = true;
        self.connection = None;
        self.events.clear();
    }

    fn drop_connection(&mut self) -> String {
        self.events.clear();
        self.connection.take().map_or_else(String::new, |connection| connection.server)
    }

    /// Connects where that is not done, to one server after the other, and goes on with the session.
    fn connect(&mut self, until: Moment) -> Result<(), Failure> {
        if self.expired {
            return Err(Failure::Expired);
        }
        if self.connection.is_some() {
            return Ok(());
        }
        let mut last = Failure::Unreachable("no time was left".into());
        let count = self.ensemble.servers.len();
        // Twice around: a server may be starting, or not have a leader yet.
        for round in 0..count * 2 {
            let left = until.since(boot_now());
            if left.is_zero() {
                break;
            }
            if round == count {
                std::thread::sleep(left.min(Duration::from_millis(100)));
            }
            let server = self.ensemble.servers[self.next_server % count].clone();
            self.next_server = self.next_server.wrapping_add(1);
            match self.connect_to(&server, boot_now().after(left.min(CONNECT))) {
                Ok(()) => return Ok(()),
                Err(
                    failure @ (Failure::Expired | Failure::TooLong { .. } | Failure::Refused(_) | Failure::BadFile(_)),
                ) => {
                    self.connection = None;
                    return Err(failure);
                }
                // Nothing but the greeting was sent.
                Err(Failure::Unanswered(why)) => last = Failure::Unreachable(why),
                Err(failure) => last = failure,
            }
            self.connection = None;
        }
        Err(last)
    }

    fn connect_to(&mut self, server: &str, until: Moment) -> Result<(), Failure> {
        let stream = open(server, until).map_err(|error| Failure::not_sent(server, &error))?;
        self.connection = Some(Connection { stream, server: server.to_string(), received: Vec::new() });
        self.events.clear();
        let millis = i32::try_from(self.asked.as_millis()).unwrap_or(i32::MAX);
        let greeting = Writer::default().int(0).long(self.last_zxid).int(millis).long(self.id).bytes(&self.password);
        let sent = boot_now();
        self.send(&greeting.bool(false).packet(), until)?;
        let Some(packet) = self.receive(until)? else {
            return Err(Failure::Unreachable(format!("{server} did not greet in time")));
        };
        let mut reader = Reader::new(&packet);
        let (_version, granted, id, password) =
            (reader.int()?, reader.int()?, reader.long()?, reader.bytes()?.to_vec());
        if granted <= 0 {
            self.expire();
            return Err(Failure::Expired);
        }
        let granted = Duration::from_millis(u64::from(granted.unsigned_abs()));
        if granted < self.asked {
            return Err(Failure::TooLong { most_millis: u64::try_from(granted.as_millis()).unwrap_or(u64::MAX) });
        }
        (self.id, self.password, self.heard) = (id, password, sent);
        if let Some(login) = self.ensemble.login()? {
            let request = Writer::default().int(AUTH).int(Op::Auth as i32).int(0).text("digest").text(login.reveal());
            let packet = request.packet();
            self.exchange(&packet, AUTH, until)?;
        }
        Ok(())
    }

    fn send(&mut self, packet: &[u8], until: Moment) -> Result<(), Failure> {
        let Some(connection) = &mut self.connection else {
            return Err(Failure::Unreachable("there is no connection".into()));
        };
        let left = until.since(boot_now()).max(Duration::from_millis(1));
        let sent = connection.stream.set_write_timeout(Some(left)).and_then(|()| connection.stream.write_all(packet));
        if let Err(error) = sent {
            // Some of it may have arrived.
            let server = self.drop_connection();
            return Err(Failure::Unanswered(format!("{server}: {error}")));
        }
        Ok(())
    }

    /// The next packet, or nothing until `until`.
    fn receive(&mut self, until: Moment) -> Result<Option<Vec<u8>>, Failure> {
        let Some(connection) = &mut self.connection else {
            return Err(Failure::Unanswered("the connection ended".into()));
        };
        loop {
            match connection.next_packet() {
                Ok(Some(packet)) => return Ok(Some(packet)),
                Ok(None) => {}
                Err(failure) => {
                    self.drop_connection();
                    return Err(failure);
                }
            }
            let left = until.since(boot_now());
            if left.is_zero() {
                return Ok(None);
            }
            // A timeout of zero would mean none.
            let _ = connection.stream.set_read_timeout(Some(left.max(Duration::from_micros(100))));
            let mut buffer = [0; 16 * 1024];
            let error = match connection.stream.read(&mut buffer) {
                Ok(0) => "it closed the connection".to_string(),
                Ok(count) => {
                    connection.received.extend_from_slice(&buffer[..count]);
                    continue;
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => continue,
                    _ => error.to_string(),
                },
            };
            let server = self.drop_connection();
            return Err(Failure::Unanswered(format!("{server}: {error}")));
        }
    }

    // --- what the recipes are made of

    /// Makes a node that ends with the session and gets a number appended; answers its path.
    pub(super) fn create_sequential(
        &mut self,
        path: &str,
        data: &[u8],
        until: Moment,
    ) -> Result<(String, Stat), Failure> {
        const EPHEMERAL_SEQUENTIAL: i32 = 3;
        self.create(path, data, EPHEMERAL_SEQUENTIAL, until)
    }

    /// Makes a node that ends with the session.
    pub(super) fn create_ephemeral(
        &mut self,
        path: &str,
        data: &[u8],
        until: Moment,
    ) -> Result<(String, Stat), Failure> {
        self.create(path, data, 1, until)
    }

    fn create(&mut self, path: &str, data: &[u8], flags: i32, until: Moment) -> Result<(String, Stat), Failure> {
        let body = Writer::default().text(path).bytes(data).rights(self.rights()).int(flags);
        let reply = self.call(Op::Create2, body, until)?;
        let mut reader = reply.reader();
        Ok((reader.text()?, reader.stat()?))
    }

    /// Makes a node that stays, and those above it, where they are not there.
    pub(super) fn ensure(&mut self, path: &str, data: &[u8], until: Moment) -> Result<(), Failure> {
        use super::failure::{NO_NODE, NODE_EXISTS};
        let body = Writer::default().text(path).bytes(data).rights(self.rights()).int(0);
        match self.call(Op::Create, body, until) {
            Ok(_) | Err(Failure::Refused(NODE_EXISTS)) => Ok(()),
            Err(Failure::Refused(NO_NODE)) => {
                let parent = path.rfind('/').map_or("", |at| &path[..at]);
                if parent.is_empty() {
                    return Err(Failure::Refused(NO_NODE));
                }
                self.ensure(parent, &[], until)?;
                self.ensure(path, data, until)
            }
            Err(failure) => Err(failure),
        }
    }

    fn rights(&self) -> (&'static str, &'static str) {
        if self.ensemble.has_login() { ("auth", "") } else { ("world", "anyone") }
    }

    /// Removes a node if it has this version (-1: any).
    pub(super) fn delete(&mut self, path: &str, version: i32, until: Moment) -> Result<(), Failure> {
        self.call(Op::Delete, Writer::default().text(path).int(version), until).map(drop)
    }

    /// Looks whether a node is there; with `watch`, its next change is told.
    pub(super) fn exists(&mut self, path: &str, watch: bool, until: Moment) -> Result<Option<Stat>, Failure> {
        match self.ask(Op::Exists, || Writer::default().text(path).bool(watch), until) {
            Ok(reply) => Ok(Some(reply.reader().stat()?)),
            Err(Failure::Refused(super::failure::NO_NODE)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The names of a node's children; with `watch`, the next change of them is told. `None`: there is
    /// no such node.
    pub(super) fn children(&mut self, path: &str, watch: bool, until: Moment) -> Result<Option<Vec<String>>, Failure> {
        match self.ask(Op::GetChildren2, || Writer::default().text(path).bool(watch), until) {
            Ok(reply) => Ok(Some(reply.reader().texts()?)),
            Err(Failure::Refused(super::failure::NO_NODE)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// A node's data. `None`: there is no such node.
    pub(super) fn data(&mut self, path: &str, until: Moment) -> Result<Option<(Vec<u8>, Stat)>, Failure> {
        match self.ask(Op::GetData, || Writer::default().text(path).bool(false), until) {
            Ok(reply) => {
                let mut reader = reply.reader();
                Ok(Some((reader.bytes()?.to_vec(), reader.stat()?)))
            }
            Err(Failure::Refused(super::failure::NO_NODE)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

impl Connection {
    /// The next whole packet of what was received.
    fn next_packet(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some((length, rest)) = self.received.split_at_checked(4) else { return Ok(None) };
        let mut number = [0; 4];
        number.copy_from_slice(length);
        let length = usize::try_from(i32::from_be_bytes(number)).unwrap_or(usize::MAX);
        if length > MAX_PACKET {
            return Err(Failure::BadAnswer("a packet is longer than packets are"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let packet = rest[..length].to_vec();
        self.received.drain(..4 + length);
        Ok(Some(packet))
    }
}

/// Opens a connection to `host:port`, trying each of its addresses.
fn open(server: &str, until: Moment) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let addresses: Vec<_> = server.to_socket_addrs()?.collect();
    for (at, address) in addresses.iter().enumerate() {
        let left = until.since(boot_now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // What does not answer must not use up the time of those after it.
        let share = left / u32::try_from(addresses.len() - at).unwrap_or(1);
        match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
