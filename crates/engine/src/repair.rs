//! A collection whose journal is damaged goes on with everything that can still be read.
//!
//! ```text
//! part-0/{journal, history}, as far as whole ──┐
//! part-0/urls: URLs that nothing else names ───┴──> part-0.new ──done──> exchanged with part-0
//! ```
//!
//! Until the two are exchanged, in one step, the old one counts, and nothing of it is changed. Archive
//! and captures stay as they are; index and links go, and follow the new journal at the next run. A page
//! of whose visit neither tells is fetched again, though the archive has a copy: its links are lost too.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use teia_archive::{CaptureSet, Captures, RecordNames, whole_end};
use teia_base::journal::{
    ArchivePosition, Attempt, Commit, Entry, LinkVerdict, Lost, Next, Record, Recovered,
    RecoveredUrl, salvage,
};
use teia_base::{CanonicalUrl, Clock, Files, FoundUrl};
use teia_repository::{Repository, State, UrlState};

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::digests::Digests;
use crate::directory::{Directory, DirectoryLock, Layout};
use crate::followers::OrderByRank;
use crate::past::Past;
use crate::reading::Reading;
use crate::rekey::{Aside, Move};

/// URLs in one entry.
const BATCH: usize = 10_000;

/// What a repair came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Entries of the journal that are gone.
    pub lost: Vec<Lost>,
    /// URLs after.
    pub urls: u64,
    /// Those of them whose own entries are gone.
    pub recovered: u64,
    /// URLs whose visits were known from the blocks of URLs.
    pub visited: u64,
}

/// Makes the collection anew of everything that can be read. `watch` hears how many entries are done.
pub fn repair(
    directory: &Directory,
    _lock: &DirectoryLock,
    layout: &Layout,
    config: &CollectionConfig,
    clock: &dyn Clock,
    mut watch: impl FnMut(u64),
) -> Result<Repaired, EngineError> {
    let files = directory.files();
    let aside = Aside::begin(directory, layout)?;
    let mut repair = Repair {
        new: aside.fill(config, clock)?,
        batch: Vec::new(),
        repaired: Repaired::default(),
    };
    let mut expected = 1;
    let mut has_gap = false;
    let mut lost = salvage::<EngineError>(&*files, &layout.journal(), |entry| {
        watch(entry.sequence);
        has_gap |= entry.sequence != expected;
        expected = entry.sequence + 1;
        // In memory a URL is found at once, so that what is told of it now is not lost too.
        if has_gap && !repair.new.past.repository.is_on_disk() {
            repair.find_again(&entry)?;
            repair.flush()?;
        }
        repair.new.entry(entry)
    })?;
    repair.new.decide()?;
    let old = Reading::open(directory, layout.name())?;
    let told_of = old.told_of();
    if told_of >= expected {
        lost.push(Lost {
            entries: expected..=told_of,
            before: directory.root().join(layout.journal()),
        });
    }
    let told = match old.blocks() {
        Ok(Some(mut blocks)) => repair.take_from(&mut blocks)?,
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = &told {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        tracing::warn!(
            %error,
            cause = cause.unwrap_or_default(),
            "not all URLs on disk can be read either: links of pages tell of the rest, and URLs may be missing that none leads to"
        );
    }
    if told.is_err() || !repair.new.past.repository.is_on_disk() {
        salvage::<EngineError>(&*files, &layout.journal(), |entry| {
            repair.find_again(&entry)
        })?;
        repair.flush()?;
    }
    if files.exists(&layout.archive()) {
        repair.keep_archive(&*files, layout)?;
    }
    repair.repaired.lost = lost;
    repair.repaired.urls = repair.new.finish(directory.root())?;
    aside.exchange()?;
    Ok(repair.repaired)
}

/// What became of a collection whose last archive file was cut or is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEnd {
    /// The file that the journal named.
    pub file: String,
    /// Bytes of it that were committed, and bytes that are there; 0 where it is gone.
    pub committed: u64,
    /// The same.
    pub found: u64,
    /// The file that is begun behind what is left.
    pub begun: String,
    /// URLs whose copies the journal names and the archive does not have, in order of visits.
    pub lost: Vec<CanonicalUrl>,
}

/// Lets a collection go on whose archive ends before what is committed: whole records stay, and a new file begins. None where nothing of
/// its end is lost.
pub fn go_on_without_end(
    directory: &Directory,
    _lock: &DirectoryLock,
    layout: &Layout,
    config: &CollectionConfig,
    clock: &dyn Clock,
) -> Result<Option<WithoutEnd>, EngineError> {
    let (files, root, key) = (directory.files(), directory.root(), directory.key());
    let digests = Digests::new(0, 0);
    let (order, _) = OrderByRank::policy(config.run.order, key);
    let place = (layout, key);
    let mut past = Past::open(&files, root, place, config, &order, clock, &digests)?;
    let Some(named) = past.ledger.head.archive.clone() else {
        return Ok(None);
    };
    let path = layout.archive().join(&named.file);
    let found = match files.open(&path).and_then(|file| file.len()) {
        Ok(len) => len,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(EngineError::disk("read", root.join(path))(error)),
    };
    if found >= named.len {
        return Ok(None);
    }
    let begun = teia_archive::Writer::go_on_without_end(
        Arc::clone(&files),
        &layout.archive(),
        config.archive.warc.clone(),
        RecordNames::new(key),
        clock.wall(),
    )?;
    let Some(begun) = begun else {
        return Ok(None);
    };
    past.journal.append(&Entry {
        sequence: past.journal.next_sequence(),
        wall: clock.wall(),
        run: past.ledger.head.run,
        record: Record::Commit(Commit {
            archive: Some(ArchivePosition {
                file: begun.file.clone(),
                len: begun.len,
            }),
            ..Commit::default()
        }),
    })?;
    drop(past);
    Ok(Some(WithoutEnd {
        committed: named.len,
        found,
        begun: begun.file,
        lost: lost_urls(directory, layout)?,
        file: named.file,
    }))
}

/// URLs of captures that the journal names and no archive file holds.
fn lost_urls(directory: &Directory, layout: &Layout) -> Result<Vec<CanonicalUrl>, EngineError> {
    let files = directory.files();
    let folder = layout.archive();
    let mut lengths: HashMap<String, u64> = HashMap::new();
    let mut held = CaptureSet::default();
    for entry in Captures::open(Arc::clone(&files), &folder)?.all()? {
        let entry = entry?;
        let len = lengths.entry(entry.file.clone()).or_insert_with(|| {
            let file = files.open(&folder.join(&entry.file));
            file.and_then(|file| file.len()).unwrap_or(0)
        });
        if entry.offset.saturating_add(entry.length) <= *len {
            held.extend(entry.id);
        }
    }
    let mut lost = Vec::new();
    let reading = Reading::open(directory, layout.name())?;
    reading.each_lost_capture(&held, |_, _, attempt| {
        lost.push(attempt.url.normal().clone());
    })?;
    Ok(lost)
}

struct Repair<'a> {
    new: Move<'a>,
    batch: Vec<RecoveredUrl>,
    repaired: Repaired,
}

impl Repair<'_> {
    /// URLs that an entry takes for known, and nobody knows.
    fn find_again(&mut self, entry: &Entry) -> Result<(), EngineError> {
        let Record::Commit(commit) = &entry.record else {
            return Ok(());
        };
        for attempt in commit.attempts.iter().filter(|it| !it.is_robots()) {
            self.offer(&attempt.url, attempt.depth, false)?;
            for link in &attempt.links {
                if link.verdict == LinkVerdict::Known {
                    self.offer(&link.url, link.depth, link.requisite)?;
                }
            }
        }
        Ok(())
    }

    fn offer(&mut self, url: &FoundUrl, depth: u16, requisite: bool) -> Result<(), EngineError> {
        self.recover(RecoveredUrl {
            url: url.clone(),
            depth,
            requisite,
            seed: None,
            verdict: LinkVerdict::New,
        })
    }

    fn recover(&mut self, found: RecoveredUrl) -> Result<(), EngineError> {
        self.batch.push(found);
        if self.batch.len() < BATCH {
            return Ok(());
        }
        self.flush()
    }

    /// Those of the batch that nobody knows are found.
    fn flush(&mut self) -> Result<(), EngineError> {
        let found = std::mem::take(&mut self.batch);
        let normal: Vec<&CanonicalUrl> = found.iter().map(|it| it.url.normal()).collect();
        let known = self.new.past.repository.states(&normal);
        let mut met = HashSet::new();
        let is_new: Vec<bool> = normal
            .into_iter()
            .zip(known)
            .map(|(url, known)| known.is_none() && met.insert(url))
            .collect();
        let found = found.into_iter().zip(is_new);
        let urls: Vec<_> = found.filter(|it| it.1).map(|it| it.0).collect();
        if urls.is_empty() {
            return Ok(());
        }
        self.repaired.recovered += urls.len() as u64;
        self.tell(Record::Recovered(Recovered { urls }))
    }

    fn tell(&mut self, record: Record) -> Result<(), EngineError> {
        let entry = Entry {
            sequence: 0,
            wall: self.new.wall,
            run: self.new.past.ledger.head.run,
            record,
        };
        self.new.entry(entry)
    }

    /// What the old blocks know, and no entry tells; and what kept them from telling all of it.
    fn take_from(&mut self, old: &mut Repository) -> Result<Result<(), EngineError>, EngineError> {
        let mut result = Ok(());
        let found = old.for_each(
            None,
            |_| true,
            |url| {
                if result.is_ok() {
                    result = self.recover(as_found(&url));
                }
            },
        );
        result?;
        self.flush()?;
        self.new.decide()?;
        let mut visits = Vec::new();
        let mut result = Ok(());
        let visited = old.for_each(
            None,
            |_| true,
            |url| {
                visits.extend(last_visit(&url));
                if result.is_ok() && visits.len() >= BATCH {
                    result = self.visited(std::mem::take(&mut visits));
                }
            },
        );
        result?;
        self.visited(visits)?;
        Ok(found.and(visited).map_err(EngineError::from))
    }

    /// What the archive holds beyond the last commit that can be read must not be cut off as if it had
    /// never happened.
    fn keep_archive(&mut self, files: &dyn Files, layout: &Layout) -> Result<(), EngineError> {
        let Some(end) = whole_end(files, &layout.archive())? else {
            return Ok(());
        };
        let archive = ArchivePosition {
            file: end.file,
            len: end.len,
        };
        let named = &self.new.past.ledger.head.archive;
        if named.as_ref() == Some(&archive) {
            return Ok(());
        }
        self.tell(Record::Commit(Commit {
            archive: Some(archive),
            ..Commit::default()
        }))
    }

    /// Those of the visits that no entry tells of are told.
    fn visited(&mut self, visits: Vec<Attempt>) -> Result<(), EngineError> {
        let normal: Vec<&CanonicalUrl> = visits.iter().map(|it| it.url.normal()).collect();
        let known = self.new.past.repository.states(&normal);
        let attempts: Vec<_> = visits
            .into_iter()
            .zip(known)
            .filter(|(_, known)| known.as_ref().is_some_and(|it| it.fetched.is_none()))
            .map(|(visit, _)| visit)
            .collect();
        if attempts.is_empty() {
            return Ok(());
        }
        self.repaired.visited += attempts.len() as u64;
        self.tell(Record::Commit(Commit {
            attempts,
            ..Commit::default()
        }))
    }
}

fn as_found(url: &UrlState) -> RecoveredUrl {
    RecoveredUrl {
        url: url.url.clone(),
        depth: url.depth,
        requisite: url.requisite,
        seed: url.seed.then_some(url.fallback_http),
        verdict: match &url.exclusion {
            Some(exclusion) => LinkVerdict::Excluded(exclusion.clone()),
            None => LinkVerdict::New,
        },
    }
}

/// The last visit of a URL, as far as the blocks keep it: enough to know the copy in the archive, and
/// not to ask again before it is time.
fn last_visit(url: &UrlState) -> Option<Attempt> {
    let fetched = url.fetched.as_ref()?;
    let next = match (url.state, url.due) {
        (State::Fetched | State::Gone, _) => Next::Done,
        (State::Failed, _) => Next::Failed,
        (State::Waiting, Some(due)) if url.tries == 0 => Next::Again(due),
        _ => return None,
    };
    let plain = Attempt::new(url.url.clone(), fetched.last_attempt, fetched.outcome);
    Some(Attempt {
        visit: fetched.visits.max(1),
        depth: url.depth,
        answered: fetched.outcome.is_answered(),
        text_digest: fetched.text_digest,
        capture: fetched.capture,
        etag: fetched.etag.as_deref().map(str::to_owned),
        last_modified: fetched.last_modified.as_deref().map(str::to_owned),
        next,
        ..plain
    })
}
