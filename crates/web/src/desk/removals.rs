//! What people asked to have removed from view.

use serde::{Deserialize, Serialize};
use teia_base::{CanonicalUrl, Files};
use teia_engine::{CollectionConfig, EngineError, Removals, Turn, tell_of_removals};

use super::figures::lock;
use super::{Desk, DeskError, Page, Window};

/// Something that is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Removal {
    /// A URL or a host.
    pub(crate) kind: RemovalKind,
    /// Which.
    pub(crate) value: String,
}

/// A removal, and who remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Remembered {
    /// The collection; none for what deleted ones hid, which no run fetches all the same.
    pub(crate) collection: Option<String>,
    /// What is hidden.
    #[serde(flatten)]
    pub(crate) removal: Removal,
}

/// What is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RemovalKind {
    /// One page.
    Url,
    /// Everything on a host.
    Host,
}

impl Desk {
    /// What a collection hides.
    pub(crate) fn removals(&self, name: &str, window: Window) -> Result<Page<Removal>, DeskError> {
        let (_, reading) = self.reading(name)?;
        let removals = read(&reading)?;
        Ok(window.of(each(&removals).collect()))
    }

    /// What all collections of the directory hide, and what was hidden by those that are deleted.
    pub(crate) fn all_removals(&self, window: Window) -> Result<Page<Remembered>, DeskError> {
        let directory = match self.directory() {
            Ok(directory) => directory,
            Err(DeskError::Missing(_)) => return Ok(window.of(Vec::new())),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for name in directory.collections() {
            let (_, reading) = self.reading(&name)?;
            all.extend(each(&read(&reading)?).map(|removal| Remembered {
                collection: Some(name.clone()),
                removal,
            }));
        }
        all.extend(
            each(&read_kept(&*directory.files())?).map(|removal| Remembered {
                collection: None,
                removal,
            }),
        );
        Ok(window.of(all))
    }

    /// Whether this is hidden, by whichever collection of the directory: whoever asked to be left alone did not ask one.
    pub(crate) fn is_hidden(&self, by: impl FnOnce(&Removals) -> bool) -> Result<bool, DeskError> {
        let all = Removals::read_all(&*self.directory()?.files());
        let all = all.map_err(EngineError::disk("read", "the list of removals"))?;
        Ok(by(&all))
    }

    /// Takes back what was hidden by collections that are deleted; those that are there hide it still.
    pub(crate) fn show_kept(&self, removal: &Removal) -> Result<(), DeskError> {
        let turn = lock(&self.changing);
        let directory = self.directory()?;
        let files = directory.files();
        let alone = Turn::take(&*files)?;
        let mut kept = read_kept(&*files)?;
        let mut was_hidden = false;
        match removal.kind {
            RemovalKind::Url => {
                let spellings = CollectionConfig::default().spellings(&removal.value);
                for url in &spellings.map_err(EngineError::from)? {
                    was_hidden |= kept.restore_url(url.normal());
                }
            }
            RemovalKind::Host => was_hidden = kept.restore_host(&host_name(&removal.value)?),
        }
        if !was_hidden {
            return Err(not_hidden(removal));
        }
        let written = kept.write_kept(&*files);
        written.map_err(EngineError::disk("write", "the list of removals"))?;
        drop((alone, turn));
        tell_of_removals(&directory.control_socket());
        Ok(())
    }

    /// Hides a page or a host from search and copies, at once; says what is hidden now.
    pub(crate) fn hide(&self, name: &str, removal: &Removal) -> Result<Vec<Removal>, DeskError> {
        self.edit(name, removal, true).map(|done| {
            let all = done.into_iter();
            all.map(|(removal, _)| removal).collect()
        })
    }

    /// Shows it again; nothing where it was not hidden.
    pub(crate) fn show(&self, name: &str, removal: &Removal) -> Result<(), DeskError> {
        let done = self.edit(name, removal, false)?;
        if done.iter().any(|(_, was_hidden)| *was_hidden) {
            return Ok(());
        }
        Err(not_hidden(removal))
    }

    fn edit(
        &self,
        name: &str,
        removal: &Removal,
        hides: bool,
    ) -> Result<Vec<(Removal, bool)>, DeskError> {
        let turn = lock(&self.changing);
        let (directory, reading) = self.reading(name)?;
        let (files, layout) = (reading.files(), reading.layout());
        let alone = Turn::take(&*files)?;
        let mut removals = read(&reading)?;
        // What is shown again is no longer remembered of collections that are deleted, either.
        let mut kept = read_kept(&*files)?;
        let before = kept.clone();
        let mut done = Vec::new();
        match removal.kind {
            RemovalKind::Url => {
                let config = CollectionConfig::load(&*files, reading.root(), layout);
                let config = config.ok().flatten().unwrap_or_default();
                // Without a scheme both are meant.
                let spellings = config.spellings(&removal.value);
                let spellings = spellings.map_err(EngineError::from)?;
                for url in &spellings {
                    let url = url.normal();
                    let is_new = if hides {
                        removals.add_url(url)
                    } else {
                        removals.restore_url(url) | kept.restore_url(url)
                    };
                    done.push((url.to_string(), is_new));
                }
            }
            RemovalKind::Host => {
                let host = host_name(&removal.value)?;
                let is_new = if hides {
                    removals.add_host(&host)
                } else {
                    removals.restore_host(&host) | kept.restore_host(&host)
                };
                done.push((host, is_new));
            }
        }
        if done.is_empty() {
            return Err(DeskError::Wrong("name a URL or a host".to_owned()));
        }
        if done.iter().any(|(_, is_new)| *is_new) {
            let written = removals.write(&*files, layout);
            written.map_err(EngineError::disk("write", "the list of removals"))?;
        }
        if kept != before {
            let written = kept.write_kept(&*files);
            written.map_err(EngineError::disk("write", "the list of removals"))?;
        }
        drop((alone, turn));
        // What waits is counted without it from here on, in whichever process it would have waited.
        tell_of_removals(&directory.control_socket());
        let kind = removal.kind;
        let done = done.into_iter();
        Ok(done
            .map(|(value, is_new)| (Removal { kind, value }, is_new))
            .collect())
    }
}

fn read(reading: &teia_engine::Reading) -> Result<Removals, DeskError> {
    let removals = Removals::read(&*reading.files(), reading.layout());
    Ok(removals.map_err(EngineError::disk("read", "the list of removals"))?)
}

fn read_kept(files: &dyn Files) -> Result<Removals, DeskError> {
    let kept = Removals::read_kept(files);
    Ok(kept.map_err(EngineError::disk("read", "the list of removals"))?)
}

fn each(removals: &Removals) -> impl Iterator<Item = Removal> + '_ {
    removals.lines().map(|(kind, value)| Removal {
        kind: if kind == "url" {
            RemovalKind::Url
        } else {
            RemovalKind::Host
        },
        value: value.to_owned(),
    })
}

fn not_hidden(removal: &Removal) -> DeskError {
    DeskError::Missing(format!("`{}` was not hidden", removal.value))
}

/// A host as it is compared: its name alone, in ASCII.
fn host_name(text: &str) -> Result<String, DeskError> {
    let named = text.trim().trim_end_matches('.');
    let is_name = !named.is_empty()
        && (!named.contains(['/', ':', ' ', '?', '#', '@', '\\']) || named.starts_with('['));
    match CanonicalUrl::parse(&format!("http://{named}/")) {
        Ok(parsed) if is_name => Ok(parsed.host_str().to_owned()),
        _ => Err(DeskError::Wrong(format!(
            "`{text}` is no host; write its name alone, for example www.example.org"
        ))),
    }
}
