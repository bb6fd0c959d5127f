//! Asking a catalog.

use crate::CatalogError;
use crate::catalog::{Identity, Position};
use crate::database::Database;
use crate::store::Store;

/// One row of an answer: every value as text, none where it is null.
pub type Row = Vec<Option<String>>;

/// A catalog, to be asked. It may be written meanwhile; each question sees whole transactions.
#[derive(Debug)]
pub struct Reader {
    database: Database,
}

/// A collection that the catalog has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub(crate) id: i64,
    /// How much of its journal is in the catalog.
    pub position: Position,
}

impl Reader {
    /// Opens a catalog; `None` where there is none yet, or one that the next run brings up to date.
    pub fn open(store: &Store) -> Result<Option<Self>, CatalogError> {
        let database = Database::open_to_read(store)?;
        Ok(database.map(|database| Self { database }))
    }

    pub(crate) fn over(database: Database) -> Self {
        Self { database }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    /// The collection, if the catalog has it.
    pub fn find(&mut self, identity: &Identity) -> Result<Option<Known>, CatalogError> {
        // Both parts are letters, digits, `-` and `_`; what is not cannot be found.
        let is_plain = |text: &str| {
            text.chars()
                .all(|c| c.is_alphanumeric() || "-_".contains(c))
        };
        if !is_plain(&identity.directory) || !is_plain(&identity.name) {
            return Ok(None);
        }
        let question = format!(
            "SELECT id, position, position_at FROM collection WHERE directory = '{}' AND name = '{}'",
            identity.directory, identity.name
        );
        let rows = self.ask(&question)?;
        Ok(rows.first().map(|row| Known {
            id: number(row, 0),
            position: Position::from_columns(number(row, 1), number(row, 2)),
        }))
    }

    /// The answer to a question in SQL.
    pub fn ask(&mut self, question: &str) -> Result<Vec<Row>, CatalogError> {
        let mut rows = Vec::new();
        self.database.ask(question, &mut |row| {
            rows.push(row);
            true
        })?;
        Ok(rows)
    }

    /// The same row by row, until `each` has enough; the names of the columns.
    pub fn each(
        &mut self,
        question: &str,
        mut each: impl FnMut(Row) -> bool,
    ) -> Result<Vec<String>, CatalogError> {
        self.database.ask(question, &mut each)
    }
}

impl Known {
    /// Every document by its URL, with these columns of the tables `document` (`d`) and
    /// `outcome` (`o`), until `each` has enough.
    pub fn each_document(
        self,
        reader: &mut Reader,
        columns: &[&str],
        each: impl FnMut(Row) -> bool,
    ) -> Result<(), CatalogError> {
        let question = format!(
            "SELECT {} FROM document d LEFT JOIN outcome o ON o.number = d.outcome WHERE d.collection = {} ORDER BY d.url",
            columns.join(", "),
            self.id
        );
        reader.each(&question, each)?;
        Ok(())
    }
}

/// A number in a row; 0 where there is none.
pub(crate) fn number(row: &Row, at: usize) -> i64 {
    row.get(at)
        .and_then(Option::as_deref)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}
