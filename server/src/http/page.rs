//! What a person sees at `/`.

use axum::http::StatusCode;
use axum::response::Response;

use super::answer;

/// Says what this is and where to look.
pub(super) async fn index() -> Response {
    let text = format!(
        "fencehold {}: leases with fencing tokens\n\n\
         /health    whether it serves\n\
         /metrics   what it counts, for Prometheus\n\
         /api/v1    locks, rows, steps, queues, timers\n",
        fencehold::VERSION
    );
    answer::text(StatusCode::OK, text)
}
