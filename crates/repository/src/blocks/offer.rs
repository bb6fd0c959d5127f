//! What is told to the store: links, decisions of a journal, outcomes, priorities.

use teia_base::journal::Chain;

use super::block::block_of;
use super::delta::{
    ADMITS, DECIDED, DECIDED_OUT, Delta, Event, OFFERED, PRIORITISED, SETTLED, Settled, Settlement,
    Standing, Stands, TOLD,
};
use super::filter::Filter;
use super::key::{Key, host_hash, write_key};
use super::recent::Recent;
use super::row::{FALLBACK_HTTP, REQUISITE, SEED};
use super::store::Store;

/// A link to a URL, as it is offered.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The canonical text.
    pub url: &'a str,
    /// Hops from a seed by this way.
    pub depth: u16,
    /// Sequence number of the page on which it was found; 0 for none.
    pub referrer: u64,
    /// The rule that leaves it out, as a number of the caller's list; 0 admits it.
    pub rule: u32,
    /// Needed by a kept page.
    pub requisite: bool,
    /// Given by a person; without scheme?
    pub seed: Option<bool>,
    /// The spelling in which it was found, where that is another one.
    pub spelling: Option<&'a str>,
    /// As part of this chain of redirects.
    pub chain: Option<Chain>,
    /// `lastmod` of a sitemap or feed, in seconds since 1970.
    pub last_modified: Option<u32>,
}

impl<'a> Link<'a> {
    /// A plain link that is admitted.
    pub fn new(url: &'a str, depth: u16) -> Self {
        Self {
            url,
            depth,
            referrer: 0,
            rule: 0,
            requisite: false,
            seed: None,
            spelling: None,
            chain: None,
            last_modified: None,
        }
    }

    fn flags(&self) -> u8 {
        u8::from(self.requisite) * REQUISITE
            + u8::from(self.seed.is_some()) * SEED
            + u8::from(self.seed == Some(true)) * FALLBACK_HTTP
    }
}

/// What the store says of an offered link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Never met before; it has this sequence number.
    New(u64),
    /// Met before; if it is new after all, that is said of the first link to it.
    Known,
    /// Met before as left out, and admitted now.
    Readmitted,
    /// A visit will say.
    Pending,
}

/// What a journal says was decided of a link, when it is told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It was new.
    New,
    /// It was known.
    Known,
    /// It was left to a visit.
    Pending,
}

impl Store {
    /// Says whether a URL is new, if that can be said at once; takes it in.
    pub fn offer(&mut self, link: &Link<'_>) -> Answer {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(link.url, &mut scratch);
        let answer = self.offer_key(link, &scratch, host_len);
        self.scratch = scratch;
        answer
    }

    fn offer_key(&mut self, link: &Link<'_>, text: &[u8], host_len: usize) -> Answer {
        let (host, rest) = text.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        if let Some(at) = self.front.find(&key, url_hash) {
            return self.meet_again(at, link);
        }
        // Only plain links are remembered: they can tell a URL that is there nothing but a depth.
        let plain = link.rule == 0 && link.seed.is_none() && link.last_modified.is_none();
        if let Some(recent) = self.recent.as_mut().filter(|_| plain && !link.requisite)
            && recent.meet(text, host_len, link.depth)
        {
            return Answer::Known;
        }
        let filter = self.filter_of(&key);
        let answer = if filter.is_some_and(|filter| !filter.insert(url_hash)) {
            Answer::New(self.sequence)
        } else {
            // What is being folded is in the filter too; but its text says more.
            let sealed = self.sealed.as_ref().filter(|front| front.has_decided());
            let sealed = sealed.and_then(|front| Some(front.delta(front.find(&key, url_hash)?)));
            match sealed {
                Some(delta) if delta.ops & DECIDED != 0 => Answer::Known,
                _ => Answer::Pending,
            }
        };
        let decided = matches!(answer, Answer::New(_));
        self.insert(link, &key, url_hash, decided);
        answer
    }

    /// The filter of a URL's block, where there are filters.
    fn filter_of(&mut self, key: &Key<'_>) -> Option<&mut Filter> {
        self.disk.config.filter_bits?;
        let block = block_of(&self.blocks, key);
        self.filters[block].as_mut()
    }

    fn insert(&mut self, link: &Link<'_>, key: &Key<'_>, url_hash: u64, decided: bool) -> usize {
        let admits = link.rule == 0;
        let ops = OFFERED
            | (u8::from(decided) * DECIDED)
            | (u8::from(admits) * ADMITS)
            | (u8::from(decided && !admits) * DECIDED_OUT);
        let delta = Delta {
            ops,
            flags: link.flags(),
            depth: link.depth,
            sequence: self.sequence,
            referrer: link.referrer,
            rule: link.rule,
            priority: 0,
        };
        self.sequence += 1;
        let at = self.front.insert(key, url_hash, delta);
        self.note(at, link);
        at
    }

    fn note(&mut self, at: usize, link: &Link<'_>) {
        if let Some(spelling) = link.spelling {
            self.front.add_event(at, &Event::Spelling(spelling.into()));
        }
        if let Some(chain) = link.chain {
            self.front.add_event(at, &Event::Chain(chain));
        }
        if let Some(moment) = link.last_modified {
            self.front.add_event(at, &Event::LastModified(moment));
        }
    }

    /// Another link to a URL that the front holds.
    fn meet_again(&mut self, at: usize, link: &Link<'_>) -> Answer {
        let delta = self.front.delta_mut(at);
        let decided = delta.ops & DECIDED != 0;
        let met = delta.ops & (OFFERED | DECIDED) != 0;
        if !met {
            // Only its outcome came by so far, so it is known.
            delta.sequence = self.sequence;
            self.sequence += 1;
            delta.rule = link.rule;
        }
        delta.depth = delta.depth.min(link.depth);
        delta.flags |= link.flags();
        delta.ops |= OFFERED;
        let mut answer = if decided || !met {
            Answer::Known
        } else {
            Answer::Pending
        };
        if link.rule == 0 {
            if decided && delta.ops & DECIDED_OUT != 0 && delta.ops & ADMITS == 0 {
                delta.ops &= !DECIDED_OUT;
                answer = Answer::Readmitted;
            }
            delta.ops |= ADMITS;
        }
        if link.last_modified.is_some() || answer == Answer::Readmitted {
            self.note(
                at,
                &Link {
                    spelling: None,
                    ..*link
                },
            );
        }
        answer
    }

    /// What can be said of a link at once, without taking it in: that is for [`Store::replay`], when
    /// it is committed. A new URL has no number yet.
    pub fn ask(&mut self, url: &str, admits: bool) -> Answer {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(url, &mut scratch);
        let (host, rest) = scratch.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        let fronts = [Some(&self.front), self.sealed.as_deref()];
        let met = fronts.into_iter().flatten().find_map(|front| {
            let delta = front.delta(front.find(&key, url_hash)?);
            let left_out = delta.ops & DECIDED_OUT != 0 && delta.ops & ADMITS == 0;
            let settled = delta.ops & SETTLED != 0;
            let known = (delta.ops & DECIDED != 0 && !(left_out && admits)) || settled;
            Some(if known {
                Answer::Known
            } else {
                Answer::Pending
            })
        });
        let answer = met.unwrap_or_else(|| {
            let filter = self.filters[block_of(&self.blocks, &key)].as_ref();
            let is_new = filter.is_some_and(|filter| !filter.contains(url_hash));
            // What was left to a visit once stays so, even if there is a filter by now that could
            // say it: two would call it new. The caller keeps in mind what was called new.
            if is_new && !self.asked.contains(&url_hash) {
                Answer::New(0)
            } else {
                Answer::Pending
            }
        });
        let is_left = answer == Answer::Pending || !admits;
        if is_left && answer != Answer::Known {
            self.asked.insert(url_hash);
        }
        self.scratch = scratch;
        answer
    }

    /// Takes in a link of which the journal says what was decided. No filter is asked. Says what is
    /// known now: the number of a URL that was new, or that one left out is admitted.
    pub fn replay(&mut self, link: &Link<'_>, decided: Decided) -> Answer {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(link.url, &mut scratch);
        let (host, rest) = scratch.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        let is_new = decided == Decided::New;
        self.asked.remove(&url_hash);
        let answer;
        if let Some(at) = self.front.find(&key, url_hash) {
            let was_decided = self.front.delta(at).ops & DECIDED != 0;
            let again = self.meet_again(at, link);
            answer = if is_new && !was_decided {
                // What left it out when it was met, not what a later link had to say.
                self.front.delta_mut(at).rule = link.rule;
                self.front.decide(at);
                Answer::New(self.front.delta(at).sequence)
            } else {
                again
            };
        } else {
            if let Some(filter) = self.filter_of(&key) {
                filter.insert(url_hash);
            }
            // One that was known then may still wait as the first link to a new URL: it must not
            // keep the visit from saying so.
            let at = self.insert(link, &key, url_hash, is_new);
            answer = match decided {
                Decided::New => Answer::New(self.front.delta(at).sequence),
                Decided::Known => Answer::Known,
                Decided::Pending => Answer::Pending,
            };
        }
        self.scratch = scratch;
        answer
    }

    /// Takes in where a URL stands by another way than an attempt: it was kept elsewhere so far, or
    /// waits again.
    pub fn stand(&mut self, url: &str, stands: Stands) {
        let at = self.touch(url);
        // What waits may be handed out.
        if stands.state != Standing::Waiting {
            self.front.delta_mut(at).ops |= SETTLED;
        }
        self.front.add_event(at, &Event::Standing(stands));
    }

    /// Earlier blocks, which were lost, have called this URL new: see [`Store::check_told`].
    pub fn told(&mut self, url: &str) {
        let at = self.touch(url);
        self.front.delta_mut(at).ops |= TOLD;
    }

    /// A run begins that visits everything again: the URL is left out by this rule, and no way is
    /// known to it, until a link leads there. To be folded before any link is told.
    pub fn again(&mut self, url: &str, rule: u32) {
        let at = self.touch(url);
        self.front.delta_mut(at).ops |= SETTLED;
        self.front.add_event(at, &Event::Again(rule));
    }

    /// Keeps a URL from being handed out: the caller has it.
    pub fn hold(&mut self, url: &str) {
        let at = url_hash_of(self.disk.config.key, url);
        self.leased.insert(at);
    }

    /// The number that the next URL will have.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether anything that was told has not reached the blocks.
    pub fn has_unfolded(&self) -> bool {
        self.front.len() > 0 || self.sealed.is_some() || !self.waiting.is_empty()
    }

    /// Takes in what became of a URL, after its commit; its lease is over.
    pub fn settle(&mut self, url: &str, settlement: Settlement) {
        let at = self.touch(url);
        self.front.delta_mut(at).ops |= SETTLED;
        let url_hash = self.front.entry(at).url_hash;
        self.leased.remove(&url_hash);
        if matches!(settlement.state, Standing::Excluded(_)) {
            // A link that admits it again is news.
            self.recent = Recent::new(self.disk.config.recent_links, self.disk.config.key);
        }
        let media_type = self.media_types.number(settlement.media_type.as_deref());
        let settled = Settled::new(settlement, media_type);
        self.front.add_event(at, &Event::Settled(settled));
    }

    /// Sets what an Analyzer thinks of a URL.
    pub fn set_priority(&mut self, url: &str, priority: i32) {
        let at = self.touch(url);
        let delta = self.front.delta_mut(at);
        delta.ops |= PRIORITISED;
        delta.priority = priority;
        // It has another place now.
        let host = self.front.entry(at).host_hash;
        self.forget_schedules(host);
    }

    /// The place of a URL in the front, where it is put if it is not there.
    fn touch(&mut self, url: &str) -> usize {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(url, &mut scratch);
        let (host, rest) = scratch.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        let at = self.front.find(&key, url_hash).unwrap_or_else(|| {
            let delta = Delta {
                ops: 0,
                flags: 0,
                depth: u16::MAX,
                sequence: self.sequence,
                referrer: 0,
                rule: 0,
                priority: 0,
            };
            self.sequence += 1;
            if let Some(filter) = self.filter_of(&key) {
                filter.insert(url_hash);
            }
            self.front.insert(&key, url_hash, delta)
        });
        self.scratch = scratch;
        at
    }
}

fn url_hash_of(key: u64, url: &str) -> u64 {
    let mut text = Vec::new();
    let host_len = write_key(url, &mut text);
    let (host, rest) = text.split_at(host_len);
    let hash = host_hash(key, host);
    Key { hash, host, rest }.url_hash()
}
