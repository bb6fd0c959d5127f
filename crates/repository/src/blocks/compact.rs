//! Compaction: the runs of a block become one base run; or several blocks, when it has outgrown
//! its size.

use std::sync::Arc;

use super::block::{Block, Disk, Kind};
use super::config::Packing;
use super::error::StoreError;
use super::filter::Filter;
use super::key::OwnedKey;
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

/// Merges the runs of a block into base runs; of several rows of a URL the newest stays.
pub(crate) fn compact(
    disk: &Disk,
    block: &Block,
    packing: Packing,
) -> Result<Vec<Part>, StoreError> {
    let (runs, lower, urls) = (&block.runs, &block.lower, block.urls);
    let part_rows = rows_per_part(disk, runs, urls);
    let key = disk.config.key;
    let mut streams = Vec::with_capacity(runs.len());
    for run in runs {
        streams.push(RowStream::open(run, 0..run.index.len(), key)?);
    }
    let mut merge = Merge::new(streams);
    let mut parts = Vec::new();
    let mut open: Option<Open> = None;
    let mut last = OwnedKey::default();
    while let Some(newest) = merge.newest() {
        let stream = &merge.streams[newest];
        let key = stream.key();
        let full = open.as_ref().is_some_and(|part| {
            let new_host = key.hash != last.hash;
            (part.rows >= part_rows && new_host) || part.rows >= part_rows + part_rows / 2
        });
        if full && let Some(part) = open.take() {
            parts.push(part.finish(disk)?);
        }
        if open.is_none() {
            let begin = if parts.is_empty() {
                lower.clone()
            } else if key.hash == last.hash {
                key.to_owned_key()
            } else {
                OwnedKey::of_hash(key.hash)
            };
            open = Some(Open::begin(disk, begin, part_rows.min(urls), packing)?);
        }
        if let Some(part) = &mut open {
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
    if let Some(part) = open {
        parts.push(part.finish(disk)?);
    }
    Ok(parts)
}

fn rows_per_part(disk: &Disk, runs: &[Arc<RunFile>], urls: u64) -> u64 {
    let base = &runs[0];
    let bytes_per_row = (base.bytes / base.rows.max(1)).max(1);
    let bytes = bytes_per_row * urls;
    if bytes <= disk.config.block_bytes {
        return u64::MAX / 2;
    }
    let parts = bytes.div_ceil((disk.config.block_bytes * 3 / 5).max(1));
    urls.div_ceil(parts.max(2)).max(1)
}

struct Open {
    id: u64,
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
    ) -> Result<Self, StoreError> {
        let id = disk.new_id();
        let bits = disk.config.filter_bits;
        Ok(Self {
            id,
            lower,
            writer: disk.create(Kind::Run, id, packing)?,
            // With room for what comes until the next compaction.
            filter: bits
                .map(|bits| Filter::new(rows + rows / disk.config.compact_share.max(1), bits)),
            rows: 0,
        })
    }

    fn finish(self, disk: &Disk) -> Result<Part, StoreError> {
        self.writer.finish()?;
        Ok(Part {
            lower: self.lower,
            run: disk.open(Kind::Run, self.id)?,
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
