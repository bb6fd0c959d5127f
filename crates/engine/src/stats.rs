//! Counters of a run and of a collection.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use teia_base::Outcome;
use teia_base::journal::{Attempt, Next};

/// What was counted over a set of attempts; robots.txt apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Documents answered, with whatever status.
    pub fetched: u64,
    /// Attempts that brought no answer, or an error status.
    pub errors: u64,
    /// Bytes received, heads included.
    pub bytes: u64,
    /// Attempts by outcome.
    pub codes: BTreeMap<i16, u64>,
    /// Answered documents (2xx) by media type.
    pub types: BTreeMap<String, u64>,
    /// Answered documents (2xx) by declared language.
    pub languages: BTreeMap<String, u64>,
    /// Answered documents by host.
    pub hosts: BTreeMap<String, u64>,
    /// Documents whose body was met before.
    pub duplicates: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Requests made in all.
    pub requests: u64,
    /// Time spent on names, connections, TLS, first bytes and bodies.
    pub times: [Duration; 5],
}

impl Stats {
    /// Counts an attempt.
    pub fn add(&mut self, attempt: &Attempt) {
        if attempt.next == Next::Waiting {
            return;
        }
        let asked = attempt.remote.is_some() || attempt.outcome.is_answered();
        self.requests += u64::from(asked);
        for (sum, time) in self.times.iter_mut().zip([
            attempt.times.dns,
            attempt.times.connect,
            attempt.times.tls,
            attempt.times.first_byte,
            attempt.times.body,
        ]) {
            *sum += time;
        }
        self.bytes += attempt.wire_bytes;
        if attempt.is_robots() {
            self.robots_requests += 1;
            return;
        }
        *self.codes.entry(attempt.outcome.number()).or_default() += 1;
        let bad = attempt.outcome.number() >= 400
            || (attempt.outcome.number() < 0 && attempt.outcome != Outcome::ROBOTS_DISALLOWED);
        self.errors += u64::from(bad);
        if !is_answer(attempt) {
            return;
        }
        self.fetched += 1;
        *self
            .hosts
            .entry(attempt.url.normal().host_str().to_owned())
            .or_default() += 1;
        self.duplicates += u64::from(attempt.revisit.is_some());
        if attempt.outcome.is_ok() {
            let name = attempt
                .media_type
                .clone()
                .unwrap_or_else(|| "unknown".to_owned());
            *self.types.entry(name).or_default() += 1;
            if let Some(language) = &attempt.language {
                *self.languages.entry(language.clone()).or_default() += 1;
            }
        }
    }
}

impl Stats {
    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.fetched += other.fetched;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.duplicates += other.duplicates;
        self.robots_requests += other.robots_requests;
        self.requests += other.requests;
        for (code, count) in &other.codes {
            *self.codes.entry(*code).or_default() += count;
        }
        for (mine, theirs) in [
            (&mut self.types, &other.types),
            (&mut self.languages, &other.languages),
            (&mut self.hosts, &other.hosts),
        ] {
            for (name, count) in theirs {
                *mine.entry(name.clone()).or_default() += count;
            }
        }
        for (mine, theirs) in self.times.iter_mut().zip(other.times) {
            *mine += theirs;
        }
    }
}

/// Whether the attempt was answered: a document, in the words of `--max-pages`.
pub(crate) fn is_answer(attempt: &Attempt) -> bool {
    !attempt.is_robots()
        && attempt.answered
        && !matches!(attempt.next, Next::RetryAt(_) | Next::Waiting)
}
