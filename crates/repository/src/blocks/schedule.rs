//! URLs of a host that were chosen and not handed out yet, in order. Between two windows of a host they
//! lie in files that nothing names and that go with the process: pieces, each with a checksum behind
//! it. So a host costs the same memory however many of its URLs were chosen.
//!
//! ```text
//! layer   what one look chose: sources, each in order      and which of it is outdated
//! layer   what was folded in since, of the same places     …
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use teia_base::Step;
use xxhash_rust::xxh3::xxh3_64;

use super::block::Disk;
use super::error::{Flaw, StoreError};
use super::key::{Key, OwnedKey, host_hash, write_key};
use super::page::Cells;
use super::pending::Bounds;
use super::row::SEQUENCE;
use super::taken::Taken;
use super::window::{Place, mix};

/// Read at once.
const PIECE: usize = 256;
/// So few stay in memory between two windows.
const AT_REST: usize = 16;
/// So many are sorted at once.
const SORTED: usize = 16 << 10;
/// With more layers than this the host is looked at anew.
const MOST_LAYERS: usize = 32;
/// And with more blocks that were made anew since.
const MOST_REMADE: usize = 256;

/// A URL that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) place: Place,
    pub(crate) url: String,
    pub(crate) cells: Cells,
    pub(crate) rare: Vec<u8>,
}

/// What was chosen of a host.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    kind: u8,
    /// What had been folded in when it was last brought up to date.
    pub(crate) version: u64,
    /// Where each block of the host began, and its oldest run: what is chosen of it holds for as long as that
    /// stays.
    pub(crate) bases: Vec<(OwnedKey, u64)>,
    /// The runs that were looked at.
    pub(crate) seen: Vec<u64>,
    layers: Vec<Layer>,
    /// By the sequence number: rows that were replaced after each layer was chosen and before the next one. One that is taken
    /// for another waits for the next look.
    replaced: Vec<Taken>,
    /// The last place that was looked at: what comes before it is chosen already.
    pub(crate) last: Option<Place>,
    /// Whether nothing of the host was left out.
    pub(crate) is_last: bool,
    /// Of the URLs that were due then.
    pub(crate) now: u32,
    /// When another URL of the host becomes due.
    pub(crate) until: u32,
    /// The newest file of waiting news that was looked at for URLs of the host.
    pub(crate) waited: u64,
    /// Rows of the host that the look went through.
    pub(crate) rows: u64,
    /// What was told to be outdated.
    outdated: u64,
    /// What had been folded in when a URL was last passed over by four bytes of a hash: it may have been another one.
    pub(crate) passed_over: Option<u64>,
}

/// What was chosen at one time.
#[derive(Debug, Default)]
struct Layer {
    sources: Vec<Source>,
    /// Where in the list of what was replaced begins what came after it.
    born: usize,
    /// Ranges of URLs that were chosen anew since.
    remade: Vec<Bounds>,
}

/// Candidates in order, the first of them in memory.
#[derive(Debug, Default)]
struct Source {
    next: VecDeque<Candidate>,
    file: Option<Spill>,
}

#[derive(Debug)]
struct Spill {
    path: PathBuf,
    /// What was not handed out, in order.
    pieces: VecDeque<Piece>,
    /// Where what is in memory comes from.
    current: Option<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    offset: u64,
    len: usize,
    /// So many of it were handed out.
    taken: usize,
}

/// Takes candidates as they come, and puts them in order with a bounded number of them in memory.
#[derive(Debug, Default)]
pub(crate) struct Sorting {
    some: Vec<Candidate>,
    sources: Vec<Source>,
}

impl Sorting {
    pub(crate) fn push(&mut self, candidate: Candidate, disk: &Disk) -> Result<(), StoreError> {
        self.some.push(candidate);
        if self.some.len() < SORTED {
            return Ok(());
        }
        self.some.sort_unstable_by_key(|candidate| candidate.place);
        let spill = Spill::write(disk, &self.some)?;
        self.some.clear();
        self.sources.push(Source {
            next: VecDeque::new(),
            file: Some(spill),
        });
        Ok(())
    }

    /// Leaves nothing behind.
    pub(crate) fn remove(&mut self, disk: &Disk) {
        for source in self.sources.drain(..) {
            source.remove(disk);
        }
    }

    fn finish(mut self) -> Vec<Source> {
        self.some.sort_unstable_by_key(|candidate| candidate.place);
        if !self.some.is_empty() {
            self.sources.push(Source {
                next: self.some.into(),
                file: None,
            });
        }
        self.sources
    }
}

impl Schedule {
    /// Keeps what was chosen in an order of this kind.
    pub(crate) fn new(kind: u8, chosen: Sorting) -> Self {
        let mut schedule = Self {
            kind,
            is_last: true,
            until: u32::MAX,
            ..Self::default()
        };
        schedule.add_layer(chosen.finish());
        schedule
    }

    fn add_layer(&mut self, sources: Vec<Source>) {
        self.layers.push(Layer {
            sources,
            born: self.replaced.len(),
            remade: Vec::new(),
        });
        self.replaced.push(Taken::default());
    }

    /// Leaves the memory to others until the next window.
    pub(crate) fn rest(&mut self, disk: &Disk) -> Result<(), StoreError> {
        let sources = self.layers.iter_mut().flat_map(|layer| &mut layer.sources);
        for source in sources {
            source.rest(disk)?;
        }
        Ok(())
    }

    /// How many are in memory.
    pub(crate) fn in_memory(&self) -> usize {
        let sources = self.layers.iter().flat_map(|layer| &layer.sources);
        sources.map(|source| source.next.len()).sum()
    }

    /// About as much memory as it takes.
    pub(crate) fn bytes(&self) -> usize {
        let bases = self.bases.iter().map(|(key, _)| key.bytes() + 8);
        let layers = self.layers.iter().map(Layer::bytes);
        let replaced = self.replaced.iter().map(|it| size_of_val(it) + it.bytes());
        let rest = size_of::<Self>() + self.seen.capacity() * 8;
        bases.chain(layers).chain(replaced).sum::<usize>() + rest
    }

    /// Whether it was made in an order of this kind.
    pub(crate) fn is_of(&self, kind: u8) -> bool {
        self.kind == kind
    }

    /// Goes on with other candidates, when its own are spent.
    pub(crate) fn go_on(&mut self, chosen: Sorting, waited: u64) {
        self.waited = waited;
        let sources = chosen.finish();
        if !sources.is_empty() {
            self.add_layer(sources);
        }
    }

    /// A row of this URL is newer than what was chosen of it.
    pub(crate) fn outdate(&mut self, sequence: u64) {
        if let Some(replaced) = self.replaced.last_mut() {
            replaced.insert(mix(sequence));
        }
        self.outdated += 1;
    }

    /// Takes in what was folded in since, after all that it outdates was told. Says whether this is still
    /// worth keeping: to remember what is outdated costs memory, a new look costs reading.
    pub(crate) fn add(&mut self, chosen: Sorting) -> bool {
        let sources = chosen.finish();
        if !sources.is_empty() {
            self.add_layer(sources);
        }
        let remade = self.layers.iter().map(|layer| layer.remade.len()).max();
        self.replaced.len() <= MOST_LAYERS
            && remade.is_none_or(|remade| remade <= MOST_REMADE)
            && self.outdated <= (self.rows / 16).max(1 << 16)
    }

    /// All of this range is chosen anew.
    pub(crate) fn remake(&mut self, range: &Bounds) {
        for layer in &mut self.layers {
            layer.remade.push(range.clone());
        }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.layers.iter().all(|layer| layer.sources.is_empty())
    }

    /// Whether nothing of the host was ever chosen, and nothing will be due.
    pub(crate) fn says_nothing(&self) -> bool {
        self.is_spent() && self.is_last && self.last.is_none() && self.until == u32::MAX
    }

    /// What remains of one that is spent.
    pub(crate) fn emptied(mut self, disk: &Disk) -> Self {
        for layer in self.layers.drain(..) {
            for source in layer.sources {
                source.remove(disk);
            }
        }
        self
    }

    /// The place of the next one.
    pub(crate) fn peek(&mut self, disk: &Disk) -> Result<Option<Place>, StoreError> {
        let first = self.first(disk)?;
        Ok(first.map(|(place, ..)| place))
    }

    /// The next one; where it was replaced since, nothing comes in its place.
    pub(crate) fn pop(&mut self, disk: &Disk) -> Result<Option<Candidate>, StoreError> {
        let Some((_, layer, source)) = self.first(disk)? else {
            return Ok(None);
        };
        let layer = &mut self.layers[layer];
        let popped = layer.sources[source].pop();
        let replaced = &self.replaced[layer.born..];
        let popped = popped.filter(|candidate| layer.holds(candidate, replaced, disk.config.key));
        if popped.is_none() {
            self.passed_over = Some(self.version);
        }
        Ok(popped)
    }

    /// Where the next one lies. What is spent goes.
    fn first(&mut self, disk: &Disk) -> Result<Option<(Place, usize, usize)>, StoreError> {
        self.layers.retain(|layer| !layer.sources.is_empty());
        let mut first: Option<(Place, usize, usize)> = None;
        for (number, layer) in self.layers.iter_mut().enumerate() {
            let mut at = 0;
            while at < layer.sources.len() {
                match layer.sources[at].peek(disk)? {
                    Some(place) => {
                        if first.is_none_or(|(least, ..)| place < least) {
                            first = Some((place, number, at));
                        }
                        at += 1;
                    }
                    None => drop(layer.sources.remove(at)),
                }
            }
        }
        Ok(first)
    }
}

impl Layer {
    fn bytes(&self) -> usize {
        let sources = self.sources.iter().map(Source::bytes);
        let remade = self.remade.iter().map(Bounds::bytes);
        sources.chain(remade).sum::<usize>() + size_of::<Self>()
    }

    /// Whether nothing newer is known of it.
    fn holds(&self, candidate: &Candidate, replaced: &[Taken], key: u64) -> bool {
        let sequence = mix(candidate.cells[SEQUENCE]);
        if replaced.iter().any(|replaced| replaced.contains(sequence)) {
            return false;
        }
        if self.remade.is_empty() {
            return true;
        }
        let mut text = Vec::new();
        let host_len = write_key(&candidate.url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let hash = host_hash(key, host);
        let key = Key { hash, host, rest };
        !self.remade.iter().any(|range| range.contain(&key))
    }
}

impl Source {
    fn bytes(&self) -> usize {
        let texts = self
            .next
            .iter()
            .map(|it| it.url.capacity() + it.rare.capacity());
        let texts: usize = texts.sum();
        let file = self.file.as_ref().map_or(0, |file| {
            file.path.as_os_str().len() + file.pieces.capacity() * size_of::<Piece>()
        });
        size_of::<Self>() + self.next.capacity() * size_of::<Candidate>() + texts + file
    }

    fn peek(&mut self, disk: &Disk) -> Result<Option<Place>, StoreError> {
        while self.next.is_empty()
            && let Some(file) = &mut self.file
        {
            match file.read(disk)? {
                Some(piece) => self.next = piece,
                None => {
                    disk.remove(&file.path);
                    self.file = None;
                }
            }
        }
        Ok(self.next.front().map(|candidate| candidate.place))
    }

    /// The one that was just looked at.
    fn pop(&mut self) -> Option<Candidate> {
        let popped = self.next.pop_front();
        let file = self.file.as_mut();
        if let Some(current) = file.and_then(|file| file.current.as_mut()) {
            current.taken += usize::from(popped.is_some());
        }
        popped
    }

    fn rest(&mut self, disk: &Disk) -> Result<(), StoreError> {
        if self.next.len() <= AT_REST {
            return Ok(());
        }
        match &mut self.file {
            // They lie there still.
            Some(file) => match file.current.take() {
                Some(piece) => file.pieces.push_front(piece),
                None => return Ok(()),
            },
            None => self.file = Some(Spill::write(disk, self.next.make_contiguous())?),
        }
        self.next = VecDeque::new();
        Ok(())
    }

    fn remove(self, disk: &Disk) {
        if let Some(file) = self.file {
            disk.remove(&file.path);
        }
    }
}

impl Spill {
    fn write(disk: &Disk, candidates: &[Candidate]) -> Result<Self, StoreError> {
        let _step = Step::begin("window");
        let name = format!("window-{:010}", disk.new_id());
        let path = disk.config.prefix.join(name);
        let mut file = disk
            .files
            .create(&path)
            .map_err(StoreError::disk("create", &path))?;
        let mut pieces = VecDeque::new();
        for piece in candidates.chunks(PIECE) {
            let mut bytes = postcard::to_stdvec(piece)
                .map_err(std::io::Error::other)
                .map_err(StoreError::disk("encode", &path))?;
            let sum = xxh3_64(&bytes);
            bytes.extend_from_slice(&sum.to_le_bytes());
            pieces.push_back(Piece {
                offset: file.len(),
                len: bytes.len(),
                taken: 0,
            });
            file.append(&bytes)
                .map_err(StoreError::disk("write", &path))?;
        }
        Ok(Self {
            path,
            pieces,
            current: None,
        })
    }

    /// The next piece, without what was handed out of it. The file is open only meanwhile: there may be
    /// thousands of them.
    fn read(&mut self, disk: &Disk) -> Result<Option<VecDeque<Candidate>>, StoreError> {
        self.current = self.pieces.pop_front();
        let Some(piece) = self.current else {
            return Ok(None);
        };
        let file = disk.files.open(&self.path);
        let file = file.map_err(StoreError::disk("open", &self.path))?;
        let mut bytes = vec![0; piece.len];
        let damaged = || Flaw("a window does not read").at(&self.path, piece.offset);
        match file.read_exact_at(piece.offset, &mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(damaged());
            }
            read => read.map_err(StoreError::disk("read", &self.path))?,
        }
        let (stored, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if xxh3_64(stored).to_le_bytes() != *sum {
            return Err(damaged());
        }
        let mut candidates: VecDeque<Candidate> =
            postcard::from_bytes(stored).map_err(|_| damaged())?;
        candidates.drain(..piece.taken.min(candidates.len()));
        Ok(Some(candidates))
    }
}
