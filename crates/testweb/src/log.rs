//! The request log: what was asked when, and the checks a polite crawl must pass.

use std::collections::BTreeMap;
use std::time::Duration;

/// One request and its answer. Times count from the start of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the order in which requests came.
    pub sequence: u64,
    /// When its head was completely read.
    pub start: Duration,
    /// When its answer was completely written; `None` while it is not.
    pub end: Option<Duration>,
    /// The host asked; `None` for a name that is not of the web.
    pub host: Option<u32>,
    /// The method.
    pub method: String,
    /// The URL asked for.
    pub url: String,
    /// The connection it came on.
    pub connection: u64,
    /// The status of the answer; 0 when the connection was closed instead.
    pub status: u16,
    /// The request's `User-Agent`.
    pub agent: String,
    /// Bytes of the answer, head included.
    pub bytes: u64,
}

impl Entry {
    /// Whether the request was for a robots.txt.
    pub fn is_robots(&self) -> bool {
        self.url.ends_with("/robots.txt")
    }
}

/// A copy of the log, in the order of the requests.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    /// The requests.
    pub entries: Vec<Entry>,
    /// Requests that were not logged because the log was full.
    pub dropped: u64,
}

impl RequestLog {
    /// The requests to one host.
    pub fn of_host(&self, host: u32) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.host == Some(host))
    }

    /// The log without the requests that do not match.
    pub fn matching(&self, mut wanted: impl FnMut(&Entry) -> bool) -> Self {
        Self {
            entries: self
                .entries
                .iter()
                .filter(|entry| wanted(entry))
                .cloned()
                .collect(),
            dropped: self.dropped,
        }
    }

    /// The shortest rest of a host, from the end of an answer to the start of the next request;
    /// zero when two overlapped, `None` with fewer than two requests.
    pub fn min_gap(&self, host: u32) -> Option<Duration> {
        let mut free_at: Option<Duration> = None;
        let mut shortest = None;
        for entry in self.of_host(host) {
            if let Some(free_at) = free_at {
                let gap = entry.start.saturating_sub(free_at);
                shortest = Some(shortest.map_or(gap, |other: Duration| other.min(gap)));
            }
            free_at = free_at.max(Some(entry.end.unwrap_or(Duration::MAX)));
        }
        shortest
    }

    /// The most requests of a host under way at one moment.
    pub fn max_concurrent(&self, host: u32) -> usize {
        let mut events: Vec<(Duration, bool)> = Vec::new();
        for entry in self.of_host(host) {
            events.push((entry.start, true));
            events.push((entry.end.unwrap_or(Duration::MAX), false));
        }
        events.sort_unstable(); // At the same moment ends come first.
        let (mut now, mut most) = (0_usize, 0);
        for (_, starts) in events {
            now = if starts {
                now + 1
            } else {
                now.saturating_sub(1)
            };
            most = most.max(now);
        }
        most
    }

    /// How many times each URL was asked for.
    pub fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for entry in &self.entries {
            *counts.entry(entry.url.as_str()).or_default() += 1;
        }
        counts
    }

    /// Every host asked for something, in order.
    pub fn hosts(&self) -> Vec<u32> {
        let mut hosts: Vec<u32> = self.entries.iter().filter_map(|entry| entry.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// The hosts whose first request was not for `/robots.txt`, or began before that was answered.
    pub fn hosts_without_robots_first(&self) -> Vec<u32> {
        let mut bad = self.hosts();
        bad.retain(|host| {
            let mut entries = self.of_host(*host);
            let Some(first) = entries.next() else {
                return false;
            };
            let answered = first.end.unwrap_or(Duration::MAX);
            !first.is_robots() || entries.next().is_some_and(|second| second.start < answered)
        });
        bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(spans: &[(u64, u64)]) -> RequestLog {
        let entry = |(index, &(start, end)): (usize, &(u64, u64))| Entry {
            sequence: index as u64,
            start: Duration::from_millis(start),
            end: Some(Duration::from_millis(end)),
            host: Some(0),
            method: "GET".into(),
            url: if index == 0 {
                "http://h0.web.test/robots.txt".into()
            } else {
                "http://h0.web.test/".into()
            },
            connection: 0,
            status: 200,
            agent: String::new(),
            bytes: 0,
        };
        RequestLog {
            entries: spans.iter().enumerate().map(entry).collect(),
            dropped: 0,
        }
    }

    #[test]
    fn the_gap_counts_from_the_end_of_the_answer() {
        assert_eq!(
            log(&[(0, 30), (130, 140), (180, 190)]).min_gap(0),
            Some(Duration::from_millis(40))
        );
        assert_eq!(
            log(&[(0, 100), (50, 60), (120, 130)]).min_gap(0),
            Some(Duration::ZERO)
        );
        assert_eq!(log(&[(0, 1)]).min_gap(0), None);
        assert_eq!(log(&[]).min_gap(0), None);
    }

    #[test]
    fn concurrency_counts_overlaps_and_not_touches() {
        assert_eq!(log(&[(0, 10), (10, 20)]).max_concurrent(0), 1);
        assert_eq!(log(&[(0, 30), (10, 20), (15, 40)]).max_concurrent(0), 3);
    }

    #[test]
    fn a_page_asked_before_robots_is_answered_is_noticed() {
        assert!(
            log(&[(0, 10), (12, 20)])
                .hosts_without_robots_first()
                .is_empty()
        );
        assert_eq!(log(&[(0, 10), (5, 20)]).hosts_without_robots_first(), [0]);
    }
}
