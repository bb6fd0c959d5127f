//! The files of collections: shown, checked, made, changed and removed. Comments stay where people wrote them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use teia_base::{Clock, Seed, SystemClock};
use teia_engine::{
    CollectionConfig, CollectionFile, Directory, EngineError, Layout, TakenUp, Tester, Trial, Turn,
    WrongSetting, annotated, hand_over, in_words, next_run_in_words, seeds_file_in_words,
};
use url::Url;

use super::figures::lock;
use super::machine::keep_to_the_machine;
use super::{Card, Desk, DeskError, no_collection};

/// How long a directory may stay in use after its last run has ended.
const LETS_GO: Duration = Duration::from_secs(10);
/// URLs that are tried at once.
const MOST_TRIED: usize = 100;

/// A collection with its file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CollectionView {
    /// Where it stands.
    #[serde(flatten)]
    pub(crate) card: Card,
    /// Its file, as it is written; nothing where it cannot be read.
    pub(crate) text: Option<String>,
    /// Every setting, those that the file leaves out too.
    pub(crate) settings: Option<Value>,
    /// What it would do, sentence by sentence.
    pub(crate) words: Vec<String>,
}

impl CollectionView {
    /// The same without where exactly webhooks go: such a URL is often all that its receiver asks for, and who may only
    /// look need not have it.
    pub(crate) fn without_receivers(mut self) -> Self {
        let settings = self.settings.as_mut();
        let urls = settings.and_then(|settings| settings.pointer_mut("/webhook/urls"));
        for url in urls.and_then(Value::as_array_mut).into_iter().flatten() {
            *url = Value::from(receiver(url.as_str().unwrap_or_default()));
        }
        self.text = self.text.and_then(|text| hide_receivers(&text));
        self
    }
}

impl Checked {
    /// The same without where exactly webhooks go.
    pub(crate) fn without_receivers(mut self) -> Self {
        self.text = self.text.and_then(|text| hide_receivers(&text));
        self
    }
}

/// A file with its receivers cut to their hosts; none where it cannot be read, or spells them in another way.
fn hide_receivers(text: &str) -> Option<String> {
    let urls = |text: &str| -> Option<Vec<String>> {
        let table = toml::from_str::<toml::Table>(text).ok()?;
        let urls = table.get("webhook").and_then(|it| it.get("urls"));
        let urls = urls.and_then(toml::Value::as_array).into_iter().flatten();
        Some(
            urls.filter_map(|url| url.as_str().map(str::to_owned))
                .collect(),
        )
    };
    let mut hidden = text.to_owned();
    for url in urls(text)? {
        hidden = hidden.replace(&url, &receiver(&url));
    }
    let is_cut = |url: &String| *url == receiver(url);
    urls(&hidden)?.iter().all(is_cut).then_some(hidden)
}

/// Scheme, host and port of a receiver.
fn receiver(url: &str) -> String {
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
    format!("{}/…", origin.unwrap_or_default())
}

/// A collection that is to be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCollection {
    /// Its name.
    pub(crate) name: String,
    /// Where it begins.
    #[serde(default)]
    pub(crate) seeds: Vec<String>,
    /// Settings: `{"politeness.delay": "2s"}`.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, Value>,
    /// Or the whole file.
    #[serde(default)]
    pub(crate) text: Option<String>,
}

/// What is to change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    /// Settings with their new values; `null` gives one its default again.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, Value>,
    /// Or the whole file.
    #[serde(default)]
    pub(crate) text: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Changed {
    /// The file now.
    pub(crate) text: String,
    /// Lines that are gone, with a `-`, and lines that have come, with a `+`.
    pub(crate) differences: Vec<String>,
    /// From when on it counts.
    pub(crate) counts: String,
}

/// What is to be checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToCheck {
    /// The file; without it, that of the collection.
    #[serde(default)]
    pub(crate) text: Option<String>,
    /// Settings beside it.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, Value>,
    /// URLs to try.
    #[serde(default)]
    pub(crate) urls: Vec<String>,
}

/// What a collection would do.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Checked {
    /// Whether the settings are good.
    pub(crate) good: bool,
    /// What is wrong with them.
    pub(crate) problem: Option<String>,
    /// The settings that are, each with what is.
    pub(crate) errors: Vec<SettingError>,
    /// What they would do, sentence by sentence.
    pub(crate) words: Vec<String>,
    /// The file with them.
    pub(crate) text: Option<String>,
    /// What the rules say of each URL.
    pub(crate) urls: Vec<Trial>,
}

/// What is wrong with one of the settings that were sent.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SettingError {
    /// Its name, as it was sent.
    pub(crate) setting: String,
    /// What is wrong, and what to write.
    pub(crate) detail: String,
    /// Where it stands in what was sent: a JSON Pointer (RFC 6901), as RFC 9457 has it in its example.
    pub(crate) pointer: String,
}

impl From<&WrongSetting> for SettingError {
    fn from(wrong: &WrongSetting) -> Self {
        let escaped = wrong.key.replace('~', "~0").replace('/', "~1");
        Self {
            setting: wrong.key.clone(),
            detail: wrong.message.clone(),
            pointer: format!("/settings/{escaped}"),
        }
    }
}

impl Desk {
    /// A collection with its file.
    pub(crate) fn collection(&self, name: &str) -> Result<CollectionView, DeskError> {
        let card = self.card(name)?;
        let file = self.file(name).ok().map(|(_, _, file)| file);
        let settings = file.as_ref().and_then(|file| {
            let plain = file.config().without_secrets();
            let table = toml::Table::try_from(plain).ok()?;
            serde_json::to_value(table).ok()
        });
        let raw = || {
            let directory = self.directory().ok()?;
            let layout = Layout::new(name).ok()?;
            let bytes = directory.files().read(&layout.config()).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(CollectionView {
            card,
            words: file
                .as_ref()
                .map_or_else(Vec::new, |file| self.words(name, file.config())),
            text: file
                .as_ref()
                .map(|file| file.text().to_owned())
                .or_else(raw),
            settings,
        })
    }

    /// What it would do, sentence by sentence, and when.
    fn words(&self, name: &str, config: &CollectionConfig) -> Vec<String> {
        let mut words = in_words(name, config);
        let (began, now) = (self.last_began(name), SystemClock.wall());
        words.extend(next_run_in_words(&config.schedule, began, now));
        words
    }

    /// Its settings, as the file has them.
    pub(crate) fn settings(&self, name: &str) -> Result<CollectionConfig, DeskError> {
        Ok(self.file(name)?.2.config().without_secrets())
    }

    /// Its file, which must be good.
    pub(super) fn file(
        &self,
        name: &str,
    ) -> Result<(Directory, Layout, CollectionFile), DeskError> {
        let (directory, reading) = self.reading(name)?;
        let layout = reading.layout().clone();
        let file = CollectionFile::read(&*directory.files(), directory.root(), &layout)?;
        let file = file.ok_or_else(|| no_collection(name))?;
        Ok((directory, layout, file))
    }

    /// Makes a collection. Nothing begins by that, unless its schedule says so.
    pub(crate) fn create(&self, wanted: &NewCollection) -> Result<CollectionView, DeskError> {
        let layout = Layout::new(&wanted.name)?;
        let _turn = lock(&self.changing);
        let directory = Directory::create(&self.root)?;
        let files = directory.files();
        let _alone = Turn::take(&*files)?;
        if files.exists(&layout.config()) || files.exists(&layout.journal()) {
            let sentence = format!("there is a collection `{}` already", wanted.name);
            return Err(DeskError::Conflict(sentence));
        }
        let usual = CollectionConfig::default();
        let mut base = usual.clone();
        base.seeds = good_seeds(&wanted.seeds)?;
        let text = match &wanted.text {
            Some(text) if base.seeds.is_empty() => text.clone(),
            Some(_) => {
                let sentence = "write the seeds into `text`, or leave `text` out";
                return Err(DeskError::Wrong(sentence.to_owned()));
            }
            None => annotated(&base),
        };
        let file = CollectionFile::new(directory.root(), &layout, text)?;
        let file = with_settings(file, &wanted.settings)?;
        keep_to_the_machine(&usual, file.config(), self.inside)?;
        file.save(&*files)?;
        self.forget(&wanted.name);
        self.collection(&wanted.name)
    }

    /// Changes the file of a collection; a run under way takes in what it can.
    pub(crate) fn change(&self, name: &str, changes: &Changes) -> Result<Changed, DeskError> {
        let _turn = lock(&self.changing);
        let (directory, reading) = self.reading(name)?;
        let (files, layout) = (directory.files(), reading.layout());
        let turn = Turn::take(&*files)?;
        let read = CollectionFile::read(&*files, directory.root(), layout);
        let after = match (&read, &changes.text) {
            (_, Some(text)) => CollectionFile::new(directory.root(), layout, text.clone())?,
            (Ok(Some(before)), None) => before.clone(),
            (Ok(None), None) => return Err(no_collection(name)),
            (Err(_), None) => {
                let sentence =
                    "the file of this collection has a mistake: send the whole of it as `text`";
                return Err(DeskError::Conflict(sentence.to_owned()));
            }
        };
        let after = with_settings(after, &changes.settings)?;
        let before = read.ok().flatten();
        let usual = CollectionConfig::default();
        let old = before.as_ref().map_or(&usual, CollectionFile::config);
        keep_to_the_machine(old, after.config(), self.inside)?;
        match &before {
            Some(before) => before.replace_by(&after, &*files, layout)?,
            None => after.save(&*files)?,
        }
        drop(turn);
        let taken = hand_over(&directory.control_socket(), layout.name(), after.config());
        Ok(Changed {
            differences: differences(
                before.as_ref().map_or("", CollectionFile::text),
                after.text(),
            ),
            text: after.text().to_owned(),
            counts: match taken {
                Ok(TakenUp::NoRun) => "from the next start on".to_owned(),
                Ok(TakenUp::Minded) => {
                    "the run under way goes on with it, as far as it can change under a run"
                        .to_owned()
                }
                Ok(TakenUp::Answered(answer)) => answer,
                Ok(TakenUp::Refused(why)) => {
                    format!("from the next start on: the run under way cannot take it ({why})")
                }
                Err(error) => format!("from the next start on: {error}"),
            },
        })
    }

    /// Says what a collection would do, and what its rules say of URLs. Nothing is written.
    pub(crate) fn check(&self, name: &str, what: &ToCheck) -> Result<Checked, DeskError> {
        if what.urls.len() > MOST_TRIED {
            let sentence = format!("at most {MOST_TRIED} URLs are tried at once");
            return Err(DeskError::Wrong(sentence));
        }
        let layout = Layout::new(name)?;
        let usual = CollectionConfig::default();
        let there = self.file(name).ok().map(|(_, _, file)| file);
        let before = there.as_ref().map_or(&usual, CollectionFile::config);
        let file = match &what.text {
            Some(text) => CollectionFile::new(&self.root, &layout, text.clone()),
            None => {
                let (directory, reading) = self.reading(name)?;
                let (files, layout) = (directory.files(), reading.layout());
                let read = CollectionFile::read(&*files, directory.root(), layout);
                match read {
                    Ok(Some(file)) => Ok(file),
                    Ok(None) => return Err(no_collection(name)),
                    Err(error) => Err(error),
                }
            }
        };
        let file = file
            .map_err(DeskError::from)
            .and_then(|file| with_settings(file, &what.settings))
            .and_then(|file| {
                keep_to_the_machine(before, file.config(), self.inside)?;
                Ok(file)
            });
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                let errors = match &error {
                    DeskError::Settings { wrong, .. } => wrong.iter().map(Into::into).collect(),
                    DeskError::Wrong(_) => Vec::new(),
                    _ => return Err(error),
                };
                return Ok(Checked {
                    good: false,
                    problem: Some(error.to_string()),
                    errors,
                    words: Vec::new(),
                    text: None,
                    urls: Vec::new(),
                });
            }
        };
        let mut words = self.words(name, file.config());
        let mut seeds = Vec::new();
        // Only a file that was named on the machine is read: what stands in others is nobody's business.
        let named = self.settings(name).ok().and_then(|it| it.seeds_file);
        if let Some(directory) = file.path().parent()
            && named.is_some()
            && named == file.config().seeds_file
        {
            match file.config().seeds_in_file(directory) {
                Ok(found) => seeds = found,
                Err(error) => words.push(format!("{error}.")),
            }
            words.extend(seeds_file_in_words(file.config(), directory).ok().flatten());
        }
        let tester = Tester::new(file.config(), &seeds)?;
        Ok(Checked {
            good: true,
            problem: None,
            errors: Vec::new(),
            words,
            text: Some(file.text().to_owned()),
            urls: what.urls.iter().map(|url| tester.answer(url)).collect(),
        })
    }

    /// Deletes a collection: its file, and everything that was collected.
    pub(crate) fn remove(&self, name: &str) -> Result<(), DeskError> {
        let _turn = lock(&self.changing);
        let (directory, reading) = self.reading(name)?;
        let until = Instant::now() + LETS_GO;
        loop {
            match directory.remove_collection(reading.layout()) {
                // A run that has just ended keeps the directory for another moment.
                Err(EngineError::InUse { .. })
                    if Instant::now() < until && self.under_way().is_empty() =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                removed => {
                    removed?;
                    self.forget(name);
                    return Ok(());
                }
            }
        }
    }
}

fn good_seeds(seeds: &[String]) -> Result<Vec<String>, DeskError> {
    let mut good: Vec<String> = Vec::new();
    for seed in seeds {
        let parsed = Seed::parse(seed).map_err(EngineError::from)?;
        if parsed.is_some() && !good.contains(seed) {
            good.push(seed.clone());
        }
    }
    Ok(good)
}

/// The file with these settings, as `teia collection edit --set` makes it.
pub(super) fn with_settings(
    file: CollectionFile,
    settings: &BTreeMap<String, Value>,
) -> Result<CollectionFile, DeskError> {
    let mut texts: Vec<(&str, Option<String>)> = Vec::new();
    for (key, value) in settings {
        let text = match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Object(_) => {
                let wrong = WrongSetting {
                    key: key.clone(),
                    message: format!("`{key}` is a section; name a setting of it: `{key}.…`"),
                };
                return Err(EngineError::Settings(vec![wrong]).into());
            }
            // Numbers, truth values and lists are written alike in JSON and TOML.
            value => Some(value.to_string()),
        };
        texts.push((key, text));
    }
    let changes = texts.iter().map(|(key, text)| (*key, text.as_deref()));
    Ok(file.with_changes(changes.collect())?)
}

/// Lines that are gone and lines that have come.
fn differences(before: &str, after: &str) -> Vec<String> {
    let only = |text: &str, other: &str, mark: char| -> Vec<String> {
        let known: std::collections::HashSet<&str> = other.lines().collect();
        let lines = text.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    let mut lines = only(before, after, '-');
    lines.extend(only(after, before, '+'));
    lines
}
