//! Every address of the demo web and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::Answer;
use super::pages;

/// All answers, by host and request target.
#[derive(Debug, Default)]
pub(super) struct Atlas {
    hosts: BTreeMap<&'static str, BTreeMap<String, Arc<Answer>>>,
}

impl Atlas {
    /// The whole demo web.
    pub(super) fn build() -> Self {
        let mut atlas = Self::default();
        pages::write_all(&mut atlas);
        atlas
    }

    /// Adds an answer; `target` is a path, with its query if it has one, as a client would send it.
    pub(super) fn put(&mut self, host: &'static str, target: impl Into<String>, answer: Answer) {
        let earlier = self
            .hosts
            .entry(host)
            .or_default()
            .insert(target.into(), Arc::new(answer));
        debug_assert!(earlier.is_none(), "two answers for one address of {host}");
    }

    /// What a request for this target of this host gets.
    ///
    /// A query that no page knows is ignored, as most servers do: that is what makes session ids duplicates.
    pub(super) fn answer(&self, host: &str, target: &str) -> Arc<Answer> {
        let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
        if let Some(bare) = host.strip_prefix("www.")
            && self.hosts.contains_key(bare)
        {
            return Arc::new(Answer::redirect(301, &format!("http://{bare}{target}")));
        }
        let Some(answers) = self.hosts.get(host.as_str()) else {
            return Arc::new(pages::missing(&host));
        };
        let path = target.split('?').next().unwrap_or(target);
        if let Some(answer) = answers.get(target).or_else(|| answers.get(path)) {
            return Arc::clone(answer);
        }
        Arc::new(pages::trap(&host, path).unwrap_or_else(|| pages::missing(&host)))
    }

    /// Every prepared address: host, target, answer.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str, &Answer)> {
        self.hosts.iter().flat_map(|(host, answers)| {
            answers
                .iter()
                .map(|(target, answer)| (*host, target.as_str(), &**answer))
        })
    }
}
