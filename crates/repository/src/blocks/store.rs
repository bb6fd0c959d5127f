//! The store itself: what it holds, and how it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hashbrown::{HashMap, HashSet};
use teia_base::{Files, Step};

use super::block::{Block, Disk, Kind, block_of, name_of};
use super::config::{FRONT_BYTES, StoreConfig};
use super::damage::Damage;
use super::delta::{Delta, SETTLED};
use super::error::StoreError;
use super::filter::Filter;
use super::front::{ByHash, Front};
use super::look_aside::Aside;
use super::manifest::{Manifest, key_check};
use super::media_types::MediaTypes;
use super::news::Telling;
use super::page::Unpacker;
use super::recent::Recent;
use super::run::{PageEntry, RunFile};
use super::schedule::Schedule;
use super::stream::RowStream;
use super::taken::Taken;
use super::window::Slot;
use crate::due::LongestWait;
use crate::row::State;

/// Every URL ever met, once, on disk.
#[derive(Debug)]
pub struct Store {
    pub(crate) disk: Arc<Disk>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) filters: Vec<Option<Filter>>,
    /// URLs that were settled in news that waits for their block: no longer to be handed out.
    pub(crate) taken: Vec<Taken>,
    pub(crate) leased: HashSet<u64, ByHash>,
    /// URLs that were asked for, left to a visit, and not taken in yet.
    pub(crate) asked: HashSet<u64, ByHash>,
    pub(crate) schedules: HashMap<Slot, Schedule>,
    /// A look that goes on beside everything else, and what waits for its end.
    pub(crate) aside: Option<Aside>,
    pub(crate) put_off: HashSet<Slot>,
    pub(crate) waiting: Vec<Arc<RunFile>>,
    pub(crate) front: Front,
    /// URLs that the front may hold.
    pub(crate) front_room: usize,
    pub(crate) sealed: Option<Arc<Front>>,
    /// An empty front with the room of one that was folded.
    pub(crate) spare: Option<Front>,
    pub(crate) recent: Option<Recent>,
    pub(crate) scratch: Vec<u8>,
    pub(crate) unpacker: Unpacker,
    pub(crate) news: Vec<(u64, Vec<Arc<RunFile>>)>,
    pub(crate) told: u64,
    pub(crate) telling: Telling,
    /// News of folds up to this one may be of URLs that earlier blocks have called new.
    pub(crate) checks_told: u64,
    pub(crate) acknowledged: u64,
    pub(crate) position: u64,
    pub(crate) sealed_position: u64,
    pub(crate) sequence: u64,
    pub(crate) epochs: Vec<(u64, u32)>,
    pub(crate) fold: u64,
    pub(crate) credit: i64,
    pub(crate) states: [u64; 5],
    pub(crate) notes: Vec<u8>,
    pub(crate) sealed_notes: Vec<u8>,
    pub(crate) damage: Damage,
    pub(crate) media_types: MediaTypes,
}

/// How large the store is.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreStats {
    /// URLs in the blocks; what waits for its visit is not counted.
    pub urls: u64,
    /// Blocks.
    pub blocks: usize,
    /// Runs.
    pub runs: usize,
    /// Bytes of the runs.
    pub run_bytes: u64,
    /// Rows that wait for a visit.
    pub waiting_rows: u64,
    /// Bytes of the files in which they wait.
    pub waiting_bytes: u64,
    /// Bytes of the filters in memory.
    pub filter_bytes: usize,
    /// URLs in the front.
    pub front: usize,
    /// URLs that were chosen for windows and are in memory.
    pub kept_aside: usize,
    /// Hosts of which URLs were chosen.
    pub scheduled_hosts: usize,
    /// Bytes of memory that those take, about.
    pub schedule_bytes: usize,
    /// Bytes of memory that the indexes of the runs take.
    pub index_bytes: usize,
    /// Bytes of memory that URLs take which were handed out since the last visits of their blocks.
    pub taken_bytes: usize,
}

impl Store {
    /// Whether there is a store.
    pub fn exists(files: &dyn Files, prefix: &Path) -> bool {
        Manifest::exists(files, &prefix.join("manifest"))
    }

    /// Opens the store, or makes an empty one. Files that the manifest does not name are removed.
    /// Damage is contained where that can be (see [`Store::take_damage`]); only a manifest that is
    /// damaged like its copy leaves nothing to open (see [`Store::forget`]).
    pub fn open(files: Arc<dyn Files>, config: StoreConfig) -> Result<Self, StoreError> {
        let is_first = !Self::exists(&*files, &config.prefix);
        let _step = Step::begin(if is_first { "move" } else { "recovery" });
        let manifest_path = config.prefix.join("manifest");
        files
            .create_dir(&config.prefix)
            .map_err(StoreError::disk("make", &config.prefix))?;
        let damage = Damage::default();
        let manifest = match Manifest::read(&*files, &manifest_path)? {
            Some((manifest, damaged)) => {
                damaged.map_or(Ok(()), |error| damage.note(error))?;
                manifest
            }
            None => Manifest {
                key_check: key_check(config.key),
                next_id: 1,
                next_sequence: 1,
                ..Manifest::default()
            },
        };
        if manifest.key_check != key_check(config.key) {
            return Err(StoreError::Key {
                path: manifest_path,
            });
        }
        let disk = Disk {
            files,
            next_id: AtomicU64::new(manifest.next_id),
            config,
            longest_wait: LongestWait::default(),
        };
        remove_unnamed(&disk, &manifest)?;
        let mut blocks = Vec::new();
        for record in manifest.blocks {
            let runs = record.runs.iter().map(|&id| disk.open(Kind::Run, id));
            blocks.push(Block {
                lower: record.lower,
                runs: runs.collect::<Result<_, _>>()?,
                visited: record.visited,
                visited_fold: record.visited_fold,
                urls: record.urls,
            });
        }
        let mut filters: Vec<Option<Filter>> = blocks.iter().map(|_| None).collect();
        let mut news = Vec::new();
        for (fold, runs) in manifest.news {
            let runs = runs.iter().map(|&id| disk.open(Kind::Run, id));
            news.push((fold, runs.collect::<Result<_, _>>()?));
        }
        let waiting = manifest.waiting.iter();
        let waiting = waiting.map(|&id| disk.open(Kind::Pending, id));
        let waiting: Vec<_> = waiting.collect::<Result<_, _>>()?;
        if blocks.is_empty() {
            blocks.push(Block::empty());
            // Nothing was ever met, which an empty filter says at once.
            let urls = disk.config.front_urls as u64;
            let filter = disk.config.filter_bits.map(|bits| Filter::new(urls, bits));
            filters.push(filter.filter(|_| waiting.is_empty()));
        }
        let mut store = Self {
            damage,
            media_types: MediaTypes::new(manifest.media_types),
            taken: blocks.iter().map(|_| Taken::default()).collect(),
            leased: HashSet::default(),
            asked: HashSet::default(),
            schedules: HashMap::default(),
            aside: None,
            put_off: HashSet::default(),
            recent: Recent::new(disk.config.recent_links, disk.config.key),
            front_room: disk.config.front_urls,
            disk: Arc::new(disk),
            blocks,
            filters,
            waiting,
            front: Front::default(),
            sealed: None,
            spare: None,
            scratch: Vec::new(),
            unpacker: Unpacker::default(),
            news,
            told: 0,
            telling: Telling::default(),
            checks_told: 0,
            acknowledged: 0,
            position: manifest.position,
            sealed_position: manifest.position,
            sequence: manifest.next_sequence,
            epochs: manifest.epochs,
            fold: manifest.fold,
            credit: 0,
            states: manifest.states,
            sealed_notes: manifest.notes.clone(),
            notes: manifest.notes,
        };
        store.note_flaws()?;
        store.find_taken()?;
        store.make_room();
        Ok(store)
    }

    /// What grows with the store is kept in the front's memory: the indexes of the runs, what was handed out, and what was
    /// chosen of hosts.
    pub(crate) fn make_room(&mut self) {
        let scheduled = self.bound_schedules();
        let taken: usize = self.taken.iter().map(Taken::bytes).sum();
        let bytes = (self.index_bytes() + taken + scheduled) as u64;
        let fewer = usize::try_from(bytes / FRONT_BYTES).unwrap_or(usize::MAX);
        let most = self.disk.config.front_urls;
        self.front_room = most.saturating_sub(fewer).max(most / 4).max(1);
    }

    fn index_bytes(&self) -> usize {
        let runs = self.blocks.iter().flat_map(|block| &block.runs);
        let pages = runs.chain(&self.waiting).map(|run| run.index.len());
        pages.sum::<usize>() * size_of::<PageEntry>()
    }

    /// The caller's position as of the last fold: what came after it is to be told again.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What the caller noted beside the store, as of its position.
    pub fn notes(&self) -> &[u8] {
        &self.notes
    }

    /// Notes something beside the store: it becomes durable with what is told until the next fold.
    pub fn set_notes(&mut self, notes: Vec<u8>) {
        self.notes = notes;
    }

    /// Number of the last fold.
    pub fn last_fold(&self) -> u64 {
        self.fold
    }

    /// Whether so much was met that a fold is due.
    pub fn wants_fold(&self) -> bool {
        self.sealed.is_none() && self.front.is_full(self.front_room)
    }

    /// Whether so much was met since the fold that is under way began that it should be waited for.
    pub fn is_behind(&self) -> bool {
        self.sealed.is_some() && self.front.is_full(self.front_room)
    }

    /// Takes over for how long a URL may wait.
    pub(crate) fn follow_longest_wait(&self, wait: &LongestWait) {
        self.disk.longest_wait.follow(wait);
    }

    /// Notes the time: what is offered from now on was first met then (seconds since 1970).
    pub fn set_time(&mut self, now: u32) {
        match self.epochs.last_mut() {
            Some((sequence, second)) if *sequence == self.sequence => *second = now,
            Some((_, second)) if now.saturating_sub(*second) < 60 => {}
            _ => self.epochs.push((self.sequence, now)),
        }
    }

    /// The caller has noted the news of all folds up to this one durably: it is not told again.
    /// Counts from the next fold on.
    pub fn acknowledge(&mut self, fold: u64) {
        self.acknowledged = self.acknowledged.max(fold);
        // A store that was begun anew hears of folds that it never made: its own are told apart from them.
        self.fold = self.fold.max(fold);
    }

    /// URLs in a state, as far as they have reached the blocks.
    pub fn count(&self, state: State) -> u64 {
        self.states[state as usize]
    }

    /// Rows that wait for the visit of their block, or for the fold before it.
    pub fn undecided(&self) -> u64 {
        self.waiting_rows() + self.front.len() as u64
    }

    /// Rows that wait for the visit of their block.
    pub fn waiting_rows(&self) -> u64 {
        self.waiting.iter().map(|run| run.rows).sum()
    }

    /// How large everything is. Goes through all that is in memory: not to be asked often.
    pub fn stats(&self) -> StoreStats {
        let runs = || self.blocks.iter().flat_map(|block| &block.runs);
        StoreStats {
            urls: self.blocks.iter().map(|block| block.urls).sum(),
            blocks: self.blocks.len(),
            runs: runs().count(),
            run_bytes: runs().map(|run| run.bytes).sum(),
            waiting_rows: self.waiting_rows(),
            waiting_bytes: self.waiting.iter().map(|run| run.bytes).sum(),
            filter_bytes: self.filters.iter().flatten().map(Filter::bytes).sum(),
            front: self.front.len(),
            kept_aside: self.schedules.values().map(Schedule::in_memory).sum(),
            scheduled_hosts: self.schedules.len(),
            schedule_bytes: self.schedules.values().map(Schedule::bytes).sum(),
            index_bytes: self.index_bytes(),
            taken_bytes: self.taken.iter().map(Taken::bytes).sum(),
        }
    }

    /// After a start: which URLs were settled in news that still waits. A damaged page is passed
    /// over with the rest of its file: the visit will name it, and until then a URL may be handed
    /// out once more.
    fn find_taken(&mut self) -> Result<(), StoreError> {
        let mut taken = std::mem::take(&mut self.taken);
        for run in &self.waiting {
            if let Err(error) = self.find_taken_in(run, &mut taken) {
                self.damage.note(error)?;
            }
        }
        self.taken = taken;
        Ok(())
    }

    fn find_taken_in(&self, run: &RunFile, taken: &mut [Taken]) -> Result<(), StoreError> {
        let mut stream = RowStream::open(run, 0..run.index.len(), self.disk.config.key)?;
        while stream.has_row() {
            let key = stream.key();
            if Delta::read(stream.cells()).ops & SETTLED != 0 {
                let block = block_of(&self.blocks, &key);
                if self.blocks[block].visited < run.id {
                    taken[block].insert(key.url_hash());
                }
            }
            stream.advance()?;
        }
        Ok(())
    }
}

/// Removes what a crash left behind: files that the manifest does not name.
fn remove_unnamed(disk: &Disk, manifest: &Manifest) -> Result<(), StoreError> {
    let prefix = &disk.config.prefix;
    let mut named: HashSet<String> =
        HashSet::from_iter(["manifest", "manifest.copy"].map(str::to_owned));
    named.extend(
        manifest
            .waiting
            .iter()
            .map(|&id| name_of(Kind::Pending, id)),
    );
    let runs = manifest.blocks.iter().flat_map(|block| &block.runs);
    let told = manifest.news.iter().flat_map(|(_, runs)| runs);
    named.extend(runs.chain(told).map(|&id| name_of(Kind::Run, id)));
    let present = disk.files.list(prefix);
    for name in present.map_err(StoreError::disk("list", prefix))? {
        if !named.contains(&name) {
            let path: PathBuf = prefix.join(name);
            disk.files
                .remove(&path)
                .map_err(StoreError::disk("remove", &path))?;
        }
    }
    Ok(())
}
