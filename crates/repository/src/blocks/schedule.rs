//! URLs of a host that were chosen and not handed out yet, in order. Between two windows of a host they
//! lie in a file that nothing names and that goes with the process: pieces, each with a checksum behind
//! it. So a host costs the same memory however many of its URLs were chosen.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::block::Disk;
use super::error::{Flaw, StoreError};
use super::page::Cells;
use super::window::Place;

/// Read at once.
const PIECE: usize = 256;
/// So few stay in memory between two windows.
const AT_REST: usize = 16;

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
    /// What was not handed out, in order.
    pieces: VecDeque<Piece>,
    /// Where what is in memory comes from.
    current: Option<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    offset: u64,
    len: usize,
    /// So many of it were handed out.
    taken: usize,
}

impl Schedule {
    /// Keeps candidates, which are in order.
    pub(crate) fn new(kind: u8, version: u64, candidates: Vec<Candidate>) -> Self {
        Self {
            kind,
            version,
            next: candidates.into(),
            file: None,
            last: None,
            is_last: true,
            until: u32::MAX,
            waited: 0,
        }
    }

    /// Leaves the memory to others until the next window.
    pub(crate) fn rest(&mut self, disk: &Disk) -> Result<(), StoreError> {
        if self.next.len() <= AT_REST {
            return Ok(());
        }
        match &mut self.file {
            // They lie there still.
            Some(file) => match file.current.take() {
                Some(piece) => file.pieces.push_front(piece),
                None => return Ok(()),
            },
            None => self.file = Some(Spill::write(disk, self.next.make_contiguous())?),
        }
        self.next = VecDeque::new();
        Ok(())
    }

    /// How many are in memory.
    pub(crate) fn in_memory(&self) -> usize {
        self.next.len()
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
        while self.next.is_empty()
            && let Some(file) = &mut self.file
        {
            match file.read(disk)? {
                Some(piece) => self.next = piece,
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
        let popped = self.next.pop_front();
        let file = self.file.as_mut();
        if let Some(current) = file.and_then(|file| file.current.as_mut()) {
            current.taken += usize::from(popped.is_some());
        }
        Ok(popped)
    }
}

impl Spill {
    fn write(disk: &Disk, candidates: &[Candidate]) -> Result<Self, StoreError> {
        let name = format!("window-{:010}", disk.new_id());
        let path = disk.config.prefix.join(name);
        let mut file = disk
            .files
            .create(&path)
            .map_err(StoreError::disk("create", &path))?;
        let mut pieces = VecDeque::new();
        for piece in candidates.chunks(PIECE) {
            let mut bytes = postcard::to_stdvec(piece)
                .map_err(std::io::Error::other)
                .map_err(StoreError::disk("encode", &path))?;
            let sum = xxh3_64(&bytes);
            bytes.extend_from_slice(&sum.to_le_bytes());
            pieces.push_back(Piece {
                offset: file.len(),
                len: bytes.len(),
                taken: 0,
            });
            file.append(&bytes)
                .map_err(StoreError::disk("write", &path))?;
        }
        Ok(Self {
            path,
            pieces,
            current: None,
        })
    }

    /// The next piece, without what was handed out of it. The file is open only meanwhile: there may be
    /// thousands of them.
    fn read(&mut self, disk: &Disk) -> Result<Option<VecDeque<Candidate>>, StoreError> {
        self.current = self.pieces.pop_front();
        let Some(piece) = self.current else {
            return Ok(None);
        };
        let file = disk.files.open(&self.path);
        let file = file.map_err(StoreError::disk("open", &self.path))?;
        let mut bytes = vec![0; piece.len];
        let damaged = || Flaw("a window does not read").at(&self.path, piece.offset);
        match file.read_exact_at(piece.offset, &mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(damaged());
            }
            read => read.map_err(StoreError::disk("read", &self.path))?,
        }
        let (stored, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if xxh3_64(stored).to_le_bytes() != *sum {
            return Err(damaged());
        }
        let mut candidates: VecDeque<Candidate> =
            postcard::from_bytes(stored).map_err(|_| damaged())?;
        candidates.drain(..piece.taken.min(candidates.len()));
        Ok(Some(candidates))
    }
}
