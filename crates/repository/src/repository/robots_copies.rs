//! How much is kept of what hosts say in robots.txt: the copies lie in memory, and how long one is, and how many a host
//! has, is for the host to decide. What is forgotten is asked for again when it is needed.

use std::collections::{BTreeMap, VecDeque};

use super::Repository;
use crate::host::HostRecord;

/// Origins of one host (schemes, ports) whose copies are kept.
const ORIGINS: usize = 8;
/// Copies up to this size are a part of what a host costs; nearly all are that short.
const SHORT_BYTES: usize = 4 << 10;
/// All longer ones together.
const MOST_BYTES: u64 = 64 << 20;

/// The copies that are longer than most.
#[derive(Debug, Default)]
pub(super) struct LongCopies {
    bytes: u64,
    /// Hosts that have some, each once, the one that has had them for longest first.
    hosts: VecDeque<u32>,
}

impl LongCopies {
    fn forget(&mut self, stored: &[u8]) {
        if is_long(stored) {
            self.bytes = self.bytes.saturating_sub(stored.len() as u64);
        }
    }

    /// A host has none any more.
    fn leave_out(&mut self, host: u32) {
        self.hosts.retain(|other| *other != host);
    }
}

impl Repository {
    /// Keeps the copy of an origin, and forgets others where there are too many.
    pub(super) fn keep_robots(&mut self, host: u32, origin: &str, stored: &[u8]) {
        let robots = &mut self.hosts[host as usize].record_mut().robots;
        let had_long = robots.values().any(|stored| is_long(stored));
        let before = robots.insert(origin.to_owned(), stored.to_owned());
        before.inspect(|stored| self.long_copies.forget(stored));
        while robots.len() > ORIGINS
            && let Some(other) = least_wanted(robots, origin)
            && let Some(stored) = robots.remove(&other)
        {
            self.long_copies.forget(&stored);
        }
        let has_long = robots.values().any(|stored| is_long(stored));
        if is_long(stored) {
            self.long_copies.bytes += stored.len() as u64;
            self.bound_copies(host, had_long);
        } else if had_long && !has_long {
            self.long_copies.leave_out(host);
        }
    }

    /// Counts the copies of a host that comes back from where it was saved, in place of those that came back before.
    pub(super) fn count_robots(&mut self, host: u32, before: Option<&HostRecord>) {
        let had = before.map_or(0, long_bytes);
        let record = self.hosts[host as usize].record.as_deref();
        let has = record.map_or(0, long_bytes);
        self.long_copies.bytes = self.long_copies.bytes.saturating_sub(had) + has;
        if has > 0 {
            self.bound_copies(host, had > 0);
        } else if had > 0 {
            self.long_copies.leave_out(host);
        }
    }

    fn bound_copies(&mut self, newest: u32, is_listed: bool) {
        if !is_listed {
            self.long_copies.hosts.push_back(newest);
        }
        while self.long_copies.bytes > MOST_BYTES
            && let Some(oldest) = self.long_copies.hosts.pop_front()
        {
            if let Some(record) = &mut self.hosts[oldest as usize].record {
                let long = record.robots.extract_if(.., |_, stored| is_long(stored));
                long.for_each(|(_, stored)| self.long_copies.forget(&stored));
            }
        }
    }
}

/// What the long ones of a host take.
fn long_bytes(record: &HostRecord) -> u64 {
    let long = record.robots.values().filter(|stored| is_long(stored));
    long.map(|stored| stored.len() as u64).sum()
}

fn is_long(stored: &[u8]) -> bool {
    stored.len() > SHORT_BYTES
}

/// One of the others, first of those with a port of their own.
fn least_wanted(robots: &BTreeMap<String, Vec<u8>>, wanted: &str) -> Option<String> {
    let others = || robots.keys().filter(|origin| *origin != wanted);
    let has_port = |origin: &&String| {
        let end = origin.rsplit(':').next();
        end.is_some_and(|end| end.bytes().all(|byte| byte.is_ascii_digit()))
    };
    others().find(has_port).or_else(|| others().next()).cloned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use teia_base::journal::{Commit, HostUpdate};
    use teia_base::{HostId, Order, UrlFacts};

    use super::*;
    use crate::{NewHosts, RepositoryConfig};

    #[derive(Debug)]
    struct AsMet;

    impl Order for AsMet {
        fn url_key(&self, url: &UrlFacts) -> u64 {
            url.sequence
        }
    }

    fn repository() -> Repository {
        Repository::new(RepositoryConfig {
            key: 1,
            order: Arc::new(AsMet),
            keep_links: false,
            revisit_share: None,
            new_hosts: NewHosts::Order,
        })
    }

    fn tell(repository: &mut Repository, host: &str, origin: &str, len: usize) {
        let update = HostUpdate {
            host: host.to_owned(),
            robots: Some((origin.to_owned(), vec![b'x'; len])),
            back_off_until: None,
            alias_of: None,
        };
        repository.apply_host_records(&Commit {
            hosts: vec![update],
            ..Commit::default()
        });
    }

    fn kept(repository: &Repository) -> u64 {
        let records = repository
            .hosts
            .iter()
            .filter_map(|row| row.record.as_ref());
        let copies = records.flat_map(|record| record.robots.values());
        copies.map(|stored| stored.len() as u64).sum()
    }

    #[test]
    fn a_host_of_a_thousand_ports_keeps_the_copies_of_a_few() {
        let mut repository = repository();
        tell(&mut repository, "a.test", "https://a.test", 9);
        for port in 1000..2000 {
            tell(
                &mut repository,
                "a.test",
                &format!("http://a.test:{port}"),
                512 << 10,
            );
        }
        let host = HostId(repository.intern_host("a.test"));
        let robots = &repository.host_record(host).unwrap().robots;
        assert_eq!(robots.len(), ORIGINS);
        assert!(robots.contains_key("https://a.test"));
        assert!(robots.contains_key("http://a.test:1999"), "the newest");
        assert_eq!(repository.long_copies.bytes, kept(&repository) - 9);
    }

    #[test]
    fn a_host_whose_copy_is_long_and_short_by_turns_is_listed_once() {
        let mut repository = repository();
        for _ in 0..100 {
            tell(&mut repository, "a.test", "http://a.test", 9);
            assert_eq!(repository.long_copies.hosts.len(), 0);
            tell(&mut repository, "a.test", "http://a.test", 50_000);
            tell(&mut repository, "a.test", "https://a.test", 50_000);
            assert_eq!(repository.long_copies.hosts.len(), 1);
            tell(&mut repository, "a.test", "https://a.test", 9);
            assert_eq!(repository.long_copies.hosts.len(), 1, "one is long still");
        }
        assert_eq!(repository.long_copies.bytes, 50_000);
    }

    #[test]
    fn long_copies_of_many_hosts_are_bounded_and_short_ones_stay() {
        let mut repository = repository();
        for round in 0..3 {
            for host in 0..400 {
                let (short, long) = (format!("s{host}.test"), format!("l{host}.test"));
                tell(&mut repository, &short, "http://s", 2000);
                tell(&mut repository, &long, "http://l", (500 << 10) + round);
            }
        }
        let short = 400 * 2000;
        assert!(
            kept(&repository) - short <= MOST_BYTES,
            "{}",
            kept(&repository)
        );
        assert!(kept(&repository) - short > MOST_BYTES / 2);
        assert_eq!(repository.long_copies.bytes, kept(&repository) - short);
        assert!(repository.long_copies.hosts.len() < 400);
        let newest = HostId(repository.intern_host("l399.test"));
        assert_eq!(repository.host_record(newest).unwrap().robots.len(), 1);
        // The same when they come back from a checkpoint.
        let mut next = self::repository();
        // A host stands in each of its files in which it has changed.
        for row in repository.hosts.iter().chain(&repository.hosts) {
            next.restore_host(crate::SavedHost {
                name: row.name.clone(),
                fetched: 0,
                record: row.record.as_deref().cloned().unwrap_or_default(),
            });
        }
        assert_eq!(kept(&next), kept(&repository), "nothing was forgotten");
        assert_eq!(next.long_copies.bytes, repository.long_copies.bytes);
        assert_eq!(
            next.long_copies.hosts.len(),
            repository.long_copies.hosts.len()
        );
        for host in 0..400 {
            tell(&mut next, &format!("m{host}.test"), "http://m", 500 << 10);
        }
        assert!(kept(&next) - short <= MOST_BYTES, "{}", kept(&next));
    }
}
