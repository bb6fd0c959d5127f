//! The piece of a page that shows why it was found.

use std::collections::HashSet;

use super::results::Snippet;
use crate::language::Stemmer;
use crate::page::{Page, cut};
use crate::text::{Word, fold, words};

/// Bytes of text that are looked through.
const MAX_READ_BYTES: usize = 128 << 10;
/// Words of a snippet.
const WORDS: usize = 34;
/// Words before the first match.
const LEAD: usize = 6;
const MAX_SNIPPET_BYTES: usize = 600;

/// Shows the stretch of the page's text with most different words of the query.
pub(super) fn snippet(page: &Page, terms: &HashSet<String>, prefixes: &[String]) -> Snippet {
    let text = cut(&page.text, MAX_READ_BYTES);
    let stemmer = Stemmer::of(&page.language);
    let all: Vec<Word> = words(text).collect();
    let mut matching: Vec<(usize, String)> = Vec::new();
    for (number, word) in all.iter().enumerate() {
        let written = &text[word.start..word.end];
        let folded = fold(written);
        if terms.contains(&folded)
            || prefixes
                .iter()
                .any(|prefix| folded.starts_with(prefix.as_str()))
        {
            matching.push((number, folded));
        } else if let Some(stem) = stemmer.term(written).filter(|stem| terms.contains(stem)) {
            matching.push((number, stem));
        }
    }
    if matching.is_empty() && !page.description.is_empty() {
        return Snippet {
            text: clean(cut(&page.description, MAX_SNIPPET_BYTES)).0,
            highlights: Vec::new(),
        };
    }
    let first = best_start(&matching).saturating_sub(LEAD);
    // A text is not cut for the sake of a few words.
    let first = if first < LEAD { 0 } else { first };
    let last = (first + WORDS).min(all.len());
    let (Some(begin), Some(end)) = (all.get(first), all[..last].last()) else {
        return Snippet::default();
    };
    let end = cut(&text[..end.end], begin.start + MAX_SNIPPET_BYTES).len();
    let marked: HashSet<usize> = matching.iter().map(|(number, _)| *number).collect();
    let mut snippet = Snippet::default();
    if begin.start > 0 {
        snippet.text.push_str("… ");
    }
    let (cleaned, places) = clean(&text[begin.start..end]);
    let shift = snippet.text.len();
    snippet.text.push_str(&cleaned);
    for (number, word) in all.iter().enumerate().take(last).skip(first) {
        if marked.contains(&number) && word.end <= end {
            let from = places[word.start - begin.start] + shift;
            let to = places[word.end - begin.start] + shift;
            match snippet.highlights.last_mut() {
                Some(known) if known.end >= from => known.end = to.max(known.end),
                _ => snippet.highlights.push(from..to),
            }
        }
    }
    if end < text.len() {
        snippet.text.push_str(" …");
    }
    snippet
}

/// The match from which a stretch has most different words.
fn best_start(matching: &[(usize, String)]) -> usize {
    let mut best = (0, 0, 0);
    for (index, (start, _)) in matching.iter().enumerate().take(2_000) {
        let within = matching[index..]
            .iter()
            .take_while(|(number, _)| *number < start + WORDS - LEAD);
        let within: Vec<&str> = within.take(WORDS).map(|(_, form)| form.as_str()).collect();
        let different = within.iter().collect::<HashSet<_>>().len();
        if (different, within.len()) > (best.0, best.1) {
            best = (different, within.len(), *start);
        }
    }
    best.2
}

/// Without control characters and marks that turn the direction of text; and where each byte went.
fn clean(text: &str) -> (String, Vec<usize>) {
    let mut cleaned = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() + 1);
    for character in text.chars() {
        for _ in 0..character.len_utf8() {
            places.push(cleaned.len());
        }
        match character {
            '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            _ if character.is_control() || character.is_whitespace() => cleaned.push(' '),
            _ => cleaned.push(character),
        }
    }
    places.push(cleaned.len());
    (cleaned, places)
}

/// One line of a page, safe to show.
pub(super) fn line(text: &str) -> String {
    clean(cut(text, MAX_SNIPPET_BYTES)).0
}
