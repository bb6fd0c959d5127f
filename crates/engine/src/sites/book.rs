//! The ring's book of hosts: which settings hold for each, found out once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use teia_base::HostId;
use teia_fetch::{Fetcher, HttpFetcher};

use super::{Settings, SiteKey, Sites};
use crate::addresses::AddressBook;
use crate::collection::CollectionConfig;
use crate::ring::Ring;
use crate::robots_book::Manner;

/// What the ring knows of hosts and sites.
#[derive(Default)]
pub(crate) struct SiteBook {
    pub(crate) sites: Arc<Sites>,
    /// The fetcher whose names, connections and budgets those of sites share; none where a program
    /// brought its own, which then fetches for all.
    pub(crate) http: Option<Arc<HttpFetcher>>,
    /// Hosts that were looked at.
    hosts: HashMap<HostId, Option<Arc<Settings>>>,
    addresses: HashMap<HostId, Box<[IpAddr]>>,
    fetchers: HashMap<SiteKey, Arc<dyn Fetcher>>,
}

impl SiteBook {
    pub(crate) fn new(sites: Arc<Sites>, http: Option<Arc<HttpFetcher>>) -> Self {
        Self {
            sites,
            http,
            ..Self::default()
        }
    }
}

impl Ring {
    /// The settings that hold for a host.
    pub(crate) fn settings(&self, host: HostId) -> &CollectionConfig {
        let own = self.book.hosts.get(&host).and_then(Option::as_ref);
        own.map_or(&self.config, |settings| &settings.config)
    }

    /// Looks a host up, the first time that it is leased or looked at; its manners are told.
    pub(crate) fn know_site(&mut self, host: HostId) {
        if self.book.sites.is_empty() || self.book.hosts.contains_key(&host) {
            return;
        }
        let addresses = self.book.addresses.get(&host);
        let addresses = addresses.map_or(&[][..], |addresses| &**addresses);
        let name = self.repository.host_name(host);
        let key = self.book.sites.key(name, addresses);
        let settings = key.map(|key| self.book.sites.settings(&key));
        let politeness = settings.as_ref().map(|it| it.config.politeness.clone());
        self.frontier.set_host_politeness(host, politeness);
        self.book.hosts.insert(host, settings);
    }

    /// The addresses of a host are known: they may lie in a range.
    pub(crate) fn locate_site(&mut self, host: HostId, addresses: &[IpAddr]) {
        if !self.book.sites.has_ranges() {
            return;
        }
        self.book.addresses.insert(host, addresses.into());
        self.book.hosts.remove(&host);
        self.know_site(host);
        // The last process may have asked it an instant before it was killed.
        if self.fetched_before > 0 {
            let rest = self.settings(host).politeness.delay;
            self.frontier.hold(host, self.started + rest);
        }
    }

    /// Other sites, under a run: every host is looked at again when its turn comes.
    pub(crate) fn change_sites(&mut self, sites: Arc<Sites>) {
        self.book.sites = sites;
        self.book.hosts.clear();
        self.book.fetchers.clear();
        let hosts: Vec<HostId> = self.repository.hosts().map(|(host, _)| host).collect();
        for host in hosts {
            self.know_site(host);
        }
    }

    /// Looks addresses up from now on, if sites go by them.
    pub(crate) fn count_addresses(&mut self, sites: &Sites) {
        let wants = sites.has_ranges() && self.config.fetch.proxy.is_none();
        if let Some(http) = self.book.http.clone()
            && wants
            && self.addresses.is_none()
        {
            self.addresses = Some(AddressBook::new(http));
        }
    }

    /// The word by which the host's robots.txt knows us, where it is not the usual one.
    pub(crate) fn token_of(&self, host: HostId) -> Option<String> {
        let own = self.book.hosts.get(&host).and_then(Option::as_ref)?;
        Some(own.reader.robot_token.clone())
    }

    /// How its robots.txt is read, by whom it knows by this word.
    pub(crate) fn manner_of<'t>(&self, host: HostId, token: Option<&'t str>) -> Manner<'t> {
        let spelling = self.settings(host).robots.spelling;
        Manner { token, spelling }
    }

    /// Who fetches from a host.
    pub(crate) fn fetcher_of(&mut self, host: HostId) -> Arc<dyn Fetcher> {
        let own = self.book.hosts.get(&host).and_then(Option::as_ref);
        let own = own.filter(|settings| settings.fetches_otherwise);
        let (Some(settings), Some(http)) = (own, &self.book.http) else {
            return Arc::clone(&self.fetcher);
        };
        if let Some(fetcher) = self.book.fetchers.get(&settings.key) {
            return Arc::clone(fetcher);
        }
        let fetcher: Arc<dyn Fetcher> = match http.with_settings(&settings.config.fetch) {
            Ok(fetcher) => Arc::new(fetcher),
            Err(error) => {
                let name = self.repository.host_name(host);
                let text = format!("{name}: [fetch] of its [[site]] cannot be used: {error}");
                self.warn(text);
                Arc::clone(&self.fetcher)
            }
        };
        let key = Arc::clone(&settings.key);
        self.book.fetchers.insert(key, Arc::clone(&fetcher));
        fetcher
    }
}
