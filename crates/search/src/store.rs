//! One index on disk: opening it, and the few look-ups that writer and searcher share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tantivy::directory::{MmapDirectory, OwnedBytes};
use tantivy::error::DataCorruption;
use tantivy::store::{Compressor, StoreReader};
use tantivy::tokenizer::{RawTokenizer, TextAnalyzer};
use tantivy::{DocAddress, DocId, Index, IndexSettings, Searcher, TantivyError, Term};

use crate::checks::{self, Checks};
use crate::error::SearchError;
use crate::guard::guarded;
use crate::inverter::Inverter;
use crate::page::Page;
use crate::record::Stored;
use crate::schema::{FORMAT, Fields, TOKENIZER, schema};
use crate::sums::Sums;
use crate::turns;

/// What a commit carries beside its documents.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Payload {
    pub(crate) format: String,
    pub(crate) position: u64,
}

/// Opens the index of a directory, or makes an empty one.
pub(crate) fn open_or_create(path: &Path, checks: &Checks) -> Result<(Index, Fields), SearchError> {
    std::fs::create_dir_all(path).map_err(|source| SearchError::Directory {
        path: path.to_owned(),
        source,
    })?;
    let inverter = |fields| {
        let checks = checks.clone();
        Arc::new(Inverter { fields, checks })
    };
    if path.join("meta.json").exists() {
        let (mut index, fields) = open(path)?;
        index.register_plugin(inverter(fields));
        return Ok((index, fields));
    }
    let failed = |source| SearchError::Open {
        path: path.to_owned(),
        source,
    };
    let (schema, fields) = schema();
    let settings = IndexSettings {
        // Records are packed by ourselves: see `record`.
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        // A block is copied whole to read one record of it.
        docstore_blocksize: 512,
        ..IndexSettings::default()
    };
    let directory = MmapDirectory::open(path).map_err(|error| failed(error.into()))?;
    let mut index = Index::create(directory, schema, settings).map_err(failed)?;
    register(&index);
    index.register_plugin(inverter(fields));
    Ok((index, fields))
}

/// Opens an index that is there, to read it.
pub(crate) fn open(path: &Path) -> Result<(Index, Fields), SearchError> {
    let index = Index::open_in_dir(path).map_err(|source| SearchError::Open {
        path: path.to_owned(),
        source: in_short(source),
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

/// Reads every byte of an index, and names the files whose check sums do not fit, or that are others than those that were written. The next
/// writer looks at these first.
pub fn verify(path: &Path) -> Result<Vec<PathBuf>, SearchError> {
    let damaged = guarded(|| {
        let (index, _) = open(path)?;
        let mut damaged = index.validate_checksum().map_err(SearchError::Read)?;
        damaged.extend(checks::misnamed(path, &index)?);
        damaged.extend(Sums::read(path).others(path, &index)?);
        Ok(damaged)
    })
    .map_err(|error| match error {
        SearchError::Damaged(told) => SearchError::Damaged(format!("{}: {told}", path.display())),
        error => error,
    })?;
    let mut files: Vec<PathBuf> = damaged.iter().map(|name| path.join(name)).collect();
    files.sort_unstable();
    if !files.is_empty() {
        turns::suspect(path, &files);
    }
    Ok(files)
}

/// The index library shows all of a file that it cannot understand, which may be thousands of lines.
fn in_short(error: TantivyError) -> TantivyError {
    const MOST: usize = 400;
    match error {
        TantivyError::DataCorruption(_) if error.to_string().len() > MOST => {
            let told = "`meta.json` or `.managed.json` cannot be understood";
            TantivyError::DataCorruption(DataCorruption::comment_only(told))
        }
        error => error,
    }
}

/// What the last commit carries; none before the first.
pub(crate) fn payload(index: &Index) -> Option<Payload> {
    serde_json::from_str(&index.load_metas().ok()?.payload?).ok()
}

/// The stored page of a document, with all of its text.
pub(crate) fn page(searcher: &Searcher, at: DocAddress) -> Result<Page, SearchError> {
    let store = searcher
        .segment_reader(at.segment_ord)
        .get_store_reader(1)?;
    stored(&store, at.doc_id)?.whole()
}

/// The same without its text.
pub(crate) fn head(searcher: &Searcher, at: DocAddress) -> Result<Page, SearchError> {
    let store = searcher
        .segment_reader(at.segment_ord)
        .get_store_reader(1)?;
    Ok(stored(&store, at.doc_id)?.page)
}

/// The same, whose text can be unpacked in pieces.
pub(crate) fn stored(store: &StoreReader, doc: DocId) -> Result<Stored<OwnedBytes>, SearchError> {
    Stored::read(store.get_document_bytes(doc)?)
}

/// Documents that hold a term and are not deleted, in any order.
pub(crate) fn holding(searcher: &Searcher, term: &Term) -> Result<Vec<DocAddress>, SearchError> {
    use tantivy::schema::IndexRecordOption::Basic;
    use tantivy::{DocSet, TERMINATED};

    let mut found = Vec::new();
    for (ordinal, segment) in (0..).zip(searcher.segment_readers()) {
        let index = segment.inverted_index(term.field())?;
        // Most segments know no other addresses at all.
        if index.terms().num_terms() == 0 {
            continue;
        }
        let Some(mut postings) = index.read_postings(term, Basic)? else {
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
    // The library asks for one and is given no text.
    let none = TextAnalyzer::from(RawTokenizer::default());
    index.tokenizers().register(TOKENIZER, none);
}
