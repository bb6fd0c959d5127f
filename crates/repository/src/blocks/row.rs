//! What is kept of a URL in a block, and how news of it is merged in.

use serde::{Deserialize, Serialize};
use teia_base::journal::Chain;

use super::page::Cells;
use super::rare;
use crate::row::State;

/// Column numbers, in the order of [`Cells`].
pub(crate) const MARK: usize = 0;
pub(crate) const DEPTH: usize = 1;
pub(crate) const SEQUENCE: usize = 2;
pub(crate) const PRIORITY: usize = 5;
pub(crate) const DUE: usize = 6;

/// Needed by a kept page.
pub(crate) const REQUISITE: u8 = 1;
/// Given by a person.
pub(crate) const SEED: u8 = 2;
/// Given without scheme.
pub(crate) const FALLBACK_HTTP: u8 = 4;
/// An older row of this URL lies in an older run of the block.
pub(crate) const SUPERSEDES: u8 = 8;

/// What a visit found out about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum News {
    /// Never met before; admitted, or left out by its rule.
    New,
    /// Was left out, and is admitted now.
    Readmitted,
    /// A shorter way to a URL that was tried already.
    Lowered,
}

/// A URL's numbers, and its rare part still packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) state: State,
    /// It waits, and was visited before.
    pub(crate) again: bool,
    /// Earlier blocks, which were lost, have called it new.
    pub(crate) told: bool,
    pub(crate) flags: u8,
    pub(crate) tries: u8,
    pub(crate) news: Option<News>,
    pub(crate) depth: u16,
    pub(crate) sequence: u64,
    pub(crate) referrer: u64,
    pub(crate) rule: u32,
    pub(crate) priority: i32,
    pub(crate) due: u32,
    pub(crate) rare: &'a [u8],
}

const STATES: [State; 6] = [
    State::Waiting,
    State::Fetched,
    State::Failed,
    State::Excluded,
    State::Gone,
    // Once more: see `is_again`.
    State::Waiting,
];

/// The number of a URL that waits and was visited before.
const AGAIN: u64 = 5;

/// Behind all else in a mark, because next to none has it.
const TOLD: u64 = 1 << 17;

/// The state within a mark. A number that no state has reads as the last one; the page's checksum
/// has already said that it was written so.
pub(crate) fn state_of(mark: u64) -> State {
    STATES[((mark & 7) as usize).min(5)]
}

/// Whether a mark says that a URL waits and was visited before.
pub(crate) fn is_again(mark: u64) -> bool {
    mark & 7 == AGAIN
}

/// The flags within a mark.
pub(crate) fn flags_of(mark: u64) -> u8 {
    ((mark >> 3) & 0x0F) as u8
}

/// The tries within a mark.
pub(crate) fn tries_of(mark: u64) -> u8 {
    ((mark >> 9) & 0xFF) as u8
}

/// Whether a mark says that earlier blocks have called it new.
fn is_told(mark: u64) -> bool {
    mark & TOLD != 0
}

/// What a visit found out, within a mark.
pub(crate) fn news_of(mark: u64) -> Option<News> {
    [
        None,
        Some(News::New),
        Some(News::Readmitted),
        Some(News::Lowered),
    ][((mark >> 7) & 3) as usize]
}

/// The mark without what only the newest run needs to know.
pub(crate) fn settled_mark(mark: u64) -> u64 {
    mark & !(3 << 7) & !(u64::from(SUPERSEDES) << 3)
}

/// A signed number as a small unsigned one.
pub(crate) fn zigzag(number: i32) -> u64 {
    let wide = i64::from(number);
    ((wide << 1) ^ (wide >> 63)).cast_unsigned()
}

/// The other way round.
pub(crate) fn unzigzag(number: u64) -> i32 {
    let wide = (number >> 1).cast_signed() ^ -((number & 1).cast_signed());
    i32::try_from(wide).unwrap_or(0)
}

impl<'a> Row<'a> {
    pub(crate) fn read(cells: &Cells, rare: &'a [u8]) -> Self {
        let mark = cells[MARK];
        Self {
            state: state_of(mark),
            again: is_again(mark),
            told: is_told(mark),
            flags: flags_of(mark),
            tries: tries_of(mark),
            news: news_of(mark),
            depth: u16::try_from(cells[DEPTH]).unwrap_or(u16::MAX),
            sequence: cells[SEQUENCE],
            referrer: cells[3],
            rule: u32::try_from(cells[4]).unwrap_or(0),
            priority: unzigzag(cells[PRIORITY]),
            due: u32::try_from(cells[DUE]).unwrap_or(u32::MAX),
            rare,
        }
    }

    pub(crate) fn cells(&self) -> Cells {
        let state = STATES
            .iter()
            .position(|state| *state == self.state)
            .unwrap_or(0) as u64;
        let state = if self.again { AGAIN } else { state };
        let news = self.news.map_or(0, |news| news as u64 + 1);
        [
            state
                | (u64::from(self.flags) << 3)
                | (news << 7)
                | (u64::from(self.tries) << 9)
                | (u64::from(self.told) * TOLD),
            u64::from(self.depth),
            self.sequence,
            self.referrer,
            u64::from(self.rule),
            zigzag(self.priority),
            u64::from(self.due),
        ]
    }
}

/// What few URLs have: most were never fetched. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rare {
    /// The spelling in which it was found, where that is another one.
    pub spelling: Option<Box<str>>,
    /// The chain of redirects that led to it.
    pub chain: Option<Chain>,
    /// `lastmod` of a sitemap or feed.
    pub last_modified: Option<u32>,
    /// Always 0. Runs of earlier builds have a number of links here, which was no exact count: which
    /// pages link to a URL, each once, the link graph knows.
    #[doc(hidden)]
    pub unused: u32,
    /// What the visits brought.
    pub visited: Option<Visited>,
}

/// What is known after a visit, and the sums that an estimator of change needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visited {
    /// The last attempt.
    pub last_attempt: u32,
    /// Number of its outcome.
    pub outcome: i16,
    /// Media type of the last answer that had one, as a number of the store's list
    /// ([`Store::media_type`](super::Store::media_type)); 0 where none was told: never answered, or
    /// answered before the URL came to the store.
    pub media_type: u16,
    /// Visits so far.
    pub visits: u32,
    /// Visits that found the text changed.
    pub changes: u32,
    /// When the text was last found changed.
    pub last_change: u32,
    /// Seconds between visits, summed where the text had not changed.
    pub quiet_seconds: u64,
    /// Seconds between visits, summed where it had.
    pub changed_seconds: u64,
    /// Digest of the visible text.
    pub text_digest: Option<u128>,
    /// The newest capture.
    pub capture: Option<u64>,
    /// Validator.
    pub etag: Option<Box<str>>,
    /// Validator.
    pub last_modified: Option<Box<str>>,
}

impl Rare {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        rare::read(bytes)
    }

    /// Appends it, unless there is nothing in it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        rare::write(self, out);
    }
}
