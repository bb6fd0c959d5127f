//! The index anew from the archive, the graph and the catalog anew from the journal.
//!
//! ```text
//! journal ──> attempts ──> as many readers as cores (archive, extraction) ──> in order ──> index.new
//!                                                                                            │ done
//!                                                                          index <──swapped──┘
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use teia_base::journal::{Attempt, EntryStream, Record, walk};
use teia_base::{Files, FoundUrl};
use teia_catalog::Store;
use teia_search::{Added, IndexConfig, Writer};

use super::catalog::Cataloguer;
use super::fate::{Fate, left_out};
use super::follow::{Documents, Follower};
use super::index::{
    Index, Indexed, Reread, State, Text, aside, recover, remove_directory, reread, take_in,
};
use super::links::Links;
use super::ranks::{Ranks, note_renewed};
use super::reread::Rereader;
use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::directory::Layout;

/// Documents under way at once.
const MOST_UNDER_WAY: usize = 256;

/// What a rebuild came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Documents that were indexed, older versions included.
    pub indexed: u64,
    /// Documents whose text another has already.
    pub duplicates: u64,
    /// Documents that ask to be left out.
    pub refused: u64,
    /// Documents of which the archive has no copy that can be read.
    pub missing: u64,
}

/// Builds the index of a collection anew from its archive, beside the old one, and puts it in its
/// place. The caller holds the directory's lock. `watch` hears how many of how many entries are done.
pub fn rebuild_index(
    files: &Arc<dyn Files>,
    layout: &Layout,
    config: &CollectionConfig,
    mut watch: impl FnMut(u64, u64),
) -> Result<Rebuilt, EngineError> {
    let Some(path) = files.on_disk(&layout.index()) else {
        return Err(EngineError::NotOnDisk);
    };
    recover(&path).map_err(EngineError::disk("prepare", &path))?;
    let (aside, until) = (aside(&path, "new"), last_entry(files, layout)?);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = IndexConfig::for_rebuild(cores.min(8));
    let mut writer_config = config.index.writer();
    writer_config.threads = writer_config.threads.max(at_once.threads);
    writer_config.memory_bytes = writer_config.memory_bytes.max(at_once.memory_bytes);
    let max_anchors = writer_config.max_anchors;
    let mut writer = Writer::open(&aside, writer_config)?;
    let ranks = Ranks::open(&**files, layout, &config.links, max_anchors)?;
    let rereader = Rereader::open(Arc::clone(files), &layout.archive(), config)?;
    let journal = layout.journal();
    let entries = EntryStream::open(Arc::clone(files), &journal, 1, until)?;
    let mut rebuilt = Rebuilt::default();
    let who = Indexed::new(config);
    in_parallel(entries, &rereader, cores, |attempt, text, sequence| {
        if !who.has(attempt) {
            take_in(&mut writer, attempt, Text::None, None)?;
            return Ok(());
        }
        match text {
            Reread::Unknown => rebuilt.missing += 1,
            Reread::NotNeeded if Fate::of(attempt) == Fate::Kept => rebuilt.refused += 1,
            _ => {}
        }
        match take_in(&mut writer, attempt, text.as_text(), ranks.as_ref())? {
            Some(Added::Indexed) => rebuilt.indexed += 1,
            Some(Added::Duplicate) => rebuilt.duplicates += 1,
            Some(Added::Refused) => rebuilt.refused += 1,
            None => {}
        }
        watch(sequence, until);
        Ok(())
    })?;
    writer.commit(until)?;
    writer.close()?;
    swap(&aside, &path).map_err(EngineError::disk("replace", &path))?;
    note_renewed(&**files, layout, ranks.map_or(0, |ranks| ranks.position()));
    watch(until, until);
    Ok(rebuilt)
}

/// Builds the link graph of a collection anew from its journal. The caller holds the lock.
pub fn rebuild_links(
    files: &Arc<dyn Files>,
    layout: &Layout,
    config: &CollectionConfig,
) -> Result<(), EngineError> {
    let until = last_entry(files, layout)?;
    let mut links = Links::new(Arc::clone(files), layout.clone(), config.links.graph());
    let failed = |trouble: super::follow::Trouble| EngineError::Follower(trouble.text);
    links.open(true).map_err(failed)?;
    for entry in EntryStream::open(Arc::clone(files), &layout.journal(), 1, until)? {
        links
            .apply(&entry?, Documents::Handed(&[]))
            .map_err(failed)?;
    }
    links.commit(until).map_err(failed)
}

/// Writes the catalog of a collection anew from its journal; how many entries were read. The caller
/// holds the lock. `watch` hears how many of how many are done.
pub fn rebuild_catalog(
    files: &Arc<dyn Files>,
    layout: &Layout,
    key: u64,
    store: Store,
    mut watch: impl FnMut(u64, u64),
) -> Result<u64, EngineError> {
    let until = last_entry(files, layout)?;
    let mut catalog = Cataloguer::new(Arc::clone(files), layout.clone(), key, store);
    let failed = |trouble: super::follow::Trouble| EngineError::Follower(trouble.text);
    catalog.open(true).map_err(failed)?;
    for entry in EntryStream::open(Arc::clone(files), &layout.journal(), 1, until)? {
        let entry = entry?;
        catalog
            .apply(&entry, Documents::Handed(&[]))
            .map_err(failed)?;
        watch(entry.sequence, until);
    }
    catalog.commit(until).map_err(failed)?;
    Ok(until)
}

/// Gives every page of an index the newest ranks and anchor texts; false where there is no index.
/// The caller holds the lock.
pub fn renew_index(
    files: &Arc<dyn Files>,
    layout: &Layout,
    config: &CollectionConfig,
) -> Result<bool, EngineError> {
    let path = files.on_disk(&layout.index());
    let Some(path) = path.filter(|path| path.join("meta.json").exists()) else {
        return Ok(false);
    };
    let failed = |trouble: super::follow::Trouble| EngineError::Follower(trouble.text);
    let mut index = Index {
        files: Arc::clone(files),
        layout: layout.clone(),
        path,
        config: config.index.writer(),
        links: config.links.clone(),
        who: Indexed::new(config),
        rankings: Arc::default(),
        state: State::default(),
    };
    index.open(false).map_err(failed)?;
    while index.renew().map_err(failed)? {}
    index.close().map_err(failed)?;
    Ok(true)
}

/// The last committed entry; nobody may be writing. All of the journal is read for it: what cannot be
/// built anew must not be thrown away.
fn last_entry(files: &Arc<dyn Files>, layout: &Layout) -> Result<u64, EngineError> {
    let walked = walk(files, &layout.journal(), 1, drop)?;
    Ok(walked.map_or(0, |(first, end)| first + end.entries - 1))
}

/// An attempt on its way, by number.
type Job = (u64, u64, Attempt);
/// The same with its text.
type Done = (u64, u64, Attempt, Reread);

/// Reads the documents of all attempts on many threads, and calls `each` in the journal's order.
fn in_parallel(
    entries: EntryStream,
    rereader: &Rereader,
    threads: usize,
    mut each: impl FnMut(&Attempt, &Reread, u64) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    std::thread::scope(|scope| {
        let (jobs, queue) = sync_channel::<Job>(MOST_UNDER_WAY);
        let (results, done) = sync_channel::<Done>(MOST_UNDER_WAY);
        // A place is taken before a job and given back when its turn is over, so that one slow
        // document does not let all others pile up.
        let (places, free) = sync_channel::<()>(MOST_UNDER_WAY);
        let reading = scope.spawn(move || offer(entries, &jobs, &places));
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let (queue, results) = (Arc::clone(&queue), results.clone());
            scope.spawn(move || work(&queue, &results, rereader));
        }
        drop((queue, results));
        let mut early: BTreeMap<u64, Done> = BTreeMap::new();
        let mut next = 0;
        while let Ok(result) = done.recv() {
            early.insert(result.0, result);
            while let Some((_, sequence, attempt, text)) = early.remove(&next) {
                // An error drops the channels, and so ends the threads.
                each(&attempt, &text, sequence)?;
                let _ = free.recv();
                next += 1;
            }
        }
        match reading.join() {
            Ok(read) => read,
            Err(_) => Err(EngineError::WorkerLost),
        }
    })
}

fn offer(
    entries: EntryStream,
    jobs: &SyncSender<Job>,
    places: &SyncSender<()>,
) -> Result<(), EngineError> {
    let mut number = 0;
    for entry in entries {
        let entry = entry?;
        let Record::Commit(commit) = entry.record else {
            continue;
        };
        // What is left out goes the way of what is gone.
        let gone: Vec<Attempt> = left_out(&commit)
            .map(|(url, outcome)| Attempt::new(FoundUrl::from(url.clone()), entry.wall, outcome))
            .collect();
        for mut attempt in commit.attempts.into_iter().chain(gone) {
            if Fate::of(&attempt) == Fate::AsBefore {
                continue;
            }
            attempt.links = Vec::new();
            if places.send(()).is_err() || jobs.send((number, entry.sequence, attempt)).is_err() {
                return Ok(());
            }
            number += 1;
        }
    }
    Ok(())
}

fn work(queue: &Mutex<Receiver<Job>>, results: &SyncSender<Done>, rereader: &Rereader) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, sequence, attempt)) = job else {
            return;
        };
        let text = reread(&attempt, |attempt| rereader.document(attempt));
        if results.send((number, sequence, attempt, text)).is_err() {
            return;
        }
    }
}

/// Puts the new directory in the place of the old one: at once where the system can, else with a
/// moment between in which there is none (see `recover`).
fn swap(new: &Path, place: &Path) -> std::io::Result<()> {
    let old: PathBuf = if !place.exists() {
        std::fs::rename(new, place)?;
        return Ok(());
    } else if renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE).is_ok() {
        new.to_owned()
    } else {
        let old = aside(place, "old");
        std::fs::rename(place, &old)?;
        std::fs::rename(new, place)?;
        old
    };
    remove_directory(&old)
}
