//! The news that waits for one block, in order, each URL once; and what the visit finds out.
//!
//! Texts lie where they were gathered; what a join looks at lies apart from what it does not: the
//! join with each run goes through little memory, from one end to the other.

use super::delta::Delta;
use super::gather::Gathered;
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
    /// About as much memory as they take.
    pub(crate) fn bytes(&self) -> usize {
        let upper = self.upper.as_ref().map_or(0, OwnedKey::bytes);
        size_of::<Self>() + self.lower.bytes() + upper
    }

    /// The parts before and from the first place of a host hash, if it lies within.
    pub(crate) fn cut(&self, hash: u64) -> Option<(Self, Self)> {
        let (lower, cut) = (self.lower.clone(), OwnedKey::of_hash(hash));
        let is_within = lower < cut && self.upper.as_ref().is_none_or(|upper| cut < *upper);
        let second = Self {
            lower: cut.clone(),
            upper: self.upper.clone(),
        };
        let upper = Some(cut);
        is_within.then_some((Self { lower, upper }, second))
    }

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

    /// Whether keys with this hash may lie on both sides of an end.
    #[inline]
    pub(crate) fn is_border(&self, hash: u64) -> bool {
        hash == self.lower.hash || hash == self.last_hash()
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
    /// Begins anew with these texts and events, to which what is pushed refers. Buffers are exchanged.
    pub(crate) fn begin(&mut self, texts: &mut Vec<u8>, events: &mut Vec<u8>) {
        std::mem::swap(&mut self.texts, texts);
        std::mem::swap(&mut self.events, events);
        self.rows.clear();
        self.found.clear();
        self.news.clear();
        self.changed.clear();
    }

    /// Adds news of a URL that is not before the last one; news of the same one joins it.
    pub(crate) fn push(&mut self, row: &Gathered) {
        let mut host = row.host;
        if let (Some(last), Some(piece)) = (self.rows.last(), self.news.last_mut())
            && last.hash == row.hash
            && text(&self.texts, last.host) == text(&self.texts, host)
        {
            if text(&self.texts, last.rest) == text(&self.texts, row.rest) {
                piece.delta.join(&row.delta);
                if row.events.0 < row.events.1 {
                    piece.events = join_events(&mut self.events, piece.events, row.events);
                }
                return;
            }
            host = last.host;
        }
        self.rows.push(Sought {
            hash: row.hash,
            host,
            rest: row.rest,
        });
        self.found.push(Found::Nowhere);
        self.news.push(Piece {
            delta: row.delta,
            events: row.events,
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

/// Two lists of events one behind the other.
fn join_events(events: &mut Vec<u8>, first: (u32, u32), then: (u32, u32)) -> (u32, u32) {
    if first.0 == first.1 {
        return then;
    }
    let start = narrow(events.len());
    for (from, to) in [first, then] {
        events.extend_from_within(from as usize..to as usize);
    }
    (start, narrow(events.len()))
}

fn narrow(len: usize) -> u32 {
    u32::try_from(len).expect("the news of a slice is below 4 GiB")
}
