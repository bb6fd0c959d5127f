//! What a person sees: the progress of a run and its summary.

pub(crate) mod lines;
mod progress;
mod summary;
mod width;

pub(crate) use progress::ProgressBar;
pub(crate) use summary::{group, print_summary, print_tables};
pub(crate) use width::{Width, cut};

/// `1 page`, `2 pages`, `12 345 pages`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", summary::group(count))
}

/// A line on standard output, or an error: a pipe may be closed at any time, and `println!` would
/// then panic.
macro_rules! outln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout().lock(), $($text)*)
    }};
}
pub(crate) use outln;
