//! The lives of URLs, as the journal tells them. Reading it takes long where much was collected, so what was
//! read is kept for a while, like the figures.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_base::CanonicalUrl;
use teia_engine::Explanation;

use super::counter::Source;
use super::figures::{FRESH, REST, lock};
use super::{Desk, DeskError};

/// Lives that are kept, the last that were asked for.
const KEPT: usize = 32;
/// With more links than this, a life is not kept.
const KEPT_LINKS: usize = 50_000;

/// One that was read.
#[derive(Debug)]
pub(super) struct Life {
    collection: String,
    url: CanonicalUrl,
    made: Instant,
    took: Duration,
    /// Of what it was read.
    source: Source,
    told: Arc<Explanation>,
}

impl Desk {
    /// Everything that is known of a URL; nothing where it was never met. The Repository is asked first, as
    /// it was a moment ago; then the journal is read, for so long at most.
    pub(crate) fn life(
        &self,
        collection: &str,
        url: &CanonicalUrl,
        patience: Duration,
    ) -> Result<Option<Arc<Explanation>>, DeskError> {
        let (_, reading) = self.reading(collection)?;
        let source = Source::of(&reading);
        if let Some(told) = self.kept_life(collection, url, source) {
            return Ok(Some(told));
        }
        let made = Instant::now();
        let kept = self.with_kept_overview(collection, |overview| Ok(overview.meet(url)?))?;
        let met = match kept {
            Some(met) => met,
            None => reading.meet(url)?,
        };
        let Some(met) = met else {
            return Ok(None);
        };
        let told = Arc::new(reading.life_of(met, Some(made + patience))?);
        let links = told.attempts.iter().map(|attempt| attempt.links.len());
        if links.sum::<usize>() <= KEPT_LINKS {
            let mut lives = lock(&self.lives);
            lives.retain(|life| !life.is_of(collection, url));
            while lives.len() >= KEPT {
                lives.pop_front();
            }
            lives.push_back(Life {
                collection: collection.to_owned(),
                url: url.clone(),
                made,
                took: made.elapsed(),
                source,
                told: Arc::clone(&told),
            });
        }
        Ok(Some(told))
    }

    fn kept_life(
        &self,
        collection: &str,
        url: &CanonicalUrl,
        source: Source,
    ) -> Option<Arc<Explanation>> {
        let lives = lock(&self.lives);
        let life = lives.iter().find(|life| life.is_of(collection, url))?;
        let is_whole = life.source == source && !life.told.is_partial;
        let is_fresh = is_whole || life.made.elapsed() < FRESH.max(life.took * REST);
        let is_fresh = is_fresh && life.source.removed == source.removed;
        is_fresh.then(|| Arc::clone(&life.told))
    }

    /// What was read of a collection before is not to be believed any more.
    pub(super) fn forget_lives(&self, collection: &str) {
        lock(&self.lives).retain(|life| life.collection != collection);
    }
}

impl Life {
    fn is_of(&self, collection: &str, url: &CanonicalUrl) -> bool {
        self.collection == collection && self.url == *url
    }
}

/// Lives, the one that was read last at the end.
pub(super) type Lives = VecDeque<Life>;
