//! Feeds and sitemaps of other projects' tests.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it measured"
)]

mod shared;

use teia_base::{LinkKind, MediaType};
use teia_extract::{Extracted, Extractors, Source};
use url::Url;

fn read(content_type: &str, body: &[u8]) -> Extracted {
    let url = Url::parse("http://127.0.0.1:8097/").unwrap();
    let media_type = MediaType::parse(content_type);
    let mut source = Source::new(&url, body);
    source.media_type = media_type.as_ref();
    Extractors::default().extract(&source)
}

fn of_kind(page: &Extracted, kind: LinkKind) -> Vec<&str> {
    page.links
        .iter()
        .filter(|link| link.kind == kind)
        .map(|link| link.url.as_str())
        .collect()
}

/// What a test of feedparser expects, where that is one simple equality.
fn expectation(body: &str) -> Option<(String, String)> {
    let line = body
        .lines()
        .find_map(|line| line.trim().strip_prefix("Expect:"))?
        .trim();
    let line = line.strip_prefix("not bozo and ").unwrap_or(line);
    let (left, right) = line.split_once(" == ")?;
    let right = right.strip_prefix('u').unwrap_or(right);
    let quote = right.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let right = right[1..].strip_suffix(quote)?;
    if right.contains(quote) || right.contains('\\') {
        return None;
    }
    let left = left.replace(['[', ']', '\'', '"', '.'], " ");
    let left = left.split_whitespace().collect::<Vec<_>>().join(".");
    Some((left, right.to_owned()))
}

#[test]
fn feedparsers_expectations_hold() {
    let Some(directory) = shared::data("feeds/feedparser") else {
        return;
    };
    let (mut links, mut titles) = ((0, 0), (0, 0));
    let mut read_files = 0;
    for file in shared::files(&directory)
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "xml"))
    {
        let body = std::fs::read(file).unwrap();
        let page = read("text/xml", &body);
        read_files += 1;
        let Some((what, expected)) = expectation(&String::from_utf8_lossy(&body)) else {
            continue;
        };
        let (found, score) = match what.as_str() {
            "entries.0.link" => (
                of_kind(&page, LinkKind::Feed)
                    .first()
                    .map(|&url| url.to_owned()),
                &mut links,
            ),
            "feed.link" => (
                of_kind(&page, LinkKind::Alternate)
                    .first()
                    .map(|&url| url.to_owned()),
                &mut links,
            ),
            "feed.title" => (Some(page.title.clone()), &mut titles),
            "entries.0.title" => {
                // A title without a link has no place among links; it stands in the text.
                (
                    Some(page.text.clone())
                        .filter(|text| text.starts_with(expected.trim()))
                        .map(|_| expected.trim().to_owned()),
                    &mut titles,
                )
            }
            _ => continue,
        };
        let expected = if what.ends_with("link") {
            Url::parse(&expected).map_or(expected, String::from)
        } else if expected.contains(['<', '&']) {
            continue;
        } else {
            expected.trim().to_owned()
        };
        score.1 += 1;
        if found.as_deref() == Some(expected.as_str()) {
            score.0 += 1;
        } else {
            println!(
                "{} {what}: {found:?}, not {expected:?}",
                file.strip_prefix(&directory).unwrap().display()
            );
        }
    }
    println!(
        "{read_files} feeds; links {} of {}, titles {} of {}",
        links.0, links.1, titles.0, titles.1
    );
    assert!(links.0 * 100 >= links.1 * 90 && titles.0 * 100 >= titles.1 * 95);
}

#[test]
fn sitemaps_of_crawler_commons_are_read() {
    let Some(directory) = shared::data("sitemaps") else {
        return;
    };
    let read = |name: &str, content_type: &str| {
        read(content_type, &std::fs::read(directory.join(name)).unwrap())
    };
    let check = |name: &str, content_type: &str, kind: LinkKind, count: usize| {
        let page = read(name, content_type);
        assert_eq!(
            of_kind(&page, kind).len(),
            count,
            "{name}: {:?}",
            page.links
        );
    };
    check("sitemaps/sitemap.ns.xml", "text/xml", LinkKind::Sitemap, 2);
    check(
        "sitemaps/sitemap.badns.xml",
        "text/plain",
        LinkKind::Sitemap,
        2,
    );
    check(
        "sitemaps/sitemap.index.xml",
        "application/xml",
        LinkKind::Sitemap,
        15,
    );
    check(
        "sitemaps/xmlSitemap.gz",
        "application/x-gzip",
        LinkKind::Sitemap,
        5,
    );
    check(
        "sitemaps/sitemap.txt.gz",
        "application/octet-stream",
        LinkKind::Sitemap,
        5,
    );
    check("sitemaps/sitemap.txt", "text/plain", LinkKind::Sitemap, 2);
    check(
        "sitemaps/sitemap-with-bom.txt",
        "text/plain",
        LinkKind::Sitemap,
        2,
    );
    check(
        "sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml",
        "text/xml",
        LinkKind::Sitemap,
        74,
    );
    check(
        "sitemaps/extension/sitemap-images.xml",
        "text/xml",
        LinkKind::Sitemap,
        1,
    );
    check(
        "sitemaps/extension/sitemap-images.xml",
        "text/xml",
        LinkKind::Image,
        2,
    );
    check(
        "sitemaps/extension/sitemap-links.xml",
        "text/xml",
        LinkKind::Sitemap,
        3,
    );
    check(
        "sitemaps/extension/sitemap-videos.xml",
        "text/xml",
        LinkKind::Sitemap,
        3,
    );
    check(
        "sitemaps/extension/sitemap-news.xml",
        "text/html",
        LinkKind::Sitemap,
        2,
    );
    check(
        "sitemaps/extension/pagemaps-sitemap.xml",
        "text/xml",
        LinkKind::Sitemap,
        2,
    );
    let dated = read(
        "sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml",
        "text/xml",
    );
    assert!(dated.links.iter().any(|link| link.last_modified.is_some()));
    assert!(!of_kind(&read("sitemaps/atom.xml", "text/xml"), LinkKind::Feed).is_empty());
    assert!(!of_kind(&read("rss/feed.rss", ""), LinkKind::Feed).is_empty());
    let alternates = read("sitemaps/extension/sitemap-links.xml", "text/xml");
    assert!(!of_kind(&alternates, LinkKind::Alternate).is_empty());
}

#[test]
fn a_broken_sitemap_gives_what_came_before_the_break() {
    let page = read(
        "text/xml",
        b"<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2",
    );
    assert_eq!(of_kind(&page, LinkKind::Sitemap), ["http://a.example/1"]);
    assert!(page.flags.has(teia_base::Flags::PARSE_PARTIAL));
    let page = read("application/xml", b"<html><body><a href=x></body></html>");
    assert!(of_kind(&page, LinkKind::Sitemap).is_empty());
    let upper = read(
        "text/xml",
        b"<URLSET><URL><LASTMOD>2026-01-01</LASTMOD><LOC> /x </LOC></URL></URLSET>",
    );
    assert_eq!(
        of_kind(&upper, LinkKind::Sitemap),
        ["http://127.0.0.1:8097/x"]
    );
    assert!(upper.links[0].last_modified.is_some());
}
