//! How the store of blocks works.

use std::path::PathBuf;

/// What a URL in the front takes, about, until it is folded: what is being folded and what comes meanwhile, at about
/// 200 bytes each, as much again for the fold itself, and a third beside it: at 200 million URLs 1,024 took
/// 562 MiB of 512.
pub(crate) const FRONT_BYTES: u64 = 1280;

/// How the store of blocks works. The defaults come from trials with 3 to 100 million URLs and from
/// `./dev bench repository --sweep` at 4 and 50 million (BENCHMARKS.md). Packed, waiting links cost so
/// little that more of them may wait.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Where its files are, below the root of the `Files`.
    pub prefix: PathBuf,
    /// Key of the hashes, secret to each data directory.
    pub key: u64,
    /// URLs held in memory before a fold is asked for; fewer where the indexes of the runs take much of it.
    pub front_urls: usize,
    /// Bytes of front-coded text in a page, before packing.
    pub page_bytes: usize,
    /// Bytes of a base run beyond which its block is split.
    pub block_bytes: u64,
    /// Small runs are merged into the base when they hold more than one row for so many of its; for
    /// twice as many while there are fewer than `few_urls`.
    pub compact_share: u64,
    /// Folds after which a waiting link is decided at the latest.
    pub delay: u64,
    /// Rows that each fold reads at least, if there is anything to decide: below `delay` times
    /// this many URLs the delay is shorter.
    pub scan_rows: u64,
    /// Links that may wait beside each hundred URLs stored, before a fold reads more. About twice as
    /// many lie in files, which go when all of their blocks were visited. Three
    /// fifths of this while there are fewer than `few_urls`.
    pub waiting_share: u64,
    /// How base runs are packed.
    pub base_packing: Packing,
    /// How everything is packed while there are fewer than `few_urls`.
    pub few_packing: Packing,
    /// URLs below which bytes count for more than time: much is known of each of them, and there is
    /// little to read. At 50 million it costs no more time than it saves.
    pub few_urls: u64,
    /// How small runs are packed.
    pub small_packing: Packing,
    /// How links that wait are packed.
    pub pending_packing: Packing,
    /// Bits of a filter in memory for each URL, with which most new URLs are known at once; none
    /// for no filter.
    pub filter_bits: Option<u32>,
    /// Links remembered by a keyed fingerprint of 120 bits, so that they are not looked up again
    /// within a few folds. With 0 nothing but equal text ever decides; otherwise two URLs would be
    /// taken for one with a chance of about 1 in 10^20 for a billion URLs.
    pub recent_links: usize,
    /// A host with more rows than this is looked at on a thread of its own when URLs of it are chosen.
    pub look_rows: u64,
    /// Threads that visit blocks.
    pub threads: usize,
}

/// How front-coded text is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// LZ4: two fifths more bytes of text than zstd, for a fraction of its time both ways.
    Lz4,
    /// zstd at a level.
    Zstd(i32),
}

/// What depends on how many URLs there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thrift {
    pub(crate) base_packing: Packing,
    pub(crate) small_packing: Packing,
    pub(crate) pending_packing: Packing,
    pub(crate) compact_share: u64,
    pub(crate) waiting_share: u64,
}

impl StoreConfig {
    /// This for a store of so many URLs: where they are few, bytes count for more than time.
    pub(crate) fn thrift(&self, urls: u64) -> Thrift {
        if urls < self.few_urls {
            Thrift {
                base_packing: self.few_packing,
                small_packing: self.few_packing,
                pending_packing: self.few_packing,
                compact_share: self.compact_share * 2,
                waiting_share: (self.waiting_share * 3).div_ceil(5),
            }
        } else {
            Thrift {
                base_packing: self.base_packing,
                small_packing: self.small_packing,
                pending_packing: self.pending_packing,
                compact_share: self.compact_share,
                waiting_share: self.waiting_share,
            }
        }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            prefix: PathBuf::from("urls"),
            key: 0,
            front_urls: 1_000_000,
            page_bytes: 16 << 10,
            block_bytes: 64 << 20,
            compact_share: 1,
            delay: 128,
            scan_rows: 2_000_000,
            waiting_share: 17,
            base_packing: Packing::Lz4,
            few_packing: Packing::Zstd(1),
            few_urls: 70_000_000,
            small_packing: Packing::Lz4,
            pending_packing: Packing::Lz4,
            filter_bits: None,
            recent_links: 0,
            look_rows: u64::MAX,
            threads: 2,
        }
    }
}
