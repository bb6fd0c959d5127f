//! What was met since the last fold, in memory: found by text, dealt out by host when it is folded.

use hashbrown::{HashMap, HashTable};

use super::delta::{DECIDED, Delta, Event};
use super::key::Key;

/// Hashes are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain(u64);

impl std::hash::Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// How maps keyed by a hash are hashed.
pub(crate) type ByHash = std::hash::BuildHasherDefault<Plain>;

/// What a URL and its news usually take, generously.
const BYTES_OF_A_URL: usize = 256;

/// News of URLs since the last fold.
#[derive(Debug, Default)]
pub(crate) struct Front {
    entries: Vec<Entry>,
    texts: Vec<u8>,
    events: Vec<Vec<u8>>,
    event_bytes: usize,
    /// Places in the list of entries, with half of each URL's hash.
    index: HashTable<(u32, u32)>,
    hosts: HashMap<u64, u32, ByHash>,
    /// The most URLs that it held before: the room of so many is in memory, whether it is used or not.
    most: usize,
}

/// News of one URL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) url_hash: u64,
    pub(crate) host_hash: u64,
    at: u32,
    host_len: u32,
    rest_len: u32,
    /// Place in the list of events, plus one.
    events: u32,
    /// The entry before it of the same host hash, plus one.
    previous: u32,
    pub(crate) delta: Delta,
}

impl Front {
    /// An empty one with room for as much as another one held, or for so many URLs.
    pub(crate) fn like(other: &Self, most: usize) -> Self {
        let urls = other.entries.len().min(most);
        let texts = other.texts.len() / other.entries.len().max(1) * urls;
        Self {
            entries: Vec::with_capacity(urls + urls / 16),
            texts: Vec::with_capacity(texts + texts / 16),
            events: Vec::new(),
            event_bytes: 0,
            index: HashTable::with_capacity(urls + urls / 16),
            hosts: HashMap::with_capacity_and_hasher(other.hosts.len(), ByHash::default()),
            most: 0,
        }
    }

    /// Forgets everything and keeps its room, which is then not asked of the system again.
    pub(crate) fn clear(&mut self) {
        self.most = self.most.max(self.entries.len());
        self.entries.clear();
        self.texts.clear();
        self.events.clear();
        self.event_bytes = 0;
        self.index.clear();
        self.hosts.clear();
    }

    /// Whether it takes no more memory than one for so many URLs, more or less.
    pub(crate) fn fits(&self, urls: usize) -> bool {
        self.most.max(self.entries.len()) <= urls + urls / 8
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether any URL in it was decided.
    pub(crate) fn has_decided(&self) -> bool {
        !self.hosts.is_empty()
    }

    pub(crate) fn find(&self, key: &Key<'_>, url_hash: u64) -> Option<usize> {
        let half = half_of(url_hash);
        self.index
            .find(url_hash, |&(at, other)| {
                other == half && {
                    let entry = &self.entries[at as usize];
                    entry.url_hash == url_hash && self.key_of(entry) == *key
                }
            })
            .map(|&(at, _)| at as usize)
    }

    /// Adds a URL that is not there.
    pub(crate) fn insert(&mut self, key: &Key<'_>, url_hash: u64, delta: Delta) -> usize {
        let narrow =
            |number: usize| u32::try_from(number).expect("the front is folded long before");
        let at = self.entries.len();
        let text = narrow(self.texts.len());
        self.texts.extend_from_slice(key.host);
        self.texts.extend_from_slice(key.rest);
        // Only what is decided can be handed out, and so needs to be found by host.
        let previous = if delta.ops & DECIDED != 0 {
            let newest = self.hosts.insert(key.hash, narrow(at) + 1);
            newest.unwrap_or_default()
        } else {
            0
        };
        self.entries.push(Entry {
            url_hash,
            host_hash: key.hash,
            at: text,
            host_len: narrow(key.host.len()),
            rest_len: narrow(key.rest.len()),
            events: 0,
            previous,
            delta,
        });
        let entries = &self.entries;
        self.index
            .insert_unique(url_hash, (narrow(at), half_of(url_hash)), |&(other, _)| {
                entries[other as usize].url_hash
            });
        at
    }

    pub(crate) fn delta(&self, at: usize) -> &Delta {
        &self.entries[at].delta
    }

    pub(crate) fn delta_mut(&mut self, at: usize) -> &mut Delta {
        &mut self.entries[at].delta
    }

    /// Adds what happened to a URL.
    pub(crate) fn add_event(&mut self, at: usize, event: &Event) {
        let Ok(bytes) = postcard::to_stdvec(event) else {
            return;
        };
        self.event_bytes += bytes.len();
        let entry = &mut self.entries[at];
        if entry.events == 0 {
            self.events.push(bytes);
            entry.events = u32::try_from(self.events.len()).expect("fewer events than URLs");
        } else {
            self.events[entry.events as usize - 1].extend_from_slice(&bytes);
        }
    }

    pub(crate) fn entry(&self, at: usize) -> &Entry {
        &self.entries[at]
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn key_of(&self, entry: &Entry) -> Key<'_> {
        let start = entry.at as usize;
        let middle = start + entry.host_len as usize;
        Key {
            hash: entry.host_hash,
            host: &self.texts[start..middle],
            rest: &self.texts[middle..middle + entry.rest_len as usize],
        }
    }

    /// Whether it holds as much as it may: so many URLs, or as many bytes as those usually have. Someone's URLs may be
    /// twenty times as long as others.
    pub(crate) fn is_full(&self, urls: usize) -> bool {
        let bytes = self.texts.len() + self.event_bytes;
        self.len() >= urls || bytes >= urls.saturating_mul(BYTES_OF_A_URL)
    }

    pub(crate) fn events_of(&self, entry: &Entry) -> &[u8] {
        match entry.events.checked_sub(1) {
            Some(at) => &self.events[at as usize],
            None => &[],
        }
    }

    /// Marks a URL as decided.
    pub(crate) fn decide(&mut self, at: usize) {
        let entry = &mut self.entries[at];
        if entry.delta.ops & DECIDED == 0 {
            entry.delta.ops |= DECIDED;
            let place = u32::try_from(at).expect("the front is folded long before") + 1;
            let newest = self.hosts.insert(entry.host_hash, place);
            entry.previous = newest.unwrap_or_default();
        }
    }

    /// The places of the decided URLs of a host, newest first.
    pub(crate) fn decided_of(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mut next = self.hosts.get(&hash).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            let at = next.checked_sub(1)? as usize;
            next = self.entries[at].previous;
            Some(at)
        })
    }

    /// The places of all entries, in the order of the hashes of their hosts.
    pub(crate) fn by_host(&self) -> Vec<Placed> {
        // Dealt out by the leading bits first: what is sorted then fits into the nearest cache.
        let bucket_of = |hash: u64| usize::try_from(hash >> (64 - BUCKET_BITS)).unwrap_or(0);
        let mut ends = vec![0_usize; 1 << BUCKET_BITS];
        for entry in &self.entries {
            ends[bucket_of(entry.host_hash)] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![Placed { hash: 0, at: 0 }; self.entries.len()];
        for (at, entry) in (0..).zip(&self.entries) {
            let hash = entry.host_hash;
            let end = &mut ends[bucket_of(hash)];
            order[*end] = Placed { hash, at };
            *end += 1;
        }
        let mut start = 0;
        for end in ends {
            order[start..end].sort_unstable();
            start = end;
        }
        order
    }
}

/// Leading bits of a hash by which entries are dealt out before they are sorted.
const BUCKET_BITS: u32 = 12;

/// Where an entry is, by the hash of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) hash: u64,
    pub(crate) at: u32,
}

fn half_of(url_hash: u64) -> u32 {
    u32::try_from(url_hash & 0xFFFF_FFFF).expect("32 bits were cut")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_of_cache() {
        assert_eq!(size_of::<Entry>(), 64);
    }

    fn delta() -> Delta {
        Delta::read(&[0; 7])
    }

    #[test]
    fn entries_are_placed_by_the_hash_of_their_host() {
        let mut front = Front::default();
        for number in 0..10_000_u64 {
            let hash = xxhash_rust::xxh3::xxh3_64(&(number / 3).to_le_bytes());
            let (host, rest) = (b"host".as_slice(), b"s/".as_slice());
            front.insert(&Key { hash, host, rest }, number, delta());
        }
        let placed = front.by_host();
        assert!(placed.windows(2).all(|two| two[0] < two[1]));
        let right = |placed: &Placed| front.entry(placed.at as usize).host_hash == placed.hash;
        assert!(placed.len() == 10_000 && placed.iter().all(right));
    }
}
