//! Gathers the news of a block, from where it waits and from the front, and puts it in order.
//!
//! A slice of the block at a time, small enough to stay in the processor's cache while it is sorted,
//! joined and written. Each file of waiting news is gone through once, from slice to slice; what is
//! gathered lies in buffers that are used again.

use super::decoded::DecodedPage;
use super::delta::Delta;
use super::error::StoreError;
use super::front::{Front, Placed};
use super::key::Key;
use super::page::Unpacker;
use super::pending::{Bounds, Pending};
use super::run::{Pages, RunFile};
use super::sort::{Item, sort};

/// All files of waiting news together are read in pieces of so many bytes.
const PIECES: usize = 16 << 20;
const LEAST_PIECE: usize = 32 << 10;
const GREATEST_PIECE: usize = 512 << 10;

/// News of the URLs of a slice, as it comes.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    texts: Vec<u8>,
    events: Vec<u8>,
    rows: Vec<Gathered>,
    order: Vec<(u64, u32)>,
}

/// A piece of news.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathered {
    pub(crate) hash: u64,
    pub(crate) host: (u32, u32),
    pub(crate) rest: (u32, u32),
    pub(crate) events: (u32, u32),
    pub(crate) delta: Delta,
}

impl Gathering {
    /// Forgets what was added: a visit that failed leaves something behind.
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
        self.events.clear();
        self.rows.clear();
    }

    /// Adds what the front holds within these bounds: `placed` are its entries by host.
    pub(crate) fn add_front(&mut self, front: &Front, placed: &[Placed], bounds: &Bounds) {
        let placed = within(placed, bounds);
        for some in placed.chunks(BATCH) {
            // Entries and texts lie anywhere: asked for together, they come together.
            let entries: [_; BATCH] = std::array::from_fn(|at| {
                let place = some.get(at).unwrap_or(&some[0]);
                *front.entry(place.at as usize)
            });
            for entry in &entries[..some.len()] {
                let key = front.key_of(entry);
                if bounds.is_border(key.hash) && !bounds.contain(&key) {
                    continue;
                }
                let host = append(&mut self.texts, key.host);
                let rest = append(&mut self.texts, key.rest);
                self.rows.push(Gathered {
                    hash: key.hash,
                    host,
                    rest,
                    events: append(&mut self.events, front.events_of(entry)),
                    delta: entry.delta,
                });
            }
        }
    }

    /// Sorts by key and joins the news of each URL, in the order in which they were added; this is
    /// empty then.
    pub(crate) fn settle(&mut self, pending: &mut Pending) {
        self.order.clear();
        let hashes = self.rows.iter().map(|row| row.hash);
        self.order.extend(hashes.zip(0..));
        self.order.sort_unstable();
        self.sort_within_hosts();
        pending.begin(&mut self.texts, &mut self.events);
        for &(_, at) in &self.order {
            pending.push(&self.rows[at as usize]);
        }
        self.clear();
    }

    /// Brings what has the same hash of the host in the order of its text, then of its coming.
    fn sort_within_hosts(&mut self) {
        let (rows, texts) = (&self.rows, &self.texts);
        let text = |range: (u32, u32)| &texts[range.0 as usize..range.1 as usize];
        let mut items: Vec<Item<'_>> = Vec::new();
        for same in self.order.chunk_by_mut(|one, other| one.0 == other.0) {
            if same.len() == 1 {
                continue;
            }
            let host = text(rows[same[0].1 as usize].host);
            let mut is_one_host = true;
            items.clear();
            for &(_, at) in &*same {
                let row = &rows[at as usize];
                is_one_host &= text(row.host) == host;
                items.push(Item::new(text(row.rest), at));
            }
            if is_one_host {
                sort(&mut items);
                for (place, sorted) in same.iter_mut().zip(&items) {
                    place.1 = sorted.at;
                }
            } else {
                // Two hosts with the same hash.
                same.sort_by_key(|&(_, at)| {
                    let row = &rows[at as usize];
                    (text(row.host), text(row.rest), at)
                });
            }
        }
    }
}

/// So many entries are asked for together.
const BATCH: usize = 16;

/// The part of these that can lie within bounds, which are sorted by the hash of the host.
pub(crate) fn within<'p>(placed: &'p [Placed], bounds: &Bounds) -> &'p [Placed] {
    let last = bounds.last_hash();
    let start = placed.partition_point(|placed| placed.hash < bounds.lower.hash);
    let len = placed[start..].partition_point(|placed| placed.hash <= last);
    &placed[start..start + len]
}

/// Files of waiting news, as far as they have been gone through: from the first slice of a block to
/// its last.
#[derive(Debug)]
pub(crate) struct Sources<'r> {
    sources: Vec<Source<'r>>,
    unpacker: Unpacker,
    key: u64,
}

/// A file of waiting news, and its page at hand.
#[derive(Debug)]
struct Source<'r> {
    run: &'r RunFile,
    pages: Pages<'r>,
    page: DecodedPage,
    row: usize,
}

impl<'r> Sources<'r> {
    /// Of what these files hold for a block; they come later the later they stand.
    pub(crate) fn open(
        runs: impl ExactSizeIterator<Item = &'r RunFile>,
        bounds: &Bounds,
        key: u64,
    ) -> Result<Self, StoreError> {
        let piece = (PIECES / runs.len().max(1)).clamp(LEAST_PIECE, GREATEST_PIECE);
        let mut sources = Self {
            sources: Vec::with_capacity(runs.len()),
            unpacker: Unpacker::default(),
            key,
        };
        for run in runs {
            run.whole()?;
            let pages = run.pages_of(bounds.lower.hash, bounds.last_hash());
            let mut source = Source {
                run,
                pages: run.read_pages(pages).in_pieces_of(piece),
                page: DecodedPage::default(),
                row: 0,
            };
            // What stands before the block on its first page.
            while source.has_row(&mut sources.unpacker, key)?
                && source.page.key(source.row) < bounds.lower.as_key()
            {
                source.row += 1;
            }
            sources.sources.push(source);
        }
        Ok(sources)
    }

    /// Adds what lies before the end of these bounds and was not added yet.
    pub(crate) fn add_to(
        &mut self,
        gathering: &mut Gathering,
        bounds: &Bounds,
    ) -> Result<(), StoreError> {
        for source in &mut self.sources {
            while source.has_row(&mut self.unpacker, self.key)? {
                if !source.add_page(gathering, bounds) {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Source<'_> {
    /// Whether there is a row; the next page is unpacked if need be.
    fn has_row(&mut self, unpacker: &mut Unpacker, key: u64) -> Result<bool, StoreError> {
        while self.row >= self.page.len() {
            self.row = 0;
            let Some(parts) = self.pages.next_page()? else {
                self.page = DecodedPage::default();
                return Ok(false);
            };
            let number = parts.number;
            self.page
                .load_with(unpacker, key, parts.state, parts.text)
                .map_err(|flaw| self.run.damaged(number, flaw))?;
        }
        Ok(true)
    }

    /// Adds the rows of the page that lie before the end of these bounds; says whether that is all
    /// of them.
    fn add_page(&mut self, gathering: &mut Gathering, bounds: &Bounds) -> bool {
        let page = &self.page;
        let mut host = None;
        while self.row < page.len() {
            let key: Key<'_> = page.key(self.row);
            if !bounds.is_before_end(&key) {
                return false;
            }
            let host = match host {
                Some(host) if page.shares_host(self.row) => host,
                _ => *host.insert(append(&mut gathering.texts, key.host)),
            };
            let rest = append(&mut gathering.texts, key.rest);
            gathering.rows.push(Gathered {
                hash: key.hash,
                host,
                rest,
                events: append(&mut gathering.events, page.rare(self.row)),
                delta: Delta::read(page.cells(self.row)),
            });
            self.row += 1;
        }
        true
    }
}

#[inline]
fn append(arena: &mut Vec<u8>, bytes: &[u8]) -> (u32, u32) {
    let narrow = |len: usize| u32::try_from(len).expect("the news of a slice is below 4 GiB");
    let start = narrow(arena.len());
    arena.extend_from_slice(bytes);
    (start, narrow(arena.len()))
}
