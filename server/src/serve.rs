//! Starting a server and ending it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::auth::Keeper;
use crate::failure::Failure;
use crate::http::{self, App};
use crate::lines;
use crate::metrics::Metrics;
use crate::net::{Door, Terms};
use crate::options::Options;
use crate::store::{Store, WriterThread, engine};
use crate::tls::Certificates;

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
    keeper: Arc<Keeper>,
    certificates: Option<Arc<Certificates>>,
}

impl Server {
    /// Opens the folder and listens. When this answers, clients are served.
    ///
    /// # Errors
    /// What keeps it from starting: options that make no sense, a folder that is in use, of a newer
    /// format or a host's, an address that is taken.
    pub fn start(options: Options) -> Result<Self, Failure> {
        options.check()?;
        allow_connections();
        let connections = Arc::new(AtomicUsize::new(0));
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
        let keeper = Arc::new(Keeper::open(&options.auth)?);
        let certificates = options.tls.as_ref().map(Certificates::open).transpose()?.map(Arc::new);
        let terms =
            Terms { certificates: certificates.clone(), most: options.max_connections, open: connections.clone() };
        let (stop, stopping) = watch::channel(false);
        let (finish, done) = watch::channel(false);
        let app = App::new(store.clone(), metrics, options, keeper.clone(), stopping.clone(), connections);
        runtime.spawn(async move {
            let served = serve(listener, Arc::new(app), stopping, terms).await;
            if let Err(error) = served {
                eprintln!("fencehold serve: {error}");
            }
            let _ = finish.send(true);
        });
        Ok(Self {
            address,
            runtime: Some(runtime),
            store: Some(store),
            stop,
            done,
            writer: Some(writer),
            keeper,
            certificates,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads the tokens, the key of signed tokens and the certificate again.
    ///
    /// # Errors
    /// A file that cannot be used; what was read before stays.
    pub fn reload(&self) -> Result<(), Failure> {
        self.keeper.reload()?;
        self.certificates.as_ref().map_or(Ok(()), |certificates| certificates.reload())
    }

    /// Serves until the process is told to end (SIGTERM, SIGINT), then ends in order. SIGHUP reads
    /// tokens and certificates again.
    pub fn run_until_signal(mut self) {
        let Some(runtime) = &self.runtime else { return };
        let mut done = self.done.clone();
        runtime.block_on(async {
            tokio::select! {
                () = signal(&self) => {}
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

/// Lets the process have as many connections as the system allows it: a waiting client is one.
fn allow_connections() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    // With fewer, connections beyond them wait to be accepted.
    let _ = setrlimit(Resource::Nofile, files);
}

/// Comes back when the process is told to end.
async fn signal(server: &Server) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut reload)] = kinds.map(signal) else {
        return std::future::pending().await;
    };
    loop {
        tokio::select! {
            _ = terminate.recv() => return,
            _ = interrupt.recv() => return,
            _ = reload.recv() => match server.reload() {
                Ok(()) => eprintln!("fencehold serve: tokens and certificate were read again"),
                Err(failure) => eprintln!("fencehold serve: what was read before stays: {failure}"),
            },
        }
    }
}

async fn serve(
    listener: std::net::TcpListener,
    app: Arc<App>,
    mut stopping: watch::Receiver<bool>,
    terms: Terms,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    axum::serve(Door::open(listener, terms)?, http::router(app))
        .with_graceful_shutdown(async move {
            let _ = stopping.wait_for(|stopping| *stopping).await;
        })
        .await
}
