//! `/explain?url=…`: the life of one URL, as sentences with times.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use super::removing::{is_hidden, offer, told};
use super::{Cell, Field, ListPage, Panel};
use teia_engine::Trial;

use crate::address::Address;
use crate::desk::{Removal, RemovalKind, ToCheck};
use crate::pages::page::spellings;
use crate::pages::{App, Asking, Failure, Frame};
use crate::words::Words;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    url: String,
}

/// What happened to a URL, and why.
pub(crate) async fn explain(
    State(app): State<App>,
    frame: Frame,
    Asking(asked): Asking<Asked>,
) -> Response {
    app.read_journal(frame, move |app, frame| answer(app, frame, &asked))
        .await
}

fn answer(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let mut page = ListPage::new(frame, w.t("explain.title"));
    page.fields = vec![Field::text("url", "address", &asked.url).long()];
    if asked.url.trim().is_empty() {
        page.sentences.push(w.t("explain.what").to_owned());
        return page.show();
    }
    let candidates = spellings(&asked.url);
    if candidates.is_empty() {
        page.sentences.push(w.t("error.url").to_owned());
        return page.show();
    }
    let mut is_known = false;
    let mut of = Vec::new();
    for shelf in app.library.shelves() {
        let life = candidates
            .iter()
            .map(|url| app.desk.life(&shelf.name, url, app.config.journal_time))
            .find_map(Result::transpose)
            .transpose()?;
        let Some(known) = life else { continue };
        is_known = true;
        of.push((shelf.name.clone(), known.state.url.normal().to_string()));
        let mut panel = Panel::new(w, "life", "", &["when", "what"]).wide();
        panel.title.clone_from(&shelf.name);
        let state = match known.state.waits_for_sweep() {
            true => "url.unreached".to_owned(),
            false => format!("url.{}", known.state.state.name()),
        };
        w.t(&state).clone_into(&mut panel.note);
        for happening in &known.life {
            let what = happening.told(&known.attempts, |english| w.rule(english).into_owned());
            panel.row(vec![
                Cell::moment(w, happening.at.as_micros()),
                Cell::text(what),
            ]);
        }
        if known.is_partial {
            page.sentences.push(w.t("history.partial").to_owned());
        }
        page.panels.push(panel);
    }
    let address = Address::new(candidates[0].as_str());
    if is_known {
        page.links
            .push((address.page(), w.t("page.title").to_owned()));
    } else {
        page.sentences.push(w.f("explain.unknown", address.shown()));
        page.panels.push(would(app, w, &asked.url));
    }
    page.under = address.shown();
    // A collection may spell it otherwise.
    let removal = |url: String| Removal {
        kind: RemovalKind::Url,
        value: url,
    };
    // Also what nobody has met may have been removed.
    let asked = removal(address.url);
    if is_hidden(app, &asked) {
        told(app, w, &asked).clone_into(&mut page.said);
    }
    let of = of.into_iter().map(|(name, url)| (name, removal(url)));
    offer(app, &mut page, &of.collect::<Vec<_>>())?;
    page.show()
}

/// What each collection would do with a URL that it has not met.
fn would(app: &App, w: &Words, url: &str) -> Panel {
    let columns = ["collection", "edit.would", "edit.rule"];
    let mut panel = Panel::new(w, "would", "explain.would", &columns).wide();
    for shelf in app.library.shelves() {
        let what = ToCheck {
            urls: vec![url.to_owned()],
            ..ToCheck::default()
        };
        let Ok(checked) = app.desk.check(&shelf.name, &what) else {
            continue;
        };
        for trial in checked.urls {
            let told = w.sentence(&trial.told());
            let (mark, key) = match trial {
                Trial::Tried { in_scope: true, .. } => ("good", "edit.in"),
                _ => ("bad", "edit.out"),
            };
            let shown = w.t(key).to_owned();
            panel.row(vec![
                Cell::text(&shelf.name),
                Cell::Sign { mark, shown },
                Cell::text(told),
            ]);
        }
    }
    panel
}
