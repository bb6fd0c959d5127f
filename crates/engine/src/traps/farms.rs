//! Farms: hosts without end.
//!
//! ```text
//! link or redirect to a new host ──> of which domain, named by whom? ──> count ──> budget used up
//!                                                                                     │
//!                      later new hosts are left out with the rule `hosts KEY` <── journal
//! ```
//!
//! Three keys are closed, and only for hosts that nobody has asked yet; those that were let in go on:
//! `*.farm.test` (hosts of one domain), `from *.spam.test` (hosts of other domains that its pages and
//! redirects name), `from 192.0.2.0/24` (hosts that are named from that block and lie in it). What is
//! left out by one of the last two is let in as soon as somebody else names it.
//!
//! What a domain has is counted again at a start, from the hosts that are known; a key that is closed
//! stands in the journal. The other counts begin anew with each process, which costs at most one more
//! budget.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use teia_base::journal::{Exclusion, Quarantined};
use teia_base::{HostId, Outcome, site_of};
use xxhash_rust::xxh3::xxh3_64;

use super::config::TrapsConfig;

/// For each page of a domain this share of `new-hosts` is added to what it may name: a directory of
/// links has pages, a farm has links.
const EACH_PAGE: u32 = 20;
/// Hosts of a domain in a row that show one page, as a share of what a domain may have.
const EQUAL_SHARE: u32 = 20;
/// Domains whose equal pages are watched at once.
const MOST_WATCHED: usize = 4096;
/// How an exclusion begins that a farm is the reason of.
const RULE: &str = "hosts ";

/// How many hosts each domain has, and how many each one has named.
#[derive(Debug, Default)]
pub(crate) struct Farms {
    /// Hosts with a URL that was let in.
    entered: HashSet<HostId>,
    /// Of each domain, by a hash of its name.
    hosts: HashMap<u64, u32>,
    sources: HashMap<u64, Source>,
    /// Hosts that were named from a block and have not answered yet.
    named_from: HashMap<HostId, Block>,
    /// Hosts that lie in the block from which they were named.
    inbred: HashMap<Block, u32>,
    equal: HashMap<u64, Equal>,
    closed: HashSet<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Source {
    named: u32,
    pages: u32,
}

/// Hosts of one domain, one after another, that show the same page.
#[derive(Debug, Default)]
struct Equal {
    page: u64,
    hosts: Vec<HostId>,
}

/// Neighbouring addresses: 256 of IPv4, a site's worth of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Block(IpAddr);

impl Block {
    fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                IpAddr::from([a, b, c, 0])
            }
            IpAddr::V6(address) => {
                let [a, b, c, ..] = address.segments();
                IpAddr::from([a, b, c, 0, 0, 0, 0, 0])
            }
        })
    }

    fn key(self) -> String {
        let bits = if self.0.is_ipv4() { 24 } else { 48 };
        format!("from {}/{bits}", self.0)
    }
}

/// Who names a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedBy<'a> {
    pub(crate) host: &'a str,
    /// Where its page came from, if addresses mean anything (through a proxy they do not).
    pub(crate) address: Option<IpAddr>,
}

/// A budget was just used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) key: String,
    /// In words: what was counted.
    pub(crate) why: String,
    /// The setting that allows more.
    pub(crate) setting: &'static str,
}

impl Farms {
    /// With what is closed already, but for what a person allows.
    pub(crate) fn new(told: &[Quarantined], config: &TrapsConfig) -> Self {
        let mut farms = Self::default();
        farms.close_again(told, config);
        farms
    }

    /// The same under other settings.
    pub(crate) fn close_again(&mut self, told: &[Quarantined], config: &TrapsConfig) {
        let keys = told.iter().filter(|one| config.enabled && is_farm(one));
        self.closed = keys
            .filter(|one| !config.allows(&one.host, &one.pattern))
            .map(|one| one.host.clone())
            .collect();
    }

    /// A host that is known from before.
    pub(crate) fn meet(&mut self, host: HostId, name: &str) {
        if self.entered.insert(host) {
            *self.hosts.entry(hash(site_of(name))).or_default() += 1;
        }
    }

    /// The reason for which a host that nobody has asked yet is left out.
    pub(crate) fn refusal(
        &self,
        name: &str,
        known: Option<HostId>,
        by: NamedBy<'_>,
    ) -> Option<Exclusion> {
        let is_free = name == by.host || known.is_some_and(|host| self.entered.contains(&host));
        if self.closed.is_empty() || is_free {
            return None;
        }
        let (site, source) = (site_of(name), site_of(by.host));
        let mut keys = vec![format!("*.{site}")];
        if site != source {
            keys.push(format!("from *.{source}"));
            keys.extend(by.address.map(|address| Block::of(address).key()));
        }
        let key = keys.into_iter().find(|key| self.closed.contains(key))?;
        Some(Exclusion {
            outcome: Outcome::TRAP_SUSPECTED,
            rule: format!("{RULE}{key}"),
        })
    }

    /// Whether a URL that was left out for a farm stays out.
    pub(crate) fn keeps_out(&self, rule: &str) -> bool {
        rule.strip_prefix(RULE)
            .is_some_and(|key| self.closed.contains(key))
    }

    /// A host was let in, named by another; says which budget that was the last of.
    pub(crate) fn enter(
        &mut self,
        config: &TrapsConfig,
        host: HostId,
        name: &str,
        by: NamedBy<'_>,
    ) -> Option<Closed> {
        if !self.entered.insert(host) {
            return None;
        }
        let (site, source) = (site_of(name), site_of(by.host));
        let hosts = self.hosts.entry(hash(site)).or_default();
        *hosts += 1;
        let hosts = *hosts;
        if hosts >= config.hosts_per_domain {
            let why = format!("{site} has {hosts} hosts already");
            let closed = self.close(format!("*.{site}"), why, "hosts-per-domain");
            if closed.is_some() {
                return closed;
            }
        }
        if site == source {
            return None;
        }
        if let Some(address) = by.address {
            self.named_from.insert(host, Block::of(address));
        }
        let counts = self.sources.entry(hash(source)).or_default();
        counts.named += 1;
        let more = counts.pages.saturating_mul(config.new_hosts / EACH_PAGE);
        if counts.named < config.new_hosts.saturating_add(more) {
            return None;
        }
        let why = format!(
            "{} pages of {source} name {} hosts that nobody else had named",
            counts.pages, counts.named
        );
        self.close(format!("from *.{source}"), why, "new-hosts")
    }

    /// A host has answered from an address.
    pub(crate) fn locate(
        &mut self,
        config: &TrapsConfig,
        host: HostId,
        address: IpAddr,
    ) -> Option<Closed> {
        let block = Block::of(address);
        if self.named_from.remove(&host)? != block {
            return None;
        }
        let count = self.inbred.entry(block).or_default();
        *count += 1;
        if *count < config.hosts_per_block {
            return None;
        }
        let why = format!("{count} hosts of it were named only from within it");
        self.close(block.key(), why, "hosts-per-block")
    }

    /// A page of a host was read: a domain that has the same page on host after host answers for any
    /// name there is.
    pub(crate) fn note_page(
        &mut self,
        config: &TrapsConfig,
        host: HostId,
        name: &str,
        page: u64,
    ) -> Option<Closed> {
        let site = site_of(name);
        let key = hash(site);
        let source = self.sources.entry(key).or_default();
        source.pages = source.pages.saturating_add(1);
        if site == name {
            return None;
        }
        if self.equal.len() >= MOST_WATCHED && !self.equal.contains_key(&key) {
            self.equal.clear();
        }
        let equal = self.equal.entry(key).or_default();
        if equal.page != page {
            *equal = Equal {
                page,
                hosts: vec![host],
            };
            return None;
        }
        if !equal.hosts.contains(&host) {
            equal.hosts.push(host);
        }
        let enough = (config.hosts_per_domain / EQUAL_SHARE).max(5);
        let count = equal.hosts.len();
        if count < usize::try_from(enough).unwrap_or(usize::MAX) {
            return None;
        }
        self.equal.remove(&key);
        let why = format!("{count} hosts of {site} in a row show the same page");
        self.close(format!("*.{site}"), why, "hosts-per-domain")
    }

    fn close(&mut self, key: String, why: String, setting: &'static str) -> Option<Closed> {
        self.closed
            .insert(key.clone())
            .then_some(Closed { key, why, setting })
    }

    /// A person allows it.
    pub(crate) fn open(&mut self, key: &str) {
        self.closed.remove(key);
    }
}

/// As the journal has a key that is closed.
pub(crate) fn as_told(key: &str) -> Quarantined {
    Quarantined {
        host: key.to_owned(),
        pattern: String::new(),
    }
}

/// Whether what the journal tells is a farm, not a pattern.
fn is_farm(one: &Quarantined) -> bool {
    one.pattern.is_empty()
}

fn hash(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TrapsConfig {
        TrapsConfig {
            hosts_per_domain: 10,
            hosts_per_block: 5,
            new_hosts: 20,
            ..TrapsConfig::default()
        }
    }

    fn by(host: &str) -> NamedBy<'_> {
        NamedBy {
            host,
            address: Some(IpAddr::from([192, 0, 2, 7])),
        }
    }

    #[test]
    fn a_domain_has_so_many_hosts_and_those_go_on() {
        let mut farms = Farms::default();
        let mut closed = Vec::new();
        for number in 0..10 {
            let name = format!("h{number}.farm.test");
            assert_eq!(farms.refusal(&name, None, by("a.test")), None);
            closed.extend(farms.enter(&config(), HostId(number), &name, by("a.test")));
        }
        assert_eq!(closed.len(), 1);
        assert_eq!(closed[0].key, "*.farm.test");
        assert_eq!(
            farms.refusal("h3.farm.test", Some(HostId(3)), by("a.test")),
            None
        );
        let refused = farms.refusal("new.farm.test", None, by("a.test")).unwrap();
        assert_eq!(refused.rule, "hosts *.farm.test");
        assert!(farms.keeps_out(&refused.rule) && !farms.keeps_out("trap /x"));
        // Another process is told of it, unless a person allows it.
        let told = [as_told("*.farm.test")];
        let again = Farms::new(&told, &config());
        assert!(again.refusal("new.farm.test", None, by("a.test")).is_some());
        let mut allowed = config();
        allowed.allow.push("*.farm.test".to_owned());
        let again = Farms::new(&told, &allowed);
        assert_eq!(again.refusal("new.farm.test", None, by("a.test")), None);
    }

    #[test]
    fn who_names_too_many_hosts_for_its_pages_is_not_believed_but_others_are() {
        let mut farms = Farms::default();
        let mut named = 0;
        let closed = (0..100).find_map(|number| {
            named = number + 1;
            farms.enter(
                &config(),
                HostId(number),
                &format!("n{number}.test"),
                by("www.spam.test"),
            )
        });
        assert_eq!(closed.unwrap().key, "from *.spam.test");
        assert_eq!(named, 20);
        assert!(farms.refusal("new.test", None, by("spam.test")).is_some());
        let elsewhere = NamedBy {
            host: "honest.test",
            address: None,
        };
        assert_eq!(farms.refusal("new.test", None, elsewhere), None);
        // A directory of links has pages.
        let mut farms = Farms::default();
        for number in 0..500 {
            farms.note_page(&config(), HostId(9999), "dir.test", number.into());
            let name = format!("n{number}.test");
            assert_eq!(
                farms.enter(&config(), HostId(number), &name, by("dir.test")),
                None
            );
        }
    }

    #[test]
    fn hosts_of_one_block_that_only_name_each_other_are_a_farm() {
        let mut farms = Farms::default();
        let near = IpAddr::from([192, 0, 2, 99]);
        let far = IpAddr::from([198, 51, 100, 1]);
        let mut closed = Vec::new();
        for number in 0..9 {
            let source = format!("s{number}.test");
            let (host, name) = (HostId(number), format!("n{number}.test"));
            farms.enter(&config(), host, &name, by(&source));
            let address = if number < 4 { far } else { near };
            closed.extend(farms.locate(&config(), host, address));
        }
        assert_eq!(closed.len(), 1, "{closed:?}");
        assert_eq!(closed[0].key, "from 192.0.2.0/24");
        assert!(farms.refusal("new.test", None, by("s1.test")).is_some());
    }

    #[test]
    fn a_domain_that_shows_one_page_on_every_host_is_found_early() {
        let wide = TrapsConfig::default();
        let mut farms = Farms::default();
        let found = (0..200).find_map(|number| {
            farms.note_page(&wide, HostId(number), &format!("h{number}.farm.test"), 7)
        });
        assert_eq!(found.unwrap().key, "*.farm.test");
        let mut farms = Farms::default();
        for number in 0..2000 {
            let name = format!("h{number}.honest.test");
            assert_eq!(
                farms.note_page(&wide, HostId(number), &name, u64::from(number / 3)),
                None
            );
        }
    }
}
