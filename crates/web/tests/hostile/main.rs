//! The hostile web on our pages: each test has the name of its case in the catalogue.
#![allow(clippy::unwrap_used, reason = "tests")]

mod copies;
mod pages;
#[path = "../support/mod.rs"]
mod support;

use std::sync::LazyLock;
use support::{LittleWeb, Served};

pub(crate) const SCRIPT: &str = "<script>alert('pwned')</script>";

/// Everything that a crawled page can say, on pages that are found by the word `zebra`.
pub(crate) fn hostile_web() -> LittleWeb {
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

pub(crate) static HOSTILE: LazyLock<(LittleWeb, Served)> = LazyLock::new(|| {
    let web = hostile_web();
    let served = Served::of(&web);
    (web, served)
});

pub(crate) fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Markup of ours around their text: no tag and no attribute of theirs.
#[track_caller]
pub(crate) fn check_is_text(page: &str) {
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
