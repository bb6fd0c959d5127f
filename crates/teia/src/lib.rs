//! Teia collects a part of the web, keeps every version of it, and tells what it did.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use teia::{Crawler, Document, Scope};
//!
//! let crawler = Crawler::builder("birds")
//!     .seed("https://example.org/")
//!     .scope(Scope::Host)
//!     .analyzer(|document: &Document| println!("{}  {}", document.url, document.title))
//!     .build()?;
//! let report = crawler.run().await?;
//! println!("{} pages from {} hosts", report.fetched, report.hosts);
//! # Ok(())
//! # }
//! ```
//!
//! Each part of the ring can be replaced: see [`CrawlerBuilder`] and the seven traits
//! [`Fetcher`], [`Filter`], [`Frontier`], [`Analyzer`], [`Authenticator`], [`Feedback`], [`Executor`].

mod crawler;

pub use crawler::{Crawler, CrawlerBuilder, Error};
pub use teia_base::filter::{Candidate, Fetched, Filter, FilterConfig, KeepAll, Verdict};
pub use teia_base::scope::Scope;
pub use teia_base::{CanonicalUrl, Document, Exchange, Link, Outcome, Request};
pub use teia_engine::{
    Analyzer, CollectionConfig, Control, DryRun, Event, Executor, Feedback, Ignore, Insight,
    Progress, Report, Silence, ThisMachine,
};
pub use teia_fetch::{
    Authenticator, BasicLogin, BearerLogin, Fetcher, HttpFetcher, Logins, NoLogin, NullFetcher,
    ScriptedFetcher,
};
pub use teia_frontier::{Frontier, PoliteFrontier, Unhurried};
