//! Where the bytes of an answer gather: one growing buffer, then a file if there are many.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use teia_base::Body;

use crate::body_memory::{BodyMemory, Grant};

/// Buffers up to this size are not counted against the body memory.
const UNCOUNTED: usize = 64 << 10;
/// Bytes gathered between two writes to a spool file.
const STAGE: usize = 128 << 10;
/// The least room offered to a read.
const MIN_ROOM: usize = 4 << 10;

/// What a fetcher says about spooling.
#[derive(Clone, Debug)]
pub(crate) struct SpoolRules {
    pub(crate) memory: BodyMemory,
    pub(crate) spool_bytes: u64,
    pub(crate) dir: Arc<PathBuf>,
}

/// Gathers one answer: its head at the front of the buffer, then its body.
#[derive(Debug)]
pub(crate) struct Intake {
    rules: SpoolRules,
    /// Head and body, or what is not yet written of a body in a file.
    buffer: BytesMut,
    /// Bytes of head at the front of the buffer.
    head_len: usize,
    /// The head, once the buffer no longer holds it.
    head: Option<Bytes>,
    grant: Grant,
    /// What the places of its chunks take of the same budget.
    chunks: Grant,
    file: Option<File>,
    written: u64,
}

impl Intake {
    /// An empty one, with room for about `hint` bytes.
    pub(crate) fn new(rules: &SpoolRules, hint: usize) -> Self {
        Self {
            buffer: BytesMut::with_capacity(hint.clamp(MIN_ROOM, UNCOUNTED)),
            head_len: 0,
            head: None,
            grant: rules.memory.grant(),
            chunks: rules.memory.grant(),
            file: None,
            written: 0,
            rules: rules.clone(),
        }
    }

    /// The buffer, to read into.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// All bytes of the head, and what of the body is in memory behind it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Room for at least a small read of a head.
    pub(crate) fn room_for_head(&mut self) {
        if self.buffer.capacity() - self.buffer.len() < MIN_ROOM / 2 {
            self.buffer.reserve(MIN_ROOM.max(self.buffer.len()));
        }
    }

    /// Forgets the first bytes: an interim answer.
    pub(crate) fn skip(&mut self, len: usize) {
        let _ = self.buffer.split_to(len);
    }

    /// The first `len` bytes are the head; the rest is body.
    pub(crate) fn head_ends(&mut self, len: usize) {
        self.head_len = len;
    }

    /// Bytes of body so far.
    pub(crate) fn body_len(&self) -> u64 {
        self.written + (self.buffer.len() - self.head_len) as u64
    }

    /// The body's bytes that came since `seen` of them were there; call before `make_room`.
    pub(crate) fn body_from(&self, seen: u64) -> &[u8] {
        let skip = usize::try_from(seen - self.written).unwrap_or(usize::MAX);
        self.buffer
            .get(self.head_len.saturating_add(skip)..)
            .unwrap_or_default()
    }

    /// Whether there is memory for knowing where the chunks lie; it is held as long as the answer is.
    pub(crate) fn room_for_chunks(&mut self, bytes: usize) -> bool {
        bytes <= UNCOUNTED || self.chunks.raise(bytes as u64)
    }

    /// Makes room for the next read of a body that is expected to bring `expected` bytes more,
    /// if that is known; past the bounds of memory what is there goes to a file.
    pub(crate) async fn make_room(&mut self, expected: Option<u64>) -> io::Result<()> {
        if self.file.is_none() && !self.grow(expected) {
            let head = Bytes::copy_from_slice(&self.buffer[..self.head_len]);
            let _ = self.buffer.split_to(self.head_len);
            (self.head, self.head_len) = (Some(head), 0);
            self.flush(true).await?;
        } else if self.file.is_some() && self.buffer.len() + MIN_ROOM > STAGE {
            self.flush(true).await?;
        }
        Ok(())
    }

    /// Whether the buffer could be kept, or made, large enough within the bounds of memory.
    fn grow(&mut self, expected: Option<u64>) -> bool {
        let len = self.buffer.len();
        let free = self.buffer.capacity() - len;
        let least = expected.map_or(MIN_ROOM, |more| {
            usize::try_from(more).unwrap_or(usize::MAX).max(1)
        });
        if free >= least || (expected.is_none() && free > 0) {
            return true;
        }
        let wanted = match expected {
            Some(_) => len.saturating_add(least),
            None => len.saturating_mul(2).max(len + MIN_ROOM),
        };
        let bound = usize::try_from(self.rules.spool_bytes)
            .unwrap_or(usize::MAX)
            .saturating_add(self.head_len);
        if len >= bound || (expected.is_some() && wanted > bound) {
            return false;
        }
        let wanted = wanted.min(bound);
        if wanted > UNCOUNTED && !self.grant.raise(wanted as u64) {
            return false;
        }
        if free == 0 && wanted == 2 * len {
            // Doubled in place, where the system can move pages rather than bytes.
            self.buffer.reserve(len);
        } else {
            let mut buffer = BytesMut::with_capacity(wanted);
            buffer.extend_from_slice(&self.buffer);
            self.buffer = buffer;
        }
        true
    }

    /// Appends to the file what the buffer holds, off the async threads.
    async fn flush(&mut self, go_on: bool) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.buffer);
        let (file, dir) = (self.file.take(), Arc::clone(&self.rules.dir));
        let len = bytes.len();
        let write = tokio::task::spawn_blocking(move || {
            let mut file = match file {
                Some(file) => file,
                None => tempfile::tempfile_in(&*dir)?,
            };
            file.write_all(&bytes)?;
            Ok::<_, io::Error>((file, bytes))
        });
        let (file, mut bytes) = write.await.map_err(io::Error::other)??;
        self.file = Some(file);
        self.written += len as u64;
        if go_on {
            if bytes.capacity() >= STAGE && bytes.capacity() <= 2 * STAGE {
                bytes.clear();
                self.buffer = bytes;
            } else {
                self.buffer = BytesMut::with_capacity(STAGE);
                self.grant = self.rules.memory.grant();
            }
        }
        Ok(())
    }

    /// The head and the first `body_len` bytes of body.
    pub(crate) async fn finish(mut self, body_len: u64) -> io::Result<(Bytes, Body)> {
        if let Some(head) = self.head.take() {
            let keep = usize::try_from(body_len.saturating_sub(self.written)).unwrap_or(usize::MAX);
            self.buffer.truncate(keep);
            self.flush(false).await?;
            let file = self
                .file
                .take()
                .map(Arc::new)
                .ok_or_else(|| io::Error::other("no spool file"))?;
            return Ok((
                held(head, self.chunks),
                Body::File {
                    file,
                    len: self.written.min(body_len),
                },
            ));
        }
        let head = self.buffer.split_to(self.head_len).freeze();
        self.buffer
            .truncate(usize::try_from(body_len).unwrap_or(usize::MAX));
        let bytes = self.buffer.freeze();
        let body = Body::Memory(held(bytes, self.grant));
        Ok((held(head, self.chunks), body))
    }
}

/// The bytes, with their part of the budget if they have one.
fn held(bytes: Bytes, grant: Grant) -> Bytes {
    if grant.is_empty() {
        return bytes;
    }
    Bytes::from_owner(Held {
        bytes,
        _grant: grant,
    })
}

/// A body in memory (or the head of one in many chunks), and its part of the budget for as long as anyone holds it.
struct Held {
    bytes: Bytes,
    _grant: Grant,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
