//! The watch: which patterns of a host have stopped bringing anything new.

use std::collections::HashMap;

use teia_base::{CanonicalUrl, HostId};
use xxhash_rust::xxh3::xxh3_64;

use super::config::TrapsConfig;
use super::pattern::patterns;
use super::sketch::Sketch;

/// Patterns that are watched at once, of the newer and of the older ones each: 24 MiB in all.
const MOST_WATCHED: usize = 4096;
/// A page of which less than this share (of a hundred) is new says nothing new.
const NEW_SHARE: usize = 10;
/// And so does one of which less than this is new, if it has no new word: the same things in another order.
const REORDERED_SHARE: usize = 35;
/// A machine that makes up text runs out of words, people do not.
const NEW_WORDS_SHARE: usize = 2;
/// A page with fewer words shows nothing of whoever wrote it.
const FEWEST_WORDS: usize = 20;

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
}

/// What a page brought, beside what it says.
#[derive(Clone, Copy, Debug)]
pub struct Brought<'a> {
    /// URLs of its own host that nobody had met before.
    pub new: &'a [&'a CanonicalUrl],
    /// Something else that was new: a URL of another host, a picture that
    /// [`may be new`](TrapWatch::may_be_new).
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
        let mut inside = vec![0_u32; own.len()];
        let mut outside = vec![brought.else_new; own.len()];
        for link in brought.new {
            let found = patterns(link);
            for (at, pattern) in own.iter().enumerate() {
                if found.len() == own.len() && found[at] == *pattern {
                    inside[at] = inside[at].saturating_add(1);
                } else {
                    outside[at] = true;
                }
            }
        }
        let mut suspicion = None;
        // Directories that are new for ever: only the host itself shows that nothing is said in them.
        let grown: u32 = brought.new.len().try_into().unwrap_or(u32::MAX);
        let whole = self.watch((host, xxh3_64(WHOLE_HOST.as_bytes())));
        let seen = whole.note_words(config, sketch, grown, brought);
        let whole_host = seen.map(|(pages, why)| Suspicion {
            pattern: WHOLE_HOST.to_owned(),
            pages,
            why,
        });
        for (at, pattern) in own.into_iter().enumerate() {
            let is_directory = pattern.ends_with("/**");
            let watch = self.watch((host, xxh3_64(pattern.as_bytes())));
            let brought = Brought {
                else_new: outside[at],
                ..brought
            };
            let seen = watch.note(config, sketch, inside[at], brought, is_directory);
            if let Some((pages, why)) = seen.filter(|_| suspicion.is_none()) {
                suspicion = Some(Suspicion {
                    pattern,
                    pages,
                    why,
                });
            }
        }
        suspicion.or(whole_host)
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

/// One pattern of one host.
#[derive(Debug, Default)]
struct Watch {
    repeats: Run,
    dull: Run,
    babble: Run,
    said: Filter<256>,
    words: Filter<128>,
}

impl Watch {
    /// Only whether there are new words.
    fn note_words(
        &mut self,
        config: &TrapsConfig,
        sketch: &Sketch,
        inside: u32,
        brought: Brought<'_>,
    ) -> Option<(u32, &'static str)> {
        let outside = brought.else_new;
        let new_words = self.words.meet(&sketch.words);
        let has_new_words = new_words * 100 >= sketch.words.len() * NEW_WORDS_SHARE;
        let is_prose = !sketch.is_table && sketch.words.len() >= FEWEST_WORDS;
        let is_babble = is_prose && !has_new_words && !outside && inside > 0;
        self.babble.note(is_babble, inside, brought.bytes);
        let enough = config.maze_pages.saturating_mul(WHOLE_HOST_PAGES);
        self.babble
            .is_trap(enough)
            .then_some((self.babble.pages, "have not one new word"))
    }

    fn note(
        &mut self,
        config: &TrapsConfig,
        sketch: &Sketch,
        inside: u32,
        brought: Brought<'_>,
        is_directory: bool,
    ) -> Option<(u32, &'static str)> {
        let (outside, bytes) = (brought.else_new, brought.bytes);
        let is_repeat = self.said.meet_all(sketch.digest);
        let new = self.said.meet(&sketch.shingles);
        let new_words = self.words.meet(&sketch.words);
        let has_new_words = new_words * 100 >= sketch.words.len() * NEW_WORDS_SHARE;
        let is_dull = match sketch.shingles.len() {
            0 => is_repeat,
            _ if sketch.is_table => is_repeat,
            all if has_new_words => new * 100 < all * NEW_SHARE,
            all => new * 100 < all * REORDERED_SHARE,
        };
        self.repeats.note(is_repeat && !outside, inside, bytes);
        self.dull
            .note((is_repeat || is_dull) && !outside, inside, bytes);
        let is_prose = !sketch.is_table && sketch.words.len() >= FEWEST_WORDS;
        let is_babble = is_directory && is_prose && !has_new_words;
        self.babble
            .note(is_babble && !outside && inside > 0, inside, bytes);
        if self.repeats.is_trap(config.repeats) {
            return Some((self.repeats.pages, "are the same page again and again"));
        }
        if self.dull.is_trap(config.pages) {
            return Some((self.dull.pages, "say nothing that others did not say"));
        }
        self.babble
            .is_trap(config.maze_pages)
            .then_some((self.babble.pages, "have not one new word"))
    }
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
            .filter(|hash| self.put(**hash as usize))
            .count();
        // Half full it would take too much for met. What is forgotten counts as new once more, so
        // that nothing is quarantined for it.
        if self.set > WORDS * 32 {
            self.bits.fill(0);
            self.set = 0;
        }
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
        all
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
    }
}
