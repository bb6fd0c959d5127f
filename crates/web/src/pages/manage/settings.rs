//! `/settings`: who is logged in, the tokens for those who may see them, what was removed, and the way out.

use std::time::Duration;

use askama::Template;
use axum::extract::{Form, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use teia_base::Timestamp;

use super::Button;
use crate::WebError;
use crate::access::{NewToken, Role, Token};
use crate::address::escape;
use crate::desk::{Remembered, RemovalKind, Window};
use crate::pages::{App, Failure, Frame, html_with};
use crate::words::Words;

/// Removals that are shown; the API has the others.
const MOST_REMOVALS: u64 = 500;
/// The longest that a token may be said to last: ten years.
const LONGEST_DAYS: u64 = 3_650;

#[derive(Template)]
#[template(path = "manage/settings.html")]
struct SettingsPage {
    frame: Frame,
    tokens: Vec<Row>,
    may_make: bool,
    /// A token that was just made; it is shown once.
    new: Option<NewToken>,
    problem: String,
    removals: Vec<RemovedRow>,
    /// How many there are, where not all are shown.
    of_removals: Option<String>,
}

/// Something that people asked to have removed.
struct RemovedRow {
    value: String,
    /// Where more is told of it.
    at: String,
    by: String,
    restore: Option<Button>,
}

struct Row {
    token: Token,
    role: String,
    created: String,
    expires: String,
    /// None for the token of the session itself.
    remove: Option<Button>,
}

/// Who is there.
pub(crate) async fn settings(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, |app, frame| show(app, frame, None, String::new()))
        .await
}

fn show(
    app: &App,
    frame: Frame,
    new: Option<NewToken>,
    problem: String,
) -> Result<Response, Failure> {
    let w = frame.w;
    let may_make = frame.may(Role::Admin);
    let own = frame.caller.as_ref().map(|caller| caller.id.clone());
    let tokens = if may_make {
        app.tokens.list()?.to_vec()
    } else {
        Vec::new()
    };
    let row = |token: Token| Row {
        role: w.t(role_key(token.role)).to_owned(),
        created: day(w, &token.created),
        expires: token
            .expires
            .as_deref()
            .map_or_else(|| w.t("token.forever").to_owned(), |at| day(w, at)),
        remove: (own.as_ref() != Some(&token.id)).then(|| Button {
            action: format!("/settings/tokens/{}/remove", token.id),
            fields: Vec::new(),
            label: w.t("token.remove").to_owned(),
            question: Some(w.f("token.remove.sure", &token.name)),
        }),
        token,
    };
    let removed = app.desk.all_removals(Window {
        offset: 0,
        limit: MOST_REMOVALS,
    })?;
    let of_removals =
        (removed.total > MOST_REMOVALS).then(|| w.f("removals.more", w.number(removed.total)));
    let removed = removed.items.into_iter().map(|it| removed_row(&frame, it));
    let removals = removed.collect();
    let status = if problem.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let page = SettingsPage {
        tokens: tokens.into_iter().map(row).collect(),
        may_make,
        new,
        problem,
        removals,
        of_removals,
        frame,
    };
    let mut response = html_with(status, &page)?;
    // A secret may be on it.
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-store"),
    );
    Ok(response)
}

fn removed_row(frame: &Frame, removed: Remembered) -> RemovedRow {
    let w = frame.w;
    let Remembered {
        collection,
        removal,
    } = removed;
    let (word, at) = match removal.kind {
        RemovalKind::Host => ("host", format!("/hosts/{}", escape(&removal.value))),
        RemovalKind::Url => ("url", format!("/explain?url={}", escape(&removal.value))),
    };
    let by = collection.clone();
    RemovedRow {
        at,
        by: by.unwrap_or_else(|| w.t("removals.deleted").to_owned()),
        restore: frame.may(Role::Admin).then(|| Button {
            action: "/removals/restore".to_owned(),
            fields: vec![
                ("collection", collection.unwrap_or_default()),
                ("kind", word.to_owned()),
                ("value", removal.value.clone()),
            ],
            label: w.t(&format!("{word}.restore")).to_owned(),
            question: None,
        }),
        value: removal.value,
    }
}

fn role_key(role: Role) -> &'static str {
    match role {
        Role::Viewer => "role.viewer",
        Role::Operator => "role.operator",
        Role::Admin => "role.admin",
    }
}

fn day(w: &Words, moment: &str) -> String {
    let parsed = Timestamp::parse(moment);
    parsed.map_or_else(|| moment.to_owned(), |moment| w.date(&moment))
}

/// A token that is to be.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    name: String,
    role: String,
    #[serde(default)]
    days: String,
}

/// Makes a token; its secret is in this answer, and never in another.
pub(crate) async fn make(
    State(app): State<App>,
    frame: Frame,
    Form(wanted): Form<Wanted>,
) -> Response {
    app.look_up(frame, move |app, frame| {
        let w = frame.w;
        let days = match wanted.days.trim() {
            "" => None,
            text => match text.parse::<u64>() {
                Ok(days) if (1..=LONGEST_DAYS).contains(&days) => Some(days),
                _ => {
                    let problem = w.f("token.days.wrong", w.number(LONGEST_DAYS));
                    return show(app, frame, None, problem);
                }
            },
        };
        let Some(role) = Role::of_name(&wanted.role) else {
            return Err(Failure::Missing("error.title", "error.wish"));
        };
        let lasts = days.map(|days| Duration::from_secs(days * 86_400));
        match app.tokens.add(wanted.name.trim(), role, lasts) {
            Ok(new) => show(app, frame, Some(new), String::new()),
            Err(WebError::TokenName) => {
                let problem = w.t("token.name.wrong").to_owned();
                show(app, frame, None, problem)
            }
            Err(error) => Err(error.into()),
        }
    })
    .await
}

/// Takes a token away, and every session that it gave. The own one stays.
pub(crate) async fn remove(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<String>,
) -> Response {
    app.look_up(frame, move |app, frame| {
        let is_own = frame.caller.as_ref().is_some_and(|caller| caller.id == id);
        if is_own || !app.tokens.remove(&id)? {
            return Err(Failure::Missing("error.title", "error.wish"));
        }
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, "/settings")]).into_response())
    })
    .await
}
