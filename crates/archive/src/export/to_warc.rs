//! Records copied as they are, member by member.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use teia_base::ReadFile;

use super::{Exported, is_damage};
use crate::reader::{Found, WarcReader};
use crate::{ArchiveError, Captures, CdxEntry};

/// Writes the records of the captures that pass the filter, byte for byte, as one `.warc.gz`;
/// requests and metadata come along, and so do the originals of revisits.
pub fn warc(
    captures: &Captures,
    filter: &dyn Fn(&CdxEntry) -> bool,
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    let mut copy = Copy {
        captures,
        out,
        written: HashSet::new(),
        exported: Exported::default(),
    };
    for entry in captures.all()? {
        let entry = entry?;
        if !filter(&entry) {
            continue;
        }
        match copy.capture(&entry) {
            Err(error) if is_damage(&error) => {
                tracing::warn!(url = entry.url, %error, "left out of the export");
                copy.exported.damaged += 1;
            }
            result => result?,
        }
    }
    copy.out.flush().map_err(ArchiveError::Export)?;
    Ok(copy.exported)
}

struct Copy<'a> {
    captures: &'a Captures,
    out: &'a mut dyn Write,
    /// Originals may be asked for by many revisits, and by the filter itself.
    written: HashSet<(String, u64)>,
    exported: Exported,
}

impl Copy<'_> {
    fn capture(&mut self, entry: &CdxEntry) -> Result<(), ArchiveError> {
        if self.written.contains(&(entry.file.clone(), entry.offset)) {
            return Ok(());
        }
        let record = self.captures.record(entry)?;
        if record.header.kind() == "revisit" {
            let original = self.captures.original_of(entry, &record)?;
            self.capture(&original)?;
        }
        let path = self.captures.dir().join(&entry.file);
        let opened = self
            .captures
            .files()
            .open(&path)
            .map_err(ArchiveError::file("open", &path))?;
        let file: Arc<dyn ReadFile> = Arc::from(opened);
        let name = record.header.get("WARC-Record-ID").unwrap_or("").to_owned();
        let end = self.end_of_company(&file, &path, entry, &name)?;
        self.copy(&*file, &path, entry.offset, end)?;
        self.written.insert((entry.file.clone(), entry.offset));
        self.exported.captures += 1;
        Ok(())
    }

    /// Where the last record ends that says it belongs to this one.
    fn end_of_company(
        &self,
        file: &Arc<dyn ReadFile>,
        path: &Path,
        entry: &CdxEntry,
        name: &str,
    ) -> Result<u64, ArchiveError> {
        let len = file.len().map_err(ArchiveError::read(path, 0))?;
        let mut end = entry.end();
        let mut reader = WarcReader::within(file.clone(), path, end, len);
        while let Some(Found::Record(record)) = reader.next_found()? {
            if record.offset != end || record.header.get("WARC-Concurrent-To") != Some(name) {
                break;
            }
            end += record.length;
        }
        Ok(end)
    }

    fn copy(
        &mut self,
        file: &dyn ReadFile,
        path: &Path,
        start: u64,
        end: u64,
    ) -> Result<(), ArchiveError> {
        let mut buffer = vec![0; 64 << 10];
        let mut at = start;
        while at < end {
            let want = usize::try_from(end - at)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            file.read_exact_at(at, &mut buffer[..want])
                .map_err(ArchiveError::read(path, at))?;
            self.out
                .write_all(&buffer[..want])
                .map_err(ArchiveError::Export)?;
            at += want as u64;
        }
        self.exported.bytes += end - start;
        Ok(())
    }
}
