//! `teia urls`: the program as a tool that says which URLs are new, however little memory it has.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use support::{Home, Plain, crawl};
use teia_testweb::{Listen, Server, WebConfig};

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
        for name in ["H7.List.TEST", "https://h7.list.test/page-7.html"] {
            let others = home.good(&["urls", "export", "--host", name]);
            assert_eq!(listed, others, "{name}");
        }
        let refused = home.run(&["urls", "count", "--prefix", "h7.list.test/"]);
        assert_eq!(refused.code, Some(2));
        let advice = "write --prefix https://h7.list.test/";
        assert!(refused.err.contains(advice), "{}", refused.err);
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

/// As people have them: a mark at the beginning, ends of lines of another system, notes, and every second line twice.
#[test]
fn url_27_each_line_of_a_list_is_counted_once() {
    const LINES: usize = 40_000;
    let home = Home::new();
    let mut text = String::from("\u{feff}http://h0.list.test/0\r\n# seeds\r\n\r\n");
    for line in 1..LINES {
        let page = line / 2;
        text.push_str(&format!("http://h{}.list.test/{page}\r\n", page % 100));
    }
    let file = home.write("list.txt", &text);
    let added = json(&home, &["urls", "add", &file]);
    let counts = ["read", "new", "known", "invalid"].map(|key| added[key].as_u64().unwrap());
    let half = LINES as u64 / 2;
    assert_eq!(counts, [2 * half, half, half, 0], "{added}");
    assert_eq!(json(&home, &["urls", "count"])["urls"], half);
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

/// Inverts a byte of the newest run: in its pages, or in its index, which is found again from them.
fn hurt_a_run(home: &Home, in_pages: bool) -> String {
    let folder = home.data().join("default/part-0/urls");
    let runs = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let runs = runs.filter(|file| file.file_name().to_string_lossy().starts_with("run-"));
    let run = runs.max_by_key(std::fs::DirEntry::file_name).unwrap();
    let mut bytes = std::fs::read(run.path()).unwrap();
    let trailer = bytes.len() - 64;
    let index: [u8; 8] = bytes[trailer + 8..trailer + 16].try_into().unwrap();
    let index = usize::try_from(u64::from_le_bytes(index)).unwrap();
    let at = if in_pages { index / 2 } else { index + 9 };
    bytes[at] ^= 0xFF;
    std::fs::write(run.path(), bytes).unwrap();
    run.file_name().to_string_lossy().into_owned()
}

#[test]
fn damage_that_the_store_mends_is_a_word_and_no_failure() {
    let home = Home::new();
    let (text, first) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    let name = hurt_a_run(&home, false);
    let (text, second) = lines(2000, 4500);
    let file = home.write("more.txt", &text);
    let ended = home.run(&["urls", "add", &file, "--memory", "16KiB"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains(&name), "{}", ended.err);
    assert!(ended.err.contains("found again"), "{}", ended.err);
    let added: serde_json::Value = serde_json::from_slice(&ended.out).unwrap();
    assert_eq!(added["new"], second.difference(&first).count());
}

#[test]
fn damage_that_cannot_be_mended_is_told_and_what_is_added_is_counted_all_the_same() {
    let home = Home::new();
    let (text, first) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    let name = hurt_a_run(&home, true);
    let (text, second) = lines(0, 4500);
    let file = home.write("more.txt", &text);
    let ended = home.run(&["urls", "add", &file, "--memory", "16KiB"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains(&name), "{}", ended.err);
    let added: serde_json::Value = serde_json::from_slice(&ended.out).unwrap();
    assert_eq!(added["new"], second.difference(&first).count());
    let counted = json(&home, &["urls", "count"]);
    assert_eq!(counted["urls"], first.union(&second).count());
    let verified = json(&home, &["urls", "verify"]);
    assert_eq!(verified["problems"], serde_json::json!([]));
}

#[test]
fn damage_is_told_with_its_remedy_and_repair_makes_the_urls_again() {
    let home = Home::new();
    let (text, all) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    let whole = home.run(&["urls", "repair"]);
    assert!(whole.err.contains("nothing to repair"), "{}", whole.err);
    hurt_a_run(&home, true);
    let list = ["urls", "count"];
    let refused = home.run(&list);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.err.contains("urls repair"), "{}", refused.err);
    // What stands on other pages is there all the same.
    let rest: serde_json::Value = serde_json::from_slice(&refused.out).unwrap();
    let rest = rest["urls"].as_u64().unwrap();
    assert!(
        rest > all.len() as u64 / 2 && rest < all.len() as u64,
        "{rest}"
    );
    let one = home.run(&["urls", "list", "--limit", "1"]);
    assert_eq!(one.out.iter().filter(|byte| **byte == b'\n').count(), 1);
    let repaired = json(&home, &["urls", "repair"]);
    assert_eq!(repaired["urls"], all.len());
    assert_eq!(json(&home, &list)["states"]["waiting"], all.len());
    assert_eq!(
        json(&home, &["urls", "verify"])["problems"],
        serde_json::json!([])
    );
}

/// The files of the blocks, in order.
fn runs(home: &Home) -> Vec<PathBuf> {
    let folder = home.data().join("default/part-0/urls");
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut runs: Vec<PathBuf> = files.map(|file| file.path()).collect();
    runs.retain(|path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("run-")
    });
    runs.sort();
    runs
}

fn problems(home: &Home) -> String {
    let ended = home.run(&["urls", "verify"]);
    let report: serde_json::Value = serde_json::from_slice(&ended.out).unwrap();
    assert_eq!(
        ended.code,
        Some(i32::from(report["problems"] != serde_json::json!([])))
    );
    report["problems"].to_string()
}

#[test]
fn files_that_were_exchanged_or_damaged_where_they_say_what_is_in_them_are_named_and_mended_without_help()
 {
    let home = Home::new();
    let (text, first) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    let all = runs(&home);
    assert!(all.len() > 7, "{all:?}");
    let (one, other) = (&all[2], &all[7]);
    let (bytes, others) = (std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    std::fs::write(one, others).unwrap();
    std::fs::write(other, bytes).unwrap();
    let named = problems(&home);
    for path in [one, other] {
        let name = path.file_name().unwrap().to_string_lossy();
        assert!(named.contains(&*name), "{named}");
    }
    let (text, second) = lines(2000, 4500);
    let file = home.write("more.txt", &text);
    let added = json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    assert_eq!(added["new"], second.difference(&first).count());
    assert_eq!(problems(&home), "[]");
    // Each file, so that some are of blocks that have no news.
    for (number, path) in runs(&home).iter().enumerate() {
        let mut bytes = std::fs::read(path).unwrap();
        let at = bytes.len() - 20;
        match number % 2 {
            0 => bytes[at] ^= 1,
            _ => bytes.extend([7; 100]),
        }
        std::fs::write(path, bytes).unwrap();
    }
    assert!(problems(&home).contains("run-"));
    let (text, _) = lines(0, 10);
    let file = home.write("again.txt", &text);
    let added = json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    assert_eq!(added["new"], 0);
    // What still tells news goes with the fold after the one that heard of it.
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    assert_eq!(problems(&home), "[]");
    let counted = json(&home, &["urls", "count"]);
    assert_eq!(counted["urls"], first.union(&second).count());
}

/// What a damaged block cannot take in is found as it was: nobody may wait for it to change.
#[test]
fn who_reads_ends_where_a_removed_host_has_a_damaged_page() {
    let home = Home::new();
    let (text, all) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    hurt_a_run(&home, true);
    let hosts: BTreeSet<String> = all
        .iter()
        .filter_map(|url| Some(url.split('/').nth(2)?.to_owned()))
        .collect();
    for host in hosts.iter().take(5) {
        home.run(&["remove", "--host", host]);
    }
    let counted = home.run(&["urls", "count"]);
    assert_eq!(counted.code, Some(1), "{}", counted.err);
    json(&home, &["urls", "repair"]);
    assert_eq!(json(&home, &["urls", "count"])["urls"], all.len());
}

/// What whoever opens the URLs puts right is damage all the same.
#[test]
fn verify_names_what_opening_would_mend_and_what_lies_beside_a_damaged_journal() {
    let home = Home::new();
    let (text, _) = lines(0, 3000);
    let file = home.write("list.txt", &text);
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    let part = home.data().join("default/part-0");
    let verify = |what: &str| {
        let ended = home.run(&["urls", "verify"]);
        assert_eq!(ended.code, Some(1), "{what}: {}", ended.err);
        let report: serde_json::Value = serde_json::from_slice(&ended.out).unwrap();
        let problems = report["problems"].to_string();
        assert!(problems.contains(what), "{what}: {problems}");
        report
    };
    for name in ["manifest", "manifest.copy"] {
        let path = part.join("urls").join(name);
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        verify(name);
        let mut hurt = whole.clone();
        hurt[20] ^= 1;
        std::fs::write(&path, hurt).unwrap();
        verify(name);
        std::fs::write(&path, whole).unwrap();
    }
    // What the next process makes again is no reason to repair anything.
    let saved = part.join("manifest");
    let mut hurt = std::fs::read(&saved).unwrap();
    hurt[8] ^= 1;
    std::fs::write(&saved, hurt).unwrap();
    verify("manifest");
    let told = home.run(&["urls", "verify"]).err;
    assert!(
        told.contains("nothing is lost") && !told.contains("repair"),
        "{told}"
    );
    json(&home, &["urls", "add", &file, "--memory", "16KiB"]);
    json(&home, &["urls", "verify"]);
    let log = std::fs::read_dir(part.join("journal")).unwrap();
    let log = log.map(|file| file.unwrap().path()).min().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[200] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let report = verify("damaged at byte");
    assert!(report["pages"].as_u64() > Some(10), "{report}");
}

#[test]
fn lines_that_are_no_urls_are_told_and_not_all_of_them() {
    let home = Home::new();
    let mut text = String::from("# lines\n\nhttps://a.test/\n/only/a/path\n");
    for number in 0..20 {
        text.push_str(&format!("nosuch://{number}/\x1b[2J\n"));
    }
    let file = home.write("list.txt", &text);
    let ended = home.run(&["urls", "add", &file]);
    let told: Vec<&str> = ended.err.lines().collect();
    assert!(told[0].contains("line 4: `/only/a/path`"), "{told:?}");
    assert_eq!(told.len(), 11, "{told:?}");
    assert!(told[10].contains("11 more lines"), "{told:?}");
    assert!(!ended.err.contains('\x1b'), "{:?}", ended.err);
}

#[test]
fn in_links_stand_beside_each_url_that_is_listed() {
    let server = Server::start(
        WebConfig {
            hosts: 2,
            pages_per_host: 20,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &[]));
    let mut linking: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in home.good(&["export", "links"]).lines().skip(1) {
        let mut cells = line.split('\t').map(str::to_owned);
        let (from, to) = (cells.next().unwrap(), cells.next().unwrap());
        linking.entry(to).or_default().insert(from);
    }
    let listed = home.good(&["urls", "export", "--in-links"]);
    let mut lines = listed.lines();
    assert!(lines.next().unwrap().ends_with("\tin_links"), "{listed}");
    let mut most = 0;
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let count: usize = cells[4].parse().unwrap();
        assert_eq!(count, linking.get(cells[0]).map_or(0, BTreeSet::len));
        most = most.max(count);
    }
    assert!(most > 3, "{listed}");
}

#[test]
fn another_normal_form_is_refused_before_a_url_could_be_new_twice() {
    let home = Home::new();
    let file = home.write("list.txt", "https://www.a.test/\n");
    assert_eq!(json(&home, &["urls", "add", &file])["new"], 1);
    set_normal_form(&home, "www", "512MiB");
    let ended = home.run(&["urls", "add", &file]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("urls rekey"), "{}", ended.err);
    let ended = home.run(&["resume", "--max-pages", "1"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    home.good(&["urls", "rekey"]);
    assert_eq!(json(&home, &["urls", "add", &file])["new"], 0);
}

#[test]
fn bytes_that_are_no_utf_8_make_urls_of_their_own() {
    let home = Home::new();
    let path = home.beside("latin.txt");
    std::fs::write(&path, b"https://a.test/caf\xe9\nhttps://a.test/caf\xe8\n").unwrap();
    let added = json(&home, &["urls", "add", path.to_str().unwrap()]);
    assert_eq!(added["new"], 2, "{added}");
}

/// A pipe that is open and says nothing.
#[test]
fn a_list_that_never_ends_is_committed_as_it_comes_and_ends_at_a_signal() {
    let home = Home::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut adding = std::process::Command::new(env!("CARGO_BIN_EXE_teia"))
        .args(["urls", "add", "--data", home.data().to_str().unwrap()])
        .stdin(reader)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut writer, b"https://a.test/\nhttps://b.test/\n").unwrap();
    support::until("both are committed", || {
        let ended = home.run(&["urls", "count"]);
        let count: Option<serde_json::Value> = serde_json::from_slice(&ended.out).ok();
        count.is_some_and(|count| count["urls"] == 2)
    });
    let process = rustix::process::Pid::from_raw(adding.id().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let ended = adding.wait().unwrap();
    assert_eq!(ended.code(), Some(130));
    drop(writer);
}

/// Sets one switch of `[normal-form]` in the collection's file, and the memory for URLs.
fn set_normal_form(home: &Home, switch: &str, memory: &str) {
    let path = home.data().join("collections/default.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let form = table
        .entry("normal-form")
        .or_insert(toml::Table::new().into());
    let form = form.as_table_mut().unwrap();
    form.insert(switch.to_owned(), true.into());
    let run = table.entry("run").or_insert(toml::Table::new().into());
    let run = run.as_table_mut().unwrap();
    run.insert("repository-memory".to_owned(), memory.into());
    std::fs::write(&path, table.to_string()).unwrap();
}

/// Three spellings of each page, and of each host.
fn spellings(pages: u64) -> String {
    let mut text = String::new();
    for page in 0..pages {
        let host = page % 7;
        for name in [
            format!("h{host}.list.test"),
            format!("www.h{host}.list.test"),
        ] {
            for file in ["", "index.html", "index.php"] {
                text.push_str(&format!("https://{name}/section-{page}/{file}\n"));
            }
        }
    }
    text
}

#[test]
fn urls_that_become_one_in_another_normal_form_are_one() {
    for memory in ["512MiB", "16KiB"] {
        let home = Home::new();
        let file = home.write("list.txt", &spellings(400));
        let added = json(&home, &["urls", "add", &file, "--memory", memory]);
        assert_eq!(added["new"], 2400);
        set_normal_form(&home, "index-files", memory);
        let moved = json(&home, &["urls", "rekey"]);
        assert_eq!(
            (&moved["before"], &moved["after"]),
            (&2400.into(), &800.into())
        );
        set_normal_form(&home, "www", memory);
        let moved = json(&home, &["urls", "rekey"]);
        assert_eq!(
            (&moved["before"], &moved["after"]),
            (&800.into(), &400.into())
        );
        assert_eq!(json(&home, &["urls", "count"])["urls"], 400, "{memory}");
        // And they stay known.
        let again = json(&home, &["urls", "add", &file, "--memory", memory]);
        assert_eq!((&again["new"], &again["known"]), (&0.into(), &2400.into()));
        let verified = json(&home, &["urls", "verify"]);
        assert_eq!(verified["problems"], serde_json::json!([]));
        let left = home.data().join("default/part-0.new");
        assert!(!left.exists());
    }
}

/// The catalog is of the journal that went: with its rows, `verify` would say of each that it is damaged.
#[test]
fn a_new_normal_form_leaves_no_rows_of_the_old_one_in_the_catalog() {
    let site = Plain::start(|path| match path {
        "/" => (200, "<a href=/a/index.html>a</a>".to_owned()),
        "/a/index.html" => (200, "a page".to_owned()),
        _ => (404, String::new()),
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    assert!(json(&home, &["verify"])["catalog_rows"].as_u64() > Some(0));
    set_normal_form(&home, "index-files", "512MiB");
    json(&home, &["urls", "rekey"]);
    assert_eq!(
        json(&home, &["verify"])["catalog_rows"],
        serde_json::Value::Null
    );
    home.good(&["catalog", "rebuild"]);
    let verified = json(&home, &["verify"]);
    assert_eq!(verified["problems"], serde_json::json!([]));
    assert!(verified["catalog_rows"].as_u64() > Some(0), "{verified}");
}

#[test]
fn a_kill_leaves_the_old_normal_form_or_the_new_one() {
    let home = Home::new();
    let file = home.write("list.txt", &spellings(1500));
    json(&home, &["urls", "add", &file, "--memory", "64KiB"]);
    set_normal_form(&home, "index-files", "64KiB");
    let mut moved = false;
    for pause in (0..40).map(|step| step * 6) {
        let child = home.start(&["urls", "rekey"]);
        std::thread::sleep(std::time::Duration::from_millis(pause));
        child.kill();
        let count = json(&home, &["urls", "count"])["urls"].as_u64().unwrap();
        assert!(count == 9000 || count == 3000, "{count}");
        assert!(!moved || count == 3000, "it went back");
        moved = count == 3000;
    }
    json(&home, &["urls", "rekey"]);
    assert_eq!(json(&home, &["urls", "count"])["urls"], 3000);
}

#[test]
fn what_was_fetched_stays_fetched_in_another_normal_form() {
    let server = Server::start(
        WebConfig {
            hosts: 2,
            pages_per_host: 30,
            redirects: 2,
            missing: 1,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    for memory in ["512MiB", "16KiB"] {
        let home = Home::new();
        let arguments = crawl(&home, &server, "0s", &[]);
        home.good(&arguments);
        let before = home.json(&["status", "--json"]);
        set_normal_form(&home, "parameter-order", memory);
        // Without the move nothing goes on, and the message says what to do.
        let refused = home.run(&["resume"]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.err.contains("urls rekey"), "{}", refused.err);
        json(&home, &["urls", "rekey"]);
        assert_eq!(home.json(&["status", "--json"]), before, "{memory}");
        server.clear_log();
        home.good(&["resume"]);
        assert_eq!(server.log().entries.len(), 0, "{memory}");
        // The index has followed the new journal.
        let page = server.web().front(0);
        let explained = home.good(&["page", &page]);
        assert!(explained.contains("200"), "{explained}");
        assert!(home.data().join("default/index").exists());
    }
}

#[test]
fn status_counts_what_is_there_also_where_urls_lie_on_disk() {
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 60,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let settings = "[run]\nrepository-memory = \"8KiB\"\n";
    let arguments = support::crawl_with(&home, &server, "0s", settings, &["--max-pages", "70"]);
    home.good(&arguments);
    let (status, count) = (home.status(), json(&home, &["urls", "count"]));
    assert_eq!(status["undecided"], 0, "{status}");
    assert_eq!(status["known"], count["urls"], "{status} {count}");
    assert_eq!(
        status["fetched"], count["states"]["fetched"],
        "{status} {count}"
    );
}
