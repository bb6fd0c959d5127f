//! `/login` and `/logout`: a token becomes a session. Both work without JavaScript.

use std::time::Instant;

use askama::Template;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::plain::is_own_path;
use super::{App, Failure, Frame, html_with};
use crate::access::{self, Caller, is_same_origin, read_form, source_of};

#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    frame: Frame,
    next: String,
    wrong: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    next: String,
}

/// The form.
pub(crate) async fn form(frame: Frame, Query(wanted): Query<Wanted>) -> Response {
    shown(StatusCode::OK, frame, own(&wanted.next), false)
}

/// Takes a token, and gives a session for it. The session that a browser may have had before ends.
pub(crate) async fn log_in(State(app): State<App>, frame: Frame, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    if !is_same_origin(headers) {
        return Failure::Forged.into_page(&frame);
    }
    let source = source_of(&parts.extensions);
    let fields = match read_form(&app, body).await {
        Ok(fields) => fields,
        Err(failure) => return failure.into_page(&frame),
    };
    let field = |wanted: &str| {
        let found = fields.iter().find(|(name, _)| name == wanted);
        found.map_or("", |(_, value)| value.trim())
    };
    let next = own(field("next"));
    let token = match app.tokens.find(field("token")) {
        Ok(Some(token)) => token,
        // A right one counts, however many wrong ones a stranger sent from the same address.
        Ok(None) => {
            let now = Instant::now();
            let wait = app.tries.wait(source, now);
            app.tries.note(source, now);
            if let Some(wait) = wait {
                return Failure::TooOften(wait).into_page(&frame);
            }
            return shown(StatusCode::FORBIDDEN, frame, next, true);
        }
        Err(error) => return Failure::Data(error).into_page(&frame),
    };
    end_session(&app, headers);
    let caller = Caller {
        name: token.name.clone(),
        id: token.id.clone(),
        role: token.role,
        csrf: None,
    };
    app.audit.note(
        &caller,
        source,
        &parts.method,
        "/login",
        StatusCode::SEE_OTHER,
    );
    let cookie = access::set_cookie(headers, &app.sessions.begin(&token.id));
    sent_on(next, cookie)
}

/// Ends the session, here and wherever its cookie may be.
pub(crate) async fn log_out(State(app): State<App>, headers: HeaderMap) -> Response {
    end_session(&app, &headers);
    sent_on("/".to_owned(), access::forgotten(&headers))
}

fn end_session(app: &App, headers: &HeaderMap) {
    if let Some(value) = access::cookie(headers) {
        app.sessions.end(value);
    }
}

fn sent_on(to: String, cookie: axum::http::HeaderValue) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    let headers = response.headers_mut();
    headers.append(header::SET_COOKIE, cookie);
    headers.insert(
        header::CACHE_CONTROL,
        axum::http::HeaderValue::from_static("no-store"),
    );
    response
}

/// A page of ours to go on to.
fn own(next: &str) -> String {
    let is_good = is_own_path(next) && !next.starts_with("/login");
    if is_good { next } else { "/" }.to_owned()
}

fn shown(status: StatusCode, frame: Frame, next: String, wrong: bool) -> Response {
    let page = Login { frame, next, wrong };
    let made = html_with(status, &page);
    made.unwrap_or_else(|failure| failure.into_page(&page.frame))
}
