//! A collection as it is, moment by moment: server-sent events, for a bounded number of listeners.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::time::{Instant, sleep_until};

use super::asked::{Asked, Steps};
use super::problem::Problem;
use crate::access::is_same_origin;
use crate::pages::App;

/// Where nothing has changed for so long, a line says that we are still there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A stream ends after this long, and browsers ask again: who lost their right to listen is then refused.
const LONGEST: Duration = Duration::from_secs(600);

/// Listens to a collection. A listener that takes nothing is left by the connection's own patience.
pub(crate) async fn live(
    State(app): State<App>,
    Steps(name): Steps<String>,
    headers: HeaderMap,
    asked: Asked,
) -> Result<Response, Problem> {
    asked.end()?;
    if !is_same_origin(&headers) {
        let sentence = "a live stream is for pages of this server";
        return Err(Problem::new(403, "csrf", sentence));
    }
    let Ok(place) = app.listeners.clone().try_acquire_owned() else {
        let sentence = "too many listen already; try again in a while";
        return Err(Problem::new(503, "busy", sentence).after(Duration::from_secs(10)));
    };
    let first = moment(&app, &name).await?;
    let now = Instant::now();
    let listener = Listener {
        last: String::new(),
        next: now,
        heard: now,
        until: now + LONGEST,
        first: Some(first),
        name,
        app,
        _place: place,
    };
    let body = Body::from_stream(stream::unfold(listener, Listener::step));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, body).into_response())
}

struct Listener {
    app: App,
    name: String,
    first: Option<String>,
    /// What was told last, without its moment.
    last: String,
    next: Instant,
    heard: Instant,
    until: Instant,
    _place: tokio::sync::OwnedSemaphorePermit,
}

impl Listener {
    async fn step(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            let mut ended = self.app.ended.clone();
            tokio::select! {
                () = sleep_until(self.next) => {}
                _ = ended.wait_for(|ended| *ended) => return None,
            }
            if Instant::now() >= self.until {
                return None;
            }
            self.next = Instant::now() + self.app.config.live_every;
            let text = match self.first.take() {
                Some(text) => text,
                None => match moment(&self.app, &self.name).await {
                    Ok(text) => text,
                    // Busy for a moment; or the collection is gone, and with it the stream.
                    Err(problem) if problem.is_passing() => continue,
                    Err(_) => return None,
                },
            };
            let said = without_moment(&text);
            if said != self.last {
                self.last = said;
                self.heard = Instant::now();
                let event = format!("event: live\ndata: {text}\n\n");
                return Some((Ok(event.into()), self));
            }
            if self.heard.elapsed() >= HEARTBEAT {
                self.heard = Instant::now();
                return Some((Ok(Bytes::from_static(b": still there\n\n")), self));
            }
        }
    }
}

/// This moment, on one line.
async fn moment(app: &App, name: &str) -> Result<String, Problem> {
    let name = name.to_owned();
    app.work(move |app| {
        let live = app.desk.live(&name)?;
        serde_json::to_string(&live).map_err(|_| Problem::broken())
    })
    .await
}

/// `{"at":"…",` is told, and is no news.
fn without_moment(text: &str) -> String {
    let rest = text.split_once("\",").map(|(_, rest)| rest);
    rest.unwrap_or(text).to_owned()
}
