//! Expansion: the words that the first results have in common are looked for as well.

use std::collections::HashMap;

use super::deadline::Deadline;
use super::plan::{GroupPlan, Plan, Planned, TermPlan, WordPlan};
use super::searcher::Shard;
use super::statistics::{Statistics, locate};
use crate::error::SearchError;
use crate::language::Stemmer;
use crate::page::{Page, cut};
use crate::schema::{BODY, TITLE};
use crate::text::words;
use crate::weights::Weights;

/// Bytes of a page that are learnt from.
const MAX_READ_BYTES: usize = 32 << 10;

/// A term that was seen in the first results.
#[derive(Default)]
struct Seen {
    /// Its share of the words of each page, added up, weighted by the page's score.
    share: f32,
    pages: usize,
    /// One way it was written.
    written: String,
}

/// The plan with the best words of these pages (with their scores), and those words as written.
pub(super) fn expand(
    shards: &[Shard],
    statistics: &Statistics,
    weights: &Weights,
    planned: &Planned,
    pages: &[(Page, f32)],
    deadline: &Deadline,
) -> Result<(GroupPlan, Vec<String>), SearchError> {
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let scores: f32 = pages.iter().map(|(_, score)| score).sum();
    for (page, score) in pages {
        learn(page, score / scores.max(f32::MIN_POSITIVE), &mut seen);
    }
    for word in &planned.sought {
        for term in &word.plan.terms {
            seen.remove(&term.text);
        }
    }
    let least = if pages.len() > 2 { 2 } else { 1 };
    let mut best = Vec::new();
    for (term, seen) in seen.into_iter().filter(|(_, seen)| seen.pages >= least) {
        let (documents, _) = locate(shards, BODY, &term, deadline)?;
        let idf = statistics.idf(documents);
        best.push((seen.share * idf, idf, term, seen.written));
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    best.truncate(weights.feedback_words);

    // All added words together weigh what the setting says, beside those of the query.
    let own: f32 = planned.sought.iter().map(|word| word.plan.idf).sum();
    let added: f32 = best.iter().map(|(value, idf, ..)| value * idf).sum();
    let scale = weights.feedback * own / added.max(f32::MIN_POSITIVE);
    let mut group = planned.group.clone();
    let mut written = Vec::new();
    let mut wishes = Vec::new();
    for (value, idf, term, form) in best {
        let mut terms = Vec::new();
        for field in [TITLE, BODY] {
            let (_, places) = locate(shards, field, &term, deadline)?;
            let text = term.clone();
            terms.push(TermPlan {
                field,
                text,
                share: 1.0,
                places,
            });
        }
        wishes.push(Plan::Word(WordPlan {
            terms,
            idf,
            weight: value * scale,
            tallies: None,
        }));
        written.push(form);
    }
    group.wishes.extend(wishes);
    Ok((group, written))
}

fn learn(page: &Page, weight: f32, seen: &mut HashMap<String, Seen>) {
    let stemmer = Stemmer::of(&page.stemmed_as);
    let text = format!("{}\n{}", page.title, cut(&page.text, MAX_READ_BYTES));
    let mut counts: HashMap<String, (u32, &str)> = HashMap::new();
    let mut all = 0_u32;
    for word in words(&text) {
        let written = &text[word.start..word.end];
        if written.chars().count() < 3 || written.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        if let Some(term) = stemmer.term(written) {
            all += 1;
            counts.entry(term).or_insert((0, written)).0 += 1;
        }
    }
    for (term, (count, written)) in counts {
        let known = seen.entry(term).or_default();
        known.share += weight * count as f32 / all as f32;
        known.pages += 1;
        if known.written.is_empty() {
            known.written = written.to_lowercase();
        }
    }
}
