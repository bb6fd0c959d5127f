//! What is typed wrongly, or cannot be: the exit code, a sentence that helps, and nothing touched.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use support::{Home, crawl, until};
use teia_testweb::{Listen, Server, WebConfig};

/// Runs a command that must fail with this code and say all these words.
#[track_caller]
fn check(home: &Home, arguments: &[&str], code: i32, words: &[&str]) {
    let ended = home.run(arguments);
    assert_eq!(ended.code, Some(code), "{arguments:?} said: {}", ended.err);
    for word in words {
        assert!(
            ended.err.contains(word),
            "{arguments:?} does not say {word:?}: {}",
            ended.err
        );
    }
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    assert!(
        ended.out.is_empty(),
        "{arguments:?} printed: {}",
        ended.text()
    );
}

#[test]
fn a_misspelt_option_is_refused_with_the_right_spelling() {
    check(
        &Home::new(),
        &["crawl", "example.org", "--max-dept", "3"],
        2,
        &["--max-dept", "--max-depth"],
    );
    check(&Home::new(), &["crwl", "example.org"], 2, &["crawl"]);
}

#[test]
fn a_misspelt_setting_is_refused_with_its_line_and_the_right_spelling() {
    let home = Home::new();
    let config = home.write(
        "my.toml",
        "mode = \"once\"\n\n[politeness]\ndelai = \"2s\"\n",
    );
    check(
        &home,
        &["crawl", "example.org", "--config", &config],
        2,
        &["my.toml", "line 4", "delai", "`delay`"],
    );
    let config = home.write("my.toml", "[politeness]\ndelay = \"fast\"\n");
    check(
        &home,
        &["crawl", "example.org", "--config", &config],
        2,
        &["my.toml", "line 2"],
    );
    let config = home.write("my.toml", "[politeness\n");
    check(
        &home,
        &["crawl", "example.org", "--config", &config],
        2,
        &["my.toml", "line 1"],
    );
    check(
        &home,
        &["crawl", "example.org", "--config", "nowhere.toml"],
        2,
        &["nowhere.toml"],
    );
}

#[test]
fn a_malformed_seed_is_refused_before_anything_is_made() {
    let home = Home::new();
    for seed in [
        "http://",
        "http://exa mple.org/",
        "mailto:someone@example.org",
        "http://[::1/",
    ] {
        check(&home, &["crawl", seed], 2, &["teia: "]);
    }
    let seeds = home.write("seeds.txt", "# places\nexample.org\nhttp://\n");
    check(&home, &["crawl", "--seeds", &seeds], 2, &["line 3"]);
    check(
        &home,
        &["crawl", "--seeds", "nowhere.txt"],
        2,
        &["nowhere.txt"],
    );
    assert!(!home.data().exists());
}

#[test]
fn a_malformed_value_is_refused() {
    let home = Home::new();
    check(
        &home,
        &["crawl", "example.org", "--exclude", "(unclosed"],
        2,
        &["(unclosed"],
    );
    check(
        &home,
        &["crawl", "example.org", "--delay", "soon"],
        2,
        &["--delay", "soon"],
    );
    check(
        &home,
        &["crawl", "example.org", "--max-size", "big"],
        2,
        &["--max-size", "big"],
    );
    check(
        &home,
        &["crawl", "example.org", "--scope", "galaxy"],
        2,
        &["--scope", "galaxy"],
    );
    check(
        &home,
        &["crawl", "example.org", "--types", "picture"],
        2,
        &["--types", "picture"],
    );
    check(
        &home,
        &["crawl", "example.org", "--report", "xml"],
        2,
        &["xml", "json"],
    );
    check(
        &home,
        &["crawl", "example.org", "--resolve", "nonsense"],
        2,
        &["nonsense"],
    );
    check(
        &home,
        &["crawl", "example.org", "--proxy", "gopher://x"],
        2,
        &["gopher"],
    );
    check(
        &home,
        &["crawl", "example.org", "--collection", "../up"],
        2,
        &["../up"],
    );
}

#[test]
fn an_order_that_is_not_built_yet_is_refused() {
    for order in ["opic", "large-hosts", "fast-hosts", "focused", "alphabetic"] {
        check(
            &Home::new(),
            &["crawl", "example.org", "--order", order],
            2,
            &[order, "breadth"],
        );
    }
}

#[test]
fn nothing_to_collect_is_refused() {
    check(&Home::new(), &["crawl"], 2, &["teia crawl example.org"]);
    check(&Home::new(), &["crawl", "--seeds", "-"], 2, &["seed"]);
}

#[test]
fn a_foreign_directory_is_refused_and_untouched() {
    let home = Home::new();
    std::fs::create_dir(home.data()).unwrap();
    std::fs::write(home.data().join("thesis.tex"), "years of work").unwrap();
    let before = content(home.data());
    for arguments in [
        &["crawl", "example.org"] as &[&str],
        &["resume"],
        &["status"],
        &["page", "example.org"],
        &["export", "urls"],
    ] {
        check(
            &home,
            arguments,
            2,
            &["not a Teia data directory", "--data"],
        );
    }
    assert_eq!(content(home.data()), before);
}

#[test]
fn a_newer_directory_is_refused_and_untouched() {
    let home = Home::new();
    std::fs::create_dir(home.data()).unwrap();
    std::fs::write(
        home.data().join("format"),
        "teia-data 9\nnormal-form 3\nkey 0123456789abcdef\n",
    )
    .unwrap();
    let before = content(home.data());
    for arguments in [
        &["crawl", "example.org"] as &[&str],
        &["resume"],
        &["status"],
    ] {
        check(&home, arguments, 2, &["newer"]);
    }
    assert_eq!(content(home.data()), before);
}

#[test]
fn a_directory_that_cannot_be_written_is_a_failed_run() {
    let home = Home::new();
    let file = home.write("file", "not a directory");
    let below = format!("{file}/data");
    check(
        &home,
        &["crawl", "example.org", "--data", &below],
        1,
        &[&below],
    );
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let server = Server::start(
        WebConfig {
            hosts: 1,
            pages_per_host: 3,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &[]));
    for arguments in [
        &["resume", "birds"] as &[&str],
        &["status", "birds"],
        &["page", "example.org", "--collection", "birds"],
        &["get", "example.org", "--collection", "birds"],
        &["stats", "--collection", "birds"],
        &["export", "cdxj", "--collection", "birds"],
    ] {
        check(&home, arguments, 2, &["birds", "default"]);
    }
    check(&home, &["pause", "default"], 2, &["teia resume"]);
    check(&home, &["stop", "default"], 2, &["teia resume"]);
    check(
        &home,
        &["get", &server.web().front(0), "--at", "teatime"],
        2,
        &["teatime", "20"],
    );
    check(
        &home,
        &["get", "http://h0.web.test/nunca.html"],
        1,
        &["no archived copy"],
    );
    check(&home, &["export", "files"], 2, &["--output"]);
}

#[test]
fn a_directory_in_use_is_named_with_its_process() {
    let server = Server::start(
        WebConfig {
            hosts: 1,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let home = Home::new();
    let running = home.start(&crawl(&home, &server, "1s", &[]));
    until("the first request", || !server.log().entries.is_empty());
    let process = running.id().to_string();
    check(&home, &["crawl", "example.org"], 1, &["in use", &process]);
    check(
        &home,
        &["crawl", "example.org", "--collection", "birds"],
        1,
        &["in use", &process],
    );
    running.kill();
    std::thread::sleep(Duration::from_millis(50));
    home.good(&["resume", "--max-pages", "1", "--delay", "0s"]);
}

#[test]
fn a_scope_without_a_seed_is_refused_with_what_to_write() {
    let home = Home::new();
    check(
        &home,
        &["check", "scope", "http://a.example/"],
        2,
        &["--seed", "--seeds", "--collection"],
    );
    let no_such = [
        "check",
        "scope",
        "--collection",
        "birds",
        "http://a.example/",
    ];
    check(&home, &no_such, 2, &["data directory"]);
    assert!(!home.data().exists());
}

#[test]
fn what_is_refused_leaves_no_directory_behind() {
    let home = Home::new();
    let nested = home.beside("some/where/data");
    let wrong: [&[&str]; 5] = [
        &["--exclude", "(unclosed"],
        &["--resolve", "nonsense"],
        &["--proxy", "gopher://x"],
        &["--config", "nowhere.toml"],
        &["--contact", "(me)"],
    ];
    for options in wrong {
        let arguments = [&["crawl", "example.org"], options].concat();
        check(&home, &arguments, 2, &[]);
        assert!(!home.data().exists(), "{arguments:?} left the directory");
        let place = ["--data", nested.to_str().unwrap()];
        check(&home, &[&arguments[..], &place].concat(), 2, &[]);
        assert!(!home.beside("some").exists(), "{arguments:?}");
    }
    check(&home, &["crawl"], 2, &[]);
    assert!(!home.data().exists());
    // What was there before stays, an empty directory too.
    std::fs::create_dir(home.data()).unwrap();
    check(&home, &["crawl", "example.org", "--exclude", "("], 2, &[]);
    assert!(home.data().exists());
}

#[test]
fn a_setting_in_the_wrong_section_is_told_where_it_belongs() {
    let home = Home::new();
    let config = home.write("my.toml", "seeds = []\nmax-depth = 3\n");
    check(
        &home,
        &["crawl", "example.org", "--config", &config],
        2,
        &["my.toml", "line 2", "`max-depth`", "[filter]"],
    );
}

/// Every file of a directory with what is in it.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(directory).unwrap();
    files
        .map(|file| {
            let path = file.unwrap().path();
            (path.display().to_string(), std::fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn a_directory_that_has_but_the_file_of_a_collection_is_taken() {
    let home = Home::new();
    let folder = home.data().join("collections");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("birds.toml"), "[run]\nretries = 1\n").unwrap();
    let list = home.write("list.txt", "http://birds.test/\n");
    home.good(&["urls", "add", &list, "--collection", "birds"]);
    let kept = std::fs::read_to_string(folder.join("birds.toml")).unwrap();
    assert!(kept.contains("retries = 1"), "{kept}");
}
