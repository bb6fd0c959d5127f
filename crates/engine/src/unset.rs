//! Places of settings that are unset, in a file that says of every setting what it means: `# every = …    (unset)`.
//!
//! ```text
//! # A run begins every so often.          # A run begins every so often.
//! # every = …    (unset)       <─────>    every = "1d"
//! ```
//!
//! A setting that is set goes to its place, and one that is taken out leaves it behind: nothing that is said of it, or
//! of the settings above it, goes with it.

use toml_edit::{Item, TableLike};

/// How such a place ends.
const UNSET: &str = "= …    (unset)";

/// The place of a setting.
pub(crate) fn place_of(key: &str) -> String {
    format!("# {key} {UNSET}")
}

/// Puts settings that were added at the end of their section into the places that the file has for them.
pub(crate) fn fill_places(text: String) -> String {
    let Ok(before) = text.parse::<toml::Table>() else {
        return text;
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let key = lines[at]
            .strip_prefix("# ")
            .and_then(|line| line.strip_suffix(UNSET));
        if let Some(key) = key {
            let begin = format!("{key}= ");
            let rest = &lines[at + 1..];
            let end = rest.iter().position(|line| line.starts_with('['));
            let own = &rest[..end.unwrap_or(rest.len())];
            if let Some(found) = own.iter().position(|line| line.starts_with(&begin)) {
                lines[at] = lines.remove(at + 1 + found);
            }
        }
        at += 1;
    }
    let mut filled = lines.join("\n");
    if text.ends_with('\n') {
        filled.push('\n');
    }
    // A value of several lines stays where it is.
    match filled.parse::<toml::Table>() {
        Ok(after) if after == before => filled,
        _ => text,
    }
}

/// Takes a setting out of its section. What was said above it of others stays, and where the file has places for what is
/// unset, this one gets its place.
pub(crate) fn take_out(table: &mut dyn TableLike, key: &str, has_places: bool) {
    let above = table.key(key).and_then(|key| key.leaf_decor().prefix());
    let above = above.and_then(|above| above.as_str()).unwrap_or("");
    let kept = if has_places {
        format!("{above}{}\n", place_of(key))
    } else {
        // The last block is about the setting itself.
        above
            .rfind("\n\n")
            .map_or_else(String::new, |end| above[..end + 2].to_owned())
    };
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let at = keys.iter().position(|known| known == key);
    let is_value = |key: &&String| table.get(key).is_some_and(Item::is_value);
    let next = at.and_then(|at| keys[at + 1..].iter().find(is_value).cloned());
    let last = at.and_then(|at| keys[..at].iter().rev().find(is_value).cloned());
    table.remove(key);
    if kept.trim().is_empty() {
        return;
    }
    if let Some(mut next) = next.and_then(|next| table.key_mut(&next)) {
        let decor = next.leaf_decor_mut();
        let own = decor.prefix().and_then(|own| own.as_str()).unwrap_or("");
        let joined = format!("{kept}{own}");
        decor.set_prefix(joined);
    } else if let Some(last) = last
        && let Some(value) = table.get_mut(&last).and_then(Item::as_value_mut)
    {
        let own = value.decor().suffix().and_then(|own| own.as_str());
        let joined = format!("{}\n{}", own.unwrap_or(""), kept.trim_end());
        value.decor_mut().set_suffix(joined);
    }
}

/// Whether a file has places for what is unset.
pub(crate) fn has_places(text: &str) -> bool {
    text.contains(UNSET)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{CollectionConfig, CollectionFile, Layout, annotated};

    fn file(text: &str) -> CollectionFile {
        let layout = Layout::new("birds").unwrap();
        CollectionFile::new(Path::new("/data"), &layout, text.to_owned()).unwrap()
    }

    #[test]
    fn a_setting_goes_to_its_place_and_leaves_it_behind() {
        let config = CollectionConfig {
            seeds: vec!["a.example".to_owned()],
            ..CollectionConfig::default()
        };
        let text = annotated(&config);
        for (key, value) in [
            ("schedule.start", "2026-11-15"),
            ("schedule.window", "01:00-06:00"),
            ("filter.max-pages", "500"),
            ("run.max-time", "1h"),
            ("fetch.bandwidth", "1MB"),
        ] {
            let set = file(&text).with_setting(key, value).unwrap();
            let name = key.rsplit('.').next().unwrap();
            assert_eq!(
                set.text().lines().count(),
                text.lines().count(),
                "{key}: {}",
                set.text()
            );
            let place = super::place_of(name);
            let at = text.lines().position(|line| line == place).unwrap();
            let line = set.text().lines().nth(at).unwrap();
            assert!(line.starts_with(&format!("{name} = ")), "{line}");
            let again = set.without_setting(key).unwrap();
            assert_eq!(again.text(), text, "{key}");
        }
    }

    #[test]
    fn what_is_said_of_others_stays_when_a_setting_goes() {
        let text = "seeds = [\"a.example\"]\n\n[politeness]\n# Of the whole.\n\n# Of the delay.\ndelay = \"3s\"\n# Of the wait.\nretry-wait = \"2s\"\n";
        let without = file(text).without_setting("politeness.delay").unwrap();
        assert_eq!(
            without.text(),
            "seeds = [\"a.example\"]\n\n[politeness]\n# Of the whole.\n\n# Of the wait.\nretry-wait = \"2s\"\n"
        );
        // The last of a section, too, and by whole settings.
        let text = annotated(&CollectionConfig::default());
        let mut config = CollectionConfig::default();
        config.filter.max_pages = Some(5);
        config.run.max_time = Some(std::time::Duration::from_secs(60));
        let set = file(&text).with_config(&config).unwrap();
        assert!(set.text().contains("\nmax-pages = 5\n"));
        let back = set.with_config(&CollectionConfig::default()).unwrap();
        assert_eq!(back.text(), text);
    }
}
