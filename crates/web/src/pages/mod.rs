//! The pages: what each address answers.
//!
//! ```text
//! /  /search  /help  /set          search.rs, plain.rs
//! /page                            page.rs, panels.rs
//! /archive  /timemap  /timegate    archive.rs
//! /login  /logout                  login.rs
//! /collections  /hosts  /bot  …    manage/
//! /api/search  /api/suggest        api.rs; all else below /api is in crate::api
//! ```
//!
//! Each look-up takes one of a few places and leaves the async threads; who finds none in time is asked
//! to come back.

mod api_search;
mod archive;
mod asking;
mod failure;
mod frame;
mod hits;
mod login;
mod manage;
mod narrowing;
mod page;
mod panels;
mod plain;
mod search;
mod suggest;

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub(crate) use asking::Asking;
pub(crate) use failure::{Failure, whole_seconds};
pub(crate) use frame::Frame;
pub(crate) use manage::{PARQUET, host_links};
pub(crate) use page::spellings;
pub(crate) use panels::text_of;

use crate::access::{Audit, Replays, Role, Sessions, Tokens, Tries, for_people, open_to};
use crate::desk::{Desk, Inside};
use crate::guard::guard;
use crate::server::Site;
use crate::{Library, WebConfig, WebError, api};

/// What every page stands on.
#[derive(Clone, Debug)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) library: Library,
    pub(crate) config: WebConfig,
    pub(crate) address: SocketAddr,
    /// In the addresses of parts of copies; nobody else can know it.
    pub(crate) key: String,
    pub(crate) tokens: Tokens,
    pub(crate) sessions: Sessions,
    pub(crate) tries: Tries,
    pub(crate) audit: Audit,
    pub(crate) replays: Replays,
    /// Everything that can be managed.
    pub(crate) desk: Arc<Desk>,
    /// Places of those who listen to live streams.
    pub(crate) listeners: Arc<Semaphore>,
    /// What was answered.
    pub(crate) traffic: api::Traffic,
    /// Becomes true when the server ends.
    pub(crate) ended: watch::Receiver<bool>,
    lookups: Arc<Semaphore>,
    journal_readers: Arc<Semaphore>,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub(crate) fn new(site: Site, address: SocketAddr, ended: watch::Receiver<bool>) -> Self {
        let Site {
            library,
            config,
            runs,
        } = site;
        let root = library.root();
        let inside = if config.allow_private {
            Inside::OfAdmins
        } else {
            Inside::OfTheMachine
        };
        Self(Arc::new(Inner {
            tokens: Tokens::of(root),
            sessions: Sessions::default(),
            tries: Tries::new(config.wrong_tokens),
            audit: Audit::of(root),
            replays: Replays::default(),
            traffic: api::Traffic::default(),
            desk: Arc::new(Desk::new(root, runs, inside)),
            listeners: Arc::new(Semaphore::new(config.listeners)),
            lookups: Arc::new(Semaphore::new(config.lookups)),
            journal_readers: Arc::new(Semaphore::new(config.journal_readers)),
            ended,
            library,
            config,
            address,
            key: format!("{:016x}", rand::random::<u64>()),
        }))
    }

    /// One of the few places for work; nothing where none is free in time.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.turn_among(&self.lookups).await
    }

    async fn turn_among(&self, places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        let turn = Arc::clone(places).acquire_owned();
        let turn = tokio::time::timeout(self.config.patience, turn).await;
        turn.ok()?.ok()
    }

    /// Does the work of one answer off the async threads, when its turn comes.
    pub(crate) async fn look_up(
        &self,
        frame: Frame,
        work: impl FnOnce(&Self, Frame) -> Result<Response, Failure> + Send + 'static,
    ) -> Response {
        let turn = self.turn().await;
        self.do_in(turn, frame, work).await
    }

    /// The same for work that may read a whole journal: it has places of its own, so that searches do not
    /// wait for it.
    pub(crate) async fn read_journal(
        &self,
        frame: Frame,
        work: impl FnOnce(&Self, Frame) -> Result<Response, Failure> + Send + 'static,
    ) -> Response {
        let turn = self.turn_among(&self.journal_readers).await;
        self.do_in(turn, frame, work).await
    }

    async fn do_in(
        &self,
        turn: Option<OwnedSemaphorePermit>,
        frame: Frame,
        work: impl FnOnce(&Self, Frame) -> Result<Response, Failure> + Send + 'static,
    ) -> Response {
        let Some(turn) = turn else {
            return Failure::Busy.into_answer(&frame);
        };
        let (app, asked) = (self.clone(), frame.clone());
        let done = tokio::task::spawn_blocking(move || {
            give_way();
            let response = work(&app, asked);
            drop(turn);
            response
        });
        match done.await {
            Ok(Ok(response)) => response,
            Ok(Err(failure)) => failure.into_answer(&frame),
            Err(error) => {
                tracing::error!(%error, "a page could not be made");
                Failure::Broken.into_answer(&frame)
            }
        }
    }
}

/// Lets a crawl on the same machine go first: a look-up on this thread gets the processor where nobody
/// else wants it, and a small share where somebody does.
pub(crate) fn give_way() {
    thread_local!(static HAS_GIVEN_WAY: Cell<bool> = const { Cell::new(false) });
    if !HAS_GIVEN_WAY.replace(true) {
        // On Linux this is of the thread alone. Who may not is as quick as before.
        let _ = rustix::process::setpriority_process(None, LOOK_UP_PRIORITY);
    }
}

/// Of -20 to 19, 0 is usual, and higher is less.
const LOOK_UP_PRIORITY: i32 = 10;

/// Every address that is answered.
pub(crate) fn router(app: App) -> Router {
    // Open to all, unless this server is closed.
    let reading = Router::new()
        .route("/", get(plain::home))
        .route("/help", get(plain::help))
        .route("/opensearch.xml", get(plain::opensearch))
        .route("/search", get(search::search))
        .route("/page", get(page::page))
        .route("/api/search", get(api_search::search))
        .route("/api/search.csv", get(api_search::csv))
        .route("/api/suggest", get(suggest::suggest))
        .route("/archive/{*rest}", get(archive::archive))
        .route("/timemap/{*rest}", get(archive::timemap))
        .route("/timegate/{*rest}", get(archive::timegate))
        .route("/metrics", get(api::metrics))
        .route_layer(middleware::from_fn_with_state(app.clone(), open_to));
    // What a browser needs to log in, and a machine to know whether we are there.
    let always = Router::new()
        .route("/set", get(plain::set))
        .route("/bot", get(manage::bot::bot))
        .route("/robots.txt", get(plain::robots))
        .route("/static/{name}", get(plain::asset))
        .route("/login", get(login::form).post(login::log_in))
        .route("/health", get(api::health))
        .route("/ready", get(api::ready));
    let managing = Router::new().route(
        "/logout",
        for_people(&app, Role::Viewer, post(login::log_out)),
    );
    reading
        .merge(always)
        .merge(managing)
        .merge(manage::routes(&app))
        .merge(api::router(&app))
        .method_not_allowed_fallback(api::wrong_method)
        .fallback(plain::nothing)
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// A filled-in template.
pub(crate) fn html(template: &impl askama::Template) -> Result<Response, Failure> {
    html_with(StatusCode::OK, template)
}

pub(crate) fn html_with(
    status: StatusCode,
    template: &impl askama::Template,
) -> Result<Response, Failure> {
    let text = template.render().map_err(WebError::from)?;
    let headers = [
        ("content-type", "text/html; charset=utf-8"),
        ("vary", "accept-language, cookie"),
    ];
    Ok((status, headers, text).into_response())
}
