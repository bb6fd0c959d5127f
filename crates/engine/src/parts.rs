//! The parts of the ring that a program may replace.

use std::sync::Arc;

use teia_base::filter::Filter;
use teia_base::{Clock, SystemClock};
use teia_extract::Extractor;
use teia_fetch::{Authenticator, Fetcher};
use teia_frontier::Frontier;

use crate::analyzer::Analyzer;
use crate::company::Company;
use crate::feedback::{Feedback, Silence};

/// The parts of the ring that a program may replace.
pub struct Parts {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// In place of HTTP.
    pub fetcher: Option<Arc<dyn Fetcher>>,
    /// Logs in where a server asks for it; a fetcher in place of HTTP has its own way.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// Before the usual extractors, for the media types that it accepts.
    pub extractor: Option<Arc<dyn Extractor>>,
    /// In place of the collection's rules.
    pub filter: Option<Arc<dyn Filter>>,
    /// In place of the polite one.
    pub frontier: Option<Box<dyn Frontier>>,
    /// Other runs of this process, with which politeness is shared.
    pub company: Option<Arc<Company>>,
    /// Beside the Repository, after each commit.
    pub analyzers: Vec<Arc<dyn Analyzer>>,
    /// Who listens.
    pub feedback: Arc<dyn Feedback>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            fetcher: None,
            authenticator: None,
            extractor: None,
            filter: None,
            frontier: None,
            company: None,
            analyzers: Vec::new(),
            feedback: Arc::new(Silence),
        }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts")
            .field("analyzers", &self.analyzers.len())
            .finish_non_exhaustive()
    }
}

impl Parts {
    /// The same parts again; none where one of them can be used once only.
    pub(crate) fn once_more(&self) -> Option<Self> {
        self.frontier.is_none().then(|| Self {
            clock: Arc::clone(&self.clock),
            fetcher: self.fetcher.clone(),
            authenticator: self.authenticator.clone(),
            extractor: self.extractor.clone(),
            filter: self.filter.clone(),
            frontier: None,
            company: self.company.clone(),
            analyzers: self.analyzers.clone(),
            feedback: Arc::clone(&self.feedback),
        })
    }
}
