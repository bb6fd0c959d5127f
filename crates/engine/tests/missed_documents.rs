//! Documents that Analyzers missed come again, equal to what they would have been; what cannot be
//! read is said and tried again, and an Analyzer that panics is not the end of analysis.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use script::Script;
use scripted::{SEED, config, links};
use support::crawl_on;
use teia_base::{AppendFile, Document, Files, ReadFile, SimulatedDisk};
use teia_engine::{Analyzer, Control, Event, Feedback, Insight, Level, Parts};

/// Documents by URL.
type Seen = Arc<Mutex<BTreeMap<String, Document>>>;

fn listener(seen: &Seen) -> Arc<dyn Analyzer> {
    let seen = Arc::clone(seen);
    Arc::new(move |document: &Document| {
        let url = document.url.to_string();
        seen.lock().unwrap().insert(url, document.clone());
    })
}

fn urls(seen: &Seen) -> BTreeSet<String> {
    seen.lock().unwrap().keys().cloned().collect()
}

/// What was said at the level of an error.
#[derive(Debug, Default)]
struct Errors(Mutex<Vec<String>>);

impl Feedback for Errors {
    fn hear(&self, event: &Event) {
        if let Event::Notice {
            level: Level::Error,
            text,
        } = event
        {
            self.0.lock().unwrap().push(text.clone());
        }
    }
}

/// A disk that cannot be read below one path, by the thread of the Analyzers alone.
#[derive(Debug)]
struct Unreadable {
    disk: SimulatedDisk,
    below: &'static str,
}

impl Unreadable {
    fn check(&self, path: &Path) -> io::Result<()> {
        let analyzing = std::thread::current().name() == Some("teia-analyze");
        if analyzing && path.to_string_lossy().contains(self.below) {
            return Err(io::Error::other("planted"));
        }
        Ok(())
    }
}

impl Files for Unreadable {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.disk.create(path)
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.disk.append(path)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        self.check(path)?;
        self.disk.open(path)
    }
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.disk.truncate(path, len)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.check(path)?;
        self.disk.list(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

fn go(
    files: Arc<dyn Files>,
    script: &Script,
    seeds: &[&str],
    analyzers: Vec<Arc<dyn Analyzer>>,
) -> Vec<String> {
    let errors = Arc::new(Errors::default());
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        analyzers,
        feedback: Arc::clone(&errors) as Arc<dyn Feedback>,
        ..Parts::default()
    };
    let seeds: Vec<String> = seeds.iter().map(|&seed| seed.to_owned()).collect();
    let mut config = config();
    // Several segments, so that one of them can be bad by itself.
    config.run.journal_segment_bytes = 1;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap();
    errors.0.lock().unwrap().clone()
}

fn three_pages() -> Script {
    Script::default()
        .html(SEED, &links(&["/1", "/2"]))
        .html("http://a.test/1", "one page about birds")
        .html("http://a.test/2", "another page about trees")
}

#[test]
fn a_document_that_comes_again_is_the_same_in_every_field() {
    let page = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}");
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    let front = format!(
        "<title>Front</title><meta name=description content=d><h1>Head</h1><img src=/i.png>{}",
        links(&["/refresh", "/robots", "/twin", "/broken", "/plain"])
    );
    let script = Script::default()
        .raw(
            SEED,
            &page(
                &format!("{html}Content-Language: pt\r\nLink: </linked>; rel=next\r\n"),
                &front,
            ),
        )
        .raw(
            "http://a.test/refresh",
            &page(
                &format!("{html}Refresh: 5; url=/later\r\n"),
                "wait a little",
            ),
        )
        .raw(
            "http://a.test/robots",
            &page(
                &format!("{html}X-Robots-Tag: noindex, noarchive\r\n"),
                "shy words",
            ),
        )
        .raw(
            "http://a.test/twin",
            &page(&format!("{html}Content-Language: fr\r\n"), "shy words"),
        )
        .raw(
            "http://a.test/broken",
            &page(
                &format!("{html}Content-Encoding: gzip\r\n"),
                "this is not gzip",
            ),
        )
        .raw(
            "http://a.test/i.png",
            &page("Content-Type: image/png\r\n", "png"),
        )
        .text("http://a.test/plain", "plain words")
        .html("http://a.test/later", "later")
        .html("http://a.test/linked", "linked");
    let disk = SimulatedDisk::new();
    let files = || Arc::new(disk.clone()) as Arc<dyn Files>;
    let (live, again) = (Seen::default(), Seen::default());
    go(files(), &script, &[SEED], vec![listener(&live)]);
    disk.remove(Path::new("default/part-0/analyzed")).unwrap();
    let said = go(files(), &script, &[SEED], vec![listener(&again)]);
    assert_eq!(said, Vec::<String>::new());
    let (live, again) = (live.lock().unwrap(), again.lock().unwrap());
    assert!(live.len() >= 8, "{:?}", live.keys());
    assert_eq!(live[SEED].language.as_deref(), Some("pt"));
    let text = |documents: &BTreeMap<String, Document>| format!("{documents:#?}");
    let (live, again) = (text(&live), text(&again));
    let differs = live.lines().zip(again.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(live.lines().count(), again.lines().count());
}

#[test]
fn what_cannot_be_read_is_said_and_comes_at_the_next_start() {
    for below in ["archive", "journal"] {
        let script = three_pages().html("http://b.test/", "something new");
        let disk = SimulatedDisk::new();
        go(Arc::new(disk.clone()), &script, &[SEED], Vec::new());
        // Now they are missed, and cannot be read; meanwhile something new is committed and seen.
        let first = Seen::default();
        let bad = Unreadable {
            disk: disk.clone(),
            below,
        };
        let seeds = [SEED, "http://b.test/"];
        let said = go(Arc::new(bad), &script, &seeds, vec![listener(&first)]);
        assert!(!said.is_empty() && said[0].contains("planted"), "{said:?}");
        assert_eq!(urls(&first), support::set(["http://b.test/".to_owned()]));
        let second = Seen::default();
        let files = Arc::new(disk.clone());
        let said = go(files, &script, &seeds, vec![listener(&second)]);
        assert_eq!(said, Vec::<String>::new());
        let pages = script.pages();
        let missed: BTreeSet<String> = pages
            .into_iter()
            .filter(|url| url.starts_with(SEED))
            .collect();
        assert!(urls(&second).is_superset(&missed), "{below}: {second:?}");
        // Handed over, they do not come again.
        let third = Seen::default();
        go(
            Arc::new(disk.clone()),
            &script,
            &seeds,
            vec![listener(&third)],
        );
        assert!(urls(&third).is_empty(), "{below}: {third:?}");
    }
}

#[test]
fn an_analyzer_that_panics_is_named_and_the_next_document_follows() {
    struct Picky;
    impl Analyzer for Picky {
        fn analyze(&self, document: &Document) -> Vec<Insight> {
            assert!(!document.url.as_str().ends_with("/1"), "no birds");
            Vec::new()
        }
        fn name(&self) -> &str {
            "picky"
        }
    }
    let script = three_pages();
    let disk = SimulatedDisk::new();
    let seen = Seen::default();
    let analyzers = || vec![Arc::new(Picky) as Arc<dyn Analyzer>, listener(&seen)];
    let said = go(Arc::new(disk.clone()), &script, &[SEED], analyzers());
    assert_eq!(urls(&seen).len(), 3);
    assert_eq!(said.len(), 1, "{said:?}");
    for word in ["picky", "http://a.test/1", "no birds"] {
        assert!(said[0].contains(word), "{said:?}");
    }
    // Also where it is read from the archive; and it was seen, so it does not come for ever.
    disk.remove(Path::new("default/part-0/analyzed")).unwrap();
    seen.lock().unwrap().clear();
    let said = go(Arc::new(disk.clone()), &script, &[SEED], analyzers());
    assert_eq!((said.len(), urls(&seen).len()), (1, 3), "{said:?}");
    seen.lock().unwrap().clear();
    let said = go(Arc::new(disk.clone()), &script, &[SEED], analyzers());
    assert_eq!((said.len(), urls(&seen).len()), (0, 0), "{said:?}");
}

#[test]
fn a_run_that_is_told_to_end_does_not_wait_for_all_that_was_missed() {
    let names: Vec<String> = (0..60).map(|n| format!("/{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut script = Script::default().html(SEED, &links(&names));
    for name in &names {
        script = script.html(&format!("http://a.test{name}"), &format!("page {name}"));
    }
    let disk = SimulatedDisk::new();
    let files = || Arc::new(disk.clone()) as Arc<dyn Files>;
    let mut config = config();
    config.run.commit_every = std::time::Duration::from_millis(1);
    let seeds = [SEED.to_owned()];
    let go = |analyzers: Vec<Arc<dyn Analyzer>>, control: &Control| {
        let parts = Parts {
            fetcher: Some(Arc::new(script.clone())),
            analyzers,
            ..Parts::default()
        };
        crawl_on(files(), &config, &seeds, parts, control).unwrap();
    };
    go(Vec::new(), &Control::default());
    // Told to end by the first document that comes.
    let control = Control::default();
    let (ending, first) = (control.clone(), Seen::default());
    let end: Arc<dyn Analyzer> = Arc::new(move |_: &Document| ending.interrupt());
    go(vec![end, listener(&first)], &control);
    let some = urls(&first).len();
    assert!((1..61).contains(&some), "{some}");
    let rest = Seen::default();
    go(vec![listener(&rest)], &Control::default());
    let all: BTreeSet<String> = urls(&first).union(&urls(&rest)).cloned().collect();
    assert_eq!(all.len(), 61);
    assert!(
        urls(&rest).len() < 61,
        "what was handed over does not come again"
    );
}
