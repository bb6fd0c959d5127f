//! Trouble of our own machine: its network, its name server, its clock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use teia_base::journal::Next;
use teia_base::scope::Scope;
use teia_base::{Clock, Files, Outcome, SimulatedDisk, SystemClock, Timestamp};
use teia_city::{Blemish, Corner, Data, Question, Record, Reply, Step, TlsTrick, Trick};
use teia_engine::{CollectionConfig, Company, Control, Event, Feedback, Layout, Level, Parts};
use teia_frontier::PolitenessKey;

use crate::arc::unpacked;
use crate::support::{Crawled, crawl_by, crawl_config, html, name_server, open, open_site};

/// Hears what the run says; whoever makes trouble looks whether it was noticed.
#[derive(Debug, Default)]
struct Ear {
    said: Mutex<Vec<String>>,
    noticed: Arc<AtomicBool>,
}

impl Feedback for Ear {
    fn hear(&self, event: &Event) {
        if let Event::Notice {
            level: Level::Warning,
            text,
        } = event
        {
            self.said.lock().unwrap().push(text.clone());
            self.noticed.store(true, Ordering::SeqCst);
        }
    }
}

fn crawl_with(
    config: &CollectionConfig,
    seeds: &[String],
    noticed: &Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
) -> (Crawled, Vec<String>) {
    crawl_on(&SimulatedDisk::new(), config, seeds, noticed, clock)
}

fn crawl_on(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
    noticed: &Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
) -> (Crawled, Vec<String>) {
    let ear = Arc::new(Ear {
        said: Mutex::default(),
        noticed: Arc::clone(noticed),
    });
    let parts = Parts {
        feedback: Arc::clone(&ear) as Arc<dyn Feedback>,
        clock,
        ..Parts::default()
    };
    let own = (parts, Control::default());
    let crawled = crawl_by(disk, config, seeds, own);
    let said = ear.said.lock().unwrap().clone();
    (crawled, said)
}

/// As in life: five tries, and some time between them.
fn patient() -> CollectionConfig {
    let mut config = crawl_config();
    config.politeness.retry_wait = Duration::from_millis(200);
    config.run.retries = 4;
    config.filter.scope = Scope::Any;
    // Pages that say little are not what this is about.
    config.traps.enabled = false;
    config
}

/// No URL was lost to it, it was told once, and that it is over too.
#[track_caller]
fn check_outage(crawled: &Crawled, said: &[String], words: [&str; 2]) {
    for word in words {
        let count = said.iter().filter(|text| text.contains(word)).count();
        assert_eq!(count, 1, "{word}: {said:?}");
    }
    let states = &crawled.report.states;
    assert_eq!(states.get("failed").copied().unwrap_or(0), 0, "{states:?}");
    assert_eq!(crawled.report.waiting, 0, "{states:?}");
    assert!(!crawled.attempts.iter().any(|one| one.next == Next::Failed));
}

const HOSTS: usize = 8;
const PAGES: usize = 20;

/// A chain of pages on each host.
fn chain(path: &str) -> Option<Vec<Step>> {
    let number: usize = path.strip_prefix("/p")?.parse().ok()?;
    let next = number + 1;
    let link = match next {
        next if next < PAGES => format!("<a href=/p{next}>x</a>"),
        _ => String::new(),
    };
    Some(html(format!("page {number}{link}")))
}

/// Every connection breaks, to all hosts alike, until it was noticed and two more were tried.
#[test]
fn env_19() {
    let noticed = Arc::new(AtomicBool::new(false));
    let (told, served, refused) = (
        Arc::clone(&noticed),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let door = open_site(move |path| {
        let is_down = served.load(Ordering::SeqCst) >= 60
            && !(told.load(Ordering::SeqCst) && refused.load(Ordering::SeqCst) >= 2);
        if is_down {
            if told.load(Ordering::SeqCst) {
                refused.fetch_add(1, Ordering::SeqCst);
            }
            return Some(vec![Step::Close]);
        }
        served.fetch_add(1, Ordering::SeqCst);
        chain(path)
    });
    let seeds: Vec<String> = (0..HOSTS)
        .map(|at| door.named(&format!("h{at}.test"), "/p0"))
        .collect();
    let (crawled, said) = crawl_with(&patient(), &seeds, &noticed, Arc::new(SystemClock));
    check_outage(
        &crawled,
        &said,
        ["network of this machine", "reached again"],
    );
    let good = crawled
        .attempts
        .iter()
        .filter(|one| one.outcome.is_ok() && one.next == Next::Done);
    assert_eq!(good.count(), HOSTS * PAGES, "{:?}", crawled.told());
    let broken = crawled
        .attempts
        .iter()
        .filter(|one| one.outcome == Outcome::CONNECT_FAILED);
    let broken = broken.count();
    assert!(broken < 80, "{broken}: it rested");
}

/// Hosts that really are gone, while others answer: nothing is paused, and their URLs wait for their robots.txt.
#[test]
fn env_19_hosts_in_trouble_are_not_the_network() {
    let door = open_site(chain);
    let dead = open_site(|_| Some(vec![Step::Close]));
    let mut seeds: Vec<String> = (0..HOSTS)
        .map(|at| door.named(&format!("h{at}.test"), "/p0"))
        .collect();
    seeds.extend((0..HOSTS).map(|at| dead.named(&format!("d{at}.test"), "/p0")));
    let mut config = patient();
    config.run.retries = 1;
    config.politeness.retry_wait = Duration::from_millis(20);
    let noticed = Arc::default();
    let (crawled, said) = crawl_with(&config, &seeds, &noticed, Arc::new(SystemClock));
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(crawled.count("failed"), 0, "{:?}", crawled.told());
    assert_eq!(crawled.report.waiting, HOSTS as u64);
}

/// Each page leads to a host that was never asked for, and from some point on no name is found.
#[test]
fn dns_19() {
    let noticed = Arc::new(AtomicBool::new(false));
    let (told, answered, silent) = (
        Arc::clone(&noticed),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let server = name_server(move |question: &Question| {
        let is_down = answered.load(Ordering::SeqCst) >= 40
            && !(told.load(Ordering::SeqCst) && silent.load(Ordering::SeqCst) >= 4);
        if is_down {
            if told.load(Ordering::SeqCst) {
                silent.fetch_add(1, Ordering::SeqCst);
            }
            return Reply::Error(2);
        }
        answered.fetch_add(1, Ordering::SeqCst);
        match question.kind {
            1 => {
                let data = Data::A([127, 0, 0, 1].into());
                Reply::Records(vec![Record::new(&question.name, 60, data)])
            }
            _ => Reply::Records(Vec::new()),
        }
    });
    let port = Arc::new(OnceLock::new());
    let own = Arc::clone(&port);
    let door = open_site(move |path| {
        let port: &u16 = own.get()?;
        let (chain, number) = path.strip_prefix("/c")?.split_once('n')?;
        let next = number.parse::<usize>().ok()? + 1;
        let link = match next {
            next if next < 10 => {
                format!("<a href='http://c{chain}n{next}.test:{port}/c{chain}n{next}'>x</a>")
            }
            _ => String::new(),
        };
        Some(html(format!("page {path}{link}")))
    });
    port.set(door.address().port()).unwrap();
    let seeds: Vec<String> = (0..HOSTS)
        .map(|at| door.named(&format!("c{at}n0.test"), &format!("/c{at}n0")))
        .collect();
    let mut config = patient();
    config.fetch.resolve = Vec::new();
    config.fetch.name_servers = vec![server.address()];
    let (crawled, said) = crawl_with(&config, &seeds, &noticed, Arc::new(SystemClock));
    check_outage(
        &crawled,
        &said,
        ["name server seems to be gone", "looked up again"],
    );
    let good = crawled
        .attempts
        .iter()
        .filter(|one| one.outcome.is_ok() && one.next == Next::Done);
    assert_eq!(good.count(), HOSTS * 10, "{:?}", crawled.told());
}

/// One page is full of names whose zones answer nothing: our name server is well, and what is of others is fetched.
#[test]
fn dns_19_silent_zones_are_not_the_name_server() {
    for zones in [1, 6] {
        let server = name_server(|question: &Question| match question.kind {
            _ if question.name.contains("evil") => Reply::Error(2),
            1 => {
                let data = Data::A([127, 0, 0, 1].into());
                Reply::Records(vec![Record::new(&question.name, 60, data)])
            }
            _ => Reply::Records(Vec::new()),
        });
        let links: String = (0..120)
            .map(|at| format!("<img src='http://h{at}.evil{}.test/x.png'>", at % zones))
            .collect();
        let door = open_site(move |path| match path {
            "/p0" => Some(html(format!("{links}<a href=/p1>on</a>"))),
            _ => chain(path),
        });
        let seeds = ["a.test", "b.test"].map(|host| door.named(host, "/p0"));
        let mut config = patient();
        config.run.retries = 0;
        config.politeness.delay = Duration::from_millis(100);
        config.fetch.resolve = Vec::new();
        config.fetch.name_servers = vec![server.address()];
        let noticed = Arc::default();
        let (crawled, said) = crawl_with(&config, &seeds, &noticed, Arc::new(SystemClock));
        assert!(said.is_empty(), "{zones}: {said:?}");
        let good = crawled.attempts.iter().filter(|one| one.outcome.is_ok());
        let good = good.filter(|one| one.url.request().contains("/p"));
        assert_eq!(good.count(), 2 * PAGES, "{zones}: {:?}", crawled.told());
    }
}

/// To a clock that is wrong by years every certificate has expired. What goes by no clock goes on meanwhile.
#[test]
fn tls_14() {
    const MANY: usize = 105;
    let door = open(&Corner {
        id: "case",
        name: "case",
        trick: Trick::Tls(TlsTrick::Certificate(Blemish::Expired), MANY + 3),
    });
    let seeds: Vec<String> = (0..MANY)
        .map(|at| door.named(&format!("h{at}.co.uk"), "/next"))
        .collect();
    let noticed = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&noticed);
    let after: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let served = Arc::clone(&after);
    // Pages without end, and twenty more from the alarm on.
    let plain = open_site(move |path| {
        let number: usize = path.strip_prefix("/p")?.parse().ok()?;
        let mut served = served.lock().unwrap();
        if told.load(Ordering::SeqCst) {
            served.push(Instant::now());
        }
        let link = match served.len() {
            ..PAGES if number < 400 => format!("<a href=/p{}>x</a>", number + 1),
            _ => String::new(),
        };
        Some(html(format!("page {number}{link}")))
    });
    let mut config = patient();
    // Nobody is asked again before all were asked once.
    config.politeness.retry_wait = Duration::from_secs(5);
    config.robots.first_retry = Duration::from_secs(5);
    config.politeness.delay = Duration::from_millis(20);
    config.fetch.resolve.push("*.co.uk=127.0.0.1".to_owned());
    config.run.max_time = Some(Duration::from_secs(120));
    config.politeness.latency_factor = 0;
    let all = [&seeds[..], &[plain.named("plain.test", "/p0")]].concat();
    let (crawled, said) = crawl_with(&config, &all, &noticed, Arc::new(SystemClock));
    let after = after.lock().unwrap();
    assert_eq!(after.len(), PAGES, "{said:?}");
    let lasted = after[PAGES - 1].duration_since(after[0]);
    assert!(lasted < Duration::from_secs(5), "{lasted:?}: http rested");
    check_outage(
        &crawled,
        &said,
        ["clock of this machine", "certificates are good again"],
    );
    for seed in &seeds {
        assert_eq!(crawled.last(seed).outcome, Outcome::http(200), "{seed}");
    }
    // It rested: hardly anybody was asked in vain after the alarm.
    assert!(door.connections() < 4 * MANY, "{}", door.connections());
}

/// One certificate that has expired, under as many names as its owner likes.
#[test]
fn tls_14_one_domain_is_not_the_clock() {
    let door = open(&Corner {
        id: "case",
        name: "case",
        trick: Trick::Tls(TlsTrick::Certificate(Blemish::Expired), usize::MAX),
    });
    let seeds: Vec<String> = (0..120)
        .map(|at| door.named(&format!("h{at}.city.test"), "/next"))
        .collect();
    let mut config = patient();
    config.run.retries = 0;
    let noticed = Arc::default();
    let (_, said) = crawl_with(&config, &seeds, &noticed, Arc::new(SystemClock));
    assert!(said.is_empty(), "{said:?}");
}

/// The machine's clock, with what somebody does to it.
#[derive(Debug)]
struct Moved {
    start: Instant,
    /// Seconds that are added to the wall.
    by: AtomicI64,
    frozen: AtomicBool,
    began: Timestamp,
}

impl Moved {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            by: AtomicI64::new(0),
            frozen: AtomicBool::new(false),
            began: SystemClock.wall(),
        })
    }
}

impl Clock for Moved {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> Timestamp {
        let passed = if self.frozen.load(Ordering::SeqCst) {
            Duration::ZERO
        } else {
            self.start.elapsed()
        };
        let by = self.by.load(Ordering::SeqCst) * 1_000_000;
        Timestamp::from_micros(self.began.plus(passed).as_micros() + by)
    }
}

/// The clock jumps in the middle of a crawl, while URLs wait for another try.
#[test]
fn env_09() {
    const DAY: i64 = 86_400;
    const GAP: Duration = Duration::from_millis(25);
    for (jump, is_frozen) in [
        (DAY, false),
        (-DAY, false),
        (3650 * DAY, false),
        (0, true),
        (1, false),
    ] {
        let clock = Moved::new();
        let (moved, served) = (Arc::clone(&clock), AtomicUsize::new(0));
        let asked: Arc<Mutex<Vec<(Instant, String)>>> = Arc::default();
        let failed: Mutex<HashMap<String, usize>> = Mutex::default();
        let log = Arc::clone(&asked);
        let door = open_site(move |path| {
            log.lock().unwrap().push((Instant::now(), path.to_owned()));
            if served.fetch_add(1, Ordering::SeqCst) == 15 {
                moved.by.store(jump, Ordering::SeqCst);
                moved.frozen.store(is_frozen, Ordering::SeqCst);
            }
            // Every page fails once, and is asked again later.
            let mut failed = failed.lock().unwrap();
            let times = failed.entry(path.to_owned()).or_default();
            *times += 1;
            if *times == 1 && path.starts_with("/p") {
                return Some(vec![Step::say(
                    "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
                )]);
            }
            chain(path)
        });
        let mut config = crawl_config();
        config.politeness.delay = GAP;
        config.politeness.latency_factor = 0;
        config.run.retries = 4;
        config.traps.enabled = false;
        let seeds = [door.url("/p0"), door.url("/next")];
        let noticed = Arc::default();
        let (crawled, said) = crawl_with(&config, &seeds, &noticed, clock);
        // Nothing waits for a day, and nothing is given up.
        assert_eq!(
            crawled.report.waiting, 0,
            "{jump}: {:?}",
            crawled.report.states
        );
        let good = crawled
            .attempts
            .iter()
            .filter(|one| one.outcome.is_ok() && one.url.request().contains("/p"));
        assert_eq!(good.count(), PAGES, "{jump}: {:?}", crawled.told());
        // No burst: politeness goes by the other clock.
        let asked = asked.lock().unwrap();
        for pair in asked.windows(2) {
            let gap = pair[1].0.duration_since(pair[0].0);
            assert!(gap >= GAP, "{jump}: {gap:?} before {}", pair[1].1);
        }
        // Dates never go back.
        let dates: Vec<Timestamp> = crawled.attempts.iter().map(|one| one.started).collect();
        assert!(dates.is_sorted(), "{jump}: {dates:?}");
        // One that stands still is told only after a while.
        assert!(
            is_frozen || said.is_empty() != (jump < 0),
            "{jump}: {said:?}"
        );
    }
}

/// The clock was wrong in one process and is right in the next one: nobody waits until it would have been right, and no archive
/// file has dates that go back.
#[test]
fn env_09_over_a_restart() {
    const DAY: i64 = 86_400;
    for jump in [3650 * DAY, DAY, 0] {
        let broken = Arc::new(AtomicBool::new(true));
        let is_broken = Arc::clone(&broken);
        let door = open_site(move |path| {
            if path == "/p1" && is_broken.load(Ordering::SeqCst) {
                return Some(vec![Step::say(
                    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                )]);
            }
            chain(path)
        });
        let mut config = crawl_config();
        config.politeness.retry_wait = Duration::from_secs(120);
        config.traps.enabled = false;
        let seeds = [door.url("/p0"), door.url("/p1")];
        let disk = SimulatedDisk::new();
        let clock = Moved::new();
        clock.by.store(jump, Ordering::SeqCst);
        let noticed = Arc::default();
        let (first, _) = crawl_on(&disk, &config, &seeds, &noticed, clock);
        assert_eq!(first.last(&seeds[1]).outcome, Outcome::http(503));
        assert!(first.report.waiting > 0, "{:?}", first.report.states);
        broken.store(false, Ordering::SeqCst);
        // A little after it was to be tried again, as a right clock has it; and once more after that.
        for (process, by) in [(2, 200), (3, 400)] {
            let clock = Moved::new();
            clock.by.store(by, Ordering::SeqCst);
            let (later, said) = crawl_on(&disk, &config, &seeds, &noticed, clock);
            let told = said.iter().filter(|text| text.contains("later than now"));
            let is_told = jump > 0 && process == 2;
            assert_eq!(told.count(), usize::from(is_told), "{jump}: {said:?}");
            // The second one does not know how much of the rest has passed, and gives the host all of it.
            if jump == 0 || (jump > DAY && process == 3) {
                let states = &later.report.states;
                assert_eq!(later.report.waiting, 0, "{jump}: {states:?}");
                assert!(later.last(&seeds[1]).outcome.is_ok(), "{jump}");
            }
        }
        // What is new is not dated before what stands before it.
        let folder = Layout::new("default").unwrap().archive();
        let names = disk.list(&folder).unwrap();
        let archives = names.iter().filter(|name| name.ends_with(".warc.gz"));
        let mut files = 0;
        for name in archives {
            let text = unpacked(&disk, &folder.join(name));
            let dates = text
                .lines()
                .filter_map(|line| line.strip_prefix("WARC-Date: "));
            let dates: Vec<Timestamp> = dates.filter_map(Timestamp::parse).collect();
            // Answers come in another order than they were asked for.
            let moment = Duration::from_secs(60);
            let steps = dates.windows(2).map(|pair| pair[0].since(pair[1]));
            assert!(
                steps.max().unwrap_or_default() < moment,
                "{jump}: {name}: {dates:?}"
            );
            files += 1;
        }
        assert!(files > usize::from(jump > DAY), "{jump}: {names:?}");
    }
}

/// Two collections of one process whose name servers say different things of one host: it is one host, with one gap. And
/// where addresses count, two names of one machine are one.
#[test]
fn dns_16() {
    const GAP: Duration = Duration::from_millis(40);
    let door = open_site(|path| {
        let number: u32 = path.strip_prefix("/p")?.parse().ok()?;
        let link = match number {
            0..12 => format!("<a href=/p{}>on</a>", number + 1),
            _ => String::new(),
        };
        Some(html(format!("page {number} {link}")))
    });
    // The second one knows another address as well, at which nobody is.
    let views = [vec![[127, 0, 0, 1]], vec![[127, 0, 0, 9], [127, 0, 0, 1]]].map(|list| {
        name_server(move |question: &Question| {
            let record =
                |address: &[u8; 4]| Record::new(&question.name, 60, Data::A((*address).into()));
            let list = list.iter().filter(|_| question.is_a());
            Reply::Records(list.map(record).collect())
        })
    });
    for (key, hosts) in [
        (PolitenessKey::Host, ["split.city.test", "split.city.test"]),
        (PolitenessKey::Address, ["one.city.test", "two.city.test"]),
    ] {
        let company = Company::new(64);
        let crawls: Vec<Crawled> = std::thread::scope(|scope| {
            let runs: Vec<_> = views
                .iter()
                .zip(hosts)
                .map(|(view, host)| {
                    let mut config = crawl_config();
                    config.fetch.resolve = Vec::new();
                    config.fetch.name_servers = vec![view.address()];
                    config.politeness.delay = GAP;
                    config.politeness.latency_factor = 0;
                    config.politeness.key = key;
                    let seeds = [door.named(host, "/p0")];
                    let parts = Parts {
                        company: Some(Arc::clone(&company)),
                        ..Parts::default()
                    };
                    let own = (parts, Control::default());
                    scope.spawn(move || crawl_by(&SimulatedDisk::new(), &config, &seeds, own))
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let mut asked: Vec<Timestamp> = Vec::new();
        for crawled in &crawls {
            let good = crawled.attempts.iter().filter(|one| one.outcome.is_ok());
            assert_eq!(good.count(), 13, "{key:?}: {:?}", crawled.told());
            asked.extend(crawled.attempts.iter().map(|one| one.started));
        }
        asked.sort();
        for pair in asked.windows(2) {
            let rest = pair[1].since(pair[0]);
            // The clock of attempts is the wall, and counts microseconds.
            assert!(rest + Duration::from_millis(1) >= GAP, "{key:?}: {rest:?}");
        }
    }
}
