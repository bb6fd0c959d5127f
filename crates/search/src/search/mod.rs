//! The reading end: a query over one or more indexes, to ranked results.
//!
//! ```text
//! parsed query ──> plan (terms, idf over all indexes) ──> matches, segment by segment
//!    ──> best by BM25F ──> closeness of words, for the first few hundred
//!    ──> near-duplicates under their best one ──> the page asked for, with snippets
//! ```
//!
//! Statistics are of all indexes together and of living documents only, so that neither the
//! division into indexes nor deletions waiting for a merge change the order.

mod closeness;
mod collect;
mod columns;
mod copies;
mod deadline;
mod expansion;
mod filter;
mod given;
mod grouping;
mod hidden;
mod known_words;
mod matching;
mod phrase;
mod plan;
mod reputes;
mod results;
mod searcher;
mod snippet;
mod spelling;
mod statistics;
mod tally;
mod warming;
mod word;

pub use filter::Filter;
pub use hidden::Hidden;
pub use results::{Facet, Hit, Results, Snippet};
pub use searcher::{SearchRequest, Searcher, Sort};
