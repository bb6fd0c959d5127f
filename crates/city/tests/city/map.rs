//! Sitemaps and feeds.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use teia_base::{Flags, LinkKind, MediaType, Outcome, Timestamp};
use teia_city::{Door, Step};
use teia_extract::{Extracted, Extractors, Source};
use url::Url;

use crate::support::{Crawled, answer, crawl, crawl_config, html, open_site, thread_time};

const PARSE_TIME: Duration = Duration::from_secs(3);

fn read(media_type: &str, body: &[u8]) -> Extracted {
    let url = Url::parse("http://a.test/dir/map.xml").unwrap();
    let media_type = MediaType::parse(media_type);
    let before = thread_time();
    let page = Extractors::default().extract(&Source {
        media_type: media_type.as_ref(),
        ..Source::new(&url, body)
    });
    let took = thread_time() - before;
    assert!(took < PARSE_TIME, "{took:?} for {} bytes", body.len());
    assert!(!page.flags.has(Flags::PARSE_CRASH));
    page
}

fn urls(page: &Extracted) -> Vec<&str> {
    page.links.iter().map(|link| link.url.as_str()).collect()
}

/// Crawls a site that has this at `/map`; what lies below `/trick` are pages.
fn crawl_map(media_type: &str, body: &[u8]) -> (Door, Crawled) {
    let (fields, body) = (format!("Content-Type: {media_type}\r\n"), body.to_vec());
    let door = open_site(move |path| match path {
        "/map" => Some(answer(&fields, &body)),
        path if path.starts_with("/trick") => Some(html("page")),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/map"), door.url("/next")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    (door, crawled)
}

fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for part in parts {
        encoder.write_all(part).unwrap();
    }
    encoder.finish().unwrap()
}

const ONE: &str = "<urlset><url><loc>/trick-1</loc></url>";

#[test]
fn map_01() {
    let spaces = vec![b' '; 200 << 20];
    let bomb = gzip(&[ONE.as_bytes(), &spaces]);
    let page = read("application/gzip", &bomb);
    assert!(page.flags.has(Flags::DECODE_PARTIAL));
    assert_eq!(page.links.len(), 1);
    let (door, crawled) = crawl_map("application/gzip", &bomb);
    assert_eq!(door.asked("/trick-1"), 1, "{:?}", crawled.told());
    // Without an end on the wire, and with one that is said to be far away: cut, and used as far as it came.
    for (media_type, length) in [
        ("text/xml", ""),
        ("text/xml", "Content-Length: 2147483648\r\n"),
        ("application/xml", "Content-Length: 2147483648\r\n"),
    ] {
        let endless = move |first: &str| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n{length}\r\n");
            let steps = [Step::say(head), Step::say(first)];
            [&steps[..], &[Step::Endless(vec![b' '; 64 << 10])]].concat()
        };
        let door = open_site(move |path| match path {
            "/map" => Some(endless(ONE)),
            "/data" => Some(endless("<data><p>No list of URLs.</p>")),
            "/trick-1" => Some(html("page")),
            _ => None,
        });
        let seeds = ["/map", "/next", "/data"].map(|path| door.url(path));
        let crawled = crawl(&crawl_config(), &seeds);
        let map = crawled.last(&door.url("/map"));
        assert!(map.outcome.is_ok() && map.flags.has(Flags::TRUNCATED));
        assert_eq!(door.asked("/trick-1"), 1, "{:?}", crawled.told());
        assert!(door.sent() < 200 << 20, "{}", door.sent());
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
        // A document that says that it is larger than wanted is refused, XML or not.
        let data = crawled.last(&door.url("/data"));
        let refused = data.outcome == Outcome::SIZE_EXCEEDED && data.capture.is_none();
        assert_eq!(refused, !length.is_empty(), "{:?}", crawled.told());
    }
    // So many URLs, and not more.
    let many: String = (0..50_001)
        .map(|at| format!("<url><loc>/p{at}</loc></url>"))
        .collect();
    let page = read("text/xml", format!("<urlset>{many}</urlset>").as_bytes());
    assert_eq!(page.links.len(), 50_000);
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
}

#[test]
fn map_02() {
    let index = |names: &[String]| {
        let list: String = names
            .iter()
            .map(|name| format!("<sitemap><loc>{name}</loc></sitemap>"))
            .collect();
        answer(
            "Content-Type: text/xml\r\n",
            format!("<sitemapindex>{list}</sitemapindex>"),
        )
    };
    let door = open_site(move |path| match path {
        "/self" => Some(index(&["/self".to_owned()])),
        "/a" => Some(index(&["/b".to_owned()])),
        "/b" => Some(index(&["/a".to_owned()])),
        path => {
            let number: u32 = path.strip_prefix("/chain")?.parse().ok()?;
            Some(index(&[format!("/chain{}", number + 1)]))
        }
    });
    let mut config = crawl_config();
    config.run.sitemap_files = 40;
    let seeds = ["/self", "/a", "/chain0", "/next"].map(|path| door.url(path));
    let crawled = crawl(&config, &seeds);
    assert!(door.asked("/self") == 1 && door.asked("/a") == 1 && door.asked("/b") == 1);
    let chain = door
        .requests()
        .iter()
        .filter(|head| head.contains("/chain"))
        .count();
    assert_eq!(chain, 4, "the first, and three levels below it");
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let cut = crawled
        .attempts
        .iter()
        .filter(|one| one.flags.has(Flags::PARSE_PARTIAL));
    assert!(cut.count() >= 1, "and it is flagged");
}

#[test]
fn map_03() {
    let bomb = "<!DOCTYPE u [<!ENTITY a '&b;&b;&b;&b;'><!ENTITY b '&c;&c;&c;&c;'><!ENTITY c 'x'>\
        <!ENTITY f SYSTEM 'file:///etc/passwd'><!ENTITY h SYSTEM '/trick-entity'>]>\
        <urlset><url><loc>/trick-1?&a;&f;&h;</loc></url></urlset>";
    let page = read("text/xml", bomb.as_bytes());
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
    assert!(
        urls(&page)
            .iter()
            .all(|url| !url.contains("root") && !url.contains("xxxx"))
    );
    let (door, crawled) = crawl_map("text/xml", bomb.as_bytes());
    assert_eq!(door.asked("/trick-entity"), 0);
    assert!(
        crawled
            .last(&door.url("/map"))
            .flags
            .has(Flags::PARSE_PARTIAL)
    );
}

#[test]
fn map_04() {
    for attribute in ["a", "xmlns:a"] {
        let many: String = (0..100_000)
            .map(|at| format!(" {attribute}{at}='1'"))
            .collect();
        let map = format!("<urlset{many}><url{many}><loc>/trick-1</loc></url></urlset>");
        let (door, _) = crawl_map("text/xml", map.as_bytes());
        assert_eq!(door.asked("/trick-1"), 1);
        assert_eq!(read("text/xml", map.as_bytes()).links.len(), 1);
    }
}

#[test]
fn map_06() {
    let cut = "<urlset><url><loc>/trick-1</loc></url><url><loc>/trick-2</lo";
    let page = read("text/xml", cut.as_bytes());
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
    let (door, _) = crawl_map("text/xml", cut.as_bytes());
    assert_eq!(door.asked("/trick-1"), 1);
    let label =
        b"<?xml version='1.0' encoding='utf-16'?><urlset><url><loc>/trick-1</loc></url></urlset>";
    assert_eq!(read("text/xml", label).links.len(), 1);
    let page = read("text/xml", b"<html><body><p>Not a map</p></body></html>");
    let maps = page
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Sitemap);
    assert_eq!(maps.count(), 0);
}

#[test]
fn map_08() {
    let list: String = (0..60_000)
        .map(|at| format!("http://a.test/{at}\n"))
        .collect();
    let page = read("text/plain", list.as_bytes());
    assert_eq!(page.links.len(), 50_000);
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
    let packed = gzip(&[b"http://a.test/1\nhttp://a.test/2\n"]);
    assert_eq!(read("application/gzip", &packed).links.len(), 2);
    let twice = gzip(&[&gzip(&[ONE.as_bytes()])]);
    assert_eq!(read("application/gzip", &twice).links.len(), 0, "one layer");
    let mut tar = vec![0; 512];
    tar[..7].copy_from_slice(b"map.xml");
    tar[257..262].copy_from_slice(b"ustar");
    tar.extend_from_slice(ONE.as_bytes());
    tar.resize(2048, 0);
    assert_eq!(
        read("application/gzip", &gzip(&[&tar])).links.len(),
        0,
        "no archive"
    );
    let (_, crawled) = crawl_map("application/gzip", &twice);
    assert_eq!(crawled.report.known_urls, 3, "{:?}", crawled.told());
}

#[test]
fn map_09() {
    let deep = format!(
        "<urlset><url><loc>/trick-1</loc></url>{}",
        "<a>".repeat(1_000_000)
    );
    let page = read("text/xml", deep.as_bytes());
    assert!(page.flags.has(Flags::PARSE_DEPTH_LIMITED));
    let (door, _) = crawl_map("text/xml", deep.as_bytes());
    assert_eq!(door.asked("/trick-1"), 1);
    let feed = format!(
        "<rss><channel><item><link>/trick-1</link></item>{}",
        "<a>".repeat(1_000_000)
    );
    assert!(
        read("application/rss+xml", feed.as_bytes())
            .flags
            .has(Flags::PARSE_DEPTH_LIMITED)
    );
}

#[test]
fn map_10() {
    let map = "<URLSET xmlns='http://wrong.test/'><URL><LOC>/trick-1</LOC>\
        <image:image><image:loc>/trick-i.png</image:loc></image:image>\
        <video:video><video:content_loc>/trick-v.mp4</video:content_loc></video:video>\
        <news:news><news:title>t</news:title></news:news><unknown:x><unknown:loc2>/no</unknown:loc2></unknown:x>\
        <xhtml:link rel='alternate' hreflang='pt' href='/trick-pt'/></URL></URLSET>";
    let page = read("text/xml", map.as_bytes());
    let of = |kind| {
        let links = page.links.iter().filter(move |link| link.kind == kind);
        links.map(|link| link.url.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(LinkKind::Sitemap), ["http://a.test/trick-1"]);
    assert_eq!(of(LinkKind::Image), ["http://a.test/trick-i.png"]);
    assert_eq!(of(LinkKind::Media), ["http://a.test/trick-v.mp4"]);
    assert_eq!(of(LinkKind::Alternate), ["http://a.test/trick-pt"]);
    let (door, _) = crawl_map("text/xml", map.as_bytes());
    assert_eq!(door.asked("/trick-1"), 1);
}

#[test]
fn map_11() {
    let feed = "<rss xml:base='http://a.test/base/'><channel><item><title><![CDATA[<b>One</b>]]></title>\
        <link>rel</link><pubDate>32 Foo 99999</pubDate>\
        <description><![CDATA[<p><a href='/trick-html'>h</a></p>]]></description></item>\
        <item><content type='application/octet-stream' mode='base64'>PGEgaHJlZj0vbm8+</content></item></channel></rss>";
    let page = read("application/rss+xml", feed.as_bytes());
    let found = urls(&page);
    assert!(found.contains(&"http://a.test/base/rel"), "{found:?}");
    assert!(found.contains(&"http://a.test/trick-html"), "{found:?}");
    assert!(!found.iter().any(|url| url.ends_with("/no")));
    let dates = |link: &teia_base::Link| link.last_modified.is_none_or(|date| date < far());
    assert!(page.links.iter().all(dates));
    let many: String = (0..10_000)
        .map(|at| format!("<item><link>/p{at}</link></item>"))
        .collect();
    let page = read(
        "application/rss+xml",
        format!("<rss><channel>{many}</channel></rss>").as_bytes(),
    );
    assert_eq!(page.links.len(), 1000);
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
    let (door, _) = crawl_map(
        "application/rss+xml",
        b"<rss><channel><item><link>/trick-1</link></item></channel></rss>",
    );
    assert_eq!(door.asked("/trick-1"), 1);
}

fn far() -> Timestamp {
    Timestamp::parse("9999-01-01T00:00:00Z").unwrap()
}

#[test]
fn map_13() {
    let feed = "<rss><channel><item><link>file:///etc/passwd</link></item>\
        <item><link>javascript:alert(1)</link></item>\
        <item><link>http://10.0.0.1/trick-private</link></item>\
        <item><link>http://127.0.0.1:1/trick-port</link></item>\
        <item><link>/trick-1</link></item></channel></rss>";
    let body = feed.as_bytes().to_vec();
    let door = open_site(move |path| match path {
        "/map" => Some(answer("Content-Type: application/rss+xml\r\n", &body)),
        "/trick-1" => Some(html("page")),
        _ => None,
    });
    let mut config = crawl_config();
    config.fetch.allow_private = false;
    config.fetch.resolve.clear();
    config.fetch.allowed = vec![(door.address().ip(), door.address().port())];
    config.filter.scope = "any".parse().unwrap();
    let crawled = crawl(&config, &[door.url("/map"), door.url("/next")]);
    assert!(crawled.last(&door.url("/trick-1")).outcome.is_ok());
    for attempt in &crawled.attempts {
        let own = attempt.url.request().starts_with(&door.url(""));
        assert!(own || attempt.remote.is_none(), "{:?}", crawled.told());
    }
    assert_eq!(
        crawled.last("http://10.0.0.1/trick-private").outcome,
        Outcome::ADDR_BLOCKED
    );
    assert!(crawled.all("file:///etc/passwd").is_empty());
}

#[test]
fn map_14() {
    let feed = r#"{"version":"https://jsonfeed.org/version/1.1","title":"a","title":"b",
        "items":[{"id":1,"url":"/trick-1"},{"url":7},{"url":null}]}"#;
    for feed in [
        feed,
        r#"{"version":"https://jsonfeed.org/version/1","x":1e400,"items":[{"id":1e400,"url":"/trick-1"}]}"#,
        // Both at once.
        r#"{"version":"https://jsonfeed.org/version/1","x":1e400,"x":-1e400,"title":"a","title":"b",
            "items":[{"id":1e400,"url":"/trick-1"}],"x":[1e999]}"#,
    ] {
        let page = read("application/feed+json", feed.as_bytes());
        assert_eq!(urls(&page), ["http://a.test/trick-1"]);
    }
    for bomb in ["[", "{\"a\":"] {
        let version = "https://jsonfeed.org/version/1";
        let deep = format!(
            "{{\"version\":\"{version}\",\"items\":{}",
            bomb.repeat(100_000)
        );
        let page = read("application/feed+json", deep.as_bytes());
        assert!(page.flags.has(Flags::PARSE_PARTIAL));
        crawl_map("application/feed+json", deep.as_bytes());
    }
    let (door, _) = crawl_map("application/feed+json", feed.as_bytes());
    assert_eq!(door.asked("/trick-1"), 1);
}

#[test]
fn map_15() {
    let map = "<?xml version='1.1' encoding='utf-8' standalone='no'?>\
        <?xml-stylesheet type='text/xsl' href='/trick-style.xsl'?><?php evil() ?>\
        <urlset><url><loc>/trick-1</loc></url></urlset>";
    let (door, crawled) = crawl_map("text/xml", map.as_bytes());
    assert_eq!(door.asked("/trick-1"), 1, "{:?}", crawled.told());
    assert_eq!(door.asked("/trick-style.xsl"), 0);
}

#[test]
fn map_16() {
    let text = "<?xml version='1.0' encoding='utf-8'?><urlset><url><loc>/trick-caf\u{e9}</loc></url></urlset>";
    let units = |to: fn(u16) -> [u8; 2], mark: [u8; 2]| -> Vec<u8> {
        mark.into_iter()
            .chain(text.encode_utf16().flat_map(to))
            .collect()
    };
    for body in [
        units(u16::to_le_bytes, [0xff, 0xfe]),
        units(u16::to_be_bytes, [0xfe, 0xff]),
    ] {
        assert_eq!(
            urls(&read("text/xml", &body)),
            ["http://a.test/trick-caf%C3%A9"]
        );
    }
    // UTF-32 is none that browsers read: no URLs, and no harm.
    let wide: Vec<u8> = text
        .chars()
        .flat_map(|c| u32::from(c).to_be_bytes())
        .collect();
    assert_eq!(urls(&read("text/xml", &wide)), [""; 0]);
    // A second label changes nothing.
    let twice = "<?xml version='1.0' encoding='utf-8'?><urlset><?xml encoding='koi8-r'?><url><loc>/trick-caf\u{e9}</loc></url></urlset>";
    assert_eq!(
        urls(&read("text/xml", twice.as_bytes())),
        ["http://a.test/trick-caf%C3%A9"]
    );
}

fn url_list(urls: &[String]) -> Vec<Step> {
    let list: String = urls
        .iter()
        .map(|url| format!("<url><loc>{url}</loc></url>"))
        .collect();
    answer(
        "Content-Type: text/xml\r\n",
        format!("<urlset>{list}</urlset>"),
    )
}

/// A sitemap names pages of two other sites; the robots.txt of one of them names the sitemap.
#[test]
fn map_05() {
    let (far, near) = (
        std::sync::Arc::new(std::sync::OnceLock::<[String; 4]>::new()),
        std::sync::OnceLock::new(),
    );
    let told = std::sync::Arc::clone(&far);
    let map = open_site(move |path| match path {
        "/map" => Some(url_list(told.get()?)),
        path if path.starts_with("/trick") => Some(html(format!("own {path}"))),
        _ => None,
    });
    let sitemap = map.named("map.test", "/map");
    near.set(sitemap.clone()).unwrap();
    let submitting = open_site(move |path| match path {
        "/robots.txt" => Some(answer(
            "Content-Type: text/plain\r\n",
            format!("Sitemap: {}\n", near.get()?),
        )),
        path if path.starts_with("/trick") => Some(html(format!("submitted {path}"))),
        _ => None,
    });
    let silent = open_site(|path| {
        path.starts_with("/trick")
            .then(|| html(format!("silent {path}")))
    });
    let urls = [
        map.named("map.test", "/trick-own"),
        submitting.named("submitting.test", "/trick-1"),
        silent.named("silent.test", "/trick-2"),
        "http://169.254.169.254/trick-3".to_owned(),
    ];
    far.set(urls).unwrap();
    let mut config = crawl_config();
    config.filter.scope = "any".parse().unwrap();
    let seeds = [
        submitting.named("submitting.test", "/next"),
        silent.named("silent.test", "/next"),
    ];
    let crawled = crawl(&config, &seeds);
    assert_eq!(map.asked("/map"), 1, "{:?}", crawled.told());
    assert_eq!(
        (map.asked("/trick-own"), submitting.asked("/trick-1")),
        (1, 1),
        "{:?}",
        crawled.told()
    );
    assert_eq!(silent.asked("/trick-2"), 0, "{:?}", crawled.told());
    assert!(crawled.all("http://169.254.169.254/trick-3").is_empty());
    let read = crawled.last(&sitemap);
    assert!(read.flags.has(Flags::PARSE_PARTIAL));
    assert!(
        read.detail
            .as_deref()
            .is_some_and(|text| text.starts_with("2 URLs")),
        "{read:?}"
    );
    for seed in &seeds {
        assert!(crawled.last(seed).outcome.is_ok());
    }
    // What a person gave as a seed may name whom it likes.
    let crawled = crawl(&config, &[sitemap]);
    assert_eq!(silent.asked("/trick-2"), 1, "{:?}", crawled.told());
}

/// Lies about dates, priority and frequency: nothing is decided by them.
#[test]
fn map_07() {
    let now = teia_base::Clock::wall(&teia_base::SystemClock).to_string();
    let dates = [
        now.as_str(),
        "2999-01-01",
        "yesterday",
        "-1",
        "9999999999999-99-99T99",
        "",
    ];
    let list: String = dates
        .iter()
        .enumerate()
        .map(|(at, date)| {
            format!(
                "<url><loc>/trick-{at}</loc><lastmod>{date}</lastmod><priority>1.0</priority><changefreq>always</changefreq></url>"
            )
        })
        .collect();
    let map = format!("<urlset>{list}<url><loc>/trick-honest</loc></url></urlset>");
    let body = map.clone();
    let door = open_site(move |path| match path {
        "/map" => Some(answer("Content-Type: text/xml\r\n", &body)),
        path if path.starts_with("/trick") => Some(html(format!("page {path} {}", path.len()))),
        _ => None,
    });
    let mut config = crawl_config();
    config.traps.enabled = false;
    let seeds = [door.url("/map"), door.url("/next")];
    let disk = teia_base::SimulatedDisk::new();
    let mut paths: Vec<String> = (0..dates.len()).map(|at| format!("/trick-{at}")).collect();
    paths.push("/trick-honest".to_owned());
    crate::support::crawl_on(&disk, &config, &seeds);
    for path in &paths {
        assert_eq!(door.asked(path), 1, "{path}");
    }
    // Visited again and again, those that lie have no advantage over the honest one.
    config.mode = teia_engine::Mode::Incremental;
    config.run.revisit = Duration::from_millis(200);
    config.filter.max_pages = Some(60);
    let crawled = crate::support::crawl_on(&disk, &config, &seeds);
    let honest = door.asked("/trick-honest");
    for path in &paths {
        let asked = door.asked(path);
        assert!(
            asked <= honest + 2,
            "{path}: {asked}, and the honest one {honest}"
        );
    }
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

/// A feed that is never the same, in a run that visits everything again and again.
#[test]
fn map_12() {
    let polls = std::sync::atomic::AtomicUsize::new(0);
    let door = open_site(move |path| match path {
        "/map" => {
            let poll = polls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let items: String = (0..2000)
                .map(|at| format!("<item><link>/trick-{poll}-{at}</link></item>"))
                .collect();
            let feed =
                format!("<rss version='2.0'><channel><title>x</title>{items}</channel></rss>");
            Some(answer("Content-Type: application/rss+xml\r\n", feed))
        }
        path if path.starts_with("/trick") => Some(html(format!("item {path}"))),
        _ => None,
    });
    let mut config = crawl_config();
    config.traps.enabled = false;
    config.mode = teia_engine::Mode::Incremental;
    config.run.revisit = Duration::from_millis(50);
    config.filter.max_pages = Some(300);
    let crawled = crawl(&config, &[door.url("/next"), door.url("/map")]);
    assert!(door.asked("/next") >= 1);
    assert_eq!(
        door.asked("/map"),
        1,
        "not again within a quarter of an hour"
    );
    let feed = crawled.last(&door.url("/map"));
    assert!(
        feed.links.len() <= 1000 && feed.flags.has(Flags::PARSE_PARTIAL),
        "{}",
        feed.links.len()
    );
    let teia_base::journal::Next::Again(due) = feed.next else {
        panic!("{:?}", feed.next);
    };
    assert!(due.since(feed.started) >= Duration::from_secs(15 * 60));
    // Other pages are due when the collection says.
    let mut pages = crawled
        .attempts
        .iter()
        .filter(|one| one.url.request().contains("/trick"));
    let page = pages.next().unwrap();
    let teia_base::journal::Next::Again(due) = page.next else {
        panic!("{:?}", page.next);
    };
    assert!(due.since(page.started) < Duration::from_secs(15 * 60));
}
