//! Tables as Apache Parquet, for tools that calculate: a flat table with columns that may be empty.
//!
//! ```text
//! "PAR1"
//! row group: for each column one page ── header (Thrift) ── levels: u32 length, runs ── values, plain
//! row group …
//! metadata: columns, row groups and where their pages lie (Thrift) ── u32 length of it ── "PAR1"
//! ```
//!
//! Numbers are little-endian, texts are UTF-8 behind a u32 length. Nothing is packed: a table of numbers is small,
//! and whoever keeps many packs them anew. The format: <https://parquet.apache.org/docs/file-format/>. A crate for
//! it would bring thirty others for what is two hundred lines here; `crates/teia/tests/parquet.rs` has an
//! independent reader read it back.

use std::io::{self, Write};

use crate::statistics::{Cell, Statistic};

const MAGIC: &[u8; 4] = b"PAR1";
/// Rows of a row group.
const GROUP_ROWS: usize = 65_536;
/// Or so many bytes.
const GROUP_BYTES: usize = 16 << 20;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// Whole numbers.
    Count,
    /// Other numbers.
    Share,
    /// Moments, as microseconds since 1970 in UTC.
    Moment,
}

/// Writes one table. What is written is whole only after [`Writer::finish`].
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    written: u64,
    columns: Vec<(String, Kind)>,
    open: Vec<Chunk>,
    open_rows: usize,
    groups: Vec<Group>,
}

/// A column of the row group that is being filled.
#[derive(Clone, Debug, Default)]
struct Chunk {
    /// How many rows in a row have a value, or have none.
    runs: Vec<(bool, u64)>,
    values: Vec<u8>,
}

#[derive(Debug)]
struct Group {
    rows: usize,
    /// Where each column's page begins, and its length with its header.
    pages: Vec<(u64, u64)>,
}

impl<W: Write> Writer<W> {
    /// A table with these columns.
    pub fn new(mut out: W, columns: Vec<(String, Kind)>) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            written: MAGIC.len() as u64,
            open: vec![Chunk::default(); columns.len()],
            columns,
            open_rows: 0,
            groups: Vec::new(),
        })
    }

    /// Adds a row: a cell for each column, of its kind or empty. What is of another kind is left empty.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        for ((chunk, (_, kind)), cell) in self.open.iter_mut().zip(&self.columns).zip(cells) {
            chunk.add(*kind, cell)?;
        }
        self.open_rows += 1;
        let bytes: usize = self.open.iter().map(|chunk| chunk.values.len()).sum();
        if self.open_rows >= GROUP_ROWS || bytes >= GROUP_BYTES {
            self.close_group()?;
        }
        Ok(())
    }

    /// Writes what is left, and where everything lies.
    pub fn finish(mut self) -> io::Result<W> {
        if self.open_rows > 0 {
            self.close_group()?;
        }
        let metadata = self.metadata()?;
        self.out.write_all(&metadata)?;
        let length = small(metadata.len())?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn close_group(&mut self) -> io::Result<()> {
        let mut pages = Vec::new();
        for chunk in &mut self.open {
            let page = std::mem::take(chunk).into_page(self.open_rows)?;
            self.out.write_all(&page)?;
            pages.push((self.written, page.len() as u64));
            self.written += page.len() as u64;
        }
        let rows = std::mem::take(&mut self.open_rows);
        self.groups.push(Group { rows, pages });
        Ok(())
    }

    fn metadata(&self) -> io::Result<Vec<u8>> {
        let mut thrift = Thrift::default();
        thrift.i32(1, 1);
        thrift.list(2, Thrift::STRUCT, self.columns.len() + 1);
        thrift.element(|root| {
            root.text(4, "table");
            root.i32(5, small(self.columns.len())?);
            Ok(())
        })?;
        for (name, kind) in &self.columns {
            thrift.element(|column| {
                column.i32(1, kind.stored());
                // It may be empty.
                column.i32(3, 1);
                column.text(4, name);
                if let Some(meaning) = kind.meaning() {
                    column.i32(6, meaning);
                }
                Ok(())
            })?;
        }
        let rows: usize = self.groups.iter().map(|group| group.rows).sum();
        thrift.i64(3, large(rows as u64)?);
        thrift.list(4, Thrift::STRUCT, self.groups.len());
        for group in &self.groups {
            thrift.element(|thrift| {
                thrift.list(1, Thrift::STRUCT, group.pages.len());
                for ((name, kind), (at, length)) in self.columns.iter().zip(&group.pages) {
                    let (at, length) = (large(*at)?, large(*length)?);
                    thrift.element(|chunk| {
                        chunk.i64(2, at);
                        chunk.open(3);
                        chunk.i32(1, kind.stored());
                        // Plain values, levels as runs.
                        chunk.list(2, Thrift::I32, 2);
                        chunk.number(0);
                        chunk.number(3);
                        chunk.list(3, Thrift::BINARY, 1);
                        chunk.bytes(name.as_bytes());
                        chunk.i32(4, 0);
                        chunk.i64(5, large(group.rows as u64)?);
                        chunk.i64(6, length);
                        chunk.i64(7, length);
                        chunk.i64(9, at);
                        chunk.close();
                        Ok(())
                    })?;
                }
                let bytes: u64 = group.pages.iter().map(|(_, length)| length).sum();
                thrift.i64(2, large(bytes)?);
                thrift.i64(3, large(group.rows as u64)?);
                Ok(())
            })?;
        }
        thrift.text(6, concat!("teia version ", env!("CARGO_PKG_VERSION")));
        thrift.close();
        Ok(thrift.out)
    }
}

impl Kind {
    /// The number of the type that is stored.
    fn stored(self) -> u32 {
        match self {
            Self::Count | Self::Moment => 2,
            Self::Share => 5,
            Self::Text => 6,
        }
    }

    /// The number of what it means, where the type alone does not say it.
    fn meaning(self) -> Option<u32> {
        match self {
            Self::Text => Some(0),
            Self::Moment => Some(10),
            Self::Count | Self::Share => None,
        }
    }
}

impl Chunk {
    fn add(&mut self, kind: Kind, cell: &Cell) -> io::Result<()> {
        let length = self.values.len();
        match (kind, cell) {
            (_, Cell::Empty) => {}
            (Kind::Text, cell) => {
                let text = cell.plain();
                self.values
                    .extend_from_slice(&small(text.len())?.to_le_bytes());
                self.values.extend_from_slice(text.as_bytes());
            }
            (Kind::Count | Kind::Moment, Cell::Count(count)) => {
                self.values.extend_from_slice(&count.to_le_bytes());
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "a column of shares has no counts that a double cannot hold"
            )]
            (Kind::Share, Cell::Count(count)) => {
                self.values
                    .extend_from_slice(&(*count as f64).to_le_bytes());
            }
            // As many digits as are shown.
            (Kind::Share, Cell::Share(share)) => {
                let share = cell.plain().parse().unwrap_or(*share);
                self.values.extend_from_slice(&share.to_le_bytes());
            }
            _ => {}
        }
        let is_there = self.values.len() > length;
        match self.runs.last_mut() {
            Some((is, count)) if *is == is_there => *count += 1,
            _ => self.runs.push((is_there, 1)),
        }
        Ok(())
    }

    /// The page with its header.
    fn into_page(self, rows: usize) -> io::Result<Vec<u8>> {
        let mut levels = Thrift::default();
        for (is_there, count) in &self.runs {
            // An even number says that one value follows, so many times.
            levels.varint(count << 1);
            levels.out.push(u8::from(*is_there));
        }
        let size = small(4 + levels.out.len() + self.values.len())?;
        let mut page = Thrift::default();
        page.i32(1, 0);
        page.i32(2, size);
        page.i32(3, size);
        page.open(5);
        page.i32(1, small(rows)?);
        page.i32(2, 0);
        page.i32(3, 3);
        page.i32(4, 3);
        page.close();
        page.close();
        let mut page = page.out;
        page.extend_from_slice(&small(levels.out.len())?.to_le_bytes());
        page.extend_from_slice(&levels.out);
        page.extend_from_slice(&self.values);
        Ok(page)
    }
}

/// Thrift's compact protocol, as much of it as is needed.
#[derive(Debug, Default)]
struct Thrift {
    out: Vec<u8>,
    /// The last field of the struct that is open.
    last: u8,
    /// Those of the structs around it.
    around: Vec<u8>,
}

impl Thrift {
    const I32: u8 = 5;
    const I64: u8 = 6;
    const BINARY: u8 = 8;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(((value & 0x7f) as u8) | 0x80);
            value >>= 7;
        }
        self.out.push((value & 0x7f) as u8);
    }

    /// The field's number as what it is more than the last one: there are never more than 14.
    fn field(&mut self, id: u8, kind: u8) {
        self.out.push(((id - self.last) << 4) | kind);
        self.last = id;
    }

    /// A number that is not negative, in the zigzag that has room for others.
    fn number(&mut self, value: u32) {
        self.varint(u64::from(value) << 1);
    }

    fn i32(&mut self, id: u8, value: u32) {
        self.field(id, Self::I32);
        self.number(value);
    }

    fn i64(&mut self, id: u8, value: u64) {
        self.field(id, Self::I64);
        self.varint(value << 1);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    fn text(&mut self, id: u8, text: &str) {
        self.field(id, Self::BINARY);
        self.bytes(text.as_bytes());
    }

    fn list(&mut self, id: u8, of: u8, count: usize) {
        self.field(id, Self::LIST);
        match u8::try_from(count) {
            Ok(few) if few < 15 => self.out.push((few << 4) | of),
            _ => {
                self.out.push(0xf0 | of);
                self.varint(count as u64);
            }
        }
    }

    fn open(&mut self, id: u8) {
        self.field(id, Self::STRUCT);
        self.around.push(std::mem::take(&mut self.last));
    }

    fn close(&mut self) {
        self.out.push(0);
        self.last = self.around.pop().unwrap_or_default();
    }

    /// A struct in a list.
    fn element(&mut self, fill: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.around.push(std::mem::take(&mut self.last));
        fill(self)?;
        self.close();
        Ok(())
    }
}

/// A length that the format can hold.
fn small(length: usize) -> io::Result<u32> {
    let most = i32::MAX.unsigned_abs();
    u32::try_from(length)
        .ok()
        .filter(|length| *length <= most)
        .ok_or_else(|| io::Error::other("a part of the table is too long for Parquet"))
}

fn large(length: u64) -> io::Result<u64> {
    if length <= i64::MAX.unsigned_abs() {
        Ok(length)
    } else {
        Err(io::Error::other("the table is too long for Parquet"))
    }
}

impl Statistic {
    /// The table with its total as Parquet: the same rows as in CSV. A column is of numbers where all its cells are.
    pub fn write_parquet<W: Write>(&self, out: W) -> io::Result<W> {
        let kind = |at: usize| {
            let mut kind = Kind::Count;
            let mut is_empty = true;
            for cell in self.all_rows().filter_map(|row| row.get(at)) {
                is_empty &= *cell == Cell::Empty;
                match cell {
                    Cell::Text(_) => return Kind::Text,
                    Cell::Share(_) => kind = Kind::Share,
                    Cell::Count(_) | Cell::Empty => {}
                }
            }
            if is_empty { Kind::Text } else { kind }
        };
        let names = self.columns.iter().enumerate();
        let columns = names.map(|(at, name)| ((*name).to_owned(), kind(at)));
        let mut writer = Writer::new(out, columns.collect())?;
        for row in self.all_rows() {
            writer.row(row)?;
        }
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let columns = vec![("n".to_owned(), Kind::Count), ("t".to_owned(), Kind::Text)];
        let mut writer = Writer::new(Vec::new(), columns).unwrap();
        writer.row(&[Cell::Count(-2), Cell::from("á")]).unwrap();
        writer.row(&[Cell::Empty, Cell::from("")]).unwrap();
        let file = writer.finish().unwrap();
        assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
        // The first page: its header, two runs of one level each, one number.
        let levels = [2, 1, 2, 0];
        let header = [
            0x15, 0, 0x15, 32, 0x15, 32, 0x2c, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0,
        ];
        let page: Vec<u8> = header
            .into_iter()
            .chain([4, 0, 0, 0])
            .chain(levels)
            .chain((-2_i64).to_le_bytes())
            .collect();
        assert_eq!(file[4..4 + page.len()], page);
        let texts = b"\x02\x00\x00\x00\xc3\xa1\x00\x00\x00\x00";
        assert!(file.windows(texts.len()).any(|window| window == texts));
        let end = file.len() - 8;
        let length = u32::from_le_bytes(file[end..end + 4].try_into().unwrap());
        assert!(usize::try_from(length).unwrap() < end);
    }

    #[test]
    fn a_column_is_of_numbers_only_where_all_its_cells_are() {
        let table = Statistic {
            name: "x",
            title: String::new(),
            like: "",
            columns: vec!["a", "b", "c", "d"],
            rows: vec![vec![
                Cell::Count(1),
                Cell::Share(0.5),
                Cell::Count(2),
                Cell::Empty,
            ]],
            total: Some(vec![
                Cell::from("total"),
                Cell::Count(1),
                Cell::Empty,
                Cell::Empty,
            ]),
        };
        let file = table.write_parquet(Vec::new()).unwrap();
        // Each column's element: its type, that it may be empty, and its name.
        for (stored, name) in [(6, b'a'), (5, b'b'), (2, b'c'), (6, b'd')] {
            let element = [0x15, stored * 2, 0x25, 2, 0x18, 1, name];
            assert!(
                file.windows(element.len()).any(|window| window == element),
                "{}",
                char::from(name)
            );
        }
    }
}
