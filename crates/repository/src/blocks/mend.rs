//! Finds the pages of a run again when its index or its trailer is damaged.
//!
//! A page says by itself how long it is, and has checksums: from the first page on, each is found
//! behind the one before it. That these are all of them is proved by what is left: a trailer that
//! says where they end, or an index right behind them that has as many entries. That they are of this
//! file says the same: both know its number.

use teia_base::ReadFile;

use super::error::Flaw;
use super::key::host_hash;
use super::page::{Facts, Unpacker, extent};
use super::row::{DUE, MARK, news_of, state_of};
use super::run::{ENTRY, PageEntry, Trailer, read_index};
use crate::row::State;

/// Pages are sought in pieces of this size first, and in longer ones where it is too short.
const PIECE: usize = 1 << 20;
const LONGEST: usize = 128 << 20;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    pub(crate) index: Vec<PageEntry>,
    pub(crate) rows: u64,
    pub(crate) news: u64,
}

/// The pages of the file with this number; nothing where it cannot be proved that these are all.
pub(crate) fn mend(
    file: &dyn ReadFile,
    (id, len): (u64, u64),
    trailer: Option<&Trailer>,
    key: u64,
) -> Option<Mended> {
    let mut mended = Mended::default();
    let mut unpacker = Unpacker::default();
    let mut buffer = Vec::new();
    let mut offset = 0;
    let end = trailer.map_or(len, |trailer| trailer.index_at.min(len));
    while offset < end {
        let Some(page) = find_page(file, offset, end, &mut buffer) else {
            break;
        };
        let entry = describe(page, offset, key, &mut unpacker, &mut mended.news).ok()?;
        offset += u64::from(entry.state_len) + u64::from(entry.text_len);
        mended.rows += u64::from(entry.rows);
        mended.index.push(entry);
    }
    let are_all = match trailer {
        Some(trailer) => offset == trailer.index_at && mended.rows == trailer.rows,
        None => has_index(file, (id, len), offset, mended.index.len()),
    };
    are_all.then_some(mended)
}

/// The two parts of the page at an offset, if there is one.
fn find_page<'b>(
    file: &dyn ReadFile,
    offset: u64,
    end: u64,
    buffer: &'b mut Vec<u8>,
) -> Option<(&'b [u8], &'b [u8])> {
    let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
    let mut piece = PIECE;
    loop {
        let len = left.min(piece);
        buffer.resize(len, 0);
        file.read_exact_at(offset, buffer).ok()?;
        if let Ok((state, text)) = extent(buffer) {
            let (state, rest) = buffer.split_at(state);
            return Some((state, &rest[..text]));
        }
        if len == left || piece >= LONGEST {
            return None;
        }
        piece *= 4;
    }
}

fn describe(
    (state, text): (&[u8], &[u8]),
    offset: u64,
    key: u64,
    unpacker: &mut Unpacker,
    news: &mut u64,
) -> Result<PageEntry, Flaw> {
    let facts = Facts::read(state)?;
    let first = unpacker.unpack(text)?.groups().next_group()?;
    let first = first.ok_or(Flaw("a page without rows"))?;
    let narrow = |len: usize| u32::try_from(len).map_err(|_| Flaw("a page is too long"));
    let mut entry = PageEntry {
        first_hash: host_hash(key, first.host),
        offset,
        state_len: narrow(state.len())?,
        text_len: narrow(text.len())?,
        rows: narrow(facts.rows())?,
        waiting: 0,
        least_due: u32::MAX,
    };
    for row in 0..facts.rows() {
        let mark = facts.cell(MARK, row);
        if state_of(mark) == State::Waiting {
            entry.waiting += 1;
            let due = u32::try_from(facts.cell(DUE, row)).unwrap_or(u32::MAX);
            entry.least_due = entry.least_due.min(due);
        }
        *news += u64::from(news_of(mark).is_some());
    }
    Ok(entry)
}

fn has_index(file: &dyn ReadFile, (id, len): (u64, u64), offset: u64, pages: usize) -> bool {
    let mut stored = vec![0; 8 + pages * ENTRY];
    let fits = len.saturating_sub(offset) >= stored.len() as u64;
    fits && file.read_exact_at(offset, &mut stored).is_ok()
        && read_index(&stored, id, offset).is_ok()
}
