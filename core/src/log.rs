//! Where the library reports what nobody asked for: a release that failed at a scope's end, a loss
//! handler that panicked.

use std::fmt;
use std::sync::{Arc, RwLock};

use crate::process::PerProcess;

/// How serious a log message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Something was lost or may be.
    Error,
    /// Something to look at.
    Warn,
    /// For the curious.
    Info,
    /// For whoever looks for a fault.
    Debug,
}

impl Level {
    /// The level as a number: 1 error, 2 warn, 3 info, 4 debug.
    pub const fn number(self) -> i32 {
        match self {
            Self::Error => 1,
            Self::Warn => 2,
            Self::Info => 3,
            Self::Debug => 4,
        }
    }
}

type Sink = Arc<dyn Fn(Level, &str) + Send + Sync>;

static SINK: PerProcess<RwLock<Option<Sink>>> = PerProcess::new();

/// Sends the library's log messages to `sink`, or nowhere. Without a call they go nowhere.
///
/// The sink may be called from any thread, outside every lock of the library; it must not call back
/// into it for long. A forked child starts without one.
pub fn set_log(sink: Option<Arc<dyn Fn(Level, &str) + Send + Sync>>) {
    let place = SINK.get_or(|| RwLock::new(None));
    *place.write().unwrap_or_else(std::sync::PoisonError::into_inner) = sink;
}

pub(crate) fn log(level: Level, message: fmt::Arguments<'_>) {
    let Some(place) = SINK.get() else { return };
    let sink = place.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    if let Some(sink) = sink {
        sink(level, &message.to_string());
    }
}

macro_rules! warn_user {
    ($($part:tt)*) => { $crate::log::log($crate::log::Level::Warn, format_args!($($part)*)) };
}
pub(crate) use warn_user;
