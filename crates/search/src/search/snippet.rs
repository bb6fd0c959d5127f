//! The piece of a page that shows why it was found.

use std::ops::Range;

use hashbrown::HashSet;

use super::closeness::Place;
use super::plan::WordPlan;
use super::results::Snippet;
use crate::error::SearchError;
use crate::language::Stemmer;
use crate::page::{Page, cut};
use crate::record::Stored;
use crate::text::{Word, fold, without_mark, words};

/// Words of a snippet.
const WORDS: usize = 34;
/// Words before the first match.
const LEAD: usize = 6;
const MAX_SNIPPET_BYTES: usize = 600;
/// Matches of a page that are looked at.
const MAX_STARTS: usize = 2_000;

/// What is marked in a snippet.
pub(super) struct Marked<'a> {
    terms: HashSet<String>,
    prefixes: Vec<String>,
    /// How the folded forms and the stems begin. Snowball takes endings away, so that a word which
    /// begins otherwise need not be stemmed: that is nearly all of them, and most of the time.
    starts: HashSet<[u8; 2]>,
    firsts: [bool; 256],
    /// Words that were looked for.
    pub(super) sought: &'a [WordPlan],
}

/// A word of a text that matches: its number there, and which one of those that match it is.
type Matching = (usize, usize);

impl<'a> Marked<'a> {
    /// These terms of the index for these words, and all words with these prefixes.
    pub(super) fn new(
        terms: HashSet<String>,
        prefixes: Vec<String>,
        sought: &'a [WordPlan],
    ) -> Self {
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
            sought,
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

/// Shows the stretch with most different words of the query, of a text that is read for it.
pub(super) fn of_short<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    marked: &Marked<'_>,
) -> Result<Snippet, SearchError> {
    let page = &stored.page;
    if page.max_snippet == Some(0) {
        return Ok(Snippet::default());
    }
    let text = stored.text(0..stored.pieces())?;
    let stemmer = Stemmer::of(&page.stemmed_as);
    let mut all: Vec<Word> = Vec::new();
    let mut forms: Vec<String> = Vec::new();
    let mut shown: HashSet<usize> = HashSet::new();
    let mut places = Places::default();
    // A stretch with all the words will not be bettered: only its end is read then.
    let mut end = usize::MAX;
    for (number, word) in words(&text).enumerate() {
        if number >= end {
            break;
        }
        all.push(word);
        let Some(form) = marked.form(&text[word.start..word.end], stemmer) else {
            continue;
        };
        let known = forms.iter().position(|known| *known == form);
        shown.insert(number);
        places.add(page, (number, known.unwrap_or(forms.len())));
        if known.is_none() {
            forms.push(form);
        }
        if end == usize::MAX && has_all(&places.main, marked.sought.len()) {
            end = number + 2 * WORDS;
        }
    }
    let Some(stretch) = places.stretch(page, all.len()) else {
        return Ok(described(page));
    };
    let words = all.iter().enumerate();
    let words = words.skip(stretch.start).take(stretch.len());
    let words = words.map(|(number, word)| (*word, shown.contains(&number)));
    Ok(bounded(cut_out(&text, words, (false, false)), page))
}

/// The same of a text of several pieces, of which the index tells where the words stand.
pub(super) fn of_long<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    found: &[Place],
    marked: &Marked<'_>,
) -> Result<Snippet, SearchError> {
    let page = &stored.page;
    if page.max_snippet == Some(0) {
        return Ok(Snippet::default());
    }
    let mut places = Places::default();
    for place in found {
        places.add(page, (place.position() as usize, place.number()));
    }
    let least_words = stored.first_word(stored.pieces() - 1) as usize + 1;
    let Some(stretch) = places.stretch(page, least_words) else {
        return Ok(described(page));
    };
    let piece_of = |word: usize| stored.piece_of(u32::try_from(word).unwrap_or(u32::MAX));
    let pieces = piece_of(stretch.start)..piece_of(stretch.end) + 1;
    let text = stored.text(pieces.clone())?;
    let skipped = stretch
        .start
        .saturating_sub(stored.first_word(pieces.start) as usize);
    let stemmer = Stemmer::of(&page.stemmed_as);
    let words = words(&text).skip(skipped).take(stretch.len());
    let words = words.map(|word| {
        let form = marked.form(&text[word.start..word.end], stemmer);
        (word, form.is_some())
    });
    let goes_on = (pieces.start > 0, pieces.end < stored.pieces());
    Ok(bounded(cut_out(&text, words, goes_on), page))
}

/// Where words of a text match.
#[derive(Debug, Default)]
struct Places {
    /// In the main text.
    main: Vec<Matching>,
    /// In menus and lists of links.
    beside: Vec<Matching>,
}

impl Places {
    fn add(&mut self, page: &Page, matching: Matching) {
        let margins = &page.margins;
        if margins.unquoted.has(matching.0) {
            return;
        }
        if margins.navigation.has(matching.0) {
            self.beside.push(matching);
        } else {
            self.main.push(matching);
        }
    }

    /// The words that are shown, of a text that has at least so many; none where the description says more than the
    /// text. Menus are shown where there is nothing else.
    fn stretch(&self, page: &Page, words: usize) -> Option<Range<usize>> {
        let margins = &page.margins;
        if self.main.is_empty() && !page.description.is_empty() {
            return None;
        }
        let mut is_beside = self.main.is_empty() && !self.beside.is_empty();
        let matching = if is_beside { &self.beside } else { &self.main };
        let mut start = best_start(matching);
        if matching.is_empty() {
            start = margins
                .unquoted
                .first_after(margins.navigation.first_after(0));
            // All of it is menus.
            if start >= words {
                is_beside = true;
                start = margins.unquoted.first_after(0);
            }
        }
        let free = margins.unquoted.around(start);
        let (mut from, mut to) = (free.start, free.end);
        if !is_beside {
            let main = margins.navigation.around(start);
            (from, to) = (from.max(main.start), to.min(main.end));
        }
        let mut first = start.saturating_sub(LEAD).max(from);
        // A short stretch is shown from its beginning.
        first = first.min(to.saturating_sub(WORDS)).max(from);
        // A text is not cut for the sake of a few words.
        if first < from + LEAD {
            first = from;
        }
        Some(first..to.min(first + WORDS))
    }
}

fn described(page: &Page) -> Snippet {
    let snippet = Snippet {
        text: clean(cut(&page.description, MAX_SNIPPET_BYTES)).0,
        highlights: Vec::new(),
    };
    bounded(snippet, page)
}

/// Within what the author of the page allows, with the sign that something is left out.
fn bounded(mut snippet: Snippet, page: &Page) -> Snippet {
    let Some(most) = page.max_snippet else {
        return snippet;
    };
    let most = most as usize;
    let characters = |text: &str, count: usize| {
        let end = text.char_indices().nth(count);
        end.map_or(text.len(), |(at, _)| at)
    };
    if characters(&snippet.text, most) == snippet.text.len() {
        return snippet;
    }
    let mut end = characters(&snippet.text, most.saturating_sub(ELLIPSIS.chars().count()));
    if !snippet.text[end..].starts_with(' ') {
        end = snippet.text[..end].rfind(' ').unwrap_or(end);
    }
    snippet.text.truncate(end);
    snippet.highlights.retain(|part| part.end <= end);
    if most > ELLIPSIS.chars().count() {
        snippet.text.push_str(ELLIPSIS);
    }
    snippet
}

/// What follows a text that was cut off.
const ELLIPSIS: &str = " …";

/// These words of a text, some of them marked; whether there is more text before it and after it.
fn cut_out(
    text: &str,
    words: impl Iterator<Item = (Word, bool)>,
    (more_before, more_after): (bool, bool),
) -> Snippet {
    let words: Vec<(Word, bool)> = words.collect();
    let (Some((begin, _)), Some((last, _))) = (words.first(), words.last()) else {
        return Snippet::default();
    };
    let end = cut(&text[..last.end], begin.start + MAX_SNIPPET_BYTES).len();
    let mut snippet = Snippet::default();
    if begin.start > 0 || more_before {
        snippet.text.push_str("… ");
    }
    let (cleaned, places) = clean(&text[begin.start..end]);
    let shift = snippet.text.len();
    snippet.text.push_str(&cleaned);
    for (word, is_marked) in &words {
        if *is_marked && word.end <= end {
            let from = places[word.start - begin.start] + shift;
            let to = places[word.end - begin.start] + shift;
            match snippet.highlights.last_mut() {
                Some(known) if known.end >= from => known.end = to.max(known.end),
                _ => snippet.highlights.push(from..to),
            }
        }
    }
    if end < text.len() || more_after {
        snippet.text.push_str(ELLIPSIS);
    }
    snippet
}

/// Whether the last stretch has as many different words as were looked for.
fn has_all(matching: &[Matching], count: usize) -> bool {
    let Some((last, _)) = matching.last() else {
        return false;
    };
    let stretch = matching.iter().rev().take(WORDS);
    let stretch = stretch.take_while(|(number, _)| number + (WORDS - LEAD) > *last);
    let different = stretch.fold(0, |different, (_, which)| different | bit(*which));
    different.count_ones() as usize >= count
}

/// The match from which a stretch has most different words.
fn best_start(matching: &[Matching]) -> usize {
    let mut best = (0, 0, 0);
    for (index, (start, _)) in matching.iter().enumerate().take(MAX_STARTS) {
        let within = matching[index..]
            .iter()
            .take_while(|(number, _)| *number < start + WORDS - LEAD);
        let (mut different, mut count) = (0, 0_usize);
        for (_, which) in within.take(WORDS) {
            different |= bit(*which);
            count += 1;
        }
        let different = different.count_ones();
        if (different, count) > (best.0, best.1) {
            best = (different, count, *start);
        }
    }
    best.2
}

/// A set of the words that match; beyond the 64th they count as one.
fn bit(which: usize) -> u64 {
    1 << which.min(63)
}

/// Without control characters and marks that turn the direction of text, and with a sign between lines; and where each byte
/// went.
fn clean(text: &str) -> (String, Vec<usize>) {
    let mut cleaned = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() + 1);
    for (at, character) in text.char_indices() {
        for _ in 0..character.len_utf8() {
            places.push(cleaned.len());
        }
        match character {
            '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            '\n' if wants_sign(&cleaned, &text[at + 1..]) => cleaned.push_str(BETWEEN_LINES),
            _ if character.is_control() || character.is_whitespace() => cleaned.push(' '),
            _ => cleaned.push(character),
        }
    }
    places.push(cleaned.len());
    (cleaned, places)
}

/// Stands between a heading and what follows it, between items, between cells.
const BETWEEN_LINES: &str = " · ";

/// Whether what is read on after this line would be taken for the same sentence. Where a sign stands already, that is enough.
fn wants_sign(line: &str, next: &str) -> bool {
    let closes =
        |c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '»' | '”' | '’' | '"' | '%');
    let opens =
        |c: char| c.is_alphanumeric() || matches!(c, '(' | '[' | '«' | '“' | '‘' | '"' | '¿' | '¡');
    line.chars().next_back().is_some_and(closes) && next.chars().next().is_some_and(opens)
}

/// One line of a page, safe to show.
pub(super) fn line(text: &str) -> String {
    clean(cut(text, MAX_SNIPPET_BYTES)).0
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn lines_are_told_apart_and_places_stay_right() {
        let check = |text: &str, shown: &str| assert_eq!(clean(text).0, shown, "{text:?}");
        check("Opening hours\nEvery day", "Opening hours · Every day");
        check("It is open.\nEvery day", "It is open. Every day");
        check("Hours:\nEvery day", "Hours: Every day");
        check("One\n· two", "One · two");
        check("Museu (Évora)\n“Sempre”", "Museu (Évora) · “Sempre”");
        let text = "São\nRoque";
        let (cleaned, places) = clean(text);
        let roque = text.find("Roque").unwrap();
        assert_eq!(&cleaned[places[roque]..places[text.len()]], "Roque");
        assert_eq!(&cleaned[places[0]..places[roque - 1]], "São");
    }
}
