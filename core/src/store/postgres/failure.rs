//! What a database did not do, and what to tell the caller.

use std::io;

use crate::store::http::flight::{Stop, Trace};
use crate::{Error, Kind};

/// No answer of use.
#[derive(Debug)]
pub(super) enum Failure {
    /// No connection could be made.
    Unreachable(String),
    /// The connection ended, or the time did, before the answer was there.
    Broken(String),
    /// The database said no.
    Refused { code: String, message: String },
    /// Something that trying again does not mend.
    Error(Error),
}

impl Failure {
    pub(super) fn of(host: &str, error: &io::Error, trace: &Trace) -> Self {
        if let Some(why) = &trace.distrust {
            return Self::Error(Error::new(Kind::Unauthorized, "tls_not_trusted", why.clone()));
        }
        match trace.stop {
            Some(Stop::Deadline) => Self::Broken(format!("{host} did not answer in time")),
            Some(Stop::Cancelled) => Self::Error(Error::new(Kind::Cancelled, "cancelled", "it was cancelled")),
            None => Self::Broken(format!("{host}: {error}")),
        }
    }

    /// A permit's row that a transaction of a user is guarded by stands in the way, or rows moved.
    pub(super) fn is_in_the_way(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if matches!(code.as_str(), "22012" | "40001" | "40P01"))
    }

    /// Whether the connection is of no more use.
    pub(super) fn ends_connection(&self) -> bool {
        match self {
            Self::Refused { code, .. } => code.starts_with("57P") || code.starts_with("08") || code.starts_with("25"),
            _ => true,
        }
    }

    /// Whether another server, or this one a little later, may do it.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => true,
            Self::Refused { code, .. } => {
                matches!(code.as_str(), "53300" | "25006" | "55P03" | "57014" | "25P03")
                    || code.starts_with("57P")
                    || code.starts_with("08")
            }
            Self::Error(_) => false,
        }
    }

    /// The error for the caller; nothing was changed.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Unreachable(why) | Self::Broken(why) => {
                let detail = format!("the database could not be asked ({why}); nothing was done");
                Error::new(Kind::Unreachable, "unreachable", detail)
            }
            Self::Error(error) => error,
            Self::Refused { code, message } => refused(&code, &message),
        }
    }

    /// The error for the caller when the end of a transaction was sent and not answered.
    pub(super) fn into_doubt(self) -> Error {
        match self {
            Self::Unreachable(why) | Self::Broken(why) => {
                let detail = format!("the commit was sent, and no answer came ({why}); it may have been done");
                Error::new(Kind::InDoubt, "in_doubt", detail)
            }
            Self::Refused { code, message } if code.starts_with("57P") || code.starts_with("08") => {
                let detail =
                    format!("the database ended the connection at the commit ({message}); it may have been done");
                Error::new(Kind::InDoubt, "in_doubt", detail)
            }
            other => other.into_error(),
        }
    }
}

fn refused(code: &str, message: &str) -> Error {
    let (kind, reason, detail): (Kind, &'static str, String) = match code {
        "22012" => {
            let detail = "a transaction that is guarded by this lock is still open. Commit it or roll it back first";
            (Kind::Unreachable, "store_busy", detail.into())
        }
        "55P03" | "57014" | "40001" | "40P01" => {
            (Kind::Unreachable, "store_busy", format!("the database was busy ({message}); nothing was done"))
        }
        "25006" => (Kind::Unreachable, "unreachable", format!("the server only reads ({message}); nothing was done")),
        "53300" | "25P03" => {
            (Kind::Unreachable, "unreachable", format!("the database refused for now ({message}); nothing was done"))
        }
        "28000" | "28P01" => {
            (Kind::Unauthorized, "unauthorized", format!("the database wants other credentials: {message}"))
        }
        "42501" => {
            let detail = format!("{message}: the user needs rights in the schema fencehold, see docs/postgres.md");
            (Kind::Forbidden, "forbidden", detail)
        }
        "3D000" => (Kind::Store, "store_no_database", message.into()),
        "53100" | "53200" | "54000" => (Kind::Store, "store_full", format!("the database is full: {message}")),
        _ if code.starts_with("57P") || code.starts_with("08") => {
            (Kind::Unreachable, "unreachable", format!("the database is not ready ({message}); nothing was done"))
        }
        _ => (Kind::Store, "store_refused", format!("the database refused: {message} ({code})")),
    };
    Error::new(kind, reason, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_says_has_a_kind() {
        let kind = |code: &str| {
            let failure = Failure::Refused { code: code.into(), message: "m".into() };
            let transient = failure.is_transient();
            (failure.into_error().kind(), transient)
        };
        assert_eq!(kind("53300"), (Kind::Unreachable, true));
        assert_eq!(kind("57P01"), (Kind::Unreachable, true));
        assert_eq!(kind("25006"), (Kind::Unreachable, true));
        assert_eq!(kind("28P01"), (Kind::Unauthorized, false));
        assert_eq!(kind("42501"), (Kind::Forbidden, false));
        assert_eq!(kind("53100"), (Kind::Store, false));
        assert_eq!(kind("XX000"), (Kind::Store, false));
        let doubt = Failure::Refused { code: "57P01".into(), message: "m".into() }.into_doubt();
        assert_eq!(doubt.kind(), Kind::InDoubt);
        assert_eq!(Failure::Broken("x".into()).into_doubt().kind(), Kind::InDoubt);
        let refused = Failure::Refused { code: "53100".into(), message: "m".into() }.into_doubt();
        assert_eq!(refused.kind(), Kind::Store, "a commit that was refused is not in doubt");
    }
}
