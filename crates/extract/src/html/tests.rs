//! Pages and what they give.

use teia_base::{Link, LinkKind, Margin, MarginKind, MediaType};
use url::Url;

use crate::{Extracted, Extractor, Html, Limits, Source};

fn read(html: &str) -> Extracted {
    read_as("text/html; charset=utf-8", html)
}

fn read_as(content_type: &str, html: &str) -> Extracted {
    let url = Url::parse("http://a.example/d/p").unwrap();
    let media_type = MediaType::parse(content_type);
    let mut source = Source::new(&url, html.as_bytes());
    source.media_type = media_type.as_ref();
    Html.extract(&source, &Limits::default())
}

/// `kind URL` of each link, the host left out.
fn summary(links: &[Link]) -> Vec<String> {
    let short = |url: &str| {
        url.strip_prefix("http://a.example")
            .unwrap_or(url)
            .to_owned()
    };
    links
        .iter()
        .map(|link| format!("{} {}", link.kind.name(), short(&link.url)))
        .collect()
}

#[track_caller]
fn check(html: &str, links: &[&str]) {
    assert_eq!(summary(&read(html).links), links);
}

#[track_caller]
fn check_text(html: &str, text: &str) {
    assert_eq!(read(html).text, text);
}

#[test]
fn every_element_that_links_is_known() {
    check("<a href=x><area href=y>", &["anchor /d/x", "area /d/y"]);
    check(
        "<img src=x data-src=y srcset='z 1x, w 2x'>",
        &["image /d/x", "image /d/y", "image /d/z", "image /d/w"],
    );
    check("<image src=x>", &["image /d/x"]);
    check(
        "<picture><source srcset=x><img src=y></picture>",
        &["image /d/x", "image /d/y"],
    );
    check(
        "<video src=x poster=y><source src=z><track src=w></video>",
        &["media /d/x", "image /d/y", "media /d/z", "media /d/w"],
    );
    check("<audio src=x></audio>", &["media /d/x"]);
    check("<script src=x></script>", &["script /d/x"]);
    check("<iframe src=x><a href=no></iframe>", &["frame /d/x"]);
    check(
        "<frameset><frame src=x><a href=no></frameset>",
        &["frame /d/x"],
    );
    check(
        "<embed src=x><object data=y></object>",
        &["object /d/x", "object /d/y"],
    );
    check(
        "<form action=x></form><form action=y method=POST></form><form action=z method=get>",
        &["form /d/x", "form /d/z"],
    );
    check("<input type=image src=x><input src=no>", &["image /d/x"]);
    check(
        "<body background=x><table background=y><td background=z>",
        &["image /d/x", "image /d/y", "image /d/z"],
    );
    check(
        "<p style='background:url(x)'><style>@import 'y'; a{b:url(z)}</style>",
        &["css /d/x", "style /d/y", "css /d/z"],
    );
    check("<p style=\"a:url(&quot;x&amp;y&quot;)\">", &["css /d/x&y"]);
    check(
        "<blockquote cite=x><img usemap=y longdesc=z><meta property=og:url content=w>",
        &[],
    );
}

#[test]
fn link_elements_have_kinds() {
    check(
        "<link rel=canonical href=a><link rel=stylesheet href=b><link rel='shortcut icon' href=c>\
         <link rel=alternate href=d><link rel=preload as=image href=e imagesrcset='f 1x'>\
         <link rel=dns-prefetch href=//g><link href=h>",
        &[
            "canonical /d/a",
            "style /d/b",
            "icon /d/c",
            "alternate /d/d",
            "image /d/e",
            "image /d/f",
        ],
    );
    assert_eq!(
        read("<link rel=canonical href=/x#y>").canonical.as_deref(),
        Some("http://a.example/x")
    );
}

#[test]
fn the_first_base_holds_for_the_whole_page() {
    check(
        "<a href=x><base href=/e/><base href=/f/><a href=y>",
        &["anchor /e/x", "anchor /e/y"],
    );
    check(
        "<base target=_top><base href=//b.example/><a href=x>",
        &["anchor http://b.example/x"],
    );
    check(
        "<base href='javascript:x'><base href=/e/><a href=x>",
        &["anchor /d/x"],
    );
    check(
        "<template><base href=/e/></template><a href=x>",
        &["anchor /d/x"],
    );
    check("<a href=x><base href=''>", &["anchor /d/x"]);
}

#[test]
fn references_are_decoded_and_trimmed() {
    check(
        "<a href=' x?a=1&amp;b=2&copy=3 '>",
        &["anchor /d/x?a=1&b=2&copy=3"],
    );
    check("<a href='&#x2f;x'>", &["anchor /x"]);
    check("<a href='\\x\\y z'>", &["anchor /x/y%20z"]);
    check("<a href=x HREF=y>", &["anchor /d/x"]);
    check(
        "<a href=javascript:x()><a href=mailto:x><a href=tel:1><a href=data:,x><a href=about:blank>",
        &[],
    );
    check("<a href=ftp://b.example/x>", &["anchor ftp://b.example/x"]);
    check("<a href='#top'><img src=''>", &["anchor /d/p"]);
}

#[test]
fn what_looks_like_a_tag_may_be_none() {
    check(
        "<!-- <a href=x> --><textarea><a href=x></textarea><title><a href=x></title>",
        &[],
    );
    check(
        "<script>'<a href=x>'</script><style><a href=x></style><xmp><a href=x></xmp>",
        &[],
    );
    check(
        "<noembed><a href=x></noembed><noframes><a href=x></noframes>",
        &[],
    );
    check("<!--><a href=x>-->", &["anchor /d/x"]);
    check(
        "<script><!--<script></script><a href=x>--></script><a href=y>",
        &["anchor /d/y"],
    );
    check("<plaintext><a href=x>", &[]);
    check(
        "<a title='>' href=x><a title=\"<a href=no>\" href=y>",
        &["anchor /d/x", "anchor /d/y"],
    );
    check(
        "<noscript><a href=x></noscript><template><a href=y></template>",
        &["anchor /d/x", "anchor /d/y"],
    );
}

#[test]
fn svg_has_links_of_its_own() {
    check(
        "<svg><a xlink:href=x></a><image href=y /><use xlink:href='#z'/><use href='s.svg#w'/></svg>",
        &["anchor /d/x", "image /d/y", "image /d/s.svg"],
    );
    check("<svg><style><a href=x></style></svg>", &["anchor /d/x"]);
    check(
        "<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=y>]]>",
        &[],
    );
    check(
        "<svg><title><p><a href=x></title></svg><title><a href=y></title>",
        &["anchor /d/x"],
    );
    check("<svg><div><style><a href=x></style>", &[]);
    assert_eq!(
        read("<svg><title>icon</title></svg><title>page</title>").title,
        "page"
    );
}

#[test]
fn srcdoc_is_read_once() {
    check(
        "<iframe srcdoc=\"<a href='x'><iframe srcdoc='<a href=no>'></iframe>\"></iframe>",
        &["anchor /d/x"],
    );
}

#[test]
fn xhtml_may_close_any_element_itself() {
    let page = read_as(
        "application/xhtml+xml",
        "<html><script src='x'/><title/><p>a</p><a href='y'>b</a></html>",
    );
    assert_eq!(summary(&page.links), ["script /d/x", "anchor /d/y"]);
    assert_eq!(page.text, "a\nb");
}

#[test]
fn the_first_refresh_counts() {
    check(
        "<meta http-equiv=Refresh content='0; URL=x'><meta http-equiv=refresh content='0;y'>",
        &["refresh /d/x"],
    );
    check(
        "<noscript><meta http-equiv=refresh content='0;url=x'></noscript>",
        &["refresh /d/x"],
    );
}

#[test]
fn links_have_texts() {
    let anchor = |html: &str| {
        read(html)
            .links
            .iter()
            .find(|link| link.kind == LinkKind::Anchor)
            .unwrap()
            .anchor
            .clone()
    };
    assert_eq!(anchor("x <a href=a> one <b>t</b>wo\n</a> y"), "one two");
    assert_eq!(
        anchor("<a href=a title=t><img src=b alt=' the  owl '></a>"),
        "the owl"
    );
    assert_eq!(anchor("<a href=a title=t></a>"), "t");
    assert_eq!(anchor("<a href=a>one<a href=b>two"), "one");
    assert_eq!(anchor("<a href=a></a><a href=a>later</a>"), "later");
    assert_eq!(
        anchor("<noscript><a href=a>hidden</a></noscript>"),
        "hidden"
    );
    assert_eq!(
        anchor(&format!("<a href=a>{}</a>", "é".repeat(1000))).len(),
        512
    );
    assert!(read("<a href=a rel='NoFollow ugc'>").links[0].rel.nofollow);
}

#[test]
fn title_description_language_and_headings_are_found() {
    let page = read(
        "<html lang=pt-PT><title> A&amp;B\n c </title><title>no</title>\
         <meta property=og:description content=second><meta name=Description content=' first '>\
         <h1>One <i>big</i></h1><h2></h2><h3>Two<p>x",
    );
    assert_eq!(page.title, "A&B c");
    assert_eq!(page.description, "first");
    assert_eq!(page.language.as_deref(), Some("pt-PT"));
    assert_eq!(page.headings, ["One big", "Two x"]);
    assert_eq!(
        read("<meta http-equiv=content-language content=en>")
            .language
            .as_deref(),
        Some("en")
    );
    assert!(read("<meta name=ROBOTS content=noindex>").robots.noindex);
    assert!(read("<meta name=teia content=nofollow>").robots.nofollow);
}

/// The texts of the margins of one kind.
fn margins(html: &str, kind: MarginKind) -> Vec<String> {
    let page = read(html);
    let of_kind = page.margins.iter().filter(|margin| margin.kind == kind);
    let text = |margin: &Margin| page.text[margin.from as usize..margin.to as usize].trim();
    let in_a_line = |margin: &Margin| text(margin).replace('\n', " ");
    of_kind.map(in_a_line).collect()
}

#[test]
fn menus_heads_feet_and_lists_of_links_are_margins() {
    let check = |html: &str, expected: &[&str]| {
        assert_eq!(margins(html, MarginKind::Navigation), expected, "{html}");
    };
    check(
        "<header>Site</header><nav><a href=/>Home</a> or <nav>deep</nav> on</nav><p>Text<aside>ad</aside> more\
         <footer>small print</footer>",
        &["Site", "Home or deep on", "ad", "small print"],
    );
    check(
        "<main><header>Its own head</header>text</main><footer>foot</footer>",
        &["foot"],
    );
    check("<div role=Navigation>menu</div><p>text", &["menu"]);
    // Never closed: what follows may be all there is.
    check("<nav>menu <p>text", &[]);
    check("<nav>menu <main>text</main>", &[]);
    check(
        "<p>One <a href=1>link</a> in much text<ul><li><a href=2>Two</a><li><a href=3>Three</a><li><a href=4>Four</a></ul><p>Text",
        &["Two Three Four"],
    );
    check(
        "<p>Text<div><a href=2>Alpha</a> | <a href=3>Beta</a> | <a href=4>Gamma</a></div>x",
        &["Alpha | Beta | Gamma"],
    );
    check(
        "<ul><li><a href=2>Two</a><li><a href=3>Three</a></ul><p>Text",
        &[],
    );
    check("<p>a<template><nav>gone</nav></template> b", &[]);
}

#[test]
fn html_22_what_a_page_does_not_show_is_no_text_of_it() {
    let check = |html: &str, expected: &str| {
        let text = read(html).text.replace('\n', " ");
        assert_eq!(text.trim(), expected, "{html}");
    };
    check("a<div hidden>b<div>c</div>d</div>e", "a e");
    check(
        "a <span style='color:red; Display : none !important'>b</span>c",
        "a c",
    );
    check("a<ul style=visibility:hidden><li>b</ul>c", "a c");
    check("a<p hidden>b<p>c", "a c");
    check("a<p hidden>b <i>c</i> d</p>e", "a e");
    check("a<p hidden>b<p hidden>c<p>d", "a d");
    check("a<h2 hidden>b</h2>c", "a c");
    // Shown after all: on demand, by another style, and where nobody can tell what is meant.
    check("a<div hidden=until-found>b</div>c", "a b c");
    check("a<div style='display:block'>b</div>c", "a b c");
    for style in [
        "visibility:hidden-ish",
        "visibility:hiddenish",
        "--x:display:none",
        "--display:none",
        "x-display:none",
        "display:nonesuch",
        "display:none;display:block",
        "display:none!important;display:block!important",
        "content:'display:none'",
        "content:'a;display:none;b'",
        "display:no/**/ne",
        "display:none visible",
        "display",
        "display:",
    ] {
        check(&format!("a<div style=\"{style}\">b</div>c"), "a b c");
    }
    for style in [
        "DISPLAY:NONE",
        ";; display : none ;",
        "display:block;display:none",
        "display:none!important;display:block",
        "display:none;display:nonesuch()",
        "display:none;display:",
        "--x:1;visibility:hidden",
        "content:'a;b';display:none",
        "background:url(a;b);display:none",
        "/* x */display:/* y */none",
        "visibility:hidden! important",
    ] {
        check(&format!("a<div style=\"{style}\">b</div>c"), "a c");
    }
    check("a<div hidden>b", "a b");
    check("a<img hidden>b<br hidden>c", "a b c");
    let page = read("a<div hidden><h2>gone</h2><a href=x>link</a></div><h2>there</h2>");
    assert_eq!(page.headings, ["there"]);
    assert_eq!(page.links[0].anchor, "link", "links lead on all the same");
}

#[test]
fn what_is_not_to_be_quoted_is_known() {
    let check = |html: &str, expected: &[&str]| {
        assert_eq!(margins(html, MarginKind::Unquoted), expected, "{html}");
    };
    check(
        "<p>a <span data-nosnippet>b <span>c</span> d</span> e<div DATA-NOSNIPPET=x>f</div>g",
        &["b c d", "f"],
    );
    check("<p data-nosnippet>a</p>b", &[]);
    check("a<section data-nosnippet>b<p>c", &["b c"]);
}

#[test]
fn links_that_touch_are_words_apart() {
    check_text(
        "<nav><a href=1>Home</a><a href=2>About</a><a href=3>News</a></nav>",
        "Home About News",
    );
    check_text("un<a href=1>believ</a>able", "unbelievable");
}

#[test]
fn headings_paragraphs_items_and_cells_are_lines() {
    check_text(
        "<h2>Hours</h2>Every day<h2>Place",
        "Hours\nEvery day\nPlace",
    );
    check_text(
        "<ul><li>one <b>two</b><li>three</ul><table><tr><td>a<td>b<tr><th>c</table>",
        "one two\nthree\na\nb\nc",
    );
    // Within a line: no browser begins another there.
    check_text(
        "a <img src=x> b<button>c</button><x-icon>d</x-icon> e",
        "a b c d e",
    );
    let page = read("<h1><div>Two</div><div>parts</div></h1><a href=x><h3>Card</h3><p>text</a>");
    assert_eq!(page.headings, ["Two parts", "Card"]);
    assert_eq!(page.links[0].anchor, "Card text");
}

#[test]
fn text_is_what_is_seen() {
    check_text("<p>a<p>b <b>c</b>d<br>e<td>f", "a\nb cd e\nf");
    check_text(
        "a<script>b</script><style>c</style><noscript>d</noscript><template>e</template>f",
        "a f",
    );
    check_text("a &lt; b &amp;amp; c &nbsp; d < e", "a < b &amp; c d < e");
    check_text("<img alt=x>a<textarea>b</textarea><option>c", "a\nc");
    check_text("<title>t</title>a<xmp><b></xmp>", "a\n<b>");
    check_text("<noscript>a <p>b", "a\nb");
    check_text("<svg><style>a</style><text>b</text></svg>", "b");
}
