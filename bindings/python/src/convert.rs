//! From Python's arguments to the core's types, with the contract's reason ids.

use std::borrow::Cow;
use std::convert::Infallible;
use std::time::Duration;

use fencehold::{Error, Expiry, Result, Ttl, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyFloat, PyString};

/// An argument that may be left out, where `None` is a value that was given. `...` is left out.
pub(crate) enum Given<'py> {
    Unset,
    Value(Bound<'py, PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = Infallible;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> std::result::Result<Self, Infallible> {
        Ok(if object.is(object.py().Ellipsis()) { Self::Unset } else { Self::Value(object.to_owned()) })
    }
}

/// What a duration was written as.
enum Amount {
    Text(String),
    Seconds(f64),
    Span(Duration),
}

/// A refusal of `what`, in the form of the other messages.
fn refuse(reason: &'static str, what: &str, problem: &str) -> Error {
    Error::bad_argument(reason, format!("{what} {problem} ({reason}). Write '30s', a number of seconds or a timedelta"))
}

fn amount(value: &Bound<'_, PyAny>, what: &str, reason: &'static str) -> Result<Amount> {
    let shown = || value.repr().map_or_else(|_| "?".to_string(), |text| text.to_string());
    if value.is_none() {
        return Err(refuse(reason, what, "is None"));
    }
    if value.cast::<PyBool>().is_ok() {
        return Err(refuse(reason, what, &format!("{} is no duration", shown())));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return match text.to_cow() {
            Ok(text) => Ok(Amount::Text(text.into_owned())),
            Err(_) => Err(refuse(reason, what, &format!("{} is not valid text", shown()))),
        };
    }
    if let Ok(span) = value.cast::<PyDelta>() {
        return match span.extract::<Duration>() {
            Ok(span) => Ok(Amount::Span(span)),
            Err(_) => Err(refuse(reason, what, &format!("{} is negative", shown()))),
        };
    }
    let is_number = value.cast::<PyFloat>().is_ok() || value.hasattr("__index__").unwrap_or(false);
    match value.extract::<f64>() {
        Ok(seconds) if is_number => Ok(Amount::Seconds(seconds)),
        _ => Err(refuse(reason, what, &format!("{} is no duration", shown()))),
    }
}

/// A lifetime.
pub(crate) fn ttl(value: &Bound<'_, PyAny>) -> Result<Ttl> {
    match amount(value, "ttl", "locks_bad_ttl")? {
        Amount::Text(text) => text.parse(),
        Amount::Seconds(seconds) => Ttl::from_seconds(seconds),
        Amount::Span(span) => Ttl::new(span),
    }
}

/// How long to wait.
pub(crate) fn wait(value: &Given<'_>) -> Result<Wait> {
    let Given::Value(value) = value else { return Ok(Wait::Default) };
    match amount(value, "wait", "locks_bad_wait")? {
        Amount::Text(text) => text.parse(),
        Amount::Seconds(seconds) => Wait::from_seconds(seconds),
        Amount::Span(span) => Ok(span.into()),
    }
}

/// Another duration, such as a request timeout.
pub(crate) fn duration(value: &Bound<'_, PyAny>, what: &str) -> Result<Duration> {
    match amount(value, what, "locks_bad_wait")? {
        Amount::Text(text) => fencehold::parse_duration(&text),
        Amount::Seconds(seconds) => match Wait::from_seconds(seconds)? {
            Wait::For(span) => Ok(span),
            _ => Ok(Duration::ZERO),
        },
        Amount::Span(span) => Ok(span),
    }
}

/// The wait that `acquire(blocking, timeout, *, wait)` asks for: the first two as `threading.Lock` has them.
pub(crate) fn blocking_wait(blocking: Option<bool>, timeout: &Given<'_>, given: &Given<'_>) -> Result<Wait> {
    let bad = |text: &str| Error::bad_argument("locks_bad_wait", format!("{text} (locks_bad_wait)"));
    let timeout = match timeout {
        Given::Unset => None,
        Given::Value(value) => Some(value),
    };
    if blocking.is_none() && timeout.is_none() {
        return wait(given);
    }
    if matches!(given, Given::Value(_)) {
        return Err(bad("wait was given together with blocking or timeout: pass one of them"));
    }
    let seconds = match timeout {
        None => -1.0,
        Some(value) => match amount(value, "timeout", "locks_bad_wait")? {
            Amount::Seconds(seconds) => seconds,
            _ => return Err(bad("timeout must be a number of seconds; wait takes other durations")),
        },
    };
    if blocking == Some(false) {
        if seconds != -1.0 {
            return Err(bad("can't specify a timeout for a non-blocking call"));
        }
        return Ok(Wait::No);
    }
    if seconds == -1.0 {
        return Ok(Wait::Forever);
    }
    if seconds.is_nan() || seconds < 0.0 {
        return Err(bad("timeout value must be a non-negative number"));
    }
    Wait::from_seconds(seconds)
}

/// Text that goes to the core; lone surrogates are refused, never replaced.
pub(crate) fn text(value: &Bound<'_, PyString>, what: &str, reason: &'static str) -> Result<String> {
    value.to_cow().map(Cow::into_owned).map_err(|_| {
        let detail = format!("{what} has a lone surrogate, which no valid text has ({reason})");
        Error::bad_argument(reason, detail)
    })
}

/// A count such as permits, limit or slot.
pub(crate) fn count(value: &Bound<'_, PyAny>, what: &str, reason: &'static str) -> PyResult<Result<u32>> {
    whole(value, what, reason)
}

/// The version that a row is expected to have.
pub(crate) fn version(value: &Bound<'_, PyAny>) -> PyResult<Result<u64>> {
    whole(value, "expect", "kv_bad_expect")
}

/// A whole number of a certain width.
pub(crate) fn whole<'py, T: for<'a> FromPyObject<'a, 'py>>(
    value: &Bound<'py, PyAny>,
    what: &str,
    reason: &'static str,
) -> PyResult<Result<T>> {
    if value.cast::<PyBool>().is_ok() || !value.hasattr("__index__")? {
        return Err(PyTypeError::new_err(format!("{what} must be an int")));
    }
    Ok(value.extract::<T>().map_err(|_| {
        let shown = value.repr().map_or_else(|_| "?".to_string(), |text| text.to_string());
        Error::bad_argument(reason, format!("{what} {shown} is out of range ({reason})"))
    }))
}

/// How long a row lives.
pub(crate) fn expiry(value: &Bound<'_, PyAny>) -> Result<Expiry> {
    const REASON: &str = "kv_bad_ttl";
    let bad = |_| {
        let shown = value.repr().map_or_else(|_| "?".to_string(), |text| text.to_string());
        let detail = format!(
            "ttl {shown} is no duration ({REASON}). Write '30s', a number of seconds, a timedelta or 'forever'"
        );
        Error::bad_argument(REASON, detail)
    };
    let wait = match amount(value, "ttl", REASON)? {
        Amount::Text(text) => text.parse().map_err(bad)?,
        Amount::Seconds(seconds) => Wait::from_seconds(seconds).map_err(bad)?,
        Amount::Span(span) => Wait::For(span),
    };
    Ok(match wait {
        Wait::Forever => Expiry::Forever,
        Wait::For(time) => Expiry::After(time),
        Wait::No | Wait::Default => Expiry::After(Duration::ZERO),
    })
}
