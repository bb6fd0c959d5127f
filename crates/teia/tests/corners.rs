//! Every corner of the hostile city by itself, crawled by the real program: what became of it is known, every URL is
//! accounted for, the next page of the same host is fetched, and it cost no more memory and computing than it may.
//!
//! What a case asks for beyond that is in the test of its name, in `crates/city/tests/city`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use support::Home;
use teia_base::Outcome;
use teia_city::{Authority, Corner, Door, all, corner};

/// What a crawl may take beyond one of a page that says hello: 64 MiB for the fetch (G-11), and `index.memory-bytes` (32 MiB) for what
/// was read of it.
const MEMORY: u64 = (64 + 32) << 20;
/// Computing of the whole program for all pages of a corner, of which some have a hundred; start, index, ranks and end included. That one
/// page takes 2 s at most (G-11) is `extract.cpu`, held by `time_runs_out` in `crates/extract/tests/hostile.rs`.
const COMPUTING: Duration = Duration::from_secs(10);
/// And for each link that was kept of its pages, because one corner has a million of them: three to four times what it takes here.
const COMPUTING_A_LINK: Duration = Duration::from_micros(20);
/// No crawl of a corner lasts longer, unless it is broken.
const LIMIT: Duration = Duration::from_secs(90);
/// Crawls at once. Most of them wait.
const AT_ONCE: usize = 6;

/// Corners whose next page cannot be fetched within the crawl, and why. All else holds for them as well.
const NO_NEXT_PAGE: &[(&str, &str, &str)] = &[
    ("HTTP-32", "decade", TEN_YEARS),
    ("HTTP-32", "decade-429", TEN_YEARS),
];
const TEN_YEARS: &str = "it asks for a rest of ten years, and gets a week; its next page waits";

/// Short limits of time, for the many that only let us wait; and few pages, because it is their price that is looked at,
/// and not that of the sites without an end behind some of them. (Not fewer: a URL that waits for robots.txt to be read
/// comes half a second later.) Everything else is as people have it.
const SETTINGS: &str = r#"
[run]
retries = 1
alias-pages = 0
max-time = "40s"
[filter]
max-pages = 120
[politeness]
delay = "10ms"
latency-factor = 0
retry-wait = "50ms"
[robots]
first-retry = "50ms"
[fetch]
first-byte-timeout = "1500ms"
min-rate-window = "700ms"
min-rate = 2000
tls-timeout = "1500ms"
timeout = "8s"
allow-private = true
"#;

/// What one crawl cost.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    memory: u64,
    computing: Duration,
}

/// The dearest corners so far.
#[derive(Debug, Default)]
struct Dearest {
    memory: (u64, String),
    computing: (Duration, String),
}

impl Dearest {
    fn note(&mut self, corner: &str, memory: u64, computing: Duration) {
        if memory > self.memory.0 {
            self.memory = (memory, corner.to_owned());
        }
        if computing > self.computing.0 {
            self.computing = (computing, corner.to_owned());
        }
    }
}

/// Looks at a process until it ends: the most memory that it had, and what it has computed.
fn price_of(pid: u32, price: &mut Price) {
    // Until it has become the program it is a copy of this process, with its memory.
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    if program != std::env::current_exe().unwrap_or_default() {
        price_of_program(pid, price);
    }
}

fn price_of_program(pid: u32, price: &mut Price) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    price.memory = price.memory.max(kilobytes.unwrap_or(0) << 10);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name, which may have spaces and ends with a parenthesis: state, and then numbers, of which the
    // twelfth and the thirteenth are ticks of a hundredth of a second.
    let numbers = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = numbers.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|tick| tick.parse::<u64>().ok()).sum();
    price.computing = price.computing.max(Duration::from_millis(ticks * 10));
}

/// Crawls a corner by its own page and the next one.
fn crawl(home: &Home, door: &Door, authority: &Authority) -> Result<Price, String> {
    let settings = format!("{SETTINGS}ca-file = \"{}\"\n", authority.path().display());
    let seeds = [door.url("/"), door.url("/next")];
    let mut running = home.start(&[
        "crawl",
        &seeds[0],
        &seeds[1],
        "--config",
        &home.write("settings.toml", &settings),
        "--resolve",
        "*.test=127.0.0.1",
    ]);
    let (mut price, by) = (Price::default(), Instant::now() + LIMIT);
    loop {
        price_of(running.id(), &mut price);
        if let Some(status) = running.ends_within(Duration::from_millis(4)) {
            if status.code() != Some(0) {
                return Err(format!("ended with {status}: {}", running.said()));
            }
            return Ok(price);
        }
        if Instant::now() > by {
            running.kill();
            return Err("did not end".to_owned());
        }
    }
}

/// Everything that holds of every corner; what does not, in words.
fn check(
    corner: &Corner,
    door: &Door,
    authority: &Authority,
    usual: Price,
    dearest: &Mutex<Dearest>,
) -> Vec<String> {
    let home = Home::new();
    let mut price = match crawl(&home, door, authority) {
        Ok(price) => price,
        Err(why) => return vec![why],
    };
    if price.memory > usual.memory + MEMORY {
        // How much is held at once goes by who comes when: what it takes twice in a row is its price.
        match crawl(&Home::new(), door, authority) {
            Ok(second) => price.memory = price.memory.min(second.memory),
            Err(why) => return vec![why],
        }
    }
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    let more = price.memory.saturating_sub(usual.memory);
    let label = format!("{} {}", corner.id, corner.name);
    dearest.lock().unwrap().note(&label, more, price.computing);
    hold(
        more <= MEMORY,
        format!("{} MiB more than an honest page", more >> 20),
    );
    let attempts = home.attempts();
    let links: usize = attempts.iter().map(|attempt| attempt.links.len()).sum();
    let allowed = COMPUTING + COMPUTING_A_LINK * u32::try_from(links).unwrap();
    hold(
        price.computing <= allowed,
        format!(
            "computed for {:?}, with {links} links; allowed {allowed:?}",
            price.computing
        ),
    );
    for attempt in &attempts {
        let name = attempt.outcome.name();
        hold(
            !name.starts_with("unknown"),
            format!("{}: {name}", attempt.url.request()),
        );
    }
    // One outcome for each attempt.
    let mut tries: Vec<_> = attempts
        .iter()
        // That it waits for a robots.txt is noted as often as that was asked for, and is no try of it.
        .filter(|attempt| !attempt.is_robots() && attempt.try_number > 0)
        .map(|attempt| (attempt.url.request(), attempt.visit, attempt.try_number))
        .collect();
    let count = tries.len();
    tries.sort_unstable();
    tries.dedup();
    hold(
        tries.len() == count,
        "two outcomes of one attempt".to_owned(),
    );
    let verified = home.run(&["verify"]);
    hold(
        verified.code == Some(0),
        format!("`teia verify` says {}", verified.text()),
    );
    let status = home.status();
    let states: u64 = [
        "fetched",
        "waiting",
        "failed",
        "excluded",
        "gone",
        "undecided",
    ]
    .iter()
    .map(|state| status[state].as_u64().unwrap())
    .sum();
    hold(
        status["known"].as_u64() == Some(states),
        format!("the sums do not add up: {status}"),
    );
    let told: Vec<String> = attempts
        .iter()
        .map(|one| format!("{} {} {:?}", one.url.request(), one.outcome, one.detail))
        .take(12)
        .collect();
    let of = |path: &str| {
        let url = door.url(path);
        attempts.iter().rfind(|one| one.url.request() == url)
    };
    let is_exempt = |(id, name, _): &&(&str, &str, &str)| (*id, *name) == (corner.id, corner.name);
    let next = of("/next").map(|next| next.outcome);
    let is_fetched = next == Some(Outcome::http(200));
    match NO_NEXT_PAGE.iter().find(is_exempt) {
        None => hold(is_fetched, format!("the next page: {next:?}; {told:?}")),
        Some(_) => hold(
            !is_fetched,
            "is listed as if its next page could not be fetched".to_owned(),
        ),
    }
    if !is_fetched || of("/").is_none() {
        // What nobody was asked for waits; it is not forgotten.
        let waits =
            status["waiting"].as_u64() > Some(0) || of("/").is_some() && of("/next").is_some();
        hold(
            waits,
            format!("neither decided nor waiting: {told:?} {status}"),
        );
    }
    wrong
}

#[test]
fn every_corner_is_accounted_for_and_has_its_price() {
    let authority = Authority::new().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let open = |corner: &Corner| runtime.block_on(Door::open(corner, &authority)).unwrap();
    let honest = open(&corner("HTTP-12", "honest"));
    let usual = crawl(&Home::new(), &honest, &authority).unwrap();
    let corners = all();
    let doors: Vec<Door> = corners.iter().map(open).collect();
    let (at, broken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let dearest = Mutex::new(Dearest::default());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = at.fetch_add(1, Ordering::Relaxed);
                    let Some(corner) = corners.get(number) else {
                        return;
                    };
                    for what in check(corner, &doors[number], &authority, usual, &dearest) {
                        let line = format!("{} {}: {what}", corner.id, corner.name);
                        broken.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let dearest = dearest.into_inner().unwrap();
    let ((memory, most), (computing, longest)) = (dearest.memory, dearest.computing);
    println!(
        "note: {} corners of the hostile city, each crawled alone: {} MiB more than an honest page at most ({most}; allowed {}), {computing:?} of computing at most ({longest}; allowed {COMPUTING:?} and {COMPUTING_A_LINK:?} a link)",
        corners.len(),
        memory >> 20,
        MEMORY >> 20,
    );
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
}
