//! Index lines of a file that is still written to: `X.cdxj.open`.
//!
//! Layout: each line is 16 hex digits (xxh3 of the rest, without line end), a space, a CDXJ line.
//! Lines stand in the order of the records. The file is never synced; the first line that does not
//! read ends it, and what is missing is found by scanning the archive file from there on.

use std::ops::Range;
use std::path::Path;

use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

use super::scan::scan_entries;
use super::{ArchiveName, open_lines_path};
use crate::{ArchiveError, CdxEntry};

/// The sum and the space before each line.
const FRAME_BYTES: usize = 17;

/// Adds a CDXJ line, with its line end, as it stands in an open index.
pub(crate) fn push_framed(out: &mut Vec<u8>, line: &[u8]) {
    let sum = xxh3_64(line.strip_suffix(b"\n").unwrap_or(line));
    out.extend_from_slice(format!("{sum:016x} ").as_bytes());
    out.extend_from_slice(line);
}

/// The index lines of an archive file that has no sorted index: as text, because a file may hold
/// very many, and entries take three times as much memory.
#[derive(Debug)]
pub(crate) struct OpenLines {
    text: Vec<u8>,
    /// Where each line stands in the text, in the order of the records.
    places: Vec<Range<usize>>,
    /// Whether the side file held exactly these.
    pub(crate) is_exact: bool,
}

impl OpenLines {
    /// Reads the side file as far as it goes, and scans `..len` of the archive file for the rest.
    pub(crate) fn load(
        files: &dyn Files,
        dir: &Path,
        name: &ArchiveName,
        len: u64,
    ) -> Result<Self, ArchiveError> {
        let side = open_lines_path(dir, name);
        let mut text = match files.read(&side) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(ArchiveError::read(&side, 0)(error)),
        };
        let mut places: Vec<Range<usize>> = Vec::new();
        let (mut used, mut scanned) = (0, 0);
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            match parse_framed(line) {
                Some(entry)
                    if entry.offset >= scanned
                        && entry.end() <= len
                        && entry.file == name.file() =>
                {
                    scanned = entry.end();
                    places.push(used + FRAME_BYTES..used + line.len());
                    used += line.len();
                }
                _ => break,
            }
        }
        let mut is_exact = used == text.len();
        text.truncate(used);
        scan_entries(
            files,
            &dir.join(name.file()),
            &name.file(),
            scanned..len,
            &mut |entry| {
                is_exact = false;
                let start = text.len();
                text.extend_from_slice(entry.to_line().as_bytes());
                places.push(start..text.len());
            },
        )?;
        Ok(Self {
            text,
            places,
            is_exact,
        })
    }

    /// The lines with their line ends, in the order of the records.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|place| &self.text[place.clone()])
    }

    /// Changes lines that are to say something else.
    pub(crate) fn rewrite(&mut self, mut changed: impl FnMut(&[u8]) -> Option<String>) {
        for place in &mut self.places {
            if let Some(line) = changed(&self.text[place.clone()]) {
                *place = self.text.len()..self.text.len() + line.len();
                self.text.extend_from_slice(line.as_bytes());
            }
        }
    }

    /// Brings the lines into the order of a sorted index.
    pub(crate) fn sort(&mut self) {
        let text = &self.text;
        let line = |place: &Range<usize>| &text[place.clone()];
        self.places.sort_unstable_by(|a, b| line(a).cmp(line(b)));
    }

    /// The lines as a file that is still written to has them.
    pub(crate) fn framed(&self) -> Vec<u8> {
        let mut framed = Vec::with_capacity(self.text.len());
        for line in self.lines() {
            push_framed(&mut framed, line);
        }
        framed
    }
}

fn parse_framed(line: &[u8]) -> Option<CdxEntry> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, line) = line.split_once(' ')?;
    let sum = u64::from_str_radix(sum, 16).ok()?;
    (sum == xxh3_64(line.as_bytes())).then(|| CdxEntry::parse(line))?
}
