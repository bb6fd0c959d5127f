//! Collection files: written whole, explained, changed without losing what people wrote, removed.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::os::unix::fs::PermissionsExt;

use support::{Home, LIMIT, crawl};
use teia_engine::CollectionConfig;
use teia_testweb::{Listen, Server, WebConfig};

fn file(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.data().join(format!("collections/{name}.toml"))).unwrap()
}

#[test]
fn of_many_who_make_one_collection_at_once_one_does() {
    let home = Home::new();
    let depths: Vec<String> = (1..=12).map(|depth| depth.to_string()).collect();
    let make = |depth: &String| home.start(&["collection", "new", "birds", "--max-depth", depth]);
    let running: Vec<_> = depths.iter().map(make).collect();
    let ended: Vec<_> = running.into_iter().map(|it| it.wait(LIMIT)).collect();
    let good: Vec<usize> = (0..ended.len())
        .filter(|at| ended[*at].code == Some(0))
        .collect();
    assert_eq!(good.len(), 1, "{ended:?}");
    let config = CollectionConfig::parse(&file(&home, "birds")).unwrap();
    assert_eq!(
        config.filter.max_depth.map(|depth| depth as usize),
        Some(good[0] + 1)
    );
    for other in ended.iter().filter(|it| it.code != Some(0)) {
        assert!(other.err.contains("already"), "{}", other.err);
    }
}

#[test]
fn a_new_file_has_every_setting_with_its_meaning_and_the_values_given() {
    let home = Home::new();
    let said = home.good(&[
        "collection",
        "new",
        "birds",
        "example.org",
        "--scope",
        "domain",
        "--max-depth",
        "3",
        "--delay",
        "2s",
    ]);
    assert!(
        said.contains("collections/birds.toml was written"),
        "{said}"
    );
    let text = file(&home, "birds");
    for line in [
        "seeds = [\"example.org\"]",
        "# How far to go from the seeds: `host`, `domain`, `prefix`, `any`, or `suffix:.pt,.br`.",
        "scope = \"domain\"",
        "max-depth = 3",
        "delay = \"2s\"",
        "# max-pages = …    (unset)",
        "[catalog]",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let config = CollectionConfig::parse(&text).unwrap();
    assert_eq!(config.filter.max_depth, Some(3));
    // Nothing is begun by it, and it is not written twice.
    assert!(!home.data().join("birds").exists());
    let again = home.run(&["collection", "new", "birds"]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("collection edit birds"), "{}", again.err);
    for (arguments, words) in [
        (vec!["collection", "new", "lock"], "choose another"),
        (vec!["collection", "new", "x", "http://"], "not a URL"),
        (
            vec!["collection", "new", "x", "--order", "nearest"],
            "--order",
        ),
    ] {
        let refused = home.run(&arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}");
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    let list = home.json(&["collection", "list", "--json"]);
    assert_eq!(list["collections"].as_array().unwrap().len(), 1);
    assert_eq!(list["collections"][0]["scope"], "domain");
    assert_eq!(list["collections"][0]["begun"], false);
    assert_eq!(
        home.good(&["collection", "show", "birds"]).trim_end(),
        text.trim_end()
    );
    let shown = home.json(&["collection", "show", "birds", "--json"]);
    assert_eq!(shown["politeness"]["delay"], "2s");
}

#[test]
fn the_list_says_when_the_next_run_begins() {
    let home = Home::new();
    home.good(&["collection", "new", "plain", "a.example"]);
    home.good(&["collection", "new", "news", "a.example"]);
    let set = ["--set", "mode=periodic", "--set", "schedule.every=1d"];
    let start = ["--set", "schedule.start=2999-11-15T01:00:00Z"];
    home.good(&[&["collection", "edit", "news"], &set[..], &start[..]].concat());
    let list = home.json(&["collection", "list", "--json"]);
    let news = &list["collections"][0];
    assert_eq!(news["schedule"], "every 1d");
    assert_eq!(news["next_run"], "2999-11-15T01:00:00Z");
    assert!(list["collections"][1]["schedule"].is_null(), "{list}");
    let told = home.good(&["collection", "list"]);
    let next = "periodic, not begun, every 1d, next run 2999-11-15T01:00:00Z";
    assert!(told.contains(next), "{told}");
}

#[test]
fn check_says_when_the_next_run_begins() {
    let home = Home::new();
    home.good(&["collection", "new", "news", "a.example"]);
    let last = |home: &Home| {
        let told = home.good(&["collection", "check", "news"]);
        told.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(
        last(&home),
        "No run begins by itself: it runs when you start it."
    );
    let set = |settings: &[&str]| {
        let mut all = vec!["collection", "edit", "news"];
        all.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        home.good(&all);
    };
    set(&[
        "mode=periodic",
        "schedule.every=1d",
        "schedule.start=2999-07-15T01:00",
        "schedule.time-zone=Europe/Lisbon",
    ]);
    let next = "The next run begins on 2999-07-15 at 01:00 (Europe/Lisbon), by `teia serve`.";
    assert_eq!(last(&home), next);
    let checked = home.json(&["collection", "check", "news", "--json"]);
    let words = checked["words"].as_array().unwrap();
    assert_eq!(words.last().unwrap(), next);
    set(&["schedule.start=2001-07-15T01:00"]);
    assert!(last(&home).starts_with("A run is due since 20"));
    set(&["schedule.end=2001-07-20T01:00"]);
    assert_eq!(
        last(&home),
        "Never again by itself: its end, 2001-07-20 at 01:00 (Europe/Lisbon), has passed."
    );
}

#[test]
fn what_a_deleted_collection_hid_is_listed_and_can_be_shown_again() {
    let home = Home::new();
    for name in ["birds", "other"] {
        home.good(&["collection", "new", name, "a.example"]);
    }
    let remove = ["remove", "--host", "private.example", "--collection"];
    home.good(&[&remove[..], &["birds"]].concat());
    home.good(&["collection", "remove", "birds", "--yes"]);
    let listed = home.good(&["remove", "--list", "--collection", "other"]);
    assert!(
        listed.contains("host\tprivate.example\tof a deleted collection"),
        "{listed}"
    );
    // It is guarded as every such list is.
    let kept = home.data().join("removed.kept");
    let good = std::fs::read(&kept).unwrap();
    std::fs::write(&kept, "check 0\n").unwrap();
    let copy = home.data().join("removed.kept.copy");
    std::fs::write(&copy, "check 0\n").unwrap();
    let refused = home.run(&["remove", "--list", "--collection", "other"]);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(
        refused.err.contains("`removed.kept.copy`"),
        "{}",
        refused.err
    );
    std::fs::write(&kept, good).unwrap();
    let shown = home.good(&[&remove[..], &["other", "--restore"]].concat());
    assert!(shown.contains("is shown again"), "{shown}");
    assert_eq!(
        home.good(&["remove", "--list", "--collection", "other"]),
        ""
    );
}

#[test]
fn a_file_that_is_no_utf_8_is_refused_with_its_line() {
    let home = Home::new();
    home.good(&["collection", "new", "birds", "a.example"]);
    let path = home.data().join("collections/birds.toml");
    std::fs::write(&path, b"seeds = [\"a.example\"]\n# caf\xe9\n").unwrap();
    let file = path.display().to_string();
    for arguments in [
        vec!["collection", "check", "birds"],
        vec!["collection", "check", "--file", &file],
        vec!["crawl", "--collection", "birds"],
        vec!["crawl", "a.example", "--config", &file, "--collection", "x"],
    ] {
        let refused = home.run(&arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.err);
        for word in ["line 2", "0xE9", "UTF-8"] {
            assert!(refused.err.contains(word), "{arguments:?}: {}", refused.err);
        }
    }
}

#[test]
fn check_says_what_would_happen_and_by_which_rule() {
    let home = Home::new();
    home.good(&[
        "collection",
        "new",
        "birds",
        "http://a.example/",
        "--exclude",
        "/private/",
        "--max-pages",
        "50",
        "--types",
        "text/html",
    ]);
    let said = home.good(&[
        "collection",
        "check",
        "birds",
        "--url",
        "http://a.example/page",
        "--url",
        "http://a.example/private/x",
        "--url",
        "http://b.example/",
        "--url",
        "http://",
    ]);
    for words in [
        "birds begins at 1 seed: http://a.example/.",
        "It stays on the hosts of the seeds",
        "/private/",
        "text/html",
        "A run ends after 50 documents",
        "then rests 1s",
        "reads each host's robots.txt first",
        "a catalog in SQL",
        "http://a.example/page\n  in: scope host a.example",
        "http://a.example/private/x\n  out: exclude /private/",
        "http://b.example/\n  out: scope host",
        "http://\n  no URL:",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let json = home.json(&[
        "collection",
        "check",
        "birds",
        "--json",
        "--url",
        "http://a.example/private/",
        "http://a.example/",
    ]);
    assert_eq!(json["urls"][0]["in_scope"], false);
    assert_eq!(json["urls"][0]["rule"], "exclude /private/");
    assert_eq!(
        json["urls"][1]["in_scope"], true,
        "typed without the option, too"
    );
    // A file with a mistake: line, reason, and what was meant.
    let wrong = home.write("wrong.toml", "seeds = []\n\n[filter]\nmax-dept = 3\n");
    let refused = home.run(&["collection", "check", "--file", &wrong]);
    assert_eq!(refused.code, Some(2));
    for words in ["wrong.toml", "line 4", "`max-depth`"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
}

#[test]
fn what_people_wrote_stays_whatever_changes_the_file() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--max-pages", "3"]));
    let path = home.data().join("collections/default.toml");
    let by_hand = format!("# Birds of the river.\n{}", file(&home, "default")).replace(
        "delay = \"0s\"",
        "# They asked for it.\ndelay = \"0s\" # in March",
    );
    std::fs::write(&path, &by_hand).unwrap();
    // By a setting.
    let said = home.good(&[
        "collection",
        "edit",
        "--set",
        "politeness.delay=5ms",
        "--set",
        "max-pages=9",
    ]);
    assert!(
        said.contains("- max-pages = 3\n") && said.contains("+ max-pages = 9"),
        "{said}"
    );
    let wanted = by_hand
        .replace("delay = \"0s\"", "delay = \"5ms\"")
        .replace("max-pages = 3", "max-pages = 9");
    assert_eq!(file(&home, "default"), wanted);
    // By a crawl with other options.
    home.good(&["crawl", "--max-pages", "5"]);
    assert_eq!(
        file(&home, "default"),
        wanted.replace("max-pages = 9", "max-pages = 5")
    );
    home.good(&["collection", "edit", "--unset", "max-pages"]);
    assert_eq!(
        file(&home, "default"),
        wanted.replace("max-pages = 9", "# max-pages = …    (unset)")
    );
    home.good(&["collection", "edit", "--set", "max-pages=9"]);
    assert_eq!(file(&home, "default"), wanted);
    // What makes no sense changes nothing.
    let before = file(&home, "default");
    for (set, words) in [
        ("politeness.dely=1s", "`delay`"),
        ("delay=soon", "not a duration"),
        ("delay", "KEY=VALUE"),
        ("normal-form.www=true", "--collection NAME"),
    ] {
        let refused = home.run(&["collection", "edit", "--set", set]);
        assert_eq!(refused.code, Some(2), "{set}: {}", refused.err);
        assert!(refused.err.contains(words), "{set}: {}", refused.err);
        assert_eq!(file(&home, "default"), before);
    }
}

#[test]
fn an_editor_changes_a_copy_that_is_taken_when_it_is_good() {
    let home = Home::new();
    home.good(&["collection", "new", "default", "example.org"]);
    let edit = |script: &str| {
        let editor = home.write("editor.sh", &format!("#!/bin/sh\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&editor, mode).unwrap();
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_teia"))
            .args(["collection", "edit", "--data"])
            .arg(home.data())
            .env("VISUAL", &editor)
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let before = file(&home, "default");
    assert_eq!(
        edit("sed -i 's/^retries = 4$/retries = 7/' \"$1\"").0,
        Some(0)
    );
    let after = before.replace("retries = 4\n", "retries = 7\n");
    assert_eq!(file(&home, "default"), after);
    let (code, said) = edit("sed -i 's/^retries = 7$/retries = 200/' \"$1\"");
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("what you wrote is in") && said.contains("from 0 to 100"),
        "{said}"
    );
    assert_eq!(file(&home, "default"), after);
    assert_eq!(edit("exit 3").0, Some(1));
    assert_eq!(file(&home, "default"), after);
}

#[test]
fn removed_a_collection_leaves_nothing_and_others_everything() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--max-pages", "5"]));
    home.good(&crawl(
        &home,
        &server,
        "0s",
        &["--max-pages", "5", "--collection", "other"],
    ));
    let refused = home.run(&["collection", "remove", "other"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    assert!(home.data().join("other/archive").exists());
    home.good(&["collection", "remove", "other", "--yes"]);
    for gone in ["other", "collections/other.toml"] {
        assert!(!home.data().join(gone).exists(), "{gone}");
    }
    let store = teia_catalog::Store::Sqlite(home.data().join("teia.db"));
    let mut reader = teia_catalog::Reader::open(&store).unwrap().unwrap();
    let names = reader
        .ask("SELECT name, documents > 0 FROM collections")
        .unwrap();
    assert_eq!(names, [[Some("default".to_owned()), Some("1".to_owned())]]);
    let again = home.run(&["collection", "remove", "other", "--yes"]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("default"), "{}", again.err);
    let left = home.json(&["status", "--json"]);
    assert_eq!(left["collections"].as_array().unwrap().len(), 1);
}

#[test]
fn settings_that_need_each_other_are_set_in_any_order() {
    let home = Home::new();
    home.good(&["collection", "new", "news", "http://news.test/"]);
    let (every, start) = ("schedule.every=1d", "schedule.start=2026-11-15T01:00");
    home.good(&["collection", "edit", "news", "--set", every, "--set", start]);
    let shown = home.good(&["collection", "show", "news"]);
    assert!(shown.contains("every = \"1d\""), "{shown}");
    let refused = home.run(&["collection", "edit", "news", "--unset", "schedule.start"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("write a `start`"), "{}", refused.err);
}
