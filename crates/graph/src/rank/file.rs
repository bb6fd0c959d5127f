//! Ranks on disk, by URL and by host.
//!
//! ```text
//! URLs (dictionary) | per URL value (f64), in-links (u32) | hosts (dictionary) | per host the same
//! | footer: 11 words (u64; the sums are f64), magic
//! ```
//!
//! A rank is its value divided by the sum of all. The file stands alone: it says nothing of segments.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::{CanonicalUrl, Files};

use crate::chunk::{self, ChunkCache, Cursor, File};
use crate::dictionary::{Dictionary, Entries, Extent, Values};
use crate::{GraphConfig, GraphError};

const MAGIC: &[u8; 8] = b"TEIARNK1";
const WORDS: usize = 11;
const RECORD: u64 = 12;

/// What a page is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRank {
    /// PageRank; those of all nodes sum to 1.
    pub rank: f64,
    /// Pages that link to it and have a voice.
    pub in_links: u32,
}

/// What a host is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostRank {
    /// PageRank in the graph of hosts; those of all hosts sum to 1.
    pub rank: f64,
    /// Other hosts that link to it.
    pub in_hosts: u32,
}

/// The ranks of all pages and hosts, as of one snapshot.
#[derive(Debug, Clone)]
pub struct RankFile {
    file: Arc<File>,
    footer: Footer,
    pages: Dictionary,
    hosts: Dictionary,
}

impl RankFile {
    /// Opens the newest ranks below `prefix`; `None` where none were computed yet.
    pub fn open(
        files: &dyn Files,
        prefix: &Path,
        config: &GraphConfig,
    ) -> Result<Option<Self>, GraphError> {
        let cache = ChunkCache::new(config.cache_bytes);
        let file = match File::open(files, &path_of(prefix), &cache) {
            Err(GraphError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            file => file?,
        };
        let footer = Footer::read(&file)?;
        Ok(Some(Self {
            pages: Dictionary::new(&file, footer.pages, Values::None)?,
            hosts: Dictionary::new(&file, footer.hosts, Values::None)?,
            file,
            footer,
        }))
    }

    /// The last journal entry that these ranks know of.
    pub fn position(&self) -> u64 {
        self.footer.position
    }

    /// Nodes that have a rank.
    pub fn len(&self) -> u64 {
        self.pages.count().into()
    }

    /// Hosts that have a rank.
    pub fn host_count(&self) -> u64 {
        self.hosts.count().into()
    }

    /// Whether nothing has a rank.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank of a URL, fetched or only linked to.
    pub fn get(&self, url: &CanonicalUrl) -> Result<Option<PageRank>, GraphError> {
        let Some(node) = self.pages.find(url.as_str().as_bytes())? else {
            return Ok(None);
        };
        let offset = self.footer.page_values + u64::from(node) * RECORD;
        let (value, in_links) = take(&mut Cursor::cached(&self.file, offset))?;
        Ok(Some(PageRank {
            rank: value / self.footer.page_sum,
            in_links,
        }))
    }

    /// The rank of a host.
    pub fn host(&self, host: &str) -> Result<Option<HostRank>, GraphError> {
        let Some(node) = self.hosts.find(host.as_bytes())? else {
            return Ok(None);
        };
        let offset = self.footer.host_values + u64::from(node) * RECORD;
        let (value, in_hosts) = take(&mut Cursor::cached(&self.file, offset))?;
        Ok(Some(HostRank {
            rank: value / self.footer.host_sum,
            in_hosts,
        }))
    }

    /// All URLs with their ranks, in the order of URLs.
    pub fn pages(&self) -> Ranked {
        Ranked {
            entries: self.pages.entries(),
            values: Cursor::streaming(&self.file, self.footer.page_values),
            sum: self.footer.page_sum,
        }
    }

    /// All hosts with their ranks, in order.
    pub fn hosts(&self) -> Ranked {
        Ranked {
            entries: self.hosts.entries(),
            values: Cursor::streaming(&self.file, self.footer.host_values),
            sum: self.footer.host_sum,
        }
    }

    /// Reads every byte and compares its checksum.
    pub fn verify(&self) -> Result<(), GraphError> {
        self.file.verify()
    }
}

/// Names (URLs or hosts) with rank and in-links, in order. It ends after the first error.
#[derive(Debug)]
pub struct Ranked {
    entries: Entries,
    values: Cursor,
    sum: f64,
}

impl Iterator for Ranked {
    type Item = Result<(String, f64, u32), GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = match self.entries.step() {
            Ok(false) => return None,
            Ok(true) => take(&mut self.values),
            Err(error) => Err(error),
        };
        if item.is_err() {
            self.entries.end();
        }
        Some(item.map(|(value, in_links)| {
            let name = String::from_utf8_lossy(&self.entries.text).into_owned();
            (name, value / self.sum, in_links)
        }))
    }
}

pub(crate) fn path_of(prefix: &Path) -> PathBuf {
    prefix.join("rank")
}

/// Writes one record.
pub(crate) fn put(out: &mut chunk::Writer, value: f64, in_links: u32) -> Result<(), GraphError> {
    out.put(&value.to_le_bytes())?;
    out.put(&in_links.to_le_bytes())
}

fn take(cursor: &mut Cursor) -> Result<(f64, u32), GraphError> {
    let (mut value, mut in_links) = ([0; 8], [0; 4]);
    cursor.fill(&mut value)?;
    cursor.fill(&mut in_links)?;
    Ok((f64::from_le_bytes(value), u32::from_le_bytes(in_links)))
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Footer {
    pub(crate) position: u64,
    pub(crate) pages: Extent,
    pub(crate) page_values: u64,
    pub(crate) page_sum: f64,
    pub(crate) hosts: Extent,
    pub(crate) host_values: u64,
    pub(crate) host_sum: f64,
}

impl Footer {
    pub(crate) fn write(&self, mut out: chunk::Writer) -> Result<u64, GraphError> {
        let words: [u64; WORDS] = [
            self.position,
            self.pages.start,
            self.pages.directory,
            self.pages.count,
            self.page_values,
            self.page_sum.to_bits(),
            self.hosts.start,
            self.hosts.directory,
            self.hosts.count,
            self.host_values,
            self.host_sum.to_bits(),
        ];
        for word in words {
            out.put(&word.to_le_bytes())?;
        }
        out.put(MAGIC)?;
        out.finish()
    }

    fn read(file: &Arc<File>) -> Result<Self, GraphError> {
        let foreign = || GraphError::Foreign {
            path: file.path().to_owned(),
        };
        let start = file.len().checked_sub(WORDS as u64 * 8 + 8);
        let mut cursor = Cursor::cached(file, start.ok_or_else(foreign)?);
        let mut words = [0; WORDS];
        let mut bytes = [0; 8];
        for word in &mut words {
            cursor.fill(&mut bytes)?;
            *word = u64::from_le_bytes(bytes);
        }
        cursor.fill(&mut bytes)?;
        if bytes != *MAGIC {
            return Err(foreign());
        }
        let extent = |at: usize| Extent {
            start: words[at],
            directory: words[at + 1],
            count: words[at + 2],
        };
        Ok(Self {
            position: words[0],
            pages: extent(1),
            page_values: words[4],
            page_sum: f64::from_bits(words[5]),
            hosts: extent(6),
            host_values: words[9],
            host_sum: f64::from_bits(words[10]),
        })
    }
}
