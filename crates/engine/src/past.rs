//! What earlier processes left: how a collection is opened to go on with it, and how what it has become
//! is saved on the way.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use teia_base::journal::{Entry, Record, walk};
use teia_base::{Clock, Files, FoundUrl, Order, Timestamp};
use teia_repository::blocks::Store;
use teia_repository::{Backing, Repository, RepositoryConfig};

use crate::EngineError;
use crate::checkpoint::{Checkpoint, Checkpoints};
use crate::collection::{CollectionConfig, Mode, NewHosts};
use crate::crawl::NEW_CHANCE;
use crate::digests::Digests;
use crate::directory::Layout;
use crate::journal_writer::{JournalSize, JournalWriter};
use crate::ledger::Ledger;

/// What the journal says, and where it goes on.
pub(crate) struct Past {
    pub(crate) repository: Repository,
    pub(crate) ledger: Box<Ledger>,
    /// Seeds that people gave, and whether without scheme.
    pub(crate) given: Vec<(FoundUrl, bool)>,
    pub(crate) journal: JournalWriter,
    pub(crate) saver: Saver,
    /// What could not be read, so that the whole journal was.
    pub(crate) lost: Vec<String>,
}

impl Past {
    /// Recovers what was committed. Bodies met before go to `digests`.
    pub(crate) fn open(
        files: &Arc<dyn Files>,
        root: &Path,
        (layout, key): (&Layout, u64),
        config: &CollectionConfig,
        order: &Arc<dyn Order>,
        clock: &dyn Clock,
        digests: &Digests,
    ) -> Result<Self, EngineError> {
        let open = || {
            Repository::open(
                RepositoryConfig {
                    key,
                    order: Arc::clone(order),
                    keep_links: config.limits_depth(),
                    revisit_share: (config.mode == Mode::Incremental)
                        .then(|| config.run.share_of_revisits()),
                    new_hosts: match config.run.new_hosts {
                        NewHosts::Order => teia_repository::NewHosts::Order,
                        NewHosts::ShortestPath => teia_repository::NewHosts::ShortestPath,
                    },
                },
                Backing {
                    files: Arc::clone(files),
                    prefix: layout.urls(),
                    memory: config.run.repository_memory,
                    window: config.run.window,
                    filter_bits: config.run.filter_bits,
                },
            )
        };
        let mut lost = Vec::new();
        let opened = open();
        let loss = match &opened {
            Err(error) if error.is_loss() => Some(error.to_string()),
            Err(_) => None,
            Ok(repository) => repository.lost_run().map(|error| error.to_string()),
        };
        // Where the journal cannot be read either, the rest of the blocks goes on without that run.
        let mut repository = match loss {
            Some(loss) => {
                lost.push(loss);
                if forget_blocks(files, layout)? {
                    drop(opened);
                    open()?
                } else {
                    opened?
                }
            }
            None => opened?,
        };
        let (checkpoints, found) = Checkpoints::find(files, layout);
        lost.extend(found.err().map(|error| error.to_string()));
        let loaded = checkpoints.load(|host| repository.restore_host(host));
        let (mut ledger, past) = loaded.map_err(EngineError::disk("read", layout.part()))?;
        for (digest, capture) in past.bodies {
            digests.insert(digest, capture, None);
        }
        ledger.most_bodies = config.run.digests_remembered;
        let saved = ledger.head.position;
        repository.hosts_are_known_until(saved);
        let saver = Saver::new(checkpoints, config);
        let mut replay = Replay::new(&repository);
        let journal = JournalWriter::open(
            Arc::clone(files),
            layout.journal(),
            JournalSize {
                segment: config.run.journal_segment_bytes,
                kept: config.run.journal_bytes,
            },
            replay.begin(),
            |entry| {
                replay.take(&entry, &mut repository, &mut ledger);
                if let (true, Record::Commit(commit)) = (entry.sequence > saved, &entry.record) {
                    for attempt in &commit.attempts {
                        crate::stage::extract::remember(digests, attempt, None);
                    }
                }
            },
        )?;
        repository.mend_files();
        repository.maintain(clock.wall(), true)?;
        let last_entry = journal.next_sequence() - 1;
        for (position, path) in [
            (repository.position(), layout.urls()),
            (saved, layout.part().join("manifest")),
        ] {
            if position > last_entry {
                return Err(EngineError::JournalLost {
                    urls: position,
                    journal: last_entry,
                    path: root.join(path),
                    lost: root.join(layout.journal()),
                });
            }
        }
        let mut given = past.given;
        given.extend(ledger.grown.given.iter().cloned());
        Ok(Self {
            repository,
            ledger: Box::new(ledger),
            given,
            journal,
            saver,
            lost,
        })
    }
}

/// Takes the entries of earlier processes in, one after another.
pub(crate) struct Replay {
    wanted: u64,
    run: u32,
}

impl Replay {
    /// Of what the Repository and what was restored beside it do not know.
    pub(crate) fn new(repository: &Repository) -> Self {
        Self {
            wanted: repository.wanted_from(),
            run: 0,
        }
    }

    /// The first entry to be shown: the one before those that are wanted says which run it was.
    pub(crate) fn begin(&self) -> u64 {
        (self.wanted - 1).max(1)
    }

    /// Takes an entry in.
    pub(crate) fn take(&mut self, entry: &Entry, repository: &mut Repository, ledger: &mut Ledger) {
        let is_other_run = std::mem::replace(&mut self.run, entry.run) != entry.run;
        if entry.sequence < self.wanted {
            return;
        }
        // Blocks on disk that know of this entry have begun the run.
        if let Record::RunStarted(run) = &entry.record
            && is_other_run
            && entry.sequence > repository.position()
        {
            let (mode, revisit) = Mode::of_options(&run.options);
            begin_run(repository, mode, revisit, entry.wall);
        }
        repository.replay(entry);
        ledger.apply(entry, repository.len());
    }
}

/// A run begins, with another number than the one before: live and at a start the same.
pub(crate) fn begin_run(
    repository: &mut Repository,
    mode: Mode,
    revisit: Duration,
    wall: Timestamp,
) {
    match mode {
        Mode::Once => repository.begin_run(wall, NEW_CHANCE),
        Mode::Periodic => repository.begin_again(),
        Mode::Incremental => repository.begin_revisits(revisit),
    }
}

/// Removes blocks that cannot be read, where the journal has everything that was in them; says whether
/// it has. All of it is read to know: blocks of which a part is damaged are worth more than nothing.
pub(crate) fn forget_blocks(files: &Arc<dyn Files>, layout: &Layout) -> Result<bool, EngineError> {
    match walk(files, &layout.journal(), 1, drop) {
        Ok(Some(_)) => {
            Store::forget(&**files, &layout.urls())?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Blocks that cannot be read end one run at most: the journal has everything, and without them the next start
/// reads it. Says whether they are gone.
pub(crate) fn give_up_blocks(files: &Arc<dyn Files>, layout: &Layout) -> bool {
    match forget_blocks(files, layout) {
        Ok(true) => return true,
        Ok(false) => tracing::warn!(
            "damaged blocks stay as they are: the journal cannot be read from its beginning to its end (`teia urls verify` says where)"
        ),
        Err(error) => tracing::warn!(%error, "damaged blocks could not be removed"),
    }
    false
}

impl EngineError {
    /// Damaged blocks are given up where they are what happened.
    pub(crate) fn without_blocks(self, files: &Arc<dyn Files>, layout: &Layout) -> Self {
        match self {
            Self::Urls(damage) if damage.is_loss() && give_up_blocks(files, layout) => {
                Self::UrlsForgotten(damage)
            }
            error => error,
        }
    }
}

/// Saves checkpoints now and then, on a thread beside the commits.
pub(crate) struct Saver {
    /// Away while a checkpoint is written; for good after one that could not be.
    checkpoints: Option<Checkpoints>,
    saving: Option<JoinHandle<io::Result<Checkpoints>>>,
    /// After so many attempts, links and added URLs.
    every: u64,
    bodies: usize,
}

impl Saver {
    fn new(checkpoints: Checkpoints, config: &CollectionConfig) -> Self {
        // About a million links, as a fold: what a start has to read again takes seconds.
        let every = (config.run.repository_memory / 512).clamp(16, 1_000_000);
        Self {
            checkpoints: Some(checkpoints),
            saving: None,
            every,
            bodies: config.run.digests_remembered,
        }
    }

    /// Begins to save where it is time. To be called after an entry was applied to both, and often.
    pub(crate) fn look(
        &mut self,
        ledger: &mut Ledger,
        repository: &mut Repository,
    ) -> io::Result<()> {
        if let Some(saving) = self.saving.take_if(|saving| saving.is_finished()) {
            self.checkpoints = Some(join(saving)?);
        }
        if ledger.unsaved < self.every || !repository.is_on_disk() {
            return Ok(());
        }
        let Some(mut checkpoints) = self.checkpoints.take() else {
            return Ok(());
        };
        let hosts = repository.take_changed_hosts(checkpoints.is_empty());
        let checkpoint = Checkpoint::take(ledger, hosts);
        let bodies = self.bodies;
        let save = move || {
            checkpoints.save(checkpoint, bodies)?;
            Ok(checkpoints)
        };
        let begun = std::thread::Builder::new().name("teia-state".to_owned());
        self.saving = Some(begun.spawn(save)?);
        Ok(())
    }

    /// Saves everything, and waits for it.
    pub(crate) fn finish(
        &mut self,
        ledger: &mut Ledger,
        repository: &mut Repository,
    ) -> io::Result<()> {
        if let Some(saving) = self.saving.take() {
            self.checkpoints = Some(join(saving)?);
        }
        let Some(mut checkpoints) = self.checkpoints.take() else {
            return Ok(());
        };
        if repository.is_on_disk() {
            let hosts = repository.take_changed_hosts(checkpoints.is_empty());
            checkpoints.save(Checkpoint::take(ledger, hosts), self.bodies)?;
        }
        self.checkpoints = Some(checkpoints);
        Ok(())
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        // Nothing is written after its owner is gone.
        if let Some(saving) = self.saving.take() {
            let _ = saving.join();
        }
    }
}

fn join(saving: JoinHandle<io::Result<Checkpoints>>) -> io::Result<Checkpoints> {
    let ended = saving.join();
    ended.unwrap_or_else(|_| Err(io::Error::other("the thread that saves has ended")))
}
