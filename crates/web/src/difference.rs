//! What changed between the visible texts of two versions, word by word.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Bytes of a text that are compared.
const MAX_BYTES: usize = 512 << 10;
/// After this long the comparison is coarser, and says so.
const PATIENCE: Duration = Duration::from_millis(400);
/// Unchanged words that are shown beside a change.
const CONTEXT: usize = 14;
/// Parts that are shown; the rest is one skipped part.
const MAX_PARTS: usize = 2_000;

/// What a comparison came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// A version is no text.
    Unreadable,
    /// No word differs.
    Equal,
    /// These did.
    Changed(Change),
}

/// A change in parts, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) parts: Vec<Part>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) is_coarse: bool,
}

/// A run of words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Same(String),
    Added(String),
    Removed(String),
    /// So many unchanged words.
    Skipped(usize),
}

/// Compares two texts.
pub(crate) fn compare(old: &str, new: &str) -> Compared {
    let (old_text, new_text) = (cut(old), cut(new));
    let is_coarse = old_text.len() < old.len() || new_text.len() < new.len();
    let olds: Vec<&str> = old_text.split_whitespace().collect();
    let news: Vec<&str> = new_text.split_whitespace().collect();
    if olds == news {
        return Compared::Equal;
    }
    let difference = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_slices(&olds, &news);
    let mut runs: Vec<(ChangeTag, Vec<&str>)> = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for change in difference.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
        match runs.last_mut() {
            Some((tag, words)) if *tag == change.tag() => words.push(change.value()),
            _ => runs.push((change.tag(), vec![change.value()])),
        }
    }
    Compared::Changed(Change {
        parts: parts(&runs),
        added,
        removed,
        is_coarse,
    })
}

fn parts(runs: &[(ChangeTag, Vec<&str>)]) -> Vec<Part> {
    let mut parts = Vec::new();
    for (at, (tag, words)) in runs.iter().enumerate() {
        if parts.len() >= MAX_PARTS {
            let rest = runs[at..].iter().map(|(_, words)| words.len()).sum();
            parts.push(Part::Skipped(rest));
            break;
        }
        let text = |words: &[&str]| format!("{} ", words.join(" "));
        match tag {
            ChangeTag::Insert => parts.push(Part::Added(text(words))),
            ChangeTag::Delete => parts.push(Part::Removed(text(words))),
            ChangeTag::Equal => {
                let before = if at == 0 { 0 } else { CONTEXT };
                let after = if at + 1 == runs.len() { 0 } else { CONTEXT };
                if words.len() <= before + after + 4 {
                    parts.push(Part::Same(text(words)));
                    continue;
                }
                if before > 0 {
                    parts.push(Part::Same(text(&words[..before])));
                }
                parts.push(Part::Skipped(words.len() - before - after));
                if after > 0 {
                    parts.push(Part::Same(text(&words[words.len() - after..])));
                }
            }
        }
    }
    parts
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_word_is_removed_and_added() {
        let Compared::Changed(change) = compare("o melro canta alto", "o melro  dorme alto") else {
            panic!("they differ");
        };
        assert_eq!((change.added, change.removed), (1, 1));
        assert_eq!(
            change.parts[1..3],
            [Part::Removed("canta ".into()), Part::Added("dorme ".into())]
        );
    }

    #[test]
    fn white_space_is_no_change_and_long_same_parts_are_skipped() {
        assert_eq!(compare("a  b\nc", "a b c"), Compared::Equal);
        let long = "palavra ".repeat(500);
        let Compared::Changed(change) = compare(&long, &format!("{long} fim")) else {
            panic!("they differ");
        };
        assert_eq!(change.parts[0], Part::Skipped(486));
    }
}
