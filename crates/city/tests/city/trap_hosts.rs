//! Traps that are made of hosts, and pages that stand for "not found".

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use teia_base::filter::{Candidate, Filter, Verdict};
use teia_base::scope::Scope;
use teia_base::{Flags, Outcome, SimulatedDisk};
use teia_city::{Door, NameServer, Question, Reply, Step};
use teia_engine::{CollectionConfig, Mode, Parts, TrapsConfig};

use crate::searching::Searchable;
use crate::support::{Crawled, crawl_config, html, name_server, open_site};
use crate::trap::{crawl_heard, crawl_with_parts};

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
const SOLD_OUT: &str =
    "<title>Shop</title><p>Nothing of this name is on sale. Look at the shelves.";

#[test]
fn trap_05() {
    let names = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "omega",
    ];
    let door = open_site(move |path| match path {
        "/" => {
            let links = names
                .iter()
                .flat_map(|name| [format!("/{name}"), format!("/shop/{name}")]);
            let honest = ["/real", "/shop/real", "/next"].map(str::to_owned);
            Some(page(1, links.chain(honest)))
        }
        "/real" => Some(html("<p>A chronometer from the house of clocks")),
        "/shop/real" => Some(html("<p>A barometer from the house of weather")),
        "/robots.txt" | "/next" | "/last" => None,
        // 200 for every path, and a link to one that nobody has made either; each directory in its own words.
        path => {
            let words = if path.starts_with("/shop/") {
                SOLD_OUT
            } else {
                MISSING
            };
            Some(html(format!("{words}<a href='{path}-old'>menu</a>")))
        }
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(1000);
    let disk = SimulatedDisk::new();
    let (crawled, said) = crawl_heard(&disk, &config, &[door.url("/")]);
    let probes = |directory: &str| {
        let asked = format!("GET {directory}zq");
        let requests = door.requests();
        requests
            .iter()
            .filter(|head| head.starts_with(&asked))
            .count()
    };
    assert_eq!(
        (probes("/"), probes("/shop/")),
        (1, 1),
        "{:?}",
        crawled.told()
    );
    let told = said.iter().filter(|text| text.contains("do not exist"));
    assert_eq!(told.count(), 2, "{said:?}");
    let marked: Vec<_> = crawled
        .attempts
        .iter()
        .filter(|one| one.detail.as_deref() == Some("the page that this host shows for any URL"))
        .collect();
    for one in &marked {
        assert!(one.flags.has(Flags::NOINDEX) && one.links.is_empty());
    }
    // Those that came before the answer are left out as well: three of each kind, or more where many came at once. Each of
    // them has led to one more.
    let before = usize::try_from(crawled.report.states["excluded"]).unwrap();
    assert!(before >= 6, "{:?}", crawled.told());
    let missing = 2 * names.len() + before;
    assert_eq!(marked.len(), missing - before, "{:?}", crawled.told());
    // Pages that say something are as they always were, and the series has an end.
    for path in ["/", "/real", "/shop/real", "/next"] {
        let one = crawled.last(&door.url(path));
        assert!(
            one.outcome.is_ok() && !one.flags.has(Flags::NOINDEX),
            "{path}"
        );
    }
    assert_eq!(crawled.report.waiting, 0);
    // The probes are no URLs of the collection.
    assert_eq!(crawled.report.known_urls, missing as u64 + 5);
    // People find what is there, and nothing that is not.
    let searchable = Searchable::new(&config, &[door.url("/")]);
    assert_eq!(searchable.found("chronometer"), [door.url("/real")]);
    assert_eq!(searchable.found("barometer"), [door.url("/shop/real")]);
    for words in ["moved", "sorry", "sale", "shelves", "menu"] {
        assert_eq!(searchable.found(words), [""; 0], "{words}");
    }
    let asked = probes("/");
    config.traps.probe = false;
    crawl_heard(&SimulatedDisk::new(), &config, &[door.url("/")]);
    assert_eq!(probes("/"), asked);
}

/// Lets nobody read a page before the host was asked for this path: pages that the host has sent by then are read one after
/// the other, and no answer to a question of ours comes between them.
#[derive(Debug)]
struct Late {
    door: Arc<Door>,
    path: &'static str,
}

impl Filter for Late {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        let is_worker = std::thread::current()
            .name()
            .is_some_and(|name| name.starts_with("teia-worker"));
        let is_own = link.from.is_none() && link.url.path_and_query().starts_with("/shop/");
        let asked = format!("GET {} ", self.path);
        let mut patience = 1000;
        while is_worker
            && is_own
            && patience > 0
            && !self
                .door
                .requests()
                .iter()
                .any(|head| head.starts_with(&asked))
        {
            std::thread::sleep(Duration::from_millis(20));
            patience -= 1;
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// Twelve pages that stand for "not found" have come before the host can be asked what it shows for such a URL, and an honest
/// one lies beside them.
fn crawl_late(traps: TrapsConfig) -> (Arc<Door>, Crawled, Vec<String>) {
    let door = Arc::new(open_site(|path| match path {
        "/" => {
            let links = (b'a'..b'm').map(|letter| format!("/shop/{}", char::from(letter)));
            Some(page(1, links.chain(["/hop".to_owned()])))
        }
        // Until then all of them are read.
        "/hop" => {
            let mut steps = vec![Step::Wait(Duration::from_millis(500))];
            steps.extend(page(2, ["/shop/real".to_owned()].into_iter()));
            Some(steps)
        }
        "/shop/real" => Some(html("<p>A barometer from the house of weather")),
        path if path.starts_with("/shop/") => {
            Some(html(format!("{SOLD_OUT}<a href='{path}-old'>menu</a>")))
        }
        _ => None,
    }));
    let mut config = crawl_config();
    config.traps = traps;
    let filter = Late {
        door: Arc::clone(&door),
        path: "/hop",
    };
    let parts = Parts {
        filter: Some(Arc::new(filter)),
        ..Parts::default()
    };
    let (crawled, said) = crawl_with_parts(&SimulatedDisk::new(), &config, &[door.url("/")], parts);
    (door, crawled, said)
}

#[test]
fn trap_05_costs_no_honest_page_however_late_the_host_is_asked() {
    let (door, crawled, said) = crawl_late(TrapsConfig::default());
    let real = crawled.last(&door.url("/shop/real"));
    assert!(real.outcome.is_ok(), "{:?} {said:?}", real.outcome);
    assert_eq!(told(&said, "looks like a trap"), [""; 0]);
    assert_eq!(told(&said, "do not exist").len(), 1, "{said:?}");
    assert_eq!(crawled.report.waiting, 0);
}

#[test]
fn trap_05_lifts_what_was_taken_for_a_trap_before_the_host_was_asked() {
    let (door, crawled, said) = crawl_late(TrapsConfig {
        repeats: 1,
        ..TrapsConfig::default()
    });
    let found = told(&said, "looks like a trap");
    assert_eq!(found.len(), 1, "{said:?}");
    assert!(found[0].contains("/shop/**"), "{found:?}");
    let real = crawled.last(&door.url("/shop/real"));
    assert!(real.outcome.is_ok(), "{:?} {said:?}", real.outcome);
    assert_eq!(crawled.report.waiting, 0);
    // Nor is it a trap for the next process.
    let config = crawl_config();
    let seeds = [door.url("/shop/other")];
    let (again, _) = crawl_heard(&crawled.disk, &config, &seeds);
    let other = again.last(&seeds[0]);
    assert!(other.outcome.is_ok(), "{:?}", other.outcome);
    let old = |head: &String| head.starts_with("GET /shop/other-old ");
    assert!(door.requests().iter().any(old));
}

const HOME: &str = "<title>Acme Clocks</title><p>Welcome to the chronometer shop of Acme in the old town. \
    <a href=/real1>first</a><a href=/real2>second</a>";

/// Like many sites: who asks for what is not there is shown the start page.
fn open_home() -> Door {
    open_site(|path| {
        let old = (1..6).map(|at| format!("/old{at}"));
        match path {
            "/robots.txt" => None,
            "/real1" => Some(page(11, old)),
            "/real2" => Some(page(12, std::iter::empty())),
            // A long way home.
            "/hop9" => Some(page(39, ["/".to_owned()].into_iter())),
            path => match path
                .strip_prefix("/hop")
                .and_then(|at| at.parse::<u64>().ok())
            {
                Some(at) => {
                    let next = format!("/hop{}", at + 1);
                    Some(page(30 + at, [next].into_iter()))
                }
                None => Some(html(HOME)),
            },
        }
    })
}

/// Three runs of a periodic collection: after each of them exactly one page of many is found by a word that all of them
/// say, and it is this one, if any is named.
#[track_caller]
fn is_one_left(door: &Door, seeds: &[&str], word: &str, one: Option<&str>) {
    let seeds: Vec<String> = seeds.iter().map(|path| door.url(path)).collect();
    let mut config = crawl_config();
    config.mode = Mode::Periodic;
    let searchable = Searchable::new(&config, &seeds);
    let disk = SimulatedDisk::new();
    for run in 1..=3 {
        if run > 1 {
            searchable.again(&config, &seeds);
        }
        let found = searchable.found(word);
        assert_eq!(found.len(), 1, "run {run}: {found:?}");
        let (crawled, said) = crawl_heard(&disk, &config, &seeds);
        assert_eq!(told(&said, "do not exist").len(), 1, "run {run}: {said:?}");
        assert_eq!(crawled.report.waiting, 0);
        let Some(path) = one else { continue };
        assert_eq!(found, [door.url(path)], "run {run}");
        let attempt = crawled.last(&door.url(path));
        assert_eq!(attempt.visit, run);
        assert!(!attempt.flags.has(Flags::NOINDEX) && !attempt.links.is_empty());
    }
}

#[test]
fn trap_05_keeps_the_start_page_where_it_is_what_is_shown_for_any_url() {
    is_one_left(&open_home(), &["/"], "chronometer", Some("/"));
}

/// It is met when everything is known already, and takes the place of a seed that showed the same; what it leads to is
/// fetched.
#[test]
fn trap_05_keeps_the_start_page_that_comes_last() {
    let door = open_home();
    let seeds = ["/old1", "/old2", "/old3", "/old4", "/hop1"];
    is_one_left(&door, &seeds, "chronometer", Some("/"));
    assert!(door.asked("/real2") > 0);
}

/// Without a start page, one of the seeds stays.
#[test]
fn trap_05_keeps_one_seed_of_those_that_show_the_same() {
    let seeds = ["/old1", "/old2", "/old3", "/old4"];
    is_one_left(&open_home(), &seeds, "chronometer", None);
}

/// A program of the browser's: the server has one page, whatever it is asked for.
#[test]
fn trap_05_keeps_the_one_page_of_a_program() {
    let door = open_site(|path| {
        (path != "/robots.txt").then(|| {
            let links = "<a href=/about></a><a href=/team></a><a href=/jobs></a>";
            html(format!(
                "<title>App</title><div id=root>Loading</div>{links}"
            ))
        })
    });
    is_one_left(&door, &["/"], "loading", Some("/"));
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
