//! Minding collections: the Coordinator of `teia serve`, on a thread of its own, with its socket.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use teia_base::{Clock, Files, SystemClock};
use teia_engine::{
    ControlSocket, Coordinator, CoordinatorConfig, Desk, Directory, EventLog, Feedback, Layout,
    Level, Parts, Run, Runs, Silence, ThisMachine, Watch, hosts_at_once,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::crawl::with_proxy_password;
use super::place::Place;
use crate::show::ProgressBar;

/// Files of collections are looked at this often.
const LOOK: Duration = Duration::from_secs(1);

/// The collections of a directory, minded until the end.
#[derive(Debug)]
pub(crate) struct Minding {
    is_over: Arc<AtomicBool>,
    minded: Arc<Minded>,
    ended: oneshot::Receiver<()>,
}

impl Minding {
    /// Begins. The directory may come later.
    pub(crate) fn begin(data: &Path) -> Result<Self> {
        let (is_over, minded) = (Arc::<AtomicBool>::default(), Arc::<Minded>::default());
        let (tell, ended) = oneshot::channel();
        let minder = Minder {
            data: data.to_owned(),
            is_over: Arc::clone(&is_over),
            minded: Arc::clone(&minded),
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
            minded,
            ended,
        })
    }

    /// The runs, for those who steer them from a page.
    pub(crate) fn runs(&self) -> Arc<dyn Runs> {
        Arc::clone(&self.minded) as Arc<dyn Runs>
    }

    /// Runs are to end, as a signal ends them.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.minded.desk.end();
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
    minded: Arc<Minded>,
    handle: Handle,
}

impl Minder {
    fn mind(&self) {
        let Some(directory) = self.directory() else {
            return;
        };
        self.minded.files.get_or_init(|| directory.files());
        let (minded, data) = (Arc::clone(&self.minded), self.data.clone());
        let noting = Arc::clone(&self.minded);
        let parts = move |name: &str| {
            let resume = Place::new(&data, name).steering("resume");
            let bar = Arc::new(ProgressBar::new(name, &resume, false));
            Parts {
                feedback: minded.watch(name, bar),
                ..Parts::default()
            }
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let socket_path = directory.control_socket();
        let config = CoordinatorConfig {
            directory,
            clock: Arc::clone(&clock),
            executor: Arc::new(ThisMachine),
            hosts_at_once: hosts_at_once(None),
            parts: Box::new(parts),
            with_secrets: with_proxy_password,
            tell: Box::new(move |level, of, text| {
                if let Some(name) = of {
                    noting.note(name, level, text);
                }
                say(level, text);
            }),
        };
        let desk = &self.minded.desk;
        let mut coordinator = Coordinator::with_desk(config, desk.clone());
        let runs: Arc<dyn Runs> = Arc::clone(&self.minded) as Arc<dyn Runs>;
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
    crate::show::lines::say_at(level, &format!("teia: {word}{text}"));
}

/// The runs of the Coordinator, as the socket and the pages reach them.
#[derive(Debug, Default)]
struct Minded {
    desk: Desk,
    watches: Mutex<HashMap<String, Arc<Watch>>>,
    /// Where it is written down what happens.
    files: OnceLock<Arc<dyn Files>>,
}

impl Minded {
    /// Who listens to the next run of a collection.
    fn watch(&self, name: &str, bar: Arc<ProgressBar>) -> Arc<Watch> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = match watches.get(name) {
            Some(earlier) => Watch::after(bar, earlier),
            None => self.first_watch(name, bar),
        };
        let watch = Arc::new(watch);
        watches.insert(name.to_owned(), Arc::clone(&watch));
        watch
    }

    /// Remembers what no run could say, because none began.
    fn note(&self, name: &str, level: Level, text: &str) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = watches.entry(name.to_owned());
        watch
            .or_insert_with(|| Arc::new(self.first_watch(name, Arc::new(Silence))))
            .note(level, text);
    }

    fn first_watch(&self, name: &str, behind: Arc<dyn Feedback>) -> Watch {
        let watch = Watch::new(behind);
        match (self.files.get(), Layout::new(name)) {
            (Some(files), Ok(layout)) => watch.writing(EventLog::of(Arc::clone(files), layout)),
            _ => watch,
        }
    }
}

impl Runs for Minded {
    fn running(&self) -> Vec<Run> {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let running = self.desk.running().into_iter();
        let run = |(name, control): (String, _)| {
            let watch = Arc::clone(watches.get(&name)?);
            Some(Run {
                name,
                control,
                watch,
            })
        };
        running.filter_map(run).collect()
    }

    fn watches(&self) -> Vec<(String, Arc<Watch>)> {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = watches.iter();
        known
            .map(|(name, watch)| (name.clone(), Arc::clone(watch)))
            .collect()
    }

    fn start(&self, name: &str) -> bool {
        self.desk.start(name);
        true
    }

    fn minds(&self) -> bool {
        true
    }

    fn failure(&self, name: &str) -> Option<String> {
        self.desk.failure(name)
    }
}
