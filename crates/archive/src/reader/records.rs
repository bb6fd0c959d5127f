//! Record after record of one file, and what is damaged between them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use teia_base::{Body, ReadFile};

use super::block::read_block;
use super::header::RecordHeader;
use super::input::{Input, Layer};
use super::verify::Proof;
use crate::ArchiveError;

const GZIP_MAGIC: [u8; 3] = [0x1F, 0x8B, 0x08];
const PLAIN_MAGIC: &[u8] = b"WARC/1.";
const WINDOW_BYTES: usize = 64 << 10;

/// How much a reader is willing to do for a file that may be hostile.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Larger blocks are damage.
    pub max_block_bytes: u64,
    /// After so many places that looked like a record and were none, the rest of the file is left alone.
    pub max_false_starts: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            max_block_bytes: 1 << 30,
            max_false_starts: 64,
        }
    }
}

/// One record, whole.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it begins in the file: its gzip member, or its first line.
    pub offset: u64,
    /// Bytes that it takes in the file; 0 where several records share a gzip member.
    pub length: u64,
    /// Its named fields.
    pub header: RecordHeader,
    /// The HTTP head, for a block that has one.
    pub head: Bytes,
    /// The rest of the block; large ones lie in a temporary file.
    pub body: Body,
}

/// A place that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the damaged record begins.
    pub offset: u64,
    /// What is wrong.
    pub what: String,
}

/// What comes next in a file.
#[derive(Clone, Debug)]
pub enum Found {
    /// A record.
    Record(Box<Record>),
    /// Damage; reading goes on after it where it can.
    Damage(Damage),
}

/// Reads the records of one file, in order.
#[derive(Debug)]
pub struct WarcReader {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    position: u64,
    end: u64,
    limits: ReadLimits,
    false_starts: u32,
    /// What is left of the gzip member or plain stretch that the last record came from.
    layer: Option<(u64, Layer)>,
    /// The next record was found by searching and must prove itself.
    is_lost: bool,
}

enum Step {
    Record(Box<Record>),
    Damage(String),
    End,
}

impl WarcReader {
    /// Reads a file from an offset, which must be the beginning of a record or 0, to its end.
    pub fn new(file: Box<dyn ReadFile>, path: &Path, offset: u64) -> Result<Self, ArchiveError> {
        let file: Arc<dyn ReadFile> = Arc::from(file);
        let end = file.len().map_err(ArchiveError::read(path, 0))?;
        Ok(Self::within(file, path, offset, end))
    }

    /// Reads `offset..end` of a file.
    pub(crate) fn within(file: Arc<dyn ReadFile>, path: &Path, offset: u64, end: u64) -> Self {
        Self {
            file,
            path: path.to_owned(),
            position: offset,
            end,
            limits: ReadLimits::default(),
            false_starts: 0,
            layer: None,
            is_lost: false,
        }
    }

    /// The same reader with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ReadLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The place in the file up to which everything has been read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next record or damage. An error means that the disk cannot be read.
    pub fn next_found(&mut self) -> Result<Option<Found>, ArchiveError> {
        loop {
            let start = self.position;
            let offset = match &self.layer {
                Some((offset, _)) => *offset,
                None if start >= self.end => return Ok(None),
                None => start,
            };
            let step = self.step().map_err(ArchiveError::read(&self.path, start))?;
            let was_lost = self.is_lost;
            match step {
                Step::End if self.position > start => {}
                Step::End => return Ok(None),
                Step::Record(record) => {
                    if was_lost {
                        let proof = record
                            .verify()
                            .map_err(ArchiveError::read(&self.path, record.offset))?;
                        if proof != Proof::Good {
                            self.give_up_place(record.offset)?;
                            continue;
                        }
                    }
                    self.is_lost = false;
                    return Ok(Some(Found::Record(record)));
                }
                Step::Damage(what) => {
                    let place = if self
                        .layer
                        .as_ref()
                        .is_some_and(|(_, layer)| layer.is_plain())
                    {
                        start
                    } else {
                        offset
                    };
                    self.give_up_place(place)?;
                    if !was_lost {
                        return Ok(Some(Found::Damage(Damage {
                            offset: place,
                            what,
                        })));
                    }
                }
            }
        }
    }

    /// Leaves a place that did not read and goes to the next that looks like a record.
    fn give_up_place(&mut self, place: u64) -> Result<(), ArchiveError> {
        self.layer = None;
        if self.is_lost {
            self.false_starts += 1;
        }
        self.is_lost = true;
        self.position = if self.false_starts > self.limits.max_false_starts {
            self.end
        } else {
            self.search(place + 1)
                .map_err(ArchiveError::read(&self.path, place))?
        };
        Ok(())
    }

    /// Reads one record from where we stand. Damage of the bytes is a step, an error is the disk's.
    fn step(&mut self) -> io::Result<Step> {
        let (offset, mut layer) = match self.layer.take() {
            Some(layer) => layer,
            None => {
                let mut magic = [0; 3];
                let read = self.file.read_at(self.position, &mut magic)?;
                let input = Input::new(self.file.clone(), self.position, self.end);
                let is_member = magic[..read] == GZIP_MAGIC;
                (
                    self.position,
                    if is_member {
                        Layer::member(input)
                    } else {
                        Layer::plain(input)
                    },
                )
            }
        };
        let step = self.read_record(offset, &mut layer);
        let step = match step {
            // Bytes that do not inflate come as an error of the decoder, not of the disk.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
                ) =>
            {
                Step::Damage(format!("broken gzip member ({error})"))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Step::Damage("the file ends within a gzip member".to_owned())
            }
            step => step?,
        };
        match &step {
            Step::Record(record) if record.length == 0 || layer.is_plain() => {
                if layer.is_plain() {
                    self.position = layer.place_after();
                }
                self.layer = Some((offset, layer));
            }
            Step::Record(_) => self.position = layer.place_after(),
            Step::Damage(_) if layer.is_plain() => self.layer = Some((offset, layer)),
            // A member of several records is left behind; others may follow it.
            Step::End if !layer.is_plain() => self.position = layer.place_after(),
            Step::Damage(_) | Step::End => {}
        }
        Ok(step)
    }

    fn read_record(&self, offset: u64, layer: &mut Layer) -> io::Result<Step> {
        let is_first = layer.taken() == 0;
        let at_end = layer.skip_line_ends()?;
        if at_end {
            let is_empty_member = !layer.is_plain() && is_first;
            return Ok(if is_empty_member {
                Step::Damage("empty gzip member".to_owned())
            } else {
                Step::End
            });
        }
        let begin = if layer.is_plain() {
            layer.place_after()
        } else {
            offset
        };
        let header = match RecordHeader::read(layer)? {
            Ok(header) => header,
            Err(what) => return Ok(Step::Damage(what)),
        };
        let Some(len) = header
            .get("Content-Length")
            .and_then(|text| text.parse::<u64>().ok())
        else {
            return Ok(Step::Damage(
                "record without a readable Content-Length".to_owned(),
            ));
        };
        if len > self.limits.max_block_bytes {
            return Ok(Step::Damage(format!(
                "block of {len} bytes, more than the limit"
            )));
        }
        let is_http = header
            .get("Content-Type")
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/http"))
            || matches!(header.kind(), "response" | "request" | "revisit")
                && header.url().is_some_and(|url| url.starts_with("http"));
        let Some((head, body)) = read_block(layer, len, is_http)? else {
            return Ok(Step::Damage(format!(
                "ends before the {len} bytes of its block"
            )));
        };
        let at_end = layer.skip_line_ends()?;
        if !layer.is_plain() && !at_end && !layer.continues_with(b"WARC/")? {
            // A wrong length, most likely; the check sum at the end of the member was not reached.
            return Ok(Step::Damage(
                "bytes after the block that are no record".to_owned(),
            ));
        }
        let is_alone = at_end && is_first;
        let length = match (layer.is_plain(), is_alone) {
            (true, _) => layer.place_after() - begin,
            (false, true) => layer.place_after() - offset,
            (false, false) => 0,
        };
        Ok(Step::Record(Box::new(Record {
            offset: begin,
            length,
            header,
            head,
            body,
        })))
    }

    /// The next place at or after `from` that looks like the beginning of a record.
    fn search(&self, from: u64) -> io::Result<u64> {
        let mut at = from;
        let mut window = vec![0; WINDOW_BYTES];
        while at < self.end {
            let read = self.file.read_at(at, &mut window)?;
            let seen = &window[..read];
            let gzip = memchr::memmem::find(seen, &GZIP_MAGIC);
            let plain = memchr::memmem::find(seen, PLAIN_MAGIC);
            if let Some(found) = gzip.into_iter().chain(plain).min() {
                let place = at + found as u64;
                if place >= self.end {
                    break;
                }
                if Some(found) == plain || self.member_begins_a_record(place)? {
                    return Ok(place);
                }
                at = place + 1;
                continue;
            }
            // The magic may lie across the edge of two windows.
            let overlap = PLAIN_MAGIC.len() - 1;
            if read <= overlap {
                break;
            }
            at += (read - overlap) as u64;
        }
        Ok(self.end)
    }

    /// A cheap look at what a member begins with.
    fn member_begins_a_record(&self, place: u64) -> io::Result<bool> {
        let mut layer = Layer::member(Input::new(
            self.file.clone(),
            place,
            self.end.min(place + 4096),
        ));
        Ok(layer.line(5).is_ok_and(|start| start == b"WARC/"))
    }
}
