//! Another spelling for a word that hardly occurs: one that pages have which can be shown, written as they write
//! it.

use std::collections::HashMap;

use tantivy::postings::SegmentPostings;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, TERMINATED, Term};

use super::deadline::Deadline;
use super::known_words::{KnownWords, Near, state_of};
use super::plan::Sought;
use super::searcher::Shard;
use crate::error::SearchError;
use crate::query::{Place, is_field};
use crate::schema::{BODY, TITLE, URL_WORDS};
use crate::text::{fold, words};

/// Similar terms looked at for one word.
const MAX_SEEN: usize = 10_000;
/// The best of them whose pages are counted.
const MAX_COUNTED: usize = 8;
/// A similar word must be so many times as frequent.
const TIMES: u64 = 50;

/// The query with unknown words replaced, or none where there is nothing better.
pub(super) fn suggestion(
    shards: &[Shard],
    known: &KnownWords,
    query: &str,
    sought: &[Sought],
    deadline: &Deadline,
) -> Result<Option<String>, SearchError> {
    let mut suggested = query.to_owned();
    for word in sought.iter().filter(|word| !word.is_prefix).take(8) {
        let folded = fold(&word.typed);
        if folded.chars().count() < 4
            || word.documents > 2
            || folded.bytes().any(|b| b.is_ascii_digit())
        {
            continue;
        }
        if let Some(better) = similar(shards, known, &folded, word, deadline)? {
            suggested = replaced(&suggested, &word.typed, &better);
        }
    }
    Ok((suggested != query).then_some(suggested))
}

/// The query with a word of it replaced: a whole word, and no name of a field.
fn replaced(query: &str, typed: &str, better: &str) -> String {
    let mut found = words(query).filter(|word| {
        let is_name = query[word.end..].starts_with(':') && is_field(&query[word.start..word.end]);
        query[word.start..word.end] == *typed && !is_name
    });
    match found.next() {
        Some(word) => format!("{}{better}{}", &query[..word.start], &query[word.end..]),
        None => query.to_owned(),
    }
}

/// The nearest and most frequent word with the same first letter, as it is written.
fn similar(
    shards: &[Shard],
    known: &KnownWords,
    word: &str,
    sought: &Sought,
    deadline: &Deadline,
) -> Result<Option<String>, SearchError> {
    let field = match sought.place {
        Place::Anywhere => BODY,
        Place::Title => TITLE,
        Place::Address => URL_WORDS,
    };
    let state = state_of(shards);
    let found = match known.near(state, word, field) {
        Some(found) => found,
        None => {
            let found: Near = near(shards, field, word, deadline)?.into();
            // What was not looked up to its end is not remembered.
            if !deadline.was_over() {
                known.put_near(state, word, field, &found);
            }
            found
        }
    };
    let needed = sought.documents * TIMES;
    let found = found.iter().filter(|(_, count, _)| *count > needed);
    for (_, _, term) in found.take(MAX_COUNTED) {
        if deadline.is_over() {
            break;
        }
        // The dictionary has also words of pages that are gone, or hidden.
        if let Some((shard, at)) = shown(shards, field, term, needed)? {
            return Ok(Some(written(shard, field, at, term)?));
        }
    }
    Ok(None)
}

/// Words of the dictionaries that are near, the nearest and most frequent first.
fn near(
    shards: &[Shard],
    field: usize,
    word: &str,
    deadline: &Deadline,
) -> Result<Vec<(usize, u64, String)>, SearchError> {
    let Some(first) = word.chars().next() else {
        return Ok(Vec::new());
    };
    let first = first.to_string();
    // Where the words that begin so end: the automaton would look through all that follow them, too.
    let mut beyond = first.clone().into_bytes();
    if let Some(last) = beyond.last_mut() {
        *last += 1;
    }
    let letters: Vec<char> = word.chars().collect();
    let most = if letters.len() > 6 { 2_u8 } else { 1 };
    let mut found: HashMap<String, (usize, u64)> = HashMap::new();
    let mut seen = 0;
    for shard in shards {
        let field = shard.fields.texts[field];
        // An automaton walks over the few terms that are near; a dictionary has millions.
        let near = FuzzyTermQuery::new(Term::from_field_text(field, word), most, true);
        let near = near.automaton()?;
        for segment in shard.searcher.segment_readers() {
            if deadline.is_over() {
                break;
            }
            let terms = segment.inverted_index(field)?;
            let terms = terms.terms();
            let mut stream = terms.search(&near).ge(&first).lt(&beyond).into_stream()?;
            while let Some((term, info)) = stream.next() {
                if seen > MAX_SEEN {
                    break;
                }
                seen += 1;
                let Ok(term) = std::str::from_utf8(term) else {
                    continue;
                };
                let distance = distance(&letters, term, most.into());
                if let Some(distance) = distance.filter(|&distance| distance > 0) {
                    let known = found.entry(term.to_owned()).or_insert((distance, 0));
                    known.1 += u64::from(info.doc_freq);
                }
            }
        }
    }
    let found = found.into_iter();
    let found = found.map(|(term, (distance, count))| (distance, count, term));
    let mut found: Vec<(usize, u64, String)> = found.collect();
    found.sort_by(|a, b| (a.0, b.1, &a.2).cmp(&(b.0, a.1, &b.2)));
    // Of those that are equally far, others than the first are never asked for.
    let equally_far = found.chunk_by(|a, b| a.0 == b.0);
    let first = equally_far.flat_map(|group| &group[..group.len().min(MAX_COUNTED)]);
    Ok(first.cloned().collect())
}

/// A document with a term that can be shown, where there are more than so many of them.
fn shown<'a>(
    shards: &'a [Shard],
    field: usize,
    term: &str,
    needed: u64,
) -> Result<Option<(&'a Shard, DocAddress)>, SearchError> {
    let mut count = 0;
    for shard in shards {
        let term = Term::from_field_text(shard.fields.texts[field], term);
        for (ordinal, segment) in (0..).zip(shard.searcher.segment_readers()) {
            let index = segment.inverted_index(term.field())?;
            let postings = index.read_postings(&term, IndexRecordOption::Basic)?;
            let mut postings = postings.unwrap_or_else(SegmentPostings::empty);
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if !segment.is_deleted(doc) && !shard.passes_over(ordinal, doc) {
                    count += 1;
                }
                if count > needed {
                    return Ok(Some((shard, DocAddress::new(ordinal, doc))));
                }
                postings.advance();
            }
        }
    }
    Ok(None)
}

/// A term as a document writes it, with its accents.
fn written(shard: &Shard, field: usize, at: DocAddress, term: &str) -> Result<String, SearchError> {
    if field == URL_WORDS {
        return Ok(term.to_owned());
    }
    let page = shard.stored(at)?.whole()?;
    let text = if field == TITLE {
        &page.title
    } else {
        &page.text
    };
    let found = words(text).map(|word| &text[word.start..word.end]);
    let mut found = found.filter(|written| fold(written) == term);
    Ok(found
        .next()
        .map_or_else(|| term.to_owned(), str::to_lowercase))
}

/// Letters changed, added, left out or swapped with a neighbour; none when more than `most`.
fn distance(word: &[char], other: &str, most: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    if word.len().abs_diff(other.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, &a) in word.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in other.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && a == other[j - 1] && word[i - 1] == b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        if row.iter().min().is_some_and(|&least| least > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::{distance, replaced};

    #[test]
    fn a_swap_is_one_mistake() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("licitacao"), "licitcaao", 2), Some(1));
        assert_eq!(distance(&letters("gato"), "gatos", 2), Some(1));
        assert_eq!(distance(&letters("gato"), "cavalo", 2), None);
    }

    #[test]
    fn a_whole_word_is_replaced_and_no_name_of_a_field() {
        assert_eq!(replaced("catalog cat", "cat", "car"), "catalog car");
        assert_eq!(replaced("title:title", "title", "tilde"), "title:tilde");
        assert_eq!(
            replaced("+site:a.pt -\"gatto preto\"", "gatto", "gato"),
            "+site:a.pt -\"gato preto\""
        );
        assert_eq!(replaced("cão", "cao", "cal"), "cão");
    }
}
