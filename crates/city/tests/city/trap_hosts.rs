//! Traps that are made of hosts, and pages that stand for "not found".

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use teia_base::scope::Scope;
use teia_base::{Flags, Outcome, SimulatedDisk};
use teia_city::{Door, NameServer, Question, Reply, Step};
use teia_engine::CollectionConfig;

use crate::support::{crawl_config, html, name_server, open_site};
use crate::trap::crawl_heard;

/// A door whose pages are told the port that it listens on.
fn open_hosts(page: impl Fn(u16, &str) -> Option<Vec<Step>> + Send + Sync + 'static) -> Door {
    let port = Arc::new(OnceLock::new());
    let told = Arc::clone(&port);
    let door = open_site(move |path| page(*told.get()?, path));
    port.set(door.address().port()).unwrap();
    door
}

/// Words that no other page has, and these links.
fn page(number: u64, links: impl Iterator<Item = String>) -> Vec<Step> {
    let mut text = String::new();
    for at in 0..60 {
        let _ = write!(text, "w{}x{at}y ", number * 60 + at);
    }
    for link in links {
        let _ = write!(text, "<a href='{link}'>x</a>");
    }
    html(text)
}

/// `/17` is page 17.
fn number(path: &str) -> Option<u64> {
    path.strip_prefix('/')?.parse().ok()
}

/// Everything may be followed; whoever is not stopped is stopped by this, and fails.
fn wide() -> CollectionConfig {
    let mut config = crawl_config();
    config.filter.scope = Scope::Any;
    config.filter.max_pages = Some(3000);
    config
}

/// The hosts that were asked, without port.
fn hosts_asked(door: &Door) -> BTreeSet<String> {
    let host = |head: &String| {
        let mut lines = head.lines();
        let line = lines.find(|line| line.to_ascii_lowercase().starts_with("host:"))?;
        let name = line.split_once(':')?.1.trim();
        Some(name.split(':').next()?.to_owned())
    };
    door.requests().iter().filter_map(host).collect()
}

fn count(hosts: &BTreeSet<String>, ending: &str) -> usize {
    hosts.iter().filter(|host| host.ends_with(ending)).count()
}

fn told<'a>(said: &'a [String], word: &str) -> Vec<&'a String> {
    said.iter().filter(|text| text.contains(word)).collect()
}

/// Every page of a host of the farm leads to three hosts more, and to one page of its own.
fn open_farm() -> Door {
    open_hosts(|port, path| {
        if let Some(own) = path.strip_prefix("/own") {
            return Some(page(
                1_000_000 + own.parse::<u64>().ok()?,
                std::iter::empty(),
            ));
        }
        let number = number(path)?;
        let own = std::iter::once(format!("/own{number}"));
        let more = (1..4).map(move |at| {
            let next = number * 3 + at;
            format!("http://h{next}.farm.test:{port}/{next}")
        });
        Some(page(number, own.chain(more)))
    })
}

#[test]
fn trap_09() {
    let door = open_farm();
    let mut config = wide();
    config.traps.hosts_per_domain = 30;
    let disk = SimulatedDisk::new();
    let seeds = [door.named("h0.farm.test", "/0"), door.url("/next")];
    let (crawled, said) = crawl_heard(&disk, &config, &seeds);
    let first = hosts_asked(&door);
    assert_eq!(count(&first, ".farm.test"), 30, "{said:?}");
    // Those that were let in are collected to the end.
    let own = |head: &&String| head.starts_with("GET /own");
    assert_eq!(door.requests().iter().filter(own).count(), 30);
    assert!(crawled.report.states["excluded"] > 30 && crawled.report.waiting == 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let warning = told(&said, "*.farm.test");
    assert_eq!(warning.len(), 1, "told once: {said:?}");
    assert!(warning[0].contains("hosts-per-domain"), "{warning:?}");
    assert!(warning[0].contains(r"([^/]*[.])?farm\.test"), "{warning:?}");
    // Another process goes on with the same hosts.
    let (again, _) = crawl_heard(&disk, &config, &[door.named("other.test", "/9000")]);
    assert_eq!(count(&hosts_asked(&door), ".farm.test"), 30);
    assert_eq!(again.report.waiting, 0);
    // A person who allows it gets what was left out.
    config.traps.allow = vec!["*.farm.test".to_owned()];
    config.filter.max_pages = Some(100);
    crawl_heard(&disk, &config, &[]);
    assert!(count(&hosts_asked(&door), ".farm.test") > 50);
}

/// Settings that ask this name server for everything.
fn asking(server: &NameServer) -> CollectionConfig {
    let mut config = wide();
    config.fetch.resolve = Vec::new();
    config.fetch.name_servers = vec![server.address()];
    config
}

/// Any name leads to the same machine and to the same page; only the links of it are new.
#[test]
fn dns_12() {
    let server = name_server(|question: &Question| match question.kind {
        1 => Reply::Records(vec![teia_city::Record::new(
            &question.name,
            60,
            teia_city::Data::A([127, 0, 0, 1].into()),
        )]),
        _ => Reply::Records(Vec::new()),
    });
    let door = open_hosts(|port, path| {
        let number = number(path)?;
        let links: String = (1..4)
            .map(|at| {
                let next = number * 3 + at;
                format!("<a href='http://h{next}.wild.test:{port}/{next}'>more</a>")
            })
            .collect();
        Some(html(format!(
            "<p>Welcome, whoever you are looking for.</p>{links}"
        )))
    });
    let seeds = [door.named("h0.wild.test", "/0"), door.url("/next")];
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &asking(&server), &seeds);
    let asked = count(&hosts_asked(&door), ".wild.test");
    // Fifty show it; those that were named before are asked as well.
    assert!((50..300).contains(&asked), "{asked} {said:?}");
    let warning = told(&said, "*.wild.test");
    assert_eq!(warning.len(), 1, "{said:?}");
    assert!(
        warning[0].contains("in a row show the same page"),
        "{warning:?}"
    );
    assert!(crawled.report.states["excluded"] > 0 && crawled.report.waiting == 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn trap_10() {
    let door = open_hosts(|port, path| {
        let number = number(path)?;
        let links = (1..4).map(move |at| {
            let next = number * 3 + at;
            format!("http://d{next}.test:{port}/{next}")
        });
        Some(page(number, links))
    });
    let mut config = wide();
    config.traps.hosts_per_block = 40;
    let seeds = [door.named("d0.test", "/0"), door.url("/next")];
    let disk = SimulatedDisk::new();
    let (crawled, said) = crawl_heard(&disk, &config, &seeds);
    let asked = count(&hosts_asked(&door), ".test");
    assert!((40..400).contains(&asked), "{asked}: {said:?}");
    assert_eq!(told(&said, "from 127.0.0.0/24").len(), 1, "{said:?}");
    assert!(crawled.report.states["excluded"] > 0 && crawled.report.waiting == 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    // Closed, it stays so.
    crawl_heard(&disk, &config, &[door.named("d9000.test", "/9000")]);
    assert_eq!(count(&hosts_asked(&door), ".test"), asked + 1);
}

#[test]
fn trap_16() {
    let door = open_hosts(|port, path| match path {
        "/spam" => {
            let links = (0..500).map(move |at| format!("http://n{at}.test:{port}/{at}"));
            Some(page(7777, links))
        }
        "/list" => {
            let links = [format!("http://n499.test:{port}/499")];
            Some(page(8888, links.into_iter()))
        }
        path => Some(page(number(path)?, std::iter::empty())),
    });
    let mut config = wide();
    config.traps.new_hosts = 200;
    let disk = SimulatedDisk::new();
    let seeds = [door.named("spam.test", "/spam"), door.url("/next")];
    let (crawled, said) = crawl_heard(&disk, &config, &seeds);
    let asked = hosts_asked(&door);
    let named = asked.iter().filter(|host| host.starts_with('n')).count();
    assert!((200..220).contains(&named), "{named}: {said:?}");
    assert_eq!(told(&said, "from *.spam.test").len(), 1, "{said:?}");
    assert!(crawled.report.states["excluded"] >= 280);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    assert!(!asked.contains("n499.test"));
    // What somebody else names as well is collected.
    crawl_heard(&disk, &config, &[door.named("honest.test", "/list")]);
    let again = hosts_asked(&door);
    assert!(again.contains("n499.test"));
    assert_eq!(again.len(), asked.len() + 2, "and nothing else");
}

#[test]
fn trap_18() {
    let door = open_hosts(|port, path| {
        if let Some(at) = path.strip_prefix("/to") {
            let location = format!("http://t{at}.test:{port}/{at}");
            return Some(vec![Step::say(format!(
                "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            ))]);
        }
        match path {
            "/index" => {
                let links = (0..300).map(move |at| format!("http://farm.test:{port}/to{at}"));
                Some(page(9999, links))
            }
            path => Some(page(number(path)?, std::iter::empty())),
        }
    });
    let mut config = wide();
    config.traps.new_hosts = 50;
    let seeds = [door.named("index.test", "/index"), door.url("/next")];
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    let asked = hosts_asked(&door);
    let targets = asked.iter().filter(|host| host.starts_with('t')).count();
    assert_eq!(targets, 50, "{said:?}");
    assert_eq!(told(&said, "from *.farm.test").len(), 1, "{said:?}");
    // The redirects themselves are accounted for.
    let redirects = crawled
        .attempts
        .iter()
        .filter(|one| one.outcome == Outcome::http(302));
    assert_eq!(redirects.count(), 300);
    assert_eq!(crawled.report.states["excluded"], 250);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

const MISSING: &str = "<title>Sorry</title><p>This page seems to have moved. Please use the menu.";

#[test]
fn trap_05() {
    let names = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "omega",
    ];
    let door = open_site(move |path| match path {
        "/" => {
            let links = names.iter().map(|name| format!("/{name}"));
            Some(page(
                1,
                links.chain(["/real".to_owned(), "/next".to_owned()]),
            ))
        }
        "/real" => Some(page(2, std::iter::empty())),
        "/robots.txt" | "/next" => None,
        // 200 for every path, and a link to one that nobody has made either.
        path => Some(html(format!("{MISSING}<a href='{path}-old'>menu</a>"))),
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(1000);
    let disk = SimulatedDisk::new();
    let (crawled, said) = crawl_heard(&disk, &config, &[door.url("/")]);
    let probes = door
        .requests()
        .iter()
        .filter(|head| head.contains("/zq"))
        .count();
    assert_eq!(probes, 1, "{:?}", crawled.told());
    assert!(
        said.iter().any(|text| text.contains("do not exist")),
        "{said:?}"
    );
    let marked: Vec<_> = crawled
        .attempts
        .iter()
        .filter(|one| one.detail.as_deref() == Some("the page that this host shows for any URL"))
        .collect();
    assert!(!marked.is_empty(), "{:?}", crawled.told());
    for one in &marked {
        assert!(one.flags.has(Flags::NOINDEX) && one.links.is_empty());
    }
    // Pages that say something are as they always were, and the series has an end.
    for path in ["/", "/real", "/next"] {
        let one = crawled.last(&door.url(path));
        assert!(
            one.outcome.is_ok() && !one.flags.has(Flags::NOINDEX),
            "{path}"
        );
    }
    assert!(door.requests().len() < 60, "{}", door.requests().len());
    assert_eq!(crawled.report.waiting, 0);
    // The probe is no URL of the collection.
    assert!(crawled.report.known_urls < 60);
    config.traps.probe = false;
    crawl_heard(&SimulatedDisk::new(), &config, &[door.url("/")]);
    let asked = door.requests();
    assert_eq!(asked.iter().filter(|head| head.contains("/zq")).count(), 1);
}

/// A maze whose directories are new for ever: the whole host is left out.
#[test]
fn trap_06_over_a_whole_host() {
    let door = open_site(|path| {
        if matches!(path, "/next" | "/robots.txt") {
            return None;
        }
        let mut state = path.bytes().fold(7_u64, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        let mut draw = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut text = String::new();
        for _ in 0..150 {
            let _ = write!(text, "v{} ", draw(800));
        }
        let letters = |mut drawn: u64| -> String {
            let mut name = String::new();
            for _ in 0..6 {
                name.push(char::from(b'a' + u8::try_from(drawn % 26).unwrap()));
                drawn /= 26;
            }
            name
        };
        for _ in 0..3 {
            let _ = write!(
                text,
                "<a href='/{}/{}'>x</a>",
                letters(draw(1 << 30)),
                letters(draw(1 << 30))
            );
        }
        Some(html(text))
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(3000);
    config.traps.maze_pages = 40;
    let seeds = [door.url("/start/here"), door.url("/next")];
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    assert!(
        (200..600).contains(&door.requests().len()),
        "{} {said:?}",
        door.requests().len()
    );
    let warning = told(&said, "looks like a trap");
    assert_eq!(warning.len(), 1, "told once: {said:?}");
    assert!(warning[0].starts_with("127.0.0.1/** looks"), "{warning:?}");
    assert!(crawled.report.states["excluded"] > 0 && crawled.report.waiting == 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

const NAMES: u32 = 50;
const PAGES: u64 = 150;

/// Fifty names for one content, asked in step: one is collected, of the others samples.
#[test]
fn trap_11() {
    let door = open_site(|path| {
        let number = number(path)?;
        let links = [number * 2 + 1, number * 2 + 2]
            .into_iter()
            .filter(|next| *next < PAGES);
        Some(page(number, links.map(|next| format!("/{next}"))))
    });
    let mut config = crawl_config();
    config.run.alias_pages = 20;
    let host = |at: u32| format!("m{at}.test");
    let seeds: Vec<String> = (0..NAMES).map(|at| door.named(&host(at), "/0")).collect();
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    let mut fetched: HashMap<&str, u64> = HashMap::new();
    let mut skipped: BTreeSet<&str> = BTreeSet::new();
    for attempt in &crawled.attempts {
        let name = attempt.url.normal().host_str();
        if attempt.outcome.is_ok() && number(attempt.url.normal().path_and_query()).is_some() {
            *fetched.entry(name).or_default() += 1;
        } else if attempt.outcome == Outcome::ALIAS_HOST {
            skipped.insert(name);
        }
    }
    let whole: Vec<_> = fetched
        .iter()
        .filter(|(_, count)| **count == PAGES)
        .collect();
    assert_eq!(whole.len(), 1, "{fetched:?}");
    assert_eq!(skipped.len(), 49, "{said:?}");
    // Each is found out once, and none of them is let go for a sample.
    let aliases = told(&said, "serves the same pages as");
    let lifted = told(&said, "does not serve the same pages");
    assert_eq!((aliases.len(), lifted.len()), (49, 0), "{said:?}");
    let all: u64 = fetched.values().sum();
    assert!(all < u64::from(NAMES) * PAGES / 2, "{all} pages");
    assert_eq!(crawled.report.waiting, 0);
}

/// A server that shows other things to crawlers: what was shown to us is what is kept, and nobody is
/// asked under another name to find out.
#[test]
fn trap_12() {
    let door = open_site(|path| (path == "/").then(|| page(3, std::iter::empty())));
    let config = crawl_config();
    let seeds = [door.url("/"), door.url("/next")];
    let (crawled, _) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    assert!(seeds.iter().all(|seed| crawled.last(seed).outcome.is_ok()));
    let name = format!("user-agent: {}", config.fetch.user_agent);
    for head in door.requests() {
        let lines = head
            .lines()
            .filter(|line| line.to_ascii_lowercase().starts_with("user-agent:"));
        let lines: Vec<&str> = lines.collect();
        assert!(
            lines.len() == 1 && lines[0].eq_ignore_ascii_case(&name),
            "{head}"
        );
    }
}
