//! The news that waits for one block, in order, each URL once; and what the visit finds out.
//!
//! Texts lie in the order of their keys, one behind the other, and what a join looks at lies apart
//! from what it does not: the join with each run goes through memory from one end to the other.

use super::delta::Delta;
use super::key::{Key, OwnedKey};
use super::page::Cells;
use super::run::Counted;

/// News of the URLs of a block, in the order of their keys, each URL once.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    texts: Vec<u8>,
    events: Vec<u8>,
    rows: Vec<Sought>,
    found: Vec<Found>,
    news: Vec<Piece>,
    changed: Vec<Changed>,
}

/// A URL that is looked for.
#[derive(Clone, Copy, Debug)]
struct Sought {
    hash: u64,
    host: (u32, u32),
    rest: (u32, u32),
}

/// What is told of it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    delta: Delta,
    events: (u32, u32),
}

/// What a visit has found out about a URL so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is in no run looked at yet.
    Nowhere,
    /// It is there, and the news changes nothing.
    Same,
    /// It is there, and has another row now: the one with this number.
    Changed(u32),
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

    /// Whether a key lies within or before it.
    #[inline]
    pub(crate) fn is_before_end(&self, key: &Key<'_>) -> bool {
        self.upper
            .as_ref()
            .is_none_or(|upper| key.hash < upper.hash || *key < upper.as_key())
    }

    /// The greatest host hash that can lie within.
    pub(crate) fn last_hash(&self) -> u64 {
        self.upper.as_ref().map_or(u64::MAX, |upper| upper.hash)
    }
}

impl Pending {
    pub(crate) fn with_room(rows: usize) -> Self {
        Self {
            rows: Vec::with_capacity(rows),
            found: Vec::with_capacity(rows),
            news: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    /// Adds news of a URL that is not before the last one; news of the same one joins it.
    pub(crate) fn push(&mut self, key: &Key<'_>, delta: &Delta, events: &[u8]) {
        let mut host = None;
        if let (Some(last), Some(piece)) = (self.rows.last(), self.news.last_mut())
            && last.hash == key.hash
            && text(&self.texts, last.host) == key.host
        {
            if text(&self.texts, last.rest) == key.rest {
                piece.delta.join(delta);
                if !events.is_empty() {
                    // Those of the last row lie at the end.
                    self.events.extend_from_slice(events);
                    piece.events.1 = narrow(self.events.len());
                }
                return;
            }
            host = Some(last.host);
        }
        let host = host.unwrap_or_else(|| append(&mut self.texts, key.host));
        let rest = append(&mut self.texts, key.rest);
        self.rows.push(Sought {
            hash: key.hash,
            host,
            rest,
        });
        self.found.push(Found::Nowhere);
        self.news.push(Piece {
            delta: *delta,
            events: append(&mut self.events, events),
        });
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(crate) fn hash(&self, at: usize) -> u64 {
        self.rows[at].hash
    }

    #[inline]
    pub(crate) fn key(&self, at: usize) -> Key<'_> {
        let row = &self.rows[at];
        Key {
            hash: row.hash,
            host: text(&self.texts, row.host),
            rest: text(&self.texts, row.rest),
        }
    }

    #[inline]
    pub(crate) fn rest(&self, at: usize) -> &[u8] {
        text(&self.texts, self.rows[at].rest)
    }

    /// Whether two of them, one behind the other, are of one host: its text is there once.
    #[inline]
    pub(crate) fn share_host(&self, one: usize, other: usize) -> bool {
        self.rows[one].host == self.rows[other].host
    }

    pub(crate) fn delta(&self, at: usize) -> &Delta {
        &self.news[at].delta
    }

    pub(crate) fn events(&self, at: usize) -> &[u8] {
        text(&self.events, self.news[at].events)
    }

    /// The first place from this one on that was not found yet.
    #[inline]
    pub(crate) fn next_sought(&self, at: usize) -> usize {
        let left = self.found.get(at..).unwrap_or(&[]);
        let next = left.iter().position(|found| *found == Found::Nowhere);
        next.map_or(self.rows.len(), |next| at + next)
    }

    pub(crate) fn found(&self, at: usize) -> Found {
        self.found[at]
    }

    pub(crate) fn changed(&self, number: u32) -> &Changed {
        &self.changed[number as usize]
    }

    /// It is there, and nothing changes.
    pub(crate) fn set_same(&mut self, at: usize) {
        self.found[at] = Found::Same;
    }

    /// It is there, and has another row now.
    pub(crate) fn set_changed(&mut self, at: usize, changed: Changed) {
        self.found[at] = Found::Changed(narrow(self.changed.len()));
        self.changed.push(changed);
    }
}

#[inline]
fn text(texts: &[u8], range: (u32, u32)) -> &[u8] {
    &texts[range.0 as usize..range.1 as usize]
}

fn append(arena: &mut Vec<u8>, bytes: &[u8]) -> (u32, u32) {
    let start = narrow(arena.len());
    arena.extend_from_slice(bytes);
    (start, narrow(arena.len()))
}

fn narrow(len: usize) -> u32 {
    u32::try_from(len).expect("the news of a block is below 4 GiB")
}
