//! The web itself: a pure function from its description to everything on it.

use crate::config::WebConfig;
use crate::draw::{below, mix};
use crate::naming::Naming;
use crate::place::{Place, Spelling};
use crate::prose::{Language, Prose};

/// Hops in the circle of redirects.
pub(crate) const LOOP_LENGTH: u32 = 3;
/// Images a host has.
pub(crate) const IMAGES: u32 = 5;

/// A web described by its config: ask it for pages, or for the truth about them.
///
/// Hosts are numbered from 0; a URL of the web is a host and a [`Place`] on it.
#[derive(Debug)]
pub struct Web {
    pub(crate) config: WebConfig,
    pub(crate) naming: Naming,
    pub(crate) prose: Prose,
}

impl Web {
    /// The web of this description. Values out of range are brought into it.
    pub fn new(config: WebConfig, naming: Naming) -> Self {
        let config = config.settled();
        let prose = Prose::new(config.seed, config.page_bytes.max(2048));
        Self {
            config,
            naming,
            prose,
        }
    }

    /// The description, as it is in force.
    pub fn config(&self) -> &WebConfig {
        &self.config
    }

    /// How its hosts are named.
    pub fn naming(&self) -> Naming {
        self.naming
    }

    /// The URL of a place on a host.
    pub fn url(&self, host: u32, place: Place) -> String {
        let mut out = Vec::with_capacity(64);
        self.naming.write_origin(host, &mut out);
        self.spelling(host).write(place, "&", &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The front page of a host.
    pub fn front(&self, host: u32) -> String {
        self.url(host, Place::Page(0))
    }

    /// A host's name, with its port where URLs have one.
    pub fn host_name(&self, host: u32) -> String {
        let mut out = Vec::with_capacity(32);
        self.naming.write_origin(host, &mut out);
        String::from_utf8_lossy(&out["http://".len()..]).into_owned()
    }

    /// The host that a name (with its port where URLs have one) stands for.
    pub fn host_number(&self, name: &str) -> Option<u32> {
        self.naming
            .host(name)
            .filter(|host| *host < self.config.hosts)
    }

    /// Where on the web a URL is; `None` when the host is not of this web, or has no such place.
    pub fn locate(&self, url: &str) -> Option<(u32, Place)> {
        let rest = url.strip_prefix("http://")?;
        let (name, path) = rest.split_at(rest.find('/')?);
        let host = self.host_number(name)?;
        let place = self.spelling(host).read(path, &mut Vec::new())?;
        self.has(host, place).then_some((host, place))
    }

    /// Every ordinary page, by host and number.
    pub fn page_urls(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.config.hosts)
            .flat_map(|host| (0..self.config.pages_per_host).map(move |page| (host, page)))
            .map(|(host, page)| self.url(host, Place::Page(page)))
    }

    /// The host whose pages this host serves: itself, unless it is an alias.
    pub fn original(&self, host: u32) -> u32 {
        let first_alias = self.config.hosts - self.config.alias_hosts;
        if host < first_alias {
            host
        } else {
            host - first_alias
        }
    }

    /// The language of a place's page.
    pub fn language(&self, host: u32, place: Place) -> Language {
        let draw = self.draw(self.original(host), place, 3);
        if draw.is_multiple_of(2) {
            Language::Portuguese
        } else {
            Language::English
        }
    }

    /// A word that is in this place's page (and its copies) and in no other: for tests of search.
    pub fn marker(&self, host: u32, place: Place) -> String {
        let place = self.content(place);
        let mut word = String::with_capacity(14);
        let mut rest = self.draw(self.original(host), place, 4);
        for _ in 0..7 {
            word.push(char::from(b"bdfgjklmnprstvxz"[below(rest, 16) as usize]));
            rest = rest.rotate_left(7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            word.push(char::from(b"aeiou"[below(rest, 5) as usize]));
            rest = rest.rotate_left(9);
        }
        word
    }

    /// How page paths of a host are spelled.
    pub(crate) fn spelling(&self, host: u32) -> Spelling {
        Spelling {
            seed: self.config.seed,
            host: self.original(host),
            queries: self.config.queries,
        }
    }

    /// The place whose content is served at this place: another one for copies and sessions.
    pub(crate) fn content(&self, place: Place) -> Place {
        match place {
            Place::Copy(number) => Place::Page(number + 1),
            Place::Session { page, .. } => Place::Session { page, id: 0 },
            other => other,
        }
    }

    /// Whether the host answers this place otherwise than with 404.
    pub(crate) fn has(&self, host: u32, place: Place) -> bool {
        use crate::place::Gate;
        let config = &self.config;
        match place {
            Place::Page(number) => number < config.pages_per_host,
            Place::Robots => !matches!(self.robots(host), crate::robots::Robots::Missing),
            Place::Sitemap => config.sitemap,
            Place::Feed => config.feed,
            Place::Style | Place::Script => config.requisites,
            Place::Image(number) => config.requisites && number < IMAGES,
            Place::Honeypot(number) => number < config.honeypots,
            Place::Missing(_) => false,
            Place::Hop { chain, step } => {
                chain < config.redirects && step < crate::links::hops(chain)
            }
            Place::Loop(number) => config.redirect_loop && number < LOOP_LENGTH,
            Place::Flaky(number) | Place::Behind(Gate::Flaky, number) => number < config.flaky,
            Place::Slow(number) => number < config.slow,
            Place::Copy(number) => number < config.copies,
            Place::Meta(number) | Place::Behind(Gate::Meta, number) => number < config.meta_robots,
            Place::Behind(Gate::Redirect, number) => number < config.redirects,
            Place::Behind(Gate::Nofollow, number) => number < config.nofollow_links,
            Place::Orphan(number) => config.sitemap && number < config.orphans,
            Place::Session { page, .. } => page < config.sessions,
            Place::Calendar { .. } => config.calendar,
        }
    }

    /// A draw of its own for each place of each host and each salt.
    pub(crate) fn draw(&self, host: u32, place: Place, salt: u64) -> u64 {
        let (kind, number) = match place {
            Place::Page(number) => (0, u64::from(number)),
            Place::Honeypot(number) => (1, u64::from(number)),
            Place::Missing(number) => (2, u64::from(number)),
            Place::Hop { chain, step } => (3, u64::from(chain) << 8 | u64::from(step)),
            Place::Loop(number) => (4, u64::from(number)),
            Place::Flaky(number) => (5, u64::from(number)),
            Place::Slow(number) => (6, u64::from(number)),
            Place::Copy(number) => (7, u64::from(number)),
            Place::Meta(number) => (8, u64::from(number)),
            Place::Behind(gate, number) => (9 + gate as u64, u64::from(number)),
            Place::Orphan(number) => (13, u64::from(number)),
            Place::Session { page, id } => (14, u64::from(page) ^ id),
            Place::Calendar { month, deep } => (15, u64::from(month) << 32 | u64::from(deep)),
            Place::Image(number) => (16, u64::from(number)),
            Place::Robots => (17, 0),
            Place::Sitemap => (18, 0),
            Place::Feed => (19, 0),
            Place::Style => (20, 0),
            Place::Script => (21, 0),
        };
        mix(&[self.config.seed, u64::from(host), kind << 8 | salt, number])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn page_urls_are_distinct_and_found_again() {
        let web = Web::new(WebConfig::everything(5), Naming::Names);
        let urls: BTreeSet<String> = web.page_urls().collect();
        assert_eq!(urls.len(), 8 * 25);
        for url in &urls {
            let (host, place) = web.locate(url).unwrap();
            assert_eq!(&web.url(host, place), url);
        }
    }

    #[test]
    fn markers_are_distinct() {
        let web = Web::new(
            WebConfig {
                hosts: 20,
                pages_per_host: 500,
                ..WebConfig::default()
            },
            Naming::Names,
        );
        let all = (0..20).flat_map(|host| (0..500).map(move |page| (host, page)));
        let markers: BTreeSet<String> = all
            .map(|(host, page)| web.marker(host, Place::Page(page)))
            .collect();
        assert_eq!(markers.len(), 10_000);
    }
}
