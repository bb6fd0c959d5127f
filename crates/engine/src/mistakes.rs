//! What is wrong with the text of a collection file: where, what it is, and what was probably meant.

use teia_archive::ArchiveConfig;
use teia_base::NormalForm;
use teia_base::filter::FilterConfig;
use teia_extract::Limits;
use teia_fetch::FetchConfig;
use teia_frontier::Politeness;

use crate::collection::{ArchiveSection, CollectionConfig, RunConfig};
use crate::followers::{CatalogSection, IndexSection, LinksSection};
use crate::logins::LoginConfig;
use crate::schedule::ScheduleConfig;
use crate::sense::sensible;
use crate::traps::TrapsConfig;
use crate::webhook::WebhookConfig;
use crate::wrong_setting::{Mistake, What};

/// A file as text, or where it is none.
pub(crate) fn as_text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!(
            "line {line}: the byte 0x{:02X} is no text in UTF-8; save the file as UTF-8 in your editor",
            bytes[at]
        )
    })
}

/// Where the mistake is, what it is, and what was probably meant.
pub(crate) fn explain(text: &str, error: &toml::de::Error) -> Mistake {
    let before = error
        .span()
        .map(|span| &text[..span.start.min(text.len())])
        .unwrap_or_default();
    let message = error.message();
    if error.span().is_none() {
        return Mistake {
            line: None,
            what: What::Text(message.to_owned()),
        };
    }
    let line = before.matches('\n').count() + 1;
    let told = match between(message, "unknown field `", "`") {
        Some(unknown) => header_at(before, unknown)
            .map(|section| no_section(&section))
            .unwrap_or_else(|| tell_unknown(unknown, section_at(before))),
        None if message.starts_with("missing field `match`") => {
            "this login has no `match`, and nobody knows where it is for; write for example `match = \"https://www.example.org/\"`"
                .to_owned()
        }
        None => {
            let written = error.span().and_then(|span| text.get(span));
            let written = written.unwrap_or_default();
            let own = text.lines().nth(line - 1).unwrap_or_default().trim();
            let key = before.rsplit('\n').next().unwrap_or_default();
            let key = key.split('=').next().unwrap_or_default().trim();
            let told = no_toml(message, own, written).or_else(|| no_header(message, own));
            let path = [section_at(before), key].join(".");
            let (section, name) = path.rsplit_once('.').unwrap_or(("", key));
            let range = sensible(section.trim_start_matches('.'), name);
            told.unwrap_or_else(|| for_people(message, key, written, range))
        }
    };
    Mistake {
        line: Some(line),
        what: What::Text(told),
    }
}

/// What the reader of TOML calls by the names of its grammar: in words, with what to write. `line` is where it is.
fn no_toml(message: &str, line: &str, written: &str) -> Option<String> {
    let value = line.split_once('=').map_or("", |(_, value)| value.trim());
    if message.starts_with("duplicate key") {
        return Some(if line.starts_with('[') {
            format!(
                "the section {line} stands here twice; put the settings of both below one of them"
            )
        } else {
            let key = written.trim();
            format!("`{key}` is set twice in this section; keep one of the two lines")
        });
    }
    if message.starts_with("string values must be quoted") {
        if value.is_empty() {
            return Some(
                "behind `=` the value is missing; write one, or take the line out".to_owned(),
            );
        }
        if let Some(sentence) = no_truth(value) {
            return Some(sentence);
        }
        let example = value.trim_matches(['[', ']', ' ', '“', '”', '„', '‘', '’']);
        let is_word = !example.is_empty() && !example.contains([',', '"', '\'', '#', '{', '[']);
        let example = if is_word {
            example
        } else {
            "https://example.org/"
        };
        return Some(format!("a text stands between quotes; write \"{example}\""));
    }
    if message.starts_with("key with no value") {
        return Some(
            "between a setting and its value stands `=`; write for example `mode = \"once\"`"
                .to_owned(),
        );
    }
    if message.starts_with("unclosed table") {
        return Some(format!(
            "the name of a section ends with `]`; write `{line}]`"
        ));
    }
    if message.starts_with("unclosed inline table")
        || message.starts_with("missing comma between key-value")
        || message.starts_with("missing comma between inline")
    {
        return Some(
            "these braces do not end, or lack a comma; write for example { one = 1, two = 2 }"
                .to_owned(),
        );
    }
    if message.starts_with("unclosed array") || message.starts_with("missing comma between array") {
        return Some("this list does not end, or lacks a comma or a quote; write for example [\"one\", \"two\"]".to_owned());
    }
    if message.starts_with("invalid basic string") || message.starts_with("invalid literal string")
    {
        return Some(
            "this text does not end; put a quote of the kind with which it begins behind it, on the same line"
                .to_owned(),
        );
    }
    if message.starts_with("missing escaped value") || message.starts_with("invalid escape") {
        return Some(
            "a backslash counts twice between double quotes; write the text between single ones, for example ['\\d+']"
                .to_owned(),
        );
    }
    if message.starts_with("unexpected key or value") {
        return Some(
            "behind a value its line ends; put the next setting on a line of its own, and `#` before a comment"
                .to_owned(),
        );
    }
    if message.starts_with("unexpected leading zero") {
        return Some(format!(
            "a number does not begin with a zero; write {}",
            match value.trim_start_matches('0') {
                "" => "0",
                number => number,
            }
        ));
    }
    if ["invalid boolean", "invalid float", "invalid infinity"]
        .iter()
        .any(|known| message.starts_with(known))
    {
        return no_truth(value);
    }
    if [
        "invalid unquoted key",
        "unquoted keys cannot be empty",
        "invalid key-value pair",
    ]
    .iter()
    .any(|known| message.starts_with(known))
    {
        return Some(
            "a line begins with the name of a setting, in letters, digits and `-`; write for example `mode = \"once\"`"
                .to_owned(),
        );
    }
    None
}

/// What other formats call yes, no and nothing: what it is called here.
fn no_truth(value: &str) -> Option<String> {
    let word = value.split('#').next().unwrap_or_default().trim();
    Some(match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => format!("`{word}` is written `true` here"),
        "false" | "no" | "off" => format!("`{word}` is written `false` here"),
        "null" | "nil" | "none" | "nan" => {
            format!("there is no `{word}` here; take the line out, and the default counts")
        }
        _ => return None,
    })
}

/// What serde calls by the names of Rust's types: in words, for what is written at a key, and what may stand there if that
/// is known.
pub(crate) fn for_people(message: &str, key: &str, written: &str, range: Option<String>) -> String {
    // A number that is too large, or below zero, is of the right type and a wrong value.
    let Some((found, expected)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| {
            let value = message.strip_prefix("invalid value: ")?;
            value.starts_with("integer ").then_some(value)
        })
        .and_then(|it| it.rsplit_once(", expected "))
    else {
        return match between(message, "unknown variant `", "`") {
            Some(unknown) => {
                let choices = message.split("expected ").nth(1).unwrap_or_default();
                let choices = choices.trim_start_matches("one of ");
                format!("`{unknown}` is not known here; write {choices}")
            }
            None => message.to_owned(),
        };
    };
    // A moment is a text here, because it may leave out its time and its zone.
    if found == "map" && written.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("a moment stands between quotes: write \"{written}\"");
    }
    let plain = |text: &str, word: &str| Some(format!("{word}{}", text.replace('`', "")));
    let found = match found.split_once(' ') {
        Some(("string", text)) => plain(text, "the text "),
        Some(("integer", number)) => plain(
            // So large a number is told with the type that it would need.
            number.split(" as ").next().unwrap_or(number),
            "the number ",
        ),
        Some(("boolean", truth)) => plain(truth, ""),
        _ => found
            .strip_prefix("floating point ")
            .and_then(|number| plain(number, "the number ")),
    }
    .unwrap_or_else(|| match found {
        "map" => "a section".to_owned(),
        "sequence" => "a list".to_owned(),
        other => other.to_owned(),
    });
    let is_number = ["u8", "u16", "u32", "u64", "usize"].contains(&expected);
    if let Some(range) = range.filter(|_| is_number) {
        let range = range.replacen("a number", "a whole number", 1);
        return format!("expected {range}, not {found}");
    }
    let expected = match expected {
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" | "u64" | "usize" => "a whole number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list such as [\"one\", \"two\"]".to_owned(),
        "a string" => "a text between quotes".to_owned(),
        _ if expected.starts_with("struct ") || expected == "a map" => {
            format!("a section: write [{key}] on a line of its own, and its settings below")
        }
        other => other.to_owned(),
    };
    format!("expected {expected}, not {found}")
}

/// What is wrong with a header where a section is written for something else, or with too many brackets.
fn no_header(message: &str, line: &str) -> Option<String> {
    let is_doubled = line.starts_with("[[");
    let name = line.strip_prefix('[')?.trim_matches(['[', ']', ' ']);
    let sections = sections();
    if is_doubled && sections.iter().any(|(known, _)| *known == name) && name != "login" {
        return Some(format!(
            "the section {name} stands between single brackets; write [{name}]"
        ));
    }
    let is_setting =
        message.starts_with("invalid type: ") && !sections.iter().any(|(known, _)| *known == name);
    is_setting.then(|| {
        let name = name.rsplit('.').next().unwrap_or(name);
        format!("`{name}` is a setting and no section; write `{name} = …`")
    })
}

/// The section that a header begins, where the text ends within one and this is its next word.
fn header_at(text: &str, word: &str) -> Option<String> {
    let line = text.rsplit('\n').next()?.trim_start();
    let above = line.strip_prefix('[')?.trim_start_matches('[');
    (!line.contains([']', '='])).then(|| format!("{}{word}", above.trim()))
}

/// That there is no such section, and which was probably meant.
fn no_section(section: &str) -> String {
    let known = sections();
    let known = known.iter().map(|(name, _)| *name).chain(["site"]);
    let known: Vec<&str> = known.filter(|name| !name.is_empty()).collect();
    let header = |name: &str| match name {
        "site" | "login" => format!("[[{name}]]"),
        name => format!("[{name}]"),
    };
    match nearest(section, &known) {
        Some(near) => format!(
            "there is no section [{section}]; did you mean {}?",
            header(near)
        ),
        None => format!("there is no section [{section}]; `teia config` lists them all"),
    }
}

/// The section to which the end of a text belongs; empty above the first.
fn section_at(text: &str) -> &str {
    let header = |line: &'_ str| line.trim_start().starts_with('[');
    let last = text.lines().rev().find(|line| header(line));
    last.map_or("", |line| {
        line.trim().trim_matches(['[', ']']).trim_matches(' ')
    })
}

/// What was probably meant by a setting that there is not, wherever it was looked for.
pub(crate) fn nearest_setting(unknown: &str, section: &str) -> String {
    let known = sections();
    let section = known.iter().find(|(name, _)| *name == section);
    tell_unknown(unknown, section.map_or("", |(name, _)| name))
}

/// What was probably meant by a setting that there is not.
fn tell_unknown(unknown: &str, section: &str) -> String {
    let sections = sections();
    let place = |section: &str| match section {
        "" => "above the first section".to_owned(),
        section => format!("in the section [{section}]"),
    };
    let here = place(section);
    // A secret that is written down would be shared with the file.
    let is_secret = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["secret", "password", "passwd", "pass", "token"].contains(&word.as_str())
    };
    if matches!(section, "login" | "webhook") && is_secret(unknown) {
        return format!(
            "there is no setting `{unknown}` {here}, because secrets do not belong in a file; write where it lies: `secret-variable = \"NAME\"` or `secret-file = \"/path\"`"
        );
    }
    let own: Vec<&str> = sections
        .iter()
        .filter(|(name, _)| *name == section)
        .flat_map(|(_, keys)| keys.iter().map(String::as_str))
        .collect();
    if let Some(near) = nearest(unknown, &own) {
        return format!("there is no setting `{unknown}` {here}; did you mean `{near}`?");
    }
    let has = |key: &str| {
        let of_key = |keys: &[String]| keys.iter().any(|known| known == key);
        sections.iter().find(|(_, keys)| of_key(keys))
    };
    if let Some((other, _)) = has(unknown) {
        return format!(
            "there is no setting `{unknown}` {here}; it belongs {}",
            place(other)
        );
    }
    let all: Vec<&str> = sections
        .iter()
        .flat_map(|(_, keys)| keys.iter().map(String::as_str))
        .collect();
    if let Some(near) = nearest(unknown, &all)
        && let Some((other, _)) = has(near)
    {
        return format!(
            "there is no setting `{unknown}` {here}; did you mean `{near}` {}?",
            place(other)
        );
    }
    format!("there is no setting `{unknown}` {here}; `teia config` lists them all")
}

/// Every section with the names of its settings, those that are usually unset too.
pub(crate) fn sections() -> Vec<(&'static str, Vec<String>)> {
    /// What serde says to a name that cannot be one holds all that can.
    fn keys<T: serde::de::DeserializeOwned>() -> Vec<String> {
        let error = toml::from_str::<T>("no-such-setting = 0").err();
        let message = error.map(|error| error.message().to_owned());
        message
            .unwrap_or_default()
            .split('`')
            .skip(3)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    }
    vec![
        ("", keys::<CollectionConfig>()),
        ("schedule", keys::<ScheduleConfig>()),
        ("run", keys::<RunConfig>()),
        ("filter", keys::<FilterConfig>()),
        ("traps", keys::<TrapsConfig>()),
        ("politeness", keys::<Politeness>()),
        ("fetch", keys::<FetchConfig>()),
        ("robots", keys::<teia_fetch::robots::Config>()),
        ("extract", keys::<Limits>()),
        ("archive", keys::<ArchiveSection>()),
        ("archive.warc", keys::<ArchiveConfig>()),
        ("index", keys::<IndexSection>()),
        ("links", keys::<LinksSection>()),
        ("catalog", keys::<CatalogSection>()),
        ("webhook", keys::<WebhookConfig>()),
        ("login", keys::<LoginConfig>()),
        ("normal-form", keys::<NormalForm>()),
    ]
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let start = text.find(before)? + before.len();
    let end = text[start..].find(after)? + start;
    Some(&text[start..end])
}

/// The candidate with the fewest changed letters, if it is near enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    candidates
        .iter()
        .map(|candidate| (edit_distance(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(1))
        .min()
        .map(|(_, candidate)| candidate)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = usize::from(x != *y);
            let best = (diagonal + cost).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_right_spelling() {
        let message =
            CollectionConfig::parse("mode = \"once\"\n\n[filter]\nmax-dept = 3\n").unwrap_err();
        assert!(message.contains("line 4"), "{message}");
        assert!(message.contains("max-depth"), "{message}");
    }

    #[track_caller]
    fn check(text: &str, words: &[&str]) {
        let message = CollectionConfig::parse(text).unwrap_err();
        for word in words {
            assert!(message.contains(word), "no {word:?} in {message}");
        }
    }

    #[test]
    fn a_setting_in_the_wrong_place_is_told_where_it_belongs() {
        check(
            "max-depth = 3\n",
            &[
                "line 1",
                "`max-depth`",
                "above the first section",
                "[filter]",
            ],
        );
        check(
            "seeds = []\nmax-depht = 3\n",
            &[
                "line 2",
                "`max-depht`",
                "`max-depth` in the section [filter]",
            ],
        );
        check(
            "[run]\nretries = 2\ndelay = \"2s\"\n",
            &["line 3", "[run]", "it belongs in the section [politeness]"],
        );
        check(
            "[politenes]\n",
            &["line 1: there is no section [politenes]; did you mean [politeness]?"],
        );
        check(
            "seeds = []\n[archive.wark]\n",
            &["line 2: there is no section [archive.wark]; did you mean [archive.warc]?"],
        );
        check("[[logins]]\n", &["line 1", "[logins]", "[[login]]"]);
        check("[xyzzyxyzzy]\n", &["line 1", "[xyzzyxyzzy]", "teia config"]);
        check("filtr = 3\n", &["line 1", "`filtr`", "`filter`"]);
        // What is nothing like it was not meant.
        check("foo = 3\n", &["line 1", "`foo`", "`teia config` lists"]);
        check(
            "[[site]]\nmatch = \"a.example\"\n[site.politness]\ndelay = \"1s\"\n",
            &[
                "line 3",
                "there is no section [site.politness]; did you mean [site.politeness]?",
            ],
        );
        check("xyzzyxyzzy = 1\n", &["line 1", "teia config"]);
    }

    #[test]
    fn what_is_no_toml_is_told_in_words_with_what_to_write() {
        for (text, told) in [
            (
                "[filter]\nmax-depth = -1\n",
                "line 2: expected a whole number from 0 to 65534, not the number -1",
            ),
            (
                "[filter]\nmax-depth = 70000\n",
                "line 2: expected a whole number from 0 to 65534, not the number 70000",
            ),
            (
                "[run]\nretries = 256\n",
                "line 2: expected a whole number from 0 to 100, not the number 256",
            ),
            (
                "run.retries = 300\n",
                "line 1: expected a whole number from 0 to 100, not the number 300",
            ),
            (
                "[[site]]\nmatch = \"a.example\"\n[site.run]\nretries = 300\n",
                "line 4: site 1, `retries` in [site.run]: expected a whole number from 0 to 100, not the number 300",
            ),
            ("run = { retries = 1\n", "line 1: these braces do not end"),
            (
                "[filter]\ntypes = [\"application/*pdf\"]\n",
                "line 2: `types` in [filter]: `application/*pdf` keeps nothing",
            ),
            (
                "[filter]\nmax-depth = 1\nmax-depth = 2\n",
                "line 3: `max-depth` is set twice in this section; keep one",
            ),
            (
                "[filter]\nmax-depth = 1\n[filter]\nmax-pages = 2\n",
                "line 3: the section [filter] stands here twice;",
            ),
            (
                "mode = periodic\n",
                "line 1: a text stands between quotes; write \"periodic\"",
            ),
            (
                "seeds = [example.org]\n",
                "line 1: a text stands between quotes; write \"example.org\"",
            ),
            (
                "mode : \"once\"\n",
                "line 1: between a setting and its value stands `=`;",
            ),
            (
                "[filter\nmax-depth = 1\n",
                "line 1: the name of a section ends with `]`; write `[filter]`",
            ),
            ("seeds = [\"a.example]\n", "line 1: this list does not end"),
            (
                "mode = \"once\nseeds = []\n",
                "line 1: this text does not end",
            ),
            (
                "[filter]\nexclude = [\"\\d+\"]\n",
                "line 2: a backslash counts twice between double quotes; write the text between single ones, for example ['\\d+']",
            ),
            (
                "mode = \"once\" run\n",
                "line 1: behind a value its line ends",
            ),
            (
                "mode = \"once\"\0\n",
                "line 1: behind a value its line ends",
            ),
            (
                "[filter]\nmax-depth = 007\n",
                "line 2: a number does not begin with a zero; write 7",
            ),
            (
                "[filter]\nmax-pages = 99999999999999999999999\n",
                "not the number 99999999999999999999999",
            ),
            (
                "[run]\nignore-robots = True # really\n",
                "line 2: `True` is written `true` here",
            ),
            (
                "[run]\nignore-robots = yes\n",
                "line 2: `yes` is written `true` here",
            ),
            (
                "[filter]\nmax-depth = null\n",
                "line 2: there is no `null` here; take the line out",
            ),
            (
                "[filter]\nmax-depth = none\n",
                "line 2: there is no `none` here; take the line out",
            ),
            (
                "[filter]\nmax-depth =\n",
                "line 2: behind `=` the value is missing",
            ),
            (
                "mode = “once”\n",
                "line 1: a text stands between quotes; write \"once\"",
            ),
            (
                "[[filter]]\nmax-depth = 1\n",
                "line 1: the section filter stands between single brackets; write [filter]",
            ),
            (
                "[mode]\nx = 1\n",
                "line 1: `mode` is a setting and no section; write `mode = …`",
            ),
            ("= 3\n", "line 1: a line begins with the name of a setting"),
            (
                "{\"mode\": \"once\"}\n",
                "line 1: a line begins with the name of a setting",
            ),
            (
                "[[login]]\nkind = \"basic\"\nuser = \"a\"\nsecret-variable = \"X\"\n",
                "line 1: this login has no `match`",
            ),
            (
                "[schedule]\nstart = \"2026-02-01\"\nend = \"2026-01-01\"\nevery = \"1d\"\n",
                "line 3: `end` in [schedule]: the end 2026-01-01 comes before the start 2026-02-01; write a later one",
            ),
            (
                "seeds = [\"a.example\", \" \"]\n",
                "line 1: `seeds`: one of them is empty; take it out",
            ),
            (
                "[[site]]\nmatch = \"10.0.0.0/99\"\n",
                "such an address has 32 bits, not 99; write for example `10.0.0.0/32`",
            ),
            ("seeds = [\"a.example\"\n[run]\n", "this list does not end"),
        ] {
            check(text, &[told]);
        }
    }

    #[test]
    fn settings_that_are_unset_are_known_too() {
        let all = sections();
        let has = |section: &str, key: &str| {
            all.iter()
                .any(|(name, keys)| *name == section && keys.iter().any(|known| known == key))
        };
        assert!(has("run", "max-time") && has("filter", "max-pages") && has("fetch", "proxy"));
        assert!(all.iter().all(|(_, keys)| keys.len() > 1), "{all:?}");
    }

    #[test]
    fn a_secret_in_a_file_is_told_where_it_belongs_and_not_repeated() {
        for key in ["secret", "password", "token"] {
            let text = format!(
                "[[login]]\nmatch = \"a.example\"\nkind = \"basic\"\nuser = \"ann\"\n{key} = \"hunter2\"\n"
            );
            let message = CollectionConfig::parse(&text).unwrap_err();
            assert!(!message.contains("hunter2"), "{message}");
            check(&text, &["line 5", key, "`secret-variable", "`secret-file"]);
        }
    }

    #[test]
    fn what_is_no_utf_8_is_told_with_its_line() {
        let message = as_text(b"seeds = []\n# caf\xe9\n".to_vec()).unwrap_err();
        for word in ["line 2", "0xE9", "UTF-8"] {
            assert!(message.contains(word), "{message}");
        }
        assert_eq!(as_text(b"mode".to_vec()).unwrap(), "mode");
    }
}
