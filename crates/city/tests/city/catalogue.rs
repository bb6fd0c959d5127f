//! Every ID of the catalogue is a test, or is listed with the reason why not; `docs/hostile-web.md`
//! says which.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The groups that are looked at.
const GROUPS: [&str; 14] = [
    "HTTP", "BODY", "REDIR", "H2", "TLS", "DNS", "URL", "HTML", "ROB", "MAP", "TRAP", "ARC", "ENV",
    "UI",
];

/// The files whose tests are named by IDs.
const TESTS: [(&str, &str); 15] = [
    ("http.rs", include_str!("http.rs")),
    ("body.rs", include_str!("body.rs")),
    ("redir.rs", include_str!("redir.rs")),
    ("h2.rs", include_str!("h2.rs")),
    ("tls.rs", include_str!("tls.rs")),
    ("dns.rs", include_str!("dns.rs")),
    ("addresses.rs", include_str!("addresses.rs")),
    ("url.rs", include_str!("url.rs")),
    ("html.rs", include_str!("html.rs")),
    ("rob.rs", include_str!("rob.rs")),
    ("map.rs", include_str!("map.rs")),
    ("trap.rs", include_str!("trap.rs")),
    ("arc.rs", include_str!("arc.rs")),
    ("trap_hosts.rs", include_str!("trap_hosts.rs")),
    ("env.rs", include_str!("env.rs")),
];

const NOT_COVERED: &str = include_str!("../not-covered.txt");
const ELSEWHERE: &str = include_str!("../elsewhere.txt");

/// How one case is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Proof {
    /// By these tests: file and name of each.
    Tests(Vec<(String, String)>),
    /// Not at all, for this reason.
    None(String),
}

#[test]
fn every_case_is_a_test_or_listed_with_a_reason() {
    let Some(catalogue) = read_catalogue() else {
        eprintln!("SKIPPED catalogue: there is no ../shared/hostile-web.md beside the project");
        return;
    };
    let rows = rows(&catalogue);
    assert!(rows.len() > 100, "the catalogue was read: {}", rows.len());
    let proofs = proofs();
    for id in rows.keys() {
        assert!(proofs.contains_key(id), "{id} has no test and no reason");
    }
    for id in proofs.keys() {
        assert!(rows.contains_key(id), "{id} is in no row of the catalogue");
    }
    for group in GROUPS {
        let of_group = |id: &&String| id.starts_with(&format!("{group}-"));
        let all = proofs.keys().filter(of_group).count();
        let missing = proofs
            .iter()
            .filter(|(id, proof)| of_group(id) && matches!(proof, Proof::None(_)))
            .count();
        eprintln!("note: {group}: {} of {all} cases covered", all - missing);
    }
}

/// The page that lists each case says what is true. `TEIA_BLESS=1` writes it anew.
#[test]
fn the_list_of_cases_is_true() {
    let path = project().join("docs/hostile-web.md");
    if std::env::var_os("TEIA_BLESS").is_some() {
        let catalogue = read_catalogue().expect("the catalogue, to write the list");
        std::fs::write(&path, page(&rows(&catalogue), &proofs())).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    let listed = rows(&written);
    assert_eq!(
        written,
        page(&listed, &proofs()),
        "docs/hostile-web.md is old: run this test with TEIA_BLESS=1"
    );
    let ids: BTreeSet<&String> = listed.keys().collect();
    let proofs = proofs();
    assert_eq!(ids, proofs.keys().collect(), "each case once");
}

#[test]
fn every_reason_is_a_sentence() {
    for (id, reason) in lines(NOT_COVERED) {
        assert!(reason.len() > 20, "{id}: {reason}");
    }
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The catalogue, beside the project or beside the folder that holds its worktrees.
fn read_catalogue() -> Option<String> {
    std::fs::read_to_string(project().join("../shared/hostile-web.md")).ok()
}

/// The IDs of the rows of our groups, with what the other side does.
fn rows(catalogue: &str) -> BTreeMap<String, String> {
    let rows = catalogue.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| {
        let mut cells = cells(row).into_iter();
        let (id, text) = (cells.next()?, cells.next()?);
        is_ours(&id).then_some((id, text))
    })
    .collect()
}

/// The cells of a row; a stroke in a cell is written with a backslash before it.
fn cells(row: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut before = ' ';
    for c in row.chars() {
        if c == '|' && before != '\\' {
            cells.push(std::mem::take(&mut cell).trim().to_owned());
        } else {
            cell.push(c);
        }
        before = c;
    }
    cells
}

fn is_ours(id: &str) -> bool {
    id.split_once('-').is_some_and(|(group, number)| {
        GROUPS.contains(&group) && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// What is known of each case: tests here and elsewhere, or a reason; never both.
fn proofs() -> BTreeMap<String, Proof> {
    let mut proofs = BTreeMap::new();
    let mut tested: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (file, source) in TESTS {
        for (id, name) in tests(source) {
            let file = format!("crates/city/tests/city/{file}");
            tested.entry(id).or_default().push((file, name));
        }
    }
    for (id, place) in lines(ELSEWHERE) {
        let (file, name) = place.split_once(' ').expect("file and test");
        let source = std::fs::read_to_string(project().join(file)).unwrap_or_default();
        assert!(is_test(&source, name), "{id}: {file} has no test {name}");
        let test = (file.to_owned(), name.to_owned());
        tested.entry(id).or_default().push(test);
    }
    proofs.extend(tested.into_iter().map(|(id, it)| (id, Proof::Tests(it))));
    for (id, reason) in lines(NOT_COVERED) {
        let before = proofs.insert(id.clone(), Proof::None(reason));
        assert_eq!(
            before, None,
            "{id} has a test and is listed as if it had none"
        );
    }
    proofs
}

/// Whether a file has a test of this name: a function alone is none.
fn is_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else {
        return false;
    };
    let mark = before.lines().rev().map(str::trim).find(|line| {
        let is_between = line.is_empty() || line.starts_with("//") || *line == "async";
        !is_between
    });
    mark.is_some_and(|mark| mark == "#[test]" || mark.starts_with("#[tokio::test"))
}

/// The IDs that tests are named for: `fn http_01(` is HTTP-01, and so is what follows it.
fn tests(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in source.lines() {
        let name = line
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.split('(').next());
        if let Some(name) = name.filter(|_| is_test) {
            let id = name.split_once('_').and_then(|(group, rest)| {
                let number = rest.split('_').next()?;
                Some(format!("{}-{number}", group.to_ascii_uppercase()))
            });
            found.extend(id.filter(|id| is_ours(id)).map(|id| (id, name.to_owned())));
        }
        is_test = line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    }
    found
}

fn lines(list: &str) -> Vec<(String, String)> {
    let lines = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(id, rest)| (id.to_owned(), rest.to_owned()))
        .collect()
}

/// The page.
fn page(rows: &BTreeMap<String, String>, proofs: &BTreeMap<String, Proof>) -> String {
    let mut page = String::from(
        "# The hostile web\n\n\
         Each case of the catalogue of hostile behaviour, with the test that shows it. This page is written by a test\n\
         (`the_list_of_cases_is_true` in `crates/city/tests/city/catalogue.rs`, with `TEIA_BLESS=1`), and the same test fails\n\
         when it is not true. A case counts as covered while its test exists. What the tests gave is not written here, where it\n\
         would be a claim of yesterday: `./dev test` writes this list with the result of each case in that run (passed, failed,\n\
         skipped) to `target/dev/hostile-web.md`, prints the counts, and fails where a case that is listed as covered was not run.\n\n\
         Beside its own test, every corner of the city is crawled alone by the real program\n\
         (`every_corner_is_accounted_for_and_has_its_price` in `crates/teia/tests/corners.rs`): one outcome for each attempt, every\n\
         URL accounted for, the next page of the same host fetched, at most 10 s of computing for all of its pages, start and end\n\
         included (one page has 2 s, `extract.cpu`), and at most 96 MiB more memory than an honest page takes (64 MiB for a fetch, and\n\
         32 MiB of the index). Cases without a corner (DNS, most of URL, ROB, MAP, TRAP and\n\
         ARC) are held to one outcome for each attempt, to the accounts and to bounds of computing by what all of them crawl with\n\
         (`crawl_by` in `crates/city/tests/city/support.rs`), and to 1 GiB for all of them together.\n\n| group | covered | of |\n|---|---|---|\n",
    );
    let mut total = (0, 0);
    for group in GROUPS {
        let of_group: Vec<&String> = rows
            .keys()
            .filter(|id| id.starts_with(&format!("{group}-")))
            .collect();
        let covered = of_group
            .iter()
            .filter(|id| matches!(proofs.get(**id), Some(Proof::Tests(_))))
            .count();
        total = (total.0 + covered, total.1 + of_group.len());
        let _ = writeln!(page, "| {group} | {covered} | {} |", of_group.len());
    }
    let _ = writeln!(page, "| all | {} | {} |", total.0, total.1);
    for group in GROUPS {
        let _ = write!(
            page,
            "\n## {group}\n\n| ID | the other side does this | result | test, or why there is none |\n|---|---|---|---|\n"
        );
        for (id, text) in rows
            .iter()
            .filter(|(id, _)| id.starts_with(&format!("{group}-")))
        {
            let (result, place) = match proofs.get(id) {
                Some(Proof::Tests(tests)) => {
                    let each = tests
                        .iter()
                        .map(|(file, name)| format!("`{name}` in `{file}`"));
                    ("covered", each.collect::<Vec<_>>().join(", "))
                }
                Some(Proof::None(reason)) => ("not covered", reason.replace('|', "\\|")),
                None => ("unknown", String::new()),
            };
            let _ = writeln!(page, "| {id} | {text} | {result} | {place} |");
        }
    }
    page
}
