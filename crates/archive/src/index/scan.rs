//! Index entries out of archive records, by the rules of pywb's indexer.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use teia_base::{CaptureId, Files};

use crate::cdx::mime_of;
use crate::reader::{Damage, Found, Record, WarcReader, parse_head};
use crate::surt::surt;
use crate::{ArchiveError, CdxEntry};

/// Reads a stretch of an archive file and hands over the entry of each capture in it.
///
/// Damaged records are passed over; they are the business of a scrub.
pub(crate) fn scan_entries(
    files: &dyn Files,
    path: &Path,
    file_name: &str,
    stretch: Range<u64>,
    take: &mut dyn FnMut(CdxEntry),
) -> Result<(), ArchiveError> {
    if stretch.is_empty() {
        return Ok(());
    }
    let file = Arc::from(files.open(path).map_err(ArchiveError::file("open", path))?);
    let mut reader = WarcReader::within(file, path, stretch.start, stretch.end);
    while let Some(found) = reader.next_found()? {
        match found {
            Found::Record(record) => {
                let entry = entry_of_record(&record, file_name)
                    .map_err(ArchiveError::read(path, record.offset))?;
                if let Some(entry) = entry {
                    take(entry);
                }
            }
            // In a file that is being written, the last record is often not whole yet.
            Found::Damage(damage) => {
                tracing::debug!(file = %path.display(), offset = damage.offset, what = damage.what, "damaged record");
            }
        }
    }
    Ok(())
}

/// The index entry of a record, if it is one that is looked up: answers, revisits, resources.
pub(crate) fn entry_of_record(record: &Record, file_name: &str) -> io::Result<Option<CdxEntry>> {
    let kind = record.header.kind();
    let content_type = record.header.get("Content-Type");
    if matches!(kind, "warcinfo" | "request" | "continuation" | "")
        || content_type == Some("application/warc-fields")
    {
        return Ok(None);
    }
    let Some(url) = record.header.url().filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let (status, head) = parse_head(record.head.clone());
    let status = status.filter(|_| kind == "response");
    if kind == "response" && !record.head.is_empty() && status.is_none() {
        return Ok(None);
    }
    let mime = match kind {
        "revisit" => "warc/revisit".to_owned(),
        _ if record.head.is_empty() => mime_of(content_type),
        _ => mime_of(head.text("content-type").as_deref()),
    };
    let stated = ["WARC-Payload-Digest", "Teia-Payload-Digest"]
        .iter()
        .find_map(|name| record.header.get(name));
    let digest = match stated {
        Some(digest) => Some(digest.strip_prefix("sha1:").unwrap_or(digest).to_owned()),
        None if kind == "revisit" => None,
        None => Some(crate::reader::digest_of(&record.body, None)?),
    };
    let date = record.header.get("WARC-Date").unwrap_or("");
    Ok(Some(CdxEntry {
        key: surt(url),
        timestamp: date.chars().filter(char::is_ascii_digit).take(14).collect(),
        url: url.to_owned(),
        mime,
        status,
        digest,
        length: record.length,
        offset: record.offset,
        file: file_name.to_owned(),
        id: record
            .header
            .get("Teia-Capture")
            .and_then(|text| text.parse().ok())
            .map(CaptureId),
        noarchive: record.header.get("Teia-Robots") == Some("noarchive"),
        failed: record.header.get("Teia-Outcome").is_some(),
    }))
}

/// The index of any WARC file, and what could not be read of it. Several records in one gzip
/// member have length 0 in it, because they cannot be read alone.
pub fn index_warc(
    files: &dyn Files,
    path: &Path,
) -> Result<(Vec<CdxEntry>, Vec<Damage>), ArchiveError> {
    let file_name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let (mut entries, mut damages) = (Vec::new(), Vec::new());
    let file = files.open(path).map_err(ArchiveError::file("open", path))?;
    let mut reader = WarcReader::new(file, path, 0)?;
    while let Some(found) = reader.next_found()? {
        match found {
            Found::Record(record) => {
                entries.extend(
                    entry_of_record(&record, &file_name)
                        .map_err(ArchiveError::read(path, record.offset))?,
                );
            }
            Found::Damage(damage) => damages.push(damage),
        }
    }
    Ok((entries, damages))
}
