//! A moment of the wall clock, in UTC.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01 UTC; what is stored wherever a time is stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01 UTC.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01 UTC.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Reads RFC 3339 (`2026-11-15T20:00:00Z`), a date (`2026-11-15`), or an archive stamp of
    /// 4 to 14 digits (`20261115200000`), whose missing digits mean the earliest such moment.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if (4..=14).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()) {
            let full = "00000101000000";
            let padded = format!("{text}{}", &full[text.len()..]);
            return jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", &padded)
                .ok()?
                .to_zoned(jiff::tz::TimeZone::UTC)
                .ok()
                .map(|zoned| Self(zoned.timestamp().as_microsecond()));
        }
        if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
            return Some(Self(timestamp.as_microsecond()));
        }
        // Without a zone: a moment of the day, or the beginning of the day, in UTC.
        let moment: jiff::civil::DateTime = text.parse().ok()?;
        let zoned = moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(zoned.timestamp().as_microsecond()))
    }

    /// Reads the date of an HTTP header: `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn parse_http_date(text: &str) -> Option<Self> {
        let parsed = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
        Some(Self(parsed.timestamp().as_microsecond()))
    }

    /// The 14 digits that archives use: `20261115200000`.
    pub fn to_digits(self) -> String {
        self.to_jiff().strftime("%Y%m%d%H%M%S").to_string()
    }

    /// RFC 3339 with microseconds, as WARC 1.1 allows: `2026-11-15T20:00:00.000000Z`.
    pub fn to_rfc3339_micros(self) -> String {
        self.to_jiff()
            .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
            .to_string()
    }

    /// This moment and so much later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_microsecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_jiff().strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_spellings_agree() {
        let moment = Timestamp::parse("2026-11-15T20:00:00Z").unwrap();
        assert_eq!(Timestamp::parse("20261115200000"), Some(moment));
        assert_eq!(moment.to_digits(), "20261115200000");
        assert_eq!(moment.to_string(), "2026-11-15T20:00:00Z");
        assert_eq!(Timestamp::parse("2026-11-15"), Timestamp::parse("20261115"));
        assert_eq!(Timestamp::parse("2026-11-15T20:00:00"), Some(moment));
        assert_eq!(
            Timestamp::parse("202611").unwrap().to_digits(),
            "20261101000000"
        );
        assert_eq!(Timestamp::parse("soon"), None);
    }
}
