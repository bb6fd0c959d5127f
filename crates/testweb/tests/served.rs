//! The web as served: through the door only, over real sockets.
#![expect(
    clippy::unwrap_used,
    reason = "test code; what fails here fails the test"
)]

mod client;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Duration;

use client::{Client, crawl};
use teia_testweb::{
    Asked, Failure, Gate, Kind, Listen, Logging, Naming, Place, Rules, Scope, Server, ServerConfig,
    Web, WebConfig,
};

fn serve(config: WebConfig) -> Server {
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

fn path(url: &str) -> &str {
    &url[7 + url[7..].find('/').unwrap()..]
}

#[test]
fn equal_configs_are_equal_webs_and_another_seed_is_another() {
    let one = Web::new(WebConfig::everything(7), Naming::Names);
    let same = Web::new(WebConfig::everything(7), Naming::Names);
    let other = Web::new(WebConfig::everything(8), Naming::Names);
    let asked = Asked::default();
    let mut differ = 0;
    for url in one
        .reachable(&[one.front(0)], &Rules::default())
        .depths
        .keys()
    {
        let host = one.locate(url).map_or(0, |(host, _)| host);
        let answer = one.answer(host, path(url), &asked);
        let again = same.answer(host, path(url), &asked);
        assert_eq!(
            (answer.head(), answer.body()),
            (again.head(), again.body()),
            "{url}"
        );
        differ += u32::from(answer.body() != other.answer(host, path(url), &asked).body());
    }
    assert!(differ > 150, "{differ}");
}

#[track_caller]
fn check_crawl(config: WebConfig, listen: Listen, expected_least: usize) {
    let server = Server::start(config, listen).unwrap();
    let web = server.web();
    let address = server.addr();
    let crawled = crawl(
        &web.front(0),
        |url| {
            let here = |host: u32, place: Place| web.allows(host, place);
            let name = &url[url::Position::BeforeHost..url::Position::AfterPort];
            let Some(host) = web.host_number(name) else {
                return false;
            };
            // A place that is not there is allowed unless the whole host is not.
            web.locate(url.as_str())
                .map_or(here(host, Place::Missing(0)), |(host, place)| {
                    here(host, place)
                })
                && !web.is_trap(url.as_str())
        },
        |url| match listen {
            Listen::Names { .. } => address,
            Listen::Literal { .. } => url.socket_addrs(|| None).unwrap()[0],
        },
    );
    let truth = web.reachable(&[web.front(0)], &Rules::default());
    assert_eq!(crawled, truth.depths);
    assert!(crawled.len() >= expected_least, "{}", crawled.len());
    for (url, status) in server
        .log()
        .entries
        .iter()
        .map(|entry| (&entry.url, entry.status))
    {
        if status != 503 && status != 0 {
            assert_eq!(web.expected_status(url), Some(status), "{url}");
        }
    }
    assert_eq!(server.log().counts().len(), crawled.len());
}

#[test]
fn the_truth_is_what_a_naive_crawl_finds_on_a_plain_web() {
    check_crawl(WebConfig::default(), Listen::Names { port: 0 }, 100);
    check_crawl(
        WebConfig {
            hosts: 30,
            ..WebConfig::default()
        },
        Listen::Literal { port: 0 },
        750,
    );
}

#[test]
fn the_truth_is_what_a_naive_crawl_finds_on_an_odd_web() {
    for seed in 1..6 {
        check_crawl(WebConfig::everything(seed), Listen::Names { port: 0 }, 200);
    }
    let closing = WebConfig {
        flaky_manner: Failure::Close,
        flaky_failures: 3,
        ..WebConfig::everything(6)
    };
    check_crawl(closing, Listen::Names { port: 0 }, 200);
}

#[test]
fn every_page_is_reachable_in_any_shape_of_web() {
    for (hosts, pages, links) in [
        (1, 1, 1),
        (1, 500, 1),
        (7, 3, 5),
        (2_000, 25, 20),
        (200, 250, 20),
    ] {
        let config = WebConfig {
            links_per_page: links,
            ..WebConfig::bench(hosts, hosts * pages)
        };
        let web = Web::new(
            WebConfig {
                page_bytes: 0,
                ..config
            },
            Naming::Names,
        );
        let truth = web.reachable(&[web.front(0)], &Rules::default());
        assert_eq!(truth.depths.len(), (hosts * pages) as usize);
        assert!(web.page_urls().all(|url| truth.depths.contains_key(&url)));
        assert!(truth.outside.is_empty() && truth.disallowed.is_empty());
    }
}

#[test]
fn the_truth_knows_scope_robots_depth_and_redirects() {
    let web = Web::new(WebConfig::everything(3), Naming::Names);
    let all = web.reachable(&[web.front(0)], &Rules::default());
    let one_host = web.reachable(
        &[web.front(0)],
        &Rules {
            scope: Scope::Seeds,
            ..Rules::default()
        },
    );
    assert!(
        one_host
            .depths
            .keys()
            .all(|url| url.starts_with("http://h0.web.test/"))
    );
    assert!(
        one_host
            .outside
            .iter()
            .any(|url| url.starts_with("http://h1.web.test/"))
    );
    assert!(all.disallowed.iter().any(|url| web.is_honeypot(url)));
    assert!(
        all.disallowed
            .iter()
            .any(|url| url.starts_with("http://h6.web.test/")),
        "robots of host 6 fail"
    );
    assert!(
        all.outside
            .iter()
            .all(|url| web.expected_status(url).is_none())
            && !all.outside.is_empty()
    );
    assert!(
        all.redirects
            .keys()
            .all(|url| matches!(web.expected_status(url), Some(301 | 302)))
    );
    assert!(all.redirects.len() > 20);
    let near = web.depth_map(&[web.front(0)], Some(2));
    assert!(near.len() < all.depths.len() && near.values().all(|depth| *depth <= 2));
    assert!(near.iter().all(|(url, depth)| all.depths[url] == *depth));
    let rules = Rules {
        nofollow: true,
        sitemaps: Some(1),
        feeds: true,
        requisites: true,
        ..Rules::default()
    };
    let wide = web.reachable(&[web.front(0)], &rules);
    for place in [
        Place::Orphan(0),
        Place::Behind(Gate::Nofollow, 0),
        Place::Behind(Gate::Meta, 1),
        Place::Feed,
    ] {
        let url = web.url(1, place);
        assert!(
            wide.depths.contains_key(&url) && !all.depths.contains_key(&url),
            "{url}"
        );
    }
    assert!(wide.requisites.iter().any(|url| url.ends_with(".png")) && all.requisites.is_empty());
    let deep = Rules {
        calendar: true,
        max_depth: Some(12),
        ..Rules::default()
    };
    assert!(
        web.reachable(&[web.front(0)], &deep)
            .depths
            .keys()
            .filter(|url| web.is_trap(url))
            .count()
            > 20
    );
}

#[test]
fn pages_have_the_size_asked_for_and_compress_like_text() {
    let web = Web::new(WebConfig::bench(20, 2_000), Naming::Literal { port: 8901 });
    let (mut plain, mut packed) = (0, 0);
    let mut bodies = BTreeSet::new();
    for page in 0..100 {
        let url = web.url(3, Place::Page(page));
        let body = web.answer(3, path(&url), &Asked::default()).body();
        assert_eq!(body.len(), 24 * 1024);
        assert!(
            std::str::from_utf8(&body)
                .unwrap()
                .contains(&web.marker(3, Place::Page(page)))
        );
        let mut encoder =
            flate2::read::GzEncoder::new(body.as_slice(), flate2::Compression::default());
        packed += encoder.read_to_end(&mut Vec::new()).unwrap();
        plain += body.len();
        bodies.insert(body);
    }
    assert_eq!(bodies.len(), 100);
    let ratio = plain as f64 / packed as f64;
    assert!((4.0..6.5).contains(&ratio), "{ratio}");
}

#[test]
fn one_connection_serves_many_requests_and_also_several_at_once() {
    let server = serve(WebConfig::default());
    let mut client = Client::connect(server.addr());
    for _ in 0..50 {
        assert_eq!(client.get("h1.web.test", "/", "").unwrap().status, 200);
    }
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: h2.web.test\r\n\r\n");
    client.send(
        &[
            request("/"),
            request("/robots.txt"),
            request("/no"),
            request("/"),
        ]
        .concat(),
    );
    let statuses = [0; 4].map(|_| client.receive(true).unwrap().status);
    assert_eq!(statuses, [200, 200, 404, 200]);
    // A head in three pieces.
    for piece in ["GET / HT", "TP/1.1\r\nHost: h0.web", ".test\r\n\r\n"] {
        client.send(piece);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.receive(true).unwrap().status, 200);
    let log = server.log();
    assert_eq!(log.entries.len(), 55);
    assert!(
        log.entries
            .iter()
            .all(|entry| entry.connection == 0 && entry.end > Some(entry.start))
    );
    assert_eq!(log.entries[0].agent, "naive");
    assert_eq!((log.max_concurrent(1), server.max_connections(1)), (1, 1));
    assert_eq!(log.counts()["http://h1.web.test/"], 50);
    assert_eq!(server.counters().distinct_urls, 4);
}

#[test]
fn head_has_the_length_of_the_body_and_no_body() {
    let server = serve(WebConfig::default());
    let mut client = Client::connect(server.addr());
    client.send("HEAD / HTTP/1.1\r\nHost: h0.web.test\r\n\r\n");
    let head = client.receive(false).unwrap();
    let page = client.get("h0.web.test", "/", "").unwrap();
    assert_eq!(head.headers["content-length"], page.body.len().to_string());
    assert_eq!(page.body.len(), 4096);
}

#[test]
fn strangers_and_nonsense_are_refused() {
    let server = serve(WebConfig::default());
    assert_eq!(
        Client::connect(server.addr())
            .get("fora1.elsewhere.test", "/", "")
            .unwrap()
            .status,
        421
    );
    assert_eq!(
        Client::connect(server.addr())
            .get("h4.web.test", "/", "")
            .unwrap()
            .status,
        421
    );
    let mut client = Client::connect(server.addr());
    client.send("\x16\x03\x01\r\n\r\n");
    assert_eq!(client.receive(true).unwrap().status, 400);
    let mut client = Client::connect(server.addr());
    client.send("POST / HTTP/1.1\r\nHost: h0.web.test\r\nContent-Length: 1\r\n\r\nx");
    assert_eq!(client.receive(true).unwrap().status, 405);
}

#[test]
fn a_page_that_did_not_change_is_304_and_a_changed_one_is_not() {
    let server = serve(WebConfig {
        conditional: true,
        changing_every: 2,
        ..WebConfig::default()
    });
    let web = server.web();
    let mut client = Client::connect(server.addr());
    let mut fresh = [0; 2];
    for page in 0..25 {
        let url = web.url(0, Place::Page(page));
        server.set_epoch(0);
        let first = client.get("h0.web.test", path(&url), "").unwrap();
        let by_tag = format!("If-None-Match: {}\r\n", first.headers["etag"]);
        let by_date = format!("If-Modified-Since: {}\r\n", first.headers["last-modified"]);
        for condition in [&by_tag, &by_date] {
            let again = client.get("h0.web.test", path(&url), condition).unwrap();
            assert_eq!((again.status, again.body.len()), (304, 0));
        }
        server.set_epoch(1);
        let later = client.get("h0.web.test", path(&url), &by_tag).unwrap();
        assert_eq!(
            later.status == 200,
            client
                .get("h0.web.test", path(&url), &by_date)
                .unwrap()
                .status
                == 200
        );
        assert!(later.status == 304 || later.body != first.body);
        fresh[usize::from(later.status == 200)] += 1;
    }
    assert!(fresh.iter().all(|count| *count > 4), "{fresh:?}");
}

#[test]
fn compressed_and_chunked_pages_are_the_pages() {
    let server = serve(WebConfig {
        gzip_every: 2,
        chunked_every: 2,
        ..WebConfig::default()
    });
    let plain = Web::new(WebConfig::default(), Naming::Names);
    let mut client = Client::connect(server.addr());
    let mut met = BTreeSet::new();
    for url in server.web().page_urls() {
        let (host, _) = plain.locate(&url).unwrap();
        let expected = plain.answer(host, path(&url), &Asked::default()).body();
        let name = plain.host_name(host);
        let response = client
            .get(&name, path(&url), "Accept-Encoding: gzip\r\n")
            .unwrap();
        let packed = response.headers.contains_key("content-encoding");
        met.insert((packed, response.headers.contains_key("transfer-encoding")));
        let mut body = response.body;
        if packed {
            let wire = std::mem::take(&mut body);
            flate2::read::GzDecoder::new(wire.as_slice())
                .read_to_end(&mut body)
                .unwrap();
        }
        assert!(body == expected, "{url}");
        // Without the offer to take gzip, none comes.
        assert!(
            client.get(&name, path(&url), "").unwrap().body == expected,
            "{url}"
        );
    }
    assert_eq!(met.len(), 4);
}

#[test]
fn copies_and_aliases_are_equal_to_the_byte() {
    let web = Web::new(WebConfig::everything(4), Naming::Names);
    let asked = Asked::default();
    let body = |host, place| web.answer(host, path(&web.url(host, place)), &asked).body();
    assert_eq!(body(2, Place::Copy(1)), body(2, Place::Page(2)));
    assert_eq!(web.original(7), 0);
    for page in 0..25 {
        assert_eq!(body(7, Place::Page(page)), body(0, Place::Page(page)));
        assert_ne!(body(1, Place::Page(page)), body(0, Place::Page(page)));
    }
}

#[test]
fn requisites_sitemaps_and_feeds_are_served_as_the_links_say() {
    let server = serve(WebConfig::everything(2));
    let web = server.web();
    let mut client = Client::connect(server.addr());
    let mut get = |place| {
        client
            .get("h1.web.test", path(&web.url(1, place)), "")
            .unwrap()
    };
    assert!(get(Place::Image(2)).body.starts_with(b"\x89PNG\r\n\x1a\n"));
    for (place, before, after) in [
        (Place::Style, "url(\"", "\""),
        (Place::Sitemap, "<loc>", "<"),
        (Place::Feed, "<link>", "<"),
    ] {
        let text = String::from_utf8(get(place).body)
            .unwrap()
            .replace("&amp;", "&");
        let base = url::Url::parse(&web.front(1)).unwrap();
        let found: BTreeSet<String> = text
            .split(before)
            .skip(1)
            .map(|rest| {
                base.join(rest.split(after).next().unwrap())
                    .unwrap()
                    .to_string()
            })
            .collect();
        let expected: BTreeSet<String> = web
            .links(1, place)
            .into_iter()
            .map(|link| web.target(1, link))
            .collect();
        assert_eq!(found, expected);
    }
    let robots = String::from_utf8(get(Place::Robots).body).unwrap();
    assert!(
        robots.contains("Disallow: /pote/\n")
            && robots.contains("Sitemap: http://h1.web.test/sitemap.xml\n")
    );
    let front = String::from_utf8(get(Place::Page(0)).body).unwrap();
    assert!(front.contains("rel=\"stylesheet\"") && front.contains("rel=\"alternate\""));
    assert!(
        web.links(1, Place::Page(0))
            .iter()
            .any(|link| link.kind == Kind::Alternate)
    );
}

#[test]
fn latency_is_kept_and_shows_in_the_log() {
    let server = serve(WebConfig {
        latency: Duration::from_millis(30),
        ..WebConfig::default()
    });
    let address = server.addr();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                Client::connect(address)
                    .get("h0.web.test", "/", "")
                    .unwrap()
                    .status
            })
        })
        .collect();
    assert!(
        threads
            .into_iter()
            .all(|thread| thread.join().unwrap() == 200)
    );
    let log = server.log();
    assert!(
        log.entries
            .iter()
            .all(|entry| entry.end.unwrap() - entry.start >= Duration::from_millis(29))
    );
    assert_eq!(log.min_gap(0), Some(Duration::ZERO));
    assert!(log.max_concurrent(0) > 1 && server.max_connections(0) > 1);
    assert_eq!(log.hosts_without_robots_first(), [0]);
}

#[test]
fn retry_after_is_sent_and_flaky_pages_recover() {
    let config = WebConfig {
        flaky: 1,
        flaky_failures: 2,
        flaky_manner: Failure::Unavailable(Some(3)),
        ..WebConfig::default()
    };
    let server = serve(config);
    let url = server.web().url(0, Place::Flaky(0));
    let mut client = Client::connect(server.addr());
    for expected in [503, 503, 200, 200] {
        let response = client.get("h0.web.test", path(&url), "").unwrap();
        assert_eq!(response.status, expected);
        assert_eq!(
            response.headers.get("retry-after").map(String::as_str),
            (expected == 503).then_some("3")
        );
    }
    assert_eq!(server.web().expected_status(&url), Some(200));
}

#[test]
fn two_thousand_literal_listeners_start_and_stop() {
    let config = WebConfig::bench(2_000, 50_000);
    let quiet = ServerConfig {
        logging: Logging::Counters,
        threads: 1,
    };
    let mut server = Server::start_with(config, Listen::Literal { port: 0 }, quiet).unwrap();
    for host in [0, 1, 249, 250, 1_999] {
        let name = server.web().host_name(host);
        let response = Client::connect(name.parse().unwrap())
            .get(&name, "/", "")
            .unwrap();
        assert_eq!(response.body.len(), 24 * 1024);
    }
    assert_eq!(server.counters().distinct_pages, 5);
    assert!(server.log().entries.is_empty());
    let address = server.addr();
    server.stop();
    assert!(std::net::TcpStream::connect(address).is_err());
}
