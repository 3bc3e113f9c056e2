//! What went wrong with a call, and how the caller is told.

use std::time::Duration;

use serde_json::Value;

use super::server::{Fault, Reply, Route, Server};
use crate::{Error, Kind};

/// A call that was not answered with success.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// Something that was sent may have been carried out.
    pub(super) doubt: bool,
    /// It may go well a little later.
    pub(super) transient: bool,
    pub(super) is_cancelled: bool,
    /// The server asks for fewer calls, and maybe says for how long.
    pub(super) limited: Option<Option<Duration>>,
}

impl Failure {
    fn new(error: Error) -> Self {
        Self { error, doubt: false, transient: false, is_cancelled: false, limited: None }
    }

    /// One that no repeat would change.
    pub(super) fn last(error: Error, doubt: bool) -> Self {
        Self::new(error).doubted(doubt)
    }

    pub(super) fn doubted(mut self, doubt: bool) -> Self {
        self.doubt |= doubt;
        self
    }

    pub(super) fn cancelled(failure: Self, doubt: bool) -> Self {
        Self { is_cancelled: true, ..failure.doubted(doubt) }
    }

    /// No answer came.
    pub(super) fn unanswered(fault: &Fault, server: &Server, may_repeat: bool) -> Self {
        let base = &server.named;
        if fault.trace.distrust.is_some() {
            let detail = format!("{base}{} (tls_untrusted)", fault.what);
            return Self::new(Error::invalid("tls_untrusted", detail));
        }
        if fault.too_long {
            let detail = format!("{base}{} (bad_answer)", fault.what);
            return Self { doubt: true, ..Self::new(Error::new(Kind::Unsupported, "bad_answer", detail)) };
        }
        let advice = match (fault.trace.sent, may_repeat) {
            (false, _) => "Nothing was sent",
            (true, true) => "It may be asked again",
            (true, false) => "It is not sent again by itself",
        };
        let error = Error::new(Kind::Unreachable, "unreachable", format!("{base}{}. {advice}", fault.what));
        Self { transient: true, doubt: fault.trace.sent, ..Self::new(error) }
    }

    /// An answer came, and it was no success.
    pub(super) fn refused(reply: &Reply, server: &Server, route: Route) -> Self {
        let base = &server.named;
        let body: Value =
            if reply.is_json { serde_json::from_slice(&reply.body).unwrap_or_default() } else { Value::Null };
        let said = |member: &str| body.get(member).and_then(Value::as_str);
        // Prose of the server is shown, short and harmless; never branched on.
        let prose = said("detail").or_else(|| said("error")).map(shown).filter(|text| !text.is_empty());
        let reason = said("reason").or_else(|| said("code")).filter(|id| is_id(id));
        let status = reply.status;
        let told = |what: &str| match &prose {
            Some(prose) => format!("{base}{what}: {prose}"),
            None => format!("{base}{what} (HTTP {status})"),
        };
        let error = |kind: Kind, otherwise: &'static str, what: &str| {
            let id = reason.map_or(otherwise.into(), |id| std::borrow::Cow::Owned(id.to_string()));
            Error::new(kind, id, told(what))
        };
        match status {
            400 | 413 | 422 => Self::new(error(Kind::Invalid, "refused", "refused as it stands")),
            401 => Self::new(error(
                Kind::Unauthorized,
                "unauthorized",
                "it wants other credentials: see auth_token, auth_token_file, user and password",
            )),
            403 if reason.is_some_and(|id| id.contains("quota")) => {
                Self::new(error(Kind::Store, "quota", "it is full"))
            }
            403 => Self::new(error(Kind::Forbidden, "forbidden", "these credentials do not allow it")),
            404 | 405 => {
                let what = format!(
                    "it has no {}: it is older than Queen 2.1.0, or the URL is not a broker's. Use a newer one or \
                     fencehold serve",
                    route.path()
                );
                Self::new(Error::new(Kind::Unsupported, "no_such_route", format!("{base}{what} (HTTP {status})")))
            }
            425 | 429 => {
                let wait = reply.retry_after;
                let after = wait.map_or(String::new(), |wait| format!(", in {}", crate::duration::human(wait)));
                let what = format!("it asks for fewer calls{after}");
                let error = error(Kind::RateLimited, "rate_limited", &what);
                Self { transient: true, limited: Some(wait), ..Self::new(error) }
            }
            300..=399 => {
                let what = "it redirects elsewhere, which is not followed since it could lead credentials astray. Name \
                            the right URL";
                Self::new(Error::new(Kind::Unsupported, "redirected", format!("{base}{what} (HTTP {status})")))
            }
            507 => Self::new(error(Kind::Store, "storage_full", "it is full")),
            501 | 505 => Self::new(error(Kind::Unsupported, "unsupported", "it cannot do this")),
            408 | 500..=599 => {
                let error = error(Kind::Unreachable, "unreachable", &format!("it answered {status}"));
                // These say that nothing ran; any other may have come after a part was carried out.
                let nothing_ran =
                    matches!(reason, Some("kv_disabled" | "kv_check_needs_cluster_version_5" | "standby" | "starting"));
                Self { transient: true, doubt: !nothing_ran, ..Self::new(error) }
            }
            200..=299 => Self::bad_answer(server, &format!("it answered {status}, which this call has no use for")),
            _ => Self::new(error(Kind::Unsupported, "bad_answer", "it does not speak this protocol")),
        }
    }

    /// An answer that makes no sense: another program answers at that URL.
    pub(super) fn bad_answer(server: &Server, what: &str) -> Self {
        let detail = format!("{}{what} (bad_answer). Is the URL a broker's?", server.named);
        Self { doubt: true, ..Self::new(Error::new(Kind::Unsupported, "bad_answer", detail)) }
    }

    /// For calls that change nothing.
    pub(super) fn of_read(self) -> Error {
        self.error
    }

    /// For calls that may have been carried out without an answer.
    pub(super) fn of_change(self) -> Error {
        if !self.doubt || !matches!(self.error.kind(), Kind::Unreachable | Kind::RateLimited) {
            return self.error;
        }
        Error::new(Kind::InDoubt, "in_doubt", self.error.detail().to_string()).because(self.error)
    }
}

/// Whether a text is fit to be a reason id.
fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// A server's prose, fit for a message of one line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
