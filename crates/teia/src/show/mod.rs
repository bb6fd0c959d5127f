//! What a person sees: the progress of a run and its summary.

mod progress;
mod summary;

pub(crate) use progress::ProgressBar;
pub(crate) use summary::{print_summary, print_tables};

/// A line on standard output, or an error: a pipe may be closed at any time, and `println!` would
/// then panic.
macro_rules! outln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout().lock(), $($text)*)
    }};
}
pub(crate) use outln;
