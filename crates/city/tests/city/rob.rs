//! robots.txt: what it says, what it cannot say, and what it costs to ask.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use teia_archive::Captures;
use teia_base::{Files, Flags, Outcome, Request, SimulatedDisk, SystemClock, Timestamp};
use teia_city::{Blemish, Corner, Door, Reply, Step, TlsTrick, Trick};
use teia_engine::{Control, Layout, Parts};
use teia_fetch::robots::{
    Access, AfterPatience, Answer, Config, MAX_BYTES, Refusal, Rules, Spelling, Standing,
};
use teia_fetch::{Fetcher, Fetching, HttpFetcher};

use crate::dns::{GOOD, asking, page_door, server};
use crate::support::{
    Crawled, answer, crawl, crawl_by, crawl_config, crawl_on, html, open, open_answers,
    open_secure_site, open_site, open_with_robots, thread_time,
};

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn rules(text: impl AsRef<[u8]>) -> Rules {
    Rules::parse(text.as_ref(), "Teia")
}

#[track_caller]
fn allows(text: impl AsRef<[u8]>, paths: &[&str]) {
    let rules = rules(text);
    for path in paths {
        assert!(rules.verdict(path).allowed, "{path} is allowed");
    }
}

#[track_caller]
fn forbids(text: impl AsRef<[u8]>, paths: &[&str]) {
    let rules = rules(text);
    for path in paths {
        assert!(!rules.verdict(path).allowed, "{path} is forbidden");
    }
}

/// A door with this answer for robots.txt, and pages everywhere else.
fn with_robots(robots: Vec<Step>) -> Door {
    open_site(move |path| match path {
        "/robots.txt" => Some(robots.clone()),
        "/" => Some(html("<a href=/open>a</a> <a href=/shut/>b</a>")),
        path if path.starts_with("/open") || path.starts_with("/shut") => Some(html("page")),
        _ => None,
    })
}

fn text(robots: &str) -> Vec<Step> {
    answer("Content-Type: text/plain\r\n", robots)
}

fn status(status: &str) -> Vec<Step> {
    vec![Step::say(format!(
        "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"
    ))]
}

fn moved(location: &str) -> Vec<Step> {
    vec![Step::say(format!(
        "HTTP/1.1 301 Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    ))]
}

fn crawl_door(door: &Door) -> Crawled {
    crawl(&crawl_config(), &[door.url("/"), door.url("/next")])
}

/// Nothing but robots.txt was asked for.
#[track_caller]
fn is_shut(door: &Door, crawled: &Crawled) {
    assert_eq!(door.asked("/") + door.asked("/next"), 0);
    assert!(door.asked("/robots.txt") >= 1);
    assert_eq!(crawled.report.known_urls, 2);
    let attempts = crawled.attempts.iter().filter(|one| !one.is_robots());
    for attempt in attempts {
        assert!(!attempt.outcome.is_answered(), "{:?}", crawled.told());
    }
}

/// All URLs wait because robots.txt is unreachable, and none has used up a try.
#[track_caller]
fn waits(crawled: &Crawled) {
    let (states, known) = (&crawled.report.states, crawled.report.known_urls);
    let found = (crawled.count("failed"), crawled.report.waiting);
    assert_eq!(found, (0, known), "{states:?} {:?}", crawled.told());
    let pages = || crawled.attempts.iter().filter(|one| !one.is_robots());
    assert!(pages().count() >= 1, "it is said of one at least");
    for attempt in pages() {
        let found = (attempt.outcome, attempt.try_number);
        assert_eq!(
            found,
            (Outcome::ROBOTS_UNREACHABLE, 0),
            "{:?}",
            crawled.told()
        );
    }
}

const SHUT: &str = "User-agent: *\nDisallow: /shut/\n";

#[test]
fn rob_01() {
    let door = with_robots(text(
        "User-agent: *\nDisallow: /\n\nUser-agent: TEIA\nDisallow: /shut\n\nUser-agent: teia\nAllow: /shut/in\nDisallow: /tie\nAllow: /tie\n",
    ));
    let crawled = crawl_door(&door);
    assert_eq!(
        crawled.last(&door.url("/shut/")).outcome,
        Outcome::ROBOTS_DISALLOWED
    );
    assert!(crawled.last(&door.url("/open")).outcome.is_ok());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    assert_eq!(door.asked("/shut/"), 0);
    let text = "User-agent: teia\nDisallow: /a\nAllow: /a/b\nDisallow: /t\nAllow: /t\n";
    allows(text, &["/a/b/c", "/t"]);
    forbids(text, &["/a/c"]);
}

#[test]
fn rob_02() {
    for code in [
        "404 Not Found",
        "410 Gone",
        "401 Unauthorized",
        "403 Forbidden",
        "418 Teapot",
    ] {
        let door = with_robots(status(code));
        let crawled = crawl_door(&door);
        assert!(crawled.last(&door.url("/shut/")).outcome.is_ok(), "{code}");
    }
    let door = with_robots(status("403 Forbidden"));
    let mut config = crawl_config();
    config.robots.refusal = Refusal::Disallows;
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    is_shut(&door, &crawled);
}

#[test]
fn rob_03() {
    let busy = vec![Step::say(
        "HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n",
    )];
    let door = with_robots(busy);
    let crawled = crawl_door(&door);
    is_shut(&door, &crawled);
    assert_eq!(
        door.asked("/robots.txt"),
        1,
        "and nobody comes back within the hour"
    );
    waits(&crawled);
}

/// The run ends by itself, its URLs wait, and a later run takes them up.
#[test]
fn rob_04() {
    for code in ["500 Broken", "503 Busy", "599 Odd"] {
        let is_mended = Arc::new(AtomicBool::new(false));
        let mended = Arc::clone(&is_mended);
        let door = open_site(move |path| match path {
            "/robots.txt" if !mended.load(Ordering::SeqCst) => Some(status(code)),
            "/" => Some(html("page")),
            _ => None,
        });
        let (disk, seeds) = (SimulatedDisk::new(), [door.url("/"), door.url("/next")]);
        let crawled = crawl_on(&disk, &crawl_config(), &seeds);
        is_shut(&door, &crawled);
        waits(&crawled);
        assert_eq!(door.asked("/robots.txt"), 2, "as often as a page is tried");
        is_mended.store(true, Ordering::SeqCst);
        let later = crawl_on(&disk, &crawl_config(), &seeds);
        if code.starts_with("503") {
            // It asked for a rest, which outlives the run.
            assert_eq!((door.asked("/robots.txt"), later.report.waiting), (2, 2));
            continue;
        }
        assert_eq!(later.report.waiting, 0, "{:?}", later.told());
        for url in &seeds {
            let last = later.last(url);
            assert_eq!((last.outcome, last.try_number), (Outcome::http(200), 1));
        }
    }
    // However little patience is asked for, a run that nobody answers ends.
    let door = with_robots(status("500 Broken"));
    let mut config = crawl_config();
    config.robots.first_retry = Duration::ZERO;
    waits(&crawl(&config, &[door.url("/"), door.url("/next")]));
}

#[test]
fn rob_05() {
    let silent = open_site(|path| (path == "/robots.txt").then(|| vec![Step::silence()]));
    let crawled = crawl_door(&silent);
    is_shut(&silent, &crawled);
    waits(&crawled);
    let reset = open_site(|path| (path == "/robots.txt").then(|| vec![Step::Reset]));
    let crawled = crawl_door(&reset);
    is_shut(&reset, &crawled);
    waits(&crawled);
    // A port at which nobody listens, and that nobody else gets meanwhile.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    let closed = socket.local_addr().unwrap().as_socket().unwrap();
    let seeds = ["/", "/next"].map(|path| format!("http://{closed}{path}"));
    let crawled = crawl(&crawl_config(), &seeds);
    waits(&crawled);
    let robots = crawled.attempts.iter().filter(|one| one.is_robots());
    let refused = |one: &teia_base::journal::Attempt| one.outcome == Outcome::CONNECT_REFUSED;
    assert_eq!(robots.filter(|one| refused(one)).count(), 2);
    // Nobody vouches for its certificate.
    let secure = open(&Corner {
        id: "case",
        name: "case",
        trick: Trick::Tls(TlsTrick::Certificate(Blemish::SelfSigned), usize::MAX),
    });
    let crawled = crawl_door(&secure);
    waits(&crawled);
    let robots = crawled.last(&secure.url("/robots.txt"));
    assert_eq!(robots.outcome, Outcome::TLS_CERT_UNTRUSTED);
    // The name server cannot say.
    let sick = server(|_| Reply::Error(2));
    let door = page_door();
    let mut config = crawl_config();
    config.fetch = asking(&sick);
    let seeds = ["/", "/next"].map(|path| door.named("sick.city.test", path));
    waits(&crawl(&config, &seeds));
    assert_eq!(door.connections(), 0);
}

/// A name that does not exist has no robots.txt to wait for: its URLs have failed in this run (DNS-01), and not for good.
#[test]
fn rob_05_a_name_that_is_not_there() {
    let server = server(|_| Reply::Error(3));
    let door = page_door();
    let mut config = crawl_config();
    config.fetch = asking(&server);
    let seeds = [door.named("gone.city.test", "/next"), door.named(GOOD, "/")];
    let crawled = crawl(&config, &seeds);
    let gone = crawled.last(&seeds[0]).outcome;
    assert_eq!(gone, Outcome::DNS_NXDOMAIN);
    assert_ne!(gone.retry(), teia_base::Retry::Final);
    assert_eq!((crawled.count("failed"), crawled.report.waiting), (1, 0));
    assert!(crawled.last(&seeds[1]).outcome.is_ok());
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_800_000_000 + seconds) * 1_000_000)
}

fn answered(status: u16, body: &[u8]) -> Answer<'_> {
    Answer::Answered {
        status,
        body,
        retry_after: None,
    }
}

#[test]
fn rob_06() {
    const DAY: i64 = 24 * 3600;
    let config = Config::default();
    let forbids = |standing: &Standing| match standing.access("Teia", Spelling::Strict) {
        Access::Ruled(rules) => Some(!rules.verdict("/shut/x").allowed),
        Access::Refused | Access::Unreachable { .. } | Access::GivenUp { .. } => None,
    };
    let first = Standing::from_answer(None, answered(200, SHUT.as_bytes()), at(0), &config);
    let mut with_copy = Standing::from_answer(Some(&first), Answer::Unreachable, at(DAY), &config);
    assert_eq!(forbids(&with_copy), None, "closed at first");
    with_copy = Standing::from_answer(Some(&with_copy), Answer::Unreachable, at(32 * DAY), &config);
    assert_eq!(forbids(&with_copy), Some(true), "then the old copy counts");
    let never = Standing::from_answer(None, answered(503, b""), at(0), &config);
    let never = Standing::from_answer(Some(&never), answered(503, b""), at(31 * DAY), &config);
    let access = never.access("Teia", Spelling::Strict);
    assert!(matches!(access, Access::GivenUp { .. }), "{access:?}");
    let lax = Config {
        after_patience: AfterPatience::Allows,
        ..config
    };
    let never = Standing::from_answer(Some(&never), answered(503, b""), at(32 * DAY), &lax);
    assert_eq!(forbids(&never), Some(false), "as where there is none");
}

/// The same in a crawl, whose patience is over at once.
#[test]
fn rob_06_in_a_crawl() {
    let is_ill = Arc::new(AtomicBool::new(true));
    let ill = Arc::clone(&is_ill);
    let door = open_site(move |path| match path {
        "/robots.txt" if ill.load(Ordering::SeqCst) => Some(status("500 Broken")),
        "/robots.txt" => Some(text(SHUT)),
        "/" | "/shut/" => Some(html("page")),
        _ => None,
    });
    let seeds = ["/", "/shut/"].map(|path| door.url(path));
    let mut config = crawl_config();
    config.robots.patience = Duration::ZERO;
    config.mode = teia_engine::Mode::Periodic;
    // Without a copy the host is given up, and nothing of it is fetched.
    let crawled = crawl(&config, &seeds);
    assert_eq!(door.asked("/") + door.asked("/shut/"), 0);
    assert_eq!((crawled.count("failed"), crawled.report.waiting), (2, 0));
    for url in &seeds {
        let outcome = crawled.last(url).outcome;
        assert_eq!(outcome, Outcome::ROBOTS_UNREACHABLE);
    }
    // With one it holds still.
    let disk = SimulatedDisk::new();
    is_ill.store(false, Ordering::SeqCst);
    crawl_on(&disk, &config, &seeds);
    assert_eq!((door.asked("/"), door.asked("/shut/")), (1, 0));
    is_ill.store(true, Ordering::SeqCst);
    crawl_on(&disk, &config, &seeds);
    assert_eq!((door.asked("/"), door.asked("/shut/")), (2, 0));
    // Unless the setting says that all is allowed then.
    config.robots.after_patience = AfterPatience::Allows;
    crawl(&config, &seeds);
    assert_eq!((door.asked("/"), door.asked("/shut/")), (3, 1));
}

#[test]
fn rob_07() {
    let target = open_site(|path| (path == "/rules").then(|| text(SHUT)));
    let to = target.url("/rules");
    let door = open_site(move |path| match path {
        "/robots.txt" => Some(moved("/r2")),
        "/r2" => Some(moved("/r3")),
        "/r3" => Some(moved(&to)),
        "/" => Some(html("<a href=/shut/>b</a>")),
        _ => None,
    });
    let crawled = crawl_door(&door);
    assert_eq!(
        crawled.last(&door.url("/shut/")).outcome,
        Outcome::ROBOTS_DISALLOWED,
        "the rules hold for the first host"
    );
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn rob_08() {
    let chain = open_site(|path| {
        let number: u32 = match path {
            "/robots.txt" => 0,
            path => path.strip_prefix("/r")?.parse().ok()?,
        };
        Some(moved(&format!("/r{}", number + 1)))
    });
    let crawled = crawl_door(&chain);
    assert!(
        crawled.last(&chain.url("/next")).outcome.is_ok(),
        "{:?}",
        crawled.told()
    );
    assert_eq!(chain.asked("/r6"), 0);
    let knot = open_site(|path| match path {
        "/robots.txt" => Some(moved("/r")),
        "/r" => Some(moved("/robots.txt")),
        _ => None,
    });
    let crawled = crawl_door(&knot);
    assert!(crawled.last(&knot.url("/next")).outcome.is_ok());
    assert!(knot.requests().len() < 12);
}

#[test]
fn rob_09() {
    let secret = open_answers(vec![html("secret")]);
    let elsewhere = [secret.url("/rules"), "ftp://a.test/robots.txt".to_owned()];
    for to in elsewhere {
        let location = to.clone();
        let door = open_site(move |path| (path == "/robots.txt").then(|| moved(&location)));
        let mut config = crawl_config();
        config.fetch.allow_private = false;
        config.fetch.resolve.clear();
        config.fetch.allowed = vec![(door.address().ip(), door.address().port())];
        let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
        assert_eq!(secret.requests().len(), 0, "{to}: nothing was sent there");
        is_shut(&door, &crawled);
        waits(&crawled);
    }
}

#[test]
fn rob_10() {
    let page = "<!doctype html>\n<html><p>Not found\nUser-agent: *\nDisallow: /shut\n<script>a: b</script>";
    assert!(rules(page).looks_like_html());
    forbids(page, &["/shut/x"]);
    let door = with_robots(html(
        "<!doctype html><title>oops</title><p>There is no such page.",
    ));
    let crawled = crawl_door(&door);
    assert!(crawled.last(&door.url("/shut/")).outcome.is_ok());
    let told = |crawled: &Crawled, door: &Door| {
        let robots = crawled.last(&door.url("/robots.txt"));
        (robots.detail.clone().unwrap_or_default(), robots.flags)
    };
    assert_eq!(told(&crawled, &door).0, "HTML, not rules");
    // Where there are rules in it all the same, they count.
    let door = with_robots(html(page));
    let crawled = crawl_door(&door);
    assert_eq!(told(&crawled, &door).0, "HTML, with rules in it");
    assert_eq!(door.asked("/shut/"), 0);
    // And nothing is told of one as it should be.
    let door = with_robots(text(SHUT));
    let crawled = crawl_door(&door);
    assert_eq!(told(&crawled, &door), (String::new(), Flags::default()));
}

#[test]
fn rob_11() {
    let line = "Disallow: /shut\n";
    let body = format!(
        "User-agent: *\n{line}{}",
        "# padding padding padding\n".repeat(1000)
    );
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
        100 << 20
    );
    let steps = vec![
        Step::say(head),
        Step::say(&body),
        Step::Repeat(vec![b'#'; 1 << 20], 100),
    ];
    let door = with_robots(steps);
    let crawled = crawl_door(&door);
    assert_eq!(
        crawled.last(&door.url("/shut/")).outcome,
        Outcome::ROBOTS_DISALLOWED
    );
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let stored: u64 = crawled.attempts.iter().map(|one| one.body_bytes).sum();
    assert!(stored < 64 << 20, "{stored}");
}

/// Rules that can be read count, whatever is wrong with how they are packed; so do those that came out before a bomb went off.
#[test]
fn rob_11_packed() {
    let packed = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let good = packed(SHUT.as_bytes());
    let bomb = format!("{SHUT}{}", "#".repeat(64 << 20));
    let cases = [
        ("gzip", [&good[..], b"garbage"].concat()),
        ("gzip", good[..good.len() - 6].to_vec()),
        ("gzip", packed(bomb.as_bytes())),
        ("gzip", SHUT.as_bytes().to_vec()),
        ("UTF-8", SHUT.as_bytes().to_vec()),
        ("x-unheard-of", SHUT.as_bytes().to_vec()),
    ];
    for (coding, body) in cases {
        let what = format!("{coding}, {} bytes", body.len());
        let fields = format!("Content-Type: text/plain\r\nContent-Encoding: {coding}\r\n");
        let door = with_robots(answer(&fields, body));
        let crawled = crawl_door(&door);
        let shut = crawled.last(&door.url("/shut/"));
        assert_eq!(shut.outcome, Outcome::ROBOTS_DISALLOWED, "{what}");
        assert!(crawled.last(&door.url("/next")).outcome.is_ok(), "{what}");
    }
    // Nothing of it can be read: nobody knows what it says.
    let long = packed(SHUT.repeat(100).as_bytes());
    let noise = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    let unread = [
        ("gzip", noise),
        ("x-unheard-of", long.clone()),
        ("gzip, gzip, gzip, gzip, gzip, gzip", long),
    ];
    for (coding, body) in unread {
        let door = with_robots(answer(&format!("Content-Encoding: {coding}\r\n"), body));
        waits(&crawl_door(&door));
    }
}

#[test]
fn rob_12() {
    let early = format!(
        "User-agent: *\nDisallow: /early\n{}",
        "# 0123456789\n".repeat(50_000)
    );
    let both = rules(format!("{early}Disallow: /late\n"));
    assert!(both.is_cut() && !both.verdict("/early").allowed && both.verdict("/late").allowed);
    assert!(!rules("User-agent: *\nDisallow: /early\n").is_cut());
    let door = with_robots(text(&format!(
        "{early}Disallow: /shut\n{}",
        early.replace("/early", "/next")
    )));
    let crawled = crawl_door(&door);
    assert!(crawled.last(&door.url("/shut/")).outcome.is_ok());
    let robots = crawled.last(&door.url("/robots.txt"));
    assert!(robots.outcome.is_ok() && robots.flags.has(Flags::TRUNCATED));
}

#[test]
fn rob_13() {
    forbids(format!("\u{feff}{SHUT}"), &["/shut/"]);
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(SHUT.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    forbids(wide, &["/shut/"]);
    forbids(
        b"# caf\xe9 \xff\nUser-agent: *\nDisallow: /shut/\n",
        &["/shut/"],
    );
    forbids(
        b"User-agent: *\nDis\0allow: /no\nDisallow: /shut/\n",
        &["/shut/"],
    );
    let door = with_robots(answer(
        "Content-Type: text/plain\r\n",
        format!("\u{feff}{SHUT}"),
    ));
    let crawled = crawl_door(&door);
    assert_eq!(
        crawled.last(&door.url("/shut/")).outcome,
        Outcome::ROBOTS_DISALLOWED
    );
}

#[test]
fn rob_14() {
    for ending in ["\r", "\r\n", "\n", "\n\r"] {
        forbids(SHUT.replace('\n', ending), &["/shut/"]);
    }
    forbids("User-agent: *\nDisallow: /shut/", &["/shut/"]);
    let long = format!(
        "User-agent: *\n# {}\nDisallow: /shut/\n",
        "x".repeat(1 << 18)
    );
    forbids(long, &["/shut/"]);
    let rule = format!(
        "User-agent: *\nDisallow: /{}\nDisallow: /shut/\n",
        "y".repeat(1 << 18)
    );
    forbids(&rule, &["/shut/"]);
    // Of the long line 16 KiB and a little count, as with Google: no less, and no more.
    let most = 16_663 - "Disallow: /".len();
    forbids(&rule, &[&format!("/{}", "y".repeat(most))]);
    allows(&rule, &[&format!("/{}", "y".repeat(most - 1))]);
}

#[test]
fn rob_15() {
    allows(
        "Disallow: /\nAllow: /x\nUser-agent: *\nDisallow: /shut\n",
        &["/a"],
    );
    forbids("Disallow: /\nUser-agent: *\nDisallow: /shut\n", &["/shut"]);
}

#[test]
fn rob_16() {
    let mixed = "User-agent: otherbot\n\n# note\nUser-agent: teia\n\nSitemap: http://a.test/s.xml\nDisallow: /shut\n\n\nDisallow: /closed\nUser-agent: x\nDisallow: /x\n";
    forbids(mixed, &["/shut", "/closed"]);
    allows(mixed, &["/x"]);
    assert_eq!(rules(mixed).sitemaps(), ["http://a.test/s.xml"]);
}

#[test]
fn rob_17() {
    allows("User-agent: *\nDisallow:\n", &["/", "/a"]);
    forbids("User-agent: *\nDisallow: *\n", &["/", "/a"]);
    let root = "User-agent: *\nDisallow: /$\n";
    forbids(root, &["/"]);
    allows(root, &["/a"]);
    let pages = "User-agent: *\nDisallow: /\nAllow: /*.html$\n";
    allows(pages, &["/a/b.html"]);
    forbids(pages, &["/a/b.html?x", "/a"]);
    forbids("User-agent: *\nDisallow: /a$b\n", &["/a$b"]);
    forbids("User-agent: *\nDisallow: /**/x\n", &["/a/b/x"]);
    // No backtracking: a million steps at most where it would have been 2 to the 1000.
    let stars = format!("User-agent: *\nDisallow: /{}b\n", "*a".repeat(500));
    let before = thread_time();
    allows(stars, &[&format!("/{}", "a".repeat(2000))]);
    assert!(thread_time() - before < Duration::from_secs(2));
}

#[test]
fn rob_18() {
    let encoded = "User-agent: *\nDisallow: /caf%c3%a9\nDisallow: /%7Euser\n";
    forbids(encoded, &["/caf%C3%A9", "/café", "/~user"]);
    forbids("User-agent: *\nDisallow: /café\n", &["/caf%C3%A9"]);
    allows("User-agent: *\nDisallow: /a%2Fb\n", &["/a/b"]);
    forbids("User-agent: *\nDisallow: /a%2Fb\n", &["/a%2Fb"]);
}

#[test]
fn rob_19() {
    let text = "User-agent: *\nDisallow: /Search?q=\n";
    forbids(text, &["/Search?q=x"]);
    allows(text, &["/search?q=x", "/Search", "/Search?p=1"]);
}

#[test]
fn rob_20() {
    allows("User-agent: *\nDisallow: /\n", &["/robots.txt"]);
    let door = with_robots(text("User-agent: *\nDisallow: /\n"));
    let crawled = crawl_door(&door);
    assert_eq!(door.asked("/robots.txt"), 1);
    assert_eq!(
        crawled.last(&door.url("/next")).outcome,
        Outcome::ROBOTS_DISALLOWED
    );
}

#[test]
fn rob_21() {
    let delay = |value: &str| rules(format!("User-agent: *\nCrawl-delay: {value}\n")).crawl_delay();
    for value in ["-1", "abc", ""] {
        assert!(delay(value).unwrap_or_default().is_zero(), "{value}");
    }
    assert_eq!(delay("0").unwrap_or_default(), Duration::ZERO);
    assert_eq!(delay("0.5"), Some(Duration::from_millis(500)));
    // Only raised, and never above the most that is waited.
    let door = with_robots(text("User-agent: *\nCrawl-delay: 1e9\n"));
    let mut config = crawl_config();
    config.politeness.max_crawl_delay = Duration::from_millis(50);
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let door = with_robots(text("User-agent: *\nCrawl-delay: 0\n"));
    let mut config = crawl_config();
    config.politeness.delay = Duration::from_millis(30);
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    let mut moments: Vec<_> = crawled.attempts.iter().map(|one| one.started).collect();
    moments.sort();
    for pair in moments.windows(2) {
        assert!(pair[1].since(pair[0]) >= Duration::from_millis(29));
    }
}

#[test]
fn rob_22() {
    let groups: String = (0..100_000)
        .map(|at| format!("User-agent: bot{at}\nDisallow: /{at}\n"))
        .collect();
    let many: String = (0..100_000)
        .map(|at| format!("Disallow: /p{at}\n"))
        .collect();
    for text in [
        groups.clone(),
        format!("User-agent: *\n{many}"),
        groups + &many,
    ] {
        assert!(text.len() > MAX_BYTES, "as much as is ever read");
        // The best of some: who shares the processor with others may be slow once.
        let least = |work: &dyn Fn()| {
            let once = |_| {
                let before = thread_time();
                work();
                thread_time() - before
            };
            (0..5).map(once).min().unwrap()
        };
        let read = least(&|| drop(rules(&text)));
        assert!(read < Duration::from_millis(100), "{read:?}");
        let rules = rules(&text);
        assert!(rules.bytes() < 8 << 20, "{} bytes", rules.bytes());
        let paths: Vec<String> = (0..1000).map(|at| format!("/p{at}/x")).collect();
        let thousand = least(&|| paths.iter().for_each(|path| drop(rules.verdict(path))));
        assert!(thousand < Duration::from_millis(50), "{thousand:?}");
    }
    let door = with_robots(text(&format!("User-agent: *\nDisallow: /shut\n{many}")));
    let crawled = crawl_door(&door);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let shut = crawled.last(&door.url("/shut/")).outcome;
    assert_eq!(shut, Outcome::ROBOTS_DISALLOWED);
}

/// What waits is asked about when its turn comes, not only when it was found.
#[test]
fn rob_23() {
    let shut = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_shut = std::sync::Arc::clone(&shut);
    let door = open_site(move |path| match path {
        "/robots.txt" if is_shut.load(std::sync::atomic::Ordering::SeqCst) => Some(text(SHUT)),
        "/robots.txt" => Some(text("")),
        "/" => Some(html("<a href=/shut/a>a</a> <a href=/shut/b>b</a>")),
        path if path.starts_with("/shut") => Some(html("page")),
        _ => None,
    });
    let disk = teia_base::SimulatedDisk::new();
    let mut config = crawl_config();
    config.robots.fresh_for = Duration::from_secs(1);
    config.filter.max_pages = Some(1);
    crawl_on(&disk, &config, &[door.url("/")]);
    assert_eq!(door.asked("/"), 1);
    shut.store(true, std::sync::atomic::Ordering::SeqCst);
    // A copy holds for a while; an old one is fetched anew before anything else.
    std::thread::sleep(Duration::from_millis(1100));
    config.robots.fresh_for = Duration::from_secs(3600);
    config.filter.max_pages = None;
    let crawled = crawl_on(&disk, &config, &[door.url("/next")]);
    assert_eq!(
        door.asked("/shut/a") + door.asked("/shut/b"),
        0,
        "{:?}",
        crawled.told()
    );
    assert_eq!(
        crawled.last(&door.url("/shut/a")).outcome,
        Outcome::ROBOTS_DISALLOWED
    );
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn rob_24() {
    let typos = [
        "User-agent: *\nDissallow: /shut\n",
        "User agent: *\nDisallow: /shut\n",
        "User-agent: *\nDisallowed: /shut\n",
    ];
    for text in typos {
        allows(text, &["/shut"]);
        let tolerant = Rules::parse_spelt(text.as_bytes(), "Teia", MAX_BYTES, Spelling::Tolerant);
        assert!(!tolerant.verdict("/shut").allowed, "{text:?}");
    }
    // A colon that is missing is no typo, and what no list has is none either.
    forbids("User-agent *\nDisallow /shut\n", &["/shut"]);
    let words = "User-agent: *\nForbid: /shut\nDo not visit: /shut\n";
    allows(words, &["/shut"]);
    let tolerant = Rules::parse_spelt(words.as_bytes(), "Teia", MAX_BYTES, Spelling::Tolerant);
    assert!(tolerant.verdict("/shut").allowed);
    // By setting, in a crawl.
    for (spelling, asked) in [(Spelling::Strict, 1), (Spelling::Tolerant, 0)] {
        let door = with_robots(text(typos[0]));
        let mut config = crawl_config();
        config.robots.spelling = spelling;
        crawl(&config, &[door.url("/"), door.url("/next")]);
        assert_eq!(door.asked("/shut/"), asked, "{spelling:?}");
        assert_eq!(door.asked("/next"), 1);
    }
}

/// Five thousand URLs stand for the million: they wait for the one request without one of their own.
#[test]
fn rob_25() {
    let drip = vec![
        Step::say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n"),
        Step::Drip(b"#".to_vec(), Duration::from_millis(20)),
    ];
    let door = with_robots(drip);
    const URLS: usize = 5000;
    let seeds: Vec<String> = (0..URLS)
        .map(|at| door.url(&format!("/open{at}")))
        .collect();
    let mut config = crawl_config();
    // The next time is later than the run has patience for.
    config.robots.first_retry = Duration::from_secs(3600);
    let threads = threads();
    let most = AtomicUsize::new(0);
    let crawled = std::thread::scope(|scope| {
        let crawling = scope.spawn(|| crawl(&config, &seeds));
        while !crawling.is_finished() {
            most.fetch_max(self::threads(), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
        crawling.join().unwrap()
    });
    assert_eq!(door.asked("/robots.txt"), 1, "one fetch for all of them");
    assert_eq!(door.requests().len(), 1, "and no other request");
    let waiting = crawled.report.states.get("waiting").copied();
    assert_eq!(waiting, Some(URLS as u64), "{:?}", crawled.report.states);
    // Cases beside this one have threads too; a thread for each URL would be thousands.
    let more = most.load(Ordering::Relaxed).saturating_sub(threads);
    assert!(more < 500, "{more} threads more");
}

/// Notes how long it may take to fetch what.
struct Noting {
    inner: HttpFetcher,
    noted: Mutex<Vec<(String, Option<Duration>)>>,
}

impl Fetcher for Noting {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let asked = (request.url.path().to_owned(), request.timeout);
        self.noted.lock().unwrap().push(asked);
        self.inner.fetch(request)
    }
}

/// However long a page may take, robots.txt has 30 s: a server that drips it faster than one that is too slow is cut off, too.
#[test]
fn rob_25_has_a_deadline_of_its_own() {
    for (of_pages, of_robots) in [(120, 30), (8, 8)] {
        let door = with_robots(text("User-agent: *\nDisallow: /shut\n"));
        let mut config = crawl_config();
        config.fetch.timeout = Duration::from_secs(of_pages);
        let fetcher = Arc::new(Noting {
            inner: HttpFetcher::new(config.fetch.clone(), Arc::new(SystemClock)).unwrap(),
            noted: Mutex::default(),
        });
        let parts = Parts {
            fetcher: Some(Arc::clone(&fetcher) as Arc<dyn Fetcher>),
            ..Parts::default()
        };
        let both = (parts, Control::default());
        let crawled = crawl_by(&SimulatedDisk::new(), &config, &[door.url("/open")], both);
        assert!(crawled.last(&door.url("/open")).outcome.is_ok());
        let noted = fetcher.noted.lock().unwrap();
        let wanted = Some(Duration::from_secs(of_robots));
        let robots: Vec<_> = noted
            .iter()
            .filter(|(path, _)| path == "/robots.txt")
            .collect();
        assert_eq!(robots, [&("/robots.txt".to_owned(), wanted)]);
        assert!(noted.contains(&("/open".to_owned(), None)), "{noted:?}");
    }
}

/// A robots.txt that is not framed as its head says: no rules, no permission, and no damage in the archive.
#[test]
fn a_robots_txt_that_is_not_chunked_as_it_says_is_not_had() {
    for body in ["User-agent: *\nAllow: /\n", "0x5\r\nhello\r\n", "1f", ""] {
        let door = with_robots(vec![
            Step::say(format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
            )),
            Step::Close,
        ]);
        let mut config = crawl_config();
        // The next time is later than the run has patience for.
        config.robots.first_retry = Duration::from_secs(3600);
        let crawled = crawl(&config, &[door.url("/open")]);
        let robots = crawled.last(&door.url("/robots.txt"));
        assert_eq!(robots.outcome, Outcome::HTTP_INVALID, "{body:?}");
        assert_eq!(door.asked("/open"), 0, "{body:?}: nothing is allowed");
        let files: Arc<dyn Files> = Arc::new(crawled.disk.clone());
        let archive = Layout::new("default").unwrap().archive();
        let captures = Captures::open(files, &archive).unwrap();
        assert_eq!(captures.scrub().unwrap().wounds, [], "{body:?}");
    }
}

#[test]
fn rob_26() {
    for token in ["Teia/1.0", "teia", "TEIA/2.0 (x)"] {
        forbids(
            format!("User-agent: {token}\nDisallow: /shut\n"),
            &["/shut"],
        );
    }
    for token in ["NotTeiaBot", "TeiaBot", "Te", "xteia"] {
        allows(
            format!("User-agent: {token}\nDisallow: /shut\n"),
            &["/shut"],
        );
    }
}

#[test]
fn rob_27() {
    let shut = open_with_robots(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\nUser-agent: *\nDisallow: /\n",
            26
        ),
        vec![html("page")],
    );
    let open = open_answers(vec![html("page")]);
    let seeds = [shut.named("a.test", "/next"), open.named("a.test", "/next")];
    let crawled = crawl(&crawl_config(), &seeds);
    assert_eq!(crawled.last(&seeds[0]).outcome, Outcome::ROBOTS_DISALLOWED);
    assert!(
        crawled.last(&seeds[1]).outcome.is_ok(),
        "the same name, another port"
    );
    // Another scheme.
    let secure = open_secure_site(|path| match path {
        "/robots.txt" => Some(text("User-agent: *\nDisallow: /next\n")),
        "/open" => Some(html("page")),
        _ => None,
    });
    let plain = open_answers(vec![html("page")]);
    let seeds = [
        secure.named("city.test", "/next"),
        secure.named("city.test", "/open"),
        plain.named("city.test", "/next"),
    ];
    let crawled = crawl(&crawl_config(), &seeds);
    assert_eq!(crawled.last(&seeds[0]).outcome, Outcome::ROBOTS_DISALLOWED);
    assert!(crawled.last(&seeds[1]).outcome.is_ok());
    assert!(crawled.last(&seeds[2]).outcome.is_ok());
    assert_eq!((secure.asked("/next"), plain.asked("/next")), (0, 1));
}

#[test]
fn rob_28() {
    let many: String = (0..10_000)
        .map(|at| format!("Sitemap: http://a.test/s{at}.xml\n"))
        .collect();
    assert_eq!(rules(&many).sitemaps().len(), 1000);
    let port = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let own = std::sync::Arc::clone(&port);
    let door = open_site(move |path| {
        let here = own.get().cloned().unwrap_or_default();
        match path {
            "/robots.txt" => Some(text(&format!(
                "User-agent: *\nDisallow: /shut\nSitemap: /relative.xml\nSitemap: {here}/robots.txt\nSitemap: http://other.test/map.xml\nSitemap: {here}/map.xml\n"
            ))),
            "/map.xml" => Some(answer(
                "Content-Type: application/xml\r\n",
                format!("<urlset><url><loc>{here}/open-1</loc></url></urlset>"),
            )),
            "/open-1" => Some(html("page")),
            _ => None,
        }
    });
    port.set(door.url("")).unwrap();
    let crawled = crawl_door(&door);
    assert!(crawled.last(&door.url("/open-1")).outcome.is_ok());
    assert_eq!(door.asked("/relative.xml"), 0, "absolute only");
    assert_eq!(door.asked("/robots.txt"), 1, "itself is no sitemap");
    assert!(crawled.all("http://other.test/map.xml").is_empty());
}
