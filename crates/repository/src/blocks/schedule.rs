//! URLs of a host that were chosen and not handed out yet, in order: the first few in memory, the
//! rest in a file that nothing names and that goes with the process: pieces, each with a checksum
//! behind it.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use teia_base::ReadFile;
use xxhash_rust::xxh3::xxh3_64;

use super::block::Disk;
use super::error::{Flaw, StoreError};
use super::page::Cells;
use super::window::Place;

/// Kept in memory of one host.
const IN_MEMORY: usize = 256;

/// A URL that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) place: Place,
    pub(crate) url: String,
    pub(crate) cells: Cells,
    pub(crate) rare: Vec<u8>,
}

/// What was chosen of a host.
#[derive(Debug)]
pub(crate) struct Schedule {
    kind: u8,
    version: u64,
    next: VecDeque<Candidate>,
    file: Option<Spill>,
    /// The last place that was looked at: what comes before it is chosen already.
    pub(crate) last: Option<Place>,
    /// Whether nothing of the host was left out.
    pub(crate) is_last: bool,
    /// When another URL of the host becomes due.
    pub(crate) until: u32,
    /// The newest file of waiting news that was looked at for URLs of the host.
    pub(crate) waited: u64,
}

#[derive(Debug)]
struct Spill {
    path: PathBuf,
    file: Box<dyn ReadFile>,
    /// Offset and length of each piece not read yet.
    pieces: VecDeque<(u64, usize)>,
}

impl Schedule {
    /// Keeps candidates, which are in order.
    pub(crate) fn new(
        disk: &Disk,
        kind: u8,
        version: u64,
        mut candidates: Vec<Candidate>,
    ) -> Result<Self, StoreError> {
        let mut file = None;
        if candidates.len() > 8 * IN_MEMORY {
            let rest = candidates.split_off(IN_MEMORY);
            file = Some(Spill::write(disk, &rest)?);
        }
        Ok(Self {
            kind,
            version,
            next: candidates.into(),
            file,
            last: None,
            is_last: true,
            until: u32::MAX,
            waited: 0,
        })
    }

    pub(crate) fn up_to(mut self, last: Option<Place>, is_last: bool, until: u32) -> Self {
        self.last = last;
        self.until = until;
        self.is_last = is_last;
        self
    }

    /// Whether it was made in this order, and nothing was folded in or became due since.
    pub(crate) fn serves(&self, kind: u8, version: u64, now: u32) -> bool {
        self.kind == kind && self.version == version && now < self.until
    }

    /// Goes on with other candidates, when its own are spent.
    pub(crate) fn go_on(&mut self, candidates: Vec<Candidate>, waited: u64) {
        self.next.extend(candidates);
        self.waited = waited;
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.next.is_empty() && self.file.is_none()
    }

    /// What remains of one that is spent.
    pub(crate) fn emptied(mut self, disk: &Disk) -> Self {
        if let Some(file) = self.file.take() {
            disk.remove(&file.path);
        }
        self.next = VecDeque::new();
        self
    }

    pub(crate) fn peek(&mut self, disk: &Disk) -> Result<Option<&Candidate>, StoreError> {
        if self.next.is_empty()
            && let Some(file) = &mut self.file
        {
            match file.read()? {
                Some(piece) => self.next = piece.into(),
                None => {
                    disk.remove(&file.path);
                    self.file = None;
                }
            }
        }
        Ok(self.next.front())
    }

    pub(crate) fn pop(&mut self, disk: &Disk) -> Result<Option<Candidate>, StoreError> {
        self.peek(disk)?;
        Ok(self.next.pop_front())
    }
}

impl Spill {
    fn write(disk: &Disk, candidates: &[Candidate]) -> Result<Self, StoreError> {
        let name = format!("window-{:010}", disk.new_id());
        let path = disk.config.prefix.join(name);
        let files = &disk.files;
        let mut file = files
            .create(&path)
            .map_err(StoreError::disk("create", &path))?;
        let mut pieces = VecDeque::new();
        for piece in candidates.chunks(IN_MEMORY) {
            let mut bytes = postcard::to_stdvec(piece)
                .map_err(std::io::Error::other)
                .map_err(StoreError::disk("encode", &path))?;
            let sum = xxh3_64(&bytes);
            bytes.extend_from_slice(&sum.to_le_bytes());
            pieces.push_back((file.len(), bytes.len()));
            file.append(&bytes)
                .map_err(StoreError::disk("write", &path))?;
        }
        let file = files.open(&path).map_err(StoreError::disk("open", &path))?;
        Ok(Self { path, file, pieces })
    }

    fn read(&mut self) -> Result<Option<Vec<Candidate>>, StoreError> {
        let Some((offset, len)) = self.pieces.pop_front() else {
            return Ok(None);
        };
        let mut bytes = vec![0; len];
        let damaged = || Flaw("a window does not read").at(&self.path, offset);
        match self.file.read_exact_at(offset, &mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(damaged());
            }
            read => read.map_err(StoreError::disk("read", &self.path))?,
        }
        let (piece, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if xxh3_64(piece).to_le_bytes() != *sum {
            return Err(damaged());
        }
        postcard::from_bytes(piece).map(Some).map_err(|_| damaged())
    }
}
