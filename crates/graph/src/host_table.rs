//! How many links lead from host to host, as changes that add up over segments.
//!
//! ```text
//! hosts: dictionary, with the number of pages beside each | out, in: lists of hosts
//! ```
//!
//! The one label of a link between hosts is the number of links (zigzag). A new version of a page
//! adds its links in the newest segment and takes those of the old version away there too, so a
//! number may be negative; the sum over all segments is what holds now.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::GraphError;
use crate::chunk;
use crate::dictionary::{self, Values};
use crate::lists;
use crate::varint;

/// Changes that are being gathered.
#[derive(Debug, Default)]
pub(crate) struct HostChanges {
    hosts: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    links: HashMap<(u32, u32), i64>,
    pages: HashMap<u32, i64>,
}

/// Where hosts lie in their file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extents {
    pub(crate) names: dictionary::Extent,
    pub(crate) out: lists::Extent,
    pub(crate) inward: lists::Extent,
}

impl HostChanges {
    /// A number for a host, to be used with the other functions.
    pub(crate) fn host(&mut self, host: &str) -> u32 {
        if let Some(number) = self.hosts.get(host) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = host.into();
        self.names.push(Arc::clone(&name));
        self.hosts.insert(name, number);
        number
    }

    pub(crate) fn add_links(&mut self, source: u32, target: u32, links: i64) {
        *self.links.entry((source, target)).or_default() += links;
    }

    pub(crate) fn add_pages(&mut self, host: u32, pages: i64) {
        *self.pages.entry(host).or_default() += pages;
    }

    /// Writes names and both directions.
    pub(crate) fn write(&self, out: &mut chunk::Writer) -> Result<Extents, GraphError> {
        let mut order: Vec<u32> = (0..).take(self.names.len()).collect();
        order.sort_unstable_by_key(|number| &self.names[*number as usize]);
        let mut places = vec![0; order.len()];
        let mut names = dictionary::Writer::new(out, Values::Signed);
        for number in &order {
            let pages = self.pages.get(number).copied().unwrap_or(0);
            let name = self.names[*number as usize].as_bytes();
            places[*number as usize] = names.push(out, name, pages)?;
        }
        let names = names.finish(out)?;
        let mut links: Vec<(u32, u32, i64)> = self
            .links
            .iter()
            .filter(|(_, links)| **links != 0)
            .map(|((source, target), links)| {
                (places[*source as usize], places[*target as usize], *links)
            })
            .collect();
        let outward = write_lists(out, &mut links, places.len())?;
        links
            .iter_mut()
            .for_each(|link| *link = (link.1, link.0, link.2));
        let inward = write_lists(out, &mut links, places.len())?;
        Ok(Extents {
            names,
            out: outward,
            inward,
        })
    }
}

fn write_lists(
    out: &mut chunk::Writer,
    links: &mut [(u32, u32, i64)],
    hosts: usize,
) -> Result<lists::Extent, GraphError> {
    links.sort_unstable();
    let mut writer = lists::Writer::new(out);
    for list in links.chunk_by(|a, b| a.0 == b.0) {
        writer.begin(out, list[0].0)?;
        for (_, other, links) in list {
            writer.push(out, *other, &[label_of(*links)])?;
        }
        writer.end(out, false)?;
    }
    writer.finish(out, u32::try_from(hosts).unwrap_or(u32::MAX))
}

/// A number of links as a label; beyond two thousand million it stays there.
pub(crate) fn label_of(links: i64) -> u32 {
    let bound = i64::from(i32::MAX);
    u32::try_from(varint::zigzag(links.clamp(-bound, bound))).unwrap_or(u32::MAX)
}

/// The number of links that a label stands for.
pub(crate) fn links_of(labels: &[u32]) -> i64 {
    varint::unzigzag(labels.first().copied().unwrap_or(0).into())
}

/// The host of a URL's text, without port; empty where there is none.
pub(crate) fn host_of(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else {
        return "";
    };
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    match host.find(']') {
        Some(end) if host.starts_with('[') => &host[..=end],
        _ => host.split_once(':').map_or(host, |(host, _)| host),
    }
}

#[cfg(test)]
mod tests {
    use teia_base::CanonicalUrl;

    use super::*;

    #[test]
    fn hosts_are_those_that_urls_name() {
        for text in [
            "http://a.example/x",
            "https://user:pass@b.example:8080?q=http://c/",
            "http://[::1]:80/",
            "mailto:somebody@example.org",
            "http://",
            "",
            "http://nul\0host/",
        ] {
            let url = CanonicalUrl::from_stored(text);
            assert_eq!(host_of(text), url.host_str(), "{text:?}");
        }
    }

    #[test]
    fn numbers_of_links_come_back() {
        for links in [0, 1, -1, 1_000_000, -7, i64::from(i32::MAX)] {
            assert_eq!(links_of(&[label_of(links)]), links);
        }
        assert_eq!(links_of(&[label_of(i64::MAX)]), i64::from(i32::MAX));
    }
}
