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
