//! `/statistics`: the tables of the five systems, with export.

use std::borrow::Cow;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use teia_base::Timestamp;
use teia_catalog::{Cell as Figure, Statistic};

use super::panel::Column;
use super::{Cell, Field, ListPage, Panel, chosen_name, collection_choices};
use crate::address::escape;
use crate::chart::{Chart, Unit};
use crate::pages::api_search::csv_cell;
use crate::pages::{App, Failure, Frame};
use crate::words::Words;

/// Seconds after which a page is asked for again whose tables are being counted.
const COUNTING: u32 = 5;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    collection: String,
    table: String,
}

/// All tables of a collection.
pub(crate) async fn statistics(
    State(app): State<App>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, frame| answer(app, frame, &asked))
        .await
}

fn answer(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let mut page = ListPage::new(frame, w.t("statistics"));
    let Some(name) = chosen_name(app, &asked.collection) else {
        page.sentences.push(w.t("none.what").to_owned());
        return page.show();
    };
    page.fields = vec![Field::choice(
        "collection",
        "collection",
        &name,
        collection_choices(app),
    )];
    let counted = app.desk.counted(&name)?;
    if counted.as_ref().is_none_or(|counted| !counted.is_current) {
        page.refresh = Some(COUNTING);
        let sentence = match &counted {
            Some(counted) => w
                .t("statistics.older")
                .replace("{}", &w.moment(&counted.as_of)),
            None => w.t("statistics.counting").to_owned(),
        };
        page.sentences.push(sentence);
    }
    let tables = counted.map(|counted| counted.tables).unwrap_or_default();
    for table in tables.iter() {
        let title = format!("table.{}", table.name);
        let mut panel = Panel::new(w, table.name, &title, &[]).noted(like(w, table.like));
        panel.columns = columns(w, table);
        if table.name == "growth" {
            page.charts.extend(curve(w, table));
        }
        // Names of hosts, types and languages are nobody's words: `to` is Tongan there.
        let has_names = ["hosts", "types", "extensions", "languages"].contains(&table.name);
        for (at, row) in table.all_rows().enumerate() {
            let is_name = has_names && at < table.rows.len();
            let cells = row.iter().zip(&table.columns);
            let cells = cells.map(|(figure, column)| shown(w, column, figure, is_name));
            panel.row(cells.collect());
        }
        let of = escape(&name);
        panel.more = [("csv", "CSV"), ("parquet", "Parquet")]
            .map(|(form, label)| {
                let href = format!("/statistics.{form}?collection={of}&table={}", table.name);
                (href, label.to_owned())
            })
            .to_vec();
        let json = format!("/api/collections/{of}/statistics?table={}", table.name);
        panel.more.push((json, "JSON".to_owned()));
        page.panels.push(panel);
    }
    page.show()
}

/// A figure as people read it in its column.
fn shown(w: &Words, column: &str, figure: &Figure, is_name: bool) -> Cell {
    match figure {
        // Tarântula's own outcomes are below zero.
        Figure::Count(code) if column == "code" => Cell::text(code.to_string()),
        Figure::Count(bytes) if column == "bytes" => Cell::bytes(w, *bytes),
        Figure::Count(count) => Cell::number(w, *count),
        Figure::Share(share) => Cell::text(w.decimal(format!("{share:.2}"))),
        // What stands in parentheses is nobody's name.
        other if is_name && !other.plain().starts_with('(') => Cell::text(other.plain()),
        other => Cell::text(w.told(&other.plain())),
    }
}

/// Tarântula's Figure 4: documents over time, as a curve.
fn curve(w: &Words, table: &Statistic) -> Option<Chart> {
    let point = |row: &Vec<Figure>| {
        let at = Timestamp::parse(&row.first()?.plain())?;
        match row.get(2)? {
            Figure::Count(so_far) => Some((at.as_micros(), *so_far as f64)),
            _ => None,
        }
    };
    let points: Vec<(i64, f64)> = table.rows.iter().filter_map(point).collect();
    let chart = Chart::new(w.t("table.growth"), Unit::Count, points);
    chart.is_drawn().then_some(chart)
}

/// Whose table it is like, in the words of the language.
fn like(w: &Words, english: &str) -> String {
    let words = [
        ("Table", "like.table"),
        ("Figure", "like.figure"),
        ("section", "like.section"),
    ];
    let mut text = w.told(english).to_owned();
    for (word, key) in words {
        text = text.replace(&format!(", {word} "), &format!(", {} ", w.t(key)));
    }
    text
}

/// A column holds numbers if its first row does; where nothing was counted, that of the sums.
fn columns(w: &Words, table: &Statistic) -> Vec<Column> {
    let is_number = |at: usize| {
        table
            .all_rows()
            .next()
            .is_some_and(|row| matches!(row.get(at), Some(Figure::Count(_) | Figure::Share(_))))
    };
    let column = |(at, label): (usize, &&'static str)| Column {
        label: w.t(&format!("column.{label}")).to_owned(),
        is_number: is_number(at),
    };
    table.columns.iter().enumerate().map(column).collect()
}

/// One table, for a spreadsheet.
pub(crate) async fn csv(
    State(app): State<App>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, _| {
        let (name, table) = asked.table(app)?;
        let names = table.columns.iter().map(|name| Cow::Owned((*name).into()));
        let mut text = line(names);
        for row in table.all_rows() {
            text.push_str(&line(row.iter().map(Cow::Borrowed)));
        }
        let file = format!("{name}-{}.csv", table.name);
        Ok(attachment(
            "text/csv; charset=utf-8",
            &file,
            text.into_bytes(),
        ))
    })
    .await
}

/// One table, for tools that calculate.
pub(crate) async fn parquet(
    State(app): State<App>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, _| {
        let (name, table) = asked.table(app)?;
        let bytes = table.write_parquet(Vec::new()).map_err(|error| {
            tracing::error!(%error, "a table could not be written");
            Failure::Broken
        })?;
        let file = format!("{name}-{}.parquet", table.name);
        Ok(attachment(PARQUET, &file, bytes))
    })
    .await
}

/// The registered media type.
pub(crate) const PARQUET: &str = "application/vnd.apache.parquet";

fn attachment(media_type: &'static str, file: &str, bytes: Vec<u8>) -> Response {
    let headers = [
        ("content-type", media_type.to_owned()),
        (
            "content-disposition",
            format!("attachment; filename=\"{file}\""),
        ),
    ];
    (headers, bytes).into_response()
}

impl Asked {
    /// The one table that is asked for, and whose it is.
    fn table(&self, app: &App) -> Result<(String, Statistic), Failure> {
        let missing = || Failure::Missing("error.title", "statistics.no-table");
        let name = chosen_name(app, &self.collection).ok_or_else(missing)?;
        let counted = app.desk.statistics(&name)?;
        let mut tables = counted.tables.iter();
        let table = tables.find(|table| table.name == self.table);
        Ok((name, table.ok_or_else(missing)?.clone()))
    }
}

/// A line of CSV. What is a number by itself stays one, also below zero.
fn line<'a>(cells: impl Iterator<Item = Cow<'a, Figure>>) -> String {
    let field = |cell: Cow<'a, Figure>| match &*cell {
        Figure::Text(text) => csv_cell(text),
        number => number.plain(),
    };
    let fields: Vec<String> = cells.map(field).collect();
    fields.join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::{Figure, shown};
    use crate::pages::manage::Cell;
    use crate::words::Tongue;
    use teia_catalog::{Beside, Catalog, Identity, Store, statistics};

    #[test]
    fn codes_below_zero_and_sizes_are_shown_as_such() {
        let w = Tongue::English.words();
        for (column, number, told) in [
            ("code", -7, "-7"),
            ("code", 200, "200"),
            ("bytes", 200_509, "201 KB"),
            ("documents", 2_000, "2 000"),
        ] {
            let Cell::Text(text) = shown(w, column, &Figure::Count(number), false) else {
                panic!("{column} is no text");
            };
            assert_eq!(text.replace(['\u{202f}', '\u{a0}'], " "), told);
        }
    }

    #[test]
    fn every_table_has_a_name_in_both_languages() {
        let catalog = Catalog::open(&Store::temporary(), &Identity::new(1, "a")).unwrap();
        let (mut reader, known) = catalog.into_reader().unwrap();
        let tables = statistics(&mut reader, known, &Beside::default()).unwrap();
        for w in [Tongue::English.words(), Tongue::Portuguese.words()] {
            for table in &tables {
                let keys = table
                    .columns
                    .iter()
                    .map(|column| format!("column.{column}"));
                for key in keys.chain([format!("table.{}", table.name)]) {
                    assert_ne!(w.t(&key), key);
                }
            }
        }
    }
}
