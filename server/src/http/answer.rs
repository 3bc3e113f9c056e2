//! Answers and refusals as responses.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use fencehold::internal::operations::Refused;
use fencehold::{Error, Kind};
use serde_json::{Value, json};

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A plain answer.
pub(crate) fn text(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// The same answer with the time after which the call may be sent again.
pub(crate) fn retry_after(mut response: Response, seconds: u64) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Which family of routes is answering: its refusals have its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Locks,
    Kv,
}

/// A refusal of what was asked.
pub(crate) fn refusal(family: Family, refused: &Refused) -> Response {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
    let error = match (status, family) {
        (StatusCode::PAYLOAD_TOO_LARGE, _) => "payload_too_large",
        (_, Family::Locks) => "locks_bad_request",
        (_, Family::Kv) => "kv_bad_request",
    };
    json(status, &json!({"error": error, "reason": refused.reason, "detail": refused.detail}))
}

/// A failure of the store.
pub(crate) fn failure(error: &Error) -> Response {
    match (error.kind(), error.reason()) {
        (Kind::RateLimited, _) => {
            let body = json!({"error": error.detail(), "code": "overloaded", "reason": "overloaded"});
            retry_after(json(StatusCode::TOO_MANY_REQUESTS, &body), 1)
        }
        (Kind::Store, "storage_full") => {
            let body = json!({"error": error.detail(), "code": "storage_full", "reason": "storage_full"});
            json(StatusCode::INSUFFICIENT_STORAGE, &body)
        }
        (Kind::Unreachable, reason) => {
            let body = json!({"error": "kv_unavailable", "reason": reason, "detail": error.detail()});
            retry_after(json(StatusCode::SERVICE_UNAVAILABLE, &body), 1)
        }
        (_, reason) => {
            let body = json!({"error": "kv_error", "reason": reason, "detail": error.detail()});
            json(StatusCode::INTERNAL_SERVER_ERROR, &body)
        }
    }
}
