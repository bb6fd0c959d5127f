//! The quarantine: patterns of hosts that are left out.

use std::collections::HashMap;

use teia_base::CanonicalUrl;
use teia_base::journal::Quarantined;

use super::config::TrapsConfig;
use super::pattern::patterns;
use super::watch::WHOLE_HOST;
use crate::sites::Sites;

/// What is left out now. Cheap to ask: most hosts have nothing in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quarantine {
    hosts: HashMap<String, Vec<String>>,
}

impl Quarantine {
    /// More are not taken in, of all hosts together.
    const MOST: usize = 100_000;

    /// What the journal says, but for what a person allows.
    pub(crate) fn new(told: &[Quarantined], config: &TrapsConfig, sites: &Sites) -> Self {
        let mut quarantine = Self::default();
        for one in told {
            let own = sites.by_name(&one.host);
            let config = own.as_ref().map_or(config, |own| &own.config.traps);
            if config.enabled && !config.allows(&one.host, &one.pattern) {
                quarantine.add(one);
            }
        }
        quarantine
    }

    pub(crate) fn add(&mut self, one: &Quarantined) {
        // A farm of hosts is no pattern of one.
        if one.pattern.is_empty() {
            return;
        }
        let patterns = self.hosts.entry(one.host.clone()).or_default();
        if !patterns.contains(&one.pattern) {
            patterns.push(one.pattern.clone());
        }
    }

    pub(crate) fn remove(&mut self, one: &Quarantined) {
        if let Some(patterns) = self.hosts.get_mut(&one.host) {
            patterns.retain(|pattern| *pattern != one.pattern);
        }
    }

    /// Whether it takes no more.
    pub(crate) fn is_full(told: &[Quarantined]) -> bool {
        told.len() >= Self::MOST
    }

    /// The pattern for which a URL is left out.
    pub(crate) fn holds(&self, url: &CanonicalUrl) -> Option<&str> {
        let held = self.hosts.get(url.host_str())?;
        if let Some(whole) = held.iter().find(|pattern| *pattern == WHOLE_HOST) {
            return Some(whole);
        }
        let own = patterns(url);
        held.iter()
            .find(|pattern| own.contains(pattern))
            .map(String::as_str)
    }
}
