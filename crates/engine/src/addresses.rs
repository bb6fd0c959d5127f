//! Who may answer for each host, found out before it is asked for the first time: only where names
//! on one machine share its gap (`politeness.key = "address"`).
//!
//! ```text
//! wake ──> is_located? ── yes ──> Frontier
//!               │ no
//!               └──> queue ──> lookup (a few at once) ──> Located ──> Frontier.locate, wake
//! ```

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use teia_base::HostId;
use teia_fetch::FetchConfig;

use crate::ring::{Message, Ring};

/// Lookups at once; the other hosts wait for theirs.
const MOST_LOOKUPS: usize = 32;

/// The hosts whose addresses are known or asked for.
#[derive(Debug)]
pub(crate) struct AddressBook {
    /// `HOST` or `.SUFFIX`, and the address that a person gave for it; the longest come first.
    fixed: Vec<(String, IpAddr)>,
    patience: Duration,
    hosts: HashMap<HostId, Lookup>,
    queue: VecDeque<HostId>,
    asking: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lookup {
    Asked,
    Done,
}

impl AddressBook {
    pub(crate) fn new(config: &FetchConfig) -> Self {
        let mut fixed: Vec<(String, IpAddr)> = config
            .resolve
            .iter()
            .filter_map(|entry| fixed_address(entry))
            .collect();
        fixed.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self {
            fixed,
            patience: config.dns_timeout,
            hosts: HashMap::new(),
            queue: VecDeque::new(),
            asking: 0,
        }
    }

    /// Whether an answer is still to come.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking > 0 || !self.queue.is_empty()
    }

    /// What needs no lookup: a name with a fixed address, and an address itself.
    fn at_once(&self, name: &str) -> Option<Vec<IpAddr>> {
        let exact = self.fixed.iter().filter(|(fixed, _)| fixed == name);
        let exact: Vec<IpAddr> = exact.map(|(_, address)| *address).collect();
        if !exact.is_empty() {
            return Some(exact);
        }
        let is_below = |fixed: &str| fixed.starts_with('.') && name.ends_with(fixed);
        let below = self.fixed.iter().find(|(fixed, _)| is_below(fixed));
        let literal = || name.trim_matches(['[', ']']).parse().ok();
        below
            .map(|(_, address)| *address)
            .or_else(literal)
            .map(|address| vec![address])
    }
}

/// Reads `HOST=IP[:PORT]` and `*.SUFFIX=IP[:PORT]`; what is wrong in it the fetcher has refused.
fn fixed_address(entry: &str) -> Option<(String, IpAddr)> {
    let (name, address) = entry.trim().split_once('=')?;
    let name = name.trim().trim_start_matches('*').trim_end_matches('.');
    let address = address.trim();
    let address = match address.parse::<SocketAddr>() {
        Ok(address) => address.ip(),
        Err(_) => address.trim_matches(['[', ']']).parse().ok()?,
    };
    Some((name.to_ascii_lowercase(), address))
}

impl Ring {
    /// Whether the host may be woken: its addresses are known, or do not count. If not, they are
    /// asked for, and the answer wakes it.
    pub(crate) fn is_located(&mut self, host: HostId) -> bool {
        let Some(book) = &mut self.addresses else {
            return true;
        };
        match book.hosts.get(&host) {
            Some(Lookup::Done) => return true,
            Some(Lookup::Asked) => return false,
            None => {}
        }
        if let Some(addresses) = book.at_once(self.repository.host_name(host)) {
            book.hosts.insert(host, Lookup::Done);
            self.frontier.locate(host, &addresses);
            return true;
        }
        book.hosts.insert(host, Lookup::Asked);
        book.queue.push_back(host);
        self.look_up();
        false
    }

    /// Takes the answer. A name without addresses is woken too: to fail is the fetcher's part.
    pub(crate) fn locate(&mut self, host: HostId, addresses: &[IpAddr]) {
        if let Some(book) = &mut self.addresses {
            book.asking -= 1;
            book.hosts.insert(host, Lookup::Done);
        }
        self.frontier.locate(host, addresses);
        self.wake(host);
        self.look_up();
    }

    fn look_up(&mut self) {
        let Some(book) = &mut self.addresses else {
            return;
        };
        while book.asking < MOST_LOOKUPS {
            let Some(host) = book.queue.pop_front() else {
                return;
            };
            book.asking += 1;
            let name = self.repository.host_name(host).to_owned();
            let (patience, messages) = (book.patience, self.messages.clone());
            self.tasks.spawn(async move {
                let lookup = tokio::net::lookup_host((name.as_str(), 0));
                let found = tokio::time::timeout(patience, lookup).await;
                let addresses = match found {
                    Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
                    _ => Vec::new(),
                };
                let _ = messages.send(Message::Located { host, addresses }).await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_addresses_and_literals_need_no_lookup() {
        let config = FetchConfig {
            resolve: [
                "a.test=192.0.2.1:80",
                "a.test=[2001:db8::1]",
                "*.test=192.0.2.2",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..FetchConfig::default()
        };
        let book = AddressBook::new(&config);
        let told = |name: &str| -> Option<Vec<String>> {
            let addresses = book.at_once(name)?;
            Some(addresses.iter().map(ToString::to_string).collect())
        };
        assert_eq!(told("a.test").unwrap(), ["192.0.2.1", "2001:db8::1"]);
        assert_eq!(told("b.test").unwrap(), ["192.0.2.2"]);
        assert_eq!(told("192.0.2.9").unwrap(), ["192.0.2.9"]);
        assert_eq!(told("[2001:db8::9]").unwrap(), ["2001:db8::9"]);
        assert_eq!(told("example.org"), None);
    }
}
