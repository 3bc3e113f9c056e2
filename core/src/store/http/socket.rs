//! Connections: names, both address families, TCP.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::sync::mpsc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};

use super::flight::{self, SLICE};
use crate::clock::boot_now;

/// How long an address may take before the next one is tried beside it (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);
/// What is gathered before it is sent, so that a request's head and body leave together.
const GATHER: usize = 16 * 1024;
const BUFFER: usize = 16 * 1024;

/// Looks up nothing: a name is looked up when a connection is made, not for each request.
#[derive(Debug)]
pub(in crate::store) struct Later;

impl Resolver for Later {
    fn resolve(&self, _: &Uri, _: &ureq::config::Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::from(([0, 0, 0, 0], 0)));
        Ok(addresses)
    }
}

/// Makes TCP connections.
#[derive(Debug)]
pub(in crate::store) struct Tcp;

impl<In: Transport> Connector<In> for Tcp {
    type Out = Either<In, TcpTransport>;

    fn connect(&self, details: &ConnectionDetails, tunnel: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        if let Some(tunnel) = tunnel {
            return Ok(Some(Either::A(tunnel)));
        }
        flight::connecting();
        let host = details.uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = details.uri.port_u16().unwrap_or(if details.needs_tls() { 443 } else { 80 });
        let stream = connect(&addresses(host, port)?)?;
        Ok(Some(Either::B(TcpTransport { stream, gathered: Vec::new(), buffers: LazyBuffers::new(BUFFER, BUFFER) })))
    }
}

/// The addresses of `host`, the two families taking turns.
pub(in crate::store) fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let found = look_up(host.to_string(), port)?;
    let first = found.first().map(SocketAddr::is_ipv6);
    let (like_first, other): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| Some(found.is_ipv6()) == first);
    let mut other = other.into_iter();
    let mut sorted = Vec::new();
    for address in like_first {
        sorted.push(address);
        sorted.extend(other.next());
    }
    sorted.extend(other);
    if sorted.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("the host {host} has no address")));
    }
    Ok(sorted)
}

/// Asks the system for a name's addresses, on a thread of its own since that may take its time.
fn look_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let (answer, answers) = mpsc::sync_channel(1);
    let name = host.clone();
    let resolve = move || {
        let found = (&*name, port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let _ = answer.send(found);
    };
    std::thread::Builder::new().name("fencehold-name".into()).spawn(resolve)?;
    loop {
        let left = flight::check()?;
        match answers.recv_timeout(left.min(SLICE)) {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => {
                return Err(io::Error::new(io::ErrorKind::NotFound, format!("no address for {host}: {error}")));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(io::Error::other("the name was not looked up")),
        }
    }
}

/// Connects to whichever address answers first; each has a head start on the next.
pub(in crate::store) fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut waiting = addresses.iter();
    let mut racing: Vec<Socket> = Vec::new();
    let mut start_next = boot_now();
    let mut failure = None;
    loop {
        if boot_now() >= start_next || racing.is_empty() {
            match waiting.next() {
                Some(address) => {
                    start_next = boot_now().after(HEAD_START);
                    match start(address) {
                        Ok(socket) => racing.push(socket),
                        Err(error) => {
                            start_next = boot_now();
                            failure = Some(error);
                        }
                    }
                    continue;
                }
                None if racing.is_empty() => {
                    return Err(failure.unwrap_or_else(|| io::Error::other("there is no address to connect to")));
                }
                None => start_next = crate::clock::Moment::NEVER,
            }
        }
        let polled: Vec<_> = racing.iter().map(|socket| (socket.as_raw_fd(), libc::POLLOUT)).collect();
        let ready = flight::ready(&polled, start_next.since(boot_now()))?;
        for (at, _) in ready.iter().enumerate().filter(|(_, ready)| **ready).rev() {
            let socket = racing.swap_remove(at);
            match socket.take_error() {
                Ok(None) => return Ok(socket.into()),
                Ok(Some(error)) | Err(error) => {
                    failure = Some(error);
                    start_next = boot_now();
                }
            }
        }
    }
}

fn start(address: &SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    // A peer that is gone without a word is noticed between two uses as well.
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(Duration::from_secs(30)))?;
    match socket.connect(&(*address).into()) {
        Ok(()) => Ok(socket),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// One TCP connection. It never blocks other than in [`flight::ready`].
#[derive(Debug)]
pub(in crate::store) struct TcpTransport {
    stream: TcpStream,
    gathered: Vec<u8>,
    buffers: LazyBuffers,
}

impl TcpTransport {
    fn send_gathered(&mut self) -> io::Result<()> {
        let mut rest = &self.gathered[..];
        while !rest.is_empty() {
            flight::check()?;
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    flight::sending();
                    rest = &rest[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    flight::ready(&[(self.stream.as_raw_fd(), libc::POLLOUT)], Duration::MAX)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.gathered.clear();
        Ok(())
    }
}

impl Transport for TcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        self.gathered.extend_from_slice(&self.buffers.output()[..amount]);
        if self.gathered.len() >= GATHER {
            self.send_gathered()?;
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        self.send_gathered()?;
        loop {
            flight::check()?;
            match self.stream.read(self.buffers.input_append_buf()) {
                Ok(count) => {
                    if count > 0 {
                        flight::received();
                    }
                    self.buffers.input_appended(count);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    flight::ready(&[(self.stream.as_raw_fd(), libc::POLLIN)], Duration::MAX)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Idle and open: nothing to read, not even the end.
    fn is_open(&mut self) -> bool {
        self.gathered.is_empty()
            && matches!(self.stream.peek(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::clock::Moment;

    fn connected_to(addresses: &[SocketAddr]) -> io::Result<SocketAddr> {
        let until = boot_now().after(Duration::from_secs(20));
        let (stream, _) = flight::fly(until, Moment::NEVER, || connect(addresses));
        stream?.peer_addr()
    }

    /// An address where nobody listens.
    fn refusing(host: &str) -> SocketAddr {
        TcpListener::bind((host, 0)).unwrap().local_addr().unwrap()
    }

    #[test]
    fn whichever_address_answers_is_used_in_either_order() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let good = listener.local_addr().unwrap();
        // Reserved for documentation: packets to it go nowhere.
        let silent = SocketAddr::from(([192, 0, 2, 1], 9));
        let refusing = refusing("127.0.0.21");
        for addresses in
            [vec![good], vec![good, silent], vec![silent, good], vec![refusing, good], vec![refusing, silent, good]]
        {
            let began = boot_now();
            assert_eq!(connected_to(&addresses).unwrap(), good, "{addresses:?}");
            assert!(boot_now().since(began) < Duration::from_secs(10), "the others were not waited for");
        }
        assert_eq!(connected_to(&[refusing]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn names_and_addresses_are_looked_up() {
        let look_up = |host: &str| {
            let until = boot_now().after(Duration::from_secs(20));
            flight::fly(until, Moment::NEVER, || addresses(host, 7)).0
        };
        assert_eq!(look_up("::1").unwrap(), [SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 7))]);
        let local = look_up("localhost").unwrap();
        assert!(local.iter().all(|address| address.ip().is_loopback() && address.port() == 7), "{local:?}");
        let error = look_up("nowhere.invalid").unwrap_err();
        assert!(error.to_string().contains("nowhere.invalid"), "{error}");
    }

    #[test]
    fn a_connection_that_is_not_made_in_time_is_given_up() {
        let silent = SocketAddr::from(([192, 0, 2, 1], 9));
        let until = boot_now().after(Duration::from_millis(200));
        let (answer, trace) = flight::fly(until, Moment::NEVER, || connect(&[silent]));
        assert!(answer.is_err());
        assert!(!trace.sent);
    }
}
