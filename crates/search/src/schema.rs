//! The fields of the index, and the version of its format.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

/// The name that the fields with words have for how they are split; that is done by the `inverter`.
pub(crate) const TOKENIZER: &str = "teia-words";

/// Changes whenever an older index could not be read as it is: it is then rebuilt.
pub(crate) const FORMAT: &str = "teia-index-3";

/// The fields with words, in the order of [`Fields::texts`] and of the weights.
pub(crate) const TEXT_FIELDS: usize = 6;
pub(crate) const TITLE: usize = 0;
pub(crate) const HEADINGS: usize = 1;
pub(crate) const BODY: usize = 2;
pub(crate) const ANCHORS: usize = 3;
pub(crate) const DESCRIPTION: usize = 4;
pub(crate) const URL_WORDS: usize = 5;

/// Handles of all fields. The order of creation is part of the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// title, headings, body, anchors, description, URL words. Anchors are those of a repute.
    pub(crate) texts: [Field; TEXT_FIELDS],
    /// The whole URL: identity.
    pub(crate) url: Field,
    /// Host, its parent domains, and the first folders below it: `site:`.
    pub(crate) within: Field,
    /// `text/html`, `text`, `html`: `type:`.
    pub(crate) kinds: Field,
    /// `lang:`, and a facet.
    pub(crate) language: Field,
    /// Digest of the text, of a document that is indexed.
    pub(crate) digest: Field,
    /// Digest of the text, of another address of such a document.
    pub(crate) alias_of: Field,
    /// The stored page.
    pub(crate) page: Field,
    pub(crate) host: Field,
    pub(crate) site: Field,
    pub(crate) media_type: Field,
    pub(crate) fetched: Field,
    pub(crate) size: Field,
    pub(crate) simhash: Field,
    /// Hash of the URL: decides between equal scores, the same in every rebuild.
    pub(crate) tie: Field,
    /// Of a repute: the hash of the URL that it is of.
    pub(crate) of: Field,
    /// Of a repute: its rank.
    pub(crate) rank: Field,
    /// Of a repute: a hash of all that it says, to see whether anything changed.
    pub(crate) mark: Field,
    /// The moment after which its author wants it found no more; only where there is one.
    pub(crate) until: Field,
}

pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let texts = [
        "title",
        "headings",
        "body",
        "anchors",
        "description",
        "url_words",
    ]
    .map(|name| builder.add_text_field(name, words.clone()));
    let facet = TextOptions::default().set_fast("raw");
    let fields = Fields {
        texts,
        url: builder.add_text_field("url", STRING),
        within: builder.add_text_field("within", STRING),
        kinds: builder.add_text_field("kinds", STRING),
        language: builder.add_text_field("language", STRING | FAST),
        digest: builder.add_u64_field("digest", INDEXED | FAST),
        alias_of: builder.add_u64_field("alias_of", INDEXED | FAST),
        page: builder.add_bytes_field("page", STORED),
        host: builder.add_text_field("host", facet.clone()),
        site: builder.add_text_field("site", facet.clone()),
        media_type: builder.add_text_field("type", facet),
        fetched: builder.add_i64_field("fetched", FAST),
        size: builder.add_u64_field("size", FAST),
        simhash: builder.add_u64_field("simhash", FAST),
        tie: builder.add_u64_field("tie", FAST),
        of: builder.add_u64_field("of", INDEXED | FAST),
        rank: builder.add_f64_field("rank", FAST),
        mark: builder.add_u64_field("mark", FAST),
        until: builder.add_i64_field("until", FAST),
    };
    (builder.build(), fields)
}
