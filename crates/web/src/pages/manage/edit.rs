//! `/collections/new` and `/collections/NAME/edit`: a form that explains itself, with the file that it writes
//! beside it. Every setting is in it, in the order in which a person thinks.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Form, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use teia_engine::{CollectionConfig, Described, Trial, described};

use super::Button;
use crate::address::escape;
use crate::desk::{Changes, DeskError, NewCollection, ToCheck};
use crate::pages::{App, Failure, Frame, html, html_with};
use crate::words::Words;

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
    remove: Option<Button>,
}

struct Part {
    title: String,
    is_open: bool,
    fields: Vec<Field>,
}

impl Part {
    /// What is wrong is seen at once.
    fn is_wrong(&self) -> bool {
        self.fields.iter().any(|field| !field.problem.is_empty())
    }
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
    /// What it may be, where that is a list.
    choices: &'static [&'static str],
    /// The endings that belong to the scope `suffix`.
    suffix: Option<String>,
    /// What is wrong with what was typed.
    problem: String,
}

impl Field {
    fn is_choice(&self) -> bool {
        self.choices.contains(&self.value.as_str())
    }
}

/// Settings that are one of a few words.
const CHOICES: [(&str, &[&str]); 6] = [
    ("mode", &["once", "periodic", "incremental"]),
    ("run.refill", &["share", "expand", "refresh"]),
    ("run.new-hosts", &["order", "shortest-path"]),
    (SCOPE, &["host", "domain", "prefix", "any", SUFFIX]),
    (
        "run.order",
        &[
            "breadth",
            "depth",
            "random",
            "longest-wait",
            "priority",
            "backlinks",
            "pagerank",
        ],
    ),
    ("schedule.missed", &["run", "skip"]),
];
/// The scope, which is a word, or a word with endings of names.
const SCOPE: &str = "filter.scope";
const SUFFIX: &str = "suffix";
/// The field of the form for the endings.
const ENDINGS: &str = "filter.scope.suffix";

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
    let typed = joined(typed);
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
    let typed = joined(typed);
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

/// Deletes a collection, with everything that was collected.
pub(crate) async fn remove(
    State(app): State<App>,
    frame: Frame,
    Path(name): Path<String>,
) -> Response {
    app.look_up(frame, move |app, _| {
        app.desk.remove(&name)?;
        Ok(see("/collections?did=removed"))
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
    let problem = match error {
        DeskError::Wrong(problem) | DeskError::Conflict(problem) => problem,
        DeskError::Settings { sentence, .. } => sentence,
        error => return Err(error.into()),
    };
    let mut page = page(app, frame, name, typed)?;
    page.problem = page.frame.w.sentence(&problem);
    blame(app, &mut page, name, typed)?;
    html_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The page again, with what would happen.
fn checked(app: &App, frame: Frame, name: &str, typed: &Typed) -> Result<EditPage, Failure> {
    let mut page = page(app, frame, name, typed)?;
    let (config, text) = base(app, name)?;
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
    let problem = checked.problem.unwrap_or_default();
    page.problem = page.frame.w.sentence(&problem);
    if !page.problem.is_empty() {
        blame(app, &mut page, name, typed)?;
    }
    let w = page.frame.w;
    page.words = in_tongue(w, &checked.words);
    page.text = checked.text.unwrap_or(page.text);
    let trial = |trial: Trial| {
        let told = w.sentence(&trial.told());
        match trial {
            Trial::NoUrl { url, .. } => (url, false, told),
            Trial::Tried { url, in_scope, .. } => (url, in_scope, told),
        }
    };
    page.trials = checked.urls.into_iter().map(trial).collect();
    Ok(page)
}

/// What is changed by the form: the settings that are there, and the file of a collection that is to be.
fn base(app: &App, name: &str) -> Result<(CollectionConfig, Option<String>), DeskError> {
    if name.is_empty() {
        let usual = CollectionConfig::default();
        let text = teia_engine::annotated(&usual);
        return Ok((usual, Some(text)));
    }
    Ok((current(app, name)?, None))
}

/// Says what is wrong beside the field that is: each change is tried alone.
fn blame(app: &App, page: &mut EditPage, name: &str, typed: &Typed) -> Result<(), Failure> {
    let Ok((config, text)) = base(app, name) else {
        return Ok(());
    };
    let shown = if name.is_empty() { "new" } else { name };
    for (key, value) in changed(&described(&config), typed) {
        let what = ToCheck {
            text: text.clone(),
            settings: [(key.clone(), value)].into(),
            urls: Vec::new(),
        };
        let tried = app.desk.check(shown, &what)?;
        let Some(problem) = tried.problem else {
            continue;
        };
        let own = tried.errors.into_iter().next();
        let problem = own.map_or(problem, |own| own.detail);
        let fields = page.parts.iter_mut().flat_map(|part| &mut part.fields);
        if let Some(field) = fields.into_iter().find(|field| field.key == key) {
            field.problem = page.frame.w.sentence(&problem);
            page.problem = page.frame.w.f("edit.see", &field.label);
        }
    }
    Ok(())
}

/// The endings go back to the scope that they belong to.
fn joined(mut typed: Typed) -> Typed {
    let endings = value_of(&typed, ENDINGS).trim().to_owned();
    for (key, value) in &mut typed {
        if key == SCOPE && value == SUFFIX {
            *value = format!("{SUFFIX}:{endings}");
        }
    }
    typed
}

/// What the engine says of a collection, in the language of the page.
fn in_tongue(w: &Words, sentences: &[String]) -> Vec<String> {
    sentences
        .iter()
        .map(|sentence| w.sentence(sentence))
        .collect()
}

/// Text with its names apart: what stands between backticks is one.
fn pieces(text: &str) -> Vec<(bool, &str)> {
    let pieces = text.split('`').enumerate();
    pieces
        .map(|(at, piece)| (at % 2 == 1, piece))
        .filter(|(_, piece)| !piece.is_empty())
        .collect()
}

fn page(app: &App, frame: Frame, name: &str, typed: &Typed) -> Result<EditPage, Failure> {
    let w = frame.w;
    let (config, text, words, problem) = if name.is_empty() {
        let config = CollectionConfig::default();
        let text = teia_engine::annotated(&config);
        (config, text, Vec::new(), String::new())
    } else {
        let view = app.desk.collection(name)?;
        let config = current(app, name);
        let problem = view.card.problem.filter(|_| config.is_err());
        let config = config.unwrap_or_default();
        (
            config,
            view.text.unwrap_or_default(),
            in_tongue(w, &view.words),
            w.sentence(&problem.unwrap_or_default()),
        )
    };
    let usual = described(&CollectionConfig::default());
    let mut left: Vec<Field> = described(&config)
        .into_iter()
        .map(|setting| {
            let usual = usual.iter().find(|usual| usual.key == setting.key);
            let usual = usual.map_or_else(String::new, |usual| shown(&usual.value));
            let value = typed.iter().find(|(key, _)| *key == setting.key);
            let mut value = value.map_or_else(|| shown(&setting.value), |(_, value)| value.clone());
            let choices = CHOICES.iter().find(|(key, _)| *key == setting.key);
            let mut suffix = None;
            if setting.key == SCOPE {
                let endings = value
                    .strip_prefix(SUFFIX)
                    .map(|it| it.trim_start_matches(':').to_owned());
                if endings.is_some() {
                    SUFFIX.clone_into(&mut value);
                }
                suffix = Some(endings.unwrap_or_default());
            }
            Field {
                label: label_of(w, &setting.key),
                value,
                choices: choices.map_or(&[], |(_, choices)| choices),
                suffix,
                problem: String::new(),
                is_list: setting.is_list,
                is_switch: matches!(setting.value, Value::Bool(_)),
                is_of_the_machine: app.desk.keeps(&setting.key),
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
    // The rest by its sections, each in a fold of its own.
    for field in left {
        let section = field
            .key
            .rsplit_once('.')
            .map_or("", |(section, _)| section);
        let key = format!("section.{section}");
        let mut steps = section.split('.');
        let of_list = match (steps.next(), steps.next()) {
            (Some(list @ ("site" | "login")), Some(number)) => Some((list, number)),
            _ => None,
        };
        let title = match (w.t(&key), section) {
            _ if let Some((list, number)) = of_list => {
                format!("{} {number}", w.t(&format!("section.{list}")))
            }
            (title, _) if title != key => title.to_owned(),
            (_, "") => w.t("edit.rest").to_owned(),
            (_, section) => section.to_owned(),
        };
        match parts
            .iter_mut()
            .find(|part| !part.is_open && part.title == title)
        {
            Some(part) => part.fields.push(field),
            None => parts.push(Part {
                title,
                is_open: false,
                fields: vec![field],
            }),
        }
    }
    let remove = (!name.is_empty()).then(|| Button {
        action: format!("/collections/{}/remove", escape(name)),
        fields: Vec::new(),
        label: w.t("collection.remove").to_owned(),
        question: Some(w.f("collection.remove.sure", name)),
    });
    Ok(EditPage {
        remove,
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

/// What people call a setting, or the last word of its key; of a site's setting, which site as well.
fn label_of(w: &Words, key: &str) -> String {
    let known = format!("field.{key}");
    if w.t(&known) != known {
        return w.t(&known).to_owned();
    }
    let name = w.label(key.rsplit('.').next().unwrap_or(""));
    match key.split('.').collect::<Vec<_>>()[..] {
        [list @ ("site" | "login"), number, ..] => {
            format!("{} {number}: {name}", w.t(&format!("section.{list}")))
        }
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
    fn a_scope_by_endings_is_one_value() {
        let typed = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let all = joined(vec![typed(SCOPE, SUFFIX), typed(ENDINGS, " .pt,.br ")]);
        assert_eq!(value_of(&all, SCOPE), "suffix:.pt,.br");
        let all = joined(vec![typed(SCOPE, "host"), typed(ENDINGS, ".pt")]);
        assert_eq!(value_of(&all, SCOPE), "host");
        assert_eq!(
            pieces("a `b` c"),
            [(false, "a "), (true, "b"), (false, " c")]
        );
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
