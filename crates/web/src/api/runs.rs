//! Runs: what they are told, and what they told.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::asked::{Asked, Json, Nothing, Part, Steps, json};
use super::problem::Problem;
use crate::desk::{LEVELS, Order};
use crate::pages::App;

type Answer = Result<Response, Problem>;

pub(crate) async fn start(app: State<App>, name: Steps<String>, _: Nothing) -> Answer {
    tell(app, name, Order::Start).await
}

pub(crate) async fn pause(app: State<App>, name: Steps<String>, _: Nothing) -> Answer {
    tell(app, name, Order::Pause).await
}

pub(crate) async fn resume(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
) -> Answer {
    app.work(move |app| json(&app.desk.resume(&name)?)).await
}

pub(crate) async fn stop(app: State<App>, name: Steps<String>, _: Nothing) -> Answer {
    tell(app, name, Order::Stop).await
}

async fn tell(State(app): State<App>, Steps(name): Steps<String>, order: Order) -> Answer {
    app.work(move |app| json(&app.desk.tell(&name, order)?))
        .await
}

/// Settings for the run under way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Other {
    settings: BTreeMap<String, Value>,
}

pub(crate) async fn change(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
    Json(other): Json<Other>,
) -> Answer {
    app.work(move |app| {
        let answer = app.desk.change_run(&name, &other.settings)?;
        json(&serde_json::json!({ "answer": answer }))
    })
    .await
}

pub(crate) async fn list(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Part(window): Part,
) -> Answer {
    app.work(move |app| json(&app.desk.runs(&name, window)?))
        .await
}

pub(crate) async fn events(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let window = asked.window()?;
    let level = asked.text("level").unwrap_or_default();
    asked.end()?;
    if !level.is_empty() && !LEVELS.contains(&level.as_str()) {
        let sentence = "`level` is info, warning or error, and means that and worse";
        return Err(Problem::bad_request(sentence));
    }
    app.work(move |app| json(&window.of(app.desk.events_from(&name, &level)?)))
        .await
}

pub(crate) async fn deliveries(
    State(app): State<App>,
    Steps(name): Steps<String>,
    Part(window): Part,
) -> Answer {
    app.work(move |app| json(&window.of(app.desk.deliveries(&name)?)))
        .await
}
