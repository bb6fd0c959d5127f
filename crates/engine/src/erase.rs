//! Erases what people asked to have erased: from the archive, from what the journal noted of it, and from
//! everything that was made of the two.
//!
//! ```text
//! a new archive file, in the journal ──> older files rewritten ──> journal scrubbed ──> graph, catalog, index anew
//! ```
//!
//! Each step leaves files that are the old ones or the new ones, and finds by itself what is still to be
//! done: an interrupted one is ended by asking for it again. What is erased is hidden before (`Removals`),
//! and a hidden page is neither fetched nor taken for the original of another.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_archive::{Committed, Erased, RecordNames, Writer};
use teia_base::journal::{
    ArchivePosition, Attempt, Commit, Entry, EntryStream, Record, SEGMENT_HEADER, all_segments,
    encode_frame, history_of, segment_name, walk_segment,
};
use teia_base::{CanonicalUrl, Clock, Files};
use teia_repository::blocks::Store;

use crate::EngineError;
use crate::checkpoint::forget_checkpoints;
use crate::collection::CollectionConfig;
use crate::digests::Digests;
use crate::directory::{Directory, DirectoryLock, Layout};
use crate::followers::{
    OrderByRank, rank_collection, rebuild_catalog, rebuild_index, rebuild_links,
};
use crate::past::Past;
use crate::removals::Removals;

/// What was erased.
#[derive(Clone, Debug, Default)]
pub struct Erasure {
    /// From the archive.
    pub archive: Erased,
    /// Attempts of which the journal now says only that they were.
    pub attempts: u64,
    /// What could not be made anew, and why; what is there may still hold something.
    pub left: Vec<String>,
}

/// Erases the URLs and hosts that are named, which must be hidden already.
pub fn erase(
    directory: &Directory,
    _lock: &DirectoryLock,
    layout: &Layout,
    config: &CollectionConfig,
    what: &Removals,
    clock: &dyn Clock,
) -> Result<Erasure, EngineError> {
    let files = directory.files();
    let mut erasure = Erasure::default();
    if let Some(newest) = begin_file(directory, layout, config, clock)? {
        let is_erased = |url: &str| {
            let found = config.normal_form.parse(url);
            found.is_ok_and(|found| what.hides(found.normal()))
        };
        let dir = layout.archive();
        let warc = &config.archive.warc;
        erasure.archive = teia_archive::erase(&files, &dir, warc, &newest, &is_erased)?;
    }
    // They hold validators and digests; a start without them reads the journal.
    let urls_on_disk = files.list(&layout.urls());
    if urls_on_disk.is_ok_and(|names| !names.is_empty()) {
        Store::forget(&*files, &layout.urls())?;
    }
    forget_checkpoints(&*files, layout).map_err(EngineError::disk("remove", layout.part()))?;
    let mut urls = BTreeSet::new();
    erasure.attempts = scrub_journal(&files, &layout.journal(), what, &mut urls)?;
    make_anew(directory, layout, config, &urls, &mut erasure);
    Ok(erasure)
}

/// Begins another archive file and writes it down, so that all that was collected lies before it.
fn begin_file(
    directory: &Directory,
    layout: &Layout,
    config: &CollectionConfig,
    clock: &dyn Clock,
) -> Result<Option<Committed>, EngineError> {
    let (files, root, key) = (directory.files(), directory.root(), directory.key());
    let digests = Digests::new(0, 0);
    let (order, _) = OrderByRank::policy(config.run.order, key);
    let place = (layout, key);
    let mut past = Past::open(&files, root, place, config, &order, clock, &digests)?;
    let Some(position) = past.ledger.head.archive.clone() else {
        return Ok(None);
    };
    let committed = Committed {
        file: position.file,
        len: position.len,
    };
    let mut writer = Writer::open(
        Arc::clone(&files),
        &layout.archive(),
        config.archive.warc.clone(),
        RecordNames::new(key),
        Some(committed),
    )?;
    writer.begin_anew(clock.wall())?;
    let Some(newest) = writer.sync()? else {
        return Ok(None);
    };
    past.journal.append(&Entry {
        sequence: past.journal.next_sequence(),
        wall: clock.wall(),
        run: past.ledger.head.run,
        record: Record::Commit(Commit {
            archive: Some(ArchivePosition {
                file: newest.file.clone(),
                len: newest.len,
            }),
            ..Commit::default()
        }),
    })?;
    Ok(Some(newest))
}

/// What was made of archive and journal is made again. It can be made later as well, so that a failure
/// is told and ends nothing.
fn make_anew(
    directory: &Directory,
    layout: &Layout,
    config: &CollectionConfig,
    urls: &BTreeSet<CanonicalUrl>,
    erasure: &mut Erasure,
) {
    let files = directory.files();
    let mut tell = |what: &str, result: Result<(), EngineError>| {
        if let Err(error) = result {
            erasure.left.push(format!("{what}: {error}"));
        }
    };
    let is_there = |path: &Path| files.list(path).is_ok_and(|names| !names.is_empty());
    if is_there(&layout.links()) {
        let going = |_| ControlFlow::Continue(());
        let ranked = rebuild_links(&files, layout, config).and_then(|()| {
            rank_collection(&*files, layout, &config.links, going)?;
            Ok(())
        });
        tell("the link graph", ranked);
    }
    if let Some(store) = config.catalog.store(&*files) {
        let key = directory.key();
        let written = rebuild_catalog(&files, layout, key, store, |_, _| {});
        tell("the catalog", written.map(drop));
    }
    let index = files.on_disk(&layout.index());
    if index.is_some_and(|path| path.join("meta.json").exists()) {
        let built = if is_there(&layout.archive()) {
            rebuild_index(&files, layout, config, |_, _| {}).map(drop)
        } else {
            // Nothing else has the texts of the other pages.
            take_from_index(&files, layout, config, urls)
        };
        tell("the search index", built);
    }
}

fn take_from_index(
    files: &Arc<dyn Files>,
    layout: &Layout,
    config: &CollectionConfig,
    urls: &BTreeSet<CanonicalUrl>,
) -> Result<(), EngineError> {
    let Some(path) = files.on_disk(&layout.index()) else {
        return Ok(());
    };
    let mut writer = teia_search::Writer::open(&path, config.index.writer())?;
    for url in urls {
        writer.remove(url)?;
    }
    let position = writer.position();
    writer.commit(position)?;
    writer.close()?;
    Ok(())
}

/// Takes everything out of the journal that a page said; that it was asked for, when and with what outcome
/// stays, and so do URLs. How many attempts that were.
fn scrub_journal(
    files: &Arc<dyn Files>,
    journal: &Path,
    what: &Removals,
    urls: &mut BTreeSet<CanonicalUrl>,
) -> Result<u64, EngineError> {
    let failed = EngineError::disk("write anew the journal in", journal);
    let found = all_segments(&**files, journal).map_err(failed)?;
    let mut count = 0;
    for (place, first) in found.iter().enumerate() {
        let next = found.get(place + 1).copied();
        let segment = Segment {
            files,
            journal,
            first: *first,
            next,
        };
        let mut touched = 0;
        segment.each(&mut |mut entry| touched += scrub(&mut entry, what, urls))?;
        // A plain one beside its pack was written by an erasure that failed: its name may never have reached the disk.
        if touched > 0 || segment.old_pack().is_some() {
            segment.rewrite(&mut |entry| {
                scrub(entry, what, urls);
            })?;
        }
        segment.drop_old_pack()?;
        count += touched;
    }
    Ok(count)
}

/// One segment of the journal, packed or not.
struct Segment<'a> {
    files: &'a Arc<dyn Files>,
    journal: &'a Path,
    first: u64,
    /// The first entry of the one after it.
    next: Option<u64>,
}

impl Segment<'_> {
    fn is_plain(&self) -> bool {
        self.files
            .exists(&self.journal.join(segment_name(self.first)))
    }

    fn each(&self, take: &mut dyn FnMut(Entry)) -> Result<(), EngineError> {
        let (files, first) = (self.files, self.first);
        if self.is_plain() {
            walk_segment(&**files, self.journal, first, self.next.is_none(), take)?;
            return Ok(());
        }
        // What is packed is followed by something.
        let until = self.next.map_or(u64::MAX, |next| next - 1);
        for entry in EntryStream::open(Arc::clone(files), self.journal, first, until)? {
            take(entry?);
        }
        Ok(())
    }

    /// Writes it anew beside, and puts it in its place: not packed, which it is again when it is time.
    fn rewrite(&self, change: &mut dyn FnMut(&mut Entry)) -> Result<(), EngineError> {
        let path = self.journal.join(segment_name(self.first));
        let aside = self
            .journal
            .join(format!("{}.new", segment_name(self.first)));
        let failed = |error| EngineError::disk("write anew", &path)(error);
        let mut file = self.files.create(&aside).map_err(failed)?;
        file.append(SEGMENT_HEADER).map_err(failed)?;
        let (mut frame, mut wrong) = (Vec::new(), None);
        self.each(&mut |mut entry| {
            if wrong.is_some() {
                return;
            }
            change(&mut entry);
            frame.clear();
            let encoded = encode_frame(&entry, file.len(), &mut frame);
            let written = encoded.map_err(std::io::Error::other);
            wrong = written.and_then(|()| file.append(&frame)).err();
        })?;
        wrong.map_or(Ok(()), Err).map_err(failed)?;
        file.sync().map_err(failed)?;
        drop(file);
        self.files.rename(&aside, &path).map_err(failed)?;
        self.files.sync_dir(self.journal).map_err(failed)
    }

    /// Where there are both, the plain one says everything, and perhaps less.
    fn old_pack(&self) -> Option<PathBuf> {
        let pack = history_of(self.journal).join(format!("{:020}.pack", self.first));
        (self.is_plain() && self.files.exists(&pack)).then_some(pack)
    }

    fn drop_old_pack(&self) -> Result<(), EngineError> {
        let Some(pack) = self.old_pack() else {
            return Ok(());
        };
        let failed = |error| EngineError::disk("remove", &pack)(error);
        self.files.remove(&pack).map_err(failed)?;
        let history = history_of(self.journal);
        self.files.sync_dir(&history).map_err(failed)
    }
}

/// Takes out of an entry what pages said that are erased; of how many attempts.
fn scrub(entry: &mut Entry, what: &Removals, urls: &mut BTreeSet<CanonicalUrl>) -> u64 {
    let Record::Commit(commit) = &mut entry.record else {
        return 0;
    };
    let mut count = 0;
    for attempt in &mut commit.attempts {
        if what.hides(attempt.url.normal()) {
            urls.insert(attempt.url.normal().clone());
            count += u64::from(blank(attempt));
        } else if let Some(revisit) = &attempt.revisit {
            // Its body is its own by now.
            let original = CanonicalUrl::parse(&revisit.url);
            if original.is_ok_and(|original| what.hides(&original)) {
                attempt.revisit = None;
                count += 1;
            }
        }
    }
    for host in &mut commit.hosts {
        if what.hides_host(&host.host) && host.robots.take().is_some() {
            count += 1;
        }
    }
    count
}

/// Takes out what the page said; whether there was anything.
fn blank(attempt: &mut Attempt) -> bool {
    let says_something = !attempt.title.is_empty()
        || attempt.capture.is_some()
        || attempt.payload_sha1.is_some()
        || attempt.text_digest.is_some()
        || attempt.etag.is_some()
        || attempt.last_modified.is_some()
        || !attempt.junk.is_empty()
        || attempt.links.iter().any(|link| !link.anchor.is_empty());
    attempt.title = String::new();
    attempt.language = None;
    attempt.charset = None;
    attempt.junk = Vec::new();
    attempt.etag = None;
    attempt.last_modified = None;
    attempt.payload_sha1 = None;
    attempt.text_digest = None;
    attempt.similarity = 0;
    attempt.capture = None;
    attempt.revisit = None;
    for link in &mut attempt.links {
        link.anchor = String::new();
    }
    says_something
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::journal::pack_segment;
    use teia_base::{SimulatedDisk, Timestamp};

    #[test]
    fn a_segment_whose_name_did_not_reach_the_disk_does_not_cost_its_pack() {
        for seed in 0..20 {
            let disk = SimulatedDisk::new();
            let journal = Path::new("journal");
            disk.create_dir(journal).unwrap();
            for first in [1, 3] {
                let mut bytes = SEGMENT_HEADER.to_vec();
                for sequence in first..first + 2 {
                    let entry = Entry {
                        sequence,
                        wall: Timestamp::from_micros(7),
                        run: 1,
                        record: Record::Paused,
                    };
                    let offset = bytes.len() as u64;
                    encode_frame(&entry, offset, &mut bytes).unwrap();
                }
                let mut file = disk.create(&journal.join(segment_name(first))).unwrap();
                file.append(&bytes).unwrap();
                file.sync().unwrap();
            }
            disk.sync_dir(journal).unwrap();
            pack_segment(&disk, journal, 1, &|| false).unwrap();
            let files: Arc<dyn Files> = Arc::new(disk.clone());
            let segment = Segment {
                files: &files,
                journal,
                first: 1,
                next: Some(3),
            };
            disk.set_failing_dir_sync(true);
            segment.rewrite(&mut |_| {}).unwrap_err();
            disk.set_failing_dir_sync(false);
            let nothing = Removals::default();
            scrub_journal(&files, journal, &nothing, &mut BTreeSet::new()).unwrap();
            disk.cut_power(seed);
            let read = EntryStream::open(files, journal, 1, 4).unwrap();
            assert_eq!(read.filter(Result::is_ok).count(), 4, "seed {seed}");
        }
    }
}
