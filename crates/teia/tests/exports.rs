//! What comes out: exports that overwrite nothing, numbers with names, pipes that are closed early.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::io::Read;
use std::process::{Command, Stdio};

use support::{Home, Plain};

/// A site with a page in Portuguese, one that does not say, one that is not there.
fn collected() -> (Plain, Home) {
    let site = Plain::start(|path| match path {
        "/" => (
            200,
            "<html lang=pt><p>palavras <a href=/plain>a</a> <a href=/gone>b</a>".to_owned(),
        ),
        "/plain" => (200, "<p>words".to_owned()),
        _ => (404, "<html lang=en><p>nothing here".to_owned()),
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    (site, home)
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_export_overwrites_nothing_unless_told_to() {
    let (_site, home) = collected();
    let folder = home.beside("out");
    std::fs::create_dir(&folder).unwrap();
    for (what, begin) in [("urls", "url\tstate"), ("cdxj", ""), ("warc", "")] {
        let file = folder.join(what);
        let path = file.to_str().unwrap();
        std::fs::write(&file, "years of work").unwrap();
        let ended = home.run(&["export", what, "-o", path]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains("--force"), "{}", ended.err);
        assert_eq!(std::fs::read(&file).unwrap(), b"years of work");
        let said = home.good(&["export", what, "-o", path, "--force"]);
        assert!(said.contains(path), "{said}");
        let written = std::fs::read(&file).unwrap();
        assert!(written.starts_with(begin.as_bytes()) && written != b"years of work");
    }
    assert_eq!(
        names(&folder),
        ["cdxj", "urls", "warc"],
        "something is left"
    );
    // A pipe has nothing to lose, and - is standard output.
    let direct = home.good(&["export", "urls"]);
    assert_eq!(home.good(&["export", "urls", "-o", "-"]), direct);
    home.good(&["export", "urls", "-o", "/dev/null"]);
    let ended = home.run(&["export", "urls", "-o", folder.to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let ended = home.run(&["export", "files", "-o", folder.to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert_eq!(names(&folder), ["cdxj", "urls", "warc"]);
    let nowhere = ["export", "urls", "-o", "no/where.tsv"];
    let ended = home.run(&nowhere);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.err.contains("cannot write no/where.tsv:"),
        "{}",
        ended.err
    );
}

#[test]
fn files_are_of_pages_that_were_found() {
    let (_site, home) = collected();
    let bodies = |options: &[&str]| {
        let folder = home.beside(&format!("files{}", options.len()));
        let place = ["export", "files", "-o", folder.to_str().unwrap()];
        let ended = home.run(&[&place[..], options].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let found = Command::new("grep")
            .args(["-rhoE", "palavras|words|nothing here"])
            .arg(&folder)
            .output()
            .unwrap();
        let mut found: Vec<String> = String::from_utf8(found.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        found.sort();
        found.dedup();
        (found.join(" "), ended.err)
    };
    let (found, said) = bodies(&[]);
    assert_eq!(found, "palavras words");
    // The page that is not there, and robots.txt.
    assert!(said.contains("2 captures left out"), "{said}");
    assert!(said.contains("--any-status"), "{said}");
    let (found, said) = bodies(&["--any-status"]);
    assert_eq!(found, "nothing here palavras words");
    assert!(!said.contains("left out"), "{said}");
}

#[test]
fn stats_tell_languages_and_name_the_times() {
    let (_site, home) = collected();
    let told = home.json(&["stats", "--json"]);
    let languages = serde_json::json!({ "pt": 1, "unknown": 1 });
    assert_eq!(told["languages"], languages, "{told}");
    let times = &told["runs"][0]["stats"]["times"];
    for name in ["dns", "connect", "tls", "first_byte", "body"] {
        assert!(times[name].is_f64(), "{name}: {times}");
    }
    let text = home.good(&["stats"]);
    let table: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("declared language"))
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(table.len(), 3, "{text}");
    assert!(table[1].starts_with("pt ") && table[2].starts_with("unknown "));
    // The tables of `--tables` count documents, this one what was tried.
    let outcomes = text.lines().find(|line| line.contains("outcome"));
    assert!(
        outcomes.is_some_and(|line| line.contains("attempts")),
        "{text}"
    );
    for part in ["size", "received", "archive", "growth"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn check_scope_tells_an_error_as_an_error() {
    let lines = Home::new().json_lines(
        &[
            "check",
            "scope",
            "--seed",
            "a.example",
            "http://",
            "http://a.example/x",
        ],
        "",
    );
    let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["error", "url"], "{}", lines[0]);
    assert_eq!(lines[1]["in_scope"], true);
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    let (site, home) = collected();
    for arguments in [
        &["stats"][..],
        &["stats", "--json"],
        &["status"],
        &["page", &site.url("/")],
        &["get", &site.url("/")],
        &["export", "urls"],
        &["export", "warc"],
        &["export", "cdxj"],
        &["config"],
        &["check", "url", "http://a.example/"],
        &["--help"],
        &["crawl", "--help"],
        &["crawl", &site.url("/"), "--delay", "0s"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_teia"))
            .args(arguments)
            .env("TEIA_DATA", home.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}
