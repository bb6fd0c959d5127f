//! The ring as a library: a builder, and a run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use teia_base::Seed;
use teia_base::filter::Filter;
use teia_base::scope::Scope;
use teia_engine::{
    Analyzer, CollectionConfig, Control, Crawl, Directory, EngineError, Executor, Feedback, Layout,
    Parts, Report, ThisMachine,
};
use teia_fetch::{Authenticator, Fetcher};
use teia_frontier::Frontier;

/// What can keep a crawl from starting, or stop it.
pub type Error = EngineError;

/// A crawl, ready to run.
#[derive(Debug)]
pub struct Crawler {
    directory: PathBuf,
    name: String,
    config: CollectionConfig,
    seeds: Vec<Seed>,
    parts: Parts,
    control: Control,
    executor: Box<dyn ExecutorDebug>,
}

/// An Executor that can be shown.
trait ExecutorDebug: Send + Sync {
    fn executor(&self) -> &dyn Executor;
}

impl<T: Executor> ExecutorDebug for T {
    fn executor(&self) -> &dyn Executor {
        self
    }
}

impl std::fmt::Debug for dyn ExecutorDebug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Executor")
    }
}

impl Crawler {
    /// A crawl into the collection of this name.
    pub fn builder(name: &str) -> CrawlerBuilder {
        CrawlerBuilder {
            name: name.to_owned(),
            directory: PathBuf::from("teia-data"),
            config: CollectionConfig::default(),
            seeds: Vec::new(),
            parts: Parts::default(),
            executor: Box::new(ThisMachine),
        }
    }

    /// A handle to pause or stop the run from elsewhere.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Runs to the end, or until it is stopped; what was committed before is gone on with.
    pub async fn run(self) -> Result<Report, Error> {
        let directory = Directory::create(&self.directory)?;
        let _lock = directory.lock()?;
        let layout = Layout::new(&self.name)?;
        let crawl = Crawl {
            files: directory.files(),
            root: directory.root().to_owned(),
            key: directory.key(),
            layout,
            config: self.config,
            save: true,
            seeds: self.seeds,
            parts: self.parts,
            control: self.control,
        };
        self.executor.executor().run(crawl).await
    }
}

/// Puts a [`Crawler`] together. Only seeds are needed; every part has a default.
#[derive(Debug)]
pub struct CrawlerBuilder {
    name: String,
    directory: PathBuf,
    config: CollectionConfig,
    seeds: Vec<String>,
    parts: Parts,
    executor: Box<dyn ExecutorDebug>,
}

impl CrawlerBuilder {
    /// Where data is kept; `./teia-data` unless said.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Adds a seed, with or without scheme.
    #[must_use]
    pub fn seed(mut self, seed: &str) -> Self {
        self.seeds.push(seed.to_owned());
        self
    }

    /// How far to go from the seeds.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.config.filter.scope = scope;
        self
    }

    /// The rest between two requests to a host.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.config.politeness.delay = delay;
        self
    }

    /// The most documents to fetch.
    #[must_use]
    pub fn max_pages(mut self, pages: u64) -> Self {
        self.config.filter.max_pages = Some(pages);
        self
    }

    /// Any other setting.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut CollectionConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Fetches in place of HTTP.
    #[must_use]
    pub fn fetcher(mut self, fetcher: impl Fetcher) -> Self {
        self.parts.fetcher = Some(Arc::new(fetcher));
        self
    }

    /// Decides in place of the collection's rules.
    #[must_use]
    pub fn filter(mut self, filter: impl Filter + 'static) -> Self {
        self.parts.filter = Some(Arc::new(filter));
        self
    }

    /// Hands out hosts in place of the polite frontier.
    #[must_use]
    pub fn frontier(mut self, frontier: impl Frontier + 'static) -> Self {
        self.parts.frontier = Some(Box::new(frontier));
        self
    }

    /// Receives each committed document.
    #[must_use]
    pub fn analyzer(mut self, analyzer: impl Analyzer) -> Self {
        self.parts.analyzers.push(Arc::new(analyzer));
        self
    }

    /// Logs in where a server asks for it.
    #[must_use]
    pub fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.parts.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Listens to what happens.
    #[must_use]
    pub fn feedback(mut self, feedback: impl Feedback) -> Self {
        self.parts.feedback = Arc::new(feedback);
        self
    }

    /// Runs the ring elsewhere, or not at all.
    #[must_use]
    pub fn executor(mut self, executor: impl Executor) -> Self {
        self.executor = Box::new(executor);
        self
    }

    /// Checks names, seeds and settings.
    pub fn build(self) -> Result<Crawler, Error> {
        let Self {
            name,
            directory,
            mut config,
            seeds,
            parts,
            executor,
        } = self;
        Layout::new(&name)?;
        let mut parsed = Vec::new();
        for text in &seeds {
            parsed.extend(Seed::parse(text)?);
        }
        config.seeds = seeds;
        config.check()?;
        Ok(Crawler {
            directory,
            name,
            config,
            seeds: parsed,
            parts,
            control: Control::default(),
            executor,
        })
    }
}
