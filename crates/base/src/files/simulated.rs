//! A disk whose power can be cut: what was not synced is kept, dropped, torn or reordered by seed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{AppendFile, Files, ReadFile};

/// A disk in memory. Clones share it. Every handle opened before [`SimulatedDisk::cut_power`]
/// fails afterwards, as the handles of a dead process would.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

/// When the power goes: at the n-th write, sync, create, rename, remove or truncate from now.
#[derive(Clone, Copy, Debug)]
pub struct PowerCut {
    /// Calls that still succeed.
    pub after_calls: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Names as a running process sees them.
    names: BTreeMap<PathBuf, usize>,
    /// Names that survive a power cut for certain.
    durable_names: BTreeMap<PathBuf, usize>,
    /// Directory operations since the last sync of their directory, oldest first.
    pending_names: Vec<NameChange>,
    inodes: Vec<Inode>,
    directories: BTreeSet<PathBuf>,
    epoch: u64,
    calls: u64,
    calls_left: Option<u64>,
    free_bytes: Option<u64>,
    failing_sync: bool,
    failing_dir_sync: bool,
}

#[derive(Debug)]
struct NameChange {
    directories: Vec<PathBuf>,
    changes: Vec<(PathBuf, Option<usize>)>,
}

#[derive(Debug, Default)]
struct Inode {
    content: Vec<u8>,
    /// Length and content that survive a power cut for certain.
    synced: Vec<u8>,
    /// What a failed sync has dropped: it is seen until the power is cut, and no later sync brings it to the disk.
    dropped: Vec<Range<usize>>,
}

impl Inode {
    /// The content as far as it can reach the disk.
    fn writable(&self) -> Vec<u8> {
        let mut bytes = self.content.clone();
        for range in &self.dropped {
            let end = range.end.min(bytes.len());
            bytes[range.start.min(end)..end].fill(0);
        }
        bytes
    }
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on, lets some calls succeed and then fails every one, as after a power cut.
    pub fn plan(&self, cut: PowerCut) {
        self.lock().calls_left = Some(cut.after_calls);
    }

    /// Changing calls made so far, to choose a moment for [`SimulatedDisk::plan`].
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Bytes left on the disk; writes beyond fail as on a full disk.
    pub fn set_free_bytes(&self, free: Option<u64>) {
        self.lock().free_bytes = free;
    }

    /// Makes every sync fail, as a dying disk does. What it should have brought to the disk is dropped, as Linux does: it can still be
    /// read, and a later sync succeeds without it.
    pub fn set_failing_sync(&self, failing: bool) {
        self.lock().failing_sync = failing;
    }

    /// The same for directories only: names that should have come to the disk are dropped, and seen until the power is cut.
    pub fn set_failing_dir_sync(&self, failing: bool) {
        self.lock().failing_dir_sync = failing;
    }

    /// Cuts the power and turns it on again. What had been synced is there; of the rest, the seed
    /// decides what survives.
    pub fn cut_power(&self, seed: u64) {
        let mut state = self.lock();
        let mut random = Random(seed);
        state.epoch += 1;
        state.calls_left = None;
        state.failing_sync = false;
        state.failing_dir_sync = false;
        // Directory operations that were not synced reach the disk one by one or not at all;
        // each alone is atomic, and a file system may write them in any order.
        let mut names = std::mem::take(&mut state.durable_names);
        for pending in std::mem::take(&mut state.pending_names) {
            if random.below(2) == 0 {
                continue;
            }
            for (path, inode) in pending.changes {
                match inode {
                    Some(inode) => names.insert(path, inode),
                    None => names.remove(&path),
                };
            }
        }
        state.names.clone_from(&names);
        state.durable_names = names;
        for inode in &mut state.inodes {
            let survivor = survive(&inode.synced, &inode.writable(), &mut random);
            inode.content.clone_from(&survivor);
            inode.dropped.clear();
            inode.synced = survivor;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

/// What the disk holds of a file after a power cut: the synced part is whole; each further
/// sector was written, or holds zeros, or old noise; and the length may be anything between.
fn survive(synced: &[u8], content: &[u8], random: &mut Random) -> Vec<u8> {
    const SECTOR: usize = 512;
    if content.len() < synced.len() {
        // A truncate that was not synced (ours always are) may be undone.
        return if random.below(2) == 0 {
            synced.to_vec()
        } else {
            content.to_vec()
        };
    }
    let unsynced = content.len() - synced.len();
    let kept = match random.below(4) {
        0 => 0,
        1 => unsynced,
        _ => usize::try_from(random.below(unsynced as u64 + 1)).unwrap_or(unsynced),
    };
    let mut survivor = content[..synced.len() + kept].to_vec();
    let tears = random.below(3) == 0;
    let mut start = synced.len();
    while tears && start < survivor.len() {
        let end = survivor.len().min((start / SECTOR + 1) * SECTOR);
        match random.below(4) {
            0 => survivor[start..end].fill(0),
            1 => survivor[start..end]
                .iter_mut()
                .for_each(|byte| *byte = random.below(256).to_le_bytes()[0]),
            _ => {}
        }
        start = end;
    }
    survivor
}

impl State {
    fn change(&mut self) -> io::Result<()> {
        self.calls += 1;
        match &mut self.calls_left {
            Some(0) => Err(io::Error::other("the power is off")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("no file {}", path.display()),
            )
        })
    }

    fn rename_later(&mut self, directories: Vec<PathBuf>, changes: Vec<(PathBuf, Option<usize>)>) {
        for (path, inode) in &changes {
            match inode {
                Some(inode) => self.names.insert(path.clone(), *inode),
                None => self.names.remove(path),
            };
        }
        self.pending_names.push(NameChange {
            directories,
            changes,
        });
    }
}

fn parent_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

impl Files for SimulatedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut state = self.lock();
        state.change()?;
        if !path
            .parent()
            .is_none_or(|parent| parent == Path::new("") || state.directories.contains(parent))
        {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such directory"));
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.rename_later(vec![parent_of(path)], vec![(path.to_owned(), Some(inode))]);
        Ok(Box::new(SimulatedAppend {
            disk: self.clone(),
            inode,
            epoch: state.epoch,
            len: 0,
        }))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let state = self.lock();
        let inode = state.find(path)?;
        let len = state.inodes[inode].content.len() as u64;
        Ok(Box::new(SimulatedAppend {
            disk: self.clone(),
            inode,
            epoch: state.epoch,
            len,
        }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        let inode = self.lock().find(path)?;
        Ok(Box::new(SimulatedRead {
            disk: self.clone(),
            inode,
        }))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        let inode = state.find(path)?;
        let inode = &mut state.inodes[inode];
        inode
            .content
            .resize(usize::try_from(len).map_err(io::Error::other)?, 0);
        inode.synced = inode.writable();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        let inode = state.find(from)?;
        state.rename_later(
            vec![parent_of(from), parent_of(to)],
            vec![(from.to_owned(), None), (to.to_owned(), Some(inode))],
        );
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        state.find(path)?;
        state.rename_later(vec![parent_of(path)], vec![(path.to_owned(), None)]);
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        for ancestor in path.ancestors() {
            state.directories.insert(ancestor.to_owned());
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.lock();
        Ok(state
            .names
            .keys()
            .filter(|name| parent_of(name) == path)
            .filter_map(|name| name.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        if state.failing_sync || state.failing_dir_sync {
            let is_of = |change: &NameChange| change.directories.iter().any(|it| it == path);
            state.pending_names.retain(|change| !is_of(change));
            return Err(io::Error::other("the disk failed to sync"));
        }
        let pending = std::mem::take(&mut state.pending_names);
        for change in pending {
            if change.directories.iter().any(|directory| directory == path) {
                for (path, inode) in change.changes {
                    match inode {
                        Some(inode) => state.durable_names.insert(path, inode),
                        None => state.durable_names.remove(&path),
                    };
                }
            } else {
                state.pending_names.push(change);
            }
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(self.lock().free_bytes)
    }
}

#[derive(Debug)]
struct SimulatedAppend {
    disk: SimulatedDisk,
    inode: usize,
    epoch: u64,
    len: u64,
}

impl AppendFile for SimulatedAppend {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        if state.epoch != self.epoch {
            return Err(io::Error::other("the power was cut"));
        }
        let alive = state.change();
        if let Some(free) = &mut state.free_bytes {
            if *free < bytes.len() as u64 {
                return Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    "no space left on the disk",
                ));
            }
            *free -= bytes.len() as u64;
        }
        // The write during which the power goes may still reach the disk in part.
        state.inodes[self.inode].content.extend_from_slice(bytes);
        alive?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.lock();
        if state.epoch != self.epoch {
            return Err(io::Error::other("the power was cut"));
        }
        state.change()?;
        let failing = state.failing_sync;
        let inode = &mut state.inodes[self.inode];
        if failing {
            inode.dropped.push(inode.synced.len()..inode.content.len());
            return Err(io::Error::other("the disk failed to sync"));
        }
        inode.synced = inode.writable();
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }
}

#[derive(Debug)]
struct SimulatedRead {
    disk: SimulatedDisk,
    inode: usize,
}

impl ReadFile for SimulatedRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.lock();
        let content = &state.inodes[self.inode].content;
        let start = usize::try_from(offset)
            .map_err(io::Error::other)?
            .min(content.len());
        let read = buffer.len().min(content.len() - start);
        buffer[..read].copy_from_slice(&content[start..start + read]);
        Ok(read)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().inodes[self.inode].content.len() as u64)
    }
}

/// SplitMix64: small, seeded, the same everywhere.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_sync_dropped_is_seen_until_the_power_is_cut_and_no_later_sync_saves_it() {
        let disk = SimulatedDisk::new();
        let mut file = disk.create(Path::new("a")).unwrap();
        file.append(b"synced").unwrap();
        file.sync().unwrap();
        disk.sync_dir(Path::new("")).unwrap();
        file.append(b" dropped").unwrap();
        disk.set_failing_sync(true);
        file.sync().unwrap_err();
        disk.set_failing_sync(false);
        file.append(b" later").unwrap();
        file.sync().unwrap();
        assert_eq!(disk.read(Path::new("a")).unwrap(), b"synced dropped later");
        disk.cut_power(1);
        let content = disk.read(Path::new("a")).unwrap();
        assert_eq!(content, b"synced\0\0\0\0\0\0\0\0 later");
    }

    #[test]
    fn what_is_synced_survives_and_what_is_not_may_not() {
        let mut lost = 0;
        for seed in 0..100 {
            let disk = SimulatedDisk::new();
            let mut file = disk.create(Path::new("a")).unwrap();
            file.append(b"synced").unwrap();
            file.sync().unwrap();
            disk.sync_dir(Path::new("")).unwrap();
            file.append(b" and not").unwrap();
            disk.cut_power(seed);
            assert!(file.append(b"x").is_err(), "handles die with the power");
            let content = disk.read(Path::new("a")).unwrap();
            assert!(content.starts_with(b"synced"));
            lost += usize::from(content != b"synced and not");
        }
        assert!(lost > 20, "{lost}");
    }

    #[test]
    fn a_name_that_was_not_synced_may_vanish() {
        let mut vanished = 0;
        for seed in 0..100 {
            let disk = SimulatedDisk::new();
            let mut file = disk.create(Path::new("a")).unwrap();
            file.append(b"x").unwrap();
            file.sync().unwrap();
            disk.cut_power(seed);
            vanished += usize::from(!disk.exists(Path::new("a")));
        }
        assert!((20..80).contains(&vanished), "{vanished}");
    }

    #[test]
    fn replace_leaves_the_old_or_the_new_file() {
        for seed in 0..300 {
            let disk = SimulatedDisk::new();
            disk.replace(Path::new("m"), b"old").unwrap();
            let calls = disk.calls();
            disk.plan(PowerCut {
                after_calls: seed % 6,
            });
            let replaced = disk.replace(Path::new("m"), b"new").is_ok();
            assert!(disk.calls() > calls);
            disk.cut_power(seed);
            let content = disk.read(Path::new("m")).unwrap();
            assert!(
                content == b"new" || (content == b"old" && !replaced),
                "{content:?}"
            );
        }
    }
}
