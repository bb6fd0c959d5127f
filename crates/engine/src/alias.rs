//! Hosts that serve the same pages under two names.
//!
//! A page of one host that repeats the page of the same path on another is a sign, whichever of the
//! two came first; enough signs, most of the younger host's pages among them, and the younger
//! host is an alias: from then on it is asked only samples. Samples that do not repeat the original
//! lift the mark, and what was passed over waits again: nobody can hide a host for good by copying
//! its first pages.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use teia_base::journal::{Attempt, HostUpdate};
use teia_base::{CanonicalUrl, HostId};
use teia_repository::{Fetched, UrlState};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::feedback::{Event, Level};
use crate::ring::Ring;

/// One URL of an alias in this many is still asked, in case the hosts part ways.
const SAMPLE: u64 = 20;
/// Pairs of hosts that are watched at once, of the newer and of the older ones each.
const MOST_PAIRS: usize = 10_000;

/// Aliases of aliases that are followed to the host that is collected.
const MOST_HOPS: usize = 8;

/// Hosts of one page that are held against others.
const MOST_TWINS: usize = 64;

/// Two hosts, the older one first: which of them repeated the other with a page is chance where both
/// are asked in step.
type Pair = (HostId, HostId);

/// Signs for and against, for each pair of hosts.
///
/// Bounded: when the newer pairs are full, they become the older ones, and the older ones, which
/// have given no sign for as long as that took, are forgotten.
#[derive(Debug, Default)]
pub(crate) struct AliasWatch {
    newer: HashMap<Pair, Signs>,
    older: HashMap<Pair, Signs>,
    /// Hosts that show one page under one path, by a hash of both; of the newer and of the older pages.
    twins: HashMap<u64, Vec<HostId>>,
    older_twins: HashMap<u64, Vec<HostId>>,
    /// Pages of each host that were looked at.
    pages: HashMap<HostId, u32>,
    /// Samples of each alias.
    samples: HashMap<HostId, Signs>,
    /// Samples whose page the original may still bring, and when they came.
    unsure: HashMap<HostId, Vec<(CanonicalUrl, Instant)>>,
    /// When they were last looked at.
    looked: Option<Instant>,
}

/// How long a sample waits for the original to bring the same page.
const SAMPLE_PATIENCE: Duration = Duration::from_secs(120);
/// More URLs than this are not all brought into their blocks while commits wait.
const MANY_URLS: u64 = 2_000_000;
/// How often the samples that wait are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Samples of one alias that wait for the original.
const MOST_UNSURE: usize = 64;

/// Whether a sample may still wait for the original's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It has not come yet, and may.
    ForTheOriginal,
    /// Nothing more will come.
    No,
}

#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    equal: u32,
    different: u32,
}

impl AliasWatch {
    /// Notes one page; true when the pair has just given enough signs.
    fn note(&mut self, pair: Pair, same_path: bool, enough: u32) -> bool {
        let known = self.newer.remove(&pair).or(self.older.remove(&pair));
        let mut signs = known.unwrap_or_default();
        if same_path {
            signs.equal += 1;
        } else {
            signs.different += 1;
        }
        let pages = self.pages.get(&pair.1).copied().unwrap_or_default();
        // Not more: where both are asked in step, some twins are still on their way.
        let most = u64::from(signs.equal) * 3 >= u64::from(pages) * 2;
        if same_path && signs.equal >= enough && signs.different * 10 <= signs.equal && most {
            return true;
        }
        if self.newer.len() >= MOST_PAIRS {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(pair, signs);
        false
    }

    /// Notes that a host shows a page; returns the pairs for which that is a sign.
    ///
    /// Where many names of one content are asked in step, another of them is the first with each page.
    /// So each is held against the oldest host that has shown the page so far, and all of them against
    /// one that is older still and comes later: in the end each has been held against the oldest, once
    /// for each page.
    fn meet(&mut self, page: u64, host: HostId) -> Vec<Pair> {
        let known = self.twins.remove(&page).or(self.older_twins.remove(&page));
        let mut hosts = known.unwrap_or_default();
        let oldest = hosts.iter().min_by_key(|host| host.0).copied();
        let pairs = match oldest {
            _ if hosts.contains(&host) => Vec::new(),
            None => Vec::new(),
            Some(oldest) if oldest.0 < host.0 => vec![(oldest, host)],
            Some(_) => hosts.iter().map(|other| (host, *other)).collect(),
        };
        // The oldest one is always among those that are kept.
        if !hosts.contains(&host) {
            if hosts.len() >= MOST_TWINS {
                hosts.pop();
            }
            hosts.push(host);
            hosts.sort_unstable_by_key(|host| host.0);
        }
        if self.twins.len() >= MOST_PAIRS {
            self.older_twins = std::mem::take(&mut self.twins);
        }
        self.twins.insert(page, hosts);
        pairs
    }

    /// Whether a host has shown the page.
    fn has_shown(&self, page: u64, host: HostId) -> bool {
        let hosts = self.twins.get(&page).or(self.older_twins.get(&page));
        hosts.is_some_and(|hosts| hosts.contains(&host))
    }

    /// Notes a sample of an alias; true when the samples say that it is none.
    fn note_sample(&mut self, alias: HostId, repeats: bool) -> bool {
        let signs = self.samples.entry(alias).or_default();
        if repeats {
            signs.equal += 1;
        } else {
            signs.different += 1;
        }
        let parted = signs.different >= 2 && signs.different > signs.equal;
        if parted {
            self.samples.remove(&alias);
        }
        parted
    }
}

impl Ring {
    /// Looks at a page that repeats another one.
    pub(crate) fn notice_alias(&mut self, attempt: &Attempt) {
        let enough = self.config.run.alias_pages;
        // Pictures and styles are shared by honest hosts; pages are not.
        let is_page = attempt
            .media_type
            .as_deref()
            .is_some_and(|name| name.contains("html"));
        if enough == 0 || !is_page || !attempt.outcome.is_ok() {
            return;
        }
        let url = attempt.url.normal();
        let Some(host) = self.repository.host(url.host_str()) else {
            return;
        };
        *self.aliases.pages.entry(host).or_default() += 1;
        // Where two hosts are asked in step, the original was still on its way when the worker
        // looked for it; by now it may have been admitted.
        let original = match (&attempt.revisit, &attempt.payload_sha1) {
            (Some(revisit), _) => Some(revisit.url.clone()),
            (None, Some(digest)) => self.workshop.digests.find(digest).map(|found| found.url),
            (None, None) => None,
        };
        let original = original
            .and_then(|url| CanonicalUrl::parse(&url).ok())
            .filter(|original| original.host_str() != url.host_str());
        let page = attempt
            .payload_sha1
            .map(|digest| xxh3_64_with_seed(url.path_and_query().as_bytes(), xxh3_64(&digest)));
        let pairs = page
            .map(|page| self.aliases.meet(page, host))
            .unwrap_or_default();
        if let Some(repeated) = self.alias_of(host) {
            let is_twin = page
                .zip(self.repository.host(&repeated))
                .is_some_and(|(page, original)| self.aliases.has_shown(page, original));
            if is_twin || original.is_some_and(|original| original.host_str() == repeated) {
                self.aliases.note_sample(host, true);
            } else {
                let unsure = self.aliases.unsure.entry(host).or_default();
                if unsure.len() < MOST_UNSURE {
                    unsure.push((url.clone(), self.clock.now()));
                }
            }
            return;
        }
        if !pairs.is_empty() {
            for pair in pairs {
                self.note_pair(pair, true);
            }
            return;
        }
        let Some(original) = original else {
            return;
        };
        let Some(one) = self.repository.host(original.host_str()) else {
            return;
        };
        let pair = if one.0 < host.0 {
            (one, host)
        } else {
            (host, one)
        };
        let same_path = original.path_and_query() == url.path_and_query();
        self.note_pair(pair, same_path);
    }

    /// Takes a sign in; with enough of them the younger host is an alias of the older one.
    fn note_pair(&mut self, (older, younger): Pair, same_path: bool) {
        // One of the two is collected in full: of hosts that name each other only samples would be left.
        let is_alias = |host| self.alias_of(host).is_some();
        if is_alias(older) || is_alias(younger) {
            return;
        }
        let enough = self.config.run.alias_pages;
        if !self.aliases.note((older, younger), same_path, enough) {
            return;
        }
        let name = |host| self.repository.host_name(host).to_owned();
        let (alias, original) = (name(younger), name(older));
        self.feedback.hear(&Event::Notice {
            level: Level::Warning,
            text: format!(
                "{alias} serves the same pages as {original}: from now on only samples of it are fetched"
            ),
        });
        self.window.hosts.push(HostUpdate {
            host: alias.clone(),
            robots: None,
            back_off_until: None,
            alias_of: Some(original.clone()),
        });
        self.alias_hosts.insert(alias, original);
    }

    /// Looks at the samples that wait, once a second: whatever else there is to do, a host that is no
    /// alias is found out within a bounded time. Where there are very many URLs on disk, it is when nothing else is due, because
    /// all news is brought into the blocks before those of the host are looked for, and commits would wait for it.
    pub(crate) fn look_at_samples(&mut self) {
        if self.repository.is_on_disk() && self.repository.len() > MANY_URLS {
            return;
        }
        let now = self.clock.now();
        let looked = self.aliases.looked.get_or_insert(now);
        if now.saturating_duration_since(*looked) >= LOOK_EVERY {
            *looked = now;
            self.settle_samples(Wait::ForTheOriginal);
        }
    }

    /// Looks at the samples that did not repeat anything when they came: by now the original has brought
    /// its page, or has none. True if a mark was lifted.
    pub(crate) fn settle_samples(&mut self, wait: Wait) -> bool {
        let mut lifted = false;
        let now = self.clock.now();
        for (host, samples) in std::mem::take(&mut self.aliases.unsure) {
            let Some(original) = self.alias_of(host) else {
                continue;
            };
            let mut kept = Vec::new();
            for (url, came) in samples {
                let fetched = |url: &CanonicalUrl| self.repository.state(url)?.fetched;
                let twin = url.as_str().replacen(url.host_str(), &original, 1);
                let twin = fetched(&CanonicalUrl::from_stored(&twin));
                let own = fetched(&url);
                // Either may be on its way into the journal.
                let is_whole = own.is_some() && twin.is_some();
                let is_early = now.saturating_duration_since(came) < SAMPLE_PATIENCE;
                if wait == Wait::ForTheOriginal && !is_whole && is_early {
                    kept.push((url, came));
                    continue;
                }
                let digest = |fetched: Option<Fetched>| fetched.and_then(|it| it.text_digest);
                let repeats = digest(own) == digest(twin);
                if self.aliases.note_sample(host, repeats) {
                    self.lift_alias(host, &original);
                    lifted = true;
                    kept.clear();
                    break;
                }
            }
            if !kept.is_empty() {
                self.aliases.unsure.insert(host, kept);
            }
        }
        lifted
    }

    /// The host is no alias after all: what was passed over is asked for.
    fn lift_alias(&mut self, host: HostId, original: &str) {
        let name = self.repository.host_name(host).to_owned();
        self.feedback.hear(&Event::Notice {
            level: Level::Warning,
            text: format!(
                "{name} does not serve the same pages as {original} any more: all of it is fetched"
            ),
        });
        self.window.opened.get_or_insert_with(|| self.clock.now());
        self.window.hosts.push(HostUpdate {
            host: name.clone(),
            robots: None,
            back_off_until: None,
            alias_of: Some(String::new()),
        });
        self.alias_hosts.insert(name, String::new());
    }

    /// Where aliases do not count any more, those of earlier runs are hosts like any other.
    pub(crate) fn lift_aliases_if_off(&mut self) {
        if self.config.run.alias_pages > 0 {
            return;
        }
        let hosts: Vec<HostId> = self.repository.hosts().map(|(host, _)| host).collect();
        for host in hosts {
            if let Some(original) = self.alias_of(host) {
                self.lift_alias(host, &original);
            }
        }
    }

    /// The host that this one repeats. Of one that turned out to repeat a third only samples are fetched, so it is
    /// the third that has the pages: held against the second, its aliases would seem to have parted from it.
    fn alias_of(&self, host: HostId) -> Option<String> {
        let mut original = self.marked_alias_of(host)?;
        for _ in 0..MOST_HOPS {
            let next = self.repository.host(&original);
            match next.and_then(|next| self.marked_alias_of(next)) {
                Some(further) => original = further,
                None => break,
            }
        }
        Some(original)
    }

    /// The host that this one was found to repeat.
    fn marked_alias_of(&self, host: HostId) -> Option<String> {
        let decided = self.alias_hosts.get(self.repository.host_name(host));
        let kept = || self.repository.host_record(host)?.alias_of.clone();
        // An empty name: the mark was lifted, and the commit that says so may be on its way.
        decided
            .cloned()
            .or_else(kept)
            .filter(|original| !original.is_empty())
    }

    /// The host that this one repeats, if the URL is not among the samples.
    pub(crate) fn alias_to_skip(&self, host: HostId, url: &UrlState) -> Option<String> {
        let original = self.alias_of(host)?;
        let sampled = xxh3_64(url.url.normal().as_str().as_bytes()).is_multiple_of(SAMPLE);
        (!sampled && !url.seed).then_some(original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: u32 = 8;

    #[test]
    fn signs_count_whichever_host_came_first() {
        let mut watch = AliasWatch::default();
        let pair = (HostId(1), HostId(2));
        let decided = (1..=ENOUGH).find(|_| watch.note(pair, true, ENOUGH));
        assert_eq!(decided, Some(ENOUGH));
        // A pair that was decided is watched no more.
        assert!(watch.newer.is_empty() && watch.older.is_empty());
    }

    #[test]
    fn however_many_pairs_there_were_another_one_is_noticed() {
        let mut watch = AliasWatch::default();
        for number in 0..50_000 {
            assert!(!watch.note((HostId(0), HostId(number + 1)), true, ENOUGH));
            assert!(watch.newer.len() <= MOST_PAIRS && watch.older.len() <= MOST_PAIRS);
        }
        let pair = (HostId(70_000), HostId(70_001));
        assert!((0..ENOUGH).any(|_| watch.note(pair, true, ENOUGH)));
    }

    #[test]
    fn a_pair_that_gives_signs_is_not_forgotten_among_many() {
        let mut watch = AliasWatch::default();
        let pair = (HostId(70_000), HostId(70_001));
        let mut noticed = false;
        for number in 0..ENOUGH {
            noticed = watch.note(pair, true, ENOUGH);
            for other in 0..9000 {
                watch.note((HostId(number), HostId(other + 100)), true, ENOUGH);
            }
        }
        assert!(noticed);
    }

    #[test]
    fn equal_pages_under_other_paths_speak_against_it() {
        let mut watch = AliasWatch::default();
        let pair = (HostId(1), HostId(2));
        for _ in 0..4 {
            watch.note(pair, false, ENOUGH);
        }
        assert!(!(0..2 * ENOUGH).any(|_| watch.note(pair, true, ENOUGH)));
    }

    #[test]
    fn pages_that_only_one_host_has_speak_against_it() {
        let mut watch = AliasWatch::default();
        let pair = (HostId(1), HostId(2));
        watch.pages.insert(HostId(2), 4 * ENOUGH);
        assert!(!(0..2 * ENOUGH).any(|_| watch.note(pair, true, ENOUGH)));
    }

    #[test]
    fn of_many_names_in_step_each_is_held_against_the_oldest_once_for_each_page() {
        let mut watch = AliasWatch::default();
        let mut signs: HashMap<Pair, u32> = HashMap::new();
        for page in 0..20_u32 {
            for step in 0..50_u32 {
                // Another one is the first each time.
                let host = HostId((step * 7 + page * 13) % 50);
                for pair in watch.meet(page.into(), host) {
                    *signs.entry(pair).or_default() += 1;
                }
                assert!(watch.meet(page.into(), host).is_empty(), "twice the same");
            }
        }
        for host in 1..50 {
            assert_eq!(signs[&(HostId(0), HostId(host))], 20, "{host}");
        }
        assert!(watch.has_shown(3, HostId(0)) && !watch.has_shown(3, HostId(77)));
    }

    #[test]
    fn samples_that_differ_lift_the_mark() {
        let mut watch = AliasWatch::default();
        let alias = HostId(2);
        assert!(!watch.note_sample(alias, true));
        assert!(!watch.note_sample(alias, false));
        assert!(watch.note_sample(alias, false));
    }
}
