//! `/urls`: the queue, host by host, and every URL with the reason why it stands where it does.

use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use teia_base::{Outcome, Timestamp};

use super::{Cell, Field, ListPage, Panel, chosen_name, collection_choices, first_row};
use crate::address::{Address, cut, escape};
use crate::desk::{HostOrder, HostRow, HostsAsked, UrlRow, UrlsAsked, Window};
use crate::pages::{App, Failure, Frame};
use crate::words::Words;

/// Rows of a page.
const ROWS: u32 = 50;
/// Letters of an address.
const LETTERS: usize = 80;
const STATES: [&str; 5] = ["waiting", "fetched", "gone", "failed", "excluded"];

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    collection: String,
    state: String,
    host: String,
    contains: String,
    from: String,
}

impl Asked {
    /// Nothing but the queue is asked for: then its hosts come first, for they are what waits.
    fn is_whole_queue(&self) -> bool {
        self.host.trim().is_empty()
            && self.contains.trim().is_empty()
            && matches!(self.state.as_str(), "" | "waiting")
    }
}

/// URLs of a collection.
pub(crate) async fn urls(
    State(app): State<App>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Response {
    app.look_up(frame, move |app, frame| answer(app, frame, &asked))
        .await
}

fn answer(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let first = first_row(&asked.from)?;
    let mut page = ListPage::new(frame, w.t("urls"));
    let Some(name) = chosen_name(app, &asked.collection) else {
        page.sentences.push(w.t("none.what").to_owned());
        return page.show();
    };
    let state = STATES
        .into_iter()
        .find(|state| *state == asked.state)
        .unwrap_or("waiting");
    let states = STATES.map(|state| (state.to_owned(), w.t(&format!("url.{state}")).to_owned()));
    page.fields = vec![
        Field::choice("collection", "collection", &name, collection_choices(app)),
        Field::choice("state", "state", state, states.into()),
        Field::text("host", "host", asked.host.trim()),
        Field::text("contains", "urls.contains", asked.contains.trim()),
    ];
    let window = Window {
        offset: u64::from(first),
        limit: u64::from(ROWS),
    };
    let (shown, total) = if asked.is_whole_queue() {
        page.sentences.push(w.t("queue.what").to_owned());
        let state = app.desk.card(&name)?.state;
        if matches!(state, "never-run" | "ended" | "interrupted") {
            page.sentences.push(w.t("queue.no_run").to_owned());
        }
        queue(app, &mut page, &name, window)?
    } else {
        list(app, &mut page, (&name, state), asked, window)?
    };
    let query = [
        ("collection", name.as_str()),
        ("state", &asked.state),
        ("host", &asked.host),
        ("contains", &asked.contains),
    ];
    page.turn("/urls", &query, first, shown, ROWS, total);
    page.show()
}

/// Hosts with URLs that wait, the longest queue first.
fn queue(
    app: &App,
    page: &mut ListPage,
    name: &str,
    window: Window,
) -> Result<(usize, i64), Failure> {
    let w = page.frame.w;
    let asked = HostsAsked {
        order: HostOrder::Waiting,
        contains: None,
        waiting: true,
    };
    let found = app.desk.hosts(name, &asked, window)?;
    let columns = [
        "host",
        "#urls.waiting",
        "#urls.fetched",
        "queue.why",
        "visited",
    ];
    let mut panel = Panel::new(w, "queue", "queue", &columns).wide();
    for host in &found.items {
        let href = format!(
            "/urls?collection={}&host={}",
            escape(name),
            escape(&host.host)
        );
        panel.row(vec![
            Cell::Link {
                shown: cut(&host.host, LETTERS),
                whole: host.host.clone(),
                href,
            },
            Cell::number(w, u64::from(host.waiting)),
            Cell::number(w, u64::from(host.fetched)),
            Cell::text(why_host(w, host)),
            moment(w, host.last_attempt.as_deref()),
        ]);
    }
    panel.empty = w.t("queue.empty").to_owned();
    let shown = panel.rows.len();
    page.panels.push(panel);
    page.under = w.n("hosts.count", found.total);
    Ok((shown, i64::try_from(found.total).unwrap_or(i64::MAX)))
}

fn list(
    app: &App,
    page: &mut ListPage,
    (name, state): (&str, &'static str),
    asked: &Asked,
    window: Window,
) -> Result<(usize, i64), Failure> {
    let w = page.frame.w;
    let host = asked.host.trim().to_lowercase();
    let which = UrlsAsked {
        state: Some(state.to_owned()),
        host: Some(host.clone()),
        contains: Some(asked.contains.trim().to_owned()),
    };
    let found = app.desk.urls(name, &which, window)?;
    // Why a host is not asked is why none of its URLs is.
    if !host.is_empty()
        && state == "waiting"
        && let Ok((row, _)) = app.desk.host_row(name, &host)
    {
        page.sentences.push(why_host(w, &row));
    }
    let columns = [
        "address.url",
        "queue.why",
        "#depth",
        "urls.found",
        "urls.first",
    ];
    let mut panel = Panel::new(w, "urls", "urls", &columns).wide();
    for url in &found.items {
        panel.row(vec![
            explained(&url.url),
            Cell::text(why(w, url)),
            Cell::text(
                url.depth
                    .map(|depth| w.number(u64::from(depth)))
                    .unwrap_or_default(),
            ),
            url.referrer
                .as_deref()
                .map_or_else(|| Cell::text(""), explained),
            moment(w, Some(&url.first_seen)),
        ]);
    }
    let shown = panel.rows.len();
    page.panels.push(panel);
    page.under = w.n("urls.count", found.total);
    Ok((shown, i64::try_from(found.total).unwrap_or(i64::MAX)))
}

/// A URL, which leads to its life.
fn explained(url: &str) -> Cell {
    let address = Address::new(url);
    Cell::Link {
        shown: cut(&address.shown(), LETTERS),
        href: format!("/explain?url={}", escape(url)),
        whole: address.url,
    }
}

fn moment(w: &Words, text: Option<&str>) -> Cell {
    let moment = text.and_then(Timestamp::parse);
    Cell::moment(w, moment.map_or(0, Timestamp::as_micros))
}

fn when(w: &Words, text: &str) -> String {
    Timestamp::parse(text).map_or_else(|| text.to_owned(), |it| w.moment_with_seconds(&it))
}

/// Why a host is not asked right now.
fn why_host(w: &Words, host: &HostRow) -> String {
    match (&host.alias_of, &host.back_off_until) {
        (Some(other), _) => w.f("queue.alias", other),
        (None, Some(until)) if is_ahead(until) => w.f("queue.back_off", when(w, until)),
        _ if host.failures > 0 => w.n("queue.failures", u64::from(host.failures)),
        _ if host.attempts == 0 => w.t("queue.not_yet").to_owned(),
        _ => w.t("queue.in_turn").to_owned(),
    }
}

fn is_ahead(text: &str) -> bool {
    use teia_base::Clock;
    Timestamp::parse(text).is_some_and(|it| it > teia_base::SystemClock.wall())
}

/// Why a URL stands where it does.
fn why(w: &Words, url: &UrlRow) -> String {
    if url.leased {
        return w.t("why.leased").to_owned();
    }
    if let Some(rule) = &url.rule {
        // It is in scope: no rule left it out.
        if url.state == "unreached" {
            return w.rule(rule).into_owned();
        }
        return w.f("why.rule", w.rule(rule));
    }
    let outcome = url.outcome.map(Outcome::from_number);
    let outcome = w.told(outcome.map_or("", Outcome::sentence));
    match (url.state, &url.due) {
        ("waiting", Some(due)) if url.tries > 0 => {
            format!("{} ({outcome})", w.f("why.again", when(w, due)))
        }
        ("waiting", Some(due)) => w.f("why.due", when(w, due)),
        ("waiting", None) if url.seed => w.t("why.seed").to_owned(),
        ("waiting", None) if url.requisite => w.t("why.requisite").to_owned(),
        ("waiting", None) => w.t("why.in_line").to_owned(),
        _ => {
            let at = url.last_attempt.as_deref().map(|at| when(w, at));
            format!("{outcome}, {}", at.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UrlRow, why};
    use crate::words::Tongue;

    fn row(state: &'static str, rule: Option<&str>, outcome: Option<i16>) -> UrlRow {
        UrlRow {
            url: "http://a.example/".to_owned(),
            state,
            depth: Some(1),
            first_seen: "2026-11-15T00:00:00Z".to_owned(),
            referrer: None,
            tries: 0,
            due: None,
            leased: false,
            seed: false,
            requisite: false,
            rule: rule.map(str::to_owned),
            last_attempt: outcome.map(|_| "2026-11-16T10:20:30Z".to_owned()),
            outcome,
            outcome_name: outcome.map(|outcome| format!("http_{outcome}")),
            visits: 1,
            changes: 0,
        }
    }

    #[test]
    fn why_a_url_stands_where_it_does_is_told_in_the_reader_s_words() {
        let (english, portuguese) = (Tongue::English.words(), Tongue::Portuguese.words());
        for (row, en, pt) in [
            (
                row("excluded", Some("removed on request"), None),
                "left out: removed on request",
                "deixado de fora: removido a pedido",
            ),
            (
                row("excluded", Some("exclude /x/"), None),
                "left out: exclude /x/",
                "deixado de fora: padrão excluído /x/",
            ),
            (
                row("excluded", Some("trap /d/{n}"), None),
                "left out: trap /d/{n}",
                "deixado de fora: armadilha /d/{n}",
            ),
            (
                row("gone", None, Some(404)),
                "there is no such page, 16 Nov 2026, 10:20:30",
                "essa página não existe, 16 nov 2026, 10:20:30",
            ),
        ] {
            assert_eq!(why(english, &row), en);
            assert_eq!(why(portuguese, &row), pt);
        }
    }
}
