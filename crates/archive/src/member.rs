//! One record, one gzip member: compressed in one call when small, streamed when large; the tiny
//! ones by a quicker way.
//!
//! Each thread keeps its buffers and its compressor, so that a page costs no allocation but the
//! exactly sized result.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use libdeflater::{CompressionLvl, Compressor};
use teia_base::Body;

use crate::{ArchiveConfig, tiny};

/// Records up to this size are compressed in one call.
pub(crate) const ONE_CALL_BYTES: u64 = 1 << 20;

/// Compresses records one after the other.
///
/// Output stays in memory until a record too large for one call comes; then all of it goes to an
/// unnamed temporary file, so that large bodies cost disk and not memory.
#[derive(Debug)]
pub(crate) struct Packer<'a> {
    scratch: &'a mut Scratch,
    level: u8,
    spool_dir: Option<&'a Path>,
    spool: Option<File>,
    len: u64,
}

impl Packer<'_> {
    /// Runs `work` with this thread's packer and gives what it packed.
    pub(crate) fn with<T>(
        config: &ArchiveConfig,
        work: impl FnOnce(&mut Packer<'_>) -> io::Result<T>,
    ) -> io::Result<(Body, T)> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.packed.clear();
            let mut packer = Packer {
                scratch,
                level: config.level(),
                spool_dir: config.spool_dir.as_deref(),
                spool: None,
                len: 0,
            };
            let result = work(&mut packer)?;
            Ok((packer.finish(), result))
        })
    }

    /// Bytes packed so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Packs one record that `fill` writes: header block, content and the two final line ends.
    pub(crate) fn small(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let scratch = &mut *self.scratch;
        scratch.plain.clear();
        fill(&mut scratch.plain)?;
        let start = scratch.packed.len();
        if scratch.plain.len() <= tiny::TINY_BYTES {
            tiny::gzip(&scratch.plain, &mut scratch.packed);
        } else {
            scratch.compress(self.level)?;
        }
        let packed = scratch.packed.len() - start;
        self.len += packed as u64;
        if self.spool.is_some() {
            self.spill()?;
        }
        Ok(())
    }

    /// Packs one record of any size; `header` ends with the blank line.
    pub(crate) fn large(&mut self, header: &[u8], head: &[u8], body: &Body) -> io::Result<()> {
        if self.spool.is_none() {
            self.spool = Some(match self.spool_dir {
                Some(dir) => tempfile::tempfile_in(dir)?,
                None => tempfile::tempfile()?,
            });
        }
        self.spill()?;
        let Some(spool) = &self.spool else {
            unreachable!("made just above")
        };
        let mut counting = Counting {
            inner: io::BufWriter::with_capacity(64 << 10, spool),
            written: 0,
        };
        let mut encoder = GzEncoder::new(
            &mut counting,
            Compression::new(u32::from(self.level.min(9))),
        );
        encoder.write_all(header)?;
        encoder.write_all(head)?;
        let copied = io::copy(&mut body.reader(0, body.len()), &mut encoder)?;
        if copied != body.len() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "a spooled body is shorter than it was",
            ));
        }
        encoder.write_all(b"\r\n\r\n")?;
        encoder.finish()?;
        counting.inner.flush()?;
        self.len += counting.written;
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if let Some(spool) = &mut self.spool {
            spool.write_all(&self.scratch.packed)?;
            self.scratch.packed.clear();
        }
        Ok(())
    }

    fn finish(self) -> Body {
        match self.spool {
            Some(file) => Body::File {
                file: Arc::new(file),
                len: self.len,
            },
            None => Body::from(self.scratch.packed.as_slice().to_vec()),
        }
    }
}

#[derive(Default)]
struct Scratch {
    plain: Vec<u8>,
    packed: Vec<u8>,
    compressor: Option<(u8, Compressor)>,
}

impl Scratch {
    /// Appends what `plain` holds to `packed`.
    fn compress(&mut self, level: u8) -> io::Result<()> {
        let compressor = match &mut self.compressor {
            Some((made_for, compressor)) if *made_for == level => compressor,
            slot => {
                let made_for = CompressionLvl::new(i32::from(level))
                    .map_err(|_| io::Error::other("no such compression level"))?;
                &mut slot.insert((level, Compressor::new(made_for))).1
            }
        };
        let start = self.packed.len();
        let bound = compressor.gzip_compress_bound(self.plain.len());
        self.packed.resize(start + bound, 0);
        let packed = compressor
            .gzip_compress(&self.plain, &mut self.packed[start..])
            .map_err(io::Error::other)?;
        self.packed.truncate(start + packed);
        Ok(())
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

struct Counting<W> {
    inner: W,
    written: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Adds a whole body to a buffer.
pub(crate) fn push_body(buffer: &mut Vec<u8>, body: &Body) -> io::Result<()> {
    match body.as_memory() {
        Some(bytes) => buffer.extend_from_slice(bytes),
        None => {
            let read = body.reader(0, body.len()).read_to_end(buffer)?;
            if read as u64 != body.len() {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "a spooled body is shorter than it was",
                ));
            }
        }
    }
    Ok(())
}
