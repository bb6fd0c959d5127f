//! What the catalog says: a collection at a glance, and what all collections together asked of a host.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json as object};
use teia_base::Timestamp;
use teia_catalog::{Asked as Request, Dashboard, Failed, HostRow, Minute, RunRow, Times};

use super::asked::{Asked, Nothing, Steps, json};
use super::problem::Problem;
use crate::address::clean;
use crate::desk::{DeskError, as_row};
use crate::pages::App;

type Answer = Result<Response, Problem>;

/// A collection at a glance; all empty where it has no catalog yet.
pub(crate) async fn dashboard(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
) -> Answer {
    app.work(move |app| {
        let dashboard = app.desk.dashboard(&name, true)?;
        json(&told(&name, &dashboard.unwrap_or_default()))
    })
    .await
}

fn told(name: &str, dashboard: &Dashboard) -> Value {
    let Dashboard {
        outcomes,
        types,
        languages,
        depths,
        ..
    } = dashboard;
    object!({
        "collection": name,
        "outcomes": outcomes,
        "types": types,
        "languages": languages,
        "depths": depths,
        "largest": each(&dashboard.largest, host),
        "slowest": each(&dashboard.slowest, host),
        "failing": each(&dashboard.failing, host),
        "spent": spent(dashboard.times),
        "errors": each(&dashboard.errors, error),
        "minutes": each(&dashboard.minutes, minute),
        "runs": each(&dashboard.runs, run),
    })
}

/// Failed attempts among the newest.
pub(crate) async fn errors(
    State(app): State<App>,
    Steps(name): Steps<String>,
    _: Nothing,
) -> Answer {
    app.work(move |app| {
        let dashboard = app.desk.dashboard(&name, true)?.unwrap_or_default();
        json(&object!({ "items": each(&dashboard.errors, error) }))
    })
    .await
}

/// What was asked of a host, in parts, with the rests between: the proof of manners.
pub(crate) async fn host_report(
    State(app): State<App>,
    Steps(name): Steps<String>,
    mut asked: Asked,
) -> Answer {
    let window = asked.window()?;
    let wanted = asked.text("collection").unwrap_or_default();
    asked.end()?;
    app.work(move |app| {
        let name = name.to_lowercase();
        let (limit, offset) = (as_row(window.limit), as_row(window.offset));
        let visits = app.desk.host_visits(&wanted, &name, limit, offset)?;
        let visits = visits.ok_or_else(|| {
            DeskError::Missing(format!("no catalog knows of a visit to the host `{name}`"))
        })?;
        let report = &visits.report;
        let mut told = host(&report.host);
        told["collections"] = object!(visits.collections);
        told["elsewhere"] = object!(visits.elsewhere);
        told["hidden"] = object!(app.desk.is_hidden(|removals| removals.hides_host(&name))?);
        told["shortest_rest_seconds"] = object!(report.shortest_rest_micros.map(seconds));
        told["usual_rest_seconds"] = object!(report.median_rest_micros.map(seconds));
        told["items"] = object!(each(&report.requests, request));
        told["total"] = object!(report.total);
        told["offset"] = object!(window.offset);
        told["limit"] = object!(window.limit);
        json(&told)
    })
    .await
}

fn each<T>(rows: &[T], as_told: impl Fn(&T) -> Value) -> Vec<Value> {
    rows.iter().map(as_told).collect()
}

fn host(host: &HostRow) -> Value {
    let moment_of = |micros: i64| (micros != 0).then(|| moment(micros));
    object!({
        "host": host.host,
        "admitted": host.admitted,
        "fetched": host.fetched,
        "errors": host.errors,
        "bytes": host.bytes,
        "requests": host.requests,
        "mean_answer_seconds": seconds(host.mean_answer_micros),
        "first_at": moment_of(host.first_at),
        "last_at": moment_of(host.last_at),
    })
}

fn spent(times: Times) -> Value {
    object!({
        "requests": times.requests,
        "dns": seconds(times.dns),
        "connect": seconds(times.connect),
        "tls": seconds(times.tls),
        "first_byte": seconds(times.first_byte),
        "body": seconds(times.body),
    })
}

fn error(failed: &Failed) -> Value {
    object!({
        "at": moment(failed.at),
        "url": failed.url,
        "code": failed.code,
        "meaning": failed.meaning,
        "detail": clean(&failed.detail),
    })
}

fn minute(minute: &Minute) -> Value {
    object!({
        "at": moment(minute.at),
        "fetched": minute.fetched,
        "errors": minute.errors,
        "bytes": minute.bytes,
        "admitted": minute.admitted,
    })
}

fn run(run: &RunRow) -> Value {
    object!({
        "number": run.number,
        "started": moment(run.started_at),
        "last_at": moment(run.last_at),
        "active_seconds": seconds(run.active_micros),
        "ended": Some(&run.ended).filter(|reason| !reason.is_empty()),
        "fetched": run.fetched,
        "errors": run.errors,
        "bytes": run.bytes,
    })
}

fn request(request: &Request) -> Value {
    object!({
        "at": Timestamp::from_micros(request.at).to_rfc3339_micros(),
        "url": request.url,
        "code": request.code,
        "meaning": request.meaning,
        "bytes": request.bytes,
        "seconds": seconds(request.micros),
        "rest_seconds": request.rest_micros.map(seconds),
    })
}

fn moment(micros: i64) -> String {
    Timestamp::from_micros(micros).to_string()
}

fn seconds(micros: i64) -> f64 {
    let length = Duration::from_micros(micros.unsigned_abs()).as_secs_f64();
    if micros < 0 { -length } else { length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_before_the_end_of_the_last_is_a_rest_below_nothing() {
        assert_eq!(seconds(-1_500_000).to_string(), "-1.5");
        assert_eq!(seconds(36).to_string(), "0.000036");
    }
}
