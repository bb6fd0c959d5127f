//! Prose: blocks of paragraphs made once, out of which every page takes its share.

use crate::draw::{below, mix};
use crate::words::{ENGLISH, PORTUGUESE};

const BLOCKS: u32 = 256;

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
        Self { blocks: (0..BLOCKS).map(|number| block(seed, number, wanted)).collect() }
    }

    /// Whole paragraphs of at most `bytes`, chosen by the draw.
    pub(crate) fn share(&self, language: Language, draw: u64, bytes: usize) -> &[u8] {
        let number = below(draw, BLOCKS / 2) * 2 + u32::from(language == Language::English);
        let block = &self.blocks[number as usize];
        let thirds = u32::try_from(block.starts.len() / 3).unwrap_or(0);
        let start = block.starts[below(draw.rotate_left(32), thirds) as usize];
        let after = block.starts.partition_point(|&at| at <= start + bytes);
        &block.text[start..block.starts[after - 1]]
    }
}

fn block(seed: u64, number: u32, wanted: usize) -> Block {
    let language = if number.is_multiple_of(2) { Language::Portuguese } else { Language::English };
    let words = language.words();
    let (mut text, mut starts) = (Vec::with_capacity(wanted + 512), vec![0]);
    let mut drawn = 0_u64;
    let mut draw = |bound: u32| {
        drawn += 1;
        below(mix(&[seed, 77, u64::from(number), drawn]), bound)
    };
    while text.len() < wanted {
        text.extend_from_slice(b"<p>");
        for sentence in 0..2 + draw(3) {
            if sentence > 0 {
                text.push(b' ');
            }
            for word in 0..6 + draw(9) {
                // The product of two draws favours the head of the list, as real text does.
                let bound = 1 + draw(120);
                let chosen = words[draw(bound) as usize];
                if word == 0 {
                    let mut letters = chosen.chars();
                    if let Some(first) = letters.next() {
                        let upper: String = first.to_uppercase().chain(letters).collect();
                        text.extend_from_slice(upper.as_bytes());
                    }
                } else {
                    text.push(b' ');
                    text.extend_from_slice(chosen.as_bytes());
                }
            }
            text.push(b'.');
        }
        text.extend_from_slice(b"</p>\n");
        starts.push(text.len());
    }
    Block { text, starts }
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
