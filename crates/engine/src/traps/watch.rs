//! The watch: which patterns of a host have stopped bringing anything new.

use std::collections::{HashMap, HashSet};

use teia_base::{CanonicalUrl, HostId};
use xxhash_rust::xxh3::xxh3_64;

use super::config::TrapsConfig;
use super::pattern::{WILD, patterns};
use super::sketch::Sketch;

/// Patterns that are watched at once, of the newer and of the older ones each: at most 4 KiB for one, 32 MiB in all.
const MOST_WATCHED: usize = 4096;
/// A page says nothing new if it has no new word, fewer new numbers than this,
const FEWEST_FIGURES: usize = 3;
/// fewer new ids than this (of a request, of a session),
const FEWEST_IDS: usize = 4;
/// and less than this share (of a hundred) of the rest is new. The rest is what the page before it did not have: all but
/// menu and footer.
const NEW_SHARE: usize = 35;
/// A machine that makes up text runs out of words, people do not.
const NEW_WORDS_SHARE: usize = 2;
/// A page with fewer words of its own shows nothing of whoever wrote it.
const FEWEST_WORDS: usize = 20;

/// So many pages of a kind in a row that said nothing new, and a new URL of it is nothing new.
const STALE_PAGES: u32 = 5;
/// Kinds of which that is known, of the newer and of the older ones each.
const MOST_KINDS: usize = 4096;
/// Where the first directory is of any name, only repeats count, and so many times more of them.
const WILD_REPEATS: u32 = 6;

/// So many pictures of one pattern in a row that were there before, and a new URL of it is nothing new.
const STALE_REQUISITES: u32 = 5;

/// So many bytes in a row that say nothing new are enough, of however few pages (but a few): a host that makes up text
/// can make up long ones.
const DULL_BYTES: u64 = 32 << 20;
const FEWEST_LARGE: u32 = 5;

/// The pattern of all URLs of a host. Only babble is looked for in it, and five times as long.
pub(super) const WHOLE_HOST: &str = "/**";
const WHOLE_HOST_PAGES: u32 = 5;

/// Patterns that are watched.
///
/// Bounded as aliases are: when the newer ones are full, they become the older ones, and those of
/// which nothing was fetched for as long as that took are forgotten.
#[derive(Debug, Default)]
pub struct TrapWatch {
    newer: HashMap<(HostId, u64), Watch>,
    older: HashMap<(HostId, u64), Watch>,
    /// Patterns of pictures and the like: how many in a row were there before.
    requisites: HashMap<u64, u32>,
    older_requisites: HashMap<u64, u32>,
    kinds: HashMap<u64, Kind>,
    older_kinds: HashMap<u64, Kind>,
    /// Hosts of which it was said that no more is left out by itself.
    full: HashSet<HostId>,
}

/// URLs of one narrow pattern, of any host, as those see them that lead there.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    /// Pages in a row that said nothing new, whatever they led to.
    stale: u32,
    /// The last other kind that was new in one of them.
    leads_to: u64,
}

impl Kind {
    fn is_stale(self) -> bool {
        self.stale >= STALE_PAGES
    }
}

/// What a page brought, beside what it says.
#[derive(Clone, Copy, Debug)]
pub struct Brought<'a> {
    /// URLs of pages that nobody had met before, of its own host and of others.
    pub new: &'a [&'a CanonicalUrl],
    /// Something else that was new: a picture that [`may be new`](TrapWatch::may_be_new).
    pub else_new: bool,
    /// Bytes that came for it.
    pub bytes: u64,
}

/// Why a pattern is taken for a trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// The pattern.
    pub pattern: String,
    /// Pages in a row that showed it.
    pub pages: u32,
    /// In words: what they were like.
    pub why: &'static str,
}

impl TrapWatch {
    /// Notes a page that was fetched; says so when a pattern of it has just become a trap.
    pub fn note(
        &mut self,
        config: &TrapsConfig,
        host: HostId,
        url: &CanonicalUrl,
        sketch: &Sketch,
        brought: Brought<'_>,
    ) -> Option<Suspicion> {
        let own = patterns(url);
        let here = kind_of(url, &own);
        let mut leads_to = None;
        let mut inside = vec![0_u32; own.len()];
        let mut outside = vec![brought.else_new; own.len()];
        for link in brought.new {
            let found = patterns(link);
            let there = kind_of(link, &found);
            let is_here = link.host_str() == url.host_str() && found.len() == own.len();
            if there != here {
                leads_to = Some(there);
            }
            let kind = self.kind(there);
            let is_own_directory = first_of(link) == first_of(url);
            for (at, pattern) in own.iter().enumerate() {
                if is_here && found[at] == *pattern {
                    if pattern.starts_with(WILD) && is_own_directory {
                        // Its directory grows, and not the number of directories.
                        continue;
                    }
                    inside[at] = inside[at].saturating_add(1);
                } else if !kind.is_stale() {
                    outside[at] = true;
                } else if kind.leads_to == here {
                    // There and back: both are one trap.
                    inside[at] = inside[at].saturating_add(1);
                }
            }
        }
        if let Some(at) = own.iter().position(|pattern| pattern.starts_with(WILD))
            && inside[at] > 0
        {
            let watch = self.watch((host, xxh3_64(own[at].as_bytes())));
            watch.crossings = watch.crossings.saturating_add(1);
        }
        let mut suspicion = None;
        let mut is_stale = !brought.else_new;
        let mut rest = sketch.shingles.len();
        let kind_at = usize::from(url.path_and_query().contains('?'));
        for (at, pattern) in own.into_iter().enumerate() {
            let watch = self.watch((host, xxh3_64(pattern.as_bytes())));
            let led = Led {
                inside: inside[at],
                outside: outside[at],
                bytes: brought.bytes,
            };
            let seen = if pattern.starts_with(WILD) {
                watch.note_wild(config, sketch, url, led)
            } else {
                let is_directory = pattern.ends_with("/**");
                let (says_new, seen) = watch.note(config, sketch, led, is_directory, &mut rest);
                is_stale &= at != kind_at || !says_new;
                seen
            };
            if let Some((pages, why)) = seen.filter(|_| suspicion.is_none()) {
                suspicion = Some(Suspicion {
                    pattern,
                    pages,
                    why,
                });
            }
        }
        self.change_kind(here, |kind| {
            kind.stale = if is_stale {
                kind.stale.saturating_add(1)
            } else {
                0
            };
            kind.leads_to = leads_to.unwrap_or(kind.leads_to);
        });
        // Directories that are new for ever: only the host itself shows that nothing is said in them.
        let led = Led {
            inside: brought.new.len().try_into().unwrap_or(u32::MAX),
            outside: brought.else_new,
            bytes: brought.bytes,
        };
        let whole = self.watch((host, xxh3_64(WHOLE_HOST.as_bytes())));
        let seen = whole.note_words(config, sketch, led, rest);
        suspicion.or(seen.map(|(pages, why)| Suspicion {
            pattern: WHOLE_HOST.to_owned(),
            pages,
            why,
        }))
    }

    /// Notes that there is no page at a URL, or that nobody may see it.
    pub fn note_nothing(&mut self, url: &CanonicalUrl) {
        let kind = kind_of(url, &patterns(url));
        self.change_kind(kind, |kind| kind.stale = kind.stale.saturating_add(1));
    }

    /// Notes that there is something at a URL that is no page, or that it leads to something new.
    pub fn note_something(&mut self, url: &CanonicalUrl) {
        let kind = kind_of(url, &patterns(url));
        self.change_kind(kind, |kind| kind.stale = 0);
    }

    /// Notes that no more patterns of a host are left out; whether that is news.
    pub(super) fn note_full(&mut self, host: HostId) -> bool {
        self.full.insert(host)
    }

    /// First directories under which pages of a pattern were seen, about; and how many of these pages led to new directories.
    pub(super) fn directories(&self, host: HostId, wild: &str) -> (u32, u32) {
        let key = (host, xxh3_64(wild.as_bytes()));
        let watch = self.newer.get(&key).or_else(|| self.older.get(&key));
        watch.map_or((0, 0), |watch| (watch.directories, watch.crossings))
    }

    fn kind(&self, key: u64) -> Kind {
        let known = self.kinds.get(&key).or_else(|| self.older_kinds.get(&key));
        known.copied().unwrap_or_default()
    }

    fn change_kind(&mut self, key: u64, change: impl FnOnce(&mut Kind)) {
        let older = self.older_kinds.remove(&key);
        if self.kinds.len() >= MOST_KINDS {
            self.older_kinds = std::mem::take(&mut self.kinds);
        }
        change(self.kinds.entry(key).or_insert(older.unwrap_or_default()));
    }

    /// Whether a picture, or another thing that a page needs, may be new because its URL is. Not where the
    /// last ones of its pattern turned out to be what others are too: who puts a number behind the address of
    /// one dot shows nothing new with it.
    pub fn may_be_new(&mut self, url: &CanonicalUrl) -> bool {
        let key = requisite_key(url);
        let older = self.older_requisites.remove(&key);
        if self.requisites.len() >= MOST_WATCHED {
            self.older_requisites = std::mem::take(&mut self.requisites);
        }
        let stale = self.requisites.entry(key).or_insert(older.unwrap_or(0));
        *stale < STALE_REQUISITES
    }

    /// Notes what such a thing turned out to be; others are passed over.
    pub fn note_requisite(&mut self, url: &CanonicalUrl, is_new: bool) {
        let key = requisite_key(url);
        let known = self.requisites.get_mut(&key);
        if let Some(stale) = known.or_else(|| self.older_requisites.get_mut(&key)) {
            *stale = if is_new { 0 } else { stale.saturating_add(1) };
        }
    }

    /// Patterns that are watched now.
    pub fn len(&self) -> usize {
        self.newer.len() + self.older.len()
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn watch(&mut self, key: (HostId, u64)) -> &mut Watch {
        let known = self.newer.remove(&key).or_else(|| self.older.remove(&key));
        if self.newer.len() >= MOST_WATCHED {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.entry(key).or_insert(known.unwrap_or_default())
    }
}

/// The host and the narrowest pattern of a URL; with a query, whatever it asks for.
fn kind_of(url: &CanonicalUrl, patterns: &[String]) -> u64 {
    let at = usize::from(url.path_and_query().contains('?'));
    let pattern = patterns.get(at).or(patterns.first());
    let pattern = pattern.map_or("", String::as_str);
    xxh3_64(format!("{}{pattern}", url.authority()).as_bytes())
}

/// The first directory of a URL, or its file.
fn first_of(url: &CanonicalUrl) -> &str {
    let path = url.path_and_query();
    path.split(['/', '?']).nth(1).unwrap_or("")
}

/// The host and the widest pattern of a URL.
fn requisite_key(url: &CanonicalUrl) -> u64 {
    let widest = patterns(url).pop().unwrap_or_default();
    xxh3_64(format!("{}{widest}", url.authority()).as_bytes())
}

/// Pages in a row, and how many more of their own kind they led to.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    pages: u32,
    grown: u32,
    bytes: u64,
}

impl Run {
    /// Goes on or is broken.
    fn note(&mut self, goes_on: bool, inside: u32, bytes: u64) {
        if goes_on {
            self.pages = self.pages.saturating_add(1);
            self.bytes = self.bytes.saturating_add(bytes);
            self.grown = self.grown.saturating_add(inside);
        } else {
            *self = Self::default();
        }
    }

    /// Long enough, and the pattern grows as fast as it is fetched, or half as fast.
    fn is_trap(&self, enough: u32) -> bool {
        let is_long =
            self.pages >= enough || (self.bytes >= DULL_BYTES && self.pages >= FEWEST_LARGE);
        is_long && self.grown.saturating_mul(2) >= self.pages
    }
}

/// Where a page leads, as a pattern of it sees that.
#[derive(Clone, Copy, Debug)]
struct Led {
    /// How often to more of it.
    inside: u32,
    /// To anything else that is new.
    outside: bool,
    /// What the page cost.
    bytes: u64,
}

/// One pattern of one host.
#[derive(Debug, Default)]
struct Watch {
    repeats: Run,
    dull: Run,
    babble: Run,
    said: Filter<256>,
    words: Filter<128>,
    /// Shingles of the page before.
    last: Vec<u32>,
    /// First directories, of all pages and of those in the row.
    directories: u32,
    of_row: u32,
    /// Pages that led to other first directories.
    crossings: u32,
}

impl Watch {
    /// Only whether there are new words.
    fn note_words(
        &mut self,
        config: &TrapsConfig,
        sketch: &Sketch,
        led: Led,
        rest: usize,
    ) -> Option<(u32, &'static str)> {
        let new_words = self.words.meet(&sketch.words);
        let is_babble = is_babble(sketch, new_words, rest) && !led.outside && led.inside > 0;
        self.babble.note(is_babble, led.inside, led.bytes);
        let enough = config.maze_pages.saturating_mul(WHOLE_HOST_PAGES);
        self.babble
            .is_trap(enough)
            .then_some((self.babble.pages, "have not one new word"))
    }

    /// Only whether the same page comes again, under first directories of any name.
    fn note_wild(
        &mut self,
        config: &TrapsConfig,
        sketch: &Sketch,
        url: &CanonicalUrl,
        led: Led,
    ) -> Option<(u32, &'static str)> {
        let is_new = !self.words.meet_all(xxh3_64(first_of(url).as_bytes()));
        self.directories = self.directories.saturating_add(is_new.into());
        let is_repeat = self.said.meet_all(sketch.digest);
        let goes_on = is_repeat && !led.outside;
        self.repeats.note(goes_on, led.inside, led.bytes);
        self.of_row = if goes_on {
            self.of_row.saturating_add(is_new.into())
        } else {
            0
        };
        let enough = config.repeats.saturating_mul(WILD_REPEATS);
        let is_wild = self.of_row.saturating_mul(2) >= self.repeats.pages;
        (is_wild && self.repeats.is_trap(enough))
            .then_some((self.repeats.pages, "are the same page again and again"))
    }

    /// Says also whether the page says anything new. `rest` is what of it was not on the page before, of this pattern or
    /// of a narrower one.
    fn note(
        &mut self,
        config: &TrapsConfig,
        sketch: &Sketch,
        led: Led,
        is_directory: bool,
        rest: &mut usize,
    ) -> (bool, Option<(u32, &'static str)>) {
        let again = in_both(&self.last, &sketch.shingles);
        *rest = (*rest).min(sketch.shingles.len() - again);
        self.last.clone_from(&sketch.shingles);
        let is_repeat = self.said.meet_all(sketch.digest);
        let new = self.said.meet(&sketch.shingles);
        let new_figures = self.said.meet(&sketch.figures);
        let new_ids = self.said.meet(&sketch.ids);
        let new_words = self.words.meet(&sketch.words);
        let has_new = new_words > 0 || new_figures >= FEWEST_FIGURES || new_ids >= FEWEST_IDS;
        let says_new = match sketch.shingles.len() {
            0 => !is_repeat,
            _ if has_new => true,
            _ => new > 0 && new * 100 >= *rest * NEW_SHARE,
        };
        let (is_dull, inside, bytes) = (is_repeat || !says_new, led.inside, led.bytes);
        self.repeats.note(is_repeat && !led.outside, inside, bytes);
        self.dull.note(is_dull && !led.outside, inside, bytes);
        let is_babble = is_directory && is_babble(sketch, new_words, *rest);
        self.babble
            .note(is_babble && !led.outside && inside > 0, inside, bytes);
        let seen = if self.repeats.is_trap(config.repeats) {
            Some((self.repeats.pages, "are the same page again and again"))
        } else if self.dull.is_trap(config.pages) {
            Some((self.dull.pages, "say nothing that others did not say"))
        } else {
            self.babble
                .is_trap(config.maze_pages)
                .then_some((self.babble.pages, "have not one new word"))
        };
        (!is_dull, seen)
    }
}

/// Whether a page has much to say, and no new word for it.
fn is_babble(sketch: &Sketch, new_words: usize, rest: usize) -> bool {
    let is_prose = !sketch.is_table && rest * sketch.sampled >= FEWEST_WORDS;
    is_prose && new_words * 100 < rest.min(sketch.words.len()) * NEW_WORDS_SHARE
}

/// How many two lists have in common that are in order.
fn in_both(one: &[u32], other: &[u32]) -> usize {
    let (mut at, mut both) = (0, 0);
    for hash in other {
        while one.get(at).is_some_and(|it| it < hash) {
            at += 1;
        }
        both += usize::from(one.get(at) == Some(hash));
    }
    both
}

/// What was met before, about: it forgets, and takes little for met that was not.
#[derive(Debug)]
struct Filter<const WORDS: usize> {
    bits: Box<[u64; WORDS]>,
    set: usize,
}

impl<const WORDS: usize> Default for Filter<WORDS> {
    fn default() -> Self {
        Self {
            bits: Box::new([0; WORDS]),
            set: 0,
        }
    }
}

impl<const WORDS: usize> Filter<WORDS> {
    /// Puts these in; says how many were not there.
    fn meet(&mut self, hashes: &[u32]) -> usize {
        let new = hashes
            .iter()
            .filter(|hash| {
                let (low, high) = (**hash & 0xffff, **hash >> 16);
                // Two places: with one, a filter that is half full takes each second thing for met.
                self.put(low as usize) | self.put(high as usize)
            })
            .count();
        self.forget_if_full();
        new
    }

    /// Puts one thing in at eight places; says whether it was at all of them.
    fn meet_all(&mut self, hash: u64) -> bool {
        let mut all = true;
        let mut at = hash;
        for _ in 0..8 {
            let place = usize::try_from(at & 0xffff_ffff).unwrap_or(0);
            all &= !self.put(place);
            at = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        }
        self.forget_if_full();
        all
    }

    /// Half full it would take too much for met. What is forgotten counts as new once more, so that nothing is
    /// quarantined for it.
    fn forget_if_full(&mut self) {
        if self.set > WORDS * 32 {
            self.bits.fill(0);
            self.set = 0;
        }
    }

    fn put(&mut self, hash: usize) -> bool {
        let place = hash % (WORDS * 64);
        let bit = 1_u64 << (place % 64);
        let word = &mut self.bits[place / 64];
        let is_new = *word & bit == 0;
        *word |= bit;
        self.set += usize::from(is_new);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId(1);

    fn url(path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap()
    }

    /// Fetches pages one after another, each with what it says and leads to; the first suspicion.
    fn visit(
        watch: &mut TrapWatch,
        pages: impl Iterator<Item = (String, String, Vec<String>)>,
    ) -> Option<(usize, Suspicion)> {
        let config = TrapsConfig::default();
        for (count, (path, text, links)) in pages.enumerate() {
            let page = url(&path);
            let links: Vec<CanonicalUrl> = links.iter().map(|link| url(link)).collect();
            let new: Vec<&CanonicalUrl> = links.iter().collect();
            let sketch = Sketch::new(page.as_str(), &text, b"");
            let brought = Brought {
                new: &new,
                else_new: false,
                bytes: 1000,
            };
            let found = watch.note(&config, HOST, &page, &sketch, brought);
            if let Some(found) = found {
                return Some((count + 1, found));
            }
        }
        None
    }

    /// Words that no other page has.
    fn own_words(n: usize) -> String {
        (0..60)
            .map(|at| format!("w{}x{at}y ", n * 60 + at))
            .collect()
    }

    #[test]
    fn a_calendar_is_found_within_its_budget() {
        let months = ["january", "february", "march", "april", "may", "june"];
        let pages = (0..1000).map(|n| {
            let (year, month) = (2020 + n / 12, n % 12 + 1);
            let next = n + 1;
            let text = format!("{} {year} no events this month next", months[n % 6]);
            let link = format!("/cal/{}/{}", 2020 + next / 12, next % 12 + 1);
            (format!("/cal/{year}/{month}"), text, vec![link])
        });
        let (count, found) = visit(&mut TrapWatch::default(), pages).unwrap();
        assert!(count <= 100, "{count}");
        assert_eq!(found.pattern, "/cal/{n}/{n}");
    }

    #[test]
    fn the_same_last_page_stops_its_pattern_after_five() {
        let pages = (0..100).map(|n| {
            let link = format!("/list?page={}", n + 1);
            (
                format!("/list?page={n}"),
                "the last page".into(),
                vec![link],
            )
        });
        let (count, found) = visit(&mut TrapWatch::default(), pages).unwrap();
        assert_eq!(count, 6);
        assert_eq!(found.pattern, "/list?page={n}");
    }

    #[test]
    fn pages_that_say_something_new_are_no_trap() {
        let pages = (0..2000).map(|n| {
            let link = format!("/news/{}", n + 1);
            (format!("/news/{n}"), own_words(n), vec![link])
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn pages_that_lead_to_something_new_are_no_trap() {
        let pages = (0..2000).map(|n| {
            let links = vec![format!("/list?page={}", n + 1), format!("/product/{n}")];
            (format!("/list?page={n}"), "a list".into(), links)
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn tables_of_numbers_are_no_trap_while_they_differ() {
        let pages = (0..2000_usize).map(|n| {
            let row = |hour: usize| {
                let drawn = n.wrapping_mul(2_654_435_761) ^ hour.wrapping_mul(0x9e37_79b9);
                format!("{hour} h {}.{} ", drawn / 10 % 40, drawn % 10)
            };
            let link = format!("/weather/{}", n + 1);
            (
                format!("/weather/{n}"),
                (0..24).map(row).collect(),
                vec![link],
            )
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn the_same_things_in_another_order_are_a_trap() {
        let mut state = 7_u64;
        let mut draw = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let pages = (0..1000_usize).map(|n| {
            let things: Vec<u64> = (0..20).map(|_| draw(50)).collect();
            let text: String = things
                .iter()
                .map(|it| format!("thing v{it} costs w{it} euros "))
                .collect();
            let links = (1..4).map(|k| format!("/shop?color=c{}&size=s{k}", n * 3 + k));
            (format!("/shop?color=c{n}&size=s0"), text, links.collect())
        });
        let (count, found) = visit(&mut TrapWatch::default(), pages).unwrap();
        assert!(count <= 120, "{count}");
        assert!(found.pattern.starts_with("/shop?"), "{}", found.pattern);
    }

    /// A word of letters only that no other number has.
    fn letters(n: usize) -> String {
        let letter = |at: u32| char::from(b'a' + u8::try_from(n / 26_usize.pow(at) % 26).unwrap());
        (0..4).map(letter).collect()
    }

    /// Menu and footer: so many words around what a page says.
    fn framed(words: usize, text: &str) -> String {
        let menu: String = (0..words)
            .map(|at| format!("menu{} ", letters(at)))
            .collect();
        format!("{menu}{text} {menu}")
    }

    fn drawn(n: usize, at: usize) -> usize {
        let drawn = (n * 64 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (drawn ^ (drawn >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
    }

    #[test]
    fn two_words_of_its_own_between_menu_and_footer_make_a_page() {
        for menu in [0, 60, 150, 700] {
            let pages = (0..2000).map(|n| {
                let name = format!("own{} too{}", letters(drawn(n, 0) % 8000), letters(n));
                let text = framed(
                    menu,
                    &format!("{name} telephone {}", drawn(n, 1) % 10_000_000),
                );
                (
                    format!("/person/{n}"),
                    text,
                    vec![format!("/person/{}", n + 1)],
                )
            });
            assert_eq!(visit(&mut TrapWatch::default(), pages), None, "{menu}");
        }
    }

    #[test]
    fn words_that_others_have_too_say_something_new_in_another_order() {
        let pages = (0..2000).map(|n| {
            let words: Vec<String> = (0..10).map(|at| letters(drawn(n, at) % 1500)).collect();
            let text = framed(60, &words.join(" "));
            (format!("/word/{n}"), text, vec![format!("/word/{}", n + 1)])
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn four_tides_a_day_between_menu_and_footer_are_no_trap() {
        let pages = (0..1000).map(|n| {
            let tide = |at: usize| {
                let (minute, height) = (at * 360 + drawn(n, at) % 360, drawn(n, at + 9) % 60);
                let (hour, minute) = (minute / 60, minute % 60);
                format!(
                    "water {hour:02}:{minute:02} {}.{} m ",
                    height / 10,
                    height % 10
                )
            };
            let text = framed(150, &(0..4).map(tide).collect::<String>());
            (
                format!("/tides/{n}"),
                text,
                vec![format!("/tides/{}", n + 1)],
            )
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn a_clock_and_an_id_in_the_footer_say_nothing() {
        let stamps: [fn(usize) -> String; 2] = [
            |n| {
                let (hour, second) = (drawn(n, 0) % 24, drawn(n, 1) % 60);
                let (took, id) = (drawn(n, 2) % 10_000, drawn(n, 3));
                format!("made in 0.0{took:04} s at {hour:02}:00:{second:02}, request a1{id:014x}")
            },
            |n| format!("{}.{}", drawn(n, 0) % 1_000_000_000, drawn(n, 1) % 1000),
        ];
        for stamp in stamps {
            let pages = (0..1000).map(|n| {
                let days: String = (1..=30).map(|day| format!("{day} ")).collect();
                let text = format!("events of this month {days} none {}", stamp(n));
                (format!("/cal/{n}"), text, vec![format!("/cal/{}", n + 1)])
            });
            let (count, found) = visit(&mut TrapWatch::default(), pages).unwrap();
            assert!(count <= 100, "{count}");
            assert_eq!(found.pattern, "/cal/{n}");
        }
    }

    /// Months, each with another link, and what lies there; the month at which they are found out.
    fn months_beside(beside: impl Fn(usize) -> String, text: &str) -> Option<(usize, Suspicion)> {
        let pages = (0..1000).flat_map(|n| {
            let links = vec![format!("/cal/{}", n + 1), beside(n)];
            let month = (format!("/cal/{n}"), "no events this month".into(), links);
            [month, (beside(n), text.to_owned(), Vec::new())]
        });
        visit(&mut TrapWatch::default(), pages)
    }

    #[test]
    fn a_link_to_pages_that_say_nothing_new_is_nothing_new() {
        for beside in [
            |n| format!("/login?next=/cal/{n}"),
            |n| format!("/print/{n}"),
        ] {
            let (count, found) = months_beside(beside, "log in to see it").unwrap();
            assert!(count <= 40, "{count}");
            assert_eq!(found.pattern, "/cal/{n}");
        }
    }

    #[test]
    fn a_link_to_where_nobody_may_look_is_nothing_new() {
        let mut watch = TrapWatch::default();
        let config = TrapsConfig::default();
        let sketch = Sketch::new("http://a.test/", "no events this month", b"");
        let found = (0..100).find(|n| {
            let elsewhere = format!("http://share.test/?u={n}");
            let elsewhere = CanonicalUrl::parse(&elsewhere).unwrap();
            let next = url(&format!("/cal/{}", n + 1));
            let brought = Brought {
                new: &[&next, &elsewhere],
                else_new: false,
                bytes: 1000,
            };
            let page = url(&format!("/cal/{n}"));
            let found = watch.note(&config, HOST, &page, &sketch, brought);
            watch.note_nothing(&elsewhere);
            found.is_some()
        });
        assert!(found.is_some_and(|n| n <= 20), "{found:?}");
    }

    #[test]
    fn two_kinds_that_lead_to_each_other_for_ever_are_a_trap() {
        let pages = (0..1000).flat_map(|n| {
            let (event, ticket) = (format!("/event/{n}"), format!("/ticket/{n}"));
            let next = format!("/event/{}", n + 1);
            [
                (event, "it is over".to_owned(), vec![ticket.clone()]),
                (ticket, "sold out".to_owned(), vec![next]),
            ]
        });
        let (count, _) = visit(&mut TrapWatch::default(), pages).unwrap();
        assert!(count <= 40, "{count}");
    }

    #[test]
    fn empty_pages_that_lead_to_empty_pages_and_not_on_are_no_trap() {
        let pages = (0..1000).flat_map(|n| {
            let (user, friends) = (format!("/user/{n}"), format!("/friends/{n}"));
            [
                (user, "no posts yet".to_owned(), vec![friends.clone()]),
                (friends, "no friends yet".to_owned(), Vec::new()),
            ]
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn a_session_in_the_path_is_found_whatever_it_looks_like() {
        let sessions: [fn(usize) -> String; 3] = [
            |n| format!("{:08x}-abcd-4abc-8abc-{:012x}", drawn(n, 0), drawn(n, 1)),
            |n| format!("(S({}))", letters(n)),
            letters,
        ];
        for session in sessions {
            let pages = (0..1000).map(|n| {
                let links = (1..4).map(|k| format!("/{}/page/{}", session(3 * n + k), n % 30));
                let text = own_words(n % 30);
                (
                    format!("/{}/page/{}", session(n), n % 30),
                    text,
                    links.collect(),
                )
            });
            let (count, found) = visit(&mut TrapWatch::default(), pages).unwrap();
            assert!(count <= 120, "{count} {found:?}");
        }
    }

    #[test]
    fn a_host_with_ever_more_directories_that_say_something_is_no_trap() {
        let pages = (0..20_000).map(|n| {
            let link = format!("/{}/about", letters(n + 1));
            let text = format!("{} {}", letters(drawn(n, 0)), own_words(n));
            (format!("/{}/about", letters(n)), text, vec![link])
        });
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn equal_pages_that_do_not_grow_are_no_trap() {
        let pages = (0..2000).map(|n| (format!("/user/{n}"), "no posts yet".into(), Vec::new()));
        assert_eq!(visit(&mut TrapWatch::default(), pages), None);
    }

    #[test]
    fn made_up_text_in_a_maze_is_found_by_its_words() {
        let mut state = 1_u64;
        let mut draw = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut babble = |count: usize| -> String {
            let words: Vec<String> = (0..count).map(|_| format!("v{}", draw(800))).collect();
            words.join(" ")
        };
        let letters = |n: usize| -> String {
            let digit =
                |at: u32| char::from(b'a' + u8::try_from(n / 10_usize.pow(at) % 10).unwrap());
            (0..4).map(digit).collect()
        };
        let pages = (0..2000).map(|n| {
            let links = (1..4).map(|k| format!("/maze/{}/{}", letters(n + k), letters(k)));
            (
                format!("/maze/{}/x", letters(n)),
                babble(150),
                links.collect(),
            )
        });
        let (count, found) = visit(&mut TrapWatch::default(), pages).unwrap();
        assert!(count <= 400, "{count}");
        assert_eq!(found.pattern, "/maze/**");
    }

    #[test]
    fn a_picture_is_new_by_what_it_is_and_not_by_its_url() {
        let mut watch = TrapWatch::default();
        let dot = |n: usize| url(&format!("/px?r=0a1b2c3d{n:08x}"));
        let picture = |n: usize| url(&format!("/pictures/{n}.png"));
        for n in 0..100 {
            assert_eq!(watch.may_be_new(&dot(n)), n <= 5, "{n}");
            watch.note_requisite(&dot(n), n == 0);
            assert!(watch.may_be_new(&picture(n)));
            watch.note_requisite(&picture(n), true);
        }
        watch.note_requisite(&dot(100), true);
        assert!(watch.may_be_new(&dot(101)), "until there is a new one");
        for n in 0..20_000_usize {
            let letter =
                |at: u32| char::from(b'a' + u8::try_from(n / 26_usize.pow(at) % 26).unwrap());
            let word: String = (0..4).map(letter).collect();
            watch.may_be_new(&url(&format!("/{word}/x")));
        }
        let kept = watch.requisites.len() + watch.older_requisites.len();
        assert!(kept <= 2 * MOST_WATCHED, "{kept}");
    }

    #[test]
    fn however_many_patterns_there_are_memory_is_bounded() {
        let mut watch = TrapWatch::default();
        let config = TrapsConfig::default();
        let sketch = Sketch::new("http://a.test/", "words", b"");
        let brought = Brought {
            new: &[],
            else_new: false,
            bytes: 1000,
        };
        for number in 0..20_000 {
            watch.note(&config, HostId(number), &url("/a"), &sketch, brought);
        }
        assert!(watch.len() <= 2 * MOST_WATCHED);
        for number in 0..20_000 {
            watch.note_nothing(&url(&format!("/{}", letters(number))));
        }
        assert!(watch.kinds.len() + watch.older_kinds.len() <= 2 * MOST_KINDS);
    }
}
