//! `teia config`: every setting with its default and its meaning.

use std::process::ExitCode;

use anyhow::Result;
use teia_engine::manual;

use crate::show::outln;

/// Prints a collection file with every setting, its default, and its meaning as a comment.
pub(crate) fn config() -> Result<ExitCode> {
    outln!("{}", manual().trim_end())?;
    Ok(ExitCode::SUCCESS)
}
