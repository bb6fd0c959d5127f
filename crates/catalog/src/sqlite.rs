//! A catalog in a file of SQLite.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{
    OpenFlags, OptionalExtension, ToSql, TransactionBehavior, params, params_from_iter,
};

use crate::CatalogError;
use crate::catalog::{Identity, Position};
use crate::database::{Advance, Found, Rows};
use crate::reader::Row;
use crate::schema::{Dialect, MIGRATIONS, NEWEST, READABLE};
use crate::tables::{OF_A_COLLECTION, Table};
use crate::value::Value;

/// What stands for something else in an address of a file.
const NOT_IN_AN_ADDRESS: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#').add(b' ');
/// A catalog of so many bytes is looked at as a whole when it is opened, which takes some hundredths of a second.
const SMALL: u64 = 16 << 20;
/// How long it is waited while another process writes.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Connection {
    path: PathBuf,
    inner: rusqlite::Connection,
}

/// Says what was being done to which file.
fn failed(doing: &'static str, path: &Path) -> impl Fn(rusqlite::Error) -> CatalogError {
    let path = path.to_owned();
    move |source| CatalogError::Sqlite {
        doing,
        path: path.clone(),
        source,
    }
}

impl Connection {
    pub(crate) fn open(path: &Path) -> Result<Self, CatalogError> {
        let failed = failed("open", path);
        let mut inner = rusqlite::Connection::open(path).map_err(&failed)?;
        // Readers and the writer do not wait for each other. After a power cut the last commits may
        // be missing, and come again from the journal: so nothing waits for the disk.
        inner.busy_timeout(PATIENCE).map_err(&failed)?;
        inner
            .pragma_update(None, "journal_mode", "wal")
            .map_err(&failed)?;
        inner
            .pragma_update(None, "synchronous", "normal")
            .map_err(&failed)?;
        inner
            .pragma_update(None, "cache_size", -8192)
            .map_err(&failed)?;
        check(&inner, path)?;
        migrate(&mut inner, path)?;
        Ok(Self {
            path: path.to_owned(),
            inner,
        })
    }

    pub(crate) fn open_to_read(path: &Path) -> Result<Option<Self>, CatalogError> {
        if !path.exists() {
            return Ok(None);
        }
        let failed = failed("read", path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let inner = rusqlite::Connection::open_with_flags(path, flags).map_err(&failed)?;
        inner.busy_timeout(PATIENCE).map_err(&failed)?;
        let found = schema_of(&inner).map_err(&failed)?;
        check_schema(path, found, NEWEST)?;
        let connection = Self {
            path: path.to_owned(),
            inner,
        };
        // What an older version wrote is brought up to date by who writes, and not by who reads.
        Ok((found >= READABLE).then_some(connection))
    }

    pub(crate) fn enter(&mut self, identity: &Identity) -> Result<Found, CatalogError> {
        let failed = failed("write to", &self.path);
        let of = params![identity.directory, identity.name];
        self.inner
            .execute(
                "INSERT INTO collection (directory, name, position, position_at, options)
                 VALUES (?1, ?2, 0, 0, '') ON CONFLICT (directory, name) DO NOTHING",
                of,
            )
            .map_err(&failed)?;
        self.inner
            .query_row(
                "SELECT id, position, position_at FROM collection WHERE directory = ?1 AND name = ?2",
                of,
                |row| {
                    Ok(Found {
                        id: row.get(0)?,
                        position: Position::from_columns(row.get(1)?, row.get(2)?),
                    })
                },
            )
            .map_err(&failed)
    }

    pub(crate) fn write(
        &mut self,
        rows: &[Rows<'_>],
        advance: &Advance,
    ) -> Result<(), CatalogError> {
        let failed = failed("write to", &self.path);
        let behavior = TransactionBehavior::Immediate;
        let transaction = self
            .inner
            .transaction_with_behavior(behavior)
            .map_err(&failed)?;
        for (table, rows) in rows {
            let mut statement = transaction.prepare(&insertion(table)).map_err(&failed)?;
            for row in *rows {
                statement.execute(params_from_iter(row)).map_err(&failed)?;
            }
        }
        let Advance {
            collection,
            position,
            options,
        } = advance;
        transaction
            .execute(
                "UPDATE collection SET position = ?2, position_at = ?3, options = COALESCE(?4, options) WHERE id = ?1",
                params![collection, position.entry_column(), position.at.as_micros(), options],
            )
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)
    }

    pub(crate) fn wipe(&mut self, collection: i64) -> Result<(), CatalogError> {
        let failed = failed("clear", &self.path);
        // Somebody may have asked to have it erased: what is deleted is overwritten, also in the log.
        self.inner
            .pragma_update(None, "secure_delete", "on")
            .map_err(&failed)?;
        let behavior = TransactionBehavior::Immediate;
        let transaction = self
            .inner
            .transaction_with_behavior(behavior)
            .map_err(&failed)?;
        for table in OF_A_COLLECTION {
            let question = format!("DELETE FROM {} WHERE collection = ?1", table.name);
            transaction
                .execute(&question, [collection])
                .map_err(&failed)?;
        }
        transaction
            .execute("DELETE FROM collection WHERE id = ?1", [collection])
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        // Whoever reads meanwhile keeps the log for now; it is overwritten in time.
        let _ = self.inner.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        Ok(())
    }

    /// Lets questions reach the catalog in another file as `kept`, to be read only, and as it is at the first of them.
    pub(crate) fn attach(&mut self, kept: &Path) -> Result<(), CatalogError> {
        let failed = failed("read", kept);
        let address = percent_encode(kept.as_os_str().as_encoded_bytes(), NOT_IN_AN_ADDRESS);
        let address = format!("file:{address}?mode=ro");
        self.inner
            .execute("ATTACH ?1 AS kept", [address])
            .map_err(&failed)?;
        self.inner.execute_batch("BEGIN").map_err(&failed)
    }

    /// Ends what [`attach`](Self::attach) began.
    pub(crate) fn detach(&mut self) -> Result<(), CatalogError> {
        let ended = self.inner.execute_batch("ROLLBACK; DETACH kept");
        ended.map_err(failed("read", &self.path))
    }

    pub(crate) fn ask(
        &mut self,
        question: &str,
        each: &mut dyn FnMut(Row) -> bool,
    ) -> Result<Vec<String>, CatalogError> {
        let failed = failed("read", &self.path);
        let mut statement = self.inner.prepare(question).map_err(&failed)?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let values: Result<Row, rusqlite::Error> = (0..columns.len())
                .map(|at| row.get_ref(at).map(as_text))
                .collect();
            if !each(values.map_err(&failed)?) {
                break;
            }
        }
        Ok(columns)
    }
}

fn insertion(table: &Table) -> String {
    let places: Vec<String> = (1..=table.columns.len())
        .map(|number| format!("?{number}"))
        .collect();
    format!(
        "INSERT INTO {} ({}) VALUES ({}){}",
        table.name,
        table.column_list(),
        places.join(", "),
        table.on_conflict()
    )
}

fn as_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

/// That the file is as long as it says, and, where it is small, that its pages fit together. SQLite looks at neither
/// until somebody asks for what is gone.
fn check(inner: &rusqlite::Connection, path: &Path) -> Result<(), CatalogError> {
    let damaged = |told: String| {
        let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        let error = rusqlite::Error::SqliteFailure(corrupt, Some(told));
        failed("open", path)(error)
    };
    if let Some((says, has)) = missing_bytes(path) {
        let told = format!("it ends at byte {has}, and says that it has {says}");
        return Err(damaged(told));
    }
    let len = std::fs::metadata(path).map_or(0, |it| it.len());
    if len <= SMALL {
        let found: String = inner
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(failed("open", path))?;
        if found != "ok" {
            return Err(damaged(found));
        }
    }
    Ok(())
}

/// How many bytes a file says that it has, and how many there are, where these are fewer. While there is a log of it, what is missing may be
/// there.
fn missing_bytes(path: &Path) -> Option<(u64, u64)> {
    let mut head = [0; 100];
    let mut file = std::fs::File::open(path).ok()?;
    std::io::Read::read_exact(&mut file, &mut head).ok()?;
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    // The size of a page, 1 for 65536; its number of pages counts only where it was written with the last change.
    let page = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 1 << 16,
        size => u64::from(size),
    };
    let says = u64::from(number(28)) * page;
    let has = file.metadata().ok()?.len();
    let mut log = path.to_owned().into_os_string();
    log.push("-wal");
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    (number(24) == number(92) && has < says && !has_log).then_some((says, has))
}

/// The schema that is there; 0 before the first.
fn schema_of(inner: &rusqlite::Connection) -> Result<i64, rusqlite::Error> {
    let exists: Option<i64> = inner
        .query_row(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    match exists {
        None => Ok(0),
        Some(_) => inner.query_row(
            "SELECT COALESCE(MAX(number), 0) FROM migration",
            [],
            |row| row.get(0),
        ),
    }
}

fn check_schema(path: &Path, found: i64, known: i64) -> Result<(), CatalogError> {
    if found > known {
        return Err(CatalogError::Newer {
            at: path.display().to_string(),
            found,
            known,
        });
    }
    Ok(())
}

fn migrate(inner: &mut rusqlite::Connection, path: &Path) -> Result<(), CatalogError> {
    migrate_by(inner, path, MIGRATIONS)
}

fn migrate_by(
    inner: &mut rusqlite::Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), CatalogError> {
    let newest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let failed = failed("prepare", path);
    let found = schema_of(inner).map_err(&failed)?;
    check_schema(path, found, newest)?;
    if found == newest {
        return Ok(());
    }
    let transaction = inner
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(&failed)?;
    // Another process may have been faster.
    let found = schema_of(&transaction).map_err(&failed)?;
    check_schema(path, found, newest)?;
    transaction
        .execute_batch("CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY)")
        .map_err(&failed)?;
    for (number, text) in Dialect::Sqlite.migrations_of(migrations, found) {
        transaction.execute_batch(&text).map_err(&failed)?;
        transaction
            .execute("INSERT INTO migration (number) VALUES (?1)", [number])
            .map_err(&failed)?;
    }
    transaction.commit().map_err(&failed)
}

impl ToSql for Value {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, rusqlite::Error> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a later version might bring.
    const LATER: &str = "ALTER TABLE collection ADD COLUMN note {{text}} DEFAULT 'none';";

    fn with_later(text: &'static str) -> Vec<&'static str> {
        MIGRATIONS.iter().copied().chain([text]).collect()
    }

    fn numbers(inner: &rusqlite::Connection) -> Vec<i64> {
        let question = "SELECT number FROM migration ORDER BY number";
        let mut statement = inner.prepare(question).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn a_catalog_of_an_older_schema_is_brought_up_to_date_with_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.sqlite");
        // As the first version made it.
        let mut inner = rusqlite::Connection::open(&path).unwrap();
        migrate_by(&mut inner, &path, &MIGRATIONS[..1]).unwrap();
        let row = "INSERT INTO collection (directory, name, position, position_at, options) VALUES ('d', 'birds', 7, 8, 'x')";
        inner.execute(row, []).unwrap();
        assert_eq!(numbers(&inner), [1]);
        drop(inner);
        drop(Connection::open(&path).unwrap());
        // One that fails changes nothing.
        let mut inner = rusqlite::Connection::open(&path).unwrap();
        let halfway = "ALTER TABLE collection ADD COLUMN half BIGINT; SELECT no_such_function();";
        assert!(migrate_by(&mut inner, &path, &with_later(halfway)).is_err());
        assert!(inner.prepare("SELECT half FROM collection").is_err());
        assert_eq!(numbers(&inner).last(), Some(&NEWEST));
        // And one that does not is made once, however often the catalog is opened.
        for _ in 0..2 {
            migrate_by(&mut inner, &path, &with_later(LATER)).unwrap();
            assert_eq!(numbers(&inner).last(), Some(&(NEWEST + 1)));
            let question = "SELECT name, position, note FROM collection";
            let found: (String, i64, String) = inner
                .query_row(question, [], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .unwrap();
            assert_eq!(found, ("birds".to_owned(), 7, "none".to_owned()));
            drop(inner);
            inner = rusqlite::Connection::open(&path).unwrap();
        }
        // The program before it leaves it alone.
        assert!(matches!(
            Connection::open(&path),
            Err(CatalogError::Newer { .. })
        ));
    }
}
