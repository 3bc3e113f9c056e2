//! Connections: counted, without delay, encrypted where asked for, and no more than were allowed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::server::TlsStream;

use crate::tls::Certificates;

/// How long to pause when the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a client may take to agree on a key.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many connections may wait for the server to take them.
const BACKLOG: usize = 1024;
/// What a connection is told that is one too many.
const TOO_MANY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    content-length: 84\r\nconnection: close\r\n\r\n\
    {\"error\":\"too many connections\",\"code\":\"overloaded\",\"reason\":\"too_many_connections\"}";

/// How connections are taken.
pub(crate) struct Terms {
    pub(crate) certificates: Option<Arc<Certificates>>,
    pub(crate) most: Option<usize>,
    pub(crate) open: Arc<AtomicUsize>,
}

/// The door of the server.
pub(crate) struct Door {
    taken: mpsc::Receiver<(Connection, SocketAddr)>,
    address: SocketAddr,
}

impl Door {
    /// Takes connections from now on, in the runtime that this is called in.
    pub(crate) fn open(listener: TcpListener, terms: Terms) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (send, taken) = mpsc::channel(BACKLOG);
        tokio::spawn(accept(listener, terms, send));
        Ok(Self { taken, address })
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        match self.taken.recv().await {
            Some(taken) => taken,
            // The runtime is ending.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn accept(listener: TcpListener, terms: Terms, send: mpsc::Sender<(Connection, SocketAddr)>) {
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // It went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    eprintln!("fencehold serve: no connection can be accepted: {error}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
            () = send.closed() => return,
        };
        // An answer goes out at once, not when the client has confirmed the one before.
        let _ = stream.set_nodelay(true);
        let counted = Counted::new(&terms.open);
        if terms.most.is_some_and(|most| terms.open.load(Ordering::Relaxed) > most) {
            tokio::spawn(turn_away(stream, terms.certificates.is_none(), counted));
            continue;
        }
        let Some(certificates) = &terms.certificates else {
            if send.send((Connection { stream: Stream::Plain(stream), counted }, peer)).await.is_err() {
                return;
            }
            continue;
        };
        let (acceptor, send) = (certificates.acceptor(), send.clone());
        tokio::spawn(async move {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                let _ = send.send((Connection { stream: Stream::Tls(Box::new(stream)), counted }, peer)).await;
            }
        });
    }
}

/// Tells a connection that it is one too many.
async fn turn_away(mut stream: TcpStream, is_plain: bool, counted: Counted) {
    // Those who are turned away do not count for the next.
    drop(counted);
    if !is_plain {
        return;
    }
    let told = async {
        stream.write_all(TOO_MANY).await?;
        stream.shutdown().await?;
        // What the client sent is read, or closing would throw the answer away.
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
}

/// Counts one for as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection that is counted.
pub(crate) struct Connection {
    stream: Stream,
    #[expect(dead_code, reason = "counts for as long as the connection is open")]
    counted: Counted,
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_one_too_many_is_as_long_as_it_says() {
        let text = std::str::from_utf8(TOO_MANY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
    }
}
