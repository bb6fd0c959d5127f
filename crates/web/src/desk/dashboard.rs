//! What the catalog knows of a collection, for pages: it is asked again only now and then.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use teia_catalog::{CatalogError, Dashboard, HostReport, Identity, Known, Reader};
use teia_engine::{ask, store_of};

use super::figures::lock;
use super::{Desk, DeskError};

/// A dashboard is not made again before it is this old.
const FRESH: Duration = Duration::from_secs(2);
/// Nor sooner than so many times as long as making it took.
const REST: u32 = 20;
/// A catalog that did not answer is not asked again sooner.
const AWAY: Duration = Duration::from_secs(5);
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

/// What was asked of a host, by everybody here.
#[derive(Clone, Debug)]
pub(crate) struct HostVisits {
    pub(crate) report: HostReport,
    /// The collections that met it.
    pub(crate) collections: Vec<String>,
    /// Collections whose catalogs lie in another place: what they asked is not in the report.
    pub(crate) elsewhere: Vec<String>,
}

impl Desk {
    /// Whether runs can be begun: this process collects, or another does in the directory.
    pub(crate) fn collects(&self) -> bool {
        let answers =
            || ask(&self.root.join("control.sock"), "status").is_ok_and(|it| it.is_some());
        self.runs.is_some() || answers()
    }

    /// What all collections together asked of a host: to the host they are one visitor. Collections that share
    /// a catalog are asked together; `wanted` says in whose catalog to look first. None where no catalog knows
    /// the host.
    pub(crate) fn host_visits(
        &self,
        wanted: &str,
        host: &str,
        limit: u32,
        offset: u32,
    ) -> Result<Option<HostVisits>, DeskError> {
        let directory = self.directory()?;
        let mut places: Vec<(String, Vec<String>)> = Vec::new();
        for name in directory.collections() {
            let store = self.reading(&name).and_then(|(_, it)| Ok(store_of(&it)?));
            // A collection that cannot be read says so on its own page.
            let Ok(Some(store)) = store else { continue };
            let at = store.to_string();
            match places.iter_mut().find(|(known, _)| *known == at) {
                Some((_, names)) => names.push(name),
                None => places.push((at, vec![name])),
            }
        }
        places.sort_by_key(|(_, names)| !names.iter().any(|name| name == wanted));
        let mut is_away = false;
        for (at, (_, names)) in places.iter().enumerate() {
            let found = self.with_reader(&names[0], |reader, _| {
                let mut known = Vec::new();
                for name in names {
                    let identity = Identity::new(directory.key(), name);
                    known.extend(reader.find(&identity)?.map(|it| (name.clone(), it)));
                }
                let (names, known): (Vec<String>, Vec<Known>) = known.into_iter().unzip();
                let report = HostReport::of(reader, &known, host, limit, offset)?;
                Ok(report.map(|report| (names, report)))
            });
            let (names, report) = match found {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(DeskError::Catalog) => {
                    is_away = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let elsewhere = places.iter().enumerate().filter(|(other, _)| *other != at);
            return Ok(Some(HostVisits {
                collections: report
                    .collections
                    .iter()
                    .map(|at| names[*at].clone())
                    .collect(),
                report,
                elsewhere: elsewhere
                    .flat_map(|(_, (_, names))| names.clone())
                    .collect(),
            }));
        }
        if is_away {
            return Err(DeskError::Catalog);
        }
        Ok(None)
    }

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

    /// How much older the last entry in the catalog is than the journal; none where there is no catalog, or no journal.
    pub(crate) fn catalog_lag(
        &self,
        name: &str,
        written: Option<SystemTime>,
    ) -> Result<Option<Duration>, DeskError> {
        let since = |written: SystemTime| written.duration_since(SystemTime::UNIX_EPOCH).ok();
        let Some(written) = written.and_then(since) else {
            return Ok(None);
        };
        let at = self.in_catalog(name, |_, known| Ok(known.position.at))?;
        let micros = at.and_then(|at| u64::try_from(at.as_micros()).ok());
        Ok(micros.map(|micros| written.saturating_sub(Duration::from_micros(micros))))
    }

    /// Asks the catalog of a collection; none where it has none yet. One that does not answer is left alone
    /// for a few seconds: pages ask every two.
    pub(crate) fn in_catalog<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&mut Reader, Known) -> Result<T, CatalogError>,
    ) -> Result<Option<T>, DeskError> {
        self.with_reader(name, |reader, identity| {
            let Some(known) = reader.find(identity)? else {
                return Ok(None);
            };
            ask(reader, known).map(Some)
        })
    }

    /// The same, whether or not the catalog knows the collection.
    fn with_reader<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&mut Reader, &Identity) -> Result<Option<T>, CatalogError>,
    ) -> Result<Option<T>, DeskError> {
        let (directory, reading) = self.reading(name)?;
        let Some(store) = store_of(&reading)? else {
            return Ok(None);
        };
        let is_away = |at: &Instant| at.elapsed() < AWAY;
        if lock(&self.away).get(name).is_some_and(is_away) {
            return Err(DeskError::Catalog);
        }
        let answer = || -> Result<Option<T>, CatalogError> {
            let Some(mut reader) = Reader::open(&store)? else {
                return Ok(None);
            };
            let identity = Identity::new(directory.key(), reading.layout().name());
            ask(&mut reader, &identity)
        };
        answer().map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(name, %error, cause = ?cause, "the catalog cannot be asked");
            lock(&self.away).insert(name.to_owned(), Instant::now());
            DeskError::Catalog
        })
    }
}
