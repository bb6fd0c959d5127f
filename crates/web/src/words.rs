//! What pages say, in English and Portuguese: `words/en.toml`, `words/pt.toml`, the same keys in both.
//! What other rooms say in English has its Portuguese words in `words/told.pt.toml` and `words/settings.pt.toml`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use teia_base::Timestamp;

/// A language of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tongue {
    English,
    Portuguese,
}

/// The sentences of one language.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) tongue: Tongue,
    texts: BTreeMap<String, String>,
    /// What other rooms say, by their English words.
    told: BTreeMap<String, String>,
    /// What settings mean, by their names.
    settings: BTreeMap<String, String>,
    /// What they are called, by the last word of their names.
    labels: BTreeMap<String, String>,
    /// Sentences of other rooms with what differs in them left open; those that say most come first.
    sentences: Vec<(String, String)>,
}

static ENGLISH: LazyLock<Words> = LazyLock::new(|| {
    Words::read(
        Tongue::English,
        include_str!("../words/en.toml"),
        ["", "", "", ""],
    )
});
static PORTUGUESE: LazyLock<Words> = LazyLock::new(|| {
    let others = [
        include_str!("../words/told.pt.toml"),
        include_str!("../words/settings.pt.toml"),
        include_str!("../words/sentences.pt.toml"),
        include_str!("../words/labels.pt.toml"),
    ];
    Words::read(Tongue::Portuguese, include_str!("../words/pt.toml"), others)
});

/// Something that counts; templates hand over references.
pub(crate) trait Count {
    fn count(&self) -> u64;
}

impl Count for u64 {
    fn count(&self) -> u64 {
        *self
    }
}

impl Count for usize {
    fn count(&self) -> u64 {
        *self as u64
    }
}

/// Numbers of a database, which are never negative where they count.
impl Count for i64 {
    fn count(&self) -> u64 {
        u64::try_from(*self).unwrap_or(0)
    }
}

impl Count for u16 {
    fn count(&self) -> u64 {
        (*self).into()
    }
}

impl<T: Count> Count for &T {
    fn count(&self) -> u64 {
        (*self).count()
    }
}

/// Between groups of three digits: narrow, and never a line break.
const THIN: char = '\u{202f}';

/// So deep may sentences stand in sentences: a line of a file, a site, the name of a setting, what is wrong, why.
const DEPTH: usize = 5;

/// Where something differs in a sentence.
const OPEN: &str = "{}";

/// What stands at the open places of a pattern; nothing where the text is another sentence. Between two backticks stands
/// a name, which is told as such, and no more.
fn values_in<'a>(pattern: &str, text: &'a str) -> Option<Vec<(&'a str, bool)>> {
    let mut parts = pattern.split(OPEN);
    let mut before = parts.next()?;
    let mut rest = text.strip_prefix(before)?;
    let mut parts = parts.peekable();
    let mut values = Vec::new();
    while let Some(part) = parts.next() {
        let at = match parts.peek() {
            Some(_) => rest.find(part)?,
            None => rest.strip_suffix(part)?.len(),
        };
        let value = &rest[..at];
        let is_name = before.ends_with('`') && part.starts_with('`');
        if is_name && value.contains('`') {
            return None;
        }
        values.push((value, is_name));
        rest = &rest[at + part.len()..];
        before = part;
    }
    rest.is_empty().then_some(values)
}

/// Whether it is a size as other rooms write it: `16.0 MB`.
fn is_size(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(number, unit)| {
        ["KB", "MB", "GB", "TB", "PB"].contains(&unit) && number.parse::<f64>().is_ok()
    })
}

impl Tongue {
    /// What a browser would rather read, by its `Accept-Language`; English where it wants neither.
    pub(crate) fn of_header(header: &str) -> Self {
        let mut best = (0.0, Self::English);
        for part in header.split(',').take(20) {
            let mut pieces = part.split(';');
            let tag = pieces.next().unwrap_or("").trim().to_ascii_lowercase();
            let weight = pieces
                .find_map(|piece| piece.trim().strip_prefix("q=")?.parse::<f32>().ok())
                .unwrap_or(1.0);
            let tongue = match tag.split('-').next() {
                Some("pt") => Self::Portuguese,
                Some("en") => Self::English,
                _ => continue,
            };
            if weight > best.0 {
                best = (weight, tongue);
            }
        }
        best.1
    }

    pub(crate) fn of_code(code: &str) -> Option<Self> {
        match code {
            "en" => Some(Self::English),
            "pt" => Some(Self::Portuguese),
            _ => None,
        }
    }

    pub(crate) fn words(self) -> &'static Words {
        match self {
            Self::English => &ENGLISH,
            Self::Portuguese => &PORTUGUESE,
        }
    }
}

impl Words {
    fn read(tongue: Tongue, texts: &str, others: [&str; 4]) -> Self {
        let [told, settings, sentences, labels] = others;
        let read = |text: &str| -> BTreeMap<String, String> {
            toml::from_str(text).expect("a test reads all files")
        };
        let mut sentences: Vec<(String, String)> = read(sentences).into_iter().collect();
        sentences.sort_by_key(|(english, _)| {
            std::cmp::Reverse(english.len() - OPEN.len() * english.matches(OPEN).count())
        });
        Self {
            sentences,
            tongue,
            texts: read(texts),
            told: read(told),
            settings: read(settings),
            labels: read(labels),
        }
    }

    /// What another room says in English, in this language; what is not known stays as it is.
    pub(crate) fn told<'a>(&'a self, english: &'a str) -> &'a str {
        self.told.get(english).map_or(english, String::as_str)
    }

    /// A sentence of another room, whatever stands in it, in this language; what is not known stays as it is.
    pub(crate) fn sentence(&self, english: &str) -> String {
        if let Some(known) = self.told.get(english) {
            return known.clone();
        }
        let found = self.filled(english, DEPTH);
        found.unwrap_or_else(|| self.rule(english).into_owned())
    }

    /// A sentence that is known with what differs in it left open. What stands there may be a sentence of its own, so
    /// deep.
    fn filled(&self, english: &str, depth: usize) -> Option<String> {
        self.sentences.iter().find_map(|(pattern, words)| {
            let values = values_in(pattern, english)?;
            let mut text = words.clone();
            for (value, is_name) in values {
                let part = match is_name {
                    true => value.to_owned(),
                    false => self.part(value, depth),
                };
                let part = part.replace('{', "\u{1}");
                text = text.replacen(OPEN, &part, 1);
            }
            Some(text.replace('\u{1}', "{"))
        })
    }

    /// What stands in a sentence: `3 hosts`, `16.0 MB`, a list of known words, or something that is nobody's words.
    fn part(&self, english: &str, depth: usize) -> String {
        if is_size(english) {
            return self.decimal(english);
        }
        let number = english.find(|c: char| !c.is_ascii_digit() && c != ' ');
        if let Some((number, what)) = number.map(|at| english.split_at(at))
            && let Some(known) = self.told.get(&format!("of {what}"))
        {
            return format!("{number}{known}");
        }
        if let Some(inner) = depth
            .checked_sub(1)
            .and_then(|left| self.filled(english, left))
        {
            return inner;
        }
        let parts: Vec<&str> = english.split(", ").map(|part| self.told(part)).collect();
        parts.join(", ")
    }

    /// The same, and rules of a collection as they are journalled: a setting, and what it is set to. Their words
    /// here stand under `rule NAME`.
    pub(crate) fn rule<'a>(&'a self, english: &'a str) -> Cow<'a, str> {
        if let Some(known) = self.told.get(english) {
            return Cow::Borrowed(known);
        }
        let (name, value) = english.split_once(' ').unwrap_or((english, ""));
        match self.told.get(&format!("rule {name}")) {
            Some(known) => {
                let begin = ["not ", "line "]
                    .into_iter()
                    .find(|it| value.starts_with(it));
                let value = match begin {
                    Some(begin) => value.replacen(begin, self.told(begin), 1),
                    None => value.to_owned(),
                };
                Cow::Owned(known.replacen("{}", &value, 1))
            }
            None => Cow::Borrowed(english),
        }
    }

    /// What a setting means, where this language has words for it.
    pub(crate) fn setting<'a>(&'a self, key: &str, english: &'a str) -> &'a str {
        // Every login has the same settings, and a site those of the collection.
        let mut steps = key.splitn(3, '.');
        let of_one = match (steps.next(), steps.next(), steps.next()) {
            (Some("login"), Some(_), Some(name)) => Some(format!("login.1.{name}")),
            (Some("site"), Some(_), Some("match")) => Some("site.1.match".to_owned()),
            (Some("site"), Some(_), Some(name)) => Some(name.to_owned()),
            _ => None,
        };
        let key = of_one.as_deref().unwrap_or(key);
        self.settings.get(key).map_or(english, String::as_str)
    }

    /// What a setting is called, by the last word of its key.
    pub(crate) fn label(&self, name: &str) -> String {
        let known = self.labels.get(name).cloned();
        known.unwrap_or_else(|| name.replace('-', " "))
    }

    /// Two letters, for `<html lang>`.
    pub(crate) fn code(&self) -> &'static str {
        match self.tongue {
            Tongue::English => "en",
            Tongue::Portuguese => "pt",
        }
    }

    /// The text of a key; the key itself where there is none, which a test forbids.
    pub(crate) fn t<'a>(&'a self, key: &'a str) -> &'a str {
        self.texts.get(key).map_or(key, String::as_str)
    }

    /// The text of a key with `{}` filled in.
    pub(crate) fn f(&self, key: &str, value: impl std::fmt::Display) -> String {
        self.t(key).replacen("{}", &value.to_string(), 1)
    }

    /// `key.one` for one, `key` for any other number, which is filled in.
    pub(crate) fn n(&self, key: &str, number: impl Count) -> String {
        let number = number.count();
        let one = format!("{key}.one");
        let key = if number == 1 && self.texts.contains_key(&one) {
            &one
        } else {
            key
        };
        self.f(key, self.number(number))
    }

    /// `1 234 567`.
    pub(crate) fn number(&self, number: impl Count) -> String {
        let digits = number.count().to_string();
        let mut text = String::with_capacity(digits.len() * 2);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(THIN);
            }
            text.push(digit);
        }
        text
    }

    /// `12.5 KB`, with the decimal sign of the language.
    pub(crate) fn bytes(&self, bytes: impl Count) -> String {
        let bytes = bytes.count();
        let units = ["bytes", "KB", "MB", "GB", "TB"];
        let mut value = bytes as f64;
        let mut unit = 0;
        while value >= 1000.0 && unit + 1 < units.len() {
            value /= 1000.0;
            unit += 1;
        }
        let text = if unit == 0 || value >= 100.0 {
            format!("{value:.0}")
        } else {
            format!("{value:.1}")
        };
        format!("{} {}", self.decimal(text), units[unit])
    }

    /// A number with the decimal sign of the language.
    pub(crate) fn decimal(&self, text: impl Into<String>) -> String {
        match self.tongue {
            Tongue::English => text.into(),
            Tongue::Portuguese => text.into().replace('.', ","),
        }
    }

    /// `2 Nov 2026`.
    pub(crate) fn date(&self, moment: &Timestamp) -> String {
        let digits = moment.to_digits();
        let (year, month, day) = (&digits[..4], &digits[4..6], &digits[6..8]);
        let months: Vec<&str> = self.t("months").split(' ').collect();
        let month = month
            .parse::<usize>()
            .ok()
            .and_then(|month| months.get(month.checked_sub(1)?).copied());
        format!(
            "{} {} {year}",
            day.trim_start_matches('0'),
            month.unwrap_or("?")
        )
    }

    /// `2 Nov 2026, 14:05`.
    pub(crate) fn moment(&self, moment: &Timestamp) -> String {
        let digits = moment.to_digits();
        format!(
            "{}, {}:{}",
            self.date(moment),
            &digits[8..10],
            &digits[10..12]
        )
    }

    /// `2 Nov 2026, 14:05:09`.
    pub(crate) fn moment_with_seconds(&self, moment: &Timestamp) -> String {
        let digits = moment.to_digits();
        format!("{}:{}", self.moment(moment), &digits[12..14])
    }

    /// `3 min ago`, or `in 3 min`.
    pub(crate) fn age(&self, moment: &Timestamp, now: &Timestamp) -> String {
        let seconds = (now.as_micros() - moment.as_micros()) / 1_000_000;
        let (key, seconds) = if seconds < 0 {
            ("age.in", -seconds)
        } else {
            ("age.ago", seconds)
        };
        let span = match seconds {
            0..120 => format!("{seconds} s"),
            120..7200 => format!("{} min", seconds / 60),
            7200..172_800 => format!("{} h", seconds / 3600),
            _ => self.n("days", (seconds / 86_400).unsigned_abs()),
        };
        self.f(key, span)
    }

    /// The name of a language, where it has one here.
    pub(crate) fn language<'a>(&'a self, code: &'a str) -> &'a str {
        self.texts
            .get(&format!("language.{code}"))
            .map_or(code, String::as_str)
    }

    /// What people call a media type.
    pub(crate) fn media_type<'a>(&'a self, media_type: &'a str) -> &'a str {
        self.texts
            .get(&format!("type.{media_type}"))
            .map_or(media_type, String::as_str)
    }
}

#[cfg(test)]
mod tests;
