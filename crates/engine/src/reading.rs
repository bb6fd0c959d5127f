//! Reading a collection without a lock: what the journal says, for people and for programs.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use teia_base::journal::{
    Attempt, Entry, EntryStream, JournalError, Quarantined, Record, all_segments, walk,
};
use teia_base::{CanonicalUrl, Files, Overlay, Timestamp};
use teia_frontier::Breadth;
use teia_repository::blocks::{Store, StoreError};
use teia_repository::{Backing, Repository, RepositoryConfig, State};

use crate::EngineError;
use crate::checkpoint::Checkpoints;
use crate::collection::RunConfig;
use crate::directory::{Directory, Layout};
pub use crate::growth::Growth;
use crate::ledger::Ledger;
use crate::past::Replay;
use crate::removals::Removals;
use crate::stats::Stats;

/// A collection, to be read. Another process may be writing it meanwhile.
#[derive(Debug)]
pub struct Reading {
    files: Arc<dyn Files>,
    root: PathBuf,
    key: u64,
    layout: Layout,
}

/// A collection at a glance.
#[derive(Debug)]
pub struct Overview {
    /// Every URL, as committed.
    pub repository: Repository,
    /// The last entry of the journal that was taken in.
    pub position: u64,
    /// The runs, oldest first.
    pub runs: Vec<RunSummary>,
    /// How it grew, oldest first; at most thirty rows.
    pub growth: Vec<Growth>,
    /// What was ever taken for a trap; settings say what of it is allowed.
    pub quarantined: Vec<Quarantined>,
}

/// A run, as the journal has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its number.
    pub number: u32,
    /// When it began.
    #[serde(serialize_with = "as_text")]
    pub started: Timestamp,
    /// Its last entry.
    #[serde(serialize_with = "as_text")]
    pub last_commit: Timestamp,
    /// Why it ended; none while it goes on or after a kill.
    pub ended: Option<String>,
    /// A person let it rest, and nobody has let it go on.
    pub paused: bool,
    /// What was counted.
    pub stats: Stats,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
pub(crate) fn as_text<S: serde::Serializer>(
    moment: &Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if !serializer.is_human_readable() {
        return moment.serialize(serializer);
    }
    serializer.serialize_str(&moment.to_string())
}

/// So often a collection is opened whose files go meanwhile.
const MOST_TRIES: u32 = 5;
/// Links that whoever only looks decides before it counts.
const MOST_DECIDED: u64 = 300_000;
/// URLs of a removed host that are held in memory at once.
const MOST_REMOVED: usize = 100_000;

impl Reading {
    /// Opens a collection that must exist.
    pub fn open(directory: &Directory, name: &str) -> Result<Self, EngineError> {
        let layout = Layout::new(name)?;
        let files = directory.files();
        let exists = files.exists(&layout.config()) || files.exists(&layout.journal());
        if !exists {
            return Err(directory.no_collection(name));
        }
        Ok(Self {
            files,
            root: directory.root().to_owned(),
            key: directory.key(),
            layout,
        })
    }

    /// The disk below the data directory.
    pub fn files(&self) -> Arc<dyn Files> {
        Arc::clone(&self.files)
    }

    /// Where the parts lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The data directory.
    pub fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// Reads every committed entry, oldest first.
    pub fn entries(&self, each: impl FnMut(Entry)) -> Result<(), EngineError> {
        self.entries_from(1, each)
    }

    fn entries_from(&self, from: u64, each: impl FnMut(Entry)) -> Result<(), EngineError> {
        walk(&self.files, &self.layout.journal(), from, each)?;
        Ok(())
    }

    /// Reads every file of the journal, and says what is wrong with it.
    pub fn verify_journal(&self) -> Result<Vec<JournalError>, EngineError> {
        let directory = self.layout.journal();
        let found = all_segments(&*self.files, &directory);
        let found = found.map_err(EngineError::disk("list", &directory))?;
        let mut problems = Vec::new();
        let mut expected = 1;
        for (at, &first) in found.iter().enumerate() {
            if first != expected {
                let path = directory.clone();
                problems.push(JournalError::Missing { path, expected });
            }
            let Some(&next) = found.get(at + 1) else {
                problems.extend(walk(&self.files, &directory, first, drop).err());
                break;
            };
            expected = first;
            match self.verify_between(first, next - 1, &mut expected) {
                Ok(()) => {}
                Err(error) => {
                    problems.push(error);
                    expected = next;
                }
            }
        }
        // A damaged end looks as if it had been torn; but others have heard of it.
        let last = self.position().unwrap_or(u64::MAX);
        if last < self.told_of() {
            problems.push(JournalError::Missing {
                path: directory,
                expected: last + 1,
            });
        }
        Ok(problems)
    }

    /// The last entry that was told of to what can be read beside the journal.
    pub(crate) fn told_of(&self) -> u64 {
        let blocks = self.blocks().ok().flatten();
        let blocks = blocks.map_or(0, |blocks| blocks.position());
        let (checkpoints, _) = Checkpoints::find(&self.files, &self.layout);
        let loaded = checkpoints.load(drop);
        blocks.max(loaded.map_or(0, |(ledger, _)| ledger.head.position))
    }

    /// What is wrong with the files that say what there is of the URLs on disk. Whoever opens them puts it right, so
    /// that it is not seen afterwards. A process that collects may be replacing them meanwhile.
    pub fn verify_manifests(&self) -> Vec<StoreError> {
        let mut looks = 0;
        loop {
            let problems = Store::verify_manifests(&*self.files, &self.layout.urls());
            looks += 1;
            if problems.is_empty() || looks == MOST_TRIES {
                return problems;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Reads what was saved on the way, in place of which a start could read the journal; what is wrong.
    pub fn verify_state(&self) -> Result<(), EngineError> {
        let (checkpoints, found) = Checkpoints::find(&self.files, &self.layout);
        let read = found.and_then(|()| checkpoints.load(drop).map(drop));
        read.map_err(EngineError::disk("read", self.layout.part()))
    }

    fn verify_between(&self, from: u64, until: u64, next: &mut u64) -> Result<(), JournalError> {
        let files = Arc::clone(&self.files);
        for entry in EntryStream::open(files, &self.layout.journal(), from, until)? {
            *next = entry?.sequence + 1;
        }
        Ok(())
    }

    /// Seeds of all runs, and where they were sent on to: around them lies the scope.
    pub fn seeds(&self) -> Result<Vec<CanonicalUrl>, EngineError> {
        Ok(self.look()?.ledger.seeds)
    }

    /// The Repository, as committed.
    pub fn repository(&self) -> Result<Repository, EngineError> {
        Ok(self.look()?.repository)
    }

    /// The same, and the last entry of the journal that it has taken in.
    pub(crate) fn repository_and_position(&self) -> Result<(Repository, u64), EngineError> {
        let look = self.look()?;
        Ok((look.repository, look.ledger.head.position))
    }

    /// Everything in numbers.
    pub fn overview(&self) -> Result<Overview, EngineError> {
        let Look {
            mut repository,
            ledger,
            mut runs,
        } = self.look()?;
        // What the last fold did not see is decided here where that takes a moment. Of much more, a
        // reader says how much it is.
        if repository.undecided() <= MOST_DECIDED {
            repository.decide_everything()?;
        }
        runs.extend(ledger.grown.runs);
        let growth = ledger.head.growth.rows();
        let position = ledger.head.position;
        runs.extend(ledger.head.current);
        Ok(Overview {
            repository,
            position,
            runs,
            growth,
            quarantined: ledger.head.quarantined,
        })
    }

    /// Opens it as committed. A process that collects may remove files that were just found named:
    /// then what it wrote in their place is looked at.
    fn look(&self) -> Result<Look, EngineError> {
        let mut tries = 0;
        loop {
            match self.try_look() {
                Err(error) if error.is_not_found() && tries < MOST_TRIES => tries += 1,
                Ok(look) if look.repository.misses_files() && tries < MOST_TRIES => tries += 1,
                looked => return looked,
            }
        }
    }

    fn config(&self) -> RepositoryConfig {
        RepositoryConfig {
            key: self.key,
            order: Arc::new(Breadth),
            keep_links: false,
            revisit_share: None,
            new_hosts: teia_repository::NewHosts::default(),
        }
    }

    /// The URLs on disk alone, without what the journal tells since; none where all are in memory.
    pub fn blocks(&self) -> Result<Option<Repository>, EngineError> {
        if !Store::exists(&*self.files, &self.layout.urls()) {
            return Ok(None);
        }
        let scratch = Overlay::in_scratch(Arc::clone(&self.files));
        let scratch = scratch.map_err(EngineError::disk("make", "a temporary folder"))?;
        let backing = Backing {
            files: Arc::new(scratch),
            prefix: self.layout.urls(),
            memory: RunConfig::default().repository_memory,
            window: RunConfig::default().window,
            filter_bits: 10,
        };
        Ok(Some(Repository::open(self.config(), backing)?))
    }

    fn try_look(&self) -> Result<Look, EngineError> {
        let blocks = self.blocks()?;
        let mut repository = blocks.unwrap_or_else(|| Repository::new(self.config()));
        let (checkpoints, found) = Checkpoints::find(&self.files, &self.layout);
        if let Err(error) = found
            && error.kind() == std::io::ErrorKind::NotFound
        {
            return Err(EngineError::disk("read", self.layout.part())(error));
        }
        let loaded = checkpoints.load(|host| repository.restore_host(host));
        let (mut ledger, past) = loaded.map_err(EngineError::disk("read", self.layout.part()))?;
        repository.hosts_are_known_until(ledger.head.position);
        let mut replay = Replay::new(&repository);
        self.entries_from(replay.begin(), |entry| {
            replay.take(&entry, &mut repository, &mut ledger);
        })?;
        repository.maintain(Timestamp::default(), true)?;
        self.leave_removed_out(&mut repository)?;
        Ok(Look {
            repository,
            ledger,
            runs: past.runs,
        })
    }

    /// What people asked to have removed waits no more, also where no run has written that down yet. A list that
    /// cannot be read is told of by those who show pages.
    fn leave_removed_out(&self, repository: &mut Repository) -> Result<(), EngineError> {
        let removals = Removals::heeded(&*self.files, &self.layout).removals;
        let exclusion = Removals::exclusion();
        for (kind, name) in removals.lines() {
            if kind == "url" {
                let url = CanonicalUrl::from_stored(name);
                let state = repository.state(&url).map(|known| known.state);
                if state == Some(State::Waiting) {
                    repository.overlay_exclusion(&url, &exclusion);
                }
                continue;
            }
            let mut before = None;
            loop {
                let known = repository.host(name);
                if known.is_none_or(|known| repository.host_counts(known).1 == 0) {
                    break;
                }
                let mut some = Vec::new();
                let looked = repository.for_each(
                    Some(name),
                    |state| state == State::Waiting,
                    |url| {
                        if some.len() < MOST_REMOVED {
                            some.push(url.url.into_normal());
                        }
                    },
                );
                // Damage is told by what is asked for; here only counts would be a little off.
                looked.or_else(|error| if error.is_loss() { Ok(()) } else { Err(error) })?;
                // What a damaged block cannot take in is found as it was.
                if some.is_empty() || some.first() == before.as_ref() {
                    break;
                }
                before = some.first().cloned();
                for url in &some {
                    repository.overlay_exclusion(url, &exclusion);
                }
            }
        }
        Ok(())
    }

    /// The last attempts on a host, oldest first.
    pub fn attempts_on(&self, host: &str, most: usize) -> Result<Vec<Attempt>, EngineError> {
        let mut attempts = VecDeque::new();
        let until = self.position()?;
        let files = Arc::clone(&self.files);
        let entries = EntryStream::open(files, &self.layout.journal(), 1, until)?;
        for entry in entries.with_text(host) {
            let Record::Commit(commit) = entry?.record else {
                continue;
            };
            for attempt in commit.attempts {
                if attempt.url.normal().host_str() == host {
                    attempts.push_back(attempt);
                }
            }
            while attempts.len() > most {
                attempts.pop_front();
            }
        }
        let mut attempts = Vec::from(attempts);
        // The journal has them by commit.
        attempts.sort_by_key(|attempt| attempt.started);
        Ok(attempts)
    }

    /// The last entry of the journal; 0 where there is none.
    fn position(&self) -> Result<u64, EngineError> {
        let directory = self.layout.journal();
        let found = all_segments(&*self.files, &directory);
        let found = found.map_err(EngineError::disk("list", &directory))?;
        let Some(&last) = found.last() else {
            return Ok(0);
        };
        let mut position = last.saturating_sub(1);
        self.entries_from(last, |entry| position = entry.sequence)?;
        Ok(position)
    }
}

/// A collection as committed.
struct Look {
    repository: Repository,
    ledger: Ledger,
    /// Runs that the ledger has saved.
    runs: Vec<RunSummary>,
}
