//! The index of captures: the only place that knows in which file, and where in it, a capture lies.
//!
//! ```text
//! append ──> X.cdxj.open     lines in order of writing, each with a check sum; never synced
//!               │ file closed, and its captures in the journal
//!               v
//!            X.cdxj + X.ids  sorted by key; and numbers of captures, sorted
//!               │ sixteen of a level
//!               v
//!            merged-1-00001-00016.cdxj (+ .ids), merged-2-…
//! ```
//!
//! Everything here can be made again from the archive files: a missing or damaged index is a
//! slower start, never a loss (see `mend`). A merged index takes the place of those whose range it contains.

mod file_names;
mod merge;
mod open_lines;
mod scan;
mod sorted;

pub(crate) use file_names::{ArchiveName, IndexName, ids_path, open_lines_path};
pub(crate) use merge::{MERGE_WIDTH, Merge, merge_indexes};
pub(crate) use open_lines::{OpenLines, push_framed};
pub(crate) use scan::entry_of_record;
pub use scan::index_warc;
pub(crate) use sorted::{Health, Numbers, SortedIndex, health, number_again, write_sorted};
