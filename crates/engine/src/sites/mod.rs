//! Settings for some hosts only: `[[site]]` in a collection file.
//!
//! ```text
//! host ──> which sites (a look-up for each label of its name, and its addresses where ranges count)
//!               │
//!               v
//!     settings of just these sites: the collection's, with each site's laid over in the file's order
//! ```
//!
//! The ring asks once for each host (`SiteBook`); workers, who have only a name, ask by name. Hosts in no
//! site cost a few look-ups in a small map and share the collection's own settings.

mod book;
mod config;
mod pattern;
mod rules;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::answers::Reader;
use crate::collection::CollectionConfig;
use crate::tester::MatchedSite;
use pattern::AddressRange;

pub(crate) use book::SiteBook;
pub use config::SiteConfig;
pub(crate) use config::{MATCH, read_sites};
pub(crate) use pattern::HostPattern;
pub(crate) use rules::{Held, SiteRules};

/// Which sites a host is in, by their places in the file; never empty.
pub(crate) type SiteKey = Arc<[u16]>;

/// The sites of a collection, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    names: HashMap<Box<str>, Vec<u16>>,
    below: HashMap<Box<str>, Vec<u16>>,
    ranges: Vec<(AddressRange, u16)>,
    sites: Vec<SiteConfig>,
    base: toml::Table,
    usual: CollectionConfig,
    known: Mutex<HashMap<SiteKey, Arc<Settings>>>,
}

/// The settings of hosts that are in the same sites.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) key: SiteKey,
    pub(crate) config: CollectionConfig,
    pub(crate) reader: Reader,
    /// Whether anything of [fetch] is different, or follows from something that is.
    pub(crate) fetches_otherwise: bool,
}

impl Sites {
    /// Of settings that were checked.
    pub(crate) fn new(config: &CollectionConfig) -> Self {
        let mut sites = Self::default();
        if config.site.is_empty() {
            return sites;
        }
        sites.usual = config.without_sites();
        sites.base = toml::Table::try_from(&sites.usual).unwrap_or_default();
        sites.sites.clone_from(&config.site);
        for (number, site) in config.site.iter().enumerate() {
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            for pattern in site.patterns().unwrap_or_default() {
                match pattern {
                    HostPattern::Name(name) => sites.names.entry(name).or_default().push(number),
                    HostPattern::Below(name) => sites.below.entry(name).or_default().push(number),
                    HostPattern::Range(range) => sites.ranges.push((range, number)),
                }
            }
        }
        sites
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Whether addresses count.
    pub(crate) fn has_ranges(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The sites that a host is in by its name; and by its addresses, as far as they are known.
    pub(crate) fn key(&self, host: &str, addresses: &[IpAddr]) -> Option<SiteKey> {
        if self.is_empty() {
            return None;
        }
        let mut found: Vec<u16> = self
            .names
            .get(host)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        if !self.below.is_empty() {
            let ends = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
            for end in std::iter::once(host).chain(ends) {
                found.extend(self.below.get(end).into_iter().flatten());
            }
        }
        if !self.ranges.is_empty() {
            let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            for (range, number) in &self.ranges {
                let mut all = addresses.iter().copied().chain(literal);
                if all.any(|address| range.contains(address)) {
                    found.push(*number);
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        found.dedup();
        Some(found.into())
    }

    /// What is different for a host of this name; `None` where nothing is.
    pub(crate) fn by_name(&self, host: &str) -> Option<Arc<Settings>> {
        self.key(host, &[]).map(|key| self.settings(&key))
    }

    /// The settings of hosts in these sites.
    pub(crate) fn settings(&self, key: &SiteKey) -> Arc<Settings> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known.get(key) {
            return Arc::clone(settings);
        }
        let settings = Arc::new(self.merge(key));
        known.insert(Arc::clone(key), Arc::clone(&settings));
        settings
    }

    fn merge(&self, key: &SiteKey) -> Settings {
        let mut table = self.base.clone();
        let mut fetches_otherwise = false;
        for site in key.iter().filter_map(|at| self.sites.get(usize::from(*at))) {
            site.over(&mut table);
            let is_fetch = |(name, _): &(String, toml::Value)| {
                name.starts_with("fetch.") || name == "filter.max-size"
            };
            fetches_otherwise |= site.settings().iter().any(is_fetch);
        }
        // Each of them was checked alone; that together they cannot be read is not to be expected.
        let mut config: CollectionConfig = table.try_into().unwrap_or_else(|error| {
            tracing::warn!(%error, "settings of sites contradict each other, and are passed over");
            self.usual.clone()
        });
        config.settle();
        Settings {
            key: Arc::clone(key),
            reader: Reader::new(&config),
            config,
            fetches_otherwise,
        }
    }

    /// The sites that a host is in by its name, as people are told.
    pub(crate) fn matched(&self, host: &str) -> Vec<MatchedSite> {
        let key = self.key(host, &[]);
        let places = key.iter().flat_map(|key| key.iter().copied());
        places
            .filter_map(|at| {
                let site = self.sites.get(usize::from(at))?;
                Some(MatchedSite {
                    site: u32::from(at) + 1,
                    hosts: site.hosts().into_iter().map(str::to_owned).collect(),
                    changes: site.in_words(),
                })
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
