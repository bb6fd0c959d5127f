//! When runs of a collection are due: a function of moments, without a clock of its own.
//!
//! ```text
//! ScheduleConfig ──parse──> Schedule ──next(after)──> the next moment
//!                                     └─due(considered, now)─> start a run now, or wait until then
//! ```
//!
//! Moments are counted from the start, never from the end of a run before: a run that takes long
//! moves none. Whoever asks keeps the moment up to which it has asked, in the same place as the
//! runs themselves, so that after a restart no moment is forgotten and none counts twice.
//!
//! Days are days of the calendar in the schedule's time zone: a run at half past seven stays there
//! when the clocks change. Hours and minutes are time that passes. A time of day that does not exist
//! on a day is moved by as much as the clocks were; one that exists twice counts once.

use std::time::Duration;

use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, JobType};
use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use serde::{Deserialize, Serialize};
use teia_base::Timestamp;
use teia_base::measure::{format_duration, parse_duration};

/// A moment that is noticed within this time was not missed.
const GRACE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
/// By so much the last run may have begun later than now: whoever sets a clock right sets it by less.
const MOST_AHEAD: Duration = DAY;
/// Clocks are moved by less.
const LOOK_BACK: Duration = Duration::from_secs(3 * 3600);
/// Moments that passed are counted up to here.
const MOST_COUNTED: u64 = 1_000;
/// Runs closer than this to each other are a mistake.
const LEAST: Duration = Duration::from_secs(60);

/// When runs begin, as people write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScheduleConfig {
    /// No run begins before: `2026-11-15` or `2026-11-15T07:30`. With `every` it is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// No run begins after it, not even one that was missed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// A run begins every so often: `6h`, or `7d`, which are days of the calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// Or at these times: minute, hour, day of the month, month, day of the week; `30 1 * * mon-fri`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Where the clock hangs that all of these are read from: `Europe/Lisbon`, `UTC`.
    pub time_zone: String,
    /// What becomes of runs that were due while nobody was there to begin them: `run` begins one for
    /// all of them, `skip` waits for the next.
    pub missed: Missed,
    /// A run ends at the latest this long after it was begun.
    #[serde(
        with = "crate::collection::optional_duration",
        skip_serializing_if = "Option::is_none"
    )]
    pub deadline: Option<Duration>,
    /// Requests are made only in these hours of the day: `01:00-06:00`; those under way end, none is made outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Where several collections run at once: a weight of 3 gets three times the requests of a weight of 1 while they want to
    /// ask more hosts than the process asks at once (256, or fewer on a small machine), and three times the processor while there
    /// are more pages to read than it reads. What one leaves is for the others.
    pub weight: u32,
}

impl ScheduleConfig {
    /// How often runs begin by themselves, in words.
    pub fn beat(&self) -> String {
        match (&self.every, &self.cron) {
            (Some(every), _) => format!("every {every}"),
            (None, Some(cron)) => format!("at `{cron}`"),
            (None, None) => "once".to_owned(),
        }
    }

    /// Whether it says when runs begin.
    pub fn is_set(&self) -> bool {
        self.start.is_some() || self.every.is_some() || self.cron.is_some()
    }
}

/// The setting to which a mistake in a schedule belongs.
pub(crate) fn blamed(config: &ScheduleConfig) -> &'static str {
    let Ok(zone) = TimeZone::get(&config.time_zone) else {
        return "time-zone";
    };
    let moment = |text: &Option<String>| text.as_ref().map(|text| read_moment(text, &zone));
    match (moment(&config.start), moment(&config.end)) {
        (Some(None), _) => return "start",
        (_, Some(None)) => return "end",
        (Some(Some(start)), Some(Some(end))) if end < start => return "end",
        _ => {}
    }
    match (&config.every, &config.cron) {
        (Some(_), _) => "every",
        (None, Some(_)) => "cron",
        _ => "start",
    }
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self {
            start: None,
            end: None,
            every: None,
            cron: None,
            time_zone: "UTC".to_owned(),
            missed: Missed::Run,
            deadline: None,
            window: None,
            weight: 1,
        }
    }
}

/// What becomes of runs that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    /// One begins at once, for all of them.
    Run,
    /// None does.
    Skip,
}

/// When runs begin.
#[derive(Clone, Debug)]
pub struct Schedule {
    zone: TimeZone,
    start: Option<Zoned>,
    end: Option<Timestamp>,
    beat: Beat,
    missed: Missed,
}

#[derive(Clone, Debug)]
enum Beat {
    /// At the start, and never again.
    Once,
    Days(i64),
    Passing(Duration),
    Cron(Box<Cron>),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A run is to begin now.
    Run {
        /// The moment for which; this is what was considered from now on.
        of: Timestamp,
        /// How many moments before it had no run; at most about a thousand are counted.
        missed: u64,
    },
    /// Nothing until then; never again where there is no moment. Everything up to `considered` was
    /// looked at.
    Wait {
        /// The next moment.
        until: Option<Timestamp>,
        /// What was considered from now on.
        considered: Timestamp,
    },
}

impl Schedule {
    /// Takes a schedule in; a message says what is wrong with it, and what to write.
    pub fn parse(config: &ScheduleConfig) -> Result<Self, String> {
        let zone = TimeZone::get(&config.time_zone).map_err(|_| {
            format!(
                "there is no time zone `{}` on this machine; write for example `Europe/Lisbon`, `America/Sao_Paulo` or `UTC`",
                config.time_zone
            )
        })?;
        let moment = |key: &str, text: &Option<String>| {
            match text {
            None => Ok(None),
            Some(text) => read_moment(text, &zone)
                .map(Some)
                .ok_or_else(|| format!("`{text}` is no moment for `{key}`; write for example `2026-11-15` or `2026-11-15T07:30`")),
        }
        };
        let (start, end) = (moment("start", &config.start)?, moment("end", &config.end)?);
        if let (Some(start), Some(end)) = (&start, &end)
            && end < start
        {
            let text = |moment: &Option<String>| moment.clone().unwrap_or_default();
            let (start, end) = (text(&config.start), text(&config.end));
            return Err(format!(
                "the end {end} comes before the start {start}; write a later one"
            ));
        }
        let beat = match (&config.every, &config.cron) {
            (Some(_), Some(_)) => {
                return Err("`every` and `cron` say two things; write one of them".to_owned());
            }
            (Some(every), None) => read_every(every)?,
            (None, Some(cron)) => read_cron(cron)?,
            (None, None) => Beat::Once,
        };
        if start.is_none() && matches!(beat, Beat::Once | Beat::Days(_) | Beat::Passing(_)) {
            return Err("write a `start`: from it the runs are counted".to_owned());
        }
        Ok(Self {
            zone,
            start,
            end: end.as_ref().map(timestamp),
            beat,
            missed: config.missed,
        })
    }

    /// Whether the clock and the moments can be read, whatever else is there.
    pub(crate) fn check_moments(config: &ScheduleConfig) -> Result<(), String> {
        let alone = ScheduleConfig {
            // With it nothing else is asked for.
            cron: Some("0 0 * * *".to_owned()),
            every: None,
            ..config.clone()
        };
        Self::parse(&alone).map(drop)
    }

    /// The last moment before the start, where there is a start.
    pub fn before_start(&self) -> Option<Timestamp> {
        let start = self.start.as_ref().map(timestamp)?;
        Some(Timestamp::from_micros(start.as_micros() - 1))
    }

    /// The first moment after this one, if there is any.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let next = match (&self.beat, &self.start) {
            (Beat::Cron(cron), start) => self.next_of_cron(cron, start.as_ref(), after),
            (_, None) => None,
            (_, Some(start)) if timestamp(start) > after => Some(timestamp(start)),
            (Beat::Once, _) => None,
            (Beat::Passing(every), Some(start)) => {
                let start = timestamp(start);
                let passed = after.since(start).as_micros() / every.as_micros() + 1;
                let later = passed.checked_mul(every.as_micros())?;
                Some(start.plus(Duration::from_micros(u64::try_from(later).ok()?)))
            }
            (Beat::Days(days), Some(start)) => self.next_day(start, *days, after),
        };
        next.filter(|next| self.end.is_none_or(|end| *next <= end))
    }

    fn next_of_cron(
        &self,
        cron: &Cron,
        start: Option<&Zoned>,
        after: Timestamp,
    ) -> Option<Timestamp> {
        // The start itself may be one.
        let least = start.map(|start| Timestamp::from_micros(timestamp(start).as_micros() - 1));
        let after = least.map_or(after, |least| least.max(after));
        if cron.determine_job_type() == JobType::IntervalWildcard {
            // `*/15` goes by time that passes, through an hour that the clocks show twice.
            let next = cron.find_next_occurrence(&zoned(after, &self.zone), false);
            return next.ok().map(|next| timestamp(&next));
        }
        // A time of day is looked for on a clock that is never moved, and then on the real one: moved
        // on where it does not exist, the first of two where it does twice.
        let civil = zoned(after, &self.zone).datetime();
        let mut from = civil
            .checked_sub(LOOK_BACK)
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()?;
        loop {
            from = cron.find_next_occurrence(&from, false).ok()?;
            let moment = self.zone.to_ambiguous_zoned(from.datetime());
            let next = timestamp(&moment.compatible().ok()?);
            if next > after {
                return Some(next);
            }
        }
    }

    /// The first of every so many days after a moment, at the start's time of day.
    fn next_day(&self, start: &Zoned, days: i64, after: Timestamp) -> Option<Timestamp> {
        let now = zoned(after, &self.zone);
        let passed = now.date().since(start.date()).ok()?.get_days();
        // One before what is near, because a time of day may have passed or not.
        let mut count = (i64::from(passed) / days - 1).max(0);
        loop {
            let date = start
                .date()
                .checked_add(Span::new().days(count.checked_mul(days)?));
            let moment = date.ok()?.to_datetime(start.time());
            let moment = self.zone.to_ambiguous_zoned(moment).compatible().ok()?;
            if timestamp(&moment) > after {
                return Some(timestamp(&moment));
            }
            count += 1;
        }
    }

    /// The last moment after one and up to another, found by halves.
    fn last_until(&self, after: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let passed = |from: Timestamp| self.next(from).filter(|moment| *moment <= now);
        let (mut low, mut high) = (after.as_micros(), now.as_micros());
        let mut last = passed(after)?;
        while let Some(later) = passed(last) {
            last = later;
            low = low.max(later.as_micros());
            // There is a moment after `low`, and none after `high`.
            let middle = low + (high - low) / 2;
            match passed(Timestamp::from_micros(middle)) {
                Some(moment) => (low, last) = (middle, moment),
                None => high = middle,
            }
        }
        Some(last)
    }

    /// The run that comes next, or that is due, after the one that began last.
    pub fn next_run(&self, began: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        match self.due_after(began, now) {
            Due::Run { of, .. } => Some(of),
            Due::Wait { until, .. } => until,
        }
    }

    /// What is to be done now, after the run that began last.
    pub(crate) fn due_after(&self, began: Option<Timestamp>, now: Timestamp) -> Due {
        let began = believed(began, now);
        let considered = began.or_else(|| self.before_start()).unwrap_or(now);
        self.due(considered, now)
    }

    /// When the first run may begin.
    pub(crate) fn start(&self) -> Option<Timestamp> {
        self.start.as_ref().map(timestamp)
    }

    /// When the last run may begin.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// A moment as the clock of the schedule shows it: the day and the time of day.
    pub(crate) fn on_its_clock(&self, moment: Timestamp) -> (String, String) {
        let moment = zoned(moment, &self.zone);
        let shown = |form: &str| moment.strftime(form).to_string();
        (shown("%Y-%m-%d"), shown("%H:%M"))
    }

    /// What is to be done now, if everything up to `considered` has been done or let go.
    pub fn due(&self, considered: Timestamp, now: Timestamp) -> Due {
        let mut last = None;
        let mut passed = 0;
        let mut from = considered;
        while let Some(moment) = self.next(from).filter(|moment| *moment <= now) {
            (last, from) = (Some(moment), moment);
            passed += 1;
            if passed == MOST_COUNTED {
                // Of every minute since 1990 nobody wants the number, and all wait for the answer.
                (last, from) = self
                    .last_until(moment, now)
                    .map_or((last, from), |it| (Some(it), it));
                break;
            }
        }
        // What was missed is made up for until the end, and not after it.
        let is_over = self.end.is_some_and(|end| now > end);
        let makes_up = self.missed == Missed::Run && !is_over;
        match last {
            Some(of) if makes_up || now.since(of) <= GRACE => Due::Run {
                of,
                missed: passed - 1,
            },
            last => Due::Wait {
                until: self.next(from),
                considered: last.unwrap_or(considered),
            },
        }
    }
}

/// When something was, if that can be: what is of the far future was noted while the clock was wrong, and nobody knows
/// when that was.
pub(crate) fn believed(moment: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    moment.filter(|moment| moment.since(now) <= MOST_AHEAD)
}

fn read_moment(text: &str, zone: &TimeZone) -> Option<Zoned> {
    let text = text.trim();
    // With a zone of its own, or without.
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.to_zoned(zone.clone()));
    }
    let moment: civil::DateTime = text.parse().ok()?;
    zone.to_ambiguous_zoned(moment).compatible().ok()
}

fn read_every(text: &str) -> Result<Beat, String> {
    let every = parse_duration(text)?;
    if every < LEAST {
        return Err(format!(
            "every {text} is too often; write {} or more",
            format_duration(LEAST)
        ));
    }
    // Whole days are days of the calendar, also those of 23 and 25 hours.
    if text.trim_end().ends_with('d') && every.as_secs() % DAY.as_secs() == 0 {
        let days = i64::try_from(every.as_secs() / DAY.as_secs());
        return Ok(Beat::Days(days.map_err(|_| format!("{text} is too long"))?));
    }
    Ok(Beat::Passing(every))
}

/// What is wrong with an expression that cannot be read, in our words.
fn wrong_part(text: &str) -> String {
    const PARTS: [(&str, u32, u32); 5] = [
        ("minute", 0, 59),
        ("hour", 0, 23),
        ("day of the month", 1, 31),
        ("month", 1, 12),
        ("day of the week", 0, 7),
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() != PARTS.len() {
        return format!("it has {} parts, and not five", words.len());
    }
    for ((name, least, most), word) in PARTS.into_iter().zip(words) {
        // What stands behind a slash is a step.
        let values = word.split(',').filter_map(|one| one.split('/').next());
        for number in values.flat_map(|it| it.split(|c: char| !c.is_ascii_digit())) {
            let value = number.parse::<u32>();
            let is_right =
                number.is_empty() || value.is_ok_and(|value| (least..=most).contains(&value));
            if !is_right {
                return format!("the {name} is a number from {least} to {most}, and not {number}");
            }
        }
    }
    "a part of it says nothing".to_owned()
}

fn read_cron(text: &str) -> Result<Beat, String> {
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build();
    let cron = parser.parse(text).map_err(|_| {
        let wrong = wrong_part(text);
        format!(
            "`{text}` is no cron expression ({wrong}); write minute, hour, day of the month, month and day of the week, for example `30 1 * * mon-fri`"
        )
    })?;
    // The thirtieth of February is a good expression, and nobody who writes it wants a run that never begins.
    let any = zoned(Timestamp::from_micros(0), &TimeZone::UTC);
    if cron.find_next_occurrence(&any, false).is_err() {
        return Err(format!(
            "`{text}` names a day that never comes; write a day that its month has"
        ));
    }
    Ok(Beat::Cron(Box::new(cron)))
}

fn zoned(moment: Timestamp, zone: &TimeZone) -> Zoned {
    let moment = jiff::Timestamp::from_microsecond(moment.as_micros());
    moment
        .unwrap_or(jiff::Timestamp::MAX)
        .to_zoned(zone.clone())
}

fn timestamp(moment: &Zoned) -> Timestamp {
    Timestamp::from_micros(moment.timestamp().as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn schedule(text: &str) -> Schedule {
        Schedule::parse(&toml::from_str(text).unwrap()).unwrap()
    }

    /// The moments from one to another, as the zone's clock shows them.
    fn moments(text: &str, from: &str, to: &str) -> Vec<Zoned> {
        let schedule = schedule(text);
        let mut moments = Vec::new();
        let mut after = at(from);
        while let Some(next) = schedule.next(after).filter(|next| *next < at(to)) {
            assert!(next > after);
            moments.push(zoned(next, &schedule.zone));
            after = next;
        }
        moments
    }

    fn shown(moments: &[Zoned]) -> Vec<String> {
        let show = |moment: &Zoned| moment.strftime("%m-%d %H:%M %z").to_string();
        moments.iter().map(show).collect()
    }

    #[test]
    fn a_wrong_part_of_a_cron_expression_is_named() {
        for (text, wanted) in [
            (
                "61 1 * * *",
                "the minute is a number from 0 to 59, and not 61",
            ),
            (
                "1 1-24 * * *",
                "the hour is a number from 0 to 23, and not 24",
            ),
            ("0 1 * *", "it has 4 parts, and not five"),
            ("0 1 * * someday", "a part of it says nothing"),
        ] {
            let told = read_cron(text).unwrap_err();
            assert!(told.contains(wanted), "{text}: {told}");
            assert!(!told.contains("error"), "{told}");
        }
    }

    #[test]
    fn a_run_that_began_while_the_clock_was_years_ahead_is_made_up_for() {
        let daily = schedule("start = \"2026-11-01T01:00\"\nevery = \"1d\"");
        let now = at("2026-11-17T20:00:00Z");
        let of = at("2026-11-17T01:00:00Z");
        for (began, expected) in [
            ("2036-11-17T01:00:00Z", Some(of)),
            // A clock that was set back by a little: nothing is done twice.
            ("2026-11-17T21:00:00Z", None),
            ("2026-11-17T01:00:00Z", None),
            ("2026-11-16T01:00:00Z", Some(of)),
        ] {
            let due = match daily.due_after(Some(at(began)), now) {
                Due::Run { of, .. } => Some(of),
                Due::Wait { .. } => None,
            };
            assert_eq!(due, expected, "{began}");
        }
    }

    #[test]
    fn however_many_moments_were_missed_the_answer_comes_at_once() {
        let minutes = schedule("start = \"1990-01-01\"\ncron = \"* * * * *\"");
        let now = at("2026-11-17T20:00:30Z");
        let due = minutes.due(minutes.before_start().unwrap(), now);
        let Due::Run { of, missed } = due else {
            panic!("{due:?}");
        };
        assert_eq!(of, at("2026-11-17T20:00:00Z"));
        assert!(missed >= 999);
        // Also where the last of them is long ago.
        let january = schedule("start = \"1990-01-01\"\ncron = \"*/5 * * 1 *\"\nmissed = \"skip\"");
        let due = january.due(january.before_start().unwrap(), now);
        let wait = Due::Wait {
            until: Some(at("2027-01-01T00:00:00Z")),
            considered: at("2026-01-31T23:55:00Z"),
        };
        assert_eq!(due, wait);
    }

    #[test]
    fn days_keep_their_time_of_day_when_the_clocks_change() {
        let text = "start = \"2026-01-01T07:30\"\nevery = \"1d\"\ntime-zone = \"Europe/Lisbon\"";
        let year = moments(text, "2025-12-01", "2027-01-01");
        assert_eq!(year.len(), 365);
        assert!(
            year.iter()
                .all(|moment| (moment.hour(), moment.minute()) == (7, 30))
        );
        let spring = moments(text, "2026-03-28", "2026-03-31");
        assert_eq!(
            shown(&spring),
            [
                "03-28 07:30 +0000",
                "03-29 07:30 +0100",
                "03-30 07:30 +0100"
            ]
        );
        // Weeks too, and they begin with the start, whenever that was.
        let text =
            "start = \"2026-01-05T22:00\"\nevery = \"7d\"\ntime-zone = \"America/Sao_Paulo\"";
        let weeks = moments(text, "2026-06-01", "2026-09-01");
        assert_eq!(weeks.len(), 13);
        assert!(
            weeks
                .iter()
                .all(|week| week.weekday() == civil::Weekday::Monday)
        );
    }

    #[test]
    fn hours_are_hours_whatever_the_clocks_say() {
        let text = "start = \"2026-03-28T00:00\"\nevery = \"6h\"\ntime-zone = \"Europe/Lisbon\"";
        let spring = moments(text, "2026-03-28T20:00:00Z", "2026-03-29T14:00:00Z");
        assert_eq!(
            shown(&spring),
            [
                "03-29 01:00 +0100",
                "03-29 07:00 +0100",
                "03-29 13:00 +0100"
            ]
            .map(|text| text.replace("01:00 +0100", "00:00 +0000"))
        );
        let all = moments(text, "2026-03-28", "2026-11-28");
        let gaps = all.windows(2).map(|pair| &pair[1] - &pair[0]);
        assert!(
            gaps.into_iter()
                .all(|gap| gap.total(jiff::Unit::Second).unwrap() == 21_600.0)
        );
    }

    #[test]
    fn a_time_of_day_that_is_missing_or_there_twice_has_one_run() {
        for (zone, time) in [
            ("Europe/Lisbon", "30 1 * * *"),
            ("America/New_York", "30 2 * * *"),
            ("America/New_York", "30 1 * * *"),
            ("Australia/Lord_Howe", "15 2 * * *"),
            ("UTC", "0 0 * * *"),
        ] {
            let text = format!("cron = \"{time}\"\ntime-zone = \"{zone}\"");
            let year = moments(&text, "2026-01-01T12:00:00Z", "2027-01-01T12:00:00Z");
            let mut days: Vec<civil::Date> = year.iter().map(Zoned::date).collect();
            days.dedup();
            assert_eq!((year.len(), days.len()), (365, 365), "{zone} {time}");
            let strange = year.windows(2).filter(|pair| {
                let hours = (&pair[1] - &pair[0]).total(jiff::Unit::Hour).unwrap();
                assert!((22.0..=26.0).contains(&hours), "{zone} {time}: {pair:?}");
                hours != 24.0
            });
            assert!(strange.count() <= 4, "{zone} {time}");
        }
        // What goes by intervals goes on: 96 quarters of an hour a day, and four more or fewer.
        let text = "cron = \"*/15 * * * *\"\ntime-zone = \"America/New_York\"";
        let autumn = moments(text, "2026-11-01T03:59:00Z", "2026-11-02T04:59:00Z");
        assert_eq!(autumn.len(), 100);
        // The same for days counted from a start: the clock that was moved moves the run.
        let text = "start = \"2026-03-28T01:30\"\nevery = \"1d\"\ntime-zone = \"Europe/Lisbon\"";
        let spring = moments(text, "2026-03-27", "2026-03-31");
        assert_eq!(
            shown(&spring),
            [
                "03-28 01:30 +0000",
                "03-29 02:30 +0100",
                "03-30 01:30 +0100"
            ]
        );
        let autumn = moments(text, "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");
        assert_eq!(shown(&autumn), ["10-25 01:30 +0100", "10-26 01:30 +0000"]);
    }

    #[test]
    fn start_and_end_are_kept() {
        let text = "start = \"2026-02-01\"\nend = \"2026-02-03T12:00\"\ncron = \"0 6 * * *\"";
        let days = moments(text, "2026-01-01", "2027-01-01");
        assert_eq!(
            shown(&days),
            [
                "02-01 06:00 +0000",
                "02-02 06:00 +0000",
                "02-03 06:00 +0000"
            ]
        );
        let once = moments("start = \"2026-02-01T06:00\"", "2026-01-01", "2027-01-01");
        assert_eq!(shown(&once), ["02-01 06:00 +0000"]);
        let weekdays = moments("cron = \"30 1 * * mon-fri\"", "2026-11-01", "2026-12-01");
        assert_eq!(weekdays.len(), 21);
    }

    /// What somebody does who looks every so often, is away at times, and keeps what was considered.
    fn simulate(
        schedule: &Schedule,
        from: &str,
        to: &str,
        is_away: impl Fn(Timestamp) -> bool,
    ) -> Vec<(String, u64)> {
        let (mut now, mut considered) = (at(from), at(from));
        let mut runs = Vec::new();
        while now < at(to) {
            if !is_away(now) {
                match schedule.due(considered, now) {
                    Due::Run { of, missed } => {
                        assert!(of > considered && of <= now);
                        considered = of;
                        runs.push((now.to_string(), missed));
                    }
                    Due::Wait {
                        until,
                        considered: looked,
                    } => {
                        assert!(until.is_none_or(|until| until > now));
                        assert!(looked >= considered);
                        considered = looked;
                    }
                }
            }
            now = now.plus(Duration::from_secs(20));
        }
        runs
    }

    #[test]
    fn over_months_with_absences_no_run_is_forgotten_and_none_is_doubled() {
        let text = |missed: &str| {
            format!(
                "start = \"2026-02-01T01:30\"\nevery = \"1d\"\ntime-zone = \"Europe/Lisbon\"\nmissed = \"{missed}\""
            )
        };
        let never = |_: Timestamp| false;
        let all = simulate(&schedule(&text("run")), "2026-02-01", "2026-05-01", never);
        assert_eq!(all.len(), 89);
        assert!(all.iter().all(|(_, missed)| *missed == 0));
        assert_eq!(
            all,
            simulate(&schedule(&text("skip")), "2026-02-01", "2026-05-01", never)
        );
        // Away over the change of the clocks, for four moments.
        let away =
            |now: Timestamp| now >= at("2026-03-27T12:00:00Z") && now < at("2026-03-31T12:00:00Z");
        let run = simulate(&schedule(&text("run")), "2026-02-01", "2026-05-01", away);
        assert_eq!(run.len(), 89 - 3);
        let late: Vec<_> = run.iter().filter(|(_, missed)| *missed > 0).collect();
        assert_eq!(late, [&("2026-03-31T12:00:00Z".to_owned(), 3)]);
        let skip = simulate(&schedule(&text("skip")), "2026-02-01", "2026-05-01", away);
        assert_eq!(skip.len(), 89 - 4);
        assert!(skip.iter().all(|(_, missed)| *missed == 0));
        // Back within the grace, nothing was missed.
        let blink =
            |now: Timestamp| now >= at("2026-02-10T01:29:00Z") && now < at("2026-02-10T01:30:40Z");
        assert_eq!(
            simulate(&schedule(&text("skip")), "2026-02-01", "2026-05-01", blink).len(),
            89
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_write() {
        for (text, words) in [
            ("cron = \"30 1 * *\"", "`30 1 * * mon-fri`"),
            ("cron = \"61 1 * * *\"", "no cron expression"),
            ("cron = \"* * * * * *\"", "no cron expression"),
            ("cron = \"0 1 30 2 *\"", "never comes"),
            ("cron = \"0 1 31 4,6,9,11 *\"", "never comes"),
            (
                "cron = \"0 1 * * *\"\ntime-zone = \"Europe/Lisboa\"",
                "`Europe/Lisbon`",
            ),
            ("every = \"1d\"", "`start`"),
            ("start = \"soon\"", "2026-11-15T07:30"),
            ("start = \"2026-02-01\"\nevery = \"1s\"", "too often"),
            ("start = \"2026-02-01\"\nevery = \"1\"", "unit"),
            (
                "start = \"2026-02-01\"\nevery = \"1d\"\ncron = \"0 1 * * *\"",
                "one of them",
            ),
            (
                "start = \"2026-02-01\"\nend = \"2026-01-01\"\nevery = \"1d\"",
                "before the start",
            ),
            ("", "`start`"),
        ] {
            let error = Schedule::parse(&toml::from_str(text).unwrap()).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        // One that comes every fourth year does come.
        Schedule::parse(&toml::from_str("cron = \"0 1 29 2 *\"").unwrap()).unwrap();
    }
}
