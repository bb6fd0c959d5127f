//! What people asked to have removed from view.

use serde::{Deserialize, Serialize};
use teia_base::CanonicalUrl;
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
        let lines = removals.lines().map(|(kind, value)| Removal {
            kind: if kind == "url" {
                RemovalKind::Url
            } else {
                RemovalKind::Host
            },
            value: value.to_owned(),
        });
        Ok(window.of(lines.collect()))
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
        Err(DeskError::Missing(format!(
            "`{}` was not hidden",
            removal.value
        )))
    }

    fn edit(
        &self,
        name: &str,
        removal: &Removal,
        hides: bool,
    ) -> Result<Vec<(Removal, bool)>, DeskError> {
        let _turn = lock(&self.changing);
        let (directory, reading) = self.reading(name)?;
        let (files, layout) = (reading.files(), reading.layout());
        let alone = Turn::take(&*files)?;
        let mut removals = read(&reading)?;
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
                        removals.restore_url(url)
                    };
                    done.push((url.to_string(), is_new));
                }
            }
            RemovalKind::Host => {
                let host = host_name(&removal.value)?;
                let is_new = if hides {
                    removals.add_host(&host)
                } else {
                    removals.restore_host(&host)
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
        drop(alone);
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
