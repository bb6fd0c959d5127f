//! The catalog, to be written: entries in, transactions out.

use teia_base::Timestamp;
use teia_base::journal::Entry;

use crate::CatalogError;
use crate::batch::{Batch, LastRun};
use crate::database::{Advance, Database};
use crate::reader::{Known, Reader, Row, number};
use crate::sqlite;
use crate::store::Store;

/// Rows that are gathered in memory at most; then they are written, due or not.
const MOST_ROWS: usize = 8192;

/// Whose rows: a database may hold those of many data directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The data directory's key, in hexadecimal digits.
    pub directory: String,
    /// The key itself, from which the names of URLs come.
    pub key: u64,
    /// The collection.
    pub name: String,
}

impl Identity {
    /// A collection in the data directory with this key.
    pub fn new(key: u64, name: &str) -> Self {
        Self {
            directory: format!("{key:016x}"),
            key,
            name: name.to_owned(),
        }
    }
}

/// How far a catalog is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The last entry that it has; 0 for none.
    pub entry: u64,
    /// The moment of that entry.
    pub at: Timestamp,
}

impl Position {
    pub(crate) fn from_columns(entry: i64, at: i64) -> Self {
        Self {
            entry: u64::try_from(entry).unwrap_or(0),
            at: Timestamp::from_micros(at),
        }
    }

    pub(crate) fn entry_column(&self) -> i64 {
        i64::try_from(self.entry).unwrap_or(i64::MAX)
    }
}

/// A collection in a catalog, to be written by one who follows its journal.
#[derive(Debug)]
pub struct Catalog {
    database: Database,
    collection: i64,
    /// What is in the database.
    written: Position,
    batch: Batch,
}

impl Catalog {
    /// Opens it, and makes what is missing.
    pub fn open(store: &Store, identity: &Identity) -> Result<Self, CatalogError> {
        let mut database = Database::open(store)?;
        let found = database.enter(identity)?;
        let last_run = last_run(&mut database, found.id)?;
        Ok(Self {
            batch: Batch::new(identity.key, found.id, found.position.at, last_run),
            database,
            collection: found.id,
            written: found.position,
        })
    }

    /// Takes everything of a collection away; nothing where the catalog does not have it.
    pub fn remove(store: &Store, identity: &Identity) -> Result<(), CatalogError> {
        let mut database = Database::open(store)?;
        let found = database.enter(identity)?;
        database.wipe(found.id)
    }

    /// What is in the database.
    pub fn position(&self) -> Position {
        self.written
    }

    /// Takes in the next entry; where much has gathered, it is written.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), CatalogError> {
        self.batch.add(entry);
        if self.batch.rows() >= MOST_ROWS {
            self.commit()?;
        }
        Ok(())
    }

    pub(crate) fn collection(&self) -> i64 {
        self.collection
    }

    /// The connection, where it lies in a file of this machine.
    pub(crate) fn in_file(&mut self) -> Option<&mut sqlite::Connection> {
        match &mut self.database {
            Database::Sqlite(connection) => Some(connection),
            Database::Postgres(_) => None,
        }
    }

    /// Writes what was taken in, and turns to answering questions: the way to ask a catalog that is
    /// only for them.
    pub fn into_reader(mut self) -> Result<(Reader, Known), CatalogError> {
        self.commit()?;
        let known = Known {
            id: self.collection,
            position: self.written,
        };
        Ok((Reader::over(self.database), known))
    }

    /// Writes what was taken in, and the position, in one transaction.
    pub fn commit(&mut self) -> Result<(), CatalogError> {
        let Some(position) = self.batch.position() else {
            return Ok(());
        };
        let advance = Advance {
            collection: self.collection,
            position,
            options: self.batch.options(),
        };
        self.database.write(&self.batch.tables(), &advance)?;
        self.written = position;
        self.batch.clear();
        Ok(())
    }
}

/// The newest run that is in the database.
fn last_run(database: &mut Database, collection: i64) -> Result<Option<LastRun>, CatalogError> {
    let question = format!(
        "SELECT number, is_paused, ended, version, seeds, started_at, last_at FROM run WHERE collection = {collection} ORDER BY number DESC LIMIT 1"
    );
    let mut found = None;
    database.ask(&question, &mut |row: Row| {
        found = Some(LastRun {
            number: number(&row, 0),
            is_paused: number(&row, 1) != 0,
            ended: row[2].clone(),
            version: row[3].clone().unwrap_or_default(),
            seeds: number(&row, 4),
            started_at: number(&row, 5),
            last_at: number(&row, 6),
        });
        true
    })?;
    Ok(found)
}
