//! The parameters of an address, or an answer that says what is wrong with them.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use super::{Failure, Frame};

/// What an address asks for. One that cannot be read, such as one that says something twice, is answered
/// in words, like everything else.
#[derive(Debug)]
pub(crate) struct Asking<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Asking<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(_) => {
                let Ok(frame) = Frame::from_request_parts(parts, state).await;
                Err(Failure::Unreadable.into_answer(&frame))
            }
        }
    }
}
