//! How far an archive is whole, where no journal says it any more.

use std::path::Path;

use teia_base::Files;

use crate::error::ArchiveError;
use crate::index::ArchiveName;
use crate::reader::{Found, WarcReader};
use crate::writer::Committed;

/// The newest file that has a record, and where its last whole record ends; none where nothing was
/// archived.
pub fn whole_end(files: &dyn Files, dir: &Path) -> Result<Option<Committed>, ArchiveError> {
    let list = files.list(dir).map_err(ArchiveError::file("list", dir))?;
    let mut archives: Vec<ArchiveName> = list
        .iter()
        .filter_map(|name| ArchiveName::parse(name))
        .collect();
    archives.sort_unstable_by_key(|name| name.number);
    while let Some(name) = archives.pop() {
        let path = dir.join(name.file());
        let file = files
            .open(&path)
            .map_err(ArchiveError::file("open", &path))?;
        let mut reader = WarcReader::new(file, &path, 0)?;
        let mut len = 0;
        while let Some(found) = reader.next_found()? {
            if matches!(found, Found::Record(_)) {
                len = reader.position();
            }
        }
        if len > 0 {
            return Ok(Some(Committed {
                file: name.file(),
                len,
            }));
        }
    }
    Ok(None)
}
