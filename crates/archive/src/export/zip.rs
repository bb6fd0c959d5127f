//! A ZIP file of stored entries: nothing is compressed again, and large ones have 64-bit lengths.
//!
//! ```text
//! per file:  local header, name, [zip64], bytes
//! at last:   central directory (a header per file), [zip64 end, locator], end
//! ```

use std::io::{self, Read, Write};

/// No length or place below this needs 64 bits.
const LARGE: u64 = 0xffff_ffff;
/// 1980-01-01, the first day of the format: the same input gives the same bytes.
const DATE: u16 = 0x0021;
/// Names are UTF-8.
const FLAGS: u16 = 0x0800;

/// Writes entries one after the other.
pub(super) struct Zip<W> {
    out: W,
    at: u64,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    crc: u32,
    size: u64,
    offset: u64,
}

impl<W: Write> Zip<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            at: 0,
            entries: Vec::new(),
        }
    }

    /// Adds a file whose length and checksum are known.
    pub(super) fn add(
        &mut self,
        name: &str,
        size: u64,
        crc: u32,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let entry = Entry {
            name: name.to_owned(),
            crc,
            size,
            offset: self.at,
        };
        let is_large = size >= LARGE;
        let mut head = b"PK\x03\x04".to_vec();
        entry.common(&mut head, is_large);
        let extra: u16 = if is_large { 20 } else { 0 };
        head.extend(extra.to_le_bytes());
        head.extend(name.as_bytes());
        if is_large {
            head.extend([1, 0, 16, 0]);
            head.extend(size.to_le_bytes());
            head.extend(size.to_le_bytes());
        }
        self.put(&head)?;
        let copied = io::copy(&mut content.take(size), &mut self.out)?;
        if copied != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += size;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the directory; what `add` wrote is of no use without it.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let start = self.at;
        for entry in std::mem::take(&mut self.entries) {
            let is_large = entry.size >= LARGE || entry.offset >= LARGE;
            let mut head = b"PK\x01\x02".to_vec();
            head.extend([45, 3]);
            entry.common(&mut head, is_large);
            let extra: u16 = if is_large { 28 } else { 0 };
            head.extend(extra.to_le_bytes());
            // Comment, disk, inner attributes; then a plain file that all may read.
            head.extend([0; 6]);
            head.extend((0o100_644_u32 << 16).to_le_bytes());
            head.extend(short(entry.offset, is_large));
            head.extend(entry.name.as_bytes());
            if is_large {
                head.extend([1, 0, 24, 0]);
                for number in [entry.size, entry.size, entry.offset] {
                    head.extend(number.to_le_bytes());
                }
            }
            self.put(&head)?;
            self.entries.push(entry);
        }
        let (count, size) = (self.entries.len() as u64, self.at - start);
        let is_large = self.at >= LARGE || count >= 0xffff;
        let mut end = Vec::new();
        if is_large {
            end.extend(b"PK\x06\x06");
            end.extend(44_u64.to_le_bytes());
            end.extend([45, 3, 45, 0]);
            end.extend([0; 8]);
            for number in [count, count, size, start] {
                end.extend(number.to_le_bytes());
            }
            end.extend(b"PK\x06\x07");
            end.extend([0; 4]);
            end.extend(self.at.to_le_bytes());
            end.extend(1_u32.to_le_bytes());
        }
        end.extend(b"PK\x05\x06");
        end.extend([0; 4]);
        let few = if is_large {
            u16::MAX
        } else {
            u16::try_from(count).unwrap_or(u16::MAX)
        };
        end.extend(few.to_le_bytes());
        end.extend(few.to_le_bytes());
        end.extend(short(size, is_large));
        end.extend(short(start, is_large));
        end.extend([0; 2]);
        self.put(&end)?;
        self.out.flush()?;
        Ok(self.at)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl Entry {
    /// What both headers of a file have: version, flags, stored, date, checksum, lengths, length of the name.
    fn common(&self, head: &mut Vec<u8>, is_large: bool) {
        let version: u16 = if is_large { 45 } else { 20 };
        head.extend(version.to_le_bytes());
        head.extend(FLAGS.to_le_bytes());
        head.extend([0; 4]);
        head.extend(DATE.to_le_bytes());
        head.extend(self.crc.to_le_bytes());
        head.extend(short(self.size, is_large));
        head.extend(short(self.size, is_large));
        let name = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        head.extend(name.to_le_bytes());
    }
}

fn short(number: u64, is_large: bool) -> [u8; 4] {
    let number = if is_large {
        u32::MAX
    } else {
        u32::try_from(number).unwrap_or(u32::MAX)
    };
    number.to_le_bytes()
}
