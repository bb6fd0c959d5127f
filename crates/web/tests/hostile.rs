//! The hostile web on our pages: each test has the name of its case in the catalogue.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use proptest::prelude::*;
use std::sync::LazyLock;
use support::{LittleWeb, Served};
use teia_web::WebConfig;

const SCRIPT: &str = "<script>alert('pwned')</script>";

/// Everything that a crawled page can say, on pages that are found by the word `zebra`.
fn hostile_web() -> LittleWeb {
    let web = LittleWeb::start();
    let links = [
        "/xss",
        "/links",
        "/bidi",
        "/active",
        "/svg",
        "/fake.png",
        "/style.xml",
        "/paper.pdf",
        "/parts",
        "/formula",
        "/redirects",
        "/private",
        "/quotes?q='%22;*%3E..%F0%9F%98%80",
        "/%22%0d%0aSet-Cookie:%20evil=1.svg",
    ];
    let links: String = links
        .iter()
        .map(|link| format!("<a href=\"{link}\">x</a>"))
        .collect();
    web.html(
        "/",
        &format!("<title>Start</title><p>zebra start page</p>{links}"),
    );
    web.html(
        "/xss",
        "<title>&lt;script&gt;alert('pwned')&lt;/script&gt; zebra {{7*7}} {% raw %}</title><meta name=description content=\"&lt;img src=x onerror=alert(1)&gt;\"><p>zebra &lt;script&gt;alert('pwned')&lt;/script&gt; &lt;mark&gt; \" onmouseover=\"alert(1)</p><a href=\"/\">&lt;b&gt;&lt;script&gt;alert('pwned')&lt;/script&gt;</a>",
    );
    web.html(
        "/links",
        "<title>Bad links zebra</title><a href=\"javascript:alert(1)\">js</a><a href=\"data:text/html,x\">data</a><a href=\"/xss\">good</a>",
    );
    web.html(
        "/bidi",
        &format!(
            "<title>\u{202e}gpj.exe\u{200b} zebra {}</title><p>zebra striped</p>",
            "x".repeat(5000)
        ),
    );
    web.put(
        "/active",
        "Content-Type: text/html\r\nSet-Cookie: evil=1\r\nRefresh: 0;url=http://evil.example/\r\nService-Worker-Allowed: /\r\nLink: <http://evil.example/x.js>; rel=preload",
        "<html><head><title>Active zebra</title><meta http-equiv=refresh content='0;url=http://evil.example/'><script>document.title='ran'</script></head><body onload=\"document.title='ran'\"><p>zebra acts</p><form action=http://evil.example/><input name=p></form><a href=\"/xss\">in</a><a href=\"http://elsewhere.example/\">out</a><img src=http://evil.example/track.png><iframe src=\"/xss\"></iframe></body></html>",
    );
    web.put(
        "/svg",
        "Content-Type: image/svg+xml",
        "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    );
    web.put(
        "/fake.png",
        "Content-Type: image/png",
        "<html><script>alert(1)</script></html>",
    );
    web.put(
        "/style.xml",
        "Content-Type: text/xml",
        "<?xml-stylesheet href='x.xsl'?><a/>",
    );
    web.put("/paper.pdf", "Content-Type: application/pdf", "%PDF-1.4 x");
    web.html("/parts", "<title>Parts zebra</title><link rel=stylesheet href=/parts.css><p>zebra</p><img src=/there.gif><img src=/missing.gif>");
    web.put(
        "/parts.css",
        "Content-Type: text/css",
        "body{background:url(/there.gif)}",
    );
    web.put("/there.gif", "Content-Type: image/gif", b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;");
    web.html(
        "/formula",
        "<title>=cmd()|' /C calc'!A0</title><p>zebra formula</p>",
    );
    web.put(
        "/redirects",
        "Content-Type: text/html\r\nLocation: /xss",
        "",
    );
    web.put(
        "/private",
        "Content-Type: text/html\r\nX-Robots-Tag: noarchive",
        "<title>Private zebra</title><p>zebra secret</p>",
    );
    web.html(
        "/quotes?q=%27%22;*%3E..%F0%9F%98%80",
        "<title>Names zebra</title><p>zebra named</p>",
    );
    web.put(
        "/%22%0d%0aSet-Cookie:%20evil=1.svg",
        "Content-Type: image/svg+xml",
        "<svg xmlns='http://www.w3.org/2000/svg'/>",
    );
    web
}

static HOSTILE: LazyLock<(LittleWeb, Served)> = LazyLock::new(|| {
    let web = hostile_web();
    let served = Served::of(&web);
    (web, served)
});

fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Markup of ours around their text: no tag and no attribute of theirs.
#[track_caller]
fn check_is_text(page: &str) {
    for bad in [
        "<script>",
        "<img src=x",
        "onerror=alert",
        "\" onmouseover=\"alert",
        "href=\"javascript:",
        "href=\"data:",
    ] {
        assert!(!page.contains(bad), "{bad} in {page}");
    }
    assert_eq!(
        page.matches("<script").count(),
        page.matches("<script type=\"module\" src=\"/static/")
            .count()
    );
}

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
fn ui_04_a_copy_is_sandboxed_and_has_no_header_of_theirs() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/active");
    let time = served.newest(&url);
    for mark in ["", "mp_"] {
        let copy = served.get(&format!("/archive/{time}{mark}/{url}"));
        assert_eq!(copy.status, 200);
        let policy = copy.header("content-security-policy").unwrap();
        assert!(
            policy
                .starts_with("sandbox allow-top-navigation-by-user-activation; default-src 'none'"),
            "{policy}"
        );
        for granted in [
            "allow-scripts",
            "allow-same-origin",
            "allow-forms",
            "allow-popups",
            "script-src",
            "connect-src",
            "'self'",
        ] {
            assert!(!policy.contains(granted), "{policy}");
        }
        for theirs in ["set-cookie", "refresh", "service-worker-allowed"] {
            assert_eq!(copy.header(theirs), None, "{}", copy.head);
        }
        assert!(!copy.header("link").unwrap().contains("evil.example"));
        let page = copy.text();
        assert!(page.contains("zebra acts"), "{page}");
        for bad in ["<script", "onload", "http-equiv", "ran'"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
        assert!(
            page.contains(&format!("href=\"/archive/{time}/{}\"", web.url("/xss"))),
            "{page}"
        );
        assert!(
            page.contains(&format!("/archive/{time}/http://elsewhere.example/")),
            "{page}"
        );
        assert!(!page.contains("action=\"http"), "{page}");
    }
    let window = served.ask(
        "GET",
        &format!("/archive/{time}/{url}"),
        &[("Sec-Fetch-Dest", "document")],
    );
    let page = window.text();
    assert!(
        page.contains("<iframe sandbox=\"allow-top-navigation-by-user-activation\""),
        "{page}"
    );
    assert!(
        page.contains(&format!("/archive/{time}mp_/{url}")),
        "{page}"
    );
    assert!(
        !page.contains("zebra acts"),
        "nothing of the copy is in our own page"
    );
}

#[test]
fn ui_05_what_can_act_is_saved_and_not_shown() {
    let (web, served) = &*HOSTILE;
    for (path, media_type) in [
        ("/svg", "image/svg+xml"),
        ("/fake.png", "application/octet-stream"),
        ("/style.xml", "application/octet-stream"),
        ("/paper.pdf", "application/octet-stream"),
    ] {
        let url = web.url(path);
        let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
        assert_eq!(
            copy.header("content-type").as_deref(),
            Some(media_type),
            "{path}"
        );
        assert!(
            copy.header("content-disposition")
                .unwrap()
                .starts_with("attachment"),
            "{path}"
        );
        assert_eq!(
            copy.header("x-content-type-options").as_deref(),
            Some("nosniff"),
            "{path}"
        );
        assert!(
            copy.header("content-security-policy")
                .unwrap()
                .contains("sandbox"),
            "{path}"
        );
    }
}

#[test]
fn ui_06_missing_parts_are_marked_and_never_fetched() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/parts");
    let time = served.newest(&url);
    let page = served.get(&format!("/archive/{time}mp_/{url}"));
    let text = page.text();
    for part in ["cs_", "im_"] {
        assert!(text.contains(&format!("/archive/{time}{part}")), "{text}");
    }
    let policy = page.header("content-security-policy").unwrap();
    for source in policy
        .split(';')
        .flat_map(|part| part.split_whitespace().skip(1))
    {
        let ours = format!("http://{}/archive/", served.address);
        assert!(
            source == ours
                || source.starts_with('\'')
                || source == "data:"
                || source.starts_with("allow-"),
            "{source}"
        );
    }
    let style = served.get(&format!("/archive/{time}cs_/{}", web.url("/parts.css")));
    assert_eq!(
        style.header("content-type").as_deref(),
        Some("text/css; charset=utf-8")
    );
    assert!(style.text().contains("/archive/"), "{}", style.text());
    let there = served.get(&format!("/archive/{time}im_/{}", web.url("/there.gif")));
    assert_eq!(there.header("content-type").as_deref(), Some("image/gif"));
    for missing in [
        web.url("/missing.gif"),
        "http://evil.example/track.png".to_owned(),
    ] {
        let answer = served.get(&format!("/archive/{time}im_/{missing}"));
        assert_eq!(answer.status, 404, "{missing}");
        assert_eq!(
            answer.header("content-type").as_deref(),
            Some("image/svg+xml")
        );
        assert!(answer.text().contains("not archived"));
    }
    // Another site cannot look into the archive by loading parts of it.
    let path = format!("/archive/{time}im_/{}", web.url("/there.gif"));
    let foreign = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "image"),
        ("Referer", "http://evil.example/"),
    ];
    assert_eq!(served.ask("GET", &path, &foreign).status, 403);
    let from_copy = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "image"),
    ];
    assert_eq!(served.ask("GET", &path, &from_copy).status, 403);
    let at = text.find("im_").unwrap();
    let with_key = &text[at - 9 - time.len()..at + text[at..].find('"').unwrap()];
    assert_eq!(
        served.ask("GET", with_key, &from_copy).status,
        200,
        "{with_key}"
    );
}

#[test]
fn ui_07_no_request_names_a_file() {
    let (_, served) = &*HOSTILE;
    for path in [
        "/archive/2026/../../../../etc/passwd",
        "/archive/2026/..%2f..%2f..%2fetc%2fpasswd",
        "/archive/2026/%2e%2e/%2e%2e/format",
        "/archive/2026//etc/passwd",
        "/archive/2026/file:///etc/passwd",
        "/archive/2026/http://127.0.0.1/%00",
        "/archive/../format",
        "/archive/2026id_/http://x/../../default/archive/",
        "/static/..%2fsrc%2flib.rs",
        "/static/../Cargo.toml",
        "/timemap/link/../../etc/passwd",
        "/archive/%00/http://a/",
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.head);
        assert!(
            !answer.text().contains("root:") && !answer.text().contains("teia-data"),
            "{path}"
        );
    }
}

#[test]
fn ui_08_a_large_a_bursting_and_a_damaged_copy_are_told_apart() {
    let web = LittleWeb::start();
    let mut large = "<title>Large</title><p>".to_owned();
    large.push_str(&"zebra ".repeat(2 << 20));
    web.html("/large", &large);
    web.html(
        "/",
        "<title>Start</title><a href=/large>l</a><a href=/hurt>h</a><p>zebra</p>",
    );
    web.html("/hurt", "<title>Hurt</title><p>zebra hurt</p>");
    let served = Served::of(&web);
    let url = web.url("/large");
    let copy = served.get(&format!("/archive/{}mp_/{url}", served.newest(&url)));
    assert_eq!(copy.status, 200);
    assert!(copy.body.len() <= 34 << 20, "{}", copy.body.len());
    // One byte of each record is changed.
    let url = web.url("/hurt");
    let time = served.newest(&url);
    let archive = served.folder.path().join("default/archive");
    for file in std::fs::read_dir(&archive).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "gz") {
            let mut bytes = std::fs::read(&path).unwrap();
            for byte in bytes.iter_mut().skip(12).step_by(64) {
                *byte ^= 0xff;
            }
            std::fs::write(&path, bytes).unwrap();
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let answer = served.get(&format!("/archive/{time}mp_/{url}"));
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("damaged"), "{}", answer.text());
}

#[test]
fn ui_15_a_query_bomb_is_refused_before_it_is_read() {
    let (_, served) = &*HOSTILE;
    let bombs = [
        "a".repeat(30 << 10),
        "a+".repeat(1000),
        format!("{}a{}", "(".repeat(500), ")".repeat(500)),
        "a*+".repeat(60),
        "*a*+".repeat(200),
    ];
    for bomb in &bombs {
        for page in ["/search", "/api/search", "/api/search.csv"] {
            let answer = served.get(&format!("{page}?q={bomb}"));
            assert_eq!(answer.status, 400, "{page} {}", &bomb[..20]);
            assert!(answer.text().contains("at most"), "{}", answer.text());
        }
    }
    assert_eq!(
        served
            .get(&format!("/search?q={}", "a".repeat(100 << 10)))
            .status,
        414
    );
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
fn ui_17_pages_beyond_the_window_are_refused() {
    let (_, served) = &*HOSTILE;
    for wrong in [
        "page=1000000",
        "limit=1000000000",
        "limit=1e9",
        "offset=1000&limit=10",
        "page=-1",
        "offset=18446744073709551616",
    ] {
        let answer = served.get(&format!("/search?q=zebra&{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
        let answer = served.get(&format!("/api/search?q=zebra&{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.json()["error"].as_str().is_some());
    }
    assert_eq!(served.get("/search?q=zebra&page=100").status, 200);
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
    let served = Served::new(folder, config);
    let answer = served.get("/search?q=zebra");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after").as_deref(), Some("2"));
    assert_eq!(
        served.get("/static/teia.css").status,
        200,
        "what costs nothing is served on"
    );
    // With places, many at once are all answered, one way or the other.
    let (_, served) = &*HOSTILE;
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asks: Vec<_> = (0..200)
            .map(|n| scope.spawn(move || served.get(&format!("/search?q=zebra+{n}")).status))
            .collect();
        asks.into_iter().map(|ask| ask.join().unwrap()).collect()
    });
    assert!(
        statuses.iter().all(|status| matches!(status, 200 | 503)),
        "{statuses:?}"
    );
    assert!(statuses.contains(&200));
}

#[test]
fn ui_21_no_name_splits_a_header_and_no_redirect_leads_away() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/%22%0d%0aSet-Cookie:%20evil=1.svg");
    let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
    assert_eq!(copy.header("set-cookie"), None, "{}", copy.head);
    let name = copy.header("content-disposition").unwrap();
    assert_eq!(name.matches('"').count(), 2, "{name}");
    for next in [
        "//evil.example/",
        "https://evil.example/",
        "/%5Cevil.example",
        "/x%0d%0aSet-Cookie:%20a=b",
        "%2F%2Fevil.example",
    ] {
        let answer = served.get(&format!("/set?lang=pt&next={next}"));
        assert_eq!(answer.status, 303);
        assert_eq!(answer.header("location").as_deref(), Some("/"), "{next}");
        assert_eq!(
            answer.head.to_lowercase().matches("set-cookie").count(),
            1,
            "{}",
            answer.head
        );
    }
    let answer = served.get("/set?lang=pt%0d%0aX:%20y&theme=evil&next=/search%3Fq=a");
    assert_eq!(answer.header("set-cookie"), None);
    assert_eq!(answer.header("location").as_deref(), Some("/search?q=a"));
    // An archived redirect stays in the archive.
    let url = web.url("/redirects");
    let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
    assert_eq!(copy.status, 302);
    assert!(
        copy.header("location").unwrap().starts_with("/archive/"),
        "{}",
        copy.head
    );
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

#[test]
fn a_page_that_wants_no_copies_has_none() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/private");
    for path in [
        format!("/archive/2026/{url}"),
        format!("/archive/*/{url}"),
        format!("/timegate/{url}"),
        format!("/timemap/json/{url}"),
    ] {
        let answer = served.get(&path);
        assert_eq!(answer.status, 403, "{path}");
        assert!(!answer.text().contains("secret"), "{path}");
    }
    let found = served.get("/api/search?q=secret").json();
    assert_eq!(found["hits"][0]["copy"], serde_json::Value::Null, "{found}");
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
