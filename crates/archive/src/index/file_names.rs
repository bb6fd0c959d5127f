//! Names of archive and index files, and what they say.
//!
//! `teia-20261115200000-00001.warc.gz` sorts by creation; its last number never comes back. Its
//! index is `teia-20261115200000-00001.cdxj`, a merged one `merged-LEVEL-FIRST-LAST.cdxj`.

use std::path::{Path, PathBuf};

use teia_base::Timestamp;

/// The name of an archive file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArchiveName {
    /// Counts the files of a collection.
    pub(crate) number: u64,
    stem: String,
}

impl ArchiveName {
    /// The name of a new file. Stamps never go back, though clocks do.
    pub(crate) fn new(prefix: &str, number: u64, wall: Timestamp, after: Option<&Self>) -> Self {
        let prefix: String = prefix
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let now = wall.to_digits();
        let stamp = after.map_or(now.as_str(), |after| after.stamp().max(now.as_str()));
        Self {
            number,
            stem: format!("{prefix}-{stamp}-{number:05}"),
        }
    }

    /// The same with this number, unless its own is larger.
    pub(crate) fn at_least(mut self, number: u64) -> Self {
        self.number = self.number.max(number);
        self
    }

    /// Of a file of which only an index is left.
    pub(crate) fn unknown(number: u64) -> Self {
        let stem = String::new();
        Self { number, stem }
    }

    /// Reads a file name; `None` where it is not one of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::from_stem(name.strip_suffix(".warc.gz")?)
    }

    fn from_stem(stem: &str) -> Option<Self> {
        let (rest, number) = stem.rsplit_once('-')?;
        let (_, stamp) = rest.rsplit_once('-')?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(number) || stamp.len() != 14 || !is_number(stamp) {
            return None;
        }
        Some(Self {
            number: number.parse().ok()?,
            stem: stem.to_owned(),
        })
    }

    /// The file name.
    pub(crate) fn file(&self) -> String {
        format!("{}.warc.gz", self.stem)
    }

    /// The name of its sorted index.
    pub(crate) fn index(&self) -> IndexName {
        IndexName {
            level: 0,
            first: self.number,
            last: self.number,
            stem: self.stem.clone(),
        }
    }

    fn stamp(&self) -> &str {
        self.stem.rsplit('-').nth(1).unwrap_or("")
    }
}

/// The name of a sorted index, and the archive files that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexName {
    /// 0 for one archive file, 1 for sixteen…
    pub(crate) level: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
    stem: String,
}

impl IndexName {
    /// The name of an index merged from those of `first..=last`.
    pub(crate) fn merged(level: u32, first: u64, last: u64) -> Self {
        Self {
            level,
            first,
            last,
            stem: format!("merged-{level}-{first:05}-{last:05}"),
        }
    }

    /// Reads a file name; `None` where it is not one of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".cdxj")?;
        if let Some(numbers) = stem.strip_prefix("merged-") {
            let numbers: Vec<u64> = numbers
                .split('-')
                .map(|text| text.parse().ok())
                .collect::<Option<_>>()?;
            let [level, first, last] = numbers[..] else {
                return None;
            };
            return Some(Self {
                level: u32::try_from(level).ok()?,
                first,
                last,
                stem: stem.to_owned(),
            });
        }
        ArchiveName::from_stem(stem).map(|name| name.index())
    }

    /// The file name.
    pub(crate) fn file(&self) -> String {
        format!("{}.cdxj", self.stem)
    }

    /// Whether this index holds everything that the other does.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// The numbers of captures beside a sorted index.
pub(crate) fn ids_path(index: &Path) -> PathBuf {
    index.with_extension("ids")
}

/// The lines of an archive file that is not sealed.
pub(crate) fn open_lines_path(dir: &Path, name: &ArchiveName) -> PathBuf {
    dir.join(format!("{}.cdxj.open", name.stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_number_and_never_go_back() {
        let wall = Timestamp::parse("20261115200000").unwrap();
        let first = ArchiveName::new("te ia", 1, wall, None);
        assert_eq!(first.file(), "te_ia-20261115200000-00001.warc.gz");
        assert_eq!(ArchiveName::parse(&first.file()), Some(first.clone()));
        let earlier = Timestamp::parse("20251115200000").unwrap();
        let second = ArchiveName::new("te ia", 2, earlier, Some(&first));
        assert!(second.file() > first.file());
        assert_eq!(ArchiveName::parse("x.warc.gz"), None);
        let merged = IndexName::merged(1, 1, 16);
        assert_eq!(IndexName::parse(&merged.file()), Some(merged.clone()));
        assert!(merged.covers(&first.index()));
        assert_eq!(
            IndexName::parse("te_ia-20261115200000-00001.cdxj"),
            Some(first.index())
        );
    }
}
