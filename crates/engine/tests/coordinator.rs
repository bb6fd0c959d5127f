//! The Coordinator over simulated months: runs begin when they are due, once each, over restarts,
//! with what was missed as the collection says; deadlines, hours and edits are heeded.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/shifted.rs"]
mod shifted;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use script::Script;
use shifted::ShiftedClock;
use teia_base::journal::{Record, read_segment, segments};
use teia_base::{Clock, Files, Timestamp};
use teia_engine::{
    CollectionConfig, Coordinator, CoordinatorConfig, Desk, Directory, Event, Feedback, LastRun,
    Layout, Level, Parts, Progress, ThisMachine,
};

const HOUR: Duration = Duration::from_secs(3600);

/// What a run said last, and how often it said anything.
#[derive(Debug, Default)]
struct Watch(Mutex<(u64, Progress)>);

impl Feedback for Watch {
    fn hear(&self, event: &Event) {
        if let Event::Progress(progress) = event {
            let mut watch = self.0.lock().unwrap();
            *watch = (watch.0 + 1, progress.clone());
        }
    }
}

/// A data directory with a web, a clock, and a Coordinator that can be started again.
struct World {
    root: tempfile::TempDir,
    clock: Arc<ShiftedClock>,
    script: Script,
    told: Arc<Mutex<Vec<String>>>,
    watch: Arc<Watch>,
    coordinator: Option<Coordinator>,
}

impl World {
    fn new(moment: &str, script: Script) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut world = Self {
            clock: Arc::new(ShiftedClock::at(moment)),
            root,
            script,
            told: Arc::default(),
            watch: Arc::default(),
            coordinator: None,
        };
        Directory::create(world.path()).unwrap();
        world.start();
        world
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn start(&mut self) {
        self.stop();
        let (script, told) = (self.script.clone(), Arc::clone(&self.told));
        let watch = Arc::clone(&self.watch);
        self.coordinator = Some(Coordinator::new(CoordinatorConfig {
            directory: Directory::open(self.path()).unwrap(),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            executor: Arc::new(ThisMachine),
            hosts_at_once: 16,
            parts: Box::new(move |_| Parts {
                fetcher: Some(Arc::new(script.clone())),
                feedback: Arc::clone(&watch) as Arc<dyn Feedback>,
                ..Parts::default()
            }),
            with_secrets: |config| config,
            tell: Box::new(move |level, _, text| {
                if level != Level::Info {
                    told.lock().unwrap().push(text.to_owned());
                }
            }),
        }));
    }

    /// Ends the process, as a signal does.
    fn stop(&mut self) {
        if let Some(coordinator) = self.coordinator.take() {
            coordinator.finish();
        }
    }

    fn look(&mut self) -> Option<Timestamp> {
        self.coordinator.as_mut().unwrap().look()
    }

    fn desk(&self) -> Desk {
        self.coordinator.as_ref().unwrap().desk()
    }

    /// Looks until nothing runs; then nothing is due either.
    fn settle(&mut self) -> Option<Timestamp> {
        let desk = self.desk();
        loop {
            let next = self.look();
            if self.coordinator.as_ref().unwrap().is_idle() {
                return next;
            }
            desk.wait(Duration::from_millis(20));
        }
    }

    fn collection(&self, name: &str, text: &str) {
        let folder = self.path().join("collections");
        std::fs::create_dir_all(&folder).unwrap();
        let quick = "[politeness]\ndelay = \"0s\"\n[index]\nenabled = false\n[links]\nenabled = false\n[catalog]\nenabled = false\n[archive]\nenabled = false\n[traps]\nenabled = false\n";
        let text = format!("seeds = [\"http://a.test/\"]\n{text}\n{quick}");
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }

    fn files(&self) -> Arc<dyn Files> {
        Directory::open(self.path()).unwrap().files()
    }

    /// When each run of a collection was begun.
    fn runs(&self, name: &str) -> Vec<(u32, Timestamp)> {
        let (files, journal) = (self.files(), Layout::new(name).unwrap().journal());
        let mut runs = Vec::new();
        for first in segments(&*files, &journal).unwrap_or_default() {
            let entries = read_segment(&*files, &journal, first, true)
                .unwrap()
                .entries;
            for entry in entries {
                if matches!(entry.record, Record::RunStarted(_)) {
                    runs.push((entry.run, entry.wall));
                }
            }
        }
        runs
    }

    fn shown(&self, name: &str) -> Vec<String> {
        let show = |(_, moment): (u32, Timestamp)| moment.to_string()[..16].to_owned();
        self.runs(name).into_iter().map(show).collect()
    }

    fn last(&self, name: &str) -> LastRun {
        let last = LastRun::read(&self.files(), &Layout::new(name).unwrap());
        last.unwrap().unwrap()
    }

    #[track_caller]
    fn told(&self, word: &str) {
        let told = self.told.lock().unwrap();
        assert!(told.iter().any(|text| text.contains(word)), "{told:?}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop();
    }
}

fn little_web() -> Script {
    Script::default()
        .html("http://a.test/", "words <a href=/1>one</a>")
        .html("http://a.test/1", "other words")
}

const DAILY: &str = "mode = \"periodic\"\n[schedule]\nstart = \"2026-03-01T02:30\"\nevery = \"1d\"\ntime-zone = \"Europe/Lisbon\"";

#[test]
fn runs_begin_when_they_are_due_over_months_and_restarts() {
    let mut world = World::new("2026-02-27T00:00:00Z", little_web());
    world.collection("daily", DAILY);
    let mut moments = 0;
    let mut next = world.settle();
    assert!(world.runs("daily").is_empty(), "before the start");
    while let Some(moment) = next.filter(|_| moments < 62) {
        world.clock.set(moment);
        if moments % 3 == 0 {
            world.start();
        }
        next = world.settle();
        moments += 1;
        // Once for each moment, though asked again, also after a restart.
        if moments % 5 == 0 {
            world.start();
            assert_eq!(world.settle(), next);
        }
    }
    let runs = world.runs("daily");
    assert_eq!(runs.len(), 62);
    for (at, (number, _)) in runs.iter().enumerate() {
        assert_eq!(*number as usize, at + 1);
    }
    let shown = world.shown("daily");
    // Lisbon's clocks go on an hour on the 29th: half past one is half past two in UTC no more.
    assert_eq!(shown[0], "2026-03-01T02:30");
    assert_eq!(shown[27], "2026-03-28T02:30");
    assert_eq!(shown[28], "2026-03-29T01:30");
    assert_eq!(shown[61], "2026-05-01T01:30");
    assert_eq!(world.script.pages().len(), 62 * 2, "each visits both pages");
}

#[test]
fn missed_runs_are_as_the_collection_says() {
    let mut world = World::new("2026-03-01T02:00:00Z", little_web());
    world.collection("run", DAILY);
    world.collection("skip", &format!("{DAILY}\nmissed = \"skip\""));
    world.settle();
    world.stop();
    // Nobody is there for ten days and an hour.
    world.clock.advance(10 * 24 * HOUR + HOUR);
    world.start();
    world.settle();
    assert_eq!(
        world.shown("run"),
        ["2026-03-11T03:00"],
        "one for all of them"
    );
    assert!(world.runs("skip").is_empty());
    let next = world.settle().unwrap();
    assert_eq!(next.to_string()[..16], *"2026-03-12T02:30");
    world.clock.set(next);
    world.settle();
    assert_eq!(world.shown("run"), ["2026-03-11T03:00", "2026-03-12T02:30"]);
    assert_eq!(world.shown("skip"), ["2026-03-12T02:30"]);
}

/// A web that takes its time: enough pages, one after another, that a run is under way when looked at.
fn long_web() -> Script {
    let mut script = Script::default().slowly(Duration::from_millis(5));
    for page in 0..2000 {
        let url = match page {
            0 => "http://a.test/".to_owned(),
            page => format!("http://a.test/{page}"),
        };
        script = script.html(&url, &format!("<a href=/{}>on</a>", page + 1));
    }
    script
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_run_that_a_restart_interrupted_goes_on_and_is_not_begun_again() {
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("daily", DAILY);
    world.look();
    for pages in [3, 6, 9] {
        until("pages are fetched", || world.script.pages().len() > pages);
        world.start();
        assert!(world.last("daily").goes_on());
        world.look();
        until("it runs again", || world.desk().control("daily").is_some());
    }
    world.desk().control("daily").unwrap().stop();
    let next = world.settle().unwrap();
    assert_eq!(next.to_string()[..16], *"2026-03-02T02:30");
    assert_eq!(world.last("daily").number, 1);
    assert_eq!(world.last("daily").ended.as_deref(), Some("stopped"));
    let mut pages = world.script.pages();
    let asked = pages.len();
    pages.dedup();
    // What was under way when a process ended may be asked for again; what was committed is not.
    assert!(
        asked - pages.len() <= 3,
        "{asked} requests for {} pages",
        pages.len()
    );
}

#[test]
fn a_run_that_was_asked_for_goes_on_after_a_restart_without_a_schedule() {
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("asked", "");
    assert_eq!(world.settle(), None, "nobody asked for it");
    world.desk().start("asked");
    world.look();
    for pages in [3, 6] {
        until("pages are fetched", || world.script.pages().len() > pages);
        world.start();
        assert!(world.last("asked").goes_on());
        world.look();
        until("it runs again", || world.desk().control("asked").is_some());
    }
    world.desk().control("asked").unwrap().stop();
    assert_eq!(world.settle(), None);
    assert_eq!(world.last("asked").ended.as_deref(), Some("stopped"));
    // What has ended is not begun again; nor is what others began and left.
    let asked = world.script.pages().len();
    world.start();
    assert_eq!(world.settle(), None);
    assert_eq!(world.script.pages().len(), asked);
    world.desk().start("asked");
    world.look();
    until("pages are fetched", || world.script.pages().len() > asked);
    world.stop();
    assert!(world.last("asked").goes_on());
    std::fs::remove_file(world.path().join("begun.list")).unwrap();
    let asked = world.script.pages().len();
    world.start();
    assert_eq!(world.settle(), None);
    assert_eq!(world.script.pages().len(), asked);
}

#[test]
fn a_run_that_cannot_begin_says_why_and_promises_no_try_that_does_not_follow() {
    let mut world = World::new("2026-03-01T02:30:00Z", little_web());
    let folder = world.path().join("collections");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("empty.toml"), "seeds = []\n").unwrap();
    world.desk().start("empty");
    assert_eq!(world.settle(), None);
    let why = world.desk().failure("empty").unwrap();
    assert!(
        why.contains("seed") && !why.contains("another try"),
        "{why}"
    );
    world.told("seed");
    let due = "seeds = []\n[schedule]\nstart = \"2026-03-01\"\n";
    std::fs::write(folder.join("due.toml"), due).unwrap();
    world.settle();
    let why = world.desk().failure("due").unwrap();
    assert!(why.contains("another try follows"), "{why}");
    // Who mends it and asks again is not told of what was.
    world.collection("empty", "");
    world.desk().start("empty");
    world.settle();
    assert_eq!(world.desk().failure("empty"), None);
    assert_eq!(world.last("empty").ended.as_deref(), Some("done"));
}

#[test]
fn a_run_ends_at_its_deadline_over_a_restart_too() {
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("daily", &format!("{DAILY}\ndeadline = \"4h\""));
    world.look();
    until("pages are fetched", || world.script.pages().len() > 3);
    world.clock.advance(2 * HOUR);
    world.start();
    world.look();
    until("pages are fetched", || world.script.pages().len() > 8);
    assert!(world.desk().control("daily").is_some());
    world.clock.advance(2 * HOUR);
    world.settle();
    let last = world.last("daily");
    assert_eq!((last.number, last.ended.as_deref()), (1, Some("deadline")));
}

/// Also where it is to visit everything once only: with a new run its deadline and its limits would begin anew.
#[test]
fn a_run_that_visits_everything_once_is_the_same_one_after_a_restart() {
    let once = DAILY.replace("periodic", "once");
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("one", &format!("{once}\ndeadline = \"4h\""));
    world.look();
    until("pages are fetched", || world.script.pages().len() > 3);
    world.clock.advance(2 * HOUR);
    world.start();
    let (began, asked) = (world.last("one").began, world.script.pages().len());
    world.look();
    until("more is fetched", || world.script.pages().len() > asked);
    world.clock.advance(2 * HOUR);
    world.settle();
    let last = world.last("one");
    assert_eq!((last.number, last.began), (1, began));
    assert_eq!(last.ended.as_deref(), Some("deadline"));
    // A limit of pages is for both parts together.
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("one", &format!("{once}\n[filter]\nmax-pages = 60"));
    world.look();
    until("pages are fetched", || world.script.pages().len() > 3);
    world.start();
    assert!(world.last("one").goes_on());
    world.settle();
    let last = world.last("one");
    assert_eq!((last.number, last.ended.as_deref()), (1, Some("max-pages")));
    let mut pages = world.script.pages();
    pages.sort();
    pages.dedup();
    assert_eq!(pages.len(), 60);
}

#[test]
fn no_request_is_made_outside_of_the_hours() {
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("daily", &format!("{DAILY}\nwindow = \"02:00-03:00\""));
    world.look();
    until("pages are fetched", || world.script.pages().len() > 3);
    world
        .clock
        .set(Timestamp::parse("2026-03-01T03:00:00Z").unwrap());
    let rests = |world: &World| {
        let watch = world.watch.0.lock().unwrap();
        watch.1.rest == Some("waiting for its hours") && watch.1.hosts_active == 0
    };
    until("what was under way has ended", || rests(&world));
    let (before, said) = (world.script.pages().len(), world.watch.0.lock().unwrap().0);
    until("time passes", || world.watch.0.lock().unwrap().0 > said + 3);
    assert_eq!(world.script.pages().len(), before);
    world.look();
    assert!(
        world.desk().control("daily").is_some(),
        "the run rests, and is not over"
    );
    world
        .clock
        .set(Timestamp::parse("2026-03-02T02:00:00Z").unwrap());
    until("it goes on", || world.script.pages().len() > before);
    world.desk().control("daily").unwrap().stop();
    world.settle();
}

#[test]
fn edits_are_noticed_and_mistakes_change_nothing() {
    let mut world = World::new("2026-03-01T00:00:00Z", little_web());
    world.collection("daily", DAILY);
    let next = world.settle().unwrap();
    assert_eq!(next.to_string()[..16], *"2026-03-01T02:30");
    world.collection("daily", &DAILY.replace("02:30", "05:00"));
    let next = world.settle().unwrap();
    assert_eq!(next.to_string()[..16], *"2026-03-01T05:00");
    world.collection("daily", &DAILY.replace("1d", "one day"));
    assert_eq!(world.settle(), Some(next));
    world.told("is not taken");
    world.clock.set(next);
    world.settle();
    assert_eq!(world.runs("daily").len(), 1);
    // Without a schedule nothing begins by itself, but when a person asks for it.
    world.collection("daily", "mode = \"periodic\"");
    world.clock.advance(100 * 24 * HOUR);
    assert_eq!(world.settle(), None);
    world.desk().start("daily");
    world.settle();
    assert_eq!(world.runs("daily").len(), 2);
    std::fs::remove_file(world.path().join("collections/daily.toml")).unwrap();
    assert_eq!(world.settle(), None);
}

#[test]
fn an_edit_of_the_file_leaves_what_was_changed_for_the_run_alone() {
    let mut world = World::new("2026-03-01T02:30:00Z", long_web());
    world.collection("asked", "");
    world.desk().start("asked");
    world.look();
    until("pages are fetched", || world.script.pages().len() > 3);
    let control = world.desk().control("asked").unwrap();
    let says = |what: &str| control.effective_settings().contains(what);
    let mut wanted = CollectionConfig::parse(&control.effective_settings()).unwrap();
    wanted.filter.exclude = vec!["/never/".to_owned()];
    control.change(wanted);
    until("the run has it", || says("/never/"));
    world.collection("asked", "[filter]\nmax-pages = 1900");
    world.look();
    until("the run has the edit", || says("max-pages = 1900"));
    assert!(says("/never/"));
    let mut said = None;
    until("it answers", || {
        said = control.change_answer().or(said.take());
        said.is_some()
    });
    let said = said.unwrap().unwrap();
    assert!(
        said.contains("run alone stays") && said.contains("`filter.exclude`"),
        "{said}"
    );
    // Whoever edits the same setting decides anew.
    world.collection("asked", "[filter]\nexclude = [\"/other/\"]");
    world.look();
    until("the run has that edit", || says("/other/"));
    assert!(!says("/never/") && !says("max-pages = 1900"));
    control.stop();
    world.settle();
}

#[test]
fn a_run_that_is_asked_for_does_not_begin_by_other_settings_than_those_of_its_file() {
    let mut world = World::new("2026-03-01T02:30:00Z", little_web());
    world.collection("was-good", "");
    world.settle();
    let folder = world.path().join("collections");
    for name in ["never-good", "was-good"] {
        let wrong = "seeds = [\"http://a.test/\"]\nmode = \"onse\"\n";
        std::fs::write(folder.join(format!("{name}.toml")), wrong).unwrap();
        world.desk().start(name);
        assert_eq!(world.settle(), None);
        let why = world.desk().failure(name).unwrap();
        let file = format!("{name}.toml: line 2: ");
        assert!(why.contains(&file) && !why.contains("another try"), "{why}");
        let begun = std::fs::read_to_string(world.path().join("begun.list"));
        assert!(!begun.is_ok_and(|begun| begun.contains(name)));
        assert!(world.runs(name).is_empty());
        // Mended, it still waits to be asked for.
        world.collection(name, "");
        assert_eq!(world.settle(), None);
        assert!(world.runs(name).is_empty());
        world.desk().start(name);
        world.settle();
        assert_eq!(world.desk().failure(name), None);
        assert_eq!(world.last(name).ended.as_deref(), Some("done"));
    }
}

#[test]
fn a_clock_that_was_years_ahead_holds_nothing_up_when_it_is_right_again() {
    let right = |text: &str| Timestamp::parse(text).unwrap();
    let mut world = World::new("2026-03-01T00:00:00Z", little_web());
    world.collection("skips", &format!("{DAILY}\nmissed = \"skip\""));
    world.settle();
    world.clock.set(right("2036-03-01T12:00:00Z"));
    // First seen by the wrong clock, and failed by it.
    world.collection(
        "new",
        "mode = \"periodic\"\n[schedule]\ncron = \"30 2 * * *\"",
    );
    let fails = "seeds = []\n[schedule]\nstart = \"2026-03-01\"\n";
    std::fs::write(world.path().join("collections/fails.toml"), fails).unwrap();
    world.settle();
    let failures = |world: &World| {
        let told = world.told.lock().unwrap();
        told.iter()
            .filter(|text| text.contains("`fails` failed"))
            .count()
    };
    assert_eq!(failures(&world), 1);
    world.clock.set(right("2026-03-02T02:00:00Z"));
    world.settle();
    assert_eq!(failures(&world), 2);
    world.clock.set(right("2026-03-02T02:30:00Z"));
    world.settle();
    assert_eq!(world.shown("skips"), ["2026-03-02T02:30"]);
    assert_eq!(world.shown("new"), ["2026-03-02T02:30"]);
}

#[test]
fn a_directory_in_use_is_waited_for() {
    let mut world = World::new("2026-03-01T02:30:00Z", little_web());
    world.collection("daily", DAILY);
    let lock = Directory::open(world.path()).unwrap().lock().unwrap();
    world.settle();
    assert!(world.runs("daily").is_empty());
    world.told("daily");
    drop(lock);
    world.settle();
    assert_eq!(world.runs("daily").len(), 1);
}
