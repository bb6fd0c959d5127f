//! A damaged journal: `teia urls repair` keeps all that can still be read, and a run ends as if nothing had been.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{Home, crawl_with, requested};
use teia_base::DiskFiles;
use teia_base::journal::{pack_segment, segments};
use teia_testweb::{Listen, Server, WebConfig};

const ON_DISK: &str = "[run]\ncommit-bytes = \"4KiB\"\nrepository-memory = \"8KiB\"\njournal-segment-bytes = \"8KiB\"\njournal-bytes = \"8KiB\"\n";
const IN_MEMORY: &str = "[run]\ncommit-bytes = \"4KiB\"\njournal-segment-bytes = \"8KiB\"\n";

fn web() -> Server {
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 60,
        ..WebConfig::default()
    };
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

/// A collection that was stopped in the middle.
fn collected(server: &Server, settings: &str) -> Home {
    let home = Home::new();
    let limit = &["--max-pages", "100"];
    home.good(&crawl_with(&home, server, "0s", settings, limit));
    home
}

/// Packs every sealed segment: the thread that does it stops when a run ends.
fn pack(home: &Home) {
    let disk = DiskFiles::new(home.data()).unwrap();
    let journal = Path::new("default/part-0/journal");
    let mut sealed = segments(&disk, journal).unwrap();
    sealed.pop();
    for first in sealed {
        assert!(pack_segment(&disk, journal, first, &|| false).unwrap());
    }
}

fn files(home: &Home, folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.data().join("default/part-0").join(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// Each URL with its state.
fn urls(home: &Home) -> BTreeMap<String, String> {
    let table = home.good(&["urls", "export"]);
    let rows = table.lines().skip(1).map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        (cells.next().unwrap(), cells.next().unwrap())
    });
    rows.collect()
}

/// The same URLs in the same states; names what differs, and no more.
fn assert_same(what: &str, got: &BTreeMap<String, String>, want: &BTreeMap<String, String>) {
    let lost: Vec<_> = want
        .iter()
        .filter(|(url, _)| !got.contains_key(*url))
        .collect();
    let other: Vec<_> = got
        .iter()
        .filter(|(url, state)| want.get(*url) != Some(state))
        .collect();
    assert!(
        lost.is_empty() && other.is_empty(),
        "{what}: lost {lost:?}, other {other:?}"
    );
}

/// How it ends where nothing is damaged: the URLs, and the pages that are found.
fn undamaged(server: &Server) -> (BTreeMap<String, String>, serde_json::Value) {
    let home = Home::new();
    home.good(&crawl_with(&home, server, "0s", "", &[]));
    let found = home.json(&["search", "type:html", "--json"]);
    // Port and names are the same for all of them: it is one server.
    (urls(&home), found["total"].clone())
}

/// Finds the damage, repairs it, and goes on to the end.
fn repaired(home: &Home) -> serde_json::Value {
    let verified = home.run(&["urls", "verify"]);
    assert_eq!(verified.code, Some(1), "{}", verified.err);
    assert!(verified.err.contains("urls repair"), "{}", verified.err);
    let repaired = home.json(&["urls", "repair"]);
    assert!(repaired["lost_entries"].as_u64() > Some(0), "{repaired}");
    home.good(&["urls", "verify"]);
    home.good(&["resume", "--max-pages", "none"]);
    home.good(&["urls", "verify"]);
    repaired
}

#[test]
fn what_the_blocks_still_know_is_neither_lost_nor_fetched_again() {
    let server = web();
    let (want, found) = undamaged(&server);
    for which in [0, 1, 2] {
        let home = collected(&server, ON_DISK);
        pack(&home);
        let packs = files(&home, "history");
        let before = urls(&home);
        flip(&packs[which * (packs.len() - 1) / 2]);
        let asked = requested(&server.log());
        let report = repaired(&home);
        println!("{} packs: {report}", packs.len());
        assert_same(&format!("pack {which}"), &urls(&home), &want);
        assert_eq!(
            home.json(&["search", "type:html", "--json"])["total"],
            found
        );
        // A page that was fetched before is not asked for again; of the newest the blocks may not know.
        let is_old = which == 0;
        let fetched = before
            .iter()
            .filter(|(_, state)| is_old && *state == "fetched");
        for (url, _) in fetched {
            let count = |log: &BTreeMap<String, usize>| log.get(url).copied().unwrap_or(0);
            assert_eq!(count(&requested(&server.log())), count(&asked), "{url}");
        }
    }
}

#[test]
fn in_memory_and_with_damaged_blocks_links_tell_what_is_missing() {
    let server = web();
    let (want, found) = undamaged(&server);
    for settings in [IN_MEMORY, ON_DISK] {
        for which in [0, 1, 2] {
            let home = collected(&server, settings);
            if settings == ON_DISK {
                pack(&home);
            }
            let folder = if settings == ON_DISK {
                "history"
            } else {
                "journal"
            };
            let segments = files(&home, folder);
            // The very end may be torn, and nobody the wiser.
            flip(&segments[which * (segments.len() - 2) / 2]);
            if settings == ON_DISK {
                // All of them; or one that is found only when its pages are read.
                let blocks = files(&home, "urls");
                let is_run = |it: &&PathBuf| it.to_string_lossy().contains("run-");
                let damaged = match which {
                    0 => blocks,
                    _ => blocks.iter().filter(is_run).take(which).cloned().collect(),
                };
                damaged.iter().for_each(|file| flip(file));
            }
            let report = repaired(&home);
            println!("{} segments: {report}", segments.len());
            let got = urls(&home);
            // A URL that only lost pages linked to comes back with them: they are fetched again.
            assert_same(&format!("segment {which} with {settings}"), &got, &want);
            assert_eq!(
                home.json(&["search", "type:html", "--json"])["total"],
                found
            );
        }
    }
}

#[test]
fn a_repair_that_is_killed_can_be_made_again_and_one_of_nothing_does_nothing() {
    let server = web();
    let (want, _) = undamaged(&server);
    let home = collected(&server, ON_DISK);
    let whole = home.run(&["urls", "repair"]);
    assert_eq!(whole.code, Some(0), "{}", whole.err);
    assert!(whole.err.contains("nothing to repair"), "{}", whole.err);
    pack(&home);
    flip(&files(&home, "history")[1]);
    for wait in [0, 5, 10, 20, 40, 80] {
        let running = home.start(&["urls", "repair"]);
        std::thread::sleep(Duration::from_millis(wait));
        running.kill();
    }
    home.good(&["urls", "repair"]);
    home.good(&["urls", "verify"]);
    home.good(&["resume", "--max-pages", "none"]);
    assert_same("killed", &urls(&home), &want);
}
