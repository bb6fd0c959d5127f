//! Bodies that made an extractor panic, kept for whoever mends it: `NAME/crashes/HASH`, a few small files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

/// More tell nothing new, and nobody is to fill the disk with them.
const MOST_FILES: usize = 20;
const MOST_BYTES: usize = 1 << 20;

/// The store of such bodies.
#[derive(Debug)]
pub(crate) struct Crashes {
    files: Arc<dyn Files>,
    directory: PathBuf,
    /// One at a time.
    writing: Mutex<()>,
}

impl Crashes {
    pub(crate) fn new(files: Arc<dyn Files>, directory: PathBuf) -> Self {
        Self {
            files,
            directory,
            writing: Mutex::new(()),
        }
    }

    /// Keeps a body, unless it is there, or there are enough. The crawl goes on whatever comes of it.
    pub(crate) fn keep(&self, url: &str, body: &[u8]) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let body = &body[..body.len().min(MOST_BYTES)];
        let path = self.directory.join(format!("{:016x}", xxh3_64(body)));
        let kept = self.files.list(&self.directory).unwrap_or_default();
        if kept.len() >= MOST_FILES || self.files.exists(&path) {
            return;
        }
        let written = self
            .files
            .create_dir(&self.directory)
            .and_then(|()| self.files.replace(&path, body));
        match written {
            Ok(()) => {
                tracing::error!(url, file = %path.display(), "reading a page panicked; its body is kept");
            }
            Err(error) => tracing::error!(url, %error, "reading a page panicked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::SimulatedDisk;

    #[test]
    fn a_few_small_files_are_kept_each_once() {
        let disk = SimulatedDisk::new();
        let files: Arc<dyn Files> = Arc::new(disk);
        files.create_dir("a".as_ref()).unwrap();
        let crashes = Crashes::new(Arc::clone(&files), "a/crashes".into());
        for number in 0..100_u32 {
            for _ in 0..2 {
                crashes.keep("http://a.test/", &number.to_le_bytes());
            }
        }
        crashes.keep("http://a.test/", &vec![7; 2 * MOST_BYTES]);
        let kept = files.list("a/crashes".as_ref()).unwrap();
        assert_eq!(kept.len(), MOST_FILES);
        let again = Crashes::new(Arc::clone(&files), "a/more".into());
        again.keep("http://a.test/", &vec![7; 2 * MOST_BYTES]);
        let kept = files.list("a/more".as_ref()).unwrap();
        let path = std::path::Path::new("a/more").join(&kept[0]);
        assert_eq!(files.read(&path).unwrap().len(), MOST_BYTES);
    }
}
