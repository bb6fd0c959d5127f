//! The table of limits of the yardstick: what each is by default, and what happens at it and one past it.
//!
//! `limits.txt` has a line for each name of the table, with the setting that it is here and the test that shows both sides.
//! Where ours differs the line says why.

use std::io::Write;
use std::time::Duration;

use teia_base::filter::{Candidate, Filter, FilterConfig, Rules};
use teia_base::{CanonicalUrl, Flags, LinkKind, MediaType, Outcome};
use teia_city::{Data, Question, Record, Reply, Step};
use teia_engine::CollectionConfig;
use teia_extract::{Extracted, Extractors, Limits, Source};
use teia_fetch::{DecodeLimits, FetchConfig, decode};
use url::Url;

use crate::support::{
    Visit, answer, crawl, crawl_config, html, invalid, limits, name_server, open_answers,
    open_site, outcome, payload,
};

const LIMITS: &str = include_str!("../limits.txt");

/// A limit: its name and default in the table, the setting here, and the test.
struct Limit {
    name: &'static str,
    default: &'static str,
    /// The setting, or why there is none.
    setting: &'static str,
    /// File and test; empty where `setting` says why there is none.
    shown: (&'static str, &'static str),
}

fn limits_here() -> Vec<Limit> {
    let lines = LIMITS.lines().filter(|line| !line.starts_with('#'));
    let limit = |line: &'static str| {
        let mut cells = line.split('|').map(str::trim);
        let mut cell = || cells.next().unwrap_or_default();
        Limit {
            name: cell(),
            default: cell(),
            setting: cell(),
            shown: cell().split_once(' ').unwrap_or_default(),
        }
    };
    lines.map(limit).collect()
}

/// The lines of the table of limits: name and default, two of them in a row.
fn table(yardstick: &str) -> Vec<(String, String)> {
    let from = yardstick.find("| Name | Default |").expect("the table");
    let rows = yardstick[from..].lines().skip(2);
    let mut found = Vec::new();
    for row in rows.take_while(|row| row.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        for pair in [&cells[..2], &cells[3..]] {
            found.push((pair[0].to_owned(), pair[1].to_owned()));
        }
    }
    found
}

#[test]
fn every_limit_of_the_table_is_a_setting_with_a_test() {
    let project = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ours = limits_here();
    for limit in &ours {
        let (file, name) = limit.shown;
        if file.is_empty() {
            assert!(limit.setting.starts_with("there is"), "{}", limit.name);
            continue;
        }
        let source = std::fs::read_to_string(project.join(file)).unwrap();
        assert!(
            source.contains(&format!("fn {name}(")),
            "{file} has no {name}"
        );
    }
    let Ok(yardstick) = std::fs::read_to_string(project.join("../shared/hostile-web.md")) else {
        eprintln!(
            "SKIPPED the table of limits: there is no ../shared/hostile-web.md beside the project"
        );
        return;
    };
    let want = table(&yardstick);
    assert!(want.len() > 40, "the table was read: {}", want.len());
    for (name, default) in &want {
        let found = ours.iter().find(|limit| limit.name == name);
        let found = found.unwrap_or_else(|| panic!("{name} is no limit here"));
        assert_eq!(found.default, default, "{name}");
    }
    assert_eq!(want.len(), ours.len(), "each once");
}

#[test]
fn the_defaults_are_those_of_the_table() {
    let CollectionConfig {
        filter,
        fetch,
        run,
        robots,
        politeness,
        traps,
        extract,
        index,
        ..
    } = CollectionConfig::default();
    let counts = [
        filter.max_url_bytes,
        filter.max_query_params,
        filter.max_path_segments,
        filter.max_segment_repeat,
        fetch.cname_max,
        fetch.headers_count,
        fetch.interim_max,
        fetch.decode_layers,
        extract.depth,
        extract.attrs_per_tag,
        extract.attr_bytes,
        extract.links_per_page,
        extract.text_bytes,
        extract.sitemap_bytes,
        extract.sitemap_urls,
        usize::from(run.max_redirects),
        usize::try_from(run.sitemap_files).unwrap(),
        usize::try_from(traps.hosts_per_domain).unwrap(),
    ];
    assert_eq!(
        counts,
        [
            2048,
            32,
            32,
            3,
            8,
            512,
            16,
            3,
            512,
            256,
            64 << 10,
            10_000,
            2 << 20,
            50 << 20,
            50_000,
            10,
            1000,
            1000
        ]
    );
    let sizes = [
        fetch.headers_bytes,
        fetch.body_wire_bytes,
        fetch.document_wire_bytes,
        fetch.body_decoded_bytes,
        fetch.document_decoded_bytes,
        fetch.ratio_max,
        fetch.min_rate,
        robots.max_bytes,
        index.max_text_bytes,
        filter.urls_per_host_day,
    ];
    let mib = |count: u64| count << 20;
    assert_eq!(
        sizes,
        [
            128 << 10,
            mib(16),
            mib(64),
            mib(32),
            mib(256),
            100,
            1024,
            512 << 10,
            mib(2),
            100_000
        ]
    );
    let times = [
        fetch.dns_timeout,
        fetch.connect_timeout,
        fetch.tls_timeout,
        fetch.first_byte_timeout,
        fetch.min_rate_window,
        fetch.timeout,
        fetch.document_timeout,
        extract.cpu,
        politeness.max_crawl_delay,
        robots.fresh_for,
    ];
    assert_eq!(
        times.map(|time| time.as_secs()),
        [10, 10, 10, 30, 30, 120, 300, 2, 60, 86_400]
    );
    assert!(!fetch.cookies);
    assert_eq!(DecodeLimits::default().zstd_window_log, 23, "8 MiB");
}

#[test]
fn urls_at_their_limits() {
    let seed = CanonicalUrl::parse("http://a.test/").unwrap();
    let rules = Rules::compile(&FilterConfig::default(), std::slice::from_ref(&seed)).unwrap();
    let judge = |path: &str| {
        let url = CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap();
        let candidate = Candidate {
            url: &url,
            depth: 1,
            kind: LinkKind::Anchor,
            from_kept_in_scope: true,
            from: Some(&seed),
        };
        rules.before(&candidate).outcome
    };
    let long = |bytes: usize| format!("/{}", "x".repeat(bytes - "http://a.test/".len()));
    let asked = |count: usize| {
        let pairs: Vec<String> = (0..count).map(|at| format!("p{at}={at}")).collect();
        format!("/?{}", pairs.join("&"))
    };
    let deep = |count: usize| (0..count).map(|at| format!("/s{at}")).collect::<String>();
    let again = |count: usize| {
        (0..count)
            .map(|at| format!("/same/o{at}"))
            .collect::<String>()
    };
    for (at, past, outcome) in [
        (long(2048), long(2049), Outcome::URL_TOO_LONG),
        (asked(32), asked(33), Outcome::TRAP_SUSPECTED),
        (deep(32), deep(33), Outcome::TRAP_SUSPECTED),
        (again(3), again(4), Outcome::TRAP_SUSPECTED),
    ] {
        assert_eq!(judge(&at), None, "{at:.60}");
        assert_eq!(judge(&past), Some(outcome), "{past:.60}");
    }
}

/// `whole8` leads to an address by eight aliases, `whole9` by nine, as name servers tell it: in one answer.
#[tokio::test]
async fn aliases_at_their_limit() {
    let server = name_server(|question: &Question| {
        let name = question.name.as_str();
        if !question.is_a() {
            return Reply::Records(Vec::new());
        }
        let count = name
            .strip_prefix("whole")
            .and_then(|rest| rest.split('.').next()?.parse::<usize>().ok())
            .unwrap_or(0);
        let label = |at: usize| match at {
            0 => name.to_owned(),
            at => format!("w{at}.city.test"),
        };
        let mut records: Vec<Record> = (0..count)
            .map(|at| Record::new(&label(at), 60, Data::Alias(label(at + 1))))
            .collect();
        let here = Data::A([127, 0, 0, 1].into());
        records.push(Record::new(&label(count), 60, here));
        Reply::Records(records)
    });
    let config = FetchConfig {
        resolve: Vec::new(),
        name_servers: vec![server.address()],
        ..limits()
    };
    let door = open_answers(vec![html("hello")]);
    let visit = Visit::at(door, config);
    for (host, want) in [
        ("whole8.city.test", Outcome::http(200)),
        ("whole9.city.test", Outcome::DNS_LOOP),
    ] {
        let exchange = crate::support::get(&visit.fetcher, &visit.door.named(host, "/next")).await;
        assert_eq!(exchange.outcome, want, "{host}: {:?}", exchange.detail);
    }
}

/// A head with so many fields, and so many bytes in all, the empty line at its end included.
fn head(fields: usize, bytes: usize) -> String {
    let mut head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n".to_owned();
    for at in 2..fields {
        head += &format!("X-{at}: y\r\n");
    }
    let last = "X-Last: ";
    let rest = bytes.saturating_sub(head.len() + last.len() + 4);
    head + last + &"z".repeat(rest.max(1)) + "\r\n\r\n"
}

#[tokio::test]
async fn heads_at_their_limits() {
    let interim = |count: usize| {
        let one = "HTTP/1.1 102 Processing\r\n\r\n";
        format!("{}{}", one.repeat(count), head(3, 0))
    };
    for (what, at, past, fault) in [
        (
            "fields",
            head(512, 0),
            head(513, 0),
            "http_headers_too_large",
        ),
        (
            "bytes",
            head(3, 128 << 10),
            head(3, (128 << 10) + 1),
            "http_headers_too_large",
        ),
        ("interim", interim(16), interim(17), "http_interim_flood"),
    ] {
        let say = |head: &str| open_answers(vec![vec![Step::say(format!("{head}hello"))]]);
        let visit = Visit::at(say(&at), limits());
        let exchange = visit.trick().await;
        assert_eq!(
            exchange.outcome,
            Outcome::http(200),
            "{what}: {:?}",
            exchange.detail
        );
        assert_eq!(payload(&exchange), b"hello", "{what}");
        let visit = Visit::at(say(&past), limits());
        invalid(&visit.trick().await, fault);
        visit.leave().await;
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Fetches a body under this coding, with these limits, and decodes it.
async fn fetched(
    coding: &str,
    body: &[u8],
    config: FetchConfig,
) -> (Flags, usize, Option<Outcome>) {
    let fields = match coding {
        "" => "Content-Type: text/html\r\n".to_owned(),
        coding => format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n"),
    };
    let decoding = config.decode_limits();
    let visit = Visit::at(open_answers(vec![answer(&fields, body)]), config);
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    let decoded = decode(exchange.response.as_ref().unwrap(), &decoding);
    (
        exchange.flags,
        decoded.bytes.len(),
        decoded.fault.map(|fault| fault.0),
    )
}

#[tokio::test]
async fn bodies_at_their_limits() {
    const MOST: usize = 100_000;
    let small = || FetchConfig {
        body_wire_bytes: MOST as u64,
        body_decoded_bytes: 2 * MOST as u64,
        ..limits()
    };
    // On the wire: cut there, and marked.
    let (flags, len, _) = fetched("", &[b'x'; MOST], small()).await;
    assert!(!flags.has(Flags::TRUNCATED) && len == MOST);
    let (flags, len, _) = fetched("", &[b'x'; MOST + 1], small()).await;
    assert!(
        flags.has(Flags::TRUNCATED) && (MOST..=MOST + 1).contains(&len),
        "{len}"
    );
    // Unpacked.
    let (_, len, fault) = fetched("gzip", &gzip(&[b'x'; 2 * MOST]), small()).await;
    assert_eq!((len, fault), (2 * MOST, None));
    let (_, len, fault) = fetched("gzip", &gzip(&[b'x'; 2 * MOST + 1]), small()).await;
    assert_eq!((len, fault), (2 * MOST, Some(Outcome::DECODE_BOMB)));
    // Codings one inside the other.
    let packed = |times: usize| (0..times).fold(b"hello".to_vec(), |bytes, _| gzip(&bytes));
    let (_, len, fault) = fetched("gzip, gzip, gzip", &packed(3), limits()).await;
    assert_eq!((len, fault), (5, None));
    let (_, _, fault) = fetched("gzip, gzip, gzip, gzip", &packed(4), limits()).await;
    assert_eq!(fault, Some(Outcome::DECODE_CHAIN_TOO_LONG));
    // A ratio counts only after the first MiB that comes out.
    let (_, len, fault) = fetched("gzip", &gzip(&vec![b'x'; 1 << 20]), limits()).await;
    assert_eq!((len, fault), (1 << 20, None));
    let bomb = gzip(&vec![b'x'; 4 << 20]);
    assert!(bomb.len() * 100 < 4 << 20);
    let (_, _, fault) = fetched("gzip", &bomb, limits()).await;
    assert_eq!(fault, Some(Outcome::DECODE_BOMB));
    let times = (4 << 20) / bomb.len() as u64 + 1;
    let wide = FetchConfig {
        ratio_max: times,
        ..limits()
    };
    let (_, len, fault) = fetched("gzip", &bomb, wide).await;
    assert_eq!((len, fault), (4 << 20, None));
}

#[tokio::test]
async fn windows_at_their_limits() {
    let packed = |window_log: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        // A stream of unknown length says what window it needs.
        encoder.write_all(b"hello").unwrap();
        encoder.flush().unwrap();
        encoder.write_all(b" again").unwrap();
        encoder.finish().unwrap()
    };
    let (_, len, fault) = fetched("zstd", &packed(23), limits()).await;
    assert_eq!((len, fault), (11, None));
    let (_, _, fault) = fetched("zstd", &packed(24), limits()).await;
    assert_eq!(fault, Some(Outcome::DECODE_ERROR));
}

#[test]
fn redirects_at_their_limit() {
    for (hops, is_reached) in [(10, true), (11, false)] {
        let door = open_site(move |path| {
            let number: u32 = path.strip_prefix("/hop")?.parse().ok()?;
            (number < hops)
                .then(|| {
                    vec![Step::say(format!(
                        "HTTP/1.1 302 Found\r\nLocation: /hop{}\r\nContent-Length: 0\r\n\r\n",
                        number + 1
                    ))]
                })
                .or_else(|| Some(html("the end")))
        });
        let crawled = crawl(&crawl_config(), &[door.url("/hop0"), door.url("/next")]);
        let last = crawled.all(&door.url(&format!("/hop{hops}")));
        assert_eq!(!last.is_empty(), is_reached, "{hops}: {:?}", crawled.told());
        let too_many = crawled
            .attempts
            .iter()
            .any(|one| one.outcome == Outcome::REDIRECT_TOO_MANY);
        assert_eq!(too_many, !is_reached, "{hops}: {:?}", crawled.told());
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
}

fn read(media_type: &str, body: &str, limits: Limits) -> Extracted {
    let url = Url::parse("http://a.test/dir/").unwrap();
    let media_type = MediaType::parse(media_type);
    Extractors::new(limits).extract(&Source {
        media_type: media_type.as_ref(),
        ..Source::new(&url, body.as_bytes())
    })
}

#[test]
fn pages_at_their_limits() {
    let page = |body: &str| read("text/html", body, Limits::default());
    // Open elements.
    let deep = |count: usize| page(&"<div>".repeat(count)).flags;
    assert!(!deep(512).has(Flags::PARSE_DEPTH_LIMITED));
    assert!(deep(513).has(Flags::PARSE_DEPTH_LIMITED));
    // The last attribute that is read, and the one after it.
    let after = |count: usize| {
        let many: String = (0..count).map(|at| format!(" a{at}=1")).collect();
        page(&format!("<a{many} href=/x>x</a>")).links.len()
    };
    assert_eq!((after(255), after(256)), (1, 0));
    let attribute = |bytes: usize| {
        let limits = Limits {
            attr_bytes: 1000,
            ..Limits::default()
        };
        let name = "x".repeat(bytes - 1);
        read("text/html", &format!("<a href='/{name}'>x</a>"), limits)
            .links
            .len()
    };
    assert_eq!((attribute(1000), attribute(1001)), (1, 0));
    let links = |count: usize| {
        let many: String = (0..count)
            .map(|at| format!("<a href=/{at}>x</a>"))
            .collect();
        let read = page(&many);
        (
            read.links.len(),
            read.links_left_out,
            read.flags.has(Flags::PARSE_PARTIAL),
        )
    };
    assert_eq!(links(10_000), (10_000, 0, false));
    assert_eq!(links(10_001), (10_000, 1, true));
    let text = |bytes: usize| {
        let read = page(&format!("<p>{}", "a".repeat(bytes)));
        (read.text.len(), read.flags.has(Flags::PARSE_PARTIAL))
    };
    assert_eq!(text(2 << 20), (2 << 20, false));
    assert_eq!(text((2 << 20) + 1), (2 << 20, true));
}

#[test]
fn robots_at_their_limits() {
    // The last line that ends within the first 512 KiB, and one that ends a byte later.
    let rule = "Disallow: /shut\n";
    let robots = |bytes: usize| {
        let start = "User-agent: *\n#";
        let filler = "x".repeat(99) + "\n#";
        let mut text = start.to_owned();
        while text.len() + filler.len() + rule.len() + 2 < bytes {
            text += &filler;
        }
        text += &"y".repeat(bytes - text.len() - 1 - rule.len());
        let text = format!("{text}\n{rule}");
        assert_eq!(text.len(), bytes);
        teia_fetch::robots::Rules::parse(text.as_bytes(), "Teia")
            .verdict("/shut")
            .allowed
    };
    assert!(!robots(512 << 10));
    // (One byte more is the end of the line: all of its rule is there.)
    assert!(robots((512 << 10) + 2));
    // Rules hold after five redirects, and not after six.
    for (hops, is_shut) in [(5, true), (6, false)] {
        let door = open_site(move |path| {
            let number: u32 = match path {
                "/robots.txt" => 0,
                "/shut" => return Some(html("page")),
                path => path.strip_prefix("/r")?.parse().ok()?,
            };
            let end = answer(
                "Content-Type: text/plain\r\n",
                "User-agent: *\nDisallow: /shut\n",
            );
            let on = vec![Step::say(format!(
                "HTTP/1.1 301 Moved\r\nLocation: /r{}\r\nContent-Length: 0\r\n\r\n",
                number + 1
            ))];
            Some(if number == hops { end } else { on })
        });
        let crawled = crawl(&crawl_config(), &[door.url("/shut"), door.url("/next")]);
        let outcome = crawled.last(&door.url("/shut")).outcome;
        assert_eq!(
            outcome == Outcome::ROBOTS_DISALLOWED,
            is_shut,
            "{hops}: {outcome}"
        );
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
    let politeness = teia_frontier::Politeness::default();
    let gap = |seconds: u64| {
        let asked = Some(Duration::from_secs(seconds));
        teia_frontier::gap(&politeness, asked, Duration::ZERO).as_secs()
    };
    assert_eq!((gap(59), gap(60), gap(61)), (59, 60, 60));
}

#[test]
fn sitemaps_at_their_limits() {
    let set = |count: usize| {
        let urls: String = (0..count)
            .map(|at| format!("<url><loc>/p{at}</loc></url>"))
            .collect();
        let read = read(
            "text/xml",
            &format!("<urlset>{urls}</urlset>"),
            Limits::default(),
        );
        (read.links.len(), read.flags.has(Flags::PARSE_PARTIAL))
    };
    assert_eq!(set(50_000), (50_000, false));
    assert_eq!(set(50_001), (50_000, true));
    // Bytes after decompression: what comes before is used.
    let map = "<urlset><url><loc>/p</loc></url></urlset>";
    let cut = |bytes: usize| {
        let limits = Limits {
            sitemap_bytes: bytes,
            ..Limits::default()
        };
        let url = Url::parse("http://a.test/map.xml.gz").unwrap();
        let (packed, media_type) = (gzip(map.as_bytes()), MediaType::parse("application/gzip"));
        let read = Extractors::new(limits).extract(&Source {
            media_type: media_type.as_ref(),
            ..Source::new(&url, &packed)
        });
        (read.links.len(), read.flags.has(Flags::DECODE_PARTIAL))
    };
    assert_eq!(cut(map.len()), (1, false));
    assert_eq!(cut(map.len() - 1), (1, true));
    // Elements one inside the other, of which `urlset` is the first.
    let deep = |depth: usize| {
        let inner = "<x>".repeat(depth - 1);
        let map = format!("<urlset><url><loc>/p</loc></url>{inner}");
        let read = read("text/xml", &map, Limits::default());
        (read.links.len(), read.flags.has(Flags::PARSE_DEPTH_LIMITED))
    };
    assert_eq!(deep(128), (1, false));
    assert_eq!(deep(129), (1, true));
    let attributes = |count: usize| {
        let many: String = (0..count).map(|at| format!(" xmlns:a{at}='u'")).collect();
        let link = format!("<xhtml:link{many} rel='alternate' href='/pt'/>");
        let map = format!("<urlset><url><loc>/p</loc>{link}</url></urlset>");
        read("text/xml", &map, Limits::default()).links.len()
    };
    assert_eq!((attributes(254), attributes(255)), (2, 1));
}

/// Indexes that name indexes: three of them are followed, one below the other, and so many files in all.
#[test]
fn indexes_of_sitemaps_at_their_limits() {
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
    let door = open_site(move |path| {
        let number: u32 = path.strip_prefix("/chain")?.parse().ok()?;
        Some(index(&[format!("/chain{}", number + 1)]))
    });
    crawl(&crawl_config(), &[door.url("/chain0"), door.url("/next")]);
    assert_eq!((door.asked("/chain3"), door.asked("/chain4")), (1, 0));
    // One index, and nine maps: with it that are ten files.
    for (most, want) in [(10, 9), (9, 8)] {
        let door = open_site(move |path| match path {
            "/index" => Some(index(
                &(0..9).map(|at| format!("/map{at}")).collect::<Vec<_>>(),
            )),
            path if path.starts_with("/map") => Some(answer(
                "Content-Type: text/xml\r\n",
                format!("<urlset><url><loc>/of{path}</loc></url></urlset>"),
            )),
            _ => None,
        });
        let mut config = crawl_config();
        config.run.sitemap_files = most;
        crawl(&config, &[door.url("/index"), door.url("/next")]);
        let read = (0..9)
            .filter(|at| door.asked(&format!("/map{at}")) == 1)
            .count();
        assert_eq!(read, want, "of {most}");
    }
}
