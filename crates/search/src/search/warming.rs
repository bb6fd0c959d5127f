//! What the first query after an opening or a commit would wait for, done before somebody asks.
//!
//! ```text
//! files of segments ──> the system's memory, as far as `read_ahead_bytes` lets
//! their numbers ──> statistics, columns, joins: made once for a segment, by whoever comes first
//! ```
//!
//! What a commit brought is warmed before queries are given it ([`Warmer`]); they have what was there before until then. That is
//! bounded, because a document must be found soon: what is left is read afterwards.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tantivy::{Searcher, SearcherGeneration, Warmer};

use super::columns;
use super::reputes;
use super::statistics::Counted;
use crate::error::SearchError;
use crate::guard::guarded;
use crate::schema::Fields;

/// What is warmed of one index.
pub(super) struct Warming {
    pub(super) path: PathBuf,
    pub(super) fields: Fields,
    pub(super) columns: Arc<columns::Opened>,
    pub(super) counted: Arc<Counted>,
    pub(super) reputes: Arc<reputes::Memory>,
    pub(super) ahead: Arc<ReadAhead>,
    /// Whether somebody wants it so: who asks one question does not.
    pub(super) is_wanted: AtomicBool,
    /// For how long files are read before queries are given what a commit brought.
    pub(super) most_before: Duration,
}

/// Hundreds of megabytes from a slow disk: a merge of many pages, and little of the ten seconds in which a page is to be found.
pub(super) const MOST_BEFORE: Duration = Duration::from_secs(2);

impl Warming {
    /// For the index as it stands now, and after every commit.
    pub(super) fn begin(&self, searcher: &Searcher) {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.again(searcher);
    }

    /// What a commit brought, where it is wanted, as far as it is not warm yet.
    pub(super) fn again(&self, searcher: &Searcher) {
        if !self.is_wanted.load(Ordering::Relaxed) {
            return;
        }
        self.ahead.read(&self.path, searcher);
        self.counts(searcher);
        self.reputes.forget_all_but(searcher);
    }

    /// What cannot be read is left to whoever asks: a query says what is wrong.
    fn counts(&self, searcher: &Searcher) {
        if let Err(error) = guarded(|| self.count(searcher)) {
            tracing::debug!(path = %self.path.display(), %error, "an index cannot be warmed");
        }
    }

    fn count(&self, searcher: &Searcher) -> Result<(), SearchError> {
        let segments = searcher.segment_readers();
        self.columns.of(segments, &self.fields)?;
        self.counted.of_index(segments, &self.fields)?;
        self.reputes.of(searcher)?;
        Ok(())
    }
}

impl Warmer for Warming {
    /// Called between a commit and the first query that sees it.
    fn warm(&self, searcher: &Searcher) -> tantivy::Result<()> {
        if self.is_wanted.load(Ordering::Relaxed) {
            let end = Instant::now() + self.most_before;
            self.ahead.read_until(&self.path, searcher, end);
            self.counts(searcher);
        }
        Ok(())
    }

    fn garbage_collect(&self, _live: &[&SearcherGeneration]) {}
}

/// Files that were read ahead, of all indexes together.
#[derive(Debug)]
pub(super) struct ReadAhead {
    most_bytes: u64,
    read: Mutex<HashMap<PathBuf, u64>>,
}

/// In this order: every query asks dictionaries and columns, then the lists of its words; phrases their places; results
/// their pages.
const KINDS: [&str; 6] = ["term", "fieldnorm", "fast", "idx", "pos", "store"];

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

impl ReadAhead {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            read: Mutex::default(),
        }
    }

    /// Reads the files of an index that were not read before. One that is too large is left out, and smaller ones after
    /// it are not.
    fn read(&self, path: &Path, searcher: &Searcher) {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_more(read, path, searcher, None);
    }

    /// The same until this moment, and not at all where somebody else is reading, which may last.
    fn read_until(&self, path: &Path, searcher: &Searcher, end: Instant) {
        if let Ok(read) = self.read.try_lock() {
            self.read_more(read, path, searcher, Some(end));
        }
    }

    fn read_more(
        &self,
        mut read: MutexGuard<'_, HashMap<PathBuf, u64>>,
        path: &Path,
        searcher: &Searcher,
        end: Option<Instant>,
    ) {
        let names = searcher.segment_readers().iter();
        let names: Vec<String> = names.map(|one| one.segment_id().uuid_string()).collect();
        let stays = |file: &Path| {
            let name = file.file_stem().and_then(|name| name.to_str());
            name.is_some_and(|name| names.iter().any(|own| own == name))
        };
        read.retain(|file, _| !file.starts_with(path) || stays(file));
        let mut bytes: u64 = read.values().sum();
        let mut buffer = vec![0; PIECE];
        for kind in KINDS {
            for name in &names {
                let file = path.join(name).with_extension(kind);
                if read.contains_key(&file) {
                    continue;
                }
                // A merge may have taken it away; then it is not asked for either.
                let left = self.most_bytes.saturating_sub(bytes);
                if let Ok(length) = read_file(&file, left, end, &mut buffer) {
                    bytes += length;
                    read.insert(file, length);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.read.lock().unwrap().values().sum()
    }
}

/// Reads a file, so that the system has it in memory; how long it is. To ask for that (`posix_fadvise`) brings only the
/// first part of a long file.
fn read_file(
    path: &Path,
    most_bytes: u64,
    end: Option<Instant>,
    buffer: &mut [u8],
) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > most_bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    loop {
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if file.read(buffer)? == 0 {
            return Ok(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::searcher::Watch;
    use crate::config::{IndexConfig, SearchConfig};
    use crate::page::Extras;
    use crate::search::Searcher;
    use crate::weights::Weights;
    use crate::writer::Writer;

    /// Bytes that are read ahead of an index of some pages, with this bound; and of how many.
    fn read_ahead(most: u64) -> (u64, u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        let add = |writer: &mut Writer, number: u64| {
            let document = crate::page::tests::document(&format!("http://a.pt/{number}"), "zebra");
            writer.add(&document, &Extras::default()).unwrap();
            writer.commit(number + 1).unwrap();
        };
        add(&mut writer, 0);
        let config = SearchConfig {
            read_ahead_bytes: most,
            ..SearchConfig::default()
        };
        let mut searcher = Searcher::new(config, Weights::default());
        searcher.open("a", folder.path()).unwrap();
        assert_eq!(searcher.ahead().bytes(), 0, "nobody asked for it");
        searcher.warm_up();
        let first = searcher.ahead().bytes();
        assert!(first <= most);
        add(&mut writer, 1);
        searcher.refresh().unwrap();
        let files = std::fs::read_dir(folder.path()).unwrap();
        let all = files.map(|file| file.unwrap()).filter(|file| {
            let name = file.file_name().into_string().unwrap();
            super::KINDS
                .iter()
                .any(|kind| name.ends_with(&format!(".{kind}")))
        });
        let all = all.map(|file| file.metadata().unwrap().len()).sum();
        (searcher.ahead().bytes(), all)
    }

    #[test]
    fn an_index_is_read_ahead_and_what_a_commit_brings_too() {
        let (read, all) = read_ahead(1 << 20);
        assert_eq!(read, all);
    }

    fn page(writer: &mut Writer, number: u64) {
        let document = crate::page::tests::document(&format!("http://a.pt/{number}"), "zebra");
        writer.add(&document, &Extras::default()).unwrap();
        writer.commit(number + 1).unwrap();
    }

    /// A searcher that was warmed up, and after it a commit that nobody has looked at.
    fn before_a_commit_is_seen(most_before: Duration) -> (Searcher, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        page(&mut writer, 0);
        let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
        searcher
            .open_with("a", folder.path(), most_before, Watch::Never)
            .unwrap();
        searcher.warm_up();
        page(&mut writer, 1);
        (searcher, folder)
    }

    #[test]
    fn what_a_commit_brought_is_warm_before_queries_are_given_it() {
        let (searcher, _folder) = before_a_commit_is_seen(Duration::from_secs(600));
        let (reader, warming) = searcher.first_reader();
        let old = reader.searcher();
        let before = searcher.ahead().bytes();
        reader.reload().unwrap();
        let new = reader.searcher();
        assert_eq!(new.segment_readers().len(), 2, "the commit is seen");
        assert!(searcher.ahead().bytes() > before, "its files were read");
        assert!(warming.reputes.knows(&new) && warming.reputes.knows(&old));
        // Whoever still asks the old state does not take it away, and when nobody does it is forgotten.
        warming.reputes.of(&old).unwrap();
        assert!(warming.reputes.knows(&new));
        warming.again(&new);
        assert!(warming.reputes.knows(&new) && !warming.reputes.knows(&old));
    }

    #[test]
    fn what_is_left_when_the_time_is_over_is_read_after_the_commit_is_seen() {
        let (searcher, _folder) = before_a_commit_is_seen(Duration::ZERO);
        let (reader, warming) = searcher.first_reader();
        let before = searcher.ahead().bytes();
        reader.reload().unwrap();
        assert_eq!(reader.searcher().segment_readers().len(), 2);
        assert_eq!(searcher.ahead().bytes(), before);
        warming.again(&reader.searcher());
        assert!(searcher.ahead().bytes() > before);
    }

    /// Reading everything at a start may take minutes, in which commits must be seen.
    #[test]
    fn a_commit_does_not_wait_for_somebody_who_reads_ahead() {
        let (searcher, _folder) = before_a_commit_is_seen(Duration::from_secs(600));
        let (reader, _) = searcher.first_reader();
        let held = searcher.ahead().read.lock().unwrap();
        reader.reload().unwrap();
        drop(held);
        assert_eq!(reader.searcher().segment_readers().len(), 2);
    }

    #[test]
    fn no_more_is_read_ahead_than_the_bound() {
        let (read, all) = read_ahead(1_000);
        assert!(read > 0 && read <= 1_000 && all > 1_000, "{read} of {all}");
        assert_eq!(read_ahead(0).0, 0);
    }
}
