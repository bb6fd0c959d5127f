//! `/map`: which hosts link to which, as a drawing and as a table.

use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use teia_graph::{HostNeighbour, Listing};

use super::{Cell, Field, ListPage, Panel, chosen_name, collection_choices};
use crate::address::{cut, escape};
use crate::desk::{HostOrder, HostsAsked, Window};
use crate::host_map::{Between, HostMap, between};
use crate::pages::{App, Failure, Frame};
use crate::words::Words;

/// Hosts that are drawn.
const DRAWN: u64 = 40;
/// Rows of a table.
const ROWS: usize = 100;
/// Hosts on the other side that are looked at for the strongest: of some millions, the first by name.
const LOOKED_AT: usize = 20_000;
/// Letters of a name in a table.
const LETTERS: usize = 60;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    collection: String,
    host: String,
}

/// The largest hosts, and the links between them; or those of one host.
pub(crate) async fn map(
    State(app): State<App>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, frame| answer(app, frame, &asked))
        .await
}

fn answer(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let mut page = ListPage::new(frame, w.t("hostmap"));
    let Some(name) = chosen_name(app, &asked.collection) else {
        page.sentences.push(w.t("none.what").to_owned());
        return page.show();
    };
    let chosen = asked.host.trim().to_lowercase();
    page.fields = vec![
        Field::choice("collection", "collection", &name, collection_choices(app)),
        Field::text("host", "host", &chosen),
    ];
    let shelves = app.library.shelves();
    let Some(shelf) = shelves.iter().find(|shelf| shelf.name == name) else {
        return Err(Failure::Missing("host.unknown", "none.what"));
    };
    let links = shelf.links()?;
    if links.position() == 0 {
        page.sentences.push(w.t("hostmap.none").to_owned());
        return page.show();
    }
    let (mut hosts, total) = largest(app, &name)?;
    if !chosen.is_empty() && hosts.iter().all(|host| host.0 != chosen) {
        hosts.push((chosen.clone(), links.host_pages(&chosen)?));
    }
    let names: Vec<String> = hosts.iter().map(|host| host.0.clone()).collect();
    let pairs = between(&links, &names)?;
    let mut map = HostMap::draw(&hosts, &pairs, (&name, &chosen));
    map.told = w.n("hostmap.told", hosts.len());
    page.under = w.n("hosts.count", total);
    if chosen.is_empty() {
        page.sentences.push(w.t("hostmap.what").to_owned());
        let columns = ["hostmap.from", "hostmap.to", "#hostmap.links"];
        let mut panel = Panel::new(w, "between", "hostmap.strongest", &columns).wide();
        for pair in pairs.iter().take(ROWS) {
            panel.row(vec![
                host(&name, &pair.from),
                host(&name, &pair.to),
                Cell::number(w, pair.links),
            ]);
        }
        page.panels.push(panel);
    } else {
        page.links = vec![(
            format!("/hosts/{}?collection={}", escape(&chosen), escape(&name)),
            w.t("hostmap.report").to_owned(),
        )];
        let linked = links.host_in_links(&chosen, 0, LOOKED_AT)?;
        page.panels.push(neighbours(w, &name, "hostmap.in", linked));
        let linked = links.host_out_links(&chosen, 0, LOOKED_AT)?;
        page.panels
            .push(neighbours(w, &name, "hostmap.out", linked));
    }
    page.map = Some(map);
    page.show()
}

/// Hosts with their documents.
type Hosts = Vec<(String, u64)>;

/// The largest hosts, and how many there are in all.
fn largest(app: &App, name: &str) -> Result<(Hosts, u64), Failure> {
    let asked = HostsAsked {
        order: HostOrder::Fetched,
        contains: None,
        waiting: false,
    };
    let window = Window {
        offset: 0,
        limit: DRAWN,
    };
    let found = app.desk.hosts(name, &asked, window)?;
    let hosts = found.items.into_iter();
    let hosts = hosts.map(|host| (host.host, u64::from(host.fetched)));
    Ok((hosts.collect(), found.total))
}

/// The largest hosts of a collection, and the links between them, the strongest first.
pub(crate) fn host_links(app: &App, name: &str) -> Result<(Hosts, Vec<Between>), Failure> {
    let (hosts, _) = largest(app, name)?;
    let shelves = app.library.shelves();
    let Some(shelf) = shelves.iter().find(|shelf| shelf.name == name) else {
        return Ok((hosts, Vec::new()));
    };
    let links = shelf.links()?;
    if links.position() == 0 {
        return Ok((hosts, Vec::new()));
    }
    let names: Vec<String> = hosts.iter().map(|host| host.0.clone()).collect();
    let pairs = between(&links, &names)?;
    Ok((hosts, pairs))
}

fn neighbours(
    w: &Words,
    collection: &str,
    title: &'static str,
    linked: Listing<HostNeighbour>,
) -> Panel {
    let mut found = linked.items;
    found.sort_by(|a, b| b.links.cmp(&a.links).then_with(|| a.host.cmp(&b.host)));
    let mut panel = Panel::new(w, title, title, &["host", "#hostmap.links"]);
    panel.note = w.n("hosts.count", linked.total);
    for one in found.iter().take(ROWS) {
        panel.row(vec![
            host(collection, &one.host),
            Cell::number(w, one.links),
        ]);
    }
    panel
}

/// A host, which leads to its links.
fn host(collection: &str, host: &str) -> Cell {
    Cell::Link {
        shown: cut(host, LETTERS),
        whole: host.to_owned(),
        href: format!(
            "/map?collection={}&host={}",
            escape(collection),
            escape(host)
        ),
    }
}
