//! The orders of visit that exist so far.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use teia_base::{Order, UrlFacts};

use crate::Ranked;

/// Pages near the seeds first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Breadth;

impl Order for Breadth {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        (u64::from(url.depth) << 48) | (url.sequence & 0xFFFF_FFFF_FFFF)
    }
}

/// Last in, first out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Depth;

impl Order for Depth {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        u64::MAX - url.sequence
    }
}

/// In no order that anybody could foresee, the same after a restart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Order for Random {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        url.hash
    }
}

/// The URL that has waited longest.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongestWait;

impl Order for LongestWait {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        url.sequence
    }
}

/// What Analyzers think most of; among equals pages near the seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Priority;

impl Order for Priority {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        let place = i64::from(i32::MAX) - i64::from(url.priority);
        let depth = u64::from(url.depth.min(0xFF));
        place.unsigned_abs() << 32 | depth << 24 | url.sequence.min(0xFF_FFFF)
    }
}

const KNOWN: &str = "breadth, depth, random, longest-wait, priority, backlinks or pagerank";

/// The orders by name, as on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OrderName {
    /// [`Breadth`].
    #[default]
    Breadth,
    /// [`Depth`].
    Depth,
    /// [`Random`].
    Random,
    /// [`LongestWait`].
    LongestWait,
    /// [`Priority`].
    Priority,
    /// [`Ranked`] by the number of pages that link to a URL.
    Backlinks,
    /// [`Ranked`] by PageRank.
    PageRank,
}

impl OrderName {
    /// Whether ranks decide it; they are computed from the links that are kept.
    pub fn needs_ranks(self) -> bool {
        matches!(self, Self::Backlinks | Self::PageRank)
    }

    /// The policy of this name. One that needs ranks does not know them yet.
    pub fn policy(self) -> Arc<dyn Order> {
        match self {
            Self::Breadth => Arc::new(Breadth),
            Self::Depth => Arc::new(Depth),
            Self::Random => Arc::new(Random),
            Self::LongestWait => Arc::new(LongestWait),
            Self::Priority => Arc::new(Priority),
            Self::Backlinks | Self::PageRank => Arc::new(Ranked::default()),
        }
    }
}

impl fmt::Display for OrderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Breadth => "breadth",
            Self::Depth => "depth",
            Self::Random => "random",
            Self::LongestWait => "longest-wait",
            Self::Priority => "priority",
            Self::Backlinks => "backlinks",
            Self::PageRank => "pagerank",
        })
    }
}

impl FromStr for OrderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "breadth" => Ok(Self::Breadth),
            "depth" => Ok(Self::Depth),
            "random" => Ok(Self::Random),
            "longest-wait" => Ok(Self::LongestWait),
            "priority" => Ok(Self::Priority),
            "backlinks" => Ok(Self::Backlinks),
            "pagerank" => Ok(Self::PageRank),
            "opic" | "large-hosts" | "fast-hosts" | "focused" => {
                Err(format!("the order `{text}` is not built yet; use {KNOWN}"))
            }
            _ => Err(format!("there is no order `{text}`; use {KNOWN}")),
        }
    }
}

impl TryFrom<String> for OrderName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<OrderName> for String {
    fn from(name: OrderName) -> Self {
        name.to_string()
    }
}
