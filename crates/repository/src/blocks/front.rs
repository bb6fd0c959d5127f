//! What was met since the last fold, in memory: found by text, sorted once when it is folded.

use hashbrown::{HashMap, HashTable};

use super::delta::{DECIDED, Delta, Event};
use super::key::Key;
use super::sort::{Item, sort, word_at};

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

/// News of URLs since the last fold.
#[derive(Debug, Default)]
pub(crate) struct Front {
    entries: Vec<Entry>,
    texts: Vec<u8>,
    events: Vec<Vec<u8>>,
    /// Places in the list of entries, with half of each URL's hash.
    index: HashTable<(u32, u32)>,
    hosts: HashMap<u64, u32, ByHash>,
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
    /// An empty one with room for as much as another one held.
    pub(crate) fn like(other: &Self) -> Self {
        let urls = other.entries.len();
        Self {
            entries: Vec::with_capacity(urls + urls / 16),
            texts: Vec::with_capacity(other.texts.len() + other.texts.len() / 16),
            events: Vec::new(),
            index: HashTable::with_capacity(urls + urls / 16),
            hosts: HashMap::with_capacity_and_hasher(other.hosts.len(), ByHash::default()),
        }
    }

    /// Forgets everything and keeps its room, which is then not asked of the system again.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
        self.events.clear();
        self.index.clear();
        self.hosts.clear();
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

    /// The places of all entries, in the order of their keys.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        // Entries and texts are gone through once as they lie; what is sorted is beside its place.
        let mut order: Vec<Sorting> = (0..)
            .zip(&self.entries)
            .map(|(at, entry)| Sorting {
                hash: entry.host_hash,
                word: word_at(self.key_of(entry).rest, 0),
                at,
            })
            .collect();
        order.sort_unstable_by_key(|it| (it.hash, it.word));
        let mut items: Vec<Item<'_>> = Vec::new();
        for same in order.chunk_by_mut(|one, other| one.hash == other.hash) {
            if same.len() == 1 {
                continue;
            }
            let host = self.key_of(&self.entries[same[0].at as usize]).host;
            let mut is_one_host = true;
            for equal in same.chunk_by_mut(|one, other| one.word == other.word) {
                items.clear();
                for it in &*equal {
                    let key = self.key_of(&self.entries[it.at as usize]);
                    is_one_host &= key.host == host;
                    items.push(Item::new(key.rest, it.at));
                }
                sort(&mut items);
                for (place, sorted) in equal.iter_mut().zip(&items) {
                    place.at = sorted.at;
                }
            }
            if !is_one_host {
                // Two hosts with the same hash.
                same.sort_by_key(|it| {
                    let key = self.key_of(&self.entries[it.at as usize]);
                    (key.host, key.rest)
                });
            }
        }
        order.into_iter().map(|it| it.at).collect()
    }
}

/// What decides the order of an entry, mostly.
#[derive(Clone, Copy, Debug)]
struct Sorting {
    hash: u64,
    word: u64,
    at: u32,
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
    fn entries_are_sorted_by_key_even_when_two_hosts_share_a_hash() {
        let mut front = Front::default();
        let mut number = 0;
        for rest in ["s/b", "s/a", "s/abcdefgh", "s/abcdefghi", "s", "h/zz"] {
            for (hash, host) in [(7, "one"), (7, "other"), (3, "third"), (9, "fourth")] {
                let (host, rest) = (host.as_bytes(), rest.as_bytes());
                number += 1;
                front.insert(&Key { hash, host, rest }, number, delta());
            }
        }
        let sorted = front.sorted();
        assert_eq!(sorted.len(), 24);
        let key = |at: u32| front.key_of(front.entry(at as usize));
        assert!(sorted.windows(2).all(|two| key(two[0]) < key(two[1])));
    }
}
