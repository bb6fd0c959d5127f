//! HTML: pages that are deep, endless, broken or full of lies.
//!
//! Every case is one crawl of the page, of what it leads to, and of the next page of its host; and
//! one look at what was understood of it, charged in processor time.

use std::time::Duration;

use teia_base::journal::{Attempt, LinkVerdict};
use teia_base::{Flags, LinkKind, MediaType, Outcome};
use teia_city::Door;
use teia_extract::{Extracted, Extractors, Source};
use url::Url;

use crate::searching::Searchable;
use crate::support::{Crawled, answer, crawl, crawl_config, html, open_site, thread_time};

/// More than `parse_cpu`, in which everything here has to be done.
const PARSE_TIME: Duration = Duration::from_secs(3);

/// A page, as the crawl and as the extractor saw it.
struct Seen {
    door: Door,
    crawled: Crawled,
    page: Extracted,
}

impl Seen {
    fn attempt(&self) -> &Attempt {
        self.crawled.last(&self.door.url("/"))
    }

    fn has(&self, flag: Flags) -> bool {
        assert_eq!(self.page.flags.has(flag), self.attempt().flags.has(flag));
        self.page.flags.has(flag)
    }

    /// Paths that the page led to and that were fetched.
    fn fetched(&self) -> Vec<String> {
        let prefix = self.door.url("");
        let mut paths: Vec<String> = self
            .crawled
            .attempts
            .iter()
            .filter(|one| one.outcome.is_ok() && !one.is_robots())
            .filter_map(|one| one.url.request().strip_prefix(&prefix).map(str::to_owned))
            .filter(|path| path.starts_with("/trick"))
            .collect();
        paths.sort();
        paths
    }

    /// URLs of links of this kind.
    fn links(&self, kind: LinkKind) -> Vec<&str> {
        let of_kind = self.page.links.iter().filter(|link| link.kind == kind);
        of_kind.map(|link| link.url.as_str()).collect()
    }
}

fn see(body: impl AsRef<[u8]>) -> Seen {
    see_as("text/html; charset=utf-8", body.as_ref())
}

fn see_as(media_type: &str, body: &[u8]) -> Seen {
    let (fields, bytes) = (format!("Content-Type: {media_type}\r\n"), body.to_vec());
    let door = open_site(move |path| match path {
        "/" => Some(answer(&fields, &bytes)),
        path if path.starts_with("/trick") => Some(html("<title>found</title>")),
        _ => None,
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(30);
    let crawled = crawl(&config, &[door.url("/next"), door.url("/")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    assert!(crawled.last(&door.url("/")).outcome.is_ok());
    let url = Url::parse(&door.url("/")).unwrap();
    let media_type = MediaType::parse(media_type);
    let before = thread_time();
    let page = Extractors::default().extract(&Source {
        media_type: media_type.as_ref(),
        ..Source::new(&url, body)
    });
    let took = thread_time() - before;
    assert!(took < PARSE_TIME, "{took:?} for {} bytes", body.len());
    let seen = Seen {
        door,
        crawled,
        page,
    };
    assert!(!seen.has(Flags::PARSE_CRASH));
    // It was read to its end, or to a limit of its own: a parser that is cut when its time is over has passed none of these.
    assert!(!seen.has(Flags::PARSE_TIMEOUT), "{took:?}");
    seen
}

const LINK: &str = "<p>before</p><a href=/trick>link</a>";

#[test]
fn html_01() {
    let seen = see(format!("{LINK}{}", "<div>".repeat(200_000)));
    assert!(seen.has(Flags::PARSE_DEPTH_LIMITED));
    assert_eq!(seen.fetched(), ["/trick"]);
    assert!(!see(format!("{LINK}{}", "<div>".repeat(500))).has(Flags::PARSE_DEPTH_LIMITED));
}

#[test]
fn html_02() {
    let seen = see(format!("{LINK}{}", "<ul><li>".repeat(64 << 10)));
    assert!(seen.has(Flags::PARSE_DEPTH_LIMITED));
    assert_eq!(seen.fetched(), ["/trick"]);
}

#[test]
fn html_03() {
    let storm = ["<a>", "<i>", "</a>"]
        .map(|tag| tag.repeat(40_000))
        .concat();
    let seen = see(format!("{LINK}{storm}<a href=/trick-after>after</a>"));
    assert_eq!(seen.fetched(), ["/trick", "/trick-after"]);
}

#[test]
fn html_04() {
    for tag in ["table", "select", "template", "svg", "math"] {
        let seen = see(format!("{LINK}{}", format!("<{tag}>").repeat(100_000)));
        assert_eq!(seen.fetched(), ["/trick"], "{tag}");
        assert!(seen.page.text.contains("before"), "{tag}");
        assert!(seen.has(Flags::PARSE_DEPTH_LIMITED), "{tag}");
    }
    // As many beside each other are no depth.
    for one in [
        "<table><b></b></table>",
        "<svg><g></g><path/></svg>",
        "<math><mi>x</mi></math>",
    ] {
        let seen = see(format!("{LINK}{}", one.repeat(10_000)));
        assert!(!seen.has(Flags::PARSE_DEPTH_LIMITED), "{one}");
    }
}

#[test]
fn html_05() {
    let many: String = (0..100_000).map(|at| format!(" a{at}=1")).collect();
    let seen = see(format!(
        "<a href=/trick-first href=/trick-second{many} href=/trick-third>x</a><a{many} href=/trick-late>y</a>"
    ));
    assert_eq!(seen.fetched(), ["/trick-first"]);
}

#[test]
fn html_06() {
    let huge = "x".repeat(8 << 20);
    let seen = see(format!(
        "{LINK}<a href='/trick-{huge}'>long</a><a href=/trick-z>z</a>"
    ));
    assert_eq!(seen.fetched(), ["/trick", "/trick-z"]);
    let unclosed = see(format!(
        "{LINK}<a href='/trick-open>{}",
        "<p>swallowed ".repeat(1000)
    ));
    assert_eq!(unclosed.fetched(), ["/trick"]);
    assert_eq!(unclosed.page.text, "before\nlink");
}

#[test]
fn html_07() {
    let pieces = [
        format!("<!--{}", "<a href=/trick-in-comment>".repeat(1000)),
        "<!--".repeat(1_000_000),
        "<![CDATA[ <a href=/trick-in-cdata>".repeat(1000),
        format!("<!DOCTYPE {}", "x".repeat(1 << 20)),
    ];
    for piece in pieces {
        let seen = see(format!("{LINK}{piece}"));
        assert!(seen.page.text.starts_with("before\nlink"), "{piece:.20}");
        assert!(seen.fetched().contains(&"/trick".to_owned()));
        assert!(!seen.fetched().contains(&"/trick-in-comment".to_owned()));
    }
}

#[test]
fn html_08() {
    let seen = see(
        "<p>seen</p><script>a = '</scrip' + '</ script>'; hidden1 <a href=/trick-no>x</a></script >\
         <script><!--<script>hidden2</script>hidden3--></script><p>after</p>\
         <script><!-- hidden4 </script><a href=/trick-yes>yes</a>",
    );
    assert_eq!(seen.page.text, "seen\nafter\nyes");
    assert_eq!(seen.fetched(), ["/trick-yes"]);
}

#[test]
fn html_09() {
    let seen = see("<noscript><a href=/trick-noscript>n</a></noscript>\
         <noembed><a href=/trick-noembed>e</a></noembed>\
         <iframe srcdoc=\"<a href=/trick-srcdoc>s</a><iframe srcdoc='<a href=/trick-inner>i</a>'></iframe>\"></iframe>\
         <xmp><a href=/trick-xmp>x</a></xmp><p>text</p>\
         <plaintext><a href=/trick-plain>p</a>");
    assert_eq!(seen.fetched(), ["/trick-noscript", "/trick-srcdoc"]);
    assert!(seen.page.text.contains("<a href=/trick-plain>p</a>"));
}

#[test]
fn html_10() {
    let seen = see("&amp;".repeat(1_000_000));
    assert!(seen.page.text.bytes().all(|byte| byte == b'&'));
    let seen = see("<p>&#0; &#x110000; &#xD800; &notanentity &lol; &am</p>");
    assert_eq!(seen.page.text.matches('\u{fffd}').count(), 3);
    assert!(seen.page.text.contains("&lol;"), "{}", seen.page.text);
    let declared = "<!DOCTYPE html [<!ENTITY lol 'laughs'>]><p>&lol;</p>".to_owned();
    assert!(!see(declared).page.text.contains("laughs"));
}

#[test]
fn html_11() {
    let seen = see("<title>a\0b</title><p>c\0d</p>\0<a href='/trick\0' title='\0'>e\0</a>");
    let page = &seen.page;
    let all = [&page.title, &page.text, &page.description];
    assert!(all.iter().all(|text| !text.contains('\0')));
    for link in &page.links {
        assert!(!link.url.contains('\0') && !link.anchor.contains('\0'));
    }
    assert!(!seen.attempt().title.contains('\0'));
}

#[test]
fn html_12() {
    let links = |count: usize| -> String {
        let link = |at| format!("<a href=/p{at}>");
        (0..count).map(link).collect()
    };
    let seen = see(links(100_000));
    assert!(seen.has(Flags::PARSE_PARTIAL));
    assert_eq!(seen.page.links.len(), 10_000);
    assert!(
        seen.page.links[9_999].url.ends_with("/p9999"),
        "by their order"
    );
    assert!(seen.attempt().links.len() <= 10_000);
    assert_eq!(seen.page.links_left_out, 90_000, "and all are counted");
    let detail = seen.attempt().detail.clone().unwrap_or_default();
    assert!(
        detail.contains("10000 links") && detail.contains("90000 more"),
        "{detail}"
    );
    assert!(seen.crawled.report.known_urls <= 10_010);
    assert!(!see(links(1000)).has(Flags::PARSE_PARTIAL));
    // As short as they must be for a million of them within 16 MB.
    let million: String = (0..1_000_000).map(|at| format!("<a href={at}>")).collect();
    assert!(million.len() < 16_000_000);
    let seen = see(million);
    assert_eq!(
        (seen.page.links.len(), seen.page.links_left_out),
        (10_000, 990_000)
    );
}

#[test]
fn html_13() {
    let other = "http://other.test/dir/";
    let cases = [
        (
            "<base href=/trick/a/><base href=/trick/b/><a href=x>",
            "/trick/a/x",
        ),
        ("<base href=''><base href=/no/><a href=trick/x>", "/trick/x"),
        ("<base href='javascript:1'><a href=trick-x>", "/trick-x"),
        ("<base href='data:,x'><a href=trick-x>", "/trick-x"),
        ("<a href=x><base href=/trick/late/>", "/trick/late/x"),
    ];
    for (page, wanted) in cases {
        let seen = see(page);
        assert_eq!(seen.fetched(), [wanted], "{page}");
    }
    let seen = see(format!("<base href='{other}'><a href=x>"));
    assert_eq!(seen.links(LinkKind::Anchor), ["http://other.test/dir/x"]);
    assert!(seen.fetched().is_empty(), "another host is out of scope");
    // A long one counts as any other: of a relative link its directory is what matters.
    let long = "x".repeat(1 << 20);
    let seen = see(format!("<base href='/trick/{long}'><a href=x>"));
    assert_eq!(seen.fetched(), ["/trick/x"]);
    // Links that it makes longer than any URL may be are none.
    let seen = see(format!(
        "<base href='/{long}/'><a href=x>1</a><a href=/trick>2</a>"
    ));
    assert_eq!(seen.fetched(), ["/trick"]);
    assert_eq!(seen.attempt().links.len(), 1);
}

#[test]
fn html_14() {
    let refresh = |to: &str| format!("<meta http-equiv=refresh content='0;url=/trick-{to}'>");
    let cases = [
        format!("<noscript>{}</noscript>{}", refresh("a"), refresh("b")),
        format!("<body><p>text</p>{}{}", refresh("a"), refresh("b")),
        refresh("a") + &refresh("b").repeat(1000),
    ];
    for page in cases {
        let seen = see(&page);
        assert_eq!(seen.links(LinkKind::Refresh).len(), 1, "{page:.80}");
        assert_eq!(seen.fetched(), ["/trick-a"]);
    }
}

#[test]
fn html_15() {
    let plain = |bytes: &[u8]| see_as("text/html", bytes).page;
    // Two of them: the first counts.
    let two = plain(b"<meta charset=koi8-r><meta charset=utf-8><title>\xf0\xd2</title>");
    assert_eq!(two.charset, Some("KOI8-R"));
    // A label of UTF-16 in a page that is plainly ASCII.
    let wide = plain("<meta charset=utf-16le><title>café</title>".as_bytes());
    assert_eq!((wide.charset, wide.title.as_str()), (Some("UTF-8"), "café"));
    let user = plain(b"<meta charset=x-user-defined><title>a</title>");
    assert_eq!(user.charset, Some("windows-1252"));
    // Late: past the 1,024 bytes that are looked at, text decides.
    let late = format!(
        "<!--{}--><meta charset=koi8-r><title>café</title>",
        "x".repeat(2000)
    );
    assert_eq!(plain(late.as_bytes()).title, "café");
}

#[test]
fn html_16() {
    let page = |meta: &str| see(format!("{meta}<a href=/trick>x</a>"));
    for meta in [
        "<meta name=robots content=noindex>",
        "<META NAME=ROBOTS CONTENT='NOINDEX'>",
        "<meta name=robots content=index><meta name=robots content=noindex>",
        "<meta name=teia content=noindex>",
        "<meta name=robots content='unavailable_after: 2001-01-01'>",
    ] {
        let seen = page(meta);
        assert!(seen.attempt().flags.has(Flags::NOINDEX), "{meta}");
        assert_eq!(seen.fetched(), ["/trick"], "{meta}");
    }
    for meta in [
        "<meta name=robots content=nofollow>",
        "<meta name=robots content='none'>",
        "<meta name=robots content='follow'><meta name=teia content=nofollow>",
    ] {
        assert!(page(meta).fetched().is_empty(), "{meta}");
    }
    for meta in [
        "<meta name=otherbot content=none>",
        "<meta name=robots content='unavailable_after: 2999-01-01'>",
    ] {
        let seen = page(meta);
        assert!(!seen.attempt().flags.has(Flags::NOINDEX), "{meta}");
        assert_eq!(seen.fetched(), ["/trick"], "{meta}");
    }
    let door = open_site(|path| match path {
        "/" => Some(answer(
            "Content-Type: text/html\r\nX-Robots-Tag: otherbot: noindex\r\nX-Robots-Tag: NOFOLLOW\r\nX-Robots-Tag: teia: noindex\r\n",
            "<a href=/trick>x</a>",
        )),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let flags = crawled.last(&door.url("/")).flags;
    assert!(flags.has(Flags::NOINDEX) && flags.has(Flags::NOFOLLOW));
    assert_eq!(door.asked("/trick"), 0);
}

#[test]
fn html_17() {
    let seen = see(
        "<link rel=canonical href=/trick-canonical><link rel=canonical href=/trick-second>\
         <a rel=nofollow href=/trick-nofollow>a</a><a rel='UGC' href=/trick-ugc>b</a>\
         <a rel='sponsored nofollow' href=/trick-sponsored>c</a><a href=/trick-plain>d</a>\
         <a rel=sponsored href=/trick-paid>e</a>",
    );
    let canonical = seen.page.canonical.as_deref().unwrap();
    assert!(canonical.ends_with("/trick-canonical"), "the first");
    assert!(seen.fetched().contains(&"/trick-plain".to_owned()));
    // Who wrote or paid for a link is noted; only `nofollow` bars it.
    for (path, is_foreign) in [
        ("/trick-ugc", true),
        ("/trick-paid", true),
        ("/trick-plain", false),
    ] {
        assert!(seen.fetched().contains(&path.to_owned()), "{path}");
        let url = seen.door.url(path);
        let links = &seen.attempt().links;
        let link = links.iter().find(|link| link.url.request() == url);
        assert_eq!(link.unwrap().rel.foreign, is_foreign, "{path}");
    }
    for barred in ["/trick-nofollow", "/trick-sponsored"] {
        assert!(!seen.fetched().contains(&barred.to_owned()), "{barred}");
        let url = seen.door.url(barred);
        let links = &seen.attempt().links;
        let link = links.iter().find(|link| link.url.request() == url);
        assert_eq!(link.unwrap().verdict, LinkVerdict::NotFollowed);
    }
    let other = see("<link rel=canonical href=http://other.test/>");
    assert_eq!(other.page.canonical.as_deref(), Some("http://other.test/"));
    assert_eq!(
        other.crawled.all("http://other.test/").len(),
        0,
        "stored only"
    );
    // A loop of canonicals: each page is fetched once.
    let door = open_site(|path| match path {
        "/" => Some(html("<link rel=canonical href=/trick-b>")),
        "/trick-b" => Some(html("<link rel=canonical href=/>")),
        _ => None,
    });
    crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    assert!(door.asked("/") == 1 && door.asked("/trick-b") == 1);
}

/// Search shows the address that a page of the same site calls the right one; what a page says of other sites, loops, chains,
/// and what is not there or says something else, changes nothing.
#[test]
fn html_17_search_shows_the_canonical() {
    let about = |subject: &str, canonical: &str| {
        html(format!(
            "<link rel=canonical href='{canonical}'><p>All that there is to know about {subject} today."
        ))
    };
    let door = open_site(move |path| match path {
        "/" => Some(html(
            "<a href='/long?s=1'>1</a><a href=/loop-1>2</a><a href=/loop-2>3</a><a href=/away>4</a>\
             <a href=/other>5</a><a href=/lost>6</a><a href=/chain-1>7</a>",
        )),
        "/long?s=1" | "/long" => Some(about("aardvarks", "/long")),
        "/loop-1" => Some(about("badgers", "/loop-2")),
        "/loop-2" => Some(about("badgers", "/loop-1")),
        "/away" => Some(about("civets", "http://other.test/")),
        "/other" => Some(about("dingoes", "/another")),
        "/another" => Some(about("echidnas", "/another")),
        "/lost" => Some(about("ferrets", "/gone")),
        "/gone" => Some(vec![teia_city::Step::say(
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        )]),
        "/chain-1" => Some(about("genets", "/chain-2")),
        "/chain-2" => Some(about("genets", "/chain-3")),
        "/chain-3" => Some(about("genets", "/chain-3")),
        _ => None,
    });
    let searchable = Searchable::new(&crawl_config(), &[door.url("/"), door.url("/next")]);
    for (subject, shown) in [
        ("aardvarks", "/long"),
        ("badgers", "/loop-1"),
        ("civets", "/away"),
        ("dingoes", "/other"),
        ("echidnas", "/another"),
        ("ferrets", "/lost"),
        ("genets", "/chain-1"),
    ] {
        assert_eq!(searchable.found(subject), [door.url(shown)], "{subject}");
    }
    let hits = searchable.hits("aardvarks");
    assert_eq!(hits[0].other_addresses, [door.url("/long?s=1")]);
    assert_eq!(searchable.found("next").len(), 1, "the next page is there");
}

#[test]
fn html_18() {
    let many: String = (0..10_000)
        .map(|at| format!("/many-{at}.png {at}w,"))
        .collect();
    let seen = see(format!(
        "<img src=/trick-a.png srcset='/trick-w_1,h_2.png 1x, /trick-b.png' data-src=/trick-lazy.png>\
         <picture><source srcset='/trick-c.webp'></picture><video poster=/trick-poster.png></video>\
         <link rel=preload as=image href=/trick-d.png imagesrcset='/trick-e,f.png 1x'>\
         <img srcset='{many}'>"
    ));
    let images = seen.links(LinkKind::Image);
    for path in [
        "/trick-a.png",
        "/trick-w_1,h_2.png",
        "/trick-b.png",
        "/trick-lazy.png",
        "/trick-c.webp",
        "/trick-poster.png",
        "/trick-e,f.png",
    ] {
        assert!(images.contains(&seen.door.url(path).as_str()), "{path}");
    }
    assert!(seen.page.links.len() <= 10_000);
    let bogus = |url: &&str| url.ends_with("/h_2.png") || url.ends_with("/f.png");
    assert!(!images.iter().any(bogus), "never cut at a comma");
}

#[test]
fn html_19() {
    let seen = see(
        "<link rel=stylesheet href=/trick-style><link rel=next href=/trick-following>\
         <link rel=manifest href=/trick-manifest><link rel=icon href=/trick-icon>\
         <object data=/trick-object></object><embed src=/trick-embed><applet code=/trick-applet></applet>\
         <form action=/trick-get></form><form method=POST action=/trick-post></form>\
         <form><button formmethod=post formaction=/trick-button>b</button></form>\
         <map><area href=/trick-area></map><svg><a xlink:href=/trick-svg></a></svg>\
         <input type=image src=/trick-input><blockquote cite=/trick-cite></blockquote>\
         <a href=/trick-a ping=/trick-ping>a</a><iframe src=/trick-frame></iframe>",
    );
    for (kind, paths) in [
        (LinkKind::Anchor, vec!["/trick-a", "/trick-svg"]),
        (LinkKind::Area, vec!["/trick-area"]),
        (LinkKind::Alternate, vec!["/trick-following"]),
        (LinkKind::Frame, vec!["/trick-frame"]),
        (LinkKind::Form, vec!["/trick-get"]),
        (LinkKind::Style, vec!["/trick-style"]),
        (LinkKind::Icon, vec!["/trick-icon", "/trick-manifest"]),
        (LinkKind::Image, vec!["/trick-input"]),
        (LinkKind::Object, vec!["/trick-embed", "/trick-object"]),
    ] {
        let wanted: Vec<String> = paths.iter().map(|path| seen.door.url(path)).collect();
        let mut found = seen.links(kind);
        found.sort_unstable();
        assert_eq!(found, wanted, "{kind:?}");
    }
    let fetched = seen.fetched();
    for path in ["/trick-area", "/trick-svg", "/trick-a", "/trick-frame"] {
        assert!(fetched.contains(&path.to_owned()), "{path}: {fetched:?}");
    }
    // What would change something there, what only tells of us, what is a reference to read about, and what names a class.
    for path in [
        "/trick-post",
        "/trick-button",
        "/trick-ping",
        "/trick-cite",
        "/trick-applet",
    ] {
        assert_eq!(seen.door.asked(path), 0, "{path}");
        assert!(
            seen.page.links.iter().all(|link| !link.url.ends_with(path)),
            "{path}"
        );
    }
    let frames = see("<frameset><frame src=/trick-one><frame src=/trick-two></frameset>");
    assert_eq!(frames.fetched(), ["/trick-one", "/trick-two"]);
}

#[test]
fn html_20() {
    let style = |css: &str| Some(answer("Content-Type: text/css\r\n", css));
    let door = open_site(move |path| match path {
        "/" => Some(html(
            "<style>@import '/trick-a.css'; p { background: url(/trick-1.png) }</style>\
             <p style=\"background: url('/trick-2.png')\">x</p>",
        )),
        "/trick-a.css" => style("@import url(/trick-b.css); b { src: url( '/trick-3.png' ) }"),
        "/trick-b.css" => style("@import \"/trick-a.css\"; @import '/trick-b.css';"),
        path if path.ends_with(".png") => Some(answer("Content-Type: image/png\r\n", b"\x89PNG")),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    for path in [
        "/trick-a.css",
        "/trick-b.css",
        "/trick-1.png",
        "/trick-2.png",
    ] {
        assert_eq!(door.asked(path), 1, "{path}: {:?}", crawled.told());
    }
    assert_eq!(
        door.asked("/trick-3.png"),
        1,
        "of a style sheet that was fetched"
    );
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

/// Style sheets that import another one each, for ever: three are followed.
#[test]
fn html_20_ends() {
    let door = open_site(move |path| {
        let number = path
            .strip_prefix("/trick-")
            .and_then(|rest| rest.strip_suffix(".css"));
        match number.and_then(|number| number.parse::<u32>().ok()) {
            Some(number) => Some(answer(
                "Content-Type: text/css\r\n",
                format!("@import '/trick-{}.css'; b {{ color: red }}", number + 1),
            )),
            None if path == "/" => Some(html("<link rel=stylesheet href=/trick-0.css>")),
            None => None,
        }
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    for (number, times) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 0)] {
        let path = format!("/trick-{number}.css");
        assert_eq!(door.asked(&path), times, "{path}: {:?}", crawled.told());
    }
    assert_eq!(crawled.report.waiting, 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn html_21() {
    let deep = "[".repeat(100_000);
    let long = "\"x\",".repeat(1 << 20);
    for json in [deep, long] {
        let seen = see(format!(
            "{LINK}<script type='application/ld+json'>{json}</script><p>after"
        ));
        assert_eq!(seen.page.text, "before\nlink\nafter");
        assert_eq!(seen.fetched(), ["/trick"]);
    }
}

#[test]
fn html_22() {
    let stuffed = see(format!("{LINK}<p>{}", "casino ".repeat(1_000_000)));
    assert!(stuffed.has(Flags::PARSE_PARTIAL));
    assert!(stuffed.page.text.len() <= 2 << 20);
    let split = see("<p>c\u{200b}a\u{200d}s\u{2060}i\u{feff}no</p>");
    let visible: String = split.page.text.chars().filter(|c| c.is_ascii()).collect();
    // What is invisible in it may stay in the text, where some scripts need it; terms have none (`hostile_text.rs`).
    assert_eq!(visible, "casino", "{:?}", split.page.text);
    // What a page does not show is no text of it: nobody is found by it, and links in it lead on.
    let stuffing = "casino ".repeat(1000);
    let door = open_site(move |path| match path {
        "/" => Some(html(
            "<a href=/honest>1</a><a href=/hidden>2</a><a href=/unseen>3</a>",
        )),
        "/honest" => Some(html(
            "<p>An evening at the casino of Estoril, and what it cost",
        )),
        "/hidden" => Some(html(format!(
            "<p>Cheap clocks<div hidden>{stuffing}<a href=/beyond>more</a></div>"
        ))),
        "/unseen" => Some(html(format!(
            "<p>Cheap lamps<span style='DISPLAY: none'>{stuffing}</span>"
        ))),
        "/beyond" => Some(html("<p>Cheap umbrellas")),
        _ => None,
    });
    let searchable = Searchable::new(&crawl_config(), &[door.url("/"), door.url("/next")]);
    assert_eq!(searchable.found("casino"), [door.url("/honest")]);
    assert_eq!(searchable.found("clocks"), [door.url("/hidden")]);
    assert_eq!(searchable.found("lamps"), [door.url("/unseen")]);
    assert_eq!(searchable.found("umbrellas"), [door.url("/beyond")]);
    assert_eq!(door.asked("/next"), 1);
}

#[test]
fn html_23() {
    let seen = see(format!(
        "<title> {} </title>",
        "é<b>\u{202e}\u{7}".repeat(1 << 17)
    ));
    let title = &seen.attempt().title;
    assert_eq!(title.chars().count(), 512);
    assert!(title.chars().all(|c| !c.is_control() && c != '\u{202e}'));
    // What people see as one character is not cut in two: its 512th is the first half of a flag.
    let flags = see(format!("<title>x{}</title>", "🇵🇹".repeat(300)));
    assert_eq!(flags.attempt().title, format!("x{}", "🇵🇹".repeat(255)));
    assert_eq!(see("<title>  \n\t </title>").attempt().title, "");
}

#[test]
fn html_24() {
    let one = see(format!("{LINK}<p>{}", "x".repeat(10 << 20)));
    assert!(one.page.text.len() <= 2 << 20 && one.has(Flags::PARSE_PARTIAL));
    assert_eq!(one.fetched(), ["/trick"]);
    let letters = see(format!("{LINK}<p>{}", "a ".repeat(7_000_000)));
    assert!(letters.page.text.len() <= 2 << 20);
    assert_eq!(letters.fetched(), ["/trick"]);
}

#[test]
fn html_26() {
    let body = "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'http://other.test/x.dtd' \
        [<!ENTITY lol 'laughs'><!ENTITY file SYSTEM 'file:///etc/passwd'>]>\
        <html xmlns='http://www.w3.org/1999/xhtml'><head><title>t</title></head>\
        <body><p>&lol; &file;</p><a href='/trick'>x</a></body></html>";
    let seen = see_as("application/xhtml+xml", body.as_bytes());
    assert_eq!(seen.fetched(), ["/trick"]);
    assert!(!seen.page.text.contains("laughs") && !seen.page.text.contains("root:"));
    assert!(
        seen.crawled
            .attempts
            .iter()
            .all(|one| !one.url.request().contains("other.test"))
    );
    assert_eq!(seen.attempt().outcome, Outcome::http(200));
}

#[test]
fn html_25() {
    let marks = "\u{301}\u{489}\u{20dd}".repeat(10_000);
    let seen = see(format!(
        "<title>a{marks}b</title><h1>c{marks}d</h1>{LINK}<p>e{marks}f g\u{301}h"
    ));
    assert_eq!(seen.fetched(), ["/trick"]);
    for text in [&seen.page.text, &seen.page.title, &seen.page.headings[0]] {
        let longest = text
            .split(char::is_alphanumeric)
            .map(|run| run.trim().chars().count())
            .max();
        assert_eq!(longest, Some(30), "{text:?}");
    }
    assert!(seen.page.text.contains('f') && seen.page.text.contains("g\u{301}h"));
    assert!(seen.attempt().title.chars().count() < 80);
}

/// An extractor with a fault.
#[derive(Debug)]
struct Faulty;

impl teia_extract::Extractor for Faulty {
    fn accepts(&self, media_type: &MediaType) -> bool {
        media_type.is_html()
    }

    fn extract(&self, source: &Source<'_>, limits: &teia_extract::Limits) -> Extracted {
        assert!(!source.body.starts_with(b"evil"), "this page breaks it");
        teia_extract::Html.extract(source, limits)
    }
}

/// A page that makes the parser panic: it is archived, its bytes are kept, and everything goes on.
#[test]
fn html_27() {
    use std::path::Path;
    use std::sync::Arc;
    use teia_base::{Files, Seed, SimulatedDisk};
    use teia_engine::{Control, Crawl, Executor, Layout, Parts, ThisMachine};

    const EVIL: &str = "evil <a href=/never>x</a>";
    let door = open_site(|path| match path {
        "/" => Some(html("<a href=/evil>1</a><a href=/fine>2</a>")),
        "/fine" => Some(html("fine")),
        "/evil" => Some(html(EVIL)),
        _ => None,
    });
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let urls = [door.url("/"), door.url("/next")];
    let crawl = Crawl {
        files: Arc::clone(&files),
        root: "data".into(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: crawl_config(),
        save: false,
        seeds: urls
            .iter()
            .map(|url| Seed::parse(url).unwrap().unwrap())
            .collect(),
        parts: Parts {
            extractor: Some(Arc::new(Faulty)),
            ..Parts::default()
        },
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let report = runtime.block_on(ThisMachine.run(crawl)).unwrap();
    let crawled = Crawled {
        report,
        attempts: crate::support::attempts(&*files),
        disk,
    };
    crawled.check_accounts();
    let evil = crawled.last(&door.url("/evil"));
    assert!(
        evil.outcome.is_ok() && evil.flags.has(Flags::PARSE_CRASH),
        "{:?}",
        crawled.told()
    );
    assert!(evil.capture.is_some() && evil.links.is_empty());
    for path in ["/", "/next", "/fine"] {
        assert!(crawled.last(&door.url(path)).outcome.is_ok(), "{path}");
    }
    let crashes = Path::new("default").join("crashes");
    let kept = files.list(&crashes).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        files.read(&crashes.join(&kept[0])).unwrap(),
        EVIL.as_bytes()
    );
}
