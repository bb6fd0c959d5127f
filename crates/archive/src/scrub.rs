//! Every byte of the archive read again, and what is damaged named.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::ReadFile;

use crate::index::{ArchiveName, IndexName, Numbers, entry_of_record, ids_path};
use crate::mend::note_suspects;
use crate::reader::{Found, Proof, WarcReader};
use crate::{ArchiveError, CaptureSet, Captures, CdxEntry};

/// One damaged place in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wound {
    /// The archive file.
    pub file: PathBuf,
    /// Where the damaged record begins.
    pub offset: u64,
    /// Its URL, if the index knows it.
    pub url: Option<String>,
    /// What is wrong.
    pub what: String,
    /// The records are whole and only their index is not: the next run writes it anew.
    pub is_of_index: bool,
}

/// What a scrub found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Records read, and found good as far as their digests go.
    pub records: u64,
    /// Compressed bytes read.
    pub bytes: u64,
    /// Damaged places.
    pub wounds: Vec<Wound>,
    /// Captures that the files hold, damaged ones that are told of among the wounds too.
    pub captures: CaptureSet,
    /// Archive files that the index names and that are not there, with the captures that it names in each.
    pub missing: BTreeMap<String, u64>,
}

/// What the index says, by archive file and offset.
type Indexed = HashMap<(String, u64), CdxEntry>;

impl Captures {
    /// Reads all archive files, checks every check sum and digest, that the index and the files
    /// agree, and that each revisit has its original.
    pub fn scrub(&self) -> Result<Scrubbed, ArchiveError> {
        let mut scrubbed = Scrubbed::default();
        let mut indexed = self.scrub_indexes(&mut scrubbed)?;
        let list = self
            .files()
            .list(self.dir())
            .map_err(ArchiveError::file("list", self.dir()))?;
        for name in list.iter().filter_map(|name| ArchiveName::parse(name)) {
            self.scrub_file(&name.file(), &mut indexed, &mut scrubbed)?;
        }
        for ((file, offset), entry) in indexed {
            if !list.contains(&file) && ArchiveName::parse(&file).is_some() {
                *scrubbed.missing.entry(file).or_default() += 1;
                continue;
            }
            // A line that leads astray, while the record is where it was written; else the record is lost.
            let is_of_index = entry.id.is_some_and(|id| scrubbed.captures.contains(id));
            scrubbed.captures.extend(entry.id);
            let is_known = scrubbed
                .wounds
                .iter()
                .any(|wound| wound.file.ends_with(&file) && wound.offset == offset);
            if !is_known {
                let what = "the index names a record that is not there".to_owned();
                scrubbed.wounds.push(Wound {
                    file: self.dir().join(file),
                    offset,
                    url: Some(entry.url),
                    what,
                    is_of_index,
                });
            }
        }
        scrubbed
            .wounds
            .sort_by(|a, b| (&a.file, a.offset).cmp(&(&b.file, b.offset)));
        self.note_suspects(&scrubbed);
        Ok(scrubbed)
    }

    /// Notes which indexes the next run writes anew, though their sums may fit. Where that cannot be written, it reads them in
    /// their turn.
    fn note_suspects(&self, scrubbed: &Scrubbed) {
        let wounds = scrubbed.wounds.iter().filter(|wound| wound.is_of_index);
        let files: Vec<&Path> = wounds.map(|wound| wound.file.as_path()).collect();
        let is_suspect = |index: &Path| {
            let name = index.file_name().and_then(|name| name.to_str());
            let covers = |file: &Path| {
                let file = file.file_name().and_then(|name| name.to_str());
                let archive = file.and_then(ArchiveName::parse);
                let own = name.and_then(IndexName::parse);
                archive
                    .zip(own)
                    .is_some_and(|(it, own)| own.covers(&it.index()))
            };
            let numbers = ids_path(index);
            let is_hurt = |file: &Path| file == index || file == numbers || covers(file);
            files.iter().any(|file| is_hurt(file))
        };
        let suspects = self.indexes().iter().map(|index| index.path.as_path());
        let names = suspects.filter(|index| is_suspect(index));
        let names = names.filter_map(|index| index.file_name()?.to_str());
        let names: Vec<&str> = names.collect();
        if let Err(error) = note_suspects(&**self.files(), self.dir(), &names) {
            tracing::debug!(%error, "damaged indexes could not be noted");
        }
    }

    /// Every line of every index, by the place that it names. A line that cannot be read, one that is not
    /// where a search would find it, and numbers that do not lead to their lines are wounds of the index.
    fn scrub_indexes(&self, scrubbed: &mut Scrubbed) -> Result<Indexed, ArchiveError> {
        let mut indexed = Indexed::new();
        for index in self.indexes() {
            let mut wound = |file: &Path, offset, what: &str| {
                scrubbed.wounds.push(Wound {
                    file: file.to_owned(),
                    offset,
                    url: None,
                    what: what.to_owned(),
                    is_of_index: true,
                });
            };
            let mut lines = index.lines_from(b"")?;
            let (mut before, mut numbers) = (Vec::new(), Numbers::default());
            loop {
                let (offset, line) = match lines.next_raw() {
                    Ok(Some(found)) => found,
                    Ok(None) => break,
                    Err(ArchiveError::Damaged { offset, what, .. }) => {
                        wound(&index.path, offset, &what);
                        break;
                    }
                    Err(error) => return Err(error),
                };
                numbers.take(&line);
                let entry = std::str::from_utf8(&line).ok().and_then(CdxEntry::parse);
                let Some(entry) = entry.filter(|_| line.ends_with(b"\n")) else {
                    wound(&index.path, offset, "no index line");
                    continue;
                };
                if line < before {
                    wound(&index.path, offset, "the lines are not in order");
                }
                before = line;
                indexed.insert((entry.file.clone(), entry.offset), entry);
            }
            let path = ids_path(&index.path);
            // Without them numbers are found too, only slowly.
            if let Ok(found) = self.files().read(&path) {
                let want = numbers.packed_as(&found);
                if found != want {
                    let same = found.iter().zip(&want).take_while(|(a, b)| a == b);
                    let what = "the numbers do not lead to their lines";
                    wound(&path, same.count() as u64, what);
                }
            }
        }
        for line in self.open_lines() {
            if let Some(entry) = std::str::from_utf8(line).ok().and_then(CdxEntry::parse) {
                indexed.insert((entry.file.clone(), entry.offset), entry);
            }
        }
        Ok(indexed)
    }

    fn scrub_file(
        &self,
        name: &str,
        indexed: &mut Indexed,
        scrubbed: &mut Scrubbed,
    ) -> Result<(), ArchiveError> {
        let path = self.dir().join(name);
        let file = self
            .files()
            .open(&path)
            .map_err(ArchiveError::file("open", &path))?;
        let file: Arc<dyn ReadFile> = Arc::from(file);
        let len = file.len().map_err(ArchiveError::read(&path, 0))?;
        scrubbed.bytes += len;
        let mut reader = WarcReader::within(Arc::clone(&file), &path, 0, len);
        while let Some(found) = reader.next_found()? {
            let mut is_of_index = false;
            let (offset, url, what) = match found {
                Found::Damage(damage) => {
                    let known = indexed.remove(&(name.to_owned(), damage.offset));
                    scrubbed
                        .captures
                        .extend(known.as_ref().and_then(|known| known.id));
                    (
                        damage.offset,
                        known.map(|known| known.url),
                        Some(damage.what),
                    )
                }
                Found::Record(record) => {
                    let proof = record
                        .verify()
                        .map_err(ArchiveError::read(&path, record.offset))?;
                    let entry = entry_of_record(&record, name)
                        .map_err(ArchiveError::read(&path, record.offset))?;
                    let known = indexed.remove(&(name.to_owned(), record.offset));
                    scrubbed
                        .captures
                        .extend(entry.as_ref().and_then(|entry| entry.id));
                    let is_other = |entry: &CdxEntry| {
                        // What a page asks for by its text, and what came of the attempt, is in no record.
                        let same = |known: &CdxEntry| {
                            let entry = CdxEntry {
                                noarchive: known.noarchive,
                                failed: known.failed,
                                ..entry.clone()
                            };
                            *known == entry
                        };
                        known.as_ref().is_some_and(|known| !same(known))
                    };
                    let mut head = [0; 10];
                    let read = file.read_exact_at(record.offset, &mut head);
                    read.map_err(ArchiveError::read(&path, record.offset))?;
                    let what = match &entry {
                        _ if !is_head_of_ours(head) => {
                            Some("the head of its gzip member is not as it was written".to_owned())
                        }
                        _ if proof == Proof::Wrong => Some("a digest does not fit".to_owned()),
                        Some(_) if known.is_none() => {
                            is_of_index = true;
                            Some("not in the index".to_owned())
                        }
                        Some(entry) if is_other(entry) => {
                            is_of_index = true;
                            Some("the index says something else of it".to_owned())
                        }
                        Some(entry)
                            if entry.is_revisit() && self.original_of(entry, &record).is_err() =>
                        {
                            Some("the original of this revisit is not in the archive".to_owned())
                        }
                        _ => None,
                    };
                    (record.offset, record.header.url().map(str::to_owned), what)
                }
            };
            match what {
                Some(what) => scrubbed.wounds.push(Wound {
                    file: path.clone(),
                    offset,
                    url,
                    what,
                    is_of_index,
                }),
                None => scrubbed.records += 1,
            }
        }
        Ok(())
    }
}

/// Whether a gzip member begins as ours do: no check sum of it covers its time and system, which we leave open.
fn is_head_of_ours(head: [u8; 10]) -> bool {
    let [.., time_0, time_1, time_2, time_3, effort, system] = head;
    [time_0, time_1, time_2, time_3] == [0; 4] && matches!(effort, 0 | 2 | 4) && system == 255
}
