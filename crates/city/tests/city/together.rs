//! All corners at once: one crawl of the whole city.

use std::collections::BTreeMap;
use std::time::Duration;

use teia_base::Outcome;
use teia_city::{Corner, Trick, all};

use crate::support::{crawl, crawl_config, open};

/// Every corner is visited, every URL has a state at the end, and the next page of every host
/// whose door opens in plain HTTP is fetched.
#[test]
fn the_whole_city_is_crawled_and_accounted_for() {
    let mut config = crawl_config();
    config.run.retries = 1;
    config.run.hosts_at_once = Some(64);
    config.run.max_time = Some(Duration::from_secs(60));
    config.filter.max_size = 2 << 20;
    config.fetch.first_byte_timeout = Duration::from_secs(3);
    config.fetch.timeout = Duration::from_secs(6);
    let mut seeds = Vec::new();
    let mut doors = Vec::new();
    // Those whose answers are large or without an end are for `./dev soak city`, which has no other work in its process.
    let is_small = |corner: &&Corner| {
        let groups = ["HTML", "MAP", "ROB", "TRAP"];
        !groups.iter().any(|group| corner.id.starts_with(group))
    };
    for (n, corner) in all().iter().filter(is_small).enumerate() {
        let plain = matches!(corner.trick, Trick::Http(_));
        let door = open(corner);
        let host = format!("c{n}.city.test");
        seeds.push(door.named(&host, "/"));
        if plain {
            seeds.push(door.named(&host, "/next"));
        }
        doors.push((corner.clone(), door.named(&host, "/next"), plain));
    }
    let crawled = crawl(&config, &seeds);
    // Those that ask for a rest get one, and their next page waits for it.
    let resting: Vec<&String> = doors
        .iter()
        .filter(|(corner, _, _)| corner.id == "HTTP-32")
        .map(|(_, next, _)| next)
        .collect();
    let mut outcomes: BTreeMap<Outcome, usize> = BTreeMap::new();
    for seed in &seeds {
        let attempts = crawled.all(seed);
        if resting.contains(&seed) {
            continue;
        }
        assert!(!attempts.is_empty(), "{seed} was never decided about");
        *outcomes
            .entry(attempts[attempts.len() - 1].outcome)
            .or_default() += 1;
    }
    for (corner, next, plain) in &doors {
        if *plain && !resting.contains(&next) {
            let outcome = crawled.last(next).outcome;
            assert!(outcome.is_ok(), "{} {}: {outcome}", corner.id, corner.name);
        }
    }
    assert!(
        outcomes.len() >= 15,
        "as many ways as the city has: {outcomes:?}"
    );
}
