//! The doors: which role a route asks for, and that a change was meant by the one whose cookie came with it.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;

use super::caller::{Caller, Identity};
use super::replays::{Answer, Key, MOST_BYTES, Met};
use super::tokens::Role;
use crate::address::escape;
use crate::api::Problem;
use crate::guard::has_key;
use crate::pages::{App, Failure, Frame};

/// The header in which scripts send the CSRF token of their session.
const CSRF_HEADER: &str = "x-csrf-token";
/// The field in which forms do.
const CSRF_FIELD: &str = "csrf";

/// How a refusal is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// As a page; whoever is not logged in is sent to log in.
    Page,
    /// As a problem in JSON.
    Problem,
}

#[derive(Clone, Debug)]
struct Door {
    app: App,
    role: Role,
    told: Told,
}

/// Routes of programs that ask for a role.
pub(crate) fn for_programs(app: &App, role: Role, routes: MethodRouter<App>) -> MethodRouter<App> {
    let door = Door {
        app: app.clone(),
        role,
        told: Told::Problem,
    };
    routes.route_layer(from_fn_with_state(door, enter))
}

/// Pages that ask for a role.
pub(crate) fn for_people(app: &App, role: Role, routes: MethodRouter<App>) -> MethodRouter<App> {
    let door = Door {
        app: app.clone(),
        role,
        told: Told::Page,
    };
    routes.route_layer(from_fn_with_state(door, enter))
}

/// What everybody may read, unless this server is closed: then a viewer may.
pub(crate) async fn open_to(State(app): State<App>, request: Request, next: Next) -> Response {
    // Parts of a copy are asked for without cookies; who knows their address was shown the copy.
    let path = request.uri().path();
    let is_metrics = path == "/metrics";
    let is_public = app.config.public_search && (app.config.public_metrics || !is_metrics);
    if is_public || has_key(path, &app.key) {
        return next.run(request).await;
    }
    let told = if path.starts_with("/api/") || is_metrics {
        Told::Problem
    } else {
        Told::Page
    };
    let door = Door {
        app,
        role: Role::Viewer,
        told,
    };
    enter(State(door), request, next).await
}

async fn enter(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let frame = Frame::of(&request);
    let identity = request.extensions().get::<Identity>();
    let identity = identity.cloned().unwrap_or_default();
    let caller = match admitted(identity, door.role) {
        Ok(caller) => caller,
        Err(refusal) => return refusal.told(door.told, &frame),
    };
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
    request.extensions_mut().insert(caller.clone());
    if !is_change {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let limit = door.app.config.max_body_bytes;
    let body = match whole(body, limit, door.app.config.body_timeout).await {
        Ok(body) => body,
        Err(refusal) => return refusal.told(door.told, &frame),
    };
    if let Some(expected) = &caller.csrf
        && !(is_same_origin(&parts.headers) && carries(&parts.headers, &body, expected))
    {
        return Refusal::Forged.told(door.told, &frame);
    }
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let from = super::caller::source_of(&parts.extensions);
    let key = (method == Method::POST)
        .then(|| Key::of(&caller.id, &path, &parts.headers))
        .flatten();
    if let Some(key) = &key {
        match door.app.replays.meet(key, &body) {
            Met::New => {}
            Met::Before(answer) => {
                return (answer.status, answer.headers, answer.body).into_response();
            }
            Met::UnderWay => return Refusal::UnderWay.told(door.told, &frame),
            Met::Different => return Refusal::OtherKey.told(door.told, &frame),
        }
    }
    let request = Request::from_parts(parts, Body::from(body));
    let app = door.app.clone();
    let answering = async move {
        let response = next.run(request).await;
        app.audit
            .note(&caller, from, &method, &path, response.status());
        match key {
            Some(key) => kept(&app, &key, response).await,
            None => response,
        }
    };
    // A change is finished and written down also where the one who asked has gone meanwhile.
    let answered = tokio::spawn(answering).await;
    answered.unwrap_or_else(|error| {
        tracing::error!(%error, "a change could not be answered");
        Problem::broken().into_response()
    })
}

/// The answer, kept for whoever asks the same again.
async fn kept(app: &App, key: &Key, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, MOST_BYTES).await else {
        app.replays.forget(key);
        return Problem::broken().into_response();
    };
    let answer = Answer {
        status: parts.status,
        headers: parts.headers.clone(),
        body: body.clone(),
    };
    app.replays.keep(key, answer);
    Response::from_parts(parts, Body::from(body))
}

fn admitted(identity: Identity, role: Role) -> Result<Caller, Refusal> {
    match identity {
        Identity::Known(caller) if caller.role >= role => Ok(caller),
        Identity::Known(caller) => Err(Refusal::Role {
            has: caller.role,
            needs: role,
        }),
        Identity::Nobody => Err(Refusal::Nobody),
        Identity::Wrong => Err(Refusal::WrongToken),
        Identity::TooOften(wait) => Err(Refusal::TooOften(wait)),
        Identity::Unreadable => Err(Refusal::Unreadable),
    }
}

/// Why a door stays shut.
#[derive(Debug)]
enum Refusal {
    Nobody,
    WrongToken,
    TooOften(Duration),
    Role { has: Role, needs: Role },
    Forged,
    TooLarge(usize),
    TooSlow,
    UnderWay,
    OtherKey,
    Unreadable,
}

impl Refusal {
    fn told(self, told: Told, frame: &Frame) -> Response {
        if told == Told::Problem {
            return self.into_problem().into_response();
        }
        match self {
            Self::Nobody => {
                let to = format!("/login?next={}", escape(&frame.here));
                let seen = axum::http::StatusCode::SEE_OTHER;
                (seen, [(header::LOCATION, to)]).into_response()
            }
            Self::WrongToken => Failure::WrongToken.into_page(frame),
            Self::TooOften(wait) => Failure::TooOften(wait).into_page(frame),
            Self::Role { needs, .. } => Failure::NeedsRole(needs).into_page(frame),
            Self::Forged => Failure::Forged.into_page(frame),
            Self::TooLarge(most) => Failure::TooLarge(most).into_page(frame),
            Self::TooSlow => Failure::TooSlow.into_page(frame),
            Self::UnderWay | Self::OtherKey => Failure::Busy.into_page(frame),
            Self::Unreadable => Failure::Broken.into_page(frame),
        }
    }

    fn into_problem(self) -> Problem {
        match self {
            Self::Nobody => Problem::new(
                401,
                "no-token",
                "this needs a token; send `Authorization: Bearer teia_…`, or log in at /login",
            ),
            Self::WrongToken => Problem::new(
                401,
                "wrong-token",
                "the token is not known here, or its time is over",
            ),
            Self::TooOften(wait) => Problem::new(
                429,
                "too-many-wrong-tokens",
                "too many wrong tokens came from this address; wait before the next",
            )
            .after(wait),
            Self::Role { has, needs } => Problem::new(
                403,
                "role",
                format!(
                    "this needs a token with the role `{}`, and yours is `{}`",
                    needs.name(),
                    has.name()
                ),
            ),
            Self::Forged => Problem::new(
                403,
                "csrf",
                "a change by a logged-in browser must come from a page of this server and carry its token in X-CSRF-Token; programs send a bearer token instead of a cookie",
            ),
            Self::TooLarge(most) => Problem::new(
                413,
                "too-large",
                format!("the body of a request has at most {most} bytes"),
            ),
            Self::TooSlow => Problem::new(408, "too-slow", "the body did not come in time"),
            Self::UnderWay => Problem::new(
                409,
                "under-way",
                "the same request, with the same Idempotency-Key, is being answered",
            ),
            Self::OtherKey => Problem::new(
                409,
                "other-request",
                "this Idempotency-Key came with another request before; send a new one",
            ),
            Self::Unreadable => Problem::new(
                503,
                "tokens",
                "the tokens of this server cannot be read; its log says why",
            ),
        }
    }
}

/// The whole body of a request, within bounds of size and time.
async fn whole(body: Body, most: usize, within: Duration) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(within, to_bytes(body, most)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => Err(Refusal::TooLarge(most)),
        Err(_) => Err(Refusal::TooSlow),
    }
}

/// The body of a request that needs no role, within the same bounds.
pub(crate) async fn read_form(app: &App, body: Body) -> Result<Vec<(String, String)>, Failure> {
    let limit = app.config.max_body_bytes.min(64 << 10);
    match whole(body, limit, app.config.body_timeout).await {
        Ok(body) => Ok(url::form_urlencoded::parse(&body).into_owned().collect()),
        Err(Refusal::TooSlow) => Err(Failure::TooSlow),
        Err(_) => Err(Failure::TooLarge(limit)),
    }
}

/// Whether a browser sent this from a page of ours, as far as it says. Programs say nothing.
pub(crate) fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: header::HeaderName| {
        let value = headers.get(name);
        value.map(|value| value.to_str().unwrap_or("?"))
    };
    let site = headers.get("sec-fetch-site");
    let site = site.map(|value| value.to_str().unwrap_or("?"));
    if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return false;
    }
    let Some(origin) = text(header::ORIGIN) else {
        return true;
    };
    let host = text(header::HOST).unwrap_or("");
    let named = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"));
    named.is_some_and(|named| named.eq_ignore_ascii_case(host))
}

/// Whether the session's CSRF token came along, in the header or in the form.
fn carries(headers: &HeaderMap, body: &Bytes, expected: &str) -> bool {
    if let Some(value) = headers.get(CSRF_HEADER) {
        return equal(value.as_bytes(), expected.as_bytes());
    }
    let kind = headers.get(header::CONTENT_TYPE);
    let is_form = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    is_form
        && url::form_urlencoded::parse(body)
            .find(|(name, _)| name == CSRF_FIELD)
            .is_some_and(|(_, value)| equal(value.as_bytes(), expected.as_bytes()))
}

/// Compares all bytes, however early they differ.
fn equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_our_own_pages_are_our_own_origin() {
        let host = ("host", "teia.example:7070");
        for good in [
            vec![host],
            vec![host, ("origin", "http://teia.example:7070")],
            vec![host, ("origin", "https://TEIA.example:7070")],
            vec![host, ("sec-fetch-site", "same-origin")],
            vec![host, ("sec-fetch-site", "none")],
        ] {
            assert!(is_same_origin(&headers(&good)), "{good:?}");
        }
        for bad in [
            vec![host, ("origin", "http://evil.example")],
            vec![host, ("origin", "http://teia.example:7071")],
            vec![host, ("origin", "http://teia.example:7070.evil.example")],
            vec![host, ("origin", "null")],
            vec![host, ("origin", "")],
            vec![host, ("sec-fetch-site", "same-site")],
            vec![host, ("sec-fetch-site", "cross-site")],
            vec![
                host,
                ("sec-fetch-site", "cross-site"),
                ("origin", "http://teia.example:7070"),
            ],
        ] {
            assert!(!is_same_origin(&headers(&bad)), "{bad:?}");
        }
    }

    #[test]
    fn a_token_is_in_the_header_or_in_the_form() {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let body = Bytes::from_static(b"a=1&csrf=secret&b=2");
        let none = Bytes::new();
        assert!(carries(&headers(&[form]), &body, "secret"));
        assert!(carries(
            &headers(&[("x-csrf-token", "secret")]),
            &none,
            "secret"
        ));
        for (pairs, body) in [
            (vec![form], &none),
            (vec![("content-type", "text/plain")], &body),
            (vec![("x-csrf-token", "secre")], &body),
            (vec![("x-csrf-token", "wrong"), form], &body),
            (vec![("x-csrf-token", "")], &none),
        ] {
            assert!(!carries(&headers(&pairs), body, "secret"), "{pairs:?}");
        }
    }
}
