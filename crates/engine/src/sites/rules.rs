//! Rules of the hosts that have their own.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use teia_base::CanonicalUrl;
use teia_base::filter::Rules;

use super::{SiteKey, Sites};

/// Rules for hosts in sites, compiled when the first URL of one is met.
#[derive(Debug, Default)]
pub(crate) struct SiteRules {
    pub(crate) sites: Arc<Sites>,
    /// Kept only where there are sites.
    seeds: Vec<CanonicalUrl>,
    compiled: Mutex<HashMap<SiteKey, Arc<Rules>>>,
}

/// The rules that hold for a URL.
pub(crate) enum Held<'a> {
    /// The collection's.
    Usual(&'a Rules),
    /// Those of the sites of its host.
    Own(Arc<Rules>),
}

impl Deref for Held<'_> {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        match self {
            Self::Usual(rules) => rules,
            Self::Own(rules) => rules,
        }
    }
}

impl SiteRules {
    pub(crate) fn new(sites: &Arc<Sites>, seeds: &[CanonicalUrl]) -> Self {
        let seeds = if sites.is_empty() { &[] } else { seeds };
        Self {
            sites: Arc::clone(sites),
            seeds: seeds.to_vec(),
            compiled: Mutex::default(),
        }
    }

    /// The rules for a URL, which are the usual ones unless its host is in a site.
    pub(crate) fn of<'a>(&self, url: &CanonicalUrl, usual: &'a Rules) -> Held<'a> {
        let Some(key) = self.sites.key(url.host_str(), &[]) else {
            return Held::Usual(usual);
        };
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = compiled.get(&key) {
            return Held::Own(Arc::clone(rules));
        }
        let settings = self.sites.settings(&key);
        match Rules::compile(&settings.config.filter, &self.seeds) {
            Ok(rules) => {
                let rules = Arc::new(rules);
                compiled.insert(key, Arc::clone(&rules));
                Held::Own(rules)
            }
            Err(error) => {
                tracing::warn!(%error, "the filter of a site cannot be used");
                Held::Usual(usual)
            }
        }
    }

    /// The same around one seed more.
    pub(crate) fn with_seed(&self, seed: &CanonicalUrl) -> Self {
        if self.sites.is_empty() {
            return Self::default();
        }
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let wider = |(key, rules): (&SiteKey, &Arc<Rules>)| {
            let rules = (**rules).clone().with_seed(seed);
            (Arc::clone(key), Arc::new(rules))
        };
        let mut seeds = self.seeds.clone();
        seeds.push(seed.clone());
        Self {
            sites: Arc::clone(&self.sites),
            seeds,
            compiled: Mutex::new(compiled.iter().map(wider).collect()),
        }
    }
}

impl Clone for SiteRules {
    fn clone(&self) -> Self {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            sites: Arc::clone(&self.sites),
            seeds: self.seeds.clone(),
            compiled: Mutex::new(compiled.clone()),
        }
    }
}
