//! What was written since the last commit, and is not yet to be seen by a reader.

use std::collections::HashMap;

use crate::page::Page;

/// How a URL stands in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Indexed, with this digest of its text.
    Indexed(u64),
    /// Another address of the indexed document with this digest.
    Alias(u64),
}

/// The changes since the last commit. Bounded by commits: see `IndexConfig::max_pending`.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    urls: HashMap<String, Option<Standing>>,
    indexed: HashMap<u64, String>,
    /// Those of them that call another address the right one: it may come before the next commit.
    senders: HashMap<u64, Page>,
    /// Bytes of texts in them.
    sender_bytes: usize,
    aliases: HashMap<u64, usize>,
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.urls.len()
    }

    /// How the URL stands by these changes; none when they do not touch it.
    pub(crate) fn standing(&self, url: &str) -> Option<Option<Standing>> {
        self.urls.get(url).copied()
    }

    /// The URL indexed with this digest since the last commit.
    pub(crate) fn indexed(&self, digest: u64) -> Option<&str> {
        self.indexed.get(&digest).map(String::as_str)
    }

    /// The page that was indexed with this digest since the last commit, if it calls another address the right one.
    pub(crate) fn sender(&self, digest: u64) -> Option<&Page> {
        self.senders.get(&digest)
    }

    /// What the pages take that call another address the right one.
    pub(crate) fn sender_bytes(&self) -> usize {
        self.sender_bytes
    }

    pub(crate) fn note_sender(&mut self, digest: u64, sender: Option<Page>) {
        let more = sender.as_ref().map_or(0, |page| page.text.len());
        let before = match sender {
            Some(page) => self.senders.insert(digest, page),
            None => self.senders.remove(&digest),
        };
        self.sender_bytes += more;
        self.sender_bytes -= before.map_or(0, |page| page.text.len());
    }

    /// Whether an address was added to this digest since the last commit.
    pub(crate) fn has_alias(&self, digest: u64) -> bool {
        self.aliases.get(&digest).is_some_and(|&count| count > 0)
    }

    pub(crate) fn note(&mut self, url: &str, standing: Option<Standing>) {
        match self.urls.insert(url.to_owned(), standing) {
            Some(Some(Standing::Indexed(digest)))
                if self.indexed.get(&digest).is_some_and(|known| known == url) =>
            {
                self.indexed.remove(&digest);
            }
            Some(Some(Standing::Alias(digest))) => {
                if let Some(count) = self.aliases.get_mut(&digest) {
                    *count = count.saturating_sub(1);
                }
            }
            _ => {}
        }
        match standing {
            Some(Standing::Indexed(digest)) => {
                self.indexed.insert(digest, url.to_owned());
            }
            Some(Standing::Alias(digest)) => *self.aliases.entry(digest).or_default() += 1,
            None => {}
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
