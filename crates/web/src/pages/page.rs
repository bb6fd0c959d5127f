//! `/page?url=…`: everything that is known of one address.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use teia_base::{CanonicalUrl, Seed, Timestamp};
use teia_engine::Explanation;
use teia_graph::Counts;
use teia_repository::State as UrlStanding;

use super::panels::{self, Panel};
use super::{App, Asking, Failure, Frame, html, html_with};
use crate::WebError;
use crate::address::{Address, clean, escape};
use crate::difference::{Compared, Part};
use crate::library::{Copy, Shelf};
use crate::neighbourhood::Kind;
use crate::words::Words;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) tab: String,
    #[serde(default)]
    pub(crate) from: String,
    #[serde(default)]
    pub(crate) to: String,
    #[serde(default)]
    pub(crate) page: String,
    /// Which of the collections that know it; the one that was there last where none is named.
    #[serde(default)]
    pub(crate) collection: String,
}

#[derive(Template)]
#[template(path = "page.html")]
struct AboutPage {
    frame: Frame,
    title: String,
    address: Address,
    copy: Option<String>,
    is_private: bool,
    facts: Vec<Fact>,
    tab: &'static str,
    tabs: Vec<(&'static str, String, String)>,
    panel: Panel,
    /// Collections that know it, where there are several: names and addresses.
    collections: Vec<(String, String)>,
    /// The one that is shown.
    collection: String,
    is_partial: bool,
}

/// One line of the header.
struct Fact {
    label: String,
    value: String,
    title: String,
    /// A class for the sign before it: `good`, `warn`, `bad`, or none.
    mark: &'static str,
}

/// What a collection knows of a URL.
pub(crate) struct Known {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) url: CanonicalUrl,
    pub(crate) explanation: Arc<Explanation>,
    pub(crate) counts: Option<Counts>,
    /// Its name stands in addresses, because others know the URL too.
    pub(crate) is_named: bool,
}

/// The page about a page.
pub(crate) async fn page(
    State(app): State<App>,
    frame: Frame,
    Asking(asked): Asking<Asked>,
) -> Response {
    app.read_journal(frame, move |app, frame| answer(app, frame, &asked))
        .await
}

fn answer(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let candidates = spellings(&asked.url);
    let Some(first) = candidates.first() else {
        return Err(Failure::Missing("error.title", "error.url"));
    };
    let found = candidates
        .iter()
        .filter(|url| !app.library.hides(url.as_str()))
        .map(|url| find(app, url, &asked.collection))
        .find_map(Result::transpose)
        .transpose()?;
    let Some((known, names)) = found else {
        return unknown(&frame, first.as_str());
    };
    let copies = app.library.versions(known.url.as_str())?;
    let is_private = copies.is_empty() && app.library.is_private(known.url.as_str())?;
    let tab = match asked.tab.as_str() {
        "in" => "in",
        "out" => "out",
        "map" => "map",
        "history" => "history",
        _ => "versions",
    };
    let panel = match tab {
        "in" | "out" => panels::links(app, w, &known, tab, &asked.page)?,
        "map" => panels::map(app, w, &known)?,
        "history" => panels::history(w, &known),
        _ => panels::versions(w, &copies, &asked.from, &asked.to)?,
    };
    let titles = known.explanation.attempts.iter().rev();
    let title = titles
        .map(|attempt| clean(&attempt.title))
        .find(|title| !title.trim().is_empty());
    let address = Address::new(known.url.as_str());
    html(&AboutPage {
        title: title.unwrap_or_else(|| address.host.clone()),
        copy: copies
            .last()
            .map(|copy| address.copy(&copy.entry.timestamp)),
        is_private,
        facts: facts(w, &known, &copies)?,
        tabs: tabs(w, &known),
        collections: names
            .into_iter()
            .map(|name| {
                let href = known.href(tab, Some(&name));
                (name, href)
            })
            .collect(),
        collection: known.shelf.name.clone(),
        is_partial: known.explanation.is_partial,
        tab,
        panel,
        address,
        frame,
    })
}

fn unknown(frame: &Frame, url: &str) -> Result<Response, Failure> {
    #[derive(Template)]
    #[template(path = "error.html")]
    struct Unknown<'a> {
        frame: &'a Frame,
        heading: &'a str,
        sentence: String,
        back: String,
    }
    let w = frame.w;
    let page = Unknown {
        frame,
        heading: w.t("page.unknown"),
        sentence: format!("{} · {}", clean(url), w.t("page.unknown.what")),
        back: "/".to_owned(),
    };
    html_with(StatusCode::NOT_FOUND, &page)
}

/// The URLs that a person may have meant.
pub(crate) fn spellings(text: &str) -> Vec<CanonicalUrl> {
    if text.len() > 8 << 10 {
        return Vec::new();
    }
    let Ok(Some(seed)) = Seed::parse(text) else {
        return Vec::new();
    };
    let mut urls = vec![seed.url.to_string()];
    urls.extend(seed.http().map(|url| url.to_string()));
    urls.iter()
        .filter_map(|url| CanonicalUrl::parse(url).ok())
        .collect()
}

impl Known {
    /// The address of a tab, of this collection or another.
    pub(crate) fn href(&self, tab: &str, collection: Option<&str>) -> String {
        let own = self.is_named.then_some(self.shelf.name.as_str());
        let named = collection.or(own);
        let named = named.map(|name| format!("&collection={}", escape(name)));
        let url = escape(self.url.as_str());
        format!("/page?url={url}&tab={tab}{}", named.unwrap_or_default())
    }
}

/// What is known of a URL, and the names of the collections that know it, where there are several.
fn find(
    app: &App,
    url: &CanonicalUrl,
    wanted: &str,
) -> Result<Option<(Known, Vec<String>)>, Failure> {
    let mut found = Vec::new();
    for shelf in app.library.shelves() {
        let life = app.desk.life(&shelf.name, url, app.config.journal_time)?;
        found.extend(life.map(|life| (shelf, life)));
    }
    let mut names: Vec<String> = found.iter().map(|(shelf, _)| shelf.name.clone()).collect();
    if names.len() < 2 {
        names.clear();
    }
    let chosen = found.iter().position(|(shelf, _)| shelf.name == wanted);
    // Of several collections the one that was there last.
    let last = || {
        let all = found.iter().enumerate().rev();
        all.max_by_key(|(_, (_, life))| visited(life))
            .map(|(place, _)| place)
    };
    let Some(place) = chosen.or_else(last) else {
        return Ok(None);
    };
    let (shelf, explanation) = found.swap_remove(place);
    let counts = shelf.links()?.counts(url).map_err(WebError::from)?;
    let known = Known {
        is_named: !names.is_empty(),
        shelf,
        url: url.clone(),
        explanation,
        counts,
    };
    Ok(Some((known, names)))
}

fn visited(explanation: &Explanation) -> Option<Timestamp> {
    let fetched = explanation.state.fetched.as_ref();
    fetched.map(|fetched| fetched.last_attempt)
}

fn facts(w: &Words, known: &Known, copies: &[Copy]) -> Result<Vec<Fact>, WebError> {
    let state = &known.explanation.state;
    let mut facts = Vec::new();
    let mut add = |label: &str, value: String, title: &str, mark| {
        facts.push(Fact {
            label: w.t(label).to_owned(),
            value,
            title: title.to_owned(),
            mark,
        });
    };
    let (key, mark) = match state.state {
        UrlStanding::Waiting => ("page.state.waiting", "warn"),
        UrlStanding::Fetched => ("page.state.fetched", "good"),
        UrlStanding::Failed => ("page.state.failed", "bad"),
        UrlStanding::Excluded if state.waits_for_sweep() => ("page.state.unreached", "warn"),
        UrlStanding::Excluded => ("page.state.excluded", "warn"),
        UrlStanding::Gone => ("page.state.gone", "bad"),
    };
    let sentence = match (&state.exclusion, &state.fetched) {
        (Some(exclusion), _) if state.waits_for_sweep() => w.rule(&exclusion.rule).into_owned(),
        (Some(exclusion), _) => format!(
            "{} ({})",
            w.told(exclusion.outcome.sentence()),
            w.rule(&exclusion.rule)
        ),
        (None, Some(fetched)) => w.told(fetched.outcome.sentence()).to_owned(),
        (None, None) => String::new(),
    };
    let outcome = state.fetched.as_ref().map(|fetched| fetched.outcome);
    let shown = match outcome {
        Some(outcome) if outcome.number() != 200 => format!("{} ({outcome})", w.t(key)),
        _ => w.t(key).to_owned(),
    };
    add("page.state", shown, &sentence, mark);
    if let Some(fetched) = &state.fetched {
        let moment = fetched.last_attempt;
        add("page.last", w.moment(&moment), &moment.to_string(), "");
    }
    add(
        "page.first",
        w.moment(&state.first_seen),
        &state.first_seen.to_string(),
        "",
    );
    if let Some(ranks) = &*known.shelf.ranks()? {
        if let Some(rank) = ranks.get(&known.url)? {
            let times = rank.rank * ranks.len() as f64;
            let value = w.f("page.times", w.decimal(format!("{times:.2}")));
            let exact = format!("{}: {:.3e}", w.t("page.rank.title"), rank.rank);
            add("page.rank", value, &exact, "");
        }
        if let Some(rank) = ranks.host(known.url.host_str())? {
            let times = rank.rank * ranks.host_count() as f64;
            let value = w.f("page.times", w.decimal(format!("{times:.2}")));
            let exact = format!("{}: {:.3e}", w.t("page.rank.title"), rank.rank);
            add("page.hostrank", value, &exact, "");
        }
    }
    let in_links = known
        .counts
        .map_or(known.explanation.in_link_count, |counts| counts.in_links);
    add("page.inlinks", w.number(in_links), "", "");
    let journal = || {
        let mut attempts = known.explanation.attempts.iter().rev();
        attempts
            .find(|attempt| !attempt.links.is_empty())
            .map(|attempt| attempt.links.len() as u64)
    };
    let out_links = known
        .counts
        .and_then(|counts| counts.out_links)
        .or_else(journal);
    add("page.outlinks", w.number(out_links.unwrap_or(0)), "", "");
    let depth = match state.depth {
        _ if state.seed => w.t("page.depth.seed").to_owned(),
        u16::MAX => w.t("page.depth.none").to_owned(),
        depth => w.n("page.depth.n", depth),
    };
    add("page.depth", depth, "", "");
    let media_types = known.explanation.attempts.iter().rev();
    if let Some(media_type) = media_types
        .filter_map(|attempt| attempt.media_type.as_deref())
        .next()
    {
        add(
            "page.type",
            w.media_type(media_type).to_owned(),
            media_type,
            "",
        );
    }
    add("page.collection", known.shelf.name.clone(), "", "");
    if !copies.is_empty() {
        add("tab.versions", w.number(copies.len()), "", "");
    }
    Ok(facts)
}

fn tabs(w: &Words, known: &Known) -> Vec<(&'static str, String, String)> {
    let names = [
        ("versions", "tab.versions"),
        ("in", "tab.in"),
        ("out", "tab.out"),
        ("map", "tab.map"),
        ("history", "tab.history"),
    ];
    names
        .map(|(name, key)| (name, w.t(key).to_owned(), known.href(name, None) + "#panel"))
        .to_vec()
}
