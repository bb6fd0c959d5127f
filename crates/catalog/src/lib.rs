//! The catalog: collections, runs, documents and attempts in SQL, for people and their own tools.
//!
//! ```text
//! journal entries ──> Batch (rows in memory) ──one transaction, with the position──> Catalog
//!                                                        SQLite (DIR/teia.db) or PostgreSQL
//!                                                                      │
//!                         views (docs/catalog.md), statistics <── Reader
//! ```
//!
//! The position of the last entry lies in the transaction that wrote its rows. So after a crash, a
//! lost connection or a commit of which nobody heard, what is in the catalog is exactly what the
//! journal says up to that position, and whoever follows goes on from there. Nothing is kept here
//! that the journal does not have: a catalog can be dropped and written anew.

mod batch;
mod catalog;
mod comparison;
mod database;
mod error;
mod monitoring;
pub mod parquet;
mod postgres;
mod reader;
mod schema;
mod sqlite;
mod statistics;
mod store;
mod tables;
mod tls;
mod value;

pub use catalog::{Catalog, Identity, Position};
pub use comparison::{Compared, Extent};
pub use error::CatalogError;
pub use monitoring::{
    Asked, Dashboard, DepthCount, Failed, HostOrder, HostPage, HostReport, HostRow, Minute,
    NameCount, Names, OutcomeCount, RunRow, Times,
};
pub use reader::{Known, Reader, Row};
pub use statistics::{Beside, Cell, Statistic, statistics};
pub use store::{PASSWORD_VARIABLE, Store, StoreUrl};
