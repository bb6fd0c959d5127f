//! What a request says, parsed once and bounded: the query, the path, and the body.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use crate::desk::Window;

/// Items of a page where nobody says how many.
const USUAL: u64 = 50;
/// Items of a page at most.
pub(crate) const MOST: u64 = 500;
/// Items that can be paged through.
pub(crate) const FARTHEST: u64 = 1_000_000;

/// The parameters of a query, each at most once.
#[derive(Debug)]
pub(crate) struct Asked(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or("");
        let mut known = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()).into_owned() {
            if known.insert(name.clone(), value).is_some() {
                return Err(Problem::bad_request(format!("`{name}` is said twice")));
            }
        }
        Ok(Self(known))
    }
}

impl Asked {
    /// A parameter; an empty one is none.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).filter(|text| !text.is_empty())
    }

    /// `offset` and `limit`.
    pub(crate) fn window(&mut self) -> Result<Window, Problem> {
        let offset = self.number("offset", 0, 0, FARTHEST)?;
        let limit = self.number("limit", USUAL, 1, MOST)?;
        Ok(Window { offset, limit })
    }

    fn number(&mut self, name: &str, usual: u64, least: u64, most: u64) -> Result<u64, Problem> {
        let Some(text) = self.0.remove(name) else {
            return Ok(usual);
        };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_number {
            text.parse::<u64>().ok()
        } else {
            None
        };
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            Problem::bad_request(format!("`{name}` is a number from {least} to {most}"))
        })
    }

    /// Nothing else was said: what nobody knows is refused, so that a slip is noticed.
    pub(crate) fn end(self) -> Result<(), Problem> {
        match self.0.into_keys().next() {
            Some(name) => Err(Problem::bad_request(format!(
                "there is no parameter `{name}` here"
            ))),
            None => Ok(()),
        }
    }
}

/// A query without parameters.
#[derive(Debug)]
pub(crate) struct Nothing;

impl<S: Send + Sync> FromRequestParts<S> for Nothing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Asked::from_request_parts(parts, state).await?.end()?;
        Ok(Self)
    }
}

/// A query that says which part of a list, and nothing else.
#[derive(Debug)]
pub(crate) struct Part(pub(crate) Window);

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut asked = Asked::from_request_parts(parts, state).await?;
        let window = asked.window()?;
        asked.end()?;
        Ok(Self(window))
    }
}

/// Steps of the path.
#[derive(Debug)]
pub(crate) struct Steps<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Steps<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(steps)| Self(steps))
            .map_err(|_| Problem::new(404, "not-found", "there is nothing at this address"))
    }
}

/// A body in JSON. Unknown fields, fields said twice, and nests without end are refused by its reader.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
        let essence = kind.split(';').next().unwrap_or("").trim();
        let is_json = essence.eq_ignore_ascii_case("application/json");
        let is_packed = request.headers().contains_key(header::CONTENT_ENCODING);
        if !is_json || is_packed {
            let sentence = "send the body as `Content-Type: application/json`, not compressed";
            return Err(Problem::new(415, "media-type", sentence));
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| Problem::bad_request("the body cannot be read"))?;
        let value = serde_json::from_slice(&body);
        value.map(Self).map_err(|error| {
            Problem::bad_request(format!("the body is not as it should be: {error}"))
        })
    }
}

/// An answer in JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<Response, Problem> {
    json_with(StatusCode::OK, value)
}

/// The same with another status.
pub(crate) fn json_with<T: Serialize>(status: StatusCode, value: &T) -> Result<Response, Problem> {
    let text = serde_json::to_string(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written");
        Problem::broken()
    })?;
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((status, headers, text).into_response())
}
