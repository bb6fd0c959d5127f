//! What a query gives back. Everything from a crawled page is plain text, never markup.

use std::ops::Range;

use serde::Serialize;
use teia_base::{CaptureId, Timestamp};

use crate::query::Repair;

/// One page of results, and what is known of all of them.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The hits of the page asked for, best first.
    pub hits: Vec<Hit>,
    /// Documents that match, near-duplicates counted each; a URL that is in several collections once, as its
    /// newest copy.
    pub total: u64,
    /// The same, near-duplicates put away behind a better one not counted: so many results there are to
    /// page through. (Those too far down to be compared count each.)
    pub distinct: u64,
    /// How long it took.
    pub seconds: f64,
    /// Another spelling of the whole query, where a word is unknown and a similar one is not.
    pub suggestion: Option<String>,
    /// What was changed to understand the query.
    pub repairs: Vec<Repair>,
    /// The words that expansion added.
    pub added_words: Vec<String>,
    /// Counts over all matching documents, where asked for.
    pub facets: Vec<Facet>,
    /// The time for a query was over before all documents were seen.
    pub is_partial: bool,
}

/// One result.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its address.
    pub url: String,
    /// The collection whose index it comes from.
    pub collection: String,
    /// All collections that have it, of those that were asked; the one above first.
    pub collections: Vec<String>,
    /// Its title; the address where it has none.
    pub title: String,
    /// Where the words are.
    pub snippet: Snippet,
    /// How well it matches; only the order has a meaning.
    pub score: f32,
    /// Two letters.
    pub language: String,
    /// Its media type.
    pub media_type: String,
    /// When it was last fetched.
    pub fetched_at: Timestamp,
    /// Its place in the archive.
    pub capture: Option<CaptureId>,
    /// Its rank, 0 to 1.
    pub rank: f32,
    /// Bytes of its body.
    pub size: u64,
    /// Other addresses with the very same text.
    pub other_addresses: Vec<String>,
    /// Results with nearly the same text, put away behind this one.
    pub similar: usize,
}

/// A piece of text, and the parts of it that match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// Plain text, one line, without control characters.
    pub text: String,
    /// Byte ranges of `text` to be shown strongly, in order, apart.
    pub highlights: Vec<Range<usize>>,
}

/// Counts by one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facet {
    /// `site`, `host`, `language`, `type` or `year`.
    pub name: &'static str,
    /// Values and how many documents have them, most frequent first.
    pub counts: Vec<(String, u64)>,
}
