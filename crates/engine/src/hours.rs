//! Hours of the day in which requests are made; outside of them a run rests.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use teia_base::Timestamp;

/// `01:00-06:00`, by the clock of a time zone; several with commas, also over midnight.
#[derive(Clone, Debug)]
pub struct Hours {
    zone: TimeZone,
    /// From, and up to but not with; in minutes of the day.
    spans: Vec<(i32, i32)>,
}

impl Hours {
    /// Takes hours in; a message says what is wrong with them, and what to write.
    pub fn parse(text: &str, time_zone: &str) -> Result<Self, String> {
        let zone = TimeZone::get(time_zone)
            .map_err(|_| format!("there is no time zone `{time_zone}` on this machine"))?;
        let wrong = || {
            format!(
                "`{text}` says no hours; write for example `01:00-06:00`, or `22:00-06:00, 12:00-13:00`"
            )
        };
        let mut spans = Vec::new();
        for span in text.split(',') {
            let (from, to) = span.trim().split_once('-').ok_or_else(wrong)?;
            let from = minutes(from).ok_or_else(wrong)?;
            let to = minutes(to).ok_or_else(wrong)?;
            if from == to {
                return Err(format!(
                    "`{}` is no time at all; leave `window` out to collect at any hour",
                    span.trim()
                ));
            }
            spans.push((from, to));
        }
        Ok(Self { zone, spans })
    }

    /// Whether requests are made at this moment.
    pub fn is_open(&self, wall: Timestamp) -> bool {
        let Ok(moment) = jiff::Timestamp::from_microsecond(wall.as_micros()) else {
            return true;
        };
        let now = of_time(moment.to_zoned(self.zone.clone()).time());
        self.spans.iter().any(|&(from, to)| {
            if from < to {
                (from..to).contains(&now)
            } else {
                now >= from || now < to
            }
        })
    }
}

fn of_time(time: Time) -> i32 {
    i32::from(time.hour()) * 60 + i32::from(time.minute())
}

/// `7:30` as minutes; `24:00` is the end of the day.
fn minutes(text: &str) -> Option<i32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let is_number =
        |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(hour) || !is_number(minute) || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (hour.parse::<i32>().ok()?, minute.parse::<i32>().ok()?);
    let whole = hour * 60 + minute;
    (minute < 60 && whole <= 24 * 60).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str, zone: &str, moment: &str) -> bool {
        let hours = Hours::parse(text, zone).unwrap();
        hours.is_open(Timestamp::parse(moment).unwrap())
    }

    #[test]
    fn hours_are_those_of_the_zone_and_end_on_the_minute() {
        assert!(!open("01:00-06:00", "UTC", "2026-11-15T00:59:59Z"));
        assert!(open("01:00-06:00", "UTC", "2026-11-15T01:00:00Z"));
        assert!(open("01:00-06:00", "UTC", "2026-11-15T05:59:59Z"));
        assert!(!open("01:00-06:00", "UTC", "2026-11-15T06:00:00Z"));
        // In summer one o'clock in Lisbon is midnight in UTC.
        assert!(open("01:00-06:00", "Europe/Lisbon", "2026-07-01T00:00:00Z"));
        assert!(!open(
            "01:00-06:00",
            "Europe/Lisbon",
            "2026-12-01T00:00:00Z"
        ));
    }

    #[test]
    fn hours_may_go_over_midnight_and_be_several() {
        for (moment, is_open) in [
            ("21:59", false),
            ("22:00", true),
            ("00:00", true),
            ("05:59", true),
            ("06:00", false),
            ("12:30", true),
            ("13:00", false),
        ] {
            let moment = format!("2026-11-15T{moment}:00Z");
            assert_eq!(
                open("22:00-6:00, 12:00-13:00", "UTC", &moment),
                is_open,
                "{moment}"
            );
        }
        assert!(open("00:00-24:00", "UTC", "2026-11-15T23:59:59Z"));
    }

    #[test]
    fn what_says_no_hours_is_refused() {
        for text in [
            "",
            "1-6",
            "01:00",
            "25:00-26:00",
            "01:60-02:00",
            "01:00-01:00",
            "a-b",
            "1:0-2:0",
        ] {
            assert!(Hours::parse(text, "UTC").is_err(), "{text}");
        }
        assert!(Hours::parse("01:00-06:00", "Mars/Olympus").is_err());
    }
}
