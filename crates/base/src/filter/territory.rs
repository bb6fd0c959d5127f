//! The places that are in scope: what a [`Scope`] means around given seeds.

use std::collections::HashSet;

use super::{FilterConfig, FilterError};
use crate::scope::Scope;
use crate::{CanonicalUrl, Host};

/// What a [`Scope`] and the extra hosts of a collection cover.
#[derive(Clone, Debug)]
pub(super) struct Territory {
    scope: Scope,
    /// By scope: `web example.org:8080`, `example.org`, or `web example.org/docs/`.
    places: HashSet<Box<str>>,
    hosts: HashSet<Box<str>>,
    /// Hosts of which everything below is in scope as well.
    parents: HashSet<Box<str>>,
}

/// Why a URL is in scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// Any place is.
    Anywhere,
    /// By the scope; this host, site, prefix or suffix.
    Scope(&'a str),
    /// By the list of hosts.
    Listed,
}

impl Territory {
    pub(super) fn new(config: &FilterConfig, seeds: &[CanonicalUrl]) -> Result<Self, FilterError> {
        let mut territory = Self {
            scope: config.scope.clone(),
            places: HashSet::new(),
            hosts: HashSet::new(),
            parents: HashSet::new(),
        };
        for pattern in &config.hosts {
            let parent = pattern.trim().strip_prefix("*.");
            let refuse = || FilterError::Host(pattern.clone());
            let host = Host::parse(parent.unwrap_or(pattern)).ok_or_else(refuse)?;
            let set = if parent.is_some() {
                &mut territory.parents
            } else {
                &mut territory.hosts
            };
            set.insert(host.as_str().into());
        }
        for seed in seeds {
            territory.add(seed);
        }
        Ok(territory)
    }

    /// Widens the territory by another seed.
    pub(super) fn add(&mut self, seed: &CanonicalUrl) {
        match self.scope {
            Scope::Host => self.places.insert(door_of(seed).into()),
            Scope::Domain => self.places.insert(seed.site().into()),
            Scope::Prefix => {
                let path = seed.path();
                let directory = path.rfind('/').map_or("/", |slash| &path[..=slash]);
                self.places.insert((door_of(seed) + directory).into())
            }
            Scope::Any | Scope::Suffix(_) => false,
        };
    }

    /// Why the URL is in scope; `None` where it is not.
    pub(super) fn find(&self, url: &CanonicalUrl) -> Option<Place<'_>> {
        self.by_scope(url)
            .or_else(|| self.lists(url.host_str()).then_some(Place::Listed))
    }

    fn by_scope(&self, url: &CanonicalUrl) -> Option<Place<'_>> {
        let place = match &self.scope {
            Scope::Any => return Some(Place::Anywhere),
            Scope::Host => self.places.get(door_of(url).as_str())?,
            Scope::Domain => self.places.get(url.site())?,
            Scope::Prefix => self.prefix_of(url)?,
            Scope::Suffix(suffixes) => {
                let suffix = suffixes
                    .iter()
                    .find(|suffix| ends_in(url.host_str(), suffix))?;
                return Some(Place::Scope(suffix));
            }
        };
        Some(Place::Scope(
            place.split_once(' ').map_or(place, |(_, place)| place),
        ))
    }

    /// A seed's directory in which the URL lies: one of the directories above it is in the set.
    fn prefix_of(&self, url: &CanonicalUrl) -> Option<&str> {
        let mut text = door_of(url);
        let door = text.len();
        text.push_str(url.path());
        text[door..]
            .match_indices('/')
            .find_map(|(slash, _)| self.places.get(&text[..=door + slash]))
            .map(AsRef::as_ref)
    }

    fn lists(&self, host: &str) -> bool {
        if self.hosts.contains(host) || self.parents.contains(host) {
            return true;
        }
        !self.parents.is_empty()
            && host
                .match_indices('.')
                .any(|(dot, _)| self.parents.contains(&host[dot + 1..]))
    }

    /// The scope in words, for a rule.
    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }
}

/// Where a server listens. `http` and `https` on their own ports are one place.
fn door_of(url: &CanonicalUrl) -> String {
    let family = match url.scheme() {
        "http" | "https" => "web",
        other => other,
    };
    format!("{family} {}", url.authority())
}

/// Whether the host is this name or lies below it.
fn ends_in(host: &str, suffix: &str) -> bool {
    let name = suffix.trim_matches('.');
    host.strip_suffix(name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    #[track_caller]
    fn check(scope: &str, seed: &str, inside: &[&str], outside: &[&str]) {
        let config = FilterConfig {
            scope: scope.parse().unwrap(),
            ..FilterConfig::default()
        };
        let territory = Territory::new(&config, &[url(seed)]).unwrap();
        for text in inside {
            assert!(
                territory.find(&url(text)).is_some(),
                "{text} should be in {scope} of {seed}"
            );
        }
        for text in outside {
            assert!(
                territory.find(&url(text)).is_none(),
                "{text} should not be in {scope} of {seed}"
            );
        }
    }

    #[test]
    fn host_is_host_and_port() {
        check(
            "host",
            "http://a.example.org/x/y",
            &[
                "https://a.example.org/",
                "http://a.example.org/z",
                "https://u@a.example.org:443/",
            ],
            &[
                "http://b.example.org/",
                "http://example.org/",
                "http://a.example.org:8080/",
                "ftp://a.example.org/",
            ],
        );
        check(
            "host",
            "http://127.0.0.1:8080/",
            &["http://127.0.0.1:8080/a", "https://127.0.0.1:8080/a"],
            &[
                "http://127.0.0.1/",
                "http://127.0.0.1:8081/",
                "http://127.0.0.2:8080/",
            ],
        );
    }

    #[test]
    fn domain_is_the_registrable_domain() {
        check(
            "domain",
            "http://www.example.co.uk/",
            &["https://example.co.uk/", "http://a.b.example.co.uk:8080/"],
            &[
                "http://other.co.uk/",
                "http://co.uk/",
                "http://badexample.co.uk/",
            ],
        );
        check(
            "domain",
            "http://127.0.0.1/",
            &["http://127.0.0.1:81/"],
            &["http://128.0.0.1/"],
        );
        check(
            "domain",
            "http://intranet/",
            &["http://intranet/a"],
            &["http://other/", "http://a.intranet.org/"],
        );
    }

    #[test]
    fn prefix_is_the_seed_up_to_its_last_slash() {
        check(
            "prefix",
            "http://example.org/docs/intro?x=/y/",
            &[
                "https://example.org/docs/",
                "http://example.org/docs/a/b?c",
                "http://example.org/docs/?q",
            ],
            &[
                "http://example.org/docs",
                "http://example.org/docsy/",
                "http://example.org:81/docs/",
                "http://example.org/?/docs/",
            ],
        );
        check(
            "prefix",
            "http://example.org",
            &["http://example.org/a"],
            &["http://example.com/"],
        );
    }

    #[test]
    fn suffix_ends_at_a_label() {
        check(
            "suffix:.pt,gov.br",
            "http://example.org/",
            &[
                "http://example.pt/",
                "http://a.b.pt:81/",
                "http://pt/",
                "https://www.gov.br/",
            ],
            &[
                "http://example.org/",
                "http://apt/",
                "http://xgov.br/",
                "http://example.pt.com/",
            ],
        );
    }

    #[test]
    fn listed_hosts_are_added() {
        let config = FilterConfig {
            hosts: vec!["Other.example".to_owned(), "*.cdn.example".to_owned()],
            ..FilterConfig::default()
        };
        let territory = Territory::new(&config, &[url("http://a.example/")]).unwrap();
        for text in [
            "http://other.example:81/",
            "http://cdn.example/",
            "http://x.y.cdn.example/",
        ] {
            assert_eq!(territory.find(&url(text)), Some(Place::Listed), "{text}");
        }
        for text in ["http://a.other.example/", "http://acdn.example/"] {
            assert_eq!(territory.find(&url(text)), None, "{text}");
        }
        let bad = FilterConfig {
            hosts: vec!["a b".to_owned()],
            ..FilterConfig::default()
        };
        assert_eq!(
            Territory::new(&bad, &[]).unwrap_err(),
            FilterError::Host("a b".to_owned())
        );
    }
}
