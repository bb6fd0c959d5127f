//! Documents to an index, queries to ranked results.
//!
//! ```text
//! journal ──> Writer: add, remove, commit(position) ──> index (Tantivy, one for each collection)
//!                                                          │
//! query ──> repaired, planned ──> Searcher over all of them ┴──> Results
//! ```
//!
//! The index is a follower: its position in the journal lies inside its own commit, so that it is
//! never ahead of what it says, and what it lacks is added again.
//!
//! ```
//! # fn main() -> Result<(), teia_search::SearchError> {
//! use teia_search::{IndexConfig, SearchConfig, SearchRequest, Searcher, Weights, Writer};
//!
//! let directory = std::env::temp_dir().join(format!("teia-search-doc-{}", std::process::id()));
//! let mut writer = Writer::open(&directory, IndexConfig::default())?;
//! writer.commit(0)?;
//! let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
//! searcher.open("birds", &directory)?;
//! let results = searcher.search(&SearchRequest::new("melro \"bico amarelo\" -gaiola"))?;
//! assert_eq!(results.total, 0);
//! # drop(std::fs::remove_dir_all(directory));
//! # Ok(())
//! # }
//! ```

mod checks;
mod config;
mod entry;
mod error;
mod guard;
mod inverter;
mod language;
mod margins;
mod page;
mod pending;
mod query;
mod record;
mod schema;
mod search;
mod similar;
mod store;
mod sums;
mod text;
mod turns;
mod weights;
mod writer;

pub use config::{IndexConfig, SearchConfig};
pub use error::SearchError;
pub use guard::is_of_index;
pub use language::{Detected, STEMMED, UNDETERMINED, detect, stem};
pub use page::{Extras, settled_language};
pub use query::Repair;
pub use search::{Facet, Filter, Hidden, Hit, Results, SearchRequest, Searcher, Snippet, Sort};
pub use store::verify;
pub use text::fold;
pub use weights::Weights;
pub use writer::{Added, Writer};
