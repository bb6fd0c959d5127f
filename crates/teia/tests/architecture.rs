//! The documents tell the truth: what ARCHITECTURE.md and README.md name exists.
//!
//! Looked at in ARCHITECTURE.md, each where it stands in backticks within a sentence (not in a drawing):
//!
//! ```text
//! crates/fetch/src/pool.rs  tools/  Cargo.toml  ./dev     is there; a * or NAME ends what is looked for
//! host_queue.rs                                           some crate has a file of that name
//! HostQueue  frontier::Lease  Lease::settle               some crate defines the type, and the function
//! ```
//!
//! Looked at in README.md: each `teia WORD` in a code block, which must be a command of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders at the root of the workspace whose paths are looked for.
const FOLDERS: [&str; 4] = ["crates/", "tools/", ".ci/", "docs/"];
/// Crates that are not ours; what is named with them is not looked for.
const FOREIGN: [&str; 8] = [
    "std", "core", "alloc", "tokio", "hyper", "rustls", "url", "serde",
];
/// Types of others that a sentence may name alone.
const FOREIGN_TYPES: [&str; 5] = ["HashMap", "HashSet", "BTreeMap", "PathBuf", "SystemTime"];

#[test]
fn all_that_the_architecture_names_exists() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let missing = missing_in_architecture(&text, &root(), &Code::of(&root()));
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md names what is not there:\n  {}",
        missing.join("\n  ")
    );
}

#[test]
fn every_command_of_the_readme_exists() {
    let help = Command::new(env!("CARGO_BIN_EXE_teia"))
        .arg("help")
        .output()
        .expect("teia help starts");
    let known = commands_of_help(&String::from_utf8_lossy(&help.stdout));
    assert!(!known.is_empty(), "teia help lists no commands");
    let missing: Vec<String> = commands_of_readme(&read(&root().join("README.md")))
        .into_iter()
        .filter(|command| !known.contains(command))
        .collect();
    assert!(
        missing.is_empty(),
        "README.md names commands that teia has not: {missing:?}"
    );
}

#[test]
fn what_does_not_exist_is_noticed() {
    let code = Code {
        types: ["HostQueue", "Lease"].map(str::to_owned).into(),
        functions: ["settle"].map(str::to_owned).into(),
        files: ["lease.rs"].map(str::to_owned).into(),
    };
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(
            missing_in_architecture(text, &root(), &code),
            expected,
            "{text}"
        );
    };
    check(
        "See `crates/teia/src`, `crates/*/src/` and `Cargo.toml`.",
        &[],
    );
    check(
        "See `crates/attic/src`, `attic.toml`.",
        &["crates/attic/src", "attic.toml"],
    );
    check("`tools/bench_NAME.*` and `collections/NAME.toml`", &[]);
    check("`lease.rs` is there, `attic.rs` is not", &["attic.rs"]);
    check(
        "`HostQueue`, `frontier::Lease`, `Lease::settle()`, `Vec<HostQueue>`",
        &[],
    );
    check(
        "`HostAttic` and ``frontier::Attic``",
        &["HostAttic", "Attic"],
    );
    check("`Attic::open`, `Lease::open`", &["Attic", "open"]);
    check("`std::net::TcpStream`, `HashMap`, `WARC`, `offer`", &[]);
    check(
        "```text\n`crates/attic`\n```\nand `crates/attic`",
        &["crates/attic"],
    );
    check("a file, `crates/attic/lib.rs:12`", &["crates/attic/lib.rs"]);
}

#[test]
fn commands_are_found_in_code_blocks_only() {
    let text = "`teia outside`\n```sh\n$ cargo run --release -- demo\nteia crawl https://a.example | teia urls add -\n\
                RUST_LOG=debug target/release/teia page URL   # teia comment\nteia --help\n```\nteia afterwards\n";
    let commands: Vec<String> = commands_of_readme(text).into_iter().collect();
    assert_eq!(commands, ["crawl", "demo", "page", "urls"]);
    let help = "Collects.\n\nUsage: teia COMMAND\n\nCommands:\n  demo   A small web\n  crawl  Collect\n             and more\n\nOptions:\n  -h  Help\n";
    let known: Vec<String> = commands_of_help(help).into_iter().collect();
    assert_eq!(known, ["crawl", "demo"]);
}

/// What the sources of the workspace define.
struct Code {
    types: BTreeSet<String>,
    functions: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl Code {
    fn of(root: &Path) -> Self {
        let mut code = Self {
            types: BTreeSet::new(),
            functions: BTreeSet::new(),
            files: BTreeSet::new(),
        };
        for path in rust_files(&root.join("crates")) {
            code.files.extend(
                path.file_name()
                    .map(|name| name.to_string_lossy().into_owned()),
            );
            code.read(&read(&path));
        }
        code
    }

    /// Notes each word that follows `struct`, `fn` and their like, comments apart.
    fn read(&mut self, text: &str) {
        for line in text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            let mut before = "";
            for word in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                match before {
                    "struct" | "enum" | "trait" | "type" | "union" => {
                        self.types.insert(word.to_owned());
                    }
                    "fn" => {
                        self.functions.insert(word.to_owned());
                    }
                    _ => {}
                }
                before = word;
            }
        }
    }
}

fn missing_in_architecture(text: &str, root: &Path, code: &Code) -> Vec<String> {
    let mut missing = Vec::new();
    for span in code_spans(text) {
        if let Some(path) = as_path(&span) {
            if !path.is_empty() && !root.join(&path).exists() {
                missing.push(path);
            }
        } else if span.ends_with(".rs") && !span.contains(['/', ' ', '*']) {
            if !code.files.contains(&span) {
                missing.push(span);
            }
        } else {
            missing.extend(missing_names(&span, code));
        }
    }
    missing
}

/// The text of each pair of backticks outside fenced blocks.
fn code_spans(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut spans = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let line = line.replace("``", "`");
            spans.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    spans
}

/// The part of a span to look for when it is a path of this workspace; empty when only a placeholder is left.
fn as_path(span: &str) -> Option<String> {
    let span = span.strip_prefix("./").unwrap_or(span);
    let span = span.split(' ').next()?;
    let in_folder = FOLDERS.iter().any(|folder| span.starts_with(folder));
    let at_root = !span.contains('/')
        && (matches!(span, "dev" | "LICENSE")
            || [".md", ".toml", ".lock"]
                .iter()
                .any(|end| span.ends_with(end)));
    if !in_folder && !at_root {
        return None;
    }
    // What a placeholder stands for may be anything; the folder before it must exist.
    let fixed = ["*", "{", "<", "NAME", "…"]
        .iter()
        .filter_map(|mark| span.find(mark))
        .min()
        .map_or(span, |at| {
            span[..at].rsplit_once('/').map_or("", |(folder, _)| folder)
        });
    // A line number may follow.
    Some(fixed.split(':').next()?.to_owned())
}

/// The types and functions that a span such as `frontier::Lease::settle()` names and no crate defines.
fn missing_names(span: &str, code: &Code) -> Vec<String> {
    let mut missing = Vec::new();
    for path in span.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        let parts: Vec<&str> = path.split("::").collect();
        if FOREIGN.contains(&parts[0]) {
            continue;
        }
        let Some(at) = parts.iter().position(|part| is_camel_case(part)) else {
            continue;
        };
        let name = parts[at];
        let alone = parts.len() == 1;
        if alone && (humps(name) < 2 || FOREIGN_TYPES.contains(&name)) {
            continue;
        }
        if !code.types.contains(name) {
            missing.push(name.to_owned());
        } else if let Some(function) = parts.get(at + 1) {
            let is_function = function.starts_with(|c: char| c.is_lowercase());
            if is_function && !code.functions.contains(*function) {
                missing.push((*function).to_owned());
            }
        }
    }
    missing
}

fn is_camel_case(word: &str) -> bool {
    word.starts_with(|c: char| c.is_uppercase())
        && word.contains(|c: char| c.is_lowercase())
        && !word.contains('_')
}

/// How many capitals begin a part of the word.
fn humps(word: &str) -> usize {
    word.chars()
        .zip(word.chars().skip(1))
        .filter(|(here, next)| here.is_uppercase() && next.is_lowercase())
        .count()
}

/// The command after each `teia`, or after `cargo run … --`, in the fenced blocks of a text.
fn commands_of_readme(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut commands = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if !fenced {
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default();
        for call in line.split(['|', ';', '&']) {
            let words: Vec<&str> = call.split_whitespace().collect();
            let program = words
                .iter()
                .position(|word| *word == "teia" || word.ends_with("/teia"))
                .or_else(|| {
                    (words.contains(&"cargo") && words.contains(&"run"))
                        .then(|| words.iter().position(|word| *word == "--"))?
                });
            let command = program.and_then(|at| words.get(at + 1));
            commands.extend(
                command
                    .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
                    .filter(|word| !word.starts_with('-'))
                    .map(|word| (*word).to_owned()),
            );
        }
    }
    commands
}

/// The first word of each line of the part `Commands:`.
fn commands_of_help(help: &str) -> BTreeSet<String> {
    help.lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("a folder of the workspace can be read");
        for entry in entries {
            let path = entry.expect("a folder of the workspace can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files
}

#[track_caller]
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
