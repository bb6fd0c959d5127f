//! A collection in the tables of the five systems that Teia joins, in their layout.
//!
//! ```text
//! document, attempt, host, minute ──> one question for each table ──> Statistic (text, CSV, JSON, Parquet)
//! ```
//!
//! *Collected* is a document whose last answer was 2xx, or that it has not changed since one.

mod cell;
mod questions;

pub use cell::{Cell, Statistic};
pub use questions::{Beside, statistics};
