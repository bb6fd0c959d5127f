//! A file written once, in chunks that each carry a checksum.
//!
//! ```text
//! chunk 0: payload (32760 bytes), xxh3 (8 bytes) | chunk 1 … | last chunk: shorter payload, xxh3
//! ```
//!
//! The checksum covers the payload, with the chunk's number as seed. To the rest of this crate a
//! file is the joined payloads, read by [`Cursor`]; offsets are those of the joined payloads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;
use teia_base::{AppendFile, Files, ReadFile};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::GraphError;
use crate::varint;

const CHUNK: usize = 32 << 10;
const CHECKSUM: usize = 8;
const PAYLOAD: usize = CHUNK - CHECKSUM;

/// Chunks of many files, bounded in all.
#[derive(Debug, Clone)]
pub(crate) struct ChunkCache(Arc<Cache<Key, Arc<[u8]>>>);

/// A file, by its number in this process, and a chunk of it.
type Key = (u64, u64);

impl ChunkCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let chunks = usize::try_from(bytes).unwrap_or(usize::MAX) / CHUNK;
        Self(Arc::new(Cache::new(chunks.max(4))))
    }
}

/// Writes a file from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    file: Box<dyn AppendFile>,
    payload: Vec<u8>,
    chunks: u64,
}

impl Writer {
    pub(crate) fn create(files: &dyn Files, path: &Path) -> Result<Self, GraphError> {
        let file = files.create(path).map_err(|source| GraphError::Write {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            payload: Vec::with_capacity(CHUNK),
            chunks: 0,
        })
    }

    /// The offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.chunks * PAYLOAD as u64 + self.payload.len() as u64
    }

    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> Result<(), GraphError> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(PAYLOAD - self.payload.len());
            self.payload.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.payload.len() == PAYLOAD {
                self.end_chunk()?;
            }
        }
        Ok(())
    }

    /// Writes the last chunk, syncs, and gives the length on disk.
    pub(crate) fn finish(mut self) -> Result<u64, GraphError> {
        if !self.payload.is_empty() {
            self.end_chunk()?;
        }
        self.file.sync().map_err(|source| GraphError::Write {
            path: self.path.clone(),
            source,
        })?;
        Ok(self.file.len())
    }

    fn end_chunk(&mut self) -> Result<(), GraphError> {
        let checksum = xxh3_64_with_seed(&self.payload, self.chunks);
        self.payload.extend_from_slice(&checksum.to_le_bytes());
        self.file
            .append(&self.payload)
            .map_err(|source| GraphError::Write {
                path: self.path.clone(),
                source,
            })?;
        self.payload.clear();
        self.chunks += 1;
        Ok(())
    }
}

/// A file that is only read.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    file: Box<dyn ReadFile>,
    disk_len: u64,
    len: u64,
    number: u64,
    cache: ChunkCache,
}

impl File {
    pub(crate) fn open(
        files: &dyn Files,
        path: &Path,
        cache: &ChunkCache,
    ) -> Result<Arc<Self>, GraphError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let failed = |source| GraphError::Read {
            path: path.to_owned(),
            source,
        };
        let file = files.open(path).map_err(failed)?;
        let disk_len = file.len().map_err(failed)?;
        let chunks = disk_len.div_ceil(CHUNK as u64);
        Ok(Arc::new(Self {
            path: path.to_owned(),
            file,
            disk_len,
            len: disk_len.saturating_sub(chunks * CHECKSUM as u64),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            cache: cache.clone(),
        }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of all payloads.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes on disk.
    pub(crate) fn disk_len(&self) -> u64 {
        self.disk_len
    }

    /// The error for bytes that have the right checksum and make no sense.
    pub(crate) fn damaged(&self, offset: u64, what: &'static str) -> GraphError {
        GraphError::Damaged {
            path: self.path.clone(),
            offset: (offset / PAYLOAD as u64).saturating_mul(CHUNK as u64),
            what,
        }
    }

    /// Reads every chunk and compares its checksum.
    pub(crate) fn verify(&self) -> Result<(), GraphError> {
        (0..self.disk_len.div_ceil(CHUNK as u64)).try_for_each(|index| self.load(index).map(drop))
    }

    pub(crate) fn read_u64(self: &Arc<Self>, offset: u64) -> Result<u64, GraphError> {
        let mut bytes = [0; 8];
        Cursor::cached(self, offset).fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn chunk(&self, index: u64, cached: bool) -> Result<Arc<[u8]>, GraphError> {
        if !cached {
            return self.load(index);
        }
        let key = (self.number, index);
        if let Some(chunk) = self.cache.0.get(&key) {
            return Ok(chunk);
        }
        let chunk = self.load(index)?;
        self.cache.0.insert(key, Arc::clone(&chunk));
        Ok(chunk)
    }

    fn load(&self, index: u64) -> Result<Arc<[u8]>, GraphError> {
        let start = index.saturating_mul(CHUNK as u64);
        let damaged = |what| GraphError::Damaged {
            path: self.path.clone(),
            offset: start,
            what,
        };
        let len = usize::try_from(self.disk_len.saturating_sub(start).min(CHUNK as u64))
            .map_err(|_| damaged("a length beyond this machine"))?;
        if len <= CHECKSUM {
            return Err(damaged("it ends too early"));
        }
        let mut bytes = vec![0; len];
        self.file
            .read_exact_at(start, &mut bytes)
            .map_err(|source| GraphError::Read {
                path: self.path.clone(),
                source,
            })?;
        let (payload, checksum) = bytes.split_at(len - CHECKSUM);
        if xxh3_64_with_seed(payload, index).to_le_bytes() != *checksum {
            return Err(damaged("the checksum differs"));
        }
        bytes.truncate(len - CHECKSUM);
        Ok(bytes.into())
    }
}

/// A place in a file, moving forward.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    file: Arc<File>,
    chunk: Arc<[u8]>,
    /// The chunk that is held; none before the first read.
    index: u64,
    /// The place in the chunk.
    place: usize,
    cached: bool,
}

impl Cursor {
    /// For reading a little at any place.
    pub(crate) fn cached(file: &Arc<File>, offset: u64) -> Self {
        Self::new(file, offset, true)
    }

    /// For reading much in order; leaves the cache alone.
    pub(crate) fn streaming(file: &Arc<File>, offset: u64) -> Self {
        Self::new(file, offset, false)
    }

    fn new(file: &Arc<File>, offset: u64, cached: bool) -> Self {
        let mut cursor = Self {
            file: Arc::clone(file),
            chunk: Arc::new([]),
            index: u64::MAX,
            place: 0,
            cached,
        };
        cursor.seek(offset);
        cursor
    }

    pub(crate) fn seek(&mut self, offset: u64) {
        let index = offset / PAYLOAD as u64;
        if index != self.index {
            self.index = index;
            self.chunk = Arc::new([]);
        }
        self.place = usize::try_from(offset % PAYLOAD as u64).unwrap_or(0);
    }

    pub(crate) fn offset(&self) -> u64 {
        self.index * PAYLOAD as u64 + self.place as u64
    }

    /// A number, which must fit what it stands for.
    pub(crate) fn varint_u32(&mut self) -> Result<u32, GraphError> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| self.damaged("a number is too large"))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, GraphError> {
        if let Some((value, length)) = self.chunk.get(self.place..).and_then(varint::get) {
            self.place += length;
            return Ok(value);
        }
        self.varint_across()
    }

    /// A number that crosses into the next chunk, or is the first of one.
    #[cold]
    fn varint_across(&mut self) -> Result<u64, GraphError> {
        let mut bytes = [0; varint::MAX_BYTES];
        for length in 1..=varint::MAX_BYTES {
            self.fill(&mut bytes[length - 1..length])?;
            if let Some((value, _)) = varint::get(&bytes[..length]) {
                return Ok(value);
            }
        }
        Err(self.damaged("a number is too long"))
    }

    pub(crate) fn fill(&mut self, mut out: &mut [u8]) -> Result<(), GraphError> {
        while !out.is_empty() {
            self.hold()?;
            let taken = out.len().min(self.chunk.len() - self.place);
            out[..taken].copy_from_slice(&self.chunk[self.place..self.place + taken]);
            self.place += taken;
            out = &mut out[taken..];
        }
        Ok(())
    }

    /// Appends the next bytes; a length beyond the file is damage, found before memory is asked for.
    pub(crate) fn append_to(&mut self, out: &mut Vec<u8>, length: u64) -> Result<(), GraphError> {
        let left = self.file.len.saturating_sub(self.offset());
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length as u64 <= left)
            .ok_or_else(|| self.damaged("a text is longer than its file"))?;
        let start = out.len();
        out.resize(start + length, 0);
        self.fill(&mut out[start..])
    }

    pub(crate) fn damaged(&self, what: &'static str) -> GraphError {
        self.file.damaged(self.offset(), what)
    }

    /// Makes sure that the next byte is in the chunk that is held.
    fn hold(&mut self) -> Result<(), GraphError> {
        if self.place >= PAYLOAD {
            self.seek(self.offset());
        }
        if self.place >= self.chunk.len() {
            if !self.chunk.is_empty() {
                return Err(self.damaged("it ends too early"));
            }
            self.chunk = self.file.chunk(self.index, self.cached)?;
            if self.place >= self.chunk.len() {
                return Err(self.damaged("it ends too early"));
            }
        }
        Ok(())
    }
}
