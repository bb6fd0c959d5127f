//! What a person sees on a real terminal: a pseudo-terminal of so many columns, driven by Python.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::process::Command;

use support::{Home, crawl};
use teia_testweb::{Listen, Server, WebConfig};

/// Runs a command on a terminal of as many columns as are said first, and prints what it wrote there.
const PTY: &str = r"
import fcntl, os, pty, struct, sys, termios
pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    # Called as the shell calls what it finds on the PATH: hints repeat the name, and a checkout's own
    # path may be as long as it likes.
    os.execv(sys.argv[2], ['teia'] + sys.argv[3:])
while True:
    try:
        data = os.read(master, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.flush()
sys.exit(code)
";

/// What `teia` writes on the terminal; `None` where there is no Python.
fn on_a_terminal(home: &Home, arguments: &[String], no_color: bool) -> Option<String> {
    on_columns(80, home, arguments, no_color)
}

fn on_columns(columns: usize, home: &Home, arguments: &[String], no_color: bool) -> Option<String> {
    let mut command = Command::new("timeout");
    command
        .args(["60", "python3", "-c", PTY])
        .args([&columns.to_string(), env!("CARGO_BIN_EXE_teia")])
        .args(arguments)
        .env("TEIA_DATA", home.data())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().unwrap();
    if output.status.code() == Some(127) {
        println!("SKIPPED a test on a terminal: there is no python3 here");
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    Some(text)
}

fn web() -> Server {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 40,
        missing: 1,
        redirects: 2,
        requisites: true,
        ..WebConfig::default()
    };
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

/// The lines as the terminal shows them: frames of the bar are lines too, escapes take no room.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // CSI: up to its final letter.
            for letter in letters.by_ref() {
                if letter.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            plain.push(letter);
        }
    }
    plain.split(['\r', '\n']).map(str::to_owned).collect()
}

#[track_caller]
fn assert_fits(text: &str) {
    assert_fits_in(80, text);
}

#[track_caller]
fn assert_fits_in(most: usize, text: &str) {
    for line in lines(text) {
        let columns = line.chars().count();
        assert!(columns <= most, "{columns} columns: {line:?}");
    }
}

#[test]
fn tables_fit_narrow_terminals_and_keep_their_numbers() {
    let (server, home) = (web(), Home::new());
    home.good(&crawl(&home, &server, "0s", &[]));
    for columns in [59, 50, 40, 32] {
        let Some(text) = on_columns(columns, &home, &["stats".to_owned()], false) else {
            return;
        };
        // The first line is a sentence; a terminal breaks those by itself.
        let tables: Vec<String> = lines(&text).split_off(1);
        assert_fits_in(columns, &tables.join("\n"));
        for part in ["code", "200", "404", "text/html", "pages", "h0.web", "pt"] {
            assert!(text.contains(part), "no {part:?} in {columns}: {text}");
        }
    }
}

#[test]
fn progress_and_summary_fit_a_terminal_of_80_columns() {
    let (server, home) = (web(), Home::new());
    let limits = ["--max-pages", "70", "--max-time", "50s"];
    let arguments = crawl(&home, &server, "30ms", &limits);
    let Some(text) = on_a_terminal(&home, &arguments, false) else {
        return;
    };
    assert_fits(&text);
    let frames = lines(&text);
    let frame = frames
        .iter()
        .rfind(|line| line.contains(" left"))
        .unwrap_or_else(|| panic!("no time left in {text:?}"));
    for part in ["default [", "#", "%", "pages", "/s", "error"] {
        assert!(frame.contains(part), "no {part:?} in {frame:?}");
    }
    assert!(text.contains("\u{1b}[1m"), "no colours: {text:?}");
    // The summary is all there, on the same terminal.
    for part in [
        "Collection default",
        "outcome",
        "meaning",
        "200",
        "text/html",
        "h0.web.test",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let stats = on_a_terminal(&home, &["stats".to_owned()], false).unwrap();
    assert_fits(&stats);
}

#[test]
fn without_colour_there_is_none() {
    let (server, home) = (web(), Home::new());
    let arguments = crawl(&home, &server, "10ms", &["--max-pages", "30"]);
    let Some(text) = on_a_terminal(&home, &arguments, true) else {
        return;
    };
    assert_fits(&text);
    assert!(lines(&text).iter().any(|line| line.contains("default [")));
    // Escapes that end in `m` are colours; the others move the cursor.
    for escape in text.split('\u{1b}').skip(1) {
        let end = escape.find(|letter: char| letter.is_ascii_alphabetic());
        assert_ne!(&escape[end.unwrap()..=end.unwrap()], "m", "{text:?}");
    }
}

#[test]
fn a_log_in_a_pipe_has_no_colours() {
    let (server, home) = (web(), Home::new());
    let arguments = crawl(&home, &server, "0s", &["--max-pages", "10"]);
    let ended = home
        .start_logged(&arguments, "debug")
        .wait(std::time::Duration::from_secs(60));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("DEBUG"), "{}", ended.err);
    assert!(!ended.err.contains('\u{1b}'), "{}", ended.err);
}

#[test]
fn the_demo_names_its_temporary_directory() {
    let home = Home::new();
    let ended = home.run(&["demo", "--no-serve"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let text = ended.text();
    let last = text.lines().last().unwrap();
    let folder = last.rsplit("rm -r ").next().unwrap();
    assert!(folder.contains("teia-demo-"), "{last}");
    std::fs::remove_dir_all(folder).unwrap();
}
