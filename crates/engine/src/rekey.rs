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
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use teia_base::journal::{
    Attempt, Commit, Entry, EntryStream, Folded, JournalError, LinkVerdict, Record, RunStarted,
};
use teia_base::{CanonicalUrl, Clock, Files, FoundUrl, NormalForm, Timestamp};
use teia_catalog::{Catalog, Identity};
use teia_repository::{Repository, State};
use url::Url;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::digests::Digests;
use crate::directory::{Directory, DirectoryLock, Layout};
use crate::followers::OrderByRank;
use crate::past::Past;
use crate::sense::spelled;

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
    let files = &directory.files();
    let aside = Aside::begin(directory, layout)?;
    let old = aside.open(layout, config, clock)?;
    let (before, last) = (old.repository.len(), old.ledger.head.position);
    // It must not look after the old blocks while they are read.
    drop(old);
    let mut move_to = aside.fill(config, clock)?;
    let entries = EntryStream::open(Arc::clone(files), &layout.journal(), 1, last)?;
    let mut moved = 0;
    for entry in entries {
        let entry = entry?;
        watch(entry.sequence, last);
        moved = entry.sequence;
        move_to.entry(entry)?;
    }
    if moved != last {
        return Err(JournalError::Missing {
            path: layout.journal(),
            expected: moved + 1,
        }
        .into());
    }
    let after = move_to.finish(directory.root())?;
    aside.exchange()?;
    Ok(Rekeyed { before, after })
}

/// Where the new part grows, beside the old one.
pub(crate) struct Aside<'a> {
    directory: &'a Directory,
    layout: &'a Layout,
    new: Layout,
    place: PathBuf,
    new_place: PathBuf,
}

impl<'a> Aside<'a> {
    /// An empty place, where a new part can take that of the old one.
    pub(crate) fn begin(directory: &'a Directory, layout: &'a Layout) -> Result<Self, EngineError> {
        let (files, new) = (directory.files(), layout.aside());
        let (Some(place), Some(new_place)) =
            (files.on_disk(&layout.part()), files.on_disk(&new.part()))
        else {
            return Err(EngineError::NotOnDisk);
        };
        let is_there = |path: &Path| files.on_disk(path).is_some_and(|place| place.exists());
        if is_there(&layout.index()) && !is_there(&layout.archive()) {
            return Err(EngineError::IndexWithoutArchive {
                path: directory.root().join(layout.index()),
            });
        }
        remove(&new_place)?;
        Ok(Self {
            directory,
            layout,
            new,
            place,
            new_place,
        })
    }

    fn open(
        &self,
        layout: &Layout,
        config: &CollectionConfig,
        clock: &dyn Clock,
    ) -> Result<Past, EngineError> {
        let (files, root, key) = (
            &self.directory.files(),
            self.directory.root(),
            self.directory.key(),
        );
        let (order, _) = OrderByRank::policy(config.run.order, key);
        let digests = Digests::new(0, 0);
        Past::open(files, root, (layout, key), config, &order, clock, &digests)
    }

    /// The new part, to which entries can be moved.
    pub(crate) fn fill<'c>(
        &self,
        config: &'c CollectionConfig,
        clock: &dyn Clock,
    ) -> Result<Move<'c>, EngineError> {
        let mut past = self.open(&self.new, config, clock)?;
        past.journal.pack_in_step();
        past.repository.tell_first();
        Ok(Move {
            form: &config.normal_form,
            past,
            met: HashSet::new(),
            wall: Timestamp::default(),
        })
    }

    /// The new part, which is whole and closed, takes the place of the old one, which goes.
    pub(crate) fn exchange(self) -> Result<(), EngineError> {
        let files = self.directory.files();
        // They are of the old journal. Whatever happens now, they can be made again. A catalog that cannot be reached now is
        // named by `teia verify`, with what to do.
        let config = CollectionConfig::load(&*files, self.directory.root(), self.layout);
        if let Some(store) = config?.and_then(|config| config.catalog.store(&*files)) {
            let identity = Identity::new(self.directory.key(), self.layout.name());
            if let Err(error) = Catalog::remove(&store, &identity) {
                tracing::warn!(%error, "the catalog still has the URLs of before");
            }
        }
        for follower in [self.layout.index(), self.layout.links()] {
            if let Some(place) = files.on_disk(&follower) {
                remove(&place)?;
            }
        }
        let (new_place, place) = (&self.new_place, &self.place);
        let exchanged = renameat_with(CWD, new_place, CWD, place, RenameFlags::EXCHANGE);
        exchanged.map_err(|error| {
            EngineError::disk("put the new URLs in place of", place)(error.into())
        })?;
        let part = self.layout.part();
        let parent = part.parent().unwrap_or(Path::new(""));
        files
            .sync_dir(parent)
            .map_err(EngineError::disk("sync", parent))?;
        remove(new_place)
    }
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
pub(crate) struct Move<'a> {
    form: &'a NormalForm,
    pub(crate) past: Past,
    /// URLs that the present entry has called new.
    met: HashSet<CanonicalUrl>,
    /// When the last entry was written, the first time.
    pub(crate) wall: Timestamp,
}

impl Move<'_> {
    /// Everything is decided and saved; how many URLs there are.
    pub(crate) fn finish(mut self, root: &Path) -> Result<u64, EngineError> {
        self.decide()?;
        let Past {
            repository,
            ledger,
            saver,
            journal,
            ..
        } = &mut self.past;
        journal.sync()?;
        let saved = saver.finish(ledger, repository);
        saved.map_err(EngineError::disk("save the state below", root))?;
        Ok(repository.len())
    }

    /// What is left to decide. It is told at the time of the last entry: a move is no part of a run.
    pub(crate) fn decide(&mut self) -> Result<(), EngineError> {
        self.past.repository.decide_everything()?;
        self.past.repository.maintain(self.wall, true)?;
        self.tell_news(self.wall)
    }

    /// Moves an entry.
    pub(crate) fn entry(&mut self, mut entry: Entry) -> Result<(), EngineError> {
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
            Record::Recovered(recovered) => {
                for found in &mut recovered.urls {
                    found.url = self.found(&found.url);
                    found.verdict = self.verdict(found.url.normal(), &found.verdict);
                }
            }
            Record::Prioritised(urls) => {
                for (url, _) in urls {
                    *url = self.normal(url);
                }
            }
            Record::Spelled(form) => *form = spelled(self.form),
            // The new blocks find out for themselves.
            Record::Folded(_) => return Ok(()),
            _ => {}
        }
        self.wall = entry.wall;
        self.tell(entry)
    }

    /// Writes an entry as it is, and what follows from it.
    pub(crate) fn tell(&mut self, entry: Entry) -> Result<(), EngineError> {
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
        // What is moved is of an earlier process; what the new blocks find out is of this one.
        match &entry.record {
            Record::Folded(_) => repository.apply(&entry),
            _ => repository.replay(&entry),
        }
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

pub(crate) fn state_of(repository: &Repository, url: &CanonicalUrl) -> Option<State> {
    repository.state(url).map(|state| state.state)
}
