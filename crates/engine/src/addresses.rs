//! Who may answer for each host, found out before it is asked for the first time: only where names
//! on one machine share its gap (`politeness.key = "address"`), or settings follow a range of addresses.
//!
//! ```text
//! wake ──> is_located? ── yes ──> Frontier
//!               │ no
//!               └──> queue ──> lookup (a few at once) ──> Located ──> Frontier.locate, wake
//! ```

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use teia_base::HostId;
use teia_fetch::HttpFetcher;

use crate::message::Message;
use crate::ring::Ring;

/// Lookups at once; the other hosts wait for theirs.
const MOST_LOOKUPS: usize = 32;

/// The hosts whose addresses are known or asked for.
#[derive(Debug)]
pub(crate) struct AddressBook {
    /// It must find the same addresses as the requests will, so it is asked.
    fetcher: Arc<HttpFetcher>,
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
    pub(crate) fn new(fetcher: Arc<HttpFetcher>) -> Self {
        Self {
            fetcher,
            hosts: HashMap::new(),
            queue: VecDeque::new(),
            asking: 0,
        }
    }

    /// Whether an answer is still to come.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking > 0 || !self.queue.is_empty()
    }
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
        self.locate_site(host, addresses);
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
            let (fetcher, messages) = (Arc::clone(&book.fetcher), self.messages.clone());
            self.tasks.spawn(async move {
                let addresses = fetcher.addresses(&name).await;
                let _ = messages.send(Message::Located { host, addresses }).await;
            });
        }
    }
}
