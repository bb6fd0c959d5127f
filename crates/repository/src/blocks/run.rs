//! A run: pages of URLs in order, in one file that is written once.
//!
//! ```text
//! page | page | …            see `page`
//! index                      checksum u64 | for each page: hash of its first host u64, offset u64,
//!                            state length, text length, rows, waiting, least due: u32 each
//! directory                  see `directory`
//! trailer (64 bytes)         magic | offset and length of the index | number of the file
//!                            | length of the directory | rows | news | checksum: u64 each
//! ```
//!
//! The trailer says which file of the store this is, and the checksum of the index begins with that
//! number: whole files that were exchanged are found, with their trailers and without. Files of earlier
//! builds (`teiarun1`) do not know their number, and are taken as they are.

use std::ops::Range;
use std::path::{Path, PathBuf};

use teia_base::{AppendFile, Files, ReadFile};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::config::Packing;
use super::delta::Delta;
use super::directory::Directory;
use super::error::{Flaw, StoreError};
use super::key::Key;
use super::mend::mend;
use super::page::{Cells, Packer, PageBuilder};
use super::row::{DUE, MARK, news_of, state_of};
use crate::row::State;

const MAGIC: &[u8; 8] = b"teiarun2";
/// Its fourth number is the offset of the directory, and the checksum of the index begins with nothing.
const MAGIC_WITHOUT_NUMBER: &[u8; 8] = b"teiarun1";
const TRAILER: usize = 64;
pub(crate) const ENTRY: usize = 36;
/// Written and read in pieces of about this size.
const PIECE: usize = 1 << 20;

/// Where a page is, and what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageEntry {
    pub(crate) first_hash: u64,
    pub(crate) offset: u64,
    pub(crate) state_len: u32,
    pub(crate) text_len: u32,
    pub(crate) rows: u32,
    /// URLs that wait to be handed out. In a file of waiting news: those that were called new at
    /// once, and so may be handed out before a visit.
    pub(crate) waiting: u32,
    /// The least moment at which a waiting URL is due; the greatest number where none waits.
    pub(crate) least_due: u32,
}

/// Writes a run.
#[derive(Debug)]
pub(crate) struct RunWriter {
    path: PathBuf,
    /// The number of the file.
    id: u64,
    /// None for a run that is kept in memory until another one absorbs it.
    file: Option<Box<dyn AppendFile>>,
    /// The pieces of such a run.
    pieces: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    written: u64,
    page: PageBuilder,
    packer: Packer,
    page_bytes: usize,
    index: Vec<PageEntry>,
    open: PageEntry,
    /// None for news that waits: nobody asks which hosts it is about.
    directory: Option<Directory>,
    rows: u64,
    news: u64,
}

const NO_PAGE: PageEntry = PageEntry {
    first_hash: 0,
    offset: 0,
    state_len: 0,
    text_len: 0,
    rows: 0,
    waiting: 0,
    least_due: u32::MAX,
};

impl RunWriter {
    pub(crate) fn create(
        files: &dyn Files,
        path: &Path,
        id: u64,
        page_bytes: usize,
        packing: Packing,
        directory: Option<Directory>,
    ) -> Result<Self, StoreError> {
        let file = files
            .create(path)
            .map_err(StoreError::disk("create", path))?;
        Ok(Self {
            path: path.to_owned(),
            id,
            file: Some(file),
            buffer: Vec::with_capacity(PIECE + PIECE / 4),
            directory,
            ..Self::aside(page_bytes, packing)
        })
    }

    /// Writes the second half of a run into memory, on another thread than the first: see
    /// [`RunWriter::absorb`].
    pub(crate) fn aside(page_bytes: usize, packing: Packing) -> Self {
        Self {
            path: PathBuf::new(),
            id: 0,
            file: None,
            pieces: Vec::new(),
            buffer: Vec::new(),
            written: 0,
            page: PageBuilder::default(),
            packer: Packer::new(packing),
            page_bytes,
            index: Vec::new(),
            open: NO_PAGE,
            directory: Some(Directory::aside()),
            rows: 0,
            news: 0,
        }
    }

    /// Goes on with the rows of a run that was written aside: all of other hosts, that come later.
    pub(crate) fn absorb(&mut self, mut other: Self) -> Result<(), StoreError> {
        self.close_page()?;
        other.close_page()?;
        let (start, pages) = (self.len(), self.index.len());
        self.index.extend(other.index.iter().map(|page| PageEntry {
            offset: start + page.offset,
            ..*page
        }));
        self.rows += other.rows;
        self.news += other.news;
        if let (Some(mine), Some(theirs)) = (&mut self.directory, other.directory.take()) {
            mine.absorb(theirs, pages);
        }
        self.flush()?;
        other.flush()?;
        for piece in other.pieces {
            self.buffer = piece;
            self.flush()?;
        }
        Ok(())
    }

    /// Adds a row, which must come after those before it. `was` is how it counted for its host
    /// until now.
    pub(crate) fn push(
        &mut self,
        key: &Key<'_>,
        cells: &Cells,
        rare: &[u8],
        was: Counted,
    ) -> Result<(), StoreError> {
        if self.page.rows() == 0 {
            self.open.first_hash = key.hash;
        }
        let waits = if self.directory.is_some() {
            state_of(cells[MARK]) == State::Waiting
        } else {
            Delta::read(cells).may_be_handed_out()
        };
        if waits {
            self.open.waiting += 1;
            let due = u32::try_from(cells[DUE]).unwrap_or(u32::MAX);
            self.open.least_due = self.open.least_due.min(due);
        }
        self.news += u64::from(news_of(cells[MARK]).is_some());
        self.rows += 1;
        if let Some(directory) = &mut self.directory {
            directory.count(
                key.host,
                self.index.len(),
                i64::from(was == Counted::Not),
                i64::from(waits) - i64::from(was == Counted::Waiting),
            );
        }
        self.page.push(key.host, key.rest, cells, rare);
        if self.page.bytes() >= self.page_bytes || self.page.rows() >= usize::from(u16::MAX) {
            self.close_page()?;
        }
        Ok(())
    }

    /// Length of the file so far.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn close_page(&mut self) -> Result<(), StoreError> {
        if self.page.rows() == 0 {
            return Ok(());
        }
        let narrow = |len: usize| u32::try_from(len).expect("a page is shorter than 4 GiB");
        self.open.offset = self.len();
        self.open.rows = narrow(self.page.rows());
        let (state_len, text_len) = self.page.finish(&mut self.packer, &mut self.buffer);
        self.open.state_len = narrow(state_len);
        self.open.text_len = narrow(text_len);
        self.index.push(self.open);
        self.open = NO_PAGE;
        if self.buffer.len() >= PIECE {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.written += self.buffer.len() as u64;
        let Some(file) = &mut self.file else {
            let next = Vec::with_capacity(self.buffer.capacity());
            self.pieces.push(std::mem::replace(&mut self.buffer, next));
            return Ok(());
        };
        file.append(&self.buffer)
            .map_err(StoreError::disk("write", &self.path))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes index, directory and trailer, and syncs the file. Its name is the caller's to sync.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        self.close_page()?;
        let index_at = self.len();
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 8]);
        for entry in &self.index {
            write_entry(entry, &mut self.buffer);
        }
        let sum = xxh3_64_with_seed(&self.buffer[start + 8..], self.id);
        self.buffer[start..start + 8].copy_from_slice(&sum.to_le_bytes());
        let directory_at = self.len();
        if let Some(directory) = &mut self.directory {
            directory.finish(&mut self.buffer);
        }
        let end = self.len();
        let start = self.buffer.len();
        self.buffer.extend_from_slice(MAGIC);
        for number in [
            index_at,
            directory_at - index_at,
            self.id,
            end - directory_at,
            self.rows,
            self.news,
        ] {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        let sum = xxh3_64(&self.buffer[start..]);
        self.buffer.extend_from_slice(&sum.to_le_bytes());
        self.flush()?;
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.sync().map_err(StoreError::disk("sync", &self.path))
    }
}

/// How a URL counted for its host before a row of it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// It was not known.
    Not,
    /// It was waiting.
    Waiting,
    /// It was known and not waiting.
    Known,
}

fn write_entry(entry: &PageEntry, out: &mut Vec<u8>) {
    out.extend_from_slice(&entry.first_hash.to_le_bytes());
    out.extend_from_slice(&entry.offset.to_le_bytes());
    for number in [
        entry.state_len,
        entry.text_len,
        entry.rows,
        entry.waiting,
        entry.least_due,
    ] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn read_entry(bytes: &[u8; ENTRY]) -> PageEntry {
    let wide = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let narrow = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    PageEntry {
        first_hash: wide(0),
        offset: wide(8),
        state_len: narrow(16),
        text_len: narrow(20),
        rows: narrow(24),
        waiting: narrow(28),
        least_due: narrow(32),
    }
}

const GONE: Flaw = Flaw("the file is gone");
const PAGES_DO_NOT_MEET: Flaw = Flaw("the pages of a run do not meet");

/// A run to be read; its index is in memory.
#[derive(Debug)]
pub(crate) struct RunFile {
    pub(crate) path: PathBuf,
    pub(crate) id: u64,
    pub(crate) index: Vec<PageEntry>,
    pub(crate) rows: u64,
    pub(crate) news: u64,
    pub(crate) bytes: u64,
    /// The least moment at which a waiting URL is due.
    pub(crate) least_due: u32,
    /// Its pages could not be found: nothing is known of what it holds.
    pub(crate) is_lost: bool,
    /// What was found wrong when it was opened, and where.
    flaw: Option<(u64, Flaw)>,
    directory: Range<u64>,
    /// Nothing where the file is gone: then the run is lost.
    file: Option<Box<dyn ReadFile>>,
}

/// The end of a run, which says where its parts are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trailer {
    pub(crate) index_at: u64,
    pub(crate) directory: (u64, u64),
    pub(crate) rows: u64,
    pub(crate) news: u64,
}

impl Trailer {
    fn read(
        file: &dyn ReadFile,
        bytes: u64,
        id: u64,
    ) -> Result<Result<Self, Flaw>, std::io::Error> {
        let Some(at) = bytes.checked_sub(TRAILER as u64) else {
            return Ok(Err(Flaw("a run is cut off")));
        };
        let mut trailer = [0; TRAILER];
        file.read_exact_at(at, &mut trailer)?;
        Ok(Self::decode(&trailer, at, id))
    }

    /// The index, if it tells of as many rows.
    fn fits(&self, index: Vec<PageEntry>) -> Result<Vec<PageEntry>, Flaw> {
        let rows: u64 = index.iter().map(|page| u64::from(page.rows)).sum();
        if rows == self.rows && self.news <= rows {
            Ok(index)
        } else {
            Err(Flaw("index and trailer of a run tell of different rows"))
        }
    }

    /// Of the file with this number, where it lies at this offset.
    fn decode(trailer: &[u8; TRAILER], at: u64, id: u64) -> Result<Self, Flaw> {
        let number = |at: usize| {
            u64::from_le_bytes(trailer[8 * at..8 * at + 8].try_into().expect("eight bytes"))
        };
        let knows_number = trailer[..8] == *MAGIC;
        if !(knows_number || trailer[..8] == *MAGIC_WITHOUT_NUMBER)
            || number(7) != xxh3_64(&trailer[..56])
        {
            return Err(Flaw("the trailer of a run is wrong"));
        }
        if knows_number && number(3) != id {
            return Err(Flaw(
                "this is another file of the URLs, with the wrong name",
            ));
        }
        let (index_at, index_len, directory_len) = (number(1), number(2), number(4));
        let directory_at = index_at.checked_add(index_len);
        let meet = directory_at.and_then(|directory| directory.checked_add(directory_len));
        match directory_at {
            Some(directory_at) if meet == Some(at) => Ok(Self {
                index_at,
                directory: (directory_at, at),
                rows: number(5),
                news: number(6),
            }),
            _ => Err(Flaw("the parts of a run do not meet")),
        }
    }
}

impl RunFile {
    /// Opens a run. Where index or trailer are damaged its pages are sought; if they are not found,
    /// or the file is not, it is open all the same, and lost.
    pub(crate) fn open(
        files: &dyn Files,
        path: &Path,
        id: u64,
        key: u64,
    ) -> Result<Self, StoreError> {
        let mut run = Self {
            path: path.to_owned(),
            id,
            index: Vec::new(),
            rows: 0,
            news: 0,
            bytes: 0,
            least_due: u32::MAX,
            is_lost: false,
            flaw: None,
            directory: 0..0,
            file: None,
        };
        let file = match files.open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                run.is_lost = true;
                run.flaw = Some((0, GONE));
                return Ok(run);
            }
            opened => opened.map_err(StoreError::disk("open", path))?,
        };
        let bytes = file.len().map_err(StoreError::disk("measure", path))?;
        let trailer = Trailer::read(&*file, bytes, id).map_err(StoreError::disk("read", path))?;
        run.bytes = bytes;
        run.file = Some(file);
        match trailer {
            Ok(trailer) => {
                let (directory, end) = trailer.directory;
                run.directory = directory..end;
                let len = usize::try_from(directory - trailer.index_at).unwrap_or(0);
                let mut stored = vec![0; len];
                run.read(trailer.index_at, &mut stored)?;
                let read = read_index(&stored, id, trailer.index_at);
                match read.and_then(|index| trailer.fits(index)) {
                    Ok(index) => {
                        run.index = index;
                        run.rows = trailer.rows;
                        run.news = trailer.news;
                    }
                    Err(flaw) => run.mend(trailer.index_at, flaw, Some(&trailer), key),
                }
            }
            Err(flaw) => run.mend(bytes.saturating_sub(TRAILER as u64), flaw, None, key),
        }
        run.least_due = least_due_of(&run.index);
        Ok(run)
    }

    fn mend(&mut self, offset: u64, flaw: Flaw, trailer: Option<&Trailer>, key: u64) {
        self.flaw = Some((offset, flaw));
        let file = self.file.as_deref();
        match file.and_then(|file| mend(file, (self.id, self.bytes), trailer, key)) {
            Some(mended) => {
                self.index = mended.index;
                self.rows = mended.rows;
                self.news = mended.news;
            }
            None => self.is_lost = true,
        }
    }

    /// Whether its file is not there, which can mean that someone else has put others in its place.
    pub(crate) fn is_gone(&self) -> bool {
        self.file.is_none()
    }

    /// What was found wrong when it was opened.
    pub(crate) fn flaw(&self) -> Option<StoreError> {
        let (offset, flaw) = self.flaw?;
        let damage = flaw.at(&self.path, offset);
        Some(if self.is_lost {
            damage
        } else {
            damage.mended()
        })
    }

    /// Reads all of these bytes. A file that ends before them is damaged.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        let Some(file) = &self.file else {
            return Err(GONE.at(&self.path, 0));
        };
        file.read_exact_at(offset, buffer)
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    Flaw("the file is cut off").at(&self.path, offset)
                }
                _ => StoreError::disk("read", &self.path)(error),
            })
    }

    /// The pages that can hold hosts with hashes in this range, both ends included.
    pub(crate) fn pages_of(&self, first: u64, last: u64) -> Range<usize> {
        let after = self.index.partition_point(|page| page.first_hash < first);
        let end = self.index.partition_point(|page| page.first_hash <= last);
        after.saturating_sub(1)..end.max(after.saturating_sub(1))
    }

    /// Pages that may have rows of the host with this hash; all, where it is about all hosts.
    pub(crate) fn pages_for(&self, host: Option<u64>) -> Range<usize> {
        match host {
            Some(hash) => self.pages_of(hash, hash),
            None => 0..self.index.len(),
        }
    }

    /// Reads pages one after another.
    pub(crate) fn read_pages(&self, pages: Range<usize>) -> Pages<'_> {
        Pages {
            run: self,
            next: pages.start,
            end: pages.end,
            loaded: pages.start..pages.start,
            buffer: Vec::new(),
            piece: PIECE,
        }
    }

    /// Reads the state part of a page alone.
    pub(crate) fn read_state(&self, page: usize, buffer: &mut Vec<u8>) -> Result<(), StoreError> {
        let entry = &self.index[page];
        buffer.resize(entry.state_len as usize, 0);
        self.read(entry.offset, buffer)
    }

    /// Reads the text part of a page alone.
    pub(crate) fn read_text(&self, page: usize, buffer: &mut Vec<u8>) -> Result<(), StoreError> {
        let entry = &self.index[page];
        buffer.resize(entry.text_len as usize, 0);
        self.read(entry.offset + u64::from(entry.state_len), buffer)
    }

    /// Names the place of a flaw in a page.
    pub(crate) fn damaged(&self, page: usize, flaw: Flaw) -> StoreError {
        flaw.at(&self.path, self.index[page].offset)
    }

    /// Reads the directory of hosts.
    pub(crate) fn read_directory(&self) -> Result<Vec<u8>, StoreError> {
        if self.directory.end == 0
            && let Some(error) = self.flaw()
        {
            // Where it is was in the trailer.
            return Err(error);
        }
        let len = usize::try_from(self.directory.end - self.directory.start).unwrap_or(0);
        let mut stored = vec![0; len];
        self.read(self.directory.start, &mut stored)?;
        Ok(stored)
    }

    /// Where the directory begins.
    pub(crate) fn directory_offset(&self) -> u64 {
        self.directory.start
    }
}

fn least_due_of(index: &[PageEntry]) -> u32 {
    let dues = index.iter().map(|page| page.least_due);
    dues.min().unwrap_or(u32::MAX)
}

/// The index of the file with this number, whose pages end at this offset.
pub(crate) fn read_index(stored: &[u8], id: u64, end: u64) -> Result<Vec<PageEntry>, Flaw> {
    let (sum, body) = stored
        .split_first_chunk::<8>()
        .ok_or(Flaw("the index of a run is cut off"))?;
    // No file has the number 0: so were those of earlier builds written, whichever number they have.
    if ![id, 0]
        .map(|seed| xxh3_64_with_seed(body, seed).to_le_bytes())
        .contains(sum)
    {
        return Err(Flaw("the checksum of an index is wrong"));
    }
    let (entries, rest) = body.as_chunks::<ENTRY>();
    if !rest.is_empty() {
        return Err(Flaw("the index of a run has an odd length"));
    }
    let entries: Vec<PageEntry> = entries.iter().map(read_entry).collect();
    let mut offset = 0;
    for entry in &entries {
        if entry.offset != offset {
            return Err(PAGES_DO_NOT_MEET);
        }
        offset += u64::from(entry.state_len) + u64::from(entry.text_len);
    }
    if offset == end {
        Ok(entries)
    } else {
        Err(PAGES_DO_NOT_MEET)
    }
}

/// Pages read in large pieces, one after another.
#[derive(Debug)]
pub(crate) struct Pages<'r> {
    run: &'r RunFile,
    next: usize,
    end: usize,
    loaded: Range<usize>,
    buffer: Vec<u8>,
    piece: usize,
}

/// The two parts of a page as they lie in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageParts<'a> {
    pub(crate) number: usize,
    pub(crate) state: &'a [u8],
    pub(crate) text: &'a [u8],
}

impl Pages<'_> {
    /// Reads about so many bytes at once.
    pub(crate) fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    /// Reads into this buffer, which comes back with [`Pages::into_buffer`].
    pub(crate) fn into_room(mut self, buffer: Vec<u8>) -> Self {
        self.buffer = buffer;
        self
    }

    /// The buffer, for others to use.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    pub(crate) fn next_page(&mut self) -> Result<Option<PageParts<'_>>, StoreError> {
        if self.next >= self.end {
            return Ok(None);
        }
        if self.next >= self.loaded.end {
            self.load()?;
        }
        let number = self.next;
        self.next += 1;
        let entry = &self.run.index[number];
        let start = self.run.index[self.loaded.start].offset;
        let at = usize::try_from(entry.offset - start).expect("a piece is short");
        let (state, text) = (entry.state_len as usize, entry.text_len as usize);
        Ok(Some(PageParts {
            number,
            state: &self.buffer[at..at + state],
            text: &self.buffer[at + state..at + state + text],
        }))
    }

    fn load(&mut self) -> Result<(), StoreError> {
        let mut len = 0;
        let mut last = self.next;
        while last < self.end && (last == self.next || len < self.piece) {
            let entry = &self.run.index[last];
            len += entry.state_len as usize + entry.text_len as usize;
            last += 1;
        }
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
        let at = self.run.index[self.next].offset;
        self.run.read(at, &mut self.buffer[..len])?;
        self.loaded = self.next..last;
        Ok(())
    }
}
