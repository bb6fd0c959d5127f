//! What servers send.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use teia_base::{Body, CanonicalUrl, Head, HostId, MediaType, NormalForm, Response, Timestamp};
use teia_engine::{Brought, Sketch, TrapWatch, TrapsConfig, patterns};
use teia_extract::{Css, Extracted, Extractor, Extractors, Feed, Html, Limits, Sitemap, Source};
use teia_fetch::robots::Rules;
use teia_fetch::{DecodeLimits, decode};
use url::Url;

use super::{Target, hold, texts};

pub(super) const DATES: Target = Target {
    name: "dates",
    words: &[
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "GMT",
        "+0000",
        "Feb",
        "29",
        "31",
        "99999",
        "0000",
        "24:00:60",
        "-",
        ":",
        "T",
        "Z",
        "2026-11-15",
        ",",
        " ",
    ],
    inputs_in_tests: 20_000,
    examples: || {
        texts(&[
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "20261115200000",
            "2026-11-15T20:00:00Z",
            "2026-11-15",
        ])
    },
    read: |input| {
        let text = String::from_utf8_lossy(input);
        for moment in [Timestamp::parse_http_date(&text), Timestamp::parse(&text)]
            .into_iter()
            .flatten()
        {
            // What is written of it is read as the same second.
            let digits = moment.to_digits();
            // Years before the first have a sign, and are kept nowhere.
            if digits.starts_with('-') {
                continue;
            }
            let again = Timestamp::parse(&digits);
            hold(
                again.is_some_and(|again| again.to_digits() == digits),
                || format!("{text:?} is {digits}, and that is {again:?}"),
            )?;
            let _late = moment.plus(std::time::Duration::MAX);
            let _early = Timestamp::default().since(moment);
        }
        Ok(())
    },
};

pub(super) const URL: Target = Target {
    name: "url",
    words: &[
        "http://",
        "https:",
        "//",
        "/../",
        "/./",
        "%2e",
        "%2F",
        "%",
        "?",
        "#",
        "@",
        ":",
        "[::1]",
        "xn--",
        "é",
        "。",
        "\t",
        "\\",
        "utm_source=1",
        ";jsessionid=1",
        ".",
        "index.html",
        "www.",
        "0x7f.1",
    ],
    inputs_in_tests: 20_000,
    examples: || {
        texts(&[
            "http://example.com/",
            "HTTPS://User:Pw@ExAmPle.com:443/a/./b/../%7Ec/%e7?q=1&utm_source=x#frag",
            "http://xn--bcher-kva.example./a;jsessionid=1?sid=2",
            "http://[2001:db8::1]:8080/x//y",
            "http://0x7f.1/",
            "ftp://a.example/file%00name",
        ])
    },
    read: |input| {
        let text = String::from_utf8_lossy(input);
        let Ok(once) = CanonicalUrl::parse(&text) else {
            return Ok(());
        };
        let twice =
            CanonicalUrl::parse(once.as_str()).map_err(|error| format!("{once:?}: {error}"))?;
        hold(once == twice, || format!("{once:?} becomes {twice:?}"))?;
        let stored = CanonicalUrl::from_stored(once.as_str());
        hold(stored.host_str() == once.host_str(), || {
            format!("{once:?} has another host")
        })?;
        let whole = format!("{}{}", once.origin(), once.path_and_query());
        hold(whole.ends_with(once.path_and_query()), || {
            format!("{once:?} falls apart")
        })?;
        let (_, _) = (once.site(), once.path_depth());
        Ok(())
    },
};

pub(super) const RELATIVE: Target = Target {
    name: "relative",
    words: URL.words,
    inputs_in_tests: 20_000,
    examples: || {
        texts(&[
            "../a?b#c",
            "//other.example/x",
            "?q",
            "",
            "javascript:void(0)",
            "a b\\c\n",
            "mailto:x@y",
        ])
    },
    read: |input| {
        let base = Url::parse("http://a.example/b/c/d;p?q").expect("a good URL");
        let text = String::from_utf8_lossy(input);
        let Ok(found) = NormalForm::default().resolve(&base, &text) else {
            return Ok(());
        };
        let again =
            CanonicalUrl::parse(found.request()).map_err(|error| format!("{found:?}: {error}"))?;
        hold(&again == found.normal(), || {
            format!("{found:?} asks for {again:?}")
        })
    },
};

pub(super) const ROBOTS: Target = Target {
    name: "robots",
    words: &[
        "User-agent:",
        "Disallow:",
        "Allow:",
        "Sitemap:",
        "Crawl-delay:",
        "*",
        "$",
        "/",
        "%2F",
        "Teia",
        "\r",
        "\n",
        "#",
        "\u{feff}",
        "1e308",
        "-1",
        "http://a.example/s.xml",
    ],
    inputs_in_tests: 10_000,
    examples: || {
        texts(&[
            "User-agent: *\nDisallow: /a*b$\nAllow: /a/b\nCrawl-delay: 2\nSitemap: http://a.example/s.xml\n",
            "user-agent: Teia\nuser-agent: x\ndisallow: /%7Ex\n\nUser-agent: *\nDisallow:",
        ])
    },
    read: |input| {
        let rules = Rules::parse(input, "Teia");
        for path in [
            "/",
            "/robots.txt",
            "/a/b",
            "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
            "/%7Ex?y",
        ] {
            rules.verdict(path);
        }
        let delay = rules.crawl_delay().unwrap_or_default();
        hold(delay.as_secs() <= u64::from(u32::MAX), || {
            format!("a delay of {delay:?}")
        })
    },
};

const TAGS: &[&str] = &[
    "<a href=",
    "<base href=",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "<title>",
    "<textarea>",
    "<svg>",
    "<template>",
    "<meta charset=",
    "<meta http-equiv=refresh content='0;url=",
    "<meta name=robots content=nofollow>",
    "srcset='a 1x, b 2x'",
    "&amp;",
    "&#x0;",
    "&#99999999;",
    "&notit;",
    "<",
    ">",
    "\"",
    "'",
    "=",
    "</",
    "<![CDATA[",
    "<?",
    "\0",
    "style='url(",
    "<plaintext>",
    "<noscript>",
    "<iframe srcdoc=",
    "<p hidden>",
    " hidden ",
    "<div style='display:none'>",
    " style='visibility:hidden;display:block!important' ",
    "</div>",
    "<nav>",
    "</nav>",
    " data-nosnippet ",
    "\u{feff}",
];

pub(super) const HTML: Target = Target {
    name: "html",
    words: TAGS,
    inputs_in_tests: 4_000,
    examples: || {
        texts(&[
            "<!DOCTYPE html><html lang=pt><head><base href=/x/><title>Olá</title><meta name=robots content='noindex, nofollow'>\
             <link rel=canonical href=a><style>@import url(b)</style></head><body><h1>T</h1><a href='?a&amp;b' rel=nofollow>c</a>\
             <img srcset='d 1x, e 2x'><form action=f></form><script>g</script></body></html>",
            "<meta http-equiv=refresh content='0; url=a'><frameset><frame src=b></frameset><area href=c><object data=d>",
        ])
    },
    read: |input| extract_with(&Html, input, "text/html"),
};

pub(super) const CSS: Target = Target {
    name: "css",
    words: &[
        "url(", "@import", "\"", "'", ")", "\\", "/*", "*/", ";", "{", "}", "\n",
    ],
    inputs_in_tests: 10_000,
    examples: || {
        texts(&[
            "@import 'a.css'; @import url(b); x { background: url( \"c\\29 d\" ) } /* url(no) */",
        ])
    },
    read: |input| extract_with(&Css, input, "text/css"),
};

pub(super) const SITEMAP: Target = Target {
    name: "sitemap",
    words: &[
        "<urlset>",
        "<url>",
        "<loc>",
        "</loc>",
        "<lastmod>",
        "<sitemapindex>",
        "<![CDATA[",
        "]]>",
        "<!DOCTYPE",
        "<!ENTITY x 'y'>",
        "&x;",
        "&amp;",
        "<?xml version='1.0' encoding='utf-16'?>",
        "2026-02-30",
    ],
    inputs_in_tests: 5_000,
    examples: || {
        texts(&[
            "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a.example/x?a=1&amp;b</loc>\
             <lastmod>2026-01-02T03:04:05Z</lastmod></url></urlset>",
            "<sitemapindex><sitemap><loc>http://a.example/s.xml.gz</loc></sitemap></sitemapindex>",
        ])
    },
    read: |input| extract_with(&Sitemap, input, "application/xml"),
};

pub(super) const FEED: Target = Target {
    name: "feed",
    words: &[
        "<rss>",
        "<item>",
        "<link>",
        "<entry>",
        "<feed>",
        "<link href='",
        "<![CDATA[",
        "&lt;a href=x&gt;",
        "{\"items\":[",
        "\"url\":",
        "[",
        "{",
        "\\u0000",
        "\"",
        "]]>",
    ],
    inputs_in_tests: 5_000,
    examples: || {
        texts(&[
            "<rss><channel><title>t</title><link>http://a.example/</link><item><link>http://a.example/1</link></item></channel></rss>",
            "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='b' rel='alternate'/><title>x</title></entry></feed>",
            "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"url\":\"http://a.example/1\",\"title\":\"t\"}]}",
        ])
    },
    read: |input| {
        extract_with(&Feed, input, "application/rss+xml")?;
        extract_with(&Feed, input, "application/feed+json")
    },
};

pub(super) const CHARSET: Target = Target {
    name: "charset",
    words: &[
        "<meta charset=utf-16>",
        "<meta charset=iso-2022-jp>",
        "<meta charset=gb18030>",
        "\u{feff}",
        "é",
        "ç",
        "\x1b$B",
        "\x1b(B",
    ],
    inputs_in_tests: 4_000,
    examples: || {
        vec![
            b"<meta charset=iso-8859-1>S\xe3o Paulo, a\xe7\xe3o".to_vec(),
            b"\xff\xfe<\0p\0>\0a\0".to_vec(),
            "\u{feff}<p>日本語のページ".as_bytes().to_vec(),
            b"\x93\xfa\x96{\x8c\xea <a href=x>".to_vec(),
        ]
    },
    read: |input| {
        extract_with(&Html, input, "text/html")?;
        extract_with(&Html, input, "text/html; charset=shift_jis")
    },
};

pub(super) const ANYTHING: Target = Target {
    name: "anything",
    words: TAGS,
    inputs_in_tests: 4_000,
    examples: || {
        let mut all = (HTML.examples)();
        all.extend((SITEMAP.examples)());
        all.extend((FEED.examples)());
        all.push(gzip(b"http://a.example/1\nhttp://a.example/2\n"));
        all.push(b"%PDF-1.4\n1 0 obj".to_vec());
        all
    },
    read: |input| {
        let url = Url::parse("http://a.example/b").expect("a good URL");
        let extracted = Extractors::new(Limits::default()).extract(&Source::new(&url, input));
        check(&extracted)
    },
};

fn extract_with(extractor: &dyn Extractor, input: &[u8], media_type: &str) -> Result<(), String> {
    let url = Url::parse("http://a.example/b/c").expect("a good URL");
    let media_type = MediaType::parse(media_type);
    let mut source = Source::new(&url, input);
    source.media_type = media_type.as_ref();
    check(&extractor.extract(&source, &Limits::default()))
}

/// What came out stays within bounds and is what later stages take for granted.
fn check(extracted: &Extracted) -> Result<(), String> {
    for link in &extracted.links {
        // The engine passes over what is no URL.
        let Ok(url) = CanonicalUrl::parse(&link.url) else {
            continue;
        };
        let again =
            CanonicalUrl::parse(url.as_str()).map_err(|error| format!("{url:?}: {error}"))?;
        hold(again == url, || {
            format!("the link {url:?} becomes {again:?}")
        })?;
    }
    teia_extract::spaceless::signatures(&extracted.text);
    Ok(())
}

pub(super) const DECODE: Target = Target {
    name: "decode",
    words: &["\x1f\u{8b}\x08", "(\u{b5}/\u{fd}"],
    inputs_in_tests: 4_000,
    examples: || {
        let text = b"so much text that it shrinks, so much text that it shrinks".repeat(20);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).expect("memory");
        vec![
            gzip(&text),
            zlib.finish().expect("memory"),
            gzip(&gzip(&vec![0; 100_000])),
        ]
    },
    read: |input| {
        let limits = DecodeLimits {
            decoded_bytes: 1 << 20,
            document_bytes: 1 << 20,
            ..DecodeLimits::default()
        };
        for coding in [
            "gzip",
            "deflate",
            "br",
            "zstd",
            "gzip, gzip",
            "br, zstd, gzip",
        ] {
            let decoded = decode(&response(coding, input), &limits);
            let len = decoded.bytes.len();
            hold(len <= (1 << 20).max(input.len()), || {
                format!("{coding}: {len} bytes")
            })?;
        }
        Ok(())
    },
};

fn response(coding: &str, body: &[u8]) -> Response {
    let status = "HTTP/1.1 200 OK\r\n";
    let name = "content-encoding";
    let head = format!("{status}{name}: {coding}\r\n\r\n");
    let start = status.len();
    let value = start + name.len() + 2;
    let fields = [(start..start + name.len(), value..value + coding.len())];
    Response {
        status: 200,
        head: Head::new(head.into(), fields),
        body: Body::from(body.to_vec()),
        chunks: None,
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

/// Pages of a site one after another: a URL in each line, and the rest of the line is what it says.
pub(super) const TRAPS: Target = Target {
    name: "traps",
    words: &[
        "/",
        "?",
        "&",
        "=",
        ";",
        "{n}",
        "{id}",
        "**",
        "*",
        "2031",
        "9f3a77c2d1",
        "é",
        "%20",
        "[",
        "(",
        " ",
        "\n",
        "word",
    ],
    inputs_in_tests: 5_000,
    examples: || {
        texts(&[
            "/calendar/2031/04 no events\n/calendar/2031/05 no events\n/calendar/2031/06 no events",
            "/p;sid=9f3a77c2d1?a=1&b[2]=x&a=3 one two three four\n/?{n}=(\n/a/b/c/ x",
        ])
    },
    read: |input| {
        let text = String::from_utf8_lossy(input);
        let mut watch = TrapWatch::default();
        let config = TrapsConfig::default();
        for line in text.lines().take(50) {
            let (path, said) = line.split_once(' ').unwrap_or((line, ""));
            let Ok(url) = CanonicalUrl::parse(&format!("http://a.example/{path}")) else {
                continue;
            };
            let found = patterns(&url);
            hold((1..=3).contains(&found.len()), || format!("{found:?}"))?;
            let sketch = Sketch::new(url.as_str(), said, input);
            let brought = Brought {
                new: &[&url],
                else_new: false,
                bytes: input.len() as u64,
            };
            watch.note(&config, HostId(1), &url, &sketch, brought);
            hold(watch.len() <= 151, || watch.len().to_string())?;
        }
        Ok(())
    },
};
