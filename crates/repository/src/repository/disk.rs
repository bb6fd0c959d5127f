//! What does not fit into memory: the store of blocks behind the Repository.
//!
//! ```text
//! offer ──> rows in memory ──> store.ask ──> New: a row, so that it can be fetched at once
//!                                      └───> Pending: a fold will say
//! commit ─> store.replay, store.settle ──> fold, on a thread of its own ──> news
//! window <─ rows in memory <── refill: store.window
//! ```
//!
//! Once there is a store, it is told of everything by the journal alone, live and at a start by the
//! same functions: what it holds is what was committed up to its position, and no more. A row in
//! memory is a URL that was met and not committed yet, is leased, waits for another try, or was
//! taken from the store to be handed out next; the store does not hand it out meanwhile.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use teia_base::journal::{LinkVerdict, UrlChange};
use teia_base::{CanonicalUrl, Files, FoundUrl, HostId, Outcome, Timestamp};

use super::folding::{Deciding, Notes};
use super::moving::Moving;
use super::survey::Stage;
use super::{Admission, NewHosts, Offer, Offered, Repository};
use crate::blocks::{
    Answer, FRONT_BYTES, FoldDone, Known, Leased, Part, Standing, Stands, Store, StoreConfig,
    StoreError, VerifyReport, Visited, WindowOrder,
};
use crate::host::Stored;
use crate::row::{Fetched, Rare, Row, State, UrlRef, UrlState};

/// The rows of a host are brought from the store when fewer than this are in memory.
const LOW: usize = 10;

/// And one whose URLs are being chosen on another thread after so long.
const SOON: Duration = Duration::from_millis(100);

/// A host of which something may be on its way to the blocks is looked at again after so long.
const ON_ITS_WAY: Duration = Duration::from_secs(300);

/// Where the Repository goes on when memory does not hold everything.
#[derive(Clone, Debug)]
pub struct Backing {
    /// The disk.
    pub files: Arc<dyn Files>,
    /// Where the blocks lie on it.
    pub prefix: PathBuf,
    /// About as many bytes of memory as URLs may take.
    pub memory: u64,
    /// URLs of a host that are brought from disk at once.
    pub window: usize,
    /// Bits of memory for each URL, beside the rest, by which most new URLs are known to be new at once; none
    /// where it is 0.
    pub filter_bits: u32,
}

impl Backing {
    /// How the store works within this much memory.
    pub fn store_config(&self, key: u64) -> StoreConfig {
        let part = |of: u64, least: u64, most: u64| (self.memory / of).clamp(least, most);
        let narrow = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let front = part(FRONT_BYTES, 16, 1_000_000);
        StoreConfig {
            prefix: self.prefix.clone(),
            key,
            front_urls: narrow(front),
            page_bytes: narrow(part(64, 512, 16 << 10)),
            block_bytes: part(8, 4 << 10, 64 << 20),
            // Smaller folds are more folds: what is read, and how long a link waits, is meant for
            // as many links.
            scan_rows: (2 * front).max(64),
            delay: (128_000_000 / front).clamp(128, 256),
            filter_bits: (self.filter_bits > 0).then_some(self.filter_bits),
            look_rows: part(256, 2000, 200_000),
            ..StoreConfig::default()
        }
    }
}

/// What a fold found out, or a part of it, to be written down and then acknowledged by that entry.
#[derive(Debug)]
pub struct News {
    /// Number of the fold.
    pub fold: u64,
    /// URLs that are new, or admitted again.
    pub changes: Vec<UrlChange>,
    /// Whether nothing more comes of this fold: only then it is acknowledged.
    pub is_last: bool,
}

/// The store, and what goes on around it.
pub(super) struct Disk {
    pub(super) store: Store,
    pub(super) folding: Option<JoinHandle<Result<FoldDone, StoreError>>>,
    pub(super) deciding: Deciding,
    pub(super) moving: Option<Moving>,
    pub(super) survey: Option<Stage>,
    /// Another survey is to follow.
    pub(super) survey_again: bool,
    /// Where rows went that were referred to before the move.
    pub(super) moved_rows: HashMap<UrlRef, UrlRef>,
    /// Commits that must pass before the first fold: what was met before the move is in them.
    pub(super) open_commits: u8,
    /// What was told of states and has not reached the blocks: with the last fold, and since.
    pub(super) ahead: [[i64; 5]; 2],
    pub(super) failure: OnceLock<StoreError>,
    pub(super) woken: Vec<HostId>,
    pub(super) news: Vec<News>,
    pub(super) damaged: Vec<StoreError>,
    pub(super) last_fold: Option<Timestamp>,
    /// The last fold of an earlier process: its news is told again, and counted already.
    pub(super) inherited: u64,
    /// What the journal tells of a fold of which it has no end: the fold, and how many of its changes.
    pub(super) half_told: (u64, usize),
    /// The blocks are made again from the journal, and not all that is new to them is news.
    pub(super) remade: bool,
    /// Files with damage that was made good are to be written anew.
    pub(super) mends: bool,
    window: usize,
    rows_at_ease: usize,
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Nothing is written after its owner is gone.
        if let Some(folding) = self.folding.take() {
            let _ = folding.join();
        }
    }
}

impl Disk {
    pub(super) fn open(backing: &Backing, key: u64) -> Result<Self, StoreError> {
        let store = Store::open(Arc::clone(&backing.files), backing.store_config(key))?;
        Ok(Self {
            folding: None,
            deciding: Deciding::No,
            moving: None,
            survey: None,
            survey_again: false,
            moved_rows: HashMap::new(),
            open_commits: 0,
            ahead: [[0; 5]; 2],
            failure: OnceLock::new(),
            woken: Vec::new(),
            news: Vec::new(),
            damaged: Vec::new(),
            last_fold: None,
            inherited: store.last_fold(),
            half_told: (0, 0),
            remade: false,
            mends: false,
            window: backing.window,
            rows_at_ease: usize::try_from(backing.memory / 1024).unwrap_or(usize::MAX),
            store,
        })
    }

    pub(super) fn count(&self, state: State) -> u64 {
        let at = state as usize;
        let ahead = self.ahead[0][at] + self.ahead[1][at];
        self.store.count(state).saturating_add_signed(ahead)
    }

    /// So many more URLs stand so, as soon as it reaches the blocks.
    pub(super) fn expect(&mut self, state: State, change: i64) {
        self.ahead[1][state as usize] += change;
    }

    /// Whether the blocks are made again from the journal.
    pub(super) fn are_remade(&mut self, remade: bool) {
        self.remade = remade;
        self.store.check_told(if remade { u64::MAX } else { 0 });
    }

    /// Whether a fold would mend files for good.
    pub(super) fn wants_mending(&self) -> bool {
        self.mends && self.store.wants_mending()
    }

    /// After this nothing goes on; the owner is told at the next [`Repository::maintain`].
    pub(super) fn fail(&self, error: StoreError) {
        let _ = self.failure.set(error);
    }
}

impl Repository {
    /// A Repository that goes on disk when memory does not hold everything, as it was after the
    /// last fold; replay the journal into it with [`Repository::replay`].
    pub fn open(config: super::RepositoryConfig, backing: Backing) -> Result<Self, StoreError> {
        let mut repository = Self::new(config);
        if Store::exists(&*backing.files, &backing.prefix) {
            let mut disk = Disk::open(&backing, repository.config.key)?;
            repository.position = disk.store.position();
            repository.table.let_rows_go();
            let notes = Notes::read(disk.store.notes());
            disk.are_remade(notes.remade);
            for rule in &notes.rules {
                repository.intern_rule(rule);
            }
            repository.disk = Some(Box::new(disk));
            repository.find_hosts()?;
            let mut waiting = HashSet::new();
            if let Some(disk) = &repository.disk {
                disk.store.waiting_hosts(|host| {
                    waiting.insert(host.to_owned());
                })?;
            }
            for host in waiting {
                let host = repository.intern_host(&host);
                repository.look_at_disk(host);
            }
        }
        repository.backing = Some(backing);
        Ok(repository)
    }

    /// Whether everything that was asked of the disk since the last call could be read.
    pub fn check(&mut self) -> Result<(), StoreError> {
        let failure = self.disk.as_mut().and_then(|disk| disk.failure.take());
        failure.map_or(Ok(()), Err)
    }

    /// Links and outcomes that have not reached the blocks: counts and states do not know of them yet.
    pub fn undecided(&self) -> u64 {
        let disk = self.disk.as_ref();
        disk.map_or(0, |disk| disk.store.undecided())
    }

    /// Whether the disk holds what memory cannot.
    pub fn is_on_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// An offer of a URL that no row in memory has. The store takes it in with its commit.
    pub(super) fn offer_on_disk(&mut self, offer: &Offer<'_>, now: Timestamp) -> Offered {
        let host = self.intern_host(offer.url.normal().host_str());
        let text = offer.url.normal().as_str();
        let admits = matches!(offer.admission, Admission::Admit);
        let Some(disk) = &mut self.disk else {
            unreachable!("only asked where there is a disk");
        };
        let mut answer = disk.store.ask(text, admits);
        if answer == Answer::Pending && offer.seed.is_some() {
            // A person waits for the answer, and there are few of these: look it up.
            answer = match disk.store.state(text) {
                Ok(None) => Answer::New(0),
                Ok(Some(known)) if known.state == State::Excluded && admits => Answer::Pending,
                Ok(Some(_)) => Answer::Known,
                Err(error) => {
                    // What a damaged page says of it a visit will tell, when there is one.
                    if let Err(error) = disk.store.note_damage(error) {
                        disk.fail(error);
                    }
                    Answer::Pending
                }
            };
        }
        let mut reference = UrlRef::ELSEWHERE;
        let verdict = match (&offer.admission, answer) {
            (_, Answer::Known | Answer::Readmitted) => LinkVerdict::Known,
            (Admission::Exclude(exclusion), _) => LinkVerdict::Excluded(exclusion.clone()),
            (Admission::Admit, Answer::Pending) => LinkVerdict::Pending,
            (Admission::Admit, Answer::New(_)) => {
                let at = self.insert(offer, host, now);
                reference = self.table.reference(at);
                LinkVerdict::New
            }
        };
        Offered {
            reference,
            host: HostId(host),
            verdict,
            lowered: false,
        }
    }

    /// Something of a host may wait on disk that nobody knew of.
    pub(super) fn look_at_disk(&mut self, host: u32) {
        let row = &mut self.hosts[host as usize];
        row.stored = Stored::Perhaps;
        if self.config.revisit_share.is_some() {
            row.stored_again = Stored::Perhaps;
        }
    }

    /// Brings URLs of a host into memory when few are left there.
    pub(super) fn refill(&mut self, host: u32, now: Timestamp) {
        if self.disk.is_none() {
            return;
        }
        match self.config.revisit_share {
            None => self.refill_part(host, Part::All, now),
            Some(_) => {
                self.refill_part(host, Part::New, now);
                self.refill_part(host, Part::Again, now);
            }
        }
    }

    fn refill_part(&mut self, host: u32, part: Part, now: Timestamp) {
        let row = &self.hosts[host as usize];
        let (stored, left) = match part {
            Part::All => (row.stored, row.queue.len() + row.again.len()),
            Part::New => (row.stored, row.queue.len()),
            Part::Again => (row.stored_again, row.again.len()),
        };
        let Some(disk) = &mut self.disk else { return };
        // Of an earlier build's rows nobody knows which were visited before: they come as new, and are not.
        let is_crowded = part == Part::New && row.again.len() >= disk.window;
        if left >= LOW || is_crowded || stored.next(now).is_none_or(|due| due > now) {
            return;
        }
        let n = if self.table.len() < disk.rows_at_ease {
            disk.window
        } else {
            disk.window.min(16)
        };
        let order = match part {
            Part::Again => WindowOrder::Due,
            // What is chosen by length is chosen anew after each fold, which a large host would wait for in vain.
            _ if self.config.new_hosts == NewHosts::ShortestPath
                && row.is_new()
                && !disk.store.is_large(row.waiting.into()) =>
            {
                WindowOrder::Path
            }
            _ => WindowOrder::Policy(&self.config.order),
        };
        let window = disk
            .store
            .window_of(part, &row.name, n, order, seconds(now));
        let (window, stored) = match window {
            Ok(window) => {
                let later = disk.store.later_due(part, &row.name);
                // What was settled for a later day may still be on its way to its block.
                let is_on_its_way = row.waiting > 0 && disk.store.has_unfolded();
                let on_its_way = is_on_its_way.then(|| now.plus(ON_ITS_WAY));
                let stored = match later.map(moment).into_iter().chain(on_its_way).min() {
                    _ if window.len() >= n => Stored::Perhaps,
                    _ if disk.store.is_looking(part, &row.name) => Stored::Later(now.plus(SOON)),
                    Some(due) => Stored::Later(due),
                    None => Stored::Nothing,
                };
                (window, stored)
            }
            Err(error) => {
                disk.fail(error);
                (Vec::new(), Stored::Nothing)
            }
        };
        let row = &mut self.hosts[host as usize];
        match part {
            Part::Again => row.stored_again = stored,
            _ => row.stored = stored,
        }
        for leased in window {
            self.take_from_store(host, leased);
        }
    }

    fn take_from_store(&mut self, host: u32, leased: Leased) {
        if self.table.find(&leased.url).is_some() {
            // A row that was met again meanwhile; the store keeps it held.
            return;
        }
        let Leased { url, known } = leased;
        let visited = self.fetched_of(&known);
        let rare = Rare {
            spelling: known.rare.spelling,
            chain: known.rare.chain,
            due: None,
            fallback_http: known.fallback_http,
            last_modified: known.rare.last_modified.map(moment),
            priority: known.priority,
            seed: known.seed,
        };
        let at = self.table.push(Row {
            text: url.into(),
            rare: rare.is_needed().then(|| Box::new(rare)),
            fetched: visited.map(Box::new),
            host,
            referrer: 0,
            first_seen: known.first_seen,
            rule: 0,
            depth: known.depth,
            tries: known.tries,
            state: State::Waiting,
            leased: false,
            requisite: known.requisite,
        });
        self.table.set_sequence(at, known.sequence);
        self.counts[State::Waiting as usize] += 1;
        self.enqueue(at);
    }

    /// A host that lets nobody in would fill the memory with its URLs, one after another: the rest
    /// of them stays on disk meanwhile.
    pub(super) fn rest_store(&mut self, host: u32, until: Timestamp) {
        let row = &mut self.hosts[host as usize];
        if self.disk.is_some() && row.later.len() > 100 {
            for stored in [&mut row.stored, &mut row.stored_again] {
                if *stored == Stored::Perhaps {
                    *stored = Stored::Later(until);
                }
            }
        }
    }

    /// The number by which a URL stands in the order in which URLs were met.
    pub(super) fn order_number(&self, at: u32) -> u64 {
        if self.disk.is_none() {
            return u64::from(at) + 1;
        }
        match self.table.sequence(at) {
            // After everything that is on disk.
            0 => (1 << 40) + u64::from(self.table.generation_of(at)),
            sequence => sequence,
        }
    }

    /// Takes a row out of memory; what waits is handed out by the store again.
    pub(super) fn let_go(&mut self, at: u32) {
        let row = self.table.remove(at);
        self.counts[row.state as usize] -= 1;
        let is_later = row.rare.as_ref().is_some_and(|rare| rare.due.is_some());
        if row.state == State::Waiting {
            if !is_later {
                let is_again = self.shares_turns_of(row.fetched.as_deref());
                let host = &mut self.hosts[row.host as usize];
                *(if is_again {
                    &mut host.stored_again
                } else {
                    &mut host.stored
                }) = Stored::Perhaps;
            }
            if let Some(disk) = &mut self.disk {
                disk.store.release(&row.text);
            }
        }
    }

    pub(super) fn excluded_on_disk(
        &mut self,
        mut admits: impl FnMut(&UrlState) -> bool,
    ) -> Vec<UrlState> {
        let mut found = Vec::new();
        let folded = self.fold_everything();
        let Some(disk) = &self.disk else {
            return found;
        };
        let scanned = folded.and_then(|_| {
            let is_out = |state| state == State::Excluded;
            disk.store.scan(None, is_out, |url, known| {
                let state = self.view_known(url, &known);
                if admits(&state) {
                    found.push(state);
                }
            })
        });
        // What stands on a damaged page stays as it is.
        if let Err(error) = scanned.or_else(|error| disk.store.note_damage(error)) {
            disk.fail(error);
        }
        found
    }

    /// Tells of every URL, on one host or on all, in states that are wanted. Where there is a disk,
    /// everything is folded first; a damaged page is passed over, and is the error in the end.
    pub fn for_each(
        &mut self,
        host: Option<&str>,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(UrlState),
    ) -> Result<(), StoreError> {
        self.for_each_until(host, wanted, |url| {
            tell(url);
            ControlFlow::Continue(())
        })
    }

    /// The same, until nobody wants to hear more.
    pub fn for_each_until(
        &mut self,
        host: Option<&str>,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(UrlState) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.fold_everything()?;
        let Some(disk) = &self.disk else {
            let host = host.map(|host| self.host(host));
            let rows = self.table.rows().filter(|(_, row)| {
                wanted(row.state) && host.is_none_or(|host| host == Some(HostId(row.host)))
            });
            let mut rows = rows;
            let _ = rows.try_for_each(|(at, _)| tell(self.view(at)));
            return Ok(());
        };
        disk.store.scan_until(host, wanted, |url, known| {
            tell(self.view_known(url, &known))
        })
    }

    /// Looks at every byte on disk; nothing where everything is in memory.
    pub fn verify(&self) -> Option<VerifyReport> {
        self.disk.as_ref().map(|disk| disk.store.verify())
    }

    pub(super) fn state_on_disk(&self, url: &CanonicalUrl) -> Option<UrlState> {
        let disk = self.disk.as_ref()?;
        let known = self.readable(disk.store.state(url.as_str()));
        known.map(|known| self.view_known(url.as_str(), &known))
    }

    pub(super) fn try_state_on_disk(
        &self,
        url: &CanonicalUrl,
    ) -> Result<Option<UrlState>, StoreError> {
        let Some(disk) = &self.disk else {
            return Ok(None);
        };
        let known = disk.store.state(url.as_str())?;
        Ok(known.map(|known| self.view_known(url.as_str(), &known)))
    }

    /// What is known of each of these URLs. Many at once are looked up on disk with far fewer reads than one by one.
    pub fn states(&self, urls: &[&CanonicalUrl]) -> Vec<Option<UrlState>> {
        let Some(disk) = &self.disk else {
            return urls.iter().map(|url| self.state(url)).collect();
        };
        let texts: Vec<&str> = urls.iter().map(|url| url.as_str()).collect();
        let on_disk = disk.store.states(&texts);
        let states = texts.into_iter().zip(on_disk).map(|(url, known)| {
            let known = self.readable(known);
            match self.table.find(url) {
                Some(at) => Some(self.view(at)),
                None => known.map(|known| self.view_known(url, &known)),
            }
        });
        states.collect()
    }

    /// What was found on disk. Of a URL on a damaged page nothing is known; its block waits.
    fn readable(&self, found: Result<Option<Known>, StoreError>) -> Option<Known> {
        let disk = self.disk.as_ref()?;
        found.unwrap_or_else(|error| {
            if let Err(error) = disk.store.note_damage(error) {
                disk.fail(error);
            }
            None
        })
    }

    pub(super) fn set_priority_on_disk(&mut self, url: &CanonicalUrl, priority: i32) {
        let known = self.state_on_disk(url).is_some();
        if let Some(disk) = &mut self.disk
            && known
        {
            disk.store.set_priority(url.as_str(), priority);
        }
    }

    fn fetched_of(&self, known: &Known) -> Option<Fetched> {
        let visited = known.rare.visited.as_ref()?;
        let disk = self.disk.as_ref()?;
        Some(fetched(visited, disk.store.media_type(visited.media_type)))
    }

    pub(super) fn view_known(&self, url: &str, known: &Known) -> UrlState {
        let url = CanonicalUrl::from_stored(url);
        let host = self.host(url.host_str()).unwrap_or(HostId(u32::MAX));
        let rule = known.rule.checked_sub(1);
        UrlState {
            reference: UrlRef::ELSEWHERE,
            url: FoundUrl::from_stored(url, known.rare.spelling.as_deref()),
            host,
            state: known.state,
            exclusion: rule.and_then(|rule| self.rules.get(rule as usize).cloned()),
            referrer: None,
            depth: known.depth,
            first_seen: moment(known.first_seen),
            tries: known.tries,
            due: (known.due > 0).then(|| moment(known.due)),
            requisite: known.requisite,
            seed: known.seed,
            fallback_http: known.fallback_http,
            chain: known.rare.chain,
            last_modified: known.rare.last_modified.map(moment),
            priority: known.priority,
            leased: known.leased,
            fetched: self.fetched_of(known),
        }
    }
}

/// Seconds since 1970, enough until 2106.
pub(super) fn seconds(moment: Timestamp) -> u32 {
    u32::try_from(moment.as_seconds()).unwrap_or(0)
}

pub(super) fn moment(seconds: u32) -> Timestamp {
    Timestamp::from_micros(i64::from(seconds) * 1_000_000)
}

fn fetched(visited: &Visited, media_type: Option<&str>) -> Fetched {
    Fetched {
        last_attempt: moment(visited.last_attempt),
        outcome: Outcome::from_number(visited.outcome),
        visits: visited.visits,
        changes: visited.changes,
        last_change: (visited.last_change > 0).then(|| moment(visited.last_change)),
        quiet_seconds: visited.quiet_seconds,
        changed_seconds: visited.changed_seconds,
        media_type: media_type.map(Into::into),
        text_digest: visited.text_digest,
        capture: visited.capture.map(teia_base::CaptureId),
        etag: visited.etag.clone(),
        last_modified: visited.last_modified.clone(),
    }
}

/// Where a URL in memory stands, for the store; nothing where the link alone says it.
pub(super) fn standing_of(row: &Row, store: &mut Store) -> Option<Stands> {
    let due = row.rare.as_ref().and_then(|rare| rare.due);
    let plain = matches!(row.state, State::Waiting | State::Excluded)
        && row.tries == 0
        && due.is_none()
        && row.fetched.is_none();
    if plain {
        return None;
    }
    let visited = row.fetched.as_ref().map(|it| Visited {
        last_attempt: seconds(it.last_attempt),
        outcome: it.outcome.number(),
        visits: it.visits,
        changes: it.changes,
        last_change: it.last_change.map_or(0, seconds),
        quiet_seconds: it.quiet_seconds,
        changed_seconds: it.changed_seconds,
        media_type: store.media_type_number(it.media_type.as_deref()),
        text_digest: it.text_digest,
        capture: it.capture.map(|capture| capture.0),
        etag: it.etag.clone(),
        last_modified: it.last_modified.clone(),
    });
    Some(Stands {
        state: match row.state {
            State::Waiting => Standing::Waiting,
            State::Fetched => Standing::Fetched,
            State::Failed => Standing::Failed,
            State::Excluded => Standing::Excluded(row.rule),
            State::Gone => Standing::Gone,
        },
        tries: row.tries,
        due: due.map_or(0, |due| seconds(due).saturating_add(1)),
        visited,
    })
}
