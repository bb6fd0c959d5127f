//! What a program does with each committed document.

use std::any::Any;

use teia_base::{CanonicalUrl, Document};

/// Receives each committed document, at least once, in the order of the commits.
///
/// Called from a thread of its own: it may take its time, and the crawl then waits for it rather
/// than for memory. A closure over `&Document` is one; [`Ignore`] is the null one.
pub trait Analyzer: Send + Sync + 'static {
    /// Looks at a document, and may tell the Frontier something about URLs.
    ///
    /// A panic is reported and counts as seen: the next document follows, and this one is not handed
    /// over again.
    fn analyze(&self, document: &Document) -> Vec<Insight>;

    /// What people are told of it when it fails.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }
}

/// Extra information about a URL, for the Frontier.
pub struct Insight {
    /// About which.
    pub url: CanonicalUrl,
    /// Its place among the URLs of its host, for orders that look at it: larger goes first.
    pub priority: Option<i32>,
    /// Of a type that Analyzer and Frontier agree on.
    pub extra: Option<Box<dyn Any + Send>>,
}

impl std::fmt::Debug for Insight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Insight")
            .field("url", &self.url)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl<F: Fn(&Document) + Send + Sync + 'static> Analyzer for F {
    fn analyze(&self, document: &Document) -> Vec<Insight> {
        self(document);
        Vec::new()
    }
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Analyzer for Ignore {
    fn analyze(&self, _document: &Document) -> Vec<Insight> {
        Vec::new()
    }
}
