//! A page as the document store keeps it.
//!
//! ```text
//! head     the page without its text (postcard), then, where it names another address as the right one, the
//!          hash of that (u64)
//! pieces   the text, each piece packed by itself (zstd)
//! trailer  for each piece: its first byte, its first word, its packed length (u32 each)
//!          pieces, bytes of the head, bytes of the record (u32 each), MAGIC
//! ```
//!
//! All numbers are little-endian. The record is the last thing in a stored document, so it is read from its
//! end, without the index library, which would copy it byte by byte. In pieces, because a result shows a few
//! lines of a page: nobody unpacks a long text for them. The library itself packs nothing, as it would
//! make and throw away a zstd context for every block.

use std::cell::RefCell;
use std::ops::Range;

use crate::error::SearchError;
use crate::page::Page;
use crate::text::Word;

const MAGIC: [u8; 4] = *b"TPg4";
/// Bytes after which the next word that allows it begins another piece.
const PIECE_BYTES: usize = 4 << 10;
/// Faster than any other, and hardly larger for pieces of this size.
const LEVEL: i32 = 1;
/// More than a piece may have: what says so is damaged.
const MAX_PIECE_BYTES: usize = 256 << 20;

/// Where a piece of a text begins: the byte, and the number of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) byte: u32,
    pub(crate) word: u32,
}

/// Finds the cuts of a text while somebody else reads its words.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    pub(crate) cuts: Vec<Cut>,
    word: u32,
    end: usize,
}

impl Cutter {
    /// The next word.
    pub(crate) fn hear(&mut self, word: Word) {
        let last = self.cuts.last().map_or(0, |cut| cut.byte as usize);
        // Pairs of a script without spaces overlap: they are not torn apart.
        if word.start >= last + PIECE_BYTES && word.start >= self.end {
            let byte = u32::try_from(word.start).unwrap_or(u32::MAX);
            let word = self.word;
            self.cuts.push(Cut { byte, word });
        }
        self.end = word.end;
        self.word = self.word.saturating_add(1);
    }
}

/// The record of a page.
pub(crate) fn pack(page: &Page) -> Result<Vec<u8>, SearchError> {
    let mut record = postcard::to_allocvec(page)?;
    record.extend(page.canonical.iter().flat_map(|named| named.to_le_bytes()));
    let head = record.len();
    let mut starts = vec![Cut { byte: 0, word: 0 }];
    starts.extend(&page.cuts);
    if page.text.is_empty() {
        starts.clear();
    }
    let mut trailer = Vec::with_capacity(starts.len() * 12 + 16);
    for (number, cut) in starts.iter().enumerate() {
        let end = starts
            .get(number + 1)
            .map_or(page.text.len(), |next| next.byte as usize);
        let from = record.len();
        pack_piece(&page.text.as_bytes()[cut.byte as usize..end], &mut record)?;
        for figure in [cut.byte, cut.word, length(record.len() - from)] {
            trailer.extend(figure.to_le_bytes());
        }
    }
    let all = record.len() + trailer.len() + 16;
    for figure in [length(starts.len()), length(head), length(all)] {
        trailer.extend(figure.to_le_bytes());
    }
    record.extend(trailer);
    record.extend(MAGIC);
    Ok(record)
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("texts are cut off long before 4 GiB")
}

/// A stored page whose text is not unpacked yet.
#[derive(Debug)]
pub(crate) struct Stored<B> {
    /// Without its text.
    pub(crate) page: Page,
    bytes: B,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    cut: Cut,
    packed: Range<usize>,
}

impl<B: AsRef<[u8]>> Stored<B> {
    /// Reads a record from the end of a stored document.
    pub(crate) fn read(document: B) -> Result<Self, SearchError> {
        let bytes = document.as_ref();
        let damaged = || SearchError::Page(postcard::Error::DeserializeUnexpectedEnd);
        let (mut left, magic) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        if *magic != MAGIC {
            return Err(damaged());
        }
        let mut figure = || {
            let (rest, figure) = left.split_last_chunk::<4>().ok_or_else(damaged)?;
            left = rest;
            Ok::<_, SearchError>(u32::from_le_bytes(*figure))
        };
        let (all, head, count) = (figure()? as usize, figure()? as usize, figure()? as usize);
        let mut found = Vec::new();
        for _ in 0..count {
            let (packed, word, byte) = (figure()? as usize, figure()?, figure()?);
            found.push((Cut { byte, word }, packed));
        }
        found.reverse();
        let start = bytes.len().checked_sub(all).ok_or_else(damaged)?;
        let mut at = start.checked_add(head).ok_or_else(damaged)?;
        let (mut page, rest): (Page, _) =
            postcard::take_from_bytes(bytes.get(start..at).ok_or_else(damaged)?)?;
        page.canonical = rest.try_into().ok().map(u64::from_le_bytes);
        let mut pieces = Vec::with_capacity(found.len());
        for (cut, packed) in found {
            let end = at.checked_add(packed).ok_or_else(damaged)?;
            bytes.get(at..end).ok_or_else(damaged)?;
            pieces.push(Piece {
                cut,
                packed: at..end,
            });
            at = end;
        }
        Ok(Self {
            page,
            bytes: document,
            pieces,
        })
    }

    /// How many pieces the text has.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The piece that has a word, by the word's number.
    pub(crate) fn piece_of(&self, word: u32) -> usize {
        self.pieces
            .partition_point(|piece| piece.cut.word <= word)
            .saturating_sub(1)
    }

    /// The number of the first word of a piece.
    pub(crate) fn first_word(&self, piece: usize) -> u32 {
        self.pieces.get(piece).map_or(0, |piece| piece.cut.word)
    }

    /// The text of these pieces.
    pub(crate) fn text(&self, pieces: Range<usize>) -> Result<String, SearchError> {
        let mut text = Vec::new();
        for piece in self.pieces.get(pieces).unwrap_or_default() {
            unpack_piece(&self.bytes.as_ref()[piece.packed.clone()], &mut text)?;
        }
        String::from_utf8(text).map_err(|_| SearchError::Page(postcard::Error::DeserializeBadUtf8))
    }

    /// The page with all of its text.
    pub(crate) fn whole(mut self) -> Result<Page, SearchError> {
        self.page.text = self.text(0..self.pieces.len())?;
        self.page.cuts = self.pieces.iter().skip(1).map(|piece| piece.cut).collect();
        Ok(self.page)
    }
}

thread_local! {
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Appends a piece, packed.
fn pack_piece(piece: &[u8], out: &mut Vec<u8>) -> Result<(), SearchError> {
    PACKER.with_borrow_mut(|packer| {
        if packer.is_none() {
            *packer = Some(zstd::bulk::Compressor::new(LEVEL)?);
        }
        let packer = packer.as_mut().expect("it was put there just now");
        let packed = packer.compress(piece)?;
        out.extend(packed);
        Ok(())
    })
}

/// Appends a piece, unpacked.
fn unpack_piece(packed: &[u8], out: &mut Vec<u8>) -> Result<(), SearchError> {
    let damaged = || SearchError::Page(postcard::Error::DeserializeBadEncoding);
    let bytes = zstd::bulk::Decompressor::upper_bound(packed).ok_or_else(damaged)?;
    if bytes > MAX_PIECE_BYTES {
        return Err(damaged());
    }
    UNPACKER.with_borrow_mut(|unpacker| {
        if unpacker.is_none() {
            *unpacker = Some(zstd::bulk::Decompressor::new()?);
        }
        let unpacker = unpacker.as_mut().expect("it was put there just now");
        let piece = unpacker.decompress(packed, bytes).map_err(|_| damaged())?;
        out.extend(piece);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{Cut, Cutter, PIECE_BYTES, Stored, pack};
    use crate::page::Page;
    use crate::text::words;

    fn cuts_of(text: &str) -> Vec<Cut> {
        let mut cutter = Cutter::default();
        words(text).for_each(|word| cutter.hear(word));
        cutter.cuts
    }

    fn page(text: &str) -> Page {
        Page {
            url: "http://a.pt/".to_owned(),
            title: "Um título".to_owned(),
            cuts: cuts_of(text),
            text: text.to_owned(),
            ..Page::default()
        }
    }

    #[track_caller]
    fn check(text: &str, pieces: usize) {
        let mut document = b"whatever stands before it".to_vec();
        document.extend(pack(&page(text)).unwrap());
        let stored = Stored::read(&document[..]).unwrap();
        assert_eq!(stored.pieces(), pieces);
        assert_eq!(stored.page.title, "Um título");
        // Every word is in the piece that its number says.
        for (number, word) in words(text).enumerate() {
            let piece = stored.piece_of(u32::try_from(number).unwrap());
            let own = stored.text(piece..piece + 1).unwrap();
            let place = number - stored.first_word(piece) as usize;
            let found = words(&own).nth(place).unwrap();
            assert_eq!(own[found.start..found.end], text[word.start..word.end]);
        }
        let whole = stored.whole().unwrap();
        assert_eq!(whole.text, text);
        assert_eq!(whole.cuts, cuts_of(text));
    }

    #[test]
    fn a_page_is_read_back_whole_and_piece_by_piece() {
        check("", 0);
        check("uma linha", 1);
        check(&"ação e reação, c++! ".repeat(PIECE_BYTES / 10), 3);
        // Pairs of a run are not torn apart.
        check(&"東京都".repeat(PIECE_BYTES / 6), 1);
        check(&"東京都、".repeat(PIECE_BYTES / 6), 2);
    }

    #[test]
    fn a_damaged_record_is_an_error_and_no_panic() {
        let record = pack(&page(&"palavra ".repeat(3_000))).unwrap();
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 0x55;
            if let Ok(stored) = Stored::read(&damaged[..]) {
                let _ = stored.text(0..1);
                let _ = stored.whole();
            }
            let _ = Stored::read(&record[at..]).map(Stored::whole);
        }
    }
}
