//! The piece of a page that shows why it was found.

use std::collections::HashSet;

use super::results::Snippet;
use crate::language::Stemmer;
use crate::page::{Page, cut};
use crate::text::{Word, fold, without_mark, words};

/// Bytes of text that are looked through.
const MAX_READ_BYTES: usize = 128 << 10;
/// Words of a snippet.
const WORDS: usize = 34;
/// Words before the first match.
const LEAD: usize = 6;
const MAX_SNIPPET_BYTES: usize = 600;

/// What is marked in a snippet.
pub(super) struct Marked {
    terms: HashSet<String>,
    prefixes: Vec<String>,
    /// How the folded forms and the stems begin. Snowball takes endings away, so that a word which
    /// begins otherwise need not be stemmed: that is nearly all of them, and most of the time.
    starts: HashSet<[u8; 2]>,
    firsts: [bool; 256],
    /// Words that were looked for.
    count: usize,
}

impl Marked {
    /// These terms of the index for so many words, and all words with these prefixes.
    pub(super) fn new(terms: HashSet<String>, prefixes: Vec<String>, count: usize) -> Self {
        let (mut starts, mut firsts) = (HashSet::new(), [false; 256]);
        for form in terms.iter().chain(&prefixes) {
            let start = start_of(without_mark(form));
            starts.insert(start);
            firsts[usize::from(start[0])] = true;
        }
        // A prefix of one letter goes on with any other.
        let is_short = prefixes.iter().any(|prefix| prefix.len() < 2);
        if is_short {
            firsts = [true; 256];
            starts.clear();
        }
        Self {
            terms,
            prefixes,
            starts,
            firsts,
            count,
        }
    }

    /// The form under which a word of a text matches.
    fn form(&self, written: &str, stemmer: Stemmer) -> Option<String> {
        let may_match = |start: [u8; 2]| {
            self.firsts[usize::from(start[0])]
                && (self.starts.is_empty() || self.starts.contains(&start))
        };
        if written.is_ascii() && !may_match(start_of(written)) {
            return None;
        }
        let folded = fold(written);
        if !may_match(start_of(&folded)) {
            return None;
        }
        let is_marked = self.terms.contains(&folded)
            || self
                .prefixes
                .iter()
                .any(|prefix| folded.starts_with(prefix.as_str()));
        if is_marked {
            return Some(folded);
        }
        stemmer
            .term(written)
            .filter(|stem| self.terms.contains(stem))
    }
}

/// The first two bytes, in lower case.
fn start_of(word: &str) -> [u8; 2] {
    let mut bytes = word.bytes().map(|byte| byte.to_ascii_lowercase());
    [bytes.next().unwrap_or(0), bytes.next().unwrap_or(0)]
}

/// Shows the stretch of the page's text with most different words of the query.
pub(super) fn snippet(page: &Page, marked: &Marked) -> Snippet {
    let text = cut(&page.text, MAX_READ_BYTES);
    let stemmer = Stemmer::of(&page.language);
    let mut all: Vec<Word> = Vec::new();
    let mut matching: Vec<(usize, String)> = Vec::new();
    // A stretch with all the words will not be bettered: only its end is read then.
    let mut end = usize::MAX;
    for (number, word) in words(text).enumerate() {
        if number >= end {
            break;
        }
        all.push(word);
        let Some(form) = marked.form(&text[word.start..word.end], stemmer) else {
            continue;
        };
        matching.push((number, form));
        if end == usize::MAX && has_all(&matching, marked.count) {
            end = number + 2 * WORDS;
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
    let shown: HashSet<usize> = matching.iter().map(|(number, _)| *number).collect();
    let mut snippet = Snippet::default();
    if begin.start > 0 {
        snippet.text.push_str("… ");
    }
    let (cleaned, places) = clean(&text[begin.start..end]);
    let shift = snippet.text.len();
    snippet.text.push_str(&cleaned);
    for (number, word) in all.iter().enumerate().take(last).skip(first) {
        if shown.contains(&number) && word.end <= end {
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

/// Whether the last stretch has as many different words as were looked for.
fn has_all(matching: &[(usize, String)], count: usize) -> bool {
    let Some((last, _)) = matching.last() else {
        return false;
    };
    let stretch = matching.iter().rev().take(WORDS);
    let stretch = stretch.take_while(|(number, _)| number + (WORDS - LEAD) > *last);
    let different: HashSet<&str> = stretch.map(|(_, form)| form.as_str()).collect();
    different.len() >= count
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
