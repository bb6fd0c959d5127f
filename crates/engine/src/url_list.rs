//! The URLs of a collection that nobody crawls meanwhile: to add to them, and to look at them.
//!
//! What is added is a journal entry like any other, so a crawl, a kill and a rebuild know of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::journal::{Added, Entry, Folded, LinkVerdict, Record};
use teia_base::{Clock, Files, NormalForm, Seed};
use teia_repository::{Offer, Repository};

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::digests::Digests;
use crate::directory::{DirectoryLock, Layout};
use crate::followers::OrderByRank;
use crate::past::{Past, forget_blocks};
use crate::sense::{check_fixed, spelled};

/// Of so many lines that are no URLs it is said why; the others are only counted.
pub const INVALID_TOLD: u64 = 10;

/// The URLs of a collection. Nobody else may write the data directory meanwhile.
pub struct UrlList {
    past: Past,
    root: PathBuf,
    clock: Arc<dyn Clock>,
    normal_form: NormalForm,
    report: AddReport,
    /// Lines so far, blank ones too.
    line: u64,
    warnings: Vec<String>,
    files: Arc<dyn Files>,
    layout: Layout,
    key: u64,
    config: CollectionConfig,
    lock: DirectoryLock,
}

impl std::fmt::Debug for UrlList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UrlList")
            .field("repository", &self.past.repository)
            .finish_non_exhaustive()
    }
}

/// What became of URLs that were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddReport {
    /// Lines read, blank ones and comments apart.
    pub read: u64,
    /// URLs never met before; before [`UrlList::decide`], those that are known to be so by now.
    pub new: u64,
    /// Lines that are no URL that can be collected.
    pub invalid: u64,
}

impl AddReport {
    /// URLs met before, once everything is decided.
    pub fn known(&self) -> u64 {
        self.read.saturating_sub(self.new + self.invalid)
    }
}

/// Removes the URLs on disk of a collection, so that whoever opens them next makes them again from the journal. Says
/// whether it did: where the journal is not whole, they are all that some URLs are known by, and stay.
pub fn forget_urls(
    files: &Arc<dyn Files>,
    layout: &Layout,
    _lock: &DirectoryLock,
) -> Result<bool, EngineError> {
    forget_blocks(files, layout)
}

impl UrlList {
    /// Opens the URLs of a collection, which may be empty.
    pub fn open(
        files: &Arc<dyn Files>,
        root: &Path,
        key: u64,
        layout: &Layout,
        config: &CollectionConfig,
        clock: Arc<dyn Clock>,
        lock: DirectoryLock,
    ) -> Result<Self, EngineError> {
        let mut list = Self::begin(files, root, key, layout, config, clock, lock)?;
        // What an earlier process left undecided is none of what this one adds.
        list.report = AddReport::default();
        Ok(list)
    }

    /// Opens the URLs again after damaged blocks were given up, and goes on with what is counted.
    pub fn reopened(self) -> Result<Self, EngineError> {
        let Self {
            past,
            root,
            clock,
            report,
            line,
            warnings,
            files,
            layout,
            key,
            config,
            lock,
            ..
        } = self;
        drop(past);
        let mut list = Self::begin(&files, &root, key, &layout, &config, clock, lock)?;
        list.report = AddReport {
            new: report.new + list.report.new,
            ..report
        };
        list.line = line;
        list.warnings.splice(0..0, warnings);
        Ok(list)
    }

    /// Opens the URLs, and decides what was left; it is counted.
    fn begin(
        files: &Arc<dyn Files>,
        root: &Path,
        key: u64,
        layout: &Layout,
        config: &CollectionConfig,
        clock: Arc<dyn Clock>,
        lock: DirectoryLock,
    ) -> Result<Self, EngineError> {
        let digests = Digests::new(0, 0);
        let (order, _) = OrderByRank::policy(config.run.order, key);
        let place = (layout, key);
        let mut past = Past::open(files, root, place, config, &order, &*clock, &digests)?;
        check_fixed(config, past.ledger.head.options.as_deref())?;
        let mut list = Self {
            warnings: std::mem::take(&mut past.lost),
            line: 0,
            files: Arc::clone(files),
            layout: layout.clone(),
            past,
            root: root.to_owned(),
            clock,
            normal_form: config.normal_form.clone(),
            report: AddReport::default(),
            key,
            config: config.clone(),
            lock,
        };
        if list.past.ledger.head.options.is_none() {
            list.commit(Record::Spelled(spelled(&config.normal_form)))?;
        }
        if list.past.repository.undecided() > 0 {
            list.past.repository.decide_everything()?;
        }
        list.look_after()?;
        Ok(list)
    }

    /// Adds URLs, one a line, in one commit: when this returns, they are there.
    pub fn add<'a>(&mut self, lines: impl Iterator<Item = &'a str>) -> Result<(), EngineError> {
        let wall = self.clock.wall();
        let mut added = Added::default();
        for line in lines {
            self.line += 1;
            let seed = match Seed::parse(line) {
                Ok(None) => continue,
                Ok(Some(seed)) => self
                    .normal_form
                    .normalise(&seed.url)
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            self.report.read += 1;
            let url = match seed {
                Ok(url) => url,
                Err(reason) => {
                    self.report.invalid += 1;
                    if self.report.invalid <= INVALID_TOLD {
                        self.warnings.push(format!("line {}: {reason}", self.line));
                    }
                    continue;
                }
            };
            let verdict = self
                .past
                .repository
                .offer(&Offer::added(&url), wall)
                .verdict;
            self.report.new += u64::from(verdict == LinkVerdict::New);
            added.urls.push((url, verdict));
        }
        if !added.urls.is_empty() {
            self.commit(Record::Added(added))?;
        }
        self.look_after()
    }

    /// Decides of every URL that was added whether it is new.
    pub fn decide(&mut self) -> Result<AddReport, EngineError> {
        let decided = self.past.repository.decide_everything();
        decided.map_err(|error| self.without_blocks(error.into()))?;
        self.look_after()?;
        let Past {
            repository,
            ledger,
            saver,
            ..
        } = &mut self.past;
        let saved = saver.finish(ledger, repository);
        saved.map_err(EngineError::disk("save the state below", &self.root))?;
        Ok(self.report)
    }

    /// What became of what was added so far.
    pub fn report(&self) -> AddReport {
        self.report
    }

    /// The URLs, to look at.
    pub fn repository(&mut self) -> &mut Repository {
        &mut self.past.repository
    }

    /// Damaged blocks are given up where they are what happened: see [`UrlList::reopened`].
    fn without_blocks(&self, error: EngineError) -> EngineError {
        error.without_blocks(&self.files, &self.layout)
    }

    fn look_after(&mut self) -> Result<(), EngineError> {
        let looked = self.try_look_after();
        looked.map_err(|error| self.without_blocks(error))
    }

    fn try_look_after(&mut self) -> Result<(), EngineError> {
        let Past {
            repository,
            ledger,
            saver,
            ..
        } = &mut self.past;
        if repository.is_behind() {
            repository.catch_up()?;
        }
        repository.maintain(self.clock.wall(), true)?;
        let saved = saver.look(ledger, repository);
        saved.map_err(EngineError::disk("save the state below", &self.root))?;
        for news in self.past.repository.take_news() {
            let new = news.changes.iter();
            let new = new.filter(|change| change.verdict == LinkVerdict::New);
            self.report.new += new.count() as u64;
            self.commit(Record::Folded(Folded {
                fold: news.fold,
                changes: news.changes,
                is_last: news.is_last,
            }))?;
        }
        self.past.repository.take_woken();
        for damage in self.past.repository.take_damage() {
            if damage.is_mended() {
                let text = format!("{damage}; what was there was found again, and is written anew");
                self.warnings.push(text);
                continue;
            }
            // Some URLs cannot be decided now. The journal has them all, and the next who opens
            // the list reads it.
            return Err(damage.into());
        }
        Ok(())
    }

    /// What people should know of, since the last call; nothing is wrong with the list.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn commit(&mut self, record: Record) -> Result<(), EngineError> {
        let entry = Entry {
            sequence: self.past.journal.next_sequence(),
            wall: self.clock.wall(),
            run: self.past.ledger.head.run,
            record,
        };
        self.past.journal.append(&entry)?;
        self.past.repository.apply(&entry);
        let known = self.past.repository.len();
        self.past.ledger.apply(&entry, known);
        Ok(())
    }
}
