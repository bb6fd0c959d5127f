//! The disk half of the Repository: every URL once, at a cost that does not grow.
//!
//! ```text
//! offer ──> front (memory, by text) ──> filter: absent ──> New, at once
//!             │                              └─ else ────> Pending
//!             │ fold: sort
//!             ├──> blocks visited now: merge-join on text ──> small run ──> base run(s)
//!             └──> the others: a file of waiting news, taken in at their visit
//! ```
//!
//! A block is a range of keyed host hashes: its URLs, sorted by host and text, front-coded in
//! checksummed pages, with the numbers that are known of each beside them. A block is read as a
//! whole, once every few folds, and never rewritten for a few new URLs: they go into a small run on
//! top, and the runs are merged when the small ones have grown as large as the base, or half as
//! large in a small store.
//!
//! What must stay true: equality of text decides, and a URL is called new once, ever. So a filter
//! only ever says "never met"; what it cannot exclude waits for the visit; what was called new
//! already travels with a mark, and the visit passes over it. Files are written once; the manifest,
//! replaced last, says which of them count.

mod block;
mod column;
mod commit;
mod compact;
mod config;
mod damage;
mod decoded;
mod delta;
mod directory;
mod error;
mod filter;
mod fold;
mod front;
mod gather;
mod hosts;
mod join;
mod key;
mod look;
mod look_aside;
mod look_plan;
mod look_waiting;
mod lookup;
mod manifest;
mod media_types;
mod mend;
mod news;
mod offer;
mod page;
mod pending;
mod rare;
mod recent;
mod row;
mod run;
mod scan;
mod schedule;
mod sort;
mod store;
mod stream;
mod taken;
mod varint;
mod verify;
mod visit;
mod window;

pub use commit::FoldReport;
pub(crate) use config::FRONT_BYTES;
pub use config::{Packing, StoreConfig};
pub use delta::{Settlement, Standing, Stands};
pub use error::StoreError;
pub use fold::{FoldDone, FoldJob};
pub use hosts::HostCounts;
pub use lookup::Known;
pub use news::{FoldNews, Told};
pub use offer::{Answer, Decided, Link};
pub use row::{News, Rare, Visited};
pub use scan::{ScanPlace, Survey};
pub use store::{Store, StoreStats};
pub use verify::VerifyReport;
pub use window::{Leased, Part, WindowOrder};
