//! The Repository itself.

mod journal;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use teia_base::journal::{Chain, Exclusion, LinkVerdict};
use teia_base::{CanonicalUrl, FoundUrl, HostId, Order, Outcome, Retry, Timestamp, UrlFacts};

use crate::host::{HostRecord, HostRow};
use crate::row::{Rare, Row, State, UrlRef, UrlState};
use crate::table::Table;

/// How the Repository works.
#[derive(Clone, Debug)]
pub struct RepositoryConfig {
    /// Key of the hashes, secret to each data directory, so that nobody can aim at them.
    pub key: u64,
    /// Which URL of a host goes first.
    pub order: Arc<dyn Order>,
    /// Remember the links of each page: needed where depth is limited, because a shorter way to a
    /// page that was fetched before must reach the pages behind it.
    pub keep_links: bool,
}

/// A URL met on the way.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// Which.
    pub url: &'a FoundUrl,
    /// Hops from a seed by this way.
    pub depth: u16,
    /// On which page.
    pub referrer: Option<UrlRef>,
    /// Needed by a kept page.
    pub requisite: bool,
    /// As part of this chain of redirects.
    pub chain: Option<Chain>,
    /// `lastmod` of a sitemap or feed.
    pub last_modified: Option<Timestamp>,
    /// Given by a person; without scheme?
    pub seed: Option<bool>,
    /// What the rules say of it.
    pub admission: Admission,
}

/// What the rules say of an offered URL.
#[derive(Clone, Debug)]
pub enum Admission {
    /// It may be fetched.
    Admit,
    /// It is left out.
    Exclude(Exclusion),
}

/// What the Repository says of an offered URL.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its place.
    pub reference: UrlRef,
    /// Its host.
    pub host: HostId,
    /// New, known, excluded, readmitted.
    pub verdict: LinkVerdict,
    /// A shorter way than known before.
    pub lowered: bool,
}

/// Every URL ever met, once.
pub struct Repository {
    config: RepositoryConfig,
    table: Table,
    hosts: Vec<HostRow>,
    host_index: HashMap<Box<str>, u32>,
    rules: Vec<Exclusion>,
    rule_index: HashMap<(i16, String), u32>,
    links: HashMap<u32, Box<[u32]>>,
    redirects: HashMap<u32, u32>,
    counts: [u64; 5],
    position: u64,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository")
            .field("urls", &self.table.len())
            .field("hosts", &self.hosts.len())
            .finish_non_exhaustive()
    }
}

impl Repository {
    /// An empty Repository; replay the journal into it with [`Repository::replay`].
    pub fn new(config: RepositoryConfig) -> Self {
        Self {
            table: Table::new(config.key),
            config,
            hosts: Vec::new(),
            host_index: HashMap::new(),
            rules: Vec::new(),
            rule_index: HashMap::new(),
            links: HashMap::new(),
            redirects: HashMap::new(),
            counts: [0; 5],
            position: 0,
        }
    }

    /// The last journal entry that it has applied.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// URLs ever met.
    pub fn len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Whether no URL was ever met.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// URLs in this state.
    pub fn count(&self, state: State) -> u64 {
        self.counts[state as usize]
    }

    /// Hosts ever met.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Says whether a URL is new, and takes it in if so.
    pub fn offer(&mut self, offer: &Offer<'_>, now: Timestamp) -> Offered {
        if let Some(at) = self.table.find(offer.url.normal().as_str()) {
            return self.offer_known(at, offer);
        }
        let host = self.intern_host(offer.url.normal().host_str());
        let verdict = match &offer.admission {
            Admission::Admit => LinkVerdict::New,
            Admission::Exclude(exclusion) => LinkVerdict::Excluded(exclusion.clone()),
        };
        let at = self.insert(offer, host, now);
        Offered {
            reference: UrlRef(at),
            host: HostId(host),
            verdict,
            lowered: false,
        }
    }

    /// Keeps in mind a URL to which a link led that is not to be followed (`nofollow`), so that
    /// people can ask about it. Such a link is no way: it gives a URL that is new no depth, and one
    /// that is known nothing.
    pub fn meet_barred(&mut self, url: &FoundUrl, referrer: Option<UrlRef>, now: Timestamp) {
        if self.table.find(url.normal().as_str()).is_some() {
            return;
        }
        let offer = Offer {
            url,
            depth: u16::MAX,
            referrer,
            requisite: false,
            chain: None,
            last_modified: None,
            seed: None,
            admission: Admission::Exclude(Exclusion {
                outcome: Outcome::OUT_OF_SCOPE,
                rule: "nofollow".to_owned(),
            }),
        };
        self.offer(&offer, now);
    }

    fn offer_known(&mut self, at: u32, offer: &Offer<'_>) -> Offered {
        let lowered = self.meet_again(at, offer.depth, offer.requisite, offer.seed);
        let row = self.table.row_mut(at);
        let host = row.host;
        let admits = matches!(offer.admission, Admission::Admit);
        let verdict = if row.state == State::Excluded && admits {
            row.rule = 0;
            if let Some(chain) = offer.chain {
                row.rare.get_or_insert_default().chain = Some(chain);
            }
            self.set_state(at, State::Waiting);
            self.enqueue(at);
            LinkVerdict::Readmitted
        } else {
            LinkVerdict::Known
        };
        Offered {
            reference: UrlRef(at),
            host: HostId(host),
            verdict,
            lowered,
        }
    }

    /// What another way to a known URL adds, the same live and in replay: fewer hops, a page that
    /// needs it, a person who names it. Returns whether the way is shorter.
    fn meet_again(&mut self, at: u32, depth: u16, requisite: bool, seed: Option<bool>) -> bool {
        let row = self.table.row_mut(at);
        if let Some(fallback_http) = seed {
            let rare = row.rare.get_or_insert_default();
            rare.seed = true;
            rare.fallback_http |= fallback_http;
            row.requisite = false;
        }
        let is_seed = row.rare.as_ref().is_some_and(|rare| rare.seed);
        row.requisite |= requisite && !is_seed;
        self.lower(at, depth)
    }

    fn insert(&mut self, offer: &Offer<'_>, host: u32, now: Timestamp) -> u32 {
        let (state, rule) = match &offer.admission {
            Admission::Admit => (State::Waiting, 0),
            Admission::Exclude(exclusion) => (State::Excluded, self.intern_rule(exclusion)),
        };
        let is_rare = offer.url.spelling().is_some()
            || offer.chain.is_some()
            || offer.last_modified.is_some()
            || offer.seed.is_some();
        let rare = is_rare.then(|| {
            Box::new(Rare {
                spelling: offer.url.spelling().map(Into::into),
                chain: offer.chain,
                due: None,
                fallback_http: offer.seed == Some(true),
                last_modified: offer.last_modified,
                priority: 0,
                seed: offer.seed.is_some(),
            })
        });
        let at = self.table.push(Row {
            text: offer.url.normal().as_str().into(),
            rare,
            fetched: None,
            host,
            referrer: offer.referrer.map_or(0, |referrer| referrer.0 + 1),
            first_seen: u32::try_from(now.as_seconds()).unwrap_or(0),
            rule,
            depth: offer.depth,
            tries: 0,
            state,
            leased: false,
            requisite: offer.requisite,
        });
        self.counts[state as usize] += 1;
        let row = &mut self.hosts[host as usize];
        row.known += 1;
        if state == State::Waiting {
            row.waiting += 1;
            self.enqueue(at);
        }
        at
    }

    /// Takes up to `n` URLs of a host that are due, in the chosen order, and leases them.
    pub fn window(&mut self, host: HostId, n: usize, now: Timestamp) -> Vec<UrlState> {
        self.bring_due(host, now);
        let mut window = Vec::new();
        while window.len() < n {
            let Some(Reverse((key, at))) = self.hosts[host.0 as usize].queue.pop() else {
                break;
            };
            let row = self.table.row(at);
            let due = row.rare.as_ref().and_then(|rare| rare.due);
            if row.state != State::Waiting || row.leased || due.is_some_and(|due| due > now) {
                continue;
            }
            let place = self.place(at);
            if key != place {
                // Put in before its depth, tries or priority changed: its place is another one.
                self.hosts[host.0 as usize].queue.push(Reverse((place, at)));
                continue;
            }
            self.table.row_mut(at).leased = true;
            window.push(self.view(at));
        }
        window
    }

    /// Gives a lease back without an attempt: the URL waits again in its old place.
    pub fn release(&mut self, url: UrlRef) {
        self.table.row_mut(url.0).leased = false;
        if self.table.row(url.0).state == State::Waiting {
            self.enqueue(url.0);
        }
    }

    /// Gives a lease back: the URL waits again, and not before then. In memory only.
    pub fn defer(&mut self, url: UrlRef, until: Timestamp) {
        let row = self.table.row_mut(url.0);
        row.leased = false;
        if row.state == State::Waiting {
            row.rare.get_or_insert_default().due = Some(until);
            self.enqueue(url.0);
        }
    }

    /// URLs that a rule left out.
    pub fn excluded(&self) -> Vec<UrlRef> {
        let rows = self.table.rows();
        rows.filter(|(_, row)| row.state == State::Excluded)
            .map(|(at, _)| UrlRef(at))
            .collect()
    }

    /// When the host's next URL is due: now, at a moment, or never.
    pub fn next_due(&mut self, host: HostId, now: Timestamp) -> Option<Timestamp> {
        self.bring_due(host, now);
        loop {
            let row = &mut self.hosts[host.0 as usize];
            if let Some(Reverse((_, at))) = row.queue.peek() {
                let url = self.table.row(*at);
                let later = url
                    .rare
                    .as_ref()
                    .and_then(|rare| rare.due)
                    .is_some_and(|due| due > now);
                if url.state == State::Waiting && !url.leased && !later {
                    return Some(now);
                }
                row.queue.pop();
                continue;
            }
            let Reverse((due, at)) = row.later.peek()?;
            let url = self.table.row(*at);
            if url.state == State::Waiting
                && !url.leased
                && url.rare.as_ref().and_then(|rare| rare.due) == Some(*due)
            {
                return Some(*due);
            }
            row.later.pop();
        }
    }

    fn bring_due(&mut self, host: HostId, now: Timestamp) {
        while let Some(Reverse((due, at))) = self.hosts[host.0 as usize].later.peek().copied() {
            if due > now {
                break;
            }
            self.hosts[host.0 as usize].later.pop();
            let row = self.table.row_mut(at);
            if let Some(rare) = &mut row.rare
                && rare.due == Some(due)
            {
                rare.due = None;
                if row.state == State::Waiting && !row.leased {
                    self.enqueue(at);
                }
            }
        }
    }

    /// A new run begins: URLs that failed for a passing reason, a while ago, get another chance.
    pub fn begin_run(&mut self, wall: Timestamp, patience: std::time::Duration) {
        for at in 0..u32::try_from(self.table.len()).expect("fewer than 2^32 rows") {
            let row = self.table.row_mut(at);
            let worth_it = row.state == State::Failed
                && row.fetched.as_ref().is_some_and(|fetched| {
                    fetched.outcome.retry() != Retry::Final
                        && wall.since(fetched.last_attempt) >= patience
                });
            if worth_it {
                row.tries = 0;
                if let Some(rare) = &mut row.rare {
                    rare.due = None;
                }
                self.set_state(at, State::Waiting);
                self.enqueue(at);
            }
        }
    }

    fn lower(&mut self, at: u32, depth: u16) -> bool {
        let row = self.table.row_mut(at);
        let lowered = depth < row.depth;
        if lowered {
            row.depth = depth;
            if row.state == State::Waiting && !row.leased {
                self.enqueue(at);
            }
        }
        lowered
    }

    /// Remembers the links of a page, where depth is limited.
    pub fn set_links(&mut self, page: UrlRef, targets: &[UrlRef]) {
        if self.config.keep_links && !targets.is_empty() {
            self.links
                .insert(page.0, targets.iter().map(|target| target.0).collect());
        }
    }

    /// The links of a page, where they are remembered.
    pub fn links_of(&self, page: UrlRef) -> Vec<UrlRef> {
        self.links.get(&page.0).map_or_else(Vec::new, |links| {
            links.iter().map(|&at| UrlRef(at)).collect()
        })
    }

    /// Remembers where a page redirects to, where depth is limited.
    pub fn set_redirect(&mut self, page: UrlRef, target: UrlRef) {
        if self.config.keep_links {
            self.redirects.insert(page.0, target.0);
        }
    }

    /// Where a page redirects to, where that is remembered. A redirect is no hop: its target is as
    /// near as the page.
    pub fn redirect_of(&self, page: UrlRef) -> Option<UrlRef> {
        self.redirects.get(&page.0).map(|&at| UrlRef(at))
    }

    /// What is known of a URL.
    pub fn state(&self, url: &CanonicalUrl) -> Option<UrlState> {
        self.table.find(url.as_str()).map(|at| self.view(at))
    }

    /// What is known of the URL in this place.
    pub fn view_of(&self, url: UrlRef) -> UrlState {
        self.view(url.0)
    }

    /// Least known hops to the URL in this place.
    pub fn depth_of(&self, url: UrlRef) -> u16 {
        self.table.row(url.0).depth
    }

    /// All URLs, in the order in which they were met.
    pub fn urls(&self) -> impl Iterator<Item = UrlState> {
        self.table.rows().map(|(at, _)| self.view(at))
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &str)> {
        (0..)
            .zip(&self.hosts)
            .map(|(at, host)| (HostId(at), &*host.name))
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.host_index.get(name).map(|&at| HostId(at))
    }

    /// The host of this name, taken in if it was never met.
    pub fn ensure_host(&mut self, name: &str) -> HostId {
        HostId(self.intern_host(name))
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.hosts[host.0 as usize].name
    }

    /// URLs known, waiting and fetched on a host.
    pub fn host_counts(&self, host: HostId) -> (u32, u32, u32) {
        let row = &self.hosts[host.0 as usize];
        (row.known, row.waiting, row.fetched)
    }

    /// What is kept of a host.
    pub fn host_record(&self, host: HostId) -> Option<&HostRecord> {
        self.hosts[host.0 as usize].record.as_deref()
    }

    fn view(&self, at: u32) -> UrlState {
        let row = self.table.row(at);
        let rare = row.rare.as_deref();
        let spelling = rare.and_then(|rare| rare.spelling.as_deref());
        UrlState {
            reference: UrlRef(at),
            url: FoundUrl::from_stored(CanonicalUrl::from_stored(&row.text), spelling),
            host: HostId(row.host),
            state: row.state,
            exclusion: row
                .rule
                .checked_sub(1)
                .map(|rule| self.rules[rule as usize].clone()),
            referrer: row
                .referrer
                .checked_sub(1)
                .map(|at| self.table.row(at).text.to_string()),
            depth: row.depth,
            first_seen: Timestamp::from_micros(i64::from(row.first_seen) * 1_000_000),
            tries: row.tries,
            due: rare.and_then(|rare| rare.due),
            requisite: row.requisite,
            seed: rare.is_some_and(|rare| rare.seed),
            fallback_http: rare.is_some_and(|rare| rare.fallback_http),
            chain: rare.and_then(|rare| rare.chain),
            last_modified: rare.and_then(|rare| rare.last_modified),
            leased: row.leased,
            fetched: row.fetched.as_deref().cloned(),
        }
    }

    fn enqueue(&mut self, at: u32) {
        let row = self.table.row(at);
        let rare = row.rare.as_deref();
        if let Some(due) = rare.and_then(|rare| rare.due) {
            self.hosts[row.host as usize].later.push(Reverse((due, at)));
            return;
        }
        let host = row.host as usize;
        let place = self.place(at);
        self.hosts[host].queue.push(Reverse((place, at)));
    }

    /// Where a URL stands in its host's queue. Another try never holds up what was not tried yet.
    fn place(&self, at: u32) -> (u8, u64) {
        let row = self.table.row(at);
        let facts = UrlFacts {
            depth: row.depth,
            sequence: u64::from(at) + 1,
            hash: self.table.hash(&row.text),
            first_seen: Timestamp::from_micros(i64::from(row.first_seen) * 1_000_000),
            requisite: row.requisite,
            priority: row.rare.as_ref().map_or(0, |rare| rare.priority),
        };
        (row.tries, self.config.order.url_key(&facts))
    }

    fn set_state(&mut self, at: u32, state: State) {
        let row = self.table.row_mut(at);
        if row.state == state {
            return;
        }
        self.counts[row.state as usize] -= 1;
        self.counts[state as usize] += 1;
        let waited = row.state == State::Waiting;
        row.state = state;
        let host = &mut self.hosts[row.host as usize];
        match (waited, state == State::Waiting) {
            (true, false) => host.waiting -= 1,
            (false, true) => host.waiting += 1,
            _ => {}
        }
    }

    /// Sets what an Analyzer thinks of a URL, and moves it in its queue.
    pub fn set_priority(&mut self, url: &CanonicalUrl, priority: i32) {
        let Some(at) = self.table.find(url.as_str()) else {
            return;
        };
        let row = self.table.row_mut(at);
        row.rare.get_or_insert_default().priority = priority;
        if row.state == State::Waiting && !row.leased {
            self.enqueue(at);
        }
    }

    fn intern_host(&mut self, name: &str) -> u32 {
        if let Some(&at) = self.host_index.get(name) {
            return at;
        }
        let at = u32::try_from(self.hosts.len()).expect("fewer than 2^32 hosts");
        self.hosts.push(HostRow {
            name: name.into(),
            ..HostRow::default()
        });
        self.host_index.insert(name.into(), at);
        at
    }

    fn intern_rule(&mut self, exclusion: &Exclusion) -> u32 {
        let key = (exclusion.outcome.number(), exclusion.rule.clone());
        if let Some(&rule) = self.rule_index.get(&key) {
            return rule;
        }
        self.rules.push(exclusion.clone());
        let rule = u32::try_from(self.rules.len()).expect("fewer than 2^32 rules");
        self.rule_index.insert(key, rule);
        rule
    }
}
