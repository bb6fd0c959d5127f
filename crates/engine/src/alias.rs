//! Hosts that serve the same pages under two names.
//!
//! A page of one host that repeats the page of the same path on another is a sign; enough signs
//! without a counter-sign, and the younger host is an alias: from then on it is asked only samples.

use std::collections::HashMap;

use teia_base::journal::{Attempt, HostUpdate};
use teia_base::{CanonicalUrl, HostId};
use teia_repository::UrlState;
use xxhash_rust::xxh3::xxh3_64;

use crate::feedback::{Event, Level};
use crate::ring::Ring;

/// One URL of an alias in this many is still asked, in case the hosts part ways.
const SAMPLE: u64 = 20;
/// Pairs of hosts that are watched at once; the rest wait until one is decided.
const MOST_PAIRS: usize = 10_000;

/// Signs for and against, for each pair of hosts.
#[derive(Debug, Default)]
pub(crate) struct AliasWatch {
    pairs: HashMap<(String, String), Signs>,
}

#[derive(Debug, Default)]
struct Signs {
    equal: u32,
    different: u32,
}

impl AliasWatch {
    /// Notes one page; true when the pair has just given enough signs.
    fn note(&mut self, host: &str, original: &str, same_path: bool, enough: u32) -> bool {
        let key = (host.to_owned(), original.to_owned());
        if self.pairs.len() >= MOST_PAIRS && !self.pairs.contains_key(&key) {
            return false;
        }
        let signs = self.pairs.entry(key).or_default();
        if same_path {
            signs.equal += 1;
        } else {
            signs.different += 1;
        }
        same_path && signs.equal >= enough && signs.different * 10 <= signs.equal
    }
}

impl Ring {
    /// Looks at a page that repeats another one.
    pub(crate) fn notice_alias(&mut self, attempt: &Attempt) {
        let enough = self.config.run.alias_pages;
        let Some(revisit) = attempt
            .revisit
            .as_ref()
            .filter(|_| enough > 0 && attempt.outcome.is_ok())
        else {
            return;
        };
        let Ok(original) = CanonicalUrl::parse(&revisit.url) else {
            return;
        };
        let url = attempt.url.normal();
        // Pictures and styles are shared by honest hosts; pages are not.
        let is_page = attempt
            .media_type
            .as_deref()
            .is_some_and(|name| name.contains("html"));
        if !is_page || original.host_str() == url.host_str() {
            return;
        }
        // One of the two is collected in full: of hosts that name each other only samples would be left.
        if self.is_alias(original.host_str()) || self.is_alias(url.host_str()) {
            return;
        }
        let same_path = original.path_and_query() == url.path_and_query();
        if !self
            .aliases
            .note(url.host_str(), original.host_str(), same_path, enough)
        {
            return;
        }
        self.feedback.hear(&Event::Notice {
            level: Level::Warning,
            text: format!(
                "{} serves the same pages as {}: from now on only samples of it are fetched",
                url.host_str(),
                original.host_str()
            ),
        });
        self.window.hosts.push(HostUpdate {
            host: url.host_str().to_owned(),
            robots: None,
            back_off_until: None,
            alias_of: Some(original.host_str().to_owned()),
        });
        self.alias_hosts
            .insert(url.host_str().to_owned(), original.host_str().to_owned());
    }

    fn is_alias(&self, name: &str) -> bool {
        let record = |host| self.repository.host_record(host);
        self.alias_hosts.contains_key(name)
            || self
                .repository
                .host(name)
                .and_then(record)
                .is_some_and(|record| record.alias_of.is_some())
    }

    /// The host that this one repeats, if the URL is not among the samples.
    pub(crate) fn alias_to_skip(&self, host: HostId, url: &UrlState) -> Option<String> {
        let name = self.repository.host_name(host);
        let original = self.alias_hosts.get(name).cloned().or_else(|| {
            self.repository
                .host_record(host)
                .and_then(|record| record.alias_of.clone())
        })?;
        let sampled = xxh3_64(url.url.normal().as_str().as_bytes()).is_multiple_of(SAMPLE);
        (!sampled && !url.seed).then_some(original)
    }
}
