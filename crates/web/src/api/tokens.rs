//! Tokens: who may manage.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json as value};

use super::asked::{Json, Nothing, Part, Steps, json, json_with};
use super::problem::Problem;
use crate::access::{Caller, Identity, Role, Token};
use crate::pages::App;

type Answer = Result<Response, Problem>;

/// The longest that a token may be said to last: ten years.
const LONGEST_DAYS: u64 = 3_650;

/// A token that is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    name: String,
    role: Role,
    #[serde(default)]
    days: Option<u64>,
}

fn shown(token: &Token) -> Value {
    value!({
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "created": token.created,
        "expires": token.expires,
    })
}

pub(crate) async fn list(State(app): State<App>, Part(window): Part) -> Answer {
    app.work(move |app| {
        let tokens = app.tokens.list()?;
        json(&window.of(tokens.iter().map(shown).collect()))
    })
    .await
}

/// The secret is in this answer, and never in another.
pub(crate) async fn create(
    State(app): State<App>,
    _: Nothing,
    Json(wanted): Json<Wanted>,
) -> Answer {
    if wanted
        .days
        .is_some_and(|days| !(1..=LONGEST_DAYS).contains(&days))
    {
        let sentence = format!("a token lasts 1 to {LONGEST_DAYS} days, or until it is removed");
        return Err(Problem::new(422, "wrong-settings", sentence));
    }
    let lasts = wanted.days.map(|days| Duration::from_secs(days * 86_400));
    app.work(move |app| {
        let new = app.tokens.add(&wanted.name, wanted.role, lasts)?;
        let mut body = shown(&new.token);
        body["token"] = new.secret.into();
        json_with(StatusCode::CREATED, &body)
    })
    .await
}

pub(crate) async fn remove(
    State(app): State<App>,
    Steps(id): Steps<String>,
    Extension(caller): Extension<Caller>,
    _: Nothing,
) -> Answer {
    if caller.id == id {
        let sentence = "a token does not remove itself: use another, or `teia token remove`";
        return Err(Problem::new(409, "conflict", sentence));
    }
    app.work(move |app| {
        if app.tokens.remove(&id)? {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        let sentence = format!("there is no token `{id}`");
        Err(Problem::new(404, "not-found", sentence))
    })
    .await
}

/// Who asks.
pub(crate) async fn me(Extension(identity): Extension<Identity>, _: Nothing) -> Answer {
    let caller = identity.caller().ok_or_else(Problem::broken)?;
    json(&value!({ "id": caller.id, "name": caller.name, "role": caller.role }))
}
