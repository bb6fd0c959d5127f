//! `/bot`: who we are, in plain words, for webmasters. Public: whoever finds us in a log comes here.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use teia_engine::CollectionConfig;

use crate::pages::{App, Frame, html};

/// Letters of the operator's own text that are shown.
const MOST: u64 = 64 << 10;

#[derive(Template)]
#[template(path = "manage/bot.html")]
struct BotPage {
    frame: Frame,
    /// What the operator says, paragraph by paragraph.
    own: Vec<String>,
    agents: BTreeSet<String>,
    contacts: BTreeSet<String>,
    token: &'static str,
}

/// Who collects here, why, and how to keep us out.
pub(crate) async fn bot(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, |app, frame| {
        let mut agents = BTreeSet::new();
        let mut contacts = BTreeSet::new();
        for shelf in app.library.shelves() {
            let reading = &shelf.reading;
            let config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout());
            let Ok(Some(config)) = config else { continue };
            agents.insert(config.user_agent());
            contacts.extend(config.contact().map(str::to_owned));
        }
        html(&BotPage {
            own: own_text(app, frame.w.code()),
            agents,
            contacts,
            token: "Teia",
            frame,
        })
    })
    .await
}

/// `bot.pt.txt`, `bot.en.txt` or `bot.txt` in the data directory: paragraphs with empty lines between.
fn own_text(app: &App, language: &str) -> Vec<String> {
    let names = [format!("bot.{language}.txt"), "bot.txt".to_owned()];
    let text = names.iter().find_map(|name| app.library.own_file(name, MOST));
    let text = text.unwrap_or_default();
    let paragraphs = text.split("\n\n").map(str::trim);
    paragraphs
        .filter(|paragraph| !paragraph.is_empty())
        .map(str::to_owned)
        .collect()
}
