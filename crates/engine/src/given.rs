//! What a person gave to begin with, and the hours that a person set.

use std::collections::HashSet;
use std::path::PathBuf;

use teia_base::{FoundUrl, Seed};

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::hours::Hours;

/// Seeds in their normal form, each once, and whether without scheme.
pub(crate) fn normal_seeds(
    config: &CollectionConfig,
    seeds: &[Seed],
) -> Result<Vec<(FoundUrl, bool)>, EngineError> {
    let mut normal = Vec::new();
    let mut seen = HashSet::new();
    for seed in seeds {
        let found =
            config
                .normal_form
                .normalise(&seed.url)
                .map_err(|error| EngineError::Config {
                    path: PathBuf::from(seed.url.as_str()),
                    message: error.to_string(),
                })?;
        if seen.insert(found.normal().clone()) {
            normal.push((found, seed.fallback_http));
        }
    }
    Ok(normal)
}

/// The seeds of a run that visits everything again: those given now and those of the settings; where
/// there are none, those of earlier runs.
pub(crate) fn all_given(
    config: &CollectionConfig,
    mut given: Vec<(FoundUrl, bool)>,
    before: &[(FoundUrl, bool)],
) -> Result<Vec<(FoundUrl, bool)>, EngineError> {
    let settings = config.seeds.iter();
    let settings: Vec<Seed> = settings
        .filter_map(|text| Seed::parse(text).ok().flatten())
        .collect();
    let mut more = normal_seeds(config, &settings)?;
    if given.is_empty() && more.is_empty() {
        more.extend_from_slice(before);
    }
    let mut known: HashSet<FoundUrl> = given.iter().map(|(url, _)| url.clone()).collect();
    more.retain(|(url, _)| known.insert(url.clone()));
    given.extend(more);
    Ok(given)
}

/// The hours in which requests are made, where there is a limit; they were found good before.
pub(crate) fn hours_of(config: &CollectionConfig) -> Option<Hours> {
    let window = config.schedule.window.as_ref()?;
    Hours::parse(window, &config.schedule.time_zone).ok()
}
