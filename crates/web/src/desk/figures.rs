//! Collections in figures: where they stand, their runs, how they grew, and the tables of the five systems.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use teia_base::journal::Quarantined;
use teia_base::{Clock, Outcome, SystemClock, Timestamp};
use teia_engine::{
    CollectionFile, Directory, Growth, Overview, Reading, RunSummary, Schedule, Stats, rule,
    size_of, tables,
};
use teia_repository::State;

use super::control::{Rates, Standing};
use super::counter::Source;
use super::{Changes, Counted, Counter, Desk, DeskError, Page, Window};

/// Figures are not made again before they are this old; and then only if something has changed.
pub(super) const FRESH: Duration = Duration::from_secs(1);
/// Nor sooner than so many times as long as making them took: a large collection is read now and then.
pub(super) const REST: u32 = 20;
/// With more URLs than this, only the sums are kept in memory.
const KEPT_URLS: u64 = 100_000;
/// Hosts in the list of the largest.
const TOP_HOSTS: usize = 25;

/// A collection at a glance.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Card {
    /// Its name.
    pub(crate) name: String,
    /// `never-run`, `starting`, `running`, `paused`, `resting`, `stopping`, `ended`, `interrupted` or `unreadable`.
    pub(crate) state: &'static str,
    /// Why it rests, or why it ended.
    pub(crate) reason: Option<String>,
    /// In one word.
    pub(crate) health: Health,
    /// What is wrong, where something is.
    pub(crate) problem: Option<String>,
    /// `once`, `periodic` or `incremental`.
    pub(crate) mode: Option<String>,
    /// How many seeds it has.
    pub(crate) seeds: u64,
    /// Its scope.
    pub(crate) scope: Option<String>,
    /// URLs ever met.
    pub(crate) known: u64,
    /// URLs by state.
    pub(crate) states: BTreeMap<&'static str, u64>,
    /// Links that are not decided yet: the numbers are at least.
    pub(crate) undecided: u64,
    /// Hosts ever met.
    pub(crate) hosts: u64,
    /// Documents answered, over all runs.
    pub(crate) fetched: u64,
    /// Bytes received, over all runs.
    pub(crate) bytes: u64,
    /// Bytes on disk.
    pub(crate) size: u64,
    /// Speeds of the run under way.
    pub(crate) rates: Option<Rates>,
    /// The last run.
    pub(crate) last_run: Option<RunRow>,
    /// When the next run begins by itself.
    pub(crate) next_run: Option<String>,
    /// When these figures were made.
    pub(crate) as_of: String,
}

/// How a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Health {
    /// Nothing to do.
    Good,
    /// Somebody may want to look.
    Warning,
    /// Somebody has to.
    Bad,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunRow {
    /// Its number.
    pub(crate) number: u32,
    /// When it began.
    pub(crate) started: String,
    /// Its last commit.
    pub(crate) last_commit: String,
    /// Seconds from the one to the other.
    pub(crate) seconds: f64,
    /// Why it ended; nothing while it goes on, or after a kill.
    pub(crate) ended: Option<String>,
    /// A person let it rest.
    pub(crate) paused: bool,
    /// Documents answered.
    pub(crate) fetched: u64,
    /// Attempts without an answer, or with an error.
    pub(crate) errors: u64,
    /// Bytes received.
    pub(crate) bytes: u64,
    /// Requests made.
    pub(crate) requests: u64,
    /// Documents whose body was met before.
    pub(crate) duplicates: u64,
    /// Attempts by outcome.
    pub(crate) outcomes: Vec<OutcomeCount>,
}

/// A run in the list of runs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ListedRun {
    /// The run.
    #[serde(flatten)]
    pub(crate) run: RunRow,
    /// Seconds at work, without pauses and the time between its processes, as far as the catalog is; nothing without one.
    pub(crate) active_seconds: Option<f64>,
}

/// How often something came of an attempt.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OutcomeCount {
    /// Its number.
    pub(crate) number: i16,
    /// Its name.
    pub(crate) name: String,
    /// What it means.
    pub(crate) sentence: &'static str,
    /// How often.
    pub(crate) count: u64,
}

/// A pattern of URLs that was taken for a trap.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Trap {
    /// Of this host.
    pub(crate) host: String,
    /// As settings name it.
    pub(crate) pattern: String,
    /// The rule that leaves it out in every run.
    pub(crate) exclude: String,
    /// A person has said that it is none.
    pub(crate) allowed: bool,
}

/// A collection in numbers, over all runs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Numbers {
    /// The collection.
    pub(crate) collection: String,
    /// Attempts by outcome.
    pub(crate) outcomes: Vec<OutcomeCount>,
    /// Documents by media type.
    pub(crate) types: BTreeMap<String, u64>,
    /// Documents by language.
    pub(crate) languages: BTreeMap<String, u64>,
    /// The hosts with most documents.
    pub(crate) top_hosts: Vec<(String, u64)>,
    /// Bytes on disk, by part.
    pub(crate) sizes: BTreeMap<&'static str, u64>,
    /// How it grew, oldest first.
    pub(crate) growth: Vec<Growth>,
    /// Seconds spent on names, connections, TLS, first bytes and bodies.
    pub(crate) seconds: BTreeMap<&'static str, f64>,
    /// When these figures were made.
    pub(crate) as_of: String,
}

/// What was read of a collection, a while ago.
#[derive(Debug)]
pub(super) struct Figures {
    made: Instant,
    took: Duration,
    /// Of what they are.
    source: Source,
    as_of: String,
    known: u64,
    states: BTreeMap<&'static str, u64>,
    undecided: u64,
    hosts: u64,
    runs: Vec<RunSummary>,
    growth: Vec<Growth>,
    quarantined: Vec<Quarantined>,
    total: Stats,
    /// Everything, where it is small enough to be kept.
    overview: Option<Mutex<Overview>>,
}

impl Desk {
    /// All collections, by name.
    pub(crate) fn collections(&self) -> Result<Vec<Card>, DeskError> {
        let directory = match self.directory() {
            Ok(directory) => directory,
            Err(DeskError::Missing(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let live = self.standings().unwrap_or_default();
        let names = directory.collections();
        Ok(names
            .iter()
            .map(|name| self.card_with(name, live.iter().find(|live| live.name == *name)))
            .collect())
    }

    /// One collection.
    pub(crate) fn card(&self, name: &str) -> Result<Card, DeskError> {
        drop(self.reading(name)?);
        let live = self.standings().unwrap_or_default();
        Ok(self.card_with(name, live.iter().find(|live| live.name == name)))
    }

    /// When the last run began, where one did.
    pub(super) fn last_began(&self, name: &str) -> Option<Timestamp> {
        self.figures(name).ok()?.last_began()
    }

    /// A collection that cannot be read is shown too, and says so.
    fn card_with(&self, name: &str, live: Option<&Standing>) -> Card {
        let file = self.file(name).map(|(_, _, file)| file);
        let figures = self.figures(name);
        let now = SystemClock.wall();
        let mut card = Card {
            name: name.to_owned(),
            state: "never-run",
            reason: None,
            health: Health::Good,
            problem: None,
            mode: None,
            seeds: 0,
            scope: None,
            known: 0,
            states: BTreeMap::new(),
            undecided: 0,
            hosts: 0,
            fetched: 0,
            bytes: 0,
            size: 0,
            rates: live.and_then(|live| live.rates.clone()),
            last_run: None,
            next_run: None,
            as_of: now.to_string(),
        };
        match &figures {
            Ok(figures) => card.take(figures),
            Err(error) => {
                tracing::warn!(name, %error, cause = ?std::error::Error::source(error), "a collection cannot be read");
                card.state = "unreadable";
                card.health = Health::Bad;
                card.problem = Some(error.to_string());
            }
        }
        match &file {
            Ok(file) => card.take_file(file, figures.as_ref().ok().map(|figures| &**figures)),
            Err(error) => {
                card.health = Health::Bad;
                card.problem = Some(error.to_string());
            }
        }
        card.take_live(live);
        // Nobody would else learn why nothing runs.
        let failure = self.runs.as_ref().and_then(|runs| runs.failure(name));
        if let Some(why) = failure.filter(|_| live.is_none()) {
            card.health = Health::Bad;
            card.problem = Some(why);
        }
        if let Ok((_, reading)) = self.reading(name) {
            card.size = sizes(&reading).values().sum();
            let is_now =
                |figures: &Arc<Figures>| live.is_none() && figures.source == Source::of(&reading);
            if figures.as_ref().is_ok_and(is_now) {
                card.as_of = now.to_string();
            }
        }
        card
    }

    /// Its runs, newest first.
    pub(crate) fn runs(&self, name: &str, window: Window) -> Result<Page<ListedRun>, DeskError> {
        let figures = self.figures(name)?;
        let rows = figures.runs.iter().rev().map(RunRow::of);
        let Page {
            items,
            total,
            offset,
            limit,
        } = window.of(rows.collect());
        let numbers = items.last().zip(items.first());
        let active = numbers.map(|(from, to)| {
            let active = self.in_catalog(name, |reader, known| {
                known.active_micros(reader, from.number, to.number)
            });
            // A catalog that does not answer keeps nobody from the list.
            active.ok().flatten().unwrap_or_default()
        });
        let active = active.unwrap_or_default();
        let active_seconds = |run: &RunRow| {
            let micros = active.get(&i64::from(run.number))?;
            Some(Duration::from_micros(u64::try_from(*micros).ok()?).as_secs_f64())
        };
        let listed = |run: RunRow| ListedRun {
            active_seconds: active_seconds(&run),
            run,
        };
        Ok(Page {
            items: items.into_iter().map(listed).collect(),
            total,
            offset,
            limit,
        })
    }

    /// What is left out as a trap.
    pub(crate) fn traps(&self, name: &str) -> Result<Vec<Trap>, DeskError> {
        let figures = self.figures(name)?;
        let settings = self.settings(name).unwrap_or_default();
        let trap = |one: &Quarantined| Trap {
            host: one.host.clone(),
            pattern: one.pattern.clone(),
            exclude: rule(&one.host, &one.pattern),
            allowed: settings.traps.allows(&one.host, &one.pattern) || !settings.traps.enabled,
        };
        Ok(figures.quarantined.iter().map(trap).collect())
    }

    /// Lets what was taken for a trap in (`host/pattern`): it is written into the collection's file.
    pub(crate) fn allow_trap(&self, name: &str, what: String) -> Result<Vec<String>, DeskError> {
        let mut allow = self.settings(name)?.traps.allow;
        if !allow.contains(&what) {
            allow.push(what);
        }
        let changes = Changes {
            settings: [("traps.allow".to_owned(), allow.clone().into())].into(),
            text: None,
        };
        self.change(name, &changes)?;
        Ok(allow)
    }

    /// It in numbers.
    pub(crate) fn numbers(&self, name: &str) -> Result<Numbers, DeskError> {
        let (_, reading) = self.reading(name)?;
        let figures = self.figures(name)?;
        let total = &figures.total;
        let mut top_hosts: Vec<(String, u64)> = total
            .hosts
            .iter()
            .map(|(host, count)| (host.clone(), *count))
            .collect();
        top_hosts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        top_hosts.truncate(TOP_HOSTS);
        let names = ["dns", "connect", "tls", "first_byte", "body"];
        let seconds = names.into_iter().zip(total.times);
        Ok(Numbers {
            collection: name.to_owned(),
            outcomes: outcomes(total),
            types: total.types.clone(),
            languages: total.languages.clone(),
            top_hosts,
            sizes: sizes(&reading),
            growth: figures.growth.clone(),
            seconds: seconds
                .map(|(name, time)| (name, time.as_secs_f64()))
                .collect(),
            as_of: figures.as_of.clone(),
        })
    }

    /// The tables of Tarântula, Retriever, Fischer and VEUNI; none yet where they are being counted.
    pub(crate) fn counted(&self, name: &str) -> Result<Option<Counted>, DeskError> {
        let (_, reading) = self.reading(name)?;
        self.counter
            .ask(name, Source::of(&reading), || self.is_running(name))
    }

    /// The same, for who cannot show half an answer.
    pub(crate) fn statistics(&self, name: &str) -> Result<Counted, DeskError> {
        let counting = || {
            let sentence = "the tables are being counted; ask again in a moment";
            DeskError::Busy(sentence.to_owned())
        };
        self.counted(name)?.ok_or_else(counting)
    }

    /// Does something with everything that is known of a collection, as it was a moment ago.
    pub(super) fn with_overview<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Overview) -> Result<T, DeskError>,
    ) -> Result<T, DeskError> {
        let figures = self.figures(name)?;
        match &figures.overview {
            Some(overview) => work(&mut lock(overview)),
            None => {
                let (_, reading) = self.reading(name)?;
                work(&mut reading.overview()?)
            }
        }
    }

    /// The same, if it is small enough to be at hand; nothing else is opened.
    pub(super) fn with_kept_overview<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Overview) -> Result<T, DeskError>,
    ) -> Result<Option<T>, DeskError> {
        let figures = self.figures(name)?;
        let kept = figures.overview.as_ref();
        kept.map(|overview| work(&mut lock(overview))).transpose()
    }

    /// The figures of a collection. Who comes while they are made waits for them. Those of a large collection
    /// may rest while it runs; what has ended is never shown as it was before.
    fn figures(&self, name: &str) -> Result<Arc<Figures>, DeskError> {
        let (_, reading) = self.reading(name)?;
        let place = {
            let mut places = lock(&self.figures);
            // What is gone needs no place.
            if places.len() > 256 {
                places.clear();
            }
            Arc::clone(places.entry(name.to_owned()).or_default())
        };
        let mut held = lock(&place);
        let source = Source::of(&reading);
        if let Some(figures) = &*held
            && figures.source.removed == source.removed
            && (figures.source == source
                || may_rest(figures.made.elapsed(), figures.took, || {
                    self.is_running(name)
                }))
        {
            return Ok(Arc::clone(figures));
        }
        // The old ones go before new ones are made: both may be large.
        *held = None;
        let figures = Arc::new(Figures::make(&reading)?);
        *held = Some(Arc::clone(&figures));
        Ok(figures)
    }

    fn is_running(&self, name: &str) -> bool {
        self.standing(name).is_ok_and(|standing| standing.is_some())
    }

    /// What was read before is not to be believed any more.
    pub(super) fn forget(&self, name: &str) {
        lock(&self.figures).remove(name);
        self.counter.forget(name);
        self.forget_lives(name);
    }
}

/// Counts tables with everything of a collection in hands of its own: no page waits for it.
pub(super) fn counter(root: &Path) -> Counter {
    let root = root.to_owned();
    Counter::new(move |name| {
        let directory = Directory::open(&root)?;
        let reading = Reading::open(&directory, name)?;
        let source = Source::of(&reading);
        let overview = reading.overview()?;
        Ok((tables(&directory, &reading, &overview)?, source))
    })
}

impl Figures {
    fn last_began(&self) -> Option<Timestamp> {
        self.runs.last().map(|run| run.started)
    }

    fn make(reading: &Reading) -> Result<Self, DeskError> {
        let made = Instant::now();
        let source = Source::of(reading);
        let overview = reading.overview()?;
        let repository = &overview.repository;
        let mut total = Stats::default();
        for run in &overview.runs {
            total.merge(&run.stats);
        }
        let states = State::ALL
            .iter()
            .map(|state| (state.name(), repository.count(*state)));
        Ok(Self {
            made,
            took: made.elapsed(),
            source,
            as_of: SystemClock.wall().to_string(),
            known: repository.len(),
            states: states.collect(),
            undecided: repository.undecided(),
            hosts: repository.host_count() as u64,
            runs: overview.runs.clone(),
            growth: overview.growth.clone(),
            quarantined: overview.quarantined.clone(),
            total,
            overview: (repository.len() <= KEPT_URLS).then(|| Mutex::new(overview)),
        })
    }
}

impl Card {
    fn take(&mut self, figures: &Figures) {
        self.known = figures.known;
        self.states.clone_from(&figures.states);
        self.undecided = figures.undecided;
        self.hosts = figures.hosts;
        self.fetched = figures.total.fetched;
        self.bytes = figures.total.bytes;
        self.as_of.clone_from(&figures.as_of);
        let Some(last) = figures.runs.last() else {
            return;
        };
        self.last_run = Some(RunRow::of(last));
        (self.state, self.reason) = match &last.ended {
            _ if last.paused => ("paused", None),
            Some(reason) => ("ended", Some(reason.clone())),
            None => ("interrupted", None),
        };
        // Most of what was asked for failed.
        let asked = last.stats.fetched.max(1);
        if last.stats.errors > 20 && last.stats.errors * 2 > asked {
            self.health = Health::Warning;
            self.problem = Some(format!(
                "{} of {} attempts of the last run failed",
                last.stats.errors,
                last.stats.codes.values().sum::<u64>()
            ));
        }
    }

    /// What the run itself says is newer than what the journal had when it was read.
    fn take_live(&mut self, live: Option<&Standing>) {
        let Some(live) = live else {
            // A run of which nobody knows how it ended. One that goes on has no end yet, and is well.
            if self.state == "interrupted" {
                self.health = self.health.max(Health::Warning);
            }
            return;
        };
        self.state = live.state;
        self.reason.clone_from(&live.reason);
        if live.state == "resting" && live.reason.as_deref() == Some("waiting for disk space") {
            self.health = self.health.max(Health::Warning);
            self.problem = self.problem.take().or(live.reason.clone());
        }
        let Some(rates) = &live.rates else { return };
        let open = self.last_run.as_ref().filter(|run| run.ended.is_none());
        let (fetched, bytes) = open.map_or((0, 0), |run| (run.fetched, run.bytes));
        self.fetched = self.fetched.saturating_sub(fetched) + rates.fetched.max(fetched);
        self.bytes = self.bytes.saturating_sub(bytes) + rates.bytes.max(bytes);
        self.known = self.known.max(rates.known);
    }

    fn take_file(&mut self, file: &CollectionFile, figures: Option<&Figures>) {
        let config = file.config();
        self.seeds = config.seeds.len() as u64;
        self.scope = Some(config.filter.scope.to_string());
        let mode = serde_json::to_value(config.mode).ok();
        self.mode = mode.and_then(|mode| mode.as_str().map(str::to_owned));
        if !config.schedule.is_set() {
            return;
        }
        let Ok(schedule) = Schedule::parse(&config.schedule) else {
            return;
        };
        let now = SystemClock.wall();
        let began = figures.and_then(Figures::last_began);
        let next = schedule.next_run(began, now);
        self.next_run = next.map(|next| next.to_string());
    }
}

impl Health {
    fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bad, _) | (_, Self::Bad) => Self::Bad,
            (Self::Warning, _) | (_, Self::Warning) => Self::Warning,
            _ => Self::Good,
        }
    }
}

impl RunRow {
    fn of(run: &RunSummary) -> Self {
        Self {
            number: run.number,
            started: run.started.to_string(),
            last_commit: run.last_commit.to_string(),
            seconds: run.last_commit.since(run.started).as_secs_f64(),
            ended: run.ended.clone(),
            paused: run.paused,
            fetched: run.stats.fetched,
            errors: run.stats.errors,
            bytes: run.stats.bytes,
            requests: run.stats.requests,
            duplicates: run.stats.duplicates,
            outcomes: outcomes(&run.stats),
        }
    }
}

fn outcomes(stats: &Stats) -> Vec<OutcomeCount> {
    let counts = stats.codes.iter();
    counts
        .map(|(number, count)| {
            let outcome = Outcome::from_number(*number);
            OutcomeCount {
                number: *number,
                name: outcome.name().into_owned(),
                sentence: outcome.sentence(),
                count: *count,
            }
        })
        .collect()
}

/// Whether figures of a journal that has grown are shown once more. Those of a large collection are, while it
/// runs; after its end nobody may read of a run that goes on.
fn may_rest(age: Duration, took: Duration, is_running: impl FnOnce() -> bool) -> bool {
    age < FRESH || age < took * REST && is_running()
}

/// The journal only grows; where it has not, nothing has changed.
pub(super) fn journal_bytes(reading: &Reading) -> u64 {
    let (files, layout) = (reading.files(), reading.layout());
    size_of(&*files, &layout.journal()) + size_of(&*files, &layout.history())
}

/// Bytes on disk.
fn sizes(reading: &Reading) -> BTreeMap<&'static str, u64> {
    let (files, layout) = (reading.files(), reading.layout());
    let folders = [
        ("archive", layout.archive()),
        ("journal", layout.journal()),
        ("history", layout.history()),
        ("urls", layout.urls()),
        ("index", layout.index()),
        ("links", layout.links()),
    ];
    let size = |folder: &PathBuf| size_of(&*files, folder);
    let folders = folders.iter();
    folders
        .map(|(name, folder)| (*name, size(folder)))
        .collect()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        let last_run = RunRow {
            number: 2,
            started: String::new(),
            last_commit: String::new(),
            seconds: 0.0,
            ended: None,
            paused: false,
            fetched: 30,
            errors: 0,
            bytes: 300,
            requests: 30,
            duplicates: 0,
            outcomes: Vec::new(),
        };
        Card {
            name: "a".to_owned(),
            state: "interrupted",
            reason: None,
            health: Health::Good,
            problem: None,
            mode: None,
            seeds: 1,
            scope: None,
            known: 100,
            states: BTreeMap::new(),
            undecided: 0,
            hosts: 1,
            fetched: 70,
            bytes: 700,
            size: 0,
            rates: None,
            last_run: Some(last_run),
            next_run: None,
            as_of: String::new(),
        }
    }

    #[test]
    fn a_run_that_goes_on_is_well_and_counted_as_it_stands() {
        let mut left = card();
        left.take_live(None);
        assert_eq!((left.state, left.health), ("interrupted", Health::Warning));

        let live = Standing {
            name: "a".to_owned(),
            state: "running",
            reason: None,
            process: None,
            noted: true,
            rates: Some(Rates {
                fetched: 36,
                bytes: 360,
                known: 90,
                ..Rates::default()
            }),
            counts: teia_engine::Counts::default(),
        };
        let mut runs = card();
        runs.take_live(Some(&live));
        assert_eq!((runs.state, runs.health), ("running", Health::Good));
        // Forty pages of the run before, and what this one has by now.
        assert_eq!((runs.fetched, runs.bytes, runs.known), (76, 760, 100));
    }

    #[test]
    fn old_figures_are_shown_while_a_run_goes_on_and_not_after_its_end() {
        let (moment, long) = (Duration::from_millis(200), Duration::from_secs(30));
        let took = Duration::from_secs(2);
        assert!(may_rest(moment, took, || false), "just made");
        assert!(may_rest(long, took, || true), "a large one that runs");
        assert!(!may_rest(long, took, || false), "it has ended");
        assert!(!may_rest(long, moment, || true), "a small one");
    }
}
