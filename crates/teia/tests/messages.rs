//! What the program tells people to do can be done as it stands, and what it says has happened has.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use support::{Ended, Home, Plain, until};
use teia_engine::Directory;

const SOON: Duration = Duration::from_secs(20);

/// A site of a few pages.
fn site() -> Plain {
    let page = "<p>words <a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>";
    Plain::start(move |_| (200, page.to_owned()))
}

/// The commands that a text names between backticks.
fn commands(text: &str) -> Vec<String> {
    let marked = text.split('`').skip(1).step_by(2);
    marked
        .filter(|part| part.contains("teia "))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Copies a command into a shell, in the same directory, where no variable helps.
fn paste(home: &Home, command: &str) -> Ended {
    let output = Command::new("timeout")
        .args(["60", "sh", "-c", command])
        .current_dir(home.beside("."))
        .env_remove("TEIA_DATA")
        .output()
        .unwrap();
    Ended {
        code: output.status.code(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn check_says(ended: &Ended, code: i32, words: &[&str]) {
    let said = format!("{}{}", ended.text(), ended.err);
    assert_eq!(ended.code, Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for word in words {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
}

#[test]
fn a_command_that_a_message_names_runs_as_it_stands() {
    let site = site();
    let home = Home::new();
    // A name that a shell would take apart.
    let place = ["--data", "my data's", "--collection", "birds"];
    let url = site.url("/");
    let crawl = ["crawl", &url, "--delay", "0s", "--max-pages", "1"];
    let summary = home.good(&[&crawl[..], &place].concat());
    let resume = commands(&summary).pop().unwrap();
    check_says(&paste(&home, &resume), 0, &["Collection birds"]);

    let never = home.run(&[&["get", &site.url("/never?a=1&b=2")][..], &place].concat());
    let page = commands(&never.err).pop().unwrap();
    check_says(
        &paste(&home, &page),
        1,
        &["was never met", "`birds`", "a=1&b=2"],
    );

    let early = home.run(&[&["get", &url, "--at", "2001"][..], &place].concat());
    let first = commands(&early.err).pop().unwrap();
    check_says(&paste(&home, &first), 0, &["words"]);

    let idle = home.run(&["pause", "--data", "my data's", "birds"]);
    check_says(&idle, 2, &["nobody collects"]);
    let resume = commands(&idle.err).pop().unwrap();
    check_says(&paste(&home, &resume), 0, &["Collection birds"]);

    // From the one that runs: it is told of by name, wherever the question comes from.
    let running = home.start(&[&["crawl", &url, "--delay", "1s"][..], &place[..2]].concat());
    until("the collection", || {
        home.run(&["status", "default", "--data", "my data's"]).code == Some(0)
    });
    let busy = home.run(&[&crawl[..], &place].concat());
    check_says(&busy, 1, &["in use"]);
    let stop = commands(&busy.err).pop().unwrap();
    let paused = home.good(&["pause", "--data", "my data's"]);
    let resumed = paste(&home, &commands(&paused).pop().unwrap());
    check_says(&resumed, 0, &["default goes on"]);
    check_says(&paste(&home, &stop), 0, &["default has ended"]);
    assert_eq!(running.wait(SOON).code, Some(0));
}

#[test]
fn a_pause_that_was_left_names_the_command_that_lifts_it() {
    let site = site();
    let home = Home::new();
    let url = site.url("/");
    let place = ["--data", "else where"];
    let running = home.start(&[&["crawl", &url, "--delay", "500ms"][..], &place].concat());
    until("a request", || !site.paths().is_empty());
    home.good(&["pause", "--data", "else where"]);
    running.kill();
    let status = home.good(&["status", "--data", "else where"]);
    let running = home.start(&[&["crawl", &url, "--delay", "0s"][..], &place].concat());
    until("the note", || running.said().contains("was paused"));
    let named = commands(&running.said());
    assert_eq!(named, commands(&status), "{}", running.said());
    check_says(&paste(&home, &named[0]), 0, &["default goes on"]);
    assert_eq!(running.wait(SOON).code, Some(0));
}

#[test]
fn two_names_for_the_collection_are_refused_and_an_unknown_one_is_told_the_known() {
    let site = site();
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s", "--max-pages", "1"]);
    for command in ["resume", "status", "pause", "stop"] {
        let both = home.run(&[command, "other", "--collection", "default"]);
        check_says(&both, 2, &["two collections", "`other`", "`default`"]);
        let unknown = home.run(&[command, "--collection", "nope"]);
        check_says(&unknown, 2, &["no collection `nope`", "default"]);
    }
    check_says(
        &home.run(&["status", "default", "--collection", "default"]),
        0,
        &["default: "],
    );
}

#[test]
fn status_names_the_command_that_goes_on() {
    let site = site();
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s", "--max-pages", "1"]);
    let named = commands(&home.good(&["status"])).pop().unwrap();
    assert!(named.ends_with("teia resume default"), "{named}");
    home.good(&["resume", "--max-pages", "none", "--delay", "0s"]);
    assert_eq!(commands(&home.good(&["status"])), Vec::<String>::new());
}

#[test]
fn help_tells_what_is_meant_where_nothing_is_said() {
    let home = Home::new();
    for command in ["pause", "stop", "status"] {
        let help = home.good(&[command, "--help"]);
        assert!(help.contains("if not given"), "{help}");
        assert!(!help.contains("[default: default]"), "{help}");
    }
    assert!(
        home.good(&["stats", "--help"])
            .contains("[default: default]")
    );
    assert!(home.good(&["--help"]).contains("Exit codes"));
    assert!(
        home.good(&["crawl", "--help"])
            .contains("stay with the collection")
    );
}

#[test]
fn a_stop_that_is_not_over_says_so() {
    let asked = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&asked);
    let site = Plain::start(move |path| {
        if path == "/slow" {
            noted.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_secs(4));
        }
        (200, "<p>words".to_owned())
    });
    let home = Home::new();
    let running = home.start(&["crawl", &site.url("/slow"), "--delay", "0s"]);
    until("the slow page", || asked.load(Ordering::SeqCst));
    let stop = home.run(&["stop", "--wait", "200ms"]);
    check_says(
        &stop,
        1,
        &["has not ended within 200ms", &running.id().to_string()],
    );
    assert!(stop.out.is_empty(), "{}", stop.text());
    // And one that waits long enough tells of the end.
    assert!(home.good(&["stop"]).contains("has ended"));
    assert_eq!(running.wait(SOON).code, Some(0));
}

/// A disk that takes so long cannot be had; the process that would say so is played here.
#[test]
fn a_pause_that_is_not_on_disk_says_so() {
    let home = Home::new();
    let directory = Directory::create(home.data()).unwrap();
    let listener = UnixListener::bind(directory.control_socket()).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let reply = r#"{"collection": "default", "process": 1, "noted": false}"#;
            writeln!(stream, "{reply}").unwrap();
        }
    });
    let paused = home.run(&["pause"]);
    check_says(&paused, 1, &["not on disk yet", "teia pause default"]);
    assert!(paused.out.is_empty(), "{}", paused.text());
}

/// Much is read before the first request, the journal of earlier runs above all; a named pipe takes as
/// long as we like.
#[test]
fn a_signal_is_heard_while_a_run_begins() {
    let home = Home::new();
    let pipe = home.beside("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let settings = home.write("my.toml", &format!("[fetch]\nca-file = {pipe:?}\n"));
    let running = home.start(&["crawl", "example.org", "--config", &settings]);
    until("the socket", || home.data().join("control.sock").exists());
    running.signal(Signal::TERM);
    until("the answer", || running.said().contains("stopping"));
    running.signal(Signal::TERM);
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
}
