//! How many URLs each host is asked for in one day: what holds where a host invents pages faster than anybody can
//! tell that they are worth nothing.

use std::collections::HashMap;

use teia_base::{HostId, Timestamp};

const DAY: u64 = 86_400;

/// Requests for pages, by host, of one day (UTC).
#[derive(Debug, Default)]
pub(crate) struct DayPages {
    day: u64,
    pages: HashMap<HostId, u64>,
}

impl DayPages {
    /// A run that an earlier process began today has asked for what it says.
    pub(crate) fn begin(
        of_run: &HashMap<HostId, u64>,
        run_began: Timestamp,
        now: Timestamp,
    ) -> Self {
        let day = day_of(now);
        let is_of_today = day_of(run_began) == day;
        Self {
            day,
            pages: if is_of_today {
                of_run.clone()
            } else {
                HashMap::new()
            },
        }
    }

    /// Whether a host may be asked once more; 0 stands for no limit.
    pub(crate) fn is_open(&self, host: HostId, most: u64) -> bool {
        most == 0 || self.pages.get(&host).is_none_or(|pages| *pages < most)
    }

    /// One more request; how many that are.
    pub(crate) fn count(&mut self, host: HostId) -> u64 {
        let pages = self.pages.entry(host).or_default();
        *pages += 1;
        *pages
    }

    /// Begins the next day if it is there; then the hosts that were asked for something on the last one.
    pub(crate) fn turn(&mut self, now: Timestamp) -> Option<Vec<HostId>> {
        let day = day_of(now);
        // A clock that is set back brings no new day.
        if day <= self.day {
            return None;
        }
        self.day = day;
        Some(self.pages.drain().map(|(host, _)| host).collect())
    }
}

fn day_of(moment: Timestamp) -> u64 {
    moment.since(Timestamp::default()).as_secs() / DAY
}
