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

/// In microseconds.
const MINUTE: i64 = 60_000_000;
/// How the catalog calls the time that runs took.
const EFFECTIVE: &str = "effective time in seconds";

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
    if !tables.is_empty() {
        page.sentences.push(w.t("statistics.total").to_owned());
    }
    for table in tables.iter() {
        let title = format!("table.{}", table.name);
        let mut panel = Panel::new(w, table.name, &title, &[]).noted(like(w, table.like));
        panel.columns = columns(w, table);
        if table.name == "growth" {
            page.charts.extend(curve(w, table, newest(&tables)));
        }
        // Names of hosts, types and languages are nobody's words: `to` is Tongan there.
        let has_names = ["hosts", "types", "extensions", "languages"].contains(&table.name);
        for (at, row) in table.all_rows().enumerate() {
            let is_name = has_names && at < table.rows.len();
            let cells = row.iter().zip(&table.columns);
            let cells = cells.map(|(figure, column)| shown(w, column, figure, is_name));
            panel.row(effective(w, row).unwrap_or_else(|| cells.collect()));
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

/// The row of the time that runs took: a span is told in units of its own.
fn effective(w: &Words, row: &[Figure]) -> Option<Vec<Cell>> {
    match row {
        [Figure::Text(what), Figure::Count(seconds)] if what == EFFECTIVE => Some(vec![
            Cell::text(w.t("statistics.effective")),
            Cell::span(w, seconds.saturating_mul(1_000_000)),
        ]),
        _ => None,
    }
}

/// A figure as people read it in its column.
fn shown(w: &Words, column: &str, figure: &Figure, is_name: bool) -> Cell {
    match figure {
        // Tarântula's own outcomes are below zero.
        Figure::Count(code) if column == "code" => Cell::text(code.to_string()),
        Figure::Count(bytes) if column == "bytes" => Cell::bytes(w, *bytes),
        Figure::Count(count) => Cell::number(w, *count),
        Figure::Share(share) => Cell::text(w.decimal(format!("{share:.2}"))),
        Figure::Text(text) if ["from", "value"].contains(&column) => {
            let at = Timestamp::parse(text);
            at.map_or_else(
                || Cell::text(w.told(text)),
                |at| Cell::moment(w, at.as_micros()),
            )
        }
        // What stands in parentheses is nobody's name.
        other if is_name && !other.plain().starts_with('(') => Cell::text(other.plain()),
        other => Cell::text(w.told(&other.plain())),
    }
}

/// When the newest entry was written, as the summary has it.
fn newest(tables: &[Statistic]) -> Option<i64> {
    let summary = tables.iter().find(|table| table.name == "summary")?;
    let row = summary.rows.iter().find(|row| row[0].plain() == "to")?;
    Some(Timestamp::parse(&row.get(1)?.plain())?.as_micros())
}

/// Tarântula's Figure 4: documents over time, as a curve. A row counts what came from its moment on: its sum is reached
/// at the end of its span, and stays until the next one begins. The last span ends with the newest entry.
fn curve(w: &Words, table: &Statistic, newest: Option<i64>) -> Option<Chart> {
    let span = |row: &Vec<Figure>| {
        let at = Timestamp::parse(&row.first()?.plain())?;
        match row.get(2)? {
            Figure::Count(so_far) => Some((at.as_micros(), *so_far as f64)),
            _ => None,
        }
    };
    let spans: Vec<(i64, f64)> = table.rows.iter().filter_map(span).collect();
    // No span is longer than the rows are apart, and one alone is a minute.
    let apart = spans.windows(2).map(|two| two[1].0 - two[0].0);
    let length = apart.min().unwrap_or(MINUTE);
    let mut points = vec![(spans.first()?.0, 0.0)];
    for (number, (at, sum)) in spans.iter().enumerate() {
        let end = at + length;
        match (spans.get(number + 1), newest) {
            (Some((next, _)), _) if end < *next => points.extend([(end, *sum), (*next, *sum)]),
            (None, Some(newest)) if newest > *at => points.push((end.min(newest), *sum)),
            _ => points.push((end, *sum)),
        }
    }
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
    use super::{Figure, Statistic, curve, effective, newest, shown};
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

    fn table(name: &'static str, columns: Vec<&'static str>, rows: Vec<Vec<Figure>>) -> Statistic {
        Statistic {
            name,
            title: String::new(),
            like: "",
            columns,
            rows,
            total: None,
        }
    }

    #[test]
    fn the_curve_begins_at_nothing_and_reaches_each_sum_at_the_end_of_its_span() {
        let w = Tongue::English.words();
        let row = |from: &str, so_far: i64| {
            vec![
                from.into(),
                Figure::Count(1),
                so_far.into(),
                Figure::Count(1),
            ]
        };
        let growth = |rows| {
            table(
                "growth",
                vec!["from", "answers", "answers so far", "bytes"],
                rows,
            )
        };
        let tables = [table(
            "summary",
            vec!["what", "value"],
            vec![vec!["to".into(), "2026-11-15T10:02:30Z".into()]],
        )];
        let end = newest(&tables);
        let two = growth(vec![
            row("2026-11-15T10:00:00Z", 5),
            row("2026-11-15T10:02:00Z", 12),
        ]);
        let drawn = curve(w, &two, end).unwrap().rows(w);
        let drawn: Vec<(&str, &str)> = drawn
            .iter()
            .map(|(at, sum)| (&at[11..], sum.as_str()))
            .collect();
        assert_eq!(
            drawn,
            [("10:00:00", "0"), ("10:02:00", "5"), ("10:02:30", "12")]
        );
        // Of two runs hours apart: nothing came between them.
        let apart = growth(vec![
            row("2026-11-15T08:00:00Z", 5),
            row("2026-11-15T08:01:00Z", 6),
            row("2026-11-15T10:02:00Z", 12),
        ]);
        let drawn = curve(w, &apart, end).unwrap().rows(w);
        let drawn: Vec<(&str, &str)> = drawn
            .iter()
            .map(|(at, sum)| (&at[11..16], sum.as_str()))
            .collect();
        assert_eq!(
            drawn[1..4],
            [("08:01", "5"), ("08:02", "6"), ("10:02", "6")]
        );
        // Of a run within one minute, too; and where nobody knows when it ended, that minute is drawn.
        let one = growth(vec![row("2026-11-15T10:02:00Z", 7)]);
        for (end, last) in [(end, "10:02:30"), (None, "10:03:00")] {
            let drawn = curve(w, &one, end).unwrap().rows(w);
            assert_eq!(drawn.len(), 2);
            assert_eq!(&drawn[1].0[11..], last);
        }
        assert!(curve(w, &growth(Vec::new()), end).is_none());
    }

    #[test]
    fn moments_and_spans_are_told_as_on_other_pages() {
        let w = Tongue::Portuguese.words();
        let moment = Figure::Text("2026-11-19T21:48:56Z".into());
        for column in ["from", "value"] {
            let Cell::Moment { shown, exact } = shown(w, column, &moment, false) else {
                panic!("{column} is no moment");
            };
            assert_eq!(shown, "19 nov 2026, 21:48:56");
            assert_eq!(exact, "2026-11-19T21:48:56Z");
        }
        // The rows of the summary as the catalog has them.
        let (tables, mut told) = (of_nothing(), Vec::new());
        for row in tables.iter().flat_map(Statistic::all_rows) {
            told.extend(effective(w, row));
        }
        let [[Cell::Text(what), Cell::Text(span)]] = told
            .iter()
            .map(|row| [&row[0], &row[1]])
            .collect::<Vec<_>>()[..]
        else {
            panic!("one row is the time that runs took: {told:?}");
        };
        assert_eq!((what.as_str(), span.as_str()), ("tempo efetivo", "0 ms"));
        let long = [
            Figure::Text("effective time in seconds".into()),
            Figure::Count(266),
        ];
        let [_, Cell::Text(span)] = &effective(w, &long).unwrap()[..] else {
            panic!("a span");
        };
        assert_eq!(span, "4 min 26 s");
    }

    /// The tables of a collection that has nothing.
    fn of_nothing() -> Vec<Statistic> {
        let catalog = Catalog::open(&Store::temporary(), &Identity::new(1, "a")).unwrap();
        let (mut reader, known) = catalog.into_reader().unwrap();
        statistics(&mut reader, known, &Beside::default()).unwrap()
    }

    #[test]
    fn every_table_has_a_name_in_both_languages() {
        let tables = of_nothing();
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
