//! The tables as they are written: which columns, and how a row joins the one that is there.

use crate::value::Kind::{self, Bytes, Int, Text};

/// How a column of a new row joins that of the row with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Belongs to the key.
    Key,
    /// What is there stays.
    Keep,
    /// The new one counts.
    Replace,
    /// They are added.
    Add,
    /// The new one counts if the row tells of a new version, which is when its `fetched_at` is set.
    Version,
}
use Merge::{Add, Keep, Key, Replace, Version};

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind, Merge)],
}

pub(crate) const RUN: Table = Table {
    name: "run",
    columns: &[
        ("collection", Int, Key),
        ("number", Int, Key),
        ("started_at", Int, Keep),
        ("last_at", Int, Replace),
        ("ended", Text, Replace),
        ("is_paused", Int, Replace),
        ("version", Text, Replace),
        ("seeds", Int, Replace),
        ("active_micros", Int, Add),
        ("fetched", Int, Add),
        ("errors", Int, Add),
        ("bytes", Int, Add),
        ("requests", Int, Add),
        ("robots_requests", Int, Add),
        ("duplicates", Int, Add),
        ("admitted", Int, Add),
    ],
};

pub(crate) const MINUTE: Table = Table {
    name: "minute",
    columns: &[
        ("collection", Int, Key),
        ("run", Int, Key),
        ("minute", Int, Key),
        ("fetched", Int, Add),
        ("errors", Int, Add),
        ("bytes", Int, Add),
        ("requests", Int, Add),
        ("robots_requests", Int, Add),
        ("admitted", Int, Add),
    ],
};

pub(crate) const HOST: Table = Table {
    name: "host",
    columns: &[
        ("collection", Int, Key),
        ("host", Text, Key),
        ("admitted", Int, Add),
        ("fetched", Int, Add),
        ("errors", Int, Add),
        ("bytes", Int, Add),
        ("requests", Int, Add),
        ("answered", Int, Add),
        ("answer_micros", Int, Add),
        ("first_at", Int, Keep),
        ("last_at", Int, Replace),
    ],
};

pub(crate) const DOCUMENT: Table = Table {
    name: "document",
    columns: &[
        ("collection", Int, Key),
        ("name", Bytes, Key),
        ("url", Text, Keep),
        ("host", Text, Keep),
        ("extension", Text, Keep),
        ("is_dynamic", Int, Keep),
        ("depth", Int, Replace),
        ("run", Int, Replace),
        ("outcome", Int, Replace),
        ("detail", Text, Replace),
        ("next", Text, Replace),
        ("visit", Int, Replace),
        ("attempts", Int, Add),
        ("first_at", Int, Keep),
        ("last_at", Int, Replace),
        ("fetched_at", Int, Version),
        ("media_type", Text, Version),
        ("wire_bytes", Int, Version),
        ("body_bytes", Int, Version),
        ("payload_sha1", Bytes, Version),
        ("text_digest", Bytes, Version),
        ("language", Text, Version),
        ("title", Text, Version),
        ("capture", Int, Version),
        ("is_kept", Int, Version),
        ("is_duplicate", Int, Version),
    ],
};

pub(crate) const ATTEMPT: Table = Table {
    name: "attempt",
    columns: &[
        ("collection", Int, Key),
        ("entry", Int, Key),
        ("place", Int, Key),
        ("run", Int, Keep),
        ("url", Text, Keep),
        ("host", Text, Keep),
        ("started_at", Int, Keep),
        ("outcome", Int, Keep),
        ("detail", Text, Keep),
        ("visit", Int, Keep),
        ("try_number", Int, Keep),
        ("is_robots", Int, Keep),
        ("is_request", Int, Keep),
        ("is_answered", Int, Keep),
        ("next", Text, Keep),
        ("retry_at", Int, Keep),
        ("flags", Text, Keep),
        ("remote", Text, Keep),
        ("protocol", Text, Keep),
        ("media_type", Text, Keep),
        ("wire_bytes", Int, Keep),
        ("body_bytes", Int, Keep),
        ("dns_micros", Int, Keep),
        ("connect_micros", Int, Keep),
        ("tls_micros", Int, Keep),
        ("first_byte_micros", Int, Keep),
        ("body_micros", Int, Keep),
        ("capture", Int, Keep),
    ],
};

pub(crate) const OUTCOME: Table = Table {
    name: "outcome",
    columns: &[
        ("number", Int, Key),
        ("name", Text, Replace),
        ("meaning", Text, Replace),
        ("retry", Text, Replace),
    ],
};

/// Tables whose rows belong to a collection, and go with it.
pub(crate) const OF_A_COLLECTION: [&Table; 5] = [&RUN, &MINUTE, &HOST, &DOCUMENT, &ATTEMPT];

impl Table {
    /// Where a column stands in a row.
    pub(crate) fn place(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|(column, ..)| *column == name);
        found.expect("only names that stand in this file are asked for")
    }

    /// `collection, number, started_at`.
    pub(crate) fn column_list(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, ..)| *name).collect();
        names.join(", ")
    }

    /// Whether a new row may meet one with its key. None does in attempts, so that one that is told twice is an error
    /// and not a silence.
    pub(crate) fn may_conflict(&self) -> bool {
        let mut merges = self.columns.iter().map(|(.., merge)| merge);
        merges.any(|merge| !matches!(merge, Key | Keep))
    }

    /// What is done where a row with that key is there.
    pub(crate) fn on_conflict(&self) -> String {
        let table = self.name;
        let of = |wanted: Merge| move |column: &&(&'static str, Kind, Merge)| column.2 == wanted;
        let keys: Vec<&str> = self.columns.iter().filter(of(Key)).map(|c| c.0).collect();
        let changes: Vec<String> = self
            .columns
            .iter()
            .filter_map(|(name, _, merge)| match merge {
                Key | Keep => None,
                Replace => Some(format!("{name} = excluded.{name}")),
                Add => Some(format!("{name} = {table}.{name} + excluded.{name}")),
                Version => Some(format!(
                    "{name} = CASE WHEN excluded.fetched_at IS NULL THEN {table}.{name} ELSE excluded.{name} END"
                )),
            })
            .collect();
        if changes.is_empty() {
            return String::new();
        }
        format!(
            " ON CONFLICT ({}) DO UPDATE SET {}",
            keys.join(", "),
            changes.join(", ")
        )
    }
}
