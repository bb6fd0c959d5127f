//! A collection moves to another normal form: every URL that it knows is spelled anew, and those that
//! become one are one.
//!
//! ```text
//! part-0/journal ──> entry, spelled anew ──> part-0.new/{journal, urls} ──done──> exchanged with part-0
//! ```
//!
//! Until the two are exchanged, in one step, the old one counts. Archive and captures stay as they are;
//! index and links go, and follow the new journal at the next run.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use teia_base::journal::{
    Attempt, Commit, Entry, EntryStream, Folded, JournalError, LinkVerdict, Record, RunStarted,
};
use teia_base::{CanonicalUrl, Clock, Files, FoundUrl, NormalForm, Timestamp};
use teia_repository::{Repository, State};
use url::Url;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::digests::Digests;
use crate::directory::{Directory, DirectoryLock, Layout};
use crate::followers::OrderByRank;
use crate::past::Past;

/// What a move came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// URLs before.
    pub before: u64,
    /// URLs after.
    pub after: u64,
}

/// Moves a collection to the normal form of its settings. `watch` hears how many of how many entries
/// are done.
pub fn rekey(
    directory: &Directory,
    _lock: &DirectoryLock,
    layout: &Layout,
    config: &CollectionConfig,
    clock: &dyn Clock,
    mut watch: impl FnMut(u64, u64),
) -> Result<Rekeyed, EngineError> {
    let (files, root, key) = (&directory.files(), directory.root(), directory.key());
    let aside = layout.aside();
    let (Some(place), Some(new_place)) =
        (files.on_disk(&layout.part()), files.on_disk(&aside.part()))
    else {
        return Err(EngineError::NotOnDisk);
    };
    let is_there = |path: &Path| files.on_disk(path).is_some_and(|place| place.exists());
    if is_there(&layout.index()) && !is_there(&layout.archive()) {
        return Err(EngineError::IndexWithoutArchive {
            path: root.join(layout.index()),
        });
    }
    remove(&new_place)?;
    let digests = Digests::new(0, 0);
    let (order, _) = OrderByRank::policy(config.run.order, key);
    let open = |layout| Past::open(files, root, (layout, key), config, &order, clock, &digests);
    let old = open(layout)?;
    let (before, last) = (old.repository.len(), old.ledger.head.position);
    // It must not look after the old blocks while they are read.
    drop(old);
    let new = open(&aside)?;
    let mut move_to = Move {
        form: &config.normal_form,
        past: new,
        met: HashSet::new(),
    };
    let entries = EntryStream::open(Arc::clone(files), &layout.journal(), 1, last)?;
    let (mut wall, mut moved) = (Timestamp::default(), 0);
    for entry in entries {
        let entry = entry?;
        watch(entry.sequence, last);
        (wall, moved) = (entry.wall, entry.sequence);
        move_to.entry(entry)?;
    }
    if moved != last {
        return Err(JournalError::Missing {
            path: layout.journal(),
            expected: moved + 1,
        }
        .into());
    }
    move_to.past.repository.decide_everything()?;
    move_to.look_after(wall)?;
    let Past {
        repository,
        ledger,
        saver,
        journal,
        ..
    } = &mut move_to.past;
    journal.sync()?;
    let saved = saver.finish(ledger, repository);
    saved.map_err(EngineError::disk("save the state below", root))?;
    let after = repository.len();
    drop(move_to);
    // They are of the old journal. Whatever happens now, they can be made again.
    for follower in [layout.index(), layout.links()] {
        if let Some(place) = files.on_disk(&follower) {
            remove(&place)?;
        }
    }
    let exchanged = renameat_with(CWD, &new_place, CWD, &place, RenameFlags::EXCHANGE);
    exchanged
        .map_err(|error| EngineError::disk("put the new URLs in place of", &place)(error.into()))?;
    let part = layout.part();
    let parent = part.parent().unwrap_or(Path::new(""));
    files
        .sync_dir(parent)
        .map_err(EngineError::disk("sync", parent))?;
    remove(&new_place)?;
    Ok(Rekeyed { before, after })
}

/// What a move that was interrupted has left.
pub(crate) fn remove_aside(files: &dyn Files, layout: &Layout) -> Result<(), EngineError> {
    files
        .on_disk(&layout.aside().part())
        .map_or(Ok(()), |place| remove(&place))
}

fn remove(place: &Path) -> Result<(), EngineError> {
    match std::fs::remove_dir_all(place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::disk("remove", place)(error))
        }
        _ => Ok(()),
    }
}

/// The new collection as it grows.
struct Move<'a> {
    form: &'a NormalForm,
    past: Past,
    /// URLs that the present entry has called new.
    met: HashSet<CanonicalUrl>,
}

impl Move<'_> {
    fn entry(&mut self, mut entry: Entry) -> Result<(), EngineError> {
        self.met.clear();
        match &mut entry.record {
            Record::RunStarted(run) => self.run_started(run),
            Record::Commit(commit) => self.commit(commit),
            Record::Added(added) => {
                for (url, verdict) in &mut added.urls {
                    *url = self.found(url);
                    *verdict = self.verdict(url.normal(), verdict);
                }
            }
            // The new blocks find out for themselves.
            Record::Folded(_) => return Ok(()),
            _ => {}
        }
        let wall = entry.wall;
        self.write(entry)?;
        self.past.repository.maintain(wall, true)?;
        self.tell_news(wall)
    }

    fn run_started(&mut self, run: &mut RunStarted) {
        if let Ok(mut options) = run.options.parse::<toml::Table>()
            && let Ok(form) = toml::Value::try_from(self.form)
        {
            options.insert("normal-form".to_owned(), form);
            run.options = options.to_string();
        }
        for seed in &mut run.seeds {
            seed.url = self.found(&seed.url);
            seed.verdict = self.verdict(seed.url.normal(), &seed.verdict);
        }
    }

    fn commit(&mut self, commit: &mut Commit) {
        for attempt in &mut commit.attempts {
            self.attempt(attempt);
        }
        for change in &mut commit.changes {
            change.url = self.normal(&change.url);
        }
        for update in &mut commit.hosts {
            update.host = self.host(&update.host);
            if let Some(alias) = &mut update.alias_of
                && !alias.is_empty()
            {
                *alias = self.host(alias);
            }
        }
    }

    fn attempt(&mut self, attempt: &mut Attempt) {
        attempt.url = self.found(&attempt.url);
        for link in &mut attempt.links {
            link.url = self.found(&link.url);
            link.verdict = self.verdict(link.url.normal(), &link.verdict);
        }
    }

    /// What is to be said of a URL in the new form, where this was said of it in the old one.
    fn verdict(&mut self, url: &CanonicalUrl, before: &LinkVerdict) -> LinkVerdict {
        if matches!(before, LinkVerdict::Known | LinkVerdict::NotFollowed) {
            return before.clone();
        }
        let repository = &self.past.repository;
        if repository.is_on_disk() {
            return match before {
                LinkVerdict::New => LinkVerdict::Pending,
                other => other.clone(),
            };
        }
        let excluded = matches!(before, LinkVerdict::Excluded(_));
        match state_of(repository, url) {
            Some(State::Excluded) if !excluded => LinkVerdict::Readmitted,
            Some(_) => LinkVerdict::Known,
            None if !self.met.insert(url.clone()) => LinkVerdict::Known,
            None if excluded => before.clone(),
            None => LinkVerdict::New,
        }
    }

    /// What a fold has decided becomes an entry, as in a crawl.
    fn tell_news(&mut self, wall: Timestamp) -> Result<(), EngineError> {
        for news in self.past.repository.take_news() {
            let run = self.past.ledger.head.run;
            self.write(Entry {
                sequence: 0,
                wall,
                run,
                record: Record::Folded(Folded {
                    fold: news.fold,
                    changes: news.changes,
                    is_last: news.is_last,
                }),
            })?;
        }
        self.past.repository.take_woken();
        let damage = self.past.repository.take_damage();
        match damage.into_iter().find(|damage| !damage.is_mended()) {
            Some(damage) => Err(damage.into()),
            None => Ok(()),
        }
    }

    /// What is left to decide. It is told at the time of the last entry: a move is no part of a run.
    fn look_after(&mut self, wall: Timestamp) -> Result<(), EngineError> {
        self.past.repository.maintain(wall, true)?;
        self.tell_news(wall)
    }

    fn write(&mut self, mut entry: Entry) -> Result<(), EngineError> {
        let Past {
            repository,
            ledger,
            saver,
            journal,
            ..
        } = &mut self.past;
        entry.sequence = journal.next_sequence();
        journal.append_unsynced(&entry)?;
        repository.replay(&entry);
        ledger.apply(&entry, repository.len());
        let saved = saver.look(ledger, repository);
        saved.map_err(EngineError::disk("save the state in", "the new part"))
    }

    fn found(&self, url: &FoundUrl) -> FoundUrl {
        // What was requested is what is requested again.
        let spelled = self.form.parse(url.request());
        spelled.unwrap_or_else(|_| url.clone())
    }

    fn normal(&self, url: &CanonicalUrl) -> CanonicalUrl {
        let spelled = self.form.parse(url.as_str());
        spelled.map_or_else(|_| url.clone(), FoundUrl::into_normal)
    }

    fn host(&self, host: &str) -> String {
        let url = Url::parse(&format!("http://{host}/")).ok();
        let found = url.and_then(|url| self.form.normalise(&url).ok());
        found.map_or_else(
            || host.to_owned(),
            |found| found.normal().host_str().to_owned(),
        )
    }
}

fn state_of(repository: &Repository, url: &CanonicalUrl) -> Option<State> {
    repository.state(url).map(|state| state.state)
}
