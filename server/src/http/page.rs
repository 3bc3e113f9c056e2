//! What a person sees at `/`: the held locks in a browser, and a few lines of text anywhere else.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::answer;

const INDEX: &str = include_str!("../../page/index.html");
const ASSETS: [(&str, &str, &str); 4] = [
    ("page.css", "text/css; charset=utf-8", include_str!("../../page/page.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("../../page/page.js")),
    ("rows.js", "text/javascript; charset=utf-8", include_str!("../../page/rows.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../page/icon.svg")),
];

/// Nothing but the page's own files is loaded, nothing becomes markup by way of a script, and no
/// other page may put it into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The page for a browser, and for others what this is and where to look.
pub(super) async fn index(headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mut response = if accepts.contains("text/html") {
        file("text/html; charset=utf-8", INDEX)
    } else {
        let text = format!(
            "fencehold {}: leases with fencing tokens\n\n\
             /          the held locks, in a browser\n\
             /health    whether it serves\n\
             /metrics   what it counts, for Prometheus\n\
             /api/v1    locks, rows, steps, queues, timers\n",
            fencehold::VERSION
        );
        answer::text(StatusCode::OK, text)
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

/// A file of the page.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(other, _, _)| *other == name) {
        Some((_, kind, text)) => file(kind, text),
        None => answer::text(StatusCode::NOT_FOUND, "there is no such page\n"),
    }
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
