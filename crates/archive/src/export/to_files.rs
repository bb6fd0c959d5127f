//! One file per capture, in a tree that is safe to unpack anywhere.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use teia_base::Files;

use super::safe_path::SafePaths;
use super::{Exported, is_damage};
use crate::{ArchiveError, Captures, CdxEntry, StoredCapture};

/// Writes one file for each capture that passes the filter, below `HOST/PATH`, and `files.tsv`,
/// which says which URL and time each file is.
///
/// `content` turns a capture into the bytes to write: its payload as it is, or with the content
/// coding undone, which is the business of whoever calls; nothing leaves the capture out.
pub fn files(
    captures: &Captures,
    filter: &dyn Fn(&CdxEntry) -> bool,
    target: &dyn Files,
    content: &mut dyn FnMut(&StoredCapture) -> io::Result<Option<Vec<u8>>>,
) -> Result<Exported, ArchiveError> {
    let mut exported = Exported::default();
    let mut paths = SafePaths::default();
    let mut directories: HashSet<PathBuf> = HashSet::new();
    let list_path = Path::new("files.tsv");
    let mut list = target.create(list_path).map_err(ArchiveError::Export)?;
    for entry in captures.all()? {
        let entry = entry?;
        if !filter(&entry) {
            continue;
        }
        let stored = match captures.read(&entry) {
            Err(error) if is_damage(&error) => {
                tracing::warn!(url = entry.url, %error, "left out of the export");
                exported.damaged += 1;
                continue;
            }
            result => result?,
        };
        let Some(bytes) = content(&stored).map_err(ArchiveError::Export)? else {
            continue;
        };
        let mime = stored
            .original
            .as_ref()
            .map_or(entry.mime.as_str(), |original| original.mime.as_str());
        let path = paths.path_for(&entry.url, mime);
        if let Some(parent) = path
            .parent()
            .filter(|parent| !directories.contains(*parent))
        {
            target.create_dir(parent).map_err(ArchiveError::Export)?;
            directories.insert(parent.to_owned());
        }
        let mut file = target.create(&path).map_err(ArchiveError::Export)?;
        file.append(&bytes).map_err(ArchiveError::Export)?;
        let line = format!(
            "{}\t{}\t{}\n",
            path.display(),
            entry.timestamp,
            entry.url.escape_debug()
        );
        list.append(line.as_bytes()).map_err(ArchiveError::Export)?;
        exported.captures += 1;
        exported.bytes += bytes.len() as u64;
    }
    list.sync().map_err(ArchiveError::Export)?;
    Ok(exported)
}
