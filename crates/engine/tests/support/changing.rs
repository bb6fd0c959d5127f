//! A web that changes from epoch to epoch, and what is true of it.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use teia_base::{Request, SystemClock};
use teia_fetch::{Fetcher, Fetching, ScriptedFetcher};

/// What stands at an address in an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A page with these words and links.
    Page(u64, Vec<u64>),
    /// It sends on.
    Redirect(u64),
    /// There is no such page.
    Missing,
}

/// Pages come, go, change their words, their links, or become redirects, all by draw.
#[derive(Clone, Debug)]
pub(crate) struct ChangingWeb {
    seed: u64,
    pages: u64,
    hosts: u64,
    epoch: Arc<AtomicU32>,
    asked: Arc<Mutex<Vec<(String, Instant)>>>,
    not_modified: Arc<AtomicU64>,
}

fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9E37_79B9_7F4A_7C15, |sum, part| {
        let mut mixed = (sum ^ part).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^= mixed >> 29;
        mixed = mixed.wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 32)
    })
}

impl ChangingWeb {
    pub(crate) fn new(seed: u64, pages: u64, hosts: u64) -> Self {
        Self {
            seed,
            pages,
            hosts,
            epoch: Arc::default(),
            asked: Arc::default(),
            not_modified: Arc::default(),
        }
    }

    pub(crate) fn set_epoch(&self, epoch: u32) {
        self.epoch.store(epoch, Ordering::SeqCst);
    }

    pub(crate) fn url(&self, page: u64) -> String {
        format!("http://h{}.web.test/p{page}", page % self.hosts)
    }

    pub(crate) fn page(&self, url: &str) -> Option<u64> {
        (0..self.pages).find(|page| self.url(*page) == url)
    }

    /// Requests so far, robots.txt apart.
    pub(crate) fn asked(&self) -> Vec<(String, Instant)> {
        self.asked.lock().unwrap().clone()
    }

    /// How often the server said that nothing had changed.
    pub(crate) fn not_modified(&self) -> u64 {
        self.not_modified.load(Ordering::SeqCst)
    }

    /// How many times something was drawn anew up to an epoch, at a chance of one in `every`.
    fn times(&self, page: u64, what: u64, every: u64, epoch: u32) -> u64 {
        let changes = 1..=u64::from(epoch);
        changes
            .filter(|epoch| mix(&[self.seed, page, what, *epoch]).is_multiple_of(every))
            .count() as u64
    }

    pub(crate) fn content(&self, page: u64, epoch: u32) -> Content {
        let draw = |what: u64, every: u64| {
            let version = self.times(page, what, every, epoch);
            mix(&[self.seed, page, what, version, 77])
        };
        if page > 0 && draw(1, 3).is_multiple_of(6) {
            return Content::Missing;
        }
        if page > 0 && page + 1 < self.pages && draw(2, 4).is_multiple_of(12) {
            let rest = self.pages - page - 1;
            return Content::Redirect(page + 1 + draw(3, 4) % rest);
        }
        let base = draw(4, 3);
        let links = (0..3).map(|n| mix(&[base, n]) % self.pages).collect();
        Content::Page(self.times(page, 5, 3, epoch), links)
    }

    /// The words of a version of a page.
    fn words(page: u64, words: u64) -> String {
        format!(
            "page {page} speaks of {}",
            format!("matter{page}x{words} ").repeat(12)
        )
    }

    /// Every page has validators, but for one in five.
    fn tag(&self, page: u64, content: &Content) -> Option<String> {
        let Content::Page(words, links) = content else {
            return None;
        };
        let parts: Vec<u64> = [page, *words].iter().chain(links).copied().collect();
        (!page.is_multiple_of(5)).then(|| format!("\"{:x}\"", mix(&parts)))
    }

    fn answer(&self, request: &Request) -> String {
        let url = request.url.as_str();
        let epoch = self.epoch.load(Ordering::SeqCst);
        let Some(page) = self.page(url) else {
            return "HTTP/1.1 404 Not Found\r\n\r\n".to_owned();
        };
        self.asked
            .lock()
            .unwrap()
            .push((url.to_owned(), Instant::now()));
        let content = self.content(page, epoch);
        let tag = self.tag(page, &content);
        let tag_line = tag.as_ref().map(|tag| format!("ETag: {tag}\r\n"));
        let tag_line = tag_line.unwrap_or_default();
        match content {
            Content::Missing => "HTTP/1.1 404 Not Found\r\n\r\n".to_owned(),
            Content::Redirect(to) => {
                format!("HTTP/1.1 301 Moved\r\nLocation: {}\r\n\r\n", self.url(to))
            }
            Content::Page(..) if tag.is_some() && request.etag == tag => {
                self.not_modified.fetch_add(1, Ordering::SeqCst);
                format!("HTTP/1.1 304 Not Modified\r\n{tag_line}\r\n")
            }
            Content::Page(words, links) => {
                let links: String = links
                    .iter()
                    .map(|to| format!("<a href=\"{}\">on</a> ", self.url(*to)))
                    .collect();
                let text = Self::words(page, words);
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{tag_line}\r\n<title>{page}</title><p>{text}</p>{links}"
                )
            }
        }
    }

    /// What a run in an epoch visits from page 0, if these were visited before: each page with its
    /// least hops, or without where no way leads there.
    pub(crate) fn truth(
        &self,
        epoch: u32,
        max_depth: Option<u16>,
        before: &BTreeSet<u64>,
    ) -> BTreeMap<u64, Option<u16>> {
        let mut depths: BTreeMap<u64, u16> = BTreeMap::from([(0, 0)]);
        let mut queue: VecDeque<u64> = [0].into();
        while let Some(page) = queue.pop_front() {
            let depth = depths[&page];
            if max_depth.is_some_and(|most| depth > most) {
                continue;
            }
            let next = match self.content(page, epoch) {
                Content::Page(_, links) => links.iter().map(|to| (*to, depth + 1)).collect(),
                Content::Redirect(to) => vec![(to, depth)],
                Content::Missing => Vec::new(),
            };
            for (to, depth) in next {
                if depths.get(&to).is_none_or(|known| *known > depth) {
                    depths.insert(to, depth);
                    queue.push_back(to);
                }
            }
        }
        let is_in = |depth: u16| max_depth.is_none_or(|most| depth <= most);
        let mut visited: BTreeMap<u64, Option<u16>> = depths
            .iter()
            .filter(|(_, depth)| is_in(**depth))
            .map(|(page, depth)| (*page, Some(*depth)))
            .collect();
        let mut left: VecDeque<u64> = before
            .iter()
            .filter(|page| !depths.contains_key(page))
            .copied()
            .collect();
        while let Some(page) = left.pop_front() {
            if visited.contains_key(&page) {
                continue;
            }
            visited.insert(page, None);
            // Without a depth, a limit of depth lets nothing in that is behind it.
            if max_depth.is_none() {
                match self.content(page, epoch) {
                    Content::Page(_, links) => left.extend(links),
                    Content::Redirect(to) => left.push_back(to),
                    Content::Missing => {}
                }
            }
        }
        visited
    }
}

impl Fetcher for ChangingWeb {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let answer = self.answer(&request);
        let scripted = ScriptedFetcher::new(Arc::new(SystemClock));
        let scripted = scripted.raw(request.url.as_str(), answer.as_str());
        Box::pin(async move { scripted.fetch(request).await })
    }
}
