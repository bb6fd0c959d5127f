//! The hosts of the store, with their counts, from the directories of the runs.

use hashbrown::HashMap;

use super::directory::for_each_host;
use super::error::StoreError;
use super::store::Store;

/// A host and its counts, as far as its URLs have reached the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCounts {
    /// Its name.
    pub host: String,
    /// URLs known.
    pub urls: u64,
    /// URLs waiting.
    pub waiting: u64,
}

impl Store {
    /// Tells of every host, block by block; a host that spans blocks is told of in each. Reads the
    /// directories only.
    pub fn hosts(&self, mut tell: impl FnMut(HostCounts)) -> Result<(), StoreError> {
        for block in &self.blocks {
            let mut counts: HashMap<Vec<u8>, (i64, i64)> = HashMap::new();
            for run in &block.runs {
                let stored = run.read_directory()?;
                for_each_host(&stored, |entry| {
                    let count = counts.entry_ref(entry.host).or_default();
                    count.0 += entry.urls;
                    count.1 += entry.waiting;
                })
                .map_err(|flaw| flaw.at(&run.path, run.directory_offset()))?;
            }
            for (host, (urls, waiting)) in counts {
                tell(HostCounts {
                    host: String::from_utf8_lossy(&host).into_owned(),
                    urls: u64::try_from(urls).unwrap_or(0),
                    waiting: u64::try_from(waiting).unwrap_or(0),
                });
            }
        }
        Ok(())
    }
}
