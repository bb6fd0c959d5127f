//! A page: a few hundred URLs in order, and beside them what is known of each.
//!
//! ```text
//! state part   checksum u64 | rows u32 | seven columns | rare: count, places u16, ends u32, bytes
//! text part    checksum u64 | form u8 (0 plain, 1 zstd, 2 LZ4) | plain length u32
//!              | packed length u32, in form 2 only | text
//! text         groups | for each: host length, host, rows, bytes of rests
//!              for each row: bytes shared with the row before, bytes of its own, those bytes
//! ```
//!
//! A checksum is xxh3 of all that follows it in its part. Each part is read without the other.

use xxhash_rust::xxh3::xxh3_64;

use super::column::{self, Column};
use super::config::Packing;
use super::error::Flaw;
use super::varint::{self, take_bytes, take_len};

/// Numbers kept of each row: mark, depth, sequence, referrer, rule, priority, due.
pub(crate) const COLUMNS: usize = 7;

/// The numbers of a row, in the order of the columns.
pub(crate) type Cells = [u64; COLUMNS];

/// No page is longer than this when unpacked: a damaged length must not eat the memory.
const MOST_TEXT: usize = 64 << 20;

const MOST_ROWS: usize = 1 << 16;
const TOO_MANY_ROWS: Flaw = Flaw("a page has too many rows");

const HEAD: usize = 13;

/// Collects rows in order and writes them as a page.
#[derive(Debug, Default)]
pub(crate) struct PageBuilder {
    groups: Vec<u8>,
    group_count: u64,
    host: Vec<u8>,
    group_rows: u64,
    group_start: usize,
    rests: Vec<u8>,
    last: Vec<u8>,
    columns: [Vec<u64>; COLUMNS],
    rare_places: Vec<u8>,
    rare_ends: Vec<u8>,
    rare: Vec<u8>,
    text: Vec<u8>,
}

impl PageBuilder {
    pub(crate) fn rows(&self) -> usize {
        self.columns[0].len()
    }

    /// Bytes of text so far.
    pub(crate) fn bytes(&self) -> usize {
        self.rests.len() + self.groups.len()
    }

    pub(crate) fn push(&mut self, host: &[u8], rest: &[u8], cells: &Cells, rare: &[u8]) {
        let row = self.rows();
        if row == 0 || host != self.host {
            self.close_group();
            self.host.clear();
            self.host.extend_from_slice(host);
            self.last.clear();
        }
        let shared = shared_prefix(&self.last, rest);
        varint::put(&mut self.rests, shared as u64);
        varint::put(&mut self.rests, (rest.len() - shared) as u64);
        self.rests.extend_from_slice(&rest[shared..]);
        self.last.truncate(shared);
        self.last.extend_from_slice(&rest[shared..]);
        self.group_rows += 1;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(*cell);
        }
        if !rare.is_empty() {
            let place = u16::try_from(row).expect("a page has fewer than 65,536 rows");
            self.rare.extend_from_slice(rare);
            let end = u32::try_from(self.rare.len()).expect("a page is shorter than 4 GiB");
            self.rare_places.extend_from_slice(&place.to_le_bytes());
            self.rare_ends.extend_from_slice(&end.to_le_bytes());
        }
    }

    fn close_group(&mut self) {
        if self.group_rows > 0 {
            varint::put(&mut self.groups, self.host.len() as u64);
            self.groups.extend_from_slice(&self.host);
            varint::put(&mut self.groups, self.group_rows);
            let bytes = self.rests.len() - self.group_start;
            varint::put(&mut self.groups, bytes as u64);
            self.group_count += 1;
        }
        self.group_rows = 0;
        self.group_start = self.rests.len();
    }

    /// Appends the page, empties the builder, and says how long the two parts are.
    pub(crate) fn finish(&mut self, packer: &mut Packer, out: &mut Vec<u8>) -> (usize, usize) {
        self.close_group();
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        let rows = u32::try_from(self.rows()).expect("a page has fewer than 65,536 rows");
        out.extend_from_slice(&rows.to_le_bytes());
        for column in &mut self.columns {
            column::write(column, out);
            column.clear();
        }
        varint::put(out, (self.rare_places.len() / 2) as u64);
        out.extend_from_slice(&self.rare_places);
        out.extend_from_slice(&self.rare_ends);
        out.extend_from_slice(&self.rare);
        seal(&mut out[start..]);
        let state_len = out.len() - start;

        self.text.clear();
        varint::put(&mut self.text, self.group_count);
        self.text.extend_from_slice(&self.groups);
        self.text.extend_from_slice(&self.rests);
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        out[start + 8] = packer.pack(&self.text, out);
        let plain = u32::try_from(self.text.len()).expect("a page is shorter than 4 GiB");
        out[start + 9..start + HEAD].copy_from_slice(&plain.to_le_bytes());
        seal(&mut out[start..]);
        self.clear();
        (state_len, out.len() - start)
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.group_count = 0;
        self.group_start = 0;
        self.rests.clear();
        self.last.clear();
        self.rare_places.clear();
        self.rare_ends.clear();
        self.rare.clear();
    }
}

fn seal(part: &mut [u8]) {
    let sum = xxh3_64(&part[8..]);
    part[..8].copy_from_slice(&sum.to_le_bytes());
}

fn check(part: &[u8]) -> Result<&[u8], Flaw> {
    let (sum, body) = part
        .split_first_chunk::<8>()
        .ok_or(Flaw("a page is cut off"))?;
    if xxh3_64(body) == u64::from_le_bytes(*sum) {
        Ok(body)
    } else {
        Err(Flaw("the checksum of a page is wrong"))
    }
}

/// The lengths of the two parts of the page with which these bytes begin; both are whole.
pub(crate) fn extent(bytes: &[u8]) -> Result<(usize, usize), Flaw> {
    let state = Facts::read_checked(bytes)?;
    let rare_end = state.rare_ends.last_chunk::<4>();
    let rare_end = rare_end.map_or(0, |end| u32::from_le_bytes(*end) as usize);
    let state = bytes.len() - state.rare.len() + rare_end;
    check(bytes.get(..state).ok_or(Flaw("a page is cut off"))?)?;
    let text = &bytes[state..];
    let (head, body) = text
        .split_first_chunk::<HEAD>()
        .ok_or(Flaw("a page is cut off"))?;
    let text_len = HEAD
        + match head[8] {
            0 => u32::from_le_bytes([head[9], head[10], head[11], head[12]]) as usize,
            2 => {
                let len = body.first_chunk::<4>().ok_or(Flaw("a page is cut off"))?;
                4 + u32::from_le_bytes(*len) as usize
            }
            _ => zstd::zstd_safe::find_frame_compressed_size(body)
                .map_err(|_| Flaw("a page does not unpack"))?,
        };
    check(text.get(..text_len).ok_or(Flaw("a page is cut off"))?)?;
    Ok((state, text_len))
}

/// Bytes that two texts begin with together.
#[inline]
pub(crate) fn shared_prefix(one: &[u8], other: &[u8]) -> usize {
    let most = one.len().min(other.len());
    let mut at = 0;
    while at + 8 <= most {
        let (a, b): ([u8; 8], [u8; 8]) = (
            one[at..at + 8].try_into().expect("eight bytes were cut"),
            other[at..at + 8].try_into().expect("eight bytes were cut"),
        );
        let differ = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
        if differ != 0 {
            return at + (differ.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < most && one[at] == other[at] {
        at += 1;
    }
    at
}

/// Packs texts, or leaves them as they are.
pub(crate) struct Packer(Tool);

enum Tool {
    None,
    Lz4(lz4_flex::block::CompressTable),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Packer {
    pub(crate) fn new(packing: Packing) -> Self {
        Self(match packing {
            Packing::Plain => Tool::None,
            Packing::Lz4 => Tool::Lz4(lz4_flex::block::CompressTable::default()),
            Packing::Zstd(level) => {
                zstd::bulk::Compressor::new(level).map_or(Tool::None, Tool::Zstd)
            }
        })
    }

    /// Appends the text, and says in which form.
    fn pack(&mut self, text: &[u8], out: &mut Vec<u8>) -> u8 {
        let start = out.len();
        let packed = match &mut self.0 {
            Tool::None => None,
            Tool::Lz4(table) => {
                let most = lz4_flex::block::get_maximum_output_size(text.len());
                out.resize(start + 4 + most, 0);
                let (head, body) = out[start..].split_at_mut(4);
                let packed = lz4_flex::block::compress_into_with_table(text, body, table);
                packed.ok().map(|len| {
                    let short = u32::try_from(len).expect("a page is shorter than 4 GiB");
                    head.copy_from_slice(&short.to_le_bytes());
                    (2, 4 + len)
                })
            }
            Tool::Zstd(zstd) => {
                out.resize(start + zstd::zstd_safe::compress_bound(text.len()), 0);
                let packed = zstd.compress_to_buffer(text, &mut out[start..]);
                packed.ok().map(|len| (1, len))
            }
        };
        if let Some((form, len)) = packed.filter(|(_, len)| *len < text.len()) {
            out.truncate(start + len);
            return form;
        }
        out.truncate(start);
        out.extend_from_slice(text);
        0
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

/// Unpacks texts into a buffer that is used again and again.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    plain: Vec<u8>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl Unpacker {
    /// The text of a page, from its text part.
    pub(crate) fn unpack<'a>(&'a mut self, part: &'a [u8]) -> Result<Text<'a>, Flaw> {
        let mut body = check(part)?;
        let form = take_bytes(&mut body, 1)?[0];
        let head = take_bytes(&mut body, 4)?;
        let plain = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if plain > MOST_TEXT {
            return Err(Flaw("a page is too long"));
        }
        match form {
            0 if body.len() == plain => Text::read(body),
            1 => {
                if self.zstd.is_none() {
                    self.zstd = zstd::bulk::Decompressor::new().ok();
                }
                let zstd = self.zstd.as_mut().ok_or(Flaw("zstd does not start"))?;
                if self.plain.len() < plain {
                    self.plain.resize(plain, 0);
                }
                let len = zstd
                    .decompress_to_buffer(body, &mut self.plain[..plain])
                    .map_err(|_| Flaw("a page does not unpack"))?;
                if len != plain {
                    return Err(Flaw("a page unpacks to another length"));
                }
                Text::read(&self.plain[..plain])
            }
            2 => {
                let len = take_bytes(&mut body, 4)?;
                if u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize != body.len() {
                    return Err(Flaw("a page has another length"));
                }
                if self.plain.len() < plain {
                    self.plain.resize(plain, 0);
                }
                let len = lz4_flex::block::decompress_into(body, &mut self.plain[..plain])
                    .map_err(|_| Flaw("a page does not unpack"))?;
                if len != plain {
                    return Err(Flaw("a page unpacks to another length"));
                }
                Text::read(&self.plain[..plain])
            }
            _ => Err(Flaw("a page of no known form")),
        }
    }
}

/// The hosts and URLs of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    groups: usize,
    heads: &'a [u8],
    rests: &'a [u8],
}

/// The URLs of one host in a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) host: &'a [u8],
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) rests: &'a [u8],
}

impl<'a> Text<'a> {
    fn read(mut bytes: &'a [u8]) -> Result<Self, Flaw> {
        let groups = take_len(&mut bytes)?;
        let mut rests = bytes;
        for _ in 0..groups {
            let len = take_len(&mut rests)?;
            take_bytes(&mut rests, len)?;
            take_len(&mut rests)?;
            take_len(&mut rests)?;
        }
        Ok(Self {
            groups,
            heads: bytes,
            rests,
        })
    }

    /// The hosts one after another.
    pub(crate) fn groups(self) -> Groups<'a> {
        Groups {
            left: self.groups,
            heads: self.heads,
            rests: self.rests,
            row: 0,
        }
    }
}

/// See [`Text::groups`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a> {
    left: usize,
    heads: &'a [u8],
    rests: &'a [u8],
    row: usize,
}

impl<'a> Groups<'a> {
    pub(crate) fn next_group(&mut self) -> Result<Option<Group<'a>>, Flaw> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let len = take_len(&mut self.heads)?;
        let host = take_bytes(&mut self.heads, len)?;
        let rows = take_len(&mut self.heads)?;
        if rows > MOST_ROWS {
            return Err(TOO_MANY_ROWS);
        }
        let bytes = take_len(&mut self.heads)?;
        let group = Group {
            host,
            first_row: self.row,
            rows,
            rests: take_bytes(&mut self.rests, bytes)?,
        };
        self.row += rows;
        Ok(Some(group))
    }
}

/// Takes the next row off a group: bytes shared with the one before, and its own.
#[inline]
pub(crate) fn take_row<'a>(rests: &mut &'a [u8]) -> Result<(usize, &'a [u8]), Flaw> {
    let shared = take_len(rests)?;
    let own = take_len(rests)?;
    Ok((shared, take_bytes(rests, own)?))
}

/// Makes a row's text out of the one before it.
#[inline]
pub(crate) fn grow(text: &mut Vec<u8>, shared: usize, own: &[u8]) -> Result<(), Flaw> {
    if shared > text.len() {
        return Err(Flaw("a row shares more than there is"));
    }
    text.truncate(shared);
    text.extend_from_slice(own);
    Ok(())
}

/// What is known of the URLs of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    rows: usize,
    columns: [Column<'a>; COLUMNS],
    rare_places: &'a [u8],
    rare_ends: &'a [u8],
    rare: &'a [u8],
}

impl<'a> Facts<'a> {
    /// Reads the state part.
    pub(crate) fn read(part: &'a [u8]) -> Result<Self, Flaw> {
        check(part)?;
        Self::read_checked(part)
    }

    /// Reads a state part whose checksum was found right.
    pub(crate) fn read_checked(part: &'a [u8]) -> Result<Self, Flaw> {
        let mut bytes = part.get(8..).ok_or(Flaw("a page is cut off"))?;
        let head = take_bytes(&mut bytes, 4)?;
        let rows = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if rows > MOST_ROWS {
            return Err(TOO_MANY_ROWS);
        }
        let mut columns = [Column::Same(0); COLUMNS];
        for column in &mut columns {
            *column = Column::take(&mut bytes, rows)?;
        }
        let count = take_len(&mut bytes)?;
        if count > rows {
            return Err(Flaw("more rare rows than rows"));
        }
        let rare_places = take_bytes(&mut bytes, count * 2)?;
        let rare_ends = take_bytes(&mut bytes, count * 4)?;
        Ok(Self {
            rows,
            columns,
            rare_places,
            rare_ends,
            rare: bytes,
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// One number of a row.
    #[inline]
    pub(crate) fn cell(&self, column: usize, row: usize) -> u64 {
        self.columns[column].get(row)
    }

    /// All numbers of a row.
    #[inline]
    pub(crate) fn cells(&self, row: usize) -> Cells {
        self.columns.each_ref().map(|column| column.get(row))
    }

    /// All numbers of all rows, in place of those that are there.
    pub(crate) fn all_cells(&self, cells: &mut Vec<Cells>) {
        cells.clear();
        cells.resize(self.rows, [0; COLUMNS]);
        for (number, column) in self.columns.iter().enumerate() {
            column.for_each(self.rows, |row, value| cells[row][number] = value);
        }
    }

    /// The rows with a rare part, and that part.
    pub(crate) fn rares(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let (places, _) = self.rare_places.as_chunks::<2>();
        let (ends, _) = self.rare_ends.as_chunks::<4>();
        let rare = self.rare;
        let mut start = 0;
        places.iter().zip(ends).map(move |(place, end)| {
            let end = u32::from_le_bytes(*end) as usize;
            let bytes = rare.get(start..end).unwrap_or(&[]);
            start = end;
            (usize::from(u16::from_le_bytes(*place)), bytes)
        })
    }

    /// What few rows have; mostly nothing.
    pub(crate) fn rare(&self, row: usize) -> &'a [u8] {
        if self.rare_places.is_empty() {
            return &[];
        }
        let Some(at) = column::find_place(self.rare_places, row) else {
            return &[];
        };
        let end = |at: usize| {
            let bytes = &self.rare_ends[4 * at..4 * at + 4];
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
        };
        let start = if at == 0 { 0 } else { end(at - 1) };
        self.rare.get(start..end(at)).unwrap_or(&[])
    }
}
