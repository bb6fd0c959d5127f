//! Every byte of the archive read again, and what is damaged named.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::index::{ArchiveName, entry_of_record};
use crate::reader::{Found, Proof, WarcReader};
use crate::{ArchiveError, Captures};

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
}

impl Captures {
    /// Reads all archive files, checks every check sum and digest, that the index and the files
    /// agree, and that each revisit has its original.
    pub fn scrub(&self) -> Result<Scrubbed, ArchiveError> {
        let mut indexed: HashMap<(String, u64), String> = HashMap::new();
        for entry in self.all()? {
            let entry = entry?;
            indexed.insert((entry.file, entry.offset), entry.url);
        }
        let mut scrubbed = Scrubbed::default();
        let list = self
            .files()
            .list(self.dir())
            .map_err(ArchiveError::file("list", self.dir()))?;
        for name in list.iter().filter_map(|name| ArchiveName::parse(name)) {
            self.scrub_file(&name.file(), &mut indexed, &mut scrubbed)?;
        }
        for ((file, offset), url) in indexed {
            let is_known = scrubbed
                .wounds
                .iter()
                .any(|wound| wound.file.ends_with(&file) && wound.offset == offset);
            if !is_known {
                let what = "the index names a record that is not there".to_owned();
                scrubbed.wounds.push(Wound {
                    file: self.dir().join(file),
                    offset,
                    url: Some(url),
                    what,
                });
            }
        }
        scrubbed
            .wounds
            .sort_by(|a, b| (&a.file, a.offset).cmp(&(&b.file, b.offset)));
        Ok(scrubbed)
    }

    fn scrub_file(
        &self,
        name: &str,
        indexed: &mut HashMap<(String, u64), String>,
        scrubbed: &mut Scrubbed,
    ) -> Result<(), ArchiveError> {
        let path = self.dir().join(name);
        let file = self
            .files()
            .open(&path)
            .map_err(ArchiveError::file("open", &path))?;
        scrubbed.bytes += file.len().map_err(ArchiveError::read(&path, 0))?;
        let mut reader = WarcReader::new(file, &path, 0)?;
        while let Some(found) = reader.next_found()? {
            let (offset, url, what) = match found {
                Found::Damage(damage) => (
                    damage.offset,
                    indexed.remove(&(name.to_owned(), damage.offset)),
                    Some(damage.what),
                ),
                Found::Record(record) => {
                    let proof = record
                        .verify()
                        .map_err(ArchiveError::read(&path, record.offset))?;
                    let entry = entry_of_record(&record, name)
                        .map_err(ArchiveError::read(&path, record.offset))?;
                    let url = indexed.remove(&(name.to_owned(), record.offset));
                    let what = match entry {
                        _ if proof == Proof::Wrong => Some("a digest does not fit".to_owned()),
                        Some(_) if url.is_none() => Some("not in the index".to_owned()),
                        Some(entry)
                            if entry.is_revisit() && self.original_of(&entry, &record).is_err() =>
                        {
                            Some("the original of this revisit is not in the archive".to_owned())
                        }
                        _ => None,
                    };
                    (
                        record.offset,
                        url.or(record.header.url().map(str::to_owned)),
                        what,
                    )
                }
            };
            match what {
                Some(what) => scrubbed.wounds.push(Wound {
                    file: path.clone(),
                    offset,
                    url,
                    what,
                }),
                None => scrubbed.records += 1,
            }
        }
        Ok(())
    }
}
