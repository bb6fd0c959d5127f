//! What a body costs grows with its length, not with its square: in processor time of this thread (never of
//! the wall), with three times slack.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use teia_base::MediaType;
use teia_extract::{Extractors, Limits, Source};
use url::Url;

/// Bytes of the shorter body, and how many times longer the other is.
const SHORT: usize = 64 << 10;
const TIMES: usize = 8;

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

/// The least of three runs.
fn cost(media_type: &str, start: &str, piece: &str, bytes: usize) -> Duration {
    let limits = Limits {
        // So that no budget hides what it costs.
        cpu: Duration::from_secs(600),
        ..Limits::default()
    };
    let extractors = Extractors::new(limits);
    let body = format!("{start}{}", piece.repeat(bytes / piece.len()));
    let url = Url::parse("http://a.example/x/").unwrap();
    let media_type = MediaType::parse(media_type).unwrap();
    let source = Source {
        media_type: Some(&media_type),
        ..Source::new(&url, body.as_bytes())
    };
    let run = || {
        let began = thread_time();
        extractors.extract(&source);
        thread_time() - began
    };
    (0..3).map(|_| run()).min().unwrap()
}

#[track_caller]
fn check(media_type: &str, start: &str, pieces: &[&str]) {
    for piece in pieces {
        let short = cost(media_type, start, piece, SHORT).max(Duration::from_micros(200));
        let long = cost(media_type, start, piece, SHORT * TIMES);
        let most = short * u32::try_from(TIMES).unwrap() * 3;
        assert!(
            long <= most,
            "{media_type} {start}{piece}: {short:?}, and {long:?} for {TIMES} times as much"
        );
    }
}

#[test]
fn style_sheets() {
    let pieces = [
        "@import ",
        "@import",
        "@import url(",
        "url(",
        "url(x)",
        "@",
        "(",
        "/*",
        "\"",
        "'\n",
        "\\",
        "@import'",
        "@import/**/",
        "url(\"",
        "@import \n;",
    ];
    check("text/css", "", &pieces);
    check("text/html", "<style>", &pieces);
}

#[test]
fn pages() {
    let pieces = [
        "<style>@import ",
        "<a style='@import '>",
        "<a href=x>",
        "<a",
        "<",
        "</",
        "<!--",
        "<!",
        "<![CDATA[",
        "<b>",
        "<a href=x title=",
        "<svg>",
        "<math>",
        "<template>",
        "<noscript>x",
        "<h1>x",
        "<script>",
        "<script><!--",
        "<title>",
        "<textarea>",
        "<iframe srcdoc='<a href=x>'>",
        "<img srcset='a 1x, '>",
        "<base href=x>",
        "&amp",
        "&",
        "<form><table>",
        "<a href=x>y<b>",
        "\0",
        " ",
        "x ",
        "<frameset>",
        "<plaintext>",
        "<meta http-equiv=refresh content='0;url=x'>",
        "<p hidden>x",
        "<div style='display:none'>",
        "<div style='display:none'>x</div>",
        "<div style=';display:none!important;'>",
        "<nav>",
        "<nav>x</nav>",
        "<div data-nosnippet>",
        "<div data-nosnippet>x</div>",
    ];
    check("text/html", "", &pieces);
}

#[test]
fn feeds() {
    let pieces = [
        "<item>",
        "<item><link>x</link></item>",
        "<entry><link href=x></entry>",
        "<a xml:base='x/'>",
        "<![CDATA[",
        "<content>&lt;a href=x&gt;",
        "<description>",
        "<link>",
        "<guid>",
        "<title>x",
        "</x>",
    ];
    check("application/rss+xml", "<rss>", &pieces);
}

#[test]
fn json_feeds() {
    let pieces = [
        "{},",
        "{\"url\":\"a\"},",
        "[",
        "{\"a\":",
        "\"a\",",
        "1e999,",
        "{\"attachments\":[{\"url\":\"a\"}]},",
        "{\"content_html\":\"<a href=x>\"},",
    ];
    check(
        "application/feed+json",
        "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[",
        &pieces,
    );
}

#[test]
fn sitemaps() {
    let pieces = [
        "<url><loc>http://a.example/</loc></url>",
        "<loc>",
        "<url>",
        "<url><loc>x",
        "<![CDATA[",
        "<!--",
        "<image><loc>",
        "<link rel=alternate href=x>",
        "</url>",
        "<loc>x<loc>y",
        "&",
    ];
    check("application/xml", "<urlset>", &pieces);
}

#[test]
fn texts() {
    let pieces = [
        "http://",
        "://",
        "http://a ",
        "http://a(",
        "http://a)",
        "(http://a",
        "http://a.....",
        "http",
        "h://http:",
        "\n",
        "http://a/\n",
    ];
    check("text/plain", "", &pieces);
    check("text/plain", "http://a.example/\n", &pieces);
}
