//! When a run ends: what it was told, its limits, and when nothing is left to do.

use teia_base::HostId;
use teia_base::filter::Spent;
use teia_repository::State;

use crate::EngineError;
use crate::addresses::AddressBook;
use crate::alias::Wait;
use crate::errands::Errands;
use crate::report::EndReason;
use crate::ring::{PATIENCE, Ring};

impl Ring {
    /// Why the run is to end now, if it is.
    pub(crate) fn end_reason(&self) -> Option<EndReason> {
        if let Some(reason) = self.control.end() {
            return Some(reason);
        }
        // A pause holds until it is lifted: no limit ends it, and its time does not count.
        if self.control.is_paused() {
            return None;
        }
        let deadline = self.config.schedule.deadline;
        let since = self.clock.wall().since(self.run_began);
        if deadline.is_some_and(|deadline| since >= deadline) {
            return Some(EndReason::Deadline);
        }
        let worked = self.clock.now().saturating_duration_since(self.started) - self.rested;
        if let Some(max_time) = self.config.run.max_time
            && worked >= max_time
        {
            return Some(EndReason::MaxTime);
        }
        let filter = &self.config.filter;
        if filter
            .max_pages
            .is_some_and(|most| self.stats.fetched >= most)
        {
            return Some(EndReason::MaxPages);
        }
        if filter
            .max_bytes
            .is_some_and(|most| self.stats.bytes >= most)
        {
            return Some(EndReason::MaxBytes);
        }
        None
    }

    /// Whether one more page may go out: exact, because what is under way is counted as fetched.
    pub(crate) fn budget_left(&self) -> bool {
        // What hosts are sending now is taken to be as long as what came before: a limit of bytes is
        // passed by at most one document of each.
        let usual_bytes = (self.stats.bytes / self.stats.fetched.max(1)).max(64 << 10);
        let coming = self.frontier.leased() as u64 * usual_bytes;
        let spent = Spent {
            documents: self.stats.fetched + self.pages_in_flight,
            host_documents: 0,
            bytes: self.stats.bytes + self.bytes_arrived + coming,
        };
        self.workshop.judge().rules.spent(&spent).is_none()
    }

    /// Whether one more page of this host may go out.
    pub(crate) fn host_budget_left(&self, host: HostId) -> bool {
        let filter = &self.settings(host).filter;
        let of_run = self.host_pages.get(&host).copied().unwrap_or(0);
        filter.max_pages_per_host.is_none_or(|most| of_run < most)
            && self.day.is_open(host, filter.urls_per_host_day)
    }

    /// Counts a request for a page of a host, and tells when it is the last of the day.
    pub(crate) fn count_page(&mut self, host: HostId, name: &str) {
        *self.host_pages.entry(host).or_default() += 1;
        let most = self.settings(host).filter.urls_per_host_day;
        if self.day.count(host) == most {
            self.warn(format!(
                "{name} was asked for {most} URLs today: the others wait for tomorrow (UTC), and a run that has nothing else to do ends before; `urls-per-host-day` in [filter] allows more"
            ));
        }
    }

    /// A new day: what was used up yesterday is there again.
    pub(crate) fn turn_day(&mut self) {
        if let Some(hosts) = self.day.turn(self.clock.wall()) {
            self.sitemap_files.clear();
            for host in hosts {
                self.wake(host);
            }
        }
    }

    /// Whether nothing is left that could be done before long.
    pub(crate) fn nothing_is_due(&mut self) -> Result<bool, EngineError> {
        let is_busy = !self.window.is_empty()
            || self.committing > 0
            || !self.backlog.is_empty()
            || self.soft.has_news()
            || self.repository.is_surveying()
            || self.shortcuts.is_under_way();
        if self.control.is_paused() || is_busy {
            return Ok(false);
        }
        Ok(self.is_idle() && !self.decide_rest()? && !self.settle_samples(Wait::No))
    }

    fn is_idle(&mut self) -> bool {
        let idle = self.errands.values().all(Errands::is_empty);
        if idle && self.repository.count(State::Waiting) == 0 {
            return true;
        }
        if self.paused
            || self.outage.is_on()
            || self.has_parked()
            || self.addresses.as_ref().is_some_and(AddressBook::is_asking)
        {
            return false;
        }
        let horizon = self.clock.now() + PATIENCE;
        self.frontier
            .next_moment()
            .is_none_or(|moment| moment > horizon)
    }
}
