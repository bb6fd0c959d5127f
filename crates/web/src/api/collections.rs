//! Collections: their files, and what is in them.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use serde::Deserialize;
use serde_json::Value;
use teia_catalog::Statistic;

use super::asked::{Asked, Json, Nothing, Part, Steps, json, json_with};
use super::problem::Problem;
use crate::access::{Caller, Role};
use crate::desk::{
    Changes, HostOrder, HostsAsked, NewCollection, Removal, RemovalKind, ToCheck, UrlsAsked,
};
use crate::host_map::Between;
use crate::pages::{App, Failure, PARQUET, host_links};

type Answer = Result<Response, Problem>;

pub(crate) async fn list(State(app): State<App>, Part(window): Part) -> Answer {
    app.work(move |app| json(&window.of(app.desk.collections()?)))
        .await
}

pub(crate) async fn create(
    State(app): State<App>,
    _: Nothing,
    Json(wanted): Json<NewCollection>,
) -> Answer {
    app.work(move |app| {
        let made = app.desk.create(&wanted)?;
        let mut response = json_with(StatusCode::CREATED, &made)?;
        // The name was checked: letters, digits, `-` and `_`.
        let place = HeaderValue::try_from(format!("/api/collections/{}", made.card.name));
        if let Ok(place) = place {
            response.headers_mut().insert(header::LOCATION, place);
        }
        Ok(response)
    })
    .await
}

pub(crate) async fn view(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Extension(caller): Extension<Caller>,
    _: Nothing,
) -> Answer {
    app.work(move |app| {
        let view = app.desk.collection(&name)?;
        json(&match caller.role {
            Role::Admin => view,
            _ => view.without_receivers(),
        })
    })
    .await
}

/// What is left out as a trap.
pub(crate) async fn traps(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Part(window): Part,
) -> Answer {
    app.work(move |app| json(&window.of(app.desk.traps(&name)?)))
        .await
}

/// A trap that is none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoTrap {
    host: String,
    pattern: String,
}

/// Letting one in twice is letting it in once.
pub(crate) async fn allow_trap(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
    Json(trap): Json<NoTrap>,
) -> Answer {
    app.work(move |app| {
        let NoTrap { host, pattern } = &trap;
        let known = app.desk.traps(&name)?;
        if !known
            .iter()
            .any(|it| it.host == *host && it.pattern == *pattern)
        {
            let sentence = format!("`{host}{pattern}` is not left out as a trap");
            return Err(Problem::new(404, "not-found", sentence));
        }
        let allowed = app.desk.allow_trap(&name, format!("{host}{pattern}"))?;
        json(&serde_json::json!({ "allowed": allowed }))
    })
    .await
}

/// Documents by hops from a seed.
pub(crate) async fn depths(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
) -> Answer {
    app.work(move |app| {
        let dashboard = app.desk.dashboard(&name, true)?;
        let depths = dashboard.map(|it| it.depths.clone()).unwrap_or_default();
        let documents: i64 = depths.iter().map(|depth| depth.documents).sum();
        json(&serde_json::json!({ "items": depths, "documents": documents }))
    })
    .await
}

/// The largest hosts, and the links between them.
pub(crate) async fn map(State(app): State<App>, Steps(name): Steps<String>, _: Nothing) -> Answer {
    app.work(move |app| {
        let (hosts, links) = host_links(app, &name).map_err(|failure| match failure {
            Failure::Desk(error) => error.into(),
            _ => Problem::broken(),
        })?;
        let host = |(host, documents): &(String, u64)| serde_json::json!({ "host": host, "documents": documents });
        let link = |pair: &Between| serde_json::json!({ "from": pair.from, "to": pair.to, "links": pair.links });
        let hosts: Vec<Value> = hosts.iter().map(host).collect();
        let links: Vec<Value> = links.iter().map(link).collect();
        json(&serde_json::json!({ "hosts": hosts, "links": links }))
    })
    .await
}

pub(crate) async fn change(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
    Json(changes): Json<Changes>,
) -> Answer {
    app.work(move |app| json(&app.desk.change(&name, &changes)?))
        .await
}

pub(crate) async fn remove(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
) -> Answer {
    app.work(move |app| {
        app.desk.remove(&name)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

pub(crate) async fn check(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Extension(caller): Extension<Caller>,
    _: Nothing,
    Json(what): Json<ToCheck>,
) -> Answer {
    app.work(move |app| {
        let checked = app.desk.check(&name, &what)?;
        json(&match caller.role {
            Role::Admin => checked,
            _ => checked.without_receivers(),
        })
    })
    .await
}

pub(crate) async fn hosts(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let window = asked.window()?;
    let order = match asked.text("order") {
        None => HostOrder::default(),
        Some(text) => serde_json::from_value(text.into()).map_err(|_| {
            Problem::bad_request("`order` is name, known, waiting, fetched, failures or latency")
        })?,
    };
    let contains = asked.text("contains");
    asked.end()?;
    let asked = HostsAsked {
        order,
        contains,
        waiting: false,
    };
    app.work(move |app| json(&app.desk.hosts(&name, &asked, window)?))
        .await
}

pub(crate) async fn host(
    State(app): State<App>,
    Steps((name, host)): Steps<(String, String)>,
    _: Nothing,
) -> Answer {
    app.work(move |app| json(&app.desk.host(&name, &host)?))
        .await
}

/// What waits.
pub(crate) async fn queue(
    State(app): State<App>,
    Steps(name): Steps<String>,
    asked: Asked,
) -> Answer {
    some_urls(app, name, asked, Some("waiting".to_owned())).await
}

pub(crate) async fn urls(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let state = asked.text("state");
    some_urls(app, name, asked, state).await
}

async fn some_urls(app: App, name: String, mut asked: Asked, state: Option<String>) -> Answer {
    let window = asked.window()?;
    let which = UrlsAsked {
        state,
        host: asked.text("host"),
        contains: asked.text("contains"),
    };
    asked.end()?;
    app.work(move |app| json(&app.desk.urls(&name, &which, window)?))
        .await
}

pub(crate) async fn explain(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let url = asked.text("url");
    asked.end()?;
    let url = url.ok_or_else(|| Problem::bad_request("`url` says of which URL to tell"))?;
    app.work(move |app| json(&app.desk.explain(&name, &url, app.config.journal_time)?))
        .await
}

pub(crate) async fn numbers(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
) -> Answer {
    app.work(move |app| json(&app.desk.numbers(&name)?)).await
}

pub(crate) async fn statistics(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let table = asked.text("table");
    asked.end()?;
    app.work(move |app| {
        let counted = app.desk.statistics(&name)?;
        let is_asked = |known: &&Statistic| table.as_ref().is_none_or(|it| *it == known.name);
        let tables: Vec<&Statistic> = counted.tables.iter().filter(is_asked).collect();
        if let Some(table) = table.as_ref().filter(|_| tables.is_empty()) {
            return Err(no_table(table));
        }
        json(&serde_json::json!({
            "collection": name,
            "as_of": counted.as_of.to_string(),
            "is_current": counted.is_current,
            "tables": tables,
        }))
    })
    .await
}

fn no_table(table: &str) -> Problem {
    Problem::new(404, "not-found", format!("there is no table `{table}`"))
}

/// One table, for tools that calculate.
pub(crate) async fn parquet(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let table = asked.text("table");
    asked.end()?;
    let table = table.ok_or_else(|| Problem::bad_request("say which `table`".to_owned()))?;
    app.work(move |app| {
        let counted = app.desk.statistics(&name)?;
        let Some(found) = counted.tables.iter().find(|known| known.name == table) else {
            return Err(no_table(&table));
        };
        let bytes = found.write_parquet(Vec::new()).map_err(|error| {
            tracing::error!(%error, "a table could not be written");
            Problem::broken()
        })?;
        let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(PARQUET))];
        Ok((headers, bytes).into_response())
    })
    .await
}

pub(crate) async fn removals(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Part(window): Part,
) -> Answer {
    app.work(move |app| json(&app.desk.removals(&name, window)?))
        .await
}

/// Hiding twice is hiding once.
pub(crate) async fn hide(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
    Json(removal): Json<Removal>,
) -> Answer {
    app.work(move |app| {
        let hidden = app.desk.hide(&name, &removal)?;
        json(&serde_json::json!({ "items": hidden }))
    })
    .await
}

pub(crate) async fn show(
    State(app): State<App>,
    Steps(name): Steps<String>,
    asked: Asked,
) -> Answer {
    let removal = asked_removal(asked)?;
    app.work(move |app| {
        app.desk.show(&name, &removal)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// What every collection hides, and what deleted ones did.
pub(crate) async fn all_removals(State(app): State<App>, Part(window): Part) -> Answer {
    app.work(move |app| json(&app.desk.all_removals(window)?))
        .await
}

/// Takes back what only deleted collections hid.
pub(crate) async fn show_kept(State(app): State<App>, asked: Asked) -> Answer {
    let removal = asked_removal(asked)?;
    app.work(move |app| {
        app.desk.show_kept(&removal)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

fn asked_removal(mut asked: Asked) -> Result<Removal, Problem> {
    let kind = match asked.text("kind").as_deref() {
        Some("url") => RemovalKind::Url,
        Some("host") => RemovalKind::Host,
        _ => return Err(Problem::bad_request("`kind` is url or host")),
    };
    let value = asked.text("value");
    asked.end()?;
    let value = value.ok_or_else(|| Problem::bad_request("`value` says which"))?;
    Ok(Removal { kind, value })
}

/// What this process has erased of it, and how far it is.
pub(crate) async fn erasures(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Part(window): Part,
) -> Answer {
    app.work(move |app| json(&window.of(app.desk.erasures(&name)?)))
        .await
}

/// Begun, not done: archives are large.
pub(crate) async fn erase(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
    Json(removal): Json<Removal>,
) -> Answer {
    app.work(move |app| {
        let begun = app.desk.erase(&name, &removal)?;
        json_with(StatusCode::ACCEPTED, &begun)
    })
    .await
}
