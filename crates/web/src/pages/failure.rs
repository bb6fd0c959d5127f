//! Why there is no answer, told to a person.

use std::time::Duration;

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{Frame, html_with};
use crate::WebError;
use crate::access::Role;
use crate::desk::DeskError;

/// An answer that cannot be given.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Too much is under way.
    Busy,
    /// The request asks for what is not given: a key of the words, and the bound.
    Refused(&'static str, usize),
    /// The parameters of the address cannot be read.
    Unreadable,
    /// A parameter that is to be a number is none.
    NoNumber(&'static str),
    /// Nothing is there: keys of heading and sentence.
    Missing(&'static str, &'static str),
    /// What was asked for is there, and may not be shown.
    Private,
    /// The copy is there and cannot be read.
    Damaged,
    /// A token that does not count.
    WrongToken,
    /// The same, once too often.
    TooOften(Duration),
    /// Another role is needed.
    NeedsRole(Role),
    /// A change that did not come from a page of ours.
    Forged,
    /// A body of more bytes than this.
    TooLarge(usize),
    /// A body that did not come in time.
    TooSlow,
    /// The desk says no.
    Desk(DeskError),
    /// Reading failed.
    Data(WebError),
    /// Something of ours broke.
    Broken,
}

impl<E: Into<WebError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Data(error.into())
    }
}

impl From<DeskError> for Failure {
    fn from(error: DeskError) -> Self {
        Self::Desk(error)
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: &'a Frame,
    heading: &'a str,
    sentence: String,
    back: String,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Refused(..) | Self::NoNumber(_) | Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::Missing(..) => StatusCode::NOT_FOUND,
            Self::Private | Self::NeedsRole(_) | Self::Forged => StatusCode::FORBIDDEN,
            Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::TooOften(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Desk(error) => match error {
                DeskError::Missing(_) => StatusCode::NOT_FOUND,
                DeskError::Wrong(_) | DeskError::Settings { .. } => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                DeskError::Conflict(_) => StatusCode::CONFLICT,
                DeskError::Busy(_) | DeskError::Catalog => StatusCode::SERVICE_UNAVAILABLE,
                DeskError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Damaged => StatusCode::BAD_GATEWAY,
            Self::Data(_) | Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn heading_and_sentence<'a>(&self, frame: &'a Frame) -> (&'a str, String) {
        let w = frame.w;
        let usual = w.t("error.title");
        match self {
            Self::Busy => (usual, w.t("error.busy").to_owned()),
            Self::Refused(key, bound) => (usual, w.f(key, w.number(*bound))),
            Self::Unreadable => (usual, w.t("error.unreadable").to_owned()),
            Self::NoNumber(name) => (usual, w.f("error.number", name)),
            Self::Missing(heading, sentence) => (w.t(heading), w.t(sentence).to_owned()),
            Self::Private => (w.t("archive.none"), w.t("archive.private").to_owned()),
            Self::Damaged => (w.t("archive.damaged"), w.t("archive.damaged.do").to_owned()),
            Self::WrongToken => (w.t("forbidden.title"), w.t("forbidden.token").to_owned()),
            Self::NeedsRole(role) => {
                let role = match role {
                    Role::Viewer => w.t("role.viewer"),
                    Role::Operator => w.t("role.operator"),
                    Role::Admin => w.t("role.admin"),
                };
                (w.t("forbidden.title"), w.f("forbidden.role", role))
            }
            Self::Forged => (w.t("forbidden.title"), w.t("forbidden.forged").to_owned()),
            Self::TooOften(wait) => (usual, w.f("error.often", whole_seconds(*wait))),
            Self::TooLarge(most) => (usual, w.f("error.large", w.number(*most))),
            Self::TooSlow => (usual, w.t("error.slow").to_owned()),
            Self::Desk(DeskError::Catalog) => (usual, w.t("catalog.away").to_owned()),
            Self::Desk(DeskError::Failed(_)) | Self::Data(_) | Self::Broken => {
                (usual, w.t("error.failed").to_owned())
            }
            Self::Desk(error) => (usual, w.sentence(&error.to_string())),
        }
    }

    /// A page for people, and JSON for programs.
    pub(crate) fn into_answer(self, frame: &Frame) -> Response {
        if frame.is_at("/api") {
            self.into_json(frame)
        } else {
            self.into_page(frame)
        }
    }

    /// The page that says so.
    pub(crate) fn into_page(self, frame: &Frame) -> Response {
        self.log();
        let (heading, sentence) = self.heading_and_sentence(frame);
        let back = if frame.query.is_empty() || frame.query.len() > 2048 {
            "/".to_owned()
        } else {
            format!("/search?q={}", crate::address::escape(&frame.query))
        };
        let mut shown = frame.clone();
        shown.query.truncate(shown.query.floor_char_boundary(2048));
        let page = ErrorPage {
            frame: &shown,
            heading,
            sentence,
            back,
        };
        let made = html_with(self.status(), &page);
        let mut response = made.unwrap_or_else(|_| self.status().into_response());
        self.tell_when(&mut response);
        response
    }

    /// The same for a program.
    pub(crate) fn into_json(self, frame: &Frame) -> Response {
        self.log();
        let (_, sentence) = self.heading_and_sentence(frame);
        let body = serde_json::json!({ "error": sentence }).to_string();
        let headers = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status(), headers, body).into_response();
        self.tell_when(&mut response);
        response
    }

    fn tell_when(&self, response: &mut Response) {
        let seconds = match self {
            Self::Busy => 2,
            Self::TooOften(wait) => whole_seconds(*wait),
            _ => return,
        };
        let seconds = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }

    fn log(&self) {
        if let Self::Desk(DeskError::Failed(error)) = self {
            tracing::warn!(%error, "a page could not be shown");
        }
        if let Self::Data(error) = self {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(%error, cause = ?cause, "a page could not be shown");
        }
    }
}

/// Until a moment is surely over.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
