//! The Coordinator: looks at collections, begins their runs when they are due, and goes on with those
//! that a restart interrupted.
//!
//! ```text
//! collections/*.toml ──look──> due? ──> Crawl, on a thread of its own ──> ended ──> look
//!     the journal's last run ───┘            └── Desk: pause, resume, stop, other settings
//! ```
//!
//! That a run was begun is known from the journal of its collection; so a restart neither forgets one nor
//! begins one twice. Of its own it keeps one small list (`begun.list`): the runs without a schedule that are
//! to go on after a restart, because they were begun here. All runs share one [`Company`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use teia_base::{Clock, Seed, Timestamp};

use crate::EngineError;
use crate::begun;
use crate::collection::CollectionConfig;
use crate::company::Company;
use crate::control::Control;
use crate::crawl::Crawl;
use crate::directory::{Directory, DirectoryLock, Layout};
use crate::executor::Executor;
use crate::feedback::Level;
use crate::last_run::LastRun;
use crate::parts::Parts;
use crate::report::{EndReason, Report};
use crate::run_changes::RunChanges;
use crate::schedule::{Due, Schedule, believed};

/// A run that failed is begun again after this long.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// Hears what happens, for a log or for people; where it is the failure of a run, of which collection.
pub type Tell = Box<dyn Fn(Level, Option<&str>, &str) + Send>;

/// What a Coordinator is given.
pub struct CoordinatorConfig {
    /// Where the collections are.
    pub directory: Directory,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who runs them.
    pub executor: Arc<dyn Executor>,
    /// Requests at once, over all runs.
    pub hosts_at_once: usize,
    /// The parts of a run of this collection.
    pub parts: Box<dyn Fn(&str) -> Parts + Send>,
    /// The settings as a run gets them: secrets come from elsewhere than from a file.
    pub with_secrets: fn(CollectionConfig) -> CollectionConfig,
    /// Who is told what happens.
    pub tell: Tell,
}

impl std::fmt::Debug for CoordinatorConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CoordinatorConfig")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Begins runs when they are due.
#[derive(Debug)]
pub struct Coordinator {
    config: CoordinatorConfig,
    company: Arc<Company>,
    collections: BTreeMap<String, Known>,
    threads: BTreeMap<String, JoinHandle<Result<Report, EngineError>>>,
    /// Held while anything runs: other processes may collect here meanwhile.
    lock: Option<DirectoryLock>,
    is_in_use: bool,
    desk: Desk,
}

/// A collection, as it was last looked at.
#[derive(Debug)]
struct Known {
    text: String,
    config: Option<CollectionConfig>,
    /// What is wrong with the text; the settings are those of before it, if there were any.
    mistake: Option<String>,
    schedule: Option<Schedule>,
    first_seen: Timestamp,
    /// When its last run was begun.
    began: Option<Timestamp>,
    /// Moments of the schedule up to here were let go.
    passed_over: Option<Timestamp>,
    /// Its last run is to go on.
    goes_on: bool,
    /// Its last run has not ended, whoever it was that began it.
    is_open: bool,
    not_before: Option<Timestamp>,
}

impl Known {
    /// What was noted while the clock was wrong counts no more when it is right again.
    fn forget_the_future(&mut self, now: Timestamp) {
        self.passed_over = believed(self.passed_over, now);
        self.not_before = believed(self.not_before, now);
        self.first_seen = believed(Some(self.first_seen), now).unwrap_or(now);
    }

    /// Up to here every moment of the schedule had its run, or was let go.
    fn considered(&self, schedule: &Schedule, now: Timestamp) -> Timestamp {
        // The first moment is the start itself, however long ago; without one, nobody knows since when
        // a run was wanted.
        let begun = believed(self.began, now).or_else(|| schedule.before_start());
        let begun = begun.unwrap_or(self.first_seen);
        self.passed_over.map_or(begun, |moment| moment.max(begun))
    }
}

/// A handle by which people reach the runs of a Coordinator. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: BTreeMap<String, Control>,
    wanted: BTreeSet<String>,
    /// Why the last run of a collection could not begin or go on.
    failures: BTreeMap<String, String>,
    is_ending: bool,
    is_changed: bool,
}

impl Desk {
    /// The collections that run.
    pub fn running(&self) -> Vec<(String, Control)> {
        let state = self.lock();
        let running = state.running.iter();
        running
            .map(|(name, control)| (name.clone(), control.clone()))
            .collect()
    }

    /// The run of a collection, if it runs.
    pub fn control(&self, name: &str) -> Option<Control> {
        self.lock().running.get(name).cloned()
    }

    /// Begins a run, or goes on with one, though it is not due.
    pub fn start(&self, name: &str) {
        let mut state = self.lock();
        state.failures.remove(name);
        state.wanted.insert(name.to_owned());
        drop(state);
        self.wake();
    }

    /// Why the last run of a collection could not begin or go on, where it could not.
    pub fn failure(&self, name: &str) -> Option<String> {
        self.lock().failures.get(name).cloned()
    }

    /// Ends all runs as a signal does: the next process goes on with them.
    pub fn end(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        for control in state.running.values() {
            control.interrupt();
        }
        drop(state);
        self.wake();
    }

    /// Whether everything is to end.
    pub fn is_ending(&self) -> bool {
        self.lock().is_ending
    }

    /// Waits for something to do, at most so long.
    pub fn wait(&self, most: Duration) {
        let state = self.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, most, |state| !state.is_changed);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_changed = false;
    }

    fn wake(&self) {
        self.lock().is_changed = true;
        self.shared.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Over the collections of a directory. Nothing begins before [`Coordinator::look`].
    pub fn new(config: CoordinatorConfig) -> Self {
        Self::with_desk(config, Desk::default())
    }

    /// The same, reached through a handle that people may have had before.
    pub fn with_desk(config: CoordinatorConfig, desk: Desk) -> Self {
        if let Some(damage) = begun::begun_damage(&*config.directory.files()) {
            let text = format!(
                "{damage}: which runs were to go on after a restart is not known; begin them again"
            );
            (config.tell)(Level::Warning, None, &text);
        }
        Self {
            company: Company::new(config.hosts_at_once),
            config,
            collections: BTreeMap::new(),
            threads: BTreeMap::new(),
            lock: None,
            is_in_use: false,
            desk,
        }
    }

    /// A handle to its runs.
    pub fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Takes in what has ended, looks at the collections, and begins what is due. Returns when the next
    /// moment is, if any is known. To be called again then, and often: files are edited.
    pub fn look(&mut self) -> Option<Timestamp> {
        self.take_ended();
        self.read_collections();
        if self.desk.is_ending() {
            return None;
        }
        let now = self.config.clock.wall();
        let wanted = std::mem::take(&mut self.desk.lock().wanted);
        let mut next: Option<Timestamp> = None;
        let names: Vec<String> = self.collections.keys().cloned().collect();
        for name in &names {
            if self.threads.contains_key(name) {
                continue;
            }
            let is_wanted = wanted.contains(name);
            let mistake = self.collections[name].mistake.clone();
            if let Some(mistake) = mistake.filter(|_| is_wanted) {
                // Whoever asks for a run means the file as it is.
                let text = format!("the run of `{name}` did not begin: {mistake}");
                self.tell_failure(name, text);
                continue;
            }
            match self.is_due(name, now) {
                Ok(()) => self.begin(name, now, is_wanted),
                Err(_) if is_wanted => self.begin(name, now, true),
                Err(until) => next = earliest(next, until),
            }
        }
        for name in wanted.iter().filter(|name| !names.contains(name)) {
            self.say(Level::Warning, format!("there is no collection `{name}`"));
        }
        self.let_go();
        next
    }

    /// Waits until everything has ended that runs.
    pub fn finish(mut self) {
        self.desk.end();
        while !self.threads.is_empty() {
            self.take_ended();
            self.desk.wait(Duration::from_millis(50));
        }
    }

    /// Whether anything runs.
    pub fn is_idle(&self) -> bool {
        self.threads.is_empty()
    }

    /// Now, or when it may be.
    fn is_due(&mut self, name: &str, now: Timestamp) -> Result<(), Option<Timestamp>> {
        let known = self.collections.get_mut(name).ok_or(None)?;
        if known.config.is_none() {
            return Err(None);
        }
        known.forget_the_future(now);
        if let Some(moment) = known.not_before.filter(|moment| *moment > now) {
            return Err(Some(moment));
        }
        // Also without a schedule: somebody asked for this run, and it has not ended.
        if known.goes_on {
            return Ok(());
        }
        let Some(schedule) = &known.schedule else {
            return Err(None);
        };
        match schedule.due(known.considered(schedule, now), now) {
            Due::Run { .. } => Ok(()),
            Due::Wait { until, considered } => {
                known.passed_over = Some(considered);
                Err(until)
            }
        }
    }

    fn begin(&mut self, name: &str, now: Timestamp, is_wanted: bool) {
        if self.lock.is_none() {
            match self.config.directory.lock() {
                Ok(lock) => self.lock = Some(lock),
                Err(error) => {
                    if !self.is_in_use {
                        self.say(
                            Level::Warning,
                            format!("`{name}` is due and waits: {error}"),
                        );
                    }
                    self.is_in_use = true;
                    if is_wanted {
                        self.desk.lock().wanted.insert(name.to_owned());
                    }
                    return;
                }
            }
            self.is_in_use = false;
        }
        // Another process may have collected before this one had the lock.
        let looked = self.look_at_past(name);
        if let Err(error) = looked {
            self.put_off(name, now, &error.to_string());
            return;
        }
        if !is_wanted && self.is_due(name, now).is_err() {
            return;
        }
        if let Err(error) = begun::note(&*self.config.directory.files(), name, true) {
            self.say(
                Level::Warning,
                format!("the run of `{name}` may not go on after a restart: {error}"),
            );
        }
        if let Err(error) = self.spawn(name) {
            self.put_off(name, now, &error.to_string());
        }
    }

    /// A run could not begin, or broke off. Another try follows where a schedule asks for it, or where
    /// the journal has a run that has not ended.
    fn put_off(&mut self, name: &str, now: Timestamp, why: &str) {
        let files = self.config.directory.files();
        let last = Layout::new(name).and_then(|layout| LastRun::read(&files, &layout));
        let is_begun = last.is_ok_and(|last| last.is_some_and(|last| last.goes_on()));
        let mut text = format!("the run of `{name}` failed: {why}");
        if let Some(known) = self.collections.get_mut(name) {
            known.goes_on |= is_begun;
            known.not_before = None;
            if known.schedule.is_some() || known.goes_on {
                known.not_before = Some(now.plus(AFTER_FAILURE));
                text.push_str("; another try follows in a minute");
            }
        }
        self.tell_failure(name, text);
    }

    fn tell_failure(&self, name: &str, text: String) {
        (self.config.tell)(Level::Error, Some(name), &text);
        let mut state = self.desk.lock();
        state.failures.insert(name.to_owned(), text);
    }

    fn spawn(&mut self, name: &str) -> Result<(), EngineError> {
        let Some(known) = self.collections.get_mut(name) else {
            return Ok(());
        };
        let Some(config) = known.config.clone() else {
            return Ok(());
        };
        known.goes_on = false;
        let config = if known.is_open {
            self.with_changes(name, config)?
        } else {
            config
        };
        let mut state = self.desk.lock();
        state.failures.remove(name);
        drop(state);
        let seeds = config.seeds.iter();
        let seeds = seeds.filter_map(|text| Seed::parse(text).ok().flatten());
        let directory = &self.config.directory;
        let control = Control::default();
        let crawl = Crawl {
            files: directory.files(),
            root: directory.root().to_owned(),
            key: directory.key(),
            layout: Layout::new(name)?,
            seeds: seeds.collect(),
            config: (self.config.with_secrets)(config),
            save: false,
            parts: Parts {
                clock: Arc::clone(&self.config.clock),
                company: Some(Arc::clone(&self.company)),
                ..(self.config.parts)(name)
            },
            control: control.clone(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(format!("run-{name}"))
            .enable_all()
            .build()
            .map_err(EngineError::disk("start threads for", name))?;
        let (executor, desk) = (Arc::clone(&self.config.executor), self.desk.clone());
        self.desk.lock().running.insert(name.to_owned(), control);
        let of = name.to_owned();
        let work = move || {
            let ended = runtime.block_on(executor.run(crawl));
            desk.lock().running.remove(&of);
            desk.wake();
            ended
        };
        let thread = std::thread::Builder::new().name(format!("run-{name}"));
        match thread.spawn(work) {
            Ok(thread) => {
                self.threads.insert(name.to_owned(), thread);
                self.say(Level::Info, format!("`{name}` runs"));
                Ok(())
            }
            Err(error) => {
                self.desk.lock().running.remove(name);
                Err(EngineError::disk("start a thread for", name)(error))
            }
        }
    }

    /// A run that goes on has what was changed for it alone, as far as that goes together with its file.
    fn with_changes(
        &self,
        name: &str,
        config: CollectionConfig,
    ) -> Result<CollectionConfig, EngineError> {
        let changes = RunChanges::read(&self.config.directory.files(), &Layout::new(name)?)?
            .that_hold(&config);
        if changes.is_empty() {
            return Ok(config);
        }
        let names = changes.names().join(", ");
        Ok(match changes.over(&config) {
            Ok(changed) => {
                self.say(
                    Level::Info,
                    format!(
                        "the run of `{name}` goes on with what was changed for it alone: {names}"
                    ),
                );
                changed
            }
            Err(why) => {
                self.say(
                    Level::Warning,
                    format!("the run of `{name}` goes by its file, and not by what was changed for it alone ({names}): {why}"),
                );
                config
            }
        })
    }

    fn take_ended(&mut self) {
        let is_over = |thread: &JoinHandle<_>| thread.is_finished();
        let names: Vec<String> = self
            .threads
            .iter()
            .filter(|(_, thread)| is_over(thread))
            .map(|(name, _)| name.clone())
            .collect();
        let now = self.config.clock.wall();
        for name in names {
            let Some(thread) = self.threads.remove(&name) else {
                continue;
            };
            // A panic leaves its handle behind.
            self.desk.lock().running.remove(&name);
            match thread.join() {
                Ok(Ok(report)) => self.take_report(&name, &report, now),
                Ok(Err(error)) => self.put_off(&name, now, &error.to_string()),
                Err(_) => self.put_off(&name, now, "it panicked"),
            }
        }
        self.let_go();
    }

    fn take_report(&mut self, name: &str, report: &Report, now: Timestamp) {
        self.say(
            Level::Info,
            format!(
                "the run of `{name}` has ended ({}): {} pages",
                report.reason.name(),
                report.fetched
            ),
        );
        if let Err(error) = self.look_at_past(name) {
            self.put_off(name, now, &error.to_string());
        }
        let is_over = report.reason != EndReason::Interrupted;
        if let Some(known) = self.collections.get_mut(name).filter(|_| is_over) {
            known.not_before = None;
        }
    }

    /// Another process may collect here while nothing runs.
    fn let_go(&mut self) {
        if self.threads.is_empty() {
            self.lock = None;
        }
    }

    fn read_collections(&mut self) {
        let files = self.config.directory.files();
        let listed = files.list(Path::new("collections")).unwrap_or_default();
        let mut names = BTreeSet::new();
        for file in listed {
            let Some(name) = file.strip_suffix(".toml") else {
                continue;
            };
            let Ok(layout) = Layout::new(name) else {
                continue;
            };
            let Ok(bytes) = files.read(&layout.config()) else {
                continue;
            };
            names.insert(name.to_owned());
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if self
                .collections
                .get(name)
                .is_none_or(|known| known.text != text)
            {
                self.take_settings(name, text, layout.config());
            }
        }
        self.collections.retain(|name, _| names.contains(name));
    }

    /// A file is new, or was edited. One with a mistake changes nothing.
    fn take_settings(&mut self, name: &str, text: String, path: PathBuf) {
        let now = self.config.clock.wall();
        let parsed = CollectionConfig::parse(&text);
        let is_new = !self.collections.contains_key(name);
        let known = self.collections.entry(name.to_owned()).or_insert(Known {
            text: String::new(),
            config: None,
            mistake: None,
            schedule: None,
            first_seen: now,
            began: None,
            passed_over: None,
            goes_on: false,
            is_open: false,
            not_before: None,
        });
        known.text = text;
        let config = match parsed {
            Ok(config) => config,
            Err(message) => {
                let path = self.config.directory.root().join(path);
                known.mistake = Some(format!("{}: {message}", path.display()));
                let text = format!("{} is not taken: {message}", path.display());
                self.say(Level::Warning, text);
                return;
            }
        };
        known.mistake = None;
        known.not_before = None;
        known.schedule = config
            .schedule
            .is_set()
            .then(|| Schedule::parse(&config.schedule).ok())
            .flatten();
        known.config = Some(config.clone());
        let has_schedule = known.schedule.is_some();
        if let Some(control) = self.desk.control(name) {
            control.follow_file(config);
            self.say(
                Level::Info,
                format!("the settings of `{name}` were edited; its run goes on with them"),
            );
        } else if !has_schedule && !self.is_begun_here(name) {
            // Nobody asks what it was about before a person begins it.
        } else if let Err(error) = self.look_at_past(name) {
            self.put_off(name, now, &error.to_string());
        } else if is_new && has_schedule {
            self.say(Level::Info, format!("`{name}` has a schedule"));
        }
    }

    /// What was begun, as the journal says.
    fn look_at_past(&mut self, name: &str) -> Result<(), EngineError> {
        let files = self.config.directory.files();
        let last = LastRun::read(&files, &Layout::new(name)?)?;
        let goes_on = last.as_ref().is_some_and(LastRun::goes_on);
        if !goes_on {
            begun::note(&*files, name, false)?;
        }
        let is_meant = self.has_schedule(name) || self.is_begun_here(name);
        let Some(known) = self.collections.get_mut(name) else {
            return Ok(());
        };
        // A run that a person interrupted at a terminal waits for that person.
        known.goes_on = goes_on && is_meant;
        known.is_open = goes_on;
        known.began = last.map(|last| last.began);
        Ok(())
    }

    fn has_schedule(&self, name: &str) -> bool {
        let known = self.collections.get(name);
        known.is_some_and(|known| known.schedule.is_some())
    }

    /// Whether a Coordinator of this directory began the last run.
    fn is_begun_here(&self, name: &str) -> bool {
        begun::read(&*self.config.directory.files()).contains(name)
    }

    fn say(&self, level: Level, text: impl AsRef<str>) {
        (self.config.tell)(level, None, text.as_ref());
    }
}

fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
