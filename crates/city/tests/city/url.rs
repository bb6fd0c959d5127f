//! URLs, as links and seeds bring them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use teia_archive::Captures;
use teia_base::filter::FilterConfig;
use teia_base::scope::Scope;
use teia_base::{CanonicalUrl, Files, Flags, NormalForm, Outcome, Seed};
use teia_city::{Door, Step};
use teia_engine::{CollectionConfig, Layout, Mode};
use teia_fetch::FetchConfig;
use url::Url;

use crate::searching::Searchable;
use crate::support::{
    Crawled, Visit, answer, crawl, crawl_config, get, limits, open_answers, open_site, outcome,
    thread_time,
};

/// The normal form, or `None` where there is none.
fn normal(text: &str) -> Option<String> {
    CanonicalUrl::parse(text)
        .ok()
        .map(|url| url.as_str().to_owned())
}

#[track_caller]
fn is(text: &str, wanted: &str) {
    assert_eq!(normal(text).as_deref(), Some(wanted), "{text:?}");
}

#[track_caller]
fn is_none(text: &str) {
    assert_eq!(normal(text), None, "{text:?}");
}

fn resolved(base: &str, reference: &str) -> Option<String> {
    let base = Url::parse(base).unwrap();
    let found = NormalForm::default().resolve(&base, reference).ok()?;
    Some(found.normal().as_str().to_owned())
}

fn html(body: &str) -> Vec<Step> {
    vec![Step::say(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))]
}

/// Crawls a page with these links, and the next page of its host.
fn crawl_links(links: &str) -> (Door, Crawled) {
    let door = open_answers(vec![html(links), html("<title>found</title>")]);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    (door, crawled)
}

/// A page at `http://a.test:12345/`, wherever the door is, and settings that lead there.
fn of_fixed_length(links: &str) -> (Door, CollectionConfig, String) {
    let door = open_answers(vec![html(links), html("<title>found</title>")]);
    let mut config = crawl_config();
    config.fetch.resolve = vec![format!("a.test=127.0.0.1:{}", door.address().port())];
    (door, config, "http://a.test:12345/".to_owned())
}

#[test]
fn url_01() {
    let most = FilterConfig::default().max_url_bytes;
    assert_eq!(most, 2048);
    let long = |letter: &str, len: usize| letter.repeat(len - "http://a.test:12345/trick".len());
    let links = format!(
        "<a href=/trick{}>fits</a> <a href=/trick{}>not</a> <a href=/trick{}>nor this</a> <a href=/trick{}>never</a>",
        long("x", most),
        long("y", most + 1),
        long("w", 30_000),
        long("z", 100_000),
    );
    let (door, config, start) = of_fixed_length(&links);
    let next = format!("{start}next");
    let crawled = crawl(&config, &[start.clone(), next.clone()]);
    // At the limit it works, to the archive.
    let fits = format!("{start}trick{}", long("x", most));
    assert_eq!(fits.len(), most);
    assert!(crawled.last(&fits).outcome.is_ok(), "works at the limit");
    let files: Arc<dyn Files> = Arc::new(crawled.disk.clone());
    let archive = Layout::new("default").unwrap().archive();
    let captures = Captures::open(files, &archive).unwrap();
    let entry = captures.find(&fits, None).unwrap().expect("a capture");
    assert_eq!(captures.read(&entry).unwrap().response.status, 200);
    assert!(crawled.last(&next).outcome.is_ok());
    // Past it: counted, not asked for, and not stored.
    let page = crawled.last(&start);
    let told = page.detail.as_deref().unwrap_or_default();
    assert!(
        told.contains("longer than max-url-bytes (2048) left out: 2"),
        "{told}"
    );
    assert!(
        page.flags.has(Flags::PARSE_PARTIAL),
        "one is longer than any attribute may be"
    );
    for head in door.requests() {
        assert!(head.len() < most + 1000, "{} bytes", head.len());
        assert!(!head.contains("yyyy") && !head.contains("zzzz") && !head.contains("wwww"));
    }
    // The page, the next one, the one it leads to, and the one that fits.
    assert_eq!(crawled.report.known_urls, 4, "{:?}", crawled.report.states);
    let links = crawled.attempts.iter().flat_map(|attempt| &attempt.links);
    assert!(
        links
            .into_iter()
            .all(|link| link.url.request().len() <= most)
    );
}

/// The limit is the one of the settings, up to the most that it can be set to.
#[test]
fn url_01_the_limit_is_the_setting() {
    for most in [200, 60_000] {
        let path = |len: usize| "x".repeat(len - "http://a.test:12345/trick".len());
        let links = format!(
            "<a href=/trick{}>fits</a> <a href=/trick{}y>not</a>",
            path(most),
            path(most)
        );
        let (_door, mut config, start) = of_fixed_length(&links);
        config.filter.max_url_bytes = most;
        let crawled = crawl(&config, std::slice::from_ref(&start));
        let fits = format!("{start}trick{}", path(most));
        assert_eq!(fits.len(), most);
        assert!(crawled.last(&fits).outcome.is_ok(), "{most}");
        assert_eq!(crawled.report.known_urls, 2, "{most}");
    }
}

#[test]
fn url_02() {
    is(" \t\nhttp://a.test/b\r\nc\td \u{1}", "http://a.test/bcd");
    is("ht\ntp://a.te\tst/", "http://a.test/");
    let (door, crawled) = crawl_links(
        "<a href='  /tri&#10;ck-clean &#9;'>1</a> <a href='java&#10;script:alert(1)'>2</a>",
    );
    assert!(crawled.last(&door.url("/trick-clean")).outcome.is_ok());
    assert_eq!(crawled.report.known_urls, 4, "{:?}", crawled.told());
}

#[test]
fn url_03() {
    for host in [
        "a\u{0}b.test",
        "a\u{7f}b.test",
        "a\u{80}b.test",
        "a\u{202e}b.test",
    ] {
        is_none(&format!("http://{host}/"));
    }
    is(
        "http://a.test/\u{0}\u{7f}\u{85}",
        "http://a.test/%00%7F%C2%85",
    );
    is("http://a.test/\u{202e}x", "http://a.test/%E2%80%AEx");
}

#[test]
fn url_04() {
    for text in [
        "http:\\\\a.test\\b",
        "http:/a.test/b",
        "http:a.test/b",
        "http:////a.test/b",
    ] {
        is(text, "http://a.test/b");
    }
    for reference in ["///a.test/b", "\\\\a.test\\b", "\\/a.test/b", "//a.test/b"] {
        assert_eq!(
            resolved("http://city.test/x", reference).as_deref(),
            Some("http://a.test/b"),
            "{reference}"
        );
    }
}

#[tokio::test]
async fn url_05() {
    for text in [
        "http://good.test@bad.test/",
        "http://good.test:80@bad.test/",
        "http://good.test;x@bad.test/",
    ] {
        is(text, "http://bad.test/");
    }
    is("http://good.test#@bad.test/", "http://good.test/");
    is(
        "http://good.test\\@bad.test/",
        "http://good.test/@bad.test/",
    );
    // What is connected to is what was judged, and what the server is told.
    let door = open_answers(vec![html("ok")]);
    let visit = Visit::at(door, limits());
    let url = visit.door.named("good.test@bad.test", "/");
    outcome(&get(&visit.fetcher, &url).await, Outcome::http(200));
    assert!(visit.door.requests()[0].contains("\r\nHost: bad.test:"));
    visit.leave().await;
}

#[test]
fn url_06() {
    let door = open_site(|path| {
        let title = format!("<title>{path}</title>");
        path.starts_with("/trick").then(|| html(&title))
    });
    let secret = |path: &str| door.url(path).replace("http://", "http://ann:hunter2@");
    let links = format!(
        "<a href='{}'>in</a><a href='{}'>again</a><a href='/trick-here'>plain</a>",
        secret("/trick-link"),
        secret("/trick-link"),
    );
    let start = open_answers(vec![html(&links)]);
    let mut config = crawl_config();
    config.filter.scope = Scope::Any;
    let seeds = [start.url("/"), secret("/trick-seed"), door.url("/next")];
    let crawled = crawl(&config, &seeds);
    for path in ["/trick-link", "/trick-seed", "/next"] {
        assert!(crawled.last(&door.url(path)).outcome.is_ok(), "{path}");
    }
    // Once, as the page that it is without the name.
    assert_eq!(door.asked("/trick-link"), 1);
    let page = crawled.last(&start.url("/"));
    let told = page.detail.as_deref().unwrap_or_default();
    assert!(
        told.contains("user name or password, which was removed: 1"),
        "{told}"
    );
    let plain = crawled.last(&door.url("/trick-link"));
    assert_eq!(plain.detail, None, "only where it stood");
    let told = format!("{:?} {:?}", crawled.attempts, door.requests());
    assert!(!told.contains("hunter2") && !told.contains("Authorization"));
}

#[tokio::test]
async fn url_07() {
    is("http://a.test:80/", "http://a.test/");
    is("https://a.test:00443/", "https://a.test/");
    is("http://a.test:/", "http://a.test/");
    is("http://a.test:65535/", "http://a.test:65535/");
    is_none("http://a.test:65536/");
    is_none("http://a.test:8a/");
    let visit = Visit::at(open_answers(vec![html("ok")]), limits());
    for port in [0, 22, 25, 6000, 6667] {
        let exchange = get(&visit.fetcher, &format!("http://a.test:{port}/")).await;
        outcome(&exchange, Outcome::PORT_BLOCKED);
    }
    visit.leave().await;
}

/// A link, a redirect, a sitemap and a robots.txt that is sent on lead to no port of the system; a seed may name one.
#[test]
fn url_07_pages_lead_to_ports_of_the_web_only() {
    let moved = |to: &str| {
        vec![teia_city::Step::say(format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
        ))]
    };
    let door = open_site(move |path| match path {
        "/" => Some(html(
            "<a href=http://link.test:81/x>a</a> <a href=/sent-on>b</a>",
        )),
        "/sent-on" => Some(moved("http://redirect.test:444/x")),
        "/robots.txt" => Some(answer(
            "",
            "User-agent: *\nSitemap: http://map.test:873/map.xml\n",
        )),
        _ => None,
    });
    let other = open_site(move |path| {
        (path == "/robots.txt").then(|| moved("http://robots.test:902/robots.txt"))
    });
    let mut config = crawl_config();
    config.filter.scope = "any".parse().unwrap();
    let seeds = [
        door.named("page.test", "/"),
        door.named("page.test", "/next"),
        other.named("other.test", "/next"),
        "http://seed.test:1023/".to_owned(),
    ];
    let crawled = crawl(&config, &seeds);
    assert!(crawled.last(&seeds[0]).outcome.is_ok());
    assert!(crawled.last(&seeds[1]).outcome.is_ok());
    for host in [
        "link.test:81",
        "redirect.test:444",
        "map.test:873",
        "robots.test:902",
    ] {
        let start = format!("http://{host}/");
        let attempts = crawled.attempts.iter();
        let there: Vec<_> = attempts
            .filter(|one| one.url.request().starts_with(&start))
            .collect();
        assert!(!there.is_empty(), "{host}: {:?}", crawled.told());
        for attempt in there {
            let refused = [Outcome::PORT_BLOCKED, Outcome::REDIRECT_BLOCKED];
            assert!(refused.contains(&attempt.outcome), "{host}: {attempt:?}");
            assert!(attempt.remote.is_none(), "nothing was sent there");
        }
    }
    let of_seed = crawled.attempts.iter().filter(|one| {
        let url = one.url.request();
        url.starts_with("http://seed.test:1023/")
    });
    let of_seed: Vec<_> = of_seed.map(|one| one.outcome).collect();
    assert!(!of_seed.is_empty() && !of_seed.contains(&Outcome::PORT_BLOCKED));
}

#[tokio::test]
async fn url_08() {
    let strict = FetchConfig {
        allow_private: false,
        resolve: Vec::new(),
        ..limits()
    };
    let mut visit = Visit::at(open_answers(vec![html("ok")]), strict);
    for host in [
        "127.1",
        "0177.0.0.1",
        "0x7f.1",
        "2130706433",
        "127.0.0.1.",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "0x7f000001",
    ] {
        is(&format!("http://{host}/"), "http://127.0.0.1/");
        let url = visit.door.named(host, "/");
        outcome(&get(&visit.fetcher, &url).await, Outcome::ADDR_BLOCKED);
    }
    assert_eq!(visit.door.connections(), 0);
    visit = Visit::at(visit.door.clone(), limits());
    visit.leave().await;
}

#[tokio::test]
async fn url_09() {
    is("http://[2001:DB8:0::1]/", "http://[2001:db8::1]/");
    is("http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/");
    for text in [
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://[v1.x]/",
        "http://[::1]x/",
    ] {
        is_none(text);
    }
    let strict = FetchConfig {
        allow_private: false,
        ..limits()
    };
    let visit = Visit::at(open_answers(vec![html("ok")]), strict);
    let exchange = get(&visit.fetcher, "http://[::ffff:127.0.0.1]:8080/").await;
    outcome(&exchange, Outcome::ADDR_BLOCKED);
}

#[test]
fn url_10() {
    is("http://CAF\u{c9}.test/", "http://xn--caf-dma.test/");
    // Cyrillic a and Latin a are two hosts, each by its ASCII form.
    assert_ne!(
        normal("http://p\u{430}ypal.test/"),
        normal("http://paypal.test/")
    );
    assert!(
        normal("http://p\u{430}ypal.test/")
            .unwrap()
            .contains("xn--")
    );
}

#[test]
fn url_11() {
    for host in [
        "xn--example-.org",
        "xn--",
        "xn--a.test",
        "xn--zzzzzzz99999.test",
    ] {
        is_none(&format!("http://{host}/"));
    }
}

#[test]
fn url_12() {
    // Full-width and composed characters that become `/ @ # :` when they are normalised.
    for host in [
        "a\u{ff0f}b.test",
        "a\u{ff20}b.test",
        "a\u{ff03}b.test",
        "a\u{ff1a}80.test",
        "a\u{2100}b.test",
    ] {
        is_none(&format!("http://{host}/"));
    }
}

#[test]
fn url_13() {
    is("http://A.Test./", "http://a.test/");
    assert_ne!(
        normal("http://www.a.test/"),
        normal("http://a.test/"),
        "an alias only by evidence"
    );
}

#[test]
fn url_14() {
    is("http://a.test/%7euser", "http://a.test/~user");
    is("http://a.test/%2f", "http://a.test/%2F");
    assert_ne!(normal("http://a.test/a%2Fb"), normal("http://a.test/a/b"));
    is("http://a.test/%00", "http://a.test/%00");
    is("http://a.test/%252e", "http://a.test/%252e");
    // What begins no escape is kept, and makes none when what follows it is decoded.
    is("http://a.test/%zz", "http://a.test/%zz");
    is("http://a.test/100%", "http://a.test/100%");
    is("http://a.test/%%34%31", "http://a.test/%%341");
    assert_ne!(normal("http://a.test/%zz"), normal("http://a.test/%25zz"));
    assert_ne!(normal("http://a.test/%%341"), normal("http://a.test/%41"));
    // Each is a page of its own, and is asked for as it was written.
    let paths = [
        "/trick%zz",
        "/trick%25zz",
        "/trick%",
        "/trick%25",
        "/trick%252e",
        "/trick%2e",
    ];
    let links: String = paths
        .iter()
        .map(|path| format!("<a href='{path}'>x</a>"))
        .collect();
    let door = open_site(move |path| match path {
        "/" => Some(html(&links)),
        path if path.starts_with("/trick") => Some(html(&format!("page {path}"))),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    for path in paths {
        assert_eq!(door.asked(path), 1, "{path}: {:?}", crawled.told());
    }
    // With the page, the next one, and the one that it leads to.
    assert_eq!(crawled.report.known_urls, 9, "{:?}", crawled.told());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn url_15() {
    is("http://a.test/b/../c/./d", "http://a.test/c/d");
    is("http://a.test/b/%2e%2e/c", "http://a.test/c");
    is("http://a.test/a//b", "http://a.test/a//b");
    is(
        "http://a.test/a;jsessionid=1",
        "http://a.test/a;jsessionid=1",
    );
}

#[test]
fn url_16() {
    for host in ["a%2fb.test", "a%40b.test", "a%00b.test", "a%3ab.test"] {
        is_none(&format!("http://{host}/"));
    }
}

#[test]
fn url_17() {
    let schemes = [
        "data:text/html,x",
        "JavaScript:alert(1)",
        "mailto:a@b.test",
        "tel:123",
        "blob:http://a.test/x",
        "about:blank",
        "vbscript:x",
        "intent://x#Intent;end",
        " java\tscript:alert(1)",
    ];
    let links: String = schemes
        .iter()
        .map(|link| format!("<a href='{link}'>x</a>"))
        .collect();
    let (door, crawled) = crawl_links(&links);
    let waiting: Vec<_> = crawled
        .attempts
        .iter()
        .filter(|one| !one.url.request().starts_with(&door.url("")))
        .collect();
    assert!(waiting.is_empty(), "{:?}", crawled.told());
    assert_eq!(crawled.report.waiting, 0);
    assert_eq!(
        crawled.report.known_urls,
        3,
        "nor stored: {:?}",
        crawled.told()
    );
    // No error, and counted by what they are.
    assert_eq!(crawled.last(&door.url("/")).detail, None);
    let counted: Vec<_> = crawled.report.schemes.iter().collect();
    let wanted = [
        "about",
        "blob",
        "data",
        "intent",
        "javascript",
        "mailto",
        "tel",
        "vbscript",
    ];
    let wanted = wanted.map(|scheme| (scheme, if scheme == "javascript" { 2 } else { 1 }));
    assert_eq!(
        counted,
        wanted
            .iter()
            .map(|(scheme, count)| (scheme, count))
            .collect::<Vec<_>>()
    );
}

#[test]
fn url_18() {
    let links = "<a href='view-source:http://a.test/'>1</a><a href='feed:http://a.test/'>2</a><a href='jar:http://a.test/x!/'>3</a><a href='webcal://a.test/'>4</a>";
    let (door, crawled) = crawl_links(links);
    assert!(
        crawled
            .attempts
            .iter()
            .all(|one| one.url.request().starts_with(&door.url(""))),
        "{:?}",
        crawled.told()
    );
    assert_eq!(crawled.report.waiting, 0);
}

#[test]
fn url_19() {
    let huge = "f".repeat(1 << 20);
    is(&format!("http://a.test/x#{huge}"), "http://a.test/x");
    is("http://a.test/x#!/page", "http://a.test/x");
    let (door, _) = crawl_links("<a href='#top'>1</a> <a href='#!/view'>2</a> <a href='/#x'>3</a>");
    assert_eq!(door.asked("/"), 1);
}

#[test]
fn url_20() {
    is("http://a.test/?", "http://a.test/?");
    assert_ne!(normal("http://a.test/?"), normal("http://a.test/"));
    is("http://a.test/??", "http://a.test/??");
    is("http://a.test/?a&a&a", "http://a.test/?a&a&a");
    assert_ne!(
        normal("http://a.test/?a=1&b=2"),
        normal("http://a.test/?b=2&a=1")
    );
    let many: String = (0..5000).map(|n| format!("&p{n}")).collect();
    let short: String = (0..40).map(|n| format!("&p{n}")).collect();
    let (door, crawled) = crawl_links(&format!(
        "<a href='/trick?a{short}'>1</a><a href='/trick?a{many}'>2</a>"
    ));
    // The shorter one is known and left out; the longer is longer than any URL.
    assert_eq!(
        crawled.report.states.get("excluded"),
        Some(&1),
        "{:?}",
        crawled.report.states
    );
    assert!(door.requests().iter().all(|head| !head.contains("&p39")));
}

#[test]
fn url_22() {
    assert_eq!(
        resolved("https://a.test/x/y", "//b.test/z").as_deref(),
        Some("https://b.test/z")
    );
    assert_eq!(
        resolved("http://a.test/x/y", "").as_deref(),
        Some("http://a.test/x/y")
    );
    let (door, crawled) = crawl_links("<a href=''>1</a> <a href=' '>2</a> <a href='?'>3</a>");
    assert_eq!(door.asked("/"), 1, "the same document is nothing new");
    assert!(crawled.report.known_urls <= 4, "{:?}", crawled.told());
}

#[test]
fn url_23() {
    // Each page links to a name that was meant as a host, and grows by it.
    let door = open_answers(vec![html("<a href='trick.example.com/'>home</a>")]);
    let start = door.url("/trick/");
    let crawled = crawl(&crawl_config(), &[start, door.url("/next")]);
    assert!(crawled.report.fetched < 12, "{:?}", crawled.told());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn url_24() {
    let inputs = [
        "http://a.test/%",
        "http://a.test/%%41",
        "http://a.test/%2541",
        "http://a.test/%25%34%31",
        "http://a.test/a/../%2e%2e/b",
        "http://A.TEST:80/%7E/%c3%a9?%7e#x",
        "http://u:p@a.test./?a=%zz",
        "http://a.test/^?^",
        "http://a.test/\u{e9}?\u{e9}",
    ];
    for input in inputs {
        let once = normal(input).unwrap();
        assert_eq!(normal(&once).as_deref(), Some(once.as_str()), "{input}");
    }
    // The whole set of the URL standard and random texts are the business of the base's own tests.
}

/// Two keys, which are visited each for itself; people find one page with two addresses while both say the same, and two
/// pages as soon as they do not.
#[test]
fn url_25() {
    assert_ne!(normal("http://a.test/x"), normal("https://a.test/x"));
    assert_ne!(normal("http://a.test/x"), normal("http://a.test/x/"));
    let differ = Arc::new(AtomicBool::new(false));
    let is_other = Arc::clone(&differ);
    let door = open_site(move |path| match path {
        "/" => Some(html("<a href=/trick>1</a><a href=/trick/>2</a>")),
        "/trick/" if is_other.load(Ordering::SeqCst) => Some(html(
            "<p>a heron by the river, and all that it caught there",
        )),
        "/trick" | "/trick/" => Some(html("<p>a heron by the lake, and nobody else at all")),
        _ => None,
    });
    let mut config = crawl_config();
    config.mode = Mode::Periodic;
    let seeds = [door.url("/"), door.url("/next")];
    let both = [door.url("/trick"), door.url("/trick/")];
    let searchable = Searchable::new(&config, &seeds);
    for visits in 1..=4 {
        let is_apart = visits == 4;
        if visits > 1 {
            differ.store(is_apart, Ordering::SeqCst);
            searchable.again(&config, &seeds);
        }
        for path in ["/trick", "/trick/", "/next"] {
            assert_eq!(door.asked(path), visits, "{path}");
        }
        let hits = searchable.hits("heron");
        if is_apart {
            assert_eq!(searchable.found("heron"), both);
            assert!(hits.iter().all(|hit| hit.other_addresses.is_empty()));
        } else {
            assert_eq!(hits.len(), 1);
            assert_eq!(searchable.found("heron"), both[..1]);
            assert_eq!(hits[0].other_addresses, both[1..]);
        }
    }
}

#[test]
fn url_26() {
    assert_eq!(
        Seed::parse("  http://a.test/x\t\r")
            .unwrap()
            .unwrap()
            .url
            .as_str(),
        "http://a.test/x"
    );
    assert!(Seed::parse("http://[::1").is_err());
    assert!(Seed::parse("not a url").is_err());
    assert_eq!(
        Seed::parse("   ").unwrap().map(|seed| seed.url.to_string()),
        None
    );
}

#[test]
fn url_27() {
    const LINES: u32 = 100_000;
    let mut text = String::from("\u{feff}# seeds\r\n");
    for n in 0..LINES {
        text.push_str(&format!("http://h{}.test/{}\r\n", n % 1000, n / 2));
    }
    let began = thread_time();
    let mut found = 0;
    let mut comments = 0;
    for line in text.lines() {
        match Seed::parse(line).unwrap() {
            Some(_) => found += 1,
            None => comments += 1,
        }
    }
    assert_eq!((found, comments), (LINES, 1), "the report adds up");
    let spent = thread_time() - began;
    // 100,000 lines in a second of one core.
    assert!(spent < Duration::from_secs(1), "{spent:?}");
}

/// The query of a link is written in the page's charset, its path in UTF-8.
#[test]
fn url_21() {
    let (e_acute, page) = (b"\xe9", |charset: &str, link: &[u8]| {
        let mut body = b"<a href='/trick-".to_vec();
        body.extend_from_slice(link);
        body.extend_from_slice(b"?q=");
        body.extend_from_slice(link);
        body.extend_from_slice(b"'>x</a>");
        crate::support::answer(
            &format!("Content-Type: text/html; charset={charset}\r\n"),
            body,
        )
    });
    let door = open_site(move |path| match path {
        "/" => Some(html(
            "<a href=/latin>1</a><a href=/utf>2</a><a href=/kana>3</a>",
        )),
        "/latin" => Some(page("iso-8859-1", e_acute)),
        "/utf" => Some(page("utf-8", "\u{e9}".as_bytes())),
        "/kana" => Some(page("shift_jis", b"\x82\xa0")),
        path if path.starts_with("/trick") => Some(html(&format!("page {path}"))),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    for path in [
        "/trick-%C3%A9?q=%E9",
        "/trick-%C3%A9?q=%C3%A9",
        "/trick-%E3%81%82?q=%82%A0",
    ] {
        assert_eq!(door.asked(path), 1, "{path}: {:?}", crawled.told());
        // What was asked for is what is known, and its own normal form.
        let url = door.url(path);
        assert_eq!(normal(&url).as_deref(), Some(url.as_str()));
        assert!(crawled.last(&url).outcome.is_ok());
    }
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}
