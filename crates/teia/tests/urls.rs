//! `teia urls`: the program as a tool that says which URLs are new, however little memory it has.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeSet;

use support::Home;

/// URLs with repeats, and two lines that are none; how many different ones there are.
fn lines(from: u64, to: u64) -> (String, BTreeSet<String>) {
    let mut text = String::from("# a comment\n\nnosuch://scheme/\nhttp://\n");
    let mut all = BTreeSet::new();
    for number in from..to {
        let page = number * number % 5003;
        let url = format!("https://h{}.list.test/page-{page}.html", page % 40);
        text.push_str(&url);
        text.push('\n');
        all.insert(url);
    }
    (text, all)
}

fn json(home: &Home, arguments: &[&str]) -> serde_json::Value {
    let ended = home.run(arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    serde_json::from_slice(&ended.out).unwrap()
}

#[test]
fn added_urls_are_new_once_however_little_memory_there_is() {
    for memory in ["512MiB", "16KiB"] {
        let home = Home::new();
        let (text, first) = lines(0, 3000);
        let file = home.write("first.txt", &text);
        let added = json(&home, &["urls", "add", &file, "--memory", memory]);
        assert_eq!(added["read"], 3002);
        assert_eq!(added["invalid"], 2);
        assert_eq!(added["new"], first.len());
        assert_eq!(added["known"], 3000 - first.len());
        let again = json(&home, &["urls", "add", &file, "--memory", memory]);
        assert_eq!(again["new"], 0, "{memory}");
        let (text, second) = lines(2000, 4500);
        let file = home.write("second.txt", &text);
        let added = json(&home, &["urls", "add", &file, "--memory", memory]);
        assert_eq!(added["new"], second.difference(&first).count());
        let all: BTreeSet<String> = first.union(&second).cloned().collect();
        let count = json(&home, &["urls", "count"]);
        assert_eq!(count["urls"], all.len());
        assert_eq!(count["states"]["waiting"], all.len());
        let listed = home.good(&["urls", "export", "--host", "h7.list.test"]);
        let listed: BTreeSet<String> = listed
            .lines()
            .skip(1)
            .map(|line| line.split('\t').next().unwrap().to_owned())
            .collect();
        let of_host = |url: &&String| url.starts_with("https://h7.list.test/");
        assert_eq!(listed, all.iter().filter(of_host).cloned().collect());
        let verified = json(&home, &["urls", "verify"]);
        assert_eq!(verified["problems"], serde_json::json!([]));
        assert_eq!(verified["files"] != 0, memory == "16KiB");
    }
}

#[test]
fn added_urls_make_a_collection_that_can_be_collected_and_are_not_overwritten() {
    let home = Home::new();
    let data = home.beside("elsewhere").display().to_string();
    let file = home.write("list.txt", "http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b\n");
    // Where the data is may be said at the end, as everywhere.
    let added = json(&home, &["urls", "add", &file, "--data", &data]);
    assert_eq!(added["new"], 2);
    let counted = json(&home, &["urls", "count", "--data", &data]);
    assert_eq!(counted["urls"], 2);
    let status = home.good(&["status", "--data", &data]);
    assert!(status.contains("default"), "{status}");
    home.good(&["resume", "--data", &data, "--retries", "0"]);
    let there = home.write("there.txt", "mine");
    let ended = home.run(&["urls", "export", "-o", &there, "--data", &data]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
}

/// Links are not kept on disk, and without them a limit of depth cannot be exact.
#[test]
fn a_limit_of_depth_is_refused_where_urls_lie_on_disk() {
    let home = Home::new();
    let (text, _) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    let ended = home.run(&["resume", "--max-depth", "3", "--max-pages", "1"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("--max-depth none"), "{}", ended.err);
}
