//! Counters of a run and of a collection.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use teia_base::journal::{Attempt, Next};

/// Names of media types and of languages come from servers: so many of each are told apart, the
/// rest are counted together.
const MOST_NAMES: usize = 1000;
/// Under this name.
const OTHERS: &str = "other";
/// What was not said.
const UNKNOWN: &str = "unknown";

/// What was counted over a set of attempts; robots.txt apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Answered documents (2xx) that have a text, by declared language; `unknown` where none is.
    pub languages: BTreeMap<String, u64>,
    /// Answered documents by host.
    pub hosts: BTreeMap<String, u64>,
    /// Documents whose body was met before.
    pub duplicates: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Requests made in all, for robots.txt too; also those that did not reach a server.
    pub requests: u64,
    /// Time spent on names, connections, TLS, first bytes and bodies; in JSON by these names, in
    /// seconds.
    #[serde(serialize_with = "named_times")]
    pub times: [Duration; 5],
}

impl Stats {
    /// Counts an attempt.
    pub fn add(&mut self, attempt: &Attempt) {
        if attempt.next == Next::Waiting {
            return;
        }
        self.requests += u64::from(attempt.is_request());
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
            self.robots_requests += u64::from(attempt.is_request());
            return;
        }
        *self.codes.entry(attempt.outcome.number()).or_default() += 1;
        self.errors += u64::from(attempt.is_error());
        if !is_answer(attempt) {
            return;
        }
        self.fetched += 1;
        let host = attempt.url.normal().host_str();
        match self.hosts.get_mut(host) {
            Some(count) => *count += 1,
            None => _ = self.hosts.insert(host.to_owned(), 1),
        }
        self.duplicates += u64::from(attempt.revisit.is_some());
        if attempt.outcome.is_ok() {
            let name = attempt.media_type.as_deref().unwrap_or(UNKNOWN);
            count(&mut self.types, name, 1);
            // An image has no language to be known.
            if attempt.language.is_some() || attempt.text_digest.is_some() {
                let language = attempt.language.as_deref().unwrap_or(UNKNOWN);
                count(&mut self.languages, language, 1);
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
        ] {
            for (name, more) in theirs {
                count(mine, name, *more);
            }
        }
        for (host, count) in &other.hosts {
            *self.hosts.entry(host.clone()).or_default() += count;
        }
        for (mine, theirs) in self.times.iter_mut().zip(other.times) {
            *mine += theirs;
        }
    }
}

fn named_times<S: Serializer>(times: &[Duration; 5], serializer: S) -> Result<S::Ok, S::Error> {
    if !serializer.is_human_readable() {
        return times.serialize(serializer);
    }
    let names = ["dns", "connect", "tls", "first_byte", "body"];
    serializer.collect_map(names.iter().zip(times.iter().map(Duration::as_secs_f64)))
}

fn count(names: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    if let Some(count) = names.get_mut(name) {
        *count += more;
        return;
    }
    let name = if names.len() < MOST_NAMES - 1 {
        name
    } else {
        OTHERS
    };
    *names.entry(name.to_owned()).or_default() += more;
}

/// Whether the attempt was answered: a document, in the words of `--max-pages`.
pub(crate) fn is_answer(attempt: &Attempt) -> bool {
    !attempt.is_robots()
        && attempt.answered
        && !matches!(attempt.next, Next::RetryAt(_) | Next::Waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::{NormalForm, Outcome, Timestamp};

    #[test]
    fn names_that_servers_invent_are_bounded() {
        let url = NormalForm::default().parse("http://a.example/").unwrap();
        let mut attempt = Attempt::new(url, Timestamp::default(), Outcome::http(200));
        attempt.answered = true;
        let mut stats = Stats::default();
        for number in 0..5000 {
            attempt.media_type = Some(format!("text/x-{number}"));
            attempt.language = Some(format!("x-{number}"));
            stats.add(&attempt);
        }
        let mut both = stats.clone();
        both.merge(&stats);
        for (stats, times) in [(&stats, 1), (&both, 2)] {
            for names in [&stats.types, &stats.languages] {
                assert_eq!(names.len(), MOST_NAMES);
                assert_eq!(names[OTHERS], times * (5000 - 999));
                assert_eq!(names.values().sum::<u64>(), times * 5000);
            }
        }
    }
}
