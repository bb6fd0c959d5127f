//! Every URL ever met, once: is it new, what do we know of it, what is due on its host.
//!
//! ```text
//! offer ──> table (text decides) ──> New: joins its host's queue ──> window ──> (lease, fetch)
//!             │                └──> Known                                          │
//!             └── state(url)                       apply(entry) <── commit <───────┘
//! ```
//!
//! A URL is in one place only: excluded, waiting in its host's queue, waiting for a later moment,
//! leased, or finished. Leases live in memory only; after a restart a leased URL waits again.
//! While everything fits, everything is in memory, and the journal is replayed at start. Beyond that
//! [`blocks`] on disk hold it, and memory what is about to be asked (`repository/disk.rs`).

pub mod blocks;
mod due;
mod host;
mod repository;
mod row;
mod table;

pub use host::{HostRecord, SavedHost};
pub use repository::{
    Admission, Backing, Depths, NewHosts, News, Offer, Offered, Repository, RepositoryConfig,
};
pub use row::{Fetched, State, UrlRef, UrlState};
