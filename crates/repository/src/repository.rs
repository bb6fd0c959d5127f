//! The Repository itself.

mod again;
mod disk;
mod folding;
mod journal;
mod moving;
mod queue;
mod robots_copies;
mod saving;
mod survey;
mod take_in;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashTable;
use teia_base::journal::{Chain, Exclusion, LinkVerdict};
use teia_base::{CanonicalUrl, FoundUrl, HostId, Order, Outcome, Retry, Timestamp};

use self::disk::Disk;
pub use self::disk::{Backing, News};
use self::robots_copies::LongCopies;
pub use self::survey::Depths;
use crate::blocks::StoreError;
use crate::due::LongestWait;
use crate::host::{HostRecord, HostRow};
use crate::row::{Rare, Row, State, UrlRef, UrlState};
use crate::table::Table;

/// What a row costs in memory beside its text, about: row, index, queue, allocations.
const ROW_WEIGHT: u64 = 160;
/// What the links of a page cost beside four bytes each, about.
const LINKS_WEIGHT: u64 = 48;
/// What a host costs, about.
const HOST_WEIGHT: u64 = 320;

/// How the Repository works.
#[derive(Clone, Debug)]
pub struct RepositoryConfig {
    /// Key of the hashes, secret to each data directory, so that nobody can aim at them.
    pub key: u64,
    /// Which URL of a host goes first.
    pub order: Arc<dyn Order>,
    /// Remember the links of each page, while everything is in memory: needed where depth is limited,
    /// because a shorter way to a page that was fetched before must reach the pages behind it. On
    /// disk nobody but the journal has them.
    pub keep_links: bool,
    /// Of a hundred turns of a host that has both, so many are for URLs that were visited before; without
    /// it, one order is for all. None of them leaves the visited ones to the end (VEUNI's `expand`), a hundred
    /// puts them first (its `refresh`).
    pub revisit_share: Option<u8>,
    /// What goes first on a host of which nothing was seen yet.
    pub new_hosts: NewHosts,
}

/// What goes first on a host of which nothing was seen yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewHosts {
    /// What the order says.
    #[default]
    Order,
    /// The shortest path, because pages near the root of a host lead to most others. On disk: the window
    /// of it.
    ShortestPath,
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

impl<'a> Offer<'a> {
    /// A URL that a person adds to what is collected.
    pub fn added(url: &'a FoundUrl) -> Self {
        Self {
            url,
            depth: 0,
            referrer: None,
            requisite: false,
            chain: None,
            last_modified: None,
            seed: None,
            admission: Admission::Admit,
        }
    }
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
    /// Places in `hosts`, by name.
    host_index: HashTable<u32>,
    rules: Vec<Exclusion>,
    rule_index: HashMap<(i16, String), u32>,
    links: HashMap<u32, Box<[u32]>>,
    redirects: HashMap<u32, u32>,
    counts: [u64; 5],
    position: u64,
    /// About as many bytes as the rows take.
    weight: u64,
    /// Where to go on when memory does not hold everything.
    backing: Option<Backing>,
    /// What does not fit into memory.
    disk: Option<Box<Disk>>,
    /// The journal is being replayed.
    replaying: bool,
    /// What is replayed was told to nobody yet: there were no blocks before these.
    tells_first: bool,
    /// Attempts, links and added URLs that were told by earlier processes.
    replayed: u64,
    /// Up to this entry, what is told of hosts was restored.
    hosts_position: u64,
    /// The entry that is being replayed tells nothing new of hosts.
    hosts_known: bool,
    changed_hosts: Vec<u32>,
    /// Of robots.txt.
    long_copies: LongCopies,
    longest_wait: LongestWait,
    /// The edition of the order by which the queues are kept.
    edition: u64,
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
            host_index: HashTable::new(),
            rules: Vec::new(),
            rule_index: HashMap::new(),
            links: HashMap::new(),
            redirects: HashMap::new(),
            counts: [0; 5],
            position: 0,
            weight: 0,
            backing: None,
            disk: None,
            replaying: false,
            tells_first: false,
            replayed: 0,
            hosts_position: 0,
            hosts_known: false,
            changed_hosts: Vec::new(),
            long_copies: LongCopies::default(),
            longest_wait: LongestWait::default(),
            edition: 0,
        }
    }

    /// Notes for how long a URL may wait: for its next visit, or for another try. What waits for much longer is due now: the clock
    /// was wrong that said so.
    pub fn set_longest_wait(&mut self, wait: Duration, now: Timestamp) {
        self.longest_wait.set(wait);
        if let Some(disk) = &self.disk {
            disk.store.follow_longest_wait(&self.longest_wait);
        }
        self.bring_wrong(now);
    }

    /// The last journal entry that it has applied.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// URLs ever met.
    pub fn len(&self) -> u64 {
        match &self.disk {
            None => self.table.len() as u64,
            Some(disk) => State::ALL.iter().map(|state| disk.count(*state)).sum(),
        }
    }

    /// Whether no URL was ever met.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// URLs in this state.
    pub fn count(&self, state: State) -> u64 {
        match &self.disk {
            None => self.counts[state as usize],
            Some(disk) => disk.count(state),
        }
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
        if self.disk.is_some() {
            return self.offer_on_disk(offer, now);
        }
        let host = self.intern_host(offer.url.normal().host_str());
        let verdict = match &offer.admission {
            Admission::Admit => LinkVerdict::New,
            Admission::Exclude(exclusion) => LinkVerdict::Excluded(exclusion.clone()),
        };
        let at = self.insert(offer, host, now);
        Offered {
            reference: self.table.reference(at),
            host: HostId(host),
            verdict,
            lowered: false,
        }
    }

    /// Keeps in mind a URL to which a link led that is not to be followed (`nofollow`), so that
    /// people can ask about it. Such a link is no way: it gives a URL that is new no depth, and one
    /// that is known nothing.
    pub fn meet_barred(&mut self, url: &FoundUrl, referrer: Option<UrlRef>, now: Timestamp) {
        // On disk it is taken in with its commit.
        if self.disk.is_some() || self.table.find(url.normal().as_str()).is_some() {
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
            admission: Admission::Exclude(take_in::not_followed()),
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
            reference: self.table.reference(at),
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
            referrer: offer
                .referrer
                .map_or(0, |referrer| referrer.at.wrapping_add(1)),
            first_seen: u32::try_from(now.as_seconds()).unwrap_or(0),
            rule,
            depth: offer.depth,
            tries: 0,
            state,
            leased: false,
            requisite: offer.requisite,
        });
        self.weight += ROW_WEIGHT + offer.url.normal().as_str().len() as u64;
        self.counts[state as usize] += 1;
        let row = &mut self.hosts[host as usize];
        row.known += 1;
        if state == State::Waiting {
            row.waiting += 1;
            self.enqueue(at);
        }
        at
    }

    /// URLs that a rule left out and that now may enter, as `admits` says.
    pub fn excluded(&mut self, mut admits: impl FnMut(&UrlState) -> bool) -> Vec<UrlState> {
        if self.disk.is_some() {
            return self.excluded_on_disk(admits);
        }
        let rows = self.table.rows();
        let rows = rows.filter(|(_, row)| row.state == State::Excluded);
        rows.map(|(at, _)| self.view(at))
            .filter(|state| admits(state))
            .collect()
    }

    /// A URL that waits is left out from now on. On disk it is taken in with its commit, and handed out to nobody
    /// before.
    pub fn exclude(&mut self, url: &UrlState, exclusion: &Exclusion) {
        if let Some(at) = self.place_of(url.reference) {
            self.exclude_row(at, exclusion);
        } else if let Some(disk) = &mut self.disk {
            disk.store.hold(url.url.normal().as_str());
        }
    }

    fn exclude_row(&mut self, at: u32, exclusion: &Exclusion) {
        let rule = self.intern_rule(exclusion);
        let row = self.table.row_mut(at);
        row.leased = false;
        row.rule = rule;
        self.set_state(at, State::Excluded);
    }

    /// A new run begins: URLs that failed for a passing reason, a while ago, get another chance.
    pub fn begin_run(&mut self, wall: Timestamp, patience: std::time::Duration) {
        let another_chance = |outcome: Outcome, last_attempt: Timestamp| {
            outcome.retry() != Retry::Final && wall.since(last_attempt) >= patience
        };
        if self.disk.is_some() {
            self.reopen_on_disk(None, another_chance);
            return;
        }
        for at in 0..self.table.places() {
            let row = self.table.row_mut(at);
            let worth_it = row.state == State::Failed
                && row
                    .fetched
                    .as_ref()
                    .is_some_and(|it| another_chance(it.outcome, it.last_attempt));
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
        if self.keeps_links() && !targets.is_empty() {
            self.weight += LINKS_WEIGHT + 4 * targets.len() as u64;
            let targets = targets.iter().map(|target| target.at).collect();
            if let Some(before) = self.links.insert(page.at, targets) {
                self.weight -= LINKS_WEIGHT + 4 * before.len() as u64;
            }
        }
    }

    fn forget_links(&mut self) {
        for links in std::mem::take(&mut self.links).into_values() {
            self.weight -= LINKS_WEIGHT + 4 * links.len() as u64;
        }
        self.redirects = HashMap::new();
    }

    /// Whether the links of pages are remembered here.
    pub fn keeps_links(&self) -> bool {
        self.config.keep_links && self.disk.is_none()
    }

    /// The links of a page, where they are remembered.
    pub fn links_of(&self, page: UrlRef) -> Vec<UrlRef> {
        self.links.get(&page.at).map_or_else(Vec::new, |links| {
            links.iter().map(|&at| self.table.reference(at)).collect()
        })
    }

    /// Remembers where a page redirects to, where depth is limited.
    pub fn set_redirect(&mut self, page: UrlRef, target: UrlRef) {
        if self.keeps_links() {
            self.redirects.insert(page.at, target.at);
        }
    }

    /// Where a page redirects to, where that is remembered. A redirect is no hop: its target is as
    /// near as the page.
    pub fn redirect_of(&self, page: UrlRef) -> Option<UrlRef> {
        self.redirects
            .get(&page.at)
            .map(|&at| self.table.reference(at))
    }

    /// What is known of a URL.
    pub fn state(&self, url: &CanonicalUrl) -> Option<UrlState> {
        match self.table.find(url.as_str()) {
            Some(at) => Some(self.view(at)),
            None => self.state_on_disk(url),
        }
    }

    /// The same, for one who must not take a URL on a damaged page for one that was never met.
    pub fn try_state(&self, url: &CanonicalUrl) -> Result<Option<UrlState>, StoreError> {
        match self.table.find(url.as_str()) {
            Some(at) => Ok(Some(self.view(at))),
            None => self.try_state_on_disk(url),
        }
    }

    /// Whether a row in memory has it.
    pub fn is_in_memory(&self, url: &CanonicalUrl) -> bool {
        self.table.find(url.as_str()).is_some()
    }

    /// What is known of the URL in this place.
    pub fn view_of(&self, url: UrlRef) -> UrlState {
        self.view(
            self.place_of(url)
                .expect("only URLs in memory are referred to"),
        )
    }

    /// Where the URL is now: a reference outlives the moment in which rows move to the disk.
    fn place_of(&self, url: UrlRef) -> Option<u32> {
        if self.table.holds(url) {
            return Some(url.at);
        }
        let moved = self.disk.as_ref()?.moved_rows.get(&url)?;
        self.table.holds(*moved).then_some(moved.at)
    }

    /// Least known hops to the URL in this place.
    pub fn depth_of(&self, url: UrlRef) -> u16 {
        self.place_of(url)
            .map_or(u16::MAX, |at| self.table.row(at).depth)
    }

    /// All URLs in memory, in the order in which they were met.
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
        self.place_of_host(name).map(HostId)
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
            reference: self.table.reference(at),
            url: FoundUrl::from_stored(CanonicalUrl::from_stored(&row.text), spelling),
            host: HostId(row.host),
            state: row.state,
            exclusion: row
                .rule
                .checked_sub(1)
                .map(|rule| self.rules[rule as usize].clone()),
            // The row of the page may be gone where there is a disk; the journal has it.
            referrer: row
                .referrer
                .checked_sub(1)
                .filter(|_| self.disk.is_none())
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
            priority: rare.map_or(0, |rare| rare.priority),
            leased: row.leased,
            fetched: row.fetched.as_deref().cloned(),
        }
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
            (true, false) => host.waiting = host.waiting.saturating_sub(1),
            (false, true) => host.waiting += 1,
            _ => {}
        }
    }

    /// Sets what an Analyzer thinks of a URL, and moves it in its queue.
    pub(crate) fn set_priority(&mut self, url: &CanonicalUrl, priority: i32) {
        self.set_priority_on_disk(url, priority);
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
        if let Some(at) = self.place_of_host(name) {
            return at;
        }
        let at = u32::try_from(self.hosts.len()).expect("fewer than 2^32 hosts");
        self.weight += HOST_WEIGHT;
        self.hosts.push(HostRow {
            name: name.into(),
            ..HostRow::default()
        });
        let (hosts, table) = (&self.hosts, &self.table);
        let hash = |at: &u32| table.hash(&hosts[*at as usize].name);
        self.host_index.insert_unique(hash(&at), at, hash);
        at
    }

    fn place_of_host(&self, name: &str) -> Option<u32> {
        let is_it = |at: &u32| &*self.hosts[*at as usize].name == name;
        self.host_index.find(self.table.hash(name), is_it).copied()
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
