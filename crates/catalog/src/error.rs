//! What stops the catalog.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// What stops the catalog itself, not merely one row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// SQLite, while doing something.
    #[error("cannot {doing} the catalog {}", path.display())]
    Sqlite {
        /// What was being done.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// PostgreSQL, while doing something.
    #[error("cannot {doing} the catalog in PostgreSQL at {at}")]
    Postgres {
        /// What was being done.
        doing: &'static str,
        /// Where, without a password.
        at: String,
        /// What it said.
        source: tokio_postgres::Error,
    },
    /// PostgreSQL did not answer in time.
    #[error("the catalog in PostgreSQL at {at} did not answer within {seconds} s")]
    Late {
        /// Where, without a password.
        at: String,
        /// How long it was waited.
        seconds: u64,
    },
    /// The runtime for the connection.
    #[error("cannot prepare a connection to PostgreSQL")]
    Runtime(#[source] std::io::Error),
    /// TLS for the connection.
    #[error("cannot prepare TLS for PostgreSQL: {0}")]
    Tls(String),
    /// Whoever answered does not prove to be the server.
    #[error("the certificate of PostgreSQL at {at} is not good: {reason}")]
    Certificate {
        /// Where, without a password.
        at: String,
        /// What is wrong with it, and what to do.
        reason: &'static str,
    },
    /// An address that is none.
    #[error("`{url}` is no address of a catalog ({reason}); write postgres://USER@HOST/DATABASE")]
    Url {
        /// As given, without a password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Written by a newer version of the program.
    #[error("the catalog at {at} has schema {found}, and this version knows {known}: it is newer")]
    Newer {
        /// Where.
        at: String,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
}

impl CatalogError {
    /// The same of this file, which was reached through another one.
    pub(crate) fn at_path(self, path: &Path) -> Self {
        match self {
            Self::Sqlite { doing, source, .. } => Self::Sqlite {
                doing,
                path: path.to_owned(),
                source,
            },
            other => other,
        }
    }

    /// Whether what lies on disk cannot be used: it is to be written anew from the journal.
    pub fn is_damage(&self) -> bool {
        let Self::Sqlite { source, .. } = self else {
            return false;
        };
        let is_code = matches!(
            source.sqlite_error_code(),
            // An attempt that is told twice: its position is not what it has.
            Some(
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::ConstraintViolation
            )
        );
        let is_value = matches!(
            source,
            rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
        );
        // The names of tables and columns are in the file too.
        is_code || is_value || source.to_string().starts_with("no such ")
    }
}
