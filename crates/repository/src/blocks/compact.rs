//! Compaction: the runs of a block become one base run; or several blocks, when it has outgrown
//! its size.

use std::sync::Arc;

use teia_base::Step;

use super::block::{Block, Disk, Kind};
use super::config::Packing;
use super::error::StoreError;
use super::filter::Filter;
use super::key::OwnedKey;
use super::pending::Bounds;
use super::row::{MARK, settled_mark};
use super::run::{Counted, RunFile, RunWriter};
use super::stream::RowStream;

/// One base run out of a compaction.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) lower: OwnedKey,
    pub(crate) run: Arc<RunFile>,
    pub(crate) filter: Option<Filter>,
}

/// Merges the runs of a block into base runs; of several rows of a URL the newest stays. On two
/// threads, if it may, each of which has half of the hosts.
pub(crate) fn compact(
    disk: &Disk,
    block: &Block,
    bounds: &Bounds,
    packing: Packing,
    threads: usize,
) -> Result<Vec<Part>, StoreError> {
    let parts = parts_of(disk, block);
    let name = if parts > 1 { "split" } else { "compaction" };
    let _step = Step::begin(name);
    let halves = (threads > 1).then(|| bounds.cut(block.middle(bounds)));
    let Some((first, second)) = halves.flatten() else {
        let half = Half {
            disk,
            block,
            packing,
            hosts: (block.lower.hash, None),
            part_rows: rows_of(block.urls, parts),
            room: block.urls / parts,
            aside: false,
        };
        return finish(disk, half.merge(&block.lower)?);
    };
    let cut = second.lower.hash;
    let part_rows = match parts.div_ceil(2) {
        1 => u64::MAX / 2,
        // The halves are not quite equal, and none is to have a last part of a few rows.
        parts => rows_of(block.urls / 2, parts) / 8 * 9,
    };
    let half = |hosts, aside| Half {
        disk,
        block,
        packing,
        hosts,
        part_rows,
        room: block.urls / parts,
        aside,
    };
    let (mine, theirs) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| {
            let _step = Step::begin(name);
            half((cut, None), parts == 1).merge(&second.lower)
        });
        let mine = half((first.lower.hash, Some(cut)), false).merge(&first.lower);
        (mine, theirs.join().expect("a merge does not panic"))
    });
    let (mut mine, theirs) = (mine?, theirs?);
    for other in theirs {
        match mine.last_mut() {
            Some(last) if other.id.is_none() => last.absorb(other)?,
            _ if other.id.is_none() => {
                let mut first = Open::begin(disk, block.lower.clone(), 0, packing, false)?;
                first.absorb(other)?;
                mine.push(first);
            }
            _ => mine.push(other),
        }
    }
    if let Some(first) = mine.first_mut() {
        first.lower = block.lower.clone();
    }
    finish(disk, mine)
}

fn finish(disk: &Disk, parts: Vec<Open>) -> Result<Vec<Part>, StoreError> {
    parts.into_iter().map(|part| part.finish(disk)).collect()
}

/// Some hosts of a block that is compacted.
struct Half<'a> {
    disk: &'a Disk,
    block: &'a Block,
    packing: Packing,
    /// From this hash on, before that one.
    hosts: (u64, Option<u64>),
    part_rows: u64,
    /// URLs of a part, about.
    room: u64,
    aside: bool,
}

impl Half<'_> {
    fn merge(&self, lower: &OwnedKey) -> Result<Vec<Open>, StoreError> {
        let (from, before) = self.hosts;
        let part_rows = self.part_rows;
        let mut streams = Vec::with_capacity(self.block.runs.len());
        for run in &self.block.runs {
            let key = self.disk.config.key;
            streams.push(RowStream::of_hosts(run, from, before, key)?);
        }
        let mut merge = Merge::new(streams);
        let mut parts: Vec<Open> = Vec::new();
        let mut is_open = false;
        let mut last = OwnedKey::default();
        while let Some(newest) = merge.newest() {
            let stream = &merge.streams[newest];
            let key = stream.key();
            if let Some(part) = parts.last() {
                let new_host = key.hash != last.hash;
                let full = (part.rows >= part_rows && new_host)
                    || part.rows >= part_rows.saturating_add(part_rows / 2);
                is_open = !full;
            }
            if !is_open {
                let begin = if parts.is_empty() {
                    lower.clone()
                } else if key.hash == last.hash {
                    key.to_owned_key()
                } else {
                    OwnedKey::of_hash(key.hash)
                };
                let part = Open::begin(self.disk, begin, self.room, self.packing, self.aside)?;
                parts.push(part);
            }
            if let Some(part) = parts.last_mut() {
                part.rows += 1;
                if let Some(filter) = &mut part.filter {
                    filter.insert(key.url_hash());
                }
                let mut cells = *stream.cells();
                cells[MARK] = settled_mark(cells[MARK]);
                part.writer
                    .push(&key, &cells, stream.rare(), Counted::Not)?;
            }
            last.hash = key.hash;
            merge.pass(newest)?;
        }
        Ok(parts)
    }
}

/// How many base runs a block becomes.
fn parts_of(disk: &Disk, block: &Block) -> u64 {
    let base = &block.runs[0];
    let bytes_per_row = (base.bytes / base.rows.max(1)).max(1);
    let bytes = bytes_per_row.saturating_mul(block.urls);
    if bytes <= disk.config.block_bytes {
        return 1;
    }
    let parts = bytes.div_ceil((disk.config.block_bytes * 3 / 5).max(1));
    parts.max(2)
}

fn rows_of(urls: u64, parts: u64) -> u64 {
    match parts {
        1 => u64::MAX / 2,
        parts => urls.div_ceil(parts).max(1),
    }
}

/// A base run that is being written.
struct Open {
    /// None for one that another one absorbs.
    id: Option<u64>,
    lower: OwnedKey,
    writer: RunWriter,
    filter: Option<Filter>,
    rows: u64,
}

impl Open {
    fn begin(
        disk: &Disk,
        lower: OwnedKey,
        rows: u64,
        packing: Packing,
        aside: bool,
    ) -> Result<Self, StoreError> {
        let id = (!aside).then(|| disk.new_id());
        let bits = disk.config.filter_bits;
        // With room for half of what may come until the next compaction.
        let room = rows + rows / 2;
        Ok(Self {
            id,
            lower,
            writer: match id {
                Some(id) => disk.create(Kind::Run, id, packing)?,
                None => RunWriter::aside(disk.config.page_bytes, packing),
            },
            filter: bits.map(|bits| Filter::new(room, bits)),
            rows: 0,
        })
    }

    fn absorb(&mut self, other: Self) -> Result<(), StoreError> {
        self.rows += other.rows;
        if let (Some(mine), Some(theirs)) = (&mut self.filter, other.filter) {
            if mine.bytes() == theirs.bytes() {
                mine.join(&theirs);
            } else {
                *mine = theirs;
            }
        }
        self.writer.absorb(other.writer)
    }

    fn finish(self, disk: &Disk) -> Result<Part, StoreError> {
        self.writer.finish()?;
        let id = self.id.expect("what was written aside is absorbed");
        Ok(Part {
            lower: self.lower,
            run: disk.open(Kind::Run, id)?,
            filter: self.filter,
        })
    }
}

/// The next row of several runs. The base has most rows, so the others are kept sorted among
/// themselves and the base is compared with the first of them only.
struct Merge<'r> {
    streams: Vec<RowStream<'r>>,
    /// Streams after the first that have a row, the next one last; of equal rows the newest is last.
    small: Vec<usize>,
}

impl<'r> Merge<'r> {
    fn new(streams: Vec<RowStream<'r>>) -> Self {
        let mut merge = Self {
            streams,
            small: Vec::new(),
        };
        for at in 1..merge.streams.len() {
            merge.place(at);
        }
        merge
    }

    /// The stream that stands on the next row; the newest of those that do.
    fn newest(&self) -> Option<usize> {
        let base = self.streams.first().filter(|base| base.has_row());
        match (base, self.small.last()) {
            (None, None) => None,
            (Some(_), None) => Some(0),
            (None, Some(&small)) => Some(small),
            (Some(base), Some(&small)) => {
                if base.key() < self.streams[small].key() {
                    Some(0)
                } else {
                    Some(small)
                }
            }
        }
    }

    /// Passes the row of a stream, and the older rows of the same URL.
    fn pass(&mut self, newest: usize) -> Result<(), StoreError> {
        if newest == 0 {
            return self.streams[0].advance();
        }
        self.small.pop();
        while let Some(&other) = self.small.last() {
            if self.streams[other].key() != self.streams[newest].key() {
                break;
            }
            self.small.pop();
            self.streams[other].advance()?;
            self.place(other);
        }
        if self.streams[0].has_row() && self.streams[0].key() == self.streams[newest].key() {
            self.streams[0].advance()?;
        }
        self.streams[newest].advance()?;
        self.place(newest);
        Ok(())
    }

    fn place(&mut self, at: usize) {
        if !self.streams[at].has_row() {
            return;
        }
        let key = self.streams[at].key();
        let place = self.small.partition_point(|&other| {
            // Greater keys first; of equal keys the older run first.
            (self.streams[other].key(), at) > (key, other)
        });
        self.small.insert(place, at);
    }
}
