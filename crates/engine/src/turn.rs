//! One writer at a time of the small files that are read, changed and written whole: collection files, the
//! list of removals, the list of runs that a server began.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use teia_base::Files;

use crate::EngineError;

/// The turn to change such a file, over threads and processes; it ends when this is dropped. Whoever has one
/// must not take another.
#[derive(Debug)]
pub struct Turn {
    _folder: Option<File>,
}

impl Turn {
    /// Waits for the turn. Others have it for a moment only. Files that lie on no disk have one writer anyway.
    pub fn take(files: &dyn Files) -> Result<Self, EngineError> {
        let Some(root) = files.on_disk(Path::new("")) else {
            return Ok(Self { _folder: None });
        };
        let take = || -> io::Result<File> {
            let folder = File::open(&root)?;
            flock(&folder, FlockOperation::LockExclusive)?;
            Ok(folder)
        };
        let folder = take().map_err(EngineError::disk("write in", &root))?;
        Ok(Self {
            _folder: Some(folder),
        })
    }
}
