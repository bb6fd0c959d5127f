//! The hosts of the store, with their counts, from the directories of the runs.

use hashbrown::{HashMap, HashSet};

use super::block::Block;
use super::decoded::DecodedPage;
use super::directory::for_each_host;
use super::error::StoreError;
use super::front::ByHash;
use super::row::{MARK, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::store::Store;
use crate::row::State;

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

type Counts = HashMap<Vec<u8>, (i64, i64)>;

impl Store {
    /// Tells of every host, block by block; a host that spans blocks is told of in each. Reads the
    /// directories only, unless one is damaged: then the URLs of its block are counted.
    pub fn hosts(&self, mut tell: impl FnMut(HostCounts)) -> Result<(), StoreError> {
        for block in &self.blocks {
            let counts = match read_directories(block) {
                Ok(counts) => counts,
                Err(error) => {
                    // A page that is damaged as well is noted for itself.
                    self.damage.note(error.mended())?;
                    self.count_hosts(block)?
                }
            };
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

    /// Counts the URLs of a block, as far as its pages are whole.
    fn count_hosts(&self, block: &Block) -> Result<Counts, StoreError> {
        let mut counts = Counts::new();
        let mut newer: HashSet<u64, ByHash> = HashSet::default();
        let mut page = DecodedPage::default();
        // Newest runs first: they tell which rows of the older ones are outdated.
        for run in block.runs.iter().rev() {
            let mut pages = run.read_pages(0..run.index.len());
            while let Some(parts) = pages.next_page()? {
                if let Err(flaw) = page.load(self.disk.config.key, parts.state, parts.text) {
                    self.damage.note(run.damaged(parts.number, flaw))?;
                    continue;
                }
                for row in 0..page.len() {
                    let (mark, sequence) = (page.cells(row)[MARK], page.cells(row)[SEQUENCE]);
                    if newer.contains(&sequence) {
                        continue;
                    }
                    if flags_of(mark) & SUPERSEDES != 0 {
                        newer.insert(sequence);
                    }
                    let count = counts.entry_ref(page.key(row).host).or_default();
                    count.0 += 1;
                    count.1 += i64::from(state_of(mark) == State::Waiting);
                }
            }
        }
        Ok(counts)
    }
}

fn read_directories(block: &Block) -> Result<Counts, StoreError> {
    let mut counts = Counts::new();
    for run in &block.runs {
        run.whole()?;
        let stored = run.read_directory()?;
        for_each_host(&stored, |entry| {
            let count = counts.entry_ref(entry.host).or_default();
            count.0 = count.0.saturating_add(entry.urls);
            count.1 = count.1.saturating_add(entry.waiting);
        })
        .map_err(|flaw| flaw.at(&run.path, run.directory_offset()))?;
    }
    Ok(counts)
}
