//! Every kind of file that the program writes, damaged in seven ways: it is found and named, nothing panics, nothing
//! is silently wrong, and what follows from something else is made again.
//!
//! `TEIA_DAMAGES=N` damages each kind in N places instead of one (`./dev soak damage`); `TEIA_DAMAGE_KIND=TEXT` only the kinds whose name
//! contains it. A kind that is not in the table below fails the test: whoever writes a new file says here what it is.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use support::{Draw, Ended, Home, crawl_with, from_environment, until};
use teia_catalog::{Reader, Row, Store};
use teia_engine::checked_line;
use teia_testweb::{Listen, Server, WebConfig};

/// What can be expected of a damaged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    /// Nothing else has it, and it has check sums: damage is named by `teia verify`, and never taken for good.
    Source,
    /// It follows from something else, and has check sums: named, and made again by the next run or by the command
    /// that is named with it.
    Derived,
    /// It follows from something else, and has no check sums all through: what cannot be used is made again.
    Unguarded,
    /// Text that people write: what cannot be understood is named, and what can be is what they said.
    Text,
    /// Its content means nothing.
    Empty,
}

/// The kind of a file, by its path in the data directory.
fn kind(path: &str) -> Option<(&'static str, Nature)> {
    use Nature::{Derived, Empty, Source, Text, Unguarded};
    let name = path.rsplit('/').next()?;
    let folder = path.strip_suffix(name)?;
    let extension = name.rsplit('.').next()?;
    Some(match (folder, name, extension) {
        ("", "format", _) => ("format", Source),
        ("", "lock", _) => ("lock", Empty),
        ("", "tokens.toml", _) => ("tokens", Source),
        ("", "audit.log" | "audit.log.1", _) => ("audit log", Source),
        ("", "begun.list", _) => ("begun runs", Source),
        ("default/", "events.jsonl" | "events.jsonl.1", _) => ("events", Source),
        ("default/", "webhook.json", _) => ("messages to webhooks", Source),
        // For whoever wants to know what was in it; nobody reads it.
        ("default/", "webhook.json.damaged", _) => ("damaged messages, set aside", Empty),
        // Its rows are compared with the journal.
        ("", "teia.db", _) => ("catalog", Derived),
        // SQLite's own journal, of which it leaves out what is damaged; its index of it is memory that is shared.
        ("", "teia.db-wal", _) => ("catalog, not yet merged", Unguarded),
        ("", "teia.db-shm", _) => ("catalog, shared memory", Unguarded),
        ("collections/", _, "toml") => ("collection file", Text),
        ("default/", "removed", _) => ("removals", Source),
        ("default/", "removed.copy", _) => ("removals, copy", Derived),
        ("", "removed.kept", _) => ("removals of who is gone", Source),
        ("", "removed.kept.copy", _) => ("removals of who is gone, copy", Derived),
        ("default/archive/", _, "gz") => ("archive", Source),
        ("default/archive/", _, "cdxj") => ("archive index", Derived),
        ("default/archive/", _, "ids") => ("archive numbers", Derived),
        ("default/archive/", _, "open") => ("archive index, open", Derived),
        // What a killed process had begun to write in place of another file; nobody reads it.
        (_, _, "new") => ("begun", Empty),
        ("", _, _) if name.starts_with("format.new.") => ("begun", Empty),
        ("default/index/", _, _) if name.starts_with(".tmp") => ("begun", Empty),
        ("default/index/", ".managed.json", _) => ("search index, its files", Unguarded),
        // Begun anew where it is damaged.
        ("default/index/", "sums", _) => ("search index, sums", Unguarded),
        // What somebody found damaged, for the next run to look at first.
        ("default/index/" | "default/archive/", "suspect", _) => ("suspects", Empty),
        ("default/index/", "meta.json", _) => ("search index, its head", Unguarded),
        ("default/index/", _, "lock") => ("search index, lock", Empty),
        ("default/index/", _, "idx") => ("search index, postings", Derived),
        ("default/index/", _, "pos") => ("search index, positions", Derived),
        ("default/index/", _, "term") => ("search index, terms", Derived),
        ("default/index/", _, "store") => ("search index, pages", Derived),
        ("default/index/", _, "fast") => ("search index, columns", Derived),
        ("default/index/", _, "fieldnorm") => ("search index, lengths", Derived),
        ("default/index/", _, "del") => ("search index, removed", Derived),
        ("default/links/", "manifest", _) => ("links, manifest", Derived),
        ("default/links/", "rank", _) => ("ranks", Derived),
        ("default/links/", _, "links") => ("links", Derived),
        ("default/part-0/", "manifest", _) => ("checkpoint, manifest", Derived),
        ("default/part-0/", "ranked" | "analyzed", _) => ("position", Unguarded),
        ("default/part-0/state/", _, _) => ("checkpoint", Derived),
        ("default/part-0/history/", _, "pack") => ("history", Source),
        ("default/part-0/journal/", _, "log") => ("journal", Source),
        ("default/part-0/urls/", "manifest", _) => ("URLs, manifest", Derived),
        ("default/part-0/urls/", "manifest.copy", _) => ("URLs, copy of the manifest", Derived),
        ("default/part-0/urls/", _, _) if name.starts_with("run-") => ("URLs", Derived),
        // News for blocks that a fold did not visit. A small collection has none: `crates/repository/tests/blocks_damage.rs`.
        ("default/part-0/urls/", _, _) if name.starts_with("pending-") => ("URLs, news", Derived),
        // Gone at the next start: windows, bodies on their way, what ranks are computed with.
        ("default/part-0/urls/", _, _) if name.starts_with("window-") => ("window", Empty),
        ("default/spool/", _, _) => ("spool", Empty),
        ("default/links/", "rank.edges" | "rank.hosts", _) => ("ranks, on their way", Empty),
        // With which version a follower panicked: damaged, it tries once more.
        ("default/crashes/", "catalog" | "link-graph" | "search-index", _) => {
            ("note of a panic", Unguarded)
        }
        // For whoever mends an extractor; the program only writes them.
        ("default/crashes/", _, _) => ("bodies of crashes", Empty),
        _ => return None,
    })
}

/// Whether the next run makes a file good without any command: no more is to be done than to collect.
fn mends_itself(path: &str) -> bool {
    let is_of_archive = path.ends_with(".cdxj") || path.ends_with(".ids");
    let is_of_index =
        path.starts_with("default/index/") && kind(path).is_some_and(|it| it.1 == Nature::Derived);
    is_of_archive || is_of_index || path.ends_with("removed") || path.ends_with("removed.kept")
}

/// The ways in which a file is damaged.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip,
    Zero,
    Cut,
    Swap,
    Append,
    Delete,
    /// With another file of its kind.
    Exchange,
}

const HARMS: [Harm; 7] = [
    Harm::Flip,
    Harm::Zero,
    Harm::Cut,
    Harm::Swap,
    Harm::Append,
    Harm::Delete,
    Harm::Exchange,
];

/// Damages a file somewhere; where, or nothing where it is as it was.
fn harm(path: &Path, harm: Harm, draw: &mut Draw) -> Option<usize> {
    let good = fs::read(path).unwrap();
    let mut bytes = good.clone();
    let len = u64::try_from(bytes.len()).unwrap();
    let mut place = |most: u64| usize::try_from(draw.between(0, most.saturating_sub(1))).unwrap();
    let at = place(len);
    match harm {
        Harm::Flip if len > 0 => bytes[at] ^= 1 << place(8),
        Harm::Zero => {
            let end = bytes.len().min(at + 64);
            bytes[at..end].fill(0);
        }
        Harm::Cut => bytes.truncate(at),
        Harm::Swap => {
            let width = (bytes.len() / 4).min(32);
            let (from, to) = (at / 2, bytes.len() / 2 + at / 2 - width.min(at / 2));
            for step in 0..width {
                if from + step < to && to + step < bytes.len() {
                    bytes.swap(from + step, to + step);
                }
            }
        }
        Harm::Append => bytes.extend((0..100).map(|_| u8::try_from(place(256)).unwrap())),
        Harm::Flip | Harm::Exchange => {}
        Harm::Delete => {
            fs::remove_file(path).unwrap();
            return Some(0);
        }
    }
    (bytes != good).then(|| {
        fs::write(path, bytes).unwrap();
        at
    })
}

/// Exchanges two files; nothing where they say the same.
fn exchange(one: &Path, other: &Path) -> Option<usize> {
    let (of_one, of_other) = (fs::read(one).unwrap(), fs::read(other).unwrap());
    (of_one != of_other).then(|| {
        fs::write(one, of_other).unwrap();
        fs::write(other, of_one).unwrap();
        0
    })
}

/// A collection with a past: two runs, the second of which was killed.
struct Collected {
    _server: Server,
    home: Home,
    front: String,
    /// What people see of it, and what they see when the next run has ended.
    now: Seen,
    then: Seen,
}

/// What people see.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    status: Value,
    found: Vec<String>,
    links: Vec<String>,
    /// Address, outcome and title of each document, from the catalog.
    rows: Vec<String>,
}

fn collected() -> Collected {
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 30,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let settings = "[run]\nrepository-memory = \"8KiB\"\njournal-segment-bytes = \"8KiB\"\njournal-bytes = \"8KiB\"\nalias-pages = 0\n[webhook]\nurls = [\"http://127.0.0.1:9/\"]\nallow-private = true\nretries = 0\n";
    home.good(&crawl_with(
        &home,
        &server,
        "0s",
        settings,
        &["--max-pages", "50"],
    ));
    let front = server.web().front(0);
    home.good(&["remove", &format!("{front}hidden")]);
    home.good(&["collection", "new", "gone", "http://gone.example/"]);
    home.good(&["remove", "--collection", "gone", "--host", "gone.example"]);
    home.good(&["collection", "remove", "gone", "--yes"]);
    home.good(&["token", "new", "--role", "viewer", "somebody"]);
    // As a server writes them.
    let line = r#"{"at":"2026-01-01T00:00:00Z","from":"127.0.0.1","method":"PUT","name":"somebody","path":"/api/x","role":"admin","status":200,"token":"abcdefgh"}"#;
    let lines = [checked_line(line), checked_line(line), checked_line(line)].concat();
    fs::write(home.data().join("audit.log"), lines).unwrap();
    // The same hash as in a line, of what stands before it.
    let check = checked_line("default\n");
    let check = check.rsplit('"').nth(1).unwrap();
    let list = format!("check: {check}\ndefault\n");
    fs::write(home.data().join("begun.list"), list).unwrap();
    let crashes = home.data().join("default/crashes");
    fs::create_dir_all(&crashes).unwrap();
    fs::write(crashes.join("0123456789abcdef"), "<p>a page").unwrap();
    let begun = home.attempts().len();
    let running = home.start(&["resume", "--max-pages", "none", "--delay", "50ms"]);
    until("a second run to commit something", || {
        home.attempts().len() > begun + 4
    });
    running.kill();
    // Nobody tidies up behind a killed process, and whoever looks may.
    let now = seen(&home);
    let after = copy_of(&home);
    after.good(&["resume", "--max-pages", "none", "--delay", "0s"]);
    let then = seen(&after);
    assert_ne!(now.status, then.status, "there was nothing left to do");
    let whole = after.run(&["verify"]);
    assert_eq!(whole.code, Some(0), "{} {}", whole.text(), whole.err);
    Collected {
        _server: server,
        home,
        front,
        now,
        then,
    }
}

fn copy_of(home: &Home) -> Home {
    let copy = Home::new();
    copy_folder(home.data(), copy.data());
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_folder(&from, &to);
        } else if kind.is_file() {
            fs::copy(from, to).unwrap();
        }
    }
}

fn seen(home: &Home) -> Seen {
    let ended = [
        home.run(&["status", "--json"]),
        search(home),
        home.run(&["export", "links"]),
        home.run(&["export", "csv"]),
    ];
    for it in &ended {
        assert_eq!(it.code, Some(0), "{}", it.err);
    }
    let [status, found, links, rows] = ended;
    Seen {
        status: status_of(&status),
        found: found_of(&found),
        links: sorted(&links),
        rows: rows_of(&rows),
    }
}

/// What does not depend on when the run was that a copy goes on with.
fn rows_of(ended: &Ended) -> Vec<String> {
    let text = ended.text();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let wanted = ["url", "outcome", "title"];
    let places = wanted.map(|wanted| names.iter().position(|name| *name == wanted).unwrap());
    // The pages of the web have no comma in these.
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |at: &usize| cells.get(*at).copied().unwrap_or("?");
        places.iter().map(cell).collect::<Vec<_>>().join(" ")
    };
    let mut rows: Vec<String> = lines.map(row).collect();
    rows.sort();
    rows
}

/// Everything that the catalog says, with the statements that made its tables and views; none where it cannot be asked.
fn catalog_of(home: &Home) -> Option<Vec<Row>> {
    let store = Store::Sqlite(home.data().join("teia.db"));
    let mut reader = Reader::open(&store).ok()??;
    let mut rows = Vec::new();
    for name in [
        "sqlite_master",
        "collections",
        "runs",
        "minutes",
        "hosts",
        "documents",
        "attempts",
    ] {
        rows.extend(reader.ask(&format!("SELECT * FROM {name}")).ok()?);
    }
    Some(rows)
}

fn search(home: &Home) -> Ended {
    home.run(&["search", "type:html", "--json", "--limit", "200"])
}

fn status_of(ended: &Ended) -> Value {
    let all: Value = serde_json::from_str(&ended.text()).unwrap();
    let one = &all["collections"][0];
    let names = ["known", "fetched", "waiting", "failed", "excluded"];
    Value::Array(names.iter().map(|name| one[name].clone()).collect())
}

fn found_of(ended: &Ended) -> Vec<String> {
    let all: Value = serde_json::from_str(&ended.text()).unwrap();
    let hits = all["hits"].as_array().unwrap().iter();
    let mut found: Vec<String> = hits
        .map(|hit| format!("{} {}", hit["url"], hit["title"]))
        .collect();
    found.push(all["total"].to_string());
    found.sort();
    found
}

fn sorted(ended: &Ended) -> Vec<String> {
    let mut lines: Vec<String> = ended.text().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Every file of a data directory, by its path there.
fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// One damage, and everything that must hold of it.
struct Case<'a> {
    collected: &'a Collected,
    home: Home,
    nature: Nature,
    path: String,
    label: String,
}

impl Case<'_> {
    /// A command that may fail, but does not panic, and is not killed.
    #[track_caller]
    fn look(&self, arguments: &[&str]) -> Ended {
        let ended = self.home.run(arguments);
        let said = format!("{}: {arguments:?}: {}", self.label, ended.err);
        assert!(matches!(ended.code, Some(0..=2)), "{:?} {said}", ended.code);
        assert!(
            !ended.err.contains("panicked") || self.is_of_index(&ended.err),
            "{said}"
        );
        ended
    }

    /// Whether only the library that reads the search index gave up over a damaged file of it, in a thread of the run,
    /// which goes on. It looks at no check sum when it opens a file.
    fn is_of_index(&self, said: &str) -> bool {
        let panics = said.lines().filter(|line| line.contains("panicked at"));
        self.path.starts_with("default/index/")
            && panics.into_iter().all(|line| {
                ["tantivy", "ownedbytes"]
                    .iter()
                    .any(|library| line.contains(&format!("/{library}")))
            })
    }

    /// Whether somebody who reads this knows which file to look at.
    fn names(&self, text: &str) -> bool {
        let path = Path::new(&self.path);
        let name = path.file_name().unwrap().to_string_lossy();
        let folder = path.parent().unwrap().to_string_lossy();
        // Without its head there is none, and it is told how to make one.
        let is_index = folder == "default/index"
            && ["the search index of default", "there is no search index in"]
                .iter()
                .any(|told| text.contains(told));
        let is_history =
            folder.ends_with("/history") && text.contains("nor in `history` beside it");
        text.contains(&*name)
            || is_index
            || is_history
            || (!folder.is_empty() && text.contains(&*folder))
    }

    /// Either it was told, or what is shown is right.
    #[track_caller]
    fn right_or_told<T: PartialEq + std::fmt::Debug>(
        &self,
        ended: &Ended,
        shown: fn(&Ended) -> T,
        want: &T,
        is_named: bool,
    ) {
        if ended.code == Some(0) {
            let got = shown(ended);
            assert!(
                got == *want || is_named || self.names(&ended.err),
                "{}: silently wrong: {got:?} and not {want:?}; {}",
                self.label,
                ended.err
            );
        } else {
            assert!(self.names(&ended.err), "{}: {}", self.label, ended.err);
        }
    }

    fn check(&self) {
        let verified = self.look(&["verify"]);
        let told = format!("{}{}", verified.text(), verified.err);
        let is_named = verified.code != Some(0) && self.names(&told);
        if matches!(self.nature, Nature::Source | Nature::Derived) {
            self.check_named(is_named, &told);
        }
        let now = &self.collected.now;
        let status = self.look(&["status", "--json"]);
        let rows = self.look(&["export", "csv"]);
        let found = search(&self.home);
        assert!(
            !found.err.contains("panicked") || self.is_of_index(&found.err),
            "{}: {}",
            self.label,
            found.err
        );
        let copy = self.look(&["get", &self.collected.front]);
        // What lies after the last whole entry of the journal never happened, and is fetched again.
        if self.nature != Nature::Text && !self.is_last_segment() {
            self.right_or_told(&status, status_of, &now.status, is_named);
            self.right_or_told(&found, found_of, &now.found, is_named);
            self.right_or_told(&rows, rows_of, &now.rows, is_named);
            assert!(
                copy.code == Some(0) || is_named || self.names(&copy.err),
                "{}: {}",
                self.label,
                copy.err
            );
        }
        if self.path == "tokens.toml" && is_named {
            // Who cannot know who may manage lets nobody in.
            for command in [
                &["token", "list"][..],
                &["serve", "--listen", "127.0.0.1:0"],
            ] {
                let refused = self.look(command);
                assert_ne!(refused.code, Some(0), "{}: {command:?}", self.label);
                assert!(self.names(&refused.err), "{}: {}", self.label, refused.err);
            }
        }
        match self.nature {
            // Changed settings are settings: what a run would do with them nobody can say.
            Nature::Text => self.check_text(is_named),
            nature => self.check_next_run(nature),
        }
    }

    /// What cannot be understood is named, by who reads everything and by who reads this.
    #[track_caller]
    fn check_text(&self, is_named: bool) {
        let checked = self.look(&["collection", "check", "default"]);
        // A file that is gone is a collection without settings of its own.
        let Ok(bytes) = fs::read(self.home.data().join(&self.path)) else {
            return;
        };
        let text = String::from_utf8(bytes);
        let is_understood = text.is_ok_and(|text| text.parse::<toml::Table>().is_ok());
        if !is_understood || checked.code != Some(0) {
            assert!(is_named, "{}: not named by verify", self.label);
            assert!(
                checked.code != Some(0)
                    && self.names(&format!("{}{}", checked.text(), checked.err)),
                "{}: {}",
                self.label,
                checked.err
            );
        }
    }

    #[track_caller]
    fn check_named(&self, is_named: bool, told: &str) {
        if is_named {
            return;
        }
        let outside = "no byte of a record that was committed: what a killed process wrote after its last commit, or how much effort packing took";
        let reason = self.exemption();
        let reason = reason.or_else(|| self.spares_records(told).then_some(outside));
        let Some(reason) = reason else {
            panic!("{}: not found: {told}", self.label);
        };
        println!("not named, and need not be: {}: {reason}", self.label);
    }

    /// Why damage to this file need not be named by `teia verify`; everything else that is checked still is.
    fn exemption(&self) -> Option<&'static str> {
        let is_deleted = self.label.contains("Delete");
        if self.path.ends_with(".open") {
            return Some(
                "the lines of an archive file that grows are read from its records where they do not fit them",
            );
        }
        if self.path.ends_with(".copy") {
            return Some("a copy in good time: the other one is read");
        }
        if self.is_last_segment() {
            return Some(
                "nobody can tell a torn end from damage there, unless others have heard of what it held",
            );
        }
        let is_line_file = self.path.ends_with(".jsonl") || self.path.starts_with("audit.log");
        if is_line_file && self.label.contains("Cut") {
            return Some("a line that a killed process did not write to its end looks the same");
        }
        let may_be_none = [
            "tokens.toml",
            "audit.log",
            "begun.list",
            "default/events.jsonl",
            "default/webhook.json",
        ];
        if is_deleted && may_be_none.contains(&self.path.as_str()) {
            return Some("nobody can tell a file that is gone from one that never was");
        }
        if self.path == "begun.list" && self.label.ends_with("Cut at 0") {
            return Some("a list of before there were check sums was empty too");
        }
        if self.path == "teia.db"
            && catalog_of(&self.home)
                .is_some_and(|rows| Some(rows) == catalog_of(&self.collected.home))
        {
            return Some("no row says anything else: it lies where SQLite keeps nothing");
        }
        if is_deleted && self.nature == Nature::Derived {
            return Some("it follows from something else, and is made again where it is not there");
        }
        if self.label.contains("Append") && self.path.ends_with(".pack") {
            return Some("a pack says where it ends, and what stands behind that is never read");
        }
        if self.path == "format" {
            return Some("its last line only guards the others");
        }
        self.is_left_over()
            .then_some("the killed process had not named it yet, and nobody reads it")
    }

    /// Whether all records that `verify` has read are in the damaged archive file as they were.
    fn spares_records(&self, told: &str) -> bool {
        if !self.path.ends_with(".warc.gz") {
            return false;
        }
        let unpacked = |home: &Home| {
            let bytes = fs::read(home.data().join(&self.path)).unwrap();
            let mut text = Vec::new();
            // As far as it goes.
            let _ = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
            text
        };
        let (whole, hurt) = (unpacked(&self.collected.home), unpacked(&self.home));
        let same = whole
            .iter()
            .zip(&hurt)
            .take_while(|(one, other)| one == other);
        let same = same.count();
        let begun = whole[..same].windows(10).filter(|it| it == b"WARC/1.1\r\n");
        let verified: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        // One more has begun: the last one that counts is whole.
        whole == hurt || begun.count() as u64 > verified["records"].as_u64().unwrap()
    }

    /// Whether it is the segment of the journal that grows.
    fn is_last_segment(&self) -> bool {
        let all = files(self.collected.home.data());
        let is_segment = |path: &&String| path.starts_with("default/part-0/journal/");
        let last = all.iter().rfind(is_segment);
        last == Some(&self.path)
    }

    /// Whether it is a file of URLs or a checkpoint that the killed process had not named yet, and that nobody reads.
    fn is_left_over(&self) -> bool {
        let without = copy_of(&self.collected.home);
        fs::remove_file(without.data().join(&self.path)).unwrap();
        let may_be = ["/urls/run-", "/part-0/state/"];
        may_be.iter().any(|folder| self.path.contains(folder))
            && without.run(&["verify"]).code == Some(0)
    }

    /// The next run goes on, or says which file keeps it from that; and then everything is as if nothing had been.
    fn check_next_run(&self, nature: Nature) {
        let resume = ["resume", "--max-pages", "none", "--delay", "0s"];
        let is_of_webhooks = self.path == "default/webhook.json";
        let waits = is_of_webhooks && self.look(&["verify"]).code != Some(0);
        let mut ended = self.look(&resume);
        if waits {
            // What waited was nowhere else: whoever collects is told, and may look at what is left of it.
            assert!(
                ended.err.contains("may be missing"),
                "{}: {}",
                self.label,
                ended.err
            );
            assert!(self.names(&ended.err), "{}: {}", self.label, ended.err);
            let aside = self.home.data().join(format!("{}.damaged", self.path));
            assert!(aside.exists(), "{}", self.label);
        }
        // A damaged page of a block is found when it is visited: the rest goes on, and the next start mends it.
        if ended.code == Some(0) && ended.err.contains("the next start makes them again") {
            assert!(self.names(&ended.err), "{}: {}", self.label, ended.err);
            ended = self.look(&resume);
        }
        if ended.code != Some(0) {
            assert!(self.names(&ended.err), "{}: {}", self.label, ended.err);
            // Once may be what it takes to set damaged files aside; a second time is a loop.
            ended = self.look(&resume);
        }
        if ended.code != Some(0) {
            assert_eq!(nature, Nature::Source, "{}: {}", self.label, ended.err);
            assert!(self.names(&ended.err), "{}: {}", self.label, ended.err);
            return;
        }
        if !mends_itself(&self.path) {
            self.mend();
        }
        let verified = self.look(&["verify"]);
        let is_still_named = verified.code != Some(0);
        if nature == Nature::Source && is_still_named && !mends_itself(&self.path) {
            // Nothing else has it, and so it stays as it is, and is named.
            return;
        }
        assert!(
            !is_still_named,
            "{}: after everything that helps: {}",
            self.label,
            verified.text()
        );
        let after = seen(&self.home);
        let want = &self.collected.then;
        assert!(
            after == *want,
            "{}: the run after it: {after:?} and not {want:?}",
            self.label
        );
    }

    /// Does what `teia verify` says helps.
    fn mend(&self) {
        let verified = self.look(&["verify"]);
        if verified.code == Some(0) {
            return;
        }
        let report: Value = serde_json::from_str(&verified.text()).unwrap();
        let mut helped: BTreeMap<String, ()> = BTreeMap::new();
        for problem in report["problems"].as_array().unwrap() {
            let part = problem["part"].as_str().unwrap().to_owned();
            if helped.insert(part.clone(), ()).is_some() {
                continue;
            }
            match part.as_str() {
                "index" => drop(self.look(&["index", "rebuild"])),
                "links" => drop(self.look(&["index", "rebuild", "--links"])),
                "ranks" => drop(self.look(&["rank"])),
                "catalog" => {
                    if problem["help"].as_str().unwrap().starts_with("remove it") {
                        fs::remove_file(self.home.data().join("teia.db")).unwrap();
                    }
                    self.look(&["catalog", "rebuild"]);
                }
                _ => {}
            }
        }
    }
}

/// Damages all kinds whose letters add up to this one, modulo the number of tests.
fn check_share(share: u64, shares: u64) {
    let collected = collected();
    let places = from_environment("TEIA_DAMAGES").unwrap_or(1);
    let only = std::env::var("TEIA_DAMAGE_KIND").unwrap_or_default();
    let mut kinds: BTreeMap<&str, (Nature, Vec<String>)> = BTreeMap::new();
    let index = fs::read_to_string(collected.home.data().join("default/index/meta.json")).unwrap();
    let index = index.replace('-', "");
    for path in files(collected.home.data()) {
        let Some((name, nature)) = kind(&path) else {
            panic!("{path} is of a kind that this test does not know: say in `kind` what it is");
        };
        // The killed run left files of the index behind that were never committed: nobody reads them.
        let segment = path.strip_prefix("default/index/");
        let segment = segment.and_then(|name| name.split('.').next());
        if segment.is_some_and(|it| it.len() == 32 && !index.contains(it)) {
            continue;
        }
        kinds
            .entry(name)
            .or_insert((nature, Vec::new()))
            .1
            .push(path);
    }
    let mut damages = 0;
    let mut failed = Vec::new();
    for (name, (nature, paths)) in &kinds {
        // By its name: which kinds there are differs a little from one collection to the next, and none must be left out.
        let number: u64 = name.bytes().map(u64::from).sum();
        if number % shares != share || !name.contains(&only) {
            continue;
        }
        let mut draw = Draw(number);
        for _ in 0..places {
            for way in HARMS {
                let chosen = usize::try_from(draw.next() % paths.len() as u64).unwrap();
                let home = copy_of(&collected.home);
                let path = paths[chosen].clone();
                let place = home.data().join(&path);
                let at = match way {
                    // What a start makes good by itself. Lists of removed pages are not told apart by name.
                    Harm::Exchange if mends_itself(&path) && !path.ends_with(".del") => {
                        let other = &paths[(chosen + 1) % paths.len()];
                        exchange(&place, &home.data().join(other))
                    }
                    Harm::Exchange => None,
                    way => harm(&place, way, &mut draw),
                };
                let Some(at) = at else {
                    continue;
                };
                damages += 1;
                let label = format!("{name} ({path}), {way:?} at {at}");
                let case = Case {
                    collected: &collected,
                    home,
                    nature: *nature,
                    path,
                    label,
                };
                if catch_unwind(AssertUnwindSafe(|| case.check())).is_err() {
                    failed.push(case.label);
                }
            }
        }
    }
    println!(
        "{damages} damages to kinds of files {share} of {shares}: {:?}",
        kinds.keys()
    );
    assert!(
        kinds.contains_key("messages to webhooks") && kinds.contains_key("search index, columns"),
        "the collection has everything that is written"
    );
    assert!(damages > 0 || !only.is_empty());
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn damage_is_found_and_named_or_made_good_first_quarter() {
    check_share(0, 4);
}

#[test]
fn damage_is_found_and_named_or_made_good_second_quarter() {
    check_share(1, 4);
}

#[test]
fn damage_is_found_and_named_or_made_good_third_quarter() {
    check_share(2, 4);
}

#[test]
fn damage_is_found_and_named_or_made_good_last_quarter() {
    check_share(3, 4);
}

/// What `teia verify` says of the catalog, and how many rows it has compared.
fn of_catalog(home: &Home) -> (Vec<String>, Option<u64>) {
    let verified: Value = serde_json::from_str(&home.run(&["verify"]).text()).unwrap();
    let problems = verified["problems"].as_array().unwrap().iter();
    let of_catalog = problems.filter(|problem| problem["part"] == "catalog");
    let told = of_catalog.map(|problem| format!("{} {}", problem["what"], problem["help"]));
    (told.collect(), verified["catalog_rows"].as_u64())
}

#[test]
fn one_letter_in_the_catalog_is_named_until_it_is_rebuilt_and_a_run_under_way_is_no_damage() {
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 30,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let settings = "[run]\nalias-pages = 0\n";
    let crawl = crawl_with(&home, &server, "150ms", settings, &[]);
    let mut running = home.start(&crawl);
    let mut compared = 0;
    until("the first rows", || {
        let is_there = home.data().join("teia.db").exists() && home.attempts().len() > 5;
        compared += u32::from(is_there && of_catalog(&home).1.is_some_and(|rows| rows > 0));
        compared > 0
    });
    while running.ends_within(Duration::from_millis(100)).is_none() {
        let (told, rows) = of_catalog(&home);
        assert_eq!(told, [""; 0], "while it is written");
        compared += u32::from(rows.is_some_and(|rows| rows > 0));
    }
    println!("compared {compared} times while it was written");
    let ended = running.wait(support::LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let (told, rows) = of_catalog(&home);
    assert!(told.is_empty() && rows.unwrap() > 150, "{told:?} {rows:?}");
    let path = home.data().join("teia.db");
    let good = rows_of(&home.run(&["export", "csv"]));
    let title = {
        let mut reader = Reader::open(&Store::Sqlite(path.clone())).unwrap().unwrap();
        let asked = "SELECT title FROM documents WHERE length(title) > 8 LIMIT 1";
        reader.ask(asked).unwrap()[0][0].clone().unwrap()
    };
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> = (0..bytes.len() - title.len())
        .filter(|at| bytes[*at..].starts_with(title.as_bytes()))
        .collect();
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    assert_ne!(rows_of(&home.run(&["export", "csv"])), good);
    let (told, _) = of_catalog(&home);
    for word in [
        "teia.db",
        "differs from the journal in title",
        "catalog rebuild",
    ] {
        assert!(told.len() == 1 && told[0].contains(word), "{told:?}");
    }
    home.good(&["catalog", "rebuild"]);
    assert_eq!(rows_of(&home.run(&["export", "csv"])), good);
    assert_eq!(of_catalog(&home).0, [""; 0]);
}
