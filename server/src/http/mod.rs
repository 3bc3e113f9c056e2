//! The routes.

#![allow(clippy::result_large_err, reason = "a refusal is a response, which is large, and is made once a call")]

mod answer;
mod gate;
mod kv;
mod limits;
mod locks;
mod page;
mod queues;
mod timers;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, delete, get, post};
use serde_json::json;
use tokio::sync::watch;
use tower_http::limit::RequestBodyLimitLayer;

use self::answer::json as json_answer;
use self::limits::Limits;
use crate::auth::Keeper;
use crate::metrics::{Gauges, Metrics};
use crate::options::Options;
use crate::queues::Bells;
use crate::store::Store;

/// The longest body.
const MAX_BODY_BYTES: usize = 64 << 20;

/// What every handler works with.
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) options: Options,
    /// Turns true when the server ends.
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) bells: Bells,
    pub(crate) keeper: Arc<Keeper>,
    limits: Limits,
    polls: AtomicU64,
}

pub(crate) type Shared = State<Arc<App>>;

impl App {
    pub(crate) fn new(
        store: Store,
        metrics: Arc<Metrics>,
        options: Options,
        keeper: Arc<Keeper>,
        stopping: watch::Receiver<bool>,
        connections: Arc<AtomicUsize>,
    ) -> Self {
        let bells = store.bells().clone();
        let limits = Limits::new(options.read_rate, options.write_rate, options.max_rows);
        Self { store, metrics, options, stopping, connections, bells, keeper, limits, polls: AtomicU64::new(1) }
    }

    /// A number for a connection that waits.
    fn next_poll(&self) -> u64 {
        self.polls.fetch_add(1, Ordering::Relaxed)
    }

    /// How long a connection may wait, at most.
    fn longest_poll(&self) -> Duration {
        self.options.longest_poll
    }
}

/// Every route of the server.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/assets/{name}", get(page::asset))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/metrics/prometheus", get(metrics))
        .route("/api/v1/locks", post(locks::call))
        .route("/api/v1/kv", post(kv::call))
        .route("/api/v1/kv/{namespace}/{*key}", get(kv::get).put(kv::put).delete(kv::delete))
        .route("/api/v1/resources/kv/namespaces", get(kv::namespaces))
        .route("/api/v1/resources/kv/list", post(kv::list))
        .route("/api/v1/system/kv", get(limits::paused).post(limits::pause))
        .route("/api/v1/transaction", post(transaction::call))
        .route("/api/v1/push", post(queues::push))
        .route("/api/v1/pop", get(queues::pop_any))
        .route("/api/v1/pop/queue/{queue}", get(queues::pop_queue))
        .route("/api/v1/pop/queue/{queue}/partition/{partition}", get(queues::pop_partition))
        .route("/api/v1/ack", post(queues::ack))
        .route("/api/v1/ack/batch", post(queues::ack_batch))
        .route("/api/v1/lease/{lease}/extend", post(queues::extend))
        .route("/api/v1/configure", post(queues::configure))
        .route("/api/v1/resources/queues/{queue}", delete(queues::delete))
        .route("/api/v1/dlq", get(queues::dead_letters))
        .route("/api/v1/fetch", post(queues::fetch))
        .route("/api/v1/timers", post(timers::call))
        .route("/api/v1/timers/{queue}", get(timers::list))
        .route("/api/v1/timers/{queue}/{*key}", get(timers::peek).delete(timers::cancel))
        .route("/api/{*path}", any(no_such_route))
        .fallback(no_such_page)
        .method_not_allowed_fallback(no_such_route)
        .layer(DefaultBodyLimit::disable())
        .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(app.clone(), gate::check))
        .layer(middleware::from_fn_with_state(app.clone(), measure))
        .with_state(app)
}

async fn measure(State(app): Shared, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let response = next.run(request).await;
    app.metrics.answered(response.status().as_u16(), began.elapsed());
    response
}

async fn no_such_route() -> Response {
    json_answer(StatusCode::NOT_FOUND, &json!({"error": "Not Found", "code": "no_such_route"}))
}

async fn no_such_page() -> Response {
    answer::text(StatusCode::NOT_FOUND, "there is no such page\n")
}

async fn health(State(app): Shared) -> Response {
    if *app.stopping.borrow() {
        return json_answer(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "settling", "engine": "fencehold"}));
    }
    let body = json!({
        "status": "healthy",
        "engine": "fencehold",
        "version": fencehold::VERSION,
        "raft": {"clusterVersion": 5},
    });
    json_answer(StatusCode::OK, &body)
}

async fn metrics(State(app): Shared) -> Response {
    let counted = app.store.counts();
    let gauges = Gauges {
        held: counted.locks,
        waiting: counted.tickets,
        polling: counted.polling,
        connections: app.connections.load(Ordering::Relaxed) as u64,
    };
    let mut response = answer::text(StatusCode::OK, app.metrics.text(gauges));
    let kind = axum::http::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(axum::http::header::CONTENT_TYPE, kind);
    response
}
