//! What a person sees: the progress of a run and its summary.

mod progress;
mod summary;

pub(crate) use progress::ProgressBar;
pub(crate) use summary::{print_summary, print_tables};
