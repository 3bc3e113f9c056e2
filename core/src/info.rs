//! What a store knows about a lock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Why an acquire was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalReason {
    /// Somebody else holds it.
    Held,
    /// Free permits and a crowd on them: come back.
    Contended,
    /// The wait was over.
    TimedOut,
    /// This very handle holds it.
    HeldHere,
    /// The chosen owner holds it, but not through this handle.
    OwnerInUse,
}

impl RefusalReason {
    /// The word for it, the same in every language.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Contended => "contended",
            Self::TimedOut => "timed_out",
            Self::HeldHere => "held_here",
            Self::OwnerInUse => "owner_in_use",
        }
    }
}

/// The answer of a store that did not grant a lock: somebody else has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Why.
    pub reason: RefusalReason,
    /// Who holds the lock, as far as the store told.
    pub holders: Vec<Holder>,
    /// How many wait in line.
    pub waiting: u32,
}

/// Who holds a permit. What the store does not know is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Which permit; 0 for a lock.
    pub slot: u32,
    /// The permit's current token.
    pub token: u64,
    /// The holder's owner.
    pub owner: Option<String>,
    /// What the holder calls itself, for people.
    pub label: Option<String>,
    /// When it acquired.
    pub since: Option<SystemTime>,
    /// When it renewed last.
    pub renewed_at: Option<SystemTime>,
    /// When the lease ends unless it is renewed.
    pub expires_at: Option<SystemTime>,
}

/// Who waits in line for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// 1 is next.
    pub position: u32,
    /// The waiter's owner.
    pub owner: String,
    /// What it calls itself, for people.
    pub label: Option<String>,
    /// Since when it waits.
    pub since: Option<SystemTime>,
}

/// A lock as the store sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// The lock's name.
    pub name: String,
    /// Whether anybody holds it.
    pub held: bool,
    /// Who holds it, by rising slot.
    pub holders: Vec<Holder>,
    /// Who waits, first come first.
    pub waiters: Vec<Waiter>,
}

/// Which hold [`crate::Client::force_release`] ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseId {
    /// The hold with this token.
    Token(u64),
    /// The hold of this owner.
    Owner(String),
}

/// The time of day `micros` microseconds after 1970.
pub(crate) fn system_time(micros: i64) -> SystemTime {
    match u64::try_from(micros) {
        Ok(micros) => UNIX_EPOCH + Duration::from_micros(micros),
        Err(_) => UNIX_EPOCH - Duration::from_micros(micros.unsigned_abs()),
    }
}

/// Milliseconds after 1970, as C and PHP show times.
pub fn unix_millis(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    }
}

/// Writes a time as RFC 3339 in UTC with milliseconds, as every JSON of ours does.
///
/// ```
/// assert_eq!(fencehold::rfc3339(std::time::UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
/// ```
pub fn rfc3339(time: SystemTime) -> String {
    let millis = unix_millis(time);
    let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", of_day % 1000)
}

/// The time of day in UTC, to the second, as messages show it: `02:00:03Z`.
pub(crate) fn clock_time(time: SystemTime) -> String {
    let seconds = unix_millis(time).div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, so that a leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl Holder {
    /// The holder as a JSON object: camelCase, RFC 3339 UTC, the token as a string.
    pub(crate) fn json(&self, now: SystemTime) -> Value {
        let expires_in = self
            .expires_at
            .map(|at| at.duration_since(now).map_or(0, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)));
        json!({
            "slot": self.slot,
            "token": self.token.to_string(),
            "owner": self.owner,
            "label": self.label,
            "since": self.since.map(rfc3339),
            "renewedAt": self.renewed_at.map(rfc3339),
            "expiresAt": self.expires_at.map(rfc3339),
            "expiresInMs": expires_in,
        })
    }
}

impl LockInfo {
    pub(crate) fn json(&self, now: SystemTime) -> Value {
        let waiters: Vec<Value> = self
            .waiters
            .iter()
            .map(|waiter| {
                json!({
                    "position": waiter.position,
                    "owner": waiter.owner,
                    "label": waiter.label,
                    "since": waiter.since.map(rfc3339),
                })
            })
            .collect();
        json!({
            "name": self.name,
            "held": self.held,
            "waiting": self.waiters.len(),
            "holders": self.holders.iter().map(|holder| holder.json(now)).collect::<Vec<_>>(),
            "waiters": waiters,
        })
    }

    /// The lock as the JSON object that every language and the shell print.
    pub fn to_json(&self) -> String {
        self.json(SystemTime::now()).to_string()
    }

    /// A list of locks as `{"store", "at", "locks"}`.
    pub fn list_to_json(store: &str, locks: &[LockInfo]) -> String {
        let now = SystemTime::now();
        let locks: Vec<Value> = locks.iter().map(|lock| lock.json(now)).collect();
        json!({ "store": store, "at": rfc3339(now), "locks": locks }).to_string()
    }
}

impl Refusal {
    pub(crate) fn new(reason: RefusalReason, holders: Vec<Holder>, waiting: u32) -> Self {
        Self { reason, holders, waiting }
    }

    /// The refusal as a JSON object: `{"reason", "waiting", "holders"}`.
    pub fn to_json(&self) -> String {
        let now = SystemTime::now();
        let holders: Vec<Value> = self.holders.iter().map(|holder| holder.json(now)).collect();
        json!({ "reason": self.reason.id(), "waiting": self.waiting, "holders": holders }).to_string()
    }

    /// Who holds it, in the words of a message: `held by web-2:4711:9f… (label "x") since …`.
    pub fn describe(&self) -> String {
        let mut text = match self.holders.first() {
            None => "held by somebody else".to_string(),
            Some(holder) => format!("held by {}", holder.describe()),
        };
        if self.holders.len() > 1 {
            text.push_str(&format!(" and {} more", self.holders.len() - 1));
        }
        if self.waiting > 0 {
            let verb = if self.waiting == 1 { "waits" } else { "wait" };
            text.push_str(&format!("; {} {verb} in line", self.waiting));
        }
        text
    }
}

impl Holder {
    pub(crate) fn describe(&self) -> String {
        let mut text = self.owner.clone().unwrap_or_else(|| "a holder without an owner".into());
        if let Some(label) = &self.label {
            text.push_str(&format!(" (label \"{label}\")"));
        }
        if let Some(since) = self.since {
            text.push_str(&format!(" since {}", clock_time(since)));
        }
        if let Some(expires) = self.expires_at {
            text.push_str(&format!(", until {} unless renewed", clock_time(expires)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_038_800_123, "2026-11-30T11:40:00.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(system_time(millis * 1000)), text);
        }
    }
}
