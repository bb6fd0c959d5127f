//! When the next run of a collection begins by itself, in words.

use teia_base::Timestamp;

use crate::schedule::{Due, Schedule, ScheduleConfig};

/// One sentence that says it, on the schedule's own clock; `began` is when the last run did. A schedule that cannot be
/// read has none.
pub fn next_run_in_words(
    config: &ScheduleConfig,
    began: Option<Timestamp>,
    now: Timestamp,
) -> Option<String> {
    if !config.is_set() {
        return Some("No run begins by itself: it runs when you start it.".to_owned());
    }
    let schedule = Schedule::parse(config).ok()?;
    let told = |moment: Timestamp| {
        let (day, time) = schedule.on_its_clock(moment);
        format!("{day} at {time} ({})", config.time_zone)
    };
    Some(match schedule.due_after(began, now) {
        Due::Run { of, .. } => format!(
            "A run is due since {}: `teia serve` begins it as soon as it runs and the run before has ended.",
            told(of)
        ),
        Due::Wait {
            until: Some(next), ..
        } => format!("The next run begins on {}, by `teia serve`.", told(next)),
        Due::Wait { until: None, .. } => match (schedule.end(), schedule.start()) {
            (Some(end), _) if end < now => {
                format!("Never again by itself: its end, {}, has passed.", told(end))
            }
            (Some(end), _) => format!(
                "Never again by itself: nothing is due before its end, {}.",
                told(end)
            ),
            (None, Some(start)) => format!(
                "Never again by itself: its one moment, {}, has passed.",
                told(start)
            ),
            (None, None) => "Never again by itself.".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: &str, began: Option<&str>, now: &str, told: &str) {
        let config: ScheduleConfig = toml::from_str(settings).unwrap();
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let words = next_run_in_words(&config, began.map(at), at(now));
        assert_eq!(words.as_deref(), Some(told), "{settings}");
    }

    const NIGHTLY: &str =
        "start = \"2026-06-01T01:00\"\nevery = \"1d\"\ntime-zone = \"Europe/Lisbon\"\n";

    #[test]
    fn the_next_run_is_told_on_the_clock_of_the_schedule() {
        // Lisbon is an hour ahead of UTC in summer, and not in winter.
        check(
            NIGHTLY,
            Some("2026-07-01T00:00:05Z"),
            "2026-07-01T12:00:00Z",
            "The next run begins on 2026-07-02 at 01:00 (Europe/Lisbon), by `teia serve`.",
        );
        check(
            NIGHTLY,
            Some("2026-12-01T01:00:05Z"),
            "2026-12-01T12:00:00Z",
            "The next run begins on 2026-12-02 at 01:00 (Europe/Lisbon), by `teia serve`.",
        );
        check(
            "cron = \"30 1 * * mon\"",
            None,
            "2026-11-18T12:00:00Z",
            "The next run begins on 2026-11-23 at 01:30 (UTC), by `teia serve`.",
        );
    }

    #[test]
    fn a_run_that_was_missed_is_due_unless_missed_ones_are_skipped() {
        let (began, now) = (Some("2026-07-01T00:00:05Z"), "2026-07-04T12:00:00Z");
        check(
            NIGHTLY,
            began,
            now,
            "A run is due since 2026-07-04 at 01:00 (Europe/Lisbon): `teia serve` begins it as soon as it runs and the run before has ended.",
        );
        check(
            &format!("{NIGHTLY}missed = \"skip\"\n"),
            began,
            now,
            "The next run begins on 2026-07-05 at 01:00 (Europe/Lisbon), by `teia serve`.",
        );
    }

    #[test]
    fn where_no_run_follows_the_reason_is_told() {
        check(
            "",
            None,
            "2026-07-01T12:00:00Z",
            "No run begins by itself: it runs when you start it.",
        );
        let over = format!("{NIGHTLY}end = \"2026-06-30T12:00\"\n");
        let told =
            "Never again by itself: its end, 2026-06-30 at 12:00 (Europe/Lisbon), has passed.";
        // Also where a run before the end was missed: no run begins after it.
        for began in [Some("2026-06-30T00:00:05Z"), None] {
            check(&over, began, "2026-07-01T12:00:00Z", told);
        }
        check(
            &over,
            Some("2026-06-30T00:00:05Z"),
            "2026-06-30T10:00:00Z",
            "Never again by itself: nothing is due before its end, 2026-06-30 at 12:00 (Europe/Lisbon).",
        );
        check(
            "start = \"2026-06-01\"\n",
            Some("2026-06-01T00:00:01Z"),
            "2026-06-02T00:00:00Z",
            "Never again by itself: its one moment, 2026-06-01 at 00:00 (UTC), has passed.",
        );
    }
}
