//! A catalog in a database of PostgreSQL, in its schema `teia`.
//!
//! The client is asynchronous, the follower's thread is not: a runtime of its own lives on that
//! thread. Nothing waits for ever: a server that does not answer is an error, and the next try
//! begins with a new connection at the position that it has.

use std::collections::HashSet;
use std::error::Error;
use std::future::Future;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use futures_util::{StreamExt, pin_mut};
use tokio::runtime::Runtime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, SimpleQueryMessage, Transaction};

use crate::CatalogError;
use crate::catalog::{Identity, Position};
use crate::database::{Advance, Found, Rows};
use crate::reader::Row;
use crate::schema::{Dialect, MIGRATIONS, NEWEST, READABLE};
use crate::store::StoreUrl;
use crate::tables::{Merge, OF_A_COLLECTION, OUTCOME, Table};
use crate::tls;
use crate::value::{Kind, Value};

/// For a connection to be made.
const TO_CONNECT: Duration = Duration::from_secs(5);
/// For an answer; a batch is a few thousand rows.
const TO_ANSWER: Duration = Duration::from_secs(30);
/// Rows that are deleted at once, at first and at most; a part takes about a second.
const FIRST_PART: u64 = 500;
const MOST_PART: u64 = 100_000;
const PART_TIME: Duration = Duration::from_secs(1);
/// Fewer are not worth a question of their own.
const FEW_ROWS: usize = 64;
/// The position of a collection whose rows are being taken away.
const BEING_WIPED: i64 = -1;
/// What two who prepare the same database at once wait for each other by: "teia".
const LOCK: i64 = 0x7465_6961;

/// One connection.
pub(crate) struct Connection {
    at: String,
    // Before the runtime, which ends what is left of it.
    client: Client,
    runtime: Runtime,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.at)
    }
}

impl Connection {
    pub(crate) fn open(url: &StoreUrl) -> Result<Self, CatalogError> {
        let mut connection = Self::connect(url)?;
        connection.migrate()?;
        Ok(connection)
    }

    pub(crate) fn open_to_read(url: &StoreUrl) -> Result<Option<Self>, CatalogError> {
        let mut connection = Self::connect(url)?;
        let question = "SELECT to_regclass('teia.migration')::text";
        let mut exists = false;
        connection.ask(question, &mut |row| {
            exists = row[0].is_some();
            true
        })?;
        if !exists {
            return Ok(None);
        }
        let mut found = 0;
        let question = "SELECT COALESCE(MAX(number), 0) FROM migration";
        connection.ask(question, &mut |row| {
            found = row[0]
                .as_deref()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            true
        })?;
        connection.check_schema(found, NEWEST)?;
        Ok((found >= READABLE).then_some(connection))
    }

    fn connect(url: &StoreUrl) -> Result<Self, CatalogError> {
        let mut config = url.config()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(TO_CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("teia");
        }
        let at = url.to_string();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CatalogError::Runtime)?;
        let tls = tls::connector(url.authority().as_deref())?;
        let (client, driver) = wait(&runtime, &at, "reach", config.connect(tls))?;
        runtime.spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "the connection to the catalog ended");
            }
        });
        let set = "SET search_path TO teia; SET client_min_messages TO warning";
        wait(&runtime, &at, "prepare", client.batch_execute(set))?;
        Ok(Self {
            at,
            client,
            runtime,
        })
    }

    fn check_schema(&self, found: i64, newest: i64) -> Result<(), CatalogError> {
        if found > newest {
            return Err(CatalogError::Newer {
                at: self.at.clone(),
                found,
                known: newest,
            });
        }
        Ok(())
    }

    fn migrate(&mut self) -> Result<(), CatalogError> {
        self.migrate_by(MIGRATIONS)
    }

    fn migrate_by(&mut self, migrations: &[&str]) -> Result<(), CatalogError> {
        let newest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
        let (client, mut found) = (&mut self.client, 0);
        wait(&self.runtime, &self.at, "prepare", async {
            let transaction = client.transaction().await?;
            let lock = format!("SELECT pg_advisory_xact_lock({LOCK})");
            transaction.batch_execute(&lock).await?;
            // Who may not make schemas can be given one.
            let question = "SELECT to_regnamespace('teia') IS NULL";
            if transaction.query_one(question, &[]).await?.get(0) {
                transaction.batch_execute("CREATE SCHEMA teia").await?;
            }
            let begin = "CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY)";
            transaction.batch_execute(begin).await?;
            let question = "SELECT COALESCE(MAX(number), 0) FROM migration";
            found = transaction.query_one(question, &[]).await?.get(0);
            for (number, text) in Dialect::Postgres.migrations_of(migrations, found) {
                transaction.batch_execute(&text).await?;
                let note = "INSERT INTO migration (number) VALUES ($1)";
                transaction.execute(note, &[&number]).await?;
            }
            transaction.commit().await
        })?;
        self.check_schema(found, newest)
    }

    pub(crate) fn enter(&mut self, identity: &Identity) -> Result<Found, CatalogError> {
        let (found, position) = self.find_or_begin(identity)?;
        if position != BEING_WIPED {
            return Ok(found);
        }
        // Whoever took it away did not come to the end.
        self.wipe(found.id)?;
        Ok(self.find_or_begin(identity)?.0)
    }

    fn find_or_begin(&mut self, identity: &Identity) -> Result<(Found, i64), CatalogError> {
        let client = &self.client;
        let of: [&(dyn ToSql + Sync); 2] = [&identity.directory, &identity.name];
        let row = wait(&self.runtime, &self.at, "write to", async {
            let enter = "INSERT INTO collection (directory, name, position, position_at, options)
                VALUES ($1, $2, 0, 0, '') ON CONFLICT (directory, name) DO NOTHING";
            client.execute(enter, &of).await?;
            let question = "SELECT id, position, position_at FROM collection WHERE directory = $1 AND name = $2";
            client.query_one(question, &of).await
        })?;
        let found = Found {
            id: row.get(0),
            position: Position::from_columns(row.get(1), row.get(2)),
        };
        Ok((found, row.get(1)))
    }

    pub(crate) fn write(
        &mut self,
        rows: &[Rows<'_>],
        advance: &Advance,
    ) -> Result<(), CatalogError> {
        let client = &mut self.client;
        wait(&self.runtime, &self.at, "write to", async {
            let transaction = client.transaction().await?;
            // Nobody waits for the disk of the server: what it loses comes again from the journal.
            // And keys are looked up one by one in their index, whatever it believes of the size of a table that was
            // never analyzed.
            let settings = "SET LOCAL synchronous_commit TO off; SET LOCAL enable_seqscan TO off;
                SET LOCAL enable_hashjoin TO off; SET LOCAL enable_mergejoin TO off";
            transaction.batch_execute(settings).await?;
            for (table, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
                put(&transaction, table, rows).await?;
            }
            let update = "UPDATE collection SET position = $2, position_at = $3, options = COALESCE($4, options) WHERE id = $1";
            let position = &advance.position;
            let values: [&(dyn ToSql + Sync); 4] = [
                &advance.collection,
                &position.entry_column(),
                &position.at.as_micros(),
                &advance.options,
            ];
            transaction.execute(update, &values).await?;
            transaction.commit().await
        })
    }

    /// In parts, each with its own limit of time: what has grown for months is not gone within one answer. Until all
    /// of it is gone the collection is marked, so that nobody follows on what is left.
    pub(crate) fn wipe(&mut self, collection: i64) -> Result<(), CatalogError> {
        let (client, runtime, at) = (&self.client, &self.runtime, self.at.as_str());
        let of: [&(dyn ToSql + Sync); 1] = [&collection];
        let mark = format!("UPDATE collection SET position = {BEING_WIPED} WHERE id = $1");
        wait(runtime, at, "clear", client.execute(&mark, &of))?;
        for table in OF_A_COLLECTION {
            let name = table.name;
            let mut part = FIRST_PART;
            loop {
                let delete = format!(
                    "DELETE FROM {name} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {name} WHERE collection = $1 LIMIT {part}))"
                );
                let began = Instant::now();
                if wait(runtime, at, "clear", client.execute(&delete, &of))? == 0 {
                    break;
                }
                part = next_part(part, began.elapsed());
            }
        }
        let delete = "DELETE FROM collection WHERE id = $1";
        wait(runtime, at, "clear", client.execute(delete, &of))?;
        Ok(())
    }

    pub(crate) fn ask(
        &mut self,
        question: &str,
        each: &mut dyn FnMut(Row) -> bool,
    ) -> Result<Vec<String>, CatalogError> {
        let (runtime, at) = (&self.runtime, self.at.as_str());
        let asked = self.client.simple_query_raw(question);
        let answers = wait(runtime, at, "read", asked)?;
        pin_mut!(answers);
        let mut columns = Vec::new();
        let mut is_wanted = true;
        // A long answer may take its time, as long as something comes. What nobody wants of it is
        // passed over, so that the next one can come.
        loop {
            let next = async { answers.next().await.transpose() };
            match wait(runtime, at, "read", next)? {
                Some(SimpleQueryMessage::RowDescription(described)) => {
                    let names = described.iter().map(|column| column.name().to_owned());
                    columns = names.collect();
                }
                Some(SimpleQueryMessage::Row(row)) if is_wanted => {
                    let values = (0..row.len()).map(|at| row.get(at).map(str::to_owned));
                    is_wanted = each(values.collect());
                }
                Some(_) => {}
                None => return Ok(columns),
            }
        }
    }
}

/// How many rows the next part has, so that it takes about as long as it should.
fn next_part(part: u64, took: Duration) -> u64 {
    if took > PART_TIME {
        (part / 2).max(1)
    } else if took < PART_TIME / 4 {
        (part * 2).min(MOST_PART)
    } else {
        part
    }
}

/// Lets the runtime work until there is an answer, or none has come for too long.
fn wait<T>(
    runtime: &Runtime,
    at: &str,
    doing: &'static str,
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, CatalogError> {
    let limited = async { tokio::time::timeout(TO_ANSWER, answer).await };
    match runtime.block_on(limited) {
        Ok(answer) => answer.map_err(|source| match tls::mistrust(&source) {
            Some(reason) => CatalogError::Certificate {
                at: at.to_owned(),
                reason,
            },
            None => CatalogError::Postgres {
                doing,
                at: at.to_owned(),
                source,
            },
        }),
        Err(_) => Err(CatalogError::Late {
            at: at.to_owned(),
            seconds: TO_ANSWER.as_secs(),
        }),
    }
}

/// Rows that cannot be there are copied, which costs the server half of what joining them to others does; and most
/// rows of the large tables are such.
async fn put(
    transaction: &Transaction<'_>,
    table: &Table,
    rows: &[Vec<Value>],
) -> Result<(), tokio_postgres::Error> {
    let all: Vec<&Vec<Value>> = rows.iter().collect();
    if !table.may_conflict() {
        return copy(transaction, table, &all).await;
    }
    // Outcomes belong to all collections: another may write the same ones meanwhile.
    if rows.len() < FEW_ROWS || table.name == OUTCOME.name {
        return join(transaction, table, &all).await;
    }
    let present = present(transaction, table, &all).await?;
    let (old, new): (Vec<_>, Vec<_>) = (0..)
        .zip(all)
        .partition(|(number, _)| present.contains(number));
    let rows = |part: Vec<(i64, _)>| -> Vec<&Vec<Value>> {
        part.into_iter().map(|(_, row)| row).collect()
    };
    if !old.is_empty() {
        join(transaction, table, &rows(old)).await?;
    }
    copy(transaction, table, &rows(new)).await
}

/// Which of these rows, by their number, have a row with their key in the table.
async fn present(
    transaction: &Transaction<'_>,
    table: &Table,
    rows: &[&Vec<Value>],
) -> Result<HashSet<i64>, tokio_postgres::Error> {
    let keys: Vec<_> = table
        .columns
        .iter()
        .filter(|(.., merge)| *merge == Merge::Key)
        .collect();
    let names: Vec<&str> = keys.iter().map(|(name, ..)| *name).collect();
    let question = format!(
        "SELECT number FROM UNNEST({}) WITH ORDINALITY AS given ({}, number) JOIN {} USING ({})",
        arrays(keys.iter().map(|(_, kind, _)| *kind)),
        names.join(", "),
        table.name,
        names.join(", "),
    );
    let columns: Vec<Vec<&Value>> = names
        .iter()
        .map(|name| column(rows, table.place(name)))
        .collect();
    let found = transaction.query(&question, &as_sql(&columns)).await?;
    // It counts from 1.
    Ok(found.iter().map(|row| row.get::<_, i64>(0) - 1).collect())
}

/// All rows in one statement, which joins each to the one that is there.
async fn join(
    transaction: &Transaction<'_>,
    table: &Table,
    rows: &[&Vec<Value>],
) -> Result<(), tokio_postgres::Error> {
    let insertion = format!(
        "INSERT INTO {} ({}) SELECT * FROM UNNEST({}){}",
        table.name,
        table.column_list(),
        arrays(table.columns.iter().map(|(_, kind, _)| *kind)),
        table.on_conflict()
    );
    let columns: Vec<Vec<&Value>> = (0..table.columns.len())
        .map(|at| column(rows, at))
        .collect();
    transaction.execute(&insertion, &as_sql(&columns)).await?;
    Ok(())
}

async fn copy(
    transaction: &Transaction<'_>,
    table: &Table,
    rows: &[&Vec<Value>],
) -> Result<(), tokio_postgres::Error> {
    let command = format!(
        "COPY {} ({}) FROM STDIN (FORMAT binary)",
        table.name,
        table.column_list()
    );
    let types: Vec<Type> = table
        .columns
        .iter()
        .map(|(_, kind, _)| type_of(*kind))
        .collect();
    let sink = transaction.copy_in(&command).await?;
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for row in rows {
        writer.as_mut().write_raw(row.iter()).await?;
    }
    writer.finish().await?;
    Ok(())
}

/// One column of many rows.
fn column<'a>(rows: &[&'a Vec<Value>], at: usize) -> Vec<&'a Value> {
    rows.iter().map(|row| &row[at]).collect()
}

fn as_sql<'a>(columns: &'a [Vec<&'a Value>]) -> Vec<&'a (dyn ToSql + Sync)> {
    columns.iter().map(|column| column as _).collect()
}

/// `$1::bigint[], $2::text[]`.
fn arrays(kinds: impl Iterator<Item = Kind>) -> String {
    let arrays: Vec<String> = (1..)
        .zip(kinds)
        .map(|(number, kind)| format!("${number}::{}[]", type_of(kind)))
        .collect();
    arrays.join(", ")
}

fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Int => Type::INT8,
        Kind::Text => Type::TEXT,
        Kind::Bytes => Type::BYTEA,
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        column: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(column, out),
            Self::Text(text) => text.to_sql(column, out),
            Self::Bytes(bytes) => bytes.to_sql(column, out),
        }
    }

    fn accepts(column: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(column)
    }

    to_sql_checked!();
}

#[cfg(test)]
#[path = "../tests/support/postgres.rs"]
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
mod server;

#[cfg(test)]
mod tests {
    use super::server::Postgres;
    use super::*;

    /// What a later version might bring.
    const LATER: &str = "ALTER TABLE collection ADD COLUMN note {{text}} DEFAULT 'none';";

    fn with_later(text: &'static str) -> Vec<&'static str> {
        MIGRATIONS.iter().copied().chain([text]).collect()
    }

    fn answers(connection: &mut Connection, question: &str) -> Result<Vec<Row>, CatalogError> {
        let mut rows = Vec::new();
        connection.ask(question, &mut |row| {
            rows.push(row);
            true
        })?;
        Ok(rows)
    }

    fn numbers(connection: &mut Connection) -> Vec<i64> {
        let question = "SELECT number FROM migration ORDER BY number";
        let rows = answers(connection, question).unwrap();
        let number = |row: &Row| row[0].as_ref().unwrap().parse().unwrap();
        rows.iter().map(number).collect()
    }

    #[test]
    fn a_catalog_of_an_older_schema_is_brought_up_to_date_with_its_rows() {
        let Some(server) = Postgres::start("migrations") else {
            return;
        };
        let url = StoreUrl::parse(&server.url()).unwrap();
        // As the first version made it.
        let mut connection = Connection::connect(&url).unwrap();
        connection.migrate_by(&MIGRATIONS[..1]).unwrap();
        let row = "INSERT INTO collection (directory, name, position, position_at, options) VALUES ('d', 'birds', 7, 8, 'x')";
        answers(&mut connection, row).unwrap();
        assert_eq!(numbers(&mut connection), [1]);
        drop(connection);
        // One that fails changes nothing.
        let mut connection = Connection::open(&url).unwrap();
        let halfway = "ALTER TABLE collection ADD COLUMN half BIGINT; SELECT no_such_function();";
        assert!(connection.migrate_by(&with_later(halfway)).is_err());
        assert!(answers(&mut connection, "SELECT half FROM collection").is_err());
        assert_eq!(numbers(&mut connection).last(), Some(&NEWEST));
        // And one that does not is made once, however often the catalog is opened.
        for _ in 0..2 {
            connection.migrate_by(&with_later(LATER)).unwrap();
            assert_eq!(numbers(&mut connection).last(), Some(&(NEWEST + 1)));
            let question = "SELECT name, position, note FROM collection";
            let text = |text: &str| Some(text.to_owned());
            let found = answers(&mut connection, question).unwrap();
            assert_eq!(found, [[text("birds"), text("7"), text("none")]]);
            connection = Connection::connect(&url).unwrap();
        }
        // The program before it leaves it alone.
        assert!(matches!(
            Connection::open(&url),
            Err(CatalogError::Newer { found, .. }) if found == NEWEST + 1
        ));
    }

    #[test]
    fn parts_grow_and_shrink_with_the_time_that_they_take() {
        assert_eq!(next_part(500, Duration::from_millis(10)), 1000);
        assert_eq!(next_part(500, Duration::from_millis(500)), 500);
        assert_eq!(next_part(500, Duration::from_secs(3)), 250);
        assert_eq!(next_part(MOST_PART, Duration::ZERO), MOST_PART);
        assert_eq!(next_part(1, Duration::from_secs(3)), 1);
    }
}
