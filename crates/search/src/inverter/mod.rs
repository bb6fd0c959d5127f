//! Documents to lists of words, for one segment of the index.
//!
//! ```text
//! Entry ──> words ──> Interner: a number for each word as written ──> Log: the numbers, in the order of the text
//!                                                                      │ (segment full, or commit)
//!              term, idx, pos, fieldnorm of the segment <── forms, stems ┘ sorted by word
//! ```
//!
//! The index library looks up and records every form and every stem of a text by itself. Here a word is looked up
//! once, its number noted, and its forms are made once for a segment; the lists come of one sorting at the end.
//! The files are the library's own, written by its own serializers: it reads, merges and deletes as if it
//! had made them. This is a plugin of the library that has no files of its own: the library writes the lists of a
//! segment, empty as it was given no words, and then calls us.

mod interner;
mod segment;
#[cfg(test)]
mod tests;
mod written;

use std::any::Any;

use tantivy::schema::Schema;
use tantivy::schema::document::ErasedDocument;
use tantivy::{
    DocId, PluginMergeContext, PluginWriter, PluginWriterContext, Segment, SegmentPlugin,
    TantivyError,
};

use self::segment::Gathered;
use crate::checks::Checks;
use crate::entry::Entry;
use crate::error::SearchError;
use crate::schema::Fields;

/// Takes the place of the library's own inverted lists.
pub(crate) struct Inverter {
    pub(crate) fields: Fields,
    pub(crate) checks: Checks,
}

impl SegmentPlugin for Inverter {
    fn extensions(&self) -> &[&str] {
        &[]
    }

    fn create_writer(
        &self,
        _context: &PluginWriterContext<'_>,
    ) -> tantivy::Result<Box<dyn PluginWriter>> {
        Ok(Box::new(Gathering {
            fields: self.fields,
            gathered: Gathered::default(),
        }))
    }

    /// The lists are merged by the library: they are its own. What it has just read and copied is looked at before it counts.
    fn merge(&self, context: PluginMergeContext<'_>) -> tantivy::Result<()> {
        self.checks
            .merged(context.readers)
            .map_err(|error| match error {
                SearchError::Read(error) => error,
                error => TantivyError::InternalError(error.to_string()),
            })
    }
}

/// One segment while it is written.
struct Gathering {
    fields: Fields,
    gathered: Gathered,
}

impl PluginWriter for Gathering {
    fn add_document(
        &mut self,
        doc: DocId,
        document: &dyn ErasedDocument,
        _schema: &Schema,
    ) -> tantivy::Result<()> {
        let Some(entry) = document.as_any().downcast_ref::<Entry>() else {
            let message = "only entries are written to this index".to_owned();
            return Err(TantivyError::InvalidArgument(message));
        };
        self.gathered.add(doc, entry);
        Ok(())
    }

    fn serialize(
        self: Box<Self>,
        segment: &Segment,
        _order: Option<&tantivy::indexer::DocIdMapping>,
    ) -> tantivy::Result<()> {
        written::write(segment, &self.fields, self.gathered)
    }

    fn mem_usage(&self) -> usize {
        self.gathered.bytes()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
