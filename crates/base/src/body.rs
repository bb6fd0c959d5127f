//! The bytes of a body as they came over the wire, in memory or spooled to a file.

use std::fs::File;
use std::io::{self, Read};
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
