//! Durations as people write them: `500ms`, `30s`, `1h30m`.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is a number without a unit.
    NoUnit,
    /// It is not of the form `1h30m`.
    Malformed,
    /// It is longer than can be counted.
    TooLong,
}

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a duration: one or more numbers with a unit each, from large to small units.
pub(crate) fn parse(text: &str) -> Result<Duration, Fault> {
    let mut rest = text;
    let mut total: u128 = 0;
    let mut last_unit = u64::MAX;
    if rest.is_empty() {
        return Err(Fault::Malformed);
    }
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(Fault::NoUnit);
    }
    while !rest.is_empty() {
        let number_len = rest.bytes().take_while(u8::is_ascii_digit).count();
        if number_len == 0 || number_len > 15 {
            return Err(if number_len > 15 { Fault::TooLong } else { Fault::Malformed });
        }
        let number: u64 = rest[..number_len].parse().map_err(|_| Fault::Malformed)?;
        rest = &rest[number_len..];
        let unit_len = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit_text = &rest[..unit_len];
        if unit_text.is_empty() {
            return Err(if rest.is_empty() { Fault::NoUnit } else { Fault::Malformed });
        }
        let Some(&(_, unit)) = UNITS.iter().find(|(name, _)| *name == unit_text) else {
            return Err(Fault::Malformed);
        };
        if unit >= last_unit {
            return Err(Fault::Malformed);
        }
        last_unit = unit;
        total += u128::from(number) * u128::from(unit);
        rest = &rest[unit_len..];
    }
    match u64::try_from(total) {
        Ok(millis) if millis < u64::MAX / 2_000_000 => Ok(Duration::from_millis(millis)),
        _ => Err(Fault::TooLong),
    }
}

/// Reads a number of seconds, as bindings take them from numbers of their language.
pub(crate) fn from_seconds(seconds: f64) -> Result<Duration, Fault> {
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(Fault::Malformed);
    }
    if seconds > 9e9 {
        return Err(Fault::TooLong);
    }
    // Rounded up, so that a short wait or lifetime never becomes none.
    let millis = (seconds * 1000.0 - 1e-6).ceil().max(0.0);
    Ok(Duration::from_millis(millis as u64))
}

/// Writes a duration as people would: `2m 5s`, `1.2 s`, `350 ms`.
pub(crate) fn human(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis < 1000 {
        return format!("{millis} ms");
    }
    if millis < 10_000 && !millis.is_multiple_of(1000) {
        return format!("{}.{} s", millis / 1000, millis % 1000 / 100);
    }
    let seconds = millis / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_from_large_to_small() {
        for (text, millis) in
            [("500ms", 500), ("30s", 30_000), ("1h30m", 5_400_000), ("2m", 120_000), ("1d1ms", 86_400_001), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["30", "1.5", "", "s", "-1s", "1 s", "1s1h", "1s1s", "30 seconds", "1x", "1s2", "∞"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("30"), Err(Fault::NoUnit));
        assert_eq!(parse("999999999999999d"), Err(Fault::TooLong));
    }

    #[test]
    fn seconds_round_up_to_milliseconds() {
        assert_eq!(from_seconds(0.1), Ok(Duration::from_millis(100)));
        assert_eq!(from_seconds(0.0001), Ok(Duration::from_millis(1)));
        assert_eq!(from_seconds(0.0), Ok(Duration::ZERO));
        assert!(from_seconds(f64::NAN).is_err() && from_seconds(-1.0).is_err() && from_seconds(f64::INFINITY).is_err());
    }
}
