//! Places of settings that are unset, in the text of a collection file: `# every = …    (unset)`.
//!
//! ```text
//! # A run begins every so often.          # A run begins every so often.
//! # every = …    (unset)       <─────>    every = "1d"
//! ```
//!
//! A setting that is set goes to its place, and one that is taken out leaves it behind: nothing that is said of it, or
//! of the settings around it, goes with it. Only the lines of that one setting are touched.

use toml_edit::{Array, Document, RawString, Value};

use crate::settings_text::find;

/// How such a place ends.
const UNSET: &str = "= …    (unset)";

/// The place of a setting.
pub(crate) fn place_of(key: &str) -> String {
    format!("# {key} {UNSET}")
}

/// Takes a setting out of a text, and leaves its place; nothing where it has no line of its own.
pub(crate) fn take_out(text: &str, path: &[String]) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let (key, item) = find(document.as_table(), path)?;
    let (name, value) = (key.span()?, item.span()?);
    let value_of = item.as_value()?;
    let begin = text[..name.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[value.end..].find('\n');
    let end = end.map_or(text.len(), |at| value.end + at);
    // `filter.max-depth = 3` names its section on the way.
    let named = &text[begin..name.end];
    let behind = text[value.end..end].trim();
    if named.contains(['{', '=', ',', '[', '#']) || !(behind.is_empty() || behind.starts_with('#'))
    {
        return None;
    }
    let indent = &named[..named.len() - named.trim_start().len()];
    let mut kept = String::new();
    for comment in comments_in(value_of, text) {
        kept.push_str(&format!("{indent}{comment}\n"));
    }
    kept.push_str(&format!("{indent}{}", place_of(named.trim())));
    kept.push_str(text[value.end..end].trim_end());
    let out = [&text[..begin], &kept, &text[end..]].concat();
    is_toml(&out).then_some(out)
}

/// Puts a setting that was added at the end of its section into the place that the file has for it. A value of several
/// lines stays where it is.
pub(crate) fn to_its_place(text: String, path: &[String]) -> String {
    moved(&text, path).unwrap_or(text)
}

fn moved(text: &str, path: &[String]) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let (key, _) = find(document.as_table(), path)?;
    let at = text[..key.span()?.start].matches('\n').count();
    let mut lines: Vec<&str> = text.lines().collect();
    let is_header = |line: &&str| line.starts_with('[');
    let begin = lines[..at].iter().rposition(is_header);
    let begin = begin.map_or(0, |header| header + 1);
    let end = lines[at + 1..].iter().position(is_header);
    let end = end.map_or(lines.len(), |header| at + 1 + header);
    let place = place_of(path.last()?);
    let behind = |line: &str| -> Option<String> {
        let behind = line.trim_start().strip_prefix(&place)?;
        let is_own = behind.is_empty() || behind.starts_with([' ', '\t', '#']);
        is_own.then(|| behind.to_owned())
    };
    let found = (begin..end)
        .rev()
        .find(|line| behind(lines[*line]).is_some())?;
    let there = lines[found];
    let indent = &there[..there.len() - there.trim_start().len()];
    let line = format!("{indent}{}{}", lines[at].trim(), behind(there)?);
    lines[found] = &line;
    lines.remove(at);
    let mut filled = lines.join("\n");
    if text.ends_with('\n') {
        filled.push('\n');
    }
    let same = filled.parse::<toml::Table>().ok()? == text.parse::<toml::Table>().ok()?;
    same.then_some(filled)
}

fn is_toml(text: &str) -> bool {
    text.parse::<toml::Table>().is_ok()
}

/// What is said inside a list of several lines.
fn comments_in<'a>(value: &Value, text: &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut take = |raw: Option<&RawString>| {
        let span = raw.and_then(RawString::span).unwrap_or_default();
        let said = text[span].lines().map(str::trim);
        found.extend(said.filter(|line| line.starts_with('#')));
    };
    let list = value.as_array();
    for element in list.into_iter().flat_map(Array::iter) {
        take(element.decor().prefix());
        take(element.decor().suffix());
    }
    take(list.map(Array::trailing));
    found
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
            ("seeds-file", "list.txt"),
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
    fn what_is_said_stays_when_a_setting_goes_and_is_there_when_it_comes_back() {
        let text = "seeds = [\"a.example\"]\n\n[politeness]\n# Of the whole.\n\n# Of the delay.\ndelay = \"3s\"   # in March\n# Of the wait.\nretry-wait = \"2s\"\n\n[run]\n  # Of the last one.\n  retries = 3\n";
        let without = file(text).without_setting("politeness.delay").unwrap();
        let place = "# delay = …    (unset)   # in March";
        assert_eq!(
            without.text(),
            text.replace("delay = \"3s\"   # in March", place)
        );
        let again = without.with_setting("politeness.delay", "3s").unwrap();
        assert_eq!(again.text(), text);
        // The only one of a section, too.
        let without = file(text).without_setting("run.retries").unwrap();
        assert_eq!(
            without.text(),
            text.replace("retries = 3", "# retries = …    (unset)")
        );
        assert_eq!(
            without.with_setting("run.retries", "3").unwrap().text(),
            text
        );
        // And by whole settings.
        let text = annotated(&CollectionConfig::default());
        let mut config = CollectionConfig::default();
        config.filter.max_pages = Some(5);
        config.run.max_time = Some(std::time::Duration::from_secs(60));
        let set = file(&text).with_config(&config).unwrap();
        assert!(set.text().contains("\nmax-pages = 5\n"));
        let back = set.with_config(&CollectionConfig::default()).unwrap();
        assert_eq!(back.text(), text);
    }

    #[test]
    fn what_people_put_elsewhere_stays_there_when_something_else_changes() {
        let text = annotated(&CollectionConfig::default());
        let by_hand = "[filter]\n# The society asked for it.\nmax-pages = 5\n";
        let text = text.replacen("[filter]\n", by_hand, 1);
        assert!(text.contains("# max-pages = …"));
        let set = file(&text).with_setting("run.retries", "2").unwrap();
        assert!(set.text().contains(by_hand), "{}", set.text());
        assert_eq!(set.text().lines().count(), text.lines().count());
    }

    #[test]
    fn in_braces_there_are_no_places() {
        let text = "seeds = [\"a.example\"] # all\npoliteness = { delay = \"3s\", retry-wait = \"2s\" } # kind\n";
        let without = file(text).without_setting("politeness.delay").unwrap();
        let without = without.without_setting("politeness.retry-wait").unwrap();
        assert!(!without.text().contains("unset"), "{}", without.text());
        assert!(without.text().contains("# kind"));
        let again = without.with_setting("politeness.delay", "3s").unwrap();
        assert_eq!(again.config().politeness.delay.as_secs(), 3);
    }
}
