//! `/health` and `/ready`: for whatever restarts us, and for whatever sends people here.

use axum::extract::State;
use axum::response::Response;
use serde_json::json as value;

use super::asked::{json, json_with};
use super::problem::Problem;
use crate::pages::App;

/// Alive: this process answers.
pub(crate) async fn health() -> Result<Response, Problem> {
    json(&value!({ "status": "alive", "version": env!("CARGO_PKG_VERSION") }))
}

/// Ready: the data can be read, and there is room for a look-up.
pub(crate) async fn ready(State(app): State<App>) -> Response {
    let looked = app
        .work(|app| {
            drop(app.tokens.list()?);
            app.library.check()?;
            Ok(app.library.shelves().len())
        })
        .await;
    let answer = match looked {
        Ok(collections) => json(&value!({ "status": "ready", "collections": collections })),
        Err(_) => json_with(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            &value!({ "status": "not ready", "collections": null }),
        ),
    };
    answer.unwrap_or_else(axum::response::IntoResponse::into_response)
}
