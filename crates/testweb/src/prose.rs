//! Prose: blocks of paragraphs made once, out of which every page takes its share.

use crate::draw::{below, mix};
use crate::words::{ENGLISH, PORTUGUESE};

const MAX_BLOCKS: usize = 256;
/// Memory for all blocks, about: large pages have fewer of them.
const MAX_BYTES: usize = 16 << 20;
/// Phrases of which each block is made.
const PHRASES: u32 = 160;

/// The language of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Portuguese.
    Portuguese,
    /// English.
    English,
}

impl Language {
    /// The tag for `<html lang>`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Portuguese => "pt",
            Self::English => "en",
        }
    }

    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Portuguese => &PORTUGUESE,
            Self::English => &ENGLISH,
        }
    }
}

/// A few hundred blocks of paragraphs, even ones Portuguese and odd ones English.
#[derive(Debug)]
pub(crate) struct Prose {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    text: Vec<u8>,
    /// Where paragraphs begin, the end of the text included.
    starts: Vec<usize>,
}

impl Prose {
    /// Blocks from which whole paragraphs of up to `share_bytes` can be cut at many places.
    pub(crate) fn new(seed: u64, share_bytes: usize) -> Self {
        let wanted = share_bytes + share_bytes / 2 + 2048;
        let pairs = (MAX_BYTES / wanted).clamp(4, MAX_BLOCKS) / 2;
        let blocks = (0_u32..)
            .take(pairs * 2)
            .map(|number| block(seed, number, wanted))
            .collect();
        Self { blocks }
    }

    /// Whole paragraphs of at most `bytes`, chosen by the draw.
    pub(crate) fn share(&self, language: Language, draw: u64, bytes: usize) -> &[u8] {
        let pairs = u32::try_from(self.blocks.len() / 2).unwrap_or(0);
        let number = below(draw, pairs) * 2 + u32::from(language == Language::English);
        let block = &self.blocks[number as usize];
        let thirds = u32::try_from(block.starts.len() / 3).unwrap_or(0);
        let start = block.starts[below(draw.rotate_left(32), thirds) as usize];
        let after = block.starts.partition_point(|&at| at <= start + bytes);
        &block.text[start..block.starts[after - 1]]
    }
}

fn block(seed: u64, number: u32, wanted: usize) -> Block {
    let language = if number.is_multiple_of(2) {
        Language::Portuguese
    } else {
        Language::English
    };
    let mut drawn = 0_u64;
    let mut draw = |bound: u32| {
        drawn += 1;
        below(mix(&[seed, 77, u64::from(number), drawn]), bound)
    };
    let phrases: Vec<String> = (0..PHRASES).map(|_| phrase(language, &mut draw)).collect();
    let (mut text, mut starts) = (Vec::with_capacity(wanted + 512), vec![0]);
    while text.len() < wanted {
        text.extend_from_slice(b"<p>");
        for sentence in 0..2 + draw(3) {
            if sentence > 0 {
                text.push(b' ');
            }
            let first = &phrases[draw(PHRASES) as usize];
            let mut letters = first.chars();
            let upper = letters.next().into_iter().flat_map(char::to_uppercase);
            text.extend_from_slice(upper.collect::<String>().as_bytes());
            text.extend_from_slice(letters.as_str().as_bytes());
            for _ in 0..2 + draw(3) {
                text.push(b' ');
                text.extend_from_slice(phrases[draw(PHRASES) as usize].as_bytes());
            }
            text.push(b'.');
        }
        text.extend_from_slice(b"</p>\n");
        starts.push(text.len());
    }
    Block { text, starts }
}

/// A few words that often come together in one block: this is what makes it compress like a real page.
fn phrase(language: Language, draw: &mut impl FnMut(u32) -> u32) -> String {
    let words = language.words();
    let count = u32::try_from(words.len()).unwrap_or(1);
    let mut phrase = String::new();
    for word in 0..2 + draw(3) {
        if word > 0 {
            phrase.push(' ');
        }
        // Two draws, one within the other, favour the head of the list, as real text does.
        let bound = 1 + draw(count);
        phrase.push_str(words[draw(bound) as usize]);
    }
    phrase
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_whole_paragraphs_and_nearly_the_bytes_asked_for() {
        let prose = Prose::new(1, 20_000);
        for draw in 0..500 {
            let share = prose.share(Language::Portuguese, mix(&[draw]), 20_000);
            let text = std::str::from_utf8(share).unwrap();
            assert!(text.starts_with("<p>") && text.ends_with("</p>\n"));
            assert!((19_000..=20_000).contains(&share.len()), "{}", share.len());
        }
        assert!(prose.share(Language::English, 5, 10).is_empty());
    }
}
