//! Sorted texts, each once, numbered from 0 in their order.
//!
//! ```text
//! block of 32: per text  shared (varint), rest (varint), rest bytes [, value (zigzag varint)]
//! directory:   per block its offset (u64)
//! ```
//!
//! `shared` counts the bytes in common with the text before it; it is 0 for the first of a block,
//! so that a block can be read alone. The order is that of the bytes.

use std::sync::Arc;

use crate::GraphError;
use crate::chunk::{self, Cursor, File};
use crate::varint;

const BLOCK: u32 = 32;

/// Where a dictionary lies in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) directory: u64,
    pub(crate) count: u64,
}

/// Whether each text has a number of its own beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    None,
    Signed,
}

/// Writes a dictionary; texts come in order.
#[derive(Debug)]
pub(crate) struct Writer {
    start: u64,
    directory: Vec<u64>,
    count: u32,
    previous: Vec<u8>,
    entry: Vec<u8>,
    values: Values,
}

impl Writer {
    pub(crate) fn new(out: &chunk::Writer, values: Values) -> Self {
        Self {
            start: out.offset(),
            directory: Vec::new(),
            count: 0,
            previous: Vec::new(),
            entry: Vec::new(),
            values,
        }
    }

    /// Adds a text that comes after all before it; gives its number.
    pub(crate) fn push(
        &mut self,
        out: &mut chunk::Writer,
        text: &[u8],
        value: i64,
    ) -> Result<u32, GraphError> {
        debug_assert!(self.count == 0 || *text > *self.previous, "sorted, once");
        let shared = if self.count.is_multiple_of(BLOCK) {
            self.directory.push(out.offset());
            0
        } else {
            let pairs = text.iter().zip(&self.previous);
            pairs.take_while(|(a, b)| a == b).count()
        };
        self.entry.clear();
        varint::put(&mut self.entry, shared as u64);
        varint::put(&mut self.entry, (text.len() - shared) as u64);
        self.entry.extend_from_slice(&text[shared..]);
        if self.values == Values::Signed {
            varint::put(&mut self.entry, varint::zigzag(value));
        }
        out.put(&self.entry)?;
        self.previous.truncate(shared);
        self.previous.extend_from_slice(&text[shared..]);
        let number = self.count;
        self.count = number.checked_add(1).ok_or(GraphError::TooMany {
            what: "texts",
            limit: u32::MAX.into(),
        })?;
        Ok(number)
    }

    pub(crate) fn finish(self, out: &mut chunk::Writer) -> Result<Extent, GraphError> {
        let directory = out.offset();
        for offset in &self.directory {
            out.put(&offset.to_le_bytes())?;
        }
        Ok(Extent {
            start: self.start,
            directory,
            count: self.count.into(),
        })
    }
}

/// A dictionary that is only read.
#[derive(Debug, Clone)]
pub(crate) struct Dictionary {
    file: Arc<File>,
    extent: Extent,
    count: u32,
    values: Values,
}

/// Where a text is, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Here(u32, i64),
    Before(u32),
}

impl Dictionary {
    pub(crate) fn new(
        file: &Arc<File>,
        extent: Extent,
        values: Values,
    ) -> Result<Self, GraphError> {
        let blocks = extent.count.div_ceil(BLOCK.into());
        let end = blocks
            .checked_mul(8)
            .and_then(|len| len.checked_add(extent.directory));
        let count = u32::try_from(extent.count).ok();
        let Some(count) = count.filter(|_| end.is_some_and(|end| end <= file.len())) else {
            return Err(file.damaged(extent.directory, "a dictionary is longer than its file"));
        };
        Ok(Self {
            file: Arc::clone(file),
            extent,
            count,
            values,
        })
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The text of a number.
    pub(crate) fn text(&self, number: u32) -> Result<Vec<u8>, GraphError> {
        let mut entries = self.block(number / BLOCK)?;
        while entries.next > number || entries.step()? {
            if entries.next > number {
                return Ok(entries.text);
            }
        }
        Err(self.file.damaged(self.extent.start, "a number has no text"))
    }

    /// The number of a text.
    pub(crate) fn find(&self, text: &[u8]) -> Result<Option<u32>, GraphError> {
        Ok(match self.place(text)? {
            Place::Here(number, _) => Some(number),
            Place::Before(_) => None,
        })
    }

    /// Where a text is, or the first one after it.
    pub(crate) fn place(&self, text: &[u8]) -> Result<Place, GraphError> {
        // The last block whose first text is not after the one that is looked for.
        let (mut low, mut high) = (0, self.count.div_ceil(BLOCK));
        while low < high {
            let middle = low + (high - low) / 2;
            let mut entries = self.block(middle)?;
            if entries.step()? && *entries.text <= *text {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 {
            return Ok(Place::Before(0));
        }
        let mut entries = self.block(low - 1)?;
        let end = self.count.min(low * BLOCK);
        while entries.next < end && entries.step()? {
            match (*entries.text).cmp(text) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    return Ok(Place::Here(entries.number(), entries.value));
                }
                std::cmp::Ordering::Greater => return Ok(Place::Before(entries.number())),
            }
        }
        Ok(Place::Before(end))
    }

    /// All texts, to be read to the end.
    pub(crate) fn entries(&self) -> Entries {
        self.entries_at(self.extent.start, 0, false)
    }

    fn block(&self, block: u32) -> Result<Entries, GraphError> {
        let place = self.extent.directory + u64::from(block) * 8;
        let offset = self.file.read_u64(place)?;
        Ok(self.entries_at(offset, block * BLOCK, true))
    }

    fn entries_at(&self, offset: u64, next: u32, cached: bool) -> Entries {
        let cursor = if cached {
            Cursor::cached(&self.file, offset)
        } else {
            Cursor::streaming(&self.file, offset)
        };
        Entries {
            cursor,
            next,
            count: self.count,
            text: Vec::new(),
            value: 0,
            values: self.values,
        }
    }
}

/// Texts in order. [`Entries::step`] moves to the next one, which then is in `text`.
#[derive(Debug)]
pub(crate) struct Entries {
    cursor: Cursor,
    next: u32,
    count: u32,
    pub(crate) text: Vec<u8>,
    pub(crate) value: i64,
    values: Values,
}

impl Entries {
    /// The number of the text that is held; only after a step.
    pub(crate) fn number(&self) -> u32 {
        self.next.saturating_sub(1)
    }

    /// Makes this the end.
    pub(crate) fn end(&mut self) {
        self.next = self.count;
    }

    /// Moves on; false at the end.
    pub(crate) fn step(&mut self) -> Result<bool, GraphError> {
        if self.next >= self.count {
            return Ok(false);
        }
        let shared = self.cursor.varint()?;
        let rest = self.cursor.varint()?;
        let shared = usize::try_from(shared)
            .ok()
            .filter(|shared| *shared <= self.text.len())
            .ok_or_else(|| self.cursor.damaged("a text shares more than there is"))?;
        self.text.truncate(shared);
        self.cursor.append_to(&mut self.text, rest)?;
        if self.values == Values::Signed {
            self.value = varint::unzigzag(self.cursor.varint()?);
        }
        self.next += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use teia_base::{Files, SimulatedDisk};

    use super::*;
    use crate::chunk::ChunkCache;

    #[test]
    fn texts_are_found_by_text_and_by_number() {
        let files = SimulatedDisk::new();
        let path = Path::new("d");
        let texts: Vec<Vec<u8>> = (0..5_000)
            .map(|i| {
                format!(
                    "http://host{}.example/{}/{i:05}",
                    i / 1_000,
                    "x".repeat(i % 90)
                )
            })
            .map(String::into_bytes)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut out = chunk::Writer::create(&files, path).unwrap();
        let mut writer = Writer::new(&out, Values::Signed);
        for (number, text) in (0i64..).zip(&texts) {
            writer.push(&mut out, text, -number).unwrap();
        }
        let extent = writer.finish(&mut out).unwrap();
        out.finish().unwrap();
        assert!(files.exists(path));
        let file = File::open(&files, path, &ChunkCache::new(1 << 20)).unwrap();
        let dictionary = Dictionary::new(&file, extent, Values::Signed).unwrap();
        let mut entries = dictionary.entries();
        for (number, text) in (0u32..).zip(&texts) {
            assert!(entries.step().unwrap());
            assert_eq!((&entries.text, entries.number()), (text, number));
            assert_eq!(dictionary.text(number).unwrap(), *text);
            let place = dictionary.place(text).unwrap();
            assert_eq!(place, Place::Here(number, -i64::from(number)));
            let mut after = text.clone();
            after.push(0);
            assert_eq!(dictionary.place(&after).unwrap(), Place::Before(number + 1));
        }
        assert!(!entries.step().unwrap());
        assert_eq!(dictionary.place(b"").unwrap(), Place::Before(0));
    }
}
