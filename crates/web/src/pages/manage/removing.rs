//! The buttons that remove a host or a page, show it again, or erase it; and what came of them.

use axum::extract::{Form, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use teia_base::CanonicalUrl;

use super::{Button, ListPage};
use crate::access::Role;
use crate::address::escape;
use crate::desk::{Removal, RemovalKind, Window};
use crate::pages::{App, Failure, Frame};
use crate::words::Words;

/// Puts the buttons for it on a page, one of a kind for each collection, for those who may; says what is hidden, and
/// what is or was erased.
pub(super) fn offer(
    app: &App,
    page: &mut ListPage,
    of: &[(String, Removal)],
) -> Result<(), Failure> {
    let w = page.frame.w;
    let any = Window {
        offset: 0,
        limit: u64::MAX,
    };
    for (name, removal) in of {
        let word = match removal.kind {
            RemovalKind::Host => "host",
            RemovalKind::Url => "url",
        };
        // Hidden is what any collection hides; only what this one hides itself can be shown again here.
        let is_own = app.desk.removals(name, any)?.items.contains(removal);
        let is_hidden = is_own || is_hidden(app, removal);
        if is_hidden {
            told(app, w, removal).clone_into(&mut page.said);
        }
        let erasures = app.desk.erasures(name)?;
        let erased = erasures.iter().find(|it| it.items.contains(removal));
        if let (Some(erased), true) = (erased, is_hidden) {
            page.said = match erased.state {
                "running" => w.t("erase.running").to_owned(),
                "done" => w.n("erase.done", erased.records),
                _ => w.f(
                    "erase.failed",
                    w.sentence(erased.problem.as_deref().unwrap_or_default()),
                ),
            };
            if erased.state == "running" {
                page.refresh = Some(2);
            }
        }
        if !page.frame.may(Role::Admin) {
            continue;
        }
        let choices: &[&str] = match (is_hidden, is_own) {
            (true, true) => &["restore", "erase"],
            (true, false) => &["erase"],
            (false, _) => &["remove"],
        };
        for what in choices {
            let key = match *what {
                "erase" => "erase".to_owned(),
                what => format!("{word}.{what}"),
            };
            let mut label = w.t(&key).to_owned();
            if of.len() > 1 {
                label = format!("{label} · {name}");
            }
            let question = match *what {
                "restore" => None,
                _ => Some(w.f(&format!("{key}.sure"), name)),
            };
            page.buttons.push(Button {
                action: format!("/removals/{what}"),
                fields: vec![
                    ("collection", name.clone()),
                    ("kind", word.to_owned()),
                    ("value", removal.value.clone()),
                ],
                question,
                label,
            });
        }
    }
    Ok(())
}

/// Whether any collection hides it, by itself or with its host.
pub(super) fn is_hidden(app: &App, removal: &Removal) -> bool {
    match removal.kind {
        RemovalKind::Host => app.library.hides_host(&removal.value),
        RemovalKind::Url => app.library.hides(&removal.value),
    }
}

/// What is said of something that is hidden: of a page, whether it went with its host.
pub(super) fn told<'a>(app: &App, w: &'a Words, removal: &Removal) -> &'a str {
    let is_of_host = match removal.kind {
        RemovalKind::Host => true,
        RemovalKind::Url => CanonicalUrl::parse(&removal.value)
            .is_ok_and(|url| app.library.hides_host(url.host_str())),
    };
    w.t(if is_of_host {
        "host.removed"
    } else {
        "url.removed"
    })
}

/// What a button does.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum What {
    Remove,
    Restore,
    Erase,
}

/// What the button says.
#[derive(Debug, Deserialize)]
pub(crate) struct Wish {
    collection: String,
    kind: RemovalKind,
    value: String,
}

/// Removes it, shows it again, or erases it.
pub(crate) async fn act(
    State(app): State<App>,
    frame: Frame,
    Path(what): Path<What>,
    Form(wish): Form<Wish>,
) -> Response {
    app.look_up(frame, move |app, _| {
        let (name, value) = (&wish.collection, wish.value);
        let removal = Removal {
            kind: wish.kind,
            value: value.clone(),
        };
        // Of a deleted collection only this is left: nobody has a name to hide or to erase it under.
        if let (What::Restore, "") = (what, name.as_str()) {
            app.desk.show_kept(&removal)?;
            let to = [(header::LOCATION, "/settings#removals")];
            return Ok((StatusCode::SEE_OTHER, to).into_response());
        }
        match what {
            What::Remove => drop(app.desk.hide(name, &removal)?),
            What::Restore => app.desk.show(name, &removal)?,
            What::Erase => drop(app.desk.erase(name, &removal)?),
        }
        let to = match wish.kind {
            RemovalKind::Host => {
                format!("/hosts/{}?collection={}", escape(&value), escape(name))
            }
            RemovalKind::Url => format!("/explain?url={}", escape(&value)),
        };
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response())
    })
    .await
}
