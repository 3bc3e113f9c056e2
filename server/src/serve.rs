//! Starting a server and ending it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::failure::Failure;
use crate::http::{self, App};
use crate::lines;
use crate::metrics::Metrics;
use crate::net::Door;
use crate::options::Options;
use crate::store::{Store, WriterThread, engine};

/// How long connections may take to finish when the server ends.
const GRACE: Duration = Duration::from_secs(5);

/// A server that runs. Dropping it ends it.
pub struct Server {
    address: SocketAddr,
    runtime: Option<Runtime>,
    store: Option<Store>,
    stop: watch::Sender<bool>,
    done: watch::Receiver<bool>,
    writer: Option<WriterThread>,
}

impl Server {
    /// Opens the folder and listens. When this answers, clients are served.
    ///
    /// # Errors
    /// What keeps it from starting: options that make no sense, a folder that is in use, of a newer
    /// format or a host's, an address that is taken.
    pub fn start(options: Options) -> Result<Self, Failure> {
        options.check()?;
        let metrics = Arc::new(Metrics::default());
        let listener = std::net::TcpListener::bind(options.listen)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| Failure::store(format!("cannot listen on {}: {error}", options.listen)))?;
        let address = listener.local_addr().map_err(|error| Failure::store(error.to_string()))?;
        let (store, writer) = Store::open(&options.data, options.durability, metrics.clone())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("fencehold-http")
            .build()
            .map_err(|error| Failure::store(format!("cannot start threads: {error}")))?;
        let (stop, stopping) = watch::channel(false);
        let (finish, done) = watch::channel(false);
        let connections = Arc::new(AtomicUsize::new(0));
        let app = Arc::new(App::new(store.clone(), metrics, options, stopping.clone(), connections.clone()));
        runtime.spawn(async move {
            let served = serve(listener, app, stopping, connections).await;
            if let Err(error) = served {
                eprintln!("fencehold serve: {error}");
            }
            let _ = finish.send(true);
        });
        Ok(Self { address, runtime: Some(runtime), store: Some(store), stop, done, writer: Some(writer) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process is told to end (SIGTERM, SIGINT), then ends in order.
    pub fn run_until_signal(mut self) {
        let Some(runtime) = &self.runtime else { return };
        let mut done = self.done.clone();
        runtime.block_on(async {
            tokio::select! {
                () = signal() => {}
                _ = done.wait_for(|done| *done) => {}
            }
        });
        self.end();
    }

    /// Ends in order: connections that wait are answered, what was asked is finished.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(store) = self.store.take() {
            let _ = store.push(engine::command(0, lines::stop));
        }
        if let Some(runtime) = self.runtime.take() {
            let mut done = self.done.clone();
            runtime.block_on(async {
                let _ = tokio::time::timeout(GRACE, done.wait_for(|done| *done)).await;
            });
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Comes back when the process is told to end.
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

async fn serve(
    listener: std::net::TcpListener,
    app: Arc<App>,
    mut stopping: watch::Receiver<bool>,
    connections: Arc<AtomicUsize>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    axum::serve(Door::new(listener, connections), http::router(app))
        .with_graceful_shutdown(async move {
            let _ = stopping.wait_for(|stopping| *stopping).await;
        })
        .await
}
