//! What the page about a page shows of its copies and links: versions, what changed between two of them, links in and
//! out. Of what somebody asked to have removed nothing is shown.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json as object};
use teia_engine::Explanation;
use teia_graph::Neighbour;

use super::asked::{Asked, Steps, json};
use super::problem::Problem;
use crate::WebError;
use crate::address::clean;
use crate::desk::{DeskError, Window, as_count};
use crate::difference::{Compared, Part, compare};
use crate::library::Copy;
use crate::pages::{App, spellings, text_of};

type Answer = Result<Response, Problem>;

/// Copies of a URL in all collections, newest first.
pub(crate) async fn versions(State(app): State<App>, mut asked: Asked) -> Answer {
    let window = asked.window()?;
    let url = asked_url(&mut asked)?;
    asked.end()?;
    app.work(move |app| {
        let (url, copies) = copies_of(app, &url)?;
        let places = (0..copies.len()).rev();
        let places = places
            .skip(as_count(window.offset))
            .take(as_count(window.limit));
        let items: Vec<Value> = places
            .map(|place| {
                let entry = &copies[place].entry;
                let older = place.checked_sub(1).map(|older| &copies[older].entry);
                let is_same = older.is_some_and(|older| {
                    entry.is_revisit() || older.digest.is_some() && older.digest == entry.digest
                });
                object!({
                    "timestamp": entry.timestamp,
                    "moment": copies[place].moment().to_string(),
                    "url": entry.url,
                    "status": entry.status,
                    "type": entry.mime,
                    "digest": entry.digest,
                    "bytes": entry.length,
                    "collection": copies[place].shelf.name,
                    "is_new": !is_same,
                })
            })
            .collect();
        json(&object!({
            "url": url,
            "items": items,
            "total": copies.len(),
            "offset": window.offset,
            "limit": window.limit,
        }))
    })
    .await
}

/// What changed between the visible texts of two versions, word by word.
pub(crate) async fn difference(State(app): State<App>, mut asked: Asked) -> Answer {
    let url = asked_url(&mut asked)?;
    let mut version = |name: &str| {
        let digits = asked.text(name).unwrap_or_default();
        let is_one = digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_one.then_some(digits).ok_or_else(|| {
            Problem::bad_request(format!(
                "`{name}` is the `timestamp` of a version, 14 digits"
            ))
        })
    };
    let (from, to) = (version("from")?, version("to")?);
    asked.end()?;
    app.work(move |app| {
        let (url, copies) = copies_of(app, &url)?;
        let text = |digits: &str| -> Result<Option<String>, Problem> {
            let copy = copies.iter().find(|copy| copy.entry.timestamp == digits);
            let copy = copy.ok_or_else(|| {
                DeskError::Missing(format!("there is no copy of `{url}` from {digits}"))
            })?;
            Ok(text_of(copy)?)
        };
        let outcome = match (text(&from)?, text(&to)?) {
            (Some(old), Some(new)) => compare(&old, &new),
            _ => Compared::Unreadable,
        };
        let (state, change) = match &outcome {
            Compared::Unreadable => ("unreadable", None),
            Compared::Equal => ("equal", None),
            Compared::Changed(change) => ("changed", Some(change)),
        };
        let parts = change.map_or(&[][..], |change| &change.parts);
        json(&object!({
            "url": url,
            "from": from,
            "to": to,
            "state": state,
            "added": change.map_or(0, |change| change.added),
            "removed": change.map_or(0, |change| change.removed),
            "is_coarse": change.is_some_and(|change| change.is_coarse),
            "parts": parts.iter().map(part).collect::<Vec<_>>(),
        }))
    })
    .await
}

fn part(part: &Part) -> Value {
    let (kind, text, words) = match part {
        Part::Same(text) => ("same", text.as_str(), text.split_whitespace().count()),
        Part::Added(text) => ("added", text.as_str(), text.split_whitespace().count()),
        Part::Removed(text) => ("removed", text.as_str(), text.split_whitespace().count()),
        Part::Skipped(words) => ("skipped", "", *words),
    };
    object!({ "kind": kind, "text": text.trim_end(), "words": words })
}

/// Links of a page, out of it or into it.
pub(crate) async fn links(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let window = asked.window()?;
    let url = asked_url(&mut asked)?;
    let leads_out = match asked.text("direction").as_deref() {
        None | Some("out") => true,
        Some("in") => false,
        Some(_) => return Err(Problem::bad_request("`direction` is out or in")),
    };
    asked.end()?;
    app.work(move |app| {
        let known = app
            .desk
            .life_as_spelled(&name, &url, app.config.journal_time)?;
        let url = known.state.url.normal();
        if app.library.surely_hides(url)? {
            return Err(removed(url.as_str()));
        }
        let shelves = app.library.shelves();
        let shelf = shelves.iter().find(|shelf| shelf.name == name);
        let shelf = shelf.ok_or_else(Problem::broken)?;
        let snapshot = shelf.links()?;
        let (offset, limit) = (window.offset, as_count(window.limit));
        let listing = if leads_out {
            snapshot.out_links(url, offset, limit)
        } else {
            snapshot.in_links(url, offset, limit).map(Some)
        };
        let listing = listing.map_err(WebError::from)?;
        let listing = listing.filter(|listing| listing.total > 0);
        let is_from_journal = listing.is_none();
        let (total, items) = match listing {
            Some(listing) => (listing.total, listing.items.iter().map(link).collect()),
            None => from_journal(&known, leads_out, window),
        };
        let is_shown = |item: &Value| !app.library.hides(item["url"].as_str().unwrap_or(""));
        let items: Vec<Value> = items.into_iter().filter(is_shown).collect();
        json(&object!({
            "url": url.as_str(),
            "direction": if leads_out { "out" } else { "in" },
            "is_from_journal": is_from_journal,
            "items": items,
            "total": total,
            "offset": window.offset,
            "limit": window.limit,
        }))
    })
    .await
}

fn link(neighbour: &Neighbour) -> Value {
    let labels = neighbour.labels.iter();
    let labels = labels.map(|label| (label.kind.name(), label.anchor.as_str()));
    told(&neighbour.url, labels)
}

/// One link for each other end, with each kind and each text once.
fn told<'a>(url: &str, labels: impl Iterator<Item = (&'static str, &'a str)>) -> Value {
    let (mut kinds, mut texts): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for (kind, text) in labels {
        let text = clean(text).trim().to_owned();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    object!({ "url": url, "kinds": kinds, "texts": texts })
}

/// What the journal says, while the graph does not know the page.
fn from_journal(known: &Explanation, leads_out: bool, window: Window) -> (u64, Vec<Value>) {
    let all: Vec<Value> = if leads_out {
        let mut attempts = known.attempts.iter().rev();
        let last = attempts.find(|attempt| !attempt.links.is_empty());
        let links = last.map_or(&[][..], |attempt| &attempt.links);
        let links = links.iter();
        links
            .map(|link| {
                let label = (link.kind.name(), link.anchor.as_str());
                told(link.url.normal().as_str(), [label].into_iter())
            })
            .collect()
    } else {
        let links = known.in_links.iter();
        links
            .map(|link| told(&link.url, [(link.kind, link.anchor.as_str())].into_iter()))
            .collect()
    };
    let page = window.of(all);
    (page.total, page.items)
}

fn asked_url(asked: &mut Asked) -> Result<String, Problem> {
    let url = asked.text("url");
    url.ok_or_else(|| Problem::bad_request("`url` says of which URL to tell"))
}

/// A URL as it is spelled, and its copies, oldest first; there is one at least.
fn copies_of(app: &App, asked: &str) -> Result<(String, Vec<Copy>), Problem> {
    let candidates = spellings(asked);
    if candidates.is_empty() {
        return Err(DeskError::Wrong(format!("`{}` is no URL", clean(asked))).into());
    }
    let mut hidden = None;
    for url in candidates {
        if app.library.surely_hides(&url)? {
            hidden.get_or_insert(url);
            continue;
        }
        let copies = app.library.versions(url.as_str())?;
        if !copies.is_empty() {
            return Ok((url.to_string(), copies));
        }
    }
    Err(match hidden {
        Some(url) => removed(url.as_str()),
        None => DeskError::Missing(format!("there is no copy of `{}`", clean(asked))).into(),
    })
}

fn removed(url: &str) -> Problem {
    DeskError::Missing(format!("`{url}` was removed from view on request")).into()
}
