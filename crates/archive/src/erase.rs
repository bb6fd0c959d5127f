//! Rewrites archive files without what people asked to have erased.
//!
//! ```text
//! X.warc.gz ──> records that stay, byte for byte ──> X.warc.gz.new, synced
//!                                                        │ indexes that cover X removed, durably
//!                                                        v
//!                                                    X.warc.gz replaced ──> … ──> indexes made again
//! ```
//!
//! Only files before the newest are touched (the caller begins a new one first), because of the newest
//! the journal names the length. A file is the old one or the new one and nothing between; while it has no
//! index, readers scan it. Whatever is interrupted is done by doing it again.
//!
//! A page that stays may have been stored as a repeat of one that goes. It gets the body in a record of its
//! own. Repeats lie behind their originals, so the newest files are rewritten first: while a repeat is
//! still to be rewritten, its original is there.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::{Body, Files};

use crate::digest::{block_digest, labelled};
use crate::header::HeaderBlock;
use crate::index::{ArchiveName, IndexName, ids_path, open_lines_path};
use crate::member::{ONE_CALL_BYTES, Packer, push_body};
use crate::reader::{Found, Record, WarcReader};
use crate::upkeep::Upkeep;
use crate::{ArchiveConfig, ArchiveError, Captures, CdxEntry, Committed};

/// What was erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Archive files that were rewritten.
    pub files: u64,
    /// Records that are gone: answers, requests, metadata.
    pub records: u64,
    /// Pages that stay and got a body of their own, because they shared that of a page that is gone.
    pub restored: u64,
    /// Bytes that the files are smaller.
    pub bytes: i64,
}

/// Repeats of one file that need their body, by their place in it.
type Repeats = HashMap<u64, (CdxEntry, CdxEntry)>;

/// Rewrites every file in `dir` that holds a record of an erased URL. Nobody may write there meanwhile.
///
/// `newest` is what the journal names: that file stays as it is, and must hold nothing to erase.
pub fn erase(
    files: &Arc<dyn Files>,
    dir: &Path,
    config: &ArchiveConfig,
    newest: &Committed,
    is_erased: &dyn Fn(&str) -> bool,
) -> Result<Erased, ArchiveError> {
    let newest = ArchiveName::parse(&newest.file).map_or(0, |name| name.number);
    let captures = Captures::open(Arc::clone(files), dir)?;
    let mut due: BTreeMap<u64, (ArchiveName, Repeats)> = BTreeMap::new();
    for entry in captures.all()? {
        let entry = entry?;
        let Some(name) = ArchiveName::parse(&entry.file).filter(|name| name.number < newest) else {
            continue;
        };
        if is_erased(&entry.url) {
            let fresh = || (name.clone(), Repeats::new());
            due.entry(name.number).or_insert_with(fresh);
        } else if entry.is_revisit()
            && let Some(original) = erased_original(&captures, &entry, is_erased)
        {
            let fresh = || (name.clone(), Repeats::new());
            let (_, repeats) = due.entry(name.number).or_insert_with(fresh);
            repeats.insert(entry.offset, (entry, original));
        }
    }
    let mut erased = Erased::default();
    for (name, repeats) in due.into_values().rev() {
        let rewrite = Rewrite {
            files: &**files,
            dir,
            config,
            captures: &captures,
            name: &name,
            repeats: &repeats,
            is_erased,
        };
        rewrite.run(&mut erased)?;
    }
    // Also after an interrupted time, in which the files were rewritten and the indexes were not.
    Upkeep::new(Arc::clone(files), dir.to_owned(), newest, Arc::default()).run()?;
    Ok(erased)
}

/// The original of a repeat, if it is one that goes. A repeat whose original cannot be found has no
/// body to lose.
fn erased_original(
    captures: &Captures,
    entry: &CdxEntry,
    is_erased: &dyn Fn(&str) -> bool,
) -> Option<CdxEntry> {
    let record = captures.record(entry).ok()?;
    let refers = record.header.get("WARC-Refers-To-Target-URI")?;
    if !is_erased(refers.trim_matches(['<', '>'])) {
        return None;
    }
    captures.original_of(entry, &record).ok()
}

/// One file on its way.
struct Rewrite<'a> {
    files: &'a dyn Files,
    dir: &'a Path,
    config: &'a ArchiveConfig,
    captures: &'a Captures,
    name: &'a ArchiveName,
    repeats: &'a Repeats,
    is_erased: &'a dyn Fn(&str) -> bool,
}

impl Rewrite<'_> {
    fn run(&self, erased: &mut Erased) -> Result<(), ArchiveError> {
        let path = self.dir.join(self.name.file());
        // What an interrupted time leaves under this name is removed when a writer opens the archive.
        let aside = self.dir.join(format!("{}.new", self.name.file()));
        let before = *erased;
        let (old_len, new_len) = self.copy(&path, &aside, erased)?;
        if (before.records, before.restored) == (erased.records, erased.restored) {
            return self.remove(&aside);
        }
        self.drop_indexes()?;
        self.files
            .rename(&aside, &path)
            .map_err(ArchiveError::file("replace", &path))?;
        self.sync_dir()?;
        erased.files += 1;
        let signed = |len: u64| i64::try_from(len).unwrap_or(i64::MAX);
        erased.bytes += signed(old_len) - signed(new_len);
        Ok(())
    }

    /// Copies what stays; the lengths before and after.
    fn copy(
        &self,
        path: &Path,
        aside: &Path,
        erased: &mut Erased,
    ) -> Result<(u64, u64), ArchiveError> {
        let open = || {
            self.files
                .open(path)
                .map_err(ArchiveError::file("open", path))
        };
        let raw = open()?;
        let old_len = raw.len().map_err(ArchiveError::read(path, 0))?;
        let mut reader = WarcReader::new(open()?, path, 0)?;
        let mut out = self
            .files
            .create(aside)
            .map_err(ArchiveError::file("make", aside))?;
        let mut buffer = vec![0; 256 << 10];
        while let Some(found) = reader.next_found()? {
            // What cannot be read cannot be judged, and neither kept nor thrown away in silence.
            let damaged = |offset: u64, what: String| ArchiveError::Damaged {
                file: path.to_owned(),
                offset,
                what,
            };
            let record = match found {
                Found::Record(record) if record.length > 0 => record,
                Found::Record(record) => {
                    return Err(damaged(record.offset, "shares its gzip member".to_owned()));
                }
                Found::Damage(damage) => return Err(damaged(damage.offset, damage.what)),
            };
            let append = |source| ArchiveError::Append {
                file: aside.to_owned(),
                offset: record.offset,
                source,
            };
            if let Some((entry, original)) = self.repeats.get(&record.offset) {
                let body = self.restored(&record, entry, original)?;
                append_all(&mut *out, &body, &mut buffer).map_err(append)?;
                erased.restored += 1;
            } else if record.header.url().is_some_and(self.is_erased) {
                erased.records += 1;
            } else {
                let (mut at, end) = (record.offset, record.offset + record.length);
                while at < end {
                    let most = usize::try_from(end - at).unwrap_or(usize::MAX);
                    let most = most.min(buffer.len());
                    raw.read_exact_at(at, &mut buffer[..most])
                        .map_err(ArchiveError::read(path, at))?;
                    out.append(&buffer[..most]).map_err(append)?;
                    at += most as u64;
                }
            }
        }
        out.sync().map_err(|source| ArchiveError::Sync {
            file: aside.to_owned(),
            source,
        })?;
        Ok((old_len, out.len()))
    }

    /// A repeat as a whole answer: its own head, and the body that it shared, without chunks.
    fn restored(
        &self,
        record: &Record,
        entry: &CdxEntry,
        original: &CdxEntry,
    ) -> Result<Body, ArchiveError> {
        let payload = self.captures.record(original)?;
        let truncated = payload.header.get("WARC-Truncated").map(str::to_owned);
        let stored =
            self.captures
                .stored(entry, record.clone(), Some((original.clone(), payload)))?;
        let mut bytes = Vec::new();
        stored
            .payload()
            .read_to_end(&mut bytes)
            .map_err(ArchiveError::read(
                self.dir.join(&original.file),
                original.offset,
            ))?;
        let head = whole_head(&record.head, bytes.len());
        let body = Body::from(bytes);
        let build = |source| ArchiveError::Build {
            url: entry.url.clone(),
            source,
        };
        let block = block_digest(&head, &body).map_err(build)?;
        let length = head.len() as u64 + body.len();
        let write_header = |buffer: &mut Vec<u8>| {
            let mut header = HeaderBlock::begin(buffer);
            header.field("WARC-Type", "response");
            for (name, value) in record.header.fields() {
                let is_of_the_repeat = [
                    "WARC-Type",
                    "WARC-Profile",
                    "WARC-Refers-To",
                    "WARC-Refers-To-Target-URI",
                    "WARC-Refers-To-Date",
                    "WARC-Truncated",
                    "WARC-Block-Digest",
                    "Content-Length",
                ];
                if is_of_the_repeat
                    .iter()
                    .any(|dropped| dropped.eq_ignore_ascii_case(name))
                {
                    continue;
                }
                // Without chunks, everybody takes the digest in the same way.
                let name = if name.eq_ignore_ascii_case("Teia-Payload-Digest") {
                    "WARC-Payload-Digest"
                } else {
                    name
                };
                header.field(name, value);
            }
            header.field("WARC-Block-Digest", &labelled(&block));
            if let Some(truncated) = &truncated {
                header.field("WARC-Truncated", truncated);
            }
            header.end(length);
        };
        let packed = Packer::with(self.config, |packer| {
            if length <= ONE_CALL_BYTES {
                packer.small(|buffer| {
                    write_header(buffer);
                    buffer.extend_from_slice(&head);
                    push_body(buffer, &body)?;
                    buffer.extend_from_slice(b"\r\n\r\n");
                    Ok(())
                })
            } else {
                let mut header = Vec::with_capacity(1024);
                write_header(&mut header);
                packer.large(&header, &head, &body)
            }
        });
        packed.map(|(packed, ())| packed).map_err(build)
    }

    /// An index must never lead into a file that it was not made of: first it goes, and for good.
    fn drop_indexes(&self) -> Result<(), ArchiveError> {
        let list = self
            .files
            .list(self.dir)
            .map_err(ArchiveError::file("list", self.dir))?;
        let own = self.name.index();
        let mut gone: Vec<PathBuf> = vec![open_lines_path(self.dir, self.name)];
        for index in list.iter().filter_map(|name| IndexName::parse(name)) {
            if index.covers(&own) {
                let path = self.dir.join(index.file());
                gone.push(ids_path(&path));
                gone.push(path);
            }
        }
        for path in gone.iter().filter(|path| self.files.exists(path)) {
            self.remove(path)?;
        }
        self.sync_dir()
    }

    fn remove(&self, path: &Path) -> Result<(), ArchiveError> {
        self.files
            .remove(path)
            .map_err(ArchiveError::file("remove", path))
    }

    fn sync_dir(&self) -> Result<(), ArchiveError> {
        self.files
            .sync_dir(self.dir)
            .map_err(|source| ArchiveError::Sync {
                file: self.dir.to_owned(),
                source,
            })
    }
}

fn append_all(
    out: &mut dyn teia_base::AppendFile,
    body: &Body,
    buffer: &mut [u8],
) -> std::io::Result<()> {
    let mut reader = body.reader(0, body.len());
    loop {
        match reader.read(buffer)? {
            0 => return Ok(()),
            read => out.append(&buffer[..read])?,
        }
    }
}

/// The head of an answer whose body is this long and not in chunks.
fn whole_head(head: &[u8], length: usize) -> Vec<u8> {
    let mut whole = Vec::with_capacity(head.len() + 32);
    let mut is_framing = false;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if matches!(line, b"\r\n" | b"\n") {
            break;
        }
        let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if !is_folded {
            let name = line.split(|byte| *byte == b':').next().unwrap_or(line);
            is_framing = name.eq_ignore_ascii_case(b"transfer-encoding")
                || name.eq_ignore_ascii_case(b"content-length");
        }
        if !is_framing {
            whole.extend_from_slice(line);
        }
    }
    if !whole.is_empty() && !whole.ends_with(b"\n") {
        whole.extend_from_slice(b"\r\n");
    }
    whole.extend_from_slice(format!("Content-Length: {length}\r\n\r\n").as_bytes());
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_gets_the_length_of_its_body_and_loses_its_chunks() {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\nX: 1\r\ncontent-length: 9\r\n\r\n";
        let whole = whole_head(head, 3);
        assert_eq!(
            whole,
            b"HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 3\r\n\r\n"
        );
    }
}
