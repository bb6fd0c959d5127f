//! The demo web as the rest of the program sees it: an address, seeds, and a thread that ends with the value.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::atlas::Atlas;
use super::server;

/// Every host of the demo; the last one holds only what the others share.
const HOSTS: [&str; 6] = [
    "museu.demo",
    "birds.demo",
    "biblioteca.demo",
    "noticias.demo",
    "recipes.demo",
    "cdn.demo",
];

/// Hosts whose front pages are the seeds: all but the shared one.
const SEEDED: usize = 5;

/// The demo's own little web, on loopback, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct DemoWeb {
    addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DemoWeb {
    /// Builds every page, binds a free port of 127.0.0.1 and serves from a thread of its own.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let addr = listener.local_addr()?;
        let atlas = Arc::new(Atlas::build());
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("demo-web".to_owned())
            .spawn(move || runtime.block_on(server::serve(listener, atlas, stopped)))?;
        Ok(Self {
            addr,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where all the hosts are served.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The front pages a crawl of the demo begins with.
    pub(crate) fn seeds(&self) -> Vec<String> {
        HOSTS[..SEEDED]
            .iter()
            .map(|host| format!("http://{host}/"))
            .collect()
    }

    /// What the crawler's resolver must be told, as `*.suffix=IP:PORT`.
    pub(crate) fn resolve(&self) -> Vec<String> {
        vec![format!("*.demo={}", self.addr)]
    }

    /// The names of all hosts served.
    pub(crate) fn hosts(&self) -> &'static [&'static str] {
        &HOSTS
    }
}

impl Drop for DemoWeb {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A receiver already gone means that the server ended by itself, which is what is wanted.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A server that panicked has nothing more to say; the demo ends either way.
            let _ = thread.join();
        }
    }
}
