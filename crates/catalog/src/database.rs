//! What both databases can do for a catalog.

use crate::CatalogError;
use crate::catalog::{Identity, Position};
use crate::reader::Row;
use crate::store::Store;
use crate::tables::Table;
use crate::value::Value;
use crate::{postgres, sqlite};

/// What a transaction changes beside the rows.
#[derive(Clone, Debug)]
pub(crate) struct Advance {
    pub(crate) collection: i64,
    pub(crate) position: Position,
    /// The options of the newest run, where one began.
    pub(crate) options: Option<String>,
}

/// A collection as the catalog has it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) id: i64,
    pub(crate) position: Position,
}

/// Rows of one table.
pub(crate) type Rows<'a> = (&'static Table, &'a [Vec<Value>]);

/// A connection to one of them.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(sqlite::Connection),
    Postgres(postgres::Connection),
}

/// Does the same with whichever it is.
macro_rules! either {
    ($database:expr, $connection:ident => $what:expr) => {
        match $database {
            Database::Sqlite($connection) => $what,
            Database::Postgres($connection) => $what,
        }
    };
}

impl Database {
    /// Opens it to write, and brings its schema up to date.
    pub(crate) fn open(store: &Store) -> Result<Self, CatalogError> {
        Ok(match store {
            Store::Sqlite(path) => Self::Sqlite(sqlite::Connection::open(path)?),
            Store::Postgres(url) => Self::Postgres(postgres::Connection::open(url)?),
        })
    }

    /// Opens it to read; `None` where there is no catalog of this or an older schema.
    pub(crate) fn open_to_read(store: &Store) -> Result<Option<Self>, CatalogError> {
        Ok(match store {
            Store::Sqlite(path) => sqlite::Connection::open_to_read(path)?.map(Self::Sqlite),
            Store::Postgres(url) => postgres::Connection::open_to_read(url)?.map(Self::Postgres),
        })
    }

    /// The collection's row, which is made where there is none.
    pub(crate) fn enter(&mut self, identity: &Identity) -> Result<Found, CatalogError> {
        either!(self, connection => connection.enter(identity))
    }

    /// Writes all of it, or none.
    pub(crate) fn write(
        &mut self,
        rows: &[Rows<'_>],
        advance: &Advance,
    ) -> Result<(), CatalogError> {
        either!(self, connection => connection.write(rows, advance))
    }

    /// Takes everything of a collection away, its position included.
    pub(crate) fn wipe(&mut self, collection: i64) -> Result<(), CatalogError> {
        either!(self, connection => connection.wipe(collection))
    }

    /// Asks; every row is handed over as texts, and an answer of false ends it.
    pub(crate) fn ask(
        &mut self,
        question: &str,
        each: &mut dyn FnMut(Row) -> bool,
    ) -> Result<Vec<String>, CatalogError> {
        either!(self, connection => connection.ask(question, each))
    }
}
