//! Progress: a bar on a terminal, plain lines elsewhere.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressDrawTarget, ProgressStyle};
use teia_base::measure::format_size;
use teia_engine::{Event, Feedback, Level, Progress};

use super::width::{Width, cut};
use super::{counted, lines};

/// How often a plain line is written where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Listens to a run and shows where it stands, on standard error.
#[derive(Debug)]
pub(crate) struct ProgressBar {
    collection: String,
    /// The command that lifts a pause.
    resume: String,
    bar: Option<indicatif::ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last_line: Instant,
}

impl ProgressBar {
    pub(crate) fn new(collection: &str, resume: &str, is_terminal: bool) -> Self {
        let bar = is_terminal.then(|| {
            let bar = indicatif::ProgressBar::with_draw_target(
                None,
                ProgressDrawTarget::stderr_with_hz(5),
            );
            let plain = std::env::var_os("NO_COLOR").is_some();
            let template = if plain {
                "{spinner} {msg}"
            } else {
                "{spinner:.cyan} {msg}"
            };
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar
        });
        Self {
            collection: collection.to_owned(),
            resume: resume.to_owned(),
            bar,
            state: Mutex::new(State {
                last_line: Instant::now(),
            }),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, level: Level, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| lines::write_now(level, line)),
            None => lines::say_at(level, line),
        }
    }
}

impl Feedback for ProgressBar {
    fn hear(&self, event: &Event) {
        match event {
            Event::Progress(progress) => {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                match &self.bar {
                    Some(bar) => {
                        // The spinner and a space stand before it; the last column stays free.
                        let columns = Width::of_stderr().saturating_sub(3);
                        bar.set_message(line(&self.collection, progress, columns));
                        bar.tick();
                    }
                    None if state.last_line.elapsed() >= PLAIN_EVERY => {
                        state.last_line = Instant::now();
                        lines::say(&line(&self.collection, progress, usize::MAX));
                    }
                    None => {}
                }
            }
            Event::Notice { level, text } => {
                let word = match level {
                    Level::Info => "note",
                    Level::Warning => "warning",
                    Level::Error => "error",
                };
                self.say(*level, &format!("{word}: {text}"));
            }
            Event::StillPaused => {
                let line = format!(
                    "warning: {} was paused: it rests until `{}`",
                    self.collection, self.resume
                );
                self.say(Level::Warning, &line);
            }
            _ => {}
        }
    }
}

/// One line that fits: the parts stand in the order of what a person wants to know first, and those
/// for which there is no room are left out.
fn line(collection: &str, progress: &Progress, columns: usize) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people"
    )]
    let rate = format_size(progress.bytes_per_second as u64);
    let mut parts = Vec::new();
    if let Some(rest) = progress.rest {
        parts.push(rest.to_owned());
    }
    parts.push(counted(progress.fetched, "page"));
    parts.push(format!("{:.1}/s", progress.pages_per_second));
    if let Some(left) = progress.left {
        parts.push(format!("{} left", in_short(left)));
    }
    parts.push(counted(progress.errors, "error"));
    parts.push(format!("{} queued", progress.queue));
    parts.push(format!("{rate}/s"));
    parts.push(format!(
        "hosts {} active {} waiting",
        progress.hosts_active, progress.hosts_waiting
    ));
    parts.push(format_size(progress.bytes));
    let mut line = cut(collection, 12);
    if let Some(share) = progress.share {
        line = format!("{line} {}", drawn(share));
    }
    let mut between = " ";
    for part in parts {
        let length = line.chars().count() + between.chars().count() + part.chars().count();
        if length <= columns {
            line.push_str(between);
            line.push_str(&part);
            between = " · ";
        }
    }
    cut(&line, columns)
}

/// `[##........]  25%`: how much of the nearest limit is used up.
fn drawn(share: f64) -> String {
    const CELLS: usize = 10;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share between 0 and 1"
    )]
    let (full, percent) = (
        (share.clamp(0.0, 1.0) * CELLS as f64) as usize,
        (share.clamp(0.0, 1.0) * 100.0) as usize,
    );
    format!(
        "[{}{}] {percent:>3}%",
        "#".repeat(full),
        ".".repeat(CELLS - full)
    )
}

fn in_short(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Progress {
        Progress {
            fetched: 123_456,
            bytes: 98_765_432_100,
            queue: 9_876_543,
            hosts_active: 256,
            hosts_waiting: 12_345,
            errors: 4321,
            pages_per_second: 412.7,
            bytes_per_second: 9_876_543.0,
            left: Some(Duration::from_secs(4000)),
            share: Some(0.5),
            ..Progress::default()
        }
    }

    #[test]
    fn a_line_fits_however_narrow_and_says_the_first_things_first() {
        for columns in [10, 20, 40, 77, 117, 400] {
            let line = line("a-collection-with-a-long-name", &some(), columns);
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        let line = line("default", &some(), 77);
        for part in [
            "[#####.....]  50%",
            "123 456 pages",
            "412.7/s",
            "1h06m left",
        ] {
            assert!(line.contains(part), "no {part} in {line}");
        }
    }

    #[test]
    fn without_a_limit_there_is_no_bar() {
        let progress = Progress {
            share: None,
            left: None,
            fetched: 1,
            ..some()
        };
        let line = line("default", &progress, 200);
        assert!(line.starts_with("default 1 page · "), "{line}");
        assert!(line.contains("hosts 256 active 12345 waiting"), "{line}");
    }

    #[test]
    fn a_rest_is_named() {
        let progress = Progress {
            rest: Some("paused"),
            ..some()
        };
        assert!(line("default", &progress, 77).contains("paused"));
    }
}
