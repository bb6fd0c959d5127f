//! The queue of a host: which of its URLs is next, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use teia_base::{HostId, Timestamp, UrlFacts};

use super::{NewHosts, Repository};
use crate::row::{Fetched, State, UrlRef, UrlState, rank_of_try};

/// A queue that is shorter is left alone.
const LEAST_SWEPT: u32 = 64;

type Queue = BinaryHeap<Reverse<((u8, u64), UrlRef)>>;

/// The two queues of a host.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// URLs that were never visited; all of them where turns are not shared.
    New,
    /// URLs that were visited before.
    Again,
}

impl Repository {
    /// Takes up to `n` URLs of a host that are due, in the chosen order, and leases them.
    pub fn window(&mut self, host: HostId, n: usize, now: Timestamp) -> Vec<UrlState> {
        self.reorder();
        self.bring_due(host, now);
        let mut window = Vec::new();
        while window.len() < n {
            self.refill(host.0, now);
            let Some(kind) = self.next_kind(host, now) else {
                break;
            };
            let Some(Reverse((key, url))) = self.queue_of(host, kind).pop() else {
                break;
            };
            let at = url.at;
            let place = self.place_in(at, kind);
            if key != place {
                // Put in before its depth, tries or priority changed: its place is another one.
                self.queue_of(host, kind).push(Reverse((place, url)));
                continue;
            }
            let turns = &mut self.hosts[host.0 as usize].turns;
            match kind {
                Kind::New => turns.0 += 1,
                Kind::Again => turns.1 += 1,
            }
            self.table.row_mut(at).leased = true;
            window.push(self.view(at));
        }
        window
    }

    /// Which of the two queues has the next turn; none where neither has a URL that is due.
    fn next_kind(&mut self, host: HostId, now: Timestamp) -> Option<Kind> {
        let has_new = self.has_due(host, Kind::New, now);
        let has_again = self.has_due(host, Kind::Again, now);
        let row = &mut self.hosts[host.0 as usize];
        match (has_new, has_again) {
            (false, false) => None,
            (true, true) => {
                let share = u64::from(self.config.revisit_share.unwrap_or(50));
                let (new, again) = row.turns;
                let is_behind = again * 100 < share * (new + again + 1);
                Some(if is_behind { Kind::Again } else { Kind::New })
            }
            (is_new, _) => {
                // Nobody saves up turns while the other has nothing.
                row.turns = (0, 0);
                Some(if is_new { Kind::New } else { Kind::Again })
            }
        }
    }

    /// Whether the first of a queue is due; what is not any more is taken out.
    fn has_due(&mut self, host: HostId, kind: Kind, now: Timestamp) -> bool {
        while let Some(Reverse((_, url))) = self.queue_of(host, kind).peek().copied() {
            if self.is_due(url, now) {
                return true;
            }
            self.queue_of(host, kind).pop();
        }
        false
    }

    fn queue_of(&mut self, host: HostId, kind: Kind) -> &mut Queue {
        let row = &mut self.hosts[host.0 as usize];
        match kind {
            Kind::New => &mut row.queue,
            Kind::Again => &mut row.again,
        }
    }

    /// Whether the URL of an entry in a queue is still there, waits, and may be asked now.
    fn is_due(&self, url: UrlRef, now: Timestamp) -> bool {
        if !self.table.holds(url) {
            return false;
        }
        let row = self.table.row(url.at);
        let due = row.rare.as_ref().and_then(|rare| rare.due);
        row.state == State::Waiting
            && !row.leased
            && due.is_none_or(|due| self.longest_wait.is_over(due, now))
    }

    /// Puts every waiting URL that is in memory in its new place, when what the order knows has changed.
    pub(super) fn reorder(&mut self) {
        let edition = self.config.order.edition();
        if std::mem::replace(&mut self.edition, edition) == edition {
            return;
        }
        for host in 0..self.hosts.len() {
            self.place_anew(HostId(u32::try_from(host).expect("fewer than 2^32 hosts")));
        }
    }

    /// Puts the waiting URLs of a host in their new places.
    fn place_anew(&mut self, host: HostId) {
        for kind in [Kind::New, Kind::Again] {
            let queue = std::mem::take(self.queue_of(host, kind));
            let placed = queue.into_iter().filter_map(|Reverse((_, url))| {
                let is_there = self.table.holds(url);
                is_there.then(|| Reverse((self.place_in(url.at, kind), url)))
            });
            let placed = placed.collect();
            *self.queue_of(host, kind) = placed;
        }
    }

    /// Gives a lease back without an attempt: the URL waits again in its old place.
    pub fn release(&mut self, url: UrlRef) {
        let Some(at) = self.place_of(url) else { return };
        self.table.row_mut(at).leased = false;
        if self.table.row(at).state == State::Waiting {
            self.enqueue(at);
        }
    }

    /// Gives a lease back: the URL waits again, and not before then. In memory only.
    pub fn defer(&mut self, url: UrlRef, until: Timestamp) {
        let Some(at) = self.place_of(url) else { return };
        let row = self.table.row_mut(at);
        row.leased = false;
        if row.state == State::Waiting {
            row.rare.get_or_insert_default().due = Some(until);
            let host = row.host;
            self.enqueue(at);
            self.rest_store(host, until);
        }
    }

    /// Brings the next try of a URL nearer that was to wait longer. In memory only.
    pub fn hasten(&mut self, url: UrlRef, until: Timestamp) {
        let Some(at) = self.place_of(url) else { return };
        let row = self.table.row_mut(at);
        if row.state != State::Waiting || row.leased {
            return;
        }
        let Some(rare) = row.rare.as_mut().filter(|rare| rare.due > Some(until)) else {
            return;
        };
        rare.due = Some(until);
        let host = row.host;
        self.enqueue(at);
        self.rest_until(host, until);
    }

    /// When the host's next URL is due: now, at a moment, or never.
    pub fn next_due(&mut self, host: HostId, now: Timestamp) -> Option<Timestamp> {
        self.bring_due(host, now);
        if self.has_due(host, Kind::New, now) || self.has_due(host, Kind::Again, now) {
            return Some(now);
        }
        let row = &self.hosts[host.0 as usize];
        let stored = [row.stored.next(now), row.stored_again.next(now)];
        let stored = stored.into_iter().flatten().min();
        if stored == Some(now) {
            return stored;
        }
        loop {
            let Some(Reverse((due, url))) = self.hosts[host.0 as usize].later.peek().copied()
            else {
                return stored;
            };
            if self.waits_until(url, due) && !self.table.row(url.at).leased {
                return Some(stored.map_or(due, |stored| stored.min(due)));
            }
            self.hosts[host.0 as usize].later.pop();
        }
    }

    fn waits_until(&self, url: UrlRef, due: Timestamp) -> bool {
        self.table.holds(url) && {
            let row = self.table.row(url.at);
            let until = row.rare.as_ref().and_then(|rare| rare.due);
            row.state == State::Waiting && until == Some(due)
        }
    }

    fn bring_due(&mut self, host: HostId, now: Timestamp) {
        while let Some(Reverse((due, url))) = self.hosts[host.0 as usize].later.peek().copied() {
            if !self.longest_wait.is_over(due, now) {
                break;
            }
            self.hosts[host.0 as usize].later.pop();
            self.bring(url, due);
        }
    }

    /// Brings what waits for a moment that a wrong clock wrote: behind what waits rightly nobody would look for it.
    pub(super) fn bring_wrong(&mut self, now: Timestamp) {
        for host in 0..self.hosts.len() {
            let mut wrong = Vec::new();
            let longest = &self.longest_wait;
            self.hosts[host].later.retain(|Reverse((due, url))| {
                let is_wrong = *due > now && longest.is_over(*due, now);
                if is_wrong {
                    wrong.push((*url, *due));
                }
                !is_wrong
            });
            for (url, due) in wrong {
                self.bring(url, due);
            }
        }
    }

    /// Puts a URL into its queue that waited for this moment.
    fn bring(&mut self, url: UrlRef, due: Timestamp) {
        if !self.table.holds(url) {
            return;
        }
        let row = self.table.row_mut(url.at);
        if let Some(rare) = &mut row.rare
            && rare.due == Some(due)
        {
            rare.due = None;
            if row.state == State::Waiting && !row.leased {
                self.enqueue(url.at);
            }
        }
    }

    pub(super) fn enqueue(&mut self, at: u32) {
        let url = self.table.reference(at);
        let row = self.table.row(at);
        let rare = row.rare.as_deref();
        let host = row.host as usize;
        if let Some(due) = rare.and_then(|rare| rare.due) {
            self.hosts[host].later.push(Reverse((due, url)));
            return;
        }
        let is_again = self.shares_turns_of(row.fetched.as_deref());
        let kind = if is_again { Kind::Again } else { Kind::New };
        let place = self.place_in(at, kind);
        let host = HostId(row.host);
        self.queue_of(host, kind).push(Reverse((place, url)));
        if self.disk.is_some() {
            self.sweep(host);
        }
    }

    /// Whether a URL is one of those that were visited before, and these share the turns with new ones.
    pub(super) fn shares_turns_of(&self, fetched: Option<&Fetched>) -> bool {
        self.config.revisit_share.is_some() && fetched.is_some_and(|it| it.visits > 0)
    }

    /// Forgets entries whose URL went to the disk, when the queues have doubled: nobody may ask this host
    /// for a long time, and what is met of it meanwhile must cost no memory.
    fn sweep(&mut self, host: HostId) {
        let row = &mut self.hosts[host.0 as usize];
        let least = row.sweep_at.max(LEAST_SWEPT);
        if row.queue.len() + row.again.len() < least as usize {
            return;
        }
        let table = &self.table;
        let mut left = 0;
        for queue in [&mut row.queue, &mut row.again] {
            queue.retain(|Reverse((_, url))| table.holds(*url));
            queue.shrink_to(queue.len() * 2);
            left += queue.len();
        }
        row.sweep_at = u32::try_from(left * 2).unwrap_or(u32::MAX);
    }

    /// Where a URL stands in its host's queue.
    fn place(&self, at: u32) -> (u8, u64) {
        let row = self.table.row(at);
        let facts = UrlFacts {
            depth: row.depth,
            sequence: self.order_number(at),
            hash: self.table.hash(&row.text),
            first_seen: Timestamp::from_micros(i64::from(row.first_seen) * 1_000_000),
            requisite: row.requisite,
            priority: row.rare.as_ref().map_or(0, |rare| rare.priority),
        };
        let key = if self.goes_by_path(row.host) {
            let host = self.hosts[row.host as usize].name.len();
            row.text.len().saturating_sub(host) as u64
        } else {
            self.config.order.url_key(&facts)
        };
        (rank_of_try(row.tries), key)
    }

    /// Whether the shortest path of a host goes first, because nothing of it was seen yet.
    fn goes_by_path(&self, host: u32) -> bool {
        self.config.new_hosts == NewHosts::ShortestPath && self.hosts[host as usize].is_new()
    }

    /// The first answer of a host was taken: from now on its URLs go by the order.
    pub(super) fn host_was_seen(&mut self, host: u32) {
        if self.config.new_hosts == NewHosts::ShortestPath {
            self.place_anew(HostId(host));
        }
    }

    /// Where a URL stands among those that were visited before: the one that was seen longest ago first,
    /// so that none waits for ever.
    fn place_again(&self, at: u32) -> (u8, u64) {
        let row = self.table.row(at);
        let seen = row
            .fetched
            .as_ref()
            .map_or(0, |it| it.last_attempt.as_micros());
        (rank_of_try(row.tries), seen.cast_unsigned())
    }

    fn place_in(&self, at: u32, kind: Kind) -> (u8, u64) {
        match kind {
            Kind::New => self.place(at),
            Kind::Again => self.place_again(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use teia_base::journal::{Added, Entry, Record};
    use teia_base::{FoundUrl, NormalForm, Order, SimulatedDisk, Timestamp, UrlFacts};

    use super::super::{NewHosts, Offer, Repository, RepositoryConfig};
    use crate::Backing;

    #[derive(Debug)]
    struct ByArrival;

    impl Order for ByArrival {
        fn url_key(&self, url: &UrlFacts) -> u64 {
            url.sequence
        }
    }

    /// Behind one that waits rightly, too.
    #[test]
    fn what_waits_for_a_moment_of_a_wrong_clock_is_due() {
        let day = |days: i64| Timestamp::from_micros(days * 86_400 * 1_000_000);
        let mut repository = Repository::new(RepositoryConfig {
            key: 7,
            order: Arc::new(ByArrival),
            keep_links: false,
            revisit_share: None,
            new_hosts: NewHosts::default(),
        });
        let (now, form) = (day(20_000), NormalForm::default());
        for (path, due) in [("right", day(20_001)), ("wrong", day(23_650))] {
            let url: FoundUrl = form.parse(&format!("http://a.test/{path}")).unwrap();
            let offered = repository.offer(&Offer::added(&url), now);
            let leased = repository.window(offered.host, 1, now);
            repository.defer(leased[0].reference, due);
        }
        let host = repository.host("a.test").unwrap();
        assert_eq!(repository.next_due(host, now), Some(day(20_001)));
        repository.set_longest_wait(Duration::from_secs(7), now);
        assert_eq!(repository.next_due(host, now), Some(now));
        let window = repository.window(host, 9, now);
        let due: Vec<&str> = window.iter().map(|state| state.url.request()).collect();
        assert_eq!(due, ["http://a.test/wrong"]);
    }

    #[test]
    fn a_host_that_nobody_asks_costs_no_memory_for_what_is_met_of_it() {
        let config = RepositoryConfig {
            key: 7,
            order: Arc::new(ByArrival),
            keep_links: false,
            revisit_share: None,
            new_hosts: NewHosts::default(),
        };
        let backing = Backing {
            files: Arc::new(SimulatedDisk::new()),
            prefix: "urls".into(),
            memory: 64 << 10,
            window: 10,
            filter_bits: 10,
        };
        let mut repository = Repository::open(config, backing).unwrap();
        let form = NormalForm::default();
        let mut longest = 0;
        for sequence in 1..=200_u32 {
            let wall = Timestamp::from_micros(i64::from(sequence) * 1_000_000);
            let mut added = Added::default();
            for number in 0..100 {
                let url = format!("http://large.test/{sequence}/{number}");
                let url: FoundUrl = form.parse(&url).unwrap();
                let verdict = repository.offer(&Offer::added(&url), wall).verdict;
                added.urls.push((url, verdict));
            }
            repository.apply(&Entry {
                sequence: u64::from(sequence),
                wall,
                run: 1,
                record: Record::Added(added),
            });
            repository.maintain(wall, true).unwrap();
            repository.take_news();
            if repository.is_on_disk() {
                longest = repository.hosts[0].queue.len().max(longest);
            }
        }
        repository.decide_everything().unwrap();
        assert_eq!(repository.len(), 20_000);
        assert!(
            longest > 0 && longest < 2_000,
            "{longest} entries in the queue"
        );
    }
}
