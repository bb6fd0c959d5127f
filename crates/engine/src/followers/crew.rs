//! The followers of one run: started, fed, and waited for.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use teia_base::Files;
use teia_graph::GraphError;
use teia_search::IndexConfig;
use tokio::sync::oneshot;

use super::catalog::Cataloguer;
use super::config::LinksSection;
use super::follow::{Follow, Follower, Trouble};
use super::index::{Index, Indexed, State};
use super::links::Links;
use super::order::OrderByRank;
use super::queue::{Full, Handed, Queue};
use super::ranks::{Ranked, rank_collection};
use super::rebuild::rebuild_index;
use crate::collection::CollectionConfig;
use crate::control::Control;
use crate::directory::Layout;
use crate::feedback::{Event, Feedback, Level};
use crate::report::EndReason;

/// Bytes of the index whose check sums a run looks at: those of a small one all, and some seconds of a disk.
const CHECK_BYTES: u64 = 1 << 30;
/// A wait that is longer is told of.
const LONG: Duration = Duration::from_secs(2);
/// How often ranks are computed, at least, where they decide which URL goes next.
const FOR_ORDER: Duration = Duration::from_secs(60);
/// How often a wait looks around.
const LOOK: Duration = Duration::from_millis(5);

/// What the committer hands to the followers. Dropped, it tells them that there will be no more.
#[derive(Debug, Default)]
pub(crate) struct Feeds {
    /// Of those who need no texts.
    plain: Vec<Arc<Queue>>,
    index: Option<Arc<Queue>>,
}

impl Feeds {
    /// Hands over what is on disk now.
    pub(crate) fn hand_over(&self, handed: Handed) {
        for queue in &self.plain {
            queue.push(Handed {
                entry: Arc::clone(&handed.entry),
                documents: Arc::default(),
            });
        }
        if let Some(index) = &self.index {
            index.push(handed);
        }
    }
}

impl Drop for Feeds {
    fn drop(&mut self) {
        for queue in self.plain.iter().chain(&self.index) {
            queue.close();
        }
    }
}

/// Followers at work.
pub(crate) struct Crew {
    links: Option<Member<Links>>,
    index: Option<Member<Index>>,
    catalog: Option<Member<Cataloguer>>,
    ranker: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
    files: Arc<dyn Files>,
    layout: Layout,
    config: Arc<CollectionConfig>,
    feedback: Arc<dyn Feedback>,
}

struct Member<F> {
    queue: Arc<Queue>,
    thread: JoinHandle<Option<F>>,
}

impl Crew {
    /// Starts the followers that the settings ask for; `key` is that of the data directory, and
    /// `committed` the last entry on disk.
    pub(crate) fn start(
        files: &Arc<dyn Files>,
        (layout, key): (&Layout, u64),
        config: &CollectionConfig,
        committed: u64,
        order: Option<OrderByRank>,
        feedback: &Arc<dyn Feedback>,
    ) -> (Self, Feeds) {
        let config = Arc::new(config.clone());
        let mut crew = Self {
            links: None,
            index: None,
            catalog: None,
            ranker: None,
            is_over: Arc::default(),
            files: Arc::clone(files),
            layout: layout.clone(),
            config: Arc::clone(&config),
            feedback: Arc::clone(feedback),
        };
        let rankings: Arc<AtomicU64> = Arc::default();
        if config.links.enabled {
            let links = Links::new(Arc::clone(files), layout.clone(), config.links.graph());
            let (bytes, every) = (config.links.queue_bytes, config.links.commit_every);
            let queue = Queue::new(bytes, Full::Drops, committed);
            crew.links = crew.hire("teia-links", links, queue, every);
            crew.ranker = crew.start_ranker(Arc::clone(&rankings), order);
        }
        // The index has its own way to the disk: without a real one there is none.
        if config.indexes_some()
            && let Some(path) = files.on_disk(&layout.index())
        {
            let index = Index {
                files: Arc::clone(files),
                layout: layout.clone(),
                path,
                config: IndexConfig {
                    // Where it cannot be built anew, whoever looks for damage only takes away what can still be found.
                    check_bytes: if config.archives_all() {
                        CHECK_BYTES
                    } else {
                        0
                    },
                    ..config.index.writer()
                },
                links: config.links.clone(),
                who: Indexed::new(&config),
                rankings,
                state: State::default(),
            };
            let full = if config.archives_all() {
                Full::Drops
            } else {
                Full::Waits
            };
            let queue = Queue::new(config.index.queue_bytes, full, committed)
                .with_most_lag(config.index.max_lag);
            crew.index = crew.hire("teia-index", index, queue, config.index.commit_every);
        }
        if let Some(store) = config.catalog.store(&**files) {
            let catalog = Cataloguer::new(Arc::clone(files), layout.clone(), key, store);
            let (bytes, every) = (config.catalog.queue_bytes, config.catalog.commit_every);
            let queue = Queue::new(bytes, Full::Drops, committed);
            crew.catalog = crew.hire("teia-catalog", catalog, queue, every);
        }
        let links = crew.links.iter().map(|member| Arc::clone(&member.queue));
        let catalog = crew.catalog.iter().map(|member| Arc::clone(&member.queue));
        let feeds = Feeds {
            plain: links.chain(catalog).collect(),
            index: crew.index.as_ref().map(|index| Arc::clone(&index.queue)),
        };
        (crew, feeds)
    }

    /// Whether somebody wants the texts of documents.
    pub(crate) fn reads_texts(&self) -> bool {
        self.index.is_some()
    }

    fn hire<F: Follower + 'static>(
        &self,
        name: &str,
        follower: F,
        queue: Queue,
        commit_every: Duration,
    ) -> Option<Member<F>> {
        let queue = Arc::new(queue);
        let follow = Follow {
            follower,
            queue: Arc::clone(&queue),
            commit_every,
            files: Arc::clone(&self.files),
            layout: self.layout.clone(),
            config: Arc::clone(&self.config),
            feedback: Arc::clone(&self.feedback),
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || follow.run());
        Some(Member {
            queue,
            thread: thread.ok()?,
        })
    }

    /// Ranks at intervals while the run lasts.
    fn start_ranker(
        &self,
        rankings: Arc<AtomicU64>,
        order: Option<OrderByRank>,
    ) -> Option<JoinHandle<()>> {
        let (files, layout) = (Arc::clone(&self.files), self.layout.clone());
        let (config, is_over) = (Arc::clone(&self.config), Arc::clone(&self.is_over));
        let mut every = config.links.rank_every;
        if order.is_some() {
            every = every.min(FOR_ORDER);
        }
        let renew_order = move |files: &dyn Files, layout: &Layout, links: &LinksSection| {
            if let Some(order) = &order
                && let Err(error) = order.renew(files, layout, links)
            {
                tracing::warn!(%error, "the order of visits goes on with older ranks");
            }
        };
        // Those of an earlier run, before the first URL goes out.
        renew_order(&*files, &layout, &config.links);
        let ranks = move || {
            loop {
                let until = Instant::now() + every;
                while !is_over.load(Ordering::Acquire) {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    std::thread::park_timeout(left);
                }
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                match rank_collection(&*files, &layout, &config.links, |_| going(&is_over)) {
                    Ok(Ranked::Anew(_)) => {
                        rankings.fetch_add(1, Ordering::Release);
                        renew_order(&*files, &layout, &config.links);
                    }
                    Ok(_) | Err(GraphError::Stopped) => {}
                    Err(error) => {
                        tracing::warn!(%error, "ranks cannot be computed now; later perhaps");
                    }
                }
            }
        };
        std::thread::Builder::new()
            .name("teia-rank".to_owned())
            .spawn(ranks)
            .ok()
    }

    /// Waits until everything that was committed is in index, graph and catalog, ranks it, and ends. Where
    /// the run was interrupted, now or then, what is in them is committed and the rest is left; one
    /// that was stopped is ranked at the end of the next.
    pub(crate) async fn finish(self, reason: EndReason, control: Control) {
        let crew = Arc::new(Mutex::new(Some(self)));
        let wait = {
            let crew = Arc::clone(&crew);
            move || {
                let crew = crew.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(crew) = crew {
                    crew.wait(reason, &control);
                }
            }
        };
        let (tell, over) = oneshot::channel();
        let beside = wait.clone();
        let begun = std::thread::Builder::new()
            .name("teia-finish".to_owned())
            .spawn(move || {
                beside();
                let _ = tell.send(());
            });
        match begun {
            // A panic of ours has nothing to say to a run that is over.
            Ok(_) => drop(over.await),
            // Where this machine has no thread left, nothing else goes on any more either.
            Err(_) => wait(),
        }
    }

    fn wait(mut self, reason: EndReason, control: &Control) {
        self.is_over.store(true, Ordering::Release);
        if let Some(ranker) = self.ranker.take() {
            ranker.thread().unpark();
            let _ = ranker.join();
        }
        // Who ends a run, also while it waits here, does not wait for an index: the next run goes on
        // with it.
        let must_stop = || {
            let told = matches!(
                control.end(),
                Some(EndReason::Interrupted | EndReason::Stopped)
            );
            told || reason == EndReason::Interrupted
        };
        let queues: Vec<Arc<Queue>> = self
            .links
            .iter()
            .map(|member| Arc::clone(&member.queue))
            .chain(self.index.iter().map(|member| Arc::clone(&member.queue)))
            .chain(self.catalog.iter().map(|member| Arc::clone(&member.queue)))
            .collect();
        let began = Instant::now();
        let mut is_told = false;
        loop {
            let missing = self.missing();
            if missing.is_empty() {
                break;
            }
            if must_stop() {
                queues.iter().for_each(|queue| queue.stop());
            }
            if began.elapsed() >= LONG && !is_told {
                is_told = true;
                let (what, has) = (
                    missing.join(" and "),
                    if missing.len() > 1 { "have" } else { "has" },
                );
                self.say(format!(
                    "everything is collected; waiting until {what} of {} {has} it all (Ctrl-C leaves the rest for the next run)",
                    self.layout.name()
                ));
            }
            std::thread::sleep(LOOK);
        }
        let links = self.links.take().and_then(|it| it.thread.join().ok());
        let index = self.index.take().and_then(|it| it.thread.join().ok());
        let _ = self.catalog.take().map(|it| it.thread.join());
        let has_links = links.flatten().is_some();
        let mut index = index.flatten();
        if has_links && reason != EndReason::Stopped && !must_stop() {
            self.rank(index.as_mut(), &must_stop);
        }
        // Who is in a hurry does not wait for merges: they only make the index smaller.
        if let Some(mut index) = index.filter(|_| !must_stop())
            && let Err(trouble) = index.close()
        {
            self.build_anew(&index, &trouble);
        }
    }

    /// The last merges have met a damaged file.
    fn build_anew(&self, index: &Index, trouble: &Trouble) {
        let name = self.layout.name();
        let say = |level, text| self.feedback.hear(&Event::Notice { level, text });
        if !index.has_archive() {
            let text = format!(
                "the search index of {name} is damaged ({}), and there is no archive to build it from",
                trouble.text
            );
            return say(Level::Error, text);
        }
        let text = format!(
            "the search index of {name} cannot be used ({}): {}",
            trouble.text,
            index.remedy()
        );
        say(Level::Warning, text);
        if let Err(error) = rebuild_index(&self.files, &self.layout, &self.config, |_, _| {}) {
            let text = format!(
                "the search index of {name} could not be built anew ({error}); `teia index rebuild` tries again"
            );
            say(Level::Error, text);
        }
    }

    /// Those who do not have everything yet.
    fn missing(&self) -> Vec<&'static str> {
        fn busy<F>(member: Option<&Member<F>>) -> bool {
            member.is_some_and(|member| !member.thread.is_finished())
        }
        [
            (busy(self.index.as_ref()), "the search index"),
            (busy(self.links.as_ref()), "the link graph"),
            (busy(self.catalog.as_ref()), "the catalog"),
        ]
        .into_iter()
        .filter_map(|(is_busy, name)| is_busy.then_some(name))
        .collect()
    }

    /// Ranks what was collected, and gives the index ranks and anchor texts.
    fn rank(&self, index: Option<&mut Index>, must_stop: &dyn Fn() -> bool) {
        let began = Instant::now();
        let mut is_told = false;
        let mut tell = || {
            if began.elapsed() >= LONG && !is_told {
                is_told = true;
                self.say(format!(
                    "ranking the pages of {} and writing ranks and anchor texts into the index (Ctrl-C leaves it for the next run)",
                    self.layout.name()
                ));
            }
        };
        let ranked = rank_collection(&*self.files, &self.layout, &self.config.links, |_| {
            tell();
            if must_stop() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if let Err(error) = ranked {
            if !matches!(error, GraphError::Stopped) {
                self.say(format!(
                    "pages could not be ranked ({error}); `teia rank` tries again"
                ));
            }
            return;
        }
        let Some(index) = index.filter(|_| !must_stop()) else {
            return;
        };
        if !index.begin_renewal() {
            return;
        }
        loop {
            match index.renew() {
                Ok(true) if !must_stop() => tell(),
                Ok(_) => return,
                Err(trouble) => {
                    self.say(format!(
                        "ranks could not be written into the index ({}); the next run does",
                        trouble.text
                    ));
                    return;
                }
            }
        }
    }

    fn say(&self, text: String) {
        let level = Level::Info;
        self.feedback.hear(&Event::Notice { level, text });
    }
}

fn going(is_over: &AtomicBool) -> ControlFlow<()> {
    if is_over.load(Ordering::Acquire) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}
