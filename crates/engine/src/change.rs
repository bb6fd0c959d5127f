//! Other settings under a run: limits, scope, hours and manners change while it goes on.

use std::sync::{Arc, PoisonError};

use teia_base::HostId;
use teia_base::Seed;
use teia_base::filter::Rules;
use teia_base::journal::{Exclusion, LinkVerdict, Record, RunStarted, UrlChange};
use teia_fetch::{FetchConfig, Fetcher};
use teia_repository::UrlState;

use crate::collection::CollectionConfig;
use crate::control::Wanted;
use crate::crawl::longest_revisit;
use crate::feedback::{Event, Level};
use crate::given::{hours_of, normal_seeds};
use crate::judge::Judge;
use crate::limits::{hosts_at_once, idle_connections, waiting_hosts};
use crate::ring::Ring;
use crate::run_changes::RunChanges;
use crate::sites::{SiteRules, Sites};
use crate::traps::Quarantine;

impl Ring {
    /// Takes other settings in, if a person wished it. They are in the journal before anything goes by
    /// them, as those of a start are.
    pub(crate) fn change_if_told(&mut self) {
        if self.committing > 0 || self.stopping {
            return;
        }
        let Some(wanted) = self.control.take_change() else {
            return;
        };
        let answer = match wanted {
            Wanted::Run(config) => self.change_settings(&config),
            Wanted::File(config) => self.follow_file(&config),
        };
        let (level, text) = match &answer {
            Ok(text) => (Level::Info, text.clone()),
            Err(text) => (Level::Warning, text.clone()),
        };
        self.feedback.hear(&Event::Notice { level, text });
        match answer {
            // Whoever is told of a change can rely on it: all that was written of it is on disk then.
            Ok(text) => self.changed = Some((self.next_sequence - 1, text)),
            Err(_) => self.answer_change(answer),
        }
    }

    /// Tells what came of a change when everything that was written of it is committed.
    pub(crate) fn answer_if_changed(&mut self, committed: u64) {
        if let Some((_, text)) = self.changed.take_if(|(last, _)| *last <= committed) {
            self.answer_change(Ok(text));
        }
    }

    fn answer_change(&self, answer: Result<String, String>) {
        let effective = self.config.without_secrets().to_toml();
        self.control.note_settings(effective, Some(answer));
    }

    /// Goes by a file that was edited, as the next start would: with what was changed for this run alone.
    fn follow_file(&mut self, file: &CollectionConfig) -> Result<String, String> {
        let changes = RunChanges::from_text(&self.ledger.changes).that_hold(file);
        if changes.is_empty() {
            return self.change_settings(file);
        }
        let names = changes.names().join(", ");
        match changes.over(file) {
            Ok(wanted) => {
                let said = self.change_settings(&wanted)?;
                Ok(format!(
                    "{said}; what was changed for this run alone stays until it ends: {names}"
                ))
            }
            Err(why) => {
                let said = self.change_settings(file)?;
                Ok(format!(
                    "{said}; what was changed for it alone ({names}) does not go together with the file: {why}"
                ))
            }
        }
    }

    fn change_settings(&mut self, wanted: &CollectionConfig) -> Result<String, String> {
        let next = self.merged(wanted);
        let later = RunChanges::between(&next, &self.as_started(wanted)).names();
        let given = next
            .seeds
            .iter()
            .filter(|seed| !self.config.seeds.contains(seed));
        let given: Vec<Seed> = given
            .filter_map(|text| Seed::parse(text).ok().flatten())
            .collect();
        let seeds = normal_seeds(&next, &given).map_err(|error| error.to_string())?;
        let mut all = self.ledger.seeds.clone();
        all.extend(seeds.iter().map(|(seed, _)| seed.normal().clone()));
        // Where a seed leads, and the ledger has not heard of it yet.
        let links = self.window.attempts.iter().flat_map(|it| &it.links);
        let wider = links.filter(|link| link.widens_the_scope());
        all.extend(wider.map(|link| link.url.normal().clone()));
        let rules = Rules::compile(&next.filter, &all).map_err(|error| error.to_string())?;
        let judge = self.workshop.judge();
        let (own, removals) = (judge.own.clone(), Arc::clone(&judge.removals));
        let sites = Arc::new(Sites::new(&next));
        *self
            .workshop
            .judge
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(Judge {
            rules,
            sites: SiteRules::new(&sites, &all),
            own,
            removals,
            quarantine: Arc::new(Quarantine::new(
                &self.ledger.head.quarantined,
                &next.traps,
                &sites,
            )),
        });
        self.farms
            .close_again(&self.ledger.head.quarantined, &next.traps);
        if next.run.hosts_at_once != self.config.run.hosts_at_once {
            self.limit.set_most(hosts_at_once(next.run.hosts_at_once));
            self.most_waiting = waiting_hosts(next.run.hosts_at_once);
        }
        self.frontier.set_politeness(next.politeness.clone());
        self.change_fetching(&next)?;
        self.workshop.answers.change_limits(&next);
        self.workshop.throttle.set(next.run.cpu_share);
        let are_ways_the_same = next.filter == self.config.filter
            && next.site == self.config.site
            && next.seeds == self.config.seeds;
        if !are_ways_the_same {
            self.shortcuts.limits_changed();
        }
        self.config = next;
        self.repository
            .set_longest_wait(longest_revisit(&self.config), self.clock.wall());
        self.workshop.answers.change_sites(Arc::clone(&sites));
        self.count_addresses(&sites);
        self.change_sites(sites);
        self.hours = hours_of(&self.config);
        self.weigh(self.config.schedule.weight);
        self.rules_changed = true;
        let seeds = self.offer_seeds(&seeds);
        let record = Record::RunStarted(RunStarted {
            options: self.config.without_secrets().to_toml(),
            seeds,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        self.order(record, Vec::new(), Vec::new());
        self.note_changes();
        self.look_again();
        // A host may have slept because its budget was used up.
        let hosts: Vec<HostId> = self.repository.hosts().map(|(host, _)| host).collect();
        for host in hosts {
            // Where nothing was counted so far, farms are counted from here on.
            let (_, waiting, fetched) = self.repository.host_counts(host);
            if waiting > 0 || fetched > 0 {
                self.farms.meet(host, self.repository.host_name(host));
            }
            self.wake(host);
        }
        Ok(if later.is_empty() {
            "the run goes by the new settings".to_owned()
        } else {
            format!(
                "the run goes by the new settings, but for {}: a run cannot change these, and what the collection's file says of them counts from the next start",
                later.join(", ")
            )
        })
    }

    /// The settings of the run with what may change under it.
    pub(crate) fn merged(&self, wanted: &CollectionConfig) -> CollectionConfig {
        let mut next = self.config.clone();
        next.seeds.clone_from(&wanted.seeds);
        next.schedule.clone_from(&wanted.schedule);
        next.filter.clone_from(&wanted.filter);
        if !next.archive.enabled {
            next.filter.requisites = false;
        }
        next.site.clone_from(&wanted.site);
        next.traps.clone_from(&wanted.traps);
        next.politeness.clone_from(&wanted.politeness);
        next.politeness.key = self.config.politeness.key;
        change_limits(&mut next.fetch, &wanted.fetch);
        next.settle();
        next.run.cpu_share = wanted.run.cpu_share;
        next.run.hosts_at_once = wanted.run.hosts_at_once;
        next.run.retries = wanted.run.retries;
        next.run.max_time = wanted.run.max_time;
        next.run.max_redirects = wanted.run.max_redirects;
        next.run.revisit = wanted.run.revisit;
        next
    }

    /// These settings with what a start makes of them, so that only what a person has changed differs.
    pub(crate) fn as_started(&self, wanted: &CollectionConfig) -> CollectionConfig {
        let mut wanted = wanted.clone();
        wanted.settle();
        wanted.fetch.max_idle_connections = idle_connections(
            wanted.fetch.max_idle_connections,
            hosts_at_once(self.config.run.hosts_at_once),
        );
        wanted
    }

    /// Fetches with other limits from the next request on; the bandwidth is also that of requests under way.
    fn change_fetching(&mut self, next: &CollectionConfig) -> Result<(), String> {
        let Some(http) = &self.book.http else {
            return Ok(());
        };
        http.set_bandwidth(next.fetch.bandwidth);
        let as_table = |fetch: &FetchConfig| toml::Table::try_from(fetch).unwrap_or_default();
        if as_table(&self.config.fetch) != as_table(&next.fetch) {
            let other = http.with_settings(&next.fetch);
            let other = Arc::new(other.map_err(|error| error.to_string())?);
            self.fetcher = Arc::clone(&other) as Arc<dyn Fetcher>;
            self.book.http = Some(other);
        }
        Ok(())
    }

    /// The rule that leaves a URL out which was let in before the rules changed.
    pub(crate) fn refusal(&self, url: &UrlState) -> Option<Exclusion> {
        self.workshop.judge().refusal(url, self.rules_changed)
    }

    /// A URL that waited is left out.
    pub(crate) fn leave_out(&mut self, url: UrlState, exclusion: Exclusion) {
        self.repository.exclude(&url, &exclusion);
        let change = UrlChange {
            depth: url.depth,
            url: url.url.into_normal(),
            verdict: LinkVerdict::Excluded(exclusion),
        };
        self.window.opened.get_or_insert_with(|| self.clock.now());
        self.window.bytes += 64 + change.url.as_str().len() as u64;
        self.window.changes.push(change);
    }
}

/// Limits of time and size of fetching, and its bandwidth: what a fetcher can take under a run.
fn change_limits(fetch: &mut FetchConfig, wanted: &FetchConfig) {
    fetch.bandwidth = wanted.bandwidth;
    fetch.connect_timeout = wanted.connect_timeout;
    fetch.tls_timeout = wanted.tls_timeout;
    fetch.first_byte_timeout = wanted.first_byte_timeout;
    fetch.min_rate = wanted.min_rate;
    fetch.min_rate_window = wanted.min_rate_window;
    fetch.timeout = wanted.timeout;
    fetch.document_timeout = wanted.document_timeout;
    fetch.body_wire_bytes = wanted.body_wire_bytes;
    fetch.document_wire_bytes = wanted.document_wire_bytes;
    fetch.body_decoded_bytes = wanted.body_decoded_bytes;
    fetch.document_decoded_bytes = wanted.document_decoded_bytes;
}
