//! Files of a collection that are gone or damaged: told of, and nothing good goes because of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::path::{Path, PathBuf};

use support::{Home, crawl_with};
use teia_base::DiskFiles;
use teia_base::journal::{pack_segment, segments};
use teia_testweb::{Listen, Server, WebConfig};

/// A collection with most of its past packed, its URLs on disk, an index and a catalog.
fn collected() -> (Server, Home) {
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 60,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let settings = "[run]\nrepository-memory = \"8KiB\"\njournal-segment-bytes = \"8KiB\"\njournal-bytes = \"8KiB\"\n";
    home.good(&crawl_with(
        &home,
        &server,
        "0s",
        settings,
        &["--max-pages", "100"],
    ));
    // The thread that packs stops when a run ends, however much there is to pack.
    let (disk, journal) = (
        DiskFiles::new(home.data()).unwrap(),
        Path::new("default/part-0/journal"),
    );
    let mut sealed = segments(&disk, journal).unwrap();
    sealed.pop();
    for first in sealed {
        assert!(pack_segment(&disk, journal, first, &|| false).unwrap());
    }
    (server, home)
}

fn part(home: &Home, folder: &str) -> PathBuf {
    home.data().join("default/part-0").join(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
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

/// What people still have: URLs, pages that are found, rows of the catalog.
fn kept(home: &Home) -> (serde_json::Value, serde_json::Value, serde_json::Value) {
    let count = home.json(&["urls", "count"]);
    let found = home.json(&["search", "type:html", "--json"]);
    let rows = home.json(&["stats", "--tables", "--json"]);
    (
        count["urls"].clone(),
        found["total"].clone(),
        rows["runs"].clone(),
    )
}

#[test]
fn without_its_history_nothing_is_built_anew_and_nothing_is_thrown_away() {
    let (_server, home) = collected();
    let before = kept(&home);
    let aside = part(&home, "aside");
    std::fs::rename(part(&home, "history"), &aside).unwrap();
    let file = home.data().join("collections/default.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    for command in [
        &["catalog", "rebuild"][..],
        &["index", "rebuild", "--links"],
        &["index", "rebuild"],
        &["urls", "rekey"],
    ] {
        if command[1] == "rekey" {
            let mut other: toml::Table = text.parse().unwrap();
            let form = other
                .entry("normal-form")
                .or_insert(toml::Table::new().into());
            let form = form.as_table_mut().unwrap();
            form.insert("parameter-order".to_owned(), true.into());
            std::fs::write(&file, other.to_string()).unwrap();
        }
        let refused = home.run(command);
        assert_eq!(refused.code, Some(1), "{command:?}: {}", refused.err);
        assert!(
            refused.err.contains("a file is missing"),
            "{command:?}: {}",
            refused.err
        );
    }
    std::fs::write(&file, text).unwrap();
    let verified = home.run(&["urls", "verify"]);
    assert_eq!(verified.code, Some(1), "{}", verified.err);
    std::fs::rename(&aside, part(&home, "history")).unwrap();
    assert_eq!(kept(&home), before);
    home.good(&["urls", "verify"]);
}

#[test]
fn without_its_journal_a_collection_does_not_begin_anew_over_its_history() {
    let (_server, home) = collected();
    let before = kept(&home);
    let packs = files(&part(&home, "history"));
    let contents: Vec<_> = packs.iter().map(|it| std::fs::read(it).unwrap()).collect();
    let aside = part(&home, "aside");
    std::fs::rename(part(&home, "journal"), &aside).unwrap();
    std::fs::create_dir(part(&home, "journal")).unwrap();
    for command in [&["resume"][..], &["urls", "verify"], &["status"]] {
        let refused = home.run(command);
        assert_eq!(refused.code, Some(1), "{command:?}: {}", refused.err);
    }
    let now: Vec<_> = packs.iter().map(|it| std::fs::read(it).unwrap()).collect();
    assert!(now == contents, "a pack was written over");
    std::fs::remove_dir_all(part(&home, "journal")).unwrap();
    std::fs::rename(&aside, part(&home, "journal")).unwrap();
    assert_eq!(kept(&home), before);
}

#[test]
fn damaged_blocks_stay_where_the_history_is_damaged_too() {
    let (_server, home) = collected();
    let pack = &files(&part(&home, "history"))[0];
    let whole = std::fs::read(pack).unwrap();
    flip(pack);
    let runs = files(&part(&home, "urls"));
    let runs: Vec<_> = runs
        .iter()
        .filter(|it| it.to_string_lossy().contains("run-"))
        .collect();
    for run in &runs {
        flip(run);
    }
    let ended = home.run(&["resume", "--max-pages", "none"]);
    println!("{:?} {}", ended.code, ended.err);
    let left = files(&part(&home, "urls"));
    assert!(
        left.len() >= runs.len() / 2,
        "{} of {} files are left",
        left.len(),
        runs.len()
    );
    // With the history whole again everything is made from it.
    std::fs::write(pack, whole).unwrap();
    let _ = home.run(&["resume", "--max-pages", "none"]);
    home.good(&["resume", "--max-pages", "none"]);
    let count = home.json(&["urls", "count"]);
    assert_eq!(count["states"]["waiting"], 0, "{count}");
}

#[test]
fn a_rebuild_that_cannot_succeed_leaves_what_is_there() {
    let (_server, home) = collected();
    let before = kept(&home);
    let links = home.good(&["export", "links"]);
    let pack = &files(&part(&home, "history"))[0];
    let whole = std::fs::read(pack).unwrap();
    flip(pack);
    for command in [
        &["catalog", "rebuild"][..],
        &["index", "rebuild", "--links"],
        &["index", "rebuild"],
    ] {
        let refused = home.run(command);
        assert_eq!(refused.code, Some(1), "{command:?}: {}", refused.err);
        assert!(
            refused.err.contains("damaged"),
            "{command:?}: {}",
            refused.err
        );
    }
    let verified = home.run(&["urls", "verify"]);
    assert_eq!(verified.code, Some(1), "{}", verified.err);
    assert_eq!(home.good(&["export", "links"]), links);
    std::fs::write(pack, whole).unwrap();
    assert_eq!(kept(&home), before);
}

#[test]
fn one_collection_that_cannot_be_read_does_not_hide_the_others() {
    let (server, home) = collected();
    home.good(&crawl_with(
        &home,
        &server,
        "0s",
        "",
        &["--collection", "other"],
    ));
    for segment in files(&part(&home, "journal")) {
        std::fs::write(segment, b"something else").unwrap();
    }
    let told = home.run(&["status"]);
    assert_eq!(told.code, Some(1));
    assert!(
        String::from_utf8_lossy(&told.out).contains("other: ended"),
        "{told:?}"
    );
    assert!(told.err.contains("default"), "{}", told.err);
}

#[test]
fn a_collection_whose_last_archive_file_is_cut_or_gone_says_the_way_out_and_goes_on() {
    let (_server, home) = collected();
    let resume = ["resume", "--max-pages", "none", "--delay", "0s"];
    for is_gone in [false, true] {
        let archives = files(&home.data().join("default/archive"));
        let is_archive = |path: &&PathBuf| path.extension().is_some_and(|it| it == "gz");
        let last = archives.iter().rfind(is_archive).unwrap();
        let before = home.all_captures().len();
        if is_gone {
            std::fs::remove_file(last).unwrap();
        } else {
            let len = std::fs::metadata(last).unwrap().len();
            let file = std::fs::File::options().write(true).open(last).unwrap();
            file.set_len(len / 2).unwrap();
        }
        for _ in 0..2 {
            let refused = home.run(&resume);
            assert_eq!(refused.code, Some(1), "{}", refused.err);
            for word in [last.file_name().unwrap().to_str().unwrap(), "urls repair"] {
                assert!(refused.err.contains(word), "{word}: {}", refused.err);
            }
        }
        let told = home.json(&["urls", "repair"]);
        let lost = told["lost_urls"].as_array().unwrap();
        assert!(!lost.is_empty(), "{told}");
        assert!(is_gone || lost.len() < before, "{told}");
        assert_eq!(told["lost_captures"], lost.len());
        home.good(&resume);
        let again = home.run(&["urls", "repair"]);
        assert!(again.err.contains("nothing to repair"), "{}", again.err);
    }
}
