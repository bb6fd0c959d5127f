//! DNS, with the city's own name server. (Which addresses may be visited is in `addresses.rs`.)

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use teia_base::{ManualClock, Outcome, Retry, Timestamp};
use teia_city::{Data, Door, NameServer, Question, Record, Reply, Step};
use teia_fetch::{FetchConfig, HttpFetcher};
use teia_frontier::PolitenessKey;

use crate::support::{
    Visit, crawl, crawl_config, descriptors, get, limits, name_server, open_answers, outcome,
    thread_time,
};

pub(crate) const GOOD: &str = "good.city.test";

/// Settings that ask this name server for everything.
pub(crate) fn asking(server: &NameServer) -> FetchConfig {
    FetchConfig {
        resolve: Vec::new(),
        name_servers: vec![server.address()],
        dns_timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_secs(4),
        max_idle_connections: 0,
        ..limits()
    }
}

pub(crate) fn here(question: &Question) -> Reply {
    addresses(question, &["127.0.0.1"], 60)
}

/// The addresses of the kind that is asked for.
pub(crate) fn addresses(question: &Question, list: &[&str], ttl: u32) -> Reply {
    let records = list.iter().filter_map(|text| {
        let data = match text.parse().unwrap() {
            IpAddr::V4(address) if question.kind == 1 => Data::A(address),
            IpAddr::V6(address) if question.kind == 28 => Data::Aaaa(address),
            _ => return None,
        };
        Some(Record::new(&question.name, ttl, data))
    });
    Reply::Records(records.collect())
}

/// A name server that knows one good name, and says this of the others.
pub(crate) fn server(reply: impl Fn(&Question) -> Reply + Send + Sync + 'static) -> NameServer {
    name_server(move |question: &Question| match question.name.as_str() {
        GOOD => here(question),
        _ => reply(question),
    })
}

pub(crate) fn page_door() -> Door {
    open_answers(vec![vec![Step::say(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
    )]])
}

/// A visit by name; the good name is fetched at its end.
pub(crate) struct Named {
    pub(crate) visit: Visit,
    pub(crate) server: NameServer,
}

impl Named {
    fn new(server: NameServer) -> Self {
        let config = asking(&server);
        Self::with(server, config)
    }

    fn with_limit(server: NameServer, limit: Duration) -> Self {
        let config = FetchConfig {
            dns_timeout: limit,
            timeout: limit,
            ..asking(&server)
        };
        Self::with(server, config)
    }

    fn with(server: NameServer, config: FetchConfig) -> Self {
        Self {
            visit: Visit::at(page_door(), config),
            server,
        }
    }

    pub(crate) async fn get(&self, host: &str) -> teia_base::Exchange {
        get(&self.visit.fetcher, &self.visit.door.named(host, "/")).await
    }

    fn asked(&self, host: &str) -> usize {
        let asked = self.server.asked();
        asked
            .iter()
            .filter(|question| question.name == host)
            .count()
    }

    pub(crate) async fn leave(self) {
        outcome(&self.get(GOOD).await, Outcome::http(200));
        self.visit.check_price();
    }
}

#[tokio::test]
async fn dns_01() {
    let named = Named::new(server(|_| Reply::Error(3)));
    for _ in 0..5 {
        outcome(&named.get("gone.city.test").await, Outcome::DNS_NXDOMAIN);
    }
    assert_eq!(named.asked("gone.city.test"), 2, "A and AAAA, once");
    named.leave().await;
}

/// A name that was not there is believed to be gone for as long as its zone says, a minute at least and an hour at most.
#[tokio::test]
async fn dns_01_is_believed_for_a_while() {
    for (told, held) in [(0, 60), (600, 600), (86_400 * 365, 3600)] {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
        let mut named = Named::new(server(move |_| Reply::Missing(told)));
        named.visit.fetcher = HttpFetcher::new(
            asking(&named.server),
            Arc::clone(&clock) as Arc<dyn teia_base::Clock>,
        )
        .unwrap();
        let host = "gone.city.test";
        for (passed, questions) in [(0, 2), (held - 1, 2), (2, 4)] {
            clock.advance(Duration::from_secs(passed));
            outcome(&named.get(host).await, Outcome::DNS_NXDOMAIN);
            assert_eq!(named.asked(host), questions, "{told} s: {passed} s later");
        }
        named.leave().await;
    }
}

/// All URLs of a name that is not there have their outcome from one answer, none of them waits at the end, and a later
/// run may try again.
#[test]
fn dns_01_settles_all_urls_of_a_host_together() {
    let server = server(|_| Reply::Error(3));
    let door = page_door();
    let mut config = crawl_config();
    config.fetch = asking(&server);
    config.run.retries = 4;
    // Another try would come when the run is over.
    config.politeness.retry_wait = Duration::from_secs(61);
    config.robots.first_retry = Duration::from_secs(61);
    let of_gone: Vec<String> = (0..300)
        .map(|n| door.named("gone.city.test", &format!("/{n}")))
        .collect();
    for ignore_robots in [false, true] {
        config.run.ignore_robots = ignore_robots;
        let before = server.asked().len();
        let good = [door.named(GOOD, "/"), door.named(GOOD, "/next")];
        let crawled = crawl(&config, &[&of_gone[..], &good[..]].concat());
        for url in &of_gone {
            let [attempt] = crawled.all(url)[..] else {
                panic!("{url}: {:?}", crawled.all(url).len());
            };
            assert_eq!(attempt.outcome, Outcome::DNS_NXDOMAIN);
            assert_ne!(attempt.outcome.retry(), Retry::Final, "not for good");
        }
        let states = &crawled.report.states;
        assert_eq!(
            (crawled.report.waiting, states["failed"]),
            (0, 300),
            "{states:?}"
        );
        for url in &good {
            assert!(crawled.last(url).outcome.is_ok());
        }
        let asked = server.asked();
        let of_gone = asked[before..]
            .iter()
            .filter(|one| one.name.starts_with("gone"));
        assert_eq!(of_gone.count(), 2, "A and AAAA, once");
    }
}

/// A robots.txt that is sent on to a name that is not there tells nothing of its own host, whose URLs wait.
#[test]
fn dns_01_elsewhere_is_no_fault_of_the_host() {
    let server = server(|question| match question.name.as_str() {
        "here.city.test" => here(question),
        _ => Reply::Error(3),
    });
    let door = crate::support::open_site(|path| {
        (path == "/robots.txt").then(|| {
            vec![Step::say(
                "HTTP/1.1 302 Found\r\nLocation: http://gone.city.test/robots.txt\r\nContent-Length: 0\r\n\r\n",
            )]
        })
    });
    let mut config = crawl_config();
    config.fetch = asking(&server);
    config.politeness.retry_wait = Duration::from_secs(61);
    config.robots.first_retry = Duration::from_secs(61);
    let crawled = crawl(&config, &[door.named("here.city.test", "/")]);
    let url = door.named("here.city.test", "/");
    assert_eq!(crawled.last(&url).outcome, Outcome::ROBOTS_UNREACHABLE);
    assert_eq!(crawled.report.waiting, 1, "{:?}", crawled.report.states);
}

#[tokio::test]
async fn dns_02() {
    for code in [1, 2, 5] {
        let named = Named::new(server(move |_| Reply::Error(code)));
        let exchange = named.get("sick.city.test").await;
        outcome(&exchange, Outcome::DNS_SERVFAIL);
        assert_eq!(exchange.outcome.retry(), Retry::Host);
        let asked = named.asked("sick.city.test");
        assert!(asked <= 3, "code {code}: {asked} questions");
        named.leave().await;
    }
}

#[tokio::test]
async fn dns_03() {
    let silent = server(|question| match question.name.as_str() {
        name if name.starts_with("late") => {
            Reply::Late(Duration::from_secs(30), Box::new(here(question)))
        }
        _ => Reply::Silence,
    });
    // Many more than are looked up at once, each of which takes two sockets.
    let count = if descriptors() < 4096 {
        eprintln!("SKIPPED in part dns_03: there are not enough descriptors for many names");
        100
    } else {
        10_000
    };
    let named = Named::with_limit(silent, Duration::from_secs(6));
    let began = Instant::now();
    let names: Vec<String> = (0..count).map(|n| format!("silent{n}.city.test")).collect();
    let done = AtomicUsize::new(0);
    let mut all = Vec::new();
    for name in &names {
        all.push(async {
            let exchange = named.get(name).await;
            done.fetch_add(1, Ordering::Relaxed);
            exchange
        });
    }
    let late = named.get("late.city.test");
    let good = async {
        // Behind all of them.
        tokio::time::sleep(Duration::from_millis(100)).await;
        for path in ["/", "/next"] {
            let url = named.visit.door.named(GOOD, path);
            outcome(&get(&named.visit.fetcher, &url).await, Outcome::http(200));
        }
        done.load(Ordering::Relaxed)
    };
    let (silent, late, good) = futures_join(all, late, good).await;
    for exchange in silent.iter().chain([&late]) {
        outcome(exchange, Outcome::DNS_TIMEOUT);
    }
    let all = began.elapsed();
    assert!(
        good < count / 2,
        "others are resolved meanwhile, when {good} of {count} had been given up"
    );
    assert!(
        all < Duration::from_secs(28),
        "nobody waits for what comes after 30 s: {all:?}"
    );
    named.leave().await;
}

/// Runs all of them at once.
async fn futures_join<A, B, C>(
    all: Vec<impl Future<Output = A>>,
    two: impl Future<Output = B>,
    three: impl Future<Output = C>,
) -> (Vec<A>, B, C) {
    let mut all: Vec<_> = all.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<A>> = all.iter().map(|_| None).collect();
    let many = std::future::poll_fn(move |cx| {
        let mut pending = false;
        for (future, slot) in all.iter_mut().zip(&mut done) {
            if slot.is_none() {
                match future.as_mut().poll(cx) {
                    std::task::Poll::Ready(value) => *slot = Some(value),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(done.drain(..).flatten().collect())
    });
    tokio::join!(many, two, three)
}

fn alias(from: &str, to: &str) -> Record {
    Record::new(from, 60, Data::Alias(to.to_owned()))
}

#[tokio::test]
async fn dns_04() {
    let aliases = server(|question| {
        let name = question.name.as_str();
        let number = name
            .split('.')
            .next()
            .and_then(|label| {
                label
                    .trim_start_matches(|c: char| !c.is_ascii_digit())
                    .parse::<u32>()
                    .ok()
            })
            .unwrap_or(0);
        let records = match name {
            "self.city.test" => vec![alias(name, name)],
            "a.city.test" => vec![alias(name, "b.city.test")],
            "b.city.test" => vec![alias(name, "a.city.test")],
            "circle.city.test" => vec![alias(name, "x.city.test"), alias("x.city.test", name)],
            // A hundred aliases in one answer, with an address at their end.
            "whole.city.test" if question.is_a() => {
                let label = |n: usize| {
                    if n == 0 {
                        name.to_owned()
                    } else {
                        format!("w{n}.city.test")
                    }
                };
                let mut list: Vec<Record> =
                    (0..100).map(|n| alias(&label(n), &label(n + 1))).collect();
                list.push(Record::new(&label(100), 60, Data::A([127, 0, 0, 1].into())));
                list
            }
            // One alias at a time, a hundred times; then an address.
            "step100.city.test" => return here(question),
            _ if name.starts_with("step") => {
                vec![alias(name, &format!("step{}.city.test", number + 1))]
            }
            "three.city.test" => vec![alias(name, "two.city.test")],
            "two.city.test" => vec![alias(name, "one.city.test")],
            "one.city.test" => return here(question),
            // An alias without an address is no loop.
            "bare.city.test" => vec![alias(name, "nothing.city.test")],
            _ => Vec::new(),
        };
        Reply::Records(records)
    });
    let named = Named::new(aliases);
    for host in ["self", "a", "circle", "whole", "step0"] {
        let host = format!("{host}.city.test");
        let exchange = named.get(&host).await;
        assert_eq!(
            exchange.outcome,
            Outcome::DNS_LOOP,
            "{host}: {:?}",
            exchange.detail
        );
    }
    assert!(
        named.server.asked().len() < 200,
        "{}",
        named.server.asked().len()
    );
    outcome(&named.get("three.city.test").await, Outcome::http(200));
    outcome(&named.get("bare.city.test").await, Outcome::DNS_NXDOMAIN);
    named.leave().await;
}

#[tokio::test]
async fn dns_05() {
    let named = Named::new(server(|_| Reply::Cut));
    let exchange = named.get("cut.city.test").await;
    outcome(&exchange, Outcome::DNS_TIMEOUT);
    let asked = named.asked("cut.city.test");
    assert!((2..=8).contains(&asked), "{asked} questions");
    named.leave().await;
    // What does not fit into a packet is asked for over TCP, and found.
    let named = Named::new(server(|question| {
        let mut list = vec!["127.0.0.1"; 200];
        list.push("127.0.0.2");
        addresses(question, &list, 60)
    }));
    outcome(&named.get("long.city.test").await, Outcome::http(200));
    assert!(named.server.asked().iter().any(|question| question.tcp));
    named.leave().await;
}

#[tokio::test]
async fn dns_06() {
    let named = Named::new(server(|question| {
        let list: Vec<String> = (0..1000)
            .map(|n| format!("127.0.{}.{}", n / 250, n % 250 + 1))
            .collect();
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        addresses(question, &list, 60)
    }));
    let before = thread_time();
    outcome(&named.get("many.city.test").await, Outcome::http(200));
    assert!(thread_time() - before < Duration::from_secs(1));
    named.leave().await;
    // Sixteen are tried, not a thousand: this host answers at the seventeenth.
    let named = Named::new(server(|question| {
        let mut list: Vec<String> = (2..18).map(|n| format!("127.0.0.{n}")).collect();
        list.push("127.0.0.1".to_owned());
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        addresses(question, &list, 60)
    }));
    outcome(&named.get("late.city.test").await, Outcome::CONNECT_REFUSED);
    named.leave().await;
}

#[tokio::test]
async fn dns_07() {
    const DAY: u64 = 86_400;
    let years = i32::MAX.unsigned_abs();
    for (ttl, held) in [(0, 60), (7200, 7200), (years, DAY)] {
        let server = server(move |question| addresses(question, &["127.0.0.1"], ttl));
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
        let mut named = Named::new(server);
        named.visit.fetcher = HttpFetcher::new(
            asking(&named.server),
            Arc::clone(&clock) as Arc<dyn teia_base::Clock>,
        )
        .unwrap();
        let host = "ttl.city.test";
        outcome(&named.get(host).await, Outcome::http(200));
        // The rest of the time that the answer holds is a little less by now.
        clock.advance(Duration::from_secs(held - 30));
        outcome(&named.get(host).await, Outcome::http(200));
        assert_eq!(named.asked(host), 2, "ttl {ttl}: kept");
        clock.advance(Duration::from_secs(31));
        outcome(&named.get(host).await, Outcome::http(200));
        assert_eq!(named.asked(host), 4, "ttl {ttl}: asked again");
        // However long it holds: where it leads to is judged at each connection.
        let own = teia_fetch::refuse_own(named.visit.door.address());
        let connections = named.visit.door.connections();
        outcome(&named.get(host).await, Outcome::ADDR_BLOCKED);
        assert_eq!(named.asked(host), 4, "by the answer that is kept");
        assert_eq!(named.visit.door.connections(), connections);
        drop(own);
        named.leave().await;
    }
}

#[tokio::test]
async fn dns_13() {
    const TRIES: u32 = 50;
    // IPv6 leads nowhere, IPv4 works.
    let named = Named::new(server(|question| {
        addresses(question, &["127.0.0.1", "::1"], 60)
    }));
    outcome(&named.get("both.city.test").await, Outcome::http(200));
    named.leave().await;
    // IPv6 alone.
    if tokio::net::TcpListener::bind("[::1]:0").await.is_err() {
        eprintln!("SKIPPED dns_13: this machine has no IPv6");
        return;
    }
    // A port that is free at one address may be somebody else's at the other.
    let mut found = None;
    for _ in 0..TRIES {
        let listener = tokio::net::TcpListener::bind("[::1]:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        if let Ok(silent) = silent((Ipv4Addr::LOCALHOST, port).into()) {
            found = Some((listener, port, silent));
            break;
        }
    }
    let (listener, port, _silent) = found.expect("a port that is free at both addresses");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nsix";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    });
    let named = Named::new(server(|question| addresses(question, &["::1"], 60)));
    let url = format!("http://six.city.test:{port}/");
    let exchange = get(&named.visit.fetcher, &url).await;
    outcome(&exchange, Outcome::http(200));
    named.leave().await;
    // The first address says nothing at all: the other one is tried beside it after a head start, and long before the
    // first has failed.
    let both = server(|question| addresses(question, &["127.0.0.1", "::1"], 60));
    let config = FetchConfig {
        connect_timeout: Duration::from_secs(500),
        timeout: Duration::from_secs(20),
        ..asking(&both)
    };
    let named = Named::with(both, config);
    let began = Instant::now();
    let exchange = get(&named.visit.fetcher, &url).await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(crate::support::body(&exchange), b"six");
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_millis(250),
        "{waited:?}: no head start"
    );
    named.leave().await;
    // And the other way about.
    for tries in 1.. {
        let both = server(|question| addresses(question, &["127.0.0.1", "::1"], 60));
        let named = Named::new(both);
        let six = (Ipv6Addr::LOCALHOST, named.visit.door.address().port());
        let Ok(_silent) = silent(six.into()) else {
            assert!(tries < TRIES, "a port that is free at both addresses");
            continue;
        };
        outcome(&named.get("both.city.test").await, Outcome::http(200));
        named.leave().await;
        break;
    }
}

/// An address that takes no connection and refuses none: as many wait for it as it lets in. All of them are to be kept.
fn silent(address: SocketAddr) -> std::io::Result<Vec<socket2::Socket>> {
    use socket2::{Domain, Socket, Type};
    let family = Domain::for_address(address);
    let listener = Socket::new(family, Type::STREAM, None)?;
    if address.is_ipv6() {
        listener.set_only_v6(true)?;
    }
    listener.bind(&address.into())?;
    listener.listen(0)?;
    let mut open = vec![listener];
    loop {
        let waiting = Socket::new(family, Type::STREAM, None)?;
        let is_in = waiting.connect_timeout(&address.into(), Duration::from_millis(300));
        open.push(waiting);
        match is_in {
            Ok(()) => assert!(open.len() < 100, "it lets everybody in"),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => return Ok(open),
            Err(error) => return Err(error),
        }
    }
}

#[tokio::test]
async fn dns_14() {
    let named = Named::new(server(here));
    let long_label = format!("{}.city.test", "a".repeat(64));
    let long_name = format!("{}city.test", "abcdefghi.".repeat(25));
    for host in [&long_label, &long_name, "a..city.test", "-a.city.test"] {
        let url = format!("http://{host}:{}/", named.visit.door.address().port());
        match url.parse() {
            Ok(url) => {
                let url: url::Url = url;
                outcome(
                    &get(&named.visit.fetcher, url.as_str()).await,
                    Outcome::URL_INVALID,
                );
            }
            Err(error) => {
                let _: url::ParseError = error;
            }
        }
    }
    assert_eq!(
        named.server.asked(),
        [],
        "nothing was cut to fit and looked up"
    );
    outcome(
        &named.get("under_score.city.test").await,
        Outcome::http(200),
    );
    named.leave().await;
}

#[tokio::test]
async fn dns_15() {
    let server = server(here);
    let door = page_door();
    let config = FetchConfig {
        allow_private: false,
        ..asking(&server)
    };
    let visit = Visit::at(door, config);
    for host in [
        "intranet",
        "printer.local",
        "metadata.internal",
        "hidden.onion",
        "router.home.arpa",
        "localhost",
        "localhost.",
        "foo.localhost",
    ] {
        let exchange = get(&visit.fetcher, &visit.door.named(host, "/")).await;
        assert_eq!(exchange.outcome, Outcome::ADDR_BLOCKED, "{host}");
    }
    assert_eq!(server.asked(), [], "nobody was asked");
    let named = Named::new(server);
    named.get("plain.city.test").await;
    let names: Vec<String> = named
        .server
        .asked()
        .into_iter()
        .map(|question| question.name)
        .collect();
    assert!(
        names.iter().all(|name| name == "plain.city.test"),
        "asked as absolute: {names:?}"
    );
    named.leave().await;
}

#[test]
fn dns_17() {
    const HOSTS: usize = 4;
    let delay = Duration::from_millis(150);
    let server = server(here);
    let door = page_door();
    let mut config = crawl_config();
    config.fetch = asking(&server);
    config.politeness.key = PolitenessKey::Address;
    config.politeness.delay = delay;
    config.run.ignore_robots = true;
    let mut seeds = Vec::new();
    for n in 0..HOSTS {
        for path in ["/", "/next", "/last", "/trick"] {
            seeds.push(door.named(&format!("h{n}.city.test"), path));
        }
    }
    let crawled = crawl(&config, &seeds);
    assert_eq!(
        crawled.report.fetched,
        4 * HOSTS as u64,
        "{:?}",
        crawled.told()
    );
    // Who answers for a host is looked up before it is asked: all of them share one gap from the first request on.
    let mut moments: Vec<_> = crawled.attempts.iter().map(|one| one.started).collect();
    moments.sort();
    let close = moments
        .windows(2)
        .filter(|pair| pair[1].since(pair[0]) < delay)
        .count();
    assert_eq!(close, 0, "requests came too soon: {moments:?}");
}

#[tokio::test]
async fn dns_a_question_without_answer_does_not_hold_up_the_other() {
    let named = Named::with_limit(
        server(|question| match question.kind {
            1 => here(question),
            _ => Reply::Silence,
        }),
        Duration::from_secs(20),
    );
    let began = Instant::now();
    outcome(&named.get("four.city.test").await, Outcome::http(200));
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    named.leave().await;
}

/// A name server that people run, in place of ours.
#[tokio::test]
async fn dns_with_a_real_name_server() {
    let port = std::net::UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let start = |program: &str| {
        std::process::Command::new(program)
            .args([
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--pid-file=",
                "--user=root",
                "--no-resolv",
                "--no-hosts",
                "--listen-address=127.0.0.1",
                "--bind-interfaces",
                &format!("--port={port}"),
                "--local=/test/",
                "--host-record=good.city.test,127.0.0.1",
                "--cname=alias.city.test,good.city.test",
            ])
            .stderr(Stdio::null())
            .spawn()
    };
    let spawned = start("dnsmasq").or_else(|_| start("/usr/sbin/dnsmasq"));
    let Ok(mut child) = spawned else {
        eprintln!("SKIPPED dns_with_a_real_name_server: there is no dnsmasq");
        return;
    };
    let door = page_door();
    let config = FetchConfig {
        name_servers: vec![SocketAddr::from(([127, 0, 0, 1], port))],
        resolve: Vec::new(),
        ..limits()
    };
    let mut found = Outcome::SYSTEM_ERROR;
    for _ in 0..40 {
        let fetcher = HttpFetcher::new(config.clone(), Arc::new(teia_base::SystemClock)).unwrap();
        found = get(&fetcher, &door.named(GOOD, "/")).await.outcome;
        if found == Outcome::http(200) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let fetcher = HttpFetcher::new(config, Arc::new(teia_base::SystemClock)).unwrap();
    let alias = get(&fetcher, &door.named("alias.city.test", "/"))
        .await
        .outcome;
    let gone = get(&fetcher, &door.named("gone.city.test", "/"))
        .await
        .outcome;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        (found, alias, gone),
        (
            Outcome::http(200),
            Outcome::http(200),
            Outcome::DNS_NXDOMAIN
        )
    );
}

/// Nothing is validated here, so a forged "no such name" is believed, but not for long; what a
/// validating name server says of a bogus answer (SERVFAIL) is asked again.
#[tokio::test]
async fn dns_18() {
    let forged = Arc::new(AtomicBool::new(true));
    let is_forged = Arc::clone(&forged);
    let server = server(move |question| match question.name.as_str() {
        "bogus.city.test" if is_forged.load(Ordering::SeqCst) => Reply::Error(2),
        _ if is_forged.load(Ordering::SeqCst) => Reply::Error(3),
        _ => here(question),
    });
    let door = page_door();
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
    let config = asking(&server);
    let fetcher =
        HttpFetcher::new(config, Arc::clone(&clock) as Arc<dyn teia_base::Clock>).unwrap();
    let (gone, bogus) = (
        door.named("gone.city.test", "/"),
        door.named("bogus.city.test", "/"),
    );
    outcome(&get(&fetcher, &gone).await, Outcome::DNS_NXDOMAIN);
    let exchange = get(&fetcher, &bogus).await;
    outcome(&exchange, Outcome::DNS_SERVFAIL);
    assert_eq!(exchange.outcome.retry(), Retry::Host, "temporary");
    forged.store(false, Ordering::SeqCst);
    outcome(&get(&fetcher, &gone).await, Outcome::DNS_NXDOMAIN);
    clock.advance(Duration::from_secs(301));
    for url in [&gone, &bogus] {
        outcome(&get(&fetcher, url).await, Outcome::http(200));
    }
    outcome(
        &get(&fetcher, &door.named(GOOD, "/next")).await,
        Outcome::http(200),
    );
}
