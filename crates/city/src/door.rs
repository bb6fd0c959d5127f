//! An open corner: its address, and what it saw.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use tokio::net::TcpListener;

use crate::certificates::Authority;
use crate::corner::{Corner, Trick};
use crate::{h2, street, tls};

/// Requests that a door remembers; later ones are only counted.
const REMEMBERED: usize = 100_000;

/// An open corner. It stays open for as long as its runtime runs.
#[derive(Clone, Debug)]
pub struct Door {
    address: SocketAddr,
    secure: bool,
    seen: Arc<Seen>,
}

/// What a corner has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) closed: AtomicUsize,
    pub(crate) sent: AtomicU64,
    pub(crate) requests: Mutex<Vec<String>>,
}

impl Seen {
    pub(crate) fn request(&self, head: String) {
        let mut requests = self.requests.lock().expect("no holder panics");
        if requests.len() < REMEMBERED {
            requests.push(head);
        }
    }
}

impl Door {
    /// Opens a corner on a port of its own; those of TLS show certificates of this authority.
    pub async fn open(corner: &Corner, authority: &Authority) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let door = Self {
            address: listener.local_addr()?,
            secure: matches!(corner.trick, Trick::Tls(..) | Trick::H2(..)),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&door.seen);
        match &corner.trick {
            Trick::Http(answers) => {
                let play = street::Play::new(answers.clone(), seen);
                tokio::spawn(play.serve(listener));
            }
            Trick::Robots(robots, answers) => {
                let play = street::Play::new(answers.clone(), seen).with_robots(robots.clone());
                tokio::spawn(play.serve(listener));
            }
            Trick::Site(site) => {
                let play = street::Play::new(Vec::new(), seen).with_site(site.clone());
                tokio::spawn(play.serve(listener));
            }
            Trick::Tls(trick, times) => tls::serve(listener, trick, *times, authority, seen)?,
            Trick::H2(trick, times) => h2::serve(listener, trick, *times, authority, seen)?,
        }
        Ok(door)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, by address or, under TLS, by the name `city.test`.
    pub fn url(&self, path: &str) -> String {
        if self.secure {
            self.named("city.test", path)
        } else {
            format!("http://{}{path}", self.address)
        }
    }

    /// The URL of a path at a name that leads here.
    pub fn named(&self, host: &str, path: &str) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Connections that have ended.
    pub fn closed(&self) -> usize {
        self.seen.closed.load(Ordering::SeqCst)
    }

    /// Bytes that went out.
    pub fn sent(&self) -> u64 {
        self.seen.sent.load(Ordering::SeqCst)
    }

    /// Request heads as received, in order.
    pub fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().expect("no holder panics").clone()
    }

    /// How often this path was asked for.
    pub fn asked(&self, path: &str) -> usize {
        let line = format!("GET {path} ");
        let requests = self.seen.requests.lock().expect("no holder panics");
        requests
            .iter()
            .filter(|head| head.starts_with(&line))
            .count()
    }
}
