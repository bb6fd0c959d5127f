//! The ring: one loop that owns Repository and Frontier, and everything that reaches it.
//!
//! ```text
//!        ┌── schedule ──> fetch task ──> worker thread ──> admit ──> window ──> committer thread
//!   loop ┤                    │                                                      │
//!        └── settle <─────────┘              apply <─────────────── Committed <──────┘
//! ```
//!
//! Nothing but this loop touches Repository and Frontier; the others send it messages. What may
//! pile up is bounded: leases by the host limit, finished fetches by `slack`, commits by two
//! windows (one being written, one filling).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use teia_base::journal::{Attempt, Commit, Entry, Next, Quarantined, Record, RunEnded, RunStarted};
use teia_base::{CanonicalUrl, Clock, HostFacts, HostId, Outcome, SteadyClock, Timestamp};
use teia_fetch::Fetcher;
use teia_frontier::{Frontier, HostLimit};
use teia_repository::{Repository, State};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::Url;

use crate::EngineError;
use crate::addresses::AddressBook;
use crate::alias::AliasWatch;
use crate::collection::{CollectionConfig, Mode};
use crate::company::Companion;
use crate::control::Control;
use crate::day_pages::DayPages;
use crate::errands::Errands;
use crate::feedback::{Event, Feedback, Level};
use crate::hours::Hours;
use crate::lanes::Lanes;
use crate::ledger::Ledger;
use crate::message::Message;
use crate::nowhere::Nowhere;
use crate::outage::{Outage, Seen, Site};
use crate::past::Saver;
use crate::rates::Rates;
use crate::removals::RemovalWatch;
use crate::report::{EndReason, Report};
use crate::reserve::Reserve;
use crate::robots_book::RobotsBook;
use crate::run_changes::{RunChanges, SettingsFile};
use crate::sites::SiteBook;
use crate::stage::commit::{Order, Window};
use crate::stage::extract::Workshop;
use crate::stage::sheets::Sheets;
use crate::stage::shortcut::Shortcuts;
use crate::stage::sitemaps::SitemapFiles;
use crate::stage::spread::{Backlog, MOST_CHANGES};
use crate::stats::{Stats, is_answer};
use crate::traps::TrapWatch;
use crate::traps::farms::Farms;
use crate::traps::soft::SoftMissing;
use crate::workers::Jobs;
use crate::wronged::Wronged;

/// A run is over when nothing is due within this time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often load is looked at and progress is told.
const TICK: Duration = Duration::from_millis(200);
/// And while the last of what was met is decided.
const DECIDING: Duration = Duration::from_millis(5);
/// A feed is visited again this long after its last visit, or later.
const FEED_REST: Duration = Duration::from_secs(15 * 60);
/// Who has not answered within this lets us wait. An honest host is ten times quicker; and were those that
/// drip a byte a second to hold places for as long as they like, a few hundred would stop a crawl.
const LONG: Duration = Duration::from_secs(2);
/// Hosts that let us wait that are remembered; others are found out again at each visit.
const MOST_SLOW: usize = 65_536;
/// How long a stop waits for what is under way.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes of an attempt's detail that are kept. Where a longer redirect leads, its link says in full.
const MOST_DETAIL: usize = 1 << 10;

/// Allows a private address that a person named as a seed.
pub(crate) type Allow = Box<dyn Fn(&Url) + Send + Sync>;

/// One run on this machine.
pub(crate) struct Ring {
    pub(crate) collection: String,
    pub(crate) config: CollectionConfig,
    pub(crate) key: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) repository: Repository,
    pub(crate) frontier: Box<dyn Frontier>,
    pub(crate) fetcher: Arc<dyn Fetcher>,
    pub(crate) allow: Option<Allow>,
    pub(crate) workshop: Arc<Workshop>,
    pub(crate) robots: RobotsBook,
    pub(crate) errands: HashMap<HostId, Errands>,
    /// Where addresses count for politeness.
    pub(crate) addresses: Option<AddressBook>,
    /// Hosts with settings of their own.
    pub(crate) book: SiteBook,
    /// What people ask to have removed meanwhile.
    pub(crate) removals: RemovalWatch,
    /// Other runs of this process.
    pub(crate) company: Option<Companion>,
    /// Sitemaps that a host has given in this run, as far as this process saw it.
    pub(crate) sitemap_files: HashMap<HostId, SitemapFiles>,
    /// Style sheets that others import.
    pub(crate) sheets: Sheets,
    pub(crate) traps: TrapWatch,
    /// Traps that were found, and the journal has not been told of yet.
    pub(crate) trapped: Vec<Quarantined>,
    /// How many hosts there are of each domain, and who named them.
    pub(crate) farms: Farms,
    /// Pages that stand for "not found".
    pub(crate) soft: SoftMissing,
    /// Whether our own network, name server or clock is in trouble.
    pub(crate) outage: Outage,
    /// Origins that may have suffered from it.
    pub(crate) wronged: Wronged,
    /// Hosts whose name does not exist.
    pub(crate) nowhere: Nowhere,
    /// The same clock as `clock`, and by how much the machine's was found set back when that was last told.
    pub(crate) steady: Arc<SteadyClock>,
    pub(crate) clock_told: Duration,
    pub(crate) aliases: AliasWatch,
    pub(crate) alias_hosts: HashMap<String, String>,
    pub(crate) feedback: Arc<dyn Feedback>,
    pub(crate) control: Control,
    pub(crate) limit: HostLimit,
    /// Hosts that have let us wait for long, as of the last tick; they take no place from others.
    pub(crate) waiting: usize,
    pub(crate) most_waiting: usize,
    /// Hosts that let us wait the last time: the next time they take no place from the beginning, or a few hundred of
    /// them that come back together would hold all places until they are found out again.
    pub(crate) slow: HashSet<HostId>,
    /// The memory of the process is nearly used up: one request at a time.
    pub(crate) is_short: bool,
    pub(crate) was_short: bool,
    pub(crate) slack: usize,
    pub(crate) outstanding: usize,
    /// What each host is being asked for, and since when.
    pub(crate) asking: HashMap<HostId, (Url, Instant)>,
    pub(crate) pages_in_flight: u64,
    /// Received, and not yet counted: the workers still have it.
    pub(crate) bytes_arrived: u64,
    pub(crate) host_pages: HashMap<HostId, u64>,
    /// The same for the day.
    pub(crate) day: DayPages,
    pub(crate) stopping: bool,
    /// Nothing is sent out: a person wished it, or the disk is nearly full.
    pub(crate) paused: bool,
    /// When the run was begun first: it may have gone on over several processes.
    pub(crate) run_began: Timestamp,
    /// Requests are made only then.
    pub(crate) hours: Option<Hours>,
    /// Outside of these hours.
    pub(crate) is_quiet: bool,
    /// How long pauses have lasted, and since when one does.
    pub(crate) rested: Duration,
    pub(crate) resting_since: Option<Instant>,
    /// What waits may be outside of the rules by now.
    pub(crate) rules_changed: bool,
    /// What the journal says of a person's pause.
    pub(crate) pause_noted: bool,
    pub(crate) reserve: Reserve,
    pub(crate) window: Window,
    pub(crate) backlog: Backlog,
    pub(crate) shortcuts: Shortcuts,
    /// What Analyzers think of URLs, to be written down.
    pub(crate) priorities: Vec<(CanonicalUrl, i32)>,
    /// Entries whose documents Analyzers have not seen yet, and one for what they missed before; none where there
    /// are no Analyzers.
    pub(crate) to_analyze: Option<usize>,
    /// What folds of the Repository found out, and the journal has not been told yet.
    pub(crate) late_news: VecDeque<teia_base::journal::Folded>,
    pub(crate) committing: usize,
    /// What the settings are compared with, and what of them differed from it at the start for good.
    pub(crate) settings_file: SettingsFile,
    pub(crate) fixed_changes: RunChanges,
    /// Other settings were taken in: the last entry that tells of them, and what is answered when it is committed.
    pub(crate) changed: Option<(u64, String)>,
    pub(crate) run: u32,
    pub(crate) next_sequence: u64,
    pub(crate) stats: Stats,
    /// Blocks of URLs could not be read.
    pub(crate) blocks_damaged: bool,
    /// Links that this process met and that name nothing to fetch.
    pub(crate) schemes: BTreeMap<&'static str, u64>,
    /// Documents of this run that earlier processes fetched.
    pub(crate) fetched_before: u64,
    /// What was committed; `stats` also counts what will be.
    pub(crate) ledger: Box<Ledger>,
    pub(crate) saver: Saver,
    pub(crate) rates: Rates,
    pub(crate) started: Instant,
    pub(crate) tasks: JoinSet<()>,
    pub(crate) messages: mpsc::Sender<Message>,
    pub(crate) jobs: Jobs,
    pub(crate) lanes: Lanes,
    pub(crate) orders: SyncSender<Order>,
}

impl Ring {
    /// Records the start of the run, before any fetch. What was left out is judged again, unless that
    /// is known to change nothing.
    pub(crate) fn begin(&mut self, seeds: &[(teia_base::FoundUrl, bool)], is_judged: bool) {
        let seeds = self.offer_seeds(seeds);
        let record = Record::RunStarted(RunStarted {
            options: self.config.without_secrets().to_toml(),
            seeds,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        self.order(record, Vec::new(), Vec::new());
        self.compare_with_file();
        self.note_changes();
        let effective = self.config.without_secrets().to_toml();
        self.control.note_settings(effective, None);
        self.control.note_pause(self.pause_noted);
        if self.pause_noted && !self.control.was_resumed() {
            self.control.pause();
            self.feedback.hear(&Event::StillPaused);
        }
        if !is_judged {
            self.look_again();
        }
        self.lift_aliases_if_off();
    }

    /// Runs until done, stopped, or broken.
    pub(crate) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<Message>,
    ) -> Result<Report, EngineError> {
        // No request before the run's beginning is on disk: the next process must know whom this one asked.
        while self.committing > 0 {
            self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
        }
        self.look_at_memory();
        let mut tick = self.clock.now() + TICK;
        let mut stop_by = None;
        let reason = loop {
            let mut reason = self.end_reason();
            if reason.is_some() && stop_by.is_none() {
                self.stopping = true;
                stop_by = Some(self.clock.now() + GRACE);
            }
            self.change_if_told();
            self.heed_removals();
            self.quarantine_if_found();
            self.leave_missing_out();
            self.rest_if_told();
            self.work_off();
            self.tell_heeded();
            self.look_after_urls()?;
            self.hear_company();
            self.schedule();
            if self.outstanding == 0
                && reason.is_none()
                && self.nothing_is_due()?
                && !self.begin_shortcuts()?
                // Only a limit or a person ends a run that visits pages again and again.
                && self.config.mode != Mode::Incremental
                && !self.begin_sweep()
            {
                self.stopping = true;
                reason = Some(EndReason::Done);
            }
            let give_up = stop_by.is_some_and(|by| self.clock.now() >= by);
            if let Some(reason) = reason
                && (self.outstanding == 0 || give_up)
            {
                break reason;
            }
            self.close_window_if_due();
            let wake = self.next_wake(tick, stop_by);
            tokio::select! {
                biased;
                message = inbox.recv() => self.hear_all(message, &mut inbox)?,
                () = tokio::time::sleep_until(wake.into()) => {}
                () = self.control.changed() => {}
            }
            let now = self.clock.now();
            if now >= tick {
                self.on_tick(now.saturating_duration_since(tick));
                tick = now + TICK;
            }
        };
        self.tasks.abort_all();
        Box::pin(self.finish(reason, &mut inbox)).await
    }

    /// Looks whether to rest, and writes down what a person wishes: a pause outlives the process.
    fn rest_if_told(&mut self) {
        if let Some(text) = self.reserve.look(self.clock.now()) {
            self.warn(text);
        }
        let wished = self.control.is_paused();
        let wall = self.clock.wall();
        self.is_quiet = self
            .hours
            .as_ref()
            .is_some_and(|hours| !hours.is_open(wall));
        self.paused = wished || self.is_quiet || self.reserve.is_low();
        let now = self.clock.now();
        match (wished || self.is_quiet, self.resting_since) {
            (true, None) => self.resting_since = Some(now),
            (false, Some(since)) => {
                self.rested += now.saturating_duration_since(since);
                self.resting_since = None;
            }
            _ => {}
        }
        if wished != self.pause_noted && self.committing == 0 && self.control.end().is_none() {
            self.pause_noted = wished;
            let record = if wished {
                Record::Paused
            } else {
                Record::Resumed
            };
            self.order(record, Vec::new(), Vec::new());
        }
    }

    /// Before the memory is used up, less is begun; told once.
    fn look_at_memory(&mut self) {
        let memory = &self.workshop.memory;
        self.is_short = memory.is_short();
        if (self.is_short || memory.has_waited()) && !self.was_short {
            self.was_short = true;
            let cap = memory.cap() >> 20;
            self.warn(format!(
                "this process has nearly the {cap} MiB of memory that it may have: until it has less, pages are fetched or read one at a time; `memory` in [run] allows more, and fewer `hosts-at-once` in [run] need less"
            ));
        }
    }

    /// Remembers whether a host let us wait.
    pub(crate) fn note_pace(&mut self, host: HostId, since: Option<Instant>) {
        let now = self.clock.now();
        if since.is_some_and(|since| now.saturating_duration_since(since) >= LONG) {
            if self.slow.len() < MOST_SLOW {
                self.slow.insert(host);
            }
        } else {
            self.slow.remove(&host);
        }
    }

    /// Looks whether it is us, not the hosts.
    pub(crate) fn note_outage(&mut self, host: HostId, outcome: Outcome, is_secure: bool) {
        let (_, _, fetched) = self.repository.host_counts(host);
        let said = self.outage.note(&Seen {
            host,
            site: Site::of(self.repository.host_name(host)),
            outcome,
            is_secure,
            was_good: fetched > 0,
            at: self.clock.now(),
        });
        self.tell_outage(said);
        self.inquire();
    }

    /// Takes in whether a name server has answered for a host.
    pub(crate) fn note_name(&mut self, host: HostId, has_answered: Option<bool>) {
        let now = self.clock.now();
        let said = self.outage.note_name(host, has_answered, now);
        self.tell_outage(said);
    }

    /// Asks for names of hosts that have answered, where that tells who is to blame.
    fn inquire(&mut self) {
        for host in self.outage.inquiries(self.clock.now()) {
            let Some(http) = self.book.http.clone() else {
                self.note_name(host, None);
                continue;
            };
            let name = self.repository.host_name(host).to_owned();
            let messages = self.messages.clone();
            self.tasks.spawn(async move {
                let has_answered = http.ask_name(&name).await;
                let _ = messages.send(Message::Named { host, has_answered }).await;
            });
        }
    }

    fn tell_outage(&mut self, said: Option<String>) {
        if let Some(text) = said {
            self.warn(text);
            if let Some(http) = &self.book.http {
                http.forget_name_trouble();
            }
            self.make_amends();
        }
        if self.outage.sees_nothing() {
            self.wronged.forget();
        }
    }

    /// What the time brings: an outage that lasts too long, a clock that was set back.
    fn look_at_ourselves(&mut self) {
        self.inquire();
        if let Some(text) = self.outage.lose_patience(self.clock.now()) {
            self.warn(text);
        }
        let ahead = self.steady.ahead();
        // Told again when it goes back by much more: one that stands still goes back all the time.
        if ahead > self.clock_told * 2 {
            self.clock_told = ahead;
            self.warn(format!(
                "the clock of this machine was set back by {} s: dates of this run go on from where they were, until it is started again",
                ahead.as_secs()
            ));
        }
    }

    pub(crate) fn warn(&self, text: String) {
        let level = Level::Warning;
        self.feedback.hear(&Event::Notice { level, text });
    }

    /// Commits what is left, records the end, and waits until it is on disk.
    async fn finish(
        mut self,
        reason: EndReason,
        inbox: &mut mpsc::Receiver<Message>,
    ) -> Result<Report, EngineError> {
        while self.committing > 1 {
            self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
        }
        self.close_window();
        while self.committing > 1 {
            self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
        }
        // The end waits for Analyzers in any case; what they think of the last pages is not to be lost.
        while self.to_analyze.is_some_and(|entries| entries > 0) {
            self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
        }
        while !self.priorities.is_empty() {
            let priorities = self.some_priorities();
            self.order(priorities, Vec::new(), Vec::new());
            while self.committing > 0 {
                self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
            }
        }
        while let Some(one) = self.trapped.pop() {
            self.order(Record::Quarantined(one), Vec::new(), Vec::new());
            while self.committing > 0 {
                self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
            }
        }
        self.order(
            Record::RunEnded(RunEnded {
                reason: reason.name().to_owned(),
            }),
            Vec::new(),
            Vec::new(),
        );
        while self.committing > 0 {
            self.hear(inbox.recv().await.ok_or(EngineError::WorkerLost)?)?;
        }
        let saved = self.saver.finish(&mut self.ledger, &mut self.repository);
        self.tell_unsaved(saved);
        self.feedback.hear(&Event::Progress(self.progress()));
        let report = Report {
            collection: self.collection.clone(),
            reason,
            fetched: self.stats.fetched,
            elapsed: self.clock.now().duration_since(self.started),
            fetched_here: self.stats.fetched - self.fetched_before,
            blocks_damaged: self.blocks_damaged,
            schemes: std::mem::take(&mut self.schemes),
            known_urls: self.repository.len(),
            waiting: self.repository.count(State::Waiting),
            hosts: self.repository.host_count(),
            states: State::ALL
                .iter()
                .map(|state| (state.name(), self.repository.count(*state)))
                .collect(),
            stats: std::mem::take(&mut self.stats),
        };
        // The committer seals the archive when there is nobody left to send it orders.
        let Self {
            orders,
            jobs,
            messages,
            tasks,
            ..
        } = self;
        drop((orders, jobs, messages, tasks));
        while let Some(message) = inbox.recv().await {
            if let Message::Broken(error) = message {
                return Err(error);
            }
        }
        Ok(report)
    }

    /// Tells the Frontier when the host's next URL is due.
    pub(crate) fn wake(&mut self, host: HostId) {
        if self.lanes.has_page(host) {
            return;
        }
        if self
            .errands
            .get(&host)
            .is_some_and(|errands| !errands.is_empty())
        {
            self.wake_now(host);
            return;
        }
        let wall = self.clock.wall();
        // Only a host that has something to be asked for is looked up.
        if let Some(due) = self.repository.next_due(host, wall)
            && self.is_located(host)
        {
            let moment = self.clock.now() + due.since(wall);
            let facts = self.host_facts(host);
            self.frontier.wake(host, facts, moment);
        }
    }

    pub(crate) fn wake_now(&mut self, host: HostId) {
        if self.lanes.has_page(host) || !self.is_located(host) {
            return;
        }
        let facts = self.host_facts(host);
        self.frontier.wake(host, facts, self.clock.now());
    }

    /// A host that had nothing to send; one whose budget is used up sleeps to the end of the run.
    pub(crate) fn wake_later(&mut self, host: HostId) {
        if self.host_budget_left(host) {
            self.wake(host);
        }
    }

    fn host_facts(&self, host: HostId) -> HostFacts {
        let (_, waiting, fetched) = self.repository.host_counts(host);
        let latency_micros = self
            .repository
            .host_record(host)
            .map_or(0, |record| record.latency_micros);
        HostFacts {
            waiting,
            fetched,
            last_turn: 0,
            latency_micros,
        }
    }

    /// Puts an attempt into the window.
    pub(crate) fn record(&mut self, mut attempt: Attempt) {
        attempt.next = self.next_visit(&attempt);
        if let Some(detail) = &mut attempt.detail {
            shorten(detail);
        }
        self.window.opened.get_or_insert_with(|| self.clock.now());
        self.window.bytes += weight(&attempt);
        if self.feedback.wants_attempts() {
            self.feedback.hear(&Event::Attempted {
                url: attempt.url.normal().clone(),
                outcome: attempt.outcome,
                is_page: is_answer(&attempt),
                bytes: attempt.wire_bytes,
                times: attempt.times,
            });
        }
        self.stats.add(&attempt);
        self.shortcuts.count_attempt();
        self.rates.add(is_answer(&attempt), attempt.wire_bytes);
        self.window.attempts.push(attempt);
    }

    /// What follows a visit that is over: in a run that does not end, another one.
    fn next_visit(&self, attempt: &Attempt) -> Next {
        match attempt.next {
            Next::Done | Next::Failed if self.config.mode == Mode::Incremental => {
                let host = self.repository.host(attempt.url.normal().host_str());
                let settings = host.map_or(&self.config, |host| self.settings(host));
                let mut rest = settings.run.revisit;
                // A feed that is new each time would be asked all the time.
                if attempt.media_type.as_deref().is_some_and(is_feed) {
                    rest = rest.max(FEED_REST);
                }
                Next::Again(self.clock.wall().plus(rest))
            }
            next => next,
        }
    }

    /// Where a seed's redirect leads is a seed too.
    pub(crate) fn add_seed_to_rules(&self, seed: &CanonicalUrl) {
        let judge = self.workshop.judge().with_seed(seed);
        *self
            .workshop
            .judge
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(judge);
    }

    pub(crate) fn window_is_full(&self) -> bool {
        self.committing > 0 && self.window_is_due()
    }

    pub(crate) fn window_is_due(&self) -> bool {
        self.window.bytes >= self.config.run.commit_bytes
            || self.window.changes.len() >= MOST_CHANGES
            || self.window.opened.is_some_and(|opened| {
                self.clock.now().saturating_duration_since(opened) >= self.config.run.commit_every
            })
    }

    fn close_window_if_due(&mut self) {
        let is_open = self.committing == 0 && !self.window.is_empty();
        if is_open && (self.window_is_due() || self.nothing_comes()) {
            self.close_window();
        }
    }

    /// Whether nothing is under way that could still come into the window: the end of a run need not wait for its time.
    fn nothing_comes(&self) -> bool {
        if self.outstanding > 0 || !self.backlog.is_empty() {
            return false;
        }
        // A URL waits until its attempt is committed.
        let attempts = self.window.attempts.iter();
        let pages = attempts.filter(|attempt| !attempt.is_robots()).count();
        self.repository.count(State::Waiting) <= pages as u64
            && self.errands.values().all(Errands::is_empty)
    }

    fn close_window(&mut self) {
        if self.window.is_empty() {
            return;
        }
        let Window {
            attempts,
            hosts,
            changes,
            records,
            documents,
            ..
        } = std::mem::replace(&mut self.window, Window::new());
        let record = Record::Commit(Commit {
            attempts,
            hosts,
            archive: None,
            changes,
        });
        self.order(record, records, documents);
    }

    pub(crate) fn order(
        &mut self,
        record: Record,
        records: Vec<teia_archive::Records>,
        documents: Vec<teia_base::Document>,
    ) {
        let entry = Entry {
            sequence: self.next_sequence,
            wall: self.clock.wall(),
            run: self.run,
            record,
        };
        self.next_sequence += 1;
        self.committing += 1;
        if let Some(entries) = &mut self.to_analyze {
            *entries += usize::from(!documents.is_empty());
        }
        // There is room for every order that can be open; a committer that is gone has sent
        // `Broken` before.
        let _ = self.orders.send(Order {
            entry,
            records,
            documents,
        });
    }

    fn next_wake(&mut self, tick: Instant, stop_by: Option<Instant>) -> Instant {
        if self.has_step() {
            return self.clock.now();
        }
        let mut wake = tick;
        if self.repository.is_deciding() {
            // Nobody tells when it is over, and there is nothing else to wait for.
            wake = wake.min(self.clock.now() + DECIDING);
        }
        if let Some(stop_by) = stop_by {
            wake = wake.min(stop_by);
        }
        if self.committing == 0
            && let Some(opened) = self.window.opened
        {
            wake = wake.min(opened + self.config.run.commit_every);
        }
        if self.may_lease()
            && let Some(moment) = self.frontier.next_moment()
        {
            wake = wake.min(self.place_by(moment));
        }
        wake
    }

    fn on_tick(&mut self, late: Duration) {
        self.limit.observe(late, self.jobs.fill());
        let now = self.clock.now();
        let is_long = |since: &Instant| now.saturating_duration_since(*since) >= LONG;
        let asking = self.asking.iter();
        let waiting =
            asking.filter(|(host, (_, since))| self.slow.contains(host) || is_long(since));
        self.waiting = waiting.count().min(self.most_waiting);
        self.look_at_samples();
        self.let_asked_out();
        self.look_at_memory();
        self.turn_day();
        self.look_at_ourselves();
        self.rates.turn(self.clock.now());
        self.feedback.hear(&Event::Progress(self.progress()));
    }
}

pub(crate) fn is_feed(media_type: &str) -> bool {
    matches!(
        media_type,
        "application/rss+xml" | "application/atom+xml" | "application/feed+json"
    )
}

/// What an attempt costs in memory and in the journal, about.
fn weight(attempt: &Attempt) -> u64 {
    let link =
        |link: &teia_base::journal::LinkRecord| 160 + link.url.request().len() + link.anchor.len();
    let detail = attempt.detail.as_ref().map_or(0, String::len);
    512 + detail as u64 + attempt.links.iter().map(link).sum::<usize>() as u64
}

/// Cuts what is told of an attempt: much of it comes from servers, and it goes to the journal, the history and the
/// catalog of every URL.
fn shorten(detail: &mut String) {
    if detail.len() > MOST_DETAIL {
        detail.truncate(detail.floor_char_boundary(MOST_DETAIL - '…'.len_utf8()));
        detail.push('…');
    }
}
