//! What `teia search` shows of what was collected, what it hides, and what `teia rank` says, through the real program.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use serde_json::Value;
use support::{Home, Plain};

fn hits(answer: &Value) -> Vec<&Value> {
    answer["hits"].as_array().unwrap().iter().collect()
}

#[test]
fn wishes_of_authors_about_snippets_are_heard() {
    let site = Plain::start(|path| {
        let page = |head: &str| {
            let body = format!(
                "<nav><a href=/none>Home</a><a href=/max>About</a><a href=/past>News</a></nav>\
                 <p>The blackbird sings in the garden of the old house every morning in spring.</p>\
                 <div data-nosnippet>The blackbird costs twenty crowns.</div><p>This is {path}."
            );
            (200, format!("<title>Birds</title>{head}{body}"))
        };
        match path {
            "/" => page(""),
            "/none" => page("<meta name=robots content=nosnippet>"),
            "/max" => page("<meta name=robots content='max-snippet:30'>"),
            "/past" => page(
                "<meta name=robots content='unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT'>",
            ),
            _ => (404, String::new()),
        }
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let answer = home.json(&["search", "blackbird", "--json", "--all"]);
    let snippet = |path: &str| {
        let url = site.url(path);
        let found = hits(&answer).into_iter().find(|hit| hit["url"] == *url);
        found.map(|hit| hit["snippet"].as_str().unwrap().to_owned())
    };
    let usual = snippet("/").unwrap();
    assert!(usual.contains("The blackbird sings"), "{usual}");
    assert!(
        !usual.contains("Home") && !usual.contains("crowns"),
        "{usual}"
    );
    assert_eq!(snippet("/none").unwrap(), "");
    let short = snippet("/max").unwrap();
    assert!(short.chars().count() <= 30 && short.len() > 10, "{short}");
    assert_eq!(snippet("/past"), None, "{answer}");
    let menu = home.json(&["search", "about", "--json"]);
    let shown = hits(&menu)[0]["snippet"].as_str().unwrap();
    assert!(shown.contains("Home About News"), "{menu}");
}

#[test]
fn results_with_nearly_the_same_text_are_shown_when_asked_for() {
    let words: String = (0..400).map(|n| format!("word{n} ")).collect();
    let site = Plain::start(move |path| match path {
        "/" => (200, "<a href=/1>one</a> <a href=/2>two</a>".to_owned()),
        "/1" | "/2" => (200, format!("<p>{words} at the end {path}")),
        _ => (404, String::new()),
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let grouped = home.json(&["search", "word7", "--json"]);
    assert_eq!(
        (&grouped["total"], &grouped["distinct"]),
        (&2.into(), &1.into())
    );
    assert_eq!(hits(&grouped).len(), 1);
    assert_eq!(hits(&grouped)[0]["similar"], 1);
    let all = home.json(&["search", "word7", "--json", "--all"]);
    assert_eq!((&all["total"], &all["distinct"]), (&2.into(), &2.into()));
    assert_eq!(hits(&all).len(), 2);
    let said = home.good(&["search", "word7"]);
    assert!(said.contains("and 1 like them (--all)"), "{said}");
    assert!(
        !home
            .good(&["search", "word7", "--all"])
            .contains("like them")
    );
}

#[test]
fn a_url_of_two_collections_is_one_result_that_names_both() {
    let site = Plain::start(|path| match path {
        "/a" => (200, "<title>A</title><p>the curlew calls".to_owned()),
        _ => (404, String::new()),
    });
    let home = Home::new();
    for name in ["first", "second"] {
        home.good(&[
            "crawl",
            &site.url("/a"),
            "--delay",
            "0s",
            "--collection",
            name,
        ]);
    }
    let answer = home.json(&["search", "curlew", "--json"]);
    assert_eq!(
        (&answer["total"], hits(&answer).len()),
        (&1.into(), 1),
        "{answer}"
    );
    assert_eq!(
        hits(&answer)[0]["collections"],
        serde_json::json!(["second", "first"])
    );
    let said = home.good(&["search", "curlew"]);
    assert!(
        said.contains("1 result") && said.contains("second and first"),
        "{said}"
    );
    let one = home.json(&["search", "curlew", "--json", "--collection", "first"]);
    assert_eq!(hits(&one)[0]["collections"], serde_json::json!(["first"]));
}

#[test]
fn fresh_pages_come_first_when_asked_for() {
    let site = Plain::start(|path| match path {
        "/old" => (
            200,
            "<title>Heron</title><p>heron heron heron by the river".to_owned(),
        ),
        "/new" => (
            200,
            "<title>River</title><p>a heron stood there by the long river today".to_owned(),
        ),
        _ => (404, String::new()),
    });
    let home = Home::new();
    // Collected long ago, as far as the program is told.
    home.good(&[
        "crawl",
        &site.url("/old"),
        &site.url("/new"),
        "--delay",
        "0s",
    ]);
    let first = |sort: &str| {
        let answer = home.json(&["search", "heron", "--json", "--sort", sort]);
        hits(&answer)[0]["score"].as_f64().unwrap()
    };
    // Both are fresh: each counts for twice as much, in the same order.
    let (usual, fresh) = (first("relevance"), first("fresh"));
    assert!((fresh / usual - 2.0).abs() < 0.01, "{usual} {fresh}");
    assert!(home.run(&["search", "x", "--sort", "newest"]).code == Some(2));
}

#[test]
fn pages_are_ranked_as_seen_from_some_of_them_and_nothing_is_written() {
    let site = Plain::start(|path| {
        let link = |to: &str| format!("<a href={to}>{to}</a> ");
        match path {
            "/" => (200, link("/a") + &link("/b") + &link("/c")),
            "/a" => (200, link("/far") + &link("/")),
            "/b" => (200, link("/") + &link("/c")),
            "/c" => (200, link("/") + &link("/b")),
            "/far" => (200, link("/a")),
            _ => (404, String::new()),
        }
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let file = home.data().join("default/links/rank");
    let before = std::fs::read(&file).unwrap();
    let usual = home.json(&["rank", "--json"]);
    assert_eq!(usual["pages"][0]["url"], site.url("/").as_str());
    let far = site.url("/far");
    let seen = home.json(&["rank", "--for", &far, "--json", "--top", "3"]);
    let pages = seen["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 3);
    // Surfers begin at /far and go to /a: those two lead, which they do not otherwise.
    let urls: Vec<&str> = pages
        .iter()
        .map(|page| page["url"].as_str().unwrap())
        .collect();
    assert!(
        urls[..2].contains(&far.as_str()) && urls[..2].contains(&&*site.url("/a")),
        "{urls:?}"
    );
    // By the power method over these links: 0.85 followed, 0.15 begun anew at /far.
    let rank = |url: &str| {
        let row = pages.iter().find(|row| row["url"] == url).unwrap();
        row["rank"].as_f64().unwrap()
    };
    assert!((rank(&far) - expected(4)).abs() < 1e-6, "{seen}");
    assert!((rank(&site.url("/a")) - expected(1)).abs() < 1e-6, "{seen}");
    // A host stands for all of its pages.
    let host = home.json(&["rank", "--for", "127.0.0.1", "--json"]);
    let sum: f64 = host["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["rank"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-6, "{host}");
    let said = home.good(&["rank", "--for", &far]);
    assert!(
        said.contains("as seen from") && said.contains("stay as they are"),
        "{said}"
    );
    let ended = home.run(&["rank", "--for", &site.url("/nowhere")]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("not in the link graph"), "{}", ended.err);
    assert_eq!(
        std::fs::read(&file).unwrap(),
        before,
        "ranks stay as they are"
    );
}

/// Ranks of `/`, `/a`, `/b`, `/c`, `/far` of the test above, as seen from `/far`.
fn expected(node: usize) -> f64 {
    let links: [&[usize]; 5] = [&[1, 2, 3], &[4, 0], &[0, 3], &[0, 2], &[1]];
    let mut ranks = [0.2_f64; 5];
    for _ in 0..500 {
        let mut next = [0.0, 0.0, 0.0, 0.0, 0.15];
        for (from, targets) in links.iter().enumerate() {
            for &to in *targets {
                next[to] += 0.85 * ranks[from] / f64::from(u8::try_from(targets.len()).unwrap());
            }
        }
        ranks = next;
    }
    ranks[node]
}

/// Whoever asked for it did not ask one collection: the others neither find it, nor show it, nor give it away; also when the
/// collection is deleted whose list has it.
#[test]
fn ui_32_what_was_removed_from_one_collection_is_shown_by_none() {
    let site = Plain::start(|path| match path {
        "/" => (200, "<a href=/one>one</a> dunlin".to_owned()),
        "/one" => (200, "<title>One</title><p>a dunlin".to_owned()),
        _ => (404, String::new()),
    });
    let home = Home::new();
    for name in ["alpha", "beta"] {
        home.good(&[
            "crawl",
            &site.url("/"),
            "--delay",
            "0s",
            "--collection",
            name,
        ]);
    }
    let one = site.url("/one");
    let of_alpha = |command: &[&str]| home.run(&[command, &["--collection", "alpha"]].concat());
    let found = || {
        let json = of_alpha(&["search", "dunlin", "--json"]).text();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["total"].as_u64().unwrap()
    };
    let check = |is_hidden: bool| {
        assert_eq!(found(), if is_hidden { 1 } else { 2 });
        assert_eq!(of_alpha(&["get", &one]).code, Some(i32::from(is_hidden)));
        let told = of_alpha(&["page", &one]).text();
        assert_eq!(told.contains("removed on request"), is_hidden, "{told}");
        let told = of_alpha(&["page", &one, "--json"]).text();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["removed"], is_hidden, "{told}");
        let exported = of_alpha(&["export", "cdxj"]).text();
        assert_eq!(exported.contains("/one\""), !is_hidden, "{exported}");
    };
    check(false);
    home.good(&["remove", &one, "--collection", "beta"]);
    check(true);
    home.good(&["remove", &one, "--collection", "beta", "--restore"]);
    check(false);
    home.good(&["remove", &one, "--collection", "beta"]);
    home.good(&["collection", "remove", "beta", "--yes"]);
    check(true);
    home.good(&["remove", &one, "--collection", "alpha", "--restore"]);
    check(false);
}

#[test]
fn ui_32_what_was_removed_stays_away_through_a_rebuild() {
    let site = Plain::start(|path| match path {
        "/" => (
            200,
            "<a href=/one>one</a> <a href=/two>two</a> lapwing".to_owned(),
        ),
        "/one" => (
            200,
            "<title>One</title><p>the lapwing of the first page".to_owned(),
        ),
        "/two" => (
            200,
            "<title>Two</title><p>the lapwing of the second page".to_owned(),
        ),
        _ => (404, String::new()),
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let found = || {
        home.json(&["search", "lapwing", "--json"])["total"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(found(), 3);
    let one = site.url("/one");
    assert_eq!(home.run(&["get", &one]).code, Some(0));
    for (what, left) in [(["--url", one.as_str()], 2), (["--host", "127.0.0.1"], 0)] {
        let arguments: Vec<&str> = match what {
            ["--url", url] => vec!["remove", url],
            [option, host] => vec!["remove", option, host],
        };
        home.good(&arguments);
        for _ in 0..2 {
            assert_eq!(found(), left, "{what:?}");
            assert_ne!(home.run(&["get", &one]).code, Some(0), "{what:?}");
            home.good(&["index", "rebuild"]);
        }
    }
}
