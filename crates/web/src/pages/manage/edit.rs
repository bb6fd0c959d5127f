//! `/collections/new` and `/collections/NAME/edit`: a form that explains itself, with the file that it writes
//! beside it. Every setting is in it, in the order in which a person thinks.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Form, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use teia_engine::{CollectionConfig, Described, Trial, described, is_of_the_machine};

use crate::address::escape;
use crate::desk::{Changes, DeskError, NewCollection, ToCheck};
use crate::pages::{App, Failure, Frame, html, html_with};

/// The parts of the form: the key of its name, and what belongs there. What is in none of them comes last.
const PARTS: [(&str, &[&str]); 5] = [
    (
        "edit.what",
        &[
            "seeds",
            "mode",
            "filter.scope",
            "filter.include",
            "filter.exclude",
            "filter.max-depth",
            "filter.max-path-depth",
        ],
    ),
    (
        "edit.how-much",
        &[
            "filter.max-pages",
            "filter.max-pages-per-host",
            "filter.max-bytes",
            "filter.max-size",
            "run.max-time",
            "fetch.timeout",
            "run.hosts-at-once",
            "fetch.bandwidth",
            "run.order",
        ],
    ),
    (
        "edit.how-gently",
        &[
            "politeness.delay",
            "fetch.user-agent",
            "fetch.accept-language",
            "run.ignore-robots",
            "run.retries",
            "schedule.window",
        ],
    ),
    (
        "edit.when",
        &[
            "schedule.every",
            "schedule.cron",
            "schedule.time-zone",
            "schedule.start",
            "schedule.end",
            "schedule.deadline",
            "schedule.missed",
        ],
    ),
    (
        "edit.keep",
        &[
            "filter.types",
            "filter.languages",
            "archive.enabled",
            "index.enabled",
            "catalog.enabled",
        ],
    ),
];

#[derive(Template)]
#[template(path = "manage/edit.html")]
struct EditPage {
    frame: Frame,
    /// Empty for a collection that is to be.
    name: String,
    typed_name: String,
    parts: Vec<Part>,
    /// The file.
    text: String,
    words: Vec<String>,
    try_urls: String,
    trials: Vec<(String, bool, String)>,
    problem: String,
}

struct Part {
    title: String,
    is_open: bool,
    fields: Vec<Field>,
}

struct Field {
    key: String,
    label: String,
    meaning: String,
    value: String,
    usual: String,
    /// Lines of a list, or one value.
    is_list: bool,
    /// For a setting that is on or off.
    is_switch: bool,
    /// For one that is not changed over the network.
    is_of_the_machine: bool,
}

/// What was typed, by the names of the fields.
type Typed = Vec<(String, String)>;

/// The form of a new collection.
pub(crate) async fn new(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, |app, frame| {
        let page = page(app, frame, "", &Vec::new())?;
        html(&page)
    })
    .await
}

/// The form of a collection.
pub(crate) async fn edit(
    State(app): State<App>,
    frame: Frame,
    Path(name): Path<String>,
) -> Response {
    app.look_up(frame, move |app, frame| {
        let page = page(app, frame, &name, &Vec::new())?;
        html(&page)
    })
    .await
}

/// A new collection is made, or what was typed is shown again with what is wrong.
pub(crate) async fn create(
    State(app): State<App>,
    frame: Frame,
    Form(typed): Form<Typed>,
) -> Response {
    app.look_up(frame, move |app, frame| {
        let name = value_of(&typed, "name").trim().to_owned();
        let usual = CollectionConfig::default();
        let wanted = NewCollection {
            name: name.clone(),
            settings: changed(&described(&usual), &typed),
            ..NewCollection::default()
        };
        if value_of(&typed, "what") == "check" {
            return html(&checked(app, frame, "", &typed)?);
        }
        match app.desk.create(&wanted) {
            Ok(_) => Ok(see(&format!("/collections/{}?did=saved", escape(&name)))),
            Err(error) => refused(app, frame, "", &typed, error),
        }
    })
    .await
}

/// Settings are changed; comments in the file stay.
pub(crate) async fn save(
    State(app): State<App>,
    frame: Frame,
    Path(name): Path<String>,
    Form(typed): Form<Typed>,
) -> Response {
    app.look_up(frame, move |app, frame| {
        if value_of(&typed, "what") == "check" {
            return html(&checked(app, frame, &name, &typed)?);
        }
        let changes = if value_of(&typed, "what") == "save-text" {
            Changes {
                text: Some(value_of(&typed, "text").replace("\r\n", "\n")),
                ..Changes::default()
            }
        } else {
            Changes {
                settings: changed(&described(&current(app, &name)?), &typed),
                text: None,
            }
        };
        match app.desk.change(&name, &changes) {
            Ok(_) => Ok(see(&format!("/collections/{}?did=saved", escape(&name)))),
            Err(error) => refused(app, frame, &name, &typed, error),
        }
    })
    .await
}

/// The page again, with what is wrong.
fn refused(
    app: &App,
    frame: Frame,
    name: &str,
    typed: &Typed,
    error: DeskError,
) -> Result<Response, Failure> {
    let (DeskError::Wrong(problem) | DeskError::Conflict(problem)) = error else {
        return Err(error.into());
    };
    let mut page = page(app, frame, name, typed)?;
    page.problem = problem;
    html_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The page again, with what would happen.
fn checked(app: &App, frame: Frame, name: &str, typed: &Typed) -> Result<EditPage, Failure> {
    let mut page = page(app, frame, name, typed)?;
    let (config, text) = if name.is_empty() {
        let usual = CollectionConfig::default();
        let text = teia_engine::annotated(&usual);
        (usual, Some(text))
    } else {
        (current(app, name)?, None)
    };
    let urls = page.try_urls.lines().map(str::trim);
    let what = ToCheck {
        text,
        settings: changed(&described(&config), typed),
        urls: urls
            .filter(|url| !url.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    let shown = if name.is_empty() { "new" } else { name };
    let checked = app.desk.check(shown, &what)?;
    page.problem = checked.problem.unwrap_or_default();
    page.words = checked.words;
    page.text = checked.text.unwrap_or(page.text);
    let trial = |trial: Trial| {
        let told = trial.told();
        match trial {
            Trial::NoUrl { url, .. } => (url, false, told),
            Trial::Tried { url, in_scope, .. } => (url, in_scope, told),
        }
    };
    page.trials = checked.urls.into_iter().map(trial).collect();
    Ok(page)
}

fn page(app: &App, frame: Frame, name: &str, typed: &Typed) -> Result<EditPage, Failure> {
    let w = frame.w;
    let (config, text, words, problem) = if name.is_empty() {
        let config = CollectionConfig::default();
        (config, String::new(), Vec::new(), String::new())
    } else {
        let view = app.desk.collection(name)?;
        let config = current(app, name);
        let problem = view.card.problem.filter(|_| config.is_err());
        let config = config.unwrap_or_default();
        (
            config,
            view.text.unwrap_or_default(),
            view.words,
            problem.unwrap_or_default(),
        )
    };
    let usual = described(&CollectionConfig::default());
    let mut left: Vec<Field> = described(&config)
        .into_iter()
        .map(|setting| {
            let usual = usual.iter().find(|usual| usual.key == setting.key);
            let usual = usual.map_or_else(String::new, |usual| shown(&usual.value));
            let value = typed.iter().find(|(key, _)| *key == setting.key);
            Field {
                label: label_of(&setting.key),
                value: value.map_or_else(|| shown(&setting.value), |(_, value)| value.clone()),
                is_list: setting.is_list,
                is_switch: matches!(setting.value, Value::Bool(_)),
                is_of_the_machine: is_of_the_machine(&setting.key),
                meaning: w.setting(&setting.key, &setting.meaning).to_owned(),
                key: setting.key,
                usual,
            }
        })
        .collect();
    let mut parts = Vec::new();
    for (title, keys) in PARTS {
        let mut fields = Vec::new();
        for key in keys {
            if let Some(at) = left.iter().position(|field| field.key == *key) {
                fields.push(left.remove(at));
            }
        }
        parts.push(Part {
            title: w.t(title).to_owned(),
            is_open: true,
            fields,
        });
    }
    parts.push(Part {
        title: w.t("edit.rest").to_owned(),
        is_open: false,
        fields: left,
    });
    Ok(EditPage {
        name: name.to_owned(),
        typed_name: value_of(typed, "name").to_owned(),
        parts,
        text,
        words,
        try_urls: value_of(typed, "try").to_owned(),
        trials: Vec::new(),
        problem,
        frame,
    })
}

/// The last word of a key; of a site's setting, which site as well.
fn label_of(key: &str) -> String {
    let name = key.rsplit('.').next().unwrap_or("").replace('-', " ");
    match key.split('.').collect::<Vec<_>>()[..] {
        [list @ ("site" | "login"), number, ..] => format!("{list} {number}: {name}"),
        _ => name,
    }
}

/// The settings as the file has them.
fn current(app: &App, name: &str) -> Result<CollectionConfig, DeskError> {
    app.desk.settings(name)
}

fn see(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to.to_owned())]).into_response()
}

fn value_of<'a>(typed: &'a Typed, name: &str) -> &'a str {
    let found = typed.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value)
}

/// What differs from what was shown; what was emptied gets its default again.
fn changed(settings: &[Described], typed: &Typed) -> BTreeMap<String, Value> {
    let mut changes = BTreeMap::new();
    for setting in settings {
        let Some((_, value)) = typed.iter().find(|(key, _)| *key == setting.key) else {
            continue;
        };
        let value = value.replace("\r\n", "\n");
        let value = value.trim();
        if value == shown(&setting.value) {
            continue;
        }
        let new = if value.is_empty() {
            Value::Null
        } else if setting.is_list {
            let lines = value.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(Value::from).collect()
        } else {
            Value::from(value)
        };
        changes.insert(setting.key.clone(), new);
    }
    changes
}

/// A value as it is typed: a line for each entry of a list, nothing for what is unset.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(entries) => {
            let lines: Vec<String> = entries.iter().map(shown).collect();
            lines.join("\n")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_parts_is_one() {
        let all = described(&CollectionConfig::default());
        for (_, keys) in PARTS {
            for key in keys {
                assert!(all.iter().any(|setting| setting.key == *key), "{key}");
            }
        }
    }

    #[test]
    fn only_what_was_typed_anew_is_a_change() {
        let settings = described(&CollectionConfig::default());
        let typed = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let as_shown: Typed = settings
            .iter()
            .map(|setting| typed(&setting.key, &shown(&setting.value)))
            .collect();
        assert!(changed(&settings, &as_shown).is_empty());
        let some = vec![
            typed("politeness.delay", "2s"),
            typed("seeds", "http://a.example/\r\n\r\n http://b.example/ "),
            typed("filter.max-pages", ""),
            typed("archive.enabled", ""),
            typed("what", "save"),
        ];
        let changes = changed(&settings, &some);
        assert_eq!(changes["politeness.delay"], "2s");
        assert_eq!(
            changes["seeds"],
            serde_json::json!(["http://a.example/", "http://b.example/"])
        );
        assert_eq!(changes["archive.enabled"], Value::Null);
        assert_eq!(changes.len(), 3, "{changes:?}");
    }
}
