//! Sitemaps: files that name other files without end, and hosts that are not theirs.

use std::collections::HashMap;

use teia_base::journal::Attempt;
use teia_base::{CanonicalUrl, Flags, LinkKind, site_of};
use teia_repository::UrlState;
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use super::extract::Judged;
use crate::ring::Ring;
use crate::robots_book::Manner;

/// An index that an index names, and so on: so deep they are followed.
const LEVELS: u8 = 3;

/// The sitemaps of a host, as far as this process saw them in this run.
#[derive(Debug, Default)]
pub(crate) struct SitemapFiles {
    read: u32,
    /// Those that indexes have named, and how deep they lie; as many as may be read.
    levels: HashMap<u64, u8>,
    is_told: bool,
}

impl Ring {
    /// Counts a sitemap; what is left of its links when its host has given too many of them, and when
    /// those are left out that it has no right to name.
    ///
    /// An index may name an index, and a hostile one names a new one each time: neither their names
    /// nor their number tells it from an honest one until there are too many.
    pub(crate) fn links_of_sitemap(
        &mut self,
        state: &UrlState,
        mut links: Vec<Judged>,
        is_index: bool,
        attempt: &mut Attempt,
    ) -> Vec<Judged> {
        if !links.iter().any(is_sitemap) {
            return links;
        }
        let most = self.settings(state.host).run.sitemap_files;
        let files = self.sitemap_files.entry(state.host).or_default();
        files.read = files.read.saturating_add(1);
        let before = links.len();
        if files.read > most {
            links.retain(|link| !is_sitemap(link));
        } else if is_index {
            let own = files.levels.get(&key_of(attempt.url.normal()));
            let level = own.copied().unwrap_or(0) + 1;
            // Those that wait are asked for as well: what counts is how many were named, not how many came.
            links.retain(|link| {
                let key = key_of(link.record.url.normal());
                let is_free = !is_sitemap(link) || files.levels.contains_key(&key);
                if !is_free && level <= LEVELS && files.levels.len() + 1 < most as usize {
                    files.levels.insert(key, level);
                    return true;
                }
                is_free
            });
        }
        let dropped = before - links.len();
        if dropped > 0 {
            attempt.flags.add(Flags::PARSE_PARTIAL);
            attempt.detail = Some(format!("{dropped} URLs left out: too many sitemaps"));
            if !std::mem::replace(&mut files.is_told, true) {
                let name = attempt.url.normal().host_str();
                self.warn(format!(
                    "{name} has more than {most} sitemaps, or more than {LEVELS} levels of them: the URLs in the others are left out in this run; `sitemap-files` in [run] allows more"
                ));
            }
        }
        // A page may link to a sitemap anywhere, and what a person gave may name whom it likes.
        let is_html = attempt
            .media_type
            .as_deref()
            .is_some_and(|it| it.contains("html"));
        if state.seed || is_html {
            return links;
        }
        self.keep_submitted(links, attempt)
    }

    /// The links without those to sites whose robots.txt does not name a sitemap of this host.
    fn keep_submitted(&mut self, mut links: Vec<Judged>, attempt: &mut Attempt) -> Vec<Judged> {
        let own = attempt.url.normal().host_str();
        let mut hosts: HashMap<String, bool> = HashMap::new();
        let before = links.len();
        links.retain(|link| {
            let target = link.record.url.normal();
            if !is_sitemap(link) || site_of(target.host_str()) == site_of(own) {
                return true;
            }
            if let Some(known) = hosts.get(target.authority()) {
                return *known;
            }
            let is_proven = self.names_sitemap_of(target, own);
            hosts.insert(target.authority().to_owned(), is_proven);
            is_proven
        });
        let dropped = before - links.len();
        if dropped > 0 {
            attempt.flags.add(Flags::PARSE_PARTIAL);
            attempt.detail = Some(format!(
                "{dropped} URLs of other sites left out: their robots.txt names no sitemap of this host"
            ));
        }
        links
    }

    /// Whether the robots.txt of a URL's origin, as far as it is known, names a sitemap on this host.
    fn names_sitemap_of(&mut self, url: &CanonicalUrl, host: &str) -> bool {
        let origin = format!("{}://{}", url.scheme(), url.authority());
        let of_url = self.repository.host(url.host_str());
        let record = of_url.and_then(|host| self.repository.host_record(host));
        let stored = record
            .and_then(|record| record.robots.get(&origin))
            .cloned();
        let token = of_url.and_then(|host| self.token_of(host));
        let (stored, wall) = (stored.as_deref(), self.clock.wall());
        let token = token.as_deref();
        let manner = of_url.map_or(Manner::default(), |host| self.manner_of(host, token));
        self.robots.read(&origin, "/", stored, wall, manner);
        let Some(rules) = self.robots.rules(&origin) else {
            return false;
        };
        let is_on_host =
            |text: &String| Url::parse(text).is_ok_and(|named| named.host_str() == Some(host));
        rules.sitemaps().iter().any(is_on_host)
    }
}

fn key_of(url: &CanonicalUrl) -> u64 {
    xxh3_64(url.as_str().as_bytes())
}

fn is_sitemap(link: &Judged) -> bool {
    link.record.kind == LinkKind::Sitemap
}
