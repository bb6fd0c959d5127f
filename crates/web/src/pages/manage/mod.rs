//! The management pages: what is collected, how it goes, and what can be done about it.
//!
//! ```text
//! /collections            collections.rs     /hosts  /hosts/NAME   hosts.rs
//! /collections/NAME       collection.rs      /explain              explain.rs
//! /collections/NAME/edit  edit.rs            /statistics           statistics.rs
//! /urls                   urls.rs            /bot                  bot.rs
//! /map                    map.rs             /settings             settings.rs
//! ```

pub(crate) mod bot;
mod collection;
mod collections;
mod edit;
mod explain;
mod hosts;
mod map;
mod panel;
mod removing;
mod settings;
mod statistics;
mod urls;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};

pub(crate) use collections::{health, state_key, state_mark};
pub(crate) use map::host_links;
pub(crate) use panel::{Cell, Panel};
pub(crate) use statistics::PARQUET;

use super::{App, Failure, Frame, html};
use crate::access::{Role, for_people};
use crate::address::escape;
use crate::chart::Chart;
use crate::host_map::HostMap;
use crate::words::Words;

/// The pages that lead to all others, with the keys of their names.
pub(crate) const PLACES: [(&str, &str); 6] = [
    ("/collections", "collections"),
    ("/urls", "urls"),
    ("/hosts", "hosts"),
    ("/map", "hostmap"),
    ("/explain", "explain"),
    ("/statistics", "statistics"),
];

/// Their addresses: viewers read, operators steer, admins change what is collected.
pub(crate) fn routes(app: &App) -> Router<App> {
    let viewer = |routes| for_people(app, Role::Viewer, routes);
    let operator = |routes| for_people(app, Role::Operator, routes);
    let admin = |routes| for_people(app, Role::Admin, routes);
    Router::new()
        .route("/collections", viewer(get(collections::collections)))
        .route("/collections/new", admin(get(edit::new).post(edit::create)))
        .route("/collections/{name}", viewer(get(collection::collection)))
        .route("/collections/{name}/do", operator(post(collection::act)))
        .route(
            "/collections/{name}/edit",
            admin(get(edit::edit).post(edit::save)),
        )
        .route("/collections/{name}/remove", admin(post(edit::remove)))
        .route("/settings", viewer(get(settings::settings)))
        .route("/settings/tokens", admin(post(settings::make)))
        .route(
            "/settings/tokens/{id}/remove",
            admin(post(settings::remove)),
        )
        .route("/collections/{name}/allow", admin(post(collection::allow)))
        .route("/hosts", viewer(get(hosts::hosts)))
        .route("/hosts/{host}", viewer(get(hosts::host)))
        .route("/removals/{what}", admin(post(removing::act)))
        .route("/urls", viewer(get(urls::urls)))
        .route("/map", viewer(get(map::map)))
        .route("/explain", viewer(get(explain::explain)))
        .route("/statistics", viewer(get(statistics::statistics)))
        .route("/statistics.csv", viewer(get(statistics::csv)))
        .route("/statistics.parquet", viewer(get(statistics::parquet)))
}

/// A page of figures, sentences and tables.
#[derive(Template)]
#[template(path = "manage/list.html")]
struct ListPage {
    frame: Frame,
    title: String,
    /// A line beside it.
    under: String,
    /// What came of what was done.
    said: String,
    links: Vec<(String, String)>,
    buttons: Vec<Button>,
    fields: Vec<Field>,
    figures: Vec<(String, String)>,
    sentences: Vec<String>,
    map: Option<HostMap>,
    charts: Vec<Chart>,
    panels: Vec<Panel>,
    previous: Option<String>,
    next: Option<String>,
    range: String,
    /// Seconds after which it is asked for again by itself.
    refresh: Option<u32>,
}

/// Something that can be done, in a form of its own.
struct Button {
    action: String,
    fields: Vec<(&'static str, String)>,
    label: String,
    /// What is asked before it is done.
    question: Option<String>,
}

/// Something by which what is shown is chosen.
struct Field {
    name: &'static str,
    key: &'static str,
    value: String,
    choices: Vec<(String, String)>,
    is_long: bool,
}

impl Field {
    fn choice(
        name: &'static str,
        key: &'static str,
        value: &str,
        choices: Vec<(String, String)>,
    ) -> Self {
        Self {
            name,
            key,
            value: value.to_owned(),
            choices,
            is_long: false,
        }
    }

    fn text(name: &'static str, key: &'static str, value: &str) -> Self {
        Self {
            name,
            key,
            value: value.to_owned(),
            choices: Vec::new(),
            is_long: false,
        }
    }

    fn long(mut self) -> Self {
        self.is_long = true;
        self
    }
}

impl ListPage {
    fn new(frame: Frame, title: impl Into<String>) -> Self {
        Self {
            frame,
            title: title.into(),
            under: String::new(),
            said: String::new(),
            links: Vec::new(),
            buttons: Vec::new(),
            fields: Vec::new(),
            figures: Vec::new(),
            sentences: Vec::new(),
            map: None,
            charts: Vec::new(),
            panels: Vec::new(),
            previous: None,
            next: None,
            range: String::new(),
            refresh: None,
        }
    }

    fn figure(&mut self, key: &str, value: impl Into<String>) {
        let label = self.frame.w.t(key).to_owned();
        self.figures.push((label, value.into()));
    }

    /// The ways to the rows before and after: `shown` of `total`, from the row `first`.
    fn turn(
        &mut self,
        path: &str,
        query: &[(&str, &str)],
        first: u32,
        shown: usize,
        step: u32,
        total: i64,
    ) {
        let href = |first: u32| {
            let mut text = format!("{path}?from={first}");
            for (name, value) in query {
                if !value.is_empty() {
                    text.push_str(&format!("&{name}={}", escape(value)));
                }
            }
            text
        };
        let last = first as usize + shown;
        self.previous = (first > 0).then(|| href(first.saturating_sub(step)));
        let is_more = i64::try_from(last).unwrap_or(i64::MAX) < total;
        self.next = is_more.then(|| href(first + step));
        let w = self.frame.w;
        self.range = format!(
            "{}–{} / {}",
            w.number(u64::from(first) + u64::from(shown > 0)),
            w.number(last),
            w.number(total)
        );
    }

    fn show(self) -> Result<Response, Failure> {
        html(&self)
    }
}

/// The row with which a page of rows begins.
fn first_row(from: &str) -> Result<u32, Failure> {
    if from.is_empty() {
        return Ok(0);
    }
    from.parse().map_err(|_| Failure::NoNumber("from"))
}

/// The collection that is asked for; otherwise the one whose journal was written last.
fn chosen_name(app: &App, asked: &str) -> Option<String> {
    let shelves = app.library.shelves();
    if asked.is_empty() {
        let shelves = shelves.iter().rev();
        let last = shelves.max_by_key(|shelf| shelf.journal_written());
        return last.map(|shelf| shelf.name.clone());
    }
    let found = shelves.iter().find(|shelf| shelf.name == asked);
    found.map(|shelf| shelf.name.clone())
}

/// What is said where a collection has no catalog: a command helps only where something was collected.
fn no_catalog(app: &App, w: &Words, name: &str) -> String {
    let shelves = app.library.shelves();
    let shelf = shelves.iter().find(|shelf| shelf.name == name);
    let has_run = shelf.is_some_and(|shelf| shelf.journal_written().is_some());
    let key = if has_run {
        "catalog.none"
    } else {
        "catalog.never-run"
    };
    w.t(key).to_owned()
}

/// All collections as choices.
fn collection_choices(app: &App) -> Vec<(String, String)> {
    let shelves = app.library.shelves();
    let name =
        |shelf: &std::sync::Arc<crate::library::Shelf>| (shelf.name.clone(), shelf.name.clone());
    shelves.iter().map(name).collect()
}
