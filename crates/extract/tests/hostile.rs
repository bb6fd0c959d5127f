//! Hostile input (the HTML group of the catalogue): linear time, bounded results, no panic.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail, and says what it measured"
)]

mod shared;

use std::time::Duration;

use proptest::prelude::*;
use teia_base::{Flags, MediaType};
use teia_extract::{Extracted, Extractors, Limits, Source};
use url::Url;

fn extract_as(content_type: &str, body: &[u8]) -> Extracted {
    let url = Url::parse("http://a.example/x/").unwrap();
    let media_type = MediaType::parse(content_type);
    let mut source = Source::new(&url, body);
    source.media_type = media_type.as_ref();
    Extractors::default().extract(&source)
}

fn extract(html: &str) -> Extracted {
    extract_as("text/html; charset=utf-8", html.as_bytes())
}

/// A megabyte takes some milliseconds where time is linear, and many seconds where it grows
/// with the square. The bound is more than ten times the first.
#[track_caller]
fn check_linear(what: &str, content_type: &str, body: &str) -> Extracted {
    let start = shared::thread_time();
    let extracted = extract_as(content_type, body.as_bytes());
    let took = shared::thread_time() - start;
    let bound = Duration::from_millis(400).mul_f64((body.len() as f64 / 1e6).max(1.0));
    assert!(took < bound, "{what}: {took:?} for {} bytes", body.len());
    assert!(!extracted.flags.has(Flags::PARSE_CRASH), "{what}");
    extracted
}

#[test]
fn repeated_pieces_take_linear_time() {
    let pieces = [
        "<div>",
        "<a ",
        "<a <a ",
        "<a href='",
        "<a href=\"",
        "<!--",
        "<!-- -",
        "-",
        "<",
        "</",
        "<!",
        "<?",
        "&",
        "&amp",
        "&#",
        "&#x",
        "&amp;",
        "&#0;",
        "&#x110000;",
        "&#xD800;",
        "&notit;",
        "&zzzzzzzzzzzzzz",
        "<svg>",
        "<math>",
        "<svg><desc>",
        "<template>",
        "<noscript>",
        "<table>",
        "<select>",
        "<ul><li>",
        "<script>",
        "<script><!--<script",
        "<script><!--",
        "</script",
        "<style>",
        "<style>url(",
        "<title>",
        "<textarea>",
        "<plaintext>",
        "<b><i><a href=x>",
        "</a>",
        "<a href=x>y",
        "<img srcset='a, b, c, ",
        "<p style=\"a:url(",
        "<p style='@import \"",
        "<![CDATA[",
        "<svg><![CDATA[",
        "\0",
        "\u{300}",
        "é",
        "<a href=x",
        "<base href=x>",
        "<h1>",
        "<iframe srcdoc='<p>'>",
        "<a href='#",
        "\\",
        "=",
        "'",
        "<meta ",
    ];
    for piece in pieces {
        let body = piece.repeat((1 << 20) / piece.len());
        for content_type in [
            "text/html; charset=utf-8",
            "text/html",
            "text/css",
            "text/plain",
            "text/xml",
        ] {
            check_linear(piece, content_type, &body);
        }
    }
    for root in [
        "<rss><channel><item>",
        "<feed><entry><content>",
        "<urlset><url><loc>",
    ] {
        for piece in [
            "<a>",
            "<![CDATA[",
            "&lt;",
            "<link>",
            "<title>",
            "<entry>",
            "<url>",
            "<!--",
            "<a b='",
        ] {
            let body = format!("{root}{}", piece.repeat((1 << 20) / piece.len()));
            check_linear(piece, "text/xml", &body);
        }
    }
}

#[test]
fn formatting_elements_in_a_storm_are_no_problem() {
    let storm = ["<a>", "<i>", "</a>"]
        .map(|tag| tag.repeat(40_000))
        .concat();
    check_linear("HTML-03", "text/html", &storm);
}

#[test]
fn html_01_deep_pages_keep_their_links_and_are_flagged() {
    let page = extract(&format!("{}<a href=b>", "<div>".repeat(200_000)));
    assert!(page.flags.has(Flags::PARSE_DEPTH_LIMITED));
    assert_eq!(page.links.len(), 1);
    assert!(
        !extract(&"<div>".repeat(512))
            .flags
            .has(Flags::PARSE_DEPTH_LIMITED)
    );
    assert!(
        extract(&"<div>".repeat(513))
            .flags
            .has(Flags::PARSE_DEPTH_LIMITED)
    );
    assert!(
        !extract(&"<p>a<li>b".repeat(5000))
            .flags
            .has(Flags::PARSE_DEPTH_LIMITED)
    );
}

#[test]
fn html_05_many_attributes_are_cut() {
    let many: String = (0..100_000).map(|at| format!(" a{at}=1")).collect();
    let page = check_linear(
        "HTML-05",
        "text/html",
        &format!("<a href=b{many} href=c>x</a><a{many} href=d>"),
    );
    assert_eq!(
        page.links
            .iter()
            .map(|link| link.url.as_str())
            .collect::<Vec<_>>(),
        ["http://a.example/x/b"]
    );
}

#[test]
fn html_06_a_huge_attribute_is_no_url() {
    let huge = "x".repeat(8 << 20);
    let page = extract(&format!(
        "<a href=before>a</a><a href='{huge}'>b</a><a href=after>c</a>"
    ));
    assert_eq!(page.links.len(), 2);
    let unclosed = extract("<p>text <a href=b>c</a> <a href='d>e");
    assert_eq!(
        (unclosed.links.len(), unclosed.text.as_str()),
        (1, "text c")
    );
}

#[test]
fn html_12_links_are_cut_at_their_limit() {
    let links = |count: usize| {
        (0..count)
            .map(|at| format!("<a href=p{at}>"))
            .collect::<String>()
    };
    let full = extract(&links(10_000));
    assert_eq!(
        (full.links.len(), full.flags.has(Flags::PARSE_PARTIAL)),
        (10_000, false)
    );
    let over = extract(&links(10_001));
    assert_eq!(
        (over.links.len(), over.flags.has(Flags::PARSE_PARTIAL)),
        (10_000, true)
    );
    assert_eq!(over.links[9_999].url, "http://a.example/x/p9999");
}

#[test]
fn text_is_cut_at_its_limit_and_links_after_it_keep_their_text() {
    let url = Url::parse("http://a.example/").unwrap();
    let extractors = Extractors::new(Limits {
        text_bytes: 10,
        ..Limits::default()
    });
    let page = extractors.extract(&Source::new(
        &url,
        "<p>0123456789é <a href=b>link text</a>".as_bytes(),
    ));
    assert_eq!(page.text, "0123456789");
    assert_eq!(page.links[0].anchor, "link text");
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
}

#[test]
fn html_23_titles_are_cut_and_clean() {
    let page = extract(&format!(
        "<title> a\0\u{202e}b {} </title>",
        "é".repeat(1 << 20)
    ));
    assert!(page.title.starts_with("ab é") && page.title.len() <= 2048);
}

#[test]
fn time_runs_out() {
    let url = Url::parse("http://a.example/").unwrap();
    let extractors = Extractors::new(Limits {
        cpu: Duration::ZERO,
        ..Limits::default()
    });
    let body = "<p>".repeat(100_000);
    let page = extractors.extract(&Source::new(&url, body.as_bytes()));
    assert!(page.flags.has(Flags::PARSE_TIMEOUT));
}

#[test]
fn map_01_a_gzip_bomb_is_cut() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder
        .write_all(b"<urlset><url><loc>http://a.example/1</loc></url>")
        .unwrap();
    for _ in 0..200 {
        encoder.write_all(&[b' '; 1 << 20]).unwrap();
    }
    let page = extract_as("application/gzip", &encoder.finish().unwrap());
    assert_eq!(page.links.len(), 1);
    assert!(page.flags.has(Flags::DECODE_PARTIAL));
}

#[test]
fn map_03_nothing_declared_is_expanded() {
    let page = extract_as(
        "text/xml",
        b"<!DOCTYPE u [<!ENTITY a SYSTEM 'file:///etc/passwd'><!ENTITY b '&a;&a;'>]>\
          <urlset><url><loc>http://a.example/&b;</loc></url></urlset>",
    );
    assert!(page.flags.has(Flags::PARSE_PARTIAL));
    assert_eq!(page.links[0].url, "http://a.example/&b;");
}

#[test]
fn map_08_a_sitemap_of_too_many_lines_is_cut() {
    let list: String = (0..50_001)
        .map(|at| format!("http://a.example/{at}\n"))
        .collect();
    let page = extract_as("text/plain", list.as_bytes());
    assert_eq!(
        (page.links.len(), page.flags.has(Flags::PARSE_PARTIAL)),
        (50_000, true)
    );
}

#[test]
fn map_09_deep_xml_stops() {
    let page = check_linear(
        "MAP-09",
        "text/xml",
        &format!("<urlset>{}", "<a>".repeat(1_000_000)),
    );
    assert!(page.flags.has(Flags::PARSE_DEPTH_LIMITED));
}

/// What holds for any page.
fn check_sane(page: &Extracted) {
    assert!(!page.flags.has(Flags::PARSE_CRASH));
    assert!(!page.text.contains('\0') && !page.text.contains("  "));
    for link in &page.links {
        let url = Url::parse(&link.url).unwrap();
        assert!(url.fragment().is_none(), "{}", link.url);
        assert!(!["javascript", "data", "mailto"].contains(&url.scheme()));
        assert!(link.anchor.len() <= 512);
    }
}

const TYPES: [&str; 9] = [
    "",
    "text/html",
    "text/html; charset=utf-16",
    "application/xhtml+xml",
    "text/css",
    "text/plain",
    "text/xml",
    "application/rss+xml",
    "application/feed+json",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(body in proptest::collection::vec(any::<u8>(), 0..400), at in 0..TYPES.len()) {
        check_sane(&extract_as(TYPES[at], &body));
    }

    #[test]
    fn any_text_is_read(body in "\\PC{0,200}", at in 0..TYPES.len()) {
        check_sane(&extract_as(TYPES[at], body.as_bytes()));
    }

    #[test]
    fn any_soup_of_tags_is_read(
        pieces in proptest::collection::vec(proptest::sample::select(&SOUP[..]), 0..40),
        at in 0..TYPES.len(),
    ) {
        check_sane(&extract_as(TYPES[at], pieces.concat().as_bytes()));
    }
}

const SOUP: [&str; 62] = [
    "<a href=",
    "x",
    "'",
    "\"",
    ">",
    "<",
    "/",
    "=",
    " ",
    "&",
    "&amp;",
    "&#x",
    ";",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "url(",
    ")",
    "@import ",
    "\\",
    "<svg>",
    "</svg>",
    "<![CDATA[",
    "]]>",
    "<title>",
    "</title>",
    "<h1>",
    "</h1>",
    "<noscript>",
    "</noscript>",
    "<template>",
    "</template>",
    "<img srcset='",
    ",",
    "é",
    "\u{200b}",
    "\0",
    "<base href=",
    "http://",
    "//",
    "#",
    "javascript:",
    "?",
    "<meta http-equiv=refresh content='0;url=",
    "<link rel=canonical href=",
    "<rss>",
    "<item>",
    "<link>",
    "</link>",
    "<urlset>",
    "<loc>",
    "</loc>",
    "<entry>",
    "<content type=xhtml>",
    "</content>",
    "{",
    "\"items\":[",
    "<frameset>",
    "<plaintext>",
];
