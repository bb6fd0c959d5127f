//! A sketch of what a page says: enough to tell later whether another page says anything else.

use xxhash_rust::xxh3::xxh3_64;

/// Words that are looked at.
const MOST_WORDS: usize = 4000;
/// Of a longer page only some shingles are kept.
const SAMPLED_FROM: usize = 256;

/// What a page says, in hashes: bounded, whatever the page.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Of all it says.
    pub(super) digest: u64,
    /// Of three words in a row each.
    pub(super) shingles: Vec<u32>,
    /// Of each word.
    pub(super) words: Vec<u32>,
    /// Most of it are numbers, which repeat each other however much they say: only the whole counts.
    pub(super) is_table: bool,
}

impl Sketch {
    /// Of a text at a URL; `body` stands for pages without text. What the URL says is not said by the
    /// page: a number or a name that stands in it, or the number before or after, is passed over.
    pub fn new(url: &str, text: &str, body: &[u8]) -> Self {
        let mut said: Vec<&str> = Vec::new();
        let mut numbers: Vec<u64> = Vec::new();
        for word in words(url).take(64) {
            said.push(word);
            numbers.extend(word.parse::<u64>().ok());
        }
        let is_said = |word: &str| {
            said.iter().any(|it| it.eq_ignore_ascii_case(word))
                || word
                    .parse::<u64>()
                    .is_ok_and(|number| numbers.iter().any(|other| other.abs_diff(number) <= 1))
        };
        let mut hashes = Vec::new();
        let mut lower = String::new();
        let mut figures = 0;
        for word in words(text).take(MOST_WORDS) {
            lower.clear();
            figures += usize::from(word.bytes().all(|byte| byte.is_ascii_digit()));
            if is_said(word) {
                lower.push('#');
            } else {
                lower.extend(word.chars().flat_map(char::to_lowercase));
            }
            hashes.push(xxh3_64(lower.as_bytes()));
        }
        if hashes.is_empty() {
            return Self {
                digest: xxh3_64(body),
                ..Self::default()
            };
        }
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        let sampled = |hash: &u64| hashes.len() < SAMPLED_FROM || hash.is_multiple_of(8);
        let mut shingles: Vec<u32> = bytes
            .windows(24)
            .step_by(8)
            .map(xxh3_64)
            .filter(sampled)
            .map(half)
            .collect();
        shingles.sort_unstable();
        shingles.dedup();
        let mut words: Vec<u32> = hashes.iter().copied().filter(sampled).map(half).collect();
        words.sort_unstable();
        words.dedup();
        Self {
            digest: xxh3_64(&bytes),
            shingles,
            words,
            is_table: figures * 2 > hashes.len(),
        }
    }
}

/// The high half of a hash.
fn half(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
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
    fn a_sketch_is_bounded() {
        let text: String = (0..100_000).map(|n| format!("word{n} ")).collect();
        let sketch = Sketch::new("http://a.test/", &text, b"");
        assert!(sketch.shingles.len() <= MOST_WORDS && sketch.words.len() <= MOST_WORDS);
    }
}
