//! Our own pages about hostile ones, and hostile questions to them.

use proptest::prelude::*;
use teia_web::WebConfig;

use crate::support;
use crate::support::{Answer, LittleWeb, Served};
use crate::{HOSTILE, SCRIPT, check_is_text, escape, hostile_web};

#[test]
fn ui_01_crawled_text_is_shown_as_text() {
    let (web, served) = &*HOSTILE;
    let found = served.get("/search?q=zebra");
    assert_eq!(found.status, 200);
    let page = found.text();
    check_is_text(&page);
    assert!(page.contains("alert(&#39;pwned&#39;)"), "{page}");
    assert!(page.contains("{{7*7}}"), "template signs are text: {page}");
    assert!(page.contains("<mark>zebra</mark>"), "{page}");
    let url = escape(&web.url("/xss"));
    for tab in ["versions", "in", "out", "map", "history"] {
        let about = served.get(&format!("/page?url={url}&tab={tab}"));
        assert_eq!(about.status, 200, "{tab}");
        check_is_text(&about.text());
    }
    let start = escape(&web.url("/"));
    check_is_text(&served.get(&format!("/page?url={start}&tab=in")).text());
    let json = served.get("/api/search?q=zebra").json();
    assert!(
        json["hits"]
            .as_array()
            .unwrap()
            .iter()
            .any(|hit| hit["title"].as_str().unwrap().contains(SCRIPT))
    );
}

#[test]
fn ui_02_only_the_web_is_a_link() {
    let (web, served) = &*HOSTILE;
    let page = served
        .get(&format!("/page?url={}&tab=out", escape(&web.url("/links"))))
        .text();
    assert!(page.contains("xss"), "{page}");
    check_is_text(&page);
    let results = served.get("/search?q=bad+links+zebra").text();
    for (at, _) in results.match_indices("class=\"title\"") {
        let tag = &results[at..at + results[at..].find('>').unwrap()];
        assert!(tag.contains("href=\"http://127.0.0.1"), "{tag}");
        assert!(
            tag.contains("rel=\"noopener noreferrer nofollow\""),
            "{tag}"
        );
    }
    for bad in [
        "javascript:alert(1)",
        "data:text/html,x",
        "javascript%3A%2F%2Fx%2F%250Aalert(1)",
    ] {
        let answer = served.get(&format!("/page?url={bad}"));
        check_is_text(&answer.text());
        assert_eq!(served.get(&format!("/archive/2026/{bad}")).status, 404);
    }
}

#[test]
fn ui_03_direction_marks_and_long_words_stay_in_their_place() {
    let (web, served) = &*HOSTILE;
    let page = served.get("/search?q=striped").text();
    assert!(page.contains("gpj.exe"), "{page}");
    for mark in ['\u{202e}', '\u{200b}'] {
        assert!(!page.contains(mark), "{page}");
    }
    assert!(page.contains("<bdi>"), "titles are isolated");
    let about = served
        .get(&format!("/page?url={}", escape(&web.url("/bidi"))))
        .text();
    assert!(!about.contains('\u{202e}') && about.contains("<bdi>"));
    let style = served.get("/static/teia.css").text();
    assert!(style.contains("overflow-wrap: anywhere"));
}

#[test]
fn url_01_a_url_as_long_as_may_be_is_found_and_its_page_opens() {
    let web = LittleWeb::start();
    let path = format!("/{}", "x".repeat(2048 - web.url("/").len()));
    web.html("/", &format!("<a href='{path}'>long</a>"));
    web.html(&path, "<title>The longest</title><p>a quagga");
    let url = web.url(&path);
    assert_eq!(url.len(), 2048);
    let served = Served::of(&web);
    let found = served.get("/api/search?q=quagga").json();
    assert_eq!(found["hits"][0]["url"], url.as_str(), "{found}");
    let results = served.get("/search?q=quagga").text();
    assert!(results.contains(&format!("href=\"{url}\"")), "{results}");
    let about = served.get(&format!("/page?url={}", escape(&url)));
    assert_eq!(about.status, 200);
    assert!(about.text().contains("The longest"), "{}", about.text());
    let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
    assert_eq!(copy.status, 200);
}

#[test]
fn ui_15_a_query_bomb_is_refused_before_it_is_read() {
    let (_, served) = &*HOSTILE;
    let (at_most, star) = ("at most", "at the end of a word");
    let bombs = [
        ("a".repeat(60 << 10), at_most),
        ("a".repeat(100 << 10), at_most),
        ("a".repeat(1 << 20), at_most),
        // One step beyond each limit.
        ("a".repeat(1_025), at_most),
        ("a+".repeat(65), at_most),
        ("%2Ba+".repeat(33), at_most),
        ("title:a+".repeat(33), at_most),
        (format!("{}a{}", "(".repeat(17), ")".repeat(17)), at_most),
        // 10,000 clauses, nested parentheses and 5,000 wildcards are longer than any query.
        ("a+".repeat(10_000), at_most),
        (
            format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000)),
            at_most,
        ),
        ("a*+".repeat(5_000), at_most),
        // As many as fit into the length.
        ("a+".repeat(1_000), at_most),
        (format!("{}a{}", "(".repeat(500), ")".repeat(500)), at_most),
        ("a*+".repeat(60), at_most),
        ("*a*+".repeat(200), at_most),
        ("zebra~2+".repeat(20), at_most),
        ("*a*".to_owned(), star),
        ("zebra+%2B*a*".to_owned(), star),
        ("title:*ebra".to_owned(), star),
    ];
    for (bomb, reason) in &bombs {
        let begin = &bomb[..bomb.len().min(20)];
        for page in ["/search", "/api/search", "/api/search.csv"] {
            let answer = served.get(&format!("{page}?q={bomb}"));
            assert_eq!(answer.status, 400, "{page} {begin}");
            assert!(answer.text().contains(reason), "{begin}: {}", answer.text());
        }
    }
    // A star after a word, or among signs, is none of these; nor is a query at its limits, which is taken as it is.
    // Nobody is found by a word as long as that, which is said.
    let no_word = "a".repeat(1_024);
    let good = ["zeb*", "2*3", "/zeb.*/", "*", &no_word].map(str::to_owned);
    let at_limits = [
        vec!["a".repeat(255); 4].join("+"),
        vec!["a"; 64].join("+"),
        vec!["%2Ba"; 32].join("+"),
        vec!["title:a"; 32].join("+"),
        format!("{}a{}", "(".repeat(16), ")".repeat(16)),
    ];
    for good in good.iter().chain(&at_limits) {
        let answer = served.get(&format!("/api/search?q={good}"));
        assert_eq!(answer.status, 200, "{good}");
    }
    for limit in &at_limits {
        let answer = served.get(&format!("/api/search?q={limit}")).json();
        assert_eq!(answer["repairs"], serde_json::json!([]), "{limit}");
    }
    // What is no search says that its address is too long, however long it is.
    for bytes in [40 << 10, 100 << 10, 1 << 20] {
        let long = format!("/page?url={}", "a".repeat(bytes));
        assert_eq!(served.get(&long).status, 414);
        let long = format!("/archive/2026/http://a.example/{}", "a".repeat(bytes));
        assert_eq!(served.get(&long).status, 414);
    }
    // A long address takes nothing from what follows it.
    let served_on = served.get("/api/search?q=zebra");
    assert_eq!(served_on.status, 200);
}

#[test]
fn ui_16_a_regular_expression_is_only_words() {
    let (_, served) = &*HOSTILE;
    for query in ["/zeb.*/", "/(a%2B)%2B%24/", "zeb[r]a", "zebra~2"] {
        let answer = served.get(&format!("/api/search?q={query}"));
        assert_eq!(answer.status, 200, "{query}");
    }
    let found = served.get("/api/search?q=/zeb.*/").json();
    let hits = found["hits"].as_array().unwrap();
    assert!(
        hits.iter().all(|hit| hit["url"].as_str().is_some()),
        "{found}"
    );
}

#[test]
fn ui_17_pages_beyond_the_window_are_refused_and_the_last_of_them_is_shown() {
    let (_, served) = &*HOSTILE;
    for wrong in [
        "page=1000000",
        "limit=1000000000",
        "limit=1e9",
        "offset=10000&limit=10",
        "page=-1",
        "offset=18446744073709551616",
    ] {
        let answer = served.get(&format!("/search?q=zebra&{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
        let answer = served.get(&format!("/api/search?q=zebra&{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.json()["error"].as_str().is_some());
    }
    assert_eq!(served.get("/search?q=zebra&page=1000").status, 200);

    let folder = tempfile::tempdir().unwrap();
    support::collect(folder.path(), &hostile_web(), "default");
    support::many::add_pages(folder.path(), "default", "quagga", 10_020);
    let served = Served::new(folder, WebConfig::default());
    let found = served
        .get("/api/search?q=quagga&offset=9990&limit=10")
        .json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 10, "{found}");
    assert_eq!(
        (&found["total"], &found["partial"]),
        (&10_020.into(), &false.into())
    );
    let page = served.get("/search?q=quagga&page=1000").text();
    assert_eq!(page.matches("<li class=\"hit\">").count(), 10, "{page}");
    assert!(
        page.contains("start=\"9991\"") && !page.contains("rel=\"next\""),
        "{page}"
    );
    let beyond = served.get("/search?q=quagga&page=1001");
    assert_eq!(beyond.status, 400);
    assert!(
        beyond
            .text()
            .contains("Only the first 10\u{202f}000 results"),
        "{}",
        beyond.text()
    );
}

#[test]
fn a_parameter_that_is_no_number_is_named() {
    let (_, served) = &*HOSTILE;
    for (wrong, said) in [
        ("limit=abc", "limit= must be a whole number"),
        ("limit=1e9", "limit= must be a whole number"),
        ("offset=-1", "offset= must be a whole number"),
        ("page=two", "page= must be a whole number"),
        ("limit=0", "limit= may be from 1 to 100"),
        ("limit=5000", "limit= may be from 1 to 100"),
        ("offset=10000", "Only the first 10\u{202f}000 results"),
    ] {
        let answer = served.get(&format!("/api/search?q=zebra&{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(said), "{wrong}: {error}");
    }
}

#[test]
fn what_was_repaired_is_said_in_the_language_of_the_reader() {
    let (_, served) = &*HOSTILE;
    let page = served.ask(
        "GET",
        "/search?q=%22zebra+acts&lang=",
        &[("Accept-Language", "pt-PT")],
    );
    assert!(
        page.text().contains("Faltava fechar umas aspas"),
        "{}",
        page.text()
    );
    let page = served.get("/search?q=%22zebra+acts");
    assert!(
        page.text().contains("A quotation mark was not closed"),
        "{}",
        page.text()
    );
}

#[test]
fn ui_18_too_many_searches_are_asked_to_come_back() {
    let web = hostile_web();
    let folder = tempfile::tempdir().unwrap();
    support::collect(folder.path(), &web, "default");
    let config = WebConfig {
        lookups: 0,
        patience: std::time::Duration::from_millis(50),
        ..WebConfig::default()
    };
    let limited = Served::new(folder, config);
    let answer = limited.get("/search?q=zebra");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after").as_deref(), Some("2"));
    assert_eq!(
        limited.get("/static/teia.css").status,
        200,
        "what costs nothing is served on"
    );
    // With places, a thousand heavy ones at once are all answered, one way or the other, and a crawl beside them
    // gets everything.
    let (_, served) = &*HOSTILE;
    let beside = tempfile::tempdir().unwrap();
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let crawl = scope.spawn(|| support::collect(beside.path(), &web, "default"));
        let asks: Vec<_> = (0..1_000)
            .map(|n| {
                let query = format!(
                    "/api/search?q=z*+a*+OR+%22the+zebra%22+-{n}+(a+OR+b*)&expand=1&limit=100"
                );
                std::thread::Builder::new()
                    .stack_size(256 << 10)
                    .spawn_scoped(scope, move || served.get(&query))
                    .unwrap()
            })
            .collect();
        crawl.join().unwrap();
        asks.into_iter().map(|ask| ask.join().unwrap()).collect()
    });
    let mut found = 0;
    for answer in &answers {
        match answer.status {
            200 => {
                found += 1;
                // The deadline of two seconds is that of one search; it says so where it was reached.
                let seconds = answer.json()["seconds"].as_f64().unwrap();
                assert!(answer.json()["partial"].is_boolean() && seconds > 0.0);
            }
            503 => assert_eq!(answer.header("retry-after").as_deref(), Some("2")),
            other => panic!("{other}: {}", answer.text()),
        }
    }
    assert!(found > 0);
    let pages = |root: &std::path::Path| {
        let directory = teia_engine::Directory::open(root).unwrap();
        let reading = teia_engine::Reading::open(&directory, "default").unwrap();
        let mut count = 0;
        let told = reading.entries(|entry| {
            if let teia_base::journal::Record::Commit(commit) = &entry.record {
                count += commit.attempts.len();
            }
        });
        told.unwrap();
        count
    };
    assert_eq!(pages(beside.path()), pages(limited.folder.path()));
}

#[test]
fn ui_22_odd_names_come_back_as_they_are() {
    let (_, served) = &*HOSTILE;
    let found = served.get("/api/search?q=named").json();
    let url = found["hits"][0]["url"].as_str().unwrap().to_owned();
    assert!(url.contains("quotes?q="), "{url}");
    let about = served.get(&format!("/page?url={}", escape(&url)));
    assert_eq!(about.status, 200, "{}", about.text());
    let copy = served.get(found["hits"][0]["copy"].as_str().unwrap());
    assert!(copy.text().contains("zebra named"), "{}", copy.head);
    for odd in [
        "site:\"';DROP TABLE\"",
        "'",
        "a;b",
        "\u{202e}",
        "lang:*",
        "collection",
    ] {
        for name in ["q", "site", "lang", "type", "date", "collection"] {
            let answer = served.get(&format!("/search?q=zebra&{name}={}", escape(odd)));
            // A second `q` is a mistake of the client; everything else is a search.
            assert!(
                matches!(answer.status, 200 | 400),
                "{name} {odd}: {}",
                answer.status
            );
            check_is_text(&answer.text());
        }
    }
}

#[test]
fn ui_23_a_table_has_no_formulas() {
    let (_, served) = &*HOSTILE;
    let answer = served.get("/api/search.csv?q=formula");
    assert_eq!(
        answer.header("content-type").as_deref(),
        Some("text/csv; charset=utf-8")
    );
    let text = answer.text();
    assert!(text.contains("\"'=cmd()|"), "{text}");
    for line in text.lines().skip(1) {
        for cell in line.split("\",\"") {
            assert!(
                !cell
                    .trim_start_matches('"')
                    .starts_with(['=', '+', '-', '@']),
                "{cell}"
            );
        }
    }
}

#[test]
fn ui_32_what_was_removed_is_gone_at_once() {
    let web = hostile_web();
    let served = Served::of(&web);
    let url = web.url("/xss");
    let time = served.newest(&url);
    let copy = format!("/archive/{time}/{url}");
    assert_eq!(served.get(&copy).status, 200);
    let directory = teia_engine::Directory::open(served.folder.path()).unwrap();
    let layout = teia_engine::Layout::new("default").unwrap();
    let mut removals = teia_engine::Removals::default();
    removals.add_url(&teia_base::CanonicalUrl::parse(&url).unwrap());
    removals.write(&*directory.files(), &layout).unwrap();
    for gone in [
        copy.clone(),
        format!("/archive/{time}mp_/{url}"),
        format!("/archive/*/{url}"),
        format!("/timegate/{url}"),
        format!("/timemap/link/{url}"),
        format!("/page?url={}", escape(&url)),
    ] {
        assert_eq!(served.get(&gone).status, 404, "{gone}");
    }
    for asks in [
        "/search?q=pwned",
        "/api/search?q=pwned",
        "/api/search.csv?q=pwned",
    ] {
        assert!(!served.get(asks).text().contains("xss"), "{asks}");
    }
    // The list is beside index and archive: making those anew does not touch it.
    support::filling::refill(served.folder.path(), "default");
    assert_eq!(served.get(&copy).status, 404);
    removals = teia_engine::Removals::default();
    removals.add_host("127.0.0.1");
    removals.write(&*directory.files(), &layout).unwrap();
    let other = web.url("/bidi");
    assert_eq!(served.get(&format!("/timegate/{other}")).status, 404);
    assert_eq!(
        served.get("/api/search?q=zebra").json()["hits"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ui_01_whatever_is_asked_comes_back_as_text(query in "[<>\"'&a-z{}%; ()*:\u{202e}é-]{0,40}") {
        let (_, served) = &*HOSTILE;
        let answer = served.get(&format!("/search?q={}", escape(&query)));
        prop_assert!(matches!(answer.status, 200 | 400));
        let page = answer.text();
        // Between the tags that we write there is no other.
        let tags: Vec<&str> = page.split('<').skip(1).map(|rest| rest.split([' ', '>', '\n']).next().unwrap()).collect();
        for tag in tags {
            let name = tag.trim_start_matches('/');
            prop_assert!(["!doctype", "html", "head", "meta", "title", "link", "script", "body", "a", "header", "form", "label", "input", "button", "svg", "circle", "path", "g", "rect", "span", "nav", "details", "summary", "ul", "ol", "li", "main", "h1", "h2", "div", "p", "b", "i", "bdi", "section", "article", "time", "mark", "table", "thead", "tbody", "tr", "th", "td", "code", "kbd"].contains(&name), "<{}", tag);
        }
    }
}
