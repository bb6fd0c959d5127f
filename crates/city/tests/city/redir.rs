//! Redirects, cookies, credentials.

use std::sync::Arc;
use std::time::Duration;

use teia_base::{Flags, LoginStep, Outcome, SimulatedDisk, SystemClock};
use teia_city::{Door, Step, corner, corners_of};
use teia_engine::{Control, Mode, Parts};
use teia_fetch::{FetchConfig, HttpFetcher, Logins};

use crate::support::{
    Visit, crawl, crawl_by, crawl_config, crawl_corner, crawl_on, get, html, invalid, limits, open,
    open_answers, open_secure_site, open_site, outcome,
};

fn moved(location: &str) -> Vec<Step> {
    vec![Step::say(format!(
        "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    ))]
}

fn page() -> Vec<Step> {
    vec![Step::say(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
    )]
}

#[test]
fn redir_01() {
    let (door, crawled) = crawl_corner("REDIR-01", "self");
    let attempts = crawled.all(&door.url("/"));
    assert_eq!(attempts.last().unwrap().outcome, Outcome::REDIRECT_LOOP);
    assert!(door.asked("/") <= 2, "{}", door.asked("/"));
}

#[test]
fn redir_02() {
    // A leads to B, and B to A.
    let door = open_answers(vec![moved("/trick-b"), moved("/")]);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    assert_eq!(
        crawled.last(&door.url("/trick-b")).outcome,
        Outcome::REDIRECT_LOOP
    );
    assert!(door.asked("/") <= 2 && door.asked("/trick-b") <= 2);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    // A query that grows: never the same, and never at an end.
    let hops = (0..50)
        .map(|n| moved(&format!("/trick?{}", "x".repeat(n + 1))))
        .collect();
    let door = open_answers(hops);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let too_many = crawled
        .attempts
        .iter()
        .filter(|one| one.outcome == Outcome::REDIRECT_TOO_MANY);
    assert_eq!(too_many.count(), 1, "{:?}", crawled.told());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn redir_03() {
    let hops = (0..1000).map(|n| moved(&format!("/trick{n}"))).collect();
    let door = open_answers(hops);
    let mut config = crawl_config();
    config.politeness.delay = Duration::from_millis(20);
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    let last = crawled
        .attempts
        .iter()
        .find(|one| one.outcome == Outcome::REDIRECT_TOO_MANY);
    assert_eq!(
        last.unwrap().url.request(),
        door.url("/trick9"),
        "{:?}",
        crawled.told()
    );
    // One after another, the gap between them.
    let mut moments: Vec<_> = crawled.attempts.iter().map(|one| one.started).collect();
    moments.sort();
    for pair in moments.windows(2) {
        assert!(
            pair[1].since(pair[0]) >= Duration::from_millis(19),
            "{:?}",
            crawled.told()
        );
    }
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

/// Settings under which this door is allowed and nothing else that is private.
fn strict(door: &Door) -> teia_engine::CollectionConfig {
    let mut config = crawl_config();
    config.fetch.allow_private = false;
    config.fetch.resolve.clear();
    config.fetch.allowed = vec![(door.address().ip(), door.address().port())];
    config.filter.scope = "any".parse().unwrap();
    config
}

#[test]
fn redir_04() {
    for corner in corners_of("REDIR-04") {
        let door = open(&corner);
        let crawled = crawl(&strict(&door), &[door.url("/"), door.url("/next")]);
        let blocked = |outcome| outcome == Outcome::REDIRECT_BLOCKED;
        let elsewhere = crawled
            .attempts
            .iter()
            .filter(|one| !one.url.request().starts_with(&door.url("")));
        for attempt in elsewhere {
            let is_robots = attempt.url.request().ends_with("/robots.txt");
            let refused = [Outcome::ADDR_BLOCKED, Outcome::PORT_BLOCKED];
            let is_refused = is_robots && refused.contains(&attempt.outcome);
            assert!(
                blocked(attempt.outcome) || is_refused,
                "{:?}",
                crawled.told()
            );
            assert!(attempt.remote.is_none(), "nothing was sent there");
        }
        assert!(
            crawled.attempts.iter().any(|one| blocked(one.outcome)),
            "{}: {:?}",
            corner.name,
            crawled.told()
        );
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
}

#[test]
fn redir_05() {
    for corner in corners_of("REDIR-05") {
        let door = open(&corner);
        let crawled = crawl(&strict(&door), &[door.url("/"), door.url("/next")]);
        for attempt in &crawled.attempts {
            let inside = attempt.url.request().starts_with("http://");
            assert!(inside || attempt.remote.is_none(), "{:?}", crawled.told());
        }
        let first = crawled.last(&door.url("/"));
        assert_eq!(
            first.outcome,
            Outcome::REDIRECT_BLOCKED,
            "{}: {:?}",
            corner.name,
            crawled.told()
        );
        let known = crawled.report.known_urls;
        assert_eq!(known, 3, "the target is no URL of the collection");
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
}

/// From https to http: a step that can be forbidden, that is marked, and that neither login nor cookie follows.
#[test]
fn redir_06() {
    for is_allowed in [true, false] {
        let plain = open_site(|path| (path == "/trick").then(page));
        let target = plain.named("city.test", "/trick");
        let to = target.clone();
        let secure = open_secure_site(move |path| {
            let cookie = "Set-Cookie: sid=secret-cookie; Path=/\r\n";
            let to = match path {
                "/" => {
                    return Some(html_with(
                        cookie,
                        "<a href=/down>down</a> <a href=/same>same</a>",
                    ));
                }
                "/down" => &to,
                "/same" => "/next",
                _ => return None,
            };
            Some(vec![Step::say(format!(
                "HTTP/1.1 302 Found\r\n{cookie}Location: {to}\r\nContent-Length: 0\r\n\r\n"
            ))])
        });
        let mut config = crawl_config();
        config.fetch.cookies = true;
        config.run.insecure_redirects = is_allowed;
        config.filter.scope = "any".parse().unwrap();
        let logins = Logins::default().token(&secure.url("/").parse().unwrap(), "secret-token");
        let fetcher = HttpFetcher::new(config.fetch.clone(), Arc::new(SystemClock)).unwrap();
        let parts = Parts {
            fetcher: Some(Arc::new(fetcher.with_authenticator(Arc::new(logins)))),
            ..Parts::default()
        };
        let disk = SimulatedDisk::new();
        let crawled = crawl_by(
            &disk,
            &config,
            &[secure.url("/")],
            (parts, Control::default()),
        );
        let down = crawled.last(&secure.url("/down"));
        assert!(
            down.flags.has(Flags::REDIRECT_INSECURE),
            "{:?}",
            crawled.told()
        );
        let same = crawled.last(&secure.url("/same"));
        assert!(same.outcome.is_redirect() && !same.flags.has(Flags::REDIRECT_INSECURE));
        if is_allowed {
            assert!(down.outcome.is_redirect());
            assert!(
                crawled.last(&target).outcome.is_ok(),
                "{:?}",
                crawled.told()
            );
            assert_eq!(plain.asked("/trick"), 1);
        } else {
            assert_eq!(down.outcome, Outcome::REDIRECT_BLOCKED);
            assert_eq!(plain.connections(), 0, "nothing is sent there");
        }
        // There are both to be given away.
        let secure = secure.requests();
        for secret in ["secret-token", "secret-cookie"] {
            assert!(
                secure.iter().any(|head| head.contains(secret)),
                "{secure:?}"
            );
            assert!(!plain.requests().iter().any(|head| head.contains(secret)));
        }
    }
}

/// A robots.txt is sent on in the same manner.
#[test]
fn redir_06_of_robots_txt() {
    for is_allowed in [true, false] {
        let plain = open_site(|path| {
            let rules = "User-agent: *\nDisallow: /shut\n";
            (path == "/rules").then(|| crate::support::answer("", rules))
        });
        let to = plain.named("city.test", "/rules");
        let secure = open_secure_site(move |path| match path {
            "/robots.txt" => Some(moved(&to)),
            _ => None,
        });
        let mut config = crawl_config();
        config.run.insecure_redirects = is_allowed;
        let seeds = [secure.url("/next"), secure.url("/shut")];
        let crawled = crawl(&config, &seeds);
        let robots = crawled.last(&secure.url("/robots.txt"));
        assert!(robots.flags.has(Flags::REDIRECT_INSECURE));
        assert_eq!(plain.asked("/rules"), usize::from(is_allowed));
        assert_eq!(secure.asked("/next"), usize::from(is_allowed));
        assert_eq!(crawled.report.waiting, if is_allowed { 0 } else { 2 });
        assert_eq!(secure.asked("/shut"), 0);
    }
}

/// A page with these header lines.
fn html_with(fields: &str, body: &str) -> Vec<Step> {
    let fields = format!("Content-Type: text/html\r\n{fields}");
    crate::support::answer(&fields, body)
}

#[test]
fn redir_07() {
    for corner in corners_of("REDIR-07") {
        let door = open(&corner);
        let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
        let first = crawled.last(&door.url("/"));
        match corner.name {
            "missing" | "unreadable" | "two" => {
                assert_eq!(
                    first.outcome,
                    Outcome::REDIRECT_BAD_LOCATION,
                    "{}",
                    corner.name
                );
            }
            // Both name the page itself.
            "fragment" | "empty" => assert_eq!(first.outcome, Outcome::REDIRECT_LOOP),
            name => {
                let target = match name {
                    "path" => door.url("/next"),
                    "query" => door.url("/?query"),
                    "controls" => door.url("/ne%01xt"),
                    "protocol" => "http://elsewhere.test/path".to_owned(),
                    name => panic!("what does {name} lead to?"),
                };
                assert!(first.outcome.is_redirect(), "{name}: {:?}", crawled.told());
                let [link] = &first.links[..] else {
                    panic!("{name}: {:?}", first.links);
                };
                assert!(link.chain.is_some(), "{name}: it is a redirect");
                assert_eq!(link.url.request(), target, "{name}");
                if name != "protocol" {
                    assert!(crawled.last(&target).answered, "{name}: it is followed");
                }
            }
        }
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
}

/// Without a scheme it is that of the page, also where that is not the usual one.
#[test]
fn redir_07_the_scheme_is_that_of_the_page() {
    let door = open_secure_site(|path| match path {
        "/" => Some(moved("//elsewhere.test/path")),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let first = crawled.last(&door.url("/"));
    let target = "https://elsewhere.test/path";
    let links = &first.links;
    assert!(
        links.iter().any(|link| link.url.request() == target),
        "{links:?}"
    );
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[tokio::test]
async fn redir_08() {
    let visit = Visit::to("REDIR-08", "megabyte");
    invalid(&visit.trick().await, "http_headers_too_large");
    visit.leave().await;
}

#[test]
fn redir_08_is_too_long_to_follow() {
    let (door, crawled) = crawl_corner("REDIR-08", "long");
    let first = crawled.last(&door.url("/"));
    assert_eq!(first.outcome, Outcome::REDIRECT_BAD_LOCATION);
    assert_eq!(
        crawled.report.known_urls,
        3,
        "the target is not kept: {:?}",
        crawled.told()
    );
    assert_eq!(
        door.requests()
            .iter()
            .filter(|head| head.len() > 4_000)
            .count(),
        0
    );
    assert!(
        crawled
            .attempts
            .iter()
            .all(|one| one.detail.as_ref().is_none_or(|text| text.len() < 4_000)),
        "not stored in full"
    );
}

/// The limit is the one of the settings: at it a redirect is followed, and one byte past it is not.
#[test]
fn redir_08_the_limit_is_the_setting() {
    for most in [512, 40_000] {
        for past in [0, 1] {
            let door = open_site(move |path| match path {
                "/" => Some(vec![Step::say(format!(
                    "HTTP/1.1 302 Found\r\nLocation: /{}\r\nContent-Length: 0\r\n\r\n",
                    "x".repeat(most - "http://a.test:12345/".len() + past)
                ))]),
                path if path.starts_with("/xx") => Some(page()),
                _ => None,
            });
            let mut config = crawl_config();
            config.fetch.resolve = vec![format!("a.test=127.0.0.1:{}", door.address().port())];
            config.filter.max_url_bytes = most;
            let start = "http://a.test:12345/".to_owned();
            let crawled = crawl(&config, std::slice::from_ref(&start));
            let first = crawled.last(&start).outcome;
            if past == 0 {
                assert!(first.is_redirect(), "{most}: {:?}", first);
                let target = format!("{start}{}", "x".repeat(most - start.len()));
                assert_eq!(target.len(), most);
                assert!(crawled.last(&target).outcome.is_ok(), "{most}");
            } else {
                assert_eq!(first, Outcome::REDIRECT_BAD_LOCATION, "{most}");
            }
        }
    }
}

#[test]
fn redir_09() {
    let robots = "User-agent: *\nDisallow: /trick\n";
    let target = open_robots(robots);
    let door = open_answers(vec![moved(&target.named("target.test", "/trick-private"))]);
    let mut config = crawl_config();
    config.filter.scope = "any".parse().unwrap();
    let crawled = crawl(&config, &[door.named("from.test", "/")]);
    let refused = crawled.last(&target.named("target.test", "/trick-private"));
    assert_eq!(refused.outcome, Outcome::ROBOTS_DISALLOWED);
    assert_eq!(target.asked("/trick-private"), 0);
}

/// A host with a robots.txt of its own.
fn open_robots(robots: &str) -> Door {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{robots}",
        robots.len()
    );
    crate::support::open_with_robots(answer, vec![page()])
}

#[test]
fn redir_10() {
    let target = open_answers(vec![page()]);
    // A page leads out of scope by a redirect (a seed's own redirect would widen the scope).
    let links = "<a href=/trick>out</a>";
    let start = vec![Step::say(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{links}",
        links.len()
    ))];
    let from = open_answers(vec![start, moved(&target.named("target.test", "/"))]);
    let crawled = crawl(&crawl_config(), &[from.named("from.test", "/")]);
    assert!(
        crawled
            .last(&from.named("from.test", "/trick"))
            .outcome
            .is_redirect()
    );
    assert_eq!(target.connections(), 0);
    let excluded = crawled.report.states.get("excluded").copied().unwrap_or(0);
    assert_eq!(
        excluded, 1,
        "known, and counted: {:?}",
        crawled.report.states
    );
}

#[test]
fn redir_11() {
    let door = open(&corner("REDIR-11", "flip"));
    let disk = SimulatedDisk::new();
    let mut config = crawl_config();
    config.mode = Mode::Periodic;
    let crawled = crawl_on(&disk, &config, &[door.url("/")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    assert_eq!(door.asked("/"), 1, "no storm");
    let second = crawl_on(&disk, &config, &[door.url("/")]);
    assert_eq!(door.asked("/"), 2, "one request for each visit");
    let edges: Vec<_> = second
        .all(&door.url("/"))
        .iter()
        .map(|one| {
            assert!(one.outcome.is_redirect(), "{:?}", second.told());
            let targets = one.links.iter().map(|link| link.url.request().to_owned());
            targets.collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(
        edges,
        [[door.url("/next")], [door.url("/last")]],
        "both edges are stored"
    );
    // In a run that does not end it is visited at the interval that settings say.
    let door = open(&corner("REDIR-11", "flip"));
    config.mode = Mode::Incremental;
    config.run.revisit = Duration::from_millis(400);
    config.run.max_time = Some(Duration::from_millis(2000));
    let third = crawl(&config, &[door.url("/")]);
    let visits = third.all(&door.url("/"));
    assert!(visits.len() >= 2, "{:?}", third.told());
    for pair in visits.windows(2) {
        let between = pair[1].started.since(pair[0].started);
        assert!(between >= Duration::from_millis(399), "{between:?}");
    }
    assert!(door.asked("/") <= 6, "no storm: {}", door.asked("/"));
}

#[test]
fn redir_12() {
    for corner in corners_of("REDIR-12") {
        let door = open(&corner);
        let crawled = crawl(&crawl_config(), &[door.url("/")]);
        assert!(crawled.last(&door.url("/")).outcome.is_ok());
        let followed = !crawled.all(&door.url("/next")).is_empty();
        let wanted = matches!(corner.name, "zero" | "quoted" | "unclosed" | "soon");
        assert_eq!(followed, wanted, "{}: {:?}", corner.name, crawled.told());
    }
}

/// A hop of a refresh counts as one of a redirect: a chain of them, in whatever way they send on, has an end.
#[test]
fn redir_12_is_a_hop() {
    let door = open_site(|path| {
        let number: u32 = path.strip_prefix("/trick")?.parse().ok()?;
        let to = format!("/trick{}", number + 1);
        Some(match number % 3 {
            0 => moved(&to),
            1 => html_with(&format!("Refresh: 0; url={to}\r\n"), "page"),
            _ => html(format!(
                "<meta http-equiv=refresh content='5; url={to}'>page"
            )),
        })
    });
    let disk = SimulatedDisk::new();
    let seeds = [door.url("/trick0"), door.url("/next")];
    let mut config = crawl_config();
    config.traps.enabled = false;
    for _run in 0..2 {
        let crawled = crawl_on(&disk, &config, &seeds);
        for hop in 0..=10 {
            let asked = door.asked(&format!("/trick{hop}"));
            assert_eq!(asked, 1, "{hop}: {:?}", crawled.told());
        }
        assert_eq!(door.asked("/trick11"), 0, "{:?}", crawled.told());
        let last = crawled.last(&door.url("/trick10"));
        assert!(last.outcome.is_ok());
        let told = last.detail.as_deref().unwrap_or_default();
        assert!(told.contains("redirect_too_many"), "{told:?}");
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
    // A circle, and a page that shows itself again.
    let door = open_site(|path| {
        let to = match path {
            "/trick-a" => "/trick-b",
            "/trick-b" => "/trick-a",
            "/trick-self" => "/trick-self",
            _ => return None,
        };
        Some(html(format!(
            "<meta http-equiv=refresh content='0; url={to}'>page {path}"
        )))
    });
    let paths = ["/trick-a", "/trick-b", "/trick-self"];
    let crawled = crawl(&crawl_config(), &[door.url(paths[0]), door.url(paths[2])]);
    for path in paths {
        assert_eq!(door.asked(path), 1, "{:?}", crawled.told());
        assert!(crawled.last(&door.url(path)).outcome.is_ok());
    }
    let told = crawled.last(&door.url("/trick-b")).detail.clone();
    assert!(told.unwrap_or_default().contains("redirect_loop"));
}

#[tokio::test]
async fn redir_13() {
    let set = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=secret-cookie\r\nContent-Length: 2\r\n\r\nok";
    let door = open_answers(vec![vec![Step::say(set)], page()]);
    let port = door.address().port();
    let configured: url::Url = door.named("a.test", "/").parse().unwrap();
    let logins = Logins::default().token(&configured, "secret-token");
    let wary = FetchConfig {
        cookies: true,
        ..limits()
    };
    let fetcher = HttpFetcher::new(wary, Arc::new(SystemClock)).unwrap();
    let fetcher = fetcher.with_authenticator(Arc::new(logins));
    outcome(
        &get(&fetcher, &door.named("a.test", "/")).await,
        Outcome::http(200),
    );
    assert!(door.requests()[0].contains("Bearer secret-token"));
    outcome(
        &get(&fetcher, &door.named("a.test", "/next")).await,
        Outcome::http(200),
    );
    // There are both to be given away.
    let own = door.requests().pop().unwrap();
    assert!(own.contains("secret-token") && own.contains("secret-cookie"));
    let other = open_answers(vec![page()]);
    for url in [door.named("b.test", "/"), other.named("a.test", "/")] {
        outcome(&get(&fetcher, &url).await, Outcome::http(200));
    }
    // Another scheme at the same name.
    let secure = open(&corner("TLS-05", "requires"));
    let configured = door.named("city.test", "/").parse().unwrap();
    let logins = Logins::default().token(&configured, "secret-token");
    let fetcher = HttpFetcher::new(limits(), Arc::new(SystemClock)).unwrap();
    let fetcher = fetcher.with_authenticator(Arc::new(logins));
    outcome(&get(&fetcher, &secure.url("/")).await, Outcome::http(200));
    let told = [door.requests(), other.requests(), secure.requests()].concat();
    let count = told
        .iter()
        .filter(|head| head.contains("secret-token"))
        .count();
    assert_eq!(count, 2, "port {port}");
    let has_cookie = |head: &&String| head.contains("secret-cookie");
    assert_eq!(told.iter().filter(has_cookie).count(), 1, "{told:?}");
}

/// The same with real redirects and a jar: what a host set goes to no other port, scheme or host.
#[test]
fn redir_13_in_a_crawl() {
    let secure = open(&corner("TLS-05", "requires"));
    let other = open_answers(vec![page()]);
    let targets = [
        secure.named("city.test", "/secure"),
        other.named("city.test", "/port"),
        other.named("b.test", "/host"),
    ];
    let door = open_site(move |path| {
        let to = match path.strip_prefix("/to")?.parse::<usize>() {
            Ok(number) => targets.get(number)?.clone(),
            Err(_) => "/next".to_owned(),
        };
        Some(vec![Step::say(format!(
            "HTTP/1.1 302 Found\r\nSet-Cookie: sid=secret-cookie; Path=/\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
        ))])
    });
    let mut config = crawl_config();
    config.fetch.cookies = true;
    config.fetch.max_idle_connections = 0;
    let seeds: Vec<String> = ["/to0", "/to1", "/to2", "/to-next"]
        .iter()
        .map(|path| door.named("city.test", path))
        .collect();
    let crawled = crawl(&config, &seeds);
    assert!(
        crawled
            .last(&door.named("city.test", "/next"))
            .outcome
            .is_ok()
    );
    let is_told = |head: &String| head.contains("secret-cookie");
    assert!(door.requests().iter().any(is_told), "where it was set");
    for elsewhere in [&secure, &other] {
        let heads = elsewhere.requests();
        assert!(heads.iter().any(|head| head.contains("GET /")), "{heads:?}");
        assert!(!heads.iter().any(is_told), "{heads:?}");
    }
}

#[tokio::test]
async fn redir_14() {
    for corner in corners_of("REDIR-14") {
        let jar = FetchConfig {
            cookies: true,
            ..limits()
        };
        let visit = Visit::with("REDIR-14", corner.name, jar);
        let exchange = visit.trick().await;
        match corner.name {
            // More fields than any answer may have: the limit of heads comes before the jar's.
            "thousands" => invalid(&exchange, "http_headers_too_large"),
            _ => outcome(&exchange, Outcome::http(200)),
        }
        visit.leave().await;
        let sent = visit.door.requests().pop().unwrap();
        let cookies = sent.lines().find(|line| line.starts_with("Cookie: "));
        let Some(cookies) = cookies else {
            assert_ne!(corner.name, "many", "those that fit are sent");
            continue;
        };
        assert_eq!(corner.name, "many", "{cookies}");
        assert!(cookies.len() <= 8 << 10, "{}", cookies.len());
        // 50 of 400 are kept, and of those all that fit.
        let count = cookies.matches('=').count();
        assert!((30..=50).contains(&count), "{count}");
    }
}

#[tokio::test]
async fn redir_15() {
    let jar = FetchConfig {
        cookies: true,
        ..limits()
    };
    let visit = Visit::with("REDIR-15", "foreign", jar);
    outcome(
        &get(&visit.fetcher, &visit.door.named("city.test", "/")).await,
        Outcome::http(200),
    );
    outcome(
        &get(&visit.fetcher, &visit.door.named("city.test", "/next")).await,
        Outcome::http(200),
    );
    let sent = visit.door.requests().pop().unwrap();
    let cookies = sent.lines().find(|line| line.starts_with("Cookie: "));
    assert_eq!(cookies, Some("Cookie: good=1"));
    for host in ["elsewhere.test", "other.test"] {
        get(&visit.fetcher, &visit.door.named(host, "/next")).await;
        assert!(!visit.door.requests().pop().unwrap().contains("Cookie"));
    }
    visit.leave().await;
}

#[test]
fn redir_16() {
    let (door, crawled) = crawl_corner("REDIR-16", "wall");
    assert_eq!(crawled.last(&door.url("/")).outcome, Outcome::REDIRECT_LOOP);
    assert!(door.asked("/") <= 2, "no storm");
}

#[tokio::test]
async fn redir_17() {
    for corner in corners_of("REDIR-17") {
        // Nobody's login: an answer like any other.
        let visit = Visit::to("REDIR-17", corner.name);
        outcome(&visit.trick().await, Outcome::http(401));
        assert!(!visit.door.requests()[0].contains("Authorization"));
        visit.leave().await;
        // A login for exactly this origin: said where the scheme is one of ours, once.
        let logins =
            Logins::default().password(&visit.door.url("/").parse().unwrap(), "ann", "secret");
        let fetcher = HttpFetcher::new(limits(), Arc::new(SystemClock)).unwrap();
        let fetcher = fetcher.with_authenticator(Arc::new(logins));
        let before = visit.door.asked("/");
        let mut exchange = get(&fetcher, &visit.door.url("/")).await;
        if exchange.login == LoginStep::Asked {
            exchange = get(&fetcher, &visit.door.url("/")).await;
        }
        let asked = visit.door.asked("/") - before;
        let said = visit
            .door
            .requests()
            .iter()
            .any(|head| head.contains("Authorization"));
        let ours = matches!(corner.name, "basic" | "digest");
        assert_eq!(
            (said, asked),
            (ours, if ours { 2 } else { 1 }),
            "{}",
            corner.name
        );
        let wanted = if ours {
            Outcome::LOGIN_FAILED
        } else {
            Outcome::http(401)
        };
        outcome(&exchange, wanted);
    }
}

#[tokio::test]
async fn redir_18() {
    for corner in corners_of("REDIR-18") {
        let door = open(&corner);
        let logins = Logins::default().password(&door.url("/").parse().unwrap(), "ann", "secret");
        let fetcher = HttpFetcher::new(limits(), Arc::new(SystemClock)).unwrap();
        let mut visit = Visit::at(door, limits());
        visit.fetcher = fetcher.with_authenticator(Arc::new(logins));
        let exchange = visit.trick().await;
        if corner.name == "megabyte" {
            invalid(&exchange, "http_headers_too_large");
        } else {
            outcome(&exchange, Outcome::http(401));
        }
        visit.leave().await;
    }
}

#[tokio::test]
async fn redir_19() {
    let visit = Visit::to("REDIR-19", "alternative");
    for _ in 0..2 {
        outcome(&visit.trick().await, Outcome::http(200));
    }
    visit.leave().await;
    assert_eq!(
        visit.door.asked("/"),
        2,
        "asked where the link leads, as the link says"
    );
}
