//! A catalog in a database of PostgreSQL, in its schema `teia`.
//!
//! The client is asynchronous, the follower's thread is not: a runtime of its own lives on that
//! thread. Nothing waits for ever: a server that does not answer is an error, and the next try
//! begins with a new connection at the position that it has.

use std::future::Future;
use std::time::Duration;

use futures_util::{StreamExt, pin_mut};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, SimpleQueryMessage, Transaction};

use crate::CatalogError;
use crate::catalog::{Identity, Position};
use crate::database::{Advance, Found, Rows};
use crate::reader::Row;
use crate::schema::{Dialect, NEWEST};
use crate::store::StoreUrl;
use crate::tables::{OF_A_COLLECTION, Table};
use crate::tls;
use crate::value::{Kind, Value};

/// For a connection to be made.
const TO_CONNECT: Duration = Duration::from_secs(5);
/// For an answer; a batch is a few thousand rows.
const TO_ANSWER: Duration = Duration::from_secs(30);
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
        connection.check_schema(found)?;
        Ok((found == NEWEST).then_some(connection))
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

    fn check_schema(&self, found: i64) -> Result<(), CatalogError> {
        if found > NEWEST {
            return Err(CatalogError::Newer {
                at: self.at.clone(),
                found,
                known: NEWEST,
            });
        }
        Ok(())
    }

    fn migrate(&mut self) -> Result<(), CatalogError> {
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
            for (number, text) in Dialect::Postgres.migrations_after(found) {
                transaction.batch_execute(&text).await?;
                let note = "INSERT INTO migration (number) VALUES ($1)";
                transaction.execute(note, &[&number]).await?;
            }
            transaction.commit().await
        })?;
        self.check_schema(found)
    }

    pub(crate) fn enter(&mut self, identity: &Identity) -> Result<Found, CatalogError> {
        let client = &self.client;
        let of: [&(dyn ToSql + Sync); 2] = [&identity.directory, &identity.name];
        let row = wait(&self.runtime, &self.at, "write to", async {
            let enter = "INSERT INTO collection (directory, name, position, position_at, options)
                VALUES ($1, $2, 0, 0, '') ON CONFLICT (directory, name) DO NOTHING";
            client.execute(enter, &of).await?;
            let question = "SELECT id, position, position_at FROM collection WHERE directory = $1 AND name = $2";
            client.query_one(question, &of).await
        })?;
        Ok(Found {
            id: row.get(0),
            position: Position::from_columns(row.get(1), row.get(2)),
        })
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
            transaction
                .batch_execute("SET LOCAL synchronous_commit TO off")
                .await?;
            for (table, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
                insert(&transaction, table, rows).await?;
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

    pub(crate) fn wipe(&mut self, collection: i64) -> Result<(), CatalogError> {
        let client = &mut self.client;
        wait(&self.runtime, &self.at, "clear", async {
            let transaction = client.transaction().await?;
            for table in OF_A_COLLECTION {
                let question = format!("DELETE FROM {} WHERE collection = $1", table.name);
                transaction.execute(&question, &[&collection]).await?;
            }
            let question = "DELETE FROM collection WHERE id = $1";
            transaction.execute(question, &[&collection]).await?;
            transaction.commit().await
        })
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

/// All rows in one statement: a column is an array.
async fn insert(
    transaction: &Transaction<'_>,
    table: &Table,
    rows: &[Vec<Value>],
) -> Result<(), tokio_postgres::Error> {
    let columns: Vec<Column<'_>> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, (_, kind, _))| Column::of(*kind, rows, at))
        .collect();
    let values: Vec<&(dyn ToSql + Sync)> = columns.iter().map(Column::as_sql).collect();
    transaction.execute(&insertion(table), &values).await?;
    Ok(())
}

fn insertion(table: &Table) -> String {
    let arrays: Vec<String> = (1..)
        .zip(table.columns)
        .map(|(number, (_, kind, _))| match kind {
            Kind::Int => format!("${number}::bigint[]"),
            Kind::Text => format!("${number}::text[]"),
            Kind::Bytes => format!("${number}::bytea[]"),
        })
        .collect();
    format!(
        "INSERT INTO {} ({}) SELECT * FROM UNNEST({}){}",
        table.name,
        table.column_list(),
        arrays.join(", "),
        table.on_conflict()
    )
}

/// One column of many rows.
enum Column<'a> {
    Int(Vec<Option<i64>>),
    Text(Vec<Option<&'a str>>),
    Bytes(Vec<Option<&'a [u8]>>),
}

impl<'a> Column<'a> {
    fn of(kind: Kind, rows: &'a [Vec<Value>], at: usize) -> Self {
        let values = rows.iter().map(|row| &row[at]);
        match kind {
            Kind::Int => Self::Int(
                values
                    .map(|value| match value {
                        Value::Int(number) => Some(*number),
                        _ => None,
                    })
                    .collect(),
            ),
            Kind::Text => Self::Text(
                values
                    .map(|value| match value {
                        Value::Text(text) => Some(text.as_str()),
                        _ => None,
                    })
                    .collect(),
            ),
            Kind::Bytes => Self::Bytes(
                values
                    .map(|value| match value {
                        Value::Bytes(bytes) => Some(bytes.as_slice()),
                        _ => None,
                    })
                    .collect(),
            ),
        }
    }

    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Int(values) => values,
            Self::Text(values) => values,
            Self::Bytes(values) => values,
        }
    }
}
