//! From journal entries to rows: what is gathered in memory between two transactions.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use teia_base::journal::{Attempt, Entry, LinkVerdict, Next, Record};
use teia_base::{Flags, Outcome, Protocol, Retry, Timestamp};

use crate::catalog::Position;
use crate::database::Rows;
use crate::tables::{ATTEMPT, DOCUMENT, HOST, MINUTE, Merge, OUTCOME, RUN, Table};
use crate::value::Value;

const MINUTE_MICROS: i64 = 60_000_000;
/// No name of a host is longer (RFC 1035); what claims to be one must not be too long for an index.
const MOST_HOST_BYTES: usize = 255;

/// The newest run, which later entries go on with.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRun {
    pub(crate) number: i64,
    pub(crate) is_paused: bool,
    pub(crate) ended: Option<String>,
    pub(crate) version: String,
    pub(crate) seeds: i64,
    pub(crate) started_at: i64,
    pub(crate) last_at: i64,
}

/// Rows of one table that wait, at most one for each key.
#[derive(Debug)]
struct Gathered<K> {
    table: &'static Table,
    rows: Vec<Vec<Value>>,
    places: HashMap<K, usize>,
}

impl<K: Hash + Eq> Gathered<K> {
    fn new(table: &'static Table) -> Self {
        Self {
            table,
            rows: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Adds a row, or joins it to the one with its key as the database would.
    fn put(&mut self, key: K, row: Vec<Value>) {
        let Some(at) = self.places.get(&key) else {
            self.places.insert(key, self.rows.len());
            self.rows.push(row);
            return;
        };
        let old = &mut self.rows[*at];
        let is_version = self
            .table
            .columns
            .iter()
            .zip(&row)
            .any(|((name, ..), value)| *name == "fetched_at" && !value.is_null());
        for (((_, _, merge), old), new) in self.table.columns.iter().zip(old).zip(row) {
            match merge {
                Merge::Key | Merge::Keep => {}
                Merge::Replace => *old = new,
                Merge::Add => old.add(&new),
                Merge::Version if is_version => *old = new,
                Merge::Version => {}
            }
        }
    }

    /// Adds to one column of a row that is there; whether it is.
    fn add<Q>(&mut self, key: &Q, column: usize, more: i64) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let found = self.places.get(key);
        if let Some(at) = found {
            self.rows[*at][column].add(&Value::Int(more));
        }
        found.is_some()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.places.clear();
    }

    fn rows(&self) -> Rows<'_> {
        (self.table, &self.rows)
    }
}

/// What some attempts add to the counters.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    fetched: i64,
    errors: i64,
    bytes: i64,
    requests: i64,
    robots_requests: i64,
    duplicates: i64,
    admitted: i64,
}

/// What waits for the next transaction.
#[derive(Debug)]
pub(crate) struct Batch {
    key: u64,
    collection: i64,
    /// The moment of the last entry, in this batch or before it.
    last_at: Timestamp,
    run: LastRun,
    position: Option<Position>,
    options: Option<String>,
    runs: Gathered<i64>,
    minutes: Gathered<(i64, i64)>,
    hosts: Gathered<String>,
    documents: Gathered<u128>,
    attempts: Gathered<(u64, usize)>,
    outcomes: Gathered<i64>,
    admitted_column: usize,
}

impl Batch {
    pub(crate) fn new(
        key: u64,
        collection: i64,
        last_at: Timestamp,
        last_run: Option<LastRun>,
    ) -> Self {
        Self {
            key,
            collection,
            last_at,
            run: last_run.unwrap_or_default(),
            position: None,
            options: None,
            runs: Gathered::new(&RUN),
            minutes: Gathered::new(&MINUTE),
            hosts: Gathered::new(&HOST),
            documents: Gathered::new(&DOCUMENT),
            attempts: Gathered::new(&ATTEMPT),
            outcomes: Gathered::new(&OUTCOME),
            admitted_column: HOST.place("admitted"),
        }
    }

    /// The position that it leads to; `None` where there is nothing to write.
    pub(crate) fn position(&self) -> Option<Position> {
        self.position
    }

    pub(crate) fn options(&self) -> Option<String> {
        self.options.clone()
    }

    pub(crate) fn rows(&self) -> usize {
        self.attempts.rows.len() + self.documents.rows.len() + self.hosts.rows.len()
    }

    pub(crate) fn tables(&self) -> [Rows<'_>; 6] {
        [
            self.outcomes.rows(),
            self.runs.rows(),
            self.minutes.rows(),
            self.hosts.rows(),
            self.documents.rows(),
            self.attempts.rows(),
        ]
    }

    /// Forgets what has been written.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.minutes.clear();
        self.hosts.clear();
        self.documents.clear();
        self.attempts.clear();
        self.outcomes.clear();
        (self.position, self.options) = (None, None);
    }

    /// Takes in the next entry.
    pub(crate) fn add(&mut self, entry: &Entry) {
        let mut counts = Counts::default();
        let mut active = 0;
        match &entry.record {
            // What a person adds belongs to no run.
            Record::Added(added) => {
                for (url, verdict) in &added.urls {
                    if *verdict == LinkVerdict::New {
                        self.admit(url.normal().host_str(), entry.wall);
                    }
                }
            }
            // Nor does what a repair finds again.
            Record::Recovered(recovered) => {
                for found in &recovered.urls {
                    if found.verdict == LinkVerdict::New {
                        self.admit(found.url.normal().host_str(), entry.wall);
                    }
                }
            }
            // Nor an erasure, of which only the time is told.
            record if record.is_of_no_run() => {}
            record => {
                // What comes after the end of a run makes it no longer.
                let goes_on = self.run.ended.is_none();
                if let Record::RunStarted(_) = record {
                    self.begin_run(entry);
                    self.run.last_at = entry.wall.as_micros();
                } else if goes_on {
                    self.run.last_at = entry.wall.as_micros();
                    // Time in which nobody ran, or a person let it rest, is no time of work.
                    if !self.run.is_paused {
                        active = micros(entry.wall.since(self.last_at));
                    }
                }
                counts = self.add_record(entry);
                self.run.is_paused = record.is_paused_after(self.run.is_paused);
                if let Record::RunEnded(end) = record {
                    self.run.ended = Some(end.reason.clone());
                }
                self.put_run(entry, active, counts);
            }
        }
        self.put_minute(entry, counts);
        self.last_at = entry.wall;
        self.position = Some(Position {
            entry: entry.sequence,
            at: entry.wall,
        });
    }

    fn begin_run(&mut self, entry: &Entry) {
        let Record::RunStarted(started) = &entry.record else {
            return;
        };
        let number = i64::from(entry.run);
        if number != self.run.number {
            self.run = LastRun {
                number,
                is_paused: self.run.is_paused,
                started_at: entry.wall.as_micros(),
                ..LastRun::default()
            };
        }
        self.run.ended = None;
        self.run.version.clone_from(&started.version);
        self.run.seeds = i64::try_from(started.seeds.len()).unwrap_or(i64::MAX);
        self.options = Some(started.options.replace('\0', "\u{fffd}"));
    }

    fn add_record(&mut self, entry: &Entry) -> Counts {
        let mut counts = Counts::default();
        match &entry.record {
            Record::RunStarted(started) => {
                for seed in &started.seeds {
                    if seed.verdict == LinkVerdict::New {
                        self.admit(seed.url.normal().host_str(), entry.wall);
                        counts.admitted += 1;
                    }
                }
            }
            Record::Commit(commit) => {
                for (place, attempt) in commit.attempts.iter().enumerate() {
                    self.add_attempt(entry, place, attempt, &mut counts);
                    for link in &attempt.links {
                        if link.verdict == LinkVerdict::New {
                            self.admit(link.url.normal().host_str(), entry.wall);
                            counts.admitted += 1;
                        }
                    }
                }
            }
            Record::Folded(folded) => {
                for change in &folded.changes {
                    if change.verdict == LinkVerdict::New {
                        self.admit(change.url.host_str(), entry.wall);
                        counts.admitted += 1;
                    }
                }
            }
            _ => {}
        }
        counts
    }

    fn put_run(&mut self, entry: &Entry, active: i64, counts: Counts) {
        let run = &self.run;
        let row = vec![
            self.collection.into(),
            i64::from(entry.run).into(),
            run.started_at.into(),
            run.last_at.into(),
            run.ended.as_deref().into(),
            run.is_paused.into(),
            run.version.as_str().into(),
            run.seeds.into(),
            active.into(),
            counts.fetched.into(),
            counts.errors.into(),
            counts.bytes.into(),
            counts.requests.into(),
            counts.robots_requests.into(),
            counts.duplicates.into(),
            counts.admitted.into(),
        ];
        self.runs.put(entry.run.into(), row);
    }

    fn put_minute(&mut self, entry: &Entry, counts: Counts) {
        let is_nothing =
            counts.requests == 0 && counts.admitted == 0 && counts.errors == 0 && counts.bytes == 0;
        if is_nothing {
            return;
        }
        let minute = entry.wall.as_micros().div_euclid(MINUTE_MICROS) * MINUTE_MICROS;
        let row = vec![
            self.collection.into(),
            i64::from(entry.run).into(),
            minute.into(),
            counts.fetched.into(),
            counts.errors.into(),
            counts.bytes.into(),
            counts.requests.into(),
            counts.robots_requests.into(),
            counts.admitted.into(),
        ];
        self.minutes.put((entry.run.into(), minute), row);
    }

    /// A URL was met for the first time.
    fn admit(&mut self, host: &str, at: Timestamp) {
        let host = host_key(host);
        if !self.hosts.add(host, self.admitted_column, 1) {
            let row = self.host_row(
                host,
                at,
                &HostCounts {
                    admitted: 1,
                    ..HostCounts::default()
                },
            );
            self.hosts.put(host.to_owned(), row);
        }
    }

    fn host_row(&self, host: &str, at: Timestamp, counts: &HostCounts) -> Vec<Value> {
        vec![
            self.collection.into(),
            host.into(),
            counts.admitted.into(),
            counts.fetched.into(),
            counts.errors.into(),
            counts.bytes.into(),
            counts.requests.into(),
            counts.answered.into(),
            counts.answer_micros.into(),
            at.as_micros().into(),
            at.as_micros().into(),
        ]
    }

    fn add_attempt(&mut self, entry: &Entry, place: usize, attempt: &Attempt, counts: &mut Counts) {
        let outcome = attempt.outcome;
        let number = i64::from(outcome.number());
        if !self.outcomes.places.contains_key(&number) {
            self.outcomes.put(number, outcome_row(outcome));
        }
        let row = self.attempt_row(entry, place, attempt);
        self.attempts.put((entry.sequence, place), row);
        if attempt.next == Next::Waiting {
            return;
        }
        let mut of_host = HostCounts {
            requests: i64::from(attempt.is_request()),
            bytes: i64::try_from(attempt.wire_bytes).unwrap_or(i64::MAX),
            ..HostCounts::default()
        };
        if attempt.answered {
            of_host.answered = 1;
            of_host.answer_micros = micros(attempt.times.first_byte + attempt.times.body);
        }
        if attempt.is_robots() {
            counts.robots_requests += of_host.requests;
        } else {
            of_host.errors = i64::from(attempt.is_error());
            let is_answer = attempt.answered && !matches!(attempt.next, Next::RetryAt(_));
            of_host.fetched = i64::from(is_answer);
            counts.duplicates += i64::from(is_answer && attempt.revisit.is_some());
            let name = attempt.url.normal().id(self.key).0;
            let row = self.document_row(entry, attempt, name);
            self.documents.put(name, row);
        }
        counts.fetched += of_host.fetched;
        counts.errors += of_host.errors;
        counts.bytes += of_host.bytes;
        counts.requests += of_host.requests;
        let host = host_key(attempt.url.normal().host_str());
        let row = self.host_row(host, attempt.started, &of_host);
        self.hosts.put(host.to_owned(), row);
    }

    fn document_row(&self, entry: &Entry, attempt: &Attempt, name: u128) -> Vec<Value> {
        let url = attempt.url.normal();
        let mut row: Vec<Value> = vec![
            self.collection.into(),
            name.to_be_bytes().as_slice().into(),
            url.as_str().into(),
            host_key(url.host_str()).into(),
            extension(url.path()).as_str().into(),
            url.path_and_query().contains('?').into(),
            i64::from(attempt.depth).into(),
            i64::from(entry.run).into(),
            i64::from(attempt.outcome.number()).into(),
            attempt.detail.as_deref().into(),
            next_name(attempt.next).into(),
            i64::from(attempt.visit).into(),
            1.into(),
            attempt.started.as_micros().into(),
            attempt.started.as_micros().into(),
        ];
        if attempt.outcome.is_ok() {
            row.extend::<[Value; 11]>([
                attempt.started.as_micros().into(),
                attempt.media_type.as_deref().into(),
                Value::count(attempt.wire_bytes),
                Value::count(attempt.body_bytes),
                attempt
                    .payload_sha1
                    .as_ref()
                    .map(<[u8; 20]>::as_slice)
                    .into(),
                attempt
                    .text_digest
                    .map(u128::to_be_bytes)
                    .as_ref()
                    .map(<[u8; 16]>::as_slice)
                    .into(),
                attempt.language.as_deref().into(),
                attempt.title.as_str().into(),
                attempt
                    .capture
                    .map(|capture| Value::count(capture.0))
                    .into(),
                (!attempt.flags.has(Flags::NOT_KEPT)).into(),
                attempt.revisit.is_some().into(),
            ]);
        } else {
            row.resize(DOCUMENT.columns.len(), Value::Null);
        }
        row
    }

    fn attempt_row(&self, entry: &Entry, place: usize, attempt: &Attempt) -> Vec<Value> {
        let url = attempt.url.normal();
        let times = &attempt.times;
        let retry_at = match attempt.next {
            Next::RetryAt(due) | Next::Again(due) => Some(due.as_micros()),
            _ => None,
        };
        vec![
            self.collection.into(),
            Value::count(entry.sequence),
            Value::count(place as u64),
            i64::from(entry.run).into(),
            url.as_str().into(),
            host_key(url.host_str()).into(),
            attempt.started.as_micros().into(),
            i64::from(attempt.outcome.number()).into(),
            attempt.detail.as_deref().into(),
            i64::from(attempt.visit).into(),
            i64::from(attempt.try_number).into(),
            attempt.is_robots().into(),
            attempt.is_request().into(),
            attempt.answered.into(),
            next_name(attempt.next).into(),
            retry_at.into(),
            attempt.flags.names().join(" ").as_str().into(),
            attempt
                .remote
                .map(|remote| Value::text(&remote.to_string()))
                .into(),
            protocol_name(attempt.protocol).into(),
            attempt.media_type.as_deref().into(),
            Value::count(attempt.wire_bytes),
            Value::count(attempt.body_bytes),
            micros(times.dns).into(),
            micros(times.connect).into(),
            micros(times.tls).into(),
            micros(times.first_byte).into(),
            micros(times.body).into(),
            attempt
                .capture
                .map(|capture| Value::count(capture.0))
                .into(),
        ]
    }
}

#[derive(Debug, Default)]
struct HostCounts {
    admitted: i64,
    fetched: i64,
    errors: i64,
    bytes: i64,
    requests: i64,
    answered: i64,
    answer_micros: i64,
}

fn outcome_row(outcome: Outcome) -> Vec<Value> {
    let retry = match outcome.retry() {
        Retry::Final => "final",
        Retry::Temporary => "temporary",
        Retry::Host => "host",
    };
    vec![
        i64::from(outcome.number()).into(),
        outcome.name().as_ref().into(),
        outcome.sentence().into(),
        retry.into(),
    ]
}

fn host_key(host: &str) -> &str {
    let mut end = host.len().min(MOST_HOST_BYTES);
    while !host.is_char_boundary(end) {
        end -= 1;
    }
    &host[..end]
}

/// What stands behind the last dot of a path's last part, in small letters; empty where that is no
/// extension: none, a long word, or something that is not letters and digits.
fn extension(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    let Some((stem, extension)) = file.rsplit_once('.') else {
        return String::new();
    };
    let is_one = !stem.is_empty()
        && (1..=10).contains(&extension.len())
        && extension
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_one {
        extension.to_ascii_lowercase()
    } else {
        String::new()
    }
}

fn next_name(next: Next) -> &'static str {
    match next {
        Next::Done => "done",
        Next::RetryAt(_) => "retry",
        Next::Failed => "failed",
        Next::Robots => "robots",
        Next::Waiting => "waiting",
        Next::Again(_) => "again",
    }
}

fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http10 => "HTTP/1.0",
        Protocol::Http11 => "HTTP/1.1",
        Protocol::H2 => "HTTP/2",
        _ => "",
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_a_short_word_behind_the_last_dot() {
        for (path, wanted) in [
            ("/a/b.HTML", "html"),
            ("/", ""),
            ("/a.b/c", ""),
            ("/.htaccess", ""),
            ("/x.svn-base", "svn-base"),
            ("/v1.2.3", "3"),
            ("/a.tar.gz", "gz"),
            ("/a.", ""),
            ("/a.toolongforone", ""),
            ("/a.%20", ""),
        ] {
            assert_eq!(extension(path), wanted, "{path}");
        }
    }

    #[test]
    fn the_name_of_a_host_fits_into_an_index() {
        assert_eq!(host_key("a.example"), "a.example");
        assert_eq!(host_key(&"ab".repeat(400)).len(), MOST_HOST_BYTES);
        assert_eq!(host_key(&"ã".repeat(400)).len(), 254);
    }
}
