//! One index on disk: opening it, and the few look-ups that writer and searcher share.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::schema::Value;
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{DocAddress, Index, IndexSettings, Searcher, TantivyDocument, Term};

use crate::error::SearchError;
use crate::page::Page;
use crate::schema::{FORMAT, Fields, schema};
use crate::text::{TOKENIZER, WordTokenizer};

/// What a commit carries beside its documents.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Payload {
    pub(crate) format: String,
    pub(crate) position: u64,
}

/// Opens the index of a directory, or makes an empty one.
pub(crate) fn open_or_create(path: &Path) -> Result<(Index, Fields), SearchError> {
    std::fs::create_dir_all(path).map_err(|source| SearchError::Directory {
        path: path.to_owned(),
        source,
    })?;
    if path.join("meta.json").exists() {
        return open(path);
    }
    let failed = |source| SearchError::Open {
        path: path.to_owned(),
        source,
    };
    let (schema, fields) = schema();
    let settings = IndexSettings {
        docstore_compression: Compressor::Zstd(ZstdCompressor::default()),
        ..IndexSettings::default()
    };
    let directory = MmapDirectory::open(path).map_err(|error| failed(error.into()))?;
    let index = Index::create(directory, schema, settings).map_err(failed)?;
    register(&index);
    Ok((index, fields))
}

/// Opens an index that is there.
pub(crate) fn open(path: &Path) -> Result<(Index, Fields), SearchError> {
    let index = Index::open_in_dir(path).map_err(|source| SearchError::Open {
        path: path.to_owned(),
        source,
    })?;
    let (schema, fields) = schema();
    let found = match payload(&index) {
        Some(payload) if payload.format != FORMAT => Some(payload.format),
        _ if index.schema() != schema => Some("with other fields".to_owned()),
        _ => None,
    };
    if let Some(found) = found {
        let (path, expected) = (path.to_owned(), FORMAT.to_owned());
        return Err(SearchError::Format {
            path,
            found,
            expected,
        });
    }
    register(&index);
    Ok((index, fields))
}

/// What the last commit carries; none before the first.
pub(crate) fn payload(index: &Index) -> Option<Payload> {
    serde_json::from_str(&index.load_metas().ok()?.payload?).ok()
}

/// The stored page of a document.
pub(crate) fn page(
    searcher: &Searcher,
    fields: &Fields,
    at: DocAddress,
) -> Result<Page, SearchError> {
    let document: TantivyDocument = searcher.doc(at)?;
    let bytes = document
        .get_first(fields.page)
        .and_then(|value| value.as_bytes());
    Ok(postcard::from_bytes(bytes.unwrap_or_default())?)
}

/// Documents that hold a term and are not deleted, in any order.
pub(crate) fn holding(searcher: &Searcher, term: &Term) -> Result<Vec<DocAddress>, SearchError> {
    use tantivy::schema::IndexRecordOption::Basic;
    use tantivy::{DocSet, TERMINATED};

    let mut found = Vec::new();
    for (ordinal, segment) in (0..).zip(searcher.segment_readers()) {
        let Some(mut postings) = segment
            .inverted_index(term.field())?
            .read_postings(term, Basic)?
        else {
            continue;
        };
        while postings.doc() != TERMINATED {
            if !segment.is_deleted(postings.doc()) {
                found.push(DocAddress::new(ordinal, postings.doc()));
            }
            postings.advance();
        }
    }
    Ok(found)
}

fn register(index: &Index) {
    index
        .tokenizers()
        .register(TOKENIZER, TextAnalyzer::from(WordTokenizer::default()));
}
