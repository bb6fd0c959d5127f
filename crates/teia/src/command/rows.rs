//! `teia export csv`, `json` and `parquet`: every document, or one of the tables of `teia stats`.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};
use teia_base::{CanonicalUrl, Timestamp};
use teia_catalog::parquet::{self, Writer};
use teia_catalog::{Cell, Row, Statistic};
use teia_engine::{Directory, Reading, Removals};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// RFC 4180, with a head.
    Csv,
    /// One object a line.
    Json,
    /// For tools that calculate.
    Parquet,
}

/// What a column holds, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Moment,
    /// As hexadecimal digits.
    Digest,
}

/// The columns of a document. Numbers and moments are the tables' own, so that both databases give
/// the same file.
const COLUMNS: [(&str, &str, Kind); 23] = [
    ("url", "d.url", Kind::Text),
    ("host", "d.host", Kind::Text),
    ("outcome", "d.outcome", Kind::Number),
    ("outcome_name", "o.name", Kind::Text),
    ("detail", "d.detail", Kind::Text),
    ("next", "d.next", Kind::Text),
    ("run", "d.run", Kind::Number),
    ("visit", "d.visit", Kind::Number),
    ("attempts", "d.attempts", Kind::Number),
    ("depth", "d.depth", Kind::Number),
    ("first_at", "d.first_at", Kind::Moment),
    ("last_at", "d.last_at", Kind::Moment),
    ("fetched_at", "d.fetched_at", Kind::Moment),
    ("media_type", "d.media_type", Kind::Text),
    ("language", "d.language", Kind::Text),
    ("title", "d.title", Kind::Text),
    ("wire_bytes", "d.wire_bytes", Kind::Number),
    ("body_bytes", "d.body_bytes", Kind::Number),
    ("payload_sha1", "d.payload_sha1", Kind::Digest),
    ("text_digest", "d.text_digest", Kind::Digest),
    ("capture", "d.capture", Kind::Number),
    ("is_kept", "d.is_kept", Kind::Number),
    ("is_duplicate", "d.is_duplicate", Kind::Number),
];

/// Writes every document of a collection; how many.
pub(crate) fn write_documents(
    directory: &Directory,
    reading: &Reading,
    removals: &Removals,
    prefix: Option<&str>,
    form: Form,
    out: &mut dyn Write,
) -> Result<u64> {
    let mut last = 0;
    reading.entries(|entry| last = entry.sequence)?;
    let (mut reader, known) = teia_engine::catalog_reader(directory, reading, last)?;
    let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    if form == Form::Csv {
        write_line(out, names.iter().map(|name| (*name).to_owned()))?;
    }
    let columns: Vec<&str> = COLUMNS.iter().map(|(_, column, _)| *column).collect();
    if form == Form::Parquet {
        let kinds = COLUMNS
            .iter()
            .map(|(name, _, kind)| ((*name).to_owned(), kind.in_parquet()));
        let mut writer = Writer::new(out, kinds.collect())?;
        let (mut count, mut written) = (0, Ok(()));
        known.each_document(&mut reader, &columns, |row| {
            if is_wanted(&row, prefix, removals) {
                count += 1;
                let cells: Vec<Cell> = row.iter().zip(&COLUMNS).map(cell).collect();
                written = writer.row(&cells);
            }
            written.is_ok()
        })?;
        written?;
        writer.finish()?;
        return Ok(count);
    }
    let mut count = 0;
    let mut written = Ok(());
    known.each_document(&mut reader, &columns, |row| {
        if !is_wanted(&row, prefix, removals) {
            return true;
        }
        count += 1;
        written = match form {
            Form::Csv => write_line(out, row.iter().zip(&COLUMNS).map(csv_field)),
            Form::Json | Form::Parquet => write_object(out, &row),
        };
        written.is_ok()
    })?;
    written?;
    out.flush()?;
    Ok(count)
}

/// Writes one table; how many rows.
pub(crate) fn write_table(table: &Statistic, form: Form, out: &mut dyn Write) -> Result<u64> {
    match form {
        Form::Csv => {
            write_line(out, table.columns.iter().map(|name| (*name).to_owned()))?;
            for row in table.all_rows() {
                write_line(
                    out,
                    row.iter().map(|cell| match cell {
                        Cell::Text(text) => guarded(text),
                        cell => cell.plain(),
                    }),
                )?;
            }
        }
        Form::Json => writeln!(out, "{}", json!(table))?,
        Form::Parquet => {
            table.write_parquet(&mut *out)?;
        }
    }
    out.flush()?;
    Ok(table.rows.len() as u64)
}

/// Whether a document is of those that were asked for, and nobody asked to have it removed.
fn is_wanted(row: &Row, prefix: Option<&str>, removals: &Removals) -> bool {
    let url = row[0].as_deref().unwrap_or_default();
    prefix.is_none_or(|prefix| url.starts_with(prefix))
        && !removals.hides(&CanonicalUrl::from_stored(url))
}

impl Kind {
    fn in_parquet(self) -> parquet::Kind {
        match self {
            Self::Text | Self::Digest => parquet::Kind::Text,
            Self::Number => parquet::Kind::Count,
            Self::Moment => parquet::Kind::Moment,
        }
    }
}

/// A field as Parquet has it: numbers and moments as numbers, texts as they are, for no tool takes them for a formula.
fn cell((value, (_, _, kind)): (&Option<String>, &(&str, &str, Kind))) -> Cell {
    match (value, kind) {
        (None, _) => Cell::Empty,
        (Some(text), Kind::Number | Kind::Moment) => text.parse().map_or(Cell::Empty, Cell::Count),
        (Some(text), Kind::Text | Kind::Digest) => Cell::Text(readable(text, *kind)),
    }
}

fn write_object(out: &mut dyn Write, row: &Row) -> std::io::Result<()> {
    let mut object = Map::new();
    for (value, (name, _, kind)) in row.iter().zip(&COLUMNS) {
        let value = match value {
            None => Value::Null,
            Some(text) if *kind == Kind::Number => {
                text.parse::<i64>().map_or(Value::Null, Value::from)
            }
            Some(text) => Value::from(readable(text, *kind)),
        };
        object.insert((*name).to_owned(), value);
    }
    writeln!(out, "{}", Value::Object(object))
}

fn csv_field((value, (_, _, kind)): (&Option<String>, &(&str, &str, Kind))) -> String {
    match value {
        None => String::new(),
        Some(text) if *kind == Kind::Text => guarded(text),
        Some(text) => readable(text, *kind),
    }
}

fn readable(text: &str, kind: Kind) -> String {
    match (kind, text.parse::<i64>()) {
        (Kind::Moment, Ok(micros)) => Timestamp::from_micros(micros).to_rfc3339_micros(),
        // PostgreSQL marks them.
        (Kind::Digest, _) => text.trim_start_matches("\\x").to_owned(),
        _ => text.to_owned(),
    }
}

/// A spreadsheet takes a text that begins so for a formula, and texts come from the web: an
/// apostrophe before it makes it a text again.
fn guarded(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn write_line(out: &mut dyn Write, fields: impl Iterator<Item = String>) -> std::io::Result<()> {
    for (at, field) in fields.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        if field.contains(['"', ',', '\n', '\r']) {
            write!(out, "\"{}\"", field.replace('"', "\"\""))?;
        } else {
            out.write_all(field.as_bytes())?;
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_one_field_and_no_formula() {
        let mut out = Vec::new();
        let fields = [
            "plain",
            "a,b",
            "say \"hi\"",
            "two\nlines",
            "=cmd()",
            "@x",
            "-1",
        ];
        write_line(&mut out, fields.iter().map(|field| guarded(field))).unwrap();
        let line = String::from_utf8(out).unwrap();
        assert_eq!(
            line,
            "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",'=cmd(),'@x,'-1\n"
        );
    }
}
