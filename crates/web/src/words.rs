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

/// Where something differs in a sentence.
const OPEN: &str = "{}";

/// What stands at the open places of a pattern; nothing where the text is another sentence.
fn values_in<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = pattern.split(OPEN);
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut parts = parts.peekable();
    let mut values = Vec::new();
    while let Some(part) = parts.next() {
        let at = match parts.peek() {
            Some(_) => rest.find(part)?,
            None => rest.strip_suffix(part)?.len(),
        };
        values.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    rest.is_empty().then_some(values)
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
        let found = self.filled(english, 2);
        found.unwrap_or_else(|| self.rule(english).into_owned())
    }

    /// A sentence that is known with what differs in it left open. What stands there may be a sentence of its own, so
    /// deep.
    fn filled(&self, english: &str, depth: usize) -> Option<String> {
        self.sentences.iter().find_map(|(pattern, words)| {
            let values = values_in(pattern, english)?;
            let mut text = words.clone();
            for value in values {
                let part = self.part(value, depth).replace('{', "\u{1}");
                text = text.replacen(OPEN, &part, 1);
            }
            Some(text.replace('\u{1}', "{"))
        })
    }

    /// What stands in a sentence: `3 hosts`, a list of known words, or something that is nobody's words.
    fn part(&self, english: &str, depth: usize) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn both_languages_say_the_same_things() {
        let keys = |tongue: Tongue| tongue.words().texts.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(Tongue::English), keys(Tongue::Portuguese));
        for (key, text) in &ENGLISH.texts {
            let other = &PORTUGUESE.texts[key];
            assert_eq!(
                text.matches("{}").count(),
                other.matches("{}").count(),
                "{key}"
            );
        }
    }

    #[test]
    fn every_setting_has_a_portuguese_meaning() {
        for setting in teia_engine::described(&teia_engine::CollectionConfig::default()) {
            let known = PORTUGUESE.setting(&setting.key, "");
            assert!(!known.is_empty(), "{}", setting.key);
            let has_field = PORTUGUESE
                .texts
                .contains_key(&format!("field.{}", setting.key));
            let name = setting.key.rsplit('.').next().unwrap();
            let has_label = PORTUGUESE.labels.contains_key(name);
            assert!(has_field || has_label, "no label for {}", setting.key);
        }
        let of_a_site = PORTUGUESE.setting("site.3.politeness.delay", "");
        assert_eq!(of_a_site, PORTUGUESE.setting("politeness.delay", ""));
    }

    /// Settings in which every sentence of what a collection would do is said once at least.
    const SPOKEN: [&str; 6] = [
        "",
        "seeds = [\"a.example\"]\n[filter]\nscope = \"domain\"\nmax-depth = 3\nmax-path-depth = 1\nmax-pages = 10\nmax-bytes = \"1GB\"\nmax-pages-per-host = 5\nlanguages = [\"pt\"]\nor-languages = [\"en\"]\nwords = [\"x\"]\n[run]\nmax-time = \"1h\"\ncpu-share = \"50%\"\nhosts-at-once = 7\n[schedule]\nstart = \"2026-11-15\"\nevery = \"6h\"\nwindow = \"01:00-06:00\"\ndeadline = \"5h\"\n",
        "seeds = [\"1.a\", \"2.a\", \"3.a\", \"4.a\", \"5.a\", \"6.a\", \"7.a\"]\nmode = \"incremental\"\n[filter]\nscope = \"any\"\nhosts = [\"b.example\"]\ntypes = [\"text/html\"]\ninclude = [\"a\"]\nexclude = [\"b\"]\ndirectories = [\"/d/\"]\n[run]\nretries = 0\nignore-robots = true\n[politeness]\ndelay = \"0s\"\n[schedule]\ncron = \"30 1 * * *\"\nstart = \"2026-11-15\"\n",
        "seeds-file = \"list.txt\"\nmode = \"periodic\"\n[filter]\nscope = \"prefix\"\nrequisites = false\n[archive]\nenabled = false\n[index]\nenabled = false\n[links]\nenabled = false\n[catalog]\nenabled = false\n[fetch]\nbandwidth = \"1MB\"\nallow-private = true\nproxy = \"http://p.example:1\"\n[schedule]\nstart = \"2026-11-15\"\n",
        "seeds = [\"a.example\"]\nseeds-file = \"list.txt\"\nmode = \"incremental\"\n[filter]\nscope = \"suffix:.pt\"\nmax-pages = 3\n[webhook]\nurls = [\"https://b.example/x\"]\n[[site]]\nmatch = \"b.example\"\n[site.politeness]\ndelay = \"9s\"\n[[site]]\nmatch = \"c.example\"\n",
        "seeds = [\"a.example\"]\n[webhook]\nurls = [\"https://b.example/x\"]\nallow-private = true\nretries = 0\n[[login]]\nmatch = \"https://a.example\"\nkind = \"basic\"\nuser = \"ann\"\nsecret-variable = \"A\"\n[[login]]\nmatch = \"https://b.example\"\nkind = \"bearer\"\nsecret-file = \"/b\"\n[[login]]\nmatch = \"https://c.example\"\nkind = \"cookie\"\nsecret-file = \"/c\"\n",
    ];

    #[test]
    fn what_a_collection_would_do_is_told_in_portuguese() {
        let mut said = 0;
        for text in SPOKEN {
            let config = teia_engine::CollectionConfig::parse(text).unwrap();
            for english in teia_engine::in_words("birds", &config) {
                let told = PORTUGUESE.sentence(&english);
                assert_ne!(told, english);
                assert_eq!(ENGLISH.sentence(&english), english);
                assert!(!told.contains(OPEN) && !told.contains('\u{1}'), "{told}");
                said += 1;
            }
        }
        assert!(said > 70, "{said}");
        assert_eq!(
            PORTUGUESE.sentence("Of one host it takes 1 234 documents in a run."),
            "De um servidor recolhe 1 234 documentos numa coleta."
        );
        assert_eq!(
            PORTUGUESE.sentence("It keeps a search index, a catalog in SQL."),
            "Guarda um índice de pesquisa, um catálogo em SQL."
        );
        // What others wrote stays as it is, braces too.
        assert_eq!(
            PORTUGUESE.sentence("Only URLs in these directories enter: /{}/x{}."),
            "Só entram URLs nestas pastas: /{}/x{}."
        );
    }

    #[test]
    fn every_outcome_and_every_end_has_portuguese_words() {
        let own = teia_base::Outcome::own();
        let statuses = (100..=599).map(teia_base::Outcome::http);
        let outcomes = own.chain(statuses).map(teia_base::Outcome::sentence);
        use teia_engine::EndReason::{
            Deadline, Done, Interrupted, MaxBytes, MaxPages, MaxTime, Stopped,
        };
        let ends = [
            Done,
            MaxPages,
            MaxBytes,
            MaxTime,
            Deadline,
            Interrupted,
            Stopped,
        ];
        for said in outcomes.chain(ends.map(teia_engine::EndReason::name)) {
            assert!(PORTUGUESE.told.contains_key(said), "{said}");
            assert_eq!(ENGLISH.told(said), said);
        }
        assert_eq!(PORTUGUESE.told("never said"), "never said");
    }

    #[test]
    fn every_moment_in_the_life_of_a_url_has_portuguese_words() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/src/happening.rs");
        let source = std::fs::read_to_string(source).unwrap();
        let (code, _) = source.split_once("#[cfg(test)]").unwrap();
        let code: Vec<&str> = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        // What is between quotation marks is said, unless it is but signs, or the name of a function.
        let code = code.join("\n");
        let literals = code.split('"').skip(1).step_by(2);
        let is_said = |text: &&str| {
            let words = text.replace("{found}", "").replace("{verdict}", "");
            let times = ["{micros}µs", "{millis}ms", "{seconds:.1}s"];
            !times.contains(text) && words.replace("{detail}", "").contains(char::is_alphabetic)
        };
        let said: Vec<&str> = literals
            .filter(is_said)
            .filter(|text| *text != "as_text")
            .collect();
        assert!(said.len() > 20, "{said:?}");
        use teia_base::LinkKind::{
            Alternate, Anchor, Area, Canonical, Css, Feed, Form, Frame, Header, Icon, Image, Media,
            Object, Redirect, Refresh, Script, Seed, Sitemap, Style, Text,
        };
        let kinds = [
            Alternate, Anchor, Area, Canonical, Css, Feed, Form, Frame, Header, Icon, Image, Media,
            Object, Redirect, Refresh, Script, Seed, Sitemap, Style, Text,
        ];
        let kinds = kinds.map(teia_base::LinkKind::name);
        let flags: teia_base::Flags = serde_json::from_str("4294967295").unwrap();
        let flags = flags.names();
        for text in said.into_iter().chain(kinds).chain(flags) {
            let known = PORTUGUESE.told.get(text);
            let holes = |text: &str| text.matches("{}").count();
            assert!(
                known.is_some_and(|known| holes(known) == holes(text)),
                "{text}"
            );
        }
        assert_eq!(
            PORTUGUESE.rule("max-depth 3"),
            "a mais de 3 ligações de uma semente"
        );
        assert_eq!(PORTUGUESE.rule("schemes: not ftp"), "esquemas: não ftp");
        assert_eq!(PORTUGUESE.rule("own words"), "own words");
        assert_eq!(ENGLISH.rule("max-depth 3"), "max-depth 3");
    }

    /// What the engine tells people who watch a run: the texts of its notices, with what differs left open.
    fn notices() -> Vec<String> {
        let mut left = vec![std::path::PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../engine/src"
        ))];
        let mut found = Vec::new();
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let inside = std::fs::read_dir(path).unwrap();
                left.extend(inside.map(|entry| entry.unwrap().path()));
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let code = source.split("#[cfg(test)]").next().unwrap();
            for call in [".warn(", ".say(", ".complain(", "Event::Notice {", ".note("] {
                for (at, _) in code.match_indices(call) {
                    let rest = &code[at + call.len()..];
                    let Some((before, literal)) = rest.split_once('"') else {
                        continue;
                    };
                    // The words may be in a variable, and these are others.
                    if !before.contains([';', '}']) {
                        found.push(open_places(literal));
                    }
                }
            }
        }
        found.retain(|text| text.contains(' '));
        found
    }

    /// The literal with which a text begins, as the pattern of a sentence: `{name}` becomes `{}`.
    fn open_places(text: &str) -> String {
        let mut said = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => break,
                '\\' => match letters.next() {
                    Some('\n') => {
                        let rest = letters.as_str().trim_start();
                        letters = rest.chars();
                    }
                    next => said.extend(next),
                },
                '{' => {
                    letters.by_ref().find(|letter| *letter == '}');
                    said.push_str(OPEN);
                }
                letter => said.push(letter),
            }
        }
        said
    }

    #[test]
    fn every_notice_of_a_run_has_portuguese_words() {
        let notices = notices();
        assert!(notices.len() > 35, "{notices:?}");
        let is_known = |text: &String| {
            let patterns = PORTUGUESE.sentences.iter();
            let told = PORTUGUESE.told.contains_key(text);
            told || patterns.map(|(english, _)| english).any(|it| it == text)
        };
        let unknown: Vec<&String> = notices.iter().filter(|text| !is_known(text)).collect();
        assert!(unknown.is_empty(), "no Portuguese for {unknown:#?}");
    }

    #[test]
    fn every_sentence_keeps_its_open_places_and_no_two_are_one() {
        for (english, portuguese) in &PORTUGUESE.sentences {
            let holes = |text: &str| text.matches(OPEN).count();
            assert_eq!(holes(english), holes(portuguese), "{english}");
            // With something in each of them, it is found again, and nothing of it stays English.
            let filled = english.replace(OPEN, "§");
            assert_eq!(PORTUGUESE.sentence(&filled), portuguese.replace(OPEN, "§"));
        }
    }

    #[test]
    fn a_sentence_within_a_sentence_is_told_in_portuguese_too() {
        let check = |english: &str, portuguese: &str| {
            assert_eq!(PORTUGUESE.sentence(english), portuguese);
        };
        check(
            "the search index of birds cannot be used (it panicked: x): it is built anew from the archive",
            "índice de pesquisa de birds: não se pode usar (falhou: x): faz-se de novo a partir de arquivo",
        );
        check(
            "At https://a.example it logs in (basic) as ann, with a password from the variable PASS, by the form at https://a.example/login.",
            "Em https://a.example entra (basic) como ann, com uma palavra-passe: a variável PASS, pelo formulário em https://a.example/login.",
        );
        check(
            "birds.example/cal/{n} looks like a trap: 30 pages in a row have not one new word and lead only to more of their kind; the others are left out. To collect them, add \"birds.example/cal/{n}\" to `allow` in [traps]; to leave them out in every run, add 'x' to `exclude` in [filter]",
            "birds.example/cal/{n} parece uma armadilha: 30 páginas seguidas não têm uma palavra nova e só levam a outras iguais; as outras ficam de fora. Para as coletar, acrescente \"birds.example/cal/{n}\" a `allow` em [traps]; para as deixar de fora em todas as coletas, acrescente 'x' a `exclude` em [filter]",
        );
    }

    #[test]
    fn every_setting_with_portuguese_words_is_one() {
        let all = teia_engine::described(&teia_engine::CollectionConfig::default());
        for key in PORTUGUESE.settings.keys() {
            assert!(all.iter().any(|setting| setting.key == *key), "{key}");
        }
    }

    #[test]
    fn every_key_that_a_page_uses_is_there() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pages");
        let mut seen = 0;
        let mut left: Vec<std::path::PathBuf> = vec![folder.into(), source.into()];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let inside = std::fs::read_dir(path).unwrap();
                left.extend(inside.map(|entry| entry.unwrap().path()));
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            for call in [".t(\"", ".f(\"", ".n(\""] {
                for (at, _) in text.match_indices(call) {
                    let rest = &text[at + call.len()..];
                    let key = &rest[..rest.find('"').unwrap()];
                    assert!(ENGLISH.texts.contains_key(key), "{key} is in no words file");
                    seen += 1;
                }
            }
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn every_repair_has_a_sentence_in_both_languages() {
        use teia_search::Repair;
        let some = || "x".to_owned();
        let repairs = [
            Repair::TooLong,
            Repair::TooManyClauses,
            Repair::TooDeep,
            Repair::UnclosedQuote,
            Repair::UnmatchedParenthesis,
            Repair::DanglingOperator(some()),
            Repair::BadDate(some()),
            Repair::EmptyField(some()),
            Repair::UnknownField(some()),
            Repair::BroadPrefix(some()),
            Repair::Empty,
            Repair::TimeOver,
            Repair::TooFar { most: 1_000 },
        ];
        let all = ENGLISH
            .texts
            .keys()
            .filter(|key| key.starts_with("repair."));
        assert_eq!(all.count(), repairs.len());
        for repair in repairs {
            let (name, about) = repair.name();
            let said = ENGLISH.f(&format!("repair.{name}"), &about);
            // The terminal says the same, as part of a line.
            let in_terminal = repair.to_string();
            assert_eq!(
                said.trim_end_matches('.').to_lowercase(),
                in_terminal.to_lowercase()
            );
            assert_ne!(PORTUGUESE.f(&format!("repair.{name}"), &about), said);
        }
    }

    #[test]
    fn a_browser_gets_the_language_it_likes_best() {
        assert_eq!(
            Tongue::of_header("pt-BR,pt;q=0.9,en;q=0.5"),
            Tongue::Portuguese
        );
        assert_eq!(Tongue::of_header("de, en;q=0.3, pt;q=0.2"), Tongue::English);
        assert_eq!(Tongue::of_header("fr"), Tongue::English);
        assert_eq!(Tongue::of_header(""), Tongue::English);
    }

    #[test]
    fn numbers_have_thin_spaces_and_dates_a_month() {
        assert_eq!(ENGLISH.number(1_234_567_u64), "1\u{202f}234\u{202f}567");
        assert_eq!(PORTUGUESE.bytes(12_345_u64), "12,3 KB");
        let moment = Timestamp::parse("2026-11-02T14:05:00Z").unwrap();
        assert_eq!(ENGLISH.moment(&moment), "2 Nov 2026, 14:05");
    }
}
