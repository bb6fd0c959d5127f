//! Hosts are saved beside the blocks: what an answer told of its host is in no block, and a start would
//! else read the whole journal for it.

use super::Repository;
use crate::host::SavedHost;

impl Repository {
    /// Hosts of which something was told since the last call, or all of them.
    pub fn take_changed_hosts(&mut self, all: bool) -> Vec<SavedHost> {
        let mut changed = std::mem::take(&mut self.changed_hosts);
        if all {
            let hosts = (0..).zip(&self.hosts);
            let told = hosts.filter(|(_, host)| host.record.is_some() || host.fetched > 0);
            changed = told.map(|(at, _)| at).collect();
        }
        let save = |at: u32| {
            let host = &mut self.hosts[at as usize];
            host.is_changed = false;
            SavedHost {
                name: host.name.clone(),
                fetched: host.fetched,
                record: host.record.as_deref().cloned().unwrap_or_default(),
            }
        };
        changed.into_iter().map(save).collect()
    }

    /// Takes back a host that was saved, perhaps several times: the last one counts.
    pub fn restore_host(&mut self, saved: SavedHost) {
        let at = self.intern_host(&saved.name);
        let host = &mut self.hosts[at as usize];
        host.fetched = saved.fetched;
        let before = host.record.replace(Box::new(saved.record));
        self.count_robots(at, before.as_deref());
    }

    /// What entries up to this one tell of hosts is known: [`replay`](Self::replay) passes over it.
    pub fn hosts_are_known_until(&mut self, position: u64) {
        self.hosts_position = position;
    }

    /// The first entry that is still to be replayed.
    pub fn wanted_from(&self) -> u64 {
        match self.disk {
            Some(_) => self.position.min(self.hosts_position) + 1,
            None => 1,
        }
    }

    pub(super) fn note_changed(&mut self, host: u32) {
        let row = &mut self.hosts[host as usize];
        if self.disk.is_some() && !std::mem::replace(&mut row.is_changed, true) {
            self.changed_hosts.push(host);
        }
    }
}
