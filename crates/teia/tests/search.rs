//! What was collected is found: the index and the link graph as followers of the journal, through
//! the real program.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use support::{Home, Plain, assert_same, crawl, until};
use teia_base::journal::Attempt;
use teia_base::{CanonicalUrl, Flags};
use teia_graph::{GraphConfig, Snapshot};
use teia_search::{SearchConfig, SearchRequest, Searcher, Weights};
use teia_testweb::{Listen, Server, WebConfig};

fn searcher(home: &Home) -> Searcher {
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    let path = home.data().join("default/index");
    searcher.open("default", &path).unwrap();
    searcher
}

/// Every address at which a query finds something, the others of the same text too.
fn found(searcher: &Searcher, query: &str) -> BTreeSet<String> {
    let request = SearchRequest {
        limit: 50,
        group_similar: false,
        ..SearchRequest::new(query)
    };
    let hits = searcher.search(&request).unwrap().hits;
    // A feed has the words of the pages that it tells of.
    hits.into_iter()
        .filter(|hit| hit.media_type == "text/html")
        .flat_map(|hit| hit.other_addresses.into_iter().chain([hit.url]))
        .collect()
}

/// Pages with a marker that the journal has as kept, and the others that were answered.
fn pages(home: &Home, server: &Server) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut kept, mut out) = (BTreeMap::new(), BTreeMap::new());
    let is_page = |attempt: &&Attempt| {
        attempt.outcome.is_ok() && attempt.media_type.as_deref() == Some("text/html")
    };
    for attempt in home.attempts().iter().filter(is_page) {
        let url = attempt.url.normal().to_string();
        let Some((host, place)) = server.web().locate(attempt.url.request()) else {
            continue;
        };
        let marker = server.web().marker(host, place);
        let refused = attempt.flags.has(Flags::NOINDEX) || attempt.flags.has(Flags::NOT_KEPT);
        if refused {
            out.insert(url, marker);
        } else {
            kept.insert(url, marker);
        }
    }
    (kept, out)
}

/// Every kept page is found by its own word, and no other.
#[track_caller]
fn assert_complete(home: &Home, server: &Server) -> usize {
    let (kept, out) = pages(home, server);
    let searcher = searcher(home);
    let mut by_marker: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
    for (url, marker) in &kept {
        by_marker.entry(marker).or_default().insert(url.clone());
    }
    for (marker, want) in &by_marker {
        assert_same(marker, &found(&searcher, marker), want);
    }
    for (url, marker) in &out {
        let found = found(&searcher, marker);
        assert!(!found.contains(url), "{url} asks to be left out");
    }
    kept.len()
}

/// The first ten of many queries: words of titles, two at a time, and whole titles.
fn top_tens(home: &Home, queries: &[String]) -> Vec<Vec<(String, String)>> {
    let searcher = searcher(home);
    let ten = |query: &String| {
        let hits = searcher.search(&SearchRequest::new(query)).unwrap().hits;
        hits.iter()
            .map(|hit| (hit.url.clone(), format!("{:.3}", hit.score)))
            .collect()
    };
    queries.iter().map(ten).collect()
}

fn queries(home: &Home) -> Vec<String> {
    let titles: BTreeSet<String> = home
        .attempts()
        .iter()
        .map(|attempt| attempt.title.clone())
        .filter(|title| title.split(' ').count() > 3)
        .collect();
    let mut queries = Vec::new();
    for title in titles {
        let words: Vec<&str> = title.split(' ').collect();
        queries.push(words[..2].join(" "));
        queries.push(format!("\"{}\"", words[..2].join(" ")));
        queries.push(format!("+{} {}", words[0], words[1]));
    }
    queries.truncate(200);
    queries
}

/// Every link that the graph has, in order.
fn links(home: &Home) -> BTreeSet<String> {
    let text = home.good(&["export", "links"]);
    text.lines().skip(1).map(str::to_owned).collect()
}

/// The links that the journal's last word on each page implies.
fn links_of_journal(home: &Home) -> BTreeSet<(String, String)> {
    let mut pages: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for attempt in home.attempts() {
        let (url, outcome) = (attempt.url.normal().to_string(), attempt.outcome);
        if attempt.is_robots() || !(outcome.is_ok() || outcome.is_redirect()) {
            continue;
        }
        let to = |link: &teia_base::journal::LinkRecord| link.url.normal().to_string();
        let links = attempt.links.iter().map(|link| (url.clone(), to(link)));
        pages.insert(url.clone(), links.collect());
    }
    pages.into_values().flatten().collect()
}

fn as_pairs(links: &BTreeSet<String>) -> BTreeSet<(String, String)> {
    let pair = |line: &String| {
        let mut columns = line.split('\t').map(str::to_owned);
        (columns.next().unwrap(), columns.next().unwrap())
    };
    links.iter().map(pair).collect()
}

#[test]
fn every_kept_page_is_found_by_its_own_words_and_a_rebuild_finds_the_same() {
    let config = WebConfig {
        slow: 0,
        sessions: 0, // Of one text at very many addresses, only some are told.
        calendar: false,
        ..WebConfig::everything(11)
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--report", "json"]));
    let complete = assert_complete(&home, &server);
    assert!(complete > 150, "{complete} pages");
    let (_, out) = pages(&home, &server);
    assert!(!out.is_empty(), "some pages ask to be left out");

    // The text of a copy is indexed once, and both addresses are told.
    let copies = home.attempts().into_iter().filter(|attempt| {
        attempt.flags.has(Flags::DUPLICATE)
            && attempt.media_type.as_deref() == Some("text/html")
            && !attempt.flags.has(Flags::NOINDEX)
    });
    let copy = copies.map(|copy| copy.url.request().to_owned()).next();
    let (host, place) = server.web().locate(&copy.unwrap()).unwrap();
    let answer = home.json(&[
        "search",
        &format!("{} -inurl:feed", server.web().marker(host, place)),
        "--json",
    ]);
    assert_eq!(answer["total"], 1, "{answer}");
    assert!(
        answer["hits"][0]["other_addresses"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    );

    assert_eq!(as_pairs(&links(&home)), links_of_journal(&home));
    let queries = queries(&home);
    assert_eq!(queries.len(), 200);
    let before = top_tens(&home, &queries);
    assert!(before.iter().filter(|ten| ten.len() > 3).count() > 100);
    let (documents, graph) = (searcher(&home).documents().unwrap(), links(&home));
    let said = home.good(&["index", "rebuild"]);
    assert!(said.contains("made anew"), "{said}");
    assert_eq!(searcher(&home).documents().unwrap(), documents);
    assert_eq!(top_tens(&home, &queries), before);
    // And with the graph made anew under it.
    home.good(&["index", "rebuild", "--links"]);
    assert_eq!(links(&home), graph);
    assert_eq!(top_tens(&home, &queries), before);
    assert_complete(&home, &server);
    let leftover = |name: &str| home.data().join("default").join(name).exists();
    assert!(!leftover("index.new") && !leftover("index.old"));
}

#[test]
fn killed_and_resumed_index_and_graph_are_complete_and_equal_to_a_rebuild() {
    let config = WebConfig {
        seed: 5,
        hosts: 4,
        pages_per_host: 60,
        copies: 2,
        missing: 2,
        redirects: 2,
        latency: Duration::from_millis(5),
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    // Committed often, so that kills fall before, within and after commits of the followers.
    let settings = "[run]\nalias-pages = 0\njournal-segment-bytes = \"8KiB\"\njournal-bytes = \"8KiB\"\n[index]\ncommit-every = \"200ms\"\n[links]\ncommit-every = \"150ms\"\nrank-every = \"300ms\"\n";
    // Sixty requests to a host, 70 ms apart, last longer than all that is waited for before the kills.
    let first = support::crawl_with(&home, &server, "70ms", settings, &[]);
    let mut running = home.start(&first);
    for wait in [900, 350, 1300, 600] {
        let ended = running.ends_within(Duration::from_millis(wait));
        assert!(ended.is_none(), "it ended before it was killed");
        running.kill();
        running = home.start(&["resume"]);
    }
    let ended = running.wait(support::LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let all = server.web().depth_map(&[server.web().front(0)], None);
    let good = |url: &&String| server.web().expected_status(url) == Some(200);
    let want = all.keys().filter(good).count();
    assert_eq!(assert_complete(&home, &server), want);
    assert_eq!(as_pairs(&links(&home)), links_of_journal(&home));
    let queries = queries(&home);
    let before = (top_tens(&home, &queries), links(&home));
    home.good(&["index", "rebuild", "--links"]);
    assert_eq!((top_tens(&home, &queries), links(&home)), before);
    assert_complete(&home, &server);
}

#[test]
fn a_page_is_found_while_the_crawl_runs_in_another_process() {
    let config = WebConfig {
        hosts: 1,
        pages_per_host: 400,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let mut running = home.start(&crawl(&home, &server, "200ms", &[]));
    let (host, place) = server.web().locate(&server.web().front(0)).unwrap();
    let marker = server.web().marker(host, place);
    until("the front page to be found", || {
        let ended = home.run(&["search", &marker, "--json"]);
        let answer: Option<Value> = serde_json::from_slice(&ended.out).ok();
        answer.is_some_and(|answer| answer["hits"][0]["url"] == server.web().front(0))
    });
    assert!(running.ends_within(Duration::ZERO).is_none());
    // What an interrupt leaves in the index is what was applied; it ends quickly.
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.wait(Duration::from_secs(20)).code, Some(130));
    let answer = home.json(&["search", &marker, "--json"]);
    assert_eq!(answer["total"], 1);
}

/// With the settings as they are: the next page of a chain is answered only when the one before it was found by another process,
/// so that nothing is committed in between. How long that took is told by the run's own times.
#[test]
fn each_page_is_found_before_another_one_is_committed() {
    const PAGES: usize = 4;
    let found = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&found);
    let site = Plain::start(move |path| match path.trim_start_matches('/').parse() {
        Ok(page) if page < PAGES => {
            while seen.load(Ordering::SeqCst) < page {
                std::thread::sleep(Duration::from_millis(5));
            }
            let next = page + 1;
            let text = format!("<title>{page}</title><p>matter{page}x</p><a href=/{next}>on</a>");
            (200, text)
        }
        _ => (404, String::new()),
    });
    let home = Home::new();
    let mut running = home.start(&["crawl", &site.url("/0"), "--delay", "0s"]);
    for page in 0..PAGES - 1 {
        let word = format!("matter{page}x");
        until("a page to be found", || {
            let ended = home.run(&["search", &word, "--json"]);
            let answer: Option<Value> = serde_json::from_slice(&ended.out).ok();
            answer.is_some_and(|answer| answer["hits"][0]["url"] == site.url(&format!("/{page}")))
        });
        assert!(running.ends_within(Duration::ZERO).is_none());
        let last = home.attempts().pop().unwrap();
        assert_eq!(last.url.request(), site.url(&format!("/{page}")));
        found.store(page + 1, Ordering::SeqCst);
    }
    assert_eq!(running.wait(Duration::from_secs(30)).code, Some(0));
    let attempts = home.attempts();
    let starts: Vec<i64> = attempts.iter().map(|one| one.started.as_micros()).collect();
    let waits = starts.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6);
    eprintln!(
        "seconds from one page to the next: {:.1?}",
        waits.collect::<Vec<_>>()
    );
}

#[test]
fn collections_are_searched_together_and_one_of_them_alone() {
    let site = Plain::start(|path| match path {
        "/a" => (
            200,
            "<title>Melros</title><p>O melro canta no jardim da aldeia.</p>".to_owned(),
        ),
        "/b" => (
            200,
            "<title>Corvos</title><p>O corvo canta pior do que o melro.</p>".to_owned(),
        ),
        _ => (404, String::new()),
    });
    let home = Home::new();
    for name in ["a", "b"] {
        let seed = site.url(&format!("/{name}"));
        home.good(&["crawl", &seed, "--delay", "0s", "--collection", name]);
    }
    let urls = |arguments: &[&str]| -> BTreeSet<String> {
        let answer = home.json(&[&["search", "canta", "--json"], arguments].concat());
        let hits = answer["hits"].as_array().unwrap();
        assert_eq!(answer["total"], hits.len());
        hits.iter()
            .map(|hit| hit["url"].as_str().unwrap().to_owned())
            .collect()
    };
    let (a, b) = (site.url("/a"), site.url("/b"));
    assert_same("both", &urls(&[]), &[a, b.clone()].into());
    assert_same("one", &urls(&["--collection", "b"]), &[b].into());
    // The fields of the contract, and their types.
    let answer = home.json(&["search", "melro", "--json", "--limit", "1"]);
    let hit = &answer["hits"][0];
    assert!(answer["seconds"].is_f64() && answer["hits"].as_array().unwrap().len() == 1);
    for field in ["url", "title", "snippet", "language", "fetched_at"] {
        assert!(hit[field].is_string(), "{field} in {hit}");
    }
    assert!(hit["score"].is_f64() && hit["language"] == "pt", "{hit}");
    assert!(hit["snippet"].as_str().unwrap().contains("melro"));
    // For people: title, address, text; and what was repaired or may have been meant.
    let ended = home.run(&["search", "\"canta no jardim", "--collection", "a"]);
    let said = ended.text();
    assert!(said.contains("Melros") && said.contains("/a") && said.contains("canta no jardim"));
    assert!(ended.err.contains("quotation mark"), "{}", ended.err);
    let said = home.good(&["search", "jardin"]);
    assert!(said.contains("Did you mean: jardim"), "{said}");
    // Where nothing is shown, what is said fits the reason.
    let said = home.good(&["search", "title:"]);
    assert!(
        said.contains("give it words") && !said.contains("Nothing was found"),
        "{said}"
    );
    let said = home.good(&["search", "canta", "--offset", "7"]);
    assert!(
        said.contains("2 results in all: none from number 8 on"),
        "{said}"
    );
    let said = home.good(&["search", "rinoceronte"]);
    assert!(said.contains("Nothing was found in"), "{said}");
    let ended = home.run(&["search", "x", "--collection", "none"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
}

/// What rules of now leave out was kept by those of before.
#[test]
fn a_page_that_is_excluded_leaves_the_index_and_comes_back_with_the_rule() {
    let site = Plain::start(|path| {
        let text = match path {
            "/" => "<a href=/open/1>one</a> <a href=/shut/1>two</a>",
            "/open/1" => "<title>Open</title><p>heronword in the open</p>",
            "/shut/1" => "<title>Shut</title><p>heronword behind it</p><a href=/open/2>on</a>",
            "/open/2" => "<title>Open too</title><p>nothing here</p>",
            _ => return (404, String::new()),
        };
        (200, text.to_owned())
    });
    let seed = site.url("/");
    for (mode, memory) in [
        ("once", "512MiB"),
        ("once", "4KiB"),
        ("periodic", "512MiB"),
        ("periodic", "4KiB"),
    ] {
        let home = Home::new();
        home.good(&["collection", "new", "default", &seed]);
        let mode_is = format!("mode={mode}");
        let memory_is = format!("run.repository-memory={memory}");
        let edit = ["collection", "edit", "default", "--set", &mode_is, "--set"];
        home.good(&[&edit[..], &[memory_is.as_str()]].concat());
        let urls = || -> BTreeSet<String> {
            let answer = home.json(&["search", "heronword", "--json"]);
            let hits = answer["hits"].as_array().unwrap().iter();
            hits.map(|hit| hit["url"].as_str().unwrap().to_owned())
                .collect()
        };
        let (open, shut) = (site.url("/open/1"), site.url("/shut/1"));
        let both = BTreeSet::from([open.clone(), shut.clone()]);
        let what = format!("{mode}, {memory}");
        home.good(&["crawl", "--delay", "0s"]);
        assert_same(&what, &urls(), &both);
        home.good(&["crawl", "--delay", "0s", "--exclude", "/shut/"]);
        assert_same(&what, &urls(), &[open.clone()].into());
        let page = home.json(&["page", &shut, "--json"]);
        assert_eq!(page["state"], "excluded", "{what}: {page}");
        assert!(
            page["excluded_by"]["rule"].to_string().contains("/shut/"),
            "{what}: {page}"
        );
        home.good(&["index", "rebuild"]);
        assert_same("rebuilt", &urls(), &[open].into());
        home.good(&["crawl", "--delay", "0s", "--exclude", ""]);
        assert_same("again", &urls(), &both);
    }
}

#[test]
fn an_index_that_cannot_be_read_is_told_with_what_the_system_said() {
    let site = Plain::start(|_| (200, "<title>Melros</title><p>O melro canta.</p>".to_owned()));
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s", "--max-pages", "1"]);
    let place = home.data().join("default/index/meta.json");
    // Whoever may read everything, as tests often do, cannot read a folder as a file either.
    std::fs::rename(&place, home.data().join("meta")).unwrap();
    std::fs::create_dir(&place).unwrap();
    let ended = home.run(&["search", "melro"]);
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains("directory"), "{}", ended.err);
    // Nothing is wrong with the index itself: building it anew is not what helps.
    assert!(!ended.err.contains("rebuild"), "{}", ended.err);
    std::fs::remove_dir(&place).unwrap();
    std::fs::write(&place, "{ no longer an index").unwrap();
    let ended = home.run(&["search", "melro"]);
    assert!(ended.err.contains("index rebuild"), "{}", ended.err);
    std::fs::rename(home.data().join("meta"), &place).unwrap();
    assert!(home.good(&["search", "melro"]).contains("Melros"));
}

#[test]
fn without_an_index_there_are_no_links_either_and_with_one_again_nothing_is_missing() {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 20,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(
        &home,
        &server,
        "0s",
        &["--no-index", "--max-pages", "15"],
    ));
    let ended = home.run(&["search", "teia"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("no search index"), "{}", ended.err);
    assert!(links(&home).is_empty());
    home.good(&["resume", "--index", "--max-pages", "none"]);
    assert_eq!(assert_complete(&home, &server), 40);
}

/// Without an archive there is nothing to read a text from again: an interrupt leaves none of them out.
#[test]
fn without_an_archive_an_interrupt_leaves_nothing_out_of_the_index() {
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 120,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let mut arguments = crawl(&home, &server, "10ms", &["--no-archive"]);
    for pages in [60, 160_usize] {
        let running = home.start(&arguments);
        until("some pages are fetched", || {
            server.log().entries.len() > pages
        });
        running.signal(rustix::process::Signal::INT);
        assert_eq!(running.wait(Duration::from_secs(60)).code, Some(130));
        arguments = vec!["resume".to_owned()];
    }
    home.good(&["resume", "--delay", "0s"]);
    assert_complete(&home, &server);
}

/// A run that has fetched everything and waits for its index can still be told to end.
#[test]
fn whoever_ends_a_run_does_not_wait_for_its_index() {
    // Large pages: collected in a moment, and indexed in many times the second after which it says
    // that it waits.
    let config = WebConfig {
        hosts: 4,
        pages_per_host: 500,
        page_bytes: 64 * 1024,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--no-index"]));
    let running = home.start(&["resume", "--index"]);
    until("the run has fetched all and waits", || {
        running.said().contains("waiting until")
    });
    running.signal(rustix::process::Signal::INT);
    let ended = running.wait(Duration::from_secs(60));
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("the next run goes on"), "{}", ended.err);
    home.good(&["resume", "--index"]);
    assert!(assert_complete(&home, &server) > 1500);
}

#[test]
fn a_damaged_index_and_graph_are_built_anew_by_themselves() {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 20,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--max-pages", "30"]));
    let graph = home.data().join("default/links");
    let overwrite = |path: &Path| std::fs::write(path, b"something else").unwrap();
    overwrite(&home.data().join("default/index/meta.json"));
    overwrite(&graph.join("manifest"));
    let ended = home.run(&["resume", "--max-pages", "none"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.err.contains("built anew from the archive"),
        "{}",
        ended.err
    );
    assert!(
        ended.err.contains("built anew from the journal"),
        "{}",
        ended.err
    );
    assert_eq!(assert_complete(&home, &server), 40);
    assert_eq!(as_pairs(&links(&home)), links_of_journal(&home));
}

#[test]
fn links_and_ranks_are_told_of_a_page() {
    let site = Plain::start(|path| {
        let link = |to: &str, text: &str| format!("<a href={to}>{text}</a> ");
        match path {
            "/" => (
                200,
                link("/a", "alpha") + &link("/b", "beta") + &link("/hub", "hub"),
            ),
            "/a" | "/b" => (
                200,
                format!("page {path} ") + &link("/hub", "the centre") + &link("/", "home"),
            ),
            "/hub" => (
                200,
                "<title>Hub</title>nothing but <a href=/>home</a>".to_owned(),
            ),
            _ => (404, String::new()),
        }
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let hub = home.json(&["page", &site.url("/hub"), "--json"]);
    assert_eq!(hub["in_links"]["count"], 3, "{hub}");
    assert_eq!(hub["links_out"]["count"], 1);
    assert_eq!(hub["rank"]["in_links"], 3);
    let part = home.json(&[
        "page",
        &site.url("/hub"),
        "--json",
        "--limit",
        "1",
        "--offset",
        "2",
    ]);
    assert_eq!(part["in_links"]["links"].as_array().unwrap().len(), 1);
    let said = home.good(&["page", &site.url("/hub"), "--limit", "2"]);
    for text in [
        "Links in (3)",
        "the centre",
        "1 more: --offset 2",
        "Links out (1)",
        "times the mean",
    ] {
        assert!(said.contains(text), "no {text:?} in {said}");
    }
    // A page is found by what others call it, and its rank is in the index.
    let answer = home.json(&["search", "centre", "--json"]);
    assert_eq!(
        answer["hits"][0]["url"],
        site.url("/hub").as_str(),
        "{answer}"
    );
    let front = home.json(&["search", "inurl:hub centre", "--json"]);
    assert!(front["hits"][0]["rank"].as_f64().unwrap() > 0.0, "{front}");
    let ranks = home.json(&["rank", "--json"]);
    assert_eq!(
        ranks["computed"],
        Value::Null,
        "nothing has changed: {ranks}"
    );
    let sum: f64 = ranks["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["rank"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-6, "{ranks}");
    let snapshot = Snapshot::open(
        &*home.reading().files(),
        Path::new("default/links"),
        &GraphConfig::default(),
    )
    .unwrap();
    let url = CanonicalUrl::parse(&site.url("/hub")).unwrap();
    assert_eq!(snapshot.counts(&url).unwrap().unwrap().in_links, 3);
}

#[test]
fn the_demo_proposes_a_search_that_finds_something() {
    let home = Home::new();
    let data = home.beside("demo");
    let said = home.good(&["demo", "--no-serve", "--data", data.to_str().unwrap()]);
    let lines: Vec<&str> = said.trim_end().lines().rev().take(4).collect();
    let proposed = lines.iter().find(|line| line.contains(" search '"));
    let proposed = proposed.unwrap_or_else(|| panic!("no search in the last lines of {said}"));
    let query = proposed.split('\'').nth(1).unwrap();
    let answer = home.json(&["search", query, "--json", "--data", data.to_str().unwrap()]);
    assert!(answer["total"].as_u64().unwrap() > 0, "{answer}");
}

#[test]
fn without_an_archive_a_damaged_index_is_kept_aside() {
    let config = WebConfig {
        hosts: 1,
        pages_per_host: 20,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let arguments = crawl(&home, &server, "0s", &["--no-archive"]);
    home.good(&arguments);
    let index = home.data().join("default/index");
    std::fs::write(index.join("meta.json"), "{").unwrap();
    let ended = home.run(&["resume"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("index.damaged"), "{}", ended.err);
    assert!(!ended.err.contains("from the archive"), "{}", ended.err);
    let kept = home.data().join("default/index.damaged/meta.json");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "{");
}
