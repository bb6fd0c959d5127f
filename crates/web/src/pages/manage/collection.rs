//! `/collections/NAME`: how a run goes, and the buttons for it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Form, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use teia_base::{Clock, SystemClock, Timestamp};
use teia_catalog::{Dashboard, HostRow, Names};

use super::collections::{age, state_key, state_mark};
use super::panel::span;
use super::{Cell, Panel};
use crate::access::Role;
use crate::address::escape;
use crate::chart::{Chart, Unit, per_second, whole};
use crate::desk::{Card, DeskError, Live, Order, Rates, Trap, is_as_bad};
use crate::pages::{App, Failure, Frame, html};
use crate::words::Words;

/// Figures older than this are told with their age.
const OLD_MICROS: i64 = 5_000_000;
/// Depths that are listed one by one.
const DEPTHS: usize = 25;
/// Traps that are listed.
const MOST_TRAPS: usize = 500;

#[derive(Template)]
#[template(path = "manage/collection.html")]
struct CollectionPage {
    frame: Frame,
    card: Card,
    mark: &'static str,
    state: String,
    state_more: String,
    actions: Vec<Action>,
    may_edit: bool,
    said: String,
    is_bad: bool,
    figures: Vec<Figure>,
    /// How old what was counted is, where it is not of this moment.
    age: String,
    /// What is missing, and why.
    missing: String,
    charts: Vec<Chart>,
    panels: Vec<Panel>,
}

/// A button.
struct Action {
    name: &'static str,
    key: &'static str,
    is_quiet: bool,
}

/// A number in the row of numbers.
struct Figure {
    key: &'static str,
    value: String,
    more: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    /// What was just done.
    did: String,
    /// Which events are shown.
    level: String,
}

/// A collection, live where it runs.
pub(crate) async fn collection(
    State(app): State<App>,
    frame: Frame,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, frame| show(app, frame, &name, &asked))
        .await
}

fn show(app: &App, frame: Frame, name: &str, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let card = app.desk.card(name)?;
    let live = app.desk.live(name)?;
    // Without the catalog there are fewer panels; everything else is as useful as before.
    let (dashboard, missing) = match app.desk.dashboard(name, live.rates.is_some()) {
        Ok(dashboard) => (dashboard, String::new()),
        Err(DeskError::Catalog) => (None, w.t("catalog.away").to_owned()),
        // The card says what is wrong with the file.
        Err(DeskError::Wrong(_)) => (None, String::new()),
        Err(error) => return Err(error.into()),
    };
    let said = ["start", "resume", "pause", "stop", "saved"]
        .contains(&asked.did.as_str())
        .then(|| w.t(&format!("did.{}", asked.did)).to_owned());
    let problem = card.problem.as_deref().map(|problem| w.sentence(problem));
    let mut panels = panels(w, &card, &live, dashboard.as_ref(), &asked.level);
    let traps = app.desk.traps(name).unwrap_or_default();
    if !traps.is_empty() {
        panels.insert(panels.len().min(2), traps_panel(&frame, name, &traps));
    }
    let page = CollectionPage {
        mark: state_mark(card.state),
        state: w.t(state_key(card.state)).to_owned(),
        state_more: standing(w, &card),
        actions: actions(app, &frame, card.state),
        age: counted(w, &card),
        missing,
        may_edit: frame.may(Role::Admin),
        is_bad: said.is_none() && problem.is_some(),
        said: said.or(problem).unwrap_or_default(),
        figures: figures(w, &card, live.rates.as_ref()),
        charts: charts(w, &live, dashboard.as_deref()),
        panels,
        frame,
        card,
    };
    html(&page)
}

/// Why a run rests or has ended, from the engine's word for it.
fn why<'a>(w: &'a Words, reason: &'a str) -> &'a str {
    w.told(match reason {
        "done" => "nothing left to fetch",
        "max-pages" => "limit of pages reached",
        "max-bytes" => "limit of bytes reached",
        "max-time" => "its time is up",
        "deadline" => "its deadline came",
        other => other,
    })
}

/// Why it rests, or how it ended, and when it goes on.
fn standing(w: &Words, card: &Card) -> String {
    let now = SystemClock.wall();
    let mut parts = Vec::new();
    let reason = card.reason.as_deref();
    parts.extend(reason.map(|reason| why(w, reason).to_owned()));
    if card.rates.is_none()
        && let Some(run) = &card.last_run
    {
        parts.push(age(w, Some(&run.last_commit), &now).0);
    }
    if let Some(next) = &card.next_run {
        let next = age(w, Some(next), &now).0;
        parts.push(format!("{} {next}", w.t("run.next").to_lowercase()));
    }
    parts.join(" · ")
}

fn actions(app: &App, frame: &Frame, state: &str) -> Vec<Action> {
    if !frame.may(Role::Operator) {
        return Vec::new();
    }
    let action = |name, key| Action {
        name,
        key,
        is_quiet: name == "stop",
    };
    let stop = action("stop", "do.stop");
    match state {
        "running" | "resting" | "starting" => vec![action("pause", "do.pause"), stop],
        "paused" => vec![action("resume", "do.resume"), stop],
        "stopping" | "unreadable" => Vec::new(),
        // Nobody is there who could begin.
        _ if !app.desk.collects() => Vec::new(),
        _ => vec![action("start", "do.start")],
    }
}

/// Figures of a large collection may be a while old while it runs.
fn counted(w: &Words, card: &Card) -> String {
    let now = SystemClock.wall();
    match Timestamp::parse(&card.as_of) {
        Some(at) if now.as_micros() - at.as_micros() > OLD_MICROS => {
            w.f("counted", w.age(&at, &now))
        }
        _ => String::new(),
    }
}

fn figures(w: &Words, card: &Card, rates: Option<&Rates>) -> Vec<Figure> {
    let figure = |key, value: String| Figure {
        key,
        value,
        more: String::new(),
    };
    // Of a collection that ran before, it is said whether a number is of all runs or of this one.
    let has_run_before = card.last_run.as_ref().is_some_and(|run| run.number > 1);
    let of_all = |key, value: String| Figure {
        key,
        value,
        more: if has_run_before { w.t("all.runs") } else { "" }.to_owned(),
    };
    let mut figures = vec![
        of_all("pages.fetched", w.number(card.fetched)),
        of_all("received", w.bytes(card.bytes)),
    ];
    if let Some(rates) = rates {
        if has_run_before {
            figures.push(figure("pages.run", w.number(rates.fetched)));
        }
        let second = w.t("last.seconds").to_owned();
        figures.push(Figure {
            key: "rate",
            value: w.decimal(format!("{:.1}", rates.pages_per_second)),
            more: second.clone(),
        });
        figures.push(Figure {
            key: "bytes.rate",
            value: w.bytes(whole(rates.bytes_per_second)),
            more: second,
        });
        figures.push(figure("urls.waiting", w.number(rates.queue)));
        figures.push(figure("urls.known", w.number(rates.known)));
        figures.push(Figure {
            key: "hosts.active",
            value: w.number(rates.hosts_active),
            more: w.f("of.most", w.number(rates.hosts_limit)),
        });
        figures.push(figure("hosts.waiting", w.number(rates.hosts_waiting)));
        figures.push(figure("errors", w.number(rates.errors)));
        figures.push(figure("elapsed", seconds(w, rates.elapsed_seconds)));
        if let Some(left) = rates.left_seconds {
            figures.push(figure("left", seconds(w, left)));
        }
    } else {
        let waiting = card.states.get("waiting").copied().unwrap_or(0);
        figures.push(figure("urls.waiting", w.number(waiting)));
        figures.push(figure("urls.known", w.number(card.known)));
        figures.push(figure("hosts", w.number(card.hosts)));
    }
    figures.push(figure("size", w.bytes(card.size)));
    figures
}

fn seconds(w: &Words, seconds: f64) -> String {
    span(w, i64::try_from(whole(seconds * 1e6)).unwrap_or(i64::MAX))
}

/// While it runs, the run as this process saw it; else what the catalog has of every minute.
fn charts(w: &Words, live: &Live, dashboard: Option<&Dashboard>) -> Vec<Chart> {
    let charts = if live.rates.is_some() && live.points.len() > 1 {
        let curve = |value: &dyn Fn(&teia_engine::Point) -> u64| -> Vec<(i64, f64)> {
            let point = |point: &teia_engine::Point| (point.at, value(point) as f64);
            live.points.iter().map(point).collect()
        };
        let fetched = curve(&|point| point.fetched);
        let bytes = curve(&|point| point.bytes);
        vec![
            Chart::new(w.t("chart.rate"), Unit::Count, per_second(&fetched)),
            Chart::new(w.t("chart.bytes"), Unit::Bytes, per_second(&bytes)),
            Chart::new(w.t("chart.documents.run"), Unit::Count, fetched),
            Chart::new(
                w.t("chart.errors.run"),
                Unit::Count,
                curve(&|point| point.errors),
            ),
            Chart::new(w.t("chart.queue"), Unit::Count, curve(&|point| point.queue)),
            Chart::new(
                w.t("chart.hosts"),
                Unit::Count,
                curve(&|point| point.hosts_active),
            ),
        ]
    } else {
        let minutes = dashboard.map_or(&[][..], |dashboard| &dashboard.minutes);
        let sum = |value: &dyn Fn(&teia_catalog::Minute) -> i64| -> Vec<(i64, f64)> {
            let first = minutes.first().map(|minute| (minute.at, 0.0));
            let mut total = 0;
            let sums = minutes.iter().map(|minute| {
                total += value(minute);
                (minute.at + 60_000_000, total as f64)
            });
            first.into_iter().chain(sums).collect()
        };
        let fetched = sum(&|minute| minute.fetched);
        let bytes = sum(&|minute| minute.bytes);
        vec![
            Chart::new(w.t("chart.documents"), Unit::Count, fetched.clone()),
            Chart::new(w.t("chart.rate"), Unit::Count, per_second(&fetched)),
            Chart::new(w.t("chart.bytes"), Unit::Bytes, per_second(&bytes)),
            Chart::new(
                w.t("chart.errors"),
                Unit::Count,
                sum(&|minute| minute.errors),
            ),
        ]
    };
    charts.into_iter().filter(Chart::is_drawn).collect()
}

fn panels(
    w: &Words,
    card: &Card,
    live: &Live,
    dashboard: Option<&Arc<Dashboard>>,
    level: &str,
) -> Vec<Panel> {
    let mut panels = Vec::new();
    if card.rates.is_some() {
        panels.push(now(w, live));
    }
    panels.push(events(w, card, live, level));
    let Some(dashboard) = dashboard else {
        return panels;
    };
    let name = &card.name;
    panels.push(errors(w, dashboard));
    panels.push(outcomes(w, dashboard));
    panels.push(names(w, "types", &dashboard.types, |name| {
        w.media_type(name).to_owned()
    }));
    panels.push(names(w, "languages", &dashboard.languages, |name| {
        w.language(name).to_owned()
    }));
    panels.push(times(w, dashboard));
    panels.push(depths(w, dashboard));
    let more = format!("/hosts?collection={}", escape(name));
    for (id, hosts, order) in [
        ("largest", &dashboard.largest, "fetched"),
        ("slowest", &dashboard.slowest, "slowest"),
        ("failing", &dashboard.failing, "errors"),
    ] {
        let mut panel = hosts_panel(w, name, id, hosts);
        panel.more = vec![(format!("{more}&order={order}"), w.t("hosts.all").to_owned())];
        panels.push(panel);
    }
    panels.push(runs(w, dashboard));
    panels
}

fn now(w: &Words, live: &Live) -> Panel {
    let mut panel = Panel::new(w, "now", "panel.now", &["address.url", "#for"])
        .wide()
        .noted(w.t("panel.now.note"));
    w.t("panel.now.none").clone_into(&mut panel.empty);
    for asked in live.rates.iter().flat_map(|rates| &rates.asking) {
        let took = Cell::text(seconds(w, asked.seconds));
        panel.row(vec![Cell::url(&asked.url), took]);
    }
    panel
}

fn events(w: &Words, card: &Card, live: &Live, level: &str) -> Panel {
    let mut panel = Panel::new(w, "events", "panel.events", &["when", "level", "what"]).wide();
    w.t("panel.events.none").clone_into(&mut panel.empty);
    let shown = live.events.iter().rev();
    for event in shown.filter(|event| is_as_bad(&event.level, level)) {
        let mark = match event.level.as_str() {
            "error" => "bad",
            "warning" => "warn",
            _ => "",
        };
        let at = Timestamp::parse(&event.at).map_or(0, |at| at.as_micros());
        panel.row(vec![
            Cell::moment(w, at),
            Cell::Sign {
                mark,
                shown: w.t(&format!("level.{}", event.level)).to_owned(),
            },
            Cell::text(w.sentence(&event.text)),
        ]);
    }
    let here = format!("/collections/{}", escape(&card.name));
    let (href, key) = if level.is_empty() {
        (format!("{here}?level=warning#events"), "events.warnings")
    } else {
        (format!("{here}#events"), "events.all")
    };
    panel.more = vec![(href, w.t(key).to_owned())];
    panel
}

/// What is left out, the rule for it, and the button that lets it in.
fn traps_panel(frame: &Frame, name: &str, traps: &[Trap]) -> Panel {
    let w = frame.w;
    let columns = ["host", "traps.pattern", "traps.rule", "state", "traps.do"];
    let mut panel = Panel::new(w, "traps", "panel.traps", &columns)
        .wide()
        .noted(w.t("panel.traps.note"));
    for trap in traps.iter().take(MOST_TRAPS) {
        let (mark, key) = if trap.allowed {
            ("good", "traps.allowed")
        } else {
            ("warn", "traps.out")
        };
        let button = if trap.allowed || !frame.may(Role::Admin) {
            Cell::text("")
        } else {
            Cell::Act {
                action: format!("/collections/{}/allow", escape(name)),
                value: format!("{}{}", trap.host, trap.pattern),
                label: w.t("traps.allow").to_owned(),
                csrf: frame.csrf().to_owned(),
            }
        };
        panel.row(vec![
            Cell::host(name, &trap.host),
            Cell::text(crate::address::clean(&trap.pattern)),
            Cell::text(format!("exclude = ['{}']", trap.exclude)),
            Cell::Sign {
                mark,
                shown: w.t(key).to_owned(),
            },
            button,
        ]);
    }
    panel
}

/// Lets what was taken for a trap in: the pattern is written into the collection's file.
pub(crate) async fn allow(
    State(app): State<App>,
    frame: Frame,
    Path(name): Path<String>,
    Form(wish): Form<Wish>,
) -> Response {
    app.look_up(frame, move |app, _| {
        app.desk.allow_trap(&name, wish.what)?;
        let to = format!("/collections/{}?did=saved", escape(&name));
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response())
    })
    .await
}

fn errors(w: &Words, dashboard: &Dashboard) -> Panel {
    let columns = ["when", "address.url", "#code", "meaning", "detail"];
    let mut panel = Panel::new(w, "errors", "panel.errors", &columns).wide();
    w.t("panel.errors.none").clone_into(&mut panel.empty);
    for error in &dashboard.errors {
        panel.row(vec![
            Cell::moment(w, error.at),
            Cell::url(&error.url),
            Cell::text(error.code.to_string()),
            Cell::text(w.told(error.meaning)),
            Cell::text(crate::address::clean(&error.detail)),
        ]);
    }
    panel
}

fn outcomes(w: &Words, dashboard: &Dashboard) -> Panel {
    let columns = ["#code", "meaning", "#documents.word", "share"];
    let mut panel = Panel::new(w, "outcomes", "panel.outcomes", &columns);
    let all = dashboard
        .outcomes
        .iter()
        .map(|outcome| outcome.documents)
        .sum();
    for outcome in &dashboard.outcomes {
        panel.row(vec![
            Cell::text(outcome.code.to_string()),
            Cell::text(w.told(outcome.meaning)),
            Cell::number(w, outcome.documents),
            Cell::share(w, outcome.documents, all),
        ]);
    }
    panel
}

fn names(w: &Words, id: &'static str, counts: &Names, shown: impl Fn(&str) -> String) -> Panel {
    let columns = ["name", "#documents.word", "share"];
    let mut panel = Panel::new(w, id, &format!("panel.{id}"), &columns);
    let all = counts.documents;
    let mut others = all;
    for count in &counts.items {
        others -= count.documents;
        let name = if count.name.is_empty() {
            w.t("unknown.name").to_owned()
        } else {
            shown(&count.name)
        };
        panel.row(vec![
            Cell::text(name),
            Cell::number(w, count.documents),
            Cell::share(w, count.documents, all),
        ]);
    }
    add_others(w, &mut panel, others, all);
    panel
}

/// What is not listed row by row, so that the shares make up the whole.
fn add_others(w: &Words, panel: &mut Panel, others: i64, all: i64) {
    if others > 0 {
        panel.row(vec![
            Cell::text(w.told("others")),
            Cell::number(w, others),
            Cell::share(w, others, all),
        ]);
    }
}

fn times(w: &Words, dashboard: &Dashboard) -> Panel {
    let times = &dashboard.times;
    let mut panel = Panel::new(
        w,
        "times",
        "panel.times",
        &["part", "#answer.mean", "share"],
    )
    .noted(w.f("panel.times.note", w.number(times.requests)));
    let parts = [
        ("time.dns", times.dns),
        ("time.connect", times.connect),
        ("time.tls", times.tls),
        ("time.first-byte", times.first_byte),
        ("time.body", times.body),
    ];
    let all = parts.iter().map(|(_, micros)| micros).sum();
    if times.requests > 0 {
        for (key, micros) in parts {
            panel.row(vec![
                Cell::text(w.t(key)),
                Cell::span(w, micros / times.requests),
                Cell::share(w, micros, all),
            ]);
        }
    }
    panel
}

fn depths(w: &Words, dashboard: &Dashboard) -> Panel {
    let columns = ["#depth", "#documents.word", "share"];
    let mut panel = Panel::new(w, "depths", "panel.depths", &columns);
    let all: i64 = dashboard.depths.iter().map(|depth| depth.documents).sum();
    let mut others = all;
    for depth in dashboard.depths.iter().take(DEPTHS) {
        others -= depth.documents;
        // A depth that no link of that run gave.
        let shown = match depth.depth {
            65_535 => w.t("unknown.name").to_owned(),
            hops => w.number(hops),
        };
        panel.row(vec![
            Cell::text(shown),
            Cell::number(w, depth.documents),
            Cell::share(w, depth.documents, all),
        ]);
    }
    add_others(w, &mut panel, others, all);
    panel
}

fn hosts_panel(w: &Words, collection: &str, id: &'static str, hosts: &[HostRow]) -> Panel {
    let columns = [
        "host",
        "#pages.fetched",
        "#errors",
        "#received",
        "#answer.mean",
    ];
    let mut panel = Panel::new(w, id, &format!("panel.{id}"), &columns).noted(w.t("hosts.note"));
    for host in hosts {
        panel.row(vec![
            Cell::host(collection, &host.host),
            Cell::number(w, host.fetched),
            Cell::number(w, host.errors),
            Cell::bytes(w, host.bytes),
            Cell::span(w, host.mean_answer_micros),
        ]);
    }
    panel
}

fn runs(w: &Words, dashboard: &Dashboard) -> Panel {
    let columns = [
        "#run",
        "run.began",
        "run.end",
        "#run.active",
        "#pages.fetched",
        "#errors",
        "#received",
    ];
    let mut panel = Panel::new(w, "runs", "panel.runs", &columns).wide();
    for run in &dashboard.runs {
        panel.row(vec![
            Cell::text(run.number.to_string()),
            Cell::moment(w, run.started_at),
            Cell::text(why(w, &run.ended)),
            Cell::span(w, run.active_micros),
            Cell::number(w, run.fetched),
            Cell::number(w, run.errors),
            Cell::bytes(w, run.bytes),
        ]);
    }
    panel
}

/// What a button says.
#[derive(Debug, Deserialize)]
pub(crate) struct Wish {
    what: String,
}

/// A button was pressed; the page is shown again, and says what came of it.
pub(crate) async fn act(
    State(app): State<App>,
    frame: Frame,
    Path(name): Path<String>,
    Form(wish): Form<Wish>,
) -> Response {
    app.look_up(frame, move |app, _| {
        let order = match wish.what.as_str() {
            "start" => Order::Start,
            "pause" => Order::Pause,
            "resume" => Order::Resume,
            "stop" => Order::Stop,
            _ => return Err(Failure::Missing("error.title", "error.wish")),
        };
        match order {
            Order::Resume => app.desk.resume(&name)?,
            order => app.desk.tell(&name, order)?,
        };
        let to = format!("/collections/{}?did={}", escape(&name), wish.what);
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response())
    })
    .await
}

#[cfg(test)]
mod tests {
    use teia_catalog::{Dashboard, DepthCount, NameCount, Names};

    use super::{Cell, Panel, depths, names};
    use crate::words::Tongue;

    fn last_row(panel: &Panel) -> (String, String, String) {
        match panel.rows.last().map(Vec::as_slice) {
            Some(
                [
                    Cell::Text(name),
                    Cell::Text(count),
                    Cell::Share { shown, .. },
                ],
            ) => (name.clone(), count.clone(), shown.clone()),
            row => panic!("no name, count and share: {row:?}"),
        }
    }

    #[test]
    fn shares_are_of_all_documents_and_what_is_not_listed_is_told_together() {
        let w = Tongue::English.words();
        let others =
            |count: &str, share: &str| ("others".to_owned(), count.to_owned(), share.to_owned());
        let depth = |depth| DepthCount {
            depth,
            documents: 10,
        };
        let dashboard = Dashboard {
            depths: (0..40).map(depth).collect(),
            ..Dashboard::default()
        };
        let panel = depths(w, &dashboard);
        assert_eq!(panel.rows.len(), 26);
        assert_eq!(last_row(&panel), others("150", "37.5 %"));
        let html = NameCount {
            name: "text/html".to_owned(),
            documents: 30,
        };
        let mut types = Names {
            items: vec![html],
            documents: 40,
        };
        let panel = names(w, "types", &types, str::to_owned);
        assert_eq!(last_row(&panel), others("10", "25.0 %"));
        types.documents = 30;
        assert_eq!(names(w, "types", &types, str::to_owned).rows.len(), 1);
    }
}
