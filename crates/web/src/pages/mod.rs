//! The pages: what each address answers.
//!
//! ```text
//! /  /search  /help  /set          search.rs, plain.rs
//! /page                            page.rs, panels.rs
//! /archive  /timemap  /timegate    archive.rs
//! /api/search  /api/suggest        api.rs
//! ```
//!
//! Each look-up takes one of a few places and leaves the async threads; who finds none in time is asked
//! to come back.

mod api;
mod archive;
mod failure;
mod frame;
mod hits;
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
use axum::routing::get;
use tokio::sync::Semaphore;

pub(crate) use failure::Failure;
pub(crate) use frame::Frame;

use crate::guard::guard;
use crate::{Library, WebConfig, WebError};

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
    lookups: Arc<Semaphore>,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub(crate) fn new(library: Library, config: WebConfig, address: SocketAddr) -> Self {
        let lookups = Arc::new(Semaphore::new(config.lookups));
        Self(Arc::new(Inner {
            library,
            config,
            address,
            key: format!("{:016x}", rand::random::<u64>()),
            lookups,
        }))
    }

    /// Does the work of one answer off the async threads, when its turn comes.
    pub(crate) async fn look_up(
        &self,
        frame: Frame,
        work: impl FnOnce(&Self, Frame) -> Result<Response, Failure> + Send + 'static,
    ) -> Response {
        let turn = Arc::clone(&self.lookups).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(self.config.patience, turn).await else {
            return Failure::Busy.into_page(&frame);
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
            Ok(Err(failure)) => failure.into_page(&frame),
            Err(error) => {
                tracing::error!(%error, "a page could not be made");
                Failure::Broken.into_page(&frame)
            }
        }
    }
}

/// Lets a crawl on the same machine go first: a look-up on this thread gets the processor where nobody
/// else wants it, and a small share where somebody does.
fn give_way() {
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
    Router::new()
        .route("/", get(plain::home))
        .route("/help", get(plain::help))
        .route("/set", get(plain::set))
        .route("/opensearch.xml", get(plain::opensearch))
        .route("/robots.txt", get(plain::robots))
        .route("/static/{name}", get(plain::asset))
        .route("/search", get(search::search))
        .route("/page", get(page::page))
        .route("/api/search", get(api::search))
        .route("/api/search.csv", get(api::csv))
        .route("/api/suggest", get(suggest::suggest))
        .route("/archive/{*rest}", get(archive::archive))
        .route("/timemap/{*rest}", get(archive::timemap))
        .route("/timegate/{*rest}", get(archive::timegate))
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
