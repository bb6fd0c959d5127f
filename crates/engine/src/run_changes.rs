//! Settings that count for one run alone: what people changed under it, or gave to `teia resume`, and what no file
//! says. The journal keeps them, so that the run goes on with them in the next process.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use teia_base::Files;
use teia_base::journal::{Record, walk};

use crate::EngineError;
use crate::checkpoint::Checkpoints;
use crate::collection::CollectionConfig;
use crate::directory::Layout;
use crate::ring::Ring;

/// A setting in which a run differs from the file of its collection; nothing where one of them has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Change {
    /// Where it stands, as `filter`, `max-pages`.
    path: Vec<String>,
    /// What the file says. When it says something else by now, a person has decided anew.
    file: Option<toml::Value>,
    run: Option<toml::Value>,
}

/// In what the settings of a run differ from those of its collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunChanges(Vec<Change>);

impl RunChanges {
    /// Those of the run that the next process goes on with; none where it begins another. Only what the journal says
    /// since the last checkpoint is read.
    pub fn read(files: &Arc<dyn Files>, layout: &Layout) -> Result<Self, EngineError> {
        let (checkpoints, _) = Checkpoints::find(files, layout);
        let loaded = checkpoints.load(drop);
        let (mut ledger, _) = loaded.map_err(EngineError::disk("read", layout.part()))?;
        let saved = ledger.head.position;
        walk(files, &layout.journal(), saved, |entry| {
            if entry.sequence > saved {
                ledger.take_changes(&entry.record);
            }
        })?;
        Ok(Self::from_text(&ledger.changes))
    }

    /// What a run has that differs from the settings of a file.
    pub(crate) fn between(file: &CollectionConfig, run: &CollectionConfig) -> Self {
        let mut all = Vec::new();
        differing(&mut Vec::new(), &as_table(file), &as_table(run), &mut all);
        Self(all)
    }

    /// Those that hold over these settings of the collection: where the file was edited since, it counts.
    #[must_use]
    pub fn that_hold(mut self, config: &CollectionConfig) -> Self {
        let mut settled = config.clone();
        settled.settle();
        // As the file says it, or as a start takes it.
        let tables = [as_table(config), as_table(&settled)];
        self.0.retain(|change| {
            let says = |table| get(table, &change.path) == change.file.as_ref();
            tables.iter().any(says)
        });
        self
    }

    /// The settings of the collection as the run has them.
    pub fn over(&self, config: &CollectionConfig) -> Result<CollectionConfig, String> {
        if self.is_empty() {
            return Ok(config.clone());
        }
        let mut table = as_table(config);
        for change in &self.0 {
            put(&mut table, &change.path, change.run.as_ref());
        }
        CollectionConfig::parse(&table.to_string())
    }

    /// Whether the run goes by its file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings that differ, as `filter.max-pages`.
    pub fn names(&self) -> Vec<String> {
        let names = self.0.iter();
        names
            .map(|change| format!("`{}`", change.path.join(".")))
            .collect()
    }

    /// As the journal has it: JSON, which knows nothing too; empty where there is nothing.
    fn to_text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.0).expect("texts and plain values become JSON")
    }

    /// What cannot be read counts as not there: it was said for one run.
    pub(crate) fn from_text(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }
}

/// The file of the collection, with which the settings of a run are compared.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) root: PathBuf,
    pub(crate) layout: Layout,
}

impl SettingsFile {
    /// What it says now; nothing where it is not there, or has a mistake.
    fn read(&self) -> Option<CollectionConfig> {
        let config = CollectionConfig::load(&*self.files, &self.root, &self.layout);
        config.ok().flatten()
    }
}

impl Ring {
    /// Finds out at the start what differs from the file that nobody can change under the run.
    pub(crate) fn compare_with_file(&mut self) {
        if let Some(file) = self.settings_file.read() {
            self.fixed_changes = RunChanges::between(&self.as_started(&file), &self.merged(&file));
        }
    }

    /// Writes down in what the run differs from its file, where that is not what was written before.
    pub(crate) fn note_changes(&mut self) {
        let Some(file) = self.settings_file.read() else {
            return;
        };
        let mut changes = self.fixed_changes.clone();
        let changed = RunChanges::between(&self.merged(&file), &self.config);
        changes.0.extend(changed.0);
        let text = changes.to_text();
        if text != self.ledger.changes {
            self.order(Record::Changed(text), Vec::new(), Vec::new());
        }
    }
}

fn as_table(config: &CollectionConfig) -> toml::Table {
    toml::Table::try_from(config.without_secrets()).unwrap_or_default()
}

fn differing(
    path: &mut Vec<String>,
    one: &toml::Table,
    other: &toml::Table,
    all: &mut Vec<Change>,
) {
    let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for key in keys {
        path.push(key.clone());
        match (one.get(key), other.get(key)) {
            (one, other) if one == other => {}
            (Some(toml::Value::Table(one)), Some(toml::Value::Table(other))) => {
                differing(path, one, other, all);
            }
            (one, other) => all.push(Change {
                path: path.clone(),
                file: one.cloned(),
                run: other.cloned(),
            }),
        }
        path.pop();
    }
}

fn get<'a>(table: &'a toml::Table, path: &[String]) -> Option<&'a toml::Value> {
    let (last, tables) = path.split_last()?;
    let inner = tables
        .iter()
        .try_fold(table, |table, key| table.get(key)?.as_table())?;
    inner.get(last)
}

/// Sets or unsets a value; tables on the way to it are made where they are not there.
fn put(table: &mut toml::Table, path: &[String], value: Option<&toml::Value>) {
    match (path, value) {
        ([], _) => {}
        ([key], Some(value)) => drop(table.insert(key.clone(), value.clone())),
        ([key], None) => drop(table.remove(key)),
        ([key, rest @ ..], value) => {
            let inner = table.entry(key.clone());
            let inner = inner.or_insert_with(|| toml::Table::new().into());
            if let Some(inner) = inner.as_table_mut() {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_run_has_is_found_over_a_file_that_says_something_else_by_now() {
        let mut file = CollectionConfig::default();
        file.filter.max_pages = Some(7);
        file.seeds = vec!["http://a.example/".to_owned()];
        let mut run = file.clone();
        run.filter.max_pages = None;
        run.filter.max_bytes = Some(1000);
        run.run.retries = 9;
        let changes = RunChanges::between(&file, &run);
        assert_eq!(
            changes.names(),
            ["`filter.max-bytes`", "`filter.max-pages`", "`run.retries`"]
        );
        let read = RunChanges::from_text(&changes.to_text());
        assert_eq!(read, changes);
        file.politeness.delay = Duration::from_secs(77);
        assert_eq!(read.clone().that_hold(&file), changes);
        let config = read.over(&file).unwrap();
        assert_eq!(config.filter.max_pages, None);
        assert_eq!(config.filter.max_bytes, Some(1000));
        assert_eq!(config.run.retries, 9);
        assert_eq!(config.politeness.delay, Duration::from_secs(77));
        assert_eq!(config.seeds, file.seeds);
        assert!(RunChanges::between(&file, &file).is_empty());
        // Whoever edits what the run has changed decides anew; the rest of it holds.
        file.filter.max_pages = Some(8);
        file.run.retries = 2;
        let left = read.that_hold(&file);
        assert_eq!(left.names(), ["`filter.max-bytes`"]);
        assert_eq!(left.over(&file).unwrap().filter.max_pages, Some(8));
        assert_eq!(RunChanges::from_text("no JSON"), RunChanges::default());
    }
}
