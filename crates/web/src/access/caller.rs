//! Who asks: found out once for each request, before anything else looks at it.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, header};

use super::sessions::cookie;
use super::tokens::Role;
use crate::pages::App;

/// The other end of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Somebody whom we know.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// What the token is called.
    pub(crate) name: String,
    /// The token's id.
    pub(crate) id: String,
    /// What they may do.
    pub(crate) role: Role,
    /// Where a session was recognised by its cookie: what its changes must carry.
    pub(crate) csrf: Option<String>,
}

/// What a request says of the one who sent it.
#[derive(Clone, Debug, Default)]
pub(crate) enum Identity {
    /// Nothing.
    #[default]
    Nobody,
    /// A token that does not count.
    Wrong,
    /// The same, once too often: how long to wait.
    TooOften(Duration),
    /// Somebody.
    Known(Caller),
    /// The tokens cannot be read.
    Unreadable,
}

impl Identity {
    /// The one who asks, if we know them.
    pub(crate) fn caller(&self) -> Option<&Caller> {
        match self {
            Self::Known(caller) => Some(caller),
            _ => None,
        }
    }
}

/// Finds out who asks.
pub(crate) fn identify(app: &App, request: &Request) -> Identity {
    let headers = request.headers();
    if let Some(secret) = bearer(headers) {
        return by_token(app, secret, source_of(request.extensions()));
    }
    let Some(session) = cookie(headers).and_then(|value| app.sessions.find(value)) else {
        return Identity::Nobody;
    };
    match app.tokens.with_id(&session.token) {
        Ok(Some(token)) => Identity::Known(Caller {
            name: token.name,
            id: token.id,
            role: token.role,
            csrf: Some(session.csrf),
        }),
        // The token behind it is gone, and so is the session.
        Ok(None) => Identity::Nobody,
        Err(error) => {
            tracing::error!(%error, "tokens cannot be read");
            Identity::Unreadable
        }
    }
}

/// By a token. A right one always counts: guessing 256 bits is hopeless at any speed, and whoever shares an
/// address (a proxy's) with somebody who guesses is not to suffer from it.
fn by_token(app: &App, secret: &str, source: IpAddr) -> Identity {
    match app.tokens.find(secret) {
        Ok(Some(token)) => Identity::Known(Caller {
            name: token.name,
            id: token.id,
            role: token.role,
            csrf: None,
        }),
        Ok(None) => {
            let now = Instant::now();
            let wait = app.tries.wait(source, now);
            app.tries.note(source, now);
            wait.map_or(Identity::Wrong, Identity::TooOften)
        }
        Err(error) => {
            tracing::error!(%error, "tokens cannot be read");
            Identity::Unreadable
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    let text = value.to_str().unwrap_or("");
    let (scheme, secret) = text.split_once(' ').unwrap_or((text, ""));
    // Another scheme is a token that does not count.
    let secret = if scheme.eq_ignore_ascii_case("bearer") {
        secret.trim()
    } else {
        ""
    };
    Some(secret)
}

/// The address from which a request came.
pub(crate) fn source_of(extensions: &Extensions) -> IpAddr {
    let peer = extensions.get::<Peer>();
    peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip())
}
