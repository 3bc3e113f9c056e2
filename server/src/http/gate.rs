//! What every request has to pass before a route sees it: a web page elsewhere, open in somebody's
//! browser, must not be able to drive a server that listens on that machine.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;

use super::App;
use super::answer::json as json_answer;
use crate::auth::{Denied, level_of};

pub(super) async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if let Err(refusal) = check_host(&app, request.headers()) {
        return refusal;
    }
    let level = level_of(request.method(), request.uri().path());
    if let Err(denied) = app.keeper.check(request.headers(), level) {
        return refuse(denied);
    }
    if request.uri().path().starts_with("/api/") && !has_json(&request) {
        let body = json!({
            "error": "Unsupported Media Type",
            "code": "unsupported_media_type",
            "reason": "unsupported_media_type",
            "detail": "a body needs the header Content-Type: application/json",
        });
        return json_answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, &body);
    }
    next.run(request).await
}

fn refuse(denied: Denied) -> Response {
    match denied {
        Denied::Forbidden => json_answer(StatusCode::FORBIDDEN, &json!({"error": "Insufficient permissions"})),
        Denied::Unknown(why) => {
            let mut response = json_answer(StatusCode::UNAUTHORIZED, &json!({"error": why}));
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    }
}

/// Whether the request has no body, or one that is said to be JSON.
fn has_json(request: &Request) -> bool {
    if request.method() == Method::GET || request.body().size_hint().exact() == Some(0) {
        return true;
    }
    let Some(kind) = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn forbidden(detail: &str) -> Response {
    let body = json!({"error": "Forbidden", "code": "foreign_origin", "reason": "foreign_origin", "detail": detail});
    json_answer(StatusCode::FORBIDDEN, &body)
}

fn check_host(app: &App, headers: &HeaderMap) -> Result<(), Response> {
    let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"));
    let host = text(header::HOST).unwrap_or_default();
    if !app.options.needs_token() && !is_ours(app, host) {
        return Err(forbidden("this server is not known under that name in Host; start it with --allow-host NAME"));
    }
    match text(header::ORIGIN) {
        None => Ok(()),
        Some(origin) => match origin.split_once("://") {
            // A page that this server itself gave out.
            Some((_, place)) if place.eq_ignore_ascii_case(host) && !place.is_empty() => Ok(()),
            _ => Err(forbidden("a page of another site may not use this server")),
        },
    }
}

/// Whether a `Host` is this machine, an address, or a name that was configured. A name that
/// somebody else's DNS answers for is none of these.
fn is_ours(app: &App, host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok()
        || app.options.allow_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(&name))
}
