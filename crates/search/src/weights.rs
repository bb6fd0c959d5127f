//! Every number that decides the order of results, in one place.

use serde::Deserialize;

use crate::schema::TEXT_FIELDS;

/// How results are ordered. The defaults were chosen on three judged collections together
/// (`./dev bench relevance`), the same numbers for all of them.
///
/// A word counts once for a document, over all fields (BM25F): its frequencies are weighted and
/// normalised by field, added, and then saturated:
///
/// ```text
/// tf(w,d)    = sum over fields of  weight · (stems + exact · exact forms) / (1 - b + b · length / mean length)
/// word(w,d)  = idf(w) · tf · (k1 + 1) / (tf + k1)
///              (a stem or form that is more than one in `stuffed-share` of a long field counts there as if it stood there once)
/// score(d)   = (sum of words + proximity · closeness of different words)
///              · (1 + rank · rank of d) · (1 + freshness · 2^(-age / half-life), where asked)
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Weights {
    /// Weights of title, headings, body, anchors, description, URL words.
    pub fields: [f32; TEXT_FIELDS],
    /// How much the length of each of these fields counts, 0 to 1.
    pub lengths: [f32; TEXT_FIELDS],
    /// How soon more of the same word stops helping.
    pub k1: f32,
    /// What the very form of the word counts beside its stem.
    pub exact: f32,
    /// A field is long from so many terms on; each word is two, its form and its stem.
    pub stuffed_length: u32,
    /// And nobody who means it has one term among so few there.
    pub stuffed_share: u32,
    /// What different words of the query count for standing close together.
    pub proximity: f32,
    /// What the rank of a page counts.
    pub rank: f32,
    /// What freshness counts where it is asked for.
    pub freshness: f32,
    /// Documents that expansion learns from.
    pub feedback_documents: usize,
    /// Words that expansion adds.
    pub feedback_words: usize,
    /// What all added words count together, beside those of the query.
    pub feedback: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            fields: [1.6, 1.2, 1.0, 1.4, 0.8, 0.6],
            lengths: [0.5, 0.5, 0.75, 0.3, 0.5, 0.5],
            k1: 1.5,
            exact: 1.0,
            stuffed_length: 1000,
            stuffed_share: 10,
            proximity: 0.6,
            rank: 0.6,
            freshness: 1.0,
            feedback_documents: 8,
            feedback_words: 20,
            feedback: 0.4,
        }
    }
}
