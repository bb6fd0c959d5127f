//! Settings and options that make no sense are refused at the start, with what to write instead; and
//! no file is a place for a secret.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::process::Command;

use support::{Home, Plain};

/// Runs a command that must be refused with all these words, and must leave no data directory.
#[track_caller]
fn refused(home: &Home, arguments: &[&str], words: &[&str]) {
    let ended = home.run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
    for word in words {
        let says = ended.err.contains(word);
        assert!(says, "{arguments:?}: no {word:?} in {}", ended.err);
    }
    assert!(!home.data().exists(), "{arguments:?} made the directory");
}

#[test]
fn a_senseless_setting_is_refused_with_file_line_and_what_to_write() {
    let home = Home::new();
    for (settings, words) in [
        ("[extract]\ncpu = \"0s\"\n", ["line 2", "`cpu`", "\"1ms\""]),
        (
            "[extract]\nlinks-per-page = 0\n",
            ["line 2", "`links-per-page`", "from 1 to"],
        ),
        (
            "[archive.warc]\n\nlevel = 99\n",
            ["line 3", "`level`", "from 1 to 12"],
        ),
        ("[run]\nretries = 255\n", ["line 2", "`retries`", "to 100"]),
        (
            "[filter]\nlanguages = [\"p t\"]\n",
            ["line 2", "`p t`", "`pt`"],
        ),
        (
            "[filter]\nexclude = [\"/a(\"]\n",
            ["line 2", "`/a(`", "unclosed group"],
        ),
        (
            "[politeness]\ndelay = 1\n",
            ["line 2", "without its unit", "write `1s`"],
        ),
        (
            "[politeness]\ndelay = \"1\"\n",
            ["line 2", "without its unit", "write `1s`"],
        ),
        (
            "[schedule]\nevery = \"1d\"\n",
            ["line 2", "[schedule]", "write a `start`"],
        ),
        (
            "[schedule]\nwindow = \"at night\"\n",
            ["line 2", "says no hours", "01:00-06:00"],
        ),
        (
            "[schedule]\nevry = \"1d\"\n",
            ["line 2", "no setting `evry`", "`every`"],
        ),
        ("mode = \"twice\"\n", ["line 1", "no mode", "`once`"]),
        (
            "[run]\nretries = \"four\"\n",
            ["line 2", "expected", "a whole number"],
        ),
    ] {
        let file = home.write("my.toml", settings);
        let arguments = ["crawl", "example.org", "--config", &file];
        refused(&home, &arguments, &[&["my.toml"][..], &words].concat());
    }
}

#[test]
fn a_senseless_option_is_refused_with_what_to_write() {
    let home = Home::new();
    for (option, value, words) in [
        ("--lang", "p t", ["--lang", "`p t`", "`pt`"]),
        ("--lang", "zzzzzz", ["--lang", "`zzzzzz`", "`pt`"]),
        ("--lang", "pt,zz", ["--lang", "`zz`", "`pt`"]),
        ("--lang", "pt_BR", ["--lang", "`pt_BR`", "`pt-BR`"]),
        ("--include", "(", ["include", "`(`", "unclosed group"]),
        ("--delay", "1", ["--delay", "without its unit", "`1s`"]),
        ("--delay", "99d", ["delay", "99d", "\"7d\""]),
        ("--max-size", "0", ["--max-size", "0", "16MB"]),
        (
            "--max-pages",
            "18446744073709551615",
            ["max-pages", "number", "none"],
        ),
        ("--resolve", "x", ["resolve", "`x`", "HOST=IP"]),
        ("--contact", "", ["contact", "URL", "mail address"]),
        ("--retries", "-1", ["--retries", "-1", "from 0 to 100"]),
        (
            "--max-pages",
            "1k",
            ["--max-pages", "a whole number", "`none`"],
        ),
        ("--bandwidth", "0", ["--bandwidth", "2MB/s", "`none`"]),
    ] {
        refused(&home, &["crawl", "example.org", option, value], &words);
    }
}

#[test]
fn a_seed_that_cannot_be_collected_is_not_told_to_be_written_otherwise() {
    let home = Home::new();
    refused(
        &home,
        &["crawl", "/etc/hosts"],
        &["looks like a file", "--seeds"],
    );
    for seed in ["ftp://a.example/", "file:///etc/hosts"] {
        refused(
            &home,
            &["crawl", seed],
            &["not built yet", "http and https"],
        );
    }
    let seeds = home.write("seeds.txt", "a.example\nftp://a.example/\n");
    let arguments = ["crawl", "--seeds", &seeds];
    refused(&home, &arguments, &["line 2", "not built yet"]);
    refused(&home, &["check", "lang", "nowhere.txt"], &["nowhere.txt"]);
}

#[test]
fn a_collection_file_that_was_edited_badly_is_refused_with_its_line() {
    let site = Plain::start(|_| (200, "<p>words".to_owned()));
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let file = home.data().join("collections/default.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text.lines().position(|line| line == "level = 1").unwrap() + 1;
    std::fs::write(&file, text.replace("\nlevel = 1\n", "\nlevel = 99\n")).unwrap();
    let ended = home.run(&["resume"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    for word in ["default.toml", &format!("line {line}:"), "from 1 to 12"] {
        assert!(ended.err.contains(word), "no {word:?} in {}", ended.err);
    }
}

#[test]
fn a_name_that_the_data_directory_needs_is_refused_with_the_reason() {
    let home = Home::new();
    for name in [
        "lock",
        "format",
        "collections",
        "Lock",
        "teia.db",
        "control.sock",
    ] {
        let arguments = ["crawl", "example.org", "--collection", name];
        refused(&home, &arguments, &[name, "of its own"]);
    }
    let arguments = ["crawl", "example.org", "--collection", "two words"];
    refused(&home, &arguments, &["two words", "letters"]);
}

#[test]
fn a_file_in_place_of_the_data_directory_is_called_a_file() {
    let home = Home::new();
    let file = home.write("notes.txt", "notes");
    for command in [&["crawl", "example.org"][..], &["status"], &["resume"]] {
        let arguments = [command, &["--data", &file]].concat();
        refused(&home, &arguments, &["notes.txt is a file", "--data"]);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "notes");
}

#[test]
fn an_older_layout_is_called_older() {
    for (format, word) in [
        (
            "teia-data 0\nnormal-form 1\nkey 0123456789abcdef\n",
            "older",
        ),
        (
            "teia-data 9\nnormal-form 0\nkey 0123456789abcdef\n",
            "newer",
        ),
        (
            "teia-data x\nnormal-form 1\nkey 0123456789abcdef\n",
            "not a Teia",
        ),
    ] {
        let home = Home::new();
        std::fs::create_dir(home.data()).unwrap();
        std::fs::write(home.data().join("format"), format).unwrap();
        let ended = home.run(&["status"]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(word), "{}", ended.err);
    }
}

/// The login as a proxy is told it.
const LOGIN: &str = "Proxy-Authorization: Basic YW5uOnNlY3JldHB3"; // ann:secretpw

#[test]
fn a_proxys_password_is_in_no_file_and_comes_from_the_environment() {
    let proxy = Plain::start(|_| (200, "<p>words <a href=/next>next</a>".to_owned()));
    let home = Home::new();
    let told = || {
        let heads = proxy.heads();
        let with = heads.iter().filter(|head| head.contains(LOGIN)).count();
        (with, heads.len())
    };
    let kept = || {
        let found = Command::new("grep")
            .args(["-rl", "secretpw"])
            .arg(home.data())
            .output()
            .unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    // Typed: it counts for this run, and is kept nowhere.
    let typed = format!("http://ann:secretpw@{}", proxy.addr);
    let crawl = [
        "crawl",
        "http://a.example/",
        "--delay",
        "0s",
        "--max-pages",
        "1",
    ];
    let ended = home.run(&[&crawl[..], &["--proxy", &typed]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("TEIA_PROXY_PASSWORD"), "{}", ended.err);
    assert!(!ended.err.contains("secretpw"), "{}", ended.err);
    let (with, all) = told();
    assert!(all > 0 && with == all, "{:?}", proxy.heads());
    assert_eq!(kept(), "");
    let stored = std::fs::read_to_string(home.data().join("collections/default.toml")).unwrap();
    let bare = format!("proxy = \"http://ann@{}\"", proxy.addr);
    assert!(stored.contains(&bare), "{stored}");

    // From the environment.
    let ended = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_teia"), "resume", "--delay", "0s"])
        .env("TEIA_DATA", home.data())
        .env("TEIA_PROXY_PASSWORD", "secretpw")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let (again, more) = told();
    assert!(more > all && again == more, "{:?}", proxy.heads());
    assert_eq!(kept(), "");

    // In a file it is refused, and not repeated.
    let file = home.write("my.toml", &format!("[fetch]\nproxy = \"{typed}\"\n"));
    let ended = home.run(&["crawl", "http://a.example/", "--config", &file]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("TEIA_PROXY_PASSWORD"), "{}", ended.err);
    assert!(!ended.err.contains("secretpw"), "{}", ended.err);
}
