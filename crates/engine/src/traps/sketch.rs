//! A sketch of what a page says: enough to tell later whether another page says anything else.

use xxhash_rust::xxh3::xxh3_64;

use super::pattern::{after_uuid, is_id};

/// Words that are looked at.
const MOST_WORDS: usize = 4000;
/// Of a longer page only some shingles are kept: one of so many, and so many at most.
const SAMPLED_FROM: usize = 256;
const SAMPLED: usize = 8;
const MOST_KEPT: usize = 256;
const MOST_FIGURES: usize = 128;
/// What stands for each number, and each id, where only words count.
const FIGURE: u64 = 1;

/// What a page says, in hashes: bounded, whatever the page.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Of all it says.
    pub(super) digest: u64,
    /// Of three words in a row each; numbers are all alike in them.
    pub(super) shingles: Vec<u32>,
    /// Of each word.
    pub(super) words: Vec<u32>,
    /// Of each number with the two words before it.
    pub(super) figures: Vec<u32>,
    /// Of each id: what has letters and digits mixed.
    pub(super) ids: Vec<u32>,
    /// One shingle of so many was kept, about.
    pub(super) sampled: usize,
    /// Most of it are numbers.
    pub(super) is_table: bool,
}

impl Sketch {
    /// Of a text at a URL; `body` stands for pages without text. What the URL says is not said by the
    /// page: a number or a name that stands in it, or the number before or after, is passed over.
    pub fn new(url: &str, text: &str, body: &[u8]) -> Self {
        let said = Said::by(url);
        let mut hashes: Vec<u64> = Vec::new();
        let mut shapes: Vec<u64> = Vec::new();
        let (mut words, mut figures, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        let mut numbers = 0;
        let mut lower = String::new();
        for word in (Words { rest: text }).take(MOST_WORDS) {
            let is_figure = word.starts_with(|c: char| c.is_ascii_digit());
            numbers += usize::from(is_figure);
            lower.clear();
            let is_ascii = word.is_ascii();
            let is_said = said.has(word);
            if is_said {
                lower.push('#');
            } else if is_ascii {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                lower.extend(word.chars().flat_map(char::to_lowercase));
            }
            let hash = xxh3_64(lower.as_bytes());
            hashes.push(hash);
            let is_whole = || word.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if is_said {
                shapes.push(FIGURE);
            } else if is_ascii && (is_id(word) && is_whole() || after_uuid(word).is_some()) {
                shapes.push(FIGURE);
                ids.push(half(hash));
            } else if is_figure {
                shapes.push(FIGURE);
                let last = &hashes[hashes.len().saturating_sub(3)..];
                figures.push(half(xxh3_64(&bytes_of(last))));
            } else {
                shapes.push(hash);
                words.push(hash);
            }
        }
        if hashes.is_empty() {
            return Self {
                digest: xxh3_64(body),
                sampled: 1,
                ..Self::default()
            };
        }
        let is_short = hashes.len() < SAMPLED_FROM;
        let is_kept = |hash: &u64| is_short || hash.is_multiple_of(SAMPLED as u64);
        let bytes = bytes_of(&shapes);
        let shingles = bytes.windows(24).step_by(8).map(xxh3_64);
        Self {
            digest: xxh3_64(&bytes_of(&hashes)),
            shingles: some(shingles.filter(is_kept).map(half).collect(), MOST_KEPT),
            words: some(
                words.into_iter().filter(is_kept).map(half).collect(),
                MOST_KEPT,
            ),
            figures: some(figures, MOST_FIGURES),
            ids: some(ids, MOST_FIGURES),
            sampled: if is_short { 1 } else { SAMPLED },
            is_table: numbers * 2 > hashes.len(),
        }
    }
}

/// Each once and in order; of many the same ones on every page.
fn some(mut hashes: Vec<u32>, most: usize) -> Vec<u32> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(most);
    hashes
}

fn bytes_of(hashes: &[u64]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect()
}

/// What a URL says.
struct Said<'a> {
    words: Vec<&'a str>,
    numbers: Vec<u64>,
}

impl<'a> Said<'a> {
    fn by(url: &'a str) -> Self {
        let words: Vec<&str> = parts(url).take(64).collect();
        let numbers = words.iter().filter_map(|word| word.parse().ok()).collect();
        Self { words, numbers }
    }

    /// Whether it says all of this.
    fn has(&self, word: &str) -> bool {
        let has_part = |part: &str| {
            self.words.iter().any(|it| it.eq_ignore_ascii_case(part))
                || part
                    .parse::<u64>()
                    .is_ok_and(|number| self.numbers.iter().any(|it| it.abs_diff(number) <= 1))
        };
        if word.contains(['-', '.', ':', ',', '/']) {
            parts(word).all(has_part)
        } else {
            has_part(word)
        }
    }
}

/// The high half of a hash.
fn half(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default()
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// The words of a text. Dates, moments, decimals and ids are one each: `2031-04-01`, `12:05:33`, `0.031`.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = &self.rest[self.rest.find(char::is_alphanumeric)?..];
        let end_from = |from: usize| {
            let after = &rest[from..];
            from + after
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(after.len())
        };
        let mut end = end_from(0);
        let uuid = (end == 8).then(|| after_uuid(rest)).flatten();
        if let Some(after) = uuid {
            end = rest.len() - after.len();
        } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
            while let [b'.' | b':' | b',' | b'-' | b'/', b'0'..=b'9', ..] = rest.as_bytes()[end..] {
                end = end_from(end + 1);
            }
        }
        let (word, after) = rest.split_at(end);
        self.rest = after;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_url_says_makes_no_difference() {
        let page = |n: u32| {
            let text = format!("Page {n} of many, next {}", n + 1);
            Sketch::new(&format!("http://a.test/list?page={n}"), &text, b"")
        };
        assert_eq!(page(7).digest, page(130).digest);
        let other = Sketch::new("http://a.test/list?page=7", "Page 7 of 90, next 8", b"");
        assert_ne!(page(7).digest, other.digest);
    }

    #[test]
    fn a_page_without_text_is_its_body() {
        let one = Sketch::new("http://a.test/", " ", b"1");
        let two = Sketch::new("http://a.test/", "", b"2");
        assert_ne!(one.digest, two.digest);
        assert!(one.shingles.is_empty());
    }

    #[test]
    fn a_moment_and_a_decimal_are_one_number_each_and_an_id_is_none() {
        let text = "Made in 0.0312 s at 12:05:33 on 2031-04-01, 12/2031. \
                    9f3a77c2-abcd-4def-8abc-deadbeefcafe x200 größe, 1,5";
        let words: Vec<&str> = Words { rest: text }.collect();
        let wanted = "Made in 0.0312 s at 12:05:33 on 2031-04-01 12/2031 \
                      9f3a77c2-abcd-4def-8abc-deadbeefcafe x200 größe 1,5";
        assert_eq!(words, wanted.split(' ').collect::<Vec<_>>());
        let sketch = |url: &str| Sketch::new(url, text, b"");
        assert_eq!(sketch("http://a.test/").figures.len(), 5);
        // What stands in the URL is passed over, in whatever order.
        assert_eq!(sketch("http://a.test/2031/12").figures.len(), 4);
    }

    #[test]
    fn where_only_numbers_and_ids_differ_the_words_are_the_same() {
        let page = |clock: &str, id: &str| {
            let text = format!("Made at {clock}, request {id}, by us");
            Sketch::new("http://a.test/", &text, b"")
        };
        let one = page("12:05:33", "9f3a77c2d1e8b4a5");
        let two = page("23:17:01", "0b1c2d3e4f5a6978");
        assert_ne!(one.digest, two.digest);
        assert_eq!((&one.shingles, &one.words), (&two.shingles, &two.words));
        assert_ne!(one.figures, two.figures);
    }

    #[test]
    fn a_sketch_is_bounded() {
        let text: String = (0..100_000).map(|n| format!("word{n} ")).collect();
        let sketch = Sketch::new("http://a.test/", &text, b"");
        assert!(sketch.shingles.len() <= MOST_KEPT && sketch.words.len() <= MOST_KEPT);
        let numbers: String = (0..100_000).map(|n| format!("{n} ")).collect();
        let sketch = Sketch::new("http://a.test/", &numbers, b"");
        assert_eq!(sketch.figures.len(), MOST_FIGURES);
    }
}
