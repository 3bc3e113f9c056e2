//! Rows of users: what the plain and the asyncio `Kv` share.

use fencehold::{Error, Expiry, Kv, Result, ValueRow, Written};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use serde_json::Value;

use crate::aio;
use crate::calls;
use crate::client::ClientBase;
use crate::convert;
use crate::errors::{self, OrRaise};

/// The rows of one namespace. Each call takes an event loop and a function at the end: without them it
/// waits for its answer, with them it is made on a thread, which delivers the answer there.
#[pyclass(frozen, subclass, module = "fencehold._native")]
pub(crate) struct KvBase {
    rows: Kv,
    namespace: String,
}

type EventLoop = Option<Py<PyAny>>;

impl KvBase {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        reply: (EventLoop, EventLoop),
        work: impl FnOnce(&Kv) -> Result<T> + Send + 'static,
        show: impl FnOnce(Python<'_>, &T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        let rows = self.rows.clone();
        if let (Some(event_loop), Some(deliver)) = reply {
            aio::start(py, aio::reply(event_loop, deliver), move || work(&rows), show, |_| {})?;
            return Ok(py.None());
        }
        let answer = calls::bounded(py, || work(&rows))?;
        show(py, &answer)
    }
}

fn key(py: Python<'_>, key: &Bound<'_, PyString>) -> PyResult<String> {
    convert::text(key, "a key", "kv_bad_key").or_raise(py)
}

fn value(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Value> {
    let text = convert::text(text, "a value", "kv_bad_request").or_raise(py)?;
    serde_json::from_str(&text)
        .map_err(|fault| Error::bad_argument("kv_bad_request", format!("a value is no JSON: {fault} (kv_bad_request)")))
        .or_raise(py)
}

fn expected(expect: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    expect.map(|expect| convert::version(expect).and_then(|version| version.or_raise(expect.py()))).transpose()
}

fn row<'py>(py: Python<'py>, row: &ValueRow) -> PyResult<Bound<'py, PyAny>> {
    errors::value_row(py, &row.key, &row.value.to_string(), row.version)
}

fn rows<'py>(py: Python<'py>, rows: &[ValueRow]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    rows.iter().map(|one| row(py, one)).collect()
}

fn written(py: Python<'_>, written: &Written) -> PyResult<Py<PyAny>> {
    let (reason, version, value) = match written {
        Written::Applied { version, value } => (None, *version, value),
        Written::Lost { reason, version, value } => (Some(reason.as_str()), *version, value),
    };
    Ok(errors::written(py, reason, version, &value.to_string())?.unbind())
}

#[pymethods]
impl KvBase {
    #[new]
    fn new(py: Python<'_>, client: &Bound<'_, ClientBase>, namespace: &Bound<'_, PyString>) -> PyResult<Self> {
        let namespace = convert::text(namespace, "the namespace", "kv_bad_namespace").or_raise(py)?;
        Ok(Self { rows: client.get().inner.kv(&namespace), namespace })
    }

    /// The namespace.
    #[getter]
    fn namespace(&self) -> &str {
        &self.namespace
    }

    #[pyo3(signature = (key, event_loop = None, deliver = None))]
    fn _get(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyString>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let key = self::key(py, key)?;
        let show = |py: Python<'_>, found: &Option<ValueRow>| match found {
            Some(found) => Ok(row(py, found)?.unbind()),
            None => Ok(py.None()),
        };
        self.ask(py, (event_loop, deliver), move |rows| rows.get(&key), show)
    }

    #[pyo3(signature = (keys, event_loop = None, deliver = None))]
    fn _get_many(
        &self,
        py: Python<'_>,
        keys: Vec<Bound<'_, PyString>>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let keys: Vec<String> = keys.iter().map(|one| key(py, one)).collect::<PyResult<_>>()?;
        let work = move |rows: &Kv| rows.get_many(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        let show = |py: Python<'_>, found: &Vec<ValueRow>| Ok(rows(py, found)?.into_pyobject(py)?.into_any().unbind());
        self.ask(py, (event_loop, deliver), work, show)
    }

    #[pyo3(signature = (prefix, limit, after, event_loop = None, deliver = None))]
    fn _get_prefix(
        &self,
        py: Python<'_>,
        prefix: &Bound<'_, PyString>,
        limit: &Bound<'_, PyAny>,
        after: Option<&Bound<'_, PyString>>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let prefix = key(py, prefix)?;
        let limit = convert::count(limit, "limit", "kv_bad_request")?.or_raise(py)?;
        let after = after.map(|after| key(py, after)).transpose()?;
        let work = move |rows: &Kv| rows.get_prefix(&prefix, limit, after.as_deref());
        let show = |py: Python<'_>, (found, next): &(Vec<ValueRow>, Option<String>)| {
            let found = PyTuple::new(py, rows(py, found)?)?;
            Ok(errors::value_page(py, &found, next.as_deref())?.unbind())
        };
        self.ask(py, (event_loop, deliver), work, show)
    }

    #[pyo3(signature = (key, value, ttl, expect, event_loop = None, deliver = None))]
    #[expect(clippy::too_many_arguments, reason = "what a row is written with, and where the answer goes")]
    fn _put(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyString>,
        value: &Bound<'_, PyString>,
        ttl: &Bound<'_, PyAny>,
        expect: Option<&Bound<'_, PyAny>>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let (key, value) = (self::key(py, key)?, self::value(py, value)?);
        let (ttl, expect) = (convert::expiry(ttl).or_raise(py)?, expected(expect)?);
        let work = move |rows: &Kv| match expect {
            Some(version) => rows.put_expecting(&key, value, ttl, version),
            None => rows.put(&key, value, ttl),
        };
        self.ask(py, (event_loop, deliver), work, written)
    }

    #[pyo3(signature = (key, value, ttl, event_loop = None, deliver = None))]
    fn _put_if_absent(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyString>,
        value: &Bound<'_, PyString>,
        ttl: &Bound<'_, PyAny>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let (key, value) = (self::key(py, key)?, self::value(py, value)?);
        let ttl: Expiry = convert::expiry(ttl).or_raise(py)?;
        self.ask(py, (event_loop, deliver), move |rows| rows.put_if_absent(&key, value, ttl), written)
    }

    #[pyo3(signature = (key, expect, event_loop = None, deliver = None))]
    fn _delete(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyString>,
        expect: Option<&Bound<'_, PyAny>>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let (key, expect) = (self::key(py, key)?, expected(expect)?);
        self.ask(py, (event_loop, deliver), move |rows| rows.delete(&key, expect), written)
    }

    #[pyo3(signature = (key, delta, ttl, event_loop = None, deliver = None))]
    fn _incr(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyString>,
        delta: &Bound<'_, PyAny>,
        ttl: &Bound<'_, PyAny>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let key = self::key(py, key)?;
        let delta: i64 = convert::whole(delta, "delta", "kv_bad_request")?.or_raise(py)?;
        let ttl = convert::expiry(ttl).or_raise(py)?;
        self.ask(py, (event_loop, deliver), move |rows| rows.incr(&key, delta, ttl), written)
    }

    #[pyo3(signature = (key, expect, event_loop = None, deliver = None))]
    fn _check(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyString>,
        expect: &Bound<'_, PyAny>,
        event_loop: EventLoop,
        deliver: EventLoop,
    ) -> PyResult<Py<PyAny>> {
        let key = self::key(py, key)?;
        let expect = convert::version(expect)?.or_raise(py)?;
        self.ask(py, (event_loop, deliver), move |rows| rows.check(&key, expect), written)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type();
        Ok(format!("<{}.{} {}>", class.module()?, class.name()?, slf.get().namespace))
    }
}
