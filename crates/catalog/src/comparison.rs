//! What a catalog has beside what the journal says: SQLite keeps no check sums.
//!
//! ```text
//! journal ──> Catalog, a temporary file ──┐
//!                                         ├──compare, row by row──> what differs, in words
//! the catalog that is kept (read only) ───┘
//! ```
//!
//! Both are asked in one statement for each table, so that neither is held in memory, and the one that is kept is seen at
//! one moment: a run may go on writing it.

use std::path::Path;

use crate::CatalogError;
use crate::catalog::{Catalog, Identity, Position};
use crate::reader::{Row, number};
use crate::schema::NEWEST;
use crate::sqlite;
use crate::tables::{ATTEMPT, DOCUMENT, HOST, MINUTE, Merge, OF_A_COLLECTION, OUTCOME, RUN, Table};

/// Rows of a table that differ and are told one by one.
const MOST_TOLD: u64 = 3;

/// How much of a catalog is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything: this version of the program wrote all of it.
    Everything,
    /// What stands in the journal as it stands here. What is counted or named, an older version may have counted
    /// otherwise.
    Copied,
}

/// What came of comparing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The one that is kept has come to another place meanwhile; to none where it lacks the collection.
    Elsewhere(Option<Position>),
    /// So many rows were looked at, and this differs.
    Rows {
        /// Of the journal.
        rows: u64,
        /// In words, the first few of each table.
        differences: Vec<String>,
    },
}

impl Catalog {
    /// Compares what was taken in with what the catalog in this file has of the collection. This one must be a
    /// temporary one.
    pub fn compare(
        &mut self,
        kept: &Path,
        identity: &Identity,
        extent: Extent,
    ) -> Result<Compared, CatalogError> {
        self.commit()?;
        let (position, ours) = (self.position(), self.collection());
        let Some(connection) = self.in_file() else {
            return Ok(Compared::Elsewhere(None));
        };
        connection.attach(kept)?;
        let mut comparison = Comparison {
            connection,
            ours,
            theirs: 0,
            differences: Vec::new(),
        };
        let compared = comparison.at(position, identity, extent);
        // What was asked is answered, or cannot be: nothing depends on this.
        let _ = comparison.connection.detach();
        compared.map_err(|error| error.at_path(kept))
    }
}

struct Comparison<'a> {
    connection: &'a mut sqlite::Connection,
    /// The number of the collection in the one that was just written, and in the one that is kept.
    ours: i64,
    theirs: i64,
    differences: Vec<String>,
}

impl Comparison<'_> {
    fn at(
        &mut self,
        position: Position,
        identity: &Identity,
        extent: Extent,
    ) -> Result<Compared, CatalogError> {
        // What lies in a key is letters and digits, as a name is; `Reader::find` refuses others.
        let question = format!(
            "SELECT id, position, position_at FROM kept.collection WHERE directory = '{}' AND name = '{}'",
            identity.directory, identity.name
        );
        let found = self.ask(&question)?;
        let Some(row) = found.first() else {
            return Ok(Compared::Elsewhere(None));
        };
        let is_at = Position::from_columns(number(row, 1), number(row, 2));
        if is_at.entry != position.entry {
            return Ok(Compared::Elsewhere(Some(is_at)));
        }
        self.theirs = number(row, 0);
        self.schema()?;
        self.collection_row()?;
        let mut rows = 0;
        for table in OF_A_COLLECTION {
            let columns = columns_of(table, extent);
            if !columns.is_empty() {
                rows += self.table(table, &columns)?;
            }
        }
        if extent == Extent::Everything {
            self.outcomes()?;
        }
        Ok(Compared::Rows {
            rows,
            differences: std::mem::take(&mut self.differences),
        })
    }

    /// The tables, indexes and views themselves. An older schema has others, until a run brings it up to date.
    fn schema(&mut self) -> Result<(), CatalogError> {
        let newest = self.ask("SELECT MAX(number) FROM kept.migration")?;
        if newest.first().is_some_and(|row| number(row, 0) != NEWEST) {
            return Ok(());
        }
        let question = "SELECT f.type || ' `' || f.name || '`' FROM main.sqlite_master AS f LEFT JOIN kept.sqlite_master AS k
             ON k.type = f.type AND k.name = f.name AND k.tbl_name = f.tbl_name
             WHERE f.sql IS NOT NULL AND f.sql IS NOT k.sql";
        self.tell(question, |row| {
            format!("the {} is not as it was made", text(row, 0))
        })
    }

    fn collection_row(&mut self) -> Result<(), CatalogError> {
        let columns = ["position_at", "options"];
        let question = format!(
            "SELECT {} FROM main.collection AS f JOIN kept.collection AS k WHERE f.id = {} AND k.id = {} AND ({})",
            differing(&columns),
            self.ours,
            self.theirs,
            differ(&columns)
        );
        self.tell(&question, |row| {
            format!(
                "the row of the collection differs from the journal in{}",
                text(row, 0)
            )
        })
    }

    /// Rows of one table; how many there should be.
    fn table(&mut self, table: &Table, columns: &[&str]) -> Result<u64, CatalogError> {
        let (name, ours, theirs) = (table.name, self.ours, self.theirs);
        let keys = keys_of(table);
        let is_same: Vec<String> = keys
            .iter()
            .map(|key| format!("f.{key} = k.{key}"))
            .collect();
        let is_same = is_same.join(" AND ");
        let first = keys.first().copied().unwrap_or("collection");
        // Row by row as they lie there, not by an index of its own, which may be what is damaged.
        let question = format!(
            "SELECT {}, CASE WHEN f.{first} IS NULL THEN NULL ELSE {} END
             FROM kept.{name} AS k NOT INDEXED LEFT JOIN main.{name} AS f ON f.collection = {ours} AND {is_same}
             WHERE k.collection = {theirs} AND (f.{first} IS NULL OR {})",
            label(table, "k"),
            differing(columns),
            differ(columns)
        );
        self.tell(&question, |row| match row.get(1) {
            Some(Some(columns)) => format!("{} differs from the journal in{columns}", text(row, 0)),
            _ => format!("{} is not in the journal", text(row, 0)),
        })?;
        let question = format!(
            "SELECT {} FROM main.{name} AS f LEFT JOIN kept.{name} AS k ON k.collection = {theirs} AND {is_same}
             WHERE f.collection = {ours} AND k.{first} IS NULL",
            label(table, "f"),
        );
        self.tell(&question, |row| format!("{} is missing", text(row, 0)))?;
        let question = format!("SELECT COUNT(*) FROM main.{name} WHERE collection = {ours}");
        let count = self.ask(&question)?;
        let count = count.first().map_or(0, |row| number(row, 0));
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// What outcomes are called; those that the collection had.
    fn outcomes(&mut self) -> Result<(), CatalogError> {
        let columns = columns_of(&OUTCOME, Extent::Everything);
        let question = format!(
            "SELECT f.number FROM main.outcome AS f LEFT JOIN kept.outcome AS k ON k.number = f.number WHERE {}",
            differ(&columns)
        );
        self.tell(&question, |row| {
            format!("what the outcome {} is called differs", text(row, 0))
        })
    }

    /// Says what is wrong with each row of an answer, of many only that there are more.
    fn tell(&mut self, question: &str, words: impl Fn(&Row) -> String) -> Result<(), CatalogError> {
        let mut count = 0;
        let differences = &mut self.differences;
        self.connection.ask(question, &mut |row| {
            count += 1;
            if count <= MOST_TOLD {
                differences.push(words(&row));
            }
            true
        })?;
        if count > MOST_TOLD
            && let Some(last) = differences.last_mut()
        {
            last.push_str(&format!(", and so with {} more", count - MOST_TOLD));
        }
        Ok(())
    }

    fn ask(&mut self, question: &str) -> Result<Vec<Row>, CatalogError> {
        let mut rows = Vec::new();
        self.connection.ask(question, &mut |row| {
            rows.push(row);
            true
        })?;
        Ok(rows)
    }
}

/// The key of a row within its collection.
fn keys_of(table: &Table) -> Vec<&'static str> {
    let keys = table
        .columns
        .iter()
        .filter(|(.., merge)| *merge == Merge::Key);
    let names = keys.map(|(name, ..)| *name);
    names.filter(|name| *name != "collection").collect()
}

/// What is compared of a row beside its key.
fn columns_of(table: &Table, extent: Extent) -> Vec<&'static str> {
    let is_value = |merge: Merge| merge != Merge::Key;
    let values = table.columns.iter().filter(|(.., merge)| is_value(*merge));
    let names = values.map(|(name, ..)| *name);
    names
        .filter(|name| extent == Extent::Everything || is_copied(table, name))
        // A link to a host that was met before moves it only where the one before it is written already.
        .filter(|name| (table.name, *name) != (HOST.name, "last_at"))
        .collect()
}

/// Whether a column holds what the journal holds, and nothing that is counted, named or judged here.
fn is_copied(table: &Table, column: &str) -> bool {
    if table.name == RUN.name {
        [
            "started_at",
            "last_at",
            "ended",
            "is_paused",
            "version",
            "seeds",
        ]
        .contains(&column)
    } else if table.name == DOCUMENT.name {
        !["extension", "is_dynamic", "next", "is_kept", "is_duplicate"].contains(&column)
    } else if table.name == ATTEMPT.name {
        !["is_robots", "is_request", "next", "flags", "protocol"].contains(&column)
    } else {
        false
    }
}

/// What people call a row.
fn label(table: &Table, side: &str) -> String {
    if table.name == DOCUMENT.name {
        format!("'the document ' || {side}.url")
    } else if table.name == ATTEMPT.name {
        format!(
            "'the attempt ' || {side}.place || ' of journal entry ' || {side}.entry || ' at ' || {side}.url"
        )
    } else if table.name == HOST.name {
        format!("'the host ' || {side}.host")
    } else if table.name == MINUTE.name {
        format!("'the minute ' || {side}.minute || ' of run ' || {side}.run")
    } else {
        format!("'run ' || {side}.number")
    }
}

fn differ(columns: &[&str]) -> String {
    let each: Vec<String> = columns
        .iter()
        .map(|column| format!("f.{column} IS NOT k.{column}"))
        .collect();
    each.join(" OR ")
}

/// The names of the columns that differ, each behind a blank.
fn differing(columns: &[&str]) -> String {
    let each: Vec<String> = columns
        .iter()
        .map(|column| {
            format!("CASE WHEN f.{column} IS NOT k.{column} THEN ' {column}' ELSE '' END")
        })
        .collect();
    each.join(" || ")
}

fn text(row: &Row, at: usize) -> &str {
    row.get(at)
        .and_then(Option::as_deref)
        .unwrap_or("without a name")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use teia_base::journal::{Attempt, Commit, Entry, Next, Record, RunStarted};
    use teia_base::{NormalForm, Outcome, Timestamp};

    use super::*;
    use crate::store::Store;

    /// Pages and failures of two hosts, in two runs.
    fn journal() -> Vec<Entry> {
        let at = |second: i64| Timestamp::from_micros(1_900_000_000_000_000 + second * 1_000_000);
        let attempt = |second: i64, url: &str, status: u16| {
            let url = NormalForm::default().parse(url).unwrap();
            let mut attempt = Attempt::new(url, at(second), Outcome::http(status));
            attempt.answered = true;
            attempt.title = format!("Page {second}");
            attempt.media_type = Some("text/html".to_owned());
            attempt.payload_sha1 = Some([7; 20]);
            attempt.text_digest = Some(7);
            attempt.language = Some("en".to_owned());
            attempt.next = if status == 200 {
                Next::Done
            } else {
                Next::Failed
            };
            attempt
        };
        let mut entries = Vec::new();
        for (run, second) in [(1, 0), (2, 1000)] {
            let mut push = |offset: i64, record: Record| {
                entries.push(Entry {
                    sequence: entries.len() as u64 + 1,
                    wall: at(second + offset),
                    run,
                    record,
                });
            };
            push(
                0,
                Record::RunStarted(RunStarted {
                    options: format!("# run {run}"),
                    seeds: Vec::new(),
                    version: "1".to_owned(),
                }),
            );
            for offset in [10, 80] {
                let attempts = vec![
                    attempt(second + offset, "http://a.example/x?y", 200),
                    attempt(
                        second + offset,
                        &format!("http://b.example/{offset}.html"),
                        404,
                    ),
                ];
                push(
                    offset,
                    Record::Commit(Commit {
                        attempts,
                        ..Commit::default()
                    }),
                );
            }
        }
        entries
    }

    struct Kept {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    /// A file with two collections of the same journal, the second a little behind.
    fn kept() -> Kept {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my #1 teia?.db");
        for (name, until) in [("default", 6), ("other", 3)] {
            let store = Store::Sqlite(path.clone());
            let mut catalog = Catalog::open(&store, &Identity::new(7, name)).unwrap();
            for entry in &journal()[..until] {
                catalog.apply(entry).unwrap();
                catalog.commit().unwrap();
            }
        }
        Kept {
            _folder: folder,
            path,
        }
    }

    fn anew(until: usize) -> Catalog {
        let identity = Identity::new(7, "default");
        let mut catalog = Catalog::open(&Store::temporary(), &identity).unwrap();
        for entry in &journal()[..until] {
            catalog.apply(entry).unwrap();
        }
        catalog
    }

    fn differences(kept: &Kept, extent: Extent) -> Vec<String> {
        let identity = Identity::new(7, "default");
        match anew(6).compare(&kept.path, &identity, extent).unwrap() {
            Compared::Rows { rows, differences } => {
                assert!(rows >= 7, "{rows}");
                differences
            }
            other => panic!("{other:?}"),
        }
    }

    fn change(kept: &Kept, statement: &str) {
        let inner = rusqlite::Connection::open(&kept.path).unwrap();
        inner.execute_batch(statement).unwrap();
    }

    #[test]
    fn what_was_written_in_other_steps_is_the_same_and_one_that_is_elsewhere_says_so() {
        let kept = kept();
        for extent in [Extent::Everything, Extent::Copied] {
            assert_eq!(differences(&kept, extent), [""; 0]);
        }
        let identity = Identity::new(7, "default");
        let mut catalog = anew(3);
        let compared = catalog.compare(&kept.path, &identity, Extent::Everything);
        let last = journal().pop().unwrap();
        let there = Position {
            entry: 6,
            at: last.wall,
        };
        assert_eq!(compared.unwrap(), Compared::Elsewhere(Some(there)));
        // And may be asked again when it has come as far.
        for entry in &journal()[3..] {
            catalog.apply(entry).unwrap();
        }
        let compared = catalog.compare(&kept.path, &identity, Extent::Everything);
        assert!(
            matches!(compared.unwrap(), Compared::Rows { differences, .. } if differences.is_empty())
        );
        let nobody = Identity::new(7, "nobody");
        let compared = catalog.compare(&kept.path, &nobody, Extent::Everything);
        assert_eq!(compared.unwrap(), Compared::Elsewhere(None));
    }

    #[test]
    fn a_value_that_changed_in_any_column_of_any_table_is_found_and_named() {
        let mut count = 0;
        for table in OF_A_COLLECTION.into_iter().chain([&OUTCOME]) {
            for (column, kind, _) in table.columns {
                if (table.name, *column) == (HOST.name, "last_at") {
                    continue;
                }
                let kept = kept();
                let other = match kind {
                    crate::value::Kind::Int => format!("COALESCE({column}, 0) + 1048576"),
                    crate::value::Kind::Text => format!("COALESCE({column}, '') || 'x'"),
                    crate::value::Kind::Bytes => "x'01'".to_owned(),
                };
                let name = table.name;
                let of = if name == "outcome" {
                    "1"
                } else {
                    "collection = 1"
                };
                change(
                    &kept,
                    &format!(
                        "UPDATE {name} SET {column} = {other} WHERE rowid = (SELECT MAX(rowid) FROM {name} WHERE {of})"
                    ),
                );
                let found = differences(&kept, Extent::Everything);
                assert!(!found.is_empty(), "{name}.{column}");
                count += 1;
            }
        }
        assert!(count > 80, "{count}");
        let kept = kept();
        change(
            &kept,
            "UPDATE document SET title = 'Pagf 1080' WHERE title = 'Page 1080'",
        );
        for extent in [Extent::Everything, Extent::Copied] {
            assert_eq!(
                differences(&kept, extent),
                ["the document http://a.example/x?y differs from the journal in title"]
            );
        }
    }

    #[test]
    fn rows_that_are_gone_or_too_many_are_found_and_so_are_views_and_positions() {
        for (statement, told) in [
            (
                "DELETE FROM attempt WHERE collection = 1 AND entry = 2 AND place = 1",
                "at http://b.example/10.html is missing",
            ),
            (
                "DELETE FROM attempt WHERE collection = 1",
                "and so with 5 more",
            ),
            (
                "INSERT INTO host SELECT collection, 'c.example', admitted, fetched, errors, bytes, requests, answered, answer_micros, first_at, last_at FROM host WHERE collection = 1 LIMIT 1",
                "the host c.example is not in the journal",
            ),
            (
                "UPDATE collection SET options = 'x' WHERE id = 1",
                "in options",
            ),
            (
                "UPDATE collection SET position_at = 8 WHERE id = 1",
                "in position_at",
            ),
            (
                "DROP VIEW errors; CREATE VIEW errors AS SELECT * FROM attempts",
                "the view `errors` is not as it was made",
            ),
            (
                "DROP INDEX document_by_host",
                "the index `document_by_host`",
            ),
        ] {
            let kept = kept();
            change(&kept, statement);
            let found = differences(&kept, Extent::Everything);
            assert!(
                found.iter().any(|it| it.contains(told)),
                "{statement}: {found:?}"
            );
        }
    }

    #[test]
    fn what_an_older_version_counted_otherwise_is_no_damage() {
        let kept = kept();
        change(
            &kept,
            "UPDATE run SET errors = 9; UPDATE host SET errors = 9; UPDATE minute SET errors = 9;
             UPDATE document SET extension = 'y'; UPDATE attempt SET flags = 'y', is_request = 0;
             UPDATE outcome SET meaning = 'y'",
        );
        assert_eq!(differences(&kept, Extent::Copied), [""; 0]);
        assert_ne!(differences(&kept, Extent::Everything), [""; 0]);
    }
}
