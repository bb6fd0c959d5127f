//! A crowd of servers that say nothing, or next to nothing: what each costs, and what it costs others.
//!
//! In a file of its own, so that no other test's memory is counted.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use teia_base::{Outcome, Request, SystemClock};
use teia_city::{Authority, Corner, Door, Step, Trick, corner, corners_of};
use teia_fetch::{FetchConfig, Fetcher, HttpFetcher};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Servers at once; each costs two descriptors in this process, one on each side.
const CROWD: usize = 2000;
/// What one may cost, both sides of it together.
const EACH_BYTES: usize = 64 << 10;

/// Memory is that of the whole process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Servers whose heads do not end, each nearly as long as a head may be.
#[test]
fn http_09_heads_without_end_cost_less_than_a_mebibyte_each() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const HEADS: usize = 200;
    const HEAD_BYTES: usize = 1 << 20;
    const BEGINNING: &str = "HTTP/1.1 200 OK\r\n";
    let city = runtime(2);
    let authority = Authority::new().unwrap();
    let line = format!("X-More: {}\r\n", "y".repeat(240)).into_bytes();
    let said = BEGINNING.len() + line.len() * 500;
    let endless = Corner {
        id: "case",
        name: "case",
        trick: Trick::Http(vec![vec![
            Step::say(BEGINNING),
            Step::Repeat(line, 500),
            Step::silence(),
        ]]),
    };
    let door = city.block_on(Door::open(&endless, &authority)).unwrap();
    let patient = FetchConfig {
        allow_private: true,
        first_byte_timeout: Duration::from_secs(300),
        timeout: Duration::from_secs(300),
        max_idle_connections: 0,
        ..FetchConfig::default()
    };
    assert!(said < 128 << 10, "within what a head may have");
    runtime(1).block_on(async {
        let fetcher = Arc::new(HttpFetcher::new(patient, Arc::new(SystemClock)).unwrap());
        let before = resident_bytes();
        let mut tasks = JoinSet::new();
        for _ in 0..HEADS {
            let (fetcher, url) = (Arc::clone(&fetcher), door.url("/"));
            tasks.spawn(async move { fetcher.fetch(Request::get(url.parse().unwrap())).await });
        }
        let all = (HEADS * said) as u64;
        for _ in 0..600 {
            if door.sent() >= all {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(door.sent() >= all, "{} of {all}", door.sent());
        // What they said has been read by now, or nearly.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let each = resident_bytes().saturating_sub(before) / HEADS;
        eprintln!("note: {HEADS} heads without end cost {each} bytes each, both sides together");
        assert!(each < HEAD_BYTES, "{each} bytes each");
        tasks.abort_all();
    });
}

/// Connections of HTTP/2 over which frames come without end (H2-03 to H2-05), many at once: each is ended before anything of it
/// is gathered anywhere.
#[test]
fn h2_floods_leave_memory_flat() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const AT_ONCE: usize = 25;
    let city = runtime(2);
    let authority = Authority::new().unwrap();
    let config = FetchConfig {
        allow_private: true,
        ca_file: Some(authority.path().to_owned()),
        resolve: vec!["*.test=127.0.0.1".to_owned()],
        max_idle_connections: 0,
        ..FetchConfig::default()
    };
    for id in ["H2-03", "H2-04", "H2-05"] {
        for corner in corners_of(id) {
            let Trick::H2(trick, _) = corner.trick else {
                panic!("{id} is a corner of HTTP/2");
            };
            let for_ever = Corner {
                trick: Trick::H2(trick, usize::MAX),
                ..corner.clone()
            };
            let door = city.block_on(Door::open(&for_ever, &authority)).unwrap();
            let visit = || {
                runtime(1).block_on(async {
                    let fetcher = HttpFetcher::new(config.clone(), Arc::new(SystemClock)).unwrap();
                    let fetcher = Arc::new(fetcher);
                    let mut tasks = JoinSet::new();
                    for _ in 0..AT_ONCE {
                        let (fetcher, url) = (Arc::clone(&fetcher), door.url("/"));
                        tasks.spawn(async move {
                            fetcher.fetch(Request::get(url.parse().unwrap())).await
                        });
                    }
                    tasks.join_all().await
                });
            };
            // What a first visit makes ready stays.
            visit();
            forget_peak();
            let (before, sent) = (peak_bytes(), door.sent());
            visit();
            let more = peak_bytes().saturating_sub(before) / AT_ONCE;
            let sent = door.sent() - sent;
            eprintln!(
                "note: {id} {}: {more} bytes of memory each, both sides together; {sent} were sent in all",
                corner.name
            );
            assert!(
                more < FLOOD_BYTES,
                "{id} {}: {more} bytes each",
                corner.name
            );
        }
    }
}

/// What such a connection may take, both sides of it and TLS together.
const FLOOD_BYTES: usize = 1 << 20;

/// Lets the most memory that this process had begin anew with what it has.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// The most memory that this process had.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().unwrap() * 1024
}

#[test]
fn idle_servers_cost_little_and_hold_nobody_up() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let crowd = CROWD.min(descriptors() / 3);
    let city = runtime(2);
    let authority = Authority::new().unwrap();
    let open = |corner: &Corner| city.block_on(Door::open(corner, &authority)).unwrap();
    let doors = [
        open(&corner("HTTP-26", "silent")),
        open(&corner("HTTP-25", "drip")),
    ];
    let honest = open(&corner("HTTP-12", "honest"));
    let patient = FetchConfig {
        allow_private: true,
        first_byte_timeout: Duration::from_secs(300),
        min_rate: 0,
        timeout: Duration::from_secs(300),
        connect_timeout: Duration::from_secs(60),
        max_idle_connections: 0,
        ..FetchConfig::default()
    };
    let client = runtime(1);
    client.block_on(async {
        let fetcher = Arc::new(HttpFetcher::new(patient, Arc::new(SystemClock)).unwrap());
        let alone = rate(&fetcher, &honest).await;
        let before = resident_bytes();
        let mut tasks = JoinSet::new();
        for n in 0..crowd {
            let (fetcher, url) = (Arc::clone(&fetcher), doors[n % 2].url("/"));
            tasks.spawn(async move { fetcher.fetch(Request::get(url.parse().unwrap())).await });
        }
        let connected = || {
            doors
                .iter()
                .map(|door| door.requests().len())
                .sum::<usize>()
        };
        for _ in 0..600 {
            if connected() == crowd {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(connected(), crowd);
        let each = resident_bytes().saturating_sub(before) / crowd;
        eprintln!("note: {crowd} idle servers cost {each} bytes each, both sides together");
        assert!(each < EACH_BYTES, "{each} bytes each");
        let among = rate(&fetcher, &honest).await;
        eprintln!("note: 300 honest pages took {alone:?} alone and {among:?} among them");
        // The 95 % of HTTP-25 are times, which no test may hold anybody to: `./dev soak city` measures them. Here it is only that
        // nobody stands still.
        assert!(
            among < alone * 3 + Duration::from_secs(2),
            "{alone:?} alone, {among:?} among them"
        );
        tasks.abort_all();
    });
}

/// How long some honest pages take.
async fn rate(fetcher: &HttpFetcher, door: &Door) -> Duration {
    let began = Instant::now();
    for _ in 0..300 {
        let exchange = fetcher
            .fetch(Request::get(door.url("/next").parse().unwrap()))
            .await;
        assert_eq!(
            exchange.outcome,
            Outcome::http(200),
            "{:?}",
            exchange.detail
        );
    }
    began.elapsed()
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap()
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Raises the soft limit of open files to the hard one; returns it.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 16).min(1 << 16);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        },
    );
    usize::try_from(getrlimit(Resource::Nofile).current.unwrap_or(most)).unwrap()
}
