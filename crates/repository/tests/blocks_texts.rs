//! Any text is kept as it is: hostile URLs, one host with very many, very many hosts with one.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use teia_base::{Files, SimulatedDisk};
use teia_repository::blocks::{Answer, Link, News, Settlement, Standing, Store, StoreConfig};
use xxhash_rust::xxh3::xxh3_64;

fn config(filter: bool) -> StoreConfig {
    StoreConfig {
        key: 11,
        page_bytes: 256,
        block_bytes: 4000,
        delay: 2,
        scan_rows: 50,
        filter_bits: filter.then_some(8),
        ..StoreConfig::default()
    }
}

/// Texts that share much, or have nothing in common with a URL.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "https?://(a|b|ab|www\\.a)(:[0-9]{1,4})?[/?]?[ab/?=]{0,6}",
        "https://one.test/(x/){0,40}[0-9]{0,3}",
        "https://\\PC{0,8}/\\PC{0,20}",
        "(ftp|file|mailto|http)://?/?([a-z@:\\[\\]]{0,6})/?[a-z]{0,3}",
        "\\PC{0,6}",
        (0..5_usize, 0..6_usize)
            .prop_map(|(host, len)| format!("http://h{host}/{}", "long/".repeat(len * 700))),
    ]
}

/// Offers the texts in folds of some, twice, and compares with a set.
fn check(texts: &[String], per_fold: usize, filter: bool) {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut store = Store::open(Arc::clone(&files), config(filter)).unwrap();
    let mut new: Vec<String> = Vec::new();
    let mut told = 0;
    for round in 0..2 {
        for batch in texts.chunks(per_fold) {
            for text in batch {
                if let Answer::New(_) = store.offer(&Link::new(text, 3)) {
                    new.push(text.clone());
                }
            }
            store.fold(0).unwrap();
            listen(&mut store, &mut new, &mut told);
        }
        if round == 0 {
            store = Store::open(Arc::clone(&files), config(filter)).unwrap();
        }
    }
    store.fold_everything(0).unwrap();
    listen(&mut store, &mut new, &mut told);
    let expected: BTreeSet<&String> = texts.iter().collect();
    assert_eq!(new.len(), expected.len());
    assert_eq!(new.iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(store.stats().urls, expected.len() as u64);
    for text in expected {
        assert!(store.state(text).unwrap().is_some(), "{text} is lost");
    }
    assert!(store.state("https://one.test/never").unwrap().is_none());
    let mut urls = 0;
    store.hosts(|host| urls += host.urls).unwrap();
    assert_eq!(urls, store.stats().urls);
    let report = store.verify();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

fn listen(store: &mut Store, new: &mut Vec<String>, told: &mut u64) {
    for news in store.verdicts().unwrap() {
        if news.fold > *told {
            *told = news.fold;
            let urls = news.urls.into_iter();
            new.extend(urls.filter(|url| url.news == News::New).map(|url| url.url));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_texts_are_told_apart_and_come_back(
        texts in prop::collection::vec(text(), 1..120),
        per_fold in 1_usize..50,
        filter: bool,
    ) {
        check(&texts, per_fold, filter);
    }
}

#[test]
fn one_host_with_very_many_urls_spans_blocks() {
    let texts: Vec<String> = (0..20_000)
        .map(|number| format!("https://huge.test/list/{}/item-{number}", number % 17))
        .collect();
    check(&texts, 3000, false);
    check(&texts, 3000, true);
}

#[test]
fn very_many_hosts_with_one_url_each() {
    let texts: Vec<String> = (0..20_000)
        .map(|number| format!("https://host{number}.test/"))
        .collect();
    check(&texts, 3000, false);
}

/// Offers millions of URLs, each of them about twice and in another order, and counts what is called new.
fn check_millions(urls: u64, text: impl Fn(u64) -> String) {
    let config = StoreConfig {
        key: 11,
        block_bytes: 24 << 20,
        delay: 8,
        scan_rows: 400_000,
        waiting_share: 40,
        ..StoreConfig::default()
    };
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut store = Store::open(Arc::clone(&files), config.clone()).unwrap();
    let (mut count, mut sum, mut told) = (0, 0_u64, 0);
    let mut listen = |store: &mut Store| {
        for news in store.verdicts().unwrap() {
            if news.fold > told {
                told = news.fold;
                for url in news.urls.iter().filter(|url| url.news == News::New) {
                    count += 1;
                    sum = sum.wrapping_add(xxh3_64(url.url.as_bytes()));
                }
            }
        }
        store.acknowledge(told);
    };
    for step in 0..urls {
        // One that is new, in an order that jumps about, and one that was met before.
        let number = step * 7_368_787 % urls;
        let before = step / 3 * 7_368_787 % urls;
        store.offer(&Link::new(&text(number), 1));
        store.offer(&Link::new(&text(before), 1));
        if step % 100_000 == 99_999 {
            store.fold(0).unwrap();
            listen(&mut store);
        }
        if step == urls / 2 {
            store.fold(0).unwrap();
            listen(&mut store);
            store = Store::open(Arc::clone(&files), config.clone()).unwrap();
        }
    }
    store.fold_everything(0).unwrap();
    listen(&mut store);
    let expected = (0..urls).map(|number| xxh3_64(text(number).as_bytes()));
    assert_eq!(count, urls);
    assert_eq!(sum, expected.fold(0, u64::wrapping_add));
    assert_eq!(store.stats().urls, urls);
    assert!(store.verify().problems.is_empty());
}

#[test]
fn one_host_with_millions_of_urls() {
    check_millions(2_000_000, |number| {
        format!("https://huge.test/list/{}/item-{number}", number % 1999)
    });
}

#[test]
fn a_million_hosts_with_one_url() {
    check_millions(1_000_000, |number| format!("https://h{number}.test/"));
}

#[test]
fn the_media_type_of_the_last_answer_is_kept_over_folds_and_starts() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let types = ["text/html", "image/png", "application/pdf"];
    let url = |number: usize| format!("https://typed.test/{number}");
    for start in 0..3 {
        let mut store = Store::open(Arc::clone(&files), config(false)).unwrap();
        for number in 0..200 {
            store.offer(&Link::new(&url(number), 1));
            // An attempt that brought no answer leaves what is known.
            let answered = number % 7 != start;
            let media_type = types[(number + start) % 3];
            store.settle(
                &url(number),
                Settlement {
                    outcome: if answered { 200 } else { -10 },
                    state: Standing::Fetched,
                    media_type: answered.then(|| media_type.into()),
                    ..Settlement::default()
                },
            );
        }
        store.fold(start as u64).unwrap();
    }
    let store = Store::open(files, config(false)).unwrap();
    for number in 0..200 {
        let last = if number % 7 == 2 { 1 } else { 2 };
        let known = store.state(&url(number)).unwrap().unwrap();
        let is = known.rare.visited.unwrap().media_type;
        assert_eq!(store.media_type(is), Some(types[(number + last) % 3]));
    }
    assert_eq!(store.media_type(0), None);
}
