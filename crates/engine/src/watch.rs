//! Watching a run: the newest figures, what happened lately, and what was counted; all of it bounded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::{Clock, SystemClock, Timestamp};

use crate::events::EventLog;
use crate::feedback::{Event, Feedback, Level, Progress};

/// Progress reports for each point at first: a point a second.
const REPORTS_A_POINT: u64 = 5;
/// Events that are remembered.
pub(crate) const EVENTS: usize = 200;
/// Attempts that are remembered.
const ATTEMPTS: usize = 20;
/// Points of the curve; with more, every second one goes, and they come half as often.
const POINTS: usize = 600;
/// Letters of a sentence or an address that are remembered.
const LETTERS: usize = 2_000;
/// Upper ends of the spans by which times are counted, in seconds; the last span has none.
pub const SPANS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Listens to a run for those who come later and ask. Another listener may stand behind it.
#[derive(Debug)]
pub struct Watch {
    behind: Arc<dyn Feedback>,
    /// Where it is written down what happens.
    log: Option<Arc<EventLog>>,
    clock: SystemClock,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    latest: Progress,
    events: VecDeque<Happened>,
    attempts: VecDeque<Attempted>,
    counts: Counts,
    number: u64,
    /// The run that was told to have begun.
    begun: Option<u32>,
    points: Vec<Point>,
    /// Every so many progress reports with a point; a report comes about five times a second.
    stride: u64,
    reports: u64,
}

/// Where a run stood at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// When, in microseconds since 1970.
    pub at: i64,
    /// Documents answered up to then.
    pub fetched: u64,
    /// Bytes received up to then.
    pub bytes: u64,
    /// Attempts up to then without an answer, or with an error.
    pub errors: u64,
    /// URLs that waited.
    pub queue: u64,
    /// Hosts that were being asked.
    pub hosts_active: u64,
}

/// A sentence of a run, and when it was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// Counts up from 1.
    pub number: u64,
    /// When, in UTC.
    pub at: String,
    /// `info`, `warning` or `error`.
    pub level: String,
    /// What.
    pub text: String,
}

/// An attempt that has just ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempted {
    /// When it ended, in UTC.
    pub at: String,
    /// At what.
    pub url: String,
    /// Its outcome: the number and the name.
    pub outcome: i16,
    /// The name of the outcome.
    pub outcome_name: String,
    /// Bytes that came.
    pub bytes: u64,
}

/// What was counted since this process began with the collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Pages, as runs count them: what is tried again and robots.txt are none.
    #[serde(default)]
    pub pages: u64,
    /// Attempts by outcome.
    pub outcomes: BTreeMap<i16, u64>,
    /// Bytes received.
    pub bytes: u64,
    /// Commits on disk.
    pub commits: u64,
    /// When the last one was, in seconds since 1970; 0 before the first.
    pub last_commit: u64,
    /// From a request to its first byte.
    pub first_byte: Histogram,
    /// From a name to the last byte.
    pub whole: Histogram,
}

/// Times by span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Those within each of [`SPANS`], and those beyond.
    pub spans: [u64; SPANS.len() + 1],
    /// All of them together, in seconds.
    pub sum: f64,
}

impl Histogram {
    fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        let at = SPANS.iter().position(|end| seconds <= *end);
        self.spans[at.unwrap_or(SPANS.len())] += 1;
        self.sum += seconds;
    }
}

impl Watch {
    /// Listens, and hands on to the one behind.
    pub fn new(behind: Arc<dyn Feedback>) -> Self {
        Self {
            behind,
            log: None,
            clock: SystemClock,
            seen: Mutex::default(),
        }
    }

    /// The same, and what happens is written down, for those who ask when this process is gone; what was said before it
    /// began is remembered.
    #[must_use]
    pub fn writing(mut self, log: EventLog) -> Self {
        {
            let mut seen = self.seen();
            seen.events = log.last().into();
            seen.number = seen.events.back().map_or(0, |last| last.number);
        }
        self.log = Some(Arc::new(log));
        self
    }

    /// The same for the next run of a collection: what was counted and said before is not forgotten.
    pub fn after(behind: Arc<dyn Feedback>, earlier: &Self) -> Self {
        let next = Self {
            log: earlier.log.clone(),
            ..Self::new(behind)
        };
        {
            let (mut mine, theirs) = (next.seen(), earlier.seen());
            mine.counts = theirs.counts.clone();
            mine.events.clone_from(&theirs.events);
            mine.number = theirs.number;
        }
        next
    }

    /// The newest figures.
    pub fn latest(&self) -> Progress {
        self.seen().latest.clone()
    }

    /// What was said lately, oldest first.
    pub fn events(&self) -> Vec<Happened> {
        self.seen().events.iter().cloned().collect()
    }

    /// What was attempted lately, newest first.
    pub fn attempts(&self) -> Vec<Attempted> {
        self.seen().attempts.iter().rev().cloned().collect()
    }

    /// How the run came to where it stands, oldest first; a few hundred points, however long it is.
    pub fn points(&self) -> Vec<Point> {
        self.seen().points.clone()
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.seen().counts.clone()
    }

    /// Something to be remembered that the run itself did not say.
    pub fn note(&self, level: Level, text: &str) {
        self.write(self.clock.wall(), level, text);
    }

    fn write(&self, at: Timestamp, level: Level, text: &str) {
        let mut seen = self.seen();
        let happened = seen.note(at, level, text);
        if let Some(log) = &self.log {
            log.add(happened);
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn take(&mut self, progress: &Progress, at: Timestamp) {
        self.latest = progress.clone();
        let stride = self.stride.max(REPORTS_A_POINT);
        self.reports += 1;
        if !(self.reports - 1).is_multiple_of(stride) {
            return;
        }
        self.points.push(Point {
            at: at.as_micros(),
            fetched: progress.fetched,
            bytes: progress.bytes,
            errors: progress.errors,
            queue: progress.queue,
            hosts_active: progress.hosts_active as u64,
        });
        if self.points.len() > POINTS {
            let mut is_odd = false;
            self.points.retain(|_| {
                is_odd = !is_odd;
                is_odd
            });
            self.stride = stride * 2;
            // The next one stands as far from the last as the others from each other.
            self.reports = 1;
        }
    }

    fn note(&mut self, at: Timestamp, level: Level, text: &str) -> &Happened {
        self.number = self.number.saturating_add(1);
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        let level = match level {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        self.events.push_back(Happened {
            number: self.number,
            at: at.to_string(),
            level: level.to_owned(),
            text: begun(text),
        });
        &self.events[self.events.len() - 1]
    }
}

impl Feedback for Watch {
    fn hear(&self, event: &Event) {
        let at = self.clock.wall();
        match event {
            Event::Progress(progress) => self.seen().take(progress, at),
            Event::Notice { level, text } => self.write(at, *level, text),
            Event::StillPaused => {
                let text = "an earlier process was paused, and nobody has said that it may go on";
                self.write(at, Level::Warning, text);
            }
            Event::Begun { run, goes_on } => {
                // Other settings are written down as a beginning, too.
                if self.seen().begun.replace(*run) != Some(*run) {
                    let text = if *goes_on {
                        format!("run {run} goes on")
                    } else {
                        format!("run {run} has begun")
                    };
                    self.note(Level::Info, &text);
                }
            }
            Event::Ended(Ok(reason)) => {
                let text = format!("the run has ended: {}", reason.sentence());
                self.note(Level::Info, &text);
            }
            Event::Ended(Err(error)) => {
                self.note(Level::Error, &format!("the run has failed: {error}"));
            }
            Event::Paused => self.note(Level::Info, "somebody has paused the run"),
            Event::Resumed => self.note(Level::Info, "somebody has let the run go on"),
            // A notice of it came before.
            Event::Quarantined { .. } => {}
            Event::Committed { .. } => {
                let mut seen = self.seen();
                seen.counts.commits += 1;
                seen.counts.last_commit = u64::try_from(at.as_micros() / 1_000_000).unwrap_or(0);
            }
            Event::Attempted {
                url,
                outcome,
                is_page,
                bytes,
                times,
            } => {
                let mut seen = self.seen();
                let counts = &mut seen.counts;
                counts.pages += u64::from(*is_page);
                *counts.outcomes.entry(outcome.number()).or_default() += 1;
                counts.bytes += bytes;
                if outcome.is_answered() {
                    counts.first_byte.add(times.first_byte);
                    counts.whole.add(times.total());
                }
                if seen.attempts.len() == ATTEMPTS {
                    seen.attempts.pop_front();
                }
                seen.attempts.push_back(Attempted {
                    at: at.to_string(),
                    url: begun(url.as_str()),
                    outcome: outcome.number(),
                    outcome_name: outcome.name().into_owned(),
                    bytes: *bytes,
                });
                drop(seen);
                if !self.behind.wants_attempts() {
                    return;
                }
            }
        }
        self.behind.hear(event);
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

/// The beginning of a text.
fn begun(text: &str) -> String {
    text.chars().take(LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Silence;
    use teia_base::{CanonicalUrl, Outcome, Times};

    fn attempted(number: u64) -> Event {
        Event::Attempted {
            url: CanonicalUrl::parse(&format!("http://a.example/{number}")).unwrap(),
            outcome: Outcome::http(200),
            is_page: !number.is_multiple_of(2),
            bytes: 10,
            times: Times {
                first_byte: Duration::from_millis(40),
                body: Duration::from_secs(100),
                ..Times::default()
            },
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_counted_is_not_forgotten() {
        let watch = Watch::new(Arc::new(Silence));
        for number in 0..1_000 {
            watch.hear(&attempted(number));
            watch.note(Level::Warning, &"long ".repeat(1_000));
        }
        assert_eq!(watch.attempts().len(), ATTEMPTS);
        assert_eq!(watch.attempts()[0].url, "http://a.example/999");
        let events = watch.events();
        assert_eq!(events.len(), EVENTS);
        assert_eq!(events[EVENTS - 1].number, 1_000);
        assert_eq!(events[0].text.chars().count(), LETTERS);
        let next = Watch::after(Arc::new(Silence), &watch);
        next.hear(&attempted(0));
        let counts = next.counts();
        assert_eq!((counts.outcomes[&200], counts.bytes), (1_001, 10_010));
        assert_eq!(counts.pages, 500);
        assert_eq!(counts.first_byte.spans[0], 1_001);
        assert_eq!(counts.whole.spans[SPANS.len()], 1_001);
        assert_eq!(next.events().len(), EVENTS);
        assert_eq!(next.latest(), Progress::default());
    }

    #[test]
    fn however_long_a_run_is_its_curve_has_few_points_at_equal_steps() {
        let watch = Watch::new(Arc::new(Silence));
        for fetched in 0..50_000 {
            watch.hear(&Event::Progress(Progress {
                fetched,
                ..Progress::default()
            }));
        }
        let points = watch.points();
        assert!(
            (POINTS / 2..=POINTS).contains(&points.len()),
            "{}",
            points.len()
        );
        assert_eq!(points[0].fetched, 0);
        let steps: Vec<u64> = points
            .windows(2)
            .map(|two| two[1].fetched - two[0].fetched)
            .collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
        assert_eq!(watch.latest().fetched, 49_999);
    }
}
