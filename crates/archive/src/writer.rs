//! Records to files: appended, synced, rotated, and cut back after a crash.
//!
//! ```text
//! open(committed) ──> append… ──> sync ──> Committed ──> (journal) ──> upkeep
//!      ^                │ file full: closed, next begun                  │ seals and merges
//!      └── cuts to what the journal names                                v indexes
//! ```
//!
//! Two sentences carry the whole guarantee. Nothing before the end named by a journalled
//! [`Committed`] is ever changed; everything after it is cut off at the next [`Writer::open`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use teia_base::{AppendFile, Body, Files, Timestamp};

use crate::digest::{labelled, sha1};
use crate::header::HeaderBlock;
use crate::index::{ArchiveName, IndexName, OpenLines, open_lines_path, push_framed};
use crate::member::Packer;
use crate::mend::{Mending, note_suspects};
use crate::upkeep::Upkeep;
use crate::whole::whole_end;
use crate::{ArchiveConfig, ArchiveError, RecordNames, Records};

/// How far the archive reaches: what a journal entry names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// The newest archive file; older ones are whole.
    pub file: String,
    /// Its length.
    pub len: u64,
}

/// Appends captures to the archive of one collection. One process has one writer.
#[derive(Debug)]
pub struct Writer {
    files: Arc<dyn Files>,
    dir: PathBuf,
    config: ArchiveConfig,
    names: RecordNames,
    /// The file that grows, if one does.
    current: Option<OpenFile>,
    /// Files closed since the last sync.
    closed: Vec<OpenFile>,
    /// The newest name ever given.
    newest: Option<ArchiveName>,
    committed: Option<Committed>,
    /// A file was made since the directory was last synced.
    has_new_names: bool,
    is_stopped: bool,
    upkeep: Arc<Mutex<()>>,
}

#[derive(Debug)]
struct OpenFile {
    name: ArchiveName,
    file: Box<dyn AppendFile>,
    /// Length of whole records.
    len: u64,
    /// An append failed, so the file may be longer than `len`.
    needs_cut: bool,
    /// Index lines since the last sync.
    lines: Vec<u8>,
    /// Takes index lines; none once it has missed some.
    side: Option<Box<dyn AppendFile>>,
}

impl Writer {
    /// Opens the archive in `dir` and cuts it back to what the journal names.
    ///
    /// With `None`, which is what a new collection has, files that were begun and never committed
    /// are renamed to `….uncommitted`; if one is sealed, this is not their journal and nothing is touched.
    pub fn open(
        files: Arc<dyn Files>,
        dir: &Path,
        config: ArchiveConfig,
        names: RecordNames,
        committed: Option<Committed>,
    ) -> Result<Self, ArchiveError> {
        let mut writer = Self {
            files,
            dir: dir.to_owned(),
            config,
            names,
            current: None,
            closed: Vec::new(),
            newest: None,
            committed,
            has_new_names: false,
            is_stopped: false,
            upkeep: Arc::default(),
        };
        writer
            .files
            .create_dir(dir)
            .map_err(ArchiveError::file("make", dir))?;
        writer.recover()?;
        Ok(writer)
    }

    /// Begins a new file behind what is left of an archive whose committed end is lost; what the journal must name then.
    ///
    /// Whole records stay, and what stands behind the last of them goes. A file that has none is set aside.
    pub fn go_on_without_end(
        files: Arc<dyn Files>,
        dir: &Path,
        config: ArchiveConfig,
        names: RecordNames,
        wall: Timestamp,
    ) -> Result<Option<Committed>, ArchiveError> {
        let end = whole_end(&*files, dir)?;
        let last = end.as_ref().and_then(|end| ArchiveName::parse(&end.file));
        let last = last.map_or(0, |name| name.number);
        let list = files.list(dir).map_err(ArchiveError::file("list", dir))?;
        for name in list
            .iter()
            .filter(|name| ArchiveName::parse(name).is_some_and(|name| name.number > last))
        {
            let (path, aside) = (dir.join(name), dir.join(format!("{name}.uncommitted")));
            files
                .rename(&path, &aside)
                .map_err(ArchiveError::file("rename", &path))?;
        }
        // Those of what is lost are to say so.
        let covers = |name: &&String| IndexName::parse(name).is_some_and(|it| it.last >= last);
        let suspects: Vec<&str> = list.iter().filter(covers).map(String::as_str).collect();
        note_suspects(&*files, dir, &suspects)?;
        let mut writer = Self {
            files,
            dir: dir.to_owned(),
            config,
            names,
            current: None,
            closed: Vec::new(),
            newest: newest_of(&list),
            committed: end,
            has_new_names: false,
            is_stopped: false,
            upkeep: Arc::default(),
        };
        if writer.committed.is_some() {
            writer.recover()?;
        }
        writer.begin_anew(wall)?;
        writer.sync()
    }

    /// Appends the records of one capture. They are safe after the next [`Writer::sync`] and its journal entry.
    pub fn append(&mut self, records: &Records, wall: Timestamp) -> Result<(), ArchiveError> {
        if self.is_stopped {
            return Err(ArchiveError::Stopped);
        }
        let is_full =
            |open: &OpenFile| open.len.saturating_add(records.len()) > self.config.max_file_bytes;
        if self.current.as_ref().is_none_or(is_full) {
            self.begin_file(wall)?;
        }
        let Some(open) = &mut self.current else {
            unreachable!("begun just above")
        };
        let path = self.dir.join(open.name.file());
        open.ensure_whole(&*self.files, &path)?;
        let offset = open.len;
        if let Err(source) = append_body(&mut *open.file, &records.bytes) {
            open.needs_cut = true;
            return Err(ArchiveError::Append {
                file: path,
                offset,
                source,
            });
        }
        open.len += records.len();
        let mut entry = records.entry.clone();
        entry.offset += offset;
        entry.file = open.name.file();
        push_framed(&mut open.lines, entry.to_line().as_bytes());
        Ok(())
    }

    /// Makes everything appended durable, and says what the journal entry must name.
    ///
    /// `None` means that nothing was ever archived. After an error the writer only refuses.
    pub fn sync(&mut self) -> Result<Option<Committed>, ArchiveError> {
        if self.is_stopped {
            return Err(ArchiveError::Stopped);
        }
        let result = self.sync_all();
        self.is_stopped = matches!(result, Err(ArchiveError::Sync { .. }));
        result
    }

    /// The work that is due on files before the one named: sealing and merging indexes.
    ///
    /// `journalled` must be in the synced journal. The work may run on any thread, while the
    /// writer goes on; not running it costs only slower look-ups.
    pub fn upkeep(&self, journalled: &Committed) -> Upkeep {
        let before = ArchiveName::parse(&journalled.file).map_or(0, |name| name.number);
        Upkeep::new(
            self.files.clone(),
            self.dir.clone(),
            before,
            self.upkeep.clone(),
        )
    }

    /// What looks at sealed indexes, and writes those anew that are damaged. To be run before anybody reads them.
    pub fn mending(&self) -> Mending {
        let upkeep = Upkeep::new(self.files.clone(), self.dir.clone(), 0, self.upkeep.clone());
        Mending::new(upkeep)
    }

    /// Seals the newest file as well, if all of it is in the journal, and ends.
    pub fn close(mut self, journalled: Option<&Committed>) -> Result<(), ArchiveError> {
        let Some(journalled) = journalled else {
            return Ok(());
        };
        let is_whole = self.sync()?.as_ref() == Some(journalled);
        let Some(name) = ArchiveName::parse(&journalled.file) else {
            return Ok(());
        };
        let before = name.number + u64::from(is_whole);
        self.current = None;
        Upkeep::new(
            self.files.clone(),
            self.dir.clone(),
            before,
            self.upkeep.clone(),
        )
        .run()
    }

    /// Begins another file, so that all before it are whole once the journal names this one: only such
    /// files may be rewritten (see [`erase`](crate::erase())).
    pub fn begin_anew(&mut self, wall: Timestamp) -> Result<(), ArchiveError> {
        if self.is_stopped {
            return Err(ArchiveError::Stopped);
        }
        self.begin_file(wall)
    }

    fn begin_file(&mut self, wall: Timestamp) -> Result<(), ArchiveError> {
        let number = self.newest.as_ref().map_or(1, |newest| newest.number + 1);
        let name = ArchiveName::new(&self.config.prefix, number, wall, self.newest.as_ref());
        let path = self.dir.join(name.file());
        let info = self.warcinfo(&name.file(), wall)?;
        if let Some(open) = &mut self.current {
            open.ensure_whole(&*self.files, &self.dir.join(open.name.file()))?;
        }
        let mut file = self
            .files
            .create(&path)
            .map_err(ArchiveError::file("make", &path))?;
        self.newest = Some(name.clone());
        self.has_new_names = true;
        let side_path = open_lines_path(&self.dir, &name);
        let side = self
            .files
            .create(&side_path)
            .map_err(ArchiveError::file("make", &side_path))?;
        if let Err(source) = append_body(&mut *file, &info) {
            // What is left behind here would lie between whole files; its number is not used again.
            drop((file, side));
            let _as_far_as_possible = (self.files.remove(&path), self.files.remove(&side_path));
            return Err(ArchiveError::Append {
                file: path,
                offset: 0,
                source,
            });
        }
        let open = OpenFile {
            name,
            file,
            len: info.len(),
            needs_cut: false,
            lines: Vec::new(),
            side: Some(side),
        };
        self.closed.extend(self.current.replace(open));
        Ok(())
    }

    fn warcinfo(&self, file: &str, wall: Timestamp) -> Result<Body, ArchiveError> {
        let mut block = String::new();
        let mut line = |name: &str, value: &str| {
            if !value.is_empty() {
                let value: String = value
                    .chars()
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect();
                block.push_str(&format!("{name}: {value}\r\n"));
            }
        };
        line("software", concat!("Teia/", env!("CARGO_PKG_VERSION")));
        line("format", "WARC File Format 1.1");
        line(
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        );
        line("operator", &self.config.operator);
        line("description", &self.config.description);
        let packed = Packer::with(&self.config, |packer| {
            packer.small(|buffer| {
                let mut header = HeaderBlock::begin(buffer);
                header.field("WARC-Type", "warcinfo");
                header.field("WARC-Record-ID", &self.names.warcinfo(file).to_string());
                header.field("WARC-Date", &wall.to_rfc3339_micros());
                header.field("WARC-Filename", file);
                header.field("WARC-Block-Digest", &labelled(&sha1(block.as_bytes())));
                header.field("Content-Type", "application/warc-fields");
                header.end(block.len() as u64);
                buffer.extend_from_slice(block.as_bytes());
                buffer.extend_from_slice(b"\r\n\r\n");
                Ok(())
            })
        });
        packed
            .map(|(bytes, ())| bytes)
            .map_err(ArchiveError::file("begin", self.dir.join(file)))
    }

    fn sync_all(&mut self) -> Result<Option<Committed>, ArchiveError> {
        for open in self.closed.iter_mut().chain(&mut self.current) {
            let path = self.dir.join(open.name.file());
            open.ensure_whole(&*self.files, &path)?;
            open.file
                .sync()
                .map_err(|source| ArchiveError::Sync { file: path, source })?;
        }
        if self.has_new_names {
            let sync_dir = self.files.sync_dir(&self.dir);
            sync_dir.map_err(|source| ArchiveError::Sync {
                file: self.dir.clone(),
                source,
            })?;
            self.has_new_names = false;
        }
        for open in self.closed.iter_mut().chain(&mut self.current) {
            // Readers find these sooner than by scanning; nothing depends on them.
            let written = open.side.as_mut().map(|side| side.append(&open.lines));
            if matches!(written, Some(Err(_))) {
                // Lines after a gap would be believed, and what is missing there never looked for.
                open.side = None;
                tracing::warn!(
                    file = open.name.file(),
                    "open index not written; readers scan instead"
                );
            }
            open.lines.clear();
        }
        self.closed.clear();
        if let Some(open) = &self.current {
            self.committed = Some(Committed {
                file: open.name.file(),
                len: open.len,
            });
        }
        Ok(self.committed.clone())
    }

    fn recover(&mut self) -> Result<(), ArchiveError> {
        let list = self
            .files
            .list(&self.dir)
            .map_err(ArchiveError::file("list", &self.dir))?;
        let mut archives: Vec<ArchiveName> = list
            .iter()
            .filter_map(|name| ArchiveName::parse(name))
            .collect();
        archives.sort_unstable_by_key(|name| name.number);
        self.newest = newest_of(&list);
        let indexes: Vec<IndexName> = list
            .iter()
            .filter_map(|name| IndexName::parse(name))
            .collect();
        let mut has_changed = false;
        for name in list.iter().filter(|name| name.ends_with(".new")) {
            self.remove(&self.dir.join(name))?;
            has_changed = true;
        }
        let committed = self.committed.as_ref().map(|committed| {
            let found = archives.iter().find(|name| name.file() == committed.file);
            let missing = || ArchiveError::Missing {
                file: self.dir.join(&committed.file),
                committed: committed.len,
                found: 0,
            };
            Ok((found.cloned().ok_or_else(missing)?, committed.len))
        });
        let committed = committed.transpose()?;
        if let (None, Some(index)) = (&committed, indexes.first()) {
            return Err(ArchiveError::ForeignJournal {
                file: self.dir.join(index.file()),
            });
        }
        for name in &archives {
            let path = self.dir.join(name.file());
            let side = open_lines_path(&self.dir, name);
            match &committed {
                None => {
                    let aside = self.dir.join(format!("{}.uncommitted", name.file()));
                    self.files
                        .rename(&path, &aside)
                        .map_err(ArchiveError::file("rename", &path))?;
                }
                Some((newest, _)) if name.number > newest.number => self.remove(&path)?,
                Some(_) => continue,
            }
            has_changed = true;
            if self.files.exists(&side) {
                self.remove(&side)?;
            }
        }
        if has_changed {
            // Until this is durable, an old side file could come back beside a new archive file.
            self.files
                .sync_dir(&self.dir)
                .map_err(ArchiveError::file("sync", &self.dir))?;
        }
        if let Some((name, len)) = committed {
            self.resume(name, len, &indexes)?;
        }
        Ok(())
    }

    /// Cuts the newest committed file, and goes on with it if it is neither full nor sealed.
    fn resume(
        &mut self,
        name: ArchiveName,
        len: u64,
        indexes: &[IndexName],
    ) -> Result<(), ArchiveError> {
        let path = self.dir.join(name.file());
        let found = self
            .files
            .open(&path)
            .and_then(|file| file.len())
            .map_err(ArchiveError::file("open", &path))?;
        if found < len {
            return Err(ArchiveError::Missing {
                file: path,
                committed: len,
                found,
            });
        }
        if found > len {
            tracing::info!(
                file = name.file(),
                bytes = found - len,
                "cut what was not committed"
            );
            self.files
                .truncate(&path, len)
                .map_err(ArchiveError::file("cut", &path))?;
        }
        let is_sealed = indexes.iter().any(|index| index.covers(&name.index()));
        if is_sealed || len >= self.config.max_file_bytes {
            return Ok(());
        }
        let side_path = open_lines_path(&self.dir, &name);
        let lines = OpenLines::load(&*self.files, &self.dir, &name, len)?;
        if !lines.is_exact || !self.files.exists(&side_path) {
            let replaced = self.files.replace(&side_path, &lines.framed());
            replaced.map_err(ArchiveError::file("replace", &side_path))?;
        }
        let file = self
            .files
            .append(&path)
            .map_err(ArchiveError::file("open", &path))?;
        let side = self
            .files
            .append(&side_path)
            .map_err(ArchiveError::file("open", &side_path))?;
        self.current = Some(OpenFile {
            name,
            file,
            len,
            needs_cut: false,
            lines: Vec::new(),
            side: Some(side),
        });
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), ArchiveError> {
        self.files
            .remove(path)
            .map_err(ArchiveError::file("remove", path))
    }
}

impl OpenFile {
    /// After a failed append: cuts off the part of a record that reached the file.
    fn ensure_whole(&mut self, files: &dyn Files, path: &Path) -> Result<(), ArchiveError> {
        if self.needs_cut {
            files
                .truncate(path, self.len)
                .map_err(ArchiveError::file("cut", path))?;
            self.file = files
                .append(path)
                .map_err(ArchiveError::file("open", path))?;
            self.needs_cut = false;
        }
        Ok(())
    }
}

/// The newest name ever given, as far as anything is left of it: a number that an index covers is not used again.
fn newest_of(list: &[String]) -> Option<ArchiveName> {
    let names = list
        .iter()
        .filter_map(|name| ArchiveName::parse(name.strip_suffix(".uncommitted").unwrap_or(name)));
    let newest = names.max_by_key(|name| name.number);
    let indexes = list.iter().filter_map(|name| IndexName::parse(name));
    let covered = indexes.map(|index| index.last).max().unwrap_or(0);
    match newest {
        Some(name) => Some(name.at_least(covered)),
        None if covered > 0 => Some(ArchiveName::unknown(covered)),
        None => None,
    }
}

fn append_body(file: &mut dyn AppendFile, body: &Body) -> std::io::Result<()> {
    use std::io::Read;
    if let Some(bytes) = body.as_memory() {
        return file.append(bytes);
    }
    let mut reader = body.reader(0, body.len());
    let mut buffer = vec![0; 256 << 10];
    let mut left = body.len();
    while left > 0 {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        file.append(&buffer[..read])?;
        left -= read as u64;
    }
    Ok(())
}
