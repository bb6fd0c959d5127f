//! Checkpoints: the [`Ledger`] and the hosts, saved at a position of the journal, so that a start reads
//! only what came after. Needed where URLs lie on disk; while memory holds them all, a start reads the
//! journal anyway.
//!
//! ```text
//! part-0/state/POSITION   "TEIASTA1", then frames: length u32 | checksum u64 | Piece in postcard
//! part-0/manifest         the same frame, once: which of these files count; replaced last
//! ```
//!
//! A file holds what was told since the one before it; when there are many, they become one. What
//! cannot be read counts as not there: the journal has it all.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use teia_base::{AppendFile, Files, ReadFile};
use teia_repository::SavedHost;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::directory::Layout;
use crate::ledger::{Grown, Head, Ledger};

const HEADER: &[u8; 8] = b"TEIASTA1";
const FRAME_HEAD: usize = 12;
/// No frame is larger.
const MOST_FRAME_BYTES: usize = 1 << 30;
/// Hosts, seeds or bodies in one frame.
const PIECE: usize = 2_000;
/// More files than this become one.
const MOST_FILES: usize = 8;

/// A part of a file.
#[derive(Serialize, Deserialize)]
enum Piece {
    Hosts(Vec<SavedHost>),
    Grown(Grown),
    /// The last one.
    Head(Box<Head>),
    /// In what the run differs from its file.
    Changes(String),
}

/// What is to be saved.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    head: Head,
    changes: String,
    grown: Grown,
    hosts: Vec<SavedHost>,
}

impl Checkpoint {
    /// Takes what the ledger has gathered since the last one.
    pub(crate) fn take(ledger: &mut Ledger, hosts: Vec<SavedHost>) -> Self {
        ledger.unsaved = 0;
        Self {
            head: ledger.head.clone(),
            changes: ledger.changes.clone(),
            grown: std::mem::take(&mut ledger.grown),
            hosts,
        }
    }
}

/// The checkpoints of a collection.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoints {
    files: Arc<dyn Files>,
    part: PathBuf,
    /// Positions of the files that count, oldest first.
    named: Vec<u64>,
}

impl Checkpoints {
    /// Finds what was saved. An error says that there should be a checkpoint, and none can be read.
    pub(crate) fn find(files: &Arc<dyn Files>, layout: &Layout) -> (Self, io::Result<()>) {
        let mut checkpoints = Self {
            files: Arc::clone(files),
            part: layout.part(),
            named: Vec::new(),
        };
        let found = checkpoints.read_manifest().and_then(|named| {
            // Nobody is to hear of half a checkpoint.
            for &position in &named {
                checkpoints.read(position, |_| Ok(()))?;
            }
            Ok(named)
        });
        let found = found.map(|named| checkpoints.named = named);
        (checkpoints, found)
    }

    /// Reads what was saved: the ledger, and what it gives away when it saves itself. Hosts go to
    /// whoever wants them.
    pub(crate) fn load(&self, mut host: impl FnMut(SavedHost)) -> io::Result<(Ledger, Grown)> {
        let mut ledger = Ledger::default();
        let mut past = Grown::default();
        for &position in &self.named {
            self.read(position, |piece| {
                match piece {
                    Piece::Hosts(hosts) => hosts.into_iter().for_each(&mut host),
                    Piece::Grown(grown) => join(&mut past, grown),
                    Piece::Head(head) => ledger.head = *head,
                    Piece::Changes(changes) => ledger.changes = changes,
                }
                Ok(())
            })?;
        }
        for seed in std::mem::take(&mut past.seeds) {
            ledger.know_seed(&seed);
        }
        Ok((ledger, past))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Saves a checkpoint: when this returns, a start begins there. Not to be called again after an
    /// error: what was to be saved is lost then, and the older checkpoint counts.
    pub(crate) fn save(&mut self, checkpoint: Checkpoint, most_bodies: usize) -> io::Result<()> {
        let position = checkpoint.head.position;
        if self.named.last() == Some(&position) {
            return Ok(());
        }
        self.files.create_dir(&self.folder())?;
        let path = self.path(position);
        let mut file = Frames::create(&*self.files, &path)?;
        let is_full = self.named.len() >= MOST_FILES;
        if is_full {
            self.merge(&mut file, &checkpoint, most_bodies)?;
        } else {
            file.grown(checkpoint.grown)?;
            file.hosts(checkpoint.hosts.into_iter())?;
        }
        file.piece(&Piece::Changes(checkpoint.changes))?;
        file.piece(&Piece::Head(Box::new(checkpoint.head)))?;
        file.file.sync()?;
        self.files.sync_dir(&self.folder())?;
        let mut named = self.named.clone();
        if is_full {
            named.clear();
        }
        named.push(position);
        self.write_manifest(&named)?;
        self.named = named;
        self.remove_unnamed()
    }

    /// Everything of the older files that still counts, and what is new.
    fn merge(
        &self,
        file: &mut Frames,
        checkpoint: &Checkpoint,
        most_bodies: usize,
    ) -> io::Result<()> {
        let mut grown = Grown::default();
        for &position in &self.named {
            self.read(position, |piece| {
                if let Piece::Grown(more) = piece {
                    join(&mut grown, more);
                }
                Ok(())
            })?;
        }
        join(&mut grown, checkpoint.grown.clone());
        let too_many = grown.bodies.len().saturating_sub(most_bodies);
        grown.bodies.drain(..too_many);
        file.grown(grown)?;
        // Newest first: what an older file says of the same host is outdated.
        let mut met: HashSet<Box<str>> = HashSet::new();
        met.extend(checkpoint.hosts.iter().map(|host| host.name.clone()));
        file.hosts(checkpoint.hosts.iter().cloned())?;
        for &position in self.named.iter().rev() {
            self.read(position, |piece| match piece {
                Piece::Hosts(hosts) => file.hosts(
                    hosts
                        .into_iter()
                        .filter(|host| met.insert(host.name.clone())),
                ),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Removes files that count no more, and what a crash left.
    pub(crate) fn remove_unnamed(&self) -> io::Result<()> {
        for name in self.files.list(&self.folder())? {
            if !self.named.iter().any(|&position| name_of(position) == name) {
                self.files.remove(&self.folder().join(name))?;
            }
        }
        Ok(())
    }

    fn read(&self, position: u64, mut each: impl FnMut(Piece) -> io::Result<()>) -> io::Result<()> {
        let path = self.path(position);
        let file = self.files.open(&path).map_err(|error| at(&path, &error))?;
        let mut offset = HEADER.len() as u64;
        let mut is_whole = false;
        let len = file.len()?;
        check_header(&*file, &path)?;
        while offset < len {
            let (bytes, end) = read_frame(&*file, &path, offset)?;
            let piece = postcard::from_bytes(&bytes).map_err(|_| damaged(&path, offset))?;
            // The file of another position is whole, and not what is wanted.
            is_whole = matches!(&piece, Piece::Head(head) if head.position == position);
            each(piece)?;
            offset = end;
        }
        if is_whole {
            return Ok(());
        }
        Err(damaged(&path, len))
    }

    fn read_manifest(&self) -> io::Result<Vec<u64>> {
        let path = self.part.join("manifest");
        if !self.files.exists(&path) {
            return Ok(Vec::new());
        }
        let file = self.files.open(&path)?;
        check_header(&*file, &path)?;
        let (bytes, end) = read_frame(&*file, &path, HEADER.len() as u64)?;
        if end != file.len()? {
            return Err(damaged(&path, end));
        }
        postcard::from_bytes(&bytes).map_err(|_| damaged(&path, 0))
    }

    fn write_manifest(&self, named: &[u64]) -> io::Result<()> {
        let mut bytes = HEADER.to_vec();
        let payload = postcard::to_stdvec(named).map_err(io::Error::other)?;
        put_frame(&payload, HEADER.len() as u64, &mut bytes)?;
        self.files.replace(&self.part.join("manifest"), &bytes)
    }

    fn folder(&self) -> PathBuf {
        self.part.join("state")
    }

    fn path(&self, position: u64) -> PathBuf {
        self.folder().join(name_of(position))
    }
}

/// Forgets what was saved, so that the next start reads the whole journal.
pub(crate) fn forget_checkpoints(files: &dyn Files, layout: &Layout) -> io::Result<()> {
    let manifest = layout.part().join("manifest");
    if files.exists(&manifest) {
        files.remove(&manifest)?;
        files.sync_dir(&layout.part())?;
    }
    let folder = layout.part().join("state");
    for name in files.list(&folder)? {
        files.remove(&folder.join(name))?;
    }
    Ok(())
}

fn name_of(position: u64) -> String {
    format!("{position:020}")
}

fn join(grown: &mut Grown, more: Grown) {
    grown.seeds.extend(more.seeds);
    grown.given.extend(more.given);
    grown.runs.extend(more.runs);
    grown.bodies.extend(more.bodies);
}

/// A file that is being written.
struct Frames {
    file: Box<dyn AppendFile>,
    bytes: Vec<u8>,
}

impl Frames {
    fn create(files: &dyn Files, path: &Path) -> io::Result<Self> {
        let mut file = files.create(path)?;
        file.append(HEADER)?;
        Ok(Self {
            file,
            bytes: Vec::new(),
        })
    }

    fn hosts(&mut self, mut hosts: impl Iterator<Item = SavedHost>) -> io::Result<()> {
        loop {
            let some: Vec<SavedHost> = hosts.by_ref().take(PIECE).collect();
            if some.is_empty() {
                return Ok(());
            }
            self.piece(&Piece::Hosts(some))?;
        }
    }

    /// In pieces: a list of seeds may be as long as a person likes.
    fn grown(&mut self, grown: Grown) -> io::Result<()> {
        let Grown {
            seeds,
            given,
            runs,
            bodies,
        } = grown;
        let (mut seeds, mut given) = (seeds.into_iter(), given.into_iter());
        let (mut runs, mut bodies) = (runs.into_iter(), bodies.into_iter());
        loop {
            let some = Grown {
                seeds: seeds.by_ref().take(PIECE).collect(),
                given: given.by_ref().take(PIECE).collect(),
                runs: runs.by_ref().take(1).collect(),
                bodies: bodies.by_ref().take(PIECE).collect(),
            };
            let is_empty = some.seeds.is_empty()
                && some.given.is_empty()
                && some.runs.is_empty()
                && some.bodies.is_empty();
            if is_empty {
                return Ok(());
            }
            self.piece(&Piece::Grown(some))?;
        }
    }

    fn piece(&mut self, piece: &Piece) -> io::Result<()> {
        self.bytes.clear();
        let payload = postcard::to_stdvec(piece).map_err(io::Error::other)?;
        put_frame(&payload, self.file.len(), &mut self.bytes)?;
        self.file.append(&self.bytes)
    }
}

/// The checksum depends on the place: a frame that was moved is none.
fn put_frame(payload: &[u8], offset: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let len = u32::try_from(payload.len()).ok();
    let len = len.filter(|&len| len as usize <= MOST_FRAME_BYTES);
    let len = len.ok_or_else(|| io::Error::other("a piece of a checkpoint is too large"))?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&xxh3_64_with_seed(payload, offset).to_le_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

fn read_frame(file: &dyn ReadFile, path: &Path, offset: u64) -> io::Result<(Vec<u8>, u64)> {
    let bad = |_| damaged(path, offset);
    let mut head = [0; FRAME_HEAD];
    file.read_exact_at(offset, &mut head).map_err(bad)?;
    let (len, sum) = head.split_at(4);
    let len = u32::from_le_bytes(len.try_into().expect("four bytes"));
    let sum = u64::from_le_bytes(sum.try_into().expect("eight bytes"));
    let start = offset + FRAME_HEAD as u64;
    let end = start + u64::from(len);
    if end > file.len()? {
        return Err(damaged(path, offset));
    }
    let mut payload = vec![0; len as usize];
    file.read_exact_at(start, &mut payload).map_err(bad)?;
    if xxh3_64_with_seed(&payload, offset) != sum {
        return Err(damaged(path, offset));
    }
    Ok((payload, end))
}

fn check_header(file: &dyn ReadFile, path: &Path) -> io::Result<()> {
    let mut header = [0; HEADER.len()];
    let read = file.read_exact_at(0, &mut header);
    if read.is_err() || header != *HEADER {
        return Err(damaged(path, 0));
    }
    Ok(())
}

fn damaged(path: &Path, offset: u64) -> io::Error {
    let text = format!("{} is damaged at byte {offset}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::journal::{Attempt, Commit, Entry, LinkVerdict, Record, RunStarted, SeedRecord};
    use teia_base::{NormalForm, Outcome, PowerCut, SimulatedDisk, Timestamp};

    fn layout() -> Layout {
        Layout::new("default").unwrap()
    }

    /// Entry after entry, run after run.
    fn entry(sequence: u64) -> Entry {
        let url = |text: &str| NormalForm::default().parse(text).unwrap();
        let page = url(&format!("http://h{}.test/{sequence}", sequence % 5));
        let record = if sequence % 10 == 1 {
            Record::RunStarted(RunStarted {
                options: format!("options {sequence}"),
                seeds: vec![SeedRecord {
                    url: url(&format!("http://seed{sequence}.test/")),
                    fallback_http: true,
                    verdict: LinkVerdict::New,
                }],
                version: String::new(),
            })
        } else {
            let at = Timestamp::from_micros(i64::try_from(sequence).unwrap() * 1_000_000);
            let mut attempt = Attempt::new(page, at, Outcome::http(200));
            attempt.answered = true;
            attempt.payload_sha1 = Some([u8::try_from(sequence).unwrap(); 20]);
            attempt.times.body = std::time::Duration::from_millis(3);
            Record::Commit(Commit {
                attempts: vec![attempt],
                ..Commit::default()
            })
        };
        Entry {
            sequence,
            wall: Timestamp::from_micros(7),
            run: 1 + u32::try_from(sequence / 10).unwrap(),
            record,
        }
    }

    fn host(number: u64, fetched: u64) -> SavedHost {
        SavedHost {
            name: format!("h{number}.test").into(),
            fetched: u32::try_from(fetched).unwrap(),
            ..SavedHost::default()
        }
    }

    /// Everything that is saved, in comparable form.
    fn shown(checkpoints: &Checkpoints) -> String {
        let mut hosts = std::collections::BTreeMap::new();
        let (ledger, past) = checkpoints
            .load(|host| _ = hosts.insert(host.name.clone(), host))
            .unwrap();
        assert!(ledger.grown.given.is_empty() && ledger.grown.runs.is_empty());
        format!("{:?} {:?} {past:?} {hosts:?}", ledger.head, ledger.seeds)
    }

    fn saved(files: &Arc<dyn Files>, until: u64, every: u64, most_bodies: usize) -> Checkpoints {
        let (mut checkpoints, found) = Checkpoints::find(files, &layout());
        found.unwrap();
        let mut ledger = Ledger::default();
        ledger.most_bodies = 1000;
        for sequence in 1..=until {
            ledger.apply(&entry(sequence), sequence);
            if sequence % every == 0 {
                let hosts = vec![host(sequence % 7, sequence), host(100 + sequence, 1)];
                let checkpoint = Checkpoint::take(&mut ledger, hosts);
                checkpoints.save(checkpoint, most_bodies).unwrap();
            }
        }
        checkpoints
    }

    fn disk() -> Arc<dyn Files> {
        Arc::new(SimulatedDisk::new())
    }

    #[test]
    fn many_small_checkpoints_hold_what_one_large_one_does() {
        let (files, other) = (disk(), disk());
        let many = saved(&files, 60, 2, 1000);
        assert!(many.named.len() <= MOST_FILES, "{:?}", many.named);
        let present = files.list(&many.folder()).unwrap().len();
        assert_eq!(present, many.named.len());
        let (again, found) = Checkpoints::find(&files, &layout());
        found.unwrap();
        assert_eq!(shown(&again), shown(&many));
        // The same entries and the same hosts, told at once.
        let mut ledger = Ledger::default();
        ledger.most_bodies = 1000;
        (1..=60).for_each(|sequence| ledger.apply(&entry(sequence), sequence));
        let hosts = (2..=60)
            .step_by(2)
            .flat_map(|sequence| [host(sequence % 7, sequence), host(100 + sequence, 1)]);
        let mut one = Checkpoints::find(&other, &layout()).0;
        let checkpoint = Checkpoint::take(&mut ledger, hosts.collect());
        one.save(checkpoint, 1000).unwrap();
        assert_eq!(shown(&one), shown(&many));
    }

    #[test]
    fn of_many_bodies_the_newest_are_kept() {
        let files = disk();
        let checkpoints = saved(&files, 200, 2, 30);
        let (_, past) = checkpoints.load(drop).unwrap();
        assert!(past.bodies.len() >= 30 && past.bodies.len() < 60);
        assert_eq!(past.bodies.back().unwrap().0, [200; 20]);
    }

    #[test]
    fn damage_anywhere_is_found_and_named() {
        let files = disk();
        let checkpoints = saved(&files, 8, 4, 10);
        let mut paths = vec![checkpoints.part.join("manifest")];
        paths.extend(checkpoints.named.iter().map(|&at| checkpoints.path(at)));
        for path in paths {
            let good = files.read(&path).unwrap();
            let flipped = |at: usize| {
                let mut bytes = good.clone();
                bytes[at] ^= 0x20;
                bytes
            };
            let cut = |at: usize| good[..at].to_vec();
            let bad = (0..good.len()).flat_map(|at| [flipped(at), cut(at)]);
            for bytes in bad {
                let mut file = files.create(&path).unwrap();
                file.append(&bytes).unwrap();
                let error = Checkpoints::find(&files, &layout()).1.unwrap_err();
                assert!(error.to_string().contains("damaged at byte"), "{error}");
            }
            let mut file = files.create(&path).unwrap();
            file.append(&good).unwrap();
            Checkpoints::find(&files, &layout()).1.unwrap();
        }
    }

    #[test]
    fn a_file_in_the_place_of_another_is_found_and_named() {
        let files = disk();
        let checkpoints = saved(&files, 16, 4, 10);
        let paths: Vec<PathBuf> = checkpoints
            .named
            .iter()
            .map(|&at| checkpoints.path(at))
            .collect();
        let (first, second) = (
            files.read(&paths[0]).unwrap(),
            files.read(&paths[1]).unwrap(),
        );
        for (path, bytes) in [(&paths[0], second), (&paths[1], first)] {
            let mut file = files.create(path).unwrap();
            file.append(&bytes).unwrap();
        }
        let error = Checkpoints::find(&files, &layout()).1.unwrap_err();
        assert!(error.to_string().contains("damaged at byte"), "{error}");
    }

    #[test]
    fn a_power_cut_leaves_the_old_one_or_the_new_one() {
        let (mut old, mut new) = (0, 0);
        for seed in 0..300 {
            let disk = SimulatedDisk::new();
            let files: Arc<dyn Files> = Arc::new(disk.clone());
            let checkpoints = saved(&files, 16, 2, 10);
            let before = shown(&checkpoints);
            let mut ledger = Ledger::default();
            ledger.head.position = 16;
            ledger.apply(&entry(17), 17);
            let calls = seed % 40;
            disk.plan(PowerCut { after_calls: calls });
            let checkpoint = Checkpoint::take(&mut ledger, vec![host(1, 99)]);
            let saved = checkpoints.clone().save(checkpoint, 10);
            disk.cut_power(seed);
            let (found, whole) = Checkpoints::find(&files, &layout());
            whole.unwrap();
            let is_new = found.named.last() == Some(&17);
            assert!(is_new || saved.is_err(), "it was saved, and is not there");
            if is_new {
                new += 1;
            } else {
                assert_eq!(shown(&found), before);
                old += 1;
            }
        }
        assert!(old > 20 && new > 20, "{old} {new}");
    }
}
