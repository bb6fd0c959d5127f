//! Looks at every byte of the store, and names each place that is not what was written.

use std::path::Path;
use std::time::Duration;

use teia_base::Files;

use super::block::bounds_of;
use super::decoded::DecodedPage;
use super::directory::for_each_host;
use super::error::{Flaw, StoreError};
use super::key::OwnedKey;
use super::manifest::{Manifest, copy_of};
use super::pending::Bounds;
use super::run::RunFile;
use super::store::Store;

/// What was looked at, and what is wrong.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Files.
    pub files: u64,
    /// Pages.
    pub pages: u64,
    /// Rows.
    pub rows: u64,
    /// What is wrong, each with file and offset.
    pub problems: Vec<StoreError>,
}

impl Store {
    /// Checks every checksum, and that every run is in order and within its block.
    pub fn verify(&self) -> VerifyReport {
        let mut report = VerifyReport::default();
        report.problems.extend(self.verify_manifest().err());
        for (at, block) in self.blocks.iter().enumerate() {
            let bounds = bounds_of(&self.blocks, at);
            for run in &block.runs {
                self.verify_run(run, Some(&bounds), &mut report);
            }
        }
        let told = self.news.iter().flat_map(|(_, runs)| runs);
        for run in self.waiting.iter().chain(told) {
            self.verify_run(run, None, &mut report);
        }
        report
    }

    /// What is wrong with the manifest or its copy as they lie there; whoever opens the store puts it right.
    pub fn verify_manifests(files: &dyn Files, prefix: &Path) -> Vec<StoreError> {
        let path = prefix.join("manifest");
        let copy = copy_of(&path);
        if !Manifest::exists(files, &path) {
            return Vec::new();
        }
        let mut problems = Vec::new();
        for (path, is_there) in [(&path, files.exists(&path)), (&copy, files.exists(&copy))] {
            let read = files.read(path).map_err(StoreError::disk("read", path));
            problems.extend(match read {
                Ok(bytes) => Manifest::decode(&bytes, path).err(),
                Err(_) if !is_there => Some(Flaw("the file is gone").at(path, 0)),
                Err(error) => Some(error),
            });
        }
        problems
    }

    /// The manifest and its copy must read, and be the same. A process that collects may be between the
    /// two, each of which is replaced at once: only where both read is it worth another look.
    fn verify_manifest(&self) -> Result<(), StoreError> {
        let files = &*self.disk.files;
        let path = self.disk.config.prefix.join("manifest");
        let copy = copy_of(&path);
        if !files.exists(&path) {
            return Ok(());
        }
        let read = |path: &Path| {
            let bytes = files.read(path).map_err(StoreError::disk("read", path))?;
            Manifest::decode(&bytes, path).map(|_| bytes)
        };
        for look in 0..5 {
            if look > 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            if read(&path)? == read(&copy)? {
                return Ok(());
            }
        }
        Err(Flaw("it is not the same as the manifest").at(copy, 0))
    }

    fn verify_run(&self, run: &RunFile, bounds: Option<&Bounds>, report: &mut VerifyReport) {
        report.files += 1;
        report.problems.extend(run.flaw());
        let problems = report.problems.len();
        let mut page = DecodedPage::default();
        let mut last: Option<OwnedKey> = None;
        let (mut state, mut text) = (Vec::new(), Vec::new());
        let mut rows = 0;
        for number in 0..run.index.len() {
            report.pages += 1;
            let read = run
                .read_state(number, &mut state)
                .and_then(|()| run.read_text(number, &mut text));
            if let Err(error) = read {
                report.problems.push(error);
                continue;
            }
            let mut complain = |flaw| report.problems.push(run.damaged(number, flaw));
            if let Err(flaw) = page.load(self.disk.config.key, &state, &text) {
                complain(flaw);
                continue;
            }
            if page.len() != run.index[number].rows as usize
                || page.len() == 0
                || page.key(0).hash != run.index[number].first_hash
            {
                complain(Flaw("the index does not tell what is in this page"));
            }
            for row in 0..page.len() {
                let key = page.key(row);
                let rises = match row.checked_sub(1) {
                    Some(before) => page.key(before) < key,
                    None => last.as_ref().is_none_or(|last| last.as_key() < key),
                };
                if !rises {
                    complain(Flaw("URLs are out of order"));
                }
                if bounds.is_some_and(|bounds| !bounds.contain(&key)) {
                    complain(Flaw("a URL is in the wrong block"));
                }
                if let Err(flaw) = key.text() {
                    complain(flaw);
                }
            }
            rows += page.len() as u64;
            last = page
                .len()
                .checked_sub(1)
                .map(|at| page.key(at).to_owned_key());
        }
        report.rows += rows;
        if report.problems.len() == problems && rows != run.rows && !run.is_lost {
            let flaw = Flaw("the trailer tells of other rows than the pages have");
            report.problems.push(flaw.at(&run.path, run.bytes));
        }
        if run.flaw().is_some() && run.read_directory().is_err() {
            // The trailer would say where it is.
            return;
        }
        let directory = run.read_directory().and_then(|stored| {
            for_each_host(&stored, |_| {})
                .map_err(|flaw| flaw.at(&run.path, run.directory_offset()))
        });
        report.problems.extend(directory.err());
    }
}
