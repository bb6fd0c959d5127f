//! The verdicts of others on the same files: Google's parser tests, its specification tests, and 58,344 real pairs.
//!
//! The data lies in `$TEIA_SHARED/data`, or else in `../shared/data` beside the workspace. Where we differ, the case
//! is listed here with its reason; a listed case that agrees fails, so that the lists stay true.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::GzDecoder;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use teia_fetch::robots::{Rules, is_agent_token};

/// Google's parser leaves the file itself to its caller.
const ROBOTS_ITSELF: &str = "RFC 9309 §2.2.2: /robots.txt itself is always allowed";

/// Google's parser reads what it is given; its crawler, too, cuts at 500 KiB.
const BEYOND_LIMIT: &str = "RFC 9309 §2.5: the rule lies beyond the 512 KiB that are read";

/// RFC 9309 §2.2.2 compares after percent-encoding both sides alike; Google's parser leaves the URL as it came.
const ENCODED_ALIKE: &str = "RFC 9309 §2.2.2: both sides are compared in one percent-encoding";

/// The URLs of both of Google's suites that are spelled in another way than the rule.
const ENCODED: [&str; 2] = ["http://foo.bar/foo/bar/ツ", "http://foo.bar/foo/bar/baz"];

/// Real verdicts that turn on a `|` in the rule, spelled `%7C` in the URL.
const REAL_ENCODED: [&str; 2] = [
    "https://www.ebay.co.uk/b/Sales-Events/bn_7115216712?_trkparms=pageci%3A",
    "https://www.ebay.com.au/b/Sales-Events/bn_7115219298?_trkparms=pageci%3A",
];

/// Real verdicts that turn on rules in the last third of a file of 853 KB.
const REAL_BEYOND_LIMIT: [&str; 5] = [
    "https://docs.oracle.com/html/E14642_02/",
    "https://docs.oracle.com/html/E16604_03/",
    "https://docs.oracle.com/html/E24616_05/",
    "https://docs.oracle.com/html/E47762_04/",
    "https://docs.oracle.com/html/E87904_02/",
];

#[test]
fn google_s_own_tests() {
    let Some(cases) = json_lines("robots-conformance/google-robots-test-cases.jsonl") else {
        return;
    };
    let mut tally = Tally::new("google-robots-test-cases");
    for (nth, case) in cases.iter().enumerate() {
        let agent = text(case, "agent");
        let found = match text(case, "kind") {
            "match" => allowed(text(case, "robots").as_bytes(), agent, text(case, "url")),
            "valid_user_agent_to_obey" => is_agent_token(agent),
            kind => panic!("unknown kind of case: {kind}"),
        };
        let encoded = text(case, "test") == "ID_Encoding" && ENCODED.contains(&text(case, "url"));
        let exception = encoded.then_some(ENCODED_ALIKE);
        let agrees = Some(found) == case["expected"].as_bool();
        tally.count(agrees, exception, || format!("{nth}: {case}"));
    }
    tally.close(156, 3);
}

#[test]
fn google_s_path_cases() {
    let Some(cases) = json_lines("robots-conformance/google-path-cases.jsonl") else {
        return;
    };
    let mut tally = Tally::new("google-path-cases");
    for case in &cases {
        let (from, to) = (text(case, "in"), text(case, "out"));
        // What is taken out of a URL is what a rule for exactly that path forbids; and a pattern equals its escaped
        // form when it forbids a path so spelled.
        let forbidding = |pattern: String| {
            Rules::parse(
                format!("User-agent: *\nDisallow: {pattern}\n").as_bytes(),
                "Teia",
            )
        };
        let verdict = match text(case, "kind") {
            "path_params_query" => forbidding(format!("{to}$")).verdict_for_url(from),
            "escape_pattern" => forbidding(format!("/{from}$")).verdict(&format!("/{to}")),
            kind => panic!("unknown kind of case: {kind}"),
        };
        tally.count(!verdict.allowed, None, || case.to_string());
    }
    tally.close(23, 0);
}

#[test]
fn google_s_specification_tests() {
    let Some(cases) = json_lines("robots-conformance/google-spec-test-cases.jsonl") else {
        return;
    };
    let mut tally = Tally::new("google-spec-test-cases");
    for case in &cases {
        let robots = match text(case, "robots_encoding") {
            "latin1" => {
                let bytes = text(case, "robots")
                    .chars()
                    .map(|c| u8::try_from(c).unwrap());
                bytes.collect()
            }
            _ => text(case, "robots").as_bytes().to_vec(),
        };
        let url = text(case, "url");
        let found = allowed(&robots, text(case, "agent"), url);
        let agrees = found == (text(case, "expected") == "allow");
        let exception = match text(case, "file") {
            "non-ascii-paths.textproto" if ENCODED.contains(&url) => Some(ENCODED_ALIKE),
            _ if text(case, "expected") == "deny" && url.ends_with("example.com/robots.txt") => {
                Some(ROBOTS_ITSELF)
            }
            _ => None,
        };
        tally.count(agrees, exception, || case.to_string());
    }
    tally.close(400, 7);
}

#[test]
fn crawler_commons_files() {
    let Some(folder) = shared("robots-conformance/crawler-commons") else {
        return;
    };
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let rules = Rules::parse(&bytes, "Teia");
        rules.verdict("/");
        files += 1;
        if name.starts_with("robots-with-utf") {
            let rule = rules
                .verdict("/profile")
                .rule
                .expect("a rule in each of three encodings");
            assert_eq!((rule.number, rule.text.as_str()), (4, "Disallow: /profile"));
        }
    }
    say(&format!("crawler-commons: {files} files read"));
    assert_eq!(files, 24);
}

#[test]
fn real_files_and_real_links() {
    let Some(files) = unzipped("robots-real/robots.tar.gz") else {
        return;
    };
    let Some(verdicts) = unzipped("robots-real/verdicts.tsv.gz") else {
        return;
    };
    let files = untar(&files);
    let verdicts = String::from_utf8(verdicts).unwrap();
    let mut tally = Tally::new("robots-real");
    let mut parsed: HashMap<(&str, &str), Rules> = HashMap::new();
    for line in verdicts.lines() {
        let columns: Vec<_> = line.split('\t').collect();
        let [host, agent, url, verdict] = columns[..] else {
            panic!("four columns: {line}")
        };
        let rules = parsed
            .entry((host, agent))
            .or_insert_with(|| Rules::parse(files[host], agent));
        let found = rules.verdict_for_url(url);
        let agrees = found.allowed == (verdict == "allow");
        let starts = |starts: &[&str]| starts.iter().any(|start| url.starts_with(start));
        let exception = if starts(&REAL_ENCODED) {
            Some(ENCODED_ALIKE)
        } else if starts(&REAL_BEYOND_LIMIT) {
            let whole = Rules::parse_within(files[host], agent, usize::MAX);
            assert_eq!(
                whole.verdict_for_url(url).allowed,
                verdict == "allow",
                "{line}"
            );
            Some(BEYOND_LIMIT)
        } else {
            None
        };
        tally.count(agrees, exception, || format!("{line} {:?}", found.rule));
    }
    tally.close(58_344, 15);
}

#[test]
fn time_to_read_the_real_files() {
    let Some(files) = unzipped("robots-real/robots.tar.gz") else {
        return;
    };
    let files = untar(&files);
    let started = thread_time();
    let rules: usize = files
        .values()
        .map(|file| Rules::parse(file, "Teia").len())
        .sum();
    let took = thread_time() - started;
    let bytes: usize = files.values().map(|file| file.len()).sum();
    let per_mb = took.mul_f64(1e6 / bytes as f64);
    say(&format!(
        "{} files, {bytes} bytes, {rules} rules for us: read in {took:?}, {per_mb:?} per MB",
        files.len()
    ));
    // Ten times what it took when this was written.
    assert!(per_mb < Duration::from_millis(10 * 10), "{per_mb:?}");
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread has not worked for less than nothing")
}

fn allowed(robots: &[u8], agent: &str, url: &str) -> bool {
    Rules::parse(robots, agent).verdict_for_url(url).allowed
}

/// Counts agreements, and listed exceptions; collects what is neither.
struct Tally {
    name: &'static str,
    agreements: usize,
    exceptions: HashMap<&'static str, usize>,
    unexpected: Vec<String>,
}

impl Tally {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            agreements: 0,
            exceptions: HashMap::new(),
            unexpected: Vec::new(),
        }
    }

    fn count(&mut self, agrees: bool, exception: Option<&'static str>, case: impl Fn() -> String) {
        match (agrees, exception) {
            (true, None) => self.agreements += 1,
            (false, Some(reason)) => *self.exceptions.entry(reason).or_default() += 1,
            (true, Some(_)) => self.unexpected.push(format!("agrees again: {}", case())),
            (false, None) => self.unexpected.push(format!("differs: {}", case())),
        }
    }

    #[track_caller]
    fn close(self, cases: usize, exceptions: usize) {
        let Self {
            name, agreements, ..
        } = self;
        let listed: usize = self.exceptions.values().sum();
        say(&format!(
            "{name}: {agreements} agreements, {listed} listed exceptions, of {cases} cases"
        ));
        for (reason, count) in &self.exceptions {
            say(&format!("  {count} x {reason}"));
        }
        assert!(
            self.unexpected.is_empty(),
            "{name}: {} unexpected\n{}",
            self.unexpected.len(),
            self.unexpected.join("\n"),
        );
        assert_eq!((agreements + listed, listed), (cases, exceptions), "{name}");
    }
}

/// Past the test harness, which hides what a passing test prints.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Where a piece of the shared data lies; None, said aloud, where it does not.
fn shared(path: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("TEIA_SHARED") {
        Some(shared) => PathBuf::from(shared),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let path = root.join("data").join(path);
    if !path.exists() {
        say(&format!("SKIPPED {}: shared data missing", path.display()));
        return None;
    }
    Some(path)
}

fn json_lines(path: &str) -> Option<Vec<Value>> {
    let text = fs::read_to_string(shared(path)?).unwrap();
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

#[track_caller]
fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap_or_default()
}

fn unzipped(path: &str) -> Option<Vec<u8>> {
    let file = fs::File::open(shared(path)?).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

/// The plain files of a tar archive: blocks of 512 bytes, name at 0, octal size at 124, type at 156.
fn untar(archive: &[u8]) -> HashMap<&str, &[u8]> {
    let mut files = HashMap::new();
    let mut rest = archive;
    while let Some((head, body)) = rest.split_at_checked(512) {
        let field = |range: std::ops::Range<usize>| {
            let bytes = &head[range];
            let end = bytes
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(bytes.len());
            str::from_utf8(&bytes[..end]).unwrap().trim()
        };
        if field(0..100).is_empty() {
            break;
        }
        let len = usize::from_str_radix(field(124..136), 8).unwrap();
        if matches!(head[156], b'0' | 0) {
            files.insert(field(0..100).trim_start_matches("./"), &body[..len]);
        }
        rest = &body[len.next_multiple_of(512)..];
    }
    files
}
