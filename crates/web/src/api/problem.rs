//! What went wrong, as programs read it: RFC 9457, with a stable `code` for each kind.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::WebError;
use crate::desk::{DeskError, SettingError};
use crate::pages::whole_seconds;

/// An answer that cannot be given, or a change that is not made.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    /// The settings that are wrong, one by one.
    errors: Vec<SettingError>,
    after: Option<Duration>,
}

impl Problem {
    /// Of a kind, which never changes its name, and told in a sentence, which may.
    pub(crate) fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            detail: detail.into(),
            errors: Vec::new(),
            after: None,
        }
    }

    /// To be tried again then.
    #[must_use]
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.after = Some(wait);
        self
    }

    /// Whether it may be over in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// A request that cannot be understood.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(400, "bad-request", detail)
    }

    /// Something of ours broke; the log says what.
    pub(crate) fn broken() -> Self {
        Self::new(
            500,
            "failed",
            "something went wrong here; the server's log says what",
        )
    }

    /// Too much is under way.
    pub(crate) fn busy() -> Self {
        let sentence = "too much is under way; try again in a moment";
        Self::new(503, "busy", sentence).after(Duration::from_secs(2))
    }
}

impl From<DeskError> for Problem {
    fn from(error: DeskError) -> Self {
        let detail = error.to_string();
        match error {
            DeskError::Missing(_) => Self::new(404, "not-found", detail),
            DeskError::Wrong(_) => Self::new(422, "wrong-settings", detail),
            DeskError::Settings { wrong, .. } => Self {
                errors: wrong.iter().map(Into::into).collect(),
                ..Self::new(422, "wrong-settings", detail)
            },
            DeskError::Conflict(_) => Self::new(409, "conflict", detail),
            DeskError::Busy(_) | DeskError::Catalog => {
                Self::new(503, "busy", detail).after(Duration::from_secs(2))
            }
            DeskError::Failed(cause) => {
                tracing::warn!(error = %cause, cause = ?std::error::Error::source(&cause).map(ToString::to_string), "a request failed");
                Self::broken()
            }
        }
    }
}

impl From<WebError> for Problem {
    fn from(error: WebError) -> Self {
        match error {
            WebError::TokenName => Self::new(422, "wrong-settings", error.to_string()),
            WebError::ManyTokens { .. } => Self::new(409, "conflict", error.to_string()),
            error => {
                tracing::warn!(%error, cause = ?std::error::Error::source(&error).map(ToString::to_string), "a request failed");
                Self::broken()
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = json!({
            "type": format!("urn:teia:problem:{}", self.code),
            "title": self.status.canonical_reason().unwrap_or("Problem"),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "code": self.code,
        });
        if !self.errors.is_empty() {
            body["errors"] = json!(self.errors);
        }
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.status, kind, body.to_string()).into_response();
        let headers = response.headers_mut();
        if let Some(wait) = self.after {
            let seconds = HeaderValue::from(whole_seconds(wait).max(1));
            headers.insert(header::RETRY_AFTER, seconds);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"teia\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
