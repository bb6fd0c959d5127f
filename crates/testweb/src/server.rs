//! The server: listeners on loopback, a thread of its own, and the handle that holds them.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::{io, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener as AsyncListener;
use tokio::sync::oneshot;

use crate::config::WebConfig;
use crate::connection::{Shared, serve};
use crate::error::ServeError;
use crate::log::RequestLog;
use crate::naming::Naming;
use crate::record::{Counters, Logging, Record, lock};
use crate::web::Web;

/// How often another free port is tried, when one is taken on a later address.
const PORT_TRIES: u32 = 20;

/// Where the server listens. Port 0 is any free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// One listener on 127.0.0.1 for all hosts, told apart by name (`h12.web.test`, no port in URLs).
    Names {
        /// The port.
        port: u16,
    },
    /// One listener for each host, on 127.0.0.1, 127.0.0.2, … and the same port.
    Literal {
        /// The port.
        port: u16,
    },
}

/// How the server runs.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// Whether each request is logged.
    pub logging: Logging,
    /// Threads that serve.
    pub threads: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            logging: Logging::Full,
            threads: 1,
        }
    }
}

/// A running test web. It stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves the web of this description, with a full log, on one thread.
    pub fn start(config: WebConfig, listen: Listen) -> Result<Self, ServeError> {
        Self::start_with(config, listen, ServerConfig::default())
    }

    /// Serves the web of this description.
    pub fn start_with(
        config: WebConfig,
        listen: Listen,
        server: ServerConfig,
    ) -> Result<Self, ServeError> {
        raise_descriptor_limit();
        let config = config.settled();
        let (listeners, naming) = match listen {
            Listen::Names { port } => (vec![bind(Ipv4Addr::LOCALHOST, port)?], Naming::Names),
            Listen::Literal { port } => {
                let listeners = bind_each(config.hosts, port)?;
                let port = local_address(&listeners[0])?.port();
                (listeners, Naming::Literal { port })
            }
        };
        let address = local_address(&listeners[0])?;
        let record = Record::new(server.logging, config.hosts, config.pages_per_host);
        let shared = Arc::new(Shared {
            web: Web::new(config, naming),
            record,
            epoch: AtomicU32::new(0),
            asked: Default::default(),
        });
        let mut builder = if server.threads > 1 {
            tokio::runtime::Builder::new_multi_thread()
        } else {
            tokio::runtime::Builder::new_current_thread()
        };
        let runtime = builder
            .worker_threads(server.threads.max(1))
            .enable_all()
            .build()
            .map_err(ServeError::Runtime)?;
        let literal = matches!(naming, Naming::Literal { .. });
        {
            let _inside = runtime.enter();
            for (host, listener) in (0_u32..).zip(listeners) {
                let listener = AsyncListener::from_std(listener).map_err(ServeError::Runtime)?;
                runtime.spawn(accept(
                    listener,
                    literal.then_some(host),
                    Arc::clone(&shared),
                ));
            }
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new()
            .name("testweb".into())
            .spawn(move || {
                // Either the word to stop or the loss of its sender; then the runtime drops all tasks.
                let _ = runtime.block_on(stopped);
            })
            .map_err(ServeError::Runtime)?;
        Ok(Self {
            shared,
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The web that is served.
    pub fn web(&self) -> &Web {
        &self.shared.web
    }

    /// The listener's address; in literal naming that of host 0.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far. Answers under way are waited for, up to 250 ms.
    pub fn log(&self) -> RequestLog {
        self.shared.record.log()
    }

    /// Forgets the requests so far (not the counters), for the next part of a test.
    pub fn clear_log(&self) {
        self.shared.record.clear_log();
    }

    /// The counters so far. Answers under way are waited for, up to 250 ms.
    pub fn counters(&self) -> Counters {
        self.shared.record.counters()
    }

    /// The most connections to a host that were open at once.
    pub fn max_connections(&self, host: u32) -> u32 {
        self.shared.record.max_open(host)
    }

    /// Sets the epoch: changing pages differ from one to the next.
    pub fn set_epoch(&self, epoch: u32) {
        self.shared.epoch.store(epoch, Relaxed);
    }

    /// Makes the flaky pages fail again from the beginning.
    pub fn reset_flaky(&self) {
        lock(&self.shared.asked).clear();
    }

    /// Stops serving: closes every listener and connection, and waits until that is done.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn accept(listener: AsyncListener, host: Option<u32>, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it an answer in two segments may wait for the client's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
                let shared = Arc::clone(&shared);
                tokio::spawn(async move { serve(stream, host, &shared).await });
            }
            // Out of descriptors, or the client left early: try again a little later.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    }
}

/// One listener for each host, all on the same port.
fn bind_each(hosts: u32, port: u16) -> Result<Vec<TcpListener>, ServeError> {
    if hosts > 60_000 {
        return Err(ServeError::TooManyHosts { hosts });
    }
    let mut tries = if port == 0 { PORT_TRIES } else { 1 };
    loop {
        tries -= 1;
        let first = bind(Naming::address(0), port)?;
        let shared_port = local_address(&first)?.port();
        let rest = (1..hosts).map(|host| bind(Naming::address(host), shared_port));
        match std::iter::once(Ok(first)).chain(rest).collect() {
            Err(_) if tries > 0 => {}
            result => return result,
        }
    }
}

fn bind(address: Ipv4Addr, port: u16) -> Result<TcpListener, ServeError> {
    let address = SocketAddr::from((address, port));
    TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|source| ServeError::Listen { address, source })
}

fn local_address(listener: &TcpListener) -> Result<SocketAddr, ServeError> {
    listener
        .local_addr()
        .map_err(|source: io::Error| ServeError::Runtime(source))
}

/// Asks for as many descriptors as the system allows; what it refuses shows when they run out.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}
