//! Another spelling for a word that hardly occurs.

use tantivy::Term;
use tantivy::query::FuzzyTermQuery;

use super::plan::Sought;
use super::searcher::Shard;
use crate::error::SearchError;
use crate::schema::BODY;
use crate::text::fold;

/// Similar terms looked at for one word.
const MAX_SEEN: usize = 10_000;
/// A similar word must be so many times as frequent.
const TIMES: u64 = 50;

/// The query with unknown words replaced, or none where there is nothing better.
pub(super) fn suggestion(
    shards: &[Shard],
    query: &str,
    sought: &[Sought],
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
        if let Some(better) = similar(shards, &folded, word.documents)? {
            suggested = suggested.replacen(&word.typed, &better, 1);
        }
    }
    Ok((suggested != query).then_some(suggested))
}

/// The nearest and most frequent term of the dictionary with the same first letter.
fn similar(shards: &[Shard], word: &str, documents: u64) -> Result<Option<String>, SearchError> {
    let Some(first) = word.chars().next() else {
        return Ok(None);
    };
    let first = first.to_string();
    let letters: Vec<char> = word.chars().collect();
    let most = if letters.len() > 6 { 2_u8 } else { 1 };
    let mut best: Option<(usize, u64, String)> = None;
    let mut seen = 0;
    for shard in shards {
        let field = shard.fields.texts[BODY];
        // An automaton walks over the few terms that are near; a dictionary has millions.
        let near = FuzzyTermQuery::new(Term::from_field_text(field, word), most, true);
        let near = near.automaton()?;
        for segment in shard.searcher.segment_readers() {
            let terms = segment.inverted_index(field)?;
            let terms = terms.terms();
            let mut stream = terms.search(&near).ge(&first).into_stream()?;
            while let Some((term, info)) = stream.next() {
                if !term.starts_with(first.as_bytes()) || seen > MAX_SEEN {
                    break;
                }
                seen += 1;
                let count = u64::from(info.doc_freq);
                if count <= documents * TIMES {
                    continue;
                }
                let Ok(term) = std::str::from_utf8(term) else {
                    continue;
                };
                let Some(distance) = distance(&letters, term, most.into()) else {
                    continue;
                };
                let is_better = best.as_ref().is_none_or(|known| {
                    (distance, u64::MAX - count, term) < (known.0, u64::MAX - known.1, &known.2)
                });
                if distance > 0 && is_better {
                    best = Some((distance, count, term.to_owned()));
                }
            }
        }
    }
    Ok(best.map(|(_, _, term)| term))
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
    use super::distance;

    #[test]
    fn a_swap_is_one_mistake() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("licitacao"), "licitcaao", 2), Some(1));
        assert_eq!(distance(&letters("gato"), "gatos", 2), Some(1));
        assert_eq!(distance(&letters("gato"), "cavalo", 2), None);
    }
}
