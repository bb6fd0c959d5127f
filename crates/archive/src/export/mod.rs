//! Captures out of the archive: as WARC, as WACZ, as CDXJ, as plain files.

mod safe_path;
mod to_files;
mod to_wacz;
mod to_warc;
mod zip;

use std::io::Write;

pub use to_files::files;
pub use to_wacz::wacz;
pub use to_warc::warc;

use crate::{ArchiveError, Captures, CdxEntry};

/// What an export wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Captures, originals of revisits included.
    pub captures: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Captures left out because their record is damaged or their original is gone.
    pub damaged: u64,
}

/// Writes the index lines of the captures that pass the filter, sorted. Whether one is damaged is
/// not looked at.
pub fn cdxj(
    captures: &Captures,
    filter: &dyn Fn(&CdxEntry) -> bool,
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    let mut exported = Exported::default();
    for entry in captures.all()? {
        let entry = entry?;
        if filter(&entry) {
            let line = entry.to_line();
            out.write_all(line.as_bytes())
                .map_err(ArchiveError::Export)?;
            exported.captures += 1;
            exported.bytes += line.len() as u64;
        }
    }
    out.flush().map_err(ArchiveError::Export)?;
    Ok(exported)
}

/// Whether an error is about one capture and not about the disk.
fn is_damage(error: &ArchiveError) -> bool {
    matches!(
        error,
        ArchiveError::Damaged { .. } | ArchiveError::NoOriginal { .. }
    )
}
