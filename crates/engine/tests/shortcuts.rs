//! A limit of depth with the URLs on disk: the same pages as with everything in memory, whatever the order in
//! which they are met, and however often the process ends in between.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

#[path = "support/script.rs"]
mod script;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use script::Script;
use support::{attempts, crawl_on};
use teia_base::{Files, SimulatedDisk};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Layout, Mode, Parts, Silence};
use teia_frontier::OrderName;

const HOSTS: usize = 5;
const PAGES: usize = 300;
const MOST_HOPS: u16 = 12;

fn url(page: usize) -> String {
    format!("http://h{}.deep.test/p/{page}", page % HOSTS)
}

/// A web in which the way that is met first is mostly a long one: each page leads to the next, and few lead further.
struct Web {
    links: Vec<Vec<usize>>,
    redirects: BTreeMap<usize, usize>,
}

impl Web {
    fn new(seed: usize) -> Self {
        let mut state = seed as u64 * 7919 + 1;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let mut links = vec![Vec::new(); PAGES];
        let mut redirects = BTreeMap::new();
        for (page, links) in links.iter_mut().enumerate() {
            if page % 17 == 5 {
                redirects.insert(page, random(PAGES));
                continue;
            }
            links.push((page + 1) % PAGES);
            if page % 4 == 0 {
                links.push(random(PAGES));
            }
        }
        Self { links, redirects }
    }

    fn script(&self) -> Script {
        let mut script = Script::default();
        for page in 0..PAGES {
            script = match self.redirects.get(&page) {
                Some(target) => script.redirect(&url(page), &url(*target)),
                None => {
                    let link = |to: &usize| format!("<a href=\"{}\">{to}</a> ", url(*to));
                    let body: String = self.links[page].iter().map(link).collect();
                    script.html(&url(page), &body)
                }
            };
        }
        script
    }

    /// Every page within the limit, with the hops of the shortest way. A redirect is not a hop.
    fn within_reach(&self) -> BTreeMap<String, u16> {
        let mut hops = vec![u16::MAX; PAGES];
        let mut queue = VecDeque::from([(0, 0)]);
        while let Some((page, depth)) = queue.pop_front() {
            if depth > MOST_HOPS || hops[page] <= depth {
                continue;
            }
            hops[page] = depth;
            match self.redirects.get(&page) {
                Some(target) => queue.push_front((*target, depth)),
                None => queue.extend(self.links[page].iter().map(|to| (*to, depth + 1))),
            }
        }
        let reached = (0..PAGES).filter(|page| hops[*page] != u16::MAX);
        reached.map(|page| (url(page), hops[page])).collect()
    }
}

fn config(order: OrderName) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.deep.test".parse().unwrap();
    config.filter.max_depth = Some(MOST_HOPS);
    config.run.commit_every = Duration::from_millis(5);
    config.run.alias_pages = 0;
    config.run.order = order;
    config.run.repository_memory = 4 << 10;
    config.traps.enabled = false;
    config.archive.enabled = false;
    config
}

fn crawl(disk: &SimulatedDisk, web: &Web, config: &CollectionConfig, end: Option<Arc<EndAfter>>) {
    let control = end
        .as_ref()
        .map_or_else(Control::default, |it| it.0.clone());
    let feedback = end.map_or_else(
        || Arc::new(Silence) as Arc<dyn Feedback>,
        |it| it as Arc<dyn Feedback>,
    );
    let parts = Parts {
        fetcher: Some(Arc::new(web.script())),
        feedback,
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    crawl_on(files, config, &[url(0)], parts, &control).unwrap();
}

fn asked(disk: &SimulatedDisk) -> BTreeSet<String> {
    let attempts = attempts(disk).into_iter().filter(|it| !it.is_robots());
    attempts.map(|it| it.url.normal().to_string()).collect()
}

/// Checks that all pages within reach were asked for, and no others. Returns how many of them were met by a
/// longer way first, and led on: what is behind those is what shortcuts are for.
fn check(web: &Web, disk: &SimulatedDisk) -> usize {
    let manifest = Layout::new("default").unwrap().urls().join("manifest");
    assert!(disk.exists(&manifest), "the URLs must lie on disk");
    let (hops, found) = (web.within_reach(), asked(disk));
    let expected: BTreeSet<String> = hops.keys().cloned().collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    let more: Vec<_> = found.difference(&expected).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "{} expected; missing {missing:?}; not within reach {more:?}",
        expected.len()
    );
    let attempts = attempts(disk).into_iter().filter(|it| !it.is_robots());
    let by_longer_ways = attempts.filter(|attempt| {
        let shortest = hops[attempt.url.normal().as_str()];
        attempt.depth > shortest && !attempt.links.is_empty()
    });
    by_longer_ways.count()
}

#[test]
fn a_limit_of_depth_beyond_memory_reaches_what_the_shortest_ways_reach() {
    let mut by_longer_ways = 0;
    for seed in 0..8 {
        let web = Web::new(seed);
        for order in [OrderName::Depth, OrderName::Random, OrderName::Breadth] {
            let disk = SimulatedDisk::new();
            crawl(&disk, &web, &config(order), None);
            by_longer_ways += check(&web, &disk);
        }
    }
    assert!(by_longer_ways > 0, "no page was met by a longer way first");
}

/// Ends the run after so many attempts.
#[derive(Debug)]
struct EndAfter(Control, AtomicUsize);

impl Feedback for EndAfter {
    fn hear(&self, event: &Event) {
        if let Event::Attempted { .. } = event
            && self.1.fetch_sub(1, Ordering::SeqCst) == 1
        {
            self.0.interrupt();
        }
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

#[test]
fn shortcuts_that_an_end_leaves_are_followed_by_the_next_process() {
    let web = Web::new(9);
    let config = config(OrderName::Depth);
    let disk = SimulatedDisk::new();
    for _ in 0..30 {
        let end = EndAfter(Control::default(), AtomicUsize::new(7));
        crawl(&disk, &web, &config, Some(Arc::new(end)));
    }
    crawl(&disk, &web, &config, None);
    check(&web, &disk);
}

#[test]
fn a_limit_of_depth_may_come_when_the_urls_lie_on_disk_already() {
    let web = Web::new(3);
    let disk = SimulatedDisk::new();
    let narrow = config(OrderName::Depth);
    let mut nothing = narrow.clone();
    nothing.filter.max_depth = None;
    nothing.filter.max_pages = Some(20);
    crawl(&disk, &web, &nothing, None);
    let before = asked(&disk);
    crawl(&disk, &web, &narrow, None);
    let expected: BTreeSet<String> = web.within_reach().into_keys().chain(before).collect();
    assert_eq!(asked(&disk), expected);
}

#[test]
fn each_run_that_visits_everything_again_has_its_own_depths() {
    let web = Web::new(5);
    let mut config = config(OrderName::Depth);
    config.mode = Mode::Periodic;
    let disk = SimulatedDisk::new();
    crawl(&disk, &web, &config, None);
    check(&web, &disk);
    crawl(&disk, &web, &config, None);
    check(&web, &disk);
}

/// Limits the depth after so many attempts.
#[derive(Debug)]
struct LimitAfter(Control, AtomicUsize, CollectionConfig);

impl Feedback for LimitAfter {
    fn hear(&self, event: &Event) {
        if let Event::Attempted { .. } = event
            && self.1.fetch_sub(1, Ordering::SeqCst) == 1
        {
            self.0.change(self.2.clone());
        }
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

fn check_first_limit(repository_memory: u64) {
    for seed in [2, 3, 4] {
        let web = Web::new(seed);
        let mut narrow = config(OrderName::Depth);
        narrow.run.repository_memory = repository_memory;
        let mut wide = narrow.clone();
        wide.filter.max_depth = None;
        let control = Control::default();
        let feedback = LimitAfter(control.clone(), AtomicUsize::new(30), narrow);
        let disk = SimulatedDisk::new();
        let script = web.script().slowly(Duration::from_millis(1));
        let parts = Parts {
            fetcher: Some(Arc::new(script)),
            feedback: Arc::new(feedback),
            ..Parts::default()
        };
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        crawl_on(files, &wide, &[url(0)], parts, &control).unwrap();
        let (hops, found) = (web.within_reach(), asked(&disk));
        let missing: Vec<_> = hops.keys().filter(|url| !found.contains(*url)).collect();
        assert!(missing.is_empty(), "{seed}: {missing:?}");
        // What was beyond it was asked for before it came, or at that moment.
        let beyond = found.iter().filter(|url| !hops.contains_key(*url)).count();
        assert!(found.len() < PAGES, "{seed}: the limit came too late");
        assert!(beyond <= 30 + 2 * HOSTS + 64, "{seed}: {beyond}");
    }
}

#[test]
fn the_first_limit_of_depth_may_come_under_a_run() {
    check_first_limit(64 << 20);
    check_first_limit(4 << 10);
}

/// The same where a run has no end, and the next visit of a page is weeks away.
fn check_first_limit_without_end(repository_memory: u64) {
    for seed in [2, 3, 4] {
        let web = Web::new(seed);
        let mut narrow = config(OrderName::Depth);
        narrow.mode = Mode::Incremental;
        narrow.run.revisit = Duration::from_secs(30 * 86400);
        narrow.run.repository_memory = repository_memory;
        let mut wide = narrow.clone();
        wide.filter.max_depth = None;
        let control = Control::default();
        let feedback = LimitAfter(control.clone(), AtomicUsize::new(30), narrow);
        let disk = SimulatedDisk::new();
        let script = web.script().slowly(Duration::from_millis(1));
        let parts = Parts {
            fetcher: Some(Arc::new(script.clone())),
            feedback: Arc::new(feedback),
            ..Parts::default()
        };
        let hops = web.within_reach();
        let missing = || {
            let asked: BTreeSet<String> = script.pages().into_iter().collect();
            let missing = hops.keys().filter(|url| !asked.contains(*url));
            missing.cloned().collect::<Vec<String>>()
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..1500 {
                    if missing().is_empty() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                control.interrupt();
            });
            let files: Arc<dyn Files> = Arc::new(disk.clone());
            crawl_on(files, &wide, &[url(0)], parts, &control).unwrap();
        });
        assert!(missing().is_empty(), "{seed}: {:?}", missing());
        assert!(
            asked(&disk).len() < PAGES,
            "{seed}: the limit came too late"
        );
    }
}

#[test]
fn the_first_limit_of_depth_may_come_under_a_run_without_end() {
    check_first_limit_without_end(64 << 20);
    check_first_limit_without_end(4 << 10);
}
