//! Ranks for the order of visits: what `--order backlinks` and `--order pagerank` go by.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use teia_base::{Files, Order};
use teia_frontier::{OrderName, Ranked};
use teia_graph::{GraphError, RankFile};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::config::LinksSection;
use crate::directory::Layout;

/// URLs whose ranks are kept in memory, the best: 12 bytes each and some room.
const MOST: usize = 1_000_000;

/// An order that ranks decide, and how they get into it.
#[derive(Clone, Debug)]
pub(crate) struct OrderByRank {
    name: OrderName,
    order: Arc<Ranked>,
    key: u64,
}

impl OrderByRank {
    /// The policy of a name, and the handle to feed it where ranks decide; `key` is that of the directory.
    pub(crate) fn policy(name: OrderName, key: u64) -> (Arc<dyn Order>, Option<Self>) {
        if !name.needs_ranks() {
            return (name.policy(), None);
        }
        let order = Arc::new(Ranked::default());
        let policy: Arc<dyn Order> = Arc::<Ranked>::clone(&order);
        (policy, Some(Self { name, order, key }))
    }

    /// Takes the newest ranks of a collection over. Without any, the order stays as it is.
    pub(crate) fn renew(
        &self,
        files: &dyn Files,
        layout: &Layout,
        config: &LinksSection,
    ) -> Result<(), GraphError> {
        let Some(file) = RankFile::open(files, &layout.links(), &config.graph())? else {
            return Ok(());
        };
        let mut best: BinaryHeap<Reverse<(u32, u64)>> = BinaryHeap::new();
        for page in file.pages() {
            let (url, rank, in_links) = page?;
            let value = match self.name {
                OrderName::Backlinks => in_links,
                _ => as_value(rank),
            };
            if best.len() >= MOST {
                match best.peek() {
                    Some(Reverse((least, _))) if *least < value => best.pop(),
                    _ => continue,
                };
            }
            // As the Repository hashes it.
            let hash = xxh3_64_with_seed(url.as_bytes(), self.key);
            best.push(Reverse((value, hash)));
        }
        let values: HashMap<u64, u32> = best
            .into_iter()
            .map(|Reverse((value, hash))| (hash, value))
            .collect();
        self.order.publish(values);
        Ok(())
    }
}

/// A rank as a number of the same order: of positive floating point numbers, the bits are.
#[expect(
    clippy::cast_possible_truncation,
    reason = "ranks that differ in the eighth digit are as good as each other"
)]
fn as_value(rank: f64) -> u32 {
    (rank.max(0.0) as f32).to_bits()
}
