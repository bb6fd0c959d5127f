//! Every ID of the catalogue is a test here, or is listed with the reason why not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The groups that this city is for; others have their own tests elsewhere.
const GROUPS: [&str; 7] = ["HTTP", "BODY", "REDIR", "H2", "TLS", "DNS", "URL"];

/// The files whose tests are named by IDs.
const TESTS: [&str; 7] = [
    include_str!("http.rs"),
    include_str!("body.rs"),
    include_str!("redir.rs"),
    include_str!("h2.rs"),
    include_str!("tls.rs"),
    include_str!("dns.rs"),
    include_str!("url.rs"),
];

const NOT_COVERED: &str = include_str!("../not-covered.txt");

#[test]
fn every_case_is_a_test_or_listed_with_a_reason() {
    let Some(catalogue) = read_catalogue() else {
        eprintln!("SKIPPED catalogue: there is no ../shared/hostile-web.md beside the project");
        return;
    };
    let ids = ids(&catalogue);
    assert!(ids.len() > 100, "the catalogue was read: {}", ids.len());
    let tests = tests();
    let listed = listed();
    for id in &ids {
        let (tested, listed) = (tests.contains(id), listed.contains_key(id));
        assert!(tested || listed, "{id} has no test and no reason");
        assert!(
            !(tested && listed),
            "{id} has a test and is listed as if it had none"
        );
    }
    for id in tests.iter().chain(listed.keys()) {
        assert!(ids.contains(id), "{id} is in no row of the catalogue");
    }
    for group in GROUPS {
        let of_group = |id: &&String| id.starts_with(&format!("{group}-"));
        let (all, missing) = (
            ids.iter().filter(of_group).count(),
            listed.keys().filter(of_group).count(),
        );
        eprintln!("note: {group}: {} of {all} cases covered", all - missing);
    }
}

#[test]
fn every_reason_is_a_sentence() {
    for (id, reason) in listed() {
        assert!(reason.len() > 20, "{id}: {reason}");
    }
}

/// The catalogue, beside the project or beside the folder that holds its worktrees.
fn read_catalogue() -> Option<String> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(project.join("../shared/hostile-web.md")).ok()
}

/// The IDs of the rows of our groups.
fn ids(catalogue: &str) -> BTreeSet<String> {
    let rows = catalogue.lines().filter_map(|line| line.strip_prefix("| "));
    let firsts = rows.filter_map(|row| row.split(" |").next());
    let ours = |id: &&str| {
        id.split_once('-').is_some_and(|(group, number)| {
            GROUPS.contains(&group) && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    firsts.filter(ours).map(str::to_owned).collect()
}

/// The IDs that tests are named for: `fn http_01(` is HTTP-01, and so is what follows it.
fn tests() -> BTreeSet<String> {
    let functions = TESTS
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| {
            line.trim_start_matches("async ")
                .strip_prefix("fn ")?
                .split('(')
                .next()
        });
    let id = |name: &str| {
        let (group, rest) = name.split_once('_')?;
        let number = rest.split('_').next()?;
        let group = group.to_ascii_uppercase();
        let is_id = GROUPS.contains(&group.as_str()) && number.bytes().all(|b| b.is_ascii_digit());
        is_id.then(|| format!("{group}-{number}"))
    };
    functions.filter_map(id).collect()
}

fn listed() -> BTreeMap<String, String> {
    let lines = NOT_COVERED
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(id, reason)| (id.to_owned(), reason.to_owned()))
        .collect()
}
