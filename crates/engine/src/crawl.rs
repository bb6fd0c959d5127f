//! A crawl: what an Executor is given, and how the one on this machine starts it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock, mpsc as std_mpsc};
use std::time::Duration;

use teia_archive::{Committed, RecordNames, Writer};
use teia_base::filter::Rules;
use teia_base::{Clock, Files, FoundUrl, HostId, Seed, SteadyClock, Timestamp};
use teia_fetch::{Authenticator, Fetcher, HttpFetcher};
use teia_frontier::{HostLimit, PoliteFrontier, PolitenessKey, gap, retry_wait};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::EngineError;
use crate::addresses::AddressBook;
use crate::alias::AliasWatch;
use crate::analysis::Analysis;
use crate::analyzed::Analyzed;
use crate::answers::Answers;
use crate::collection::{CollectionConfig, Mode};
use crate::collection_file::CollectionFile;
use crate::control::Control;
use crate::copies::Copies;
use crate::cpu_share::{Counts, Throttle};
use crate::crashes::Crashes;
use crate::day_pages::DayPages;
use crate::digests::Digests;
use crate::directory::Layout;
use crate::feedback::{Event, Feedback, Level};
use crate::followers::{Crew, OrderByRank};
use crate::given::{all_given, hours_of, normal_seeds};
use crate::judge::Judge;
use crate::lanes::Lanes;
use crate::limits::{hosts_at_once, idle_connections, lane_pages, waiting_hosts};
use crate::memory::Memory;
use crate::message::Message;
use crate::nowhere::Nowhere;
use crate::outage::Outage;
use crate::parts::Parts;
use crate::past::{Past, begin_run, give_up_blocks};
use crate::rates::Rates;
use crate::rekey::remove_aside;
use crate::removals::{RemovalWatch, Removals};
use crate::report::{EndReason, Report};
use crate::reserve::Reserve;
use crate::ring::{Allow, Ring};
use crate::robots_book::RobotsBook;
use crate::run_changes::{RunChanges, SettingsFile};
use crate::sense::{Senseless, check_fixed};
use crate::sites::{SiteBook, SiteRules, Sites};
use crate::stage::commit::{Committer, Window};
use crate::stage::extract::{Readers, Workshop};
use crate::stage::sheets::Sheets;
use crate::stage::shortcut::Shortcuts;
use crate::stage::spread::Backlog;
use crate::stats::Stats;
use crate::traps::farms::Farms;
use crate::traps::soft::SoftMissing;
use crate::traps::{Quarantine, TrapWatch};
use crate::webhook::Herald;
use crate::workers::Jobs;
use crate::wronged::Wronged;

/// A URL whose tries were used up gets new ones in a run that begins this much later.
pub(crate) const NEW_CHANCE: Duration = Duration::from_secs(60);

/// Everything that a run needs to know.
pub struct Crawl {
    /// The disk of the data directory.
    pub files: Arc<dyn Files>,
    /// Where it lies, for messages.
    pub root: PathBuf,
    /// The data directory's key.
    pub key: u64,
    /// Which collection.
    pub layout: Layout,
    /// Its settings.
    pub config: CollectionConfig,
    /// Write the settings into the collection file once they are found good.
    pub save: bool,
    /// Seeds to add; those of earlier runs are known.
    pub seeds: Vec<Seed>,
    /// The parts of the ring.
    pub parts: Parts,
    /// How it is steered.
    pub control: Control,
}

impl std::fmt::Debug for Crawl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crawl")
            .field("collection", &self.layout.name())
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Crawl {
    /// Runs to the end, and until the followers have everything too.
    pub(crate) async fn run(mut self) -> Result<Report, EngineError> {
        let herald = Herald::of(&self)?;
        if let Some(herald) = &herald {
            self.parts.feedback = Arc::clone(herald) as Arc<dyn Feedback>;
        }
        let feedback = Arc::clone(&self.parts.feedback);
        let stays = self.parts.company.is_some();
        let ended = Box::pin(self.run_untold()).await;
        let end = ended.as_ref().map(|report| report.reason);
        feedback.hear(&Event::Ended(end.map_err(EngineError::with_causes)));
        if let Some(herald) = herald {
            herald.over(&ended, stays).await;
        }
        ended
    }

    /// The same, and nobody elsewhere is told. Where damaged blocks end it, it goes on with others, made again from
    /// the journal.
    async fn run_untold(self) -> Result<Report, EngineError> {
        let again = self.once_more();
        match (Box::pin(self.run_once()).await, again) {
            (Err(EngineError::UrlsForgotten(damage)), Some(again)) => {
                again.parts.feedback.hear(&Event::Notice {
                    level: Level::Warning,
                    text: format!("{damage}; all URLs are made again from the journal"),
                });
                Box::pin(again.run_once()).await
            }
            (ended, _) => ended,
        }
    }

    /// The same run, to be begun anew; none where a part can be used once only.
    fn once_more(&self) -> Option<Self> {
        Some(Self {
            files: Arc::clone(&self.files),
            root: self.root.clone(),
            key: self.key,
            layout: self.layout.clone(),
            config: self.config.clone(),
            save: self.save,
            seeds: self.seeds.clone(),
            parts: self.parts.once_more()?,
            control: self.control.clone(),
        })
    }

    async fn run_once(self) -> Result<Report, EngineError> {
        let control = self.control.clone();
        let (files, layout) = (Arc::clone(&self.files), self.layout.clone());
        let (ring, inbox, crew) = self
            .start()
            .map_err(|error| error.without_blocks(&files, &layout))?;
        let ended = Box::pin(ring.run(inbox)).await;
        let ended = ended.map_err(|error| error.without_blocks(&files, &layout));
        if ended.as_ref().is_ok_and(|report| report.blocks_damaged) {
            give_up_blocks(&files, &layout);
        }
        let reason = ended
            .as_ref()
            .map_or(EndReason::Interrupted, |report| report.reason);
        crew.finish(reason, control.clone()).await;
        ended.map(|mut report| {
            // A signal may come while index and graph are waited for.
            if control.end() == Some(EndReason::Interrupted) {
                report.reason = EndReason::Interrupted;
            }
            report
        })
    }

    /// Recovers what was committed, starts the threads, and records the run's beginning.
    pub(crate) fn start(self) -> Result<(Ring, mpsc::Receiver<Message>, Crew), EngineError> {
        let Self {
            files,
            root,
            key,
            layout,
            mut config,
            save,
            mut seeds,
            mut parts,
            control,
        } = self;
        if parts.fetcher.is_none() && parts.authenticator.is_none() {
            parts.authenticator = logins(&*files, &root, &layout, &config, &*parts.clock)?;
        }
        seeds.extend(seeds_in_file(&config, &*files, &root, &layout)?);
        let stored = CollectionFile::read(&*files, &root, &layout).ok().flatten();
        // Whatever is done to the machine's clock, this run's goes on.
        let steady = Arc::new(SteadyClock::new(parts.clock));
        parts.clock = Arc::clone(&steady) as Arc<dyn Clock>;
        let given_config = config.clone();
        config.settle();
        config.fetch.max_idle_connections = idle_connections(
            config.fetch.max_idle_connections,
            hosts_at_once(config.run.hosts_at_once),
        );
        let clock = Arc::clone(&parts.clock);
        let (order, order_ranks) = OrderByRank::policy(config.run.order, key);
        let digests = Arc::new(Digests::new(config.run.digests_remembered, key));
        let place = (&layout, key);
        let mut past = Past::open(&files, &root, place, &config, &order, &*clock, &digests)?;
        past.repository
            .set_longest_wait(longest_revisit(&config), clock.wall());
        for error in &past.lost {
            parts.feedback.hear(&Event::Notice {
                level: Level::Warning,
                text: format!("{error}; the whole journal was read in its place"),
            });
        }
        let last_archive = past.ledger.head.archive.clone().map(|position| Committed {
            file: position.file,
            len: position.len,
        });
        check_fixed(&config, past.ledger.head.options.as_deref())?;
        let names = RecordNames::new(key);
        // What was committed last may be dated later than now: then the clock was wrong, or is.
        let last_commit = past.ledger.last_commit();
        let ahead = last_commit.map_or(Duration::ZERO, |last| last.since(clock.wall()));
        let archive = if config.archives_some() {
            let mut writer = Writer::open(
                Arc::clone(&files),
                &layout.archive(),
                config.archive.warc.clone(),
                names,
                last_archive.clone(),
            )?;
            mend_indexes(&writer, &*clock, &*parts.feedback, &control);
            if !ahead.is_zero() {
                // Dates within one file only grow.
                writer.begin_anew(clock.wall())?;
            }
            Some(writer)
        } else {
            None
        };
        if ahead > SteadyClock::TOLERANCE {
            parts.feedback.hear(&Event::Notice {
                level: Level::Warning,
                text: format!(
                    "what was committed last is dated {} s later than now: the clock of this machine was wrong then, or is wrong now; look at it, dates go on from now, in a new archive file",
                    ahead.as_secs()
                ),
            });
        }
        let new_seeds = normal_seeds(&config, &seeds)?;
        let begins = past.ledger.run_has_ended();
        let mut all_seeds = past.ledger.seeds.clone();
        let is_new = |seed: &&FoundUrl| !past.ledger.knows_seed(seed.normal());
        let seeds = new_seeds.iter().map(|(seed, _)| seed).filter(is_new);
        all_seeds.extend(seeds.map(|seed| seed.normal().clone()));
        let seeds_are_known = all_seeds.len() == past.ledger.seeds.len();
        if all_seeds.is_empty() && past.repository.is_empty() {
            return Err(EngineError::NoSeeds);
        }
        for list in Removals::mend(&*files, &layout)? {
            parts.feedback.hear(&Event::Notice {
                level: Level::Warning,
                text: format!(
                    "the list of removals {} was damaged: it is written again from its copy, and everything in it stays removed",
                    list.display()
                ),
            });
        }
        let removals = Removals::heeded(&*files, &layout).whole();
        let removals = removals.map_err(EngineError::disk("read the removals in", &root))?;
        let has_removals = removals != Removals::default() || Removals::is_begun(&*files);
        let removals = Arc::new(removals);
        let spool = clear_spool(&*files, &layout)?;
        remove_aside(&*files, &layout)?;
        config.archive.warc.spool_dir.clone_from(&spool);
        let rules = Rules::compile(&config.filter, &all_seeds)?;
        let sites = Arc::new(Sites::new(&config));
        let site_rules = SiteRules::new(&sites, &all_seeds);
        for (seed, _) in &new_seeds {
            site_rules
                .of(seed.normal(), &rules)
                .check_seed(seed.normal())?;
        }
        let (fetcher, http) = match parts.fetcher.clone() {
            Some(own) => (own, None),
            None => {
                let http = http_fetcher(&config, spool.as_deref(), &parts, &past.given)?;
                (Arc::clone(&http) as Arc<dyn Fetcher>, Some(http))
            }
        };
        // Only what was found good is written down.
        if save {
            let before = stored.as_ref().map(CollectionFile::config);
            given_config.save(before, &*files, &root, &layout)?;
        }
        let mut first_seeds = new_seeds;
        let mut run_began = clock.wall();
        let (run, stats) = if begins {
            begin_run(
                &mut past.repository,
                config.mode,
                config.run.revisit,
                run_began,
            );
            if config.mode == Mode::Periodic {
                first_seeds = all_given(&config, first_seeds, &past.given)?;
            }
            (past.ledger.head.run + 1, Stats::default())
        } else {
            run_began = past.ledger.run_began().unwrap_or(run_began);
            (past.ledger.head.run, past.ledger.stats())
        };
        let pages = stats.hosts.iter();
        let host_pages = pages
            .filter_map(|(host, pages)| Some((past.repository.host(host)?, *pages)))
            .collect();
        let robot_token = robot_token(&config.fetch.user_agent);
        let last_entry = past.journal.next_sequence() - 1;
        let (crew, feeds) = Crew::start(
            &files,
            (&layout, key),
            &config,
            last_entry,
            order_ranks,
            &parts.feedback,
        );
        let workshop = Arc::new(Workshop {
            answers: Answers::of(&config, Arc::clone(&sites)).with(parts.extractor.as_ref()),
            normal_form: config.normal_form.clone(),
            judge: RwLock::new(Arc::new(Judge {
                rules,
                sites: site_rules,
                own: parts.filter.clone(),
                removals: Arc::clone(&removals),
                quarantine: Arc::new(Quarantine::new(
                    &past.ledger.head.quarantined,
                    &config.traps,
                    &sites,
                )),
            })),
            archives_usually: config.archive.enabled,
            archive: config
                .archives_some()
                .then(|| (config.archive.warc.clone(), names)),
            copies: config
                .archives_some()
                .then(|| Copies::new(Arc::clone(&files), layout.archive())),
            crashes: Crashes::new(Arc::clone(&files), layout.crashes()),
            next_capture: AtomicU64::new(past.ledger.head.last_capture + 1),
            digests,
            readers: match (parts.analyzers.is_empty(), crew.reads_texts()) {
                (false, _) => Readers::Analyzers,
                (true, true) => Readers::Index,
                (true, false) => Readers::None,
            },
            throttle: Throttle::new(
                config.run.cpu_share,
                match parts.company {
                    None => Counts::Process,
                    Some(_) => Counts::Workers,
                },
            ),
            memory: Memory::new(config.run.memory),
        });
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        let (messages, inbox) = mpsc::channel(1024);
        let slack = workers * 16;
        let in_lane = lane_pages(slack, config.run.hosts_at_once);
        let weight = config.schedule.weight;
        let company = parts.company.as_deref().map(|company| (company, weight));
        let jobs = Jobs::start(workers, in_lane, company, &workshop, &messages, &control)
            .map_err(EngineError::disk("start a thread for", layout.name()))?;
        let has_analyzers = !parts.analyzers.is_empty();
        let documents = if !has_analyzers {
            None
        } else {
            let analysis = Analysis {
                analyzers: parts.analyzers,
                analyzed: Analyzed::read(&*files, &layout).into(),
                files: Arc::clone(&files),
                layout: layout.clone(),
                workshop: Arc::clone(&workshop),
                messages: messages.clone(),
                feedback: Arc::clone(&parts.feedback),
                control: control.clone(),
                committed: last_entry,
                panics: 0.into(),
                unread: 0.into(),
            };
            Some(analysis.spawn()?)
        };
        let (orders, order_queue) = std_mpsc::sync_channel(4);
        let next_sequence = last_entry + 1;
        let committer = Committer {
            archive,
            journal: past.journal,
            journalled: last_archive,
            clock: Arc::clone(&clock),
            documents,
            feeds,
        };
        let committed = messages.clone();
        std::thread::Builder::new()
            .name("teia-commit".to_owned())
            .spawn(move || committer.run(&order_queue, &committed))
            .map_err(EngineError::disk("start a thread for", layout.name()))?;
        let frontier = parts
            .frontier
            .unwrap_or_else(|| Box::new(PoliteFrontier::new(config.politeness.clone(), order)));
        // Through a proxy names are not resolved here, and a fetcher of its own may have none.
        let count_addresses = (config.politeness.key == PolitenessKey::Address
            || sites.has_ranges())
            && config.fetch.proxy.is_none();
        let addresses = http
            .clone()
            .filter(|_| count_addresses)
            .map(AddressBook::new);
        let book = SiteBook::new(sites, http.clone());
        let allow =
            http.map(|http| Box::new(move |url: &url::Url| allow_seed(&http, url)) as Allow);
        let now = clock.now();
        // A seed may widen the scope, and nobody knows what another filter says.
        let last_judged_all = past
            .ledger
            .has_judged_all(&config.without_secrets().to_toml());
        let has_judged =
            seeds_are_known && !has_removals && parts.filter.is_none() && last_judged_all;
        // A run that visits everything again meets everything again.
        let is_judged = has_judged || (begins && config.mode == Mode::Periodic);
        // Sitemaps are named by robots.txt, and so it is read in each such run.
        let robots_since = if config.mode == Mode::Periodic && config.run.sitemaps {
            run_began
        } else {
            Timestamp::default()
        };
        let mut ring = Ring {
            collection: layout.name().to_owned(),
            key,
            repository: past.repository,
            frontier,
            fetcher,
            allow,
            workshop,
            robots: RobotsBook::new(&robot_token, robots_since, run_began),
            errands: HashMap::new(),
            addresses,
            book,
            company: parts
                .company
                .map(|company| company.join(config.schedule.weight, &control)),
            sitemap_files: HashMap::new(),
            traps: TrapWatch::default(),
            trapped: Vec::new(),
            farms: Farms::new(&past.ledger.head.quarantined, &config.traps),
            soft: SoftMissing::default(),
            outage: Outage::new(config.run.outage_patience),
            wronged: Wronged::default(),
            nowhere: Nowhere::default(),
            sheets: Sheets::default(),
            steady,
            clock_told: Duration::ZERO,
            aliases: AliasWatch::default(),
            alias_hosts: HashMap::new(),
            feedback: parts.feedback,
            control,
            limit: HostLimit::new(
                hosts_at_once(config.run.hosts_at_once),
                shortest_limit(&config.fetch),
            ),
            most_waiting: waiting_hosts(config.run.hosts_at_once),
            waiting: 0,
            slow: HashSet::new(),
            is_short: false,
            was_short: false,
            slack,
            outstanding: 0,
            asking: HashMap::new(),
            pages_in_flight: 0,
            bytes_arrived: 0,
            day: DayPages::begin(&host_pages, run_began, clock.wall()),
            host_pages,
            stopping: false,
            paused: false,
            run_began,
            hours: hours_of(&config),
            is_quiet: false,
            rested: Duration::ZERO,
            resting_since: None,
            // The journal says by which rules a run goes before anything is judged by them: a run that was cut off may
            // have left anything waiting that they leave out.
            rules_changed: has_removals || (past.ledger.head.options.is_some() && !last_judged_all),
            pause_noted: past.ledger.head.paused,
            removals: RemovalWatch::new(Arc::clone(&files), layout.clone()),
            shortcuts: Shortcuts::new(Arc::clone(&files), layout.journal()),
            settings_file: SettingsFile {
                files: Arc::clone(&files),
                root,
                layout,
            },
            fixed_changes: RunChanges::default(),
            changed: None,
            reserve: Reserve::new(files, config.run.disk_reserve),
            window: Window::new(),
            backlog: Backlog::default(),
            priorities: Vec::new(),
            to_analyze: has_analyzers.then_some(1),
            late_news: VecDeque::new(),
            committing: 0,
            run,
            next_sequence,
            blocks_damaged: false,
            schemes: BTreeMap::new(),
            fetched_before: stats.fetched,
            stats,
            ledger: past.ledger,
            saver: past.saver,
            rates: Rates::new(now),
            started: now,
            tasks: JoinSet::new(),
            messages,
            jobs,
            lanes: Lanes::new(slack),
            orders,
            clock,
            config,
        };
        ring.rest_known_hosts();
        ring.begin(&first_seeds, is_judged);
        Ok((ring, inbox, crew))
    }
}

impl Ring {
    /// Every host counts as asked at the moment of the start: the last process may have asked it
    /// an instant before it was killed.
    fn rest_known_hosts(&mut self) {
        let now = self.clock.now();
        let wall = self.clock.wall();
        let last_commit = self.ledger.last_commit().unwrap_or(wall);
        let hosts: Vec<HostId> = self.repository.hosts().map(|(host, _)| host).collect();
        for host in hosts {
            self.know_site(host);
            let (_, waiting, fetched) = self.repository.host_counts(host);
            if waiting > 0 || fetched > 0 {
                self.farms.meet(host, self.repository.host_name(host));
            }
            let politeness = self.settings(host).politeness.clone();
            let mut rest = politeness.delay;
            if let Some(record) = self.repository.host_record(host) {
                let latency = Duration::from_micros(record.latency_micros.into());
                rest = gap(&politeness, None, latency);
                // By the clock that wrote it down. No rest is longer than may be: one that seems so is of a clock that was wrong.
                let longest = retry_wait(&politeness, u32::MAX).max(politeness.max_retry_after);
                let back_off = record
                    .back_off_until
                    .map(|until| until.since(wall.max(last_commit)))
                    .filter(|rest| *rest <= longest)
                    .unwrap_or_default();
                let token = self.token_of(host);
                let manner = self.manner_of(host, token.as_deref());
                let copies = record.robots.values();
                let asked = copies
                    .filter(|stored| mentions_crawl_delay(stored))
                    .filter_map(|stored| self.robots.crawl_delay(stored, wall, manner))
                    .max();
                if let Some(asked) = asked {
                    rest = rest.max(asked.min(politeness.max_crawl_delay));
                    self.frontier.set_crawl_delay(host, Some(asked));
                }
                rest = rest.max(back_off);
            }
            // Also a host of which no answer was committed: it may have been asked.
            self.frontier.hold(host, now + rest);
            self.wake(host);
        }
    }
}

/// The longest that a page waits for its next visit, on any host.
pub(crate) fn longest_revisit(config: &CollectionConfig) -> Duration {
    /// More cannot be set.
    const MOST: Duration = Duration::from_hours(3650 * 24);
    let mut sites = config.site.iter();
    if sites.any(|site| site.has("run", "revisit")) {
        return MOST;
    }
    config.run.revisit
}

fn mentions_crawl_delay(robots: &[u8]) -> bool {
    const WORD: &[u8] = b"crawl-delay";
    robots
        .windows(WORD.len())
        .any(|window| window.eq_ignore_ascii_case(WORD))
}

/// Before anybody looks anything up: a damaged index says of what it has that it has it not.
fn mend_indexes(archive: &Writer, clock: &dyn Clock, feedback: &dyn Feedback, control: &Control) {
    let notice = |text| {
        let level = Level::Warning;
        feedback.hear(&Event::Notice { level, text });
    };
    let mut tell = |index: &Path| {
        notice(format!(
            "the archive index {} is damaged: it is written anew from the records",
            index.display()
        ));
    };
    let is_over = || control.end().is_some();
    if let Err(error) = archive.mending().run(draw(clock), &is_over, &mut tell) {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        notice(format!(
            "an archive index could not be looked at, or written anew ({error}{}); the next run tries again",
            cause.unwrap_or_default()
        ));
    }
}

/// Which part of what is looked at in turns.
fn draw(clock: &dyn Clock) -> u64 {
    clock.wall().as_micros().unsigned_abs()
}

/// Large bodies wait on the disk of the data directory, which the reserve watches. What a killed
/// process left there is removed. `None` where the data directory lies on no disk of this machine.
fn clear_spool(files: &dyn Files, layout: &Layout) -> Result<Option<PathBuf>, EngineError> {
    let Some(spool) = files.on_disk(&layout.spool()) else {
        return Ok(None);
    };
    match std::fs::remove_dir_all(&spool) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(EngineError::disk("empty", spool)(error));
        }
        _ => {}
    }
    std::fs::create_dir_all(&spool).map_err(EngineError::disk("create", &spool))?;
    Ok(Some(spool))
}

/// The logins of the collection. A secret that is not there is told with the line that says where it should be.
fn logins(
    files: &dyn Files,
    root: &Path,
    layout: &Layout,
    config: &CollectionConfig,
    clock: &dyn Clock,
) -> Result<Option<Arc<dyn Authenticator>>, EngineError> {
    match config.logins(clock.wall()) {
        Ok(logins) => Ok(logins.map(|logins| Arc::new(logins) as Arc<dyn Authenticator>)),
        Err(senseless) => {
            let is_of = |file: &CollectionConfig| file.login == config.login;
            Err(where_it_stands(senseless, files, root, layout, is_of))
        }
    }
}

/// A setting that makes no sense, with its line where the settings are those of the collection's file.
fn where_it_stands(
    senseless: Senseless,
    files: &dyn Files,
    root: &Path,
    layout: &Layout,
    is_of: impl Fn(&CollectionConfig) -> bool,
) -> EngineError {
    let file = CollectionFile::read(files, root, layout).ok().flatten();
    match file.filter(|file| is_of(file.config())) {
        Some(file) => senseless.in_file(file.path(), file.text()),
        None => senseless.into(),
    }
}

/// The seeds in the file that the collection names, beside its own.
fn seeds_in_file(
    config: &CollectionConfig,
    files: &dyn Files,
    root: &Path,
    layout: &Layout,
) -> Result<Vec<Seed>, EngineError> {
    let own = root.join(layout.config());
    let lines = config.seeds_in_file(own.parent().unwrap_or(root));
    let lines = lines.map_err(|error| match error {
        EngineError::Senseless(senseless) => {
            let is_of = |file: &CollectionConfig| file.seeds_file == config.seeds_file;
            where_it_stands(senseless, files, root, layout, is_of)
        }
        error => error,
    })?;
    let mut seeds = Vec::with_capacity(lines.len());
    for line in &lines {
        seeds.extend(Seed::parse(line)?);
    }
    Ok(seeds)
}

fn http_fetcher(
    config: &CollectionConfig,
    spool: Option<&Path>,
    parts: &Parts,
    given: &[(FoundUrl, bool)],
) -> Result<Arc<HttpFetcher>, EngineError> {
    let mut fetch = config.fetch.clone();
    if let (None, Some(spool)) = (&fetch.spool_dir, spool) {
        fetch.spool_dir = Some(spool.to_owned());
    }
    let mut fetcher = HttpFetcher::new(fetch, Arc::clone(&parts.clock))?;
    if let Some(authenticator) = &parts.authenticator {
        fetcher = fetcher.with_authenticator(Arc::clone(authenticator));
    }
    let fetcher = Arc::new(fetcher);
    for (seed, fallback_http) in given {
        if let Ok(mut url) = url::Url::parse(seed.request()) {
            allow_seed(&fetcher, &url);
            if *fallback_http && url.set_scheme("http").is_ok() {
                allow_seed(&fetcher, &url);
            }
        }
    }
    Ok(fetcher)
}

fn allow_seed(fetcher: &HttpFetcher, url: &url::Url) {
    let Some(port) = url.port_or_known_default() else {
        return;
    };
    match url.host() {
        Some(url::Host::Ipv4(address)) => fetcher.allow(address.into(), port),
        Some(url::Host::Ipv6(address)) => fetcher.allow(address.into(), port),
        Some(url::Host::Domain(name)) => fetcher.allow_host(name, port),
        None => {}
    }
}

/// The shortest time that a server is given for anything.
fn shortest_limit(fetch: &teia_fetch::FetchConfig) -> Duration {
    let limits = [
        fetch.timeout,
        fetch.connect_timeout,
        fetch.tls_timeout,
        fetch.first_byte_timeout,
        fetch.min_rate_window,
    ];
    limits.into_iter().min().unwrap_or(fetch.timeout)
}

/// The word by which robots.txt and metas address us: the product token of the user agent.
pub fn robot_token(user_agent: &str) -> String {
    let token: String = user_agent
        .chars()
        .take_while(|c| c.is_ascii_alphabetic() || *c == '-' || *c == '_')
        .collect();
    if token.is_empty() {
        "Teia".to_owned()
    } else {
        token
    }
}
