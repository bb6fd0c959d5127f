//! What all cases share: the city on threads of its own, one visit to a corner, one crawl of it.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use teia_archive::Captures;
use teia_base::journal::{Attempt, Record, read_segment, segments};
use teia_base::{DiskFiles, Exchange, Files, Outcome, Request, Seed, SimulatedDisk, SystemClock};
use teia_city::{Authority, Corner, Door, NameServer, Zone};
use teia_engine::{CollectionConfig, Control, Crawl, Executor, Layout, Parts, Report, ThisMachine};
use teia_fetch::{FetchConfig, Fetcher, HttpFetcher};
use teia_search::{Hit, SearchConfig, SearchRequest, Searcher, Weights};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What the whole process may ever hold: all cases at once, servers included.
const PROCESS_BYTES: u64 = 1 << 30;
/// Processor time of one case, in its own thread. Most need a thousandth of it.
const CASE_TIME: Duration = Duration::from_secs(10);
/// The same for a crawl of many pages.
const CRAWL_TIME: Duration = Duration::from_secs(60);

struct City {
    runtime: Runtime,
    authority: Authority,
}

/// The city: its servers run on threads of their own, so that a case is charged for itself only.
fn city() -> &'static City {
    static CITY: OnceLock<City> = OnceLock::new();
    CITY.get_or_init(|| City {
        runtime: tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap(),
        authority: Authority::new().unwrap(),
    })
}

pub(crate) fn open(corner: &Corner) -> Door {
    let city = city();
    let corner = corner.clone();
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                city.runtime
                    .block_on(Door::open(&corner, &city.authority))
                    .unwrap()
            })
            .join()
            .unwrap()
    })
}

/// A door that plays these answers at `/`, made for one case.
pub(crate) fn open_answers(answers: Vec<Vec<teia_city::Step>>) -> Door {
    open(&Corner {
        id: "case",
        name: "case",
        trick: teia_city::Trick::Http(answers),
    })
}

/// A door with an answer for each path (with its query); elsewhere it is honest.
pub(crate) fn open_site(
    answer: impl Fn(&str) -> Option<Vec<teia_city::Step>> + Send + Sync + 'static,
) -> Door {
    open(&Corner {
        id: "case",
        name: "case",
        trick: teia_city::Trick::Site(teia_city::Site::new(answer)),
    })
}

/// The same behind TLS.
pub(crate) fn open_secure_site(
    answer: impl Fn(&str) -> Option<Vec<teia_city::Step>> + Send + Sync + 'static,
) -> Door {
    let site = teia_city::TlsTrick::Site(teia_city::Site::new(answer));
    open(&Corner {
        id: "case",
        name: "case",
        trick: teia_city::Trick::Tls(site, usize::MAX),
    })
}

/// An answer with these header lines and this body.
pub(crate) fn answer(fields: &str, body: impl AsRef<[u8]>) -> Vec<teia_city::Step> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    vec![
        teia_city::Step::Say(head.into_bytes()),
        teia_city::Step::Say(body.to_vec()),
    ]
}

/// A page.
pub(crate) fn html(body: impl AsRef<[u8]>) -> Vec<teia_city::Step> {
    answer("Content-Type: text/html; charset=utf-8\r\n", body)
}

/// The same, with this answer for `/robots.txt`.
pub(crate) fn open_with_robots(robots: String, answers: Vec<Vec<teia_city::Step>>) -> Door {
    open(&Corner {
        id: "case",
        name: "case",
        trick: teia_city::Trick::Robots(robots.into_bytes(), answers),
    })
}

pub(crate) fn name_server(zone: impl Zone) -> NameServer {
    let city = city();
    std::thread::scope(|scope| {
        scope
            .spawn(|| city.runtime.block_on(NameServer::start(zone)).unwrap())
            .join()
            .unwrap()
    })
}

/// Limits short enough for tests, and wide enough for a busy machine.
pub(crate) fn limits() -> FetchConfig {
    FetchConfig {
        allow_private: true,
        ca_file: Some(city().authority.path().to_owned()),
        resolve: vec!["*.test=127.0.0.1".to_owned()],
        first_byte_timeout: Duration::from_millis(1500),
        min_rate_window: Duration::from_millis(700),
        min_rate: 2000,
        tls_timeout: Duration::from_millis(1500),
        timeout: Duration::from_secs(8),
        ..FetchConfig::default()
    }
}

/// A visit to one corner.
pub(crate) struct Visit {
    pub(crate) door: Door,
    pub(crate) fetcher: HttpFetcher,
    began: Duration,
}

impl Visit {
    pub(crate) fn to(id: &str, name: &str) -> Self {
        Self::with(id, name, limits())
    }

    pub(crate) fn with(id: &str, name: &str, config: FetchConfig) -> Self {
        let door = open(&teia_city::corner(id, name));
        Self::at(door, config)
    }

    pub(crate) fn at(door: Door, config: FetchConfig) -> Self {
        Self {
            door,
            fetcher: HttpFetcher::new(config, Arc::new(SystemClock)).unwrap(),
            began: thread_time(),
        }
    }

    /// Fetches the trick.
    pub(crate) async fn trick(&self) -> Exchange {
        self.get("/").await
    }

    pub(crate) async fn get(&self, path: &str) -> Exchange {
        let exchange = get(&self.fetcher, &self.door.url(path)).await;
        // Exactly one outcome, and one that the list knows.
        assert!(!exchange.outcome.name().starts_with("unknown"));
        exchange
    }

    /// The rest of every case: the next page of the host is fetched, and the price was bounded.
    pub(crate) async fn leave(&self) {
        let next = self.get("/next").await;
        assert_eq!(next.outcome, Outcome::http(200), "{:?}", next.detail);
        let page = body(&next);
        assert!(
            page.windows(4).any(|part| part == b"next"),
            "an honest page, not {:?}",
            String::from_utf8_lossy(&page)
        );
        self.check_price();
    }

    pub(crate) fn check_price(&self) {
        let spent = thread_time() - self.began;
        assert!(spent < CASE_TIME, "{spent:?} of processor time");
        assert!(
            peak_bytes() < PROCESS_BYTES,
            "{} bytes of memory",
            peak_bytes()
        );
    }

    pub(crate) fn spent(&self) -> Duration {
        thread_time() - self.began
    }
}

pub(crate) async fn get(fetcher: &HttpFetcher, url: &str) -> Exchange {
    fetcher.fetch(Request::get(url.parse().unwrap())).await
}

/// Processor time of this thread, on which the whole case runs but for file work.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

/// Open files that this process may have, as many as the machine lets it.
pub(crate) fn descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 16).min(1 << 16);
    if limit.current.is_some_and(|current| current < most) {
        let _may_be_refused = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(most),
                maximum: limit.maximum,
            },
        );
    }
    getrlimit(Resource::Nofile).current.unwrap_or(most)
}

/// The most memory that this process ever held.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The body as received.
pub(crate) fn body(exchange: &Exchange) -> Vec<u8> {
    let body = &exchange.response.as_ref().expect("a response").body;
    let mut bytes = Vec::new();
    body.reader(0, u64::MAX).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The payload between the chunks.
pub(crate) fn payload(exchange: &Exchange) -> Vec<u8> {
    let response = exchange.response.as_ref().expect("a response");
    let mut bytes = Vec::new();
    response.payload_reader().read_to_end(&mut bytes).unwrap();
    bytes
}

/// The answer is not HTTP, for this reason.
#[track_caller]
pub(crate) fn invalid(exchange: &Exchange, name: &str) {
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::HTTP_INVALID, Some(name))
    );
}

#[track_caller]
pub(crate) fn outcome(exchange: &Exchange, outcome: Outcome) {
    assert_eq!(exchange.outcome, outcome, "{:?}", exchange.detail);
}

/// A crawl, ended.
pub(crate) struct Crawled {
    pub(crate) report: Report,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) disk: SimulatedDisk,
}

impl Crawled {
    /// What became of a URL at last.
    #[track_caller]
    pub(crate) fn last(&self, url: &str) -> &Attempt {
        let mut found = self.attempts.iter().rev();
        found
            .find(|attempt| attempt.url.request() == url)
            .unwrap_or_else(|| panic!("no attempt at {url}: {:?}", self.told()))
    }

    /// All attempts at a URL.
    pub(crate) fn all(&self, url: &str) -> Vec<&Attempt> {
        let of_url = |attempt: &&Attempt| attempt.url.request() == url;
        self.attempts.iter().filter(of_url).collect()
    }

    /// How many URLs are in a state.
    pub(crate) fn count(&self, state: &str) -> u64 {
        self.report.states.get(state).copied().unwrap_or(0)
    }

    pub(crate) fn told(&self) -> Vec<String> {
        let tell = |attempt: &Attempt| {
            format!(
                "{} {} {:?}",
                attempt.url.request(),
                attempt.outcome,
                attempt.detail
            )
        };
        self.attempts.iter().map(tell).collect()
    }

    /// Every URL has one state, and the sums add up; every attempt has one outcome, which the list knows.
    #[track_caller]
    pub(crate) fn check_accounts(&self) {
        let sum: u64 = self.report.states.values().sum();
        assert_eq!(sum, self.report.known_urls, "{:?}", self.report.states);
        let pages = self.attempts.iter().filter(|one| !one.is_robots());
        let mut tries = std::collections::BTreeSet::new();
        for attempt in pages {
            let name = attempt.outcome.name();
            assert!(!name.starts_with("unknown"), "{name}");
            // What was decided without asking counts as no try, and may be decided again.
            let one = (attempt.url.request(), attempt.visit, attempt.try_number);
            assert!(
                tries.insert(one) || !attempt.answered,
                "{one:?} has two outcomes: {:?}",
                self.told()
            );
        }
    }
}

/// Settings of a crawl of the city: no gap, one retry, short limits.
pub(crate) fn crawl_config() -> CollectionConfig {
    let mut config = CollectionConfig {
        fetch: limits(),
        ..CollectionConfig::default()
    };
    config.politeness.delay = Duration::ZERO;
    config.politeness.retry_wait = Duration::from_millis(20);
    config.robots.first_retry = Duration::from_millis(20);
    config.run.retries = 1;
    config.run.commit_every = Duration::from_millis(50);
    config.run.alias_pages = 0;
    config
}

/// Crawls from these seeds, over a disk in memory.
pub(crate) fn crawl(config: &CollectionConfig, seeds: &[String]) -> Crawled {
    crawl_on(&SimulatedDisk::new(), config, seeds)
}

pub(crate) fn crawl_on(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
) -> Crawled {
    crawl_by(disk, config, seeds, (Parts::default(), Control::default()))
}

/// The same with parts of one's own.
pub(crate) fn crawl_by(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
    (parts, control): (Parts, Control),
) -> Crawled {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let report = run(&files, "data".into(), config, seeds, (parts, control));
    let crawled = Crawled {
        report,
        attempts: attempts(&*files),
        disk: disk.clone(),
    };
    crawled.check_accounts();
    crawled
}

fn run(
    files: &Arc<dyn Files>,
    root: PathBuf,
    config: &CollectionConfig,
    seeds: &[String],
    (parts, control): (Parts, Control),
) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let began = thread_time();
    let crawl = Crawl {
        files: Arc::clone(files),
        root,
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: config.clone(),
        save: false,
        seeds: seeds
            .iter()
            .map(|seed| Seed::parse(seed).unwrap().unwrap())
            .collect(),
        parts,
        control,
    };
    let report = runtime.block_on(ThisMachine.run(crawl)).unwrap();
    // The ring and everything that is fetched; workers have their own bound for each page.
    let spent = thread_time() - began;
    assert!(spent < CRAWL_TIME, "{spent:?} of processor time");
    assert!(
        peak_bytes() < PROCESS_BYTES,
        "{} bytes of memory",
        peak_bytes()
    );
    report
}

/// A crawl over a real disk, where there is an index to search.
pub(crate) struct Searched {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) files: Arc<dyn Files>,
    folder: TempDir,
}

impl Searched {
    pub(crate) fn crawl(config: &CollectionConfig, seeds: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut searched = Self {
            attempts: Vec::new(),
            files: Arc::new(DiskFiles::new(folder.path()).unwrap()),
            folder,
        };
        searched.again(config, seeds);
        searched
    }

    /// One more crawl of the same collection.
    pub(crate) fn again(&mut self, config: &CollectionConfig, seeds: &[String]) {
        let root = self.folder.path().to_owned();
        let both = (Parts::default(), Control::default());
        run(&self.files, root, config, seeds, both);
        self.attempts = attempts(&*self.files);
    }

    /// What became of a URL at last.
    #[track_caller]
    pub(crate) fn last(&self, url: &str) -> &Attempt {
        let mut found = self.attempts.iter().rev();
        found
            .find(|attempt| attempt.url.request() == url)
            .unwrap_or_else(|| panic!("no attempt at {url}"))
    }

    /// What a search shows; pages of one text are one hit.
    pub(crate) fn hits(&self, words: &str) -> Vec<Hit> {
        let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
        let index = Layout::new("default").unwrap().index();
        searcher
            .open("default", &self.folder.path().join(index))
            .unwrap();
        let request = SearchRequest {
            limit: 100,
            ..SearchRequest::new(words)
        };
        searcher.search(&request).unwrap().hits
    }

    /// The addresses that a search shows.
    pub(crate) fn found(&self, words: &str) -> Vec<String> {
        self.hits(words).into_iter().map(|hit| hit.url).collect()
    }

    pub(crate) fn captures(&self) -> Captures {
        let archive = Layout::new("default").unwrap().archive();
        Captures::open(Arc::clone(&self.files), &archive).unwrap()
    }
}

/// Crawls one corner, by its own page and the next one.
pub(crate) fn crawl_corner(id: &str, name: &str) -> (Door, Crawled) {
    let door = open(&teia_city::corner(id, name));
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let next = crawled.last(&door.url("/next"));
    assert_eq!(next.outcome, Outcome::http(200), "{:?}", crawled.told());
    (door, crawled)
}

pub(crate) fn attempts(files: &dyn Files) -> Vec<Attempt> {
    let directory = Layout::new("default").unwrap().journal();
    let found = segments(files, &directory).unwrap();
    let mut attempts = Vec::new();
    for (at, first) in found.iter().enumerate() {
        let segment = read_segment(files, &directory, *first, at + 1 == found.len()).unwrap();
        for entry in segment.entries {
            if let Record::Commit(commit) = entry.record {
                attempts.extend(commit.attempts);
            }
        }
    }
    attempts
}
