//! `/api/search`: the same results for programs, as JSON and as a table.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use teia_search::Results;

use super::hits::copy_of;
use super::narrowing::Asked;
use super::{App, Asking, Failure, Frame};

/// Results as `teia search --json` gives them, and what the page knows beside.
pub(crate) async fn search(
    State(app): State<App>,
    frame: Frame,
    Asking(asked): Asking<Asked>,
) -> Response {
    if let Err(failure) = asked.check(&app.config) {
        return failure.into_json(&frame);
    }
    app.look_up(frame, move |app, _| {
        let results = results(app, &asked)?;
        let headers = [(header::CONTENT_TYPE, "application/json")];
        Ok((headers, to_json(app, &asked, &results).to_string()).into_response())
    })
    .await
}

/// The same as comma-separated values.
pub(crate) async fn csv(
    State(app): State<App>,
    frame: Frame,
    Asking(asked): Asking<Asked>,
) -> Response {
    if let Err(failure) = asked.check(&app.config) {
        return failure.into_json(&frame);
    }
    app.look_up(frame, move |app, _| {
        let results = results(app, &asked)?;
        let mut text = "url,title,snippet,score,language,fetched_at\r\n".to_owned();
        for hit in &results.hits {
            let cells = [
                hit.url.clone(),
                hit.title.clone(),
                hit.snippet.text.clone(),
                hit.score.to_string(),
                hit.language.clone(),
                hit.fetched_at.to_string(),
            ];
            let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
            text.push_str(&cells.join(","));
            text.push_str("\r\n");
        }
        let headers = [
            (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
            (
                header::CONTENT_DISPOSITION,
                "attachment; filename=\"results.csv\"",
            ),
        ];
        Ok((headers, text).into_response())
    })
    .await
}

fn results(app: &App, asked: &Asked) -> Result<Results, Failure> {
    if asked.is_empty() {
        return Ok(Results::default());
    }
    let request = asked.request(&app.library)?;
    Ok(app.library.searcher().search(&request)?)
}

fn to_json(app: &App, asked: &Asked, results: &Results) -> Value {
    let hits: Vec<Value> = results
        .hits
        .iter()
        .map(|hit| {
            json!({
                "url": hit.url,
                "title": hit.title,
                "snippet": hit.snippet.text,
                "highlights": hit.snippet.highlights.iter().map(|range| [range.start, range.end]).collect::<Vec<_>>(),
                "score": hit.score,
                "language": hit.language,
                "fetched_at": hit.fetched_at.to_string(),
                "media_type": hit.media_type,
                "collection": hit.collection,
                "collections": hit.collections,
                "rank": hit.rank,
                "size": hit.size,
                "similar": hit.similar,
                "other_addresses": hit.other_addresses,
                "copy": copy_of(app, hit),
                "page": crate::address::page(&hit.url),
            })
        })
        .collect();
    let facets: serde_json::Map<String, Value> = results
        .facets
        .iter()
        .map(|facet| (facet.name.to_owned(), json!(facet.counts)))
        .collect();
    let (offset, limit) = asked.window().unwrap_or_default();
    json!({
        "query": asked.q,
        "total": results.total,
        "distinct": results.distinct,
        "seconds": results.seconds,
        "offset": offset,
        "limit": limit,
        "hits": hits,
        "suggestion": results.suggestion,
        "repairs": results.repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "added_words": results.added_words,
        "facets": facets,
        "partial": results.is_partial,
    })
}

/// A cell that a spreadsheet takes for text: quoted, and never the beginning of a formula.
pub(crate) fn csv_cell(text: &str) -> String {
    let begins = text
        .trim_start_matches([' ', '\u{a0}', '\u{feff}'])
        .chars()
        .next();
    let guard = if matches!(
        begins,
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠')
    ) {
        "'"
    } else {
        ""
    };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::csv_cell;

    #[test]
    fn a_cell_is_never_a_formula() {
        assert_eq!(csv_cell("=cmd()|x"), "\"'=cmd()|x\"");
        assert_eq!(csv_cell(" @SUM(A1)"), "\"' @SUM(A1)\"");
        assert_eq!(csv_cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(csv_cell(""), "\"\"");
    }
}
