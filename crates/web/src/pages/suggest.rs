//! `/api/suggest`: what a half-typed query may become, from the titles of what was collected.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use teia_search::{SearchRequest, fold};

use super::{App, Asking, Failure, Frame};
use crate::address::clean;

const MOST_WORDS: usize = 4;
const MOST_TITLES: usize = 4;
/// Titles that are looked at.
const READ: usize = 40;
/// Letters of a title that make a suggestion.
const LONGEST: usize = 70;

#[derive(Debug, Deserialize)]
pub(crate) struct Typed {
    #[serde(default)]
    q: String,
}

/// Suggestions in the form that browsers know: `["typed", ["suggestion", …]]`.
pub(crate) async fn suggest(
    State(app): State<App>,
    frame: Frame,
    Asking(typed): Asking<Typed>,
) -> Response {
    let answer = |text: &str, found: &[String]| {
        let headers = [(header::CONTENT_TYPE, "application/x-suggestions+json")];
        (headers, json!([text, found]).to_string()).into_response()
    };
    if typed.q.trim().chars().count() < 2 || typed.q.len() > 200 {
        return answer(&typed.q, &[]);
    }
    app.look_up(frame, move |app, _| {
        let found = suggestions(app, &typed.q)?;
        Ok(answer(&typed.q, &found))
    })
    .await
}

fn suggestions(app: &App, typed: &str) -> Result<Vec<String>, Failure> {
    let (before, last) = match typed.rsplit_once(char::is_whitespace) {
        Some((before, last)) => (before.trim(), last),
        None => ("", typed),
    };
    // A sign or a field is being written: nothing to guess.
    if last.is_empty()
        || !last
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '\'')
    {
        return Ok(Vec::new());
    }
    let words = before
        .split_whitespace()
        .filter(|word| word.chars().all(char::is_alphanumeric));
    let mut query: String = words.map(|word| format!("title:{word} ")).collect();
    query.push_str(&format!("title:{last}*"));
    let mut request = SearchRequest::new(query);
    request.limit = READ;
    request.hidden = app.library.hidden()?;
    let hits = app.library.searcher().search(&request)?.hits;
    let titles: Vec<String> = hits.iter().map(|hit| clean(&hit.title)).collect();
    Ok(gather(before, last, &titles))
}

/// Words of the titles that go on as the last word began, the most frequent first; then whole titles.
fn gather(before: &str, last: &str, titles: &[String]) -> Vec<String> {
    let begun = fold(last);
    let mut counts: HashMap<String, (usize, String)> = HashMap::new();
    for title in titles {
        for word in title.split(|c: char| !c.is_alphanumeric()) {
            let folded = fold(word);
            if folded.starts_with(&begun) && folded != begun {
                let known = counts.entry(folded).or_insert((0, word.to_lowercase()));
                known.0 += 1;
            }
        }
    }
    let mut words: Vec<(usize, String)> = counts.into_values().collect();
    words.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut found: Vec<String> = words
        .into_iter()
        .take(MOST_WORDS)
        .map(|(_, word)| format!("{before} {word}").trim().to_owned())
        .collect();
    let mut whole = 0;
    for title in titles {
        let title = title.trim();
        let fits = title.chars().count() <= LONGEST && !title.contains("://");
        let is_new = !found.iter().any(|known| fold(known) == fold(title));
        if fits && is_new && whole < MOST_TITLES {
            found.push(title.to_owned());
            whole += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::gather;

    #[test]
    fn words_keep_their_accents_and_titles_follow() {
        let titles = [
            "São Miguel em flor",
            "A ilha de São Miguel",
            "Santos populares",
        ];
        let found = gather("", "sa", &titles.map(str::to_owned));
        assert_eq!(found[..2], ["são", "santos"]);
        assert!(found.contains(&"São Miguel em flor".to_owned()));
        assert_eq!(
            gather("ilha", "mig", &["Ilha Miguel".to_owned()])[0],
            "ilha miguel"
        );
    }
}
