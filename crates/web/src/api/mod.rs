//! `/api`: everything that pages do, for programs.
//!
//! ```text
//! request ──> door (role, CSRF, bounds) ──> collections.rs, runs.rs, tokens.rs ──> Desk ──> JSON, or a Problem
//!                                       ├─> dashboard.rs ──> Desk ──> catalog
//!                                       ├─> versions.rs ──> Library: archive and links
//!                                       └─> live.rs: server-sent events
//! ```
//!
//! [`ROUTES`] names every route with the role that it asks for; what is not in it is not there.
//! `openapi.json` describes the same, and a test compares the two.

mod asked;
mod collections;
mod dashboard;
mod live;
mod metrics;
mod problem;
mod runs;
mod tokens;
mod versions;
mod wellbeing;

use axum::Router;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, patch, post, put};

pub(crate) use metrics::{Traffic, metrics};
pub(crate) use problem::Problem;
pub(crate) use wellbeing::{health, ready};

use crate::access::{Role, for_programs};
use crate::pages::App;

/// One route.
struct Route {
    method: &'static str,
    path: &'static str,
    role: Role,
    to: fn() -> MethodRouter<App>,
}

const fn route(
    method: &'static str,
    path: &'static str,
    role: Role,
    to: fn() -> MethodRouter<App>,
) -> Route {
    Route {
        method,
        path,
        role,
        to,
    }
}

/// Every route that asks for a role.
#[rustfmt::skip]
const ROUTES: &[Route] = &[
    route("get", "/api/collections", Role::Viewer, || get(collections::list)),
    route("post", "/api/collections", Role::Admin, || post(collections::create)),
    route("get", "/api/collections/{name}", Role::Viewer, || get(collections::view)),
    route("patch", "/api/collections/{name}", Role::Admin, || patch(collections::change)),
    route("delete", "/api/collections/{name}", Role::Admin, || delete(collections::remove)),
    route("post", "/api/collections/{name}/check", Role::Viewer, || post(collections::check)),
    route("post", "/api/collections/{name}/start", Role::Operator, || post(runs::start)),
    route("post", "/api/collections/{name}/pause", Role::Operator, || post(runs::pause)),
    route("post", "/api/collections/{name}/resume", Role::Operator, || post(runs::resume)),
    route("post", "/api/collections/{name}/stop", Role::Operator, || post(runs::stop)),
    route("patch", "/api/collections/{name}/run", Role::Operator, || patch(runs::change)),
    route("get", "/api/collections/{name}/runs", Role::Viewer, || get(runs::list)),
    route("get", "/api/collections/{name}/events", Role::Viewer, || get(runs::events)),
    route("get", "/api/collections/{name}/deliveries", Role::Viewer, || get(runs::deliveries)),
    route("get", "/api/collections/{name}/live", Role::Viewer, || get(live::live)),
    route("get", "/api/collections/{name}/hosts", Role::Viewer, || get(collections::hosts)),
    route("get", "/api/collections/{name}/hosts/{host}", Role::Viewer, || get(collections::host)),
    route("get", "/api/collections/{name}/queue", Role::Viewer, || get(collections::queue)),
    route("get", "/api/collections/{name}/urls", Role::Viewer, || get(collections::urls)),
    route("get", "/api/collections/{name}/explain", Role::Viewer, || get(collections::explain)),
    route("get", "/api/collections/{name}/numbers", Role::Viewer, || get(collections::numbers)),
    route("get", "/api/collections/{name}/statistics", Role::Viewer, || get(collections::statistics)),
    route("get", "/api/collections/{name}/statistics.parquet", Role::Viewer, || get(collections::parquet)),
    route("get", "/api/collections/{name}/removals", Role::Viewer, || get(collections::removals)),
    route("put", "/api/collections/{name}/removals", Role::Admin, || put(collections::hide)),
    route("delete", "/api/collections/{name}/removals", Role::Admin, || delete(collections::show)),
    route("get", "/api/collections/{name}/erasures", Role::Viewer, || get(collections::erasures)),
    route("post", "/api/collections/{name}/erasures", Role::Admin, || post(collections::erase)),
    route("get", "/api/collections/{name}/traps", Role::Viewer, || get(collections::traps)),
    route("put", "/api/collections/{name}/traps/allowed", Role::Admin, || put(collections::allow_trap)),
    route("get", "/api/collections/{name}/depths", Role::Viewer, || get(collections::depths)),
    route("get", "/api/collections/{name}/errors", Role::Viewer, || get(dashboard::errors)),
    route("get", "/api/collections/{name}/dashboard", Role::Viewer, || get(dashboard::dashboard)),
    route("get", "/api/collections/{name}/links", Role::Viewer, || get(versions::links)),
    route("get", "/api/collections/{name}/map", Role::Viewer, || get(collections::map)),
    route("get", "/api/hosts/{host}", Role::Viewer, || get(dashboard::host_report)),
    route("get", "/api/versions", Role::Viewer, || get(versions::versions)),
    route("get", "/api/difference", Role::Viewer, || get(versions::difference)),
    route("get", "/api/removals", Role::Viewer, || get(collections::all_removals)),
    route("delete", "/api/removals", Role::Admin, || delete(collections::show_kept)),
    route("get", "/api/tokens", Role::Admin, || get(tokens::list)),
    route("post", "/api/tokens", Role::Admin, || post(tokens::create)),
    route("delete", "/api/tokens/{id}", Role::Admin, || delete(tokens::remove)),
    route("get", "/api/me", Role::Viewer, || get(tokens::me)),
];

/// The description of all this.
const OPENAPI: &str = include_str!("openapi.json");

/// Everything below `/api` that is managed.
pub(crate) fn router(app: &App) -> Router<App> {
    let mut router = Router::new().route("/api/openapi.json", get(openapi));
    for route in ROUTES {
        debug_assert!(!route.method.is_empty());
        router = router.route(route.path, for_programs(app, route.role, (route.to)()));
    }
    router.route("/api/{*rest}", axum::routing::any(nothing))
}

/// What can be done at an address instead is in the header `Allow`. Programs are told so in a problem.
pub(crate) async fn wrong_method(method: Method, uri: Uri) -> Response {
    if !uri.path().starts_with("/api/") {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    Problem::new(
        405,
        "wrong-method",
        format!("{method} cannot be done at this address; the header `Allow` says what can"),
    )
    .into_response()
}

async fn openapi() -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, OPENAPI).into_response()
}

async fn nothing() -> Problem {
    Problem::new(
        404,
        "not-found",
        "there is nothing at this address; /api/openapi.json lists what there is",
    )
}

impl App {
    /// Does the work of one answer off the async threads, when its turn comes.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let Some(turn) = self.turn().await else {
            return Err(Problem::busy());
        };
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            crate::pages::give_way();
            let done = work(&app);
            drop(turn);
            done
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "an answer could not be made");
            Err(Problem::broken())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_described_with_its_role_and_nothing_else_is() {
        let described: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
        assert_eq!(described["openapi"], "3.1.0");
        let mut found = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                if method == "parameters" {
                    continue;
                }
                let role = operation["x-role"].as_str().unwrap_or("public");
                found.insert(format!("{method} {path} {role}"));
                assert!(operation["operationId"].is_string(), "{method} {path}");
                assert!(operation["summary"].is_string(), "{method} {path}");
                let needs_nobody = operation["security"] == serde_json::json!([]);
                assert_eq!(needs_nobody, role == "public", "{method} {path}");
            }
        }
        let mut there: BTreeSet<String> = ROUTES
            .iter()
            .map(|it| format!("{} {} {}", it.method, it.path, it.role.name()))
            .collect();
        for open in [
            "/api/openapi.json",
            "/api/search",
            "/api/search.csv",
            "/api/suggest",
            "/health",
            "/ready",
            "/metrics",
        ] {
            there.insert(format!("get {open} public"));
        }
        assert_eq!(found, there);
    }
}
