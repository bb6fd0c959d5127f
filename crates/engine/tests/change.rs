//! Other settings under a run: what waits and is outside now leaves, what was left out and is inside now
//! enters, limits hold from then on; also after a restart.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use script::Script;
use support::crawl_on;
use teia_base::{CanonicalUrl, Files, MediaType, SimulatedDisk};
use teia_engine::{
    CollectionConfig, Control, EndReason, Event, Feedback, Layout, Parts, Progress, Removals,
    Report,
};
use teia_extract::{Extracted, Extractor, Html, Limits, Source};

const SEED: &str = "http://a.test/";

fn web() -> Script {
    let list = |count: usize, prefix: &str| -> String {
        (0..count)
            .map(|n| format!("<a href=\"{prefix}{n}\">{n}</a> "))
            .collect()
    };
    let front = [list(50, "/x/"), list(50, "/y/"), list(20, "http://b.test/")].concat();
    let mut script = Script::default()
        .slowly(Duration::from_millis(2))
        .html(SEED, &front);
    for n in 0..50 {
        script = script
            .html(&format!("http://a.test/x/{n}"), &format!("x {n}"))
            .html(&format!("http://a.test/y/{n}"), &format!("y {n}"));
    }
    for n in 0..20 {
        script = script.html(&format!("http://b.test/{n}"), &format!("b {n}"));
    }
    script
}

fn config(on_disk: bool) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.run.commit_every = Duration::from_millis(5);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.index.enabled = false;
    config.links.enabled = false;
    if on_disk {
        config.run.repository_memory = 4 << 10;
    }
    config
}

/// Pauses a run when it has made so many requests, and tells when it rests.
#[derive(Debug)]
struct Watch {
    script: Script,
    control: Control,
    after: usize,
    has_paused: AtomicBool,
    latest: Mutex<Progress>,
    told: Arc<Mutex<Vec<String>>>,
    /// What else is to happen.
    then: Mutex<Option<Then>>,
}

/// What happens when a change is taken in.
#[derive(Debug)]
enum Then {
    /// Another one follows as soon as the run has found what the first one means.
    Change(Box<CollectionConfig>),
    /// The run is interrupted before it has found that.
    Interrupt,
}

impl Feedback for Watch {
    fn hear(&self, event: &Event) {
        let has_paused = self.has_paused.load(Ordering::SeqCst);
        if !has_paused && self.script.pages().len() > self.after {
            self.has_paused.store(true, Ordering::SeqCst);
            self.control.pause();
        }
        if let Event::Progress(progress) = event {
            *self.latest.lock().unwrap() = progress.clone();
        }
        if let Event::Notice { text, .. } = event {
            self.told.lock().unwrap().push(text.clone());
            let (is_taken, is_found) = (
                text.starts_with("the run goes by"),
                text.starts_with("the rules le"),
            );
            let is_time = |then: &mut Then| match then {
                Then::Change(_) => is_found,
                Then::Interrupt => is_taken,
            };
            match self.then.lock().unwrap().take_if(is_time) {
                Some(Then::Change(second)) => self.control.change(*second),
                Some(Then::Interrupt) => self.control.interrupt(),
                None => {}
            }
        }
    }
}

/// Runs, pauses after some requests, does something, goes on to the end.
fn run_and_change(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    change: impl FnOnce(&Control, &dyn Fn() -> u64),
) -> Report {
    run_and_hear(disk, script, config, Arc::default(), None, change)
}

/// The same, keeps what the run tells people, and does something else when the change is taken in.
fn run_and_hear(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    told: Arc<Mutex<Vec<String>>>,
    then: Option<Then>,
    change: impl FnOnce(&Control, &dyn Fn() -> u64),
) -> Report {
    let control = Control::default();
    let watch = Arc::new(Watch {
        script: script.clone(),
        control: control.clone(),
        after: 10,
        has_paused: AtomicBool::new(false),
        latest: Mutex::default(),
        told,
        then: Mutex::new(then),
    });
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        feedback: Arc::clone(&watch) as Arc<dyn Feedback>,
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let (config, run) = (config.clone(), control.clone());
    let thread = std::thread::spawn(move || {
        crawl_on(files, &config, &[SEED.to_owned()], parts, &run).unwrap()
    });
    until("it rests", || {
        control.is_pause_noted() && {
            let latest = watch.latest.lock().unwrap();
            latest.rest == Some("paused") && latest.hosts_active == 0
        }
    });
    change(&control, &|| watch.latest.lock().unwrap().queue);
    control.resume();
    until("it ends", || thread.is_finished());
    thread.join().unwrap()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn answer(control: &Control) -> Result<String, String> {
    let mut answer = None;
    until("an answer", || {
        answer = control.change_answer();
        answer.is_some()
    });
    answer.unwrap()
}

fn of<'a>(pages: &'a [String], word: &str) -> BTreeSet<&'a str> {
    let pages = pages.iter().filter(|page| page.contains(word));
    pages.map(String::as_str).collect()
}

fn check_scope(on_disk: bool) {
    let (disk, script) = (SimulatedDisk::new(), web());
    let config = config(on_disk);
    let mut before = Vec::new();
    let report = run_and_change(&disk, &script, &config, |control, queue| {
        before = script.pages();
        let mut wanted = config.clone();
        wanted.filter.scope = "suffix:.test".parse().unwrap();
        wanted.filter.exclude = vec!["/x/".to_owned()];
        control.change(wanted);
        assert_eq!(answer(control).unwrap(), "the run goes by the new settings");
        // What waits by now is counted before anything more is asked for.
        let left = 50 - of(&before, "/y/").len() as u64 + 20;
        until("it waits", || queue() == left);
        assert_eq!(script.pages(), before);
    });
    assert_eq!(report.reason, EndReason::Done);
    let after = script.pages();
    let x = of(&before, "/x/").len() as u64;
    assert!(x < 50, "the pause came too late to show anything");
    // What waited and is outside now was not asked for; what was outside is inside.
    assert_eq!(of(&after, "/x/"), of(&before, "/x/"));
    assert_eq!(of(&after, "/y/").len(), 50);
    assert_eq!(of(&after, "b.test").len(), 20);
    assert_eq!(
        after.len(),
        BTreeSet::from_iter(&after).len(),
        "nothing twice"
    );
    // What was kept and is outside now has left, too.
    assert_eq!(report.states["excluded"], 50);
    assert_eq!(report.states["fetched"], 1 + 50 + 20);
    assert_eq!(report.states["waiting"], 0);
    // The next start knows the same.
    let asked = after.len();
    let mut wider = config.clone();
    wider.filter.scope = "suffix:.test".parse().unwrap();
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let report = crawl_on(
        files,
        &wider,
        &[SEED.to_owned()],
        parts,
        &Control::default(),
    )
    .unwrap();
    assert_eq!(script.pages().len(), asked + 50);
    assert_eq!(report.states["excluded"], 0);
    assert_eq!(report.states["fetched"], 121);
}

#[test]
fn after_a_change_of_scope_urls_leave_and_enter_in_memory() {
    check_scope(false);
}

#[test]
fn after_a_change_of_scope_urls_leave_and_enter_on_disk() {
    check_scope(true);
}

/// Lets the first page be read while the ring is busy with telling how far it is, and other rules are asked for then: its links are
/// judged by the rules of before, and decided when others hold.
#[derive(Debug)]
struct Late {
    control: Control,
    wanted: CollectionConfig,
    /// A page is being read.
    reads: AtomicBool,
    /// Nobody hears of it before this is over.
    is_told: AtomicBool,
    has_changed: AtomicBool,
}

impl Extractor for Late {
    fn accepts(&self, media_type: &MediaType) -> bool {
        media_type.is_html()
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        self.reads.store(true, Ordering::SeqCst);
        until("the ring tells how far it is", || {
            self.is_told.load(Ordering::SeqCst)
        });
        Html.extract(source, limits)
    }
}

impl Feedback for Late {
    fn hear(&self, event: &Event) {
        let is_time = matches!(event, Event::Progress(_)) && self.reads.load(Ordering::SeqCst);
        if is_time && !self.has_changed.swap(true, Ordering::SeqCst) {
            self.is_told.store(true, Ordering::SeqCst);
            // Long enough for a few links; where it is not, nothing is shown and nothing fails.
            std::thread::sleep(Duration::from_millis(300));
            self.control.change(self.wanted.clone());
        }
    }
}

/// Links that were judged before the rules changed, and are decided after it, go by the rules of now.
#[test]
fn links_of_a_page_that_was_read_when_the_rules_changed_go_by_the_new_ones() {
    for on_disk in [false, true] {
        let (disk, script) = (SimulatedDisk::new(), web());
        let config = config(on_disk);
        let mut wanted = config.clone();
        wanted.filter.scope = "suffix:.test".parse().unwrap();
        wanted.filter.exclude = vec!["/x/".to_owned()];
        let control = Control::default();
        let late = Arc::new(Late {
            control: control.clone(),
            wanted,
            reads: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            has_changed: AtomicBool::new(false),
        });
        let parts = Parts {
            fetcher: Some(Arc::new(script.clone())),
            feedback: Arc::clone(&late) as Arc<dyn Feedback>,
            extractor: Some(late),
            ..Parts::default()
        };
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let report = crawl_on(files, &config, &[SEED.to_owned()], parts, &control).unwrap();
        assert_eq!(report.reason, EndReason::Done);
        let pages = script.pages();
        let counts = ["/x/", "/y/", "b.test"].map(|word| of(&pages, word).len());
        assert_eq!(counts, [0, 50, 20], "on disk: {on_disk}");
        assert_eq!(report.states["excluded"], 50, "on disk: {on_disk}");
    }
}

/// Far more pages of one kind than a commit holds, and some of another.
fn many_pages() -> Script {
    let list = |count: usize, prefix: &str| -> String {
        let links = (0..count).map(|n| format!("<a href=\"{prefix}{n}\">{n}</a> "));
        links.collect()
    };
    let front = format!("<a href=/a>a</a> <a href=/b>b</a> {}", list(300, "/y/"));
    Script::default()
        .html(SEED, &front)
        .html("http://a.test/a", &list(3500, "/x/a"))
        .html("http://a.test/b", &list(3500, "/x/b"))
}

/// Far more URLs than one commit holds are to leave or to enter, and before they have, the rules are as they were.
#[test]
fn a_change_that_is_taken_back_at_once_changes_nothing() {
    for (on_disk, leaves) in [(false, true), (false, false), (true, true), (true, false)] {
        let what = format!("on disk: {on_disk}, leaves: {leaves}");
        let script = many_pages();
        let mut narrow = config(false);
        if on_disk {
            narrow.run.repository_memory = 256 << 10;
        }
        let wide = narrow.clone();
        narrow.filter.exclude = vec!["/x/".to_owned()];
        let (first, second) = if leaves {
            (wide, narrow)
        } else {
            (narrow, wide)
        };
        let disk = SimulatedDisk::new();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let back = Some(Then::Change(Box::new(first.clone())));
        let change = |control: &Control, queue: &dyn Fn() -> u64| {
            let asked = script.pages().len();
            control.change(second);
            let changes = || {
                let told = told.lock().unwrap();
                let is_change = |text: &&String| text.starts_with("the run goes by");
                told.iter().filter(is_change).count()
            };
            until("both changes", || changes() == 2);
            if !leaves {
                let waiting = 303 - asked as u64;
                until("it waits", || queue() == waiting);
            }
            assert_eq!(script.pages().len(), asked, "{what}");
        };
        let report = run_and_hear(&disk, &script, &first, Arc::clone(&told), back, change);
        let told = told.lock().unwrap();
        assert_eq!(report.reason, EndReason::Done, "{what}: {told:?}");
        let pages = script.pages();
        let x = if leaves { 7000 } else { 0 };
        assert_eq!(of(&pages, "/x/").len(), x, "{what}: {told:?}");
        assert_eq!(pages.len(), x + 303, "{what}: nothing twice");
        let excluded = 7000 - x as u64;
        assert_eq!(report.states["excluded"], excluded, "{what}: {told:?}");
    }
}

#[test]
fn a_limit_that_is_set_under_a_run_is_exact() {
    let (disk, script) = (SimulatedDisk::new(), web());
    let config = config(false);
    let report = run_and_change(&disk, &script, &config, |control, _| {
        let mut wanted = config.clone();
        wanted.filter.max_pages = Some(31);
        control.change(wanted);
        answer(control).unwrap();
        assert!(control.effective_settings().contains("max-pages = 31"));
    });
    assert_eq!((report.reason, report.fetched), (EndReason::MaxPages, 31));
    assert_eq!(script.pages().len(), 31);
}

#[test]
fn what_cannot_change_under_a_run_is_said_and_a_mistake_changes_nothing() {
    let (disk, script) = (SimulatedDisk::new(), web());
    let config = config(false);
    let report = run_and_change(&disk, &script, &config, |control, _| {
        let mut wanted = config.clone();
        wanted.archive.enabled = false;
        wanted.filter.max_depth = Some(9);
        wanted.fetch.user_agent = "Other/1.0".to_owned();
        wanted.politeness.delay = Duration::from_millis(1);
        wanted.fetch.bandwidth = Some(100 << 20);
        wanted.fetch.timeout = Duration::from_secs(9);
        wanted.filter.max_size = 40 << 20;
        wanted.run.cpu_share = Some("90%".to_owned().try_into().unwrap());
        control.change(wanted);
        let said = answer(control).unwrap();
        let later = "but for `archive.enabled`, `fetch.user-agent`, `filter.requisites`: ";
        assert!(said.contains(later), "{said}");
        let effective = control.effective_settings();
        for line in [
            "timeout = \"9s\"",
            "max-depth = 9",
            "cpu-share = \"90%\"",
            "max-size = \"40MiB\"",
            "body-wire-bytes = \"40MiB\"",
        ] {
            assert!(effective.contains(line), "no {line} in {effective}");
        }
        let mut wrong = config.clone();
        wrong.filter.exclude = vec!["(".to_owned()];
        control.change(wrong);
        assert!(answer(control).unwrap_err().contains('('));
    });
    assert_eq!(report.reason, EndReason::Done);
    assert_eq!(script.pages().len(), 101);
}

#[test]
fn rules_that_are_narrower_at_a_start_count_for_what_waits() {
    let (disk, script) = (SimulatedDisk::new(), web());
    let mut config = config(false);
    config.filter.max_pages = Some(5);
    let run = |config: &CollectionConfig| run(&disk, &script, config, &Control::default());
    run(&config);
    config.filter.max_pages = None;
    config.filter.exclude = vec!["/x/".to_owned()];
    let before = script.pages();
    let report = run(&config);
    let after = script.pages();
    assert_eq!(of(&after, "/x/"), of(&before, "/x/"));
    assert_eq!(of(&after, "/y/").len(), 50);
    assert_eq!(report.states["excluded"], 50 + 20);
}

fn run(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    control: &Control,
) -> Report {
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    crawl_on(files, config, &[SEED.to_owned()], parts, control).unwrap()
}

/// Far more than one turn judges is to leave, and the run ends after one: under it, and at a start.
#[test]
fn a_scope_that_is_narrower_holds_though_the_run_is_cut_off_before_all_was_judged() {
    for (on_disk, at_a_start) in [(false, true), (false, false), (true, true), (true, false)] {
        // On a machine that is busy everything may be judged before the end is heard.
        let was_cut = (0..20).any(|_| check_cut_off(on_disk, at_a_start));
        assert!(was_cut, "on disk: {on_disk}, at a start: {at_a_start}");
    }
}

/// Whether the end came before all was judged.
fn check_cut_off(on_disk: bool, at_a_start: bool) -> bool {
    let what = format!("on disk: {on_disk}, at a start: {at_a_start}");
    let (disk, script) = (SimulatedDisk::new(), many_pages());
    let mut wide = config(false);
    if on_disk {
        wide.run.repository_memory = 256 << 10;
    }
    let mut narrow = wide.clone();
    narrow.filter.exclude = vec!["/x/".to_owned()];
    let report = if at_a_start {
        wide.filter.max_pages = Some(10);
        run(&disk, &script, &wide, &Control::default());
        let control = Control::default();
        control.interrupt();
        run(&disk, &script, &narrow, &control)
    } else {
        let then = Some(Then::Interrupt);
        run_and_hear(&disk, &script, &wide, Arc::default(), then, |control, _| {
            control.change(narrow.clone());
        })
    };
    assert_eq!(report.reason, EndReason::Interrupted, "{what}");
    let was_cut = report.states["waiting"] > 3000;
    let before = script.pages();
    let control = Control::default();
    control.resume();
    let report = run(&disk, &script, &narrow, &control);
    assert_eq!(report.reason, EndReason::Done, "{what}");
    let after = script.pages();
    let count = |pages: &[String], word: &str| of(pages, word).len();
    assert_eq!(count(&after, "/x/"), count(&before, "/x/"), "{what}");
    assert_eq!(count(&after, "/y/"), 300, "{what}");
    assert_eq!(report.states["excluded"], 7000, "{what}");
    was_cut
}

/// Removes a host and a page while a run rests: what waits is counted without them before anything more is asked for.
fn check_removal(on_disk: bool) {
    const PAGE: &str = "http://a.test/x/0";
    let (disk, script) = (SimulatedDisk::new(), web());
    let mut config = config(on_disk);
    config.filter.scope = "suffix:.test".parse().unwrap();
    let mut before = Vec::new();
    let report = run_and_change(&disk, &script, &config, |control, queue| {
        before = script.pages();
        let all = 121 - before.len() as u64;
        until("everything waits", || queue() == all);
        let mut removals = Removals::default();
        removals.add_url(&CanonicalUrl::parse(PAGE).unwrap());
        removals.add_host("b.test");
        let layout = Layout::new("default").unwrap();
        removals.write(&disk, &layout).unwrap();
        control.heed();
        until("the run has heeded it", || control.has_heeded());
        let of_page = usize::from(!before.iter().any(|page| page == PAGE));
        let gone = 20 - of(&before, "b.test").len() + of_page;
        assert!(gone > 5, "the pause came too late to show anything");
        assert_eq!(queue(), all - gone as u64);
        if on_disk {
            // What is shown again is decided with a fold there.
            return;
        }
        // Shown again, they wait again.
        Removals::default().write(&disk, &layout).unwrap();
        control.heed();
        until("the run has heeded that", || control.has_heeded());
        assert_eq!(queue(), all);
        removals.write(&disk, &layout).unwrap();
        control.heed();
        until("the run has heeded it again", || control.has_heeded());
        assert_eq!(queue(), all - gone as u64);
        assert_eq!(script.pages(), before);
    });
    let after = script.pages();
    assert_eq!(of(&after, "b.test"), of(&before, "b.test"));
    assert_eq!(of(&after, PAGE), of(&before, PAGE));
    assert_eq!(report.states["waiting"], 0);
    assert_eq!(report.states["fetched"], after.len() as u64);
    assert_eq!(report.states["excluded"], 121 - after.len() as u64);
}

/// One list cannot be read: that is said, what others say counts all the same, and what was hidden stays so.
#[test]
fn a_list_of_removals_that_cannot_be_read_is_told_of_and_the_others_are_heeded() {
    let (disk, script) = (SimulatedDisk::new(), web());
    let mut config = config(false);
    config.filter.scope = "suffix:.test".parse().unwrap();
    disk.create_dir(std::path::Path::new("collections"))
        .unwrap();
    let (own, other) = (
        Layout::new("default").unwrap(),
        Layout::new("other").unwrap(),
    );
    disk.replace(&other.config(), b"").unwrap();
    let mut theirs = Removals::default();
    theirs.add_url(&CanonicalUrl::parse("http://a.test/y/49").unwrap());
    theirs.write(&disk, &other).unwrap();
    let list = std::path::Path::new("other/removed");
    let good = disk.read(list).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut before = Vec::new();
    let hears = Arc::clone(&told);
    let report = run_and_hear(&disk, &script, &config, hears, None, |control, queue| {
        before = script.pages();
        let all = 121 - 1 - before.len() as u64;
        until("everything waits", || queue() == all);
        // Where its copy is whole, that counts.
        let copy = std::path::Path::new("other/removed.copy");
        for path in [list, copy] {
            disk.replace(path, b"check 0\nhost a.test\n").unwrap();
        }
        let mut removals = Removals::default();
        removals.add_host("b.test");
        removals.write(&disk, &own).unwrap();
        control.heed();
        until("the run has heeded it", || control.has_heeded());
        let gone = 20 - of(&before, "b.test").len();
        assert!(gone > 5, "the pause came too late to show anything");
        until("it waits no more", || queue() == all - gone as u64);
        // It is said once, with the file and what to do.
        control.heed();
        until("the run has looked again", || control.has_heeded());
        let said: Vec<String> = told.lock().unwrap().clone();
        let said: Vec<&String> = said
            .iter()
            .filter(|said| said.contains("removed"))
            .collect();
        assert_eq!(said.len(), 1, "{said:?}");
        for word in ["`other/removed`", "damaged", "`other/removed.copy`"] {
            assert!(said[0].contains(word), "{said:?}");
        }
        // Mended, it counts as it is.
        disk.replace(list, &good).unwrap();
        Removals::default().write(&disk, &own).unwrap();
        control.heed();
        until("the run has heeded that", || control.has_heeded());
        until("they wait again", || queue() == all);
        removals.write(&disk, &own).unwrap();
        control.heed();
        until("the run has heeded it again", || control.has_heeded());
    });
    let after = script.pages();
    assert_eq!(of(&after, "b.test"), of(&before, "b.test"));
    assert!(of(&after, "/y/49").is_empty());
    assert_eq!(report.states["waiting"], 0);
}

#[test]
fn what_is_removed_waits_no_more_at_once_in_memory() {
    check_removal(false);
}

#[test]
fn what_is_removed_waits_no_more_at_once_on_disk() {
    check_removal(true);
}
