//! What people tripped over on the pages: each test has a sentence of theirs.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::LazyLock;
use std::time::Duration;

use support::{LittleWeb, Served, collect};
use teia_web::WebConfig;

const PORTUGUESE: (&str, &str) = ("Accept-Language", "pt");

/// Three pages that say nearly the same, one that does not, pages of every readable type, and a hub.
fn put_pages(web: &LittleWeb) {
    let words = "garden water river stone bridge valley harvest orchard village market fountain meadow barn cellar window lantern path hill forest clearing ";
    let text = words.repeat(6);
    for n in 1..=3 {
        let near = text.replacen("bridge", &format!("variant{n}"), 1);
        web.html(
            &format!("/near{n}"),
            &format!("<html lang=en><title>Near {n}</title><p>{near} lookalike</p>"),
        );
    }
    web.html(
        "/apart",
        "<html lang=en><title>Apart</title><p>A lookalike of nobody: this page speaks of ships, \
         harbours, ropes and salt, and of the people who sail far away from here in autumn.</p>",
    );
    web.html(
        "/museu",
        "<html lang=pt><title>O museu da cidade</title><p>O museu abre de manhã, \
         e as salas do museu mostram barcos e redes de pesca antigas da vila.</p>",
    );
    let many: String = (0..70)
        .map(|n| format!("<a href=/many/{n}>{n}</a> "))
        .collect();
    for n in 0..70 {
        web.html(
            &format!("/many/{n}"),
            &format!(
                "<title>Many {n}</title><p>Number {n} of many, {}.</p><a href=/museu>museu</a>",
                n * n
            ),
        );
    }
    web.put(
        "/notes.md",
        "Content-Type: text/markdown",
        "# Notes\n<script>alert(1)</script>",
    );
    web.put("/table.csv", "Content-Type: text/csv", "a,b\n1,2\n");
    web.put("/data.json", "Content-Type: application/json", "{\"a\": 1}");
    web.html(
        "/",
        &format!(
            "<!doctype html><title>Start</title><p>Where everything begins.</p>{many}\
             <a href=/near1>1</a><a href=/near2>2</a><a href=/near3>3</a><a href=/apart>apart</a><a href=/museu>museu</a>\
             <a href=/notes.md>notes</a><a href=/table.csv>table</a><a href=/data.json>data</a>\
             <a href=http://out.example/>out</a>"
        ),
    );
}

static SMALL: LazyLock<(LittleWeb, Served)> = LazyLock::new(|| {
    let web = LittleWeb::start();
    put_pages(&web);
    let served = Served::of(&web);
    (web, served)
});

fn page_of(url: &str) -> String {
    let escaped: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/page?url={escaped}")
}

fn hits(answer: &serde_json::Value) -> usize {
    answer["hits"].as_array().unwrap().len()
}

#[test]
fn what_is_similar_can_be_reached_and_is_not_promised_twice() {
    let (_, served) = &*SMALL;
    let grouped = served.get("/api/search?q=lookalike").json();
    assert_eq!(
        (grouped["total"].as_u64(), hits(&grouped)),
        (Some(4), 2),
        "{grouped}"
    );
    assert_eq!(grouped["distinct"], 2, "{grouped}");
    let all = served.get("/api/search?q=lookalike&similar=1").json();
    assert_eq!(
        (all["distinct"].as_u64(), hits(&all)),
        (Some(4), 4),
        "{all}"
    );
    let page = served.get("/search?q=lookalike").text();
    assert!(
        page.contains("2 results <a href=\"/search?q=lookalike&#38;similar=1\">and 2 similar</a>"),
        "{page}"
    );
    assert!(page.contains(">2 similar</a>"), "{page}");
    // One on a page: two pages, and not four.
    let first = served.get("/search?q=lookalike&limit=1").text();
    assert!(
        first.contains("limit=1&#38;page=2") && !first.contains("page=3"),
        "{first}"
    );
    let second = served.get("/search?q=lookalike&limit=1&page=2").text();
    assert!(
        second.contains("class=\"hit\"") && !second.contains("rel=\"next\""),
        "{second}"
    );
    let beyond = served.get("/search?q=lookalike&limit=1&page=4").text();
    assert!(beyond.contains("There are no more results"), "{beyond}");
    assert!(!beyond.contains("Nothing was found"), "{beyond}");
}

#[test]
fn no_query_undoes_a_filter() {
    let (_, served) = &*SMALL;
    for query in [
        "OR+museu",
        "museu+OR",
        "%29+OR+museu",
        "%22+OR+museu",
        "%7C+museu",
        "NOT+x+OR+museu",
        "-+OR+museu",
    ] {
        for filter in [
            "site=nowhere.example",
            "lang=en",
            "type=application/pdf",
            "date=1999",
        ] {
            let found = served
                .get(&format!("/api/search?q={query}&{filter}"))
                .json();
            for hit in found["hits"].as_array().unwrap() {
                assert_eq!(filter, "lang=en", "{query}: {hit}");
                assert_eq!(hit["language"], "en", "{query}: {hit}");
            }
        }
    }
    let found = served
        .get("/api/search?q=museu&lang=pt&site=127.0.0.1")
        .json();
    assert_eq!(found["hits"][0]["title"], "O museu da cidade", "{found}");
}

#[test]
fn a_new_query_keeps_its_filters_and_shows_them() {
    let (_, served) = &*SMALL;
    let page = served.get("/search?q=museu&lang=pt&limit=5").text();
    for kept in [
        "name=\"lang\" value=\"pt\"",
        "name=\"limit\" value=\"5\"",
        "Clear the filters",
    ] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    let page = served.get("/search?q=number&limit=5").text();
    assert!(page.contains("limit=5&#38;page=2"), "{page}");
}

#[test]
fn the_life_of_a_page_is_told_in_portuguese() {
    let (web, served) = &*SMALL;
    let ask = |path: &str| served.ask("GET", path, &[PORTUGUESE]).text();
    let history = ask(&format!("{}&tab=history", page_of(&web.url("/museu"))));
    for told in [
        "encontrado em",
        "tentativa 1: 200",
        "(ligação",
        "bytes de",
        "Histórico",
    ] {
        assert!(history.contains(told), "{told}: {history}");
    }
    for english in ["found on", "try 1", "bytes from", "anchor", "depth"] {
        assert!(!history.contains(english), "{english}: {history}");
    }
    let links = ask(&format!("{}&tab=in", page_of(&web.url("/museu"))));
    assert!(
        links.contains("<td>ligação</td>") && !links.contains("anchor"),
        "{links}"
    );
    let left_out = ask(&page_of("http://out.example/"));
    assert!(left_out.contains("fora do âmbito"), "{left_out}");
    let menus = ask("/search?q=museu");
    assert!(
        menus.contains("Todas") && menus.contains("Todos"),
        "{menus}"
    );
    let english = served
        .get(&format!("{}&tab=history", page_of(&web.url("/museu"))))
        .text();
    assert!(
        english.contains("found on") && english.contains("(anchor"),
        "{english}"
    );
}

#[test]
fn a_page_of_links_after_the_last_is_the_last() {
    let (web, served) = &*SMALL;
    let page = served
        .get(&format!("{}&tab=in&page=99", page_of(&web.url("/museu"))))
        .text();
    assert!(page.contains("51–71") || page.contains("71"), "{page}");
    assert!(
        page.contains("/many/") && page.contains("rel=\"prev\""),
        "{page}"
    );
    assert!(!page.contains("No page that was fetched"), "{page}");
}

#[test]
fn an_address_that_cannot_be_read_is_answered_in_words() {
    let (_, served) = &*SMALL;
    let page = served.get("/search?q=a&q=b");
    assert_eq!(page.status, 400);
    assert!(
        page.text().contains("given twice") && page.text().contains("<html"),
        "{}",
        page.text()
    );
    let twice = served.get("/api/search?q=a&q=b");
    assert_eq!(twice.status, 400);
    assert!(
        twice.json()["error"]
            .as_str()
            .unwrap()
            .contains("given twice")
    );
    assert_eq!(served.get("/page?url=a&url=b").status, 400);
}

#[test]
fn programs_that_must_wait_are_told_so_in_json() {
    let busy = Served::new(
        tempfile::tempdir().unwrap(),
        WebConfig {
            lookups: 0,
            patience: Duration::from_millis(10),
            ..WebConfig::default()
        },
    );
    let answer = busy.get("/api/search?q=a");
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.header("content-type").as_deref(),
        Some("application/json")
    );
    assert!(answer.json()["error"].is_string() && answer.header("retry-after").is_some());
    assert!(busy.get("/search?q=a").text().contains("<html"));
}

#[test]
fn the_page_about_a_page_takes_no_place_of_searches_and_has_its_time() {
    let web = LittleWeb::start();
    put_pages(&web);
    let folder = tempfile::tempdir().unwrap();
    collect(folder.path(), &web, "default");
    let closed = WebConfig {
        journal_readers: 0,
        patience: Duration::from_millis(10),
        ..WebConfig::default()
    };
    let mut served = Served::new(folder, closed);
    let page = page_of(&web.url("/museu"));
    assert_eq!(served.get(&page).status, 503, "no place of its own");
    assert_eq!(served.get("/search?q=museu").status, 200);
    let root = served.folder.path().to_owned();
    // Nothing of the journal is read in no time: what the Repository knows is shown.
    let hasty = WebConfig {
        lookups: 0,
        journal_time: Duration::ZERO,
        patience: Duration::from_millis(10),
        ..WebConfig::default()
    };
    served = Served::new(
        std::mem::replace(&mut served.folder, tempfile::tempdir().unwrap()),
        hasty,
    );
    assert_eq!(served.folder.path(), root);
    let shown = served.get(&page);
    assert_eq!(shown.status, 200, "no place of searches is taken");
    let text = shown.text();
    assert!(
        text.contains("not all of it was read in time") && text.contains("fetched"),
        "{text}"
    );
    assert_eq!(served.get(&page_of("http://never.example/")).status, 404);
}

#[test]
fn one_chooses_among_the_collections_that_know_a_page() {
    let web = LittleWeb::start();
    web.html("/", "<title>Start</title><p>Begin</p><a href=/x>x</a>");
    web.html("/x", "<title>X</title><p>x</p>");
    let folder = tempfile::tempdir().unwrap();
    for name in ["spring", "autumn"] {
        collect(folder.path(), &web, name);
    }
    let served = Served::new(folder, WebConfig::default());
    let page = served.get(&page_of(&web.url("/"))).text();
    assert!(
        page.contains("Several collections know this address"),
        "{page}"
    );
    for name in ["spring", "autumn"] {
        let page = served
            .get(&format!("{}&collection={name}", page_of(&web.url("/"))))
            .text();
        let chosen = format!("aria-current=\"true\"><bdi>{name}</bdi>");
        assert!(page.contains(&chosen), "{page}");
        // Tabs stay with it, and are in view on a phone.
        assert!(
            page.contains(&format!("tab=out&#38;collection={name}#panel")),
            "{page}"
        );
        assert!(page.contains("id=\"panel\""), "{page}");
    }
}

#[test]
fn copies_of_one_minute_are_told_apart() {
    let web = LittleWeb::start();
    web.html("/", "<title>Start</title><p>Begin</p>");
    let folder = tempfile::tempdir().unwrap();
    // Two within a minute, unless the minute ends just now.
    for name in ["one", "two", "three"] {
        collect(folder.path(), &web, name);
        std::thread::sleep(Duration::from_millis(1100));
    }
    let served = Served::new(folder, WebConfig::default());
    for path in [
        format!("/archive/*/{}", web.url("/")),
        page_of(&web.url("/")),
    ] {
        let page = served.get(&path).text();
        let shown: Vec<&str> = page
            .split("</a>")
            .filter(|part| part.contains("/archive/2"))
            .filter_map(|part| part.rsplit('>').next())
            .filter(|text| text.contains(':'))
            .collect();
        let mut distinct = shown.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(
            shown.len() >= 3 && distinct.len() == shown.len(),
            "{shown:?}"
        );
    }
}

#[test]
fn behind_tls_every_address_of_ours_says_so() {
    let (web, served) = &*SMALL;
    let url = web.url("/");
    let time = served.newest(&url);
    let proxied = [("Host", "localhost"), ("X-Forwarded-Proto", "https")];
    for path in [
        "/opensearch.xml".to_owned(),
        format!("/timemap/link/{url}"),
        format!("/timemap/json/{url}"),
    ] {
        let text = served.ask("GET", &path, &proxied).text();
        assert!(
            text.contains("https://localhost/") && !text.contains("http://localhost"),
            "{text}"
        );
        let plain = served.ask("GET", &path, &proxied[..1]).text();
        assert!(plain.contains("http://localhost/"), "{plain}");
    }
    let copy = served.ask("GET", &format!("/archive/{time}mp_/{url}"), &proxied);
    assert!(
        copy.header("link")
            .unwrap()
            .contains("<https://localhost/timegate/")
    );
    let policy = copy.header("content-security-policy").unwrap();
    assert!(
        policy.contains("img-src https://localhost/archive/ data:"),
        "{policy}"
    );
    assert!(
        policy.contains("font-src https://localhost/archive/ data:"),
        "{policy}"
    );
}

#[test]
fn what_people_read_as_text_is_shown_as_text() {
    let (web, served) = &*SMALL;
    for path in ["/notes.md", "/table.csv", "/data.json"] {
        let url = web.url(path);
        let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
        assert_eq!(
            copy.header("content-type").as_deref(),
            Some("text/plain; charset=utf-8"),
            "{path}"
        );
        assert_eq!(copy.header("content-disposition"), None, "{path}");
        assert_eq!(
            copy.header("x-content-type-options").as_deref(),
            Some("nosniff")
        );
        assert!(
            copy.header("content-security-policy")
                .unwrap()
                .starts_with("sandbox")
        );
    }
}

#[test]
fn the_banner_of_a_page_without_a_body_follows_its_doctype() {
    let (web, served) = &*SMALL;
    let url = web.url("/");
    let copy = served
        .get(&format!("/archive/{}/{url}", served.newest(&url)))
        .text();
    assert!(
        copy.starts_with("<!doctype html>") && copy.contains("teia-banner"),
        "{copy}"
    );
}

#[test]
fn a_map_draws_the_weightiest_with_names_that_can_be_read() {
    let (web, served) = &*SMALL;
    let page = served
        .get(&format!("{}&tab=map", page_of(&web.url("/"))))
        .text();
    // All of its neighbours: 70 of one kind, the others.
    assert!(page.matches("data-node=").count() > 75, "{page}");
    assert!(page.contains("viewBox=\"-520 "), "as wide as the page");
    assert!(page.contains("class=\"out named first\""), "{page}");
    assert!(
        page.contains("class=\"long\"") && page.contains("class=\"short\""),
        "{page}"
    );
    // The museum has the most links: its name comes before those of the many.
    let first = page.find("named first\"").unwrap();
    let first = &page[first..];
    let named = &first[first.find("named first\"").unwrap() + 12..];
    assert!(named.contains("/museu"), "{named}");
}
