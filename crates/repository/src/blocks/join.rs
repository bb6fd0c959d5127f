//! The merge-join of waiting news with a run: which of these URLs are there?
//!
//! Equality of the text decides. Yet hardly any text is looked at: rows are front-coded, so the
//! number of bytes that a row shares with the one before it mostly says by itself on which side of
//! the sought text it lies. With `near` the bytes that the sought text shares with the row before,
//! which is smaller: a row that shares more than `near` with that row is smaller too, one that
//! shares less is greater, and only at equality its own bytes are compared.

use super::error::{Flaw, StoreError};
use super::key::{Key, host_hash};
use super::page::{Facts, Group, Unpacker, shared_prefix, take_row};
use super::pending::{Bounds, Pending};
use super::row::{DEPTH, MARK, Row, state_of};
use super::run::RunFile;
use crate::row::State;

/// Of more pages of one host than this the right one is sought.
const MANY_PAGES: usize = 64;

/// What joins use again and again.
#[derive(Debug, Default)]
pub(crate) struct Room {
    buffer: Vec<u8>,
    unpacker: Unpacker,
}

/// Looks up all news that was not found yet in a run, and calls `found` for each row that is
/// there.
pub(crate) fn join(
    run: &RunFile,
    bounds: &Bounds,
    key: u64,
    pending: &mut Pending,
    room: &mut Room,
    mut found: impl FnMut(&mut Pending, usize, Row<'_>),
) -> Result<(), StoreError> {
    run.whole()?;
    let mut at = pending.next_sought(0);
    let range = run.pages_of(bounds.lower.hash, bounds.last_hash());
    let end = range.end;
    let mut next = range.start;
    while next < end && at < pending.len() {
        // Pages that end before the next sought host are passed over unread.
        let sought = page_before(run, pending, at, key, room)?.max(next);
        let buffer = std::mem::take(&mut room.buffer);
        let mut pages = run.read_pages(sought..end).into_room(buffer);
        next = end;
        while let Some(parts) = pages.next_page()? {
            let number = parts.number;
            let damaged = |flaw| run.damaged(number, flaw);
            if at >= pending.len() {
                break;
            }
            let passed =
                number + 1 < run.index.len() && run.index[number + 1].first_hash < pending.hash(at);
            if passed {
                let hash = pending.hash(at);
                if run.pages_of(hash, hash).start > number + 64 {
                    next = number + 1;
                    break;
                }
                continue;
            }
            let text = room.unpacker.unpack(parts.text).map_err(damaged)?;
            let mut groups = text.groups();
            let mut facts = None;
            while let Some(group) = groups.next_group().map_err(damaged)? {
                if at >= pending.len() {
                    break;
                }
                let hash = host_hash(key, group.host);
                if hash < pending.hash(at) {
                    continue;
                }
                at = skip_to(pending, at, hash, group.host);
                if at >= pending.len() || pending.hash(at) != hash {
                    continue;
                }
                if pending.key(at).host != group.host {
                    continue;
                }
                let mut hit = |pending: &mut Pending, at: usize, row: usize| {
                    let facts = match &facts {
                        Some(facts) => facts,
                        None => facts.insert(Facts::read(parts.state)?),
                    };
                    if row >= facts.rows() {
                        return Err(Flaw("text and state of a page have different rows"));
                    }
                    let delta = pending.delta(at);
                    // Mostly a plain link that changes nothing: two numbers tell that.
                    let plain = delta.is_plain()
                        && u64::from(delta.depth) >= facts.cell(DEPTH, row)
                        && state_of(facts.cell(MARK, row)) != State::Excluded;
                    if plain && pending.events(at).is_empty() {
                        pending.set_same(at);
                    } else {
                        found(pending, at, Row::read(&facts.cells(row), facts.rare(row)));
                    }
                    Ok(())
                };
                at = join_group(group, pending, at, &mut hit).map_err(damaged)?;
            }
        }
        room.buffer = pages.into_buffer();
    }
    Ok(())
}

/// The last page that can hold a sought URL and nothing before it. A host of many pages is not read from its
/// beginning.
fn page_before(
    run: &RunFile,
    pending: &Pending,
    at: usize,
    key: u64,
    room: &mut Room,
) -> Result<usize, StoreError> {
    let sought = pending.key(at);
    let mut pages = run.pages_of(sought.hash, sought.hash);
    while pages.len() > MANY_PAGES {
        let middle = pages.start + pages.len() / 2;
        run.read_text(middle, &mut room.buffer)?;
        let damaged = |flaw| run.damaged(middle, flaw);
        let text = room.unpacker.unpack(&room.buffer).map_err(damaged)?;
        let Some(mut group) = text.groups().next_group().map_err(damaged)? else {
            break;
        };
        // The first row of a page shares nothing with another one.
        let (_, rest) = take_row(&mut group.rests).map_err(damaged)?;
        let host = group.host;
        let hash = host_hash(key, host);
        if (Key { hash, host, rest }) <= sought {
            pages.start = middle;
        } else {
            pages.end = middle;
        }
    }
    Ok(pages.start)
}

/// The first sought place that is not before this host.
fn skip_to(pending: &Pending, mut at: usize, hash: u64, host: &[u8]) -> usize {
    while at < pending.len() {
        let key = pending.key(at);
        if (key.hash, key.host) >= (hash, host) {
            break;
        }
        at = pending.next_sought(at + 1);
    }
    at
}

/// Joins the rows of one host in one page; returns the place that is sought next. It may still be
/// of this host: then the next page goes on with it.
fn join_group(
    group: Group<'_>,
    pending: &mut Pending,
    mut at: usize,
    hit: &mut impl FnMut(&mut Pending, usize, usize) -> Result<(), Flaw>,
) -> Result<usize, Flaw> {
    let mut rests = group.rests;
    // Bytes that the sought text shares with the row before.
    let mut near = 0;
    'rows: for row in group.first_row..group.first_row + group.rows {
        let (shared, own) = take_row(&mut rests)?;
        if shared > near {
            continue;
        }
        // Bytes that this row certainly shares with the sought text.
        let mut common = shared;
        let mut greater = shared < near;
        loop {
            if !greater {
                let sought = pending.rest(at);
                let mine = &own[common - shared..];
                let theirs = sought.get(common..).unwrap_or(&[]);
                let more = shared_prefix(mine, theirs);
                common += more;
                let equal = more == mine.len() && more == theirs.len();
                if equal {
                    hit(pending, at, row)?;
                    let next = pending.next_sought(at + 1);
                    if !same_host(pending, at, next) {
                        return Ok(next);
                    }
                    near = shared_prefix(pending.rest(at), pending.rest(next));
                    at = next;
                    continue 'rows;
                }
                greater = more == theirs.len() || (more < mine.len() && mine[more] > theirs[more]);
                if !greater {
                    near = common;
                    continue 'rows;
                }
            }
            // The row is greater: the sought text is not here. On to the next one.
            let next = pending.next_sought(at + 1);
            if !same_host(pending, at, next) {
                return Ok(next);
            }
            let both = shared_prefix(pending.rest(at), pending.rest(next));
            at = next;
            if both < common {
                near = both;
                continue 'rows;
            }
            greater = false;
        }
    }
    Ok(at)
}

fn same_host(pending: &Pending, at: usize, next: usize) -> bool {
    next < pending.len() && pending.share_host(at, next)
}
