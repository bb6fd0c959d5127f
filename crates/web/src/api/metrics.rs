//! `/metrics`: numbers for Prometheus. No host is ever a label; outcomes and collections are bounded, and so are all
//! lines together: what there is of every server comes first, attempts by outcome last.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use teia_base::Outcome;
use teia_engine::{Counts, Histogram, SPANS};

use super::problem::Problem;
use crate::desk::Standing;
use crate::pages::App;

/// Collections that are told apart; of more, the first ones by name.
const MOST_COLLECTIONS: usize = 200;
/// Lines of numbers at most; a gauge says how many are left out.
const MOST_LINES: usize = 10_000;
/// Catalogs are asked for no longer than this; those that are left are left out.
const FOR_CATALOGS: Duration = Duration::from_secs(3);
/// Upper ends of the spans of our own answers, in microseconds.
const ANSWERS: [u64; 8] = [
    1_000,
    5_000,
    20_000,
    100_000,
    500_000,
    2_000_000,
    10_000_000,
    u64::MAX,
];

/// What this server answered.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// By the first digit of the status.
    classes: [AtomicU64; 6],
    spans: [AtomicU64; ANSWERS.len()],
    micros: AtomicU64,
}

impl Traffic {
    /// One request was answered.
    pub(crate) fn note(&self, status: u16, took: Duration) {
        let class = usize::from(status / 100).min(self.classes.len() - 1);
        self.classes[class].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let span = ANSWERS.iter().position(|end| micros <= *end).unwrap_or(0);
        self.spans[span].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// Everything that is counted.
pub(crate) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let text = app.work(|app| Ok(text(app))).await?;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn text(app: &App) -> String {
    let mut page = Page::default();
    page.begin("teia_info", "gauge", "The version that runs.");
    page.line("teia_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    page.begin(
        "teia_memory_bytes",
        "gauge",
        "Resident memory of this process.",
    );
    page.line("teia_memory_bytes", &[], count(resident_bytes()));
    served(app, &mut page);
    under_way(&app.desk.under_way(), &mut page);
    indexed(app, &mut page);
    catalogued(app, &mut page);
    collected(&app.desk.counts(), &mut page);
    page.end()
}

fn served(app: &App, page: &mut Page) {
    let name = "teia_http_requests_total";
    page.begin(name, "counter", "Requests that this server answered.");
    for (class, requests) in app.traffic.classes.iter().enumerate().skip(1) {
        let class = format!("{class}xx");
        page.line(
            name,
            &[("status", &class)],
            count(requests.load(Ordering::Relaxed)),
        );
    }
    let name = "teia_http_request_seconds";
    page.begin(name, "histogram", "How long answers took to begin.");
    let mut sum = 0;
    for (end, span) in ANSWERS.iter().zip(&app.traffic.spans) {
        sum += span.load(Ordering::Relaxed);
        let end = match *end {
            u64::MAX => "+Inf".to_owned(),
            micros => (count(micros) / 1e6).to_string(),
        };
        page.line(
            "teia_http_request_seconds_bucket",
            &[("le", &end)],
            count(sum),
        );
    }
    let seconds = count(app.traffic.micros.load(Ordering::Relaxed)) / 1e6;
    page.line("teia_http_request_seconds_sum", &[], seconds);
    page.line("teia_http_request_seconds_count", &[], count(sum));
    let listeners = app
        .config
        .listeners
        .saturating_sub(app.listeners.available_permits());
    page.begin("teia_live_listeners", "gauge", "Listeners to live streams.");
    page.line("teia_live_listeners", &[], count(listeners as u64));
}

fn collected(counts: &BTreeMap<String, Counts>, page: &mut Page) {
    let counts: Vec<_> = counts.iter().take(MOST_COLLECTIONS).collect();
    type Figure = fn(&Counts) -> u64;
    let simple: [(&str, &str, &str, Figure); 5] = [
        (
            "teia_pages_total",
            "counter",
            "Pages, as runs count them: answers with whatever status, without robots.txt and what is tried again.",
            |it| it.pages,
        ),
        (
            "teia_answers_total",
            "counter",
            "Answers with whatever status, robots.txt and what is tried again among them.",
            answers,
        ),
        (
            "teia_received_bytes_total",
            "counter",
            "Bytes received.",
            |it| it.bytes,
        ),
        ("teia_commits_total", "counter", "Commits on disk.", |it| {
            it.commits
        }),
        (
            "teia_last_commit_timestamp_seconds",
            "gauge",
            "When the last commit was; 0 before the first.",
            |it| it.last_commit,
        ),
    ];
    for (name, kind, meaning, value) in simple {
        page.begin(name, kind, meaning);
        for (collection, counts) in &counts {
            page.line(name, &[("collection", collection)], count(value(counts)));
        }
    }
    type Times = fn(&Counts) -> &Histogram;
    let times: [(&str, &str, Times); 2] = [
        (
            "teia_first_byte_seconds",
            "From a request to the first byte of its answer.",
            |it| &it.first_byte,
        ),
        (
            "teia_exchange_seconds",
            "From looking up a name to the last byte.",
            |it| &it.whole,
        ),
    ];
    for (name, meaning, times) in times {
        page.begin(name, "histogram", meaning);
        for (collection, counts) in &counts {
            page.histogram(name, collection, times(counts));
        }
    }
    let name = "teia_attempts_total";
    page.begin(
        name,
        "counter",
        "Attempts by outcome, robots.txt among them.",
    );
    for (collection, counts) in &counts {
        let mut known: BTreeMap<Cow<'static, str>, u64> = BTreeMap::new();
        for (number, attempts) in &counts.outcomes {
            *known.entry(outcome_label(*number)).or_default() += attempts;
        }
        for (outcome, attempts) in known {
            let labels = [("collection", collection.as_str()), ("outcome", &outcome)];
            page.line(name, &labels, count(attempts));
        }
    }
}

/// The name of an outcome. Servers may invent statuses: those that are in no standard are one for each class.
fn outcome_label(number: i16) -> Cow<'static, str> {
    match number {
        ..=0 | 200..=299 | 300..=305 | 307 | 308 => Outcome::from_number(number).name(),
        400..=418 | 421..=426 | 428 | 429 | 431 | 451 => Outcome::from_number(number).name(),
        500..=508 | 510 | 511 => Outcome::from_number(number).name(),
        100..=199 => "http_1xx_other".into(),
        306..=399 => "http_3xx_other".into(),
        400..=499 => "http_4xx_other".into(),
        500..=599 => "http_5xx_other".into(),
        _ => "other".into(),
    }
}

fn answers(counts: &Counts) -> u64 {
    let answered = counts.outcomes.iter().filter(|(number, _)| **number > 0);
    answered.map(|(_, count)| count).sum()
}

fn under_way(runs: &[Standing], page: &mut Page) {
    page.begin("teia_runs", "gauge", "Runs under way, by state.");
    for state in ["starting", "running", "paused", "resting", "stopping"] {
        let number = runs.iter().filter(|run| run.state == state).count() as u64;
        page.line("teia_runs", &[("state", state)], count(number));
    }
    type Figure = fn(&crate::desk::Rates) -> f64;
    let figures: [(&str, &str, Figure); 6] = [
        ("teia_queue_urls", "URLs that wait.", |it| count(it.queue)),
        ("teia_known_urls", "URLs ever met.", |it| count(it.known)),
        ("teia_hosts_active", "Hosts being asked.", |it| {
            count(it.hosts_active)
        }),
        (
            "teia_hosts_waiting",
            "Hosts that rest or wait for their turn.",
            |it| count(it.hosts_waiting),
        ),
        (
            "teia_pages_per_second",
            "Documents a second, over the last few seconds.",
            |it| it.pages_per_second,
        ),
        (
            "teia_received_bytes_per_second",
            "Bytes a second, over the last few seconds.",
            |it| it.bytes_per_second,
        ),
    ];
    for (name, meaning, figure) in figures {
        page.begin(name, "gauge", meaning);
        for run in runs.iter().take(MOST_COLLECTIONS) {
            if let Some(rates) = &run.rates {
                page.line(name, &[("collection", &run.name)], figure(rates));
            }
        }
    }
}

fn indexed(app: &App, page: &mut Page) {
    let name = "teia_indexed_documents";
    page.begin(name, "gauge", "Documents that can be searched.");
    let collections = app.library.searcher().collections();
    for (collection, documents) in collections.iter().take(MOST_COLLECTIONS) {
        page.line(name, &[("collection", collection)], count(*documents));
    }
    let name = "teia_index_lag_seconds";
    page.begin(
        name,
        "gauge",
        "How much older the search index is than the journal.",
    );
    for shelf in app.library.shelves().iter().take(MOST_COLLECTIONS) {
        if let Some(lag) = shelf.lag() {
            page.line(name, &[("collection", &shelf.name)], lag.as_secs_f64());
        }
    }
}

fn catalogued(app: &App, page: &mut Page) {
    let (began, mut lags) = (Instant::now(), Vec::new());
    let shelves = app.library.shelves();
    for shelf in shelves.iter().take(MOST_COLLECTIONS) {
        // A database that does not answer must not keep all other numbers.
        if began.elapsed() > FOR_CATALOGS {
            break;
        }
        match app.desk.catalog_lag(&shelf.name, shelf.journal_written()) {
            Ok(None) => {}
            Ok(Some(lag)) => lags.push((shelf.name.as_str(), Some(lag))),
            Err(_) => lags.push((shelf.name.as_str(), None)),
        }
    }
    let name = "teia_catalog_up";
    page.begin(name, "gauge", "Whether the catalog answers.");
    for (collection, lag) in &lags {
        let is_up = count(u64::from(lag.is_some()));
        page.line(name, &[("collection", collection)], is_up);
    }
    let name = "teia_catalog_lag_seconds";
    let meaning = "How much older the last entry in the catalog is than the journal.";
    page.begin(name, "gauge", meaning);
    for (collection, lag) in lags {
        if let Some(lag) = lag {
            page.line(name, &[("collection", collection)], lag.as_secs_f64());
        }
    }
}

/// The text as it grows.
#[derive(Default)]
struct Page {
    text: String,
    lines: usize,
    /// Lines for which there was no room.
    left_out: u64,
}

impl Page {
    fn begin(&mut self, name: &str, kind: &str, meaning: &str) {
        let _ = write!(self.text, "# HELP {name} {meaning}\n# TYPE {name} {kind}\n");
    }

    /// Whether so many lines more belong together and have room; the last line says how many had none.
    fn has_room(&mut self, lines: usize) -> bool {
        let has_room = self.lines + lines < MOST_LINES;
        if !has_room {
            self.left_out += lines as u64;
        }
        has_room
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        if self.has_room(1) {
            self.write(name, labels, value);
        }
    }

    fn write(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.lines += 1;
        self.text.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let begin = if at == 0 { '{' } else { ',' };
            let text = text
                .replace('\\', r"\\")
                .replace('"', "\\\"")
                .replace('\n', r"\n");
            let _ = write!(self.text, "{begin}{label}=\"{text}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// Half of one would be wrong: it is there as a whole or not at all.
    fn histogram(&mut self, name: &str, collection: &str, times: &Histogram) {
        if !self.has_room(times.spans.len() + 2) {
            return;
        }
        let (bucket, mut sum) = (format!("{name}_bucket"), 0);
        let ends = SPANS.iter().map(ToString::to_string);
        for (end, span) in ends.chain(["+Inf".to_owned()]).zip(times.spans) {
            sum += span;
            self.write(
                &bucket,
                &[("collection", collection), ("le", &end)],
                count(sum),
            );
        }
        let labels = [("collection", collection)];
        self.write(&format!("{name}_sum"), &labels, times.sum);
        self.write(&format!("{name}_count"), &labels, count(sum));
    }

    /// The whole text.
    fn end(mut self) -> String {
        let name = "teia_metrics_left_out";
        let meaning = "Numbers that are left out here, because there are more than 10000.";
        self.begin(name, "gauge", meaning);
        let left_out = count(self.left_out);
        self.write(name, &[], left_out);
        self.text
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the format knows no other numbers"
)]
fn count(number: u64) -> f64 {
    number as f64
}

/// What the system says of us; 0 where it says nothing.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dashboard_asks_for_numbers_that_there_are() {
        let dashboard = include_str!("../../../../docs/grafana/teia.json");
        let parsed: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let source = include_str!("metrics.rs");
        let mut asked = 0;
        for panel in parsed["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let text = target["expr"].as_str().unwrap();
                for (at, _) in text.match_indices("teia_") {
                    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    let name: String = text[at..].chars().take_while(|c| is_name(*c)).collect();
                    let family = name.trim_end_matches("_bucket");
                    assert!(source.contains(&format!("\"{family}\"")), "{name}");
                    asked += 1;
                }
            }
        }
        assert!(asked > 15, "{asked}");
    }

    /// The numbers of collections, as they are told.
    fn told(counts: &BTreeMap<String, Counts>) -> String {
        let mut page = Page::default();
        collected(counts, &mut page);
        page.end()
    }

    fn lines_of<'a>(told: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
        told.lines().filter(move |line| line.starts_with(name))
    }

    #[test]
    fn ui_26_labels_are_escaped_and_invented_statuses_are_one() {
        let mut page = Page::default();
        page.line("a", &[("b", "x\"y\\z\nend")], 1.5);
        assert_eq!(page.text, "a{b=\"x\\\"y\\\\z\\nend\"} 1.5\n");
        let mut counts = Counts::default();
        for number in 100..1_000 {
            counts.outcomes.insert(number, 1);
        }
        counts.pages = 7;
        let told = told(&BTreeMap::from([("birds".to_owned(), counts)]));
        // Those that are in a standard, one for the others of each class, and one for all that are in none.
        assert_eq!(
            lines_of(&told, "teia_attempts_total{").count(),
            50,
            "{told}"
        );
        for (outcome, attempts) in [
            ("ok", 100),
            ("redirect", 5),
            ("http_404", 1),
            ("http_1xx_other", 100),
            ("http_3xx_other", 92),
            ("http_4xx_other", 71),
            ("http_5xx_other", 89),
            ("other", 400),
        ] {
            let line = format!("outcome=\"{outcome}\"}} {attempts}\n");
            assert!(told.contains(&line), "no {line} in {told}");
        }
        assert!(told.contains("teia_pages_total{collection=\"birds\"} 7\n"));
        assert!(told.contains("teia_answers_total{collection=\"birds\"} 900\n"));
        assert!(told.ends_with("teia_metrics_left_out 0\n"), "{told}");
    }

    #[test]
    fn ui_26_however_many_collections_and_statuses_there_are_the_lines_are_bounded() {
        let mut counts = BTreeMap::new();
        for number in 0..300 {
            let mut of = Counts::default();
            for status in -120..1_000 {
                of.outcomes.insert(status, 1);
            }
            counts.insert(format!("c{number:03}"), of);
        }
        let told = told(&counts);
        let numbers = told.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(numbers, MOST_LINES, "it is full");
        let left_out = lines_of(&told, "teia_metrics_left_out ").next().unwrap();
        let left_out: usize = left_out.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(left_out > 10_000, "{left_out}");
        // What there is once for each collection is there, and every histogram as a whole.
        assert_eq!(lines_of(&told, "teia_pages_total{").count(), 200);
        assert_eq!(
            lines_of(&told, "teia_exchange_seconds_bucket{").count(),
            200 * (SPANS.len() + 1)
        );
        assert_eq!(lines_of(&told, "teia_exchange_seconds_count{").count(), 200);
    }
}
