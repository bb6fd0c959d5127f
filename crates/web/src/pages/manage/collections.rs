//! `/collections`: all of them, with their state, their size, and when they run next.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use teia_base::{Clock, SystemClock, Timestamp};

use crate::access::Role;
use crate::desk::{Card, Health};
use crate::pages::{App, Failure, Frame, html};
use crate::words::Words;

#[derive(Template)]
#[template(path = "manage/collections.html")]
struct CollectionsPage {
    frame: Frame,
    rows: Vec<Row>,
    data: String,
    may_edit: bool,
}

struct Row {
    card: Card,
    rate: String,
    last: String,
    last_exact: String,
    next: String,
    next_exact: String,
}

/// The list.
pub(crate) async fn collections(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, list).await
}

fn list(app: &App, frame: Frame) -> Result<Response, Failure> {
    let w = frame.w;
    let now = SystemClock.wall();
    let rows = app.desk.collections()?.into_iter();
    let row = |card: Card| {
        let last = card.last_run.as_ref().map(|run| run.last_commit.clone());
        let (last, last_exact) = age(w, last.as_deref(), &now);
        let (next, next_exact) = age(w, card.next_run.as_deref(), &now);
        let rate = card.rates.as_ref();
        Row {
            rate: rate.map_or_else(String::new, |rates| {
                w.decimal(format!("{:.1}", rates.pages_per_second))
            }),
            last,
            last_exact,
            next,
            next_exact,
            card,
        }
    };
    html(&CollectionsPage {
        rows: rows.map(row).collect(),
        data: app.library.shown_root(),
        may_edit: frame.may(Role::Admin),
        frame,
    })
}

/// A moment as `3 min ago`, and exactly.
pub(super) fn age(w: &Words, moment: Option<&str>, now: &Timestamp) -> (String, String) {
    let Some(text) = moment else {
        return (String::new(), String::new());
    };
    let shown = Timestamp::parse(text).map(|moment| w.age(&moment, now));
    (shown.unwrap_or_else(|| text.to_owned()), text.to_owned())
}

/// The sign of a state.
pub(crate) fn state_mark(state: &str) -> &'static str {
    match state {
        "running" => "good",
        "paused" | "resting" | "stopping" | "interrupted" => "warn",
        "unreadable" => "bad",
        _ => "",
    }
}

/// The key of the word for a state.
pub(crate) fn state_key(state: &str) -> &'static str {
    match state {
        "running" => "state.running",
        "paused" => "state.paused",
        "resting" => "state.resting",
        "starting" => "state.starting",
        "stopping" => "state.stopping",
        "ended" => "state.ended",
        "interrupted" => "state.interrupted",
        "unreadable" => "state.unreadable",
        "idle" => "state.idle",
        _ => "state.never-run",
    }
}

/// The sign and the word of a health.
pub(crate) fn health(health: &Health) -> (&'static str, &'static str) {
    match health {
        Health::Good => ("good", "health.good"),
        Health::Warning => ("warn", "health.warning"),
        Health::Bad => ("bad", "health.bad"),
    }
}
