//! Progress: a bar on a terminal, plain lines elsewhere.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressDrawTarget, ProgressStyle};
use teia_base::measure::format_size;
use teia_engine::{Event, Feedback, Level, Progress};

/// How often a plain line is written where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Listens to a run and shows where it stands, on standard error.
#[derive(Debug)]
pub(crate) struct ProgressBar {
    bar: Option<indicatif::ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    latest: Progress,
    last_line: Instant,
}

impl ProgressBar {
    pub(crate) fn new(collection: &str, is_terminal: bool) -> Self {
        let bar = is_terminal.then(|| {
            let bar = indicatif::ProgressBar::with_draw_target(
                None,
                ProgressDrawTarget::stderr_with_hz(5),
            );
            let plain = std::env::var_os("NO_COLOR").is_some();
            let template = if plain {
                "{spinner} {prefix} {msg}"
            } else {
                "{spinner:.cyan} {prefix:.bold} {msg}"
            };
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar.set_prefix(collection.to_owned());
            bar
        });
        Self {
            bar,
            state: Mutex::new(State {
                latest: Progress::default(),
                last_line: Instant::now(),
            }),
        }
    }

    /// The newest figures.
    pub(crate) fn latest(&self) -> Progress {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .latest
            .clone()
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }
}

impl Feedback for ProgressBar {
    fn hear(&self, event: &Event) {
        match event {
            Event::Progress(progress) => {
                let text = in_words(progress);
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.latest = progress.clone();
                match &self.bar {
                    Some(bar) => {
                        bar.set_message(text);
                        bar.tick();
                    }
                    None if state.last_line.elapsed() >= PLAIN_EVERY => {
                        state.last_line = Instant::now();
                        eprintln!("{text}");
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
                self.say(&format!("{word}: {text}"));
            }
            _ => {}
        }
    }
}

fn in_words(progress: &Progress) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people"
    )]
    let rate = format_size(progress.bytes_per_second as u64);
    let mut text = format!(
        "{} pages · {:.1}/s · {} · {rate}/s · hosts {} active {} waiting · {} queued · {} errors",
        progress.fetched,
        progress.pages_per_second,
        format_size(progress.bytes),
        progress.hosts_active,
        progress.hosts_waiting,
        progress.queue,
        progress.errors,
    );
    if let Some(left) = progress.left {
        text.push_str(&format!(" · {} left", in_short(left)));
    }
    text
}

fn in_short(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
