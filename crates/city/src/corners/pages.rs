//! What stands in the answers: pages, style sheets, feeds, sitemaps, robots.txt, and sites without an end.
//!
//! The cases have tests of their own, with pages made for them. These are for all corners at once: large, and dear
//! to whoever reads them without a bound.

use crate::corner::{Corner, Site, Trick};
use crate::step::Step;
use crate::trap_web::TrapWeb;

/// The corners of these groups.
pub(super) fn corners() -> Vec<Corner> {
    let mut corners = html();
    corners.extend(maps());
    corners.extend(robots());
    corners.extend(traps());
    corners
}

fn html() -> Vec<Corner> {
    let page = |id, name, body: String| Corner::says(id, name, typed("text/html", &body));
    let storm = |tag: &str, times: usize| format!("<{tag}>").repeat(times);
    vec![
        page("HTML-01", "nested", storm("div", 200_000)),
        page("HTML-02", "lists", "<ul><li>".repeat(60_000)),
        page(
            "HTML-03",
            "formatting",
            format!(
                "{}{}{}",
                storm("a", 40_000),
                storm("i", 40_000),
                storm("/a", 40_000)
            ),
        ),
        page("HTML-04", "tables", storm("table", 100_000)),
        page(
            "HTML-05",
            "attributes",
            format!("<p {}>text", numbered(100_000, |n| format!("a{n}=1 "))),
        ),
        page(
            "HTML-06",
            "attribute",
            format!("<p>before<a href=\"{}", "x".repeat(8 << 20)),
        ),
        page(
            "HTML-07",
            "comments",
            format!("text {}", "<!--".repeat(1_000_000)),
        ),
        page("HTML-10", "entities", "&amp;&#0;&#xD800;".repeat(300_000)),
        page(
            "HTML-12",
            "links",
            numbered(100_000, |n| format!("<a href=/trick/{n}>{n}</a>")),
        ),
        page(
            "HTML-18",
            "srcset",
            format!(
                "<img srcset=\"{}\">",
                numbered(10_000, |n| format!("/trick{n}.png {n}w, "))
            ),
        ),
        page(
            "HTML-20",
            "inline-style",
            format!(
                "<style>{}</style>",
                "@import url(/trick.css);".repeat(50_000)
            ),
        ),
        Corner {
            id: "HTML-20",
            name: "imports",
            trick: Trick::Site(Site::new(|path| {
                let next = match path {
                    "/" => 0,
                    path => path.strip_prefix("/trick")?.parse::<u64>().unwrap_or(0) + 1,
                };
                let sheet = format!(
                    "@import url(/trick{next});\n{}",
                    "p{background:url(/trick.png)}".repeat(50_000)
                );
                Some(vec![Step::Say(typed("text/css", &sheet))])
            })),
        },
        page(
            "HTML-21",
            "json-ld",
            format!(
                "<script type=application/ld+json>{}</script>text",
                "[".repeat(4 << 20)
            ),
        ),
        page(
            "HTML-22",
            "words",
            numbered(1_000_000, |n| format!("word{} ", n % 1000)),
        ),
        page(
            "HTML-23",
            "title",
            format!("<title>{}</title>text", "title ".repeat(170_000)),
        ),
        page("HTML-24", "one-word", "x".repeat(10 << 20)),
        page(
            "HTML-25",
            "marks",
            format!("<p>a{}", "\u{301}".repeat(10_000)),
        ),
    ]
}

fn maps() -> Vec<Corner> {
    let file = |id, name, kind: &str, body: String| Corner::says(id, name, typed(kind, &body));
    let xml = "application/xml";
    let set =
        "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">";
    vec![
        file(
            "MAP-01",
            "urls",
            xml,
            format!(
                "{set}{}",
                numbered(200_000, |n| format!(
                    "<url><loc>http://elsewhere.test/{n}</loc></url>"
                ))
            ),
        ),
        Corner {
            id: "MAP-02",
            name: "index",
            trick: Trick::Site(Site::new(|path| {
                let here = match path {
                    "/" => 0,
                    path => path.strip_prefix("/trick")?.parse::<u64>().ok()?,
                };
                let maps = (1..=3)
                    .map(|n| format!("<sitemap><loc>/trick{}</loc></sitemap>", here * 3 + n))
                    .collect::<String>();
                let index = format!("<?xml version=\"1.0\"?><sitemapindex>{maps}</sitemapindex>");
                Some(vec![Step::Say(typed("application/xml", &index))])
            })),
        },
        file(
            "MAP-03",
            "laughs",
            xml,
            format!(
                "<?xml version=\"1.0\"?><!DOCTYPE l [{}]><urlset><url><loc>&e9;</loc></url></urlset>",
                numbered(10, |n| format!(
                    "<!ENTITY e{n} \"{}\">",
                    format!("&e{};", n.saturating_sub(1)).repeat(10)
                ))
            ),
        ),
        file(
            "MAP-04",
            "namespaces",
            xml,
            format!(
                "<urlset {}></urlset>",
                numbered(100_000, |n| format!("xmlns:n{n}=\"u\" "))
            ),
        ),
        file(
            "MAP-09",
            "deep",
            xml,
            format!("{set}{}", "<a>".repeat(1_000_000)),
        ),
        file(
            "MAP-11",
            "rss",
            "application/rss+xml",
            format!(
                "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel>{}</channel></rss>",
                numbered(10_000, |n| format!(
                    "<item><link>/trick{n}</link><description><![CDATA[<p>{}</p>]]></description></item>",
                    "text ".repeat(50)
                ))
            ),
        ),
        file(
            "MAP-14",
            "json",
            "application/feed+json",
            format!(
                "{{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":{}",
                "[".repeat(1 << 20)
            ),
        ),
    ]
}

fn robots() -> Vec<Corner> {
    let corner = |id, name, text: String| Corner {
        id,
        name,
        trick: Trick::Robots(
            typed("text/plain", &text),
            vec![vec![Step::Say(typed("text/html", "a page"))]],
        ),
    };
    vec![
        corner("ROB-11", "large", "Disallow: /nothing\n".repeat(800_000)),
        corner("ROB-14", "one-line", "x".repeat(1 << 20)),
        corner(
            "ROB-17",
            "stars",
            format!(
                "User-agent: *\n{}",
                numbered(2_000, |n| format!("Disallow: {}{n}$\n", "/*a".repeat(100)))
            ),
        ),
        corner(
            "ROB-22",
            "groups",
            numbered(100_000, |n| format!("User-agent: u{n}\nDisallow: /{n}\n")),
        ),
        corner(
            "ROB-28",
            "sitemaps",
            numbered(10_000, |n| {
                format!("Sitemap: http://elsewhere.test/{n}.xml\n")
            }),
        ),
    ]
}

fn traps() -> Vec<Corner> {
    const WEB: TrapWeb = TrapWeb { products: 40 };
    let web = |path: &str| Some(vec![Step::Say(typed("text/html", &WEB.page(path)?))]);
    vec![
        Corner {
            id: "TRAP-01",
            name: "web",
            trick: Trick::Site(Site::new(web)),
        },
        Corner {
            id: "TRAP-17",
            name: "babble",
            trick: Trick::Site(Site::new(|path| {
                let number: u64 = match path {
                    "/" => 0,
                    path => path.strip_prefix("/trick")?.parse().ok()?,
                };
                let words = numbered(700, |n| {
                    format!("w{:x} ", number.wrapping_mul(700).wrapping_add(n))
                });
                let links = numbered(3, |n| {
                    let next = number.wrapping_mul(3).wrapping_add(n + 1);
                    format!("<a href=/trick{next}>on</a> ")
                });
                Some(vec![Step::Say(typed(
                    "text/html",
                    &format!("{words}{links}"),
                ))])
            })),
        },
    ]
}

fn numbered(times: u64, text: impl Fn(u64) -> String) -> String {
    (0..times).map(text).collect()
}

fn typed(kind: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}
