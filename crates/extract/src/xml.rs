//! What sitemaps and feeds share: names without prefix, attributes, dates.

use std::borrow::Cow;

use teia_base::Timestamp;

use crate::markup::{Scanner, decode_attribute, key};

/// The key of a name without its namespace prefix. Prefixes and namespaces are too often wrong
/// to tell elements apart by them.
pub(crate) fn local_key(name: &str) -> u64 {
    key(name.rsplit(':').next().unwrap_or(name))
}

/// The attributes of a start tag, up to a limit, under their full names.
#[derive(Debug, Default)]
pub(crate) struct Attributes<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Attributes<'a> {
    /// Reads those of the tag at which the scanner stands, to its end.
    pub(crate) fn read(&mut self, scanner: &mut Scanner<'a>, max: usize) {
        self.0.clear();
        while let Some(attribute) = scanner.next_attribute() {
            if self.0.len() < max {
                self.0.push((attribute.name.text, attribute.value));
            }
        }
    }

    /// The first of this name, its references replaced, without white space around it.
    pub(crate) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let (_, value) = self
            .0
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        Some(match decode_attribute(value) {
            Cow::Borrowed(value) => Cow::Borrowed(value.trim()),
            Cow::Owned(value) => Cow::Owned(value.trim().to_owned()),
        })
    }
}

/// A date in one of the spellings of sitemaps and feeds: W3C (`2026`, `2026-11`,
/// `2026-11-15T20:00Z`) or RFC 2822.
pub(crate) fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() > 64 {
        return None;
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp::from_micros(moment.as_microsecond()));
    }
    if let Ok(zoned) = jiff::fmt::rfc2822::parse(text) {
        return Some(Timestamp::from_micros(zoned.timestamp().as_microsecond()));
    }
    // A year and a month; a moment without zone, taken for UTC; a year, or a date.
    if text.len() == 7 && text.as_bytes()[4] == b'-' {
        return Timestamp::parse(&text.replace('-', ""));
    }
    if text.contains(':') {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        return Some(Timestamp::from_micros(zoned.timestamp().as_microsecond()));
    }
    Timestamp::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, digits: Option<&str>) {
        assert_eq!(moment(text).map(Timestamp::to_digits).as_deref(), digits);
    }

    #[test]
    fn dates_come_in_many_spellings() {
        check("2026-11-15T20:00:00+01:00", Some("20261115190000"));
        check("2026-11-15T20:00Z", Some("20261115200000"));
        check("2026-11-15T20:00:00", Some("20261115200000"));
        check("2026-11-15", Some("20261115000000"));
        check("2026-11", Some("20261101000000"));
        check("2026", Some("20260101000000"));
        check("Sun, 15 Nov 2026 20:00:00 GMT", Some("20261115200000"));
        check("yesterday", None);
        check("", None);
    }
}
