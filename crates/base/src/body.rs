//! The bytes of a body as they came over the wire, in memory or spooled to a file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::chunks::{Chunks, Place};

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

    /// Reads these parts of the body, one after another, as if nothing lay between them.
    pub fn payload_reader(&self, chunks: Arc<Chunks>) -> PayloadReader {
        PayloadReader {
            body: self.clone(),
            chunks,
            place: Place::default(),
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

/// Reads some parts of a [`Body`] as one.
///
/// A file is read in pieces of one size, however short the parts are: a body of a million chunks of one
/// byte costs as many system calls as one of the same length in a single chunk.
#[derive(Debug)]
pub struct PayloadReader {
    body: Body,
    chunks: Arc<Chunks>,
    place: Place,
    /// The piece of the file read last, and where it begins.
    window: Vec<u8>,
    window_start: u64,
}

impl PayloadReader {
    const WINDOW: usize = 64 << 10;

    /// Bytes of payload, from its beginning.
    pub fn payload(&self) -> u64 {
        self.chunks.payload()
    }

    /// The bytes from here on that are at hand; none at the end of the body.
    fn at_hand<'a>(
        body: &'a Body,
        window: &'a mut Vec<u8>,
        window_start: &mut u64,
        from: u64,
    ) -> io::Result<&'a [u8]> {
        match body {
            Body::Memory(bytes) => {
                let start = usize::try_from(from).unwrap_or(usize::MAX);
                Ok(bytes.get(start..).unwrap_or_default())
            }
            Body::File { file, len } => {
                let window_end = *window_start + window.len() as u64;
                if !(*window_start..window_end).contains(&from) {
                    let left = len.saturating_sub(from);
                    let most = usize::try_from(left).unwrap_or(usize::MAX);
                    window.resize(most.min(Self::WINDOW), 0);
                    let read = file.read_at(window, from)?;
                    window.truncate(read);
                    *window_start = from;
                }
                let skip = usize::try_from(from - *window_start);
                Ok(window.get(skip.unwrap_or(usize::MAX)..).unwrap_or_default())
            }
        }
    }
}

impl Read for PayloadReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (window, window_start) = (&mut self.window, &mut self.window_start);
        let mut filled = 0;
        while filled < buffer.len() {
            if let Some(from) = self.place.before_short_parts(&self.chunks) {
                let bytes = Self::at_hand(&self.body, window, window_start, from)?;
                let gathered = self
                    .place
                    .gather(&self.chunks, bytes, &mut buffer[filled..]);
                filled += gathered;
                if gathered > 0 {
                    continue;
                }
                // One that goes over the end of a window, or of the buffer.
            }
            let Some(part) = self.place.part(&self.chunks) else {
                break;
            };
            let bytes = Self::at_hand(&self.body, window, window_start, part.start)?;
            let left = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
            let take = left.min(bytes.len()).min(buffer.len() - filled);
            if take == 0 {
                // The body is shorter than its parts say.
                break;
            }
            buffer[filled..filled + take].copy_from_slice(&bytes[..take]);
            filled += take;
            self.place.advance(take);
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_one_from_memory_and_file() {
        use std::io::Write as _;
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let in_file = Body::File {
            file: Arc::new(file),
            len: bytes.len() as u64,
        };
        let in_memory = Body::from(bytes.clone());
        let mut chunks = Chunks::default();
        let mut wanted: Vec<u8> = Vec::new();
        let mut at = 0;
        // Many of one byte, of some, of which one goes over the end of a window, and one past the end.
        for (gap, len, count) in [
            (3, 1, 1),
            (6, 1, 30_000),
            (2, 5, 9),
            (2, 7, 9000),
            (5, 64, 8),
            (1, 1, 3),
            (9, 3000, 1),
            (1, 7, 10),
            (9, 300_000, 1),
            (1, 1, 20),
        ] {
            for _ in 0..count {
                chunks.push(gap, len);
                at += gap as usize;
                let end = at + usize::try_from(len).unwrap();
                wanted.extend(&bytes[at.min(bytes.len())..end.min(bytes.len())]);
                at = end;
            }
        }
        let chunks = Arc::new(chunks);
        for body in [in_file, in_memory] {
            let mut read = Vec::new();
            let mut reader = body.payload_reader(Arc::clone(&chunks));
            reader.read_to_end(&mut read).unwrap();
            assert!(read == wanted, "{} of {} bytes", read.len(), wanted.len());
            // However little is asked for at a time.
            let mut reader = body.payload_reader(Arc::clone(&chunks));
            let (mut read, mut buffer) = (Vec::new(), [0; 13]);
            while let more @ 1.. = reader.read(&mut buffer).unwrap() {
                read.extend_from_slice(&buffer[..more]);
            }
            assert!(read == wanted, "{} of {} bytes", read.len(), wanted.len());
        }
    }
}
