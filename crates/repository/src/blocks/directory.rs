//! The hosts of a run: where each begins, and what the run adds to its counts.
//!
//! ```text
//! chunk   checksum u64 | packed length u32 | plain length u32 | zstd of its entries
//! entry   host length, host, page at which it begins, URLs added, waiting URLs added (zigzag)
//! ```

use xxhash_rust::xxh3::xxh3_64;

use super::error::Flaw;
use super::varint::{self, take, take_bytes, take_len};

const CHUNK: usize = 64 << 10;

/// No chunk is longer than this when unpacked: a damaged length must not eat the memory.
const MOST_CHUNK: usize = 16 << 20;

/// Collects the hosts of a run that is being written.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    host: Vec<u8>,
    page: usize,
    urls: i64,
    waiting: i64,
    any: bool,
    plain: Vec<u8>,
    chunks: Vec<u8>,
    /// The hosts of a run that is written aside, to be told with other pages.
    aside: Option<Vec<Aside>>,
}

/// A host with its page and what it adds to the counts.
type Aside = (Box<[u8]>, usize, i64, i64);

impl Directory {
    /// For a run that another one absorbs.
    pub(crate) fn aside() -> Self {
        Self {
            aside: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Goes on with the hosts of a run that was written aside, whose pages come after this many.
    pub(crate) fn absorb(&mut self, mut other: Self, pages: usize) {
        self.close_host();
        self.any = false;
        other.close_host();
        for (host, page, urls, waiting) in other.aside.unwrap_or_default() {
            self.put(&host, pages + page, urls, waiting);
        }
    }

    /// A row of this host, on this page, changes its counts by so many.
    #[inline]
    pub(crate) fn count(&mut self, host: &[u8], page: usize, urls: i64, waiting: i64) {
        if !self.any || self.host != host {
            self.close_host();
            self.any = true;
            self.host.clear();
            self.host.extend_from_slice(host);
            self.page = page;
        }
        self.urls += urls;
        self.waiting += waiting;
    }

    fn close_host(&mut self) {
        if !self.any {
            return;
        }
        let host = std::mem::take(&mut self.host);
        let (urls, waiting) = (self.urls, self.waiting);
        if let Some(aside) = &mut self.aside {
            aside.push((host.as_slice().into(), self.page, urls, waiting));
        } else {
            self.put(&host, self.page, urls, waiting);
        }
        self.host = host;
        self.urls = 0;
        self.waiting = 0;
    }

    fn put(&mut self, host: &[u8], page: usize, urls: i64, waiting: i64) {
        varint::put(&mut self.plain, host.len() as u64);
        self.plain.extend_from_slice(host);
        varint::put(&mut self.plain, page as u64);
        for count in [urls, waiting] {
            let zigzag = (count << 1) ^ (count >> 63);
            varint::put(&mut self.plain, zigzag.cast_unsigned());
        }
        if self.plain.len() >= CHUNK {
            self.close_chunk();
        }
    }

    fn close_chunk(&mut self) {
        let Ok(packed) = zstd::bulk::compress(&self.plain, 1) else {
            return;
        };
        let narrow = |len: usize| u32::try_from(len).expect("a chunk is short");
        let start = self.chunks.len();
        self.chunks.extend_from_slice(&[0; 8]);
        self.chunks
            .extend_from_slice(&narrow(packed.len()).to_le_bytes());
        self.chunks
            .extend_from_slice(&narrow(self.plain.len()).to_le_bytes());
        self.chunks.extend_from_slice(&packed);
        let sum = xxh3_64(&self.chunks[start + 8..]);
        self.chunks[start..start + 8].copy_from_slice(&sum.to_le_bytes());
        self.plain.clear();
    }

    /// Appends the directory.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.close_host();
        if !self.plain.is_empty() {
            self.close_chunk();
        }
        out.append(&mut self.chunks);
    }
}

/// A host, as a run tells of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostEntry<'a> {
    pub(crate) host: &'a [u8],
    pub(crate) urls: i64,
    pub(crate) waiting: i64,
}

/// Tells of each host of a stored directory.
pub(crate) fn for_each_host(
    mut stored: &[u8],
    mut tell: impl FnMut(HostEntry<'_>),
) -> Result<(), Flaw> {
    while !stored.is_empty() {
        let sum = take_bytes(&mut stored, 8)?;
        let body = stored;
        let packed = read_u32(&mut stored)?;
        let plain = read_u32(&mut stored)?;
        let chunk = take_bytes(&mut stored, packed)?;
        if sum != xxh3_64(&body[..8 + packed]).to_le_bytes() {
            return Err(Flaw("the checksum of a directory is wrong"));
        }
        if plain > MOST_CHUNK {
            return Err(Flaw("a directory is too long"));
        }
        let plain = zstd::bulk::decompress(chunk, plain)
            .map_err(|_| Flaw("a directory does not unpack"))?;
        let mut entries = plain.as_slice();
        while !entries.is_empty() {
            let len = take_len(&mut entries)?;
            let host = take_bytes(&mut entries, len)?;
            // The page is for readers who want one host only.
            take_len(&mut entries)?;
            let mut count = || -> Result<i64, Flaw> {
                let number = take(&mut entries)?;
                Ok((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
            };
            let urls = count()?;
            let waiting = count()?;
            tell(HostEntry {
                host,
                urls,
                waiting,
            });
        }
    }
    Ok(())
}

fn read_u32(bytes: &mut &[u8]) -> Result<usize, Flaw> {
    let taken = take_bytes(bytes, 4)?;
    Ok(u32::from_le_bytes([taken[0], taken[1], taken[2], taken[3]]) as usize)
}
