//! What can go wrong between a client and an ensemble.

use std::io;

use crate::{Error, Kind};

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not sent: nothing was done.
    Unreachable(String),
    /// It was sent, and the connection ended before the answer came.
    Unanswered(String),
    /// The session is over, and every node of it with it.
    Expired,
    /// The server said no, with this number.
    Refused(i32),
    /// What came is no answer.
    BadAnswer(&'static str),
    /// A file of ours cannot be read.
    BadFile(String),
    /// The server grants shorter sessions only.
    TooLong {
        /// The longest one, in milliseconds.
        most_millis: u64,
    },
}

pub(super) const NO_NODE: i32 = -101;
pub(super) const NO_AUTH: i32 = -102;
pub(super) const BAD_VERSION: i32 = -103;
pub(super) const NODE_EXISTS: i32 = -110;
pub(super) const SESSION_EXPIRED: i32 = -112;
pub(super) const AUTH_FAILED: i32 = -115;
pub(super) const SESSION_MOVED: i32 = -118;

impl Failure {
    pub(super) fn not_sent(server: &str, error: &io::Error) -> Self {
        Self::Unreachable(format!("{server}: {error}"))
    }

    /// The error for the caller. What was sent and not answered is in doubt only if it `changes`
    /// something.
    pub(super) fn into_error(self, changes: bool) -> Error {
        match self {
            Self::Unreachable(why) => {
                let detail = format!("no server of the ensemble could be asked ({why}); nothing was done");
                Error::new(Kind::Unreachable, "unreachable", detail)
            }
            Self::Unanswered(why) if changes => {
                let detail = format!("the request was sent, and no answer came ({why}); it may have been done");
                Error::new(Kind::InDoubt, "in_doubt", detail)
            }
            Self::Unanswered(why) => {
                let detail = format!("no answer came ({why}); nothing was changed");
                Error::new(Kind::Unreachable, "unreachable", detail)
            }
            Self::Expired => {
                let detail = "the session with the ensemble ended; nothing was done. Try again";
                Error::new(Kind::Unreachable, "session_expired", detail)
            }
            Self::Refused(NO_AUTH) => {
                let detail = "the ensemble does not allow it (NoAuth). Pass the user and the password that the nodes \
                              were made with";
                Error::new(Kind::Forbidden, "forbidden", detail)
            }
            Self::Refused(AUTH_FAILED) => {
                let detail = "the ensemble refused the user or the password (AuthFailed)";
                Error::new(Kind::Unauthorized, "unauthorized", detail)
            }
            Self::Refused(code) => {
                Error::new(Kind::Store, "store_refused", format!("the ensemble refused with its error {code}"))
            }
            Self::BadAnswer(what) => {
                let detail = format!("what answered does not speak ZooKeeper's protocol ({what}). Check host and port");
                Error::new(Kind::Store, "bad_answer", detail)
            }
            Self::BadFile(why) => Error::invalid("auth_bad_file", format!("{why} (auth_bad_file)")),
            Self::TooLong { most_millis } => {
                let detail = format!(
                    "the ensemble grants sessions of at most {most_millis} ms (its maxSessionTimeout), so a longer \
                     lifetime cannot be kept (locks_bad_ttl). Ask for a shorter one, or raise the ensemble's limit"
                );
                Error::invalid("locks_bad_ttl", detail)
            }
        }
    }
}
