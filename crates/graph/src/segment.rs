//! One file of links: written once, then only read, merged and removed.
//!
//! ```text
//! names, labels (dictionaries) | out, in (lists) | hosts (see `host_table`) | kills | footer
//! ```
//!
//! A node is a name's number, and has meaning in this file alone. Kills name the pages of older
//! segments that this one replaces or removes: per segment its number, how many, and their nodes as
//! steps (varints). The footer is [`FOOTER_WORDS`] numbers (u64) and the magic.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::Files;

use crate::GraphError;
use crate::chunk::{self, ChunkCache, Cursor, File};
use crate::dictionary::{self, Dictionary, Values};
use crate::host_table;
use crate::label::QUIET;
use crate::lists::{self, Lists};
use crate::varint;

const MAGIC: &[u8; 8] = b"TEIAGRF1";
const FOOTER_WORDS: usize = 21;
const FOOTER: u64 = FOOTER_WORDS as u64 * 8 + 8;

/// Everything that a footer says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Footer {
    pub(crate) names: dictionary::Extent,
    pub(crate) labels: dictionary::Extent,
    pub(crate) out: lists::Extent,
    pub(crate) inward: lists::Extent,
    pub(crate) hosts: host_table::Extents,
    pub(crate) kills: u64,
    /// How many segments the kills are about.
    pub(crate) killed_segments: u64,
    pub(crate) pages: u64,
    pub(crate) links: u64,
}

impl Footer {
    /// Ends a segment; gives its length on disk.
    pub(crate) fn write(&self, mut out: chunk::Writer) -> Result<u64, GraphError> {
        let dictionary = |e: dictionary::Extent| [e.start, e.directory, e.count];
        let mut words = Vec::with_capacity(FOOTER_WORDS);
        words.extend(dictionary(self.names));
        words.extend(dictionary(self.labels));
        words.extend([self.out.start, self.out.directory]);
        words.extend([self.inward.start, self.inward.directory]);
        words.extend(dictionary(self.hosts.names));
        words.extend([self.hosts.out.start, self.hosts.out.directory]);
        words.extend([self.hosts.inward.start, self.hosts.inward.directory]);
        words.extend([self.kills, self.killed_segments, self.pages, self.links]);
        debug_assert_eq!(words.len(), FOOTER_WORDS);
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
        let start = file.len().checked_sub(FOOTER).ok_or_else(foreign)?;
        let mut bytes = [0; FOOTER_WORDS * 8 + 8];
        Cursor::cached(file, start).fill(&mut bytes)?;
        let (words, magic) = bytes.split_at(FOOTER_WORDS * 8);
        if magic != MAGIC {
            return Err(foreign());
        }
        let mut words = words
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word));
        let mut word = || words.next().unwrap_or(0);
        let mut dictionary = || dictionary::Extent {
            start: word(),
            directory: word(),
            count: word(),
        };
        let (names, labels) = (dictionary(), dictionary());
        let mut lists = || lists::Extent {
            start: word(),
            directory: word(),
        };
        let (out, inward) = (lists(), lists());
        let mut dictionary = || dictionary::Extent {
            start: word(),
            directory: word(),
            count: word(),
        };
        let host_names = dictionary();
        let mut lists = || lists::Extent {
            start: word(),
            directory: word(),
        };
        let hosts = host_table::Extents {
            names: host_names,
            out: lists(),
            inward: lists(),
        };
        Ok(Self {
            names,
            labels,
            out,
            inward,
            hosts,
            kills: word(),
            killed_segments: word(),
            pages: word(),
            links: word(),
        })
    }
}

/// A segment that is only read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) level: u32,
    pub(crate) names: Dictionary,
    pub(crate) labels: Dictionary,
    pub(crate) out: Lists,
    pub(crate) inward: Lists,
    pub(crate) hosts: Dictionary,
    pub(crate) host_out: Lists,
    pub(crate) host_in: Lists,
    pub(crate) pages: u64,
    pub(crate) links: u64,
    /// Labels below this number endorse their target.
    pub(crate) quiet: u32,
    file: Arc<File>,
    footer: Footer,
}

impl Segment {
    pub(crate) fn open(
        files: &dyn Files,
        prefix: &Path,
        number: u64,
        level: u32,
        cache: &ChunkCache,
    ) -> Result<Self, GraphError> {
        let file = File::open(files, &path_of(prefix, number), cache)?;
        let footer = Footer::read(&file)?;
        let names = Dictionary::new(&file, footer.names, Values::None)?;
        let labels = Dictionary::new(&file, footer.labels, Values::None)?;
        let hosts = Dictionary::new(&file, footer.hosts.names, Values::Signed)?;
        let quiet = match labels.place(&[QUIET])? {
            dictionary::Place::Here(number, _) | dictionary::Place::Before(number) => number,
        };
        Ok(Self {
            number,
            level,
            out: Lists::new(&file, footer.out, names.count()),
            inward: Lists::new(&file, footer.inward, names.count()),
            names,
            labels,
            host_out: Lists::new(&file, footer.hosts.out, hosts.count()),
            host_in: Lists::new(&file, footer.hosts.inward, hosts.count()),
            hosts,
            pages: footer.pages,
            links: footer.links,
            quiet,
            file,
            footer,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.disk_len()
    }

    pub(crate) fn verify(&self) -> Result<(), GraphError> {
        self.file.verify()
    }

    /// The pages of older segments that this one replaces or removes, by segment.
    pub(crate) fn kills(&self) -> Result<Vec<(u64, Vec<u32>)>, GraphError> {
        let mut cursor = Cursor::streaming(&self.file, self.footer.kills);
        let mut kills = Vec::new();
        for _ in 0..self.footer.killed_segments {
            let (segment, count) = (cursor.varint()?, cursor.varint()?);
            let mut nodes = Vec::new();
            let mut node = 0u32;
            for _ in 0..count {
                node = node
                    .checked_add(cursor.varint_u32()?)
                    .ok_or_else(|| cursor.damaged("a number is too large"))?;
                nodes.push(node);
            }
            kills.push((segment, nodes));
        }
        Ok(kills)
    }
}

/// Writes kills; the nodes of each segment are sorted.
pub(crate) fn write_kills(
    out: &mut chunk::Writer,
    kills: &[(u64, Vec<u32>)],
) -> Result<(u64, u64), GraphError> {
    let start = out.offset();
    let mut bytes = Vec::new();
    for (segment, nodes) in kills {
        varint::put(&mut bytes, *segment);
        varint::put(&mut bytes, nodes.len() as u64);
        let mut previous = 0;
        for node in nodes {
            varint::put(&mut bytes, u64::from(node - previous));
            previous = *node;
        }
    }
    out.put(&bytes)?;
    Ok((start, kills.len() as u64))
}

const ENDING: &str = ".links";

pub(crate) fn path_of(prefix: &Path, number: u64) -> PathBuf {
    prefix.join(format!("{number:012}{ENDING}"))
}

/// The number in a file's name, if it is one of ours.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(ENDING)?.parse().ok()
}
