//! `/bot`: who we are, in plain words, for webmasters. Public: whoever finds us in a log comes here.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use teia_engine::{CollectionConfig, robot_token};

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
    /// What robots.txt calls us.
    token: String,
}

/// Who collects here, why, and how to keep us out.
pub(crate) async fn bot(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, |app, frame| {
        let mut agents = BTreeSet::new();
        let mut contacts = BTreeSet::new();
        let mut tokens = BTreeSet::new();
        for shelf in app.library.shelves() {
            let reading = &shelf.reading;
            let config =
                CollectionConfig::load(&*reading.files(), reading.root(), reading.layout());
            let Ok(Some(config)) = config else { continue };
            let agent = config.fetch.user_agent;
            contacts.extend(contact_in(&agent));
            tokens.insert(robot_token(&agent));
            agents.insert(agent);
        }
        html(&BotPage {
            own: own_text(app, frame.w.code()),
            agents,
            contacts,
            token: tokens.pop_first().unwrap_or_else(|| "Teia".to_owned()),
            frame,
        })
    })
    .await
}

/// The address behind the plus sign of a user agent: `Teia/1.0 (+https://example.org/bot)`.
fn contact_in(agent: &str) -> Option<String> {
    let (_, rest) = agent.split_once("(+")?;
    let (contact, _) = rest.split_once(')')?;
    Some(contact.to_owned())
}

/// `bot.pt.txt`, `bot.en.txt` or `bot.txt` in the data directory: paragraphs with empty lines between.
fn own_text(app: &App, language: &str) -> Vec<String> {
    let names = [format!("bot.{language}.txt"), "bot.txt".to_owned()];
    let text = names
        .iter()
        .find_map(|name| app.library.own_file(name, MOST));
    paragraphs(&text.unwrap_or_default())
}

/// What stands between lines with nothing on them; editors leave spaces and carriage returns there.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    let paragraphs = lines.split(|line| line.trim().is_empty());
    paragraphs
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n").trim().to_owned())
        .collect()
}
