//! Minding collections: the Coordinator of `teia serve`, on a thread of its own, with its socket.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use teia_base::{Clock, SystemClock};
use teia_engine::{
    Coordinator, CoordinatorConfig, Desk, Directory, Level, Parts, ThisMachine, hosts_at_once,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::crawl::with_proxy_password;
use super::place::Place;
use super::socket::{ControlSocket, Run, Runs};
use crate::show::ProgressBar;

/// Files of collections are looked at this often.
const LOOK: Duration = Duration::from_secs(1);

/// The collections of a directory, minded until the end.
#[derive(Debug)]
pub(crate) struct Minding {
    is_over: Arc<AtomicBool>,
    desk: Arc<Mutex<Option<Desk>>>,
    ended: oneshot::Receiver<()>,
}

impl Minding {
    /// Begins. The directory may come later.
    pub(crate) fn begin(data: &Path) -> Result<Self> {
        let (is_over, desk) = (Arc::<AtomicBool>::default(), Arc::default());
        let (tell, ended) = oneshot::channel();
        let minder = Minder {
            data: data.to_owned(),
            is_over: Arc::clone(&is_over),
            desk: Arc::clone(&desk),
            handle: Handle::current(),
        };
        std::thread::Builder::new()
            .name("teia-coordinator".to_owned())
            .spawn(move || {
                minder.mind();
                let _ = tell.send(());
            })
            .context("cannot start a thread")?;
        Ok(Self {
            is_over,
            desk,
            ended,
        })
    }

    /// Runs are to end, as a signal ends them.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(desk) = &*desk {
            desk.end();
        }
    }

    /// Waits until what was fetched is committed.
    pub(crate) async fn finish(self) {
        self.end();
        let _ = self.ended.await;
    }
}

struct Minder {
    data: PathBuf,
    is_over: Arc<AtomicBool>,
    desk: Arc<Mutex<Option<Desk>>>,
    handle: Handle,
}

type Bars = Arc<Mutex<HashMap<String, Arc<ProgressBar>>>>;

impl Minder {
    fn mind(&self) {
        let Some(directory) = self.directory() else {
            return;
        };
        let bars = Bars::default();
        let (parts_of, data) = (Arc::clone(&bars), self.data.clone());
        let parts = move |name: &str| {
            let resume = Place::new(&data, name).steering("resume");
            let bar = Arc::new(ProgressBar::new(name, &resume, false));
            let mut bars = parts_of.lock().unwrap_or_else(PoisonError::into_inner);
            bars.insert(name.to_owned(), Arc::clone(&bar));
            Parts {
                feedback: bar,
                ..Parts::default()
            }
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let socket_path = directory.control_socket();
        let mut coordinator = Coordinator::new(CoordinatorConfig {
            directory,
            clock: Arc::clone(&clock),
            executor: Arc::new(ThisMachine),
            hosts_at_once: hosts_at_once(None),
            parts: Box::new(parts),
            with_secrets: with_proxy_password,
            tell: Box::new(say),
        });
        let desk = coordinator.desk();
        *self.desk.lock().unwrap_or_else(PoisonError::into_inner) = Some(desk.clone());
        let runs: Arc<dyn Runs> = Arc::new(Minded {
            desk: desk.clone(),
            bars,
        });
        let mut socket = None;
        while !self.is_over.load(Ordering::SeqCst) {
            let next = coordinator.look();
            // The socket is that of the process which has the lock.
            if coordinator.is_idle() {
                socket = None;
            } else if socket.is_none() {
                let _within = self.handle.enter();
                socket = ControlSocket::open(&socket_path, Arc::clone(&runs))
                    .inspect_err(|error| say(Level::Warning, &format!("{error:#}")))
                    .ok();
            }
            let until = next.map_or(LOOK, |next| next.since(clock.wall()));
            desk.wait(until.clamp(Duration::from_millis(1), LOOK));
        }
        coordinator.finish();
        drop(socket);
    }

    /// Waits for a directory that is not there yet.
    fn directory(&self) -> Option<Directory> {
        let mut has_told = false;
        while !self.is_over.load(Ordering::SeqCst) {
            match Directory::open(&self.data) {
                Ok(directory) => return Some(directory),
                Err(error) if self.data.exists() && !has_told => {
                    has_told = true;
                    say(Level::Warning, &format!("nothing is collected: {error}"));
                }
                Err(_) => {}
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        None
    }
}

fn say(level: Level, text: &str) {
    let word = match level {
        Level::Info => "",
        Level::Warning => "warning: ",
        Level::Error => "error: ",
    };
    eprintln!("teia: {word}{text}");
}

/// The runs of the Coordinator, as the socket reaches them.
#[derive(Debug)]
struct Minded {
    desk: Desk,
    bars: Bars,
}

impl Runs for Minded {
    fn running(&self) -> Vec<Run> {
        let bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
        let running = self.desk.running().into_iter();
        let run = |(name, control): (String, _)| {
            let progress = Arc::clone(bars.get(&name)?);
            Some(Run {
                name,
                control,
                progress,
            })
        };
        running.filter_map(run).collect()
    }

    fn start(&self, name: &str) -> bool {
        self.desk.start(name);
        true
    }

    fn minds(&self) -> bool {
        true
    }
}
