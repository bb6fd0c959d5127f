//! The order by rank: what the link graph thinks of URLs, as far as it knows them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use teia_base::{Order, UrlFacts};

/// URLs with the highest value first; those without one behind them, near the seeds first.
///
/// It begins without values, as breadth first. Whoever ranks publishes new ones while the crawl goes on.
/// URLs that lie on disk have no hash to find them by: they go by depth until their host's next window
/// brings them to memory.
#[derive(Debug, Default)]
pub struct Ranked {
    values: RwLock<Arc<HashMap<u64, u32>>>,
    edition: AtomicU64,
}

impl Ranked {
    /// Exchanges what it knows: values by the keyed hash of the URL, see [`UrlFacts::hash`].
    pub fn publish(&self, values: HashMap<u64, u32>) {
        *self.values.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(values);
        self.edition.fetch_add(1, Ordering::Release);
    }
}

impl Order for Ranked {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let value = values.get(&url.hash).copied().unwrap_or(0);
        let depth = u64::from(url.depth.min(0xFF));
        u64::from(u32::MAX - value) << 32 | depth << 24 | url.sequence.min(0xFF_FFFF)
    }

    fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }
}
