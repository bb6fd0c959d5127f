//! The read side: every version of every page, found by URL and time or by number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::{CanonicalUrl, CaptureId, Files, Timestamp};

use crate::index::{ArchiveName, IndexName, Merge, OpenLines, SortedIndex};
use crate::reader::{Found, Record, WarcReader, chunks_of, parse_head};
use crate::stored::StoredCapture;
use crate::surt::surt;
use crate::{ArchiveError, CdxEntry};

/// The captures in the archive of one collection, as they were when it was opened.
///
/// Needs no lock: another process may write meanwhile. [`Captures::refresh`] sees what it added.
#[derive(Debug)]
pub struct Captures {
    files: Arc<dyn Files>,
    dir: PathBuf,
    sorted: Vec<SortedIndex>,
    /// Lines of files without a sorted index, sorted.
    open: Vec<Vec<u8>>,
}

impl Captures {
    /// Opens the archive in `dir`, which may be empty or missing.
    pub fn open(files: Arc<dyn Files>, dir: &Path) -> Result<Self, ArchiveError> {
        let mut captures = Self {
            files,
            dir: dir.to_owned(),
            sorted: Vec::new(),
            open: Vec::new(),
        };
        captures.refresh()?;
        Ok(captures)
    }

    /// Looks again at what is there.
    pub fn refresh(&mut self) -> Result<(), ArchiveError> {
        // An index may be merged away between listing and opening; then the list is old.
        for _ in 0..8 {
            match self.load() {
                Err(ArchiveError::File { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound => {}
                result => return result,
            }
        }
        self.load()
    }

    /// All captures of a URL, oldest first.
    ///
    /// A spelling that differs only in what the normal form ignores is the same URL. Where there is
    /// no such capture, those that the usual tools would show are given: other scheme, `www.`, capitals.
    pub fn versions(&self, url: &str) -> Result<Vec<CdxEntry>, ArchiveError> {
        let key = surt(url);
        let mut candidates = self.with_key(&key)?;
        let normal = |url: &str| CanonicalUrl::parse(url).ok();
        let wanted = normal(url);
        let is_same =
            |entry: &CdxEntry| entry.url == url || wanted.is_some() && normal(&entry.url) == wanted;
        if candidates.iter().any(is_same) {
            candidates.retain(is_same);
        }
        candidates.sort_by(|a, b| (&a.timestamp, a.id).cmp(&(&b.timestamp, b.id)));
        Ok(candidates)
    }

    /// The newest capture of a URL at or before a moment (or at all); else the first one after it. Those of attempts that
    /// failed are given only where there is no other.
    pub fn find(&self, url: &str, at: Option<Timestamp>) -> Result<Option<CdxEntry>, ArchiveError> {
        let mut versions = self.versions(url)?;
        if versions.iter().any(|entry| !entry.failed) {
            versions.retain(|entry| !entry.failed);
        }
        let Some(at) = at else {
            return Ok(versions.pop());
        };
        let limit = at.to_digits();
        let before = versions.iter().rposition(|entry| entry.timestamp <= limit);
        Ok(versions.into_iter().nth(before.unwrap_or(0)))
    }

    /// The capture of this number.
    pub fn by_id(&self, id: CaptureId) -> Result<Option<CdxEntry>, ArchiveError> {
        let ending = format!(", \"id\": \"{}\"}}\n", id.0).into_bytes();
        if let Some(line) = self.open.iter().find(|line| line.ends_with(&ending)) {
            return Ok(parse_line(line));
        }
        // New captures are asked for more often than old ones.
        for index in self.sorted.iter().rev() {
            if let Some(entry) = index.by_id(id)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Every capture, in order of key and time.
    pub fn all(&self) -> Result<All, ArchiveError> {
        let sources = self
            .sorted
            .iter()
            .map(|index| index.lines_from(b""))
            .collect::<Result<_, _>>()?;
        Ok(All {
            merge: Merge::with_memory(sources, &self.open)?,
        })
    }

    /// The capture itself: head and body as received. A revisit comes with the body of its original.
    pub fn read(&self, entry: &CdxEntry) -> Result<StoredCapture, ArchiveError> {
        let record = self.record(entry)?;
        if record.header.kind() != "revisit" {
            return self.stored(entry, record, None);
        }
        let original = self.original_of(entry, &record)?;
        let payload = self.record(&original)?;
        self.stored(entry, record, Some((original, payload)))
    }

    /// The record that an entry names, revisit or not.
    pub fn record(&self, entry: &CdxEntry) -> Result<Record, ArchiveError> {
        let path = self.archive_path(&entry.file)?;
        let damaged = |what: String| ArchiveError::Damaged {
            file: path.clone(),
            offset: entry.offset,
            what,
        };
        let file: Arc<dyn teia_base::ReadFile> = Arc::from(
            self.files
                .open(&path)
                .map_err(ArchiveError::file("open", &path))?,
        );
        let end = file
            .len()
            .map_err(ArchiveError::read(&path, 0))?
            .min(entry.end());
        let mut reader = WarcReader::within(file, &path, entry.offset, end);
        match reader.next_found()? {
            // A record that does not fill its member was not read to the check sum.
            Some(Found::Record(record)) if record.length == 0 => {
                Err(damaged("shares its gzip member".to_owned()))
            }
            Some(Found::Record(record))
                if record.offset == entry.offset && record.header.url() == Some(&entry.url) =>
            {
                Ok(*record)
            }
            Some(Found::Record(record)) => Err(damaged(format!(
                "holds {} instead of {}",
                record.header.url().unwrap_or("no URL"),
                entry.url
            ))),
            Some(Found::Damage(damage)) => Err(damaged(damage.what)),
            None => Err(damaged("the file ends before it".to_owned())),
        }
    }

    pub(crate) fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The capture that holds the payload of a revisit.
    pub(crate) fn original_of(
        &self,
        entry: &CdxEntry,
        revisit: &Record,
    ) -> Result<CdxEntry, ArchiveError> {
        let url = revisit
            .header
            .get("WARC-Refers-To-Target-URI")
            .unwrap_or(&entry.url);
        let url = url.trim_matches(['<', '>']);
        let date: Option<String> = revisit
            .header
            .get("WARC-Refers-To-Date")
            .map(|date| date.chars().filter(char::is_ascii_digit).take(14).collect());
        let candidates: Vec<CdxEntry> = self
            .versions(url)?
            .into_iter()
            .filter(|version| !version.is_revisit())
            .collect();
        // A server that said "not modified" sent nothing: the digest is that of no body.
        let profile = revisit.header.get("WARC-Profile").unwrap_or("");
        let digest = entry
            .digest
            .as_ref()
            .filter(|_| !profile.ends_with("server-not-modified"));
        let same_digest =
            |version: &&CdxEntry| digest.is_none() || version.digest.as_ref() == digest;
        // Several of one second are told apart by the name of their record.
        let mut named = candidates.iter().filter(|version| {
            date.as_ref() == Some(&version.timestamp) && self.is_named(version, revisit)
        });
        let of_date = |version: &&CdxEntry| date.as_ref() == Some(&version.timestamp);
        if digest.is_none()
            && candidates.iter().filter(of_date).count() > 1
            && let Some(version) = named.next()
        {
            return Ok(version.clone());
        }
        let by_date = |version: &&CdxEntry| date.as_ref() == Some(&version.timestamp);
        // Date and digest together; else the digest, newest first; else the date, which is all that
        // a revisit by `304` promises.
        candidates
            .iter()
            .find(|version| by_date(version) && same_digest(version))
            .or_else(|| {
                candidates
                    .iter()
                    .rev()
                    .find(|version| digest.is_some() && same_digest(version))
            })
            .or_else(|| candidates.iter().find(by_date))
            .cloned()
            .ok_or_else(|| ArchiveError::NoOriginal {
                url: entry.url.clone(),
                file: self.dir.join(&entry.file),
                offset: entry.offset,
            })
    }

    /// Whether a revisit names the record of this capture.
    fn is_named(&self, version: &CdxEntry, revisit: &Record) -> bool {
        let named = revisit.header.get("WARC-Refers-To");
        let record = self.record(version).ok();
        let own = record
            .as_ref()
            .and_then(|it| it.header.get("WARC-Record-ID"));
        named.is_some() && named == own
    }

    pub(crate) fn stored(
        &self,
        entry: &CdxEntry,
        record: Record,
        original: Option<(CdxEntry, Record)>,
    ) -> Result<StoredCapture, ArchiveError> {
        let (status, head) = parse_head(record.head.clone());
        let (original, payload) = original.unzip();
        // A `304` has the head of the answer that it stands for.
        let (status, head) = match &payload {
            Some(payload) if record.head.is_empty() || status == Some(304) => {
                parse_head(payload.head.clone())
            }
            _ => (status, head),
        };
        let payload = payload.as_ref().unwrap_or(&record);
        let chunks = if payload.is_chunked() {
            chunks_of(&payload.body)
                .map_err(ArchiveError::read(self.dir.join(&entry.file), entry.offset))?
        } else {
            None
        };
        let response = teia_base::Response {
            status: status.unwrap_or(200),
            head,
            body: payload.body.clone(),
            chunks,
        };
        Ok(StoredCapture {
            entry: entry.clone(),
            header: record.header,
            response,
            original,
        })
    }

    fn with_key(&self, key: &str) -> Result<Vec<CdxEntry>, ArchiveError> {
        let prefix = format!("{key} ").into_bytes();
        let mut found = Vec::new();
        for index in &self.sorted {
            let mut lines = index.lines_from(&prefix)?;
            while let Some((start, line)) = lines.next_raw()? {
                if !line.starts_with(&prefix) {
                    break;
                }
                let damaged = || ArchiveError::Damaged {
                    file: index.path.clone(),
                    offset: start,
                    what: "no index line".to_owned(),
                };
                found.push(parse_line(&line).ok_or_else(damaged)?);
            }
        }
        let start = self
            .open
            .partition_point(|line| line.as_slice() < prefix.as_slice());
        let open = self.open[start..]
            .iter()
            .take_while(|line| line.starts_with(&prefix));
        found.extend(open.filter_map(|line| parse_line(line)));
        Ok(found)
    }

    fn load(&mut self) -> Result<(), ArchiveError> {
        let list = self
            .files
            .list(&self.dir)
            .map_err(ArchiveError::file("list", &self.dir))?;
        let indexes: Vec<IndexName> = list
            .iter()
            .filter_map(|name| IndexName::parse(name))
            .collect();
        let mut sorted = Vec::new();
        for index in &indexes {
            let is_covered = indexes
                .iter()
                .any(|other| other.level > index.level && other.covers(index));
            if !is_covered {
                sorted.push((
                    index.last,
                    SortedIndex::open(&*self.files, &self.dir.join(index.file()))?,
                ));
            }
        }
        sorted.sort_by_key(|(last, _)| *last);
        let mut open = Vec::new();
        for name in list.iter().filter_map(|name| ArchiveName::parse(name)) {
            if !indexes.iter().any(|index| index.covers(&name.index())) {
                let path = self.dir.join(name.file());
                let len = self.files.open(&path).and_then(|file| file.len());
                let len = len.map_err(ArchiveError::file("open", &path))?;
                let lines = OpenLines::load(&*self.files, &self.dir, &name, len)?;
                open.extend(lines.lines().map(<[u8]>::to_vec));
            }
        }
        self.sorted = sorted.into_iter().map(|(_, index)| index).collect();
        open.sort_unstable();
        self.open = open;
        Ok(())
    }

    /// The sorted indexes.
    pub(crate) fn indexes(&self) -> &[SortedIndex] {
        &self.sorted
    }

    /// Lines of files that have no sorted index yet.
    pub(crate) fn open_lines(&self) -> &[Vec<u8>] {
        &self.open
    }

    /// An index is only a file: a name in it never leads out of the archive's directory.
    fn archive_path(&self, file: &str) -> Result<PathBuf, ArchiveError> {
        if ArchiveName::parse(file).is_some() && !file.contains('/') {
            return Ok(self.dir.join(file));
        }
        let what = format!(
            "the index names `{}`, which is no archive file",
            file.escape_debug()
        );
        Err(ArchiveError::Damaged {
            file: self.dir.clone(),
            offset: 0,
            what,
        })
    }
}

fn parse_line(line: &[u8]) -> Option<CdxEntry> {
    std::str::from_utf8(line).ok().and_then(CdxEntry::parse)
}

/// Every capture, in order of key and time.
#[derive(Debug)]
pub struct All {
    merge: Merge,
}

impl Iterator for All {
    type Item = Result<CdxEntry, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.merge.next_line() {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some(line)) => {
                    if let Some(entry) = parse_line(&line) {
                        return Some(Ok(entry));
                    }
                    tracing::warn!(line = %String::from_utf8_lossy(&line), "damaged index line passed over");
                }
            }
        }
    }
}
