//! What the rules of a collection say of a URL, before anything is fetched.

use std::sync::Arc;

use serde::Serialize;
use teia_base::filter::{Candidate, Filter, Rules};
use teia_base::scope::Scope;
use teia_base::{CanonicalUrl, LinkKind, Seed};

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::sites::{SiteRules, Sites};

/// The rules of a collection around its seeds, to be tried on URLs.
#[derive(Debug)]
pub struct Tester {
    rules: Rules,
    sites: SiteRules,
    seeds: Vec<CanonicalUrl>,
}

/// What the rules say of one URL.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Trial {
    /// It is none.
    NoUrl {
        /// What was tried.
        url: String,
        /// Why not.
        error: String,
    },
    /// It is one.
    Tried {
        /// What was tried.
        url: String,
        /// Whether it enters.
        in_scope: bool,
        /// The rule that decides.
        rule: String,
        /// Whether its document is kept.
        keep: bool,
        /// Whether its links are followed.
        follow: bool,
        /// The sites of the collection file that its host is in by its name, in their order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sites: Vec<MatchedSite>,
    },
}

/// A `[[site]]` that a host is in, and what it changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedSite {
    /// Its place in the file, from 1.
    pub site: u32,
    /// What its `match` says.
    #[serde(rename = "match")]
    pub hosts: Vec<String>,
    /// What is different there: `politeness.delay = "10s"`.
    pub changes: Vec<String>,
}

impl Trial {
    /// The rule that decides, and the sites whose settings hold, for one line.
    pub fn told(&self) -> String {
        match self {
            Self::NoUrl { error, .. } => error.clone(),
            Self::Tried { rule, sites, .. } => {
                let told = sites.iter().map(MatchedSite::told);
                let parts: Vec<String> = std::iter::once(rule.clone()).chain(told).collect();
                parts.join("; ")
            }
        }
    }
}

impl MatchedSite {
    /// The site and what it changes, for one line.
    pub fn told(&self) -> String {
        let (hosts, changes) = (self.hosts.join(", "), self.changes.join(", "));
        format!("site {} ({hosts}): {changes}", self.site)
    }
}

impl Tester {
    /// With these seeds beside the collection's own.
    pub fn new(config: &CollectionConfig, seeds: &[String]) -> Result<Self, EngineError> {
        let mut normal = Vec::new();
        for line in seeds.iter().chain(&config.seeds) {
            let Some(seed) = Seed::parse(line)? else {
                continue;
            };
            // What was parsed as a seed has a normal form.
            if let Ok(found) = config.normal_form.normalise(&seed.url) {
                normal.push(found.into_normal());
            }
        }
        let rules = Rules::compile(&config.filter, &normal)?;
        let sites = SiteRules::new(&Arc::new(Sites::new(config)), &normal);
        Ok(Self {
            rules,
            sites,
            seeds: normal,
        })
    }

    /// Whether the scope lies around seeds, and there is none.
    pub fn lacks_seeds(&self, config: &CollectionConfig) -> bool {
        let filter = &config.filter;
        Self::needs_seed(&filter.scope) && self.seeds.is_empty() && filter.hosts.is_empty()
    }

    /// Whether a scope lies around seeds.
    pub fn needs_seed(scope: &Scope) -> bool {
        matches!(scope, Scope::Host | Scope::Domain | Scope::Prefix)
    }

    /// What the rules say of a URL, found on some page or given as a seed.
    pub fn answer(&self, text: &str) -> Trial {
        let url = match Self::read_url(text) {
            Ok(url) => url,
            Err(error) => {
                let url = text.to_owned();
                return Trial::NoUrl { url, error };
            }
        };
        let kind = if self.seeds.contains(&url) {
            LinkKind::Seed
        } else {
            LinkKind::Anchor
        };
        let verdict = self.sites.of(&url, &self.rules).before(&Candidate {
            url: &url,
            depth: u16::from(kind != LinkKind::Seed),
            kind,
            from_kept_in_scope: false,
            from: None,
        });
        Trial::Tried {
            url: text.to_owned(),
            in_scope: verdict.is_admitted(),
            rule: verdict.rule.to_string(),
            keep: verdict.keep,
            follow: verdict.follow,
            sites: self.sites.sites.matched(url.host_str()),
        }
    }

    /// The sites of a collection file that a host is in by its name.
    pub fn sites_of(config: &CollectionConfig, host: &str) -> Vec<MatchedSite> {
        Sites::new(config).matched(host)
    }

    /// A URL, or a seed without scheme.
    pub fn read_url(text: &str) -> Result<CanonicalUrl, String> {
        match CanonicalUrl::parse(text) {
            Ok(url) if !url.host_str().is_empty() || url.scheme() == "file" => return Ok(url),
            _ => {}
        }
        match Seed::parse(text) {
            Ok(Some(seed)) => {
                CanonicalUrl::parse(seed.url.as_str()).map_err(|error| error.to_string())
            }
            Ok(None) => Err("an empty line is not a URL".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
