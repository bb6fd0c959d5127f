//! What the catalog knows of a collection, for pages: it is asked again only now and then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_catalog::{CatalogError, Dashboard, Identity, Known, Reader};
use teia_engine::{EngineError, store_of};

use super::figures::lock;
use super::{Desk, DeskError};

/// A dashboard is not made again before it is this old.
const FRESH: Duration = Duration::from_secs(2);
/// Nor sooner than so many times as long as making it took.
const REST: u32 = 20;
/// Collections whose dashboards are kept.
const MOST_KEPT: usize = 64;

/// A dashboard, a while ago.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    made: Instant,
    took: Duration,
    /// How far the catalog was.
    position: u64,
    dashboard: Option<Arc<Dashboard>>,
}

impl Desk {
    /// A collection at a glance; none where it has no catalog yet. While it grows, a large one is a while
    /// old.
    pub(crate) fn dashboard(
        &self,
        name: &str,
        grows: bool,
    ) -> Result<Option<Arc<Dashboard>>, DeskError> {
        let kept = lock(&self.dashboards).get(name).cloned();
        let position = self.in_catalog(name, |_, known| Ok(known.position.entry))?;
        if let Some(kept) = kept
            && (Some(kept.position) == position
                || grows && kept.made.elapsed() < FRESH.max(kept.took * REST))
        {
            return Ok(kept.dashboard);
        }
        let made = Instant::now();
        let dashboard = self.in_catalog(name, |reader, known| {
            Ok((known.position.entry, Arc::new(known.dashboard(reader)?)))
        })?;
        let (position, dashboard) = dashboard.unzip();
        let kept = Kept {
            made,
            took: made.elapsed(),
            position: position.unwrap_or(0),
            dashboard: dashboard.clone(),
        };
        let mut all = lock(&self.dashboards);
        if all.len() >= MOST_KEPT {
            all.clear();
        }
        all.insert(name.to_owned(), kept);
        Ok(dashboard)
    }

    /// Asks the catalog of a collection; none where it has none yet.
    pub(crate) fn in_catalog<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&mut Reader, Known) -> Result<T, CatalogError>,
    ) -> Result<Option<T>, DeskError> {
        let (directory, reading) = self.reading(name)?;
        let Some(store) = store_of(&reading)? else {
            return Ok(None);
        };
        let answer = || -> Result<Option<T>, CatalogError> {
            let Some(mut reader) = Reader::open(&store)? else {
                return Ok(None);
            };
            let identity = Identity::new(directory.key(), reading.layout().name());
            let Some(known) = reader.find(&identity)? else {
                return Ok(None);
            };
            ask(&mut reader, known).map(Some)
        };
        Ok(answer().map_err(EngineError::from)?)
    }
}
