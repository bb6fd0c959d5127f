//! Gathers the news that waits for one block, from where it waits, and puts it in order.

use super::decoded::{add_row, add_text};
use super::delta::Delta;
use super::error::{Flaw, StoreError};
use super::front::Front;
use super::key::{Key, host_hash};
use super::page::{Cells, Facts, Unpacker, take_row};
use super::pending::{Bounds, Pending};
use super::run::{PageParts, RunFile};
use super::sort::{Item, sort};

/// News of the URLs of a block, as it comes.
#[derive(Debug)]
pub(crate) struct Gathering<'f> {
    /// The front, and the places in it that belong to the block, in order.
    front: (&'f Front, &'f [u32]),
    texts: Vec<u8>,
    events: Vec<u8>,
    rows: Vec<Gathered>,
    sources: usize,
}

/// A piece of news that waited.
#[derive(Clone, Debug)]
struct Gathered {
    hash: u64,
    host: (u32, u32),
    rest: (u32, u32),
    events: (u32, u32),
    delta: Delta,
}

impl<'f> Gathering<'f> {
    /// With what the front holds: these places, in order.
    pub(crate) fn new(front: (&'f Front, &'f [u32])) -> Self {
        Self {
            front,
            texts: Vec::new(),
            events: Vec::new(),
            rows: Vec::new(),
            sources: usize::from(!front.1.is_empty()),
        }
    }

    /// Adds what a file of waiting news holds for a block.
    pub(crate) fn load(
        &mut self,
        run: &RunFile,
        bounds: &Bounds,
        key: u64,
    ) -> Result<(), StoreError> {
        run.whole()?;
        self.sources += 1;
        let mut pages = run.read_pages(run.pages_of(bounds.lower.hash, bounds.last_hash()));
        let mut unpacker = Unpacker::default();
        let mut cells = Vec::new();
        while let Some(parts) = pages.next_page()? {
            self.load_page(parts, bounds, key, &mut unpacker, &mut cells)
                .map_err(|flaw| run.damaged(parts.number, flaw))?;
        }
        Ok(())
    }

    /// Adds the rows of a page that are within the block; their texts are unpacked in place.
    fn load_page(
        &mut self,
        parts: PageParts<'_>,
        bounds: &Bounds,
        key: u64,
        unpacker: &mut Unpacker,
        cells: &mut Vec<Cells>,
    ) -> Result<(), Flaw> {
        let facts = Facts::read(parts.state)?;
        facts.all_cells(cells);
        let mut rares = facts.rares().peekable();
        let mut groups = unpacker.unpack(parts.text)?.groups();
        while let Some(mut group) = groups.next_group()? {
            let hash = host_hash(key, group.host);
            let (first, last) = (bounds.lower.hash, bounds.last_hash());
            if hash < first || hash > last {
                continue;
            }
            let is_border = hash == first || hash == last;
            let host = add_text(&mut self.texts, group.host)?;
            let mut rest = (host.1, host.1);
            for row in group.first_row..group.first_row + group.rows {
                let (shared, own) = take_row(&mut group.rests)?;
                rest = add_row(&mut self.texts, rest, shared, own)?;
                let cells = cells.get(row);
                let cells = cells.ok_or(Flaw("text and state of a page have different rows"))?;
                let row_key = Key {
                    hash,
                    host: group.host,
                    rest: &self.texts[rest.0 as usize..rest.1 as usize],
                };
                if is_border && !bounds.contain(&row_key) {
                    continue;
                }
                while rares.next_if(|(at, _)| *at < row).is_some() {}
                let rare = rares.next_if(|(at, _)| *at == row);
                let events = rare.map_or(&[][..], |(_, rare)| rare);
                self.rows.push(Gathered {
                    hash,
                    host,
                    rest,
                    events: append(&mut self.events, events),
                    delta: Delta::read(cells),
                });
            }
        }
        Ok(())
    }

    /// What waited has the first numbers, what the front holds the next ones: it came later.
    #[inline]
    fn piece(&self, at: u32) -> (Key<'_>, &Delta, &[u8]) {
        let at = at as usize;
        let text = |range: (u32, u32)| &self.texts[range.0 as usize..range.1 as usize];
        match self.rows.get(at) {
            Some(row) => {
                let (hash, host, rest) = (row.hash, text(row.host), text(row.rest));
                let events = &self.events[row.events.0 as usize..row.events.1 as usize];
                (Key { hash, host, rest }, &row.delta, events)
            }
            None => {
                let (front, places) = self.front;
                let entry = front.entry(places[at - self.rows.len()] as usize);
                (front.key_of(entry), &entry.delta, front.events_of(entry))
            }
        }
    }

    /// Sorts by key and joins the news of each URL, in the order in which they were added.
    pub(crate) fn settle(self) -> Pending {
        let (front, places) = self.front;
        let waited = self.rows.iter().map(|row| row.hash);
        let later = places.iter().map(|&at| front.entry(at as usize).host_hash);
        let mut order: Vec<(u64, u32)> = waited.chain(later).zip(0..).collect();
        if self.sources > 1 {
            // A stable sort that finds the runs that are there already: each source came in order.
            order.sort_by_key(|one| one.0);
            self.sort_within_hosts(&mut order);
        }
        let mut pending = Pending::with_room(order.len());
        for (_, at) in order {
            let (key, delta, events) = self.piece(at);
            pending.push(&key, delta, events);
        }
        pending
    }

    /// Brings what has the same hash of the host in the order of its text, then of its coming.
    fn sort_within_hosts(&self, order: &mut [(u64, u32)]) {
        let mut items: Vec<Item<'_>> = Vec::new();
        for same in order.chunk_by_mut(|one, other| one.0 == other.0) {
            if same.len() == 1 {
                continue;
            }
            let host = self.piece(same[0].1).0.host;
            let mut is_one_host = true;
            items.clear();
            for &(_, at) in &*same {
                let key = self.piece(at).0;
                is_one_host &= key.host == host;
                items.push(Item::new(key.rest, at));
            }
            if is_one_host {
                sort(&mut items);
                for (place, sorted) in same.iter_mut().zip(&items) {
                    place.1 = sorted.at;
                }
            } else {
                // Two hosts with the same hash.
                same.sort_by_key(|&(_, at)| {
                    let key = self.piece(at).0;
                    (key.host, key.rest, at)
                });
            }
        }
    }
}

fn append(arena: &mut Vec<u8>, bytes: &[u8]) -> (u32, u32) {
    let narrow = |len: usize| u32::try_from(len).expect("the news of a block is below 4 GiB");
    let start = narrow(arena.len());
    arena.extend_from_slice(bytes);
    (start, narrow(arena.len()))
}
