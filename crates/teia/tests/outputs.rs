//! What the program prints and writes for people and for other programs, as the contract says.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use support::{Home, assert_same, body, crawl, crawl_with, owned};
use teia_archive::{CdxEntry, index_warc};
use teia_base::DiskFiles;
use teia_testweb::{Listen, Rules, Server, WebConfig};

/// A small crawl of a web with compressed, chunked, moved and missing pages.
fn collected() -> (Server, Home, String) {
    let config = WebConfig {
        redirects: 2,
        missing: 1,
        copies: 2,
        gzip_every: 3,
        chunked_every: 4,
        requisites: true,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let report = home.good(&crawl(&home, &server, "0s", &["--report", "json"]));
    (server, home, report)
}

/// What a right crawl of that web fetches.
fn truth(server: &Server) -> BTreeSet<String> {
    let rules = Rules {
        requisites: true,
        ..Rules::default()
    };
    owned(
        server
            .web()
            .reachable(&[server.web().front(0)], &rules)
            .fetched(),
    )
}

#[track_caller]
fn has_keys(value: &Value, keys: &[&str]) {
    let missing: Vec<_> = keys.iter().filter(|key| value.get(key).is_none()).collect();
    assert!(missing.is_empty(), "no {missing:?} in {value}");
}

#[test]
fn the_report_is_one_json_object_with_the_fields_of_the_contract() {
    let (server, _, report) = collected();
    assert_eq!(report.trim_end().lines().count(), 1, "{report}");
    let report: Value = serde_json::from_str(&report).unwrap();
    has_keys(
        &report,
        &[
            "fetched",
            "bytes",
            "seconds",
            "pages_per_second",
            "known_urls",
            "hosts",
            "codes",
            "types",
            "duplicates",
        ],
    );
    let want = truth(&server);
    assert_eq!(report["fetched"], want.len());
    assert_eq!(report["hosts"], 4);
    let status = |url: &String| server.web().expected_status(url).unwrap();
    for code in [200, 302, 404] {
        let count = want.iter().filter(|url| status(url) == code).count();
        assert_eq!(
            report["codes"][code.to_string()],
            count,
            "code {code}: {report}"
        );
    }
    let typed: u64 = report["types"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(Some(typed), report["codes"]["200"].as_u64());
    let received: u64 = server.log().entries.iter().map(|entry| entry.bytes).sum();
    assert_eq!(report["bytes"], received, "bytes on the wire");
    assert!(report["duplicates"].as_u64().unwrap() > 0);
}

#[test]
fn get_returns_the_exact_body() {
    let (server, home, _) = collected();
    let (mut checked, web) = (0, server.web());
    for url in truth(&server)
        .iter()
        .filter(|url| web.expected_status(url) == Some(200))
        .step_by(4)
    {
        let ended = home.run(&["get", url]);
        assert_eq!(ended.code, Some(0), "{url}: {}", ended.err);
        assert!(
            ended.out == body(web, url),
            "{url} differs from what was served"
        );
        checked += 1;
    }
    assert!(checked >= 25, "{checked}");
    let headed = home.run(&["get", &web.front(0), "--head"]);
    assert!(
        headed.out.starts_with(b"HTTP/1.1 200") && headed.out.ends_with(&body(web, &web.front(0)))
    );
}

#[test]
fn get_at_a_time_returns_what_was_there_then() {
    let config = WebConfig {
        hosts: 1,
        pages_per_host: 4,
        flaky: 1,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let settings = "[politeness]
retry-wait = \"2s\"
";
    home.good(&crawl_with(&home, &server, "0s", settings, &[]));
    let versions: Vec<CdxEntry> = home
        .all_captures()
        .into_iter()
        .filter(|entry| entry.url.contains("/fragil/"))
        .collect();
    let url = &versions[0].url;
    assert_eq!(
        versions
            .iter()
            .map(|entry| entry.status)
            .collect::<Vec<_>>(),
        [Some(503), Some(200)]
    );
    let newest = body(server.web(), url);
    assert_eq!(home.run(&["get", url]).out, newest);
    assert_eq!(home.run(&["get", url, "--at", "2999-01-01"]).out, newest);
    let (first, last) = (versions[0].timestamp.clone(), versions[1].timestamp.clone());
    assert_eq!(home.run(&["get", url, "--at", &last]).out, newest);
    let then = home.run(&["get", url, "--at", &first, "--head"]);
    assert!(
        then.out.starts_with(b"HTTP/1.1 503"),
        "{}",
        String::from_utf8_lossy(&then.out)
    );
}

#[test]
fn get_before_the_first_copy_says_when_that_was() {
    let (server, home, _) = collected();
    let url = server.web().front(0);
    let ended = home.run(&["get", &url, "--at", "1999-12-31"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.out.is_empty());
    let first = home
        .all_captures()
        .into_iter()
        .find(|entry| entry.url == url)
        .and_then(|entry| entry.fetched())
        .unwrap()
        .to_string();
    for word in ["1999-12-31", "or before", &first] {
        assert!(ended.err.contains(word), "no {word:?} in {}", ended.err);
    }
    // What it says to type is right.
    assert_eq!(
        home.run(&["get", &url, "--at", &first]).out,
        body(server.web(), &url)
    );
}

#[test]
fn the_life_of_a_page_is_told_by_moment() {
    let (server, home, _) = collected();
    let mut links = 0;
    for url in truth(&server).iter().step_by(7) {
        let told = home.json(&["page", url, "--json"]);
        let history = told["history"].as_array().unwrap();
        let moments: Vec<&str> = history
            .iter()
            .map(|happening| happening["at"].as_str().unwrap())
            .collect();
        assert!(moments.is_sorted(), "{told:#}");
        // A page is found before it is asked for.
        let what = |at: usize| history[at]["what"].as_str().unwrap();
        let found = (0..history.len()).find(|at| what(*at).starts_with("found on"));
        let asked = (0..history.len()).find(|at| what(*at).starts_with("try 1"));
        if let (Some(found), Some(asked)) = (found, asked) {
            assert!(found < asked, "{told:#}");
            links += 1;
        }
    }
    assert!(links > 5, "{links}");
    let told = home.good(&["page", &server.web().front(1)]);
    assert!(told.contains("History (UTC: "), "{told}");
}

#[test]
fn stats_tell_sizes_and_growth() {
    let (_, home, report) = collected();
    let report: Value = serde_json::from_str(&report).unwrap();
    let told = home.json(&["stats", "--json"]);
    let growth = told["growth"].as_array().unwrap();
    assert!(!growth.is_empty());
    let sum = |key: &str| -> u64 { growth.iter().map(|row| row[key].as_u64().unwrap()).sum() };
    assert_eq!(sum("fetched"), report["fetched"].as_u64().unwrap());
    assert_eq!(sum("bytes"), report["bytes"].as_u64().unwrap());
    assert_eq!(growth.last().unwrap()["known"], report["known_urls"]);
    assert!(told["sizes"]["archive"].as_u64().unwrap() > 1000, "{told}");
    assert_eq!(told["sizes"]["received"], report["bytes"]);
    let text = home.good(&["stats"]);
    for word in [
        "received",
        "archive",
        "journal",
        "growth, each",
        "URLs known",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

#[test]
fn one_page_is_a_page() {
    let config = WebConfig {
        hosts: 1,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let more = ["--max-pages", "1", "--max-depth", "0"];
    let mut told = home.good(&crawl(&home, &server, "0s", &more));
    told.push_str(&home.good(&["status"]));
    told.push_str(&home.good(&["stats"]));
    assert!(told.contains(" 1 page, "), "{told}");
    assert!(told.contains("1 host"), "{told}");
    for wrong in [" 1 pages", " 1 hosts", " 1 runs", " 1 URLs", " 1 errors"] {
        assert!(!told.contains(wrong), "{wrong}: {told}");
    }
}

#[test]
fn exports_hold_everything_that_was_kept() {
    let (server, home, _) = collected();
    let want = truth(&server);
    let pages = |urls: &mut dyn Iterator<Item = String>| -> BTreeSet<String> {
        urls.filter(|url| !url.ends_with("/robots.txt")).collect()
    };

    let lines = home.good(&["export", "cdxj"]);
    let entries: Vec<CdxEntry> = lines
        .lines()
        .map(|line| CdxEntry::parse(line).unwrap())
        .collect();
    assert_same(
        "cdxj",
        &pages(&mut entries.iter().map(|entry| entry.url.clone())),
        &want,
    );
    assert!(lines.lines().is_sorted(), "the CDXJ is not sorted");

    let warc = home.beside("all.warc.gz");
    home.good(&["export", "warc", "--output", warc.to_str().unwrap()]);
    let (records, damages) =
        index_warc(&DiskFiles::existing("/"), warc.strip_prefix("/").unwrap()).unwrap();
    assert!(damages.is_empty(), "{damages:?}");
    assert_eq!(records.len(), entries.len());
    assert_same(
        "warc",
        &pages(&mut records.iter().map(|entry| entry.url.clone())),
        &want,
    );

    let urls = home.good(&["export", "urls"]);
    let rows: Vec<Vec<&str>> = urls
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows[0][..3], ["url", "state", "outcome"]);
    assert_eq!(
        rows.len() as u64 - 1,
        home.status()["known"].as_u64().unwrap()
    );
    let fetched = rows
        .iter()
        .filter(|row| row[1] == "fetched" || row[1] == "gone")
        .map(|row| row[0]);
    assert_same("urls", &owned(fetched), &want);
    let some = home.good(&["export", "urls", "--prefix", "http://h1.web.test/"]);
    assert!(
        some.lines()
            .skip(1)
            .all(|line| line.starts_with("http://h1.web.test/"))
            && some.lines().count() > 10
    );

    let files = home.beside("files");
    home.good(&["export", "files", "--output", files.to_str().unwrap()]);
    let url = want
        .iter()
        .find(|url| url.contains("h2.") && url.contains("-7"))
        .unwrap();
    let path = files
        .join("h2.web.test")
        .join(&url["http://h2.web.test/".len()..]);
    let file = std::fs::read(&path)
        .or_else(|_| std::fs::read(files.join("http").join(&url["http://".len()..])))
        .unwrap();
    assert!(file == body(server.web(), url));
}

#[test]
fn check_url_tells_the_normal_form_or_the_error() {
    let lines = Home::new().json_lines(
        &["check", "url", "-"],
        "HTTP://Www.Example.ORG:80/a/../b?x=%7e#top\nhttp://\n",
    );
    has_keys(&lines[0], &["url", "normal", "host", "site", "depth"]);
    assert_eq!(lines[0]["normal"], "http://www.example.org/b?x=~");
    assert_eq!(
        (&lines[0]["site"], &lines[0]["depth"]),
        (&"example.org".into(), &1.into())
    );
    has_keys(&lines[1], &["url", "error"]);
    let lines = Home::new().json_lines(&["check", "url", "example.org", "http://é.pt/"], "");
    assert_eq!(lines[1]["host"], "xn--9ca.pt");
}

#[test]
fn check_robots_tells_who_may_what_and_why() {
    let home = Home::new();
    let file = home.write("robots.txt", "User-agent: *\nDisallow: /private\nAllow: /private/open$\n\nUser-agent: Teia\nDisallow: /no\n");
    let ask = |agent: &str| {
        home.json_lines(
            &[
                "check",
                "robots",
                "--file",
                &file,
                "--agent",
                agent,
                "http://a.example/private/x",
                "/private/open",
                "-",
            ],
            "/no\n",
        )
    };
    let lines = ask("Other");
    lines
        .iter()
        .for_each(|line| has_keys(line, &["url", "allowed", "rule"]));
    assert_eq!(
        lines
            .iter()
            .map(|line| line["allowed"].as_bool().unwrap())
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    assert!(lines[0]["rule"].as_str().unwrap().contains("/private"));
    assert_eq!(lines[2]["rule"], Value::Null);
    assert_eq!(
        ask("Teia")
            .iter()
            .map(|line| line["allowed"].as_bool().unwrap())
            .collect::<Vec<_>>(),
        [true, true, false]
    );
}

#[test]
fn check_extract_tells_what_is_in_a_document() {
    let home = Home::new();
    let page = "<html lang=pt><meta name=robots content=NOINDEX><title>Olá &amp; adeus</title><p>Texto</p>\
                <a href='b?x=1&amp;y=2' rel=nofollow>Seguinte</a><img src=/i.png></html>";
    let file = home.write("page.html", page);
    let told = home.json(&[
        "check",
        "extract",
        "--url",
        "http://a.example/d/",
        "--type",
        "text/html",
        &file,
    ]);
    has_keys(
        &told,
        &["title", "text", "language", "charset", "robots", "links"],
    );
    assert_eq!(
        (&told["title"], &told["language"]),
        (&"Olá & adeus".into(), &"pt".into())
    );
    assert_eq!(told["robots"]["noindex"], true);
    let links = told["links"].as_array().unwrap();
    links
        .iter()
        .for_each(|link| has_keys(link, &["url", "anchor", "rel", "kind"]));
    assert_eq!(links[0]["url"], "http://a.example/d/b?x=1&y=2");
    assert_eq!(
        (&links[0]["anchor"], &links[0]["rel"]),
        (&"Seguinte".into(), &"nofollow".into())
    );
    assert_eq!(links[1]["url"], "http://a.example/i.png");
}

#[test]
fn check_scope_tells_what_would_be_fetched_and_why_not() {
    let arguments = [
        "check",
        "scope",
        "--seed",
        "http://a.example/",
        "--exclude",
        "secret",
        "http://a.example/x",
        "http://b.example/x",
        "http://a.example/secret",
    ];
    let lines = Home::new().json_lines(&arguments, "");
    lines
        .iter()
        .for_each(|line| has_keys(line, &["url", "in_scope", "rule"]));
    assert_eq!(
        lines
            .iter()
            .map(|line| line["in_scope"].as_bool().unwrap())
            .collect::<Vec<_>>(),
        [true, false, false]
    );
    assert!(
        lines[2]["rule"].as_str().unwrap().contains("secret"),
        "{}",
        lines[2]
    );
    let lines = Home::new().json_lines(
        &[
            "check",
            "scope",
            "--scope",
            "suffix:.pt",
            "http://x.pt/",
            "http://x.com/",
        ],
        "",
    );
    assert_eq!(
        lines
            .iter()
            .map(|line| line["in_scope"].as_bool().unwrap())
            .collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn check_scope_takes_an_existing_collection() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let front = server.web().front(0);
    let resolve = format!("*.test={}", server.addr());
    let common = ["crawl", &front, "--resolve", &resolve, "--max-pages", "1"];
    home.good(&[&common[..], &["--exclude", "secret"]].concat());
    let birds = ["--collection", "birds", "--scope", "suffix:.web.test"];
    home.good(&[&common[..], &birds].concat());
    let inside = |arguments: &[&str]| -> Vec<bool> {
        let urls = [
            &format!("{front}x"),
            "http://h1.web.test/",
            "http://h0.web.test/secret",
        ];
        let words = [&["check", "scope"], arguments, &urls[..]].concat();
        home.json_lines(&words, "")
            .iter()
            .map(|line| line["in_scope"].as_bool().unwrap())
            .collect()
    };
    assert_eq!(inside(&[]), [true, false, false]);
    assert_eq!(inside(&["--collection", "birds"]), [true, true, true]);
    let wider = ["--collection", "default", "--scope", "domain"];
    assert_eq!(inside(&wider), [true, true, false]);
    // Seeds given by hand stand for themselves.
    assert_eq!(inside(&["--seed", "h1.web.test"]), [false, true, false]);
}

#[test]
fn the_settings_that_are_printed_can_be_given_back() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let printed = home.good(&["config"]);
    assert!(
        printed.lines().any(|line| line.starts_with("# ")),
        "no meanings"
    );
    home.good(&crawl_with(
        &home,
        &server,
        "0s",
        &printed,
        &["--max-pages", "3"],
    ));
    // What the collection keeps is again such a file.
    let stored = home.data().join("collections/default.toml");
    assert!(
        std::fs::read_to_string(&stored)
            .unwrap()
            .contains("max-pages = 3")
    );
    let again = Home::new();
    again.good(&[
        "crawl",
        "--config",
        stored.to_str().unwrap(),
        "--max-pages",
        "2",
    ]);
    assert_eq!(again.status()["fetched"], 2);
}

#[test]
fn seeds_come_from_arguments_files_and_standard_input() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    let web = server.web();
    let home = Home::new();
    let file = home.write(
        "seeds.txt",
        &format!("# two hosts\n{}\n\n{}\n", web.front(1), web.front(2)),
    );
    let resolve = format!("*.test={}", server.addr());
    let options = ["--resolve", &resolve, "--delay", "0s", "--max-depth", "0"];
    home.good(&[&["crawl", &web.front(0), "--seeds", &file], &options[..]].concat());
    let ended = home
        .start_with(
            &[&["crawl", "--seeds", "-"], &options[..]].concat(),
            web.front(3).as_bytes(),
        )
        .wait(support::LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let asked: BTreeSet<String> = support::requested(&server.log()).into_keys().collect();
    assert_same(
        "seeds",
        &asked,
        &(0..4).map(|host| web.front(host)).collect(),
    );
    assert_eq!(home.status()["fetched"], 4);
}

#[test]
fn no_escape_codes_where_nobody_sees_them() {
    let server = Server::start(
        WebConfig {
            missing: 1,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let home = Home::new();
    let front = server.web().front(0);
    let commands: [&[&str]; 6] = [
        &["status"],
        &["stats"],
        &["page", &front],
        &["crawl", "--nonsense"],
        &["crawl", "--help"],
        &["config"],
    ];
    let mut all = vec![home.run(&crawl(&home, &server, "5ms", &[]))];
    all.extend(commands.iter().map(|arguments| home.run(arguments)));
    for ended in all {
        assert!(
            !ended.out.contains(&0x1b),
            "{}",
            String::from_utf8_lossy(&ended.out)
        );
        assert!(!ended.err.contains('\u{1b}'), "{:?}", ended.err);
    }
}

#[test]
fn the_summary_has_a_row_for_each_outcome() {
    let (_, home, _) = collected();
    let told = home.good(&["stats"]);
    for word in ["200", "302", "404", "text/html", "h0.web.test", "%"] {
        assert!(told.contains(word), "no {word} in {told}");
    }
    let told = home.json(&["stats", "--json"]);
    assert!(told.to_string().contains("\"404\""), "{told}");
}

#[test]
fn check_lang_names_the_language_of_each_line() {
    let texts = "A cidade fica na margem direita do rio e tem uma ponte muito antiga.\n\
                 La ciudad está en la orilla derecha del río y tiene un puente muy antiguo.\n\
                 The town lies on the right bank of the river and has a very old bridge.\n";
    let answers = Home::new().json_lines(&["check", "lang", "-"], texts);
    let languages: Vec<&str> = answers
        .iter()
        .map(|answer| answer["language"].as_str().unwrap())
        .collect();
    assert_eq!(languages, ["pt", "es", "en"]);
    assert!(answers.iter().all(|it| it["confidence"].is_number()));
}
