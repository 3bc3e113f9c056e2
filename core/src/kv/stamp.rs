//! Times as the values of rows carry them: RFC 3339 in UTC, microseconds without trailing zeros.

use crate::info::civil;

const DAY: i64 = 86_400_000_000;

/// Writes `micros` after 1970: `2026-10-08T08:49:10.5+00:00`.
pub fn format(micros: i64) -> String {
    let (days, of_day) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if fraction > 0 {
        let digits = format!(".{fraction:06}");
        text.push_str(digits.trim_end_matches('0'));
    }
    text.push_str("+00:00");
    text
}

/// Reads a time with any offset; `None` when it is none.
pub fn parse(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let marks: [(usize, &[u8]); 5] = [(4, b"-"), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")];
    if marks.iter().any(|(at, allowed)| !text.as_bytes().get(*at).is_some_and(|byte| allowed.contains(byte))) {
        return None;
    }
    let days = days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let mut rest = text.get(19..)?;
    let mut fraction = 0;
    if let Some(after) = rest.strip_prefix('.') {
        let end = after.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(after.len());
        fraction = format!("{:0<6.6}", after.get(..end).filter(|digits| !digits.is_empty())?).parse().ok()?;
        rest = &after[end..];
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let (sign, at) = (rest.bytes().next()?, text.len() - rest.len());
            let minutes = number(at + 1, at + 3)? * 60 + number(at + 4, at + 6)?;
            match (sign, rest.len(), rest.as_bytes()[3]) {
                (b'+', 6, b':') => minutes,
                (b'-', 6, b':') => -minutes,
                _ => return None,
            }
        }
    };
    Some(days * DAY + ((hour * 60 + minute - offset) * 60 + second) * 1_000_000 + fraction)
}

/// The day counted from 1970-01-01, in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Counted from March on, so that a leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_time_is_written_as_brokers_write_it() {
        assert_eq!(format(1_791_449_350_500_000), "2026-10-08T08:49:10.5+00:00");
        assert_eq!(format(0), "1970-01-01T00:00:00+00:00");
        assert_eq!(parse("1970-01-01T01:00:00.000001+01:00"), Some(1));
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        for bad in [
            "",
            "soon",
            "1970-13-01T00:00:00Z",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+é",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_time_survives_being_written(micros in 0..253_402_300_799_999_999_i64) {
            prop_assert_eq!(parse(&format(micros)), Some(micros));
        }

        #[test]
        fn no_text_breaks_it(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
