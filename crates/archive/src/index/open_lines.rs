//! Index lines of a file that is still written to: `X.cdxj.open`.
//!
//! Layout: each line is 16 hex digits (xxh3 of the rest, without line end), a space, a CDXJ line.
//! Lines stand in the order of the records. The file is never synced; the first line that does not
//! read ends it, and what is missing is found by scanning the archive file from there on.

use std::path::Path;

use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

use super::scan::scan_entries;
use super::{ArchiveName, open_lines_path};
use crate::{ArchiveError, CdxEntry};

/// A CDXJ line as it stands in an open index.
pub(crate) fn framed_line(line: &str) -> String {
    format!(
        "{:016x} {line}",
        xxh3_64(line.trim_end_matches('\n').as_bytes())
    )
}

/// The captures of an archive file that has no sorted index.
#[derive(Debug)]
pub(crate) struct OpenLines {
    /// In the order of the records.
    pub(crate) entries: Vec<CdxEntry>,
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
        let content = match files.read(&side) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(ArchiveError::read(&side, 0)(error)),
        };
        let mut entries: Vec<CdxEntry> = Vec::new();
        let mut used = 0;
        for line in content.split_inclusive(|&byte| byte == b'\n') {
            let after = entries.last().map_or(0, CdxEntry::end);
            match parse_framed(line) {
                Some(entry)
                    if entry.offset >= after && entry.end() <= len && entry.file == name.file() =>
                {
                    entries.push(entry);
                    used += line.len();
                }
                _ => break,
            }
        }
        let known = entries.len();
        let scanned = entries.last().map_or(0, CdxEntry::end);
        scan_entries(
            files,
            &dir.join(name.file()),
            &name.file(),
            scanned..len,
            &mut |entry| {
                entries.push(entry);
            },
        )?;
        let is_exact = used == content.len() && known == entries.len();
        Ok(Self { entries, is_exact })
    }
}

fn parse_framed(line: &[u8]) -> Option<CdxEntry> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, line) = line.split_once(' ')?;
    let sum = u64::from_str_radix(sum, 16).ok()?;
    (sum == xxh3_64(line.as_bytes())).then(|| CdxEntry::parse(line))?
}
