//! How many links lead from host to host, as changes that add up over segments.
//!
//! ```text
//! out:  source, 0, target -> links      in:  target, 0, source -> links
//!       host, 0, 0        -> pages
//! ```
//!
//! Two dictionaries with a number beside each text. A new version of a page adds its links in the
//! newest segment and takes those of the old version away there too, so a number may be negative;
//! the sum over all segments is what holds now.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::GraphError;
use crate::chunk;
use crate::dictionary::{self, Extent, Values};

/// Ends a host in a key; no host has it, escaped.
pub(crate) const END: u8 = 0;

/// Changes that are being gathered.
#[derive(Debug, Default)]
pub(crate) struct HostChanges {
    hosts: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    links: HashMap<(u32, u32), i64>,
    pages: HashMap<u32, i64>,
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

    /// Writes both dictionaries.
    pub(crate) fn write(&self, out: &mut chunk::Writer) -> Result<(Extent, Extent), GraphError> {
        let name = |number: u32| &*self.names[number as usize];
        let links = || self.links.iter().filter(|(_, links)| **links != 0);
        let mut outward: Vec<(Vec<u8>, i64)> = links()
            .map(|((source, target), links)| (key(name(*source), name(*target)), *links))
            .collect();
        let pages = self.pages.iter().filter(|(_, pages)| **pages != 0);
        outward.extend(pages.map(|(host, pages)| (pages_key(name(*host)), *pages)));
        let inward = links()
            .map(|((source, target), links)| (key(name(*target), name(*source)), *links))
            .collect();
        Ok((write_sorted(out, outward)?, write_sorted(out, inward)?))
    }
}

fn write_sorted(
    out: &mut chunk::Writer,
    mut entries: Vec<(Vec<u8>, i64)>,
) -> Result<Extent, GraphError> {
    entries.sort_unstable();
    let mut writer = dictionary::Writer::new(out, Values::Signed);
    for (text, value) in &entries {
        writer.push(out, text, *value)?;
    }
    writer.finish(out)
}

/// What all keys of a host begin with.
pub(crate) fn prefix(host: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(host.len() + 1);
    escape(host, &mut key);
    key.push(END);
    key
}

/// The key of links between two hosts.
pub(crate) fn key(one: &str, other: &str) -> Vec<u8> {
    let mut key = prefix(one);
    escape(other, &mut key);
    key
}

/// The key of a host's number of pages.
pub(crate) fn pages_key(host: &str) -> Vec<u8> {
    let mut key = prefix(host);
    key.push(END);
    key
}

/// The two parts of a key as they are in it; the second is `[END]` for a number of pages.
pub(crate) fn parts(key: &[u8]) -> (&[u8], &[u8]) {
    let end = key
        .iter()
        .position(|byte| *byte == END)
        .unwrap_or(key.len());
    (&key[..end], key.get(end + 1..).unwrap_or_default())
}

/// A host never has these bytes, unless somebody is up to something; then they do no harm.
fn escape(host: &str, out: &mut Vec<u8>) {
    for byte in host.bytes() {
        match byte {
            0 => out.extend_from_slice(&[1, 1]),
            1 => out.extend_from_slice(&[1, 2]),
            byte => out.push(byte),
        }
    }
}

/// The host that a part of a key stands for.
pub(crate) fn unescape(part: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.iter();
    while let Some(byte) = rest.next() {
        match byte {
            1 => bytes.push(rest.next().map_or(1, |next| next.saturating_sub(1))),
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
            assert_eq!(unescape(parts(&key("x", host_of(text))).1), url.host_str());
            assert_eq!(unescape(parts(&key(host_of(text), "x")).0), url.host_str());
        }
        assert_eq!(parts(&pages_key("h")), (&b"h"[..], &[END][..]));
        assert!(key("a", "") < pages_key("a") && pages_key("a") < key("a", "\0"));
    }
}
