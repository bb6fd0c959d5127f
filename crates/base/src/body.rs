//! The bytes of a body as they came over the wire, in memory or spooled to a file.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A body as received. Small ones stay in memory; large ones lie in an unnamed temporary file,
/// so that a thousand slow downloads cost descriptors rather than memory.
#[derive(Clone, Debug)]
pub enum Body {
    /// The whole body.
    Memory(bytes::Bytes),
    /// An unnamed file and how much of it is body.
    File {
        /// The file; nobody else writes to it any more.
        file: Arc<File>,
        /// Bytes of body in it.
        len: u64,
    },
}

impl Body {
    /// A body without bytes.
    pub const fn empty() -> Self {
        Self::Memory(bytes::Bytes::new())
    }

    /// How many bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, where they are in memory.
    pub fn as_memory(&self) -> Option<&bytes::Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::File { .. } => None,
        }
    }

    /// Reads these ranges of the body, one after another, as if nothing lay between them.
    pub fn payload_reader<'a>(&'a self, ranges: &'a [Range<u64>]) -> PayloadReader<'a> {
        PayloadReader {
            body: self,
            ranges: ranges.iter(),
            current: 0..0,
            window: Vec::new(),
            window_start: 0,
        }
    }

    /// Reads `start..end` of the body from its beginning; each reader has its own place.
    pub fn reader(&self, start: u64, end: u64) -> BodyReader<'_> {
        let end = end.min(self.len());
        BodyReader {
            body: self,
            position: start.min(end),
            end,
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(bytes.into())
    }
}

/// Reads a range of a [`Body`].
#[derive(Debug)]
pub struct BodyReader<'a> {
    body: &'a Body,
    position: u64,
    end: u64,
}

impl Read for BodyReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        let want = left.min(buffer.len());
        let read = match self.body {
            Body::Memory(bytes) => {
                let start = usize::try_from(self.position).expect("a memory body fits in memory");
                buffer[..want].copy_from_slice(&bytes[start..start + want]);
                want
            }
            Body::File { file, .. } => file.read_at(&mut buffer[..want], self.position)?,
        };
        self.position += read as u64;
        Ok(read)
    }
}

/// Reads some ranges of a [`Body`] as one.
///
/// A file is read in pieces of one size, however short the ranges are: a body of a million chunks of one
/// byte costs as many system calls as one of the same length in a single chunk.
#[derive(Debug)]
pub struct PayloadReader<'a> {
    body: &'a Body,
    ranges: std::slice::Iter<'a, Range<u64>>,
    /// What is left of the range that is being read.
    current: Range<u64>,
    /// The piece of the file read last, and where it begins.
    window: Vec<u8>,
    window_start: u64,
}

impl PayloadReader<'_> {
    const WINDOW: usize = 64 << 10;

    /// The bytes from `current.start` on that are at hand; none at the end of the body.
    fn at_hand(&mut self) -> io::Result<&[u8]> {
        let bytes: &[u8] = match self.body {
            Body::Memory(bytes) => {
                let start = usize::try_from(self.current.start).unwrap_or(usize::MAX);
                bytes.get(start..).unwrap_or_default()
            }
            Body::File { file, len } => {
                let window_end = self.window_start + self.window.len() as u64;
                if !(self.window_start..window_end).contains(&self.current.start) {
                    let left = len.saturating_sub(self.current.start);
                    let most = usize::try_from(left).unwrap_or(usize::MAX);
                    self.window.resize(most.min(Self::WINDOW), 0);
                    let read = file.read_at(&mut self.window, self.current.start)?;
                    self.window.truncate(read);
                    self.window_start = self.current.start;
                }
                let skip = usize::try_from(self.current.start - self.window_start);
                self.window
                    .get(skip.unwrap_or(usize::MAX)..)
                    .unwrap_or_default()
            }
        };
        let wanted = self.current.end.saturating_sub(self.current.start);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        Ok(&bytes[..wanted.min(bytes.len())])
    }
}

impl Read for PayloadReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.current.start >= self.current.end {
                match self.ranges.next() {
                    Some(range) => self.current = range.clone(),
                    None => break,
                }
                continue;
            }
            let bytes = self.at_hand()?;
            let take = bytes.len().min(buffer.len() - filled);
            buffer[filled..filled + take].copy_from_slice(&bytes[..take]);
            filled += take;
            if take == 0 {
                // The body is shorter than its ranges say.
                self.current = 0..0;
                self.ranges = [].iter();
            }
            self.current.start += take as u64;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_one_from_memory_and_file() {
        use std::io::Write as _;
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let in_file = Body::File {
            file: Arc::new(file),
            len: bytes.len() as u64,
        };
        let in_memory = Body::from(bytes.clone());
        // Ones, empty ones, one over the end of a window, one past the end.
        let mut ranges: Vec<Range<u64>> = (0..1000).map(|n| n * 7..n * 7 + 1).collect();
        ranges.extend([8000..8000, 60_000..200_000, 299_999..400_000, 5..6]);
        let mut wanted: Vec<u8> = (0..1000).map(|n| bytes[n * 7]).collect();
        wanted.extend(&bytes[60_000..200_000]);
        wanted.push(bytes[299_999]);
        for body in [in_file, in_memory] {
            let mut read = Vec::new();
            body.payload_reader(&ranges).read_to_end(&mut read).unwrap();
            assert!(read == wanted, "{} bytes", read.len());
        }
    }
}
