//! Links met not long ago, by keyed fingerprint: met again, they need not wait for a visit again.
//!
//! A fingerprint is kept with the least depth at which the link was met; one that comes by a
//! shorter way is news and is let through. Four places to a cache line, replaced in turn. The
//! fingerprint has 120 bits under a secret key; whoever wants nothing but text to decide sets
//! `recent_links` to 0.

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Links met not long ago.
#[derive(Debug)]
pub(crate) struct Recent {
    sets: Vec<[u128; 4]>,
    key: u64,
    turn: usize,
}

impl Recent {
    pub(crate) fn new(links: usize, key: u64) -> Option<Self> {
        (links > 0).then(|| Self {
            sets: vec![[0; 4]; links.div_ceil(4)],
            key,
            turn: 0,
        })
    }

    /// Whether this link was met at this depth or a lesser one; it is remembered now. `text` is
    /// its host and rest together.
    pub(crate) fn meet(&mut self, text: &[u8], host_len: usize, depth: u16) -> bool {
        if depth >= 0xFE {
            return false;
        }
        let number = xxh3_128_with_seed(text, self.key ^ (host_len as u64).rotate_left(48));
        let depth = u128::from(depth) + 1;
        let fingerprint = number & !0xFF;
        let at = ((number >> 64) * self.sets.len() as u128) >> 64;
        let set = &mut self.sets[usize::try_from(at).unwrap_or(0)];
        for place in set.iter_mut() {
            if *place & !0xFF == fingerprint && *place & 0xFF != 0 {
                let known = *place & 0xFF <= depth;
                if !known {
                    *place = fingerprint | depth;
                }
                return known;
            }
        }
        self.turn = (self.turn + 1) & 3;
        set[self.turn] = fingerprint | depth;
        false
    }
}
