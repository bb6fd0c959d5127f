//! What the outside tests share: the real program in a data directory of its own, and what it left there.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

pub(crate) mod browser;
mod plain;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use teia_archive::{Captures, CdxEntry};
use teia_base::Protocol;
use teia_base::journal::{Attempt, Next, Record};
use teia_engine::{Directory, Reading};
use teia_testweb::{Asked, Entry, RequestLog, Server, Web};
use tempfile::TempDir;

#[allow(unused_imports, reason = "only some test files need it")]
pub(crate) use plain::Plain;

/// No command of a test takes longer, unless it is broken.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A directory for one test: the data, and beside it whatever the test needs.
#[derive(Debug)]
pub(crate) struct Home {
    folder: TempDir,
    data: PathBuf,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

/// A command that runs; it is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        Self { folder, data }
    }

    /// The same, with the data elsewhere.
    pub(crate) fn with_data(data: PathBuf) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            data,
        }
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// A path beside the data.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The output of a command that is fed this on standard input, line by line as JSON.
    #[track_caller]
    pub(crate) fn json_lines<S: AsRef<str>>(&self, arguments: &[S], input: &str) -> Vec<Value> {
        let ended = self.start_with(arguments, input.as_bytes()).wait(LIMIT);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Writes a file beside the data.
    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        let path = self.beside(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Starts `teia` here with these arguments.
    pub(crate) fn start<S: AsRef<str>>(&self, arguments: &[S]) -> Running {
        self.start_with(arguments, b"")
    }

    /// The same, with a log on standard error.
    pub(crate) fn start_logged<S: AsRef<str>>(&self, arguments: &[S], filter: &str) -> Running {
        self.start_as(&[], arguments, b"", Some(filter))
    }

    /// The same below another program, which limits what it gets.
    pub(crate) fn start_under<S: AsRef<str>>(&self, before: &[&str], arguments: &[S]) -> Running {
        self.start_as(before, arguments, b"", None)
    }

    /// The same, with something on standard input.
    pub(crate) fn start_with<S: AsRef<str>>(&self, arguments: &[S], input: &[u8]) -> Running {
        self.start_as(&[], arguments, input, None)
    }

    fn start_as<S: AsRef<str>>(
        &self,
        before: &[&str],
        arguments: &[S],
        input: &[u8],
        log: Option<&str>,
    ) -> Running {
        // Output goes into files: no pipe can fill, and what a killed process said is still there.
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let (out, err) = (
            self.beside(&format!("{number}.out")),
            self.beside(&format!("{number}.err")),
        );
        let mut words = before.to_vec();
        words.push(env!("CARGO_BIN_EXE_teia"));
        words.extend(arguments.iter().map(AsRef::as_ref));
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .current_dir(self.folder.path())
            .env("TEIA_DATA", &self.data)
            .env_remove("TEIA_LOG")
            .envs(log.map(|filter| ("TEIA_LOG", filter)))
            .stdin(Stdio::piped())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        // A command that does not read its input closes it, and that is its right.
        let _ = child.stdin.take().unwrap().write_all(input);
        Running { child, out, err }
    }

    /// Runs `teia` here to its end.
    pub(crate) fn run<S: AsRef<str>>(&self, arguments: &[S]) -> Ended {
        self.start(arguments).wait(LIMIT)
    }

    /// Runs `teia` here, which must end well; its output.
    #[track_caller]
    pub(crate) fn good<S: AsRef<str>>(&self, arguments: &[S]) -> String {
        let ended = self.run(arguments);
        assert_eq!(
            ended.code,
            Some(0),
            "{:?}: {}",
            arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            ended.err
        );
        ended.text()
    }

    /// Runs `teia` here, which must end well and print one JSON value.
    #[track_caller]
    pub(crate) fn json<S: AsRef<str>>(&self, arguments: &[S]) -> Value {
        serde_json::from_str(&self.good(arguments)).unwrap()
    }

    /// The collection as it lies there, read without the program.
    pub(crate) fn reading(&self) -> Reading {
        Reading::open(&Directory::open(&self.data).unwrap(), "default").unwrap()
    }

    /// Every attempt in the journal.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        let read = self.reading().entries(|entry| {
            if let Record::Commit(commit) = entry.record {
                attempts.extend(commit.attempts);
            }
        });
        read.unwrap();
        attempts
    }

    pub(crate) fn captures(&self) -> Captures {
        let reading = self.reading();
        Captures::open(reading.files(), &reading.layout().archive()).unwrap()
    }

    /// Every capture in the archive.
    pub(crate) fn all_captures(&self) -> Vec<CdxEntry> {
        self.captures().all().unwrap().map(Result::unwrap).collect()
    }

    /// The one collection's row of `teia status --json`.
    pub(crate) fn status(&self) -> Value {
        self.json(&["status", "--json"])["collections"][0].clone()
    }
}

impl Ended {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far on standard error.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap()
    }

    /// What it has said so far on standard output.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.out).unwrap()).into_owned()
    }

    /// Where a server says that it listens, without the slash at the end.
    #[track_caller]
    pub(crate) fn address(&self) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let printed = self.printed();
            if let Some(at) = printed.find("http://").filter(|_| printed.ends_with('\n')) {
                let address = printed[at..].split_whitespace().next().unwrap();
                return address.trim_end_matches('/').to_owned();
            }
            assert!(Instant::now() < until, "{printed} {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits so long; whether it has ended by then.
    pub(crate) fn ends_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + time;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            std::thread::sleep(left.min(Duration::from_millis(3)));
        }
    }

    /// Waits for the end, and breaks the test when it does not come.
    #[track_caller]
    pub(crate) fn wait(mut self, most: Duration) -> Ended {
        let Some(status) = self.ends_within(most) else {
            let said = self.said();
            panic!("still running after {most:?}; it said: {said}");
        };
        let out = std::fs::read(&self.out).unwrap();
        let err = self.said();
        Ended {
            code: status.code(),
            out,
            err,
        }
    }

    /// Ends it as a power cut would, from the view of the process.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Options of a crawl over all hosts of the web, with names mapped to its port.
pub(crate) fn over_the_web(server: &Server, delay: &str) -> Vec<String> {
    let resolve = format!("*.test={}", server.addr());
    [
        "--resolve",
        resolve.as_str(),
        "--scope",
        "suffix:.web.test",
        "--delay",
        delay,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Settings that no option has: short waits between tries, no guessing at alias hosts.
pub(crate) const PATIENT: &str = "[politeness]\nretry-wait = \"20ms\"\n[robots]\nfirst-retry = \"20ms\"\n[run]\nalias-pages = 0\n";

/// The arguments of one `teia crawl` from the front page of host 0.
pub(crate) fn crawl(home: &Home, server: &Server, delay: &str, more: &[&str]) -> Vec<String> {
    crawl_with(home, server, delay, PATIENT, more)
}

/// The same, with other settings.
pub(crate) fn crawl_with(
    home: &Home,
    server: &Server,
    delay: &str,
    settings: &str,
    more: &[&str],
) -> Vec<String> {
    // The web has pages with session ids that are the same again and again, and its truth counts them.
    let mut settings = settings.to_owned();
    if !settings.contains("[traps]") {
        settings.push_str("\n[traps]\nenabled = false\n");
    }
    let mut arguments = vec!["crawl".to_owned(), server.web().front(0)];
    arguments.extend(over_the_web(server, delay));
    arguments.extend([
        "--config".to_owned(),
        home.write("settings.toml", &settings),
    ]);
    arguments.extend(more.iter().map(|&word| word.to_owned()));
    arguments
}

/// Waits until the condition holds, for some seconds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let by = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < by, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Requests for each URL, robots.txt apart.
pub(crate) fn requested(log: &RequestLog) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in log.entries.iter().filter(|entry| !entry.is_robots()) {
        *counts.entry(entry.url.clone()).or_default() += 1;
    }
    counts
}

/// Whether a request was answered for good: a flaky page's first answers are not.
pub(crate) fn is_final(entry: &Entry) -> bool {
    entry.status != 503 && entry.status != 0
}

/// Attempts that `--max-pages` counts: answered, for good, robots.txt apart.
pub(crate) fn answered(attempts: &[Attempt]) -> impl Iterator<Item = &Attempt> {
    attempts.iter().filter(|attempt| {
        !attempt.is_robots()
            && attempt.protocol != Protocol::None
            && !matches!(attempt.next, Next::RetryAt(_) | Next::Waiting)
    })
}

pub(crate) fn owned<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// The body that the web serves at a URL, to a patient client that takes no compression.
pub(crate) fn body(web: &Web, url: &str) -> Vec<u8> {
    let (host, _) = web.locate(url).unwrap();
    let rest = &url["http://".len()..];
    let asked = Asked {
        earlier: u32::MAX,
        chunks: false,
        ..Asked::default()
    };
    web.answer(host, &rest[rest.find('/').unwrap()..], &asked)
        .body()
}

/// Two sets are the same; else some of what differs is shown.
#[track_caller]
pub(crate) fn assert_same(what: &str, got: &BTreeSet<String>, want: &BTreeSet<String>) {
    let missing: Vec<_> = want.difference(got).take(10).collect();
    let extra: Vec<_> = got.difference(want).take(10).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{what}: missing {missing:#?}, too many {extra:#?}"
    );
}

/// Never two requests at once to a host, never closer than the gap, robots.txt first, no honeypot.
#[track_caller]
pub(crate) fn assert_polite(server: &Server, gap: Duration) {
    let log = server.log();
    assert_eq!(log.dropped, 0);
    for host in log.hosts() {
        assert!(
            log.max_concurrent(host) <= 1,
            "two requests at once to host {host}"
        );
        if let Some(rest) = log.min_gap(host) {
            assert!(
                rest >= gap,
                "host {host} rested {rest:?} of {gap:?}\n{}",
                closest(&log, host)
            );
        }
    }
    assert_eq!(
        log.hosts_without_robots_first(),
        Vec::<u32>::new(),
        "hosts asked before their robots.txt"
    );
    let trapped: Vec<_> = log
        .entries
        .iter()
        .filter(|entry| server.web().is_honeypot(&entry.url))
        .collect();
    assert!(
        trapped.is_empty(),
        "disallowed, and asked for: {trapped:#?}"
    );
}

/// The two requests of a host that were closest.
fn closest(log: &RequestLog, host: u32) -> String {
    let entries: Vec<&Entry> = log.of_host(host).collect();
    let rest = |pair: &[&Entry]| {
        pair[1]
            .start
            .saturating_sub(pair[0].end.unwrap_or(Duration::MAX))
    };
    entries
        .windows(2)
        .min_by_key(|pair| rest(pair))
        .map(|pair| format!("{pair:#?}"))
        .unwrap_or_default()
}

/// Numbers that follow from a seed (SplitMix64), so that a failed test can be replayed.
#[derive(Debug)]
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.next() % of.len() as u64).unwrap()]
    }
}

/// A number from the environment.
pub(crate) fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")),
    )
}
