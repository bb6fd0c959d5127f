//! What a link says: its anchor text, where it stood, and what its `rel` asks, as one text.
//!
//! ```text
//! mark (1 byte), anchor (UTF-8)        mark: quiet << 7 | foreign << 6 | nofollow << 5 | kind
//! ```
//!
//! Labels are kept sorted in a dictionary, and so those that endorse their target, whose marks are
//! the smallest, are all numbers below one bound.

use teia_base::{LinkKind, Rel};

/// The first byte that no label of an endorsing link begins with.
pub(crate) const QUIET: u8 = 0x80;
const FOREIGN: u8 = 0x40;
const NOFOLLOW: u8 = 0x20;
const KIND: u8 = 0x1F;

/// Kinds by their number in files; new ones go at the end.
const KINDS: [LinkKind; 20] = [
    LinkKind::Anchor,
    LinkKind::Area,
    LinkKind::Canonical,
    LinkKind::Alternate,
    LinkKind::Frame,
    LinkKind::Form,
    LinkKind::Refresh,
    LinkKind::Redirect,
    LinkKind::Header,
    LinkKind::Sitemap,
    LinkKind::Feed,
    LinkKind::Text,
    LinkKind::Image,
    LinkKind::Style,
    LinkKind::Script,
    LinkKind::Icon,
    LinkKind::Media,
    LinkKind::Object,
    LinkKind::Css,
    LinkKind::Seed,
];
/// What a kind that this table does not know yet is taken for.
const OTHER: LinkKind = LinkKind::Alternate;

/// What one link says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its text, or the `alt` of its picture.
    pub anchor: String,
    /// Where it stood.
    pub kind: LinkKind,
    /// What its `rel` asks.
    pub rel: Rel,
}

impl Label {
    /// Whether a link speaks for its target: it is no part of the page, such as an image, and its
    /// author does not ask us to pass over it.
    pub fn endorses(kind: LinkKind, rel: Rel) -> bool {
        !(kind.is_requisite() || rel.nofollow || rel.foreign)
    }

    /// Writes the text of a label, its anchor cut at a character to at most so many bytes.
    pub(crate) fn encode(kind: LinkKind, rel: Rel, anchor: &str, most: usize, out: &mut Vec<u8>) {
        let find = |kind| KINDS.iter().position(|known| *known == kind);
        let number = find(kind).or(find(OTHER)).unwrap_or(0);
        let mut mark = u8::try_from(number).unwrap_or(0) & KIND;
        if !Self::endorses(kind, rel) {
            mark |= QUIET;
        }
        if rel.foreign {
            mark |= FOREIGN;
        }
        if rel.nofollow {
            mark |= NOFOLLOW;
        }
        out.clear();
        out.push(mark);
        out.extend_from_slice(&anchor.as_bytes()[..anchor.floor_char_boundary(most)]);
    }

    /// Reads the text of a label.
    pub(crate) fn decode(text: &[u8]) -> Self {
        let mark = text.first().copied().unwrap_or(0);
        Self {
            anchor: String::from_utf8_lossy(text.get(1..).unwrap_or_default()).into_owned(),
            kind: *KINDS.get(usize::from(mark & KIND)).unwrap_or(&OTHER),
            rel: Rel {
                nofollow: mark & NOFOLLOW != 0,
                foreign: mark & FOREIGN != 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_comes_back_and_endorsing_ones_are_the_smallest() {
        let mut bytes = Vec::new();
        for kind in KINDS {
            for (nofollow, foreign) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let rel = Rel { nofollow, foreign };
                Label::encode(kind, rel, "São\0 Paulo", 512, &mut bytes);
                let expected = Label {
                    anchor: "São\0 Paulo".to_owned(),
                    kind,
                    rel,
                };
                assert_eq!(Label::decode(&bytes), expected);
                assert_eq!(bytes[0] < QUIET, Label::endorses(kind, rel));
            }
        }
        Label::encode(LinkKind::Anchor, Rel::default(), "ção", 3, &mut bytes);
        assert_eq!(bytes, "\0ç".as_bytes());
    }
}
