//! What the pages say about a small, friendly web.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::LazyLock;
use support::{LittleWeb, Served, collect};
use teia_web::WebConfig;

fn put_pages(web: &LittleWeb, version: &str) {
    let beds: String = (0..30)
        .map(|n| format!("<a href=/bed/{n}>Bed {n}</a> "))
        .collect();
    web.html("/", &format!("<title>The garden {version}</title><html lang=en><p>Tulips grow in the {version} garden by the old wall and the deep well.</p>{beds}<a href=/pt>Português</a>"));
    web.html("/pt", "<html lang=pt><title>O jardim em São Miguel</title><p>As tulipas crescem no jardim junto ao muro velho e ao poço fundo da casa, onde as crianças brincam à tarde com a avó.</p><a href=/>volta</a>");
    for n in 0..30 {
        web.html(&format!("/bed/{n}"), &format!("<title>Bed {n}</title><p>In bed number {n} grow beans, onions and flower {n}, said gardener {}.</p><a href=/>garden</a><a href=/bed/{}>next</a>", n * n, (n + 7) % 30));
    }
}

/// The garden, collected twice into two collections: two versions of each page.
static GARDEN: LazyLock<(LittleWeb, Served)> = LazyLock::new(|| {
    let web = LittleWeb::start();
    let folder = tempfile::tempdir().unwrap();
    for version in ["spring", "autumn"] {
        put_pages(&web, version);
        std::thread::sleep(std::time::Duration::from_millis(1100));
        collect(folder.path(), &web, version);
    }
    (web, Served::new(folder, WebConfig::default()))
});

#[test]
fn the_first_page_says_what_there_is() {
    let (_, served) = &*GARDEN;
    let page = served.get("/").text();
    for word in ["spring", "autumn", "documents", "role=\"search\""] {
        assert!(page.contains(word), "{word}: {page}");
    }
}

#[test]
fn results_have_everything_that_a_person_asks_for() {
    let (_, served) = &*GARDEN;
    let page = served
        .get("/search?q=beans+onions&collection=spring")
        .text();
    for word in [
        "<mark>beans</mark>",
        "results,",
        " ms",
        "copy of ",
        "about this page",
        "rank ",
        ">en</span>",
        "bed",
    ] {
        assert!(page.contains(word), "{word}: {page}");
    }
    for menu in ["Site", "Language", "Type", "Date", "Sort", "Collection"] {
        assert!(page.contains(&format!("<summary>{menu}")), "{menu}: {page}");
    }
    assert!(page.contains("page=2"), "{page}");
    let second = served
        .get("/search?q=beans+onions&collection=spring&page=2")
        .text();
    assert!(second.contains("aria-current=\"page\">2</a>"), "{second}");
}

#[test]
fn the_page_speaks_the_language_of_the_browser() {
    let (_, served) = &*GARDEN;
    let page = served
        .ask(
            "GET",
            "/search?q=tulipas",
            &[("Accept-Language", "pt-BR,pt;q=0.9")],
        )
        .text();
    assert!(
        page.contains("<html lang=\"pt\">") && page.contains("cópia de"),
        "{page}"
    );
    let chosen = served
        .ask(
            "GET",
            "/search?q=tulipas",
            &[
                ("Accept-Language", "pt"),
                ("Cookie", "teia-lang=en; teia-theme=dark"),
            ],
        )
        .text();
    assert!(
        chosen.contains("<html lang=\"en\" data-theme=\"dark\">"),
        "{chosen}"
    );
}

#[test]
fn filters_narrow_and_come_off_again() {
    let (_, served) = &*GARDEN;
    let all = served.get("/api/search?q=jardim+garden").json()["total"]
        .as_u64()
        .unwrap();
    let narrowed = served.get("/api/search?q=jardim+garden&lang=pt").json();
    assert!(narrowed["total"].as_u64().unwrap() < all, "{narrowed}");
    assert!(
        narrowed["hits"]
            .as_array()
            .unwrap()
            .iter()
            .all(|hit| hit["language"] == "pt"),
        "{narrowed}"
    );
    let page = served.get("/search?q=jardim+garden&lang=pt").text();
    assert!(page.contains("details class=\"menu set\""), "{page}");
    let unclosed = served.get("/api/search?q=%22jardim&lang=en").json();
    assert!(
        unclosed["hits"]
            .as_array()
            .unwrap()
            .iter()
            .all(|hit| hit["language"] == "en"),
        "an open quotation mark does not swallow a filter"
    );
}

#[test]
fn what_was_visited_lately_comes_first_where_asked_for() {
    let (_, served) = &*GARDEN;
    let score = |sort: &str| {
        let found = served
            .get(&format!("/api/search?q=tulips&sort={sort}"))
            .json();
        found["hits"][0]["score"].as_f64().unwrap()
    };
    // Everything was visited just now, and counts for twice as much.
    let times = score("fresh") / score("relevance");
    assert!((times - 2.0).abs() < 0.01, "{times}");
    let english = served.get("/search?q=tulips&sort=fresh").text();
    assert!(
        english.contains("<b><bdi>Fresh first</bdi></b>"),
        "{english}"
    );
    let headers = [("Accept-Language", "pt")];
    let page = served.ask("GET", "/search?q=tulips", &headers).text();
    for (value, name) in [
        ("", "Por relevância"),
        ("fresh", "Recentes primeiro"),
        ("date", "Por data"),
    ] {
        let sort = if value.is_empty() {
            String::new()
        } else {
            format!("&amp;sort={value}")
        };
        let current = if value.is_empty() {
            " aria-current=\"true\""
        } else {
            ""
        };
        let link = format!("href=\"/search?q=tulips{sort}\"{current}><bdi>{name}</bdi>");
        let numbered = link.replace("&amp;", "&#38;");
        assert!(
            page.contains(&link) || page.contains(&numbered),
            "no {link} in {page}"
        );
    }
}

#[test]
fn what_authors_allow_to_be_quoted_is_all_that_is_shown() {
    let web = LittleWeb::start();
    let text = "<title>Ibis</title><p>the ibis walks in the marsh at noon and looks for worms";
    web.html(
        "/",
        "<a href=/none>1</a> <a href=/max>2</a> <a href=/past>3</a>",
    );
    for (path, wish) in [
        ("/none", "nosnippet"),
        ("/max", "max-snippet: 12"),
        ("/past", "unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT"),
    ] {
        let head = format!("Content-Type: text/html\r\nX-Robots-Tag: {wish}");
        web.put(path, &head, format!("{text}{path}"));
    }
    let served = Served::of(&web);
    let found = served.get("/api/search?q=ibis&similar=1").json();
    let snippets: std::collections::BTreeMap<&str, &str> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| {
            let url = hit["url"].as_str().unwrap();
            (
                url.rsplit('/').next().unwrap(),
                hit["snippet"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(snippets, [("max", "the ibis …"), ("none", "")].into());
    for asks in [
        "/search?q=ibis&similar=1",
        "/api/search.csv?q=ibis&similar=1",
    ] {
        let page = served.get(asks).text();
        assert!(page.contains("Ibis") && !page.contains("worms"), "{page}");
        assert!(!page.contains("walks"), "{page}");
    }
}

#[test]
fn the_interface_for_programs_is_the_one_of_the_command_line() {
    let (_, served) = &*GARDEN;
    let found = served.get("/api/search?q=tulips&limit=1").json();
    assert!(
        found["total"].as_u64().unwrap() > 0 && found["seconds"].as_f64().is_some(),
        "{found}"
    );
    let hit = &found["hits"][0];
    for key in ["url", "title", "snippet", "language", "fetched_at"] {
        assert!(hit[key].is_string(), "{key}: {hit}");
    }
    assert!(hit["score"].is_number());
    let description = served.get("/opensearch.xml").text();
    assert!(
        description.contains(&format!(
            "http://{}/search?q={{searchTerms}}",
            served.address
        )),
        "{description}"
    );
    let suggested = served.get("/api/suggest?q=the+gar").json();
    assert_eq!(suggested[0], "the gar");
    assert!(
        suggested[1]
            .as_array()
            .unwrap()
            .iter()
            .any(|text| text == "the garden"),
        "{suggested}"
    );
}

#[test]
fn an_empty_query_explains_itself_with_examples() {
    let (_, served) = &*GARDEN;
    let page = served.get("/search?q=").text();
    assert!(page.contains("How to search"), "{page}");
    let examples: Vec<&str> = page
        .split("class=\"examples\"")
        .nth(1)
        .unwrap()
        .split("href=\"")
        .skip(1)
        .take(3)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    for example in examples {
        let found = served.get(&example.replace("&#38;", "&")).text();
        assert!(
            found.contains("class=\"hit\""),
            "{example} finds nothing: {found}"
        );
    }
}

#[test]
fn a_phrase_that_is_nowhere_is_offered_as_words() {
    let (_, served) = &*GARDEN;
    for marks in [["%22", "%22"], ["«", "»"]] {
        let query = marks.join("garden+garden+garden");
        let page = served.get(&format!("/search?q={query}")).text();
        assert!(page.contains("Nothing was found"), "{page}");
        let (before, _) = page.split_once("without quotation marks").unwrap();
        let (_, offered) = before.rsplit_once("href=\"").unwrap();
        let offered = offered.split('"').next().unwrap().replace("&#38;", "&");
        assert!(
            served.get(&offered).text().contains("class=\"hit\""),
            "{offered}"
        );
    }
    let page = served.get("/search?q=qwertyzxcv").text();
    assert!(page.contains("Nothing was found"), "{page}");
    assert!(!page.contains("without quotation marks"), "{page}");
}

#[test]
fn a_page_is_explained() {
    let (web, served) = &*GARDEN;
    let url = web.url("/");
    let page = served.get(&format!("/page?url={url}")).text();
    for word in [
        "The garden",
        "collected",
        "Links in",
        "Links out",
        "given as a seed",
        "× average",
        "name=\"from\"",
    ] {
        assert!(page.contains(word), "{word}: {page}");
    }
    // That of the page, and that of its host.
    assert_eq!(page.matches("× average").count(), 2, "{page}");
    let links = served.get(&format!("/page?url={url}&tab=in")).text();
    assert!(
        links.contains("/bed/") && links.contains("garden"),
        "{links}"
    );
    let out = served.get(&format!("/page?url={url}&tab=out")).text();
    assert!(out.contains("1 to 31 of 31"), "{out}");
    let map = served.get(&format!("/page?url={url}&tab=map")).text();
    assert!(map.matches("data-node=").count() > 20, "{map}");
    let history = served.get(&format!("/page?url={url}&tab=history")).text();
    assert!(history.contains("given as a seed"), "{history}");
    // For programs in the attribute, for people in the text.
    let time = history.split("<time datetime=\"").nth(1).unwrap();
    let parts: Vec<&str> = time.split(['"', '>', '<']).collect();
    assert!(
        parts[0].ends_with('Z') && parts[2].contains(", ") && !parts[2].contains('Z'),
        "{parts:?}"
    );
    assert_eq!(served.get("/page?url=http://never.example/").status, 404);
    assert_eq!(served.get("/page?url=").status, 404);
}

#[test]
fn many_links_come_page_by_page() {
    let web = LittleWeb::start();
    let mut body = "<title>Many</title>".to_owned();
    for number in 0..120 {
        body.push_str(&format!("<a href=/to/{number:03}>number {number}</a> "));
        web.html(
            &format!("/to/{number:03}"),
            &format!("<title>{number}</title><a href=/>back</a>"),
        );
    }
    web.html("/", &body);
    let served = Served::of(&web);
    let url = web.url("/");
    for (tab, name) in [("out", "/to/"), ("in", "/to/")] {
        let mut seen = std::collections::BTreeSet::new();
        for (page, range) in [
            (1, "1 to 50 of 120"),
            (2, "51 to 100 of 120"),
            (3, "101 to 120 of 120"),
        ] {
            let text = served
                .get(&format!("/page?url={url}&tab={tab}&page={page}"))
                .text();
            assert!(text.contains(range), "{tab} {page}: {text}");
            assert_eq!(
                text.contains(&format!("tab={tab}&#38;page={}", page + 1))
                    || text.contains(&format!("tab={tab}&amp;page={}", page + 1)),
                page < 3,
                "{tab} {page}: {text}"
            );
            for (at, _) in text.match_indices(name) {
                seen.insert(text[at..at + 7].to_owned());
            }
        }
        assert_eq!(seen.len(), 120, "{tab}");
    }
}

#[test]
fn two_versions_are_compared() {
    let (web, served) = &*GARDEN;
    let url = web.url("/");
    let list = served.get(&format!("/timemap/json/{url}")).json();
    let times: Vec<String> = list["mementos"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|copy| {
            copy["uri"]
                .as_str()
                .unwrap()
                .split('/')
                .nth(4)
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(times.len(), 2, "{list}");
    let page = served
        .get(&format!(
            "/page?url={url}&from={}&to={}",
            times[0], times[1]
        ))
        .text();
    assert!(
        page.contains("spring </del>") && page.contains("autumn </ins>"),
        "{page}"
    );
    let same = served
        .get(&format!(
            "/page?url={url}&from={}&to={}",
            times[0], times[0]
        ))
        .text();
    assert!(same.contains("The visible text is the same"), "{same}");
}

#[test]
fn copies_are_found_as_rfc_7089_says() {
    let (web, served) = &*GARDEN;
    let url = web.url("/");
    let map = served.get(&format!("/timemap/link/{url}"));
    assert_eq!(
        map.header("content-type").as_deref(),
        Some("application/link-format")
    );
    let text = map.text();
    for word in [
        "rel=\"original\"",
        "rel=\"timegate\"",
        "rel=\"self\"",
        "rel=\"first memento\"",
        "rel=\"last memento\"",
        "datetime=\"",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let gate = served.get(&format!("/timegate/{url}"));
    assert_eq!(gate.status, 302);
    assert_eq!(gate.header("vary").as_deref(), Some("accept-datetime"));
    let old = served.ask(
        "GET",
        &format!("/timegate/{url}"),
        &[("Accept-Datetime", "Thu, 01 Jan 2015 00:00:00 GMT")],
    );
    assert_ne!(
        old.header("location"),
        gate.header("location"),
        "the first one is nearest"
    );
    assert_eq!(
        served
            .ask(
                "GET",
                &format!("/timegate/{url}"),
                &[("Accept-Datetime", "soon")]
            )
            .status,
        400
    );
    let copy = served.get(&old.header("location").unwrap());
    assert!(copy.header("memento-datetime").unwrap().ends_with("GMT"));
    let link = copy.header("link").unwrap();
    for word in [
        "rel=\"original\"",
        "rel=\"timegate\"",
        "rel=\"timemap\"",
        "first memento",
        "next memento",
    ] {
        assert!(link.contains(word), "{word}: {link}");
    }
    assert!(
        copy.text().contains("spring garden") && copy.text().contains("teia-banner"),
        "{}",
        copy.text()
    );
    // A time that nothing was collected at leads to the nearest copy; none at all to the last.
    assert_eq!(
        served
            .get(&format!("/archive/2015/{url}"))
            .header("location"),
        old.header("location")
    );
    assert_eq!(
        served.get(&format!("/archive/{url}")).header("location"),
        gate.header("location")
    );
    assert_eq!(
        served.get("/archive/2026/http://never.example/").status,
        404
    );
    let list = served.get(&format!("/archive/*/{url}")).text();
    assert!(list.contains("2 copies"), "{list}");
}

#[test]
fn a_collection_without_an_index_says_what_to_do() {
    let web = LittleWeb::start();
    web.html("/", "<title>Alone</title><p>text</p>");
    let folder = tempfile::tempdir().unwrap();
    support::collect_only(folder.path(), &web, "default");
    if folder.path().join("default/index/meta.json").exists() {
        return; // The engine makes an index by itself.
    }
    let served = Served::new(folder, WebConfig::default());
    let page = served.get("/").text();
    assert!(
        page.contains("Nothing is indexed yet") && page.contains("teia index rebuild"),
        "{page}"
    );
    assert_eq!(
        served.get(&format!("/page?url={}", web.url("/"))).status,
        200
    );
}
