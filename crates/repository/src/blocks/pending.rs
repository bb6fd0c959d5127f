//! The news that waits for one block: gathered from where it waits, sorted, joined by URL.

use super::decoded::DecodedPage;
use super::delta::Delta;
use super::error::StoreError;
use super::front::Front;
use super::key::{Key, OwnedKey};
use super::page::Cells;
use super::run::{Counted, RunFile};

/// News of the URLs of a block, in the order of their keys, each URL once.
#[derive(Debug)]
pub(crate) struct Pending<'f> {
    /// The front, whose texts stay where they are.
    front: &'f Front,
    texts: Vec<u8>,
    events: Vec<u8>,
    rows: Vec<PendingRow>,
    /// Places of the rows in the order of their keys, each URL once.
    order: Vec<u32>,
    sources: usize,
}

/// News of one URL, and what the visit finds out about it.
#[derive(Clone, Debug)]
pub(crate) struct PendingRow {
    pub(crate) hash: u64,
    /// Whether its text lies in the front.
    in_front: bool,
    host: (u32, u32),
    rest: (u32, u32),
    events: (u32, u32),
    pub(crate) delta: Delta,
    pub(crate) found: Found,
}

/// What a visit has found out about a URL so far.
#[derive(Clone, Debug, Default)]
pub(crate) enum Found {
    /// It is in no run looked at yet.
    #[default]
    Nowhere,
    /// It is there, and the news changes nothing.
    Same,
    /// It is there, and has another row now.
    Changed(Box<Changed>),
}

/// The row that takes the place of another.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    pub(crate) cells: Cells,
    pub(crate) rare: Vec<u8>,
    pub(crate) was: Counted,
    pub(crate) was_state: crate::row::State,
}

/// The keys of a block: from its first, up to the first of the next one.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: OwnedKey,
    pub(crate) upper: Option<OwnedKey>,
}

impl Bounds {
    #[inline]
    pub(crate) fn contain(&self, key: &Key<'_>) -> bool {
        if key.hash <= self.lower.hash && *key < self.lower.as_key() {
            return false;
        }
        match &self.upper {
            Some(upper) if key.hash >= upper.hash => *key < upper.as_key(),
            _ => true,
        }
    }

    /// The greatest host hash that can lie within.
    pub(crate) fn last_hash(&self) -> u64 {
        self.upper.as_ref().map_or(u64::MAX, |upper| upper.hash)
    }
}

impl<'f> Pending<'f> {
    /// With nothing in it yet.
    pub(crate) fn new(front: &'f Front) -> Self {
        Self {
            front,
            texts: Vec::new(),
            events: Vec::new(),
            rows: Vec::new(),
            order: Vec::new(),
            sources: 0,
        }
    }

    /// Adds what a file of waiting news holds for a block.
    pub(crate) fn load(
        &mut self,
        run: &RunFile,
        bounds: &Bounds,
        key: u64,
    ) -> Result<(), StoreError> {
        self.sources += 1;
        let mut pages = run.read_pages(run.pages_of(bounds.lower.hash, bounds.last_hash()));
        let mut page = DecodedPage::default();
        let mut host = (0, 0);
        while let Some(parts) = pages.next_page()? {
            let number = parts.number;
            page.load(key, parts.state, parts.text)
                .map_err(|flaw| run.damaged(number, flaw))?;
            for row in 0..page.len() {
                let key = page.key(row);
                if bounds.contain(&key) {
                    let delta = Delta::read(page.cells(row));
                    host = self.push(&key, delta, page.rare(row), host);
                }
            }
        }
        Ok(())
    }

    /// Adds what the front holds for a block: these places, in order.
    pub(crate) fn add_front(&mut self, places: &[u32]) {
        self.sources += usize::from(!places.is_empty());
        self.rows.reserve(places.len());
        let front = self.front;
        for &place in places {
            let entry = front.entry(place as usize);
            let (host, rest) = entry.ranges();
            let events = append(&mut self.events, front.events_of(entry));
            self.rows.push(PendingRow {
                hash: entry.host_hash,
                in_front: true,
                host,
                rest,
                events,
                delta: entry.delta,
                found: Found::Nowhere,
            });
        }
    }

    fn push(&mut self, key: &Key<'_>, delta: Delta, events: &[u8], host: (u32, u32)) -> (u32, u32) {
        // Neighbours mostly share their host, whose text is then kept once.
        let last = &self.texts[host.0 as usize..host.1 as usize];
        let host = if last == key.host && host.1 > host.0 {
            host
        } else {
            append(&mut self.texts, key.host)
        };
        let rest = append(&mut self.texts, key.rest);
        let events = append(&mut self.events, events);
        self.rows.push(PendingRow {
            hash: key.hash,
            in_front: false,
            host,
            rest,
            events,
            delta,
            found: Found::Nowhere,
        });
        host
    }

    #[inline]
    fn text(&self, row: &PendingRow, range: (u32, u32)) -> &[u8] {
        let texts = if row.in_front {
            self.front.texts()
        } else {
            &self.texts
        };
        &texts[range.0 as usize..range.1 as usize]
    }

    #[inline]
    fn key_of(&self, row: &PendingRow) -> Key<'_> {
        Key {
            hash: row.hash,
            host: self.text(row, row.host),
            rest: self.text(row, row.rest),
        }
    }

    /// Sorts by key and joins the news of each URL, in the order in which they were added.
    pub(crate) fn settle(&mut self) {
        if self.sources <= 1 {
            // One source is in order, and has each URL once.
            self.order = (0..).take(self.rows.len()).collect();
            return;
        }
        let mut order: Vec<(u64, u32)> = (0..)
            .zip(&self.rows)
            .map(|(at, row)| (row.hash, at))
            .collect();
        // A stable sort that finds the runs that are there already: each source came in order.
        order.sort_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| {
                let (a, b) = (&self.rows[one.1 as usize], &self.rows[other.1 as usize]);
                self.key_of(a).cmp(&self.key_of(b))
            })
        });
        self.order.clear();
        self.order.reserve(order.len());
        for (_, at) in order {
            let same = self.order.last().copied().filter(|&last| {
                let (one, other) = (&self.rows[last as usize], &self.rows[at as usize]);
                one.hash == other.hash && self.key_of(one) == self.key_of(other)
            });
            let Some(last) = same else {
                self.order.push(at);
                continue;
            };
            let (delta, events) = {
                let later = &self.rows[at as usize];
                (later.delta, later.events)
            };
            let row = &mut self.rows[last as usize];
            row.delta.join(&delta);
            if events.0 != events.1 {
                row.events = join_events(&mut self.events, row.events, events);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    #[inline]
    pub(crate) fn row(&self, at: usize) -> &PendingRow {
        &self.rows[self.order[at] as usize]
    }

    #[inline]
    pub(crate) fn key(&self, at: usize) -> Key<'_> {
        self.key_of(self.row(at))
    }

    pub(crate) fn events(&self, at: usize) -> &[u8] {
        let range = self.row(at).events;
        &self.events[range.0 as usize..range.1 as usize]
    }

    pub(crate) fn set_found(&mut self, at: usize, found: Found) {
        let place = self.order[at] as usize;
        self.rows[place].found = found;
    }
}

fn append(arena: &mut Vec<u8>, bytes: &[u8]) -> (u32, u32) {
    let narrow = |len: usize| u32::try_from(len).expect("the news of a block is below 4 GiB");
    let start = narrow(arena.len());
    arena.extend_from_slice(bytes);
    (start, narrow(arena.len()))
}

fn join_events(arena: &mut Vec<u8>, one: (u32, u32), other: (u32, u32)) -> (u32, u32) {
    let start = arena.len();
    arena.extend_from_within(one.0 as usize..one.1 as usize);
    arena.extend_from_within(other.0 as usize..other.1 as usize);
    let narrow = |len: usize| u32::try_from(len).expect("the news of a block is below 4 GiB");
    (narrow(start), narrow(arena.len()))
}
