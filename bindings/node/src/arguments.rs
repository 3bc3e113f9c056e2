//! What callers pass: checked here, because only JavaScript has these shapes.

use std::str::FromStr;
use std::time::Duration;

use fencehold::{Error, Result, Ttl, Wait, parse_duration};

use crate::js::{Answer, Env, Type, Value};
use crate::state::State;

/// The most arguments that a native function takes.
pub(crate) const MOST: usize = 14;

/// One call of a native function.
pub(crate) struct Call<'a> {
    pub(crate) env: Env,
    pub(crate) state: &'a State,
    pub(crate) arguments: [Value; MOST],
}

impl Call<'_> {
    fn kind(&self, index: usize) -> Answer<Type> {
        self.env.type_of(self.arguments[index])
    }

    /// A number that the JavaScript layer was given for a client, a handle or a call.
    pub(crate) fn id(&self, index: usize) -> Answer<u64> {
        Ok(self.env.get_number(self.arguments[index])? as u64)
    }

    /// Text, or nothing where the caller left it out.
    pub(crate) fn text(&self, index: usize, reason: &'static str, what: &str) -> Answer<Option<String>> {
        match self.kind(index)? {
            Type::Undefined => Ok(None),
            Type::Text => match self.env.get_text(self.arguments[index])? {
                Some(text) => Ok(Some(text)),
                None => Err(Error::bad_argument(
                    reason,
                    format!("{what} is ill-formed text: it has a lone surrogate ({reason})"),
                )
                .into()),
            },
            _ => Err(Error::bad_argument(reason, format!("{what} must be a string ({reason})")).into()),
        }
    }

    /// Text that must be there.
    pub(crate) fn needed(&self, index: usize, reason: &'static str, what: &str) -> Answer<String> {
        match self.text(index, reason, what)? {
            Some(text) => Ok(text),
            None => Err(Error::bad_argument(reason, format!("{what} is missing ({reason})")).into()),
        }
    }

    /// true, false, or nothing where the caller left it out.
    pub(crate) fn flag(&self, index: usize, what: &str) -> Answer<Option<bool>> {
        match self.kind(index)? {
            Type::Undefined => Ok(None),
            Type::Boolean => self.env.get_bool(self.arguments[index]).map(Some),
            _ => {
                let detail = format!("{what} must be true or false (locks_bad_option)");
                Err(Error::bad_argument("locks_bad_option", detail).into())
            }
        }
    }

    /// A whole number that a `u32` can say, or nothing where the caller left it out.
    pub(crate) fn count(&self, index: usize, reason: &'static str, what: &str) -> Answer<Option<u32>> {
        match self.kind(index)? {
            Type::Undefined => return Ok(None),
            Type::Number => {
                let number = self.env.get_number(self.arguments[index])?;
                if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
                    return Ok(Some(number as u32));
                }
            }
            _ => {}
        }
        Err(Error::bad_argument(reason, format!("{what} must be a whole number from 0 up ({reason})")).into())
    }

    /// A lifetime: always text with a unit.
    pub(crate) fn ttl(&self, index: usize) -> Answer<Ttl> {
        let advice = "(locks_bad_ttl). Write '30s'; a lifetime is 100 ms to 24 h";
        match self.kind(index)? {
            Type::Undefined => Err(Error::bad_argument("locks_bad_ttl", format!("a ttl is required {advice}")).into()),
            _ => self.duration(index, "locks_bad_ttl", "ttl", advice, Ttl::from_str),
        }
    }

    /// A wait: text with a unit, `'forever'`, or 0.
    pub(crate) fn wait(&self, index: usize) -> Answer<Wait> {
        match self.kind(index)? {
            Type::Undefined => Ok(Wait::Default),
            Type::Number if self.env.get_number(self.arguments[index])? == 0.0 => Ok(Wait::No),
            _ => {
                let advice = "(locks_bad_wait). Write '10s', 0 for one try, or 'forever'";
                self.duration(index, "locks_bad_wait", "wait", advice, Wait::from_str)
            }
        }
    }

    /// How long a row lives: text with a unit, or `'forever'`.
    pub(crate) fn row_ttl(&self, index: usize) -> Answer<Wait> {
        const REASON: &str = "kv_bad_ttl";
        let advice = "(kv_bad_ttl). Write '1h' or 'forever'";
        if self.kind(index)? == Type::Undefined {
            return Err(Error::bad_argument(REASON, format!("a ttl is required {advice}")).into());
        }
        let parse = |text: &str| {
            let bad = |_| Error::bad_argument(REASON, format!("ttl {text:?} is no duration {advice}"));
            Wait::from_str(text).map_err(bad)
        };
        self.duration(index, REASON, "ttl", advice, parse)
    }

    /// Another duration, or nothing where the caller left it out.
    pub(crate) fn span(&self, index: usize, what: &str) -> Answer<Option<Duration>> {
        match self.kind(index)? {
            Type::Undefined => Ok(None),
            _ => {
                let advice = "(locks_bad_wait). Write '5s'";
                self.duration(index, "locks_bad_wait", what, advice, parse_duration).map(Some)
            }
        }
    }

    fn duration<T>(
        &self,
        index: usize,
        reason: &'static str,
        what: &str,
        advice: &str,
        parse: impl FnOnce(&str) -> Result<T>,
    ) -> Answer<T> {
        let kind = self.kind(index)?;
        let shown = match kind {
            Type::Text => return Ok(parse(&self.needed(index, reason, what)?)?),
            Type::Number | Type::BigInt => self.env.show(self.arguments[index])?,
            Type::Null => "null".into(),
            Type::Boolean => self.env.show(self.arguments[index])?,
            _ => "of this type".into(),
        };
        let detail = match kind {
            // The advice repeats the number, as it is what the caller most likely meant.
            Type::Number | Type::BigInt if reason == "locks_bad_ttl" => {
                format!("{what} {shown} has no unit ({reason}). Write '{shown}s'; a lifetime is 100 ms to 24 h")
            }
            Type::Number | Type::BigInt => format!("{what} {shown} has no unit {advice}"),
            _ => format!("{what} {shown} is no text with a unit {advice}"),
        };
        Err(Error::bad_argument(reason, detail).into())
    }
}
