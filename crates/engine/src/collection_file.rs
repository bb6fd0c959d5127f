//! `collections/NAME.toml` as people have it: settings change, and comments and order stay.

use std::path::{Path, PathBuf};

use teia_base::Files;
use toml_edit::Value;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::directory::Layout;
use crate::mistakes::{as_text, nearest, nearest_setting, sections};
use crate::settings_text::{Edit, edited, edits, is_list};
use crate::sites::MATCH;
use crate::wrong_setting::{Mistake, What, WrongSetting};

/// The file of a collection: its text, which is always good settings.
#[derive(Clone, Debug)]
pub struct CollectionFile {
    /// Below the data directory.
    inside: PathBuf,
    /// As people know it.
    path: PathBuf,
    text: String,
    config: CollectionConfig,
}

impl CollectionFile {
    /// Reads the file, if it is there; one with a mistake is an error that names the line.
    pub fn read(
        files: &dyn Files,
        root: &Path,
        layout: &Layout,
    ) -> Result<Option<Self>, EngineError> {
        let (inside, path) = (layout.config(), root.join(layout.config()));
        if !files.exists(&inside) {
            return Ok(None);
        }
        let bytes = files
            .read(&inside)
            .map_err(EngineError::disk("read", &path))?;
        match as_text(bytes) {
            Ok(text) => Self::of(inside, path, text).map(Some),
            Err(message) => Err(EngineError::Config { path, message }),
        }
    }

    /// A file that is still to be written.
    pub fn new(root: &Path, layout: &Layout, text: String) -> Result<Self, EngineError> {
        Self::of(layout.config(), root.join(layout.config()), text)
    }

    fn of(inside: PathBuf, path: PathBuf, text: String) -> Result<Self, EngineError> {
        match CollectionConfig::parse(&text) {
            Ok(config) => Ok(Self {
                inside,
                path,
                text,
                config,
            }),
            Err(message) => Err(EngineError::Config { path, message }),
        }
    }

    /// As it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub fn config(&self) -> &CollectionConfig {
        &self.config
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it, whole or not at all.
    pub fn save(&self, files: &dyn Files) -> Result<(), EngineError> {
        // A link stays one, and what it leads to is written: people keep their files elsewhere.
        let on_disk = files.on_disk(&self.inside);
        let linked = on_disk.filter(|path| path.is_symlink());
        let linked = linked.and_then(|path| path.canonicalize().ok());
        let write = || {
            files.create_dir(Path::new("collections"))?;
            let path = linked.as_deref().unwrap_or(&self.inside);
            files.replace(path, self.text.as_bytes())
        };
        write().map_err(EngineError::disk("write", &self.path))
    }

    /// The same file with another text.
    pub fn with_text(&self, text: String) -> Result<Self, EngineError> {
        Self::of(self.inside.clone(), self.path.clone(), text)
    }

    /// The same file with all of these settings: only what differs is touched.
    pub fn with_config(&self, config: &CollectionConfig) -> Result<Self, EngineError> {
        self.with_edits(&edits(&as_table(&self.config), &as_table(config)))
            .map_err(|mistake| self.wrong(mistake.to_string()))
    }

    /// The same file with what differs between these settings and those from which they were made. What somebody else has
    /// changed since stays; a setting that both have changed is an error.
    pub(crate) fn with_changes_since(
        &self,
        before: Option<&CollectionConfig>,
        config: &CollectionConfig,
    ) -> Result<Self, EngineError> {
        let Some(before) = before else {
            return Err(self.wrong(
                "somebody else has made this file meanwhile, and nothing was written: try again"
                    .to_owned(),
            ));
        };
        let (old, now, to) = (as_table(before), as_table(&self.config), as_table(config));
        if let Some(key) = clash(&old, &now, &to) {
            return Err(self.wrong(format!(
                "somebody else has changed `{key}` meanwhile, and nothing was written: look at it, and try again"
            )));
        }
        self.with_edits(&edits(&old, &to))
            .map_err(|mistake| self.wrong(mistake.to_string()))
    }

    /// Sets one setting: `filter.max-depth` or, where only one section has it, `max-depth`. The value
    /// is TOML; what is none is taken for a text, and one text for a list of one.
    pub fn with_setting(&self, key: &str, value: &str) -> Result<Self, EngineError> {
        let with = self.with_change(key, Some(value));
        with.map_err(|wrong| EngineError::Settings(vec![wrong]))
    }

    /// Takes a setting out of the file, so that its default counts.
    pub fn without_setting(&self, key: &str) -> Result<Self, EngineError> {
        let without = self.with_change(key, None);
        without.map_err(|wrong| EngineError::Settings(vec![wrong]))
    }

    /// The file with a setting, or without it.
    fn with_change(&self, key: &str, value: Option<&str>) -> Result<Self, WrongSetting> {
        let wrong = |message: String| WrongSetting::new(key, message);
        let path = self.resolve(key).map_err(wrong)?;
        let whole = path.join(".");
        let told = |mistake: &Mistake| mistake.of(key, &whole);
        let Some(value) = value else {
            let without = self.with_edits(&[(path, None)]);
            return without.map_err(|mistake| told(&mistake));
        };
        if let [list, number] = path.as_slice()
            && is_list(list)
        {
            let such = if list == "site" {
                "politeness.delay"
            } else {
                MATCH
            };
            return Err(wrong(format!(
                "`{list}.{number}` is a whole {list}; name a setting of it, such as `{list}.{number}.{such}`"
            )));
        }
        let mut first = None;
        for value in meanings(value) {
            match self.with_edits(&[(path.clone(), Some(value))]) {
                Ok(changed) => return Ok(changed),
                // What a number says of the mistake is better than what a text in its place does;
                // but where a list is wanted, only the list knows what is wrong.
                Err(mistake) => {
                    let wrong = told(&mistake);
                    let is_kind = |wrong: &WrongSetting| wrong.message.contains("expected a list");
                    first = first.filter(|first| !is_kind(first)).or(Some(wrong));
                }
            }
        }
        Err(first.unwrap_or_else(|| wrong("there is no value".to_owned())))
    }

    /// The file with all of these changes: a key with its value, or without one its default. One may
    /// need another that was named after it. What is wrong is told of each that cannot be made.
    pub fn with_changes(self, mut changes: Vec<(&str, Option<&str>)>) -> Result<Self, EngineError> {
        let mut file = self;
        while !changes.is_empty() {
            let (count, mut wrong) = (changes.len(), Vec::new());
            changes.retain(|(key, value)| match file.with_change(key, *value) {
                Ok(with) => {
                    file = with;
                    false
                }
                Err(error) => {
                    wrong.push(error);
                    true
                }
            });
            if changes.len() == count {
                // Some make sense only together: a login with its kind and its secret.
                let all = file.with_all(&changes);
                return all.map_err(|blamed| {
                    // One that is wrong also beside the others is why these are.
                    wrong.sort_by_key(|wrong| Some(&wrong.key) != blamed.as_ref());
                    EngineError::Settings(wrong)
                });
            }
        }
        Ok(file)
    }

    /// The file with all of these changes made before it is looked at; or which of them makes no sense then.
    fn with_all(&self, changes: &[(&str, Option<&str>)]) -> Result<Self, Option<String>> {
        let mut edits: Vec<Edit> = Vec::new();
        for (key, value) in changes {
            let path = self.resolve(key).map_err(|_| Some((*key).to_owned()))?;
            let value = value.and_then(|value| meanings(value).next());
            edits.push((path, value));
        }
        self.with_edits(&edits).map_err(|mistake| {
            let What::Senseless(senseless) = mistake.what else {
                return None;
            };
            let path = senseless.path();
            let is_blamed = |(at, _): &(usize, &Edit)| edits[*at].0.join(".") == path;
            let (at, _) = edits.iter().enumerate().find(is_blamed)?;
            Some(changes[at].0.to_owned())
        })
    }

    /// The file with all of these changes, one after the other, and looked at then.
    fn with_edits(&self, edits: &[Edit]) -> Result<Self, Mistake> {
        // Editors of some systems end lines with CR and LF; a file keeps the one kind of ending that it has.
        let has_crlf =
            self.text.contains('\n') && !self.text.replace("\r\n", "").contains(['\n', '\r']);
        let mut text = if has_crlf {
            self.text.replace("\r\n", "\n")
        } else {
            self.text.clone()
        };
        for edit in edits {
            text = edited(&text, edit).map_err(|error| Mistake {
                line: None,
                what: What::Text(error.message().to_owned()),
            })?;
        }
        if has_crlf {
            text = text.replace('\n', "\r\n");
        }
        let config = CollectionConfig::read(&text)?;
        Ok(Self {
            text,
            config,
            ..self.clone()
        })
    }

    /// Writes another file in the place of this one, unless that changes what cannot change any more.
    pub fn replace_by(
        &self,
        after: &Self,
        files: &dyn Files,
        layout: &Layout,
    ) -> Result<(), EngineError> {
        let is_begun = files.exists(&layout.journal());
        if is_begun && self.config.normal_form != after.config.normal_form {
            return Err(EngineError::Fixed {
                setting: "normal-form",
            });
        }
        after.save(files)
    }

    fn wrong(&self, message: String) -> EngineError {
        EngineError::Config {
            path: self.path.clone(),
            message,
        }
    }

    /// The way to a setting of a site or a login: `2.politeness.delay`, counted from 1.
    fn resolve_entry(&self, list: &str, key: &str) -> Result<Vec<String>, String> {
        let (number, setting) = key.split_once('.').unwrap_or((key, ""));
        let count = match list {
            "site" => self.config.site.len(),
            _ => self.config.login.len(),
        };
        let known = number.parse::<usize>().ok();
        let Some(known) = known.filter(|known| (1..=count + 1).contains(known)) else {
            return Err(format!(
                "there is no {list} `{number}`: the file has {count}, counted from 1, and `{list}.{}.{MATCH}` begins another",
                count + 1
            ));
        };
        let mut path = vec![list.to_owned(), known.to_string()];
        match setting {
            "" => {}
            MATCH => path.push(MATCH.to_owned()),
            setting if list == "login" => {
                let sections = sections();
                let own = sections.iter().find(|(name, _)| *name == list);
                if !own.is_some_and(|(_, keys)| keys.iter().any(|key| key == setting)) {
                    return Err(nearest_setting(setting, list));
                }
                path.push(setting.to_owned());
            }
            setting => path.extend(self.resolve(setting)?),
        }
        Ok(path)
    }

    /// The way to a setting.
    fn resolve(&self, key: &str) -> Result<Vec<String>, String> {
        if let Some((list, rest)) = key.split_once('.')
            && is_list(list)
        {
            return self.resolve_entry(list, rest);
        }
        let sections = sections();
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        let has = |section: &str, name: &str| {
            let keys = sections.iter().find(|(known, _)| *known == section);
            keys.is_some_and(|(_, keys)| keys.iter().any(|known| known == name))
        };
        // A whole section is no setting.
        let is_section = sections.iter().any(|(known, _)| *known == key);
        if has(section, name) && !is_section {
            return Ok(key.split('.').map(str::to_owned).collect());
        }
        let mut homes: Vec<&str> = sections
            .iter()
            .map(|(section, _)| *section)
            .filter(|section| has(section, key) && !is_section && !is_list(section))
            .collect();
        if homes.len() > 1 {
            // Whoever says `retries` means those of pages.
            homes.retain(|section| *section != "webhook");
        }
        match homes.as_slice() {
            [section] => Ok(section.split('.').chain([key]).map(str::to_owned).collect()),
            [] => {
                let known: Vec<&str> = sections.iter().map(|(known, _)| *known).collect();
                let meant = nearest(section, &known).filter(|_| !known.contains(&section));
                Err(match meant {
                    Some(near) => {
                        format!("there is no section [{section}]; did you mean `{near}.{name}`?")
                    }
                    None => nearest_setting(name, section),
                })
            }
            several => {
                let names: Vec<String> = several
                    .iter()
                    .map(|home| format!("`{home}.{key}`"))
                    .collect();
                Err(format!(
                    "`{key}` stands in several sections; write {}",
                    names.join(" or ")
                ))
            }
        }
    }
}

/// What a person may mean by a value, likeliest first. A list is a list: one with a mistake in it is no text.
fn meanings(value: &str) -> impl Iterator<Item = Value> + use<> {
    let typed = value.parse::<Value>().ok();
    // A moment is a text here.
    let typed = typed.filter(|value| !value.is_datetime());
    let may_be_text = !typed.as_ref().is_some_and(Value::is_array);
    let mut list = toml_edit::Array::new();
    list.push(value);
    let as_text = [Value::from(value), Value::Array(list)];
    typed
        .into_iter()
        .chain(as_text.into_iter().filter(move |_| may_be_text))
}

fn as_table(config: &CollectionConfig) -> toml::Table {
    toml::Table::try_from(config).unwrap_or_default()
}

/// A setting that two have changed since it was `old`, each in their way.
fn clash(old: &toml::Table, one: &toml::Table, other: &toml::Table) -> Option<String> {
    let mut keys: Vec<&String> = old.keys().chain(one.keys()).chain(other.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let empty = toml::Table::new();
    keys.into_iter().find_map(|key| {
        let all = [old.get(key), one.get(key), other.get(key)];
        if all[0] == all[1] || all[0] == all[2] || all[1] == all[2] {
            return None;
        }
        let tables = all.map(|value| value.map_or(Some(&empty), toml::Value::as_table));
        match tables {
            [Some(old), Some(one), Some(other)] => {
                clash(old, one, other).map(|inner| format!("{key}.{inner}"))
            }
            _ => Some(key.clone()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Birds of the river.
seeds = [\"a.example\"] # the society

[politeness] # be kind
# They asked for this.
delay = \"5s\"   # in March

[filter]
max-depth = 3
";

    fn file(text: &str) -> CollectionFile {
        let layout = Layout::new("birds").unwrap();
        CollectionFile::new(Path::new("/data"), &layout, text.to_owned()).unwrap()
    }

    #[test]
    fn two_who_change_a_file_at_once_lose_nothing() {
        let files = teia_base::SimulatedDisk::new();
        let (root, layout) = (Path::new("/data"), Layout::new("birds").unwrap());
        file(TEXT).save(&files).unwrap();
        let read = || {
            CollectionFile::read(&files, root, &layout)
                .unwrap()
                .unwrap()
        };
        let before = read().config().clone();
        // Somebody else is faster.
        let theirs = read().with_setting("politeness.delay", "9s").unwrap();
        theirs.save(&files).unwrap();
        let mut ours = before.clone();
        ours.filter.max_depth = Some(7);
        ours.save(Some(&before), &files, root, &layout).unwrap();
        let both = TEXT.replace("\"5s\"", "\"9s\"").replace("= 3", "= 7");
        assert_eq!(read().text(), both);
        // Both mean the same setting, and differ.
        ours.politeness.delay = std::time::Duration::from_secs(1);
        let refused = ours.save(Some(&before), &files, root, &layout).unwrap_err();
        assert!(
            refused.to_string().contains("`politeness.delay`"),
            "{refused}"
        );
        // One who thinks that there is none yet.
        let refused = ours.save(None, &files, root, &layout).unwrap_err();
        assert!(refused.to_string().contains("somebody else"), "{refused}");
        assert_eq!(read().text(), both);
    }

    #[test]
    fn a_setting_changes_and_everything_around_it_stays() {
        let changed = file(TEXT).with_setting("politeness.delay", "10s").unwrap();
        assert_eq!(changed.text(), TEXT.replace("\"5s\"", "\"10s\""));
        let changed = changed.with_setting("max-depth", "4").unwrap();
        assert_eq!(changed.config().filter.max_depth, Some(4));
        let changed = changed.without_setting("filter.max-depth").unwrap();
        assert_eq!(changed.config().filter.max_depth, None);
        assert!(changed.text().contains("# They asked for this."));
        let changed = changed.with_setting("exclude", "/private/").unwrap();
        assert_eq!(changed.config().filter.exclude, ["/private/"]);
        let changed = changed
            .with_setting("exclude", r#"["/a,b/", "/c/"]"#)
            .unwrap();
        assert_eq!(changed.config().filter.exclude, ["/a,b/", "/c/"]);
        // A text that looks like a number, and a section that is not there yet.
        let changed = changed.with_setting("archive.warc.prefix", "2026").unwrap();
        assert_eq!(changed.config().archive.warc.prefix, "2026");
        assert!(
            changed.text().starts_with(&TEXT[..60]),
            "{}",
            changed.text()
        );
    }

    #[test]
    fn only_what_differs_is_touched() {
        let before = file(TEXT);
        assert_eq!(before.with_config(before.config()).unwrap().text(), TEXT);
        let mut config = before.config().clone();
        config.filter.max_depth = None;
        config.seeds.push("b.example".to_owned());
        config.run.max_time = Some(std::time::Duration::from_secs(60));
        let after = before.with_config(&config).unwrap();
        assert_eq!(after.config().to_toml(), config.to_toml());
        for line in [
            "# Birds of the river.",
            "seeds = [\"a.example\", \"b.example\"] # the society",
            "[politeness] # be kind",
            "# They asked for this.",
            "delay = \"5s\"   # in March",
            "max-time = \"1m\"",
        ] {
            assert!(after.text().contains(line), "no {line} in {}", after.text());
        }
        // It leaves its place behind, in its section.
        let place = "[filter]\n# max-depth = …    (unset)\n\n[run]\n";
        assert!(after.text().contains(place), "{}", after.text());
    }

    #[test]
    fn a_file_keeps_its_ends_of_lines() {
        let crlf = TEXT.replace('\n', "\r\n");
        let before = file(&crlf);
        let after = before.without_setting("delay").unwrap();
        let after = after.with_setting("max-time", "1m").unwrap();
        let after = after.with_setting("delay", "7s").unwrap();
        let after = after.without_setting("max-time").unwrap();
        let after = after.with_setting("schedule.weight", "3").unwrap();
        let as_lf = file(TEXT);
        let as_lf = as_lf.without_setting("delay").unwrap();
        let as_lf = as_lf.with_setting("max-time", "1m").unwrap();
        let as_lf = as_lf.with_setting("delay", "7s").unwrap();
        let as_lf = as_lf.without_setting("max-time").unwrap();
        let as_lf = as_lf.with_setting("schedule.weight", "3").unwrap();
        assert_eq!(after.text(), as_lf.text().replace('\n', "\r\n"));
        assert!(!as_lf.text().contains('\r'));
    }

    const SITES: &str = "\
seeds = [\"a.example\"]

# The library is slow.
[[site]]
match = \"lib.example\" # since May
[site.politeness]
delay = \"5s\" # they asked

# The rest of it.
[[site]]
match = [\"*.example\"]
";

    #[test]
    fn settings_of_a_site_change_and_the_comments_stay() {
        let changed = file(SITES)
            .with_setting("site.1.politeness.delay", "9s")
            .unwrap();
        assert_eq!(changed.text(), SITES.replace("\"5s\"", "\"9s\""));
        let changed = changed.with_setting("site.2.max-size", "1MB").unwrap();
        let last = "[[site]]\nmatch = [\"*.example\"]\n\n[site.filter]\nmax-size = \"1MB\"\n";
        assert!(changed.text().ends_with(last), "{}", changed.text());
        let changed = changed.with_setting("site.3.match", "10.0.0.0/8").unwrap();
        let changed = changed.with_setting("site.3.retries", "0").unwrap();
        assert_eq!(changed.config().site.len(), 3);
        assert_eq!(changed.config().site[2].hosts(), ["10.0.0.0/8"]);
        assert_eq!(changed.config().site[2].in_words(), ["run.retries = 0"]);
        let changed = changed.without_setting("site.3").unwrap();
        let changed = changed.without_setting("site.1.politeness.delay").unwrap();
        assert_eq!(changed.config().site[0].in_words(), Vec::<String>::new());
        for comment in ["# The library is slow.", "# since May", "# The rest of it."] {
            assert!(changed.text().contains(comment), "{}", changed.text());
        }
        // All at once, in any order.
        let changes = vec![
            ("site.3.politeness.delay", Some("2s")),
            ("site.3.match", Some(r#"["x.example"]"#)),
        ];
        let changed = file(SITES).with_changes(changes).unwrap();
        assert_eq!(changed.config().site.len(), 3, "{}", changed.text());
        let without = file(SITES)
            .with_config(&CollectionConfig::default())
            .unwrap();
        assert!(without.config().site.is_empty(), "{}", without.text());
        let again = file("").with_config(file(SITES).config()).unwrap();
        assert_eq!(again.config().to_toml(), file(SITES).config().to_toml());
        for (key, words) in [
            ("site.4.match", "the file has 2"),
            ("site.0.match", "counted from 1"),
            ("site.x.match", "counted from 1"),
            ("site.1", "a whole site"),
            ("site.1.max-dept", "`max-depth`"),
            ("site.1.seeds", "as a whole"),
        ] {
            let error = file(SITES).with_setting(key, "1").unwrap_err();
            assert!(error.to_string().contains(words), "{key}: {error}");
        }
    }

    #[test]
    fn a_link_stays_one_and_what_it_leads_to_is_written() {
        let (home, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = home.path().join("birds.toml");
        std::fs::write(&own, TEXT).unwrap();
        let link = place.path().join("collections/default.toml");
        std::fs::create_dir(place.path().join("collections")).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let files = teia_base::DiskFiles::existing(place.path());
        let layout = Layout::new("default").unwrap();
        let before = CollectionFile::read(&files, place.path(), &layout);
        let before = before.unwrap().unwrap();
        let after = before.with_setting("politeness.delay", "7s").unwrap();
        before.replace_by(&after, &files, &layout).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&own).unwrap(), after.text());
        assert!(after.text().contains("\"7s\""));
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_what_to_write() {
        for (key, value, words) in [
            ("filter.max-dept", "3", "`max-depth`"),
            ("max-dept", "3", "`max-depth`"),
            ("filtr.max-depth", "3", "`filter.max-depth`"),
            ("enabled", "false", "`index.enabled`"),
            ("politeness", "3", "no setting"),
            ("politeness.delay", "soon", "not a duration"),
            ("run.retries", "255", "from 0 to 100"),
            ("run.retries", "many", "a whole number"),
            ("seeds", "http://", "not a URL"),
        ] {
            let error = file(TEXT).with_setting(key, value).unwrap_err();
            assert!(error.is_usage());
            assert!(error.to_string().contains(words), "{key}={value}: {error}");
            // Nobody has seen the text in which the line would be counted.
            assert!(!error.to_string().contains("line "), "{key}: {error}");
        }
    }

    #[test]
    fn a_list_with_a_mistake_is_not_taken_for_a_text() {
        for (key, value, words) in [
            ("filter.exclude", r#"["("]"#, "regular expression"),
            ("filter.exclude", "[3]", "a text between quotes"),
            ("site.1.filter.exclude", r#"["("]"#, "regular expression"),
        ] {
            let error = file(SITES).with_setting(key, value).unwrap_err();
            assert!(error.to_string().contains(words), "{key}={value}: {error}");
            assert!(error.to_string().contains("`exclude`") || error.to_string().contains(key));
        }
        // What is no list in TOML may be a rule that begins like one.
        let rule = file(TEXT).with_setting("exclude", "[0-9]{9}").unwrap();
        assert_eq!(rule.config().filter.exclude, ["[0-9]{9}"]);
    }

    #[test]
    fn of_several_changes_each_wrong_one_is_named_and_the_cause_first() {
        let changes = vec![
            ("schedule.every", Some("1d")),
            ("politeness.delay", Some("2s")),
            ("schedule.start", Some("yesterday")),
        ];
        let error = file(TEXT).with_changes(changes).unwrap_err();
        let EngineError::Settings(wrong) = error else {
            panic!("{error}");
        };
        let keys: Vec<&str> = wrong.iter().map(|wrong| wrong.key.as_str()).collect();
        assert_eq!(keys, ["schedule.start", "schedule.every"]);
        assert!(wrong[0].message.contains("no moment"), "{wrong:?}");
    }
}
