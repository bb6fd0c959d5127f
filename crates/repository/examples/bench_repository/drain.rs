//! One host with very many URLs is drained by windows, in the order of priorities or of due dates: bytes read for
//! each URL that is handed out, by tenth, and how many of them stood in the right order.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use teia_base::DiskFiles;
use teia_repository::blocks::{Link, Part, Settlement, Standing, Store, StoreConfig, WindowOrder};

use crate::measure::{self, Spent};

const HOST: &str = "large.example";
const NOW: u32 = 1_800_000_000;
/// URLs between two folds, as between two cycles of a crawl.
const BETWEEN_FOLDS: u64 = 100_000;

fn mix(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn url(number: u64) -> String {
    let section = mix(number) % 9973;
    format!("https://{HOST}/section-{section}/page-{number}.html")
}

/// Smallest first: the priority turned round, or the moment at which it is due.
fn key_of(order: WindowOrder<'_>, url: &str) -> i64 {
    let number = url
        .rsplit('-')
        .next()
        .and_then(|rest| rest.strip_suffix(".html"));
    let number: u64 = number.unwrap().parse().unwrap();
    match order {
        WindowOrder::Priority => -i64::from(priority(number)),
        _ => i64::from(due(number)),
    }
}

fn priority(number: u64) -> i32 {
    i32::try_from(mix(number ^ 77) % 1_000_000).unwrap()
}

fn due(number: u64) -> u32 {
    NOW - 2_000_000 + u32::try_from(mix(number ^ 5) % 1_900_000).unwrap()
}

pub(crate) fn drain(folder: &Path, config: &StoreConfig, urls: u64, by_priority: bool) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    let config = StoreConfig {
        prefix: "urls".into(),
        ..config.clone()
    };
    let mut store = Store::open(Arc::new(DiskFiles::new(folder).unwrap()), config).unwrap();
    for number in 0..urls {
        let url = url(number);
        store.offer(&Link::new(&url, 1));
        if by_priority {
            store.set_priority(&url, priority(number));
        } else {
            let visited = Settlement {
                at: NOW - 3_000_000,
                outcome: 200,
                state: Standing::Waiting,
                due: due(number),
                ..Settlement::default()
            };
            store.settle(&url, visited);
        }
        if number % BETWEEN_FOLDS == BETWEEN_FOLDS - 1 {
            store.fold(0).unwrap();
        }
    }
    store.fold_everything(0).unwrap();
    let order = if by_priority {
        WindowOrder::Priority
    } else {
        WindowOrder::Due
    };
    let name = if by_priority { "priority" } else { "due date" };
    measure::reset_peak(None);
    let (mut last, mut unfolded) = (i64::MIN, 0);
    for tenth in 1..=10 {
        let (mut read, mut taken, mut right, mut longest) = (0.0, 0_u64, 0_u64, 0.0_f64);
        while taken < urls / 10 {
            let before = Spent::now(None);
            let began = Instant::now();
            // One that ends with what was chosen is smaller.
            let n = usize::try_from(urls / 10 - taken).unwrap().min(1000);
            let window = store.window(HOST, n, order, NOW).unwrap();
            longest = longest.max(began.elapsed().as_secs_f64());
            if window.is_empty() && store.is_looking(Part::All, HOST) {
                // What it chooses on its thread is read for this host too, wherever the caller is then.
                std::thread::sleep(std::time::Duration::from_millis(5));
                read += Spent::now(None).since(before).read;
                continue;
            }
            if window.is_empty() {
                // A few were taken for others that were handed out, and wait for a visit of their block.
                assert!(
                    tenth == 10 && store.has_unfolded(),
                    "some were never handed out"
                );
                store.fold_everything(0).unwrap();
                unfolded = 0;
                continue;
            }
            read += Spent::now(None).since(before).read;
            for leased in window {
                let key = key_of(order, &leased.url);
                right += u64::from(key >= last);
                last = last.max(key);
                taken += 1;
                unfolded += 1;
                let done = Settlement {
                    at: NOW,
                    outcome: 200,
                    state: Standing::Fetched,
                    ..Settlement::default()
                };
                store.settle(&leased.url, done);
            }
            if unfolded >= BETWEEN_FOLDS {
                unfolded = 0;
                store.fold(0).unwrap();
            }
        }
        println!(
            "{{\"kind\":\"drain\",\"order\":\"{name}\",\"urls\":{urls},\"tenth\":{tenth},\"taken\":{taken},\
             \"bytes\":{:.0},\"right\":{:.4},\"longest\":{longest:.3},\"memory_mib\":{:.0}}}",
            read * 1e6 / taken.max(1) as f64,
            right as f64 / taken.max(1) as f64,
            measure::peak_mib(None)
        );
    }
    let _ = std::fs::remove_dir_all(folder);
}
