//! `/hosts` and `/hosts/NAME`: whom we asked, for what, and how gently; the proof for a webmaster.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use teia_catalog::{HostOrder, HostReport};

use super::panel::span;
use super::removing::offer;
use super::{Cell, Field, ListPage, Panel, chosen_name, collection_choices, first_row, no_catalog};
use crate::address::escape;
use crate::desk::{DeskError, Removal, RemovalKind};
use crate::pages::{App, Failure, Frame};

/// Rows of a page.
const ROWS: u32 = 50;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    collection: String,
    name: String,
    order: String,
    from: String,
}

/// The hosts of a collection.
pub(crate) async fn hosts(
    State(app): State<App>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, frame| list(app, frame, &asked))
        .await
}

fn list(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let first = first_row(&asked.from)?;
    let mut page = ListPage::new(frame, w.t("hosts"));
    let Some(name) = chosen_name(app, &asked.collection) else {
        page.sentences.push(w.t("none.what").to_owned());
        return page.show();
    };
    let orders = [
        ("fetched", HostOrder::Fetched),
        ("errors", HostOrder::Errors),
        ("slowest", HostOrder::Slowest),
        ("latest", HostOrder::Latest),
        ("name", HostOrder::Name),
    ];
    let (word, order) = orders
        .into_iter()
        .find(|(word, _)| *word == asked.order)
        .unwrap_or(orders[0]);
    let choices =
        orders.map(|(word, _)| (word.to_owned(), w.t(&format!("hosts.by.{word}")).to_owned()));
    page.fields = vec![
        Field::choice("collection", "collection", &name, collection_choices(app)),
        Field::text("name", "hosts.name", &asked.name),
        Field::choice("order", "sort", word, choices.into()),
    ];
    let part = asked.name.trim().to_lowercase();
    let found = app.desk.in_catalog(&name, |reader, known| {
        known.hosts(reader, &part, order, ROWS, first)
    });
    let found = match found {
        Ok(Some(found)) => found,
        Ok(None) => {
            page.sentences.push(no_catalog(app, w, &name));
            return page.show();
        }
        Err(DeskError::Catalog) => {
            page.sentences.push(w.t("catalog.away").to_owned());
            return page.show();
        }
        Err(error) => return Err(error.into()),
    };
    let columns = [
        "host",
        "#pages.fetched",
        "#urls.met",
        "#errors",
        "#received",
        "#answer.mean",
        "visited",
    ];
    let mut panel = Panel::new(w, "hosts", "", &columns)
        .wide()
        .noted(w.t("hosts.note"));
    for host in &found.hosts {
        panel.row(vec![
            Cell::host(&name, &host.host),
            Cell::number(w, host.fetched),
            Cell::number(w, host.admitted),
            Cell::number(w, host.errors),
            Cell::bytes(w, host.bytes),
            Cell::span(w, host.mean_answer_micros),
            Cell::moment(w, host.last_at),
        ]);
    }
    page.under = w.n("hosts.count", found.total);
    page.panels.push(panel);
    let query = [
        ("collection", name.as_str()),
        ("name", &asked.name),
        ("order", &asked.order),
    ];
    page.turn(
        "/hosts",
        &query,
        first,
        found.hosts.len(),
        ROWS,
        found.total,
    );
    page.show()
}

/// What was asked of one host, with the rests between.
pub(crate) async fn host(
    State(app): State<App>,
    frame: Frame,
    Path(host): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, frame| report(app, frame, &host, &asked))
        .await
}

fn report(app: &App, frame: Frame, host: &str, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let first = first_row(&asked.from)?;
    let host = host.to_lowercase();
    let mut page = ListPage::new(frame, &host);
    let visits = match app.desk.host_visits(&asked.collection, &host, ROWS, first) {
        Ok(Some(visits)) => visits,
        Ok(None) => return Err(Failure::Missing("host.unknown", "host.unknown.what")),
        Err(DeskError::Catalog) => {
            page.sentences.push(w.t("catalog.away").to_owned());
            let name = chosen_name(app, &asked.collection);
            steer(app, &mut page, &host, name.as_slice())?;
            return page.show();
        }
        Err(error) => return Err(error.into()),
    };
    let found = &visits.report;
    let names = visits.collections.join(", ");
    page.under = match visits.collections.len() {
        0 | 1 => w.f("host.in", &names),
        _ => w.f("host.in.several", &names),
    };
    steer(app, &mut page, &host, &visits.collections)?;
    figures(&mut page, found);
    page.sentences.push(politeness(&page, found));
    if !visits.elsewhere.is_empty() {
        let names = visits.elsewhere.join(", ");
        page.sentences.push(w.f("host.elsewhere", names));
    }
    let columns = [
        "when",
        "#rest",
        "address.url",
        "#code",
        "meaning",
        "#received",
        "#took",
    ];
    let mut panel = Panel::new(w, "requests", "host.requests", &columns)
        .wide()
        .noted(w.t("host.requests.note"));
    for request in &found.requests {
        panel.row(vec![
            Cell::moment(w, request.at),
            Cell::text(
                request
                    .rest_micros
                    .map(|rest| span(w, rest))
                    .unwrap_or_default(),
            ),
            Cell::url(&request.url),
            Cell::text(request.code.to_string()),
            Cell::text(w.told(request.meaning)),
            Cell::bytes(w, request.bytes),
            Cell::span(w, request.micros),
        ]);
    }
    page.panels.push(panel);
    let path = format!("/hosts/{}", escape(&host));
    page.turn(
        &path,
        &[("collection", &asked.collection)],
        first,
        found.requests.len(),
        ROWS,
        found.total,
    );
    page.show()
}

/// The ways to its pages, and for those who may the buttons that hide it or show it again.
fn steer(app: &App, page: &mut ListPage, host: &str, names: &[String]) -> Result<(), Failure> {
    let w = page.frame.w;
    page.links = vec![(
        format!("/search?q={}", escape(&format!("site:{host}"))),
        w.t("host.search").to_owned(),
    )];
    let removal = Removal {
        kind: RemovalKind::Host,
        value: host.to_owned(),
    };
    let of = names.iter().map(|name| (name.clone(), removal.clone()));
    offer(app, page, &of.collect::<Vec<_>>())
}

fn figures(page: &mut ListPage, found: &HostReport) {
    let w = page.frame.w;
    let host = &found.host;
    page.figure("pages.fetched", w.number(host.fetched));
    page.figure("urls.met", w.number(host.admitted));
    page.figure("requests", w.number(host.requests));
    page.figure("errors", w.number(host.errors));
    page.figure("received", w.bytes(host.bytes));
    page.figure("answer.mean", span(w, host.mean_answer_micros));
    if let Some(rest) = found.shortest_rest_micros {
        page.figure("rest.shortest", span(w, rest));
    }
    if let Some(rest) = found.median_rest_micros {
        page.figure("rest.median", span(w, rest));
    }
}

/// In words, for somebody who wants to complain, or to be reassured.
fn politeness(page: &ListPage, found: &HostReport) -> String {
    let w = page.frame.w;
    match found.shortest_rest_micros {
        Some(rest) if rest < 0 => w.f("host.overlap", span(w, -rest)),
        Some(rest) => w.f("host.polite", span(w, rest)),
        None => w.t("host.once").to_owned(),
    }
}
