//! The few Node-API calls that the add-on needs, with their statuses checked.

use std::ffi::c_void;
use std::ptr;

use fencehold::Error;
use napi_sys as sys;

/// Why a native function does not return a value.
pub(crate) enum Fail {
    /// An error of ours; with the lock that it is about, where the error does not know it yet.
    Ours(Error, Option<String>),
    /// Node refused a call, or an exception is pending already.
    Node,
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Fail::Ours(error, None)
    }
}

pub(crate) type Answer<T = Value> = Result<T, Fail>;

/// A JavaScript value. Valid until the callback that it was made in returns.
#[derive(Clone, Copy)]
pub(crate) struct Value(pub(crate) sys::napi_value);

/// What kind of value a caller passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Undefined,
    Null,
    Boolean,
    Number,
    Text,
    BigInt,
    Other,
}

/// The environment of the callback that runs: one per JavaScript thread.
#[derive(Clone, Copy)]
pub(crate) struct Env(sys::napi_env);

fn check(status: sys::napi_status) -> Answer<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(Fail::Node) }
}

/// Calls a Node-API function whose last parameter is where the result goes.
macro_rules! get {
    ($function:ident, $env:expr, $start:expr $(, $argument:expr)*) => {{
        let mut out = $start;
        // SAFETY: `Env` is only made of the environment that Node passed to the running callback, values belong
        // to the same callback, and `out` is a place of the type that the function writes.
        check(unsafe { sys::$function($env.0 $(, $argument)*, &mut out) }).map(|()| out)
    }};
}

impl Env {
    /// # Safety
    /// `raw` is the environment that Node passed to the callback that runs, on the thread it runs on.
    pub(crate) unsafe fn new(raw: sys::napi_env) -> Self {
        Self(raw)
    }

    pub(crate) fn raw(self) -> sys::napi_env {
        self.0
    }

    pub(crate) fn undefined(self) -> Answer {
        get!(napi_get_undefined, self, ptr::null_mut()).map(Value)
    }

    pub(crate) fn null(self) -> Answer {
        get!(napi_get_null, self, ptr::null_mut()).map(Value)
    }

    pub(crate) fn bool(self, value: bool) -> Answer {
        get!(napi_get_boolean, self, ptr::null_mut(), value).map(Value)
    }

    pub(crate) fn number(self, value: f64) -> Answer {
        get!(napi_create_double, self, ptr::null_mut(), value).map(Value)
    }

    pub(crate) fn bigint(self, value: u64) -> Answer {
        get!(napi_create_bigint_uint64, self, ptr::null_mut(), value).map(Value)
    }

    pub(crate) fn negative_bigint(self, value: i64) -> Answer {
        get!(napi_create_bigint_int64, self, ptr::null_mut(), value).map(Value)
    }

    pub(crate) fn text(self, text: &str) -> Answer {
        get!(napi_create_string_utf8, self, ptr::null_mut(), text.as_ptr().cast(), text.len() as isize).map(Value)
    }

    pub(crate) fn text_or_null(self, text: Option<&str>) -> Answer {
        text.map_or_else(|| self.null(), |text| self.text(text))
    }

    pub(crate) fn object(self, members: &[(&str, Value)]) -> Answer {
        let object = get!(napi_create_object, self, ptr::null_mut()).map(Value)?;
        // Defined, not assigned: a member that is called `__proto__` is a member like any other.
        let property = |(name, value): &(&str, Value)| {
            Ok(sys::napi_property_descriptor {
                utf8name: ptr::null(),
                name: self.text(name)?.0,
                method: None,
                getter: None,
                setter: None,
                value: value.0,
                attributes: sys::PropertyAttributes::writable
                    | sys::PropertyAttributes::enumerable
                    | sys::PropertyAttributes::configurable,
                data: ptr::null_mut(),
            })
        };
        let properties = members.iter().map(property).collect::<Answer<Vec<_>>>()?;
        // SAFETY: all values were made in this callback, and the pointer has that many properties behind it.
        check(unsafe { sys::napi_define_properties(self.0, object.0, properties.len(), properties.as_ptr()) })?;
        Ok(object)
    }

    pub(crate) fn array(self, items: impl ExactSizeIterator<Item = Answer>) -> Answer {
        let array = get!(napi_create_array_with_length, self, ptr::null_mut(), items.len()).map(Value)?;
        for (index, item) in items.enumerate() {
            // SAFETY: both values were made in this callback.
            check(unsafe { sys::napi_set_element(self.0, array.0, index as u32, item?.0) })?;
        }
        Ok(array)
    }

    /// A function that calls `callback` with `data`.
    ///
    /// # Safety
    /// `data` must be what `callback` expects for as long as the function can be called.
    pub(crate) unsafe fn function(self, name: &str, callback: sys::napi_callback, data: *mut c_void) -> Answer {
        get!(napi_create_function, self, ptr::null_mut(), name.as_ptr().cast(), name.len() as isize, callback, data)
            .map(Value)
    }

    pub(crate) fn call(self, function: Value, arguments: &[Value]) -> Answer {
        let receiver = self.undefined()?;
        // `Value` wraps one pointer, but the layout is spelled out rather than assumed.
        let raw: Vec<sys::napi_value> = arguments.iter().map(|value| value.0).collect();
        get!(napi_call_function, self, ptr::null_mut(), receiver.0, function.0, raw.len(), raw.as_ptr()).map(Value)
    }

    pub(crate) fn throw(self, error: Value) {
        // SAFETY: a value of this callback; a failure means that an exception is pending already.
        unsafe { sys::napi_throw(self.0, error.0) };
    }

    pub(crate) fn throw_text(self, message: &std::ffi::CStr) {
        // SAFETY: both are NUL-terminated or null.
        unsafe { sys::napi_throw_error(self.0, ptr::null(), message.as_ptr()) };
    }

    pub(crate) fn type_of(self, value: Value) -> Answer<Type> {
        Ok(match get!(napi_typeof, self, 0, value.0)? {
            sys::ValueType::napi_undefined => Type::Undefined,
            sys::ValueType::napi_null => Type::Null,
            sys::ValueType::napi_boolean => Type::Boolean,
            sys::ValueType::napi_number => Type::Number,
            sys::ValueType::napi_string => Type::Text,
            sys::ValueType::napi_bigint => Type::BigInt,
            _ => Type::Other,
        })
    }

    pub(crate) fn get_number(self, value: Value) -> Answer<f64> {
        get!(napi_get_value_double, self, 0.0, value.0)
    }

    pub(crate) fn get_bool(self, value: Value) -> Answer<bool> {
        get!(napi_get_value_bool, self, false, value.0)
    }

    /// The value of a bigint; `None` when it is negative or above 2^64-1.
    pub(crate) fn get_bigint(self, value: Value) -> Answer<Option<u64>> {
        let (mut number, mut lossless) = (0, false);
        // SAFETY: as in `get!`; both are places of the right types.
        check(unsafe { sys::napi_get_value_bigint_uint64(self.0, value.0, &mut number, &mut lossless) })?;
        Ok(lossless.then_some(number))
    }

    /// The text of a string; `None` when it has a lone surrogate, which no UTF-8 can say.
    pub(crate) fn get_text(self, value: Value) -> Answer<Option<String>> {
        let length = get!(napi_get_value_string_utf16, self, 0, value.0, ptr::null_mut(), 0)?;
        let mut units = vec![0u16; length + 1];
        let written = get!(napi_get_value_string_utf16, self, 0, value.0, units.as_mut_ptr(), units.len())?;
        Ok(String::from_utf16(&units[..written]).ok())
    }

    /// How JavaScript would print the value.
    pub(crate) fn show(self, value: Value) -> Answer<String> {
        let text = get!(napi_coerce_to_string, self, ptr::null_mut(), value.0).map(Value)?;
        Ok(self.get_text(text)?.unwrap_or_default())
    }

    pub(crate) fn reference(self, value: Value) -> Answer<sys::napi_ref> {
        get!(napi_create_reference, self, ptr::null_mut(), value.0, 1)
    }

    pub(crate) fn referenced(self, reference: sys::napi_ref) -> Answer {
        get!(napi_get_reference_value, self, ptr::null_mut(), reference).map(Value)
    }
}
